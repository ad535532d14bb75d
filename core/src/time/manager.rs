//! Any one of the time managers, together with the measured latency.

use super::alphazero::{AlphaZero, AlphaZeroParams};
use super::legacy::{Legacy, LegacyParams};
use super::simple::{Simple, SimpleParams};
use super::smooth::{Smooth, SmoothParams};
use super::{Clock, LAST_RESORT, Latency, Leader, Numbers, sane_ms};
use crate::OutOfRange;

/// A manager's name and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ManagerParams {
    /// `smooth(…)`.
    Smooth(SmoothParams),
    /// `legacy(…)`.
    Legacy(LegacyParams),
    /// `alphazero(…)`.
    AlphaZero(AlphaZeroParams),
    /// `simple(…)`.
    Simple(SimpleParams),
}

impl Default for ManagerParams {
    fn default() -> Self {
        Self::Smooth(SmoothParams::default())
    }
}

impl ManagerParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        match self {
            Self::Smooth(params) => params.check(),
            Self::Legacy(params) => params.check(),
            Self::AlphaZero(params) => params.check(),
            Self::Simple(params) => params.check(),
        }
    }

    /// The name in `--time-manager=NAME(…)`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Smooth(_) => "smooth",
            Self::Legacy(_) => "legacy",
            Self::AlphaZero(_) => "alphazero",
            Self::Simple(_) => "simple",
        }
    }
}

#[allow(clippy::large_enum_variant, reason = "a game has one, and nothing here allocates")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Kind {
    Smooth(Smooth),
    Legacy(Legacy),
    AlphaZero(AlphaZero),
    Simple(Simple),
}

/// The time manager of one player's clock in one game. A new game, or a position that does not continue the last one,
/// needs a new one; who plays both sides has one for each.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Manager {
    kind: Kind,
    latency: Latency,
    running: Option<Running>,
}

/// The move that is being thought about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Running {
    clock: Clock,
    limit_ms: f64,
    extension_ms: f64,
}

/// What a move is given, in milliseconds from its start.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Budget {
    /// What the manager's formulas give. May be negative for Lc0's managers whose formulas may be.
    pub budget_ms: f64,
    /// When to stop: the budget, at least a thousandth of the clock, but not after [`Clock::deadline_ms`].
    pub limit_ms: f64,
    /// How much later to stop while the search is unsettled ([`Manager::on_leader`]).
    pub extension_ms: f64,
    /// Smart pruning does not end a search before this time; other limits do. 0 in a hurry.
    pub floor_ms: f64,
    /// True if there is no time to wait for a playout, provided that the tree has an answer.
    pub in_hurry: bool,
    /// Every number in the computation of the budget, by name.
    pub numbers: Numbers,
}

impl Default for Manager {
    fn default() -> Self {
        Self::of(Kind::Smooth(Smooth::default()))
    }
}

impl Manager {
    /// The manager at the start of a game.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(params: ManagerParams) -> Result<Self, OutOfRange> {
        Ok(Self::of(match params {
            ManagerParams::Smooth(params) => Kind::Smooth(Smooth::new(params)?),
            ManagerParams::Legacy(params) => Kind::Legacy(Legacy::new(params)?),
            ManagerParams::AlphaZero(params) => Kind::AlphaZero(AlphaZero::new(params)?),
            ManagerParams::Simple(params) => Kind::Simple(Simple::new(params)?),
        }))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, latency: Latency::default(), running: None }
    }

    /// What the manager has learnt so far, by name.
    pub fn learnt(&self) -> Numbers {
        let mut numbers = Numbers::default();
        match &self.kind {
            Kind::Smooth(smooth) => numbers.add(&smooth.learnt()),
            Kind::Legacy(legacy) => numbers.add(&[("spared_ms", legacy.spared_ms())]),
            Kind::AlphaZero(_) | Kind::Simple(_) => {}
        }
        numbers.add(&[("lag_ms", self.latency.lag_ms()), ("late_ms", self.latency.late_ms())]);
        numbers
    }

    /// Nodes per second for smart pruning, if the manager measures them.
    pub fn nps(&self) -> Option<f64> {
        match &self.kind {
            Kind::Smooth(smooth) => Some(smooth.nps()),
            _ => None,
        }
    }

    /// Starts a move, with `reused_visits` visits in its tree ([`Search::visits`](crate::search::Search::visits)).
    /// Learns the result of the last move from the clock and the tree.
    ///
    /// `clock.overhead_ms` is what the user has set; if the measured lag is longer, it is used instead.
    /// `clock.stall_ms`, `clock.move_cost_ms` and `clock.spare_ms` are measured here and need not be set; if they are
    /// set, the larger value of the two is used.
    pub fn on_move_start(&mut self, clock: &Clock, reused_visits: u64) -> Budget {
        self.latency.on_move_start(clock);
        let clock = Clock { overhead_ms: self.latency.overhead_ms(clock.overhead_ms), ..*clock };
        let clock = &Clock {
            stall_ms: self.latency.stall_ms().max(sane_ms(clock.stall_ms)),
            move_cost_ms: self.latency.move_cost_ms().max(sane_ms(clock.move_cost_ms)),
            spare_ms: self.latency.spare_ms(&clock).max(sane_ms(clock.spare_ms)),
            ..clock
        };
        let mut budget = self.ask(clock, reused_visits);
        let least_ms = sane_ms(clock.base_ms) * LAST_RESORT;
        budget.in_hurry = clock.unspared_ms() == 0.0;
        if budget.in_hurry {
            budget.floor_ms = 0.0;
        }
        budget.limit_ms = budget.budget_ms.max(least_ms).min(clock.deadline_ms());
        // The extension may have been measured from a budget below the limit.
        budget.extension_ms = budget.extension_ms.min(clock.deadline_ms() - budget.limit_ms);
        budget.numbers.add(&[
            ("lag_ms", self.latency.lag_ms()),
            ("late_ms", self.latency.late_ms()),
            ("move_cost_ms", clock.move_cost_ms),
            ("spare_ms", clock.spare_ms),
            ("overhead_ms", clock.overhead_ms),
            ("stall_ms", clock.stall_ms),
            ("deadline_ms", clock.deadline_ms()),
            ("limit_ms", budget.limit_ms),
        ]);
        self.running = Some(Running { clock: *clock, limit_ms: budget.limit_ms, extension_ms: budget.extension_ms });
        budget
    }

    /// Says that the clock was set since the last move, so that it tells nothing of what that move cost: because the
    /// same position is searched again, for instance, or because a clock has a cap.
    pub fn clock_was_set(&mut self) {
        self.latency.clock_was_set();
    }

    fn ask(&mut self, clock: &Clock, reused_visits: u64) -> Budget {
        let mut budget = Budget::default();
        match &mut self.kind {
            Kind::Smooth(smooth) => {
                let its = smooth.on_move_start(clock, reused_visits);
                (budget.budget_ms, budget.extension_ms) = (its.budget_ms, its.extension_ms);
                budget.floor_ms = its.floor_ms;
                budget.numbers.add(&its.numbers());
            }
            Kind::Legacy(legacy) => {
                let its = legacy.on_move_start(clock);
                budget.budget_ms = its.budget_ms;
                budget.numbers.add(&its.numbers());
            }
            Kind::AlphaZero(alphazero) => {
                let its = alphazero.budget(clock);
                budget.budget_ms = its.budget_ms;
                budget.numbers.add(&its.numbers());
            }
            Kind::Simple(simple) => {
                let its = simple.on_move_start(clock);
                budget.budget_ms = its.budget_ms;
                budget.numbers.add(&its.numbers());
            }
        }
        budget
    }

    /// Reports that the search has run for `elapsed_ms` since the move's start and has added `new_playouts`: the
    /// playouts of this move. Each of these is a visit of the root, unless it only restores what a full tree has
    /// folded. (`reused_visits` are visits; the speed is that of playouts.)
    pub fn on_progress(&mut self, elapsed_ms: f64, new_playouts: u64) {
        if let Kind::Smooth(smooth) = &mut self.kind {
            smooth.on_progress(elapsed_ms, new_playouts);
        }
    }

    /// Reports the best move after `elapsed_ms`. Returns true if the search should go on beyond its budget, within the
    /// extension.
    pub fn on_leader(&mut self, elapsed_ms: f64, leader: Leader) -> bool {
        match &mut self.kind {
            Kind::Smooth(smooth) => smooth.on_leader(elapsed_ms, leader),
            _ => false,
        }
    }

    /// Ends the move, `used_ms` after its start; the search has added `new_playouts`. Does nothing if no move was
    /// started.
    pub fn on_move_end(&mut self, used_ms: f64, new_playouts: u64) {
        let Some(Running { clock, limit_ms, extension_ms }) = self.running.take() else { return };
        let mut limit_ms = limit_ms;
        match &mut self.kind {
            Kind::Smooth(smooth) => {
                limit_ms += if smooth.is_extended() { extension_ms } else { 0.0 };
                smooth.on_move_end(used_ms, new_playouts);
            }
            Kind::Legacy(legacy) => legacy.on_move_end(used_ms),
            Kind::AlphaZero(_) | Kind::Simple(_) => {}
        }
        self.latency.on_move_end(&clock, used_ms, used_ms - limit_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::latency::STALL_MS;
    use quickcheck::{TestResult, quickcheck};

    fn all() -> [ManagerParams; 4] {
        [
            ManagerParams::default(),
            ManagerParams::Legacy(LegacyParams::default()),
            ManagerParams::AlphaZero(AlphaZeroParams::default()),
            ManagerParams::Simple(SimpleParams::default()),
        ]
    }

    fn clock(base_ms: f64) -> Clock {
        Clock { base_ms, overhead_ms: 50.0, ply: 40, ..Clock::default() }
    }

    #[test]
    fn every_manager_gives_its_numbers_and_its_result_among_them() {
        for params in all() {
            let budget = Manager::new(params).unwrap().on_move_start(&clock(60_000.0), 100);
            assert_eq!(budget.numbers.get("budget_ms"), Some(budget.budget_ms), "{}", params.name());
            assert_eq!(budget.numbers.get("limit_ms"), Some(budget.limit_ms), "{}", params.name());
            // The last one fits: none was left out.
            assert_eq!(budget.numbers.iter().last().map(|(name, _)| name), Some("limit_ms"));
            let mut names = budget.numbers.iter().map(|(name, _)| name).collect::<std::vec::Vec<_>>();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }

    /// Without an overhead there is a lag all the same: it is learnt in the first moves.
    #[test]
    fn a_long_game_without_an_overhead_is_not_lost_by_lag() {
        for (base_ms, lag_ms) in [(10_000.0, 5.0), (60_000.0, 15.0), (180_000.0, 100.0)] {
            let (mut manager, mut left_ms) = (Manager::default(), base_ms);
            for ply in (0..240).step_by(2) {
                let budget = manager.on_move_start(&Clock { base_ms: left_ms, ply, ..Clock::default() }, 0);
                manager.on_move_end(budget.limit_ms, 1000);
                left_ms -= budget.limit_ms + lag_ms;
                assert!(left_ms > 0.0, "lost with {lag_ms} ms of lag at ply {ply}");
            }
        }
    }

    /// The moves until then are known, and so is what they cost.
    #[test]
    fn a_clock_that_is_filled_again_soon_is_no_hurry() {
        for params in all() {
            let (mut manager, mut left_ms) = (Manager::new(params).unwrap(), 60_000.0);
            for ply in (0..40).step_by(2) {
                manager.on_move_start(&Clock { ply, ..clock(left_ms) }, 0);
                manager.on_move_end(100.0, 100);
                left_ms -= 100.0 + 30.0;
            }
            let late = |moves_to_go| Clock { ply: 200, moves_to_go, ..clock(2000.0) };
            assert!(manager.clone().on_move_start(&late(None), 0).in_hurry, "{}", params.name());
            let Budget { limit_ms, in_hurry, .. } = manager.on_move_start(&late(Some(5)), 0);
            assert!(!in_hurry && limit_ms > 10.0, "{}: {limit_ms}", params.name());
        }
    }

    #[test]
    fn smooth_explains_as_smooth_does() {
        let ours = Manager::default().on_move_start(&clock(60_000.0), 100);
        let with_stall = Clock { stall_ms: STALL_MS, ..clock(60_000.0) };
        let its = Smooth::default().budget(&with_stall, 100);
        assert_eq!(ours.numbers.get("budget_seed_ms"), Some(its.budget_seed_ms));
        assert_eq!((ours.limit_ms, ours.extension_ms, ours.floor_ms), (its.budget_ms, its.extension_ms, its.floor_ms));
    }

    /// A budget far below the least time may have an extension up to the deadline.
    #[test]
    fn limit_and_extension_end_before_the_deadline() {
        let params = SmoothParams {
            init_timeuse: 1e4,
            min_move_budget: 0.0,
            reserve: 0.9995,
            max_extension: 1e9,
            max_move_budget: 1.0,
            ..SmoothParams::default()
        };
        let mut smooth = Manager::new(ManagerParams::Smooth(params)).unwrap();
        let budget = smooth.on_move_start(&Clock { base_ms: 1e6, overhead_ms: 50.0, ..Clock::default() }, 0);
        let deadline_ms = budget.numbers.get("deadline_ms").unwrap();
        assert!(budget.budget_ms < budget.limit_ms && budget.extension_ms > 0.9 * deadline_ms, "{budget:?}");
        assert!(budget.limit_ms + budget.extension_ms <= deadline_ms, "{budget:?}");
    }

    #[test]
    fn a_negative_budget_is_the_least_time() {
        let mut legacy = Manager::new(ManagerParams::Legacy(LegacyParams::default())).unwrap();
        let budget = legacy.on_move_start(&clock(20.0), 0);
        assert_eq!((budget.budget_ms, budget.limit_ms), (-30.0, 0.02));
    }

    #[test]
    fn lag_that_exceeds_the_overhead_replaces_it() {
        let mut manager = Manager::default();
        manager.on_move_start(&clock(60_000.0), 0);
        manager.on_move_end(1000.0, 100);
        let budget = manager.on_move_start(&clock(58_920.0), 0);
        assert_eq!((budget.numbers.get("lag_ms"), budget.numbers.get("overhead_ms")), (Some(80.0), Some(80.0)));
        assert_eq!(budget.numbers.get("base_ms"), Some(58_840.0));
    }

    /// As [`Manager::on_move_start`] says.
    #[test]
    fn of_what_is_measured_and_what_is_set_the_larger_counts() {
        let names = ["stall_ms", "move_cost_ms", "spare_ms"];
        let budget = |set_ms| {
            let mut manager = Manager::default();
            manager.on_move_start(&clock(60_000.0), 0);
            manager.on_move_end(1000.0, 100);
            let set = Clock { stall_ms: set_ms, move_cost_ms: set_ms, spare_ms: set_ms, ..clock(58_880.0) };
            manager.on_move_start(&set, 0).numbers
        };
        let measured = budget(0.0);
        // The lag of 120 ms counts as twice the overhead, in a mean with five moves without any; and that much is kept
        // for each of a hundred moves.
        for (name, expected) in names.into_iter().zip([STALL_MS, 100.0 / 6.0, 100.0 * 100.0 / 6.0]) {
            assert!((measured.get(name).unwrap() - expected).abs() < 1e-9, "{name}: {:?}", measured.get(name));
        }
        let (less, more) = (budget(1.0), budget(5000.0));
        for name in names {
            assert_eq!((less.get(name), more.get(name)), (measured.get(name), Some(5000.0)), "{name}");
        }
    }

    #[test]
    fn times_without_an_end_are_no_numbers_of_a_budget() {
        for ms in [f64::INFINITY, f64::NAN, -1.0] {
            let clock = Clock { stall_ms: ms, move_cost_ms: ms, spare_ms: ms, ..clock(60_000.0) };
            let budget = Manager::default().on_move_start(&clock, 0);
            for name in ["stall_ms", "move_cost_ms", "base_ms"] {
                assert!(budget.numbers.get(name).unwrap().is_finite(), "{name} of {ms}");
            }
        }
    }

    #[test]
    fn a_search_that_ended_late_moves_the_deadline() {
        let mut manager = Manager::default();
        let first = manager.on_move_start(&clock(60_000.0), 0);
        assert_eq!(first.numbers.get("stall_ms"), Some(STALL_MS));
        manager.on_move_end(first.limit_ms + 700.0, 100);
        let second = manager.on_move_start(&clock(50_000.0), 0);
        assert!((second.numbers.get("stall_ms").unwrap() - 700.0).abs() < 1e-6);
        // An extension is no delay.
        let mut manager = Manager::default();
        let first = manager.on_move_start(&clock(60_000.0), 0);
        let contested = Leader { mv: 1, q: 0.0, contested: true };
        assert!(manager.on_leader(first.limit_ms, contested));
        manager.on_move_end(first.limit_ms + 700.0, 100);
        let second = manager.on_move_start(&clock(50_000.0), 0);
        assert_eq!(second.numbers.get("stall_ms"), Some(STALL_MS));
    }

    #[test]
    fn only_smooth_follows_the_search() {
        let contested = Leader { mv: 1, q: 0.0, contested: true };
        for params in all() {
            let mut manager = Manager::new(params).unwrap();
            manager.on_move_start(&clock(60_000.0), 0);
            manager.on_progress(1000.0, 500);
            let is_smooth = params.name() == "smooth";
            assert_eq!((manager.nps().is_some(), manager.on_leader(1.0, contested)), (is_smooth, is_smooth));
        }
    }

    #[test]
    fn a_move_that_was_never_started_teaches_nothing() {
        for params in all() {
            let mut manager = Manager::new(params).unwrap();
            manager.on_progress(1000.0, 50);
            manager.on_move_end(1000.0, 50);
            assert_eq!(manager, Manager::new(params).unwrap());
        }
    }

    quickcheck! {
        /// Whatever the GUI sends: a limit above 0 while there is time, not after the deadline, and with the extension
        /// not after it either.
        fn a_limit_fits_the_clock(moves: std::vec::Vec<(f64, f64, u32, Option<u32>, u64, f64)>) -> TestResult {
            for params in all() {
                let mut manager = Manager::new(params).unwrap();
                for &(base_ms, increment_ms, ply, moves_to_go, nodes, used_ms) in &moves {
                    let clock = Clock { base_ms, increment_ms, moves_to_go, ply, ..clock(0.0) };
                    let budget = manager.on_move_start(&clock, nodes);
                    let deadline_ms = budget.numbers.get("deadline_ms").unwrap();
                    let fits = (budget.limit_ms > 0.0 || sane_ms(base_ms) == 0.0)
                        && budget.limit_ms <= deadline_ms
                        && budget.limit_ms + budget.extension_ms <= deadline_ms * (1.0 + 1e-12)
                        && budget.floor_ms <= budget.limit_ms
                        && budget.numbers.iter().all(|(_, number)| number.is_finite());
                    if !fits {
                        return TestResult::error(std::format!("{budget:?}"));
                    }
                    manager.on_move_end(used_ms, nodes);
                }
            }
            TestResult::passed()
        }
    }
}
