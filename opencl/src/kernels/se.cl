// Squeeze and excitation with residual and activation, in place on the convolution's output z.
//
//   p[c] = mean of z[n][c] over the squares        h = act(w1 p + b1)        (g, b) = w2 h + b2
//   z[n][c][s] = act(sigmoid(g[c]) z[n][c][s] + b[c] + residual[n][c][s])
//
// Strides count floats of one position.

// winograd.cl has this text, too, for what it does between two convolutions.
#if defined(VARIANT_CPU) && !defined(WITHIN_WINOGRAD)
// One work item takes one position: a position's block is small beside the convolution before it, and a second launch
// would cost more than the work that a second core could take.
//
//   range     [batch][1], groups of one item
//   z         [n][block of channels][square][block], block = VEC or 1 (plain)
//   w1        [channel, padded to VEC][hidden_blocks][VEC], zeros in the padding
//   b1        [hidden_blocks][VEC]
//   w2        [hidden][2 * blocks][VEC]: scales, then shifts
//   b2        [2 * blocks][VEC]
//   residual  the same with residual_block
//   scratch   [n][blocks + hidden_blocks + 2 * blocks][VEC]
//   local     none

KERNEL se(ITEM_ARGS global float *restrict z, int block, int blocks, int squares, int stride,
          global const float *restrict w1, global const float *restrict b1, int hidden, int hidden_blocks,
          global const float *restrict w2, global const float *restrict b2, global const float *restrict residual,
          int has_residual, int residual_block, int residual_stride, global float *restrict scratch, int act,
          int batch) {
    const int n = item(0);
    if (n >= batch) return;
    z += (size_t)n * stride;
    residual += (size_t)n * residual_stride;
    global float *pool = scratch + (size_t)n * (3 * blocks + hidden_blocks) * VEC;
    global float *h = pool + blocks * VEC;
    global float *excite = h + hidden_blocks * VEC;

    const float share = 1.0f / squares;
    for (int panel = 0; panel < blocks; panel++) {
        vecf sum = 0.0f;
        for (int s = 0; s < squares; s++) sum += load_channels(z, panel, s, squares, block, stride);
        vec_store(sum * share, panel, pool);
    }
    for (int k = 0; k < hidden_blocks; k++) {
        vecf sum = vec_load(k, b1);
        for (int c = 0; c < blocks * VEC; c++) sum += pool[c] * vec_load(c * hidden_blocks + k, w1);
        vec_store(activate_vec(sum, act), k, h);
    }
    for (int panel = 0; panel < 2 * blocks; panel++) {
        vecf sum = vec_load(panel, b2);
        for (int k = 0; k < hidden; k++) sum += h[k] * vec_load(k * 2 * blocks + panel, w2);
        vec_store(sum, panel, excite);
    }
    for (int panel = 0; panel < blocks; panel++) {
        const vecf scale = 1.0f / (1.0f + exp_vec(-vec_load(panel, excite)));
        const vecf shift = vec_load(blocks + panel, excite);
        for (int s = 0; s < squares; s++) {
            vecf x = scale * load_channels(z, panel, s, squares, block, stride) + shift;
            if (has_residual) x += load_channels(residual, panel, s, squares, residual_block, residual_stride);
            store_channels(activate_vec(x, act), z, panel, s, squares, block, stride);
        }
    }
}
#endif

#ifdef VARIANT_GPU
// One group of LANES items takes one position; vectors between the steps stay in local memory.
//
//   range     [batch * LANES][1], groups of [LANES][1]
//   z, residual  [n][channel][square]
//   w1        [channel][hidden], b1 [hidden]
//   w2        [hidden][2 * channels]: scales, then shifts; b2 [2 * channels]
//   local     partial [channels * 8], h [hidden], excite [2 * channels] floats
//
// Options: SQUARES; LANES, a multiple of 8.

#define SE_ARGS(Q)                                                                                                     \
    global const float *Q w1, global const float *Q b1, int hidden, global const float *Q w2, global const float *Q b2,   \
        global const float *Q residual, int has_residual, int residual_stride, int act, local float *partial,             \
        local float *h, local float *excite
#define SE w1, b1, hidden, w2, b2, residual, has_residual, residual_stride, act, partial, h, excite

#ifdef LANES
// What one item of position `n` does.
INLINED void squeeze_and_excite(global float *z, int channels, int stride, int n, int lane, SE_ARGS()) {
    z += (size_t)n * stride;
    residual += (size_t)n * residual_stride;

    // Eight neighbouring lanes read eight neighbouring squares.
    for (int c = lane / 8; c < channels; c += LANES / 8) {
        float sum = 0.0f;
        for (int s = lane % 8; s < SQUARES; s += 8) sum += z[c * SQUARES + s];
        partial[c * 8 + lane % 8] = sum;
    }
    // The global fence too: these reads of z come before other lanes write to it at the end.
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int c = lane; c < channels; c += LANES) {
        float sum = 0.0f;
        for (int k = 0; k < 8; k++) sum += partial[c * 8 + k];
        partial[c * 8] = sum / SQUARES;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lane; k < hidden; k += LANES) {
        float sum = b1[k];
        for (int c = 0; c < channels; c++) sum += partial[c * 8] * w1[c * hidden + k];
        h[k] = activate(sum, act);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = lane; c < 2 * channels; c += LANES) {
        float sum = b2[c];
        for (int k = 0; k < hidden; k++) sum += h[k] * w2[k * 2 * channels + c];
        excite[c] = c < channels ? 1.0f / (1.0f + exp(-sum)) : sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if SQUARES % 4 == 0
    global const float4 *add = (global const float4 *)residual;
    global float4 *four = (global float4 *)z;
    for (int at = lane; at < channels * (SQUARES / 4); at += LANES) {
        const int c = at / (SQUARES / 4);
        float4 x = excite[c] * four[at] + excite[channels + c];
        if (has_residual) x += add[at];
        four[at] = activate_four(x, act);
    }
#else
    for (int at = lane; at < channels * SQUARES; at += LANES) {
        const int c = at / SQUARES;
        float x = excite[c] * z[at] + excite[channels + c];
        if (has_residual) x += residual[at];
        z[at] = activate(x, act);
    }
#endif
}

#ifndef WITHIN_WINOGRAD
GROUP_KERNEL(LANES, 1) se(GROUP_ARGS global float *restrict z, int channels, int stride, SE_ARGS(restrict), int batch) {
    squeeze_and_excite(z, channels, stride, group(0), get_local_id(0), SE);
}
#endif
#endif
#endif
