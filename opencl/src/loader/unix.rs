//! Where OpenCL libraries lie on Linux, Android and other Unixes, and how `dlopen` opens them.

use super::reason;
pub use libloading::os::unix::Library;
use libloading::os::unix::{RTLD_LOCAL, RTLD_NOW};

/// What there is none of where there is none.
pub const WHAT: &str = "libOpenCL";

/// The loader's usual name, the name a development package adds, and where Android vendors put theirs.
pub const NAMES: [&str; 8] = [
    "libOpenCL.so.1",
    "libOpenCL.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/system/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib64/libPVROCL.so",
    "/vendor/lib/libOpenCL.so",
];

/// # Errors
/// What the system's linker says.
pub fn open(name: &str) -> Result<Library, String> {
    // SAFETY: constructors of the library run here, as they would at start-up if it were linked.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| reason(&error))
}

/// A name without a folder is looked for where the system has its libraries.
pub use open as open_usual;

/// As the linkers of glibc and musl say it, and Android's.
pub fn is_absent(error: &str) -> bool {
    error.contains("No such file or directory") || error.contains(" not found")
}
