//! Tic-tac-toe: `cargo run -p oncilla-core --example tic_tac_toe` plays a game against itself. It ends in a draw.

use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
use oncilla_core::tree::TreeMemory;
use oncilla_core::{Move, heapless::VecView};

/// The squares of the side to move and of the other one, a bit each; a move is the number of its square.
#[derive(Clone, Copy, Default)]
pub struct Board([u16; 2]);

const LINES: [u16; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

impl Board {
    pub fn play(self, mv: Move) -> Self {
        Self([self.0[1], self.0[0] | 1 << mv.0])
    }

    pub fn moves(self) -> impl Iterator<Item = Move> {
        (0..9).filter(move |square| (self.0[0] | self.0[1]) >> square & 1 == 0).map(Move)
    }

    pub fn is_lost(self) -> bool {
        LINES.iter().any(|line| self.0[1] & line == *line)
    }
}

impl Evaluator for Board {
    type Error = core::convert::Infallible;
    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend(line.fold(*self, Self::play).moves());
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let board = line.fold(*self, Self::play);
        policy.extend(board.moves().map(|_| 0.0));
        let verdict = match policy.len() {
            _ if board.is_lost() => Verdict::lost(),
            0 => Verdict::drawn(),
            _ => Verdict::Position(Value::EVEN),
        };
        Ok(Answer { key: Answer::NO_KEY, verdict })
    }
}

/// The move to play after some thousand playouts; `None` if there is none.
pub fn best_move(mut board: Board) -> Option<Move> {
    let mut memory = Box::new(TreeMemory::<5000, 100_000>::new());
    let mut search = Search::new(memory.lend(), Params::default());
    search.run(&mut board, MostMoves::<9>, MostPlies::<9>, 4000).expect("every leaf gets its answer");
    search.move_to_play(0, |place| board.moves().nth(place).expect("a place among these"))
}

#[allow(dead_code, reason = "a test uses the rest")]
fn main() {
    let next = |(board, mv): &(Board, Move)| Some(board.play(*mv)).and_then(|board| Some((board, best_move(board)?)));
    let first = best_move(Board::default()).map(|mv| (Board::default(), mv));
    std::iter::successors(first, next).for_each(|(_, mv)| println!("{}", mv.0));
}
