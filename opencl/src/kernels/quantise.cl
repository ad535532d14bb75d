// The input of a layer in eight bits: whole numbers, and what one of them is worth in each position.
//
//   steps[n] = max over the elements of |in[n]| / 127,   numbers[n][i] = round(in[n][i] / steps[n])
//
// A value that is not finite makes the step so, and with it all that the layer computes. One text for both variants; a group
// takes a position.
//
//   range     [batch][LANES], groups of [1][LANES]
//   input     [n][block of channels][square][in_block]; channels that pad the last block don't count
//   numbers   [n][block of channels][square][block], zeros in the padding; strides count elements of one position
//   local     LANES floats
//
// Option: LANES, items of a group.

// A NaN wins, and is kept.
INLINED float larger(float most, float x) { return most >= x || isnan(most) ? most : x; }

kernel void quantise(global const float *restrict input, int channels, int squares, int in_block, int in_stride,
                     global char *restrict numbers, int block, int stride, global float *restrict steps, int batch) {
    local float mosts[LANES];
    // No check of n: the range has groups for exactly `batch` positions.
    const int n = get_global_id(0);
    const int lane = get_local_id(1);
    input += (size_t)n * in_stride;
    numbers += (size_t)n * stride;
    float most = 0.0f;
    for (int at = lane; at < in_stride; at += LANES) {
        const int channel = at / (squares * in_block) * in_block + at % in_block;
        if (channel < channels) most = larger(most, fabs(input[at]));
    }
    mosts[lane] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < LANES; k++) most = larger(most, mosts[k]);
    if (lane == 0) steps[n] = most / 127.0f;
    const float per_step = most > 0.0f ? 127.0f / most : 0.0f;
    for (int at = lane; at < stride; at += LANES) {
        const int channel = at / (squares * block) * block + at % block;
        const int square = at / block % squares;
        const int from = (channel / in_block * squares + square) * in_block + channel % in_block;
        numbers[at] = channel < channels ? convert_char_sat_rte(input[from] * per_step) : 0;
    }
}
