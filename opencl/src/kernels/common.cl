// What every family shares. It stands before the family's own text in each program.
//
// Options: VARIANT_CPU or VARIANT_GPU; VEC, the floats of a vector, with VARIANT_CPU only; WEIGHTS_FP16 where the packed
// weights are stored in half precision; INT8 for a layer in eight bits. Biases and values between layers are single
// precision, and so are sums but those of INT8.
//
// `restrict` stands on the arguments of kernels only: on a function inlined into one it says nothing more.
//
// No builtin fma() anywhere: some drivers emulate it (26 times slower on an Adreno X1). a * b + c may be contracted.

// Values of `act`, in the order of Activation in graph.rs.
#define ACT_NONE 0
#define ACT_RELU 1
#define ACT_MISH 2
#define ACT_TANH 3
#define ACT_RELU2 4
#define ACT_SWISH 5
#define ACT_SELU 6
#define ACT_SIGMOID 7

// One bit for each activation that the graph has; the code of the others is left out. Default: all.
#ifndef ACTS
#define ACTS 0xff
#endif
#define IS(act, kind) ((ACTS >> (kind)&1) && act == kind)

// Loops over constant arguments are unrolled; a copy of the function that stays out of line can't be, which PoCL's
// compiler says on standard error.
//
// OpenCL C 1.1 refuses the storage class `static`. Its compilers may not know __OPENCL_C_VERSION__ either, which counts
// as 0 then.
#if __OPENCL_C_VERSION__ >= 120
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED inline __attribute__((always_inline))
#endif

// A relu that keeps a NaN, which fmax() would hide from the check of the outputs.
//
// mish(x) = x tanh(ln(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); the quotient is 1 in float from x = 20 on, and
// the bound keeps e^x from overflowing.
#define ACTIVATE(NAME, T, EXP)                                                                                         \
    INLINED T NAME(T x, int act) {                                                                                     \
        if (IS(act, ACT_RELU)) return x < (T)0.0f ? (T)0.0f : x;                                                       \
        if (IS(act, ACT_TANH)) return tanh(x);                                                                         \
        if (IS(act, ACT_MISH)) {                                                                                       \
            T e = EXP(fmin(x, (T)20.0f));                                                                              \
            T n = e * (e + 2.0f);                                                                                      \
            return x * (n / (n + 2.0f));                                                                               \
        }                                                                                                              \
        if (IS(act, ACT_RELU2)) return x < (T)0.0f ? (T)0.0f : x * x;                                                  \
        if (IS(act, ACT_SWISH)) return x / (1.0f + EXP(-x));                                                           \
        if (IS(act, ACT_SELU)) return x > (T)0.0f ? 1.050701f * x : 1.7580993f * (EXP(x) - 1.0f);                      \
        if (IS(act, ACT_SIGMOID)) return 1.0f / (1.0f + EXP(-x));                                                      \
        return x;                                                                                                      \
    }

ACTIVATE(activate, float, exp)

// What is summed up: an element of the input times one of the packed weights.
//
// With INT8 both are whole numbers of eight bits, which quantise.cl makes of an input, in the GPU variant four channels in
// one element; sums are whole numbers of 32 bits. vload_half and its vectors need no cl_khr_fp16, which is for arithmetic.
#ifdef INT8
typedef int sum_t;
#ifdef VARIANT_CPU
typedef char element_t;
#else
typedef char4 element_t;
#endif
typedef element_t weight_t;
#define weight_load(at, weights) ((weights)[at])
// What one is worth: [n] of the input, [output channel] of the weights.
#define STEPS_ARGS(Q) global const float *Q input_steps, global const float *Q weight_steps,
#define STEPS input_steps, weight_steps,
#else
typedef float sum_t;
typedef float element_t;
#ifdef WEIGHTS_FP16
typedef half weight_t;
#define weight_load(at, weights) vload_half(at, weights)
#else
typedef float weight_t;
#define weight_load(at, weights) ((weights)[at])
#endif
#define STEPS_ARGS(Q)
#define STEPS
#endif

// What ends a convolution of any kind: a value to add, the activation, and where the result goes. Q is `restrict` or nothing.
#define END_ARGS(Q)                                                                                                    \
    global const float *Q residual, int has_residual, int residual_block, int residual_stride, global float *Q output, \
        int out_block, int out_stride, int act, int batch
#define END residual, has_residual, residual_block, residual_stride, output, out_block, out_stride, act, batch

// How many items a group has: a compiler that isn't told reckons with the most that the device takes.
#define IN_GROUPS(x, y) __attribute__((reqd_work_group_size(x, y, 1)))

// What is a kernel elsewhere is a function in network.cl and position.cl, which say of which item. `item(d)` is that item's place in
// dimension d; functions that ask for it take ITEM_ARGS and are given ITEM.
#ifdef IN_NETWORK
#ifdef __SPIR__
// What becomes of it on an inlined function is not known to Oclgrind 21.10.
#define restrict
#endif
#define KERNEL INLINED void
#define ITEM_KERNEL(x, y) INLINED void
#define ITEM_ARGS const int item_0, const int item_1,
#define ITEM item_0, item_1,
#define item(d) item_##d
#else
#define KERNEL kernel void
#define ITEM_KERNEL(x, y) kernel IN_GROUPS(x, y) void
#define ITEM_ARGS
#define ITEM
#define item(d) ((int)get_global_id(d))
#endif

#ifdef VARIANT_CPU
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
typedef CAT(float, VEC) vecf;
// The vector of floats number `at` behind x, aligned as a float is. PoCL 3.1 makes of a vload16 two loads, a shuffle and
// their addresses; of this one load.
typedef vecf __attribute__((aligned(4))) floats_t;
#define vec_load(at, x) (((global const floats_t *)(x))[at])
#define vec_store(v, at, x) (((global floats_t *)(x))[at] = (v))
// The same for private memory.
#define lanes_load CAT(vload, VEC)
#define lanes_store CAT(vstore, VEC)
#ifdef INT8
typedef CAT(int, VEC) sums_t;
#define weight_vec(at, weights) CAT(convert_int, VEC)(CAT(vload, VEC)(at, weights))
#else
typedef vecf sums_t;
#ifdef WEIGHTS_FP16
#define weight_vec CAT(vload_half, VEC)
#else
#define weight_vec vec_load
#endif
#endif

// e^x = 2^n e^r with |r| <= ln 2 / 2, e^r by the polynomial that the host has too (arith.rs): within 2e-7 of the result, in less than
// half of the instructions of PoCL's exp(). Between e^-87 and e^87, and nothing but a NaN beyond.
//
// Adding and subtracting 1.5 * 2^23 rounds to a whole number, which then stands in the low bits; ln 2 comes in two parts, and products of
// the first with whole numbers are exact.
INLINED vecf exp_vec(vecf x) {
    const float nearest = 12582912.0f;
    x = x < -87.0f ? (vecf)-87.0f : x;
    x = x > 87.0f ? (vecf)87.0f : x;
    const vecf shifted = x * 1.44269504f + nearest;
    const vecf n = shifted - nearest;
    const vecf r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vecf q = r * 0.0013926198f + 0.00836319f;
    q = q * r + 0.041666556f;
    q = q * r + 0.16666576f;
    q = q * r + 0.5f;
    // What is large comes last, so that it alone is rounded by much.
    const vecf p = (r * r * q + r) + 1.0f;
    return p * CAT(as_float, VEC)((CAT(as_int, VEC)(shifted) + 127) << 23);
}

ACTIVATE(activate_vec, vecf, exp_vec)

// The numbers that are meant by the sums of a panel.
INLINED vecf in_floats(sums_t sums, int n, int panel, STEPS_ARGS() global const float *bias) {
#ifdef INT8
    const vecf steps = input_steps[n] * vec_load(panel, weight_steps);
    return CAT(convert_float, VEC)(sums) * steps + vec_load(panel, bias);
#else
    return sums + vec_load(panel, bias);
#endif
}

// VEC neighbours, zeros from the `left`th on.
INLINED vecf load_left(global const float *x, int left) {
    if (left >= VEC) return vec_load(0, x);
    float lanes[VEC];
    for (int k = 0; k < VEC; k++) lanes[k] = k < left ? x[k] : 0.0f;
    return lanes_load(0, lanes);
}

INLINED void store_left(vecf v, global float *x, int left) {
    if (left >= VEC) {
        vec_store(v, 0, x);
        return;
    }
    float lanes[VEC];
    lanes_store(v, 0, lanes);
    for (int k = 0; k < left; k++) x[k] = lanes[k];
}

// A tile of a product: sums of rows of numbers by spans of vectors. A number, once loaded, meets the vectors of a span; a vector the numbers
// of all rows.
//
// FULL_SPAN vectors and four rows take half of the registers: there are 32 where they hold 16 floats, and 16 where they hold 8.
#define FULL_SPAN (VEC == 16 ? 4 : 2)

INLINED void clear_tile(vecf *sums, const int rows, const int span) {
#pragma unroll
    for (int at = 0; at < rows * span; at++) sums[at] = 0.0f;
}

// A step of the sums.
INLINED void add_to_tile(vecf *sums, const int rows, const int span, const float *numbers, const vecf *x) {
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
        for (int k = 0; k < span; k++) sums[i * span + k] += numbers[i] * x[k];
}

// A span of neighbours, zeros from the `left`th number on.
INLINED void load_span(vecf *x, const int span, global const float *from, int left) {
#pragma unroll
    for (int k = 0; k < span; k++) x[k] = load_left(from + k * VEC, left - k * VEC);
}

INLINED void store_span(const vecf *x, const int span, global float *to, int left) {
#pragma unroll
    for (int k = 0; k < span; k++) store_left(x[k], to + k * VEC, left - k * VEC);
}

// The channels of a panel on one square, of a position of `stride` floats in blocks of VEC or plain (block 1). Channels
// that a plain value doesn't have are zero, and are not written.
INLINED vecf load_channels(global const float *x, int panel, int square, int squares, int block, int stride) {
    if (block == VEC) return vec_load(panel * squares + square, x);
    float lanes[VEC];
    for (int k = 0; k < VEC; k++) {
        const int at = (panel * VEC + k) * squares + square;
        lanes[k] = at < stride ? x[at] : 0.0f;
    }
    return lanes_load(0, lanes);
}

INLINED void store_channels(vecf v, global float *x, int panel, int square, int squares, int block, int stride) {
    if (block == VEC) {
        vec_store(v, panel * squares + square, x);
        return;
    }
    float lanes[VEC];
    lanes_store(v, 0, lanes);
    for (int k = 0; k < VEC; k++) {
        const int at = (panel * VEC + k) * squares + square;
        if (at < stride) x[at] = lanes[k];
    }
}

// The end of a convolution for the channels of a panel on one square.
INLINED void end_channels(vecf z, int n, int panel, int square, int squares, END_ARGS()) {
    if (has_residual) {
        global const float *from = residual + (size_t)n * residual_stride;
        z += load_channels(from, panel, square, squares, residual_block, residual_stride);
    }
    global float *to = output + (size_t)n * out_stride;
    store_channels(activate_vec(z, act), to, panel, square, squares, out_block, out_stride);
}
#endif

#ifdef VARIANT_GPU
// A kernel whose items work together is a function in position.cl, which says for which group, by its place and how many there are along
// dimension 1, and in which local memory: `fours` of it from `at` on are an array.
#ifdef IN_NETWORK
#define GROUP_KERNEL(x, y) INLINED void
#define GROUP_ARGS const int group_0, const int group_1, const int groups_1, local float4 *shared,
#define GROUP group_0, group_1, groups_1, shared,
#define group(d) group_##d
#define groups_across groups_1
#define LOCAL_ARRAY(T, name, at, fours) local T *name = (local T *)(shared + (at))
#else
#define GROUP_KERNEL(x, y) kernel IN_GROUPS(x, y) void
#define GROUP_ARGS
#define GROUP
#define group(d) ((int)get_group_id(d))
#define groups_across ((int)get_num_groups(1))
#define LOCAL_ARRAY(T, name, at, fours) local T name[(fours) * sizeof(float4) / sizeof(T)]
#endif
// The place of an item of a group of `x` items along dimension 0. All lie along it in position.cl.
#ifdef IN_NETWORK
#define local_x(x) ((int)get_local_id(0) % (x))
#define local_y(x) ((int)get_local_id(0) / (x))
#else
#define local_x(x) ((int)get_local_id(0))
#define local_y(x) ((int)get_local_id(1))
#endif

ACTIVATE(activate_four, float4, exp)

INLINED sum_t add_product(sum_t sum, element_t a, element_t b) {
#ifdef INT8
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
#else
    return sum + a * b;
#endif
}

// No dot(): what a driver makes of it is not known. The four come before the sum: with all in one chain clang for AMD puts an attention's
// numbers into memory.
INLINED float add_products_of_four(float sum, float4 a, float4 b) {
    return sum + (a.s0 * b.s0 + a.s1 * b.s1 + a.s2 * b.s2 + a.s3 * b.s3);
}

// The number that is meant by the sum of a channel.
INLINED float in_float(sum_t sum, int n, int channel, STEPS_ARGS() global const float *bias) {
#ifdef INT8
    return sum * (input_steps[n] * weight_steps[channel]) + bias[channel];
#else
    return sum + bias[channel];
#endif
}

// The end of a convolution for one channel on one square; all values are plain.
INLINED void end_channel(float z, int n, int channel, int square, int squares, END_ARGS()) {
    const int at = channel * squares + square;
    if (has_residual) z += residual[(size_t)n * residual_stride + at];
    output[(size_t)n * out_stride + at] = activate(z, act);
}
#endif
