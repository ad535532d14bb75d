//! What a search does with evaluators of every kind: without keys, those that panic or fail, and trait objects.

mod games;
#[path = "../examples/tic_tac_toe.rs"]
mod tic_tac_toe;

use games::RandomGame;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
use oncilla_core::heapless::VecView;
use oncilla_core::repository::{Bound, Bounds, Repository};
use oncilla_core::search::{Event, Gathered, MostMoves, MostPlies, NodeView, Params, RunError, Search};
use oncilla_core::tree::{GraphMemory, TreeMemory};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
            (tree.visits(), tree.live_nodes(), tree.run_counts()),
            (graph.visits(), graph.live_nodes(), graph.run_counts())
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
    let even = Answer { key: Answer::NO_KEY, verdict: Verdict::Position(Value::EVEN) };
    let mut memory = GraphMemory::<10, 200>::new();
    let search = Search::new(memory.lend(), Params::default());
    let mut event = Event::<8>::new();
    for mv in 0..3 {
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
        event.name(Move(mv));
        assert_eq!(search.settle_transposition(&mut event, Answer::NO_KEY, 2), Ok(false));
        search.answer(&mut event, &even, &mut [0.0; 2]).unwrap();
    }
    assert_eq!((search.visits(), search.live_nodes()), (3, 3));
}

/// A game whose evaluator panics once it was asked often enough.
struct Panicking {
    game: RandomGame,
    questions: usize,
}

impl Panicking {
    fn ask(&mut self) {
        assert_ne!(self.questions, 0, "as asked for");
        self.questions -= 1;
    }
}

impl Evaluator for Panicking {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        self.ask();
        self.game.legal_moves(line, moves);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        self.ask();
        self.game.evaluate(line, policy)
    }
}

/// Wherever an evaluator panics, the search then goes on as if it had not been asked.
#[test]
fn a_search_goes_on_after_its_evaluator_has_panicked() {
    let game = RandomGame::of(11);
    let mut memory = Box::new(TreeMemory::<2000, 60_000>::new());
    let mut undisturbed = Search::new(memory.lend(), Params::default());
    undisturbed.run(&mut game.clone(), MostMoves::<16>, MostPlies::<32>, 200).unwrap();
    for questions in [0, 1, 2, 3, 50, 51, 100, 101] {
        let mut memory = Box::new(TreeMemory::<2000, 60_000>::new());
        let mut search = Search::new(memory.lend(), Params::default());
        let mut panics = Panicking { game, questions };
        let run = || search.run(&mut panics, MostMoves::<16>, MostPlies::<32>, 200);
        let text = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert!(text.downcast_ref::<String>().is_some_and(|text| text.contains("as asked for")));
        assert_eq!(search.root().expect("there is room").in_flight(), 0);
        let more = 200 - search.run_counts().playouts;
        assert_eq!(search.run(&mut game.clone(), MostMoves::<16>, MostPlies::<32>, more), Ok(more));
        assert_eq!(shape(&search), shape(&undisturbed), "after {questions} questions");
    }
}

/// A position with more moves than there is room for.
#[test]
fn an_evaluator_can_say_that_there_are_too_many_moves() {
    #[derive(Debug, PartialEq)]
    struct TooManyMoves;
    struct Wide(usize);
    impl Evaluator for Wide {
        type Error = TooManyMoves;

        fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
            moves.extend((0..self.0 + line.len()).map(|mv| Move(mv as u16)));
        }

        fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, TooManyMoves> {
            policy.resize(self.0 + line.len(), 0.0).map_err(|_| TooManyMoves)?;
            Ok(Answer { key: Answer::NO_KEY, verdict: Verdict::Position(Value::EVEN) })
        }
    }
    let mut memory = TreeMemory::<100, 2000>::new();
    let mut search = Search::new(memory.lend(), Params::default());
    let mut run = |width, playouts| search.run(&mut Wide(width), MostMoves::<4>, MostPlies::<8>, playouts);
    assert_eq!(run(5, 1), Err(RunError::Evaluator(TooManyMoves)));
    assert_eq!(run(4, 1), Ok(1), "as many as there is room for");
    assert_eq!(run(4, 1), Err(RunError::Evaluator(TooManyMoves)), "one ply deeper");
    assert_eq!(search.root().expect("there is room").in_flight(), 0);
}

/// The shape of a tree after a search by this evaluator, however it is passed.
fn shape_by<E: Evaluator<Error: std::fmt::Debug> + ?Sized>(evaluator: &mut E) -> Vec<(Vec<Move>, u32, Option<u32>)> {
    let mut memory = Box::new(TreeMemory::<2000, 60_000>::new());
    let mut search = Search::new(memory.lend(), Params::default());
    search.run(evaluator, MostMoves::<16>, MostPlies::<32>, 200).unwrap();
    shape(&search)
}

#[test]
fn an_evaluator_may_be_a_trait_object() {
    type Dyn = dyn Evaluator<Error = core::convert::Infallible>;
    let mut game = RandomGame::of(5);
    let known = shape_by(&mut game);
    assert_eq!(shape_by::<Dyn>(&mut game), known);
    let mut lent: &mut Dyn = &mut game;
    assert_eq!(shape_by::<&mut Dyn>(&mut lent), known);
    assert_eq!(shape_by::<&mut RandomGame>(&mut &mut game), known);
    // `Keyless` takes an evaluator by value: a lent one is one.
    assert_eq!(shape_by(&mut Keyless(&mut game)), known);
    #[cfg(feature = "alloc")]
    {
        let mut boxed: Box<Dyn> = Box::new(game);
        assert_eq!(shape_by(&mut *boxed), known);
        assert_eq!(shape_by(&mut boxed), known);
    }
}

/// The evaluator's error need be no [`Error`] itself. It is in the message once, and can be found.
#[test]
fn a_run_that_failed_is_an_error_whatever_the_evaluators_is() {
    let failed: Box<dyn Error> = Box::new(RunError::Evaluator("no network".to_string()));
    assert_eq!(failed.to_string(), "the evaluator failed: no network");
    assert!(failed.source().is_none());
    assert!(
        matches!(failed.downcast_ref::<RunError<String>>(), Some(RunError::Evaluator(error)) if error == "no network")
    );
}
