//! KataGo's names for what is here under another one, and what its values are here. Configuration files, `-override-config` and
//! `overrideSettings` know them (`cpp/program/setup.cpp` and `cpp/configs/analysis_example.cfg` there).

use super::table::{self, Opt};

/// Commands that KataGo has, too: their configuration files may be its own.
pub const COMMANDS: [&str; 2] = ["analysis", "gtp"];

/// How a value of KataGo's is written here.
enum Value {
    /// As it is.
    Same,
    /// Always so, whatever the value.
    Fixed(&'static str),
    /// One word for another. Any other word stays as it is, and is refused by our option.
    Words(&'static [(&'static str, &'static str)]),
    /// Two to the power of it.
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
    ("maxTime", &[("max-time", Value::Same)]),
    ("maxVisits", &[("max-visits", Value::Same)]),
    ("minVisitPropForLCB", &[("lcb-min-visit-share", Value::Same)]),
    ("nnCacheSizePowerOfTwo", &[("nncache", Value::PowerOfTwo)]),
    ("numAnalysisThreads", &[("parallel", Value::Same)]),
    ("numSearchThreads", &[("threads", Value::Same)]),
    ("numSearchThreadsPerAnalysisThread", &[("threads", Value::Same)]),
    ("reportAnalysisWinratesAs", &[("report-analysis-winrates-as", Value::Same)]),
    ("rootFpuReductionMax", &[("fpu-strategy-at-root", Value::Fixed("reduction")), ("fpu-value-at-root", Value::Same)]),
    ("rootPolicyTemperature", &[("root-policy-temperature", Value::Same)]),
    ("useLcbForSelection", &[("final-choice", Value::Words(&[("true", "lcb"), ("false", "visits")]))]),
    ("warnUnusedFields", &[("warn-unused-fields", Value::Same)]),
    ("winLossUtilityFactor", &[("win-loss-utility-factor", Value::Same)]),
];

impl Value {
    fn here(&self, theirs: &str) -> String {
        match self {
            Self::Same => theirs.to_string(),
            Self::Fixed(value) => value.to_string(),
            Self::Words(words) => {
                let named = |(theirs_too, _): &&(&str, &str)| theirs_too.eq_ignore_ascii_case(theirs);
                words.iter().find(named).map_or(theirs, |(_, ours)| ours).to_string()
            }
            Self::PowerOfTwo => {
                let power = theirs.parse().ok().and_then(|exponent| 1u64.checked_shl(exponent));
                power.map_or_else(|| theirs.to_string(), |power| power.to_string())
            }
        }
    }
}

/// Whether the name is KataGo's alone.
pub fn is_name(name: &str) -> bool {
    NAMES.iter().any(|(theirs, _)| *theirs == name)
}

/// The options that `name` with this `value` sets, and to what: the one of that flag or of that name in UCI, or those that stand for
/// that name of KataGo's. None where there is no such name.
pub fn settings(name: &str, value: &str) -> Vec<(&'static Opt, String)> {
    if let Some(opt) = table::by_flag(name).or_else(|| table::by_name(name)) {
        return vec![(opt, value.to_string())];
    }
    let Some((_, here)) = NAMES.iter().find(|(theirs, _)| *theirs == name) else { return Vec::new() };
    here.iter().filter_map(|(flag, theirs)| Some((table::by_flag(flag)?, theirs.here(value)))).collect()
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
                Value::Same | Value::Fixed(_) => table::by_flag(flag).unwrap().kind.default().unwrap().to_string(),
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
        assert_eq!(said("nnCacheSizePowerOfTwo", "64"), one("nncache", "64"), "beyond 2^63: as it is");
        assert_eq!(said("useLcbForSelection", "True"), one("final-choice", "lcb"));
        assert_eq!(said("useLcbForSelection", "perhaps"), one("final-choice", "perhaps"));
        assert_eq!(said("CPUCT", "2"), one("cpuct", "2"), "ours in UCI");
        let root = vec![("fpu-strategy-at-root", "reduction".to_string()), ("fpu-value-at-root", "0.1".to_string())];
        assert_eq!(said("rootFpuReductionMax", "0.1"), root);
        assert_eq!(said("antiMirror", "true"), []);
    }
}
