//! Tests UCI as a state machine: sessions of random commands in random order with random timing. In any session, every
//! `go` gets one legal `bestmove`, which does not come before `stop` or `ponderhit` if the search is infinite or
//! pondering, and every `isready` gets its `readyok`.
//!
//! `ONCILLA_ORDERS` sets the number of sessions (`ci/nightly`: 100,000), and `ONCILLA_SEED` the seed of the first. A
//! session that fails is printed completely, with its seed. Most sessions run the program's UCI loop in this process;
//! some start the real binary.

mod board;
#[path = "../program/mod.rs"]
mod program;
mod random;
mod script;
mod session;
mod transcript;

use random::Random;
use session::Host;
use std::sync::atomic::{AtomicU64, Ordering};
use transcript::Counts;

/// The number of sessions in a usual test run.
const ORDERS: u64 = 1_500;
/// One session in this many runs the real binary.
const BINARY_EVERY: u64 = 20;
/// The number of sessions that run at the same time; most of their time they wait.
const ABREAST: usize = 4;

fn number(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable}: expected a number, got {text}")))
}

/// Runs one session and checks it.
fn hold(seed: u64) -> Counts {
    let random = &mut Random::new(seed);
    let is_binary = seed.is_multiple_of(BINARY_EVERY);
    let host = if is_binary { Host::binary(random) } else { Host::here(random) };
    let arguments = host.arguments.clone();
    let judged = session::hold(host, random)
        .and_then(|transcript| transcript.judge().map_err(|fault| format!("{fault}\n{transcript}")));
    judged.unwrap_or_else(|fault| panic!("seed {seed}, {arguments}: {fault}"))
}

#[test]
fn whatever_comes_every_go_has_its_answer() {
    let first = number("ONCILLA_SEED", 0);
    let last = first + number("ONCILLA_ORDERS", ORDERS);
    let next = AtomicU64::new(first);
    let work = || {
        let mut sum = Counts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                return sum;
            }
            sum.add(&hold(seed));
        }
    };
    let sum = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..ABREAST).map(|_| scope.spawn(work)).collect();
        let mut sum = Counts::default();
        for worker in workers {
            match worker.join() {
                Ok(counts) => sum.add(&counts),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    });
    println!("{} sessions: {sum}", last - first);
    // The sessions are useful only if they reach the states that matter.
    for (what, count) in sum.all() {
        assert!(count * 20 >= last - first, "{what}: {count} in {} sessions", last - first);
    }
}
