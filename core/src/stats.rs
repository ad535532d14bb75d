//! Counts of what the search does: in this game, for this move, and in windows of time.
//!
//! The windows last ⅛ s, ¼ s, ½ s, 1 s, 2 s … They are the digits of a binary counter: time is cut into steps of ⅛ s;
//! two steps make a window of ¼ s, two of these one of ½ s, and so on. So the counts of every window are exact, the
//! memory is fixed, no list of samples is kept, and a step costs a few additions.
//!
//! A thread that works keeps [`Counts`] of its own, plain numbers, and hands them over now and then. The thread that
//! collects them adds them with [`Counts::plus`] and passes the sum to [`Stats::record`].

use crate::search::Event;

/// Number of classes of batch sizes: 1, 2–3, 4–7, …; the last class is everything from 2048 on.
pub const BATCH_SIZES: usize = 12;

/// The smallest and the largest batch of a class; the last class, and any number above it, has no largest.
///
/// ```
/// # use oncilla_core::stats::{BATCH_SIZES, batch_sizes};
/// assert_eq!([0, 1, BATCH_SIZES - 1].map(batch_sizes), [(1, Some(1)), (2, Some(3)), (2048, None)]);
/// ```
pub const fn batch_sizes(class: usize) -> (u64, Option<u64>) {
    const LAST: usize = BATCH_SIZES - 1;
    if class < LAST { (1 << class, Some((2 << class) - 1)) } else { (1 << LAST, None) }
}

/// Stages of a playout that a thread may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Stage {
    /// Gathering waits: as much is in flight as is allowed.
    Gather,
    /// Evaluation waits: no leaf has come.
    Evaluate,
    /// Backprop waits: no answer has come.
    Backprop,
}

impl Stage {
    /// Number of stages.
    pub const COUNT: usize = 3;
}

/// How often and how long threads waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Waits {
    /// How many waits there were.
    pub times: u64,
    /// How long they were, summed over all of them and all threads, in microseconds.
    pub micros: u64,
}

/// What is counted.
///
/// Counts of different threads, or of successive times, can be added with [`Counts::plus`] in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counts {
    /// Playouts that reached backprop.
    pub playouts: u64,
    /// Positions that the evaluator answered.
    pub evaluations: u64,
    /// Positions whose answer was in the evaluation cache.
    pub cache_hits: u64,
    /// Successful probes of endgame tablebases.
    pub tablebase_hits: u64,
    /// Playouts that ended at a terminal node, at one whose result is proven, or where their path could not get longer.
    pub terminals: u64,
    /// Playouts of a graph that ended at a node which other paths had visited already.
    pub transpositions: u64,
    /// Playouts that met a node in flight on their way down, and were undone.
    pub collisions: u64,
    /// Sum of the playouts' depths, the root counted as 1.
    pub depth_sum: u64,
    /// Largest of these depths.
    pub depth_max: u64,
    /// Batches that the evaluator ran, by the binary logarithm of their size: see [`batch_sizes`].
    pub batches: [u64; BATCH_SIZES],
    /// Waits at each [`Stage`].
    pub waits: [Waits; Stage::COUNT],
}

impl Counts {
    /// Nothing counted.
    pub const ZERO: Self = Self {
        playouts: 0,
        evaluations: 0,
        cache_hits: 0,
        tablebase_hits: 0,
        terminals: 0,
        transpositions: 0,
        collisions: 0,
        depth_sum: 0,
        depth_max: 0,
        batches: [0; BATCH_SIZES],
        waits: [Waits { times: 0, micros: 0 }; Stage::COUNT],
    };

    /// Counts a playout of `depth`, the root counted as 1.
    #[inline]
    pub fn add_playout(&mut self, depth: u64) {
        self.playouts += 1;
        self.depth_sum += depth;
        self.depth_max = self.depth_max.max(depth);
    }

    /// Counts a batch of `positions` positions that the evaluator ran; an empty one does not count.
    pub fn add_batch(&mut self, positions: usize) {
        if let Some(log) = positions.checked_ilog2() {
            self.batches[(log as usize).min(BATCH_SIZES - 1)] += 1;
            self.evaluations += positions as u64;
        }
    }

    /// Counts what a playout met, if that needs no answer ([`Gathered::Known`](crate::search::Gathered::Known)). Call
    /// it before the event is brought back.
    pub fn add_known<const PLIES: usize>(&mut self, event: &Event<PLIES>) {
        if event.is_transposition() {
            self.transpositions += 1;
        } else {
            self.terminals += 1;
        }
    }

    /// Counts a wait.
    pub fn add_wait(&mut self, stage: Stage, micros: u64) {
        let waits = &mut self.waits[stage as usize];
        waits.times += 1;
        waits.micros += micros;
    }

    /// The sum of both.
    pub fn plus(self, other: &Self) -> Self {
        let waits = |waits: Waits, other: Waits| Waits {
            times: waits.times.wrapping_add(other.times),
            micros: waits.micros.wrapping_add(other.micros),
        };
        Self {
            playouts: self.playouts.wrapping_add(other.playouts),
            evaluations: self.evaluations.wrapping_add(other.evaluations),
            cache_hits: self.cache_hits.wrapping_add(other.cache_hits),
            tablebase_hits: self.tablebase_hits.wrapping_add(other.tablebase_hits),
            terminals: self.terminals.wrapping_add(other.terminals),
            transpositions: self.transpositions.wrapping_add(other.transpositions),
            collisions: self.collisions.wrapping_add(other.collisions),
            depth_sum: self.depth_sum.wrapping_add(other.depth_sum),
            depth_max: self.depth_max.max(other.depth_max),
            batches: core::array::from_fn(|k| self.batches[k].wrapping_add(other.batches[k])),
            waits: core::array::from_fn(|k| waits(self.waits[k], other.waits[k])),
        }
    }

    /// Mean depth of a playout, the root counted as 1; 0 if there was no playout.
    pub fn mean_depth(&self) -> f64 {
        mean(self.depth_sum, self.playouts)
    }

    /// Number of batches that the evaluator ran.
    pub fn batch_count(&self) -> u64 {
        self.batches.iter().sum()
    }

    /// Mean size of a batch; 0 if there was no batch.
    pub fn mean_batch(&self) -> f64 {
        mean(self.evaluations, self.batch_count())
    }
}

fn mean(sum: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { sum as f64 / of as f64 }
}

/// What was counted in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Span {
    /// Its length in milliseconds.
    pub ms: u64,
    /// What happened in it.
    pub counts: Counts,
}

impl Span {
    /// A count of this span, per second; 0 for a span without a length.
    ///
    /// ```
    /// # use oncilla_core::stats::{Counts, Span};
    /// let span = Span { ms: 500, counts: Counts { playouts: 1000, ..Counts::ZERO } };
    /// assert_eq!(span.per_second(|counts| counts.playouts), 2000.0);
    /// ```
    pub fn per_second(&self, what: impl Fn(&Counts) -> u64) -> f64 {
        1000.0 * mean(what(&self.counts), self.ms)
    }
}

/// Length of the shortest window in milliseconds: ⅛ s.
pub const STEP_MS: u64 = 125;
/// Number of windows: ⅛ s to 64 s.
pub const WINDOWS: usize = 10;

/// The counts of one search that plays a game. A long game needs no more memory than a short one: less than 5 KiB.
///
/// Times are milliseconds of one clock. If the clock stands still while no search runs, the opponent's time is kept out
/// of every speed; then the last seconds of the first move give the speed at the start of the second. A clock that goes
/// back is taken to stand still.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stats {
    game: Since,
    current_move: Since,
    windows: Windows,
}

/// The counts since a time.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Since {
    start_ms: u64,
    counts: Counts,
}

impl Since {
    const fn new(start_ms: u64) -> Self {
        Self { start_ms, counts: Counts::ZERO }
    }

    fn until(&self, now_ms: u64) -> Span {
        Span { ms: now_ms.saturating_sub(self.start_ms), counts: self.counts }
    }
}

impl Stats {
    /// Nothing is counted. A game and its first move begin at `now_ms`.
    pub const fn new(now_ms: u64) -> Self {
        Self { game: Since::new(now_ms), current_move: Since::new(now_ms), windows: Windows::new(now_ms) }
    }

    /// Forgets everything: another game begins at `now_ms`, with its first move.
    pub fn start_game(&mut self, now_ms: u64) {
        *self = Self::new(now_ms);
    }

    /// Forgets the last move's counts. The windows go on: how fast the search is does not change with the move.
    pub fn start_move(&mut self, now_ms: u64) {
        self.current_move = Since::new(now_ms);
    }

    /// Adds what has happened since the last call.
    pub fn record(&mut self, now_ms: u64, counts: &Counts) {
        self.windows.record(now_ms, counts);
        self.game.counts = self.game.counts.plus(counts);
        self.current_move.counts = self.current_move.counts.plus(counts);
    }

    /// The counts since the game started.
    pub fn game(&self, now_ms: u64) -> Span {
        self.game.until(now_ms)
    }

    /// The counts since the move started.
    pub fn current_move(&self, now_ms: u64) -> Span {
        self.current_move.until(now_ms)
    }

    /// The counts of a span of time that ends at `now_ms`. Its length is `at_least_ms`, rounded up to the length of a
    /// window (64 s at most), or more, but less than twice that. It begins with the game at the earliest.
    ///
    /// For a current speed, call for instance `recent(now_ms, 1000).per_second(|counts| counts.playouts)`.
    pub fn recent(&self, now_ms: u64, at_least_ms: u64) -> Span {
        self.windows.recent(now_ms, at_least_ms)
    }

    /// A window of each length, the shortest first: the last one that is complete at `now_ms`. Windows of a length
    /// start at multiples of that length on the clock. Before the first one is complete the counts are 0.
    pub fn windows(&self, now_ms: u64) -> [Span; WINDOWS] {
        self.windows.at(now_ms).complete()
    }
}

fn step_of(now_ms: u64) -> u64 {
    now_ms / STEP_MS
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Windows {
    start_ms: u64,
    /// The step that is running, counted from the clock's zero.
    step: u64,
    /// What the running step has counted so far.
    unfinished: Counts,
    levels: [Level; WINDOWS],
}

/// The windows of one length.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Level {
    /// The counts of the last window that is complete.
    last: Counts,
    /// The counts of the first half of the window of twice this length, if that window is running: that is, if this
    /// level's digit of the step is 1.
    first_half: Counts,
}

impl Windows {
    const fn new(now_ms: u64) -> Self {
        let level = Level { last: Counts::ZERO, first_half: Counts::ZERO };
        Self { start_ms: now_ms, step: now_ms / STEP_MS, unfinished: Counts::ZERO, levels: [level; WINDOWS] }
    }

    fn record(&mut self, now_ms: u64, counts: &Counts) {
        self.advance(step_of(now_ms));
        self.unfinished = self.unfinished.plus(counts);
    }

    /// The windows as they will be at `now_ms` if nothing more is counted.
    fn at(&self, now_ms: u64) -> Self {
        let mut windows = *self;
        windows.advance(step_of(now_ms));
        windows
    }

    fn complete(&self) -> [Span; WINDOWS] {
        core::array::from_fn(|k| Span { ms: STEP_MS << k, counts: self.levels[k].last })
    }

    fn recent(&self, now_ms: u64, at_least_ms: u64) -> Span {
        // The shortest window that is long enough, and what came after it: the halves of longer windows that are
        // running, one for each lower digit of the step that is 1, and the unfinished step.
        let k = (0..WINDOWS - 1).find(|&k| STEP_MS << k >= at_least_ms).unwrap_or(WINDOWS - 1);
        let windows = self.at(now_ms);
        let running = windows.levels.iter().enumerate().take(k).filter(|(k, _)| windows.step >> k & 1 == 1);
        let later = running.fold(windows.unfinished, |sum, (_, level)| sum.plus(&level.first_half));
        let window_start = ((windows.step >> k).saturating_sub(1) << k) * STEP_MS;
        let start_ms = window_start.max(self.start_ms);
        Span { ms: now_ms.saturating_sub(start_ms), counts: windows.levels[k].last.plus(&later) }
    }

    /// Finishes the steps before `to`. A clock that was set back changes nothing.
    fn advance(&mut self, to: u64) {
        // After twice the longest window, every complete window is within the time in which nothing was counted.
        const ALL: u64 = 1 << WINDOWS;
        if to > self.step.saturating_add(ALL) {
            *self = Self { start_ms: self.start_ms, ..Self::new(to.saturating_mul(STEP_MS)) };
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
            carried = carried.plus(&level.first_half);
        }
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, quickcheck};
    use std::vec::Vec;

    impl Arbitrary for Counts {
        fn arbitrary(g: &mut Gen) -> Self {
            let mut counts = Counts {
                cache_hits: u8::arbitrary(g).into(),
                tablebase_hits: u8::arbitrary(g).into(),
                terminals: u8::arbitrary(g).into(),
                transpositions: u8::arbitrary(g).into(),
                collisions: u8::arbitrary(g).into(),
                ..Counts::ZERO
            };
            (0..u8::arbitrary(g) % 4).for_each(|_| counts.add_playout(u8::arbitrary(g).into()));
            (0..u8::arbitrary(g) % 4).for_each(|_| counts.add_batch(u16::arbitrary(g).into()));
            for stage in [Stage::Gather, Stage::Evaluate, Stage::Backprop] {
                (0..u8::arbitrary(g) % 2).for_each(|_| counts.add_wait(stage, u16::arbitrary(g).into()));
            }
            counts
        }
    }

    /// Something counted, and the time until then: gaps of all sizes, some longer than the longest window.
    #[derive(Clone, Debug)]
    struct Sample {
        gap_ms: u64,
        counts: Counts,
    }

    impl Arbitrary for Sample {
        fn arbitrary(g: &mut Gen) -> Self {
            let most = *g.choose(&[1, 300, 3_000, 300_000]).unwrap();
            Sample { gap_ms: u64::from(u32::arbitrary(g)) % most, counts: Counts::arbitrary(g) }
        }
    }

    /// All samples in a list, each with its time.
    struct Naive(Vec<(u64, Counts)>);

    impl Naive {
        fn sum(&self, times: core::ops::Range<u64>) -> Counts {
            self.0.iter().filter(|(at, _)| times.contains(at)).fold(Counts::ZERO, |sum, (_, counts)| sum.plus(counts))
        }
    }

    fn playouts(playouts: u64) -> Counts {
        Counts { playouts, depth_sum: 3 * playouts, depth_max: 3, ..Counts::ZERO }
    }

    #[test]
    fn the_statistics_are_as_small_as_they_say() {
        assert!(size_of::<Stats>() < 5 * 1024, "{} bytes", size_of::<Stats>());
    }

    #[test]
    fn counts_are_joined_by_field() {
        let mut one = Counts::default();
        one.add_playout(3);
        one.add_playout(6);
        one.add_batch(0);
        for size in [1, 2, 3, 4, 1 << 20] {
            one.add_batch(size);
        }
        one.add_wait(Stage::Evaluate, 7);
        assert_eq!((one.playouts, one.mean_depth(), one.depth_max), (2, 4.5, 6));
        assert_eq!((one.batch_count(), one.evaluations), (5, 10 + (1 << 20)));
        assert_eq!((one.batches[..3].to_vec(), one.batches[BATCH_SIZES - 1]), ([1, 2, 1].to_vec(), 1));
        let mut other = Counts { cache_hits: 10 + (1 << 20), terminals: 5, ..Counts::ZERO };
        other.add_playout(4);
        other.add_wait(Stage::Evaluate, 3);
        other.add_wait(Stage::Gather, 1);
        let both = one.plus(&other);
        assert_eq!((both.playouts, both.depth_sum, both.depth_max, both.terminals), (3, 13, 6, 5));
        assert_eq!((both.cache_hits, both.evaluations), (10 + (1 << 20), 10 + (1 << 20)));
        assert_eq!(both.waits[Stage::Evaluate as usize], Waits { times: 2, micros: 10 });
        assert_eq!(both.waits[Stage::Gather as usize], Waits { times: 1, micros: 1 });
        assert_eq!((Counts::ZERO.mean_depth(), Counts::ZERO.mean_batch()), (0.0, 0.0));
    }

    #[test]
    fn by_game_and_by_move() {
        let mut stats = Stats::new(1000);
        stats.record(1100, &playouts(10));
        stats.record(1200, &Counts { collisions: 2, terminals: 1, ..playouts(5) });
        let so_far = Counts { collisions: 2, terminals: 1, ..playouts(15) };
        assert_eq!(stats.current_move(1500), Span { ms: 500, counts: so_far });
        assert_eq!(stats.current_move(1500).per_second(|counts| counts.playouts), 30.0);
        stats.start_move(2000);
        assert_eq!(stats.current_move(2000), Span { ms: 0, counts: Counts::ZERO });
        assert_eq!(stats.current_move(2000).per_second(|counts| counts.playouts), 0.0);
        stats.record(2100, &playouts(1));
        assert_eq!((stats.current_move(2100).counts.playouts, stats.game(2100).counts.playouts), (1, 16));
        assert_eq!(stats.game(2100).ms, 1100);
        stats.start_game(3000);
        assert_eq!(stats.game(3000), Span { ms: 0, counts: Counts::ZERO });
    }

    #[test]
    fn at_a_steady_speed_every_window_shows_it() {
        let mut stats = Stats::new(0);
        for ms in 0..130_000 {
            stats.record(ms, &playouts(2));
        }
        let speed = |span: Span| span.per_second(|counts| counts.playouts);
        for (k, span) in stats.windows(130_000).into_iter().enumerate() {
            assert_eq!((span.ms, speed(span)), (STEP_MS << k, 2000.0));
        }
        for at_least_ms in [0, 1, 1000, 30_000, u64::MAX] {
            assert_eq!(speed(stats.recent(130_000, at_least_ms)), 2000.0, "{at_least_ms} ms");
        }
    }

    #[test]
    fn a_speed_is_known_from_the_first_millisecond_on() {
        let mut stats = Stats::new(40_070);
        assert_eq!(stats.recent(40_070, 1000).ms, 0);
        for ms in 40_070..41_000 {
            stats.record(ms, &playouts(2));
            let recent = stats.recent(ms + 1, 1000);
            assert_eq!((recent.ms, recent.per_second(|counts| counts.playouts)), (ms + 1 - 40_070, 2000.0));
        }
    }

    #[test]
    fn silence_empties_the_short_windows_first() {
        let mut stats = Stats::new(0);
        stats.record(0, &playouts(100));
        let seen = |now_ms| stats.windows(now_ms).map(|span| span.counts.playouts);
        // Nothing is complete; then one step is; then a quarter of a second, whose second half was silent.
        assert_eq!(seen(124)[..3], [0, 0, 0]);
        assert_eq!(seen(125)[..3], [100, 0, 0]);
        assert_eq!(seen(250)[..3], [0, 100, 0]);
        assert_eq!(seen(500)[..3], [0, 0, 100]);
        assert_eq!(seen(1000)[..3], [0, 0, 0]);
        assert_eq!(seen(64_000)[9], 100);
        assert_eq!(seen(u64::MAX), [0; WINDOWS]);
        assert_eq!(stats.recent(u64::MAX, 1000).counts, Counts::ZERO);
    }

    #[test]
    fn a_clock_set_back_loses_nothing() {
        let mut stats = Stats::new(10_000);
        stats.record(10_000, &playouts(1));
        stats.record(5_000, &playouts(1));
        assert_eq!(stats.windows(10_125)[0].counts.playouts, 2);
        assert_eq!(stats.game(5_000), Span { ms: 0, counts: playouts(2) });
    }

    quickcheck! {
        fn counts_are_joined_in_any_order(a: Counts, b: Counts, c: Counts) -> bool {
            a.plus(&b).plus(&c) == c.plus(&a).plus(&b) && a.plus(&Counts::ZERO) == a
        }

        /// Against a list of all samples: the window of length L shows the last complete [n·L, (n + 1)·L), and a recent
        /// span all from its beginning on.
        fn spans_agree_with_a_list(start_ms: u32, samples: Vec<Sample>, later_ms: u16, at_least_ms: u32) -> bool {
            let mut now = u64::from(start_ms);
            let (mut stats, mut naive, mut move_start) = (Stats::new(now), Naive(Vec::new()), now);
            for (n, Sample { gap_ms, counts }) in samples.into_iter().enumerate() {
                now += gap_ms;
                // In the same millisecond a sample may be the last one of a move or the first one of the next.
                if n % 5 == 4 && gap_ms > 0 {
                    stats.start_move(now);
                    move_start = now;
                }
                stats.record(now, &counts);
                naive.0.push((now, counts));
            }
            now += u64::from(later_ms);
            for span in stats.windows(now) {
                let end = now / span.ms * span.ms;
                assert_eq!(span.counts, naive.sum(end.saturating_sub(span.ms)..end), "{} ms", span.ms);
            }
            for at_least_ms in [0, 1, 100, 1000, 2000, u64::from(at_least_ms) % 70_000, 64_000] {
                let recent = stats.recent(now, at_least_ms);
                assert_eq!(recent.counts, naive.sum(now - recent.ms..now + 1), "{at_least_ms} ms");
                let since_start = now - u64::from(start_ms);
                let window = at_least_ms.max(1).div_ceil(STEP_MS).next_power_of_two().min(512) * STEP_MS;
                assert!(recent.ms >= window.min(since_start) && recent.ms < 2 * window && recent.ms <= since_start);
            }
            stats.game(now).counts == naive.sum(0..now + 1)
                && stats.current_move(now) == Span { ms: now - move_start, counts: naive.sum(move_start..now + 1) }
        }
    }
}
