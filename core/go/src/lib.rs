//! The rules of Go as a network and a search need them.
//!
//! - [`Game`]: a start position and the moves played from it: which moves are legal (under every kind of ko), whether
//!   the game is over and with which result, and a 64-bit key of the last position.
//! - [`Board`]: stones, chains with their liberties, captures. It knows simple ko and has no history.
//! - [`Size`], [`Move`], [`PointSet`], [`Symmetry`]: points of boards from 1 × 1 to 19 × 19, rectangles too, with the
//!   numbers that a policy head uses and the names that GTP uses.
//! - [`Rules`]: everything in which sets of rules differ, and the sets that have a name.
//! - [`area`]: unconditional life, areas, groups that live independently of a seki, the score.
//! - [`ladder`]: chains that are caught in ladders, and moves that begin one.
//! - [`planes`]: the input of KataGo's networks (version 7 of the input format): 22 planes and 19 numbers.
//! - [`profile`]: whose play a network for human play is to imitate, as 192 more numbers of its input.
//!
//! Territory is not counted, because that takes an agreement about dead stones, or the two phases in which KataGo plays
//! them out, and neither is implemented here. A game under territory rules has legal moves, an end and input planes
//! like any other; its outcome is [`Outcome::ToBeAgreed`].
//!
//! The crate neither allocates nor needs the standard library. A [`Game`] takes 15 KiB with its default capacity, a
//! [`Board`] 3.9 KB; reading ladders takes up to 20 KB of stack, areas some 10 KB.
//!
//! ```
//! use oncilla_go::planes::{Options, encode};
//! use oncilla_go::{Game, Outcome, Rules, Size};
//!
//! let size = Size::new(9, 9).unwrap();
//! let mut game: Game = Game::new(size, Rules::from_name("tromp-taylor").unwrap());
//! for text in ["E5", "C3", "G7"] {
//!     game.play(size.parse(text)?)?;
//! }
//! let planes = encode(&game, &Options::default());
//! assert_eq!(planes.spatial()[1].len(), 1); // White is to move, and has one stone
//! for mv in game.legal_moves() {
//!     assert!(mv.index() <= size.area()); // its place in the policy
//! }
//!
//! game.play(size.pass())?;
//! game.play(size.pass())?;
//! assert_eq!(game.outcome(), Some(Outcome::WhiteLead(7.5 + 1.0 - 2.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

pub mod area;
mod board;
mod color;
mod game;
mod grid;
pub mod ladder;
pub mod planes;
mod points;
pub mod profile;
mod rules;
mod symmetry;
mod zobrist;

pub use board::{Board, SetupError};
pub use color::Color;
pub use game::{BOARDS_AGO, Button, DEFAULT_CAP, Ending, Game, Outcome, PlayError, Played};
pub use points::{MAX_AREA, MAX_SIDE, Move, MoveError, MoveText, PointSet, Size};
pub use rules::{HandicapBonus, KoRule, Komi, Rules, RulesError, Scoring, Tax};
pub use symmetry::Symmetry;
