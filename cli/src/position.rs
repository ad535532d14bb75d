//! A chess position in words: a FEN, and moves from it.

use std::fmt;

use oncilla_chess::{FenError, History, notation};

/// A position in words, as in UCI's `position`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionText<'l> {
    /// The words of the FEN; `None` for the start position.
    pub fen: Option<Vec<&'l str>>,
    /// The words after `moves`.
    pub moves: Vec<&'l str>,
}

/// Why a position was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PositionError {
    /// The FEN is wrong: its field, what was expected and what was found.
    Fen(FenError),
    /// A move can't be read, or is not legal.
    Move {
        /// The move's number, counted from 1.
        number: usize,
        /// The number of moves in the list.
        of: usize,
        /// What was expected and what was found.
        reason: notation::MoveError,
    },
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fen(error) => write!(f, "{error}"),
            Self::Move { number, of, reason } => write!(f, "move {number} of {of}: {reason}"),
        }
    }
}

impl std::error::Error for PositionError {}

impl PositionText<'_> {
    /// Sets up the position and plays the moves, each of which must be legal.
    ///
    /// # Errors
    /// The FEN's field or the move that is wrong.
    pub fn play(&self) -> Result<Box<History>, PositionError> {
        let mut history = Box::new(match &self.fen {
            None => History::startpos(),
            Some(fields) => History::from_fen(&fields.join(" ")).map_err(PositionError::Fen)?,
        });
        for (index, text) in self.moves.iter().enumerate() {
            let refuse = |reason| PositionError::Move { number: index + 1, of: self.moves.len(), reason };
            let mv = notation::parse_move(history.board(), text).map_err(refuse)?;
            history.push(mv);
        }
        Ok(history)
    }
}
