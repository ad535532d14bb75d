//! Evaluations that take into account which pieces hang (`Hints`).
//!
//! The analysis of a position (`oncilla_chess::tactics`) takes 0.6 million instructions, about as long as an evaluation
//! by `tiny` on a processor with AVX-512. So the host's cores share it as they share the batch (`Service::run_with`).
//! If a device evaluates, the search threads do it, and the device may evaluate another batch meanwhile. The
//! evaluation cache stores the corrected answers.
//!
//! Hints belong to one network. The built-in networks include theirs; another network has none unless a file is given.
//! `eval` and `backendbench` show the raw output of a network.

use crate::bounded;
use crate::network::{BuiltIn, HintsFrom, Weights};
use oncilla_chess::hints::Hints;
use oncilla_chess::tactics::{self, OfMove, OfPosition};
use oncilla_chess::{Board, Move};
use oncilla_core::evaluate::Value;
use std::sync::{Arc, Mutex, PoisonError};

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

/// The positions that wait for their evaluation, and what is seen of them, if there are hints that need it.
pub struct Looks {
    hints: Option<Arc<Hints>>,
    /// The first `len` belong to positions. The others keep their room for later ones. Each has a lock because any
    /// thread may look at any position; none ever waits for it.
    looks: Vec<Mutex<Look>>,
    len: usize,
}

/// A position, and what is seen of it.
#[derive(Default)]
struct Look {
    board: Board,
    moves: Vec<Move>,
    /// The indices of the moves that end the game as a draw.
    drawing: Vec<usize>,
    gains: Vec<i32>,
    of_position: OfPosition,
    /// Empty until someone has looked at the position.
    of_moves: Vec<OfMove>,
}

impl Look {
    fn set(&mut self, board: &Board, moves: &[Move], drawing: &[usize]) {
        self.board.clone_from(board);
        self.moves.clear();
        self.moves.extend_from_slice(moves);
        self.drawing.clear();
        self.drawing.extend_from_slice(drawing);
        self.of_moves.clear();
    }

    fn look(&mut self) {
        self.gains.resize(self.moves.len(), 0);
        self.of_moves.resize(self.moves.len(), [0.0; tactics::OF_MOVE]);
        self.of_position = tactics::look(&self.board, &self.moves, &self.drawing, &mut self.gains, &mut self.of_moves);
    }
}

impl Looks {
    pub fn new(hints: Option<Arc<Hints>>) -> Self {
        Self { hints, looks: Vec::new(), len: 0 }
    }

    /// Forgets all positions.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a position, which someone has to look at before its evaluation is corrected. `drawing` has the indices of
    /// the moves that end the game as a draw.
    pub fn add(&mut self, board: &Board, moves: &[Move], drawing: &[usize]) {
        if self.hints.is_none() {
            return;
        }
        if self.len == self.looks.len() {
            self.looks.push(Mutex::default());
        }
        self.looks[self.len].get_mut().unwrap_or_else(PoisonError::into_inner).set(board, moves, drawing);
        self.len += 1;
    }

    /// How many positions someone has to look at.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Looks at the position that was added as the `at`-th, counted from 0.
    pub fn look(&self, at: usize) {
        self.looks[at].lock().unwrap_or_else(PoisonError::into_inner).look();
    }

    /// Corrects the evaluation of the position that was added as the `at`-th.
    ///
    /// # Panics
    /// If nobody has looked at it.
    pub fn correct(&mut self, at: usize, value: &mut Value, logits: &mut [f32]) {
        let Some(hints) = &self.hints else { return };
        let Look { of_position, of_moves, .. } = self.looks[at].get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut wdl = [(1.0 - value.d + value.wl) / 2.0, value.d, (1.0 - value.d - value.wl) / 2.0];
        hints.correct(of_position, of_moves, logits, &mut wdl);
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
