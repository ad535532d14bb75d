//! What a host must answer about a leaf.

use crate::search::Step;
use core::fmt;
use core::iter::FusedIterator;
use core::slice;
use heapless::VecView;

/// A move of the game: a number that means something to the host only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Move(pub u16);

/// Writes the plain number: how a move is written is the host's business.
impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a position is worth to the side to move. The default is [`Value::EVEN`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Value {
    /// Probability of a win minus that of a loss, in `[-1, 1]`.
    pub wl: f32,
    /// Probability of a draw, in `[0, 1]`.
    pub d: f32,
    /// Moves left: plies until the end of the game, at least 0; more than 1,024 count as 1,024. (For a search that
    /// [explores by weights]: the weight of a visit, times [`Value::WEIGHT_ONE`].)
    ///
    /// [explores by weights]: crate::search::Explored::Weights
    pub m: f32,
}

impl Value {
    /// [`Value::m`] of a visit that weighs 1. A tree keeps weights in steps of 1/256, up to 128.
    pub const WEIGHT_ONE: f32 = 8.0;
    /// Neither side is better, and nothing is known of draws or moves left.
    pub const EVEN: Self = Self { wl: 0.0, d: 0.0, m: 0.0 };
    /// A drawn game that has ended.
    pub const DRAW: Self = Self { wl: 0.0, d: 1.0, m: 0.0 };
    /// A game that has ended, lost for the side to move.
    pub const LOSS: Self = Self { wl: -1.0, d: 0.0, m: 0.0 };
    /// A game that has ended, won for the side to move.
    pub const WIN: Self = Self { wl: 1.0, d: 0.0, m: 0.0 };

    /// The expected score with draws worth `draw_score` to the side to move.
    pub fn q(self, draw_score: f32) -> f32 {
        self.wl + draw_score * self.d
    }
}

/// How the game ended at a node, and so what its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ending {
    /// By the rules: mate, stalemate, material, 50 moves, threefold repetition; or proven by the children.
    Game,
    /// By an endgame tablebase.
    Tablebase,
    /// The second occurrence of a position that first occurred in the tree, taken for a draw, which proves nothing. The
    /// moves left in its value ([`Value::m`]) are the length of the cycle in plies. Once the first occurrence lies
    /// before the root, the node is opened again.
    TwoFold,
    /// By a score: the value is any number in its range, because more than win, draw and loss counts (in Go: by how
    /// many points). It is final, but proves nothing.
    Scored,
}

/// Whether a leaf can be searched further.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// The game goes on. This is the estimate of the position's value; the moves' logits are in the policy.
    Position(Value),
    /// The game ends here. With [`Ending::Game`] and [`Ending::Tablebase`] the value is a win, a draw or a loss; one
    /// between two of these is taken for the nearer one. With [`Ending::TwoFold`] it is a draw, whatever `wl` and `d`
    /// say. With [`Ending::Scored`] it stays as it is.
    Terminal(Value, Ending),
}

impl Verdict {
    /// The side to move has won.
    pub const fn won() -> Self {
        Self::Terminal(Value::WIN, Ending::Game)
    }

    /// The side to move has lost.
    pub const fn lost() -> Self {
        Self::Terminal(Value::LOSS, Ending::Game)
    }

    /// The game is drawn.
    pub const fn drawn() -> Self {
        Self::Terminal(Value::DRAW, Ending::Game)
    }

    /// The game has ended with a score that is worth `value` to the side to move: see [`Ending::Scored`].
    pub const fn scored(value: Value) -> Self {
        Self::Terminal(value, Ending::Scored)
    }

    /// The value, however it is known.
    pub fn value(self) -> Value {
        match self {
            Self::Position(value) | Self::Terminal(value, _) => value,
        }
    }
}

/// What is known of a leaf, besides its policy.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Answer {
    /// The position's key. A tree does not need it; a graph joins positions that have the same key, unless it is
    /// [`Answer::NO_KEY`], which is 0.
    ///
    /// Equal keys mean equal legal moves and equal results, both here and after whatever is played from here on. If the
    /// moves that led here can forbid a move or end the game, a digest of them belongs in the key: the moves since the
    /// last one that can't be taken back, and the positions that they repeated (in chess: the counter of the fifty-move
    /// rule, and the positions since it was 0; `oncilla_chess::History::graph_key` is such a key). Otherwise what is
    /// proven on one path, such as a draw by repetition, is taken for proven on the others.
    ///
    /// Besides, no line of moves may contain the same key twice. If a game can return to an earlier position, something
    /// that tells the two occurrences apart belongs in the key as well: such a digest does, and if neither results nor
    /// legal moves depend on earlier moves, the number of plies since the start of the game does. Otherwise the graph
    /// has a cycle: values and proofs go round in it, its nodes are never freed, and two threads may wait for each
    /// other for ever. An answer whose key is that of a node on the leaf's own path is not joined to it, but a cycle
    /// that two paths make together is not seen.
    pub key: u64,
    /// Value and terminal state.
    pub verdict: Verdict,
}

impl Answer {
    /// The [`key`](Answer::key) of a host that has none: a graph joins the position with no other one. (A hash that
    /// happens to be 0 only costs a transposition.)
    pub const NO_KEY: u64 = 0;
}

/// The moves from the root to a position.
///
/// An evaluator gets them from a search; its tests make them from a list:
///
/// ```
/// use oncilla_core::Move;
/// use oncilla_core::evaluate::Moves;
///
/// let line = Moves::of(&[Move(3), Move(1)]);
/// assert_eq!(line.len(), 2);
/// assert_eq!(line.map(|mv| mv.0).collect::<Vec<_>>(), [3, 1]);
/// ```
#[derive(Clone)]
pub struct Moves<'a>(Source<'a>);

#[derive(Clone)]
enum Source<'a> {
    Path(slice::Iter<'a, Step>),
    List(slice::Iter<'a, Move>),
}

impl<'a> Moves<'a> {
    /// The moves in a list.
    pub fn of(line: &'a [Move]) -> Self {
        Self(Source::List(line.iter()))
    }

    /// The moves of an event's path.
    pub(crate) fn along(path: &'a [Step]) -> Self {
        Self(Source::Path(path.iter()))
    }
}

impl Iterator for Moves<'_> {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        match &mut self.0 {
            Source::Path(steps) => steps.next().map(|step| step.mv),
            Source::List(moves) => moves.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Source::Path(steps) => steps.size_hint(),
            Source::List(moves) => moves.size_hint(),
        }
    }

    fn fold<B, F: FnMut(B, Move) -> B>(self, init: B, mut f: F) -> B {
        match self.0 {
            Source::Path(steps) => steps.fold(init, |all, step| f(all, step.mv)),
            Source::List(moves) => moves.copied().fold(init, f),
        }
    }
}

impl DoubleEndedIterator for Moves<'_> {
    fn next_back(&mut self) -> Option<Move> {
        match &mut self.0 {
            Source::Path(steps) => steps.next_back().map(|step| step.mv),
            Source::List(moves) => moves.next_back().copied(),
        }
    }
}

impl ExactSizeIterator for Moves<'_> {}

impl FusedIterator for Moves<'_> {}

impl fmt::Debug for Moves<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Answers one leaf at a time: for hosts without batches. A test of an evaluator makes the lines that it asks about
/// with [`Moves::of`].
///
/// Two players are taken to move in turn: what is good for the side to move is bad for the one that moved. Where a
/// player moves again, the other one has a forced pass in between.
///
/// A line begins at the search's current root. The search does not know which position that is, so the evaluator must:
/// after [`Search::advance`](crate::search::Search::advance) it has to play the same moves itself (or a new one is made
/// for the position after them).
pub trait Evaluator {
    /// Why a leaf can't be answered.
    type Error;

    /// Pushes the legal moves of the position after `line`, no two of them the same, onto `moves`, which is empty when
    /// it is passed in. Their order must depend on the position alone: until an edge is visited, the tree knows it only
    /// by its index in this list. Only positions are asked about that [`Evaluator::evaluate`] has answered, so all of
    /// these moves have room if as many logits had.
    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>);

    /// Says what the position after `line` is worth, and pushes a logit for each of its legal moves, in their order,
    /// onto `policy`, which is empty when it is passed in. A terminal position needs no policy. A host that has
    /// probabilities gives their logarithms; one that has no policy gives 0 for every move. The default [policy
    /// temperature](crate::search::Params::policy_temperature), which is Lc0's, makes the probabilities flatter: with a
    /// temperature of 1 they stay as they are.
    ///
    /// Both lists have the room that [`MostMoves`](crate::search::MostMoves) says. `extend` and `extend_from_slice`
    /// tell when that is too little, by a panic and by an error. Logits that are silently left out are moves that the
    /// search never considers:
    ///
    /// ```
    /// use oncilla_core::heapless::VecView;
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct TooManyMoves;
    ///
    /// fn give(logits: &[f32], policy: &mut VecView<f32>) -> Result<(), TooManyMoves> {
    ///     policy.extend_from_slice(logits).map_err(|_| TooManyMoves)
    /// }
    ///
    /// let mut policy = oncilla_core::heapless::Vec::<f32, 2>::new();
    /// assert_eq!(give(&[0.0; 3], policy.as_mut_view()), Err(TooManyMoves));
    /// ```
    ///
    /// # Errors
    /// Whatever keeps the evaluator from answering: the playout is taken back, and
    /// [`Search::run`](crate::search::Search::run) returns the error.
    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error>;
}

/// So an evaluator can be lent, and chosen at run time: `&mut dyn Evaluator<Error = E>`.
impl<E: Evaluator + ?Sized> Evaluator for &mut E {
    type Error = E::Error;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        (**self).legal_moves(line, moves);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        (**self).evaluate(line, policy)
    }
}

#[cfg(any(test, feature = "alloc"))]
impl<E: Evaluator + ?Sized> Evaluator for alloc::boxed::Box<E> {
    type Error = E::Error;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        (**self).legal_moves(line, moves);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        (**self).evaluate(line, policy)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::search::{Event, Gathered, Params, Search};
    use crate::tree::TreeMemory;
    use std::vec::Vec;

    /// An event's moves and a list's moves are equal where the line is the same.
    #[test]
    fn moves_of_an_event_and_of_a_list_are_the_same() {
        let mut memory = TreeMemory::<10, 200>::new();
        let search = Search::new(memory.lend(), Params::default());
        let mut event = Event::<8>::new();
        for plies in 0..4 {
            assert_eq!(search.gather(&mut event), Gathered::Leaf);
            event.name(Move(10 + plies));
            let line: Vec<Move> = (10..=10 + plies).skip(1).map(Move).collect();
            let (gathered, listed) = (event.moves(), Moves::of(&line));
            assert_eq!((gathered.len(), listed.len()), (line.len(), line.len()));
            assert!(gathered.clone().rev().eq(listed.clone().rev()) && gathered.clone().eq(listed.clone()));
            let digits = |all: u32, mv: Move| 100 * all + u32::from(mv.0);
            assert_eq!(gathered.clone().fold(0, digits), listed.clone().fold(0, digits));
            assert_eq!(std::format!("{gathered:?}"), std::format!("{line:?}"));
            let even = Answer { key: 0, verdict: Verdict::Position(Value::EVEN) };
            search.answer(&mut event, &even, &mut [0.0]).unwrap();
        }
    }
}
