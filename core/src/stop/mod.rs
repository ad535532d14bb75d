//! When to stop.
//!
//! Each limit is a small type that answers one question about the [`Progress`] of a search. [`Limits`] asks those that
//! a `go` command has set, in a fixed order, and the first one that is reached stops the search. On the way each limit
//! lowers the [`Hints`]: how much is left at most. Smart pruning depends on them, and the choice at the root can pass
//! over a move that can no longer catch up with the best.
//!
//! No limit is asked before the root has a visit: until then there is no move to answer with.

pub mod clock;
pub mod count;
pub mod depth;
pub mod gain;
pub mod known;
pub mod mate;
pub mod prune;
pub mod root;

pub use clock::TimeLimit;
pub use count::{LiveNodeLimit, PlayoutLimit, VisitLimit};
pub use depth::DepthLimit;
pub use gain::KldGain;
pub use known::{KnownBest, OnlyMove};
pub use mate::MateLimit;
pub use prune::SmartPruning;
pub use root::{Outcome, Root, RootEdge};

use crate::repository::Repository;
use crate::search::{MAX_VISITS, Search};
use crate::stats::Counts;
use core::fmt;

/// What a search reports about itself when it is asked whether to go on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Progress<'a> {
    /// Milliseconds since the move's clock started.
    pub elapsed_ms: f64,
    /// Visits of the root: those that the reused tree brought along, and the playouts for this move, except for those
    /// that restored what a full tree had folded.
    pub visits: u64,
    /// Playouts for this move.
    pub playouts: u64,
    /// Nodes that the tree holds.
    pub live_nodes: u64,
    /// Batches in which the playouts for this move came.
    pub batches: u64,
    /// Mean depth of the playouts, in whole plies, the root included: [`Search::mean_depth`].
    pub mean_depth: u32,
    /// Moves to the shortest mate found from the root, if any.
    pub mate_in: Option<u32>,
    /// The moves at the root.
    pub root: Root,
    /// Visits of each root move, in the same order for the whole search. Only the KLD gain needs them.
    pub root_visits: &'a [u32],
    /// True if the time manager finds that the search deserves more than its budget.
    pub unsettled: bool,
}

impl Progress<'_> {
    /// The progress of `search` at `elapsed_ms` milliseconds after the move's clock started. `counts` are those of this
    /// move: [`Search::run_counts`] if [`Search::run`] does the playouts, the host's own if threads do.
    ///
    /// What a search does not know is left for its caller to set: `root_visits`, for which it has no room (only a
    /// [`KldGain`] needs them), and `unsettled`, which the time manager knows
    /// ([`Manager::on_leader`](crate::time::Manager::on_leader)).
    pub fn of<R: Repository>(search: &Search<R>, counts: &Counts, elapsed_ms: f64) -> Self {
        Self {
            elapsed_ms,
            visits: search.visits().into(),
            playouts: counts.playouts,
            live_nodes: search.live_nodes() as u64,
            batches: counts.batch_count(),
            mean_depth: search.mean_depth(counts),
            mate_in: mate::mate_in(search),
            root: Root::of_search(search),
            root_visits: &[],
            unsettled: false,
        }
    }
}

/// Why a search stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reason {
    /// No move can be searched: the game has ended at the root, or all its moves are left out.
    NoMoves,
    /// The root has [`MAX_VISITS`].
    Full,
    /// The time is used up.
    Time,
    /// The root has as many visits as asked for.
    Visits,
    /// As many playouts are done as asked for.
    Playouts,
    /// The tree holds as many nodes as it may.
    Nodes,
    /// The mean depth is reached.
    Depth,
    /// The mean depth will not be reached: the tree gets no deeper.
    NoDeeper,
    /// A mate that is short enough was found.
    Mate,
    /// More nodes no longer change where the visits go.
    KldGain,
    /// There is only one move.
    OnlyMove,
    /// A move is known to win, or all others to lose.
    KnownBest,
    /// What is left is too little for any other move to get as many visits as the most visited one has.
    Decided,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMoves => "there is no move to search",
            Self::Full => "the root has as many visits as can be counted",
            Self::Time => "the time is used",
            Self::Visits => "the root has the visits asked for",
            Self::Playouts => "the playouts asked for are done",
            Self::Nodes => "the tree holds the nodes that it may",
            Self::Depth => "the mean depth is reached",
            Self::NoDeeper => "the tree gets no deeper",
            Self::Mate => "a mate is found that is short enough",
            Self::KldGain => "more nodes no longer change where the visits go",
            Self::OnlyMove => "there is only one move",
            Self::KnownBest => "the best move is known",
            Self::Decided => "no other move can catch up",
        })
    }
}

/// The remaining time if there is no time limit.
const UNTIMED_MS: f64 = 1e11;

/// How much is left of a search at most. Limits only ever lower it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Hints {
    /// Milliseconds that are left.
    pub remaining_ms: f64,
    /// Playouts that are left.
    pub remaining_playouts: u64,
    /// Speed of the search in playouts per second, if a time manager measures it.
    pub nps: Option<f64>,
    /// Milliseconds since the move's start before which smart pruning does not end it.
    pub floor_ms: f64,
}

impl Hints {
    /// Nothing is limited yet. The numbers are Lc0's: about three years, and four billion playouts.
    pub fn new(nps: Option<f64>) -> Self {
        Self { remaining_ms: UNTIMED_MS, remaining_playouts: MAX_VISITS.into(), nps, floor_ms: 0.0 }
    }

    fn is_timed(&self) -> bool {
        self.remaining_ms < UNTIMED_MS
    }

    fn at_most_ms(&mut self, ms: f64) {
        self.remaining_ms = self.remaining_ms.min(ms);
    }

    fn at_most_playouts(&mut self, playouts: u64) {
        self.remaining_playouts = self.remaining_playouts.min(playouts);
    }
}

/// One reason to stop a search.
pub trait Stopper {
    /// Returns a reason if this limit is reached. Lowers the hints to what the limit leaves.
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason>;
}

/// `None` is no limit, and never reached.
impl<S: Stopper> Stopper for Option<S> {
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        self.as_mut().and_then(|stopper| stopper.check(progress, hints))
    }
}

/// The limits of one search. By default there is none: the search runs until it is told to stop. Each search needs
/// limits of its own, for some of them remember how it began.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Limits {
    /// A time to stop at: the budget of a time manager, or `go movetime`. If there are both, the earlier one.
    pub time: Option<TimeLimit>,
    /// `go nodes`, if it counts playouts.
    pub playouts: Option<PlayoutLimit>,
    /// `go nodes`.
    pub visits: Option<VisitLimit>,
    /// A limit to the nodes in the tree's memory.
    pub live_nodes: Option<LiveNodeLimit>,
    /// `go depth`.
    pub depth: Option<DepthLimit>,
    /// `go mate`.
    pub mate: Option<MateLimit>,
    // The limits below are not for `go infinite`, `ponder` or `mate`, which want the whole search.
    /// Stop if there is nothing to choose.
    pub only_move: Option<OnlyMove>,
    /// Stop once the best move is proven.
    pub known_best: Option<KnownBest>,
    /// Stop when more nodes change nothing.
    pub kld_gain: Option<KldGain>,
    /// Stop once the best move is certain to stay the most visited.
    pub pruning: Option<SmartPruning>,
}

/// What the limits decide.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Decision {
    /// Why to stop now; `None`: go on.
    pub stop: Option<Reason>,
    /// How many playouts may still come, at least 1: a root move that is behind by more visits than that can't become
    /// the best. Where smart pruning is on, it is for
    /// [`Search::set_remaining_playouts`](crate::search::Search::set_remaining_playouts); without it all root moves are
    /// searched to the end.
    pub remaining_playouts: u64,
}

impl Limits {
    /// Asks every limit. `nps` is the time manager's speed, if there is one.
    pub fn check(&mut self, progress: &Progress<'_>, nps: Option<f64>) -> Decision {
        let mut hints = Hints::new(nps);
        let stop =
            if progress.visits == 0 { None } else { over(progress).or(self.first_reached(progress, &mut hints)) };
        Decision { stop, remaining_playouts: hints.remaining_playouts.max(1) }
    }

    fn first_reached(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        // Smart pruning comes last, because it reads the hints that the others have lowered. The order of the rest is
        // Lc0's.
        self.time
            .check(progress, hints)
            .or_else(|| self.live_nodes.check(progress, hints))
            .or_else(|| self.playouts.check(progress, hints))
            .or_else(|| self.visits.check(progress, hints))
            .or_else(|| self.depth.check(progress, hints))
            .or_else(|| self.mate.check(progress, hints))
            .or_else(|| self.only_move.check(progress, hints))
            .or_else(|| self.known_best.check(progress, hints))
            .or_else(|| self.kld_gain.check(progress, hints))
            .or_else(|| self.pruning.check(progress, hints))
    }
}

/// Returns a reason if no playout can follow, whatever is limited.
fn over(progress: &Progress<'_>) -> Option<Reason> {
    match () {
        () if progress.root.stuck => Some(Reason::NoMoves),
        () if progress.visits >= MAX_VISITS.into() => Some(Reason::Full),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(visits: u64, elapsed_ms: f64) -> Progress<'static> {
        Progress { elapsed_ms, visits, playouts: visits, ..Progress::default() }
    }

    #[test]
    fn a_reason_reads_as_a_sentence() {
        let text = std::format!("stopped: {}", Reason::Decided);
        assert_eq!(text, "stopped: no other move can catch up");
    }

    #[test]
    fn no_limits_no_end() {
        let mut limits = Limits::default();
        assert_eq!(limits.check(&after(3_000_000_000, 1e9), None).stop, None);
    }

    #[test]
    fn the_first_limit_reached_is_the_reason() {
        let mut both = Limits { time: Some(TimeLimit::new(500.0)), visits: Some(VisitLimit(100)), ..Limits::default() };
        assert_eq!(both.check(&after(99, 499.0), None).stop, None);
        assert_eq!(both.check(&after(99, 500.0), None).stop, Some(Reason::Time));
        assert_eq!(both.check(&after(100, 499.0), None).stop, Some(Reason::Visits));
        assert_eq!(both.check(&after(100, 500.0), None).stop, Some(Reason::Time));
    }

    #[test]
    fn nothing_can_follow_a_root_that_is_stuck_or_full() {
        let stuck = Progress { root: Root { stuck: true, ..Root::default() }, ..after(1, 0.0) };
        assert_eq!(Limits::default().check(&stuck, None).stop, Some(Reason::NoMoves));
        assert_eq!(Limits::default().check(&after(MAX_VISITS.into(), 0.0), None).stop, Some(Reason::Full));
        assert_eq!(Limits::default().check(&after(u64::from(MAX_VISITS) - 1, 0.0), None).stop, None);
    }

    #[test]
    fn no_answer_before_the_root_has_a_visit() {
        let mut limits = Limits { time: Some(TimeLimit::new(0.0)), visits: Some(VisitLimit(0)), ..Limits::default() };
        assert_eq!(limits.check(&after(0, 1e6), None).stop, None);
        assert!(limits.check(&after(1, 0.0), None).stop.is_some());
    }

    #[test]
    fn the_tightest_limit_says_what_is_left() {
        let mut limits =
            Limits { playouts: Some(PlayoutLimit(50)), visits: Some(VisitLimit(100)), ..Limits::default() };
        let progress = Progress { visits: 70, playouts: 30, ..Progress::default() };
        assert_eq!(limits.check(&progress, None).remaining_playouts, 20);
        // At least 1, so that callers can divide by it or wait for it.
        let progress = Progress { visits: 100, playouts: 50, ..Progress::default() };
        assert_eq!(limits.check(&progress, None).remaining_playouts, 1);
    }
}
