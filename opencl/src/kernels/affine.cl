// Each channel by numbers of its own: out[n][c][s] = act(scale[c] (in[n][c][s] + added[n][c]) + shift[c]).
//
//   added     [n][channel], read where `has_added` is not 0
//   local     none
//
// Strides count floats of one position.

#ifdef VARIANT_CPU
// A value in blocks: one work item takes a panel of VEC channels.
//
//   range     [batch][blocks], groups of one item
//   input     [n][block][square][VEC]
//   scale, shift  [block][VEC], zeros in the padding, which makes the output's padding as finite as any other
//   output    [n][block][square][out_block]; a block is VEC or 1 (plain)
KERNEL affine_blocked(ITEM_ARGS global const float *restrict input, int in_stride, int squares,
                      global const float *restrict added, int has_added, int added_stride,
                      global const float *restrict scale, global const float *restrict shift,
                      global float *restrict output, int out_stride, int act, int out_block, int batch) {
    const int n = item(0);
    const int panel = item(1);
    if (n >= batch) return;
    input += (size_t)n * in_stride;
    output += (size_t)n * out_stride;
    const vecf a = vec_load(panel, scale);
    const vecf b = vec_load(panel, shift);
    vecf add = 0.0f;
    if (has_added) add = load_left(added + (size_t)n * added_stride + panel * VEC, added_stride - panel * VEC);
    for (int s = 0; s < squares; s++) {
        const vecf x = vec_load(panel * squares + s, input) + add;
        store_channels(activate_vec(a * x + b, act), output, panel, s, squares, out_block, out_stride);
    }
}

// A plain value: one work item takes a channel, VEC neighbouring squares at a time.
//
//   range     [batch][channels], groups of one item
//   input, output  [n][channel][square]
//   scale, shift  [channel]
KERNEL affine_planes(ITEM_ARGS global const float *restrict input, int in_stride, int squares,
                     global const float *restrict added, int has_added, int added_stride,
                     global const float *restrict scale, global const float *restrict shift,
                     global float *restrict output, int out_stride, int act, int batch) {
    const int n = item(0);
    const int c = item(1);
    if (n >= batch) return;
    input += (size_t)n * in_stride + c * squares;
    output += (size_t)n * out_stride + c * squares;
    const float a = scale[c];
    const float b = shift[c];
    const float add = has_added ? added[(size_t)n * added_stride + c] : 0.0f;
    for (int s = 0; s < squares; s += VEC) {
        const vecf x = load_left(input + s, squares - s) + add;
        store_left(activate_vec(a * x + b, act), output + s, squares - s);
    }
}
#endif

#ifdef VARIANT_GPU
// One work item takes one element: neighbours read and write neighbours.
//
//   range     [batch][ceil(in_stride / LANES) * LANES], groups of [1][LANES]
//   input, output  [n][channel][square], in_stride elements of a position
//   scale, shift  [channel]
//
// Options: LANES, items of a group.
ITEM_KERNEL(1, LANES) affine(ITEM_ARGS global const float *restrict input, int in_stride, int squares,
                             global const float *restrict added, int has_added, int added_stride,
                             global const float *restrict scale, global const float *restrict shift,
                             global float *restrict output, int out_stride, int act, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= in_stride) return;
    const int c = i / squares;
    float x = input[(size_t)n * in_stride + i];
    if (has_added) x += added[(size_t)n * added_stride + c];
    output[(size_t)n * out_stride + i] = activate(scale[c] * x + shift[c], act);
}
#endif
