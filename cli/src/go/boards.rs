//! What runs a network on boards of each size, made when it is first asked for.
//!
//! A search holds what runs its board, and nothing that is held is dropped. Of the others, the most recently used ones
//! stay.

use crate::engine::{Facts, Service};
use oncilla_go::Size;
use oncilla_nets::katago::Model;
use oncilla_opencl::graph::{Graph, Role};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Sizes that stay ready, where no more are in use. Each has the network's weights for itself.
const SIZES: usize = 4;

/// A network on boards of one size.
pub struct OnBoard {
    pub size: Size,
    pub service: Service,
    pub heads: Heads,
}

/// Numbers of one row in each output.
#[derive(Clone, Copy)]
pub struct Heads {
    pub policy: usize,
    pub pass: usize,
    pub results: usize,
    pub scores: usize,
    pub ownership: usize,
}

impl OnBoard {
    /// Runs a network that has been read; `serve` makes what runs its graph, with lines for a person.
    ///
    /// # Errors
    /// In one line: a network that graphs can't express, or the error of `serve`.
    pub fn new(
        model: &Model,
        size: Size,
        serve: impl FnOnce(&Arc<Graph>) -> Result<(Service, Vec<String>), String>,
    ) -> Result<(Self, Vec<String>), String> {
        let graph = model.graph(size.y().into(), size.x().into()).map_err(|error| error.to_string()).map(Arc::new)?;
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

    /// About it.
    pub fn facts(&self) -> Facts {
        self.service.facts()
    }
}

/// One network on boards of all sizes that were asked for.
#[derive(Default)]
pub struct Boards(Mutex<State>);

#[derive(Default)]
struct State {
    /// Last used last.
    slots: Vec<Arc<Slot>>,
    /// What was known of those that were let go.
    gone: HashMap<Size, Facts>,
    batches_of_gone: u64,
}

/// The place of a size.
struct Slot {
    size: Size,
    /// Held by who makes it: others who need it would make the same.
    making: Mutex<()>,
    made: OnceLock<Arc<OnBoard>>,
}

impl Boards {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs boards of this size; `make` makes it if there is none. Meanwhile nobody waits who needs another size.
    ///
    /// # Errors
    /// That of `make`. Who asks the next time tries again.
    pub fn on(
        &self,
        size: Size,
        make: impl FnOnce() -> Result<(OnBoard, Vec<String>), String>,
    ) -> Result<(Arc<OnBoard>, Vec<String>), String> {
        let (slot, let_go) = self.lock().slot(size);
        // The memory of what was dropped is free before more is asked for, and its threads end while nobody waits for
        // the lock.
        drop(let_go);
        let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = slot.made.get() {
            return Ok((Arc::clone(made), Vec::new()));
        }
        let (made, notes) = make()?;
        Ok((Arc::clone(slot.made.get_or_init(|| Arc::new(made))), notes))
    }

    /// About what runs boards of this size, or did.
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
    /// The place of a size, and what has to go for it.
    fn slot(&mut self, size: Size) -> (Arc<Slot>, Vec<Arc<Slot>>) {
        let slot = match self.slots.iter().position(|slot| slot.size == size) {
            Some(at) => self.slots.remove(at),
            None => Arc::new(Slot { size, making: Mutex::default(), made: OnceLock::new() }),
        };
        let let_go = self.let_go();
        self.slots.push(Arc::clone(&slot));
        (slot, let_go)
    }

    /// Takes out those that nobody uses, the oldest first, until there is a place for one more.
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
    /// Whether nobody makes it or holds what was made. Under the state's lock that does not change from yes to no.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && self.made.get().is_none_or(|made| Arc::strong_count(made) == 1)
    }
}
