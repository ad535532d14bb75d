//! The time manager `smooth`: every move's tree should hold the same number of nodes, and the game should use up its
//! time.
//!
//! The clock is turned into nodes with the speed of the search, the nodes are shared out over the moves left, what the
//! reused tree already holds is taken off, and the rest is turned back into time. The speed, the part of a tree that is
//! reused and the part of a budget that is used are guessed at first, then learnt by [`exponential_decay`]. The last
//! two learn at a pace counted in average moves, so that a row of instant moves teaches little.
//!
//! Source: Lc0's description of its pull request 1195, called the seed document here. What that text leaves open is
//! decided as follows:
//! * the overhead is taken off the clock before anything is computed from it;
//! * moves to go replace the estimate if they are fewer;
//! * there is at least one move left, this one;
//! * "current nps" is the speed since the previous report, so that the result does not depend on how often reports
//!   come.
//!
//! [`SmoothBudget::budget_seed_ms`] is what the text alone gives, with what has been learnt from earlier searches. Five
//! things are added to it, and if they are switched off ([`SmoothParams::is_plain`]), a game is played by the text
//! alone:
//! * a floor, so that a large reused tree does not cause an instant move;
//! * a reserve: a part of the clock that only a search that is [unsettled](super::unrest) may use;
//! * moves left as the network or the pieces on the board tell them, if they are known;
//! * a pace, which makes up for searches that took less or more than their share; and the time that moves are measured
//!   to cost beside their budgets;
//! * the latest moment to stop, so that an evaluator that stalls does not cost the game.
//!
//! A search that is held up, by a driver that hangs or a machine that sleeps, says nothing of the next ones: no speed
//! is learnt from it, and what it took beyond its limit does not count as use of a budget. Only the seed document's
//! time use, which affects nothing but `budget_seed_ms`, is learnt from it as that text says.

mod budget;
mod params;
#[cfg(test)]
mod tests;

pub use budget::{Share, SmoothBudget};
pub use params::SmoothParams;

use super::decay::exponential_decay;
use super::latency::{LONGEST_LAG_MS, STALL_MS};
use super::unrest::{Leader, Unrest};
use super::{Clock, sane_ms};
use crate::OutOfRange;
use budget::Guesses;

/// What has been learnt in one game. A new game, or a position that does not continue the last one, needs a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Smooth {
    params: SmoothParams,
    known: Guesses,
    unrest: Unrest,
    running: Option<Running>,
    previous: Option<Ended>,
}

/// The move that is being thought about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Running {
    budget: SmoothBudget,
    reused_nodes: u64,
    /// Nodes per second, as guessed when the move began.
    nps: f64,
    /// How much longer than its limit the move may last.
    stall_ms: f64,
    /// Time and nodes at the last report of progress.
    elapsed_ms: f64,
    new_nodes: u64,
    /// True if the budget was used up and the search went on.
    is_extended: bool,
}

impl Running {
    /// When the search of this move should end.
    fn limit_ms(&self) -> f64 {
        let SmoothBudget { budget_ms, extension_ms, .. } = self.budget;
        budget_ms + if self.is_extended { extension_ms } else { 0.0 }
    }

    /// A search that ended this late, with this few nodes, was held up by something else than its evaluator.
    fn is_held_up(&self, used_ms: f64, new_nodes: u64) -> bool {
        let is_late = used_ms - self.limit_ms() > (HELD_UP * self.stall_ms).min(LONGEST_LAG_MS);
        is_late && (new_nodes as f64) < HELD_SPEED * self.nps * used_ms / 1000.0
    }
}

/// The last move that was played, until the next one starts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Ended {
    total_nodes: u64,
    /// The time that it took, in average moves.
    moves: f64,
}

/// The pace stays between a half and twice the plain one.
const MOST_PACE: f64 = 2.0;
/// A move that took longer counts as this many average moves: a reserve was used, or a search stalled.
const MOST_AHEAD: f64 = 3.0;

/// A search was held up if it ended after its limit by more than this many times the stall that there is room for. An
/// evaluator whose batches take that long is not such a case, because the room grows with them.
const HELD_UP: f64 = 5.0;
/// A search that was held up also made less than this part of the nodes that it should have made in its time; otherwise
/// it was late, but at work.
const HELD_SPEED: f64 = 0.5;

/// The least speed: a search that is stuck must not bring it down to 0, because the budget is divided by it.
const SLOWEST_NPS: f64 = 1e-3;

impl Default for Smooth {
    fn default() -> Self {
        Self::start(SmoothParams::default())
    }
}

impl Smooth {
    /// The state at the start of a game.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(params: SmoothParams) -> Result<Self, OutOfRange> {
        params.check()?;
        Ok(Self::start(params))
    }

    fn start(params: SmoothParams) -> Self {
        let timeuse = params.init_timeuse.max(params.min_timeuse);
        let known = Guesses {
            nps: params.init_nps,
            tree_reuse: params.init_tree_reuse.min(params.max_tree_reuse),
            timeuse,
            regular_timeuse: timeuse,
            pace: 1.0,
        };
        Self { params, known, unrest: Unrest::default(), running: None, previous: None }
    }

    /// The parameters that the manager was made with.
    pub fn params(&self) -> &SmoothParams {
        &self.params
    }

    /// Nodes per second, as guessed so far; smart pruning uses it too.
    pub fn nps(&self) -> f64 {
        self.known.nps
    }

    /// The part of a tree that the next move starts with, as guessed so far.
    pub fn tree_reuse(&self) -> f64 {
        self.known.tree_reuse
    }

    /// The part of the seed document's budgets that is used, as guessed so far.
    pub fn timeuse(&self) -> f64 {
        self.known.timeuse
    }

    /// All the guesses so far, by name.
    pub fn learnt(&self) -> [(&'static str, f64); 5] {
        let Guesses { nps, tree_reuse, timeuse, regular_timeuse, pace } = self.known;
        [
            ("nps", nps),
            ("tree_reuse", tree_reuse),
            ("timeuse", timeuse),
            ("regular_timeuse", regular_timeuse),
            ("pace", pace),
        ]
    }

    /// The budget of a move that starts with `reused_nodes` in its tree. This call learns nothing and starts nothing.
    pub fn budget(&self, clock: &Clock, reused_nodes: u64) -> SmoothBudget {
        SmoothBudget::new(&self.params, &self.known, clock, reused_nodes)
    }

    /// Starts a move, with `reused_nodes` in its tree: learns the tree reuse from that and gives the move its budget.
    pub fn on_move_start(&mut self, clock: &Clock, reused_nodes: u64) -> SmoothBudget {
        self.learn_tree_reuse(reused_nodes);
        self.unrest.on_move_start();
        let budget = self.budget(clock, reused_nodes);
        self.running = Some(Running {
            budget,
            reused_nodes,
            nps: self.known.nps,
            stall_ms: sane_ms(clock.stall_ms).max(STALL_MS),
            elapsed_ms: 0.0,
            new_nodes: 0,
            is_extended: false,
        });
        budget
    }

    /// Reports that the search has run for `elapsed_ms` since the move's start and has added `new_nodes`. Learns the
    /// speed.
    ///
    /// A report that is not later than the previous one changes nothing; its nodes count in the next report.
    pub fn on_progress(&mut self, elapsed_ms: f64, new_nodes: u64) {
        let Some(running) = &mut self.running else { return };
        let step_ms = elapsed_ms - running.elapsed_ms;
        if step_ms.is_nan() || step_ms <= 0.0 {
            return;
        }
        let current = new_nodes.saturating_sub(running.new_nodes) as f64 / step_ms * 1000.0;
        let rate = self.params.nps_update_rate;
        self.known.nps = exponential_decay(self.known.nps, current, rate, step_ms / 1000.0).max(SLOWEST_NPS);
        (running.elapsed_ms, running.new_nodes) = (elapsed_ms, new_nodes);
    }

    /// Reports the best move after `elapsed_ms`. Returns true if the search should go on beyond its budget.
    pub fn on_leader(&mut self, elapsed_ms: f64, leader: Leader) -> bool {
        let Some(running) = &mut self.running else { return false };
        self.unrest.on_leader(elapsed_ms, leader);
        let is_unsettled = self.unrest.is_unsettled(elapsed_ms, &self.params.unrest);
        running.is_extended |=
            is_unsettled && running.budget.extension_ms > 0.0 && elapsed_ms >= running.budget.budget_ms;
        is_unsettled
    }

    /// Whether the running move has gone beyond its budget.
    pub fn is_extended(&self) -> bool {
        self.running.is_some_and(|running| running.is_extended)
    }

    /// Ends the move, after `used_ms`; the search has added `new_nodes`. Learns the speed and the time use.
    ///
    /// Does nothing if no move was started.
    pub fn on_move_end(&mut self, used_ms: f64, new_nodes: u64) {
        self.on_progress(used_ms, new_nodes);
        let used_ms = sane_ms(used_ms);
        let Some(running) = self.running.take() else { return };
        let is_held_up = running.is_held_up(used_ms, new_nodes);
        if is_held_up && !self.params.is_plain() {
            self.known.nps = running.nps;
        }
        let SmoothBudget { seed, regular, budget_seed_ms, budget_ms, .. } = running.budget;
        let moves = |used_ms: f64, avg_move_ms: f64| if avg_move_ms > 0.0 { used_ms / avg_move_ms } else { 0.0 };
        let total_nodes = running.reused_nodes.saturating_add(new_nodes);
        self.previous = Some(Ended { total_nodes, moves: moves(used_ms, seed.avg_move_ms) });
        let params = &self.params;
        let learn = |timeuse: &mut f64, used: f64, moves: f64| {
            *timeuse = exponential_decay(*timeuse, used, params.timeuse_update_rate, moves).max(params.min_timeuse);
        };
        // If the budget was 0, nothing can be said about its use.
        if budget_seed_ms > 0.0 {
            learn(&mut self.known.timeuse, used_ms / budget_seed_ms, moves(used_ms, seed.avg_move_ms));
        }
        if budget_ms > 0.0 {
            // What came out of the reserve was not part of the budget, nor was what a held-up search lost.
            let spent_ms = if is_held_up { running.limit_ms() } else { used_ms };
            let used = if running.is_extended || is_held_up { 1.0 } else { used_ms / budget_ms };
            learn(&mut self.known.regular_timeuse, used, moves(spent_ms, regular.avg_move_ms));
        }
        if regular.avg_move_ms > 0.0 {
            let behind = 1.0 - moves(used_ms, regular.avg_move_ms).min(MOST_AHEAD);
            let pace = self.known.pace * libm::exp2(params.pace_rate * behind);
            self.known.pace = pace.clamp(1.0 / MOST_PACE, MOST_PACE);
        }
    }

    fn learn_tree_reuse(&mut self, nodes_now: u64) {
        let Some(previous) = self.previous.take() else { return };
        if previous.total_nodes == 0 {
            return;
        }
        let reused = nodes_now as f64 / previous.total_nodes as f64;
        let rate = self.params.tree_reuse_update_rate;
        let guess = exponential_decay(self.known.tree_reuse, reused, rate, previous.moves);
        self.known.tree_reuse = guess.min(self.params.max_tree_reuse);
    }
}
