//! The search's thread, which owns the tree's memory and takes one command after the other.
//!
//! It owns all state of a game: the evaluator and its configuration (`held`), the memory that `RamLimitMb` leaves to
//! tree and cache (`budget`), the user's tablebases (`syzygy`), and the contents of the tree with the positions for
//! which it can be reused (`kept`). While it searches it is the watchdog (`watch`); a `crew`, hired for one search,
//! runs the playouts.
//!
//! If tablebases contain the root, only its best moves by the tables are searched, unless the user names moves. If the
//! shortest mate that rule 50 permits is in the built-in tables, only its moves are searched, and the proof that their
//! leaves bring ends the search. The tables in files have other distances: there the search chooses among all wins in
//! time.
//!
//! The built-in tables are computed when a position first needs one, or while the opponent's clock runs once six men
//! are left.

use super::Search;
use super::budget::MemoryBudget;
use super::control::Control;
use super::crew::Crew;
use super::held::{HeldEvaluator, Lacking};
use super::kept::{KeptTree, share_a_tree};
use super::leaf::LeafRules;
use super::limits::Go;
use super::params::params_for;
use super::pipeline::Queues;
use super::report::{Done, Observer};
use super::scope::Scope;
use super::settings::Settings;
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::syzygy::OpenTables;
use super::tables::{RootResults, Tables};
use super::tally::Tally;
use super::timing::{MoveTime, TimeManagers};
use super::watch::Watch;
use crate::evaluator::{CacheSize, Evaluator};
use crate::fault::guarded;
use crate::memory::{Layout, Memory, most_of_tree};
use oncilla_chess::{History, Move as ChessMove, MoveList, pack, unpack};
use oncilla_core::Move;
use oncilla_core::stats::Counts;
use oncilla_syzygy::{RootRanks, three_men};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// With this many men or fewer, a game soon has only three.
const SOON_THREE_MEN: u32 = 6;

/// The commands that the thread takes.
pub enum Command {
    Configure(Box<Settings>),
    Prepare(Sender<Result<(), String>>),
    NewGame,
    Forget,
    Position(Box<History>),
    Go(Go, Box<dyn Observer>, Instant),
    Quit,
}

impl Command {
    /// Whether the command can't be obeyed without an evaluator.
    fn needs_evaluator(&self) -> bool {
        matches!(self, Self::Prepare(_) | Self::Go(..))
    }
}

/// The thread's state, except for the search, which lives in the tree's memory.
pub struct Searcher {
    settings: Settings,
    control: Arc<Control>,
    evaluator: HeldEvaluator,
    /// What the next search tells about what the evaluator lacks.
    lacks: Option<String>,
    budget: MemoryBudget,
    tablebases: OpenTables,
    position: Box<History>,
    tree: KeptTree,
    time: TimeManagers,
    tally: Tally,
    /// What the next search tells first: which backend runs, and why not another.
    notes: Vec<String>,
}

impl Searcher {
    /// A searcher with the evaluator that is `lent`, or with one of its own that the settings describe.
    pub fn new(settings: Settings, control: Arc<Control>, lent: Option<Arc<Evaluator>>, lacking: Lacking) -> Self {
        Self {
            time: TimeManagers::new(&settings),
            settings,
            control,
            evaluator: HeldEvaluator::new(lent, lacking),
            lacks: None,
            budget: MemoryBudget::new(),
            tablebases: OpenTables::default(),
            position: Box::new(History::startpos()),
            tree: KeptTree::default(),
            tally: Tally::new(),
            notes: Vec::new(),
        }
    }

    /// Obeys commands until it is told to quit, or until all senders are gone.
    pub fn run(mut self, inbox: &Receiver<Command>) {
        let mut next = None;
        loop {
            let wanted = self.budget.tree_size(&self.settings);
            let Some((memory, granted)) = Memory::of_at_most(wanted.bytes, wanted.layout) else {
                // The thread ends, which the next command tells the user; this one gets its answer.
                if let Some(Command::Go(go, observer, _)) = next {
                    self.answer_unsearched(&go, observer, "without memory for a tree");
                }
                return;
            };
            if granted < wanted.bytes {
                let why = if granted == most_of_tree(wanted.layout) {
                    "a tree can't use"
                } else {
                    "the system does not grant"
                };
                let [asked, granted] = [wanted.bytes, granted].map(|bytes| bytes >> 20);
                self.notes.push(format!("Hash: {why} {asked} MiB; {granted} MiB are used"));
            }
            let mut search = Search::new(memory.lend(), self.settings.params);
            self.tree.forget();
            let mut is_used = false;
            loop {
                let Some(command) = next.take().or_else(|| inbox.recv().ok()) else { return };
                // The pages of a used tree belong to the process as long as the tree lives, but what a new network
                // takes is measured with a tree that has not been touched: so the tree is replaced first.
                if is_used && command.needs_evaluator() && (self.must_load() || self.must_weigh()) {
                    next = Some(command);
                    break;
                }
                if matches!(command, Command::Go(..)) {
                    // A second attempt does not tell again what the first one has replaced.
                    self.lacks = self.prepare().err().or(self.lacks.take());
                }
                // How much of RamLimitMb the network takes is known once it is loaded.
                if self.budget.tree_size(&self.settings) != wanted {
                    next = Some(command);
                    break;
                }
                is_used |= matches!(command, Command::Go(..));
                if self.obey(command, &mut search).is_break() {
                    return;
                }
            }
        }
    }

    fn obey(&mut self, command: Command, search: &mut Search<'_>) -> ControlFlow<()> {
        match command {
            Command::Configure(settings) => self.configure(*settings),
            Command::Prepare(reply) => {
                // The receiver may have gone meanwhile.
                let _ = reply.send(self.prepare());
            }
            Command::NewGame => {
                self.evaluator.get().into_iter().for_each(Evaluator::clear_cache);
                self.tally.start_game();
                self.tree.forget();
                self.time = TimeManagers::new(&self.settings);
                // What could not be had for the last game may be there now.
                self.evaluator.want_again();
                self.tablebases.want_again();
            }
            Command::Forget => self.tree.forget(),
            Command::Position(position) => self.position = position,
            Command::Go(go, observer, since) => {
                self.go(&go, observer, since, search);
            }
            Command::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn configure(&mut self, settings: Settings) {
        let old = &self.settings;
        if !share_a_tree(old, &settings) {
            self.tree.forget();
        }
        // Batches of another size, or for another number of threads, take other memory.
        if (old.minibatch, old.workers) != (settings.minibatch, settings.workers) {
            self.budget.forget_evaluator();
        }
        if old.evaluator != settings.evaluator {
            self.evaluator.want_another();
        }
        if old.time != settings.time {
            self.time = TimeManagers::new(&settings);
        }
        self.settings = settings;
    }

    fn prepare(&mut self) -> Result<(), String> {
        guarded(|| self.load())?
    }

    fn must_load(&self) -> bool {
        self.evaluator.must_make(&self.settings.evaluator)
    }

    fn must_weigh(&self) -> bool {
        self.budget.must_weigh(&self.settings) && self.evaluator.own().is_some()
    }

    /// Loads what is needed. What is lacking is returned as an error, whether something else was found for it or not.
    fn load(&mut self) -> Result<(), String> {
        self.open_tablebases();
        let lacks = if self.must_load() { self.make_evaluator()? } else { None };
        if self.must_weigh() {
            self.set_cache(CacheSize { entries: 0, mb: 0 });
            self.weigh_evaluator();
        }
        self.set_cache(self.budget.cache_size(&self.settings));
        self.notes.extend(self.budget.judge_limit(&self.settings));
        lacks.map_or(Ok(()), Err)
    }

    fn make_evaluator(&mut self) -> Result<Option<String>, String> {
        self.tree.forget();
        self.budget.forget_evaluator();
        self.evaluator.make(&self.settings.evaluator, &mut self.notes)
    }

    fn weigh_evaluator(&mut self) {
        if let Some(evaluator) = self.evaluator.own() {
            self.notes.extend(self.budget.weigh(evaluator, &self.settings));
        }
    }

    /// Sets the cache; without one there is a search all the same.
    fn set_cache(&mut self, size: CacheSize) {
        self.notes.extend(self.evaluator.own_mut().and_then(|evaluator| evaluator.set_cache(size).err()));
    }

    fn go(&mut self, go: &Go, mut observer: Box<dyn Observer>, since: Instant, search: &mut Search<'_>) {
        self.lacks.take().into_iter().for_each(|lacks| observer.note(&lacks));
        if self.evaluator.get().is_none() {
            return self.answer_unsearched(go, observer, "without a network");
        }
        let searched = guarded(|| self.search_with_notes(go, observer.as_mut(), since, search));
        let done = searched.unwrap_or_else(|fault| {
            observer.note(&format!("{fault}; the best move so far is played"));
            Done { fault: Some(fault), best: self.salvage(go, search), ..Done::default() }
        });
        self.answer(observer, &done);
        if self.settings.builtin_endgames && self.position.board().occupied().len() <= SOON_THREE_MEN {
            // This runs while the opponent's clock runs, and beside the next command, because an opponent may answer at
            // once. A search that needs it before it is done waits for it.
            let _ = std::thread::Builder::new().name("endings".to_string()).spawn(three_men::prepare);
        }
    }

    /// Answers without a search, and says why: a GUI that waits for a move gets a legal one.
    fn answer_unsearched(&self, go: &Go, mut observer: Box<dyn Observer>, why: &str) {
        observer.note(&format!("{why} the first legal move is played"));
        self.wait_until_told(go);
        self.answer(observer, &Done { best: go.first_legal_move(&self.position), ..Done::default() });
    }

    fn answer(&self, mut observer: Box<dyn Observer>, done: &Done) {
        self.control.be_over();
        if !self.control.is_silent() {
            observer.done(done);
        }
        // Only now: whatever waits for the end may give the next command at once.
        self.control.end();
    }

    /// Runs a search, and tells before and after it what a person should know.
    fn search_with_notes(
        &mut self,
        go: &Go,
        observer: &mut dyn Observer,
        since: Instant,
        search: &mut Search<'_>,
    ) -> Done {
        self.open_tablebases();
        self.notes.drain(..).for_each(|note| observer.note(&note));
        let done = self.search(go, observer, since, search);
        self.notes.extend(self.tablebases.new_bad_files());
        self.notes.drain(..).for_each(|note| observer.note(&note));
        done
    }

    /// The best move so far of a search that panicked, or any legal move. Its tree is of no use any more.
    fn salvage(&mut self, go: &Go, search: &mut Search<'_>) -> Option<ChessMove> {
        self.wait_until_told(go);
        let mut legal = MoveList::new();
        self.position.legal_moves(&mut legal);
        let of_this_position = self.tree.forget_that_of(&self.position);
        let best = guarded(|| search.best_edge().and_then(|edge| edge.mv())).ok().flatten();
        let best = best.map(|mv| unpack(mv.0)).filter(|mv| of_this_position && legal.contains(mv));
        best.or_else(|| go.first_legal_move(&self.position))
    }

    /// Opens the tables in the folders that `SyzygyPath` names, if these have changed.
    fn open_tablebases(&mut self) {
        let paths = &self.settings.syzygy.paths;
        if self.tablebases.are_of(paths) {
            self.tablebases.get().iter().for_each(|tables| tables.try_again());
        } else {
            // What is in the tree was found without these tables.
            self.tree.forget();
            self.notes.extend(self.tablebases.open(paths));
        }
    }

    fn tables(&self) -> Tables {
        Tables { syzygy: self.tablebases.get(), builtin: self.settings.builtin_endgames }
    }

    /// The root's moves with their ranks, if the tables know the root, and the rules for all leaves.
    fn ask_tablebases(&self, go: &Go) -> (Option<RootRanks>, LeafRules) {
        let tables = self.tables();
        // A position that can't be looked up (castling rights, too many pieces, a table that is not there) is searched.
        let ranks = tables.root_moves(&self.position, self.settings.syzygy.fast_play);
        let ranks = ranks.and_then(|ranks| among(ranks, &go.search_moves));
        // Moves that are known to mate, or to be mated, are proven when their leaves are looked at: limits and the
        // clock then see that there is nothing to search.
        let is_mate = |ranks: &RootRanks| ranks.best().all(|best| best.mate.is_some());
        let is_safe = |ranks: &RootRanks| go.search_moves.is_empty() && ranks.by_dtz() && !is_mate(ranks);
        let safe = ranks.as_ref().is_some_and(is_safe);
        let rules = LeafRules {
            two_fold_draws: self.settings.two_fold_draws,
            // The moves that are left make progress, so leaves need not be looked up; it would be of no use either, as
            // all are won.
            tables: if safe { Tables::default() } else { tables },
            needs_keys: self.settings.layout() == Layout::Graph,
            restrictions: go.restrictions.clone(),
            root_temperature: go.root_temperature,
        };
        (ranks, rules)
    }

    /// The results of the root's moves that are certain.
    fn results(&self, go: &Go, ranks: Option<&RootRanks>, legal: &MoveList) -> RootResults {
        // If moves are left out below the root, the game may end in another result.
        if go.restrictions.is_some() {
            return RootResults::default();
        }
        let results = ranks.map(RootResults::of).unwrap_or_default();
        results.with_endings(self.tables(), self.position.board(), legal)
    }

    /// Waits until an answer is wanted, if it is not wanted at once.
    fn wait_until_told(&self, go: &Go) {
        loop {
            let hit = self.control.ponder_hit_at();
            let must_wait = go.infinite || (go.ponder && hit.is_none());
            if !must_wait || self.control.should_stop() {
                break;
            }
            self.control.wait_for_wish(hit);
        }
    }

    /// Makes the search one of the position's moves: those that the tables leave, or those that the user names.
    fn set_up(&mut self, go: &Go, ranks: Option<&RootRanks>, legal: &MoveList, search: &mut Search<'_>) {
        let params = params_for(&self.settings, self.has_moves_left(), &self.position, go);
        let kept = |mv: &ChessMove| match ranks {
            Some(ranks) if go.search_moves.is_empty() => ranks.best().any(|best| best.mv == *mv),
            _ => go.search_moves.contains(mv),
        };
        let asked = || legal.iter().enumerate().filter(|(_, mv)| kept(mv));
        let scope = Scope::of(asked().map(|(_, &mv)| mv), legal.len());
        self.tree.reroot(search, &self.position, params.wdl_rescale, scope, go.steers);
        search.set_params(params);
        search.set_root_moves(asked().map(|(index, &mv)| (index, Move(pack(mv)))));
        search.start_move();
        self.tally.start_move();
    }

    fn has_moves_left(&self) -> bool {
        self.evaluator.get().is_some_and(Evaluator::has_moves_left)
    }

    fn search(&mut self, go: &Go, observer: &mut dyn Observer, since: Instant, search: &mut Search<'_>) -> Done {
        if go.infinite && self.settings.contempt.is_idle_in_analysis() {
            observer.note("contempt has no effect on go infinite in ContemptMode play");
        }
        let (ranks, rules) = self.ask_tablebases(go);
        let mut legal = MoveList::new();
        self.position.legal_moves(&mut legal);
        self.set_up(go, ranks.as_ref(), &legal, search);
        let results = self.results(go, ranks.as_ref(), &legal);
        observer.results(&results);
        let Some(evaluator) = self.evaluator.get() else { return Done::default() };
        let mut snapshot = Snapshot::new(&self.settings, evaluator, &self.position, since).knowing(results);
        let mut time = MoveTime::new(&self.settings, go, &self.position, self.has_moves_left(), since);
        let queues = Crew::queues(&self.settings, evaluator);
        let shared = Shared::new(search, evaluator, queues, Arc::clone(&self.control));
        shared.add(&Counts { tablebase_hits: u64::from(ranks.is_some()), ..Counts::ZERO });
        let manager = self.time.of(&self.settings, &self.position);
        std::thread::scope(|scope| {
            let _stop = shared.stop_on_drop();
            let crew = Crew::hire(scope, &shared, &self.settings, &rules, &self.position);
            let watch = Watch {
                go,
                control: &self.control,
                manager: &mut *manager,
                tally: &mut self.tally,
                shared: &shared,
                crew,
            };
            watch.run(&mut time, &mut snapshot, observer);
        });
        shared.take_notes().iter().chain(&evaluator.take_news()).for_each(|note| observer.note(note));
        let counts = shared.counts();
        let in_flight = shared.queues().map(Queues::in_flight_limit);
        let (broken, fault) = (shared.is_broken(), shared.fault());
        self.tally.record(&shared.take_fresh());
        let search = shared.into_search();
        time.end(manager, &self.position, search, &counts);
        let info = snapshot.info(search, &counts);
        observer.look(search, true);
        if !self.control.is_silent() {
            observer.info(&info);
        }
        let done = snapshot.done(search);
        if broken {
            self.tree.forget();
        }
        let best = done.best.or_else(|| go.first_legal_move(&self.position));
        Done { best, fault, statistics: self.tally.statistics(in_flight), ..done }
    }
}

/// The ranks of the moves that are `named`, or of all moves if none is.
fn among(mut ranks: RootRanks, named: &[ChessMove]) -> Option<RootRanks> {
    ranks.moves.retain(|ranked| named.is_empty() || named.contains(&ranked.mv));
    (!ranks.moves.is_empty()).then_some(ranks)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::lineage::tests::after;
    use super::super::report::Info;
    use super::super::settings::Workers;
    use super::*;
    use crate::evaluator::faulty::{Fault, on_watched_device};
    use crate::network::BackendKind;
    use crate::options::Typed;
    use oncilla_opencl::watched::Patience;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    pub struct Deaf;

    impl Observer for Deaf {
        fn info(&mut self, _: &Info) {}
        fn done(&mut self, _: &Done) {}
        fn note(&mut self, _: &str) {}
    }

    /// A searcher whose evaluations are random, and memory for its tree.
    pub fn prepared() -> (Searcher, Memory) {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let memory = Memory::of_at_most(1 << 20, settings.layout()).unwrap().0;
        let mut searcher = Searcher::new(settings, Arc::default(), None, Lacking::IsAnError);
        searcher.prepare().unwrap();
        (searcher, memory)
    }

    /// What such a searcher finds in `nodes` nodes, as `look` makes it of the snapshot and the search.
    pub fn searched<T>(nodes: u64, moves: &[&str], look: impl FnOnce(&mut Snapshot, &Search<'_>) -> T) -> T {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        *searcher.position = after(moves);
        searcher.control.begin();
        let go = Go { nodes: Some(nodes), ..Go::default() };
        searcher.search(&go, &mut Deaf, Instant::now(), &mut search);
        let evaluator = searcher.evaluator.get().unwrap();
        look(&mut Snapshot::new(&searcher.settings, evaluator, &searcher.position, Instant::now()), &search)
    }

    #[test]
    fn a_reply_that_was_pondered_in_vain_costs_no_time_manager() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let mut go = |moves: &[&str], ponder: bool| {
            *searcher.position = after(moves);
            searcher.time.of_side(searcher.position.side_to_move()).plies_left = Some(77.0);
            searcher.control.begin();
            if ponder {
                searcher.control.stop();
            }
            let go = Go { nodes: Some(10), ponder, ..Go::default() };
            let kept = searcher.time.of(&searcher.settings, &searcher.position).plies_left.is_some();
            searcher.search(&go, &mut Deaf, Instant::now(), &mut search);
            kept
        };
        assert!(!go(&["e2e4"], false), "the first move of a game");
        assert!(go(&["e2e4", "e7e5", "g1f3"], false), "the game goes on");
        assert!(go(&["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"], true), "as was guessed");
        assert!(go(&["e2e4", "e7e5", "g1f3", "g8f6", "f3e5"], false), "it came otherwise");
        assert!(!go(&["e2e4", "e7e5"], false), "the other side has its own");
        assert!(go(&["e2e4", "e7e5", "g1f3", "g8f6", "f3e5", "d7d6", "e5f3", "f6e4", "d2d4"], false), "four plies on");
        assert!(!go(&["d2d4"], false), "another game");
    }

    #[test]
    fn what_a_tree_was_made_with_ends_it() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let begun = |searcher: &mut Searcher, search: &mut Search<'_>| {
            searcher.control.begin();
            let go = Go { nodes: Some(10), ..Go::default() };
            searcher.search_with_notes(&go, &mut Deaf, Instant::now(), search);
            assert!(searcher.tree.is_kept());
        };
        let mut colder = searcher.settings.clone();
        colder.params.policy_temperature = 0.5;
        let (mut own, mut loose) = (colder.clone(), colder.clone());
        own.builtin_endgames = !own.builtin_endgames;
        loose.params.sticky_endgames = !loose.params.sticky_endgames;
        for settings in [colder, own, loose] {
            begun(&mut searcher, &mut search);
            searcher.configure(settings.clone());
            assert!(!searcher.tree.is_kept());
            begun(&mut searcher, &mut search);
            searcher.configure(settings);
            assert!(searcher.tree.is_kept(), "nothing has changed");
        }
        let side = searcher.position.side_to_move();
        searcher.time.of_side(side).plies_left = Some(77.0);
        let mut time = searcher.settings.clone();
        searcher.configure(time.clone());
        assert!(searcher.time.of_side(side).plies_left.is_some());
        time.time = oncilla_core::time::ManagerParams::Simple(Default::default());
        searcher.configure(time);
        assert!(searcher.time.of_side(side).plies_left.is_none(), "another manager");
    }

    /// When a tree must be given up, its nodes stay where they are until the next search, because clearing a graph
    /// takes time.
    #[test]
    fn a_tree_that_is_forgotten_is_cleared_by_the_next_search_alone() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let nodes_after = |searcher: &mut Searcher, search: &mut Search<'_>, nodes| {
            searcher.control.begin();
            let go = Go { nodes: Some(nodes), ..Go::default() };
            searcher.search_with_notes(&go, &mut Deaf, Instant::now(), search);
            search.visits()
        };
        let (mut draws, mut tables) = (searcher.settings.clone(), searcher.settings.clone());
        draws.two_fold_draws = !draws.two_fold_draws;
        tables.two_fold_draws = draws.two_fold_draws;
        tables.syzygy.paths = "nowhere".to_string();
        let configure = |settings| Command::Configure(Box::new(settings));
        for command in [Command::Forget, Command::NewGame, configure(draws), configure(tables)] {
            assert_eq!(nodes_after(&mut searcher, &mut search, 10), 10);
            assert!(searcher.obey(command, &mut search).is_continue());
            assert_eq!(search.visits(), 10, "nothing is cleared twice");
            assert_eq!(nodes_after(&mut searcher, &mut search, 5), 5, "a new tree");
        }
        assert_eq!(nodes_after(&mut searcher, &mut search, 7), 7);
        assert_eq!(nodes_after(&mut searcher, &mut search, 5), 7, "the same tree");
    }

    #[test]
    fn visits_of_named_moves_alone_say_nothing_of_all() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let mut nodes_after = |nodes, named: &[&str]| {
            searcher.control.begin();
            let search_moves = named.iter().map(|mv| mv.parse().unwrap()).collect();
            let go = Go { nodes: Some(nodes), search_moves, ..Go::default() };
            searcher.search_with_notes(&go, &mut Deaf, Instant::now(), &mut search);
            search.visits()
        };
        assert_eq!(nodes_after(20, &[]), 20);
        assert_eq!(nodes_after(30, &["a2a3", "b2b3"]), 30, "they were among all");
        assert_eq!(nodes_after(40, &["b2b3"]), 40);
        assert_eq!(nodes_after(10, &["b2b3", "a2a3"]), 10, "a new tree");
        assert_eq!(nodes_after(5, &[]), 5, "another one");
    }

    /// The memory of the batches counts under `RamLimitMb`, and that depends on their number and size.
    #[test]
    fn the_evaluator_is_weighed_again_for_other_batches() {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        settings.ram_limit_mb = 1;
        let mut searcher = Searcher::new(settings.clone(), Arc::default(), None, Lacking::IsAnError);
        let mut notes_with = |settings: &Settings| {
            searcher.configure(settings.clone());
            searcher.prepare().unwrap();
            searcher.notes.drain(..).filter(|note| note.contains("RamLimitMb=1:")).count()
        };
        assert_eq!([notes_with(&settings), notes_with(&settings)], [1, 0]);
        settings.params.cpuct.init += 1.0;
        assert_eq!(notes_with(&settings), 0);
        settings.minibatch = 64;
        assert_eq!([notes_with(&settings), notes_with(&settings)], [1, 0]);
        settings.workers.all = 3;
        assert_eq!([notes_with(&settings), notes_with(&settings)], [1, 0]);
    }

    /// An observer that keeps what it is told.
    #[derive(Clone, Default)]
    struct Hears(Arc<Mutex<(Vec<String>, Option<Done>)>>);

    impl Observer for Hears {
        fn info(&mut self, _: &Info) {}
        fn done(&mut self, done: &Done) {
            self.0.lock().unwrap().1 = Some(done.clone());
        }
        fn note(&mut self, note: &str) {
            self.0.lock().unwrap().0.push(note.to_string());
        }
    }

    /// A batch would be waited for a minute; no move may take that long.
    #[test]
    fn a_device_that_hangs_costs_a_move_no_more_than_its_time() {
        let patience = Patience { least: Duration::from_secs(60), ..Patience::default() };
        let one = Workers { all: 1, gather: 0, eval: 0, backprop: 0 };
        for (workers, is_stopped) in [
            (one, false),
            (Workers { all: 2, ..one }, false),
            (Workers { gather: 1, eval: 1, backprop: 1, ..one }, false),
            (Workers { all: 2, ..one }, true),
        ] {
            let hangs = Arc::<AtomicBool>::default();
            let heard_of = Arc::clone(&hangs);
            let plan = move |now| (now >= 5).then(|| heard_of.store(true, Ordering::SeqCst)).map(|()| Fault::Silent);
            let evaluator = Arc::new(on_watched_device(true, Box::new(plan), patience));
            let settings = Settings { workers, ..Typed::default().meaning().unwrap().settings };
            let control = Arc::<Control>::default();
            let mut searcher = Searcher::new(settings, Arc::clone(&control), Some(evaluator), Lacking::IsAnError);
            let (memory, _) = Memory::of_at_most(1 << 20, Layout::Tree).unwrap();
            let mut search = Search::new(memory.lend(), searcher.settings.params);
            let mut go = |go: &Go| {
                control.begin();
                let heard = Hears::default();
                searcher.go(go, Box::new(heard.clone()), Instant::now(), &mut search);
                let (notes, done) = std::mem::take(&mut *heard.0.lock().unwrap());
                (notes, done.unwrap())
            };
            let mut play = || {
                if !is_stopped {
                    return go(&Go { move_time_ms: Some(200), ..Go::default() });
                }
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(200));
                        control.stop();
                    });
                    go(&Go { infinite: true, ..Go::default() })
                })
            };
            let said = |notes: &[String], what: &str| notes.iter().any(|note| note.contains(what));
            // On a slow machine it takes several moves until the device hangs.
            let mut notes = Vec::new();
            while !hangs.load(Ordering::SeqCst) {
                let (said, done) = play();
                assert!(done.best.is_some() && done.fault.is_none(), "{workers:?}: {done:?}");
                notes.extend(said);
            }
            assert!(said(&notes, "no time left"), "{workers:?}: {notes:?}");
            // Nothing is waited for, but the device is not given up yet.
            let (notes, done) = go(&Go { nodes: Some(100), ..Go::default() });
            assert!(!said(&notes, "takes over"), "{workers:?}: {notes:?}");
            assert!(done.best.is_some() && done.fault.is_none() && search.visits() >= 100, "{workers:?}: {done:?}");
        }
    }
}
