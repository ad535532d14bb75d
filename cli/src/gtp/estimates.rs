//! What the player has found in its turns, and what follows: it resigns, or searches less.

use oncilla_go::Color;

use super::record::Record;
use super::settings::Settings;
use super::{advantage, handicap};

/// The result of the search for a move, from the view of the side that moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of moves before it.
    pub turn: usize,
    pub color: Color,
    /// Wins less losses, from −1 to 1.
    pub win_loss: f64,
    /// Points.
    pub lead: f64,
}

impl Estimate {
    fn win_loss_of(&self, side: Color) -> f64 {
        if self.color == side { self.win_loss } else { -self.win_loss }
    }
}

/// The results of a game's turns, of both players if the program plays for both.
#[derive(Debug, Default)]
pub struct Estimates(Vec<Estimate>);

/// A player that wins in all of so many last turns searches less.
const WINNING_TURNS: usize = 3;

/// The part of its visits, playouts and time that a player uses after the opponent has passed, and after that was its
/// second pass in two turns.
pub fn factor_of_passes(settings: &Settings, record: &Record) -> f64 {
    let pass = record.size().pass();
    let was_pass = |back: usize| record.moves().iter().rev().nth(back).is_some_and(|(_, mv)| *mv == pass);
    match (was_pass(0), was_pass(2)) {
        (false, _) => 1.0,
        (true, false) => settings.search_factor_after_one_pass,
        (true, true) => settings.search_factor_after_two_pass,
    }
}

impl Estimates {
    /// Keeps the result of a turn in the place of those of this turn and later ones, whose moves were taken back.
    pub fn keep(&mut self, estimate: Estimate) {
        self.forget_beyond(estimate.turn);
        self.0.push(estimate);
    }

    /// Forgets the results of all turns from `turn` on.
    pub fn forget_beyond(&mut self, turn: usize) {
        self.0.retain(|estimate| estimate.turn < turn);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The wins of `side` less its losses, turn by turn.
    pub fn win_losses(&self, side: Color) -> impl DoubleEndedIterator<Item = f64> + ExactSizeIterator {
        self.0.iter().map(move |estimate| estimate.win_loss_of(side))
    }

    /// The part of its visits, playouts and time that `side` uses: 1 up to the threshold, and from there less and less,
    /// down to `searchFactorWhenWinning` where it can't win more than it does (`most`, `winLossUtilityFactor`).
    pub fn factor(&self, settings: &Settings, side: Color, most: f64) -> f64 {
        let sure = settings.search_factor_when_winning_threshold;
        let recent = self.win_losses(side).rev().take(WINNING_TURNS);
        if recent.len() < WINNING_TURNS || most - sure <= 1e-10 {
            return 1.0;
        }
        let beyond = (recent.fold(most, f64::min) - sure).max(0.0) / (most - sure);
        1.0 - beyond * (1.0 - settings.search_factor_when_winning)
    }

    /// Whether `side` resigns after the newest turn, which was its own: it has been almost sure to lose for several
    /// turns, and is far enough behind.
    pub fn resigns(&self, settings: &Settings, side: Color, record: &Record) -> bool {
        let (area, played) = (record.size().area(), record.moves().len());
        if !settings.allow_resignation || (played as f64) < settings.resign_min_moves_per_board_area * area as f64 {
            return false;
        }
        let later = match side {
            Color::Black => 0.0,
            Color::White => handicap::made_up_later(advantage::head_start(record.game()), area, played),
        };
        let behind = settings.resign_min_score_difference.max(later);
        let mut last = self.win_losses(side).rev().take(settings.resign_consec_turns);
        self.0.last().is_some_and(|now| -now.lead >= behind)
            && last.len() == settings.resign_consec_turns
            && last.all(|win_loss| win_loss < settings.resign_threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{Komi, Rules, Size};

    /// White's turns with these wins less losses, 20 points behind in each.
    fn of_white(win_losses: &[f64]) -> Estimates {
        let mut estimates = Estimates::default();
        for (turn, &win_loss) in win_losses.iter().enumerate() {
            estimates.keep(Estimate { turn: 2 * turn + 1, color: Color::White, win_loss, lead: -20.0 });
        }
        estimates
    }

    #[test]
    fn who_wins_for_three_turns_searches_less() {
        let settings = Settings::default();
        let factor = |win_losses: &[f64]| of_white(win_losses).factor(&settings, Color::White, 1.0);
        assert_eq!(factor(&[1.0; 2]), 1.0);
        assert!((factor(&[1.0; 3]) - 0.4).abs() < 1e-12);
        assert_eq!([0.92, 0.95].map(|least| factor(&[1.0, least, 1.0])), [1.0; 2], "a win rate of 97.5 %");
        assert!((factor(&[0.0, 0.99, 0.97, 0.98]) - 0.76).abs() < 1e-12);
        // The opponent's view, and wins that are worth no more than the threshold.
        assert_eq!(of_white(&[1.0; 3]).factor(&settings, Color::Black, 1.0), 1.0);
        assert!((of_white(&[-1.0; 3]).factor(&settings, Color::Black, 1.0) - 0.4).abs() < 1e-12);
        assert_eq!(of_white(&[1.0; 3]).factor(&settings, Color::White, 0.95), 1.0);
    }

    #[test]
    fn who_answers_passes_searches_less() {
        let after = |moves: &str| {
            let mut record = game(6.5, 0);
            for (side, mv) in [Color::Black, Color::White].into_iter().cycle().zip(moves.split_whitespace()) {
                record.play(side, record.size().parse(mv).unwrap()).unwrap();
            }
            factor_of_passes(&Settings::default(), &record)
        };
        assert_eq!(["", "D4", "pass D4"].map(after), [1.0; 3]);
        assert_eq!(["pass", "D4 pass", "D4 pass Q4 D16 pass"].map(after), [0.5; 3]);
        assert_eq!(["pass pass", "D4 pass pass"].map(after), [0.5; 2], "one pass of the opponent");
        assert_eq!(["pass D4 pass", "D4 pass Q4 pass"].map(after), [0.25; 2]);
    }

    /// A game of so many moves, with this komi: each player fills its own side of the board.
    fn game(komi: f32, moves: usize) -> Record {
        let rules = Rules { komi: Komi::from_points(komi).unwrap(), ..Rules::from_name("japanese").unwrap() };
        let mut record = Record::new(Size::STANDARD, rules, true);
        let row = record.size().x() as usize;
        for at in 0..moves {
            let (side, y) = (Color::ALL[at % 2], (at / 2 / row) as u8);
            let y = if side == Color::Black { y } else { record.size().y() - 1 - y };
            record.play(side, record.size().point((at / 2 % row) as u8, y).unwrap()).unwrap();
        }
        record
    }

    #[test]
    fn who_is_lost_for_several_turns_resigns() {
        let settings = Settings { resign_min_score_difference: 20.0, ..Settings::default() };
        let resigns = |settings: &Settings, win_losses: &[f64]| {
            of_white(win_losses).resigns(settings, Color::White, &game(6.5, 8))
        };
        assert!(resigns(&settings, &[0.5, -0.95, -0.95, -0.95]));
        assert!(!resigns(&settings, &[-0.95; 2]));
        assert!(!resigns(&settings, &[-0.95, -0.85, -0.95]));
        assert!(!resigns(&Settings { resign_min_score_difference: 20.5, ..settings }, &[-0.95; 3]));
        assert!(!resigns(&Settings { resign_min_moves_per_board_area: 0.1, ..settings }, &[-0.95; 3]));
        assert!(!resigns(&Settings { allow_resignation: false, ..settings }, &[-0.95; 3]));
        // Only the newest lead counts, as in KataGo.
        let mut estimates = of_white(&[-0.95; 3]);
        estimates.keep(Estimate { turn: 7, color: Color::White, win_loss: -0.95, lead: -19.0 });
        assert!(!estimates.resigns(&settings, Color::White, &game(6.5, 8)));
    }

    /// A komi can be a handicap, too.
    #[test]
    fn who_has_given_a_handicap_resigns_later() {
        let settings = Settings::default();
        let resigns = |komi, moves| of_white(&[-0.95; 3]).resigns(&settings, Color::White, &game(komi, moves));
        assert!(resigns(6.5, 8) && !resigns(-50.0, 8) && !resigns(-50.0, 100));
        // 17 points are given: after the opening White may be 17 + 5 + 2.55 behind, later 7.55.
        assert!(!resigns(-10.0, 80) && resigns(-10.0, 230));
        let by_black = Estimate { turn: 9, color: Color::Black, win_loss: -0.95, lead: -20.0 };
        let mut estimates = of_white(&[0.95; 3]);
        estimates.keep(by_black);
        assert!(estimates.resigns(&settings, Color::Black, &game(50.0, 10)), "a player that was given points");
    }
}
