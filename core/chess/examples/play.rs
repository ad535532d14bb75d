//! `cargo run --release -p oncilla-chess --example play [FEN]` plays a game of chess against itself, and prints it.
//!
//! The evaluator has no network: it counts material, after what the best move gains by exchanges, and prefers moves
//! that gain. So it knows nothing of position, but plays by the rules, drops no piece, and finds mates that are near.
//! One search, in a graph, is kept for the whole game: it moves on with the game, and so does the evaluator.

use std::convert::Infallible;
use std::sync::Mutex;

use oncilla_chess::exchanges::{self, worth};
use oncilla_chess::{
    Castling, FenError, History, MIN_CAP, Move, MoveList, Piece, Terminal, TwoFold, notation, pack, unpack,
};
use oncilla_core::evaluate::{Answer, Ending, Evaluator, Moves, Value, Verdict};
use oncilla_core::heapless::VecView;
use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
use oncilla_core::tree::GraphMemory;

/// How far a search looks.
const DEPTH: usize = 60;
/// Centipawns of material that make a position nearly won.
const SURE: f32 = 600.0;
/// What exchanges count for in the policy.
const EXCHANGES: f32 = 2.0;
/// Static, since it is too much for a stack.
static MEMORY: Mutex<GraphMemory<20_000, 500_000>> = Mutex::new(GraphMemory::new());

pub type Record = History<{ MIN_CAP + DEPTH }>;

/// Evaluates positions that follow on a game. Its history goes to a leaf and comes back.
struct Player {
    history: Record,
    /// How many positions of the history the search's root is at the end of.
    root: usize,
    moves: MoveList,
}

impl Player {
    fn of(history: Record) -> Self {
        Self { root: history.len(), history, moves: MoveList::new() }
    }

    /// Plays the moves to a leaf, and lists the legal moves there.
    fn follow(&mut self, line: Moves<'_>) {
        let held = self.history.replay(self.root, line.map(|mv| mv.0));
        assert!(held, "the history has room for the deepest line");
        self.history.legal_moves(&mut self.moves);
    }

    /// The game goes on by a move: lines begin after it.
    fn advance(&mut self, mv: Move) {
        self.history.truncate(self.root);
        self.history.push(mv);
        self.root = self.history.len();
    }
}

impl Evaluator for Player {
    type Error = Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<oncilla_core::Move>) {
        self.follow(line);
        moves.extend(self.moves.iter().map(|&mv| oncilla_core::Move(pack(mv))));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Infallible> {
        let plies = line.len();
        self.follow(line);
        let key = self.history.graph_key();
        if let Some(end) = self.history.terminal_given_moves(!self.moves.is_empty(), plies, TwoFold::Draw) {
            return Ok(Answer { key, verdict: verdict(end) });
        }
        let mut gains = vec![0; self.moves.len()];
        exchanges::gains(self.history.board(), &self.moves, &mut gains);
        policy.extend(self.moves.iter().map(|_| 0.0));
        exchanges::correct(policy, &gains, EXCHANGES);
        let best = gains.iter().max().copied().unwrap_or_default();
        let wl = ((material(&self.history) + best) as f32 / SURE).tanh();
        Ok(Answer { key, verdict: Verdict::Position(Value { wl, ..Value::EVEN }) })
    }
}

fn verdict(end: Terminal) -> Verdict {
    match end {
        Terminal::Checkmate => Verdict::lost(),
        Terminal::TwoFold { cycle } => Verdict::Terminal(Value { m: cycle.into(), ..Value::DRAW }, Ending::TwoFold),
        _ => Verdict::drawn(),
    }
}

/// The material of the side to move, less the other side's.
fn material(history: &Record) -> i32 {
    let (board, side) = (history.board(), history.side_to_move());
    let count = |piece, color| board.colored_pieces(color, piece).len() as i32;
    Piece::ALL.iter().map(|&piece| worth(piece) * (count(piece, side) - count(piece, !side))).sum()
}

/// Plays from a position to the game's end, or for `plies` moves, with so many playouts for each move (at least one).
/// `each` gets the position before each move, the move, and the visits that its search began with.
pub fn play(
    fen: &str,
    playouts: u64,
    plies: usize,
    mut each: impl FnMut(&Record, Move, u32),
) -> Result<Record, FenError> {
    let mut player = Player::of(History::from_fen(fen)?);
    let mut memory = MEMORY.lock().expect("no search panics");
    let mut search = Search::new(memory.lend(), Params::default());
    for _ in 0..plies {
        if player.history.terminal(1, TwoFold::Ignored).is_some() {
            break;
        }
        let begun_with = search.visits();
        search.run(&mut player, MostMoves::<256>, MostPlies::<DEPTH>, playouts).expect("every leaf gets its answer");
        player.history.truncate(player.root);
        let nth = |place| player.history.nth_legal_move(place).map(pack).expect("a place among the legal moves");
        let mv = search.move_to_play(0, |place| oncilla_core::Move(nth(place))).expect("the game goes on");
        each(&player.history, unpack(mv.0), begun_with);
        search.advance(&[mv]);
        player.advance(unpack(mv.0));
    }
    Ok(player.history)
}

#[allow(dead_code, reason = "a test uses the rest")]
fn main() -> Result<(), FenError> {
    let fen = std::env::args().nth(1).unwrap_or_else(|| oncilla_chess::Board::startpos().to_string());
    let print =
        |history: &Record, mv, _| println!("{}", notation::format_move(history.board(), mv, Castling::Standard));
    let game = play(&fen, 2000, 200, print)?;
    println!("{}\n{:?}", game.board(), game.terminal(1, TwoFold::Ignored));
    Ok(())
}
