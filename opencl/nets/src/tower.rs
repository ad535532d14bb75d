//! A tower of residual blocks.

use crate::builder::{Builder, Step};
use crate::decode::{array, count};
use crate::error::NetError;
use crate::proto::{Residual, SeUnit, Weights};
use crate::wire::Message;
use oncilla_opencl::graph::{INPUT, SqueezeExcite, ValueId};

/// A tower; what comes after it reads `top`.
pub(crate) struct Tower {
    pub top: ValueId,
    pub filters: usize,
    pub blocks: usize,
    pub squeeze_excite: bool,
}

impl Tower {
    /// No tower: what comes after reads the input itself.
    pub const NONE: Self = Self { top: INPUT, filters: 0, blocks: 0, squeeze_excite: false };
}

pub(crate) fn build(builder: &mut Builder, weights: &Weights<'_>) -> Result<Tower, NetError> {
    if weights.residual.is_empty() {
        return Err(NetError::malformed("residual", "expected at least one block, got none"));
    }
    let activation = builder.activation;
    let step = Step { block: weights.input.as_ref(), field: "input", input: INPUT, kernel: 3, activation };
    let filters = Builder::channels(&step)?;
    let top = builder.conv(&step, filters, None, None)?;
    let mut tower = Tower { top, filters, blocks: weights.residual.len(), squeeze_excite: false };
    for (i, bytes) in weights.residual.iter().enumerate() {
        block(builder, bytes, &mut tower).map_err(|e| e.within(&format!("residual[{i}]")))?;
    }
    Ok(tower)
}

fn block(builder: &mut Builder, bytes: &[u8], tower: &mut Tower) -> Result<(), NetError> {
    let mut block = Residual::default();
    block.merge(bytes)?;
    let (activation, filters, skip) = (builder.activation, tower.filters, tower.top);
    let step = |block, field, input| Step { block, field, input, kernel: 3, activation };
    let inner = builder.conv(&step(block.conv1.as_ref(), "conv1", skip), filters, None, None)?;
    let se = match &block.se {
        Some(se) => Some(squeeze_excite(se, filters).map_err(|e| e.within("se"))?),
        None => None,
    };
    tower.squeeze_excite |= se.is_some();
    tower.top = builder.conv(&step(block.conv2.as_ref(), "conv2", inner), filters, se, Some(skip))?;
    Ok(())
}

fn squeeze_excite(se: &SeUnit<'_>, filters: usize) -> Result<SqueezeExcite, NetError> {
    let hidden = count(se.b1.as_ref(), "b1")?;
    if hidden == 0 {
        return Err(NetError::malformed("b1", "expected at least one number, got none"));
    }
    Ok(SqueezeExcite {
        hidden,
        w1: array(se.w1.as_ref(), "w1", &[hidden, filters])?,
        b1: array(se.b1.as_ref(), "b1", &[hidden])?,
        w2: array(se.w2.as_ref(), "w2", &[2, filters, hidden])?,
        b2: array(se.b2.as_ref(), "b2", &[2, filters])?,
    })
}
