//! Stones, the chains that they form, and what a move does to them.

use core::fmt;

use crate::color::Color;
use crate::grid::{self, CELLS, Cell, neighbours};
use crate::points::{Move, PointSet, Size};
use crate::zobrist::{STONES, scatter};

/// What is on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    Stone(Color),
    /// A cell beyond the edge of the board.
    Wall,
}

/// Stands for the head of a stone that does not belong to a chain yet.
const NO_CHAIN: Cell = Cell::MAX;

/// A position: stones, and the point that a simple ko forbids. 3.9 KB.
///
/// The stones of a chain form a ring. For one of them, the head, the numbers of stones and liberties are stored and
/// kept up to date: a move costs what it changes and not what the board holds.
///
/// ```
/// use oncilla_go::{Board, Color, Size};
/// let size = Size::new(5, 5).unwrap();
/// let at = |text| size.parse(text).unwrap();
/// let mut board = Board::new(size);
/// board.play(Color::White, at("A5"));
/// board.play(Color::Black, at("B5"));
/// assert_eq!(board.liberties(at("A5")), 1);
/// board.play(Color::Black, at("A4"));
/// assert_eq!(board.stone(at("A5")), None);
/// assert_eq!(board.liberties(at("B5")), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Board {
    size: Size,
    hash: u64,
    stones: [PointSet; 2],
    ko: Option<Ko>,
    cells: [Content; CELLS],
    /// For every stone, the head of its chain.
    head: [Cell; CELLS],
    /// For every stone, the next stone in the ring of its chain.
    next: [Cell; CELLS],
    /// For every head, how many liberties its chain has.
    liberties: [u16; CELLS],
    /// For every head, how many stones its chain has.
    lengths: [u16; CELLS],
}

/// Which player may not take back which stone at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ko {
    pub banned: Color,
    pub point: Move,
}

/// A stone that was played, and what is needed to undo that. Suicide can't be undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    color: Color,
    at: Cell,
    /// The neighbours whose chain was captured, a bit for each.
    captured: u8,
    ko_before: Option<Ko>,
}

/// Why stones can't be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The move is not a point of the board.
    OffBoard(Move),
    /// Two stones are on one point.
    Occupied(Move),
    /// The stone's chain has no liberty.
    NoLiberty(Move),
}

impl SetupError {
    /// The point of the stone.
    pub fn point(self) -> Move {
        match self {
            Self::OffBoard(point) | Self::Occupied(point) | Self::NoLiberty(point) => point,
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::OffBoard(_) => f.write_str("a stone is not on the board"),
            SetupError::Occupied(_) => f.write_str("two stones are on one point"),
            SetupError::NoLiberty(_) => f.write_str("a stone has no liberty"),
        }
    }
}

impl core::error::Error for SetupError {}

impl Board {
    /// A board without stones.
    pub fn new(size: Size) -> Self {
        let mut board = Board {
            size,
            hash: scatter(3 << 32 | u64::from(size.x()) << 8 | u64::from(size.y())),
            stones: [PointSet::EMPTY; 2],
            ko: None,
            cells: [Content::Wall; CELLS],
            head: [NO_CHAIN; CELLS],
            next: [NO_CHAIN; CELLS],
            liberties: [0; CELLS],
            lengths: [0; CELLS],
        };
        size.points().for_each(|point| board.cells[usize::from(grid::cell(size, point))] = Content::Empty);
        board
    }

    /// A board with these stones on it; nothing is captured.
    ///
    /// # Errors
    /// If a stone is off the board, or on another stone, or if a chain has no liberties.
    pub fn with_stones(size: Size, stones: impl IntoIterator<Item = (Color, Move)>) -> Result<Self, SetupError> {
        let mut board = Board::new(size);
        for (color, point) in stones {
            if point.index() >= size.area() {
                return Err(SetupError::OffBoard(point));
            }
            if board.stone(point).is_some() {
                return Err(SetupError::Occupied(point));
            }
            board.put(color, grid::cell(size, point));
        }
        board.form_chains();
        match board.occupied().iter().find(|&point| board.liberties(point) == 0) {
            Some(point) => Err(SetupError::NoLiberty(point)),
            None => Ok(board),
        }
    }

    /// Puts a stone on a point as editors of positions do: it replaces another stone, and captures as a move does. A
    /// stone without a liberty is not put down, or dies with the chain that it joins. No ko is left.
    ///
    /// # Errors
    /// If the move is not a point of the board. Then nothing has changed.
    pub fn set_stone(&mut self, color: Color, point: Move) -> Result<(), SetupError> {
        if point.index() >= self.size.area() {
            return Err(SetupError::OffBoard(point));
        }
        let replaces = self.stones[!color as usize].contains(point);
        if replaces {
            self.stones[!color as usize].remove(point);
            *self = Self::restored(self.size, &self.stones, None);
        }
        self.lift_ko();
        // A stone that replaces another one leaves the point empty rather than kill its own chain, as in KataGo.
        if self.is_legal(color, point, !replaces) {
            self.play(color, point);
        }
        self.lift_ko();
        Ok(())
    }

    /// A board with the position that another board had.
    pub(crate) fn restored(size: Size, stones: &[PointSet; 2], ko: Option<Ko>) -> Self {
        let mut board = Board::new(size);
        for color in Color::ALL {
            stones[color as usize].iter().for_each(|point| board.put(color, grid::cell(size, point)));
        }
        board.form_chains();
        board.ko = ko;
        board
    }

    fn form_chains(&mut self) {
        for point in self.occupied().iter() {
            let at = grid::cell(self.size, point);
            if self.head[usize::from(at)] == NO_CHAIN {
                self.grow_chain(at);
            }
        }
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.size
    }

    /// A hash of size and stones. The side to move and ko are not in it.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The stones of one color.
    pub fn stones(&self, color: Color) -> &PointSet {
        &self.stones[color as usize]
    }

    /// The stones of either color.
    pub fn occupied(&self) -> PointSet {
        self.stones[0] | self.stones[1]
    }

    /// The stone on a point; `None` if there is none, or if it is not a point of the board.
    pub fn stone(&self, point: Move) -> Option<Color> {
        Color::ALL.into_iter().find(|&color| self.stones[color as usize].contains(point))
    }

    /// How many liberties the chain on a point has; 0 if there is no stone.
    pub fn liberties(&self, point: Move) -> usize {
        self.head_on(point).map_or(0, |head| self.liberties[usize::from(head)].into())
    }

    /// How many stones the chain on a point has; 0 if there is no stone.
    pub fn chain_length(&self, point: Move) -> usize {
        self.head_on(point).map_or(0, |head| self.lengths[usize::from(head)].into())
    }

    /// The stones of the chain on a point; none if there is no stone. Their order means nothing.
    pub fn chain(&self, point: Move) -> impl Iterator<Item = Move> + '_ {
        self.head_on(point).into_iter().flat_map(|head| self.ring(head)).map(|at| grid::point(self.size, at))
    }

    /// The points beside `point`, which must be on the board.
    pub fn neighbours(&self, point: Move) -> impl Iterator<Item = Move> + '_ {
        let around = neighbours(grid::cell(self.size, point)).into_iter();
        around.filter(|&at| self.content(at) != Content::Wall).map(|at| grid::point(self.size, at))
    }

    /// The point that a simple ko forbids, and the player whom it forbids it: it is the point that the last move
    /// captured a stone on, if that stone's owner could take back just the stone that captured it.
    pub fn ko(&self) -> Option<(Color, Move)> {
        self.ko.map(|ko| (ko.banned, ko.point))
    }

    pub(crate) fn simple_ko(&self) -> Option<Ko> {
        self.ko
    }

    pub(crate) fn set_ko(&mut self, ko: Option<Ko>) {
        self.ko = ko;
    }

    /// Forgets the ko: either player may play anywhere.
    pub fn lift_ko(&mut self) {
        self.ko = None;
    }

    /// Whether a move is legal, superko aside: a pass, or an empty point that a simple ko does not forbid, where the
    /// stone has or makes a liberty, or is joined to others that die with it and `suicide` is allowed.
    ///
    /// A single stone never kills itself: that would change nothing on the board.
    pub fn is_legal(&self, color: Color, mv: Move, suicide: bool) -> bool {
        if mv.index() >= self.size.area() {
            return mv == self.size.pass();
        }
        self.may_play(color, grid::cell(self.size, mv), suicide)
    }

    /// Whether a move can be made at all, whatever a ko or the rules say: a pass, or an empty point where the stone has
    /// or makes a liberty, or is joined to others that die with it.
    pub fn is_possible(&self, color: Color, mv: Move) -> bool {
        let is_point = mv.index() < self.size.area();
        if is_point { self.has_room(color, grid::cell(self.size, mv), true) } else { mv == self.size.pass() }
    }

    pub(crate) fn may_play(&self, color: Color, at: Cell, suicide: bool) -> bool {
        let is_banned = self.ko.is_some_and(|ko| ko.banned == color && grid::cell(self.size, ko.point) == at);
        !is_banned && self.has_room(color, at, suicide)
    }

    /// Whether a stone finds an empty cell and a liberty there, or, if `suicide` is allowed, dies together with others.
    #[inline]
    fn has_room(&self, color: Color, at: Cell, suicide: bool) -> bool {
        self.content(at) == Content::Empty
            && neighbours(at).into_iter().any(|beside| match self.content(beside) {
                Content::Empty => true,
                Content::Stone(other) => {
                    let last_liberty = self.liberties_of(beside) == 1;
                    if other == color { suicide || !last_liberty } else { last_liberty }
                }
                Content::Wall => false,
            })
    }

    /// Plays a move for which [`Board::is_legal`] is true. A pass lifts a ko.
    ///
    /// # Panics
    /// May panic, or leave a position that makes no sense, on any other move.
    pub fn play(&mut self, color: Color, mv: Move) {
        debug_assert!(self.is_legal(color, mv, true), "illegal move {}", self.size.format(mv));
        if mv == self.size.pass() {
            return self.lift_ko();
        }
        self.place(color, grid::cell(self.size, mv));
    }

    /// The [`hash`](Board::hash) after a legal move.
    pub fn hash_after(&self, color: Color, mv: Move) -> u64 {
        if mv == self.size.pass() {
            return self.hash;
        }
        let at = grid::cell(self.size, mv);
        let around = neighbours(at);
        let captured = around.map(|beside| self.content(beside) == Content::Stone(!color) && self.in_atari(beside));
        let lives = (0..4).any(|side| match self.content(around[side]) {
            Content::Empty => true,
            Content::Stone(other) => other == color && !self.in_atari(around[side]),
            Content::Wall => false,
        });
        let (removed, mut hash) = if captured.contains(&true) {
            (captured, self.hash ^ STONES[color as usize][usize::from(at)])
        } else if lives {
            ([false; 4], self.hash ^ STONES[color as usize][usize::from(at)])
        } else {
            (around.map(|beside| self.content(beside) == Content::Stone(color)), self.hash)
        };
        for side in (0..4).filter(|&side| removed[side] && self.is_first_of_chain(&around, side)) {
            hash ^= self.hash_of_chain(around[side]);
        }
        hash
    }

    fn hash_of_chain(&self, at: Cell) -> u64 {
        let Content::Stone(color) = self.content(at) else { return 0 };
        self.ring(at).fold(0, |hash, stone| hash ^ STONES[color as usize][usize::from(stone)])
    }

    // What follows works on cells, for this crate: the play of chains.

    pub(crate) fn place(&mut self, color: Color, at: Cell) -> Placed {
        let mut placed = Placed { color, at, captured: 0, ko_before: self.ko.take() };
        let around = neighbours(at);
        self.put(color, at);
        for side in 0..4 {
            if self.is_first_of_chain(&around, side) {
                self.liberties[usize::from(self.head_of(around[side]))] -= 1;
            }
        }
        let mut chain = self.begin_chain(at);
        for beside in around {
            if self.content(beside) == Content::Stone(color) && self.head_of(beside) != chain {
                chain = self.join(chain, self.head_of(beside));
            }
        }
        let mut lost = 0;
        for (side, beside) in around.into_iter().enumerate() {
            if self.content(beside) == Content::Stone(!color) && self.liberties_of(beside) == 0 {
                let point = grid::point(self.size, beside);
                lost += self.remove_chain(beside);
                placed.captured |= 1 << side;
                self.ko = Some(Ko { banned: !color, point });
            }
        }
        let takes_ko = lost == 1 && self.lengths[usize::from(chain)] == 1 && self.liberties[usize::from(chain)] == 1;
        if !takes_ko {
            self.ko = None;
        }
        if self.liberties[usize::from(chain)] == 0 {
            self.remove_chain(chain);
        }
        placed
    }

    /// Undoes the last [`Board::place`], which must not have been suicide.
    pub(crate) fn take_back(&mut self, placed: Placed) {
        let around = neighbours(placed.at);
        for (side, &beside) in around.iter().enumerate() {
            if placed.captured >> side & 1 != 0 {
                self.revive(!placed.color, beside);
            }
        }
        let chain = self.head_of(placed.at);
        self.lift(placed.color, placed.at);
        for side in 0..4 {
            if self.is_first_of_chain(&around, side) && self.head_of(around[side]) != chain {
                self.liberties[usize::from(self.head_of(around[side]))] += 1;
            }
        }
        self.split(chain, placed.at);
        self.ko = placed.ko_before;
    }

    /// Puts a captured chain back where it was: on all empty points that are connected with `at`.
    ///
    /// It was surrounded, so no other empty points are connected with it. Its one liberty is still occupied.
    fn revive(&mut self, color: Color, at: Cell) {
        self.put(color, at);
        (self.head[usize::from(at)], self.next[usize::from(at)]) = (at, at);
        (self.lengths[usize::from(at)], self.liberties[usize::from(at)]) = (1, 0);
        let (mut stone, mut last) = (at, at);
        loop {
            let around = neighbours(stone);
            for (side, &beside) in around.iter().enumerate() {
                match self.content(beside) {
                    Content::Empty => {
                        self.put(color, beside);
                        self.append(at, last, beside);
                        last = beside;
                    }
                    Content::Stone(other) if other != color && self.is_first_of_chain(&around, side) => {
                        self.liberties[usize::from(self.head_of(beside))] -= 1;
                    }
                    _ => {}
                }
            }
            stone = self.next[usize::from(stone)];
            if stone == at {
                break;
            }
        }
    }

    /// Makes new chains of what is left of `chain` when its stone `gone` has been lifted.
    fn split(&mut self, chain: Cell, gone: Cell) {
        let mut stone = self.next[usize::from(gone)];
        while stone != gone {
            self.head[usize::from(stone)] = NO_CHAIN;
            stone = self.next[usize::from(stone)];
        }
        self.head[usize::from(gone)] = NO_CHAIN;
        debug_assert!(self.head[usize::from(chain)] == NO_CHAIN);
        for beside in neighbours(gone) {
            if matches!(self.content(beside), Content::Stone(_)) && self.head_of(beside) == NO_CHAIN {
                self.grow_chain(beside);
            }
        }
    }

    /// Makes a chain of a stone and of all stones connected with it that have no chain yet.
    fn grow_chain(&mut self, start: Cell) {
        self.begin_chain(start);
        let color = self.content(start);
        let (mut stone, mut last) = (start, start);
        loop {
            for beside in neighbours(stone) {
                if self.content(beside) == color && self.head_of(beside) == NO_CHAIN {
                    self.liberties[usize::from(start)] += self.new_liberties(start, beside);
                    self.append(start, last, beside);
                    last = beside;
                }
            }
            stone = self.next[usize::from(stone)];
            if stone == start {
                break;
            }
        }
    }

    /// Makes a stone a chain of its own. Returns its head.
    fn begin_chain(&mut self, at: Cell) -> Cell {
        let empty = neighbours(at).into_iter().filter(|&beside| self.content(beside) == Content::Empty).count();
        let index = usize::from(at);
        (self.head[index], self.next[index]) = (at, at);
        (self.lengths[index], self.liberties[index]) = (1, empty as u16);
        at
    }

    /// Adds a stone to a chain behind `last`.
    fn append(&mut self, chain: Cell, last: Cell, stone: Cell) {
        self.head[usize::from(stone)] = chain;
        self.next[usize::from(stone)] = self.next[usize::from(last)];
        self.next[usize::from(last)] = stone;
        self.lengths[usize::from(chain)] += 1;
    }

    /// Makes one chain of two that touch. Returns its head: that of the longer one, so that few stones change theirs.
    fn join(&mut self, one: Cell, other: Cell) -> Cell {
        let one_is_longer = self.lengths[usize::from(one)] >= self.lengths[usize::from(other)];
        let (long, short) = if one_is_longer { (one, other) } else { (other, one) };
        let mut stone = short;
        loop {
            self.liberties[usize::from(long)] += self.new_liberties(long, stone);
            self.head[usize::from(stone)] = long;
            stone = self.next[usize::from(stone)];
            if stone == short {
                break;
            }
        }
        self.lengths[usize::from(long)] += self.lengths[usize::from(short)];
        self.next.swap(usize::from(long), usize::from(short));
        long
    }

    /// How many liberties a stone brings to a chain that it is about to join.
    fn new_liberties(&self, chain: Cell, stone: Cell) -> u16 {
        let known = |at: Cell| {
            neighbours(at)
                .into_iter()
                .any(|beside| matches!(self.content(beside), Content::Stone(_)) && self.head_of(beside) == chain)
        };
        neighbours(stone).into_iter().filter(|&at| self.content(at) == Content::Empty && !known(at)).count() as u16
    }

    /// Takes a chain off the board. Returns how many stones it had.
    fn remove_chain(&mut self, at: Cell) -> usize {
        let Content::Stone(color) = self.content(at) else { return 0 };
        let (chain, mut stone, mut removed) = (self.head_of(at), at, 0);
        loop {
            self.lift(color, stone);
            removed += 1;
            let around = neighbours(stone);
            for side in 0..4 {
                if self.is_first_of_chain(&around, side) && self.head_of(around[side]) != chain {
                    self.liberties[usize::from(self.head_of(around[side]))] += 1;
                }
            }
            stone = self.next[usize::from(stone)];
            if stone == at {
                return removed;
            }
        }
    }

    fn put(&mut self, color: Color, at: Cell) {
        self.cells[usize::from(at)] = Content::Stone(color);
        self.stones[color as usize].insert(grid::point(self.size, at));
        self.hash ^= STONES[color as usize][usize::from(at)];
    }

    fn lift(&mut self, color: Color, at: Cell) {
        self.cells[usize::from(at)] = Content::Empty;
        self.stones[color as usize].remove(grid::point(self.size, at));
        self.hash ^= STONES[color as usize][usize::from(at)];
    }

    #[inline]
    fn content(&self, at: Cell) -> Content {
        self.cells[usize::from(at)]
    }

    #[inline]
    fn head_of(&self, at: Cell) -> Cell {
        self.head[usize::from(at)]
    }

    fn head_on(&self, point: Move) -> Option<Cell> {
        self.stone(point).map(|_| self.head_of(grid::cell(self.size, point)))
    }

    /// How many liberties the chain of a stone has.
    #[inline]
    pub(crate) fn liberties_of(&self, at: Cell) -> u16 {
        self.liberties[usize::from(self.head_of(at))]
    }

    fn in_atari(&self, at: Cell) -> bool {
        self.liberties_of(at) == 1
    }

    pub(crate) fn is_empty_at(&self, at: Cell) -> bool {
        self.content(at) == Content::Empty
    }

    pub(crate) fn color_at(&self, at: Cell) -> Option<Color> {
        match self.content(at) {
            Content::Stone(color) => Some(color),
            _ => None,
        }
    }

    /// The stone by which a chain is named, for the chain of a stone.
    pub(crate) fn chain_of(&self, at: Cell) -> Cell {
        self.head_of(at)
    }

    /// The stones of a chain.
    pub(crate) fn ring(&self, start: Cell) -> impl Iterator<Item = Cell> + '_ {
        let after = move |&at: &Cell| Some(self.next[usize::from(at)]).filter(|&next| next != start);
        core::iter::successors(Some(start), after)
    }

    /// Whether there is a stone on that side, and no stone of the same chain on an earlier side.
    fn is_first_of_chain(&self, around: &[Cell; 4], side: usize) -> bool {
        let is_stone = |side: usize| matches!(self.content(around[side]), Content::Stone(_));
        let chain = self.head_of(around[side]);
        is_stone(side) && !(0..side).any(|before| is_stone(before) && self.head_of(around[before]) == chain)
    }
}

impl PartialEq for Board {
    /// Compares size, stones and ko.
    fn eq(&self, other: &Board) -> bool {
        (self.size, self.stones, self.ko) == (other.size, other.stones, other.ko)
    }
}

impl Eq for Board {}

impl fmt::Display for Board {
    /// One line for each row, from the top: `X` for Black, `O` for White, `.` for an empty point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for point in self.size.points() {
            let last = (point.0 + 1).is_multiple_of(self.size.x().into());
            f.write_str(match self.stone(point) {
                Some(Color::Black) => "X",
                Some(Color::White) => "O",
                None => ".",
            })?;
            f.write_str(if last { "\n" } else { " " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use quickcheck::QuickCheck;
    use std::vec::Vec;

    /// All that a board says of itself.
    fn snapshot(board: &Board) -> impl PartialEq + fmt::Debug + use<> {
        let of_chain = |point| {
            let chain: PointSet = board.chain(point).collect();
            (board.stone(point), board.liberties(point), board.chain_length(point), chain)
        };
        (board.hash(), board.simple_ko(), board.stones, board.size.points().map(of_chain).collect::<Vec<_>>())
    }

    #[test]
    fn a_stone_taken_back_leaves_no_trace() {
        fn property(sides: (u8, u8), choices: Vec<u16>) -> bool {
            let size = Size::new(1 + sides.0 % 6, 1 + sides.1 % 6).unwrap();
            let mut board = Board::new(size);
            let mut color = Color::Black;
            for choice in choices {
                let before = snapshot(&board);
                let legal: Vec<Move> = size.points().filter(|&mv| board.is_legal(color, mv, false)).collect();
                for &mv in &legal {
                    let placed = board.place(color, grid::cell(size, mv));
                    let reply = size.points().find(|&reply| board.is_legal(!color, reply, false));
                    let between = snapshot(&board);
                    let replied = reply.map(|reply| board.place(!color, grid::cell(size, reply)));
                    replied.into_iter().for_each(|replied| board.take_back(replied));
                    assert_eq!(snapshot(&board), between);
                    board.take_back(placed);
                    assert_eq!(snapshot(&board), before);
                }
                board.play(color, legal.get(usize::from(choice) % legal.len().max(1)).copied().unwrap_or(size.pass()));
                color = !color;
            }
            true
        }
        QuickCheck::new().tests(200).quickcheck(property as fn((u8, u8), Vec<u16>) -> bool);
    }

    #[test]
    fn what_cannot_be_set_up_is_refused() {
        let size = Size::new(2, 2).unwrap();
        let with = |stones: &[(Color, u16)]| {
            Board::with_stones(size, stones.iter().map(|&(color, point)| (color, Move(point)))).map(|_| ())
        };
        use Color::{Black, White};
        assert_eq!(with(&[(Black, 0), (White, 3)]), Ok(()));
        assert_eq!(with(&[(Black, 4)]), Err(SetupError::OffBoard(Move(4))));
        assert_eq!(with(&[(Black, 1), (White, 1)]), Err(SetupError::Occupied(Move(1))));
        assert_eq!(with(&[(Black, 1), (White, 0), (Black, 2)]), Err(SetupError::NoLiberty(Move(0))));
    }

    #[test]
    fn stones_are_set_as_an_editor_sets_them() {
        use Color::{Black, White};
        let size = Size::new(3, 1).unwrap();
        let set = |stones: &[(Color, u16)]| {
            let mut board = Board::new(size);
            stones.iter().for_each(|&(color, point)| board.set_stone(color, Move(point)).unwrap());
            (*board.stones(Black), *board.stones(White))
        };
        let points = |points: &[u16]| points.iter().map(|&point| Move(point)).collect::<PointSet>();
        assert_eq!(set(&[(Black, 1), (White, 1)]), (points(&[]), points(&[1])), "the later stone stays");
        assert_eq!(set(&[(Black, 1), (Black, 1)]), (points(&[1]), points(&[])));
        assert_eq!(set(&[(Black, 1), (White, 0)]), (points(&[1]), points(&[])), "no liberty");
        assert_eq!(set(&[(White, 0), (Black, 1)]), (points(&[1]), points(&[])), "captured");
        assert_eq!(set(&[(Black, 0), (Black, 1), (Black, 2)]), (points(&[]), points(&[])), "a chain that dies");
        assert_eq!(set(&[(Black, 0), (White, 2), (Black, 2)]), (points(&[0, 2]), points(&[])));
        assert_eq!(set(&[(Black, 0), (Black, 1), (White, 1)]), (points(&[]), points(&[1])), "replaces, and captures");
        let mut board = Board::new(size);
        assert_eq!(board.set_stone(Black, size.pass()), Err(SetupError::OffBoard(size.pass())));
    }

    #[test]
    fn a_board_is_as_large_as_it_says() {
        let size = size_of::<Board>();
        assert!((3880..3920).contains(&size), "{size} bytes");
    }
}
