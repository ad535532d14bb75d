//! Satisfies the linker's `-lOpenCL` with an empty library: with the feature `dynamic`, `src/loader.rs` finds the real
//! one at run time.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let enabled = std::env::var_os("CARGO_FEATURE_DYNAMIC").is_some();
    // macOS has OpenCL as a framework of the system.
    let macos = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos");
    if !enabled || macos {
        return;
    }
    let msvc = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "msvc");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let name = if msvc { "OpenCL.lib" } else { "libOpenCL.a" };
    std::fs::write(out.join(name), b"!<arch>\n").expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search=native={}", out.display());
}
