//! What the tree holds from one search to the next, and which searches can use it.

use super::Search;
use super::lineage::moves_between;
use super::scope::Scope;
use super::settings::Settings;
use oncilla_chess::{History, pack};
use oncilla_core::Move;
use oncilla_core::formula::contempt::Rescale;

/// What is known of the tree.
#[derive(Default)]
pub struct KeptTree {
    /// The position at the root. `None` if whatever is in the tree is of no use, so that the next search clears it.
    root: Option<Box<History>>,
    /// The moves that the tree's last search could visit.
    scope: Scope,
}

impl KeptTree {
    /// Gives the tree up. Its nodes stay where they are until the next search, because clearing a graph takes time.
    pub fn forget(&mut self) {
        self.root = None;
    }

    /// Whether the tree is of use to a search.
    #[cfg(test)]
    pub fn is_kept(&self) -> bool {
        self.root.is_some()
    }

    /// Gives the tree up; returns whether it was the tree of this position.
    pub fn forget_that_of(&mut self, position: &History) -> bool {
        self.root.take().is_some_and(|root| root.board() == position.board())
    }

    /// Makes the position to search the tree's root. If it is the root already, the tree stays if its visits serve a
    /// search of this `scope`, or if the search `steers`, because that looks after its visits itself.
    pub fn reroot(
        &mut self,
        search: &mut Search<'_>,
        position: &History,
        rescale: Rescale,
        scope: Scope,
        steers: bool,
    ) {
        let serves = steers || self.scope.serves(&scope);
        self.scope = scope;
        let moves = self.root.as_ref().and_then(|root| moves_between(root, position));
        self.root = Some(Box::new(position.clone()));
        // Nodes keep the values that they were given: with the other side's contempt they are of no use to this search.
        let same = |moves: &[oncilla_chess::Move]| {
            search.params().wdl_rescale.at(moves.len()) == rescale && (serves || !moves.is_empty())
        };
        match moves.as_deref().filter(|moves| same(moves)) {
            Some(moves) => {
                let packed: Vec<Move> = moves.iter().map(|&mv| Move(pack(mv))).collect();
                search.advance(&packed);
            }
            None => search.clear(),
        }
    }
}

/// Whether edges and nodes mean the same under both settings. If not, a tree must not mix them.
pub fn share_a_tree(old: &Settings, new: &Settings) -> bool {
    old.two_fold_draws == new.two_fold_draws
        && old.params.policy_temperature == new.params.policy_temperature
        && old.params.noise == new.params.noise
        && old.params.sticky_endgames == new.params.sticky_endgames
        && old.evaluator == new.evaluator
        && old.builtin_endgames == new.builtin_endgames
}
