//! One worker's playouts: gathering a batch, evaluating it, and bringing the answers back.

use super::Search;
use super::leaf::LeafRules;
use super::leaves::{Leaves, bring_back};
use super::settings::Settings;
use super::shared::Shared;
use oncilla_chess::History;
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::search::{Event, Gathered};
use oncilla_core::stats::Counts;

/// The events of one worker, reused from batch to batch.
pub struct Playouts {
    leaves: Leaves,
    /// The number of collisions after which a batch is evaluated although it is not full.
    allowed: Collisions,
    collisions: Vec<Box<Event>>,
    spare: Vec<Box<Event>>,
    /// Playouts on their way down; empty between waves.
    wave: Vec<Box<Event>>,
    counts: Counts,
}

/// The result of a batch.
pub enum Step {
    /// This many playouts were done; 0 if the tree was folded first.
    Progress(u64),
    /// No playout was done, but another thread may make room for one.
    Crowded,
    /// The game has ended at the root, or no move may be searched.
    NothingToDo,
}

/// Playouts that end without the network are brought back at once. After this many of them for each playout of the
/// batch the batch ends, even if it is not full, so that the clock is looked at.
const KNOWN_PER_LEAF: usize = 4;

/// The largest number of playouts that go down together: enough that much memory is asked for at a time, and not so
/// many that much is lost if most of them collide.
const WAVE: usize = 16;

impl Playouts {
    /// A worker's playouts for a search below `position`.
    pub fn new(settings: &Settings, shared: &Shared<'_, '_>, rules: LeafRules, position: &History) -> Self {
        Self {
            leaves: Leaves::new(settings, shared, rules, position),
            allowed: settings.collisions,
            collisions: Vec::new(),
            spare: Vec::new(),
            wave: Vec::new(),
            counts: Counts::ZERO,
        }
    }

    /// The number of playouts in a batch.
    pub fn batch(&self) -> usize {
        self.leaves.size()
    }

    /// Does one batch of at most `wanted` playouts, but at least one.
    ///
    /// # Errors
    /// One line: the backend failed, or an answer was refused. What was gathered is undone.
    pub fn step(&mut self, shared: &Shared<'_, '_>, wanted: u64) -> Result<Step, String> {
        let before = self.counts.playouts;
        let recycled = shared.times_recycled();
        // Even a caller that asks for no playout needs a move.
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).max(1);
        let ended = self.gather(&shared.search(), wanted);
        let ran = self.leaves.evaluate(shared);
        let search = shared.search();
        let settled = ran.and_then(|()| self.leaves.settle(&search, &mut self.counts));
        self.bring_back(&search);
        drop(search);
        settled?;
        let playouts = self.counts.playouts - before;
        match ended {
            Ended::Full if shared.recycle(recycled) => Ok(Step::Progress(playouts)),
            Ended::NoMoves if playouts == 0 => Ok(Step::NothingToDo),
            _ if playouts == 0 => Ok(Step::Crowded),
            _ => Ok(Step::Progress(playouts)),
        }
    }

    /// Adds what was done since the last call to the counts that all threads share.
    pub fn report(&mut self, shared: &Shared<'_, '_>) {
        shared.add(&std::mem::replace(&mut self.counts, Counts::ZERO));
    }

    /// Fills the evaluator's batch.
    fn gather(&mut self, search: &Search<'_>, wanted: usize) -> Ended {
        self.leaves.clear();
        let batch = self.leaves.size().min(wanted);
        let mut known = 0;
        while self.leaves.len() < batch && known < KNOWN_PER_LEAF * batch && self.leaves.len() + known < wanted {
            let room = (batch - self.leaves.len()).min(wanted - self.leaves.len() - known);
            let mut wave = std::mem::take(&mut self.wave);
            wave.extend((0..room.min(WAVE)).map(|_| self.spare.pop().unwrap_or_default()));
            search.gather_together(&mut wave);
            let mut ended = None;
            for event in wave.drain(..) {
                match self.sort(search, event) {
                    Sorted::Waits => {}
                    Sorted::Returned => known += 1,
                    Sorted::Collided => {
                        let allowed = self.allowed.allowed(search.visits()) as usize;
                        if self.collisions.len() >= allowed.min(batch) {
                            ended = ended.or(Some(Ended::Gathered));
                        }
                    }
                    Sorted::Refused(why) => ended = Some(why),
                }
            }
            self.wave = wave;
            if let Some(ended) = ended {
                return ended;
            }
        }
        Ended::Gathered
    }

    /// Puts a gathered event where it belongs, according to what it met.
    fn sort(&mut self, search: &Search<'_>, event: Box<Event>) -> Sorted {
        let (sorted, mut event) = match event.met() {
            Gathered::Leaf => match self.leaves.look_at(search, event, &mut self.counts) {
                Some(event) => (Sorted::Returned, event),
                None => return Sorted::Waits,
            },
            Gathered::Known => (Sorted::Returned, event),
            Gathered::Collision => {
                self.counts.collisions += 1;
                self.collisions.push(event);
                return Sorted::Collided;
            }
            Gathered::Full => (Sorted::Refused(Ended::Full), event),
            Gathered::NoMoves => (Sorted::Refused(Ended::NoMoves), event),
        };
        bring_back(search, std::slice::from_mut(&mut event), &mut self.counts);
        self.spare.push(event);
        sorted
    }

    /// Brings the batch back. Events without an answer are cancelled, and so are those that collided.
    fn bring_back(&mut self, search: &Search<'_>) {
        let events = self.leaves.events();
        bring_back(search, events, &mut self.counts);
        for event in events.iter_mut().chain(&mut self.collisions).filter(|event| event.is_under_way()) {
            search.cancel(event);
        }
        self.spare.append(events);
        self.spare.append(&mut self.collisions);
    }
}

/// Why gathering ended.
enum Ended {
    Gathered,
    Full,
    NoMoves,
}

/// What became of a gathered event.
enum Sorted {
    /// It is in the batch.
    Waits,
    /// It has been brought to the root.
    Returned,
    Collided,
    Refused(Ended),
}
