//! The engine: a search in a thread of its own, with a tree that is kept from move to move.
//!
//! [`Engine`] is the handle that the protocols hold. The thread behind it (`searcher`) owns the tree's memory, the
//! evaluator and the time manager; it takes commands in order, and while it searches it looks at `control` for wishes
//! that can't wait.

mod budget;
mod control;
mod crew;
mod fallback;
mod held;
mod kept;
mod leaf;
mod leaves;
mod limits;
mod lineage;
mod params;
mod pipeline;
mod playouts;
mod report;
mod restrict;
mod scope;
mod searcher;
mod settings;
mod shared;
mod snapshot;
mod syzygy;
mod tables;
mod tally;
mod timing;
mod watch;

pub use limits::{Clock, Go};
pub use report::{Done, Info, Line, MoveStats, Observer, Statistics};
pub use restrict::{Restriction, Restrictions};
pub use settings::{KldGainSettings, SearchGraph, Settings, Syzygy, Workers};
pub use snapshot::{EdgeView, mate};
pub use tables::{RootResults, open as open_tablebases};

use crate::evaluator::Evaluator;
use crate::system;
use control::Control;
use held::Lacking;
use oncilla_chess::History;
use searcher::{Command, Searcher};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The kind of search that this program uses.
pub type Search<'m> = oncilla_core::search::Search<oncilla_core::tree::Tree<'m>>;

/// A search engine for one game at a time.
///
/// Every call returns at once, except those that must load a network, end a search or wait for its end; what a search
/// finds goes to its [`Observer`].
pub struct Engine {
    commands: Sender<Command>,
    control: Arc<Control>,
    /// The search's thread, or why the system gave none.
    worker: Result<JoinHandle<()>, String>,
}

impl Engine {
    /// An engine without a network yet: [`Engine::prepare`] or the first search loads it. If something that the
    /// settings name can't be had, the engine does not search.
    pub fn new(settings: Settings) -> Self {
        Self::start(settings, None, Lacking::IsAnError)
    }

    /// Like [`Engine::new`], but the engine searches in any case: if it can't have what the settings name, with the
    /// best that it can have.
    pub fn that_plays_on(settings: Settings) -> Self {
        Self::start(settings, None, Lacking::IsReplaced)
    }

    /// An engine with an evaluator, and a cache, that others use too. It never makes an evaluator of its own, whatever
    /// the settings say.
    pub fn sharing(settings: Settings, evaluator: Arc<Evaluator>) -> Self {
        Self::start(settings, Some(evaluator), Lacking::IsAnError)
    }

    fn start(settings: Settings, lent: Option<Arc<Evaluator>>, lacking: Lacking) -> Self {
        system::count_milliseconds();
        let control = Arc::new(Control::default());
        let (commands, inbox) = channel();
        let searcher = Searcher::new(settings, Arc::clone(&control), lent, lacking);
        let end = Arc::clone(&control).end_on_drop();
        let thread = std::thread::Builder::new().name("search".to_string()).spawn(move || {
            let _end = end;
            // It is gone before the end is told, so that nothing that is sent after that gets lost.
            let inbox = inbox;
            searcher.run(&inbox);
        });
        // Without a thread there is no engine; commands then fail with a line that says so.
        Self { commands, control, worker: thread.map_err(|error| error.to_string()) }
    }

    /// An engine for which the system had no thread.
    #[cfg(test)]
    pub fn without_a_thread(why: &str) -> Self {
        Self { commands: channel().0, control: Arc::default(), worker: Err(why.to_string()) }
    }

    /// Takes new settings, which count from the next search on.
    pub fn configure(&mut self, settings: Settings) {
        self.tell(Command::Configure(Box::new(settings)));
    }

    /// Loads the network and makes the backend if that has to be done. What runs, and why not something else, is said
    /// by the next search: clients of UCI expect nothing but `readyok` here. While a search runs there is nothing to
    /// load.
    ///
    /// # Errors
    /// One line: no such file, not a network, no device. If something else plays on instead, that is an error once.
    pub fn prepare(&mut self) -> Result<(), String> {
        self.begin_to_prepare().recv().unwrap_or_else(|_| Err(self.why_no_thread()))
    }

    /// Like [`Engine::prepare`], but returns at once: the result is sent. If the thread is gone, nothing is sent.
    pub fn begin_to_prepare(&mut self) -> Receiver<Result<(), String>> {
        let (reply, answer) = channel();
        if self.control.is_at_work() {
            let _ = reply.send(Ok(())); // the receiver is still there
        } else {
            self.tell(Command::Prepare(reply));
        }
        answer
    }

    /// Begins a new game: forgets the tree and what was learned about time. A running search is stopped without a best
    /// move.
    pub fn new_game(&mut self) {
        self.abort();
        self.tell(Command::NewGame);
    }

    /// Forgets the tree, and nothing else, before the next search: a running one goes on.
    pub fn forget(&mut self) {
        self.tell(Command::Forget);
    }

    /// A handle that can end the search from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.control))
    }

    /// Sets the position that the next search thinks about. A running search is stopped without a best move. The tree
    /// is kept if the game went on from the last position.
    pub fn position(&mut self, position: History) {
        self.abort();
        self.tell(Command::Position(Box::new(position)));
    }

    /// Starts to think. The clock runs from this call on.
    ///
    /// # Errors
    /// If a search runs already, or if the engine's thread has ended. What keeps the search from being good, such as a
    /// network that is missing, is no error: the observer gets a note.
    pub fn go(&mut self, go: Go, observer: Box<dyn Observer>) -> Result<(), String> {
        if self.is_searching() {
            return Err("a search runs already".to_string());
        }
        self.control.begin();
        match self.commands.send(Command::Go(go, observer, std::time::Instant::now())) {
            Ok(()) => Ok(()),
            Err(_) => {
                self.control.end();
                Err(self.why_no_thread())
            }
        }
    }

    /// Says that the opponent played the move that was pondered: the limits count from this call on.
    pub fn ponder_hit(&mut self) {
        self.control.ponder_hit();
    }

    /// Ends the search; the observer then gets its best move.
    pub fn stop(&mut self) {
        self.control.stop();
    }

    /// True while a search runs.
    pub fn is_searching(&self) -> bool {
        self.control.is_searching()
    }

    /// Blocks until the search has ended by itself.
    pub fn wait(&mut self) {
        self.control.wait_until_idle();
    }

    /// Blocks until the search has ended, but no longer than `limit`. Returns whether it has ended.
    pub fn wait_for(&mut self, limit: Duration) -> bool {
        self.control.wait_until_idle_for(limit)
    }

    /// The error of calls if the search's thread is gone: one line.
    pub fn why_no_thread(&self) -> String {
        match &self.worker {
            Ok(_) => "the search's thread has ended".to_string(),
            Err(why) => format!("the system gave the search no thread: {why}"),
        }
    }

    fn abort(&mut self) {
        if self.is_searching() {
            self.control.stop_silently();
            self.control.wait_until_idle();
        }
    }

    fn tell(&self, command: Command) {
        // If the thread is gone, `prepare` and `go` say so.
        let _ = self.commands.send(command);
    }
}

/// Ends the searches of an [`Engine`].
#[derive(Clone)]
pub struct Stopper(Arc<Control>);

impl Stopper {
    /// Like [`Engine::stop`]. Does nothing if no search runs.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.abort();
        self.tell(Command::Quit);
        let none = Err("the engine is gone".to_string());
        if let Ok(thread) = std::mem::replace(&mut self.worker, none) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::BackendKind;
    use crate::options::Typed;

    /// An observer that panics when it gets an [`Info`]: in the middle of the search's thread.
    struct Faulty {
        notes: Vec<String>,
        end: Sender<(Done, Vec<String>)>,
        faulty: bool,
    }

    impl Observer for Faulty {
        fn info(&mut self, _: &Info) {
            assert!(!self.faulty, "as a test");
        }

        fn done(&mut self, done: &Done) {
            self.end.send((done.clone(), std::mem::take(&mut self.notes))).unwrap();
        }

        fn note(&mut self, text: &str) {
            self.notes.push(text.to_string());
        }
    }

    fn go(engine: &mut Engine, go: Go, faulty: bool) -> Receiver<(Done, Vec<String>)> {
        let (end, heard) = channel();
        engine.go(go, Box::new(Faulty { notes: Vec::new(), end, faulty })).unwrap();
        heard
    }

    #[test]
    fn a_search_that_panics_gives_a_move_and_the_next_one_is_whole() {
        for threads in [1, 3] {
            let mut settings = Typed::default().meaning().unwrap().settings;
            settings.evaluator.backend = BackendKind::Random;
            settings.workers.all = threads;
            let mut engine = Engine::new(settings);
            engine.position(History::startpos());
            let nodes = Go { nodes: Some(100), ..Go::default() };
            let patience = Duration::from_secs(60);
            let (done, notes) = go(&mut engine, nodes.clone(), true).recv_timeout(patience).unwrap();
            assert!(done.best.is_some());
            assert_eq!(notes, ["internal error: as a test; the best move so far is played"]);
            engine.wait();
            let endless = go(&mut engine, Go { infinite: true, ..Go::default() }, true);
            assert!(endless.recv_timeout(Duration::from_millis(100)).is_err(), "nobody has said stop");
            engine.stop();
            assert!(endless.recv_timeout(patience).unwrap().0.best.is_some());
            engine.wait();
            let (done, notes) = go(&mut engine, nodes, false).recv_timeout(patience).unwrap();
            assert_eq!((done.stats.last().unwrap().n, notes.len()), (100, 0), "a new tree, and no fault");
        }
    }
}
