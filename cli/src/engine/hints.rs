//! Evaluations that take into account which pieces hang (`Hints`).
//!
//! The analysis of a position (`oncilla_chess::tactics`) takes 0.6 million instructions, about as long as an evaluation
//! by `tiny` on a processor with AVX-512. So the search threads do it while they gather a batch and the backend may
//! evaluate another one, and the evaluation cache stores the corrected answers.
//!
//! Hints belong to one network. The built-in networks include theirs; another network has none unless a file is given.
//! `eval` and `backendbench` show the raw output of a network.

use super::builtin::BuiltIn;
use super::settings::{HintsFrom, Weights};
use crate::bounded;
use oncilla_chess::hints::Hints;
use oncilla_chess::tactics::{self, OfMove, OfPosition};
use oncilla_chess::{Board, Move};
use oncilla_core::evaluate::Value;
use std::sync::Arc;

/// Reads the hints for a network, if it gets some.
///
/// # Errors
/// One line, with the file's name.
pub fn read(from: &HintsFrom, weights: &Weights) -> Result<Option<Arc<Hints>>, String> {
    let hints = match (from, weights) {
        (HintsFrom::Program, Weights::BuiltIn(network)) => Hints::from_bytes(network.hints())
            .map_err(|error| format!("{}, which is built in: {error}", network.name())),
        (HintsFrom::Nowhere, _) | (HintsFrom::Program, Weights::File(_)) => return Ok(None),
        (HintsFrom::File(path), _) => bounded::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| Hints::from_bytes(&bytes).map_err(|error| error.to_string()))
            .map_err(|error| format!("{}: {error}", crate::text::shown(&path.to_string_lossy()))),
    };
    hints.map(|hints| Some(Arc::new(hints)))
}

/// What is seen of the positions that wait for their evaluation, if there are hints that need it.
pub struct Looks {
    hints: Option<Arc<Hints>>,
    positions: Vec<OfPosition>,
    /// What is seen of the moves of all positions, one after the other.
    moves: Vec<OfMove>,
    /// Where the moves of each position begin in `moves`, and where those of the last one end.
    starts: Vec<usize>,
    gains: Vec<i32>,
}

impl Looks {
    pub fn new(hints: Option<Arc<Hints>>) -> Self {
        Self { hints, positions: Vec::new(), moves: Vec::new(), starts: vec![0], gains: Vec::new() }
    }

    /// Forgets all positions.
    pub fn clear(&mut self) {
        self.positions.clear();
        self.moves.clear();
        self.starts.truncate(1);
    }

    /// Looks at one more position.
    pub fn look(&mut self, board: &Board, moves: &[Move]) {
        if self.hints.is_none() {
            return;
        }
        let start = self.moves.len();
        self.moves.resize(start + moves.len(), [0.0; tactics::OF_MOVE]);
        self.gains.resize(moves.len(), 0);
        self.positions.push(tactics::look(board, moves, &mut self.gains, &mut self.moves[start..]));
        self.starts.push(self.moves.len());
    }

    /// Corrects the evaluation of the position that was looked at as the `at`-th, counted from 0.
    pub fn correct(&self, at: usize, value: &mut Value, logits: &mut [f32]) {
        let Some(hints) = &self.hints else { return };
        let mut wdl = [(1.0 - value.d + value.wl) / 2.0, value.d, (1.0 - value.d - value.wl) / 2.0];
        hints.correct(&self.positions[at], &self.moves[self.starts[at]..self.starts[at + 1]], logits, &mut wdl);
        (value.wl, value.d) = (wdl[0] - wdl[2], wdl[1]);
    }
}

impl BuiltIn {
    /// The hints that were fitted to the network.
    fn hints(self) -> &'static [u8] {
        match self {
            Self::Small => include_bytes!("../../../fixtures/nets/default.hints"),
            Self::Tiny => include_bytes!("../../../fixtures/nets/tiny.hints"),
        }
    }
}
