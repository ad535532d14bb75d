//! `oncilla backendbench`: evaluations per second and latency, by batch size, without a search.

use std::time::{Duration, Instant};

use oncilla_chess::MoveList;
use serde::Serialize;

use super::{POSITIONS, position};
use crate::engine::{Batch, Evaluator, EvaluatorSettings, HintsFrom};
use crate::progress::Progress;
use crate::uci::console::{Console, aside};

/// Runs of a batch size end after this time, or after [`MOST_RUNS`].
const ENOUGH: Duration = Duration::from_millis(1000);
/// A backend without a network needs no time at all.
const MOST_RUNS: u32 = 100_000;
/// Runs before the clock starts: buffers are made, kernels compiled, caches filled.
const WARM_UP: u32 = 2;

/// One batch size. The JSON output is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Positions evaluated together.
    pub batch: usize,
    /// Evaluations per second.
    pub evals_per_second: f64,
    /// Mean time of a batch.
    pub latency_ms: f64,
    /// Billions of floating-point operations per second, multiplications and additions counted one each.
    pub gflops: f64,
}

/// Reads `1,8,64`.
///
/// # Errors
/// What is no number of positions.
pub fn batches(text: &str) -> Result<Vec<usize>, String> {
    let read = |word: &str| {
        word.trim().parse().ok().filter(|&batch| batch > 0).ok_or_else(|| {
            format!("--batch: expected whole numbers above 0, parted by commas, got {}", crate::text::quoted(word))
        })
    };
    text.split(',').map(read).collect()
}

/// The sizes where nobody says any; those that the device does not take are left out.
pub(super) const USUAL: [usize; 3] = [1, 8, 64];

/// The sizes to measure, before the first is.
pub(super) fn sizes(batches: Option<&[usize]>, most: usize) -> Result<Vec<usize>, String> {
    let Some(batches) = batches else { return Ok(USUAL.into_iter().filter(|&batch| batch <= most).collect()) };
    match batches.iter().find(|&&batch| batch > most) {
        Some(batch) => Err(format!("--batch: expected at most {most}, got {batch}")),
        None => Ok(batches.to_vec()),
    }
}

/// Measures each batch size. Besides the rows there are lines for a person.
///
/// # Errors
/// One line: no network, no device, a batch that the backend does not take, a run that fails.
pub fn run(settings: &EvaluatorSettings, batches: Option<&[usize]>) -> Result<(Vec<Row>, Vec<String>), String> {
    let progress = Progress::on_stderr();
    progress.show("loading the network");
    let (evaluator, mut notes) = Evaluator::new(&EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings.clone() })?;
    progress.clear();
    let batches = sizes(batches, evaluator.max_batch())?;
    let mut positions = evaluator.batch();
    let mut rows = Vec::new();
    for (index, &batch) in batches.iter().enumerate() {
        progress.show(&format!("{}/{}: batch {batch}", index + 1, batches.len()));
        fill(&mut positions, batch)?;
        rows.push(measure(&evaluator, &mut positions, &mut notes)?);
        progress.clear();
    }
    Ok((rows, notes))
}

/// Fills the batch with the bench's positions, over and over.
fn fill(positions: &mut Batch, batch: usize) -> Result<(), String> {
    positions.clear();
    let mut moves = MoveList::new();
    for fen in POSITIONS.iter().cycle().take(batch) {
        let history = position(fen)?;
        history.legal_moves(&mut moves);
        positions.push(&history, &moves);
    }
    Ok(())
}

fn measure(evaluator: &Evaluator, positions: &mut Batch, notes: &mut Vec<String>) -> Result<Row, String> {
    for _ in 0..WARM_UP {
        notes.extend(evaluator.run(positions)?);
    }
    let start = Instant::now();
    let mut runs = 0;
    while runs < MOST_RUNS && (runs == 0 || start.elapsed() < ENOUGH) {
        notes.extend(evaluator.run(positions)?);
        runs += 1;
    }
    // A clock that stood still has at least ticked.
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let batch = positions.len();
    let evals_per_second = f64::from(runs) * batch as f64 / seconds;
    Ok(Row {
        batch,
        evals_per_second,
        latency_ms: 1000.0 * seconds / f64::from(runs),
        gflops: evals_per_second * evaluator.flops() as f64 / 1e9,
    })
}

/// Measures and prints.
///
/// # Errors
/// As [`run`].
pub fn print(
    console: &Console,
    settings: &EvaluatorSettings,
    sizes: Option<&[usize]>,
    json: bool,
) -> Result<(), String> {
    let (rows, notes) = run(settings, sizes)?;
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
