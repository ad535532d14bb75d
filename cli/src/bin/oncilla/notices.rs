//! Lines on standard error about what was asked for: what has no effect, what is less than was asked for, what is
//! waited for.

use crate::command_line::{Command, Report};
use oncilla::console::aside;
use oncilla::go::Params;
use oncilla::network::BackendKind;
use oncilla::options::args::Args;
use oncilla::options::{Meaning, Opt, Typed, katago, table};
use oncilla::subject;

/// What a command waits for, for a person at a terminal: a program knows it.
pub(crate) fn hint(command: Option<&Command>) -> Option<&'static str> {
    match command {
        None | Some(Command::Uci(_)) => Some(HELLO),
        Some(Command::Report(Report { file: None, .. })) => {
            Some("reads PGN from the terminal; end it with Ctrl-D (Windows: Ctrl-Z and Enter)")
        }
        Some(Command::Eval(_)) => Some(
            "reads positions from the terminal, as lines of JSON; end them with Ctrl-D (Windows: Ctrl-Z and Enter)",
        ),
        Some(_) => None,
    }
}

const HELLO: &str =
    "a chess engine that speaks UCI; try \"go nodes 1000\", end with \"quit\"; oncilla --help says what else there is";

/// Prints the names in configuration files that have no effect. The parameters of KataGo's search have one if the
/// network is one for Go.
pub(crate) fn say_what_is_not_used(
    Args { unused, typed, .. }: &Args,
    meaning: &Meaning,
    is_the_commands: impl Fn(&str) -> bool,
) {
    if unused.iter().all(|(_, names)| names.is_empty()) {
        return;
    }
    let is_go = subject::is_go(&meaning.settings.evaluator);
    for (file, names) in unused {
        let means_something = |name: &str| is_the_commands(name) || is_go && Params::heeds(typed, name);
        let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !means_something(name)).collect();
        if !names.is_empty() {
            aside(&format!("{file}: not used: {}", names.join(", ")));
        }
    }
}

/// Prints which settings of configuration files are limited to less than they ask for.
pub(crate) fn say_what_is_less(typed: &Typed) {
    let reduced = typed.of_katago().iter().filter_map(|(name, value)| katago::reduced(name, value));
    reduced.for_each(|line| aside(&line));
}

pub(crate) fn say_what_does_nothing(typed: &Typed, meaning: &Meaning, command: Option<&Command>) {
    let say = |options: &[&Opt], why: &str| {
        let flags: Vec<String> = options.iter().map(|opt| opt.spelling()).collect();
        if !flags.is_empty() {
            aside(&format!("{why}: {}", flags.join(", ")));
        }
    };
    say(&typed.without_effect(), "accepted, without effect");
    let given = |flag: &str| table::by_flag(flag).filter(|opt| typed.has(opt));
    let is_spoken_with = matches!(command, None | Some(Command::Uci(_) | Command::Analysis(_) | Command::Gtp(_)));
    let log = given("logfile").filter(|_| !is_spoken_with);
    let castling = given("chess960").filter(|_| !matches!(command, None | Some(Command::Uci(_) | Command::Eval(_))));
    // Hints belong to a search's evaluations, and these commands run the network alone.
    let runs_network_alone =
        matches!(command, Some(Command::Eval(_) | Command::BackendBench(_) | Command::SelfTest(_) | Command::Tune(_)));
    let hints = given("hints").filter(|_| runs_network_alone);
    say(&log.into_iter().chain(castling).chain(hints).collect::<Vec<_>>(), "without effect in this command");
    let evaluator = &meaning.settings.evaluator;
    if matches!(evaluator.backend, BackendKind::Host | BackendKind::Random | BackendKind::Constant)
        && !evaluator.devices.is_empty()
    {
        aside(&format!("without effect with this backend: the device {}", evaluator.devices.join(", ")));
    }
    if !matches!(command, Some(Command::Analysis(_) | Command::Gtp(_) | Command::Report(_))) {
        say(&typed.of_analysis(), "of analysis, without effect here");
    }
    if subject::is_go(&meaning.settings.evaluator) {
        let why = "without effect in Go, whose search has KataGo's parameters (docs/go.md)";
        say(&typed.without_effect_in_go(), why);
    }
}
