//! Asks all drivers for their devices, and each device for its facts.

use super::facts::Handle;
use super::{Device, Error, Kind, Purpose};
use ocl::ffi::*;
use std::sync::{Mutex, PoisonError};

/// The longest answer to a query that is believed, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// The largest number of platforms, and of devices on a platform, that is believed.
const MAX_COUNT: u32 = 256;

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
pub(super) fn answer(query: impl Fn(size_t, *mut c_void, *mut size_t) -> cl_int) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{alone, device_is_there};

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
    fn a_place_is_four_numbers() {
        let bytes = |place: &[u32]| place.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(place_of(&bytes(&[0, 3, 0, 1])), Some([0, 3, 0, 1]));
        for wrong in [&[][..], &[0, 3, 0], &[0, 3, 0, 1, 2], &[0; 4]] {
            assert_eq!(place_of(&bytes(wrong)), None, "{wrong:?}");
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
}
