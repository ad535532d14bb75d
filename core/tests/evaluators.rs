//! What a search does with evaluators of every kind: without keys.

mod games;
#[path = "../examples/tic_tac_toe.rs"]
mod tic_tac_toe;

use games::RandomGame;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Evaluator, Moves};
use oncilla_core::heapless::VecView;
use oncilla_core::repository::{Bound, Bounds, Repository};
use oncilla_core::search::{Event, Gathered, MostMoves, MostPlies, NodeView, Params, Search};
use oncilla_core::tree::{GraphMemory, TreeMemory};

/// An evaluator whose positions have no keys.
struct Keyless<E>(E);

impl<E: Evaluator> Evaluator for Keyless<E> {
    type Error = E::Error;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        self.0.legal_moves(line, moves);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        Ok(Answer { key: Answer::NO_KEY, ..self.0.evaluate(line, policy)? })
    }
}

/// All visited edges, by their lines: visits, and the bits of W−L.
fn shape<R: Repository>(search: &Search<R>) -> Vec<(Vec<Move>, u32, Option<u32>)> {
    fn add<R: Repository>(node: NodeView<'_, R>, line: &mut Vec<Move>, all: &mut Vec<(Vec<Move>, u32, Option<u32>)>) {
        for edge in node.visited() {
            line.push(edge.mv().expect("no playout is under way"));
            all.push((line.clone(), edge.n(), edge.value().map(|value| value.wl.to_bits())));
            if let Some(child) = edge.child() {
                add(child, line, all);
            }
            line.pop();
        }
    }
    let mut all = Vec::new();
    add(search.root().expect("there is room"), &mut Vec::new(), &mut all);
    all
}

#[test]
fn a_graph_without_keys_answers_as_a_tree() {
    for seed in 0..30 {
        // Many paths of this game lead to one position: with its keys the graph would join them.
        let game = RandomGame { commuting: true, length: 4 + seed as usize % 9, ..RandomGame::of(seed) };
        let mut tree = Box::new(TreeMemory::<2000, 60_000>::new());
        let mut tree = Search::new(tree.lend(), Params::default());
        let mut graph = Box::new(GraphMemory::<2000, 60_000>::new());
        let mut graph = Search::new(graph.lend(), Params::default());
        for search in [&mut tree, &mut graph] {
            search.run(&mut Keyless(game), MostMoves::<16>, MostPlies::<32>, 500).unwrap();
        }
        assert_eq!(shape(&tree), shape(&graph), "{seed}");
        assert_eq!(
            (tree.nodes(), tree.live_nodes(), tree.run_counts()),
            (graph.nodes(), graph.live_nodes(), graph.run_counts())
        );
        assert!((0..=16).all(|edges| !graph.repository().has(Answer::NO_KEY, edges)));
    }
}

/// The example has no keys: in a graph, too, it is not proven that someone wins a game which is a draw.
#[test]
fn tic_tac_toe_proves_nothing_false_in_a_graph() {
    let mut memory = Box::new(GraphMemory::<5000, 100_000>::new());
    let mut search = Search::new(memory.lend(), Params::default());
    let mut board = tic_tac_toe::Board::default();
    search.run(&mut board, MostMoves::<9>, MostPlies::<9>, 4000).expect("every leaf gets its answer");
    assert_eq!(search.run_counts().transpositions, 0);
    let root = search.root().expect("there is room");
    // Each first move draws.
    let right = |bounds: Bounds| bounds.lower <= Bound::Draw && Bound::Draw <= bounds.upper;
    assert!(root.edge_count() == 9 && root.visited().all(|edge| right(edge.bounds())));
}

#[test]
fn a_leaf_without_a_key_is_no_transposition() {
    let even = Answer { key: Answer::NO_KEY, verdict: oncilla_core::evaluate::Verdict::Position(Default::default()) };
    let mut memory = GraphMemory::<10, 200>::new();
    let search = Search::new(memory.lend(), Params::default());
    let mut event = Event::<8>::new();
    for mv in 0..3 {
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
        event.name(Move(mv));
        assert_eq!(search.settle_transposition(&mut event, Answer::NO_KEY, 2), Ok(false));
        search.answer(&mut event, &even, &mut [0.0; 2]).unwrap();
    }
    assert_eq!((search.nodes(), search.live_nodes()), (3, 3));
}
