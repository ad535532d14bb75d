//! The time manager `smooth`: every move's tree should hold the same number of nodes, and the game should use its time.
//!
//! The clock is turned into nodes with the speed of the search, the nodes are shared out over the moves left, what the
//! reused tree already holds is taken off, and the rest is turned back into time. The speed, the part of a tree that is
//! reused and the part of a budget that is used are guessed at first, then learnt by [`exponential_decay`]. The last two
//! learn at a pace counted in average moves, so that a row of instant moves teaches little.
//!
//! Source: Lc0's description of its pull request 1195. What that text leaves open is decided here:
//! * the overhead is taken off the clock before anything is computed from it;
//! * moves to go replace the estimate where they are fewer;
//! * at least one move is left, this one;
//! * "current nps" is the speed since the report before, so that the result does not depend on how often reports come;
//! * a floor under the budget ([`SmoothParams::min_move_budget`]) keeps a well reused tree from causing an instant move.

use super::decay::exponential_decay;
use super::{Clock, MovesLeft, sane_ms};

/// The parameters, under their names in `--time-manager=smooth(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothParams {
    /// `init-tree-reuse`: first guess of the part of a tree that the next move starts with. In [0, 1).
    pub init_tree_reuse: f64,
    /// `max-tree-reuse`: the guess never goes above this. In [0, 1).
    pub max_tree_reuse: f64,
    /// `tree-reuse-update-rate`: average moves after which the guess has gone half of the way. Above 0.
    pub tree_reuse_update_rate: f64,
    /// `init-nps`: first guess of the nodes per second. Above 0.
    pub init_nps: f64,
    /// `nps-update-rate`: seconds of search after which the guess has gone half of the way. Above 0.
    pub nps_update_rate: f64,
    /// `init-timeuse`: first guess of the part of a budget that is used. Above 0.
    pub init_timeuse: f64,
    /// `min-timeuse`: the guess never goes below this. Above 0.
    pub min_timeuse: f64,
    /// `timeuse-update-rate`: average moves after which the guess has gone half of the way. Above 0.
    pub timeuse_update_rate: f64,
    /// `max-move-budget`: part of the clock that one move may be given. In (0, 1].
    pub max_move_budget: f64,
    /// `min-move-budget`, not in Lc0: a budget is at least this part of the average move's time, within
    /// `max-move-budget`. 0 turns it off. At least 0.
    pub min_move_budget: f64,
    /// `mle-legacy(…)`: the estimator of the moves left.
    pub moves_left: MovesLeft,
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
            min_move_budget: 0.1,
            moves_left: MovesLeft::default(),
        }
    }
}

impl SmoothParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let fraction = |x: f64| (0.0..1.0).contains(&x);
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let MovesLeft::Legacy(legacy) = self.moves_left;
        for (name, value, fits, expected) in [
            ("init-tree-reuse", self.init_tree_reuse, fraction(self.init_tree_reuse), "in [0, 1)"),
            ("max-tree-reuse", self.max_tree_reuse, fraction(self.max_tree_reuse), "in [0, 1)"),
            ("tree-reuse-update-rate", self.tree_reuse_update_rate, positive(self.tree_reuse_update_rate), "above 0"),
            ("init-nps", self.init_nps, positive(self.init_nps), "above 0"),
            ("nps-update-rate", self.nps_update_rate, positive(self.nps_update_rate), "above 0"),
            ("init-timeuse", self.init_timeuse, positive(self.init_timeuse), "above 0"),
            ("min-timeuse", self.min_timeuse, positive(self.min_timeuse), "above 0"),
            ("timeuse-update-rate", self.timeuse_update_rate, positive(self.timeuse_update_rate), "above 0"),
            (
                "max-move-budget",
                self.max_move_budget,
                self.max_move_budget > 0.0 && self.max_move_budget <= 1.0,
                "in (0, 1]",
            ),
            (
                "min-move-budget",
                self.min_move_budget,
                self.min_move_budget >= 0.0 && self.min_move_budget.is_finite(),
                "at least 0",
            ),
            ("mle-legacy midpoint", legacy.midpoint, positive(legacy.midpoint), "above 0"),
            // Below 0.01 the estimate overflows.
            (
                "mle-legacy steepness",
                legacy.steepness,
                legacy.steepness >= 0.01 && legacy.steepness.is_finite(),
                "at least 0.01",
            ),
        ] {
            if !fits {
                return Err(OutOfRange { name, value, expected });
            }
        }
        Ok(())
    }
}

/// A parameter of a time manager that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The parameter's name as the user writes it.
    pub name: &'static str,
    /// What was given.
    pub value: f64,
    /// What is accepted, to follow "must be".
    pub expected: &'static str,
}

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} must be {}, not {}", self.name, self.expected, self.value)
    }
}

impl core::error::Error for OutOfRange {}

/// A move's budget and every number on the way to it, in the order of the computation. Times are in milliseconds, nodes
/// may be fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// The clock less the overhead.
    pub base_ms: f64,
    /// What a move adds to the clock.
    pub increment_ms: f64,
    /// Moves left: the estimate, or the moves to go where they are fewer. At least 1.
    pub moves_left: f64,
    /// Nodes per second, as guessed so far.
    pub nps: f64,
    /// Part of a tree that the next move starts with, as guessed so far.
    pub tree_reuse: f64,
    /// Part of a budget that is used, as guessed so far.
    pub timeuse: f64,
    /// Time for the rest of the game: base + moves left × increment.
    pub game_ms: f64,
    /// Time of an average move: game time ÷ moves left.
    pub avg_move_ms: f64,
    /// New nodes in the rest of the game: game time × nps.
    pub game_nodes: f64,
    /// New nodes of an average move: game nodes ÷ moves left.
    pub avg_new_nodes: f64,
    /// Nodes in the tree at the end of an average move: new nodes ÷ (1 − tree reuse).
    pub avg_total_nodes: f64,
    /// Nodes in the tree now.
    pub reused_nodes: f64,
    /// Nodes that this move is to add: total − reused, at least 0.
    pub target_new_nodes: f64,
    /// Time that these nodes take: new nodes ÷ nps.
    pub target_ms: f64,
    /// Budget before the cap: target ÷ time use, since a search often ends before its budget does.
    pub uncapped_ms: f64,
    /// The most that one move may take: `max-move-budget` × base.
    pub cap_ms: f64,
    /// The budget by the seed document's formulas alone: the smaller of the two above.
    pub budget_seed_ms: f64,
    /// The least that one move is given: `min-move-budget` × average move, within the cap.
    pub floor_ms: f64,
    /// The budget: the larger of the two above. Never more than `base_ms`. 0 only where the clock holds no more than
    /// the overhead (or with the floor off); such a move is still played after a playout.
    pub budget_ms: f64,
}

impl Budget {
    /// Each number with its name, in the order of the computation.
    pub fn numbers(&self) -> [(&'static str, f64); 19] {
        [
            ("base_ms", self.base_ms),
            ("increment_ms", self.increment_ms),
            ("moves_left", self.moves_left),
            ("nps", self.nps),
            ("tree_reuse", self.tree_reuse),
            ("timeuse", self.timeuse),
            ("game_ms", self.game_ms),
            ("avg_move_ms", self.avg_move_ms),
            ("game_nodes", self.game_nodes),
            ("avg_new_nodes", self.avg_new_nodes),
            ("avg_total_nodes", self.avg_total_nodes),
            ("reused_nodes", self.reused_nodes),
            ("target_new_nodes", self.target_new_nodes),
            ("target_ms", self.target_ms),
            ("uncapped_ms", self.uncapped_ms),
            ("cap_ms", self.cap_ms),
            ("budget_seed_ms", self.budget_seed_ms),
            ("floor_ms", self.floor_ms),
            ("budget_ms", self.budget_ms),
        ]
    }
}

/// What has been learnt in one game. A new game, or a position that does not continue the last one, needs a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smooth {
    params: SmoothParams,
    nps: f64,
    tree_reuse: f64,
    timeuse: f64,
    running: Option<Running>,
    previous: Option<Ended>,
}

/// The move that is being thought about.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Running {
    budget_ms: f64,
    avg_move_ms: f64,
    reused_nodes: u64,
    /// The last report of progress.
    elapsed_ms: f64,
    new_nodes: u64,
}

/// The last move that was played.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ended {
    total_nodes: u64,
    /// Its time, counted in average moves.
    moves: f64,
}

/// A search that is stuck must not drag the speed to 0: the budget divides by it.
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
        Self {
            params,
            nps: params.init_nps,
            tree_reuse: params.init_tree_reuse,
            timeuse: params.init_timeuse,
            running: None,
            previous: None,
        }
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &SmoothParams {
        &self.params
    }

    /// Nodes per second, as guessed so far; smart pruning uses it too.
    pub fn nps(&self) -> f64 {
        self.nps
    }

    /// Part of a tree that the next move starts with, as guessed so far.
    pub fn tree_reuse(&self) -> f64 {
        self.tree_reuse
    }

    /// Part of a budget that is used, as guessed so far.
    pub fn timeuse(&self) -> f64 {
        self.timeuse
    }

    /// The budget for a move that starts with `reused_nodes` in its tree. Learns nothing and starts nothing.
    pub fn budget(&self, clock: &Clock, reused_nodes: u64) -> Budget {
        let (nps, tree_reuse, timeuse) = (self.nps, self.tree_reuse, self.timeuse);
        let base_ms = clock.available_ms();
        let increment_ms = sane_ms(clock.increment_ms);
        let moves_left = self.moves_left(clock);

        let game_ms = base_ms + moves_left * increment_ms;
        let avg_move_ms = game_ms / moves_left;
        let game_nodes = game_ms / 1000.0 * nps;
        let avg_new_nodes = game_nodes / moves_left;
        let avg_total_nodes = avg_new_nodes / (1.0 - tree_reuse);
        let reused_nodes = reused_nodes as f64;
        let target_new_nodes = (avg_total_nodes - reused_nodes).max(0.0);
        let target_ms = target_new_nodes / nps * 1000.0;
        let uncapped_ms = target_ms / timeuse;
        let cap_ms = self.params.max_move_budget * base_ms;
        let budget_seed_ms = uncapped_ms.min(cap_ms);
        let floor_ms = (self.params.min_move_budget * avg_move_ms).min(cap_ms);
        let budget_ms = budget_seed_ms.max(floor_ms);
        Budget {
            base_ms,
            increment_ms,
            moves_left,
            nps,
            tree_reuse,
            timeuse,
            game_ms,
            avg_move_ms,
            game_nodes,
            avg_new_nodes,
            avg_total_nodes,
            reused_nodes,
            target_new_nodes,
            target_ms,
            uncapped_ms,
            cap_ms,
            budget_seed_ms,
            floor_ms,
            budget_ms,
        }
    }

    fn moves_left(&self, clock: &Clock) -> f64 {
        let estimate = self.params.moves_left.estimate(clock);
        let until_control = clock.moves_to_go.filter(|&moves| moves > 0).map_or(f64::INFINITY, f64::from);
        estimate.min(until_control).max(1.0)
    }

    /// A move starts, with `reused_nodes` in its tree. Learns the tree reuse from it and gives the move its budget.
    pub fn on_move_start(&mut self, clock: &Clock, reused_nodes: u64) -> Budget {
        self.learn_tree_reuse(reused_nodes);
        let budget = self.budget(clock, reused_nodes);
        self.running = Some(Running {
            budget_ms: budget.budget_ms,
            avg_move_ms: budget.avg_move_ms,
            reused_nodes,
            elapsed_ms: 0.0,
            new_nodes: 0,
        });
        budget
    }

    /// The search has run for `elapsed_ms` since the move's start and has added `new_nodes`. Learns the speed.
    ///
    /// A report that is no later than the one before changes nothing; its nodes count in the next.
    pub fn on_progress(&mut self, elapsed_ms: f64, new_nodes: u64) {
        let Some(running) = &mut self.running else { return };
        let step_ms = elapsed_ms - running.elapsed_ms;
        if step_ms.is_nan() || step_ms <= 0.0 {
            return;
        }
        let current = new_nodes.saturating_sub(running.new_nodes) as f64 / step_ms * 1000.0;
        self.nps = exponential_decay(self.nps, current, self.params.nps_update_rate, step_ms / 1000.0).max(SLOWEST_NPS);
        (running.elapsed_ms, running.new_nodes) = (elapsed_ms, new_nodes);
    }

    /// The move is played, after `used_ms`; the search has added `new_nodes`. Learns the speed and the time use.
    ///
    /// Without a move that was started it does nothing.
    pub fn on_move_end(&mut self, used_ms: f64, new_nodes: u64) {
        self.on_progress(used_ms, new_nodes);
        let used_ms = sane_ms(used_ms);
        let Some(running) = self.running.take() else { return };
        let moves = if running.avg_move_ms > 0.0 { used_ms / running.avg_move_ms } else { 0.0 };
        self.previous = Some(Ended { total_nodes: running.reused_nodes.saturating_add(new_nodes), moves });
        // Nothing can be said about the use of a budget of nothing.
        if running.budget_ms > 0.0 {
            let used = used_ms / running.budget_ms;
            let rate = self.params.timeuse_update_rate;
            self.timeuse = exponential_decay(self.timeuse, used, rate, moves).max(self.params.min_timeuse);
        }
    }

    fn learn_tree_reuse(&mut self, nodes_now: u64) {
        let Some(previous) = self.previous.take() else { return };
        if previous.total_nodes == 0 {
            return;
        }
        let reused = nodes_now as f64 / previous.total_nodes as f64;
        let rate = self.params.tree_reuse_update_rate;
        self.tree_reuse =
            exponential_decay(self.tree_reuse, reused, rate, previous.moves).min(self.params.max_tree_reuse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MleLegacy;
    use quickcheck::{TestResult, quickcheck};

    fn clock(base_ms: f64, increment_ms: f64, ply: u32) -> Clock {
        Clock { base_ms, increment_ms, ply, ..Clock::default() }
    }

    /// Within 0.1% of the reference, and 0 where the reference is 0.
    #[track_caller]
    fn assert_near(name: &str, got: f64, expected: f64) {
        assert!((got - expected).abs() <= expected.abs() * 1e-3, "{name}: {got}, expected {expected}");
    }

    /// A row: base, increment, ply, reused nodes; changed parameters; moves left, total, new, target ms, budget ms.
    type Row = ([u32; 4], fn(&mut SmoothParams), [f64; 5]);

    /// Vectors S1 to S15 of the spec "stoppers and time" §4.
    const ROWS: [Row; 15] = [
        ([300000, 0, 0, 0], |_| (), [51.500, 233009.709, 233009.709, 11650.485, 16643.551]),
        ([300000, 3000, 0, 0], |_| (), [51.500, 353009.709, 353009.709, 17650.485, 25214.979]),
        ([300000, 3000, 40, 0], |_| (), [31.520, 500715.769, 500715.769, 25035.788, 35765.412]),
        ([300000, 3000, 40, 100000], |_| (), [31.520, 500715.769, 400715.769, 20035.788, 28622.555]),
        ([60000, 1000, 20, 50000], |_| (), [41.500, 97831.113, 47831.113, 2391.556, 3416.508]),
        ([60000, 0, 80, 0], |_| (), [13.705, 175121.374, 175121.374, 8756.069, 12508.670]),
        ([10000, 100, 100, 30000], |p| p.init_nps = 5000.0, [9.117, 11968.781, 0.0, 0.0, 0.0]),
        ([3000, 0, 60, 0], |_| (), [21.829, 5497.384, 5497.384, 274.869, 392.670]),
        (
            [900000, 10000, 30, 400000],
            |p| (p.init_nps, p.init_tree_reuse, p.init_timeuse) = (40000.0, 0.6, 0.8),
            [36.503, 3465576.654, 3065576.654, 76639.416, 95799.270],
        ),
        (
            [120000, 1000, 120, 1000000],
            |p| p.init_nps = 50000.0,
            [7.761, 1646120.749, 646120.749, 12922.415, 18460.593],
        ),
        ([5000, 5000, 100, 0], |_| (), [9.117, 221937.563, 221937.563, 11096.878, 1500.000]),
        (
            [180000, 2000, 60, 20000],
            |p| p.moves_left = MovesLeft::Legacy(MleLegacy { midpoint: 50.0, steepness: 12.0 }),
            [20.018, 439674.481, 419674.481, 20983.724, 29976.749],
        ),
        (
            [60000, 600, 10, 0],
            |p| (p.init_tree_reuse, p.init_timeuse) = (0.7, 0.3),
            [46.500, 126021.505, 126021.505, 6301.075, 18000.000],
        ),
        ([60000, 600, 10, 0], |p| p.init_tree_reuse = 0.2, [46.500, 47258.065, 47258.065, 2362.903, 3375.576]),
        ([1000, 0, 200, 0], |_| (), [10.485, 3815.126, 3815.126, 190.756, 272.509]),
    ];

    #[test]
    fn reference_budgets() {
        for ([base, increment, ply, reused], change, [moves_left, total, new, target, seed]) in ROWS {
            let mut params = SmoothParams::default();
            change(&mut params);
            let clock = clock(base.into(), increment.into(), ply);
            let budget = Smooth::new(params).unwrap().budget(&clock, reused.into());
            assert_near("moves_left", budget.moves_left, moves_left);
            assert_near("avg_total_nodes", budget.avg_total_nodes, total);
            assert_near("target_new_nodes", budget.target_new_nodes, new);
            assert_near("target_ms", budget.target_ms, target);
            assert_near("budget_seed_ms", budget.budget_seed_ms, seed);
            // The floor shows only where the tree already holds more than the target, in the seventh row.
            let floored = if seed == 0.0 { 119.687 } else { seed };
            assert_near("budget_ms", budget.budget_ms, floored);
        }
    }

    #[test]
    fn budgets_before_the_cap() {
        let mut params = SmoothParams::default();
        let eleven = Smooth::new(params).unwrap().budget(&clock(5000.0, 5000.0, 100), 0);
        assert_near("S11", eleven.uncapped_ms, 15852.683);
        (params.init_tree_reuse, params.init_timeuse) = (0.7, 0.3);
        let thirteen = Smooth::new(params).unwrap().budget(&clock(60000.0, 600.0, 10), 0);
        assert_near("S13", thirteen.uncapped_ms, 21003.584);
    }

    #[test]
    fn reference_game() {
        // Clock, reused → tree reuse, time use, nps, budget, average move; then what was used and added. Spec §4.
        let mut smooth = Smooth::default();
        for (ply, base, reused, [tree_reuse, timeuse, nps, budget_ms, avg_move_ms], used_ms, new_nodes) in [
            (0, 180000.0, 0, [0.50000, 0.70000, 20000.00, 15700.42, 5495.15], 4000.0, 60000),
            (2, 178000.0, 30000, [0.50000, 0.67809, 17871.75, 13819.46, 5524.75], 6000.0, 180000),
            (4, 174000.0, 100000, [0.49592, 0.66041, 24720.87, 10441.71, 5515.15], 1500.0, 45000),
            (6, 174500.0, 70000, [0.49531, 0.65075, 25712.01, 12861.02, 5597.94], 15000.0, 450000),
        ] {
            let budget = smooth.on_move_start(&clock(base, 2000.0, ply), reused);
            assert_near("tree_reuse", budget.tree_reuse, tree_reuse);
            assert_near("timeuse", budget.timeuse, timeuse);
            assert_near("nps", budget.nps, nps);
            assert_near("budget_ms", budget.budget_ms, budget_ms);
            assert_near("budget_seed_ms", budget.budget_seed_ms, budget_ms);
            assert_near("avg_move_ms", budget.avg_move_ms, avg_move_ms);
            smooth.on_move_end(used_ms, new_nodes);
        }
    }

    #[test]
    fn the_guesses_keep_to_their_limits() {
        let mut smooth = Smooth::default();
        for _ in 0..50 {
            smooth.on_move_start(&clock(60000.0, 0.0, 0), 1_000_000);
            smooth.on_move_end(1.0, 10);
            // Long after the budget: the update has all the weight.
            smooth.on_move_start(&clock(60000.0, 0.0, 0), 1_000_000);
            smooth.on_move_end(30000.0, 10);
        }
        assert_eq!(smooth.tree_reuse(), 0.7);
        for _ in 0..2000 {
            smooth.on_move_start(&clock(60000.0, 0.0, 0), 0);
            smooth.on_move_end(500.0, 10);
        }
        assert_eq!(smooth.timeuse(), 0.3);
    }

    #[test]
    fn the_speed_does_not_depend_on_how_often_it_is_reported() {
        let (mut once, mut often) = (Smooth::default(), Smooth::default());
        let clock = clock(60000.0, 0.0, 0);
        once.on_move_start(&clock, 0);
        often.on_move_start(&clock, 0);
        once.on_move_end(8000.0, 32000);
        for step in 1..=80 {
            often.on_progress(f64::from(step) * 100.0, step as u64 * 400);
            // The same moment again, and an earlier one: nothing to learn.
            often.on_progress(f64::from(step) * 100.0, step as u64 * 400 + 50);
            often.on_progress(f64::from(step) * 90.0 - 50.0, 0);
        }
        often.on_move_end(8000.0, 32000);
        assert!((once.nps() - often.nps()).abs() < 1e-6, "{} and {}", once.nps(), often.nps());
    }

    #[test]
    fn moves_to_go_count_where_they_are_fewer() {
        let left = |moves_to_go, ply| {
            let clock = Clock { moves_to_go, ..clock(60000.0, 0.0, ply) };
            Smooth::default().budget(&clock, 0).moves_left
        };
        assert_eq!(left(Some(10), 0), 10.0);
        assert_eq!(left(Some(1), 0), 1.0);
        assert_eq!(left(Some(0), 0), left(None, 0));
        assert_eq!(left(Some(60), 0), left(None, 0));
    }

    #[test]
    fn overhead_leaves_the_clock_first() {
        let with = Smooth::default().budget(&Clock { overhead_ms: 200.0, ..clock(60200.0, 0.0, 80) }, 0);
        let without = Smooth::default().budget(&clock(60000.0, 0.0, 80), 0);
        assert_eq!(with, without);
        let nothing = Smooth::default().budget(&Clock { overhead_ms: 200.0, ..clock(150.0, 5000.0, 80) }, 0);
        assert_eq!(nothing.budget_ms, 0.0);
    }

    #[test]
    fn what_the_gui_sends_becomes_finite_numbers() {
        let numbers = |clock| Smooth::default().budget(&clock, 0).numbers().map(|(_, number)| number);
        for odd in [f64::NAN, f64::NEG_INFINITY, -5.0] {
            assert_eq!(numbers(clock(odd, odd, 0)), numbers(clock(0.0, 0.0, 0)), "{odd}");
        }
        assert!(numbers(clock(f64::INFINITY, f64::INFINITY, 0)).iter().all(|number| number.is_finite()));
        // An estimate below one move: a move is being made.
        let moves_left = MovesLeft::Legacy(MleLegacy { midpoint: 50.0, steepness: 100.0 });
        let abrupt = Smooth::new(SmoothParams { moves_left, ..SmoothParams::default() }).unwrap();
        assert_eq!(abrupt.budget(&clock(1000.0, 0.0, 100), 0).moves_left, 1.0);
    }

    #[test]
    fn a_move_that_says_nothing_teaches_nothing() {
        // No time at all: neither a use of the budget, nor an age counted in average moves.
        let mut smooth = Smooth::default();
        smooth.on_move_start(&clock(0.0, 0.0, 0), 0);
        smooth.on_move_end(100.0, 1000);
        smooth.on_move_start(&clock(0.0, 0.0, 2), 0);
        assert_eq!((smooth.timeuse(), smooth.tree_reuse()), (0.7, 0.5));
        // A tree that stayed empty.
        let mut smooth = Smooth::default();
        smooth.on_move_start(&clock(60000.0, 0.0, 0), 0);
        smooth.on_move_end(1000.0, 0);
        smooth.on_move_start(&clock(60000.0, 0.0, 2), 500);
        assert_eq!(smooth.tree_reuse(), 0.5);
        // A move that was never started.
        let mut smooth = Smooth::default();
        smooth.on_progress(1000.0, 50);
        smooth.on_move_end(1000.0, 50);
        assert_eq!(smooth, Smooth::default());
    }

    #[test]
    fn a_search_that_is_stuck_leaves_a_budget() {
        let mut smooth = Smooth::default();
        smooth.on_move_start(&clock(60000.0, 0.0, 0), 0);
        smooth.on_progress(1e9, 0);
        let budget = smooth.budget(&clock(60000.0, 0.0, 0), 0);
        assert_eq!(budget.nps, SLOWEST_NPS);
        // Without a reused tree the speed cancels out.
        assert_near("budget_ms", budget.budget_ms, Smooth::default().budget(&clock(60000.0, 0.0, 0), 0).budget_ms);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let error = |params| Smooth::new(params).unwrap_err();
        let one = error(SmoothParams { max_tree_reuse: 1.0, ..SmoothParams::default() });
        assert_eq!(one, OutOfRange { name: "max-tree-reuse", value: 1.0, expected: "in [0, 1)" });
        assert_eq!(error(SmoothParams { init_nps: f64::NAN, ..SmoothParams::default() }).name, "init-nps");
        let flat = MovesLeft::Legacy(MleLegacy { midpoint: 50.0, steepness: 0.0 });
        assert_eq!(error(SmoothParams { moves_left: flat, ..SmoothParams::default() }).name, "mle-legacy steepness");
    }

    #[test]
    fn names_and_numbers_agree() {
        let budget = Smooth::default().budget(&clock(60000.0, 600.0, 10), 7);
        let find = |wanted| budget.numbers().into_iter().find(|(name, _)| *name == wanted).map(|(_, number)| number);
        assert_eq!(find("reused_nodes"), Some(7.0));
        assert_eq!(find("budget_seed_ms"), Some(budget.budget_seed_ms));
        assert_eq!(find("budget_ms"), Some(budget.budget_ms));
    }

    quickcheck! {
        /// Whatever the GUI sends and however the search behaved: a number, not below the floor, not above the clock.
        fn a_budget_fits_the_clock(moves: std::vec::Vec<(f64, f64, u32, Option<u32>, u64, f64)>) -> TestResult {
            let mut smooth = Smooth::default();
            for (base_ms, increment_ms, ply, moves_to_go, nodes, used_ms) in moves {
                let clock = Clock { base_ms, increment_ms, moves_to_go, ply, overhead_ms: used_ms / 100.0 };
                let budget = smooth.on_move_start(&clock, nodes);
                let fits = budget.budget_ms >= budget.floor_ms && budget.budget_ms <= clock.available_ms();
                if !fits {
                    return TestResult::error(std::format!("{budget:?}"));
                }
                smooth.on_progress(used_ms / 2.0, nodes / 3);
                smooth.on_move_end(used_ms, nodes);
            }
            TestResult::passed()
        }
    }
}
