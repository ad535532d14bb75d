//! Writes an answer into its leaf: its moves and priors, or its result. Then it waits for backprop.

use super::Search;
use super::event::{Event, Stage, Step};
use super::prove::{bound_of, decided, is_proof};
use crate::evaluate::{Answer, Value, Verdict};
use crate::repository::{Bounds, Key, Naming, Node, Repository, Sums, Visit, prior};
use crate::sync::set;
use crate::tree::MAX_EDGES;
use core::fmt;

/// Why an answer did not enter the tree. Its visits are undone, except with [`Refused::Stale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refused {
    /// Nothing changed: the tree was cleared or re-rooted since the event was gathered, or the event has no leaf of its
    /// own, or its leaf needs no answer ([`Known`](super::Gathered::Known)).
    Stale,
    /// The event's last move has not been named, see [`Event::name`].
    Unnamed,
    /// The answer says that the game goes on, but came without a legal move.
    NoEdges,
    /// The answer has more legal moves than a node can have: [`MAX_EDGES`].
    TooManyEdges,
    /// The number of logits is not the number of moves: see [`Search::renew_root`].
    ListsDiffer,
    /// The memory is too small for the root's edges.
    NoRoom,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str(
                "the event does not wait for this, or the tree was cleared or advanced since it was gathered",
            ),
            Self::Unnamed => f.write_str("nobody said which move the event's last one is"),
            Self::NoEdges => f.write_str("a position that goes on came without a legal move"),
            Self::TooManyEdges => write!(f, "more than {MAX_EDGES} legal moves came"),
            Self::ListsDiffer => f.write_str("there are not as many logits as moves"),
            Self::NoRoom => f.write_str("the memory has no room for the root's moves"),
        }
    }
}

impl core::error::Error for Refused {}

impl Refused {
    /// Whether a position in which the game goes on may have `edges` legal moves.
    pub(super) fn check_edges(edges: usize) -> Result<(), Self> {
        match edges {
            0 => Err(Self::NoEdges),
            n if n > MAX_EDGES => Err(Self::TooManyEdges),
            _ => Ok(()),
        }
    }
}

impl<R: Repository> Search<R> {
    /// Brings the answer to a gathered [`Leaf`](super::Gathered::Leaf) into the tree and to the root. `policy` has a
    /// logit for each legal move, in the order of the game's list; the slice is overwritten, even if the answer is
    /// refused.
    ///
    /// # Errors
    /// Any [`Refused`] but [`Refused::ListsDiffer`]; the playout is taken back, except with [`Refused::Stale`].
    pub fn answer<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        answer: &Answer,
        policy: &mut [f32],
    ) -> Result<(), Refused> {
        self.settle(event, answer, policy)?;
        self.bring_back(core::slice::from_mut(event));
        Ok(())
    }

    /// Takes back a playout that collided, or whose leaf can't be answered. One that [was settled](Search::settle) is
    /// brought back instead: its leaf has counted the visit.
    pub fn cancel<const PLIES: usize>(&self, event: &mut Event<PLIES>) {
        if event.epoch == self.epoch && event.stage != Stage::Idle {
            match (event.leaf, event.stage) {
                (_, Stage::Answered { .. }) => return self.bring_back(core::slice::from_mut(event)),
                (Some(leaf), Stage::Leaf) => self.repository.lock(leaf).set_pending(false),
                _ => {}
            }
            self.undo(event);
        }
        event.finish();
    }

    /// The first half of [`Search::answer`]: writes the answer into the leaf, whose event then waits for
    /// [`Search::bring_back`].
    ///
    /// # Errors
    /// As [`Search::answer`].
    pub fn settle<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        answer: &Answer,
        policy: &mut [f32],
    ) -> Result<(), Refused> {
        let leaf = self.unanswered(event)?;
        if let Err(fault) = self.check(event, answer, policy) {
            self.cancel(event);
            return Err(fault);
        }
        let verdict = match answer.verdict {
            Verdict::Position(value) => Verdict::Position(self.params.wdl_rescale.at(event.plies()).apply(value)),
            ended => decided(ended),
        };
        let answer = &Answer { verdict, ..*answer };
        if let Verdict::Position(_) = verdict {
            self.make_priors(policy, event.path.is_empty());
        }
        let stage = match event.path.last().copied() {
            None => self.write_answer(event, leaf, verdict, policy).then_some(answered(verdict, None)),
            Some(step) => Some(self.settle_below(event, step, leaf, answer, policy)),
        };
        if let Some(stage) = stage {
            event.stage = stage;
            return Ok(());
        }
        self.cancel(event);
        Err(Refused::NoRoom)
    }

    /// [`Search::settle`] for a leaf whose position the graph has already. `key` is the position's
    /// [key](crate::evaluate::Answer::key), and `edges` the number of its legal moves; its value need not be known. The
    /// event then [is a transposition](Event::is_transposition), and waits for [`Search::bring_back`].
    ///
    /// `false` means that the graph has no such node, or no longer, because it was folded; or that the leaf can't be
    /// joined to it, because the node is on the leaf's own path, or the leaf is the root. Then the event has not
    /// changed, and waits for its answer as before. In a tree the result is always `false`.
    ///
    /// # Errors
    /// [`Refused::Stale`], or [`Refused::Unnamed`], after which the playout is taken back.
    pub fn settle_transposition<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        key: u64,
        edges: usize,
    ) -> Result<bool, Refused> {
        let leaf = self.unanswered(event)?;
        if event.unnamed.is_some() {
            self.cancel(event);
            return Err(Refused::Unnamed);
        }
        let Some(step) = event.path.last().copied() else { return Ok(false) };
        // Asked first, because a leaf that joins no other node is the position's node from then on, and this one has no
        // edges yet.
        if !self.repository.has(key, edges) {
            return Ok(false);
        }
        let Some(known) = self.join(event, leaf, key, edges) else { return Ok(false) };
        event.stage = self.replace_leaf(event, step, leaf, known);
        Ok(true)
    }

    /// The leaf of an event that waits for an answer in this tree.
    fn unanswered<const PLIES: usize>(&self, event: &Event<PLIES>) -> Result<Key, Refused> {
        event.leaf.filter(|_| event.epoch == self.epoch && event.stage == Stage::Leaf).ok_or(Refused::Stale)
    }

    /// Turns logits into priors.
    pub(super) fn make_priors(&self, policy: &mut [f32], of_root: bool) {
        prior::softmax(policy, self.params.policy_temperature);
        if of_root {
            self.params.add_noise(policy);
            policy.iter_mut().for_each(|p| *p *= self.params.root_policy_sum);
        }
    }

    fn check<const PLIES: usize>(&self, event: &Event<PLIES>, answer: &Answer, policy: &[f32]) -> Result<(), Refused> {
        match answer.verdict {
            _ if event.unnamed.is_some() => Err(Refused::Unnamed),
            Verdict::Position(_) => Refused::check_edges(policy.len()),
            Verdict::Terminal(..) => Ok(()),
        }
    }

    /// Writes an answer into a leaf below the root. Its parent stays locked meanwhile: so a thread that finds the
    /// leaf's edges knows the move that leads to it, and no playout is on its way to a leaf that is no longer linked.
    fn settle_below<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        step: Step,
        leaf: Key,
        answer: &Answer,
        policy: &[f32],
    ) -> Stage {
        let known = match answer.verdict {
            Verdict::Position(_) => self.join(event, leaf, answer.key, policy.len()),
            Verdict::Terminal(..) => None,
        };
        if let Some(known) = known {
            return self.replace_leaf(event, step, leaf, known);
        }
        let (mut parent, _) = self.edge_above(step);
        if self.write_answer(event, leaf, answer.verdict, policy) {
            return answered(answer.verdict, None);
        }
        // No room for its edges: the parent's edge keeps the value, as if the leaf had been folded.
        parent.set_child(step.at.into(), None);
        drop(parent);
        self.repository.discard(leaf);
        set(&self.short_of_room, 1);
        answered(answer.verdict, Some(answer.verdict.value()))
    }

    /// The node above a leaf, locked, and the edge to the leaf, whose record has its move from now on.
    #[inline(always)]
    fn edge_above(&self, step: Step) -> (R::Node<'_>, Visit) {
        let mut parent = self.repository.lock(step.node);
        let visit = Visit { mv: Naming::Named(step.mv), ..parent.visit(step.at.into()) };
        parent.set_visit(step.at.into(), visit);
        (parent, visit)
    }

    /// Links the edge to a leaf to the node that has the leaf's position already, and frees the leaf.
    fn replace_leaf<const PLIES: usize>(&self, event: &mut Event<PLIES>, step: Step, leaf: Key, known: Key) -> Stage {
        let (mut parent, visit) = self.edge_above(step);
        self.link(&mut parent, step.at.into(), visit, known);
        drop(parent);
        self.repository.discard(leaf);
        event.leaf = Some(known);
        Stage::Known { counts_there: false }
    }

    /// The node that has the leaf's position already. A node on the way to the leaf does not count: an edge to it would
    /// close a cycle, whose nodes are below themselves, and a node that is its own child could not be locked as both.
    fn join<const PLIES: usize>(&self, event: &Event<PLIES>, leaf: Key, position: u64, edges: usize) -> Option<Key> {
        if position == Answer::NO_KEY {
            return None;
        }
        let on_the_way = |node| event.path.iter().any(|step| step.node == node);
        self.repository.join(leaf, position, edges, |node| !on_the_way(node))
    }

    /// Links an edge to the node that its position has already. If the edge kept more of a folded child than the other
    /// node knows, it keeps that.
    fn link(&self, parent: &mut R::Node<'_>, at: usize, visit: Visit, known: Key) {
        parent.set_child(at, Some(known));
        if visit.value.is_some() {
            let mut node = self.repository.lock(known);
            if node.n() < visit.completed() {
                node.set_restoring(true);
            }
        }
    }

    /// Returns `false` if there is no room for the edges; the node can be asked for once more then.
    fn write_answer<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        leaf: Key,
        verdict: Verdict,
        policy: &[f32],
    ) -> bool {
        let mut node = self.repository.lock(leaf);
        node.set_pending(false);
        match verdict {
            Verdict::Position(value) => {
                if !node.expand(policy) {
                    return false;
                }
                node.add(1, Sums::of(value, 1));
                event.below = self.below(leaf, &node);
            }
            Verdict::Terminal(value, ending) => {
                // A leaf that there was no room for may have left visits behind.
                let n = node.n() + 1;
                node.set_ending(Some(ending));
                node.settle(n, value);
                if is_proof(ending) {
                    let bound = bound_of(value);
                    node.set_bounds(Bounds { lower: bound, upper: bound });
                }
            }
        }
        true
    }
}

fn answered(verdict: Verdict, value: Option<Value>) -> Stage {
    Stage::Answered { value, proven: matches!(verdict, Verdict::Terminal(_, ending) if is_proof(ending)) }
}
