//! Whose play a network for human play is to imitate: the input of KataGo's networks that have a metadata encoder.
//!
//! Such a network has learnt from people's games, and from the facts that their records have about the players and the
//! game. A [`Profile`] is a set of such facts with a name (KataGo's `humanSLProfile`): players of certain ranks on a
//! server, or professionals of a certain year. The network reads it as 192 numbers, from the view of the player to
//! move.
//!
//! | numbers | content |
//! |---|---|
//! | 0, 1 | 1 if the player to move, or the opponent, is a person |
//! | 2–5 | 1 if the player or the opponent has no rank, or an unknown one; 0 in all profiles |
//! | 6–39 | 1 for each step from the top down to the player's rank: one step for 9 dan, ten for 1 kyu |
//! | 40–73 | the same for the opponent |
//! | 74 | 1 if the game is not rated, ½ if that is unknown |
//! | 75–81 | the kind of clock; one of these is 1: unknown, none, absolute, simple, byoyomi, Canadian, Fischer |
//! | 82, 83 | seconds of the main time and of a period; these and the next three are on logarithmic scales |
//! | 84, 85 | periods of byoyomi; stones of a Canadian period |
//! | 86 | points of the board |
//! | 87–150 | the day of the game, as cosine and sine of its phase in 32 periods from a week to 1500 years |
//! | 151–166 | the source of the game; one of these is 1 |
//! | 167–191 | 0 |

use crate::color::Color;
use core::f64::consts::TAU;
use core::fmt;

/// The count of numbers that a network reads of a profile.
pub const METADATA: usize = 192;

const PERSONS: usize = 0;
const RANKS: usize = 6;
/// The numbers for the steps of a rank. The lowest rank of a profile, 20 kyu, has 29 steps.
const STEPS: usize = 34;
const UNRATED: usize = 74;
const CLOCK_UNKNOWN: usize = 75;
const CLOCK_BYOYOMI: usize = 79;
const MAIN_TIME: usize = 82;
const PERIOD_TIME: usize = 83;
const PERIODS: usize = 84;
const CANADIAN_STONES: usize = 85;
const AREA: usize = 86;
const DAY: usize = 87;
/// The number of periods that encode the day.
const DAY_PERIODS: usize = 32;
/// The shortest period in days, and how many times as long the longest period is.
const WEEK: f64 = 7.0;
const LONGEST: f64 = 80_000.0;
const SOURCE: usize = 151;

/// The sources that profiles use, as places after [`SOURCE`]: a server, and two collections of professional games.
const KGS: usize = 2;
const GOGOD: usize = 5;
const GO4GO: usize = 6;

/// The first and the last year of professional games, and the last year for which the source is the older collection.
const FIRST_YEAR: u16 = 1800;
const LAST_YEAR: u16 = 2023;
const LAST_OF_GOGOD: u16 = 2020;

/// The highest dan rank and the lowest kyu rank of a profile.
const DAN: u8 = 9;
const KYU: u8 = 20;

/// The players whose moves a network for human play is to predict.
///
/// ```
/// use oncilla_go::Color;
/// use oncilla_go::profile::Profile;
///
/// let profile = Profile::from_name("rank_3d_5k").unwrap(); // Black is a 3 dan, White a 5 kyu
/// let row = profile.metadata(Color::White, 19 * 19);
/// assert_eq!(row[6..40].iter().sum::<f32>(), 14.0); // from 9 dan down to 5 kyu
/// assert_eq!(row[40..74].iter().sum::<f32>(), 7.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Profile(Players);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Players {
    /// Players on a server, before or after AlphaZero changed the openings that people play.
    Ranked { black: Rank, white: Rank, before_alpha_zero: bool },
    /// Professionals in this year.
    Professional { year: u16 },
}

/// A rank in steps from the top: 1 is 9 dan, 9 is 1 dan, 10 is 1 kyu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rank(u8);

/// The facts about a game other than the players' ranks.
struct Record {
    /// 1 if the game is not rated, ½ if that is unknown.
    unrated: f32,
    clock: usize,
    main_time: f64,
    period_time: f64,
    periods: f64,
    /// Days since the beginning of 1970.
    day: i32,
    source: usize,
}

impl Profile {
    /// The profile with this name of KataGo's; `None` if KataGo has none.
    ///
    /// `rank_5k` means players of 5 kyu in the year 2020; ranks are `20k` to `1k` and `1d` to `9d`. `preaz_5k` means
    /// such players in 2016, before AlphaZero's games were known. `rank_3d_5k` and `preaz_3d_5k` have Black's rank
    /// first. `proyear_1990` means professionals in 1990; years are 1800 to 2023.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(year) = name.strip_prefix("proyear_") {
            let year = year.parse().ok().filter(|year| (FIRST_YEAR..=LAST_YEAR).contains(year))?;
            return Some(Self(Players::Professional { year }));
        }
        let (ranks, before_alpha_zero) = match name.strip_prefix("rank_") {
            Some(ranks) => (ranks, false),
            None => (name.strip_prefix("preaz_")?, true),
        };
        let (black, white) = ranks.split_once('_').unwrap_or((ranks, ranks));
        let (black, white) = (Rank::from_text(black)?, Rank::from_text(white)?);
        Some(Self(Players::Ranked { black, white, before_alpha_zero }))
    }

    /// The numbers that a network reads of the profile if this player is to move on a board of `area` points.
    pub fn metadata(self, to_move: Color, area: usize) -> [f32; METADATA] {
        let mut row = [0.0; METADATA];
        row[PERSONS..PERSONS + 2].fill(1.0);
        for (at, rank) in self.ranks(to_move).into_iter().enumerate() {
            row[RANKS + at * STEPS..][..usize::from(rank.0)].fill(1.0);
        }
        self.record().write(&mut row);
        row[AREA] = (0.5 * libm::log(area as f64 / 361.0)) as f32;
        row
    }

    /// The ranks of the player to move and of the opponent.
    fn ranks(self, to_move: Color) -> [Rank; 2] {
        match (self.0, to_move) {
            (Players::Ranked { black, white, .. }, Color::Black) => [black, white],
            (Players::Ranked { black, white, .. }, Color::White) => [white, black],
            (Players::Professional { .. }, _) => [Rank::HIGHEST; 2],
        }
    }

    fn record(self) -> Record {
        match self.0 {
            Players::Ranked { before_alpha_zero, .. } => Record {
                unrated: 0.5,
                clock: CLOCK_BYOYOMI,
                main_time: 1200.0,
                period_time: 30.0,
                periods: 5.0,
                day: if before_alpha_zero { day(2016, 9, 1) } else { day(2020, 3, 1) },
                source: KGS,
            },
            Players::Professional { year } => Record {
                unrated: 0.0,
                clock: CLOCK_UNKNOWN,
                main_time: 0.0,
                period_time: 0.0,
                periods: 0.0,
                day: day(year.into(), 6, 1),
                source: if year <= LAST_OF_GOGOD { GOGOD } else { GO4GO },
            },
        }
    }
}

/// Writes the name that [`Profile::from_name`] takes.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Players::Professional { year } => write!(f, "proyear_{year}"),
            Players::Ranked { black, white, before_alpha_zero } => {
                let kind = if before_alpha_zero { "preaz" } else { "rank" };
                write!(f, "{kind}_{black}")?;
                if white == black { Ok(()) } else { write!(f, "_{white}") }
            }
        }
    }
}

impl Rank {
    const HIGHEST: Self = Self(1);

    fn from_text(text: &str) -> Option<Self> {
        let all = (1..=DAN + KYU).map(Self);
        // As in KataGo's names, a number has no sign and no leading zero.
        let number = text.get(..text.len().checked_sub(1)?)?;
        let number = number.parse::<u8>().ok().filter(|_| number.bytes().all(|b| b.is_ascii_digit()))?;
        let is_plain = !text.starts_with('0');
        all.filter(|_| is_plain).find(|rank| rank.written() == (number, text.as_bytes()[text.len() - 1]))
    }

    /// The number and the letter after it.
    fn written(self) -> (u8, u8) {
        if self.0 <= DAN { (DAN + 1 - self.0, b'd') } else { (self.0 - DAN, b'k') }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, letter) = self.written();
        write!(f, "{number}{}", char::from(letter))
    }
}

impl Record {
    /// Writes the numbers that depend neither on the ranks nor on the board. No profile has a Canadian clock.
    fn write(&self, row: &mut [f32; METADATA]) {
        let scaled = |by: f64, number: f64, less: f64| (by * (libm::log(number) - less)) as f32;
        row[UNRATED] = self.unrated;
        row[self.clock] = 1.0;
        row[MAIN_TIME] = scaled(0.4, self.main_time + 60.0, 6.5);
        row[PERIOD_TIME] = scaled(0.3, self.period_time + 1.0, 3.0);
        row[PERIODS] = scaled(0.5, self.periods + 2.0, 1.5);
        row[CANADIAN_STONES] = scaled(0.25, 2.0, 1.5);
        row[SOURCE + self.source] = 1.0;
        let factor = libm::pow(LONGEST, 1.0 / (DAY_PERIODS - 1) as f64);
        let mut period = WEEK;
        for turn in row[DAY..DAY + 2 * DAY_PERIODS].chunks_exact_mut(2) {
            let angle = f64::from(self.day) / period * TAU;
            turn.copy_from_slice(&[libm::cos(angle) as f32, libm::sin(angle) as f32]);
            period *= factor;
        }
    }
}

/// The days from the beginning of 1970 to this day in the Gregorian calendar; months are counted from 1.
fn day(year: i32, month: i32, day: i32) -> i32 {
    /// The days before each month in a year that begins with March, so that a leap day is its last day.
    const BEFORE: [i32; 12] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
    /// The days from March 1 of the year 0 to the beginning of 1970.
    const OF_1970: i32 = 719_468;
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + BEFORE[month as usize] + day - 1 - OF_1970
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn row(name: &str, to_move: Color, area: usize) -> [f32; METADATA] {
        Profile::from_name(name).expect("a profile").metadata(to_move, area)
    }

    fn ones(row: &[f32]) -> Vec<usize> {
        row.iter().enumerate().filter(|(_, x)| **x == 1.0).map(|(at, _)| at).collect()
    }

    fn near(row: &[f32], expected: &[f32]) {
        assert_eq!(row.len(), expected.len());
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{row:?}\n{expected:?}");
    }

    #[test]
    fn days_are_counted_in_the_calendar() {
        for ((year, month, of_month), days) in [
            ((1970, 1, 1), 0),
            ((1970, 3, 1), 59),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2016, 9, 1), 17_045),
            ((2020, 3, 1), 18_322),
            ((1800, 6, 1), -61_940),
            ((1900, 6, 1), -25_416),
            ((2023, 6, 1), 19_509),
        ] {
            assert_eq!(day(year, month, of_month), days, "{year}-{month}-{of_month}");
        }
    }

    /// Each profile is written with the name that it was read from, and other names are refused.
    #[test]
    fn names() {
        let ranks: Vec<_> = (1..=29).map(|steps| Rank(steps).to_string()).collect();
        assert_eq!(
            (ranks[0].as_str(), ranks[8].as_str(), ranks[9].as_str(), ranks[28].as_str()),
            ("9d", "1d", "1k", "20k")
        );
        let pairs = ranks.iter().flat_map(|black| ranks.iter().map(move |white| (black, white)));
        let pairs =
            pairs.filter(|(black, white)| black != white).map(|(black, white)| std::format!("rank_{black}_{white}"));
        let single = ranks.iter().flat_map(|rank| ["rank_", "preaz_"].map(|kind| std::format!("{kind}{rank}")));
        let years = (1800..=2023).map(|year| std::format!("proyear_{year}"));
        for name in pairs.chain(single).chain(years).chain(["preaz_1k_9d".to_string()]) {
            assert_eq!(Profile::from_name(&name).map(|profile| profile.to_string()), Some(name));
        }
        assert_eq!(Profile::from_name("rank_5k_5k"), Profile::from_name("rank_5k"));
        for name in [
            "",
            "_",
            "rank",
            "rank_",
            "rank_10d",
            "rank_0d",
            "rank_21k",
            "rank_0k",
            "rank_05k",
            "rank_+5k",
            "rank_5K",
            "rank_5",
            "rank_k",
            "rank_5k_",
            "rank__5k",
            "rank_5k_3d_1d",
            "Rank_5k",
            "rank_5p",
            "rank_5\u{e9}",
            "preaz_10d",
            "preaz",
            "proyear_1799",
            "proyear_2024",
            "proyear_",
            "proyear_x",
            "proyear_-1990",
            "5k",
            " rank_5k",
            "rank_5k ",
            "rank_261k",
        ] {
            assert_eq!(Profile::from_name(name), None, "{name}");
        }
    }

    /// These are, in the order of the module's table: two persons, 14 steps each, byoyomi (20 min, then five periods of
    /// 30 s), a server.
    #[test]
    fn players_of_one_rank() {
        for color in Color::ALL {
            let row = row("rank_5k", color, 361);
            let expected = [vec_of(0..2), vec_of(6..20), vec_of(40..54), [79, 153].to_vec()].concat();
            // The numbers of the day have their own test.
            assert_eq!(ones(&[&row[..87], &[0.0; 64], &row[151..]].concat()), expected);
            assert_eq!(row[74], 0.5);
            // 0.4·(ln 1260 − 6.5), 0.3·(ln 31 − 3), 0.5·(ln 7 − 1.5), 0.25·(ln 2 − 1.5), ½·ln 1.
            near(&row[82..87], &[0.255_546_8, 0.130_196_16, 0.222_955_07, -0.201_713_2, 0.0]);
            assert!(row[20..40].iter().chain(&row[54..74]).chain(&row[167..]).all(|x| *x == 0.0));
        }
    }

    fn vec_of(range: core::ops::Range<usize>) -> Vec<usize> {
        range.collect()
    }

    #[test]
    fn players_of_two_ranks_are_seen_by_who_is_to_move() {
        let steps = |row: &[f32; METADATA]| [&row[6..40], &row[40..74]].map(|steps| ones(steps).len());
        let (black, white) = (row("rank_3d_20k", Color::Black, 81), row("rank_3d_20k", Color::White, 81));
        assert_eq!((steps(&black), steps(&white)), ([7, 29], [29, 7]));
        assert_eq!((&black[..6], &black[74..]), (&white[..6], &white[74..]));
        // This is ½·ln(81/361).
        near(&black[86..87], &[-0.747_214_4]);
        assert_eq!(steps(&row("preaz_9d_1d", Color::Black, 361)), [1, 9]);
    }

    /// 2016-09-01 is day 17,045, 2020-03-01 day 18,322.
    #[test]
    fn a_day_is_told_by_the_turns_of_many_periods() {
        let turns = |name: &str, n: usize| {
            let row = row(name, Color::Black, 361);
            [row[87 + 2 * n], row[88 + 2 * n]]
        };
        // 17,045 = 2435·7 is a whole number of weeks; 18,322 = 2617·7 + 3.
        near(&turns("preaz_5k", 0), &[1.0, 0.0]);
        near(&turns("rank_5k", 0), &[-0.900_968_9, 0.433_883_74]);
        // 7·80,000^(n/31) days are 267.141 for n = 10 and 10,194.875 for n = 20.
        near(&turns("rank_5k", 10), &[-0.858_834_6, -0.512_253_1]);
        near(&turns("rank_5k", 20), &[0.292_103_06, -0.956_386_9]);
        // The last period is 560,000 days.
        near(&turns("rank_5k", 31), &[0.978_944_3, 0.204_127_5]);
        // The day is 61,940 days before 1970.
        near(&turns("proyear_1800", 31), &[0.768_076, -0.640_358_7]);
        // The two kinds of ranks differ only in the day.
        let (before, after) = (row("preaz_2d", Color::White, 169), row("rank_2d", Color::White, 169));
        assert_eq!((&before[..87], &before[151..]), (&after[..87], &after[151..]));
    }

    /// Professionals have the highest rank, an unknown clock and one of two collections as the source.
    #[test]
    fn professionals() {
        for (year, source) in [(1800, 156), (1990, 156), (2020, 156), (2021, 157), (2023, 157)] {
            let row = row(&std::format!("proyear_{year}"), Color::White, 361);
            assert_eq!(ones(&[&row[..87], &[0.0; 64], &row[151..]].concat()), [0, 1, 6, 40, 75, source], "{year}");
            assert_eq!(row[74], 0.0);
            // 0.4·(ln 60 − 6.5), 0.3·(ln 1 − 3), 0.5·(ln 2 − 1.5), 0.25·(ln 2 − 1.5).
            near(&row[82..87], &[-0.962_262_2, -0.9, -0.403_426_4, -0.201_713_2, 0.0]);
        }
    }
}
