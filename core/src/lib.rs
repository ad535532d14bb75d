//! PUCT tree search in memory that is fixed before it starts.
//!
//! The crate is `no_std`, allocates nothing, and reads no clock and no random source: memory and times come in as
//! arguments. It knows no game: a [`Move`] is an opaque 16-bit number, and a position is the list of moves from the
//! root. What it needs to know of a position it asks an [`Evaluator`] (or, where evaluations take time and come in
//! batches, the program around it).
//!
//! The layers, from the bottom:
//!
//! - [`repository`]: what a search needs from the place where its nodes are kept.
//! - [`tree`]: the repository that searches use, in memory that is lent by the caller: a [`tree::TreeMemory`] or
//!   [`tree::GraphMemory`], which a `static` can hold, a `tree::BoxedMemory` (feature `alloc`), or slices. Threads share
//!   it by `&`.
//! - [`search`]: gather and backprop over that repository, and their parts: one file for each idea.
//! - [`time`], [`stop`]: how long to think about a move, and when to stop.
//! - [`stats`]: counts by game, by move and by time windows of doubling length.
//!
//! # From an evaluator to the best move
//!
//! An [`Evaluator`] gets a position as the moves from the search's current root, and says three things about it: the
//! legal moves, what the position is worth, and how promising each move looks. [`Search::run`](search::Search::run)
//! asks it about one leaf after the other, on one stack:
//!
//! ```
//! use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
//! use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
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
//! search.run(&mut Matches(7), MostMoves::<2>, MostPlies::<32>, 100).unwrap();
//! let nth = |index: usize| Move(1 + index as u16); // the move with that place among the legal ones
//! assert_eq!(search.move_to_play(0, nth), Some(Move(1))); // leaves six, which are lost
//!
//! // The game goes on: what was searched below the moves played is kept. Lines begin at the new root from now on, so
//! // the evaluator has to follow: four matches are left.
//! search.advance(&[Move(1), Move(2)]);
//! assert!(search.visits() > 0);
//! search.run(&mut Matches(4), MostMoves::<2>, MostPlies::<32>, 100).unwrap();
//! assert_eq!(search.move_to_play(2, nth), Some(Move(1))); // leaves three, which are lost
//! ```
//!
//! [`Search::move_to_play`](search::Search::move_to_play) is the move to play in a game. It asks its caller for the
//! legal move at an index, because the tree does not know which move an unvisited edge is;
//! [`Search::best_move`](search::Search::best_move) asks for none, and chooses among those that were visited. What the
//! tree knows can be read from [`Search::root`](search::Search::root): the visits, value and proof of each node and
//! edge; [`Search::best_edge`](search::Search::best_edge) and [`Search::pv`](search::Search::pv) give the line that
//! would be played.
//!
//! Examples in the repository: `tic_tac_toe` in less than sixty lines, `connect_four` in a `static`,
//! `connect_four_threads` with two threads in one graph, recycling, limits and a time manager.
//!
//! # Batches and threads: events
//!
//! An evaluator that wants many positions at once, or takes long, is not called by the search. Instead the *host* (the
//! program around the search) does the steps of a playout itself.
//! [`Search::gather_together`](search::Search::gather_together) takes some [`Event`](search::Event)s from the root to
//! leaves; the host finds out what these are worth and gives each its answer
//! ([`Search::settle`](search::Search::settle)); [`Search::bring_back`](search::Search::bring_back) takes all of them
//! to the root. All three take the search by `&`, so threads may share it, each with events of its own. A leaf whose
//! position is in the graph already needs no answer:
//! [`Search::settle_transposition`](search::Search::settle_transposition) joins it to that position's node.
//!
//! ```
//! use oncilla_core::Move;
//! use oncilla_core::evaluate::{Answer, Value, Verdict};
//! use oncilla_core::search::{Event, Gathered, Params, Search};
//! use oncilla_core::tree::TreeMemory;
//!
//! let mut memory = TreeMemory::<200, 5000>::new();
//! let mut search = Search::new(memory.lend(), Params::default());
//! let mut events: [Event<32>; 4] = core::array::from_fn(|_| Event::new());
//! while search.visits() < 100 {
//!     search.gather_together(&mut events);
//!     if events.iter().all(|event| event.met() == Gathered::NoMoves) {
//!         break; // the game has ended, and no visit will come any more
//!     }
//!     // Here the leaves would become a batch.
//!     for event in events.iter_mut().filter(|event| event.met() == Gathered::Leaf) {
//!         if let Some(index) = event.unnamed() {
//!             event.name(Move(1 + index as u16)); // the move with that place among the legal ones
//!         }
//!         let left = event.moves().fold(7, |left, taken| left - taken.0);
//!         let verdict = if left == 0 { Verdict::lost() } else { Verdict::Position(Value::EVEN) };
//!         let answer = Answer { key: Answer::NO_KEY, verdict }; // a graph would use a key
//!         let mut policy = [0.0; 2];
//!         search.settle(event, &answer, &mut policy[..left.min(2).into()]).unwrap();
//!     }
//!     search.bring_back(&mut events);
//!     // What met another event's leaf is taken back once that one's answer is in.
//!     events.iter_mut().for_each(|event| search.cancel(event));
//! }
//! assert_eq!(search.best_move(), Some(Move(1)));
//! ```
//!
//! An event that met [`Gathered::Full`](search::Gathered::Full) found no room:
//! [`Search::recycle`](search::Search::recycle) makes some, and no other thread may use the search meanwhile. For that,
//! threads keep their search in a `RwLock`: they read-lock it for playouts, and write-lock it to recycle or advance.
//! The example `connect_four_threads` shows all of it.
//!
//! # How long to think
//!
//! A [`time::Manager`] gives each move of a game a budget; [`stop::Limits`] says when to stop, by time and by whatever
//! else is limited. The host asks them between small portions of playouts, with its own clock:
//!
//! ```
//! # use oncilla_core::evaluate::{Answer, Evaluator, Moves, Value, Verdict};
//! # use oncilla_core::{Move, heapless::VecView};
//! # struct Matches(u16);
//! # impl Evaluator for Matches {
//! #     type Error = core::convert::Infallible;
//! #     fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
//! #         moves.extend((1..=line.fold(self.0, |left, taken| left - taken.0).min(2)).map(Move));
//! #     }
//! #     fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
//! #         let left = line.fold(self.0, |left, taken| left - taken.0);
//! #         policy.extend((1..=left.min(2)).map(|_| 0.0));
//! #         let verdict = if left == 0 { Verdict::lost() } else { Verdict::Position(Value::EVEN) };
//! #         Ok(Answer { key: left.into(), verdict })
//! #     }
//! # }
//! use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
//! use oncilla_core::stop::{KnownBest, Limits, Progress, Reason, SmartPruning, TimeLimit};
//! use oncilla_core::time::{Clock, Manager};
//! use oncilla_core::tree::TreeMemory;
//! use std::time::Instant;
//!
//! let mut memory = TreeMemory::<200, 5000>::new();
//! let mut search = Search::new(memory.lend(), Params::default());
//! let mut manager = Manager::default(); // of this game
//!
//! let clock = Clock { base_ms: 60_000.0, increment_ms: 600.0, ply: 20, overhead_ms: 50.0, ..Clock::default() };
//! let start = Instant::now();
//! let elapsed_ms = || start.elapsed().as_secs_f64() * 1000.0;
//! search.start_move();
//! let budget = manager.on_move_start(&clock, search.visits().into());
//! let mut limits = Limits {
//!     time: Some(TimeLimit::of(&budget)),
//!     known_best: Some(KnownBest),
//!     pruning: SmartPruning::new(1.33),
//!     ..Limits::default()
//! };
//! let reason = loop {
//!     let mut progress = Progress::of(&search, &search.run_counts(), elapsed_ms());
//!     manager.on_progress(progress.elapsed_ms, progress.playouts);
//!     if let Some(leader) = progress.root.leader() {
//!         progress.unsettled = manager.on_leader(progress.elapsed_ms, leader);
//!     }
//!     if let Some(reason) = limits.check(&progress, manager.nps()).stop {
//!         break reason;
//!     }
//!     search.run(&mut Matches(7), MostMoves::<2>, MostPlies::<32>, 20).unwrap();
//! };
//! manager.on_move_end(elapsed_ms(), search.run_counts().playouts);
//! assert_eq!(reason, Reason::KnownBest);
//! ```
//!
//! The clock is looked at before the first playout: if there is no time for one, what was searched earlier decides.
//!
//! A [`time::MovesLeftEstimator`] estimates only the length of the game.
//!
//! # Features
//!
//! No feature is on by default.
//!
//! - `std`, for programs with threads: a thread that waits for a lock lets others run, and each thread takes memory
//!   from a share of its own. It includes `alloc`.
//! - `alloc`: adds `tree::BoxedMemory`, whose capacity is chosen at run time.
//! - `map`: adds a second repository, in a hash map, for tests of what uses a search, and as an example of a
//!   repository of one's own. It includes `std`.
//! - `defmt`: the types of `search`, `stop`, `time` and `stats` implement `defmt::Format`, except for
//!   [`Event`](search::Event) and [`Contents`](search::Contents); so does what they consist of.
//!
//! The C interface is a crate of its own, `oncilla-capi`: its `unsafe` and its panic handler are not here.
//!
//! # What can fail, and what panics
//!
//! A function that can fail says so by its type. Numbers from outside (an evaluator's values, a GUI's clock) may be
//! anything: those that are not numbers (NaN) count as 0 or as the end of their range. A full memory is
//! [`Gathered::Full`](search::Gathered::Full) or [`Refused::NoRoom`](search::Refused::NoRoom).
//!
//! Without `std` no panic can be reached from what the C interface exports (gathering, answers, bringing back,
//! recycling, advancing, all questions about the tree, time managers and estimators): the linker finds none, and the
//! repository's `ci/no-panic` checks that. An index that a node's own words name is in range, unless this crate has a
//! fault or other code writes to the tree's memory. Such an index leads to words that are not used for anything; with
//! `std`, where a panic can be caught, it panics.
//!
//! An event belongs to the search that it was gathered from. To another search it is stale: that search refuses the
//! event or gathers it anew. The visits that the event stands for then stay in flight in the first search, and hinder
//! its other playouts, until that search is cleared.
//!
//! The caller has to avoid the panics that remain: [`NodeView`](search::NodeView)s and keys belong to the repository
//! that they came from, and `VecView`s that an [`Evaluator`] gets panic in their own methods when they overflow
//! ([`MostMoves`](search::MostMoves) is too small then). A panic of the evaluator takes its playout back: a search
//! whose caller catches the panic can go on.
//!
//! # Rust version
//!
//! Rust 1.95 or later; a later minimum is a new minor version.
#![no_std]
#![warn(missing_docs, missing_debug_implementations)]
#![deny(unsafe_code)]

#[cfg(not(any(target_pointer_width = "32", target_pointer_width = "64")))]
compile_error!("oncilla-core names nodes and edges by 32 bits: it takes a target whose pointers have as many");
#[cfg(not(target_has_atomic = "32"))]
compile_error!(
    "oncilla-core locks nodes by swapping a word: it takes a target with 32-bit atomics (a Cortex-M0 has none)"
);
#[cfg(all(feature = "std", target_os = "none"))]
compile_error!("the feature `std` of oncilla-core is for targets with an operating system");

#[cfg(any(test, feature = "alloc"))]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;
// The games that tests play are shared with those outside the crate.
#[cfg(test)]
extern crate self as oncilla_core;

pub use heapless;

mod approx;
pub mod evaluate;
pub mod formula;
mod list;
#[cfg(any(test, feature = "map"))]
pub mod map;
mod place;
mod range;
pub mod repository;
pub mod search;
mod sort;
pub mod stats;
pub mod stop;
mod sync;
pub mod time;
pub mod tree;

pub use evaluate::{Evaluator, Move};
pub use range::OutOfRange;
