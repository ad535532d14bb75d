// Convolution 5x5, 3x3 and 1x1 with bias, residual and activation in one pass.
//
//   out[n][o][y][x] = act(bias[o] + residual[n][o][y][x] + sum over c, i, j of w[o][c][i][j] in[n][c][y+i-p][x+j-p])
//
// with p = (kernel - 1) / 2 and zeros outside the board. `act` and `has_residual` are the same for all work items.
//
// Options besides those of common.cl: RANKS and FILES of the board; WITH_FIVE, where the network has a 5x5 convolution. Strides count elements of one position.

#define SQUARES (RANKS * FILES)

#ifdef VARIANT_CPU
// For the cores of a host: everything in registers, no local memory, no barrier, work-groups of one item. Convolutions 1x1 of
// planes are in pointwise.cl.
//
// One work item makes up to TW squares of one rank in one panel of VEC output channels: TW accumulators of VEC floats, so
// that a square of the input is broadcast once and used `kernel` times. Ranks outside the board cost nothing.
//
//   range     [batch * RANKS * tiles in a rank][panels of output channels]: dimension 0 runs fastest, reusing the panel
//   input     [n][block of channels][square][IV], IV = 1 (planes) or VEC (blocked); channels of the last block that the
//             layer doesn't have meet weights of zero
//   weights   [panel][i][c][j][VEC], c counts in_blocks * IV channels
//   bias, weight_steps   [panel][VEC]
//   residual  [n][block][square][residual_block], output [n][block][square][out_block]; a block is VEC or 1 (plain)
//   local     none
//
// Options: TW, squares of a tile, FILES or less.

#define TILES_X ((FILES + TW - 1) / TW)

INLINED void conv_row(ITEM_ARGS const int K, const int IV, global const element_t *input, int in_blocks, int in_stride,
                      global const weight_t *weights, STEPS_ARGS() global const float *bias, END_ARGS()) {
    const int item = item(0);
    const int panel = item(1);
    const int n = item / (RANKS * TILES_X);
    const int y = item / TILES_X % RANKS;
    const int x0 = item % TILES_X * TW;
    if (n >= batch) return;

    sums_t acc[TW];
#pragma unroll
    for (int t = 0; t < TW; t++) acc[t] = 0;

    for (int i = 0; i < K; i++) {
        const int row = y + i - K / 2;
        if (row < 0 || row >= RANKS) continue;
        global const weight_t *w = weights + (size_t)(panel * K + i) * in_blocks * IV * K * VEC;
        for (int block = 0; block < in_blocks; block++) {
            global const element_t *from = input + (size_t)n * in_stride + ((block * RANKS + row) * FILES + x0) * IV;
            for (int c = 0; c < IV; c++) {
                sums_t tap[5];
#pragma unroll
                for (int j = 0; j < K; j++) tap[j] = weight_vec(j, w);
                w += K * VEC;
#pragma unroll
                for (int s = -(K / 2); s < TW + K / 2; s++) {
                    // A tile as wide as the board knows its borders when it is compiled.
                    if (TILES_X == 1 && (s < 0 || s >= FILES)) continue;
                    const int inside = TILES_X == 1 || (x0 + s >= 0 && x0 + s < FILES);
                    const sum_t a = inside ? from[s * IV + c] : 0;
#pragma unroll
                    for (int j = 0; j < K; j++) {
                        const int t = s - j + K / 2;
                        if (t >= 0 && t < TW) acc[t] += a * tap[j];
                    }
                }
            }
        }
    }

#pragma unroll
    for (int t = 0; t < TW; t++) {
        const int x = x0 + t;
        if (TILES_X > 1 && x >= FILES) continue;
        const vecf z = in_floats(acc[t], n, panel, STEPS bias);
        end_channels(z, n, panel, y * FILES + x, SQUARES, END);
    }
}

#define CONV(NAME, K, IV)                                                                                              \
    KERNEL NAME(ITEM_ARGS global const element_t *restrict input, int in_blocks, int in_stride,                        \
                     global const weight_t *restrict weights, STEPS_ARGS(restrict)                                     \
                     global const float *restrict bias, END_ARGS(restrict)) {                                          \
        conv_row(ITEM K, IV, input, in_blocks, in_stride, weights, STEPS bias, END);                                   \
    }

CONV(conv3_planes, 3, 1)
CONV(conv3_blocked, 3, VEC)
CONV(conv1_blocked, 1, VEC)
#ifdef WITH_FIVE
CONV(conv5_planes, 5, 1)
CONV(conv5_blocked, 5, VEC)
#endif
#endif

#ifdef VARIANT_GPU
// For a GPU: a matrix product of pixels (all squares of the batch) by output channels, see product.cl. The matrix of the input
// is never written: each element of a tile is looked up on the board. The sum runs over the taps (i, j) of the kernel, and over
// the channels c for each: where a tap lies on the board is known before the loop over channels.
//
//   range     [ceil(batch * SQUARES / ROWS) * LX][ceil(channels / CHANNELS) * LY], groups of [LX][LY]
//   input     [n][channel][square]; with INT8 four channels count as one
//   weights   [i][j][c][output channels rounded up to CHANNELS], zeros in the padding
//   bias, weight_steps   [output channels rounded up to CHANNELS]
//   residual, output  [n][channel][square]

#if SQUARES % 4 == 0
#define WHOLE_FOURS
#endif

// The product of a 1x1 convolution: four neighbouring squares of a channel are a four of rows.
#ifdef WHOLE_FOURS
INLINED void multiply_squares(sums_t sums[ITEM_CHANNELS][ITEM_FOURS], global const element_t *input, int in_channels,
                              int in_stride, global const weight_t *weights, int first_pixel, int padded,
                              local four_t *some_rows, local four_t *some_channels, int batch) {
    global const four_t *begins[READ_FOURS];
    for (int p = 0; p < READ_FOURS; p++) {
        const int pixel = first_pixel + 4 * read_four(p);
        // Squares behind the batch repeat its last position's and aren't written.
        const int n = min(pixel / SQUARES, batch - 1);
        begins[p] = (global const four_t *)(input + (size_t)n * in_stride + pixel % SQUARES);
    }
    multiply(sums, begins, SQUARES / 4, in_channels, weights, padded, some_rows, some_channels);
}
#endif

// The product of a convolution on any board.
#if DEPTH > 0
// Pixels that an item brings into local memory at a time.
#define PIXELS (DEPTH * ROWS / ITEMS)

// A pixel on DEPTH channels from `start` on, as `tap` sees it, which this item shares with others; zeros outside the board and behind the
// last channel.
INLINED void fetch_pixels(const int K, element_t *next, global const element_t *from, int in_batch, int y, int x, int tap, int start,
                          int in_channels) {
    const int dy = tap / K - K / 2;
    const int dx = tap % K - K / 2;
    const int inside = in_batch && y + dy >= 0 && y + dy < RANKS && x + dx >= 0 && x + dx < FILES;
#pragma unroll
    for (int k = 0; k < PIXELS; k++) {
        const int c = start + LANE / ROWS + k * (ITEMS / ROWS);
        next[k] = 0;
        if (inside && c < in_channels) next[k] = from[c * SQUARES + dy * FILES + dx];
    }
}

INLINED void multiply_pixels(const int K, sums_t sums[ITEM_CHANNELS][ITEM_FOURS], global const element_t *input,
                             int in_channels, int in_stride, global const weight_t *weights, int first_pixel, int padded,
                             local four_t *some_rows, local four_t *some_channels, int batch) {
    // An item loads the same pixel at every step of the sum that it loads.
    const int load_pixel = LANE % ROWS;
    const int at = first_pixel + load_pixel;
    const int load_n = at / SQUARES;
    const int load_square = at % SQUARES;
    const int load_y = load_square / FILES;
    const int load_x = load_square % FILES;
    global const element_t *from = input + (size_t)load_n * in_stride + load_square;
    local element_t *pixels = (local element_t *)some_rows;

#pragma unroll
    for (int c = 0; c < ITEM_CHANNELS; c++)
#pragma unroll
        for (int p = 0; p < ITEM_FOURS; p++) sums[c][p] = (sums_t)(0);
    element_t next_pixels[PIXELS];
    four_t next_channels[CHANNEL_FOURS];
    fetch_pixels(K, next_pixels, from, load_n < batch, load_y, load_x, 0, 0, in_channels);
    fetch_weights(next_channels, weights, padded, 0, in_channels);
    const int tiles = K * K * ((in_channels + DEPTH - 1) / DEPTH);
    int tap = 0;
    int start = 0;
    for (int tile = 0; tile < tiles; tile++) {
        // All have used what was there.
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < PIXELS; k++) pixels[LANE + k * ITEMS] = next_pixels[k];
        keep_weights(some_channels, next_channels);
        barrier(CLK_LOCAL_MEM_FENCE);
        start += DEPTH;
        if (start >= in_channels) {
            start = 0;
            tap++;
            weights += (size_t)in_channels * padded;
        }
        if (tap < K * K) {
            fetch_pixels(K, next_pixels, from, load_n < batch, load_y, load_x, tap, start, in_channels);
            fetch_weights(next_channels, weights, padded, start, in_channels);
        }
        add_tiles(sums, some_rows, some_channels);
    }
}
#endif

INLINED void conv_tile(GROUP_ARGS const int K, global const element_t *input, int in_channels, int in_stride,
                       global const weight_t *weights, STEPS_ARGS() global const float *bias, int out_channels,
                       local four_t *some_rows, local four_t *some_channels, END_ARGS()) {
    const int first_pixel = group(0) * ROWS;
    const int first_channel = group(1) * CHANNELS;
    const int padded = groups_across * CHANNELS;
    weights += first_channel;

    sums_t sums[ITEM_CHANNELS][ITEM_FOURS];
#ifdef WHOLE_FOURS
    if (K == 1)
        multiply_squares(sums, input, in_channels, in_stride, weights, first_pixel, padded, some_rows, some_channels, batch);
#endif
#if DEPTH > 0
#ifdef WHOLE_FOURS
    else
#endif
        multiply_pixels(K, sums, input, in_channels, in_stride, weights, first_pixel, padded, some_rows, some_channels, batch);
#endif

#pragma unroll
    for (int p = 0; p < ITEM_FOURS; p++) {
        const int pixel = first_pixel + 4 * (local_x(LX) + p * LX);
#pragma unroll
        for (int c = 0; c < ITEM_CHANNELS; c++) {
            const int channel = first_channel + local_y(LX) * ITEM_CHANNELS + c;
            if (channel >= out_channels) continue;
#ifdef WHOLE_FOURS
            const int n = pixel / SQUARES;
            if (n >= batch) continue;
            const float4 z = in_floats(sums[c][p], n, channel, STEPS bias);
            end_four(z, n, channel, pixel % SQUARES, SQUARES, END);
#else
            // Registers, if the loop is unrolled.
            const sum_t four[4] = {sums[c][p].s0, sums[c][p].s1, sums[c][p].s2, sums[c][p].s3};
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int n = (pixel + k) / SQUARES;
                if (n >= batch) continue;
                const float z = in_float(four[k], n, channel, STEPS bias);
                end_channel(z, n, channel, (pixel + k) % SQUARES, SQUARES, END);
            }
#endif
        }
    }
}

#define CONV(NAME, K)                                                                                                  \
    GROUP_KERNEL(LX, LY)                                                                                               \
    NAME(GROUP_ARGS global const element_t *restrict input, int in_channels, int in_stride,                            \
         global const weight_t *restrict weights, STEPS_ARGS(restrict) global const float *restrict bias,              \
         int out_channels, END_ARGS(restrict)) {                                                                       \
        LOCAL_TILES;                                                                                                   \
        conv_tile(GROUP K, input, in_channels, in_stride, weights, STEPS bias, out_channels, some_rows, some_channels, \
                  END);                                                                                                \
    }

#if DEPTH > 0
CONV(conv3, 3)
#ifdef WITH_FIVE
CONV(conv5, 5)
#endif
#endif
#if DEPTH > 0 || defined(WHOLE_FOURS)
CONV(conv1, 1)
#endif
#ifdef IN_NETWORK
enum { conv_fours = LOCAL_FOURS };
#endif
#endif
