//! The number of a position within its table.
//!
//! A table holds one value for each arrangement of its pieces that is no mirror image of another. Pieces stand in
//! groups, in an order that the file gives. The *leading* group carries the mirror images: it is the pawns of one side,
//! or three pieces, or the two kings where no kind of piece is single. Each further group is a run of equal pieces, of
//! which only the set of squares matters, counted by the combinatorial number system among the squares left.
//!
//! Squares are 0 (a1) to 63 (h8), rank by rank. The numbering is the format's, by Ronald de Man.

use crate::fault::Fault;
use crate::material::{BLACK, KING, MAX_PIECES, Material, PAWN};

/// Squares on which a pawn can stand.
const PAWN_SQUARES: usize = 48;

/// Arrangements of three different pieces, of which the first lies in the triangle a1–d1–d4.
const THREE: u64 = 31_332;

/// Arrangements of two kings that don't touch, the first in the triangle.
const KINGS: u64 = 462;

/// `BINOMIAL[k][n]`: ways to choose k of n.
static BINOMIAL: [[u64; 64]; MAX_PIECES] = binomials();

/// The ten squares of the triangle a1–d1–d4: first those below the diagonal, then the diagonal.
static TRIANGLE: [u8; 64] = triangle();

/// The 28 squares below the diagonal a1–h8.
static BELOW: [u8; 64] = below();

/// Two kings, the first by its number in the triangle.
static KING_PAIR: [[u16; 64]; 10] = king_pairs();

/// Rank of a square among the leading pawns': the pawn with the highest leads. Outer files and low ranks are high.
static PAWN_ORDER: [u8; 64] = pawn_order();

/// For `count` leading pawns and the square of the first (on files a to d): arrangements before that square.
static LEADING_PAWNS: [[u64; 64]; 6] = leading_pawns().0;

/// For `count` leading pawns and the file of the first: all arrangements.
static LEADING_PAWNS_SIZE: [[u64; 4]; 6] = leading_pawns().1;

const fn binomials() -> [[u64; 64]; MAX_PIECES] {
    let mut table = [[0; 64]; MAX_PIECES];
    let mut n = 0;
    while n < 64 {
        table[0][n] = 1;
        let mut k = 1;
        while k < MAX_PIECES && n > 0 {
            table[k][n] = table[k - 1][n - 1] + table[k][n - 1];
            k += 1;
        }
        n += 1;
    }
    table
}

/// Rank less file: above the diagonal a1–h8 it is positive.
const fn above_diagonal(square: u8) -> i8 {
    (square >> 3) as i8 - (square & 7) as i8
}

const fn triangle() -> [u8; 64] {
    let mut table = [0; 64];
    let mut next = 0;
    let mut diagonal = 0;
    while diagonal < 2 {
        let mut square = 0;
        while square < 32 {
            let offset = above_diagonal(square);
            if square & 7 < 4 && (diagonal == 0 && offset < 0 || diagonal == 1 && offset == 0) {
                table[square as usize] = next;
                next += 1;
            }
            square += 1;
        }
        diagonal += 1;
    }
    table
}

const fn below() -> [u8; 64] {
    let mut table = [0; 64];
    let mut next = 0;
    let mut square = 0;
    while square < 64 {
        if above_diagonal(square) < 0 {
            table[square as usize] = next;
            next += 1;
        }
        square += 1;
    }
    table
}

const fn touches(a: u8, b: u8) -> bool {
    (a & 7).abs_diff(b & 7) <= 1 && (a >> 3).abs_diff(b >> 3) <= 1
}

/// With the first king on the diagonal the second is never above it; both on the diagonal come last.
const fn king_pairs() -> [[u16; 64]; 10] {
    let triangle = triangle();
    let mut table = [[0; 64]; 10];
    let mut next = 0;
    let mut both_on_diagonal = 0;
    while both_on_diagonal < 2 {
        let mut number = 0;
        while number < 10 {
            let mut first = 0;
            while first < 32 {
                let inside = first & 7 < 4 && above_diagonal(first) <= 0 && triangle[first as usize] == number;
                let mut second = 0;
                while inside && second < 64 {
                    let on = above_diagonal(first) == 0;
                    let mirrored = on && above_diagonal(second) > 0;
                    let now = (on && above_diagonal(second) == 0) == (both_on_diagonal == 1);
                    if now && !mirrored && !touches(first, second) {
                        table[number as usize][second as usize] = next;
                        next += 1;
                    }
                    second += 1;
                }
                first += 1;
            }
            number += 1;
        }
        both_on_diagonal += 1;
    }
    assert!(next as u64 == KINGS);
    table
}

const fn pawn_order() -> [u8; 64] {
    let mut table = [0; 64];
    let mut next = PAWN_SQUARES as u8;
    let mut file = 0;
    while file < 4 {
        let mut rank = 1;
        while rank < 7 {
            next -= 2;
            table[8 * rank + file] = next + 1;
            table[8 * rank + 7 - file] = next;
            rank += 1;
        }
        file += 1;
    }
    table
}

const fn leading_pawns() -> ([[u64; 64]; 6], [[u64; 4]; 6]) {
    let order = pawn_order();
    let binomial = binomials();
    let mut before = [[0; 64]; 6];
    let mut size = [[0; 4]; 6];
    let mut count = 1;
    while count < 6 {
        let mut file = 0;
        while file < 4 {
            let mut rank = 1;
            while rank < 7 {
                let square = 8 * rank + file;
                before[count][square] = size[count][file];
                // The other leading pawns stand on squares that come before this one.
                size[count][file] += binomial[count - 1][order[square] as usize];
                rank += 1;
            }
            file += 1;
        }
        count += 1;
    }
    (before, size)
}

/// The kinds of leading group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leading {
    /// The pawns of one side, the first on this file (0 to 3) once the board is mirrored to have it there.
    Pawns { file: usize },
    /// Any three pieces.
    Three,
    /// The kings.
    Kings,
}

/// A run of equal pieces, or the leading group.
#[derive(Clone, Copy, Debug)]
struct Group {
    len: usize,
    /// What the group's own number is multiplied by.
    factor: u64,
}

/// How one part of a table numbers its positions.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Piece codes, group by group.
    pieces: [u8; MAX_PIECES],
    len: usize,
    groups: Vec<Group>,
    leading: Leading,
    /// The second group is the other side's pawns, which can't stand on the first and last rank either.
    both_have_pawns: bool,
    size: u64,
}

/// What a file says about the pieces of one of its parts.
pub(crate) struct Arrangement<'a> {
    /// Piece codes in the file's order.
    pub pieces: &'a [u8],
    /// Which place the leading group has among the groups as they are multiplied up.
    pub leading_at: usize,
    /// The same for the second side's pawns, where both sides have some.
    pub pawns_at: Option<usize>,
    /// The leading pawn's file, 0 to 3; 0 without pawns.
    pub file: usize,
}

impl Layout {
    pub fn new(material: Material, arrangement: &Arrangement) -> Result<Self, Fault> {
        let leading = match () {
            () if material.has_pawns() => Leading::Pawns { file: arrangement.file },
            () if material.has_unique_piece() => Leading::Three,
            () => Leading::Kings,
        };
        check_pieces(material, arrangement.pieces, leading)?;
        let mut layout = Layout {
            pieces: [0; MAX_PIECES],
            len: arrangement.pieces.len(),
            groups: group(arrangement.pieces, leading),
            leading,
            both_have_pawns: arrangement.pawns_at.is_some(),
            size: 0,
        };
        layout.pieces[..layout.len].copy_from_slice(arrangement.pieces);
        layout.size = layout.multiply_up(arrangement)?;
        Ok(layout)
    }

    /// Positions in this part of the table.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Piece codes, in the order in which [`Layout::number`] wants their squares. Of equal pieces any may come first.
    pub fn pieces(&self) -> &[u8] {
        &self.pieces[..self.len]
    }

    /// Gives every group its factor, in the order that the file says, and returns the product.
    fn multiply_up(&mut self, arrangement: &Arrangement) -> Result<u64, Fault> {
        let special = 1 + usize::from(self.both_have_pawns);
        let mut free = 64 - self.groups[..special].iter().map(|group| group.len).sum::<usize>();
        let mut rest = special;
        let mut product = 1u64;
        for place in 0..self.groups.len() {
            let (group, choices) = if place == arrangement.leading_at {
                (0, leading_size(self.leading, self.groups[0].len))
            } else if Some(place) == arrangement.pawns_at {
                (1, BINOMIAL[self.groups[1].len][PAWN_SQUARES - self.groups[0].len])
            } else {
                let len = self.groups.get(rest).ok_or(Fault::Corrupt("two groups of pieces in one place"))?.len;
                free -= len;
                rest += 1;
                (rest - 1, BINOMIAL[len][free + len])
            };
            self.groups[group].factor = product;
            product = product.checked_mul(choices).ok_or(Fault::Corrupt("too many positions"))?;
        }
        match rest == self.groups.len() {
            true => Ok(product),
            false => Err(Fault::Corrupt("a group of pieces without its place")),
        }
    }

    /// The number of the position that has its pieces, in the order of [`Layout::pieces`], on `squares`.
    pub fn number(&self, squares: &mut [u8]) -> u64 {
        debug_assert_eq!(squares.len(), self.len);
        let count = self.groups[0].len;
        let leading = match self.leading {
            Leading::Pawns { .. } => leading_pawns_number(squares, count),
            Leading::Three => {
                mirror_into_triangle(squares, count);
                three_number(squares)
            }
            Leading::Kings => {
                mirror_into_triangle(squares, count);
                KING_PAIR[usize::from(TRIANGLE[usize::from(squares[0])])][usize::from(squares[1])].into()
            }
        };
        let mut number = leading * self.groups[0].factor;
        let mut start = count;
        for (place, group) in self.groups.iter().enumerate().skip(1) {
            let (placed, rest) = squares.split_at_mut(start);
            let own = &mut rest[..group.len];
            own.sort_unstable();
            let skipped = if place == 1 && self.both_have_pawns { 8 } else { 0 };
            number += group.factor * set_number(own, placed, skipped);
            start += group.len;
        }
        number
    }
}

/// The file of the leading pawn, 0 to 3, among the squares of one side's pawns; that pawn is moved to the front.
pub(crate) fn lead(pawns: &mut [u8]) -> usize {
    if let Some(leader) = (0..pawns.len()).max_by_key(|&i| PAWN_ORDER[usize::from(pawns[i])]) {
        pawns.swap(0, leader);
    }
    let file = pawns.first().map_or(0, |square| square & 7);
    file.min(7 - file).into()
}

fn check_pieces(material: Material, pieces: &[u8], leading: Leading) -> Result<(), Fault> {
    let count = |code| pieces.iter().filter(|&&piece| piece == code).count();
    if pieces.len() != material.len() || pieces.iter().any(|&code| count(code) != material.count_of_code(code)) {
        return Err(Fault::Corrupt("the pieces are not those of its name"));
    }
    let leads_well = match leading {
        Leading::Pawns { .. } => pawns_lead(pieces),
        Leading::Three => true,
        Leading::Kings => pieces[0] & !BLACK == KING && pieces[1] & !BLACK == KING,
    };
    leads_well.then_some(()).ok_or(Fault::Corrupt("the wrong pieces lead"))
}

/// One side's pawns come first, all of them, then the other side's.
fn pawns_lead(pieces: &[u8]) -> bool {
    let runs: Vec<u8> = pieces.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
    let pawns = runs.iter().filter(|&&code| code & !BLACK == PAWN).count();
    pawns <= 2 && runs[..pawns].iter().all(|code| code & !BLACK == PAWN)
}

/// Runs of equal pieces, the leading group first.
fn group(pieces: &[u8], leading: Leading) -> Vec<Group> {
    let first = match leading {
        Leading::Pawns { .. } => pieces.iter().take_while(|&&code| code == pieces[0]).count(),
        Leading::Three => 3,
        Leading::Kings => 2,
    };
    let runs = pieces[first..].chunk_by(|a, b| a == b).map(<[u8]>::len);
    std::iter::once(first).chain(runs).map(|len| Group { len, factor: 0 }).collect()
}

fn leading_size(leading: Leading, len: usize) -> u64 {
    match leading {
        Leading::Pawns { file } => LEADING_PAWNS_SIZE[len][file],
        Leading::Three => THREE,
        Leading::Kings => KINGS,
    }
}

/// Mirrors the board to have the leading pawn, which stands in front, on files a to d, and numbers the leading pawns.
fn leading_pawns_number(squares: &mut [u8], count: usize) -> u64 {
    if squares[0] & 7 > 3 {
        squares.iter_mut().for_each(|square| *square ^= 7);
    }
    let order = |square: u8| usize::from(PAWN_ORDER[usize::from(square)]);
    squares[1..count].sort_unstable_by_key(|&square| order(square));
    let others = squares[1..count].iter().enumerate().map(|(i, &square)| BINOMIAL[i + 1][order(square)]);
    LEADING_PAWNS[count][usize::from(squares[0])] + others.sum::<u64>()
}

/// Mirrors the board to have the first piece in the triangle, and the first of the leading pieces that is off the
/// diagonal below it.
fn mirror_into_triangle(squares: &mut [u8], count: usize) {
    let (right, upper) = (squares[0] & 7 > 3, squares[0] >> 3 > 3);
    let flip = if right { 7 } else { 0 } | if upper { 56 } else { 0 };
    squares.iter_mut().for_each(|square| *square ^= flip);
    let off = squares[..count].iter().map(|&square| above_diagonal(square)).find(|&offset| offset != 0);
    if off.is_some_and(|offset| offset > 0) {
        squares.iter_mut().for_each(|square| *square = *square >> 3 | (*square & 7) << 3);
    }
}

/// The number of three pieces, the first in the triangle.
///
/// Four cases, one after the other: the first is off the diagonal (6 · 63 · 62), only the first is on it
/// (4 · 28 · 62), the first two are (4 · 7 · 28), all are (4 · 7 · 6).
fn three_number(squares: &[u8]) -> u64 {
    let [a, b, c] = [squares[0], squares[1], squares[2]];
    let wide = |square: u8| u64::from(square);
    let rank = |square: u8| u64::from(square >> 3);
    let below = |square: u8| u64::from(BELOW[usize::from(square)]);
    // A square is counted among those that the pieces before it have left.
    let left_b = u64::from(b > a);
    let left_c = u64::from(c > a) + u64::from(c > b);
    if above_diagonal(a) != 0 {
        return (u64::from(TRIANGLE[usize::from(a)]) * 63 + wide(b) - left_b) * 62 + wide(c) - left_c;
    }
    let mut start = 6 * 63 * 62;
    if above_diagonal(b) != 0 {
        return start + (rank(a) * 28 + below(b)) * 62 + wide(c) - left_c;
    }
    start += 4 * 28 * 62;
    if above_diagonal(c) != 0 {
        return start + (rank(a) * 7 + rank(b) - left_b) * 28 + below(c);
    }
    start += 4 * 7 * 28;
    start + (rank(a) * 7 + rank(b) - left_b) * 6 + rank(c) - left_c
}

/// The number of a set of squares, ascending, among those that `placed` leaves, the first `skipped` left out.
fn set_number(own: &[u8], placed: &[u8], skipped: usize) -> u64 {
    let number = |(i, &square): (usize, &u8)| {
        let taken = placed.iter().filter(|&&other| other < square).count();
        // A pawn stands on no square of the first rank, so this only saturates for what no board has.
        BINOMIAL[i + 1][usize::from(square).saturating_sub(taken + skipped)]
    };
    own.iter().enumerate().map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(name: &str, pieces: &[u8], leading_at: usize, pawns_at: Option<usize>, file: usize) -> Layout {
        let material = Material::parse(name).unwrap();
        Layout::new(material, &Arrangement { pieces, leading_at, pawns_at, file }).unwrap()
    }

    /// Which numbers a layout gives to all arrangements of its pieces.
    fn numbers(layout: &Layout) -> Vec<bool> {
        let mut seen = vec![false; layout.size() as usize];
        place(layout, &mut Vec::new(), &mut seen);
        seen
    }

    fn place(layout: &Layout, squares: &mut Vec<u8>, seen: &mut [bool]) {
        let Some(code) = layout.pieces().get(squares.len()) else {
            let mut squares = squares.clone();
            match layout.leading {
                Leading::Pawns { file } if lead(&mut squares[..layout.groups[0].len]) != file => {}
                _ => seen[layout.number(&mut squares) as usize] = true,
            }
            return;
        };
        let own = if code & !BLACK == PAWN { 8..56 } else { 0..64 };
        for square in own {
            if !squares.contains(&square) {
                squares.push(square);
                place(layout, squares, seen);
                squares.pop();
            }
        }
    }

    #[test]
    fn every_number_is_that_of_some_position() {
        for (layout, size) in [
            (layout("KvK", &[6, 14], 0, None, 0), KINGS),
            (layout("KRvK", &[6, 4, 14], 0, None, 0), THREE),
            (layout("KNNvK", &[14, 6, 2, 2], 1, None, 0), KINGS * 62 * 61 / 2),
            (layout("KPvK", &[1, 6, 14], 0, None, 2), 6 * 63 * 62),
            (layout("KPvK", &[1, 14, 6], 2, None, 0), 6 * 63 * 62),
        ] {
            assert_eq!(layout.size(), size);
            let unused = numbers(&layout).iter().filter(|&&used| !used).count();
            assert_eq!(unused, 0, "of {size}, {:?}", layout.pieces());
        }
    }

    /// Of a pair of pawns and its mirror image one has its leader on files a to d.
    #[test]
    fn leading_pawns_are_counted_once() {
        let pairs = (8..56u8).flat_map(|a| (8..a).map(move |b| [a, b]));
        let led_from = |mut pair: [u8; 2]| lead(&mut pair) == usize::from(pair[0] & 7);
        let sizes: u64 = LEADING_PAWNS_SIZE[2].iter().sum();
        assert_eq!(sizes, pairs.filter(|&pair| led_from(pair)).count() as u64);
    }

    #[test]
    fn groups_multiply_in_the_files_order() {
        // Lead, then pawns, then the others; and the other way round.
        let straight = layout("KPvKP", &[1, 9, 6, 14], 0, Some(1), 0);
        let reversed = layout("KPvKP", &[1, 9, 6, 14], 2, Some(3), 0);
        assert_eq!(straight.size(), reversed.size());
        assert_eq!(straight.groups.iter().map(|g| g.factor).collect::<Vec<_>>(), [1, 6, 6 * 47, 6 * 47 * 62]);
        assert_eq!(reversed.groups.iter().map(|g| g.factor).collect::<Vec<_>>(), [62 * 61, 62 * 61 * 6, 1, 62]);
    }

    #[test]
    fn what_no_table_can_mean_is_refused() {
        let material = |name| Material::parse(name).unwrap();
        let new = |name, pieces: &[u8], leading_at, pawns_at| {
            Layout::new(material(name), &Arrangement { pieces, leading_at, pawns_at, file: 0 })
                .map(|layout| layout.size)
        };
        assert!(new("KRvK", &[6, 4, 14], 0, None).is_ok());
        assert!(new("KRvK", &[6, 5, 14], 0, None).is_err(), "other pieces");
        assert!(new("KRvK", &[6, 4], 0, None).is_err(), "too few");
        assert!(new("KRvK", &[6, 4, 14], 1, None).is_err(), "no such place");
        assert!(new("KPPvK", &[1, 6, 1, 14], 0, None).is_err(), "a king between the pawns");
        assert!(new("KRRvK", &[6, 4, 4, 14], 0, None).is_err(), "the kings must lead");
        assert!(new("KPvKP", &[1, 9, 6, 14], 1, Some(1)).is_err(), "one place for two");
        assert!(new("KPvKP", &[1, 9, 6, 14], 0, Some(7)).is_err(), "no such place");
        assert!(new("KPvKP", &[1, 6, 9, 14], 0, Some(1)).is_err(), "a king between the pawns");
    }
}
