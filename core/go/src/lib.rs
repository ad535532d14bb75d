#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod area;
mod board;
mod color;
mod game;
mod grid;
pub mod ladder;
pub mod planes;
mod points;
mod rules;
mod symmetry;
mod zobrist;

pub use board::{Board, SetupError};
pub use color::Color;
pub use game::{BOARDS_AGO, Button, DEFAULT_CAP, Ending, Game, Outcome, PlayError};
pub use points::{MAX_AREA, MAX_SIDE, Move, MoveError, MoveText, PointSet, Size};
pub use rules::{HandicapBonus, KoRule, Komi, Rules, Scoring, Tax};
pub use symmetry::Symmetry;
