//! The evaluator that a searcher has, and what it was made for.

use super::evaluator::Evaluator;
use super::fallback::{self, Made};
use super::settings::EvaluatorSettings;
use std::sync::Arc;

/// What becomes of a searcher whose settings name what can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It does not search.
    IsAnError,
    /// It searches with the best that can be had.
    IsReplaced,
}

enum Held {
    Nothing,
    /// Made for this one, from its settings.
    Own(Box<Evaluator>),
    /// Another's, that several use at once: the settings say nothing about it.
    Lent(Arc<Evaluator>),
}

/// The evaluator of a searcher.
pub struct HeldEvaluator {
    held: Held,
    lacking: Lacking,
    /// What the evaluator was made for: it may be another one, see [`Lacking::IsReplaced`].
    made_for: Option<EvaluatorSettings>,
    /// What it lacks of these settings, which is said once.
    told: Option<String>,
}

impl HeldEvaluator {
    /// One that is `lent`, or none yet.
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

    /// That of this searcher alone.
    pub fn own(&self) -> Option<&Evaluator> {
        match &self.held {
            Held::Own(evaluator) => Some(evaluator),
            Held::Nothing | Held::Lent(_) => None,
        }
    }

    /// As [`Self::own`].
    pub fn own_mut(&mut self) -> Option<&mut Evaluator> {
        match &mut self.held {
            Held::Own(evaluator) => Some(evaluator),
            Held::Nothing | Held::Lent(_) => None,
        }
    }

    /// Another evaluator is wanted from now on: what it lacks is said, whatever was said of the last one.
    pub fn want_another(&mut self) {
        self.want_again();
        self.told = None;
    }

    /// What could not be had may be there now.
    pub fn want_again(&mut self) {
        self.made_for = None;
    }

    /// Whether there is no evaluator, or another one than is `wanted`.
    pub fn must_make(&self, wanted: &EvaluatorSettings) -> bool {
        match &self.held {
            Held::Nothing => true,
            Held::Own(evaluator) => evaluator.settings() != wanted && self.made_for.as_ref() != Some(wanted),
            Held::Lent(_) => false,
        }
    }

    /// Makes it, and adds to `notes` what runs. What it lacks of what is `wanted` comes back, the first time.
    ///
    /// # Errors
    /// One line: there is none.
    pub fn make(&mut self, wanted: &EvaluatorSettings, notes: &mut Vec<String>) -> Result<Option<String>, String> {
        let last = self.own().map(|evaluator| evaluator.settings().clone());
        // The old one goes first: a small device has no room for two.
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
