//! A lock that can be released by another thread than the one that took it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The lock.
#[derive(Default)]
pub struct Single {
    is_held: Mutex<bool>,
    given_back: Condvar,
}

/// Exclusive use of a [`Single`], until this is dropped.
pub struct Hold(Arc<Single>);

impl Single {
    fn lock(&self) -> MutexGuard<'_, bool> {
        // No code that may panic runs while this is locked.
        self.is_held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock; waits until it is free.
    pub fn hold(self: &Arc<Self>) -> Hold {
        let waited = self.given_back.wait_while(self.lock(), |is_held| *is_held);
        *waited.unwrap_or_else(PoisonError::into_inner) = true;
        Hold(Arc::clone(self))
    }

    /// Takes the lock; `None` if it is not free.
    pub fn try_hold(self: &Arc<Self>) -> Option<Hold> {
        let was_held = std::mem::replace(&mut *self.lock(), true);
        (!was_held).then(|| Hold(Arc::clone(self)))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one() {
        let single = Arc::new(Single::default());
        let held = single.hold();
        assert!(single.try_hold().is_none());
        let other = Arc::clone(&single);
        let waits = std::thread::spawn(move || other.hold());
        drop(held);
        // The lock was taken by another thread, and is released by this one.
        let held = waits.join().unwrap();
        assert!(single.try_hold().is_none());
        drop(held);
        assert!(single.try_hold().is_some());
    }
}
