//! Kernels with faults that an implementation such as Oclgrind notices: `ci/oclgrind` runs them to make sure that it
//! would find one. On any other implementation nothing is run.

#![cfg(feature = "opencl")]

use oncilla_opencl::device::{self, Arg, DeviceChoice, Session};

const ITEMS: usize = 4;

const SOURCE: &str = "
__kernel void reads_behind(__global const float *x, __global float *y) { y[get_global_id(0)] = x[1 << 20]; }
__kernel void writes_behind(__global const float *x, __global float *y) { y[get_global_id(0) + 1] = x[0]; }
__kernel void races(__global const float *x, __global float *y) { y[0] = x[get_global_id(0)]; }
";

#[test]
fn faults_are_there_to_be_found() {
    let Ok(device) = device::choose(&DeviceChoice::Auto) else { return };
    if device.platform != "Oclgrind" {
        return;
    }
    // A session for each kernel: what is found in one must not hide what is found in another.
    for name in ["reads_behind", "writes_behind", "races"] {
        let session = Session::open(&device).expect("a device that is there opens");
        let program = session.program("wrong", SOURCE, "").expect("it compiles");
        let (x, y) = (session.upload(&[1.0, 2.0, 3.0, 4.0]).expect("memory"), session.buffer(ITEMS).expect("memory"));
        let kernel = session.kernel(&program, name, &[Arg::Buffer(&x), Arg::Output(&y)]).expect("it is there");
        // SAFETY: the kernel does not stay inside its buffers, but Oclgrind checks before it reads or writes.
        unsafe { session.run(&kernel, [ITEMS, 1], [1, 1]) }.expect("it is enqueued");
        session.finish().expect("it ends");
    }
}
