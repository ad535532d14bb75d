//! A worker's searches: one position after the other, in one tree at a time, with the evaluator that all workers share.

use oncilla_chess::{History, Move, MoveList};
use oncilla_core::search::MAX_VISITS;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::answer::{Raw, Reporter};
use super::query::{Plan, Query};
use super::sessions::{Sessions, TreeEngine, TreeSummary};
use crate::analysis::crew::{Fault, Line, SearchesTurns};
use crate::analysis::due::Due;
use crate::analysis::output::Output;
use crate::analysis::queue::Taken;
use crate::engine::{Done, Go, Info, Observer, Restrictions, RootResults, Search, Settings};
use crate::evaluator::{Batch, Drawing, Evaluator, Pushed, UNKNOWN};
use crate::softmax::softmax;

/// What a worker searches with.
pub struct Searcher {
    output: Arc<Output>,
    evaluator: Arc<Evaluator>,
    sessions: Arc<Sessions>,
    settings: Arc<Settings>,
    /// The tree for queries without a session. It is dropped before a session is searched, because `Hash` has room for
    /// one tree per worker, besides those of the sessions.
    own: Option<TreeEngine>,
    batch: Batch,
    /// The last position, with its query and the number of moves played. The next turn is often one of the same query,
    /// and continues from it.
    last: Option<(Arc<Query>, usize, Box<History>)>,
}

impl SearchesTurns<Query> for Searcher {
    /// Searches a position in its session's tree or in the worker's own; if the search fails, that tree is dropped.
    fn search(&mut self, taken: &Taken<Query>) -> Result<Option<Line>, Fault> {
        let session = taken.turn.query.session.as_deref();
        // Taken in both cases: a worker has one tree at a time.
        let own = self.own.take();
        let kept = match session {
            Some(session) => {
                drop(own);
                self.sessions.take(session)
            }
            None => own,
        };
        let mut tree_engine = kept.unwrap_or_else(|| TreeEngine::new(&self.settings, &self.evaluator));
        let found = self.search_at(&mut tree_engine, taken)?;
        match session {
            Some(session) => self.sessions.keep(session, tree_engine),
            None => self.own = Some(tree_engine),
        }
        Ok(found)
    }

    fn clean_up(&mut self, query: &Query) {
        if let Some(session) = &query.session {
            self.sessions.lost(session);
        }
    }
}

impl Searcher {
    /// A searcher whose tree has the size in `settings`.
    pub fn new(
        output: Arc<Output>,
        evaluator: Arc<Evaluator>,
        sessions: Arc<Sessions>,
        settings: Arc<Settings>,
    ) -> Self {
        let batch = evaluator.batch();
        Self { output, evaluator, sessions, settings, own: None, batch, last: None }
    }

    fn search_at(&mut self, tree_engine: &mut TreeEngine, taken: &Taken<Query>) -> Result<Option<Line>, Fault> {
        let (query, turn) = (Arc::clone(&taken.turn.query), taken.turn.number);
        let mut position = self.position(&query, turn);
        let raw = self.evaluate(&mut position)?;
        let mut go = Go { steers: query.session.is_some(), ..go(&query.plan) };
        let no_move_allowed = !restrict(&mut go, query.plan.restrictions.as_ref(), &position);
        if no_move_allowed {
            // The rules leave no move, so only the root itself is evaluated.
            go.nodes = Some(1);
            go.restrictions = None;
        }
        configure(tree_engine, &query.plan);
        let restricts = no_move_allowed || go.restrictions.as_ref().is_some_and(|rules| rules.reach_below_the_root());
        if query.session.is_none() || restricts || tree_engine.was_restricted {
            tree_engine.engine.forget();
        }
        tree_engine.was_restricted = restricts;
        tree_engine.engine.position((*position).clone());
        let (last, found) = channel();
        let observer = SearchObserver {
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
        let stopper = tree_engine.engine.stopper();
        taken.running.stop_with(move || stopper.stop());
        tree_engine.engine.go(go, Box::new(observer))?;
        if taken.running.is_ended() {
            // It was ended before the search had started.
            tree_engine.engine.stop();
        }
        tree_engine.engine.wait();
        let Some(found) = found.try_iter().last() else { return Ok(None) };
        let (line, summary) = found.map_err(|text| Fault { text, was_said: true })?;
        tree_engine.summary = summary;
        Ok(line)
    }

    /// The position of a turn. It continues from the last position if that belongs to an earlier turn of the same
    /// query.
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

    /// The network's evaluation of the position. It is stored in the cache, where the search finds it.
    fn evaluate(&mut self, position: &mut History) -> Result<Raw, String> {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut drawing = Drawing::new(self.evaluator.has_hints());
        drawing.find(position, &legal);
        let with = drawing.circumstances(0);
        self.batch.clear();
        let known = match self.batch.push_with(position, &legal, with) {
            Pushed::Known(value, logits) => Raw { value: Some(value), error: None, policy: softmax(logits) },
            Pushed::Waits => return ask(&self.evaluator, &mut self.batch, &self.output),
        };
        if !self.evaluator.has_value_error() {
            return Ok(known);
        }
        // The cache does not store the value error, so the position is evaluated again.
        let mut fresh = self.evaluator.batch_without_cache();
        fresh.push_with(position, &legal, with);
        ask(&self.evaluator, &mut fresh, &self.output)
    }
}

/// Evaluates the only position of a batch.
fn ask(evaluator: &Evaluator, batch: &mut Batch, output: &Output) -> Result<Raw, String> {
    if let Some(note) = evaluator.run(batch)? {
        output.aside(&note);
    }
    if batch.is_unknown(0) {
        return Err(UNKNOWN.to_string());
    }
    Ok(Raw { value: Some(batch.value(0)), error: batch.value_error(0), policy: softmax(batch.logits(0)) })
}

/// Configures an engine for a query, if its settings differ.
fn configure(tree_engine: &mut TreeEngine, plan: &Plan) {
    let mut settings = Arc::clone(&plan.settings);
    if let Some(fpu) = plan.root_fpu {
        Arc::make_mut(&mut settings).params.fpu_at_root = Some(fpu);
    }
    if !Arc::ptr_eq(&settings, &tree_engine.settings) {
        tree_engine.engine.configure((*settings).clone());
        tree_engine.settings = settings;
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

/// Applies the rules to the root's moves, and to the moves below it if they reach further. Returns false if no root
/// move is left.
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

/// Observes one search.
struct SearchObserver {
    query: Arc<Query>,
    turn: usize,
    position: Box<History>,
    raw: Raw,
    results: RootResults,
    evaluator: Arc<Evaluator>,
    output: Arc<Output>,
    due: Due,
    /// Sends the last line to the worker, which writes it when the search has ended. If the search fails, the error is
    /// sent after that.
    last: Sender<Result<(Option<Line>, TreeSummary), String>>,
}

impl SearchObserver {
    fn line(&self, search: &Search<'_>, is_during_search: bool) -> Option<String> {
        let reporter = Reporter::new(search, &self.query, self.turn, &self.evaluator, &self.position, &self.raw);
        reporter.knowing(&self.results).line(is_during_search)
    }

    fn last_line(&self, search: &Search<'_>) -> Option<Line> {
        let hold = self.query.wanted.tree.map(|_| self.output.long_line.hold());
        self.line(search, false).map(|text| Line { text, hold })
    }

    fn report(&mut self, search: &Search<'_>) {
        let hold = self.query.wanted.tree.map(|_| self.output.long_line.try_hold());
        if matches!(hold, Some(None)) {
            // It is tried again at the next look, which is soon.
            return;
        }
        if let Some(line) = self.line(search, true) {
            self.output.say(line);
            self.due.said();
        }
    }
}

impl Observer for SearchObserver {
    fn info(&mut self, _: &Info) {}

    fn done(&mut self, done: &Done) {
        if let Some(fault) = &done.fault {
            // The worker receives it, so this can't fail.
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
            let (visits, tree_bytes) = (search.visits(), search.repository().live_bytes());
            let summary = TreeSummary { id: self.query.id.clone(), turn: self.turn, visits, tree_bytes };
            // The worker receives it, so this can't fail.
            let _ = self.last.send(Ok((self.last_line(search), summary)));
        } else if self.due.is_now() && self.output.has_room() {
            self.report(search);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::CacheSize;
    use crate::network::BackendKind;
    use crate::options::Typed;

    /// Calls per thread. One in some hundred calls finds its cache entry evicted by the other thread at the critical
    /// moment.
    const CALLS: usize = 20_000;

    #[test]
    fn what_the_cache_knew_is_told_although_it_forgets_it_meanwhile() {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let mut evaluator = Evaluator::new(&settings.evaluator).unwrap().0;
        // The cache has room for only one of the two positions.
        evaluator.set_cache(CacheSize { entries: 1, mb: 1 }).unwrap();
        let (evaluator, settings) = (Arc::new(evaluator), Arc::new(settings));
        let repeat = |mut position: History| {
            let output = Arc::new(Output::to(channel().0));
            let sessions = Arc::new(Sessions::new(1));
            let mut searcher = Searcher::new(output, Arc::clone(&evaluator), sessions, Arc::clone(&settings));
            for _ in 0..CALLS {
                let raw = searcher.evaluate(&mut position).unwrap();
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
