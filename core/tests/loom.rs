//! The smallest cases in which threads meet in the repository, in every order that loom finds:
//!
//!     RUSTFLAGS="--cfg loom" cargo test --release -p oncilla-core --test loom
//!
//! Each run tries only a limited number of preemptions, so that it ends; two are enough to find most faults (Musuvathi
//! and Qadeer, 2007).
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Value, Verdict};
use oncilla_core::repository::{Bounds, Key, Node, Repository};
use oncilla_core::search::{Event, Gathered, NodeView, Params, Search};
use oncilla_core::tree::{GraphWords, NodeWords, Tree};

type Playout = Event<4>;
type Shared = Arc<Search<Tree<'static>>>;

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(run);
}

fn words<T>(len: usize, word: impl Fn() -> T) -> &'static [T] {
    // A model's memory lives no longer than its process.
    Box::leak((0..len).map(|_| word()).collect())
}

fn tree() -> Tree<'static> {
    let nodes: &[NodeWords] = words(6, || std::array::from_fn(|_| AtomicU32::new(0)));
    Tree::new(nodes, words(100, || AtomicU32::new(0)))
}

fn graph() -> Tree<'static> {
    let nodes: &[NodeWords] = words(6, || std::array::from_fn(|_| AtomicU32::new(0)));
    let graph: &[GraphWords] = words(6, || std::array::from_fn(|_| AtomicU32::new(0)));
    Tree::new_graph(nodes, words(100, || AtomicU32::new(0)), graph)
}

/// A search whose root has `moves` moves, and no visit but its own.
fn search(tree: Tree<'static>, moves: usize) -> Search<Tree<'static>> {
    let search = Search::new(tree, Params::default());
    let mut event = Playout::new();
    assert_eq!(search.gather(&mut event), Gathered::Leaf);
    answer(&search, &mut event, 0, moves);
    search
}

/// The move at place `index` in every position's list.
fn named(index: usize) -> Move {
    Move(100 + index as u16)
}

fn answer(search: &Search<Tree<'static>>, event: &mut Playout, key: u64, moves: usize) {
    if let Some(index) = event.unnamed() {
        event.name(named(index));
    }
    let verdict = Verdict::Position(Value { wl: 0.5, d: 0.25, m: 8.0 });
    search.answer(event, &Answer { key, verdict }, &mut [0.0, 0.0, 0.0][..moves]).unwrap();
}

fn gathered(search: &Search<Tree<'static>>, met: Gathered) -> Playout {
    let mut event = Playout::new();
    assert_eq!(search.gather(&mut event), met);
    event
}

/// Checks that nothing is in flight, that the visits add up, and that every node hangs on the root. Returns the visits
/// of the root's edges.
fn drained(search: &Search<Tree<'static>>) -> Vec<u32> {
    let root = search.root().unwrap();
    let mut nodes = vec![root.key()];
    check(root, &mut nodes);
    nodes.sort_unstable_by_key(|key| key.0);
    nodes.dedup();
    assert_eq!(nodes.len(), search.repository().live_nodes());
    root.visited().map(|edge| edge.n()).collect()
}

fn check(node: NodeView<'_, Tree<'static>>, nodes: &mut Vec<Key>) {
    assert_eq!(node.in_flight(), 0);
    assert!(!node.read(Node::is_pending));
    if node.is_expanded() {
        assert_eq!(node.visited().map(|edge| edge.n()).sum::<u32>(), node.n() - 1);
    }
    for edge in node.visited() {
        assert_eq!(edge.n() > 0, edge.value().is_some());
        let Some(child) = edge.child() else { continue };
        nodes.push(child.key());
        check(child, nodes);
    }
}

fn spawn<T: 'static>(
    search: &Shared,
    run: impl FnOnce(&Search<Tree<'static>>) -> T + 'static,
) -> thread::JoinHandle<T> {
    let search = search.clone();
    thread::spawn(move || run(&search))
}

/// The second playout sees the first one's visit in flight, and takes the other edge.
#[test]
fn two_gather_at_one_root() {
    model(3, || {
        let search = Arc::new(search(tree(), 2));
        let other = spawn(&search, |search| gathered(search, Gathered::Leaf));
        let mut first = gathered(&search, Gathered::Leaf);
        let mut second = other.join().unwrap();
        assert_ne!(first.unnamed(), second.unnamed());
        assert_eq!(search.root().unwrap().in_flight(), 2);
        search.cancel(&mut first);
        search.cancel(&mut second);
        assert_eq!(drained(&search), [0, 0]);
    });
}

/// A playout that comes to a leaf while its answer comes in collides there, or finds the leaf's edges and knows its
/// name.
#[test]
fn one_gathers_where_another_answers() {
    model(3, || {
        let search = Arc::new(search(tree(), 1));
        let mut first = gathered(&search, Gathered::Leaf);
        let other = spawn(&search, |search| {
            let mut event = Playout::new();
            match search.gather(&mut event) {
                Gathered::Collision => assert_eq!(event.plies(), 1),
                Gathered::Leaf => {
                    assert_eq!(event.plies(), 2);
                    assert_eq!(event.moves().next(), Some(named(0)));
                }
                met => panic!("{met:?}"),
            }
            search.cancel(&mut event);
        });
        answer(&search, &mut first, 1, 1);
        other.join().unwrap();
        assert_eq!(drained(&search), [1]);
        assert_eq!(search.visits(), 2);
    });
}

/// No visit and no value is lost when two answers come back to one parent.
#[test]
fn two_answer_below_one_parent() {
    model(3, || {
        let search = Arc::new(search(tree(), 2));
        let (mut first, mut second) = (gathered(&search, Gathered::Leaf), gathered(&search, Gathered::Leaf));
        let other = spawn(&search, move |search| answer(search, &mut second, 2, 1));
        answer(&search, &mut first, 1, 1);
        other.join().unwrap();
        assert_eq!(drained(&search), [1, 1]);
        let value = search.root().unwrap().value();
        assert!((value.wl - (0.5 - 0.5 - 0.5) / 3.0).abs() < 1e-6 && (value.d - 0.25).abs() < 1e-4, "{value:?}");
    });
}

/// One playout comes back through an edge that the other one takes.
#[test]
fn one_gathers_where_another_comes_back() {
    model(3, || {
        let search = Arc::new(search(tree(), 1));
        let mut event = gathered(&search, Gathered::Leaf);
        answer(&search, &mut event, 1, 2);
        let mut first = gathered(&search, Gathered::Leaf);
        let other = spawn(&search, |search| gathered(search, Gathered::Leaf));
        answer(&search, &mut first, 2, 1);
        let mut second = other.join().unwrap();
        assert_eq!(search.root().unwrap().in_flight(), 1);
        answer(&search, &mut second, 3, 1);
        assert_eq!(drained(&search), [3]);
    });
}

/// Two paths to one position are answered at the same time: the position has one node, or each path has its own; none
/// is lost.
#[test]
fn two_join_one_position() {
    model(2, || {
        let search = Arc::new(search(graph(), 2));
        let (mut first, mut second) = (gathered(&search, Gathered::Leaf), gathered(&search, Gathered::Leaf));
        let other = spawn(&search, move |search| answer(search, &mut second, 7, 1));
        answer(&search, &mut first, 7, 1);
        other.join().unwrap();
        assert_eq!(drained(&search), [1, 1]);
        assert!((2..=3).contains(&search.repository().live_nodes()));
    });
}

/// One playout is on its way to a leaf that the other one gives up for the node that its position has already.
#[test]
fn one_gathers_where_another_joins() {
    model(2, || {
        let mut search = search(graph(), 2);
        let (mut first, mut second) = (gathered(&search, Gathered::Leaf), gathered(&search, Gathered::Leaf));
        let theirs = second.unnamed().unwrap();
        search.set_root_moves([(theirs, named(theirs))]);
        let search = Arc::new(search);
        answer(&search, &mut first, 7, 1);
        let other = spawn(&search, |search| {
            let mut event = Playout::new();
            match search.gather(&mut event) {
                Gathered::Leaf => assert_eq!(event.plies(), 2),
                met => assert!(matches!(met, Gathered::Collision | Gathered::Known), "{met:?}"),
            }
            search.cancel(&mut event);
        });
        answer(&search, &mut second, 7, 1);
        other.join().unwrap();
        drained(&search);
        assert!((2..=3).contains(&search.repository().live_nodes()));
    });
}

/// Nodes and arrays that are taken and given back at the same time never overlap.
#[test]
fn two_take_and_give_memory() {
    model(3, || {
        let tree = Arc::new(tree());
        let take = |tree: &Tree<'static>, prior: f32| {
            let key = tree.create(None).unwrap();
            assert!(tree.lock(key).expand(&[prior, prior, prior]));
            key
        };
        let other = {
            let tree = tree.clone();
            thread::spawn(move || {
                let given = take(&tree, 0.25);
                tree.discard(given);
                take(&tree, 0.5)
            })
        };
        let first = take(&tree, 1.0);
        let second = other.join().unwrap();
        assert_ne!(first, second);
        let prior = |key| tree.lock(key).unvisited_prior(2);
        assert_eq!((prior(first), prior(second)), (Some(1.0), Some(0.5)));
        assert_eq!(tree.live_nodes(), 2);
        tree.discard(first);
        tree.discard(second);
        assert_eq!((tree.live_nodes(), tree.live_words()), (0, 0));
    });
}

/// A thread that looks at a leaf that is discarded, and at the node that takes its place, leaves no trace.
#[test]
fn one_looks_at_what_another_discards() {
    model(3, || {
        let tree = Arc::new(tree());
        let leaf = tree.create(None).unwrap();
        let other = {
            let tree = tree.clone();
            thread::spawn(move || _ = tree.lock(leaf).n())
        };
        tree.discard(leaf);
        let next = tree.create(None).unwrap();
        assert_eq!(next, leaf);
        tree.lock(next).set_pending(true);
        other.join().unwrap();
        let node = tree.lock(next);
        assert_eq!((node.is_pending(), node.bounds()), (true, Bounds::OPEN));
    });
}
