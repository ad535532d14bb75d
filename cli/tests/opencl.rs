//! `selftest`, `tune` and `devices` of the real binary, where there is an OpenCL device.

mod driver;

use driver::{binary, run, stderr, stdout};
use oncilla_opencl::device::{self, DeviceChoice};
use oncilla_opencl::kernels::{Tuning, Variant};
use serde_json::Value;

/// True if a device is there; a line says so where none is.
fn device_is_there() -> bool {
    match device::choose(&DeviceChoice::Auto) {
        Ok(_) => true,
        Err(why) => {
            assert!(std::env::var("ONCILLA_REQUIRE_OPENCL").as_deref() != Ok("1"), "{why}");
            // Not `eprintln!`: the test runner keeps that to itself where a test passes.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {why}\n").as_bytes());
            false
        }
    }
}

/// No tuning that somebody has kept decides what is tested.
const NO_CACHE: &str = "--cache-dir=no such folder";

#[test]
fn a_device_is_named_and_proved_right() {
    if !device_is_there() {
        return;
    }
    let devices = run(&["devices"], "");
    let text = stdout(&devices);
    assert!(text.lines().last().is_some_and(|line| line.starts_with("used: ")), "{text}");
    let output = run(&["selftest", "--backend=opencl", NO_CACHE, "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).expect("a JSON list");
    for graph in ["network", "convolution", "odd board", "vectors", "attention"] {
        assert!(rows.iter().any(|row| row["graph"] == graph), "{graph}");
    }
    assert!(rows.iter().all(|row| row["ok"] == true && row["error"].as_f64().is_some_and(|error| error < 1e-4)));
}

#[test]
fn a_candidate_says_how_it_went() {
    if !device_is_there() {
        return;
    }
    let device = device::choose(&DeviceChoice::Auto).expect("a device that is there");
    let tuning = Tuning::start(Variant::of(device.kind), device.vector_width).to_string();
    let output = run(&["tune", "--backend=opencl", NO_CACHE, "--candidate", &tuning], "");
    let said: Value = serde_json::from_str(&stdout(&output)).expect("a line of JSON");
    let times = said["milliseconds"].as_array().unwrap_or_else(|| panic!("{said}"));
    assert!(times.len() == 3 && times.iter().all(|time| time.as_f64().is_some_and(|time| time > 0.0)), "{said}");
    let wrong = run(&["tune", "--candidate", "variant=cpu"], "");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("--candidate: expected winograd="), "{}", stderr(&wrong));
}

#[test]
fn without_opencl_there_is_nothing_to_test_or_tune() {
    for command in ["selftest", "tune", "devices"] {
        let output =
            binary().args([command, NO_CACHE]).env(device::LIBRARY_ENV, "none").output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("no OpenCL platform was found"), "{}", stderr(&output));
    }
}
