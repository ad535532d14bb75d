//! `oncilla report`: analyses every position of every game of a PGN file, and writes the results as annotated PGN, as
//! JSON lines and as an HTML page.
//!
//! ```text
//! PGN ──► pgn::Reader ──► queue: a query of all turns ──► analysis::Pool ──► answers, in any order
//!                                                                              └─► queue: whole games, in their order
//!                                                                                    └─► judge ──► annotate, page
//! ```
//!
//! Several games are analysed at the same time, so that the search threads always have a position to search. Only these
//! games are in memory.

mod annotate;
mod files;
mod judge;
mod page;
pub mod pgn;
mod queue;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Instant;

use crate::console::{Console, aside};
use crate::options::{Analysis, Typed, table};
use crate::progress::Progress;
use crate::text;
use crate::{system, utf16};
use files::Files;
use flate2::bufread::MultiGzDecoder;
use judge::Judgement;
use pgn::{NextGame, Reader};
use queue::{Done, Queue};
use same_file::Handle;

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The first bytes of other packed files, what they are, and what unpacks them.
const PACKED: [(&[u8], &str, &str); 3] = [
    (b"BZh", "bzip2", "bzcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
];

/// The width of the progress bar in characters.
const BAR: usize = 24;

/// The arguments of the command.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The PGN file; `None` for standard input.
    pub file: Option<String>,
    /// The stem of the output files' names; `None`: the PGN file's name without its ending, and `.report`.
    pub out: Option<String>,
}

impl Arguments {
    /// Opens the input, which may be a gzip stream, and returns its size in bytes if that is known.
    fn open(&self) -> Result<(Box<dyn BufRead>, Option<u64>), String> {
        let opened = self.open_as_it_is().and_then(|(mut input, size)| {
            let begins = input.fill_buf()?;
            if begins.is_empty() {
                // A terminal would be asked for more.
                return Ok((Box::new(io::empty()) as _, size));
            }
            if let Some((_, what, program)) = PACKED.iter().find(|(start, ..)| begins.starts_with(start)) {
                return Err(io::Error::other(format!("expected PGN or gzip, got {what}: unpack it with {program}")));
            }
            // The size of the decompressed or converted text is only known at its end.
            let size = size.filter(|_| !begins.starts_with(GZIP) && !utf16::is_beginning(begins));
            let bytes: Box<dyn Read> =
                if begins.starts_with(GZIP) { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) };
            Ok((Box::new(BufReader::new(utf16::Text::new(bytes))) as _, size))
        });
        opened.map_err(|error| format!("{}: {error}", self.file.as_deref().unwrap_or("standard input")))
    }

    fn open_as_it_is(&self) -> io::Result<(Box<dyn BufRead>, Option<u64>)> {
        let Some(name) = &self.file else { return Ok((Box::new(BufReader::new(system::input())), None)) };
        let file = File::open(name)?;
        let size = file.metadata()?.len();
        Ok((Box::new(BufReader::new(file)), Some(size)))
    }

    /// The PGN file's name without its folder.
    fn title(&self) -> String {
        let name = self.file.as_deref().and_then(|name| Path::new(name).file_name());
        name.map_or_else(|| "standard input".to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Refuses a stem that is empty or ends in a folder separator: the files would be hidden.
    fn check_out(&self) -> Result<(), String> {
        match self.out.as_deref() {
            Some(out) if out.is_empty() || out.ends_with(std::path::is_separator) => {
                Err(format!("--out: expected a name of files to write, got {}", crate::text::quoted(out)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses output files that would overwrite the input, also under another name of the same file.
    fn spare_the_input(&self) -> Result<(), String> {
        let input = match &self.file {
            Some(name) => Handle::from_path(name),
            None => system::input_file().map_or_else(Handle::stdin, Handle::from_file),
        };
        // If the input can't be opened, reading it reports the error.
        let Ok(input) = input else { return Ok(()) };
        let is_input = |target: &String| Handle::from_path(target).is_ok_and(|target| target == input);
        match files::written(&self.out()).find(is_input) {
            Some(target) => {
                Err(format!("--out: expected another name, got that of the games: {target} would be written over"))
            }
            None => Ok(()),
        }
    }

    fn out(&self) -> String {
        let stem = self.file.as_deref().map_or("games", |name| without(without(name, ".gz"), ".pgn"));
        self.out.clone().unwrap_or_else(|| format!("{stem}.report"))
    }
}

/// Removes an ending, in upper or lower case, from a name.
fn without<'n>(name: &'n str, ending: &str) -> &'n str {
    let at = name.len().saturating_sub(ending.len());
    name.split_at_checked(at).filter(|(_, end)| end.eq_ignore_ascii_case(ending)).map_or(name, |(stem, _)| stem)
}

/// Makes the report, and prints the names of its files on `console`.
///
/// # Errors
/// One line: a file can't be read or written, there is no network, or no game in the file.
pub fn run(arguments: &Arguments, mut typed: Typed, console: &Console) -> Result<(), String> {
    see_from_white(&mut typed)?;
    let by_time_alone = limit_by_time_alone(&mut typed)?;
    let meaning = typed.meaning()?;
    if !meaning.output.score_type.is_centipawns() {
        return Err(
            "--score-type: expected centipawns of some kind, as a report's evaluations are in pawns".to_string()
        );
    }
    arguments.check_out()?;
    arguments.spare_the_input()?;
    let (input, size) = arguments.open()?;
    let queue = Queue::open(typed, &meaning)?;
    let limits = limits(&meaning.analysis, by_time_alone);
    let engine = format!("Oncilla {}: {}, {limits} a position", env!("CARGO_PKG_VERSION"), queue.describe());
    aside(&format!("{}, {} positions at a time", queue.describe(), queue.parallel()));
    let heading = page::Heading { title: arguments.title(), engine };
    let files = Files::create(&arguments.out(), &heading)?;
    let mut work =
        Work { reader: Reader::new(input), size, queue, files, count: Count::new(), progress: Progress::on_stderr() };
    let ran = work.run();
    let Work { queue, files, count, .. } = work;
    if let Err(fault) = ran {
        if count.games == 0 {
            return Err(fault);
        }
        let kept = files.keep()?.join(", ");
        return Err(format!("{fault}; {} games that were done before are in {kept}", count.games));
    }
    queue.close();
    // Without any game, an earlier report is not replaced.
    if count.games > 0 {
        files.finish()?.iter().for_each(|name| console.say(name));
    }
    aside(&format!(
        "{}, {}; {} passed over",
        text::counted(count.games, "game"),
        text::counted(count.positions, "position"),
        text::counted(count.skipped, "game"),
    ));
    match count.games {
        0 => Err(format!("{}: no game in it that can be read; nothing is written", arguments.title())),
        _ => Ok(()),
    }
}

/// Sets the perspective of the analysis, because a report's values are always from White's view.
fn see_from_white(typed: &mut Typed) -> Result<(), String> {
    let Some(opt) = table::by_flag("report-analysis-winrates-as") else { return Ok(()) };
    typed.set(opt, opt.flag, "WHITE").map(|_| ()).map_err(|error| error.to_string())
}

/// If a time is set and the number of visits is not, removes the limit of the default number of visits. Returns whether
/// it did.
fn limit_by_time_alone(typed: &mut Typed) -> Result<bool, String> {
    let Some(visits) = table::by_flag("max-visits").filter(|visits| !typed.has(visits)) else { return Ok(false) };
    if typed.meaning()?.analysis.max_time == 0.0 {
        return Ok(false);
    }
    let set = typed.set(visits, visits.flag, &table::MOST_VISITS.to_string());
    set.map(|_| true).map_err(|error| error.to_string())
}

/// The limits of the search of one position, for the user.
fn limits(analysis: &Analysis, by_time_alone: bool) -> String {
    let (visits, seconds) = (format!("{} visits", analysis.max_visits), format!("{} s", analysis.max_time));
    match (analysis.max_time > 0.0, by_time_alone) {
        (false, _) => visits,
        (true, false) => format!("{visits} or {seconds}"),
        (true, true) => seconds,
    }
}

/// The numbers of games, positions and skipped games so far.
struct Count {
    since: Instant,
    games: usize,
    positions: usize,
    skipped: usize,
}

impl Count {
    fn new() -> Self {
        Self { since: Instant::now(), games: 0, positions: 0, skipped: 0 }
    }
}

/// The state of a report that is being made.
struct Work {
    reader: Reader<Box<dyn BufRead>>,
    size: Option<u64>,
    queue: Queue,
    files: Files,
    count: Count,
    progress: Progress,
}

impl Work {
    /// Reads, analyses and writes all games. An error of the input ends the games, and is returned after those before
    /// it have been written.
    fn run(&mut self) -> Result<(), String> {
        let mut end = None;
        loop {
            while end.is_none() && self.queue.has_room() {
                let next = match self.reader.next_game() {
                    Ok(next) => next,
                    Err(error) => {
                        end = Some(Err(format!("reading the games: {error}")));
                        break;
                    }
                };
                match next {
                    None => end = Some(Ok(())),
                    Some(NextGame::Game(game)) => self.queue.ask(game, self.reader.bytes()),
                    Some(NextGame::Skipped(skipped)) => {
                        self.pass_over(format!(
                            "game {}, from line {}: {}",
                            skipped.number, skipped.line, skipped.reason
                        ));
                    }
                }
            }
            if self.queue.is_empty() {
                return end.unwrap_or(Ok(()));
            }
            if let Some(note) = self.queue.listen()? {
                self.say(&note);
            }
            while let Some(done) = self.queue.next_done() {
                self.write(done)?;
            }
            self.progress.show(&self.state());
        }
    }

    fn write(&mut self, done: Done) -> Result<(), String> {
        let Done { game, found } = done;
        let judged = found.and_then(|(answers, lines)| Ok((Judgement::new(&game, &answers)?, lines)));
        match judged {
            Ok((judgement, lines)) => {
                self.count.games += 1;
                self.count.positions += lines.len();
                self.files.write(&game, &judgement, &lines)
            }
            Err(fault) => {
                self.pass_over(format!("game {}: {fault}", game.number));
                Ok(())
            }
        }
    }

    fn pass_over(&mut self, line: String) {
        self.count.skipped += 1;
        self.say(&format!("passed over: {line}"));
        self.files.note(line);
    }

    fn say(&self, text: &str) {
        self.progress.clear();
        aside(text);
    }

    /// The line of the progress display: a bar by the bytes of the input, if its size is known, and the counts.
    fn state(&self) -> String {
        let Count { since, games, positions, .. } = self.count;
        let (under_way, bytes) = self.queue.under_way();
        let positions = positions + under_way;
        let seconds = since.elapsed().as_secs_f64();
        let counts = format!(
            "{}, {}, {:.1} a second",
            text::counted(games, "game"),
            text::counted(positions, "position"),
            positions as f64 / seconds.max(1e-3)
        );
        let Some(size) = self.size.filter(|size| *size > 0) else { return counts };
        let part = (bytes as f64 / size as f64).clamp(0.0, 1.0);
        let full = (part * BAR as f64) as usize;
        let left = if part > 0.0 { format!(", {} to go", duration(seconds / part - seconds)) } else { String::new() };
        format!("[{}{}] {:3.0} %  {counts}{left}", "#".repeat(full), "-".repeat(BAR - full), part * 100.0)
    }
}

/// A time in hours, minutes and seconds.
fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_input() {
        let arguments = |file: Option<&str>, out: Option<&str>| Arguments {
            file: file.map(str::to_string),
            out: out.map(str::to_string),
        };
        assert_eq!(arguments(Some("a/b.pgn"), None).out(), "a/b.report");
        assert_eq!(arguments(Some("a/b"), None).out(), "a/b.report");
        assert_eq!(arguments(Some("a/GAMES.PGN"), None).out(), "a/GAMES.report");
        assert_eq!(arguments(Some("a/b.Pgn.gz"), None).out(), "a/b.report");
        assert_eq!(arguments(Some("pgn"), None).out(), "pgn.report");
        assert_eq!(arguments(Some("é.gn"), None).out(), "é.gn.report");
        assert_eq!(arguments(None, None).out(), "games.report");
        assert_eq!(arguments(Some("a/b.pgn"), Some("c")).out(), "c");
        assert_eq!(arguments(Some("a/b.pgn"), None).title(), "b.pgn");
        assert_eq!(arguments(None, None).title(), "standard input");
        for out in ["", "d/"] {
            assert!(arguments(None, Some(out)).check_out().unwrap_err().contains("expected a name"), "{out}");
        }
        assert_eq!(arguments(None, Some("d/e")).check_out(), Ok(()));
    }

    #[test]
    fn durations_are_short() {
        assert_eq!([3.4, 61.0, 3700.0].map(duration), ["3 s", "1 min 1 s", "1 h 1 min"]);
    }
}
