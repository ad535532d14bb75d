//! Legal moves, counted to a depth.
//!
//! Moves are played through [`History`], so that what this crate keeps beside the board is tested too.
//! `ONCILLA_PERFT_NODES` sets how many leaves a single count of the shared files may have. The default takes about a
//! second in release; with a million, most positions are counted to depth 4 in half a minute; the deepest counts of the
//! files take days.

use oncilla_chess::{Castling, FenField, History, MIN_CAP, MoveList};

/// The most leaves that a count may have by default.
const DEFAULT_NODES: u64 = 40_000;

/// Positions of the shared files that are refused: the king is in a check that was there before the double step to
/// which the en-passant square belongs, and the capture there would end it.
const UNREACHABLE: [&str; 1] = ["8/8/8/1k6/3Pp3/8/8/4KQ2 b - d3"];

type Game = History<MIN_CAP>;

fn perft(history: &mut Game, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    if depth == 1 {
        return moves.len() as u64;
    }
    let mut leaves = 0;
    for &mv in &moves {
        history.push(mv);
        leaves += perft(history, depth - 1);
        history.pop();
    }
    leaves
}

/// Counts the positions of a shared file, whose lines are `epd FEN` and `perft DEPTH LEAVES`.
fn check(file: &str, nodes: u64) {
    let Some(path) = oncilla_testing::shared_path(file) else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let mut position = None;
    let mut counts = 0;
    for line in text.lines() {
        if let Some(fen) = line.strip_prefix("epd ") {
            position = read(file, fen.trim());
        } else if let (Some(count), Some(history)) = (line.strip_prefix("perft "), &mut position) {
            let (depth, leaves) = count.trim().split_once(' ').unwrap();
            let (depth, leaves) = (depth.parse().unwrap(), leaves.trim().parse().unwrap());
            if leaves <= nodes {
                assert_eq!(
                    perft(history, depth),
                    leaves,
                    "{file}: {} to depth {depth}",
                    history.to_fen(Castling::Chess960)
                );
                counts += 1;
            }
        }
    }
    assert!(counts > 0, "{file} has no count of at most {nodes} leaves");
}

/// The position of a FEN, or `None` if it is one of [`UNREACHABLE`].
fn read(file: &str, fen: &str) -> Option<Game> {
    let read = Game::from_fen(fen);
    if UNREACHABLE.contains(&fen) {
        assert_eq!(read.unwrap_err().field, FenField::EnPassant, "{fen}");
        return None;
    }
    Some(read.unwrap_or_else(|error| panic!("{file}: {fen}: {error}")))
}

fn nodes() -> u64 {
    std::env::var("ONCILLA_PERFT_NODES").map_or(DEFAULT_NODES, |text| text.parse().expect("a number of nodes"))
}

#[test]
fn well_known_counts() {
    for (fen, leaves) in [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", [20, 400, 8_902, 197_281]),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", [48, 2_039, 97_862, 4_085_603]),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", [14, 191, 2_812, 43_238]),
    ] {
        let mut history = Game::from_fen(fen).unwrap();
        for (depth, leaves) in (1..).zip(leaves) {
            assert_eq!(perft(&mut history, depth), leaves, "{fen} to depth {depth}");
        }
    }
}

#[test]
fn tricky_positions() {
    // These are few, and made to find mistakes, so all are counted.
    check("perft/tricky.perft", u64::MAX);
}

#[test]
fn random_positions() {
    check("perft/random.perft", nodes());
}

#[test]
fn chess960_positions() {
    check("perft/chess960.perft", nodes());
}
