//! The queue and the workers that empty it, for both games. What all workers do is here: every turn that one of them
//! takes gets exactly one last line, however its search ends.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::output::Output;
use super::queue::{Queue, QueuedQuery, Taken};
use super::request::Refusal;
use super::single::Hold;
use super::turns::Read;
use super::{ANSWERS_SHARE, failed, nothing};
use crate::fault::guarded;
use crate::fields::BadField;
use crate::memory::bytes_of_mb;
use serde_json::json;

/// A line of an answer, and the lock that is held until the line is written.
pub struct Line {
    pub text: String,
    pub hold: Option<Hold>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, hold: None }
    }
}

/// The reason why there is no answer.
pub struct Fault {
    pub text: String,
    /// Whether it was written to standard error already.
    pub was_said: bool,
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self { text, was_said: false }
    }
}

/// Searches positions of one game, one after the other.
pub trait SearchesTurns<Q> {
    /// Searches a position and returns its last line, which is not written yet; `None` if the search was ended before
    /// it had a result.
    ///
    /// # Errors
    /// Why there is no answer.
    fn search(&mut self, taken: &Taken<Q>) -> Result<Option<Line>, Fault>;

    /// Drops what a search of the query may have left behind, after it has failed or panicked.
    fn clean_up(&mut self, _query: &Q) {}
}

/// A worker thread's state.
struct Worker<Q, S> {
    queue: Arc<Queue<Q>>,
    output: Arc<Output>,
    searcher: S,
}

impl<Q: QueuedQuery, S: SearchesTurns<Q>> Worker<Q, S> {
    /// Searches turns until the queue is closed and empty.
    fn run(mut self) {
        while let Some(taken) = self.queue.take() {
            let Line { text, hold } = self.last_line(&taken);
            self.output.say(text);
            drop(hold);
            self.queue.done(&taken);
        }
    }

    /// Searches a position. The turn gets its last line in any case.
    fn last_line(&mut self, taken: &Taken<Q>) -> Line {
        let (query, turn) = (&*taken.turn.query, taken.turn.number);
        let searched = match taken.running.is_ended() {
            true => Ok(None),
            false => guarded(|| self.searcher.search(taken)).map_err(Fault::from).and_then(|searched| searched),
        };
        match searched {
            Ok(Some(line)) => line,
            Ok(None) => nothing(query.id(), turn).into(),
            Err(Fault { text, was_said }) => {
                if !was_said {
                    self.output.aside(&text);
                }
                self.searcher.clean_up(query);
                failed(query.id(), turn, &text).into()
            }
        }
    }
}

/// The workers, with the queue and the output.
pub struct QueryCrew<Q> {
    pub queue: Arc<Queue<Q>>,
    pub output: Arc<Output>,
    workers: Vec<JoinHandle<()>>,
}

impl<Q: QueuedQuery + Send + Sync + 'static> QueryCrew<Q> {
    /// Starts `count` workers, or fewer if no more threads can be started; `searcher` makes what each of them searches
    /// with. The queue may use the part of `queue_mb` that is not reserved for answers.
    ///
    /// # Errors
    /// In one line: not a single thread could be started.
    pub fn start<S: SearchesTurns<Q> + Send + 'static>(
        output: Output,
        queue_mb: usize,
        count: usize,
        searcher: impl Fn(&Arc<Queue<Q>>, &Arc<Output>) -> S,
    ) -> Result<Self, String> {
        let output = Arc::new(output);
        let bytes = bytes_of_mb(queue_mb);
        let queue = Arc::new(Queue::new(bytes - bytes / ANSWERS_SHARE));
        let mut workers = Vec::new();
        for index in 0..count {
            let searcher = searcher(&queue, &output);
            let worker = Worker { queue: Arc::clone(&queue), output: Arc::clone(&output), searcher };
            let thread = std::thread::Builder::new().name(format!("analysis {index}"));
            match thread.spawn(move || worker.run()) {
                Ok(thread) => workers.push(thread),
                Err(error) if workers.is_empty() => return Err(format!("no thread for the search: {error}")),
                Err(_) => break,
            }
        }
        Ok(Self { queue, output, workers })
    }

    /// The number of workers.
    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Writes the warnings about a query, and queues it or writes the error in it. Waits while the queue is full.
    pub fn take(&self, id: &str, read: Read<Q>) {
        let Read { query, warnings } = read;
        // One after the other, so that those which nobody has read count: each has the whole id in it.
        warnings.iter().for_each(|warning| self.output.say(warning_line(id, warning)));
        match query {
            Ok(accepted) => self.queue.push(accepted),
            Err(bad) => self.output.say(refusal(id, bad).line()),
        }
    }

    /// Drops all waiting turns and stops all running searches, without answers.
    pub fn abandon(&self) {
        self.output.close();
        let found = self.queue.take_out(None, |_| true);
        self.queue.end(&found);
    }

    /// Waits until all queries are answered and the client has read the answers.
    pub fn finish(self) {
        self.queue.close();
        // A worker that panicked has printed a message.
        self.workers.into_iter().for_each(|worker| drop(worker.join()));
        self.output.finish();
    }
}

/// The line of a warning.
pub fn warning_line(id: &str, warning: &BadField) -> String {
    json!({ "field": warning.field, "id": id, "warning": warning.error }).to_string()
}

/// The refusal of a query with a bad field.
pub fn refusal(id: &str, bad: BadField) -> Refusal {
    Refusal { error: bad.error, field: Some(bad.field), id: Some(id.to_string()) }
}
