//! Waits for child processes, which are started because a driver in them may crash or hang.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The interval at which a process is polled.
const LOOK: Duration = Duration::from_millis(2);
/// The time that a killed process has to end. One that waits for a GPU that hangs does not end at all.
pub const GRACE: Duration = Duration::from_secs(2);

/// Waits until a process has ended, for at most `limit`. After that it is killed, and the result is `None`.
///
/// # Errors
/// If the system doesn't report the child's status.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    wait_unless(child, limit, || false)
}

/// Like [`wait`], but also kills the process as soon as `is_done` returns true.
///
/// # Errors
/// Like [`wait`].
pub fn wait_unless(child: &mut Child, limit: Duration, is_done: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let ended = look(child, limit, is_done)?;
    if ended.is_none() {
        // An error means that it has just ended by itself.
        let _ = child.kill();
        look(child, GRACE, || false)?;
    }
    Ok(ended)
}

fn look(child: &mut Child, limit: Duration, is_done: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() < limit && !is_done() => std::thread::sleep(LOOK),
            ended => return Ok(ended),
        }
    }
}
