// Global pooling: the mean of each channel over its squares, then the largest number of each. A NaN among them makes both NaN.
//
//   output    [n][2 * channels]: all means, then all maxima
//
// Strides count floats of one position.

// fmax() would hide a NaN.
#define LARGER(most, x) ((((x) > (most)) | ((x) != (x))) ? (x) : (most))

#ifdef VARIANT_CPU
// A value in blocks: one work item takes a panel of VEC channels.
//
//   range     [batch][blocks], groups of one item
//   input     [n][block][square][VEC]
//   local     none
KERNEL pool_blocked(ITEM_ARGS global const float *restrict input, int in_stride, int channels, int squares,
                    global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int panel = item(1);
    if (n >= batch) return;
    input += (size_t)n * in_stride;
    output += (size_t)n * out_stride + panel * VEC;
    vecf sum = 0.0f;
    vecf most = -INFINITY;
    for (int s = 0; s < squares; s++) {
        const vecf x = vec_load(panel * squares + s, input);
        sum += x;
        most = LARGER(most, x);
    }
    const int left = channels - panel * VEC;
    store_left(sum / squares, output, left);
    store_left(most, output + channels, left);
}

// A plain value: one work item takes a channel, VEC neighbouring squares at a time.
//
//   range     [batch][channels], groups of one item
//   input     [n][channel][square]
//   local     none
KERNEL pool_planes(ITEM_ARGS global const float *restrict input, int in_stride, int channels, int squares,
                   global float *restrict output, int out_stride, int batch) {
    const int n = item(0);
    const int c = item(1);
    if (n >= batch) return;
    input += (size_t)n * in_stride + c * squares;
    output += (size_t)n * out_stride + c;
    vecf sums = 0.0f;
    vecf mosts = -INFINITY;
    int s = 0;
    for (; s + VEC <= squares; s += VEC) {
        const vecf x = vec_load(0, input + s);
        sums += x;
        mosts = LARGER(mosts, x);
    }
    float sum_lanes[VEC], most_lanes[VEC];
    lanes_store(sums, 0, sum_lanes);
    lanes_store(mosts, 0, most_lanes);
    float sum = 0.0f;
    float most = -INFINITY;
    for (int k = 0; k < VEC; k++) {
        sum += sum_lanes[k];
        most = LARGER(most, most_lanes[k]);
    }
    for (; s < squares; s++) {
        sum += input[s];
        most = LARGER(most, input[s]);
    }
    output[0] = sum / squares;
    output[channels] = most;
}
#endif

#ifdef VARIANT_GPU
// LINE items of a group share the squares of a channel, neighbours read neighbours, and what each has found meets in local memory.
//
//   range     [batch][ceil(channels / (LANES / LINE)) * LANES], groups of [1][LANES]
//   input     [n][channel][square]
//   local     2 LANES floats
//
// Options: LANES, items of a group; LINE, a divisor of it.

#define LANES_FOURS ((LANES + 3) / 4)

GROUP_KERNEL(1, LANES)
pool(GROUP_ARGS global const float *restrict input, int in_stride, int channels, int squares,
     global float *restrict output, int out_stride, int batch) {
    LOCAL_ARRAY(float, sums, 0, LANES_FOURS);
    LOCAL_ARRAY(float, mosts, LANES_FOURS, LANES_FOURS);
    // No check of n: the range has groups for exactly `batch` positions.
    const int n = group(0);
    const int lane = local_y(1);
    const int c = group(1) * (LANES / LINE) + lane / LINE;
    // Channels behind the last repeat it and aren't written: all items meet at the barrier.
    input += (size_t)n * in_stride + min(c, channels - 1) * squares;
    output += (size_t)n * out_stride + c;
    float sum = 0.0f;
    float most = -INFINITY;
    for (int s = lane % LINE; s < squares; s += LINE) {
        const float x = input[s];
        sum += x;
        most = LARGER(most, x);
    }
    sums[lane] = sum;
    mosts[lane] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane % LINE > 0 || c >= channels) return;
    for (int k = 1; k < LINE; k++) {
        const float x = mosts[lane + k];
        sum += sums[lane + k];
        most = LARGER(most, x);
    }
    output[0] = sum / squares;
    output[channels] = most;
}
#ifdef IN_NETWORK
enum { pool_fours = 2 * LANES_FOURS };
#endif
#endif
