//! Several searches at the same time, as in the analysis engine, on a device that fails at every possible call.

use crate::engine::{Done, Engine, Go, Info, Observer, Settings};
use crate::evaluator::Evaluator;
use crate::evaluator::faulty::{Fault, Plan, on_failing_device, on_failing_host};
use crate::network::BackendKind;
use crate::options::Typed;
use oncilla_chess::{History, MoveList};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How long a search that takes a moment may be silent.
const PATIENCE: Duration = Duration::from_secs(120);

const NODES: u64 = 25;

/// Sends the end of its search, with the number of nodes and the notes until then.
struct Ear {
    notes: Vec<String>,
    nodes: u64,
    end: Sender<(Done, u64, Vec<String>)>,
}

impl Observer for Ear {
    fn info(&mut self, info: &Info) {
        self.nodes = info.nodes;
    }

    fn done(&mut self, done: &Done) {
        let _ = self.end.send((done.clone(), self.nodes, std::mem::take(&mut self.notes)));
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}

/// Runs searches that share an evaluator, of the positions after 0, 1, … moves of a game. Returns their notes.
fn search_all(evaluator: Evaluator, searches: usize) -> Vec<String> {
    let evaluator = Arc::new(evaluator);
    let settings = Settings {
        minibatch: 1,
        hash_mb: 1,
        smart_pruning_factor: 0.0,
        ..Typed::default().meaning().unwrap().settings
    };
    let mut position = History::startpos();
    let mut running = Vec::new();
    for _ in 0..searches {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut engine = Engine::sharing(settings.clone(), Arc::clone(&evaluator));
        engine.position(position.clone());
        let (end, heard) = channel();
        let ear = Ear { notes: Vec::new(), nodes: 0, end };
        engine.go(Go { nodes: Some(NODES), ..Go::default() }, Box::new(ear)).unwrap();
        position.push(legal[3]);
        running.push((engine, heard, legal));
    }
    let ended = running.iter().flat_map(|(_, heard, legal)| {
        let (done, nodes, notes) = heard.recv_timeout(PATIENCE).expect("a search that ends");
        assert!(done.best.is_some_and(|best| legal.contains(&best)), "{notes:?}");
        assert!(nodes >= NODES, "{nodes}: {notes:?}");
        // The visits of all moves, and the root's own visit: all of them were answered.
        let visits: u32 = done.stats.iter().filter(|stats| stats.mv.is_some()).map(|stats| stats.n).sum();
        assert_eq!(u64::from(visits) + 1, nodes, "{notes:?}");
        notes
    });
    ended.collect()
}

#[test]
fn searches_that_share_a_failing_device_all_come_to_their_end() {
    for call in 0..200 {
        let once = |fault| move |now: usize| (now == call).then_some(fault);
        let plans: [(Plan, usize); 4] = [
            (Box::new(once(Fault::Loud)), 1),
            (Box::new(once(Fault::Nonsense)), 1),
            (Box::new(once(Fault::Slow)), 0),
            (Box::new(move |now| (now >= call).then_some(Fault::Loud)), 2),
        ];
        let (plan, most) = plans.into_iter().nth(call % 4).unwrap();
        let notes = search_all(on_failing_device(BackendKind::OpenCl, true, plan), 3);
        assert!(notes.len() <= most, "call {call}: {notes:?}");
        assert!(notes.len() >= most.min(1) || call >= 30, "call {call}: {notes:?}");
    }
}

/// The network has no numbers from the first position on, or from the middle of a game on.
#[test]
fn searches_go_on_where_the_network_has_no_numbers() {
    for (from, fault) in [(0, Fault::Nonsense), (7, Fault::Nonsense), (0, Fault::NoMovesLeft), (7, Fault::NoMovesLeft)]
    {
        let notes = search_all(on_failing_host(Box::new(move |call| (call >= from).then_some(fault))), 2);
        assert_eq!(notes.len(), 1, "{fault:?} from call {from}: {notes:?}");
    }
}
