//! Counts of what the search does: in this game, in this move, and in windows of time.
//!
//! The windows last ⅛ s, ¼ s, ½ s, 1 s, 2 s … and each tells what happened in the last one of its length that is
//! complete. They are the digits of a binary counter. Time is cut into steps of ⅛ s; two steps make a window of ¼ s, two
//! of these one of ½ s, and so on. So the counts of every window are exact, the memory is fixed, no list of samples is
//! kept, and a step costs a few additions.

use core::ops::{Add, AddAssign};

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Playouts that reached backprop.
    pub playouts: u64,
    /// Answers of the evaluator.
    pub evaluations: u64,
    /// Descents that met a node in flight and were undone.
    pub collisions: u64,
    /// Playouts that ended at a terminal node.
    pub terminals: u64,
    /// Sum of the playouts' depths, the root counted as 1.
    pub depth_sum: u64,
}

impl Counts {
    const ZERO: Self = Self { playouts: 0, evaluations: 0, collisions: 0, terminals: 0, depth_sum: 0 };

    /// Mean depth of a playout, the root counted as 1; 0 without one.
    pub fn mean_depth(&self) -> f64 {
        if self.playouts == 0 { 0.0 } else { self.depth_sum as f64 / self.playouts as f64 }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            playouts: self.playouts.wrapping_add(other.playouts),
            evaluations: self.evaluations.wrapping_add(other.evaluations),
            collisions: self.collisions.wrapping_add(other.collisions),
            terminals: self.terminals.wrapping_add(other.terminals),
            depth_sum: self.depth_sum.wrapping_add(other.depth_sum),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Length of the shortest window in milliseconds: ⅛ s.
pub const STEP_MS: u32 = 125;
/// Number of windows: ⅛ s to 64 s.
pub const WINDOWS: usize = 10;

/// The counts of one search that plays a game. Needs no more memory for a long game than for a short one.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    game: Counts,
    current_move: Counts,
    windows: Windows,
}

impl Default for Stats {
    fn default() -> Self {
        Self::new()
    }
}

impl Stats {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self { game: Counts::ZERO, current_move: Counts::ZERO, windows: Windows::new() }
    }

    /// Forgets everything.
    pub fn start_game(&mut self) {
        *self = Self::new();
    }

    /// Forgets the last move's counts. The windows go on: how fast the search is does not change with the move.
    pub fn start_move(&mut self) {
        self.current_move = Counts::ZERO;
    }

    /// Adds what has happened since the last call. `now_ms` is read from any clock, the same one for every call.
    pub fn add(&mut self, now_ms: u64, counts: Counts) {
        self.windows.advance(step_of(now_ms));
        self.windows.unfinished += counts;
        self.game += counts;
        self.current_move += counts;
    }

    /// Since the game started.
    pub fn game(&self) -> Counts {
        self.game
    }

    /// Since the move started.
    pub fn current_move(&self) -> Counts {
        self.current_move
    }

    /// Every window, the shortest first: its length in milliseconds, and the counts of the last one of this length that
    /// was complete at `now_ms`. Before the first one is, the counts are 0.
    pub fn windows(&self, now_ms: u64) -> [(u32, Counts); WINDOWS] {
        let mut windows = self.windows;
        windows.advance(step_of(now_ms));
        core::array::from_fn(|k| (STEP_MS << k, windows.levels[k].last))
    }
}

fn step_of(now_ms: u64) -> u64 {
    now_ms / u64::from(STEP_MS)
}

#[derive(Clone, Copy, Debug)]
struct Windows {
    /// The step that is running, counted from the clock's zero.
    step: u64,
    /// What it has seen so far.
    unfinished: Counts,
    levels: [Level; WINDOWS],
}

/// The windows of one length. They start at multiples of their length on the clock.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The last one that is complete.
    last: Counts,
    /// The first half of the next longer one, where that is running.
    first_half: Counts,
}

impl Windows {
    const fn new() -> Self {
        let level = Level { last: Counts::ZERO, first_half: Counts::ZERO };
        Self { step: 0, unfinished: Counts::ZERO, levels: [level; WINDOWS] }
    }

    /// Finishes the steps before `to`. A clock that was set back changes nothing.
    fn advance(&mut self, to: u64) {
        // After twice the longest window every complete one lies in the silence.
        const ALL: u64 = 1 << WINDOWS;
        if to > self.step.saturating_add(ALL) {
            *self = Self { step: to, ..Self::new() };
        }
        while self.step < to {
            self.finish_step();
        }
    }

    /// Carries the finished step up, as a binary counter does.
    fn finish_step(&mut self) {
        let mut carried = core::mem::take(&mut self.unfinished);
        for (k, level) in self.levels.iter_mut().enumerate() {
            level.last = carried;
            let second_half = self.step >> k & 1 == 1;
            if !second_half {
                level.first_half = carried;
                break;
            }
            carried += level.first_half;
        }
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    fn playouts(playouts: u64) -> Counts {
        Counts { playouts, evaluations: playouts, depth_sum: 3 * playouts, ..Counts::default() }
    }

    #[test]
    fn by_game_and_by_move() {
        let mut stats = Stats::new();
        stats.start_game();
        stats.start_move();
        stats.add(1100, playouts(10));
        stats.add(1200, Counts { collisions: 2, terminals: 1, ..playouts(5) });
        assert_eq!(stats.current_move(), Counts { collisions: 2, terminals: 1, ..playouts(15) });
        assert_eq!(stats.current_move().mean_depth(), 3.0);
        stats.start_move();
        assert_eq!(stats.current_move(), Counts::default());
        assert_eq!(stats.current_move().mean_depth(), 0.0);
        stats.add(2100, playouts(1));
        assert_eq!((stats.current_move().playouts, stats.game().playouts), (1, 16));
        stats.start_game();
        assert_eq!(stats.game(), Counts::default());
    }

    #[test]
    fn at_a_steady_speed_every_window_shows_it() {
        let mut stats = Stats::new();
        stats.start_game();
        for ms in 0..130_000 {
            stats.add(ms, playouts(2));
        }
        for (length_ms, counts) in stats.windows(130_000) {
            assert_eq!(counts.playouts, 2 * u64::from(length_ms), "{length_ms} ms");
        }
    }

    #[test]
    fn silence_empties_the_short_windows_first() {
        let mut stats = Stats::new();
        stats.add(0, playouts(100));
        let seen = |now_ms| stats.windows(now_ms).map(|(_, counts)| counts.playouts);
        // Nothing is complete; then one step is; then a quarter of a second, whose second half was silent.
        assert_eq!(seen(124)[..3], [0, 0, 0]);
        assert_eq!(seen(125)[..3], [100, 0, 0]);
        assert_eq!(seen(250)[..3], [0, 100, 0]);
        assert_eq!(seen(500)[..3], [0, 0, 100]);
        assert_eq!(seen(1000)[..3], [0, 0, 0]);
        assert_eq!(seen(64_000)[9], 100);
        assert_eq!(seen(u64::MAX), [0; WINDOWS]);
    }

    #[test]
    fn a_clock_set_back_loses_nothing() {
        let mut stats = Stats::new();
        stats.start_game();
        stats.add(10_000, playouts(1));
        stats.add(5_000, playouts(1));
        assert_eq!(stats.windows(10_125)[0].1.playouts, 2);
    }

    quickcheck! {
        /// Against a list of all samples: the window of length L shows the last complete [n·L, (n + 1)·L).
        fn windows_agree_with_a_list(gaps: Vec<u16>) -> bool {
            let (mut stats, mut samples, mut now) = (Stats::new(), Vec::new(), 0);
            for (n, gap) in gaps.into_iter().enumerate() {
                // Gaps of all sizes, some of them longer than the longest window.
                now += if n % 7 == 0 { u64::from(gap) * 4 } else { u64::from(gap % 300) };
                stats.add(now, playouts(n as u64 + 1));
                samples.push((now, n as u64 + 1));
            }
            stats.windows(now).into_iter().all(|(length_ms, counts)| {
                let length_ms = u64::from(length_ms);
                let end = now / length_ms * length_ms;
                let window = end.saturating_sub(length_ms)..end;
                counts.playouts == samples.iter().filter(|(at, _)| window.contains(at)).map(|(_, n)| n).sum::<u64>()
            })
        }
    }
}
