//! Games that a seed makes up, for tests inside and outside the crate.
#![allow(dead_code, reason = "each test takes what it needs")]

use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Ending, Evaluator, Moves, Value, Verdict};
use oncilla_core::heapless::VecView;

/// A game in which a hash of the moves so far decides what follows.
#[derive(Clone, Copy, Debug)]
pub struct RandomGame {
    pub seed: u64,
    /// The most moves in a position, at most 16.
    pub width: u16,
    /// The number of plies after which the game ends for certain.
    pub length: usize,
    /// How many of 256 positions end the game.
    pub endings: u64,
    /// Whether a position is the set of moves that each side has made, in any order, so that different paths lead to
    /// it.
    pub commuting: bool,
    /// The first move of the game, if the root is the position after it.
    pub first: Option<Move>,
}

/// A position: its hash, and how many plies have been played.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub key: u64,
    pub plies: usize,
}

/// A hash of two numbers.
pub fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (x ^ x >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ x >> 29
}

impl RandomGame {
    /// The game made from `seed`: wide or narrow, long or short, with many endings or none.
    pub fn of(seed: u64) -> Self {
        let (width, length) = (2 + (seed % 11) as u16, 6 + (seed % 17) as usize);
        Self { seed, width, length, endings: seed % 40, commuting: false, first: None }
    }

    /// The same game after `first` has been played.
    pub fn after(self, first: Move) -> Self {
        Self { first: Some(first), ..self }
    }

    pub fn position(&self, moves: impl Iterator<Item = Move>) -> Position {
        let start = (mix(self.seed, 1), 0);
        let (hash, plies) = self.first.into_iter().chain(moves).fold(start, |(hash, plies), mv| {
            let hash = if self.commuting {
                hash.wrapping_add(mix(self.seed ^ u64::from(mv.0), 2 + plies as u64 % 2))
            } else {
                mix(hash, u64::from(mv.0) + 7)
            };
            (hash, plies + 1)
        });
        Position { key: mix(hash, plies as u64), plies }
    }

    pub fn verdict(&self, at: Position) -> Verdict {
        let Position { key, plies } = at;
        if plies > 0 && (plies >= self.length || key % 256 < self.endings) {
            return match key >> 8 & 3 {
                0 => Verdict::lost(),
                1 => Verdict::Terminal(Value::WIN, Ending::Tablebase),
                _ => Verdict::drawn(),
            };
        }
        let part = |shift: u64| (key >> shift & 0xff) as f32 / 256.0;
        let wl = part(16) * 2.0 - 1.0;
        Verdict::Position(Value { wl, d: part(24) * (1.0 - wl.abs()), m: part(32) * 100.0 })
    }

    /// The legal moves. A move's number is not its place in the list.
    pub fn legal(&self, at: Position) -> impl Iterator<Item = Move> + use<> {
        (0..1 + (at.key % u64::from(self.width)) as u16).map(|i| Move(7 * (i + 1) % 128))
    }

    /// A logit for each legal move; some may be equal.
    pub fn logits(&self, at: Position) -> impl Iterator<Item = f32> + use<> {
        self.legal(at).zip(99..).map(move |(_, i)| (mix(at.key, i) % 64) as f32 / 16.0)
    }
}

impl Evaluator for RandomGame {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend(self.legal(self.position(line)));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let at = self.position(line);
        let verdict = self.verdict(at);
        if let Verdict::Position(_) = verdict {
            policy.extend(self.logits(at));
        }
        Ok(Answer { key: at.key, verdict })
    }
}
