//! Who plays: searches under the limits of a move, and what it makes of what they found.

use oncilla_core::formula::random::Random;
use oncilla_core::time::ManagerParams;
use oncilla_go::{Board, Color, Ending, Move, Scoring, Size};
use oncilla_nets::katago::Model;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::analyze::Ask;
use super::clock::{Clock, System, moves_left};
use super::imitation::{self, Candidate};
use super::memory::Room;
use super::record::Record;
use super::scoring::Judged;
use super::seat::Seat;
use super::settings::{self, Settings};
use super::{advantage, chance, handicap};
use crate::analysis::go::{Imitation, Params, Reporter, Wanted};
use crate::engine::{Memory, Settings as EngineSettings, resident_bytes};
use crate::go::{
    self, Evaluation, Evaluator, Game, Limits, Plan, PolicyRules, Question, Search, beside, shares_of_cache,
};
use crate::options::table;
use crate::options::{Meaning, Typed};
use crate::uci::console::aside;

/// What it does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A stone or a pass.
    Play(Move),
    /// It gives the game up.
    Resign,
}

/// What it thinks of a position that it has searched, in its own view.
struct Found {
    /// What may be played.
    choices: Vec<Candidate>,
    win_loss: f64,
    lead: f64,
    playouts: u64,
    /// Whose each point will be, seen by White; empty where nobody asked.
    ownership: Vec<f64>,
}

/// What it thought in an earlier turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Thought {
    /// Moves before it.
    turn: usize,
    color: Color,
    win_loss: f64,
    lead: f64,
}

/// A search that is to be made.
pub struct Task<'t> {
    /// The position.
    pub game: Arc<Game>,
    /// How.
    pub params: &'t Params,
    /// Moves to leave out, and what will be told.
    pub ask: &'t Ask,
    /// Visits and playouts at most.
    pub limits: [u64; 2],
    /// When it has to end.
    pub until: Option<Instant>,
}

/// Plays and analyses with a network, and perhaps with one for human play beside it.
pub struct Player {
    evaluator: Arc<Evaluator>,
    human: Option<Arc<Evaluator>>,
    room: Room,
    /// Positions that are evaluated together; 0: as many as suit what runs the network.
    minibatch: usize,
    /// How it searches for a move.
    pub params: Params,
    /// How it plays.
    pub settings: Settings,
    /// Whether somebody has said how many visits there are at most.
    pub has_visits: bool,
    /// Whether somebody has said how much more it searches than its opponent.
    pub has_advantage: bool,
    time: ManagerParams,
    clocks: [Clock; 2],
    thoughts: Vec<Thought>,
    random: Random,
    /// Seconds that it has taken for moves.
    pub seconds: f64,
}

/// Visits of a position that is counted, for each player to move: who owns which point the network knows mostly by
/// itself.
const COUNTING_VISITS: u64 = 32;

/// The part of a move's time for that.
const FOR_COUNTING: f64 = 0.3;

/// Points that it gives away to end a game that is won: a dame, or a move that only a careful one would make.
const GIVEN_AWAY: f64 = 1.0;

/// How much more it searches than its opponent, and how much that is for a handicap that it has given: who names the
/// first alone does not want the second.
pub const ADVANTAGE: &str = "playoutDoublingAdvantage";
const OF_HANDICAP: &str = "dynamicPlayoutDoublingAdvantageCapPerOppLead";

impl Player {
    /// With a network that has been read, for boards of this size at first.
    ///
    /// # Errors
    /// One line: a parameter with a value that it has not, or that the networks have no use for; the network of
    /// `--human-model` is not one for human play; no device.
    pub fn new(model: Model, typed: &Typed, meaning: &Meaning) -> Result<Self, String> {
        let EngineSettings { cache, hash_mb, ram_limit_mb, minibatch, time, ref evaluator, .. } = meaning.settings;
        // What was played before the position is seen, and chance in the choice of moves is none of analysis.
        let alone = Params { ignore_pre_root_history: false, wide_root_noise: 0.0, ..Params::default() };
        let given = |name| settings::given(typed, name).is_some();
        let cache_mb = if cache.entries == 0 { 0 } else { cache.mb };
        let params = alone.of(typed, meaning)?;
        let imitation = Imitation { by_main: model.encodes_metadata(), by_beside: meaning.human_model.is_some() };
        imitation.suits(&params)?;
        imitation.permits(typed.of_katago().iter().map(|(name, _)| name.as_str()))?;
        imitation.unused(&params).iter().for_each(|line| aside(line));
        let mut human = meaning.human_model.as_ref().map(|weights| beside(weights, evaluator)).transpose()?;
        let room = Room::new([hash_mb, ram_limit_mb, cache_mb], resident_bytes().unwrap_or(0));
        let [of_main, of_human] = shares_of_cache(room.cache, human.is_some());
        human.iter_mut().for_each(|human| human.set_cache(of_human));
        Ok(Self {
            evaluator: Arc::new(Evaluator::new(model, evaluator.clone(), of_main)),
            human: human.map(Arc::new),
            room,
            minibatch,
            params,
            settings: Settings::of(typed, meaning)?,
            has_visits: table::by_flag("max-visits").is_some_and(|opt| typed.has(opt)),
            has_advantage: given(ADVANTAGE) && !given(OF_HANDICAP),
            time,
            clocks: [System::None; 2].map(|system| Clock::new(system, time)),
            thoughts: Vec::new(),
            random: chance::random(settings::seed(typed)),
            seconds: 0.0,
        })
    }

    /// What evaluates.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// What evaluates with the network for human play that stands beside, if there is one.
    pub fn human(&self) -> Option<&Evaluator> {
        self.human.as_deref()
    }

    /// Which of its networks are for human play.
    pub fn imitation(&self) -> Imitation {
        Imitation { by_main: self.evaluator.model().encodes_metadata(), by_beside: self.human.is_some() }
    }

    /// Makes ready what runs the networks on boards of this size.
    ///
    /// # Errors
    /// One line: no device.
    pub fn prepare(&mut self, size: Size) -> Result<(), String> {
        let networks = [Some(&self.evaluator), self.human.as_ref()];
        let prepare = || {
            let said: Result<Vec<_>, String> = networks.iter().flatten().map(|network| network.prepare(size)).collect();
            Ok::<_, String>(said?.concat())
        };
        let said = self.room.count(prepare)?;
        let too_low = if said.is_empty() { None } else { self.room.too_low() };
        said.iter().chain(&too_low).for_each(|note| aside(note));
        Ok(())
    }

    /// A new game begins: clocks are full.
    pub fn new_game(&mut self) {
        self.set_system(self.clocks[0].system());
        self.thoughts.clear();
    }

    /// Time is limited so, for both players.
    pub fn set_system(&mut self, system: System) {
        self.clocks = [system; 2].map(|system| Clock::new(system, self.time));
    }

    /// The clock of a player.
    pub fn clock(&mut self, color: Color) -> &mut Clock {
        &mut self.clocks[color as usize]
    }

    /// Moves have been taken back, until there were so many.
    pub fn forget_beyond(&mut self, turn: usize) {
        self.thoughts.retain(|thought| thought.turn < turn);
    }

    /// How it searches where it is asked to analyse.
    pub fn params_for_analysis(&self) -> Params {
        Params {
            wide_root_noise: self.settings.analysis_wide_root_noise,
            ignore_pre_root_history: self.settings.analysis_ignore_pre_root_history,
            ..self.params
        }
    }

    /// How it searches for a move of this game.
    fn params_for(&self, game: &Game) -> Params {
        if self.has_advantage {
            return self.params;
        }
        let for_white =
            |thought: &Thought| if thought.color == Color::White { thought.win_loss } else { -thought.win_loss };
        let thoughts = self.thoughts.iter().map(for_white);
        let advantage = advantage::for_white(game, self.settings.advantage_for_each_point, thoughts);
        Params {
            playout_doubling_advantage: advantage,
            playout_doubling_advantage_pla: Some(Color::White),
            ..self.params
        }
    }

    /// Searches until its limits are reached, or `look`, which sees the search between two steps, says no.
    ///
    /// # Errors
    /// One line: the backend fails.
    pub fn search<T>(
        &self,
        seat: &mut Seat<'_>,
        task: &Task<'_>,
        mut look: impl FnMut(&Search<'_>) -> bool,
        then: impl FnOnce(&Search<'_>) -> T,
    ) -> Result<T, String> {
        let batch = self.batch(task.game.size());
        let [visits, playouts] = task.limits;
        let limits = Limits { visits, playouts, step: batch as u64 };
        let mut plan = self.plan(task, batch);
        // Whoever was told of ownership will ask for it in the next turn, too.
        plan.keeps_ownership |= seat.keeps_ownership();
        seat.search(&self.evaluator, Arc::clone(&task.game), plan, |search| {
            let mut stepped = Instant::now();
            search.leave_at(task.until);
            let ran = search.run(&limits, |search| {
                search.said().iter().for_each(|line| aside(line));
                let now = Instant::now();
                // The next step takes about as long as the last one.
                let ahead = now + (now - stepped);
                stepped = now;
                look(search) && task.until.is_none_or(|until| ahead < until)
            });
            search.leave_at(None);
            ran?;
            search.said().iter().for_each(|line| aside(line));
            Ok(then(search))
        })
    }

    fn plan(&self, task: &Task<'_>, batch: usize) -> Plan {
        let mut plan = task.params.plan(batch, self.room.of_tree());
        plan.keeps_ownership = task.ask.wanted.any_ownership();
        plan.human = self.human.clone();
        let restrictions = Arc::new(task.ask.restrictions.clone());
        let asked = Arc::clone(&restrictions);
        plan.with(&restrictions, Some(Arc::new(move |color, depth, mv| asked.allows(color, depth, mv))))
    }

    /// Memory for the tree of a search that goes on from move to move.
    ///
    /// # Errors
    /// There is none.
    pub fn memory(&self) -> Result<Memory, String> {
        go::memory(self.room.of_tree(), u64::MAX)
    }

    /// Bytes that [`Player::memory`] has.
    pub fn memory_bytes(&self) -> usize {
        self.room.of_tree()
    }

    /// Positions that are evaluated together.
    fn batch(&self, size: Size) -> usize {
        let preferred = || self.evaluator.facts(size).map_or(1, |facts| facts.preferred_batch);
        if self.minibatch > 0 { self.minibatch } else { preferred().max(1) }
    }

    /// Decides on a move in a player's turn. `watch` sees the search on the way, and says whether it goes on, and at
    /// its end, which it is told; `keeps` says whether the move will be played.
    ///
    /// # Errors
    /// As [`Player::search`].
    pub fn decide(
        &mut self,
        seat: &mut Seat<'_>,
        record: &Record,
        color: Color,
        ask: &Ask,
        keeps: bool,
        watch: impl FnMut(&Search<'_>, bool) -> bool,
    ) -> Result<Decision, String> {
        let begun = Instant::now();
        let turn = record.moves().len();
        let game: Arc<Game> = record.turn_of(color).into();
        if ended_by_a_single_pass(&game) {
            return Ok(Decision::Play(game.size().pass()));
        }
        let lag = self.settings.lag_buffer;
        let moves_left = moves_left(game.size().area(), turn);
        // A move that is not kept takes no time of the clock, and neither does one that fails.
        let mut clock = self.clocks[color as usize].clone();
        let budget = clock.start(moves_left, lag);
        let factor = self.factor(record, color);
        let seconds = seconds_for(budget, self.params.max_time, factor);
        let end = |part: f64| {
            let seconds = Duration::try_from_secs_f64(part * seconds).ok()?;
            begun.checked_add(seconds)
        };
        // Where a pass would end the game it has to know what that is worth.
        let judged = if game.pass_would_end() { Some(self.judge(record, end(FOR_COUNTING))?) } else { None };
        let params = self.params_for(&game);
        let task = Task {
            game: Arc::clone(&game),
            params: &params,
            ask,
            limits: [self.visits(budget.is_some(), factor), scaled(self.params.max_playouts, factor)],
            until: end(1.0),
        };
        // It is lent to both in turn.
        let watch = RefCell::new(watch);
        let look = |search: &Search<'_>| watch.borrow_mut()(search, false);
        let imitates = self.settings.human_chosen_move_prop > 0.0;
        let found = self.search(seat, &task, look, |search| {
            let _ = watch.borrow_mut()(search, true);
            found(&params, ask.wanted, search, imitates)
        })?;
        if keeps {
            self.remember(Thought { turn, color, win_loss: found.win_loss, lead: found.lead });
            let used = begun.elapsed().as_secs_f64();
            clock.used(used, found.playouts);
            self.clocks[color as usize] = clock;
            self.seconds += used;
            if self.resigns(record, color) {
                return Ok(Decision::Resign);
            }
        }
        let passes = judged.is_some_and(|judged| wins_by_pass(&game, &found, judged.white_lead(record)));
        Ok(Decision::Play(if passes { game.size().pass() } else { self.choose(&found, turn, game.size()) }))
    }

    /// The best move, or another by chance, or one that a player of the profile would play.
    fn choose(&mut self, found: &Found, turn: usize, size: Size) -> Move {
        let values: Vec<f64> = found.choices.iter().map(|candidate| candidate.value).collect();
        let values = self.settings.imitating(&found.choices, &self.settings.left(&values), size.pass());
        let at = self.settings.choose(&values, turn, size.area(), self.random.uniform().into());
        found.choices.get(at).map_or(size.pass(), |candidate| candidate.mv)
    }

    /// Thinks in the opponent's time, about the position that it has to answer to, until `goes_on`, which is asked
    /// between two steps, says no.
    ///
    /// # Errors
    /// As [`Player::search`].
    pub fn ponder(
        &self,
        seat: &mut Seat<'_>,
        record: &Record,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(), String> {
        let game: Arc<Game> = record.turn_of(record.game().side_to_move()).into();
        if game.ending().is_some() {
            return Ok(());
        }
        let settings = &self.settings;
        let limits = [settings.max_visits_pondering, settings.max_playouts_pondering];
        let until = Duration::try_from_secs_f64(settings.max_time_pondering).ok();
        let until = until.and_then(|time| Instant::now().checked_add(time));
        let params = self.params_for(&game);
        let task = Task { game, params: &params, ask: &Ask::default(), limits, until };
        self.search(seat, &task, |_| goes_on(), |_| ())
    }

    /// Visits at most: where a clock or another parameter limits it, no fewer than that allows, unless somebody has
    /// said how many.
    fn visits(&self, has_clock: bool, factor: f64) -> u64 {
        let none = Params::default();
        let is_limited =
            has_clock || self.params.max_time < none.max_time || self.params.max_playouts < none.max_playouts;
        if is_limited && !self.has_visits { u64::MAX } else { scaled(self.params.max_visits, factor) }
    }

    /// Where a move was taken back, what it thought of it is forgotten.
    fn remember(&mut self, thought: Thought) {
        self.forget_beyond(thought.turn);
        self.thoughts.push(thought);
    }

    /// What part of its visits and its time it needs.
    fn factor(&self, record: &Record, color: Color) -> f64 {
        let Settings { search_factor_after_one_pass: one, search_factor_after_two_pass: two, .. } = self.settings;
        let of_passes = [1.0, one, two][record.passes().min(2)];
        let before = self.thoughts.iter().rev().find(|thought| thought.color == color);
        let wins = before
            .is_some_and(|thought| 0.5 * (1.0 + thought.win_loss) > self.settings.search_factor_when_winning_threshold);
        if wins { self.settings.search_factor_when_winning.min(of_passes) } else { of_passes }
    }

    /// Whether it has been sure to lose for some of its turns.
    fn resigns(&self, record: &Record, color: Color) -> bool {
        let settings = &self.settings;
        let (area, played) = (record.size().area(), record.moves().len());
        if !settings.allow_resignation || (played as f64) < settings.resign_min_moves_per_board_area * area as f64 {
            return false;
        }
        let behind = settings.resign_min_score_difference;
        let behind = match color {
            Color::Black => behind,
            Color::White => behind.max(handicap::made_up_later(record.game().handicap_stones(), area, played)),
        };
        let turns = settings.resign_consec_turns;
        let own = self.thoughts.iter().rev().filter(|thought| thought.color == color).take(turns);
        let is_lost = |thought: &Thought| thought.win_loss < settings.resign_threshold && -thought.lead >= behind;
        own.clone().count() == turns && own.clone().all(is_lost)
    }

    /// What becomes of the stones and the points of the board, whoever's turn it is, found out before `until`.
    ///
    /// # Errors
    /// As [`Player::search`].
    pub fn judge(&self, record: &Record, until: Option<Instant>) -> Result<Judged, String> {
        // A network beside the main one has nothing to say here.
        let human_profile = self.params.human_profile.filter(|_| self.imitation().by_main);
        let params = Params { ignore_pre_root_history: true, human_profile, ..self.params };
        let ask = Ask::without_passes(record.size());
        let visits = if self.has_visits { params.max_visits.min(COUNTING_VISITS) } else { COUNTING_VISITS };
        let (mut ownership, mut lead) = (vec![0.0; record.size().area()], 0.0);
        let memory = go::memory(self.room.of_tree(), visits)?;
        for color in Color::ALL {
            let game = record.turn_of(color).into();
            let task = Task { game, params: &params, ask: &ask, limits: [visits, u64::MAX], until };
            let found = self.search(
                &mut Seat::new(&memory),
                &task,
                |_| true,
                |search| found(&params, ask.wanted, search, false),
            )?;
            ownership.iter_mut().zip(&found.ownership).for_each(|(mean, owned)| *mean += owned / 2.0);
            if color == record.game().side_to_move() {
                lead = if color == Color::White { found.lead } else { -found.lead };
            }
        }
        Ok(Judged::new(record.game().board(), record.rules(), &ownership, lead))
    }

    /// What the network says of the position, seen through a symmetry.
    ///
    /// # Errors
    /// As [`Evaluator::run`].
    pub fn raw(&self, game: &Game, symmetry: oncilla_go::Symmetry) -> Result<Arc<Evaluation>, String> {
        self.raw_of(&self.evaluator, game, symmetry)
    }

    /// What one of the networks says of the position, seen through a symmetry.
    ///
    /// # Errors
    /// As [`Evaluator::run`].
    pub fn raw_of(
        &self,
        network: &Evaluator,
        game: &Game,
        symmetry: oncilla_go::Symmetry,
    ) -> Result<Arc<Evaluation>, String> {
        let (evaluation, said) = network.ask(game, &self.question(symmetry))?;
        said.iter().for_each(|line| aside(line));
        Ok(evaluation)
    }

    /// How the network is asked for its own word.
    fn question(&self, symmetry: oncilla_go::Symmetry) -> Question {
        let policy = PolicyRules {
            temperature: self.params.nn_policy_temperature as f32,
            optimism: self.params.root_policy_optimism as f32,
            most_pass: 1.0,
        };
        Question { symmetry, policy, profile: self.params.human_profile, ..Question::default() }
    }

    /// Points for so many handicap stones: those of a fixed handicap, and beyond that where the network would play, one
    /// after the other.
    ///
    /// # Errors
    /// As [`Evaluator::run`].
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
            // One with no stone beside it left none without liberties.
            let Some(best) = free.max_by(|a, b| prior(a).total_cmp(&prior(b))) else { break };
            points.push(best);
        }
        Ok(points)
    }
}

/// Seconds for a move: what the clock grants, a parameter allows, and of that the part that it needs.
fn seconds_for(budget: Option<f64>, most: f64, factor: f64) -> f64 {
    budget.unwrap_or(f64::INFINITY).min(most) * factor
}

fn scaled(limit: u64, factor: f64) -> u64 {
    if factor >= 1.0 { limit } else { ((limit as f64 * factor) as u64).max(1) }
}

/// What a search has found, in the view of who is to move; with what a player of the profile would play, if a player
/// is to be imitated and there is a network for that.
fn found(params: &Params, wanted: Wanted, search: &Search<'_>, imitates: bool) -> Found {
    let game = search.root();
    let sign = if game.side_to_move() == Color::White { 1.0 } else { -1.0 };
    let raw = search.raw();
    let mut found = Found {
        choices: Vec::new(),
        win_loss: f64::from(raw.win - raw.loss),
        lead: raw.lead.into(),
        playouts: search.playouts(),
        ownership: raw.ownership.iter().map(|owned| sign * f64::from(*owned)).collect(),
    };
    let reporter = Reporter::new(params, wanted, search);
    found.choices = imitation::candidates(&reporter, search, imitates);
    found.choices.retain(|candidate| game.is_legal(candidate.mv));
    if found.choices.is_empty() {
        found.choices = vec![Candidate { mv: likeliest(game, raw), value: 1.0, utility: None, human: 0.0 }];
    }
    let Some((root, (at, _))) = search.tree().zip(search.notes().root()) else { return found };
    let averages = search.averages(&root, at, &mut Default::default());
    (found.win_loss, found.lead) = (sign * averages.win_loss, sign * averages.lead);
    if search.plan().keeps_ownership {
        found.ownership = search.ownership(root, at).0;
    }
    found
}

/// Where no move was searched.
fn likeliest(game: &Game, raw: &Evaluation) -> Move {
    let prior = |mv: &Move| raw.policy[mv.index()];
    game.legal_moves().max_by(|a, b| prior(a).total_cmp(&prior(b))).unwrap_or(game.size().pass())
}

/// Whether the game is over because somebody has passed twice in the same position. A controller knows of that only once
/// both have passed, and the players could go round for ever.
fn ended_by_a_single_pass(game: &Game) -> bool {
    let pass = game.size().pass();
    let last_passes = game.moves().rev().take_while(|(_, mv)| *mv == pass).count();
    game.ending() == Some(Ending::Passes) && last_passes == 1
}

/// Whether it passes because that ends the game, and wins.
///
/// Where the board is counted as it lies, it has to win so, and to be expected to: a controller may take dead stones
/// away all the same. Where players agree on dead stones it is what is expected that has to win, by nearly as much as
/// playing on.
fn wins_by_pass(game: &Game, found: &Found, expected: f64) -> bool {
    let sign = if game.side_to_move() == Color::White { 1.0 } else { -1.0 };
    let (rules, expected) = (game.rules(), sign * expected);
    if rules.scoring == Scoring::Area && !rules.friendly_pass {
        return expected > 0.0 && sign * f64::from(game.white_lead().unwrap_or(0.0)) > 0.0;
    }
    expected > 0.0 && expected + GIVEN_AWAY >= found.lead
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
        assert_eq!([1.0, 0.5, 1e-9].map(|factor| scaled(10, factor)), [10, 5, 1]);
    }

    /// Two stones are sent and one is returned, again and again: nobody passes twice in a row.
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
