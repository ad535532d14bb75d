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
// One group of LANES items makes one output for ROWS positions: lanes read neighbouring weights, a tree adds their sums.
//
//   range     [ceil(batch / ROWS) * LANES][outputs], groups of [LANES][1]
//   input     [n][in_len], weights [o][in_len], bias and weight_steps [o], output [n][out_len]; with INT8 four inputs
//             count as one
//   local     ROWS * LANES sums
//
// Options: LANES, a power of two.

#define ROWS 4

kernel void dense(global const element_t *restrict input, int in_len, int in_stride,
                  global const weight_t *restrict weights, STEPS_ARGS(restrict) global const float *restrict bias,
                  global float *restrict output, int out_stride, int act, int batch) {
    local sum_t sums[ROWS * LANES];
    const int first = get_group_id(0) * ROWS;
    const int lane = get_local_id(0);
    const int o = get_group_id(1);
    sum_t acc[ROWS];
    for (int r = 0; r < ROWS; r++) acc[r] = 0;
    for (int i = lane; i < in_len; i += LANES) {
        const element_t w = weight_load((size_t)o * in_len + i, weights);
        // Rows behind the batch repeat its last one and aren't written.
        for (int r = 0; r < ROWS; r++)
            acc[r] = add_product(acc[r], w, input[(size_t)min(first + r, batch - 1) * in_stride + i]);
    }
    for (int r = 0; r < ROWS; r++) sums[r * LANES + lane] = acc[r];
    for (int half_way = LANES / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_way)
            for (int r = 0; r < ROWS; r++) sums[r * LANES + lane] += sums[r * LANES + lane + half_way];
    }
    if (lane == 0)
        for (int r = 0; r < ROWS && first + r < batch; r++) {
            const float z = in_float(sums[r * LANES], first + r, o, STEPS bias);
            output[(size_t)(first + r) * out_stride + o] = activate(z, act);
        }
}
#endif
