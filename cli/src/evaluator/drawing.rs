//! The moves of a position that end the game as a draw, because of the positions before.

use super::batch::Circumstances;
use fnv::FnvHasher;
use oncilla_chess::{History, Move, pack};
use std::hash::Hasher;

/// The moves that draw in the position that was looked at last. Hints see what a move leaves hanging, but if the game
/// is over after it, nobody takes that.
pub struct Drawing {
    /// Whether there are hints. Without them nobody asks which moves draw, and none is found.
    for_hints: bool,
    /// The moves' indices.
    moves: Vec<usize>,
    /// What they change the position's key in the cache by.
    salt: u64,
}

impl Drawing {
    /// `for_hints` is whether evaluations are corrected by hints.
    pub fn new(for_hints: bool) -> Self {
        Self { for_hints, moves: Vec::new(), salt: 0 }
    }

    /// Looks at the last position, of whose moves these may be searched.
    pub fn find(&mut self, history: &mut History, moves: &[Move]) {
        if !self.for_hints {
            return;
        }
        self.moves.clear();
        history.drawing_moves(moves, |at| self.moves.push(at));
        let mut hasher = FnvHasher::default();
        self.moves.iter().for_each(|&at| hasher.write_u16(pack(moves[at])));
        self.salt = if self.moves.is_empty() { 0 } else { hasher.finish() };
    }

    /// What the evaluation depends on besides the position, if `salt` says which moves may be searched.
    pub fn circumstances(&self, salt: u64) -> Circumstances<'_> {
        Circumstances { drawing: &self.moves, salt: salt.wrapping_add(self.salt) }
    }
}
