//! One worker's playouts: gathering a batch, evaluating it, and bringing the answers back.

use super::Search;
use super::batch::{Batch, Pushed};
use super::evaluator::Evaluator;
use super::fault::why_refused;
use super::leaf::{Leaf, LeafReader, Rules};
use super::settings::Settings;
use super::shared::Shared;
use oncilla_chess::History;
use oncilla_core::evaluate::{Answer, Verdict};
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::search::{Event, Gathered};
use oncilla_core::stats::Counts;

/// The events of one worker, reused from batch to batch.
pub struct Playouts {
    reader: LeafReader,
    /// Collisions after which a batch is evaluated although it is not full.
    allowed: Collisions,
    batch: usize,
    /// Events in the order of the batch, and then some that wait for use.
    events: Vec<Box<Event>>,
    /// The positions' keys, in the order of the batch.
    keys: Vec<u64>,
    collisions: Vec<Box<Event>>,
    spare: Vec<Box<Event>>,
    /// Playouts on their way down; empty between.
    wave: Vec<Box<Event>>,
    positions: Batch,
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

/// Positions that are evaluated together at most.
pub fn batch_size(settings: &Settings, evaluator: &Evaluator) -> usize {
    let wanted = if settings.minibatch == 0 { evaluator.preferred_batch() } else { settings.minibatch };
    wanted.clamp(1, evaluator.max_batch())
}

impl Playouts {
    /// For a search below `position`.
    pub fn new(settings: &Settings, shared: &Shared<'_, '_>, rules: Rules, position: &History) -> Self {
        Self {
            reader: LeafReader::new(rules, position),
            allowed: settings.collisions,
            batch: batch_size(settings, shared.evaluator),
            events: Vec::new(),
            keys: Vec::new(),
            collisions: Vec::new(),
            spare: Vec::new(),
            wave: Vec::new(),
            positions: shared.batch(),
            counts: Counts::ZERO,
        }
    }

    /// Playouts of a batch.
    pub fn batch(&self) -> usize {
        self.batch
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
        let ran = shared.evaluate(&mut self.positions);
        let search = shared.search();
        if let Err(fault) = ran {
            self.cancel_all(&search);
            return Err(fault);
        }
        let returned = self.bring_back(&search);
        drop(search);
        ran?.into_iter().for_each(|note| shared.note(note));
        returned?;
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

    /// Fills the evaluator's batch. Events in its order stand first in `self.events`.
    fn gather(&mut self, search: &Search<'_>, wanted: usize) -> Ended {
        self.positions.clear();
        self.keys.clear();
        let batch = self.batch.min(wanted);
        let mut known = 0;
        while self.positions.len() < batch && known < KNOWN_PER_LEAF * batch && self.positions.len() + known < wanted {
            let room = (batch - self.positions.len()).min(wanted - self.positions.len() - known);
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
    fn sort(&mut self, search: &Search<'_>, mut event: Box<Event>) -> Sorted {
        let sorted = match event.met() {
            Gathered::Leaf => match self.look_at_leaf(search, &mut event) {
                Looked::Waits => {
                    self.events.push(event);
                    return Sorted::Waits;
                }
                Looked::Ended => Sorted::Returned,
            },
            Gathered::Known => {
                self.counts.add_playout(event.plies() as u64 + 1);
                self.counts.add_known(&event);
                let _ = search.backprop(&mut *event); // it was gathered from this very tree
                Sorted::Returned
            }
            Gathered::Collision => {
                self.counts.collisions += 1;
                self.collisions.push(event);
                return Sorted::Collided;
            }
            Gathered::Full => Sorted::Refused(Ended::Full),
            Gathered::NoMoves => Sorted::Refused(Ended::NoMoves),
        };
        self.spare.push(event);
        sorted
    }

    /// Puts the leaf of an event into the batch, or answers it at once where the game has ended.
    fn look_at_leaf(&mut self, search: &Search<'_>, event: &mut Event) -> Looked {
        let leaf = self.reader.read(search, event, &mut self.counts);
        self.counts.add_playout(event.plies() as u64 + 1);
        match leaf {
            Leaf::Ended(answer) => {
                self.counts.terminals += 1;
                let _ = search.answer(event, &answer, &mut []); // it was gathered from this very tree
                Looked::Ended
            }
            Leaf::Open(key) if self.reader.is_met(search, key) => {
                self.counts.transpositions += 1;
                let _ = search.answer(event, &LeafReader::met(key), self.reader.even_logits());
                Looked::Ended
            }
            Leaf::Open(key) => {
                match self.positions.push_part(self.reader.history(), self.reader.moves(), self.reader.salt()) {
                    Pushed::Waits => {
                        self.keys.push(key);
                        Looked::Waits
                    }
                    Pushed::Known(value, logits) => {
                        self.counts.cache_hits += 1;
                        let answer = Answer { key, verdict: Verdict::Position(value) };
                        self.reader.temper(event, logits);
                        let _ = search.answer(event, &answer, logits);
                        Looked::Ended
                    }
                }
            }
        }
    }

    fn bring_back(&mut self, search: &Search<'_>) -> Result<(), String> {
        self.counts.add_batch(self.positions.evaluations());
        let mut refused = None;
        for (at, (event, &key)) in self.events.iter_mut().zip(&self.keys).enumerate() {
            let answer = Answer { key, verdict: Verdict::Position(self.positions.value(at)) };
            // Of one that is refused nothing is left.
            let depth = event.plies() as u64 + 1;
            self.reader.temper(event, self.positions.logits(at));
            match search.settle(event, &answer, self.positions.logits(at)) {
                Ok(()) => {}
                Err(why) => {
                    self.counts.playouts -= 1;
                    self.counts.depth_sum -= depth;
                    refused = Some(why);
                }
            }
        }
        search.bring_back(&mut self.events);
        self.spare.append(&mut self.events);
        self.cancel_collisions(search);
        match refused {
            None => Ok(()),
            Some(why) => Err(why_refused(why)),
        }
    }

    fn cancel_collisions(&mut self, search: &Search<'_>) {
        self.collisions.iter_mut().for_each(|event| search.cancel(event));
        self.spare.append(&mut self.collisions);
    }

    fn cancel_all(&mut self, search: &Search<'_>) {
        for event in &mut self.events {
            self.counts.playouts -= 1;
            self.counts.depth_sum -= event.plies() as u64 + 1;
            search.cancel(event);
        }
        self.spare.append(&mut self.events);
        self.cancel_collisions(search);
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

/// What a leaf needs.
enum Looked {
    /// The evaluator's answer.
    Waits,
    /// Nothing more: the game has ended there.
    Ended,
}
