//! `oncilla eval` with a chess network.

use std::collections::BTreeMap;

use oncilla_chess::{Castling, History, Move, MoveList, notation};
use serde::Serialize;
use serde_json::Value;

use super::{BATCH, object};
use crate::console::aside;
use crate::evaluator::{Batch, Evaluator, UNKNOWN};
use crate::fields::{BadField, Fields};
use crate::network::{EvaluatorSettings, HintsFrom};
use crate::position::PositionText;
use crate::softmax::softmax;

/// The fields of a line of input.
const FIELDS: [&str; 4] = ["fen", "moves", "chess960", "id"];

/// The network's evaluation of a position.
#[derive(Serialize)]
pub struct Answer {
    q: f32,
    d: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    m: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<f32>,
    policy: BTreeMap<String, f64>,
}

/// A position, and how its moves are written.
pub struct Position {
    history: Box<History>,
    /// Whether castling is written as in Chess960.
    chess960: bool,
}

/// Evaluates the positions of lines.
pub struct Oracle {
    evaluator: Evaluator,
    batch: Batch,
    /// Whether castling is always written as in Chess960.
    chess960: bool,
}

impl Oracle {
    /// Loads the network, and says what runs it if that is not what was asked for.
    ///
    /// # Errors
    /// In one line: no network, or no device.
    pub fn new(settings: &EvaluatorSettings, chess960: bool) -> Result<Self, String> {
        let settings = EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings.clone() };
        let (evaluator, notes) = Evaluator::new(&settings)?;
        notes.iter().for_each(|note| aside(note));
        let batch = evaluator.batch();
        Ok(Self { evaluator, batch, chess960 })
    }

    /// The answer about the position that is at this place of the batch.
    fn answer_at(&mut self, at: usize, Position { history, chess960 }: &Position) -> Answer {
        let value = self.batch.value(at);
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        let text = |&mv: &Move| notation::format_move(history.board(), mv, Castling::of(*chess960)).to_string();
        let policy = moves.iter().map(text).zip(softmax(self.batch.logits(at))).collect();
        Answer {
            q: value.wl,
            d: value.d,
            m: self.evaluator.has_moves_left().then_some(value.m),
            e: self.batch.value_error(at),
            policy,
        }
    }
}

impl super::Oracle for Oracle {
    type Position = Position;
    type Answer = Answer;

    fn most(&self) -> usize {
        self.evaluator.preferred_batch().clamp(1, BATCH).min(self.evaluator.max_batch())
    }

    fn understand(&self, line: &str) -> Result<Position, String> {
        let object = object(line, "an object with fen, moves, chess960 and id")?;
        if let Some(field) = object.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(format!("unknown field `{field}`, expected one of {}", FIELDS.join(", ")));
        }
        let read = || {
            let fields = Fields(&object);
            let text = |value: &'_ Value| value.is_null().then_some("startpos").or(value.as_str()).map(str::to_string);
            let fen = fields.read("fen", "Must be a string", text)?.filter(|fen| fen != "startpos");
            let strings = |value: &Value| {
                value.as_array()?.iter().map(|mv| mv.as_str().map(str::to_string)).collect::<Option<Vec<_>>>()
            };
            let moves = fields.read("moves", "Must be a list of strings", strings)?.unwrap_or_default();
            Ok((fen, moves, fields.switch("chess960")?))
        };
        let (fen, moves, chess960) = read().map_err(|bad: BadField| bad.to_string())?;
        let fen = fen.as_deref().map(|fen| fen.split_ascii_whitespace().collect());
        let position = PositionText { fen, moves: moves.iter().map(String::as_str).collect() };
        let history = position.play().map_err(|error| error.to_string())?;
        Ok(Position { history, chess960: chess960 || self.chess960 })
    }

    fn answer(&mut self, positions: &[&Position]) -> Result<Vec<Result<Answer, String>>, String> {
        let mut moves = MoveList::new();
        self.batch.clear();
        for Position { history, .. } in positions {
            history.legal_moves(&mut moves);
            self.batch.push(history, &moves);
        }
        if let Some(note) = self.evaluator.run(&mut self.batch)? {
            aside(&note);
        }
        let answer = |(at, position): (usize, &&Position)| match self.batch.is_unknown(at) {
            true => Err(UNKNOWN.to_string()),
            false => Ok(self.answer_at(at, position)),
        };
        Ok(positions.iter().enumerate().map(answer).collect())
    }
}
