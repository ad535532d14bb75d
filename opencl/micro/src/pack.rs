//! The bytes of a network: the format of a pack.
//!
//! All numbers are little-endian and nothing is aligned. First [`MAGIC`], then sixteen-bit numbers: [`VERSION`],
//! filters, residual blocks, neurons of squeeze and excitation, planes that are read, channels and neurons of the value
//! head, channels and neurons of the moves-left head. Then:
//!
//! | what | numbers |
//! |---|---|
//! | planes that are read, of [`PLANES`], ascending | a byte each |
//! | input convolution, single precision | `[plane][3][3][filter]`, then a bias for each filter |
//! | for each block: two convolutions, in [`WHOLE`], then squeeze and excitation | a *layer* each, then `w1`, `b1`, `w2`, `b2` in single precision |
//! | value head: 1×1 convolution, dense, dense | a layer each |
//! | moves-left head: the same | a layer each |
//! | policy head: its kind, [`CONVOLUTION`] or [`ATTENTION`] | a byte |
//! | place of each of the [`MOVES`] | a sixteen-bit number each |
//! | a convolutional policy: 3×3 convolution, in [`WHOLE`], 3×3 convolution to [`POLICY_PLANES`] | a layer each |
//! | an attention policy: channels of its embedding, channels of queries and keys | a sixteen-bit number each |
//! | then 1×1 convolutions: embedding, queries, keys, and from keys to [`PIECES`] | a layer each |
//!
//! A layer is a byte, [`SINGLE`] or [`WHOLE`], its weights, with `WHOLE` a step for each output, and a bias for each
//! output. The weights of a convolution are `[output][3][3][input]`, with the rows of the board first; those of the
//! dense layer that reads a board are `[output][square][channel]`: so the weights of one sum are next to each other.
//!
//! A move's place is `plane · 64 + from` in a convolutional policy, `(piece · 64 + from) · 64 + to` in an attention
//! policy, where `piece` is the row of the last layer that is added to the product of query and key. So nothing here
//! knows the rules of chess, or the order of a policy's moves.

use crate::board::CELLS;
use core::fmt;

/// How a pack begins.
pub const MAGIC: [u8; 4] = *b"ONCM";

/// The version of the format.
pub const VERSION: u16 = 2;

/// A layer's weights are in single precision.
pub const SINGLE: u8 = 0;

/// A layer's weights are whole numbers of eight bits.
pub const WHOLE: u8 = 1;

/// The policy is a convolution to planes, one for each kind of step.
pub const CONVOLUTION: u8 = 0;

/// The policy is a product of what the from square of a move looks for and of what its to square has.
pub const ATTENTION: u8 = 1;

/// How many input planes there are.
pub const PLANES: usize = 112;

/// How many moves the policy has.
pub const MOVES: usize = 1858;

/// How many planes of a convolutional policy moves use, of the 80 that files have.
pub const POLICY_PLANES: usize = 73;

/// The cases that an attention policy tells apart on the square where a piece appears: queen, rook, bishop, and no
/// promotion to one of these.
pub const PIECES: usize = 4;

/// The most neurons that a hidden layer may have.
pub const MOST_HIDDEN: usize = 128;

/// How many squares the board has.
pub(crate) const SQUARES: usize = 64;

/// How many squares a 3×3 convolution reads for one of its outputs.
pub(crate) const TAPS: usize = 9;

/// Why bytes are not a network that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// They do not begin as a pack of this version does.
    NotAPack,
    /// There are fewer bytes than are needed so far.
    TooShort {
        /// How many bytes there must be, at least.
        expected: usize,
        /// How many bytes there are.
        got: usize,
    },
    /// This many bytes are left over.
    TooLong(usize),
    /// A size in the head is 0 or too large.
    Size {
        /// Which size.
        what: &'static str,
        /// Its value.
        got: usize,
        /// The largest value that it may have.
        most: usize,
    },
    /// The byte at this place is not a plane below [`PLANES`], or is not larger than the one before it.
    Plane {
        /// Index of the byte.
        at: usize,
    },
    /// The byte at this place is neither [`SINGLE`] nor [`WHOLE`], or is [`SINGLE`] in the tower.
    Kind {
        /// Index of the byte.
        at: usize,
    },
    /// The byte at this place is neither [`CONVOLUTION`] nor [`ATTENTION`].
    Policy {
        /// Index of the byte.
        at: usize,
    },
    /// The room is for another number of filters.
    Room {
        /// The network's filters.
        expected: usize,
        /// The room's filters.
        got: usize,
    },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPack => write!(f, "expected a packed network of version {VERSION}"),
            Self::TooShort { expected, got } => write!(f, "expected {expected} bytes or more, got {got}"),
            Self::TooLong(over) => write!(f, "{over} bytes are left over"),
            Self::Size { what, got, most } => write!(f, "{what}: expected 1 to {most}, got {got}"),
            Self::Plane { at } => {
                write!(f, "byte {at}: expected an input plane below {PLANES}, behind the one before")
            }
            Self::Kind { at } => {
                write!(f, "byte {at}: expected a kind of weights, {SINGLE} or {WHOLE}, {WHOLE} in the tower")
            }
            Self::Policy { at } => {
                write!(f, "byte {at}: expected a kind of policy, {CONVOLUTION} or {ATTENTION}")
            }
            Self::Room { expected, got } => write!(f, "expected room for {expected} filters, got room for {got}"),
        }
    }
}

impl core::error::Error for PackError {}

/// Numbers in single precision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Floats<'a>(pub &'a [[u8; 4]]);

impl<'a> Floats<'a> {
    pub fn iter(self) -> impl Iterator<Item = f32> + 'a {
        self.0.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }

    /// Rows of `len` numbers.
    pub fn rows(self, len: usize) -> impl Iterator<Item = Floats<'a>> {
        self.0.chunks_exact(len).map(Floats)
    }
}

/// Weights, `[output][input]`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    Single(Floats<'a>),
    /// Whole numbers (a sign and seven bits), and for each output what a whole number of 1 is worth.
    Whole(&'a [u8], Floats<'a>),
}

/// A convolution or a dense layer: sums of products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    pub weights: Weights<'a>,
    pub bias: Floats<'a>,
}

/// Squeeze and excitation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SqueezeExcite<'a> {
    /// `[hidden][filter]`.
    pub w1: Floats<'a>,
    pub b1: Floats<'a>,
    /// `[2 · filter][hidden]`: first the scales, then the shifts.
    pub w2: Floats<'a>,
    pub b2: Floats<'a>,
}

/// A residual block.
pub(crate) struct Block<'a> {
    pub first: Layer<'a>,
    pub second: Layer<'a>,
    pub se: SqueezeExcite<'a>,
}

/// A head: a convolution to a few channels, a hidden layer, and the last layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub channels: usize,
    pub hidden: usize,
    pub squeeze: Layer<'a>,
    pub dense: Layer<'a>,
    pub last: Layer<'a>,
}

/// A policy head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy<'a> {
    Convolution([Layer<'a>; 2]),
    Attention(Attention<'a>),
}

/// An attention policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention<'a> {
    pub embedding: Layer<'a>,
    pub query: Layer<'a>,
    pub key: Layer<'a>,
    /// What is added for the piece that appears, computed from the key of its square.
    pub pieces: Layer<'a>,
}

/// A network, read in place from the bytes of its pack.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    pub(crate) filters: usize,
    pub(crate) blocks: usize,
    pub(crate) hidden: usize,
    pub(crate) planes: &'a [u8],
    /// `[plane][3][3][filter]`.
    pub(crate) input: Floats<'a>,
    pub(crate) input_bias: Floats<'a>,
    tower: Reader<'a>,
    pub(crate) value: Head<'a>,
    pub(crate) moves_left: Head<'a>,
    pub(crate) policy: Policy<'a>,
    /// For each move of the policy, its place: see the top of this file.
    pub(crate) places: &'a [[u8; 2]],
}

impl<'a> Network<'a> {
    /// Reads a pack; `pack` must be exactly that, from its first byte to its last.
    ///
    /// # Errors
    /// If the bytes are not a pack, or if a length in it does not fit; see [`PackError`].
    pub fn new(pack: &'a [u8]) -> Result<Self, PackError> {
        let mut reader = Reader { bytes: pack, at: 0 };
        if reader.bytes(MAGIC.len()).ok() != Some(&MAGIC) || reader.number().ok() != Some(usize::from(VERSION)) {
            return Err(PackError::NotAPack);
        }
        let filters = reader.size("filters", usize::from(u8::MAX))?;
        let blocks = reader.size("blocks", usize::from(u8::MAX))?;
        let hidden = reader.size("neurons of squeeze and excitation", MOST_HIDDEN)?;
        let planes = reader.size("planes", PLANES)?;
        let mut head = || {
            Ok::<_, PackError>((
                reader.size("channels of a head", filters)?,
                // A board must have room for them: with a single filter that is less than [`MOST_HIDDEN`].
                reader.size("neurons of a head", MOST_HIDDEN.min(CELLS * filters))?,
            ))
        };
        let (value, moves_left) = (head()?, head()?);
        let planes = reader.planes(planes)?;
        let input = reader.floats(planes.len() * TAPS * filters)?;
        let input_bias = reader.floats(filters)?;
        let tower = reader;
        for _ in 0..blocks {
            reader.block(filters, hidden)?;
        }
        let value = reader.head(filters, value, 3)?;
        let moves_left = reader.head(filters, moves_left, 1)?;
        let (places, policy) = reader.policy(filters)?;
        match pack.len() - reader.at {
            0 => Ok(Self {
                filters,
                blocks,
                hidden,
                planes,
                input,
                input_bias,
                tower,
                value,
                moves_left,
                policy,
                places,
            }),
            over => Err(PackError::TooLong(over)),
        }
    }

    /// How many filters the tower has: a [`Room`](crate::Room) must be made for that number.
    pub fn filters(&self) -> usize {
        self.filters
    }

    /// The input planes that the network looks at, ascending and below [`PLANES`]; the weights of all others are zero.
    pub fn planes(&self) -> &'a [u8] {
        self.planes
    }

    /// The residual blocks in their order.
    pub(crate) fn tower(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let (mut reader, filters, hidden) = (self.tower, self.filters, self.hidden);
        // They could be read when the network was checked.
        (0..self.blocks).map_while(move |_| reader.block(filters, hidden).ok())
    }
}

/// Reads the rest of a pack.
#[derive(Clone, Copy, Debug)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], PackError> {
        // No length in a head is large enough for this sum to overflow.
        let (from, to) = (self.at, self.at + len);
        self.at = to;
        self.bytes.get(from..to).ok_or(PackError::TooShort { expected: to, got: self.bytes.len() })
    }

    fn number(&mut self) -> Result<usize, PackError> {
        self.bytes(2).map(|bytes| usize::from(bytes[0]) | usize::from(bytes[1]) << 8)
    }

    fn size(&mut self, what: &'static str, most: usize) -> Result<usize, PackError> {
        let got = self.number()?;
        if (1..=most).contains(&got) { Ok(got) } else { Err(PackError::Size { what, got, most }) }
    }

    /// The caller looks the planes up by these numbers, on a microcontroller, where an index out of range would go
    /// unnoticed.
    fn planes(&mut self, len: usize) -> Result<&'a [u8], PackError> {
        let from = self.at;
        let planes = self.bytes(len)?;
        let mut least = 0;
        for (at, &plane) in (from..).zip(planes) {
            let plane = usize::from(plane);
            if !(least..PLANES).contains(&plane) {
                return Err(PackError::Plane { at });
            }
            least = plane + 1;
        }
        Ok(planes)
    }

    fn floats(&mut self, len: usize) -> Result<Floats<'a>, PackError> {
        self.bytes(4 * len).map(|bytes| Floats(bytes.as_chunks().0))
    }

    fn layer(&mut self, inputs: usize, outputs: usize) -> Result<Layer<'a>, PackError> {
        let weights = match self.bytes(1)? {
            [SINGLE] => Weights::Single(self.floats(inputs * outputs)?),
            [WHOLE] => Weights::Whole(self.bytes(inputs * outputs)?, self.floats(outputs)?),
            _ => return Err(PackError::Kind { at: self.at - 1 }),
        };
        Ok(Layer { weights, bias: self.floats(outputs)? })
    }

    /// Reads a convolution of the tower, which must be in whole numbers: there is no room for another board.
    fn conv(&mut self, filters: usize) -> Result<Layer<'a>, PackError> {
        let at = self.at;
        let layer = self.layer(TAPS * filters, filters)?;
        if layer.is_whole() { Ok(layer) } else { Err(PackError::Kind { at }) }
    }

    fn block(&mut self, filters: usize, hidden: usize) -> Result<Block<'a>, PackError> {
        let (first, second) = (self.conv(filters)?, self.conv(filters)?);
        let (w1, b1) = (self.floats(hidden * filters)?, self.floats(hidden)?);
        let (w2, b2) = (self.floats(2 * filters * hidden)?, self.floats(2 * filters)?);
        Ok(Block { first, second, se: SqueezeExcite { w1, b1, w2, b2 } })
    }

    fn head(&mut self, filters: usize, sizes: (usize, usize), outputs: usize) -> Result<Head<'a>, PackError> {
        let (channels, hidden) = sizes;
        let squeeze = self.layer(filters, channels)?;
        let dense = self.layer(SQUARES * channels, hidden)?;
        let last = self.layer(hidden, outputs)?;
        Ok(Head { channels, hidden, squeeze, dense, last })
    }

    /// Reads the places of the moves, and the policy.
    fn policy(&mut self, filters: usize) -> Result<(&'a [[u8; 2]], Policy<'a>), PackError> {
        let (at, kind) = (self.at, self.bytes(1)?);
        let places = self.bytes(2 * MOVES)?.as_chunks().0;
        let policy = match kind {
            [CONVOLUTION] => Policy::Convolution([self.conv(filters)?, self.layer(TAPS * filters, POLICY_PLANES)?]),
            [ATTENTION] => Policy::Attention(self.attention(filters)?),
            _ => return Err(PackError::Policy { at }),
        };
        Ok((places, policy))
    }

    /// Reads an attention policy, which must fit into the boards: embedding and queries take one each, and keys go
    /// where the embedding was.
    fn attention(&mut self, filters: usize) -> Result<Attention<'a>, PackError> {
        let width = self.size("channels of the policy's embedding", filters)?;
        let depth = self.size("channels of queries and keys", width)?;
        let embedding = self.layer(filters, width)?;
        let (query, key) = (self.layer(width, depth)?, self.layer(width, depth)?);
        Ok(Attention { embedding, query, key, pieces: self.layer(depth, PIECES)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    /// The beginning of a pack, up to its planes.
    fn beginning(planes: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, 8, 1, 4, planes.len() as u16, 1, 4, 1, 4] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(planes);
        bytes
    }

    fn error(planes: &[u8]) -> PackError {
        Network::new(&beginning(planes)).unwrap_err()
    }

    #[test]
    fn planes_that_there_are_not_are_refused() {
        let first = beginning(&[]).len();
        // What is missing behind them is found only where they can be read.
        let is_read = |planes: &[u8]| matches!(error(planes), PackError::TooShort { .. });
        assert!(is_read(&[0, 1, 111]) && is_read(&(0..112).collect::<Vec<u8>>()));
        assert_eq!(error(&[0, 1, 112]), PackError::Plane { at: first + 2 });
        assert_eq!(error(&[255, 3]), PackError::Plane { at: first });
        assert_eq!(error(&[3, 2, 5]), PackError::Plane { at: first + 1 });
        assert_eq!(error(&[3, 3]), PackError::Plane { at: first + 1 });
        assert_eq!(error(&[7; 113]), PackError::Size { what: "planes", got: 113, most: PLANES });
        let text = error(&[0, 112]).to_string();
        assert_eq!(text, "byte 23: expected an input plane below 112, behind the one before");
    }
}
