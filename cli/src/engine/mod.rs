//! The engine: a search in a thread of its own, with a tree that lives from move to move.

mod limits;
mod report;
mod settings;

pub use limits::{Clock, Go};
pub use report::{Done, Info, Line, MoveStats, Observer};
pub use settings::{BackendKind, EvaluatorSettings, Settings, Weights};

use oncilla_chess::History;

/// A search engine for one game at a time.
///
/// Every call returns at once, but for those that must load a network; what a search finds goes to its [`Observer`].
pub struct Engine {
    settings: Settings,
}

impl Engine {
    /// An engine without a network yet: it is loaded by [`Engine::prepare`] or the first search.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Takes new settings; they count from the next search on.
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Loads the network and makes the backend if that is due. Gives back lines that a person should read (what runs,
    /// and why not something else).
    ///
    /// # Errors
    /// One line: no such file, no network, no device.
    pub fn prepare(&mut self) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// A new game: forgets the tree and what was learned about time.
    pub fn new_game(&mut self) {}

    /// The position that the next search thinks about. A running search is stopped without a best move. The tree is
    /// kept if the game went on from the last position.
    pub fn position(&mut self, _position: History) {}

    /// Starts to think. The clock runs from now on.
    ///
    /// # Errors
    /// As [`Engine::prepare`].
    pub fn go(&mut self, _go: Go, _observer: Box<dyn Observer>) -> Result<(), String> {
        Err("not yet".to_string())
    }

    /// The opponent played the move that was pondered: the limits count from now on.
    pub fn ponder_hit(&mut self) {}

    /// Ends the search: its best move follows through the observer.
    pub fn stop(&mut self) {}

    /// True while a search runs.
    pub fn is_searching(&self) -> bool {
        false
    }

    /// Blocks until the search has ended by itself.
    pub fn wait(&mut self) {}
}
