//! What each kind of device starts with, until `tune` has found something better: a shipped table.
//!
//! Most rows are **reasoned, not measured**: they follow from what is published about the hardware, and these kernels
//! have not been run there. [`Start::basis`] says which is which, and `oncilla tune` prints it. A row only says where
//! the search begins and what runs without one; groups that a device refuses are halved in any case.

use super::{Tuning, Variant};
use crate::device::Device;
use std::fmt;

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// They were the fastest of those that were tried on such a device.
    Measured,
    /// They follow from facts about the hardware; these kernels were not run there.
    Reasoned,
}

/// A row of the table.
#[derive(Debug)]
pub struct Start {
    /// The kind of device.
    pub family: &'static str,
    /// Parts of the name of device or vendor, in lower case; one of them has to match.
    words: &'static [&'static str],
    variant: Variant,
    /// What the row sets in [`Tuning::start`].
    change: fn(Tuning) -> Tuning,
    /// Where the numbers come from.
    pub basis: Basis,
    /// Why they were chosen.
    pub because: &'static str,
}

/// The first row that matches is used. A GPU's convolution has groups of eight times `columns` items.
const STARTS: [Start; 8] = [
    gpu(
        "Mali",
        &["mali", "arm"],
        |start| Tuning { columns: 8, depth: 0, ..start },
        "local memory is global memory there: nothing is gained by a copy in it, nor by large groups",
    ),
    gpu(
        "Adreno",
        &["adreno", "qualcomm", "freedreno"],
        |start| Tuning { lanes: 128, ..start },
        "waves of 64 or 128 items, and a local memory of its own",
    ),
    gpu(
        "VideoCore",
        &["videocore", "v3d", "broadcom"],
        |start| Tuning { winograd: 2, lanes: 32, columns: 4, depth: 0, ..start },
        "16 lanes, few registers, small groups, local memory that is global memory",
    ),
    Start {
        basis: Basis::Measured,
        ..gpu(
            "NVIDIA",
            &["nvidia"],
            |start| Tuning { lanes: 128, columns: 32, ..start },
            "an H200, among groups of other sizes and direct convolutions: docs/changes.md",
        )
    },
    gpu("AMD", &["amd", "advanced micro", "radeon"], |start| start, "wavefronts of 64 items (GCN) or 32 (RDNA)"),
    gpu(
        "Intel",
        &["intel"],
        |start| Tuning { columns: 8, ..start },
        "threads of 8 to 32 items; small groups spread over more units",
    ),
    gpu("GPU", &[""], |start| start, "groups of a size that every GPU takes"),
    Start {
        family: "CPU",
        words: &[""],
        variant: Variant::Cpu,
        change: |start| start,
        basis: Basis::Measured,
        because: "PoCL 3.1 on cores with AVX2",
    },
];

const fn gpu(
    family: &'static str,
    words: &'static [&'static str],
    change: fn(Tuning) -> Tuning,
    because: &'static str,
) -> Start {
    Start { family, words, variant: Variant::Gpu, change, basis: Basis::Reasoned, because }
}

impl Start {
    /// The row for a device.
    pub fn of(device: &Device) -> &'static Self {
        let variant = Variant::of(device.kind);
        let names = format!("{} {}", device.name, device.vendor).to_lowercase();
        let fits = |start: &&Start| start.variant == variant && start.words.iter().any(|word| has(&names, word));
        // The last two rows match everything.
        STARTS.iter().find(fits).unwrap_or(&STARTS[STARTS.len() - 1])
    }

    /// The row's tuning, with vectors as wide as the device's.
    pub fn tuning(&self, vector_width: u32) -> Tuning {
        (self.change)(Tuning::start(self.variant, vector_width))
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
            let is_measured = start.variant == Variant::Cpu || start.family == "NVIDIA";
            assert_eq!(start.to_string().contains("not measured"), !is_measured, "{start}");
        }
    }
}
