//! Reads the command line: options of the table, and arguments for the command.
//!
//! Options are written `--flag=value`, `--flag value`, `--switch`, `--no-switch`, `--switch=false`, `-w value` or `-v`,
//! before or after the command's name. Arguments that are not in the table are left to the command; `--flag=value` is
//! split for it, because argh accepts only `--flag value`.

use super::config::Syntax;
use super::katago;
use super::kind::{Kind, OptionError};
use super::path::path;
use super::table::{self, Opt};
use super::typed::Typed;

/// A parsed command line.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// Values of the table's options.
    pub typed: Typed,
    /// Arguments that are not in the table, in their order.
    pub rest: Vec<String>,
    /// Configuration files, in the order of the arguments.
    configs: Vec<String>,
    /// Each configuration file with its names that have no meaning in chess.
    pub unused: Vec<(String, Vec<String>)>,
}

impl Args {
    /// Reads the arguments after the program's name, and the configuration files that they name. Later files override
    /// earlier ones, and the command line overrides all files.
    ///
    /// # Errors
    /// A value that does not fit its option; a configuration file that can't be read.
    pub fn read(args: &[String]) -> Result<Self, String> {
        let mut read = split(args).map_err(|error| error.to_string())?;
        let syntax = if read.rest.iter().any(|word| katago::COMMANDS.contains(&word.as_str())) {
            Syntax::KataGo
        } else {
            Syntax::Ours
        };
        let mut files = Vec::new();
        for file in read.configs.iter().filter(|file| !file.is_empty()) {
            let (typed, unused) = super::config::read(&path(file), syntax)?;
            files.push(typed);
            read.unused.push((file.clone(), unused));
        }
        files.into_iter().rev().for_each(|typed| read.typed.fill_from(typed));
        Ok(read)
    }
}

/// A parsed flag.
struct Flag {
    opt: &'static Opt,
    /// The flag as it was written, with its dashes, for messages.
    spelling: String,
    /// The value behind `=`, or the one that `--no-` implies.
    value: Option<String>,
}

fn split(args: &[String]) -> Result<Args, OptionError> {
    let mut read = Args::default();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            // No later argument is a flag.
            read.rest.push(arg.clone());
            read.rest.extend(args.by_ref().cloned());
            break;
        }
        let Some(flag) = find(arg) else {
            read.rest.extend(for_the_command(arg));
            continue;
        };
        let is_switch = matches!(flag.opt.kind, Kind::Bool { .. });
        let value = match flag.value {
            Some(value) => value,
            None if is_switch => {
                let word = args.next_if(|next| flag.opt.kind.parse(next).is_ok());
                word.map_or_else(|| "true".to_string(), String::clone)
            }
            None => args.next().cloned().ok_or_else(|| OptionError::Unfit {
                option: flag.spelling.clone(),
                expected: flag.opt.kind.expected(),
                got: None,
            })?,
        };
        read.typed.set(flag.opt, &flag.spelling, &value)?;
        if flag.opt.name == "ConfigFile" {
            read.configs.push(value);
        }
    }
    Ok(read)
}

/// The option of an argument that is a flag.
fn find(arg: &str) -> Option<Flag> {
    if let Some(long) = arg.strip_prefix("--") {
        return find_long(long);
    }
    let mut letters = arg.strip_prefix('-')?.chars();
    let opt = table::by_short(letters.next()?)?;
    match letters.as_str() {
        "" => Some(Flag { opt, spelling: arg.to_string(), value: None }),
        _ => None,
    }
}

/// The option and value of a long flag that is written without its dashes.
pub(super) fn find_named(long: &str) -> Option<(&'static Opt, Option<String>)> {
    find_long(long).map(|flag| (flag.opt, flag.value))
}

fn find_long(long: &str) -> Option<Flag> {
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (long, None),
    };
    let spelling = format!("--{name}");
    if let Some(opt) = table::by_flag(name) {
        return Some(Flag { opt, spelling, value });
    }
    let opt = table::by_flag(name.strip_prefix("no-")?)?;
    let is_plain_switch = matches!(opt.kind, Kind::Bool { .. }) && value.is_none();
    is_plain_switch.then(|| Flag { opt, spelling, value: Some("false".to_string()) })
}

fn for_the_command(arg: &str) -> Vec<String> {
    match arg.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => vec![flag.to_string(), value.to_string()],
        _ => vec![arg.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Args, String> {
        Args::read(&line.iter().map(|arg| arg.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn every_spelling() {
        let by_hand = ["--cpuct=2.5", "--chess960", "--no-two-fold-draws", "--sticky-endgames=false"];
        let spaced = ["--cpuct", "2.5", "--chess960", "true", "--two-fold-draws", "false", "--no-sticky-endgames"];
        let meaning = |line| read(line).unwrap().typed.meaning().unwrap();
        assert_eq!(meaning(&by_hand), meaning(&spaced));
        assert_eq!(meaning(&by_hand).settings.params.cpuct.init, 2.5);
        assert!(!meaning(&by_hand).settings.two_fold_draws);
        assert!(meaning(&["-v", "-t", "3"]).output.verbose_move_stats);
        assert_eq!(meaning(&["-v", "-t", "3"]).settings.evaluator.threads, 3);
        assert_eq!(meaning(&["--fpu-value", "-1"]), meaning(&["--fpu-value=-1"]));
    }

    #[test]
    fn the_rest_is_the_commands() {
        let args = read(&["bench", "--threads=2", "--fen=8/8 w", "--json", "--nodes", "100", "--hash", "8"]).unwrap();
        assert_eq!(args.rest, ["bench", "--fen", "8/8 w", "--json", "--nodes", "100"]);
        assert_eq!(read(&["x", "--", "--hash=1"]).unwrap().rest, ["x", "--", "--hash=1"]);
        assert_eq!(read(&["--no-cpuct", "--no-chess960=true"]).unwrap().rest, ["--no-cpuct", "--no-chess960", "true"]);
    }

    #[test]
    fn errors_name_the_flag() {
        assert_eq!(read(&["--cpuct=abc"]).unwrap_err(), "--cpuct: expected a number from 0 to 100, got \"abc\"");
        assert_eq!(read(&["--weights"]).unwrap_err(), "--weights: expected a text, got nothing");
        assert_eq!(read(&["--chess960=1"]).unwrap_err(), "--chess960: expected true or false, got \"1\"");
        assert!(read(&["--config=no such file"]).unwrap_err().contains("no such file"));
    }

    /// The arguments of all configurations that the oracle was recorded with.
    #[test]
    fn lc0s_arguments_are_accepted_as_they_stand() {
        let args = "--show-hidden --backend=blas --threads=1 --minibatch-size=1 --no-out-of-order-eval \
                    --max-collision-events=1 --max-collision-visits=1 --task-workers=0 --smart-pruning-factor=0 \
                    --score-type=centipawn --verbose-move-stats --noise-epsilon=0 --temperature=0 --max-prefetch=0 \
                    --nncache=0 --cpuct=1.2 --cpuct-base=500 --cpuct-factor=2.0 --fpu-strategy=absolute \
                    --fpu-value=0.1 --policy-softmax-temp=1.0 --no-two-fold-draws --history-fill=no --draw-score=-0.3 \
                    --no-sticky-endgames --moves-left-threshold=0.1";
        let args: Vec<&str> = args.split_whitespace().collect();
        let read = read(&args).unwrap();
        assert!(read.rest.is_empty(), "{:?}", read.rest);
        let meaning = read.typed.meaning().unwrap();
        assert_eq!(meaning.settings.minibatch, 1);
        assert!(meaning.output.verbose_move_stats && meaning.show_hidden);
        assert_eq!(meaning.settings.smart_pruning_factor, 0.0);
    }
}
