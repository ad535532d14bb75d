// What every family shares. It stands before the family's own text in each program.
//
// Options: VARIANT_CPU or VARIANT_GPU; VEC, the floats of a vector, with VARIANT_CPU only.
//
// `restrict` stands on the arguments of kernels only: on an inlined function it says nothing more, and Oclgrind 21.10
// does not know what the compiler makes of it.
//
// No builtin fma() anywhere: some drivers emulate it (26 times slower on an Adreno X1). a * b + c may be contracted.

// Where a channel of a square lies in a position that is stored in blocks of channels.
#define PLACE(channel, square, squares, block)                                                                         \
    (((channel) / (block) * (squares) + (square)) * (block) + (channel) % (block))

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

#ifdef VARIANT_CPU
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
typedef CAT(float, VEC) vecf;
#define vec_load CAT(vload, VEC)
#define vec_store CAT(vstore, VEC)
ACTIVATE(activate_vec, vecf)

// Loops over constant arguments are unrolled; a copy of the function that stays out of line can't be, which PoCL's
// compiler says on standard error.
#define INLINED static inline __attribute__((always_inline))
#endif
