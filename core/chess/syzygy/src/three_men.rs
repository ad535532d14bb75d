//! Endings of three men, which need no file: a queen, a rook or a pawn against a bare king.
//!
//! The tables are made when a position first asks for them, by retrograde analysis (Ken Thompson, *Retrograde Analysis
//! of Certain Endgames*, ICCA Journal 9(3), 1986): ply by ply, a position is won from which a move leads to a lost one,
//! and lost if all its moves lead to won ones. All squares of the bare king are handled at once, as the bits of a set.
//! Positions that are mirror images share a place, so that there are 56 squares of the man times 64 of the king beside
//! it. The tables take 640 KiB, and making them takes some twenty milliseconds once in a process.
//!
//! Every win has two distances: to mate, and to the next pawn move that keeps the win, which is what the fifty-move
//! rule asks for. With a bishop or a knight neither side can win.

use std::sync::OnceLock;

use oncilla_chess::cozy_chess::{BitBoard, get_between_rays, get_king_moves, get_pawn_attacks, get_pawn_quiets};
use oncilla_chess::{
    Board, Color, File, History, Move, MoveList, Piece, Rank, Square, Terminal, TwoFold, sliding_attacks,
};

use crate::probe::{after, moves_of};
use crate::root::{MAX_RANK, RankedMove, RootRanks, dtz_rank, is_let_go, wdl_of_rank};
use crate::tablebases::has_castling_rights;
use crate::wdl::Wdl;

/// After this many plies without a zeroing move the game is drawn.
const FIFTY_MOVES: u16 = 100;

/// What is known of a position, seen from the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The result with the rule-50 counter at 0. A win is never cursed.
    pub wdl: Wdl,
    /// Plies to mate with the best play of both sides; 0 if the side to move is mated, or draws.
    pub to_mate: u8,
    /// Plies to the first pawn move that keeps the win, or to mate, if the winner wants it early and the loser late.
    pub to_zeroing: u8,
}

impl Known {
    const DRAW: Self = Self { wdl: Wdl::Draw, to_mate: 0, to_zeroing: 0 };

    /// The result with the rule-50 counter at `rule50`: a mate or a pawn move on ply 100 is in time.
    pub fn with_rule50(self, rule50: u16) -> Wdl {
        match self.wdl {
            Wdl::Win if self.runs_out(self.to_zeroing, rule50) => Wdl::CursedWin,
            Wdl::Loss if self.runs_out(self.to_zeroing, rule50) => Wdl::BlessedLoss,
            wdl => wdl,
        }
    }

    /// Plies to mate, if the counter can't run out before: then it is a mate like one that a search has found.
    pub fn mate(self, rule50: u16) -> Option<u8> {
        (self.wdl != Wdl::Draw && !self.runs_out(self.to_mate, rule50)).then_some(self.to_mate)
    }

    fn runs_out(self, plies: u8, rule50: u16) -> bool {
        rule50.saturating_add(plies.into()) > FIFTY_MOVES
    }
}

/// Whether there are three men or fewer. A search asks this of every leaf: so no more are counted than needed.
#[inline]
pub fn are_all(board: &Board) -> bool {
    let without_one = |men: u64, _| men & men.wrapping_sub(1);
    (0..3).fold(board.occupied().0, without_one) == 0
}

/// What is known of a position; `None` with more than three men, or with castling rights.
pub fn probe(board: &Board) -> Option<Known> {
    if !are_all(board) || has_castling_rights(board) {
        return None;
    }
    let Some(square) = (board.occupied() & !board.pieces(Piece::King)).next_square() else { return Some(Known::DRAW) };
    let (piece, strong) = board.piece_on(square).zip(board.color_on(square))?;
    if matches!(piece, Piece::Bishop | Piece::Knight) {
        return Some(Known::DRAW);
    }
    let man = Man { piece, square: square.relative_to(strong) };
    let [king, bare] = [strong, !strong].map(|side| board.king(side).relative_to(strong));
    Some(tables().known(man, king, bare, board.side_to_move() == strong))
}

/// Ranks the legal moves of a game's last position: among wins in time the shortest way to mate is best, among losses
/// the longest.
///
/// A winner's move after which the game can be drawn at once, by the third occurrence of a position, counts as a draw.
/// `None` if [`probe`] knows nothing, or if there is no legal move.
pub fn root_moves<const CAP: usize>(history: &History<CAP>) -> Option<RootRanks> {
    probe(history.board())?;
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let mut game = Box::new(history.clone());
    let moves: Option<Vec<RankedMove>> = moves.iter().map(|&mv| ranked(&mut game, mv)).collect();
    moves.filter(|moves| !moves.is_empty()).map(|moves| RootRanks { moves, without_dtz: None })
}

/// A shortest way to mate that begins with `first`, a legal move on the board, against the longest defence. It is only
/// that move if it draws or if nothing is known of it.
pub fn line(board: &Board, first: Move) -> Vec<Move> {
    let mut line = vec![first];
    let mut last = after(board, first);
    while let Some(known) = probe(&last).filter(|known| known.to_mate > 0) {
        let goes_on = |&mv: &Move| {
            let next = probe(&after(&last, mv));
            next.is_some_and(|next| next.wdl == -known.wdl && next.to_mate + 1 == known.to_mate)
        };
        let Some(&mv) = moves_of(&last, |_, _| true).iter().find(|mv| goes_on(mv)) else { break };
        line.push(mv);
        last = after(&last, mv);
    }
    line
}

/// A move of a game's last position.
fn ranked<const CAP: usize>(game: &mut History<CAP>, mv: Move) -> Option<RankedMove> {
    let rule50 = game.rule50();
    game.push(mv);
    let is_drawn = |game: &History<CAP>| game.terminal(1, TwoFold::Ignored).is_some_and(Terminal::is_draw);
    let known = probe(game.board()).map(|known| match is_let_go(game, known.wdl == Wdl::Loss, is_drawn) {
        true => Known::DRAW,
        false => known,
    });
    let rule50_after = game.rule50();
    game.pop();
    let known = known?;
    let plies = i32::from(known.to_mate) + 1;
    let to_zeroing = if rule50_after == 0 { 1 } else { i32::from(known.to_zeroing) + 1 };
    let (dtz, rank) = match -known.with_rule50(rule50_after) {
        Wdl::Win => (to_zeroing, MAX_RANK - plies),
        Wdl::Loss => (-to_zeroing, plies - MAX_RANK),
        Wdl::Draw => (0, 0),
        Wdl::CursedWin => (to_zeroing, dtz_rank(to_zeroing, rule50.into(), true)),
        Wdl::BlessedLoss => (-to_zeroing, dtz_rank(-to_zeroing, rule50.into(), true)),
    };
    let mate = known.mate(rule50_after).map(|_| plies * dtz.signum());
    Some(RankedMove { mv, rank, wdl: wdl_of_rank(rank), dtz: Some(dtz), mate, may_be_late: false })
}

/// The man beside the kings, a white one. In the tables it is on files a to d, and, if it is not a pawn, on ranks 1 to
/// 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Man {
    piece: Piece,
    square: Square,
}

/// How many places a queen has, and a rook.
const QUADRANT: usize = 16;
/// How many places a pawn has.
const PAWNS: usize = 24;
const PLACES: usize = 2 * QUADRANT + PAWNS;

impl Man {
    /// All men on squares that have a place, in the order of the places.
    fn all() -> Vec<Self> {
        let of = |piece| Square::ALL.map(|square| Self { piece, square });
        let all = [Piece::Queen, Piece::Rook, Piece::Pawn].into_iter().flat_map(of);
        all.filter(|man| man.mirror() == Mirror::NONE && man.may_stand()).collect()
    }

    fn may_stand(self) -> bool {
        self.piece != Piece::Pawn || !matches!(self.square.rank(), Rank::First | Rank::Eighth)
    }

    /// The mirroring that brings it to its place.
    fn mirror(self) -> Mirror {
        let ranks = self.piece != Piece::Pawn && self.square.rank() > Rank::Fourth;
        Mirror { files: self.square.file() > File::D, ranks }
    }

    /// The number of its place, on whichever of the squares that are mirror images it stands.
    fn place(self) -> usize {
        let square = self.mirror().square(self.square);
        let at = 4 * square.rank() as usize + square.file() as usize;
        match self.piece {
            Piece::Queen => at,
            Piece::Rook => QUADRANT + at,
            _ => 2 * QUADRANT + at - 4,
        }
    }

    /// The squares that it attacks; it sees through the bare king, which can't flee along a line.
    fn attacks(self, king: Square) -> BitBoard {
        let own = king.bitboard();
        match self.piece {
            Piece::Pawn => get_pawn_attacks(self.square, Color::White),
            piece => sliding_attacks(piece, self.square, own),
        }
    }

    /// The squares that it can go to, as if the bare king were not there.
    fn moves(self, king: Square) -> BitBoard {
        match self.piece {
            Piece::Pawn => get_pawn_quiets(self.square, Color::White, king.bitboard()),
            _ => self.attacks(king) & !king.bitboard(),
        }
    }

    /// What it is after a move to `to`: a pawn on the last rank becomes a queen, or a rook if a queen would be
    /// stalemate.
    fn after(self, to: Square) -> impl Iterator<Item = Self> {
        let promotes = !Self { square: to, ..self }.may_stand();
        let pieces = if promotes { [Some(Piece::Queen), Some(Piece::Rook)] } else { [Some(self.piece), None] };
        pieces.into_iter().flatten().map(move |piece| Self { piece, square: to })
    }
}

/// Mirrors left to right, or the first rank to the last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mirror {
    files: bool,
    ranks: bool,
}

impl Mirror {
    const NONE: Self = Self { files: false, ranks: false };

    fn square(self, square: Square) -> Square {
        let square = if self.files { square.flip_file() } else { square };
        if self.ranks { square.flip_rank() } else { square }
    }

    fn set(self, set: BitBoard) -> BitBoard {
        let set = if self.files { set.flip_files() } else { set };
        if self.ranks { set.flip_ranks() } else { set }
    }
}

/// Sets of squares of the bare king, one for each place of the man and each square of the king beside it.
struct Sets(Vec<BitBoard>);

impl Sets {
    fn new() -> Self {
        Self(vec![BitBoard::EMPTY; PLACES * Square::NUM])
    }

    fn at(&mut self, man: Man, king: Square) -> &mut BitBoard {
        &mut self.0[man.place() * Square::NUM + king as usize]
    }

    /// The set with the man on any square.
    fn of(&self, man: Man, king: Square) -> BitBoard {
        let mirror = man.mirror();
        mirror.set(self.0[man.place() * Square::NUM + mirror.square(king) as usize])
    }
}

/// Plies to the end: with the side of the man to move, and with the bare king to move.
struct Plies([Vec<u8>; 2]);

/// Stands for a position that is drawn, or impossible.
const NEVER: u8 = u8::MAX;

impl Plies {
    fn index(man: Man, king: Square, bare: Square) -> usize {
        (man.place() * Square::NUM + king as usize) * Square::NUM + bare as usize
    }
}

struct Tables {
    to_mate: Plies,
    /// For pawns only: for the other men it is the same. So the places before the pawns' are left out.
    to_zeroing: Plies,
}

/// Makes the tables that the other functions use, if that has not been done. It takes some 20 ms on a PC, which
/// otherwise the first of these functions takes.
pub fn prepare() {
    tables();
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(Tables::new)
}

impl Tables {
    fn new() -> Self {
        let men = Man::all();
        let (to_mate, lost) = solve(&men, None);
        let (mut to_zeroing, _) = solve(&men[2 * QUADRANT..], Some(&lost));
        for plies in &mut to_zeroing.0 {
            plies.drain(..Self::BEFORE_PAWNS);
            plies.shrink_to_fit();
        }
        Self { to_mate, to_zeroing }
    }

    const BEFORE_PAWNS: usize = 2 * QUADRANT * Square::NUM * Square::NUM;

    fn known(&self, man: Man, king: Square, bare: Square, is_strong: bool) -> Known {
        let mirror = man.mirror();
        let at = Plies::index(man, mirror.square(king), mirror.square(bare));
        let side = usize::from(!is_strong);
        let to_mate = self.to_mate.0[side][at];
        if to_mate == NEVER {
            return Known::DRAW;
        }
        let to_zeroing = at.checked_sub(Self::BEFORE_PAWNS).map_or(to_mate, |at| self.to_zeroing.0[side][at]);
        Known { wdl: if is_strong { Wdl::Win } else { Wdl::Loss }, to_mate, to_zeroing }
    }
}

/// Plies to mate; or, if `behind` is given (the positions that are lost after a pawn's move), plies to such a move.
/// Also returns the positions that are lost.
fn solve(men: &[Man], behind: Option<&Sets>) -> (Plies, Sets) {
    let mut plies = Plies([NEVER; 2].map(|never| vec![never; PLACES * Square::NUM * Square::NUM]));
    let (mut won, mut lost) = (Sets::new(), Sets::new());
    // Won a ply before; at first every reply has to be looked at.
    let mut fresh = Sets(vec![BitBoard::FULL; PLACES * Square::NUM]);
    for ply in 0..NEVER {
        let is_strong = ply % 2 == 1;
        let mut is_over = true;
        for (man, king) in men.iter().flat_map(|&man| Square::ALL.map(|king| (man, king))) {
            if king == man.square {
                continue;
            }
            let new = if is_strong {
                wins(man, king, &lost, behind.unwrap_or(&lost)) & !won.of(man, king)
            } else {
                losses(man, king, won.of(man, king), fresh.of(man, king)) & !lost.of(man, king)
            };
            let (all, side) = if is_strong { (&mut won, 0) } else { (&mut lost, 1) };
            *all.at(man, king) |= new;
            if is_strong {
                *fresh.at(man, king) = new;
            }
            new.iter().for_each(|bare| plies.0[side][Plies::index(man, king, bare)] = ply);
            is_over &= new.is_empty();
        }
        // At ply 0 there may be no mate yet, but a pawn to promote.
        if is_over && ply > 0 {
            break;
        }
    }
    (plies, lost)
}

/// The squares of the bare king for which some move leads to a `lost` position, or a pawn's move to one that is lost
/// `behind` it.
fn wins(man: Man, king: Square, lost: &Sets, behind: &Sets) -> BitBoard {
    let behind = if man.piece == Piece::Pawn { behind } else { lost };
    let steps = (get_king_moves(king) & !man.square.bitboard()).iter();
    let by_king = steps.fold(BitBoard::EMPTY, |all, to| all | lost.of(man, to));
    let reach = |to: Square| {
        let all = man.after(to).fold(BitBoard::EMPTY, |all, after| all | behind.of(after, king));
        all & !get_between_rays(man.square, to)
    };
    let by_man = man.moves(king).iter().fold(BitBoard::EMPTY, |all, to| all | reach(to));
    // It can't be this side's turn if the bare king is in check.
    (by_king | by_man) & !(man.attacks(king) | get_king_moves(king) | king.bitboard() | man.square.bitboard())
}

/// The squares of the bare king on which it is lost: all its moves lead to squares on which it is won against. Only
/// neighbours of `fresh` squares can be new.
fn losses(man: Man, king: Square, won: BitBoard, fresh: BitBoard) -> BitBoard {
    let checked = man.attacks(king);
    let beside = get_king_moves(king);
    let near = fresh.iter().fold(BitBoard::EMPTY, |all, square| all | get_king_moves(square));
    let is_lost = |&bare: &Square| {
        // A man that its own king does not guard can be captured, and then nothing is won.
        let flights = get_king_moves(bare) & !(checked | beside);
        (flights & !won).is_empty() && (checked.has(bare) || !flights.is_empty())
    };
    let candidates = near & !(beside | king.bitboard() | man.square.bitboard());
    candidates.iter().filter(is_lost).collect()
}
