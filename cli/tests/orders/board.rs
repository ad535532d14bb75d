//! The positions of the sessions, and their legal moves in UCI notation. The rules are those of cozy-chess only.

use crate::random::Random;
use cozy_chess::{Board, Color, Move, Piece, Square};

/// Start positions: the usual one, castling, promotion, en passant, check, few moves, no moves.
const FENS: [&str; 8] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/P5k1/8/8/8/6K1/1p6/8 w - - 0 60",
    "rnbqk2r/pp1p1ppp/4pn2/8/1bPpP3/2N5/PP3PPP/R1BQKBNR b KQkq e3 0 6",
    "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1",
    "k7/8/1K6/8/8/8/8/7R w - - 0 1",
    // Stalemate and mate: no legal moves.
    "k7/8/1Q6/8/8/8/8/7K b - - 0 1",
    "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1",
];

/// A position that a `position` command sets up.
#[derive(Clone, Debug)]
pub struct Position {
    fen: &'static str,
    moves: Vec<String>,
    board: Board,
}

impl Position {
    pub fn start() -> Self {
        Self::of(FENS[0])
    }

    fn of(fen: &'static str) -> Self {
        Self { fen, moves: Vec::new(), board: Board::from_fen(fen, false).expect("a position") }
    }

    /// Another position: a few moves further on, or an unrelated one.
    pub fn another(&self, random: &mut Random) -> Self {
        let elsewhere: &&'static str = random.pick(&FENS);
        let mut next = if random.percent(50) { self.clone() } else { Self::of(elsewhere) };
        for _ in 0..random.below(4) {
            let moves = next.legal_moves();
            if moves.is_empty() {
                break;
            }
            let (mv, text) = random.pick(&moves);
            next.board.play_unchecked(*mv);
            next.moves.push(text.clone());
        }
        next
    }

    /// The `position` command that sets this position up.
    pub fn line(&self) -> String {
        let place = if self.fen == FENS[0] { "startpos".to_string() } else { format!("fen {}", self.fen) };
        let moves = if self.moves.is_empty() { String::new() } else { format!(" moves {}", self.moves.join(" ")) };
        format!("position {place}{moves}")
    }

    fn legal_moves(&self) -> Vec<(Move, String)> {
        let mut moves = Vec::new();
        self.board.generate_moves(|of_piece| {
            moves.extend(of_piece.into_iter().map(|mv| (mv, uci(&self.board, mv))));
            false
        });
        moves
    }

    /// The legal moves as a GUI writes them.
    pub fn moves(&self) -> Vec<String> {
        self.legal_moves().into_iter().map(|(_, text)| text).collect()
    }
}

/// cozy-chess writes castling as king takes rook, UCI as the king's two steps.
fn uci(board: &Board, mv: Move) -> String {
    let own = board.colors(board.side_to_move());
    let is_castling = board.piece_on(mv.from) == Some(Piece::King) && own.has(mv.to);
    if !is_castling {
        return mv.to_string();
    }
    let rank = if board.side_to_move() == Color::White { 0 } else { 7 };
    let file = if mv.to.file() > mv.from.file() { 6 } else { 2 };
    format!("{}{}", mv.from, Square::index(rank * 8 + file))
}
