//! 3×3 convolutions, and layers that work on each channel or square.
//!
//! A convolution's tile is [`TILE`] channels of the output times one or two vectors of squares. Its sums stay in
//! registers while it walks over input channels and kernel elements: one load of squares serves six channels, one
//! weight serves a whole vector. There is no im2col; the border of [`Board`] makes a shifted row a shifted load.
//!
//! Layers that are plain products of matrices are in [`super::product`].
//!
//! Every function is compiled once for each instruction set, from one generic body that the compiler turns into vector
//! code (see `arith::Form`). The tests run all forms that the processor supports.

use super::arith::{self, Arith, Form, activate_vector};
use super::board::{Board, LANES};
use super::product::{self, CHESS, COLUMNS};
use super::tiles::Tiles;
use crate::graph::Activation;

/// How many channels a convolution's tile has, and how many rows a product's: 6 · 2 sums, 2 operands and 1 weight fill
/// the sixteen vector registers of AVX2 (with one to spare).
pub(super) const TILE: usize = 6;

/// How many input channels are processed together, for one kernel element after the other. The innermost loop is then
/// over channels and short enough for the compiler to keep in registers, and what it reads is in the nearest cache the
/// next eight times: 32 channels of a tile and their weights are 15 kB.
pub(super) const BLOCK: usize = 32;

/// The instructions to use. Values for instructions that not every processor of the target has are made only by
/// [`Isa::found`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    /// AVX-512 F, BW, DQ and VL, and everything below.
    #[cfg(target_arch = "x86_64")]
    Avx512(Found),
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Found),
    /// The instructions that every processor of the target has.
    Baseline,
}

/// Proof that instructions have been looked for and found. So is each `true` in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(target_arch = "x86_64")]
pub(super) struct Found {
    /// Products of four numbers of eight bits: AVX-512 VNNI or AVX-VNNI.
    pub(super) fours: bool,
    /// What multiplies tiles. Every processor with such instructions has AVX-512.
    pub(super) tiles: Option<Tiles>,
}

impl Isa {
    /// All that this processor supports, the best first.
    pub fn found() -> impl Iterator<Item = Self> {
        Self::found_with(Tiles::find)
    }

    /// Like [`Isa::found`], with the tiles that `find` finds, which asks the system for them.
    fn found_with(find: impl FnOnce() -> Option<Tiles>) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let more = {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            let avx512_vnni = is_x86_feature_detected!("avx512vnni");
            let avx_vnni = is_x86_feature_detected!("avxvnni");
            let tiles = if avx512 { find() } else { None };
            // Instructions that were found need not be used.
            [
                (tiles.is_some() && avx512_vnni).then_some(Self::Avx512(Found { fours: true, tiles })),
                (avx512 && avx512_vnni).then_some(Self::Avx512(Found { fours: true, tiles: None })),
                avx512.then_some(Self::Avx512(Found { fours: false, tiles: None })),
                (avx2 && avx_vnni).then_some(Self::Avx2(Found { fours: true, tiles: None })),
                avx2.then_some(Self::Avx2(Found { fours: false, tiles: None })),
                Self::with_loops(avx2, avx512, tiles),
            ]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let more: [Option<Self>; 0] = {
            let _ = find;
            []
        };
        more.into_iter().flatten().chain([Self::Baseline])
    }

    /// For tests on a processor without tiles: its own instructions, and loops in place of tiles.
    #[cfg(all(test, target_arch = "x86_64"))]
    fn with_loops(avx2: bool, avx512: bool, tiles: Option<Tiles>) -> Option<Self> {
        let found = Found { fours: false, tiles: Some(Tiles::Loops) };
        let form = if avx512 { Self::Avx512(found) } else { Self::Avx2(found) };
        (avx2 && tiles.is_none()).then_some(form)
    }

    #[cfg(all(not(test), target_arch = "x86_64"))]
    fn with_loops(_: bool, _: bool, _: Option<Tiles>) -> Option<Self> {
        None
    }

    /// What multiplies tiles, if anything does.
    pub fn tiles(self) -> Option<Tiles> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(found) | Self::Avx2(found) => found.tiles,
            Self::Baseline => None,
        }
    }

    /// The same instructions without tiles.
    pub fn without_tiles(self) -> Self {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(found) => Self::Avx512(Found { tiles: None, ..found }),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(found) => Self::Avx2(Found { tiles: None, ..found }),
            Self::Baseline => Self::Baseline,
        }
    }

    /// The best instructions that this processor has.
    pub fn detect() -> Self {
        Self::found().next().expect("the baseline is everywhere")
    }

    /// The best instructions except for tiles, for which the system is not asked.
    pub fn detect_without_tiles() -> Self {
        Self::found_with(|| None).next().expect("the baseline is everywhere")
    }

    /// The name of the instructions, for a person.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(Found { tiles: Some(_), .. }) => "AMX",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            Self::Baseline => std::env::consts::ARCH,
        }
    }

    /// How many blocks of sixteen columns a tile of a product has.
    pub fn blocks(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => super::x86::Avx512::BLOCKS,
            _ => 1,
        }
    }

    /// Whether products can use the squares of a chessboard without packing them, see [`product::takes_boards`].
    pub fn takes_boards(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => product::takes_boards::<super::x86::Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => product::takes_boards::<arith::Fused>(),
            Self::Baseline => product::takes_boards::<BaselineForm>(),
        }
    }
}

/// NEON has a fused multiply-add and 32 registers, SSE2 has neither.
#[cfg(target_arch = "aarch64")]
pub(super) type BaselineForm = super::arith::Fused;
#[cfg(not(target_arch = "aarch64"))]
pub(super) type BaselineForm = super::arith::Unfused;

/// Defines a public function that picks the instructions, over a generic body.
macro_rules! versions {
    ($(#[$doc:meta])* $name:ident = $body:ident($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        pub(in crate::host) fn $name(isa: crate::host::kernel::Isa, $($arg: $type),*) {
            use crate::host::kernel::Isa;
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) => {
                    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
                    fn avx512($($arg: $type),*) {
                        $body::<crate::host::x86::Avx512>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after all these features have been detected on this processor.
                    unsafe { avx512($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(_) => {
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2($($arg: $type),*) {
                        $body::<crate::host::arith::Fused>($($arg),*);
                    }
                    // SAFETY: `Found` is made only after both features have been detected on this processor.
                    unsafe { avx2($($arg),*) }
                }
                Isa::Baseline => $body::<crate::host::kernel::BaselineForm>($($arg),*),
            }
        }
    };
}
pub(super) use versions;

/// One panel of a convolution: up to [`TILE`] output channels.
#[derive(Clone, Copy)]
pub(super) struct ConvPanel<'a> {
    pub board: Board,
    /// `[input channels / BLOCK][9][BLOCK][TILE]`, zeros where there are fewer output channels; the last block has only
    /// the channels that are left.
    pub weights: &'a [f32],
    /// `[TILE]`.
    pub bias: &'a [f32; TILE],
    /// `[input channels][plane]`.
    pub input: &'a [f32],
}

versions! {
    /// Computes the planes of one panel into `output`, `[channels of the panel][plane]`, without residual and
    /// activation.
    conv = conv_body(panel: ConvPanel<'_>, output: &mut [f32])
}

#[inline(always)]
fn conv_body<F: Form>(panel: ConvPanel<'_>, output: &mut [f32]) {
    // The same code is compiled twice: with the chessboard's numbers as constants, and for any board.
    if panel.board == Board::CHESS {
        conv_on::<F::Row>(ConvPanel { board: Board::CHESS, ..panel }, output);
    } else {
        conv_on::<F::Row>(panel, output);
    }
}

#[inline(always)]
fn conv_on<A: Arith>(panel: ConvPanel<'_>, output: &mut [f32]) {
    match A::WIDTH {
        1 => tiles::<A, 1>(panel, output),
        _ => tiles::<A, 2>(panel, output),
    }
}

/// Sums of all tiles of a panel.
#[inline(always)]
fn tiles<A: Arith, const WIDTH: usize>(panel: ConvPanel<'_>, output: &mut [f32]) {
    let board = panel.board;
    let (vectors, step) = board.vectors();
    for first in (0..vectors).step_by(WIDTH) {
        let sums = tile::<A, WIDTH>(&panel, first * step, step);
        for (plane, sums) in output.chunks_exact_mut(board.plane).zip(&sums) {
            for (v, sums) in sums.iter().enumerate().take(vectors - first) {
                store(board, plane, (first + v) * step, sums);
            }
        }
    }
}

/// Stores a vector of sums that begins `at` numbers after the first square, but not over borders.
#[inline(always)]
pub(super) fn store(board: Board, plane: &mut [f32], at: usize, sums: &[f32; LANES]) {
    if board.files == LANES {
        plane[board.origin + at..][..LANES].copy_from_slice(sums);
        return;
    }
    for (i, &sum) in (at..).zip(sums) {
        if i % board.stride < board.files && i / board.stride < board.rows {
            plane[board.origin + i] = sum;
        }
    }
}

#[inline(always)]
fn tile<A: Arith, const WIDTH: usize>(panel: &ConvPanel<'_>, at: usize, step: usize) -> [[[f32; LANES]; WIDTH]; TILE] {
    let board = panel.board;
    let span = (WIDTH - 1) * step + LANES;
    let mut sums = [[[0.0; LANES]; WIDTH]; TILE];
    for (sums, &bias) in sums.iter_mut().zip(panel.bias) {
        *sums = [[bias; LANES]; WIDTH];
    }
    let mut weights = panel.weights;
    for planes in panel.input.chunks(BLOCK * board.plane) {
        for row in 0..3 {
            for file in 0..3 {
                // The kernel begins at the border's corner.
                let corner = at + row * board.stride + file;
                let (now, rest) = weights.split_at(planes.len() / board.plane * TILE);
                weights = rest;
                for (plane, weights) in planes.chunks_exact(board.plane).zip(now.chunks_exact(TILE)) {
                    let window = &plane[corner..][..span];
                    let mut x = [[0.0; LANES]; WIDTH];
                    for (v, x) in x.iter_mut().enumerate() {
                        x.copy_from_slice(&window[v * step..][..LANES]);
                    }
                    for (sums, &w) in sums.iter_mut().zip(weights) {
                        for (sums, x) in sums.iter_mut().zip(&x) {
                            for (sum, &x) in sums.iter_mut().zip(x) {
                                *sum = A::mul_add(w, x, *sum);
                            }
                        }
                    }
                }
            }
        }
    }
    sums
}

versions! {
    /// `activation` of each element; a softmax is over all of them.
    activate = activate_body(activation: Activation, y: &mut [f32])
}

#[inline(always)]
fn activate_body<F: Form>(activation: Activation, y: &mut [f32]) {
    arith::activate::<F::Wide>(activation, y);
}

versions! {
    /// `y = x · scale + shift`, element by element.
    gate = gate_body(x: &[f32], scale: &[f32], shift: &[f32], y: &mut [f32])
}

#[inline(always)]
fn gate_body<F: Form>(x: &[f32], scale: &[f32], shift: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).zip(scale.iter().zip(shift)).for_each(|((y, x), (scale, shift))| *y = x * scale + shift);
}

/// A scale and a shift for each channel, and an activation, of a value in whatever layout.
#[derive(Clone, Copy)]
pub(super) struct Affine<'a> {
    /// The layout; [`Board::flat`] if the elements are side by side.
    pub board: Board,
    /// `[channels]`: what each square of a channel gets before it is scaled.
    pub added: Option<&'a [f32]>,
    /// `[channels]`.
    pub scale: &'a [f32],
    /// `[channels]`.
    pub shift: &'a [f32],
    /// `[channels][plane]`.
    pub input: &'a [f32],
    pub activation: Activation,
}

versions! {
    /// `activation(scale · (input + added) + shift)` into `output`, which has the input's layout. Borders stay zero.
    affine = affine_body(affine: Affine<'_>, output: &mut [f32])
}

#[inline(always)]
fn affine_body<F: Form>(affine: Affine<'_>, output: &mut [f32]) {
    let Affine { board, added, scale, shift, input, activation } = affine;
    let planes = input.chunks_exact(board.plane).zip(output.chunks_exact_mut(board.plane));
    for (channel, ((x, y), (scale, shift))) in planes.zip(scale.iter().zip(shift)).enumerate() {
        let added = added.map_or(0.0, |added| added[channel]);
        // The border between rows is computed, too, and cleared at the end.
        let interior = board.interior();
        affine_plane::<F::Wide>(&x[interior.clone()], (added, *scale, *shift), activation, &mut y[interior]);
        board.clear_border(y);
    }
}

#[inline(always)]
fn affine_plane<M: Arith>(x: &[f32], numbers: (f32, f32, f32), activation: Activation, y: &mut [f32]) {
    let (mut from, mut to) = (x.chunks_exact(M::LANES), y.chunks_exact_mut(M::LANES));
    for (x, y) in (&mut from).zip(&mut to) {
        M::store(affine_vector::<M>(M::load(x), numbers, activation), y);
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if !to.is_empty() {
        let mut last = [0.0; COLUMNS];
        last[..from.len()].copy_from_slice(from);
        M::store(affine_vector::<M>(M::load(&last), numbers, activation), &mut last);
        to.copy_from_slice(&last[..to.len()]);
    }
}

#[inline(always)]
fn affine_vector<M: Arith>(x: M::Vector, (added, scale, shift): (f32, f32, f32), activation: Activation) -> M::Vector {
    activate_vector::<M>(activation, M::scale_add(scale, M::plus(x, M::splat(added)), M::splat(shift)))
}

versions! {
    /// Writes the mean of each plane's squares into `means`, and their largest number into `most`: NaN if one of them
    /// is NaN.
    pool = pool_body(board: Board, input: &[f32], means: &mut [f32], most: &mut [f32])
}

#[inline(always)]
fn pool_body<F: Form>(board: Board, input: &[f32], means: &mut [f32], most: &mut [f32]) {
    let squares = (board.rows * board.files) as f32;
    for ((plane, mean), most) in input.chunks_exact(board.plane).zip(means).zip(most) {
        *mean = sum(&plane[board.interior()]) / squares;
        let mut lanes = [f32::NEG_INFINITY; LANES];
        for row in plane[board.interior()].chunks(board.stride) {
            largest(&row[..board.files], &mut lanes);
        }
        *most = lanes.into_iter().fold(f32::NEG_INFINITY, larger);
    }
}

/// The larger of each lane and of the values that come to it.
#[inline(always)]
fn largest(values: &[f32], lanes: &mut [f32; LANES]) {
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        lanes.iter_mut().zip(chunk).for_each(|(most, &x)| *most = larger(*most, x));
    }
    lanes.iter_mut().zip(chunks.remainder()).for_each(|(most, &x)| *most = larger(*most, x));
}

/// The larger of two numbers; NaN if one is NaN.
#[inline(always)]
fn larger(most: f32, x: f32) -> f32 {
    if x > most || x.is_nan() { x } else { most }
}

/// The end of a convolution's panel, after the sums.
#[derive(Clone, Copy)]
pub(super) struct Finish<'a> {
    pub board: Board,
    /// The same planes of the value that is added.
    pub residual: Option<&'a [f32]>,
    /// Applied last.
    pub activation: Activation,
}

versions! {
    /// Adds the residual and applies the activation. Borders stay zero.
    finish = finish_body(end: Finish<'_>, output: &mut [f32])
}

#[inline(always)]
fn finish_body<F: Form>(end: Finish<'_>, output: &mut [f32]) {
    let board = end.board;
    if let Some(residual) = end.residual {
        for (plane, residual) in output.chunks_exact_mut(board.plane).zip(residual.chunks_exact(board.plane)) {
            let pairs = plane[board.interior()].iter_mut().zip(&residual[board.interior()]);
            pairs.for_each(|(y, r)| *y += r);
        }
    }
    if end.activation != Activation::None {
        for plane in output.chunks_exact_mut(board.plane) {
            activate_plane::<F>(board, end.activation, plane);
        }
    }
}

/// `activation` of each square. Borders stay zero.
#[inline(always)]
fn activate_plane<F: Form>(board: Board, activation: Activation, plane: &mut [f32]) {
    if board.files == LANES {
        for row in 0..board.rows {
            let squares = row_of(plane, board, row);
            F::Row::store(activate_vector::<F::Row>(activation, F::Row::load(squares)), squares);
        }
    } else {
        arith::activate::<F::Wide>(activation, &mut plane[board.interior()]);
        board.clear_border(plane);
    }
}

/// A row of eight squares.
#[inline(always)]
fn row_of(plane: &mut [f32], board: Board, row: usize) -> &mut [f32] {
    &mut plane[board.origin + row * board.stride..][..LANES]
}

/// Squeeze and excitation, with its weights in the order in which the kernel reads them: the inputs slowest.
#[derive(Clone, Copy)]
pub(super) struct Se<'a> {
    pub board: Board,
    pub squares: usize,
    pub hidden: usize,
    /// `[channels][hidden]`.
    pub w1: &'a [f32],
    /// `[hidden]`.
    pub b1: &'a [f32],
    /// `[hidden][2 · channels]`.
    pub w2: &'a [f32],
    /// `[2 · channels]`.
    pub b2: &'a [f32],
    /// `[channels][plane]`.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

versions! {
    /// Squeezes, excites, adds the residual and activates `planes` in place; `scratch` has `3 · channels + hidden`
    /// numbers.
    squeeze_excite = se_body(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32])
}

#[inline(always)]
fn se_body<F: Form>(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32]) {
    if se.board == Board::CHESS {
        se_on::<F>(Se { board: Board::CHESS, ..se }, planes, scratch);
    } else {
        se_on::<F>(se, planes, scratch);
    }
}

#[inline(always)]
fn se_on<F: Form>(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32]) {
    let board = se.board;
    let channels = se.b2.len() / 2;
    let (pooled, rest) = scratch.split_at_mut(channels);
    let (hidden, rest) = rest.split_at_mut(se.hidden);
    let excited = &mut rest[..2 * channels];
    for (pooled, plane) in pooled.iter_mut().zip(planes.chunks_exact(board.plane)) {
        *pooled = sum(&plane[board.interior()]) / se.squares as f32;
    }
    matrix_vector::<F::Wide>(se.w1, se.b1, pooled, hidden);
    arith::activate::<F::Wide>(se.activation, hidden);
    matrix_vector::<F::Wide>(se.w2, se.b2, hidden, excited);
    let (scales, shifts) = excited.split_at_mut(channels);
    arith::activate::<F::Wide>(Activation::Sigmoid, scales);
    for (c, plane) in planes.chunks_exact_mut(board.plane).enumerate().take(channels) {
        let (scale, shift) = (scales[c], shifts[c]);
        let residual = se.residual.map(|r| &r[c * board.plane..][..board.plane]);
        if board.files == LANES {
            let shift = F::Row::splat(shift);
            for row in 0..board.rows {
                let squares = row_of(plane, board, row);
                let mut y = F::Row::scale_add(scale, F::Row::load(squares), shift);
                if let Some(residual) = residual {
                    let at = board.origin + row * board.stride;
                    y = F::Row::plus(y, F::Row::load(&residual[at..]));
                }
                F::Row::store(activate_vector::<F::Row>(se.activation, y), squares);
            }
            continue;
        }
        let interior = &mut plane[board.interior()];
        interior.iter_mut().for_each(|y| *y = scale * *y + shift);
        if let Some(residual) = residual {
            interior.iter_mut().zip(&residual[board.interior()]).for_each(|(y, r)| *y += r);
        }
        arith::activate::<F::Wide>(se.activation, interior);
        board.clear_border(plane);
    }
}

/// A sum in eight lanes, so that only its end needs vector shuffles.
#[inline(always)]
fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        lanes.iter_mut().zip(chunk).for_each(|(l, v)| *l += v);
    }
    lanes.iter_mut().zip(chunks.remainder()).for_each(|(l, v)| *l += v);
    lanes.iter().sum()
}

/// `y = b + Σ x[i] · w[i]`, where `w` has a row for each input.
#[inline(always)]
fn matrix_vector<A: Arith>(w: &[f32], b: &[f32], x: &[f32], y: &mut [f32]) {
    y.copy_from_slice(b);
    for (row, &x) in w.chunks_exact(b.len()).zip(x) {
        y.iter_mut().zip(row).for_each(|(y, &w)| *y = A::mul_add(x, w, *y));
    }
}

/// A layer norm of one position, in whatever layout the value has.
#[derive(Clone, Copy)]
pub(super) struct LayerNorm<'a> {
    /// `None` if the elements are side by side.
    pub board: Option<Board>,
    pub epsilon: f32,
    /// `[channels]`.
    pub gammas: &'a [f32],
    /// `[channels]`.
    pub betas: &'a [f32],
    /// `[channels][plane]`.
    pub input: &'a [f32],
}

versions! {
    /// Norms the channels of each square into `output`, which has the input's layout; `scratch` has two planes.
    layer_norm = layer_norm_body(norm: LayerNorm<'_>, output: &mut [f32], scratch: &mut [f32])
}

#[inline(always)]
fn layer_norm_body<F: Form>(norm: LayerNorm<'_>, output: &mut [f32], scratch: &mut [f32]) {
    let plane = norm.input.len() / norm.gammas.len();
    match (plane, norm.board) {
        (1, _) => return vector_norm(norm, output),
        (CHESS, None) => return chess_norm::<F::Wide>(norm, output),
        _ => {}
    }
    let range = norm.board.map_or(0..plane, Board::interior);
    let channels = norm.gammas.len() as f32;
    // Square by square; the border between rows is normed, too, and cleared at the end.
    let (means, rest) = scratch.split_at_mut(range.len());
    let scales = &mut rest[..range.len()];
    means.fill(0.0);
    scales.fill(0.0);
    // All channels are taken relative to the first one: what the channels of a square have in common then costs no
    // digits.
    let first = &norm.input[range.clone()];
    for x in norm.input.chunks_exact(plane) {
        means.iter_mut().zip(&x[range.clone()]).zip(first).for_each(|((sum, x), first)| *sum += x - first);
    }
    means.iter_mut().for_each(|sum| *sum /= channels);
    for x in norm.input.chunks_exact(plane) {
        let centred = x[range.clone()].iter().zip(first).zip(&*means).map(|((x, first), mean)| x - first - mean);
        scales.iter_mut().zip(centred).for_each(|(sum, x)| *sum = F::Wide::mul_add(x, x, *sum));
    }
    // One division for each square instead of one for each of its channels.
    scales.iter_mut().for_each(|sum| *sum = 1.0 / (*sum / channels + norm.epsilon).sqrt());
    let pairs = norm.gammas.iter().zip(norm.betas);
    for ((x, y), (gamma, beta)) in norm.input.chunks_exact(plane).zip(output.chunks_exact_mut(plane)).zip(pairs) {
        let centred = x[range.clone()].iter().zip(first).zip(&*means).map(|((x, first), mean)| x - first - mean);
        let elements = y[range.clone()].iter_mut().zip(centred).zip(&*scales);
        elements.for_each(|((y, x), scale)| *y = F::Wide::mul_add(x * scale, *gamma, *beta));
        norm.board.into_iter().for_each(|board| board.clear_border(y));
    }
}

/// How many vectors of a chessboard's squares are processed together.
const TOGETHER: usize = CHESS / COLUMNS;

/// The norm of a chessboard's squares that lie side by side: some vectors of them at a time, whose sums stay in
/// registers.
#[inline(always)]
fn chess_norm<M: Arith>(norm: LayerNorm<'_>, output: &mut [f32]) {
    let channels = M::splat(norm.gammas.len() as f32);
    let rows = norm.input.as_chunks::<CHESS>().0;
    for part in 0..COLUMNS / M::LANES {
        let at = part * M::LANES;
        // As above, from the first channel.
        let first = together::<M>(&rows[0], at);
        let mut means = [M::splat(0.0); TOGETHER];
        for row in rows {
            let x = together::<M>(row, at);
            for ((sum, x), first) in means.iter_mut().zip(&x).zip(&first) {
                *sum = M::plus(*sum, M::minus(*x, *first));
            }
        }
        for mean in &mut means {
            *mean = M::over(*mean, channels);
        }
        let mut squares = [M::splat(0.0); TOGETHER];
        for row in rows {
            let x = together::<M>(row, at);
            for ((sum, x), (first, mean)) in squares.iter_mut().zip(&x).zip(first.iter().zip(&means)) {
                let x = M::minus(M::minus(*x, *first), *mean);
                *sum = M::times_plus(x, x, *sum);
            }
        }
        let mut scales = [[0.0; COLUMNS]; TOGETHER];
        for (scales, sum) in scales.iter_mut().zip(&squares) {
            M::store(M::over(*sum, channels), scales);
            scales.iter_mut().for_each(|x| *x = 1.0 / (*x + norm.epsilon).sqrt());
        }
        let pairs = norm.gammas.iter().zip(norm.betas);
        for ((row, y), (gamma, beta)) in rows.iter().zip(output.as_chunks_mut::<CHESS>().0).zip(pairs) {
            let x = together::<M>(row, at);
            for (number, ((x, scales), (first, mean))) in
                x.iter().zip(&scales).zip(first.iter().zip(&means)).enumerate()
            {
                let centred = M::times(M::minus(M::minus(*x, *first), *mean), M::load(scales));
                let y = &mut y[number * COLUMNS + at..];
                M::store(M::times_plus(centred, M::splat(*gamma), M::splat(*beta)), y);
            }
        }
    }
}

/// The vector at the same place in each sixteen squares.
#[inline(always)]
fn together<M: Arith>(row: &[f32; CHESS], at: usize) -> [M::Vector; TOGETHER] {
    let mut vectors = [M::splat(0.0); TOGETHER];
    for (number, vector) in vectors.iter_mut().enumerate() {
        *vector = M::load(&row[number * COLUMNS + at..]);
    }
    vectors
}

/// The norm of a vector without a board, whose channels are side by side.
#[inline(always)]
fn vector_norm(norm: LayerNorm<'_>, output: &mut [f32]) {
    let channels = norm.input.len() as f32;
    // As above, from the first channel; the output holds what is being summed.
    let first = norm.input[0];
    output.iter_mut().zip(norm.input).for_each(|(y, x)| *y = x - first);
    let mean = sum(output) / channels;
    output.iter_mut().zip(norm.input).for_each(|(y, x)| *y = (x - first - mean).powi(2));
    let scale = 1.0 / (sum(output) / channels + norm.epsilon).sqrt();
    let pairs = norm.gammas.iter().zip(norm.betas);
    let elements = output.iter_mut().zip(norm.input).zip(pairs);
    elements.for_each(|((y, x), (gamma, beta))| *y = gamma * ((x - first - mean) * scale) + beta);
}

versions! {
    /// By what each square's channels have to be multiplied so that the mean of their squares is 1; with `whole`, the
    /// mean over all channels and squares: `1 / √(mean + epsilon)`. There are as many as `scales` has elements.
    rms_scales = rms_scales_body(input: &[f32], epsilon: f32, whole: bool, scales: &mut [f32])
}

#[inline(always)]
fn rms_scales_body<F: Form>(input: &[f32], epsilon: f32, whole: bool, scales: &mut [f32]) {
    let mut count = input.len() / scales.len();
    scales.fill(0.0);
    for plane in input.chunks_exact(scales.len()) {
        scales.iter_mut().zip(plane).for_each(|(sum, &x)| *sum = F::Wide::mul_add(x, x, *sum));
    }
    if whole {
        let all = sum(scales);
        scales.fill(all);
        count = input.len();
    }
    scales.iter_mut().for_each(|sum| *sum = 1.0 / (*sum / count as f32 + epsilon).sqrt());
}

versions! {
    /// Multiplies each square of every channel by its scale.
    scale_squares = scale_squares_body(input: &[f32], scales: &[f32], output: &mut [f32])
}

#[inline(always)]
fn scale_squares_body<F: Form>(input: &[f32], scales: &[f32], output: &mut [f32]) {
    for (x, y) in input.chunks_exact(scales.len()).zip(output.chunks_exact_mut(scales.len())) {
        multiply_body::<F>(x, scales, y);
    }
}

versions! {
    /// `y = left · right`, element by element.
    multiply = multiply_body(left: &[f32], right: &[f32], y: &mut [f32])
}

#[inline(always)]
fn multiply_body<F: Form>(left: &[f32], right: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(left).zip(right).for_each(|((y, left), right)| *y = left * right);
}

/// Pairs of channels that are rotated.
#[derive(Clone, Copy)]
pub(super) struct Rotate<'a> {
    pub squares: usize,
    /// `[channels][squares]`.
    pub input: &'a [f32],
    /// `[channels / 2][squares]`.
    pub cosines: &'a [f32],
    /// `[channels / 2][squares]`.
    pub sines: &'a [f32],
}

versions! {
    /// Turns each pair of channels by its angle at each square.
    rotate = rotate_body(rotate: Rotate<'_>, output: &mut [f32])
}

#[inline(always)]
fn rotate_body<F: Form>(rotate: Rotate<'_>, output: &mut [f32]) {
    let Rotate { squares, input, cosines, sines } = rotate;
    let angles = cosines.chunks_exact(squares).zip(sines.chunks_exact(squares));
    for ((x, y), (cosines, sines)) in
        input.chunks_exact(2 * squares).zip(output.chunks_exact_mut(2 * squares)).zip(angles)
    {
        let (a, b) = x.split_at(squares);
        let (first, second) = y.split_at_mut(squares);
        for (at, (first, second)) in first.iter_mut().zip(second).enumerate() {
            *first = F::Wide::mul_add(a[at], cosines[at], -b[at] * sines[at]);
            *second = F::Wide::mul_add(b[at], cosines[at], a[at] * sines[at]);
        }
    }
}
