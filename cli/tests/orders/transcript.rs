//! Records the lines of both sides in their order, and checks the answers.
//!
//! A command is recorded before it is sent, and an answer when it arrives. So an answer before the command that allows
//! it came too early, independently of the threads' timing.

use crate::script::{Command, Kind, Waits};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The unit in which waiting time is counted.
const MOMENT: Duration = Duration::from_millis(50);

/// A line, from the GUI or from the engine.
#[derive(Clone, Debug)]
enum Line {
    Said(Command),
    Heard(String),
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    searches: u64,
    /// Infinite or pondering searches that were ended by `stop`.
    stopped: u64,
    /// Pondering searches that were ended after a `ponderhit`.
    hit: u64,
    /// Searches that were ended by another command.
    cut_short: u64,
    /// Searches that were running at `quit`, or at the end of the input.
    quit: u64,
    ready: u64,
}

impl Counts {
    pub fn all(&self) -> [(&'static str, u64); 6] {
        [
            ("searches", self.searches),
            ("stopped", self.stopped),
            ("after a ponder hit", self.hit),
            ("cut short", self.cut_short),
            ("ended by the end", self.quit),
            ("ready", self.ready),
        ]
    }

    pub fn add(&mut self, other: &Self) {
        self.searches += other.searches;
        self.stopped += other.stopped;
        self.hit += other.hit;
        self.cut_short += other.cut_short;
        self.quit += other.quit;
        self.ready += other.ready;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all().map(|(what, count)| format!("{count} {what}"));
        f.write_str(&all.join(", "))
    }
}

/// The lines of a session so far. Clones share them.
#[derive(Clone, Default)]
pub struct Transcript {
    lines: Arc<(Mutex<Vec<Line>>, Condvar)>,
}

impl Transcript {
    /// Records a command. Must be called before the command is sent.
    pub fn said(&self, command: Command) {
        self.add(Line::Said(command));
    }

    fn add(&self, line: Line) {
        let (lines, changed) = &*self.lines;
        lines.lock().expect("nobody panics with it").push(line);
        changed.notify_all();
    }

    /// A writer that records the engine's output.
    pub fn recorder(&self) -> Recorder {
        Recorder { transcript: self.clone(), rest: Vec::new() }
    }

    fn heard(lines: &[Line], word: &str) -> usize {
        lines.iter().filter(|line| matches!(line, Line::Heard(text) if text.split(' ').next() == Some(word))).count()
    }

    /// Waits until `count` lines begin with `word`, but at most for `patience`. Returns whether they do. Time counts
    /// only while this process runs, because the engine is also stopped if this process is.
    pub fn wait_for(&self, word: &str, count: usize, patience: Duration) -> bool {
        let (lines, changed) = &*self.lines;
        let mut left = patience;
        let mut lines = lines.lock().expect("nobody panics with it");
        while Self::heard(&lines, word) < count {
            if left.is_zero() {
                return false;
            }
            let (changed, waited) = changed.wait_timeout(lines, MOMENT).expect("nobody panics with it");
            lines = changed;
            if waited.timed_out() {
                left = left.saturating_sub(MOMENT);
            }
        }
        true
    }

    /// Checks that every answer came, is correct and did not come too early. The session must have ended.
    pub fn judge(&self) -> Result<Counts, String> {
        let lines = self.lines.0.lock().expect("nobody panics with it");
        let mut judge = Judge::default();
        for line in lines.iter() {
            match line {
                Line::Said(command) => judge.said(&command.kind),
                Line::Heard(text) => judge.heard(text)?,
            }
        }
        judge.end()
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.0.lock().expect("nobody panics with it").iter() {
            match line {
                Line::Said(command) => writeln!(f, "> {}", command.line)?,
                Line::Heard(text) => writeln!(f, "< {text}")?,
            }
        }
        Ok(())
    }
}

/// Splits the engine's output into lines and records them.
pub struct Recorder {
    transcript: Transcript,
    rest: Vec<u8>,
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line[..end]).into_owned();
            self.transcript.add(Line::Heard(text));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A search without a `bestmove` so far.
#[derive(Debug)]
struct Search {
    waits_for: Waits,
    legal: Vec<String>,
    /// Whether commands that allow a `bestmove` have been sent.
    hit: bool,
    stopped: bool,
    cut_short: bool,
    quit: bool,
}

#[derive(Default)]
struct Judge {
    /// Searches without a `bestmove`, in order. There are several if the next `go` was sent before the last `bestmove`.
    open: std::collections::VecDeque<Search>,
    unanswered_ready: u64,
    has_quit: bool,
    counts: Counts,
}

impl Judge {
    fn said(&mut self, kind: &Kind) {
        // Commands after `quit` have no effect.
        if self.has_quit {
            return;
        }
        match kind {
            Kind::Go { waits_for, legal } => {
                self.cut_short();
                self.open.push_back(Search {
                    waits_for: *waits_for,
                    legal: legal.clone(),
                    hit: false,
                    stopped: false,
                    cut_short: false,
                    quit: false,
                });
            }
            Kind::Stop => self.open.iter_mut().for_each(|search| search.stopped = true),
            Kind::PonderHit => self.open.iter_mut().for_each(|search| search.hit = true),
            Kind::Ends => self.cut_short(),
            Kind::IsReady => self.unanswered_ready += 1,
            Kind::Quit => {
                self.has_quit = true;
                self.open.iter_mut().for_each(|search| search.quit = true);
            }
            Kind::Other => {}
        }
    }

    fn cut_short(&mut self) {
        self.open.iter_mut().for_each(|search| search.cut_short = true);
    }

    fn heard(&mut self, text: &str) -> Result<(), String> {
        match text.split(' ').next() {
            Some("bestmove") => self.best_move(text),
            Some("readyok") => {
                self.counts.ready += 1;
                let less = self.unanswered_ready.checked_sub(1).ok_or("a readyok that nobody asked for")?;
                self.unanswered_ready = less;
                Ok(())
            }
            Some("info" | "id" | "option" | "uciok") => Ok(()),
            _ => Err(format!("stray output: {text:?}")),
        }
    }

    fn best_move(&mut self, text: &str) -> Result<(), String> {
        let search = self.open.pop_front().ok_or_else(|| format!("{text}: nobody searches"))?;
        let is_allowed = match search.waits_for {
            Waits::Limit => true,
            Waits::Stop => search.stopped || search.cut_short || search.quit,
            Waits::PonderHit => search.hit || search.stopped || search.cut_short || search.quit,
        };
        if !is_allowed {
            return Err(format!("{text}: too early, {search:?}"));
        }
        let mv = text.split(' ').nth(1).unwrap_or_default();
        let is_legal = search.legal.iter().any(|legal| legal == mv) || (search.legal.is_empty() && mv == "(none)");
        if !is_legal {
            return Err(format!("{text}: not legal, {search:?}"));
        }
        self.counts.searches += 1;
        let waits = search.waits_for != Waits::Limit;
        self.counts.stopped += u64::from(waits && search.stopped && !search.hit && !search.cut_short);
        self.counts.hit += u64::from(search.waits_for == Waits::PonderHit && search.hit && !search.stopped);
        self.counts.cut_short += u64::from(search.cut_short);
        self.counts.quit += u64::from(search.quit);
        Ok(())
    }

    fn end(self) -> Result<Counts, String> {
        if let Some(search) = self.open.front() {
            return Err(format!("{} searches without a best move, the first {search:?}", self.open.len()));
        }
        match self.unanswered_ready {
            0 => Ok(self.counts),
            missing => Err(format!("{missing} times isready without readyok")),
        }
    }
}
