//! What the tests share.

#![allow(dead_code, reason = "no test uses everything")]

pub mod synthetic;

use std::path::{Path, PathBuf};

/// The shared folder of tables, which lies beside the repository and not in it.
///
/// `None`, with one line on standard error, where it is not there; with `ONCILLA_REQUIRE_SHARED=1` that is a failure.
pub fn tables() -> Option<PathBuf> {
    let folder = repository().join("../shared/syzygy");
    if folder.exists() {
        return Some(folder);
    }
    assert!(std::env::var("ONCILLA_REQUIRE_SHARED").as_deref() != Ok("1"), "shared/syzygy is required and not here");
    // Not `eprintln!`: the test runner keeps that to itself where a test passes.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: shared/syzygy is not here\n");
    None
}

/// A position with what python-chess says of it.
pub struct Recorded {
    pub fen: String,
    pub wdl: i8,
    pub dtz: i32,
}

/// The positions of a file in `fixtures/syzygy`, each line `FEN wdl W; dtz D;`.
pub fn recorded(file: &str) -> Vec<Recorded> {
    let text = std::fs::read_to_string(repository().join("fixtures/syzygy").join(file)).unwrap();
    let read = |line: &str| {
        let (fen, numbers) = line.split_once(" wdl ").unwrap();
        let (wdl, dtz) = numbers.trim_end_matches(';').split_once("; dtz ").unwrap();
        Recorded { fen: format!("{fen} 0 1"), wdl: wdl.parse().unwrap(), dtz: dtz.parse().unwrap() }
    };
    text.lines().map(read).collect()
}

/// A folder of its own that goes away with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oncilla-syzygy-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn write(&self, file: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(file), bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}
