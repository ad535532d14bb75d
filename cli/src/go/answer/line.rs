//! The line of play that a search expects after a move (`pv`). As in KataGo, at each position it goes on with the move
//! that would be chosen there, by weights and lower bounds.

use hashbrown::HashMap;
use oncilla_core::Move;
use oncilla_core::search::NodeView;
use oncilla_core::tree::Tree;

use super::{Candidate, Reporter};
use crate::go::notes::{At, Averages};

/// The longest line: the first move and as many more as a query may ask for.
const LONGEST: usize = 1001;

/// A move of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ply {
    /// The move.
    pub(super) mv: Move,
    /// The visits of the position after it.
    pub(super) visits: u32,
    /// Those of them that came by this move.
    pub(super) edge_visits: u32,
}

impl Ply {
    fn of(candidate: &Candidate<'_, '_>) -> Self {
        let Candidate { mv, visits, edge_visits, .. } = *candidate;
        Self { mv, visits, edge_visits }
    }
}

impl<'r, 's> Reporter<'r, 's> {
    /// The line that begins with a move of the root. `known` is that of
    /// [`Search::averages`](crate::go::Search::averages).
    pub(super) fn line(&self, first: &Candidate<'r, 's>, known: &mut HashMap<At, Averages>) -> Vec<Ply> {
        let most = (self.params.analysis_pv_len + 1).min(LONGEST);
        let mut line = vec![Ply::of(first)];
        let mut here = first.edge.child().map(|child| (child, first.at));
        while let Some((node, at)) = here.filter(|_| line.len() < most) {
            let chosen = self.chosen(&node, at, known);
            line.extend(chosen.iter().map(Ply::of));
            here = chosen.and_then(|chosen| Some((chosen.edge.child()?, chosen.at)));
        }
        line
    }

    /// The move that would be chosen at a position below the root. There nothing is taken from moves that the search
    /// would not visit again.
    fn chosen(
        &self,
        node: &NodeView<'r, Tree<'s>>,
        at: At,
        known: &mut HashMap<At, Averages>,
    ) -> Option<Candidate<'r, 's>> {
        let mut candidates: Vec<_> = node.visited().filter_map(|edge| self.candidate(at, edge, known)).collect();
        let mut arms: Vec<_> = candidates.iter().map(|candidate| candidate.arm).collect();
        let chosen = self.params.chosen(&mut arms)?;
        Some(candidates.swap_remove(chosen))
    }
}
