//! What a query says about moves: those that were played, and those that may be searched.

use oncilla_chess::{Color, History, Move, notation, pack, unpack};
use serde_json::Value;
use std::sync::Arc;

use super::fields::{BadField, Fields, integer};
use crate::engine::{Restriction, Restrictions};

/// The game up to its last move, in two bytes a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    /// `None`: the start position.
    fen: Option<Box<str>>,
    /// Packed; castling is king takes rook.
    moves: Box<[u16]>,
}

impl Game {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.moves) + self.fen.as_ref().map_or(0, |fen| fen.len())
    }

    /// The position that it begins with.
    pub fn start(&self) -> History {
        match &self.fen {
            None => History::startpos(),
            // It was read once already.
            Some(fen) => History::from_fen(fen).unwrap_or_else(|_| History::startpos()),
        }
    }

    /// Plays the moves from `from` on up to the position before move `to`.
    pub fn play(&self, history: &mut History, from: usize, to: usize) {
        self.moves[from..to].iter().for_each(|&mv| history.push(unpack(mv)));
    }
}

/// A move as it was written, and who should have made it, if that was said.
pub struct Played<'o> {
    player: Option<Color>,
    text: &'o str,
}

const PLAYED: &str = "Must specify an array of moves: UCI strings such as \"e2e4\", or [player,move] pairs";

/// `moves`.
///
/// # Errors
/// No list of moves. Whether they can be played is seen by [`replay`].
pub fn played(fields: Fields<'_>) -> Result<Vec<Played<'_>>, BadField> {
    let bad = |error: String| BadField::new("moves", error);
    let list = fields.get("moves").ok_or_else(|| bad(PLAYED.to_string()))?;
    let shape = "Must be an array of UCI moves, or of pairs of the form: [\"b\" or \"w\", UCI move]";
    let list = list.as_array().ok_or_else(|| bad(shape.to_string()))?;
    let mut moves = Vec::with_capacity(list.len());
    for value in list {
        let (player, text) = match (value, value.as_array().map(Vec::as_slice)) {
            (Value::String(text), _) => (None, text.as_str()),
            (_, Some([Value::String(player), Value::String(text)])) => (Some(player.as_str()), text.as_str()),
            _ => return Err(bad(shape.to_string())),
        };
        let player = match player {
            None => None,
            Some(text) => Some(read_player(text).ok_or_else(|| bad(format!("Could not parse player: {text}")))?),
        };
        if read_move(text).is_none() {
            return Err(bad(format!("Could not parse move: {text}")));
        }
        moves.push(Played { player, text: text.trim() });
    }
    Ok(moves)
}

/// Bytes of a rule without its moves. A list that grows rule by rule may have room for twice as many as it holds.
const RULE_BYTES: usize = 2 * (size_of::<Restriction>() + size_of::<usize>() + size_of::<u64>());

/// Plays the moves from the position that `fen` is, or from the start position.
///
/// # Errors
/// The first move that can't be played.
pub fn replay(fen: Option<&str>, start: History, moves: &[Played<'_>]) -> Result<Game, BadField> {
    let mut history = start;
    let mut packed = Vec::with_capacity(moves.len());
    for (index, played) in moves.iter().enumerate() {
        let mover = history.side_to_move();
        let mv = notation::parse_move(history.board(), &played.text.to_ascii_lowercase());
        let reason = match (mv, played.player) {
            (Ok(_), Some(player)) if player != mover => format!(" ({mover:?} is to move)"),
            (Ok(mv), _) => {
                history.push(mv);
                packed.push(pack(mv));
                continue;
            }
            (Err(_), _) => String::new(),
        };
        return Err(BadField::new("moves", format!("Illegal move {index}: {}{reason}", played.text)));
    }
    Ok(Game { fen: fen.map(Box::from), moves: packed.into() })
}

/// `initialPlayer`, which the position says already.
///
/// # Errors
/// No player, or the one who is not to move.
pub fn initial_player(fields: Fields<'_>, start: &History) -> Result<(), BadField> {
    let expected = "Must be \"b\" or \"w\"";
    let player = fields.read("initialPlayer", expected, |value| read_player(value.as_str()?))?;
    let mover = start.side_to_move();
    match player.is_none_or(|player| player == mover) {
        true => Ok(()),
        false => Err(BadField::new("initialPlayer", format!("{mover:?} is to move in the position"))),
    }
}

/// A player's name or its first letter, in any case.
fn read_player(text: &str) -> Option<Color> {
    match text.to_ascii_lowercase().as_str() {
        "w" | "white" => Some(Color::White),
        "b" | "black" => Some(Color::Black),
        _ => None,
    }
}

/// Two squares and perhaps a promotion; blanks around them and capitals are tolerated.
fn read_move(text: &str) -> Option<Move> {
    let text = text.trim();
    // The library's reader does not look at what follows.
    (4..=5).contains(&text.len()).then(|| text.to_ascii_lowercase().parse().ok())?
}

/// `avoidMoves` and `allowMoves`, and the bytes that they take.
///
/// # Errors
/// Both of them; no list of rules; a field of a rule.
pub fn restrictions(fields: Fields<'_>) -> Result<(Option<Arc<Restrictions>>, usize), BadField> {
    let (avoid, allow) = (fields.get("avoidMoves"), fields.get("allowMoves"));
    let (field, only, list) = match (avoid, allow) {
        (None, None) => return Ok((None, 0)),
        (Some(_), Some(_)) => {
            return Err(BadField::new("allowMoves", "Cannot specify both allowMoves and avoidMoves"));
        }
        (Some(list), None) => ("avoidMoves", false, list),
        (None, Some(list)) => ("allowMoves", true, list),
    };
    let shape = || BadField::new(field, "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'");
    let list = list.as_array().ok_or_else(shape)?;
    if only && list.len() > 2 {
        return Err(BadField::new(field, "Currently allowMoves only allows at most one entry per player"));
    }
    let mut restrictions = Restrictions::default();
    let mut players = Vec::new();
    let mut bytes = 0;
    for rule in list {
        let [player, moves, depth] = ["player", "moves", "untilDepth"].map(|inner| rule.get(inner));
        let (Some(player), Some(moves), Some(depth)) = (player, moves, depth) else { return Err(shape()) };
        let player = player.as_str().and_then(read_player);
        let player = player.ok_or_else(|| BadField::new("player", "Must be \"b\" or \"w\""))?;
        let array = || BadField::new("moves", "Must be an array of UCI moves");
        let moves = moves.as_array().ok_or_else(array)?;
        let mut named = Vec::with_capacity(moves.len());
        for text in moves {
            let text = text.as_str().ok_or_else(array)?;
            let mv = read_move(text);
            named.push(mv.ok_or_else(|| BadField::new("moves", format!("Could not parse move: {text}")))?);
        }
        let depth = integer(depth, 1..=i64::MAX);
        let depth = depth.ok_or_else(|| BadField::new("untilDepth", "Must be a positive integer"))?;
        if only && players.contains(&player) {
            return Err(BadField::new(field, "Cannot specify allowMoves more than once for the same player"));
        }
        players.push(player);
        bytes += RULE_BYTES + size_of_val(&*named);
        restrictions.add(Restriction { player, moves: named, only }, usize::try_from(depth).unwrap_or(usize::MAX));
    }
    Ok((Some(Arc::new(restrictions)).filter(|restrictions| !restrictions.is_empty()), bytes))
}
