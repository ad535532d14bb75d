//! Random numbers that are determined by a seed.

#![allow(dead_code, reason = "each test uses its own part")]

use oncilla_core::formula::random;

pub struct Random(random::Random);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(random::Random::new(seed))
    }

    /// A number from 0 to `n` - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    /// An index into a list of `len` elements; 0 if the list is empty.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len.max(1) as u64) as usize
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
