//! The instructions, and the system's leave to use them.
//!
//! Linux keeps the tiles of a thread, 8 kB, only for programs that have asked for it (`ARCH_REQ_XCOMP_PERM`, see
//! the kernel's `Documentation/arch/x86/xstate.rst`). From then on it refuses stacks for signals (`sigaltstack`) that have no room for them, some
//! 12 kB. Rust has no stable functions for the instructions, so they stand
//! here as assembly.

use super::{BLOCKS, Left, Line, ROWS, Right, Stride, Sums};
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Proof that the processor has tiles of bfloat16 and that the system lends them to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Granted(());

/// From the kernel's `asm/prctl.h`: asks for a part of the registers by its number; and the number of the tiles.
const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
const XFEATURE_XTILEDATA: libc::c_long = 18;

/// Tiles and their configuration among the registers that the system keeps.
const XTILE: u64 = 0b11 << 17;

impl Granted {
    /// Looks once and asks once.
    pub fn ask() -> Option<Self> {
        static ANSWER: OnceLock<Option<Granted>> = OnceLock::new();
        *ANSWER.get_or_init(|| (processor_has() && system_lends()).then_some(Self(())))
    }
}

fn processor_has() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const AMX_BF16: u32 = 1 << 22;
    const AMX_TILE: u32 = 1 << 24;
    let known = __cpuid(0).eax >= 7 && __cpuid(1).ecx & OSXSAVE != 0;
    known && __cpuid_count(7, 0).edx & (AMX_BF16 | AMX_TILE) == AMX_BF16 | AMX_TILE && kept() & XTILE == XTILE
}

/// The registers that the system keeps for its threads.
fn kept() -> u64 {
    #[target_feature(enable = "xsave")]
    fn ask() -> u64 {
        // SAFETY: register 0 is there wherever `xgetbv` is.
        unsafe { _xgetbv(0) }
    }
    // SAFETY: OSXSAVE says that the system has allowed `xgetbv`.
    unsafe { ask() }
}

fn system_lends() -> bool {
    // SAFETY: the call reads its two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_row: [u16; 16],
    rows: [u8; 16],
}

/// All eight tiles whole.
static WHOLE: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes_of_row: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

thread_local! {
    /// How many ask for this thread's tiles.
    static CONFIGURED: Cell<usize> = const { Cell::new(0) };
}

/// Asks for lines of the left side two steps on, a few after each product: weights, which are read in order and may be in a far
/// cache. All at once they are in the way of what is read now.
macro_rules! ask_for {
    ($($line:literal),*) => { concat!($("prefetcht0 [{left} + 2 * 2048 + ", $line, "]\n"),*) };
}

/// This thread's tiles are configured while it lives. The last one gives them back, so that the system need not keep
/// them when it changes threads. It is of its thread and can't be sent.
pub(in crate::host) struct Configured(PhantomData<*mut ()>);

impl Configured {
    pub fn new(_: Granted) -> Self {
        if CONFIGURED.replace(CONFIGURED.get() + 1) == 0 {
            // SAFETY: `Granted` says that the instruction is there and allowed. Nothing but this module uses tiles.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const WHOLE, options(nostack, readonly, preserves_flags)) };
        }
        Self(PhantomData)
    }

    /// Adds the products of some steps, each by its left side and the place of its first line in bytes, to `sums`; with
    /// `begin` they are written.
    ///
    /// Tiles 0 to 3 hold the sums of the four blocks, 4 and 5 the left side's halves; the right side's go through 6 and 7.
    ///
    /// # Safety
    /// From each first line on all lines of a step are in both halves of `right`. Without `begin` the sums are
    /// there.
    pub(super) unsafe fn add(
        &self,
        left: &[Left],
        (first, stride): (&[u32], Stride),
        right: Right<'_>,
        begin: bool,
        sums: &mut MaybeUninit<Sums>,
    ) {
        const { assert!(BLOCKS == 4 && ROWS == 16 && size_of::<Left>() == 2048 && size_of::<Line>() == 64) };
        let Right { upper, lower } = right;
        let block = stride.block * size_of::<Line>();
        // Exposed, for the assembly gets from one to the other.
        let between = lower.as_ptr().expose_provenance().wrapping_sub(upper.as_ptr().expose_provenance());
        assert!(!left.is_empty() && left.len() == first.len());
        // SAFETY: the tiles are configured, for this thread, by whoever made `self`. A step reads one of `left`, and of
        // either half of the right side sixteen times four lines, which the caller vouches for; the sums are sixteen rows of 256 bytes.
        unsafe {
            asm!(
                "test {begin:e}, {begin:e}",
                "jnz 3f",
                "tileloadd tmm0, [{sums} + {row}*1]",
                "tileloadd tmm1, [{sums} + {row}*1 + 64]",
                "tileloadd tmm2, [{sums} + {row}*1 + 128]",
                "tileloadd tmm3, [{sums} + {row}*1 + 192]",
                "jmp 2f",
                "3:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "mov {at:e}, dword ptr [{first}]",
                "tileloadd tmm4, [{left} + {line}*1]",
                "tileloadd tmm5, [{left} + {line}*1 + 1024]",
                "add {at}, {upper}",
                "tileloadd tmm6, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm0, tmm4, tmm6",
                ask_for!(0, 64, 128),
                "tdpbf16ps tmm0, tmm5, tmm6",
                ask_for!(192, 256, 320),
                "tileloadd tmm7, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm1, tmm4, tmm7",
                ask_for!(384, 448, 512),
                "tdpbf16ps tmm1, tmm5, tmm7",
                ask_for!(576, 640, 704),
                "tileloadd tmm6, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm2, tmm4, tmm6",
                ask_for!(768, 832, 896),
                "tdpbf16ps tmm2, tmm5, tmm6",
                ask_for!(960, 1024, 1088),
                "tileloadd tmm7, [{at} + {apart}*1]",
                "add {at}, {lower}",
                "tdpbf16ps tmm3, tmm4, tmm7",
                ask_for!(1152, 1216, 1280),
                "tdpbf16ps tmm3, tmm5, tmm7",
                ask_for!(1344, 1408, 1472),
                "tileloadd tmm6, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm0, tmm4, tmm6",
                ask_for!(1536, 1600, 1664),
                "tileloadd tmm7, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm1, tmm4, tmm7",
                ask_for!(1728, 1792, 1856),
                "tileloadd tmm6, [{at} + {apart}*1]",
                "add {at}, {block}",
                "tdpbf16ps tmm2, tmm4, tmm6",
                ask_for!(1920, 1984),
                "tileloadd tmm7, [{at} + {apart}*1]",
                "tdpbf16ps tmm3, tmm4, tmm7",
                "add {left}, 2048",
                "add {first}, 4",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{sums} + {row}*1], tmm0",
                "tilestored [{sums} + {row}*1 + 64], tmm1",
                "tilestored [{sums} + {row}*1 + 128], tmm2",
                "tilestored [{sums} + {row}*1 + 192], tmm3",
                left = inout(reg) left.as_ptr() => _,
                first = inout(reg) first.as_ptr() => _,
                steps = inout(reg) first.len() => _,
                upper = in(reg) upper.as_ptr(),
                // From the upper half of the last block's lines to the lower half of the first's.
                lower = in(reg) between.wrapping_sub(3 * block),
                block = in(reg) block,
                apart = in(reg) stride.line * size_of::<Line>(),
                line = in(reg) size_of::<Line>(),
                // From a row of sums to the next.
                row = in(reg) size_of::<Sums>() / ROWS,
                begin = in(reg) u32::from(begin),
                sums = in(reg) sums.as_mut_ptr(),
                at = out(reg) _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        CONFIGURED.set(CONFIGURED.get() - 1);
        if CONFIGURED.get() == 0 {
            // SAFETY: the instruction is there, and nothing is kept in tiles between two calls of `multiply`.
            unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
        }
    }
}
