//! A search of one position: it makes the core's playouts, evaluates them in batches, and keeps notes of values for
//! which the tree has no place.

use super::backup::{AllVisited, Visited};
use super::bias::Pattern;
use super::evaluator::{Batch, Evaluator};
use super::human::Way;
use super::notes::{At, Averages, Note, Notes};
use super::root::{RootContext, RootEvaluations};
use super::utility::Outlook;
use super::{Evaluation, Game, Plan};
use crate::fault::why_refused;
use crate::memory::Memory;
use hashbrown::HashMap;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Value, Verdict};
use oncilla_core::search::{Event, Gathered, NodeView, Params, Refused};
use oncilla_core::tree::Tree;
use oncilla_go::area::taxed_area;
use oncilla_go::{Color, Ending as GameEnding, Move as GoMove, Outcome, PointSet, Symmetry};
use std::sync::Arc;
use std::time::Instant;

/// Playouts that need no evaluation are backed up at once. After this many of them for each place in the batch, the
/// batch is evaluated even if it is not full.
const KNOWN_PER_LEAF: usize = 4;

/// The result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This many playouts were made.
    Progress(u64),
    /// There is nothing more to make: no move may be searched, or [the search has to end](Search::set_deadline).
    /// Playouts that needed no evaluation may have been made before that was found.
    NothingToDo,
    /// There is no room for more, in the tree or in the notes. Playouts may have been made before it was full.
    NoRoom,
}

/// A search of one position, in memory that is lent to it.
pub struct Search<'m> {
    pub(super) core: oncilla_core::search::Search<Tree<'m>>,
    evaluator: Arc<Evaluator>,
    pub(super) context: RootContext,
    /// See [`Search::root_moves`].
    root_moves: Vec<GoMove>,
    pub(super) notes: Notes,
    batch: Batch,
    /// The time from [`Search::set_deadline`] until the batch is told it.
    deadline: Option<Instant>,
    waiting: Vec<Leaf>,
    spare: Vec<Box<Event>>,
    playouts: u64,
    /// How many of them came back aside.
    aside: u64,
    said: Vec<String>,
}

/// A playout under way.
struct Playout {
    event: Box<Event>,
    /// Whether it comes back aside: then the root does not count its visit (`human.rs`).
    aside: bool,
}

/// A playout whose position waits for its evaluation.
struct Leaf {
    playout: Playout,
    game: Arc<Game>,
    moves: Vec<GoMove>,
}

/// Where a playout has come to.
struct Arrival {
    game: Arc<Game>,
    /// Whether the whole line could be played. The moves of a node are those that were legal after the line that first
    /// led to it: after another line to the same position, superko may forbid one of them.
    fits: bool,
    /// Whether the last move is a pass that would not end the game in all cases, see [`Game::pass_is_friendly`].
    is_friendly: bool,
}

impl Arrival {
    /// Whether the game is over. A second pass is evaluated as if the game went on if it is friendly, because dead
    /// stones may still be on the board, or if `stays_open`, because a pass at the root should not end the game by
    /// mistake; unless the players have yet to agree on dead stones.
    fn has_ended(&self, stays_open: bool) -> bool {
        let is_counted = self.game.outcome() != Some(Outcome::ToBeAgreed);
        let goes_on = (self.is_friendly || stays_open) && is_counted;
        match self.game.ending() {
            None => false,
            Some(ending) => !(goes_on && ending == GameEnding::Passes),
        }
    }
}

impl<'m> Search<'m> {
    /// Evaluates the root's position, and begins a search in this memory.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn new(evaluator: Arc<Evaluator>, memory: &'m Memory, root: Arc<Game>, plan: Plan) -> Result<Self, String> {
        let (mut batch, plan) = (Batch::default(), plan.seen_from(&root));
        let mut evaluations = RootEvaluations::of(&evaluator, &mut batch, &root, &plan)?;
        let said = std::mem::take(&mut evaluations.said);
        let mut search = Self {
            core: oncilla_core::search::Search::new(memory.lend(), plan.params),
            evaluator,
            context: RootContext::new(root, plan, evaluations),
            root_moves: Vec::new(),
            notes: Notes::default(),
            batch,
            deadline: None,
            waiting: Vec::new(),
            spare: Vec::new(),
            playouts: 0,
            aside: 0,
            said,
        };
        search.prepare_root();
        Ok(search)
    }

    /// Turns to another position, or to the same one with another plan. The part of the tree that can be used for it is
    /// kept (`reuse.rs`), and playouts are counted from 0 again.
    ///
    /// # Errors
    /// Like [`Evaluator::run`]. Then nothing has changed.
    pub fn turn_to(&mut self, root: Arc<Game>, plan: Plan) -> Result<(), String> {
        let plan = plan.seen_from(&root);
        let line = self.line_to(&root, &plan);
        if root.size() != self.context.root.size() {
            self.batch = Batch::default();
        }
        let mut evaluations = RootEvaluations::of(&self.evaluator, &mut self.batch, &root, &plan)?;
        self.said.append(&mut evaluations.said);
        let before = std::mem::replace(&mut self.context, RootContext::new(root, plan, evaluations));
        (self.playouts, self.aside) = (0, 0);
        self.prepare_root();
        let by_network = self.context.utility;
        if !line.is_some_and(|line| self.keep(&line, &before)) {
            self.core.clear();
            self.notes = Notes::default();
            self.context.utility = by_network;
        }
        Ok(())
    }

    /// Makes what depends on nothing but the root's position and the plan.
    fn prepare_root(&mut self) {
        let (root, mut moves) = (Arc::clone(&self.context.root), std::mem::take(&mut self.root_moves));
        self.list_moves(&root, 0, &root.ko_banned(), &mut moves);
        self.root_moves = moves;
        self.core.set_params(Params { root_policy_sum: self.root_policy_sum(), ..self.context.plan.params });
    }

    /// The moves of the root that may be searched, in the order of its edges.
    pub fn root_moves(&self) -> &[GoMove] {
        &self.root_moves
    }

    /// The sum of the flattened priors of the root's moves that may be searched, where the priors before flattening are
    /// normalised over all moves.
    fn root_policy_sum(&self) -> f32 {
        let RootContext { plan, priors, .. } = &self.context;
        let power = 1.0 / f64::from(plan.root_flattening);
        self.root_moves().iter().map(|mv| priors[mv.index()].powf(power)).sum::<f64>() as f32
    }

    /// Sets the time at which the search has to end, even if a device has not finished a batch; but the root gets a
    /// visit in any case. So a device that hangs costs a move no more than its time.
    pub fn set_deadline(&mut self, time: Option<Instant>) {
        self.deadline = time;
        self.batch.set_deadline(None);
    }

    /// The lines for a person that have come up since the last call.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// The network's prior of a move of the root, as `rootPolicyTemperature` changes it. The tree's own prior also
    /// includes the search's treatment of mirror images and of moves that are not searched.
    pub fn prior(&self, mv: GoMove) -> f64 {
        self.context.priors[mv.index()]
    }

    /// The network's evaluation of the root's position.
    pub fn raw(&self) -> &Evaluation {
        &self.context.raw
    }

    /// What the network for human play beside the main one says of the root's position, if there is such a network and
    /// a profile.
    pub fn human(&self) -> Option<&Evaluation> {
        self.context.human.as_deref()
    }

    /// The root's position.
    pub fn root(&self) -> &Game {
        &self.context.root
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.context.plan
    }

    /// The utility for White of a move of the root in addition to that of the position after it, if that has these
    /// averages.
    pub fn bonus(&self, mv: GoMove, averages: &Averages) -> f64 {
        let [score, stdev] = [averages.score, averages.score_stdev()].map(|points| points as f32);
        self.context.bonus(mv, &Outlook { score, stdev, ..Outlook::default() })
    }

    /// The notes.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Visits of the root.
    pub fn visits(&self) -> u64 {
        self.core.visits().into()
    }

    /// Playouts so far.
    pub fn playouts(&self) -> u64 {
        self.playouts
    }

    /// Playouts so far, with those that wait for the batch.
    pub(super) fn gathered(&self) -> u64 {
        self.playouts + self.waiting.len() as u64
    }

    /// What counts towards a limit of visits: those of the root, and the playouts that it has not counted.
    pub fn spent(&self) -> u64 {
        self.visits() + self.aside
    }

    /// The root of the tree.
    pub fn tree(&self) -> Option<NodeView<'_, Tree<'m>>> {
        self.core.root()
    }

    /// The mean utility of the root's visits for the side to move.
    pub fn utility(&self) -> f64 {
        self.notes.root().map_or(0.0, |(at, note)| self.sign(at) * f64::from(note.passed.utility))
    }

    /// Runs one batch of at most `most` playouts.
    ///
    /// # Errors
    /// In one line: the backend fails before [the search has to end](Self::set_deadline), or the memory is too small
    /// for the root's moves. The playouts that wait for the batch are taken back; those that needed no evaluation stay.
    pub fn step(&mut self, most: u64) -> Result<Step, String> {
        if self.notes.bytes() >= self.context.plan.notes_bytes && self.core.visits() > 0 {
            return Ok(Step::NoRoom);
        }
        if self.visits() > 0 && self.deadline.is_some() {
            self.batch.set_deadline(self.deadline.take());
        }
        let before = self.playouts;
        let ended = self.gather(most);
        let evaluated = self.evaluator.run(&mut self.batch);
        let (evaluations, said) = match evaluated {
            Ok(evaluated) => evaluated,
            Err(fault) => {
                for mut leaf in self.waiting.drain(..) {
                    self.core.cancel(&mut leaf.playout.event);
                }
                if self.batch.is_late() {
                    self.said.push(fault);
                    return Ok(Step::NothingToDo);
                }
                return Err(fault);
            }
        };
        self.said.extend(said);
        let mut refused = None;
        for (mut leaf, evaluation) in std::mem::take(&mut self.waiting).into_iter().zip(evaluations) {
            if let Err(why) = self.answer(&mut leaf.playout, &leaf.game, &leaf.moves, &evaluation) {
                refused = Some(why);
            }
            self.spare.push(leaf.playout.event);
        }
        match (ended, refused) {
            (_, Some(Refused::NoRoom)) if self.core.visits() == 0 => Err(why_refused(Refused::NoRoom)),
            (Ended::Full, _) if self.core.recycle() == 0 => Ok(Step::NoRoom),
            (Ended::NoMoves | Ended::Gathered, Some(Refused::NoRoom)) if self.playouts == before => Ok(Step::NoRoom),
            (Ended::NoMoves | Ended::Gathered, _) if self.playouts == before => Ok(Step::NothingToDo),
            _ => Ok(Step::Progress(self.playouts - before)),
        }
    }

    /// Gathers playouts until the batch is full. Those that wait for an evaluation are put into `self.waiting`, in the
    /// order of the batch.
    fn gather(&mut self, most: u64) -> Ended {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let batch = self.context.plan.batch.clamp(1, most);
        let (mut known, mut collided) = (0, Vec::new());
        let mut ended = Ended::Gathered;
        while self.waiting.len() < batch && self.waiting.len() + known < most && known < KNOWN_PER_LEAF * batch {
            let mut playout = Playout { event: self.spare.pop().unwrap_or_default(), aside: false };
            match self.take_down_to_leaf(&mut playout) {
                Gathered::Leaf => {
                    if let Some(event) = self.look_at(playout) {
                        self.spare.push(event);
                        known += 1;
                    }
                    continue;
                }
                Gathered::Known => {
                    known += 1;
                    self.bring_back(&mut playout);
                }
                Gathered::Collision => {
                    collided.push(playout.event);
                    // Further playouts would collide, too.
                    if collided.len() >= batch {
                        break;
                    }
                    continue;
                }
                Gathered::Full => ended = Ended::Full,
                Gathered::NoMoves => ended = Ended::NoMoves,
            }
            self.spare.push(playout.event);
            if ended != Ended::Gathered {
                break;
            }
        }
        for mut event in collided {
            self.core.cancel(&mut event);
            self.spare.push(event);
        }
        ended
    }

    /// Takes one playout from the root to a leaf. If it is the turn of a move that a player of the profile would look
    /// at, the playout begins with that move.
    fn take_down_to_leaf(&mut self, Playout { event, aside }: &mut Playout) -> Gathered {
        let Some((way, first)) = self.human_choice() else { return self.core.gather(event) };
        *aside = way == Way::Weightless;
        self.core.set_root_moves([first]);
        let met = if *aside { self.core.gather_aside(event) } else { self.core.gather(event) };
        self.core.set_root_moves([]);
        met
    }

    /// Answers a leaf and returns its event if that needs no evaluation; otherwise puts the leaf into the batch.
    fn look_at(&mut self, mut playout: Playout) -> Option<Box<Event>> {
        let arrival = self.arrive(&mut playout.event);
        match self.answer_at_once(&mut playout, &arrival) {
            Ok(None) => Some(playout.event),
            Ok(Some(moves)) => {
                self.waiting.push(Leaf { playout, game: arrival.game, moves });
                None
            }
            // Then the playout was taken back.
            Err(_) => Some(playout.event),
        }
    }

    /// Plays the line to a leaf, and names its last move.
    fn arrive(&self, event: &mut Event) -> Arrival {
        let mut game = Arc::new(Game::clone(&self.context.root));
        // There is no other reference to it yet, so nothing is copied.
        let played = Arc::make_mut(&mut game);
        let line: Vec<Move> = event.moves().collect();
        let mut is_friendly = false;
        let mut play = |game: &mut Game, mv| {
            is_friendly = mv == game.size().pass() && game.pass_is_friendly();
            game.play_tolerantly(game.side_to_move(), mv).is_ok()
        };
        let mut fits = line.iter().all(|mv| play(played, GoMove(mv.0)));
        if let Some(index) = event.unnamed() {
            let mut moves = Vec::new();
            self.list_moves(played, line.len(), &self.notes.banned(&line), &mut moves);
            if let Some(&mv) = moves.get(index) {
                event.name(Move(mv.0));
                fits = fits && play(played, mv);
            }
        }
        Arrival { game, fits, is_friendly }
    }

    /// Answers a leaf that needs no evaluation by the batch; otherwise puts its position into the batch and returns its
    /// moves.
    fn answer_at_once(&mut self, playout: &mut Playout, arrival: &Arrival) -> Result<Option<Vec<GoMove>>, Refused> {
        let Arrival { ref game, fits, .. } = *arrival;
        let (key, plies) = (game.loose_graph_key(), playout.event.plies());
        if !fits {
            // The line stopped at another position, which must have another key.
            return self.answer_end(playout, game, !key).map(|()| None);
        }
        let has_ended = plies > 0 && arrival.has_ended(self.context.plan.conservative_pass && plies == 1);
        // As long as the players have not agreed which stones are dead, the best estimate is the network's.
        if has_ended && game.outcome() != Some(Outcome::ToBeAgreed) {
            return self.answer_end(playout, game, key).map(|()| None);
        }
        let mut moves = Vec::new();
        if !has_ended {
            self.list_moves(game, plies, &game.ko_banned(), &mut moves);
        }
        if self.core.settle_transposition(&mut playout.event, key, moves.len())? {
            self.record(&playout.event, key, game, None);
            self.bring_back(playout);
            return Ok(None);
        }
        let known = match plies {
            0 => Some(Arc::clone(&self.context.raw)),
            depth => self.evaluator.push(&mut self.batch, game, &self.context.plan.question_at(depth)),
        };
        match known {
            Some(evaluation) => self.answer(playout, game, &moves, &evaluation).map(|()| None),
            None => Ok(Some(moves)),
        }
    }

    /// Lists the moves that may be searched in a position in which ko forbids the points `banned`, in the order of the
    /// node's edges.
    fn list_moves(&self, game: &Game, depth: usize, banned: &PointSet, moves: &mut Vec<GoMove>) {
        let (size, side, suicide) = (game.size(), game.side_to_move(), game.rules().suicide);
        let legal = |mv: &GoMove| game.board().is_legal(side, *mv, suicide) && !banned.contains(*mv);
        let allowed = |mv: &GoMove| self.context.plan.restrictions.allows(side, depth, *mv);
        let of_root = |mv: &GoMove| !self.context.leaves_out(*mv);
        moves.clear();
        let all = size.points().chain([size.pass()]);
        moves.extend(all.filter(|mv| legal(mv) && allowed(mv) && (depth > 0 || of_root(mv))));
    }

    /// One symmetry for each move of the root that is not searched because `mv` stands for it; the symmetry turns `mv`
    /// into that move.
    pub fn stands_for(&self, mv: GoMove) -> Vec<Symmetry> {
        self.context.stands_for(mv)
    }

    /// Whether an answer may name a move of the root that was not searched.
    pub fn names(&self, mv: GoMove) -> bool {
        self.context.names(mv)
    }

    fn answer(
        &mut self,
        playout: &mut Playout,
        game: &Game,
        moves: &[GoMove],
        evaluation: &Evaluation,
    ) -> Result<(), Refused> {
        let key = game.loose_graph_key();
        self.record(&playout.event, key, game, Some(evaluation));
        self.notes.ban(key, game.ko_banned());
        let value = self.value_of(key);
        // If no move may be searched, the network's evaluation is final.
        let verdict = if moves.is_empty() { Verdict::scored(value) } else { Verdict::Position(value) };
        let mut logits = self.logits(evaluation, moves, playout.event.plies());
        self.enter(playout, &Answer { key, verdict }, &mut logits)
    }

    /// Writes an answer into the tree, and backs it up.
    fn enter(&mut self, playout: &mut Playout, answer: &Answer, logits: &mut [f32]) -> Result<(), Refused> {
        self.core.settle(&mut playout.event, answer, logits)?;
        self.bring_back(playout);
        Ok(())
    }

    /// Backs up the value of a playout's leaf along its line, and counts the playout.
    fn bring_back(&mut self, Playout { event, aside }: &mut Playout) {
        self.playouts += 1;
        let line: Vec<Move> = event.moves().collect();
        if *aside {
            self.core.bring_back_aside(std::slice::from_mut(event));
            self.aside += 1;
        } else {
            self.core.bring_back(std::slice::from_mut(event));
        }
        self.back_up(&line, *aside);
    }

    /// The logits of the moves of a position `plies` plies below the root.
    pub(super) fn logits(&self, evaluation: &Evaluation, moves: &[GoMove], plies: usize) -> Vec<f32> {
        let plan = &self.context.plan;
        let temperature = if plies == 0 { plan.root_temperature * plan.root_flattening } else { 1.0 };
        let logit = |mv: &GoMove| evaluation.policy[mv.index()].max(f32::MIN_POSITIVE).ln() / temperature;
        moves.iter().map(logit).collect()
    }

    /// Answers an event whose game is over or can't go on. The tree does not take the result for proven, because the
    /// score counts as well as who has won.
    fn answer_end(&mut self, playout: &mut Playout, game: &Game, key: u64) -> Result<(), Refused> {
        let event = &playout.event;
        let lead = match game.outcome() {
            Some(Outcome::WhiteLead(lead)) => Some(lead),
            Some(Outcome::NoResult | Outcome::ToBeAgreed) | None => None,
        };
        let rules = game.rules();
        let outlook = Outlook::of_end(lead, rules.may_draw(), self.context.plan.question.planes.draw_wins);
        let utility = self.context.utility;
        let weight = self.context.uncertainty().map_or(1.0, |uncertainty| uncertainty.most);
        let keeps = self.keeps_ownership(event.plies());
        self.notes.record(event.moves(), key, || {
            let area = taxed_area(game.board(), rules.suicide, rules.tax);
            Note::of_end(
                game.side_to_move(),
                outlook,
                |point| area.owner(point),
                game.size(),
                |outlook| utility.of(outlook),
                keeps,
            )
            .weighing(weight)
        });
        let value = self.value_of(key);
        self.enter(playout, &Answer { key, verdict: Verdict::scored(value) }, &mut [])
    }

    /// Notes the position at the end of an event's line. `known` is not needed if the position has a note already.
    fn record(&mut self, event: &Event, key: u64, game: &Game, known: Option<&Evaluation>) {
        let keeps = self.keeps_ownership(event.plies());
        let correction = self.context.plan.correction;
        let is_new = self.notes.find(key).is_none();
        self.notes.record(event.moves(), key, || match known {
            Some(evaluation) => self.context.note_of(evaluation, game.side_to_move(), keeps),
            None => Note { white_to_move: game.side_to_move() == Color::White, ..Note::default() }.weighing(1.0),
        });
        if is_new
            && event.plies() > 0
            && !correction.is_off()
            && let Some(pattern) = Pattern::of_last(game)
        {
            self.notes.belongs_to(key, &pattern, &correction);
        }
    }

    /// Whether the ownership of a position `plies` plies below the root is noted. That of the root's moves always is,
    /// because answers contain it.
    pub(super) fn keeps_ownership(&self, plies: usize) -> bool {
        self.context.plan.keeps_ownership && (plies <= 1 || self.notes.bytes() < self.context.plan.notes_bytes / 2)
    }

    /// The tree's value for the network's evaluation of the position with this key.
    fn value_of(&self, key: u64) -> Value {
        self.context.raw_value_of(self.notes.find(key).unwrap_or(&Note::default()))
    }

    /// The averages over the visits of a node, weighted as the plan says. `known` has the averages of nodes that were
    /// computed before.
    pub fn averages(&self, node: &NodeView<'_, Tree<'m>>, at: At, known: &mut HashMap<At, Averages>) -> Averages {
        if let Some(known) = known.get(&at) {
            return *known;
        }
        // If the game has ended here, all visits are the node's own.
        let own = if node.is_expanded() { 1 } else { node.n() };
        let own = self.notes.get(at).averages().times(own);
        let AllVisited { moves, weight: of_moves } = self.all_visited(node, at);
        let mut all = own;
        for (Visited { edge, next, .. }, weight) in moves {
            // If the child was folded, only its own note is left.
            let folded = || self.notes.get(next).averages().times(edge.completed());
            let below = edge.child().map_or_else(folded, |child| self.averages(&child, next, known));
            all = all.plus(&below, weight);
        }
        all.weight = own.weight + of_moves;
        known.insert(at, all);
        all
    }
}

/// Why gathering ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Gathered,
    Full,
    NoMoves,
}
