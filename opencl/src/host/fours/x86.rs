//! The instructions of x86-64 that multiply fours.

use super::{Dots, Four, PANEL};
use crate::host::arith::Fused;
use crate::host::board::LANES;
use crate::host::x86;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256,
    _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512,
};

// SAFETY of all that follows: these are named only in functions that are compiled for the features, which are called where
// they were found; what is loaded and stored is as long as a vector or two.

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
