//! A game: its positions, as networks see them, and as rule 50 and repetitions count them.

use core::fmt;

use cozy_chess::{Board, Color, File, Move, Piece, Rank, Square, get_pawn_attacks};
use heapless::Vec;

use crate::fen::{self, FenError};
use crate::move_list::MoveList;
use crate::movegen::{self, nth_legal_move};
use crate::moves::{pack, unpack};

/// How many earlier positions can still matter to the last one.
///
/// A position that has gone r < 100 plies without a pawn move or a capture can repeat one of r earlier positions; at r
/// = 100 the game is drawn. Networks look back seven positions, or along these same r positions.
pub const MIN_CAP: usize = 100;

/// The default capacity of a [`History`]: [`MIN_CAP`] and a search of 412 plies below the root. It takes 64 KiB.
pub const DEFAULT_CAP: usize = 512;

/// A position, with what the rules count on the way to it.
#[derive(Clone, Debug)]
pub struct Position {
    board: Board,
    en_passant: Option<File>,
    rule50: u16,
    cycle_length: u16,
    repetitions: u8,
    /// The last move, packed; 0, which no move packs to, in a start position.
    last_move: u16,
    /// A hash that is equal for positions that repeat each other: pieces, side to move, castling rights, a legal
    /// capture en passant.
    identity: u64,
    /// A digest of the earlier positions that a later one could repeat; see [`History::graph_key`].
    past: u64,
}

impl Position {
    /// Pieces, side to move, castling rights.
    ///
    /// The board's own half-move clock stops at 100, and its en-passant file is set after every double step: use
    /// [`Position::rule50`] and [`Position::en_passant`] instead.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The file of a pawn that has just made a double step, if an enemy pawn stands beside it (pinned or not). The
    /// start position keeps the flag of its FEN even if no pawn can capture, provided that a double step can have left
    /// it.
    pub fn en_passant(&self) -> Option<File> {
        self.en_passant
    }

    /// Plies since the last pawn move or capture. Not limited to 100.
    pub fn rule50(&self) -> u16 {
        self.rule50
    }

    /// How often the position occurred before, counted to 255.
    pub fn repetitions(&self) -> u8 {
        self.repetitions
    }

    /// Plies since the position's previous occurrence, 0 if there is none.
    pub fn cycle_length(&self) -> u16 {
        self.cycle_length
    }

    /// The move that led here, castling as king takes rook; `None` in a start position.
    pub fn last_move(&self) -> Option<Move> {
        (self.last_move != 0).then(|| unpack(self.last_move))
    }

    fn new(setup: fen::Setup) -> Self {
        let fen::Setup { board, en_passant, rule50, .. } = setup;
        let (cycle_length, repetitions, last_move, identity, past) = (0, 0, 0, 0, 0);
        let mut new = Position { board, en_passant, rule50, cycle_length, repetitions, last_move, identity, past };
        new.identity = new.hash_of_what_repeats();
        new
    }

    /// Becomes the position after a legal move. Repetitions are left at 0, because they depend on the whole game.
    fn play(&mut self, mv: Move) {
        let left = scatter(self.identity.wrapping_add(self.repetitions.into()));
        let rights = castle_rights(&self.board);
        self.board.play_unchecked(mv);
        self.en_passant = self.board.en_passant().filter(|&file| !capturers(&self.board, file).is_empty());
        let zeroing = self.board.halfmove_clock() == 0;
        self.rule50 = if zeroing { 0 } else { self.rule50.saturating_add(1) };
        let irreversible = zeroing || castle_rights(&self.board) != rights;
        self.past = if irreversible { 0 } else { self.past ^ left };
        self.identity = self.hash_of_what_repeats();
        (self.repetitions, self.cycle_length) = (0, 0);
        self.last_move = pack(mv);
    }

    /// The file on which a pawn can really be captured en passant.
    fn playable_en_passant(&self) -> Option<File> {
        let file = self.en_passant?;
        let mover = self.board.side_to_move();
        let to = Square::new(file, Rank::Sixth.relative_to(mover));
        capturers(&self.board, file)
            .into_iter()
            .any(|from| self.board.is_legal(Move { from, to, promotion: None }))
            .then_some(file)
    }

    /// The hash of everything that must be equal in positions that repeat each other.
    fn hash_of_what_repeats(&self) -> u64 {
        self.board.hash_without_ep() ^ self.playable_en_passant().map_or(0, |file| scatter(1 << 32 | file as u64))
    }

    /// Whether pieces, side to move, castling rights and legal captures en passant are the same: by the rules of the
    /// game positions are the same if the possible moves are, and a flag that no pawn can use allows none.
    fn occurs_again_in(&self, other: &Position) -> bool {
        let (a, b) = (&self.board, &other.board);
        self.identity == other.identity
            && self.playable_en_passant() == other.playable_en_passant()
            && a.side_to_move() == b.side_to_move()
            && Color::ALL.iter().all(|&c| a.colors(c) == b.colors(c) && a.castle_rights(c) == b.castle_rights(c))
            && Piece::ALL.iter().all(|&p| a.pieces(p) == b.pieces(p))
    }
}

/// The castling rights of both sides as one number: the files of the rooks, 8 where there is no right.
fn castle_rights(board: &Board) -> u32 {
    let file = |file: Option<File>| file.map_or(8, |file| file as u8);
    let [white, black] = Color::ALL.map(|color| board.castle_rights(color));
    u32::from_le_bytes([file(white.short), file(white.long), file(black.short), file(black.long)])
}

/// The pawns of the side to move beside a pawn that has just made a double step on `file`.
fn capturers(board: &Board, file: File) -> cozy_chess::BitBoard {
    let mover = board.side_to_move();
    let behind = Square::new(file, Rank::Sixth.relative_to(mover));
    get_pawn_attacks(behind, !mover) & board.colored_pieces(mover, Piece::Pawn)
}

/// A start position, and the positions after each move.
///
/// Besides the last position it holds up to `CAP` earlier ones (at least [`MIN_CAP`]). A push beyond that forgets the
/// oldest position. Whatever is forgotten no longer takes part in repetitions and can't be returned to, so a search
/// that descends at most `CAP − MIN_CAP` plies below its root and comes back never misses anything that a rule or a
/// network asks for. A longer game is no problem: it is its beginning that is forgotten.
///
/// The default of `CAP` is not inferred: say `History` as a type once, as here, or another number in
/// `History::<200>::startpos()`.
///
/// ```
/// use oncilla_chess::History;
/// let mut history: History = History::startpos();
/// for text in ["g1f3", "g8f6", "f3g1", "f6g8"] {
///     history.push(text.parse().unwrap());
/// }
/// assert_eq!((history.repetitions(), history.cycle_length(), history.rule50()), (1, 4, 4));
/// history.truncate(1);
/// assert_eq!(history.repetitions(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct History<const CAP: usize = DEFAULT_CAP> {
    earlier: Vec<Position, CAP>,
    last: Position,
    forgotten: usize,
    start_ply: u32,
    standard_start: bool,
}

impl<const CAP: usize> History<CAP> {
    /// The standard start position.
    pub fn startpos() -> Self {
        Self::starting_from(fen::Setup { board: Board::startpos(), en_passant: None, rule50: 0, ply: 0 })
    }

    /// A position given in Forsyth–Edwards notation.
    ///
    /// Fields after the board may be missing (White to move, no castling, no en passant, 0, 1). Castling rights are
    /// `KQkq`, meaning the outermost rook on that side, or the rook's file (Shredder-FEN, X-FEN), in any mixture: the
    /// text alone tells Chess960 apart, so no flag is needed.
    ///
    /// # Errors
    /// If a field is not understood, or if no game can reach the position, for a reason that is cheap to see: kings,
    /// numbers of pieces and pawns, pawns on the first or last rank, the side not to move in check, more than two
    /// checkers, castling without its rook, an en-passant square without its pawn. An en-passant square that no double
    /// step can have left (its pawn's first square is taken, the king is in another check) is refused if somebody could
    /// capture there, and ignored otherwise.
    pub fn from_fen(fen: &str) -> Result<Self, FenError> {
        fen::parse(fen).map(Self::starting_from)
    }

    fn starting_from(setup: fen::Setup) -> Self {
        const { assert!(CAP >= MIN_CAP, "a History holds at least MIN_CAP earlier positions") };
        let start_ply = setup.ply;
        let last = Position::new(setup);
        let standard_start = last.en_passant.is_none() && last.board.same_position(&Board::startpos());
        History { earlier: Vec::new(), last, forgotten: 0, start_ply, standard_start }
    }

    /// Plays a legal move.
    ///
    /// # Panics
    /// May panic on an illegal move, and certainly does in a debug build; [`History::try_push`] checks first.
    pub fn push(&mut self, mv: Move) {
        debug_assert!(self.last.board.is_legal(mv), "illegal move {mv} in {}", self.last.board);
        self.remember_last();
        self.last.play(mv);
        (self.last.repetitions, self.last.cycle_length) = self.count_repetitions();
    }

    /// Plays a move if it is legal.
    ///
    /// # Errors
    /// [`IllegalMove`]; then nothing has changed.
    pub fn try_push(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if !self.last.board.is_legal(mv) {
            return Err(IllegalMove(mv));
        }
        self.push(mv);
        Ok(())
    }

    /// Adds the last position to the earlier ones, and forgets the oldest if there is no room.
    fn remember_last(&mut self) {
        if self.earlier.is_full() {
            // This moves all the others. Once a search has made room below its root, the room stays there until its
            // end.
            self.earlier.remove(0);
            self.forgotten += 1;
        }
        let pushed = self.earlier.push(self.last.clone());
        debug_assert!(pushed.is_ok(), "room was made");
    }

    /// Repetitions and cycle length of the last position: one repetition more than its latest equal had.
    ///
    /// Only positions at even distance have the same side to move, and no equal lies beyond the last pawn move or
    /// capture.
    fn count_repetitions(&self) -> (u8, u16) {
        let reach = usize::from(self.last.rule50).min(self.earlier.len());
        let reversible = &self.earlier[self.earlier.len() - reach..];
        let equal =
            reversible.iter().rev().skip(3).step_by(2).position(|position| position.occurs_again_in(&self.last));
        equal.map_or((0, 0), |nth| {
            let distance = 4 + 2 * nth;
            (reversible[reach - distance].repetitions.saturating_add(1), distance as u16)
        })
    }

    /// Takes the last move back. Returns false, and changes nothing, if there is no position before it or if that is
    /// forgotten.
    pub fn pop(&mut self) -> bool {
        match self.earlier.pop() {
            Some(position) => {
                self.last = position;
                true
            }
            None => false,
        }
    }

    /// Takes moves back until `len` positions are left. Returns false, and changes nothing, if there are fewer, if
    /// `len` is 0, or if the position to return to is forgotten.
    pub fn truncate(&mut self, len: usize) -> bool {
        if len > self.len() || len <= self.forgotten {
            return false;
        }
        if len < self.len() {
            let at = len - self.forgotten - 1;
            self.last = self.earlier[at].clone();
            self.earlier.truncate(at);
        }
        true
    }

    /// Takes moves back until `len` positions are left, and plays `moves` ([packed](pack)) from there: that is how a
    /// search goes to its next position. The moves that the game already shares with `moves` are not taken back.
    ///
    /// Returns false, and changes nothing, if [`History::truncate`] would.
    ///
    /// ```
    /// use oncilla_chess::{History, pack};
    /// let mut history: History = History::startpos();
    /// let way = ["e2e4", "e7e5", "g1f3"].map(|text| pack(text.parse().unwrap()));
    /// assert!(history.replay(1, way));
    /// assert!(history.replay(1, way[..2].iter().copied()));
    /// assert_eq!(history.len(), 3);
    /// ```
    ///
    /// # Panics
    /// Like [`History::push`], on an illegal move.
    pub fn replay(&mut self, len: usize, moves: impl IntoIterator<Item = u16>) -> bool {
        if len > self.len() || len <= self.forgotten {
            return false;
        }
        let mut moves = moves.into_iter().peekable();
        let mut shared = len;
        while shared < self.len() && moves.next_if_eq(&self.position(shared).last_move).is_some() {
            shared += 1;
        }
        self.truncate(shared);
        moves.for_each(|mv| self.push(unpack(mv)));
        true
    }

    /// The position after `plies` moves, which must not be forgotten.
    fn position(&self, plies: usize) -> &Position {
        self.earlier.get(plies - self.forgotten).unwrap_or(&self.last)
    }

    /// Number of positions from the start position to the last, including both, and the forgotten ones.
    #[expect(clippy::len_without_is_empty, reason = "a history always has its last position")]
    pub fn len(&self) -> usize {
        self.forgotten + self.earlier.len() + 1
    }

    /// The last position.
    pub fn last(&self) -> &Position {
        &self.last
    }

    /// The position `plies` plies before the last, or `None` if there is none or if it is forgotten.
    pub fn back(&self, plies: usize) -> Option<&Position> {
        match plies {
            0 => Some(&self.last),
            _ => self.earlier.get(self.earlier.len().checked_sub(plies)?),
        }
    }

    /// The start position, unless it is forgotten.
    pub fn start(&self) -> Option<&Position> {
        (self.forgotten == 0).then(|| self.earlier.first().unwrap_or(&self.last))
    }

    /// Whether the game began with the standard start position, whatever its counters.
    pub fn has_standard_start(&self) -> bool {
        self.standard_start
    }

    /// [`Position::board`] of the last position.
    pub fn board(&self) -> &Board {
        &self.last.board
    }

    /// The side to move in the last position.
    pub fn side_to_move(&self) -> Color {
        self.last.board.side_to_move()
    }

    /// [`Position::rule50`] of the last position.
    pub fn rule50(&self) -> u16 {
        self.last.rule50
    }

    /// [`Position::repetitions`] of the last position.
    pub fn repetitions(&self) -> u8 {
        self.last.repetitions()
    }

    /// [`Position::cycle_length`] of the last position.
    pub fn cycle_length(&self) -> u16 {
        self.last.cycle_length
    }

    /// Plies since the beginning of the game, by the FEN's move number: 2·(move − 1), and 1 more for Black.
    pub fn ply(&self) -> u32 {
        self.start_ply.saturating_add(self.len() as u32 - 1)
    }

    /// Lists the legal moves of the last position in `moves`, which is cleared first.
    ///
    /// Their order depends on the position alone. First the pawns that are not pinned: one step, two steps, captures
    /// towards the a-file, captures towards the h-file, each by the square they reach (a1, b1, …, h8; promotions last,
    /// to knight, bishop, rook, queen). The same for each pinned pawn, and en passant. Then knights, bishops, rooks,
    /// queens and the king, each by the square they leave, then by the one they reach; castling long and short last.
    pub fn legal_moves(&self, moves: &mut MoveList) {
        movegen::legal_moves(&self.last.board, moves);
    }

    /// The move at `index` in the list of [`History::legal_moves`], at a lower cost than the list.
    ///
    /// ```
    /// use oncilla_chess::{History, MoveList};
    /// let history: History = History::startpos();
    /// let mut moves = MoveList::new();
    /// history.legal_moves(&mut moves);
    /// assert_eq!(history.nth_legal_move(7), Some(moves[7]));
    /// assert_eq!(history.nth_legal_move(20), None);
    /// ```
    pub fn nth_legal_move(&self, index: usize) -> Option<Move> {
        nth_legal_move(&self.last.board, index)
    }

    /// A 64-bit key of the last position, for what is remembered of positions. A search may not join nodes by it, which
    /// needs [`History::graph_key`]: positions that a later one may repeat are not in it.
    ///
    /// It covers pieces, side to move, castling rights, the en-passant file if the capture is legal, the rule-50 count
    /// and the repetitions (2 and more count the same): everything that rules and search look at, except which moves
    /// led here. Because the rule-50 count is in it, a path can't loop through equal keys.
    pub fn key(&self) -> u64 {
        let last = &self.last;
        let en_passant = last.playable_en_passant().map_or(0, |file| file as u64 + 1);
        let counters = u64::from(last.rule50) | u64::from(last.repetitions.min(2)) << 16 | en_passant << 24;
        last.board.hash_without_ep() ^ scatter(counters)
    }

    /// A 64-bit key under which two games may share a node of a search graph.
    ///
    /// Two keys are equal if the last positions are equal (pieces, side to move, castling rights, en-passant flag),
    /// with the same rule-50 count and repetitions, and if the positions since the last irreversible move are the same,
    /// in any order, each as often. So whatever is played from there on is a draw by repetition or by rule 50 in both
    /// games or in neither: a draw is a property of the node. A capture, a pawn move and the loss of a castling right
    /// are irreversible. This holds for games that began with the same position and the same counters. Within one game
    /// no key occurs twice.
    ///
    /// The en-passant flag of the last position is that of [`Position::en_passant`], because networks may see it. For
    /// repetitions, and so in the positions before, it counts only where the capture is legal.
    pub fn graph_key(&self) -> u64 {
        let last = &self.last;
        let en_passant = last.en_passant.map_or(0, |file| file as u64 + 1);
        let counters = u64::from(last.rule50) | u64::from(last.repetitions) << 16 | en_passant << 24;
        last.identity ^ scatter(counters) ^ last.past
    }
}

/// The output function of SplitMix64: a bijection, so different counters always give different constants.
pub(crate) fn scatter(counters: u64) -> u64 {
    let mut z = counters.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The error for a move that the position does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalMove(
    /// The move, castling as king takes rook.
    pub Move,
);

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "illegal move: expected a legal move of the position, got {}", self.0)
    }
}

impl core::error::Error for IllegalMove {}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(history: &mut History<MIN_CAP>, moves: &str) {
        for text in moves.split_whitespace() {
            history.try_push(text.parse().unwrap()).unwrap();
        }
    }

    #[test]
    fn en_passant_flags_need_a_neighbour_but_not_a_legal_capture() {
        let mut history = History::<MIN_CAP>::startpos();
        play(&mut history, "e2e4");
        assert_eq!(history.last().en_passant(), None);
        assert!(history.board().en_passant().is_some(), "the board's own flag is another one");
        play(&mut history, "a7a6 e4e5 d7d5");
        assert_eq!(history.last().en_passant(), Some(File::D));
        // The capture would open the fourth rank to the queen.
        let mut pinned = History::<MIN_CAP>::from_fen("8/8/8/8/k3p2Q/8/3P4/3K4 w - - 0 1").unwrap();
        play(&mut pinned, "d2d4");
        assert_eq!(pinned.last().en_passant(), Some(File::D));
        assert_eq!(pinned.last().playable_en_passant(), None);
    }

    /// The flags of these positions differ, and the possible moves are the same.
    #[test]
    fn an_en_passant_flag_that_nobody_can_use_hides_no_repetition() {
        for (fen, first, cycle) in [
            // No pawn stands beside the pawn; the capture would open the fourth rank to the queen.
            ("3q2k1/8/8/8/4P3/8/8/7K b - e3 0 1", "", "d8d7 h1g1 d7d8 g1h1"),
            ("8/8/8/8/k3p2Q/8/3P4/3K4 w - - 0 1", "d2d4", "a4a5 h4h5 a5a4 h5h4"),
        ] {
            let mut history = History::<MIN_CAP>::from_fen(fen).unwrap();
            play(&mut history, first);
            assert!(history.last().en_passant().is_some(), "{fen}");
            for repetitions in 1..=3 {
                play(&mut history, cycle);
                assert_eq!((history.repetitions(), history.cycle_length()), (repetitions, 4), "{fen}");
            }
        }
        // Here Black may capture at first, and not later.
        let mut history = History::<MIN_CAP>::from_fen("4k3/8/8/8/3Pp3/8/8/3K4 b - d3 0 1").unwrap();
        play(&mut history, "e8e7 d1d2 e7e8 d2d1");
        assert_eq!(history.repetitions(), 0);
        play(&mut history, "e8e7 d1d2 e7e8 d2d1");
        assert_eq!(history.repetitions(), 1);
    }

    #[test]
    fn a_lost_castling_right_is_no_repetition() {
        let mut history = History::<MIN_CAP>::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        play(&mut history, "h1g1 h8g8 g1h1 g8h8");
        assert_eq!(history.repetitions(), 0);
        play(&mut history, "h1g1 h8g8 g1h1 g8h8");
        assert_eq!((history.repetitions(), history.cycle_length()), (1, 4));
    }

    #[test]
    fn a_key_tells_an_en_passant_capture_apart_if_there_is_one() {
        let key = |fen| History::<MIN_CAP>::from_fen(fen).unwrap().key();
        let files = [
            "4k3/8/8/3pPp2/8/8/8/4K3 w - d6 0 1",
            "4k3/8/8/3pPp2/8/8/8/4K3 w - f6 0 1",
            "4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1",
        ]
        .map(key);
        assert!(files[0] != files[1] && files[1] != files[2] && files[0] != files[2]);
        assert_eq!(key("3q2k1/8/8/8/4P3/8/8/7K b - e3 0 1"), key("3q2k1/8/8/8/4P3/8/8/7K b - - 0 1"));
    }

    /// The same position with the same rule-50 count, for the first, second, third and fourth time.
    #[test]
    fn a_key_tells_a_first_a_second_and_a_later_occurrence_apart() {
        let mut keys = [
            "4k3/8/8/8/8/8/8/4K3 w - - 12",
            "4k3/8/8/8/8/8/8/4K3 w - - 8",
            "4k3/8/8/8/8/8/8/4K3 w - - 4",
            "4k3/8/8/8/8/8/8/4K3 w - - 0",
        ]
        .map(|start| {
            let mut history = History::<MIN_CAP>::from_fen(start).unwrap();
            while history.rule50() < 12 {
                play(&mut history, "e1d1 e8d8 d1e1 d8e8");
            }
            assert_eq!(usize::from(history.repetitions()), history.len() / 4);
            history.key()
        });
        assert_eq!(keys[2], keys[3]);
        keys[..3].sort_unstable();
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    }

    /// The first outputs of the generator that is published under this name, seeded with 0.
    #[test]
    fn counters_are_scattered_as_by_splitmix64() {
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let outputs = [0, step, step.wrapping_mul(2)].map(scatter);
        assert_eq!(outputs, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn a_full_history_forgets_its_oldest_positions_and_nothing_else() {
        let cycle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let mut small = History::<MIN_CAP>::startpos();
        let mut large = History::<DEFAULT_CAP>::startpos();
        for ply in 0..300 {
            let mv = cycle[ply % 4].parse().unwrap();
            small.push(mv);
            large.push(mv);
            assert_eq!(small.key(), large.key());
            assert_eq!((small.len(), small.ply()), (large.len(), large.ply()));
            assert_eq!((small.repetitions(), small.rule50()), (large.repetitions(), large.rule50()));
        }
        assert!(small.start().is_none() && large.start().is_some());
        assert!(!small.truncate(300 - MIN_CAP), "forgotten");
        assert_eq!(small.len(), 301);
        assert!(small.truncate(301 - MIN_CAP));
        assert!(large.truncate(301 - MIN_CAP));
        assert_eq!(small.key(), large.key());
        assert!(!small.pop());
        assert!(large.pop());
    }

    #[test]
    fn the_default_history_is_as_large_as_it_says() {
        let size = size_of::<History>();
        assert!(size / 1024 == 64, "{size} bytes");
    }

    #[test]
    fn ply_follows_the_move_number() {
        let fen = |text| History::<MIN_CAP>::from_fen(text).unwrap();
        assert_eq!(History::<MIN_CAP>::startpos().ply(), 0);
        assert_eq!(fen("4k3/8/8/8/8/8/8/4K3 b - - 3 40").ply(), 79);
        let mut history = fen("4k3/8/8/8/8/8/8/4K3 b - - 3 40");
        play(&mut history, "e8e7");
        assert_eq!((history.ply(), history.rule50(), history.len()), (80, 4, 2));
    }

    #[test]
    fn an_illegal_move_changes_nothing() {
        let mut history = History::<MIN_CAP>::startpos();
        assert_eq!((history.repetitions(), history.cycle_length(), history.last().last_move()), (0, 0, None));
        let key = history.key();
        let mv = "e2e5".parse().unwrap();
        assert_eq!(history.try_push(mv), Err(IllegalMove(mv)));
        assert_eq!((history.key(), history.len()), (key, 1));
    }

    #[test]
    fn the_longest_move_list_fits() {
        let history = History::<MIN_CAP>::from_fen("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1").unwrap();
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        assert_eq!(moves.len(), 218);
    }
}
