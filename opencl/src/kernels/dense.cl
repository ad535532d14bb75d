// Fully connected layer with bias and activation.
//
//   out[n][o] = act(bias[o] + sum over i of w[o][i] in[n][i])
//
// Inputs are read in the order in which they are stored; the weights are packed in that order. A softmax follows in a
// kernel of its own. Strides count elements of one position.

#ifdef VARIANT_CPU
// One work item makes VEC outputs for ROWS positions. Each position has SPLIT accumulators, so that the chain of
// additions is shorter; a batch reuses a panel of weights ROWS times. SPLIT is the same for single positions and for batches: the
// sums are then the same to the bit.
//
//   range     [ceil(batch / ROWS)][panels of outputs], groups of one item
//   input     [n][in_len], as stored: channels of padding meet weights of zero
//   weights   [panel][in_len][VEC], bias and weight_steps [panel][VEC]
//   output    [n][out_len]
//   local     none

INLINED void dense_rows(ITEM_ARGS const int ROWS, const int SPLIT, global const element_t *input, int in_len,
                        int in_stride, global const weight_t *weights, STEPS_ARGS() global const float *bias,
                        global float *output, int out_len, int out_stride, int act, int batch) {
    const int first = item(0) * ROWS;
    const int panel = item(1);
    global const weight_t *w = weights + (size_t)panel * in_len * VEC;

    sums_t acc[4][4];
    global const element_t *from[4];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        // Rows behind the batch repeat its last one and aren't written.
        from[r] = input + (size_t)min(first + r, batch - 1) * in_stride;
#pragma unroll
        for (int k = 0; k < SPLIT; k++) acc[r][k] = 0;
    }
    int i = 0;
    for (; i + SPLIT <= in_len; i += SPLIT) {
#pragma unroll
        for (int k = 0; k < SPLIT; k++) {
            const sums_t b = weight_vec(i + k, w);
#pragma unroll
            for (int r = 0; r < ROWS; r++) acc[r][k] += (sum_t)from[r][i + k] * b;
        }
    }
    for (; i < in_len; i++) {
        const sums_t b = weight_vec(i, w);
#pragma unroll
        for (int r = 0; r < ROWS; r++) acc[r][0] += (sum_t)from[r][i] * b;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (first + r >= batch) continue;
        sums_t sums = acc[r][0];
#pragma unroll
        for (int k = 1; k < SPLIT; k++) sums += acc[r][k];
        const vecf sum = activate_vec(in_floats(sums, first + r, panel, STEPS bias), act);
        global float *to = output + (size_t)(first + r) * out_stride + panel * VEC;
        store_left(sum, to, out_len - panel * VEC);
    }
}

#define DENSE(NAME, ROWS, SPLIT)                                                                                       \
    KERNEL NAME(ITEM_ARGS global const element_t *restrict input, int in_len, int in_stride,                           \
                     global const weight_t *restrict weights, STEPS_ARGS(restrict)                                     \
                     global const float *restrict bias, global float *restrict output, int out_len, int out_stride,    \
                     int act, int batch) {                                                                             \
        dense_rows(ITEM ROWS, SPLIT, input, in_len, in_stride, weights, STEPS bias, output, out_len, out_stride, act,  \
                   batch);                                                                                             \
    }

DENSE(dense_one, 1, 2)
DENSE(dense_four, 4, 2)
#endif

#ifdef VARIANT_GPU
// One group of LANES items makes OUTS outputs for ROWS positions: each number that is loaded, of the weights or of the input, is
// used for all of the other. Lanes read neighbouring numbers, a tree adds their sums.
//
//   range     [ceil(batch / ROWS) * LANES][ceil(outputs / OUTS)], groups of [LANES][1]
//   input     [n][in_len], weights [o][in_len], bias and weight_steps [o], output [n][out_len]; with INT8 four inputs
//             count as one
//   local     ROWS * OUTS * LANES sums
//
// Options: LANES, a power of two; ROWS; IN_FOURS where in_len is a number of whole fours, not with INT8.

#define OUTS 4

#ifdef IN_FOURS
typedef float4 part_t;
#define SIZE 4
#ifdef WEIGHTS_FP16
#define weight_part(at, weights) vload_half4(at, weights)
#else
#define weight_part(at, weights) (((global const float4 *)(weights))[at])
#endif
#define add_part add_products_of_four
#else
typedef element_t part_t;
#define SIZE 1
#define weight_part weight_load
#define add_part add_product
#endif

GROUP_KERNEL(LANES, 1)
dense(GROUP_ARGS global const element_t *restrict input, int in_len, int in_stride,
      global const weight_t *restrict weights, STEPS_ARGS(restrict) global const float *restrict bias,
      global float *restrict output, int out_len, int out_stride, int act, int batch) {
    LOCAL_ARRAY(sum_t, sums, 0, ROWS * OUTS * LANES / 4);
    const int first = group(0) * ROWS;
    const int first_out = group(1) * OUTS;
    const int lane = get_local_id(0);
    sum_t acc[ROWS][OUTS];
    // Positions behind the batch, and outputs behind the last, repeat the last one and aren't written.
    global const part_t *from[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        from[r] = (global const part_t *)(input + (size_t)min(first + r, batch - 1) * in_stride);
#pragma unroll
        for (int o = 0; o < OUTS; o++) acc[r][o] = 0;
    }
    for (int i = lane; i < in_len / SIZE; i += LANES) {
        part_t w[OUTS];
#pragma unroll
        for (int o = 0; o < OUTS; o++)
            w[o] = weight_part((size_t)min(first_out + o, out_len - 1) * (in_len / SIZE) + i, weights);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const part_t x = from[r][i];
#pragma unroll
            for (int o = 0; o < OUTS; o++) acc[r][o] = add_part(acc[r][o], w[o], x);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int o = 0; o < OUTS; o++) sums[(r * OUTS + o) * LANES + lane] = acc[r][o];
    for (int half_way = LANES / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = lane; e < ROWS * OUTS * half_way; e += LANES) {
            const int at = e / half_way * LANES + e % half_way;
            sums[at] += sums[at + half_way];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lane; k < ROWS * OUTS; k += LANES) {
        const int n = first + k / OUTS;
        const int o = first_out + k % OUTS;
        if (n >= batch || o >= out_len) continue;
        output[(size_t)n * out_stride + o] = activate(in_float(sums[k * LANES], n, o, STEPS bias), act);
    }
}
#ifdef IN_NETWORK
enum { dense_fours = ROWS * OUTS * LANES / 4 };
#endif
#endif
