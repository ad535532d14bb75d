//! The records that everything else in a file is made of.

use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// A convolution with zero padding that keeps the board's size, and without a bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// The side of the kernel, which is square: 1, 3 or 5.
    pub kernel: usize,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// `[out][in][y][x]`, as in [`oncilla_opencl::graph::Layer::Conv`]; in the file `[y][x][in][out]`.
    pub weights: Vec<f32>,
}

/// A batch norm folded into `activation(scale·x + shift)`. What is off the board stays 0.
///
/// The file's norm is `(x − mean)·γ/√(variance + ε) + β`, so `scale = γ/√(variance + ε)` and `shift = β − mean·scale`,
/// with γ = 1 or β = 0 where the file has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Norm {
    /// `[channels]`.
    pub scale: Vec<f32>,
    /// `[channels]`.
    pub shift: Vec<f32>,
    /// The activation that follows: [`Activation::None`] for identity, [`Activation::Swish`] for what KataGo calls
    /// SiLU.
    pub activation: Activation,
}

/// A dense layer: `weights · x + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// `[out][in]`, as in [`oncilla_opencl::graph::Layer::Dense`]; in the file `[in][out]`.
    pub weights: Vec<f32>,
    /// `[out]`; zeros if the file has none.
    pub bias: Vec<f32>,
}

/// Reads a convolution from `inputs` channels to `outputs`, or, if that is not given, to as many as the file says.
pub(super) fn conv(reader: &mut Reader<'_>, inputs: usize, outputs: Option<usize>) -> Result<Conv, NetError> {
    reader.begin("a convolution")?;
    let kernel = reader.channels("the kernel's height")?;
    if !matches!(kernel, 1 | 3 | 5) {
        return Err(reader.unsupported(format_args!("expected a kernel of 1, 3 or 5, got {kernel}")));
    }
    let width = reader.channels("the kernel's width")?;
    if width != kernel {
        return Err(reader.unsupported(format_args!("expected a square kernel, got {kernel} by {width}")));
    }
    reader.known("input channels", Some(inputs))?;
    let outputs = reader.known("output channels", outputs)?;
    for _ in 0..2 {
        match reader.channels("a dilation")? {
            1 => {}
            dilation => return Err(reader.unsupported(format_args!("expected no dilation, 1, got {dilation}"))),
        }
    }
    // The file's `n`th number is at `[y][x][in][out]`.
    let place = |n: usize| {
        let (at, input, output) = (n / outputs / inputs, n / outputs % inputs, n % outputs);
        (output * inputs + input) * (kernel * kernel) + at
    };
    let weights = reader.numbers(&[kernel, kernel, inputs, outputs], place)?;
    Ok(Conv { kernel, inputs, outputs, weights })
}

/// Reads a batch norm of `channels` channels, and the activation behind it.
pub(super) fn norm(reader: &mut Reader<'_>, channels: usize) -> Result<Norm, NetError> {
    reader.begin("a batch norm")?;
    reader.known("channels", Some(channels))?;
    let epsilon = reader.float("epsilon")?;
    if epsilon <= 0.0 {
        return Err(reader.malformed(format_args!("expected an epsilon above 0, got {epsilon}")));
    }
    let has_scale = reader.flag("whether there is a scale")?;
    let has_bias = reader.flag("whether there is a bias")?;
    let mut array = |wanted: bool, otherwise: f32| match wanted {
        true => reader.numbers(&[channels], |n| n),
        false => Ok(vec![otherwise; channels]),
    };
    // Reading the means shows that the file does have `channels` numbers: then the other arrays may be allocated.
    let (mean, variance) = (array(true, 0.0)?, array(true, 0.0)?);
    let (mut scale, mut shift) = (array(has_scale, 1.0)?, array(has_bias, 0.0)?);
    reader.parameters -= 2 * channels as u64; // statistics, not learnt
    for channel in 0..channels {
        scale[channel] /= (variance[channel] + epsilon).sqrt();
        shift[channel] -= mean[channel] * scale[channel];
        // A variance far enough below 0 gives NaN, one that epsilon just makes up for gives infinity.
        if !(scale[channel].is_finite() && shift[channel].is_finite()) {
            let (mean, variance) = (mean[channel], variance[channel]);
            return Err(reader.malformed(format_args!(
                "expected what folds into finite numbers, got mean {mean}, variance {variance}, epsilon {epsilon} in \
                 channel {channel}"
            )));
        }
    }
    Ok(Norm { scale, shift, activation: activation(reader)? })
}

/// Reads an activation, which is a record of its own in the file; before version 11 the record has only a name.
pub(super) fn activation(reader: &mut Reader<'_>) -> Result<Activation, NetError> {
    reader.begin("an activation")?;
    if reader.version < 11 {
        return Ok(Activation::Relu);
    }
    match reader.word("an activation")? {
        "ACTIVATION_IDENTITY" => Ok(Activation::None),
        "ACTIVATION_RELU" => Ok(Activation::Relu),
        "ACTIVATION_MISH" => Ok(Activation::Mish),
        "ACTIVATION_SILU" => Ok(Activation::Swish),
        other => Err(reader.unsupported(format_args!(
            "expected ACTIVATION_IDENTITY, ACTIVATION_RELU, ACTIVATION_MISH or ACTIVATION_SILU, got \"{other}\""
        ))),
    }
}

/// Reads a product with a matrix, without a bias.
pub(super) fn matmul(reader: &mut Reader<'_>, inputs: usize, outputs: Option<usize>) -> Result<Dense, NetError> {
    reader.begin("a matrix")?;
    reader.known("input channels", Some(inputs))?;
    let outputs = reader.known("output channels", outputs)?;
    let weights = reader.numbers(&[inputs, outputs], |n| n % outputs * inputs + n / outputs)?;
    Ok(Dense { inputs, outputs, weights, bias: vec![0.0; outputs] })
}

/// Reads a product with a matrix, and its bias, which is the record behind it.
pub(super) fn dense(reader: &mut Reader<'_>, inputs: usize, outputs: Option<usize>) -> Result<Dense, NetError> {
    let mut dense = matmul(reader, inputs, outputs)?;
    reader.begin("a bias")?;
    reader.known("channels", Some(dense.outputs))?;
    dense.bias = reader.numbers(&[dense.outputs], |n| n)?;
    Ok(dense)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Norm, String> {
        norm(&mut Reader::new(text.as_bytes()), 2).map_err(|e| e.to_string())
    }

    #[test]
    fn batch_norms_are_folded() {
        let folded = read("n 2 0.75 1 1  1 -2  0.25 3.25  3 4  0.5 0.25 act").unwrap();
        let expected = Norm { scale: vec![3.0, 2.0], shift: vec![-2.5, 4.25], activation: Activation::Relu };
        assert_eq!(folded, expected);
        let plain = read("n 2 0.75 0 0  1 -2  0.25 3.25 act").unwrap();
        assert_eq!((plain.scale, plain.shift), (vec![1.0, 0.5], vec![-1.0, 1.0]));
        let scaled = read("n 2 0.75 1 0  1 -2  0.25 3.25  3 4 act").unwrap();
        assert_eq!((scaled.scale, scaled.shift), (vec![3.0, 2.0], vec![-3.0, 4.0]));
        let shifted = read("n 2 0.75 0 1  1 -2  0.25 3.25  3 4 act").unwrap();
        assert_eq!((shifted.scale, shifted.shift), (vec![1.0, 0.5], vec![2.0, 5.0]));
        for bad in ["n 2 0.75 0 0  1 -2  0.25 -3.25 act", "n 2 0.25 0 0  1 -2  0.25 -0.25 act"] {
            let error = read(bad).unwrap_err();
            assert!(error.starts_with("n: expected what folds into finite numbers, got mean -2, variance "), "{error}");
        }
        for (epsilon, got) in [("0", "0"), ("-0.5", "-0.5")] {
            let error = read(&format!("n 2 {epsilon} 0 0  1 -2  0.25 3.25 act")).unwrap_err();
            assert_eq!(error, format!("n: expected an epsilon above 0, got {got}, at byte 4 of the unpacked file"));
        }
    }

    #[test]
    fn orders_are_turned() {
        let reader = &mut Reader::new(b"c 1 1 2 3 1 1  1 2 3 4 5 6");
        assert_eq!(conv(reader, 2, None).unwrap().weights, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let reader = &mut Reader::new(b"c 3 3 1 2 1 1  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
        let expected = [1, 3, 5, 7, 9, 11, 13, 15, 17, 2, 4, 6, 8, 10, 12, 14, 16, 18].map(|n| n as f32);
        assert_eq!(conv(reader, 1, Some(2)).unwrap().weights, expected);
        let reader = &mut Reader::new(b"m 2 3  1 2 3 4 5 6  b 3  7 8 9");
        let read = dense(reader, 2, Some(3)).unwrap();
        assert_eq!((&read.weights[..], &read.bias[..]), (&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0][..], &[7.0, 8.0, 9.0][..]));
        assert_eq!(reader.parameters, 9);
        assert!(reader.end().is_ok());
    }
}
