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
    /// Collisions after which a batch is evaluated although it is not full.
    allowed: Collisions,
    collisions: Vec<Box<Event>>,
    spare: Vec<Box<Event>>,
    /// Playouts on their way down; empty between.
    wave: Vec<Box<Event>>,
    counts: Counts,
}

/// What a batch came to.
pub enum Step {
    /// So many playouts; none where the tree was folded first.
    Progress(u64),
    /// No playout, but another thread may make room for one.
    Crowded,
    /// The game has ended at the root, or no move may be searched.
    NothingToDo,
}

/// Playouts that end without the network are brought back at once; after this many for each one in the batch the
/// clock is looked at, even if the batch is not full.
const KNOWN_PER_LEAF: usize = 4;

/// Playouts that go down together at most: enough for memory to be asked for much at a time, and few are lost where
/// most of them collide.
const WAVE: usize = 16;

impl Playouts {
    /// For a search below `position`.
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

    /// Playouts of a batch.
    pub fn batch(&self) -> usize {
        self.leaves.size()
    }

    /// One batch of at most `wanted` playouts, and at least one.
    ///
    /// # Errors
    /// One line: the backend failed, or the tree's memory is too small for a single line. What was gathered is undone.
    pub fn step(&mut self, shared: &Shared<'_, '_>, wanted: u64) -> Result<Step, String> {
        let before = self.counts.playouts;
        let recycled = shared.times_recycled();
        // Whoever asks for no playout still needs a move.
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

    /// Tells the others what was done since the last time.
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
                        let allowed = self.allowed.allowed(search.nodes()) as usize;
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

    /// Puts a gathered event where it belongs by what it met.
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

    /// Brings the batch back. What has no answer is taken back, as what has collided is.
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
    /// It has been to the root.
    Returned,
    Collided,
    Refused(Ended),
}
