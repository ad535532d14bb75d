//! From encoded arrays to numbers; folds batch norm into the convolution before it.

use crate::error::NetError;
use crate::proto::{ConvBlock, Layer};
use half::{bf16, f16};

/// How one array is encoded: `Layer.Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Linear16,
    Float16,
    Bfloat16,
    Float32,
}

impl Encoding {
    /// Files from before the field existed are in LINEAR16.
    fn of(number: Option<u64>) -> Result<Self, NetError> {
        match number {
            None | Some(1) => Ok(Self::Linear16),
            Some(2) => Ok(Self::Float16),
            Some(3) => Ok(Self::Bfloat16),
            Some(4) => Ok(Self::Float32),
            Some(other) => {
                let what = format!("expected 1 (LINEAR16), 2 (FLOAT16), 3 (BFLOAT16) or 4 (FLOAT32), got {other}");
                Err(NetError::malformed("encoding", what))
            }
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Float32 => 4,
            _ => 2,
        }
    }
}

/// An array if the file has it. One without elements counts as absent.
pub(crate) fn present<'a>(layer: Option<Layer<'a>>) -> Option<Layer<'a>> {
    layer.filter(|layer| !layer.params.is_empty())
}

/// The number of elements of an array; 0 if the array is absent.
pub(crate) fn count(layer: Option<&Layer<'_>>, field: &str) -> Result<usize, NetError> {
    let Some(layer) = layer else { return Ok(0) };
    let each = Encoding::of(layer.encoding).map_err(|e| e.within(field))?.bytes();
    if !layer.params.len().is_multiple_of(each) {
        let what = format!("expected a multiple of {each} bytes, got {}", layer.params.len());
        return Err(NetError::malformed(format!("{field}.params"), what));
    }
    Ok(layer.params.len() / each)
}

/// The numbers of an array that must have `dims[0] · dims[1] · …` of them.
pub(crate) fn array(layer: Option<&Layer<'_>>, field: &str, dims: &[usize]) -> Result<Vec<f32>, NetError> {
    let got = count(layer, field)?;
    let expected = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let (Some(layer), true) = (layer, expected == Some(got)) else {
        return Err(NetError::malformed(field, format!("expected {} numbers, got {got}", product(dims))));
    };
    let values = numbers(layer).map_err(|e| e.within(field))?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(NetError::malformed(field, format!("expected finite numbers, got {} at {at}", values[at]))),
        None => Ok(values),
    }
}

fn product(dims: &[usize]) -> String {
    let factors: Vec<String> = dims.iter().map(usize::to_string).collect();
    match (dims.len(), dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))) {
        (1, _) => factors[0].clone(),
        (_, Some(all)) => format!("{} = {all}", factors.join("·")),
        (_, None) => factors.join("·"),
    }
}

fn numbers(layer: &Layer<'_>) -> Result<Vec<f32>, NetError> {
    let pairs = || layer.params.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    Ok(match Encoding::of(layer.encoding)? {
        Encoding::Linear16 => {
            for (field, value) in [("min_val", layer.min_val), ("max_val", layer.max_val)] {
                if !value.is_finite() {
                    return Err(NetError::malformed(field, format!("expected a finite number, got {value}")));
                }
            }
            pairs()
                .map(|bits| {
                    let t = f32::from(bits) / 65535.0;
                    layer.min_val * (1.0 - t) + layer.max_val * t
                })
                .collect()
        }
        Encoding::Float16 => pairs().map(|bits| f16::from_bits(bits).to_f32()).collect(),
        Encoding::Bfloat16 => pairs().map(|bits| bf16::from_bits(bits).to_f32()).collect(),
        Encoding::Float32 => {
            layer.params.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        }
    })
}

/// Weights `[out][in][kernel][kernel]` and bias `[out]` of a convolution, with its batch norm folded in.
pub(crate) struct Conv {
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
}

/// Added to the variance before its root is taken: the value that Lc0's training uses.
const EPSILON: f32 = 1e-5;

impl ConvBlock<'_> {
    /// The number of output channels: the length of the bias, or that of the batch norm's means if it has the bias.
    pub(crate) fn channels(&self) -> Result<usize, NetError> {
        let biases = count(self.biases.as_ref(), "biases")?;
        let channels = if biases > 0 { biases } else { count(self.bn_means.as_ref(), "bn_means")? };
        match channels {
            0 => Err(NetError::malformed("biases", "expected at least one number, got none, and no bn_means either")),
            n => Ok(n),
        }
    }

    /// Decodes a convolution from `inputs` to `channels` channels and folds its batch norm:
    /// with `g = γ / √(variance + ε)`, `w ← g·w` and `b ← β − g·(mean − b)`.
    pub(crate) fn decode(&self, channels: usize, inputs: usize, kernel: usize) -> Result<Conv, NetError> {
        // The weights come first: if they are as long as they should be, the smaller arrays are justified.
        let mut weights = array(self.weights.as_ref(), "weights", &[channels, inputs, kernel, kernel])?;
        let mut bias = match count(self.biases.as_ref(), "biases")? {
            0 => vec![0.0; channels],
            _ => array(self.biases.as_ref(), "biases", &[channels])?,
        };
        if count(self.bn_means.as_ref(), "bn_means")? == 0 {
            return Ok(Conv { weights, bias });
        }
        let means = array(self.bn_means.as_ref(), "bn_means", &[channels])?;
        let variances = array(self.bn_stddivs.as_ref(), "bn_stddivs", &[channels])?;
        // Networks of the first years have neither scale nor shift.
        let (gammas, betas) = match count(self.bn_betas.as_ref(), "bn_betas")? {
            0 => (vec![1.0; channels], vec![0.0; channels]),
            _ => (
                array(self.bn_gammas.as_ref(), "bn_gammas", &[channels])?,
                array(self.bn_betas.as_ref(), "bn_betas", &[channels])?,
            ),
        };
        for (o, filter) in weights.chunks_exact_mut(inputs * kernel * kernel).enumerate() {
            if variances[o] < 0.0 {
                let what = format!("expected variances of at least 0, got {} at {o}", variances[o]);
                return Err(NetError::malformed("bn_stddivs", what));
            }
            let g = gammas[o] / (variances[o] + EPSILON).sqrt();
            filter.iter_mut().for_each(|w| *w *= g);
            bias[o] = betas[o] - g * (means[o] - bias[o]);
            if !bias[o].is_finite() || filter.iter().any(|w| !w.is_finite()) {
                let what = format!("expected finite weights after folding, got others in channel {o}");
                return Err(NetError::malformed("bn_gammas", what));
            }
        }
        Ok(Conv { weights, bias })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(encoding: Option<u64>, params: &[u8]) -> Layer<'_> {
        Layer { min_val: -1.0, max_val: 3.0, params, encoding }
    }

    fn decoded(layer: Layer<'_>, dims: &[usize]) -> Result<Vec<f32>, String> {
        array(Some(&layer), "w", dims).map_err(|e| e.to_string())
    }

    #[test]
    fn linear16_is_the_default() {
        let params = [0, 0, 0xff, 0xff, 0x33, 0x33];
        for encoding in [None, Some(1)] {
            let values = decoded(layer(encoding, &params), &[3]).unwrap();
            assert_eq!(values[..2], [-1.0, 3.0]);
            assert!((values[2] - (-1.0 + 4.0 * 13107.0 / 65535.0)).abs() < 1e-6);
        }
    }

    #[test]
    fn floats() {
        // 1, -2, the smallest subnormal and the largest number of binary16.
        let half = [0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b];
        assert_eq!(decoded(layer(Some(2), &half), &[4]).unwrap(), [1.0, -2.0, 2f32.powi(-24), 65504.0]);
        let bfloat = [0x80, 0x3f, 0x40, 0xc0];
        assert_eq!(decoded(layer(Some(3), &bfloat), &[1, 2]).unwrap(), [1.0, -3.0]);
        let single = std::f32::consts::PI.to_le_bytes();
        assert_eq!(decoded(layer(Some(4), &single), &[1]).unwrap(), [std::f32::consts::PI]);
    }

    #[test]
    fn faults_name_expected_and_got() {
        let nan = f32::NAN.to_le_bytes();
        for (layer, dims, expected) in [
            (layer(None, &[0; 6]), &[2, 2][..], "w: expected 2·2 = 4 numbers, got 3"),
            (layer(None, &[0; 5]), &[2], "w.params: expected a multiple of 2 bytes, got 5"),
            (layer(Some(4), &[0; 6]), &[2], "w.params: expected a multiple of 4 bytes, got 6"),
            (layer(Some(0), &[0; 4]), &[2], "w.encoding: expected 1 (LINEAR16), 2 (FLOAT16)"),
            (layer(Some(4), &nan), &[1], "w: expected finite numbers, got NaN at 0"),
            (layer(Some(2), &[0, 0x7c]), &[1], "w: expected finite numbers, got inf at 0"),
            (Layer { max_val: f32::INFINITY, ..layer(None, &[0; 2]) }, &[1], "w.max_val: expected a finite number"),
            (layer(None, &[0; 4]), &[usize::MAX, 9], "w: expected 18446744073709551615·9 numbers, got 2"),
        ] {
            let error = decoded(layer, dims).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(array(None, "w", &[3]).unwrap_err().to_string(), "w: expected 3 numbers, got 0");
    }

    #[test]
    fn batch_norm_is_folded() {
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let arrays = [
            bytes(&[1.0, 2.0, 3.0, 4.0]),
            bytes(&[0.5, -0.5]),
            bytes(&[1.0, 2.0]),
            bytes(&[4.0, 0.25]),
            bytes(&[2.0, 3.0]),
            bytes(&[0.1, 0.2]),
        ];
        let [weights, biases, bn_means, bn_stddivs, bn_gammas, bn_betas] =
            arrays.each_ref().map(|a| Some(layer(Some(4), a)));
        let block = ConvBlock { weights, biases, bn_means, bn_stddivs, bn_gammas, bn_betas };
        let conv = block.decode(block.channels().unwrap(), 2, 1).unwrap();
        // What the layers do one after the other to the input (1, -1).
        for (o, (gamma, beta, mean, variance, bias)) in
            [(2.0f32, 0.1f32, 1.0f32, 4.0f32, 0.5f32), (3.0, 0.2, 2.0, 0.25, -0.5)].into_iter().enumerate()
        {
            let y = [1.0 - 2.0, 3.0 - 4.0][o] + bias;
            let normed = gamma * (y - mean) / (variance + 1e-5).sqrt() + beta;
            let folded = conv.weights[2 * o] - conv.weights[2 * o + 1] + conv.bias[o];
            assert!((normed - folded).abs() < 1e-5, "{normed} {folded}");
        }
        let old = ConvBlock { bn_gammas: None, bn_betas: None, ..block };
        let conv = old.decode(2, 2, 1).unwrap();
        assert!((conv.weights[0] - 1.0 / 4.00001f32.sqrt()).abs() < 1e-6);
        assert!((conv.bias[0] + 0.5 / 4.00001f32.sqrt()).abs() < 1e-6);
        let half = ConvBlock { bn_gammas: None, ..block };
        assert_eq!(half.decode(2, 2, 1).err().unwrap().to_string(), "bn_gammas: expected 2 numbers, got 0");
    }

    #[test]
    fn what_folding_makes_infinite_is_refused() {
        let bytes = |value: f32| value.to_le_bytes();
        for (weight, mean) in [(10.0, 0.0), (0.0, 10.0)] {
            let arrays = [weight, 0.0, mean, 1.0, 1e38, 0.0].map(bytes);
            let [weights, biases, bn_means, bn_stddivs, bn_gammas, bn_betas] =
                arrays.each_ref().map(|a| Some(layer(Some(4), a)));
            let block = ConvBlock { weights, biases, bn_means, bn_stddivs, bn_gammas, bn_betas };
            let error = block.decode(1, 1, 1).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with("bn_gammas: expected finite weights after folding"), "{error}");
        }
    }

    #[test]
    fn a_convolution_may_have_a_single_channel_and_no_norm() {
        let block = ConvBlock { biases: Some(layer(None, &[0; 2])), ..ConvBlock::default() };
        assert_eq!(block.channels().ok(), Some(1));
    }
}
