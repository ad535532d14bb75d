//! Products of fours for any processor.

use super::{Dots, Four, PANEL};
use crate::host::board::LANES;
use crate::host::isa::BaselineForm;

/// Lanes as arrays.
pub struct Arrays;

impl Dots for Arrays {
    type Form = BaselineForm;
    type Sums = [i32; PANEL];
    type Fours = [Four; PANEL];

    const SQUARES: usize = LANES / 2;

    #[inline(always)]
    fn sums(from: &[i32; PANEL]) -> [i32; PANEL] {
        *from
    }

    #[inline(always)]
    fn store(sums: [i32; PANEL], to: &mut [i32; PANEL]) {
        *to = sums;
    }

    #[inline(always)]
    fn fours(from: &[Four; PANEL]) -> [Four; PANEL] {
        *from
    }

    #[inline(always)]
    fn splat(four: Four) -> [Four; PANEL] {
        [four; PANEL]
    }

    #[inline(always)]
    fn add(mut sums: [i32; PANEL], inputs: [Four; PANEL], weights: [Four; PANEL]) -> [i32; PANEL] {
        // One byte of all lanes at a time, so that this is vectorised.
        for byte in [0, 8, 16, 24] {
            for (sum, (input, weight)) in sums.iter_mut().zip(inputs.iter().zip(&weights)) {
                *sum += i32::from((input >> byte) as u8) * i32::from((weight >> byte) as i8);
            }
        }
        sums
    }
}
