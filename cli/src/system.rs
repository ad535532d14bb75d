//! What the system is asked for beside the standard library. All of it is for Windows: anywhere else these functions do
//! what needs no word, or nothing.

#![cfg_attr(windows, allow(unsafe_code, reason = "the calls of the system are here, and nowhere else in the program"))]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::OnceLock;

use crate::utf16;

/// Standard input, once [`put_stdin_aside`] has taken it.
static INPUT: OnceLock<File> = OnceLock::new();

/// Before anything reads standard input: takes it for [`input`] alone, and leaves an empty one to everybody else.
///
/// On a pipe of Windows one call waits for the other, a question about it for a read. A DLL that is loaded may ask what
/// standard input is, as the start of its C library does, with the lock in its hand that every other thread needs to
/// start or to end: the library of OpenCL would be loaded when the GUI has said its next word. A console is no pipe,
/// and stays as it is.
pub fn put_stdin_aside() {
    #[cfg(windows)]
    if let Some(input) = windows::taken_stdin() {
        // Nobody else calls this; the first input would be the one that is read.
        let _ = INPUT.set(input);
    }
}

/// What comes in on standard input: its bytes as they are.
pub fn input() -> Box<dyn Read + Send> {
    match input_file() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdin()),
    }
}

/// The text that comes in on standard input, in UTF-8 where that or UTF-16 comes.
pub fn input_text() -> impl BufRead + Send {
    BufReader::new(utf16::Text::new(input()))
}

/// Standard input where it was put aside.
pub fn input_file() -> Option<File> {
    INPUT.get()?.try_clone().ok()
}

/// Text that may be in UTF-8. What is not has become U+FFFD; on Windows it is read in the system's code page, in which
/// GUIs that are older than Unicode send the names of files.
pub fn text_of(bytes: &[u8]) -> String {
    #[cfg(windows)]
    if std::str::from_utf8(bytes).is_err()
        && let Some(text) = windows::in_code_page(bytes)
    {
        return text;
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lets a thread that waits wake up after one millisecond and not after sixteen, which is as fine as Windows counts
/// where nobody asks for more: a search looks at its clock that often, and hands evaluations on.
pub fn count_milliseconds() {
    #[cfg(windows)]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(windows::count_milliseconds);
    }
}

/// For a process that a driver may end: it ends at once. A window that says so would keep it until somebody has read
/// that.
pub fn end_without_a_window() {
    #[cfg(windows)]
    windows::end_without_a_window();
}

/// Bytes of memory that a process has.
pub struct Resident {
    pub now: usize,
    /// The most that there were.
    pub peak: usize,
}

/// What Windows says of this process; `None` anywhere else.
pub fn resident_bytes() -> Option<Resident> {
    #[cfg(windows)]
    return windows::resident_bytes();
    #[cfg(not(windows))]
    None
}

/// Cores that the program may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether whoever read the output has gone away.
pub fn is_gone(error: &io::Error) -> bool {
    /// `ERROR_PIPE_NOT_CONNECTED`, which the standard library has no word for.
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

    /// Standard input, which was replaced by an empty one; `None` if it is a console, or if there is none.
    pub fn taken_stdin() -> Option<File> {
        let stdin = io::stdin();
        let handle = stdin.as_handle();
        if handle.as_raw_handle().is_null() || is_console(handle) {
            return None;
        }
        let input = handle.try_clone_to_owned().ok()?;
        let nothing = File::open("NUL").ok()?.into_raw_handle();
        // SAFETY: the handle is open and is never closed, as nothing owns it any more. Nobody reads the old one yet.
        let is_set = unsafe { SetStdHandle(STD_INPUT_HANDLE, nothing) } != 0;
        is_set.then(|| input.into())
    }

    /// The standard library's `is_terminal` says yes to some pipes too, by their names.
    fn is_console(handle: BorrowedHandle) -> bool {
        let mut mode = 0;
        // SAFETY: the handle is open as long as it is borrowed, and the mode is written where there is room for it.
        unsafe { GetConsoleMode(handle.as_raw_handle(), &mut mode) != 0 }
    }

    /// The text in the system's code page; `None` where that takes no such bytes.
    pub fn in_code_page(bytes: &[u8]) -> Option<String> {
        let len = i32::try_from(bytes.len()).ok()?;
        // SAFETY: so many bytes are there to be read, and without room for the answer nothing is written.
        let needed = unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), len, null_mut(), 0) };
        let mut units = vec![0; usize::try_from(needed).ok()?];
        // SAFETY: as above, and there is room for as many units as it is told.
        let written = unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), len, units.as_mut_ptr(), needed) };
        (written == needed && written > 0).then(|| String::from_utf16_lossy(&units))
    }

    pub fn resident_bytes() -> Option<super::Resident> {
        let mut counters = PROCESS_MEMORY_COUNTERS::default();
        let size = u32::try_from(size_of_val(&counters)).ok()?;
        // SAFETY: the handle is this process's own, and there is room for as many bytes as it is told.
        let is_said = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size) } != 0;
        is_said.then_some(super::Resident { now: counters.WorkingSetSize, peak: counters.PeakWorkingSetSize })
    }

    pub fn count_milliseconds() {
        // SAFETY: it takes a number, and holds until the process ends. A system that refuses counts as before.
        unsafe { timeBeginPeriod(1) };
    }

    pub fn end_without_a_window() {
        // SAFETY: it takes flags of this process.
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
        // Which letter it is there depends on the system's code page.
        assert!(other.starts_with("C:\\sch") && other.ends_with('n'), "{other}");
        assert!(cfg!(windows) || other == "C:\\sch\u{fffd}n");
    }

    /// In a process of its own, as there is one standard input.
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
