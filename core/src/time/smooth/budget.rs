//! The formulas of `smooth`: from the clock to a budget.

use super::SmoothParams;
use crate::time::{Clock, LAST_RESORT, sane_ms};

/// What the manager has learnt by the time when a budget is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Guesses {
    pub nps: f64,
    pub tree_reuse: f64,
    /// The part of the seed document's budgets that was used.
    pub timeuse: f64,
    /// The part of the budgets given that was used.
    pub regular_timeuse: f64,
    /// The factor of the budgets given.
    pub pace: f64,
}

/// One computation of a move's share of the time: the seed document's formulas, in their order. Times are in
/// milliseconds, nodes may be fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Share {
    /// Time on the clock that is shared out.
    pub base_ms: f64,
    /// Moves to share it with, this one included. At least 1.
    pub moves_left: f64,
    /// The part of a budget that is used, as guessed so far.
    pub timeuse: f64,
    /// Time for the rest of the game: base + moves left × increment, less what the moves cost if that is taken into
    /// account.
    pub game_ms: f64,
    /// Time of an average move: game time ÷ moves left.
    pub avg_move_ms: f64,
    /// New nodes in the rest of the game: game time × nps.
    pub game_nodes: f64,
    /// New nodes of an average move: game nodes ÷ moves left.
    pub avg_new_nodes: f64,
    /// Nodes in the tree at the end of an average move: new nodes ÷ (1 − tree reuse).
    pub avg_total_nodes: f64,
    /// Nodes that this move should add: total − reused, at least 0.
    pub target_new_nodes: f64,
    /// Time that these nodes take: new nodes ÷ nps.
    pub target_ms: f64,
    /// The budget before any limit: target ÷ time use, since a search often ends before its budget does.
    pub uncapped_ms: f64,
}

impl Share {
    fn new(base_ms: f64, increment_ms: f64, moves_left: f64, reused_nodes: f64, timeuse: f64, known: &Guesses) -> Self {
        let game_ms = (base_ms + moves_left * increment_ms).max(0.0);
        let avg_move_ms = game_ms / moves_left;
        let game_nodes = game_ms / 1000.0 * known.nps;
        let avg_new_nodes = game_nodes / moves_left;
        let avg_total_nodes = avg_new_nodes / (1.0 - known.tree_reuse);
        let target_new_nodes = (avg_total_nodes - reused_nodes).max(0.0);
        let target_ms = target_new_nodes / known.nps * 1000.0;
        let uncapped_ms = target_ms / timeuse;
        Self {
            base_ms,
            moves_left,
            timeuse,
            game_ms,
            avg_move_ms,
            game_nodes,
            avg_new_nodes,
            avg_total_nodes,
            target_new_nodes,
            target_ms,
            uncapped_ms,
        }
    }
}

/// A move's budget and every number in its computation. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SmoothBudget {
    /// What a move adds to the clock.
    pub increment_ms: f64,
    /// Nodes per second, as guessed so far.
    pub nps: f64,
    /// The part of a tree that the next move starts with, as guessed so far.
    pub tree_reuse: f64,
    /// Nodes in the tree now.
    pub reused_nodes: f64,
    /// This move's share by the seed document: of the whole clock, with the moves left by `mle-legacy`.
    pub seed: Share,
    /// The most that one move is given: `max-move-budget` × the clock less the overhead.
    pub cap_ms: f64,
    /// The budget by the seed document's formulas alone: its share within the cap.
    pub budget_seed_ms: f64,
    /// Time that only unsettled searches may use: `reserve` × the clock less the overhead.
    pub reserve_ms: f64,
    /// This move's share without the reserve, with the best estimate of the moves left and what moves are measured to
    /// cost; the seed document's share if nothing is added to that ([`SmoothParams::is_plain`]).
    pub regular: Share,
    /// Factor that makes up for moves which took less, or more, than an average move's time.
    pub pace: f64,
    /// The most that this move may take: the cap, or the latest moment to stop if that comes first.
    pub ceiling_ms: f64,
    /// The least that this move is given: `min-move-budget` × average move, within the ceiling.
    pub floor_ms: f64,
    /// The budget: the regular share times the pace, between floor and ceiling. 0 only if the clock is (or if the floor
    /// is off); even then the move is played after one playout.
    pub budget_ms: f64,
    /// What an unsettled search may take beyond the budget, within the ceiling.
    pub extension_ms: f64,
}

impl SmoothBudget {
    pub(super) fn new(params: &SmoothParams, known: &Guesses, clock: &Clock, reused_nodes: u64) -> Self {
        let base_ms = clock.available_ms();
        let increment_ms = sane_ms(clock.increment_ms);
        let reused_nodes = reused_nodes as f64;
        let cap_ms = params.max_move_budget * base_ms;
        let share = |base_ms, increment_ms, moves_left, timeuse| {
            Share::new(base_ms, increment_ms, clock.moves_left(moves_left), reused_nodes, timeuse, known)
        };
        let seed = share(base_ms, increment_ms, params.moves_left.legacy.estimate(clock.ply), known.timeuse);

        let reserve_ms = params.reserve * base_ms;
        let regular_base_ms = (clock.unspared_ms() - reserve_ms).max(0.0);
        let moves_left = params.moves_left.estimate(clock);
        let regular = match params.is_plain() {
            true => seed,
            false => share(regular_base_ms, clock.net_increment_ms(), moves_left, known.regular_timeuse),
        };
        let last_resort_ms = sane_ms(clock.base_ms) * LAST_RESORT;
        let ceiling_ms = cap_ms.min(clock.deadline_ms()).max(last_resort_ms);
        let has_floor = params.min_move_budget > 0.0;
        let least_ms = (params.min_move_budget * regular.avg_move_ms).max(last_resort_ms);
        let floor_ms = if has_floor { least_ms.min(ceiling_ms) } else { 0.0 };
        let budget_ms = (regular.uncapped_ms * known.pace).min(ceiling_ms).max(floor_ms);
        Self {
            increment_ms,
            nps: known.nps,
            tree_reuse: known.tree_reuse,
            reused_nodes,
            seed,
            cap_ms,
            budget_seed_ms: seed.uncapped_ms.min(cap_ms),
            reserve_ms,
            regular,
            pace: known.pace,
            ceiling_ms,
            floor_ms,
            budget_ms,
            extension_ms: reserve_ms.min(params.max_extension * budget_ms).min(ceiling_ms - budget_ms),
        }
    }

    /// Each number with its name, in the order of the computation. The seed document's share has the plain names.
    pub fn numbers(&self) -> [(&'static str, f64); 30] {
        let Self { seed, regular, .. } = self;
        [
            ("base_ms", seed.base_ms),
            ("increment_ms", self.increment_ms),
            ("moves_left", seed.moves_left),
            ("nps", self.nps),
            ("tree_reuse", self.tree_reuse),
            ("timeuse", seed.timeuse),
            ("game_ms", seed.game_ms),
            ("avg_move_ms", seed.avg_move_ms),
            ("game_nodes", seed.game_nodes),
            ("avg_new_nodes", seed.avg_new_nodes),
            ("avg_total_nodes", seed.avg_total_nodes),
            ("reused_nodes", self.reused_nodes),
            ("target_new_nodes", seed.target_new_nodes),
            ("target_ms", seed.target_ms),
            ("uncapped_ms", seed.uncapped_ms),
            ("cap_ms", self.cap_ms),
            ("budget_seed_ms", self.budget_seed_ms),
            ("reserve_ms", self.reserve_ms),
            ("regular_base_ms", regular.base_ms),
            ("regular_moves_left", regular.moves_left),
            ("regular_timeuse", regular.timeuse),
            ("regular_avg_move_ms", regular.avg_move_ms),
            ("regular_avg_total_nodes", regular.avg_total_nodes),
            ("regular_target_new_nodes", regular.target_new_nodes),
            ("regular_uncapped_ms", regular.uncapped_ms),
            ("pace", self.pace),
            ("ceiling_ms", self.ceiling_ms),
            ("floor_ms", self.floor_ms),
            ("budget_ms", self.budget_ms),
            ("extension_ms", self.extension_ms),
        ]
    }
}
