//! Products of eight bits, four at a time, for layers in eight bits; see [`crate::int8`].
//!
//! AVX-512 VNNI and AVX-VNNI multiply four numbers of eight bits by four and add them to a sum of 32 bits in one
//! instruction: four times the products of a fused multiply-add of floats. One side has no sign, so 128 is added to
//! each input, and what that adds to the sums is subtracted from their initial values. Processors without such
//! instructions widen the numbers first. The sums are the same to the bit.

mod conv;
mod portable;
mod product;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::arith::Form;
use super::isa::versions;
use crate::int8;
pub(super) use conv::{ConvPanels, TAPS, TILE_PANELS, conv};
pub(super) use product::{DensePanels, Pointwise, dense, pointwise};

/// How many channels a panel has, and how many fours a vector has.
pub(super) const PANEL: usize = super::product::COLUMNS;

/// Four numbers of eight bits, the first in the lowest byte: inputs, with 128 added to each, or weights with their
/// signs.
pub(super) type Four = u32;

/// Four inputs of zero: the content of borders.
pub(super) const ZEROS: Four = 0x8080_8080;

/// The weights of a panel's channels for four inputs: a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Weights(pub [Four; PANEL]);

/// What is the same for all squares, for each channel of a panel of `N`.
#[derive(Clone, Copy)]
pub(super) struct Ends<const N: usize> {
    /// The initial value of the sums: −128 times the sum of the channel's weights.
    pub start: [i32; N],
    /// What a sum of 1 is worth if a step of the input is worth 1.
    pub steps: [f32; N],
    pub bias: [f32; N],
}

/// Instructions that multiply fours. Naming a type is a claim that the processor has them.
trait Dots {
    /// The vectors of floats that are used beside them.
    type Form: Form;

    /// Sixteen sums.
    type Sums: Copy;

    /// Sixteen fours.
    type Fours: Copy;

    /// How many squares a convolution's tile has: half a rank if there are only sixteen registers.
    const SQUARES: usize;

    fn sums(from: &[i32; PANEL]) -> Self::Sums;

    fn store(sums: Self::Sums, to: &mut [i32; PANEL]);

    fn fours(from: &[Four; PANEL]) -> Self::Fours;

    fn splat(four: Four) -> Self::Fours;

    /// Adds the products of four inputs and four weights in each lane.
    fn add(sums: Self::Sums, inputs: Self::Fours, weights: Self::Fours) -> Self::Sums;
}

/// A function of the host that picks the instructions, over a body generic in [`Dots`].
macro_rules! with_dots {
    ($(#[$doc:meta])* $name:ident = $body:ident($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        pub(in crate::host) fn $name(isa: crate::host::isa::Isa, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            use crate::host::{fours::x86, isa::Found};
            use crate::host::{fours::portable::Arrays, isa::Isa};
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(Found { fours: true, .. }) => {
                    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
                    fn avx512_vnni($($arg: $type),*) {
                        $body::<x86::Avx512>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after these features have been detected on this processor.
                    unsafe { avx512_vnni($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(Found { fours: false, .. }) => {
                    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
                    fn avx512($($arg: $type),*) {
                        $body::<x86::PairsOfAvx512>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after these features have been detected on this processor.
                    unsafe { avx512($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(Found { fours: true, .. }) => {
                    #[target_feature(enable = "avx2,fma,avxvnni")]
                    fn avx_vnni($($arg: $type),*) {
                        $body::<x86::Avx>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after these features have been detected on this processor.
                    unsafe { avx_vnni($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(Found { fours: false, .. }) => {
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2($($arg: $type),*) {
                        $body::<x86::PairsOfAvx2>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after these features have been detected on this processor.
                    unsafe { avx2($($arg),*) }
                }
                Isa::Baseline => $body::<Arrays>($($arg),*),
            }
        }
    };
}
use with_dots;

versions! {
    /// Rounds `input`, planes of `plane` numbers each, into fours of planes, each of which has room for `room` fours;
    /// `step` gets what a whole number of 1 is worth. What fills up planes and fours is zero.
    round = round_body(input: &[f32], plane: usize, room: usize, fours: &mut [Four], step: &mut f32)
}

#[inline(always)]
fn round_body<F: Form>(input: &[f32], plane: usize, room: usize, fours: &mut [Four], step: &mut f32) {
    let most = int8::most(input);
    let per_step = int8::per_step(most);
    *step = most / int8::MOST;
    for (planes, fours) in input.chunks(4 * plane).zip(fours.chunks_exact_mut(room)) {
        fours.fill(ZEROS);
        for (number, plane) in planes.chunks_exact(plane).enumerate() {
            let put = |four: &mut Four, x: f32| *four ^= byte(x, per_step) << (8 * number);
            fours.iter_mut().zip(plane).for_each(|(four, &x)| put(four, x));
        }
    }
}

/// The whole number of an input, as a change of a byte of [`ZEROS`]: inverting the highest bit adds 128.
#[inline(always)]
fn byte(x: f32, per_step: f32) -> Four {
    Four::from(int8::round(x, per_step).cast_unsigned())
}

versions! {
    /// Rounds `input`, numbers that lie side by side, into fours of them, and `step` gets what a whole number of 1 is
    /// worth. The last four is filled up with zeros.
    round_row = round_row_body(input: &[f32], fours: &mut [Four], step: &mut f32)
}

#[inline(always)]
fn round_row_body<F: Form>(input: &[f32], fours: &mut [Four], step: &mut f32) {
    let most = int8::most(input);
    let per_step = int8::per_step(most);
    *step = most / int8::MOST;
    let (chunks, rest) = input.as_chunks::<4>();
    for (four, chunk) in fours.iter_mut().zip(chunks) {
        let [a, b, c, d] = chunk.map(|x| byte(x, per_step));
        *four = ZEROS ^ a ^ b << 8 ^ c << 16 ^ d << 24;
    }
    if let Some(last) = fours.get_mut(chunks.len()) {
        *last = rest.iter().zip(0..).fold(ZEROS, |four, (&x, number)| four ^ byte(x, per_step) << (8 * number));
    }
}
