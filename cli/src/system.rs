//! What the platforms do differently. On Windows that takes calls of the system which the standard library does not
//! have; elsewhere these functions use the standard library or do nothing.

#![cfg_attr(windows, allow(unsafe_code, reason = "the calls of the system are here, and nowhere else in the program"))]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::OnceLock;

use crate::utf16;

/// The original standard input, once [`put_stdin_aside`] has taken it.
static INPUT: OnceLock<File> = OnceLock::new();

/// Reserves standard input for [`input`], and gives all other code an empty one. To be called before anything reads
/// standard input.
///
/// On Windows, calls on the same pipe are executed one after the other, so that a query about the pipe waits for a
/// pending read. A DLL may query standard input when it is loaded, as the start of its C runtime does, and it then
/// holds the loader lock, which all threads need to start or end: the OpenCL library would be loaded only after the
/// next command of the GUI. A console is not a pipe, and is left as it is.
pub fn put_stdin_aside() {
    #[cfg(windows)]
    if let Some(input) = windows::taken_stdin() {
        // This function is called once; if it were called again, the first input would stay.
        let _ = INPUT.set(input);
    }
}

/// The bytes of standard input, unchanged.
pub fn input() -> Box<dyn Read + Send> {
    match input_file() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdin()),
    }
}

/// The text of standard input as UTF-8, even if it is UTF-16.
pub fn input_text() -> impl BufRead + Send {
    BufReader::new(utf16::Text::new(input()))
}

/// Standard input, if [`put_stdin_aside`] has taken it.
pub fn input_file() -> Option<File> {
    INPUT.get()?.try_clone().ok()
}

/// Converts text that is usually UTF-8. If it is not, on Windows it is read in the system's code page, in which old
/// GUIs without Unicode send file names; otherwise invalid bytes become U+FFFD.
pub fn text_of(bytes: &[u8]) -> String {
    #[cfg(windows)]
    if std::str::from_utf8(bytes).is_err()
        && let Some(text) = windows::in_code_page(bytes)
    {
        return text;
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sets the timer resolution of Windows to one millisecond instead of the default 16, so that a waiting thread wakes up
/// in time: a search checks its clock and passes on evaluations at that interval.
pub fn count_milliseconds() {
    #[cfg(windows)]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(windows::count_milliseconds);
    }
}

/// For a process in which a driver may crash: it then ends at once, instead of showing an error window until a person
/// closes it.
pub fn end_without_a_window() {
    #[cfg(windows)]
    windows::end_without_a_window();
}

/// Resident memory of this process, in bytes.
pub struct Resident {
    pub now: usize,
    /// The largest value so far.
    pub peak: usize,
}

/// The resident memory as Windows reports it; `None` on other systems.
pub fn resident_bytes() -> Option<Resident> {
    #[cfg(windows)]
    return windows::resident_bytes();
    #[cfg(not(windows))]
    None
}

/// The number of cores that the program may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether a write failed because the reader of the output is gone.
pub fn is_gone(error: &io::Error) -> bool {
    /// `ERROR_PIPE_NOT_CONNECTED`, which has no [`io::ErrorKind`].
    const NOT_CONNECTED: i32 = 233;
    error.kind() == io::ErrorKind::BrokenPipe || cfg!(windows) && error.raw_os_error() == Some(NOT_CONNECTED)
}

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io;
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, IntoRawHandle};
    use std::ptr::null_mut;
    use windows_sys::Win32::Globalization::{CP_ACP, MultiByteToWideChar};
    use windows_sys::Win32::Media::timeBeginPeriod;
    use windows_sys::Win32::System::Console::{GetConsoleMode, STD_INPUT_HANDLE, SetStdHandle};
    use windows_sys::Win32::System::Diagnostics::Debug::{
        SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX, SetErrorMode,
    };

    use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    /// Replaces standard input by an empty one, and returns the original; `None` if it is a console, or if there is
    /// none.
    pub fn taken_stdin() -> Option<File> {
        let stdin = io::stdin();
        let handle = stdin.as_handle();
        if handle.as_raw_handle().is_null() || is_console(handle) {
            return None;
        }
        let input = handle.try_clone_to_owned().ok()?;
        let nothing = File::open("NUL").ok()?.into_raw_handle();
        // SAFETY: the handle is open and is never closed, since no object owns it any more. No code reads the old one
        // yet.
        let is_set = unsafe { SetStdHandle(STD_INPUT_HANDLE, nothing) } != 0;
        is_set.then(|| input.into())
    }

    /// The standard library's `is_terminal` is also true for some pipes, because of their names.
    fn is_console(handle: BorrowedHandle) -> bool {
        let mut mode = 0;
        // SAFETY: the handle is open while it is borrowed, and `mode` is valid for the write.
        unsafe { GetConsoleMode(handle.as_raw_handle(), &mut mode) != 0 }
    }

    /// Decodes text in the system's code page; `None` if the bytes are not valid there.
    pub fn in_code_page(bytes: &[u8]) -> Option<String> {
        let len = i32::try_from(bytes.len()).ok()?;
        // SAFETY: `bytes` has `len` bytes, and with a buffer of length 0 nothing is written.
        let needed = unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), len, null_mut(), 0) };
        let mut units = vec![0; usize::try_from(needed).ok()?];
        // SAFETY: as above, and `units` has `needed` units.
        let written = unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), len, units.as_mut_ptr(), needed) };
        (written == needed && written > 0).then(|| String::from_utf16_lossy(&units))
    }

    pub fn resident_bytes() -> Option<super::Resident> {
        let mut counters = PROCESS_MEMORY_COUNTERS::default();
        let size = u32::try_from(size_of_val(&counters)).ok()?;
        // SAFETY: the handle is this process's own, and the structure has the given size.
        let is_said = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size) } != 0;
        is_said.then_some(super::Resident { now: counters.WorkingSetSize, peak: counters.PeakWorkingSetSize })
    }

    pub fn count_milliseconds() {
        // SAFETY: the function has no pointers; its effect lasts until the process ends. If it fails, the resolution is
        // unchanged.
        unsafe { timeBeginPeriod(1) };
    }

    pub fn end_without_a_window() {
        // SAFETY: the function only sets flags of this process.
        unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_away() {
        assert!(is_gone(&io::ErrorKind::BrokenPipe.into()));
        assert_eq!(is_gone(&io::Error::from_raw_os_error(233)), cfg!(windows));
        assert!(!is_gone(&io::Error::from_raw_os_error(5)));
    }

    #[test]
    fn text_in_utf8_and_other_bytes() {
        assert_eq!(text_of("C:\\schön".as_bytes()), "C:\\schön");
        let other = text_of(b"C:\\sch\xf6n");
        // The letter in the middle depends on the system's code page.
        assert!(other.starts_with("C:\\sch") && other.ends_with('n'), "{other}");
        assert!(cfg!(windows) || other == "C:\\sch\u{fffd}n");
    }

    /// Runs in a process of its own, because a process has only one standard input.
    #[cfg(windows)]
    #[test]
    fn what_is_put_aside_is_read_there_alone() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        const INSIDE: &str = "ONCILLA_TEST_INSIDE";
        if std::env::var_os(INSIDE).is_some() {
            put_stdin_aside();
            let (mut read, mut left) = (String::new(), String::new());
            io::stdin().read_to_string(&mut left).unwrap();
            input().read_to_string(&mut read).unwrap();
            assert_eq!((read.as_str(), left.as_str()), ("hello", ""));
            return;
        }
        let name = "system::tests::what_is_put_aside_is_read_there_alone";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact"]).env(INSIDE, "1").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn().unwrap();
        process.stdin.take().unwrap().write_all(b"hello").unwrap();
        assert!(process.wait().unwrap().success());
    }
}
