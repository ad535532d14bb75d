//! Searches by many threads: when all playouts have come back, nothing is in flight, and every visit and node is where
//! it belongs.
//!
//! The locks are parking_lot's because ThreadSanitizer sees into them; it does not see into those of a standard library
//! that was built without it.

mod games;

use games::{RandomGame, mix};
use oncilla_core::evaluate::{Answer, Evaluator, Verdict};
use oncilla_core::heapless::Vec as Buffer;
use oncilla_core::map::MapRepository;
use oncilla_core::repository::{Key, Node, Repository};
use oncilla_core::search::{Event, Gathered, NodeView, Params, Refused, Search};
use oncilla_core::tree::{GraphWords, NodeWords, Tree};
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const PLIES: usize = 32;
const EDGES: usize = 16;
const SEARCHES: u64 = 1000;

type Playout = Box<Event<PLIES>>;
type Policy = Buffer<f32, EDGES>;

/// What comes back from an evaluator, or without being evaluated.
enum Back {
    Answered(Playout, Answer, Policy),
    Known(Playout),
    Cancelled(Playout),
}

/// How many threads do what, and with how much memory.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seed: u64,
    gatherers: usize,
    evaluators: usize,
    backproppers: usize,
    /// The most playouts under way.
    in_flight: usize,
    /// The number of places in each of the queues.
    queue: usize,
    playouts: u64,
    /// How many events a backprop thread takes at once.
    joined: usize,
    /// One of this many answers is refused.
    cancels: u64,
    /// After this many playouts the tree is forgotten, whatever is under way.
    clear_at: Option<u64>,
    /// Whether some playouts go aside, and some come back aside.
    aside: bool,
    graph: bool,
    nodes: usize,
    words: usize,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let pick = |salt: u64, from: &[usize]| from[(mix(seed, salt) % from.len() as u64) as usize];
        let threads = |place: u32| [1, 2, 4][(seed / 3u64.pow(place) % 3) as usize];
        Self {
            seed,
            gatherers: threads(0),
            evaluators: threads(1),
            backproppers: threads(2),
            in_flight: pick(1, &[1, 4, 16, 16, 40]),
            queue: pick(2, &[1, 3, 10]),
            playouts: pick(3, &[20, 50, 100]) as u64,
            joined: pick(4, &[1, 2, 8]),
            cancels: pick(5, &[3, 16, 1000]) as u64,
            clear_at: mix(seed, 6).is_multiple_of(8).then_some(40),
            aside: mix(seed, 10).is_multiple_of(4),
            graph: seed.is_multiple_of(2),
            nodes: pick(7, &[5, 40, 120, 2000]),
            words: pick(8, &[150, 1000, 4000, 60_000]),
        }
    }

    fn game(&self) -> RandomGame {
        RandomGame { commuting: self.graph, length: 25, ..RandomGame::of(mix(self.seed, 9)) }
    }
}

/// A queue with a limited number of places, which can be closed.
struct Queue<T> {
    items: Mutex<(VecDeque<T>, bool)>,
    changed: Condvar,
    places: usize,
}

impl<T> Queue<T> {
    fn new(places: usize) -> Self {
        Self { items: Mutex::new((VecDeque::new(), true)), changed: Condvar::new(), places }
    }

    /// Waits for a place.
    fn put(&self, item: T) {
        let mut items = self.items.lock();
        self.changed.wait_while(&mut items, |(items, _)| items.len() == self.places);
        items.0.push_back(item);
        self.changed.notify_all();
    }

    /// Waits for an item, and takes up to `most` if more are there; returns none once the queue is closed and empty.
    fn take(&self, most: usize) -> Vec<T> {
        let mut items = self.items.lock();
        self.changed.wait_while(&mut items, |(items, open)| items.is_empty() && *open);
        let taken = items.0.len().min(most);
        let taken = items.0.drain(..taken).collect();
        self.changed.notify_all();
        taken
    }

    fn close(&self) {
        self.items.lock().1 = false;
        self.changed.notify_all();
    }
}

/// What the threads of a search share.
struct Floor<R> {
    search: RwLock<Search<R>>,
    plan: Plan,
    idle: Queue<Playout>,
    to_eval: Queue<Playout>,
    to_backprop: Queue<Back>,
    /// How many playouts have come back.
    done: AtomicU64,
    /// How many of them came back aside.
    aside: AtomicU64,
    /// How many of them had come back when the tree was forgotten.
    forgotten: AtomicU64,
    /// How often in a row there was no room, and nothing to fold.
    full: AtomicUsize,
    over: AtomicBool,
}

impl<R: Repository + Send> Floor<R> {
    fn run(search: Search<R>, plan: Plan) -> Self {
        let floor = Self {
            search: RwLock::new(search),
            plan,
            idle: Queue::new(plan.in_flight),
            to_eval: Queue::new(plan.queue),
            to_backprop: Queue::new(plan.queue),
            done: AtomicU64::new(0),
            aside: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            full: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        };
        (0..plan.in_flight).for_each(|_| floor.idle.put(Playout::default()));
        thread::scope(|scope| {
            let floor = &floor;
            let gatherers: Vec<_> = (0..plan.gatherers).map(|_| scope.spawn(|| floor.gather())).collect();
            let evaluators: Vec<_> =
                (0..plan.evaluators).map(|number| scope.spawn(move || floor.evaluate(number as u64))).collect();
            let backproppers: Vec<_> = (0..plan.backproppers).map(|_| scope.spawn(|| floor.backprop())).collect();
            let watcher = scope.spawn(|| floor.watch());
            // A thread that reads a queue ends once the last thread that writes to it has ended.
            gatherers.into_iter().for_each(|thread| thread.join().unwrap());
            floor.to_eval.close();
            evaluators.into_iter().for_each(|thread| thread.join().unwrap());
            floor.to_backprop.close();
            backproppers.into_iter().for_each(|thread| thread.join().unwrap());
            floor.over.store(true, Relaxed);
            watcher.join().unwrap();
        });
        assert_eq!(floor.idle.take(plan.in_flight).len(), plan.in_flight, "events");
        floor
    }

    fn gather(&self) {
        while self.done.load(Relaxed) < self.plan.playouts && self.full.load(Relaxed) < 200 {
            let mut event = self.idle.take(1).remove(0);
            let search = self.search.read();
            let met = if self.is_aside_now() { search.gather_aside(&mut event) } else { search.gather(&mut event) };
            drop(search);
            if !matches!(met, Gathered::Full) {
                self.full.store(0, Relaxed);
            }
            match met {
                Gathered::Leaf => self.to_eval.put(event),
                Gathered::Known => self.to_backprop.put(Back::Known(event)),
                Gathered::Collision => self.to_backprop.put(Back::Cancelled(event)),
                Gathered::Full => {
                    self.idle.put(event);
                    if self.search.write().recycle() == 0 {
                        self.full.fetch_add(1, Relaxed);
                        thread::yield_now();
                    }
                }
                Gathered::NoMoves => unreachable!("the root of these games goes on"),
            }
        }
    }

    /// About half of the time, if there are such playouts at all.
    fn is_aside_now(&self) -> bool {
        self.plan.aside && self.done.load(Relaxed).is_multiple_of(2)
    }

    fn evaluate(&self, number: u64) {
        let mut game = self.plan.game();
        let mut luck = mix(self.plan.seed, 77 + number);
        while let Some(mut event) = self.to_eval.take(1).pop() {
            luck = mix(luck, 1);
            if luck.is_multiple_of(4) {
                thread::yield_now();
            }
            if luck.is_multiple_of(self.plan.cancels) {
                self.to_backprop.put(Back::Cancelled(event));
                continue;
            }
            if let Some(index) = event.unnamed() {
                let mut moves = Buffer::<_, EDGES>::new();
                game.legal_moves(event.moves(), moves.as_mut_view());
                event.name(moves[index]);
            }
            let mut policy = Policy::new();
            let Ok(answer) = game.evaluate(event.moves(), policy.as_mut_view());
            self.to_backprop.put(Back::Answered(event, answer, policy));
        }
    }

    fn backprop(&self) {
        loop {
            let waiting = self.to_backprop.take(self.plan.joined);
            if waiting.is_empty() {
                return;
            }
            let search = self.search.read();
            let mut events: Vec<Playout> = waiting.into_iter().map(|back| self.settle(&search, back)).collect();
            if self.is_aside_now() {
                let below_root = events.iter().filter(|event| event.is_ready() && event.plies() > 0).count();
                self.aside.fetch_add(below_root as u64, Relaxed);
                search.bring_back_aside(&mut events);
            } else {
                search.bring_back(&mut events);
            }
            drop(search);
            self.forget_the_tree();
            events.into_iter().for_each(|event| self.idle.put(event));
        }
    }

    /// Settles an event or takes it back, and counts it if it will come back.
    fn settle(&self, search: &Search<R>, back: Back) -> Playout {
        match back {
            Back::Answered(mut event, answer, mut policy) => {
                match search.settle(&mut event, &answer, &mut policy) {
                    Ok(()) => _ = self.done.fetch_add(1, Relaxed),
                    Err(Refused::NoRoom | Refused::Stale) => {}
                    Err(refused) => panic!("{refused:?}"),
                }
                event
            }
            Back::Known(event) => {
                self.done.fetch_add(1, Relaxed);
                event
            }
            Back::Cancelled(mut event) => {
                search.cancel(&mut event);
                event
            }
        }
    }

    /// Forgets the tree, once, with whatever is under way. What comes back later is stale.
    fn forget_the_tree(&self) {
        let Some(at) = self.plan.clear_at else { return };
        if self.done.load(Relaxed) >= at && self.forgotten.load(Relaxed) == 0 {
            let mut search = self.search.write();
            if self.forgotten.swap(self.done.load(Relaxed), Relaxed) == 0 {
                search.clear();
            }
        }
    }

    /// Reads while other threads write, as a watchdog does.
    fn watch(&self) {
        while !self.over.load(Relaxed) {
            let search = self.search.read();
            let mut line = Buffer::<_, PLIES>::new();
            if let Some(best) = search.best_edge() {
                search.pv(&best, line.as_mut_view());
                let below = best.child().map_or(0, |child| child.edges().map(|edge| edge.n()).sum());
                let beside = self.aside.load(Relaxed) as u32 + self.plan.in_flight as u32;
                assert!(below <= search.visits() + beside);
            }
            drop(search);
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Checks every node of a search that has drained.
fn audit<R: Repository>(search: &Search<R>, plan: &Plan) {
    let repository = search.repository();
    let live: HashSet<Key> = repository.nodes().map(|node| node.key()).collect();
    let mut reached = HashSet::new();
    let mut todo: Vec<_> = search.root().map(|root| (root, Vec::new())).into_iter().collect();
    while let Some((node, path)) = todo.pop() {
        if !reached.insert(node.key()) {
            assert!(plan.graph, "two ways to one node of a tree");
            continue;
        }
        audit_node(&node, &path, plan);
        for edge in node.visited() {
            let (Some(child), Some(mv)) = (edge.child(), edge.mv()) else { continue };
            todo.push((child, path.iter().copied().chain([mv]).collect()));
        }
        // Children that have not been answered have no name.
        reached
            .extend(node.visited().filter(|edge| edge.mv().is_none()).filter_map(|edge| edge.child()).map(|c| c.key()));
    }
    assert_eq!(reached, live, "nodes that hang on the root, and nodes in use");
    assert_eq!(live.len(), repository.live_nodes());
}

fn audit_node<R: Repository>(node: &NodeView<'_, R>, path: &[oncilla_core::Move], plan: &Plan) {
    assert!(node.read(|node| !node.is_pending() && !node.is_pinned()), "{path:?}");
    let (n, mean, bounds) = node.read(|node| (node.n(), node.mean(), node.bounds()));
    let whole = node.read(|node| node.is_expanded() && !node.is_regrown());
    assert_eq!(node.in_flight(), 0, "{path:?}");
    for edge in node.visited().filter(|_| !(plan.aside && path.is_empty())) {
        let kept = edge.child().map_or(0, |child| child.n());
        assert!(plan.graph || edge.child().is_none() || kept <= edge.n(), "{path:?} {:?}", edge.mv());
        let room = plan.words >= 60_000 && !plan.graph;
        let restoring = edge.child().is_some_and(|child| child.read(Node::is_restoring));
        assert!(
            !room || edge.child().is_none() || restoring || kept == edge.n(),
            "{path:?} {:?}: {} {kept}",
            edge.mv(),
            edge.n()
        );
    }
    if node.ending().is_some() {
        assert!(bounds.closed() && mean.wl == bounds.lower.value().wl, "{path:?} {bounds:?} {mean:?}");
        return;
    }
    if !whole {
        return;
    }
    let below: u32 = node.visited().map(|edge| edge.completed()).sum();
    assert_eq!(below, n - 1, "{path:?}");
    let game = plan.game();
    let Verdict::Position(own) = game.verdict(game.position(path.iter().copied())) else {
        panic!("{path:?} has ended")
    };
    let sum = node.visited().fold([own.wl, own.d, own.m].map(f64::from), |sum, edge| {
        let Some(value) = edge.value() else { return sum };
        let n = f64::from(edge.completed());
        let parts = [value.wl, value.d, value.m + 1.0].map(|part| n * f64::from(part));
        [sum[0] + parts[0], sum[1] + parts[1], sum[2] + parts[2]]
    });
    let off = |mean: f32, sum: f64| (f64::from(mean) - sum / f64::from(n)).abs();
    assert!(off(mean.wl, sum[0]) < 1e-5 && off(mean.d, sum[1]) < 1e-5 && off(mean.m, sum[2]) < 1e-3, "{path:?}");
}

fn check<R: Repository + Send>(search: Search<R>, plan: Plan) -> u64 {
    let floor = Floor::run(search, plan);
    let (done, forgotten, aside) = (floor.done.into_inner(), floor.forgotten.into_inner(), floor.aside.into_inner());
    let search = floor.search.into_inner();
    audit(&search, &plan);
    if forgotten == 0 {
        let (counted, restored) = (u64::from(search.visits()) + aside, u64::from(search.restored()));
        // What comes back aside may restore, too.
        let range = if aside == 0 { counted + restored..=counted + restored } else { counted..=counted + restored };
        assert!(range.contains(&done), "visits of the root: {range:?}, and playouts that came back: {done}");
    }
    done
}

fn words<T>(len: usize, word: impl Fn() -> T) -> Vec<T> {
    (0..len).map(|_| word()).collect()
}

#[test]
fn what_has_drained_is_whole() {
    let mut playouts = 0;
    for plan in (0..SEARCHES).map(Plan::of) {
        let params = Params::default();
        // One search of ten is in a hash map.
        playouts += if plan.seed % 10 < 9 {
            let nodes: Vec<NodeWords> = words(plan.nodes, || std::array::from_fn(|_| AtomicU32::new(7)));
            let edges = words(plan.words, || AtomicU32::new(7));
            let graph: Vec<GraphWords> = words(plan.nodes, || std::array::from_fn(|_| AtomicU32::new(7)));
            let tree = if plan.graph { Tree::new_graph(&nodes, &edges, &graph) } else { Tree::new(&nodes, &edges) };
            check(Search::new(tree, params), plan)
        } else if plan.graph {
            check(Search::new(MapRepository::new_graph(plan.nodes), params), plan)
        } else {
            check(Search::new(MapRepository::new(plan.nodes), params), plan)
        };
    }
    assert!(playouts > 40 * SEARCHES, "{playouts}");
}
