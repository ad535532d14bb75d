//! Platforms and devices: which there are, and which one is meant.
//!
//! [`list`] asks every platform for its devices, in the driver's order, which is that of `clinfo`. [`choose`] picks
//! one. A [`Session`] is one device in use: a context, one in-order queue, and the objects made for it.
//!
//! Drivers are treated as hostile. Handles are released without looking at the status, statuses are plain numbers (a
//! vendor may invent one), lengths that a driver reports are bounded before anything is allocated. This is why the
//! calls go through `ocl`'s declarations ([`ocl::ffi`]) and not through its objects, which panic where a release fails
//! or a status is unknown.

mod alone;
mod arena;
mod error;
mod programs;
mod session;

pub use alone::{Turn, Turns};
pub use arena::Arenas;
pub use error::{Error, Purpose};
pub use programs::{ProgramKey, Programs};
pub use session::{Arg, Argument, Buffer, Commands, Copies, Kernel, Program, Read, Session, Time, host_memory_beside};

use ocl::ffi::*;
use std::cmp::Reverse;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Environment variable that chooses a device if nothing else does: an index or part of a name. From a list with commas
/// the program takes all devices, and the host if `host` is in it; this crate takes the first device.
pub const DEVICE_ENV: &str = "ONCILLA_DEVICE";

/// Environment variable that names the OpenCL library to open instead of the usual ones; `none` means no library at
/// all. It is read where the library is looked up at run time: with the feature `dynamic`, everywhere but on macOS.
pub const LIBRARY_ENV: &str = "ONCILLA_OPENCL_LIBRARY";

/// The longest answer to a query that is believed, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// The largest number of platforms, and of devices on a platform, that is believed.
const MAX_COUNT: u32 = 256;

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
    /// Index in [`list`].
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
    id: Handle,
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
    fn may_be(&self, other: &Self) -> bool {
        let size = |device: &Self| (device.vendor_id, device.compute_units);
        match (self.place, other.place) {
            (Some(here), Some(there)) => here == there,
            _ if self.kind != other.kind => false,
            _ => self.model() == other.model() || self.vendor_id != 0 && size(self) == size(other),
        }
    }

    /// Whether its driver is Mesa's (rusticl, clover) and not its maker's.
    fn is_of_mesa(&self) -> bool {
        ["rusticl", "clover"].iter().any(|platform| self.platform.eq_ignore_ascii_case(platform))
    }

    /// Major and minor version from `OpenCL 3.0 …`; zeros if the driver's version has another form.
    fn version_number(&self) -> (u32, u32) {
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
struct Handle(cl_device_id);

// SAFETY: OpenCL device ids may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: every call that takes a device id is thread-safe.
unsafe impl Sync for Handle {}

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

/// Every device of every platform. A platform that fails is left out, as long as another one has a device. Once devices
/// were found, the list stays the same for the process, and no driver is asked again: so a driver that hangs later does
/// not keep anybody from the list.
///
/// # Errors
/// If there is no platform or no device at all.
pub fn list() -> Result<Vec<Device>, Error> {
    // PoCL 3.1 crashes if two threads list devices for the first time at once.
    static FOUND: Mutex<Vec<Device>> = Mutex::new(Vec::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if found.is_empty() {
        *found = ask_drivers()?;
    }
    Ok(found.clone())
}

fn ask_drivers() -> Result<Vec<Device>, Error> {
    let platforms = platforms()?;
    let mut devices = Vec::new();
    let mut failure = None;
    for platform in platforms {
        match device_ids(platform) {
            Ok(ids) => {
                let name = platform_name(platform);
                for id in ids {
                    devices.push(facts(devices.len(), &name, id));
                }
            }
            Err(error) => failure = Some(error),
        }
    }
    match (devices.is_empty(), failure) {
        (false, _) => Ok(devices),
        (true, Some(error)) => Err(error),
        (true, None) => Err(Error::NoDevice),
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

/// `Ok` for `CL_SUCCESS`, before a device is chosen.
fn check(call: &str, status: cl_int) -> Result<(), Error> {
    match status {
        CL_SUCCESS => Ok(()),
        status => Err(Error::Call { device: String::new(), call: call.to_string(), purpose: Purpose::Object, status }),
    }
}

fn platforms() -> Result<Vec<cl_platform_id>, Error> {
    let mut count = 0;
    // SAFETY: no list is asked for, `count` is a place for the count.
    let status = unsafe { clGetPlatformIDs(0, std::ptr::null_mut(), &mut count) };
    if status == -1001 || (status == CL_SUCCESS && count == 0) {
        return Err(Error::NoPlatform { why: why_no_platform().to_string() });
    }
    check("clGetPlatformIDs", status)?;
    let count = count.min(MAX_COUNT);
    let mut ids = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: `ids` has room for `count` ids.
    check("clGetPlatformIDs", unsafe { clGetPlatformIDs(count, ids.as_mut_ptr(), std::ptr::null_mut()) })?;
    ids.retain(|id| !id.is_null());
    Ok(ids)
}

#[cfg(all(feature = "dynamic", not(target_os = "macos")))]
fn why_no_platform() -> &'static str {
    crate::loader::missing().unwrap_or(NO_DRIVER)
}

#[cfg(not(all(feature = "dynamic", not(target_os = "macos"))))]
fn why_no_platform() -> &'static str {
    NO_DRIVER
}

const NO_DRIVER: &str = "the OpenCL library is there, a driver (ICD) is not";

fn device_ids(platform: cl_platform_id) -> Result<Vec<cl_device_id>, Error> {
    let mut count = 0;
    // SAFETY: `platform` came from the library, no list is asked for, `count` is a place for the count.
    let status = unsafe { clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, std::ptr::null_mut(), &mut count) };
    if status == CL_DEVICE_NOT_FOUND {
        return Ok(Vec::new());
    }
    check("clGetDeviceIDs", status)?;
    let count = count.min(MAX_COUNT);
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut ids = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: `ids` has room for `count` ids.
    let status = unsafe { clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.as_mut_ptr(), std::ptr::null_mut()) };
    check("clGetDeviceIDs", status)?;
    ids.retain(|id| !id.is_null());
    Ok(ids)
}

/// Runs a query in OpenCL's way, twice: for the length, then for the bytes. Empty if the driver refuses.
fn answer(query: impl Fn(size_t, *mut c_void, *mut size_t) -> cl_int) -> Vec<u8> {
    let mut length = 0;
    if query(0, std::ptr::null_mut(), &mut length) != CL_SUCCESS || length == 0 || length > MAX_ANSWER {
        return Vec::new();
    }
    let mut bytes = vec![0u8; length];
    match query(length, bytes.as_mut_ptr().cast(), std::ptr::null_mut()) {
        CL_SUCCESS => bytes,
        _ => Vec::new(),
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn platform_name(platform: cl_platform_id) -> String {
    // SAFETY: `platform` came from the library; `answer` passes null or as many bytes as it says.
    text(&answer(|n, at, len| unsafe { clGetPlatformInfo(platform, CL_PLATFORM_NAME, n, at, len) }))
}

/// Asks a device one question at a time.
struct Query(cl_device_id);

impl Query {
    fn bytes(&self, what: cl_device_info) -> Vec<u8> {
        // SAFETY: the device came from the library; `answer` passes null or as many bytes as it says.
        answer(|n, at, len| unsafe { clGetDeviceInfo(self.0, what, n, at, len) })
    }

    fn text(&self, what: cl_device_info) -> String {
        text(&self.bytes(what))
    }

    /// A number of 4 or 8 bytes, as the device returns it; 0 if the driver refuses.
    fn number(&self, what: cl_device_info) -> u64 {
        let bytes = self.bytes(what);
        match bytes.len() {
            4 => bytes.try_into().map_or(0, u32::from_ne_bytes).into(),
            8 => bytes.try_into().map_or(0, u64::from_ne_bytes),
            _ => 0,
        }
    }
}

/// The first two of several sizes. A size that the driver does not report, or reports as 0, is no limit.
fn first_two(bytes: &[u8]) -> [usize; 2] {
    let mut sizes = bytes.chunks_exact(size_of::<usize>()).map(|size| size.try_into().map_or(0, usize::from_ne_bytes));
    [(); 2].map(|()| sizes.next().filter(|&size| size > 0).unwrap_or(usize::MAX))
}

/// What asks for a device's place, from OpenCL's extension `cl_khr_pci_bus_info`.
const PCI_BUS_INFO: cl_device_info = 0x410F;

/// Four numbers of four bytes; `None` if the driver does not report these, or reports zeros.
fn place_of(bytes: &[u8]) -> Option<[u32; 4]> {
    let mut place = [0; 4];
    for (number, bytes) in place.iter_mut().zip(bytes.chunks_exact(4)) {
        *number = u32::from_ne_bytes(bytes.try_into().ok()?);
    }
    (bytes.len() == 16 && place != [0; 4]).then_some(place)
}

/// Bytes of OpenCL's largest type, a vector of 16 longs.
const LARGEST_TYPE: u32 = 128;

/// Bytes of four floats, which kernels read and write as one: whatever a driver reports, they have to be aligned.
const FOUR_FLOATS: u32 = 16;

/// The alignment in bytes, from what a driver reports in bits; if it reports 0, as much as any type needs.
fn alignment_of(bits: u64) -> u32 {
    match u32::try_from(bits / 8).unwrap_or(0) {
        0 => LARGEST_TYPE,
        bytes => bytes.max(FOUR_FLOATS),
    }
}

fn facts(index: usize, platform: &str, id: cl_device_id) -> Device {
    let ask = Query(id);
    let bits = ask.number(CL_DEVICE_TYPE);
    let small = |what| u32::try_from(ask.number(what)).unwrap_or(u32::MAX);
    Device {
        index,
        name: ask.text(CL_DEVICE_NAME),
        vendor: ask.text(CL_DEVICE_VENDOR),
        vendor_id: small(CL_DEVICE_VENDOR_ID),
        place: place_of(&ask.bytes(PCI_BUS_INFO)),
        driver: ask.text(CL_DRIVER_VERSION),
        version: ask.text(CL_DEVICE_VERSION),
        platform: platform.to_string(),
        kind: match bits {
            bits if bits & CL_DEVICE_TYPE_GPU != 0 => Kind::Gpu,
            bits if bits & CL_DEVICE_TYPE_CPU != 0 => Kind::Cpu,
            _ => Kind::Accelerator,
        },
        // If a driver does not report the number, there is one at least.
        compute_units: small(CL_DEVICE_MAX_COMPUTE_UNITS).max(1),
        clock_mhz: small(CL_DEVICE_MAX_CLOCK_FREQUENCY),
        global_memory: ask.number(CL_DEVICE_GLOBAL_MEM_SIZE),
        max_allocation: ask.number(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        alignment: alignment_of(ask.number(CL_DEVICE_MEM_BASE_ADDR_ALIGN)),
        max_work_group: ask.number(CL_DEVICE_MAX_WORK_GROUP_SIZE) as usize,
        max_items: first_two(&ask.bytes(CL_DEVICE_MAX_WORK_ITEM_SIZES)),
        shares_memory: ask.number(CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
        local_memory: ask.number(CL_DEVICE_LOCAL_MEM_SIZE),
        vector_width: small(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
        fp16: ask.text(CL_DEVICE_EXTENSIONS).split(' ').any(|e| e == "cl_khr_fp16"),
        rounds_quotients: ask.number(CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
        available: ask.number(CL_DEVICE_AVAILABLE) != 0 && ask.number(CL_DEVICE_COMPILER_AVAILABLE) != 0,
        id: Handle(id),
    }
}

/// The device that tests use; `None`, and a line that says so, if there is none and none is required.
#[cfg(test)]
pub(crate) fn device_is_there() -> Option<Device> {
    oncilla_testing::opencl(choose(&DeviceChoice::Auto))
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
    fn a_size_that_a_driver_does_not_say_is_no_limit() {
        let bytes = |sizes: &[usize]| sizes.iter().flat_map(|size| size.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(first_two(&bytes(&[1024, 1, 1])), [1024, 1]);
        assert_eq!(first_two(&bytes(&[64])), [64, usize::MAX]);
        assert_eq!(first_two(&bytes(&[0, 8])), [usize::MAX, 8]);
        assert_eq!(first_two(&[1, 2]), [usize::MAX; 2]);
    }

    #[test]
    fn an_alignment_suits_four_floats_and_one_that_a_driver_does_not_say_every_type() {
        assert_eq!([1024, 256, 128, 32, 8, 4, 0].map(alignment_of), [128, 32, 16, 16, 16, 128, 128]);
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
    fn a_compiler_at_work_keeps_nobody_from_the_list() {
        let Some(device) = device_is_there() else { return };
        let _compiler = alone::compiler_alone(&device.platform);
        // A thread that waited here would wait for ever.
        assert!(std::thread::spawn(list).join().expect("no panic").is_ok());
        drop(alone::compiler_alone("another platform"));
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
    fn a_place_is_four_numbers() {
        let bytes = |place: &[u32]| place.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(place_of(&bytes(&[0, 3, 0, 1])), Some([0, 3, 0, 1]));
        for wrong in [&[][..], &[0, 3, 0], &[0, 3, 0, 1, 2], &[0; 4]] {
            assert_eq!(place_of(&bytes(wrong)), None, "{wrong:?}");
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
