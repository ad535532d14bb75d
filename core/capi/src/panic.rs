//! What happens if a panic is reached all the same. `ci/no-panic` shows that none can be reached in the archive.

use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Is told of a panic: the file's name (not ended by a zero byte), its length, and the line. When it returns, the
/// program aborts.
pub type OncillaPanicCallback = Option<unsafe extern "C" fn(file: *const c_char, length: usize, line: u32)>;

static CALLBACK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the function that is told of a panic in any thread; NULL for none. A panic is a fault of Oncilla's. After it,
/// nothing may be used that the function which panicked was called with. An archive that was built without the feature
/// `panic-handler` has a panic handler of the program's own, which calls no function that was set here.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_on_panic(callback: OncillaPanicCallback) {
    let pointer = callback.map_or(core::ptr::null_mut(), |callback| callback as *mut ());
    CALLBACK.store(pointer, Ordering::Release);
}

/// Panics, to see what the handler does.
///
/// cbindgen:ignore
#[cfg(feature = "panic-test")]
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_test_panic() {
    panic!("as asked for");
}

#[cfg(all(feature = "panic-handler", not(test)))]
#[panic_handler]
fn on_panic(info: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    let callback = CALLBACK.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if !callback.is_null() {
        let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
        // SAFETY: `oncilla_on_panic` stored a function of this type. The host says that it may be called.
        unsafe {
            let callback = core::mem::transmute::<*mut (), unsafe extern "C" fn(*const c_char, usize, u32)>(callback);
            callback(file.as_ptr().cast(), file.len(), line);
        }
    }
    // SAFETY: C's function has no condition.
    unsafe { abort() }
}
