//! Ladders: chains that are chased from one atari to the next until they are captured, or get away. They are read in
//! place, by playing and undoing one stone after the other.

use heapless::Vec;

use crate::board::{Board, Placed};
use crate::color::Color;
use crate::grid::{self, Cell, neighbours};
use crate::points::{MAX_AREA, PointSet};

/// How many positions are looked at for one chain. A ladder that takes more does not count as one.
pub const MAX_NODES: usize = 25_000;

/// How many moves the longest ladder that is read has: a longer one does not count as one. The longest that leads
/// across a board of 19 × 19 has less than a hundred moves.
const MAX_PLIES: usize = MAX_AREA;

/// How many moves may still be to be tried, over all plies: three for each ply.
const MAX_MOVES: usize = 3 * MAX_PLIES;

/// The results of the ladders of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ladders {
    /// Stones of either color that are caught: a chain with one liberty that can't get away moving first, or one with
    /// two liberties that its opponent can capture in a ladder moving first.
    pub caught: PointSet,
    /// The attacker's moves that begin a ladder that works, against chains with two liberties.
    pub starts: PointSet,
}

/// Reads the ladders of all chains. The moves in [`Ladders::starts`] are the `attacker`'s.
///
/// Depth first. The defender tries to capture chains around that are in atari, and to extend; the attacker tries both
/// liberties. Neither side plays suicide. The ko of the position does not bind a defender who moves first.
///
/// KataGo's networks were trained on ladders that do not depend on who has more ko threats, and two rules make these so.
/// An attacker who begins a ko has failed: the defender would ignore one atari for it. A chain both of whose liberties
/// are mouths of kos is caught if the defender gains nothing by filling them: no number of threats would do.
///
/// It takes up to 20 KB of the stack.
pub fn ladders(board: &Board, attacker: Color) -> Ladders {
    let mut found = Ladders::default();
    let mut left = board.occupied();
    let mut reader = Reader::new(board);
    while let Some(point) = left.iter().next() {
        let chain: PointSet = board.chain(point).collect();
        left = left - chain;
        let starts = match board.liberties(point) {
            1 if reader.is_caught(grid::cell(board.size(), point)) => PointSet::EMPTY,
            2 => reader.working_moves(grid::cell(board.size(), point)),
            _ => continue,
        };
        if board.liberties(point) == 2 && starts.is_empty() {
            continue;
        }
        found.caught |= chain;
        if board.stone(point) == Some(!attacker) {
            found.starts |= starts;
        }
    }
    found
}

/// A position on the path that is being searched.
struct Ply {
    /// The move that led to the position; none at the root.
    placed: Option<Placed>,
    defends: bool,
    /// The position's first move among [`Reader::moves`], and the next to try. They end where those of the next ply
    /// begin.
    first: u16,
    next: u16,
}

struct Reader {
    board: Board,
    plies: Vec<Ply, MAX_PLIES>,
    moves: Vec<Cell, MAX_MOVES>,
    nodes: usize,
}

/// Why a ladder is not read to its end.
struct TooLong;

impl Reader {
    fn new(board: &Board) -> Self {
        Reader { board: board.clone(), plies: Vec::new(), moves: Vec::new(), nodes: 0 }
    }

    /// For a chain with two liberties: those liberties with which a ladder that works begins.
    fn working_moves(&mut self, prey: Cell) -> PointSet {
        let Some(defender) = self.board.color_at(prey) else { return PointSet::EMPTY };
        let mut working = PointSet::EMPTY;
        for at in self.choices_of_attacker(self.liberties(prey)).into_iter().flatten() {
            if !self.board.may_play(!defender, at, false) {
                continue;
            }
            let placed = self.board.place(!defender, at);
            if self.is_caught(prey) {
                working.insert(grid::point(self.board.size(), at));
            }
            self.board.take_back(placed);
        }
        working
    }

    /// Whether a chain with one liberty is captured even if it moves first.
    fn is_caught(&mut self, prey: Cell) -> bool {
        let ko = self.board.simple_ko();
        self.board.lift_ko();
        self.nodes = 0;
        let caught = self.descend(prey).unwrap_or(false);
        while let Some(ply) = self.plies.pop() {
            self.leave(ply);
        }
        self.board.set_ko(ko);
        caught
    }

    /// Searches below the position, in which the defender is to move. Plies are left on the stack only if it fails.
    fn descend(&mut self, prey: Cell) -> Result<bool, TooLong> {
        let Some(defender) = self.board.color_at(prey) else { return Ok(true) };
        let mut result = self.enter(prey, None, true)?;
        loop {
            let Some(captured) = result else {
                result = self.advance(prey, defender)?;
                continue;
            };
            if let Some(ply) = self.plies.pop() {
                self.leave(ply);
            }
            match self.plies.last() {
                None => return Ok(captured),
                // The defender needs one move that escapes, the attacker one that captures.
                Some(parent) => result = (captured != parent.defends).then_some(captured),
            }
        }
    }

    /// Tries the next move of the last ply. The result is that of the ply it leads to, or of this ply if there is no
    /// move left.
    fn advance(&mut self, prey: Cell, defender: Color) -> Result<Option<bool>, TooLong> {
        let Some(ply) = self.plies.last_mut() else { return Err(TooLong) };
        let (defends, mover) = (ply.defends, if ply.defends { defender } else { !defender });
        let Some(&at) = self.moves.get(usize::from(ply.next)) else { return Ok(Some(defends)) };
        ply.next += 1;
        if !self.board.may_play(mover, at, false) {
            return Ok(None);
        }
        let placed = self.board.place(mover, at);
        self.enter(prey, Some(placed), !defends)
    }

    /// Adds a ply. The result is returned if it is known at once: if the chain has enough liberties, or too few to be
    /// saved.
    fn enter(&mut self, prey: Cell, placed: Option<Placed>, defends: bool) -> Result<Option<bool>, TooLong> {
        let first = self.moves.len() as u16;
        if let Err(ply) = self.plies.push(Ply { placed, defends, first, next: first }) {
            self.leave(ply);
            return Err(TooLong);
        }
        self.nodes += 1;
        match (defends, self.board.liberties_of(prey)) {
            (true, 2..) | (false, 3..) => return Ok(Some(false)),
            (false, 0 | 1) => return Ok(Some(true)),
            // A ko here is one that the attacker has just begun: that of the root is lifted.
            (true, _) if self.board.simple_ko().is_some() => return Ok(Some(false)),
            _ if self.nodes >= MAX_NODES => return Err(TooLong),
            (true, _) => self.add_choices_of_defender(prey)?,
            (false, _) => {
                let liberties = self.liberties(prey);
                if self.is_between_two_kos(prey, liberties) {
                    return Ok(Some(true));
                }
                self.choices_of_attacker(liberties).into_iter().flatten().try_for_each(|at| self.add(at))?;
            }
        }
        Ok(None)
    }

    /// Undoes the move that led to a ply that was taken off the stack.
    fn leave(&mut self, ply: Ply) {
        self.moves.truncate(ply.first.into());
        if let Some(placed) = ply.placed {
            self.board.take_back(placed);
        }
    }

    fn add(&mut self, at: Cell) -> Result<(), TooLong> {
        self.moves.push(at).map_err(|_| TooLong)
    }

    /// Adds the defender's moves: captures of surrounding chains that are in atari, then the liberty.
    fn add_choices_of_defender(&mut self, prey: Cell) -> Result<(), TooLong> {
        let first = self.moves.len();
        for hunter in hunters_in_atari(&self.board, prey) {
            let [liberty, _] = self.liberties(hunter);
            if let Some(at) = liberty.filter(|at| !self.moves[first..].contains(at)) {
                self.moves.push(at).map_err(|_| TooLong)?;
            }
        }
        let [liberty, _] = self.liberties(prey);
        match liberty.filter(|at| !self.moves[first..].contains(at)) {
            Some(at) => self.add(at),
            None => Ok(()),
        }
    }

    /// The attacker's moves: the two liberties, the more open one first. If the defender would have three liberties by
    /// extending to one of them, the other is not worth a try.
    fn choices_of_attacker(&self, liberties: [Option<Cell>; 2]) -> [Option<Cell>; 2] {
        let [Some(one), Some(other)] = liberties else { return [None, None] };
        let room = |at| neighbours(at).into_iter().filter(|&beside| self.board.is_empty_at(beside)).count();
        let (room_at_one, room_at_other) = (room(one), room(other));
        let apart = !neighbours(one).contains(&other);
        match (apart && room_at_one >= 3, apart && room_at_other >= 3) {
            (true, true) => [None, None],
            (true, false) => [Some(one), None],
            (false, true) => [Some(other), None],
            (false, false) if room_at_one >= room_at_other => [Some(one), Some(other)],
            (false, false) => [Some(other), Some(one)],
        }
    }

    /// Whether the attacker, who is to move, need not read on: both `liberties` are mouths of kos, the defender has no
    /// third one after filling either, and can capture nothing around.
    fn is_between_two_kos(&self, prey: Cell, liberties: [Option<Cell>; 2]) -> bool {
        let [Some(one), Some(other)] = liberties else { return false };
        let are_mouths = self.is_mouth_of_ko(one, prey) && self.is_mouth_of_ko(other, prey);
        are_mouths
            && !self.has_three_liberties_by(one)
            && !self.has_three_liberties_by(other)
            && hunters_in_atari(&self.board, prey).next().is_none()
    }

    /// Whether an empty point has only stones of the defender around it, just one of which is in atari, and alone: then
    /// an attacker who takes it begins a ko.
    fn is_mouth_of_ko(&self, at: Cell, prey: Cell) -> bool {
        let (defender, around) = (self.board.color_at(prey), neighbours(at));
        if around.iter().any(|&beside| self.is_open_to(defender, beside)) {
            return false;
        }
        let mut in_atari = around.into_iter().filter(|&beside| is_in_atari(&self.board, beside));
        let taken = in_atari.next();
        in_atari.next().is_none() && taken.is_some_and(|stone| self.board.ring(stone).nth(1).is_none())
    }

    /// Whether a point is empty or has a stone of the `defender`'s opponent.
    fn is_open_to(&self, defender: Option<Color>, at: Cell) -> bool {
        self.board.is_empty_at(at) || self.board.color_at(at).is_some_and(|color| Some(color) != defender)
    }

    /// Whether the chains around the mouth of a ko have three liberties together once it is filled.
    fn has_three_liberties_by(&self, mouth: Cell) -> bool {
        let joined = neighbours(mouth).into_iter().filter(|&beside| self.board.color_at(beside).is_some());
        let around = joined.flat_map(|stone| self.board.ring(stone)).flat_map(neighbours);
        let mut seen: Vec<Cell, 2> = Vec::new();
        around
            .filter(|&at| at != mouth && self.board.is_empty_at(at))
            .any(|at| !seen.contains(&at) && seen.push(at).is_err())
    }

    /// The first two liberties of a chain.
    fn liberties(&self, chain: Cell) -> [Option<Cell>; 2] {
        let around = self.board.ring(chain).flat_map(neighbours);
        let mut empty = around.filter(|&at| self.board.is_empty_at(at));
        let first = empty.next();
        [first, empty.find(|&at| Some(at) != first)]
    }
}

/// The stones beside a chain whose chains its owner can capture.
fn hunters_in_atari(board: &Board, prey: Cell) -> impl Iterator<Item = Cell> + '_ {
    let defender = board.color_at(prey);
    let around = board.ring(prey).flat_map(neighbours);
    around.filter(move |&beside| is_in_atari(board, beside) && board.color_at(beside) != defender)
}

/// Whether there is a stone, and its chain has one liberty.
fn is_in_atari(board: &Board, at: Cell) -> bool {
    board.color_at(at).is_some() && board.liberties_of(at) == 1
}
