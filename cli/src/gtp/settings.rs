//! The settings of a player besides the parameters of the search, under KataGo's names (see its
//! `cpp/configs/gtp_example.cfg`), and the names that KataGo has but that have no effect here.

use oncilla_go::Rules;
use serde_json::Value;

use super::cleanup::CleansUp;
use crate::fields::Object;
use crate::go::params::{ANYTHING, Kind, Known, Row, params};
use crate::go::setup;
use crate::options::{Meaning, Typed};
use crate::text::quoted;

params! {
    /// How it plays.
    pub struct Settings;
    /// Whether it resigns.
    allow_resignation: bool = true, in ANYTHING, "allowResignation";
    /// A win less a loss, from −1 to 1, below which it resigns.
    resign_threshold: f64 = -0.9, in -1.0..=0.0, "resignThreshold";
    /// For this many turns in a row.
    resign_consec_turns: usize = 3, in 1..=100, "resignConsecTurns";
    /// Points that it must be behind by as well.
    resign_min_score_difference: f64 = 0.0, in 0.0..=1000.0, "resignMinScoreDifference";
    /// Moves of both that are played before it resigns, for each point of the board.
    resign_min_moves_per_board_area: f64 = 0.0, in 0.0..=1.0, "resignMinMovesPerBoardArea";
    /// The part of its visits and its time that it uses once the opponent has passed.
    search_factor_after_one_pass: f64 = 0.5, in 0.0..=1.0, "searchFactorAfterOnePass";
    /// The part of its visits and its time that it uses once the opponent has passed in two turns in a row.
    search_factor_after_two_pass: f64 = 0.25, in 0.0..=1.0, "searchFactorAfterTwoPass";
    /// The least share where it is certain to win; it multiplies the share after a pass.
    search_factor_when_winning: f64 = 0.4, in 0.01..=1.0, "searchFactorWhenWinning";
    /// A win less a loss above which it uses less, if it was above in the last three turns.
    search_factor_when_winning_threshold: f64 = 0.95, in 0.0..=1.0, "searchFactorWhenWinningThreshold";
    /// How much chance there is in the choice of a move: 0 is none.
    chosen_move_temperature: f64 = 0.1, in 0.0..=5.0, "chosenMoveTemperature";
    /// The temperature at the first move.
    chosen_move_temperature_early: f64 = 0.5, in 0.0..=5.0, "chosenMoveTemperatureEarly";
    /// The number of moves after which half of the difference between the two is left, on 19×19.
    chosen_move_temperature_halflife: f64 = 19.0, in 0.1..=100_000.0, "chosenMoveTemperatureHalflife";
    /// The temperature applies only to moves with a smaller share of the visits than this; 1: to all.
    chosen_move_temperature_only_below_prob: f64 = 1.0, in 0.0..=1.0, "chosenMoveTemperatureOnlyBelowProb";
    /// The visits that each move loses before one is chosen.
    chosen_move_subtract: f64 = 0.0, in 0.0..=1e10, "chosenMoveSubtract";
    /// Moves with fewer visits are not chosen by chance.
    chosen_move_prune: f64 = 1.0, in 0.0..=1e10, "chosenMovePrune";
    /// How far a move is chosen as a player of the profile would choose it: 1 is all the way. Visits choose the rest.
    human_chosen_move_prop: f64 = 0.0, in 0.0..=1.0, "humanSLChosenMoveProp";
    /// Whether visits alone decide how likely a pass is.
    human_chosen_move_ignore_pass: bool = false, in ANYTHING, "humanSLChosenMoveIgnorePass";
    /// A move that is worse than the best one by so much utility is e times less likely than the player would play it.
    human_chosen_move_pikl_lambda: f64 = 1e9, in 0.0..=1e9, "humanSLChosenMovePiklLambda";
    /// Doublings that it is taken to search more than its opponent, where it has given a handicap, for each point of
    /// that.
    advantage_for_each_point: f64 = 0.045, in 0.0..=0.5, "dynamicPlayoutDoublingAdvantageCapPerOppLead";
    /// Seconds that pass between its answer and the controller's clock.
    lag_buffer: f64 = 0.2, in 0.0..=3600.0, "lagBuffer";
    /// Whether it captures dead stones in its pass-alive area before it passes; auto: under area scoring, if the board
    /// is counted as it lies.
    cleanup_before_pass: CleansUp = CleansUp::Auto, in ANYTHING, "cleanupBeforePass";
    /// Columns and rows of the board at the start.
    default_board_size: usize = 19, in 2..=19, "defaultBoardSize";
    /// `wideRootNoise` of the commands that analyse.
    analysis_wide_root_noise: f64 = 0.04, in 0.0..=5.0, "analysisWideRootNoise";
    /// `ignorePreRootHistory` of the commands that analyse.
    analysis_ignore_pre_root_history: bool = true, in ANYTHING, "analysisIgnorePreRootHistory";
    /// Whether it thinks in the opponent's time.
    pondering_enabled: bool = false, in ANYTHING, "ponderingEnabled";
    /// The most visits of the root while it does.
    max_visits_pondering: u64 = 1 << 50, in 1..=1 << 50, "maxVisitsPondering";
    /// The most visits that it then adds to a position.
    max_playouts_pondering: u64 = 1 << 50, in 1..=1 << 50, "maxPlayoutsPondering";
    /// The most seconds that it does so.
    max_time_pondering: f64 = 1e20, in 0.0..=1e20, "maxTimePondering";
}

/// The names of the axes of the rules: in a configuration file, and in an object of rules.
const AXES: [(&str, &str); 7] = [
    ("friendlyPassOk", "friendlyPassOk"),
    ("hasButton", "hasButton"),
    ("koRule", "ko"),
    ("multiStoneSuicideLegal", "suicide"),
    ("scoringRule", "scoring"),
    ("taxRule", "tax"),
    ("whiteHandicapBonus", "whiteHandicapBonus"),
];

/// The name of a whole set of rules.
const RULES: &str = "rules";

/// The name of the seed for all random choices.
const SEED: &str = "searchRandSeed";

/// Other names in KataGo's configuration files for this command. They have no effect here.
const WITHOUT_EFFECT: [&str; 8] = [
    "delayMoveMax",
    "delayMoveScale",
    "friendlyPass",
    "ignoreGTPAndForceKomi",
    "logAllGTPCommunication",
    "logSearchInfoForChosenMove",
    "ogsChatToStderr",
    "startupPrintMessageToStderr",
];

impl Settings {
    /// The settings from the program's options and from what was given under KataGo's names.
    ///
    /// # Errors
    /// One line: a setting does not take its value.
    pub fn of(typed: &Typed, meaning: &Meaning) -> Result<Self, String> {
        let mut settings = Self { lag_buffer: meaning.settings.move_overhead_ms as f64 / 1000.0, ..Self::default() };
        for (name, value) in typed.of_katago() {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// Sets the setting of this name, if there is one.
    ///
    /// # Errors
    /// One line: the setting does not take this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Known, String> {
        self.set_here(name, value)
    }

    /// Whether KataGo's configuration files for this command have this name.
    pub fn has(name: &str) -> bool {
        Self::default().get(name).is_some()
            || [RULES, SEED].contains(&name)
            || AXES.iter().any(|(theirs, _)| *theirs == name)
            || WITHOUT_EFFECT.contains(&name)
    }
}

/// The value that was given last under this name of KataGo's.
pub fn given<'t>(typed: &'t Typed, name: &str) -> Option<&'t String> {
    typed.of_katago().iter().rev().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// The seed for all random choices, if there is one.
pub fn seed(typed: &Typed) -> Option<&str> {
    given(typed, SEED).map(String::as_str)
}

/// The rules at the start: the named ones, or Tromp and Taylor's, changed by the axes that were given.
///
/// # Errors
/// One line: unknown rules, an unknown value of an axis, or rules together with an axis. Like KataGo, this refuses the
/// latter, because one of the two must be a mistake.
pub fn rules(typed: &Typed) -> Result<Rules, String> {
    let given = |name: &str| given(typed, name);
    if let Some((axis, _)) = AXES.iter().find(|(axis, _)| given(RULES).is_some() && given(axis).is_some()) {
        return Err(format!("{RULES}: expected it without axes of rules, got {axis}, too"));
    }
    let mut rules = given(RULES).map_or(Ok(Rules::TROMP_TAYLOR), |text| named_rules(text))?;
    for (theirs, axis) in AXES {
        if let Some(value) = given(theirs) {
            rules = with_axis(&rules, axis, value).map_err(|error| format!("{theirs}: {error}"))?;
        }
    }
    supported(rules)
}

/// Reads rules from a name, the compact form or a JSON object.
///
/// # Errors
/// One line: unknown rules, or rules that no network knows.
pub fn named_rules(text: &str) -> Result<Rules, String> {
    let expected = "expected rules by name, as chinese or tromp-taylor, or as a JSON object";
    let wrong = || wrong_field(text).unwrap_or_else(|| format!("{expected}, got {}", quoted(text)));
    supported(setup::rules_in_text(text).ok_or_else(wrong)?)
}

/// What is wrong with an object of rules; `None` if the text is no object, or nothing is.
fn wrong_field(text: &str) -> Option<String> {
    let object: Object = serde_json::from_str(text).ok()?;
    let alone = |axis: &str, value: &Value| Object::from_iter([(axis.to_string(), value.clone())]);
    let (axis, value) = object.iter().find(|(axis, value)| setup::rules_of_object(&alone(axis, value)).is_none())?;
    let mut known = setup::object_of_rules(&Rules::TROMP_TAYLOR);
    known.extend(["komi", "score"].map(|other| (other.to_string(), Value::Null)));
    if known.contains_key(axis) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        return Some(format!("no value of {axis}: {}", quoted(&value)));
    }
    Some(no_axis(axis))
}

fn no_axis(axis: &str) -> String {
    let object = setup::object_of_rules(&Rules::TROMP_TAYLOR);
    let names: Vec<&str> = object.keys().map(String::as_str).collect();
    format!("expected one of {}, got {}", names.join(", "), quoted(axis))
}

/// The rules with another value of one axis, by its name in an object of rules.
///
/// # Errors
/// One line: an unknown axis, an unknown value, or rules that no network knows.
pub fn with_axis(rules: &Rules, axis: &str, value: &str) -> Result<Rules, String> {
    let mut object = setup::object_of_rules(rules);
    let axis = if axis == "score" { "scoring" } else { axis };
    if !object.contains_key(axis) {
        return Err(no_axis(axis));
    }
    object.insert(axis.to_string(), axis_value(value));
    let changed = setup::rules_of_object(&object);
    let changed = changed.ok_or_else(|| format!("no value of {axis}: {}", quoted(value)))?;
    supported(Rules { komi: rules.komi, ..changed })
}

/// The JSON value for an axis: a boolean, or a word in capitals.
fn axis_value(text: &str) -> Value {
    text.to_ascii_lowercase().parse().map_or_else(|_| Value::from(text.to_ascii_uppercase()), Value::Bool)
}

/// The rules as `kata-get-rules` writes them.
pub fn rules_text(rules: &Rules) -> String {
    Value::Object(Object::from_iter(setup::object_of_rules(rules))).to_string()
}

fn supported(rules: Rules) -> Result<Rules, String> {
    if setup::supported(rules) == rules {
        return Ok(rules);
    }
    Err(format!("rules that no network knows, a button where territory is counted: {rules}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(given: &[(&str, &str)]) -> Typed {
        let mut typed = Typed::default();
        given.iter().for_each(|(name, value)| typed.keep_katagos(name, value));
        typed
    }

    #[test]
    fn what_was_given_counts_the_last_most() {
        let typed = typed(&[("resignThreshold", "-0.5"), ("maxVisits", "3"), ("resignThreshold", "-0.75")]);
        let meaning = typed.meaning().unwrap();
        let settings = Settings::of(&typed, &meaning).unwrap();
        assert_eq!((settings.resign_threshold, settings.lag_buffer), (-0.75, 0.2));
        assert_eq!(settings.get("resignThreshold").as_deref(), Some("-0.75"));
    }

    #[test]
    fn values_are_checked() {
        let error = |name, value| {
            let typed = typed(&[(name, value)]);
            Settings::of(&typed, &typed.meaning().unwrap()).unwrap_err()
        };
        assert_eq!(error("resignThreshold", "1"), "Key 'resignThreshold' must be in the range -1 to 0");
        assert!(error("allowResignation", "maybe").contains("Could not parse 'maybe' as bool"));
    }

    #[test]
    fn rules_come_from_a_name_and_from_axes() {
        let of = |given: &[(&str, &str)]| rules(&typed(given));
        assert_eq!(of(&[]), Ok(Rules::TROMP_TAYLOR));
        let chinese = of(&[("rules", "chinese")]).unwrap();
        assert_eq!(chinese.to_string(), "koSIMPLEscoreAREAtaxNONEsui0whbNfpok1komi7.5");
        assert!(of(&[("rules", "chinese"), ("koRule", "SITUATIONAL")]).unwrap_err().contains("got koRule, too"));
        let all = of(&[
            ("koRule", "SIMPLE"),
            ("scoringRule", "TERRITORY"),
            ("taxRule", "SEKI"),
            ("multiStoneSuicideLegal", "false"),
            ("hasButton", "false"),
            ("whiteHandicapBonus", "N-1"),
            ("friendlyPassOk", "True"),
        ]);
        assert_eq!(all.unwrap().to_string(), "koSIMPLEscoreTERRITORYtaxSEKIsui0whbN-1fpok1komi7.5");
        for (given, part) in [
            ([("rules", "chess")], "expected rules by name"),
            ([("koRule", "FOO")], "koRule: no value of ko: \"FOO\""),
            ([("hasButton", "1")], "hasButton: no value"),
        ] {
            let error = of(&given).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(of(&[("scoringRule", "TERRITORY"), ("hasButton", "true")]).unwrap_err().contains("no network"));
    }

    #[test]
    fn an_axis_is_one_that_there_is() {
        let error = with_axis(&Rules::TROMP_TAYLOR, "colour", "x").unwrap_err();
        assert!(error.starts_with("expected one of friendlyPassOk, hasButton, ko,"), "{error}");
        // These are forms that KataGo accepts.
        for (axis, value, part) in [
            ("score", "AREA", "scoreAREA"),
            ("ko", "simple", "koSIMPLE"),
            ("tax", "Seki", "taxSEKI"),
            ("whiteHandicapBonus", "n-1", "whbN-1"),
        ] {
            let rules = with_axis(&Rules::TROMP_TAYLOR, axis, value).unwrap().to_string();
            assert!(rules.contains(part), "{axis} {value}: {rules}");
        }
        for (text, expected) in [
            (r#"{"ko":"SIMPLE","foo":1}"#, "expected one of friendlyPassOk, hasButton, ko,"),
            (r#"{"ko":"FOO","tax":"NONE"}"#, "no value of ko: \"FOO\""),
            (r#"{"suicide":1}"#, "no value of suicide: \"1\""),
            (r#"{"komi":0.3}"#, "no value of komi: \"0.3\""),
            (r#"{"score":"X"}"#, "no value of score: \"X\""),
            (r#"{"ko":"SIMPLE""#, "expected rules by name"),
        ] {
            let error = named_rules(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let rules = with_axis(&Rules::TROMP_TAYLOR, "suicide", "false").unwrap();
        assert!(!rules.suicide && rules_text(&rules).contains("\"suicide\":false"));
    }

    #[test]
    fn names_stand_in_one_place() {
        use crate::go::Params;
        for name in Settings::NAMES.iter().copied().chain(WITHOUT_EFFECT).chain(AXES.map(|(name, _)| name)) {
            assert!(Settings::has(name), "{name}");
            let both = ["analysisIgnorePreRootHistory", "analysisWideRootNoise", "lagBuffer"].contains(&name)
                || name.starts_with("chosenMove")
                || name.starts_with("humanSLChosenMove")
                || name.ends_with("Pondering");
            assert_eq!(Params::has(name), both, "{name}");
        }
        assert!(WITHOUT_EFFECT.is_sorted() && AXES.is_sorted() && !Settings::has("resignThreshhold"));
    }

    /// Every setting is documented.
    #[test]
    fn the_page_about_gtp_has_every_setting() {
        let page = include_str!("../../../docs/gtp.md");
        for name in Settings::NAMES {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
