//! What ends a search.

use super::restrict::Restrictions;
use oncilla_chess::{History, Move, MoveList};
use std::sync::Arc;

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Time left in milliseconds; a GUI may send a negative number.
    pub left_ms: i64,
    /// Milliseconds that are added after each move.
    pub increment_ms: i64,
    /// The number of moves until the next time control.
    pub moves_to_go: Option<u32>,
}

/// The arguments of `go`; a search ends at the first limit that it reaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Go {
    /// `wtime`… of the side to move.
    pub clock: Option<Clock>,
    /// `movetime`.
    pub move_time_ms: Option<i64>,
    /// `nodes`.
    pub nodes: Option<u64>,
    /// Playouts of this search, not counting what the tree has already.
    pub playouts: Option<u64>,
    /// `depth`: mean depth of the playouts.
    pub depth: Option<u32>,
    /// `mate`: ends when a mate in this many moves was found.
    pub mate: Option<u32>,
    /// `searchmoves`; empty for all.
    pub search_moves: Vec<Move>,
    /// Whether searches of some moves are meant to add to the visits that all moves have, as in a session of the
    /// analysis protocol. Otherwise visits of some moves alone are of no use to other searches.
    pub steers: bool,
    /// Moves that are left out in the positions near the root, but not at the root itself.
    pub restrictions: Option<Arc<Restrictions>>,
    /// Divides the root's logits, before `PolicyTemperature` divides them all.
    pub root_temperature: Option<f32>,
    /// Whether the search goes on until `stop`.
    pub infinite: bool,
    /// Whether the search goes on until `ponderhit` or `stop`.
    pub ponder: bool,
}

impl Go {
    /// What is played without a search: the first legal move, of those that are named if any is.
    pub fn first_legal_move(&self, position: &History) -> Option<Move> {
        let mut moves = MoveList::new();
        position.legal_moves(&mut moves);
        self.search_moves.iter().find(|mv| moves.contains(mv)).or(moves.first()).copied()
    }
}
