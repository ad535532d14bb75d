//! The search's thread: it owns the tree's memory and takes one command after the other.

use super::Search;
use super::control::Control;
use super::crew::Crew;
use super::evaluator::Evaluator;
use super::fallback::{self, Made};
use super::fault::guarded;
use super::leaf::Rules;
use super::leaves;
use super::limits::Go;
use super::memory::{self, Memory, bytes_of_mb};
use super::pipeline::Queues;
use super::report::{Done, Observer, Statistics};
use super::scope::Scope;
use super::settings::{CacheSize, EvaluatorSettings, Settings};
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::tables::{self, RootResults, Tables};
use super::timing::{MoveTime, TimeManager, has_answer};
use oncilla_chess::{Color, History, MoveList, Position, pack, unpack};
use oncilla_core::Move;
use oncilla_core::formula::contempt::Rescale;
use oncilla_core::formula::random::Random;
use oncilla_core::search::Params;
use oncilla_core::stats::{Counts, Stats};
use oncilla_syzygy::{BadFile, RootRanks, Tablebases, three_men};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Bytes that queues, events and batches take beside tree and network.
const QUEUES: usize = 8 << 20;
/// A tree of less is of no use, whatever the limit.
const LEAST_TREE: usize = 1 << 20;

/// The cache gets at most one part in so many of what tree and cache may take together.
const CACHE_SHARE: usize = 4;

/// Games of so many men soon have three.
const SOON_THREE_MEN: u32 = 6;

/// The evaluator of a searcher.
enum Held {
    Nothing,
    /// Made for this one, from its settings.
    Own(Box<Evaluator>),
    /// Another's, that several use at once: the settings say nothing about it.
    Lent(Arc<Evaluator>),
}

impl Held {
    fn get(&self) -> Option<&Evaluator> {
        match self {
            Self::Nothing => None,
            Self::Own(evaluator) => Some(evaluator),
            Self::Lent(evaluator) => Some(evaluator),
        }
    }

    fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    fn own(&mut self) -> Option<&mut Evaluator> {
        match self {
            Self::Own(evaluator) => Some(evaluator),
            Self::Nothing | Self::Lent(_) => None,
        }
    }
}

/// What becomes of a searcher whose settings name what can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It does not search.
    IsAnError,
    /// It searches with the best that can be had.
    IsReplaced,
}

/// What the tree's memory is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TreeSize {
    bytes: usize,
    graph: bool,
}

/// What the thread can be told.
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
    /// Whether it can't be obeyed without an evaluator.
    fn needs_evaluator(&self) -> bool {
        matches!(self, Self::Prepare(_) | Self::Go(..))
    }
}

/// The thread's state, but for the search in the memory of its size.
pub struct Searcher {
    settings: Settings,
    control: Arc<Control>,
    evaluator: Held,
    lacking: Lacking,
    /// What the evaluator was made for: it may be another one, see [`Lacking::IsReplaced`].
    made_for: Option<EvaluatorSettings>,
    /// What it lacks of these settings, which is said once.
    told: Option<String>,
    position: Box<History>,
    /// The position at the root of the tree. `None`: whatever is in the tree is of no use, and the next search clears
    /// it.
    root: Option<Box<History>>,
    /// What the tree's last search could visit.
    scope: Scope,
    time: TimeManager,
    /// The position in which its clock ran last.
    timed: Option<Box<History>>,
    /// What the next search says that it lacks.
    lacks: Option<String>,
    stats: Stats,
    /// The zero of the statistics' clock.
    started: Instant,
    tablebases: Option<Arc<Tablebases>>,
    /// Where they were looked for.
    tablebase_paths: String,
    /// Files of them that are of no use, as far as it was said.
    bad_files: Vec<BadFile>,
    /// Bytes that the process had, apart from tree and cache, when the evaluator was weighed, or else at its start.
    beside_the_tree: usize,
    /// The evaluator was weighed: only where `RamLimitMb` asks for it, because it takes as long as some batches.
    is_weighed: bool,
    /// The last `RamLimitMb` that was held against what this evaluator takes; 0: none yet.
    judged_limit_mb: usize,
    /// What the next search says first: which backend runs, and why not another.
    notes: Vec<String>,
}

impl Searcher {
    /// With the evaluator that is `lent`, or one of its own that the settings describe.
    pub fn new(settings: Settings, control: Arc<Control>, lent: Option<Arc<Evaluator>>, lacking: Lacking) -> Self {
        let time = TimeManager::new(&settings);
        let position = Box::new(History::startpos());
        Self {
            settings,
            control,
            evaluator: lent.map_or(Held::Nothing, Held::Lent),
            lacking,
            told: None,
            made_for: None,
            position,
            root: None,
            scope: Scope::default(),
            time,
            timed: None,
            lacks: None,
            stats: Stats::new(0),
            started: Instant::now(),
            tablebases: None,
            tablebase_paths: String::new(),
            bad_files: Vec::new(),
            beside_the_tree: memory::resident_bytes().unwrap_or(0),
            is_weighed: false,
            judged_limit_mb: 0,
            notes: Vec::new(),
        }
    }

    /// Until it is told to quit, or nobody is left who could tell it.
    pub fn run(mut self, inbox: &Receiver<Command>) {
        let mut next = None;
        loop {
            let wanted = self.tree_size();
            // Without a tree there is no thread; the next command says so.
            let Some((memory, granted)) = Memory::of_at_most(wanted.bytes, wanted.graph) else { return };
            if granted < wanted.bytes {
                let [asked, granted] = [wanted.bytes, granted].map(|bytes| bytes >> 20);
                self.notes.push(format!("Hash: the system does not grant {asked} MiB; {granted} MiB are used"));
            }
            let mut search = Search::new(memory.lend(), self.settings.params);
            self.root = None;
            let mut is_used = false;
            loop {
                let Some(command) = next.take().or_else(|| inbox.recv().ok()) else { return };
                // The pages of a used tree are the process's as long as it lives: what a new network takes is measured
                // beside a tree that nobody has touched.
                if is_used && command.needs_evaluator() && (self.must_load() || self.must_weigh()) {
                    next = Some(command);
                    break;
                }
                if matches!(command, Command::Go(..)) {
                    // A second attempt says no more what the first one has replaced.
                    self.lacks = self.prepare().err().or(self.lacks.take());
                }
                // What the network takes of RamLimitMb is known once it is loaded.
                if self.tree_size() != wanted {
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

    /// What `RamLimitMb` leaves to tree and cache.
    fn memory_left(&self) -> usize {
        match self.settings.ram_limit_mb {
            0 => usize::MAX,
            limit => bytes_of_mb(limit).saturating_sub(self.beside_the_tree),
        }
    }

    /// The cache gets what `NNCacheMb` says, and at most a share of what is left.
    fn cache_size(&self) -> CacheSize {
        let CacheSize { entries, mb } = self.settings.cache;
        CacheSize { entries, mb: mb.min((self.memory_left() / CACHE_SHARE) >> 20) }
    }

    /// The tree gets `Hash`, unless less is left.
    fn tree_size(&self) -> TreeSize {
        let hash_mb = self.settings.hash_mb;
        let most = self.memory_left().saturating_sub(bytes_of_mb(self.cache_size().mb)).max(LEAST_TREE);
        TreeSize { bytes: bytes_of_mb(hash_mb).min(most), graph: self.settings.is_graph() }
    }

    fn obey(&mut self, command: Command, search: &mut Search<'_>) -> ControlFlow<()> {
        match command {
            Command::Configure(settings) => self.configure(*settings),
            Command::Prepare(reply) => {
                // Whoever asked may have gone meanwhile.
                let _ = reply.send(self.prepare());
            }
            Command::NewGame => {
                self.evaluator.get().into_iter().for_each(Evaluator::clear_cache);
                self.stats.start_game(milliseconds(self.started));
                self.root = None;
                self.time = TimeManager::new(&self.settings);
                self.timed = None;
                // What could not be had for the last game may be there now.
                self.made_for = None;
            }
            Command::Forget => self.root = None,
            Command::Position(position) => self.position = position,
            Command::Go(go, observer, since) => {
                self.go(&go, observer, since, search);
            }
            Command::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn configure(&mut self, settings: Settings) {
        // What edges and nodes hold was made with these: a tree of both kinds would be neither.
        let old = &self.settings;
        if old.two_fold_draws != settings.two_fold_draws
            || old.params.policy_temperature != settings.params.policy_temperature
            || old.params.noise != settings.params.noise
            || old.params.sticky_endgames != settings.params.sticky_endgames
            || old.evaluator != settings.evaluator
            || old.builtin_endgames != settings.builtin_endgames
        {
            self.root = None;
        }
        // Batches of another size, or of more threads, take other memory.
        if (old.minibatch, old.workers) != (settings.minibatch, settings.workers) {
            self.is_weighed = false;
            self.judged_limit_mb = 0;
        }
        if old.evaluator != settings.evaluator {
            self.made_for = None;
            self.told = None;
        }
        if old.time != settings.time {
            self.time = TimeManager::new(&settings);
        }
        self.settings = settings;
    }

    fn prepare(&mut self) -> Result<(), String> {
        guarded(|| self.load())?
    }

    /// Whether there is no evaluator, or another one than the settings describe.
    fn must_load(&self) -> bool {
        match &self.evaluator {
            Held::Nothing => true,
            Held::Own(evaluator) => {
                let wanted = &self.settings.evaluator;
                evaluator.settings() != wanted && self.made_for.as_ref() != Some(wanted)
            }
            Held::Lent(_) => false,
        }
    }

    /// Whether what the evaluator takes has to be known and is not.
    fn must_weigh(&self) -> bool {
        self.settings.ram_limit_mb > 0 && !self.is_weighed && self.evaluator.is_own()
    }

    /// What is lacking comes back as an error, whether something else was found for it or not.
    fn load(&mut self) -> Result<(), String> {
        let lacks = if self.must_load() { self.make_evaluator()? } else { None };
        if self.must_weigh() {
            self.set_cache(CacheSize { entries: 0, mb: 0 });
            let said = self.weigh();
            self.notes.extend(said);
        }
        self.set_cache(self.cache_size());
        self.judge_limit();
        lacks.map_or(Ok(()), Err)
    }

    /// Without a cache there is a search all the same.
    fn set_cache(&mut self, size: CacheSize) {
        self.notes.extend(self.evaluator.own().and_then(|evaluator| evaluator.set_cache(size).err()));
    }

    /// With what it lacks of what the settings name.
    fn make_evaluator(&mut self) -> Result<Option<String>, String> {
        let wanted = &self.settings.evaluator;
        let last = self.evaluator.own().map(|evaluator| evaluator.settings().clone());
        // The old one goes first: a small device has no room for two.
        self.evaluator = Held::Nothing;
        self.root = None;
        self.is_weighed = false;
        let Made { evaluator, notes, lacks } = match self.lacking {
            Lacking::IsReplaced => fallback::make(wanted, last.as_ref())?,
            Lacking::IsAnError => {
                let (evaluator, notes) = Evaluator::new(wanted)?;
                Made { evaluator, notes, lacks: None }
            }
        };
        self.evaluator = Held::Own(Box::new(evaluator));
        self.made_for = Some(wanted.clone());
        self.notes.extend(notes);
        // What was said of the one before is not said of this one.
        self.judged_limit_mb = 0;
        let told = std::mem::replace(&mut self.told, lacks.clone());
        Ok(lacks.filter(|lacks| told.as_ref() != Some(lacks)))
    }

    /// Notes where `RamLimitMb` is less than the process takes with the smallest tree; once for each limit and
    /// evaluator.
    fn judge_limit(&mut self) {
        let (limit, least) = (self.settings.ram_limit_mb, (self.beside_the_tree + LEAST_TREE).div_ceil(1 << 20));
        let is_new = std::mem::replace(&mut self.judged_limit_mb, limit) != limit;
        if is_new && (1..least).contains(&limit) {
            self.notes.push(format!(
                "the program and its network take more than RamLimitMb={limit}: {least} MiB with the smallest tree"
            ));
        }
    }

    /// Measures what the process takes beside tree and cache. A backend takes most of its memory with its first batch,
    /// so each thread's batch is run once; the line that a backend says meanwhile comes back.
    fn weigh(&mut self) -> Option<String> {
        let evaluator = self.evaluator.get()?;
        let (position, mut moves) = (History::startpos(), MoveList::new());
        position.legal_moves(&mut moves);
        let (size, workers) = (leaves::batch_size(&self.settings, evaluator), self.settings.workers);
        let threads = workers.taking_all_roles(evaluator.threads()).max(workers.eval);
        let mut batches: Vec<_> = (0..threads).map(|_| evaluator.batch()).collect();
        let mut note = None;
        for batch in &mut batches {
            for _ in 0..size {
                batch.push(&position, &moves);
            }
            // What fails here fails in the search too, which says so.
            note = evaluator.run(batch).ok().flatten().or(note);
        }
        // No search has used the tree: hardly a page of it has been touched.
        self.beside_the_tree = memory::resident_bytes().map_or(0, |bytes| bytes + QUEUES);
        self.is_weighed = true;
        note
    }

    fn go(&mut self, go: &Go, mut observer: Box<dyn Observer>, since: Instant, search: &mut Search<'_>) {
        self.lacks.take().into_iter().for_each(|lacks| observer.note(&lacks));
        let done = if self.evaluator.get().is_some() {
            let searched = guarded(|| self.search_with_notes(go, observer.as_mut(), since, search));
            searched.unwrap_or_else(|fault| {
                observer.note(&format!("{fault}; the best move so far is played"));
                Done { fault: Some(fault), ..self.salvage(go, search) }
            })
        } else {
            observer.note("without a network the first legal move is played");
            self.resign_to_any_move(go)
        };
        self.control.be_over();
        if !self.control.is_silent() {
            observer.done(&done);
        }
        // Only now: whoever waits for the end may give the next command at once.
        self.control.end();
        if self.settings.builtin_endgames && self.position.board().occupied().len() <= SOON_THREE_MEN {
            // While the opponent's clock runs, and beside what comes next: an opponent may answer at once. A search that
            // finds it undone waits for it.
            let _ = std::thread::Builder::new().name("endings".to_string()).spawn(three_men::prepare);
        }
    }

    /// A search, and around it what a person should know.
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
        self.find_bad_files();
        self.notes.drain(..).for_each(|note| observer.note(&note));
        done
    }

    /// What a search came to that panicked: its best move so far, or any. Its tree is of no use any more.
    fn salvage(&mut self, go: &Go, search: &mut Search<'_>) -> Done {
        let any = self.resign_to_any_move(go);
        let mut legal = MoveList::new();
        self.position.legal_moves(&mut legal);
        let of_this_position = self.root.take().is_some_and(|root| root.board() == self.position.board());
        let best = guarded(|| search.best_edge().and_then(|edge| edge.mv)).ok().flatten();
        let best = best.map(|mv| unpack(mv.0)).filter(|mv| of_this_position && legal.contains(mv));
        Done { best: best.or(any.best), ..any }
    }

    /// Opens the tables that `SyzygyPath` names, if it names others than before.
    fn open_tablebases(&mut self) {
        let paths = &self.settings.syzygy.paths;
        if *paths == self.tablebase_paths {
            return;
        }
        self.tablebase_paths.clone_from(paths);
        self.tablebases = None;
        self.bad_files.clear();
        // What is in the tree was found without these tables.
        self.root = None;
        if paths.is_empty() {
            return;
        }
        match tables::open(paths) {
            Ok((tables, said)) => {
                self.notes.extend(said);
                self.tablebases = Some(tables);
                self.find_bad_files();
            }
            Err(error) => self.notes.push(error),
        }
    }

    /// Notes which table files turned out to be of no use since the last time: a table is read when a position asks for
    /// it.
    fn find_bad_files(&mut self) {
        let bad = self.tablebases.as_ref().map(|tables| tables.bad_files()).unwrap_or_default();
        for file in bad {
            if !self.bad_files.contains(&file) {
                self.notes.push(format!("Syzygy: {file}"));
                self.bad_files.push(file);
            }
        }
    }

    /// The root's moves that keep its result, if the tables know it, and the rules for all leaves.
    fn ask_tablebases(&mut self, go: &Go) -> (Option<RootRanks>, Rules) {
        let tables = Tables { syzygy: self.tablebases.clone(), builtin: self.settings.builtin_endgames };
        // What can't be looked up (castling rights, too many pieces, a table that is not there) is searched.
        let ranks = tables.root_moves(&self.position, self.settings.syzygy.fast_play);
        let ranks = ranks.and_then(|ranks| among(ranks, &go.search_moves));
        // Moves that are known to mate, or to be mated, are proven by a look at their leaves: limits and the clock see
        // that there is nothing to search.
        let is_mate = |ranks: &RootRanks| ranks.best().all(|best| best.mate.is_some());
        let is_safe = |ranks: &RootRanks| go.search_moves.is_empty() && ranks.by_dtz() && !is_mate(ranks);
        let safe = ranks.as_ref().is_some_and(is_safe);
        let rules = Rules {
            two_fold_draws: self.settings.two_fold_draws,
            // The moves that are left make progress: no need to ask at each leaf, and no use, as all are won.
            tables: if safe { Tables::default() } else { tables },
            graph: self.settings.is_graph(),
            restrictions: go.restrictions.clone(),
            root_temperature: go.root_temperature,
        };
        (ranks, rules)
    }

    /// Without an evaluator there is no search, but a GUI that waits for a move gets a legal one.
    fn resign_to_any_move(&self, go: &Go) -> Done {
        loop {
            let hit = self.control.ponder_hit_at();
            let must_wait = go.infinite || (go.ponder && hit.is_none());
            if !must_wait || self.control.should_stop() {
                break;
            }
            self.control.wait_for_wish(hit);
        }
        let mut moves = oncilla_chess::MoveList::new();
        self.position.legal_moves(&mut moves);
        let best = go.search_moves.iter().find(|mv| moves.contains(mv)).or(moves.first());
        Done { best: best.copied(), ..Done::default() }
    }

    fn search(&mut self, go: &Go, observer: &mut dyn Observer, since: Instant, search: &mut Search<'_>) -> Done {
        if go.infinite && self.settings.contempt.is_idle_in_analysis() {
            observer.note("contempt has no effect on go infinite in ContemptMode play");
        }
        let (ranks, rules) = self.ask_tablebases(go);
        let has_moves_left = self.evaluator.get().is_some_and(Evaluator::has_moves_left);
        let params = params_for(&self.settings, has_moves_left, &self.position, go);
        let mut legal = MoveList::new();
        self.position.legal_moves(&mut legal);
        // All moves that somebody names are searched.
        let kept = |mv: &oncilla_chess::Move| match &ranks {
            Some(ranks) if go.search_moves.is_empty() => ranks.best().any(|best| best.mv == *mv),
            _ => go.search_moves.contains(mv),
        };
        let asked = || legal.iter().enumerate().filter(|(_, mv)| kept(mv));
        let scope = Scope::of(asked().map(|(_, &mv)| mv), legal.len());
        let serves = go.steers || self.scope.serves(&scope);
        self.scope = scope;
        self.reroot(search, params.wdl_rescale, serves);
        self.follow_game();
        let Some(evaluator) = self.evaluator.get() else { return Done::default() };
        search.set_params(params);
        search.set_root_moves(asked().map(|(index, &mv)| (index, Move(pack(mv)))));
        search.start_move();
        self.stats.start_move(milliseconds(self.started));

        // Where moves are left out below the root, it may come to something else.
        let is_free = go.restrictions.is_none();
        let known = ranks.as_ref().filter(|_| is_free);
        let results = known.map(RootResults::of).unwrap_or_default();
        let knows_endings = self.settings.builtin_endgames && is_free;
        let results = if knows_endings { results.with_endings(self.position.board(), &legal) } else { results };
        observer.results(&results);
        let mut snapshot = Snapshot::new(&self.settings, evaluator, &self.position, since).knowing(results);
        let mut time = MoveTime::new(&self.settings, go, &self.position, has_moves_left, since);
        let queues = Crew::queues(&self.settings, evaluator);
        let shared = Shared::new(search, evaluator, queues, Arc::clone(&self.control));
        shared.add(&Counts { tablebase_hits: u64::from(ranks.is_some()), ..Counts::ZERO });
        std::thread::scope(|scope| {
            let _stop = shared.stop_on_drop();
            let crew = Crew::hire(scope, &shared, &self.settings, &rules, &self.position);
            let watch = Watch {
                go,
                control: &self.control,
                manager: &mut self.time,
                stats: &mut self.stats,
                started: self.started,
                shared: &shared,
                crew,
            };
            watch.run(&mut time, &mut snapshot, observer);
        });
        shared.take_notes().iter().for_each(|note| observer.note(note));
        let counts = shared.counts();
        let in_flight = shared.queues().map(Queues::in_flight_limit);
        let (broken, fault) = (shared.is_broken(), shared.fault());
        self.stats.record(milliseconds(self.started), &shared.take_fresh());
        let search = shared.into_search();
        time.end(&mut self.time, search, &counts);
        if time.has_started() {
            self.timed = Some(self.position.clone());
        }
        let info = snapshot.info(search, &counts);
        observer.look(search, true);
        if !self.control.is_silent() {
            observer.info(&info);
        }
        let mut done = Done { fault, ..snapshot.done(search) };
        if broken {
            self.root = None;
        }
        done.statistics = self.statistics(in_flight);
        if done.best.is_none() {
            return Done {
                stats: done.stats,
                statistics: done.statistics,
                fault: done.fault,
                ..self.resign_to_any_move(&Go { infinite: false, ponder: false, ..go.clone() })
            };
        }
        done
    }

    /// What was counted until now.
    fn statistics(&self, in_flight: Option<usize>) -> Statistics {
        let now = milliseconds(self.started);
        Statistics {
            game: self.stats.game(now),
            current_move: self.stats.current_move(now),
            windows: self.stats.windows(now).to_vec(),
            in_flight,
        }
    }

    /// Another game has a time manager of its own. Not as the tree: a reply that was pondered in vain is none of a
    /// game's.
    fn follow_game(&mut self) {
        if self.timed.as_ref().and_then(|timed| moves_between(timed, &self.position)).is_none() {
            self.time = TimeManager::new(&self.settings);
        }
    }

    /// Makes the tree's root the position to search. Of the same position the tree stays where its visits `serve`.
    fn reroot(&mut self, search: &mut Search<'_>, rescale: Rescale, serves: bool) {
        let moves = self.root.as_ref().and_then(|root| moves_between(root, &self.position));
        self.root = Some(self.position.clone());
        // Nodes keep the values that they were given: with another side's contempt they are none of this search.
        let same = |moves: &[oncilla_chess::Move]| {
            search.params().wdl_rescale.at(moves.len()) == rescale && (serves || !moves.is_empty())
        };
        match moves.as_deref().filter(|moves| same(moves)) {
            Some(moves) => {
                let packed: Vec<Move> = moves.iter().map(|&mv| Move(pack(mv))).collect();
                search.advance(&packed);
            }
            None => search.clear(),
        }
    }
}

/// The watchdog looks at the search this often at least.
const LOOK_TIME: Duration = Duration::from_millis(1);

/// The watchdog: tells how the search stands, and sees when it is over.
struct Watch<'w, 's, 'm> {
    go: &'w Go,
    control: &'w Control,
    manager: &'w mut TimeManager,
    stats: &'w mut Stats,
    started: Instant,
    shared: &'w Shared<'s, 'm>,
    crew: Crew,
}

impl Watch<'_, '_, '_> {
    fn run(mut self, time: &mut MoveTime, snapshot: &mut Snapshot, observer: &mut dyn Observer) {
        loop {
            let ponder_hit = self.control.ponder_hit_at();
            let counts = self.shared.counts();
            let search = self.shared.search();
            time.start_if_due(self.manager, ponder_hit, search.nodes(), &counts);
            let told = self.control.should_stop();
            let over = time.is_over(self.manager, &search, &counts);
            time.looked(counts.playouts);
            // Of a move that is pondered the number of visits counts already; the clock does not run yet.
            let has_answer = has_answer(&search);
            let reached = (over && has_answer) || time.nodes_wanted(&search, &counts) == 0;
            let halted = self.shared.is_halted();
            let ends = (told && (halted || has_answer)) || ((reached || halted) && time.may_end());
            if has_answer {
                self.control.answer_by(if ends { Some(Instant::now()) } else { time.due() });
            }
            if ends {
                return;
            }
            drop(search);
            if halted || reached {
                self.control.wait_for_wish(ponder_hit);
                continue;
            }
            self.search_on(time);
            self.stats.record(milliseconds(self.started), &self.shared.take_fresh());
            self.shared.take_notes().iter().for_each(|note| observer.note(note));
            let counts = self.shared.counts();
            let search = self.shared.search();
            let news = snapshot.after_batch(&search, &counts);
            observer.look(&search, false);
            if time.may_judge(counts.playouts) && time.is_pointless(&search, self.go) {
                self.shared.halt(None);
            }
            // A client that doesn't read holds up whoever tells it, and is not to hold up those who want to make room.
            drop(search);
            news.iter().for_each(|info| observer.info(info));
        }
    }

    /// Lets playouts happen until it is time to look again.
    fn search_on(&mut self, time: &MoveTime) {
        let begun = Instant::now();
        loop {
            let counts = self.shared.counts();
            let due = time.nodes_due(&counts);
            if due == 0 {
                self.shared.wait(LOOK_TIME);
                return;
            }
            let wanted = time.nodes_wanted(&self.shared.search(), &counts).min(due);
            if let Err(fault) = self.crew.advance(self.shared, wanted) {
                self.shared.halt(Some(fault));
            }
            let counts = self.shared.counts();
            let enough = time.is_look_due(counts.playouts) || begun.elapsed() >= LOOK_TIME;
            if enough || self.shared.is_halted() || time.nodes_wanted(&self.shared.search(), &counts) == 0 {
                return;
            }
        }
    }
}

/// What is known of the moves that somebody names, of all where nobody does.
fn among(mut ranks: RootRanks, named: &[oncilla_chess::Move]) -> Option<RootRanks> {
    ranks.moves.retain(|ranked| named.is_empty() || named.contains(&ranked.mv));
    (!ranks.moves.is_empty()).then_some(ranks)
}

/// The core's parameters for one search: draws and contempt are what they are to the side to move.
fn params_for(settings: &Settings, has_moves_left: bool, position: &History, go: &Go) -> Params {
    let white = position.side_to_move() == Color::White;
    Params {
        draw_score: if white { settings.white_draw_score } else { -settings.white_draw_score },
        wdl_rescale: settings.contempt.at_root(white, go.infinite),
        moves_left: settings.params.moves_left.filter(|_| has_moves_left),
        seed: seed_for(settings.random_seed, position),
        ..settings.params
    }
}

fn milliseconds(since: Instant) -> u64 {
    since.elapsed().as_millis() as u64
}

/// Each move of a game has another one; a seed of 0 another one in every run.
fn seed_for(seed: u64, position: &History) -> u64 {
    let seed = if seed == 0 { RandomState::new().build_hasher().finish() } else { seed };
    Random::stream(seed, position.key()).bits()
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
    use super::super::evaluator::tests::{Fault, on_watched_device};
    use super::super::report::Info;
    use super::super::settings::{BackendKind, Workers};
    use super::*;
    use crate::options::Typed;
    use oncilla_chess::notation;
    use oncilla_opencl::watched::Patience;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Deaf;

    impl Observer for Deaf {
        fn info(&mut self, _: &Info) {}
        fn done(&mut self, _: &Done) {}
        fn note(&mut self, _: &str) {}
    }

    /// A searcher whose evaluations are random, and memory for its tree.
    fn prepared() -> (Searcher, Memory) {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let memory = Memory::of_at_most(1 << 20, settings.is_graph()).unwrap().0;
        let mut searcher = Searcher::new(settings, Arc::default(), None, Lacking::IsAnError);
        searcher.prepare().unwrap();
        (searcher, memory)
    }

    fn after(moves: &[&str]) -> History {
        let mut history = History::startpos();
        for text in moves {
            let mv = notation::parse_move(history.board(), text).unwrap();
            history.push(mv);
        }
        history
    }

    #[test]
    fn a_reply_that_was_pondered_in_vain_costs_no_time_manager() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let mut go = |moves: &[&str], ponder: bool| {
            searcher.time.plies_left = Some(77.0);
            *searcher.position = after(moves);
            searcher.control.begin();
            if ponder {
                searcher.control.stop(false);
            }
            let go = Go { nodes: Some(10), ponder, ..Go::default() };
            searcher.follow_game();
            let kept = searcher.time.plies_left.is_some();
            searcher.search(&go, &mut Deaf, Instant::now(), &mut search);
            kept
        };
        assert!(!go(&["e2e4"], false), "the first move of a game");
        assert!(go(&["e2e4", "e7e5", "g1f3"], false), "the game goes on");
        assert!(go(&["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"], true), "as was guessed");
        assert!(go(&["e2e4", "e7e5", "g1f3", "g8f6", "f3e5"], false), "it came otherwise");
        assert!(!go(&["d2d4"], false), "another game");
    }

    #[test]
    fn draws_and_contempt_are_those_of_the_side_to_move() {
        let settings = |mode: &str| {
            let mut typed = Typed::default();
            let contempt = [("contempt", "300"), ("contempt-mode", mode), ("wdl-draw-rate-target", "0.6")];
            for (flag, value) in contempt.into_iter().chain([("draw-score", "0.25")]) {
                let opt = crate::options::table::by_flag(flag).unwrap();
                typed.set(opt, flag, value).unwrap();
            }
            typed.meaning().unwrap().settings
        };
        let [white, black] = [after(&[]), after(&["e2e4"])];
        let own = settings("white_side_analysis");
        let params = |position: &History, infinite: bool, mode: &str| {
            params_for(&settings(mode), true, position, &Go { infinite, ..Go::default() })
        };
        let [at_white, at_black] = [&white, &black].map(|position| params(position, false, "white_side_analysis"));
        assert_eq!([at_white.draw_score, at_black.draw_score], [0.25, -0.25]);
        assert_eq!(
            [at_white.wdl_rescale, at_black.wdl_rescale],
            [true, false].map(|white| own.contempt.at_root(white, false))
        );
        assert_ne!(at_white.wdl_rescale, at_black.wdl_rescale);
        assert_ne!(params(&white, true, "play").wdl_rescale, params(&white, false, "play").wdl_rescale, "nobody's");
        assert!(at_white.moves_left.is_some());
        assert!(params_for(&own, false, &white, &Go::default()).moves_left.is_none(), "there is no such head");
    }

    #[test]
    fn what_a_tree_was_made_with_ends_it() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let begun = |searcher: &mut Searcher, search: &mut Search<'_>| {
            searcher.control.begin();
            let go = Go { nodes: Some(10), ..Go::default() };
            searcher.search_with_notes(&go, &mut Deaf, Instant::now(), search);
            assert!(searcher.root.is_some());
        };
        let mut colder = searcher.settings.clone();
        colder.params.policy_temperature = 0.5;
        let (mut own, mut loose) = (colder.clone(), colder.clone());
        own.builtin_endgames = !own.builtin_endgames;
        loose.params.sticky_endgames = !loose.params.sticky_endgames;
        for settings in [colder, own, loose] {
            begun(&mut searcher, &mut search);
            searcher.configure(settings.clone());
            assert!(searcher.root.is_none());
            begun(&mut searcher, &mut search);
            searcher.configure(settings);
            assert!(searcher.root.is_some(), "nothing has changed");
        }
        searcher.time.plies_left = Some(77.0);
        let mut time = searcher.settings.clone();
        searcher.configure(time.clone());
        assert!(searcher.time.plies_left.is_some());
        time.time = oncilla_core::time::ManagerParams::Simple(Default::default());
        searcher.configure(time);
        assert!(searcher.time.plies_left.is_none(), "another manager");
    }

    /// What a tree must be given up for leaves its nodes where they are until the next search: to clear a graph takes
    /// time.
    #[test]
    fn a_tree_that_is_forgotten_is_cleared_by_the_next_search_alone() {
        let (mut searcher, memory) = prepared();
        let mut search = Search::new(memory.lend(), searcher.settings.params);
        let nodes_after = |searcher: &mut Searcher, search: &mut Search<'_>, nodes| {
            searcher.control.begin();
            let go = Go { nodes: Some(nodes), ..Go::default() };
            searcher.search_with_notes(&go, &mut Deaf, Instant::now(), search);
            search.nodes()
        };
        let (mut draws, mut tables) = (searcher.settings.clone(), searcher.settings.clone());
        draws.two_fold_draws = !draws.two_fold_draws;
        tables.two_fold_draws = draws.two_fold_draws;
        tables.syzygy.paths = "nowhere".to_string();
        let configure = |settings| Command::Configure(Box::new(settings));
        for command in [Command::Forget, Command::NewGame, configure(draws), configure(tables)] {
            assert_eq!(nodes_after(&mut searcher, &mut search, 10), 10);
            assert!(searcher.obey(command, &mut search).is_continue());
            assert_eq!(search.nodes(), 10, "nothing is cleared twice");
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
            search.nodes()
        };
        assert_eq!(nodes_after(20, &[]), 20);
        assert_eq!(nodes_after(30, &["a2a3", "b2b3"]), 30, "they were among all");
        assert_eq!(nodes_after(40, &["b2b3"]), 40);
        assert_eq!(nodes_after(10, &["b2b3", "a2a3"]), 10, "a new tree");
        assert_eq!(nodes_after(5, &[]), 5, "another one");
    }

    /// What batches take counts under `RamLimitMb`, and that depends on how many there are and how large.
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

    /// Keeps what is said.
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

    /// A minute is what a batch would be waited for; no move may take that.
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
            let (memory, _) = Memory::of_at_most(1 << 20, false).unwrap();
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
                        control.stop(false);
                    });
                    go(&Go { infinite: true, ..Go::default() })
                })
            };
            let said = |notes: &[String], what: &str| notes.iter().any(|note| note.contains(what));
            // On a slow machine it takes several moves until it hangs.
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
            assert!(done.best.is_some() && done.fault.is_none() && search.nodes() >= 100, "{workers:?}: {done:?}");
        }
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
