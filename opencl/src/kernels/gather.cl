// Picks elements: out[n][i] = in[n][indices[i]] + residual[n][i].
//
//   range     [batch][ceil(count / LANES) * LANES], groups of [1][LANES]; one text for both variants
//   indices   places in the stored layout of the input, below in_stride
//   residual  plain, read where `has_residual` is not 0
//   local     none
//
// Options: LANES, items of a group.

ITEM_KERNEL(1, LANES) gather(ITEM_ARGS global const float *restrict input, int in_stride,
                             global const uint *restrict indices, int count, global const float *restrict residual,
                             int has_residual, int residual_stride, global float *restrict output, int out_stride,
                             int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= count) return;
    float x = input[(size_t)n * in_stride + indices[i]];
    if (has_residual) x += residual[(size_t)n * residual_stride + i];
    output[(size_t)n * out_stride + i] = x;
}
