//! A query: which positions to analyse, how to search them, and what to report. Everything about queries that is
//! specific to chess is here and in `moves`.

use oncilla_chess::History;
use oncilla_core::search::Fpu;
use serde_json::Value;
use std::sync::Arc;

use super::moves::{self, Game};
use crate::analysis::due::Reports;
use crate::analysis::go;
use crate::analysis::overriding::{self, UNUSED, unset};
use crate::analysis::queue::QueuedQuery;
use crate::analysis::turns::{Accepted, Read, prioritized, turns};
use crate::engine::{Restrictions, Settings};
use crate::fields::{BadField, Fields, Object, ROOT_FPU, integer};
use crate::options::{Analysis, Kind, Meaning, Opt, Perspective, Typed, katago};
use crate::score::ScoreType;

/// All fields that a query may have. Those of actions are listed too, because `action` itself is ignored if it is not a
/// string, as in KataGo.
const FIELDS: [&str; 26] = [
    "action",
    "allowMoves",
    "analysisPVLen",
    "analyzeTurns",
    "avoidMoves",
    "fen",
    "firstReportDuringSearchAfter",
    "id",
    "includePVVisits",
    "includePolicy",
    "includeTree",
    "initialFen",
    "initialPlayer",
    "maxTime",
    "maxVisits",
    "moves",
    "overrideSettings",
    "priorities",
    "priority",
    "reportDuringSearchEvery",
    ROOT_FPU,
    "rootPolicyTemperature",
    "rules",
    "session",
    "terminateId",
    "turnNumbers",
];

/// The longest name of a session, in bytes.
const LONGEST_NAME: usize = 1 << 16;

/// Said of fields that have a meaning in Go. A client that always sends them makes no mistake.
const WITHOUT_MEANING: &str =
    "Has no meaning in chess (set warnUnusedFields=false in the config to disable this warning)";

/// The fields that say which Go board a query is about.
const BOARD_OF_GO: [&str; 4] = ["boardXSize", "boardYSize", "initialStones", "komi"];

/// The error in a field that Go queries have too, with a hint if this one is for Go. Such a query fails here at its
/// moves, rules or initial player, where the expected values of the field alone would not help.
fn with_game_hint(fields: Fields<'_>, bad: BadField) -> BadField {
    let of_go: Vec<&str> = BOARD_OF_GO.into_iter().filter(|field| fields.get(field).is_some()).collect();
    if of_go.is_empty() || !["initialPlayer", "moves", "rules"].contains(&bad.field.as_str()) {
        return bad;
    }
    let error = format!(
        "{}; this program analyses chess, and a query with {} is for Go: expected moves, and perhaps fen, rules (chess or chess960), \
         analyzeTurns, maxVisits and what else docs/analysis.md has",
        bad.error,
        of_go.join(", ")
    );
    BadField { error, ..bad }
}

/// A query that has been read and checked.
#[derive(Debug)]
pub struct Query {
    /// Need not be unique.
    pub id: String,
    /// The start position and the moves.
    pub game: Game,
    /// Castling is written as king takes rook.
    pub chess960: bool,
    /// The name of the session, if the search continues with its tree.
    pub session: Option<String>,
    /// The settings and limits of the search.
    pub plan: Plan,
    /// The content of the answer.
    pub wanted: Wanted,
    /// The times of reports during the search.
    pub reports: Reports,
}

impl QueuedQuery for Query {
    fn id(&self) -> &str {
        &self.id
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn bytes(&self) -> usize {
        let texts = self.id.len() + self.session.as_ref().map_or(0, String::len);
        let settings = size_of::<Settings>();
        let restrictions = self.plan.restrictions.as_ref().map_or(0, |restrictions| restrictions.bytes());
        size_of::<Self>() + texts + self.game.bytes() + restrictions + settings
    }
}

/// The settings and limits of the search of a position.
#[derive(Debug)]
pub struct Plan {
    /// Shared by all queries without `overrideSettings`.
    pub settings: Arc<Settings>,
    /// The most visits of the root.
    pub max_visits: u64,
    /// The most playouts, which are visits added to the tree.
    pub max_playouts: Option<u64>,
    /// The most seconds.
    pub max_time: Option<f64>,
    /// Divides the root's logits.
    pub root_temperature: Option<f32>,
    /// Moves that may not be searched.
    pub restrictions: Option<Arc<Restrictions>>,
    /// The value of root moves without visits, if it is not that of the settings.
    pub root_fpu: Option<Fpu>,
}

/// The content of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The side for which numbers are reported.
    pub perspective: Perspective,
    /// The unit of `scoreCp`.
    pub score_type: ScoreType,
    /// The utility of a won game.
    pub win_loss_utility: f32,
    /// The most moves of a `pv` after its first one.
    pub pv_len: usize,
    /// Whether to report `policy`.
    pub policy: bool,
    /// Whether to report `pvVisits` and `pvEdgeVisits`.
    pub pv_visits: bool,
    /// Report `tree` within these bounds.
    pub tree: Option<TreeBounds>,
}

/// The part of the tree that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeBounds {
    /// The depth below the root, in plies.
    pub depth: usize,
    /// The fewest visits of a reported node.
    pub min_visits: u32,
}

/// The values that apply if a query does not override them.
pub struct Defaults {
    typed: Typed,
    settings: Arc<Settings>,
    analysis: Analysis,
    score_type: ScoreType,
}

impl Defaults {
    /// From the program's options; `settings` are those of a search here.
    pub fn new(typed: Typed, meaning: &Meaning, settings: Arc<Settings>) -> Self {
        Self { typed, settings, analysis: meaning.analysis, score_type: meaning.output.score_type }
    }

    /// Reads a query. The fields are checked in KataGo's order, so that the same one of several wrong fields is
    /// reported.
    pub fn read(&self, id: &str, object: &Object) -> Read<Query> {
        let mut warnings = Vec::new();
        let query = self.try_read(id, Fields(object), &mut warnings);
        Read { query, warnings }
    }

    fn try_read(
        &self,
        id: &str,
        fields: Fields<'_>,
        warnings: &mut Vec<BadField>,
    ) -> Result<Accepted<Query>, BadField> {
        let with_hint = |bad| with_game_hint(fields, bad);
        let (fen, start) = start(fields)?;
        let played = moves::played(fields).map_err(with_hint)?;
        moves::initial_player(fields, &start).map_err(with_hint)?;
        let turns = turns(fields, played.len())?;
        let chess960 = rules(fields).map_err(with_hint)?;
        let Overridden { meaning: own, root_fpu_reduction, unknown, fixed } = self.overridden(fields)?;
        let mut analysis = own.as_ref().map_or(self.analysis, |meaning| meaning.analysis);
        let score_type = own.as_ref().map_or(self.score_type, |meaning| meaning.output.score_type);
        if let Some(visits) = fields.max_visits()? {
            analysis.max_visits = visits;
        }
        if let Some(seconds) = fields.seconds("maxTime")? {
            analysis.max_time = seconds;
        }
        if let Some(len) = fields.pv_len()? {
            analysis.pv_len = len;
        }
        let root_fpu_reduction = fields.root_fpu_reduction()?.or(root_fpu_reduction);
        if let Some(temperature) = fields.root_policy_temperature()? {
            analysis.root_policy_temperature = temperature as f32;
        }
        let wanted = Wanted {
            perspective: analysis.perspective,
            score_type,
            win_loss_utility: analysis.win_loss_utility,
            pv_len: analysis.pv_len,
            policy: fields.switch("includePolicy")?,
            pv_visits: fields.switch("includePVVisits")?,
            tree: tree_bounds(fields)?,
        };
        let reports = Reports::read(fields)?;
        let turns = prioritized(fields, turns)?;
        let rules = moves::rules(fields).map_err(with_hint)?;
        let expected = format!("Must be a string of at most {LONGEST_NAME} bytes");
        let name = |value| Value::as_str(value).filter(|name| name.len() <= LONGEST_NAME).map(str::to_string);
        let session = fields.read("session", &expected, name)?;
        self.warn(fields, &unknown, &fixed, warnings);
        // Illegal moves are still written as moves of chess, so that no hint is needed.
        let game = moves::replay(fen, start, &played)?;
        let restrictions = rules.restrictions(&game, &turns).map_err(with_hint)?;
        let plan = Plan {
            settings: own.map_or_else(|| Arc::clone(&self.settings), |own| self.settings_of(&own.settings)),
            max_visits: analysis.max_visits,
            max_playouts: Some(analysis.max_playouts).filter(|playouts| *playouts > 0),
            max_time: Some(analysis.max_time).filter(|seconds| *seconds > 0.0),
            root_temperature: Some(analysis.root_policy_temperature).filter(|temperature| *temperature != 1.0),
            restrictions,
            root_fpu: root_fpu_reduction
                .map(|reduction| Fpu::Reduction(reduction as f32).scaled_down(analysis.win_loss_utility)),
        };
        Ok(Accepted { query: Query { id: id.to_string(), game, chess960, session, plan, wanted, reports }, turns })
    }

    fn overridden<'o>(&self, fields: Fields<'o>) -> Result<Overridden<'o>, BadField> {
        let object = overriding::read(fields)?;
        let Some(object) = object.filter(|object| !object.is_empty()) else { return Ok(Overridden::default()) };
        let mut typed = self.typed.clone();
        let (mut unknown, mut given) = (Vec::new(), Vec::new());
        // As with all settings, a number may be given as text.
        let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        let root_fpu_reduction = Fields(object)
            .root_fpu_reduction_of(number)
            .map_err(|fault| unset(format!("{ROOT_FPU}: {}", fault.error)))?;
        for (name, value) in object.iter().filter(|(name, _)| *name != ROOT_FPU) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let mut set = katago::settings(name, &text);
            set.retain(|(opt, _)| !matches!(opt.kind, Kind::Button));
            if set.is_empty() {
                unknown.push(name.as_str());
            }
            for (opt, value) in &set {
                typed.set(opt, name, value).map_err(|error| unset(error.to_string()))?;
            }
            given.push(Given { name, set });
        }
        let meaning = typed.meaning().map_err(unset)?;
        let fixed = self.without_effect(&given, &meaning);
        Ok(Overridden { meaning: Some(meaning), root_fpu_reduction, unknown, fixed })
    }

    /// The names of those options of a query that change nothing: neither when set alone, nor when added to the others
    /// (some options have an effect only together). `all` is the meaning of all of them. KataGo's own options are left
    /// out, as KataGo ignores them without a warning.
    fn without_effect<'o>(&self, given: &[Given<'o>], all: &Meaning) -> Vec<&'o str> {
        let usual = (self.analysis, self.score_type, Arc::clone(&self.settings));
        let all = self.counted(all);
        let is_without = |at: usize| {
            let alone = self.typed_with(&given[at..=at]);
            let is_new = given[at].set.iter().any(|(opt, _)| alone.value(opt) != self.typed.value(opt));
            let Some(alone) = alone.meaning().ok().filter(|_| is_new) else { return false };
            if self.counted(&alone) != usual {
                return false;
            }
            // An option has any number of spellings. Reading all options again for each of them would take quadratic
            // time, so an option that later ones replace is recognised first.
            let is_replaced = given[at].is_replaced(&given[at + 1..]);
            let others = || self.typed_with(given[..at].iter().chain(&given[at + 1..])).meaning();
            is_replaced || others().is_ok_and(|others| self.counted(&others) == all)
        };
        let ours = (0..given.len()).filter(|&at| !katago::is_name(given[at].name));
        ours.filter(|&at| is_without(at)).map(|at| given[at].name).collect()
    }

    /// The program's options, overridden by these.
    fn typed_with<'g, 'o: 'g>(&self, given: impl IntoIterator<Item = &'g Given<'o>>) -> Typed {
        let mut typed = self.typed.clone();
        for Given { name, set } in given {
            for (opt, value) in set {
                let _ = typed.set(opt, name, value); // it was set once already
            }
        }
        typed
    }

    /// The part of the options' meaning that a query can change.
    fn counted(&self, own: &Meaning) -> (Analysis, ScoreType, Arc<Settings>) {
        let Analysis { parallel, sessions, queue_mb, line_mb, warns, .. } = self.analysis;
        let analysis = Analysis { parallel, sessions, queue_mb, line_mb, warns, ..own.analysis };
        (analysis, own.output.score_type, self.settings_of(&own.settings))
    }

    /// The settings of a query with its own options. What can't change between two positions keeps the program's value,
    /// and so does what has a meaning only in games: clocks and the temperature of the move choice.
    fn settings_of(&self, own: &Settings) -> Arc<Settings> {
        let ours = &*self.settings;
        let mut own = for_analysis(own);
        own.params.temperature = ours.params.temperature;
        Arc::new(Settings {
            time: ours.time,
            smart_pruning_batches: ours.smart_pruning_batches,
            live_stats: ours.live_stats,
            evaluator: ours.evaluator.clone(),
            workers: ours.workers,
            syzygy: ours.syzygy.clone(),
            cache: ours.cache,
            hash_mb: ours.hash_mb,
            ram_limit_mb: ours.ram_limit_mb,
            search_graph: ours.search_graph,
            minibatch: ours.minibatch,
            ..own
        })
    }

    fn warn(&self, fields: Fields<'_>, unknown: &[&str], fixed: &[&str], warnings: &mut Vec<BadField>) {
        warnings.extend(overriding::warning(overriding::UNKNOWN, unknown));
        warnings.extend(overriding::warning("Can not be set for one query", fixed));
        if self.analysis.warns {
            let unused = fields.0.keys().filter(|key| !FIELDS.contains(&key.as_str()));
            let why = |key: &str| if go::is_field(key) { WITHOUT_MEANING } else { UNUSED };
            warnings.extend(unused.map(|key| BadField::new(key, why(key))));
        }
    }
}

/// An option in a query: the name in the query, and the program's options with the values that it sets.
struct Given<'o> {
    name: &'o str,
    set: Vec<(&'static Opt, String)>,
}

impl Given<'_> {
    /// Whether later options set everything that this one sets.
    fn is_replaced(&self, later: &[Self]) -> bool {
        let sets = |other: &Self, opt: &Opt| other.set.iter().any(|(its, _)| std::ptr::eq(*its, opt));
        self.set.iter().all(|(opt, _)| later.iter().any(|other| sets(other, opt)))
    }
}

/// The content of `overrideSettings`.
#[derive(Default)]
struct Overridden<'o> {
    /// The meaning of the program's options with these overrides; `None` if there are none.
    meaning: Option<Meaning>,
    root_fpu_reduction: Option<f64>,
    /// Names that have no meaning.
    unknown: Vec<&'o str>,
    /// Names of options that have no effect in a single query.
    fixed: Vec<&'o str>,
}

/// The settings for a search without a clock, which does as many visits as were requested.
pub fn for_analysis(settings: &Settings) -> Settings {
    let workers = crate::engine::Workers { all: settings.workers.all.max(1), ..Default::default() };
    Settings {
        workers,
        smart_pruning_factor: 0.0,
        move_overhead_ms: 0,
        multi_pv: 1,
        nodes_as_playouts: false,
        minibatch: settings.minibatch.max(1),
        ..settings.clone()
    }
}

/// `initialFen`, or `fen`.
fn start(fields: Fields<'_>) -> Result<(Option<&str>, History), BadField> {
    let expected = "Must be a string: a position in Forsyth-Edwards notation";
    let initial = fields.read("initialFen", expected, Value::as_str)?;
    let short = fields.read("fen", expected, Value::as_str)?;
    let (field, fen) = match (initial, short) {
        (Some(_), Some(_)) => return Err(BadField::new("fen", "Cannot specify both initialFen and fen")),
        (Some(fen), None) => ("initialFen", fen),
        (None, Some(fen)) => ("fen", fen),
        (None, None) => return Ok((None, History::startpos())),
    };
    if fen == "startpos" {
        return Ok((None, History::startpos()));
    }
    let start = History::from_fen(fen);
    let start = start.map_err(|error| BadField::new(field, format!("Could not parse position: {error}")))?;
    Ok((Some(fen), start))
}

/// `rules`: true for Chess960.
fn rules(fields: Fields<'_>) -> Result<bool, BadField> {
    let expected = "Must specify rules string, \"chess\" or \"chess960\"";
    let rules = fields.read("rules", expected, Value::as_str)?.unwrap_or("chess");
    match rules.trim().to_ascii_lowercase().as_str() {
        "chess" => Ok(false),
        "chess960" => Ok(true),
        _ => Err(BadField::new("rules", format!("Could not parse rules: {rules}"))),
    }
}

/// `includeTree`: true, false, or `{"depth", "minVisits"}`.
fn tree_bounds(fields: Fields<'_>) -> Result<Option<TreeBounds>, BadField> {
    let usual = TreeBounds { depth: 2, min_visits: 1 };
    let bad = |error: &str| BadField::new("includeTree", error);
    let bounds = match fields.get("includeTree") {
        None | Some(Value::Bool(false)) => return Ok(None),
        Some(Value::Bool(true)) => return Ok(Some(usual)),
        Some(Value::Object(bounds)) => Fields(bounds),
        Some(_) => return Err(bad("Must be a boolean or an object with subfields 'depth', 'minVisits'")),
    };
    if bounds.0.keys().any(|key| key != "depth" && key != "minVisits") {
        return Err(bad("Must be a boolean or an object with subfields 'depth', 'minVisits'"));
    }
    let integer_in = |field: &str, most: i64, expected: &str| {
        let value = bounds.read(field, expected, |value| integer(value, 1..=most));
        value.map_err(|BadField { error, .. }| bad(&format!("{field}: {error}")))
    };
    let depth = integer_in("depth", 1000, "Must be an integer from 1 to 1000")?;
    let min_visits = integer_in("minVisits", u32::MAX.into(), "Must be an integer from 1 to 2^32 - 1")?;
    Ok(Some(TreeBounds {
        depth: depth.map_or(usual.depth, |depth| depth as usize),
        min_visits: min_visits.map_or(usual.min_visits, |visits| visits as u32),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema has exactly the fields of [`FIELDS`].
    #[test]
    fn the_schema_has_every_field() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../../fixtures/analysis/query.schema.json")).unwrap();
        let fields = schema["$defs"]["query"]["properties"].as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), FIELDS);
    }
}
