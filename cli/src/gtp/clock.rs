//! A player's clock, as GTP's commands set it. It does not measure time itself: the caller reports the time used.
//!
//! The time manager that chess uses divides main time (absolute or Fischer) among the moves, and also the periods of
//! Canadian overtime, which have a number of moves to the next time control. In byoyomi each move has a period of its
//! own, which it may use up except for what a stall would cost.

use oncilla_core::time::{Clock as Reading, Latency, Manager, ManagerParams};

use crate::text::quoted;

/// How the time is limited. Times are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum System {
    /// No limit.
    #[default]
    None,
    /// `main` for the game, plus `increment` with each move; the clock never keeps more than `cap`, and a move takes at
    /// most `most`.
    Main {
        /// The time at the beginning.
        main: f64,
        /// The time added with each move.
        increment: f64,
        /// The most time that the clock keeps.
        cap: f64,
        /// The most time that a move takes.
        most: f64,
    },
    /// Main time, then a period for each move; a player that does not finish a move within a period loses that period.
    ByoYomi {
        /// Main time.
        main: f64,
        /// The length of a period.
        period: f64,
        /// The number of periods.
        periods: u32,
    },
    /// Main time, then periods for `stones` moves each.
    Canadian {
        /// Main time.
        main: f64,
        /// The length of a period.
        period: f64,
        /// The number of moves in a period.
        stones: u32,
    },
}

/// The kinds of time limits, and what has to follow each.
const KINDS: [(&str, &str); 6] = [
    ("none", "alone"),
    ("absolute", "SECONDS"),
    ("byoyomi", "SECONDS SECONDS COUNT"),
    ("canadian", "SECONDS SECONDS COUNT"),
    ("fischer", "SECONDS SECONDS"),
    ("fischer-capped", "SECONDS SECONDS LIMIT LIMIT"),
];

/// The names of the kinds of time limits that `kata-time_settings` accepts.
pub fn kinds() -> [&'static str; KINDS.len()] {
    KINDS.map(|(kind, _)| kind)
}

impl System {
    /// Converts the arguments of `time_settings`: main time, overtime and its number of stones. Overtime without stones
    /// means no limit, and so do main time and overtime of 0.
    pub fn of_gtp(main: f64, period: f64, stones: u32) -> Self {
        match (main, period, stones) {
            (0.0, 0.0, _) => Self::None,
            (_, 0.0, _) => Self::absolute(main),
            (_, _, 0) => Self::None,
            _ => Self::Canadian { main, period, stones },
        }
    }

    fn absolute(main: f64) -> Self {
        Self::Main { main, increment: 0.0, cap: f64::INFINITY, most: f64::INFINITY }
    }

    /// Reads the arguments of `kgs-time_settings` and `kata-time_settings`.
    ///
    /// # Errors
    /// What was expected, and what was found.
    pub fn read(args: &[String]) -> Result<Self, String> {
        let kind = args.first().map_or_else(String::new, |kind| kind.to_ascii_lowercase());
        let kind = kind.as_str();
        let Some((_, times)) = KINDS.iter().find(|(other, _)| *other == kind) else {
            return Err(format!("expected one of {}, got {}", kinds().join(", "), quoted(kind)));
        };
        let expected = || format!("expected {kind} {times}, got {}", quoted(&args[1..].join(" ")));
        let time = |at: usize| args.get(at).and_then(|text| seconds(text));
        let count = |at: usize| args.get(at).and_then(|text| text.parse::<u32>().ok());
        let limit = |at: usize| {
            let number: f64 = args.get(at)?.parse().ok()?;
            number.is_finite().then_some(if number < 0.0 { f64::INFINITY } else { number })
        };
        Ok(match (kind, args.len()) {
            ("none", 1) => Self::None,
            ("absolute", 2) => Self::absolute(time(1).ok_or_else(expected)?),
            ("byoyomi" | "canadian", 4) => {
                let all = time(1).zip(time(2)).zip(count(3));
                let ((main, period), count) = all.ok_or_else(expected)?;
                match (kind, count) {
                    ("canadian", stones) => Self::of_gtp(main, period, stones),
                    (_, periods) if periods == 0 || period == 0.0 => Self::absolute(main),
                    (_, periods) => Self::ByoYomi { main, period, periods },
                }
            }
            ("fischer", 3) => {
                let (main, increment) = time(1).zip(time(2)).ok_or_else(expected)?;
                Self::Main { main, increment, cap: f64::INFINITY, most: f64::INFINITY }
            }
            ("fischer-capped", 5) => {
                let all = time(1).zip(time(2)).zip(limit(3).zip(limit(4)));
                let ((main, increment), (cap, most)) = all.ok_or_else(expected)?;
                Self::Main { main, increment, cap, most }
            }
            _ => return Err(expected()),
        })
    }

    fn main(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Main { main, .. } | Self::ByoYomi { main, .. } | Self::Canadian { main, .. } => main,
        }
    }

    /// The overtime at its beginning: a whole period, with all periods (byoyomi) or all moves of the period (Canadian)
    /// left.
    fn overtime(&self) -> Option<Overtime> {
        match *self {
            Self::ByoYomi { period: left, periods: count, .. } | Self::Canadian { period: left, stones: count, .. } => {
                Some(Overtime { left, count })
            }
            Self::None | Self::Main { .. } => None,
        }
    }
}

/// An estimate of the moves that a player still has to make, after `played` moves of both players on a board of
/// `points` points. The time manager's own estimate is for chess, whose games have another length, so it is given this
/// one in the place of a network's moves-left output.
pub fn moves_left(points: usize, played: usize) -> f64 {
    // At the end stones are on three quarters of the points. A game that goes beyond that may drag on, hence the
    // minimum.
    let expected = (0.75 * points as f64 - played as f64) / 2.0;
    expected.max(10.0 + points as f64 / 20.0)
}

/// Times are cut down to this many seconds, some thirty years, so that no calculation overflows.
const LONGEST: f64 = 1e9;

/// Reads a time in seconds, at most [`LONGEST`]; `None` if the text is not a finite number from 0 on.
pub fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0).map(|time| time.min(LONGEST))
}

/// What a player in overtime has left.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Overtime {
    /// Seconds left of the period.
    left: f64,
    /// In byoyomi the periods left, including this one; in Canadian overtime the moves still to be made in this period.
    count: u32,
}

/// The clock of one player.
#[derive(Clone, Debug)]
pub struct Clock {
    system: System,
    params: ManagerParams,
    main: f64,
    overtime: Option<Overtime>,
    manager: Manager,
    /// The delays of moves that have a time of their own, which the manager does not divide.
    latency: Latency,
    /// For a move in progress that has a time of its own: its reading, and its limit in milliseconds.
    whole: Option<(Reading, f64)>,
    /// Seconds that a move costs in addition to the time that the player uses.
    lag: f64,
    /// Whether the last move left more than the cap: what is above it is cut off, which is no lag.
    was_cut: bool,
}

const MS: f64 = 1000.0;

impl Clock {
    /// A clock that has not run yet.
    pub fn new(system: System, params: ManagerParams) -> Self {
        let (main, manager, latency) = (system.main(), manager(params), Latency::default());
        let mut clock =
            Self { system, params, main, overtime: None, manager, latency, whole: None, lag: 0.0, was_cut: false };
        clock.enter_overtime(0.0);
        clock
    }

    /// Sets the time left as the controller reports it: main time if `count` is 0; otherwise the time left of a period,
    /// with `count` moves (in byoyomi: periods) to go.
    pub fn set_left(&mut self, time: f64, count: u32) {
        if self.system == System::None {
            return;
        }
        let was_in_overtime = self.overtime.is_some();
        let has_overtime = self.system.overtime().is_some();
        match count {
            0 => (self.main, self.overtime) = (time, None),
            _ => (self.main, self.overtime) = (0.0, has_overtime.then_some(Overtime { left: time, count })),
        }
        if !has_overtime {
            self.main = time;
        }
        self.enter_overtime(0.0);
        if was_in_overtime != self.overtime.is_some() {
            self.manager = manager(self.params);
        }
    }

    /// Starts a move: returns the seconds that it may take if the player has `moves_left` moves to make before the end
    /// of the game; `None` if nothing limits it. [`Clock::used`] ends the move.
    pub fn start(&mut self, moves_left: f64, lag: f64) -> Option<f64> {
        self.lag = lag;
        let reading = Reading { network_plies: Some(2.0 * moves_left), overhead_ms: lag * MS, ..Reading::default() };
        let ms = match (self.system, self.overtime) {
            (System::None, _) => return None,
            (System::Main { increment, cap, most, .. }, _) => {
                if self.was_cut {
                    self.manager.clock_was_set();
                }
                let reading = Reading { base_ms: self.main * MS, increment_ms: increment * MS, ..reading };
                let most = Reading { base_ms: most * MS, ..reading }.deadline_ms();
                // What the clock would have above its cap after the move is lost if the move does not use it.
                let above = self.main + increment - cap;
                self.at_least(reading, self.part(reading, self.main, above)).min(most)
            }
            // The whole period belongs to this move.
            (System::ByoYomi { .. }, Some(period)) => self.all_of(reading, period.left),
            (System::Canadian { .. }, Some(period)) => {
                let own = Reading { base_ms: period.left * MS, moves_to_go: Some(period.count), ..reading };
                self.at_least(own, self.part(reading, period.left, period.left / f64::from(period.count)))
            }
            (System::ByoYomi { period, .. }, None) => self.before_overtime(reading, period),
            (System::Canadian { period, stones, .. }, None) => {
                self.before_overtime(reading, period / f64::from(stones))
            }
        };
        Some(ms / MS)
    }

    /// The milliseconds for a move in main time that overtime follows. In overtime a move would have `share` seconds,
    /// so a move in main time gets no less than that.
    fn before_overtime(&mut self, reading: Reading, share: f64) -> f64 {
        let own = Reading { base_ms: self.main * MS, ..reading };
        self.at_least(own, self.part(reading, share, share))
    }

    /// The milliseconds that a move may take of `seconds` that belong to it alone: all but what a delay would cost.
    fn all_of(&mut self, reading: Reading, seconds: f64) -> f64 {
        let (reading, limit) = self.part(reading, seconds, seconds);
        self.whole = Some((reading, limit));
        limit
    }

    /// A clock that shows `left` seconds, and the milliseconds of `part` of them without the lag; at most all but what
    /// a delay would cost.
    fn part(&self, reading: Reading, left: f64, part: f64) -> (Reading, f64) {
        let overhead_ms = self.latency.overhead_ms(reading.overhead_ms);
        let reading = Reading { base_ms: left * MS, overhead_ms, stall_ms: self.latency.stall_ms(), ..reading };
        (reading, (part * MS - overhead_ms).min(reading.deadline_ms()))
    }

    /// The milliseconds that the manager gives a move by `own`, or those of `part` if they are more.
    fn at_least(&mut self, own: Reading, part: (Reading, f64)) -> f64 {
        let limit = self.manager.on_move_start(&own, 0).limit_ms;
        if limit >= part.1 {
            self.whole = None;
            return limit;
        }
        // The old manager would take the time beyond its own budget for a delay.
        self.manager = manager(self.params);
        self.whole = Some(part);
        part.1
    }

    /// Ends the move that was started: it took `seconds` and made `playouts` playouts.
    pub fn used(&mut self, seconds: f64, playouts: u64) {
        match self.whole.take() {
            Some((reading, limit)) => self.latency.on_move_end(&reading, seconds * MS, seconds * MS - limit),
            None => self.manager.on_move_end(seconds * MS, playouts),
        }
        // The controller's own clock includes the lag. Unless it reports that clock, the lag is taken to be as large as
        // allowed for.
        let seconds = seconds + self.lag;
        match self.system {
            System::None => {}
            System::Main { increment, cap, .. } => {
                let left = (self.main - seconds).max(0.0) + increment;
                (self.main, self.was_cut) = (left.min(cap), left > cap);
            }
            System::ByoYomi { .. } | System::Canadian { .. } => match self.overtime {
                None => {
                    let beyond = (seconds - self.main).max(0.0);
                    self.main = (self.main - seconds).max(0.0);
                    if beyond > 0.0 || self.main == 0.0 {
                        self.enter_overtime(beyond);
                    }
                }
                Some(overtime) => self.overtime = self.after(overtime, seconds),
            },
        }
    }

    /// Begins a period if the main time is over. The move that has just ended, if there is one, has used `used` seconds
    /// of that period.
    fn enter_overtime(&mut self, used: f64) {
        if self.main > 0.0 || self.overtime.is_some() {
            return;
        }
        if let Some(overtime) = self.system.overtime() {
            self.overtime = if used > 0.0 { self.after(overtime, used) } else { Some(overtime) };
            self.manager = manager(self.params);
        }
    }

    /// The overtime after a move that used `used` seconds of it.
    fn after(&self, overtime: Overtime, used: f64) -> Option<Overtime> {
        let whole = self.system.overtime()?;
        if matches!(self.system, System::ByoYomi { .. }) {
            let beyond = ((used - overtime.left) / whole.left) as u32;
            let lost = if used > overtime.left { beyond.saturating_add(1) } else { 0 };
            return Some(Overtime { count: overtime.count.saturating_sub(lost).max(1), ..whole });
        }
        match overtime.count.saturating_sub(1) {
            0 => Some(whole),
            count => Some(Overtime { left: (overtime.left - used).max(0.0), count }),
        }
    }

    /// The time system.
    pub fn system(&self) -> System {
        self.system
    }
}

/// The manager for these parameters. Parameters that are out of range were refused when the options were read.
fn manager(mut params: ManagerParams) -> Manager {
    // No game of chess is as long as one of Go: what bounds a network's estimate there would cut this one down.
    if let ManagerParams::Smooth(smooth) = &mut params
        && let Some(network) = &mut smooth.moves_left.network
    {
        network.most = LONGEST_GAME;
    }
    Manager::new(params).unwrap_or_default()
}

/// A bound of estimates, in multiples of the moves of a game of chess, that none comes to.
const LONGEST_GAME: f64 = 1e3;

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn read(text: &str) -> Result<System, String> {
        System::read(&text.split(' ').map(str::to_string).collect::<Vec<_>>())
    }

    fn clock(text: &str) -> Clock {
        Clock::new(read(text).unwrap(), ManagerParams::default())
    }

    #[test]
    fn settings_of_gtp() {
        assert_eq!(System::of_gtp(0.0, 1.0, 0), System::None);
        assert_eq!(System::of_gtp(0.0, 0.0, 0), System::None);
        assert_eq!(System::of_gtp(60.0, 0.0, 5), System::absolute(60.0));
        assert_eq!(System::of_gtp(60.0, 30.0, 5), System::Canadian { main: 60.0, period: 30.0, stones: 5 });
    }

    /// Some controllers name a kind of overtime but give it no time, no periods or no stones.
    #[test]
    fn overtime_that_is_none_is_left_out() {
        for (text, expected) in [
            ("byoyomi 60 30 0", System::absolute(60.0)),
            ("byoyomi 60 0 3", System::absolute(60.0)),
            ("Canadian 60 0 5", System::absolute(60.0)),
            ("canadian 60 30 0", System::None),
            ("ABSOLUTE 1e300", System::absolute(1e9)),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        // Main time above the cap is available for the first move only, unless the controller reports otherwise.
        let mut capped = clock("fischer-capped 60 5 30 10");
        capped.start(60.0, 0.2);
        capped.used(1.0, 1);
        assert_eq!(capped.main, 30.0);
        let mut clock = clock("byoyomi 0 1e-300 3");
        clock.start(60.0, 0.2);
        clock.used(1e9, 1);
        assert_eq!(clock.overtime.map(|overtime| overtime.count), Some(1));
    }

    #[test]
    fn kinds_are_read_or_refused() {
        for kind in kinds() {
            let text = match kind {
                "none" => "none",
                "absolute" => "absolute 60.5",
                "fischer" => "fischer 60 5",
                "fischer-capped" => "fischer-capped 60 5 -1 10",
                _ => &format!("{kind} 60 30 5"),
            };
            assert!(read(text).is_ok(), "{text}");
            assert!(read(&format!("{text} 1")).is_err(), "{text}");
        }
        for (text, part) in [
            ("", "expected one of none, absolute, byoyomi, canadian, fischer, fischer-capped, got \"\""),
            ("hourglass 60", "expected one of none"),
            ("absolute -1", "expected absolute SECONDS, got \"-1\""),
            ("absolute nan", "SECONDS"),
            ("byoyomi 60 30 -1", "expected byoyomi SECONDS SECONDS COUNT"),
            ("canadian 60 30 x", "expected canadian SECONDS SECONDS COUNT"),
            ("byoyomi 60 30", "expected byoyomi"),
            ("fischer-capped 60 5 nan 10", "LIMIT"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_game_is_as_long_as_its_board_is_large() {
        assert!((moves_left(361, 0) - 135.0).abs() < 1.0 && (moves_left(81, 0) - 30.0).abs() < 1.0);
        assert!(moves_left(81, 1000) > 10.0 && moves_left(361, 200) < 50.0);
    }

    #[test]
    fn without_a_limit_there_is_none() {
        let mut clock = clock("none");
        assert_eq!(clock.start(100.0, 0.2), None);
        clock.set_left(1.0, 0);
        assert_eq!(clock.start(100.0, 0.2), None);
    }

    #[test]
    fn main_time_is_shared_out() {
        let mut clock = clock("absolute 600");
        let first = clock.start(100.0, 0.2).unwrap();
        assert!((1.0..60.0).contains(&first), "{first}");
        clock.used(first, 100);
        clock.set_left(5.0, 0);
        let late = clock.start(28.0, 0.2).unwrap();
        assert!(late < 1.0 && late > 0.0, "{late}");
        let with_increment = self::clock("fischer 600 30").start(100.0, 0.2).unwrap();
        assert!(with_increment > first, "{with_increment}");
        let capped = self::clock("fischer-capped 600 30 -1 2").start(100.0, 0.2).unwrap();
        assert!(capped < 2.0, "{capped}");
    }

    #[test]
    fn a_period_is_nearly_used_up_and_never_overrun() {
        let mut clock = clock("byoyomi 0 10 3");
        for _ in 0..200 {
            let limit = clock.start(60.0, 0.2).unwrap();
            assert!((8.0..10.0).contains(&limit), "{limit}");
            clock.used(limit + 0.05, 100);
        }
        // A late move costs a period, and the next move has a whole one.
        clock.used(12.0, 1);
        assert_eq!(clock.overtime, Some(Overtime { left: 10.0, count: 2 }));
        clock.set_left(4.0, 1);
        assert!(clock.start(60.0, 0.2).unwrap() < 4.0);
    }

    #[test]
    fn main_time_goes_over_into_overtime() {
        let mut clock = clock("byoyomi 20 10 3");
        let limit = clock.start(100.0, 0.2).unwrap();
        assert!((8.0..28.0).contains(&limit), "{limit}");
        clock.used(25.0, 1);
        assert_eq!((clock.main, clock.overtime), (0.0, Some(Overtime { left: 10.0, count: 3 })));
        let mut clock = self::clock("canadian 20 30 3");
        clock.used(25.0, 1);
        assert_eq!(clock.overtime, Some(Overtime { left: 25.0, count: 2 }));
        clock.used(5.0, 1);
        clock.used(5.0, 1);
        assert_eq!(clock.overtime, Some(Overtime { left: 30.0, count: 3 }), "a new period");
        clock.set_left(20.0, 0);
        assert_eq!((clock.main, clock.overtime), (20.0, None));
    }

    #[test]
    fn a_limit_of_zero_is_zero() {
        let System::Main { cap, most, .. } = read("fischer-capped 60 5 0 0").unwrap() else { panic!("no main time") };
        assert_eq!((cap, most), (0.0, 0.0));
    }

    /// Some controllers report stones or periods although there is no overtime.
    #[test]
    fn without_overtime_what_is_left_is_main_time() {
        let mut clock = clock("absolute 600");
        clock.set_left(300.0, 1);
        assert_eq!((clock.main, clock.overtime), (300.0, None));
    }

    #[test]
    fn a_period_is_shared_out_among_its_moves() {
        let share = |left: f64, count: u32| {
            let mut clock = clock("canadian 0 300 25");
            clock.set_left(left, count);
            clock.start(100.0, 0.2).unwrap()
        };
        for (left, count) in [(300.0, 25), (300.0, 10), (300.0, 5)] {
            let fair = left / f64::from(count);
            let given = share(left, count);
            assert!((fair..3.0 * fair).contains(&given), "{given} of {left} for {count}");
        }
    }

    /// `time_settings M P 1` is how controllers say byoyomi.
    #[test]
    fn the_last_moves_of_a_period_use_it_up() {
        for (left, count) in [(8.0, 1), (3.0, 1), (5.0, 1), (5.0, 2), (10.0, 3)] {
            let mut clock = clock(&format!("canadian 0 {left} {count}"));
            let mut used = 0.0;
            for _ in 0..count {
                let limit = clock.start(100.0, 0.2).unwrap();
                clock.used(limit, 100);
                used += limit + 0.2;
            }
            assert!((0.75 * left..left).contains(&used), "{used} of {left} for {count}");
            assert_eq!(clock.overtime, Some(Overtime { left, count }), "a new period");
        }
    }

    #[test]
    fn what_a_capped_clock_would_lose_is_used() {
        for (main, increment, cap) in [(3.0, 3.0, 3.0), (5.0, 2.0, 5.0), (60.0, 5.0, 30.0)] {
            let mut clock = clock(&format!("fischer-capped {main} {increment} {cap} -1"));
            for _ in 0..20 {
                let (left, limit) = (clock.main, clock.start(100.0, 0.2).unwrap());
                let above = left + increment - cap;
                assert!(limit >= (above - 0.2).min(left - 0.9) && limit < left, "{limit} of {left}");
                clock.used(limit, 100);
            }
        }
    }

    #[test]
    fn what_is_cut_off_a_capped_clock_is_no_lag() {
        let mut clock = clock("fischer-capped 30 0.5 30 -1");
        let first = clock.start(100.0, 0.2).unwrap();
        for _ in 0..10 {
            clock.used(0.05, 100);
            assert_eq!(clock.main, 30.0);
            let limit = clock.start(100.0, 0.2).unwrap();
            assert!(limit > 0.8 * first, "{limit}, at first {first}");
        }
    }

    #[test]
    fn the_last_move_of_main_time_has_its_part_of_a_period_and_no_more() {
        let limit = clock("canadian 5 300 25").start(100.0, 0.2).unwrap();
        assert!((9.0..17.0).contains(&limit), "{limit}");
    }

    #[test]
    fn a_game_that_is_half_as_long_has_twice_the_time_for_a_move() {
        let limits = [100.0, 50.0, 25.0].map(|moves| clock("absolute 600").start(moves, 0.2).unwrap());
        let longer = clock("absolute 600").start(135.0, 0.2).unwrap();
        assert!((limits[0] / longer - 1.35).abs() < 0.1, "{limits:?}, {longer}");
        for (limit, moves) in limits.into_iter().zip([100.0, 50.0, 25.0]) {
            let fair = 600.0 / moves;
            assert!((1.5 * fair..3.5 * fair).contains(&limit), "{limit} {moves}");
        }
    }

    /// The manager learns from a move in main time, even if the main time ends in overtime.
    #[test]
    fn a_move_of_main_time_is_no_period() {
        let mut clock = clock("byoyomi 600 1 3");
        clock.start(100.0, 0.2).unwrap();
        assert_eq!(clock.whole, None);
    }

    #[test]
    fn who_is_late_learns_it_for_the_next_period() {
        let mut clock = clock("byoyomi 0 10 3");
        let first = clock.start(60.0, 0.2).unwrap();
        clock.used(first + 1.0, 100);
        let next = clock.start(60.0, 0.2).unwrap();
        assert!(next + 1.0 < 10.0 && next > 7.0, "{next}");
    }

    #[test]
    fn overtime_that_a_controller_tells_begins_anew() {
        let mut clock = clock("canadian 600 30 5");
        for _ in 0..20 {
            clock.start(100.0, 0.2).unwrap();
            clock.used(0.5, 100);
        }
        clock.set_left(30.0, 5);
        let mut fresh = self::clock("canadian 600 30 5");
        fresh.set_left(30.0, 5);
        let limits = (clock.start(60.0, 0.2).unwrap(), fresh.start(60.0, 0.2).unwrap());
        assert_eq!(limits.0, limits.1);
    }

    quickcheck! {
        /// Plays whole games under any clock, with a controller that charges a lag and may or may not report the time:
        /// no move is late.
        fn no_clock_runs_out(kind: u8, main: u16, period: u16, count: u8, tells: bool) -> bool {
            let (main, period) = (f64::from(main % 600) + 2.0, f64::from(period % 60) + 2.0);
            let count = u32::from(count % 25) + 1;
            let system = match kind % 4 {
                0 => System::absolute(main + 60.0),
                1 => System::Main { main, increment: period, cap: f64::INFINITY, most: f64::INFINITY },
                2 => System::ByoYomi { main, period, periods: count },
                // A player to whom no time is reported can't know with which move the overtime began.
                _ => System::Canadian { main: if tells { main } else { 0.0 }, period: period + 2.0 * f64::from(count), stones: count },
            };
            let mut clock = Clock::new(system, ManagerParams::default());
            let mut theirs = Clock::new(system, ManagerParams::default());
            (0..150).all(|turn| {
                let limit = clock.start(moves_left(361, 2 * turn), 0.2).unwrap();
                let spent = limit + 0.02;
                let charged = spent + 0.05;
                let has = theirs.main + theirs.overtime.or(system.overtime()).map_or(0.0, |overtime| overtime.left);
                let in_time = charged < has;
                clock.used(spent, 50);
                theirs.used(charged, 0);
                if tells {
                    match theirs.overtime {
                        Some(overtime) => clock.set_left(overtime.left, overtime.count),
                        None => clock.set_left(theirs.main, 0),
                    }
                }
                in_time
            })
        }
    }
}
