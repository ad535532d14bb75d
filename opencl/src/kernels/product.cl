// A product of matrices on a GPU, for conv.cl and winograd.cl, before whose text this stands: rows, which are squares or tiles of a
// batch, by output channels, summed over a depth.
//
// A group of LX x LY items makes LX ITEM_ROWS rows by LY ITEM_CHANNELS channels. An item's rows come in fours, LX fours apart, so that
// neighbours read and write neighbouring fours; its channels lie next to each other. A four and a number of ITEM_CHANNELS make four
// sums with one vector of each loaded: some GPUs load a vector in the time of a number, and some multiply by vectors.
//
//   rows      [depth][row], or wherever the caller says that fours of rows begin
//   weights   [depth][output channel], channels padded to whole groups with zeros
//   local     DEPTH (LX ITEM_ROWS + LY ITEM_CHANNELS) elements
//
// Options: LX, a power of two; LY, 8 or 16; ITEM_ROWS and ITEM_CHANNELS, 4 or 8; DEPTH, steps of the sum that a group brings into local memory at a
// time, a multiple of 8. With DEPTH 0 each item reads what it needs from global memory: for GPUs whose local memory is no other.

#ifdef VARIANT_GPU
#ifdef INT8
typedef char16 four_t;
typedef int4 sums_t;
#define OF_FOUR(k, four) OF_FOUR_##k(four)
#define OF_FOUR_0(four) (four).s0123
#define OF_FOUR_1(four) (four).s4567
#define OF_FOUR_2(four) (four).s89ab
#define OF_FOUR_3(four) (four).scdef
INLINED sums_t add_four(sums_t sums, four_t rows, element_t channel) {
    sums.s0 = add_product(sums.s0, rows.s0123, channel);
    sums.s1 = add_product(sums.s1, rows.s4567, channel);
    sums.s2 = add_product(sums.s2, rows.s89ab, channel);
    sums.s3 = add_product(sums.s3, rows.scdef, channel);
    return sums;
}
#else
typedef float4 four_t;
typedef float4 sums_t;
#define OF_FOUR(k, four) (four).s##k
#define add_four(sums, rows, channel) ((sums) + (rows) * (channel))
#endif
#ifdef WEIGHTS_FP16
#define weight_four(at, weights) vload_half4(at, weights)
#else
#define weight_four(at, weights) (((global const four_t *)(weights))[at])
#endif

// The numbers that are meant by the sums of a channel, all of one position.
INLINED float4 in_floats(sums_t sums, int n, int channel, STEPS_ARGS() global const float *bias) {
#ifdef INT8
    return convert_float4(sums) * (input_steps[n] * weight_steps[channel]) + bias[channel];
#else
    return sums + bias[channel];
#endif
}

// The end of a convolution for one channel on four squares from `square` on, of a board whose squares are whole fours.
INLINED void end_four(float4 z, int n, int channel, int square, int squares, END_ARGS()) {
    const int at = (channel * squares + square) / 4;
    if (has_residual) z += ((global const float4 *)(residual + (size_t)n * residual_stride))[at];
    ((global float4 *)(output + (size_t)n * out_stride))[at] = activate_four(z, act);
}

#ifdef LX
// Fours of rows of an item and of a group.
#define ITEM_FOURS (ITEM_ROWS / 4)
#define FOURS (LX * ITEM_FOURS)
#define ROWS (4 * FOURS)
#define CHANNELS (LY * ITEM_CHANNELS)

INLINED void add_fours(sums_t sums[ITEM_CHANNELS][ITEM_FOURS], const four_t *rows, const four_t *channels) {
#pragma unroll
    for (int c = 0; c < ITEM_CHANNELS; c += 4)
#pragma unroll
        for (int p = 0; p < ITEM_FOURS; p++) {
            sums[c][p] = add_four(sums[c][p], rows[p], OF_FOUR(0, channels[c / 4]));
            sums[c + 1][p] = add_four(sums[c + 1][p], rows[p], OF_FOUR(1, channels[c / 4]));
            sums[c + 2][p] = add_four(sums[c + 2][p], rows[p], OF_FOUR(2, channels[c / 4]));
            sums[c + 3][p] = add_four(sums[c + 3][p], rows[p], OF_FOUR(3, channels[c / 4]));
        }
}

#if DEPTH > 0
#define ROWS_FOURS (DEPTH * FOURS)
#define CHANNELS_FOURS (DEPTH * CHANNELS / 4)
#define LOCAL_TILES                                                                                                    \
    LOCAL_ARRAY(four_t, some_rows, 0, ROWS_FOURS);                                                                     \
    LOCAL_ARRAY(four_t, some_channels, ROWS_FOURS, CHANNELS_FOURS)
#define LOCAL_FOURS (ROWS_FOURS + CHANNELS_FOURS)
#define ITEMS (LX * LY)
#define LANE (local_y(LX) * LX + local_x(LX))
// Fours that an item brings into local memory at a time; of channels there may be less than one for each item.
#define ROW_FOURS (DEPTH * FOURS / ITEMS)
#define CHANNEL_FOURS ((DEPTH * CHANNELS / 4 + ITEMS - 1) / ITEMS)
// How many fours of rows an item reads at each step, and which of the group's they are.
#define READ_FOURS 1
#define read_four(p) (LANE % FOURS)

// What this item brings of DEPTH steps of the sum from `start` on: it comes while those before are multiplied. Zeros behind the last step.
INLINED void fetch_rows(four_t *next, global const four_t *begin, int step, int start, int depth) {
#pragma unroll
    for (int k = 0; k < ROW_FOURS; k++) {
        const int d = start + LANE / FOURS + k * (ITEMS / FOURS);
        next[k] = (four_t)(0);
        if (d < depth) next[k] = begin[(size_t)d * step];
    }
}

INLINED void fetch_weights(four_t *next, global const weight_t *weights, int padded, int start, int depth) {
#pragma unroll
    for (int k = 0; k < CHANNEL_FOURS; k++) {
        const int e = LANE + k * ITEMS;
        const int d = start + e / (CHANNELS / 4);
        next[k] = (four_t)(0);
        if (e < DEPTH * CHANNELS / 4 && d < depth)
            next[k] = weight_four((size_t)d * (padded / 4) + e % (CHANNELS / 4), weights);
    }
}

INLINED void keep_rows(local four_t *rows, const four_t *next) {
#pragma unroll
    for (int k = 0; k < ROW_FOURS; k++) rows[LANE + k * ITEMS] = next[k];
}

INLINED void keep_weights(local four_t *channels, const four_t *next) {
#pragma unroll
    for (int k = 0; k < CHANNEL_FOURS; k++) {
        const int e = LANE + k * ITEMS;
        if (e < DEPTH * CHANNELS / 4) channels[e] = next[k];
    }
}

// DEPTH steps of the sum.
INLINED void add_tiles(sums_t sums[ITEM_CHANNELS][ITEM_FOURS], local const four_t *rows, local const four_t *channels) {
    rows += local_x(LX);
    channels += local_y(LX) * (ITEM_CHANNELS / 4);
    // In eight bits clang for AMD takes apart all that it unrolls, and has no registers left.
#ifndef INT8
#pragma unroll 8
#endif
    for (int d = 0; d < DEPTH; d++) {
        four_t a[ITEM_FOURS], b[ITEM_CHANNELS / 4];
#pragma unroll
        for (int p = 0; p < ITEM_FOURS; p++) a[p] = rows[d * FOURS + p * LX];
#pragma unroll
        for (int c = 0; c < ITEM_CHANNELS / 4; c++) b[c] = channels[d * (CHANNELS / 4) + c];
        add_fours(sums, a, b);
    }
}
#else
#define LOCAL_TILES local four_t *some_rows = 0, *some_channels = 0
#define LOCAL_FOURS 0
#define READ_FOURS ITEM_FOURS
#define read_four(p) (local_x(LX) + (p) * LX)
#endif

// The product where each four of rows that this item reads begins at `begins`, and is `step` fours further on at the next step of the
// sum. `weights` begin with the group's first channel.
INLINED void multiply(sums_t sums[ITEM_CHANNELS][ITEM_FOURS], global const four_t *begins[READ_FOURS], int step, int depth,
                      global const weight_t *weights, int padded, local four_t *some_rows, local four_t *some_channels) {
#pragma unroll
    for (int c = 0; c < ITEM_CHANNELS; c++)
#pragma unroll
        for (int p = 0; p < ITEM_FOURS; p++) sums[c][p] = (sums_t)(0);
#if DEPTH > 0
    four_t next_rows[ROW_FOURS], next_channels[CHANNEL_FOURS];
    fetch_rows(next_rows, begins[0], step, 0, depth);
    fetch_weights(next_channels, weights, padded, 0, depth);
    for (int start = 0; start < depth; start += DEPTH) {
        // All have used what was there.
        barrier(CLK_LOCAL_MEM_FENCE);
        keep_rows(some_rows, next_rows);
        keep_weights(some_channels, next_channels);
        barrier(CLK_LOCAL_MEM_FENCE);
        fetch_rows(next_rows, begins[0], step, start + DEPTH, depth);
        fetch_weights(next_channels, weights, padded, start + DEPTH, depth);
        add_tiles(sums, some_rows, some_channels);
    }
#else
    weights += local_y(LX) * ITEM_CHANNELS;
    for (int d = 0; d < depth; d++) {
        four_t a[ITEM_FOURS], b[ITEM_CHANNELS / 4];
#pragma unroll
        for (int p = 0; p < ITEM_FOURS; p++) a[p] = begins[p][(size_t)d * step];
#pragma unroll
        for (int c = 0; c < ITEM_CHANNELS / 4; c++) b[c] = weight_four((size_t)d * (padded / 4) + c, weights);
        add_fours(sums, a, b);
    }
#endif
}
#endif
#endif
