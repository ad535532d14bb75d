// What attention is made of. All values are plain: [n][channel][square]. Strides count floats of one position.
//
// attention   for each head h and square q: weights = softmax over k of query[q] key[k] / sqrt(depth) + bias[h][k][q],
//             output[c][q] = sum over k of weights[k] value[c][k] for the channels c of the head
// scores      output[a][b] = query[a] key[b] / sqrt(channels)
// smolgen     output[h][o] = sum over j of weights[o][j] input[h * part + j], the input read as one vector
//
// The scores of an attention are never written to global memory. Option of `attention`: SQUARES.

#ifdef VARIANT_CPU
// For the cores of a host: work-groups of one item, squares in vectors, no local memory. Rows of a tile behind the last one repeat it and
// aren't used; where they begin is worked out before a loop and not in it.
#define TILE 4
#define SPAN FULL_SPAN
#define WIDTH (SPAN * VEC)
// Tiles that an item of a smolgen makes: what goes before the first takes as long as one.
#define PANELS 8

// Where the rows first, first + 1 and so on of `rows` begin that are `stride` apart.
INLINED void begin_rows(global const float **begins, global const float *x, int first, int rows, int stride) {
#pragma unroll
    for (int i = 0; i < TILE; i++) begins[i] = x + min(first + i, rows - 1) * stride;
}

// A step of a tile's sums: one number of each row, `at` behind where it begins.
INLINED void add_step(vecf *sums, global const float **rows, int at, const vecf *x) {
    float numbers[TILE];
#pragma unroll
    for (int i = 0; i < TILE; i++) numbers[i] = rows[i][at];
    add_to_tile(sums, TILE, SPAN, numbers, x);
}

#ifdef SQUARES
// One work item takes a head of a position, WIDTH queries at a time.
//
//   range     [batch][heads]

KERNEL attention(ITEM_ARGS global const float *restrict query, int query_stride, global const float *restrict key,
                 int key_stride, global const float *restrict value, int value_stride,
                 global const float *restrict bias, int has_bias, int bias_stride, int heads, int depth, int width,
                 global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int head = item(1);
    if (n >= batch || head >= heads) return;
    query += (size_t)n * query_stride + head * depth * SQUARES;
    key += (size_t)n * key_stride + head * depth * SQUARES;
    value += (size_t)n * value_stride + head * width * SQUARES;
    bias += (size_t)n * bias_stride + head * SQUARES * SQUARES;
    output += (size_t)n * out_stride + head * width * SQUARES;

    const float scale = 1.0f / sqrt((float)depth);
    for (int q = 0; q < SQUARES; q += WIDTH) {
        // The compiler is to see where no vector is cut off.
        const int left = SQUARES % WIDTH == 0 ? WIDTH : SQUARES - q;
        vecf weights[SQUARES * SPAN];
        vecf tops[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; k++) tops[k] = -INFINITY;
        for (int first = 0; first < SQUARES; first += TILE) {
            vecf sums[TILE * SPAN];
            clear_tile(sums, TILE, SPAN);
            global const float *keys[TILE];
            begin_rows(keys, key, first, SQUARES, 1);
            for (int c = 0; c < depth; c++) {
                vecf x[SPAN];
                load_span(x, SPAN, query + c * SQUARES + q, left);
                add_step(sums, keys, c * SQUARES, x);
            }
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                if (first + i >= SQUARES) continue;
                vecf biases[SPAN];
                if (has_bias) load_span(biases, SPAN, bias + (first + i) * SQUARES + q, left);
#pragma unroll
                for (int k = 0; k < SPAN; k++) {
                    vecf score = sums[i * SPAN + k] * scale;
                    if (has_bias) score += biases[k];
                    weights[(first + i) * SPAN + k] = score;
                    tops[k] = score > tops[k] ? score : tops[k];
                }
            }
        }
        vecf totals[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; k++) totals[k] = 0.0f;
        for (int at = 0; at < SQUARES * SPAN; at += SPAN) {
#pragma unroll
            for (int k = 0; k < SPAN; k++) {
                const vecf weight = exp_vec(weights[at + k] - tops[k]);
                weights[at + k] = weight;
                totals[k] += weight;
            }
        }
#pragma unroll
        for (int k = 0; k < SPAN; k++) totals[k] = 1.0f / totals[k];
        for (int c = 0; c < width; c += TILE) {
            vecf sums[TILE * SPAN];
            clear_tile(sums, TILE, SPAN);
            global const float *values[TILE];
            begin_rows(values, value, c, width, SQUARES);
            for (int at = 0; at < SQUARES; at++) add_step(sums, values, at, weights + at * SPAN);
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                if (c + i >= width) continue;
#pragma unroll
                for (int k = 0; k < SPAN; k++) sums[i * SPAN + k] *= totals[k];
                store_span(sums + i * SPAN, SPAN, output + (c + i) * SQUARES + q, left);
            }
        }
    }
}
#endif

// One work item takes TILE squares of the query, WIDTH squares of the key at a time.
//
//   range     [batch][ceil(from / TILE)]

KERNEL scores(ITEM_ARGS global const float *restrict query, int query_stride, global const float *restrict key,
              int key_stride, int channels, int from, int to, global float *restrict output, int out_stride,
              int batch) {
    const int n = item(0);
    const int a = item(1) * TILE;
    if (n >= batch) return;
    query += (size_t)n * query_stride;
    key += (size_t)n * key_stride;
    output += (size_t)n * out_stride;
    const float scale = 1.0f / sqrt((float)channels);
    global const float *queries[TILE];
    begin_rows(queries, query, a, from, 1);
    for (int b = 0; b < to; b += WIDTH) {
        vecf sums[TILE * SPAN];
        clear_tile(sums, TILE, SPAN);
        for (int c = 0; c < channels; c++) {
            vecf x[SPAN];
            load_span(x, SPAN, key + c * to + b, to - b);
            add_step(sums, queries, c * from, x);
        }
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            if (a + i >= from) continue;
#pragma unroll
            for (int k = 0; k < SPAN; k++) sums[i * SPAN + k] *= scale;
            store_span(sums + i * SPAN, SPAN, output + (a + i) * to + b, to - b);
        }
    }
}

// One work item makes PANELS panels of outputs of TILE rows: a row is a head of a position, and rows of a batch follow each other.
//
//   range     [ceil(batch * heads / TILE)][ceil(panels / PANELS)]
//   weights   [panel][part][WIDTH], zeros in the padding

KERNEL smolgen(ITEM_ARGS global const float *restrict input, int in_stride, global const weight_t *restrict weights,
               int part, int heads, int outputs, global float *restrict output, int out_stride, int batch) {
    const int first = item(0) * TILE;
    const int rows = batch * heads - first;
    if (rows <= 0) return;
    global const float *parts[TILE];
    global float *to[TILE];
    int n = first / heads;
    int head = first % heads;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        parts[i] = input + (size_t)n * in_stride + head * part;
        to[i] = output + (size_t)n * out_stride + head * outputs;
        // Rows behind the last repeat it and aren't written. No division for each, which takes as long as several products.
        if (i + 1 >= rows) continue;
        head++;
        if (head == heads) {
            head = 0;
            n++;
        }
    }
    const int end = min(outputs, (item(1) + 1) * PANELS * WIDTH);
    for (int o = item(1) * PANELS * WIDTH; o < end; o += WIDTH) {
        global const weight_t *panel = weights + (size_t)o * part;
        vecf sums[TILE * SPAN];
        clear_tile(sums, TILE, SPAN);
        for (int j = 0; j < part; j++) {
            vecf x[SPAN];
#pragma unroll
            for (int k = 0; k < SPAN; k++) x[k] = weight_vec(j * SPAN + k, panel);
            add_step(sums, parts, j, x);
        }
#pragma unroll
        for (int i = 0; i < TILE; i++)
            if (i < rows) store_span(sums + i * SPAN, SPAN, to[i] + o, outputs - o);
    }
}
#endif

#ifdef VARIANT_GPU
// For a GPU: an item makes what belongs to one square, or to a few; its neighbours read and write neighbouring addresses. What all
// items of a group read alike, they read in fours.
//
// Option: LANES, items of a group.

// The four from `at` on of a row of so many numbers, zeros behind the last. A row of whole fours is read as vectors.
#define LOAD_FOUR(NAME, LENGTH)                                                                                        \
    INLINED float4 NAME(global const float *row, int at) {                                                             \
        if (LENGTH % 4 == 0) return *(global const float4 *)(row + at);                                                \
        return (float4)(row[at], at + 1 < LENGTH ? row[at + 1] : 0.0f, at + 2 < LENGTH ? row[at + 2] : 0.0f,           \
                        at + 3 < LENGTH ? row[at + 3] : 0.0f);                                                         \
    }

#ifdef SQUARES
// PARTS items take a query of a head: each makes the scores of a part of the keys, and then a part of the channels of the result. The query's
// weights lie in a column of local memory. All items of a head read the same keys and values, from cache.
//
//   range     [batch][ceil(heads * SQUARES / QUERIES) * LANES], groups of [1][LANES]
//   local     4 FOURS QUERIES + 2 LANES floats

#define FOURS ((SQUARES + 3) / 4)
#define PARTS (LANES < 4 ? LANES : 4)
#define QUERIES (LANES / PARTS)
#ifdef IN_NETWORK
enum { attention_fours = FOURS * QUERIES + 2 * ((LANES + 3) / 4) };
#endif
// Fours of keys that meet a number of the query once it is loaded, and channels of the value that meet four weights.
#define KEYS 4
#define VALUES 8

LOAD_FOUR(four_squares, SQUARES)

// The bias of four keys, and what makes a weight of none of those behind the last.
INLINED float4 four_biases(int k, global const float *bias, int has_bias) {
#define BIAS(j) (SQUARES % 4 != 0 && k + j >= SQUARES ? -INFINITY : has_bias ? bias[(k + j) * SQUARES] : 0.0f)
    return (float4)(BIAS(0), BIAS(1), BIAS(2), BIAS(3));
}

GROUP_KERNEL(1, LANES)
attention(GROUP_ARGS global const float *restrict query, int query_stride, global const float *restrict key, int key_stride,
          global const float *restrict value, int value_stride, global const float *restrict bias, int has_bias,
          int bias_stride, int heads, int depth, int width, global float *restrict output, int out_stride, int batch) {
    LOCAL_ARRAY(float4, columns, 0, FOURS * QUERIES);
    LOCAL_ARRAY(float, all_tops, FOURS * QUERIES, (LANES + 3) / 4);
    LOCAL_ARRAY(float, all_totals, FOURS * QUERIES + (LANES + 3) / 4, (LANES + 3) / 4);
    const int n = group(0);
    const int lane = local_y(1);
    const int column = lane % QUERIES;
    const int part = lane / QUERIES;
    // Queries behind the last repeat it and aren't written: all items meet at the barriers.
    const int at = group(1) * QUERIES + column;
    const int is_there = at < heads * SQUARES;
    const int head = min(at, heads * SQUARES - 1) / SQUARES;
    const int q = min(at, heads * SQUARES - 1) % SQUARES;
    query += (size_t)n * query_stride + head * depth * SQUARES + q;
    key += (size_t)n * key_stride + head * depth * SQUARES;
    value += (size_t)n * value_stride + head * width * SQUARES;
    bias += (size_t)n * bias_stride + head * SQUARES * SQUARES + q;
    output += (size_t)n * out_stride + head * width * SQUARES + q;
    local float4 *weights = columns + column;

    const float scale = 1.0f / sqrt((float)depth);
    float4 tops = -INFINITY;
    for (int k = part * KEYS; k < FOURS; k += PARTS * KEYS) {
        float4 sums[KEYS];
#pragma unroll
        for (int i = 0; i < KEYS; i++) sums[i] = 0.0f;
        for (int c = 0; c < depth; c++) {
            const float x = query[c * SQUARES];
#pragma unroll
            for (int i = 0; i < KEYS; i++) sums[i] += x * four_squares(key + c * SQUARES, 4 * min(k + i, FOURS - 1));
        }
#pragma unroll
        for (int i = 0; i < KEYS; i++) {
            if (k + i >= FOURS) continue;
            const float4 scores = sums[i] * scale + four_biases(4 * (k + i), bias, has_bias);
            weights[(k + i) * QUERIES] = scores;
            tops = fmax(tops, scores);
        }
    }
    all_tops[lane] = fmax(fmax(tops.s0, tops.s1), fmax(tops.s2, tops.s3));
    barrier(CLK_LOCAL_MEM_FENCE);
    float top = all_tops[column];
    for (int k = 1; k < PARTS; k++) top = fmax(top, all_tops[k * QUERIES + column]);

    float4 totals = 0.0f;
    for (int k = part * KEYS; k < FOURS; k += PARTS * KEYS)
        for (int i = k; i < min(k + KEYS, FOURS); i++) {
            const float4 w = exp(weights[i * QUERIES] - top);
            weights[i * QUERIES] = w;
            totals += w;
        }
    all_totals[lane] = totals.s0 + totals.s1 + totals.s2 + totals.s3;
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = all_totals[column];
    for (int k = 1; k < PARTS; k++) total += all_totals[k * QUERIES + column];

    for (int c = part * VALUES; c < width; c += PARTS * VALUES) {
        float sums[VALUES];
#pragma unroll
        for (int i = 0; i < VALUES; i++) sums[i] = 0.0f;
        for (int k = 0; k < FOURS; k++) {
            const float4 w = weights[k * QUERIES];
#pragma unroll
            for (int i = 0; i < VALUES; i++) {
                const float4 x = four_squares(value + min(c + i, width - 1) * SQUARES, 4 * k);
                sums[i] = add_products_of_four(sums[i], w, x);
            }
        }
#pragma unroll
        for (int i = 0; i < VALUES; i++)
            if (is_there && c + i < width) output[(c + i) * SQUARES] = sums[i] / total;
    }
}
#endif

#ifdef FROM
// One item makes four by four scores.
//
//   range     [batch][ceil(ceil(FROM / 4) * ceil(TO / 4) / LANES) * LANES], groups of [1][LANES]
//   local     none
//
// Options: FROM and TO, squares of query and key.

LOAD_FOUR(four_queries, FROM)
LOAD_FOUR(four_keys, TO)

ITEM_KERNEL(1, LANES) scores(ITEM_ARGS global const float *restrict query, int query_stride,
                             global const float *restrict key, int key_stride, int channels, int from, int to,
                             global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    const int a = i / ((TO + 3) / 4) * 4;
    const int b = i % ((TO + 3) / 4) * 4;
    if (n >= batch || a >= FROM) return;
    query += (size_t)n * query_stride;
    key += (size_t)n * key_stride;
    output += (size_t)n * out_stride;
    float4 sums[4];
#pragma unroll
    for (int j = 0; j < 4; j++) sums[j] = 0.0f;
    for (int c = 0; c < channels; c++) {
        const float4 x = four_queries(query + c * FROM, a);
        const float4 y = four_keys(key + c * TO, b);
        sums[0] += x.s0 * y;
        sums[1] += x.s1 * y;
        sums[2] += x.s2 * y;
        sums[3] += x.s3 * y;
    }
    const float scale = 1.0f / sqrt((float)channels);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        if (a + j >= FROM) continue;
        global float *to_row = output + (a + j) * TO + b;
        const float4 four = sums[j] * scale;
        to_row[0] = four.s0;
        if (b + 1 < TO) to_row[1] = four.s1;
        if (b + 2 < TO) to_row[2] = four.s2;
        if (b + 3 < TO) to_row[3] = four.s3;
    }
}
#endif

#ifdef PART
// One item makes four outputs of HEADS heads, which share their weights.
//
//   range     [batch][ceil(ceil(heads / HEADS) * ceil(OUTPUTS / 4) / LANES) * LANES], groups of [1][LANES]
//   weights   [PART][outputs]
//   local     none
//
// Options: PART, numbers of the input that are a head's; OUTPUTS, numbers of a head that are made; HEADS.

LOAD_FOUR(four_inputs, PART)

// Those of four neighbouring outputs, zeros behind the last.
INLINED float4 four_weights(global const weight_t *weights, int j, int o) {
    const size_t at = (size_t)j * OUTPUTS + o;
#if OUTPUTS % 4 == 0
#ifdef WEIGHTS_FP16
    return vload_half4(at / 4, weights);
#else
    return ((global const float4 *)weights)[at / 4];
#endif
#else
#define WEIGHT(k) (o + k < OUTPUTS ? weight_load(at + k, weights) : 0.0f)
    return (float4)(WEIGHT(0), WEIGHT(1), WEIGHT(2), WEIGHT(3));
#endif
}

ITEM_KERNEL(1, LANES) smolgen(ITEM_ARGS global const float *restrict input, int in_stride,
                              global const weight_t *restrict weights, int part, int heads, int outputs,
                              global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    const int first = i / ((OUTPUTS + 3) / 4) * HEADS;
    const int o = i % ((OUTPUTS + 3) / 4) * 4;
    if (n >= batch || first >= heads) return;
    input += (size_t)n * in_stride + first * PART;
    output += (size_t)n * out_stride + first * OUTPUTS + o;
    float4 sums[HEADS];
#pragma unroll
    for (int h = 0; h < HEADS; h++) sums[h] = 0.0f;
#pragma unroll 2
    for (int j = 0; j < PART; j += 4) {
        float4 w[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            w[k] = 0.0f;
            if (PART % 4 == 0 || j + k < PART) w[k] = four_weights(weights, j + k, o);
        }
        // Heads behind the last repeat the first and aren't written.
#pragma unroll
        for (int h = 0; h < HEADS; h++) {
            const float4 x = four_inputs(input + (first + h < heads ? h : 0) * PART, j);
            sums[h] += x.s0 * w[0] + x.s1 * w[1] + x.s2 * w[2] + x.s3 * w[3];
        }
    }
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        if (first + h >= heads) continue;
#if OUTPUTS % 4 == 0
        *(global float4 *)(output + h * OUTPUTS) = sums[h];
#else
        output[h * OUTPUTS] = sums[h].s0;
        if (o + 1 < OUTPUTS) output[h * OUTPUTS + 1] = sums[h].s1;
        if (o + 2 < OUTPUTS) output[h * OUTPUTS + 2] = sums[h].s2;
        if (o + 3 < OUTPUTS) output[h * OUTPUTS + 3] = sums[h].s3;
#endif
    }
}
#endif
#endif
