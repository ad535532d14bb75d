//! Where a batch's time goes: how long each kernel takes by the device's clock, and what is left.

use super::OpenCl;
use crate::backend::{Backend, BackendError, Outputs, batch_of};
use std::time::Instant;

/// How many batches are not counted, in which buffers are made and kernels compiled.
const WARM_UP: usize = 2;

/// All launches of one kernel in a batch, or all transfers to or from the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The kernel, or `write` and `read`.
    pub of: String,
    /// How many there are in each batch.
    pub count: usize,
    /// Mean seconds in a batch, by the device's clock.
    pub seconds: f64,
}

/// Where a batch's time goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Mean seconds of a batch, by the host's clock.
    pub seconds: f64,
    /// Seconds from the beginning of the first command to the end of the last, by the device's clock.
    pub device: f64,
    /// The parts, the longest first. The time that is missing from `device` is spent between commands.
    pub parts: Vec<Part>,
}

impl OpenCl {
    /// Runs a batch `runs` times, see [`Backend::evaluate`]. The backend must have been made with
    /// [`Options::profiled`](super::Options::profiled).
    ///
    /// # Errors
    /// If the device fails or has no clock, if `input` is not a batch, or if `runs` is 0.
    pub fn profile(&mut self, input: &[f32], runs: usize) -> Result<Profile, BackendError> {
        batch_of(&self.common.graph, self.common.max_batch, input)?;
        if runs == 0 {
            return Err(BackendError("a profile: expected at least one run".to_string()));
        }
        let mut outputs = Outputs::default();
        for _ in 0..WARM_UP {
            self.evaluate(input, &mut outputs)?;
        }
        self.session.times();
        let mut profile = Profile::default();
        for _ in 0..runs {
            let begun = Instant::now();
            self.evaluate(input, &mut outputs)?;
            profile.seconds += begun.elapsed().as_secs_f64();
            let times = self.session.times();
            let (first, last) = (times.iter().map(|time| time.begin).min(), times.iter().map(|time| time.end).max());
            let (Some(first), Some(last)) = (first, last) else {
                return Err(BackendError("a profile: the device noted no times".to_string()));
            };
            profile.device += nanoseconds(first, last);
            times.iter().for_each(|time| profile.add(&time.of, nanoseconds(time.begin, time.end)));
        }
        Ok(profile.mean_of(runs))
    }
}

/// The seconds between two times in nanoseconds.
fn nanoseconds(begin: u64, end: u64) -> f64 {
    end.saturating_sub(begin) as f64 / 1e9
}

impl Profile {
    fn add(&mut self, of: &str, seconds: f64) {
        match self.parts.iter_mut().find(|part| part.of == of) {
            Some(part) => {
                part.count += 1;
                part.seconds += seconds;
            }
            None => self.parts.push(Part { of: of.to_string(), count: 1, seconds }),
        }
    }

    fn mean_of(mut self, runs: usize) -> Self {
        self.seconds /= runs as f64;
        self.device /= runs as f64;
        for part in &mut self.parts {
            part.count /= runs;
            part.seconds /= runs as f64;
        }
        self.parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        self
    }
}
