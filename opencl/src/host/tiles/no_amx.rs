//! Takes the place of AMX on targets that have none: it is never granted.

use super::{Line, Operand, Sums};
use std::mem::MaybeUninit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Granted(());

impl Granted {
    pub fn ask() -> Option<Self> {
        None
    }
}

pub(in crate::host) struct Configured(());

impl Configured {
    pub fn new(_: Granted) -> Self {
        unreachable!("nobody is granted it")
    }

    /// # Safety
    /// There is no value to call it on.
    pub(super) unsafe fn add(
        &self,
        _: &[Operand],
        _: (&[u32], bool),
        _: &[Operand],
        _: bool,
        _: *const Line,
        _: &mut MaybeUninit<Sums>,
    ) {
        unreachable!("nobody is granted it")
    }
}
