//! What every legal move gains in material, as a hint for the training of networks (`fixtures/train`).
//!
//! Reads a FEN a line and writes a line with `MOVE:CENTIPAWNS` for each legal move. Castling is king takes rook.
//!
//! `cargo run --release -p oncilla-chess --example gains < FENS`

use std::io::{BufRead, Write};

use oncilla_chess::{History, MoveList, exchanges};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let history: History = History::from_fen(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        let mut gains = vec![0; moves.len()];
        exchanges::gains(history.board(), &moves, &mut gains);
        for (mv, gain) in moves.iter().zip(gains) {
            write!(out, "{mv}:{gain} ")?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}
