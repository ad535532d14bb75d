//! Everything that searches many positions at once: the queue, the workers, and the state that they share.

pub(super) mod memory;
pub(super) mod threads;

use std::sync::Arc;

use super::Analyst;
use super::actions::{Actions, Evaluators};
use super::chess::Sessions;
use super::crew::QueryCrew;
use super::output::Output;
use super::queue::QueuedQuery;
use super::turns::Read;
use crate::fields::Object;
use oncilla_syzygy::Tablebases;

/// The most positions at a time by default. With more, each tree would be small.
pub const MOST_AT_A_TIME: usize = 256;

/// Accepts the queries of one game, and writes the answers to an [`Output`].
pub struct QueryPool<Q> {
    read: ReadsQuery<Q>,
    crew: QueryCrew<Q>,
    networks: Arc<dyn Evaluators>,
    /// `None` for a game that has none.
    sessions: Option<Arc<Sessions>>,
    /// Kept alive, so that all searches share them; `None` for a game that has none.
    _tablebases: Option<Arc<Tablebases>>,
}

/// Reads the fields of the query with this id.
type ReadsQuery<Q> = Box<dyn Fn(&str, &Object) -> Read<Q>>;

impl<Q> QueryPool<Q> {
    /// A pool without sessions, whose queries `read` reads.
    pub fn new(
        read: impl Fn(&str, &Object) -> Read<Q> + 'static,
        crew: QueryCrew<Q>,
        networks: Arc<dyn Evaluators>,
    ) -> Self {
        Self { read: Box::new(read), crew, networks, sessions: None, _tablebases: None }
    }

    /// Gives the pool sessions.
    pub fn with_sessions(self, sessions: Arc<Sessions>) -> Self {
        Self { sessions: Some(sessions), ..self }
    }

    /// Gives the pool the tablebases, if there are any, that its searches use.
    pub fn with_tablebases(self, tablebases: Option<Arc<Tablebases>>) -> Self {
        Self { _tablebases: tablebases, ..self }
    }
}

impl<Q: QueuedQuery + Send + Sync + 'static> Analyst for QueryPool<Q> {
    fn ask(&self, id: &str, request: &Object) {
        self.crew.take(id, (self.read)(id, request));
    }

    fn obey(&self, id: &str, action: &str, request: Object) {
        let actions = Actions {
            queue: &*self.crew.queue,
            output: &self.crew.output,
            networks: &*self.networks,
            sessions: self.sessions.as_deref(),
            parallel: self.crew.count(),
        };
        actions.obey(id, action, request);
    }

    fn output(&self) -> &Output {
        &self.crew.output
    }

    fn describe(&self) -> String {
        self.networks.describe()
    }

    fn parallel(&self) -> usize {
        self.crew.count()
    }

    fn abandon(&self) {
        self.crew.abandon();
    }

    fn finish(self: Box<Self>) {
        self.crew.finish();
    }
}
