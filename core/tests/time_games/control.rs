//! Time controls, and what can go wrong while a clock runs.

use crate::random::Random;

/// A time control in milliseconds, with the overhead that a user who plays it would set.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub name: &'static str,
    pub base_ms: f64,
    pub increment_ms: f64,
    /// If given, the base is added again after this many moves.
    pub period: Option<u32>,
    pub overhead_ms: f64,
}

const fn control(name: &'static str, base_ms: f64, increment_ms: f64, overhead_ms: f64) -> Control {
    Control { name, base_ms, increment_ms, period: None, overhead_ms }
}

/// From 1 s for the whole game to 2 h and 30 s a move.
pub const CONTROLS: [Control; 13] = [
    control("1s+0", 1000.0, 0.0, 10.0),
    control("1s+0.01s", 1000.0, 10.0, 10.0),
    control("3s+0.03s", 3000.0, 30.0, 30.0),
    control("10s+0", 10_000.0, 0.0, 50.0),
    control("10s+0.1s", 10_000.0, 100.0, 50.0),
    control("1min+0", 60_000.0, 0.0, 200.0),
    control("1min+0.6s", 60_000.0, 600.0, 200.0),
    control("3min+2s", 180_000.0, 2000.0, 200.0),
    control("5min+0", 300_000.0, 0.0, 200.0),
    control("15min+10s", 900_000.0, 10_000.0, 200.0),
    control("2h+0", 7_200_000.0, 0.0, 200.0),
    control("2h+30s", 7_200_000.0, 30_000.0, 200.0),
    Control { period: Some(40), ..control("40 moves in 5min", 300_000.0, 0.0, 200.0) },
];

impl Control {
    /// Whether the lag of a network suits this control: a game of a minute or more.
    pub fn is_slow(&self) -> bool {
        self.base_ms >= 60_000.0
    }
}

/// What can go wrong in a game.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// The usual lag of a move; 2% of the moves have three times as much, but not more than twice the overhead.
    pub lag_ms: f64,
    /// Whether there are seconds of half the speed, a tenth of all.
    pub slows_down: bool,
    /// The share of moves in which the evaluator stalls for [`STALL_MS`].
    pub stalls: f64,
}

pub const STALL_MS: f64 = 300.0;

impl Trouble {
    pub fn draw(random: &mut Random, control: &Control) -> Self {
        let lag_ms = match (*random.pick(&[0, 1, 2]), control.is_slow()) {
            (0, _) => 0.0,
            (1, _) | (2, false) => random.within(0.0, 2.0),
            _ => random.within(20.0, 150.0),
        };
        let stalls = *random.pick(&[0.0, 0.0, 0.01, 0.05]);
        Self { lag_ms, slows_down: random.chance(0.5), stalls }
    }

    /// The lag of one move.
    pub fn lag(&self, random: &mut Random, overhead_ms: f64) -> f64 {
        let spike = if random.chance(0.02) { 3.0 } else { 1.0 };
        (self.lag_ms * random.within(0.5, 1.5) * spike).min(2.0 * overhead_ms)
    }
}
