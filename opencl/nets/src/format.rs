//! Which architecture a file declares, and whether it can be read.

use crate::error::{Fault, NetError};
use crate::proto::{Net, NetworkFormat, Version, Weights};
use oncilla_opencl::graph::Activation;
use std::fmt;

/// How positions become input planes: `NetworkFormat.InputFormat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InputFormat {
    /// 112 planes with castling rights as full planes.
    Classical112Plane = 1,
    /// Castling rights as planes of the rooks' squares.
    Input112WithCastlingPlane = 2,
    /// Positions mirrored to one of their equivalents, en passant as a plane.
    Input112WithCanonicalization = 3,
    /// As 3, with the 50-move counter divided by 100.
    Input112WithCanonicalizationHectoplies = 4,
    /// As 4, with the history of repeated positions only.
    Input112WithCanonicalizationV2 = 5,
    /// As 4, with the side to move as a plane.
    Input112WithCanonicalizationHectopliesArmageddon = 132,
    /// As 5, with the side to move as a plane.
    Input112WithCanonicalizationV2Armageddon = 133,
}

impl InputFormat {
    fn of(number: u64) -> Result<Self, NetError> {
        Ok(match number {
            1 => Self::Classical112Plane,
            2 => Self::Input112WithCastlingPlane,
            3 => Self::Input112WithCanonicalization,
            4 => Self::Input112WithCanonicalizationHectoplies,
            5 => Self::Input112WithCanonicalizationV2,
            132 => Self::Input112WithCanonicalizationHectopliesArmageddon,
            133 => Self::Input112WithCanonicalizationV2Armageddon,
            other => {
                let what = format!("Input format {other} is not supported: expected 1 to 5, 132 or 133");
                return Err(unsupported("input", what));
            }
        })
    }

    /// The number that Lc0's files use.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// Kind of the policy head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// A convolution and a dense layer with a neuron for each move.
    Classical,
    /// Two convolutions; a move is a plane and its from square.
    Convolution,
    /// Products of a move's from square and its to square.
    Attention,
}

/// What a network does between its input and its heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Residual blocks of convolutions.
    Convolution,
    /// Encoder layers, with or without a convolutional tower before them.
    Attention(Embedding),
}

/// What an attention body is told about each square: `InputEmbeddingFormat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedding {
    /// Nothing: a convolutional tower comes first.
    None,
    /// The squares that a queen or a knight reaches from it.
    Map,
    /// What a dense layer computes from all pieces.
    Dense,
}

/// Kind of the value head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// One number in `[-1, 1]`.
    Classical,
    /// Probabilities of win, draw and loss.
    Wdl,
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classical => "classical",
            Self::Convolution => "convolution",
            Self::Attention => "attention",
        })
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classical => "classical",
            Self::Wdl => "WDL",
        })
    }
}

/// An architecture that can be built: the file's format after Lc0's rules for older files have been applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Architecture {
    pub input: InputFormat,
    pub body: BodyKind,
    pub policy: PolicyKind,
    pub value: ValueKind,
    pub moves_left: bool,
    pub activation: Activation,
    pub ffn_activation: Activation,
    pub smolgen_activation: Activation,
}

/// The version of Lc0 whose files are understood.
const ENGINE: u128 = number_of(0, 33, 0);

/// What Lc0's own tools write into files for every version.
const ANY_ENGINE: u128 = number_of(97, 98, 99);

const fn number_of(major: u64, minor: u64, patch: u64) -> u128 {
    major as u128 * 1_000_000 + minor as u128 * 1000 + patch as u128
}

/// `Format.WeightsEncoding`: LINEAR16.
const LINEAR16: u64 = 1;

/// `NetworkFormat.NetworkStructure`: NETWORK_ONNX.
const ONNX: u64 = 5;

/// What a file without this field means.
const LEGACY: NetworkFormat = NetworkFormat {
    input: 1,
    output: 1,
    network: 3,
    policy: 1,
    value: 1,
    moves_left: 0,
    default_activation: 0,
    smolgen_activation: 0,
    ffn_activation: 0,
    input_embedding: None,
};

fn unsupported(field: &str, what: impl Into<String>) -> NetError {
    NetError::unsupported(format!("format.network_format.{field}"), what)
}

impl Architecture {
    /// The architecture of `net`, or why it can't be read.
    pub(crate) fn of(net: &Net<'_>) -> Result<Self, NetError> {
        check_version(net)?;
        let format = net.format.and_then(|f| f.network_format).unwrap_or(LEGACY);
        if net.has_onnx_model && (net.weights.is_none() || format.network == ONNX) {
            return Err(NetError::unsupported("onnx_model", "the network is an ONNX model: not supported"));
        }
        if format.network == ONNX {
            return Err(unknown_network(ONNX));
        }
        let weights =
            net.weights.as_ref().ok_or_else(|| NetError::malformed("weights", "expected weights, got none"))?;
        let format = upgrade(format, weights);
        let activation = default_activation_of(format.default_activation)?;
        let architecture = Self {
            input: InputFormat::of(format.input)?,
            body: body_of(&format, weights)?,
            policy: policy_of(format.policy)?,
            value: value_of(format.value)?,
            moves_left: moves_left_of(format.moves_left)?,
            activation,
            ffn_activation: activation_of("ffn_activation", format.ffn_activation, activation)?,
            smolgen_activation: activation_of("smolgen_activation", format.smolgen_activation, activation)?,
        };
        check_output(format.output, architecture.value)?;
        if architecture.ffn_activation == Activation::Softmax {
            return Err(unsupported("ffn_activation", "a softmax in a feed-forward layer is not supported"));
        }
        match (architecture.body, architecture.policy) {
            (BodyKind::Attention(_), PolicyKind::Classical | PolicyKind::Convolution) => {
                let what = format!("a {} policy head on an attention body is not supported", architecture.policy);
                Err(unsupported("policy", what))
            }
            _ => Ok(architecture),
        }
    }
}

fn check_version(net: &Net<'_>) -> Result<(), NetError> {
    let Version { major, minor, patch } = net.min_version.unwrap_or_default();
    let version = number_of(major, minor, patch);
    if version > ENGINE && version != ANY_ENGINE {
        let what = format!("the network needs Lc0 {major}.{minor}.{patch}, files up to 0.33.0 can be read");
        return Err(NetError::unsupported("min_version", what));
    }
    let encoding = net.format.unwrap_or_default().weights_encoding;
    if net.weights.is_some() && encoding != LINEAR16 && version < ENGINE {
        let what = format!("expected 1 (LINEAR16) in a file for Lc0 {major}.{minor}.{patch}, got {encoding}");
        return Err(NetError::malformed("format.weights_encoding", what));
    }
    Ok(())
}

/// Translates what older files express in another way, or leave for the reader to find out.
fn upgrade(format: NetworkFormat, weights: &Weights<'_>) -> NetworkFormat {
    let mut format = format;
    match format.network {
        // Networks older than the head formats have classical heads, whatever their other fields say.
        1 | 2 => format = NetworkFormat { network: format.network + 2, policy: 1, value: 1, ..format },
        // The first attention bodies had no number of their own, and those with a smolgen no fields for its
        // activations.
        4 if !weights.encoders.is_empty() => {
            format.network = 6;
            if weights.smolgen_w.is_some() {
                (format.ffn_activation, format.smolgen_activation) = (8, 7);
            }
        }
        134 => format.network = 7,
        _ => {}
    }
    if format.network == 6 {
        if weights.policy_heads.is_some() && weights.value_heads.is_some() {
            (format.network, format.input_embedding) = (7, Some(2));
        }
        format.input_embedding = format.input_embedding.or(Some(1));
    }
    format
}

fn body_of(format: &NetworkFormat, weights: &Weights<'_>) -> Result<BodyKind, NetError> {
    let fault = |field: &str, what: &str| Err(NetError::malformed(format!("weights.{field}"), what));
    match (format.network, weights.encoders.is_empty()) {
        (3 | 4, true) => Ok(BodyKind::Convolution),
        (3 | 4, false) => fault("encoder", "expected none in a convolutional network"),
        (6 | 7, true) => fault("encoder", "expected at least one layer in an attention body, got none"),
        (6 | 7, false) => match (format.input_embedding.unwrap_or(0), weights.residual.is_empty()) {
            (0, true) => {
                let got = if format.input_embedding.is_some() { "0" } else { "none" };
                let what = format!("expected 1 (map) or 2 (dense) in an attention body without a tower, got {got}");
                Err(unsupported("input_embedding", what))
            }
            (0, false) => Ok(BodyKind::Attention(Embedding::None)),
            (1, _) => Ok(BodyKind::Attention(Embedding::Map)),
            (2, _) => Ok(BodyKind::Attention(Embedding::Dense)),
            (other, _) => {
                let what = format!("expected 0 (none), 1 (map) or 2 (dense), got {other}");
                Err(unsupported("input_embedding", what))
            }
        },
        (other, _) => Err(unknown_network(other)),
    }
}

fn unknown_network(number: u64) -> NetError {
    let onnx = if number == ONNX { " (an ONNX model)" } else { "" };
    let what = format!("Network format {number}{onnx} is not supported: expected 1 to 4, 6, 7 or 134");
    unsupported("network", what)
}

fn policy_of(number: u64) -> Result<PolicyKind, NetError> {
    match number {
        1 => Ok(PolicyKind::Classical),
        2 => Ok(PolicyKind::Convolution),
        3 => Ok(PolicyKind::Attention),
        other => {
            let what = format!(
                "Policy format {other} is not supported: expected 1 (classical), 2 (convolution) or 3 (attention)"
            );
            Err(unsupported("policy", what))
        }
    }
}

fn value_of(number: u64) -> Result<ValueKind, NetError> {
    match number {
        1 => Ok(ValueKind::Classical),
        2 => Ok(ValueKind::Wdl),
        other => {
            let what = format!("Value format {other} is not supported: expected 1 (classical) or 2 (WDL)");
            Err(unsupported("value", what))
        }
    }
}

fn moves_left_of(number: u64) -> Result<bool, NetError> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        other => {
            let what = format!("Moves left head format {other} is not supported: expected 0 (none) or 1");
            Err(unsupported("moves_left", what))
        }
    }
}

fn default_activation_of(number: u64) -> Result<Activation, NetError> {
    match number {
        0 => Ok(Activation::Relu),
        1 => Ok(Activation::Mish),
        other => {
            let what = format!("Default activation {other} is not supported: expected 0 (ReLU) or 1 (Mish)");
            Err(unsupported("default_activation", what))
        }
    }
}

/// `NetworkFormat.ActivationFunction`.
fn activation_of(field: &str, number: u64, default: Activation) -> Result<Activation, NetError> {
    Ok(match number {
        0 => default,
        1 => Activation::Mish,
        2 => Activation::Relu,
        3 => Activation::None,
        4 => Activation::Tanh,
        5 => Activation::Sigmoid,
        6 => Activation::Selu,
        7 => Activation::Swish,
        8 => Activation::Relu2,
        9 => Activation::Softmax,
        other => return Err(unsupported(field, format!("Activation {other} is not supported: expected 0 to 9"))),
    })
}

/// The output and the value head say the same thing twice; a file that contradicts itself is damaged.
fn check_output(output: u64, value: ValueKind) -> Result<(), NetError> {
    let expected = match value {
        ValueKind::Classical => 1,
        ValueKind::Wdl => 2,
    };
    if output == expected {
        return Ok(());
    }
    let what = format!("expected {expected} beside a {value} value head, got {output}");
    Err(NetError::new(Fault::Malformed, "format.network_format.output", what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::Format;

    const SOUND: NetworkFormat =
        NetworkFormat { output: 2, network: 4, policy: 2, value: 2, moves_left: 1, default_activation: 1, ..LEGACY };

    fn net(network_format: Option<NetworkFormat>, encoding: u64, [major, minor, patch]: [u64; 3]) -> Net<'static> {
        Net {
            min_version: Some(Version { major, minor, patch }),
            format: Some(Format { weights_encoding: encoding, network_format }),
            weights: Some(Weights::default()),
            ..Net::default()
        }
    }

    fn refused(net: &Net<'_>) -> String {
        Architecture::of(net).expect_err("an architecture that can't be read").to_string()
    }

    #[test]
    fn formats_and_what_they_lack() {
        assert!(Architecture::of(&net(Some(SOUND), 1, [0, 33, 0])).is_ok());
        let at = "format.network_format";
        for (format, expected) in [
            (
                NetworkFormat { input: 6, ..SOUND },
                format!("{at}.input: Input format 6 is not supported: expected 1 to 5, 132 or 133"),
            ),
            (
                NetworkFormat { network: 9, ..SOUND },
                format!("{at}.network: Network format 9 is not supported: expected 1 to 4, 6, 7 or 134"),
            ),
            (NetworkFormat { network: 7, ..SOUND }, "weights.encoder: expected at least one layer".to_string()),
            (
                NetworkFormat { network: 5, ..SOUND },
                format!("{at}.network: Network format 5 (an ONNX model) is not supported: expected 1 to 4, "),
            ),
            (NetworkFormat { ffn_activation: 10, ..SOUND }, format!("{at}.ffn_activation: Activation 10 is not")),
            (NetworkFormat { ffn_activation: 9, ..SOUND }, format!("{at}.ffn_activation: a softmax in a feed-forward")),
            (
                NetworkFormat { policy: 0, ..SOUND },
                format!("{at}.policy: Policy format 0 is not supported: expected 1 (classical), 2 "),
            ),
            (
                NetworkFormat { value: 3, ..SOUND },
                format!("{at}.value: Value format 3 is not supported: expected 1 (classical) or 2 (WDL)"),
            ),
            (NetworkFormat { moves_left: 2, ..SOUND }, format!("{at}.moves_left: Moves left head format 2")),
            (
                NetworkFormat { default_activation: 2, ..SOUND },
                format!("{at}.default_activation: Default activation 2"),
            ),
            (NetworkFormat { output: 1, ..SOUND }, format!("{at}.output: expected 2 beside a WDL value head, got 1")),
        ] {
            let error = refused(&net(Some(format), 1, [0, 21, 0]));
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn onnx_models_are_named() {
        for (network, weights) in [(4, None), (5, None), (5, Some(Weights::default()))] {
            let format = NetworkFormat { network, ..SOUND };
            let net = Net { has_onnx_model: true, weights, ..net(Some(format), 1, [0, 33, 0]) };
            assert_eq!(refused(&net), "onnx_model: the network is an ONNX model: not supported");
        }
    }

    #[test]
    fn old_networks_have_classical_heads() {
        for network_format in [None, Some(NetworkFormat { network: 2, policy: 2, value: 2, output: 1, ..SOUND })] {
            let architecture = Architecture::of(&net(network_format, 1, [0, 18, 0])).unwrap();
            assert_eq!((architecture.policy, architecture.value), (PolicyKind::Classical, ValueKind::Classical));
        }
    }

    #[test]
    fn versions() {
        assert!(Architecture::of(&net(Some(SOUND), 1, [97, 98, 99])).is_ok());
        let error = refused(&net(Some(SOUND), 1, [0, 34, 0]));
        assert_eq!(error, "min_version: the network needs Lc0 0.34.0, files up to 0.33.0 can be read");
        assert!(refused(&net(Some(SOUND), 1, [u64::MAX; 3])).starts_with("min_version"));
        // Other encodings came with 0.33.
        assert!(Architecture::of(&net(Some(SOUND), 0, [0, 33, 0])).is_ok());
        assert!(
            refused(&net(Some(SOUND), 0, [0, 32, 0])).starts_with("format.weights_encoding: expected 1 (LINEAR16)")
        );
    }

    fn with_encoder(format: NetworkFormat) -> Net<'static> {
        let weights = Weights { encoders: vec![&[]], ..Weights::default() };
        Net { weights: Some(weights), ..net(Some(format), 1, [0, 29, 0]) }
    }

    #[test]
    fn attention_bodies() {
        let body = NetworkFormat { network: 6, policy: 3, ..SOUND };
        for (format, embedding, ffn, smolgen) in [
            (NetworkFormat { network: 4, ..body }, Embedding::Map, Activation::Mish, Activation::Mish),
            (body, Embedding::Map, Activation::Mish, Activation::Mish),
            (NetworkFormat { ffn_activation: 7, ..body }, Embedding::Map, Activation::Swish, Activation::Mish),
            (
                NetworkFormat { network: 134, input_embedding: Some(2), smolgen_activation: 5, ..body },
                Embedding::Dense,
                Activation::Mish,
                Activation::Sigmoid,
            ),
        ] {
            let architecture = Architecture::of(&with_encoder(format)).unwrap();
            assert_eq!(architecture.body, BodyKind::Attention(embedding));
            assert_eq!((architecture.ffn_activation, architecture.smolgen_activation), (ffn, smolgen));
        }
        let mut heads = with_encoder(body);
        let weights = heads.weights.as_mut().unwrap();
        weights.smolgen_w = Some(Default::default());
        (weights.policy_heads, weights.value_heads) = Some(Default::default()).zip(Some(Default::default())).unzip();
        let architecture = Architecture::of(&heads).unwrap();
        assert_eq!(architecture.body, BodyKind::Attention(Embedding::Dense));
        assert_eq!(architecture.ffn_activation, Activation::Mish);
        heads.format.as_mut().unwrap().network_format = Some(NetworkFormat { network: 4, ..body });
        let architecture = Architecture::of(&heads).unwrap();
        assert_eq!(architecture.ffn_activation, Activation::Relu2);
        assert_eq!(architecture.smolgen_activation, Activation::Swish);
    }

    #[test]
    fn attention_bodies_that_are_refused() {
        let body = NetworkFormat { network: 7, policy: 3, ..SOUND };
        let at = "format.network_format";
        let bare = format!("{at}.input_embedding: expected 1 (map) or 2 (dense) in an attention body without a tower");
        for (format, expected) in [
            (body, format!("{bare}, got none")),
            (NetworkFormat { input_embedding: Some(0), ..body }, format!("{bare}, got 0")),
            (
                NetworkFormat { input_embedding: Some(3), ..body },
                format!("{at}.input_embedding: expected 0 (none), 1 (map) or 2 (dense), got 3"),
            ),
            (
                NetworkFormat { input_embedding: Some(1), policy: 2, ..body },
                format!("{at}.policy: a convolution policy head on an attention body is not supported"),
            ),
            (NetworkFormat { network: 3, ..body }, "weights.encoder: expected none".to_string()),
        ] {
            let error = refused(&with_encoder(format));
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn files_without_weights() {
        let onnx = Net { weights: None, has_onnx_model: true, ..net(Some(SOUND), 0, [0, 29, 0]) };
        assert_eq!(refused(&onnx), "onnx_model: the network is an ONNX model: not supported");
        let empty = Net { weights: None, ..net(Some(SOUND), 0, [0, 29, 0]) };
        assert_eq!(refused(&empty), "weights: expected weights, got none");
    }

    #[test]
    fn weights_beside_an_onnx_model_are_read() {
        assert!(Architecture::of(&Net { has_onnx_model: true, ..net(Some(SOUND), 1, [0, 29, 0]) }).is_ok());
    }

    #[test]
    fn several_heads_of_one_kind_make_no_dense_embedding() {
        let mut net = with_encoder(NetworkFormat { network: 6, policy: 3, ..SOUND });
        net.weights.as_mut().unwrap().policy_heads = Some(Default::default());
        assert_eq!(Architecture::of(&net).unwrap().body, BodyKind::Attention(Embedding::Map));
    }
}
