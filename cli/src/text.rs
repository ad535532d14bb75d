//! Shows text from outside in messages.

/// The most bytes of such text that a message repeats.
const LONGEST: usize = 200;

/// The beginning of a text in quotes, with everything that is not printable escaped, so that it stays one line.
pub fn quoted(text: &str) -> String {
    if text.len() <= LONGEST {
        return format!("{text:?}");
    }
    format!("{:?}… ({} bytes)", &text[..text.floor_char_boundary(LONGEST)], text.len())
}

/// For names: like [`quoted`], but without the quotes if the text is short and printable.
pub fn shown(text: &str) -> String {
    if text.len() <= LONGEST && !text.chars().any(char::is_control) { text.to_string() } else { quoted(text) }
}

/// A count with its noun, in the plural if it is not 1.
pub fn counted(count: usize, name: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {name}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "game")), ["0 games", "1 game", "2 games"]);
    }

    #[test]
    fn a_name_is_shown_as_it_is() {
        assert_eq!((shown("a b"), shown("a\nb")), ("a b".to_string(), "\"a\\nb\"".to_string()));
        assert!(shown(&"a".repeat(1000)).ends_with("… (1000 bytes)"));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "é".repeat(500_000);
        let quoted = quoted(&format!("a{text}"));
        assert!(quoted.len() < 240);
        assert!(quoted.ends_with("(1000001 bytes)"), "{quoted}");
    }

    #[test]
    fn it_stays_one_line() {
        assert_eq!(quoted("a\nb\0"), "\"a\\nb\\0\"");
    }
}
