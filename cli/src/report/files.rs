//! The three files of a report, written game by game.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use oncilla_chess::notation;
use serde_json::{Map, json};

use super::annotate;
use super::judge::Judgement;
use super::page::{self, Heading};
use super::pgn::Game;

/// Lines about games that were passed over: more of them are of no use in a page.
const MOST_NOTES: usize = 1000;

/// A file and its name.
struct Out {
    name: String,
    file: BufWriter<File>,
}

impl Out {
    fn create(name: String) -> Result<Self, String> {
        match File::create(&name) {
            Ok(file) => Ok(Self { name, file: BufWriter::new(file) }),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    fn with(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
        write(&mut self.file).map_err(|error| format!("{}: {error}", self.name))
    }
}

/// What the names of the three files end with.
const ENDINGS: [&str; 3] = ["pgn", "jsonl", "html"];

/// The names of the three files.
pub fn names(stem: &str) -> [String; 3] {
    ENDINGS.map(|ending| format!("{stem}.{ending}"))
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

    /// Ends the files; their names.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn finish(mut self) -> Result<[String; 3], String> {
        self.page.with(|file| page::end(file, &self.notes))?;
        for out in [&mut self.pgn, &mut self.lines, &mut self.page] {
            out.with(|file| file.flush())?;
        }
        Ok([self.pgn.name, self.lines.name, self.page.name])
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
