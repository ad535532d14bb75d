//! Which header an archive goes with.

/// The number of this header. It is another one as soon as a struct has another size, or a function or a constant another
/// meaning: compare it with oncilla_abi if header and archive come from different places.
pub const ONCILLA_ABI: u32 = 1;

/// The ONCILLA_ABI of the header that goes with this archive. If the program's is another one, call nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_abi() -> u32 {
    ONCILLA_ABI
}

#[cfg(test)]
mod tests {
    use crate::*;

    /// Whoever changes a size here changes the number, too.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_struct_has_the_size_that_belongs_to_the_number() {
        let sizes = [
            size_of::<OncillaAnswer>(),
            size_of::<OncillaBudget>(),
            size_of::<OncillaCapacity>(),
            size_of::<OncillaClock>(),
            size_of::<OncillaLeader>(),
            size_of::<OncillaMovesLeft>(),
            size_of::<OncillaParams>(),
            size_of::<OncillaRootEdge>(),
            size_of::<OncillaStats>(),
            size_of::<OncillaTimeParams>(),
        ];
        assert_eq!((oncilla_abi(), sizes), (1, [24, 40, 12, 48, 12, 56, 216, 44, 48, 272]));
    }
}
