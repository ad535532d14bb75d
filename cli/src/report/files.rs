//! The three files of a report, written game by game. They have names of their own until the report is complete, so that an earlier one
//! is not lost for one that comes to nothing.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use oncilla_chess::notation;
use serde_json::{Map, json};

use super::annotate;
use super::judge::Judgement;
use super::page::{self, Heading};
use super::pgn::Game;

/// Lines about games that were passed over: more of them are of no use in a page.
const MOST_NOTES: usize = 1000;

/// A file and the name that it will have.
struct Out {
    name: String,
    file: BufWriter<File>,
    /// It stays, though the report is not complete.
    is_kept: bool,
}

impl Out {
    fn create(name: String) -> Result<Self, String> {
        // Found out at the end, this would cost the whole report.
        if Path::new(&name).is_dir() {
            return Err(format!("{name}: expected a file to write, got a folder"));
        }
        let part = part(&name);
        match File::create(&part) {
            Ok(file) => Ok(Self { name, file: BufWriter::new(file), is_kept: false }),
            Err(error) => Err(format!("{part}: {error}")),
        }
    }

    /// It is complete, and takes the place of an earlier one.
    fn put_in_place(&self) -> Result<(), String> {
        fs::rename(part(&self.name), &self.name).map_err(|error| format!("{}: {error}", self.name))
    }

    fn with(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
        write(&mut self.file).map_err(|error| format!("{}: {error}", self.name))
    }
}

impl Drop for Out {
    /// What was not completed goes; what was is no part any more.
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(part(&self.name));
        }
    }
}

/// The name of a file before it is complete.
fn part(name: &str) -> String {
    format!("{name}.part")
}

/// What the names of the three files end with.
const ENDINGS: [&str; 3] = ["pgn", "jsonl", "html"];

/// The names of the three files.
fn names(stem: &str) -> [String; 3] {
    ENDINGS.map(|ending| format!("{stem}.{ending}"))
}

/// The names of everything that is written over.
pub fn written(stem: &str) -> impl Iterator<Item = String> {
    names(stem).into_iter().flat_map(|name| [part(&name), name])
}

/// Annotated PGN, JSON lines and the page.
pub struct Files {
    pgn: Out,
    lines: Out,
    page: Out,
    notes: Vec<String>,
}

impl Files {
    /// `STEM.pgn`, `STEM.jsonl` and `STEM.html`.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn create(stem: &str, heading: &Heading) -> Result<Self, String> {
        let [pgn, lines, page] = names(stem).map(Out::create);
        let mut files = Self { pgn: pgn?, lines: lines?, page: page?, notes: Vec::new() };
        files.page.with(|file| page::begin(file, heading))?;
        Ok(files)
    }

    /// Writes a game; `lines` are the answers about its positions.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn write(&mut self, game: &Game, judgement: &Judgement, lines: &[String]) -> Result<(), String> {
        self.pgn.with(|file| annotate::write(file, game, judgement))?;
        self.page.with(|file| page::game(file, game, judgement))?;
        self.lines.with(|file| {
            writeln!(file, "{}", head(game, judgement))?;
            lines.iter().try_for_each(|line| writeln!(file, "{line}"))
        })
    }

    /// A line for the end of the page.
    pub fn note(&mut self, line: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(line);
        }
    }

    /// Ends the files and puts them in their places; their names.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn finish(mut self) -> Result<[String; 3], String> {
        self.end()?;
        let outs = [&self.pgn, &self.lines, &self.page];
        outs.into_iter().try_for_each(Out::put_in_place)?;
        Ok(outs.map(|out| out.name.clone()))
    }

    /// Ends the files of a report that came to no end, and leaves them beside an earlier one; their names.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn keep(mut self) -> Result<[String; 3], String> {
        let ended = self.end();
        let outs = [&mut self.pgn, &mut self.lines, &mut self.page];
        let names = outs.map(|out| {
            out.is_kept = true;
            part(&out.name)
        });
        ended.map(|()| names)
    }

    fn end(&mut self) -> Result<(), String> {
        self.page.with(|file| page::end(file, &self.notes))?;
        let outs = [&mut self.pgn, &mut self.lines, &mut self.page];
        outs.into_iter().try_for_each(|out| out.with(|file| file.flush()))
    }
}

/// The line before the answers about a game: the game itself, and what became of its moves.
fn head(game: &Game, judgement: &Judgement) -> String {
    let mut position = game.start();
    let moves: Vec<_> = (game.moves.iter().zip(&judgement.moves))
        .map(|(played, judged)| {
            let text = notation::format_move(position.board(), played.mv, game.chess960).to_string();
            position.push(played.mv);
            json!({ "loss": judged.loss, "mark": judged.mark.map(|mark| mark.name()), "move": text, "san": judged.san })
        })
        .collect();
    let tags: Map<_, _> = game.tags.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "game": game.number, "id": game.number.to_string(), "moves": moves, "result": game.result, "tags": tags })
        .to_string()
}
