//! Drives the real binary.

#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "../program/mod.rs"]
pub mod program;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A time in which any answer comes on a busy machine, emulated or not. A test that waits for longer fails.
pub fn patience() -> Duration {
    Duration::from_secs(if program::is_emulated() { 1200 } else { 60 })
}

/// Long enough to notice an answer that should not come.
pub const A_WHILE: Duration = Duration::from_millis(200);

/// The tests' own cache, so that they do not depend on the user's tuning; programs that one test has compiled are
/// reused by the next.
pub const OWN_CACHE: &str = concat!("--cache-dir=", env!("CARGO_TARGET_TMPDIR"), "/programs");

/// A folder for one test, which is removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes the folder.
    pub fn new(name: &str) -> Self {
        let folder = Self::absent(name);
        std::fs::create_dir_all(&folder.0).expect("a folder");
        folder
    }

    /// The path of a folder that does not exist yet.
    pub fn absent(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("oncilla-{name}-{}", std::process::id())))
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// The content of a file in the folder.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("a file with text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running engine. It is killed with the test.
pub struct Engine {
    process: Child,
    lines: Receiver<String>,
    /// All lines of output so far.
    pub heard: Vec<String>,
}

impl Engine {
    /// Starts an engine that needs no network.
    pub fn start() -> Self {
        Self::with(&["--backend=random"])
    }

    /// Starts an engine with these arguments.
    pub fn with(args: &[&str]) -> Self {
        let mut command = binary();
        command.args(args);
        Self::of(command)
    }

    /// Starts an engine by a command.
    pub fn of(mut command: Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { process, lines, heard: Vec::new() }
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a line.
    pub fn say(&mut self, line: &str) {
        self.say_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends any bytes.
    pub fn say_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.process.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the engine reads");
    }

    /// Waits for the first line that starts with `start`. Returns the lines up to that one, which is included.
    pub fn until(&mut self, start: &str) -> Vec<String> {
        let from = self.heard.len();
        let deadline = Instant::now() + patience();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.heard.push(line),
                Err(error) => panic!("no {start:?}: {error}; heard {:#?}", self.heard),
            }
            if self.heard.last().is_some_and(|line| line.starts_with(start)) {
                return self.heard[from..].to_vec();
            }
        }
    }

    /// Sends a line, and waits for one that starts with `answer`.
    pub fn ask(&mut self, line: &str, answer: &str) -> Vec<String> {
        self.say(line);
        self.until(answer)
    }

    /// Sends a `go`. Returns the best move.
    pub fn best_move(&mut self, go: &str) -> String {
        let lines = self.ask(go, "bestmove");
        lines.last().and_then(|line| line.split(' ').nth(1)).expect("a best move").to_string()
    }

    /// The lines that are printed within [`A_WHILE`].
    pub fn overhear(&mut self) -> Vec<String> {
        let from = self.heard.len();
        let deadline = Instant::now() + A_WHILE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.heard.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return self.heard[from..].to_vec(),
            }
        }
    }

    /// Closes the input and waits for the process to end. Returns the exit status and the lines that were still to
    /// come.
    pub fn finish(mut self) -> (ExitStatus, Vec<String>) {
        drop(self.process.stdin.take());
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(patience()) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the engine does not end; heard {:#?}, {rest:#?}", self.heard),
            }
        }
        (self.process.wait().expect("an exit status"), rest)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command that starts the binary.
pub fn binary() -> Command {
    program::command()
}

/// Starts the binary; the caller handles its input and output.
pub fn spawn(args: &[&str]) -> (Child, ChildStdin) {
    let mut process = binary()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let stdin = process.stdin.take().expect("stdin is piped");
    (process, stdin)
}

/// Runs the binary to its end, with `input` on standard input.
pub fn run(args: &[&str], input: &str) -> Output {
    run_bytes(args, input.as_bytes())
}

/// Like [`run`], with any bytes.
pub fn run_bytes(args: &[&str], input: &[u8]) -> Output {
    let (process, mut stdin) = spawn(args);
    let input = input.to_vec();
    // A thread writes the input, because the output pipe may fill up meanwhile. A command that reads nothing closes the
    // input pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = process.wait_with_output().expect("output");
    writer.join().expect("the writer ends");
    output
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// More visits than any test has time for.
pub const ENDLESS: u64 = 1 << 50;

/// A running analysis engine.
pub struct Analysis(pub Engine);

impl Analysis {
    /// Starts an analysis engine with these arguments.
    pub fn with(args: &[&str]) -> Self {
        Self(Engine::with(args))
    }

    /// Sends a request.
    pub fn say(&mut self, request: &Value) {
        self.0.say(&request.to_string());
    }

    /// The next answer.
    pub fn next(&mut self) -> Value {
        serde_json::from_str(&self.0.until("{")[0]).expect("JSON")
    }

    /// Closes the input and waits for the answers that were still to come.
    pub fn finish(self) -> Vec<Value> {
        let (status, lines) = self.0.finish();
        assert!(status.success());
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Sends `count` queries that never end, each the one that `query` makes of an id, and ends each at once. Checks
    /// that each has one answer, and only one.
    pub fn end_each_at_once(mut self, count: usize, query: impl Fn(&str) -> Value) {
        for number in 0..count {
            let id = number.to_string();
            self.say(&query(&id));
            self.say(&json!({ "id": "t", "action": "terminate", "terminateId": id }));
        }
        let answers = self.finish();
        let of_queries = answers.iter().filter(|answer| answer["action"].is_null());
        let ids: Vec<&str> = of_queries.map(|answer| answer["id"].as_str().expect("an id")).collect();
        assert_eq!((ids.len(), BTreeSet::from_iter(&ids).len()), (count, count), "{ids:?}");
    }
}
