//! After the first batch of a size, the host allocates nothing.

use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, Shape, SqueezeExcite};
use oncilla_opencl::host::Host;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A graph with one layer of each kind.
fn graph() -> Graph {
    let mut graph = Graph::new(Shape { channels: 20, squares: 64 });
    let se = SqueezeExcite { hidden: 4, w1: vec![0.1; 80], b1: vec![0.1; 4], w2: vec![0.1; 160], b2: vec![0.1; 40] };
    let conv = Layer::Conv {
        input: INPUT,
        channels: 20,
        kernel: 3,
        weights: vec![0.01; 20 * 20 * 9],
        bias: vec![0.1; 20],
        se: Some(se),
        residual: Some(INPUT),
        activation: Activation::Mish,
    };
    let tower = graph.push(conv).expect("it fits");
    let policy = graph
        .push(Layer::Gather { input: tower, indices: (0..1280).rev().collect(), squares: 1, residual: None })
        .expect("it fits");
    let constant = Layer::Constant { shape: Shape { channels: 20, squares: 64 }, values: vec![0.3; 1280] };
    let constant = graph.push(constant).expect("it fits");
    let gate = Layer::Gate { input: tower, scale: vec![0.5; 1280], shift: vec![0.1; 1280] };
    let gated = graph.push(gate).expect("it fits");
    let norm = Layer::LayerNorm { input: gated, epsilon: 1e-3, gammas: vec![1.0; 20], betas: vec![0.0; 20] };
    let normed = graph.push(norm).expect("it fits");
    let weights = vec![0.01; 4096 * 5].into();
    let parts = graph.push(Layer::Gather { input: normed, indices: (0..20).collect(), squares: 1, residual: None });
    let parts = parts.expect("it fits");
    let bias = graph.push(Layer::Smolgen { input: parts, heads: 4, weights }).expect("it fits");
    let rms = Layer::RmsNorm { input: normed, epsilon: 1e-3, whole: false };
    let normed = graph.push(rms).expect("it fits");
    let turned = graph.push(Layer::Rotate { input: normed, angles: vec![0.1; 640] }).expect("it fits");
    let normed = graph.push(Layer::Multiply { left: normed, right: turned }).expect("it fits");
    let attention = Layer::Attention { query: normed, key: constant, value: normed, heads: 4, bias: Some(bias) };
    let attended = graph.push(attention).expect("it fits");
    let scores = graph.push(Layer::Scores { query: attended, key: normed }).expect("it fits");
    let sum = Layer::Gather { input: scores, indices: (0..1280).collect(), squares: 1, residual: Some(policy) };
    let policy = graph.push(sum).expect("it fits");
    let pooled = graph.push(Layer::Pool { input: tower }).expect("it fits");
    let added = Layer::Gather { input: pooled, indices: (10..30).collect(), squares: 1, residual: None };
    let added = graph.push(added).expect("it fits");
    let (scale, shift) = (vec![0.5; 20], vec![0.1; 20]);
    let affine = Layer::Affine { input: tower, added: Some(added), scale, shift, activation: Activation::Mish };
    let affine = graph.push(affine).expect("it fits");
    let wide = Layer::Conv {
        input: affine,
        channels: 20,
        kernel: 5,
        weights: vec![0.01; 20 * 20 * 25],
        bias: vec![0.1; 20],
        se: None,
        residual: None,
        activation: Activation::Relu,
    };
    let tower = graph.push(wide).expect("it fits");
    let (weights, bias) = (vec![0.01; 3 * 1280], vec![0.1; 3]);
    let dense = Layer::Dense { input: tower, channels: 3, weights, bias, activation: Activation::Softmax };
    let wdl = graph.push(dense).expect("it fits");
    graph.output(Role::Policy, policy).expect("any length");
    graph.output(Role::Wdl, wdl).expect("three");
    graph
}

#[test]
fn evaluations_allocate_nothing() {
    let input = vec![0.5; 32 * 20 * 64];
    for threads in [1, 2] {
        let mut host = Host::new(graph(), threads).expect("a host");
        let mut outputs = Outputs::default();
        let mut rounds = |count: usize| {
            let before = ALLOCATED.load(Ordering::Relaxed);
            for batch in (1..=32).cycle().take(32 * count) {
                host.evaluate(&input[..batch * 20 * 64], &mut outputs).expect("an evaluation");
            }
            ALLOCATED.load(Ordering::Relaxed) - before
        };
        rounds(2);
        // The queues of the thread pool now and then grow by a block of a few kilobytes; values have 5 kB for each
        // position.
        let allowed = if threads == 1 { 0 } else { 32 * 1024 };
        let allocated = rounds(4);
        assert!(allocated <= allowed, "{threads} threads: 128 batches allocated {allocated} bytes");
    }
}
