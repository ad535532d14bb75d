//! Generates legal moves, as sets.
//!
//! [`cozy_chess`] keeps the board, with its checkers and pins, and its tables say where a piece goes. The moves are put
//! together here, because a search needs two lists in every playout: pawns are moved all at once, and the squares that
//! the king must not enter are found for all of its steps together.

use cozy_chess::{
    BitBoard, Board, CastleRights, Color, File, Move, Piece, Rank, Square, get_between_rays, get_bishop_moves,
    get_king_moves, get_knight_moves, get_line_rays, get_pawn_attacks, get_rook_moves,
};

use crate::move_list::MoveList;

/// Receives the sets. Each method returns true if no more sets are wanted.
trait Sink {
    /// The piece on `from` can go to any of `to`, without promotion. `to` may be empty.
    fn piece(&mut self, from: Square, to: BitBoard) -> bool;

    /// A pawn can go to each square of `to`, from `step` squares before it, counted modulo 64 in the order a1, b1, …,
    /// h8. On the last rank it promotes in all four ways. `to` may be empty.
    fn pawns(&mut self, step: u32, to: BitBoard) -> bool;
}

/// The first and the last rank.
const PROMOTION_RANKS: BitBoard = BitBoard(0xff00_0000_0000_00ff);

/// The promotions, in the order of the moves.
const PROMOTIONS: [Piece; 4] = [Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen];

/// The square of the pawn that goes to `to` by `step`.
#[inline]
fn origin(to: Square, step: u32) -> Square {
    Square::index((to as usize).wrapping_sub(step as usize) & 63)
}

impl Sink for MoveList {
    #[inline(always)]
    fn piece(&mut self, from: Square, to: BitBoard) -> bool {
        self.extend(|_| from, to);
        false
    }

    #[inline(always)]
    fn pawns(&mut self, step: u32, to: BitBoard) -> bool {
        self.extend(|to| origin(to, step), to & !PROMOTION_RANKS);
        for to in to & PROMOTION_RANKS {
            for piece in PROMOTIONS {
                self.append(origin(to, step), to, Some(piece));
            }
        }
        false
    }
}

// These are the ways into this file from other crates, and none of them is generic or inlined: each crate that has code
// of `generate` in it has a copy of the 704 kB of tables by which rooks and bishops move.

/// Lists the legal moves of a board in `moves`, which is cleared first, in the order that
/// [`History::legal_moves`](crate::History::legal_moves) promises.
pub fn legal_moves(board: &Board, moves: &mut MoveList) {
    moves.clear();
    generate(board, moves);
}

/// Whether the side to move has a legal move.
pub fn has_legal_move(board: &Board) -> bool {
    generate(board, &mut Any)
}

/// The squares that a queen, rook or bishop on `from` attacks, up to the first of `occupied` on each line; none for
/// other pieces.
///
/// ```
/// use oncilla_chess::cozy_chess::BitBoard;
/// use oncilla_chess::{Piece, Square, sliding_attacks};
/// let occupied = Square::C3.bitboard();
/// assert_eq!(sliding_attacks(Piece::Bishop, Square::A1, occupied), Square::B2.bitboard() | occupied);
/// assert_eq!(sliding_attacks(Piece::Rook, Square::A1, occupied).len(), 14);
/// assert_eq!(sliding_attacks(Piece::Queen, Square::A1, occupied).len(), 16);
/// assert_eq!(sliding_attacks(Piece::Knight, Square::A1, occupied), BitBoard::EMPTY);
/// ```
#[inline(never)]
pub fn sliding_attacks(piece: Piece, from: Square, occupied: BitBoard) -> BitBoard {
    match piece {
        Piece::Queen => get_rook_moves(from, occupied) | get_bishop_moves(from, occupied),
        Piece::Rook => get_rook_moves(from, occupied),
        Piece::Bishop => get_bishop_moves(from, occupied),
        Piece::Pawn | Piece::Knight | Piece::King => BitBoard::EMPTY,
    }
}

/// The move at `index` in the list that [`legal_moves`] makes of this board, at a lower cost than the list.
pub fn nth_legal_move(board: &Board, index: usize) -> Option<Move> {
    let mut nth = Nth::new(index);
    generate(board, &mut nth);
    nth.found
}

/// Takes only the move at one index.
struct Nth {
    left: usize,
    found: Option<Move>,
}

impl Nth {
    fn new(index: usize) -> Self {
        Nth { left: index, found: None }
    }

    /// The square at the index that is looked for, if it is in `set`, where each square stands for `moves` moves. What
    /// is left to skip is then less than `moves`.
    fn square(&mut self, set: BitBoard, moves: usize) -> Option<Square> {
        let count = set.len() as usize * moves;
        if self.left >= count {
            self.left -= count;
            return None;
        }
        let mut set = set.0;
        while self.left >= moves {
            set &= set - 1;
            self.left -= moves;
        }
        BitBoard(set).next_square()
    }
}

impl Sink for Nth {
    fn piece(&mut self, from: Square, to: BitBoard) -> bool {
        self.found = self.square(to, 1).map(|to| Move { from, to, promotion: None });
        self.found.is_some()
    }

    fn pawns(&mut self, step: u32, to: BitBoard) -> bool {
        let promotions = to & PROMOTION_RANKS;
        if let Some(to) = self.square(to ^ promotions, 1) {
            self.found = Some(Move { from: origin(to, step), to, promotion: None });
        } else if promotions.is_empty() {
            return false;
        } else if let Some(to) = self.square(promotions, PROMOTIONS.len()) {
            self.found = Some(Move { from: origin(to, step), to, promotion: Some(PROMOTIONS[self.left % 4]) });
        }
        self.found.is_some()
    }
}

/// Only finds out whether there is a move.
struct Any;

impl Sink for Any {
    fn piece(&mut self, _: Square, to: BitBoard) -> bool {
        !to.is_empty()
    }

    fn pawns(&mut self, _: u32, to: BitBoard) -> bool {
        !to.is_empty()
    }
}

/// Passes the legal moves of `board` to `sink`, in the order that [`crate::History::legal_moves`] promises. Returns
/// true if the sink wanted no more.
fn generate<S: Sink>(board: &Board, sink: &mut S) -> bool {
    let side = Side::new(board);
    let checkers = board.checkers();
    // Where a piece other than the king may go as far as checks are concerned.
    let targets = match checkers.next_square() {
        None => !side.ours,
        Some(checker) if checkers == checker.bitboard() => get_between_rays(checker, side.king) | checkers,
        Some(_) => return side.king(sink),
    };
    side.pawns(targets, sink)
        || side.knights(targets, sink)
        || side.sliders(Piece::Bishop, targets, get_bishop_moves, sink)
        || side.sliders(Piece::Rook, targets, get_rook_moves, sink)
        || side.sliders(
            Piece::Queen,
            targets,
            |from, all| get_bishop_moves(from, all) | get_rook_moves(from, all),
            sink,
        )
        || side.king(sink)
}

/// A board as the side to move sees it.
struct Side<'a> {
    board: &'a Board,
    mover: Color,
    king: Square,
    ours: BitBoard,
    theirs: BitBoard,
    occupied: BitBoard,
    pinned: BitBoard,
}

impl<'a> Side<'a> {
    fn new(board: &'a Board) -> Self {
        let mover = board.side_to_move();
        let (ours, theirs) = (board.colors(mover), board.colors(!mover));
        let (king, occupied) = (board.king(mover), ours | theirs);
        Side { board, mover, king, ours, theirs, occupied, pinned: board.pinned() }
    }

    fn ours(&self, piece: Piece) -> BitBoard {
        self.ours & self.board.pieces(piece)
    }

    fn theirs(&self, piece: Piece) -> BitBoard {
        self.theirs & self.board.pieces(piece)
    }

    fn pawns<S: Sink>(&self, targets: BitBoard, sink: &mut S) -> bool {
        let pawns = self.ours(Piece::Pawn);
        self.free_pawns(pawns & !self.pinned, targets, sink)
            || self.pinned_pawns(pawns & self.pinned, targets, sink)
            || self.en_passant(pawns, sink)
    }

    fn free_pawns<S: Sink>(&self, pawns: BitBoard, targets: BitBoard, sink: &mut S) -> bool {
        let steps = PawnSteps::of(self.mover);
        let once = steps.forward(pawns) & !self.occupied;
        let twice = steps.forward(once & Rank::Third.relative_to(self.mover).bitboard()) & !self.occupied;
        let prey = self.theirs & targets;
        sink.pawns(steps.forward, once & targets)
            || sink.pawns(2 * steps.forward % 64, twice & targets)
            || sink.pawns(steps.west, steps.west(pawns) & prey)
            || sink.pawns(steps.east, steps.east(pawns) & prey)
    }

    /// A pinned pawn moves only on the line to its king.
    fn pinned_pawns<S: Sink>(&self, pawns: BitBoard, targets: BitBoard, sink: &mut S) -> bool {
        pawns.into_iter().any(|pawn| self.free_pawns(pawn.bitboard(), targets & get_line_rays(self.king, pawn), sink))
    }

    /// The capture is tried on the set of occupied squares: it removes two pieces at once, which pins do not cover.
    fn en_passant<S: Sink>(&self, pawns: BitBoard, sink: &mut S) -> bool {
        let Some(file) = self.board.en_passant() else { return false };
        let to = Square::new(file, Rank::Sixth.relative_to(self.mover));
        let victim = Square::new(file, Rank::Fifth.relative_to(self.mover)).bitboard();
        let straight = self.theirs(Piece::Rook) | self.theirs(Piece::Queen);
        let diagonal = self.theirs(Piece::Bishop) | self.theirs(Piece::Queen);
        (get_pawn_attacks(to, !self.mover) & pawns).into_iter().any(|from| {
            let occupied = self.occupied ^ victim ^ from.bitboard() | to.bitboard();
            let exposed =
                get_rook_moves(self.king, occupied) & straight | get_bishop_moves(self.king, occupied) & diagonal;
            exposed.is_empty() && sink.piece(from, to.bitboard())
        })
    }

    fn knights<S: Sink>(&self, targets: BitBoard, sink: &mut S) -> bool {
        let free = self.ours(Piece::Knight) & !self.pinned;
        free.into_iter().any(|from| sink.piece(from, get_knight_moves(from) & targets))
    }

    /// A pinned slider moves only on the line to its king; there it finds no target that blocks another check.
    fn sliders<S: Sink>(
        &self,
        piece: Piece,
        targets: BitBoard,
        reach: impl Fn(Square, BitBoard) -> BitBoard,
        sink: &mut S,
    ) -> bool {
        self.ours(piece).into_iter().any(|from| {
            let mut to = reach(from, self.occupied) & targets;
            if self.pinned.has(from) {
                to &= get_line_rays(self.king, from);
            }
            sink.piece(from, to)
        })
    }

    /// The king's steps, then castling to the a side, then to the h side.
    fn king<S: Sink>(&self, sink: &mut S) -> bool {
        let steps = get_king_moves(self.king) & !self.ours;
        let in_check = !self.board.checkers().is_empty();
        let rights = if in_check { CastleRights::EMPTY } else { *self.board.castle_rights(self.mover) };
        let long = rights.long.and_then(|rook| self.castling(rook, File::C, File::D));
        let short = rights.short.and_then(|rook| self.castling(rook, File::G, File::F));
        if steps.is_empty() && long.is_none() && short.is_none() {
            return false;
        }
        let attacked = self.attacked();
        let safe = |castling: &Castling| (castling.way & attacked).is_empty();
        sink.piece(self.king, steps & !attacked)
            || long.filter(safe).is_some_and(|long| sink.piece(self.king, long.rook))
            || short.filter(safe).is_some_and(|short| sink.piece(self.king, short.rook))
    }

    /// The squares that the other side attacks once the king has left its own.
    fn attacked(&self) -> BitBoard {
        let steps = PawnSteps::of(!self.mover);
        let pawns = self.theirs(Piece::Pawn);
        let occupied = self.occupied ^ self.king.bitboard();
        let queens = self.board.pieces(Piece::Queen);
        let mut attacked = steps.west(pawns) | steps.east(pawns) | get_king_moves(self.board.king(!self.mover));
        for from in self.theirs(Piece::Knight) {
            attacked |= get_knight_moves(from);
        }
        for from in self.theirs & (self.board.pieces(Piece::Bishop) | queens) {
            attacked |= get_bishop_moves(from, occupied);
        }
        for from in self.theirs & (self.board.pieces(Piece::Rook) | queens) {
            attacked |= get_rook_moves(from, occupied);
        }
        attacked
    }

    /// Castling with the rook on file `rook`, the king going to `king_to`, if nothing stands in the way.
    #[inline]
    fn castling(&self, rook: File, king_to: File, rook_to: File) -> Option<Castling> {
        let rank = Rank::First.relative_to(self.mover);
        let [rook, king_to, rook_to] = [rook, king_to, rook_to].map(|file| Square::new(file, rank));
        let way = get_between_rays(self.king, king_to) | king_to.bitboard();
        let empty = way | get_between_rays(self.king, rook) | rook_to.bitboard();
        let others = self.occupied ^ self.king.bitboard() ^ rook.bitboard();
        // In Chess960 the rook may be pinned on the first rank: with it gone, the king would stand in check.
        let free = (others & empty).is_empty() && !self.pinned.has(rook);
        free.then(|| Castling { rook: rook.bitboard(), way })
    }
}

/// A castling that no piece obstructs.
struct Castling {
    rook: BitBoard,
    /// Squares that the king passes or reaches.
    way: BitBoard,
}

/// How the pawns of a side step, each as a rotation of the set.
pub(crate) struct PawnSteps {
    forward: u32,
    /// A capture towards the a-file.
    west: u32,
    /// A capture towards the h-file.
    east: u32,
}

impl PawnSteps {
    pub(crate) fn of(color: Color) -> Self {
        match color {
            Color::White => PawnSteps { forward: 8, west: 7, east: 9 },
            Color::Black => PawnSteps { forward: 64 - 8, west: 64 - 9, east: 64 - 7 },
        }
    }

    fn forward(&self, pawns: BitBoard) -> BitBoard {
        BitBoard(pawns.0.rotate_left(self.forward))
    }

    pub(crate) fn west(&self, pawns: BitBoard) -> BitBoard {
        BitBoard((pawns & !File::A.bitboard()).0.rotate_left(self.west))
    }

    pub(crate) fn east(&self, pawns: BitBoard) -> BitBoard {
        BitBoard((pawns & !File::H.bitboard()).0.rotate_left(self.east))
    }
}
