//! The capture of dead stones before the game ends (KataGo's `cleanupBeforePass`).
//!
//! A stone in the pass-alive area of the other side can't live, and the search counts it as dead: nothing is left to
//! play for, so it passes. But a referee that counts every stone on the board as alive would give it and the points
//! around it away.

use oncilla_go::area::pass_alive;
use oncilla_go::{Button, Move, Scoring};

use crate::go::Game;
use crate::go::params::Kind;

/// When a player captures dead stones in its pass-alive area before it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleansUp {
    /// Under area scoring, if the board is counted as it lies (`friendlyPassOk` false).
    Auto,
    /// Under area scoring. (Under territory scoring each such move would cost a point.)
    Always,
    /// Never.
    Never,
}

impl Kind for CleansUp {
    type Range = ();

    fn read(name: &str, text: &str, (): &()) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "true" => Ok(Self::Always),
            "false" => Ok(Self::Never),
            _ => Err(format!("Could not parse '{text}' as bool or auto for key '{name}'")),
        }
    }

    fn write(&self) -> String {
        let word = match self {
            Self::Auto => "auto",
            Self::Always => "true",
            Self::Never => "false",
        };
        word.to_string()
    }

    fn values((): &()) -> String {
        "`auto`, `true`, `false`".to_string()
    }
}

/// The move that captures dead stones, or comes nearer to that, for a player that would pass: an empty point of its
/// pass-alive area beside a stone of the other side, if the move is legal and allowed. `None` if nothing is to be
/// captured, or if a pass takes the button.
pub fn instead_of_pass(game: &Game, when: CleansUp, allows: impl Fn(Move) -> bool) -> Option<Move> {
    let rules = game.rules();
    let does = match when {
        CleansUp::Auto => !rules.friendly_pass,
        CleansUp::Always => true,
        CleansUp::Never => false,
    };
    if !does || rules.scoring != Scoring::Area || game.button() == Button::Available {
        return None;
    }
    let (board, side) = (game.board(), game.side_to_move());
    let area = pass_alive(board, rules.suicide);
    let is_beside_dead = |point: Move| board.neighbours(point).any(|beside| board.stone(beside) == Some(!side));
    game.size().points().find(|&point| {
        area.of(side).contains(point)
            && board.stone(point).is_none()
            && is_beside_dead(point)
            && game.is_legal(point)
            && allows(point)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{Rules, Size};

    /// Black's stones live, with an eye at D1 and one at A1 and B1, where White has a stone at A1. It is Black's turn.
    const DEAD: &str = "A2 A1 B2 pass C2 pass C1 pass D2 pass E2 pass E1 pass";

    fn game(rules: Rules, moves: &str) -> Game {
        let size = Size::new(5, 5).unwrap();
        let mut game = Game::new(size, rules);
        moves.split_whitespace().for_each(|mv| game.play(size.parse(mv).unwrap()).unwrap());
        game
    }

    fn found(game: &Game, when: CleansUp) -> Option<String> {
        instead_of_pass(game, when, |_| true).map(|mv| game.size().format(mv).to_string())
    }

    #[test]
    fn what_is_dead_is_captured_where_the_board_counts_as_it_lies() {
        let capture = Some("B1".to_string());
        let strict = game(Rules::TROMP_TAYLOR, DEAD);
        assert_eq!([CleansUp::Auto, CleansUp::Always].map(|when| found(&strict, when)), [capture.clone(), capture]);
        assert_eq!(found(&strict, CleansUp::Never), None);
        assert_eq!(instead_of_pass(&strict, CleansUp::Auto, |mv| mv == strict.size().pass()), None, "not allowed");
        let friendly = game(Rules { friendly_pass: true, ..Rules::TROMP_TAYLOR }, DEAD);
        assert_eq!(found(&friendly, CleansUp::Auto), None, "the players agree on what is dead");
        let territory = game(Rules { scoring: Scoring::Territory, ..Rules::TROMP_TAYLOR }, DEAD);
        assert_eq!(found(&territory, CleansUp::Always), None, "it would cost points");
    }

    #[test]
    fn what_lives_and_what_is_captured_already_is_left_alone() {
        let captured = game(Rules::TROMP_TAYLOR, &format!("{DEAD} B1 pass"));
        assert_eq!(found(&captured, CleansUp::Auto), None);
        // Without the second eye Black is not alive whatever White does.
        let open = game(Rules::TROMP_TAYLOR, DEAD.strip_suffix(" E2 pass E1 pass").unwrap());
        assert_eq!(found(&open, CleansUp::Auto), None);
    }
}
