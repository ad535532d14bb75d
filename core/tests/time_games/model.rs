//! A model of what a search finds, as far as stoppers and time managers look at it.

use crate::random::Random;
use oncilla_core::stop::Root;

/// The root during one move. Two moves get most of the visits; they may change places.
#[derive(Clone, Debug)]
pub struct Thought {
    legal: u32,
    /// Visits that the reused tree brought to the better and the second move.
    start: [f64; 2],
    /// The two moves' shares of the new visits.
    share: [f64; 2],
    /// New visits after which the second move is found to be better.
    switch_at: f64,
    /// New visits after which a move is proven to win.
    proven_at: f64,
    q: f64,
}

impl Thought {
    /// Draws a move with about `expected` playouts, in a tree that holds `reused` of them.
    pub fn draw(random: &mut Random, expected: f64, reused: f64, q: f64) -> Self {
        let legal = if random.chance(0.03) { 1 } else { random.within(2.0, 45.0) as u32 };
        let first = random.within(0.3, 0.95);
        let share = [first, (1.0 - first) * random.within(0.4, 0.95)];
        let kept = random.within(0.4, 0.95);
        let start = [reused * kept, reused * (1.0 - kept) * random.within(0.2, 0.95)];
        let never = f64::INFINITY;
        let switch_at = if random.chance(0.2) { random.within(0.0, 1.5) * expected } else { never };
        let proven_at = if random.chance(0.01) { random.within(0.0, 0.5) * expected } else { never };
        Self { legal, start, share, switch_at, proven_at, q }
    }

    /// The root after `playouts` playouts of this move.
    pub fn root(&self, playouts: f64) -> Root {
        let before = playouts.min(self.switch_at);
        let after = playouts - before;
        let visits = |at: usize| (self.start[at] + before * self.share[at] + after * self.share[1 - at]) as u64;
        let is_switched = playouts > self.switch_at;
        let q = if is_switched { [self.q - 0.1, self.q] } else { [self.q, self.q - 0.1] };
        let (best, second) = if visits(1) > visits(0) { (1, 0) } else { (0, 1) };
        Root {
            moves: self.legal,
            stuck: false,
            losing: 0,
            winning: playouts >= self.proven_at,
            hope: true,
            open: self.legal,
            most_visits: visits(best),
            second_visits: if self.legal > 1 { visits(second) } else { 0 },
            most_visited: best as u32,
            most_visited_q: q[best] as f32,
            second_q: q[second] as f32,
        }
    }
}
