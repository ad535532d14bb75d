//! What replaces something that a device refuses or gets wrong: one launch for a network by one for each layer, groups
//! by smaller groups, batches by smaller ones if memory is short, Winograd's larger tile by the smaller one and then by
//! the direct form.

use super::Fault;
use crate::device::Error;
use crate::kernels::tuning::{LEAST_COLUMNS, LEAST_LANES};
use crate::kernels::{Tuning, Variant};

/// Which kernels are tried, and for how many positions at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub tuning: Tuning,
    pub max_batch: usize,
}

/// With less memory than for this many positions at a time, a device is given smaller weights instead.
pub(crate) const LEAST_MAX_BATCH: usize = 8;

/// Whether a GPU should run the network in one launch.
pub(super) fn is_one_launch(tuning: Tuning) -> bool {
    tuning.variant == Variant::Gpu && tuning.network > 0
}

/// The same tuning with launches for each layer. A GPU's layers are made for the one launch: without it they are
/// different.
pub(super) fn by_layers(tuning: Tuning) -> Tuning {
    Tuning { network: 0, ..tuning }
}

/// What to try after `tried` ended in `fault`; `None` if nothing is left. What replaces Winograd's kernels starts with
/// the groups and batches that were `asked` for.
pub(super) fn give_way(fault: &Fault, tried: Size, asked: Size) -> Option<Size> {
    let Size { tuning, max_batch } = tried;
    let with = |tuning| Some(Size { tuning, ..tried });
    match fault {
        Fault::Device(_) => None,
        _ if is_one_launch(tuning) => with(by_layers(tuning)),
        // Nothing smaller would need less of it.
        Fault::Call(Error::LocalMemory { .. }) => None,
        Fault::Call(error) if error.is_of_groups() && smaller_groups(tuning).is_some() => with(smaller_groups(tuning)?),
        Fault::Call(error) if error.is_of_memory() && max_batch > LEAST_MAX_BATCH => {
            Some(Size { max_batch: (max_batch / 4).max(LEAST_MAX_BATCH), ..tried })
        }
        // Winograd's sums round more, by an amount that depends on the weights; its weights are larger, and its kernels
        // are most of the text.
        _ if tuning.winograd > 0 => {
            let winograd = if tuning.winograd > 2 { 2 } else { 0 };
            let Tuning { lanes, columns, .. } = asked.tuning;
            Some(Size { tuning: Tuning { winograd, lanes, columns, ..tuning }, ..asked })
        }
        _ => None,
    }
}

/// Groups of half as many items; `None` if they have no lanes to spare.
fn smaller_groups(tuning: Tuning) -> Option<Tuning> {
    let Tuning { variant, lanes, columns, .. } = tuning;
    let (lanes, columns) = ((lanes / 2).max(LEAST_LANES), (columns / 2).max(LEAST_COLUMNS));
    let halved = Tuning { lanes, columns, ..tuning };
    (variant == Variant::Gpu && halved != tuning).then_some(halved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::BackendError;
    use crate::device::Purpose;

    fn asked() -> Size {
        Size { tuning: Tuning { network: 0, ..Tuning::start(Variant::Gpu, 8) }, max_batch: 128 }
    }

    fn call(status: i32) -> Fault {
        call_for(Purpose::Kernels, status)
    }

    fn call_for(purpose: Purpose, status: i32) -> Fault {
        Fault::Call(Error::Call { device: "x".to_string(), call: "clSomething".to_string(), purpose, status })
    }

    fn memory() -> Fault {
        let (device, what) = ("x".to_string(), "weights".to_string());
        Fault::Call(Error::Memory { device, what, needed: 2, available: 1 })
    }

    /// Everything that is tried where `fault` says what comes of it.
    fn all(asked: Size, fault: impl Fn(Tuning) -> Fault) -> Vec<Size> {
        std::iter::successors(Some(asked), |tried| give_way(&fault(tried.tuning), *tried, asked)).collect()
    }

    fn winograds(tried: &[Size]) -> Vec<usize> {
        tried.iter().map(|size| size.tuning.winograd).collect()
    }

    /// Winograd's tile and the groups.
    fn groups(tried: &[Size]) -> Vec<(usize, usize, usize)> {
        tried.iter().map(|Size { tuning, .. }| (tuning.winograd, tuning.lanes, tuning.columns)).collect()
    }

    #[test]
    fn what_does_not_compile_or_is_wrong_gives_way_to_direct_convolutions() {
        for fault in [
            || Fault::Answer(BackendError("wrong".to_string())),
            || {
                Fault::Call(Error::Build {
                    device: "x".to_string(),
                    program: "winograd".to_string(),
                    log: String::new(),
                })
            },
        ] {
            assert_eq!(winograds(&all(asked(), |_| fault())), [4, 2, 0]);
        }
    }

    /// OpenCL's CL_OUT_OF_RESOURCES.
    #[test]
    fn groups_give_way_to_smaller_ones_and_other_kernels_have_all_of_theirs() {
        let Tuning { lanes, columns, .. } = asked().tuning;
        let tried = groups(&all(asked(), |tuning| if tuning.winograd > 0 { call(-5) } else { call(-9999) }));
        assert!(tried.contains(&(4, lanes / 2, columns / 2)), "{tried:?}");
        assert!(tried.contains(&(2, lanes, columns)), "{tried:?}");
        assert_eq!(tried.last(), Some(&(0, lanes, columns)));
        // The same with kernels that are refused at any size.
        let tried = groups(&all(asked(), |_| call(-5)));
        assert_eq!(tried.last(), Some(&(0, LEAST_LANES, 1)));
    }

    /// Some drivers say so if they have no memory for a buffer.
    #[test]
    fn a_buffer_that_is_not_made_is_no_fault_of_groups() {
        let tried = all(asked(), |_| call_for(Purpose::Object, -5));
        let tried: Vec<_> = tried.iter().map(|size| (size.tuning.winograd, size.max_batch)).collect();
        assert_eq!(tried, [(4, 128), (4, 32), (4, 8), (2, 128), (2, 32), (2, 8), (0, 128), (0, 32), (0, 8)]);
    }

    #[test]
    fn where_memory_is_short_batches_give_way_before_tiles() {
        let tried = all(asked(), |_| memory());
        let tried: Vec<_> = tried.iter().map(|size| (size.tuning.winograd, size.max_batch)).collect();
        assert_eq!(tried, [(4, 128), (4, 32), (4, 8), (2, 128), (2, 32), (2, 8), (0, 128), (0, 32), (0, 8)]);
    }

    #[test]
    fn where_local_memory_is_short_nothing_smaller_is_tried() {
        let short = |_| {
            let (device, what) = ("x".to_string(), "squeeze and excitation".to_string());
            Fault::Call(Error::LocalMemory { device, what, needed: 2, available: 1 })
        };
        assert_eq!(all(asked(), short), [asked()]);
        let one = Size { tuning: Tuning { network: 1, ..asked().tuning }, ..asked() };
        assert_eq!(all(one, short), [one, asked()], "one launch shares it among all kernels");
    }

    #[test]
    fn a_device_that_can_not_be_opened_is_not_asked_again() {
        let fault = |_| match call(-6) {
            Fault::Call(error) => Fault::Device(error),
            other => other,
        };
        assert_eq!(all(asked(), fault), [asked()]);
    }

    #[test]
    fn one_launch_gives_way_to_one_for_each_layer() {
        let one = Size { tuning: Tuning { network: 1, ..asked().tuning }, ..asked() };
        let tried = all(one, |_| call(-9999));
        let tried: Vec<_> = tried.iter().map(|size| (size.tuning.network, size.tuning.winograd)).collect();
        assert_eq!(tried, [(1, 4), (0, 4), (0, 2), (0, 0)]);
    }
}
