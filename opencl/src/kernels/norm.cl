// Norms over the channels of each square.
//
// layer_norm  out = gamma (x - mean) / sqrt(variance + epsilon) + beta
// rms_norm    out = x / sqrt(mean of x^2 + epsilon)
//
// A norm over all channels and squares of a position is launched as that of a vector.
//
//   input, output  plain: [n][channel][square]. Strides count floats of one position.
//
// `epsilon` comes as the bits of a float.

#ifdef VARIANT_CPU
// One work item norms WIDTH squares: sums of a single vector would wait for each other.
//
//   range     [batch][ceil(squares / WIDTH)], groups of one item
//   local     none

#define SPAN FULL_SPAN
#define WIDTH (SPAN * VEC)

KERNEL layer_norm(ITEM_ARGS global const float *restrict input, int in_stride, int channels, int squares,
                  global const float *restrict gammas, global const float *restrict betas, int epsilon,
                  global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int s = item(1) * WIDTH;
    const int left = squares - s;
    if (n >= batch || left <= 0) return;
    input += (size_t)n * in_stride + s;
    output += (size_t)n * out_stride + s;
    vecf x[SPAN], means[SPAN], scales[SPAN];
    clear_tile(means, 1, SPAN);
    for (int c = 0; c < channels; c++) {
        load_span(x, SPAN, input + c * squares, left);
#pragma unroll
        for (int k = 0; k < SPAN; k++) means[k] += x[k];
    }
#pragma unroll
    for (int k = 0; k < SPAN; k++) means[k] /= channels;
    clear_tile(scales, 1, SPAN);
    for (int c = 0; c < channels; c++) {
        load_span(x, SPAN, input + c * squares, left);
#pragma unroll
        for (int k = 0; k < SPAN; k++) scales[k] += (x[k] - means[k]) * (x[k] - means[k]);
    }
#pragma unroll
    for (int k = 0; k < SPAN; k++) scales[k] = 1.0f / sqrt(scales[k] / channels + as_float(epsilon));
    for (int c = 0; c < channels; c++) {
        load_span(x, SPAN, input + c * squares, left);
#pragma unroll
        for (int k = 0; k < SPAN; k++) x[k] = (x[k] - means[k]) * scales[k] * gammas[c] + betas[c];
        store_span(x, SPAN, output + c * squares, left);
    }
}

// Likewise.
KERNEL rms_norm(ITEM_ARGS global const float *restrict input, int in_stride, int channels, int squares, int epsilon,
                global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int s = item(1) * WIDTH;
    const int left = squares - s;
    if (n >= batch || left <= 0) return;
    input += (size_t)n * in_stride + s;
    output += (size_t)n * out_stride + s;
    vecf x[SPAN], scales[SPAN];
    clear_tile(scales, 1, SPAN);
    for (int c = 0; c < channels; c++) {
        load_span(x, SPAN, input + c * squares, left);
#pragma unroll
        for (int k = 0; k < SPAN; k++) scales[k] += x[k] * x[k];
    }
#pragma unroll
    for (int k = 0; k < SPAN; k++) scales[k] = 1.0f / sqrt(scales[k] / channels + as_float(epsilon));
    for (int c = 0; c < channels; c++) {
        load_span(x, SPAN, input + c * squares, left);
#pragma unroll
        for (int k = 0; k < SPAN; k++) x[k] *= scales[k];
        store_span(x, SPAN, output + c * squares, left);
    }
}

// The norm of a vector without a board, by one work item.
//
//   range     [batch][1], groups of one item
//   local     none

// The sum of (x - shift)^power over the channels, power 1 or 2.
INLINED float sum_of_powers(global const float *x, int channels, float shift, const int power) {
    vecf sums = 0.0f;
    int c = 0;
    for (; c + VEC <= channels; c += VEC) {
        const vecf y = vec_load(0, x + c) - shift;
        sums += power == 2 ? y * y : y;
    }
    float lanes[VEC];
    lanes_store(sums, 0, lanes);
    float sum = 0.0f;
    for (int k = 0; k < VEC; k++) sum += lanes[k];
    for (; c < channels; c++) {
        const float y = x[c] - shift;
        sum += power == 2 ? y * y : y;
    }
    return sum;
}

KERNEL vector_norm(ITEM_ARGS global const float *restrict input, int in_stride, int channels,
                   global const float *restrict gammas, global const float *restrict betas, int epsilon,
                   global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    if (n >= batch) return;
    input += (size_t)n * in_stride;
    output += (size_t)n * out_stride;
    const float mean = sum_of_powers(input, channels, 0.0f, 1) / channels;
    const float scale = 1.0f / sqrt(sum_of_powers(input, channels, mean, 2) / channels + as_float(epsilon));
    for (int c = 0; c < channels; c += VEC) {
        const int left = channels - c;
        const vecf x = (load_left(input + c, left) - mean) * scale;
        store_left(load_left(gammas + c, left) * x + load_left(betas + c, left), output + c, left);
    }
}

KERNEL vector_rms_norm(ITEM_ARGS global const float *restrict input, int in_stride, int channels, int epsilon,
                       global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    if (n >= batch) return;
    input += (size_t)n * in_stride;
    output += (size_t)n * out_stride;
    const float scale = 1.0f / sqrt(sum_of_powers(input, channels, 0.0f, 2) / channels + as_float(epsilon));
    for (int c = 0; c < channels; c += VEC) {
        const int left = channels - c;
        store_left(load_left(input + c, left) * scale, output + c, left);
    }
}
#endif

#ifdef VARIANT_GPU
// A group norms LINE neighbouring squares, one of a vector without a board: LANES / LINE items share the channels of a square, whose sums
// meet in local memory.
//
//   range     [batch][ceil(squares / LINE) * LANES], groups of [1][LANES]
//   local     LANES floats
//
// Options: LANES, items of a group; LINE, a divisor of it; CHANNELS, where an item has few enough for its registers.

#define SLICES (LANES / LINE)
#define KEPT ((CHANNELS + SLICES - 1) / SLICES)

INLINED float all_slices(float mine, int lane, local float *sums) {
    // What was read of the sums before is read by all.
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = 0; k < SLICES; k++) sum += sums[k * LINE + lane % LINE];
    return sum;
}

GROUP_KERNEL(1, LANES)
layer_norm(GROUP_ARGS global const float *restrict input, int in_stride, int channels, int squares,
           global const float *restrict gammas, global const float *restrict betas, int epsilon,
           global float *restrict output, int out_stride, int batch) {
    LOCAL_ARRAY(float, sums, 0, (LANES + 3) / 4);
    // No check of n: the range has groups for exactly `batch` positions.
    const int n = group(0);
    const int lane = local_y(1);
    const int slice = lane / LINE;
    const int s = group(1) * LINE + lane % LINE;
    // Squares behind the last repeat it and aren't written: all items meet at the barriers.
    input += (size_t)n * in_stride + min(s, squares - 1);
    output += (size_t)n * out_stride + s;
#ifdef CHANNELS
    // Each number is read once.
    float x[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; k++) x[k] = slice + k * SLICES < CHANNELS ? input[(slice + k * SLICES) * squares] : 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; k++) sum += x[k];
    const float mean = all_slices(sum, lane, sums) / CHANNELS;
    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        x[k] = slice + k * SLICES < CHANNELS ? x[k] - mean : 0.0f;
        sum += x[k] * x[k];
    }
    const float scale = 1.0f / sqrt(all_slices(sum, lane, sums) / CHANNELS + as_float(epsilon));
    if (s >= squares) return;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const int c = slice + k * SLICES;
        if (c < CHANNELS) output[c * squares] = gammas[c] * (x[k] * scale) + betas[c];
    }
#else
    float sum = 0.0f;
    for (int c = slice; c < channels; c += SLICES) sum += input[c * squares];
    const float mean = all_slices(sum, lane, sums) / channels;
    sum = 0.0f;
    for (int c = slice; c < channels; c += SLICES) {
        const float x = input[c * squares] - mean;
        sum += x * x;
    }
    const float scale = 1.0f / sqrt(all_slices(sum, lane, sums) / channels + as_float(epsilon));
    if (s >= squares) return;
    for (int c = slice; c < channels; c += SLICES)
        output[c * squares] = gammas[c] * ((input[c * squares] - mean) * scale) + betas[c];
#endif
}

GROUP_KERNEL(1, LANES)
rms_norm(GROUP_ARGS global const float *restrict input, int in_stride, int channels, int squares, int epsilon,
         global float *restrict output, int out_stride, int batch) {
    LOCAL_ARRAY(float, sums, 0, (LANES + 3) / 4);
    // As above.
    const int n = group(0);
    const int lane = local_y(1);
    const int slice = lane / LINE;
    const int s = group(1) * LINE + lane % LINE;
    input += (size_t)n * in_stride + min(s, squares - 1);
    output += (size_t)n * out_stride + s;
    float sum = 0.0f;
    for (int c = slice; c < channels; c += SLICES) {
        const float x = input[c * squares];
        sum += x * x;
    }
    const float scale = 1.0f / sqrt(all_slices(sum, lane, sums) / channels + as_float(epsilon));
    if (s >= squares) return;
    for (int c = slice; c < channels; c += SLICES) output[c * squares] = input[c * squares] * scale;
}
#ifdef IN_NETWORK
enum { norm_fours = (LANES + 3) / 4 };
#endif
#endif
