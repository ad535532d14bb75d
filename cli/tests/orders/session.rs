//! Runs a session with the program's UCI loop in this process or with the real binary.

use crate::random::Random;
use crate::script::{Command, Kind, Script, Waits};
use crate::transcript::Transcript;
use oncilla::console::Console;
use oncilla::options::args::Args;
use std::io::{BufReader, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A time in which any answer comes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The largest number of commands in a session.
const LONGEST: u64 = 24;

/// Arguments for all kinds of searches: one thread, several, one for each role, a graph.
const THREADS: [&str; 4] = [
    "--threads=1",
    "--threads=2",
    "--gather-threads=1 --eval-threads=1 --backprop-threads=1",
    "--threads=1 --search-graph=graph",
];

/// A running engine.
pub struct Host {
    /// The engine's arguments.
    pub arguments: String,
    input: Box<dyn Write>,
    transcript: Transcript,
    /// Its result is whether the program ends with success.
    end: JoinHandle<bool>,
}

fn arguments(random: &mut Random) -> String {
    format!("--backend=random --hash=1 --nncache=0 {}", random.pick(&THREADS))
}

fn words(arguments: &str) -> Vec<String> {
    arguments.split(' ').map(str::to_string).collect()
}

impl Host {
    /// Runs the program's UCI loop in a thread.
    pub fn here(random: &mut Random) -> Self {
        let arguments = arguments(random);
        let typed = Args::read(&words(&arguments)).expect("arguments").typed;
        let transcript = Transcript::default();
        let console = Arc::new(Console::new(Box::new(transcript.recorder())));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let run = move || oncilla::uci::run(BufReader::new(reader), console, typed) == ExitCode::SUCCESS;
        Self { arguments, input: Box::new(writer), transcript, end: std::thread::spawn(run) }
    }

    /// Starts the real binary.
    pub fn binary(random: &mut Random) -> Self {
        use std::process::Stdio;
        let mut command = crate::program::command();
        let arguments = arguments(random);
        command.args(words(&arguments)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the binary starts");
        let input = Box::new(process.stdin.take().expect("stdin is piped"));
        let transcript = Transcript::default();
        let mut recorder = transcript.recorder();
        let end = std::thread::spawn(move || {
            let mut said = process.stdout.take().expect("stdout is piped");
            std::io::copy(&mut said, &mut recorder).expect("the engine's output");
            process.wait().expect("an exit status").success()
        });
        Self { arguments, input, transcript, end }
    }
}

/// Sends random commands until a `quit` or the largest number of them. In the latter case, half of the sessions close
/// the input without `quit`.
///
/// # Errors
/// The engine does not end, or ends with a failure.
pub fn hold(mut host: Host, random: &mut Random) -> Result<Transcript, String> {
    let mut script = Script::new();
    let mut due = Due { best_moves: 0, ready: 0, waits_for: Waits::Limit };
    // From here on the loop runs, so a command reaches a search in a random state.
    send(&mut host, Command { line: "isready".to_string(), kind: Kind::IsReady }, &mut due);
    if !host.transcript.wait_for("readyok", 1, PATIENCE) {
        return Err("the session does not begin".to_string());
    }
    for _ in 0..2 + random.below(LONGEST) {
        let command = script.next(random);
        let kind = command.kind.clone();
        send(&mut host, command, &mut due);
        if kind == Kind::Quit {
            break;
        }
        pause(&host, random, &kind, &due)?;
    }
    if random.percent(50) {
        send(&mut host, Command { line: "quit".to_string(), kind: Kind::Quit }, &mut due);
    }
    let Host { input, transcript, end, .. } = host;
    // To the checks, the end of the input is a `quit`: a search that never ends by itself is ended.
    transcript.said(Command { line: "(the end of the input)".to_string(), kind: Kind::Quit });
    drop(input);
    if !ends(&end) {
        return Err(format!("the session does not end\n{transcript}"));
    }
    match end.join() {
        Ok(true) => Ok(transcript),
        Ok(false) => Err(format!("the session failed\n{transcript}")),
        Err(_) => Err(format!("the session panicked\n{transcript}")),
    }
}

/// The number of answers that must come, and what ends the last search.
struct Due {
    best_moves: usize,
    ready: usize,
    /// What the last search still waits for.
    waits_for: Waits,
}

fn send(host: &mut Host, command: Command, due: &mut Due) {
    match command.kind {
        Kind::Go { waits_for, .. } => {
            due.best_moves += 1;
            due.waits_for = waits_for;
        }
        Kind::Stop | Kind::Ends => due.waits_for = Waits::Limit,
        Kind::PonderHit if due.waits_for == Waits::PonderHit => due.waits_for = Waits::Limit,
        Kind::IsReady => due.ready += 1,
        _ => {}
    }
    let line = format!("{}\n", command.line);
    host.transcript.said(command);
    // After `quit`, the engine does not read its input.
    let _ = host.input.write_all(line.as_bytes()).and_then(|()| host.input.flush());
}

/// Waits for no time, for a short time, or for the answers that are due, so that commands reach a search in all its
/// states, on a busy machine too.
///
/// # Errors
/// An answer does not come.
fn pause(host: &Host, random: &mut Random, kind: &Kind, due: &Due) -> Result<(), String> {
    let micros = match random.below(10) {
        0..2 => 0,
        2..3 => random.below(300),
        3..5 => random.below(4000),
        _ if *kind == Kind::IsReady => return wait(host, "readyok", due.ready),
        _ if due.waits_for == Waits::Limit => return wait(host, "bestmove", due.best_moves),
        // The search has no limit of its own.
        _ => random.below(1000),
    };
    if micros > 0 {
        std::thread::sleep(Duration::from_micros(micros));
    }
    Ok(())
}

fn wait(host: &Host, word: &str, count: usize) -> Result<(), String> {
    if host.transcript.wait_for(word, count, PATIENCE) {
        return Ok(());
    }
    Err(format!("no {word} in {PATIENCE:?}\n{}", host.transcript))
}

fn ends(thread: &JoinHandle<bool>) -> bool {
    let step = Duration::from_micros(200);
    let steps = PATIENCE.as_micros() / step.as_micros();
    (0..steps).any(|_| {
        let is_over = thread.is_finished();
        if !is_over {
            std::thread::sleep(step);
        }
        is_over
    })
}
