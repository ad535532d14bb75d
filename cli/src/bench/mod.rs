//! `oncilla bench`: measures the speed of the search, and computes a signature that changes if the search does.

pub mod backend;
mod positions;
pub mod profile;

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use fnv::FnvHasher;
use oncilla_chess::{Castling, History, notation, pack};
use serde::Serialize;

use crate::console::{Console, aside};
use crate::engine::{Done, Engine, Go, Info, Observer, Settings, Workers};
use crate::memory::peak_resident_bytes;
use crate::position::PositionText;
use crate::progress::Progress;
use crate::statistics;

pub use positions::POSITIONS;

/// The default number of nodes per position.
pub const NODES: u64 = 400;

/// The default batch size. A backend's own default would make the signature depend on the machine.
const MINIBATCH: usize = 16;

/// The limit of each search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of nodes.
    Nodes(u64),
    /// A number of milliseconds.
    Time(u32),
}

impl Limit {
    fn go(self) -> Go {
        match self {
            Self::Nodes(nodes) => Go { nodes: Some(nodes), ..Go::default() },
            Self::Time(ms) => Go { move_time_ms: Some(ms.into()), ..Go::default() },
        }
    }

    fn is_reached(self, nodes: u64) -> bool {
        match self {
            Self::Nodes(wanted) => nodes >= wanted,
            Self::Time(_) => true,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "{nodes} nodes"),
            Self::Time(ms) => write!(f, "{ms} ms"),
        }
    }
}

/// The amount of work of a bench.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The limit of each search.
    pub limit: Limit,
    /// The number of searches of each position, at least one.
    pub rounds: u32,
}

/// The results of a bench. The JSON output is this.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The nodes of all positions together.
    pub nodes: u64,
    /// The time of the searches; of each position's rounds, the median counts.
    pub seconds: f64,
    /// Nodes per second.
    pub nps: u64,
    /// A hash of the visits of every root move of every position in a search with one thread. If there are several
    /// threads, and the positions are the first of [`POSITIONS`], they are searched once more for it with one thread.
    /// `None` if there are several threads and the positions are others or a single one, because the visits depend on
    /// the threads' timing, and if the limit is a time.
    pub signature: Option<String>,
    /// The trees' bytes divided by their nodes; `None` if there are no nodes.
    pub bytes_per_node: Option<f64>,
    /// The peak memory of the process; `None` if the system does not report it.
    pub peak_rss_bytes: Option<usize>,
}

/// Searches each position from an empty tree, without smart pruning. If the limit is a number of nodes, nodes and
/// signature depend only on the network and the parameters, and not on the speed or the number of threads. `say` is
/// called with a line after each position.
///
/// From the second round on, the tree's memory has already been allocated by the system, as in a game from the second
/// move on.
///
/// # Errors
/// One line: a wrong FEN, no network, or a backend that fails.
pub fn run(settings: Settings, fens: &[&str], size: Size, mut say: impl FnMut(String)) -> Result<Summary, String> {
    let Size { limit, rounds } = size;
    let minibatch = if settings.minibatch == 0 { MINIBATCH } else { settings.minibatch };
    // The default is one thread also on a GPU, so that the signature needs no second search.
    let workers = Workers { all: settings.workers.all.max(1), ..settings.workers };
    // No part of a time limit is reserved for a GUI's overhead.
    let settings = Settings { minibatch, smart_pruning_factor: 0.0, workers, move_overhead_ms: 0, ..settings };
    let mut engine = Engine::new(settings.clone());
    let progress = Progress::on_stderr();
    progress.show("loading the network");
    engine.prepare()?;
    progress.clear();
    let mut totals = Totals::default();
    for (index, fen) in fens.iter().enumerate() {
        let position = position(fen)?;
        let how_far = |done| progress.show(&format!("{}/{}: {done} nodes of {limit}", index + 1, fens.len()));
        let mut search = || {
            let found = search(&mut engine, position.clone(), limit, how_far);
            progress.clear();
            found
        };
        let (info, done, first) = search()?;
        let mut times = vec![first];
        for _ in 1..rounds {
            times.push(search()?.2);
        }
        let seconds = median(&mut times);
        totals.add(&info, &done, seconds);
        let best = done.best.map(|mv| notation::format_move(position.board(), mv, Castling::Standard));
        let best = best.as_deref().unwrap_or("(none)");
        let nps = per_second(info.nodes, seconds);
        say(format!("{}/{}: {} nodes, {nps} nps, bestmove {best}", index + 1, fens.len(), info.nodes));
        if fens.len() == 1 {
            statistics::lines(&done.statistics).into_iter().for_each(&mut say);
        }
    }
    let mut summary = totals.summary();
    let by_nodes = matches!(limit, Limit::Nodes(_));
    if !by_nodes || !settings.workers.is_one() {
        summary.signature = None;
        // A single position may be searched for long to measure the speed, so it is not searched again.
        if by_nodes && fens.len() > 1 && POSITIONS.starts_with(fens) {
            engine.configure(Settings { workers: Workers { all: 1, ..Workers::default() }, ..settings });
            summary.signature = Some(signature(&mut engine, fens, limit, &progress)?);
        }
    }
    Ok(summary)
}

/// The signature of the engine's searches.
fn signature(engine: &mut Engine, fens: &[&str], limit: Limit, progress: &Progress) -> Result<String, String> {
    let mut totals = Totals::default();
    for (index, fen) in fens.iter().enumerate() {
        progress.show(&format!("signature: {}/{}", index + 1, fens.len()));
        let (info, done, seconds) = search(engine, position(fen)?, limit, |_| {})?;
        totals.add(&info, &done, seconds);
    }
    progress.clear();
    Ok(totals.signature())
}

/// Parses a FEN or `startpos`, which `moves` and a list of moves may follow.
fn position(text: &str) -> Result<History, String> {
    let mut words = text.split_ascii_whitespace();
    let fen: Vec<&str> = words.by_ref().take_while(|word| *word != "moves").collect();
    let position = PositionText { fen: Some(fen).filter(|fen| fen[..] != ["startpos"]), moves: words.collect() };
    position.play().map(|history| *history).map_err(|error| error.to_string())
}

/// The interval of the calls of `how_far`.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs one search. `how_far` is called repeatedly with the number of nodes so far.
fn search(
    engine: &mut Engine,
    position: History,
    limit: Limit,
    how_far: impl Fn(u64),
) -> Result<(Info, Done, f64), String> {
    let (sender, receiver) = channel();
    let so_far = Arc::new(AtomicU64::new(0));
    let observer = Collector { info: None, notes: Vec::new(), so_far: Arc::clone(&so_far), sender };
    engine.new_game();
    engine.position(position);
    let start = Instant::now();
    engine.go(limit.go(), Box::new(observer))?;
    let found = loop {
        match receiver.recv_timeout(PROGRESS_INTERVAL) {
            Ok(found) => break found,
            Err(RecvTimeoutError::Timeout) => how_far(so_far.load(Ordering::Relaxed)),
            Err(RecvTimeoutError::Disconnected) => return Err("the search ended without a word".to_string()),
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    engine.wait();
    match found {
        Found { info: Some(info), done, notes } if limit.is_reached(info.nodes) || done.best.is_none() => {
            // The engine's notes, for the user.
            notes.iter().for_each(|note| aside(note));
            Ok((info, done, seconds))
        }
        Found { info, notes, .. } => {
            let reached = info.map_or(0, |info| info.nodes);
            Err(format!("the search ended after {reached} nodes of {limit}: {}", notes.join("; ")))
        }
    }
}

/// The result of a search.
struct Found {
    info: Option<Info>,
    done: Done,
    notes: Vec<String>,
}

/// Keeps the last info and the notes, and sends them at the end of the search.
struct Collector {
    info: Option<Info>,
    notes: Vec<String>,
    so_far: Arc<AtomicU64>,
    sender: Sender<Found>,
}

impl Observer for Collector {
    fn info(&mut self, info: &Info) {
        self.so_far.store(info.nodes, Ordering::Relaxed);
        self.info = Some(info.clone());
    }

    fn done(&mut self, done: &Done) {
        let found = Found { info: self.info.take(), done: done.clone(), notes: std::mem::take(&mut self.notes) };
        // If the receiver is gone, the result is not needed.
        let _ = self.sender.send(found);
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}

#[derive(Default)]
struct Totals {
    nodes: u64,
    seconds: f64,
    searched: FnvHasher,
    tree_nodes: u64,
    tree_bytes: u64,
}

impl Totals {
    fn add(&mut self, info: &Info, done: &Done, seconds: f64) {
        self.nodes += info.nodes;
        self.seconds += seconds;
        self.tree_nodes += info.tree_nodes;
        self.tree_bytes += info.tree_bytes;
        // The order of the statistics is not used, because Q decides it among moves with equal visits.
        let mut visits: Vec<(u16, u32)> = done.stats.iter().filter_map(|s| Some((pack(s.mv?), s.n))).collect();
        visits.sort_unstable();
        self.searched.write(&info.nodes.to_le_bytes());
        for (mv, n) in visits {
            self.searched.write(&(u64::from(mv) << 32 | u64::from(n)).to_le_bytes());
        }
    }

    /// A hash of the searches: of their nodes and the visits of their moves.
    fn signature(&self) -> String {
        format!("{:016x}", self.searched.finish())
    }

    fn summary(&self) -> Summary {
        let bytes_per_node = (self.tree_nodes > 0).then(|| self.tree_bytes as f64 / self.tree_nodes as f64);
        Summary {
            nodes: self.nodes,
            seconds: self.seconds,
            nps: per_second(self.nodes, self.seconds),
            signature: Some(self.signature()),
            bytes_per_node,
            peak_rss_bytes: peak_resident_bytes(),
        }
    }
}

fn per_second(nodes: u64, seconds: f64) -> u64 {
    if seconds > 0.0 { (nodes as f64 / seconds).round() as u64 } else { 0 }
}

/// The median; for an even number of times, the faster of the middle two.
fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[(times.len() - 1) / 2]
}

/// Runs the bench and prints the results; OpenBench reads the last line.
///
/// # Errors
/// Like [`run`].
pub fn print(console: &Console, settings: Settings, fens: &[&str], size: Size, json: bool) -> Result<(), String> {
    let summary = run(settings, fens, size, |line| {
        if !json {
            console.say(&line);
        }
    })?;
    if json {
        let text = serde_json::to_string(&summary).map_err(|error| error.to_string())?;
        console.say(&text);
        return Ok(());
    }
    if let Some(signature) = &summary.signature {
        console.say(&format!("signature {signature}"));
    }
    if let Some(bytes) = summary.bytes_per_node {
        console.say(&format!("{bytes:.1} bytes per node"));
    }
    if let Some(bytes) = summary.peak_rss_bytes {
        console.say(&format!("{} MiB of memory at most", bytes >> 20));
    }
    console.say(&format!("{:.3} seconds", summary.seconds));
    console.say(&format!("{} nodes {} nps", summary.nodes, summary.nps));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::BackendKind;
    use crate::options::Typed;

    fn settings() -> Settings {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        settings.hash_mb = 16;
        settings
    }

    fn once(nodes: u64) -> Size {
        Size { limit: Limit::Nodes(nodes), rounds: 1 }
    }

    fn signature(settings: Settings, nodes: u64) -> String {
        run(settings, &POSITIONS, once(nodes), |_| {}).unwrap().signature.unwrap()
    }

    #[test]
    fn the_signature_depends_on_the_search_and_on_nothing_else() {
        let signature_of = |change: &dyn Fn(&mut Settings)| {
            let mut settings = settings();
            change(&mut settings);
            signature(settings, 200)
        };
        let usual = signature_of(&|_| {});
        assert_eq!(signature_of(&|_| {}), usual);
        assert_eq!(signature_of(&|settings| settings.evaluator.threads = 2), usual);
        assert_eq!(signature_of(&|settings| settings.workers.all = 1), usual);
        assert_eq!(signature_of(&|settings| settings.workers.all = 3), usual);
        assert_eq!(signature_of(&|settings| settings.workers.gather = 1), usual);
        assert_eq!(signature_of(&|settings| settings.smart_pruning_factor = 2.0), usual);
        assert_eq!(signature_of(&|settings| settings.hash_mb = 64), usual);
        assert_ne!(signature_of(&|settings| settings.params.cpuct.init = 1.5), usual);
        assert_ne!(signature_of(&|settings| settings.minibatch = 1), usual);
        assert_ne!(signature(settings(), 210), usual);
    }

    #[test]
    fn several_threads_have_no_signature_of_their_own() {
        let mut settings = settings();
        settings.workers.all = 2;
        assert_eq!(run(settings, &["startpos"], once(100), |_| {}).unwrap().signature, None);
    }

    #[test]
    fn nodes_are_the_ones_asked_for() {
        let mut lines = 0;
        let summary = run(settings(), &POSITIONS[..3], once(100), |_| lines += 1).unwrap();
        assert_eq!((summary.nodes, lines), (300, 3));
        assert!(summary.bytes_per_node.unwrap() > 8.0);
    }

    #[test]
    fn time_may_be_the_limit_and_has_no_signature() {
        let summary = run(settings(), &POSITIONS[..2], Size { limit: Limit::Time(30), rounds: 1 }, |_| {}).unwrap();
        assert!(summary.nodes > 2 && summary.signature.is_none(), "{summary:?}");
    }

    #[test]
    fn more_rounds_find_the_same_and_count_once() {
        let bench =
            |rounds| run(settings(), &POSITIONS[..2], Size { limit: Limit::Nodes(100), rounds }, |_| {}).unwrap();
        let (one, three) = (bench(1), bench(3));
        assert_eq!((one.nodes, &one.signature), (three.nodes, &three.signature));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn a_bad_fen_is_an_error() {
        let error = |fen| run(settings(), &[fen], once(1), |_| {}).unwrap_err();
        assert!(error("8/8 w").starts_with("bad FEN") && error("moves e2e4").starts_with("bad FEN"));
        assert!(error("startpos moves e2e4 e2e4").starts_with("move 2 of 2"));
    }

    #[test]
    fn moves_may_stand_behind_a_position() {
        let before = position("startpos moves e2e4 e7e5").unwrap();
        let fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1 moves e7e5";
        assert_eq!((before.len(), before.board()), (3, position(fen).unwrap().board()));
    }

    #[test]
    fn a_network_that_is_not_there_is_an_error() {
        let mut settings = settings();
        settings.evaluator.backend = BackendKind::Host;
        settings.evaluator.weights = crate::network::Weights::File("no such file".into());
        assert!(run(settings, &["startpos"], once(1), |_| {}).unwrap_err().contains("no such file"));
    }

    #[test]
    fn every_position_is_a_position_with_moves() {
        for fen in POSITIONS {
            let history = position(fen).unwrap();
            let mut moves = oncilla_chess::MoveList::new();
            history.legal_moves(&mut moves);
            assert!(!moves.is_empty(), "{fen}");
        }
    }
}
