// What is done to each element alone, or to each pair.
//
//   range     [batch][ceil(count / LANES) * LANES], groups of [1][LANES]; one text for both variants
//   values    plain, `count` elements or pairs of a position
//   local     none
//
// Options: LANES, items of a group.

// out = in * scale + shift
ITEM_KERNEL(1, LANES) gate(ITEM_ARGS global const float *restrict input, int in_stride,
                           global const float *restrict scale, global const float *restrict shift, int count,
                           global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= count) return;
    output[(size_t)n * out_stride + i] = input[(size_t)n * in_stride + i] * scale[i] + shift[i];
}

// out = left * right
ITEM_KERNEL(1, LANES) multiply_values(ITEM_ARGS global const float *restrict left, int left_stride,
                                      global const float *restrict right, int right_stride, int count,
                                      global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= count) return;
    output[(size_t)n * out_stride + i] = left[(size_t)n * left_stride + i] * right[(size_t)n * right_stride + i];
}

// The channels 2p and 2p + 1 of a square, turned by the angle whose cosine and sine stand at [p][square]. One item takes a pair.
ITEM_KERNEL(1, LANES) turn_pairs(ITEM_ARGS global const float *restrict input, int in_stride,
                                 global const float *restrict cosines, global const float *restrict sines, int squares,
                                 int count, global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n >= batch || i >= count) return;
    const int at = i + i / squares * squares;
    input += (size_t)n * in_stride + at;
    output += (size_t)n * out_stride + at;
    const float a = input[0];
    const float b = input[squares];
    output[0] = a * cosines[i] - b * sines[i];
    output[squares] = b * cosines[i] + a * sines[i];
}

// The same numbers for every position.
ITEM_KERNEL(1, LANES) constant_value(ITEM_ARGS global const float *restrict values, int count,
                                     global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int i = item(1);
    if (n < batch && i < count) output[(size_t)n * out_stride + i] = values[i];
}
