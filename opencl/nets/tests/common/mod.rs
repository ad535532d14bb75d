//! Where recorded numbers are, and how they are read.
#![allow(dead_code, reason = "each test file uses its part")]

use oncilla_opencl::device::{self, DeviceChoice};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// True if there is an OpenCL device; false, after printing a line, if there is none and none is required.
pub fn device_is_there() -> bool {
    oncilla_testing::opencl(device::choose(&DeviceChoice::Auto)).is_some()
}

/// The few synthetic networks in the repository, with recorded outputs and planes.
pub fn fixtures() -> PathBuf {
    oncilla_testing::fixtures().join("nets/synthetic")
}

/// Rows of a file of JSON lines, which is compressed if its name says so.
pub fn rows(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    match path.extension().is_some_and(|e| e == "gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).map(|_| ()).expect("a gzip stream"),
        false => text = String::from_utf8(bytes).expect("text"),
    }
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// What identifies a position in different files: the start, the moves from it and the rules.
pub fn position(row: &Value) -> String {
    format!("{} {} {}", row["fen"], row["moves"], row["chess960"])
}

/// Recorded input planes by position and input format.
pub struct Planes(HashMap<(String, u64), Value>);

impl Planes {
    pub fn read(path: &Path) -> Self {
        let mut planes = HashMap::new();
        for row in rows(path) {
            if row["history_fill"] == "fen_only" {
                let format = row["input_format"].as_u64().expect("a number");
                planes.insert((position(&row), format), row["planes"].clone());
            }
        }
        Self(planes)
    }

    /// The recorded planes, `[112][64]`, of the row's position.
    pub fn of(&self, row: &Value, format: u8) -> Vec<f32> {
        let planes = &self.0[&(position(row), u64::from(format))];
        let mut input = vec![0.0; 112 * 64];
        for (plane, entry) in planes.as_object().expect("planes by number") {
            let plane: usize = plane.parse().expect("a number");
            let mask = u64::from_str_radix(entry[0].as_str().expect("a mask"), 16).expect("a mask");
            let value = entry[1].as_f64().expect("a value") as f32;
            let squares = (0..64).filter(|s| mask >> s & 1 == 1);
            squares.for_each(|s| input[plane * 64 + s] = value);
        }
        input
    }
}
