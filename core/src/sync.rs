//! The atomics of the repository, and the locks made of them.
//!
//! Everything that several threads share is made of 32-bit words. A word is read and written without ordering ([`get`],
//! [`set`]): it belongs to the thread that holds the lock that guards it, and the lock orders what its holders do.
//! Under `cfg(loom)` the words are loom's, which tries every interleaving.

#[cfg(not(loom))]
pub use core::sync::atomic::AtomicU32;
#[cfg(loom)]
pub use loom::sync::atomic::AtomicU32;

use core::sync::atomic::Ordering;

/// A number that no other call returned: among 2³² successive ones no two are the same.
pub fn unique() -> u32 {
    // This is not one of loom's words: it counts for the whole program, not for one model.
    static COUNT: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Reads a word that a lock guards.
#[inline(always)]
pub fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

/// Writes a word that a lock guards.
#[inline(always)]
pub fn set(word: &AtomicU32, to: u32) {
    word.store(to, Ordering::Relaxed);
}

/// Writes a word that others read by [`see`], without a lock: what was written before is there for them.
pub fn publish(word: &AtomicU32, to: u32) {
    word.store(to, Ordering::Release);
}

/// Reads a word that was [`publish`]ed.
pub fn see(word: &AtomicU32) -> u32 {
    word.load(Ordering::Acquire)
}

/// Prefetches a word that will be read or written soon, without waiting for it.
#[cfg(not(loom))]
#[inline(always)]
pub fn prefetch(word: &AtomicU32) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // A load would do, but nothing after it could retire before it.
        // SAFETY: a prefetch changes nothing and never faults; the instruction is part of x86-64.
        #[expect(unsafe_code, reason = "the only way to say it")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast_const().cast());
        }
    }
    #[cfg(target_arch = "aarch64")]
    core::hint::black_box(get(word));
    // A microcontroller has no cache to speak of.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// Waits until `bit` of a word is clear, and sets it. Returns the other bits; until [`release`] the word itself does
/// not have them. What the last holder of the bit did happens before this returns.
#[inline]
pub fn acquire(word: &AtomicU32, bit: u32) -> u32 {
    let mut spins = 0;
    loop {
        let was = try_acquire(word, bit);
        if was & bit == 0 {
            return was;
        }
        wait(&mut spins);
        // In loom's model a load may return an old value for as long as it likes.
        #[cfg(not(loom))]
        while word.load(Ordering::Relaxed) & bit != 0 {
            wait(&mut spins);
        }
    }
}

/// Tries to take the lock, and returns what the word was. If `bit` was clear, the lock is the caller's now.
#[cfg(not(loom))]
#[inline(always)]
fn try_acquire(word: &AtomicU32, bit: u32) -> u32 {
    // If the word were read first, its cache line would be fetched twice: to be read, and to be written.
    word.swap(bit, Ordering::Acquire)
}

/// Like the other `try_acquire`, but it does not write if the bit is set: loom takes each write for progress, and lets
/// the waiting thread go on for ever.
#[cfg(loom)]
fn try_acquire(word: &AtomicU32, bit: u32) -> u32 {
    let free = word.load(Ordering::Relaxed) & !bit;
    word.compare_exchange(free, bit, Ordering::Acquire, Ordering::Relaxed).unwrap_or_else(|was| was | bit)
}

/// Writes a word whose lock bit its caller holds, with the bit clear: the next one to set it sees all that was done.
#[inline]
pub fn release(word: &AtomicU32, to: u32) {
    word.store(to, Ordering::Release);
}

/// How often a waiting thread spins before it lets another one run: a lock is held for some hundred instructions.
#[cfg(all(feature = "std", not(loom)))]
const SPINS: u32 = 100;

#[cold]
fn wait(spins: &mut u32) {
    *spins += 1;
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(all(feature = "std", not(loom)))]
    if spins.is_multiple_of(SPINS) {
        std::thread::yield_now();
        return;
    }
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

/// A lock over words that lie somewhere else.
pub struct Lock(AtomicU32);

/// A [`Lock`] that is held until this is dropped.
pub struct Held<'l>(&'l Lock);

impl Lock {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[cfg(loom)]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[inline]
    pub fn hold(&self) -> Held<'_> {
        acquire(&self.0, 1);
        Held(self)
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        release(&self.0.0, 0);
    }
}
