//! Lines of GTP: an optional number, which the answer repeats, a command, and its arguments.

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The number, which the answer has after `=` or `?`; empty if there is none.
    pub id: String,
    /// The command; empty if the line has nothing but a number.
    pub name: String,
    /// The arguments.
    pub args: Vec<String>,
}

impl CommandLine {
    /// Reads a line; `None` if nothing is left after comments and control characters are removed: such a line gets no
    /// answer.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.split('#').next().unwrap_or_default();
        let text: String = text.chars().filter_map(printable).collect();
        let mut words = text.split_ascii_whitespace().map(str::to_string).peekable();
        words.peek()?;
        let id = words.next_if(|word| is_number(word)).unwrap_or_default();
        Some(Self { id, name: words.next().unwrap_or_default(), args: words.collect() })
    }

    /// The number of a line of which only this beginning is known; empty if it has none, or if the number's end is not
    /// known. `None` for a line that is a comment and gets no answer.
    pub fn id_at(beginning: &str) -> Option<String> {
        match Self::read(beginning) {
            Some(line) if !line.name.is_empty() || beginning.contains('#') => Some(line.id),
            None if beginning.contains('#') => None,
            _ => Some(String::new()),
        }
    }
}

/// Turns a tab into a blank, and drops every other control character.
fn printable(c: char) -> Option<char> {
    match c {
        '\t' => Some(' '),
        _ => (!c.is_control()).then_some(c),
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// An answer, without the empty line that ends it. Empty lines in the text are removed, because they would end the
/// answer early.
pub fn answer(id: &str, said: &Result<String, String>) -> String {
    let (sign, text) = match said {
        Ok(text) => ('=', text),
        Err(error) => ('?', error),
    };
    let text: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    format!("{sign}{id} {}", text.join("\n")).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    /// The number is known if something follows it.
    #[test]
    fn the_beginning_of_a_line_tells_its_number() {
        for (beginning, id) in [
            ("7 play", Some("7")),
            ("7 # a comment", Some("7")),
            ("play b", Some("")),
            ("777", Some("")),
            ("   ", Some("")),
            ("# a comment", None),
        ] {
            assert_eq!(CommandLine::id_at(beginning).as_deref(), id, "{beginning:?}");
        }
    }

    fn line(id: &str, name: &str, args: &[&str]) -> Option<CommandLine> {
        let args = args.iter().map(|arg| arg.to_string()).collect();
        Some(CommandLine { id: id.into(), name: name.into(), args })
    }

    #[test]
    fn numbers_commands_and_arguments() {
        for (text, expected) in [
            ("play B D4", line("", "play", &["B", "D4"])),
            ("  12\tplay  b\td4 ", line("12", "play", &["b", "d4"])),
            ("007 name", line("007", "name", &[])),
            ("5", line("5", "", &[])),
            ("name # what is it called", line("", "name", &[])),
            ("1#2", line("1", "", &[])),
            ("-3 name", line("", "-3", &["name"])),
            ("na\u{7}me\r", line("", "name", &[])),
            ("# nothing", None),
            (" \t\u{1}", None),
            ("", None),
        ] {
            assert_eq!(CommandLine::read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn answers_repeat_the_number_and_hold_no_empty_line() {
        assert_eq!(answer("3", &Ok("a\n\n b \n".into())), "=3 a\n b");
        assert_eq!(answer("", &Ok(String::new())), "=");
        assert_eq!(answer("", &Err("what?".into())), "? what?");
        assert_eq!(answer("12", &Ok(String::new())), "=12");
    }

    quickcheck! {
        /// For any text, no word has a blank or a control character, and reading the words again gives the same line.
        fn words_are_words(text: String) -> bool {
            let Some(line) = CommandLine::read(&text) else { return true };
            let words = || line.args.iter().chain([&line.name, &line.id]);
            let clean = words().all(|word| !word.contains(|c: char| c.is_control() || c == ' ' || c == '#'));
            let again = CommandLine::read(&format!("{} {} {}", line.id, line.name, line.args.join(" ")));
            clean && again.as_ref() == Some(&line)
        }
    }
}
