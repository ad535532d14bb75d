//! KataGo's spelling of arguments; its names for options that have another name here, and the conversion of their
//! values. The names are accepted in configuration files, `-override-config` and `overrideSettings` (KataGo's
//! `cpp/program/setup.cpp` and `cpp/configs/analysis_example.cfg`).

use std::ops::RangeInclusive;

use super::kind::Kind;
use super::table::{self, Opt};
use crate::text::quoted;

/// Commands that KataGo also has, so their configuration files may be KataGo's.
pub const COMMANDS: [&str; 2] = ["analysis", "gtp"];

/// How a value of KataGo's is converted.
enum Value {
    /// Unchanged.
    Same,
    /// A constant, for any value.
    Fixed(&'static str),
    /// One word for another. Any other word stays unchanged, so that our option refuses it.
    Words(&'static [(&'static str, &'static str)]),
    /// A number in this range, which is KataGo's: clamped to our range. Any other text stays unchanged.
    Within(RangeInclusive<f64>),
    /// Two to the power of the value, clamped to our range; 0 for an exponent of −1.
    PowerOfTwo,
}

/// KataGo's name, and the flags that it sets with the conversion of their values.
type Row = (&'static str, &'static [(&'static str, Value)]);

const NAMES: &[Row] = &[
    ("analysisPVLen", &[("analysis-pv-len", Value::Same)]),
    ("cpuctExploration", &[("cpuct", Value::Same)]),
    ("cpuctExplorationBase", &[("cpuct-base", Value::Same)]),
    ("cpuctExplorationLog", &[("cpuct-factor", Value::Same)]),
    ("fpuReductionMax", &[("fpu-strategy", Value::Fixed("reduction")), ("fpu-value", Value::Same)]),
    ("maxPlayouts", &[("max-playouts", Value::Same)]),
    ("maxTime", &[("max-time", Value::Within(0.0..=1e20))]),
    ("maxVisits", &[("max-visits", Value::Same)]),
    ("minVisitPropForLCB", &[("lcb-min-visit-share", Value::Same)]),
    ("nnCacheSizePowerOfTwo", &[("nncache", Value::PowerOfTwo)]),
    ("numAnalysisThreads", &[("parallel", Value::Within(1.0..=16384.0))]),
    ("numSearchThreads", &[("threads", Value::Within(1.0..=4096.0))]),
    ("numSearchThreadsPerAnalysisThread", &[("threads", Value::Within(1.0..=4096.0))]),
    ("reportAnalysisWinratesAs", &[("report-analysis-winrates-as", Value::Words(&[("b", "BLACK"), ("w", "WHITE")]))]),
    ("rootFpuReductionMax", &[("fpu-strategy-at-root", Value::Fixed("reduction")), ("fpu-value-at-root", Value::Same)]),
    ("rootPolicyTemperature", &[("root-policy-temperature", Value::Same)]),
    ("useLcbForSelection", &[("final-choice", Value::Words(&[("true", "lcb"), ("false", "visits")]))]),
    ("warnUnusedFields", &[("warn-unused-fields", Value::Same)]),
    ("winLossUtilityFactor", &[("win-loss-utility-factor", Value::Within(0.0..=1.0))]),
];

/// Names that UCI has, too, but for the case of a letter.
const SHARED: [&str; 1] = ["lcbStdevs"];

/// Names whose values are amounts: if our range is smaller, the user is told so.
const AMOUNTS: [&str; 3] = ["numAnalysisThreads", "numSearchThreads", "numSearchThreadsPerAnalysisThread"];

/// The largest exponent of KataGo's cache sizes.
const MOST_POWER: u32 = 48;

impl Value {
    fn here(&self, theirs: &str, kind: &Kind) -> String {
        match self {
            Self::Same => theirs.to_string(),
            Self::Fixed(value) => value.to_string(),
            Self::Words(words) => {
                let named = |(theirs_too, _): &&(&str, &str)| theirs_too.eq_ignore_ascii_case(theirs);
                words.iter().find(named).map_or(theirs, |(_, ours)| ours).to_string()
            }
            Self::Within(range) => {
                let number = theirs.parse().ok().filter(|number| range.contains(number));
                let nearest = number.and_then(|number| nearest(number, kind));
                nearest.unwrap_or_else(|| theirs.to_string())
            }
            Self::PowerOfTwo if theirs == "-1" => "0".to_string(),
            Self::PowerOfTwo => {
                let exponent = theirs.parse::<u32>().ok().filter(|exponent| *exponent <= MOST_POWER);
                let power = exponent.map(|exponent| 1u64 << exponent);
                let nearest = |power: u64| nearest(power as f64, kind).unwrap_or_else(|| power.to_string());
                power.map_or_else(|| theirs.to_string(), nearest)
            }
        }
    }
}

/// The number in the range of `kind` that is nearest to `number`; `None` if `number` is in the range.
fn nearest(number: f64, kind: &Kind) -> Option<String> {
    let within = |least: f64, most: f64| Some(number.clamp(least, most)).filter(|nearest| *nearest != number);
    match *kind {
        Kind::Int { min, max, .. } => within(min as f64, max as f64).map(|nearest| (nearest as i64).to_string()),
        Kind::Float { min, max, .. } => within(min, max).map(|nearest| nearest.to_string()),
        _ => None,
    }
}

/// Translates arguments in KataGo's spelling: names with a single dash, `-model` for the network, and flags with an
/// optional value (`=true` or `=false`).
///
/// # Errors
/// Such a flag has another value than true and false.
pub fn with_two_dashes(args: Vec<String>) -> Result<Vec<String>, String> {
    if !args.iter().any(|arg| COMMANDS.contains(&arg.as_str())) {
        return Ok(args);
    }
    let respell = |arg: String| {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, format!("={value}")),
            None => (arg.as_str(), String::new()),
        };
        let ours = match name {
            "-config" => "--config",
            "-model" | "--model" => "--weights",
            "-human-model" => "--human-model",
            "-override-config" => "--override-config",
            "-override-version" => "--override-version",
            "-analysis-threads" => "--parallel",
            "-quit-without-waiting" | "--quit-without-waiting" => match value.as_str() {
                "=false" => return Ok(None),
                "" | "=true" => return Ok(Some("--quit-without-waiting".to_string())),
                other => return Err(format!("{name}: expected true or false, got {}", quoted(&other[1..]))),
            },
            _ => return Ok(Some(arg)),
        };
        Ok(Some(format!("{ours}{value}")))
    };
    args.into_iter().filter_map(|arg| respell(arg).transpose()).collect()
}

/// A line for the user if less of an amount is available than this name and value demand.
pub fn reduced(name: &str, value: &str) -> Option<String> {
    let name = AMOUNTS.into_iter().find(|amount| *amount == name)?;
    let (_, here) = settings(name, value).pop()?;
    (here != value).then(|| format!("{name} = {value}: {here}, for there are no more here"))
}

/// Whether this is one of KataGo's names in this module.
pub fn is_name(name: &str) -> bool {
    SHARED.contains(&name) || NAMES.iter().any(|(theirs, _)| *theirs == name)
}

/// The options that are set if `name` has this `value`, and their values. `name` is a flag, a UCI name or one of
/// KataGo's names; for any other name there are none.
pub fn settings(name: &str, value: &str) -> Vec<(&'static Opt, String)> {
    if let Some(opt) = table::by_flag(name).or_else(|| table::by_name(name)) {
        return vec![(opt, value.to_string())];
    }
    let Some((_, here)) = NAMES.iter().find(|(theirs, _)| *theirs == name) else { return Vec::new() };
    let here = here.iter().filter_map(|(flag, theirs)| Some((table::by_flag(flag)?, theirs)));
    here.map(|(opt, theirs)| (opt, theirs.here(value, &opt.kind))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Typed;

    /// The settings by flag.
    fn said(name: &str, value: &str) -> Vec<(&'static str, String)> {
        settings(name, value).into_iter().map(|(opt, value)| (opt.flag, value)).collect()
    }

    #[test]
    fn every_name_stands_for_options_that_take_its_values() {
        assert!(SHARED.iter().all(|name| is_name(name) && table::by_name(name).is_some()));
        for (name, here) in NAMES {
            assert!(table::by_name(name).is_none() && table::by_flag(name).is_none(), "{name} is ours as well");
            let (flag, value) = here.last().unwrap();
            let text = match value {
                Value::Words(words) => words[0].0.to_string(),
                Value::PowerOfTwo => "10".to_string(),
                Value::Same | Value::Within(_) | Value::Fixed(_) => {
                    table::by_flag(flag).unwrap().kind.default().unwrap().to_string()
                }
            };
            let set = settings(name, &text);
            assert_eq!(set.len(), here.len(), "{name}");
            for (opt, value) in set {
                Typed::default().set(opt, name, &value).unwrap();
            }
        }
    }

    #[test]
    fn values_are_put_into_ours() {
        let one = |flag: &'static str, value: &str| vec![(flag, value.to_string())];
        assert_eq!(said("nnCacheSizePowerOfTwo", "20"), one("nncache", "1048576"));
        assert_eq!(said("nnCacheSizePowerOfTwo", "-1"), one("nncache", "0"));
        assert_eq!(said("nnCacheSizePowerOfTwo", "48"), one("nncache", "999999999"));
        assert_eq!(said("nnCacheSizePowerOfTwo", "64"), one("nncache", "64"), "more than KataGo takes: as it is");
        assert_eq!(said("reportAnalysisWinratesAs", "b"), one("report-analysis-winrates-as", "BLACK"));
        assert_eq!(said("useLcbForSelection", "True"), one("final-choice", "lcb"));
        assert_eq!(said("useLcbForSelection", "perhaps"), one("final-choice", "perhaps"));
        assert_eq!(said("CPUCT", "2"), one("cpuct", "2"), "ours in UCI");
        let root = vec![("fpu-strategy-at-root", "reduction".to_string()), ("fpu-value-at-root", "0.1".to_string())];
        assert_eq!(said("rootFpuReductionMax", "0.1"), root);
        assert_eq!(said("antiMirror", "true"), []);
    }

    #[test]
    fn what_katago_takes_and_we_do_not_becomes_the_nearest_that_we_take() {
        for (name, value, here) in [
            ("maxTime", "1e20", "1000000"),
            ("maxTime", "0.5", "0.5"),
            ("maxTime", "1e21", "1e21"),
            ("numSearchThreads", "128", "128"),
            ("numSearchThreads", "4096", "128"),
            ("numSearchThreadsPerAnalysisThread", "5000", "5000"),
            ("numAnalysisThreads", "16384", "1024"),
            ("numAnalysisThreads", "many", "many"),
            ("winLossUtilityFactor", "0", "0.01"),
            ("winLossUtilityFactor", "-1", "-1"),
            ("winLossUtilityFactor", "2", "2"),
        ] {
            assert_eq!(said(name, value)[0].1, here, "{name} = {value}");
        }
    }

    #[test]
    fn fewer_threads_than_were_asked_for_are_told() {
        let line = reduced("numSearchThreads", "512").unwrap();
        assert_eq!(line, "numSearchThreads = 512: 128, for there are no more here");
        assert_eq!(
            [("numSearchThreads", "8"), ("maxTime", "1e20"), ("logDir", "x")].map(|(n, v)| reduced(n, v)),
            [const { None }; 3]
        );
    }
}
