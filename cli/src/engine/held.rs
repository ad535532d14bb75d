//! The evaluator that a searcher has, and what it was made for.

use super::fallback::{self, Made};
use crate::evaluator::Evaluator;
use crate::network::EvaluatorSettings;
use std::sync::Arc;

/// What a searcher does if its settings name something that can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It does not search.
    IsAnError,
    /// It searches with the best that can be had.
    IsReplaced,
}

enum Held {
    Nothing,
    /// An evaluator made for this searcher, from its settings.
    Own(Box<Evaluator>),
    /// An evaluator that several searchers use at once: the settings say nothing about it.
    Lent(Arc<Evaluator>),
}

/// The evaluator of a searcher.
pub struct HeldEvaluator {
    held: Held,
    lacking: Lacking,
    /// The settings that the evaluator was made for. Its own may differ, see [`Lacking::IsReplaced`].
    made_for: Option<EvaluatorSettings>,
    /// What the evaluator lacks of these settings, which is told once.
    told: Option<String>,
}

impl HeldEvaluator {
    /// Holds the evaluator that is `lent`, or none yet.
    pub fn new(lent: Option<Arc<Evaluator>>, lacking: Lacking) -> Self {
        Self { held: lent.map_or(Held::Nothing, Held::Lent), lacking, made_for: None, told: None }
    }

    pub fn get(&self) -> Option<&Evaluator> {
        match &self.held {
            Held::Nothing => None,
            Held::Own(evaluator) => Some(evaluator),
            Held::Lent(evaluator) => Some(evaluator),
        }
    }

    /// The evaluator, if it belongs to this searcher alone.
    pub fn own(&self) -> Option<&Evaluator> {
        match &self.held {
            Held::Own(evaluator) => Some(evaluator),
            Held::Nothing | Held::Lent(_) => None,
        }
    }

    /// Like [`Self::own`], but mutable.
    pub fn own_mut(&mut self) -> Option<&mut Evaluator> {
        match &mut self.held {
            Held::Own(evaluator) => Some(evaluator),
            Held::Nothing | Held::Lent(_) => None,
        }
    }

    /// Says that another evaluator is wanted from now on: what it lacks is told, even if the same was told of the last
    /// one.
    pub fn want_another(&mut self) {
        self.want_again();
        self.told = None;
    }

    /// Makes the next call try again: what could not be had may be there now.
    pub fn want_again(&mut self) {
        self.made_for = None;
    }

    /// Whether there is no evaluator, or one that was not made for `wanted`.
    pub fn must_make(&self, wanted: &EvaluatorSettings) -> bool {
        match &self.held {
            Held::Nothing => true,
            Held::Own(evaluator) => evaluator.settings() != wanted && self.made_for.as_ref() != Some(wanted),
            Held::Lent(_) => false,
        }
    }

    /// Makes the evaluator, and adds to `notes` what runs. Returns what it lacks of what is `wanted`, the first time.
    ///
    /// # Errors
    /// One line, if no evaluator can be made.
    pub fn make(&mut self, wanted: &EvaluatorSettings, notes: &mut Vec<String>) -> Result<Option<String>, String> {
        let last = self.own().map(|evaluator| evaluator.settings().clone());
        // The old evaluator is dropped first: a small device has no room for two.
        self.held = Held::Nothing;
        let made = match self.lacking {
            Lacking::IsReplaced => fallback::make(wanted, last.as_ref())?,
            Lacking::IsAnError => {
                let (evaluator, notes) = Evaluator::new(wanted)?;
                Made { evaluator, notes, lacks: None }
            }
        };
        self.held = Held::Own(Box::new(made.evaluator));
        self.made_for = Some(wanted.clone());
        notes.extend(made.notes);
        let told = std::mem::replace(&mut self.told, made.lacks.clone());
        Ok(made.lacks.filter(|lacks| told.as_ref() != Some(lacks)))
    }
}
