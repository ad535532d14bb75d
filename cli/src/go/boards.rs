//! A network on boards of each size; each is made when the size is first asked for. On a board of known size KataGo's
//! pooling has two numbers a channel, and no mask is needed.
//!
//! A search holds the one for its board, and none that is held is dropped. Of the others, the most recently used ones
//! stay.

use crate::network::{Facts, Service};
use oncilla_go::Size;
use oncilla_opencl::graph::{Graph, Role};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of sizes that stay ready, if no more are in use. Each has its own copy of the network's weights.
const SIZES: usize = 4;

/// A network on boards of one size.
pub struct OnBoard {
    pub size: Size,
    pub service: Service,
    pub heads: Heads,
}

/// How many numbers a row has in each output.
#[derive(Clone, Copy)]
pub struct Heads {
    pub policy: usize,
    pub pass: usize,
    pub results: usize,
    pub scores: usize,
    pub ownership: usize,
}

impl OnBoard {
    /// Runs the `graph` of a network for boards of a size; `serve` makes what runs it, with lines for a person.
    ///
    /// # Errors
    /// The error of `serve`.
    pub fn new(
        graph: Arc<Graph>,
        size: Size,
        serve: impl FnOnce(&Arc<Graph>) -> Result<(Service, Vec<String>), String>,
    ) -> Result<(Self, Vec<String>), String> {
        let (service, notes) = serve(&graph)?;
        let len = |role| graph.output_len(role).unwrap_or(0);
        let heads = Heads {
            policy: len(Role::Policy),
            pass: len(Role::Pass),
            results: len(Role::Results),
            scores: len(Role::Scores),
            ownership: len(Role::Ownership),
        };
        Ok((Self { size, service, heads }, notes))
    }

    /// The facts about what runs it.
    pub fn facts(&self) -> Facts {
        self.service.facts()
    }
}

/// One network, on boards of all sizes that were asked for.
#[derive(Default)]
pub struct Boards(Mutex<State>);

#[derive(Default)]
struct State {
    /// The slots by their last use, the latest last.
    slots: Vec<Arc<Slot>>,
    /// The last facts about those that were dropped.
    gone: HashMap<Size, Facts>,
    batches_of_gone: u64,
}

/// The slot of a size.
struct Slot {
    size: Size,
    /// Locked by the thread that makes it: other threads that need it would make the same.
    making: Mutex<()>,
    made: OnceLock<Arc<OnBoard>>,
}

impl Boards {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The network on boards of this size; `make` makes it if there is none. Threads that need another size do not wait
    /// meanwhile.
    ///
    /// # Errors
    /// The error of `make`. The next call tries again.
    pub fn on(
        &self,
        size: Size,
        make: impl FnOnce() -> Result<(OnBoard, Vec<String>), String>,
    ) -> Result<(Arc<OnBoard>, Vec<String>), String> {
        let (slot, let_go) = self.lock().slot(size);
        // Dropped here, so that its memory is free before more is asked for, and its threads end while the lock is
        // free.
        drop(let_go);
        let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = slot.made.get() {
            return Ok((Arc::clone(made), Vec::new()));
        }
        let (made, notes) = make()?;
        Ok((Arc::clone(slot.made.get_or_init(|| Arc::new(made))), notes))
    }

    /// The facts about the network on boards of this size, also if it was dropped.
    pub fn facts(&self, size: Size) -> Option<Facts> {
        let state = self.lock();
        let made = state.slots.iter().find(|slot| slot.size == size).and_then(|slot| slot.made.get());
        made.map(|made| made.facts()).or_else(|| state.gone.get(&size).cloned())
    }

    /// Batches that were run so far, on boards of all sizes.
    pub fn batches(&self) -> u64 {
        let state = self.lock();
        let made = state.slots.iter().filter_map(|slot| slot.made.get());
        state.batches_of_gone + made.map(|made| made.service.batches()).sum::<u64>()
    }
}

impl State {
    /// The slot of a size, and those that have to be dropped for it.
    fn slot(&mut self, size: Size) -> (Arc<Slot>, Vec<Arc<Slot>>) {
        let slot = match self.slots.iter().position(|slot| slot.size == size) {
            Some(at) => self.slots.remove(at),
            None => Arc::new(Slot { size, making: Mutex::default(), made: OnceLock::new() }),
        };
        let let_go = self.let_go();
        self.slots.push(Arc::clone(&slot));
        (slot, let_go)
    }

    /// Takes out slots that are not in use, the oldest first, until there is room for one more.
    fn let_go(&mut self) -> Vec<Arc<Slot>> {
        let idle = self.slots.iter().filter(|slot| slot.is_idle()).count();
        let mut too_many = idle.saturating_sub(SIZES - 1);
        let goes = |slot: &mut Arc<Slot>| {
            let goes = too_many > 0 && slot.is_idle();
            too_many -= usize::from(goes);
            goes
        };
        let let_go: Vec<_> = self.slots.extract_if(.., goes).collect();
        for made in let_go.iter().filter_map(|slot| slot.made.get()) {
            self.batches_of_gone += made.service.batches();
            self.gone.insert(made.size, made.facts());
        }
        let_go
    }
}

impl Slot {
    /// Whether no thread makes it or holds what was made. Under the state's lock this does not change from true to
    /// false.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && self.made.get().is_none_or(|made| Arc::strong_count(made) == 1)
    }
}
