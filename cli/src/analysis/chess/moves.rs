//! Reads the moves of a query: those that were played, and the rules for those that may be searched.

use oncilla_chess::{Board, Color, History, Move, MoveList, Rank, notation, pack, unpack};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{Restriction, Restrictions};
use crate::fields::{self, A_PLAYER, BadField, Fields, MoveRule};
use crate::san;

/// The start position and the moves that were played; two bytes per move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    /// `None` for the usual start position.
    fen: Option<Box<str>>,
    /// Packed moves; castling is written as king takes rook.
    moves: Box<[u16]>,
}

impl Game {
    /// The memory that the game uses, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.moves) + self.fen.as_ref().map_or(0, |fen| fen.len())
    }

    /// The start position.
    pub fn start(&self) -> History {
        match &self.fen {
            None => History::startpos(),
            // The FEN has been parsed once already, so this can't fail.
            Some(fen) => History::from_fen(fen).unwrap_or_else(|_| History::startpos()),
        }
    }

    /// Plays the moves with the indices `from..to`.
    pub fn play(&self, history: &mut History, from: usize, to: usize) {
        self.moves[from..to].iter().for_each(|&mv| history.push(unpack(mv)));
    }
}

/// A move as text, and the player of it if the query names one.
pub struct Played<'o> {
    player: Option<Color>,
    text: &'o str,
}

const PLAYED: &str = "Must specify an array of moves: strings such as \"e2e4\" or \"Nf3\", or [player,move] pairs";

/// Reads `moves`.
///
/// # Errors
/// Not a list of moves. Whether the moves are legal is checked by [`replay`].
pub fn played(fields: Fields<'_>) -> Result<Vec<Played<'_>>, BadField> {
    let bad = |error: String| BadField::new("moves", error);
    let list = fields.get("moves").ok_or_else(|| bad(PLAYED.to_string()))?;
    let shape = "Must be an array of moves, or of pairs of the form: [\"b\" or \"w\", move]";
    let list = list.as_array().ok_or_else(|| bad(shape.to_string()))?;
    let mut moves = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let (player, text) = match (value, value.as_array().map(Vec::as_slice)) {
            (Value::String(text), _) => (None, text.as_str()),
            (_, Some([Value::String(player), Value::String(text)])) => (Some(player.as_str()), text.as_str()),
            _ => return Err(bad(shape.to_string())),
        };
        let player = match player {
            None => None,
            Some(text) => Some(read_player(text).ok_or_else(|| bad(format!("Could not parse player: {text}")))?),
        };
        if !is_move(text) {
            return Err(bad(format!("{} at turn {index}", no_move(text))));
        }
        moves.push(Played { player, text: text.trim() });
    }
    Ok(moves)
}

/// Plays the moves from `start`, which is the position of `fen`, or the usual start position without one.
///
/// # Errors
/// A move is not legal.
pub fn replay(fen: Option<&str>, start: History, moves: &[Played<'_>]) -> Result<Game, BadField> {
    let mut history = start;
    let mut packed = Vec::with_capacity(moves.len());
    for (index, played) in moves.iter().enumerate() {
        let mover = history.side_to_move();
        let mv = read_legal(history.board(), played.text);
        let reason = match (mv, played.player) {
            (Some(_), Some(player)) if player != mover => format!(" ({mover:?} is to move)"),
            (Some(mv), _) => {
                history.push(mv);
                packed.push(pack(mv));
                continue;
            }
            (None, _) if read_move(played.text).is_some() => String::new(),
            (None, _) => format!(" (expected {})", san::expected(history.board(), played.text)),
        };
        return Err(BadField::new("moves", format!("Illegal move {index}: {}{reason}", played.text)));
    }
    Ok(Game { fen: fen.map(Box::from), moves: packed.into() })
}

/// Checks `initialPlayer`, which adds nothing to the position.
///
/// # Errors
/// Not a player, or not the side to move.
pub fn initial_player(fields: Fields<'_>, start: &History) -> Result<(), BadField> {
    let player = fields.read("initialPlayer", A_PLAYER, |value| read_player(value.as_str()?))?;
    let mover = start.side_to_move();
    match player.is_none_or(|player| player == mover) {
        true => Ok(()),
        false => Err(BadField::new("initialPlayer", format!("{mover:?} is to move in the position"))),
    }
}

/// Reads a player: its name or the first letter of that, in any case.
fn read_player(text: &str) -> Option<Color> {
    match text.to_ascii_lowercase().as_str() {
        "w" | "white" => Some(Color::White),
        "b" | "black" => Some(Color::Black),
        _ => None,
    }
}

/// Reads a move in UCI notation (two squares, and perhaps a promotion). White space around it and capitals are
/// accepted.
fn read_move(text: &str) -> Option<Move> {
    let text = text.trim();
    // The library's parser ignores characters after the move, so the length is checked here.
    (4..=5).contains(&text.len()).then(|| text.to_ascii_lowercase().parse().ok())?
}

/// Reads a legal move: in UCI notation, or else in algebraic notation.
fn read_legal(board: &Board, text: &str) -> Option<Move> {
    let in_uci = || notation::parse_move(board, &text.to_ascii_lowercase()).ok();
    let in_san = || san::read(board, text);
    if names_a_bishop(text) { in_san().or_else(in_uci) } else { in_uci().or_else(in_san) }
}

/// Whether a text that is UCI notation with a capital `B` may be a bishop's move with its rank or file (`B1c3`).
fn names_a_bishop(text: &str) -> bool {
    text.trim().strip_prefix('B').is_some_and(|rest| rest.contains(|c: char| c.is_ascii_lowercase()))
}

/// Whether a text is a move in some position.
fn is_move(text: &str) -> bool {
    read_move(text).is_some() || san::has_form(text.trim())
}

fn no_move(text: &str) -> String {
    format!(
        "Could not parse move: {text}: expected UCI as in \"g1f3\", or algebraic notation as in \"Nf3\" and \"O-O\","
    )
}

/// `avoidMoves` or `allowMoves`, with the moves still as text.
pub type MoveRules<'o> = fields::MoveRules<Color, Vec<&'o str>>;
type Rule<'o> = MoveRule<Color, Vec<&'o str>>;

/// The only position that the query asks for, with the number of moves played before it.
struct Place {
    turn: usize,
    history: History,
}

impl MoveRules<'_> {
    /// The restrictions of the search; `None` without rules.
    ///
    /// # Errors
    /// A move in algebraic notation is not legal in the position, or there is no single position in which to read it.
    pub fn restrictions(
        &self,
        game: &Game,
        turns: &BTreeMap<usize, i64>,
    ) -> Result<Option<Arc<Restrictions>>, BadField> {
        let place = self.place(game, turns);
        let mut restrictions = Restrictions::default();
        for rule in &self.rules {
            let moves = rule.moves.iter().map(|text| rule.read(text, place.as_ref()));
            let moves = moves.collect::<Result<Vec<_>, _>>()?;
            restrictions.add(Restriction { player: rule.player, moves, only: self.only }, rule.until_depth);
        }
        Ok(Some(Arc::new(restrictions)).filter(|restrictions| !restrictions.is_empty()))
    }

    /// The position in which the moves of the rules are read; `None` if no move needs one, or if the query asks for
    /// several positions.
    fn place(&self, game: &Game, turns: &BTreeMap<usize, i64>) -> Option<Place> {
        let mut moves = self.rules.iter().flat_map(|rule| &rule.moves);
        let turn = *turns.keys().next().filter(|_| turns.len() == 1)?;
        let needs_place = |text: &str| read_move(text).is_none_or(may_lack_piece) || names_a_bishop(text);
        moves.any(|text| needs_place(text)).then(|| {
            let mut history = game.start();
            game.play(&mut history, 0, turn);
            Place { turn, history }
        })
    }
}

impl Rule<'_> {
    fn read(&self, text: &str, place: Option<&Place>) -> Result<Move, BadField> {
        let in_san = |place: &Place| san::read(place.history.board(), text.trim());
        let bishops = place.filter(|_| names_a_bishop(text)).and_then(in_san);
        if let Some(mv) = bishops.or_else(|| read_move(text)) {
            let lacks_piece = |place: &&Place| place.history.side_to_move() == self.player && place.lacks_piece(mv);
            return match place.filter(lacks_piece) {
                None => Ok(mv),
                Some(_) => Err(unread(text, "expected the piece that the pawn becomes, as in \"a7a8q\"")),
            };
        }
        let expected = match place {
            None => "expected UCI as in \"g1f3\" where several positions are asked for".to_string(),
            Some(Place { turn, history }) if history.side_to_move() != self.player => {
                format!("expected UCI as in \"g1f3\" for who is not to move at turn {turn}")
            }
            Some(place) => match in_san(place) {
                Some(mv) => return Ok(mv),
                None => {
                    let expected = san::expected(place.history.board(), text.trim());
                    format!("expected {expected} at turn {}", place.turn)
                }
            },
        };
        Err(unread(text, &expected))
    }
}

/// Whether a move may be a promotion that does not name the piece.
fn may_lack_piece(mv: Move) -> bool {
    mv.promotion.is_none() && matches!(mv.to.rank(), Rank::First | Rank::Eighth)
}

/// The error about a move that can't be read.
fn unread(text: &str, expected: &str) -> BadField {
    BadField::new("moves", format!("Could not parse move: {text}: {expected}"))
}

impl Place {
    /// Whether a move is a promotion without a piece, which matches no legal move.
    fn lacks_piece(&self, mv: Move) -> bool {
        let mut legal = MoveList::new();
        self.history.legal_moves(&mut legal);
        let promotes = |other: &Move| (other.from, other.to) == (mv.from, mv.to) && other.promotion.is_some();
        may_lack_piece(mv) && legal.iter().any(promotes)
    }
}

/// Reads `avoidMoves` or `allowMoves`.
///
/// # Errors
/// See [`Fields::move_rules`].
pub fn rules(fields: Fields<'_>) -> Result<MoveRules<'_>, BadField> {
    fields.move_rules(read_player, named)
}

/// The moves of a rule, as text.
fn named(moves: &Value) -> Result<Vec<&str>, BadField> {
    let texts = moves.as_array().and_then(|moves| moves.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let texts = texts.ok_or_else(|| BadField::new("moves", "Must be an array of moves"))?;
    match texts.iter().find(|text| !is_move(text)) {
        None => Ok(texts),
        Some(text) => Err(BadField::new("moves", format!("{} in a rule", no_move(text)))),
    }
}
