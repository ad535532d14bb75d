//! The queue and the workers that empty it, for both games.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::ANSWERS_SHARE;
use super::output::Output;
use super::queue::{Queue, QueuedQuery};
use super::request::Refusal;
use super::turns::Read;
use crate::engine::bytes_of_mb;
use crate::fields::BadField;
use serde_json::json;

/// The workers, with the queue and the output.
pub struct QueryCrew<Q> {
    pub queue: Arc<Queue<Q>>,
    pub output: Arc<Output>,
    workers: Vec<JoinHandle<()>>,
}

impl<Q: QueuedQuery> QueryCrew<Q> {
    /// Starts `count` workers, or fewer if no more threads can be started. `worker` makes the function that a worker
    /// runs until the queue is closed and empty. The queue may use the part of `queue_mb` that is not reserved for
    /// answers.
    ///
    /// # Errors
    /// In one line: not a single thread could be started.
    pub fn start<W: FnOnce() + Send + 'static>(
        output: Output,
        queue_mb: usize,
        count: usize,
        worker: impl Fn(&Arc<Queue<Q>>, &Arc<Output>) -> W,
    ) -> Result<Self, String> {
        let output = Arc::new(output);
        let bytes = bytes_of_mb(queue_mb);
        let queue = Arc::new(Queue::new(bytes - bytes / ANSWERS_SHARE));
        let mut workers = Vec::new();
        for index in 0..count {
            let thread = std::thread::Builder::new().name(format!("analysis {index}"));
            match thread.spawn(worker(&queue, &output)) {
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
        let warnings: Vec<String> = warnings.iter().map(|warning| warning_line(id, warning)).collect();
        self.output.say_all(&warnings);
        match query {
            Ok(accepted) => self.queue.push(accepted),
            Err(bad) => self.output.say(refusal(id, bad).line()),
        }
    }

    /// Drops all waiting turns and stops all running searches, without answers.
    pub fn abandon(&self) {
        self.output.close();
        let found = self.queue.find(None, |_| true);
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
