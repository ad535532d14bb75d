//! Which device is meant: the one that a user names, or the one that promises most.

use super::{DEVICE_ENV, Device, Error, Kind, list};
use std::cmp::Reverse;

/// Which device is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The one that [`DEVICE_ENV`] names; if it is not set, the first of [`candidates`].
    #[default]
    Auto,
    /// Index in [`list`].
    Index(usize),
    /// Part of the name of the device or of its platform, in upper or lower case; the first device that matches.
    Name(String),
}

impl From<&str> for DeviceChoice {
    /// A number is an index, an empty text or `auto` is [`DeviceChoice::Auto`], anything else part of a name.
    fn from(text: &str) -> Self {
        let text = text.trim();
        match text.parse() {
            Ok(index) => DeviceChoice::Index(index),
            Err(_) if text.is_empty() || text.eq_ignore_ascii_case("auto") => DeviceChoice::Auto,
            Err(_) => DeviceChoice::Name(text.to_string()),
        }
    }
}

/// The value of [`DEVICE_ENV`], if it is set.
pub fn named_by_environment() -> Option<String> {
    std::env::var(DEVICE_ENV).ok().filter(|name| !name.trim().is_empty())
}

/// The device that `choice` means.
///
/// # Errors
/// If there is no device, or none that matches `choice`.
pub fn choose(choice: &DeviceChoice) -> Result<Device, Error> {
    Ok(candidates(choice)?.swap_remove(0))
}

/// The devices that `choice` may mean, at least one: if it names none, all that there are, the most promising first;
/// otherwise the one that is named.
///
/// # Errors
/// If there is no device, or none that matches `choice`.
pub fn candidates(choice: &DeviceChoice) -> Result<Vec<Device>, Error> {
    let devices = list()?;
    let choice = match choice {
        DeviceChoice::Auto => first_named(&named_by_environment().unwrap_or_default()),
        other => other.clone(),
    };
    let no_match = || Error::NoMatch {
        asked: match &choice {
            DeviceChoice::Auto => "auto".to_string(),
            DeviceChoice::Index(index) => index.to_string(),
            DeviceChoice::Name(name) => name.clone(),
        },
        there: devices.iter().map(|d| format!("{} {}", d.index, d.name)).collect(),
    };
    let meant: Vec<Device> = pick(&choice, &devices).into_iter().map(|at| devices[at].clone()).collect();
    if meant.is_empty() { Err(no_match()) } else { Ok(meant) }
}

/// The first device in a list like that of [`DEVICE_ENV`], in which `host` is not a device.
fn first_named(list: &str) -> DeviceChoice {
    let devices = list.split(',').filter(|name| !name.trim().eq_ignore_ascii_case("host")).map(DeviceChoice::from);
    devices.into_iter().find(|choice| *choice != DeviceChoice::Auto).unwrap_or_default()
}

/// The indices of the devices that are meant, see [`candidates`].
fn pick(choice: &DeviceChoice, devices: &[Device]) -> Vec<usize> {
    let named = match choice {
        DeviceChoice::Index(index) => devices.iter().position(|d| d.index == *index),
        DeviceChoice::Name(name) => {
            let name = name.to_lowercase();
            let named = |text: &str| text.to_lowercase().contains(&name);
            devices.iter().position(|d| named(&d.name)).or_else(|| devices.iter().position(|d| named(&d.platform)))
        }
        DeviceChoice::Auto => return by_promise(devices),
    };
    named.into_iter().collect()
}

/// The indices of the available devices: GPUs first, then accelerators, then CPUs. A GPU with memory of its own comes
/// before one inside of a processor. Of two drivers for the same device its maker's comes before Mesa's, and otherwise
/// the one with the newer OpenCL; all else stays in the driver's order.
fn by_promise(devices: &[Device]) -> Vec<usize> {
    let kind = |device: &Device| match device.kind {
        Kind::Gpu => 0,
        Kind::Accelerator => 1,
        Kind::Cpu => 2,
    };
    let first_seen = |device: &Device| devices.iter().position(|other| other.may_be(device));
    let mut places: Vec<usize> = (0..devices.len()).collect();
    places.sort_by_key(|&at| {
        let device = &devices[at];
        let driver = (device.is_of_mesa(), Reverse(device.version_number()));
        (!device.available, kind(device), device.shares_memory, first_seen(device), driver)
    });
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(index: usize, name: &str, kind: Kind) -> Device {
        Device { index, platform: "Platform P".to_string(), ..Device::named(name, "", kind) }
    }

    #[test]
    fn a_choice_is_an_index_a_part_of_a_name_or_nothing() {
        assert_eq!(DeviceChoice::from(" 2 "), DeviceChoice::Index(2));
        assert_eq!(DeviceChoice::from("Mali"), DeviceChoice::Name("Mali".to_string()));
        assert_eq!(DeviceChoice::from("auto"), DeviceChoice::Auto);
        assert_eq!(DeviceChoice::from(""), DeviceChoice::Auto);
    }

    #[test]
    fn of_a_list_the_first_device_is_meant() {
        let first = |list| first_named(list);
        assert_eq!(first("host, Mali ,0"), DeviceChoice::Name("Mali".to_string()));
        assert_eq!(first("0,"), DeviceChoice::Index(0));
        for nothing in ["", "host", " HOST , auto,"] {
            assert_eq!(first(nothing), DeviceChoice::Auto, "{nothing:?}");
        }
    }

    #[test]
    fn a_gpu_comes_before_a_cpu_and_names_match_in_part() {
        let devices = [device(0, "Some CPU", Kind::Cpu), device(1, "Mali-G610", Kind::Gpu)];
        assert_eq!(pick(&DeviceChoice::Auto, &devices), [1, 0]);
        assert_eq!(pick(&DeviceChoice::Auto, &devices[..1]), [0]);
        assert!(pick(&DeviceChoice::Auto, &[]).is_empty());
        assert_eq!(pick(&DeviceChoice::from("cpu"), &devices), [0]);
        assert_eq!(pick(&DeviceChoice::from("platform p"), &devices), [0]);
        assert!(pick(&DeviceChoice::from("7"), &devices).is_empty());
        assert!(pick(&DeviceChoice::from("Adreno"), &devices).is_empty());
    }

    #[test]
    fn a_maker_s_driver_comes_before_mesa_s_for_the_same_device() {
        let of = |platform: &str, version: &str, name, compute_units| Device {
            platform: platform.to_string(),
            version: version.to_string(),
            vendor_id: 0x1002,
            compute_units,
            ..device(0, name, Kind::Gpu)
        };
        let mesa = |units| of("rusticl", "OpenCL 3.0", "AMD Radeon RX 6600 (radeonsi, navi23)", units);
        let maker = |units| of("AMD Accelerated Parallel Processing", "OpenCL 2.0", "gfx1032", units);
        let at = |device, bus| Device { place: Some([0, bus, 0, 0]), ..device };
        let other_maker = |device| Device { vendor_id: 0x8086, ..device };
        for (devices, order) in [
            ([mesa(14), maker(14)], [1, 0]),
            ([maker(14), of("Clover", "OpenCL 1.1", "AMD Radeon RX 6600 (navi23)", 14)], [0, 1]),
            ([mesa(14), maker(40)], [0, 1]),
            ([mesa(14), other_maker(maker(14))], [0, 1]),
            ([at(mesa(14), 3), at(maker(14), 4)], [0, 1]),
            ([at(mesa(14), 3), at(maker(28), 3)], [1, 0]),
            ([at(mesa(14), 3), maker(14)], [1, 0]),
            ([Device { vendor_id: 0, ..mesa(14) }, Device { vendor_id: 0, ..maker(14) }], [0, 1]),
        ] {
            assert_eq!(by_promise(&devices), order, "{devices:?}");
        }
    }

    #[test]
    fn what_promises_most_comes_first() {
        let named = |name, version: &str, kind| Device { version: version.to_string(), ..device(0, name, kind) };
        let inside = |device| Device { shares_memory: true, ..device };
        let devices = [
            named("CPU", "OpenCL 3.0 pocl", Kind::Cpu),
            inside(named("UHD Graphics 770", "OpenCL 3.0 NEO", Kind::Gpu)),
            named("FPGA Emulation Device", "OpenCL 1.2", Kind::Accelerator),
            named("RX 580 (polaris10, LLVM 15)", "OpenCL 1.1 Mesa 22.3 clover", Kind::Gpu),
            named("Arc A380", "OpenCL 3.0 NEO", Kind::Gpu),
            named("RX 580 (radeonsi, polaris10)", "OpenCL 3.0", Kind::Gpu),
            Device { available: false, ..named("A770", "OpenCL 3.0", Kind::Gpu) },
        ];
        assert_eq!(by_promise(&devices), [5, 3, 4, 1, 2, 0, 6]);
        assert_eq!(named("", "OpenCL 1.2", Kind::Gpu).version_number(), (1, 2));
        assert_eq!(named("", "something", Kind::Gpu).version_number(), (0, 0));
    }
}
