//! Where Windows has its OpenCL library, and how it is opened.

use super::reason;
pub use libloading::os::windows::Library;
use libloading::os::windows::{LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_WITH_ALTERED_SEARCH_PATH};
use std::path::{Path, absolute};

/// What there is none of where there is none.
pub const WHAT: &str = "OpenCL.dll";

/// The loader that every driver installs.
pub const NAMES: [&str; 1] = ["OpenCL.dll"];

/// A library that somebody named: a file, with those that lie beside it, or a name without a folder, which is one of
/// the usual ones.
///
/// # Errors
/// What the system says.
pub fn open(name: &str) -> Result<Library, String> {
    if Path::new(name).components().nth(1).is_none() {
        return open_usual(name);
    }
    // The system looks beside a library only where it is told the whole path.
    let path = absolute(name).map_err(|error| format!("{name}: {error}"))?;
    load(name, &path, LOAD_WITH_ALTERED_SEARCH_PATH)
}

/// A library beside the program or of the system, never one in the folder that the program was started in.
///
/// # Errors
/// What the system says.
pub fn open_usual(name: &str) -> Result<Library, String> {
    load(name, Path::new(name), LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
}

/// The error has the `name` as it was given.
fn load(name: &str, path: &Path, flags: u32) -> Result<Library, String> {
    // SAFETY: the library's entry point runs here, as it would at start-up if it were linked.
    unsafe { Library::load_with_flags(path, flags) }.map_err(|error| format!("{name}: {}", reason(&error)))
}

/// By its number (`ERROR_MOD_NOT_FOUND`): the words are in the user's language.
pub fn is_absent(error: &str) -> bool {
    error.ends_with("(os error 126)")
}
