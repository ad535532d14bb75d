// What is done to each element alone.
//
//   range     [batch][ceil(count / LANES) * LANES], groups of [1][LANES]; one text for both variants
//   values    plain, `count` elements of a position
//   local     none
//
// Options: LANES, items of a group.

// out = in * scale + shift
KERNEL gate(ITEM_ARGS global const float *restrict input, int in_stride, global const float *restrict scale,
            global const float *restrict shift, int count, global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= count) return;
    output[(size_t)n * out_stride + i] = input[(size_t)n * in_stride + i] * scale[i] + shift[i];
}

// The same numbers for every position.
KERNEL constant_value(ITEM_ARGS global const float *restrict values, int count, global float *restrict output,
                      int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n < batch && i < count) output[(size_t)n * out_stride + i] = values[i];
}
