//! A game: where it began, the moves since, and what the rules make of them.

use core::fmt;

use heapless::Vec;

use crate::board::{Board, Ko, SetupError};
use crate::color::Color;
use crate::points::{Move, PointSet, Size};
use crate::rules::{KoRule, Rules, Scoring};
use crate::zobrist::scatter;

/// The default capacity of a [`Game`], in moves: three times as many as long games have. These moves take 10 KiB.
pub const DEFAULT_CAP: usize = 1024;

/// For how many plies back a game keeps the boards as they were: networks see the ladders of two.
pub const BOARDS_AGO: usize = 2;

/// What the button is worth, half a point, in half points.
const BUTTON_HALVES: i32 = 1;

/// How often a position may occur, with the same player to move and no pass since, before a game with simple ko ends
/// without a result.
const OCCURRENCES: usize = 3;

/// A start position and the moves played from it: up to `CAP` moves, which is also how many earlier positions superko
/// can compare with. A longer game has to forget its first moves: call [`Game::forget`] when [`Game::room`] is 0. Clone
/// it to look ahead.
///
/// A game takes about 4.5 KB and, for each move of `CAP`, 10 bytes, whether the move was played or not: 15 KiB by
/// default. The default of `CAP` is not inferred: say `Game` as a type once, as here, or another number in
/// `Game::<100>::new(…)`.
///
/// ```
/// use oncilla_go::{Color, Ending, Game, Rules, Size};
/// let size = Size::new(9, 9).unwrap();
/// let mut game: Game = Game::new(size, Rules::from_name("chinese").unwrap());
/// for text in ["E5", "C3", "pass", "pass"] {
///     game.play(size.parse(text)?)?;
/// }
/// assert_eq!(game.side_to_move(), Color::Black);
/// assert_eq!(game.ending(), Some(Ending::Passes));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game<const CAP: usize = DEFAULT_CAP> {
    rules: Rules,
    black_run_is_handicap: bool,
    start: Snapshot,
    board: Board,
    side: Color,
    moves: Vec<Played, CAP>,
    /// The hash of the board before each move.
    hashes: Vec<u64, CAP>,
    /// The positions before the last move and before the one before it; the start position if there were fewer moves.
    ago: [Snapshot; BOARDS_AGO],
    /// What is kept of the moves that were forgotten.
    forgotten: Forgotten,
    /// Index of the first position that a ko rule looks at.
    counted_from: usize,
    /// Points from which a stone of each color was removed since that position.
    vacated: [PointSet; 2],
    /// Passes in a row, not counting the one that took the button.
    passes: u8,
    /// How many moves may be seen: all, or those since the last end after which the game went on, with the move that
    /// ended it; up to 255.
    in_sight: u8,
    /// How many more stones Black has played than White.
    extra_stones: i32,
    button: Button,
    ending: Option<Ending>,
}

/// A move and who played it, packed into 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played(u16);

impl Played {
    /// No move's number has this bit.
    const WHITE: u16 = 1 << 15;

    /// A move of `color`.
    pub fn new(color: Color, mv: Move) -> Self {
        Played(mv.0 | if color == Color::White { Self::WHITE } else { 0 })
    }

    /// Who played it.
    pub fn color(self) -> Color {
        if self.0 & Self::WHITE == 0 { Color::Black } else { Color::White }
    }

    /// The move that was played.
    pub fn mv(self) -> Move {
        Move(self.0 & !Self::WHITE)
    }
}

/// What is kept of moves that are otherwise forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Forgotten {
    moves: usize,
    passes: usize,
    /// How many stones of Black's come before White's first.
    run: usize,
    /// Whether White's first stone is among them.
    is_run_over: bool,
}

impl Forgotten {
    fn and(self, moves: &[Played], pass: Move) -> Self {
        let passes = moves.iter().filter(|played| played.mv() == pass).count();
        let (run, is_run_over) = self.run_with(moves, pass);
        Forgotten { moves: self.moves + moves.len(), passes: self.passes + passes, run, is_run_over }
    }

    /// Counts Black's stones before White's first, and says whether there is one of White's, over the forgotten moves
    /// and `moves` together.
    fn run_with(self, moves: &[Played], pass: Move) -> (usize, bool) {
        let (run, is_over) = if self.is_run_over { (0, true) } else { black_run(moves, pass) };
        (self.run + run, is_over)
    }
}

/// Counts Black's stones before White's first in `moves`, and says whether there is one of White's.
fn black_run(moves: &[Played], pass: Move) -> (usize, bool) {
    let mut run = 0;
    for played in moves.iter().filter(|played| played.mv() != pass) {
        if played.color() == Color::White {
            return (run, true);
        }
        run += 1;
    }
    (run, false)
}

/// A board without its chains: 104 bytes instead of 3.9 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Snapshot {
    stones: [PointSet; 2],
    ko: Option<Ko>,
}

impl Snapshot {
    fn of(board: &Board) -> Self {
        Snapshot { stones: Color::ALL.map(|color| *board.stones(color)), ko: board.simple_ko() }
    }
}

/// Where the button is. It is worth half a point to the first player who passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Button {
    /// The rules have no button.
    None,
    /// The next pass takes it.
    Available,
    /// This player has it.
    Taken(Color),
}

/// Why a game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Both players have passed in a row (except under [`KoRule::Spight`]); or, under [`KoRule::Spight`] and
    /// [`KoRule::Simple`], a player has passed twice in the same position.
    Passes,
    /// Under [`KoRule::Simple`], the same position occurred three times since the last pass, with the same player to
    /// move.
    Repetition,
}

/// The result of a game that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// White's points minus Black's, with komi and everything else. Stones in a region that is
    /// [`pass_alive`](crate::area::pass_alive) for the opponent are dead, as in KataGo, whatever the rules.
    WhiteLead(f32),
    /// Neither a win nor a draw.
    NoResult,
    /// Territory is counted once the players agree which stones are dead; the rules alone don't say. (KataGo has them
    /// play it out, in two more phases, which this crate does not know.)
    ToBeAgreed,
}

/// Why a move was not played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlayError {
    /// The rules forbid it, or it is not a move on this board.
    Illegal(Move),
    /// The game holds as many moves as it can.
    Full,
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayError::Illegal(mv) => write!(f, "move {} is illegal", mv.0),
            PlayError::Full => f.write_str("the game holds no more moves"),
        }
    }
}

impl core::error::Error for PlayError {}

impl<const CAP: usize> Game<CAP> {
    /// An empty board, Black to move.
    pub fn new(size: Size, rules: Rules) -> Self {
        Self::starting_from(Board::new(size), Color::Black, rules)
    }

    /// A game that starts with stones that were set up, with `side` to move.
    ///
    /// # Errors
    /// The errors of [`Board::with_stones`].
    pub fn with_stones(
        size: Size,
        rules: Rules,
        stones: impl IntoIterator<Item = (Color, Move)>,
        to_move: Color,
    ) -> Result<Self, SetupError> {
        Ok(Self::starting_from(Board::with_stones(size, stones)?, to_move, rules))
    }

    /// A game that goes on from a position of whose history nothing is known but a ko. Its stones count as played, as
    /// in KataGo (see [`Game::compensation`]): so do those of a handicap.
    pub fn starting_from(board: Board, side: Color, rules: Rules) -> Self {
        let start = Snapshot::of(&board);
        let [black, white] = Color::ALL.map(|color| board.stones(color).len() as i32);
        Game {
            rules,
            black_run_is_handicap: true,
            start,
            board,
            side,
            moves: Vec::new(),
            hashes: Vec::new(),
            ago: [start; BOARDS_AGO],
            forgotten: Forgotten::default(),
            counted_from: 0,
            vacated: [PointSet::EMPTY; 2],
            passes: 0,
            in_sight: 0,
            extra_stones: black - white,
            button: if rules.button { Button::Available } else { Button::None },
            ending: None,
        }
    }

    /// The last position, with `side` to move, as the start of a game. Of the moves before, nothing is known but what
    /// the stones that were played count, whether they are on the board or were captured.
    pub fn begun_anew(&self, side: Color) -> Self {
        let mut board = self.board.clone();
        board.lift_ko();
        let Self { rules, black_run_is_handicap, extra_stones, .. } = *self;
        Self { black_run_is_handicap, extra_stones, ..Self::starting_from(board, side, rules) }
    }

    /// Sets whether Black's moves in a row at the beginning count as handicap stones, no matter whether White passed
    /// between them or had no turn (KataGo's `assumeMultipleStartingBlackMovesAreHandicap`). They do unless this is
    /// called.
    pub fn set_black_run_is_handicap(&mut self, counts: bool) {
        self.black_run_is_handicap = counts;
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.board.size()
    }

    /// The last position.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Who is to move: the opponent of the player who moved last.
    pub fn side_to_move(&self) -> Color {
        self.side
    }

    /// How many moves have been played, including passes and forgotten moves.
    pub fn ply(&self) -> usize {
        self.forgotten.moves + self.moves.len()
    }

    /// How many more moves can be played.
    pub fn room(&self) -> usize {
        CAP - self.moves.len()
    }

    /// Forgets all moves but the last `keep`, which makes room for others.
    ///
    /// Board, simple ko, button, passes in a row, handicap, what White gets ([`Game::compensation`]) and the number of
    /// moves stay as they are, and so do [`Game::board_ago`] and the number for a search. Ko rules that compare with
    /// earlier positions no longer know the forgotten ones: superko does not forbid them, and a game does not end
    /// because they occur again.
    pub fn forget(&mut self, keep: usize) {
        let gone = self.moves.len().saturating_sub(keep);
        self.forgotten = self.forgotten.and(&self.moves[..gone], self.size().pass());
        let kept = self.moves.len() - gone;
        self.moves.rotate_left(gone);
        self.moves.truncate(kept);
        self.hashes.rotate_left(gone);
        self.hashes.truncate(kept);
        self.counted_from = self.counted_from.saturating_sub(gone);
    }

    /// The moves that are not forgotten, in the order of play, and who played them.
    pub fn moves(&self) -> impl DoubleEndedIterator<Item = (Color, Move)> + ExactSizeIterator + '_ {
        self.moves.iter().map(|played| (played.color(), played.mv()))
    }

    /// The moves that have led here from an earlier position of this game; `None` if `earlier` is not of this game: if
    /// its start, rules or moves differ, or if not as many of its moves are forgotten.
    pub fn moves_since(&self, earlier: &Self) -> Option<impl ExactSizeIterator<Item = (Color, Move)> + '_> {
        let beginning = |game: &Self| (game.rules, game.black_run_is_handicap, game.start, game.size(), game.forgotten);
        let is_later = beginning(self) == beginning(earlier) && self.moves.starts_with(&earlier.moves);
        let is_same = self.moves.len() > earlier.moves.len() || self.side == earlier.side;
        (is_later && is_same).then(|| self.moves().skip(earlier.moves.len()))
    }

    /// The position before the last `plies` moves, or the first one if there were fewer. `None` beyond [`BOARDS_AGO`].
    ///
    /// It is built anew, which takes a few microseconds.
    pub fn board_ago(&self, plies: usize) -> Option<Board> {
        let Some(nth) = plies.checked_sub(1) else { return Some(self.board.clone()) };
        self.ago.get(nth).map(|ago| Board::restored(self.size(), &ago.stones, ago.ko))
    }

    /// Where the button is.
    pub fn button(&self) -> Button {
        self.button
    }

    /// Why the game is over; `None` while it goes on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether the side to move may play a move. A pass is always legal.
    pub fn is_legal(&self, mv: Move) -> bool {
        self.is_legal_for(self.side, mv)
    }

    /// Whether a player may play a move, even if it is not the player's turn.
    pub fn is_legal_for(&self, color: Color, mv: Move) -> bool {
        self.board.is_legal(color, mv, self.rules.suicide) && !self.repeats(color, mv)
    }

    /// The legal moves of the side to move: points in ascending order, then the pass. Their order depends on the
    /// position alone.
    pub fn legal_moves(&self) -> impl Iterator<Item = Move> + '_ {
        self.size().points().chain([self.size().pass()]).filter(|&mv| self.is_legal(mv))
    }

    /// The points on which the side to move may not play only because of ko: simple ko, and what superko forbids.
    pub fn ko_banned(&self) -> PointSet {
        let ko = self.board.ko().filter(|(banned, _)| *banned == self.side).map(|(_, point)| point);
        let (side, suicide) = (self.side, self.rules.suicide);
        // Without suicide a stone stays where it is played, so a stone must have been there before.
        let candidates = if suicide { PointSet::full(self.size()) } else { self.vacated[side as usize] };
        let candidates = (candidates - self.board.occupied()).iter();
        let superko =
            candidates.filter(|&point| self.board.is_legal(side, point, suicide) && self.repeats(side, point));
        superko.chain(ko).collect()
    }

    /// Whether a move that is legal otherwise brings back a position that superko forbids.
    fn repeats(&self, color: Color, mv: Move) -> bool {
        if !self.rules.ko.is_superko() || !self.may_bring_back(color, mv) {
            return false;
        }
        let hash = self.board.hash_after(color, mv);
        self.counted()
            .any(|(earlier, mover)| earlier == hash && (self.rules.ko != KoRule::Situational || mover == !color))
    }

    /// Whether a move that is legal, superko aside, can lead to one of the positions that a ko rule looks at: its stone
    /// was there before, or is not there afterwards.
    fn may_bring_back(&self, color: Color, mv: Move) -> bool {
        self.vacated[color as usize].contains(mv) || self.rules.suicide && !self.board.is_legal(color, mv, false)
    }

    /// The earlier positions that a ko rule looks at, with the player who was to move.
    fn counted(&self) -> impl Iterator<Item = (u64, Color)> + '_ {
        let movers = self.moves[self.counted_from..].iter().map(|played| played.color());
        self.hashes[self.counted_from..].iter().copied().zip(movers)
    }

    /// Plays a move for the side to move.
    ///
    /// A game that is over goes on again: if it should not, ask [`Game::ending`] first.
    ///
    /// # Errors
    /// If the move is illegal, or if the game holds `CAP` moves already. Then nothing has changed.
    pub fn play(&mut self, mv: Move) -> Result<(), PlayError> {
        self.play_as(self.side, mv)
    }

    /// Plays a move for either player, as records of games have them when one moves twice in a row.
    ///
    /// Out of turn it is as if the other player had passed, without any other effect of a pass: the simple ko is
    /// lifted.
    ///
    /// # Errors
    /// The errors of [`Game::play`].
    pub fn play_as(&mut self, color: Color, mv: Move) -> Result<(), PlayError> {
        if !self.is_legal_for(color, mv) {
            return Err(PlayError::Illegal(mv));
        }
        self.play_possible(color, mv)
    }

    /// Plays a move that either player has made in fact, whatever the rules say of it: no kind of ko forbids it, and it
    /// may leave its own chain, of two stones or more, without liberties.
    ///
    /// Records of games have such moves, by mistake or under other rules.
    ///
    /// # Errors
    /// If it is not a point of the board, or an occupied one; if it is a single stone without liberties; or if the game
    /// holds `CAP` moves already. Then nothing has changed.
    pub fn play_tolerantly(&mut self, color: Color, mv: Move) -> Result<(), PlayError> {
        if !self.board.is_possible(color, mv) {
            return Err(PlayError::Illegal(mv));
        }
        self.play_possible(color, mv)
    }

    /// Plays a move for which [`Board::is_possible`] is true.
    fn play_possible(&mut self, color: Color, mv: Move) -> Result<(), PlayError> {
        if self.moves.is_full() {
            return Err(PlayError::Full);
        }
        if color != self.side {
            self.passes = 0;
        }
        if mv == self.size().pass() {
            self.pass(color)
        } else {
            self.play_stone(color, mv)
        }
        self.side = !color;
        Ok(())
    }

    /// Adds the last position to the earlier ones, with the move that is played in it.
    fn remember(&mut self, color: Color, mv: Move) {
        let room = self.moves.push(Played::new(color, mv)).is_ok() && self.hashes.push(self.board.hash()).is_ok();
        debug_assert!(room, "the caller has seen to it");
        self.ago = [Snapshot::of(&self.board), self.ago[0]];
        self.in_sight = self.moves_in_sight().saturating_add(1);
    }

    /// How many of the last moves a network may see, up to 255. No game in its training went on after its end: so, of
    /// the moves that led to an end, it sees only the last, which might as well have been a first pass.
    pub(crate) fn moves_in_sight(&self) -> u8 {
        if self.ending.is_some() { self.in_sight.min(1) } else { self.in_sight }
    }

    fn pass(&mut self, color: Color) {
        let ends = self.pass_would_end_for(color);
        self.remember(color, self.size().pass());
        let takes_button = self.button == Button::Available;
        if takes_button {
            self.button = Button::Taken(color);
            self.passes = 0;
        } else {
            self.passes = self.passes.saturating_add(1);
        }
        self.board.lift_ko();
        // Before the button was taken, positions were different ones, whatever the ko rule is.
        if takes_button || self.rules.ko.pass_begins_anew() {
            self.counted_from = self.moves.len();
            self.vacated = [PointSet::EMPTY; 2];
        }
        self.ending = ends.then_some(Ending::Passes);
    }

    fn play_stone(&mut self, color: Color, mv: Move) {
        let may_be_back = self.vacated[color as usize].contains(mv) || !self.board.is_legal(color, mv, false);
        self.remember(color, mv);
        // The move may have been played in spite of the ko.
        self.board.lift_ko();
        self.board.play(color, mv);
        self.passes = 0;
        self.extra_stones += if color == Color::Black { 1 } else { -1 };
        self.ending = None;
        self.note_vacated(color, mv);
        if self.rules.ko == KoRule::Simple && may_be_back {
            let now = (self.board.hash(), !color);
            let before = self.counted().filter(|&position| position == now).count();
            self.ending = (before + 1 >= OCCURRENCES).then_some(Ending::Repetition);
        }
    }

    /// Records which stones the last move, a stone, has removed.
    fn note_vacated(&mut self, color: Color, mv: Move) {
        let before = self.ago[0].stones;
        for owner in Color::ALL {
            self.vacated[owner as usize] |= before[owner as usize] - *self.board.stones(owner);
        }
        if self.board.stone(mv).is_none() {
            self.vacated[color as usize].insert(mv);
        }
    }

    /// Whether a pass of the side to move would end the game.
    pub fn pass_would_end(&self) -> bool {
        self.pass_would_end_for(self.side)
    }

    fn pass_would_end_for(&self, color: Color) -> bool {
        self.pass_would_be_second() || self.pass_would_repeat(color)
    }

    /// Whether a pass of the side to move would be the second in a row and end the game, under rules that allow dead
    /// stones to be left on the board ([`Rules::friendly_pass`]): the players then still agree on these, or play on. A
    /// third pass ends any game.
    pub fn pass_is_friendly(&self) -> bool {
        let is_second = self.pass_would_be_second() && self.passes == 1;
        let Rules { friendly_pass, scoring, .. } = self.rules;
        friendly_pass && scoring == Scoring::Area && is_second && !self.pass_would_be_repeated()
    }

    /// Whether a pass would be the second in a row, or a later one, under rules in which two end the game.
    fn pass_would_be_second(&self) -> bool {
        self.rules.ko.ends_by_two_passes() && self.button != Button::Available && self.passes > 0
    }

    /// Whether a pass of the side to move would end the game by [`KoRule::Simple`] or [`KoRule::Spight`], because it
    /// repeats one.
    fn pass_would_be_repeated(&self) -> bool {
        self.pass_would_repeat(self.side)
    }

    /// Whether the side to move would win if the points were counted now, with `more` points for White. False if the
    /// players have to agree on the points.
    pub(crate) fn pass_would_win(&self, more: f32) -> bool {
        let lead = self.white_lead().map(|lead| lead + more);
        lead.is_some_and(|lead| if self.side == Color::White { lead > 0.0 } else { lead < 0.0 })
    }

    /// Whether a pass would repeat an earlier one by the same player in the same position, under rules in which that
    /// ends the game. The pass that took the button does not count.
    fn pass_would_repeat(&self, color: Color) -> bool {
        if !self.rules.ko.pass_begins_anew() || self.button == Button::Available {
            return false;
        }
        self.counted_passes().any(|pass| pass == (self.board.hash(), color))
    }

    /// The positions in which somebody has passed, and who it was, except for the pass that took the button.
    fn counted_passes(&self) -> impl Iterator<Item = (u64, Color)> + '_ {
        let passes = self.moves.iter().zip(&self.hashes).filter(|(played, _)| played.mv() == self.size().pass());
        let counted = passes.skip(usize::from(self.rules.button && self.forgotten.passes == 0));
        counted.map(|(played, &hash)| (hash, played.color()))
    }

    /// The number of handicap stones: Black's at the start if White had none, together with Black's moves before
    /// White's first ([`Game::set_black_run_is_handicap`]). A single stone is not a handicap.
    pub fn handicap_stones(&self) -> usize {
        let [black, white] = self.start.stones;
        if !white.is_empty() {
            return 0;
        }
        let stones = black.len() + if self.black_run_is_handicap { self.black_run().0 } else { 0 };
        if stones < 2 { 0 } else { stones }
    }

    fn black_run(&self) -> (usize, bool) {
        self.forgotten.run_with(&self.moves, self.size().pass())
    }

    fn compensation_halves(&self) -> i32 {
        let bonus = self.rules.handicap_bonus.points(self.handicap_stones()) as i32;
        let button = match self.button {
            Button::Taken(Color::White) => BUTTON_HALVES,
            Button::Taken(Color::Black) => -BUTTON_HALVES,
            _ => 0,
        };
        let stones = if self.rules.scoring == Scoring::Territory { self.extra_stones } else { 0 };
        i32::from(self.rules.komi.halves()) + 2 * bonus + 2 * stones + button
    }

    /// The points that White gets besides those on the board: komi, the bonus for handicap stones, and half a point
    /// more or less for the button once it is taken.
    ///
    /// If territory is counted, each stone that a player has played, or that was there at the beginning, is a point for
    /// the opponent: then areas differ as much as territories and prisoners do.
    pub fn compensation(&self) -> f32 {
        self.compensation_halves() as f32 / 2.0
    }

    /// The result of the game, if it is over.
    pub fn outcome(&self) -> Option<Outcome> {
        Some(match self.ending? {
            Ending::Repetition => Outcome::NoResult,
            Ending::Passes => self.white_lead().map_or(Outcome::ToBeAgreed, Outcome::WhiteLead),
        })
    }

    /// A hash of the last position: stones, side to move, what ko forbids the side to move, passes and button.
    ///
    /// Rules, komi and the moves that led to the position are not in it. Positions with equal keys may differ in what
    /// superko will forbid later on, and in what a network that sees the last moves says of them.
    pub fn key(&self) -> u64 {
        let button = match self.button {
            Button::None => 0,
            Button::Available => 1,
            Button::Taken(color) => 2 + color as u64,
        };
        let state = self.side as u64 | u64::from(self.passes.min(3)) << 1 | button << 3;
        self.ko_banned().iter().fold(self.board.hash() ^ scatter(4 << 32 | state), |key, point| {
            key ^ scatter(5 << 32 | u64::from(point.0))
        })
    }

    /// A key by which a search may join positions that it has reached on different paths: [`Game::key`], the number of
    /// moves played ([`Game::ply`]), and what White gets besides points on the board. So no line of moves contains the
    /// same key twice, whatever the rules let it repeat, and positions that are joined have the same score and the same
    /// legal moves.
    ///
    /// What follows them may differ, because the path to them is not in the key: superko may forbid a move after one
    /// path and not after the other, and a pass or a stone that repeats a position may end only one of the games. A
    /// search that shares so much, as KataGo's does, takes one for the other on purpose, and its host has to be
    /// prepared for that: it keeps what [`Game::ko_banned`] was when a node got its answer, lists the node's moves by
    /// that whatever line leads there, and if a line has a move that its own game does not allow, answers the leaf with
    /// another key. What is proven by a repetition then holds for one path only. A search that lists the moves of each
    /// line anew, as `oncilla_core`'s `Search::run` does, needs [`Game::graph_key`].
    pub fn loose_graph_key(&self) -> u64 {
        let compensation = u64::from(self.compensation_halves().cast_unsigned());
        scatter(self.key() ^ scatter(6 << 32 | self.ply() as u64) ^ scatter(7 << 32 | compensation))
    }

    /// A key by which any search may join positions of games that began alike and have the same rules:
    /// [`Game::loose_graph_key`], and of the moves before whatever the rules may depend on. Joined positions have the
    /// same legal moves, ending and outcome, and still have after the same moves, if the players move in turn.
    ///
    /// Stones of either color may be captured, so any earlier position may come back, and all positions that a ko rule
    /// looks at count, in any order, each as often as it occurred. Lines that place the same stones in another order
    /// went through other positions and are not joined. Under [`KoRule::Simple`] and [`KoRule::Spight`] they are joined
    /// from the next pass on, and under any rule from the pass that takes the button. Otherwise a graph joins next to
    /// nothing, and a tree does as well. For each move of the game, the key takes some nanoseconds.
    pub fn graph_key(&self) -> u64 {
        let digest = |kind: u64, (hash, color): (u64, Color)| scatter(hash ^ scatter(kind << 32 | color as u64));
        let positions = self.counted().map(|position| digest(8, position));
        let passes = self.counted_passes().map(|pass| digest(9, pass));
        // A sum counts a position that occurs more than once, and does not depend on their order.
        let past = positions.chain(passes).fold(0, u64::wrapping_add);
        let (run, is_run_over) = self.black_run();
        let handicap = (run as u64) << 1 | u64::from(is_run_over);
        let ending = self.ending.map_or(0, |ending| 1 + ending as u64);
        scatter(self.loose_graph_key() ^ scatter(past) ^ scatter(10 << 32 | handicap) ^ scatter(11 << 32 | ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{HandicapBonus, Komi};

    #[test]
    fn a_game_is_as_large_as_it_says() {
        let (size, empty) = (size_of::<Game>(), size_of::<Game<0>>());
        assert_eq!(size.div_ceil(1024), 15, "{size} bytes");
        assert!((4300..4700).contains(&empty), "{empty} bytes");
        assert_eq!(size_of::<Snapshot>(), 104);
    }

    #[test]
    fn a_game_goes_on_from_those_that_it_went_through() {
        let (size, point) = (Size::new(5, 5).unwrap(), |x, y| Size::new(5, 5).unwrap().point(x, y).unwrap());
        let played = |rules, moves: &[Move]| {
            let mut game: Game = Game::new(size, rules);
            moves.iter().for_each(|mv| game.play(*mv).unwrap());
            game
        };
        let (a, pass, b) = (point(1, 1), size.pass(), point(2, 2));
        let game = played(Rules::TROMP_TAYLOR, &[a, pass, b]);
        let since = |earlier: &Game| game.moves_since(earlier).map(|moves| moves.len());
        for (moves, expected) in [(&[][..], Some(3)), (&[a], Some(2)), (&[a, pass, b], Some(0)), (&[b], None)] {
            assert_eq!(since(&played(Rules::TROMP_TAYLOR, moves)), expected, "{moves:?}");
        }
        let last = game.moves_since(&played(Rules::TROMP_TAYLOR, &[a, pass])).unwrap().next();
        assert_eq!(last, Some((Color::Black, b)));
        assert!(played(Rules::TROMP_TAYLOR, &[a]).moves_since(&game).is_none());
        let komi = Komi::from_points(0.5).unwrap();
        assert_eq!(since(&played(Rules { komi, ..Rules::TROMP_TAYLOR }, &[a])), None);
        let white_first: Game = Game::starting_from(Board::new(size), Color::White, Rules::TROMP_TAYLOR);
        assert!(white_first.moves_since(&played(Rules::TROMP_TAYLOR, &[])).is_none());
        // Both know the same moves.
        let mut forgetful = played(Rules::TROMP_TAYLOR, &[a, pass]);
        forgetful.forget(1);
        assert_eq!(since(&forgetful), None);
        let before = forgetful.clone();
        forgetful.play(b).unwrap();
        assert_eq!(forgetful.moves_since(&before).map(|moves| moves.len()), Some(1));
    }

    #[test]
    fn the_same_board_with_another_score_is_another_node() {
        let size = Size::new(5, 5).unwrap();
        let key = |rules, moves: [(u8, u8); 5]| {
            let mut game: Game = Game::new(size, rules);
            for (x, y) in moves {
                game.play(if x == 5 { size.pass() } else { size.point(x, y).unwrap() }).unwrap();
            }
            game.loose_graph_key()
        };
        const PASS: (u8, u8) = (5, 5);
        // With White's pass at first Black's first two stones are a handicap, with it later the first one is none.
        let [early, late] = [[(2, 2), PASS, (1, 2), (2, 1), (3, 1)], [(2, 2), (2, 1), (1, 2), PASS, (3, 1)]];
        let with = |handicap_bonus| Rules { handicap_bonus, ..Rules::TROMP_TAYLOR };
        assert_eq!(key(with(HandicapBonus::Zero), early), key(with(HandicapBonus::Zero), late));
        assert_ne!(key(with(HandicapBonus::N), early), key(with(HandicapBonus::N), late));
    }
}
