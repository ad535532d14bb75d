//! What the tree holds from search to search, and which search it is of use to.

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
    /// The position at the root. `None`: whatever is in the tree is of no use, and the next search clears it.
    root: Option<Box<History>>,
    /// What the tree's last search could visit.
    scope: Scope,
}

impl KeptTree {
    /// Gives the tree up. Its nodes stay where they are until the next search: to clear a graph takes time.
    pub fn forget(&mut self) {
        self.root = None;
    }

    /// Whether it is of use to anybody.
    #[cfg(test)]
    pub fn is_kept(&self) -> bool {
        self.root.is_some()
    }

    /// Gives the tree up; whether it was that of this position.
    pub fn forget_that_of(&mut self, position: &History) -> bool {
        self.root.take().is_some_and(|root| root.board() == position.board())
    }

    /// Makes the tree's root the position to search. Of the same position the tree stays where its visits serve a
    /// search of this `scope`, or one that `steers` looks after that itself.
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
        // Nodes keep the values that they were given: with another side's contempt they are none of this search.
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

/// Whether edges and nodes hold the same under both settings: a tree of both kinds would be neither.
pub fn share_a_tree(old: &Settings, new: &Settings) -> bool {
    old.two_fold_draws == new.two_fold_draws
        && old.params.policy_temperature == new.params.policy_temperature
        && old.params.noise == new.params.noise
        && old.params.sticky_endgames == new.params.sticky_endgames
        && old.evaluator == new.evaluator
        && old.builtin_endgames == new.builtin_endgames
}
