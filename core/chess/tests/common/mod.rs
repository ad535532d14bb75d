//! What the tests that use recorded numbers share.

use std::path::PathBuf;

/// A file of the project's shared test data, which is beside the repository, not in it.
///
/// `None`, with one line on standard error, if the file is not there; with `ONCILLA_REQUIRE_SHARED=1` that is a
/// failure.
pub fn shared(path: &str) -> Option<PathBuf> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if file.exists() {
        return Some(file);
    }
    assert!(std::env::var("ONCILLA_REQUIRE_SHARED").as_deref() != Ok("1"), "shared/{path} is required and not here");
    // Not `eprintln!`: the test runner does not show that if a test passes.
    let _ =
        std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: shared/{path} is not here\n").as_bytes());
    None
}
