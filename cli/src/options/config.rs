//! The configuration file: one long flag a line, its `--` left out or not, `#` for comments. Instead of the flag there may
//! stand the option's name in UCI or KataGo's name for it, and there may be spaces around `=`.

use std::path::Path;

use super::args::find_named;
use super::kind::{Kind, OptionError};
use super::table;
use super::typed::Typed;

/// Reads a file.
///
/// # Errors
/// The file can't be read, or a line is no flag: its number, what was expected, what stood there.
pub fn read(file: &Path) -> Result<Typed, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse(&text).map_err(|(line, error)| format!("{}, line {line}: {error}", file.display()))
}

/// Reads the text of a file.
///
/// # Errors
/// The line that is no flag, counted from 1, and what was expected there.
pub fn parse(text: &str) -> Result<Typed, (usize, String)> {
    let mut typed = Typed::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            set(&mut typed, line).map_err(|error| (index + 1, error))?;
        }
    }
    Ok(typed)
}

fn set(typed: &mut Typed, line: &str) -> Result<(), String> {
    let unknown = || format!("expected a long flag, got {}", crate::text::quoted(line));
    let by_name = || {
        let (name, value) = line.split_once('=')?;
        // KataGo's files have comments behind values.
        let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
        Some((table::by_any_name(name.trim())?, Some(value.to_string())))
    };
    let (opt, value) = find_named(line.strip_prefix("--").unwrap_or(line)).or_else(by_name).ok_or_else(unknown)?;
    if opt.name == "ConfigFile" {
        return Err("expected no other configuration file within this one".to_string());
    }
    let value = match value {
        Some(value) => value,
        None if matches!(opt.kind, Kind::Bool { .. }) => "true".to_string(),
        None => {
            let expected = opt.kind.expected();
            return Err(OptionError::Unfit { option: opt.spelling(), expected, got: None }.to_string());
        }
    };
    typed.set(opt, &opt.spelling(), &value).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_comments_and_blank_lines() {
        let typed = parse("# a comment\n\n  --cpuct=2.5  \nno-two-fold-draws\r\nchess960\nweights=/a b.pb\n").unwrap();
        let meaning = typed.meaning().unwrap();
        assert_eq!(meaning.settings.params.cpuct.init, 2.5);
        assert!(!meaning.settings.two_fold_draws);
        assert!(meaning.output.chess960);
        assert_eq!(meaning.settings.evaluator.weights, crate::engine::Weights::File("/a b.pb".into()));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text| parse(text).unwrap_err();
        assert_eq!(error("chess960\n-w x"), (2, "expected a long flag, got \"-w x\"".to_string()));
        assert_eq!(error("cpuct=x"), (1, "--cpuct: expected a number from 0 to 100, got \"x\"".to_string()));
        assert_eq!(error("\ncpuct"), (2, "--cpuct: expected a number from 0 to 100, got nothing".to_string()));
        assert_eq!(error("config=x").0, 1);
    }

    #[test]
    fn the_command_line_counts_for_more() {
        let mut typed = parse("cpuct=2.5\nhash=8").unwrap();
        let mut line = parse("cpuct=1").unwrap();
        std::mem::swap(&mut typed, &mut line);
        typed.fill_from(line);
        let settings = typed.meaning().unwrap().settings;
        assert_eq!((settings.params.cpuct.init, settings.hash_mb), (1.0, 8));
    }
}
