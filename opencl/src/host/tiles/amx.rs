//! The AMX instructions, and the system's permission to use them.
//!
//! Linux keeps the tiles of a thread, 8 kB, only for programs that have asked for it (`ARCH_REQ_XCOMP_PERM`, see the
//! kernel's `Documentation/arch/x86/xstate.rst`). From then on it refuses stacks for signals (`sigaltstack`) that have
//! no room for them, some 12 kB. Rust has no stable functions for the instructions, so they stand here as assembly.

use super::{Line, Operand, ROWS, Sums};
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Proof that the processor multiplies tiles of eight bits and that the system lends them to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Granted(());

/// From the kernel's `asm/prctl.h`: the request for a part of the registers by its number, and the number of the tiles.
const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
const XFEATURE_XTILEDATA: libc::c_long = 18;

/// The bits of the tiles and of their configuration among those of the registers that the system keeps.
const XTILE: u64 = 0b11 << 17;

impl Granted {
    /// Checks the processor and asks the system, once each.
    pub fn ask() -> Option<Self> {
        static ANSWER: OnceLock<Option<Granted>> = OnceLock::new();
        *ANSWER.get_or_init(|| (processor_has() && system_lends()).then_some(Self(())))
    }
}

fn processor_has() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    let known = __cpuid(0).eax >= 7 && __cpuid(1).ecx & OSXSAVE != 0;
    known && __cpuid_count(7, 0).edx & (AMX_TILE | AMX_INT8) == AMX_TILE | AMX_INT8 && kept() & XTILE == XTILE
}

/// Which registers the system keeps for its threads, as a set of bits.
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

/// All eight tiles at full size.
static WHOLE: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes_of_row: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

thread_local! {
    /// How many users of this thread's tiles there are.
    static CONFIGURED: Cell<usize> = const { Cell::new(0) };
}

/// Prefetches lines of what is read later into the second-level cache: the nearest one is full of what is read now.
macro_rules! ask_for {
    ($($line:literal),*) => { concat!($("prefetcht1 [{ahead} + ", $line, "]\n"),*) };
}

/// While a value lives, this thread's tiles are configured. The last one to go releases them, so that the system need
/// not save them when it changes threads. A value belongs to its thread and can't be sent.
pub(in crate::host) struct Configured(PhantomData<*mut ()>);

impl Configured {
    pub fn new(_: Granted) -> Self {
        if CONFIGURED.replace(CONFIGURED.get() + 1) == 0 {
            // SAFETY: `Granted` says that the instruction is there and allowed. Nothing but this module uses tiles.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const WHOLE, options(nostack, readonly, preserves_flags)) };
        }
        Self(PhantomData)
    }
}

/// Defines a function that adds the products of some steps. Each step prefetches `$bytes` bytes of what is read later:
/// some lines after each of the six products, because all at once they would be in the way of what is read now.
macro_rules! adds {
    ($(#[$note:meta])* $name:ident, $bytes:literal: [$($a:literal),*] [$($b:literal),*] [$($c:literal),*] [$($d:literal),*] [$($e:literal),*] [$($f:literal),*]) => {
        $(#[$note])*
        ///
        /// Tiles 0 to 2 hold the sums, 3 to 5 the left side's thirds; the right side's go through 6 and 7. `ahead` may
        /// point anywhere: it is never read, only prefetched.
        ///
        /// # Safety
        /// As for [`Configured::add`].
        unsafe fn $name(
            &self,
            left: &[Operand],
            first: &[u32],
            right: &[Operand],
            begin: bool,
            ahead: *const Line,
            sums: &mut MaybeUninit<Sums>,
        ) {
            const { assert!(ROWS == 16 && size_of::<Operand>() == 3072 && size_of::<Sums>() == 3072 && size_of::<Line>() == 64) };
            assert!(!left.is_empty() && left.len() == first.len());
            // SAFETY: the code that made `self` has configured the tiles for this thread. A step reads one of `left`
            // and one of `right`, which the caller vouches for; the sums are three times sixteen rows of 64 bytes.
            unsafe {
                asm!(
                    "test {begin:e}, {begin:e}",
                    "jnz 3f",
                    "tileloadd tmm0, [{sums} + {line}*1]",
                    "tileloadd tmm1, [{sums} + {line}*1 + 1024]",
                    "tileloadd tmm2, [{sums} + {line}*1 + 2048]",
                    "jmp 2f",
                    "3:",
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "2:",
                    "mov {at:e}, dword ptr [{first}]",
                    "tileloadd tmm3, [{left} + {line}*1]",
                    "tileloadd tmm4, [{left} + {line}*1 + 1024]",
                    "tileloadd tmm5, [{left} + {line}*1 + 2048]",
                    "add {at}, {right}",
                    "tileloaddt1 tmm6, [{at} + {line}*1]",
                    "tdpbssd tmm0, tmm3, tmm6",
                    ask_for!($($a),*),
                    "tdpbssd tmm1, tmm4, tmm6",
                    ask_for!($($b),*),
                    "tdpbssd tmm2, tmm5, tmm6",
                    ask_for!($($c),*),
                    "tileloaddt1 tmm7, [{at} + {line}*1 + 1024]",
                    "tdpbssd tmm1, tmm3, tmm7",
                    ask_for!($($d),*),
                    "tdpbssd tmm2, tmm4, tmm7",
                    ask_for!($($e),*),
                    "tileloaddt1 tmm6, [{at} + {line}*1 + 2048]",
                    "tdpbssd tmm2, tmm3, tmm6",
                    ask_for!($($f),*),
                    concat!("add {ahead}, ", $bytes),
                    "add {left}, 3072",
                    "add {first}, 4",
                    "dec {steps}",
                    "jnz 2b",
                    "tilestored [{sums} + {line}*1], tmm0",
                    "tilestored [{sums} + {line}*1 + 1024], tmm1",
                    "tilestored [{sums} + {line}*1 + 2048], tmm2",
                    left = inout(reg) left.as_ptr() => _,
                    first = inout(reg) first.as_ptr() => _,
                    steps = inout(reg) first.len() => _,
                    right = in(reg) right.as_ptr(),
                    line = in(reg) size_of::<Line>(),
                    begin = in(reg) u32::from(begin),
                    sums = in(reg) sums.as_mut_ptr(),
                    ahead = inout(reg) ahead => _,
                    at = out(reg) _,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}

impl Configured {
    adds! {
        /// Prefetches a quarter of an operand of the left side in each step, because there are four blocks.
        add_near, 768: [0, 64] [128, 192] [256, 320] [384, 448] [512, 576] [640, 704]
    }

    adds! {
        /// Prefetches an operand of the right side in each step.
        add_in_order, 3072: [0, 64, 128, 192, 256, 320, 384, 448] [512, 576, 640, 704, 768, 832, 896, 960] [1024, 1088, 1152, 1216, 1280, 1344, 1408, 1472] [1536, 1600, 1664, 1728, 1792, 1856, 1920, 1984] [2048, 2112, 2176, 2240, 2304, 2368, 2432, 2496] [2560, 2624, 2688, 2752, 2816, 2880, 2944, 3008]
    }

    /// Adds the products of some steps to `sums`, or, with `begin`, writes them there. Each step has an operand in
    /// `left`, and its place in `first` says where its operand of `right` is, in bytes. Meanwhile this prefetches what
    /// lies `ahead`: three kilobytes a step if the places are `in_order`, so that a right side is read once from
    /// wherever it is, else a quarter of that.
    ///
    /// # Safety
    /// There is an operand of `right` at each place. Without `begin` the sums have been written before.
    pub(super) unsafe fn add(
        &self,
        left: &[Operand],
        (first, in_order): (&[u32], bool),
        right: &[Operand],
        begin: bool,
        ahead: *const Line,
        sums: &mut MaybeUninit<Sums>,
    ) {
        if in_order {
            // SAFETY: the caller's promises are those that both functions ask for.
            unsafe { self.add_in_order(left, first, right, begin, ahead, sums) }
        } else {
            // SAFETY: the caller's promises are those that both functions ask for.
            unsafe { self.add_near(left, first, right, begin, ahead, sums) }
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
