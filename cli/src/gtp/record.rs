//! The game as the controller has set it up and played it: initial stones, moves and rules.

use oncilla_go::{Board, Color, Komi, Move, Rules, Size};

use crate::go::{Game, Setup};

/// A game whose moves can be taken back.
#[derive(Clone, Debug)]
pub struct Record {
    /// The initial position and the rules. It has no moves.
    setup: Setup,
    black_run_is_handicap: bool,
    moves: Vec<(Color, Move)>,
    /// The game after all moves.
    game: Box<Game>,
}

/// More moves than any game has. The limit keeps a controller that sends moves without end from filling the memory.
const MOST_MOVES: usize = 100_000;

impl Record {
    /// A game that begins on an empty board.
    pub fn new(size: Size, rules: Rules, black_run_is_handicap: bool) -> Self {
        Self::starting_from(&Board::new(size), Color::Black, rules, black_run_is_handicap)
    }

    /// A game that begins with the stones on a board, and with `first` to move.
    pub fn starting_from(board: &Board, first: Color, rules: Rules, black_run_is_handicap: bool) -> Self {
        let setup = Setup::new(board, first, rules, black_run_is_handicap);
        let game = Box::new(setup.start());
        Self { setup, black_run_is_handicap, moves: Vec::new(), game }
    }

    /// Begins a new game under the same rules, with the stones on a board and with `first` to move.
    pub fn begin(&mut self, board: &Board, first: Color) {
        *self = Self::starting_from(board, first, *self.rules(), self.black_run_is_handicap);
    }

    /// The game after the last move.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The game after the last move, with this player to move and with room for a search.
    pub fn turn_of(&self, color: Color) -> Box<Game> {
        let mut game = self.game.clone();
        self.setup.turn_to(&mut game, color);
        game
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.game.size()
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        self.setup.rules()
    }

    /// The moves.
    pub fn moves(&self) -> &[(Color, Move)] {
        &self.moves
    }

    /// The stones and the side to move before the first move.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The number of stones that a player has had on the board, from the beginning or by moves.
    pub fn stones_of(&self, color: Color) -> usize {
        let pass = self.size().pass();
        let played = self.moves.iter().filter(|(mover, mv)| *mover == color && *mv != pass);
        self.setup.stones(color).len() + played.count()
    }

    /// The number of passes in a row at the end.
    pub fn passes(&self) -> usize {
        let pass = self.size().pass();
        self.moves.iter().rev().take_while(|(_, mv)| *mv == pass).count()
    }

    /// Plays a move of either player, if the rules allow it. A move out of turn begins a new history, and what was
    /// before can't forbid it.
    ///
    /// # Errors
    /// Why the move is illegal. The game has not changed then.
    pub fn play(&mut self, color: Color, mv: Move) -> Result<(), String> {
        if !self.turn_of(color).is_legal(mv) {
            return Err(format!("illegal move: {}, {}", self.size().format(mv), self.why_not(color, mv)));
        }
        self.play_tolerantly(color, mv)
    }

    /// Plays a move that the rules may forbid (ko or suicide), because some records have such moves.
    ///
    /// # Errors
    /// The point is occupied, the stone would have no liberties, or there are too many moves.
    pub fn play_tolerantly(&mut self, color: Color, mv: Move) -> Result<(), String> {
        if self.moves.len() >= MOST_MOVES {
            return Err(format!("a game of more than {MOST_MOVES} moves"));
        }
        let illegal = |_| format!("illegal move: {}, {}", self.size().format(mv), self.why_not(color, mv));
        let mut game = self.game.clone();
        self.setup.play(&mut game, color, mv).map_err(illegal)?;
        self.game = game;
        self.moves.push((color, mv));
        Ok(())
    }

    fn why_not(&self, color: Color, mv: Move) -> &'static str {
        let board = self.game.board();
        if board.stone(mv).is_some() {
            "there is a stone"
        } else if !board.is_possible(color, mv) {
            "the stone would have no liberties"
        } else if board.ko() == Some((color, mv)) {
            "ko"
        } else if !board.is_legal(color, mv, self.rules().suicide) {
            "suicide"
        } else {
            "superko: the position was there before"
        }
    }

    /// Takes the last move back; false if there is none.
    pub fn undo(&mut self) -> bool {
        let undone = self.moves.pop().is_some();
        self.replay();
        undone
    }

    /// Goes on under other rules. Earlier moves stay, even if these rules forbid them.
    pub fn set_rules(&mut self, rules: Rules) {
        self.setup = self.setup.clone().with_rules(rules);
        self.replay();
    }

    /// Goes on with another komi.
    pub fn set_komi(&mut self, komi: Komi) {
        self.set_rules(Rules { komi, ..*self.rules() });
    }

    fn replay(&mut self) {
        *self.game = self.setup.start();
        for &(color, mv) in &self.moves {
            // The move was played once already, so it can be played.
            let _ = self.setup.play(&mut self.game, color, mv);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rules: &str, moves: &[(Color, &str)]) -> Record {
        let mut record = Record::new(Size::new(5, 5).unwrap(), rules.parse().unwrap(), true);
        moves.iter().for_each(|(color, text)| record.play(*color, at(text)).unwrap());
        record
    }

    fn at(text: &str) -> Move {
        Size::new(5, 5).unwrap().parse(text).unwrap()
    }

    use Color::{Black as B, White as W};

    /// White's last stone has captured one on C2, in a ko.
    const KO: [(Color, &str); 8] =
        [(B, "B3"), (W, "C3"), (B, "A2"), (W, "D2"), (B, "B1"), (W, "C1"), (B, "C2"), (W, "B2")];

    #[test]
    fn moves_are_played_and_taken_back() {
        let mut record = record("chinese", &[(B, "C3"), (W, "pass"), (B, "C4")]);
        assert_eq!((record.moves().len(), record.stones_of(B), record.stones_of(W)), (3, 2, 0));
        assert!(record.undo() && record.undo() && record.passes() == 0);
        assert_eq!(record.game().side_to_move(), W);
        assert!(record.undo() && !record.undo());
        assert_eq!(record.game().board().occupied().len(), 0);
    }

    #[test]
    fn what_the_rules_forbid_is_refused_with_its_reason() {
        let mut record = record("chinese", &KO);
        let mut error = |color, text| record.play(color, at(text)).unwrap_err();
        assert_eq!(error(B, "C2"), "illegal move: C2, ko");
        assert_eq!(error(B, "C3"), "illegal move: C3, there is a stone");
        record.play(B, at("E5")).unwrap();
        let mut corner = self::record("tromp-taylor", &[(B, "A2"), (W, "E5"), (B, "B1")]);
        assert!(corner.play(W, at("A1")).unwrap_err().ends_with("the stone would have no liberties"));
        let mut two = self::record("chinese", &[(B, "A1"), (W, "A2"), (B, "E5"), (W, "B2"), (B, "E4"), (W, "C1")]);
        assert!(two.play(B, at("B1")).unwrap_err().ends_with("suicide"));
    }

    #[test]
    fn superko_is_refused_where_the_rules_have_it() {
        let mut record = record("tromp-taylor", &KO);
        record.play(B, at("pass")).unwrap();
        record.play(W, at("pass")).unwrap();
        // The passes have ended the simple ko, but superko still forbids the move.
        assert_eq!(record.play(B, at("C2")).unwrap_err(), "illegal move: C2, superko: the position was there before");
        record.set_rules("chinese".parse().unwrap());
        record.play(B, at("C2")).unwrap();
    }

    /// The search for a move out of turn sees the new history, so it may choose such a move.
    #[test]
    fn superko_forgets_what_was_before_a_move_out_of_turn() {
        let mut record = record("tromp-taylor", &KO);
        record.play(B, at("pass")).unwrap();
        assert!(record.turn_of(B).is_legal(at("C2")));
        record.play(B, at("C2")).unwrap();
        assert_eq!((record.moves().len(), record.game().ply()), (10, 1));
        assert!(record.play(W, at("C2")).unwrap_err().ends_with("there is a stone"));
    }

    #[test]
    fn superko_reaches_back_in_a_long_game() {
        let long = |before: usize, after: usize| {
            let mut record = record("tromp-taylor", &[]);
            let pass = |record: &mut Record, passes: usize| {
                (0..passes).for_each(|index| record.play([B, W][index % 2], at("pass")).unwrap());
            };
            pass(&mut record, before);
            KO.iter().for_each(|(color, text)| record.play(*color, at(text)).unwrap());
            pass(&mut record, after);
            assert_eq!(record.game().ply(), before + KO.len() + after);
            record.play(B, at("C2")).is_err()
        };
        assert_eq!(
            [(0, 700), (600, 400), (1500, 500), (0, 1000)].map(|(before, after)| long(before, after)),
            [true, true, true, false]
        );
    }

    #[test]
    fn other_rules_leave_what_was_played() {
        let mut record = record("tromp-taylor", &[(B, "A1"), (W, "A2"), (B, "E5"), (W, "B2"), (B, "E4"), (W, "C1")]);
        record.play(B, at("B1")).unwrap();
        assert_eq!(record.game().board().stones(B).len(), 2, "suicide");
        record.set_rules("japanese".parse().unwrap());
        record.set_komi(Komi::from_points(0.5).unwrap());
        assert_eq!(record.game().board().stones(B).len(), 2);
        assert_eq!((record.rules().komi.points(), record.stones_of(B)), (0.5, 4));
    }

    #[test]
    fn out_of_turn_it_begins_anew() {
        let record = record("chinese", &[(B, "C3"), (B, "C4"), (W, "D3")]);
        assert_eq!((record.moves().len(), record.game().ply()), (3, 2));
        let game = record.turn_of(W);
        assert_eq!((game.side_to_move(), game.ply()), (W, 0));
        assert_eq!(record.turn_of(B).ply(), 2);
    }
}
