//! The trunk, from the planes to what the heads read: blocks on a skip connection.

use super::layers::{Conv, Dense, Norm, conv, matmul, norm};
use super::metadata::MetadataEncoder;
use super::tokens::Reader;
use super::transformer::{Attention, FeedForward, RmsNorm};
use super::{GLOBALS, PLANES};
use crate::error::NetError;
use crate::proto::MAX_BLOCKS;

/// One byte less than the shortest convolutional block, an ordinary one of one channel whose numbers have a digit each.
/// A file can't announce more blocks than its bytes hold. (A [`FeedForward`] of one channel in digits could be shorter;
/// one of two channels is not.)
const BLOCK_BYTES: usize = 80;

/// The part of a model whose output all heads read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trunk {
    /// Channels between the blocks.
    pub channels: usize,
    /// Channels within ordinary and nested blocks, as the header has them; what counts are the blocks' own records.
    pub mid: usize,
    /// Channels of the convolution beside global pooling, as the header has them.
    pub regular: usize,
    /// Channels that are pooled, as the header has them.
    pub pooled: usize,
    /// The convolution of the planes.
    pub conv: Conv,
    /// From the globals to what is added to each point of the convolution's output.
    pub globals: Dense,
    /// From what is known of a game's players to what is added there, too. Only networks for human play have it.
    pub metadata: Option<MetadataEncoder>,
    /// The blocks in their order.
    pub blocks: Vec<Block>,
    /// The norm behind the last block.
    pub norm: TrunkNorm,
}

/// The norm that the trunk ends with.
#[derive(Clone, Debug, PartialEq)]
pub enum TrunkNorm {
    /// Kind 0 in the file.
    Batch(Norm),
    /// Kind 1 in the file.
    Rms(RmsNorm),
}

/// A block: it computes something from its input and adds that to the input.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// `ordinary_block`.
    Ordinary {
        /// The norm of the input.
        norm1: Norm,
        /// The convolution to the block's own width.
        conv1: Conv,
        /// The norm of `conv1`'s output.
        norm2: Norm,
        /// The convolution back to the input's width.
        conv2: Conv,
    },
    /// `gpool_block`: numbers pooled over the whole board are added to every point.
    Pooling {
        /// The norm of the input.
        norm1: Norm,
        /// The convolution whose output stays on the board.
        regular: Conv,
        /// The convolution whose output is pooled; it reads the same as `regular`.
        pooled: Conv,
        /// The norm of `pooled`'s output, before it is pooled.
        pooled_norm: Norm,
        /// From three numbers for each pooled channel to what is added to each point of `regular`'s output. The numbers
        /// are all channels' mean, all channels' mean·(s − 14)/10, and all channels' maximum, with s the root of the
        /// board's points.
        bias: Dense,
        /// The norm of the sum.
        norm2: Norm,
        /// The convolution back to the input's width.
        conv2: Conv,
    },
    /// `nested_bottleneck_block`: contains blocks of fewer channels.
    Nested {
        /// The norm of the input.
        norm1: Norm,
        /// The convolution to fewer channels.
        down: Conv,
        /// Blocks with that many channels, none of which is nested in turn.
        blocks: Vec<Block>,
        /// The norm behind the last of `blocks`.
        norm2: Norm,
        /// The convolution back to the input's width.
        up: Conv,
    },
    /// `transformer_attention_block`.
    Attention(Attention),
    /// `transformer_ffn_block`.
    FeedForward(FeedForward),
}

/// Where a block stands: in the trunk or in a nested block.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Trunk,
    Nested,
}

impl Trunk {
    pub(super) fn read(reader: &mut Reader<'_>, has_encoder: bool) -> Result<Self, NetError> {
        reader.begin("the trunk")?;
        let count = announced(reader)?;
        let channels = reader.channels("the trunk's channels")?;
        let mid = reader.channels("the blocks' channels")?;
        let regular = reader.channels("channels beside global pooling")?;
        reader.whole("a number without a meaning", usize::MAX)?;
        let pooled = reader.channels("channels that are pooled")?;
        let mut has_rms_norm = false;
        if reader.version >= 15 {
            has_rms_norm = norm_kind(reader)?;
            reader.zeros(5)?;
        }
        let conv = conv(reader, PLANES, Some(channels))?;
        let globals = matmul(reader, GLOBALS, Some(channels))?;
        let metadata = if has_encoder { Some(MetadataEncoder::read(reader, channels)?) } else { None };
        let blocks = blocks(reader, count, channels, Depth::Trunk)?;
        let norm = match has_rms_norm {
            false => TrunkNorm::Batch(norm(reader, channels)?),
            true => TrunkNorm::Rms(RmsNorm::read(reader, channels)?),
        };
        Ok(Self { channels, mid, regular, pooled, conv, globals, metadata, blocks, norm })
    }
}

/// Reads the kind of norm: whether it is an RMS norm.
fn norm_kind(reader: &mut Reader<'_>) -> Result<bool, NetError> {
    match reader.word("the kind of norm")? {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(reader
            .unsupported(format_args!("expected batch norm, 0, or RMS norm, 1, as the kind of norm, got \"{other}\""))),
    }
}

/// Reads the number of blocks that follow. It is refused if the rest of the file can't hold that many, or if a network
/// has fewer than all that were announced so far.
fn announced(reader: &mut Reader<'_>) -> Result<usize, NetError> {
    let count = reader.channels("the number of blocks")?;
    let left = reader.bytes_left();
    if count > left / BLOCK_BYTES {
        return Err(reader.malformed(format_args!("expected bytes for {count} blocks, got {left}")));
    }
    reader.blocks += count;
    if reader.blocks > MAX_BLOCKS {
        let what = format_args!("expected at most {MAX_BLOCKS} blocks in all, got {} or more", reader.blocks);
        return Err(reader.malformed(what));
    }
    Ok(count)
}

fn blocks(reader: &mut Reader<'_>, count: usize, channels: usize, depth: Depth) -> Result<Vec<Block>, NetError> {
    // At most as many as `announced` has accepted, and without the spare room of a list that grows.
    let mut blocks = Vec::with_capacity(count);
    for _ in 0..count {
        blocks.push(Block::read(reader, channels, depth)?);
    }
    Ok(blocks)
}

impl Block {
    fn read(reader: &mut Reader<'_>, channels: usize, depth: Depth) -> Result<Self, NetError> {
        match reader.word("the kind of a block")? {
            "ordinary_block" => Self::ordinary(reader, channels),
            "gpool_block" => Self::pooling(reader, channels),
            "transformer_attention_block" => Attention::read(reader, channels).map(Self::Attention),
            "transformer_ffn_block" => FeedForward::read(reader, channels).map(Self::FeedForward),
            "nested_bottleneck_block" if depth == Depth::Trunk => Self::nested(reader, channels),
            "nested_bottleneck_block" => {
                Err(reader
                    .unsupported("expected another kind of block in a nested one, got one that is nested in turn"))
            }
            other => Err(reader.unsupported(format_args!(
                "expected ordinary_block, gpool_block, nested_bottleneck_block, transformer_attention_block or \
                 transformer_ffn_block, got \"{other}\""
            ))),
        }
    }

    fn ordinary(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a block")?;
        let norm1 = norm(reader, channels)?;
        let conv1 = conv(reader, channels, None)?;
        let norm2 = norm(reader, conv1.outputs)?;
        let conv2 = conv(reader, conv1.outputs, Some(channels))?;
        Ok(Self::Ordinary { norm1, conv1, norm2, conv2 })
    }

    fn pooling(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a block")?;
        let norm1 = norm(reader, channels)?;
        let regular = conv(reader, channels, None)?;
        let pooled = conv(reader, channels, None)?;
        let pooled_norm = norm(reader, pooled.outputs)?;
        let bias = matmul(reader, 3 * pooled.outputs, Some(regular.outputs))?;
        let norm2 = norm(reader, regular.outputs)?;
        let conv2 = conv(reader, regular.outputs, Some(channels))?;
        Ok(Self::Pooling { norm1, regular, pooled, pooled_norm, bias, norm2, conv2 })
    }

    fn nested(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a block")?;
        let count = announced(reader)?;
        let norm1 = norm(reader, channels)?;
        let down = conv(reader, channels, None)?;
        let blocks = blocks(reader, count, down.outputs, Depth::Nested)?;
        let norm2 = norm(reader, down.outputs)?;
        let up = conv(reader, down.outputs, Some(channels))?;
        Ok(Self::Nested { norm1, down, blocks, norm2, up })
    }
}
