//! Every parameter of the search has an effect: with another value, the same search gives another answer.

use crate::analysis::go::answer;
use crate::analysis::go::query::{Defaults, Query};
use crate::go::tests::evaluator_with;
use crate::go::{self, Evaluator, Game, Imitation, Known, Limits, Params, Plan, Search, Stopped};
use serde_json::{Value, json};
use std::sync::Arc;

/// Parameters whose effect no single search shows, and where it is tested.
const ELSEWHERE: [(&str, &str); 2] = [
    ("maxTime", "whoever runs the search looks at the clock: cli/tests/analysis_go/, cli/tests/gtp/"),
    ("subtreeValueBiasFreeProp", "something is forgotten when the game goes on: go/tests/reuse.rs"),
];

/// The position of a query.
#[derive(Clone, Copy)]
enum Position {
    /// Some moves have been played.
    Opening,
    /// All corners are the same.
    Empty,
    /// White has passed, and Black would lose if it did, too.
    Passed,
    /// Black began with three stones, for which White is paid.
    Handicap,
    /// A field of the query means nothing.
    Misspelt,
    /// There is room to play elsewhere, and time to find out what is wrong with the moves.
    Roomy,
    /// A pass may be worse than another move that gains nothing.
    Territory,
    /// Black has made two eyes, while White passed.
    Alive,
}

use Position::{Alive, Empty, Handicap, Misspelt, Opening, Passed, Roomy, Territory};

/// Names of parameters and their values.
type Said = [(&'static str, &'static str)];

/// A parameter, another value for it, the position in which that matters, and what both queries have to set beside it.
type Change = (&'static str, &'static str, Position, &'static Said);

/// Somebody is imitated, by the network for human play beside the main one.
const IMITATING: &Said = &[("humanSLProfile", "rank_3d")];

const CHANGES: &[Change] = &[
    ("maxVisits", "30", Opening, &[]),
    ("maxPlayouts", "30", Opening, &[]),
    ("analysisPVLen", "1", Opening, &[]),
    ("reportAnalysisWinratesAs", "BLACK", Opening, &[]),
    ("winLossUtilityFactor", "0.5", Opening, &[]),
    ("staticScoreUtilityFactor", "0.5", Opening, &[]),
    ("dynamicScoreUtilityFactor", "0.8", Opening, &[]),
    ("dynamicScoreCenterZeroWeight", "1", Opening, &[]),
    ("dynamicScoreCenterScale", "0.2", Opening, &[("dynamicScoreCenterZeroWeight", "0")]),
    ("noResultUtilityForWhite", "0.9", Opening, &[]),
    ("drawEquivalentWinsForWhite", "1", Opening, &[]),
    ("cpuctExploration", "2", Opening, &[]),
    ("cpuctExplorationLog", "4", Opening, &[]),
    ("cpuctExplorationBase", "10", Opening, &[]),
    ("cpuctUtilityStdevPrior", "0.1", Opening, &[]),
    ("cpuctUtilityStdevPriorWeight", "50", Opening, &[]),
    ("cpuctUtilityStdevScale", "0", Opening, &[]),
    ("fpuReductionMax", "1", Opening, &[]),
    ("rootFpuReductionMax", "1", Opening, &[]),
    ("fpuParentWeightByVisitedPolicy", "false", Opening, &[]),
    ("fpuParentWeightByVisitedPolicyPow", "0.5", Opening, &[]),
    ("useNoisePruning", "false", Roomy, &[]),
    ("noisePruneUtilityScale", "0.001", Roomy, &[]),
    ("valueWeightExponent", "1", Opening, &[]),
    ("subtreeValueBiasFactor", "0", Opening, &[]),
    ("subtreeValueBiasWeightExponent", "0", Roomy, &[]),
    ("useUncertainty", "false", Opening, &[]),
    ("uncertaintyCoeff", "0.5", Opening, &[]),
    ("uncertaintyExponent", "0.5", Opening, &[]),
    ("uncertaintyMaxWeight", "2", Opening, &[]),
    ("rootPolicyTemperature", "2", Opening, &[]),
    ("nnPolicyTemperature", "2", Opening, &[]),
    ("wideRootNoise", "1", Opening, &[]),
    ("ignorePreRootHistory", "false", Opening, &[]),
    ("ignoreAllHistory", "true", Opening, &[]),
    ("conservativePass", "false", Passed, &[("enablePassingHacks", "false")]),
    ("enablePassingHacks", "false", Passed, &[("conservativePass", "false"), ("ignorePreRootHistory", "false")]),
    ("playoutDoublingAdvantage", "1", Opening, &[]),
    ("playoutDoublingAdvantagePla", "BLACK", Opening, &[("playoutDoublingAdvantage", "1")]),
    ("humanSLProfile", "rank_3d", Opening, &[]),
    ("humanSLRootExploreProbWeightless", "0.5", Opening, IMITATING),
    ("humanSLRootExploreProbWeightful", "0.5", Opening, IMITATING),
    ("humanSLCpuctExploration", "5", Opening, &[IMITATING[0], ("humanSLRootExploreProbWeightful", "0.5")]),
    ("humanSLCpuctPermanent", "2", Opening, &[IMITATING[0], ("humanSLRootExploreProbWeightful", "0.5")]),
    ("policyOptimism", "0", Opening, &[]),
    ("rootPolicyOptimism", "1", Opening, &[]),
    ("rootNumSymmetriesToSample", "4", Opening, &[]),
    ("rootSymmetryPruning", "false", Empty, &[]),
    ("rootEndingBonusPoints", "1", Territory, &[]),
    ("rootPruneUselessMoves", "false", Alive, &[]),
    ("fillDameBeforePass", "true", Territory, &[]),
    ("useLcbForSelection", "false", Opening, &[]),
    ("lcbStdevs", "1", Opening, &[]),
    // With this the move with the best bound does not have enough visits for it.
    ("minVisitPropForLCB", "1", Handicap, &[("lcbStdevs", "12")]),
    ("assumeMultipleStartingBlackMovesAreHandicap", "false", Handicap, &[]),
    ("warnUnusedFields", "false", Misspelt, &[]),
];

impl Position {
    fn query(self) -> Value {
        let (rules, moves, more) = match self {
            Opening => ("chinese", json!([["B", "C3"], ["W", "E5"], ["B", "D4"]]), "includePolicy"),
            Empty => ("chinese", json!([]), "includePolicy"),
            Passed => ("tromp-taylor", json!([["B", "C3"], ["W", "E5"], ["B", "D4"], ["W", "pass"]]), "includePolicy"),
            Handicap => {
                let moves = json!([["B", "C3"], ["W", "pass"], ["B", "E5"], ["W", "pass"], ["B", "D4"]]);
                ("chinese", moves, "includePolicy")
            }
            Misspelt => ("chinese", json!([]), "includePolizy"),
            Roomy => ("chinese", json!([["B", "C3"], ["W", "E5"]]), "includePolicy"),
            Territory => ("japanese", json!([["B", "C3"], ["W", "E5"], ["B", "D4"]]), "includePolicy"),
            Alive => {
                let stones = ["A2", "B1", "B2", "C2", "D1", "D2"];
                let moves: Vec<_> = stones.iter().flat_map(|stone| [["B", stone], ["W", "pass"]]).collect();
                ("chinese", json!(moves), "includePolicy")
            }
        };
        let side = if matches!(self, Roomy) { 9 } else { 7 };
        json!({ "boardXSize": side, "boardYSize": side, "rules": rules, "komi": 60, "moves": moves, more: true })
    }
}

/// The whole answer to a query with these parameters, with a main network and one for human play beside it.
fn said(networks: &[Arc<Evaluator>; 2], position: Position, settings: &[(&str, &str)]) -> String {
    let [evaluator, human] = networks;
    let max_visits = if matches!(position, Roomy) { 600 } else { 120 };
    let mut params = Params { max_visits, ..Params::default() };
    settings.iter().for_each(|(name, value)| assert_eq!(params.set(name, value), Ok(Known::Yes), "{name}"));
    let query = position.query();
    let networks = Imitation { by_main: false, by_beside: true };
    let read = Defaults::for_networks(params, networks).read("q", query.as_object().unwrap());
    let query: Arc<Query> = Arc::new(read.query.expect("a query").query);
    let turn = query.setup.turns();
    let game: Arc<Game> = Arc::new(query.setup.game(turn));
    let plan = Plan { human: Some(Arc::clone(human)), ..query.plan(1, usize::MAX) };
    let memory = go::memory(4 << 20, 1).expect("memory");
    let mut search = Search::new(Arc::clone(evaluator), &memory, game, plan).expect("a search");
    let limits = Limits { visits: query.params.max_visits, playouts: query.params.max_playouts, step: 64 };
    assert_eq!(search.run(&limits, |_| true), Ok(Stopped::Done));
    format!("{:?} {:?}", answer::line(&query, turn, &search, false), read.warnings)
}

#[test]
fn every_parameter_changes_what_is_said() {
    // The first of them has a plain policy and an optimistic one.
    let networks = ["tiny-v15.bin.gz", "tiny-human.bin.gz"].map(|file| Arc::new(evaluator_with(file)));
    let silent: Vec<&str> = CHANGES
        .iter()
        .filter(|(name, value, position, beside)| {
            let without = said(&networks, *position, beside);
            assert_eq!(without, said(&networks, *position, beside), "{name}: nothing is left to chance");
            without == said(&networks, *position, &[beside, &[(*name, *value)][..]].concat())
        })
        .map(|(name, ..)| *name)
        .collect();
    assert!(silent.is_empty(), "without effect: {silent:?}");
}

#[test]
fn no_parameter_is_left_out() {
    for param in Params::NAMES {
        let places = CHANGES.iter().filter(|(name, ..)| name == param).count()
            + ELSEWHERE.iter().filter(|(name, why)| name == param && !why.is_empty()).count();
        assert_eq!(places, 1, "{param}");
    }
}
