//! `oncilla backendbench`: evaluations per second and latency, by batch size, without a search.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oncilla_chess::MoveList;
use oncilla_go::Size;
use serde::Serialize;

use super::{POSITIONS, position};
use crate::engine::{Batch, Evaluator, EvaluatorSettings, HintsFrom, Request, Service, Subject, model, serve};
use crate::progress::Progress;
use crate::uci::console::{Console, aside};

/// The most batches at a time: with more threads than that nothing new is learnt.
pub const MOST_AT_A_TIME: usize = 64;

/// Runs of a batch size end after this time, or after [`MOST_RUNS`].
const ENOUGH: Duration = Duration::from_millis(1000);
/// A backend without a network needs no time at all.
const MOST_RUNS: u32 = 100_000;
/// Runs before the clock starts: buffers are made, kernels compiled, caches filled.
const WARM_UP: u32 = 2;

/// The results for one batch size. The JSON output is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Positions evaluated together.
    pub batch: usize,
    /// Evaluations per second.
    pub evals_per_second: f64,
    /// Mean time of a batch, be it that others were evaluated beside it.
    pub latency_ms: f64,
    /// Billions of floating-point operations per second, multiplications and additions counted one each.
    pub gflops: f64,
}

/// Reads `1,8,64`.
///
/// # Errors
/// If a part is not a number of positions.
pub fn batches(text: &str) -> Result<Vec<usize>, String> {
    let read = |word: &str| {
        word.trim().parse().ok().filter(|&batch| batch > 0).ok_or_else(|| {
            format!("--batch: expected whole numbers above 0, separated by commas, got {}", crate::text::quoted(word))
        })
    };
    text.split(',').map(read).collect()
}

/// The sizes where nobody says any; those that the device does not take are left out.
const USUAL: [usize; 3] = [1, 8, 64];

/// The sizes to measure, before the first is.
pub(super) fn sizes(batches: Option<&[usize]>, most: usize) -> Result<Vec<usize>, String> {
    let Some(batches) = batches else { return Ok(USUAL.into_iter().filter(|&batch| batch <= most).collect()) };
    match batches.iter().find(|&&batch| batch > most) {
        Some(batch) => Err(format!("--batch: expected at most {most}, got {batch}")),
        None => Ok(batches.to_vec()),
    }
}

/// What is measured.
enum Measured {
    Chess(Box<Evaluator>),
    Go { subject: Box<Subject>, service: Service },
}

/// A batch that is evaluated again and again, and by what.
enum Filled<'m> {
    /// Positions of chess.
    Chess(&'m Evaluator, Box<Batch>),
    /// So many rows of a network of Go.
    Go(&'m Service, Arc<Request>, usize),
}

impl Measured {
    fn open(settings: &EvaluatorSettings, board: Size) -> Result<(Self, Vec<String>), String> {
        if model(settings)?.is_none() {
            let settings = EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings.clone() };
            let (evaluator, notes) = Evaluator::new(&settings)?;
            return Ok((Self::Chess(Box::new(evaluator)), notes));
        }
        let (subject, mut notes) = Subject::of(settings, board)?;
        let (service, said) = serve(settings, &Arc::new(subject.graph.clone()))?;
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

    /// A batch of the bench's positions, over and over.
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
    /// Evaluates it.
    fn run(&mut self) -> Result<Option<String>, String> {
        match self {
            Self::Chess(evaluator, positions) => evaluator.run(positions),
            Self::Go(service, request, rows) => service.run(request, *rows),
        }
    }

    /// Evaluates it for so long since `start`.
    fn run_for_a_while(&mut self, start: Instant) -> Result<Ran, String> {
        let mut ran = Ran::default();
        while ran.count < MOST_RUNS && (ran.count == 0 || start.elapsed() < ENOUGH) {
            ran.notes.extend(self.run()?);
            ran.count += 1;
        }
        Ok(ran)
    }
}

/// Measures each batch size. Besides the rows there are lines for a person.
///
/// # Errors
/// In one line: no network, no device, a batch that the backend does not take, or a run that fails.
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
    let batches = sizes(batches, measured.max_batch())?;
    let mut rows = Vec::new();
    for (index, &batch) in batches.iter().enumerate() {
        progress.show(&format!("{}/{}: batch {batch}", index + 1, batches.len()));
        let filled = (0..at_a_time).map(|_| measured.fill(batch)).collect::<Result<Vec<_>, _>>()?;
        rows.push(measure(filled, batch, measured.flops(), &mut notes)?);
        progress.clear();
    }
    Ok((rows, notes))
}

/// Fills the batch with the bench's positions, over and over.
fn fill(positions: &mut Batch, batch: usize) -> Result<(), String> {
    let mut moves = MoveList::new();
    for fen in POSITIONS.iter().cycle().take(batch) {
        let history = position(fen)?;
        history.legal_moves(&mut moves);
        positions.push(&history, &moves);
    }
    Ok(())
}

/// Measures all of these batches at the same time, each of `batch` positions, which take `flops` operations each.
fn measure(mut filled: Vec<Filled<'_>>, batch: usize, flops: u64, notes: &mut Vec<String>) -> Result<Row, String> {
    for filled in &mut filled {
        for _ in 0..WARM_UP {
            notes.extend(filled.run()?);
        }
    }
    let start = Instant::now();
    let ran = match &mut filled[..] {
        // In this thread, as in any program that has one batch.
        [one] => one.run_for_a_while(start)?,
        several => std::thread::scope(|scope| {
            let each = several.iter_mut();
            let running: Vec<_> = each.map(|one| scope.spawn(move || one.run_for_a_while(start))).collect();
            let ended = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.reduce(|all, one| Ok(all?.and(one?))).unwrap_or(Ok(Ran::default()))
        })?,
    };
    notes.extend(ran.notes);
    // A clock that stood still has at least ticked.
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let evals_per_second = f64::from(ran.count) * batch as f64 / seconds;
    Ok(Row {
        batch,
        evals_per_second,
        latency_ms: 1000.0 * seconds * filled.len() as f64 / f64::from(ran.count),
        gflops: evals_per_second * flops as f64 / 1e9,
    })
}

/// Batches that were evaluated, and what was said.
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

/// Measures and prints.
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
        assert_eq!([sizes(None, 128), sizes(None, 20), sizes(None, 1)], [vec![1, 8, 64], vec![1, 8], vec![1]].map(Ok));
        assert_eq!(sizes(Some(&[2, 5]), 5), Ok(vec![2, 5]));
        assert_eq!(sizes(Some(&[2, 6]), 5), Err("--batch: expected at most 5, got 6".to_string()));
    }

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!(batches("1,8, 64"), Ok(vec![1, 8, 64]));
        for text in ["", "0", "1,,2", "-1", "1;2"] {
            assert!(batches(text).unwrap_err().starts_with("--batch: expected whole numbers"), "{text}");
        }
    }
}
