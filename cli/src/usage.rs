//! Explains wrong command lines.

const UNKNOWN: &str = "Unrecognized argument: ";

/// What is wrong with a command line, given the parser's text about it and the first word, which may be a command.
pub fn explained(text: &str, first: Option<&str>) -> String {
    if let Some(argument) = text.strip_prefix(UNKNOWN) {
        let (argument, first) = (argument.trim(), first.filter(|word| !word.starts_with('-')));
        let command = first.filter(|word| *word != argument).map_or(String::new(), |command| format!("{command} "));
        return format!("expected what oncilla {command}--help lists, got {argument}");
    }
    if let Some(option) = text.strip_prefix("No value provided for option ") {
        return format!("{}: expected a value, got nothing", option.trim_end_matches('.').trim_matches('\''));
    }
    wrong_value(text).unwrap_or_else(|| text.to_string())
}

/// The error in an option's value.
fn wrong_value(text: &str) -> Option<String> {
    let (option, rest) = text.strip_prefix("Error parsing option '")?.split_once("' with value '")?;
    let (value, why) = rest.rsplit_once("': ")?;
    // The standard library says what is wrong, and not what it expects.
    let expected = match why {
        "invalid digit found in string" => "expected a whole number from 0 on",
        "number too large to fit in target type" => "expected a smaller number",
        "cannot parse integer from empty string" => "expected a whole number from 0 on",
        "invalid float literal" | "cannot parse float from empty string" => "expected a number",
        why => return Some(format!("{option}: {why}")),
    };
    Some(format!("{option}: {expected}, got {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_and_what_came() {
        for (text, first, expected) in [
            ("Unrecognized argument: foo", "foo", "expected what oncilla --help lists, got foo"),
            ("Unrecognized argument: --nods", "bench", "expected what oncilla bench --help lists, got --nods"),
            ("No value provided for option '--fen'.", "bench", "--fen: expected a value, got nothing"),
            (
                "Error parsing option '--nodes' with value '-1': invalid digit found in string",
                "bench",
                "--nodes: expected a whole number from 0 on, got \"-1\"",
            ),
            (
                "Error parsing option '--base' with value 'x': invalid float literal",
                "time",
                "--base: expected a number, got \"x\"",
            ),
            (
                "Error parsing option '--board' with value '99': expected columns and rows, got \"99\"",
                "tune",
                "--board: expected columns and rows, got \"99\"",
            ),
            (
                "Error parsing option '--base' with value '': cannot parse float from empty string",
                "time",
                "--base: expected a number, got \"\"",
            ),
            (
                "Error parsing option '--nodes' with value 'a: b': invalid digit found in string",
                "bench",
                "--nodes: expected a whole number from 0 on, got \"a: b\"",
            ),
            ("Something else", "time", "Something else"),
        ] {
            assert_eq!(explained(text, Some(first)), expected);
        }
        assert_eq!(explained("Unrecognized argument: --x", Some("--x")), "expected what oncilla --help lists, got --x");
    }
}
