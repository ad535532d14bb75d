//! Without an OpenCL library the program starts, and says so in one line.

#![cfg(all(feature = "opencl", unix, not(target_os = "macos")))]

use oncilla_opencl::device::{self, DeviceChoice};
use std::process::Command;

/// Runs in a process of its own, see below.
#[test]
#[ignore = "run by no_library_is_a_normal_state in a process without a library"]
fn inner() {
    let loaded = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    assert!(!loaded.contains("libOpenCL"), "libOpenCL is among the libraries that the program needs");
    let line = "no OpenCL platform was found: there is no libOpenCL on this machine";
    assert_eq!(device::list().expect_err("no platform").to_string(), line);
    assert_eq!(device::choose(&DeviceChoice::Index(0)).expect_err("no platform").to_string(), line);
}

#[test]
fn no_library_is_a_normal_state() {
    let this = std::env::current_exe().expect("a test knows where it is");
    for library in ["none", "/nowhere/libOpenCL.so", "\u{1}"] {
        let run = Command::new(&this)
            .args(["--exact", "inner", "--ignored", "--test-threads=1"])
            .env("ONCILLA_OPENCL_LIBRARY", library)
            .output()
            .expect("a test can run itself");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{library:?}: {said}");
    }
}
