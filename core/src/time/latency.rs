//! Measures how late moves are: what the GUI's clock charges beyond our own time, and by how much a search ends after
//! its limit.

use super::{Clock, LEAST_OVERHEAD_MS, sane_ms};

/// The worst value that was seen, which fades as moves without it go by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Worst {
    ms: f64,
}

/// The factor by which it fades with each move: after ten moves the worst case counts half.
const FADES_TO: f64 = 0.933;

impl Worst {
    fn see(&mut self, ms: f64) {
        self.ms = (self.ms * FADES_TO).max(ms);
    }
}

/// A mean over some of the last moves. It begins at 0, and needs a few moves to move away from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Mean {
    ms: f64,
    /// Weight of all that was seen.
    weight: f64,
}

/// Weight of the initial 0, in moves.
const DOUBT: f64 = 5.0;

impl Mean {
    fn see(&mut self, ms: f64) {
        self.weight = self.weight * FADES_TO + 1.0;
        self.ms += (ms - self.ms) / (self.weight + DOUBT);
    }
}

/// An evaluator may stall for this long even if it never has before: a driver that waits, a frequency that drops, a
/// full disk.
pub const STALL_MS: f64 = 300.0;

/// A clock that lost more than this since our answer was not running for our move: the game was paused or set up anew.
/// A search that ended later than this was not running either: the machine slept.
pub(super) const LONGEST_LAG_MS: f64 = 10_000.0;

/// The lag of a move is believed up to this part of the clock that is left: a longer one is more likely a clock that
/// was changed, and would leave a move without any time.
const MOST_BELIEVED: f64 = 0.25;

/// For how many moves beyond the expected end of the game the cost is kept.
const SPARE_MOVES: f64 = 100.0;
/// The largest part of the game's time that may be kept for these moves and for the overhead.
const MOST_SPARED: f64 = 0.05;

/// What the clock should show when the opponent has answered, before the lag.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Expected {
    ms: f64,
    /// What it showed when our move began, and the ply of that move.
    before_ms: f64,
    ply: u32,
}

/// What was measured in one game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Latency {
    lag: Worst,
    late: Worst,
    mean_lag: Mean,
    mean_late: Mean,
    /// The most time that the clock ever showed.
    most_ms: f64,
    expected: Option<Expected>,
}

impl Latency {
    /// Time of each move that the GUI charges and we do not see: the way of `go` to us and of `bestmove` back. It is
    /// the worst of the latest moves.
    pub fn lag_ms(&self) -> f64 {
        self.lag.ms
    }

    /// Time by which a search ended after its limit: the worst of the latest moves.
    pub fn late_ms(&self) -> f64 {
        self.late.ms
    }

    /// The overhead to use: what the user has set, or the lag if it is longer.
    pub fn overhead_ms(&self, configured_ms: f64) -> f64 {
        sane_ms(configured_ms).max(self.lag.ms)
    }

    /// Mean time that a move costs beside its budget: the lag, and the end of the last batch.
    pub fn move_cost_ms(&self) -> f64 {
        self.mean_lag.ms + self.mean_late.ms
    }

    /// Time to keep for a game that lasts longer than expected. Until a time control, the number of moves is known, and
    /// there is nothing to keep.
    pub fn spare_ms(&self, clock: &Clock) -> f64 {
        if clock.moves_to_go.is_some_and(|moves| moves > 0) {
            return 0.0;
        }
        let net = (self.move_cost_ms() - sane_ms(clock.increment_ms)).max(0.0);
        let most = self.most_ms * MOST_SPARED - 2.0 * sane_ms(clock.overhead_ms);
        (net * SPARE_MOVES).min(most).max(0.0)
    }

    /// How much longer than its limit a move may last.
    pub fn stall_ms(&self) -> f64 {
        STALL_MS.max(self.late.ms)
    }

    /// A move starts.
    ///
    /// Nothing is learnt from a clock that was set meanwhile, nor from that of another player, or after moves that were
    /// played without us (a GUI's book): the last move must be two plies back. A caller that does not know the ply says
    /// the same one each time. A clock that shows what it did before has not run: somebody looks at the same position
    /// again. One that shows a little more than expected was not charged for the lag.
    pub fn on_move_start(&mut self, clock: &Clock) {
        let base_ms = sane_ms(clock.base_ms);
        self.most_ms = self.most_ms.max(base_ms);
        let Some(expected) = self.expected.take() else { return };
        let is_next = matches!(clock.ply.wrapping_sub(expected.ply), 0 | 2) && base_ms != expected.before_ms;
        let lag = expected.ms - base_ms;
        if is_next && lag.abs() < LONGEST_LAG_MS {
            // (`clamp` has a panic in it.)
            let lag = lag.max(0.0).min(MOST_BELIEVED * base_ms);
            // A lag far longer than usual is a stall. Usual is the overhead that was set, or the lag seen before if the
            // user has set less.
            let usual = self.overhead_ms(clock.overhead_ms).max(LEAST_OVERHEAD_MS);
            self.lag.see(lag);
            self.mean_lag.see(lag.min(2.0 * usual));
        }
    }

    /// See [`Manager::clock_was_set`](super::Manager::clock_was_set).
    pub fn clock_was_set(&mut self) {
        self.expected = None;
    }

    /// The move that began with `clock` is played after `used_ms`, of which `late_ms` were after its limit.
    pub fn on_move_end(&mut self, clock: &Clock, used_ms: f64, late_ms: f64) {
        let late_ms = sane_ms(late_ms);
        if late_ms < LONGEST_LAG_MS {
            self.late.see(late_ms);
            // A search that ended early was not late. One that was later than this was held up by a stall, not by a
            // long batch, and stalls are rare.
            if late_ms > 0.0 {
                self.mean_late.see(late_ms.min(sane_ms(clock.overhead_ms) / 2.0));
            }
        }
        let before_ms = sane_ms(clock.base_ms);
        let ms = before_ms - sane_ms(used_ms) + sane_ms(clock.increment_ms);
        self.expected = Some(Expected { ms, before_ms, ply: clock.ply });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(base_ms: f64, increment_ms: f64) -> Clock {
        Clock { base_ms, increment_ms, overhead_ms: 50.0, ..Clock::default() }
    }

    /// A move that took `used_ms`, and after it a clock that shows `shown_ms`.
    fn play(latency: &mut Latency, used_ms: f64, late_ms: f64, shown_ms: f64) {
        latency.on_move_start(&clock(60_000.0, 1000.0));
        latency.on_move_end(&clock(60_000.0, 1000.0), used_ms, late_ms);
        latency.on_move_start(&clock(shown_ms, 1000.0));
    }

    /// An overhead of 0 is usually one that was not set.
    #[test]
    fn what_moves_cost_is_learnt_whatever_overhead_is_set() {
        for lag in [15.0, 100.0] {
            let (mut latency, mut base) = (Latency::default(), 60_000.0);
            for _ in 0..100 {
                let clock = Clock { overhead_ms: 0.0, ..clock(base, 0.0) };
                latency.on_move_start(&clock);
                latency.on_move_end(&clock, 300.0, 0.0);
                base -= 300.0 + lag;
            }
            assert!((latency.move_cost_ms() - lag).abs() < 0.05 * lag, "{lag}: {}", latency.move_cost_ms());
        }
    }

    #[test]
    fn lag_is_what_the_clock_lost_beside_our_own_time() {
        let mut latency = Latency::default();
        play(&mut latency, 2000.0, 0.0, 58_930.0);
        assert_eq!(latency.lag_ms(), 70.0);
        assert_eq!((latency.overhead_ms(50.0), latency.overhead_ms(200.0)), (70.0, 200.0));
        // A better move makes the worst one fade, by half after ten.
        for _ in 0..10 {
            play(&mut latency, 2000.0, 0.0, 59_000.0);
        }
        assert!((latency.lag_ms() - 35.0).abs() < 0.1, "{}", latency.lag_ms());
    }

    /// A GUI that gives lag back adds a little to the clock.
    #[test]
    fn a_lag_fades_while_none_is_charged() {
        for shown in [59_000.0, 59_005.0] {
            let mut latency = Latency::default();
            play(&mut latency, 2000.0, 0.0, 58_000.0);
            let (lag, cost) = (latency.lag_ms(), latency.move_cost_ms());
            for _ in 0..10 {
                play(&mut latency, 2000.0, 0.0, shown);
            }
            assert!((latency.lag_ms() / lag - 0.5).abs() < 0.01, "{shown}: {}", latency.lag_ms());
            assert!(latency.move_cost_ms() < 0.5 * cost, "{shown}: {}", latency.move_cost_ms());
        }
    }

    /// The clock of the other side, or ours after moves that were played without us.
    #[test]
    fn only_the_clock_of_the_next_move_tells_the_lag() {
        for (plies, lag) in [(0, 70.0), (1, 0.0), (2, 70.0), (3, 0.0), (4, 0.0)] {
            let mut latency = Latency::default();
            let at = |ply, base_ms| Clock { ply, ..clock(base_ms, 1000.0) };
            latency.on_move_start(&at(10, 60_000.0));
            latency.on_move_end(&at(10, 60_000.0), 2000.0, 0.0);
            latency.on_move_start(&at(10 + plies, 58_930.0));
            assert_eq!(latency.lag_ms(), lag, "{plies} plies later");
        }
    }

    #[test]
    fn a_clock_that_is_said_to_be_set_anew_tells_no_lag() {
        let mut latency = Latency::default();
        latency.on_move_start(&clock(20_000.0, 0.0));
        latency.on_move_end(&clock(20_000.0, 0.0), 2500.0, 0.0);
        latency.clock_was_set();
        latency.on_move_start(&clock(14_000.0, 0.0));
        assert_eq!(latency.lag_ms(), 0.0);
    }

    /// `stop`, and the same `go` once more.
    #[test]
    fn a_clock_that_has_not_run_says_nothing() {
        let mut latency = Latency::default();
        let clock = clock(60_000.0, 10_000.0);
        for _ in 0..3 {
            latency.on_move_start(&clock);
            latency.on_move_end(&clock, 1000.0, 0.0);
        }
        assert_eq!((latency.lag_ms(), latency.move_cost_ms()), (0.0, 0.0));
    }

    #[test]
    fn a_clock_that_was_set_says_nothing() {
        for shown in [100_000.0, 20_000.0, f64::NAN] {
            let mut latency = Latency::default();
            play(&mut latency, 2000.0, 0.0, shown);
            assert_eq!(latency.lag_ms(), 0.0, "{shown}");
        }
    }

    /// Somebody goes on with the same game and another clock, of three seconds.
    #[test]
    fn a_clock_that_was_set_to_little_leaves_time_for_a_move() {
        let mut latency = Latency::default();
        latency.on_move_start(&clock(10_000.0, 0.0));
        latency.on_move_end(&clock(10_000.0, 0.0), 500.0, 0.0);
        latency.on_move_start(&clock(3000.0, 0.0));
        assert_eq!(latency.lag_ms(), 750.0);
    }

    #[test]
    fn a_search_that_ends_late_needs_more_room() {
        let mut latency = Latency::default();
        assert_eq!(latency.stall_ms(), STALL_MS);
        play(&mut latency, 5000.0, 800.0, 56_000.0);
        assert_eq!((latency.stall_ms(), latency.late_ms()), (800.0, 800.0));
        play(&mut latency, 5000.0, f64::NAN, 56_000.0);
        assert_eq!(latency.stall_ms(), 800.0 * FADES_TO);
    }

    #[test]
    fn a_machine_that_slept_was_not_late() {
        let mut latency = Latency::default();
        play(&mut latency, 5000.0, 800.0, 56_000.0);
        let before = latency;
        // An hour, and the clock was given back.
        latency.on_move_end(&clock(60_000.0, 1000.0), 3_600_000.0, 3_595_000.0);
        assert_eq!((latency.stall_ms(), latency.move_cost_ms()), (before.stall_ms(), before.move_cost_ms()));
    }

    #[test]
    fn what_a_move_costs_is_believed_slowly() {
        let mut latency = Latency::default();
        play(&mut latency, 2000.0, 6.0, 59_000.0 - 12.0);
        assert_eq!(latency.move_cost_ms(), 18.0 / (1.0 + DOUBT));
        for _ in 0..100 {
            play(&mut latency, 2000.0, 6.0, 59_000.0 - 12.0);
        }
        assert!((latency.move_cost_ms() - 18.0).abs() < 0.1, "{}", latency.move_cost_ms());
        // One stall and one lag of seconds are no rule: they count as a batch and as two overheads.
        let before = latency.move_cost_ms();
        play(&mut latency, 2000.0, 300.0, 57_000.0);
        assert!(latency.move_cost_ms() - before < (25.0 + 100.0) / DOUBT);
    }

    #[test]
    fn a_longer_game_must_be_paid_for() {
        let mut latency = Latency::default();
        for _ in 0..100 {
            play(&mut latency, 2000.0, 6.0, 59_000.0 - 12.0);
        }
        let spare = |increment_ms| latency.spare_ms(&Clock { overhead_ms: 50.0, ..clock(0.0, increment_ms) });
        assert!((spare(0.0) / (100.0 * 18.0) - 1.0).abs() < 0.01, "{}", spare(0.0));
        assert!((spare(10.0) / (100.0 * 8.0) - 1.0).abs() < 0.01, "{}", spare(10.0));
        assert_eq!(spare(1000.0), 0.0);
        // But not with more than a part of the game's time.
        let mut quick = Latency { most_ms: 1000.0, ..latency };
        let after = |overhead_ms| Clock { overhead_ms, ..clock(0.0, 0.0) };
        assert_eq!((quick.spare_ms(&after(10.0)), quick.spare_ms(&after(50.0))), (30.0, 0.0));
        quick.on_move_start(&clock(4000.0, 0.0));
        assert_eq!(quick.spare_ms(&after(50.0)), 100.0);
        // Nor where the number of moves is known.
        let to_go = |moves| Clock { moves_to_go: Some(moves), ..after(50.0) };
        assert_eq!((quick.spare_ms(&to_go(5)), quick.spare_ms(&to_go(0))), (0.0, 100.0));
    }
}
