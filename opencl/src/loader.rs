//! The OpenCL library, found when the program runs instead of when it is linked.
//!
//! `cl-sys` links `-lOpenCL`, so a program built with it does not start where that library is missing. Here every entry
//! point that `cl-sys` declares is defined once more, each forwarding to the symbol of the same name in a library that
//! is opened when it is first wanted; `build.rs` gives the linker an empty library, so that `-lOpenCL` is satisfied by
//! nothing.
//!
//! Without a library `clGetPlatformIDs` reports 0 platforms, everything else gives [`ABSENT`]. The environment variable
//! [`LIBRARY_ENV`] names another library; `none` means none at all.
//!
//! The table was generated from the declarations in `cl-sys` 0.4.3, `cl_h.rs` (OpenCL 1.2) and `cl_gl_h.rs`, one line a
//! function, parameter names dropped. `status` functions give a `cl_int`; `handle` functions give an object and write
//! their status through a last `*mut cl_int`, which the macro adds.

use crate::device::LIBRARY_ENV;
use ocl::ffi::*;
use std::sync::OnceLock;
use system::Library;

#[cfg(unix)]
#[path = "loader/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "loader/windows.rs"]
mod system;

/// `CL_PLATFORM_NOT_FOUND_KHR`: what a call gives that found no library or no symbol.
pub const ABSENT: cl_int = -1001;

type OnContext = Option<extern "C" fn(*const c_char, *const c_void, size_t, *mut c_void)>;
type OnMem = Option<extern "C" fn(cl_mem, *mut c_void)>;
type OnProgram = Option<extern "C" fn(cl_program, *mut c_void)>;
type OnEvent = Option<extern "C" fn(cl_event, cl_int, *mut c_void)>;
type OnTask = Option<extern "C" fn(*mut c_void)>;

/// The first of the usual ones that can be opened. One that is there and can't be says more than those that are not.
fn open_usual() -> Result<Library, String> {
    let mut why = None;
    for name in system::NAMES {
        match system::open_usual(name) {
            Ok(library) => return Ok(library),
            Err(error) if system::is_absent(&error) => {}
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or_else(|| format!("there is no {} on this machine", system::WHAT)))
}

/// The library, opened once and never closed: drivers keep threads that a closed library would pull the code from
/// under. Without one, why not.
fn library() -> &'static Result<Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var(LIBRARY_ENV).map(|name| name.trim().to_string()) {
        Ok(name) if name == "none" => Err(format!("{LIBRARY_ENV} is none")),
        // An empty name is none: the linker would give the program itself for it.
        Ok(name) if !name.is_empty() => system::open(&name).map_err(|why| format!("{LIBRARY_ENV}: {why}")),
        _ => open_usual(),
    })
}

/// What the system's linker says.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Why no OpenCL library could be opened; `None` where one was.
pub fn missing() -> Option<&'static str> {
    library().as_ref().err().map(String::as_str)
}

/// The function `$name` of the library with the given signature, looked up once; `None` without it.
macro_rules! lookup {
    ($name:ident, ($($ty:ty),*) -> $ret:ty) => {{
        type Function = unsafe extern "system" fn($($ty),*) -> $ret;
        static SYMBOL: OnceLock<Option<Function>> = OnceLock::new();
        *SYMBOL.get_or_init(|| {
            let library = library().as_ref().ok()?;
            // SAFETY: OpenCL fixes the signature that a symbol of this name has; the table repeats it.
            unsafe { library.get::<Function>(stringify!($name)) }.ok().map(|function| *function)
        })
    }};
}

/// Defines forwarding functions; see the head of the file.
macro_rules! entry_points {
    () => {};
    (status $name:ident($($ty:ty),*); $($rest:tt)*) => {
        entry_points!(@status $name [] [a b c d e f g h i j k l m n] [$($ty,)*]);
        entry_points!($($rest)*);
    };
    (handle $name:ident($($ty:ty),*) -> $ret:ty; $($rest:tt)*) => {
        entry_points!(@handle $name $ret, [] [a b c d e f g h i j k l m n] [$($ty,)*]);
        entry_points!($($rest)*);
    };
    // Each type takes the next name of the list, until no type is left.
    (@status $name:ident [$($arg:ident: $at:ty,)*] [$next:ident $($names:ident)*] [$ty:ty, $($tys:ty,)*]) => {
        entry_points!(@status $name [$($arg: $at,)* $next: $ty,] [$($names)*] [$($tys,)*]);
    };
    (@status $name:ident [$($arg:ident: $ty:ty,)*] [$($names:ident)*] []) => {
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $name($($arg: $ty),*) -> cl_int {
            match lookup!($name, ($($ty),*) -> cl_int) {
                // SAFETY: the caller keeps the contract of the OpenCL function of this name.
                Some(function) => unsafe { function($($arg),*) },
                None => ABSENT,
            }
        }
    };
    (@handle $name:ident $ret:ty, [$($arg:ident: $at:ty,)*] [$next:ident $($names:ident)*] [$ty:ty, $($tys:ty,)*]) => {
        entry_points!(@handle $name $ret, [$($arg: $at,)* $next: $ty,] [$($names)*] [$($tys,)*]);
    };
    (@handle $name:ident $ret:ty, [$($arg:ident: $ty:ty,)*] [$($names:ident)*] []) => {
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $name($($arg: $ty,)* status: *mut cl_int) -> $ret {
            match lookup!($name, ($($ty,)* *mut cl_int) -> $ret) {
                // SAFETY: the caller keeps the contract of the OpenCL function of this name.
                Some(function) => unsafe { function($($arg,)* status) },
                None => {
                    if !status.is_null() {
                        // SAFETY: OpenCL lets a caller pass null or a place for the status.
                        unsafe { *status = ABSENT };
                    }
                    std::ptr::null_mut()
                }
            }
        }
    };
}

/// 0 platforms and success without a library: an error here makes `ocl` wait and ask again.
#[unsafe(no_mangle)]
unsafe extern "system" fn clGetPlatformIDs(entries: cl_uint, ids: *mut cl_platform_id, count: *mut cl_uint) -> cl_int {
    match lookup!(clGetPlatformIDs, (cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int) {
        // SAFETY: the caller keeps the contract of the OpenCL function of this name.
        Some(function) => unsafe { function(entries, ids, count) },
        None => {
            if !count.is_null() {
                // SAFETY: OpenCL lets a caller pass null or a place for the count.
                unsafe { *count = 0 };
            }
            CL_SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetExtensionFunctionAddress(name: *mut c_char) -> *mut c_void {
    match lookup!(clGetExtensionFunctionAddress, (*mut c_char) -> *mut c_void) {
        // SAFETY: the caller keeps the contract of the OpenCL function of this name.
        Some(function) => unsafe { function(name) },
        None => std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetExtensionFunctionAddressForPlatform(
    platform: cl_platform_id,
    name: *const c_char,
) -> *mut c_void {
    match lookup!(clGetExtensionFunctionAddressForPlatform, (cl_platform_id, *const c_char) -> *mut c_void) {
        // SAFETY: the caller keeps the contract of the OpenCL function of this name.
        Some(function) => unsafe { function(platform, name) },
        None => std::ptr::null_mut(),
    }
}

entry_points! {
    status clGetPlatformInfo(cl_platform_id, cl_platform_info, size_t, *mut c_void, *mut size_t);
    status clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint, *mut cl_device_id, *mut cl_uint);
    status clGetDeviceInfo(cl_device_id, cl_device_info, size_t, *mut c_void, *mut size_t);
    status clCreateSubDevices(cl_device_id, *const cl_device_partition_property, cl_uint, *mut cl_device_id, *mut cl_uint);
    status clRetainDevice(cl_device_id);
    status clReleaseDevice(cl_device_id);
    handle clCreateContext(*const cl_context_properties, cl_uint, *const cl_device_id, OnContext, *mut c_void) -> cl_context;
    handle clCreateContextFromType(*const cl_context_properties, cl_device_type, OnContext, *mut c_void) -> cl_context;
    status clRetainContext(cl_context);
    status clReleaseContext(cl_context);
    status clGetContextInfo(cl_context, cl_context_info, size_t, *mut c_void, *mut size_t);
    handle clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties) -> cl_command_queue;
    status clRetainCommandQueue(cl_command_queue);
    status clReleaseCommandQueue(cl_command_queue);
    status clGetCommandQueueInfo(cl_command_queue, cl_command_queue_info, size_t, *mut c_void, *mut size_t);
    handle clCreateBuffer(cl_context, cl_mem_flags, size_t, *mut c_void) -> cl_mem;
    handle clCreateSubBuffer(cl_mem, cl_mem_flags, cl_buffer_create_type, *const c_void) -> cl_mem;
    handle clCreateImage2D(cl_context, cl_mem_flags, *mut cl_image_format, size_t, size_t, size_t, *mut c_void) -> cl_mem;
    handle clCreateImage3D(cl_context, cl_mem_flags, *mut cl_image_format, size_t, size_t, size_t, size_t, size_t, *mut c_void) -> cl_mem;
    handle clCreateImage(cl_context, cl_mem_flags, *const cl_image_format, *const cl_image_desc, *mut c_void) -> cl_mem;
    status clRetainMemObject(cl_mem);
    status clReleaseMemObject(cl_mem);
    status clGetSupportedImageFormats(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint, *mut cl_image_format, *mut cl_uint);
    status clGetMemObjectInfo(cl_mem, cl_mem_info, size_t, *mut c_void, *mut size_t);
    status clGetImageInfo(cl_mem, cl_image_info, size_t, *mut c_void, *mut size_t);
    status clSetMemObjectDestructorCallback(cl_mem, OnMem, *mut c_void);
    handle clCreateSampler(cl_context, cl_bool, cl_addressing_mode, cl_filter_mode) -> cl_sampler;
    status clRetainSampler(cl_sampler);
    status clReleaseSampler(cl_sampler);
    status clGetSamplerInfo(cl_sampler, cl_sampler_info, size_t, *mut c_void, *mut size_t);
    handle clCreateProgramWithSource(cl_context, cl_uint, *const *const c_char, *const size_t) -> cl_program;
    handle clCreateProgramWithBinary(cl_context, cl_uint, *const cl_device_id, *const size_t, *const *const c_uchar, *mut cl_int) -> cl_program;
    handle clCreateProgramWithBuiltInKernels(cl_context, cl_uint, *const cl_device_id, *const c_char) -> cl_program;
    status clRetainProgram(cl_program);
    status clReleaseProgram(cl_program);
    status clBuildProgram(cl_program, cl_uint, *const cl_device_id, *const c_char, OnProgram, *mut c_void);
    status clUnloadCompiler();
    status clCompileProgram(cl_program, cl_uint, *const cl_device_id, *const c_char, cl_uint, *const cl_program, *const *const c_char, OnProgram, *mut c_void);
    handle clLinkProgram(cl_context, cl_uint, *const cl_device_id, *const c_char, cl_uint, *const cl_program, OnProgram, *mut c_void) -> cl_program;
    status clGetProgramInfo(cl_program, cl_program_info, size_t, *mut c_void, *mut size_t);
    status clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t, *mut c_void, *mut size_t);
    handle clCreateKernel(cl_program, *const c_char) -> cl_kernel;
    status clCreateKernelsInProgram(cl_program, cl_uint, *mut cl_kernel, *mut cl_uint);
    status clRetainKernel(cl_kernel);
    status clReleaseKernel(cl_kernel);
    status clSetKernelArg(cl_kernel, cl_uint, size_t, *const c_void);
    status clGetKernelInfo(cl_kernel, cl_kernel_info, size_t, *mut c_void, *mut size_t);
    status clGetKernelArgInfo(cl_kernel, cl_uint, cl_kernel_arg_info, size_t, *mut c_void, *mut size_t);
    status clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, *mut c_void, *mut size_t);
    status clWaitForEvents(cl_uint, *const cl_event);
    status clGetEventInfo(cl_event, cl_event_info, size_t, *mut c_void, *mut size_t);
    handle clCreateUserEvent(cl_context) -> cl_event;
    status clRetainEvent(cl_event);
    status clReleaseEvent(cl_event);
    status clSetUserEventStatus(cl_event, cl_int);
    status clSetEventCallback(cl_event, cl_int, OnEvent, *mut c_void);
    status clGetEventProfilingInfo(cl_event, cl_profiling_info, size_t, *mut c_void, *mut size_t);
    status clFlush(cl_command_queue);
    status clFinish(cl_command_queue);
    status clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, *mut c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueReadBufferRect(cl_command_queue, cl_mem, cl_bool, *const size_t, *const size_t, *const size_t, size_t, size_t, size_t, size_t, *mut c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, *const c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueWriteBufferRect(cl_command_queue, cl_mem, cl_bool, *const size_t, *const size_t, *const size_t, size_t, size_t, size_t, size_t, *const c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueFillBuffer(cl_command_queue, cl_mem, *const c_void, size_t, size_t, size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueCopyBuffer(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueCopyBufferRect(cl_command_queue, cl_mem, cl_mem, *const size_t, *const size_t, *const size_t, size_t, size_t, size_t, size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueReadImage(cl_command_queue, cl_mem, cl_bool, *const size_t, *const size_t, size_t, size_t, *mut c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueWriteImage(cl_command_queue, cl_mem, cl_bool, *const size_t, *const size_t, size_t, size_t, *const c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueFillImage(cl_command_queue, cl_mem, *const c_void, *const size_t, *const size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueCopyImage(cl_command_queue, cl_mem, cl_mem, *const size_t, *const size_t, *const size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueCopyImageToBuffer(cl_command_queue, cl_mem, cl_mem, *const size_t, *const size_t, size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueCopyBufferToImage(cl_command_queue, cl_mem, cl_mem, size_t, *const size_t, *const size_t, cl_uint, *const cl_event, *mut cl_event);
    handle clEnqueueMapBuffer(cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint, *const cl_event, *mut cl_event) -> *mut c_void;
    handle clEnqueueMapImage(cl_command_queue, cl_mem, cl_bool, cl_map_flags, *const size_t, *const size_t, *mut size_t, *mut size_t, cl_uint, *const cl_event, *mut cl_event) -> *mut c_void;
    status clEnqueueUnmapMemObject(cl_command_queue, cl_mem, *mut c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueMigrateMemObjects(cl_command_queue, cl_uint, *const cl_mem, cl_mem_migration_flags, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, *const size_t, *const size_t, *const size_t, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueTask(cl_command_queue, cl_kernel, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueNativeKernel(cl_command_queue, OnTask, *mut c_void, size_t, cl_uint, *const cl_mem, *const *const c_void, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueMarker(cl_command_queue, *mut cl_event);
    status clEnqueueMarkerWithWaitList(cl_command_queue, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueWaitForEvents(cl_command_queue, cl_uint, *mut cl_event);
    status clEnqueueBarrierWithWaitList(cl_command_queue, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueBarrier(cl_command_queue);
    handle clCreateFromGLBuffer(cl_context, cl_mem_flags, cl_GLuint) -> cl_mem;
    handle clCreateFromGLTexture(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint) -> cl_mem;
    status clGetGLObjectInfo(cl_mem, *mut cl_gl_object_type, *mut cl_GLuint);
    status clGetGLTextureInfo(cl_mem, cl_gl_texture_info, size_t, *mut c_void, *mut size_t);
    handle clCreateFromGLRenderbuffer(cl_context, cl_mem_flags, cl_GLuint) -> cl_mem;
    status clEnqueueAcquireGLObjects(cl_command_queue, cl_uint, *const cl_mem, cl_uint, *const cl_event, *mut cl_event);
    status clEnqueueReleaseGLObjects(cl_command_queue, cl_uint, *const cl_mem, cl_uint, *const cl_event, *mut cl_event);
    status clGetGLContextInfoKHR(*const cl_context_properties, cl_gl_context_info, size_t, *mut c_void, *mut size_t);
    handle clCreateFromGLTexture2D(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint) -> cl_mem;
    handle clCreateFromGLTexture3D(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint) -> cl_mem;
}
