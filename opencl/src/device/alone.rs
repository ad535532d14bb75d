//! Serialises the calls of drivers that are not safe to make from several threads at once.

use super::Device;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// For each platform, by its name, the lock that is held while the compiler of one of its devices is at work: compilers
/// inside of drivers are old code. One that hangs keeps its own platform's devices, and no other's.
static COMPILERS: Mutex<BTreeMap<String, &'static Mutex<()>>> = Mutex::new(BTreeMap::new());

pub(super) fn compiler_alone(platform: &str) -> MutexGuard<'static, ()> {
    let mut compilers = COMPILERS.lock().unwrap_or_else(PoisonError::into_inner);
    // There is a handful of platforms, which stay as long as the program lives.
    let compiler = *compilers.entry(platform.to_string()).or_insert_with(|| Box::leak(Box::default()));
    drop(compilers);
    compiler.lock().unwrap_or_else(PoisonError::into_inner)
}

static LAUNCHES: RwLock<()> = RwLock::new(());

/// Decides which batches of one queue have the device to themselves.
///
/// PoCL 3.1 loads a kernel anew when it should run over more groups than before, and at the end of a run counts down
/// the uses of the copy that was loaded last. If an earlier copy is then still running on another queue, one count goes
/// below zero, and an assertion ends the process. So the first batch of each size runs alone, which loads all that such
/// a batch needs; later ones run beside others. One case is not guarded against: of more than 128 kernels PoCL unloads
/// the least recently used, and two queues that need one of those again, for batches of two sizes, may meet. A network
/// has about twenty kernels.
#[derive(Debug)]
pub struct Turns {
    /// For each number of positions, whether a batch of that size has run; `None` on devices that need no turns.
    known: Option<Vec<bool>>,
}

/// A turn, which is held while a batch is on the device.
#[derive(Debug)]
pub enum Turn {
    /// No turns are needed.
    Free,
    /// Other batches may run as well.
    Beside(RwLockReadGuard<'static, ()>),
    /// No other batch may run.
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Turns {
    /// The turns of a queue whose batches have at most `max_batch` positions.
    pub fn new(device: &Device, max_batch: usize) -> Self {
        Self { known: device.needs_turns().then(|| vec![false; max_batch + 1]) }
    }

    /// Waits until a batch of `batch` positions may run.
    pub fn wait(&self, batch: usize) -> Turn {
        match &self.known {
            None => Turn::Free,
            Some(known) if known[batch] => Turn::Beside(LAUNCHES.read().unwrap_or_else(PoisonError::into_inner)),
            Some(_) => self.wait_alone(),
        }
    }

    /// Waits until nothing else runs, for launches that are not those of a whole batch.
    pub fn wait_alone(&self) -> Turn {
        match &self.known {
            None => Turn::Free,
            Some(_) => Turn::Alone(LAUNCHES.write().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Records that a batch of this size has run.
    pub fn done(&mut self, batch: usize) {
        if let Some(known) = &mut self.known {
            known[batch] = true;
        }
    }
}
