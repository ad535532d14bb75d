//! Reads the arguments and starts a command.

mod command_line;
mod notices;

use argh::{ArgsInfo, FromArgs};
use command_line::{
    Analysis, BackendBench, Command, CommandLine, DescribeNet, Devices, Eval, Gtp, Report, SelfTest, Tune, Uci,
};
use notices::{hint, say_what_does_nothing, say_what_is_less, say_what_is_not_used};
use oncilla::console::{Console, aside};
use oncilla::line::Watched;
use oncilla::network::drivers;
use oncilla::options::args::Args;
use oncilla::options::{Meaning, Typed, Value, backend, katago, print, table};
use oncilla::{
    analysis, bench, describe, eval, generate, gtp, report, selftest, subject, system, time, tune, uci, usage,
};
use std::io::{BufRead, IsTerminal, stdin};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status for wrong usage or a failure. Success is 0.
const FAILED: u8 = 2;
/// Exit status if a command that checks something has found an error.
const REFUTED: u8 = 1;

fn main() -> ExitCode {
    system::put_stdin_aside();
    match start() {
        Ok(code) => code,
        Err(error) => {
            aside(&error);
            ExitCode::from(FAILED)
        }
    }
}

fn start() -> Result<ExitCode, String> {
    let args = std::env::args_os().skip(1).map(|arg| {
        arg.into_string().map_err(|arg| format!("expected arguments in UTF-8, got {}", arg.to_string_lossy()))
    });
    let args = Args::read(&katago::with_two_dashes(args.collect::<Result<Vec<_>, _>>()?)?)?;
    let console = Arc::new(Console::stdout());
    let meaning = args.typed.meaning()?;
    if let Some(text) = about_the_program(&args.rest, &meaning)? {
        console.say(text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let mut rest: Vec<&str> = args.rest.iter().map(String::as_str).collect();
    if let Some(name @ &mut "benchmark") = rest.first_mut() {
        *name = "bench"; // its name in Lc0
    }
    rest.iter_mut().filter(|word| **word == "-h").for_each(|word| *word = "--help");
    let command_line = match CommandLine::from_args(&["oncilla"], &rest) {
        Ok(command_line) => command_line,
        Err(exit) if exit.status.is_ok() => {
            console.say(exit.output.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        Err(exit) => return Err(usage::explained(exit.output.trim_end(), rest.first().copied())),
    };
    let is_gtp = matches!(command_line.command, Some(Command::Gtp(_)));
    say_what_is_not_used(&args, &meaning, |name| is_gtp && gtp::Settings::has(name));
    say_what_is_less(&args.typed);
    say_what_does_nothing(&args.typed, &meaning, command_line.command.as_ref());
    if command_line.command.as_ref().is_some_and(|command| !matches!(command, Command::Uci(_))) {
        expect_weights(&args.typed)?;
    }
    if let Some(hint) = hint(command_line.command.as_ref()).filter(|_| stdin().is_terminal()) {
        aside(hint);
    }
    // If the path of this program is unknown, no other process can be started, and drivers are trusted.
    std::env::current_exe().into_iter().for_each(drivers::scout_with);
    run(command_line.command.unwrap_or(Command::Uci(Uci {})), args.typed, meaning, console)
}

fn run(command: Command, typed: Typed, meaning: Meaning, console: Arc<Console>) -> Result<ExitCode, String> {
    let cannot_read = Arc::new(AtomicBool::new(false));
    let code = obey(command, typed, meaning, console, || Watched::new(system::input_text(), &cannot_read))?;
    // What was read has been answered, but a program that looks at the status has to know that this is not all.
    Ok(if cannot_read.load(Ordering::Relaxed) { ExitCode::from(FAILED) } else { code })
}

fn obey<I: BufRead + Send + 'static>(
    command: Command,
    typed: Typed,
    meaning: Meaning,
    console: Arc<Console>,
    stdin: impl FnOnce() -> I,
) -> Result<ExitCode, String> {
    let settings = meaning.settings;
    match command {
        Command::Uci(Uci {}) => return Ok(uci::run(stdin(), console, typed)),
        Command::Analysis(Analysis { quit_without_waiting, override_config: overrides }) => {
            analysis::run(stdin(), console, typed, &analysis::Switches { quit_without_waiting, overrides })?;
        }
        Command::Gtp(Gtp { override_config, name, override_version }) => {
            let identity = gtp::Identity::new(name, override_version)?;
            gtp::run(stdin(), console, typed, &override_config, identity)?;
        }
        Command::Report(Report { file, out }) => report::run(&report::Arguments { file, out }, typed, &console)?,
        Command::Eval(Eval {}) => eval::run(&settings.evaluator, meaning.output.chess960, stdin(), &console)?,
        Command::Bench(bench) => {
            let size = bench::Size { limit: bench.limit()?, rounds: bench.rounds()? };
            bench::print(&console, settings, &bench.positions()?, size, bench.json)?;
        }
        Command::BackendBench(BackendBench { batch, at_a_time, profile, board, json }) => {
            let batches = batch.as_deref().map(bench::backend::batches).transpose()?;
            let batches = batches.as_deref();
            match (profile, at_a_time) {
                (true, 1) => bench::profile::print(&console, &settings.evaluator, board, batches, json)?,
                (true, _) => return Err("--profile: expected one batch at a time".to_string()),
                (false, _) => {
                    bench::backend::print(&console, &settings.evaluator, board, batches, at_a_time, json)?;
                }
            }
        }
        Command::DescribeNet(DescribeNet { file }) => {
            let weights = file.map_or(settings.evaluator.weights, |file| backend::weights(&file));
            describe::network(&console, &weights)?;
        }
        Command::Devices(Devices { open: Some(mark), board, .. }) => {
            subject::open_for_another(&settings.evaluator, board, &mark)?;
        }
        Command::Devices(Devices { here, open: None, .. }) => describe::devices(&console, &settings.evaluator, here)?,
        Command::Tune(Tune { limit, again, board, candidate }) => {
            tune::run(&console, &settings.evaluator, &tune::Arguments { limit, again, board, candidate })?;
        }
        Command::SelfTest(SelfTest { board, json }) => {
            let ok = selftest::print(&console, &settings.evaluator, board, json)?;
            return Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(REFUTED) });
        }
        Command::Time(time) => time::print(&console, &settings, &time.question()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers `--help`, `--version` and `--generate` (texts for the project's own files).
fn about_the_program(rest: &[String], meaning: &Meaning) -> Result<Option<String>, String> {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    Ok(Some(match words[..] {
        ["--help" | "-h" | "help"] => help(meaning.show_hidden),
        ["--version" | "-V"] | [_, "--version" | "-V"] | ["--version" | "-V", _] => {
            concat!("oncilla ", env!("CARGO_PKG_VERSION")).to_string()
        }
        ["--generate", kind] | [_, "--generate", kind] => generate::text(kind, &CommandLine::get_args_info())?,
        ["--generate"] => {
            return Err(format!("--generate: expected one of {}, got nothing", generate::KINDS.join(", ")));
        }
        _ => return Ok(None),
    }))
}

fn help(all: bool) -> String {
    // argh knows the commands, and the table the options.
    let commands = match CommandLine::from_args(&["oncilla"], &["--help"]) {
        Ok(_) => String::new(),
        Err(exit) => exit.output,
    };
    format!("{}\n{}{}", commands.trim_end(), generate::help(), print::help(all))
}

/// Refuses an empty `--weights`: in a script it usually is an unset variable. UCI accepts one, because a GUI may leave
/// the field empty.
fn expect_weights(typed: &Typed) -> Result<(), String> {
    let given = table::by_flag("weights").filter(|opt| typed.has(opt)).and_then(|opt| typed.value(opt));
    match given {
        Some(Value::Text(text)) if text.trim().is_empty() => {
            Err("--weights: expected a file, small or tiny, got nothing".to_string())
        }
        _ => Ok(()),
    }
}
