//! What the tests share.

#![allow(dead_code, reason = "no test uses everything")]

pub mod synthetic;

use std::path::PathBuf;

/// The folder of real tables. If it is not there, says so.
pub fn tables() -> Option<PathBuf> {
    oncilla_testing::shared_path("syzygy")
}

/// A position with what python-chess says of it.
pub struct Recorded {
    pub fen: String,
    pub wdl: i8,
    pub dtz: i32,
}

/// The positions of a file in `fixtures/syzygy`, each line `FEN wdl W; dtz D;`.
pub fn recorded(file: &str) -> Vec<Recorded> {
    let text = std::fs::read_to_string(oncilla_testing::fixtures().join("syzygy").join(file)).unwrap();
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
