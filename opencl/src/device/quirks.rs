//! What depends on which driver it is. A driver is known by its platform's name, which stays the same from version to
//! version; nothing else in this crate compares that name.

use super::{Device, Kind};

/// A driver that needs a way of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// PoCL: the host's cores, and lately other devices.
    Pocl,
    /// Mesa's driver of today.
    Rusticl,
    /// Mesa's driver before.
    Clover,
    /// NVIDIA's own.
    Nvidia,
    /// The simulator that finds accesses out of bounds.
    Oclgrind,
    Other,
}

impl Driver {
    fn of(platform: &str) -> Self {
        match platform {
            "Portable Computing Language" => Driver::Pocl,
            "rusticl" => Driver::Rusticl,
            "Clover" => Driver::Clover,
            "NVIDIA CUDA" => Driver::Nvidia,
            "Oclgrind" => Driver::Oclgrind,
            _ => Driver::Other,
        }
    }
}

impl Device {
    fn known_driver(&self) -> Driver {
        Driver::of(&self.platform)
    }

    /// Whether its driver is Mesa's and not its maker's.
    pub(super) fn is_of_mesa(&self) -> bool {
        matches!(self.known_driver(), Driver::Rusticl | Driver::Clover)
    }

    /// Whether batches on different queues need [`super::Turns`].
    pub(super) fn needs_turns(&self) -> bool {
        self.known_driver() == Driver::Pocl
    }

    /// Whether launches may get lost without any error: a GPU can be reset, the host's own cores can't, and with
    /// NVIDIA's driver every call fails after a launch that failed. If launches can't get lost, the work of noticing
    /// that is saved: with an event for each launch a batch of maia-1500 took 1.3 times as long on an H200.
    pub(super) fn may_lose_launches(&self) -> bool {
        self.kind != Kind::Cpu && self.known_driver() != Driver::Nvidia
    }

    /// Whether the driver begins with nothing new before all that was flushed is done: rusticl waits so, in the versions
    /// that distributions have.
    pub(crate) fn waits_at_flush(&self) -> bool {
        self.known_driver() == Driver::Rusticl
    }

    /// Whether groups that wait for each other's items finish. Mesa's llvmpipe, for one, leaves a loop after 65,535
    /// turns, whatever its condition says. Oclgrind runs one group after the other, as it is used here.
    pub(crate) fn runs_groups_together(&self) -> bool {
        match self.known_driver() {
            Driver::Pocl => self.kind == Kind::Cpu,
            driver => driver == Driver::Oclgrind,
        }
    }

    /// Whether the driver can say which arguments of a kernel are `const`.
    #[cfg(test)]
    pub(crate) fn knows_const_arguments(&self) -> bool {
        self.known_driver() == Driver::Pocl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each driver: of Mesa, turns, lost launches, waits at a flush, groups together.
    #[test]
    fn each_driver_has_its_own_ways() {
        let ways = |platform: &str, kind| {
            let device = Device { platform: platform.to_string(), ..Device::named("", "", kind) };
            let ways = [
                device.is_of_mesa(),
                device.needs_turns(),
                device.may_lose_launches(),
                device.waits_at_flush(),
                device.runs_groups_together(),
            ];
            ways.map(|way| if way { 'x' } else { '.' }).iter().collect::<String>()
        };
        for (platform, kind, expected) in [
            ("Portable Computing Language", Kind::Cpu, ".x..x"),
            ("Portable Computing Language", Kind::Gpu, ".xx.."),
            ("rusticl", Kind::Gpu, "x.xx."),
            ("rusticl", Kind::Cpu, "x..x."),
            ("Clover", Kind::Gpu, "x.x.."),
            ("NVIDIA CUDA", Kind::Gpu, "....."),
            ("Oclgrind", Kind::Cpu, "....x"),
            ("AMD Accelerated Parallel Processing", Kind::Gpu, "..x.."),
            ("Intel(R) OpenCL", Kind::Cpu, "....."),
        ] {
            assert_eq!(ways(platform, kind), expected, "{platform}, {kind}");
        }
    }
}
