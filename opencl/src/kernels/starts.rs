//! What each kind of device starts with, until `tune` has found something better: a shipped table.
//!
//! Most rows are **reasoned, not measured**: they follow from what is published of the hardware, and nobody has run these
//! kernels there. [`Start::basis`] says which is which, and `oncilla tune` prints it. A row only says where the search
//! begins and what runs without one; groups that a device refuses are halved in any case.

use super::{Tuning, Variant};
use crate::device::Device;
use std::fmt;

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// It was the fastest of those that were tried on such a device.
    Measured,
    /// It follows from facts about the hardware; these kernels were not run there.
    Reasoned,
}

/// A row of the table.
#[derive(Debug)]
pub struct Start {
    /// The kind of device.
    pub family: &'static str,
    /// Parts of the name of device or vendor, in small letters; any of them will do.
    words: &'static [&'static str],
    variant: Variant,
    /// [`Tuning::lanes`], [`Tuning::columns`] and [`Tuning::winograd`].
    numbers: (usize, usize, usize),
    /// Where they come from.
    pub basis: Basis,
    /// Why these.
    pub because: &'static str,
}

/// The first row that fits counts. A GPU's convolution has groups of eight times `columns` items.
const STARTS: [Start; 8] = [
    gpu("Mali", &["mali", "arm"], (64, 8, 0), "local memory is global memory there, so that large groups gain nothing"),
    gpu(
        "Adreno",
        &["adreno", "qualcomm", "freedreno"],
        (128, 16, 0),
        "waves of 64 or 128 items, and a local memory of its own",
    ),
    gpu("VideoCore", &["videocore", "v3d", "broadcom"], (32, 4, 0), "16 lanes, few registers, small groups"),
    gpu("NVIDIA", &["nvidia"], (128, 32, 0), "warps of 32 items; eight of them hide the latency of memory"),
    gpu("AMD", &["amd", "advanced micro", "radeon"], (64, 16, 0), "wavefronts of 64 items (GCN) or 32 (RDNA)"),
    gpu("Intel", &["intel"], (64, 8, 0), "threads of 8 to 32 items; small groups spread over more units"),
    gpu("GPU", &[""], (64, 16, 0), "the smallest step from the definitions"),
    Start {
        family: "CPU",
        words: &[""],
        variant: Variant::Cpu,
        numbers: (64, 16, 4),
        basis: Basis::Measured,
        because: "PoCL 3.1 on cores with AVX2",
    },
];

const fn gpu(
    family: &'static str,
    words: &'static [&'static str],
    numbers: (usize, usize, usize),
    because: &'static str,
) -> Start {
    Start { family, words, variant: Variant::Gpu, numbers, basis: Basis::Reasoned, because }
}

impl Start {
    /// The row for a device.
    pub fn of(device: &Device) -> &'static Self {
        let variant = Variant::of(device.kind);
        let names = format!("{} {}", device.name, device.vendor).to_lowercase();
        let fits = |start: &&Start| start.variant == variant && start.words.iter().any(|word| has(&names, word));
        // The last two rows fit everything.
        STARTS.iter().find(fits).unwrap_or(&STARTS[STARTS.len() - 1])
    }

    /// Its numbers, with vectors as wide as the device's.
    pub fn tuning(&self, vector_width: u32) -> Tuning {
        let (lanes, columns, winograd) = self.numbers;
        Tuning { lanes, columns, winograd, ..Tuning::start(self.variant, vector_width) }
    }
}

/// Whether `word` begins a word of `names`: "arm" is no part of "charm".
fn has(names: &str, word: &str) -> bool {
    names.match_indices(word).any(|(at, _)| !names[..at].ends_with(|c: char| c.is_alphanumeric()))
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let basis = match self.basis {
            Basis::Measured => "measured",
            Basis::Reasoned => "reasoned, not measured",
        };
        write!(f, "{} ({basis}: {})", self.family, self.because)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Kind;
    use crate::kernels::tuning::KNOBS;

    fn family(name: &str, vendor: &str, kind: Kind) -> &'static str {
        Start::of(&Device::named(name, vendor, kind)).family
    }

    #[test]
    fn devices_are_known_by_their_names() {
        assert_eq!(family("Mali-G610 r0p0", "ARM", Kind::Gpu), "Mali");
        assert_eq!(family("QUALCOMM Adreno(TM)", "QUALCOMM", Kind::Gpu), "Adreno");
        assert_eq!(family("FD640", "freedreno", Kind::Gpu), "Adreno", "as Mesa calls it");
        assert_eq!(family("V3D 7.1", "Broadcom", Kind::Gpu), "VideoCore");
        assert_eq!(family("gfx1100", "Advanced Micro Devices, Inc.", Kind::Gpu), "AMD");
        assert_eq!(family("Intel(R) UHD Graphics 770", "Intel(R) Corporation", Kind::Gpu), "Intel");
        assert_eq!(family("NVIDIA H200", "NVIDIA Corporation", Kind::Gpu), "NVIDIA");
        assert_eq!(family("Charm 9", "Someone", Kind::Gpu), "GPU");
        assert_eq!(family("pthread-haswell-AMD EPYC", "AuthenticAMD", Kind::Cpu), "CPU");
    }

    #[test]
    fn every_row_is_a_tuning_that_can_be_said() {
        for start in &STARTS {
            let tuning = start.tuning(8);
            assert_eq!(tuning.to_string().parse(), Ok(tuning), "{start}");
            assert!(KNOBS.iter().all(|knob| knob.values.contains(&knob.get(tuning))), "{start}");
            assert_eq!(start.to_string().contains("not measured"), start.variant == Variant::Gpu);
        }
    }
}
