//! Reads files as a whole: options, hints, times of games.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a file: more than any of these files needs, and a limit for files without an end, like
/// `/dev/zero`.
pub const MOST_BYTES: u64 = 64 << 20;

/// Reads a file.
///
/// # Errors
/// It can't be read, or has more than [`MOST_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("expected a file of at most {MOST_BYTES} bytes, got more")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_not_read_to_it() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(read(&here.join("Cargo.toml")).unwrap().starts_with(b"[package]"));
        if cfg!(unix) {
            let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
            assert_eq!(error, "expected a file of at most 67108864 bytes, got more");
        }
    }
}
