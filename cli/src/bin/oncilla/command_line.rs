//! The commands and the switches of their own, as argh reads them. The options that all commands share are in
//! `oncilla::options`.

use argh::{ArgsInfo, FromArgs};
use oncilla::go::{LEAST_SIDE, board_size};
use oncilla::{bench, time};
use oncilla_go::{MAX_SIDE, Size};
use std::path::PathBuf;

/// An engine for chess and Go, for small GPUs. Without a command it speaks UCI.
#[derive(FromArgs, ArgsInfo)]
pub(crate) struct CommandLine {
    #[argh(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(FromArgs, ArgsInfo)]
#[argh(subcommand)]
pub(crate) enum Command {
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
pub(crate) struct Uci {}

/// Analyse many positions at once: KataGo's analysis protocol for chess, and for Go where --weights is a network of
/// KataGo's. JSON lines in, JSON lines out. KataGo's -config, -model, -human-model, -override-config,
/// -analysis-threads and -quit-without-waiting are understood.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "analysis",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Analysis {
    /// at the end of the input, exit at once
    #[argh(switch)]
    pub(crate) quit_without_waiting: bool,
    /// options that count for more than all others: NAME=VALUE,…; may be given again
    #[argh(option)]
    pub(crate) override_config: Vec<String>,
}

/// Play and analyse Go by the Go Text Protocol, with --weights a network of KataGo's (docs/gtp.md). KataGo's
/// -config, -model, -human-model, -override-config and -override-version are understood.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "gtp",
    note = "Other options are those of every command, and those of chess's search do nothing: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Gtp {
    /// options that count for more than all others: NAME=VALUE,…; may be given again
    #[argh(option)]
    pub(crate) override_config: Vec<String>,
    /// the answer to the command "name", for interfaces that know certain engines only, such as KataGo
    #[argh(option)]
    pub(crate) name: Option<String>,
    /// the answer to the command "version", for the same
    #[argh(option)]
    pub(crate) override_version: Option<String>,
}

/// Analyse every position of the games in a PGN file: annotated PGN, JSON lines and one HTML page. --max-visits and
/// --parallel say how; the numbers are White's.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "report",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Report {
    /// the games; without it they come from standard input
    #[argh(positional)]
    pub(crate) file: Option<String>,
    /// what the names of the files begin with: NAME.pgn, NAME.jsonl, NAME.html (the file's own name with .report)
    #[argh(option, arg_name = "file")]
    pub(crate) out: Option<String>,
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
pub(crate) struct Eval {}

/// Measure the search (Lc0's benchmark): nodes per second, bytes per node, and a signature of what it did.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "bench",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Bench {
    /// search this position only (a FEN or startpos, perhaps with moves behind it) instead of the fixed set
    #[argh(option)]
    pub(crate) fen: Option<String>,
    /// search only this many positions of the fixed set, from its beginning
    #[argh(option, from_str_fn(positions))]
    pub(crate) num_positions: Option<usize>,
    /// nodes a position (400)
    #[argh(option)]
    pub(crate) nodes: Option<u64>,
    /// milliseconds a position, instead of nodes
    #[argh(option)]
    pub(crate) movetime: Option<u32>,
    /// how often each position is searched; the median of the times counts
    #[argh(option, default = "1")]
    pub(crate) rounds: u32,
    /// print a JSON object
    #[argh(switch)]
    pub(crate) json: bool,
}

impl Bench {
    pub(crate) fn limit(&self) -> Result<bench::Limit, String> {
        match (self.nodes, self.movetime) {
            (Some(_), Some(_)) => Err("--movetime: expected it without --nodes".to_string()),
            (None, Some(_)) if self.rounds > 1 => {
                Err("--rounds: expected --nodes as the limit, got --movetime".to_string())
            }
            (None, Some(ms)) => Ok(bench::Limit::Time(ms)),
            (nodes, None) => Ok(bench::Limit::Nodes(nodes.unwrap_or(bench::NODES))),
        }
    }

    pub(crate) fn rounds(&self) -> Result<u32, String> {
        match self.rounds {
            0 => Err("--rounds: expected 1 or more, got 0".to_string()),
            rounds => Ok(rounds),
        }
    }

    pub(crate) fn positions(&self) -> Result<Vec<&str>, String> {
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
pub(crate) struct BackendBench {
    /// batch sizes, separated by commas (1,8,64 as far as the device takes them)
    #[argh(option)]
    pub(crate) batch: Option<String>,
    /// batches that are evaluated at a time, each in a thread of its own, as
    /// by several searches (1)
    #[argh(option, from_str_fn(at_a_time), default = "1")]
    pub(crate) at_a_time: usize,
    /// say where the time goes on an OpenCL device: each kernel's, by the
    /// device's own clock
    #[argh(switch)]
    pub(crate) profile: bool,
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    pub(crate) board: Size,
    /// print a JSON list
    #[argh(switch)]
    pub(crate) json: bool,
}

/// Say what a network file holds.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "describenet",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct DescribeNet {
    /// the file, or small or tiny; without it what --weights names
    #[argh(positional)]
    pub(crate) file: Option<String>,
}

/// List the OpenCL devices.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "devices",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Devices {
    /// ask the drivers in this process; otherwise a separate process asks them first, as a bad driver may crash it
    #[argh(switch)]
    pub(crate) here: bool,
    /// open the device that would be used, then create this file; the program runs itself with this flag before it
    /// opens a device for the first time, as a bad driver may crash
    #[argh(option, arg_name = "file")]
    pub(crate) open: Option<PathBuf>,
    /// size of the board for a network of Go that is opened: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    pub(crate) board: Size,
}

/// Find the OpenCL kernels that are fastest for the network on the device, and keep them for every later start.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "tune",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Tune {
    /// seconds that a candidate may take, compiling included (60)
    #[argh(option, default = "60")]
    pub(crate) limit: u64,
    /// begin from scratch, not where the last run was stopped
    #[argh(switch)]
    pub(crate) again: bool,
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    pub(crate) board: Size,
    /// try only this candidate and say how it went; the command runs itself with this flag
    #[argh(option)]
    pub(crate) candidate: Option<String>,
}

/// Compare every OpenCL kernel and the whole network with the host. Exit status 1: something is over the bound.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "selftest",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct SelfTest {
    /// size of the board for a network of Go: 19, or 13x9 (19)
    #[argh(option, from_str_fn(board), default = "Size::STANDARD")]
    pub(crate) board: Size,
    /// print a JSON list
    #[argh(switch)]
    pub(crate) json: bool,
}

/// Explain a time budget: every number that the time manager computes, by name. Times are in milliseconds; the manager
/// and the overhead are set with --time-manager and --move-overhead.
#[derive(FromArgs, ArgsInfo)]
#[argh(
    subcommand,
    name = "time",
    note = "All other options are those of every command: see oncilla --help, or OPTIONS.md"
)]
pub(crate) struct Time {
    /// time on the clock
    #[argh(option)]
    pub(crate) base: Option<f64>,
    /// time that a move adds (0)
    #[argh(option, default = "0.0")]
    pub(crate) inc: f64,
    /// half moves played before this move (0, or two more than before the last move of the history)
    #[argh(option)]
    pub(crate) ply: Option<u32>,
    /// nodes in the tree when the move starts (0)
    #[argh(option, default = "0")]
    pub(crate) reused: u64,
    /// moves to the next time control, this one included
    #[argh(option)]
    pub(crate) movestogo: Option<u32>,
    /// pieces on the board, for mle-pieces
    #[argh(option)]
    pub(crate) pieces: Option<u32>,
    /// plies to the end of the game as the network expects them, for mle-network
    #[argh(option)]
    pub(crate) network_plies: Option<f64>,
    /// nodes per second at first, instead of init-nps of smooth
    #[argh(option)]
    pub(crate) nps: Option<f64>,
    /// replay a game first: a file of JSON lines with base, inc, ply, reused, used, nodes (docs/time.md)
    #[argh(option, arg_name = "file")]
    pub(crate) history: Option<String>,
    /// print a JSON object, or a list of them with --history
    #[argh(switch)]
    pub(crate) json: bool,
}

impl Time {
    pub(crate) fn question(self) -> Result<time::Question, String> {
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
