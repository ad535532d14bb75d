//! Where an element of a value is in a buffer.
//!
//! On a CPU device, values are stored in blocks of channels between 3×3 convolutions, and between 1×1 convolutions in
//! the order of the host: see `pointwise.rs`. An affine layer leaves its output in the order of its input, too, and a
//! pool reads either: so between the convolutions of a Go network nothing is reordered.

use crate::graph::Shape;

/// `[block of channels][square][channel in the block]`: `block == 1` is the order of the host, `[channel][square]`.
///
/// The last block may have channels that the value doesn't have. Weights for them are zero, and their content is
/// finite: zero after every activation but a sigmoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Channels and squares of one position.
    pub shape: Shape,
    /// How many channels are next to each other.
    pub block: usize,
}

impl Layout {
    /// The order of the host.
    pub fn plain(shape: Shape) -> Self {
        Self { shape, block: 1 }
    }

    /// In blocks of `block` channels, the last one filled up.
    pub fn blocked(shape: Shape, block: usize) -> Self {
        Self { shape, block }
    }

    /// How many blocks there are.
    pub fn blocks(self) -> usize {
        self.shape.channels.div_ceil(self.block)
    }

    /// Elements that one position takes, padding included.
    pub fn stride(self) -> usize {
        self.blocks() * self.block * self.shape.squares
    }

    /// The place of an element.
    pub fn at(self, channel: usize, square: usize) -> usize {
        (channel / self.block * self.shape.squares + square) * self.block + channel % self.block
    }

    /// The place of an element that is counted channel-major, as in a [`crate::graph::Layer::Gather`].
    pub fn at_index(self, index: usize) -> usize {
        self.at(index / self.shape.squares, index % self.shape.squares)
    }

    /// Reorders one position from the order of the host into this layout; padding stays as it is.
    pub fn pack(self, plain: &[f32], stored: &mut [f32]) {
        plain.iter().enumerate().for_each(|(i, x)| stored[self.at_index(i)] = *x);
    }

    /// Reorders `stored`, which is a whole number of positions in this layout, into the order of the host.
    pub fn unpack(self, stored: &[f32], plain: &mut Vec<f32>) {
        plain.clear();
        if self.block == 1 {
            plain.extend_from_slice(stored);
            return;
        }
        for position in stored.chunks_exact(self.stride().max(1)) {
            plain.extend((0..self.shape.len()).map(|i| position[self.at_index(i)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_place_of_its_own() {
        for (channels, squares, block) in [(5, 4, 1), (5, 4, 8), (17, 9, 8), (16, 64, 16), (3, 1, 8)] {
            let layout = Layout::blocked(Shape { channels, squares }, block);
            let mut seen = vec![false; layout.stride()];
            for i in 0..channels * squares {
                assert!(!std::mem::replace(&mut seen[layout.at_index(i)], true));
            }
        }
    }

    #[test]
    fn unpacking_gives_the_order_of_the_host() {
        let layout = Layout::blocked(Shape { channels: 3, squares: 2 }, 2);
        let mut plain = vec![9.0];
        layout.unpack(&[0.0, 2.0, 1.0, 3.0, 4.0, 0.0, 5.0, 0.0], &mut plain);
        assert_eq!(plain, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut stored = [0.0; 8];
        layout.pack(&plain, &mut stored);
        assert_eq!(stored, [0.0, 2.0, 1.0, 3.0, 4.0, 0.0, 5.0, 0.0]);
    }

    #[test]
    fn block_one_is_the_order_of_the_host() {
        let layout = Layout::plain(Shape { channels: 7, squares: 9 });
        assert!((0..63).all(|i| layout.at_index(i) == i));
    }
}
