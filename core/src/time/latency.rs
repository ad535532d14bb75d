//! How late moves are, measured: what the GUI's clock charges beyond our own time, and by how much a search ends after
//! its limit.

use super::sane_ms;

/// The worst that was seen, which fades as moves go by without it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Worst {
    ms: f64,
}

/// After ten moves the worst case counts half.
const FADES_TO: f64 = 0.933;

impl Worst {
    fn see(&mut self, ms: f64) {
        self.ms = (self.ms * FADES_TO).max(ms);
    }
}

/// An evaluator may stall that long even if it never has: a driver that waits, a frequency that drops, a full disk.
pub const STALL_MS: f64 = 300.0;

/// A clock that lost more than this since our answer was not running for us: the game was paused or set up anew.
const LONGEST_LAG_MS: f64 = 10_000.0;

/// What was measured in one game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    lag: Worst,
    late: Worst,
    /// What the clock should show when the opponent has answered, before the lag.
    expected_ms: Option<f64>,
}

impl Latency {
    /// Time of each move that the GUI charges and we do not see, the worst of late: the way of `go` to us and of
    /// `bestmove` back.
    pub fn lag_ms(&self) -> f64 {
        self.lag.ms
    }

    /// Time by which a search ended after its limit, the worst of late.
    pub fn late_ms(&self) -> f64 {
        self.late.ms
    }

    /// The overhead to count with: what the user has set, or the lag if it is more.
    pub fn overhead_ms(&self, configured_ms: f64) -> f64 {
        sane_ms(configured_ms).max(self.lag.ms)
    }

    /// How much longer than its limit a move may last.
    pub fn stall_ms(&self) -> f64 {
        STALL_MS.max(self.late.ms)
    }

    /// A move starts, with `base_ms` on the clock.
    ///
    /// A clock that shows more than expected (a new time control, a GUI that forgives lag) says nothing.
    pub fn on_move_start(&mut self, base_ms: f64) {
        let Some(expected) = self.expected_ms.take() else { return };
        let lag = expected - sane_ms(base_ms);
        if (0.0..LONGEST_LAG_MS).contains(&lag) {
            self.lag.see(lag);
        }
    }

    /// The move that began with `base_ms` is played after `used_ms`, of which `late_ms` were after its limit; the clock
    /// then grows by `increment_ms`.
    pub fn on_move_end(&mut self, base_ms: f64, increment_ms: f64, used_ms: f64, late_ms: f64) {
        self.late.see(sane_ms(late_ms));
        self.expected_ms = Some(sane_ms(base_ms) - sane_ms(used_ms) + sane_ms(increment_ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_what_the_clock_lost_beside_our_own_time() {
        let mut latency = Latency::default();
        latency.on_move_start(60_000.0);
        latency.on_move_end(60_000.0, 1000.0, 2000.0, 0.0);
        latency.on_move_start(58_930.0);
        assert_eq!(latency.lag_ms(), 70.0);
        assert_eq!((latency.overhead_ms(50.0), latency.overhead_ms(200.0)), (70.0, 200.0));
        // A better move makes the worst one fade, by half after ten.
        for _ in 0..10 {
            latency.on_move_end(60_000.0, 0.0, 1000.0, 0.0);
            latency.on_move_start(59_000.0);
        }
        assert!((latency.lag_ms() - 35.0).abs() < 0.1, "{}", latency.lag_ms());
    }

    #[test]
    fn a_clock_that_was_set_says_nothing() {
        for shown in [100_000.0, 20_000.0, f64::NAN] {
            let mut latency = Latency::default();
            latency.on_move_end(60_000.0, 0.0, 1000.0, 0.0);
            latency.on_move_start(shown);
            assert_eq!(latency.lag_ms(), 0.0, "{shown}");
        }
    }

    #[test]
    fn a_search_that_ends_late_needs_more_room() {
        let mut latency = Latency::default();
        assert_eq!(latency.stall_ms(), STALL_MS);
        latency.on_move_end(60_000.0, 0.0, 5000.0, 800.0);
        assert_eq!((latency.stall_ms(), latency.late_ms()), (800.0, 800.0));
        latency.on_move_end(55_000.0, 0.0, 5000.0, f64::NAN);
        assert_eq!(latency.stall_ms(), 800.0 * FADES_TO);
    }
}
