//! Measures the GFLOP/s of the `gemm` crate in single precision, at 512×512×512 and 256×256×4096.
//!
//!     gemm-yardstick THREADS SECONDS

use gemm::{Parallelism, gemm};
use std::time::Instant;

const SIZES: [[usize; 3]; 2] = [[512, 512, 512], [256, 256, 4096]];

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<f64>().expect("a number"));
    let (threads, seconds) = (args.next().unwrap_or(1.0) as usize, args.next().unwrap_or(0.5));
    let parallelism = if threads == 1 { Parallelism::None } else { Parallelism::Rayon(threads) };
    for [m, k, n] in SIZES {
        println!("{:.2}", rate([m, k, n], parallelism, seconds));
    }
}

fn rate([m, k, n]: [usize; 3], parallelism: Parallelism, seconds: f64) -> f64 {
    let (a, b) = (vec![0.5f32; m * k], vec![0.25f32; k * n]);
    let mut c = vec![0.0f32; m * n];
    let mut multiply = || {
        let row = |columns: usize| columns as isize;
        // SAFETY: row-major matrices of m·k, k·n and m·n numbers.
        unsafe {
            gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                row(n),
                false,
                a.as_ptr(),
                1,
                row(k),
                b.as_ptr(),
                1,
                row(n),
                0.0,
                1.0,
                false,
                false,
                false,
                parallelism,
            );
        }
    };
    multiply();
    let (start, mut runs) = (Instant::now(), 0.0);
    while start.elapsed().as_secs_f64() < seconds {
        multiply();
        runs += 1.0;
    }
    2.0 * (m * k * n) as f64 * runs / start.elapsed().as_secs_f64() / 1e9
}
