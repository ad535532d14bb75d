//! A tree that is kept from move to move.
//!
//! What the network has said of a position stays. What belongs to the root alone is made anew when the game goes on:
//! its policy (temperature, noise, symmetries, optimism, moves that are left out), by `Search::renew_root` of the core,
//! and the utility of a score, which depends on what is expected at the root, now by the search so far; if that
//! has changed, every value in the tree is computed anew, from the leaves to the root (`Search::revalue_edge`,
//! `Search::revalue`).

use super::backup::lacks_visits;
use super::notes::At;
use super::plan::advantage;
use super::root::RootContext;
use super::{Game, Plan, Search};
use hashbrown::{HashMap, HashSet};
use oncilla_core::Move;
use oncilla_core::repository::Key;
use oncilla_core::search::NodeView;
use oncilla_core::tree::Tree;
use oncilla_go::Scoring;

impl<'m> Search<'m> {
    /// The moves from the root to the position of `game`, if the tree can be used to search it by `plan`; else `None`.
    pub(super) fn line_to(&self, game: &Game, plan: &Plan) -> Option<Vec<Move>> {
        let root = &self.context.root;
        let moves = game.moves_since(root)?;
        // In the tree such a pass has ended the game, and at the root the game goes on after it.
        let survives = plan.conservative_pass && game.rules().scoring == Scoring::Area && !game.pass_is_friendly();
        let pass_has_ended = moves.len() > 0 && survives && game.pass_would_end();
        let knows = knows_what_is_asked(&self.context.plan, plan, moves.len());
        if self.visits() == 0 || pass_has_ended || !knows {
            return None;
        }
        let mut side = root.side_to_move();
        let in_turn = moves.map(|(color, mv)| {
            let is_in_turn = color == side;
            side = !side;
            is_in_turn.then_some(Move(mv.0))
        });
        in_turn.collect()
    }

    /// Keeps what is below a line of moves from the earlier root; the new root is evaluated as `self.context` says.
    /// False if nothing is there: then all that is left has to be forgotten.
    pub(super) fn keep(&mut self, line: &[Move], before: &RootContext) -> bool {
        if self.core.advance(line) == 0 || !self.notes.advance(line, self.context.plan.correction.free) {
            return false;
        }
        self.expect_as_so_far();
        let (utility, context) = (self.context.utility, &self.context);
        let weighing = |context: &RootContext| (context.plan.params.weighing, context.plan.correction);
        // If the search goes on with the same position, and nothing has changed what values are made of, all values
        // below the root stay as they are. That is so without a dynamic part of the utility (as by GTP's
        // `dynamicScoreUtilityFactor = 0`); with one, its centre has moved after nearly every search.
        let is_valued = line.is_empty() && utility == before.utility && weighing(context) == weighing(before);
        if !is_valued {
            self.notes.revalue(|outlook| utility.of(outlook));
        }
        let (key, side) = (context.root.loose_graph_key(), context.root.side_to_move());
        let note = context.note_of(&context.raw, side, self.keeps_ownership(0));
        let value = self.context.raw_value_of(&note);
        self.notes.renew_root(key, note, context.root.ko_banned(), context.plan.correction.free);
        let moves = self.root_moves();
        let mut logits = self.logits(&self.context.raw, moves, 0);
        let moves: Vec<Move> = moves.iter().map(|mv| Move(mv.0)).collect();
        let is_renewed = self.core.renew_root(value, &moves, &mut logits).is_ok();
        if is_renewed {
            self.revalue(is_valued);
        }
        is_renewed
    }

    /// Centres the utility of scores near the mean score of the root's visits, as KataGo does.
    fn expect_as_so_far(&mut self) {
        // Without a dynamic part nothing depends on the centre.
        if self.context.plan.factors.dynamic_score == 0.0 {
            return;
        }
        if let Some((root, (at, _))) = self.tree().zip(self.notes.root()) {
            let score = self.averages(&root, at, &mut HashMap::new()).score;
            self.context.expect(score);
        }
    }

    /// Sets every value in the tree, or only those at the root, to that of its note, or to a mean of such values.
    fn revalue(&mut self, only_root: bool) {
        let mut nodes = Vec::new();
        if let Some((root, (at, _))) = self.tree().zip(self.notes.root()) {
            match only_root {
                true => nodes.push((root.key(), at, visited_moves(&root), true)),
                false => self.list_nodes(&root, at, true, &mut HashSet::new(), &mut nodes),
            }
        }
        for (node, at, moves, is_whole) in nodes {
            moves.into_iter().for_each(|mv| self.tell_edge(node, at, mv));
            if is_whole {
                self.sum_up(node, at);
            }
            self.core.revalue(node, self.context.raw_value_of(self.notes.get(at)));
        }
    }

    /// Lists each node once, with its note, the moves that lead on, and whether it has all its visits; nodes come after
    /// those below them.
    fn list_nodes(
        &self,
        node: &NodeView<'_, Tree<'m>>,
        at: At,
        is_whole: bool,
        seen: &mut HashSet<At>,
        nodes: &mut Vec<(Key, At, Vec<Move>, bool)>,
    ) {
        if !seen.insert(at) {
            return;
        }
        for edge in node.visited() {
            let below = edge.mv().and_then(|mv| self.notes.next(at, mv)).zip(edge.child());
            if let Some(((next, _), child)) = below {
                self.list_nodes(&child, next, !lacks_visits(&edge), seen, nodes);
            }
        }
        nodes.push((node.key(), at, visited_moves(node), is_whole));
    }
}

fn visited_moves(node: &NodeView<'_, Tree<'_>>) -> Vec<Move> {
    node.visited().filter_map(|edge| edge.mv()).collect()
}

/// Whether the evaluations below the root that were noted by the plan `before` are also those that the plan `now`
/// needs, `plies` plies further on.
fn knows_what_is_asked(before: &Plan, now: &Plan, plies: usize) -> bool {
    let asked = |plan: &Plan, plies| {
        let mut question = plan.question;
        let of_root = &mut question.planes.playout_doubling_advantage;
        *of_root = advantage(*of_root, plies);
        // What explores by another policy has chosen other moves to visit.
        let Plan { history, uncertainty, human_exploration, conservative_pass, .. } = *plan;
        (question, history, plan.params.policy_temperature, uncertainty, human_exploration, conservative_pass)
    };
    let all_moves = before.restrictions.is_empty() && now.restrictions.is_empty();
    all_moves && asked(before, plies) == asked(now, 0) && (before.keeps_ownership || !now.keeps_ownership)
}
