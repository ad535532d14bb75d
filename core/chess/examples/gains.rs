//! What every legal move gains in material, as a hint for the training of networks (`fixtures/train`).
//!
//! Reads a FEN a line and writes a line with `MOVE:CENTIPAWNS` for each legal move: the difference between the material (of the side
//! to move, less the other's) before the move and after it, the best reply and all captures that follow, as an alpha-beta
//! search finds it. Mates count as [`MATE`], a stalemate as equal material. Castling is king takes rook.
//!
//! `cargo run --release -p oncilla-chess --example gains < FENS`

use std::io::{BufRead, Write};

use oncilla_chess::cozy_chess::BitBoard;
use oncilla_chess::{Board, History, Move, Piece, Rank};

/// More than all the material there is.
const MATE: i32 = 30_000;

/// Plies that are searched behind a move before only captures count.
const REPLIES: u32 = 1;

/// Captures in a row after which the material counts as it stands.
const CAPTURES: u32 = 8;

fn worth(piece: Piece) -> i32 {
    match piece {
        Piece::Pawn => 100,
        Piece::Knight => 310,
        Piece::Bishop => 330,
        Piece::Rook => 500,
        Piece::Queen => 900,
        Piece::King => 0,
    }
}

/// Of the side to move, less the other's.
fn material(board: &Board) -> i32 {
    let side = board.side_to_move();
    Piece::ALL
        .into_iter()
        .map(|piece| {
            let count = |color| board.colored_pieces(color, piece).len() as i32;
            worth(piece) * (count(side) - count(!side))
        })
        .sum()
}

/// Squares on which a piece's move may win material: the other side's pieces, and for pawns the last ranks and the files beside them.
fn loud_squares(board: &Board, piece: Piece) -> BitBoard {
    let other = board.colors(!board.side_to_move());
    match piece {
        Piece::Pawn => {
            let en_passant = board.en_passant().map_or(BitBoard::EMPTY, |file| file.bitboard());
            other | en_passant | Rank::First.bitboard() | Rank::Eighth.bitboard()
        }
        _ => other,
    }
}

/// Legal moves with what each wins at once, those that win the most by the least piece first; of quiet ones none with `loud`.
fn moves(board: &Board, loud: bool) -> Vec<(i32, i32, Move)> {
    let other = board.colors(!board.side_to_move());
    let mut found = Vec::with_capacity(if loud { 16 } else { 64 });
    board.generate_moves(|mut piece_moves| {
        if loud {
            piece_moves.to &= loud_squares(board, piece_moves.piece);
        }
        for mv in piece_moves {
            let taken = if other.has(mv.to) { board.piece_on(mv.to) } else { None };
            let en_passant = piece_moves.piece == Piece::Pawn && mv.from.file() != mv.to.file() && taken.is_none();
            let promoted = mv.promotion.map_or(0, |piece| worth(piece) - worth(Piece::Pawn));
            let gain = taken.map_or(0, worth) + promoted + if en_passant { worth(Piece::Pawn) } else { 0 };
            if !loud || gain > 0 {
                found.push((10 * gain - worth(piece_moves.piece), gain, mv));
            }
        }
        false
    });
    found.sort_unstable_by_key(|(order, ..)| -order);
    found
}

/// The material that the side to move ends with, between `alpha` and `beta`, if it has `stand` now.
fn search(board: &Board, stand: i32, depth: u32, captures: u32, mut alpha: i32, beta: i32) -> i32 {
    let in_check = !board.checkers().is_empty();
    let quiet = depth == 0 && !in_check;
    if captures == 0 {
        return stand;
    }
    if quiet {
        if stand >= beta {
            return stand;
        }
        alpha = alpha.max(stand);
    }
    let found = moves(board, quiet);
    if found.is_empty() && !quiet {
        return if in_check { -MATE } else { 0 };
    }
    let mut best = if quiet { stand } else { -MATE };
    for (_, gain, mv) in found {
        let mut after = board.clone();
        after.play_unchecked(mv);
        let captures = if depth == 0 { captures - 1 } else { captures };
        best = best.max(-search(&after, -(stand + gain), depth.saturating_sub(1), captures, -beta, -alpha));
        alpha = alpha.max(best);
        if alpha >= beta {
            break;
        }
    }
    best
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let history: History = History::from_fen(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let board = history.board();
        let before = material(board);
        for (_, gain, mv) in moves(board, false) {
            let mut after = board.clone();
            after.play_unchecked(mv);
            write!(out, "{mv}:{} ", -search(&after, -(before + gain), REPLIES, CAPTURES, -MATE, MATE) - before)?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}
