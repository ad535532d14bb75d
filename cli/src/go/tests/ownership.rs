//! Tests of the ownership of points over a search.

use super::*;
use crate::go::notes::Owned;

/// The share of each line of a search in the mean, by the note of its last position: a node divides its share between
/// its own visit and its moves, and among these by the squares of their visits.
fn shares<'s>(search: &Search<'s>, node: NodeView<'_, Tree<'s>>, at: At, share: f64, found: &mut Vec<(At, f64)>) {
    let edges: Vec<_> = node.visited().filter(|edge| edge.completed() > 0).collect();
    let visits = |edge: &EdgeView<'_, _>| f64::from(edge.completed());
    let all: f64 = edges.iter().map(visits).sum();
    let squares: f64 = edges.iter().map(|edge| visits(edge).powi(2)).sum();
    found.push((at, share / (1.0 + all)));
    for edge in edges {
        let (next, _) = search.notes().next(at, edge.mv().expect("its name")).expect("its note");
        let of_move = share * all / (1.0 + all) * visits(&edge).powi(2) / squares;
        shares(search, edge.child().expect("its node"), next, of_move, found);
    }
}

/// With so few visits no share is too small to be followed.
#[test]
fn moves_count_by_the_squares_of_their_visits() {
    let mut uneven = 0;
    for seed in 0..80 {
        let mut query = plainly(&some_game(seed, "chinese"));
        query["overrideSettings"]["cpuctExploration"] = json!(0.1 + 0.2 * (seed % 5) as f64);
        search(&query, 1, 2 + seed % 4, |search| {
            let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let (mut lines, mut expected) = (Vec::new(), Owned::new(25));
            shares(search, root, at, 1.0, &mut lines);
            let notes = || lines.iter().map(|(at, share)| (search.notes().get(*at), *share));
            if notes().any(|(note, _)| note.has_ended) {
                return;
            }
            notes().for_each(|(note, share)| note.add_ownership(share, &mut expected));
            let ((means, deviations), expected) = (search.ownership(root, at), expected.means());
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near(&means, &expected.0) && near(&deviations, &expected.1), "{seed}");
            let most = root.visited().map(|edge| edge.completed()).max();
            uneven += usize::from(root.visited_count() > 1 && most > Some(1));
        });
    }
    assert!(uneven > 3, "{uneven}");
}

/// The rules of a mean, which [`Oracle::add`] follows without regard for its cost.
#[derive(Clone, Copy)]
struct Oracle {
    /// Moves of positions with a smaller share are not looked at.
    followed: f64,
    /// Moves with a smaller share are left to the position before.
    least: f64,
    /// Whether the visit of a position itself counts by its own weight.
    weighs: bool,
}

impl Oracle {
    /// Lists the shares of positions in the mean; returns what is left to the position before.
    fn add<'s>(
        self,
        search: &Search<'s>,
        node: Option<NodeView<'_, Tree<'s>>>,
        at: At,
        share: f64,
        found: &mut Vec<(At, f64)>,
    ) -> f64 {
        let (note, mut own) = (search.notes().get(at), share);
        let looked_at = node.filter(|_| share >= self.followed);
        let edges: Vec<_> =
            looked_at.iter().flat_map(|node| node.visited()).filter(|edge| edge.completed() > 0).collect();
        let next = |edge: &EdgeView<'_, _>| search.notes().next(at, edge.mv().expect("its name")).expect("its note");
        let weight = |edge: &EdgeView<'_, _>| f64::from(edge.completed()) * f64::from(next(edge).1.passed.weight);
        let weights: Vec<f64> = edges.iter().map(weight).collect();
        let (all, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|weight| weight * weight).sum::<f64>());
        if !edges.is_empty() {
            let own_weight = if self.weighs { f64::from(note.own_weight) } else { 1.0 };
            own = share * own_weight / (all + own_weight);
            for (edge, weight) in edges.iter().zip(weights) {
                let of_move = share * all / (all + own_weight) * weight * weight / squares;
                let is_left = of_move < self.least;
                own += if is_left { of_move } else { self.add(search, edge.child(), next(edge).0, of_move, found) };
            }
        }
        if note.has_ended {
            return own;
        }
        found.push((at, own));
        0.0
    }

    /// The mean of each point.
    fn means(self, search: &Search<'_>) -> Vec<f64> {
        let (mut shares, mut owned) = (Vec::new(), Owned::new(25));
        self.add(search, search.tree(), 0, 1.0, &mut shares);
        shares.into_iter().for_each(|(at, share)| search.notes().get(at).add_ownership(share, &mut owned));
        owned.means().0
    }
}

/// Positions with a small share stand for all below them, moves with a tiny one are left to the position before, and a
/// position's own visit counts by its weight: each of these shows in the mean.
#[test]
fn small_shares_are_cut_off_and_positions_count_by_their_weights() {
    let evaluator = Arc::new(evaluator_with("tiny-v15.bin.gz"));
    let mut shows = [0; 3];
    for seed in 0..24 {
        let mut query = some_game(seed, "chinese");
        // Without a reduction many moves are tried once and then left.
        let exploration = [0.01, 0.1, 0.5, 2.0][seed as usize % 4];
        query["overrideSettings"] = json!({ "cpuctExploration": exploration, "cpuctExplorationLog": 0.0,
            "fpuReductionMax": 0.0, "rootFpuReductionMax": 0.0 });
        let ((game, plan), (memory, _)) = (asked(&query, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&evaluator), &memory, game, plan).expect("a search");
        search_on(&mut search, 1000);
        let found = search.ownership(search.tree().expect("a root"), 0).0;
        let off =
            |oracle: Oracle| found.iter().zip(oracle.means(&search)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let followed = 0.5 / (search.visits() as f64).powf(0.75);
        let oracle = Oracle { followed, least: 0.01 * followed, weighs: true };
        assert!(off(oracle) < 1e-9, "{seed}: {}", off(oracle));
        let others =
            [Oracle { followed: 0.0, ..oracle }, Oracle { least: 0.0, ..oracle }, Oracle { weighs: false, ..oracle }];
        shows.iter_mut().zip(others).for_each(|(shows, other)| *shows += usize::from(off(other) > 1e-7));
    }
    assert!(shows.iter().all(|shows| *shows > 3), "{shows:?}");
}

/// What the area says of a game that has ended is not mixed with what the network expects.
#[test]
fn a_game_that_has_ended_leaves_its_share_to_the_position_before() {
    let passes = json!([{ "player": "B", "moves": ["pass"], "untilDepth": 1 }]);
    let moves = json!([["B", "C3"], ["W", "pass"]]);
    let query = json!({ "rules": "tromp-taylor", "moves": moves, "includeOwnership": true, "allowMoves": passes,
        "overrideSettings": { "conservativePass": false } });
    search(&query, 1, 10, |search| {
        let (root, (at, note)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
        let pass = root.visited().next().expect("a pass");
        let (next, ended) = search.notes().next(at, pass.mv().expect("its name")).expect("its note");
        assert!(ended.has_ended && pass.completed() == 9);
        let mut own = Owned::new(25);
        note.add_ownership(1.0, &mut own);
        assert_eq!(search.ownership(root, at).0, own.means().0);
        // By itself it says who owns the points: all of them are Black's.
        assert_eq!(search.ownership(pass.child().expect("its node"), next).0, [-1.0; 25]);
    });
}
