//! What holds for every search, on games that a seed makes up, and on every repository.

#[path = "../../../tests/games/mod.rs"]
mod games;

/// Runs a block with a search in a tree, and once more in a hash map, with room for this many nodes (and words for
/// edges).
macro_rules! on_both {
    ($nodes:expr, $words:expr, $params:expr, |$search:ident| $body:expr) => {{
        on_tree!($nodes, $words, $params, |$search| $body);
        let $search = &mut Search::new(MapRepository::new($nodes), $params);
        $body
    }};
}

/// Runs a block with a search in a tree.
macro_rules! on_tree {
    ($nodes:expr, $words:expr, $params:expr, |$search:ident| $body:expr) => {{
        let (nodes, words) = memory($nodes, $words);
        let $search = &mut Search::new(Tree::new(&nodes, &words), $params);
        $body
    }};
}

/// Runs a block with a search in a graph of each repository.
macro_rules! on_both_graphs {
    ($nodes:expr, $words:expr, $params:expr, |$search:ident| $body:expr) => {{
        {
            let (nodes, words) = memory($nodes, $words);
            let (graph, _) = memory($nodes, 0);
            let $search = &mut Search::new(Tree::new_graph(&nodes, &words, &graph), $params);
            $body
        }
        let $search = &mut Search::new(MapRepository::new_graph($nodes), $params);
        $body
    }};
}

mod aside;
mod audit;
mod choices;
mod events;
mod graph;
mod joined;
mod memory;
mod playouts;
mod proofs;
mod renew;
mod reuse;
mod together;
mod weights;

use super::*;
use crate::evaluate::{Answer, Moves, Value, Verdict};
use crate::map::MapRepository;
use crate::search::event::Stage;
use crate::tree::{NodeWords, Tree};
use audit::{Audit, audit};
use games::RandomGame;
use heapless::VecView;
use std::boxed::Box;

type TestEvent = Event<64>;
type List<T> = std::vec::Vec<T>;

/// Most legal moves in the games of these tests.
const EDGES: usize = 16;

/// Memory for a tree, with other content left in it.
fn memory(nodes: usize, words: usize) -> (Box<[NodeWords]>, Box<[AtomicU32]>) {
    let used = |_| AtomicU32::new(7);
    ((0..nodes).map(|_| core::array::from_fn(used)).collect(), (0..words).map(used).collect())
}

impl<R: Repository> Search<R> {
    fn run_game(&mut self, game: &mut RandomGame, playouts: u64) {
        self.run(game, MostMoves::<EDGES>, MostPlies::<64>, playouts).unwrap();
    }

    fn root_node(&self) -> NodeView<'_, R> {
        self.root().expect("there is room for a root")
    }

    /// What a node passes on to its parents.
    fn passed_on(&self, node: &NodeView<'_, R>) -> Value {
        self.worth(&self.repository.lock(node.key()))
    }

    /// Makes `visits` visits of root move `mv`, whatever it is worth. Before that the root gets one, if it has none.
    fn visit(&mut self, game: &mut impl Evaluator, mv: u16, visits: u64) {
        if self.visits() == 0 {
            self.run(game, MostMoves::<EDGES>, MostPlies::<64>, 1).ok().unwrap();
        }
        self.set_root_moves([(mv.into(), Move(mv))]);
        assert_eq!(self.run(game, MostMoves::<EDGES>, MostPlies::<64>, visits).ok(), Some(visits));
        self.set_root_moves([]);
    }

    /// The edge of a root move that has been visited.
    fn edge_of(&self, mv: u16) -> EdgeView<'_, R> {
        self.root_node().visited().find(|edge| edge.mv() == Some(Move(mv))).expect("it was visited")
    }
}

/// The verdict on a position, and the priors of its moves.
type Written = (Verdict, &'static [f32]);

/// A game that a test writes down: what a position is, by the moves so far. Each move is the place that it has in its
/// list. All positions have the same key.
struct WrittenGame<F: Fn(&[u16]) -> Written>(F);

impl<F: Fn(&[u16]) -> Written> WrittenGame<F> {
    fn at(&self, line: Moves<'_>) -> Written {
        self.0(&line.map(|mv| mv.0).collect::<List<_>>())
    }
}

impl<F: Fn(&[u16]) -> Written> Evaluator for WrittenGame<F> {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..self.at(line).1.len() as u16).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let (verdict, priors) = self.at(line);
        policy.extend(priors.iter().map(|p| p.ln()));
        Ok(Answer { key: 1, verdict })
    }
}

/// Parameters with which priors are those that were written.
fn as_written() -> Params {
    Params { policy_temperature: 1.0, ..Params::default() }
}

/// A verdict on the position after `line`, with `wl` for the side to move at the root, without draws.
fn ours(line: &[u16], wl: f32) -> Verdict {
    let wl = if line.len().is_multiple_of(2) { wl } else { -wl };
    Verdict::Position(Value { wl, d: 0.0, m: 0.0 })
}

/// What a game says of an event's leaf.
fn ask(game: &mut RandomGame, event: &mut TestEvent) -> (Answer, Vec<f32, EDGES>) {
    let mut moves = Vec::<Move, EDGES>::new();
    game.legal_moves(event.moves(), moves.as_mut_view());
    if let Some(index) = event.unnamed() {
        event.name(moves[index]);
    }
    let mut policy = Vec::<f32, EDGES>::new();
    let Ok(answer) = game.evaluate(event.moves(), policy.as_mut_view());
    (answer, policy)
}

/// Playouts under way, and what each has met.
struct Batch {
    events: List<TestEvent>,
    met: List<Gathered>,
}

impl Batch {
    fn new(size: usize) -> Self {
        Self { events: (0..size).map(|_| TestEvent::new()).collect(), met: List::new() }
    }

    /// The playouts under way.
    fn flying(&self) -> &[TestEvent] {
        &self.events[..self.met.len()]
    }

    /// Gathers as many playouts as there is room for; makes room if there is none for a single one.
    fn gather<R: Repository>(&mut self, search: &mut Search<R>) {
        self.met.clear();
        for event in &mut self.events {
            match search.gather(event) {
                met @ (Gathered::Leaf | Gathered::Known | Gathered::Collision) => self.met.push(met),
                Gathered::Full if self.met.is_empty() => {
                    assert!(search.recycle() > 0, "nothing to fold");
                    break;
                }
                _ => break,
            }
        }
    }

    /// Brings the playouts back one by one, the newest first. Returns their number.
    fn answer<R: Repository>(&mut self, search: &Search<R>, game: &mut RandomGame) -> u64 {
        let mut playouts = 0;
        for (event, met) in self.events.iter_mut().zip(&self.met).rev() {
            match met {
                Gathered::Leaf => {
                    let (answer, mut policy) = ask(game, event);
                    search.answer(event, &answer, &mut policy).unwrap();
                }
                Gathered::Known => search.backprop(event).unwrap(),
                _ => search.cancel(event),
            }
            playouts += u64::from(*met != Gathered::Collision);
        }
        self.met.clear();
        playouts
    }
}

impl<R: Repository> Search<R> {
    /// Counts one more visit of a [`Gathered::Known`] node. Any other event is [`Refused::Stale`].
    fn backprop<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> Result<(), Refused> {
        if event.epoch != self.epoch || !matches!(event.stage, Stage::Known { .. }) {
            return Err(Refused::Stale);
        }
        self.bring_back(core::slice::from_mut(event));
        Ok(())
    }
}

/// Does at least `playouts` playouts, `batch` of them under way at a time; fewer if the game has ended. Returns how
/// many.
fn run_in_batches<R: Repository>(search: &mut Search<R>, game: &mut RandomGame, batch: usize, playouts: u64) -> u64 {
    let (mut batch, mut done) = (Batch::new(batch), 0);
    while done < playouts && search.root_node().ending().is_none() {
        batch.gather(search);
        done += batch.answer(search, game);
    }
    done
}

/// A view of all edges with a record, for comparing trees: the path, N, prior, value.
fn shape<R: Repository>(search: &Search<R>) -> List<(List<Move>, u32, u32, Option<Value>)> {
    let mut todo = std::vec![(search.root_node(), List::new())];
    let mut all = List::new();
    while let Some((node, path)) = todo.pop() {
        for edge in node.visited() {
            let mut path: List<Move> = path.clone();
            path.push(edge.mv().unwrap_or_default());
            all.push((path.clone(), edge.n(), edge.p().to_bits(), edge.value()));
            todo.extend(edge.child().map(|child| (child, path)));
        }
    }
    all
}
