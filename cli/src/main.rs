//! Reads the arguments and starts a command. The options that all commands share are in `oncilla::options`; argh reads
//! the command's name and the switches of its own.

use std::io::{BufRead, IsTerminal, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use argh::{ArgsInfo, FromArgs};
use oncilla::console::{Console, aside};
use oncilla::go::{LEAST_SIDE, Params, board_size};
use oncilla::line::Watched;
use oncilla::network::{BackendKind, drivers};
use oncilla::options::args::Args;
use oncilla::options::{Meaning, Opt, Typed, Value, backend, katago, print, table};
use oncilla::{
    analysis, bench, describe, eval, generate, gtp, report, selftest, subject, system, time, tune, uci, usage,
};
use oncilla_go::{MAX_SIDE, Size};

/// An engine for chess and Go, for small GPUs. Without a command it speaks UCI.
#[derive(FromArgs, ArgsInfo)]
struct CommandLine {
    #[argh(subcommand)]
    command: Option<Command>,
}

#[derive(FromArgs, ArgsInfo)]
#[argh(subcommand)]
enum Command {
    Uci(Uci),
    Analysis(Analysis),
    Gtp(Gtp),
    Report(Report),
    Eval(Eval),
    Bench(Bench),
    BackendBench(BackendBench),
    DescribeNet(DescribeNet),
    Devices(Devices),
    Tune(Tune),
    SelfTest(SelfTest),
    Time(Time),
}

/// Speak UCI on standard input and output.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "uci",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Uci {}

/// Analyse many positions at once: KataGo's analysis protocol for chess, and for Go where --weights is a network of
/// KataGo's. JSON lines in, JSON lines out. KataGo's -config, -model, -human-model, -override-config and
/// -quit-without-waiting are understood.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "analysis",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Analysis {
    /// at the end of the input, exit at once
    #[argh(switch)]
    quit_without_waiting: bool,
    /// options that count for more than all others: NAME=VALUE,…; may be given again
    #[argh(option)]
    override_config: Vec<String>,
}

/// Play and analyse Go by the Go Text Protocol, with --weights a network of KataGo's (docs/gtp.md). KataGo's
/// -config, -model, -human-model, -override-config and -override-version are understood.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "gtp",
    note = "Other options are those of every command, and those of chess's search do nothing: see oncilla --help, or OPTIONS.md"
)]
struct Gtp {
    /// options that count for more than all others: NAME=VALUE,…; may be given again
    #[argh(option)]
    override_config: Vec<String>,
    /// the answer to the command "name", for interfaces that know certain engines only, such as KataGo
    #[argh(option)]
    name: Option<String>,
    /// the answer to the command "version", for the same
    #[argh(option)]
    override_version: Option<String>,
}

/// Analyse every position of the games in a PGN file: annotated PGN, JSON lines and one HTML page. --max-visits and
/// --parallel say how; the numbers are White's.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "report",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Report {
    /// the games; without it they come from standard input
    #[argh(positional)]
    file: Option<String>,
    /// what the names of the files begin with: NAME.pgn, NAME.jsonl, NAME.html (the file's own name with .report)
    #[argh(option)]
    out: Option<String>,
}

/// Evaluate positions with the network alone, without a search. JSON lines in: fen, moves, chess960, id. JSON lines
/// out: id, q, d, m, policy, and e where the network estimates its own error; or error. With a network of KataGo's
/// positions are of Go (docs/go.md).
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "eval",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Eval {}

/// Measure the search (Lc0's benchmark): nodes per second, bytes per node, and a signature of what it did.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "bench",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Bench {
    /// search this position only (a FEN or startpos, perhaps with moves behind it) instead of the fixed set
    #[argh(option)]
    fen: Option<String>,
    /// search only this many positions of the fixed set, from its beginning
    #[argh(option, from_str_fn(positions))]
    num_positions: Option<usize>,
    /// nodes a position (400)
    #[argh(option)]
    nodes: Option<u64>,
    /// milliseconds a position, instead of nodes
    #[argh(option)]
    movetime: Option<u32>,
    /// how often each position is searched; the median of the times counts
    #[argh(option, default = "1")]
    rounds: u32,
    /// print a JSON object
    #[argh(switch)]
    json: bool,
}

impl Bench {
    fn limit(&self) -> Result<bench::Limit, String> {
        match (self.nodes, self.movetime) {
            (Some(_), Some(_)) => Err("--movetime: expected it without --nodes".to_string()),
            (None, Some(_)) if self.rounds > 1 => {
                Err("--rounds: expected --nodes as the limit, got --movetime".to_string())
            }
            (None, Some(ms)) => Ok(bench::Limit::Time(ms)),
            (nodes, None) => Ok(bench::Limit::Nodes(nodes.unwrap_or(bench::NODES))),
        }
    }

    fn rounds(&self) -> Result<u32, String> {
        match self.rounds {
            0 => Err("--rounds: expected 1 or more, got 0".to_string()),
            rounds => Ok(rounds),
        }
    }

    fn positions(&self) -> Result<Vec<&str>, String> {
        match (&self.fen, self.num_positions) {
            (Some(_), Some(_)) => Err("--num-positions: expected it without --fen".to_string()),
            (Some(fen), None) => Ok(vec![fen]),
            (None, number) => Ok(bench::POSITIONS[..number.unwrap_or(bench::POSITIONS.len())].to_vec()),
        }
    }
}

/// Measure the backend: evaluations per second and latency by batch size.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "backendbench",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct BackendBench {
    /// batch sizes, separated by commas (1,8,64 as far as the device takes them)
    #[argh(option)]
    batch: Option<String>,
    /// batches that are evaluated at a time, each in a thread of its own, as
    /// by several searches (1)
    #[argh(option, from_str_fn(at_a_time), default = "1")]
    at_a_time: usize,
    /// say where the time goes on an OpenCL device: each kernel's, by the
    /// device's own clock
    #[argh(switch)]
    profile: bool,
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    board: Size,
    /// print a JSON list
    #[argh(switch)]
    json: bool,
}

/// Say what a network file holds.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "describenet",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct DescribeNet {
    /// the file, or small or tiny; without it what --weights names
    #[argh(positional)]
    file: Option<String>,
}

/// List the OpenCL devices.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "devices",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Devices {
    /// ask the drivers in this process; otherwise a separate process asks them first, as a bad driver may crash it
    #[argh(switch)]
    here: bool,
    /// open the device that would be used, then create this file; the program runs itself with this flag before it
    /// opens a device for the first time, as a bad driver may crash
    #[argh(option, arg_name = "file")]
    open: Option<PathBuf>,
    /// size of the board for a network of Go that is opened: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    board: Size,
}

/// Find the OpenCL kernels that are fastest for the network on the device, and keep them for every later start.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "tune",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Tune {
    /// seconds that a candidate may take, compiling included (60)
    #[argh(option, default = "60")]
    limit: u64,
    /// begin from scratch, not where the last run was stopped
    #[argh(switch)]
    again: bool,
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    board: Size,
    /// try only this candidate and say how it went; the command runs itself with this flag
    #[argh(option)]
    candidate: Option<String>,
}

/// Compare every OpenCL kernel and the whole network with the host. Exit status 1: something is over the bound.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "selftest",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct SelfTest {
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    board: Size,
    /// print a JSON list
    #[argh(switch)]
    json: bool,
}

/// Explain a time budget: every number that the time manager computes, by name. Times are in milliseconds; the manager
/// and the overhead are set with --time-manager and --move-overhead.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "time",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
struct Time {
    /// time on the clock
    #[argh(option)]
    base: Option<f64>,
    /// time that a move adds (0)
    #[argh(option, default = "0.0")]
    inc: f64,
    /// half moves played before this move (0, or two more than before the last move of the history)
    #[argh(option)]
    ply: Option<u32>,
    /// nodes in the tree when the move starts (0)
    #[argh(option, default = "0")]
    reused: u64,
    /// moves to the next time control, this one included
    #[argh(option)]
    movestogo: Option<u32>,
    /// pieces on the board, for mle-pieces
    #[argh(option)]
    pieces: Option<u32>,
    /// plies to the end of the game as the network expects them, for mle-network
    #[argh(option)]
    network_plies: Option<f64>,
    /// nodes per second at first, instead of init-nps of smooth
    #[argh(option)]
    nps: Option<f64>,
    /// replay a game first: a file of JSON lines with base, inc, ply, reused, used, nodes (docs/time.md)
    #[argh(option)]
    history: Option<String>,
    /// print a JSON object, or a list of them with --history
    #[argh(switch)]
    json: bool,
}

impl Time {
    fn question(self) -> Result<time::Question, String> {
        let has = [self.ply.is_some(), self.movestogo.is_some(), self.pieces.is_some(), self.network_plies.is_some()];
        if self.base.is_none() && (has.contains(&true) || self.inc != 0.0 || self.reused != 0) {
            return Err(
                "time: --base: expected it with --inc, --ply, --reused, --movestogo, --pieces and --network-plies"
                    .to_string(),
            );
        }
        let asked = self.base.map(|base| time::Move {
            base,
            inc: self.inc,
            ply: self.ply,
            reused: self.reused,
            movestogo: self.movestogo,
            pieces: self.pieces,
            network_plies: self.network_plies,
        });
        Ok(time::Question { asked, nps: self.nps, history: self.history.map(Into::into), json: self.json })
    }
}

/// Reads the size of a board: `19`, or `13x9` (columns and rows).
fn board(text: &str) -> Result<Size, String> {
    let (x, y) = text.split_once('x').unwrap_or((text, text));
    let bad = || format!("expected columns and rows from {LEAST_SIDE} to {MAX_SIDE}, as in 19 or 13x9, got {text:?}");
    board_size(x, y).ok_or_else(bad)
}

/// Reads a number of positions of `bench`.
fn positions(text: &str) -> Result<usize, String> {
    up_to(bench::POSITIONS.len(), "positions", text)
}

/// Reads a number of batches.
fn at_a_time(text: &str) -> Result<usize, String> {
    up_to(bench::backend::MOST_AT_A_TIME, "batches", text)
}

fn up_to(most: usize, things: &str, text: &str) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("expected 1 to {most} {things}, got {text:?}"))
}

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

/// What a command waits for, for a person at a terminal: a program knows it.
fn hint(command: Option<&Command>) -> Option<&'static str> {
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

/// Prints the names in configuration files that have no effect. The parameters of KataGo's search have one if the
/// network is one for Go.
fn say_what_is_not_used(Args { unused, typed, .. }: &Args, meaning: &Meaning, is_the_commands: impl Fn(&str) -> bool) {
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
fn say_what_is_less(typed: &Typed) {
    let reduced = typed.of_katago().iter().filter_map(|(name, value)| oncilla::options::katago::reduced(name, value));
    reduced.for_each(|line| aside(&line));
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

fn say_what_does_nothing(typed: &Typed, meaning: &Meaning, command: Option<&Command>) {
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
    say(&log.into_iter().chain(castling).collect::<Vec<_>>(), "without effect in this command");
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
