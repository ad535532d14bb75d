// Convolution 3x3 by Winograd's F(TILE x TILE, 3 x 3), with bias, residual and activation in the last pass.
//
// A tile of TILE x TILE squares of the output is cut out of SIDE x SIDE squares of the input, SIDE = TILE + 2. With
// d a tile of one input channel and g the 3x3 weights,
//
//   V = B d B'      U = G g G' (made on the host)      M = sum over channels of U V, element by element
//   out = act(bias + residual + A M A')
//
// which takes SIDE^2 products for TILE^2 squares where the definition takes 9 TILE^2: 4 times fewer with TILE 4, 2.25
// times with TILE 2. Winograd 1980; Lavin and Gray, arXiv:1509.09308. The matrices are those of Toom and Cook for the
// points 0, a, -a, b, -b and infinity (TILE 4), or 0, 1, -1 and infinity (TILE 2): row p of B holds the coefficients of
// the product of (x - q) over all other points q, row p of G is (1, p, p^2) over that product's value in p, row i of A
// has the powers p^i. a = sqrt(1/2) and b = sqrt(2) round less than the usual 1 and 2.
//
// A tile of the board is counted as a "row": row = n * TILES + tile, because it is a row of the matrices V and M.
//
// Options besides those of common.cl: RANKS and FILES of the board, TILE (2 or 4). Strides count floats of one position.

#ifndef SQUARES
#define SQUARES (RANKS * FILES)
#endif
#define SIDE (TILE + 2)
#define POINTS (SIDE * SIDE)
#define TILES_X ((FILES + TILE - 1) / TILE)
#define TILES (TILES_X * ((RANKS + TILE - 1) / TILE))

// One dimension: B d, and A m.
#if TILE == 4
#define A 0.70710678f
#define B 1.41421356f
#define TRANSFORMS(TO_POINTS, TO_SQUARES, T)                                                                           \
    INLINED void TO_POINTS(const T *d, T *v) {                                                                         \
        const T even_a = d[4] - 2.0f * d[2];                                                                           \
        const T even_b = d[4] - 0.5f * d[2];                                                                           \
        const T odd_a = A * (d[3] - 2.0f * d[1]);                                                                      \
        const T odd_b = B * (d[3] - 0.5f * d[1]);                                                                      \
        v[0] = d[0] - 2.5f * d[2] + d[4];                                                                              \
        v[1] = even_a + odd_a;                                                                                         \
        v[2] = even_a - odd_a;                                                                                         \
        v[3] = even_b + odd_b;                                                                                         \
        v[4] = even_b - odd_b;                                                                                         \
        v[5] = d[1] - 2.5f * d[3] + d[5];                                                                              \
    }                                                                                                                  \
    INLINED void TO_SQUARES(const T *m, T *y) {                                                                        \
        const T sum_a = m[1] + m[2];                                                                                   \
        const T sum_b = m[3] + m[4];                                                                                   \
        const T odd_a = A * (m[1] - m[2]);                                                                             \
        const T odd_b = B * (m[3] - m[4]);                                                                             \
        y[0] = m[0] + sum_a + sum_b;                                                                                   \
        y[1] = odd_a + odd_b;                                                                                          \
        y[2] = 0.5f * sum_a + 2.0f * sum_b;                                                                            \
        y[3] = 0.5f * odd_a + 2.0f * odd_b + m[5];                                                                     \
    }
#else
#define TRANSFORMS(TO_POINTS, TO_SQUARES, T)                                                                           \
    INLINED void TO_POINTS(const T *d, T *v) {                                                                         \
        v[0] = d[2] - d[0];                                                                                            \
        v[1] = d[2] + d[1];                                                                                            \
        v[2] = d[2] - d[1];                                                                                            \
        v[3] = d[3] - d[1];                                                                                            \
    }                                                                                                                  \
    INLINED void TO_SQUARES(const T *m, T *y) {                                                                        \
        y[0] = m[0] + m[1] + m[2];                                                                                     \
        y[1] = m[1] - m[2] + m[3];                                                                                     \
    }
#endif

#ifdef VARIANT_CPU
// For the cores of a host: registers only, groups of one item.
//
//   input     [n][block of channels][square][IV], IV = 1 (planes) or VEC (blocked)
//   v         [group of ROWS rows][point][row of the group][channel], channels padded to VEC, zeros there
//   weights   [panel][point][channel, padded][VECTORS * VEC]; bias [panel][VECTORS * VEC]
//   residual  [n][block][square][residual_block], output [n][block][square][out_block]; a block is VEC or 1 (plain)
//   local     none
//
// Options: ROWS, a multiple of 4; VECTORS of channels of the output in a panel.

TRANSFORMS(to_points, to_squares, vecf)

// One work item makes the points of ROWS tiles of VEC channels.
//
//   range     [ceil(batch * TILES / ROWS)][blocks of VEC input channels]
INLINED void tiles_to_points(ITEM_ARGS const int IV, global const float *input, int in_stride, global float *v, int padded,
                             int batch) {
    const int group = item(0);
    const int block = item(1);
    v += (size_t)group * POINTS * ROWS * padded + block * VEC;
    for (int r = 0; r < ROWS; r++) {
        const int row = group * ROWS + r;
        const int n = row / TILES;
        // What lies behind the batch is multiplied too, and nobody reads the products.
        if (n >= batch) return;
        const int y0 = row % TILES / TILES_X * TILE - 1;
        const int x0 = row % TILES_X * TILE - 1;
        global const float *from = input + (size_t)n * in_stride;
        vecf column[SIDE][SIDE];
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            vecf d[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                const int y = y0 + i;
                const int x = x0 + j;
                const int inside = y >= 0 && y < RANKS && x >= 0 && x < FILES;
                d[i] = inside ? load_channels(from, block, y * FILES + x, SQUARES, IV, in_stride) : (vecf)0.0f;
            }
            to_points(d, column[j]);
        }
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            vecf d[SIDE], point[SIDE];
#pragma unroll
            for (int j = 0; j < SIDE; j++) d[j] = column[j][i];
            to_points(d, point);
#pragma unroll
            for (int j = 0; j < SIDE; j++) vec_store(point[j], 0, v + (size_t)((i * SIDE + j) * ROWS + r) * padded);
        }
    }
}

#define WINOGRAD_INPUT(NAME, IV)                                                                                       \
    KERNEL NAME(ITEM_ARGS global const float *restrict input, int in_stride, global float *restrict v, int padded,     \
                     int batch) {                                                                                      \
        tiles_to_points(ITEM IV, input, in_stride, v, padded, batch);                                                  \
    }

WINOGRAD_INPUT(winograd_input_planes, 1)
WINOGRAD_INPUT(winograd_input_blocked, VEC)

// One work item multiplies ROWS rows by a panel of output channels, four rows at a time so that the sums stay in
// registers, and turns the products into squares. M stays in its private memory.
//
//   range     [ceil(batch * TILES / ROWS)][panels of output channels]: dimension 0 runs fastest, reusing the panel
KERNEL winograd_output(ITEM_ARGS global const float *restrict v, int padded, global const weight_t *restrict weights,
                       global const float *restrict bias, int out_blocks, END_ARGS(restrict)) {
    const int group = item(0);
    const int panel = item(1);
    vecf m[ROWS][VECTORS][POINTS];
    for (int point = 0; point < POINTS; point++) {
        global const weight_t *w = weights + (size_t)(panel * POINTS + point) * padded * VECTORS * VEC;
        global const float *rows = v + ((size_t)group * POINTS + point) * ROWS * padded;
        for (int first = 0; first < ROWS; first += 4) {
            vecf acc[4][VECTORS];
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int k = 0; k < VECTORS; k++) acc[r][k] = 0.0f;
            global const float *a = rows + first * padded;
            for (int start = 0; start < padded; start += 4) {
#pragma unroll
                for (int c = start; c < start + 4; c++) {
                    vecf u[VECTORS];
#pragma unroll
                    for (int k = 0; k < VECTORS; k++) u[k] = weight_vec(c * VECTORS + k, w);
#pragma unroll
                    for (int r = 0; r < 4; r++)
#pragma unroll
                        for (int k = 0; k < VECTORS; k++) acc[r][k] += a[r * padded + c] * u[k];
                }
            }
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int k = 0; k < VECTORS; k++) m[first + r][k][point] = acc[r][k];
        }
    }
    for (int r = 0; r < ROWS; r++) {
        const int row = group * ROWS + r;
        const int n = row / TILES;
        if (n >= batch) return;
        const int y0 = row % TILES / TILES_X * TILE;
        const int x0 = row % TILES_X * TILE;
        for (int k = 0; k < VECTORS; k++) {
            const int block = panel * VECTORS + k;
            if (block >= out_blocks) continue;
            const vecf start = vec_load(block, bias);
            vecf column[TILE][SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                vecf y[TILE];
                to_squares(m[r][k] + i * SIDE, y);
#pragma unroll
                for (int j = 0; j < TILE; j++) column[j][i] = y[j];
            }
#pragma unroll
            for (int j = 0; j < TILE; j++) {
                vecf y[TILE];
                to_squares(column[j], y);
#pragma unroll
                for (int i = 0; i < TILE; i++) {
                    if (y0 + i >= RANKS || x0 + j >= FILES) continue;
                    end_channels(y[i] + start, n, block, (y0 + i) * FILES + x0 + j, SQUARES, END);
                }
            }
        }
    }
}
#endif

#ifdef VARIANT_GPU
// For a GPU: three passes, the middle one a matrix product for each point.
//
//   input     [n][channel][square]
//   v         [point][input channel][row], m [point][output channel, padded][row], rows filled up to whole groups of the product
//   weights   [point][input channel][output channel, padded to whole groups of CHANNELS], zeros there; bias [output channel]
//   residual, output  [n][channel][square]
//
// Option: GROUP_ROWS, rows of a group of the product.

#define PADDED_ROWS(batch) (((batch) * TILES + GROUP_ROWS - 1) / GROUP_ROWS * GROUP_ROWS)

TRANSFORMS(to_points, to_squares, float)

// A tile's ranks begin at a multiple of four squares: four of the input that aren't on a border, and of the output, are a vector.
#if TILE == 4 && FILES % 4 == 0
#define WHOLE_FOURS
#endif

// The squares of a rank that a tile reads, from the one before its first, with zeros outside the board.
INLINED void load_rank(float *d, global const float *from, int y, int x0) {
    const int in_ranks = y >= 0 && y < RANKS;
#ifdef WHOLE_FOURS
    float4 four = (float4)(0.0f);
    if (in_ranks) four = *(global const float4 *)(from + y * FILES + x0 + 1);
    d[0] = in_ranks && x0 >= 0 ? from[y * FILES + x0] : 0.0f;
    d[1] = four.s0;
    d[2] = four.s1;
    d[3] = four.s2;
    d[4] = four.s3;
    d[5] = in_ranks && x0 + 5 < FILES ? from[y * FILES + x0 + 5] : 0.0f;
#else
#pragma unroll
    for (int j = 0; j < SIDE; j++)
        d[j] = in_ranks && x0 + j >= 0 && x0 + j < FILES ? from[y * FILES + x0 + j] : 0.0f;
#endif
}

// The points of a tile of one channel's board, so far apart. What is apart is counted in 32 bits, and the host sees to it
// that they suffice: with 64, a compiler for a GPU that multiplies these slowly computes the offsets of all points before
// a loop over tiles, and keeps two registers for each.
INLINED void points_of(global const float *board, int tile, global float *v, uint apart) {
    const int y0 = tile / TILES_X * TILE - 1;
    const int x0 = tile % TILES_X * TILE - 1;
    // [point of a rank][rank]
    float ranks[SIDE][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        float d[SIDE], points[SIDE];
        load_rank(d, board, y0 + i, x0);
        to_points(d, points);
#pragma unroll
        for (int j = 0; j < SIDE; j++) ranks[j][i] = points[j];
    }
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        float points[SIDE];
        to_points(ranks[j], points);
#pragma unroll
        for (int i = 0; i < SIDE; i++) v[(i * SIDE + j) * apart] = points[i];
    }
}

// The squares of a tile of channel `c` of position `n`.
INLINED void squares_of(global const float *m, uint apart, int n, int c, int tile, global const float *bias, END_ARGS()) {
    const int y0 = tile / TILES_X * TILE;
    const int x0 = tile % TILES_X * TILE;
    // [square of a file][point of a rank]
    float files[TILE][SIDE];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        float points[SIDE], y[TILE];
#pragma unroll
        for (int i = 0; i < SIDE; i++) points[i] = m[(i * SIDE + j) * apart];
        to_squares(points, y);
#pragma unroll
        for (int i = 0; i < TILE; i++) files[i][j] = y[i];
    }
    const float start = bias[c];
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        if (y0 + i >= RANKS) continue;
        float y[TILE];
        to_squares(files[i], y);
#ifdef WHOLE_FOURS
        const float4 four = (float4)(y[0], y[1], y[2], y[3]) + start;
        end_four(four, n, c, (y0 + i) * FILES + x0, SQUARES, END);
#else
        for (int j = 0; j < TILE; j++)
            if (x0 + j < FILES) end_channel(y[j] + start, n, c, (y0 + i) * FILES + x0 + j, SQUARES, END);
#endif
    }
}

// One item makes the points of one tile of one channel: neighbours write neighbouring rows.
//
//   range     [ceil(batch * TILES / LANES) * LANES][input channels], groups of [LANES][1]
#ifdef LANES
kernel IN_GROUPS(LANES, 1) void winograd_input(global const float *restrict input, int channels, int in_stride,
                                               global float *restrict v, int batch) {
    const int rows = PADDED_ROWS(batch);
    const int row = get_global_id(0);
    const int c = get_global_id(1);
    const int n = row / TILES;
    // What lies behind the batch is multiplied too, and nobody reads the products.
    if (n >= batch) return;
    global const float *board = input + (size_t)n * in_stride + c * SQUARES;
    points_of(board, row % TILES, v + (size_t)c * rows + row, (uint)channels * rows);
}
#endif

// M = U V for every point, a matrix product as in product.cl.
//
//   range     [ceil(batch * TILES / ROWS) * LX][POINTS * panels * 8], groups of [LX][8]
#ifdef LX
kernel IN_GROUPS(LX, LY) void winograd_multiply(global const float *restrict v, int channels,
                                                global const weight_t *restrict weights, global float *restrict m,
                                                int batch) {
    LOCAL_TILES;
    const int rows = PADDED_ROWS(batch);
    const int panels = get_num_groups(1) / POINTS;
    const int point = get_group_id(1) / panels;
    const int first_channel = get_group_id(1) % panels * CHANNELS;
    const int padded = panels * CHANNELS;
    const int first_row = get_group_id(0) * ROWS;
    global const four_t *fours = (global const four_t *)(v + (size_t)point * channels * rows + first_row);
    global const four_t *begins[READ_FOURS];
    for (int p = 0; p < READ_FOURS; p++) begins[p] = fours + read_four(p);
    weights += (size_t)point * channels * padded + first_channel;

    sums_t sums[ITEM_CHANNELS][ITEM_FOURS];
    multiply(sums, begins, rows / 4, channels, weights, padded, some_rows, some_channels);
    const int channel = first_channel + get_local_id(1) * ITEM_CHANNELS;
    global sums_t *to = (global sums_t *)(m + ((size_t)point * padded + channel) * rows + first_row);
#pragma unroll
    for (int p = 0; p < ITEM_FOURS; p++) {
        const int four = get_local_id(0) + p * LX;
        if (first_row + 4 * four >= batch * TILES) continue;
#pragma unroll
        for (int c = 0; c < ITEM_CHANNELS; c++) to[c * (rows / 4) + four] = sums[c][p];
    }
}
#endif

// One item makes the squares of one tile of one channel.
//
//   range     [ceil(batch * TILES / LANES) * LANES][output channels], groups of [LANES][1]
#ifdef LANES
kernel IN_GROUPS(LANES, 1) void winograd_output(global const float *restrict m, int padded,
                                                global const float *restrict bias, END_ARGS(restrict)) {
    const int rows = PADDED_ROWS(batch);
    const int row = get_global_id(0);
    const int c = get_global_id(1);
    const int n = row / TILES;
    if (n >= batch) return;
    squares_of(m + (size_t)c * rows + row, (uint)padded * rows, n, c, row % TILES, bias, END);
}

// The end of a convolution and the begin of the next one, which reads what this one makes: one launch instead of two, and what is between
// stays in a cache. A group has GROUP_CHANNELS channels of a position, whose tiles look over their edges.
//
//   range     [batch * LANES][ceil(channels / GROUP_CHANNELS)], groups of [LANES][1]
#define GROUP_CHANNELS (LANES > TILES ? LANES / TILES : 1)
// Whether an item has one tile at most. A compiler that knows it computes nothing ahead of a loop that there is not.
#define ONE_TILE_EACH (GROUP_CHANNELS * TILES <= LANES)

// The points of position `n` of the tile `at`, counted over all channels.
INLINED void points_of_channel(global const float *boards, int at, int channels, int n, global float *v, int rows) {
    const int c = at / TILES;
    const int tile = at % TILES;
    points_of(boards + c * SQUARES, tile, v + (size_t)c * rows + n * TILES + tile, (uint)channels * rows);
}

kernel IN_GROUPS(LANES, 1) void winograd_between(global const float *restrict m, int padded,
                                                 global const float *restrict bias, int channels, global float *restrict v,
                                                 END_ARGS(restrict)) {
    const int rows = PADDED_ROWS(batch);
    const int n = get_group_id(0);
    const int first = get_group_id(1) * GROUP_CHANNELS;
    const int end = min(first + GROUP_CHANNELS, channels) * TILES;
    const int begin = first * TILES + (int)get_local_id(0);
    for (int at = begin; at < end; at += LANES) {
        const int c = at / TILES;
        const int tile = at % TILES;
        squares_of(m + (size_t)c * rows + n * TILES + tile, (uint)padded * rows, n, c, tile, bias, END);
        if (ONE_TILE_EACH) break;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    global const float *boards = output + (size_t)n * out_stride;
    for (int at = begin; at < end; at += LANES) {
        points_of_channel(boards, at, channels, n, v, rows);
        if (ONE_TILE_EACH) break;
    }
}

// The same with squeeze and excitation in between, for which a group has a whole position. `residual` and `act` are what ends that.
//
//   range     [batch * LANES][1], groups of [LANES][1]
//   the rest  as in se.cl
#if LANES >= 8
kernel IN_GROUPS(LANES, 1) void winograd_between_se(
    global const float *restrict m, int padded, global const float *restrict bias, global float *restrict z, int channels,
    int stride, global float *restrict v, SE_ARGS(restrict), int batch) {
    const int rows = PADDED_ROWS(batch);
    const int n = get_group_id(0);
    const int lane = get_local_id(0);
    for (int at = lane; at < channels * TILES; at += LANES) {
        const int c = at / TILES;
        const int tile = at % TILES;
        squares_of(m + (size_t)c * rows + n * TILES + tile, (uint)padded * rows, n, c, tile, bias, z, 0, 1, stride, z, 1,
                   stride, ACT_NONE, batch);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    squeeze_and_excite(z, channels, stride, n, lane, SE);
    barrier(CLK_GLOBAL_MEM_FENCE);
    global const float *boards = z + (size_t)n * stride;
    for (int at = lane; at < channels * TILES; at += LANES) points_of_channel(boards, at, channels, n, v, rows);
}
#endif
#endif
#endif
