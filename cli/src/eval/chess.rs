//! `oncilla eval` with a chess network.

use std::collections::BTreeMap;

use oncilla_chess::{History, Move, MoveList, notation};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::BATCH;
use crate::console::aside;
use crate::engine::{Batch, Evaluator, EvaluatorSettings, HintsFrom, UNKNOWN};
use crate::position::PositionText;
use crate::softmax::softmax;

/// A line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with fen, moves, chess960 and id")]
struct Request {
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    fen: Option<String>,
    #[serde(default)]
    moves: Vec<String>,
    #[serde(default)]
    chess960: bool,
}

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
}

impl Oracle {
    /// Loads the network.
    ///
    /// # Errors
    /// In one line: no network, or no device.
    pub fn new(settings: &EvaluatorSettings) -> Result<Self, String> {
        let (evaluator, _) = Evaluator::new(&EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings.clone() })?;
        let batch = evaluator.batch();
        Ok(Self { evaluator, batch })
    }

    /// The answer about the position that is at this place of the batch.
    fn answer_at(&mut self, at: usize, Position { history, chess960 }: &Position) -> Answer {
        let value = self.batch.value(at);
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        let text = |&mv: &Move| notation::format_move(history.board(), mv, *chess960).to_string();
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
        let request: Request = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let fen = request.fen.as_deref().filter(|fen| *fen != "startpos");
        let fen = fen.map(|fen| fen.split_ascii_whitespace().collect());
        let position = PositionText { fen, moves: request.moves.iter().map(String::as_str).collect() };
        let history = position.play().map_err(|error| error.to_string())?;
        Ok(Position { history, chess960: request.chess960 })
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
