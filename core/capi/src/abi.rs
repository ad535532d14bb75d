//! Which header an archive goes with. `ci/capi` sees to it that other declarations have another number.

/// The number of this header, which is another one for other declarations: compare it with oncilla_abi if header and
/// archive come from different places.
pub const ONCILLA_ABI: u32 = 2;

/// The ONCILLA_ABI of the header that goes with this archive. If the program's is another one, call nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_abi() -> u32 {
    ONCILLA_ABI
}
