//! What may be searched at the root: the moves that somebody named (UCI's `searchmoves`), and among them those that can
//! still become the best.

use super::{MAX_ROOT_MOVES, Search};
use crate::evaluate::Move;
use crate::repository::{EdgeValue, Naming, Node, Repository, Visit};
use crate::sort;
use crate::tree::MAX_EDGES;
use core::cmp::Ordering;
use heapless::Vec;

const BITS: usize = u32::BITS as usize;

/// A set of a node's edges, given by their indices among the legal moves, or by the places of their records.
#[derive(Clone, Copy, Debug)]
struct Edges([u32; (MAX_EDGES + 1) / BITS]);

impl Edges {
    const NONE: Self = Self([0; (MAX_EDGES + 1) / BITS]);

    /// An index beyond what any node has is ignored.
    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / BITS) {
            *word |= 1 << (at % BITS);
        }
    }

    fn contains(&self, at: usize) -> bool {
        self.0.get(at / BITS).is_some_and(|word| word >> (at % BITS) & 1 != 0)
    }

    /// The members in ascending order.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).step_by(BITS).zip(&self.0).flat_map(|(first, &word)| {
            let without_the_lowest = |left: &u32| Some(left & left.wrapping_sub(1)).filter(|left| *left != 0);
            let words = core::iter::successors(Some(word).filter(|word| *word != 0), without_the_lowest);
            words.map(move |left| first + left.trailing_zeros() as usize)
        })
    }
}

/// The root moves that may be searched: all of them, until some are named.
#[derive(Debug)]
pub(super) struct RootMoves {
    are_named: bool,
    places: Edges,
    /// Sorted, to look up an edge whose move is known.
    moves: Vec<Move, MAX_ROOT_MOVES>,
}

impl RootMoves {
    pub const fn all() -> Self {
        Self { are_named: false, places: Edges::NONE, moves: Vec::new() }
    }

    /// Allows the moves with these indices among the legal ones; all moves if there are none, and only the first if
    /// there are too many.
    pub fn named(moves: impl IntoIterator<Item = (usize, Move)>) -> Self {
        let mut all = Self::all();
        for (place, mv) in moves.into_iter().take(MAX_ROOT_MOVES) {
            all.are_named = true;
            all.places.insert(place);
            let _ = all.moves.push(mv); // there is room: see above
        }
        sort::by(&mut all.moves, |a, b| a.cmp(b));
        all
    }

    pub fn are_all(&self) -> bool {
        !self.are_named
    }

    #[inline]
    pub fn contain(&self, mv: Naming) -> bool {
        match mv {
            _ if self.are_all() => true,
            Naming::Index(place) => self.places.contains(place.into()),
            Naming::Named(mv) => self.moves.binary_search(&mv).is_ok(),
        }
    }
}

/// What one playout may take at the root.
pub(super) struct RootRules<'a> {
    moves: &'a RootMoves,
    /// The root's records whose moves may be searched, looked up once for a playout. `None`: all.
    records: Option<Edges>,
    remaining: Option<u32>,
    most_visited: u32,
}

impl<R: Repository> Search<R> {
    /// `None` if every move may be searched.
    pub(super) fn root_rules(&self, root: &impl Node) -> Option<RootRules<'_>> {
        let (moves, remaining) = (&self.root_moves, self.remaining_playouts());
        if moves.are_all() && remaining.is_none() {
            return None;
        }
        let mut rules = RootRules { moves, records: None, remaining, most_visited: 0 };
        if !moves.are_all() {
            let mut records = Edges::NONE;
            let named = root.visits().enumerate().filter(|(_, visit)| moves.contain(visit.mv));
            named.for_each(|(at, _)| records.insert(at));
            rules.records = Some(records);
        }
        // A move that is known to lose is the best one only if all of them lose.
        let lost = |visit: &Visit| visit.prior == 0 && visit.value.is_some_and(|value| value.wl == -EdgeValue::WL_ONE);
        let rivals = root.visits().enumerate().filter(|(at, visit)| rules.names(*at) && !lost(visit));
        let most_visited = rivals.map(|(_, visit)| visit.n).max().unwrap_or(0);
        Some(RootRules { most_visited, ..rules })
    }
}

impl RootRules<'_> {
    /// Whether the move of a record is one of those that were named.
    fn names(&self, record: usize) -> bool {
        self.records.as_ref().is_none_or(|records| records.contains(record))
    }

    fn hopeless(&self, n: u32) -> bool {
        self.remaining.is_some_and(|remaining| n < self.most_visited && remaining < self.most_visited - n)
    }

    /// Whether the edge of a record, with `n` visits, may be taken.
    pub fn allow(&self, record: usize, n: u32) -> bool {
        !self.hopeless(n) && self.names(record)
    }

    /// Of the edges without a record that may be taken, the one with the largest prior, and its prior.
    pub fn next_unvisited(&self, root: &impl Node) -> Option<(u16, f32)> {
        if self.hopeless(0) {
            return None;
        }
        let next = root.next_unvisited()?;
        if self.moves.contain(Naming::Index(next.0)) {
            return Some(next);
        }
        let open = self.moves.places.iter().filter_map(|place| Some((place as u16, root.unvisited_prior(place)?)));
        open.reduce(|best, edge| if edge.1.total_cmp(&best.1) == Ordering::Greater { edge } else { best })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::collections::BTreeSet;

    quickcheck! {
        fn edges_are_a_set(places: Vec16) -> bool {
            let mut edges = Edges::NONE;
            places.0.iter().for_each(|&place| edges.insert(place.into()));
            let expected: BTreeSet<usize> = places.0.iter().map(|&p| p.into()).filter(|p| *p <= MAX_EDGES).collect();
            edges.iter().eq(expected.iter().copied())
                && (0..2 * MAX_EDGES).all(|place| edges.contains(place) == expected.contains(&place))
        }

        fn the_first_of_many_are_named(moves: Vec16) -> bool {
            let named = RootMoves::named(moves.0.iter().map(|&mv| (mv.into(), Move(mv))));
            let taken = &moves.0[..moves.0.len().min(MAX_ROOT_MOVES)];
            let holds = |mv| named.contain(Naming::Named(Move(mv))) == (taken.is_empty() || taken.contains(&mv));
            named.are_all() == taken.is_empty() && moves.0.iter().all(|&mv| holds(mv)) && (0..2000).all(holds)
        }
    }

    /// Up to some hundreds of numbers near the most edges of a node, and some far beyond.
    #[derive(Clone, Debug)]
    struct Vec16(std::vec::Vec<u16>);

    impl quickcheck::Arbitrary for Vec16 {
        fn arbitrary(g: &mut quickcheck::Gen) -> Self {
            let len = usize::arbitrary(g) % 500;
            let number = |g: &mut quickcheck::Gen| match u16::arbitrary(g) {
                far if far % 16 == 0 => far,
                near => near % 1100,
            };
            Self((0..len).map(|_| number(g)).collect())
        }
    }
}
