//! How positions become the input of a network.

use oncilla_chess::History;
use oncilla_chess::Transform;
use oncilla_chess::planes::{self, HistoryFill, InputFormat, PlaneSet, Planes};
use oncilla_nets::Network;

/// The input that a network wants.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    format: InputFormat,
    fill: HistoryFill,
    seen: PlaneSet,
}

impl Inputs {
    /// The input that this network wants.
    ///
    /// # Errors
    /// If its format is not known here.
    pub fn of(network: &Network, fill: HistoryFill) -> Result<Self, String> {
        let number = network.input_format.number();
        let format =
            InputFormat::from_number(number.into()).ok_or_else(|| format!("input format {number} is not known"))?;
        Ok(Self { format, fill, seen: network.planes.iter().copied().collect() })
    }

    /// All planes of the oldest format.
    pub fn classical(fill: HistoryFill) -> Self {
        Self { format: InputFormat::Classical112, fill, seen: PlaneSet::ALL }
    }

    /// The number of numbers that one position takes.
    pub fn numbers(self) -> usize {
        self.seen.len() * 64
    }

    /// The key of all that the network's answer depends on.
    pub fn key(self, history: &History) -> u64 {
        planes::key(history, self.format, self.fill, self.seen)
    }

    /// Encodes the planes of the last position of `history`; returns the transform for its policy.
    pub fn encode(self, history: &History, planes: &mut Planes) -> Transform {
        planes::encode(history, self.format, self.fill, planes)
    }

    /// Writes the planes that the network sees into `to`, which has [`Inputs::numbers`] elements.
    pub fn write(self, planes: &Planes, to: &mut [f32]) {
        planes.expand_into(self.seen, to);
    }
}
