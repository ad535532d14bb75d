//! A worker's searches: one position after the other, with the evaluator that all workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::answer;
use super::batches;
use super::query::Query;
use crate::analysis::crew::{Fault, Line, SearchesTurns};
use crate::analysis::due::Due;
use crate::analysis::output::Output;
use crate::analysis::queue::{Queue, QueueCounts, Taken};
use crate::go::{self, Game, Limits, Networks, Plan, Search, Stopped};
use crate::network::Facts;
use crate::text::quoted;

/// What a worker searches with.
pub struct Searcher {
    /// The queue, whose length says how many positions are searched at the same time.
    pub queue: Arc<Queue<Query>>,
    /// Where answers go.
    pub output: Arc<Output>,
    pub networks: Networks,
    /// The bytes of the worker's tree, and the most bytes for its notes.
    pub tree_bytes: usize,
    /// Positions that are evaluated together; 0 for as many as suit what runs the board.
    pub minibatch: usize,
    /// The number of workers.
    pub parallel: usize,
}

/// Playouts between two moments at which reports and the end of the search are considered.
const STEP: u64 = 64;

impl SearchesTurns<Query> for Searcher {
    fn search(&mut self, taken: &Taken<Query>) -> Result<Option<Line>, Fault> {
        let (query, turn) = (&taken.turn.query, taken.turn.number);
        let game: Arc<Game> = Arc::new(query.setup.game(turn));
        let (board, said) = self.networks.main.on(game.size())?;
        said.iter().for_each(|line| self.output.aside(line));
        // What runs a new size of the board may have taken seconds to make: they are not the search's.
        let begun = Instant::now();
        if taken.running.is_ended() {
            return Ok(None);
        }
        let plan =
            Plan { human: self.networks.human.clone(), ..query.plan(self.batch(&board.facts()), self.tree_bytes) };
        let memory = go::memory(self.tree_bytes, query.params.max_visits)?;
        let stop = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&stop);
        taken.running.stop_with(move || hears.store(true, Ordering::SeqCst));
        let mut search = Search::new(Arc::clone(&self.networks.main), &memory, game, plan)?;
        let limit = Duration::try_from_secs_f64(query.params.max_time).ok();
        let is_over = || {
            stop.load(Ordering::SeqCst)
                || taken.running.is_ended()
                || limit.is_some_and(|limit| begun.elapsed() >= limit)
        };
        let mut due = Due::new(query.reports);
        let limits = Limits { visits: query.params.max_visits, playouts: query.params.max_playouts, step: STEP };
        let ran = search.run(&limits, |search| {
            search.said().iter().for_each(|line| self.output.aside(line));
            // There is something to tell once a move has been visited.
            if due.is_now()
                && search.spent() > 1
                && self.output.has_room()
                && let Some(line) = answer::line(query, turn, search, true)
            {
                self.output.say(line);
                due.said();
            }
            !is_over()
        });
        search.said().iter().for_each(|line| self.output.aside(line));
        if ran? == Stopped::Full {
            self.output.aside(&full(query, turn, search.spent()));
        }
        Ok(answer::line(query, turn, &search, false).map(Line::from))
    }
}

impl Searcher {
    /// The number of positions of this search that are evaluated together.
    fn batch(&self, facts: &Facts) -> usize {
        let QueueCounts { waiting, running, .. } = self.queue.counts();
        let suitable = || batches::suitable(facts, (waiting + running).min(self.parallel));
        if self.minibatch > 0 { self.minibatch } else { suitable() }
    }
}

/// A line for a person that says that the query asked for more visits than there is memory for.
fn full(query: &Query, turn: usize, visits: u64) -> String {
    let (id, most) = (quoted(&query.id), query.params.max_visits);
    format!("query {id}, turn {turn}: ended after {visits} of {most} visits, for its part of Hash is full")
}
