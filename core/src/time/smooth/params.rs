//! The parameters of `smooth`.

use crate::range::{OutOfRange, Range, check_all};
use crate::time::MovesLeftEstimator;
use crate::time::unrest::UnrestParams;

/// The parameters, with their names in `--time-manager=smooth(…)`. The last six are not in the seed document.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SmoothParams {
    /// `init-tree-reuse`: first guess of the part of a tree that the next move starts with, at most `max-tree-reuse`.
    /// In [0, 1).
    pub init_tree_reuse: f64,
    /// `max-tree-reuse`: the guess never goes above this. In [0, 1).
    pub max_tree_reuse: f64,
    /// `tree-reuse-update-rate`: after this many average moves, the guess has gone half of the way. Above 0.
    pub tree_reuse_update_rate: f64,
    /// `init-nps`: first guess of the nodes per second. Above 0.
    pub init_nps: f64,
    /// `nps-update-rate`: after this many seconds of search, the guess has gone half of the way. Above 0.
    pub nps_update_rate: f64,
    /// `init-timeuse`: first guess of the part of a budget that is used, at least `min-timeuse`. Above 0.
    pub init_timeuse: f64,
    /// `min-timeuse`: the guess never goes below this. Above 0.
    pub min_timeuse: f64,
    /// `timeuse-update-rate`: after this many average moves, the guess has gone half of the way. Above 0.
    pub timeuse_update_rate: f64,
    /// `max-move-budget`: the part of the clock that one move may be given at most. In (0, 1].
    pub max_move_budget: f64,
    /// `mle-legacy(…)`, `mle-pieces(…)`, `mle-network(…)`: the estimators of the moves left.
    pub moves_left: MovesLeftEstimator,
    /// `min-move-budget`: a budget is at least this part of the average move's time, within `max-move-budget`. 0 turns
    /// it off. At least 0.
    pub min_move_budget: f64,
    /// `reserve`: a part of the clock that budgets leave alone. Searches that are unsettled when their budget is used
    /// up go on with it. In [0, 1).
    pub reserve: f64,
    /// `max-extension`: the most that such a search gets in addition, as a multiple of its budget. At least 0.
    pub max_extension: f64,
    /// `pace-rate`: how fast budgets are corrected if moves took less, or more, than an average move's time: after a
    /// move that took none of it, by a factor of two to this power. 0 turns it off. In [0, 1].
    pub pace_rate: f64,
    /// `value-drop` and `settle-time`: they decide which searches are unsettled. At least 0.
    pub unrest: UnrestParams,
}

impl Default for SmoothParams {
    fn default() -> Self {
        Self {
            init_tree_reuse: 0.5,
            max_tree_reuse: 0.7,
            tree_reuse_update_rate: 4.0,
            init_nps: 20000.0,
            nps_update_rate: 5.0,
            init_timeuse: 0.7,
            min_timeuse: 0.3,
            timeuse_update_rate: 10.0,
            max_move_budget: 0.3,
            moves_left: MovesLeftEstimator::default(),
            min_move_budget: 0.2,
            reserve: 0.1,
            max_extension: 1.0,
            pace_rate: 0.2,
            unrest: UnrestParams { value_drop: 0.1, settle_time: 0.25 },
        }
    }
}

impl SmoothParams {
    /// True if nothing is added to the seed document: no floor, no reserve, no pace, and moves left by the move number
    /// alone. Then the whole game's budgets are those of its formulas, up to the latest moment to stop.
    pub fn is_plain(&self) -> bool {
        let MovesLeftEstimator { pieces, network, .. } = self.moves_left;
        let estimates = pieces.is_some() || network.is_some();
        !estimates && [self.min_move_budget, self.reserve, self.pace_rate].iter().all(|addition| *addition == 0.0)
    }

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The name of the first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        check_all(&[
            ("init-tree-reuse", self.init_tree_reuse, Range::Fraction),
            ("max-tree-reuse", self.max_tree_reuse, Range::Fraction),
            ("tree-reuse-update-rate", self.tree_reuse_update_rate, Range::Positive),
            ("init-nps", self.init_nps, Range::Positive),
            ("nps-update-rate", self.nps_update_rate, Range::Positive),
            ("init-timeuse", self.init_timeuse, Range::Positive),
            ("min-timeuse", self.min_timeuse, Range::Positive),
            ("timeuse-update-rate", self.timeuse_update_rate, Range::Positive),
            ("max-move-budget", self.max_move_budget, Range::UpTo(1.0, "in (0, 1]")),
            ("min-move-budget", self.min_move_budget, Range::NotNegative),
            ("reserve", self.reserve, Range::Fraction),
            ("max-extension", self.max_extension, Range::NotNegative),
            ("pace-rate", self.pace_rate, Range::FromZeroTo(1.0, "in [0, 1]")),
            ("value-drop", self.unrest.value_drop, Range::NotNegative),
            ("settle-time", self.unrest.settle_time, Range::NotNegative),
        ])?;
        self.moves_left.check()
    }
}
