//! The positions whose searches make the signature.

/// Openings, middlegames and endgames, with castling, en passant, promotions, a fortress and a Chess960 start position.
pub const POSITIONS: [&str; 14] = [
    "startpos",
    // Ruy Lopez, closed.
    "r1bq1rk1/2p1bppp/p1np1n2/1p2p3/4P3/1BP2N1P/PP1P1PP1/RNBQR1K1 b - - 0 9",
    // Sicilian, Najdorf: White can castle queenside, Black kingside.
    "rnb1k2r/1pq1bppp/p2ppn2/6B1/3NPP2/2N2Q2/PPP3PP/R3KB1R w KQkq - 3 9",
    // King's Indian: a closed centre.
    "r1bq1rk1/ppp1npbp/3p1np1/3Pp3/2P1P3/2N2N2/PP2BPPP/R1BQ1RK1 w - - 1 9",
    // Caro-Kann, advance.
    "rn1qkbnr/pp3ppp/4p3/2ppPb2/3P4/4BN2/PPP1BPPP/RN1QK2R b KQkq - 1 6",
    // A pawn can be taken en passant.
    "rnbqk2r/pp1p1ppp/4pn2/8/1bPpP3/2N5/PP3PPP/R1BQKBNR b KQkq e3 0 6",
    // An isolated pawn and open files.
    "4rrk1/1p3pp1/p1pq3p/3n4/3PN3/1P1Q3P/P4PP1/2R1R1K1 b - - 5 24",
    // Hanging pawns.
    "2r2rk1/pb2qppp/1p2pn2/8/2PP4/1Q1B1N2/P4PPP/3R1RK1 w - - 1 18",
    // Even material, but White can win the queen for a knight.
    "r3k2r/ppp2ppp/2n1bn2/2bqp3/8/2NP1N2/PPP1BPPP/R1BQK2R w KQkq - 4 8",
    // Bishops of opposite colours.
    "8/8/4kpp1/3p1b2/p6P/2B5/6P1/6K1 b - - 2 47",
    // A blocked position: neither side can break through.
    "8/5pk1/4p1p1/3pP1Pp/1p1P1P1P/1P3K2/8/8 w - - 0 45",
    // Both back ranks are weak.
    "6k1/5ppp/8/8/1r6/8/1R3PPP/6K1 w - - 0 40",
    // Both sides promote.
    "8/P5k1/8/8/8/6K1/1p6/8 w - - 0 60",
    // Chess960.
    "nrkbbrqn/pppppppp/8/8/8/8/PPPPPPPP/NRKBBRQN w FBfb - 0 1",
];
