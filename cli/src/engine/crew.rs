//! The threads that do a search's playouts, in one of three ways:
//!
//! - The searcher's own thread does them. The same answers give the same tree, and limits are checked by count unless a
//!   clock is among them.
//! - Threads that each take all roles (`Threads`).
//! - Threads with one role each and queues between them (`GatherThreads`, `EvalThreads`, `BackpropThreads`):
//!   `pipeline`.
//!
//! Leaves are processed and counted in the same way in all three (`leaves`).

use super::leaf::LeafRules;
use super::leaves::batch_size;
use super::pipeline::{self, Queues};
use super::playouts::{Playouts, Step};
use super::settings::{Settings, Workers};
use super::shared::Shared;
use crate::evaluator::Evaluator;
use oncilla_chess::History;
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// How long threads that have nothing to do sleep if nothing wakes them: the one that watches, and workers that may not
/// go on.
const TICK: Duration = Duration::from_millis(5);
/// After this time a worker tells the other threads what it has done: with an evaluator that takes no time they would
/// otherwise wait for each other's reports.
const SLICE: Duration = TICK;
/// The number of playouts that a worker claims at once, if its batches are not larger: where evaluations take no time,
/// the threads would otherwise wait for each other's claims.
const CLAIM: u64 = 256;
/// How long a worker that has nothing to gather waits.
const PAUSE: Duration = Duration::from_micros(200);
/// After this many pauses without a single playout a worker gives up. Pauses while another worker waits for answers do
/// not count: a device may take its time.
const PAUSES: u32 = 10_000;

/// What does the playouts of a search.
pub enum Crew {
    /// The thread that watches the search also does the playouts: the same answers give the same tree.
    One(Box<Playouts>),
    /// Threads of their own that take all roles: each gathers, evaluates and brings back.
    Many,
    /// Threads of their own with one role each.
    Roles,
}

impl Crew {
    /// The queues that the threads of a search need, if each has one role.
    pub fn queues(settings: &Settings, evaluator: &Evaluator) -> Option<Queues> {
        let Workers { gather, eval, backprop, .. } = settings.workers;
        (gather + eval + backprop > 0).then(|| Queues::new(batch_size(settings, evaluator), eval))
    }

    /// Starts the threads that the settings ask for. If the system has none left, the calling thread does the work; if
    /// each was to have one role, the search ends instead, and says so.
    pub fn hire<'scope, 'env, 's: 'env, 'm: 'env>(
        scope: &'scope Scope<'scope, 'env>,
        shared: &'env Shared<'s, 'm>,
        settings: &Settings,
        rules: &LeafRules,
        position: &History,
    ) -> Self {
        if shared.queues().is_some() {
            if !pipeline::start(scope, shared, settings, rules, position) {
                shared.halt(Some("the system has no thread left for each role".to_string()));
            }
            return Self::Roles;
        }
        let playouts = || Playouts::new(settings, shared, rules.clone(), position);
        let threads = settings.workers.taking_all_roles(shared.evaluator.threads());
        if threads == 1 {
            return Self::One(Box::new(playouts()));
        }
        let mut hired = 0;
        for index in 0..threads {
            let own = playouts();
            let name = format!("playouts {index}");
            let job = move || shared.guard(|| work(shared, own, threads as u64));
            hired += usize::from(Builder::new().name(name).spawn_scoped(scope, job).is_ok());
        }
        if hired == 0 { Self::One(Box::new(playouts())) } else { Self::Many }
    }

    /// Lets the crew do playouts for a moment, at most `wanted` more.
    ///
    /// # Errors
    /// The errors of [`Playouts::step`].
    pub fn advance(&mut self, shared: &Shared<'_, '_>, wanted: u64) -> Result<(), String> {
        if let Self::One(playouts) = self {
            let step = playouts.step(shared, wanted);
            playouts.report(shared);
            match step? {
                Step::Progress(_) => {}
                Step::Crowded => return Err("the tree's memory is too small for a single line".to_string()),
                Step::NothingToDo => shared.halt(None),
            }
            return Ok(());
        }
        shared.allow(shared.counts().playouts.saturating_add(wanted));
        shared.wait(TICK);
        if let Some(queues) = shared.queues() {
            queues.adjust(&shared.counts());
        }
        Ok(())
    }
}

/// The main loop of a worker, one of so many `threads`.
fn work(shared: &Shared<'_, '_>, mut playouts: Playouts, threads: u64) {
    let mut pauses = 0;
    while !shared.is_stopped() {
        let claimed = shared.claim(portion(shared.unclaimed(), threads, playouts.batch() as u64));
        if claimed == 0 || shared.is_halted() {
            shared.unclaim(claimed);
            shared.wait(TICK);
            continue;
        }
        let done = do_playouts(shared, &mut playouts, claimed);
        playouts.report(shared);
        shared.unclaim(claimed - done.min(claimed));
        if done > 0 {
            pauses = 0;
            continue;
        }
        pauses += u32::from(!shared.is_evaluating());
        if pauses > PAUSES {
            shared.halt(Some("the tree's memory is too small for so many threads".to_string()));
        }
        shared.wait(PAUSE);
    }
}

/// How many of `left` playouts a worker claims: all threads shall have some to do until the end, and a full batch each.
fn portion(left: u64, threads: u64, batch: u64) -> u64 {
    (left / (2 * threads)).min(CLAIM).max(batch)
}

/// Does `claimed` playouts, or fewer if something keeps it from going on or if it takes longer than [`SLICE`]; returns
/// how many.
fn do_playouts(shared: &Shared<'_, '_>, playouts: &mut Playouts, claimed: u64) -> u64 {
    let begun = Instant::now();
    let mut done = 0;
    while done < claimed && !shared.is_stopped() && (done == 0 || begun.elapsed() < SLICE) {
        match playouts.step(shared, claimed - done) {
            Ok(Step::Progress(more)) => done += more,
            Ok(Step::Crowded) => break,
            Ok(Step::NothingToDo) => {
                shared.halt(None);
                break;
            }
            Err(fault) => {
                shared.halt(Some(fault));
                break;
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::super::Search;
    use super::*;
    use crate::evaluator::faulty::{Fault, Plan, on_failing_device};
    use crate::memory::{Layout, Memory};
    use crate::network::BackendKind;
    use crate::options::Typed;
    use oncilla_core::search::Params;
    use std::sync::Arc;

    #[test]
    fn the_last_playouts_are_for_all_threads() {
        assert_eq!(portion(100_000, 2, 16), CLAIM);
        assert_eq!(portion(100_000, 2, 1000), 1000, "a full batch");
        assert_eq!([400, 100, 40, 0].map(|left| portion(left, 2, 16)), [100, 25, 16, 16]);
    }

    /// How a search ended.
    struct End {
        playouts: u64,
        nodes: u64,
        has_move: bool,
        broken: bool,
        notes: Vec<String>,
    }

    /// A search of `nodes` playouts on a device that fails as `plan` says.
    fn search_on_failing_device(workers: Workers, nodes: u64, plan: Plan) -> End {
        let (memory, _) = Memory::of_at_most(1 << 20, Layout::Tree).unwrap();
        let settings = Settings { workers, ..Typed::default().meaning().unwrap().settings };
        let evaluator = on_failing_device(BackendKind::OpenCl, true, plan);
        let mut search = Search::new(memory.lend(), Params::default());
        let shared = Shared::new(&mut search, &evaluator, Crew::queues(&settings, &evaluator), Arc::default());
        let position = History::startpos();
        std::thread::scope(|scope| {
            let _stop = shared.stop_on_drop();
            let mut crew = Crew::hire(scope, &shared, &settings, &LeafRules::default(), &position);
            while !shared.is_halted() && shared.counts().playouts < nodes {
                crew.advance(&shared, nodes - shared.counts().playouts).unwrap();
            }
        });
        let (playouts, broken, notes) = (shared.counts().playouts, shared.is_broken(), shared.take_notes());
        let search = shared.into_search();
        let has_move = search.best_edge().is_some_and(|edge| edge.mv().is_some());
        let end = End { playouts, nodes: search.visits().into(), has_move, broken, notes };
        search.clear();
        assert_eq!(search.visits(), 0);
        end
    }

    const ALL_ROLES: Workers = Workers { all: 3, gather: 0, eval: 0, backprop: 0 };
    const A_ROLE_EACH: Workers = Workers { all: 1, gather: 2, eval: 2, backprop: 2 };

    #[test]
    fn a_thread_that_panics_ends_the_search_and_no_other_thread_waits_for_it() {
        for workers in [ALL_ROLES, A_ROLE_EACH] {
            let panics = |call| (call >= 3).then_some(Fault::Panic);
            let end = search_on_failing_device(workers, u64::MAX, Box::new(panics));
            assert!(end.broken);
            assert!(end.notes.iter().all(|note| note == "internal error: as a test"));
            assert!(end.has_move, "what came back before stays");
        }
    }

    /// Until the root is known, no other thread finds anything to do.
    #[test]
    fn threads_wait_for_an_answer_as_long_as_it_takes() {
        let stalls = Box::new(|now| (now == 0).then_some(Fault::Stalled));
        let end = search_on_failing_device(ALL_ROLES, 4 * CLAIM, stalls);
        assert!(end.notes.is_empty() && end.has_move && end.playouts >= 4 * CLAIM, "{:?}", end.notes);
    }

    #[test]
    fn a_search_loses_nothing_to_a_device_that_fails() {
        let one = Workers { all: 1, ..ALL_ROLES };
        for call in 0..200 {
            let workers = [one, ALL_ROLES, A_ROLE_EACH][call % 3];
            // The device takes 3 positions in a call, so the search goes on for a while after that call.
            let nodes = 3 * call as u64 + 40;
            let plans: [(&str, Plan); 4] = [
                ("fails once", Box::new(move |now| (now == call).then_some(Fault::Loud))),
                ("answers nonsense once", Box::new(move |now| (now == call).then_some(Fault::Nonsense))),
                ("is slow once", Box::new(move |now| (now == call).then_some(Fault::Slow))),
                ("is lost", Box::new(move |now| (now >= call).then_some(Fault::Loud))),
            ];
            let (what, plan) = plans.into_iter().nth(call / 3 % 4).unwrap();
            let end = search_on_failing_device(workers, nodes, plan);
            let why = format!("{what} at call {call}, {workers:?}: {:?}", end.notes);
            assert!(!end.broken && end.has_move, "{why}");
            // All playouts that were answered are in the tree, and no others.
            assert!(end.playouts >= nodes && end.nodes == end.playouts, "{} of {}: {why}", end.nodes, end.playouts);
            let silent = what == "is slow once";
            assert!(end.notes.len() <= 2 && end.notes.is_empty() == silent, "{why}");
        }
    }
}
