//! The root moves that a search may visit, and whether the visits of one search are of use to the next.

use oncilla_chess::Move;

/// The root moves that a search may visit.
#[derive(Debug, Default)]
pub struct Scope {
    /// `None` means all moves.
    named: Option<Vec<Move>>,
}

impl Scope {
    /// The scope of a search of `moves`, of `legal` legal ones; without any moves, all are searched.
    pub fn of(moves: impl Iterator<Item = Move>, legal: usize) -> Self {
        let named: Vec<Move> = moves.collect();
        let are_all = named.is_empty() || named.len() == legal;
        Self { named: (!are_all).then_some(named) }
    }

    /// Whether the tree of this search serves a search of `next` from the same root. A move that was left out has no
    /// visits: PUCT would make up for that late, and smart pruning not at all.
    pub fn serves(&self, next: &Self) -> bool {
        match (&self.named, &next.named) {
            (None, _) => true,
            (Some(had), Some(wanted)) => wanted.iter().all(|mv| had.contains(mv)),
            (Some(_), None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_serves_who_asks_for_no_other_root_moves() {
        let named = |moves: &[&str]| Scope::of(moves.iter().map(|mv| mv.parse().unwrap()), 20);
        let all = named(&[]);
        assert!(all.serves(&all) && all.serves(&named(&["a2a3"])));
        assert!(named(&["a2a3", "e2e4"]).serves(&named(&["e2e4"])));
        assert!(!named(&["a2a3"]).serves(&all));
        assert!(!named(&["a2a3"]).serves(&named(&["a2a3", "e2e4"])));
        let both = ["a2a3", "e2e4"].map(|mv| mv.parse().unwrap());
        assert!(Scope::of(both.into_iter(), 2).serves(&all), "there are no others");
    }
}
