//! Tests OpenCL drivers that abort the process that lists their devices, or that never return.
#![cfg(all(unix, not(target_os = "macos")))]

mod driver;

use driver::{Folder, binary, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIBRARY: &str = "ONCILLA_OPENCL_LIBRARY";

/// A library that aborts its process in the first call.
const ABORTING: &str =
    "#[unsafe(no_mangle)]\npub extern \"C\" fn clGetPlatformIDs() -> i32 { std::process::abort() }\n";

fn aborting_library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("aborting.rs"), folder.join("libOpenCL.so"));
    std::fs::write(&source, ABORTING).expect("a source");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command.args(["--crate-type=cdylib", "--edition=2024", "-o"]).arg(&library).arg(&source);
    assert!(command.status().expect("rustc, which built this test").success());
    library
}

/// The program's output to a GUI that has it play a move.
fn session(library: &Path, args: &[&str]) -> String {
    let input = std::io::Cursor::new("isready\ngo nodes 10\n");
    let mut process = binary();
    process.args(args).env(LIBRARY, library).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = process.spawn().expect("the binary starts");
    std::io::copy(&mut { input }, process.stdin.as_mut().expect("stdin is piped")).expect("it reads");
    let output = process.wait_with_output().expect("output");
    let said = driver::stdout(&output);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.lines().last().is_some_and(|line| line.starts_with("bestmove ") && !line.contains("none")), "{said}");
    said
}

#[test]
fn a_driver_that_aborts_ends_no_game() {
    if driver::program::is_emulated() {
        oncilla_testing::skip("an emulated program can't start itself to look at the drivers");
        return;
    }
    let folder = Folder::new("aborting");
    let library = aborting_library(&folder.0);
    let ended = "an OpenCL driver ended the process that listed its devices (signal: 6";
    let said = session(&library, &[]);
    assert!(
        said.contains(ended) && said.contains("; the host runs the network") && said.contains("\ninfo depth "),
        "{said}"
    );
    let said = session(&library, &["--backend=opencl"]);
    assert!(
        said.contains(&format!("WARNING: {ended}")) && said.contains("; the host runs the network"),
        "asked for by name: {said}"
    );
    assert!(said.contains("\ninfo depth "), "{said}");
    let said = session(&library, &["--backend=host"]);
    assert!(!said.contains("driver") && said.contains("\ninfo depth "), "{said}");
    let listed = binary().arg("devices").env(LIBRARY, &library).output().expect("the binary starts");
    assert_eq!(listed.status.code(), Some(2));
    assert!(stderr(&listed).starts_with(&format!("oncilla: {ended}")), "{}", stderr(&listed));
}

/// A pipe to which nothing writes: opening it never returns.
#[test]
fn a_driver_that_does_not_answer_ends_no_game() {
    if driver::program::is_emulated() {
        oncilla_testing::skip("an emulated program can't start itself to look at the drivers");
        return;
    }
    let folder = Folder::new("silent");
    let pipe = folder.0.join("libOpenCL.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let said = session(&pipe, &[]);
    assert!(
        said.contains("an OpenCL driver took more than 20 s to list its devices; the host runs the network"),
        "{said}"
    );
}
