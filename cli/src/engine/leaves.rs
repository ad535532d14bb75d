//! What is done with leaves: some are answered at once, the others wait together for the evaluator.
//!
//! The result of a leaf is looked up in this order: rules, tablebase (both in `leaf`), the graph, the evaluation cache,
//! the evaluator.
//!
//! Workers (`playouts.rs`) and threads with one role each (`pipeline.rs`) differ in which thread brings an answered
//! leaf to the root, and when. A worker does so before it gathers the next one, which then knows of it: that makes the
//! tree of a single thread always the same. Threads with roles pass the leaf on to threads that do nothing but bring
//! back.

use super::Search;
use super::leaf::{Leaf, LeafReader, LeafRules};
use super::settings::Settings;
use super::shared::Shared;
use crate::evaluator::{Batch, Evaluator, Pushed};
use crate::fault::why_refused;
use oncilla_chess::History;
use oncilla_core::evaluate::{Answer, Verdict};
use oncilla_core::search::{Event, Gathered, Refused};
use oncilla_core::stats::Counts;

/// The leaves of one thread.
pub struct Leaves {
    reader: LeafReader,
    size: usize,
    /// The events of the leaves that wait, in the order of the batch.
    events: Vec<Box<Event>>,
    /// The keys of their positions.
    keys: Vec<u64>,
    positions: Batch,
    /// Why the last of the refused answers was refused.
    refused: Option<Refused>,
}

/// The largest number of positions that are evaluated together.
pub fn batch_size(settings: &Settings, evaluator: &Evaluator) -> usize {
    let wanted = if settings.minibatch == 0 { evaluator.preferred_batch() } else { settings.minibatch };
    wanted.clamp(1, evaluator.max_batch())
}

impl Leaves {
    /// No leaves yet, for a search below `position`.
    pub fn new(settings: &Settings, shared: &Shared<'_, '_>, rules: LeafRules, position: &History) -> Self {
        Self {
            reader: LeafReader::new(rules, shared.evaluator.has_hints(), position),
            size: batch_size(settings, shared.evaluator),
            events: Vec::new(),
            keys: Vec::new(),
            positions: shared.batch(),
            refused: None,
        }
    }

    /// The largest number of leaves that wait together.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of leaves that wait.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Begins another batch, after the events of the last one were [taken](Self::events).
    pub fn clear(&mut self) {
        debug_assert!(self.events.is_empty(), "nobody would bring them back");
        self.positions.clear();
        self.keys.clear();
    }

    /// Answers a leaf if that takes no evaluation, and returns its event; else puts it into the batch.
    pub fn look_at(&mut self, search: &Search<'_>, mut event: Box<Event>, counts: &mut Counts) -> Option<Box<Event>> {
        let settled = match self.reader.read(search, &mut event, counts) {
            Leaf::Ended(answer) => {
                counts.terminals += 1;
                search.settle(&mut *event, &answer, &mut [])
            }
            Leaf::Open(key) => match search.settle_transposition(&mut *event, key, self.reader.moves().len()) {
                Ok(true) => {
                    counts.transpositions += 1;
                    Ok(())
                }
                Ok(false) => return self.push(search, event, key, counts),
                Err(why) => Err(why),
            },
        };
        note(&mut self.refused, settled);
        Some(event)
    }

    /// Puts a leaf into the batch, unless the cache knows its evaluation.
    fn push(
        &mut self,
        search: &Search<'_>,
        mut event: Box<Event>,
        key: u64,
        counts: &mut Counts,
    ) -> Option<Box<Event>> {
        self.reader.find_drawing_moves();
        let reader = &self.reader;
        match self.positions.push_with(reader.history(), reader.moves(), reader.circumstances()) {
            Pushed::Waits => {
                self.keys.push(key);
                self.events.push(event);
                None
            }
            Pushed::Known(value, logits) => {
                counts.cache_hits += 1;
                reader.temper(&event, logits);
                let answer = Answer { key, verdict: Verdict::Position(value) };
                let settled = search.settle(&mut *event, &answer, logits);
                note(&mut self.refused, settled);
                Some(event)
            }
        }
    }

    /// Has the evaluator answer the leaves that wait. The search need not be locked meanwhile.
    ///
    /// # Errors
    /// The errors of [`Evaluator::run`].
    pub fn evaluate(&mut self, shared: &Shared<'_, '_>) -> Result<(), String> {
        shared.evaluate(&mut self.positions)?.into_iter().for_each(|note| shared.note(note));
        Ok(())
    }

    /// Brings the evaluator's answers into the tree.
    ///
    /// # Errors
    /// One line, if an answer was refused: one of these, or one since the last batch.
    pub fn settle(&mut self, search: &Search<'_>, counts: &mut Counts) -> Result<(), String> {
        counts.add_batch(self.positions.evaluations());
        for (at, (event, &key)) in self.events.iter_mut().zip(&self.keys).enumerate() {
            let answer = Answer { key, verdict: Verdict::Position(self.positions.value(at)) };
            let logits = self.positions.logits(at);
            self.reader.temper(event, logits);
            note(&mut self.refused, search.settle(&mut **event, &answer, logits));
        }
        self.refused.take().map_or(Ok(()), |why| Err(why_refused(why)))
    }

    /// The events of the leaves that waited. The caller brings them back, or cancels those that have no answer.
    pub fn events(&mut self) -> &mut Vec<Box<Event>> {
        &mut self.events
    }
}

/// Remembers why an answer was refused. Nothing is left of that answer; the search ends because of it after this batch.
fn note(refused: &mut Option<Refused>, settled: Result<(), Refused>) {
    if let Err(why) = settled {
        *refused = Some(why);
    }
}

/// Brings events to the root, and counts those that are ready to be brought back.
pub fn bring_back(search: &Search<'_>, events: &mut [Box<Event>], counts: &mut Counts) {
    for event in events.iter().filter(|event| event.is_ready()) {
        counts.add_playout(event.plies() as u64 + 1);
        // A leaf that turned out to be another node was counted when it was answered.
        if event.met() == Gathered::Known {
            counts.add_known(event);
        }
    }
    search.bring_back(events);
}
