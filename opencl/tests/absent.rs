//! Without an OpenCL library the program starts, and says so in one line.

#![cfg(all(feature = "dynamic", not(target_os = "macos")))]

use oncilla_opencl::device::{self, DeviceChoice};
use std::process::Command;

/// Set for the process that looks for the library and must not find it: a process looks for libOpenCL only once.
const INNER: &str = "ONCILLA_TEST_WITHOUT_LIBRARY";

fn without_a_library() {
    // This file exists only on Linux.
    let loaded = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    assert!(!loaded.contains("libOpenCL"), "libOpenCL is among the libraries that the program needs");
    let line = device::list().expect_err("no platform").to_string();
    assert!(line.starts_with("no OpenCL platform was found: ONCILLA_OPENCL_LIBRARY"), "{line}");
    // The system's message contains the library's name.
    let named = std::env::var(device::LIBRARY_ENV).expect("the outer process says it");
    assert!(line.contains(&named), "{line}");
    assert_eq!(device::choose(&DeviceChoice::Index(0)).expect_err("no platform").to_string(), line);
}

/// A command that starts this test's own program, through a runner if this machine's processor can't run it
/// (`ci/aarch64`).
fn itself(path: &std::path::Path) -> Command {
    let runner = std::env::var("ONCILLA_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(program) = words.next() else { return Command::new(path) };
    let mut command = Command::new(program);
    command.args(words).arg(path);
    command
}

#[test]
fn no_library_is_a_normal_state() {
    if std::env::var_os(INNER).is_some() {
        return without_a_library();
    }
    let this = std::env::current_exe().expect("a test knows where it is");
    for library in ["none", "/nowhere/libOpenCL.so", "\u{1}"] {
        let run = itself(&this)
            .args(["--exact", "no_library_is_a_normal_state", "--test-threads=1"])
            .env(INNER, "1")
            .env("ONCILLA_OPENCL_LIBRARY", library)
            .output()
            .expect("a test can run itself");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{library:?}: {said}");
    }
}
