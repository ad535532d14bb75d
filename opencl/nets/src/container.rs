//! From a file to the bytes in it: decompresses it within bounds, and names files of another kind.

use crate::error::{Fault, NetError};
use crate::katago;
use flate2::bufread::GzDecoder;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// Largest network, in bytes of the message. Lc0's largest published ones have 400 MB.
pub const MAX_BYTES: u64 = 3 << 29;

/// A compressed file of any size may inflate to this much ...
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// ... and beyond it to this multiple of its own size. Trained weights shrink by less than half; deflate's limit is 1032.
const ALLOWED_RATIO: u64 = 32;

/// How much of a compressed file is looked at to tell its kind: its header may have a name, a comment and other things,
/// each of up to 64 KiB.
const MOST_TO_SNIFF: u64 = 256 << 10;

/// What field 1 of a network says.
pub(crate) const MAGIC_NUMBER: u32 = 0x1c0;

/// First bytes of a network: field 1, fixed32, [`MAGIC_NUMBER`].
const MAGIC: [u8; 5] = [0x0d, 0xc0, 0x01, 0x00, 0x00];

/// First bytes of each member of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How much of a compressed file is in memory at a time.
const BUFFER: usize = 64 << 10;

/// How many bytes of a file are enough to tell its kind.
const SNIFF: usize = 512;

/// The content of a file, of at most [`MAX_BYTES`], like [`unpack`]. If it isn't compressed, `check` lets the first bytes
/// through before more are read: the rest of a file of another kind would be for nothing.
///
/// A compressed file is not held in memory beside its content, unless it is a pipe, whose length nobody knows.
pub(crate) fn read_file(path: &Path, check: fn(&[u8]) -> Result<(), NetError>) -> Result<Vec<u8>, NetError> {
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.len() > MAX_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    (&mut file).take(SNIFF as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    check_plain(&bytes, check)?;
    if bytes.starts_with(&GZIP) && metadata.is_file() {
        return inflate(&mut BufReader::with_capacity(BUFFER, bytes.chain(file)), metadata.len(), check);
    }
    // The length is a hint only: a device or a pipe says 0 and may never end.
    file.take(MAX_BYTES + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 {
        length if length > MAX_BYTES => Err(too_large(length)),
        length if bytes.starts_with(&GZIP) => inflate(&mut &bytes[..], length, check),
        _ => Ok(bytes),
    }
}

fn unreadable(e: std::io::Error) -> NetError {
    NetError::new(Fault::Io, "", format!("can't read it: {e}"))
}

/// The first bytes of what is in a file, if it can be read again: from a pipe they would be lost.
pub(crate) fn start_of(path: &Path) -> Option<Vec<u8>> {
    // This is checked before the file is opened: opening a pipe would wait for its writer.
    let file = path.metadata().ok().filter(std::fs::Metadata::is_file).and_then(|_| File::open(path).ok())?;
    let mut file = BufReader::new(file.take(MOST_TO_SNIFF));
    let is_compressed = file.fill_buf().ok()?.starts_with(&GZIP);
    let mut start = Vec::new();
    if is_compressed {
        // The stream may be damaged, or cut off by the limit: what came before that counts.
        let _ = GzDecoder::new(file).take(SNIFF as u64).read_to_end(&mut start);
    } else {
        file.take(SNIFF as u64).read_to_end(&mut start).ok()?;
    }
    Some(start)
}

fn too_large(length: u64) -> NetError {
    NetError::malformed("", format!("expected a file of at most {MAX_BYTES} bytes, got {length} or more"))
}

/// The message in `file`, if it begins like one of Lc0's networks.
pub(crate) fn message(file: &[u8]) -> Result<Cow<'_, [u8]>, NetError> {
    unpack(file, check_kind)
}

/// The content of `file`: its bytes, or what they decompress to if it is a gzip stream. What follows the stream's last
/// member is ignored, as in zlib.
///
/// Memory grows with what has in fact been inflated, and only after `check` has let the first bytes through.
pub(crate) fn unpack(file: &[u8], check: fn(&[u8]) -> Result<(), NetError>) -> Result<Cow<'_, [u8]>, NetError> {
    check_plain(&file[..file.len().min(SNIFF)], check)?;
    if !file.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(file));
    }
    inflate(&mut &file[..], file.len() as u64, check).map(Cow::Owned)
}

/// What a gzip stream of `length` bytes inflates to, all its members.
fn inflate(
    file: &mut impl BufRead,
    length: u64,
    check: fn(&[u8]) -> Result<(), NetError>,
) -> Result<Vec<u8>, NetError> {
    let limit = length.saturating_mul(ALLOWED_RATIO).clamp(ALWAYS_ALLOWED, MAX_BYTES);
    let mut bytes = Vec::new();
    while bytes.len() as u64 <= limit && take_magic(file)? {
        let mut member = GzDecoder::new(GZIP.chain(&mut *file));
        if bytes.is_empty() {
            inflate_up_to(SNIFF as u64, &mut member, &mut bytes)?;
            check_length(&bytes)?;
            check(&bytes)?;
        }
        inflate_up_to(limit + 1, &mut member, &mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        let what = format!("expected a gzip stream of {length} bytes to inflate to at most {limit}, got more");
        return Err(NetError::malformed("", what));
    }
    Ok(bytes)
}

/// Takes the first bytes of a member off `file`; false if it is at its end, or another thing follows.
fn take_magic(file: &mut impl Read) -> Result<bool, NetError> {
    let mut magic = Vec::new();
    file.take(GZIP.len() as u64).read_to_end(&mut magic).map_err(unreadable)?;
    Ok(magic == GZIP)
}

/// Refuses, by its first bytes, a file that is too small, or that is not compressed and of another kind.
fn check_plain(start: &[u8], check: fn(&[u8]) -> Result<(), NetError>) -> Result<(), NetError> {
    check_length(start)?;
    if start.starts_with(&GZIP) { Ok(()) } else { check(start) }
}

fn check_length(start: &[u8]) -> Result<(), NetError> {
    if start.len() >= 2 {
        return Ok(());
    }
    let what = format!("a file of {} bytes is too small for a network", start.len());
    Err(NetError::new(Fault::Foreign, "", what))
}

/// Appends from `stream` until `bytes` has `most` bytes in total.
fn inflate_up_to(most: u64, stream: &mut impl Read, bytes: &mut Vec<u8>) -> Result<(), NetError> {
    stream.take(most.saturating_sub(bytes.len() as u64)).read_to_end(bytes).map_err(|e| {
        let what = match e.kind() {
            ErrorKind::UnexpectedEof => format!("truncated gzip stream, {} bytes inflated", bytes.len()),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                format!("damaged gzip stream after {} inflated bytes: {e}", bytes.len())
            }
            _ => return unreadable(e),
        };
        NetError::malformed("", what)
    })?;
    Ok(())
}

/// Refuses what does not begin like a network; the error names the kind if it is known.
pub(crate) fn check_kind(start: &[u8]) -> Result<(), NetError> {
    if start.starts_with(&MAGIC) {
        return Ok(());
    }
    let foreign = |what: &str| Err(NetError::new(Fault::Foreign, "", what));
    if start.starts_with(b"1\n") || start.starts_with(b"2\n") {
        return foreign("a network in the old text format: convert it to protobuf with Lc0's net.py first");
    }
    if katago::begins(start) {
        let what = "a network of KataGo, for Go: expected one of Lc0, for chess";
        return Err(NetError::new(Fault::Go, "", what));
    }
    // ModelProto.ir_version comes first: field 1, varint, a small number.
    if start.len() > 2 && start[0] == 0x08 && (1..32).contains(&start[1]) {
        return foreign("an ONNX model, not a network of Lc0: not supported");
    }
    if start.starts_with(b"PK\x03\x04") {
        return foreign("a zip archive (PyTorch saves so), not a network of Lc0");
    }
    if start.trim_ascii_start().starts_with(b"<") {
        return foreign("a web page, not a network of Lc0: what was downloaded may be an error");
    }
    let got = &start[..start.len().min(MAGIC.len())];
    foreign(&format!("not a network: expected the bytes {MAGIC:02x?} at the start, got {got:02x?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn raw_and_compressed_give_the_same_message() {
        let raw = [&MAGIC[..], &[7; 5000]].concat();
        assert_eq!(message(&raw).unwrap(), &raw[..]);
        assert_eq!(message(&gzip(&raw)).unwrap(), &raw[..]);
    }

    #[test]
    fn foreign_files_are_named() {
        for (file, expected) in [
            (&b""[..], "too small"),
            (b"x", "too small"),
            (b"1\n0.1 0.2", "old text format"),
            (b"2\n0.1 0.2", "old text format"),
            (b"g170-b6c96-s175395328-d26788732\n8\n22\n19\n", "a network of KataGo, for Go"),
            (b"\x08\x07\x12\x07pytorch", "ONNX"),
            (b"PK\x03\x04....", "zip archive"),
            (b"MZ......", "expected the bytes [0d, c0, 01, 00, 00] at the start, got [4d, 5a, 2e, 2e, 2e]"),
        ] {
            for bytes in [file.to_vec(), gzip(file)] {
                let error = message(&bytes).unwrap_err();
                let go = expected.contains("KataGo");
                assert_eq!(error.fault, if go { Fault::Go } else { Fault::Foreign });
                assert!(error.what.contains(expected), "{error}");
            }
        }
    }

    /// A file without an end: its kind is seen before the length would be.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_more_is_read_of_another_kind_than_tells_it() {
        let read = |check| read_file(Path::new("/dev/zero"), check).unwrap_err();
        let error = read(check_kind);
        assert_eq!(error.fault, Fault::Foreign);
        assert!(error.what.contains("at the start, got [00, 00, 00, 00, 00]"), "{error}");
        assert_eq!(read(|start| Err(NetError::malformed("", format!("{} bytes", start.len())))).what, "512 bytes");
    }

    #[test]
    fn a_file_is_unpacked_to_its_end_once_its_kind_is_right() {
        let folder = std::env::temp_dir().join(format!("oncilla-container-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let raw = [&MAGIC[..], &[7; 5000]].concat();
        // The second member begins where the bytes that are read first end, and one before.
        let stored = |length: usize| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
            encoder.write_all(&raw[..length]).unwrap();
            encoder.finish().unwrap()
        };
        let overhead = stored(SNIFF).len() - SNIFF;
        let split = |end: usize| [stored(end - overhead), gzip(&raw[end - overhead..])].concat();
        let (one, other) = (split(SNIFF - 1), split(SNIFF));
        for (name, bytes) in [("raw", raw.clone()), ("gz", gzip(&raw)), ("split", one), ("split later", other)] {
            let path = folder.join(name);
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read_file(&path, check_kind).unwrap(), raw, "{name}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_kind_is_seen_behind_a_long_header() {
        let path = std::env::temp_dir().join(format!("oncilla-long-header-{}", std::process::id()));
        let raw = [&b"g170 8\n22\n19\n"[..], &[b'1'; 5000]].concat();
        for (name, comment) in [(0, 0), (3000, 0), (60_000, 60_000)] {
            let mut builder = flate2::GzBuilder::new().extra([7; 60_000]);
            if name > 0 {
                builder = builder.filename(vec![b'n'; name]).comment(vec![b'c'; comment]);
            }
            let mut encoder = builder.write(Vec::new(), Compression::fast());
            encoder.write_all(&raw).unwrap();
            std::fs::write(&path, encoder.finish().unwrap()).unwrap();
            assert_eq!(start_of(&path).as_deref(), Some(&raw[..SNIFF]), "{name}");
            assert_eq!(read_file(&path, |_| Ok(())), Ok(raw.clone()), "{name}");
        }
        std::fs::write(&path, &raw).unwrap();
        assert_eq!(start_of(&path).as_deref(), Some(&raw[..SNIFF]));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn bombs_are_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&MAGIC).unwrap();
        for _ in 0..65 {
            encoder.write_all(&vec![0; 1 << 20]).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 100_000);
        let error = message(&bomb).unwrap_err();
        assert!(error.what.contains("to inflate to at most 67108864"), "{error}");
    }

    /// A stream of many members would have each of them inflate to the limit.
    #[test]
    fn no_more_is_inflated_than_is_allowed_in_all() {
        let mut bytes = vec![1; 3];
        for (most, length) in [(2, 3), (3, 3), (5, 5), (9, 9)] {
            inflate_up_to(most, &mut &[7; 100][..], &mut bytes).unwrap();
            assert_eq!(bytes.len(), length);
        }
        assert_eq!(bytes, [[1; 3].as_slice(), &[7; 6]].concat());
    }

    /// As much as is allowed, in two members, and a byte more.
    #[test]
    fn the_limit_itself_is_allowed() {
        let member = |length: usize| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&MAGIC).unwrap();
            encoder.write_all(&vec![0; length - MAGIC.len()]).unwrap();
            encoder.finish().unwrap()
        };
        let of = |last: usize| {
            let file = [member(1 << 25), member(last)].concat();
            message(&file).map(|message| message.len()).map_err(|error| error.what)
        };
        assert_eq!(of(1 << 25), Ok(1 << 26));
        assert!(of((1 << 25) + 1).unwrap_err().contains("to inflate to at most 67108864"));
    }

    #[test]
    fn damaged_streams_are_refused() {
        let sound = gzip(&[&MAGIC[..], &(0..5000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()].concat());
        for end in 2..sound.len() {
            assert!(message(&sound[..end]).unwrap_err().what.contains("gzip"), "{end}");
        }
        let mut damaged = sound.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x10;
        assert!(message(&damaged).unwrap_err().what.contains("gzip"));
    }

    /// Weights shrink by less than half: a file of 48 MiB may have 72 MiB in it.
    #[test]
    fn a_large_file_may_inflate_to_more_than_a_small_one() {
        let zeros = vec![0; 24 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(&MAGIC).unwrap();
        (0..2).for_each(|_| encoder.write_all(&zeros).unwrap());
        let mut file = encoder.finish().unwrap();
        let mut encoder = GzEncoder::new(&mut file, Compression::fast());
        encoder.write_all(&zeros).unwrap();
        encoder.finish().unwrap();
        assert_eq!(message(&file).map(|message| message.len()).ok(), Some((72 << 20) + MAGIC.len()));
    }

    #[test]
    fn not_all_that_begins_with_an_eight_is_onnx() {
        let error = check_kind(&[0x08, 0xff, 0x01]).unwrap_err();
        assert!(error.what.starts_with("not a network"), "{error}");
    }
}
