//! Which commit the program is built from, for `query_version` of the analysis protocol: `ONCILLA_GIT_HASH` where that
//! is set, else what Git says where this is its own repository. Where neither is, nothing is said.

use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "ONCILLA_GIT_HASH";

fn main() {
    println!("cargo::rerun-if-env-changed={NAME}");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os(NAME).is_some() {
        return; // the compiler sees it as it is
    }
    if let Some(hash) = own_commit() {
        println!("cargo::rustc-env={NAME}={hash}");
    }
}

/// The commit that is checked out. Another repository that has these sources in it, as a vendored crate, says nothing
/// of theirs.
fn own_commit() -> Option<String> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let top = PathBuf::from(git(&here, &["rev-parse", "--show-toplevel"])?);
    if top.join("cli").canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    // Every commit and every checkout writes a line there.
    let log = git(&here, &["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", here.join(log).display());
    git(&here, &["rev-parse", "HEAD"])
}

fn git(at: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(at).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string()).filter(|text| !text.is_empty())
}
