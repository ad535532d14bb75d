//! What a playout costs in chess: the way to a leaf, its legal moves, whether the game is over there, its key.
//!
//! A search keeps an edge as the index of a move among the legal moves of its position. A playout replays the moves of
//! the visited edges from the root, names one more legal move by its index, pushes it, generates the legal moves of the
//! leaf, and asks whether it is terminal and for its key. That is done here on a fixed pseudo-random set of lines,
//! without a search. Instructions are counted by
//!
//! `valgrind --tool=callgrind --toggle-collect='replay::replay*' target/release/examples/replay ROUNDS
//! [uniform|skewed]`
//!
//! and divided by the playouts that the program prints.
//!
//! Lines are `uniform` (any move at each ply) or `skewed` (early ones of a list more often, so that playouts share
//! beginnings as those of a search do).

use std::time::Instant;

use oncilla_chess::{History, MoveList, Terminal, TwoFold, pack};

/// Plies of a line.
const PLIES: usize = 5;

/// Lines below each root.
const LINES: usize = 256;

/// Roots with the moves that led there: an opening, two middle games, an endgame whose positions can repeat.
const ROOTS: [(&str, &str); 4] = [
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ""),
    ("r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R w KQ - 3 9", "f1c4 c8d7 e1a1 a8c8"),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", ""),
    ("8/5pk1/6p1/7p/3R4/6PP/r4PK1/8 w - - 4 40", "d4d5 a2a4 d5d8 a4a5 d8d7 a5a4 d7d8 a4a5 d8c8 a5a4"),
];

/// A root and the ways to the leaves: packed moves of visited edges, then the index of one more.
struct Root {
    history: History,
    lines: Vec<([u16; PLIES - 1], usize)>,
}

/// Xorshift64: the lines must be the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}

/// An index below `n`: any, or the least of four.
fn choose(random: &mut Random, n: usize, skewed: bool) -> usize {
    let draws = if skewed { 4 } else { 1 };
    (0..draws).map(|_| random.below(n)).min().unwrap_or(0)
}

fn root(fen: &str, moves: &str, skewed: bool, random: &mut Random) -> Root {
    let mut history: History = History::from_fen(fen).expect("a FEN");
    for text in moves.split_whitespace() {
        history.try_push(text.parse().expect("a move")).expect("a legal move");
    }
    let mut lines = Vec::new();
    while lines.len() < LINES {
        lines.extend(line(history.clone(), skewed, random));
    }
    Root { history, lines }
}

/// A line below `history`, unless the game ends before its last move.
fn line(mut history: History, skewed: bool, random: &mut Random) -> Option<([u16; PLIES - 1], usize)> {
    let mut moves = MoveList::new();
    let mut played = Vec::new();
    loop {
        history.legal_moves(&mut moves);
        if moves.is_empty() {
            return None;
        }
        let index = choose(random, moves.len(), skewed);
        if let Ok(played) = played.as_slice().try_into() {
            return Some((played, index));
        }
        played.push(pack(moves[index]));
        history.push(moves[index]);
    }
}

/// Goes to the leaf of each line. Never inlined, so that a profiler can be told to look at nothing else.
#[inline(never)]
fn replay(root: &mut Root, moves: &mut MoveList) -> u64 {
    let mut sum = 0u64;
    let len = root.history.len();
    for (played, index) in &root.lines {
        root.history.replay(len, played.iter().copied());
        let Some(last) = root.history.nth_legal_move(*index) else { continue };
        root.history.push(last);
        root.history.legal_moves(moves);
        let terminal = root.history.terminal_given_moves(!moves.is_empty(), PLIES, TwoFold::Draw);
        sum = sum.rotate_left(1) ^ root.history.graph_key() ^ moves.len() as u64;
        sum += u64::from(terminal.is_some_and(Terminal::is_draw));
    }
    root.history.truncate(len);
    sum
}

fn main() {
    let mut args = std::env::args().skip(1);
    let rounds = args.next().map_or(1000, |text| text.parse().expect("a number of rounds"));
    let skewed = args.next().is_some_and(|text| text == "skewed");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut roots: Vec<Root> = ROOTS.iter().map(|(fen, moves)| root(fen, moves, skewed, &mut random)).collect();
    let mut moves = MoveList::new();
    let start = Instant::now();
    let mut sum = 0u64;
    for _ in 0..rounds {
        for root in &mut roots {
            sum = sum.wrapping_mul(31).wrapping_add(replay(root, &mut moves));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let playouts = rounds * LINES * ROOTS.len();
    println!("{playouts} playouts, checksum {sum:016x}, {:.0} ns each", seconds * 1e9 / playouts as f64);
}
