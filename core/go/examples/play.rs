//! `cargo run --release -p oncilla-go --example play` plays a game of Go on 5 × 5 against itself, and prints it.
//!
//! The evaluator knows the score where the game is over. Elsewhere it gives each point to the nearest stone. So it
//! plays badly, but by the rules, and it finds what wins if that is near.

use std::convert::Infallible;
use std::sync::Mutex;

use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
use oncilla_core::heapless::VecView;
use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
use oncilla_core::tree::TreeMemory;
use oncilla_go::{Color, Game, Move, Outcome, Rules, Size};

/// The longest game, and how far a search looks beyond it.
const MOVES: usize = 100;
const DEPTH: usize = 60;
/// Points of lead that make a position as good as won.
const SURE: f32 = 10.0;
/// Logits: a pass, and a move that fills what may be an eye. All other moves have 0.
const PASS: f32 = -2.0;
const FILL: f32 = -4.0;
/// Static, since it is too much for a stack.
static MEMORY: Mutex<TreeMemory<20_000, 1_000_000>> = Mutex::new(TreeMemory::new());

type Record = Game<{ MOVES + DEPTH }>;

/// Evaluates positions that follow on a game.
struct Player(Record);

impl Player {
    fn after(&self, line: Moves<'_>) -> Record {
        line.fold(self.0.clone(), |mut game, mv| {
            game.play(Move(mv.0)).expect("the search plays legal moves, and not too many");
            game
        })
    }
}

impl Evaluator for Player {
    type Error = Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<oncilla_core::Move>) {
        moves.extend(self.after(line).legal_moves().map(|mv| oncilla_core::Move(mv.0)));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Infallible> {
        let game = self.after(line);
        policy.extend(game.legal_moves().map(|mv| logit(&game, mv)));
        let own = if game.side_to_move() == Color::White { 1.0 } else { -1.0 };
        let verdict = match game.outcome() {
            Some(Outcome::WhiteLead(0.0) | Outcome::NoResult | Outcome::ToBeAgreed) => Verdict::drawn(),
            Some(Outcome::WhiteLead(lead)) if own * lead > 0.0 => Verdict::won(),
            Some(Outcome::WhiteLead(_)) => Verdict::lost(),
            None => Verdict::Position(Value { wl: (own * nearest(&game) / SURE).tanh(), ..Value::EVEN }),
        };
        // A tree does not look at it. It is one because superko asks for all that went before: a graph would join few
        // positions.
        Ok(Answer { key: game.graph_key(), verdict })
    }
}

/// White's lead if each point were the nearest stone's.
fn nearest(game: &Record) -> f32 {
    let at = |mv| game.size().coordinates(mv).map_or((0, 0), |(x, y)| (i32::from(x), i32::from(y)));
    let distance = |((x, y), (u, v)): ((i32, i32), (i32, i32))| (x - u).abs() + (y - v).abs();
    let to = |point, color| game.board().stones(color).iter().map(|stone| distance((at(point), at(stone)))).min();
    let owner = |point| to(point, Color::Black).unwrap_or(99) - to(point, Color::White).unwrap_or(99);
    game.size().points().map(|point| owner(point).signum() as f32).sum::<f32>() + game.compensation()
}

fn logit(game: &Record, mv: Move) -> f32 {
    if mv == game.size().pass() {
        return PASS;
    }
    let own = Some(game.side_to_move());
    if game.board().neighbours(mv).all(|beside| game.board().stone(beside) == own) { FILL } else { 0.0 }
}

/// The move to play after some playouts, at least one.
pub fn best_move(game: &Record, playouts: u64) -> Move {
    let mut memory = MEMORY.lock().expect("no search panics");
    let mut search = Search::new(memory.lend(), Params::default());
    let mut player = Player(game.clone());
    search.run(&mut player, MostMoves::<26>, MostPlies::<DEPTH>, playouts).expect("every leaf gets its answer");
    let nth = |place| oncilla_core::Move(game.legal_moves().nth(place).expect("a place among these").0);
    search.move_to_play(0, nth).map_or(game.size().pass(), |mv| Move(mv.0))
}

/// Plays a game to its end, or for [`MOVES`] moves.
pub fn play(playouts: u64, mut each: impl FnMut(&Record, Move)) -> Record {
    let mut game = Game::new(Size::new(5, 5).expect("a size"), Rules::TROMP_TAYLOR);
    while game.ending().is_none() && game.ply() < MOVES {
        let mv = best_move(&game, playouts);
        game.play(mv).expect("a legal move");
        each(&game, mv);
    }
    game
}

#[allow(dead_code, reason = "a test uses the rest")]
fn main() {
    let game = play(4000, |game, mv| println!("{}. {}\n{}", game.ply(), game.size().format(mv), game.board()));
    println!("{:?}", game.outcome());
}
