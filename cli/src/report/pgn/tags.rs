//! What tags say of a game: its start, its variant and its result.

use std::collections::HashMap;

use oncilla_chess::{FenError, FenField, History, Square};

use super::Game;

const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// Parses a result, with any kind of dash, and with the short forms of a draw.
pub(super) fn result(text: &str) -> Option<&'static str> {
    let plain = text
        .replace(['\u{2014}', '\u{2013}', '\u{2012}', '\u{2011}', '\u{2010}', '\u{2212}'], "-")
        .replace('\u{bd}', "1/2");
    let plain = if plain == "1/2" { "1/2-1/2" } else { &plain };
    RESULTS.into_iter().find(|result| *result == plain)
}

/// A game before its first move.
pub(super) fn begun(number: usize, tags: Vec<(String, String)>, result: Option<String>) -> Result<Game, String> {
    let tags = unique(tags)?;
    let mut game =
        Game { number, tags, comments: Vec::new(), moves: Vec::new(), result: String::new(), chess960: false };
    let by_tag = || game.tag("Result").and_then(self::result).unwrap_or("*").to_string();
    game.result = result.unwrap_or_else(by_tag);
    game.chess960 = is_chess960(game.tag("Variant").unwrap_or(""))?;
    let fen = game.fen().map(mended).transpose().map_err(|error| format!("the tag FEN: {error}"))?;
    for (name, value) in &mut game.tags {
        match (name.as_str(), &fen) {
            // The standard wants the same result in both places. But some programs end all moves with `*`, and then
            // the tag is all that is known.
            ("Result", _) if game.result != "*" || self::result(value).is_none() => value.clone_from(&game.result),
            ("FEN", Some(fen)) => value.clone_from(fen),
            _ => {}
        }
    }
    Ok(game)
}

/// The first tag of each name.
fn unique(tags: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, String)> = Vec::new();
    for (name, value) in tags {
        let place = *places.entry(name.clone()).or_insert(kept.len());
        match kept.get(place) {
            None => kept.push((name, value)),
            Some((_, first)) if NEEDED.contains(&name.as_str()) && *first != value => {
                return Err(format!("expected one tag {name}, got several that differ"));
            }
            Some(_) => {}
        }
    }
    Ok(kept)
}

/// The most characters of a field of castling rights that is worth mending: two ways to write each right.
const MOST_RIGHTS: usize = 8;

/// A FEN without the castling rights and the en passant square that its position can't have, which some programs write
/// whatever the position is. A FEN that is right is returned as it is.
fn mended(fen: &str) -> Result<String, FenError> {
    let error = match parsed(fen) {
        Ok(()) => return Ok(fen.to_string()),
        Err(error) => error,
    };
    let mut fields: Vec<&str> = fen.split_ascii_whitespace().collect();
    let [pieces, side, castling, en_passant, ..] = fields[..] else { return Err(error) };
    if !matches!(error.field, FenField::Castling | FenField::EnPassant) || castling.len() > MOST_RIGHTS {
        return Err(error);
    }
    let is_named = |c: char| "KQkqABCDEFGHabcdefgh".contains(c);
    let is_square = |text: &str| text == "-" || text.parse::<Square>().is_ok();
    if !castling.chars().all(|c| is_named(c) || c == '-') || !is_square(en_passant) {
        return Err(error);
    }
    let is_right = |c: &char| parsed(&format!("{pieces} {side} {c}")).is_ok();
    let rights: String = castling.chars().filter(is_right).collect();
    fields[2] = if rights.is_empty() { "-" } else { &rights };
    if parsed(&fields.join(" ")).is_err_and(|error| error.field == FenField::EnPassant) {
        fields[3] = "-";
    }
    let mended = fields.join(" ");
    parsed(&mended).map(|()| mended)
}

fn parsed(fen: &str) -> Result<(), FenError> {
    History::<{ oncilla_chess::DEFAULT_CAP }>::from_fen(fen).map(|_| ())
}

/// Whether the tag `Variant` is that of Chess960.
fn is_chess960(variant: &str) -> Result<bool, String> {
    let name: String = variant.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    match name.as_str() {
        "" | "standard" | "chess" | "normal" | "fromposition" => Ok(false),
        "chess960" | "fischerandom" | "fischerrandom" | "fischerrandomchess" | "960" | "freestyle" => Ok(true),
        _ => Err(format!("the tag Variant: expected chess or Chess960, got {}", crate::text::quoted(variant))),
    }
}

/// The tags that change the meaning of the moves.
const NEEDED: [&str; 2] = ["FEN", "Variant"];

/// Whether a text that begins with `[` names a tag that changes the meaning of the moves.
pub(super) fn is_needed(text: &str) -> bool {
    let name = text[1..].trim_start();
    NEEDED.iter().any(|needed| name.starts_with(needed))
}
