//! The rules of Connect Four, an estimate of its positions, and a player. Neither needs `std`: the firmware in
//! `fixtures/firmware` plays the same game.
#![allow(dead_code, reason = "who plays a game needs other things than who tests one")]

use core::fmt;
use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
use oncilla_core::tree::Tree;
use oncilla_core::{Move, heapless::VecView};

const COLUMNS: u16 = 7;
const ROWS: u16 = 6;
/// A column has one bit more than squares, so that no line goes on from the top of one to the foot of the next.
const COLUMN_BITS: u16 = ROWS + 1;

/// The stones of the side to move and of the other one, a bit each, column by column from the left and up.
#[derive(Clone, Copy, Default)]
pub struct Board {
    own: u64,
    other: u64,
}

impl Board {
    /// Drops a stone into a column, which is what a move says.
    pub fn play(self, mv: Move) -> Self {
        let stones = self.own | self.other;
        let foot = 1 << (mv.0 * COLUMN_BITS);
        let column = ((1 << ROWS) - 1) * foot;
        // One more than what fills a column's lower squares is the next one above them.
        Self { own: self.other, other: self.own | ((stones & column) + foot) }
    }

    /// The columns that are not full, from the middle outwards.
    pub fn moves(self) -> impl Iterator<Item = Move> {
        let top = |column: u16| 1 << (column * COLUMN_BITS + ROWS - 1);
        let stones = self.own | self.other;
        [3, 2, 4, 1, 5, 0, 6].into_iter().filter(move |&column| stones & top(column) == 0).map(Move)
    }

    /// True if the side that has just moved has four in a line.
    pub fn is_lost(self) -> bool {
        [1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1].into_iter().any(|step| {
            let pairs = self.other & self.other >> step;
            pairs & pairs >> (2 * step) != 0
        })
    }

    /// Who has more stones near the middle, which are part of more lines.
    fn estimate(self) -> f32 {
        let weight = |stones: u64| {
            let in_column = |column: u16| (stones >> (column * COLUMN_BITS) & 0x3f).count_ones();
            (0..COLUMNS).map(|column| in_column(column) * u32::from(3 - column.abs_diff(3))).sum::<u32>() as f32
        };
        (weight(self.own) - weight(self.other)) / 40.0
    }
}

impl Board {
    /// Two positions have the same key only if they are the same: the side to move's stones, and a mark above each
    /// column. With every move a stone is added, so no line comes by a key twice.
    pub fn key(self) -> u64 {
        let feet: u64 = (0..COLUMNS).map(|column| 1 << (column * COLUMN_BITS)).sum();
        self.own + (self.own | self.other) + feet
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in (0..ROWS).rev() {
            for column in 0..COLUMNS {
                let square = 1 << (column * COLUMN_BITS + row);
                let stone = if self.own & square != 0 { 'o' } else { 'x' };
                write!(f, " {}", if (self.own | self.other) & square == 0 { '.' } else { stone })?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Evaluator for Board {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend(line.fold(*self, Self::play).moves());
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let board = line.fold(*self, Self::play);
        // The middle is looked at first.
        policy.extend(board.moves().map(|mv| -0.3 * f32::from(mv.0.abs_diff(3))));
        let verdict = match policy.len() {
            _ if board.is_lost() => Verdict::lost(),
            0 => Verdict::drawn(),
            _ => Verdict::Position(Value { wl: board.estimate(), ..Value::EVEN }),
        };
        Ok(Answer { key: board.key(), verdict })
    }
}

/// Plays from a position on; what the search knows is kept from move to move.
pub struct Player<'m> {
    board: Board,
    search: Search<Tree<'m>>,
}

impl<'m> Player<'m> {
    pub fn new(board: Board, tree: Tree<'m>) -> Self {
        Self { board, search: Search::new(tree, Params::default()) }
    }

    /// The move after `playouts` playouts; `None` if the game has ended.
    pub fn best_move(&mut self, playouts: u64) -> Option<Move> {
        self.search.start_move();
        self.search
            .run(
                &mut self.board,
                MostMoves::<{ COLUMNS as usize }>,
                MostPlies::<{ (COLUMNS * ROWS) as usize }>,
                playouts,
            )
            .expect("every leaf is answered, and the tree folds what it has no room for");
        let nth = |place| self.board.moves().nth(place).expect("a place in this very list");
        self.search.move_to_play((self.board.own | self.board.other).count_ones(), nth)
    }

    /// Somebody has moved.
    pub fn play(&mut self, mv: Move) {
        self.board = self.board.play(mv);
        self.search.advance(&[mv]);
    }

    pub fn board(&self) -> Board {
        self.board
    }

    pub fn search(&self) -> &Search<Tree<'m>> {
        &self.search
    }
}
