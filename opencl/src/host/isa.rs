//! The instruction sets that a processor may have, and functions that pick among them.
//!
//! Every function is compiled once for each instruction set, from one generic body that the compiler turns into vector
//! code (see `arith::Form`). The tests run all forms that the processor supports.

#[cfg(target_arch = "x86_64")]
use super::arith::{self, Form};
use super::product;
use super::tiles::Tiles;

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
        pub(in crate::host) fn $name(isa: crate::host::isa::Isa, $($arg: $type),*) {
            use crate::host::isa::Isa;
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
                Isa::Baseline => $body::<crate::host::isa::BaselineForm>($($arg),*),
            }
        }
    };
}
pub(super) use versions;
