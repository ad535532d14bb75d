// Layer norm: for each square, over its channels, out = gamma (x - mean) / sqrt(variance + epsilon) + beta.
//
//   range     [batch][ceil(squares / LANES) * LANES], groups of [1][LANES]; one text for both variants, an item a square
//   input     [n][block of channels][square][channel in the block], output plain
//   local     none
//
// `epsilon` comes as the bits of a float. Options: LANES, items of a group.

kernel void layer_norm(global const float *restrict input, int block, int in_stride, int channels, int squares,
                       global const float *restrict gammas, global const float *restrict betas, int epsilon,
                       global float *restrict output, int out_stride, int batch) {
    const int n = get_global_id(0);
    const int s = get_global_id(1);
    if (n >= batch || s >= squares) return;
    input += (size_t)n * in_stride;
    output += (size_t)n * out_stride;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++) sum += input[PLACE(c, s, squares, block)];
    const float mean = sum / channels;
    sum = 0.0f;
    for (int c = 0; c < channels; c++) {
        const float x = input[PLACE(c, s, squares, block)] - mean;
        sum += x * x;
    }
    const float scale = 1.0f / sqrt(sum / channels + as_float(epsilon));
    for (int c = 0; c < channels; c++)
        output[c * squares + s] = gammas[c] * ((input[PLACE(c, s, squares, block)] - mean) * scale) + betas[c];
}
