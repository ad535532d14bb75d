//! `oncilla eval` with a Go network.
//!
//! A line of input is a position as in an analysis query: `{"boardXSize", "boardYSize", "rules", "komi",
//! "initialStones", "initialPlayer", "moves"}`. `"symmetry"`, 0 to 7, transforms the board for the network. A network
//! for human play needs a profile: `"overrideSettings": {"humanSLProfile": "rank_5k"}`. Other fields of queries are
//! ignored. A line of output is `{"winrate", "noResult", "lead", "score", "scoreStdev", "policy": {"D4": 0.2, …,
//! "pass": 0.01}, "ownership": […]}`, all for the side to move: winrate = ½(1 + win − loss), scores in points,
//! ownership row by row from the top. The network sees the moves of the game.

use oncilla_go::profile::Profile;
use oncilla_go::{Size, Symmetry};
use oncilla_nets::katago::Model;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{BATCH, object};
use crate::analysis::go::is_field;
use crate::console::aside;
use crate::fields::{BadField, Fields, integer};
use crate::go::setup::{self, Transcript, rules};
use crate::go::{Batch, Evaluation, Evaluator, Game, Imitation, Params, PolicyRules, Question};
use crate::network::EvaluatorSettings;

/// The network's own policy: not optimistic, and without a limit for the pass.
const PLAIN: PolicyRules = PolicyRules { temperature: 1.0, optimism: 0.0, most_pass: 1.0 };

/// A position, with the options of its evaluation.
pub struct Position {
    game: Arc<Game>,
    symmetry: Symmetry,
    profile: Option<Profile>,
}

/// The network's evaluation of a position.
#[derive(Serialize)]
pub struct Answer {
    winrate: f32,
    #[serde(rename = "noResult")]
    no_result: f32,
    lead: f32,
    score: f32,
    #[serde(rename = "scoreStdev")]
    score_stdev: f32,
    policy: BTreeMap<String, f32>,
    ownership: Vec<f32>,
}

/// Parses a line. `is_for_human_play`: the network is one for human play.
///
/// # Errors
/// In one line: not a JSON object, or a field that is wrong.
fn understand(line: &str, is_for_human_play: bool) -> Result<Position, String> {
    let object = object(line, "an object with a position of Go")?;
    let fields = Fields(&object);
    let read = || {
        if let Some(field) = object.keys().find(|field| !is_field(field) && *field != "symmetry") {
            return Err(BadField::new(field, "expected a field of an analysis query, or symmetry"));
        }
        let transcript = Transcript::read(fields)?;
        let turns = transcript.turns();
        let rules = rules(fields)?;
        if setup::supported(rules) != rules {
            return Err(BadField::new("rules", format!("expected rules that networks know, got {rules}")));
        }
        let setup = transcript.setup(rules, true)?;
        let number = fields.read("symmetry", "Must be an integer from 0 to 7", |value| integer(value, 0..=7))?;
        let symmetry = number.and_then(|number| Symmetry::from_number(number as u8)).unwrap_or_default();
        Ok((setup.game(turns), symmetry, profile(fields, is_for_human_play)?))
    };
    let (game, symmetry, profile) = read().map_err(|bad: BadField| bad.to_string())?;
    if !symmetry.fits(game.size()) {
        return Err(format!("symmetry: expected 0 to 3 on a board that is no square, got {}", symmetry.number()));
    }
    Ok(Position { game: Arc::new(game), symmetry, profile })
}

/// Reads the profile, which is the only override that is used.
fn profile(fields: Fields<'_>, is_for_human_play: bool) -> Result<Option<Profile>, BadField> {
    let (field, name) = ("overrideSettings", "humanSLProfile");
    let object = fields.read(field, "Must be an object", Value::as_object)?;
    let mut params = Params::default();
    if let Some(value) = object.and_then(|object| object.get(name)) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        params.set(name, &text).map_err(|error| BadField::new(field, error))?;
    }
    let networks = Imitation::alone(is_for_human_play);
    let profile = networks.suits(&params).and_then(|()| networks.profile(&params));
    profile.map_err(|error| BadField::new(field, error))
}

/// Evaluates the positions of lines.
pub struct Oracle {
    evaluator: Evaluator,
    batch: Batch,
}

impl Oracle {
    /// An evaluator for a network that has been read.
    pub fn new(model: Model, settings: &EvaluatorSettings) -> Self {
        Self { evaluator: Evaluator::new(model, settings.clone(), 0), batch: Batch::default() }
    }
}

impl super::Oracle for Oracle {
    type Position = Position;
    type Answer = Answer;

    fn most(&self) -> usize {
        BATCH
    }

    fn understand(&self, line: &str) -> Result<Position, String> {
        understand(line, self.evaluator.model().encodes_metadata())
    }

    fn answer(&mut self, positions: &[&Position]) -> Result<Vec<Result<Answer, String>>, String> {
        // All positions of a batch have the same board size.
        let mut by_size: Vec<(Size, Vec<usize>)> = Vec::new();
        for (at, position) in positions.iter().enumerate() {
            let size = position.game.size();
            match by_size.iter_mut().find(|(known, _)| *known == size) {
                Some((_, places)) => places.push(at),
                None => by_size.push((size, vec![at])),
            }
        }
        let mut answers: Vec<Option<Answer>> = positions.iter().map(|_| None).collect();
        for (_, places) in by_size {
            for &at in &places {
                let Position { game, symmetry, profile } = positions[at];
                let question =
                    Question { symmetry: *symmetry, policy: PLAIN, profile: *profile, ..Question::default() };
                self.evaluator.push(&mut self.batch, game, &question);
            }
            let (evaluations, notes) = self.evaluator.run(&mut self.batch)?;
            notes.iter().for_each(|note| aside(note));
            for (at, evaluation) in places.into_iter().zip(evaluations) {
                answers[at] = Some(Answer::of(&positions[at].game, &evaluation));
            }
        }
        let answers = answers.into_iter().map(|answer| answer.map(Ok));
        answers.collect::<Option<_>>().ok_or_else(|| "no answer came".to_string())
    }
}

impl Answer {
    fn of(game: &Game, evaluation: &Evaluation) -> Self {
        let text = |mv| game.size().format(mv).to_string();
        Self {
            winrate: evaluation.winrate(),
            no_result: evaluation.no_result,
            lead: evaluation.lead,
            score: evaluation.score_mean,
            score_stdev: evaluation.score_stdev,
            policy: game.legal_moves().map(|mv| (text(mv), evaluation.policy[mv.index()])).collect(),
            ownership: evaluation.ownership.clone(),
        }
    }
}
