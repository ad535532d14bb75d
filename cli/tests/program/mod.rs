//! Starts the real binary.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::process::Command;

/// The variable with the program and arguments that run the binary if this machine's processor can't, like in
/// `ci/aarch64`.
const RUNNER: &str = "ONCILLA_RUNNER";

/// The words of a command line that starts the binary.
pub fn words() -> Vec<String> {
    let runner = std::env::var(RUNNER).unwrap_or_default();
    runner.split_whitespace().chain([env!("CARGO_BIN_EXE_oncilla")]).map(str::to_string).collect()
}

/// Whether another program runs the binary. If so, it can't start itself again, and can't load this machine's
/// libraries.
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
