//! The games that are being analysed.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};

use oncilla_chess::{Castling, History, notation};
use serde_json::json;

use super::judge::Answer;
use super::pgn::Game;
use crate::analysis::{Analyst, Heard, Output, Pool};
use crate::fields::Object;
use crate::options::{Meaning, Typed};

/// The number of games beyond those that are being searched, so that the search does not wait for reading and writing.
const GAMES_AHEAD: usize = 4;

/// The answers for all positions of a game in their order, and the lines that they were read from.
type Found = (Vec<Answer>, Vec<String>);

/// A game whose analysis has ended.
pub struct Done {
    /// The game.
    pub game: Game,
    /// The answers, or why there are none.
    pub found: Result<Found, String>,
}

/// The analysis engine, and the games that it is analysing.
pub struct Queue {
    pool: Box<Pool>,
    heard: Receiver<Heard>,
    open: VecDeque<Open>,
    /// The offset in the file of the end of the last game that was removed.
    done_bytes: u64,
    most: usize,
}

struct Open {
    game: Game,
    answers: Vec<Option<(Answer, String)>>,
    missing: usize,
    fault: Option<String>,
    /// The offsets of the game's start and end in the file.
    bytes: (u64, u64),
}

impl Open {
    fn is_done(&self) -> bool {
        self.missing == 0 || self.fault.is_some()
    }
}

impl Queue {
    /// Loads the network and starts the search threads.
    ///
    /// # Errors
    /// Like [`Pool::start`].
    pub fn open(typed: Typed, meaning: &Meaning) -> Result<Self, String> {
        let (says, heard) = channel();
        let pool = Box::new(Pool::start(typed, meaning, Output::to(says))?);
        let most = pool.parallel() + GAMES_AHEAD;
        Ok(Self { pool, heard, open: VecDeque::new(), done_bytes: 0, most })
    }

    /// The network and its backend, in one line.
    pub fn describe(&self) -> String {
        self.pool.describe()
    }

    /// The number of positions that are searched at the same time.
    pub fn parallel(&self) -> usize {
        self.pool.parallel()
    }

    /// Whether another game may be added.
    pub fn has_room(&self) -> bool {
        self.open.len() < self.most
    }

    /// Whether no game is being analysed.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Queries all positions of a game that ends at byte `end` of the file.
    pub fn ask(&mut self, game: Game, end: u64) {
        let (id, query) = query(&game);
        let positions = game.moves.len() + 1;
        let begin = self.open.back().map_or(0, |last| last.bytes.1);
        let answers = std::iter::repeat_with(|| None).take(positions).collect();
        self.open.push_back(Open { game, answers, missing: positions, fault: None, bytes: (begin, end) });
        self.pool.ask(&id, &query);
    }

    /// Waits for the next answer, or for a note, which is returned.
    ///
    /// # Errors
    /// The search threads have ended, or an answer can't be parsed.
    pub fn listen(&mut self) -> Result<Option<String>, String> {
        match self.heard.recv() {
            Ok(Heard::Line(line)) => self.put(line).map(|()| None),
            Ok(Heard::Note(note)) => Ok(Some(note)),
            Err(_) => Err("the search threads are gone".to_string()),
        }
    }

    fn put(&mut self, line: String) -> Result<(), String> {
        let answer: Answer =
            serde_json::from_str(&line).map_err(|error| format!("an answer of the search: {error}"))?;
        let Some(open) = self.open.iter_mut().find(|open| open.game.number.to_string() == answer.id) else {
            return Ok(());
        };
        if let Some(error) = answer.error {
            open.fault = Some(error);
        } else if let Some(place) = answer.turn_number.and_then(|turn| open.answers.get_mut(turn)) {
            open.missing -= usize::from(place.is_none());
            *place = Some((answer, line));
        }
        Ok(())
    }

    /// Removes the first game if its analysis has ended.
    pub fn next_done(&mut self) -> Option<Done> {
        let Open { game, answers, fault, bytes, .. } = self.open.pop_front_if(|open| open.is_done())?;
        self.done_bytes = bytes.1;
        let found = match fault {
            Some(fault) => Err(fault),
            None => Ok(answers.into_iter().flatten().unzip()),
        };
        Some(Done { game, found })
    }

    /// The number of positions that have been analysed in the current games, and the corresponding number of bytes of
    /// the file, including all earlier games.
    pub fn under_way(&self) -> (usize, u64) {
        let done = |open: &Open| open.answers.len() - open.missing;
        let Some(first) = self.open.front() else { return (0, self.done_bytes) };
        let part = |open: &Open| {
            let (begin, end) = open.bytes;
            ((end - begin) as f64 * done(open) as f64 / open.answers.len() as f64) as u64
        };
        (self.open.iter().map(done).sum(), first.bytes.0 + self.open.iter().map(part).sum::<u64>())
    }

    /// Ends the search threads.
    pub fn close(self) {
        self.pool.finish();
    }
}

/// A query for all positions of a game, and its id, which is the game's number.
fn query(game: &Game) -> (String, Object) {
    let id = game.number.to_string();
    let mut position: History = game.start();
    let mut moves = Vec::with_capacity(game.moves.len());
    for played in &game.moves {
        moves.push(notation::format_move(position.board(), played.mv, Castling::of(game.chess960)).to_string());
        position.push(played.mv);
    }
    let turns: Vec<usize> = (0..=moves.len()).collect();
    let mut query = Object::new();
    query.insert("id".into(), json!(id));
    query.insert("rules".into(), json!(if game.chess960 { "chess960" } else { "chess" }));
    query.insert("moves".into(), json!(moves));
    query.insert("analyzeTurns".into(), json!(turns));
    if let Some(fen) = game.fen() {
        query.insert("initialFen".into(), json!(fen));
    }
    (id, query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table;
    use crate::report::pgn::{NextGame, Reader};

    #[test]
    fn an_error_ends_a_game() {
        let mut typed = Typed::default();
        let backend = table::by_flag("backend").unwrap();
        typed.set(backend, backend.flag, "random").unwrap();
        let meaning = typed.meaning().unwrap();
        let mut queue = Queue::open(typed, &meaning).unwrap();
        let game = Reader::new("1. e4 *".as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        queue.ask(game, 0);
        queue.put(json!({ "id": "1", "error": "no answer" }).to_string()).unwrap();
        assert_eq!(queue.next_done().and_then(|done| done.found.err()), Some("no answer".to_string()));
        queue.close();
    }
}
