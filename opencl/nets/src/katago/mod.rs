//! KataGo's models: networks for Go, read into the layers of their files.
//!
//! [`Model::read`] takes `.bin.gz`, `.bin`, `.txt.gz` and `.txt` files of the versions 8 to 17; it tells them apart by
//! their content. A model has a trunk of ordinary, global-pooling, nested bottleneck and transformer blocks, with batch
//! norms or RMS norms; from version 15 on perhaps an encoder of what is known of a game's players (networks for human
//! play); a policy head and a value head. Anything else — other versions, dilated kernels — is refused with an error
//! that names the record and its place in the unpacked file.
//!
//! Weights are turned into the order of [`oncilla_opencl::graph`], the output channel slowest, and batch norms are
//! folded into a scale and a shift. [`Model::graph`] makes a graph of them for boards of one size.

mod graph;
mod heads;
mod layers;
mod metadata;
mod tokens;
mod transformer;
mod trunk;

pub use heads::{Pass, PolicyHead, ValueHead};
pub use layers::{Conv, Dense, Norm};
pub use metadata::MetadataEncoder;
pub use transformer::{Attention, FeedForward, RmsNorm, Rotation, TokenNorm};
pub use trunk::{Block, Trunk, TrunkNorm};

use crate::container;
use crate::error::{Fault, NetError};
use std::path::Path;
use tokens::Reader;

/// Number of planes of a position, `[plane][y][x]` from the top row on, in all versions that are read.
pub const PLANES: usize = 22;

/// Number of inputs for the board as a whole, in all versions that are read.
pub const GLOBALS: usize = 19;

/// Number of inputs for what is known of a game's players, in networks that have a [`MetadataEncoder`].
pub const METADATA: usize = 192;

/// The versions of the format that are read.
const VERSIONS: std::ops::RangeInclusive<u32> = 8..=17;

/// The largest multiplier that is accepted: far more than the scores of any board need, and far from an overflow.
const MOST_MULTIPLIED: f32 = 1e6;

/// A model that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name in the file, such as `g170-b6c96-s175395328-d26788732`.
    pub name: String,
    /// The version of the format, 8 to 17.
    pub version: u32,
    /// What the outputs are multiplied with.
    pub multipliers: Multipliers,
    /// From version 15 on: whether the planes of what lives whichever side moves are to be made as if suicide of
    /// several stones were legal, whatever the rules.
    pub suicide_in_pass_alive: bool,
    /// From version 15 on: whether empty points beside a chain in atari are to be no territory where territory is
    /// counted without a tax. It is of no effect here: by territory, KataGo's planes of areas are empty until the phase
    /// in which what is dead is played out, which Oncilla has not.
    pub no_territory_beside_atari: bool,
    /// Reads the [`PLANES`] and [`GLOBALS`], and the [`METADATA`] if it encodes them.
    pub trunk: Trunk,
    /// Logits of moves.
    pub policy: PolicyHead,
    /// Value, scores and ownership.
    pub value: ValueHead,
    /// Learnt numbers in the file: weights and biases, and of batch norms scales and biases, but not means and
    /// variances.
    pub parameters: u64,
}

/// What the value head's numbers are multiplied with, in points of the board. A file in which one is not above 0 is
/// refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multipliers {
    /// Used in training alone.
    pub td_score: f32,
    /// Multiplies the score's mean.
    pub score_mean: f32,
    /// Multiplies the score's deviation.
    pub score_stdev: f32,
    /// Multiplies the lead.
    pub lead: f32,
    /// Multiplies how the value varies in time.
    pub variance_time: f32,
    /// Multiply the value's and the score's short-term error; `None` before version 13, where the file has none.
    pub short_term_errors: Option<[f32; 2]>,
}

/// The multipliers of the versions before 13.
impl Default for Multipliers {
    fn default() -> Self {
        let (points, time) = (20.0, 40.0);
        Self {
            td_score: points,
            score_mean: points,
            score_stdev: points,
            lead: points,
            variance_time: time,
            short_term_errors: None,
        }
    }
}

impl Model {
    /// Reads a model file, compressed or not.
    ///
    /// # Errors
    /// If the file can't be read, is of another kind or damaged, or contains something that isn't supported.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, NetError> {
        Self::parse(&container::read_file(path.as_ref(), check)?)
    }

    /// Reads a model from the bytes of its file, compressed or not.
    ///
    /// The memory used stays within a small multiple of the unpacked file's size, which is bounded like that of
    /// [`Network::from_bytes`](crate::Network::from_bytes).
    ///
    /// # Errors
    /// Like [`Model::read`].
    pub fn from_bytes(file: &[u8]) -> Result<Self, NetError> {
        Self::parse(&container::unpack(file, check)?)
    }

    fn parse(bytes: &[u8]) -> Result<Self, NetError> {
        let reader = &mut Reader::new(bytes);
        let name = reader.word("the model's name, in printable ASCII")?.to_string();
        reader.version = version(reader)?;
        reader.known("input planes", Some(PLANES))?;
        reader.known("global inputs", Some(GLOBALS))?;
        let multipliers = Multipliers::read(reader)?;
        let flags = Flags::read(reader)?;
        let trunk = Trunk::read(reader, flags.has_encoder)?;
        let policy = PolicyHead::read(reader, trunk.channels)?;
        let value = ValueHead::read(reader, trunk.channels)?;
        reader.end()?;
        Ok(Self {
            name,
            version: reader.version,
            multipliers,
            suicide_in_pass_alive: flags.suicide_in_pass_alive,
            no_territory_beside_atari: flags.no_territory_beside_atari,
            trunk,
            policy,
            value,
            parameters: reader.parameters,
        })
    }

    /// Whether this is a network for human play, which is told whose play to imitate: its input has [`METADATA`] more
    /// numbers.
    pub fn encodes_metadata(&self) -> bool {
        self.trunk.metadata.is_some()
    }
}

fn version(reader: &mut Reader<'_>) -> Result<u32, NetError> {
    let got = reader.whole("the format's version", 9999)?;
    match u32::try_from(got) {
        Ok(version) if VERSIONS.contains(&version) => Ok(version),
        _ => {
            let (first, last) = (VERSIONS.start(), VERSIONS.end());
            Err(reader.unsupported(format_args!("expected a version of the format from {first} to {last}, got {got}")))
        }
    }
}

impl Multipliers {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NetError> {
        if reader.version < 13 {
            return Ok(Self::default());
        }
        Ok(Self {
            td_score: multiplier(reader)?,
            score_mean: multiplier(reader)?,
            score_stdev: multiplier(reader)?,
            lead: multiplier(reader)?,
            variance_time: multiplier(reader)?,
            short_term_errors: Some([multiplier(reader)?, multiplier(reader)?]),
        })
    }
}

/// Reads a multiplier, above 0 as in KataGo: a root is taken of errors, and deviations are never below 0. Networks have
/// 0.25 to some hundred here.
fn multiplier(reader: &mut Reader<'_>) -> Result<f32, NetError> {
    let factor = reader.float("a multiplier")?;
    match factor > 0.0 && factor <= MOST_MULTIPLIED {
        true => Ok(factor),
        false => {
            Err(reader
                .malformed(format_args!("expected a multiplier above 0, at most {MOST_MULTIPLIED}, got {factor:?}")))
        }
    }
}

/// What the header says from version 15 on.
#[derive(Default)]
struct Flags {
    has_encoder: bool,
    suicide_in_pass_alive: bool,
    no_territory_beside_atari: bool,
}

impl Flags {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NetError> {
        if reader.version < 15 {
            return Ok(Self::default());
        }
        let has_encoder = match reader.whole("the version of the metadata encoder", 9999)? {
            0 => false,
            1 => true,
            other => {
                return Err(reader.unsupported(format_args!(
                    "expected no metadata encoder, 0, or one of version 1, got one of version {other}"
                )));
            }
        };
        let suicide_in_pass_alive = reader.flag("whether suicide counts in what is pass-alive")?;
        let no_territory_beside_atari = reader.flag("whether points beside an atari are no territory")?;
        reader.zeros(5)?;
        Ok(Self { has_encoder, suicide_in_pass_alive, no_territory_beside_atari })
    }
}

/// Whether a file begins as a model does. False for a file that can't be read twice, such as a pipe.
pub fn is_model(path: impl AsRef<Path>) -> bool {
    container::start_of(path.as_ref()).is_some_and(|start| begins(&start))
}

/// Whether `start` begins as a model does: with a name, the format's version and the number of planes.
pub(crate) fn begins(start: &[u8]) -> bool {
    let mut tokens = start.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
    // A name with other letters, or behind a byte order mark, is not allowed; but it is the reader that says so.
    let name = |token: &[u8]| token.iter().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii());
    let number = |token: &[u8]| token.len() <= 4 && token.iter().all(u8::is_ascii_digit);
    tokens.next().is_some_and(name) && tokens.next().is_some_and(number) && tokens.next().is_some_and(number)
}

/// Refuses a file that is no model before more of it is unpacked.
fn check(start: &[u8]) -> Result<(), NetError> {
    match begins(start) {
        true => Ok(()),
        false => {
            let what = "not a network of KataGo: expected its name, a version and a number of planes at the start";
            Err(NetError::new(Fault::Foreign, "", what))
        }
    }
}
