//! Who owns which points: unconditional life, areas, and the score that follows from them.
//!
//! Life is David B. Benson's: "Life in the Game of Go", Information Sciences 10 (1976).

use crate::board::Board;
use crate::color::Color;
use crate::game::Game;
use crate::grid::{self, CELLS, Cell, neighbours};
use crate::points::{Move, PointSet};
use crate::rules::{Scoring, Tax};

/// Points by owner. A point may have no owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    owned: [PointSet; 2],
}

impl Area {
    /// The points of one player.
    pub fn of(&self, color: Color) -> &PointSet {
        &self.owned[color as usize]
    }

    /// The owner of a point, if it has one.
    pub fn owner(&self, point: Move) -> Option<Color> {
        Color::ALL.into_iter().find(|&color| self.owned[color as usize].contains(point))
    }

    /// White's points minus Black's.
    pub fn white_lead(&self) -> i32 {
        self.owned[Color::White as usize].len() as i32 - self.owned[Color::Black as usize].len() as i32
    }

    fn any(&self) -> PointSet {
        self.owned[0] | self.owned[1]
    }

    /// Gives a player those of the points that have no owner yet.
    fn claim(&mut self, color: Color, points: PointSet) {
        self.owned[color as usize] |= points - self.any();
    }
}

/// The points that are alive whatever the other player does while the owner passes: chains that Benson's criterion
/// finds alive, and the regions around which only such chains lie and in which the opponent has no room for two eyes,
/// with the stones in them.
///
/// `suicide` says whether chains of two stones or more may kill themselves. If they may, an eye must be small enough
/// even after that.
pub fn pass_alive(board: &Board, suicide: bool) -> Area {
    surrounded(board, suicide).0
}

/// Returns what is [`pass_alive`], and, by player, the empty points that only that player's stones surround.
fn surrounded(board: &Board, suicide: bool) -> (Area, [PointSet; 2]) {
    let (mut alive, mut empty) = (Area::default(), [PointSet::EMPTY; 2]);
    for color in Color::ALL {
        let regions = Regions::new(board, color, suicide);
        alive.owned[color as usize] = regions.alive_stones() | regions.alive_regions();
        empty[color as usize] = regions.empty_regions();
    }
    (alive, empty)
}

/// The area of each player: what is [`pass_alive`], then empty points that only one player's stones surround, then
/// stones where they stand.
pub fn area(board: &Board, suicide: bool) -> Area {
    let (mut area, empty) = surrounded(board, suicide);
    for color in Color::ALL {
        area.claim(color, empty[color as usize]);
    }
    for color in Color::ALL {
        area.claim(color, *board.stones(color));
    }
    area
}

/// Groups that live on their own, without a seki.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndependentLife {
    /// The points of these groups, by owner.
    pub area: Area,
    /// How many groups each player has, Black first.
    pub groups: [u16; 2],
}

/// The connected parts of each player's [`area`] that touch no empty point without an owner and in which none of the
/// player's stones is in atari. Whatever touches such a point could still be attacked there, or is in a seki, and what
/// is in atari can be captured.
pub fn independent_life(board: &Board, suicide: bool) -> IndependentLife {
    let area = area(board, suicide);
    let dame = PointSet::full(board.size()) - area.any() - board.occupied();
    let mut life = IndependentLife::default();
    for color in Color::ALL {
        let mut left = *area.of(color);
        while let Some(start) = left.iter().next() {
            let group = connected(board, start, area.of(color));
            left = left - group;
            let touches_dame = dame.iter().any(|point| board.neighbours(point).any(|beside| group.contains(beside)));
            let is_in_atari = (group & *board.stones(color)).iter().any(|stone| board.liberties(stone) == 1);
            if !touches_dame && !is_in_atari {
                life.area.owned[color as usize] |= group;
                life.groups[color as usize] += 1;
            }
        }
    }
    life
}

/// The points of `within` that are connected with `start` inside of `within`; none if `start` is not in it.
pub fn connected(board: &Board, start: Move, within: &PointSet) -> PointSet {
    let mut found = PointSet::EMPTY;
    let mut queue = heapless::Vec::<Move, { crate::points::MAX_AREA }>::new();
    let mut visit = |point: Move, queue: &mut heapless::Vec<Move, _>| {
        if within.contains(point) && !found.contains(point) {
            found.insert(point);
            // The queue is as long as the board has points, so there is room.
            let _ = queue.push(point);
        }
    };
    visit(start, &mut queue);
    while let Some(point) = queue.pop() {
        board.neighbours(point).for_each(|beside| visit(beside, &mut queue));
    }
    found
}

/// The area that area scoring counts under a tax. Without a tax it is [`area`]; with one, it is what lives
/// independently, and stones that stand in an area of their own color.
pub fn taxed_area(board: &Board, suicide: bool, tax: Tax) -> Area {
    if tax == Tax::None {
        return area(board, suicide);
    }
    with_stones(board, area(board, suicide), independent_life(board, suicide).area)
}

fn with_stones(board: &Board, all: Area, mut counted: Area) -> Area {
    for color in Color::ALL {
        counted.claim(color, *board.stones(color) & *all.of(color));
    }
    counted
}

/// White's points minus Black's on the board, by area scoring under a tax. [`Tax::All`] takes two points for each group
/// that lives independently.
pub fn area_lead(board: &Board, suicide: bool, tax: Tax) -> i32 {
    let lead = taxed_area(board, suicide, tax).white_lead();
    if tax != Tax::All {
        return lead;
    }
    let [black, white] = independent_life(board, suicide).groups.map(i32::from);
    lead - 2 * (white - black)
}

impl<const CAP: usize> Game<CAP> {
    /// White's points minus Black's if the game ended now, with komi and everything else. `None` if territory is
    /// counted: that takes an agreement about dead stones.
    pub fn white_lead(&self) -> Option<f32> {
        let rules = self.rules();
        let area = || area_lead(self.board(), rules.suicide, rules.tax) as f32;
        (rules.scoring == Scoring::Area).then(|| area() + self.compensation())
    }
}

/// Vital chains of a region: all of them touch its first empty point.
const VITAL: usize = 4;

const NONE: Cell = Cell::MAX;

/// The regions that are left by one color's stones (connected points that are empty or the opponent's), and which
/// chains around them are alive. About 7 KB.
struct Regions<'a> {
    board: &'a Board,
    color: Color,
    /// For every cell, its region: a region is named by its first cell.
    region: [Cell; CELLS],
    /// For every region, the chains next to all of its empty points (or to all of its points, with suicide).
    vital: [[Cell; VITAL]; CELLS],
    /// For every chain, given by its head, whether it is alive.
    alive: [bool; CELLS],
    /// For every region, what [`Regions::survey`] has found.
    survey: [Survey; CELLS],
}

#[derive(Clone, Copy, Default)]
struct Survey {
    /// A chain of the color is next to the region.
    bordered: bool,
    /// Some chain of the color that is next to the region is not alive.
    at_risk: bool,
    /// A stone of the opponent is in the region.
    invaded: bool,
    /// Points that no stone of the color is next to: the opponent's eyes must be among these. Counted up to 2.
    inner: u8,
}

impl<'a> Regions<'a> {
    fn new(board: &'a Board, color: Color, suicide: bool) -> Self {
        let mut regions = Regions {
            board,
            color,
            region: [NONE; CELLS],
            vital: [[NONE; VITAL]; CELLS],
            alive: [false; CELLS],
            survey: [Survey::default(); CELLS],
        };
        regions.label();
        regions.find_vital(suicide);
        for at in regions.own() {
            regions.alive[usize::from(board.chain_of(at))] = true;
        }
        loop {
            regions.survey();
            if !regions.drop_chains() {
                return regions;
            }
        }
    }

    /// The cells of the color's stones.
    fn own(&self) -> impl Iterator<Item = Cell> + use<'a> {
        let board = self.board;
        board.stones(self.color).iter().map(move |point| grid::cell(board.size(), point))
    }

    /// The cells of all regions.
    fn others(&self) -> impl Iterator<Item = Cell> + use<'a> {
        let (board, color) = (self.board, self.color);
        let cells = board.size().points().map(move |point| grid::cell(board.size(), point));
        cells.filter(move |&at| board.color_at(at) != Some(color))
    }

    /// Whether a cell is in a region: on the board, and without a stone of the color.
    fn is_open(&self, at: Cell) -> bool {
        self.board.is_empty_at(at) || self.board.color_at(at) == Some(!self.color)
    }

    /// Gives each region its name.
    fn label(&mut self) {
        let mut queue = heapless::Vec::<Cell, CELLS>::new();
        for start in self.others() {
            if self.region[usize::from(start)] != NONE {
                continue;
            }
            self.region[usize::from(start)] = start;
            let mut next = Some(start);
            while let Some(at) = next {
                for beside in neighbours(at) {
                    if self.is_open(beside) && self.region[usize::from(beside)] == NONE {
                        self.region[usize::from(beside)] = start;
                        // Each cell gets into the queue once, so there is room.
                        let _ = queue.push(beside);
                    }
                }
                next = queue.pop();
            }
        }
    }

    /// The color's chains next to a cell.
    fn chains_beside(&self, at: Cell) -> [Cell; VITAL] {
        neighbours(at).map(|beside| match self.board.color_at(beside) {
            Some(color) if color == self.color => self.board.chain_of(beside),
            _ => NONE,
        })
    }

    fn find_vital(&mut self, suicide: bool) {
        let mut seen = [false; CELLS];
        for at in self.others() {
            if !suicide && !self.board.is_empty_at(at) {
                continue;
            }
            let region = usize::from(self.region[usize::from(at)]);
            let beside = self.chains_beside(at);
            if !seen[region] {
                seen[region] = true;
                self.vital[region] = distinct(beside);
            } else {
                self.vital[region] = self.vital[region].map(|chain| if beside.contains(&chain) { chain } else { NONE });
            }
        }
    }

    /// Surveys every region again, with the chains that are alive now.
    fn survey(&mut self) {
        self.survey = [Survey::default(); CELLS];
        for at in self.others() {
            let beside = self.chains_beside(at);
            let risk = beside.iter().any(|&chain| chain != NONE && !self.alive[usize::from(chain)]);
            let bordered = beside.iter().any(|&chain| chain != NONE);
            let survey = &mut self.survey[usize::from(self.region[usize::from(at)])];
            survey.bordered |= bordered;
            survey.at_risk |= risk;
            survey.invaded |= !self.board.is_empty_at(at);
            survey.inner = (survey.inner + u8::from(!bordered)).min(2);
        }
    }

    /// Gives up the chains that don't have two vital regions around which all chains are alive. Returns false if there
    /// are no such chains.
    fn drop_chains(&mut self) -> bool {
        let mut eyes = [0u16; CELLS];
        for region in self.others().filter(|&at| self.region[usize::from(at)] == at) {
            if !self.survey[usize::from(region)].at_risk {
                let vital = self.vital[usize::from(region)];
                vital.iter().filter(|&&chain| chain != NONE).for_each(|&chain| eyes[usize::from(chain)] += 1);
            }
        }
        let mut dropped = false;
        for at in self.own() {
            let chain = usize::from(self.board.chain_of(at));
            if self.alive[chain] && eyes[chain] < 2 {
                self.alive[chain] = false;
                dropped = true;
            }
        }
        dropped
    }

    fn points(&self, cells: impl Iterator<Item = Cell>) -> PointSet {
        cells.map(|at| grid::point(self.board.size(), at)).collect()
    }

    fn regions_where(&self, holds: impl Fn(&Survey) -> bool) -> PointSet {
        let in_one = |&at: &Cell| holds(&self.survey[usize::from(self.region[usize::from(at)])]);
        self.points(self.others().filter(in_one))
    }

    fn alive_stones(&self) -> PointSet {
        self.points(self.own().filter(|&at| self.alive[usize::from(self.board.chain_of(at))]))
    }

    fn alive_regions(&self) -> PointSet {
        self.regions_where(|region| region.bordered && !region.at_risk && region.inner < 2)
    }

    /// The regions next to the color's stones in which the opponent has none.
    fn empty_regions(&self) -> PointSet {
        self.regions_where(|region| region.bordered && !region.invaded)
    }
}

/// The chains without repetitions.
fn distinct(chains: [Cell; VITAL]) -> [Cell; VITAL] {
    core::array::from_fn(|i| if chains[..i].contains(&chains[i]) { NONE } else { chains[i] })
}
