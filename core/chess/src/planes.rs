//! The input planes of Lc0's networks.
//!
//! 112 planes of 8 × 8: thirteen for each of eight positions, the last position first, and eight more. All are seen
//! from the mover of the last position: square a1 of a plane is Black's a8 when Black is to move.
//!
//! | planes | content |
//! |---|---|
//! | 13·i + 0–5 | the mover's pawns, knights, bishops, rooks, queens, king, i plies ago (formats that keep only repetitions: i of those ago) |
//! | 13·i + 6–11 | the opponent's |
//! | 13·i + 12 | ones if that position had occurred before |
//! | 104, 105 | format 1: ones if the mover may castle to the a side, to the h side. Others: rooks that may castle, a side, h side |
//! | 106, 107 | format 1: the same as 104, 105 for the opponent. Others: empty |
//! | 108 | formats 1, 2: ones if Black is to move. Others: en-passant flag, on rank 8 |
//! | 109 | the rule-50 count in plies, divided by 100 in the hectoplies formats |
//! | 110 | Armageddon formats: ones if Black is to move |
//! | 111 | ones |

use core::fmt;

use cozy_chess::{BitBoard, CastleRights, Color, File, Piece, Rank, Square};

use crate::history::{History, Position, scatter};
use crate::transform::{Transform, seen_by};

/// How many planes an input has.
pub const PLANES: usize = 112;

/// How many positions an input shows, including the last one.
pub const POSITIONS: usize = 8;

/// How many planes each position has.
const PER_POSITION: usize = 13;

/// Index of the first plane that does not belong to a position.
const AUX: usize = POSITIONS * PER_POSITION;

/// How many squares a plane has.
const SQUARES: usize = 64;

const ALL: u64 = u64::MAX;

/// The form in which a network wants its input, with Lc0's names and numbers.
///
/// From [`InputFormat::Canonical`] on, the board is turned by [`Transform`], and history ends where a position can't be
/// repeated any more: at a change of castling rights, at an en-passant flag, after a pawn move or a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InputFormat {
    /// 1, `INPUT_CLASSICAL_112_PLANE`.
    Classical112 = 1,
    /// 2, `INPUT_112_WITH_CASTLING_PLANE`: castling rights as rook squares.
    CastlingPlane = 2,
    /// 3, `INPUT_112_WITH_CANONICALIZATION`.
    Canonical = 3,
    /// 4, `…_HECTOPLIES`: rule 50 divided by 100.
    CanonicalHectoplies = 4,
    /// 132, `…_HECTOPLIES_ARMAGEDDON`: as 4, and plane 110 says that Black is to move.
    CanonicalHectopliesArmageddon = 132,
    /// 5, `…_V2`: as 4, and of the earlier positions only repeated ones are shown.
    CanonicalV2 = 5,
    /// 133, `…_V2_ARMAGEDDON`: as 5, and plane 110 says that Black is to move.
    CanonicalV2Armageddon = 133,
}

impl InputFormat {
    /// Every format.
    pub const ALL: [InputFormat; 7] = [
        InputFormat::Classical112,
        InputFormat::CastlingPlane,
        InputFormat::Canonical,
        InputFormat::CanonicalHectoplies,
        InputFormat::CanonicalHectopliesArmageddon,
        InputFormat::CanonicalV2,
        InputFormat::CanonicalV2Armageddon,
    ];

    /// The number of the format in a weights file.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The format that has `number` in a weights file.
    pub fn from_number(number: u32) -> Option<InputFormat> {
        Self::ALL.into_iter().find(|format| format.number() == number)
    }

    /// Whether the board is turned and history ends early.
    pub fn is_canonical(self) -> bool {
        !matches!(self, InputFormat::Classical112 | InputFormat::CastlingPlane)
    }

    fn is_hectoplies(self) -> bool {
        self.is_canonical() && self != InputFormat::Canonical
    }

    fn is_armageddon(self) -> bool {
        matches!(self, InputFormat::CanonicalHectopliesArmageddon | InputFormat::CanonicalV2Armageddon)
    }

    fn keeps_only_repeated(self) -> bool {
        matches!(self, InputFormat::CanonicalV2 | InputFormat::CanonicalV2Armageddon)
    }
}

/// What takes the place of the positions before the first: Lc0's option HistoryFill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HistoryFill {
    /// Nothing. But one entry is filled if the first position has an en-passant flag, because that move is known.
    No,
    /// The first position again, unless it is the standard start position.
    #[default]
    FenOnly,
    /// The first position again.
    Always,
}

impl HistoryFill {
    /// All the values.
    pub const ALL: [Self; 3] = [Self::No, Self::FenOnly, Self::Always];
}

impl fmt::Display for HistoryFill {
    /// Writes the value as Lc0's option has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::FenOnly => "fen_only",
            Self::Always => "always",
        })
    }
}

/// A plane: `value` on the squares of `mask` (a1 = bit 0, b1 = bit 1, h8 = bit 63), 0 on the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// The squares.
    pub mask: u64,
    /// The value on them.
    pub value: f32,
}

impl Plane {
    const EMPTY: Plane = Plane::of(0);

    const fn of(mask: u64) -> Plane {
        Plane { mask, value: 1.0 }
    }

    const fn full_if(condition: bool) -> Plane {
        Plane::of(if condition { ALL } else { 0 })
    }
}

/// A set of planes: those that a network looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaneSet(u128);

impl PlaneSet {
    /// All planes of an input.
    pub const ALL: PlaneSet = PlaneSet((1 << PLANES) - 1);

    /// How many planes the set has.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// True if the set has no plane.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `plane` is in the set.
    pub fn contains(self, plane: usize) -> bool {
        plane < PLANES && self.0 >> plane & 1 != 0
    }

    /// How many positions the planes show, counted from the last one back to the earliest that is shown.
    pub fn positions(self) -> usize {
        let of_positions = self.0 & ((1 << AUX) - 1);
        let bits = u128::BITS - of_positions.leading_zeros();
        (bits as usize).div_ceil(PER_POSITION)
    }
}

impl FromIterator<usize> for PlaneSet {
    /// The set of the planes with these numbers. Numbers that are not an input's are ignored.
    fn from_iter<I: IntoIterator<Item = usize>>(planes: I) -> Self {
        PlaneSet(planes.into_iter().filter(|&plane| plane < PLANES).fold(0, |set, plane| set | 1 << plane))
    }
}

/// An input of a network: [`PLANES`] planes.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes([Plane; PLANES]);

impl Default for Planes {
    /// All planes empty.
    fn default() -> Self {
        Planes([Plane::EMPTY; PLANES])
    }
}

impl Planes {
    /// The planes in order.
    pub fn as_array(&self) -> &[Plane; PLANES] {
        &self.0
    }

    /// Writes the planes of `seen` as a network reads them: plane after plane, square 8·rank + file within a plane.
    ///
    /// `out` should have 64 numbers for each plane of `seen`. Planes for which there is no room are left out, and
    /// numbers beyond the last plane become 0.
    pub fn expand_into(&self, seen: PlaneSet, out: &mut [f32]) {
        // Most planes are empty, a few are full, and the others have few squares.
        out.fill(0.0);
        let (squares, _) = out.as_chunks_mut::<SQUARES>();
        let planes = self.0.iter().enumerate().filter(|&(number, _)| seen.contains(number));
        for ((_, plane), squares) in planes.zip(squares) {
            if plane.mask == ALL {
                *squares = [plane.value; SQUARES];
                continue;
            }
            let mut left = plane.mask;
            while left != 0 {
                squares[left.trailing_zeros() as usize] = plane.value;
                left &= left - 1;
            }
        }
    }
}

/// Writes the input for the last position of `history`, and returns the transform for the policy.
///
/// Whatever `planes` held before is overwritten.
pub fn encode<const CAP: usize>(
    history: &History<CAP>,
    format: InputFormat,
    fill: HistoryFill,
    planes: &mut Planes,
) -> Transform {
    let board = history.board();
    let transform = if format.is_canonical() { Transform::canonical(board) } else { Transform::NONE };
    let view = View { viewer: board.side_to_move(), transform };
    write_positions(Seen::new(history, format, fill), view, planes);
    write_aux(history.last(), format, view, planes);
    transform
}

/// How a network sees the board.
#[derive(Clone, Copy)]
struct View {
    viewer: Color,
    transform: Transform,
}

impl View {
    #[inline(always)]
    fn of(self, squares: BitBoard) -> u64 {
        self.transform.mask(seen_by(squares.0, self.viewer))
    }
}

/// A 64-bit key of what [`encode`] writes into the planes of `seen` for the last position of `history`, and of its
/// legal moves: for a cache of the answers of a network that looks at those planes.
///
/// Equal keys mean equal planes and equal moves, as far as 64 bits can tell. The converse holds for the same last
/// position if `seen` has all planes of the positions that it shows, unless an earlier position had castling rights
/// that were lost since: no format shows when they were.
///
/// It takes no more than a look at each position that `seen` shows.
pub fn key<const CAP: usize>(history: &History<CAP>, format: InputFormat, fill: HistoryFill, seen: PlaneSet) -> u64 {
    let last = history.last();
    let en_passant = |position: &Position| position.en_passant().map_or(0, |file| file as u64 + 1);
    let mut key = u64::from(last.rule50().min(MOST_PLIES)) << 4 | en_passant(last);
    // The last position gives the moves.
    for (position, origin) in Seen::new(history, format, fill).take(seen.positions().max(1)) {
        let repeated = u64::from(position.repetitions() > 0);
        let filled = match origin {
            Origin::Played => 0,
            // The pawn is on another square.
            Origin::Filled => 1 + en_passant(position),
        };
        key = scatter(key ^ position.board().hash_without_ep()).wrapping_add(filled << 1 | repeated);
    }
    scatter(key)
}

/// Where a position of an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Played,
    /// The position takes the place of one before the first.
    Filled,
}

/// Iterates over the positions of an input, the last one of the game first; at most [`POSITIONS`].
struct Seen<'a, const CAP: usize> {
    history: &'a History<CAP>,
    format: InputFormat,
    fill: HistoryFill,
    plies: usize,
    left: usize,
}

impl<'a, const CAP: usize> Seen<'a, CAP> {
    fn new(history: &'a History<CAP>, format: InputFormat, fill: HistoryFill) -> Self {
        Self { history, format, fill, plies: 0, left: POSITIONS }
    }
}

impl<'a, const CAP: usize> Iterator for Seen<'a, CAP> {
    type Item = (&'a Position, Origin);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let (position, origin) = match self.history.back(self.plies) {
                Some(position) => (position, Origin::Played),
                None => (filler(self.history, self.plies, self.fill)?, Origin::Filled),
            };
            let first = self.plies == 0;
            if self.format.is_canonical() && !first && !can_be_followed_back(position, self.history.last()) {
                return None;
            }
            let wanted = first || !self.format.keeps_only_repeated() || position.repetitions() > 0;
            self.plies += 1;
            self.left -= usize::from(wanted);
            // A filled position is never wanted if only repeated ones are: the way back ends there, too.
            if self.format.is_canonical() && (position.rule50() == 0 || !wanted && origin == Origin::Filled) {
                self.left = 0;
            }
            if wanted {
                return Some((position, origin));
            }
        }
        None
    }
}

/// Writes planes 0–103.
fn write_positions<const CAP: usize>(positions: Seen<CAP>, view: View, planes: &mut Planes) {
    let (slots, _) = planes.0[..AUX].as_chunks_mut::<PER_POSITION>();
    let mut slots = slots.iter_mut();
    for ((position, origin), out) in positions.zip(&mut slots) {
        write_position(position, view, out);
        if origin == Origin::Filled {
            take_double_step_back(position, view, out);
        }
    }
    slots.for_each(|out| *out = [Plane::EMPTY; PER_POSITION]);
}

/// The position that takes the place of the one `plies` plies before the last, if the game has none there.
fn filler<const CAP: usize>(history: &History<CAP>, plies: usize, fill: HistoryFill) -> Option<&Position> {
    // If the start position is forgotten, the game has more positions than are held: none is known to be missing.
    let start = history.start()?;
    let before_start = plies + 1 - history.len();
    let allowed = match fill {
        HistoryFill::No => start.en_passant().is_some() && before_start == 1,
        HistoryFill::FenOnly => !history.has_standard_start(),
        HistoryFill::Always => true,
    };
    allowed.then_some(start)
}

/// Whether `last` may still be a repetition of something at or before the earlier `position`.
fn can_be_followed_back(position: &Position, last: &Position) -> bool {
    position.en_passant().is_none()
        && Color::ALL.iter().all(|&c| position.board().castle_rights(c) == last.board().castle_rights(c))
}

/// Writes the thirteen planes of a position.
fn write_position(position: &Position, view: View, out: &mut [Plane; PER_POSITION]) {
    let board = position.board();
    let [own, other] = [view.viewer, !view.viewer].map(|color| view.of(board.colors(color)));
    for piece in Piece::ALL {
        let squares = view.of(board.pieces(piece));
        out[piece as usize] = Plane::of(squares & own);
        out[Piece::NUM + piece as usize] = Plane::of(squares & other);
    }
    out[PER_POSITION - 1] = Plane::full_if(position.repetitions() > 0);
}

/// Puts the pawn of an en-passant flag back to its origin: that much of the position before the first is known.
fn take_double_step_back(position: &Position, view: View, out: &mut [Plane; PER_POSITION]) {
    let Some(file) = position.en_passant() else { return };
    let mover = !position.board().side_to_move();
    let seen = |rank: Rank| view.of(Square::new(file, rank.relative_to(mover)).bitboard());
    let pawns = if mover == view.viewer { Piece::Pawn as usize } else { Piece::NUM + Piece::Pawn as usize };
    out[pawns].mask ^= seen(Rank::Fourth) | seen(Rank::Second);
}

/// The largest count that the plane of the fifty-move rule shows. A game may go on beyond it, and a FEN may say
/// anything; no network was trained with larger counts, and what it makes of a thousand is nonsense. (Lc0 does show
/// larger counts.)
const MOST_PLIES: u16 = 100;

/// Writes planes 104–111.
fn write_aux(last: &Position, format: InputFormat, view: View, planes: &mut Planes) {
    let board = last.board();
    let mover = board.side_to_move();
    let rights = [mover, !mover].map(|color| *board.castle_rights(color));
    let castling = if format == InputFormat::Classical112 {
        let [own, other] = rights.map(|side| [side.long, side.short].map(|right| Plane::full_if(right.is_some())));
        [own[0], own[1], other[0], other[1]]
    } else {
        let rooks = |right: fn(CastleRights) -> Option<File>| Plane::of(castling_rooks(rights.map(right)));
        [rooks(|side| side.long), rooks(|side| side.short), Plane::EMPTY, Plane::EMPTY]
    };
    let black = Plane::full_if(mover == Color::Black);
    let turn_or_en_passant = if format.is_canonical() {
        let behind = last.en_passant().map_or(0, |file| Square::new(file, Rank::Eighth).bitboard().0);
        Plane::of(view.transform.mask(behind))
    } else {
        black
    };
    let plies = f32::from(last.rule50().min(MOST_PLIES));
    let rule50 = Plane { mask: ALL, value: if format.is_hectoplies() { plies / 100.0 } else { plies } };
    let armageddon = if format.is_armageddon() { black } else { Plane::EMPTY };
    planes.0[AUX..AUX + 4].copy_from_slice(&castling);
    planes.0[AUX + 4..].copy_from_slice(&[turn_or_en_passant, rule50, armageddon, Plane::full_if(true)]);
}

/// The rooks of the mover and of the opponent that stand on these files, from the mover's view. If anybody may castle,
/// there is no transform.
fn castling_rooks([own, other]: [Option<File>; 2]) -> u64 {
    let rook = |file: Option<File>, rank| file.map_or(0, |file| Square::new(file, rank).bitboard().0);
    rook(own, Rank::First) | rook(other, Rank::Eighth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_keep_their_numbers() {
        let numbers = InputFormat::ALL.map(InputFormat::number);
        assert_eq!(numbers, [1, 2, 3, 4, 132, 5, 133]);
        for format in InputFormat::ALL {
            assert_eq!(InputFormat::from_number(format.number()), Some(format));
        }
        assert_eq!(InputFormat::from_number(0), None);
    }

    #[test]
    fn expansion_puts_values_on_the_squares_of_the_masks() {
        let mut planes = Planes::default();
        planes.0[3] = Plane { mask: 1 << 63 | 1, value: 0.5 };
        let mut out = [f32::NAN; PLANES * SQUARES];
        planes.expand_into(PlaneSet::ALL, &mut out);
        assert_eq!((out[3 * 64], out[3 * 64 + 63]), (0.5, 0.5));
        assert_eq!(out.iter().sum::<f32>(), 1.0);
    }

    #[test]
    fn expansion_writes_the_planes_that_are_seen() {
        let mut planes = Planes::default();
        for (number, plane) in planes.0.iter_mut().enumerate() {
            *plane = Plane { mask: 1, value: number as f32 };
        }
        let mut out = [f32::NAN; 4 * SQUARES];
        planes.expand_into([111, 3, 40, 112].into_iter().collect(), &mut out);
        assert_eq!([0, 1, 2, 3].map(|plane| out[plane * SQUARES]), [3.0, 40.0, 111.0, 0.0]);
        assert_eq!(out.iter().sum::<f32>(), 154.0);
    }

    #[test]
    fn a_key_mixes_no_flag_up_with_a_count() {
        let of = |fen, moves: &[&str]| {
            let mut history = History::<{ crate::MIN_CAP }>::from_fen(fen).unwrap();
            moves.iter().for_each(|text| history.push(text.parse().unwrap()));
            let last_only = (0..13).chain(AUX..PLANES).collect();
            key(&history, InputFormat::ALL[0], HistoryFill::No, last_only)
        };
        let flagged = of("4k3/7p/8/6P1/8/8/8/4K3 b - - 0 1", &["h7h5"]);
        assert_ne!(flagged, of("4k3/8/8/6Pp/8/8/8/4K3 w - - 1 2", &[]));
    }

    #[test]
    fn a_set_of_planes_knows_how_many_positions_it_shows() {
        assert!(PlaneSet::from_iter([]).is_empty() && !PlaneSet::from_iter([111]).is_empty());
        assert!(PlaneSet::from_iter([112, 1000]).is_empty(), "there are no such planes");
        let positions = |planes: &[usize]| planes.iter().copied().collect::<PlaneSet>().positions();
        assert_eq!([0, 12, 13, 25, 26, 103].map(|plane| positions(&[plane])), [1, 1, 2, 2, 3, 8]);
        assert_eq!((positions(&[]), positions(&[104, 111]), positions(&[5, 109])), (0, 0, 1));
        assert_eq!((PlaneSet::ALL.positions(), PlaneSet::ALL.len()), (POSITIONS, PLANES));
        assert!(PlaneSet::ALL.contains(111) && !PlaneSet::ALL.contains(112));
    }

    #[test]
    fn formats_that_keep_only_repetitions_end_at_a_start_with_a_running_clock() {
        let history = History::<100>::from_fen("8/5k2/3r4/8/2R5/8/4K3/8 w - - 20 80").unwrap();
        let mut planes = Planes::default();
        encode(&history, InputFormat::CanonicalV2, HistoryFill::Always, &mut planes);
        assert!(planes.0[PER_POSITION..AUX].iter().all(|plane| plane.mask == 0));
        assert_eq!(planes.0[AUX + 5].value, 0.2);
    }

    #[test]
    fn a_clock_beyond_the_fifty_moves_stands_where_they_end() {
        let [last, end, beyond] = [
            "8/5k2/3r4/8/2R5/8/4K3/8 w - - 99 2000",
            "8/5k2/3r4/8/2R5/8/4K3/8 w - - 100 2000",
            "8/5k2/3r4/8/2R5/8/4K3/8 w - - 3000 2000",
        ];
        let seen = |fen: &str, format| {
            let history = History::<100>::from_fen(fen).unwrap();
            let mut planes = Planes::default();
            encode(&history, format, HistoryFill::Always, &mut planes);
            (planes.0[AUX + 5].value, key(&history, format, HistoryFill::Always, PlaneSet::ALL))
        };
        let [classical, hectoplies] = [InputFormat::Classical112, InputFormat::CanonicalHectoplies];
        assert_eq!([last, end, beyond].map(|fen| seen(fen, classical).0), [99.0, 100.0, 100.0]);
        assert_eq!(seen(beyond, hectoplies), seen(end, hectoplies));
        assert_ne!(seen(last, classical).1, seen(end, classical).1);
    }
}
