//! Reads configuration files: one long flag per line, with or without its `--`; a `#` at the start of a line or behind
//! a space begins a comment. The option's UCI name or KataGo's name for it may stand for the flag, and spaces may
//! surround `=`. KataGo's own files have many names without a meaning here, so for files that may be KataGo's the
//! unused names are returned instead of refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::args::find_named;
use super::katago;
use super::kind::{Kind, OptionError};
use super::path::path;
use super::table::Opt;
use super::typed::Typed;
use crate::text::quoted;
use crate::{line, utf16};

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Ours: an unknown name is an error.
    Ours,
    /// Ours or KataGo's: an unknown `NAME = VALUE` is unused.
    KataGo,
}

/// The start of a line of KataGo's that is replaced by the content of another file.
const INCLUDE: &str = "@include";

/// Reads a file. Returns its values and its unused names.
///
/// A file of KataGo's may include others, whose paths are relative to its own folder. Later lines override earlier
/// ones.
///
/// # Errors
/// A file can't be read, or includes itself; there are too many files; or a line is not a flag: its number, what was
/// expected and what was found.
pub fn read(file: &Path, syntax: Syntax) -> Result<(Typed, Vec<String>), String> {
    let mut found = Found::new(syntax);
    found.take_file(file, &mut Vec::new())?;
    Ok((found.typed, found.unused))
}

/// Reads the text of a file without includes. Returns its values and its unused names.
///
/// # Errors
/// The number of the line that is not a flag, from 1, and what was expected there.
pub fn parse(text: &str, syntax: Syntax) -> Result<(Typed, Vec<String>), (usize, String)> {
    let mut found = Found::new(syntax);
    let mut once = Once::default();
    for (number, line) in lines(text) {
        found.take(&mut once, number, line).map_err(|error| (number, error))?;
    }
    Ok((found.typed, found.unused))
}

/// The lines that are neither empty nor only a comment, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = line::without_mark(text).lines().map(str::trim);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The names in one file, with the numbers of their lines.
type Once<'t> = BTreeMap<&'t str, usize>;

/// The content of the files read so far.
struct Found {
    syntax: Syntax,
    /// The number of files read so far.
    files: usize,
    typed: Typed,
    unused: Vec<String>,
}

impl Found {
    fn new(syntax: Syntax) -> Self {
        Self { syntax, files: 0, typed: Typed::default(), unused: Vec::new() }
    }

    /// Reads a file. `within` has the files that include it, directly or indirectly.
    fn take_file(&mut self, file: &Path, within: &mut Vec<PathBuf>) -> Result<(), String> {
        if self.files == MOST_FILES {
            return Err(format!("{}: expected at most {MOST_FILES} files in all, got more", file.display()));
        }
        self.files += 1;
        let text = utf16::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        if within.contains(&name) || within.len() >= MOST_WITHIN {
            return Err(format!("{}: expected a file that does not include itself", file.display()));
        }
        within.push(name);
        let mut once = Once::default();
        for (number, line) in lines(&text) {
            match line.strip_prefix(INCLUDE).filter(|_| self.syntax == Syntax::KataGo) {
                Some(other) => {
                    let folder = file.parent().unwrap_or(Path::new(""));
                    self.take_file(&folder.join(path(included(without_comment(other)))), within)?;
                }
                None => {
                    let taken = self.take(&mut once, number, line);
                    taken.map_err(|error| format!("{}, line {number}: {error}", file.display()))?;
                }
            }
        }
        within.pop();
        Ok(())
    }

    /// A name that occurs twice in a file of KataGo's is an error, as in KataGo, because a user who changes the first
    /// of two lines would see no effect. A file and those that it includes may have the same name.
    fn check_once<'t>(&self, once: &mut Once<'t>, number: usize, line: &'t str) -> Result<(), String> {
        let Some(name) = theirs(line).filter(|_| self.syntax == Syntax::KataGo) else { return Ok(()) };
        match once.insert(name, number) {
            None => Ok(()),
            Some(before) => Err(format!("expected {name} once, got it in line {before}, too")),
        }
    }

    fn take<'t>(&mut self, once: &mut Once<'t>, number: usize, line: &'t str) -> Result<(), String> {
        self.check_once(once, number, line)?;
        let syntax = self.syntax;
        let line = &*said(line, syntax)?;
        let is_theirs = |name: &str| syntax == Syntax::KataGo || katago::is_name(name);
        if let Some((name, (_, value))) = theirs(line).zip(line.split_once('=')).filter(|(name, _)| is_theirs(name)) {
            self.typed.keep_katagos(name, value.trim());
        }
        match (find(line), theirs(line)) {
            (found, Some(name)) if found.is_empty() && syntax == Syntax::KataGo => self.unused.push(name.to_string()),
            (found, None) if found.is_empty() && syntax == Syntax::KataGo => {
                return Err(format!("expected NAME = VALUE, {INCLUDE} FILE or # and a comment, got {}", quoted(line)));
            }
            (found, name) => set(&mut self.typed, line, name, found)?,
        }
        Ok(())
    }
}

/// The deepest nesting of includes. Through links, a file could include itself for ever under different names.
const MOST_WITHIN: usize = 20;

/// The largest number of files. A file that is included twice is read twice; if each of twenty files included the next
/// one twice, the last one would be read more than a million times.
const MOST_FILES: usize = 1000;

/// A line without its comment. In a file that may be KataGo's, the value of a name that is KataGo's or unknown is
/// parsed in KataGo's syntax.
fn said(line: &str, syntax: Syntax) -> Result<Cow<'_, str>, String> {
    let is_theirs = |name: &&str| katago::is_name(name) || find_named(name).is_none();
    match theirs(line).filter(|_| syntax == Syntax::KataGo).filter(is_theirs).zip(line.split_once('=')) {
        Some((name, (_, value))) => Ok(format!("{name}={}", value_of_katagos(value.trim())?).into()),
        None => Ok(without_comment(line).trim().into()),
    }
}

/// A value in KataGo's syntax: in double quotes, with a backslash before quotes and backslashes within it, or without
/// quotes and up to a `#`.
fn value_of_katagos(text: &str) -> Result<String, String> {
    let Some(inner) = text.strip_prefix('"') else {
        return Ok(text.split('#').next().unwrap_or_default().trim().to_string());
    };
    let (mut value, mut chars) = (String::new(), inner.chars());
    loop {
        let next = chars.next().ok_or_else(|| format!("expected a second quote, got {}", quoted(text)))?;
        match next {
            '"' => break,
            // A backslash before any other character is kept: Windows paths are often quoted without escapes.
            '\\' if chars.as_str().starts_with(['"', '\\']) => value.extend(chars.next()),
            other => value.push(other),
        }
    }
    let rest = chars.as_str().trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(value);
    }
    Err(format!("expected nothing behind a value in quotes, got {}", quoted(rest)))
}

/// The name of an included file: `@include = "a.cfg"`, also without `=` or quotes; KataGo has single and double quotes.
fn included(text: &str) -> &str {
    let text = text.trim();
    let name = text.strip_prefix('=').unwrap_or(text).trim();
    let within = |quote: char| name.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(name)
}

/// A line up to the first `#` that follows whitespace.
fn without_comment(line: &str) -> &str {
    let mark = line
        .char_indices()
        .zip(line.chars().skip(1))
        .find(|((_, before), mark)| *mark == '#' && before.is_whitespace());
    mark.map_or(line, |((index, _), _)| &line[..index])
}

/// The options that a line sets, and their values.
fn find(line: &str) -> Vec<(&'static Opt, Option<String>)> {
    if let Some(flag) = find_named(line.strip_prefix("--").unwrap_or(line)) {
        return vec![flag];
    }
    let Some((name, value)) = line.split_once('=') else { return Vec::new() };
    katago::settings(name.trim(), value.trim()).into_iter().map(|(opt, value)| (opt, Some(value))).collect()
}

/// The name before `=`, if it has the form of KataGo's names.
fn theirs(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    let name = name.trim();
    let is_word =
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    is_word.then_some(name)
}

fn set(
    typed: &mut Typed,
    line: &str,
    name: Option<&str>,
    found: Vec<(&'static Opt, Option<String>)>,
) -> Result<(), String> {
    if found.is_empty() {
        return Err(format!("expected a long flag, got {}", quoted(line)));
    }
    let name = name.filter(|name| katago::is_name(name));
    found.into_iter().try_for_each(|(opt, value)| set_one(typed, opt, name, value))
}

/// Sets an option. `name` is KataGo's name for it, if the line uses that.
fn set_one(typed: &mut Typed, opt: &'static Opt, name: Option<&str>, value: Option<String>) -> Result<(), String> {
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
    let spelling = name.map_or_else(|| opt.spelling(), str::to_string);
    typed.set_for(opt, &spelling, &value).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Typed, (usize, String)> {
        super::parse(text, Syntax::Ours).map(|(typed, unused)| {
            assert!(unused.is_empty(), "{unused:?}");
            typed
        })
    }

    #[test]
    fn names_of_katagos_that_mean_nothing_are_told() {
        let text = "logDir = analysis_logs\nmaxVisits = 70 # not 500\nnnMaxBatchSize=64\nhash=8 # MiB\n";
        let (typed, unused) = super::parse(text, Syntax::KataGo).unwrap();
        let meaning = typed.meaning().unwrap();
        assert_eq!((meaning.analysis.max_visits, meaning.settings.hash_mb), (70, 8));
        assert_eq!(unused, ["logDir", "nnMaxBatchSize"]);
        assert_eq!(parse(text).unwrap_err().0, 1);
        let tabbed = "maxVisits = 70\t# not 500\nlogDir = a#b\n# maxVisits = 3\n  \t# x";
        let (typed, unused) = super::parse(tabbed, Syntax::KataGo).unwrap();
        assert_eq!((typed.meaning().unwrap().analysis.max_visits, unused), (70, vec!["logDir".to_string()]));
        // In any file, a value that does not fit is an error, and so is a line without a name and a value.
        for text in ["maxVisits = many", "logDir", "--log-dir=x", "-w=x"] {
            assert_eq!(super::parse(text, Syntax::KataGo).unwrap_err().0, 1, "{text}");
        }
    }

    /// Values are parsed like in KataGo.
    #[test]
    fn values_of_katagos_have_quotes_and_comments() {
        let of = |text: &str| {
            let (typed, _) = super::parse(text, Syntax::KataGo).map_err(|(_, error)| error)?;
            let value = typed.of_katago().first().map(|(_, value)| value.clone());
            value.ok_or_else(|| "nothing".to_string())
        };
        for (text, value) in [
            ("maxVisits=2# c", "2"),
            ("maxVisits = \"2\"", "2"),
            ("reportAnalysisWinratesAs = \"BLACK\" # c", "BLACK"),
            ("logFile = x#y.log", "x"),
            ("logFile = \"x#y \\\"z\\\".log\"# c", "x#y \"z\".log"),
            (r#"logFile = "C:\new\x.log""#, r"C:\new\x.log"),
            (r#"logFile = "\\server\\x\"y.log""#, r#"\server\x"y.log"#),
            ("someName = 'x'", "'x'"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(value), "{text}");
        }
        assert!(of("maxVisits = \"2").unwrap_err().starts_with("expected a second quote"));
        assert!(of("maxVisits = \"2\" 3").unwrap_err().starts_with("expected nothing behind"));
        // In the value of one of our names, a `#` without a space before it is no comment.
        let (typed, _) = super::parse("weights = a#b # c", Syntax::KataGo).unwrap();
        assert!(format!("{:?}", typed.meaning().unwrap().settings.evaluator.weights).contains("a#b\""));
    }

    #[test]
    fn files_are_named_with_and_without_quotes() {
        for text in [" inc.cfg", " \"inc.cfg\"", " 'inc.cfg'", " = inc.cfg", "=inc.cfg", "= \"inc.cfg\" "] {
            assert_eq!(included(text), "inc.cfg", "{text}");
        }
        assert_eq!(included(" \"a.cfg'"), "\"a.cfg'");
    }

    #[test]
    fn files_include_others() {
        let folder = std::env::temp_dir().join(format!("oncilla-include-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("a.cfg", "maxVisits = 5\n@include sub/b.cfg\nhash = 8 # MiB\n");
        write("sub/b.cfg", "maxVisits = 70\nhash = 16\nlogDir = x\n@include c.cfg # beside it\n");
        write("sub/c.cfg", "maxPlayouts = 9\n");
        let (typed, unused) = read(&folder.join("a.cfg"), Syntax::KataGo).unwrap();
        let meaning = typed.meaning().unwrap();
        assert_eq!((meaning.analysis.max_visits, meaning.analysis.max_playouts, meaning.settings.hash_mb), (70, 9, 8));
        assert_eq!(unused, ["logDir"]);
        let error = |name: &str, syntax| read(&folder.join(name), syntax).unwrap_err();
        assert!(error("a.cfg", Syntax::Ours).contains("a.cfg, line 2: expected a long flag"));
        write("ours.cfg", "@include a.cfg\n");
        assert!(error("ours.cfg", Syntax::Ours).contains("ours.cfg, line 1: expected a long flag"));
        write("sub/c.cfg", "maxVisits = 3\nhash = 9\n\nmaxVisits = 3\n");
        assert!(
            error("a.cfg", Syntax::KataGo).ends_with("c.cfg, line 4: expected maxVisits once, got it in line 1, too")
        );
        write("sub/c.cfg", "\nfoo\n");
        assert!(error("a.cfg", Syntax::KataGo).contains("c.cfg, line 2: expected NAME = VALUE"));
        write("sub/c.cfg", "@include ../sub/b.cfg\n");
        assert!(error("a.cfg", Syntax::KataGo).ends_with("expected a file that does not include itself"));
        write("sub/c.cfg", "@include missing.cfg\n");
        assert!(error("a.cfg", Syntax::KataGo).contains("missing.cfg: "));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_are_bounded_however_they_include_each_other() {
        let folder = std::env::temp_dir().join(format!("oncilla-includes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        // Each of ten files includes the next one twice.
        (1..10).for_each(|n| write(&format!("{n}.cfg"), &format!("@include {0}.cfg\n@include {0}.cfg\n", n + 1)));
        write("10.cfg", "maxVisits = 70\n");
        let error = read(&folder.join("1.cfg"), Syntax::KataGo).unwrap_err();
        assert!(error.ends_with(".cfg: expected at most 1000 files in all, got more"), "{error}");
        assert!(read(&folder.join("2.cfg"), Syntax::KataGo).is_ok(), "511 files");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn flags_comments_and_blank_lines() {
        let typed = parse("# a comment\n\n  --cpuct=2.5  \nno-two-fold-draws\r\nchess960\nweights=/a b.pb\n").unwrap();
        assert_eq!(parse("\u{feff}hash=8\n").unwrap().meaning().unwrap().settings.hash_mb, 8);
        let meaning = typed.meaning().unwrap();
        assert_eq!(meaning.settings.params.cpuct.init, 2.5);
        assert!(!meaning.settings.two_fold_draws);
        assert!(meaning.output.chess960);
        assert_eq!(meaning.settings.evaluator.weights, crate::network::Weights::File("/a b.pb".into()));
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

    #[test]
    fn in_a_file_of_ours_the_later_of_two_lines_counts() {
        assert_eq!(parse("hash = 8\nhash = 16").unwrap().meaning().unwrap().settings.hash_mb, 16);
    }
}
