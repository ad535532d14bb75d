//! The clock of a game in a file: one JSON object a line, a move each.

use serde::Deserialize;
use std::path::Path;

use crate::{line, utf16};

/// The clock when a move starts. Times are in milliseconds.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Move {
    /// Time on the clock.
    #[serde(alias = "base_ms")]
    pub base: f64,
    /// Time that a move adds.
    #[serde(default, alias = "increment_ms")]
    pub inc: f64,
    /// Half moves played before; `None`: two more than at the last move, 0 at the first.
    #[serde(default)]
    pub ply: Option<u32>,
    /// Nodes in the tree.
    #[serde(default, alias = "reused_nodes")]
    pub reused: u64,
    /// Moves to the next time control, this one included.
    #[serde(default)]
    pub movestogo: Option<u32>,
    /// Pieces on the board.
    #[serde(default)]
    pub pieces: Option<u32>,
    /// Plies until the end of the game, as the network expects them.
    #[serde(default)]
    pub network_plies: Option<f64>,
}

/// A move that was played.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Played {
    /// How it started.
    #[serde(flatten)]
    pub start: Move,
    /// Time until the answer.
    #[serde(alias = "used_ms")]
    pub used: f64,
    /// Nodes that the search added.
    #[serde(alias = "new_nodes")]
    pub nodes: u64,
}

/// Names that a line may have.
const KNOWN: [&str; 14] = [
    "base",
    "base_ms",
    "inc",
    "increment_ms",
    "ply",
    "reused",
    "reused_nodes",
    "movestogo",
    "pieces",
    "network_plies",
    "used",
    "used_ms",
    "nodes",
    "new_nodes",
];

/// Reads a file. Empty lines don't count.
///
/// # Errors
/// In one line that names the file, the line and what is wrong with it.
pub fn read(path: &Path) -> Result<Vec<Played>, String> {
    let text = utf16::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = line::without_mark(&text).lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| row(line).map_err(|error| format!("{}, line {}: {error}", path.display(), at + 1))).collect()
}

fn row(line: &str) -> Result<Played, String> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    // A misspelt name would silently mean the default.
    if let Some(unknown) = object.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let known = "base, inc, ply, reused, movestogo, pieces, network_plies, used, nodes";
        return Err(format!("expected one of {known}, got {}", crate::text::quoted(unknown)));
    }
    let played: Played = serde_json::from_value(object.into()).map_err(|error| error.to_string())?;
    super::check(&played.start)?;
    super::from_0_on("used", played.used)?;
    Ok(played)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_little_and_one_with_all() {
        let little = row(r#"{"base":180000,"used":4000,"nodes":60000}"#).unwrap();
        let start = Move { base: 180000.0, ..Move::default() };
        assert_eq!(little, Played { start, used: 4000.0, nodes: 60000 });
        let all = r#"{"base_ms":1.5,"increment_ms":2,"ply":3,"reused_nodes":4,"movestogo":5,"pieces":6,
                      "network_plies":7.5,"used_ms":8,"new_nodes":9}"#;
        let start = Move {
            base: 1.5,
            inc: 2.0,
            ply: Some(3),
            reused: 4,
            movestogo: Some(5),
            pieces: Some(6),
            network_plies: Some(7.5),
        };
        assert_eq!(row(&all.replace('\n', " ")).unwrap(), Played { start, used: 8.0, nodes: 9 });
    }

    #[test]
    fn errors_say_what() {
        let error = |line| row(line).unwrap_err();
        assert!(error(r#"{"base":1,"nodes":2}"#).contains("used"));
        assert!(error(r#"{"base":1,"used":2,"nodes":3,"increment":4}"#).ends_with("got \"increment\""));
        assert!(error(r#"{"base":"1","used":2,"nodes":3}"#).contains("expected f64"));
        assert!(error("base 1").contains("line 1"));
        assert_eq!(error(r#"{"base":-5,"used":2,"nodes":3}"#), "base: expected a number from 0 on, got -5");
        assert_eq!(error(r#"{"base":1,"used":-2,"nodes":3}"#), "used: expected a number from 0 on, got -2");
        assert_eq!(error(r#"{"base":1,"used":2,"nodes":3,"pieces":99}"#), "pieces: expected 2 to 32, got 99");
        assert!(read(Path::new("no such file")).unwrap_err().starts_with("no such file: "));
    }
}
