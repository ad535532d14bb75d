//! The rules of Go written down once more, without any thought of speed: the crate is compared with this.

use oncilla_go::{Color, KoRule, Move, Rules, Size};

/// The stones by point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    pub size: Size,
    pub stones: Vec<Option<Color>>,
}

impl Position {
    pub fn new(size: Size) -> Self {
        Position { size, stones: vec![None; size.area()] }
    }

    pub fn neighbours(&self, point: usize) -> Vec<usize> {
        let (columns, rows) = (usize::from(self.size.x()), usize::from(self.size.y()));
        let (x, y) = (point % columns, point / columns);
        let mut found = Vec::new();
        if x > 0 {
            found.push(point - 1);
        }
        if x + 1 < columns {
            found.push(point + 1);
        }
        if y > 0 {
            found.push(point - columns);
        }
        if y + 1 < rows {
            found.push(point + columns);
        }
        found
    }

    /// The points that are connected with `start` through points for which `belongs` holds.
    pub fn flood(&self, start: usize, belongs: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut found = vec![start];
        let mut next = 0;
        while next < found.len() {
            for beside in self.neighbours(found[next]) {
                if belongs(beside) && !found.contains(&beside) {
                    found.push(beside);
                }
            }
            next += 1;
        }
        found.sort_unstable();
        found
    }

    pub fn chain(&self, point: usize) -> Vec<usize> {
        self.flood(point, |other| self.stones[other] == self.stones[point])
    }

    pub fn liberties(&self, point: usize) -> Vec<usize> {
        let around = self.chain(point).into_iter().flat_map(|stone| self.neighbours(stone));
        let mut found: Vec<usize> = around.filter(|&beside| self.stones[beside].is_none()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The position after a stone is played and all that it kills is taken off; `None` if the point is occupied.
    pub fn after(&self, color: Color, point: usize) -> Option<Position> {
        if self.stones[point].is_some() {
            return None;
        }
        let mut next = self.clone();
        next.stones[point] = Some(color);
        for victim in [!color, color] {
            let dead: Vec<usize> = (0..next.stones.len())
                .filter(|&stone| next.stones[stone] == Some(victim) && next.liberties(stone).is_empty())
                .collect();
            dead.into_iter().for_each(|stone| next.stones[stone] = None);
        }
        Some(next)
    }

    /// Like [`Position::after`], but `None` if the stone would kill itself.
    #[allow(dead_code, reason = "as below")]
    pub fn after_without_suicide(&self, color: Color, point: usize) -> Option<Position> {
        self.after(color, point).filter(|next| next.stones[point].is_some())
    }
}

/// A game as a list of all its positions.
#[allow(dead_code, reason = "not every test plays")]
pub struct Game {
    pub rules: Rules,
    pub now: Position,
    pub side: Color,
    /// Every earlier position, the player to move in it, and whether the move was a pass.
    pub past: Vec<(Position, Color, bool)>,
}

#[allow(dead_code, reason = "as above")]
impl Game {
    pub fn new(size: Size, rules: Rules) -> Self {
        Game { rules, now: Position::new(size), side: Color::Black, past: Vec::new() }
    }

    /// The positions since the last pass that matters: any, or the one that took the button.
    fn counted(&self) -> &[(Position, Color, bool)] {
        let begins_anew = matches!(self.rules.ko, KoRule::Simple | KoRule::Spight);
        let took_button = if self.rules.button { self.past.iter().position(|(_, _, pass)| *pass) } else { None };
        let matters = |at: usize| self.past[at].2 && (begins_anew || Some(at) == took_button);
        let last = (0..self.past.len()).rev().find(|&at| matters(at));
        &self.past[last.map_or(0, |at| at + 1)..]
    }

    pub fn is_legal(&self, mv: Move) -> bool {
        if mv.index() == self.now.stones.len() {
            return true;
        }
        let Some(next) = self.now.after(self.side, mv.index()) else { return false };
        let suicide = next.stones[mv.index()].is_none();
        if next == self.now || suicide && !self.rules.suicide {
            return false;
        }
        match self.rules.ko {
            KoRule::Simple => self.past.last().is_none_or(|(before, _, pass)| *pass || *before != next),
            KoRule::Situational => {
                !self.counted().iter().any(|(earlier, mover, _)| *earlier == next && *mover == !self.side)
            }
            KoRule::Positional | KoRule::Spight => !self.counted().iter().any(|(earlier, _, _)| *earlier == next),
        }
    }

    pub fn play(&mut self, mv: Move) {
        let pass = mv.index() == self.now.stones.len();
        let next = if pass { self.now.clone() } else { self.now.after(self.side, mv.index()).unwrap() };
        self.past.push((std::mem::replace(&mut self.now, next), self.side, pass));
        self.side = !self.side;
    }

    /// Whether the last move, a pass, has ended the game.
    pub fn is_over_by_passes(&self) -> bool {
        let first = if self.rules.button { self.past.iter().position(|(_, _, pass)| *pass) } else { None };
        let counts = |at: usize| self.past[at].2 && Some(at) != first;
        let Some(last) = self.past.len().checked_sub(1).filter(|&at| counts(at)) else { return false };
        let second = self.rules.ko != KoRule::Spight && last > 0 && counts(last - 1);
        let earlier = (0..last).filter(|&at| counts(at)).any(|at| self.past[at] == self.past[last]);
        second || earlier && matches!(self.rules.ko, KoRule::Simple | KoRule::Spight)
    }

    /// Whether the last move has brought a position for the third time since the last pass.
    pub fn is_over_by_repetition(&self) -> bool {
        let seen = self.counted().iter().filter(|(earlier, mover, _)| *earlier == self.now && *mover == self.side);
        self.rules.ko == KoRule::Simple && seen.count() >= 2
    }
}
