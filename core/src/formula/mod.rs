//! Formulas around the search: for the root's priors, for a leaf's value, and for the choice of a move by its visits.
//!
//! Each file is one idea, with Lc0's option names where Lc0 has it. All of them are pure: they use no clock, no memory
//! but what the caller lends, and no chance but a [`random::Random`] that the caller has seeded. The formulas by which
//! a playout chooses its way stand in [`search::puct`](crate::search::puct).

pub mod collisions;
pub mod contempt;
pub mod lcb;
pub mod noise;
pub mod random;
pub mod temperature;
pub mod weighing;
