//! `oncilla tune`: finds the fastest kernels for a network on a device, and stores the result.
//!
//! Every candidate runs in a process of its own, because it may make a driver hang or crash: this program is started
//! again with the same arguments and `--candidate`, and reports the result in one line of JSON.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use oncilla_opencl::device;
use oncilla_opencl::graph::Graph;
use oncilla_opencl::kernels::Tuning;
use oncilla_opencl::kernels::starts::Start;
use oncilla_opencl::kernels::tuning::KNOBS;
use oncilla_opencl::opencl::Options;
use oncilla_opencl::tune::{Candidate, Key, Record, Trial, baseline, batches, score, search};
use serde::{Deserialize, Serialize};

use crate::child;
use oncilla_go::Size;

use crate::console::{Console, aside};
use crate::network::{EvaluatorSettings, Weights, device_choice, drivers, tuning};
use crate::options::backend::on_a_device;
use crate::progress::Progress;
use crate::subject::Subject;
use crate::system;

/// The arguments of the command.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The time limit of a candidate in seconds, compiling included.
    pub limit: u64,
    /// Discard the results of earlier runs.
    pub again: bool,
    /// The size of the board, for a Go network.
    pub board: Size,
    /// Run only this candidate; set in the process of a candidate.
    pub candidate: Option<String>,
}

/// The result that the process of a candidate reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CandidateReport {
    /// Milliseconds per batch, for each of the device's [`batches`].
    Milliseconds([f64; 3]),
    /// The error, if the candidate can't be used.
    Refused(String),
    /// The tuning that a game uses, if no candidate was named.
    Runs(String),
}

impl CandidateReport {
    fn milliseconds(self) -> Trial {
        match self {
            CandidateReport::Milliseconds(times) => Ok(times),
            other => Err(format!("its process: expected milliseconds, got {other:?}")),
        }
    }

    fn tuning(self) -> Result<Tuning, String> {
        match self {
            CandidateReport::Runs(tuning) => tuning.parse(),
            other => Err(format!("its process: expected a tuning, got {other:?}")),
        }
    }
}

/// Tunes, or runs one candidate.
///
/// # Errors
/// In one line: no network, no device, a backend that uses none, or no kernels that work.
pub fn run(console: &Console, settings: &EvaluatorSettings, arguments: &Arguments) -> Result<(), String> {
    on_a_device(settings)?;
    match &arguments.candidate {
        Some(text) => run_candidate(console, settings, arguments.board, text),
        None => tune(console, settings, arguments),
    }
}

fn run_candidate(console: &Console, settings: &EvaluatorSettings, board: Size, text: &str) -> Result<(), String> {
    drivers::end_with_input_if_asked();
    system::end_without_a_window();
    let (tuning, layers) = candidate_in(text)?;
    let mut graph = Subject::graph(settings, board)?;
    for layer in layers {
        graph.set_int8(layer, true).map_err(|why| why.to_string())?;
    }
    let options =
        Options { device: device_choice(settings), tuning, precision: settings.precision, ..Options::default() };
    let candidate = Candidate { graph: Arc::new(graph), options };
    let said = match tuning {
        Some(_) => candidate.run().map(CandidateReport::Milliseconds),
        None => candidate.of_a_game().map(|tuning| CandidateReport::Runs(tuning.to_string())),
    };
    let said = said.unwrap_or_else(|why| CandidateReport::Refused(why.to_string()));
    console.say(&serde_json::to_string(&said).map_err(|error| error.to_string())?);
    Ok(())
}

/// Reads the argument of `--candidate`: a tuning, which may be empty, and the layers in int8.
fn candidate_in(text: &str) -> Result<(Option<Tuning>, Vec<usize>), String> {
    let (tuning, layers) = text.split_once(';').unwrap_or((text, ""));
    let tuning = match tuning {
        "" => None,
        named => Some(named.parse().map_err(|why| format!("--candidate: {why}"))?),
    };
    let layer = |text: &str| text.parse().map_err(|why| format!("--candidate: layer {text:?}: {why}"));
    let layers: Result<_, String> = layers.split(' ').filter(|layer| !layer.is_empty()).map(layer).collect();
    Ok((tuning, layers?))
}

fn tune(console: &Console, settings: &EvaluatorSettings, arguments: &Arguments) -> Result<(), String> {
    drivers::scout()?;
    let (Subject { graph, .. }, _) = Subject::of(settings, arguments.board)?;
    are_there_again(&settings.weights)?;
    let device = device::choose(&device_choice(settings)).map_err(|error| error.to_string())?;
    let start = Tuning::of(&device);
    console.say(&format!("starting point: {}", Start::of(&device)));
    let mut log = TrialLog::open(settings, &Key::new(&device, &graph, settings.precision), arguments)?;
    let trials = Trials::new(arguments, &graph)?;
    let progress = Progress::on_stderr();
    let most = 2 + KNOBS.iter().map(|knob| knob.values.len()).sum::<usize>();
    let hint = log.hint(start);
    let mut tried = 0;
    let mut best = f64::INFINITY;
    let mut try_out = |tuning: Tuning| {
        tried += 1;
        let so_far = if best.is_finite() { format!(", best {best:.3} ms") } else { String::new() };
        progress.show(&format!("{tried} of at most {most}{so_far}: {tuning}"));
        let trial = log.tried(tuning).unwrap_or_else(|| {
            let outcome = trials.run(tuning);
            log.keep(tuning, &outcome);
            outcome.trial
        });
        best = trial.as_ref().map_or(best, |times| score(*times).min(best));
        trial
    };
    let mut again = |tuning: Tuning| {
        progress.show(&format!("once more: {tuning}"));
        trials.run(tuning).trial
    };
    let mut walk = |start| search(start, &mut try_out, &mut again);
    let (start, found) = match walk(start) {
        Ok(found) => (start, found),
        Err(why) => {
            let given_way = trials.of_a_game().map_err(|_| why.clone() + &hint)?;
            progress.clear();
            console.say(&format!("{why}; from what a game runs there: {given_way}"));
            (given_way, walk(given_way).map_err(|why| why + &hint)?)
        }
    };
    progress.clear();
    let kept = log.finish(found);
    report(console, &log, batches(device.kind), [start, found]);
    match kept {
        Some(path) => console.say(&format!("kept in {}", path.display())),
        None => console.say("not kept"),
    }
    Ok(())
}

/// Checks that the process of a candidate can read the weights again.
///
/// # Errors
/// In one line: it can't.
fn are_there_again(weights: &Weights) -> Result<(), String> {
    if weights.is_there_again() {
        return Ok(());
    }
    Err(format!(
        "--weights: expected a regular file, which each candidate's process reads again, got {weights}, which is none"
    ))
}

fn report(console: &Console, log: &TrialLog, [one, few, many]: [usize; 3], [start, found]: [Tuning; 2]) {
    console.say(&format!("{:<8} {one:>10} {few:>10} {many:>10}   milliseconds of a batch", "batch"));
    for (name, tuning) in [("start", start), ("found", found)] {
        let times = match log.tried(tuning) {
            Some(Ok(times)) => times.map(|time| format!("{time:>10.3}")).join(" "),
            Some(Err(why)) => why,
            None => String::new(),
        };
        console.say(&format!("{name:<8} {times}   {tuning}"));
    }
}

/// The results of the candidates, in a record on disk if that can be written.
struct TrialLog {
    record: Option<Record>,
    /// The results of this run, with or without a record.
    loose: Vec<(Tuning, Trial)>,
    /// The time limit of a candidate in this run, in seconds.
    limit: u64,
}

impl TrialLog {
    fn open(settings: &EvaluatorSettings, key: &Key, arguments: &Arguments) -> Result<Self, String> {
        let (again, limit) = (arguments.again, arguments.limit);
        let Some(cache) = tuning::cache_dir(settings) else {
            aside("tuning: there is no cache folder (--cache-dir=FOLDER), so that what is found is not kept");
            return Ok(Self { record: None, loose: Vec::new(), limit });
        };
        if again {
            // If it can't be removed, opening it fails below.
            let _ = std::fs::remove_file(key.path(&cache));
        }
        let record = match Record::open(&cache, key) {
            Ok(record) => Some(record),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(format!("tuning: {error}; --again begins a new file"));
            }
            Err(error) => {
                aside(&format!("tuning: {error}; what is found is not kept"));
                None
            }
        };
        Ok(Self { record, loose: Vec::new(), limit })
    }

    /// An addition to the error that no kernels work, if that result comes from an earlier run: kernels without which
    /// the search can't start are recorded as refused.
    fn hint(&self, start: Tuning) -> String {
        let is_refused = |tuning| self.tried(tuning).is_some_and(|trial| trial.is_err());
        match &self.record {
            Some(record) if [start, baseline(start)].into_iter().any(is_refused) => {
                format!("; {} has that of an earlier run: --again tries again", record.path().display())
            }
            _ => String::new(),
        }
    }

    /// The known result of a candidate. One that was too slow is tried again if the limit is larger now.
    fn tried(&self, tuning: Tuning) -> Option<Trial> {
        let loose = self.loose.iter().find(|(known, _)| *known == tuning).map(|(_, trial)| trial.clone());
        let kept = || self.record.as_ref().and_then(|record| record.tried(tuning).cloned());
        let has_more_time =
            |trial: &Trial| trial.as_ref().err().and_then(|why| had(why)).is_some_and(|had| had < self.limit);
        loose.or_else(|| kept().filter(|trial| !has_more_time(trial)))
    }

    fn keep(&mut self, tuning: Tuning, outcome: &Outcome) {
        self.loose.push((tuning, outcome.trial.clone()));
        if outcome.lasts {
            self.write(|record| record.add(tuning, &outcome.trial));
        }
    }

    /// Stores the best tuning. Returns the path of the record; `None` if it is not stored.
    fn finish(&mut self, found: Tuning) -> Option<PathBuf> {
        self.write(|record| record.set_best(found));
        self.record.as_ref().map(|record| record.path().to_owned())
    }

    /// Writes to the record. If that fails, the record is given up, and the search continues without it.
    fn write(&mut self, write: impl FnOnce(&mut Record) -> std::io::Result<()>) {
        let Some(record) = &mut self.record else { return };
        if let Err(error) = write(record) {
            aside(&format!("tuning: {}: {error}; what is found is not kept", record.path().display()));
            self.record = None;
        }
    }
}

/// The result of a candidate's process.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    trial: Trial,
    /// Whether the result is that of the candidate, and not of the system at that moment. Only then is it stored.
    lasts: bool,
}

/// The error about a candidate that took more than `seconds` seconds. [`had`] parses it.
fn too_late(seconds: u64) -> String {
    format!("it took more than {seconds} s")
}

fn had(why: &str) -> Option<u64> {
    why.strip_prefix("it took more than ")?.strip_suffix(" s")?.parse().ok()
}

/// Runs candidates in processes of their own.
struct Trials {
    program: PathBuf,
    args: Vec<OsString>,
    /// The layers in int8, each after a space. They are chosen once, on the host, because that takes some time.
    int8: String,
    limit: Duration,
}

/// The time limit of [`Trials::of_a_game`], in time limits of a candidate: the device tries one set of kernels after
/// the other.
const GAME_LIMITS: u32 = 8;

impl Trials {
    fn new(arguments: &Arguments, graph: &Graph) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program's own path: {error}"))?;
        let args = std::env::args_os().skip(1).collect();
        let layers = (0..graph.layers().len()).filter(|&layer| graph.is_int8(layer));
        let int8 = layers.map(|layer| format!(" {layer}")).collect();
        Ok(Self { program, args, int8, limit: Duration::from_secs(arguments.limit) })
    }

    fn run(&self, tuning: Tuning) -> Outcome {
        let said = self.ask(&tuning.to_string(), self.limit);
        match said.map(|said| said.and_then(CandidateReport::milliseconds)) {
            Ok(trial) => Outcome { trial, lasts: true },
            Err(why) => Outcome { trial: Err(why), lasts: false },
        }
    }

    /// The tuning that a game uses on the device if none of the kernels that are tried first works.
    ///
    /// # Errors
    /// In one line: the reason why a game can't run on the device either.
    fn of_a_game(&self) -> Result<Tuning, String> {
        self.ask("", self.limit.saturating_mul(GAME_LIMITS))??.tuning()
    }

    /// Runs a process for a candidate, or, if the name is empty, for the kernels of a game. The inner result is an
    /// error if the candidate can't be used.
    ///
    /// # Errors
    /// An error that is not one of the candidate: the process could not be started, was lost, was killed by others, or
    /// ended before it tried the candidate.
    fn ask(&self, candidate: &str, limit: Duration) -> Result<Result<CandidateReport, String>, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg("--candidate").arg(format!("{candidate};{}", self.int8));
        // Drivers and compilers write messages to standard error that are of no use here.
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        drivers::ends_with_this_process(&mut command);
        let mut child = command.spawn().map_err(|error| format!("no process: {error}"))?;
        let said = read_reports(child.stdout.take());
        let status = match child::wait(&mut child, limit) {
            Ok(Some(status)) => status,
            Ok(None) => return Ok(Err(too_late(limit.as_secs()))),
            Err(error) => return Err(format!("its process was lost: {error}")),
        };
        // The end of the pipe may not come, because a process that the driver has started may still hold the pipe open.
        let last = std::iter::from_fn(|| said.recv_timeout(child::GRACE).ok()).last();
        match last {
            Some(CandidateReport::Refused(why)) => Ok(Err(why)),
            Some(said) if status.success() => Ok(Ok(said)),
            _ => {
                let why = format!("its process ended without a result ({status})");
                if is_no_fault_of_drivers(status) { Err(why) } else { Ok(Err(why)) }
            }
        }
    }
}

/// Whether a process that reported nothing ended before it tried the candidate (for example if it can't read the
/// network), or was killed by a person or by a system that is short of memory.
fn is_no_fault_of_drivers(status: ExitStatus) -> bool {
    status.code() == Some(2) || was_ended_by_others(status)
}

#[cfg(unix)]
fn was_ended_by_others(status: ExitStatus) -> bool {
    // SIGHUP, SIGINT, SIGKILL, SIGTERM. A crash ends with another signal.
    std::os::unix::process::ExitStatusExt::signal(&status).is_some_and(|signal| [1, 2, 9, 15].contains(&signal))
}

#[cfg(not(unix))]
fn was_ended_by_others(_: ExitStatus) -> bool {
    false
}

/// Receives the reports of a process, and skips the lines that drivers write to standard output. It reads in a thread,
/// because a pipe holds little and the process would block.
fn read_reports(stdout: Option<ChildStdout>) -> mpsc::Receiver<CandidateReport> {
    let (tell, said) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')).map_while(Result::ok);
        for line in lines.filter_map(|line| serde_json::from_slice(&line).ok()) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    said
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use oncilla_opencl::kernels::Variant;
    use std::os::unix::fs::PermissionsExt;

    fn outcome_of(name: &str, script: &str) -> Outcome {
        with_trials(name, script, |trials| trials.run(Tuning::start(Variant::Gpu, 1)))
    }

    #[test]
    fn a_candidate_is_a_tuning_and_the_layers_in_eight_bits() {
        let tuning = Tuning::start(Variant::Gpu, 1);
        for (layers, read) in [(";", vec![]), ("", vec![]), ("; 3 5", vec![3, 5]), (";12", vec![12])] {
            assert_eq!(candidate_in(&format!("{tuning}{layers}")), Ok((Some(tuning), read)), "{layers:?}");
        }
        assert_eq!(candidate_in("; 7"), Ok((None, vec![7])));
        let error = candidate_in("; 3 x").unwrap_err();
        assert!(error.starts_with("--candidate: layer \"x\": "), "{error}");
        assert!(candidate_in("x; 3").unwrap_err().starts_with("--candidate: expected "));
    }

    /// Runs `use_them` with a shell script in place of the program.
    fn with_trials<T>(name: &str, script: &str, use_them: impl FnOnce(&Trials) -> T) -> T {
        let path = std::env::temp_dir().join(format!("oncilla-tune-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let args = vec!["tune".into()];
        let trials = Trials { program: path.clone(), args, int8: " 3 5".to_string(), limit: Duration::from_secs(1) };
        let answer = use_them(&trials);
        std::fs::remove_file(&path).unwrap();
        answer
    }

    #[test]
    fn where_no_candidate_is_named_a_process_says_what_a_game_runs() {
        let of_a_game = |name: &str, script: &str| with_trials(name, script, |trials| trials.of_a_game());
        let tuning = Tuning { lanes: 16, columns: 1, ..Tuning::start(Variant::Gpu, 1) };
        let script = format!("[ \"$3\" = '; 3 5' ] && echo '{{\"runs\":\"{tuning}\"}}'");
        assert_eq!(of_a_game("runs", &script), Ok(tuning));
        let refused = of_a_game("runs-none", "echo '{\"refused\":\"no device\"}'");
        assert_eq!(refused, Err("no device".to_string()));
        let other = of_a_game("runs-other", "echo '{\"milliseconds\":[1.0,2.0,3.0]}'").unwrap_err();
        assert!(other.starts_with("its process: expected a tuning, got "), "{other}");
    }

    /// The standard input of a candidate is a pipe that ends when the tuner ends.
    #[test]
    fn the_input_of_a_process_lasts_as_long_as_somebody_waits() {
        let script = "[ \"$ONCILLA_ENDS_WITH_INPUT\" = 1 ] && [ -p /dev/stdin ] || exit 1; cat; echo ended";
        assert_eq!(run_by("input", script), Err(too_late(1)));
    }

    fn run_by(name: &str, script: &str) -> Trial {
        let outcome = outcome_of(name, script);
        assert!(outcome.lasts, "{outcome:?}");
        outcome.trial
    }

    #[test]
    fn a_process_that_did_not_come_to_its_candidate_says_nothing_of_it() {
        let mut log = TrialLog { record: None, loose: Vec::new(), limit: 20 };
        for (name, script) in [("unread", "exit 2"), ("killed", "kill -KILL $$"), ("quit", "kill -TERM $$")] {
            let outcome = outcome_of(name, script);
            assert!(!outcome.lasts, "{script}: {outcome:?}");
            let why = outcome.trial.as_ref().unwrap_err();
            assert!(why.starts_with("its process ended without a result ("), "{script}: {why}");
            log.keep(Tuning::start(Variant::Gpu, 1), &outcome);
        }
        // A reported result counts whatever the exit status is.
        assert_eq!(run_by("says-why", "echo '{\"refused\":\"wrong\"}'; exit 2"), Err("wrong".to_string()));
    }

    #[test]
    fn what_the_system_had_no_process_for_is_tried_again() {
        // With user-mode emulation, a program that does not exist can be started, and the process ends with 127.
        if std::env::var_os("ONCILLA_RUNNER").is_some() {
            return;
        }
        let trials =
            Trials { program: "/no/such/program".into(), args: Vec::new(), int8: String::new(), limit: Duration::ZERO };
        let tuning = Tuning::start(Variant::Gpu, 1);
        let outcome = trials.run(tuning);
        assert!(!outcome.lasts && outcome.trial.is_err(), "{outcome:?}");
        let mut log = TrialLog { record: None, loose: Vec::new(), limit: 20 };
        log.keep(tuning, &outcome);
        assert_eq!(log.tried(tuning), Some(outcome.trial), "not in this run");
    }

    /// A temporary folder with the records of a test.
    struct Shelf {
        folder: PathBuf,
        key: Key,
    }

    impl Shelf {
        /// `None` without a device, after a message.
        fn new(name: &str) -> Option<Self> {
            let device = drivers::device_is_there(&device::DeviceChoice::Auto)?;
            let graph = Graph::new(oncilla_opencl::graph::Shape { channels: 1, squares: 64 });
            let folder = std::env::temp_dir().join(format!("oncilla-tune-{name}-{}", std::process::id()));
            Some(Self { folder, key: Key::new(&device, &graph, Default::default()) })
        }

        fn open(&self, limit: u64) -> TrialLog {
            TrialLog { record: Some(Record::open(&self.folder, &self.key).unwrap()), loose: Vec::new(), limit }
        }
    }

    impl Drop for Shelf {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn who_took_too_long_is_asked_again_where_there_is_more_time() {
        let Some(shelf) = Shelf::new("patience") else { return };
        let (late, bad) = (Tuning::start(Variant::Gpu, 1), Tuning::start(Variant::Cpu, 8));
        let open = |limit| shelf.open(limit);
        let mut first = open(20);
        for (tuning, why) in [(late, too_late(20)), (bad, "it is wrong".to_string())] {
            first.keep(tuning, &Outcome { trial: Err(why), lasts: true });
        }
        assert_eq!(open(20).tried(late), Some(Err("it took more than 20 s".to_string())));
        let mut second = open(60);
        assert_eq!((second.tried(late), second.tried(bad)), (None, Some(Err("it is wrong".to_string()))));
        second.keep(late, &Outcome { trial: Ok([1.0, 2.0, 3.0]), lasts: true });
        assert_eq!(open(20).tried(late), Some(Ok([1.0, 2.0, 3.0])));
    }

    #[test]
    fn whatever_becomes_of_its_process_is_an_answer() {
        let asked = "[ \"$1 $2 ${3#*;}\" = 'tune --candidate  3 5' ] && echo '{\"milliseconds\":[1.0,2.0,3.5]}'";
        assert_eq!(run_by("good", asked), Ok([1.0, 2.0, 3.5]));
        assert_eq!(run_by("talks", "echo hello; echo '{\"milliseconds\":[1,2,3]}'; echo bye"), Ok([1.0, 2.0, 3.0]));
        assert_eq!(run_by("bad", "echo '{\"refused\":\"wrong\"}'"), Err("wrong".to_string()));
        assert!(
            run_by("crash", "kill -SEGV $$").unwrap_err().starts_with("its process ended without a result (signal")
        );
        assert!(run_by("nothing", "exit 0").unwrap_err().starts_with("its process ended without a result"));
        assert_eq!(run_by("late", "exec sleep 60"), Err("it took more than 1 s".to_string()));
        let much = "i=0; while [ $i -lt 3000 ]; do echo 'a driver has a lot to say of all that it does, and why'; i=$((i+1)); done";
        assert_eq!(run_by("loud", &format!("{much}; echo '{{\"milliseconds\":[1,2,3]}}'")), Ok([1.0, 2.0, 3.0]));
        assert_eq!(run_by("leaves", "sleep 4 & echo '{\"milliseconds\":[1,2,3]}'"), Ok([1.0, 2.0, 3.0]));
    }

    #[test]
    fn what_does_not_last_is_in_no_record() {
        let Some(shelf) = Shelf::new("lasts") else { return };
        let tuning = Tuning::start(Variant::Gpu, 1);
        for lasts in [false, true] {
            shelf.open(20).keep(tuning, &Outcome { trial: Err("it is wrong".to_string()), lasts });
            assert_eq!(shelf.open(20).tried(tuning).is_some(), lasts);
        }
    }
}
