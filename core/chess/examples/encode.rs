//! What a network's input costs: the packed planes, the policy index of each legal move, the planes as numbers.
//!
//! Positions are those of seeded random games. Instructions are counted by
//!
//! `valgrind --tool=callgrind --toggle-collect='encode::STEP*' target/release/examples/encode ROUNDS`
//!
//! with `pack`, `index` or `expand` for STEP, and divided by the positions that the program prints.

use std::time::Instant;

use oncilla_chess::planes::{self, HistoryFill, InputFormat, PLANES, PlaneSet, Planes};
use oncilla_chess::{History, MoveList, Transform, policy};

/// Games, and the plies of each.
const GAMES: (usize, usize) = (16, 60);

/// A position with its legal moves.
struct Position {
    history: History,
    moves: MoveList,
}

/// Every third position of random games. Xorshift64: they must be the same everywhere.
fn positions() -> Vec<Position> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut positions = Vec::new();
    for _ in 0..GAMES.0 {
        let mut history: History = History::startpos();
        for ply in 0..GAMES.1 {
            let mut moves = MoveList::new();
            history.legal_moves(&mut moves);
            if moves.is_empty() {
                break;
            }
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mv = moves[(random >> 33) as usize % moves.len()];
            if ply % 3 == 0 {
                positions.push(Position { history: history.clone(), moves });
            }
            history.push(mv);
        }
    }
    positions
}

/// The packed planes. Never inlined, as what follows, so that a profiler can be told to look at nothing else.
#[inline(never)]
fn pack(position: &Position, format: InputFormat, planes: &mut Planes) -> Transform {
    planes::encode(&position.history, format, HistoryFill::FenOnly, planes)
}

/// The policy indices.
#[inline(never)]
fn index(position: &Position, transform: Transform, indices: &mut Vec<u16>) {
    let mover = position.history.side_to_move();
    indices.clear();
    indices.extend(position.moves.iter().map(|&mv| policy::index(mv, mover, transform)));
}

/// The planes as numbers.
#[inline(never)]
fn expand(planes: &Planes, input: &mut [f32; PLANES * 64]) {
    planes.expand_into(PlaneSet::ALL, input);
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(100, |text| text.parse().expect("a number of rounds"));
    let positions = positions();
    let (mut planes, mut indices, mut input) = (Planes::default(), Vec::new(), Box::new([0.0; PLANES * 64]));
    for format in InputFormat::ALL {
        let start = Instant::now();
        let mut sum = 0u64;
        for position in (0..rounds).flat_map(|_| &positions) {
            let transform = pack(position, format, &mut planes);
            index(position, transform, &mut indices);
            expand(&planes, &mut input);
            let numbers =
                indices.iter().map(|&index| u64::from(index)).chain(planes.as_array().map(|plane| plane.mask));
            sum = numbers.fold(sum, |sum, number| sum.rotate_left(5) ^ number);
        }
        let count = rounds * positions.len();
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / count as f64;
        println!("{format:?}: {count} positions, checksum {sum:016x}, {nanoseconds:.0} ns each");
    }
}
