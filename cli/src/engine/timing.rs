//! How long a search may take: the limits of one `go`, and the time managers of the game.

use super::Search;
use super::limits::Go;
use super::lineage::moves_between;
use super::settings::Settings;
use oncilla_chess::{Color, History};
use oncilla_core::repository::{Bound, Bounds};
use oncilla_core::stats::Counts;
use oncilla_core::stop::{
    DepthLimit, KldGain, KnownBest, Limits, MateLimit, OnlyMove, PlayoutLimit, Progress, SmartPruning, TimeLimit,
    VisitLimit,
};
use oncilla_core::time::{Clock, Manager};
use std::time::{Duration, Instant};

/// The time managers of a game, one for each side: a script or a GUI may have the program play both, each by its own
/// clock.
pub struct TimeManagers([TimeManager; 2]);

impl TimeManagers {
    /// Time managers that know nothing of the game yet.
    pub fn new(settings: &Settings) -> Self {
        Self([(); 2].map(|()| TimeManager::new(settings)))
    }

    /// That of the side to move, which begins anew if the position belongs to another game than its last one.
    pub fn of(&mut self, settings: &Settings, position: &History) -> &mut TimeManager {
        let manager = self.of_side(position.side_to_move());
        manager.follow(settings, position);
        manager
    }

    pub(super) fn of_side(&mut self, side: Color) -> &mut TimeManager {
        &mut self.0[side as usize]
    }
}

/// The time manager of one side.
pub struct TimeManager {
    manager: Manager,
    /// Plies until the end of the game, as the network estimated them at the end of the last search.
    pub(super) plies_left: Option<f64>,
    /// Plies that have been played since.
    plies_since: usize,
    /// The last position in which the clock ran.
    timed: Option<Box<History>>,
}

impl TimeManager {
    /// A time manager that knows nothing of the game yet. (Parameters out of range are refused when options are read.)
    pub fn new(settings: &Settings) -> Self {
        Self { manager: Manager::new(settings.time).unwrap_or_default(), plies_left: None, plies_since: 0, timed: None }
    }

    /// Begins anew if the position belongs to another game than the last one. This is not as with the tree: a reply
    /// that was pondered in vain does not belong to the game.
    fn follow(&mut self, settings: &Settings, position: &History) {
        match self.timed.as_ref().and_then(|timed| moves_between(timed, position)) {
            Some(moves) => {
                if moves.is_empty() {
                    // Somebody looks at the same position again; another clock than before is not a lag.
                    self.manager.clock_was_set();
                }
                self.plies_since = moves.len();
            }
            None => *self = Self::new(settings),
        }
    }
}

/// After how many more playouts a search is looked at again: one part in `LOOK_SHARE` of those that are done, but at
/// most `LOOK_PLAYOUTS`. A look takes as long as several playouts without a network.
const LOOK_SHARE: u64 = 32;
const LOOK_PLAYOUTS: u64 = 512;

/// The time and the limits of one move.
pub struct MoveTime {
    limits: Limits,
    clock: Option<Clock>,
    /// When the clock began to run; that of a pondered move begins with `ponderhit`.
    since: Instant,
    waits_for_ponder_hit: bool,
    /// Whether the network has a moves-left head. Without one, its plies only say how deep the tree is.
    has_moves_left: bool,
    /// The largest number of playouts per second since the search began, if there is such a limit.
    nps_limit: Option<f64>,
    begun: Instant,
    infinite: bool,
    started: bool,
    /// Playouts that were done before the clock began to run.
    playouts_before: u64,
    /// The number of playouts after which the limits are looked at again.
    next_look: u64,
    /// Visits of the root's moves at the last look.
    root_visits: Vec<u32>,
}

impl MoveTime {
    /// The limits of `go`; `has_moves_left` says whether the network has a moves-left head.
    pub fn new(settings: &Settings, go: &Go, position: &History, has_moves_left: bool, since: Instant) -> Self {
        Self {
            has_moves_left,
            limits: limits(settings, go),
            clock: clock(settings, go, position),
            since,
            waits_for_ponder_hit: go.ponder,
            nps_limit: Some(settings.nps_limit).filter(|nps| *nps > 0.0),
            begun: since,
            infinite: go.infinite,
            started: false,
            playouts_before: 0,
            next_look: 0,
            root_visits: Vec::new(),
        }
    }

    /// Starts the clock of a move that is not pondered, or no longer.
    pub fn start_if_due(
        &mut self,
        manager: &mut TimeManager,
        ponder_hit: Option<Instant>,
        nodes: u32,
        counts: &Counts,
    ) {
        if self.started || (self.waits_for_ponder_hit && ponder_hit.is_none()) {
            return;
        }
        self.started = true;
        self.since = ponder_hit.filter(|_| self.waits_for_ponder_hit).unwrap_or(self.since);
        self.waits_for_ponder_hit = false;
        self.playouts_before = counts.playouts;
        self.limits.pruning = self.limits.pruning.map(|pruning| pruning.behind(counts.playouts));
        if let Some(clock) = &self.clock {
            // At least one ply is still to be played, however near the network saw the end.
            let plies_left = manager.plies_left.filter(|_| self.has_moves_left);
            let network_plies = plies_left.map(|plies| (plies - manager.plies_since as f64).max(1.0));
            let budget = manager.manager.on_move_start(&Clock { network_plies, ..*clock }, nodes.into());
            let limit = TimeLimit::of(&budget);
            self.limits.time = Some(self.limits.time.map_or(limit, |time| time.earlier(limit)));
        }
    }

    /// Whether the search is worth a look after this many playouts.
    pub fn is_look_due(&self, playouts: u64) -> bool {
        playouts >= self.next_look
    }

    /// Whether limits and proofs may end the search after this many playouts, or influence its choice at the root.
    /// Under a clock they may at any time. Without one, the number of playouts alone decides: then one thread makes the
    /// same search each time, however fast it is.
    pub fn may_judge(&self, playouts: u64) -> bool {
        self.limits.time.is_some() || self.is_look_due(playouts)
    }

    /// Says that the search was looked at after this many playouts.
    pub fn looked(&mut self, playouts: u64) {
        if self.is_look_due(playouts) {
            self.next_look = playouts + (playouts / LOOK_SHARE).clamp(1, LOOK_PLAYOUTS);
        }
    }

    /// When the clock wants the move at the latest; `None` while the clock does not run.
    pub fn due(&self) -> Option<Instant> {
        let limit = self.limits.time.filter(|_| self.started)?;
        // The time limit is finite, but a GUI may allow centuries.
        self.since.checked_add(Duration::try_from_secs_f64(limit.extended_ms() / 1000.0).ok()?)
    }

    fn elapsed_ms(&self) -> f64 {
        self.since.elapsed().as_secs_f64() * 1000.0
    }

    /// Whether a limit is reached. Also tells the time manager and the root's choice how the search stands.
    pub fn is_over(&mut self, manager: &mut TimeManager, search: &Search<'_>, counts: &Counts) -> bool {
        if !self.started || !self.may_judge(counts.playouts) {
            return false;
        }
        let elapsed_ms = self.elapsed_ms();
        let progress = Progress::of(search, counts, elapsed_ms);
        let unsettled = self.clock.is_some() && {
            manager.manager.on_progress(elapsed_ms, counts.playouts - self.playouts_before);
            progress.root.leader().is_some_and(|leader| manager.manager.on_leader(elapsed_ms, leader))
        };
        visits_of_moves(search, &mut self.root_visits);
        let progress = Progress { root_visits: &self.root_visits, unsettled, ..progress };
        let learnt = self.clock.and_then(|_| manager.manager.nps());
        let nps = [learnt, self.nps_limit].into_iter().flatten().reduce(f64::min);
        let decision = self.limits.check(&progress, nps);
        let pruning = self.limits.pruning.is_some();
        search.set_remaining_playouts(pruning.then(|| decision.remaining_playouts.min(u32::MAX.into()) as u32));
        decision.stop.is_some()
    }

    /// Whether the best move may be said without being asked for.
    pub fn may_end(&self) -> bool {
        !self.infinite && !self.waits_for_ponder_hit
    }

    /// Whether more playouts can't change anything, because the result of every move is proven; or because one move
    /// wins, if a depth is all that was asked for: such a tree may never get deeper. A number of visits that was asked
    /// for is done all the same.
    pub fn is_pointless(&self, search: &Search<'_>, go: &Go) -> bool {
        let Some(root) = search.root().filter(|_| go.nodes.is_none()) else { return false };
        let may_be_played = || root.edges().filter(|edge| search.may_play(edge));
        let bounds: Vec<Bounds> = root.of_all_edges(|| may_be_played().map(|edge| edge.bounds()).collect());
        let depth_only = go.depth.is_some() && self.may_end();
        let won = depth_only && bounds.iter().any(|b| b.lower == Bound::Win);
        won || (!bounds.is_empty() && bounds.iter().all(|b| b.lower == b.upper))
    }

    /// Playouts that the limits still allow; at least one while there [is no answer](has_answer), because every search
    /// needs one.
    pub fn playouts_wanted(&self, search: &Search<'_>, counts: &Counts) -> u64 {
        let visits = self.limits.visits.map_or(u64::MAX, |VisitLimit(n)| n.saturating_sub(search.visits().into()));
        let playouts = self.limits.playouts.map_or(u64::MAX, |PlayoutLimit(n)| n.saturating_sub(counts.playouts));
        match visits.min(playouts) {
            0 => u64::from(!has_answer(search)),
            wanted => wanted,
        }
    }

    /// Playouts that the limit of their speed allows by now. The first one is free, because every search needs one.
    pub fn playouts_due(&self, counts: &Counts) -> u64 {
        self.nps_limit.map_or(u64::MAX, |nps| {
            let allowed = (nps * self.begun.elapsed().as_secs_f64()) as u64 + 1;
            allowed.saturating_sub(counts.playouts)
        })
    }

    /// Says that the search is over, so that its move is about to be played in this position.
    pub fn end(&self, manager: &mut TimeManager, position: &History, search: &Search<'_>, counts: &Counts) {
        search.set_remaining_playouts(None);
        if !self.started {
            return;
        }
        manager.timed = Some(Box::new(position.clone()));
        manager.plies_left = search.root().filter(|_| self.has_moves_left).map(|root| root.value().m.into());
        if self.clock.is_some() {
            manager.manager.on_move_end(self.elapsed_ms(), counts.playouts - self.playouts_before);
        }
    }
}

fn clock(settings: &Settings, go: &Go, position: &History) -> Option<Clock> {
    go.clock.filter(|_| !go.infinite).map(|clock| Clock {
        base_ms: clock.left_ms as f64,
        increment_ms: clock.increment_ms as f64,
        moves_to_go: clock.moves_to_go,
        ply: position.ply(),
        overhead_ms: settings.move_overhead_ms as f64,
        pieces: Some(position.board().occupied().len()),
        ..Clock::default()
    })
}

fn limits(settings: &Settings, go: &Go) -> Limits {
    let overhead_ms = settings.move_overhead_ms as f64;
    // An infinite search, and one for a mate, are done as a whole. (While a move is pondered, nothing asks for this.)
    let whole = go.infinite || go.mate.is_some();
    let pruning = SmartPruning::new(settings.smart_pruning_factor.into()).filter(|_| !whole);
    Limits {
        time: go.move_time_ms.filter(|_| !go.infinite).map(|ms| TimeLimit::movetime(ms as f64, overhead_ms)),
        visits: go.nodes.filter(|_| !settings.nodes_as_playouts).map(VisitLimit),
        playouts: go.playouts.or(go.nodes.filter(|_| settings.nodes_as_playouts)).map(PlayoutLimit),
        live_nodes: None,
        depth: go.depth.map(DepthLimit::new),
        mate: go.mate.map(MateLimit),
        // As in Lc0, `SmartPruningFactor` 0 turns these off too.
        only_move: pruning.map(|_| OnlyMove),
        // A user who wants to see several moves wants them searched, unless a game waits.
        known_best: pruning.filter(|_| settings.multi_pv <= 1 || go.clock.is_some()).map(|_| KnownBest),
        kld_gain: KldGain::new(settings.kld_gain.least_per_node, settings.kld_gain.interval).filter(|_| !whole),
        pruning: pruning.map(|pruning| pruning.after_batches(settings.smart_pruning_batches)),
    }
}

/// Whether the search has an answer for the position: the root has a visit; and if the tree of another search is below
/// the root, so has a move that may be played, because the visits of other moves say nothing about those that
/// `searchmoves` names.
pub fn has_answer(search: &Search<'_>) -> bool {
    let mut edges =
        search.root().into_iter().flat_map(|root| root.edges()).filter(|edge| search.may_play(edge)).peekable();
    match search.visits() {
        0 => false,
        1 => true,
        _ => edges.peek().is_none() || edges.any(|edge| edge.completed() > 0),
    }
}

/// Writes the visits of each of the root's moves to `visits`. A move that may not be searched gets 0.
fn visits_of_moves(search: &Search<'_>, visits: &mut Vec<u32>) {
    let edges = search.root().into_iter().flat_map(|root| root.edges());
    visits.clear();
    visits.extend(edges.map(|edge| if search.may_play(&edge) { edge.completed() } else { 0 }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Clock;
    use crate::engine::lineage::tests::after;
    use crate::memory::{Layout, Memory};
    use crate::options::Typed;

    #[test]
    fn a_move_that_wins_ends_no_search_of_several() {
        let mut settings = Typed::default().meaning().unwrap().settings;
        let known_best = |settings: &Settings, go: Go| limits(settings, &go).known_best.is_some();
        let of_game =
            || Go { clock: Some(Clock { left_ms: 1000, increment_ms: 0, moves_to_go: None }), ..Go::default() };
        assert!(known_best(&settings, Go::default()));
        settings.multi_pv = 2;
        assert!(!known_best(&settings, Go::default()) && known_best(&settings, of_game()));
    }

    /// All limits that options and `go` set, so that none is set that nobody asked for either.
    #[test]
    fn each_option_and_each_word_of_go_sets_its_own_limit() {
        let with = |options: &[(&str, &str)]| {
            let mut typed = Typed::default();
            for (flag, value) in options {
                typed.set(crate::options::table::by_flag(flag).unwrap(), flag, value).unwrap();
            }
            typed.meaning().unwrap().settings
        };
        let pruning = |factor: f32, batches| SmartPruning::new(factor.into()).map(|it| it.after_batches(batches));
        let usual = || Limits {
            only_move: Some(OnlyMove),
            known_best: Some(KnownBest),
            pruning: pruning(1.33, 0),
            ..Limits::default()
        };
        let nodes = Go { nodes: Some(70), ..Go::default() };
        let both = Go { playouts: Some(30), ..nodes.clone() };
        let timed = Go { move_time_ms: Some(5000), ..Go::default() };
        let of_game = Go { clock: Some(Clock { left_ms: 1000, ..Clock::default() }), ..Go::default() };
        let infinite = Go { infinite: true, depth: Some(9), ..timed.clone() };
        let mate = Go { mate: Some(3), ..Go::default() };
        let (visits, playouts) = (|n| Some(VisitLimit(n)), |n| Some(PlayoutLimit(n)));
        let gain = ("minimum-kldgain-per-node", "0.5");
        let kld_gain = |interval| KldGain::new(0.5, interval);
        let no_pruning = ("smart-pruning-factor", "0");
        let as_playouts = ("nodes-as-playouts", "true");
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a Go, Limits);
        let rows: &[Row<'_>] = &[
            (&[], &Go::default(), usual()),
            (&[], &nodes, Limits { visits: visits(70), ..usual() }),
            (&[as_playouts], &nodes, Limits { playouts: playouts(70), ..usual() }),
            (&[], &both, Limits { visits: visits(70), playouts: playouts(30), ..usual() }),
            (&[as_playouts], &both, Limits { playouts: playouts(30), ..usual() }),
            (&[], &Go { depth: Some(9), ..Go::default() }, Limits { depth: Some(DepthLimit::new(9)), ..usual() }),
            (&[], &timed, Limits { time: Some(TimeLimit::movetime(5000.0, 200.0)), ..usual() }),
            (&[("move-overhead", "300")], &timed, Limits { time: Some(TimeLimit::movetime(5000.0, 300.0)), ..usual() }),
            (&[no_pruning], &nodes, Limits { visits: visits(70), ..Limits::default() }),
            (&[("smart-pruning-factor", "2")], &Go::default(), Limits { pruning: pruning(2.0, 0), ..usual() }),
            (
                &[("smart-pruning-minimum-batches", "8")],
                &Go::default(),
                Limits { pruning: pruning(1.33, 8), ..usual() },
            ),
            (&[gain], &Go::default(), Limits { kld_gain: kld_gain(100), ..usual() }),
            (&[gain, ("kldgain-average-interval", "50")], &Go::default(), Limits { kld_gain: kld_gain(50), ..usual() }),
            (&[gain, no_pruning], &Go::default(), Limits { kld_gain: kld_gain(100), ..Limits::default() }),
            // What wants the whole search ends neither by its visits nor by what is known.
            (&[gain], &infinite, Limits { depth: Some(DepthLimit::new(9)), ..Limits::default() }),
            (&[gain], &mate, Limits { mate: Some(MateLimit(3)), ..Limits::default() }),
            (&[("multipv", "2")], &Go::default(), Limits { known_best: None, ..usual() }),
            // The clock of a game is divided only when it begins to run.
            (&[("multipv", "2")], &of_game, usual()),
        ];
        for (options, go, expected) in rows {
            assert_eq!(limits(&with(options), go), *expected, "{options:?}, {go:?}");
        }
    }

    #[test]
    fn an_infinite_search_has_no_time() {
        let settings = Typed::default().meaning().unwrap().settings;
        let clock = Some(Clock { left_ms: 1000, increment_ms: 0, moves_to_go: None });
        for go in [Go { move_time_ms: Some(10), ..Go::default() }, Go { clock, ..Go::default() }] {
            let time = |infinite| {
                let go = Go { infinite, ..go.clone() };
                let mut time = MoveTime::new(&settings, &go, &History::startpos(), true, Instant::now());
                time.start_if_due(&mut TimeManager::new(&settings), None, 0, &Counts::ZERO);
                time.limits.time
            };
            assert_eq!((time(true), time(false).is_some()), (None, true), "{go:?}");
        }
    }

    #[test]
    fn a_pondered_moves_clock_begins_when_it_is_played() {
        let settings = Typed::default().meaning().unwrap().settings;
        let mut manager = TimeManager::new(&settings);
        let minute = Duration::from_secs(60);
        let Some(begun) = Instant::now().checked_sub(minute) else { return }; // the machine has just been started
        let go = Go { ponder: true, move_time_ms: Some(1000), ..Go::default() };
        let mut time = MoveTime::new(&settings, &go, &History::startpos(), true, begun);
        time.start_if_due(&mut manager, None, 0, &Counts::ZERO);
        assert!(time.due().is_none() && time.elapsed_ms() >= 60_000.0, "it does not run");
        let hit = begun + minute;
        time.start_if_due(&mut manager, Some(hit), 0, &Counts::ZERO);
        assert!(time.due() > Some(hit) && time.due() < Some(hit + minute));
        // The clock of a move that is not pondered began with `go`, whatever a GUI says later.
        let go = Go { ponder: false, ..go };
        let mut time = MoveTime::new(&settings, &go, &History::startpos(), true, begun);
        time.start_if_due(&mut manager, Some(hit), 0, &Counts::ZERO);
        assert!(time.due() < Some(hit));
    }

    #[test]
    fn what_was_pondered_says_nothing_of_the_clocks_speed() {
        let settings = Typed::default().meaning().unwrap().settings;
        let mut manager = TimeManager::new(&settings);
        let counts = |playouts| Counts { playouts, ..Counts::ZERO };
        let go = Go { ponder: true, move_time_ms: Some(1000), ..Go::default() };
        let mut time = MoveTime::new(&settings, &go, &History::startpos(), true, Instant::now());
        time.start_if_due(&mut manager, None, 50_000, &counts(50_000));
        assert!(!time.started);
        time.start_if_due(&mut manager, Some(Instant::now()), 50_000, &counts(50_000));
        assert!(time.started);
        let pruning = SmartPruning::new(settings.smart_pruning_factor.into());
        assert_eq!(time.limits.pruning, pruning.map(|pruning| pruning.behind(50_000)));
        let go = Go { ponder: false, ..go };
        let mut time = MoveTime::new(&settings, &go, &History::startpos(), true, Instant::now());
        time.start_if_due(&mut manager, None, 0, &counts(0));
        assert_eq!(time.limits.pruning, pruning);
    }

    /// The first playout is free, so a second one is not, however soon it is asked for.
    #[test]
    fn playouts_are_due_by_their_speed() {
        let mut settings = Typed::default().meaning().unwrap().settings;
        let (now, hour) = (Instant::now(), Duration::from_secs(3600));
        let due = |settings: &Settings, since: Instant, playouts: u64| {
            let time = MoveTime::new(settings, &Go::default(), &History::startpos(), true, since);
            time.playouts_due(&Counts { playouts, ..Counts::ZERO })
        };
        assert_eq!(due(&settings, now, 1_000_000), u64::MAX, "no limit");
        settings.nps_limit = 500.0;
        // This is as if the search began in an hour.
        assert_eq!([0, 1, 2].map(|playouts| due(&settings, now + hour, playouts)), [1, 0, 0]);
        let Some(begun) = now.checked_sub(hour) else { return }; // the machine has just been started
        assert!((1_800_001..3_600_000).contains(&due(&settings, begun, 0)));
        assert!(due(&settings, begun, 1_800_000) < due(&settings, begun, 0));
    }

    #[test]
    fn a_look_is_due_after_a_part_of_what_was_done() {
        let settings = Typed::default().meaning().unwrap().settings;
        let mut time = MoveTime::new(&settings, &Go::default(), &History::startpos(), true, Instant::now());
        assert!(time.is_look_due(0), "before anything is done");
        for (looked, next) in [(0, 1), (1, 2), (31, 32), (64, 66), (6400, 6600), (1_000_000, 1_000_512)] {
            time.next_look = looked;
            time.looked(looked);
            assert!(!time.is_look_due(next - 1) && time.is_look_due(next), "{looked}");
            // A look before it is due does not put off the next one.
            time.looked(next - 1);
            assert!(time.is_look_due(next), "{looked}");
        }
    }

    /// Playouts that were done before the clock ran do not belong to its hour.
    #[test]
    fn a_time_manager_learns_from_what_the_clock_saw() {
        let settings = Typed::default().meaning().unwrap().settings;
        let hour = Duration::from_secs(3600);
        let Some(begun) = Instant::now().checked_sub(hour) else { return }; // the machine has just been started
        let (memory, _) = Memory::of_at_most(1 << 20, Layout::Tree).unwrap();
        let search = Search::new(memory.lend(), settings.params);
        let clock = Some(Clock { left_ms: 36_000_000, ..Clock::default() });
        let (go, position) = (Go { clock, ponder: true, ..Go::default() }, History::startpos());
        let counts = |playouts| Counts { playouts, ..Counts::ZERO };
        for before in [0, 3_600_000_000] {
            let mut manager = TimeManager::new(&settings);
            let mut time = MoveTime::new(&settings, &go, &position, true, begun);
            time.start_if_due(&mut manager, Some(begun), 0, &counts(before));
            time.is_over(&mut manager, &search, &counts(before + 3_600_000));
            let nps = manager.manager.nps().unwrap();
            assert!((900.0..=1001.0).contains(&nps), "after {before}: {nps}");
        }
    }

    /// The time limit of a first move with a minute on the clock, after a search that expected the end in `plies_left`
    /// plies.
    fn limit(plies_left: Option<f64>, has_moves_left: bool) -> Option<TimeLimit> {
        let settings = Typed::default().meaning().unwrap().settings;
        let clock = Clock { left_ms: 60_000, ..Clock::default() };
        let go = Go { clock: Some(clock), ..Go::default() };
        let mut manager = TimeManager { plies_left, plies_since: 2, ..TimeManager::new(&settings) };
        let mut time = MoveTime::new(&settings, &go, &History::startpos(), has_moves_left, Instant::now());
        time.start_if_due(&mut manager, None, 0, &Counts::ZERO);
        time.limits.time
    }

    /// The same position with a clock that shows six seconds less, and the next move with such a clock.
    #[test]
    fn a_second_search_of_a_position_tells_no_lag() {
        let settings = Typed::default().meaning().unwrap().settings;
        let (memory, _) = Memory::of_at_most(1 << 20, Layout::Tree).unwrap();
        let search = Search::new(memory.lend(), settings.params);
        let lag = |moves: &[&str]| {
            let mut managers = TimeManagers::new(&settings);
            let mut think = |position: &History, left_ms| {
                let go = Go { clock: Some(Clock { left_ms, ..Clock::default() }), ..Go::default() };
                let mut time = MoveTime::new(&settings, &go, position, true, Instant::now());
                let manager = managers.of(&settings, position);
                time.start_if_due(manager, None, 0, &Counts::ZERO);
                time.end(manager, position, &search, &Counts::ZERO);
                manager.manager.learnt().get("lag_ms").unwrap()
            };
            think(&History::startpos(), 20_000);
            think(&after(moves), 14_000)
        };
        assert_eq!(lag(&[]), 0.0);
        assert!(lag(&["e2e4", "e7e5"]) > 3000.0);
    }

    #[test]
    fn a_network_that_saw_the_end_of_the_game_is_believed_however_near_it_was() {
        let limit = |plies_left| limit(plies_left, true);
        // This few plies are less than the smallest number that counts.
        assert_eq!([0.1, 1.9, 2.0, 2.1, 3.0].map(|plies| limit(Some(plies))), [limit(Some(6.0)); 5]);
        assert_ne!(limit(Some(6.0)), limit(None));
        // Two plies have been played since that search.
        let settings = Typed::default().meaning().unwrap().settings;
        let clock = Clock { left_ms: 60_000, ..Clock::default() };
        let clock = super::clock(&settings, &Go { clock: Some(clock), ..Go::default() }, &History::startpos());
        let with = |plies| {
            TimeLimit::of(
                &TimeManager::new(&settings)
                    .manager
                    .on_move_start(&oncilla_core::time::Clock { network_plies: Some(plies), ..clock.unwrap() }, 0),
            )
        };
        assert_eq!(limit(Some(80.0)), Some(with(78.0)));
        assert_ne!(with(78.0), with(80.0));
    }

    /// Without the head, the tree counts each of its plies as one more to the end.
    #[test]
    fn a_network_without_the_head_says_nothing_of_the_end() {
        assert_eq!(limit(Some(6.0), false), limit(None, true));
    }
}
