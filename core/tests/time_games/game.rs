//! Plays one side's clock of a game, move by move, without waiting.

use crate::control::{Control, STALL_MS, Trouble};
use crate::model::Thought;
use crate::random::Random;
use crate::recorded::Recorded;
use crate::speed::{SLOWEST, Speed};
use oncilla_core::stop::{KnownBest, Limits, OnlyMove, Progress, Reason, SmartPruning, TimeLimit};
use oncilla_core::time::{Budget, Clock, Manager, ManagerParams};

/// What the time manager is told about the moves left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Informed {
    Nothing,
    Pieces,
    Network,
}

/// A game to play.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub control: Control,
    pub manager: ManagerParams,
    pub informed: Informed,
    pub seed: u64,
}

/// A move that was played. Times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Played {
    /// The time on the clock when the move started.
    pub base_ms: f64,
    pub limit_ms: f64,
    pub extension_ms: f64,
    pub floor_ms: f64,
    /// The time until the answer, as the engine sees it.
    pub used_ms: f64,
    /// What the clock lost in addition to that.
    pub lag_ms: f64,
    /// How much of it was a stall of the evaluator.
    pub stall_ms: f64,
    /// The time on the clock after the move; the increment and a new period's time are added later.
    pub left_ms: f64,
    pub reason: Reason,
    /// Whether the search went on beyond its limit because it was unsettled.
    pub is_extended: bool,
}

impl Played {
    /// Whether there was nothing to think about.
    pub fn is_known(&self) -> bool {
        matches!(self.reason, Reason::OnlyMove | Reason::KnownBest)
    }
}

/// How a game went.
#[derive(Clone, Debug)]
pub struct Record {
    pub control: Control,
    pub moves: Vec<Played>,
    /// The clock at the end, with the last increment.
    pub left_ms: f64,
}

impl Record {
    pub fn is_lost(&self) -> bool {
        self.moves.last().is_some_and(|last| last.left_ms < 0.0)
    }

    /// Whether the clock at the start of the lost move was above overhead, lag and stall: another player would not have
    /// lost.
    pub fn is_lost_needlessly(&self) -> bool {
        let enough = |last: &Played| last.base_ms > self.control.overhead_ms + last.lag_ms + last.stall_ms;
        self.is_lost() && self.moves.last().is_some_and(enough)
    }

    /// All the time that the game gave.
    pub fn given_ms(&self) -> f64 {
        let moves = self.moves.len() as f64;
        let periods = self.control.period.map_or(1.0, |period| (moves / f64::from(period)).floor() + 1.0);
        self.control.base_ms * periods + self.control.increment_ms * moves
    }

    /// The share of it that was used.
    pub fn part_used(&self) -> f64 {
        1.0 - self.left_ms / self.given_ms()
    }
}

/// Draws a speed between that of a small board and that of a large GPU, each power of two alike, and a batch. The batch
/// takes half of the overhead at most, since otherwise a user would set more overhead; so the slowest speeds do not
/// play with the least overhead.
fn draw_speed(random: &mut Random, overhead_ms: f64) -> (f64, f64) {
    let nps = f64::from(1u32 << *random.pick(&[8, 9, 10, 11, 12, 13, 14, 15, 16])) * random.within(1.0, 2.0);
    let of_batches = |batch: f64| batch / (SLOWEST * overhead_ms / 2.0) * 1000.0;
    let nps = nps.max(of_batches(1.0));
    let most = nps / of_batches(1.0);
    (nps, (most * random.within(0.1, 1.0)).floor().max(1.0))
}

/// Plays the game.
pub fn play(setup: &Setup, recorded: &Recorded) -> Record {
    let random = &mut Random::new(setup.seed);
    let control = setup.control;
    let trouble = Trouble::draw(random, &control);
    let trace = random.pick(&recorded.speeds);
    let (nps, batch) = draw_speed(random, control.overhead_ms);
    let speed = Speed::new(trace, nps, trouble.slows_down.then_some(setup.seed));
    let course = random.pick(&recorded.games);
    let mut game = Game {
        setup,
        trouble,
        batch,
        speed,
        manager: Manager::new(setup.manager).expect("parameters in range"),
        thought_ms: 0.0,
        tree: 0.0,
        q: random.within(-0.2, 0.4),
        course,
    };
    let mut record = Record { control, moves: Vec::new(), left_ms: control.base_ms };
    for at in 0..course.len() as u32 {
        let played = game.next_move(random, at, record.left_ms);
        record.moves.push(played);
        record.left_ms = played.left_ms;
        if played.left_ms < 0.0 {
            break;
        }
        record.left_ms += control.increment_ms;
        if control.period.is_some_and(|period| (at + 1) % period == 0) {
            record.left_ms += control.base_ms;
        }
    }
    record
}

struct Game<'s> {
    setup: &'s Setup,
    trouble: Trouble,
    speed: Speed<'s>,
    /// How many playouts there are between two looks at the limits.
    batch: f64,
    manager: Manager,
    /// The time of all searches so far.
    thought_ms: f64,
    /// The root's visits at the end of the last move.
    tree: f64,
    q: f64,
    /// The pieces and the plies left, for each move.
    course: &'s [(f64, f64)],
}

impl Game<'_> {
    fn next_move(&mut self, random: &mut Random, at: u32, base_ms: f64) -> Played {
        let control = &self.setup.control;
        let reused = (self.tree * self.part_reused(random)).floor();
        let clock = self.clock(at, base_ms);
        let budget = self.manager.on_move_start(&clock, reused as u64);
        self.q = (self.q + random.within(-0.03, 0.03) - if random.chance(0.04) { 0.2 } else { 0.0 }).clamp(-0.95, 0.95);
        let expected = self.speed.mean_nps() * budget.limit_ms / 1000.0;
        let thought = Thought::draw(random, expected, reused, self.q);
        let stalls_at = random.chance(self.trouble.stalls).then(|| Stall::draw(random));
        let (search, stall_ms) = self.search(&thought, &budget, reused, stalls_at);
        // From the decision to the answer some more time passes.
        let used_ms = search.elapsed_ms + random.within(0.0, 0.5);
        self.manager.on_move_end(used_ms, search.playouts as u64);
        self.thought_ms += used_ms;
        self.tree = reused + search.playouts;
        let lag_ms = self.trouble.lag(random, control.overhead_ms);
        Played {
            base_ms,
            limit_ms: budget.limit_ms,
            extension_ms: budget.extension_ms,
            floor_ms: budget.floor_ms,
            used_ms,
            lag_ms,
            stall_ms,
            left_ms: base_ms - used_ms - lag_ms,
            reason: search.reason,
            is_extended: search.is_extended,
        }
    }

    /// The share of the tree that is left after a move: mostly a part; sometimes nothing, sometimes nearly all.
    fn part_reused(&self, random: &mut Random) -> f64 {
        let &(least, most) = random.pick(&[(0.0, 0.0), (0.0, 0.3), (0.2, 0.7), (0.2, 0.7), (0.2, 0.7), (0.7, 0.98)]);
        random.within(least, most)
    }

    fn clock(&self, at: u32, base_ms: f64) -> Clock {
        let Setup { control, informed, .. } = self.setup;
        let (pieces, plies) = self.course[at as usize];
        Clock {
            base_ms,
            increment_ms: control.increment_ms,
            moves_to_go: control.period.map(|period| period - at % period),
            ply: 2 * at,
            overhead_ms: control.overhead_ms,
            pieces: (*informed == Informed::Pieces).then_some(pieces as u32),
            network_plies: (*informed == Informed::Network).then_some(plies),
            ..Clock::default()
        }
    }

    /// Searches until a limit says stop. Also returns the time that the evaluator stalled.
    fn search(&mut self, thought: &Thought, budget: &Budget, reused: f64, stall: Option<Stall>) -> (Searched, f64) {
        let mut limits = Limits {
            time: Some(TimeLimit::of(budget)),
            only_move: Some(OnlyMove),
            known_best: Some(KnownBest),
            pruning: SmartPruning::new(1.33),
            ..Limits::default()
        };
        let (mut elapsed_ms, mut playouts, mut batches) = (0.0, 0.0, 0.0);
        let mut limit_ms = budget.limit_ms;
        let (mut stalled_ms, mut is_extended) = (0.0, false);
        let root = thought.root(0.0);
        let before = Progress { visits: reused as u64, root, ..Progress::default() };
        if let Some(reason) = limits.check(&before, self.manager.nps()).stop {
            return (Searched { elapsed_ms, playouts, reason, is_extended: false }, 0.0);
        }
        loop {
            let batch_ms = self.batch / self.speed.at(self.thought_ms + elapsed_ms) * 1000.0;
            // Far from the limit many batches pass at once: looking at each of them would change nothing.
            let many = ((limit_ms - elapsed_ms) / 4.0 / batch_ms).floor().max(1.0);
            let next_ms = elapsed_ms + many * batch_ms;
            let stalls = stalled_ms == 0.0 && stall.is_some_and(|stall| stall.is_before(next_ms, limit_ms));
            stalled_ms += if stalls { STALL_MS } else { 0.0 };
            elapsed_ms = next_ms + if stalls { STALL_MS } else { 0.0 };
            (playouts, batches) = (playouts + (many * self.batch).floor(), batches + many);
            let root = thought.root(playouts);
            self.manager.on_progress(elapsed_ms, playouts as u64);
            let unsettled = root.leader().is_some_and(|leader| self.manager.on_leader(elapsed_ms, leader));
            limit_ms = budget.limit_ms + if unsettled { budget.extension_ms } else { 0.0 };
            is_extended |= unsettled && budget.extension_ms > 0.0 && elapsed_ms >= budget.limit_ms;
            let progress = Progress {
                elapsed_ms,
                visits: (reused + playouts) as u64,
                playouts: playouts as u64,
                batches: batches as u64,
                root,
                unsettled,
                ..Progress::default()
            };
            if let Some(reason) = limits.check(&progress, self.manager.nps()).stop {
                return (Searched { elapsed_ms, playouts, reason, is_extended }, stalled_ms);
            }
        }
    }
}

struct Searched {
    elapsed_ms: f64,
    playouts: f64,
    reason: Reason,
    is_extended: bool,
}

/// When the evaluator stalls.
#[derive(Clone, Copy)]
enum Stall {
    /// After this share of the time.
    At(f64),
    /// In the last batch, where it hurts most.
    AtTheEnd,
}

impl Stall {
    fn draw(random: &mut Random) -> Self {
        if random.chance(0.5) { Self::AtTheEnd } else { Self::At(random.within(0.0, 1.0)) }
    }

    fn is_before(self, ms: f64, limit_ms: f64) -> bool {
        ms >= match self {
            Self::At(part) => part * limit_ms,
            Self::AtTheEnd => limit_ms,
        }
    }
}
