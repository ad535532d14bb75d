//! What can be seen of moves and positions without searching: what hangs, what is threatened, what gives check or mate.
//!
//! These are numbers for a small network to weigh ([`crate::hints`]). Amounts of material come from exchanges on one
//! square, in which both sides capture with their least piece as long as it pays and pinned pieces only along their
//! pin; [`scale`] turns them into numbers.

use cozy_chess::{
    BitBoard, Board, Color, File, Move, Piece, Square, get_bishop_moves, get_king_moves, get_knight_moves,
    get_line_rays, get_pawn_attacks, get_rook_moves,
};
use heapless::Vec;

use crate::MoveList;
use crate::exchanges::{self, Checks, is_en_passant, scale, worth};
use crate::movegen::{has_legal_move, legal_moves};
use crate::pieces::Pieces;

/// How many numbers describe a move.
pub const OF_MOVE: usize = 27;

/// How many numbers describe a position.
pub const OF_POSITION: usize = 8;

/// More pieces than can take part in captures on one square.
const MOST_CAPTURES: usize = 32;

/// How many mating threats are looked at, at most.
const MOST_THREATS: usize = 4;

/// What is seen of a move.
pub type OfMove = [f32; OF_MOVE];

/// What is seen of a position: the most and the second most that the other side could win by capturing if it were to
/// move, the same two amounts for the side to move, whether it is in check, the logarithm of the number of its moves,
/// whether the other side threatens mate, how full the board is.
pub type OfPosition = [f32; OF_POSITION];

/// Indices in [`OfMove`] that [`look`] and [`crate::hints`] read separately.
pub(crate) mod of_move {
    const LOST_THERE: usize = 1;
    pub(crate) const OTHER_LOST: usize = 2;
    const SECOND_LOST: usize = 3;
    pub(crate) const BALANCE: usize = 4;
    pub(crate) const BEHIND_BEST: usize = 5;
    pub(crate) const THREAT: usize = 6;
    const SECOND_THREAT: usize = 7;
    pub(crate) const CHECK: usize = 8;
    pub(crate) const MATE: usize = 9;
    /// Whether a mate that the other side threatens is still possible.
    const MATED: usize = 22;
    pub(crate) const GAIN: usize = 25;
    pub(crate) const GAIN_BEHIND_BEST: usize = 26;
    /// What depends on the moves that follow.
    pub(crate) const WHAT_FOLLOWS: [usize; 9] =
        [LOST_THERE, OTHER_LOST, SECOND_LOST, BALANCE, THREAT, SECOND_THREAT, CHECK, MATED, GAIN];
}

/// Fills in what is seen of each of the position's legal `moves`, and returns what is seen of the position. `gains` is
/// room for as many numbers as there are moves. `drawing` has the indices of the moves that end the game as a draw,
/// whatever stands on the board ([`History::drawing_moves`](crate::History::drawing_moves)).
///
/// # Panics
///
/// If `moves`, `gains` and `seen` differ in length, or if an index of `drawing` is beyond them.
pub fn look(board: &Board, moves: &[Move], drawing: &[usize], gains: &mut [i32], seen: &mut [OfMove]) -> OfPosition {
    assert_eq!(moves.len(), seen.len(), "numbers for each move");
    exchanges::gains(board, moves, gains);
    let view = View::of(board);
    for ((&mv, &mut gain), seen) in moves.iter().zip(gains).zip(&mut *seen) {
        *seen = view.of_move(mv, gain);
    }
    drawing.iter().for_each(|&at| forget_what_follows(&mut seen[at]));
    behind_best(seen, of_move::BALANCE, of_move::BEHIND_BEST);
    behind_best(seen, of_move::GAIN, of_move::GAIN_BEHIND_BEST);
    view.of_position(moves.len())
}

/// What is seen of a move behind which nothing follows: it wins and loses nothing, and threatens nothing.
fn forget_what_follows(seen: &mut OfMove) {
    of_move::WHAT_FOLLOWS.iter().for_each(|&what| seen[what] = 0.0);
}

/// Fills in, at index `behind`, by how much each move has less than the best one at index `what`.
fn behind_best(seen: &mut [OfMove], what: usize, behind: usize) {
    let best = seen.iter().map(|seen| seen[what]).fold(f32::MIN, f32::max);
    seen.iter_mut().for_each(|seen| seen[behind] = best - seen[what]);
}

fn flag(yes: bool) -> f32 {
    f32::from(u8::from(yes))
}

/// The position that is looked at.
struct View<'a> {
    board: &'a Board,
    us: Color,
    scene: Scene,
    /// Moves that would mate if the other side were to move.
    threats: Vec<Move, MOST_THREATS>,
}

impl<'a> View<'a> {
    fn of(board: &'a Board) -> Self {
        Self { board, us: board.side_to_move(), scene: Scene::of(board), threats: mating_threats(board) }
    }

    fn of_position(&self, moves: usize) -> OfPosition {
        let (lost, lost_too) = self.scene.hanging(!self.us, BitBoard::EMPTY);
        let (won, won_too) = self.scene.hanging(self.us, BitBoard::EMPTY);
        [
            scale(lost),
            scale(lost_too),
            scale(won),
            scale(won_too),
            flag(!self.board.checkers().is_empty()),
            libm::logf(moves.max(1) as f32),
            flag(!self.threats.is_empty()),
            self.scene.pieces.occupied().len() as f32 / 32.0,
        ]
    }

    fn of_move(&self, mv: Move, gain: i32) -> OfMove {
        let us = self.us;
        let piece = self.board.piece_on(mv.from).unwrap_or(Piece::Pawn);
        let Played { after, piece: becomes, to, won } = self.scene.play(self.board, mv);
        let there = after.wins(!us, to);
        let (other, other_too) = after.hanging(!us, to.bitboard());
        let second = if there >= other { other } else { other_too.max(there) };
        let (threat, threat_too) = after.hanging(us, BitBoard::EMPTY);
        let occupied = after.pieces.occupied();
        let attackers = after.attackers(to, occupied);
        let (ours, theirs) = (after.pieces.side(us), after.pieces.side(!us));
        let gives_check = !(after.attackers(after.kings[!us as usize], occupied) & ours).is_empty();
        let mates = gives_check && is_mate(self.board, mv);
        let is_castling = self.scene.pieces.side(us).has(mv.to);
        let rank = |square: Square| square.rank().relative_to(us) as u8 as f32 / 7.0;
        [
            scale(won),
            scale(there),
            scale(other),
            scale(second),
            scale(won - there.max(other)),
            0.0,
            scale(threat),
            scale(threat_too),
            flag(gives_check),
            flag(mates),
            scale(self.scene.wins(!us, mv.from)),
            flag(!(attackers & theirs & after.pieces.kind(Piece::Pawn)).is_empty()),
            flag(!(attackers & theirs).is_empty()),
            flag(!(attackers & ours).is_empty()),
            flag(piece == Piece::Pawn),
            flag(piece == Piece::Knight),
            flag(piece == Piece::Bishop),
            flag(piece == Piece::Rook),
            flag(piece == Piece::Queen),
            flag(piece == Piece::King),
            flag(is_castling),
            rank(to),
            flag(!mates && self.is_mated_behind(mv)),
            rank(mv.from),
            flag(becomes != piece),
            scale(gain),
            0.0,
        ]
    }

    /// Whether a mate that the other side threatens is still possible after the move.
    fn is_mated_behind(&self, mv: Move) -> bool {
        if self.threats.is_empty() {
            return false;
        }
        let mut after = self.board.clone();
        after.play_unchecked(mv);
        self.threats.iter().any(|&threat| after.is_legal(threat) && is_mate(&after, threat))
    }
}

/// Moves that would mate if the other side were to move.
fn mating_threats(board: &Board) -> Vec<Move, MOST_THREATS> {
    let Some(passed) = board.null_move() else { return Vec::new() };
    let mut moves = MoveList::new();
    legal_moves(&passed, &mut moves);
    let checks = Checks::of(&passed);
    moves
        .iter()
        .copied()
        .filter(|&mv| checks.may_give(&passed, mv) && is_mate(&passed, mv))
        .take(MOST_THREATS)
        .collect()
}

fn is_mate(board: &Board, mv: Move) -> bool {
    let mut after = board.clone();
    after.play_unchecked(mv);
    !after.checkers().is_empty() && !has_legal_move(&after)
}

/// The squares of the pieces, and which of them are pinned.
#[derive(Clone)]
struct Scene {
    pieces: Pieces,
    kings: [Square; Color::NUM],
    /// By side; those of the position that is looked at: pins that a move makes or breaks are not seen.
    pinned: [BitBoard; Color::NUM],
}

/// The scene after a move.
struct Played {
    after: Scene,
    /// The piece that is on `to` now.
    piece: Piece,
    to: Square,
    /// What was captured, and what a pawn gained by its promotion.
    won: i32,
}

impl Scene {
    fn of(board: &Board) -> Self {
        let (pieces, kings) = (Pieces::of(board), [board.king(Color::White), board.king(Color::Black)]);
        let pinned =
            [Color::White, Color::Black].map(|side| pieces.screens(kings[side as usize], !side) & pieces.side(side));
        Self { pieces, kings, pinned }
    }

    fn play(&self, board: &Board, mv: Move) -> Played {
        let us = board.side_to_move();
        let piece = board.piece_on(mv.from).unwrap_or(Piece::Pawn);
        let mut after = self.clone();
        after.pieces.take(us, piece, mv.from.bitboard());
        let (mut to, mut won) = (mv.to, 0);
        if self.pieces.side(us).has(mv.to) {
            let (king, rook) = match mv.to.file() > mv.from.file() {
                true => (File::G, File::F),
                false => (File::C, File::D),
            };
            after.pieces.take(us, Piece::Rook, mv.to.bitboard());
            after.pieces.put(us, Piece::Rook, Square::new(rook, mv.from.rank()).bitboard());
            to = Square::new(king, mv.from.rank());
        } else if let Some(taken) = board.piece_on(mv.to) {
            after.pieces.take(!us, taken, mv.to.bitboard());
            won = worth(taken);
        } else if is_en_passant(board, mv) {
            after.pieces.take(!us, Piece::Pawn, Square::new(mv.to.file(), mv.from.rank()).bitboard());
            won = worth(Piece::Pawn);
        }
        let becomes = mv.promotion.unwrap_or(piece);
        after.pieces.put(us, becomes, to.bitboard());
        if piece == Piece::King {
            after.kings[us as usize] = to;
        }
        Played { after, piece: becomes, to, won: won + worth(becomes) - worth(piece) }
    }

    /// All pieces of both sides that attack a square.
    fn attackers(&self, to: Square, occupied: BitBoard) -> BitBoard {
        let Pieces { sides, .. } = self.pieces;
        let pawns = get_pawn_attacks(to, Color::Black) & sides[0] | get_pawn_attacks(to, Color::White) & sides[1];
        pawns & self.pieces.kind(Piece::Pawn)
            | get_knight_moves(to) & self.pieces.kind(Piece::Knight)
            | get_king_moves(to) & self.pieces.kind(Piece::King)
            | get_bishop_moves(to, occupied) & self.pieces.diagonal()
            | get_rook_moves(to, occupied) & self.pieces.straight()
    }

    /// Pieces of both sides that a pin prevents from going to a square.
    fn kept_from(&self, to: Square) -> BitBoard {
        let mut kept = BitBoard::EMPTY;
        for (pinned, &king) in self.pinned.iter().zip(&self.kings) {
            if !pinned.is_empty() {
                kept |= *pinned & !get_line_rays(king, to);
            }
        }
        kept
    }

    /// What `side` wins by capturing on a square; 0 if it had better not capture.
    fn wins(&self, side: Color, to: Square) -> i32 {
        let able = !self.kept_from(to);
        let mut occupied = self.pieces.occupied();
        let mut attackers = self.attackers(to, occupied) & able;
        if (attackers & self.pieces.side(side)).is_empty() {
            return 0;
        }
        // What is on the square now has been won once the next piece captures.
        let mut stands = Piece::ALL.into_iter().find(|&piece| self.pieces.kind(piece).has(to)).map_or(0, worth);
        let mut captured: Vec<i32, MOST_CAPTURES> = Vec::new();
        let mut mover = side;
        while let Some((piece, from)) = self.least(mover, attackers & self.pieces.side(mover)) {
            let is_answered = !(attackers & self.pieces.side(!mover)).is_empty();
            if piece == Piece::King && is_answered || captured.push(stands).is_err() {
                break;
            }
            stands = worth(piece);
            occupied ^= from.bitboard();
            if matches!(piece, Piece::Pawn | Piece::Bishop | Piece::Queen) {
                attackers |= get_bishop_moves(to, occupied) & self.pieces.diagonal();
            }
            if matches!(piece, Piece::Rook | Piece::Queen) {
                attackers |= get_rook_moves(to, occupied) & self.pieces.straight();
            }
            attackers &= occupied & able;
            mover = !mover;
        }
        captured.iter().rev().fold(0, |behind, &captured| (captured - behind).max(0))
    }

    /// The least valuable of some pieces of a side; of two of a kind the one that is farther back, so that colours make
    /// no difference.
    fn least(&self, side: Color, among: BitBoard) -> Option<(Piece, Square)> {
        if among.is_empty() {
            return None;
        }
        let backmost = |among: BitBoard| match side {
            Color::White => among.next_square(),
            Color::Black => among.flip_ranks().next_square().map(Square::flip_rank),
        };
        Piece::ALL.into_iter().find_map(|piece| Some((piece, backmost(among & self.pieces.kind(piece))?)))
    }

    /// The most and the second most that `side` wins by capturing on any square other than `but`.
    fn hanging(&self, side: Color, but: BitBoard) -> (i32, i32) {
        let (mut most, mut second) = (0, 0);
        for to in self.pieces.side(!side) & !self.pieces.kind(Piece::King) & !but {
            let wins = self.wins(side, to);
            second = second.max(wins.min(most));
            most = most.max(wins);
        }
        (most, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Castling to either side, in Chess960 too, promotions with and without a capture, and captures en passant by both
    /// sides are among the moves of these positions.
    #[test]
    fn the_scene_after_a_move_is_that_of_the_position_after_it() {
        let mut seen = [false; 3];
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
            "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3",
            "1rk1r3/8/8/8/8/8/8/1RK1R3 w EBeb - 0 1",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        ] {
            let board = Board::from_fen(fen, fen.contains("EBeb")).expect("a position");
            board.generate_moves(|moves| {
                for mv in moves {
                    let mut after = board.clone();
                    after.play_unchecked(mv);
                    let (Played { after: scene, to, .. }, there) =
                        (Scene::of(&board).play(&board, mv), Scene::of(&after));
                    assert_eq!(
                        (scene.pieces.kinds, scene.pieces.sides),
                        (there.pieces.kinds, there.pieces.sides),
                        "{fen} {mv}"
                    );
                    assert_eq!(scene.kings, there.kings, "{fen} {mv}");
                    assert!(scene.pieces.side(board.side_to_move()).has(to), "{fen} {mv}");
                    let castles = board.colors(board.side_to_move()).has(mv.to);
                    let kinds = [castles, mv.promotion.is_some(), is_en_passant(&board, mv)];
                    (0..3).for_each(|kind| seen[kind] |= kinds[kind]);
                }
                false
            });
        }
        assert_eq!(seen, [true; 3], "castling, promotions, captures en passant");
    }
}
