//! Players and points as queries write them.

use oncilla_go::{Color, Move, Size};
use serde_json::Value;

use crate::fields::BadField;

/// A place that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vertex {
    /// A point of the board, or a pass.
    On(Move),
    /// Column and row, counted from the top, that are not on the board: no move can be played there.
    Off(i32, i32),
}

impl Vertex {
    /// Reads a vertex of GTP, `pass`, or `(x,y)` with rows counted from the top; in either case of letters, with blanks
    /// around it. Only the last form can name a place off the board.
    pub fn read(text: &str, size: Size) -> Option<Vertex> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('(') {
            let (x, y) = inner.strip_suffix(')')?.split_once(',')?;
            let (x, y) = (integer(x)?, integer(y)?);
            let point = u8::try_from(x).ok().zip(u8::try_from(y).ok()).and_then(|(x, y)| size.point(x, y));
            return Some(point.map_or(Vertex::Off(x, y), Vertex::On));
        }
        if ["pass", "pss"].iter().any(|pass| text.eq_ignore_ascii_case(pass)) {
            return Some(Vertex::On(size.pass()));
        }
        let column = text.chars().next()?;
        let row = integer(&text[column.len_utf8()..])?;
        size.parse(&format!("{column}{row}")).ok().map(Vertex::On)
    }

    /// The vertex as an error names it.
    pub fn name(self, size: Size) -> String {
        match self {
            Vertex::On(mv) => size.format(mv).to_string(),
            Vertex::Off(x, y) => {
                let (x, y) = beyond_the_edge(i64::from(x), i64::from(y), size);
                format!("({x},{y})")
            }
        }
    }
}

/// The point by which KataGo names one that is off the board. KataGo numbers points by rows that have one more column
/// for the edge, so a point to the right of a row is named as the one to the left of the next row. If the number is
/// that of a point on the board, the name is the one that was written.
fn beyond_the_edge(x: i64, y: i64, size: Size) -> (i64, i64) {
    let row = i64::from(size.x()) + 1;
    let number = (x + 1) + (y + 1) * row;
    let (wrapped_x, wrapped_y) = (number.rem_euclid(row) - 1, number.div_euclid(row) - 1);
    let is_point = wrapped_x >= 0 && (0..i64::from(size.y())).contains(&wrapped_y);
    if is_point { (x, y) } else { (wrapped_x, wrapped_y) }
}

fn integer(text: &str) -> Option<i32> {
    text.trim().parse().ok()
}

/// A player's name or its first letter, in any case.
pub fn player(text: &str) -> Option<Color> {
    match text.to_ascii_lowercase().as_str() {
        "b" | "black" => Some(Color::Black),
        "w" | "white" => Some(Color::White),
        _ => None,
    }
}

/// Whether a pass may stand for a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    Allowed,
    Refused,
}

/// Reads `[player, vertex]` pairs, of which there may be many.
///
/// # Errors
/// A bad `field`, in KataGo's words.
pub fn pairs(field: &str, list: &Value, size: Size, passes: Passes) -> Result<Vec<(Color, Vertex)>, BadField> {
    let shape = || BadField::new(field, "Must be an array of pairs of the form: [\"b\" or \"w\", GTP board vertex]");
    let list = list.as_array().ok_or_else(shape)?;
    let pass = Vertex::On(size.pass());
    let mut pairs = Vec::with_capacity(list.len());
    for pair in list {
        let Some([Value::String(color), Value::String(place)]) = pair.as_array().map(Vec::as_slice) else {
            return Err(shape());
        };
        let bad = |what: &str, text: &str| BadField::new(field, format!("Could not parse {what}: {text}"));
        let color = player(color).ok_or_else(|| bad("player", color))?;
        let vertex = Vertex::read(place, size).filter(|vertex| passes == Passes::Allowed || *vertex != pass);
        pairs.push((color, vertex.ok_or_else(|| bad("board location", place))?));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_with_katagos_tolerance() {
        let size = Size::new(9, 7).unwrap();
        let at = |text| Vertex::read(text, size);
        let point = |x, y| Some(Vertex::On(size.point(x, y).unwrap()));
        for (text, expected) in [
            ("A7", point(0, 0)),
            (" j1 ", point(8, 6)),
            ("E05", point(4, 2)),
            ("(4,0)", point(4, 0)),
            ("( 8 , 6 )", point(8, 6)),
            ("PASS", Some(Vertex::On(size.pass()))),
            ("(9,0)", Some(Vertex::Off(9, 0))),
            ("(-1,-1)", Some(Vertex::Off(-1, -1))),
        ] {
            assert_eq!(at(text), expected, "{text}");
        }
        for text in [
            "",
            "A",
            "A8",
            "A0",
            "A-1",
            "I5",
            "K5",
            "AA5",
            "5E",
            "(0)",
            "(0,0",
            "(0,0,0)",
            "(99999999999,0)",
            "ä1",
            "é",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn places_off_the_board_have_katagos_names() {
        let size = Size::new(9, 9).unwrap();
        let name = |x, y| Vertex::Off(x, y).name(size);
        assert_eq!([name(9, 0), name(-1, 1), name(0, 9)], ["(-1,1)", "(-1,1)", "(0,9)"]);
        assert_eq!(name(10, 0), "(10,0)", "KataGo plays (0,1)");
        assert!(!Vertex::Off(i32::MIN, i32::MAX).name(size).is_empty());
    }
}
