//! A device: what its driver says of it, and what follows from that.

use ocl::ffi::cl_device_id;
use std::fmt;

/// What kind of device a device claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The host's own cores behind OpenCL.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Anything else.
    Accelerator,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Cpu => "cpu",
            Kind::Gpu => "gpu",
            Kind::Accelerator => "accelerator",
        })
    }
}

/// Facts about one device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Index in [`list`](super::list).
    pub index: usize,
    /// The device's name.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// The number of who made it; 0 if the driver doesn't know.
    pub vendor_id: u32,
    /// Its domain, bus, device and function, if the driver says where it is.
    pub place: Option<[u32; 4]>,
    /// Version of its driver.
    pub driver: String,
    /// OpenCL version of the device, such as `OpenCL 3.0 pocl`.
    pub version: String,
    /// Name of its platform.
    pub platform: String,
    /// What kind of device it is.
    pub kind: Kind,
    /// Number of compute units; 1 if the driver doesn't know.
    pub compute_units: u32,
    /// Clock in MHz; 0 if the driver doesn't know.
    pub clock_mhz: u32,
    /// Bytes of global memory.
    pub global_memory: u64,
    /// Bytes of the largest single buffer.
    pub max_allocation: u64,
    /// The regions of a buffer have to begin at a multiple of this many bytes, at least of those of four floats; if the
    /// driver doesn't know, it is the largest number that any device may want.
    pub alignment: u32,
    /// The largest number of work items in a group, for a kernel that needs little.
    pub max_work_group: usize,
    /// The largest number of work items in a group along dimensions 0 and 1.
    pub max_items: [usize; 2],
    /// Whether the device's memory is the host's: a GPU inside of a processor.
    pub shares_memory: bool,
    /// Bytes of local memory.
    pub local_memory: u64,
    /// How many floats the vector registers hold: 8 with AVX2, 16 with AVX-512, often 1 on a GPU.
    pub vector_width: u32,
    /// Whether the device can compute in half precision.
    pub fp16: bool,
    /// Whether the device can be told to round quotients as the host does; otherwise they may be off in the last bit.
    pub rounds_quotients: bool,
    /// Whether the driver says that device and compiler work.
    pub available: bool,
    pub(super) id: Handle,
}

impl Device {
    /// The device's index and its name, for messages.
    pub fn label(&self) -> String {
        format!("OpenCL device {} \"{}\"", self.index, self.name)
    }

    /// The device's name without what Mesa's drivers append to it in brackets.
    fn model(&self) -> &str {
        self.name.split(" (").next().unwrap_or_default()
    }

    /// Whether both are one device, seen through two drivers, as far as these tell: the place says so if both know it.
    /// Otherwise it is the name, or maker and size, for drivers that give a device names of their own.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        let size = |device: &Self| (device.vendor_id, device.compute_units);
        match (self.place, other.place) {
            (Some(here), Some(there)) => here == there,
            _ if self.kind != other.kind => false,
            _ => self.model() == other.model() || self.vendor_id != 0 && size(self) == size(other),
        }
    }

    /// Major and minor version from `OpenCL 3.0 …`; zeros if the driver's version has another form.
    pub(super) fn version_number(&self) -> (u32, u32) {
        let number = self.version.strip_prefix("OpenCL ").and_then(|rest| rest.split(' ').next()?.split_once('.'));
        number.map_or((0, 0), |(major, minor)| (major.parse().unwrap_or(0), minor.parse().unwrap_or(0)))
    }
}

#[cfg(test)]
impl Device {
    /// A device that does not exist.
    pub fn named(name: &str, vendor: &str, kind: Kind) -> Self {
        Self {
            index: 0,
            name: name.to_string(),
            vendor: vendor.to_string(),
            vendor_id: 0,
            place: None,
            driver: String::new(),
            version: String::new(),
            platform: String::new(),
            kind,
            compute_units: 1,
            clock_mhz: 0,
            global_memory: 0,
            max_allocation: 0,
            alignment: 1,
            max_work_group: 1,
            max_items: [1; 2],
            shares_memory: false,
            local_memory: 0,
            vector_width: 1,
            fp16: false,
            rounds_quotients: false,
            available: true,
            id: Handle(std::ptr::null_mut()),
        }
    }
}

/// A device's id. Platforms own their root devices, so that it stays valid and needs no release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(pub(super) cl_device_id);

// SAFETY: OpenCL device ids may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: every call that takes a device id is thread-safe.
unsafe impl Sync for Handle {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({}, {}, {}, driver {}): {} compute units at {} MHz, {} MiB, largest buffer {} MiB, local {} KiB, \
             work group {}, fp16 {}{}",
            self.index,
            self.name,
            self.kind,
            self.platform,
            self.version,
            self.driver,
            self.compute_units,
            self.clock_mhz,
            self.global_memory >> 20,
            self.max_allocation >> 20,
            self.local_memory >> 10,
            self.max_work_group,
            if self.fp16 { "yes" } else { "no" },
            if self.available { "" } else { ", not available" },
        )
    }
}
