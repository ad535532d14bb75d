//! Processes that are started because a driver in them may crash or never come back.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How often somebody looks whether it is done.
const LOOK: Duration = Duration::from_millis(2);
/// How long a process that was killed may take to end. One that waits for a GPU that hangs does not end at all.
pub const GRACE: Duration = Duration::from_secs(2);

/// Waits until a process has ended, for at most `limit`: then it is killed, and the answer is `None`.
///
/// # Errors
/// If the system doesn't report the child's status.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    wait_unless(child, limit, || false)
}

/// Like [`wait`], but no longer than until `is_done` returns true.
///
/// # Errors
/// Like [`wait`].
pub fn wait_unless(child: &mut Child, limit: Duration, is_done: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let ended = look(child, limit, is_done)?;
    if ended.is_none() {
        // It may end by itself just now.
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
