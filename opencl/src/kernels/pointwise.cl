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

// Squares from `s` on. The compiler is to see where no vector is cut off.
#define LEFT(s) (SQUARES % WIDTH == 0 ? WIDTH : SQUARES - (s))

// A span of squares from `s` on of a channel of a value in blocks.
INLINED void load_squares(vecf *x, global const float *from, int channel, int s, int block) {
    if (block == 1) {
        load_span(x, SPAN, from + channel * SQUARES + s, LEFT(s));
        return;
    }
    for (int k = 0; k < SPAN; k++) {
        float lanes[VEC];
        for (int i = 0; i < VEC; i++) {
            const int at = s + k * VEC + i;
            lanes[i] = at < SQUARES ? from[(channel / block * SQUARES + at) * block + channel % block] : 0.0f;
        }
        x[k] = lanes_load(0, lanes);
    }
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
    clear_tile(acc, OUTS, SPAN);
    for (int c = 0; c < inputs; c++) {
        vecf x[SPAN];
        load_span(x, SPAN, input + c * SQUARES, LEFT(first));
        float w[OUTS];
#pragma unroll
        for (int o = 0; o < OUTS; o++) w[o] = weight_load((size_t)c * OUTS + o, weights);
        add_to_tile(acc, OUTS, SPAN, w, x);
    }

    // A copy, because an array that a loop indexes does not stay in registers. A loop, because the text of an
    // activation is long and would be repeated.
    vecf sums[OUTS * SPAN];
#pragma unroll
    for (int at = 0; at < OUTS * SPAN; at++) sums[at] = acc[at];
    const int end = min(OUTS, outputs - panel * OUTS);
    for (int i = 0; i < end; i++) {
        const int o = panel * OUTS + i;
        vecf z[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; k++) z[k] = sums[i * SPAN + k] + bias[o];
        if (has_residual) {
            vecf more[SPAN];
            load_squares(more, residual + (size_t)n * residual_stride, o, first, residual_block);
#pragma unroll
            for (int k = 0; k < SPAN; k++) z[k] += more[k];
        }
#pragma unroll
        for (int k = 0; k < SPAN; k++) z[k] = activate_vec(z[k], act);
        store_span(z, SPAN, output + (size_t)n * out_stride + o * SQUARES + first, LEFT(first));
    }
}
#endif
