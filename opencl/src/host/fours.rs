//! Register tiles of products of eight bits, four at a time, for layers in eight bits, see [`crate::int8`].
//!
//! AVX-512 VNNI and AVX-VNNI multiply four numbers of eight bits by four and add them to a sum of 32 bits in one instruction: four
//! times the products of a fused multiply-add of floats. One side has no sign, so 128 is added to each input, and what that
//! adds to the sums is taken off where they begin. The sums are those of [`super::whole`], to the bit.
//!
//! A lane is a channel of the output. A square's four inputs go to all lanes; a tile is a rank of squares times one or two panels
//! of sixteen channels.

use super::arith::{Form, Ranks};
use super::board::{Board, LANES};
#[cfg(target_arch = "x86_64")]
use super::kernel::Found;
use super::kernel::{Isa, store, versions};
use crate::int8;

/// Channels of a panel.
pub(super) const PANEL: usize = 16;

/// Panels of a tile.
pub(super) const TILE_PANELS: usize = 2;

/// Four inputs of a square, 128 added to each, the first in the lowest byte.
pub(super) type Four = u32;

/// An input of zero, four times: what borders hold.
pub(super) const ZEROS: Four = 0x8080_8080;

/// Weights for four inputs of a panel's channels.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Weights(pub [[i8; 4]; PANEL]);

/// What is the same for all squares, of a panel's channels.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// Where the sums begin: −128 times the sum of the channel's weights.
    pub start: [i32; PANEL],
    /// What one is worth where a step of the input is worth one.
    pub steps: [f32; PANEL],
    pub bias: [f32; PANEL],
}

/// One or two panels of a convolution.
#[derive(Clone, Copy)]
pub(super) struct ConvPanels<'a> {
    pub board: Board,
    /// 1 or 3.
    pub kernel: usize,
    /// `[panels][fours of input channels][kernel · kernel]`, zeros where there are fewer channels.
    pub weights: &'a [Weights],
    /// `[panels]`.
    pub ends: &'a [Ends],
    /// What a step of the input is worth.
    pub step: f32,
    /// `[fours of input channels][plane]`.
    pub input: &'a [Four],
}

/// Instructions that multiply fours. To name one is to say that the processor has it.
trait Dots {
    /// A panel's sums of one square.
    type Sums: Copy;

    /// Squares of a tile: half a rank where there are sixteen registers.
    const SQUARES: usize;

    fn load(from: &[i32; PANEL]) -> Self::Sums;

    fn store(sums: Self::Sums, to: &mut [i32; PANEL]);

    /// Adds the products of a square's four inputs.
    fn add(sums: Self::Sums, four: Four, weights: &Weights) -> Self::Sums;
}

/// Whether [`conv`] may be called.
pub(super) fn found(isa: Isa) -> bool {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(Found { fours }) | Isa::Avx2(Found { fours }) => fours,
        Isa::Baseline => false,
    }
}

/// Computes the planes of one or two panels into `output`, `[channels][plane]`: without residual and activation.
///
/// # Panics
/// If the processor lacks the instructions, see [`found`].
pub(super) fn conv(isa: Isa, panels: ConvPanels<'_>, output: &mut [f32]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(Found { fours: true }) => {
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
            fn avx512(panels: ConvPanels<'_>, output: &mut [f32]) {
                conv_body::<super::arith::Fused, x86::Avx512>(panels, output);
            }
            // SAFETY: `Found` says so only after all these features have been detected on this processor.
            unsafe { avx512(panels, output) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(Found { fours: true }) => {
            #[target_feature(enable = "avx2,fma,avxvnni")]
            fn avx(panels: ConvPanels<'_>, output: &mut [f32]) {
                conv_body::<super::arith::Fused, x86::Avx>(panels, output);
            }
            // SAFETY: as above.
            unsafe { avx(panels, output) }
        }
        _ => unreachable!("a plan has fours only where they were found"),
    }
}

#[inline(always)]
fn conv_body<R: Ranks, D: Dots>(panels: ConvPanels<'_>, output: &mut [f32]) {
    // The same code twice: with the chessboard's numbers as constants, and for any board.
    if panels.board == Board::CHESS {
        conv_on::<R, D>(ConvPanels { board: Board::CHESS, ..panels }, output);
    } else {
        conv_on::<R, D>(panels, output);
    }
}

#[inline(always)]
fn conv_on<R: Ranks, D: Dots>(panels: ConvPanels<'_>, output: &mut [f32]) {
    match (panels.ends.len(), panels.kernel) {
        (1, 1) => ranks::<R, D, 1, 1>(panels, output),
        (1, _) => ranks::<R, D, 1, 3>(panels, output),
        (_, 1) => ranks::<R, D, 2, 1>(panels, output),
        (_, _) => ranks::<R, D, 2, 3>(panels, output),
    }
}

#[inline(always)]
fn ranks<R: Ranks, D: Dots, const PANELS: usize, const KERNEL: usize>(panels: ConvPanels<'_>, output: &mut [f32]) {
    let board = panels.board;
    let (vectors, step) = board.vectors();
    let mut steps = [[0.0; PANEL]; PANELS];
    for (steps, ends) in steps.iter_mut().zip(panels.ends) {
        *steps = ends.steps.map(|of_channel| of_channel * panels.step);
    }
    for vector in 0..vectors {
        let at = vector * step;
        let mut sums = [[[0; PANEL]; LANES]; PANELS];
        match D::SQUARES {
            LANES => tile::<D, PANELS, LANES, KERNEL>(&panels, at, 0, &mut sums),
            _ => {
                tile::<D, PANELS, { LANES / 2 }, KERNEL>(&panels, at, 0, &mut sums);
                tile::<D, PANELS, { LANES / 2 }, KERNEL>(&panels, at, LANES / 2, &mut sums);
            }
        }
        let planes = output.chunks_mut(PANEL * board.plane);
        for (((sums, steps), ends), planes) in sums.iter().zip(&steps).zip(panels.ends).zip(planes) {
            end::<R>(board, sums, (steps, &ends.bias), at, planes);
        }
    }
}

/// The sums of some squares of a rank.
#[inline(always)]
fn tile<D: Dots, const PANELS: usize, const SQUARES: usize, const KERNEL: usize>(
    panels: &ConvPanels<'_>,
    at: usize,
    first: usize,
    to: &mut [[[i32; PANEL]; LANES]; PANELS],
) {
    let board = panels.board;
    let start = if KERNEL == 3 { at } else { at + board.origin };
    let mut sums = [[D::load(&panels.ends[0].start); SQUARES]; PANELS];
    for (sums, ends) in sums.iter_mut().zip(panels.ends).skip(1) {
        *sums = [D::load(&ends.start); SQUARES];
    }
    let of_panel = panels.weights.len() / PANELS;
    let taps = KERNEL * KERNEL;
    for (number, plane) in panels.input.chunks_exact(board.plane).enumerate() {
        for tap in 0..taps {
            let window = &plane[start + tap / KERNEL * board.stride + tap % KERNEL + first..][..SQUARES];
            for (panel, sums) in sums.iter_mut().enumerate() {
                let weights = &panels.weights[panel * of_panel + number * taps + tap];
                for (sums, &four) in sums.iter_mut().zip(window) {
                    *sums = D::add(*sums, four, weights);
                }
            }
        }
    }
    for (to, sums) in to.iter_mut().zip(&sums) {
        for (to, sums) in to[first..].iter_mut().zip(sums) {
            D::store(*sums, to);
        }
    }
}

/// Sums `[squares][channels]` → the planes of a panel; of each channel what one is worth, and the bias.
#[inline(always)]
fn end<R: Ranks>(
    board: Board,
    sums: &[[i32; PANEL]; LANES],
    (steps, bias): (&[f32; PANEL], &[f32; PANEL]),
    at: usize,
    planes: &mut [f32],
) {
    let mut values = [[0.0; PANEL]; LANES];
    for (values, sums) in values.iter_mut().zip(sums) {
        let ends = steps.iter().zip(bias);
        values.iter_mut().zip(sums).zip(ends).for_each(|((y, &sum), (step, bias))| *y = sum as f32 * step + bias);
    }
    for first in (0..PANEL).step_by(LANES) {
        let mut rows = [R::splat(0.0); LANES];
        for (row, values) in rows.iter_mut().zip(&values) {
            *row = R::load(&values[first..]);
        }
        let channels = R::transpose(&rows);
        for (plane, channel) in planes.chunks_exact_mut(board.plane).skip(first).zip(&channels) {
            let mut squares = [0.0; LANES];
            R::store(*channel, &mut squares);
            store(board, plane, at, &squares);
        }
    }
}

versions! {
    /// Rounds `input`, `[planes][plane]`, into fours of planes, `[fours of planes][plane]`, and gives the largest absolute value.
    round = round_body(input: &[f32], plane: usize, fours: &mut [Four], most: &mut f32)
}

#[inline(always)]
fn round_body<F: Form>(input: &[f32], plane: usize, fours: &mut [Four], most: &mut f32) {
    *most = int8::most(input);
    let per_step = int8::per_step(*most);
    for (planes, fours) in input.chunks(4 * plane).zip(fours.chunks_exact_mut(plane)) {
        fours.fill(ZEROS);
        for (number, plane) in planes.chunks_exact(plane).enumerate() {
            // No byte runs over: it is between 1 and 255.
            let add = |four: &mut Four, x: f32| {
                *four = four.wrapping_add_signed(i32::from(int8::round(x, per_step)) << (8 * number));
            };
            fours.iter_mut().zip(plane).for_each(|(four, &x)| add(four, x));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Dots, Four, LANES, PANEL, Weights};
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256,
        _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512,
    };

    // SAFETY of all that follows: these are named only in functions that are compiled for the features, which are called where
    // they were found; what is loaded and stored is as long as a vector or two.

    /// AVX-512 VNNI.
    pub struct Avx512;

    impl Dots for Avx512 {
        type Sums = __m512i;

        const SQUARES: usize = LANES;

        #[inline(always)]
        fn load(from: &[i32; PANEL]) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(sums: __m512i, to: &mut [i32; PANEL]) {
            // SAFETY: see above.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), sums) }
        }

        #[inline(always)]
        fn add(sums: __m512i, four: Four, weights: &Weights) -> __m512i {
            // SAFETY: see above.
            unsafe {
                let weights = _mm512_loadu_si512(weights.0.as_ptr().cast());
                _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(four.cast_signed()), weights)
            }
        }
    }

    /// AVX-VNNI.
    pub struct Avx;

    impl Dots for Avx {
        type Sums = [__m256i; 2];

        const SQUARES: usize = LANES / 2;

        #[inline(always)]
        fn load(from: &[i32; PANEL]) -> [__m256i; 2] {
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
        fn add([low, high]: [__m256i; 2], four: Four, weights: &Weights) -> [__m256i; 2] {
            // SAFETY: see above.
            unsafe {
                let four = _mm256_set1_epi32(four.cast_signed());
                let half = |number: usize| _mm256_loadu_si256(weights.0[number * LANES..][..LANES].as_ptr().cast());
                [_mm256_dpbusd_avx_epi32(low, four, half(0)), _mm256_dpbusd_avx_epi32(high, four, half(1))]
            }
        }
    }
}
