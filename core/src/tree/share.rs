//! For each thread, a share of what all threads take from.
//!
//! Threads that take nodes and arrays from one place write to the same cache lines: in that place, and in what they
//! have taken, which lies side by side. A line that two threads write moves between processors each time. So each
//! thread takes a larger piece at once, and its nodes and arrays from that.

/// How many shares there are. If there are more threads than that, some threads have a share in common.
#[cfg(all(feature = "std", not(loom)))]
pub const SHARES: usize = 8;
/// Threads can't be told apart: all take from the whole.
#[cfg(any(not(feature = "std"), loom))]
pub const SHARES: usize = 0;

/// The share of the calling thread; `None` if there is none.
pub fn own<S>(shares: &[S; SHARES]) -> Option<&S> {
    shares.get(index())
}

/// The index of the calling thread's share: threads get theirs in turn.
#[cfg(all(feature = "std", not(loom)))]
fn index() -> usize {
    use core::cell::Cell;
    use core::sync::atomic::{AtomicUsize, Ordering};
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    std::thread_local! {
        static INDEX: Cell<Option<usize>> = const { Cell::new(None) };
    }
    INDEX.with(|index| {
        index.get().unwrap_or_else(|| {
            let next = THREADS.fetch_add(1, Ordering::Relaxed) % SHARES;
            index.set(Some(next));
            next
        })
    })
}

#[cfg(any(not(feature = "std"), loom))]
fn index() -> usize {
    0
}
