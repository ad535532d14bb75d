//! Random numbers that are the same on every machine.

use oncilla_core::formula::random;

#[derive(Clone)]
pub struct Random(random::Random);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(random::Random::new(seed))
    }

    /// A number from `low` to `high`, evenly distributed.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, part: f64) -> bool {
        self.within(0.0, 1.0) < part
    }

    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[(self.0.bits() % of.len() as u64) as usize]
    }
}
