//! Measures what a search loses in move quality and in time if it has too little memory.
//!
//! The evaluator counts material and mobility, so it is cheap, but prefers some moves. A playout that only restores a
//! folded node counts as a playout here, so the small tree does not get more evaluations than the large one. The long
//! runs are ignored here; ci/nightly runs them.

use oncilla_chess::cozy_chess::{
    Board, get_bishop_moves, get_king_moves, get_knight_moves, get_pawn_attacks, get_rook_moves,
};
use oncilla_chess::{Color, History, Move as ChessMove, MoveList, Piece, TwoFold, pack};
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Value, Verdict};
use oncilla_core::repository::Repository;
use oncilla_core::search::{EdgeView, Event, Gathered, Params, Search};
use oncilla_core::tree::{NodeWords, Tree};
use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of nodes of the small tree.
const SMALL: usize = 10_000;
/// The number of words for edges per node.
const WORDS_PER_NODE: usize = 25;
/// The number of words per node with which nodes run out first in any position.
const AMPLE_WORDS: usize = 60;
/// The number of playouts of each of the two searches.
const PLAYOUTS: u64 = 200_000;
/// The largest acceptable loss of value of the chosen move against the best one.
const TOLERANCE: f32 = 0.02;
/// The share of positions in which the loss must not be larger: 95 of 100.
const SHARE: (usize, usize) = (95, 100);
/// The longest time for which folding may interrupt a search.
const PAUSE: Duration = Duration::from_millis(50);

/// The memory of a tree.
struct Room {
    nodes: Vec<NodeWords>,
    words: Vec<AtomicU32>,
}

impl Room {
    fn new(nodes: usize, words_per_node: usize) -> Self {
        Self {
            nodes: (0..nodes).map(|_| NodeWords::default()).collect(),
            words: (0..nodes * words_per_node).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn search(&self) -> Search<Tree<'_>> {
        Search::new(Tree::new(&self.nodes, &self.words), Params::default())
    }
}

/// The value of a piece in pawns.
fn pawns(piece: Piece) -> f32 {
    match piece {
        Piece::Pawn => 1.0,
        Piece::Knight | Piece::Bishop => 3.0,
        Piece::Rook => 5.0,
        Piece::Queen => 9.0,
        Piece::King => 0.0,
    }
}

/// Material in pawns, plus 0.05 pawns for each square that a piece can move to.
fn strength(board: &Board, color: Color) -> f32 {
    let (own, all) = (board.colors(color), board.occupied());
    let mut sum = 0.0;
    for piece in Piece::ALL {
        for square in board.colored_pieces(color, piece) {
            let squares = match piece {
                Piece::Pawn => get_pawn_attacks(square, color) & board.colors(!color),
                Piece::Knight => get_knight_moves(square) - own,
                Piece::Bishop => get_bishop_moves(square, all) - own,
                Piece::Rook => get_rook_moves(square, all) - own,
                Piece::Queen => (get_bishop_moves(square, all) | get_rook_moves(square, all)) - own,
                Piece::King => get_king_moves(square) - own,
            };
            sum += pawns(piece) + 0.05 * squares.len() as f32;
        }
    }
    sum
}

/// The value by `strength`; two pawns ahead are a clear advantage.
fn value(board: &Board) -> Value {
    let mover = board.side_to_move();
    let ahead = strength(board, mover) - strength(board, !mover);
    Value { wl: (ahead / 4.0).tanh(), d: 0.0, m: 0.0 }
}

/// Captures and promotions have the largest logits; a larger victim and a smaller capturing piece make a logit larger.
fn logit(board: &Board, mv: ChessMove) -> f32 {
    let victim = board.piece_on(mv.to).filter(|_| board.color_on(mv.to) == Some(!board.side_to_move()));
    let taken = victim.map_or(0.0, |victim| 1.0 + pawns(victim) - board.piece_on(mv.from).map_or(0.0, pawns) / 5.0);
    0.4 * (taken + mv.promotion.map_or(0.0, pawns))
}

/// Makes playouts from a position in one thread.
struct Player {
    history: History,
    root_len: usize,
    moves: MoveList,
    logits: Vec<f32>,
    event: Box<Event>,
    pauses: Pauses,
}

/// The number and the longest durations of the interruptions to make room.
#[derive(Clone, Copy, Default)]
struct Pauses {
    count: u64,
    /// Wall-clock time, which includes the time of other programs.
    longest: Duration,
    /// This thread's processor time, as precisely as the system reports it.
    longest_own: Duration,
}

impl Pauses {
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            longest: self.longest.max(other.longest),
            longest_own: self.longest_own.max(other.longest_own),
        }
    }
}

/// This thread's processor time, which the system updates at each scheduler tick.
fn own_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

impl Player {
    fn new(fen: &str) -> Self {
        let history: History = History::from_fen(fen).unwrap_or_else(|error| panic!("{fen}: {error}"));
        Self {
            root_len: history.len(),
            history,
            moves: MoveList::new(),
            logits: Vec::new(),
            event: Box::default(),
            pauses: Pauses::default(),
        }
    }

    /// Makes `playouts` playouts, including those that restore folded nodes.
    fn play<R: Repository>(&mut self, search: &mut Search<R>, playouts: u64) {
        let mut done = u64::from(search.visits());
        while done < playouts {
            match search.gather(&mut self.event) {
                Gathered::Leaf => self.answer(search),
                Gathered::Known => search.bring_back(std::slice::from_mut(&mut *self.event)),
                Gathered::Full => {
                    self.recycle(search);
                    continue;
                }
                met @ (Gathered::Collision | Gathered::NoMoves) => panic!("{met:?}, and nothing else is in flight"),
            }
            done += 1;
        }
        assert_eq!(u64::from(search.visits()) + u64::from(search.restored()), playouts, "no visit is lost");
    }

    fn answer<R: Repository>(&mut self, search: &Search<R>) {
        assert!(self.history.replay(self.root_len, self.event.moves().map(|mv| mv.0)), "the root is remembered");
        if let Some(index) = self.event.unnamed() {
            let mv = self.history.nth_legal_move(index).expect("a legal move");
            self.event.name(Move(pack(mv)));
            self.history.push(mv);
        }
        self.history.legal_moves(&mut self.moves);
        let board = self.history.board();
        self.logits.clear();
        self.logits.extend(self.moves.iter().map(|&mv| logit(board, mv)));
        let ended = self.history.terminal_given_moves(!self.moves.is_empty(), self.event.plies(), TwoFold::Ignored);
        let verdict = match ended {
            Some(terminal) if terminal.is_draw() => Verdict::drawn(),
            Some(_) => Verdict::lost(),
            None => Verdict::Position(value(board)),
        };
        search.answer(&mut *self.event, &Answer { key: 0, verdict }, &mut self.logits).expect("room for the answer");
    }

    fn recycle<R: Repository>(&mut self, search: &mut Search<R>) {
        let (begun, own) = (Instant::now(), own_time());
        let freed = search.recycle();
        let longest = begun.elapsed();
        let longest_own = own_time().zip(own).map_or(longest, |(end, start)| end - start);
        self.pauses = self.pauses.plus(Pauses { count: 1, longest, longest_own });
        assert!(freed > 0, "a full tree has something to fold");
    }
}

/// The positions of the fixture.
fn positions() -> Vec<String> {
    let path = oncilla_testing::fixtures().join("positions/recycling.epd");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_string).collect()
}

/// The loss of value of the small tree's move, according to the large tree.
struct Loss {
    /// Against the move that the large tree chooses.
    from_choice: f32,
    /// Against the move with the largest Q in the large tree.
    from_largest: f32,
}

fn loss(fen: &str, pauses: &Mutex<Pauses>) -> Loss {
    let (small, large) = (Room::new(SMALL, WORDS_PER_NODE), Room::new(PLAYOUTS as usize + 1, AMPLE_WORDS));
    let mut player = Player::new(fen);
    let mut bounded = small.search();
    player.play(&mut bounded, PLAYOUTS);
    let best = bounded.best_edge().expect("a visited move");
    let chosen = best.mv().expect("a visited move");
    // A move that mates is proven, and its search ends early.
    assert!(player.pauses.count > 0 || best.bounds().closed(), "the small tree was never full: {fen}");
    let mut total = pauses.lock().unwrap_or_else(PoisonError::into_inner);
    *total = total.plus(player.pauses);
    drop(total);

    let mut player = Player::new(fen);
    let mut unbounded = large.search();
    player.play(&mut unbounded, PLAYOUTS);
    assert_eq!(player.pauses.count, 0, "the large tree has room for all");
    let worth = |edge: EdgeView<'_, _>| edge.q(0.0).expect("a visited move");
    let best = worth(unbounded.best_edge().expect("a move"));
    let root = || unbounded.root().expect("a root").visited();
    let largest = root().filter_map(|edge| edge.q(0.0)).fold(f32::NEG_INFINITY, f32::max);
    let ours = root().find(|edge| edge.mv() == Some(chosen)).map_or(-1.0, worth);
    Loss { from_choice: best - ours, from_largest: largest - ours }
}

/// Writes a line to standard error, past the test runner, which hides the output of `eprintln!` if a test passes.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Compares the searches on some of the positions, on all cores.
fn compare(fens: &[String]) {
    let (next, pauses, losses) = (AtomicUsize::new(0), Mutex::default(), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(fens.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(fen) = fens.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let loss = loss(fen, &pauses);
                    if loss.from_choice > TOLERANCE {
                        say(&format!("{:.4} less than the best move in {fen}", loss.from_choice));
                    }
                    losses.lock().unwrap_or_else(PoisonError::into_inner).push(loss);
                }
            });
        }
    });
    let losses = losses.into_inner().unwrap_or_else(PoisonError::into_inner);
    let within = |of: fn(&Loss) -> f32| losses.iter().filter(|loss| of(loss) <= TOLERANCE).count();
    let (choice, largest) = (within(|loss| loss.from_choice), within(|loss| loss.from_largest));
    let worst = losses.iter().map(|loss| loss.from_choice).fold(0.0, f32::max);
    let Pauses { count, longest, longest_own } = pauses.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!(
        "{choice} of {} moves within {TOLERANCE} of the large tree's choice ({largest} of its largest value), \
         worst {worst:.4}; {count} pauses, longest {longest:.1?}, {longest_own:.1?} of own time",
        losses.len()
    ));
    assert_eq!(losses.len(), fens.len(), "every position was looked at");
    assert!(choice * SHARE.1 >= SHARE.0 * losses.len(), "{choice} of {} are too few", losses.len());
}

/// Checks every tenth position.
#[test]
fn a_small_tree_chooses_as_a_large_one() {
    compare(&positions().into_iter().step_by(10).collect::<Vec<_>>());
}

#[test]
#[ignore = "takes minutes"]
fn a_small_tree_chooses_as_a_large_one_in_all_positions() {
    compare(&positions());
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_playouts_in_ten_thousand_nodes() {
    let room = Room::new(SMALL, WORDS_PER_NODE);
    let mut search = room.search();
    let mut player = Player::new(&positions()[0]);
    player.play(&mut search, 10_000_000);
    say(&format!("10,000,000 playouts in {SMALL} nodes: {} visits, {} pauses", search.visits(), player.pauses.count));
    assert!(search.repository().live_nodes() <= SMALL);
    assert!(search.best_move().is_some());
}

/// Pauses can be measured only if nothing else runs on the cores.
#[test]
#[ignore = "measures time, and takes minutes"]
fn folding_does_not_stop_a_search_for_long() {
    for (nodes, playouts) in [(SMALL, PLAYOUTS), (5_000_000, 7_000_000)] {
        let room = Room::new(nodes, WORDS_PER_NODE);
        let mut player = Player::new(&positions()[0]);
        player.play(&mut room.search(), playouts);
        let Pauses { count, longest, longest_own } = player.pauses;
        say(&format!("{nodes} nodes: {count} pauses, longest {longest:.1?}, {longest_own:.1?} of own time"));
        assert!(count > 0, "the tree was never full");
        assert!(longest_own.min(longest) < PAUSE, "a pause of {longest_own:?}");
    }
}
