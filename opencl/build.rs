//! Satisfies the linker's `-lOpenCL` with an empty archive: `src/loader.rs` finds the real library at run time.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let enabled = std::env::var_os("CARGO_FEATURE_OPENCL").is_some();
    let unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    // macOS has OpenCL as a framework of the system; elsewhere the loader speaks dlopen, which is Unix.
    let macos = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos");
    if !enabled || !unix || macos {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("libOpenCL.a"), b"!<arch>\n").expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search=native={}", out.display());
}
