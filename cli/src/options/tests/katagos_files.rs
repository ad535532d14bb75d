//! Tests that the content of KataGo's own configuration files is accepted (`cpp/configs/gtp_example.cfg` and
//! `cpp/configs/analysis_example.cfg`, including the lines that are commented out), and the ends of KataGo's ranges
//! (`cpp/program/setup.cpp`, `cpp/command/gtp.cpp`).

use crate::go::Params;
use crate::gtp::Settings;
use crate::gtp::settings::rules;
use crate::options::config::{Syntax, parse};
use crate::options::{Typed, katago, table};

/// The settings of search and program that both files have.
const COMMON: &str = "
    reportAnalysisWinratesAs=BLACK
    assumeMultipleStartingBlackMovesAreHandicap=true conservativePass=true preventCleanupPhase=true fillDameBeforePass=true
    avoidMYTDaggerHack=false avoidRepeatedPatternUtility=0.0 enablePassingHacks=true rootSymmetryPruning=true
    maxVisits=500 maxTime=60 useEvalCache=false evalCacheMinVisits=100
    nnMaxBatchSize=64 nnCacheSizePowerOfTwo=23 nnMutexPoolSizePowerOfTwo=17 nnRandomize=true nnRandSeed=abcdefg
    numNNServerThreadsPerModel=1 numEigenThreadsPerModel=8 maxBoardXSizeForNNBuffer=19 maxBoardYSizeForNNBuffer=19
    requireMaxBoardSize=true cudaUseFP16=auto cudaUseNHWC=auto openclUseFP16=auto openclReTunePerBoardSize=true
    metalUseFP16=true trtTransformerNHWC=true
    chosenMoveTemperatureEarly=0.5 chosenMoveTemperatureHalflife=19 chosenMoveTemperature=0.10 chosenMoveSubtract=0 chosenMovePrune=1
    rootNoiseEnabled=false rootDirichletNoiseTotalConcentration=10.83 rootDirichletNoiseWeight=0.25
    rootNumSymmetriesToSample=1 useLcbForSelection=true lcbStdevs=5.0 minVisitPropForLCB=0.15
    winLossUtilityFactor=1.0 staticScoreUtilityFactor=0.10 dynamicScoreUtilityFactor=0.30 dynamicScoreCenterZeroWeight=0.20
    dynamicScoreCenterScale=0.75 noResultUtilityForWhite=0.0 drawEquivalentWinsForWhite=0.5
    cpuctExploration=1.0 cpuctExplorationLog=0.45 cpuctUtilityStdevPrior=0.40 cpuctUtilityStdevPriorWeight=2.0
    cpuctUtilityStdevScale=0.85 fpuReductionMax=0.2 rootFpuReductionMax=0.1 fpuUseParentAverage=true
    fpuParentWeightByVisitedPolicy=true useUncertainty=true uncertaintyExponent=1.0 uncertaintyCoeff=0.25
    rootPolicyOptimism=0.2 policyOptimism=1.0 valueWeightExponent=0.25 rootEndingBonusPoints=0.5 rootPruneUselessMoves=true
    subtreeValueBiasFactor=0.45 subtreeValueBiasWeightExponent=0.85 useGraphSearch=true nodeTableShardsPowerOfTwo=16
    mutexPoolSize=16384 numVirtualLossesPerThread=1 useNoisePruning=true
    logFile=gtp.log logToStderr=false logSearchInfo=true";

/// The other settings of the file for `analysis`.
const OF_ANALYSIS: &str = "
    logDir=analysis_logs logDirDated=analysis_logs logAllRequests=false logAllResponses=false logErrorsAndWarnings=true
    warnUnusedFields=true analysisPVLen=15 wideRootNoise=0.04 ignorePreRootHistory=true
    numAnalysisThreads=2 numSearchThreadsPerAnalysisThread=16";

/// The other settings of the file for `gtp`.
const OF_GTP: &str = "
    logAllGTPCommunication=true startupPrintMessageToStderr=false ogsChatToStderr=true analysisPVLen=13
    defaultBoardSize=19 allowResignation=true resignThreshold=-0.90 resignConsecTurns=3 resignMinScoreDifference=10
    resignMinMovesPerBoardArea=0.0 dynamicPlayoutDoublingAdvantageCapPerOppLead=0.045 playoutDoublingAdvantage=0.0
    playoutDoublingAdvantagePla=WHITE maxPlayouts=300 ponderingEnabled=false maxVisitsPondering=1000 maxPlayoutsPondering=1000
    maxTimePondering=60 lagBuffer=1.0 numSearchThreads=6 searchFactorAfterOnePass=0.50 searchFactorAfterTwoPass=0.25
    searchFactorWhenWinning=0.40 searchFactorWhenWinningThreshold=0.95 searchRandSeed=hijklmn
    analysisWideRootNoise=0.04 analysisIgnorePreRootHistory=true";

/// The settings of KataGo's file for play like that of a 5 kyu, by a network for human play beside the main one
/// (`gtp_human5k_example.cfg`).
const OF_5K: &str = "
    logDir=gtp_logs logAllGTPCommunication=true logSearchInfo=true logSearchInfoForChosenMove=false logToStderr=false
    rules=japanese allowResignation=true resignThreshold=-0.99 resignConsecTurns=20 resignMinScoreDifference=40
    resignMinMovesPerBoardArea=0.4 maxVisits=40 numSearchThreads=1 lagBuffer=1.0 delayMoveScale=2.0 delayMoveMax=10.0
    humanSLProfile=preaz_5k humanSLChosenMoveProp=1.0 humanSLChosenMoveIgnorePass=true
    humanSLChosenMovePiklLambda=100000000 humanSLRootExploreProbWeightless=0.0 humanSLRootExploreProbWeightful=0.0
    humanSLPlaExploreProbWeightless=0.0 humanSLPlaExploreProbWeightful=0.0 humanSLOppExploreProbWeightless=0.0
    humanSLOppExploreProbWeightful=0.0 humanSLCpuctExploration=0.50 humanSLCpuctPermanent=0.2
    chosenMoveTemperatureEarly=0.85 chosenMoveTemperature=0.70 chosenMoveTemperatureHalflife=80
    chosenMoveTemperatureOnlyBelowProb=0.01 chosenMoveSubtract=0 chosenMovePrune=0 nnCacheSizePowerOfTwo=17
    nnMutexPoolSizePowerOfTwo=14 ignorePreRootHistory=false analysisIgnorePreRootHistory=false
    rootNumSymmetriesToSample=2 useLcbForSelection=false winLossUtilityFactor=1.0 staticScoreUtilityFactor=0.30
    dynamicScoreUtilityFactor=0.00 useUncertainty=false subtreeValueBiasFactor=0.0 useNoisePruning=false";

/// Those of its file for the play of a 9 dan who searches (`gtp_human9d_search_example.cfg`).
const OF_9D: &str = "
    logDir=gtp_logs logAllGTPCommunication=true logSearchInfo=true logSearchInfoForChosenMove=false logToStderr=false
    rules=japanese allowResignation=true resignThreshold=-0.98 resignConsecTurns=10 resignMinScoreDifference=20
    resignMinMovesPerBoardArea=0.40 maxVisits=400 numSearchThreads=8 lagBuffer=1.0 delayMoveScale=2.0 delayMoveMax=10.0
    humanSLProfile=preaz_9d humanSLChosenMoveProp=1.0 humanSLChosenMoveIgnorePass=true
    humanSLChosenMovePiklLambda=0.06 humanSLRootExploreProbWeightless=0.8 humanSLRootExploreProbWeightful=0.0
    humanSLPlaExploreProbWeightless=0.0 humanSLPlaExploreProbWeightful=0.0 humanSLOppExploreProbWeightless=0.0
    humanSLOppExploreProbWeightful=0.0 humanSLCpuctExploration=0.50 humanSLCpuctPermanent=2.0
    chosenMoveTemperatureEarly=0.70 chosenMoveTemperature=0.25 chosenMoveTemperatureHalflife=30
    chosenMoveTemperatureOnlyBelowProb=1.0 chosenMoveSubtract=0 chosenMovePrune=0 nnCacheSizePowerOfTwo=20
    nnMutexPoolSizePowerOfTwo=14 ignorePreRootHistory=false analysisIgnorePreRootHistory=false
    rootNumSymmetriesToSample=2 useLcbForSelection=false winLossUtilityFactor=1.0 staticScoreUtilityFactor=0.5
    dynamicScoreUtilityFactor=0.5 useUncertainty=false subtreeValueBiasFactor=0.0 useNoisePruning=false";

/// The rules of the file for `gtp`, in both of its forms.
const RULES: [&str; 2] = [
    "rules=tromp-taylor",
    "koRule=SIMPLE scoringRule=AREA taxRule=NONE multiStoneSuicideLegal=true hasButton=false whiteHandicapBonus=N-1",
];

/// Names that are reported as unused: devices are chosen by our own options, and moves of other games are not avoided.
const NOT_USED: &str = "
    cudaDeviceToUse=0 cudaDeviceToUseThread1=1 openclDeviceToUse=0 openclDeviceToUseThread1=1 trtDeviceToUse=0
    metalDeviceToUseThread0=100 avoidSgfPatternDirs=games avoidSgfPatternUtility=0.001 avoidSgf2PatternMaxFiles=20";

/// The ends of KataGo's ranges for the names that have a meaning here.
const RANGES: &[(&str, &str, &str)] = &[
    ("analysisPVLen", "1", "1000"),
    ("analysisWideRootNoise", "0", "5"),
    ("chosenMovePrune", "0", "10000000000"),
    ("chosenMoveSubtract", "0", "10000000000"),
    ("chosenMoveTemperature", "0", "5"),
    ("chosenMoveTemperatureEarly", "0", "5"),
    ("chosenMoveTemperatureHalflife", "0.1", "100000"),
    ("chosenMoveTemperatureOnlyBelowProb", "0", "1"),
    ("cpuctExploration", "0", "10"),
    ("cpuctExplorationBase", "10", "100000"),
    ("cpuctExplorationLog", "0", "10"),
    ("cpuctUtilityStdevPrior", "0", "10"),
    ("cpuctUtilityStdevPriorWeight", "0", "100"),
    ("cpuctUtilityStdevScale", "0", "1"),
    ("drawEquivalentWinsForWhite", "0", "1"),
    ("dynamicPlayoutDoublingAdvantageCapPerOppLead", "0", "0.5"),
    ("dynamicScoreCenterScale", "0.2", "5"),
    ("dynamicScoreCenterZeroWeight", "0", "1"),
    ("dynamicScoreUtilityFactor", "0", "1"),
    ("fpuParentWeightByVisitedPolicyPow", "0", "5"),
    ("fpuReductionMax", "0", "2"),
    ("humanSLChosenMovePiklLambda", "0", "1000000000"),
    ("humanSLChosenMoveProp", "0", "1"),
    ("humanSLCpuctExploration", "0", "1000"),
    ("humanSLCpuctPermanent", "0", "1000"),
    ("humanSLRootExploreProbWeightful", "0", "1"),
    ("humanSLRootExploreProbWeightless", "0", "1"),
    ("lagBuffer", "0", "3600"),
    ("lcbStdevs", "1", "12"),
    ("maxPlayouts", "1", "1125899906842624"),
    ("maxPlayoutsPondering", "1", "1125899906842624"),
    ("maxTime", "0", "100000000000000000000"),
    ("maxTimePondering", "0", "100000000000000000000"),
    ("maxVisits", "1", "1125899906842624"),
    ("maxVisitsPondering", "1", "1125899906842624"),
    ("minVisitPropForLCB", "0", "1"),
    ("nnPolicyTemperature", "0.01", "5"),
    ("noResultUtilityForWhite", "-1", "1"),
    ("noisePruneUtilityScale", "0.001", "10"),
    ("playoutDoublingAdvantage", "-3", "3"),
    ("policyOptimism", "0", "1"),
    ("resignConsecTurns", "1", "100"),
    ("resignMinMovesPerBoardArea", "0", "1"),
    ("resignMinScoreDifference", "0", "1000"),
    ("resignThreshold", "-1", "0"),
    ("rootEndingBonusPoints", "-1", "1"),
    ("rootFpuReductionMax", "0", "2"),
    ("rootNumSymmetriesToSample", "1", "8"),
    ("rootPolicyOptimism", "0", "1"),
    ("rootPolicyTemperature", "0.01", "100"),
    ("searchFactorAfterOnePass", "0", "1"),
    ("searchFactorAfterTwoPass", "0", "1"),
    ("searchFactorWhenWinning", "0.01", "1"),
    ("searchFactorWhenWinningThreshold", "0", "1"),
    ("staticScoreUtilityFactor", "0", "1"),
    ("subtreeValueBiasFactor", "0", "1"),
    ("subtreeValueBiasFreeProp", "0", "1"),
    ("subtreeValueBiasWeightExponent", "0", "1"),
    ("uncertaintyCoeff", "0.0001", "1"),
    ("uncertaintyExponent", "0", "2"),
    ("uncertaintyMaxWeight", "1", "100"),
    ("valueWeightExponent", "0", "1"),
    ("wideRootNoise", "0", "5"),
    ("winLossUtilityFactor", "0", "1"),
];

/// Parses the settings as lines of a file. Also returns the names that are unused in Go.
fn read(pairs: &[&str]) -> (Typed, Vec<String>) {
    let lines: Vec<String> =
        pairs.iter().flat_map(|pairs| pairs.split_whitespace()).map(|pair| pair.replacen('=', " = ", 1)).collect();
    let (typed, unused) = parse(&lines.join("\n"), Syntax::KataGo).unwrap();
    (typed, unused.into_iter().filter(|name| !Params::has(name) && !Settings::has(name)).collect())
}

/// The search parameters and the settings for Go.
fn meaning(typed: &Typed) -> (Params, Settings) {
    let meaning = typed.meaning().unwrap();
    (Params::default().of(typed, &meaning).unwrap(), Settings::of(typed, &meaning).unwrap())
}

#[test]
fn the_examples_are_taken_as_they_stand() {
    for (own, of_rules) in [(OF_ANALYSIS, ""), (OF_GTP, RULES[0]), (OF_GTP, RULES[1])] {
        let (typed, unused) = read(&[COMMON, own, of_rules]);
        assert!(unused.is_empty(), "{unused:?}");
        let (params, settings) = meaning(&typed);
        assert_eq!((params.max_visits, params.max_time, params.cpuct_exploration), (500, 60.0, 1.0));
        assert_eq!((settings.resign_threshold, rules(&typed).is_ok()), (-0.9, true));
        assert!(typed.of_katago().iter().all(|(name, value)| katago::reduced(name, value).is_none()));
    }
}

/// Nothing in them is warned of: all that does something in KataGo does something here.
#[test]
fn so_are_those_for_human_play() {
    let files = [(OF_5K, "preaz_5k", 0.0, (0.5, 0.2), (1e8, 0.01)), (OF_9D, "preaz_9d", 0.8, (0.5, 2.0), (0.06, 1.0))];
    for (file, profile, weightless, cpuct, choice) in files {
        let (typed, unused) = read(&[file]);
        assert!(unused.is_empty(), "{unused:?}");
        let lacks = |(name, value): &&(String, String)| Params::lacks(name, value) && !Settings::has(name);
        let lacking: Vec<_> = typed.of_katago().iter().filter(lacks).collect();
        assert!(lacking.is_empty(), "{lacking:?}");
        let (params, settings) = meaning(&typed);
        assert_eq!(params.get("humanSLProfile").as_deref(), Some(profile));
        assert_eq!((params.human_root_explore_weightless, params.human_root_explore_weightful), (weightless, 0.0));
        assert_eq!((params.human_cpuct_exploration, params.human_cpuct_permanent), cpuct);
        assert_eq!((settings.human_chosen_move_prop, settings.human_chosen_move_ignore_pass), (1.0, true));
        let found = (settings.human_chosen_move_pikl_lambda, settings.chosen_move_temperature_only_below_prob);
        assert_eq!(found, choice);
        assert!(rules(&typed).is_ok());
    }
}

#[test]
fn what_is_not_used_is_told_and_refuses_nothing() {
    let (typed, unused) = read(&[COMMON, NOT_USED]);
    assert_eq!(unused.len(), NOT_USED.split_whitespace().count());
    meaning(&typed);
}

#[test]
fn each_end_of_a_range_is_taken_as_it_is() {
    for &(name, least, most) in RANGES {
        for value in [least, most] {
            let (params, settings) = meaning(&read(&[&format!("{name}={value}")]).0);
            let taken = params.get(name).or_else(|| settings.get(name));
            assert_eq!(taken.as_deref(), Some(value), "{name}");
        }
    }
}

/// A value beyond KataGo's range is refused by our option or by the parameters for Go.
#[test]
fn beyond_it_nothing_is_taken() {
    for &(name, _, most) in RANGES {
        let beyond = 10.0 * most.parse::<f64>().unwrap().abs() + 1.0;
        let taken = parse(&format!("{name} = {beyond}"), Syntax::KataGo).is_ok_and(|(typed, _)| {
            let meaning = typed.meaning().unwrap();
            Params::default().of(&typed, &meaning).is_ok() && Settings::of(&typed, &meaning).is_ok()
        });
        assert!(!taken, "{name} = {beyond}");
    }
}

/// `RANGES` has every row of both tables that has a range.
#[test]
fn no_row_is_left_out() {
    let rows = Params::table().into_iter().chain(Settings::table());
    let rows = rows.filter(|row| row.values.contains(" to ") && row.name != "defaultBoardSize");
    let named: Vec<&str> = RANGES.iter().map(|(name, ..)| *name).collect();
    rows.for_each(|row| assert!(named.contains(&row.name), "{}", row.name));
}

#[test]
fn flags_count_for_more_than_files_in_any_order() {
    let (typed, _) = parse("maxVisits = 70\nmax-visits = 7\nmax-time = 5\nmaxTime = 1e20", Syntax::KataGo).unwrap();
    let (params, _) = meaning(&typed);
    assert_eq!((params.max_visits, params.max_time), (7, 1e20), "the later line");
    let mut line = Typed::default();
    line.set(table::by_flag("max-time").unwrap(), "--max-time", "3").unwrap();
    line.fill_from(typed);
    assert_eq!((meaning(&line).0.max_visits, meaning(&line).0.max_time), (7, 3.0));
    let (file, _) = parse("maxTime = 1e20", Syntax::KataGo).unwrap();
    let mut line = Typed::default();
    line.fill_from(file);
    assert_eq!(meaning(&line).0.max_time, 1e20);
    assert_eq!(line.meaning().unwrap().analysis.max_time, 1e6, "in chess the most that there is");
}
