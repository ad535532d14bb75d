//! Go: KataGo's networks, a search with them, and its results.
//!
//! [`Evaluator`] runs a network on boards of any size, and [`Search`] searches a position with it and sums up the
//! results. The rules of the game are in `oncilla_go`; the search is the core's, with KataGo's utility of results and
//! scores ([`utility`]).
//!
//! Besides [`Search`] this has what analysis, GTP and `eval` read alike: parameters ([`params`]) and the plan of a
//! search that follows from them (`plan`), positions and rules ([`setup`], [`vertex`]), moves that are left out
//! ([`restrictions`]), whom a network for human play imitates (`imitation`), and what analysis and GTP say of a search
//! (`answer`).
//!
//! The core's search gets one number for each position, its utility, scaled to the range of a value. What does not fit
//! the tree is in [`notes`] beside it. After each playout the positions of its line are computed anew from their notes
//! (`backup`): the network's evaluation is weighted by its uncertainty (`uncertainty`) and corrected by the results of
//! searches after the same move elsewhere ([`bias`]).
//!
//! A game that has ended is `Ending::Scored` to the core, which proves nothing, because the score counts as well as the
//! winner.

mod answer;
mod backup;
pub mod bias;
mod boards;
mod cache;
pub mod ending;
mod evaluation;
mod evaluator;
mod human;
mod imitation;
mod input;
mod networks;
pub mod notes;
mod ownership;
pub mod params;
mod plan;
pub mod restrictions;
mod reuse;
mod root;
mod run;
mod samples;
mod search;
pub mod setup;
#[cfg(test)]
pub(crate) mod tests;
mod uncertainty;
pub mod utility;
pub mod vertex;

pub(crate) use answer::{Choice, Reporter, Wanted, describe_model};
pub use evaluation::{Evaluation, PolicyRules, ShortTerm};
pub use evaluator::{Batch, Evaluator, NO_PROFILE, Question};
pub use human::HumanExploration;
pub use imitation::Imitation;
pub use networks::Networks;
pub use params::{Known, Params};
pub use plan::{Plan, Seen};
pub use restrictions::Restrictions;
pub use run::{Limits, Stopped, memory};
pub use samples::{inputs, samples};
pub use search::{Search, Step};
pub use setup::Setup;
pub use uncertainty::Uncertainty;

use oncilla_go::Size;

/// The shortest side of a board: KataGo's networks know none of a single line.
pub const LEAST_SIDE: u8 = 2;

/// The size of a board whose columns and rows somebody has written, each from [`LEAST_SIDE`] to
/// [`MAX_SIDE`](oncilla_go::MAX_SIDE).
pub fn board_size(columns: &str, rows: &str) -> Option<Size> {
    let side = |text: &str| text.trim().parse().ok().filter(|side| *side >= LEAST_SIDE);
    Size::new(side(columns)?, side(rows)?)
}

/// A game as all of the program uses it.
pub type Game = oncilla_go::Game;
