//! The index of a move among the outputs of a policy head.
//!
//! A policy has [`SIZE`] entries, seen from the mover (Black's ranks mirrored). Entries 0–1791 are the pairs of squares
//! a queen or a knight can join on an empty board, in order of the from square, then of the to square (a1, b1, …, h8).
//! Entries 1792–1857 are the promotions to queen, rook and bishop, in order of the pawn's file, the target file and the
//! piece. Promotion to a knight has the entry of the plain pair, castling that of the king taking its rook.
//!
//! No table is listed here: everything follows from that rule, at compile time.

use cozy_chess::{Color, Move, Piece, Square};

use crate::transform::Transform;

/// How many entries a policy has.
pub const SIZE: usize = 1858;

/// Index of the first entry of the promotions to queen, rook and bishop.
const PROMOTIONS: u16 = 1792;

/// The eight directions as steps of (file, rank): north, then clockwise.
const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

/// The eight knight steps (file, rank).
const KNIGHT_STEPS: [(i8, i8); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// By from square: the set of squares that a queen or a knight reaches on an empty board.
const REACH: [u64; 64] = {
    let mut reach = [0; 64];
    let mut from = 0;
    while from < 64 {
        let mut direction = 0;
        while direction < 8 {
            let (files, ranks) = DIRECTIONS[direction];
            let mut distance = 1;
            while distance < 8 {
                reach[from] |= step(from, files * distance, ranks * distance);
                distance += 1;
            }
            let (files, ranks) = KNIGHT_STEPS[direction];
            reach[from] |= step(from, files, ranks);
            direction += 1;
        }
        from += 1;
    }
    reach
};

/// By from square: the entry of its first pair. The last element is the number of all pairs.
const FIRST: [u16; 65] = {
    let mut first = [0; 65];
    let mut from = 0;
    while from < 64 {
        first[from + 1] = first[from] + REACH[from].count_ones() as u16;
        from += 1;
    }
    first
};

const _: () = assert!(FIRST[64] == PROMOTIONS);

/// By from and to square: the entry of the pair. Meaningless for a pair that neither a queen nor a knight can join.
static PAIRS: [[u16; 64]; 64] = {
    let mut pairs = [[0; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut to = 0;
        while to < 64 {
            pairs[from][to] = FIRST[from] + (REACH[from] & ((1 << to) - 1)).count_ones() as u16;
            to += 1;
        }
        from += 1;
    }
    pairs
};

/// The square `files` and `ranks` away from `from` as a bit, or no bit if it is off the board.
const fn step(from: usize, files: i8, ranks: i8) -> u64 {
    let (file, rank) = ((from & 7) as i8 + files, (from >> 3) as i8 + ranks);
    let on_board = file >= 0 && file < 8 && rank >= 0 && rank < 8;
    if on_board { 1 << (rank * 8 + file) } else { 0 }
}

/// The entry of a legal move; below [`SIZE`].
///
/// `transform` is what [`crate::planes::encode`] returned for the position: the policy is turned like the planes.
///
/// ```
/// use oncilla_chess::{Color, Transform, policy};
/// let index = |text: &str, mover| policy::index(text.parse().unwrap(), mover, Transform::NONE);
/// assert_eq!(index("g1f3", Color::White), 159);
/// assert_eq!(index("g8f6", Color::Black), 159);
/// assert_eq!(index("e1h1", Color::White), 103); // castling
/// assert_eq!(index("a2b1b", Color::Black), 1797);
/// ```
#[inline]
pub fn index(mv: Move, mover: Color, transform: Transform) -> u16 {
    let seen = |square: Square| transform.square(square.relative_to(mover)) as usize;
    let (from, to) = (seen(mv.from), seen(mv.to));
    match mv.promotion {
        None | Some(Piece::Knight) => {
            debug_assert!(REACH[from] >> to & 1 == 1, "{mv} is no move of chess");
            PAIRS[from][to]
        }
        Some(piece) => promotion_index(from, to, piece),
    }
}

/// The entry of a promotion that is not to a knight.
fn promotion_index(from: usize, to: usize, piece: Piece) -> u16 {
    let piece = match piece {
        Piece::Queen => 0,
        Piece::Rook => 1,
        _ => 2,
    };
    // File a has two targets, every later file has three, beginning one file earlier: so 2f + t pairs come before pair
    // (f, t).
    let pair = 2 * (from & 7) + (to & 7);
    PROMOTIONS + 3 * pair as u16 + piece
}

/// A policy entry as a move from the mover's view: from, to, and the piece if the entry is for queen, rook or bishop.
///
/// # Panics
/// If `index` is not below [`SIZE`].
pub const fn entry(index: u16) -> (Square, Square, Option<Piece>) {
    assert!((index as usize) < SIZE, "a policy has 1858 entries");
    if index >= PROMOTIONS {
        return promotion_entry(index - PROMOTIONS);
    }
    let mut from = 63;
    while FIRST[from] > index {
        from -= 1;
    }
    let mut targets = REACH[from];
    let mut earlier = index - FIRST[from];
    while earlier > 0 {
        targets &= targets - 1;
        earlier -= 1;
    }
    (Square::index_const(from), Square::index_const(targets.trailing_zeros() as usize), None)
}

/// [`entry`] for the `n`-th promotion.
const fn promotion_entry(n: u16) -> (Square, Square, Option<Piece>) {
    let piece = [Piece::Queen, Piece::Rook, Piece::Bishop][n as usize % 3];
    let pair = n as usize / 3;
    // Pairs of file f are 2f + t with t from f − 1 to f + 1, hence 3f − 1 to 3f + 1.
    let from = (pair + 1) / 3;
    let to = pair - 2 * from;
    (Square::index_const(48 + from), Square::index_const(56 + to), Some(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(text: &str) -> u16 {
        index(text.parse().unwrap(), Color::White, Transform::NONE)
    }

    #[test]
    fn known_entries() {
        for (text, expected) in [
            ("a1b1", 0),
            ("b1c3", 36),
            ("e1a1", 97),
            ("e1g1", 102),
            ("e1h1", 103),
            ("g1f3", 159),
            ("d2d4", 293),
            ("e2e4", 322),
            ("a7a8", 1401),
            ("e7e8", 1515),
            ("e7e8n", 1515),
            ("h8g8", 1791),
            ("a7a8q", 1792),
            ("a7b8b", 1797),
            ("e7e8q", 1828),
            ("h7h8b", 1857),
        ] {
            assert_eq!(index_of(text), expected, "{text}");
        }
    }

    #[test]
    fn every_index_is_the_index_of_its_entry() {
        for i in 0..SIZE as u16 {
            let (from, to, promotion) = entry(i);
            assert_eq!(index(Move { from, to, promotion }, Color::White, Transform::NONE), i);
            let mirrored = Move { from: from.flip_rank(), to: to.flip_rank(), promotion };
            assert_eq!(index(mirrored, Color::Black, Transform::NONE), i);
        }
    }
}
