//! Vectors of x86-64: eight numbers with AVX2 and FMA, sixteen with AVX-512.

use super::arith::{Form, Fused, Ranks};
use super::board::LANES;
use std::arch::x86_64::{_mm512_loadu_si512, _mm512_maskz_permutexvar_epi32, _mm512_set_epi32, _mm512_storeu_si512};

/// AVX-512: ranks of a board are vectors of eight numbers, all else is computed in vectors of sixteen.
pub(super) struct Avx512;

impl Form for Avx512 {
    type Row = Fused;
    type Wide = Sixteen;

    // Of 32 registers, 6 · 4 hold sums, 4 operands and 1 a weight.
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn move_ranks(ranks: &[u32; 2 * LANES], higher: bool) -> [u32; 2 * LANES] {
        // SAFETY: `Avx512` is named where `Sixteen` may be, see below.
        unsafe { move_ranks(ranks, higher) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn move_ranks(ranks: &[u32; 2 * LANES], higher: bool) -> [u32; 2 * LANES] {
    // From which lane each lane comes, and which lanes get something; the others are zeroed.
    let next = _mm512_set_epi32(15, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    let before = _mm512_set_epi32(14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0);
    let (from, filled) = if higher { (before, 0xfefe) } else { (next, 0x7f7f) };
    let mut moved = [0; 2 * LANES];
    // SAFETY: both are sixteen numbers of four bytes.
    unsafe {
        let line = _mm512_loadu_si512(ranks.as_ptr().cast());
        _mm512_storeu_si512(moved.as_mut_ptr().cast(), _mm512_maskz_permutexvar_epi32(filled, from, line));
    }
    moved
}

/// Vectors of sixteen numbers.
pub(super) struct Sixteen;

// SAFETY of all that follows: on x86-64 `Fused` is named only in functions that are compiled for AVX2 and FMA,
// `Sixteen` only in those compiled for AVX-512, and these functions are called only where the features were found;
// slices are as long as what is loaded from them or stored.

/// The operations on one vector, made of functions that have the same names in the module of each width.
macro_rules! operations {
    ($arith:ty, $vector:ident, $lanes:literal, $width:literal) => {
        impl Arith for $arith {
            const LANES: usize = $lanes;
            const WIDTH: usize = $width;

            type Vector = $vector;

            #[inline(always)]
            fn mul_add(a: f32, b: f32, c: f32) -> f32 {
                a.mul_add(b, c)
            }

            #[inline(always)]
            fn fetch<T>(of: &T) {
                // SAFETY: nothing is read.
                unsafe { prefetch::<{ NEAR }>((&raw const *of).cast()) }
            }

            #[inline(always)]
            fn load(from: &[f32]) -> $vector {
                // SAFETY: see above.
                unsafe { load(from[..$lanes].as_ptr()) }
            }

            #[inline(always)]
            fn store(x: $vector, to: &mut [f32]) {
                // SAFETY: see above.
                unsafe { store(to[..$lanes].as_mut_ptr(), x) }
            }

            #[inline(always)]
            fn splat(a: f32) -> $vector {
                // SAFETY: see above.
                unsafe { splat(a) }
            }

            #[inline(always)]
            fn plus(x: $vector, y: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { add(x, y) }
            }

            #[inline(always)]
            fn minus(x: $vector, y: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { sub(x, y) }
            }

            #[inline(always)]
            fn times(x: $vector, y: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { mul(x, y) }
            }

            #[inline(always)]
            fn over(x: $vector, y: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { div(x, y) }
            }

            // Of a number and a NaN, `max` and `min` return the second operand: a NaN in `x` stays one.
            #[inline(always)]
            fn at_least(a: f32, x: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { max(splat(a), x) }
            }

            #[inline(always)]
            fn at_most(a: f32, x: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { min(splat(a), x) }
            }

            #[inline(always)]
            fn larger(x: $vector, y: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { max(x, y) }
            }

            #[inline(always)]
            fn times_plus(x: $vector, y: $vector, z: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { fmadd(x, y, z) }
            }

            #[inline(always)]
            fn whole(x: $vector, to: &mut [i32]) {
                // SAFETY: see above.
                unsafe { store_whole(to[..$lanes].as_mut_ptr().cast(), to_whole(x)) }
            }

            #[inline(always)]
            fn of_whole(from: &[i32]) -> $vector {
                // SAFETY: see above.
                unsafe { of_whole(load_whole(from[..$lanes].as_ptr().cast())) }
            }

            #[inline(always)]
            fn of_short(from: &[i16]) -> $vector {
                // SAFETY: see above.
                unsafe { of_whole(widen(load_short(from[..$lanes].as_ptr().cast()))) }
            }

            #[inline(always)]
            fn times_power(x: $vector, n: $vector, shifted: $vector) -> $vector {
                // SAFETY: see above.
                unsafe { times_power(x, n, shifted) }
            }
        }
    };
}

mod eight {
    use super::super::arith::{Arith, EXPONENT, Fused};
    use std::arch::x86_64::{
        __m256, _MM_HINT_T1 as NEAR, _mm_loadu_si128 as load_short, _mm_prefetch as prefetch,
        _mm256_add_epi32 as add_whole, _mm256_add_ps as add, _mm256_castps_si256 as float_to_whole,
        _mm256_castsi256_ps as whole_to_float, _mm256_cvtepi16_epi32 as widen, _mm256_cvtepi32_ps as of_whole,
        _mm256_cvtps_epi32 as to_whole, _mm256_div_ps as div, _mm256_fmadd_ps as fmadd, _mm256_loadu_ps as load,
        _mm256_loadu_si256 as load_whole, _mm256_max_ps as max, _mm256_min_ps as min, _mm256_mul_ps as mul,
        _mm256_set1_epi32 as splat_whole, _mm256_set1_ps as splat, _mm256_slli_epi32 as shift,
        _mm256_storeu_ps as store, _mm256_storeu_si256 as store_whole, _mm256_sub_ps as sub,
    };

    operations!(Fused, __m256, 8, 2);

    #[inline]
    #[target_feature(enable = "avx2")]
    fn times_power(x: __m256, _: __m256, shifted: __m256) -> __m256 {
        mul(x, whole_to_float(shift::<23>(add_whole(float_to_whole(shifted), splat_whole(EXPONENT)))))
    }
}

mod sixteen {
    use super::super::arith::Arith;
    use super::Sixteen;
    use std::arch::x86_64::{
        __m512, _MM_HINT_T1 as NEAR, _mm_prefetch as prefetch, _mm256_loadu_si256 as load_short, _mm512_add_ps as add,
        _mm512_cvtepi16_epi32 as widen, _mm512_cvtepi32_ps as of_whole, _mm512_cvtps_epi32 as to_whole,
        _mm512_fmadd_ps as fmadd, _mm512_fnmadd_ps as fnmadd, _mm512_loadu_ps as load,
        _mm512_loadu_si512 as load_whole, _mm512_max_ps as max, _mm512_min_ps as min, _mm512_mul_ps as mul,
        _mm512_rcp14_ps as rcp14, _mm512_scalef_ps as scalef, _mm512_set1_ps as splat, _mm512_storeu_ps as store,
        _mm512_storeu_si512 as store_whole, _mm512_sub_ps as sub,
    };

    operations!(Sixteen, __m512, 16, 1);

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn times_power(x: __m512, n: __m512, _: __m512) -> __m512 {
        scalef(x, n)
    }

    /// `x / y` to the last bit or nearly so: Newton's steps from 14 bits take a third of the time of a division of
    /// sixteen numbers. `y` is neither zero nor infinite.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn div(x: __m512, y: __m512) -> __m512 {
        let guess = rcp14(y);
        let reciprocal = fmadd(guess, fnmadd(guess, y, splat(1.0)), guess);
        let quotient = mul(x, reciprocal);
        fmadd(fnmadd(quotient, y, x), reciprocal, quotient)
    }
}

mod transpose {
    use super::LANES;
    use std::arch::x86_64::{
        __m256, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// Pairs, then fours, then halves change places.
    #[inline]
    #[target_feature(enable = "avx")]
    pub fn transpose(rows: &[__m256; LANES]) -> [__m256; LANES] {
        let [a, b, c, d, e, f, g, h] = *rows;
        let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let (ef, ef_high) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
        let (gh, gh_high) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
        const LOW: i32 = 0b01_00_01_00;
        const HIGH: i32 = 0b11_10_11_10;
        let first = [
            _mm256_shuffle_ps::<LOW>(ab, cd),
            _mm256_shuffle_ps::<HIGH>(ab, cd),
            _mm256_shuffle_ps::<LOW>(ab_high, cd_high),
            _mm256_shuffle_ps::<HIGH>(ab_high, cd_high),
        ];
        let second = [
            _mm256_shuffle_ps::<LOW>(ef, gh),
            _mm256_shuffle_ps::<HIGH>(ef, gh),
            _mm256_shuffle_ps::<LOW>(ef_high, gh_high),
            _mm256_shuffle_ps::<HIGH>(ef_high, gh_high),
        ];
        let mut columns = [a; LANES];
        for (at, (x, y)) in first.into_iter().zip(second).enumerate() {
            columns[at] = _mm256_permute2f128_ps::<0x20>(x, y);
            columns[at + 4] = _mm256_permute2f128_ps::<0x31>(x, y);
        }
        columns
    }
}

impl Ranks for Fused {
    #[inline(always)]
    fn transpose(rows: &[Self::Vector; LANES]) -> [Self::Vector; LANES] {
        // SAFETY: see above.
        unsafe { transpose::transpose(rows) }
    }
}
