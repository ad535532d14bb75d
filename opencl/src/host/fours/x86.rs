//! The instructions of x86-64 that multiply fours.

use super::{Dots, Four, PANEL};
use crate::host::arith::Fused;
use crate::host::board::LANES;
use crate::host::x86;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256,
    _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512,
};

// SAFETY of all that follows: these types are named only in functions that are compiled for the features, and these are
// called only where the features were found; what is loaded and stored is as long as a vector or two.

/// AVX-512 VNNI.
pub struct Avx512;

impl Dots for Avx512 {
    type Form = x86::Avx512;
    type Sums = __m512i;
    type Fours = __m512i;

    const SQUARES: usize = LANES;

    #[inline(always)]
    fn sums(from: &[i32; PANEL]) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(sums: __m512i, to: &mut [i32; PANEL]) {
        // SAFETY: see above.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), sums) }
    }

    #[inline(always)]
    fn fours(from: &[Four; PANEL]) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(four: Four) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_set1_epi32(four.cast_signed()) }
    }

    #[inline(always)]
    fn add(sums: __m512i, inputs: __m512i, weights: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_dpbusd_epi32(sums, inputs, weights) }
    }
}

/// AVX-VNNI.
pub struct Avx;

impl Dots for Avx {
    type Form = Fused;
    type Sums = [__m256i; 2];
    type Fours = [__m256i; 2];

    const SQUARES: usize = LANES / 2;

    #[inline(always)]
    fn sums(from: &[i32; PANEL]) -> [__m256i; 2] {
        let half = |number: usize| {
            // SAFETY: see above.
            unsafe { _mm256_loadu_si256(from[number * LANES..][..LANES].as_ptr().cast()) }
        };
        [half(0), half(1)]
    }

    #[inline(always)]
    fn store(sums: [__m256i; 2], to: &mut [i32; PANEL]) {
        for (to, sums) in to.chunks_exact_mut(LANES).zip(sums) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), sums) }
        }
    }

    #[inline(always)]
    fn fours(from: &[Four; PANEL]) -> [__m256i; 2] {
        let half = |number: usize| {
            // SAFETY: see above.
            unsafe { _mm256_loadu_si256(from[number * LANES..][..LANES].as_ptr().cast()) }
        };
        [half(0), half(1)]
    }

    #[inline(always)]
    fn splat(four: Four) -> [__m256i; 2] {
        // SAFETY: see above.
        unsafe { [_mm256_set1_epi32(four.cast_signed()); 2] }
    }

    #[inline(always)]
    fn add(sums: [__m256i; 2], inputs: [__m256i; 2], weights: [__m256i; 2]) -> [__m256i; 2] {
        let [low, high] = [0, 1].map(|half| {
            // SAFETY: see above.
            unsafe { _mm256_dpbusd_avx_epi32(sums[half], inputs[half], weights[half]) }
        });
        [low, high]
    }
}

/// For processors that do not multiply eight bits: numbers are widened to sixteen; the even two of a lane's four are
/// multiplied and added as a pair, and so are the odd two.
macro_rules! pairs {
    ($(#[$doc:meta])* $name:ident, $form:ty, $instructions:ident, $vector:ident, $count:literal, $squares:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl Dots for $name {
            type Form = $form;
            type Sums = [$vector; $count];
            type Fours = [$vector; $count];

            const SQUARES: usize = $squares;

            // Loops, not closures: what is not inlined is not compiled for the instructions either.
            #[inline(always)]
            fn sums(from: &[i32; PANEL]) -> Self::Sums {
                let mut sums = Self::splat(0);
                for (sums, from) in sums.iter_mut().zip(from.as_chunks::<{ PANEL / $count }>().0) {
                    // SAFETY: see above.
                    *sums = unsafe { $instructions::load(from.as_ptr().cast()) };
                }
                sums
            }

            #[inline(always)]
            fn store(sums: Self::Sums, to: &mut [i32; PANEL]) {
                for (to, sums) in to.as_chunks_mut::<{ PANEL / $count }>().0.iter_mut().zip(&sums) {
                    // SAFETY: see above.
                    unsafe { $instructions::store(to.as_mut_ptr().cast(), *sums) }
                }
            }

            #[inline(always)]
            fn fours(from: &[Four; PANEL]) -> Self::Fours {
                let mut fours = Self::splat(0);
                for (fours, from) in fours.iter_mut().zip(from.as_chunks::<{ PANEL / $count }>().0) {
                    // SAFETY: see above.
                    *fours = unsafe { $instructions::load(from.as_ptr().cast()) };
                }
                fours
            }

            #[inline(always)]
            fn splat(four: Four) -> Self::Fours {
                // SAFETY: see above.
                unsafe { [$instructions::splat(four.cast_signed()); $count] }
            }

            // The compiler sees that the same numbers are widened for all rows or blocks of a tile, and does it once.
            #[inline(always)]
            fn add(mut sums: Self::Sums, inputs: Self::Fours, weights: Self::Fours) -> Self::Sums {
                use $instructions::{add, and, left, madd, right, right_signed, splat};
                for ((sum, inputs), weights) in sums.iter_mut().zip(inputs).zip(weights) {
                    // SAFETY: see above.
                    unsafe {
                        let even = madd(and(inputs, splat(0x00ff_00ff)), right_signed::<8>(left::<8>(weights)));
                        let odd = madd(right::<8>(inputs), right_signed::<8>(weights));
                        *sum = add(*sum, add(even, odd));
                    }
                }
                sums
            }
        }
    };
}

pairs! {
    /// AVX-512 without VNNI.
    PairsOfAvx512, x86::Avx512, sixteen, __m512i, 1, LANES
}

pairs! {
    /// AVX2 without VNNI.
    PairsOfAvx2, Fused, eight, __m256i, 2, LANES / 2
}

mod sixteen {
    pub use std::arch::x86_64::{
        _mm512_add_epi32 as add, _mm512_and_si512 as and, _mm512_loadu_si512 as load, _mm512_madd_epi16 as madd,
        _mm512_set1_epi32 as splat, _mm512_slli_epi16 as left, _mm512_srai_epi16 as right_signed,
        _mm512_srli_epi16 as right, _mm512_storeu_si512 as store,
    };
}

mod eight {
    pub use std::arch::x86_64::{
        _mm256_add_epi32 as add, _mm256_and_si256 as and, _mm256_loadu_si256 as load, _mm256_madd_epi16 as madd,
        _mm256_set1_epi32 as splat, _mm256_slli_epi16 as left, _mm256_srai_epi16 as right_signed,
        _mm256_srli_epi16 as right, _mm256_storeu_si256 as store,
    };
}
