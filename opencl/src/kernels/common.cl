// What every family shares. It stands before the family's own text in each program.
//
// Options: VARIANT_CPU or VARIANT_GPU; VEC, the floats of a vector, with VARIANT_CPU only; WEIGHTS_FP16 where the packed
// weights are stored in half precision. Sums, biases and values between layers are single precision.
//
// `restrict` stands on the arguments of kernels only: on an inlined function it says nothing more, and Oclgrind 21.10
// does not know what the compiler makes of it.
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

// A relu that keeps a NaN, which fmax() would hide from the check of the outputs.
//
// mish(x) = x tanh(ln(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); the quotient is 1 in float from x = 20 on, and
// the bound keeps e^x from overflowing.
#define ACTIVATE(NAME, T)                                                                                              \
    static inline T NAME(T x, int act) {                                                                               \
        if (act == ACT_RELU) return x < (T)0.0f ? (T)0.0f : x;                                                         \
        if (act == ACT_TANH) return tanh(x);                                                                           \
        if (act == ACT_MISH) {                                                                                         \
            T e = exp(fmin(x, (T)20.0f));                                                                              \
            T n = e * (e + 2.0f);                                                                                      \
            return x * (n / (n + 2.0f));                                                                               \
        }                                                                                                              \
        if (act == ACT_RELU2) return x < (T)0.0f ? (T)0.0f : x * x;                                                    \
        if (act == ACT_SWISH) return x / (1.0f + exp(-x));                                                             \
        if (act == ACT_SELU) return x > (T)0.0f ? 1.050701f * x : 1.7580993f * (exp(x) - 1.0f);                        \
        if (act == ACT_SIGMOID) return 1.0f / (1.0f + exp(-x));                                                        \
        return x;                                                                                                      \
    }

ACTIVATE(activate, float)

// A packed weight: vload_half and its vectors need no cl_khr_fp16, which is for arithmetic.
#ifdef WEIGHTS_FP16
typedef half weight_t;
#define weight_load(at, weights) vload_half(at, weights)
#else
typedef float weight_t;
#define weight_load(at, weights) ((weights)[at])
#endif

// Loops over constant arguments are unrolled; a copy of the function that stays out of line can't be, which PoCL's
// compiler says on standard error.
#define INLINED static inline __attribute__((always_inline))

#ifdef VARIANT_CPU
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
typedef CAT(float, VEC) vecf;
#define vec_load CAT(vload, VEC)
#define vec_store CAT(vstore, VEC)
#ifdef WEIGHTS_FP16
#define weight_vec CAT(vload_half, VEC)
#else
#define weight_vec vec_load
#endif
ACTIVATE(activate_vec, vecf)

// VEC neighbours, zeros from the `left`th on.
INLINED vecf load_left(global const float *x, int left) {
    if (left >= VEC) return vec_load(0, x);
    float lanes[VEC];
    for (int k = 0; k < VEC; k++) lanes[k] = k < left ? x[k] : 0.0f;
    return vec_load(0, lanes);
}

INLINED void store_left(vecf v, global float *x, int left) {
    if (left >= VEC) {
        vec_store(v, 0, x);
        return;
    }
    float lanes[VEC];
    vec_store(v, 0, lanes);
    for (int k = 0; k < left; k++) x[k] = lanes[k];
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
    return vec_load(0, lanes);
}

INLINED void store_channels(vecf v, global float *x, int panel, int square, int squares, int block, int stride) {
    if (block == VEC) {
        vec_store(v, panel * squares + square, x);
        return;
    }
    float lanes[VEC];
    vec_store(v, 0, lanes);
    for (int k = 0; k < VEC; k++) {
        const int at = (panel * VEC + k) * squares + square;
        if (at < stride) x[at] = lanes[k];
    }
}
#endif
