//! The search's thread: it owns the tree's memory and takes one command after the other.

use super::control::Control;
use super::evaluator::Evaluator;
use super::limits::Go;
use super::playouts::{Playouts, Step};
use super::report::{Done, Observer};
use super::settings::Settings;
use super::snapshot::Snapshot;
use super::timing::{MoveTime, TimeManager};
use oncilla_chess::{History, Position, pack};
use oncilla_core::Move;
use oncilla_core::search::{Params, Search};
use oncilla_core::tree::{BLOCK_BYTES, Block, NODE_BYTES, NodeWords, Tree};
use std::iter::successors;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// What the thread can be told.
pub enum Command {
    Configure(Box<Settings>),
    Prepare(Sender<Result<(), String>>),
    NewGame,
    Position(Box<History>),
    Go(Go, Box<dyn Observer>, Instant),
    Quit,
}

/// Blocks that go with one node: seven edges a block, some 33 legal moves and one visited edge on average in a
/// middlegame. `bench` prints what a tree really takes.
const BLOCKS_PER_NODE: f64 = 5.25;

/// Smallest tree: room for what a batch keeps free, and a little more.
const LEAST_NODES: usize = 20_000;

/// The memory of a tree. Zeroed pages that nobody has touched yet cost nothing.
struct Memory {
    nodes: Vec<NodeWords>,
    blocks: Vec<Block>,
}

impl Memory {
    /// As much as the system grants, halved from `megabytes` on, and how much that is. `None` if it grants nothing.
    fn of_at_most(megabytes: usize) -> Option<(Self, usize)> {
        let mut sizes = successors(Some(megabytes), |&size| (size > 0).then_some(size / 2));
        sizes.find_map(|size| Self::of_megabytes(size).map(|memory| (memory, size)))
    }

    fn of_megabytes(megabytes: usize) -> Option<Self> {
        let each = NODE_BYTES as f64 + BLOCKS_PER_NODE * BLOCK_BYTES as f64;
        let nodes = ((megabytes as f64 * 1024.0 * 1024.0 / each) as usize).max(LEAST_NODES);
        let blocks = (nodes as f64 * BLOCKS_PER_NODE) as usize;
        Some(Self { nodes: zeroed(nodes)?, blocks: zeroed(blocks)? })
    }
}

/// `vec!` gets zeroed pages without touching them, but ends the program where there are none: so the system is asked
/// first.
fn zeroed<const WORDS: usize>(len: usize) -> Option<Vec<[u32; WORDS]>> {
    let mut room = Vec::<[u32; WORDS]>::new();
    room.try_reserve_exact(len).ok()?;
    // The optimizer may leave out memory that nobody looks at, and take it for granted.
    drop(std::hint::black_box(room));
    Some(vec![[0; WORDS]; len])
}

/// The thread's state, but for the search in the memory of its size.
pub struct Worker {
    settings: Settings,
    control: Arc<Control>,
    evaluator: Option<Evaluator>,
    position: Box<History>,
    /// The position at the root of the tree.
    root: Option<Box<History>>,
    time: TimeManager,
    /// What the next search says first: which backend runs, and why not another.
    notes: Vec<String>,
}

impl Worker {
    pub fn new(settings: Settings, control: Arc<Control>) -> Self {
        let time = TimeManager::new(&settings);
        let position = Box::new(History::startpos());
        Self { settings, control, evaluator: None, position, root: None, time, notes: Vec::new() }
    }

    /// Until it is told to quit, or nobody is left who could tell it.
    pub fn run(mut self, inbox: &Receiver<Command>) {
        loop {
            let megabytes = self.settings.hash_mb;
            // Without a tree there is no thread; the next command says so.
            let Some((mut memory, granted)) = Memory::of_at_most(megabytes) else { return };
            if granted < megabytes {
                self.notes.push(format!("Hash: the system does not grant {megabytes} MiB; {granted} MiB are used"));
            }
            let mut search = Search::new(Tree::new(&mut memory.nodes, &mut memory.blocks), self.settings.params);
            self.root = None;
            while self.settings.hash_mb == megabytes {
                let Ok(command) = inbox.recv() else { return };
                if self.obey(command, &mut search).is_break() {
                    return;
                }
            }
        }
    }

    fn obey(&mut self, command: Command, search: &mut Search<'_>) -> ControlFlow<()> {
        match command {
            Command::Configure(settings) => self.configure(*settings, search),
            Command::Prepare(reply) => {
                // Whoever asked may have gone meanwhile.
                let _ = reply.send(self.prepare(search));
            }
            Command::NewGame => {
                search.clear();
                self.root = None;
                self.time = TimeManager::new(&self.settings);
            }
            Command::Position(position) => self.position = position,
            Command::Go(go, observer, since) => {
                self.go(&go, observer, since, search);
            }
            Command::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn configure(&mut self, settings: Settings, search: &mut Search<'_>) {
        // What edges and nodes hold was made with these: a tree of both kinds would be neither.
        let old = &self.settings;
        if old.white_draw_score != settings.white_draw_score
            || old.two_fold_draws != settings.two_fold_draws
            || old.params.policy_temperature != settings.params.policy_temperature
            || old.evaluator != settings.evaluator
        {
            search.clear();
            self.root = None;
        }
        if old.time != settings.time {
            self.time = TimeManager::new(&settings);
        }
        self.settings = settings;
    }

    fn prepare(&mut self, search: &mut Search<'_>) -> Result<(), String> {
        if self.evaluator.as_ref().is_some_and(|e| *e.settings() == self.settings.evaluator) {
            return Ok(());
        }
        // The old one goes first: a small device has no room for two.
        self.evaluator = None;
        search.clear();
        self.root = None;
        let (evaluator, notes) = Evaluator::new(&self.settings.evaluator)?;
        self.evaluator = Some(evaluator);
        self.notes.extend(notes);
        Ok(())
    }

    fn go(&mut self, go: &Go, mut observer: Box<dyn Observer>, since: Instant, search: &mut Search<'_>) {
        let done = match self.prepare(search) {
            Ok(()) => {
                self.notes.drain(..).for_each(|note| observer.note(&note));
                self.search(go, observer.as_mut(), since, search)
            }
            Err(fault) => {
                observer.note(&format!("{fault}; without a network the first legal move is played"));
                self.resign_to_any_move(go)
            }
        };
        if !self.control.is_silent() {
            observer.done(&done);
        }
        // Only now: whoever waits for the end may give the next command at once.
        self.control.end();
    }

    /// Without an evaluator there is no search, but a GUI that waits for a move gets a legal one.
    fn resign_to_any_move(&self, go: &Go) -> Done {
        while (go.infinite || go.ponder) && !self.control.should_stop() && self.control.ponder_hit_at().is_none() {
            self.control.wait_for_wish(None);
        }
        let mut moves = oncilla_chess::MoveList::new();
        self.position.legal_moves(&mut moves);
        let best = go.search_moves.iter().find(|mv| moves.contains(mv)).or(moves.first());
        Done { best: best.copied(), ponder: None, stats: Vec::new() }
    }

    fn search(&mut self, go: &Go, observer: &mut dyn Observer, since: Instant, search: &mut Search<'_>) -> Done {
        if !self.reroot(search) {
            self.time = TimeManager::new(&self.settings);
        }
        let Some(evaluator) = self.evaluator.as_mut() else { return Done { best: None, ponder: None, stats: vec![] } };
        search.set_params(params_for(&self.settings, evaluator, &self.position));
        search.set_root_moves(go.search_moves.iter().map(|&mv| Move(pack(mv))));
        search.start_move();

        let mut snapshot = Snapshot::new(&self.settings, evaluator, since);
        let mut time = MoveTime::new(&self.settings, go, &self.position, since);
        let mut playouts = Playouts::new(&self.settings, evaluator, &self.position);
        let mut halted = false;
        loop {
            let ponder_hit = self.control.ponder_hit_at();
            time.start_if_due(&mut self.time, ponder_hit, search.nodes());
            let told = self.control.should_stop();
            let reached = time.is_over(&mut self.time, search, snapshot.mate(search));
            if (told && (search.nodes() > 0 || halted)) || ((reached || halted) && time.may_end()) {
                break;
            }
            if halted || reached {
                self.control.wait_for_wish(ponder_hit);
                continue;
            }
            match playouts.step(search, evaluator, time.nodes_wanted(search)) {
                Ok(Step::Progress { note }) => {
                    note.iter().for_each(|note| observer.note(note));
                    snapshot.after_batch(search, observer);
                    halted = time.is_pointless(search, go);
                }
                Ok(Step::NothingToDo) => halted = true,
                Err(fault) => {
                    observer.note(&fault);
                    halted = true;
                }
            }
        }
        time.end(&mut self.time, search);
        let info = snapshot.info(search);
        if !self.control.is_silent() {
            observer.info(&info);
        }
        let done = snapshot.done(search, &self.position);
        if done.best.is_none() {
            return Done {
                stats: done.stats,
                ..self.resign_to_any_move(&Go { infinite: false, ponder: false, ..go.clone() })
            };
        }
        done
    }

    /// Makes the tree's root the position to search. False if the game did not go on from the last one.
    fn reroot(&mut self, search: &mut Search<'_>) -> bool {
        let moves = self.root.as_ref().and_then(|root| moves_between(root, &self.position));
        self.root = Some(self.position.clone());
        match &moves {
            Some(moves) => {
                let packed: Vec<Move> = moves.iter().map(|&mv| Move(pack(mv))).collect();
                search.advance(&packed);
            }
            None => search.clear(),
        }
        moves.is_some()
    }
}

/// The core's parameters for one search: draws are worth what they are to the side to move.
fn params_for(settings: &Settings, evaluator: &Evaluator, position: &History) -> Params {
    let sign = if position.side_to_move() == oncilla_chess::Color::White { 1.0 } else { -1.0 };
    Params {
        draw_score: sign * settings.white_draw_score,
        moves_left: settings.params.moves_left.filter(|_| evaluator.has_moves_left()),
        ..settings.params
    }
}

/// The moves that lead from the last position of `old` to that of `new`, if one game went on to become the other.
fn moves_between(old: &History, new: &History) -> Option<Vec<oncilla_chess::Move>> {
    let plies = new.len().checked_sub(old.len())?;
    let same = |back: usize| match (old.back(back), new.back(back + plies)) {
        (None, None) => Some(true),
        (Some(a), Some(b)) => Some(a.board() == b.board() && a.rule50() == b.rule50()),
        // The longer game has forgotten what the shorter one still remembers.
        (Some(_), None) => None,
        (None, Some(_)) => Some(false),
    };
    if !(0..old.len()).map_while(same).all(|same| same) || same(0) != Some(true) {
        return None;
    }
    (0..plies).rev().map(|back| new.back(back).and_then(Position::last_move)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_chess::notation;

    fn after(moves: &[&str]) -> History {
        let mut history = History::startpos();
        for text in moves {
            let mv = notation::parse_move(history.board(), text).unwrap();
            history.push(mv);
        }
        history
    }

    #[test]
    fn less_memory_is_taken_where_there_is_not_enough() {
        // 2⁶⁰ bytes and more than an address can say.
        for megabytes in [1 << 40, usize::MAX] {
            let (memory, granted) = Memory::of_at_most(megabytes).unwrap();
            assert!(granted < megabytes && memory.nodes.len() >= LEAST_NODES);
        }
        assert_eq!(Memory::of_at_most(8).unwrap().1, 8);
    }

    #[test]
    fn a_game_that_goes_on_is_known() {
        let opening = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "g8f6", "e1g1"];
        for (from, to) in [(0, 0), (0, 7), (3, 5), (6, 7)] {
            let moves = moves_between(&after(&opening[..from]), &after(&opening[..to])).unwrap();
            assert_eq!(moves.len(), to - from);
            let mut history = after(&opening[..from]);
            moves.iter().for_each(|&mv| history.push(mv));
            assert_eq!(history.key(), after(&opening[..to]).key());
        }
        assert!(moves_between(&after(&opening[..4]), &after(&opening[..3])).is_none(), "taken back");
        assert!(moves_between(&after(&["d2d4"]), &after(&opening[..3])).is_none(), "another game");
        let transposed = after(&["g1f3", "b8c6", "e2e4", "e7e5"]);
        assert!(moves_between(&transposed, &after(&opening[..5])).is_none(), "another way to the same position");
    }
}
