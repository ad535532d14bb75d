//! What threads do beside a network.

use super::*;

#[test]
fn each_chore_is_done_once_and_every_thread_may_do_some() {
    let mut graph = Graph::new(Shape { channels: 1, squares: 1 });
    let affine =
        Layer::Dense { input: INPUT, channels: 1, weights: vec![2.0], bias: vec![0.0], activation: Activation::None };
    let value = graph.push(affine).expect("a layer");
    graph.output(Role::Value, value).expect("an output");
    for threads in 1..=4 {
        let mut host = Host::new(graph.clone(), threads).expect("a graph for the host");
        let mut run = |rows: usize, count: usize, chore: &(dyn Fn(usize) + Sync)| {
            let input: Vec<f32> = (0..rows).map(|row| row as f32).collect();
            let mut outputs = Outputs::default();
            host.evaluate_beside(Chores { count, chore }, &input, &mut outputs, &|| false).expect("a batch");
            assert!(outputs.value.iter().zip(&input).all(|(value, input)| *value == 2.0 * input));
        };
        // Long enough that a batch is run in either way (`Sharing`).
        for round in 0..100 {
            for (rows, count) in [(1, 0), (1, 1), (2, 7), (3, 3), (9, 100)] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                run(rows, count, &|number| _ = done[number].fetch_add(1, Ordering::Relaxed));
                let done = done.into_iter().map(AtomicUsize::into_inner);
                assert!(done.eq((0..count).map(|_| 1)), "{rows} rows, {count} chores, {threads} threads, {round}");
            }
            // Nobody is through before all have come, so that each thread does one.
            let (come, begun) = (AtomicUsize::new(0), Instant::now());
            run(1 + round % 2, threads, &|_| {
                come.fetch_add(1, Ordering::Relaxed);
                while come.load(Ordering::Relaxed) < threads {
                    assert!(begun.elapsed() < Duration::from_secs(60), "a thread does not come");
                    std::thread::yield_now();
                }
            });
        }
    }
}
