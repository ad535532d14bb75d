// Convolution 1x1 from plain values to plain values with bias, residual and activation: what attention networks do to each
// square.
//
//   out[n][o][s] = act(bias[o] + residual[n][o][s] + sum over c of w[o][c] in[n][c][s])
//
// For the cores of a host. Neighbouring squares are a vector: the output's order is the input's, and nothing is transposed.
// One work item makes SPAN vectors of squares of OUTS channels: the sums stay in registers, a vector of the input is used
// OUTS times and a weight SPAN times.
//
//   range     [batch * SPANS * panels of output channels]: panels run fastest, so that the squares of an input stay in the
//             core's nearest cache
//   input     [n][channel][square]
//   weights   [panel][input channel][OUTS], bias [panel][OUTS], zeros in the padding
//   residual  [n][block][square][residual_block], output [n][channel][square]
//   local     none
//
// Options besides those of common.cl: SQUARES of a value, OUTS, SPAN. Strides count floats of one position.

#ifdef VARIANT_CPU
#define WIDTH (SPAN * VEC)
#define SPANS ((SQUARES + WIDTH - 1) / WIDTH)

// Squares from `s` on; at least a vector of them where the span divides the board, which the compiler is to see.
#define LEFT(s) (SQUARES % WIDTH == 0 ? VEC : SQUARES - (s))

// VEC squares of a channel of a value in blocks.
INLINED vecf load_squares(global const float *x, int channel, int s, int left, int block) {
    if (block == 1) return load_left(x + channel * SQUARES + s, left);
    float lanes[VEC];
    for (int k = 0; k < VEC; k++)
        lanes[k] = k < left ? x[(channel / block * SQUARES + s + k) * block + channel % block] : 0.0f;
    return lanes_load(0, lanes);
}

KERNEL pointwise(ITEM_ARGS global const float *restrict input, int inputs, int in_stride,
                 global const weight_t *restrict weights, global const float *restrict bias, int outputs,
                 END_ARGS(restrict)) {
    const int panels = (outputs + OUTS - 1) / OUTS;
    const int item = item(0);
    const int panel = item % panels;
    const int first = item / panels % SPANS * WIDTH;
    const int n = item / panels / SPANS;
    if (n >= batch) return;
    input += (size_t)n * in_stride + first;
    weights += (size_t)panel * inputs * OUTS;

    vecf acc[OUTS * SPAN];
#pragma unroll
    for (int at = 0; at < OUTS * SPAN; at++) acc[at] = 0.0f;
    for (int c = 0; c < inputs; c++) {
        vecf x[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; k++) x[k] = load_left(input + c * SQUARES + k * VEC, LEFT(first + k * VEC));
#pragma unroll
        for (int o = 0; o < OUTS; o++) {
            const float w = weight_load((size_t)c * OUTS + o, weights);
#pragma unroll
            for (int k = 0; k < SPAN; k++) acc[o * SPAN + k] += w * x[k];
        }
    }

    // A copy, for what a loop counts through does not stay in registers; and a loop, for an activation is long.
    vecf sums[OUTS * SPAN];
#pragma unroll
    for (int at = 0; at < OUTS * SPAN; at++) sums[at] = acc[at];
    for (int at = 0; at < OUTS * SPAN; at++) {
        const int o = panel * OUTS + at / SPAN;
        const int s = first + at % SPAN * VEC;
        if (o >= outputs || s >= SQUARES) continue;
        vecf z = sums[at] + bias[o];
        if (has_residual)
            z += load_squares(residual + (size_t)n * residual_stride, o, s, LEFT(s), residual_block);
        store_left(activate_vec(z, act), output + (size_t)n * out_stride + o * SQUARES + s, LEFT(s));
    }
}
#endif
