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
