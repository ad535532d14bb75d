//! The 1858 moves of Lc0's policy, and where convolutional and attention policies have them.
//!
//! Moves are seen by the mover, squares are `rank · 8 + file` with a1 = 0. The index is: from every square in order, to
//! every square in order that a queen or a knight could reach on an empty board (a promotion to a knight is one of
//! these); then, for the file of each pawn on the seventh rank and each file beside or before it, a promotion to queen,
//! rook and bishop.

/// How many moves the index has.
pub const MOVES: usize = 1858;

/// How many planes of a convolutional policy moves use; published networks have 80 planes, of which the last seven are
/// unused.
pub const CONV_PLANES: usize = 73;

/// Knight moves (file, rank) in the order of planes 56 to 63.
const KNIGHT: [(i32, i32); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// For each move of the index, the element `plane · 64 + from` of a convolutional policy's output.
///
/// Planes: queen moves 0 to 55, seven distances each to N, NE, E, SE, S, SW, W, NW; knight moves 56 to 63; promotions
/// 64 to 72, to NW, N and NE, each to rook, bishop and queen.
pub const fn conv_map() -> [u16; MOVES] {
    let mut map = [0; MOVES];
    let mut at = 0;
    let mut from = 0;
    while from < 64 {
        let mut to = 0;
        while to < 64 {
            if let Some(plane) = plane_of(to % 8 - from % 8, to / 8 - from / 8) {
                map[at] = (plane * 64 + from) as u16;
                at += 1;
            }
            to += 1;
        }
        from += 1;
    }
    let mut file = 0;
    while file < 8 {
        let mut side = -1;
        while side <= 1 {
            if file + side >= 0 && file + side < 8 {
                // The index goes queen, rook, bishop; the planes rook, bishop, queen.
                let first = 64 + 3 * (side + 1);
                let pieces = [first + 2, first, first + 1];
                let mut i = 0;
                while i < 3 {
                    map[at] = (pieces[i] * 64 + 48 + file) as u16;
                    at += 1;
                    i += 1;
                }
            }
            side += 1;
        }
        file += 1;
    }
    assert!(at == MOVES);
    map
}

/// For each move of the index, its element `from · 64 + to` in the scores of an attention policy, and its element in
/// what the policy adds for promotions, `[queen, rook, bishop, nothing][square where the piece appears]`.
pub fn attention_map() -> (Vec<u32>, Vec<u32>) {
    const NOTHING: u32 = 3 * 64;
    let squares = (0..64).flat_map(|from| (0..64).map(move |to| (from, to)));
    let plain = squares.filter(|&(from, to)| is_move(from, to)).map(|(from, to)| (64 * from + to, NOTHING));
    let pairs = (0..8usize).flat_map(|file| (file.saturating_sub(1)..=(file + 1).min(7)).map(move |to| (file, to)));
    let promotions =
        pairs.flat_map(|(file, to)| (0..3).map(move |piece| (64 * (48 + file) + 56 + to, 64 * piece + 56 + to as u32)));
    plain.chain(promotions).map(|(score, added)| (score as u32, added)).unzip()
}

/// Whether a queen or a knight gets from one square to the other on an empty board.
pub(crate) fn is_move(from: usize, to: usize) -> bool {
    let (from, to) = (from as i32, to as i32);
    plane_of(to % 8 - from % 8, to / 8 - from / 8).is_some()
}

/// The plane of a queen's or knight's move by `files` to the right and `ranks` up; `None` if it is neither.
const fn plane_of(files: i32, ranks: i32) -> Option<i32> {
    let distance = if files.abs() > ranks.abs() { files.abs() } else { ranks.abs() };
    if distance == 0 {
        return None;
    }
    if files == 0 || ranks == 0 || files.abs() == ranks.abs() {
        let direction = match (files.signum(), ranks.signum()) {
            (0, 1) => 0,
            (1, 1) => 1,
            (1, 0) => 2,
            (1, -1) => 3,
            (0, -1) => 4,
            (-1, -1) => 5,
            (-1, 0) => 6,
            _ => 7,
        };
        return Some(direction * 7 + distance - 1);
    }
    let mut i = 0;
    while i < KNIGHT.len() {
        if KNIGHT[i].0 == files && KNIGHT[i].1 == ranks {
            return Some(56 + i as i32);
        }
        i += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const MAP: [u16; MOVES] = conv_map();

    /// Moves in the order of the index, found by another way than the map: walking the rays.
    fn names() -> Vec<String> {
        let name = |s: i32| format!("{}{}", (b'a' + (s % 8) as u8) as char, s / 8 + 1);
        let mut names = Vec::new();
        for from in 0..64i32 {
            let mut targets = HashSet::new();
            for (df, dr) in [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)] {
                targets.extend((1..8).map(|n| (from % 8 + n * df, from / 8 + n * dr)));
            }
            targets.extend(KNIGHT.map(|(df, dr)| (from % 8 + df, from / 8 + dr)));
            let board = targets.into_iter().filter(|(f, r)| (0..8).contains(f) && (0..8).contains(r));
            let mut squares: Vec<i32> = board.map(|(f, r)| r * 8 + f).collect();
            squares.sort_unstable();
            names.extend(squares.into_iter().map(|to| name(from) + &name(to)));
        }
        for file in 0..8i32 {
            for to in (file - 1..=file + 1).filter(|f| (0..8).contains(f)) {
                names.extend(["q", "r", "b"].map(|piece| name(48 + file) + &name(56 + to) + piece));
            }
        }
        names
    }

    #[test]
    fn each_move_once() {
        assert_eq!(MAP.iter().collect::<HashSet<_>>().len(), MOVES);
        assert!(MAP.iter().all(|&e| usize::from(e) < CONV_PLANES * 64));
    }

    #[test]
    fn attention_agrees_with_names() {
        let (scores, added) = attention_map();
        assert_eq!((scores.len(), added.len()), (MOVES, MOVES));
        for ((name, score), added) in names().iter().zip(scores).zip(added) {
            let square = |s: &str| u32::from(s.as_bytes()[1] - b'1') * 8 + u32::from(s.as_bytes()[0] - b'a');
            assert_eq!(score, 64 * square(&name[..2]) + square(&name[2..4]), "{name}");
            let piece = name.get(4..).and_then(|piece| "qrb".find(piece).filter(|_| !piece.is_empty()));
            let expected = piece.map_or(192, |piece| 64 * piece as u32 + square(&name[2..4]));
            assert_eq!(added, expected, "{name}");
        }
    }

    #[test]
    fn check_values() {
        let names = names();
        assert_eq!(names.len(), MOVES);
        for (at, name) in [
            (0, "a1b1"),
            (36, "b1c3"),
            (97, "e1a1"),
            (102, "e1g1"),
            (103, "e1h1"),
            (159, "g1f3"),
            (293, "d2d4"),
            (322, "e2e4"),
            (1401, "a7a8"),
            (1515, "e7e8"),
            (1791, "h8g8"),
            (1792, "a7a8q"),
            (1797, "a7b8b"),
            (1828, "e7e8q"),
            (1857, "h7h8b"),
        ] {
            assert_eq!(names[at], name);
        }
    }

    #[test]
    fn planes_of_moves() {
        let names = names();
        let place = |name: &str| {
            let at = names.iter().position(|n| n == name).unwrap();
            (MAP[at] / 64, MAP[at] % 64)
        };
        for (name, plane, from) in [
            ("a1a2", 0, 0),
            ("a1a8", 6, 0),
            ("a1h8", 13, 0),
            ("e1h1", 16, 4),
            ("e1a1", 45, 4),
            ("h8a1", 41, 63),
            ("h1a8", 55, 7),
            ("g1f3", 63, 6),
            ("b1c3", 56, 1),
            ("g1h3", 56, 6),
            ("a7a8r", 67, 48),
            ("a7a8b", 68, 48),
            ("a7a8q", 69, 48),
            ("b7a8r", 64, 49),
            ("b7a8q", 66, 49),
            ("h7g8b", 65, 55),
            ("e7f8q", 72, 52),
        ] {
            assert_eq!(place(name), (plane, from), "{name}");
        }
    }
}
