//! What one thread at a time may have, and hand over to another.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What there is once.
#[derive(Default)]
pub struct Single {
    is_held: Mutex<bool>,
    given_back: Condvar,
}

/// Its owner has exclusive use of a [`Single`] until this is dropped.
pub struct Hold(Arc<Single>);

impl Single {
    fn lock(&self) -> MutexGuard<'_, bool> {
        // Nothing panics while it is locked.
        self.is_held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else holds it.
    pub fn hold(self: &Arc<Self>) -> Hold {
        let waited = self.given_back.wait_while(self.lock(), |is_held| *is_held);
        *waited.unwrap_or_else(PoisonError::into_inner) = true;
        Hold(Arc::clone(self))
    }

    /// `None` where somebody holds it.
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
        // Handed over to this thread.
        let held = waits.join().unwrap();
        assert!(single.try_hold().is_none());
        drop(held);
        assert!(single.try_hold().is_some());
    }
}
