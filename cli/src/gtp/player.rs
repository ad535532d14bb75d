//! The player: searches within the limits of a move, and decides from the results what to play.

use oncilla_core::formula::random::Random;
use oncilla_core::time::ManagerParams;
use oncilla_go::{Board, Color, Ending, Move, Scoring, Size, planes};
use oncilla_nets::katago::Model;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::analyze::AnalyzeRequest;
use super::clock::{Clock, System, moves_left};
use super::estimates::{self, Estimate, Estimates};
use super::imitation::{self, Candidate};
use super::memory::{GivenMb, GtpMemory};
use super::record::Record;
use super::scoring::Judged;
use super::settings::{self, Settings};
use super::slot::SearchSlot;
use super::{advantage, chance, cleanup, handicap};
use crate::console::aside;
use crate::engine::Settings as EngineSettings;
use crate::go::{
    self, Evaluation, Evaluator, Game, Imitation, Limits, Networks, Params, Plan, PolicyRules, Question, Reporter,
    Search, Stopped,
};
use crate::memory::{Memory, taken_bytes};
use crate::options::table;
use crate::options::{Meaning, Typed};

/// What the player does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It plays a stone or passes.
    Play(Move),
    /// It resigns.
    Resign,
}

/// The results of a search, from the view of the side to move.
struct SearchResult {
    /// The moves that may be played, the best first.
    choices: Vec<Candidate>,
    win_loss: f64,
    lead: f64,
    playouts: u64,
    /// The expected owner of each point, from 1 for White to −1 for Black.
    ownership: Vec<f64>,
}

/// The limits of a search; the largest numbers for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// The most visits.
    pub visits: u64,
    /// The most playouts.
    pub playouts: u64,
}

impl SearchLimits {
    /// Neither visits nor playouts end the search.
    pub const NONE: Self = Self { visits: u64::MAX, playouts: u64::MAX };
}

/// A search to make.
pub struct Task<'t> {
    /// The position.
    pub game: Arc<Game>,
    /// How to search.
    pub params: &'t Params,
    /// The moves to leave out, and the results that are wanted.
    pub request: &'t AnalyzeRequest,
    /// What it may take.
    pub limits: SearchLimits,
    /// When the search has to end.
    pub until: Option<Instant>,
}

/// A turn that has begun, and what it may take.
struct Turn {
    begun: Instant,
    /// The stones played so far, and those that were set up.
    stones: usize,
    /// A copy of the player's clock, because a move that is not kept, or that fails, takes no time of it.
    clock: Clock,
    seconds: f64,
    limits: SearchLimits,
}

impl Turn {
    /// When this part of its time is over; `None` if it has no end.
    fn end(&self, part: f64) -> Option<Instant> {
        let seconds = Duration::try_from_secs_f64(part * self.seconds).ok()?;
        self.begun.checked_add(seconds)
    }
}

/// Plays and analyses with one network, and perhaps with a network for human play beside it.
pub struct Player {
    networks: Networks,
    memory: GtpMemory,
    /// Positions that are evaluated together; 0 for as many as suit what runs the network.
    minibatch: usize,
    /// The parameters of the search for a move.
    params: Params,
    /// The settings for play.
    settings: Settings,
    /// Whether the user has set a limit of visits.
    has_visits: bool,
    /// Whether the user has set [`ADVANTAGE`], so that a handicap does not change it.
    has_advantage: bool,
    time: ManagerParams,
    clocks: [Clock; 2],
    estimates: Estimates,
    random: Random,
    /// Seconds that the moves have taken so far.
    pub seconds: f64,
}

/// The visits with which the points of a position are counted, once with each player to move. They can be few, because
/// the network alone mostly predicts well who owns each point.
const COUNTING_VISITS: u64 = 32;

/// The part of a move's time that counting may take.
const FOR_COUNTING: f64 = 0.3;

/// The points that the player gives away to end a won game: a dame, or a move that only a cautious player would make.
const GIVEN_AWAY: f64 = 1.0;

/// The parameter for the limit of visits.
const VISITS: &str = "maxVisits";

/// The parameters for how much more the player is taken to search than its opponent, in any game and after it has given
/// a handicap. If the user sets only the first, the second is not used.
const ADVANTAGE: &str = "playoutDoublingAdvantage";
const OF_HANDICAP: &str = "dynamicPlayoutDoublingAdvantageCapPerOppLead";

impl Player {
    /// A player with a network that has been read.
    ///
    /// # Errors
    /// One line: a parameter with a value that it does not take, or that does not suit the networks; or if the network
    /// of `--human-model` is not one for human play.
    pub fn new(model: Model, typed: &Typed, meaning: &Meaning) -> Result<Self, String> {
        let EngineSettings { cache, hash_mb, ram_limit_mb, minibatch, time, ref evaluator, .. } = meaning.settings;
        let given = |name| settings::given(typed, name).is_some();
        let cache_mb = if cache.entries == 0 { 0 } else { cache.mb };
        let params = Self::defaults().of(typed, meaning)?;
        Imitation::at_the_start(&model, &params, typed, meaning)?;
        let networks = Networks::new(model, meaning.human_model.as_ref(), evaluator.clone())?;
        let given_mb = GivenMb { hash: hash_mb, limit: ram_limit_mb, cache: cache_mb };
        let memory = GtpMemory::new(given_mb, taken_bytes());
        networks.set_cache(memory.cache);
        Ok(Self {
            networks,
            memory,
            minibatch,
            params,
            settings: Settings::of(typed, meaning)?,
            has_visits: table::by_flag("max-visits").is_some_and(|opt| typed.has(opt)),
            has_advantage: given(ADVANTAGE) && !given(OF_HANDICAP),
            time,
            clocks: [System::None; 2].map(|system| Clock::new(system, time)),
            estimates: Estimates::default(),
            random: chance::random(settings::seed(typed)),
            seconds: 0.0,
        })
    }

    /// The parameters that a player has unless others are set: as in KataGo, the network sees the moves of the game, no
    /// noise widens the root, and neutral points are filled before a pass.
    pub fn defaults() -> Params {
        let play = Params { ignore_pre_root_history: false, wide_root_noise: 0.0, ..Params::default() };
        Params { fill_dame_before_pass: true, ..play }
    }

    /// The player's network, and perhaps one for human play beside it.
    pub fn networks(&self) -> &Networks {
        &self.networks
    }

    /// The parameters of the search for a move.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The settings for play.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes settings and parameters. `changed` has the names of those that are not as they were, and whether their
    /// values are the user's: only such a value replaces what the player would do by itself.
    pub fn change<'n>(&mut self, settings: Settings, params: Params, changed: impl Iterator<Item = (&'n str, bool)>) {
        (self.settings, self.params) = (settings, params);
        for (name, is_the_users) in changed {
            match name {
                VISITS => self.has_visits = is_the_users,
                ADVANTAGE => self.has_advantage = is_the_users,
                _ => {}
            }
        }
    }

    /// Prepares what runs the networks on boards of this size.
    ///
    /// # Errors
    /// One line: no device.
    pub fn prepare(&mut self, size: Size) -> Result<(), String> {
        let said = self.memory.count(|| self.networks.prepare(size))?;
        let too_low = if said.is_empty() { None } else { self.memory.too_low() };
        said.iter().chain(&too_low).for_each(|note| aside(note));
        Ok(())
    }

    /// Begins a new game, with full clocks.
    pub fn new_game(&mut self) {
        self.set_system(self.clocks[0].system());
        self.estimates.clear();
    }

    /// Sets the time limits of both players.
    pub fn set_system(&mut self, system: System) {
        self.clocks = [system; 2].map(|system| Clock::new(system, self.time));
    }

    /// The clock of a player.
    pub fn clock(&mut self, color: Color) -> &mut Clock {
        &mut self.clocks[color as usize]
    }

    /// Forgets the results of all turns from `turn` on, because their moves have been taken back.
    pub fn forget_beyond(&mut self, turn: usize) {
        self.estimates.forget_beyond(turn);
    }

    /// The parameters of the search for the commands that analyse.
    pub fn params_for_analysis(&self) -> Params {
        Params {
            wide_root_noise: self.settings.analysis_wide_root_noise,
            ignore_pre_root_history: self.settings.analysis_ignore_pre_root_history,
            ..self.params
        }
    }

    /// The parameters of the search for a move of this game.
    fn params_for(&self, game: &Game) -> Params {
        if self.has_advantage {
            return self.params;
        }
        let estimates = self.estimates.win_losses(Color::White);
        let advantage = advantage::for_white(game, self.settings.advantage_for_each_point, estimates);
        Params {
            playout_doubling_advantage: advantage,
            playout_doubling_advantage_pla: Some(Color::White),
            ..self.params
        }
    }

    /// Searches until the task's limits are reached or `look`, which is called between two steps, returns false.
    /// Returns what `then` makes of the results.
    ///
    /// # Errors
    /// One line: the backend fails.
    pub fn search<T>(
        &self,
        slot: &mut SearchSlot<'_>,
        task: &Task<'_>,
        mut look: impl FnMut(&Search<'_>) -> bool,
        then: impl FnOnce(&Search<'_>) -> T,
    ) -> Result<T, String> {
        let batch = self.batch(task.game.size());
        let SearchLimits { visits, playouts } = task.limits;
        let limits = Limits { visits, playouts, step: batch as u64 };
        let mut plan = self.plan(task, batch);
        // A client that wanted the ownership in the last turn will want it in the next one, too.
        plan.keeps_ownership |= slot.keeps_ownership();
        slot.search(&self.networks.main, Arc::clone(&task.game), plan, |search| {
            let mut stepped = Instant::now();
            search.set_deadline(task.until);
            let ran = search.run(&limits, |search| {
                search.said().iter().for_each(|line| aside(line));
                let now = Instant::now();
                // The next step takes about as long as the last one.
                let ahead = now + (now - stepped);
                stepped = now;
                look(search) && task.until.is_none_or(|until| ahead < until)
            });
            search.set_deadline(None);
            search.said().iter().for_each(|line| aside(line));
            // A full memory ends a search as a limit does: there is a move to play.
            let _: Stopped = ran?;
            Ok(then(search))
        })
    }

    fn plan(&self, task: &Task<'_>, batch: usize) -> Plan {
        let mut plan = task.params.plan(batch, self.memory.of_tree());
        plan.keeps_ownership = task.request.wanted.any_ownership();
        plan.human = self.networks.human.clone();
        plan.with(Arc::clone(&task.request.restrictions))
    }

    /// Memory for a tree that is kept from move to move.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn memory(&self) -> Result<Memory, String> {
        go::memory(self.memory.of_tree(), u64::MAX)
    }

    /// The most bytes that [`Player::memory`] may have now.
    pub fn memory_bytes(&self) -> usize {
        self.memory.of_tree()
    }

    /// Positions that are evaluated together.
    fn batch(&self, size: Size) -> usize {
        let preferred = || self.networks.main.facts(size).map_or(1, |facts| facts.preferred_batch);
        if self.minibatch > 0 { self.minibatch } else { preferred().max(1) }
    }

    /// Decides on a move in a player's turn. `watch` is called between two steps of the search, which goes on while it
    /// returns true, and once with `true` at the end. `keeps` says whether the move will be played.
    ///
    /// # Errors
    /// Like [`Player::search`]; and if the request leaves no legal move.
    pub fn decide(
        &mut self,
        slot: &mut SearchSlot<'_>,
        record: &Record,
        color: Color,
        request: &AnalyzeRequest,
        keeps: bool,
        watch: impl FnMut(&Search<'_>, bool) -> bool,
    ) -> Result<Decision, String> {
        let turn = self.begin(record, color);
        let game: Arc<Game> = record.turn_of(color).into();
        let allows = |mv: Move| request.restrictions.allows(color, 0, mv);
        // A controller whose `avoid` or `allow` leaves nothing must not get a move that it has excluded.
        if !game.legal_moves().any(allows) {
            return Err("cannot move: expected a legal move among those that avoid or allow leaves, got none".into());
        }
        let may_pass = allows(game.size().pass());
        if may_pass && ended_by_a_single_pass(&game) {
            return Ok(Decision::Play(game.size().pass()));
        }
        // If a pass would end the game, the player has to know the score after it.
        let must_judge = may_pass && game.pass_would_end();
        let judged = must_judge.then(|| self.judge(record, turn.end(FOR_COUNTING))).transpose()?;
        let result = self.search_turn(slot, &turn, &game, request, watch)?;
        let stones = turn.stones;
        if keeps && self.keep(turn, record, color, &result) {
            return Ok(Decision::Resign);
        }
        let passes = judged.is_some_and(|judged| wins_by_pass(&game, &result, judged.white_lead(record)));
        let chosen = if passes { game.size().pass() } else { self.choose(&result, stones, game.size()) };
        let instead = || cleanup::instead_of_pass(&game, self.settings.cleanup_before_pass, allows);
        Ok(Decision::Play(if chosen == game.size().pass() { instead().unwrap_or(chosen) } else { chosen }))
    }

    /// Starts a copy of the player's clock for its turn, and divides its time.
    fn begin(&self, record: &Record, color: Color) -> Turn {
        let begun = Instant::now();
        // As in KataGo, stones that were set up count as played: a game that begins with them is not at its beginning.
        let set_up: usize = Color::ALL.iter().map(|color| record.setup().stones(*color).len()).sum();
        let stones = set_up + record.moves().len();
        let mut clock = self.clocks[color as usize].clone();
        let budget = clock.start(moves_left(record.size().area(), stones), self.settings.lag_buffer);
        let winning = self.estimates.factor(&self.settings, color, self.params.win_loss_utility_factor);
        let factor = winning * estimates::factor_of_passes(&self.settings, record);
        let visits = self.visits(budget.is_some(), factor);
        let limits = SearchLimits { visits, playouts: scaled(self.params.max_playouts, factor) };
        Turn { begun, stones, clock, seconds: seconds_for(budget, self.params.max_time, factor), limits }
    }

    /// Searches for the move of a turn. `watch` is as in [`Player::decide`].
    fn search_turn(
        &self,
        slot: &mut SearchSlot<'_>,
        turn: &Turn,
        game: &Arc<Game>,
        request: &AnalyzeRequest,
        watch: impl FnMut(&Search<'_>, bool) -> bool,
    ) -> Result<SearchResult, String> {
        let params = self.params_for(game);
        let task = Task { game: Arc::clone(game), params: &params, request, limits: turn.limits, until: turn.end(1.0) };
        // Both closures below use `watch`, one after the other.
        let watch = RefCell::new(watch);
        let look = |search: &Search<'_>| watch.borrow_mut()(search, false);
        let imitates = self.settings.human_chosen_move_prop > 0.0;
        self.search(slot, &task, look, |search| {
            let _ = watch.borrow_mut()(search, true);
            search_result(&params, request, search, imitates)
        })
    }

    /// Keeps what a turn has found and used. Returns whether the player resigns.
    fn keep(&mut self, mut turn: Turn, record: &Record, color: Color, result: &SearchResult) -> bool {
        let estimate = Estimate { turn: record.moves().len(), color, win_loss: result.win_loss, lead: result.lead };
        self.estimates.keep(estimate);
        let used = turn.begun.elapsed().as_secs_f64();
        turn.clock.used(used, result.playouts);
        self.clocks[color as usize] = turn.clock;
        self.seconds += used;
        self.estimates.resigns(&self.settings, color, record)
    }

    /// Chooses the best move, another one by chance, or one that a player of the profile would play.
    fn choose(&mut self, result: &SearchResult, stones: usize, size: Size) -> Move {
        let values: Vec<f64> = result.choices.iter().map(|candidate| candidate.value).collect();
        let values = self.settings.imitating(&result.choices, &self.settings.left(&values), size.pass());
        let at = self.settings.choose(&values, stones, size.area(), self.random.uniform().into());
        result.choices.get(at).map_or(size.pass(), |candidate| candidate.mv)
    }

    /// Searches the position as it stands in the opponent's time, until `goes_on`, which is called between two steps,
    /// returns false.
    ///
    /// # Errors
    /// Like [`Player::search`].
    pub fn ponder(
        &self,
        slot: &mut SearchSlot<'_>,
        record: &Record,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(), String> {
        let game: Arc<Game> = record.turn_of(record.game().side_to_move()).into();
        if game.ending().is_some() {
            return Ok(());
        }
        let settings = &self.settings;
        let (visits, playouts) = (settings.max_visits_pondering, settings.max_playouts_pondering);
        let limits = SearchLimits { visits, playouts };
        let until = Duration::try_from_secs_f64(settings.max_time_pondering).ok();
        let until = until.and_then(|time| Instant::now().checked_add(time));
        let params = self.params_for(&game);
        let task = Task { game, params: &params, request: &AnalyzeRequest::default(), limits, until };
        self.search(slot, &task, |_| goes_on(), |_| ())
    }

    /// The most visits of a search for a move. The default of `maxVisits` does not count if a clock or another
    /// parameter limits the search.
    fn visits(&self, has_clock: bool, factor: f64) -> u64 {
        let none = Params::default();
        let is_limited =
            has_clock || self.params.max_time < none.max_time || self.params.max_playouts < none.max_playouts;
        if is_limited && !self.has_visits { u64::MAX } else { scaled(self.params.max_visits, factor) }
    }

    /// Judges which stones are dead and who owns each point, by the mean of two searches, one with each side to move,
    /// that end at `until`.
    ///
    /// # Errors
    /// Like [`Player::search`].
    pub fn judge(&self, record: &Record, until: Option<Instant>) -> Result<Judged, String> {
        // Only the main network judges, and the search explores as usual.
        let human_profile = self.params.human_profile.filter(|_| self.networks.imitation().by_main);
        let alone = Params {
            human_profile,
            human_root_explore_weightless: 0.0,
            human_root_explore_weightful: 0.0,
            ..self.params
        };
        // As in KataGo: an advantage would shift the score, and a single pass would end the game.
        let fair = Params { playout_doubling_advantage: 0.0, conservative_pass: true, ..alone };
        let params = Params { ignore_pre_root_history: true, ..fair };
        let request = AnalyzeRequest::without_passes(record.size());
        let visits = if self.has_visits { params.max_visits.min(COUNTING_VISITS) } else { COUNTING_VISITS };
        let limits = SearchLimits { visits, ..SearchLimits::NONE };
        let (mut ownership, mut lead) = (vec![0.0; record.size().area()], 0.0);
        let memory = go::memory(self.memory.of_tree(), visits)?;
        for color in Color::ALL {
            let game = record.turn_of(color).into();
            let task = Task { game, params: &params, request: &request, limits, until };
            let result = self.search(
                &mut SearchSlot::new(&memory),
                &task,
                |_| true,
                |search| search_result(&params, &request, search, false),
            )?;
            ownership.iter_mut().zip(&result.ownership).for_each(|(mean, owned)| *mean += owned / 2.0);
            if color == record.game().side_to_move() {
                lead = if color == Color::White { result.lead } else { -result.lead };
            }
        }
        Ok(Judged::new(record.game().board(), record.rules(), &ownership, lead))
    }

    /// The network's evaluation of the position, seen through a symmetry.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn raw(&self, game: &Game, symmetry: oncilla_go::Symmetry) -> Result<Arc<Evaluation>, String> {
        self.raw_of(&self.networks.main, game, symmetry)
    }

    /// The evaluation of the position by one of the networks, seen through a symmetry.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn raw_of(
        &self,
        network: &Evaluator,
        game: &Game,
        symmetry: oncilla_go::Symmetry,
    ) -> Result<Arc<Evaluation>, String> {
        let (evaluation, said) = network.ask(game, &self.question(game.side_to_move(), symmetry))?;
        said.iter().for_each(|line| aside(line));
        Ok(evaluation)
    }

    /// How the network is asked for its evaluation without a search. As in KataGo, its policy is not flattened, and the
    /// advantage is the one that was set, without what a handicap adds.
    fn question(&self, side: Color, symmetry: oncilla_go::Symmetry) -> Question {
        let optimism = self.params.root_policy_optimism as f32;
        let policy = PolicyRules { temperature: 1.0, optimism, most_pass: 1.0 };
        let planes = planes::Options {
            playout_doubling_advantage: self.params.advantage_of(side),
            ..planes::Options::default()
        };
        Question { planes, symmetry, policy, profile: self.params.human_profile }
    }

    /// The points for `stones` handicap stones: those of a fixed handicap as far as there are any, and then, one after
    /// the other, the points where the network would play.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn handicap(&self, record: &Record, stones: usize) -> Result<Vec<Move>, String> {
        let size = record.size();
        let fixed = handicap::most(size).min(stones);
        let mut points = handicap::fixed(size, fixed).unwrap_or_default();
        while points.len() < stones {
            let placed = points.iter().map(|point| (Color::Black, *point));
            let Ok(board) = Board::with_stones(size, placed) else { break };
            let game = Game::starting_from(board, Color::Black, *record.rules());
            let evaluation = self.raw(&game, oncilla_go::Symmetry::NONE)?;
            let prior = |mv: &Move| evaluation.policy[mv.index()];
            let free = size.points().filter(|mv| game.is_legal(*mv));
            // If there is no legal point, there are fewer stones.
            let Some(best) = free.max_by(|a, b| prior(a).total_cmp(&prior(b))) else { break };
            points.push(best);
        }
        Ok(points)
    }
}

/// Seconds for a move: the part `factor` of what the clock (`budget`) and a parameter (`most`) allow.
fn seconds_for(budget: Option<f64>, most: f64, factor: f64) -> f64 {
    budget.unwrap_or(f64::INFINITY).min(most) * factor
}

fn scaled(limit: u64, factor: f64) -> u64 {
    if factor >= 1.0 { limit } else { ((limit as f64 * factor).ceil() as u64).max(1) }
}

/// The results of a search, from the view of the side to move. `imitates` is whether the choices need the policy of a
/// player of the profile.
fn search_result(params: &Params, request: &AnalyzeRequest, search: &Search<'_>, imitates: bool) -> SearchResult {
    let game = search.root();
    let allows = |mv: Move| request.restrictions.allows(game.side_to_move(), 0, mv);
    let sign: f64 = game.side_to_move().sign();
    let raw = search.raw();
    let mut result = SearchResult {
        choices: Vec::new(),
        win_loss: f64::from(raw.win - raw.loss),
        lead: raw.lead.into(),
        playouts: search.playouts(),
        ownership: raw.ownership.iter().map(|owned| sign * f64::from(*owned)).collect(),
    };
    let reporter = Reporter::new(params, request.wanted, search);
    result.choices = imitation::candidates(&reporter, search, imitates);
    result.choices.retain(|candidate| game.is_legal(candidate.mv));
    if result.choices.is_empty() {
        result.choices = vec![Candidate { mv: likeliest(game, raw, allows), value: 1.0, utility: None, human: 0.0 }];
    }
    let Some((root, (at, _))) = search.tree().zip(search.notes().root()) else { return result };
    let averages = search.averages(&root, at, &mut Default::default());
    (result.win_loss, result.lead) = (sign * averages.win_loss, sign * averages.lead);
    if search.plan().keeps_ownership {
        result.ownership = search.ownership(root, at).0;
    }
    result
}

/// The legal move with the largest prior among those that are allowed, for when no move was searched.
fn likeliest(game: &Game, raw: &Evaluation, allows: impl Fn(Move) -> bool) -> Move {
    let prior = |mv: &Move| raw.policy[mv.index()];
    let allowed = game.legal_moves().filter(|mv| allows(*mv));
    allowed.max_by(|a, b| prior(a).total_cmp(&prior(b))).unwrap_or(game.size().pass())
}

/// Whether the game is over because a player has passed twice in the same position. A controller ends a game only after
/// two passes in a row, so without a further pass the players could repeat the position for ever.
fn ended_by_a_single_pass(game: &Game) -> bool {
    let pass = game.size().pass();
    let last_passes = game.moves().rev().take_while(|(_, mv)| *mv == pass).count();
    game.ending() == Some(Ending::Passes) && last_passes == 1
}

/// Whether the player passes because that ends the game and wins it. `expected` is White's lead once dead stones are
/// removed.
///
/// If the board is counted as it lies, the player has to win by that count and by the expected one, because a
/// controller may remove dead stones anyway. If the players agree on dead stones, the expected count has to win, by
/// nearly as much as playing on.
fn wins_by_pass(game: &Game, result: &SearchResult, expected: f64) -> bool {
    let sign: f64 = game.side_to_move().sign();
    let (rules, expected) = (game.rules(), sign * expected);
    if rules.scoring == Scoring::Area && !rules.friendly_pass {
        return expected > 0.0 && sign * f64::from(game.white_lead().unwrap_or(0.0)) > 0.0;
    }
    expected > 0.0 && expected + GIVEN_AWAY >= result.lead
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{KoRule, Rules};

    #[test]
    fn a_part_of_the_least_limit_is_enough() {
        assert_eq!(seconds_for(Some(8.0), f64::INFINITY, 1.0), 8.0);
        assert_eq!([Some(8.0), None].map(|budget| seconds_for(budget, 4.0, 0.5)), [2.0; 2]);
        assert_eq!(seconds_for(Some(2.0), 4.0, 0.5), 1.0);
        assert_eq!([1.0, 0.5, 0.41, 1e-9, 0.0].map(|factor| scaled(10, factor)), [10, 5, 5, 1, 1]);
    }

    /// Two stones are captured and one is recaptured, again and again, without two passes in a row.
    #[test]
    fn a_single_pass_may_end_a_game() {
        let rules = Rules { ko: KoRule::Simple, suicide: false, ..Rules::TROMP_TAYLOR };
        let size = Size::new(5, 5).unwrap();
        let ended = |moves: &str| {
            let mut game = Game::new(size, rules);
            moves.split_whitespace().for_each(|mv| game.play(size.parse(mv).unwrap()).unwrap());
            ended_by_a_single_pass(&game)
        };
        let first = "C3 C2 A3 B2 D3 B3 B4 D2 E2 A4 A5 A2 C4 A4 B5 D5 D1 C1 E3 E4 A3 D4 B1 E1 pass";
        let cycle = format!("{first} A4 D1 A1 A3 E1 pass A4 D1 pass A3 E1");
        assert!(!ended(first) && !ended(&cycle));
        assert!(ended(&format!("{cycle} pass")));
        assert!(!ended(&format!("{first} pass")), "both have passed");
    }
}
