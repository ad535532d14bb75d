//! What the user wants to run the network on.

use super::device::GETTING_READY;
use super::settings::{BackendKind, EvaluatorSettings};
use oncilla_opencl::device::{self, DeviceChoice};
use oncilla_opencl::watched::within;

/// One of the things on which the user wants to run the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedBackend {
    /// An OpenCL device.
    Device(DeviceChoice),
    /// The host's cores, beside devices.
    Host,
}

/// What the settings name, or else what [`device::DEVICE_ENV`] names, where commas separate several names.
pub fn wanted(settings: &EvaluatorSettings) -> Vec<WantedBackend> {
    let by_environment = || device::named_by_environment().unwrap_or_default();
    let names = match settings.devices.is_empty() {
        true => by_environment().split(',').filter(|name| !name.trim().is_empty()).map(str::to_string).collect(),
        false => settings.devices.clone(),
    };
    let wanted = |name: &String| match name.trim() {
        name if name.eq_ignore_ascii_case("host") => WantedBackend::Host,
        name => WantedBackend::Device(DeviceChoice::from(name)),
    };
    match names.is_empty() {
        true => vec![WantedBackend::Device(DeviceChoice::Auto)],
        false => names.iter().map(wanted).collect(),
    }
}

/// The first device that the settings name.
pub fn device_choice(settings: &EvaluatorSettings) -> DeviceChoice {
    let device = |wanted| match wanted {
        WantedBackend::Device(choice) => Some(choice),
        WantedBackend::Host => None,
    };
    wanted(settings).into_iter().find_map(device).unwrap_or_default()
}

/// Whether the user has said which device to use, or that there should be one.
pub fn is_asked_for(settings: &EvaluatorSettings) -> bool {
    let names_one =
        |wanted: &WantedBackend| matches!(wanted, WantedBackend::Device(choice) if *choice != DeviceChoice::Auto);
    let is_named = wanted(settings).iter().any(names_one) || device::named_by_environment().is_some();
    is_named || settings.backend != BackendKind::Auto
}

/// Keeps each device once, however many names it has, with a line for each that is left out: a second queue on it is
/// opened in any case. The host, and devices for which there is no index, are left as they are.
pub fn once_each(
    wanted: Vec<WantedBackend>,
    index_of: impl Fn(&DeviceChoice) -> Option<usize>,
) -> (Vec<WantedBackend>, Vec<String>) {
    if wanted.len() < 2 {
        return (wanted, Vec::new());
    }
    let (mut known, mut notes) = (Vec::new(), Vec::new());
    let mut is_new = |wanted: &WantedBackend| {
        let WantedBackend::Device(choice) = wanted else { return true };
        let Some(index) = index_of(choice) else { return true };
        if known.contains(&index) {
            notes.push(format!("OpenCL device {index} is named more than once, and runs the network once"));
            return false;
        }
        known.push(index);
        true
    };
    let kept = wanted.into_iter().filter(|wanted| is_new(wanted)).collect();
    (kept, notes)
}

/// The index of the device that a name means; `None` if no device has this name or if a driver hangs: opening it
/// reports that.
pub fn index_of(choice: &DeviceChoice) -> Option<usize> {
    let which = choice.clone();
    let chosen = within(GETTING_READY, move || device::choose(&which)).ok()?;
    chosen.ok().map(|device| device.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_with_two_names_is_opened_once() {
        let wanted = |names: &[&str]| {
            let named = |name: &&str| match *name {
                "host" => WantedBackend::Host,
                name => WantedBackend::Device(DeviceChoice::from(name)),
            };
            names.iter().map(named).collect::<Vec<_>>()
        };
        // Device 1 is a Mali, the device that is chosen without a name is device 0, and there are no others.
        let index_of = |choice: &DeviceChoice| match choice {
            DeviceChoice::Auto => Some(0),
            DeviceChoice::Index(index) => Some(*index).filter(|index| *index < 2),
            DeviceChoice::Name(_) => Some(1),
        };
        for (named, kept, left_out) in [
            (&["0", "0"][..], &["0"][..], 1),
            (&["Mali", "0", "1", "auto"], &["Mali", "0"], 2),
            (&["host", "host", "0"], &["host", "host", "0"], 0),
            (&["9", "9"], &["9", "9"], 0),
            (&["0"], &["0"], 0),
        ] {
            let (got, notes) = once_each(wanted(named), index_of);
            assert_eq!((got, notes.len()), (wanted(kept), left_out), "{named:?}: {notes:?}");
        }
        let (_, notes) = once_each(wanted(&["1", "Mali"]), index_of);
        assert_eq!(notes, ["OpenCL device 1 is named more than once, and runs the network once"]);
    }
}
