//! Compares with the reference, and tests properties.

use super::*;
use crate::time::{MleLegacy, MovesLeftEstimator};
use quickcheck::{TestResult, quickcheck};

fn clock(base_ms: f64, increment_ms: f64, ply: u32) -> Clock {
    Clock { base_ms, increment_ms, ply, ..Clock::default() }
}

/// Checks that `got` is within 0.1% of the reference, and 0 if the reference is 0.
#[track_caller]
fn assert_near(name: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() <= expected.abs() * 1e-3, "{name}: {got}, expected {expected}");
}

/// The parameters with which `budget_ms` is the budget of the seed document.
fn without_our_own(params: SmoothParams) -> SmoothParams {
    SmoothParams { min_move_budget: 0.0, reserve: 0.0, ..params }
}

/// A row: base, increment, ply, reused nodes; what changes in the parameters; moves left, total, new, target ms, budget
/// ms.
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
    ([120000, 1000, 120, 1000000], |p| p.init_nps = 50000.0, [7.761, 1646120.749, 646120.749, 12922.415, 18460.593]),
    ([5000, 5000, 100, 0], |_| (), [9.117, 221937.563, 221937.563, 11096.878, 1500.000]),
    (
        [180000, 2000, 60, 20000],
        |p| p.moves_left = MovesLeftEstimator::by_number(MleLegacy { midpoint: 50.0, steepness: 12.0 }),
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
        assert_near("moves_left", budget.seed.moves_left, moves_left);
        assert_near("avg_total_nodes", budget.seed.avg_total_nodes, total);
        assert_near("target_new_nodes", budget.seed.target_new_nodes, new);
        assert_near("target_ms", budget.seed.target_ms, target);
        assert_near("budget_seed_ms", budget.budget_seed_ms, seed);
        let own = Smooth::new(without_our_own(params)).unwrap().budget(&clock, reused.into());
        assert_near("budget_ms", own.budget_ms, seed);
    }
}

#[test]
fn budgets_before_the_cap() {
    let mut params = SmoothParams::default();
    let eleven = Smooth::new(params).unwrap().budget(&clock(5000.0, 5000.0, 100), 0);
    assert_near("S11", eleven.seed.uncapped_ms, 15852.683);
    (params.init_tree_reuse, params.init_timeuse) = (0.7, 0.3);
    let thirteen = Smooth::new(params).unwrap().budget(&clock(60000.0, 600.0, 10), 0);
    assert_near("S13", thirteen.seed.uncapped_ms, 21003.584);
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
        assert_near("timeuse", budget.seed.timeuse, timeuse);
        assert_near("nps", budget.nps, nps);
        assert_near("budget_seed_ms", budget.budget_seed_ms, budget_ms);
        assert_near("avg_move_ms", budget.seed.avg_move_ms, avg_move_ms);
        smooth.on_move_end(used_ms, new_nodes);
    }
}

#[test]
fn without_additions_the_seed_plays_the_whole_game() {
    let additions_off = SmoothParams {
        moves_left: MovesLeftEstimator::by_number(MleLegacy::default()),
        pace_rate: 0.0,
        ..without_our_own(SmoothParams::default())
    };
    assert!(additions_off.is_plain() && !SmoothParams::default().is_plain());
    let (mut smooth, mut base_ms) = (Smooth::new(additions_off).unwrap(), 180_000.0);
    // Other losses of the clock, a search that was held up, and one that was short do not change the seed's budget.
    for (turn, (share_used, new_nodes)) in
        [(0.9, 60_000), (0.3, 90_000), (1.9, 40), (0.05, 900), (1.0, 70_000)].into_iter().enumerate()
    {
        let known = Clock {
            move_cost_ms: 300.0,
            spare_ms: 500.0,
            pieces: Some(20),
            network_plies: Some(30.0),
            ..clock(base_ms, 2000.0, 2 * turn as u32)
        };
        let budget = smooth.on_move_start(&known, 20_000 * turn as u64);
        assert_eq!(budget.budget_ms, budget.budget_seed_ms, "move {turn}");
        assert_eq!((budget.regular, budget.extension_ms), (budget.seed, 0.0), "move {turn}");
        let used_ms = share_used * budget.budget_ms;
        smooth.on_move_end(used_ms, new_nodes);
        base_ms += 2000.0 - used_ms;
    }
    // Only the latest moment to stop does.
    let late = Clock { spare_ms: 500.0, stall_ms: 300.0, ..clock(400.0, 0.0, 100) };
    let budget = smooth.budget(&late, 0);
    assert!(budget.budget_ms <= late.deadline_ms().max(400.0 * crate::time::LAST_RESORT), "{budget:?}");
}

#[test]
fn the_guesses_keep_to_their_limits() {
    let mut smooth = Smooth::default();
    for _ in 0..50 {
        smooth.on_move_start(&clock(60000.0, 0.0, 0), 1_000_000);
        smooth.on_move_end(1.0, 10);
        // The move ended long after the budget: the update has all the weight.
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
    // The clock leaves time for it: a search that is held up teaches no speed.
    let clock = clock(600_000.0, 0.0, 0);
    once.on_move_start(&clock, 0);
    often.on_move_start(&clock, 0);
    once.on_move_end(8000.0, 32000);
    for step in 1..=80 {
        often.on_progress(f64::from(step) * 100.0, step as u64 * 400);
        // Reports of the same moment and of an earlier one teach nothing.
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
        let budget = Smooth::default().budget(&clock, 0);
        assert_eq!(budget.seed.moves_left, budget.regular.moves_left);
        budget.seed.moves_left
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
    // A thousandth of the clock is left, since the overhead is a guess.
    assert_eq!((nothing.budget_seed_ms, nothing.floor_ms), (0.0, 0.15));
}

#[test]
fn what_the_gui_sends_becomes_finite_numbers() {
    let numbers = |clock| Smooth::default().budget(&clock, 0).numbers().map(|(_, number)| number);
    for odd in [f64::NAN, f64::NEG_INFINITY, -5.0] {
        assert_eq!(numbers(clock(odd, odd, 0)), numbers(clock(0.0, 0.0, 0)), "{odd}");
    }
    assert!(numbers(clock(f64::INFINITY, f64::INFINITY, 0)).iter().all(|number| number.is_finite()));
    // The estimate is below one move, but one move is being made.
    let moves_left = MovesLeftEstimator::by_number(MleLegacy { midpoint: 50.0, steepness: 100.0 });
    let abrupt = Smooth::new(SmoothParams { moves_left, ..SmoothParams::default() }).unwrap();
    assert_eq!(abrupt.budget(&clock(1000.0, 0.0, 100), 0).seed.moves_left, 1.0);
}

#[test]
fn a_move_that_says_nothing_teaches_nothing() {
    // No time at all passes: it is neither a use of the budget, nor an age that could be counted in average moves.
    let mut smooth = Smooth::default();
    smooth.on_move_start(&clock(0.0, 0.0, 0), 0);
    smooth.on_move_end(100.0, 1000);
    smooth.on_move_start(&clock(0.0, 0.0, 2), 0);
    assert_eq!((smooth.timeuse(), smooth.tree_reuse()), (0.7, 0.5));
    // The tree stays empty.
    let mut smooth = Smooth::default();
    smooth.on_move_start(&clock(60000.0, 0.0, 0), 0);
    smooth.on_move_end(1000.0, 0);
    smooth.on_move_start(&clock(60000.0, 0.0, 2), 500);
    assert_eq!(smooth.tree_reuse(), 0.5);
    // The move was never started.
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
    let flat = MovesLeftEstimator::by_number(MleLegacy { midpoint: 50.0, steepness: 0.0 });
    assert_eq!(error(SmoothParams { moves_left: flat, ..SmoothParams::default() }).name, "mle-legacy steepness");
}

#[test]
fn a_floor_under_a_budget_of_nothing() {
    // As in the seventh row, the tree already holds more than the target.
    let params = SmoothParams { init_nps: 5000.0, ..SmoothParams::default() };
    let clock = clock(10000.0, 100.0, 100);
    let budget = Smooth::new(params).unwrap().budget(&clock, 30000);
    assert_eq!(budget.budget_seed_ms, 0.0);
    assert_near("floor_ms", budget.floor_ms, budget.regular.avg_move_ms / 5.0);
    assert_eq!(budget.budget_ms, budget.floor_ms);
}

#[test]
fn the_reserve_is_no_part_of_a_budget() {
    let clock = clock(60000.0, 0.0, 20);
    let budget = Smooth::default().budget(&clock, 0);
    assert_eq!((budget.reserve_ms, budget.regular.base_ms), (6000.0, 54000.0));
    assert_near("budget_ms", budget.budget_ms, 0.9 * budget.budget_seed_ms);
    assert_eq!(budget.extension_ms, budget.budget_ms);
    // One move may take the whole reserve at most, and the cap holds as well.
    let longer = SmoothParams { max_extension: 9.0, ..SmoothParams::default() };
    assert_eq!(Smooth::new(longer).unwrap().budget(&clock, 0).extension_ms, budget.reserve_ms);
    let late = Smooth::default().budget(&Clock { ply: 120, ..clock }, 0);
    assert_eq!(late.extension_ms, late.ceiling_ms - late.budget_ms);
}

#[test]
fn what_the_reserve_gave_is_no_use_of_the_budget() {
    let leader = Leader { mv: 1, q: 0.0, contested: true };
    let run = |is_contested| {
        let mut smooth = Smooth::default();
        let budget_ms = smooth.on_move_start(&clock(60000.0, 0.0, 0), 0).budget_ms;
        let unsettled = smooth.on_leader(budget_ms, Leader { contested: is_contested, ..leader });
        assert_eq!((unsettled, smooth.is_extended()), (is_contested, is_contested));
        smooth.on_move_end(1.5 * budget_ms, 1000);
        smooth.known.regular_timeuse
    };
    let moves = 1.5 * Smooth::default().budget(&clock(60000.0, 0.0, 0), 0).budget_ms / (54000.0 / 51.5);
    assert_near("extended", run(true), exponential_decay(0.7, 1.0, 10.0, moves));
    assert_near("late", run(false), exponential_decay(0.7, 1.5, 10.0, moves));
}

/// Plays a game of 300 s + 3 s in which moves take 70% of their budgets, the eleventh `stall_ms` more, during which
/// `reports` reports are made. Returns the manager after that, the clock, and the number of nodes in the tree.
fn after_a_stall(stall_ms: f64, reports: u32) -> (Smooth, Clock, u64) {
    let (mut smooth, mut nodes) = (Smooth::default(), 0);
    let mut clock = Clock { overhead_ms: 50.0, stall_ms: STALL_MS, ..clock(300_000.0, 3000.0, 20) };
    for at in 0..11 {
        let search_ms = 0.7 * smooth.on_move_start(&clock, nodes).budget_ms;
        let new_nodes = (20.0 * search_ms) as u64;
        smooth.on_progress(search_ms, new_nodes);
        let held_ms = if at == 10 { stall_ms } else { 0.0 };
        for report in 0..reports {
            smooth.on_progress(search_ms + held_ms * f64::from(report) / f64::from(reports), new_nodes);
        }
        smooth.on_move_end(search_ms + held_ms, new_nodes);
        nodes = (nodes + new_nodes) / 2;
        clock = Clock { base_ms: clock.base_ms - search_ms + clock.increment_ms, ply: clock.ply + 2, ..clock };
    }
    (smooth, clock, nodes)
}

#[test]
fn a_stall_is_no_reason_to_hurry() {
    let (plain, clock, nodes) = after_a_stall(0.0, 0);
    let budget_ms = |smooth: &Smooth| smooth.budget(&clock, nodes).budget_ms;
    for (stall_ms, reports) in [(15_000.0, 0), (30_000.0, 0), (30_000.0, 100), (100_000.0, 0), (3_600_000.0, 10_000)] {
        let (stalled, ..) = after_a_stall(stall_ms, reports);
        assert_near("nps", stalled.nps(), 20_000.0);
        assert!(stalled.known.regular_timeuse < 0.75, "{stall_ms} ms: {:?}", stalled.known);
        // The pace counts the move as three average ones, and there is less time now.
        let part = budget_ms(&stalled) / budget_ms(&plain);
        assert!((0.5..1.0).contains(&part), "{stall_ms} ms: {part}, {:?}", stalled.known);
        // The seed document's time use has no upper bound.
        assert!(stalled.timeuse() > plain.timeuse());
    }
}

#[test]
fn what_takes_long_every_time_is_no_stall() {
    // A batch of four seconds, at a quarter of the speed that is guessed at first, is taken for a stall only the first
    // time.
    let mut smooth = Smooth::default();
    for stall_ms in [0.0, 4_000.0] {
        let budget_ms = smooth.on_move_start(&Clock { stall_ms, ..clock(60_000.0, 0.0, 0) }, 0).budget_ms;
        smooth.on_move_end(budget_ms + 4_000.0, ((budget_ms + 4_000.0) * 5.0) as u64);
        assert_eq!(smooth.nps() < 20_000.0, stall_ms > 0.0, "{stall_ms}");
    }
}

/// There is never room for a stall that long: the machine slept.
#[test]
fn who_slept_was_held_up_whatever_stalls_are_usual() {
    for (late_ms, is_held_up) in [(9_000.0, false), (11_000.0, true)] {
        let mut smooth = Smooth::default();
        let slow = Clock { stall_ms: 4_000.0, ..clock(60_000.0, 0.0, 0) };
        let budget_ms = smooth.on_move_start(&slow, 0).budget_ms;
        smooth.on_move_end(budget_ms + late_ms, 100);
        assert_eq!(smooth.nps() == SmoothParams::default().init_nps, is_held_up, "{late_ms}");
    }
}

#[test]
fn first_guesses_keep_to_the_limits_too() {
    let params = SmoothParams { init_tree_reuse: 0.99, init_timeuse: 0.01, ..SmoothParams::default() };
    let budget = Smooth::new(params).unwrap().budget(&clock(300_000.0, 0.0, 0), 0);
    assert_eq!((budget.tree_reuse, budget.seed.timeuse, budget.regular.timeuse), (0.7, 0.3, 0.3));
}

#[test]
fn a_stall_is_kept_from_the_last_moments() {
    let budget = |stall_ms| {
        let clock = Clock { moves_to_go: Some(1), stall_ms, ..clock(400.0, 0.0, 80) };
        Smooth::default().budget(&clock, 0)
    };
    assert_eq!((budget(0.0).budget_ms, budget(300.0).budget_ms), (120.0, 75.0));
    // A clock that can just afford the stall, and one that can't: not more than half of the overhead, for which the
    // least that counts is taken.
    assert_eq!((budget(389.0).budget_ms, budget(1000.0).budget_ms), (5.0, 5.0));
    assert_eq!(budget(1000.0).budget_seed_ms, 120.0);
}

#[test]
fn the_pace_makes_up_for_moves_that_took_less() {
    let clock = clock(60000.0, 0.0, 0);
    let after = |part: f64| {
        let mut smooth = Smooth::default();
        let average = smooth.on_move_start(&clock, 0).regular.avg_move_ms;
        smooth.on_move_end(part * average, 1000);
        smooth.known.pace
    };
    assert_eq!((after(1.0), after(0.0)), (1.0, libm::exp2(0.2)));
    assert_near("twice", after(2.0), libm::exp2(-0.2));
    // A move that took the reserve, or that stalled, counts as no more than three average ones.
    assert_eq!(after(3.0), after(9.0));
    let mut smooth = Smooth::default();
    for _ in 0..20 {
        smooth.on_move_start(&clock, 0);
        smooth.on_move_end(1.0, 1000);
    }
    assert_eq!(smooth.known.pace, MOST_PACE);
    let budget = smooth.budget(&clock, 0);
    assert_eq!(budget.budget_ms, (2.0 * budget.regular.uncapped_ms).min(budget.ceiling_ms));
    // The seed's budget has no pace.
    assert_eq!(budget.budget_seed_ms, budget.seed.uncapped_ms.min(budget.cap_ms));
}

#[test]
fn what_moves_cost_is_no_time_to_think() {
    let clock = clock(60000.0, 100.0, 0);
    let costly = Clock { move_cost_ms: 150.0, spare_ms: 1000.0, ..clock };
    let budget = Smooth::default().budget(&costly, 0);
    let left = 0.9 * 60000.0 - 1000.0;
    assert_near("regular_avg_move_ms", budget.regular.avg_move_ms, left / 51.5 - 50.0);
    assert_eq!(budget.seed, Smooth::default().budget(&clock, 0).seed);
    // If moves cost more than there is, the least budget is left.
    let hopeless = Smooth::default().budget(&Clock { move_cost_ms: 5000.0, ..clock }, 0);
    assert_eq!((hopeless.regular.avg_move_ms, hopeless.budget_ms), (0.0, 60.0));
}

#[test]
fn better_estimates_change_our_budget_not_the_seeds() {
    let clock = clock(60000.0, 0.0, 0);
    let plain = Smooth::default().budget(&clock, 0);
    let informed = Smooth::default().budget(&Clock { pieces: Some(2), ..clock }, 0);
    assert_eq!(informed.budget_seed_ms, plain.budget_seed_ms);
    assert_eq!((informed.seed.moves_left, informed.regular.moves_left), (51.5, 10.0));
    assert!(informed.budget_ms > plain.budget_ms);
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
    /// Whatever the GUI sends and however the search behaves, the budget is a number, not below the floor, not above
    /// the clock.
    fn a_budget_fits_the_clock(moves: std::vec::Vec<(f64, f64, u32, Option<u32>, u64, f64)>) -> TestResult {
        let mut smooth = Smooth::default();
        for (base_ms, increment_ms, ply, moves_to_go, nodes, used_ms) in moves {
            let clock = Clock {
                    base_ms,
                    increment_ms,
                    moves_to_go,
                    ply,
                    overhead_ms: used_ms / 100.0,
                    stall_ms: increment_ms,
                    move_cost_ms: used_ms,
                    spare_ms: increment_ms / 2.0,
                    pieces: moves_to_go,
                    network_plies: Some(used_ms),
                };
            let budget = smooth.on_move_start(&clock, nodes);
            let fits = budget.budget_ms >= budget.floor_ms && budget.budget_ms <= budget.ceiling_ms
                && budget.ceiling_ms <= clock.deadline_ms()
                && budget.extension_ms >= 0.0
                && budget.budget_ms + budget.extension_ms <= budget.ceiling_ms * (1.0 + 1e-12)
                && (budget.budget_ms > 0.0 || sane_ms(base_ms) == 0.0);
            if !fits {
                return TestResult::error(std::format!("{budget:?}"));
            }
            smooth.on_progress(used_ms / 2.0, nodes / 3);
            smooth.on_move_end(used_ms, nodes);
        }
        TestResult::passed()
    }
}
