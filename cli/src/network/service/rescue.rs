//! What becomes of rows that a device has failed to answer, and of the device.

use super::queue::Part;
use super::unit::{Lane, Unit};
use super::{Shared, guarded};
use oncilla_opencl::backend::Chores;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How a lane has failed.
pub(super) struct Failed {
    /// The lane is held up by a batch that was abandoned.
    pub(super) may_answer_yet: bool,
    /// The lane was given up.
    pub(super) is_spent: bool,
}

/// Rows that the host evaluates, in the place of a device, before it checks whether there is still time.
const ROWS_AT_ONCE: usize = 8;

impl Shared {
    /// Handles rows that a unit has failed to answer. Those of a device are answered by the host; after too many
    /// failures in a row, the device is given up.
    pub(super) fn rescue(&self, unit: usize, parts: Vec<Part>, fault: String, failed: Failed) {
        let mut spent = Vec::new();
        let mut state = self.lock();
        if !state.units[unit].is_device() {
            drop(state);
            self.fail(&parts, &fault);
            return;
        }
        // A request that is late has no time for the host either.
        let (late, parts): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.request.is_late());
        if !late.is_empty() {
            drop(state);
            self.fail(&late, &fault);
            state = self.lock();
        }
        if state.units[unit].is_there() {
            let first = !parts.is_empty() && !std::mem::replace(&mut state.failed_before, true);
            // A lane that was given up says nothing about the others.
            if failed.may_answer_yet || failed.is_spent || !state.units[unit].fail() {
                drop(state);
                let note = match failed.is_spent {
                    // The lane is gone, whether or not anybody waits for these rows.
                    true => {
                        self.tell(format!("{fault}; the device goes on with fewer batches at a time"));
                        None
                    }
                    false => first.then(|| format!("{fault}; the host evaluates the batch")),
                };
                self.stand_in(&parts, note);
                return;
            }
            drop(state);
            match self.give_up(unit) {
                Ok(None) => {}
                Ok(Some((who, lanes))) => {
                    spent = lanes;
                    self.tell(format!("{fault}; {who}"));
                }
                Err(fault) => {
                    self.fail(&parts, &fault);
                    return;
                }
            }
            state = self.lock();
        }
        state.put_back(parts);
        self.call(&state);
        drop(state);
        let_go(spent);
    }

    /// Goes on without a unit; returns the words for what runs instead, and the unit's lanes. `None` if another thread
    /// gave it up first.
    fn give_up(&self, unit: usize) -> Result<Option<(&'static str, Vec<Lane>)>, String> {
        // This lock is kept until the unit is gone: one thread makes a host, and only threads that need one too wait
        // for that.
        let mut stand_in = self.host();
        let mut state = self.lock();
        if !state.units[unit].is_there() {
            return Ok(None);
        }
        if state.units.iter().filter(|unit| unit.is_there()).count() > 1 {
            return Ok(Some(("the other devices go on", state.units[unit].lose())));
        }
        drop(state);
        let host = stand_in.take().map_or_else(|| self.new_host(), Ok)?;
        let mut state = self.lock();
        let lanes = state.units[unit].lose();
        state.units.push(host);
        Ok(Some(("the host takes over", lanes)))
    }

    fn host(&self) -> MutexGuard<'_, Option<Unit>> {
        self.stand_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_host(&self) -> Result<Unit, String> {
        guarded(|| (self.make_host)())?
    }

    /// Evaluates rows on the host, each request by itself, so that a fault in one costs no other its answer.
    fn stand_in(&self, parts: &[Part], note: Option<String>) {
        let mut has_answered = false;
        for part in parts {
            match self.evaluate_on_host(part) {
                Ok(()) => has_answered = true,
                Err(fault) => part.request.content().fault = Some(fault),
            }
        }
        note.filter(|_| has_answered).into_iter().for_each(|note| self.tell(note));
        self.done(parts);
    }

    /// Evaluates a part on the host. A panic becomes an error here: the requests' owners are other threads, and must be
    /// told.
    fn evaluate_on_host(&self, part: &Part) -> Result<(), String> {
        let mut stand_in = self.host();
        let host = match &mut *stand_in {
            Some(host) => host,
            none => none.insert(self.new_host()?),
        };
        let evaluated = guarded(|| {
            let most = host.max_batch.min(ROWS_AT_ONCE);
            let lane = host.widest();
            part.rows.clone().step_by(most).try_for_each(|start| {
                if part.request.is_late() {
                    return Err("no time left for the host's answer".to_string());
                }
                let rows = start..part.rows.end.min(start + most);
                self.evaluate(lane, &[Part { request: Arc::clone(&part.request), rows }], Chores::default())
            })
        });
        evaluated.unwrap_or_else(|panic| {
            // What the host's unit has left behind is not relied on.
            *stand_in = None;
            Err(panic)
        })
    }
}

/// Drops lanes in another thread: a driver that has failed may take its time, and a game's clock runs.
pub(super) fn let_go(lanes: Vec<Lane>) {
    if lanes.is_empty() {
        return;
    }
    // If the system has no thread, the lanes are dropped here.
    let _ = std::thread::Builder::new().name("lanes".to_string()).spawn(move || drop(lanes));
}
