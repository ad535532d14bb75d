//! How the real binary is started.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::process::Command;

/// Names what runs the binary where this machine's processor can't, as `ci/aarch64` does: a program and its arguments.
const RUNNER: &str = "ONCILLA_RUNNER";

/// The words of a command line that starts the binary.
pub fn words() -> Vec<String> {
    let runner = std::env::var(RUNNER).unwrap_or_default();
    runner.split_whitespace().chain([env!("CARGO_BIN_EXE_oncilla")]).map(str::to_string).collect()
}

/// Whether something else runs the binary: then it can't start itself again, and a library of this machine is none of
/// its own.
pub fn is_emulated() -> bool {
    std::env::var_os(RUNNER).is_some()
}

/// The command that starts the binary.
pub fn command() -> Command {
    let words = words();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}
