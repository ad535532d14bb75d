//! The three files of a report, written game by game. They have temporary names until the report is complete, so that a
//! failed report does not replace an earlier one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use oncilla_chess::{Castling, notation};
use serde_json::{Map, json};

use super::annotate;
use super::judge::Judgement;
use super::page::{self, Heading};
use super::pgn::Game;

/// The most notes about skipped games; more would be of no use in a page.
const MOST_NOTES: usize = 1000;

/// A file that is being written, and its final name.
struct Out {
    name: String,
    file: BufWriter<File>,
    /// Whether the file is kept under its temporary name.
    is_kept: bool,
}

impl Out {
    fn create(name: String) -> Result<Self, String> {
        // Checked here, because at the end the whole report would be lost.
        if Path::new(&name).is_dir() {
            return Err(format!("{name}: expected a file to write, got a folder"));
        }
        let part = part(&name);
        match File::create(&part) {
            Ok(file) => Ok(Self { name, file: BufWriter::new(file), is_kept: false }),
            Err(error) => Err(format!("{part}: {error}")),
        }
    }

    /// Renames the complete file, which replaces an earlier one. If that is not possible, such as on Windows while a
    /// viewer has the file open, it keeps its temporary name, because it may be the work of hours.
    fn put_in_place(&mut self) -> Result<(), String> {
        let part = part(&self.name);
        fs::rename(&part, &self.name).map_err(|error| {
            self.is_kept = true;
            format!("{}: {error}; the new one is {part}", self.name)
        })
    }

    fn with(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
        write(&mut self.file).map_err(|error| format!("{}: {error}", self.name))
    }
}

impl Drop for Out {
    /// Removes an incomplete file. A complete one has its final name by now.
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(part(&self.name));
        }
    }
}

/// The temporary name of a file.
fn part(name: &str) -> String {
    format!("{name}.part")
}

/// The endings of the three names.
const ENDINGS: [&str; 3] = ["pgn", "jsonl", "html"];

/// The names of the three files.
fn names(stem: &str) -> [String; 3] {
    ENDINGS.map(|ending| format!("{stem}.{ending}"))
}

/// The names of all files that are overwritten.
pub fn written(stem: &str) -> impl Iterator<Item = String> {
    names(stem).into_iter().flat_map(|name| [part(&name), name])
}

/// Annotated PGN, JSON lines and the HTML page.
pub struct Files {
    pgn: Out,
    lines: Out,
    page: Out,
    notes: Vec<String>,
}

impl Files {
    /// Creates `STEM.pgn`, `STEM.jsonl` and `STEM.html`, under their temporary names.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn create(stem: &str, heading: &Heading) -> Result<Self, String> {
        let [pgn, lines, page] = names(stem).map(Out::create);
        let mut files = Self { pgn: pgn?, lines: lines?, page: page?, notes: Vec::new() };
        files.page.with(|file| page::begin(file, heading))?;
        Ok(files)
    }

    /// Writes a game; `lines` are the analysis responses for its positions.
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

    /// Adds a line to the list at the end of the page.
    pub fn note(&mut self, line: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(line);
        }
    }

    /// Completes the files, gives them their final names, and returns these.
    ///
    /// # Errors
    /// A file can't be written; or it can't be renamed, and the error names the temporary file. The others are renamed.
    pub fn finish(mut self) -> Result<[String; 3], String> {
        self.end()?;
        let mut outs = [&mut self.pgn, &mut self.lines, &mut self.page];
        let faults: Vec<String> = outs.iter_mut().filter_map(|out| out.put_in_place().err()).collect();
        if faults.is_empty() { Ok(outs.map(|out| out.name.clone())) } else { Err(faults.join("; ")) }
    }

    /// Completes the files of a report that was interrupted, keeps their temporary names, and returns these.
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

/// The line before a game's analysis responses: its tags, result and judged moves.
fn head(game: &Game, judgement: &Judgement) -> String {
    let mut position = game.start();
    let moves: Vec<_> = (game.moves.iter().zip(&judgement.moves))
        .map(|(played, judged)| {
            let text = notation::format_move(position.board(), played.mv, Castling::of(game.chess960)).to_string();
            position.push(played.mv);
            json!({ "loss": judged.loss, "mark": judged.mark.map(|mark| mark.name()), "move": text, "san": judged.san })
        })
        .collect();
    let tags: Map<_, _> = game.tags.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "game": game.number, "id": game.number.to_string(), "moves": moves, "result": game.result, "tags": tags })
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_put_in_its_place_is_not_lost() {
        let folder = std::env::temp_dir().join(format!("oncilla-report-files-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder); // there may be none
        fs::create_dir_all(&folder).unwrap();
        let stem = folder.join("games").display().to_string();
        let heading = Heading { title: "games".to_string(), engine: "x".to_string() };
        let files = Files::create(&stem, &heading).unwrap();
        let [pgn, lines, page] = names(&stem);
        // A folder that is not empty can't be replaced.
        fs::create_dir(&lines).unwrap();
        fs::write(Path::new(&lines).join("file"), "").unwrap();
        let error = files.finish().unwrap_err();
        assert!(error.starts_with(&format!("{lines}: ")), "{error}");
        assert!(error.ends_with(&format!("; the new one is {}", part(&lines))), "{error}");
        let are_files = |names: &[String]| names.iter().all(|name| Path::new(name).is_file());
        assert!(are_files(&[pgn.clone(), page.clone(), part(&lines)]));
        assert!(!are_files(&[part(&pgn)]) && !are_files(&[part(&page)]));
        fs::remove_dir_all(&folder).unwrap();
    }
}
