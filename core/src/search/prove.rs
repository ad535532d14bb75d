//! Proofs: what the results of its children prove of a node.

use super::Search;
use crate::evaluate::{Ending, Value, Verdict};
use crate::repository::{Bound, Bounds, Node, Repository};

impl<R: Repository> Search<R> {
    /// Writes into a node what its children prove. Returns the moves left to tell its parents, if anything is proven.
    pub(super) fn prove(&self, node: &mut R::Node<'_>, child_m: f32) -> Option<f32> {
        let children = self.children(node);
        if children.bounds == Bounds::OPEN {
            return None;
        }
        // A node may know more than its children do: from one that was folded since.
        let bounds = node.bounds().both(children.bounds);
        node.set_bounds(bounds);
        if !bounds.closed() {
            return Some(child_m + 1.0);
        }
        let bound = bounds.upper;
        // A win is settled by the first winning move that is found: a shorter one may exist. A loss is settled when all
        // moves are known, so the longest is exact.
        let m = match bound {
            Bound::Loss => children.longest_loss.max(child_m),
            Bound::Draw => child_m,
            Bound::Win => children.win.unwrap_or(child_m),
        } + 1.0;
        let n = node.n();
        node.settle(n, Value { m, ..bound.value() });
        node.set_ending(Some(if children.by_tablebase { Ending::Tablebase } else { Ending::Game }));
        Some(m)
    }

    /// The bounds that the children prove together, from the side to move at their parent.
    pub(super) fn children(&self, node: &R::Node<'_>) -> Children {
        let mut all = Children {
            bounds: Bounds { lower: Bound::Loss, upper: Bound::Loss },
            win: None,
            longest_loss: 0.0,
            by_tablebase: false,
        };
        for at in 0..node.visited_count() {
            let Some(child) = node.child(at).map(|child| self.repository.lock(child)) else {
                all.join(Bounds::OPEN);
                continue;
            };
            let bounds = child.bounds().flipped();
            let by_tablebase = child.ending() == Some(Ending::Tablebase);
            if bounds.lower == Bound::Win {
                let m = child.mean().m;
                if !by_tablebase {
                    // A mate is as good as it gets, whatever tablebases say of other moves.
                    return Children { bounds, win: Some(m), by_tablebase: false, ..all };
                }
                all.win = all.win.or(Some(m));
            }
            all.join(bounds);
            all.by_tablebase |= by_tablebase;
            if bounds.upper == Bound::Loss {
                all.longest_loss = all.longest_loss.max(child.mean().m);
            }
        }
        if node.visited_count() < node.edge_count() {
            all.join(Bounds::OPEN);
        }
        all
    }
}

/// What the children of a node prove together.
pub(super) struct Children {
    pub(super) bounds: Bounds,
    /// Moves left after the first move that wins.
    win: Option<f32>,
    longest_loss: f32,
    by_tablebase: bool,
}

impl Children {
    fn join(&mut self, child: Bounds) {
        self.bounds.lower = self.bounds.lower.max(child.lower);
        self.bounds.upper = self.bounds.upper.max(child.upper);
    }
}

/// Whether what ended like this has a certain result.
pub(super) fn is_proof(ending: Ending) -> bool {
    match ending {
        Ending::Game | Ending::Tablebase => true,
        Ending::TwoFold | Ending::Scored => false,
    }
}

/// A result in the form in which it is passed on: its value is exactly what it proves, because a proven win with
/// another value would be neither; and a repetition is worth a draw. A score stays as it is.
pub(super) fn decided(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Terminal(value, ending @ (Ending::Game | Ending::Tablebase)) => {
            Verdict::Terminal(Value { m: value.m, ..bound_of(value).value() }, ending)
        }
        Verdict::Terminal(value, Ending::TwoFold) => {
            Verdict::Terminal(Value { m: value.m, ..Value::DRAW }, Ending::TwoFold)
        }
        Verdict::Terminal(_, Ending::Scored) | Verdict::Position(_) => verdict,
    }
}

/// The nearest result; a value that is not a number counts as a draw.
pub(super) fn bound_of(value: Value) -> Bound {
    match value.wl {
        wl if wl >= 0.5 => Bound::Win,
        wl if wl <= -0.5 => Bound::Loss,
        _ => Bound::Draw,
    }
}
