//! Priors that know what exchanges win and lose (`ExchangePrior`).

use oncilla_chess::{Board, Move, exchanges};

/// Corrects the logits of positions, also of those whose evaluation comes later.
pub struct ExchangePriors {
    /// As [`exchanges::correct`] takes it; 0: nothing is done.
    weight: f32,
    /// What the moves of the positions that wait gain.
    gains: Vec<i32>,
    /// Where those of each position begin, and where those of the last one end.
    starts: Vec<usize>,
}

impl ExchangePriors {
    pub fn new(weight: f32) -> Self {
        Self { weight, gains: Vec::new(), starts: vec![0] }
    }

    /// Forgets the positions that wait.
    pub fn clear(&mut self) {
        self.gains.clear();
        self.starts.truncate(1);
    }

    /// One more position waits for its evaluation.
    pub fn wait(&mut self, board: &Board, moves: &[Move]) {
        self.work_out(board, moves);
        self.starts.push(self.gains.len());
    }

    /// The evaluation of the position that was the `at`-th to wait has come.
    pub fn correct_waiting(&self, at: usize, logits: &mut [f32]) {
        exchanges::correct(logits, &self.gains[self.starts[at]..self.starts[at + 1]], self.weight);
    }

    /// A position whose evaluation is known already.
    pub fn correct(&mut self, board: &Board, moves: &[Move], logits: &mut [f32]) {
        let start = self.gains.len();
        self.work_out(board, moves);
        exchanges::correct(logits, &self.gains[start..], self.weight);
        self.gains.truncate(start);
    }

    fn work_out(&mut self, board: &Board, moves: &[Move]) {
        if self.weight != 0.0 {
            let start = self.gains.len();
            self.gains.resize(start + moves.len(), 0);
            exchanges::gains(board, moves, &mut self.gains[start..]);
        }
    }
}
