//! Recordings: how fast searches went, and what was known of the moves left in the course of games.
//!
//! `fixtures/time/README.md` says how they were made.

use std::path::Path;

/// All recordings.
pub struct Recorded {
    pub speeds: Vec<Trace>,
    /// The pieces on the board, and the plies left according to a network's head, for each move of a game.
    pub games: Vec<Vec<(f64, f64)>>,
}

/// The speed in the course of one search, in steps: from when on, in milliseconds, and how fast; 1 is the mean.
pub struct Trace {
    steps: Vec<(f64, f64)>,
    length_ms: f64,
}

impl Recorded {
    /// Reads `fixtures/time/`.
    pub fn read() -> Self {
        let files = ["speeds-host.txt", "speeds-opencl.txt", "speeds-constant.txt"];
        let searches = files.map(lines).concat();
        let speeds: Vec<Trace> = searches.iter().map(|pairs| Trace::new(pairs)).collect();
        let games = lines("moves-left.txt");
        assert_eq!((speeds.len(), games.len()), (15, 120));
        Self { speeds, games }
    }
}

/// Reads lines of `number:number` pairs.
fn lines(file: &str) -> Vec<Vec<(f64, f64)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/time").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{}: {text}", path.display()));
    let pair = |pair: &str| pair.split_once(':').map(|(a, b)| (number(a), number(b))).expect("a pair");
    text.lines().map(|line| line.split(' ').map(pair).collect()).collect()
}

/// Steps shorter than this say more about the clock's resolution than about the search.
const SHORTEST_STEP_MS: f64 = 50.0;

impl Trace {
    /// Makes a trace of points in milliseconds and playouts.
    fn new(points: &[(f64, f64)]) -> Self {
        let (first, last) = (points[0], points[points.len() - 1]);
        let mean = (last.1 - first.1) / (last.0 - first.0);
        let mut steps = Vec::new();
        let mut from = first;
        for &to in &points[1..] {
            if to.0 - from.0 >= SHORTEST_STEP_MS {
                steps.push((from.0 - first.0, (to.1 - from.1) / (to.0 - from.0) / mean));
                from = to;
            }
        }
        Self { steps, length_ms: last.0 - first.0 }
    }

    /// The speed `ms` milliseconds after the start; after its end, the trace begins again.
    pub fn at(&self, ms: f64) -> f64 {
        let ms = ms % self.length_ms;
        let step = self.steps.partition_point(|(from, _)| *from <= ms).saturating_sub(1);
        self.steps[step].1
    }
}
