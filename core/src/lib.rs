//! PUCT tree search in memory that is fixed before it starts.
//!
//! The crate is `no_std`, allocates nothing, and reads no clock and no random source: memory and times come in as
//! arguments. It knows no game: a [`Move`] is an opaque 16-bit number, and a position is the list of moves from the
//! root. What it needs to know of a position it asks an [`Evaluator`] (or, where evaluations take time and come in
//! batches, the program around it).
//!
//! The layers, from the bottom:
//!
//! - [`repository`]: what a search needs of whatever keeps its nodes.
//! - [`tree`]: the repository that searches use, in memory that is lent by the caller or held in a
//!   [`tree::TreeMemory`], which a `static` can hold. Threads share it by `&`.
//! - [`search`]: gather and backprop over that repository, and what they are made of: one file for each idea.
//! - [`time`], [`stop`]: how long to think about a move, and when to stop.
//! - [`stats`]: counts by game, by move and by exponential time windows.
//!
//! A whole search on one stack:
//!
//! ```
//! use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
//! use oncilla_core::search::{Params, Search};
//! use oncilla_core::tree::TreeMemory;
//! use oncilla_core::{Move, heapless::VecView};
//!
//! /// Take one or two matches; who takes the last one wins. A position is the number of matches left.
//! struct Matches(u16);
//!
//! impl Matches {
//!     fn after(&self, line: Moves<'_>) -> u16 {
//!         line.fold(self.0, |left, taken| left - taken.0)
//!     }
//! }
//!
//! impl Evaluator for Matches {
//!     type Error = core::convert::Infallible;
//!
//!     fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
//!         moves.extend((1..=self.after(line).min(2)).map(Move));
//!     }
//!
//!     fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
//!         let left = self.after(line);
//!         policy.extend((1..=left.min(2)).map(|_| 0.0));
//!         let verdict = if left == 0 { Verdict::lost() } else { Verdict::Position(Value::EVEN) };
//!         Ok(Answer { key: left.into(), verdict })
//!     }
//! }
//!
//! let mut memory = TreeMemory::<200, 5000>::new();
//! let mut search = Search::new(memory.lend(), Params::default());
//! search.run::<_, 2, 32>(&mut Matches(7), 100).unwrap();
//! assert_eq!(search.best_move(), Some(Move(1))); // leaves six, which are lost
//! ```
#![no_std]
#![warn(missing_docs)]
#![deny(unsafe_code)]

#[cfg(any(test, feature = "std"))]
extern crate std;
// The games that tests play are shared with those outside the crate.
#[cfg(test)]
extern crate self as oncilla_core;

pub use heapless;

mod approx;
pub mod evaluate;
pub mod formula;
#[cfg(any(test, feature = "std"))]
pub mod map;
pub mod repository;
pub mod search;
pub mod stats;
pub mod stop;
mod sync;
pub mod time;
pub mod tree;

pub use evaluate::{Evaluator, Move};
