//! Where tests of what is kept in files keep it.

use std::path::PathBuf;

/// A folder of a test's own, gone when the test is. Whoever writes into it makes it.
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
