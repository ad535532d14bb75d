// What attention is made of. All values are plain: [n][channel][square]. Strides count floats of one position.
//
// attention   for each head h and square q: weights = softmax over k of query[q] key[k] / sqrt(depth) + bias[h][k][q],
//             output[c][q] = sum over k of weights[k] value[c][k] for the channels c of the head
// scores      output[a][b] = query[a] key[b] / sqrt(channels)
// smolgen     output[h][o] = sum over j of weights[o][j] input[h * part + j], the input read as one vector
//
// The scores of an attention are never written to global memory. Option of `attention`: SQUARES.

// TILE: products that are made with each number loaded.

#ifdef VARIANT_CPU
#define TILE 8
// For the cores of a host: work-groups of one item, squares in vectors, no local memory. Rows behind the last one repeat it and
// aren't used; where they begin is worked out before a loop and not in it.

// Where the rows first, first + 1 and so on of `rows` begin that are `stride` apart.
INLINED void begin_rows(global const float **begins, global const float *x, int first, int rows, int stride) {
#pragma unroll
    for (int i = 0; i < TILE; i++) begins[i] = x + min(first + i, rows - 1) * stride;
}

#ifdef SQUARES
// One work item takes a head of a position, VEC queries at a time. A vector of the query, once loaded, meets TILE keys,
// a vector of weights TILE channels of the value.
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
    for (int q = 0; q < SQUARES; q += VEC) {
        // The compiler is to see where no vector is cut off.
        const int left = SQUARES % VEC == 0 ? VEC : SQUARES - q;
        vecf weights[SQUARES];
        vecf top = -INFINITY;
        for (int k = 0; k < SQUARES; k += TILE) {
            vecf sum[TILE];
#pragma unroll
            for (int i = 0; i < TILE; i++) sum[i] = 0.0f;
            global const float *keys[TILE];
            begin_rows(keys, key, k, SQUARES, 1);
            for (int c = 0; c < depth; c++) {
                const vecf x = load_left(query + c * SQUARES + q, left);
#pragma unroll
                for (int i = 0; i < TILE; i++) sum[i] += x * keys[i][c * SQUARES];
            }
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                if (k + i >= SQUARES) continue;
                sum[i] *= scale;
                if (has_bias) sum[i] += load_left(bias + (k + i) * SQUARES + q, left);
                weights[k + i] = sum[i];
                top = sum[i] > top ? sum[i] : top;
            }
        }
        vecf total = 0.0f;
        for (int k = 0; k < SQUARES; k++) {
            weights[k] = exp_vec(weights[k] - top);
            total += weights[k];
        }
        for (int c = 0; c < width; c += TILE) {
            vecf sum[TILE];
#pragma unroll
            for (int i = 0; i < TILE; i++) sum[i] = 0.0f;
            global const float *values[TILE];
            begin_rows(values, value, c, width, SQUARES);
            for (int k = 0; k < SQUARES; k++) {
#pragma unroll
                for (int i = 0; i < TILE; i++) sum[i] += weights[k] * values[i][k];
            }
#pragma unroll
            for (int i = 0; i < TILE; i++)
                if (c + i < width) store_left(sum[i] / total, output + (c + i) * SQUARES + q, left);
        }
    }
}
#endif

// One work item takes TILE squares of the query, VEC squares of the key at a time.
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
    for (int b = 0; b < to; b += VEC) {
        vecf sum[TILE];
#pragma unroll
        for (int i = 0; i < TILE; i++) sum[i] = 0.0f;
        for (int c = 0; c < channels; c++) {
            const vecf x = load_left(key + c * to + b, to - b);
#pragma unroll
            for (int i = 0; i < TILE; i++) sum[i] += x * queries[i][c * from];
        }
#pragma unroll
        for (int i = 0; i < TILE; i++)
            if (a + i < from) store_left(sum[i] * scale, output + (a + i) * to + b, to - b);
    }
}

// One work item makes VEC outputs of TILE rows: a row is a head of a position, and rows of a batch follow each other.
//
//   range     [ceil(batch * heads / TILE)][panels of outputs]
//   weights   [panel][part][VEC], zeros in the padding

KERNEL smolgen(ITEM_ARGS global const float *restrict input, int in_stride, global const weight_t *restrict weights,
               int part, int heads, int outputs, global float *restrict output, int out_stride, int batch) {
    const int first = item(0) * TILE;
    const int panel = item(1);
    const int rows = batch * heads - first;
    if (rows <= 0) return;
    weights += (size_t)panel * part * VEC;
    output += panel * VEC;
    vecf sum[TILE];
    global const float *parts[TILE];
    global float *to[TILE];
    int n = first / heads;
    int head = first % heads;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        sum[i] = 0.0f;
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
    for (int j = 0; j < part; j++) {
        const vecf w = weight_vec(j, weights);
#pragma unroll
        for (int i = 0; i < TILE; i++) sum[i] += w * parts[i][j];
    }
#pragma unroll
    for (int i = 0; i < TILE; i++)
        if (i < rows) store_left(sum[i], to[i], outputs - panel * VEC);
}
#endif

#ifdef VARIANT_GPU
#define TILE 4
// For a GPU: an item makes what belongs to one square or element; its neighbours read and write neighbouring addresses.
//
// Option: LANES, items of a group.

#ifdef SQUARES
// One item takes a query of a head. It keeps its weights in a column of local memory that no other item reads, so that
// there is no barrier. All items of a group read the same key and value, from cache.
//
//   range     [batch][heads * ceil(SQUARES / LANES) * LANES], groups of [1][LANES]
//   local     SQUARES * LANES floats

#define GROUPS ((SQUARES + LANES - 1) / LANES)

kernel void attention(global const float *restrict query, int query_stride, global const float *restrict key,
                      int key_stride, global const float *restrict value, int value_stride,
                      global const float *restrict bias, int has_bias, int bias_stride, int heads, int depth,
                      int width, global float *restrict output, int out_stride, int batch) {
    local float columns[SQUARES * LANES];
    const int n = get_global_id(0);
    const int lane = get_local_id(1);
    const int head = get_group_id(1) / GROUPS;
    const int q = get_group_id(1) % GROUPS * LANES + lane;
    if (n >= batch || head >= heads || q >= SQUARES) return;
    query += (size_t)n * query_stride + head * depth * SQUARES + q;
    key += (size_t)n * key_stride + head * depth * SQUARES;
    value += (size_t)n * value_stride + head * width * SQUARES;
    bias += (size_t)n * bias_stride + head * SQUARES * SQUARES + q;
    output += (size_t)n * out_stride + head * width * SQUARES + q;
    local float *weights = columns + lane;

    const float scale = 1.0f / sqrt((float)depth);
    float top = -INFINITY;
    for (int k = 0; k < SQUARES; k += TILE) {
        float sum[TILE];
        for (int i = 0; i < TILE; i++) sum[i] = 0.0f;
        for (int c = 0; c < depth; c++) {
            const float x = query[c * SQUARES];
            for (int i = 0; i < TILE; i++) sum[i] += x * key[c * SQUARES + min(k + i, SQUARES - 1)];
        }
        for (int i = 0; i < TILE && k + i < SQUARES; i++) {
            const float z = sum[i] * scale + (has_bias ? bias[(k + i) * SQUARES] : 0.0f);
            weights[(k + i) * LANES] = z;
            top = fmax(top, z);
        }
    }
    float total = 0.0f;
    for (int k = 0; k < SQUARES; k++) {
        const float w = exp(weights[k * LANES] - top);
        weights[k * LANES] = w;
        total += w;
    }
    for (int c = 0; c < width; c += TILE) {
        float sum[TILE];
        for (int i = 0; i < TILE; i++) sum[i] = 0.0f;
        for (int k = 0; k < SQUARES; k++) {
            const float w = weights[k * LANES];
            for (int i = 0; i < TILE; i++) sum[i] += w * value[min(c + i, width - 1) * SQUARES + k];
        }
        for (int i = 0; i < TILE && c + i < width; i++) output[(c + i) * SQUARES] = sum[i] / total;
    }
}
#endif

// One item makes one score.
//
//   range     [batch][ceil(from * to / LANES) * LANES], groups of [1][LANES]
//   local     none

kernel void scores(global const float *restrict query, int query_stride, global const float *restrict key,
                   int key_stride, int channels, int from, int to, global float *restrict output, int out_stride,
                   int batch) {
    const int n = get_global_id(0);
    const int i = get_global_id(1);
    if (n >= batch || i >= from * to) return;
    query += (size_t)n * query_stride + i / to;
    key += (size_t)n * key_stride + i % to;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++) sum += query[c * from] * key[c * to];
    output[(size_t)n * out_stride + i] = sum / sqrt((float)channels);
}

// One item makes one output of HEADS heads, which share its weights.
//
//   range     [batch][ceil(ceil(heads / HEADS) * outputs / LANES) * LANES], groups of [1][LANES]
//   weights   [part][outputs]
//   local     none

#define HEADS 8

kernel void smolgen(global const float *restrict input, int in_stride, global const weight_t *restrict weights, int part,
                    int heads, int outputs, global float *restrict output, int out_stride, int batch) {
    const int n = get_global_id(0);
    const int i = get_global_id(1);
    const int first = i / outputs * HEADS;
    if (n >= batch || first >= heads) return;
    const int o = i % outputs;
    input += (size_t)n * in_stride + first * part;
    output += (size_t)n * out_stride + first * outputs + o;
    float sums[HEADS];
#pragma unroll
    for (int h = 0; h < HEADS; h++) sums[h] = 0.0f;
    for (int j = 0; j < part; j++) {
        const float w = weight_load((size_t)j * outputs + o, weights);
        // Heads behind the last repeat the first and aren't written.
#pragma unroll
        for (int h = 0; h < HEADS; h++) sums[h] += w * input[(first + h < heads ? h : 0) * part + j];
    }
#pragma unroll
    for (int h = 0; h < HEADS; h++)
        if (first + h < heads) output[h * outputs] = sums[h];
}
#endif
