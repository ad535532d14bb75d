//! Folders for tests of what is stored in files.

use std::path::PathBuf;

/// A folder of a test's own, removed when the test ends. The code that writes into it creates it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("oncilla-{name}-{}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
