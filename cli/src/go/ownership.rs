//! Who will own each point, as a mean over the positions of a search.
//!
//! As in KataGo, moves count by the squares of their weights: who owns a point depends on how the game is most likely
//! to go on, and lines that were only tried out should not blur that. A position with a small share of the mean stands
//! for all positions below it, and a move with a tiny share is left to the position before it: so the work grows more
//! slowly than the search.

use super::backup::Visited;
use super::notes::{At, Owned};
use super::search::Search;
use oncilla_core::search::NodeView;
use oncilla_core::tree::Tree;

/// Moves are followed from positions whose share is at least this one, divided by a [power](VISITS_POWER) of the
/// visits.
const FOLLOWED_SHARE: f64 = 0.5;
const VISITS_POWER: f64 = 0.75;

/// A move is looked at if its share is at least this part of that.
const LEAST_PART: f64 = 0.01;

impl<'m> Search<'m> {
    /// The mean and the deviation of each point's ownership over the visits of a node, from White's view.
    pub fn ownership(&self, node: NodeView<'_, Tree<'m>>, at: At) -> (Vec<f64>, Vec<f64>) {
        let followed = FOLLOWED_SHARE / f64::from(node.n().max(1)).powf(VISITS_POWER);
        let mut mean = Mean { search: self, followed, owned: Owned::new(self.root().size().area()) };
        let own = mean.add_moves(&node, at, 1.0);
        self.notes().get(at).add_ownership(own, &mut mean.owned);
        mean.owned.means()
    }
}

/// A mean that is being summed up.
struct Mean<'s, 'm> {
    search: &'s Search<'m>,
    /// The least share of a position whose moves are followed.
    followed: f64,
    owned: Owned,
}

impl<'m> Mean<'_, 'm> {
    /// Adds the positions from `at` on, which have this share of the mean together. Returns the part of it that is left
    /// to the position before: that of games that have ended, as in KataGo, and of positions whose ownership was not
    /// noted. `node` is `None` for a position that was folded.
    fn add(&mut self, node: Option<NodeView<'_, Tree<'m>>>, at: At, share: f64) -> f64 {
        let followed = node.filter(|_| share >= self.followed);
        let own = followed.map_or(share, |node| self.add_moves(&node, at, share));
        let note = self.search.notes().get(at);
        if note.has_ended || note.ownership.is_empty() {
            return own;
        }
        note.add_ownership(own, &mut self.owned);
        0.0
    }

    /// Adds the positions after the moves of a node, which has this share of the mean together with them. Returns the
    /// node's own part.
    fn add_moves(&mut self, node: &NodeView<'_, Tree<'m>>, at: At, share: f64) -> f64 {
        let moves: Vec<Visited<'_, 'm>> = self.search.visited(node, at).collect();
        let weight: f64 = moves.iter().map(|visited| visited.weight).sum();
        let squares: f64 = moves.iter().map(|visited| visited.weight * visited.weight).sum();
        if squares <= 0.0 {
            return share;
        }
        let all = weight + f64::from(self.search.notes().get(at).own_weight);
        let of_moves = share * weight / all;
        let mut own = share - of_moves;
        for Visited { edge, next, weight } in moves {
            let share = of_moves * weight * weight / squares;
            let is_tiny = share < LEAST_PART * self.followed;
            own += if is_tiny { share } else { self.add(edge.child(), next, share) };
        }
        own
    }
}
