// Fully connected layer with bias and activation.
//
//   out[n][o] = act(bias[o] + sum over i of w[o][i] in[n][i])
//
// Inputs are read in the order in which they are stored; the weights are packed in that order. A softmax follows in a
// kernel of its own. Strides count floats of one position.

#ifdef VARIANT_CPU
// One work item makes VEC outputs for ROWS positions. Each position has SPLIT accumulators, so that the chain of
// additions is shorter; a batch reuses a panel of weights ROWS times. SPLIT is the same for single positions and for batches: the
// sums are then the same to the bit.
//
//   range     [ceil(batch / ROWS)][panels of outputs], groups of one item
//   input     [n][in_len], as stored: channels of padding meet weights of zero
//   weights   [panel][in_len][VEC], bias [panel][VEC]
//   output    [n][out_len]
//   local     none

INLINED void dense_rows(const int ROWS, const int SPLIT, global const float *input, int in_len, int in_stride,
                        global const weight_t *weights, global const float *bias, global float *output, int out_len,
                        int out_stride, int act, int batch) {
    const int first = get_global_id(0) * ROWS;
    const int panel = get_global_id(1);
    global const weight_t *w = weights + (size_t)panel * in_len * VEC;

    vecf acc[4][4];
    global const float *from[4];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        // Rows behind the batch repeat its last one and aren't written.
        from[r] = input + (size_t)min(first + r, batch - 1) * in_stride;
#pragma unroll
        for (int k = 0; k < SPLIT; k++) acc[r][k] = 0.0f;
    }
    int i = 0;
    for (; i + SPLIT <= in_len; i += SPLIT) {
#pragma unroll
        for (int k = 0; k < SPLIT; k++) {
            const vecf b = weight_vec(i + k, w);
#pragma unroll
            for (int r = 0; r < ROWS; r++) acc[r][k] += from[r][i + k] * b;
        }
    }
    for (; i < in_len; i++) {
        const vecf b = weight_vec(i, w);
#pragma unroll
        for (int r = 0; r < ROWS; r++) acc[r][0] += from[r][i] * b;
    }
    const vecf start = vec_load(panel, bias);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (first + r >= batch) continue;
        vecf sum = start;
#pragma unroll
        for (int k = 0; k < SPLIT; k++) sum += acc[r][k];
        sum = activate_vec(sum, act);
        global float *to = output + (size_t)(first + r) * out_stride + panel * VEC;
        store_left(sum, to, out_len - panel * VEC);
    }
}

#define DENSE(NAME, ROWS, SPLIT)                                                                                       \
    kernel void NAME(global const float *restrict input, int in_len, int in_stride,                                    \
                     global const weight_t *restrict weights, global const float *restrict bias,                          \
                     global float *restrict output, int out_len, int out_stride, int act, int batch) {                 \
        dense_rows(ROWS, SPLIT, input, in_len, in_stride, weights, bias, output, out_len, out_stride, act, batch);      \
    }

DENSE(dense_one, 1, 2)
DENSE(dense_four, 4, 2)
#endif

#ifdef VARIANT_GPU
// One group of LANES items makes one output for ROWS positions: lanes read neighbouring weights, a tree adds their sums.
//
//   range     [ceil(batch / ROWS) * LANES][outputs], groups of [LANES][1]
//   input     [n][in_len], weights [o][in_len], bias [o], output [n][out_len]
//   local     ROWS * LANES floats
//
// Options: LANES, a power of two.

#define ROWS 4

kernel void dense(global const float *restrict input, int in_len, int in_stride, global const weight_t *restrict weights,
                  global const float *restrict bias, global float *restrict output, int out_stride, int act,
                  int batch) {
    local float sums[ROWS * LANES];
    const int first = get_group_id(0) * ROWS;
    const int lane = get_local_id(0);
    const int o = get_group_id(1);
    float acc[ROWS];
    for (int r = 0; r < ROWS; r++) acc[r] = 0.0f;
    for (int i = lane; i < in_len; i += LANES) {
        const float w = weight_load((size_t)o * in_len + i, weights);
        // Rows behind the batch repeat its last one and aren't written.
        for (int r = 0; r < ROWS; r++) acc[r] += w * input[(size_t)min(first + r, batch - 1) * in_stride + i];
    }
    for (int r = 0; r < ROWS; r++) sums[r * LANES + lane] = acc[r];
    for (int half_way = LANES / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_way)
            for (int r = 0; r < ROWS; r++) sums[r * LANES + lane] += sums[r * LANES + lane + half_way];
    }
    if (lane == 0)
        for (int r = 0; r < ROWS && first + r < batch; r++)
            output[(size_t)(first + r) * out_stride + o] = activate(sums[r * LANES] + bias[o], act);
}
#endif
