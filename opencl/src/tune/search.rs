//! Tries one knob after the other.

use super::{baseline, score};
use crate::kernels::tuning::KNOBS;
use crate::kernels::{Tuning, Variant};

/// The result of a candidate: milliseconds of a batch of each size, or why it can't be used.
pub type Trial = Result<[f64; 3], String>;

/// The time of a candidate must be below this share of the best so far to replace it: less of a difference is noise.
const BETTER: f64 = 0.97;

/// A GPU that needs more milliseconds for a position is not tried with the whole network as one launch. That saves
/// launches, which are only a small part of such a time; but a single group would do all of the work, and its one
/// launch could last so long that the system resets the GPU under the desktop.
const LONGEST_FOR_ONE_LAUNCH: f64 = 10.0;

/// How often the best tuning and the start are timed again, in turn.
const AGAIN: usize = 3;

/// A tuning that works.
#[derive(Clone, Copy)]
struct Tried {
    tuning: Tuning,
    score: f64,
    /// Milliseconds of a single position.
    alone: f64,
}

/// Finds the fastest tuning, from `start`. `try_out` runs a candidate, `again` runs one whose time must not be taken
/// from a record.
///
/// In the end the best of the walk is timed against the start again, in turn, so that a lucky measurement does not win.
///
/// # Errors
/// If neither `start` nor its baseline works.
pub fn search(
    start: Tuning,
    mut try_out: impl FnMut(Tuning) -> Trial,
    again: impl FnMut(Tuning) -> Trial,
) -> Result<Tuning, String> {
    let mut best: Option<Tried> = None;
    let mut consider = |tuning: Tuning, best: &mut Option<Tried>| {
        let trial = try_out(tuning);
        if let Ok(times) = trial {
            let tried = Tried { tuning, score: score(times), alone: times[0] };
            if best.is_none_or(|best| tried.score < best.score * BETTER) {
                *best = Some(tried);
            }
        }
        trial
    };
    let at_first = consider(start, &mut best);
    let plain = consider(baseline(start), &mut best);
    if let (Err(why), None) = (plain, best) {
        return Err(at_first.err().unwrap_or(why));
    }
    for knob in &KNOBS {
        let from = best.map_or(start, |best| best.tuning);
        let counts = knob.variant.is_none_or(|variant| variant == from.variant);
        // Without Winograd's convolution its knobs have no effect.
        let turns = from.winograd > 0 || !knob.of_winograd;
        if !counts || !turns {
            continue;
        }
        for &value in knob.values {
            let next = knob.set(from, value);
            let is_new = next.variant == Variant::Gpu && next.network > from.network;
            let is_long = is_new && best.is_some_and(|best| best.alone > LONGEST_FOR_ONE_LAUNCH);
            if next != from && !is_long {
                // A candidate that does not work is not a reason to stop.
                let _ = consider(next, &mut best);
            }
        }
    }
    let best = best.map_or(start, |best| best.tuning);
    Ok(confirm(start, best, again))
}

/// The better one of the two, timed again in turn; `best` if `start` does not work.
fn confirm(start: Tuning, best: Tuning, mut again: impl FnMut(Tuning) -> Trial) -> Tuning {
    if start == best {
        return best;
    }
    let least = |scores: &[f64]| scores.iter().copied().fold(f64::INFINITY, f64::min);
    let (mut of_start, mut of_best) = (Vec::new(), Vec::new());
    for _ in 0..AGAIN {
        of_start.extend(again(start).map(score));
        of_best.extend(again(best).map(score));
    }
    if least(&of_best) <= least(&of_start) { best } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Tuning {
        Tuning::start(Variant::Cpu, 8)
    }

    /// Two seconds for everything, less for what is wished.
    fn time(tuning: Tuning, wished: Tuning) -> f64 {
        let right = KNOBS.iter().filter(|knob| knob.get(tuning) == knob.get(wished)).count();
        2.0 - 0.1 * right as f64
    }

    #[test]
    fn every_knob_is_turned_to_its_best() {
        let wished = Tuning { winograd: 2, rows: 8, vectors: 1, squares: 4, ..start() };
        let mut tried = Vec::new();
        let try_out = |tuning| {
            tried.push(tuning);
            Ok([time(tuning, wished); 3])
        };
        let found = search(start(), try_out, |tuning| Ok([time(tuning, wished); 3]));
        assert_eq!(found, Ok(wished));
        assert!(tried.len() < 30, "{}", tried.len());
    }

    #[test]
    fn what_does_not_work_is_left_out() {
        let only_direct = |tuning: Tuning| match tuning.winograd {
            0 => Ok([1.0; 3]),
            _ => Err("hangs".to_string()),
        };
        let found = search(start(), only_direct, only_direct).unwrap();
        assert_eq!(found, baseline(start()));
        let nothing = |_| Err("no device".to_string());
        assert_eq!(search(start(), nothing, nothing), Err("no device".to_string()));
    }

    #[test]
    fn a_network_that_takes_a_gpu_long_is_not_tried_as_one_launch() {
        let tried = |alone: f64| {
            let mut one_launch = false;
            let try_out = |tuning: Tuning| {
                one_launch |= tuning.network > 0;
                Ok([alone; 3])
            };
            search(Tuning::start(Variant::Gpu, 1), try_out, |_| Ok([alone; 3])).unwrap();
            one_launch
        };
        assert_eq!([9.9, 10.1].map(tried), [true, false]);
    }

    #[test]
    fn a_lucky_measurement_does_not_win() {
        let lucky = |tuning: Tuning| Ok([if tuning.rows == 16 { 0.1 } else { 1.0 }; 3]);
        assert_eq!(search(start(), lucky, |_| Ok([1.0; 3])).unwrap().rows, 16, "as good as the start");
        let worse = |tuning: Tuning| Ok([if tuning.rows == 16 { 1.1 } else { 1.0 }; 3]);
        assert_eq!(search(start(), lucky, worse), Ok(start()));
    }

    #[test]
    fn what_is_no_faster_than_noise_changes_nothing() {
        let hardly = |tuning: Tuning| Ok([if tuning == start() { 1.0 } else { 0.98 }; 3]);
        assert_eq!(search(start(), hardly, hardly), Ok(start()));
    }

    #[test]
    fn knobs_that_turn_nothing_are_left_alone() {
        let mut tried = Vec::new();
        let direct = |tuning: Tuning| Ok([if tuning.winograd == 0 { 1.0 } else { 2.0 }; 3]);
        let try_out = |tuning| {
            tried.push(tuning);
            direct(tuning)
        };
        search(start(), try_out, direct).unwrap();
        let turned = |name: &str| {
            KNOBS
                .iter()
                .find(|knob| knob.name == name)
                .map(|knob| tried.iter().any(|tuning| knob.get(*tuning) != knob.get(start())))
        };
        assert_eq!(
            ["vector", "squares", "rows", "lanes"].map(turned),
            [Some(true), Some(true), Some(false), Some(false)]
        );
    }

    #[test]
    fn where_nothing_works_what_was_wrong_first_is_told() {
        let nothing = |tuning: Tuning| Err(if tuning == start() { "first" } else { "then" }.to_string());
        assert_eq!(search(start(), nothing, nothing), Err("first".to_string()));
    }

    #[test]
    fn an_unlucky_measurement_does_not_lose() {
        let better = |tuning: Tuning| Ok([if tuning.rows == 16 { 0.5 } else { 1.0 }; 3]);
        let mut runs = 0;
        let again = |tuning| {
            runs += 1;
            if runs == 2 { Ok([9.0; 3]) } else { better(tuning) }
        };
        assert_eq!(search(start(), better, again).unwrap().rows, 16);
    }

    #[test]
    fn a_baseline_is_layers_of_direct_convolutions_and_a_score_a_geometric_mean() {
        let tuning = Tuning { network: 1, winograd: 4, ..start() };
        assert_eq!(baseline(tuning), Tuning { network: 0, winograd: 0, ..start() });
        assert!((score([1.0, 2.0, 4.0]) - 2.0).abs() < 1e-9);
    }
}
