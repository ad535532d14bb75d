//! Formulas around the search: what is done to the root's priors, to a leaf's value, and with the visits in the end.
//!
//! Each file is one idea, with Lc0's option names where Lc0 has it. All of them are pure: no clock, no memory but what
//! the caller lends, and chance only out of a [`random::Random`] that the caller has seeded. The formulas by which a
//! playout chooses its way stand in [`search::puct`](crate::search::puct).

pub mod collisions;
pub mod contempt;
pub mod lcb;
pub mod noise;
pub mod random;
pub mod temperature;
pub mod weighing;
