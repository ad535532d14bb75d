//! A first look at the OpenCL drivers, from a process of its own.
//!
//! Whoever lists devices runs every driver that is installed, and some abort there, or never come back. That must not end a
//! game: this program is started once more, only to list them, and if it comes to no good the drivers are left alone.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::child;

/// How long listing may take. Some drivers need seconds for their first call.
const LIMIT: Duration = Duration::from_secs(20);

/// Environment variable by which the process that lists devices is told to end with its standard input.
const ENDS_WITH_INPUT: &str = "ONCILLA_ENDS_WITH_INPUT";

static SCOUT: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that lists the devices and exits with status 0 or 2 when it is called with `devices --here`: this one.
/// Without it, as in a program that only uses the library, drivers are trusted.
pub fn scout_with(program: PathBuf) {
    // The first one stays: another has no reason to be different.
    let _ = SCOUT.set(program);
}

/// Looks once in a process whether listing devices is safe.
///
/// # Errors
/// One line: a driver ended the process, or took too long.
pub fn scout() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let look = || SCOUT.get().map_or(Ok(()), |program| list_with(program, LIMIT));
    FOUND.get_or_init(look).clone()
}

fn list_with(program: &Path, limit: Duration) -> Result<(), String> {
    let mut command = Command::new(program);
    // Its input ends with this process: whoever quits need not wait for it, see [`end_with_input_if_asked`].
    command.args(["devices", "--here"]).env(ENDS_WITH_INPUT, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A system without another process to give is no fault of the drivers.
    let Ok(mut child) = command.spawn() else { return Ok(()) };
    match child::wait(&mut child, limit) {
        Ok(Some(status)) => judge(status),
        Ok(None) => Err(format!("an OpenCL driver took more than {} s to list its devices", limit.as_secs())),
        Err(_) => Ok(()),
    }
}

/// For the process that lists devices for another one: ends it, whatever a driver is at, once its standard input ends, as it does when
/// nobody waits any more.
pub fn end_with_input_if_asked() {
    if std::env::var_os(ENDS_WITH_INPUT).is_none() {
        return;
    }
    let watch = || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    };
    // Without a thread it ends when the driver lets it.
    let _ = std::thread::Builder::new().name("stdin".to_string()).spawn(watch);
}

/// No device at all is for the caller to find out.
fn judge(status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(0 | 2) => Ok(()),
        _ => Err(format!("an OpenCL driver ended the process that listed its devices ({status})")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A script in the place of the program.
    fn list_by(name: &str, script: &str) -> Result<(), String> {
        let path = std::env::temp_dir().join(format!("oncilla-scout-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let answer = list_with(&path, Duration::from_secs(1));
        std::fs::remove_file(&path).unwrap();
        answer
    }

    #[test]
    fn what_becomes_of_the_process_is_the_answer() {
        assert_eq!(list_by("done", "[ \"$*\" = \"devices --here\" ]"), Ok(()));
        assert_eq!(list_by("none", "exit 2"), Ok(()), "no device is a normal state");
        let ended = list_by("killed", "kill -ABRT $$").unwrap_err();
        assert!(ended.starts_with("an OpenCL driver ended the process that listed its devices (signal: 6"), "{ended}");
        let late = list_by("late", "exec sleep 60").unwrap_err();
        assert_eq!(late, "an OpenCL driver took more than 1 s to list its devices");
        // Under user-mode emulation the system starts a process that ends with 127 where there is no program.
        if std::env::var_os("ONCILLA_RUNNER").is_none() {
            assert_eq!(list_with(Path::new("/no/such/program"), LIMIT), Ok(()));
        }
    }
}
