//! Positions on which a network is tried before it plays.

use super::inputs::Inputs;
use oncilla_chess::History;
use oncilla_chess::planes::Planes;

/// Openings, middlegames and endgames with and without queens, for either side, one of them with a high count of the
/// fifty-move rule: positions that a network sees in a game.
pub const POSITIONS: [&str; 12] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bq1rk1/ppp1npbp/3p1np1/3Pp3/2P1P3/2N2N2/PP2BPPP/R1BQ1RK1 b - - 1 9",
    "8/8/4kpp1/3p1b2/p6P/2B5/6P1/6K1 b - - 2 47",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
    "rnb1k2r/1pq1bppp/p2ppn2/6B1/3NPP2/2N2Q2/PPP3PP/R3KB1R w KQkq - 3 9",
    "4rrk1/1p3pp1/p1pq3p/3n4/3PN3/1P1Q3P/P4PP1/2R1R1K1 b - - 5 24",
    "2r2rk1/pb2qppp/1p2pn2/8/2PP4/1Q1B1N2/P4PPP/3R1RK1 w - - 1 18",
    "r3k2r/ppp2ppp/2n1bn2/2bqp3/8/2NP1N2/PPP1BPPP/R1BQK2R w KQkq - 4 8",
    "8/5pk1/4p1p1/3pP1Pp/1p1P1P1P/1P3K2/8/8 w - - 60 75",
    "6k1/5ppp/8/8/1r6/8/1R3PPP/6K1 w - - 0 40",
    "8/P5k1/8/8/8/6K1/1p6/8 w - - 0 60",
    "3r2k1/5ppp/p1q1p3/1p6/3Q4/1P2P2P/P4PP1/3R2K1 b - - 3 28",
];

/// The planes that a network sees of some positions, one position after the other.
///
/// # Errors
/// The fault of a FEN that is wrong.
pub fn planes(fens: &[&str], inputs: Inputs) -> Result<Vec<f32>, String> {
    let mut input = vec![0.0; fens.len() * inputs.numbers()];
    let mut encoded = Box::new(Planes::default());
    for (fen, numbers) in fens.iter().zip(input.chunks_exact_mut(inputs.numbers())) {
        let history: History = History::from_fen(fen).map_err(|error| error.to_string())?;
        inputs.encode(&history, &mut encoded);
        inputs.write(&encoded, numbers);
    }
    Ok(input)
}
