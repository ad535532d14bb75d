//! Reads arguments of kinds that several commands have. Errors begin with the words of GTP's specification, and say
//! what was expected.

use oncilla_go::{Color, Move, Size};

use crate::go::vertex::{self, Vertex};
use crate::text::quoted;

/// A command's arguments.
pub type Args<'a> = &'a [String];

/// The error for arguments that are wrong.
pub fn expected(what: &str, args: Args<'_>) -> String {
    let got = if args.is_empty() { "nothing".to_string() } else { quoted(&args.join(" ")) };
    format!("syntax error: expected {what}, got {got}")
}

/// Checks that there are no arguments.
///
/// # Errors
/// If there are arguments.
pub fn none(args: Args<'_>) -> Result<(), String> {
    if args.is_empty() { Ok(()) } else { Err(expected("no arguments", args)) }
}

/// Reads exactly one argument.
///
/// # Errors
/// If there is none, or more than one.
pub fn one<'a>(args: Args<'a>, what: &str) -> Result<&'a str, String> {
    match args {
        [one] => Ok(one),
        _ => Err(expected(what, args)),
    }
}

/// Reads a player.
///
/// # Errors
/// If the text is another word.
pub fn color(text: &str) -> Result<Color, String> {
    vertex::player(text).ok_or_else(|| format!("syntax error: expected a color, b or w, got {}", quoted(text)))
}

/// Reads a point or a pass.
///
/// # Errors
/// If the text is not on this board.
pub fn vertex(text: &str, size: Size) -> Result<Move, String> {
    match Vertex::read(text, size) {
        Some(Vertex::On(mv)) => Ok(mv),
        _ => Err(format!(
            "invalid vertex: expected pass or a point from A1 to {}, got {}",
            size.format(Move(u16::from(size.x()) - 1)),
            quoted(text)
        )),
    }
}

/// Reads a point.
///
/// # Errors
/// If the text is a pass, or not on this board.
pub fn point(text: &str, size: Size) -> Result<Move, String> {
    vertex(text, size).and_then(|mv| {
        if mv == size.pass() { Err("invalid vertex: expected a point, got a pass".to_string()) } else { Ok(mv) }
    })
}

/// Reads a number.
///
/// # Errors
/// If the text is not a number of this type.
pub fn number<N: std::str::FromStr>(text: &str, what: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("syntax error: expected {what}, got {}", quoted(text)))
}

/// A player's letter.
pub fn letter(color: Color) -> char {
    match color {
        Color::Black => 'B',
        Color::White => 'W',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_of_the_board() {
        let size = Size::new(9, 7).unwrap();
        assert_eq!(vertex("j7", size), Ok(size.point(8, 0).unwrap()));
        assert_eq!(vertex("PASS", size), Ok(size.pass()));
        let error = vertex("K1", size).unwrap_err();
        assert_eq!(error, "invalid vertex: expected pass or a point from A1 to J7, got \"K1\"");
        assert!(point("pass", size).is_err() && vertex("", size).is_err() && vertex("(9,9)", size).is_err());
    }

    #[test]
    fn colors_are_words_or_letters() {
        assert_eq!([color("B"), color("White")], [Ok(Color::Black), Ok(Color::White)]);
        assert!(color("green").unwrap_err().starts_with("syntax error: expected a color"));
    }
}
