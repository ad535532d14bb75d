//! What a search may look at, and whether the visits of one say anything to the next.

use super::limits::Go;
use super::restrict::Restrictions;
use oncilla_chess::Move;
use std::sync::Arc;

/// The moves that a search could visit.
#[derive(Debug, Default)]
pub struct Scope {
    /// Of the root; `None`: all.
    root_moves: Option<Vec<Move>>,
    /// Below it.
    restrictions: Option<Arc<Restrictions>>,
}

impl Scope {
    /// Of a search with these root moves of so many legal ones; of none all.
    pub fn of(root_moves: impl Iterator<Item = Move>, legal: usize, go: &Go) -> Self {
        let named: Vec<Move> = root_moves.collect();
        let are_all = named.is_empty() || named.len() == legal;
        Self { root_moves: (!are_all).then_some(named), restrictions: go.restrictions.clone() }
    }

    /// Whether its tree is one for a search of `next`, `plies` further on. A move that it left out has no visits, which the search would
    /// take for a bad sign, and smart pruning for the end of the move's hopes.
    pub fn serves(&self, next: &Self, plies: usize) -> bool {
        // How far down they reach is counted from the root.
        let below = self.restrictions == next.restrictions && (plies == 0 || next.restrictions.is_none());
        let at_root = match (&self.root_moves, &next.root_moves) {
            (None, _) => true,
            (Some(had), Some(wanted)) => wanted.iter().all(|mv| had.contains(mv)),
            (Some(_), None) => false,
        };
        below && (plies > 0 || at_root)
    }
}

#[cfg(test)]
mod tests {
    use super::super::restrict::Restriction;
    use super::*;
    use cozy_chess::Color;

    fn scope(moves: &[&str], restrictions: &Option<Arc<Restrictions>>) -> Scope {
        let moves = moves.iter().map(|mv| mv.parse().unwrap());
        Scope::of(moves, 20, &Go { restrictions: restrictions.clone(), ..Go::default() })
    }

    #[test]
    fn a_tree_serves_who_asks_for_no_other_root_moves() {
        let named = |moves: &[&str]| scope(moves, &None);
        let all = named(&[]);
        assert!(all.serves(&all, 0) && all.serves(&named(&["a2a3"]), 0));
        assert!(named(&["a2a3", "e2e4"]).serves(&named(&["e2e4"]), 0));
        assert!(!named(&["a2a3"]).serves(&all, 0));
        assert!(!named(&["a2a3"]).serves(&named(&["a2a3", "e2e4"]), 0));
        assert!(named(&["a2a3"]).serves(&all, 2), "the root is another one");
        let both = ["a2a3", "e2e4"].map(|mv| mv.parse().unwrap());
        assert!(Scope::of(both.into_iter(), 2, &Go::default()).serves(&all, 0), "there are no others");
    }

    #[test]
    fn a_tree_without_some_moves_serves_where_the_same_are_left_out() {
        let rules = |only| {
            let mut restrictions = Restrictions::default();
            restrictions.add(Restriction { player: Color::White, moves: Vec::new(), only }, 3);
            Some(Arc::new(restrictions))
        };
        let [some, others] = [rules(true), rules(false)].map(|rules| scope(&[], &rules));
        let free = scope(&[], &None);
        assert!(some.serves(&scope(&[], &rules(true)), 0));
        assert!(!some.serves(&some, 1), "one ply further on they reach further down");
        assert!(!some.serves(&others, 0) && !some.serves(&free, 0) && !free.serves(&some, 0));
        assert!(!some.serves(&free, 1) && free.serves(&free, 1));
    }
}
