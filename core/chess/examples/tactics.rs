//! What is seen of positions and moves (`oncilla_chess::tactics`), for the fitting of hints
//! (`fixtures/train/hints.py`).
//!
//! Reads a FEN a line. Writes numbers of single precision, least byte first: for each position the count of its moves
//! and what is seen of it, then for each move from + 64·to + 4096·promotion (a knight is 1, a queen 4; castling is king
//! takes rook) and what is seen of that.
//!
//! `cargo run --release -p oncilla-chess --example tactics < FENS`

use std::io::{BufRead, BufWriter, Write};

use oncilla_chess::tactics::{OF_MOVE, look};
use oncilla_chess::{History, MoveList};

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut put = |numbers: &[f32]| numbers.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()));
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let history: History = History::from_fen(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        let (mut gains, mut seen) = (vec![0; moves.len()], vec![[0.0; OF_MOVE]; moves.len()]);
        let position = look(history.board(), &moves, &[], &mut gains, &mut seen);
        put(&[moves.len() as f32])?;
        put(&position)?;
        for (mv, seen) in moves.iter().zip(seen) {
            let promotion = mv.promotion.map_or(0, |piece| piece as usize);
            put(&[(mv.from as usize + 64 * mv.to as usize + 4096 * promotion) as f32])?;
            put(&seen)?;
        }
    }
    Ok(())
}
