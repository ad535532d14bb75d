//! From the host's pointers to references. Everything here trusts the contract in the crate's documentation, but first
//! checks what can be checked of a pointer.

use crate::status::{OncillaStatus, Outcome};
use core::ffi::c_void;
use core::ptr::NonNull;

/// Alignment that lent memory must have, in bytes; malloc's is at least that.
pub const ONCILLA_ALIGN: usize = 8;

/// What is at the start of lent memory: a mark, and behind it the object that the handle stands for.
///
/// # Safety
/// A `repr(C)` type whose first field is a `u32`, the mark.
pub unsafe trait Handle {
    /// The first word of every handle of this type, and of nothing else here.
    const MARK: u32;
}

fn check<T>(pointer: *const T) -> Outcome {
    if pointer.is_null() {
        Err(OncillaStatus::OncillaNullPointer)
    } else if !pointer.is_aligned() {
        Err(OncillaStatus::OncillaMisaligned)
    } else {
        Ok(())
    }
}

/// Checks the pointer and the mark only: a reference would claim that a whole handle is there, which is not so if the
/// host has mistaken something smaller for one.
///
/// # Safety
/// `pointer` is NULL, or leads to an initialised word that is not written to meanwhile.
unsafe fn check_handle<H: Handle>(pointer: *const H) -> Outcome {
    check(pointer)?;
    // SAFETY: not NULL, aligned for a type that begins with a word, and the caller says the rest.
    let mark = unsafe { pointer.cast::<u32>().read() };
    if mark == H::MARK { Ok(()) } else { Err(OncillaStatus::OncillaNotAHandle) }
}

/// A shared reference to a handle.
///
/// # Safety
/// `pointer` is NULL, or leads to an initialised word. If that word is the mark, memory begins there that was lent to
/// the function that makes such handles and is used for nothing else, and during `'h` there is no exclusive reference
/// to it.
pub unsafe fn shared<'h, H: Handle>(pointer: *const H) -> Result<&'h H, OncillaStatus> {
    // SAFETY: the caller's contract is this function's. The mark tells a handle from other memory that the host may
    // have mistaken for one, as far as that is possible.
    unsafe {
        check_handle(pointer)?;
        Ok(&*pointer)
    }
}

/// An exclusive reference to a handle.
///
/// # Safety
/// As for [`shared`]; besides, there is no other reference to it during `'h`.
pub unsafe fn alone<'h, H: Handle>(pointer: *mut H) -> Result<&'h mut H, OncillaStatus> {
    // SAFETY: the caller's contract is this function's: there is no other reference. The mark tells a handle from other
    // memory that the host may have mistaken for one, as far as that is possible.
    unsafe {
        check_handle(pointer)?;
        Ok(&mut *pointer)
    }
}

/// Reads a single object from the host.
///
/// # Safety
/// `pointer` is NULL, or leads to an initialised `T`, which is not changed during `'p`.
pub unsafe fn input<'p, T>(pointer: *const T) -> Result<&'p T, OncillaStatus> {
    check(pointer)?;
    // SAFETY: not NULL, aligned, and the caller says the rest.
    Ok(unsafe { &*pointer })
}

/// Reads `count` objects from the host. If `count` is 0, the pointer may be NULL.
///
/// # Safety
/// `pointer` is NULL, or leads to `count` initialised objects, which are not changed during `'p`.
pub unsafe fn inputs<'p, T>(pointer: *const T, count: usize) -> Result<&'p [T], OncillaStatus> {
    if count == 0 {
        return Ok(&[]);
    }
    check_count::<T>(count)?;
    check(pointer)?;
    // SAFETY: not NULL, aligned, no longer than an object may be, and the caller says the rest.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count) })
}

/// Like [`inputs`], for objects that the function changes.
///
/// # Safety
/// As for [`inputs`]; besides, no other code reads the objects during `'p`.
pub unsafe fn changed<'p, T>(pointer: *mut T, count: usize) -> Result<&'p mut [T], OncillaStatus> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_count::<T>(count)?;
    check(pointer)?;
    // SAFETY: not NULL, aligned, no longer than an object may be; the caller says that the objects are there and that
    // no other code uses them.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, count) })
}

fn check_count<T>(count: usize) -> Outcome {
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
    if fits { Ok(()) } else { Err(OncillaStatus::OncillaBadCount) }
}

/// Room for one object of output, or for `count` of them.
pub struct Output<T> {
    first: *mut T,
    room: usize,
}

/// Room for one object.
///
/// # Safety
/// `pointer` is NULL, or leads to room for a `T`, which no other code uses as long as the [`Output`] lives.
pub unsafe fn output<T>(pointer: *mut T) -> Result<Output<T>, OncillaStatus> {
    check(pointer)?;
    Ok(Output { first: pointer, room: 1 })
}

/// Room for `room` objects; if `room` is 0, the pointer may be NULL.
///
/// # Safety
/// As for [`output`], with room for `room` objects.
pub unsafe fn outputs<T>(pointer: *mut T, room: usize) -> Result<Output<T>, OncillaStatus> {
    if room > 0 {
        check_count::<T>(room)?;
        check(pointer)?;
    }
    Ok(Output { first: pointer, room })
}

impl<T: Copy> Output<T> {
    /// Writes the first object.
    pub fn set(self, value: T) {
        self.fill([value]);
    }

    /// Writes as many values as there is room for, and returns how many that are.
    pub fn fill(&self, values: impl IntoIterator<Item = T>) -> usize {
        let mut written = 0;
        for value in values.into_iter().take(self.room) {
            // SAFETY: `written` is less than `room`, and for `room` objects there is aligned room by the contract of
            // `output` and `outputs`.
            unsafe { self.first.add(written).write(value) };
            written += 1;
        }
        written
    }

    /// How many objects there is room for.
    pub fn room(&self) -> usize {
        self.room
    }
}

/// Where in a block of lent memory to put a handle: at the first place that its alignment allows.
///
/// # Safety
/// `memory` is NULL, or leads to `bytes` bytes that no other code uses.
pub unsafe fn place<H>(memory: *mut c_void, bytes: usize, needed: usize) -> Result<NonNull<H>, OncillaStatus> {
    let memory = NonNull::new(memory).ok_or(OncillaStatus::OncillaNullPointer)?;
    if !memory.addr().get().is_multiple_of(ONCILLA_ALIGN) {
        return Err(OncillaStatus::OncillaMisaligned);
    }
    if bytes < needed || needed < size_of::<H>() + padding::<H>() {
        return Err(OncillaStatus::OncillaMemoryTooSmall);
    }
    let offset = memory.addr().get().wrapping_neg() % align_of::<H>();
    // SAFETY: `offset` is at most `padding`, and for that there is room.
    Ok(unsafe { memory.byte_add(offset) }.cast())
}

/// How many bytes may be before a handle whose alignment is larger than that of lent memory.
pub const fn padding<H>() -> usize {
    align_of::<H>().saturating_sub(ONCILLA_ALIGN)
}
