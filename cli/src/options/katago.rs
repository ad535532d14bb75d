//! KataGo's names for what is here under another one, and what its values are here. Configuration files,
//! `-override-config` and `overrideSettings` know them (`cpp/program/setup.cpp` and `cpp/configs/analysis_example.cfg`
//! there).

use std::ops::RangeInclusive;

use super::kind::Kind;
use super::table::{self, Opt};

/// Commands that KataGo has, too: their configuration files may be its own.
pub const COMMANDS: [&str; 2] = ["analysis", "gtp"];

/// How a value of KataGo's is written here.
enum Value {
    /// The value is taken as it is.
    Same,
    /// Always so, whatever the value.
    Fixed(&'static str),
    /// One word for another. Any other word stays as it is, and is refused by our option.
    Words(&'static [(&'static str, &'static str)]),
    /// A number that KataGo takes within this range: where it is beyond ours, the nearest that we take. Any other text
    /// stays as it is.
    Within(RangeInclusive<f64>),
    /// Two to the power of it, or the most that we take; none with a power of −1.
    PowerOfTwo,
}

/// KataGo's name, and which of our flags have which values then.
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

/// Names whose values say how much there is to be of something: where we have less, a person is told so.
const AMOUNTS: [&str; 3] = ["numAnalysisThreads", "numSearchThreads", "numSearchThreadsPerAnalysisThread"];

/// The largest power of two that KataGo's caches have.
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

/// The number of this kind that is nearest to another one; `None` where that is one of its own.
fn nearest(number: f64, kind: &Kind) -> Option<String> {
    let within = |least: f64, most: f64| Some(number.clamp(least, most)).filter(|nearest| *nearest != number);
    match *kind {
        Kind::Int { min, max, .. } => within(min as f64, max as f64).map(|nearest| (nearest as i64).to_string()),
        Kind::Float { min, max, .. } => within(min, max).map(|nearest| nearest.to_string()),
        _ => None,
    }
}

/// A line for a person where less is to be had of something than this name and value ask for.
pub fn reduced(name: &str, value: &str) -> Option<String> {
    let name = AMOUNTS.into_iter().find(|amount| *amount == name)?;
    let (_, here) = settings(name, value).pop()?;
    (here != value).then(|| format!("{name} = {value}: {here}, for there are no more here"))
}

/// Whether the name is KataGo's alone.
pub fn is_name(name: &str) -> bool {
    NAMES.iter().any(|(theirs, _)| *theirs == name)
}

/// The options that `name` with this `value` sets, and to what: the one with that flag or that name in UCI, or those
/// that stand for that name of KataGo's. Empty if there is no such name.
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

    /// What `settings` says, by flag.
    fn said(name: &str, value: &str) -> Vec<(&'static str, String)> {
        settings(name, value).into_iter().map(|(opt, value)| (opt.flag, value)).collect()
    }

    #[test]
    fn every_name_stands_for_options_that_take_its_values() {
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
