//! What graphs that take the same time have in common: stored tunings are found by it.

use super::{Graph, Layer, Output, Shape};
use fnv::FnvHasher;
use std::hash::Hasher;

impl Graph {
    /// A hash of everything but the weights: graphs with the same one take the same time.
    pub fn shape_hash(&self) -> u64 {
        let mut hash = FnvHasher::default();
        let mut add = |n: usize| hash.write(&(n as u64).to_le_bytes());
        for ((layer, shape), int8) in self.layers.iter().zip(&self.shapes).zip(&self.int8) {
            add((*int8).into());
            // The shape of each layer's value, before the layer's own numbers; those of the outputs follow at the end.
            [shape.channels, shape.squares].into_iter().for_each(&mut add);
            layer.name().bytes().for_each(|byte| add(byte.into()));
            layer.reads().for_each(|value| add(value.0));
            match layer {
                Layer::Conv { kernel, se, activation, .. } => {
                    let hidden = se.as_ref().map_or(0, |se| se.hidden);
                    [*kernel, hidden, *activation as usize].into_iter().for_each(&mut add);
                }
                Layer::Dense { activation, .. } | Layer::Affine { activation, .. } => add(*activation as usize),
                Layer::Attention { heads, .. } | Layer::Smolgen { heads, .. } => add(*heads),
                Layer::RmsNorm { whole, .. } => add((*whole).into()),
                Layer::Gather { .. }
                | Layer::Constant { .. }
                | Layer::Gate { .. }
                | Layer::Pool { .. }
                | Layer::LayerNorm { .. }
                | Layer::Rotate { .. }
                | Layer::Multiply { .. }
                | Layer::Scores { .. } => {}
            }
        }
        // The board is added only if it was given, so that what was stored for a chessboard is still found.
        self.board.into_iter().flat_map(|(ranks, files)| [ranks, files]).for_each(&mut add);
        for Output { role, value } in &self.outputs {
            let Shape { channels, squares } = self.shape(*value);
            [*role as usize, value.0, channels, squares].into_iter().for_each(&mut add);
        }
        hash.finish()
    }
}
