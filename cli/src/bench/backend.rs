//! `oncilla backendbench`: measures evaluations per second and latency by batch size, without a search.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oncilla_chess::MoveList;
use oncilla_go::Size;
use serde::Serialize;

use super::{POSITIONS, position};
use crate::console::{Console, aside};
use crate::evaluator::{Batch, Evaluator};
use crate::network::{EvaluatorSettings, HintsFrom, Request, Service, serve};
use crate::progress::Progress;
use crate::subject::{Subject, expect_no_board, model};

/// The most batches that are evaluated at the same time; more threads would show nothing new.
pub const MOST_AT_A_TIME: usize = 64;

/// The time after which the runs of a batch size end, if not earlier by [`MOST_RUNS`].
const ENOUGH: Duration = Duration::from_millis(1000);
/// The most runs of a batch. A backend without a network needs hardly any time.
const MOST_RUNS: u32 = 100_000;
/// Runs before the measurement, which allocate buffers, compile kernels and fill caches.
const WARM_UP: u32 = 2;

/// The results for one batch size. The JSON output is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The number of positions in a batch.
    pub batch: usize,
    /// Evaluations per second.
    pub evals_per_second: f64,
    /// The mean time of a batch, which may include waiting for other batches.
    pub latency_ms: f64,
    /// Billions of floating-point operations per second; a multiplication and an addition are two.
    pub gflops: f64,
}

/// Parses a list of batch sizes, such as `1,8,64`.
///
/// # Errors
/// A part is not a whole number above 0.
pub fn batches(text: &str) -> Result<Vec<usize>, String> {
    let read = |word: &str| {
        word.trim().parse().ok().filter(|&batch| batch > 0).ok_or_else(|| {
            format!("--batch: expected whole numbers above 0, separated by commas, got {}", crate::text::quoted(word))
        })
    };
    text.split(',').map(read).collect()
}

/// The default sizes; those that the device does not support are left out.
const USUAL: [usize; 3] = [1, 8, 64];

/// The sizes to measure, and those that were asked for but are larger than the device takes.
///
/// # Errors
/// All of them are larger.
pub(super) fn sizes(batches: Option<&[usize]>, most: usize) -> Result<[Vec<usize>; 2], String> {
    let fits = |&batch: &usize| batch <= most;
    let Some(batches) = batches else { return Ok([USUAL.into_iter().filter(fits).collect(), Vec::new()]) };
    let (possible, others): (Vec<usize>, Vec<usize>) = batches.iter().partition(|&batch| fits(batch));
    match (possible.is_empty(), others.first()) {
        (true, Some(batch)) => Err(format!("--batch: expected at most {most}, got {batch}")),
        _ => Ok([possible, others]),
    }
}

/// Says which sizes are left out.
pub(super) fn say_too_large(others: &[usize], most: usize) {
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(usize::to_string).collect();
        aside(&format!("--batch: {} left out; the device takes at most {most}", others.join(", ")));
    }
}

/// The evaluator or service that is measured.
enum Measured {
    Chess(Box<Evaluator>),
    Go { subject: Box<Subject>, service: Service },
}

/// A batch that is evaluated repeatedly, with its evaluator or service.
enum Filled<'m> {
    /// Chess positions.
    Chess(&'m Evaluator, Box<Batch>),
    /// The input of a Go network, and its number of rows.
    Go(&'m Service, Arc<Request>, usize),
}

impl Measured {
    fn open(settings: &EvaluatorSettings, board: Size) -> Result<(Self, Vec<String>), String> {
        if model(settings)?.is_none() {
            expect_no_board(board)?;
            let settings = EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings.clone() };
            let (evaluator, notes) = Evaluator::new(&settings)?;
            evaluator.keep_batches();
            return Ok((Self::Chess(Box::new(evaluator)), notes));
        }
        let (subject, mut notes) = Subject::of(settings, board)?;
        let (service, said) = serve(settings, &Arc::new(subject.graph.clone()))?;
        service.keep_batches();
        notes.extend(said);
        Ok((Self::Go { subject: Box::new(subject), service }, notes))
    }

    fn max_batch(&self) -> usize {
        match self {
            Self::Chess(evaluator) => evaluator.max_batch(),
            Self::Go { service, .. } => service.facts().max_batch,
        }
    }

    fn flops(&self) -> u64 {
        match self {
            Self::Chess(evaluator) => evaluator.flops(),
            Self::Go { subject, .. } => subject.graph.flops(),
        }
    }

    /// A batch with the bench's positions, repeated as necessary.
    fn fill(&self, batch: usize) -> Result<Filled<'_>, String> {
        Ok(match self {
            Self::Chess(evaluator) => {
                let mut positions = evaluator.batch();
                fill(&mut positions, batch)?;
                Filled::Chess(evaluator, Box::new(positions))
            }
            Self::Go { subject, service } => {
                let request = Arc::new(Request::default());
                request.content().input = subject.inputs(batch);
                Filled::Go(service, request, batch)
            }
        })
    }
}

impl Filled<'_> {
    /// Evaluates the batch once.
    fn run(&mut self) -> Result<Option<String>, String> {
        match self {
            Self::Chess(evaluator, positions) => evaluator.run(positions),
            Self::Go(service, request, rows) => service.run(request, *rows),
        }
    }

    /// Evaluates the batch repeatedly until [`ENOUGH`] time has passed since `start`.
    fn run_for_a_while(&mut self, start: Instant) -> Result<Ran, String> {
        let mut ran = Ran::default();
        while ran.count < MOST_RUNS && (ran.count == 0 || start.elapsed() < ENOUGH) {
            ran.notes.extend(self.run()?);
            ran.count += 1;
        }
        Ok(ran)
    }
}

/// Measures each batch size. Also returns notes for the user.
///
/// # Errors
/// One line: no network, no device, no batch size that the backend supports, or a run that fails.
pub fn run(
    settings: &EvaluatorSettings,
    board: Size,
    batches: Option<&[usize]>,
    at_a_time: usize,
) -> Result<(Vec<Row>, Vec<String>), String> {
    let progress = Progress::on_stderr();
    progress.show("loading the network");
    let (measured, mut notes) = Measured::open(settings, board)?;
    progress.clear();
    let [batches, others] = sizes(batches, measured.max_batch())?;
    say_too_large(&others, measured.max_batch());
    let mut rows = Vec::new();
    for (index, &batch) in batches.iter().enumerate() {
        progress.show(&format!("{}/{}: batch {batch}", index + 1, batches.len()));
        let filled = (0..at_a_time).map(|_| measured.fill(batch)).collect::<Result<Vec<_>, _>>()?;
        rows.push(measure(filled, batch, measured.flops(), &mut notes)?);
        progress.clear();
    }
    Ok((rows, notes))
}

/// Fills the batch with the bench's positions, repeated as necessary.
fn fill(positions: &mut Batch, batch: usize) -> Result<(), String> {
    let mut moves = MoveList::new();
    for fen in POSITIONS.iter().cycle().take(batch) {
        let history = position(fen)?;
        history.legal_moves(&mut moves);
        positions.push(&history, &moves);
    }
    Ok(())
}

/// Measures these batches at the same time. Each has `batch` positions, and each position takes `flops` operations.
fn measure(mut filled: Vec<Filled<'_>>, batch: usize, flops: u64, notes: &mut Vec<String>) -> Result<Row, String> {
    for filled in &mut filled {
        for _ in 0..WARM_UP {
            notes.extend(filled.run()?);
        }
    }
    let start = Instant::now();
    let ran = match &mut filled[..] {
        // A single batch is evaluated in this thread, like in a program that has only one.
        [one] => one.run_for_a_while(start)?,
        several => std::thread::scope(|scope| {
            let each = several.iter_mut();
            let running: Vec<_> = each.map(|one| scope.spawn(move || one.run_for_a_while(start))).collect();
            let ended = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.reduce(|all, one| Ok(all?.and(one?))).unwrap_or(Ok(Ran::default()))
        })?,
    };
    notes.extend(ran.notes);
    // Avoids a division by zero if the clock has not advanced.
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let evals_per_second = f64::from(ran.count) * batch as f64 / seconds;
    Ok(Row {
        batch,
        evals_per_second,
        latency_ms: 1000.0 * seconds * filled.len() as f64 / f64::from(ran.count),
        gflops: evals_per_second * flops as f64 / 1e9,
    })
}

/// The number of batches that were evaluated, and the notes about them.
#[derive(Default)]
struct Ran {
    count: u32,
    notes: Vec<String>,
}

impl Ran {
    fn and(mut self, other: Self) -> Self {
        self.notes.extend(other.notes);
        Self { count: self.count + other.count, ..self }
    }
}

/// Measures and prints the results.
///
/// # Errors
/// Like [`run`].
pub fn print(
    console: &Console,
    settings: &EvaluatorSettings,
    board: Size,
    sizes: Option<&[usize]>,
    at_a_time: usize,
    json: bool,
) -> Result<(), String> {
    let (rows, notes) = run(settings, board, sizes, at_a_time)?;
    notes.iter().for_each(|note| aside(note));
    if json {
        console.say(&serde_json::to_string(&rows).map_err(|error| error.to_string())?);
        return Ok(());
    }
    console.say(&format!("{:>6} {:>12} {:>12} {:>10}", "batch", "evals/s", "latency ms", "GFLOPS"));
    for Row { batch, evals_per_second, latency_ms, gflops } in &rows {
        console.say(&format!("{batch:>6} {evals_per_second:>12.1} {latency_ms:>12.3} {gflops:>10.2}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_takes_few_positions_is_measured_with_few() {
        let usual = |most| sizes(None, most).map(|[possible, _]| possible);
        assert_eq!([usual(128), usual(20), usual(1)], [vec![1, 8, 64], vec![1, 8], vec![1]].map(Ok));
        assert_eq!(sizes(Some(&[2, 5]), 5), Ok([vec![2, 5], vec![]]));
        assert_eq!(sizes(Some(&[2, 6, 1]), 5), Ok([vec![2, 1], vec![6]]));
        assert_eq!(sizes(Some(&[6, 7]), 5), Err("--batch: expected at most 5, got 6".to_string()));
    }

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!(batches("1,8, 64"), Ok(vec![1, 8, 64]));
        for text in ["", "0", "1,,2", "-1", "1;2"] {
            assert!(batches(text).unwrap_err().starts_with("--batch: expected whole numbers"), "{text}");
        }
    }
}
