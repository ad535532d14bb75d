//! Which move is best, and what follows it.

use super::{MAX_ROOT_MOVES, Search};
use crate::evaluate::{Ending, Move};
use crate::tree::{Bound, EdgeView, NodeView};
use core::cmp::Ordering;
use heapless::{Vec, VecView};

/// What is certain of a move, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    Mated,
    TablebaseLoss,
    Open,
    TablebaseWin,
    Mates,
}

fn certainty(edge: &EdgeView<'_>) -> Certainty {
    let bounds = edge.bounds();
    match edge.ending() {
        Some(ending) if edge.completed() > 0 && bounds.lower == bounds.upper => match (bounds.lower, ending) {
            (Bound::Win, Ending::Tablebase) => Certainty::TablebaseWin,
            (Bound::Win, _) => Certainty::Mates,
            (Bound::Loss, Ending::Tablebase) => Certainty::TablebaseLoss,
            (Bound::Loss, _) => Certainty::Mated,
            (Bound::Draw, _) => Certainty::Open,
        },
        _ => Certainty::Open,
    }
}

fn shorter(a: &EdgeView<'_>, b: &EdgeView<'_>) -> Ordering {
    b.m().unwrap_or(0.0).total_cmp(&a.m().unwrap_or(0.0))
}

/// `Greater` if `a` is the better move to play: certain wins first, then visits, Q and prior, certain losses last.
fn better(a: &EdgeView<'_>, b: &EdgeView<'_>) -> Ordering {
    let (certain_a, certain_b) = (certainty(a), certainty(b));
    let by_length = || match certain_a {
        Certainty::Mates | Certainty::TablebaseWin => shorter(a, b),
        Certainty::Mated | Certainty::TablebaseLoss => shorter(b, a),
        Certainty::Open => between_open(a, b),
    };
    certain_a.cmp(&certain_b).then_with(by_length)
}

fn between_open(a: &EdgeView<'_>, b: &EdgeView<'_>) -> Ordering {
    let drawn = |e: &EdgeView<'_>| e.ending().filter(|_| e.completed() > 0);
    if let (Some(a_by), Some(b_by)) = (drawn(a), drawn(b)) {
        let by_rule = |by| by != Ending::Tablebase;
        return by_rule(a_by).cmp(&by_rule(b_by)).then_with(|| shorter(a, b));
    }
    let q = |e: &EdgeView<'_>| e.q().unwrap_or(f32::NEG_INFINITY);
    a.completed().cmp(&b.completed()).then_with(|| q(a).total_cmp(&q(b))).then_with(|| a.p.total_cmp(&b.p))
}

/// The best edge; of equals the one with the larger prior, which stands first.
fn best_of<'a>(edges: impl Iterator<Item = EdgeView<'a>>) -> Option<EdgeView<'a>> {
    edges.reduce(|best, edge| if better(&edge, &best) == Ordering::Greater { edge } else { best })
}

impl Search<'_> {
    /// The move to play: `None` before the first playout and where the game has ended.
    pub fn best_move(&self) -> Option<Move> {
        self.best_edge().map(|edge| edge.mv)
    }

    /// The edge of the move to play.
    pub fn best_edge(&self) -> Option<EdgeView<'_>> {
        best_of(self.root_edges()?)
    }

    /// The best `ranked.capacity()` root moves that may be searched, best first.
    pub fn rank_root(&self, ranked: &mut VecView<Move>) {
        ranked.clear();
        let Some(edges) = self.root_edges() else { return };
        let mut sorted: Vec<EdgeView<'_>, MAX_ROOT_MOVES> = edges.take(MAX_ROOT_MOVES).collect();
        // Insertion sort: stable, and the list is nearly in order already.
        for i in 1..sorted.len() {
            let mut at = i;
            while at > 0 && better(&sorted[at], &sorted[at - 1]) == Ordering::Greater {
                sorted.swap(at, at - 1);
                at -= 1;
            }
        }
        for edge in sorted.iter().take(ranked.capacity()) {
            let _ = ranked.push(edge.mv);
        }
    }

    /// The line that begins with the root move `first`, each side playing its best move, as far as nodes have visits
    /// or `line` has room.
    pub fn pv(&self, first: Move, line: &mut VecView<Move>) {
        line.clear();
        let Some(mut edge) = self.root().and_then(|root| root.edges().find(|e| e.mv == first)) else { return };
        while line.push(edge.mv).is_ok() {
            let Some(child) = edge.child().filter(|child| child.n() > 0) else { return };
            let Some(next) = best_of(child.edges()).filter(|next| next.completed() > 0) else { return };
            edge = next;
        }
    }

    fn root_edges(&self) -> Option<impl Iterator<Item = EdgeView<'_>>> {
        let root: NodeView<'_> = self.root()?;
        Some(root.edges().filter(|edge| self.is_root_move(edge.mv)))
    }
}
