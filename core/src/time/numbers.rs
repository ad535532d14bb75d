//! The numbers in the computation of a budget, by name.

use heapless::Vec;

/// How many there may be: more than any manager has.
const MOST: usize = 48;

/// Named numbers in the order of their computation. Times end in `_ms`, counts of nodes in `_nodes`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Numbers {
    rows: Vec<(&'static str, f64), MOST>,
}

impl Numbers {
    pub(crate) fn add(&mut self, rows: &[(&'static str, f64)]) {
        // The test in `manager` would notice that a name is left out.
        let _ = self.rows.extend_from_slice(rows);
    }

    /// All numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.rows.iter().copied()
    }

    /// The number with this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter().find(|(known, _)| *known == name).map(|(_, number)| number)
    }
}
