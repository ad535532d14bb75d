//! The input planes of Lc0's networks.
//!
//! 112 planes of 8 × 8: thirteen for each of eight positions, the last position first, and eight more. All are seen
//! from the mover of the last position: square a1 of a plane is Black's a8 when Black is to move.
//!
//! | planes | content |
//! |---|---|
//! | 13·i + 0–5 | the mover's pawns, knights, bishops, rooks, queens, king, i plies ago |
//! | 13·i + 6–11 | the opponent's |
//! | 13·i + 12 | ones if that position had occurred before |
//! | 104, 105 | format 1: ones if the mover may castle to the a side, to the h side. Others: rooks that may castle, a side, h side |
//! | 106, 107 | format 1: the same as 104, 105 for the opponent. Others: empty |
//! | 108 | formats 1, 2: ones if Black is to move. Others: en-passant flag, on rank 8 |
//! | 109 | the rule-50 count in plies, divided by 100 in the hectoplies formats |
//! | 110 | Armageddon formats: ones if Black is to move |
//! | 111 | ones |

use cozy_chess::{Board, Color, File, Piece, Rank, Square};

use crate::history::{History, Position};
use crate::transform::{Transform, seen_by};

/// Planes of an input.
pub const PLANES: usize = 112;

/// Positions of an input, the last one included.
pub const POSITIONS: usize = 8;

/// Planes of a position.
const PER_POSITION: usize = 13;

/// First of the planes that don't belong to a position.
const AUX: usize = POSITIONS * PER_POSITION;

/// Squares of a plane.
const SQUARES: usize = 64;

const ALL: u64 = u64::MAX;

/// How a network wants its input, by Lc0's names and numbers.
///
/// From [`InputFormat::Canonical`] on the board is turned by [`Transform`], and history ends where a position can't
/// be repeated any more: at another set of castling rights, at an en-passant flag, after a pawn move or a capture.
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
    /// 132, `…_HECTOPLIES_ARMAGEDDON`: and plane 110 says that Black is to move.
    CanonicalHectopliesArmageddon = 132,
    /// 5, `…_V2`: hectoplies, and of the earlier positions only repeated ones.
    CanonicalV2 = 5,
    /// 133, `…_V2_ARMAGEDDON`.
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

/// What stands for the positions before the first: Lc0's option HistoryFill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HistoryFill {
    /// Nothing. One entry is filled all the same if the first position has an en-passant flag: that move is known.
    No,
    /// The first position again, unless it is the standard start position.
    #[default]
    FenOnly,
    /// The first position again.
    Always,
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
    const EMPTY: Plane = Plane { mask: 0, value: 1.0 };
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

    /// Writes the input as a network reads it: plane after plane, square 8·rank + file within a plane.
    pub fn expand_into(&self, out: &mut [f32; PLANES * SQUARES]) {
        for (plane, squares) in self.0.iter().zip(out.chunks_exact_mut(SQUARES)) {
            for (square, out) in squares.iter_mut().enumerate() {
                *out = if plane.mask >> square & 1 == 1 { plane.value } else { 0.0 };
            }
        }
    }

    fn fill_if(&mut self, plane: usize, condition: bool) {
        self.0[plane].mask = if condition { ALL } else { 0 };
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
    *planes = Planes::default();
    write_positions(history, format, fill, planes);
    write_aux(history.last(), format, planes);
    if !format.is_canonical() {
        return Transform::NONE;
    }
    let transform = Transform::canonical(history.board());
    // The planes behind are empty or full in every format that is turned.
    for plane in &mut planes.0[..=AUX + 4] {
        plane.mask = transform.mask(plane.mask);
    }
    transform
}

/// Writes planes 0–103.
fn write_positions<const CAP: usize>(
    history: &History<CAP>,
    format: InputFormat,
    fill: HistoryFill,
    planes: &mut Planes,
) {
    let viewer = history.side_to_move();
    let mut slots = planes.0.chunks_exact_mut(PER_POSITION).take(POSITIONS);
    let mut slot = slots.next();
    for plies in 0.. {
        let Some(out) = slot.as_mut() else { break };
        let played = history.back(plies);
        let Some(position) = played.or_else(|| filler(history, plies, fill)) else { break };
        if format.is_canonical() && plies > 0 && !can_be_followed_back(position, history.last()) {
            break;
        }
        let wanted = plies == 0 || !format.keeps_only_repeated() || position.repetitions() > 0;
        if wanted {
            write_position(position, viewer, out);
            if played.is_none() {
                take_double_step_back(position, viewer, out);
            }
            slot = slots.next();
        }
        // A filled position is never wanted where only repeated ones are: the way back ends there too.
        if format.is_canonical() && (position.rule50() == 0 || !wanted && played.is_none()) {
            break;
        }
    }
}

/// The position that stands for the one `plies` before the last, where the game has none.
fn filler<const CAP: usize>(history: &History<CAP>, plies: usize, fill: HistoryFill) -> Option<&Position> {
    // Without the start position the game has more than is held: nothing is known to be missing.
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
fn write_position(position: &Position, viewer: Color, out: &mut [Plane]) {
    let board = position.board();
    for (side, color) in [viewer, !viewer].into_iter().enumerate() {
        for piece in Piece::ALL {
            out[side * Piece::NUM + piece as usize].mask = seen_by(board.colored_pieces(color, piece).0, viewer);
        }
    }
    if position.repetitions() > 0 {
        out[PER_POSITION - 1].mask = ALL;
    }
}

/// Puts the pawn of an en-passant flag back where it came from: the position before the first is known that far.
fn take_double_step_back(position: &Position, viewer: Color, out: &mut [Plane]) {
    let Some(file) = position.en_passant() else { return };
    let mover = !position.board().side_to_move();
    let seen = |rank: Rank| seen_by(Square::new(file, rank.relative_to(mover)).bitboard().0, viewer);
    let pawns = if mover == viewer { Piece::Pawn as usize } else { Piece::NUM + Piece::Pawn as usize };
    out[pawns].mask ^= seen(Rank::Fourth) | seen(Rank::Second);
}

/// Writes planes 104–111.
fn write_aux(last: &Position, format: InputFormat, planes: &mut Planes) {
    let board = last.board();
    let mover = board.side_to_move();
    if format == InputFormat::Classical112 {
        for (side, color) in [mover, !mover].into_iter().enumerate() {
            planes.fill_if(AUX + 2 * side, board.castle_rights(color).long.is_some());
            planes.fill_if(AUX + 2 * side + 1, board.castle_rights(color).short.is_some());
        }
    } else {
        planes.0[AUX].mask = castling_rooks(board, |color| board.castle_rights(color).long);
        planes.0[AUX + 1].mask = castling_rooks(board, |color| board.castle_rights(color).short);
    }
    if format.is_canonical() {
        planes.0[AUX + 4].mask = last.en_passant().map_or(0, |file| Square::new(file, Rank::Eighth).bitboard().0);
    } else {
        planes.fill_if(AUX + 4, mover == Color::Black);
    }
    let plies = f32::from(last.rule50());
    planes.0[AUX + 5] = Plane { mask: ALL, value: if format.is_hectoplies() { plies / 100.0 } else { plies } };
    planes.fill_if(AUX + 6, format.is_armageddon() && mover == Color::Black);
    planes.fill_if(AUX + 7, true);
}

/// The rooks of both sides that `right` names by file, from the mover's view.
fn castling_rooks(board: &Board, right: impl Fn(Color) -> Option<File>) -> u64 {
    let rook = |color| right(color).map_or(0, |file| Square::new(file, Rank::First.relative_to(color)).bitboard().0);
    seen_by(rook(Color::White) | rook(Color::Black), board.side_to_move())
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
        planes.expand_into(&mut out);
        assert_eq!((out[3 * 64], out[3 * 64 + 63]), (0.5, 0.5));
        assert_eq!(out.iter().sum::<f32>(), 1.0);
    }

    #[test]
    fn formats_that_keep_only_repetitions_end_at_a_start_with_a_running_clock() {
        let history = History::<100>::from_fen("8/5k2/3r4/8/2R5/8/4K3/8 w - - 20 80").unwrap();
        let mut planes = Planes::default();
        encode(&history, InputFormat::CanonicalV2, HistoryFill::Always, &mut planes);
        assert!(planes.0[PER_POSITION..AUX].iter().all(|plane| plane.mask == 0));
        assert_eq!(planes.0[AUX + 5].value, 0.2);
    }
}
