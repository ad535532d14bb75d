//! A search's statistics as lines for the user.

use crate::engine::Statistics;
use oncilla_core::stats::{Counts, Span, Stage, batch_sizes};

/// The lines about this move, the game, and the last moments.
pub fn lines(statistics: &Statistics) -> Vec<String> {
    let Statistics { game, current_move, windows, in_flight } = statistics;
    let mut lines = vec![of_span("move", current_move), batches(&current_move.counts), waits(&current_move.counts)];
    if let Some(most) = in_flight {
        lines.push(format!("in flight at most {most}, by what keeps the evaluating threads busy"));
    }
    if game.counts != current_move.counts {
        // The game's seconds are those of a clock, including the opponent's turns.
        lines.push(of_span("game, pauses included", game));
    }
    let speeds = windows.iter().filter(|span| span.counts.playouts > 0).map(|span| {
        let playouts = span.per_second(|counts| counts.playouts);
        format!("{} {playouts:.0}", seconds(span.ms))
    });
    let speeds: Vec<String> = speeds.collect();
    if !speeds.is_empty() {
        lines.push(format!("playouts/s in the last full windows: {}", speeds.join(", ")));
    }
    lines
}

fn of_span(name: &str, span: &Span) -> String {
    let Counts { playouts, evaluations, cache_hits, tablebase_hits, terminals, transpositions, .. } = span.counts;
    let depth = span.counts.mean_depth();
    format!(
        "{name}: {playouts} playouts in {}, {evaluations} evaluations, {cache_hits} cache hits, {transpositions} \
         transpositions, {terminals} terminals, {tablebase_hits} tablebase hits, {} collisions, mean depth {depth:.1}",
        seconds(span.ms),
        span.counts.collisions,
    )
}

fn batches(counts: &Counts) -> String {
    let sizes = counts.batches.iter().enumerate().filter(|(_, n)| **n > 0);
    let sizes: Vec<String> = sizes.map(|(class, n)| format!("{n} of {}", sizes_of(class))).collect();
    if sizes.is_empty() {
        return "batches: none".to_string();
    }
    format!("batches: {}; mean size {:.1}", sizes.join(", "), counts.mean_batch())
}

fn sizes_of(class: usize) -> String {
    match batch_sizes(class) {
        (least, Some(most)) if least == most => format!("{least}"),
        (least, Some(most)) => format!("{least}–{most}"),
        (least, None) => format!("{least} or more"),
    }
}

fn waits(counts: &Counts) -> String {
    let stages = [("gather", Stage::Gather), ("evaluate", Stage::Evaluate), ("backprop", Stage::Backprop)];
    let waits = stages.map(|(name, stage)| {
        let waits = counts.waits[stage as usize];
        format!("{name} {} times, {} ms", waits.times, waits.micros / 1000)
    });
    format!("waits: {}", waits.join("; "))
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_named_by_their_sizes() {
        let mut counts = Counts::ZERO;
        [1, 2047, 5000, 4096].into_iter().for_each(|size| counts.add_batch(size));
        assert_eq!(batches(&counts), "batches: 1 of 1, 1 of 1024–2047, 2 of 2048 or more; mean size 2786.0");
    }

    #[test]
    fn what_was_counted_is_said() {
        let mut counts = Counts::ZERO;
        counts.add_playout(3);
        counts.add_playout(4);
        counts.add_batch(2);
        counts.add_wait(Stage::Evaluate, 5000);
        let span = Span { ms: 500, counts };
        let game = Span { ms: 3000, counts: counts.plus(&counts) };
        let later = Statistics { game, current_move: span, windows: vec![span], in_flight: None };
        let told = lines(&later);
        let of_game = told.iter().find(|line| line.starts_with("game"));
        assert!(of_game.is_some_and(|line| line.starts_with("game, pauses included: 4 playouts in 3 s, ")), "{told:?}");
        let statistics = Statistics { game: span, current_move: span, windows: vec![span], in_flight: Some(64) };
        assert_eq!(
            lines(&statistics),
            [
                "move: 2 playouts in 0.5 s, 2 evaluations, 0 cache hits, 0 transpositions, 0 terminals, 0 tablebase hits, \
                 0 collisions, mean depth 3.5",
                "batches: 1 of 2–3; mean size 2.0",
                "waits: gather 0 times, 0 ms; evaluate 1 times, 5 ms; backprop 0 times, 0 ms",
                "in flight at most 64, by what keeps the evaluating threads busy",
                "playouts/s in the last full windows: 0.5 s 4",
            ]
        );
    }
}
