//! What moves gain in material: considers every reply, and the captures behind it, and uses no network.
//!
//! The plain evaluation of a position is the material on the board ([`worth`]). A move's gain is what that evaluation
//! becomes once the other side has answered as well as it can and both sides have captured as long as it pays, less
//! what it is now. So a move that leaves a piece hanging has a loss, one that forks two pieces has a gain, and a mate
//! given or allowed counts as [`MATE`].
//!
//! After the reply, three things are simplified: either side may also stop, in check or not; pawns become queens;
//! captures en passant are ignored.

use core::cell::Cell;

use cozy_chess::{
    BitBoard, Board, Color, Move, Piece, Rank, Square, get_bishop_moves, get_king_moves, get_knight_moves,
    get_pawn_attacks, get_rook_moves,
};

use heapless::Vec;

use crate::MoveList;
use crate::movegen::{PawnSteps, has_legal_move, legal_moves};
use crate::pieces::Pieces;

/// The gain of a mate: more than all the material there is.
pub const MATE: i32 = 30_000;

/// How many captures in a row are followed after the reply; then the material counts as it stands.
pub const CAPTURES: u32 = 8;

/// How many positions after replies [`gains`] looks at, at most: a hundred times as many as there are in an ordinary
/// position (540 on average). Each move has its share of them, and once that is used up the material counts as it
/// stands.
pub const POSITIONS: u32 = 50_000;

/// More captures and promotions than any position has.
const MOST_CAPTURES: usize = 128;

/// More pieces than a side can have.
const MOST_CAPTORS: usize = 16;

/// What a piece is worth, in centipawns.
pub const fn worth(piece: Piece) -> i32 {
    match piece {
        Piece::Pawn => 100,
        Piece::Knight => 310,
        Piece::Bishop => 330,
        Piece::Rook => 500,
        Piece::Queen => 900,
        Piece::King => 0,
    }
}

/// What a pawn gains by becoming a queen.
const PROMOTION: i32 = worth(Piece::Queen) - worth(Piece::Pawn);

/// Computes what each of the position's legal `moves` gains, in centipawns, into `gains`, which must be as long. Giving
/// mate gains [`MATE`] less the present material; allowing it gains −[`MATE`] less the present material; a stalemate
/// counts as equal material.
///
/// It takes half a million instructions in an ordinary position; [`POSITIONS`] bounds them in a position with nine
/// queens on either side.
///
/// # Panics
///
/// If `moves` and `gains` differ in length.
pub fn gains(board: &Board, moves: &[Move], gains: &mut [i32]) {
    gains_within(board, moves, gains, POSITIONS);
}

/// Like [`gains`], with another bound than [`POSITIONS`].
///
/// # Panics
///
/// If `moves` and `gains` differ in length.
pub fn gains_within(board: &Board, moves: &[Move], gains: &mut [i32], positions: u32) {
    assert_eq!(moves.len(), gains.len(), "one gain for each move");
    let before = material(board);
    let share = positions / moves.len().max(1) as u32;
    let (mut replies, mut killer) = (MoveList::new(), None);
    for (&mv, gain) in moves.iter().zip(gains) {
        let stand = before + gained(board, mv);
        *gain = -best_reply(&after(board, mv), -stand, &Cell::new(share), &mut replies, &mut killer) - before;
    }
}

/// The largest amount of material that is told apart, in centipawns: a larger one counts as this.
const MOST: i32 = 1200;

/// Corrects a policy by what exchanges say: subtracts `weight` · (s(best) − s(gain)) from each move's logit, with s(x)
/// = ±ln(1 + |x|) of x pawns. It is for a policy whose network is too small to see exchanges by itself.
///
/// The idea of priors that a shallow search informs: H. Baier and M. Winands, "MCTS-Minimax Hybrids with State
/// Evaluations", 2018.
pub fn correct(logits: &mut [f32], gains: &[i32], weight: f32) {
    let best = gains.iter().copied().max().map_or(0.0, scale);
    for (logit, &gain) in logits.iter_mut().zip(gains) {
        *logit -= weight * (best - scale(gain));
    }
}

/// s(x) = ±ln(1 + |x|) of x pawns, at most twelve: the first pawn counts for more than the ninth.
pub fn scale(centipawns: i32) -> f32 {
    let pawns = centipawns.clamp(-MOST, MOST) as f32 / 100.0;
    libm::copysignf(libm::log1pf(libm::fabsf(pawns)), pawns)
}

/// The material of the side to move, less the other side's.
fn material(board: &Board) -> i32 {
    let side = board.side_to_move();
    let count = |piece, color| board.colored_pieces(color, piece).len() as i32;
    Piece::ALL.into_iter().map(|piece| worth(piece) * (count(piece, side) - count(piece, !side))).sum()
}

fn after(board: &Board, mv: Move) -> Board {
    let mut after = board.clone();
    after.play_unchecked(mv);
    after
}

/// What a move gains at once. (Castling is king takes rook, which captures nothing.)
fn gained(board: &Board, mv: Move) -> i32 {
    let taken = if board.colors(!board.side_to_move()).has(mv.to) {
        board.piece_on(mv.to).map_or(0, worth)
    } else if is_en_passant(board, mv) {
        worth(Piece::Pawn)
    } else {
        0
    };
    taken + mv.promotion.map_or(0, |piece| worth(piece) - worth(Piece::Pawn))
}

pub(crate) fn is_en_passant(board: &Board, mv: Move) -> bool {
    board.en_passant() == Some(mv.to.file())
        && mv.from.file() != mv.to.file()
        && board.pieces(Piece::Pawn).has(mv.from)
        && !board.occupied().has(mv.to)
}

/// The material that the side to move ends up with after the best of all its moves, if it has `stand` now. `killer` is
/// a quiet reply that was the best against another move.
fn best_reply(
    board: &Board,
    stand: i32,
    positions: &Cell<u32>,
    replies: &mut MoveList,
    killer: &mut Option<Move>,
) -> i32 {
    legal_moves(board, replies);
    if replies.is_empty() {
        return if board.checkers().is_empty() { 0 } else { -MATE };
    }
    let (checks, theirs) = (Checks::of(board), board.colors(!board.side_to_move()));
    let loud = |mv: &Move| theirs.has(mv.to) || mv.promotion.is_some() || is_en_passant(board, *mv);
    let mut captures: Vec<Move, MOST_CAPTURES> = replies.iter().copied().filter(loud).take(MOST_CAPTURES).collect();
    captures.sort_unstable_by_key(|&mv| -gained(board, mv));
    let quiet = || replies.iter().copied().filter(|mv| !loud(mv));
    let mut best = -MATE;
    let look = |mv: Move, best: &mut i32| {
        // The other side may stop where it is: unless there is a mate, a move is worth at most what there is then.
        let most = stand + gained(board, mv);
        if most > *best || checks.may_give(board, mv) {
            *best = value_of(&after(board, mv), most, *best, positions).max(*best);
        }
    };
    captures.into_iter().for_each(|mv| look(mv, &mut best));
    if best < stand
        && let Some(mv) = quiet().find(|&mv| Some(mv) == *killer)
    {
        look(mv, &mut best);
    }
    for mv in quiet() {
        let before = best;
        look(mv, &mut best);
        if best > before {
            *killer = Some(mv);
        }
    }
    best
}

/// The material that is left to the side that has just moved and has `stand`; exact if it is more than `best`.
fn value_of(board: &Board, stand: i32, best: i32, positions: &Cell<u32>) -> i32 {
    if !board.checkers().is_empty() && !has_legal_move(board) {
        return MATE;
    }
    if stand <= best {
        return best;
    }
    let reach = Reach { captures: CAPTURES, positions };
    -Pieces::of(board).exchange(board.side_to_move(), -stand, reach, -MATE, -best)
}

/// How far captures are followed from here on.
#[derive(Clone, Copy)]
struct Reach<'a> {
    captures: u32,
    positions: &'a Cell<u32>,
}

impl Reach<'_> {
    /// The reach after one more capture; `None` if captures are not followed any further.
    fn next(self) -> Option<Self> {
        let positions = self.positions.get().checked_sub(1)?;
        self.positions.set(positions);
        Some(Self { captures: self.captures.checked_sub(1)?, ..self })
    }
}

/// Tells which moves may give check, without playing them.
pub(crate) struct Checks {
    /// For each kind of piece, the squares from which it attacks the king.
    direct: [BitBoard; Piece::NUM],
    /// The union of these squares.
    any: BitBoard,
    /// Pieces of the side to move whose moves may discover a check.
    discoverers: BitBoard,
}

impl Checks {
    pub(crate) fn of(board: &Board) -> Self {
        let (mover, occupied) = (board.side_to_move(), board.occupied());
        let king = board.king(!mover);
        let (diagonal, straight) = (get_bishop_moves(king, occupied), get_rook_moves(king, occupied));
        let discoverers = Pieces::of(board).screens(king, mover) & board.colors(mover);
        let mut direct = [BitBoard::EMPTY; Piece::NUM];
        direct[Piece::Pawn as usize] = get_pawn_attacks(king, !mover);
        direct[Piece::Knight as usize] = get_knight_moves(king);
        direct[Piece::Bishop as usize] = diagonal;
        direct[Piece::Rook as usize] = straight;
        direct[Piece::Queen as usize] = diagonal | straight;
        let any = direct.into_iter().fold(BitBoard::EMPTY, |any, squares| any | squares);
        Self { direct, any, discoverers }
    }

    /// Whether a move may give check. Never false for a move that does. True for some that don't: moves along a pin,
    /// promotions, castling, en passant.
    pub(crate) fn may_give(&self, board: &Board, mv: Move) -> bool {
        self.discoverers.has(mv.from)
            || mv.promotion.is_some()
            || (self.any.has(mv.to)
                && board.piece_on(mv.from).is_some_and(|piece| self.direct[piece as usize].has(mv.to)))
            || board.colors(board.side_to_move()).has(mv.to)
            || is_en_passant(board, mv)
    }
}

impl Pieces {
    /// Lists the pieces of a side, other than pawns, that can capture, the least valuable first.
    fn captors(&self, side: Color, captors: &mut Vec<Captor, MOST_CAPTORS>) {
        let (ours, theirs, occupied) = (self.side(side), self.side(!side), self.occupied());
        let mut add = |piece, reach: &dyn Fn(Square) -> BitBoard| {
            for from in ours & self.kind(piece) {
                let prey = reach(from) & theirs;
                if !prey.is_empty() {
                    // No side has more pieces.
                    let _ = captors.push(Captor { piece, from, prey });
                }
            }
        };
        add(Piece::Knight, &get_knight_moves);
        add(Piece::Bishop, &|from| get_bishop_moves(from, occupied));
        add(Piece::Rook, &|from| get_rook_moves(from, occupied));
        add(Piece::Queen, &|from| get_bishop_moves(from, occupied) | get_rook_moves(from, occupied));
        add(Piece::King, &get_king_moves);
    }

    /// The pieces after a capture or a step.
    fn moved(&self, side: Color, piece: Piece, from: Square, to: Square, taken: Option<Piece>, becomes: Piece) -> Self {
        let mut after = self.clone();
        let (from, to) = (from.bitboard(), to.bitboard());
        if let Some(taken) = taken {
            after.kinds[taken as usize] ^= to;
            after.sides[!side as usize] ^= to;
        }
        after.kinds[piece as usize] ^= from;
        after.kinds[becomes as usize] ^= to;
        after.sides[side as usize] ^= from | to;
        after
    }

    /// The material that `side`, which is to move and has `stand` now, ends up with, limited to the range between
    /// `alpha` and `beta`. Moves that leave a king to be taken are tried as well: the answer shows that they lose.
    fn exchange(&self, side: Color, stand: i32, reach: Reach, alpha: i32, beta: i32) -> i32 {
        if stand >= beta {
            return stand;
        }
        let theirs = self.side(!side);
        let (pawns, steps) = (self.side(side) & self.kind(Piece::Pawn), PawnSteps::of(side));
        let mut captors = Vec::new();
        self.captors(side, &mut captors);
        let prey =
            captors.iter().fold((steps.west(pawns) | steps.east(pawns)) & theirs, |prey, captor| prey | captor.prey);
        if !(prey & self.kind(Piece::King)).is_empty() {
            return MATE;
        }
        let Some(reach) = reach.next() else { return stand };
        let mut found = Found { best: stand, alpha: alpha.max(stand), beta };
        let last = Rank::Eighth.relative_to(side).bitboard();
        let seventh = self.kind(Piece::Pawn) & self.side(side) & Rank::Seventh.relative_to(side).bitboard();
        // A move, with what it wins at once: the other side may stop there.
        let look = |found: &mut Found, piece, from, to, taken, becomes, gain: i32| {
            if stand + gain > found.alpha {
                let after = self.moved(side, piece, from, to, taken, becomes);
                found.take(-after.exchange(!side, -(stand + gain), reach, -beta, -found.alpha));
            }
        };
        for from in seventh {
            let to = Square::new(from.file(), Rank::Eighth.relative_to(side));
            if !self.occupied().has(to) {
                look(&mut found, Piece::Pawn, from, to, None, Piece::Queen, PROMOTION);
            }
        }
        for victim in [Piece::Queen, Piece::Rook, Piece::Bishop, Piece::Knight, Piece::Pawn] {
            for to in prey & self.kind(victim) {
                // Most captures win too little to be looked at, and then it does not matter who could make them.
                let most = stand + worth(victim) + if last.has(to) { PROMOTION } else { 0 };
                if found.is_enough() || most <= found.alpha {
                    continue;
                }
                let (becomes, gain) = if last.has(to) { (Piece::Queen, PROMOTION) } else { (Piece::Pawn, 0) };
                for from in get_pawn_attacks(to, !side) & pawns {
                    if !found.is_enough() {
                        look(&mut found, Piece::Pawn, from, to, Some(victim), becomes, worth(victim) + gain);
                    }
                }
                for captor in captors.iter().filter(|captor| captor.prey.has(to)) {
                    if !found.is_enough() {
                        let Captor { piece, from, .. } = *captor;
                        look(&mut found, piece, from, to, Some(victim), piece, worth(victim));
                    }
                }
            }
        }
        found.best
    }
}

/// A piece that can capture.
struct Captor {
    piece: Piece,
    from: Square,
    /// What it can capture.
    prey: BitBoard,
}

/// The best of the moves so far, between the bounds.
struct Found {
    best: i32,
    alpha: i32,
    beta: i32,
}

impl Found {
    fn take(&mut self, value: i32) {
        self.best = self.best.max(value);
        self.alpha = self.alpha.max(self.best);
    }

    fn is_enough(&self) -> bool {
        self.alpha >= self.beta
    }
}
