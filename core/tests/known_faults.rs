//! Faults that the sanitizers must find: `ci/sanitize` asks for each of them, to make sure that it would be found. If
//! none is asked for, nothing is run.

use std::ptr;
use std::sync::Barrier;
use std::thread;

/// Memory that all threads write to without any synchronisation.
struct Unguarded(*mut u32);

// SAFETY: this is not safe to share, and that is the fault. It is run under ThreadSanitizer alone, and a number torn
// apart does no harm.
unsafe impl Sync for Unguarded {}

impl Unguarded {
    fn increase(&self) {
        // SAFETY: it points to a number that is there until the threads have ended.
        unsafe { ptr::write_volatile(self.0, ptr::read_volatile(self.0) + 1) }
    }
}

fn is_asked_for(fault: &str) -> bool {
    std::env::var("ONCILLA_TEST_FAULT").as_deref() == Ok(fault)
}

#[test]
fn a_race_between_two_threads() {
    if !is_asked_for("thread") {
        return;
    }
    let mut count = 0;
    let (shared, both) = (Unguarded(&raw mut count), Barrier::new(2));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                both.wait();
                (0..1000).for_each(|_| shared.increase());
            });
        }
    });
}

#[test]
fn a_read_of_memory_that_was_given_back() {
    if !is_asked_for("address") {
        return;
    }
    let number = Box::into_raw(Box::new(1_u32));
    // SAFETY: the first is what `into_raw` asks for. The second is the fault: it is run under AddressSanitizer alone,
    // which ends it.
    unsafe {
        drop(Box::from_raw(number));
        ptr::read_volatile(number);
    }
}
