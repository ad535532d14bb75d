//! A worker searches one position after the other, in one tree at a time, with the evaluator that all share.

use oncilla_chess::{History, Move, MoveList};
use oncilla_core::search::{Fpu, MAX_VISITS};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::answer::{Raw, Reporter};
use super::due::Due;
use super::output::Output;
use super::query::{Plan, Query};
use super::queue::{Queue, Taken};
use super::sessions::{Held, Seat, Sessions};
use super::single::Hold;
use super::{failed, nothing};
use crate::engine::{
    Batch, Done, Evaluator, Go, Info, Observer, Pushed, Restrictions, RootResults, Search, Settings, UNKNOWN, guarded,
};
use crate::softmax::softmax;

/// A line, and what has to be held until the line is written.
struct Line {
    text: String,
    hold: Option<Hold>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, hold: None }
    }
}

/// Why there is no answer.
struct Fault {
    text: String,
    /// On standard error.
    was_said: bool,
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self { text, was_said: false }
    }
}

/// Everything that a worker needs.
pub struct Worker {
    queue: Arc<Queue<Query>>,
    output: Arc<Output>,
    evaluator: Arc<Evaluator>,
    sessions: Arc<Sessions>,
    settings: Arc<Settings>,
    /// The seat for queries without a session. It is given up before a session is served, because `Hash` counts only
    /// one tree for each worker.
    own: Option<Seat>,
    batch: Batch,
    /// The last position, of which query, and after how many moves: the next one is often of the same game.
    last: Option<(Arc<Query>, usize, Box<History>)>,
}

impl Worker {
    /// A worker with a tree as in `settings`.
    pub fn new(
        queue: Arc<Queue<Query>>,
        output: Arc<Output>,
        evaluator: Arc<Evaluator>,
        sessions: Arc<Sessions>,
        settings: Arc<Settings>,
    ) -> Self {
        let batch = evaluator.batch();
        Self { queue, output, evaluator, sessions, settings, own: None, batch, last: None }
    }

    /// Until the queue is closed and empty.
    pub fn run(mut self) {
        while let Some(taken) = self.queue.take() {
            self.search(&taken);
            self.queue.done(&taken);
        }
    }

    /// Searches a position. However that ends, the turn gets its last line.
    fn search(&mut self, taken: &Taken<Query>) {
        let (query, turn) = (&taken.turn.query, taken.turn.number);
        let searched = match taken.running.is_ended() {
            true => Ok(None),
            false => guarded(|| self.try_search(taken)).map_err(Fault::from).and_then(|searched| searched),
        };
        let line = searched.map(|line| line.unwrap_or_else(|| nothing(&query.id, turn).into()));
        let Line { text, hold } = line.unwrap_or_else(|Fault { text, was_said }| {
            if !was_said {
                self.output.aside(&text);
            }
            if let Some(session) = &query.session {
                self.sessions.lost(session);
            }
            failed(&query.id, turn, &text).into()
        });
        self.output.say(text);
        drop(hold);
    }

    /// If the search fails, its tree is dropped.
    fn try_search(&mut self, taken: &Taken<Query>) -> Result<Option<Line>, Fault> {
        let session = taken.turn.query.session.as_deref();
        // Whether it is needed or not: there is one tree here at a time.
        let own = self.own.take();
        let kept = match session {
            Some(session) => {
                drop(own);
                self.sessions.take(session)
            }
            None => own,
        };
        let mut seat = kept.unwrap_or_else(|| Seat::new(&self.settings, &self.evaluator));
        let found = self.search_at(&mut seat, taken)?;
        match session {
            Some(session) => self.sessions.keep(session, seat),
            None => self.own = Some(seat),
        }
        Ok(found)
    }

    fn search_at(&mut self, seat: &mut Seat, taken: &Taken<Query>) -> Result<Option<Line>, Fault> {
        let (query, turn) = (Arc::clone(&taken.turn.query), taken.turn.number);
        let position = self.position(&query, turn);
        let raw = self.evaluate(&position)?;
        let mut go = Go { steers: query.session.is_some(), ..go(&query.plan) };
        let is_shut = !restrict(&mut go, query.plan.restrictions.as_ref(), &position);
        if is_shut {
            // No move may be searched: the network's word is all there is.
            go.nodes = Some(1);
            go.restrictions = None;
        }
        configure(seat, &query.plan);
        let restricts = is_shut || go.restrictions.as_ref().is_some_and(|rules| rules.reach_below_the_root());
        if query.session.is_none() || restricts || seat.was_restricted {
            seat.engine.forget();
        }
        seat.was_restricted = restricts;
        seat.engine.position((*position).clone());
        let (last, found) = channel();
        let observer = Listener {
            due: Due::new(query.reports),
            query,
            turn,
            position,
            raw,
            results: RootResults::default(),
            evaluator: Arc::clone(&self.evaluator),
            output: Arc::clone(&self.output),
            last,
        };
        let stopper = seat.engine.stopper();
        taken.running.stop_with(move || stopper.stop());
        seat.engine.go(go, Box::new(observer))?;
        if taken.running.is_ended() {
            // It was ended before it began.
            seat.engine.stop();
        }
        seat.engine.wait();
        let Some(found) = found.try_iter().last() else { return Ok(None) };
        let (line, held) = found.map_err(|text| Fault { text, was_said: true })?;
        seat.held = held;
        Ok(line)
    }

    /// The position of a turn, made from that of an earlier turn of the same query if there is one.
    fn position(&mut self, query: &Arc<Query>, turn: usize) -> Box<History> {
        let known = self.last.take().filter(|(last, played, _)| Arc::ptr_eq(last, query) && *played <= turn);
        let (played, mut history) = match known {
            Some((_, played, history)) => (played, history),
            None => (0, Box::new(query.game.start())),
        };
        query.game.play(&mut history, played, turn);
        self.last = Some((Arc::clone(query), turn, history.clone()));
        history
    }

    /// The network's own word. It comes into the cache, where the search finds it.
    fn evaluate(&mut self, position: &History) -> Result<Raw, String> {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        self.batch.clear();
        let known = match self.batch.push(position, &legal) {
            Pushed::Known(value, logits) => Raw { value: Some(value), error: None, policy: softmax(logits) },
            Pushed::Waits => return ask(&self.evaluator, &mut self.batch, &self.output),
        };
        if !self.evaluator.has_value_error() {
            return Ok(known);
        }
        // The cache does not keep the error.
        let mut fresh = self.evaluator.batch_without_cache();
        fresh.push(position, &legal);
        ask(&self.evaluator, &mut fresh, &self.output)
    }
}

/// What the network says of the only position of a batch.
fn ask(evaluator: &Evaluator, batch: &mut Batch, output: &Output) -> Result<Raw, String> {
    if let Some(note) = evaluator.run(batch)? {
        output.aside(&note);
    }
    if batch.is_unknown(0) {
        return Err(UNKNOWN.to_string());
    }
    Ok(Raw { value: Some(batch.value(0)), error: batch.value_error(0), policy: softmax(batch.logits(0)) })
}

/// Passes the settings of a query to an engine, if it has others.
fn configure(seat: &mut Seat, plan: &Plan) {
    let mut settings = Arc::clone(&plan.settings);
    if let Some(reduction) = plan.root_fpu_reduction {
        Arc::make_mut(&mut settings).params.fpu_at_root = Some(Fpu::Reduction(reduction));
    }
    if !Arc::ptr_eq(&settings, &seat.settings) {
        seat.engine.configure((*settings).clone());
        seat.settings = settings;
    }
}

/// The limits of a search.
fn go(plan: &Plan) -> Go {
    Go {
        nodes: Some(plan.max_visits.min(MAX_VISITS.into())),
        playouts: plan.max_playouts,
        move_time_ms: plan.max_time.map(|seconds| ((seconds * 1000.0).ceil() as i64).max(1)),
        root_temperature: plan.root_temperature,
        ..Go::default()
    }
}

/// Leaves out what the rules say. False if they leave nothing at the root.
fn restrict(go: &mut Go, rules: Option<&Arc<Restrictions>>, position: &History) -> bool {
    let Some(rules) = rules else { return true };
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let kept: Vec<Move> = legal.iter().copied().filter(|&mv| rules.allow(position.board(), 0, mv)).collect();
    go.restrictions = rules.reach_below_the_root().then(|| Arc::clone(rules));
    let is_open = !kept.is_empty() || legal.is_empty();
    if kept.len() < legal.len() {
        go.search_moves = kept;
    }
    is_open
}

/// Hears of one search.
struct Listener {
    query: Arc<Query>,
    turn: usize,
    position: Box<History>,
    raw: Raw,
    results: RootResults,
    evaluator: Arc<Evaluator>,
    output: Arc<Output>,
    due: Due,
    /// The last line goes to the worker, which says it when the search is over. If the search broke off, why follows.
    last: Sender<Result<(Option<Line>, Held), String>>,
}

impl Listener {
    fn line(&self, search: &Search<'_>, is_during_search: bool) -> Option<String> {
        let reporter = Reporter::new(&self.query, self.turn, &self.evaluator, &self.position, &self.raw);
        reporter.knowing(&self.results).line(search, is_during_search)
    }

    fn last_line(&self, search: &Search<'_>) -> Option<Line> {
        let hold = self.query.wanted.tree.map(|_| self.output.long_line.hold());
        self.line(search, false).map(|text| Line { text, hold })
    }

    fn report(&mut self, search: &Search<'_>) {
        let hold = self.query.wanted.tree.map(|_| self.output.long_line.try_hold());
        if matches!(hold, Some(None)) {
            // The next look is soon.
            return;
        }
        if let Some(line) = self.line(search, true) {
            self.output.say(line);
            self.due.said();
        }
    }
}

impl Observer for Listener {
    fn info(&mut self, _: &Info) {}

    fn done(&mut self, done: &Done) {
        if let Some(fault) = &done.fault {
            // The worker waits for it.
            let _ = self.last.send(Err(fault.clone()));
        }
    }

    fn note(&mut self, text: &str) {
        self.output.aside(text);
    }

    fn results(&mut self, results: &RootResults) {
        self.results = results.clone();
    }

    fn look(&mut self, search: &Search<'_>, is_last: bool) {
        if is_last {
            let (visits, tree_bytes) = (search.nodes(), search.repository().live_bytes());
            let held = Held { id: self.query.id.clone(), turn: self.turn, visits, tree_bytes };
            // The worker waits for it.
            let _ = self.last.send(Ok((self.last_line(search), held)));
        } else if self.due.is_now() && self.output.has_room() {
            self.report(search);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{BackendKind, CacheSize};
    use crate::options::Typed;

    /// Calls of each thread: in one of some hundreds another takes the entry away at the wrong moment.
    const CALLS: usize = 20_000;

    #[test]
    fn what_the_cache_knew_is_told_although_it_forgets_it_meanwhile() {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let mut evaluator = Evaluator::new(&settings.evaluator).unwrap().0;
        // Two positions fight for the room of one.
        evaluator.set_cache(CacheSize { entries: 1, mb: 1 }).unwrap();
        let (evaluator, settings) = (Arc::new(evaluator), Arc::new(settings));
        let repeat = |position: History| {
            let output = Arc::new(Output::to(channel().0));
            let (queue, sessions) = (Arc::new(Queue::new(1)), Arc::new(Sessions::new(1)));
            let mut worker = Worker::new(queue, output, Arc::clone(&evaluator), sessions, Arc::clone(&settings));
            for _ in 0..CALLS {
                let raw = worker.evaluate(&position).unwrap();
                assert_eq!((raw.value.is_some(), raw.policy.len()), (true, 20));
            }
        };
        let mut other = History::startpos();
        other.push("e2e4".parse().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| repeat(other));
            repeat(History::startpos());
        });
        assert!(evaluator.cache_counts().evictions > 0, "each has taken the other's room");
    }
}
