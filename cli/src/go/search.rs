//! A search of one position: the core's playouts, evaluated in batches, with notes of what the tree has no place for.

use super::backup::{AllVisited, Visited};
use super::bias::{Correction, Pattern};
use super::evaluator::{Batch, Evaluator, Question};
use super::human::HumanExploration;
use super::notes::{At, Averages, Note, Notes, Owned, Passed};
use super::uncertainty::Uncertainty;
use super::utility::{Factors, Outlook, Utility};
use super::{Evaluation, Game, ending};
use crate::engine::{Memory, why_refused};
use hashbrown::HashMap;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Ending, Value, Verdict};
use oncilla_core::search::{Event, Gathered, NodeView, Params, Refused};
use oncilla_core::tree::Tree;
use oncilla_go::area::taxed_area;
use oncilla_go::planes::{self, HISTORY};
use oncilla_go::{Color, Ending as GameEnding, Move as GoMove, Outcome, PointSet, Symmetry};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Which moves may be searched: called with the player, the number of plies below the root, and the move.
pub type Allowed = Arc<dyn Fn(Color, usize, GoMove) -> bool + Send + Sync>;

/// Moves that the network is shown with a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The moves of the game, and of the search.
    All,
    /// Only the moves of the search (`ignorePreRootHistory`).
    BelowRoot,
    /// No moves (`ignoreAllHistory`).
    Nothing,
}

/// How a position is searched.
#[derive(Clone)]
pub struct Plan {
    /// The core's parameters, for values between −1 and 1: see [`Plan::scaled`].
    pub params: Params,
    /// What a result and a score are worth.
    pub factors: Factors,
    /// How far what the network says is corrected by what searches found out about the same move elsewhere.
    pub correction: Correction,
    /// How much what it says counts, by how unsure it is; `None`: all of it counts one, as it does where the network
    /// does not say.
    pub uncertainty: Option<Uncertainty>,
    /// How the network is asked below the root; its history is set for each position.
    pub question: Question,
    /// Whose the advantage is that the question speaks of, if it is not the side's that is to move at the root
    /// (`playoutDoublingAdvantagePla`).
    pub advantage_of: Option<Color>,
    /// How far the policy of the root's position is the optimistic one (`rootPolicyOptimism`).
    pub root_optimism: f32,
    /// The network for human play that is asked about the root beside the search, if the question has a profile.
    pub human: Option<Arc<Evaluator>>,
    /// How the search explores the root's moves by that network's policy; `None`: not at all.
    pub human_exploration: Option<HumanExploration>,
    /// Which moves the network is to know.
    pub history: Seen,
    /// Whether the root's position is taken for one that goes on after a pass (`conservativePass`).
    pub conservative_pass: bool,
    /// Symmetries that the root's position is looked at through, from 1 to 8 (`rootNumSymmetriesToSample`).
    pub root_symmetries: usize,
    /// Divides the logits of the root's moves.
    pub root_temperature: f32,
    /// Divides the logits of the root's moves once more; the priors are not normalised after that, but keep the sum
    /// that they then have (`wideRootNoise`).
    pub root_flattening: f32,
    /// Whether of root moves that are mirror images of each other one alone is searched (`rootSymmetryPruning`).
    pub prunes_symmetric: bool,
    /// Points that a move of the root costs where everything is settled (`rootEndingBonusPoints`).
    pub ending_bonus: f64,
    /// Whether moves are left out where the opponent has passed again and again, and all is alive
    /// (`rootPruneUselessMoves`).
    pub prunes_useless: bool,
    /// Whether ownership will be asked for.
    pub keeps_ownership: bool,
    /// Bytes that notes may take beside the tree. Half of them for ownership, too: beyond that it is what was found
    /// before.
    pub notes_bytes: usize,
    /// Positions that are evaluated together at most.
    pub batch: usize,
    /// `None`: all moves.
    pub allowed: Option<Allowed>,
}

impl Plan {
    /// Exploration and first play urgency that are meant for utilities, for values between −1 and 1.
    pub fn scaled(mut params: Params, factors: &Factors) -> Params {
        use oncilla_core::search::Fpu;
        let most = factors.most() as f32;
        for cpuct in [&mut params.cpuct].into_iter().chain(&mut params.cpuct_at_root) {
            cpuct.init /= most;
            cpuct.factor /= most;
        }
        for fpu in [&mut params.fpu].into_iter().chain(&mut params.fpu_at_root) {
            let (Fpu::Reduction(value) | Fpu::Absolute(value)) = fpu;
            *value /= most;
        }
        params.weighing.prune_scale /= most;
        params.weighing.unit /= most;
        if let Some(deviation) = &mut params.deviation {
            deviation.usual /= most;
        }
        params
    }

    /// The plan as seen by the side to move in that position.
    fn seen_from(mut self, root: &Game) -> Self {
        let of_root = &mut self.question.planes.playout_doubling_advantage;
        let is_the_opponents = self.advantage_of.take().is_some_and(|side| side != root.side_to_move());
        *of_root = advantage(*of_root, usize::from(is_the_opponents));
        self
    }
}

/// Playouts that end without the network are brought back at once; after this many for each one in the batch it is
/// evaluated even if it is not full.
const KNOWN_PER_LEAF: usize = 4;

/// The result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many playouts.
    Progress(u64),
    /// No move may be searched.
    NothingToDo,
    /// There is no room for more, in the tree or beside it.
    NoRoom,
}

/// A search under way, in memory that is lent to it.
pub struct Search<'m> {
    pub(super) core: oncilla_core::search::Search<Tree<'m>>,
    evaluator: Arc<Evaluator>,
    pub(super) about: About,
    pub(super) notes: Notes,
    batch: Batch,
    /// Not yet known to the batch.
    leave_at: Option<Instant>,
    waiting: Vec<Leaf>,
    spare: Vec<Box<Event>>,
    playouts: u64,
    said: Vec<String>,
}

/// What is searched, and everything that follows from that.
pub(super) struct About {
    pub(super) root: Arc<Game>,
    pub(super) plan: Plan,
    pub(super) raw: Arc<Evaluation>,
    /// What the network for human play says of the root's position, for the side to move.
    pub(super) human: Option<Arc<Evaluation>>,
    pub(super) utility: Utility,
    /// The symmetries that leave the root's position unchanged.
    symmetries: Vec<Symmetry>,
    /// See [`ending::costs`].
    costs: Vec<f32>,
    /// See [`ending::useless`].
    useless: PointSet,
}

impl About {
    /// A plan for a root's position, of which the networks say this.
    fn new(root: Arc<Game>, plan: Plan, word: Word) -> Self {
        let Word { raw, expected, human, .. } = word;
        let sign = if root.side_to_move() == Color::White { 1.0 } else { -1.0 };
        let utility = Utility::new(plan.factors, root.size().area(), sign * f64::from(expected));
        let symmetries = symmetries(&root, &plan);
        let costs = ending::costs(&root, &raw, plan.ending_bonus as f32);
        let useless = if plan.prunes_useless { ending::useless(&root) } else { PointSet::EMPTY };
        Self { root, plan, raw, human, utility, symmetries, costs, useless }
    }

    /// What a move of the root is worth to White besides the position after it, if that has this outlook.
    pub(super) fn bonus(&self, mv: GoMove, outlook: &Outlook) -> f64 {
        let cost = f64::from(self.costs[mv.index()]);
        match self.root.side_to_move() {
            _ if cost == 0.0 => 0.0,
            Color::White => self.utility.of_more(outlook, -cost),
            Color::Black => self.utility.of_more(outlook, cost),
        }
    }

    /// How uncertainty is weighed, if networks report it and it should count.
    fn uncertainty(&self) -> Option<&Uncertainty> {
        self.plan.uncertainty.as_ref().filter(|_| self.raw.errors.is_some())
    }

    /// The note of a position of which the network says this.
    pub(super) fn note_of(&self, evaluation: &Evaluation, side: Color, keeps_ownership: bool) -> Note {
        let note = Note::of(evaluation, side, |outlook| self.utility.of(outlook), keeps_ownership);
        let uncertainty = self.plan.uncertainty.as_ref();
        let weight = uncertainty.and_then(|unsure| unsure.weight(evaluation, &note.outlook, &self.utility));
        note.weighing(weight.unwrap_or(1.0))
    }

    /// What visits come to, as the tree wants it for the side to move: a utility, and what makes the deviation of
    /// outcomes that of utilities ([`Deviation`](oncilla_core::search::Deviation)).
    pub(super) fn value_of(&self, passed: Passed, white_to_move: bool) -> Value {
        let most = self.plan.factors.most();
        let utility = f64::from(passed.utility) / most;
        let own = if white_to_move { utility } else { -utility };
        let d = (1.0 - f64::from(passed.square) / (most * most)) as f32;
        Value { wl: own as f32, d, m: passed.weight * Value::WEIGHT_ONE }
    }

    /// What the network said of a position, as the tree wants it.
    pub(super) fn raw_value_of(&self, note: &Note) -> Value {
        self.value_of(Passed::of_one(note.raw_utility.into(), note.own_weight), note.white_to_move)
    }
}

/// An event whose position waits for the network.
struct Leaf {
    event: Box<Event>,
    game: Arc<Game>,
    moves: Vec<GoMove>,
}

impl<'m> Search<'m> {
    /// Asks the network about the root's position, and begins a search in this memory.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn new(evaluator: Arc<Evaluator>, memory: &'m Memory, root: Arc<Game>, plan: Plan) -> Result<Self, String> {
        let (mut batch, plan) = (Batch::default(), plan.seen_from(&root));
        let mut word = Word::of(&evaluator, &mut batch, &root, &plan)?;
        let said = std::mem::take(&mut word.said);
        let mut search = Self {
            core: oncilla_core::search::Search::new(memory.lend(), plan.params),
            evaluator,
            about: About::new(root, plan, word),
            notes: Notes::default(),
            batch,
            leave_at: None,
            waiting: Vec::new(),
            spare: Vec::new(),
            playouts: 0,
            said,
        };
        search.set_params();
        Ok(search)
    }

    /// It is about another position from now on, or the same one in another way. What it knows of it already stays
    /// (`reuse.rs`); playouts are counted anew.
    ///
    /// # Errors
    /// Like [`Evaluator::run`]. Then nothing has changed.
    pub fn turn_to(&mut self, root: Arc<Game>, plan: Plan) -> Result<(), String> {
        let plan = plan.seen_from(&root);
        let line = self.line_to(&root, &plan);
        if root.size() != self.about.root.size() {
            self.batch = Batch::default();
        }
        let mut word = Word::of(&self.evaluator, &mut self.batch, &root, &plan)?;
        self.said.append(&mut word.said);
        let before = std::mem::replace(&mut self.about, About::new(root, plan, word));
        self.playouts = 0;
        self.set_params();
        if !line.is_some_and(|line| self.keep(&line, &before)) {
            self.core.clear();
            self.notes = Notes::default();
        }
        Ok(())
    }

    fn set_params(&mut self) {
        self.core.set_params(Params { root_policy_sum: self.root_policy_sum(), ..self.about.plan.params });
    }

    /// The moves of the root that may be searched, in the order of its edges.
    pub fn root_moves(&self) -> Vec<GoMove> {
        let (root, mut moves) = (&self.about.root, Vec::new());
        self.list_moves(root, 0, &root.ko_banned(), &mut moves);
        moves
    }

    /// What the priors of the root's moves sum to, each of them as it would be among all moves.
    fn root_policy_sum(&self) -> f32 {
        let About { plan, raw, .. } = &self.about;
        let tempered = |p: f32| p.max(0.0).powf(1.0 / plan.root_temperature);
        let all: f32 = raw.policy.iter().copied().map(tempered).sum();
        let prior = |mv: &GoMove| tempered(raw.policy[mv.index()]) / all;
        self.root_moves().iter().map(|mv| prior(mv).powf(1.0 / plan.root_flattening)).sum()
    }

    /// When the search has to end, whatever a device is at, as soon as the root has a visit: one that hangs costs a
    /// move no more than its time.
    pub fn leave_at(&mut self, time: Option<Instant>) {
        self.leave_at = time;
        self.batch.leave_at(None);
    }

    /// Lines for a person since they were last asked for.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// What the network says of the root's position.
    pub fn raw(&self) -> &Evaluation {
        &self.about.raw
    }

    /// What the network for human play beside the main one says of the root's position, if there is such a network and
    /// a profile.
    pub fn human(&self) -> Option<&Evaluation> {
        self.about.human.as_deref()
    }

    /// The root's position.
    pub fn root(&self) -> &Game {
        &self.about.root
    }

    /// How it searches.
    pub fn plan(&self) -> &Plan {
        &self.about.plan
    }

    /// What a move of the root is worth to White besides the position after it, if that has these means.
    pub fn bonus(&self, mv: GoMove, averages: &Averages) -> f64 {
        let [score, stdev] = [averages.score, averages.score_stdev()].map(|points| points as f32);
        self.about.bonus(mv, &Outlook { score, stdev, ..Outlook::default() })
    }

    /// What is known besides the tree.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Visits of the root.
    pub fn visits(&self) -> u64 {
        self.core.nodes().into()
    }

    /// Playouts so far.
    pub fn playouts(&self) -> u64 {
        self.playouts
    }

    /// The root of the tree.
    pub fn tree(&self) -> Option<NodeView<'_, Tree<'m>>> {
        self.core.root()
    }

    /// What the root's visits come to: its utility for the side to move.
    pub fn utility(&self) -> f64 {
        self.notes.root().map_or(0.0, |(at, note)| self.sign(at) * f64::from(note.passed.utility))
    }

    /// Runs one batch of at most `most` playouts.
    ///
    /// # Errors
    /// In one line: the backend fails, but not [when the search has to end](Self::leave_at); or the memory is too small
    /// for the root's moves. What was gathered is undone.
    pub fn step(&mut self, most: u64) -> Result<Step, String> {
        if self.notes.bytes() >= self.about.plan.notes_bytes && self.core.nodes() > 0 {
            return Ok(Step::NoRoom);
        }
        if self.visits() > 0 && self.leave_at.is_some() {
            self.batch.leave_at(self.leave_at.take());
        }
        let before = self.playouts;
        let ended = self.gather(most);
        let evaluated = self.evaluator.run(&mut self.batch);
        let (evaluations, said) = match evaluated {
            Ok(evaluated) => evaluated,
            Err(fault) => {
                for mut leaf in self.waiting.drain(..) {
                    self.core.cancel(&mut leaf.event);
                    self.playouts -= 1;
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
            if let Err(why) = self.answer(&mut leaf.event, &leaf.game, &leaf.moves, &evaluation) {
                self.playouts -= 1;
                refused = Some(why);
            }
            self.spare.push(leaf.event);
        }
        match (ended, refused) {
            (_, Some(Refused::NoRoom)) if self.core.nodes() == 0 => Err(why_refused(Refused::NoRoom)),
            (Ended::Full, _) if self.core.recycle() == 0 => Ok(Step::NoRoom),
            (Ended::NoMoves | Ended::Gathered, Some(Refused::NoRoom)) if self.playouts == before => Ok(Step::NoRoom),
            (Ended::NoMoves | Ended::Gathered, _) if self.playouts == before => Ok(Step::NothingToDo),
            _ => Ok(Step::Progress(self.playouts - before)),
        }
    }

    /// Takes playouts down until the batch is full. Those that wait for the network are in `self.waiting`, in the order
    /// of the batch.
    fn gather(&mut self, most: u64) -> Ended {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let batch = self.about.plan.batch.clamp(1, most);
        let (mut known, mut collided) = (0, Vec::new());
        let mut ended = Ended::Gathered;
        while self.waiting.len() < batch && self.waiting.len() + known < most && known < KNOWN_PER_LEAF * batch {
            let mut event = self.spare.pop().unwrap_or_default();
            match self.take_down_to_leaf(&mut event) {
                Gathered::Leaf => {
                    self.playouts += 1;
                    if let Some(event) = self.look_at(event) {
                        self.spare.push(event);
                        known += 1;
                    }
                    continue;
                }
                Gathered::Known => {
                    self.playouts += 1;
                    known += 1;
                    self.bring_back(&mut event);
                }
                Gathered::Collision => {
                    collided.push(event);
                    // The next ones would end there, too.
                    if collided.len() >= batch {
                        break;
                    }
                    continue;
                }
                Gathered::Full => ended = Ended::Full,
                Gathered::NoMoves => ended = Ended::NoMoves,
            }
            self.spare.push(event);
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

    /// Takes one playout from the root to a leaf, beginning with the move that a player of the profile would look at if
    /// it is the turn of such a move.
    fn take_down_to_leaf(&mut self, event: &mut Event) -> Gathered {
        let Some(first) = self.human_choice() else { return self.core.gather(event) };
        self.core.set_root_moves([first]);
        let met = self.core.gather(event);
        self.core.set_root_moves([]);
        met
    }

    /// Answers a leaf, if that takes no evaluation, and gives the event back; else puts it into the batch.
    fn look_at(&mut self, mut event: Box<Event>) -> Option<Box<Event>> {
        let (mut played, mut moves) = (Arc::new(Game::clone(&self.about.root)), Vec::new());
        // Nobody else has it yet.
        let game = Arc::make_mut(&mut played);
        let line: Vec<Move> = event.moves().collect();
        // If lines of moves have come together, superko may forbid one of them what it allows the other after that
        // point. The moves of a node are those of the line that came there first.
        let mut is_friendly = false;
        let mut play = |game: &mut Game, mv| {
            is_friendly = mv == game.size().pass() && game.pass_is_friendly();
            game.play_tolerantly(game.side_to_move(), mv).is_ok()
        };
        let mut fits = line.iter().all(|mv| play(game, GoMove(mv.0)));
        if let Some(index) = event.unnamed() {
            self.list_moves(game, line.len(), &self.notes.banned(&line), &mut moves);
            if let Some(&mv) = moves.get(index) {
                event.name(Move(mv.0));
                fits = fits && play(game, mv);
            }
        }
        let game = played;
        // What counts is what the stones are worth if somebody plays on: either because dead ones may still be on the
        // board, or because the root should not end the game by mistake.
        let is_open = is_friendly || self.about.plan.conservative_pass && event.plies() == 1;
        // As long as nobody has agreed which stones are dead, the network's word is the best there is.
        let is_counted = game.outcome() != Some(Outcome::ToBeAgreed);
        let goes_on = is_open && is_counted && game.ending() == Some(GameEnding::Passes);
        let has_ended = event.plies() > 0 && game.ending().is_some() && !goes_on;
        if !fits || has_ended && is_counted {
            // A line that is too long for a game stopped at another position.
            let key = if fits { game.graph_key() } else { !game.graph_key() };
            if self.answer_end(&mut event, &game, key).is_err() {
                self.playouts -= 1;
            }
            return Some(event);
        }
        let banned = game.ko_banned();
        moves.clear();
        if !has_ended {
            self.list_moves(&game, event.plies(), &banned, &mut moves);
        }
        let key = game.graph_key();
        match self.core.settle_transposition(&mut *event, key, moves.len()) {
            Ok(true) => {
                self.take_down(&event, key, &game, None);
                self.bring_back(&mut event);
                return Some(event);
            }
            Ok(false) => {}
            Err(_) => {
                self.playouts -= 1;
                return Some(event);
            }
        }
        let known = match event.plies() {
            0 => Some(Arc::clone(&self.about.raw)),
            depth => self.evaluator.push(&mut self.batch, &game, &question(&self.about.plan, depth)),
        };
        match known {
            Some(evaluation) => {
                if self.answer(&mut event, &game, &moves, &evaluation).is_err() {
                    self.playouts -= 1;
                }
                Some(event)
            }
            None => {
                self.waiting.push(Leaf { event, game, moves });
                None
            }
        }
    }

    /// The moves that may be searched in a position where ko forbids these points, in the order of its edges.
    fn list_moves(&self, game: &Game, depth: usize, banned: &PointSet, moves: &mut Vec<GoMove>) {
        let (size, side, suicide) = (game.size(), game.side_to_move(), game.rules().suicide);
        let legal = |mv: &GoMove| game.board().is_legal(side, *mv, suicide) && !banned.contains(*mv);
        let allowed = |mv: &GoMove| self.about.plan.allowed.as_ref().is_none_or(|allowed| allowed(side, depth, *mv));
        let stands_for_others = |mv: &GoMove| self.images(*mv).all(|image| !self.comes_before(image, *mv));
        let of_root = |mv: &GoMove| !self.about.useless.contains(*mv) && stands_for_others(mv);
        moves.clear();
        let all = size.points().chain([size.pass()]);
        moves.extend(all.filter(|mv| legal(mv) && allowed(mv) && (depth > 0 || of_root(mv))));
    }

    /// The mirror images of a move of the root, where only one of them is searched, itself among them.
    fn images(&self, mv: GoMove) -> impl Iterator<Item = GoMove> + '_ {
        self.about.symmetries.iter().map(move |symmetry| symmetry.apply(self.about.root.size(), mv))
    }

    /// Of mirror images KataGo searches the one furthest to the right, and of those the highest, where Black is to
    /// move, and the one furthest to the left, and the lowest, where White is.
    fn comes_before(&self, one: GoMove, other: GoMove) -> bool {
        let size = self.about.root.size();
        let place = |mv| size.coordinates(mv).map(|(x, y)| (x, size.y() - 1 - y));
        match self.about.root.side_to_move() {
            Color::Black => place(one) > place(other),
            Color::White => place(one) < place(other),
        }
    }

    /// The symmetries by which a move of the root that is searched stands for others, each another one: those that are
    /// not searched.
    pub fn stands_for(&self, mv: GoMove) -> Vec<Symmetry> {
        let size = self.about.root.size();
        let mut found: Vec<(GoMove, Symmetry)> = Vec::new();
        for &symmetry in &self.about.symmetries {
            let image = symmetry.apply(size, mv);
            if image != mv && found.iter().all(|(known, _)| *known != image) {
                found.push((image, symmetry));
            }
        }
        found.into_iter().map(|(_, symmetry)| symmetry).collect()
    }

    fn answer(
        &mut self,
        event: &mut Event,
        game: &Game,
        moves: &[GoMove],
        evaluation: &Evaluation,
    ) -> Result<(), Refused> {
        let key = game.graph_key();
        self.take_down(event, key, game, Some(evaluation));
        self.notes.ban(key, game.ko_banned());
        let value = self.value_of(key);
        // If no move may be searched, the network's word is all there is.
        let verdict =
            if moves.is_empty() { Verdict::Terminal(value, Ending::TwoFold) } else { Verdict::Position(value) };
        let mut logits = self.logits(evaluation, moves, event.plies());
        self.enter(event, &Answer { key, verdict }, &mut logits)
    }

    /// The answer goes into the tree, and up its line.
    fn enter(&mut self, event: &mut Event, answer: &Answer, logits: &mut [f32]) -> Result<(), Refused> {
        self.core.settle(event, answer, logits)?;
        self.bring_back(event);
        Ok(())
    }

    /// Brings what is known of an event's leaf up its line.
    fn bring_back(&mut self, event: &mut Event) {
        let line: Vec<Move> = event.moves().collect();
        self.core.bring_back(std::slice::from_mut(event));
        self.back_up(&line);
    }

    /// Logits of the moves of a position `plies` plies below the root.
    pub(super) fn logits(&self, evaluation: &Evaluation, moves: &[GoMove], plies: usize) -> Vec<f32> {
        let plan = &self.about.plan;
        let temperature = if plies == 0 { plan.root_temperature * plan.root_flattening } else { 1.0 };
        let logit = |mv: &GoMove| evaluation.policy[mv.index()].max(f32::MIN_POSITIVE).ln() / temperature;
        moves.iter().map(logit).collect()
    }

    /// Answers an event whose game is over, or can't go on. Nothing is proven by that: it is not only important who has
    /// won.
    fn answer_end(&mut self, event: &mut Event, game: &Game, key: u64) -> Result<(), Refused> {
        let lead = match game.outcome() {
            Some(Outcome::WhiteLead(lead)) => Some(lead),
            Some(Outcome::NoResult | Outcome::ToBeAgreed) | None => None,
        };
        let rules = game.rules();
        let outlook = Outlook::of_end(lead, rules.may_draw(), self.about.plan.question.planes.draw_wins);
        let utility = self.about.utility;
        let weight = self.about.uncertainty().map_or(1.0, |uncertainty| uncertainty.most);
        let keeps = self.keeps_ownership(event.plies());
        self.notes.take_down(event.moves(), key, || {
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
        self.enter(event, &Answer { key, verdict: Verdict::Terminal(value, Ending::TwoFold) }, &mut [])
    }

    /// If the notes know the position already, `known` need not be given.
    fn take_down(&mut self, event: &Event, key: u64, game: &Game, known: Option<&Evaluation>) {
        let keeps = self.keeps_ownership(event.plies());
        let correction = self.about.plan.correction;
        let is_new = self.notes.find(key).is_none();
        self.notes.take_down(event.moves(), key, || match known {
            Some(evaluation) => self.about.note_of(evaluation, game.side_to_move(), keeps),
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

    /// Whether the ownership of a position `plies` plies below the root is kept. An answer contains that of the root's
    /// moves, however full the notes are.
    pub(super) fn keeps_ownership(&self, plies: usize) -> bool {
        self.about.plan.keeps_ownership && (plies <= 1 || self.notes.bytes() < self.about.plan.notes_bytes / 2)
    }

    /// What the network said of the position with this key.
    fn value_of(&self, key: u64) -> Value {
        self.about.raw_value_of(self.notes.find(key).unwrap_or(&Note::default()))
    }

    /// Means over the visits of a node, each of which counts as the plan's weighing says.
    pub fn averages(&self, node: &NodeView<'_, Tree<'m>>, at: At, known: &mut HashMap<At, Averages>) -> Averages {
        if let Some(known) = known.get(&at) {
            return *known;
        }
        // A game that has ended there has no other visits.
        let own = if node.is_expanded() { 1 } else { node.n() };
        let own = self.notes.get(at).averages().times(own);
        let AllVisited { moves, weight: of_moves } = self.visited(node, at);
        let mut all = own;
        for Visited { edge, next, weight, .. } in moves {
            // What was folded has its own note left.
            let folded = || self.notes.get(next).averages().times(edge.completed());
            let below = edge.child().map_or_else(folded, |child| self.averages(&child, next, known));
            all = all.plus(&below, weight);
        }
        all.weight = own.weight + of_moves;
        known.insert(at, all);
        all
    }

    /// Means and deviations of whose each point will be, over all visits of a node, weighted as its other means are,
    /// seen by White.
    pub fn ownership(&self, node: NodeView<'_, Tree<'m>>, at: At) -> (Vec<f64>, Vec<f64>) {
        let mut owned = Owned::new(self.about.root.size().area());
        // Ply by ply, so that a position that several lines lead to is shared out once; in order, so that two runs
        // round alike.
        let mut ply = BTreeMap::from([(at, (node, 1.0))]);
        while !ply.is_empty() {
            let mut below: BTreeMap<At, (NodeView<'_, Tree<'m>>, f64)> = BTreeMap::new();
            for (at, (node, share)) in ply {
                let AllVisited { moves, weight } = self.visited(&node, at);
                let note = self.notes.get(at);
                let own =
                    f64::from(note.own_weight) * if node.is_expanded() { 1.0 } else { f64::from(node.n().max(1)) };
                let all = own + weight;
                note.add_ownership(share * own / all, &mut owned);
                for Visited { edge, next, weight, .. } in moves {
                    let share = share * weight / all;
                    match edge.child() {
                        Some(child) => below.entry(next).or_insert((child, 0.0)).1 += share,
                        None => self.notes.get(next).add_ownership(share, &mut owned),
                    }
                }
            }
            ply = below;
        }
        owned.means()
    }
}

/// Why gathering ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Gathered,
    Full,
    NoMoves,
}

/// How the network is asked about a position `depth` plies below the root.
fn question(plan: &Plan, depth: usize) -> Question {
    let history = match plan.history {
        Seen::All => HISTORY,
        Seen::BelowRoot => depth.min(HISTORY),
        Seen::Nothing => 0,
    };
    let conservative_pass = plan.conservative_pass && depth == 0;
    let playout_doubling_advantage = advantage(plan.question.planes.playout_doubling_advantage, depth);
    let planes = planes::Options { history, conservative_pass, playout_doubling_advantage, ..plan.question.planes };
    Question { planes, ..plan.question }
}

/// The advantage that the side to move is told, `depth` plies below the root, if the root's side has `of_root`: the
/// other side has the opposite.
pub(super) fn advantage(of_root: f32, depth: usize) -> f32 {
    // Zero and minus zero must be one key in the cache.
    if depth.is_multiple_of(2) { 0.0 + of_root } else { 0.0 - of_root }
}

/// As KataGo has it: those that leave the root's stones, and which moves may be searched there, as they are, whatever
/// moves the network sees; the one that changes nothing alone, where ko forbids a point, and where mirror images are
/// searched each for itself.
fn symmetries(root: &Game, plan: &Plan) -> Vec<Symmetry> {
    let size = root.size();
    let leaves_all = |symmetry: &Symmetry| {
        symmetry.size(size) == size
            && size.points().all(|point| {
                let image = symmetry.apply(size, point);
                let same_stone = root.board().stone(point) == root.board().stone(image);
                let allowed = |mv| plan.allowed.as_ref().is_none_or(|allowed| allowed(root.side_to_move(), 0, mv));
                same_stone && allowed(point) == allowed(image)
            })
    };
    match plan.prunes_symmetric && root.ko_banned().is_empty() {
        true => Symmetry::ALL.into_iter().filter(leaves_all).collect(),
        false => vec![Symmetry::NONE],
    }
}

/// What the networks say of a root's position, for the side to move.
struct Word {
    /// The main network's word.
    raw: Arc<Evaluation>,
    /// The score that it expects.
    expected: f32,
    /// The word of the network for human play beside it.
    human: Option<Arc<Evaluation>>,
    /// Lines for a person.
    said: Vec<String>,
}

impl Word {
    /// Asks the networks of a plan; `evaluator` has the main one, and `batch` is its batch.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    fn of(evaluator: &Evaluator, batch: &mut Batch, root: &Game, plan: &Plan) -> Result<Self, String> {
        let (raw, expected, mut said) = raw_of(evaluator, batch, root, plan)?;
        let human = match plan.human.as_ref().filter(|_| plan.question.profile.is_some()) {
            Some(human) => {
                // A batch keeps what runs its network: the other network needs a batch of its own.
                let (word, _, more) = raw_of(human, &mut Batch::default(), root, plan)?;
                said.extend(more);
                Some(word)
            }
            None => None,
        };
        Ok(Self { raw, expected, human, said })
    }
}

/// What a network says of the root's position, through as many symmetries as are asked for, and the score that it
/// expects, as KataGo has it through the first one alone.
fn raw_of(
    evaluator: &Evaluator,
    batch: &mut Batch,
    root: &Game,
    plan: &Plan,
) -> Result<(Arc<Evaluation>, f32, Vec<String>), String> {
    let mut asked = question(plan, 0);
    asked.policy.optimism = plan.root_optimism;
    let is_square = root.size().x() == root.size().y();
    let symmetries = Symmetry::ALL.into_iter().filter(|symmetry| is_square || !symmetry.transposes());
    let (mut all, mut said) = (Vec::new(), Vec::new());
    for symmetry in symmetries.take(plan.root_symmetries.max(1)) {
        let (evaluation, notes) = evaluator.ask_in(batch, root, &Question { symmetry, ..asked })?;
        all.push(evaluation);
        said.extend(notes);
    }
    match &all[..] {
        [one] => Ok((Arc::clone(one), one.score_mean, said)),
        several => {
            let several: Vec<Evaluation> = several.iter().map(|one| (**one).clone()).collect();
            let mean = Evaluation::mean(&several).ok_or("no answer came")?;
            Ok((Arc::new(mean), several[0].score_mean, said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::advantage;

    #[test]
    fn no_advantage_is_the_same_number_for_both_sides() {
        let none = [0.0, -0.0].map(|of_root| [0, 1].map(|depth| advantage(of_root, depth).to_bits()));
        assert_eq!(none, [[0, 0], [0, 0]]);
        assert_eq!([0, 1, 2].map(|depth| advantage(1.5, depth)), [1.5, -1.5, 1.5]);
    }
}
