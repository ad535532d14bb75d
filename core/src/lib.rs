//! PUCT tree search in memory that is fixed before it starts.
//!
//! The crate is `no_std`, allocates nothing, and reads no clock and no random source: memory and times come in as
//! arguments. It knows no game: a [`Move`] is an opaque 16-bit number, and a position is the list of moves from the
//! root. What it needs to know of a position it asks an [`Evaluator`] (or, where evaluations take time and come in
//! batches, the program around it).
//!
//! The layers, from the bottom:
//!
//! - [`tree`]: the node repository. Nodes and edges in two pools of fixed-size records, lent by the caller or held in
//!   a [`tree::TreeMemory`], which a `static` can hold.
//! - [`search`]: gather and backprop over that repository, and what they are made of: one file for each idea.
//! - [`time`], [`stop`]: how long to think about a move, and when to stop.
//! - [`stats`]: counts by game, by move and by exponential time windows.
//!
//! A whole search on one stack:
//!
//! ```
//! use oncilla_core::evaluate::{Answer, Evaluator, MoveLogit, Moves, Value, Verdict};
//! use oncilla_core::search::{Params, Search};
//! use oncilla_core::tree::TreeMemory;
//! use oncilla_core::{Move, heapless::VecView};
//!
//! /// Take one or two matches; who takes the last one wins. A position is the number of matches left.
//! struct Matches(u16);
//!
//! impl Evaluator for Matches {
//!     type Error = core::convert::Infallible;
//!     fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
//!         let left = moves.fold(self.0, |left, taken| left - taken.0);
//!         if left == 0 {
//!             return Ok(Answer { key: 0, verdict: Verdict::lost() });
//!         }
//!         for n in 1..=left.min(2) {
//!             policy.push(MoveLogit { mv: Move(n), logit: 0.0 }).expect("room for every move");
//!         }
//!         Ok(Answer { key: left.into(), verdict: Verdict::Position(Value::EVEN) })
//!     }
//! }
//!
//! let mut memory = TreeMemory::<200, 600>::new();
//! let mut search = Search::new(memory.lend(), Params { max_edges: 2, ..Params::default() });
//! search.run::<_, 4, 32>(&mut Matches(7), 100).unwrap();
//! assert_eq!(search.best_move(), Some(Move(1))); // leaves six, which are lost
//! ```
#![no_std]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub use heapless;

mod approx;
pub mod evaluate;
pub mod formula;
pub mod search;
pub mod stats;
pub mod stop;
pub mod time;
pub mod tree;

pub use evaluate::{Evaluator, Move};
