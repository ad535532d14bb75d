//! Which options have an effect with a network for Go.

use super::table::{self, Opt};
use super::typed::Typed;

/// Flags with an effect in both games: those of the program, memory, devices, clock and analysis. In place of the
/// others, a search of Go has KataGo's parameters (`docs/go.md`).
const COUNT: [&str; 29] = [
    "analysis-pv-len",
    "backend",
    "backend-opts",
    "cache-dir",
    "config",
    "hash",
    "human-model",
    "line-mb",
    "logfile",
    "max-playouts",
    "max-time",
    "max-visits",
    "minibatch-size",
    "move-overhead",
    "nncache",
    "nncache-mb",
    "parallel",
    "precision",
    "preload",
    "queue-mb",
    "ramlimit-mb",
    "report-analysis-winrates-as",
    "root-policy-temperature",
    "show-hidden",
    "threads",
    "time-manager",
    "warn-unused-fields",
    "weights",
    "win-loss-utility-factor",
];

impl Typed {
    /// Options that were set under one of our names to a value other than the default, but have no effect on a search
    /// of Go.
    pub fn without_effect_in_go(&self) -> Vec<&'static Opt> {
        let counts = |opt: &&Opt| COUNT.binary_search(&opt.flag).is_ok() || opt.kind.without_effect().is_some();
        let is_given = |opt: &&Opt| self.has_own(opt.flag) && self.value(opt) != opt.kind.default();
        table::all().filter(|opt| !counts(opt)).filter(is_given).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_effect(options: &[(&str, &str)]) -> Vec<&'static str> {
        let mut typed = Typed::default();
        for (flag, value) in options {
            typed.set(table::by_flag(flag).unwrap(), flag, value).unwrap();
        }
        typed.without_effect_in_go().iter().map(|opt| opt.flag).collect()
    }

    #[test]
    fn what_counts_is_in_the_table() {
        assert!(COUNT.is_sorted());
        COUNT.iter().for_each(|flag| assert!(table::by_flag(flag).is_some(), "{flag}"));
    }

    #[test]
    fn what_is_of_chess_alone_is_named_where_it_is_not_the_default() {
        assert_eq!(without_effect(&[("cpuct", "9"), ("hash", "7"), ("multipv", "5")]), ["cpuct", "multipv"]);
        assert_eq!(without_effect(&[("cpuct", "1.745"), ("threads", "1"), ("task-workers", "3")]), [""; 0]);
        let mut typed = Typed::default();
        typed.set_for(table::by_flag("cpuct").unwrap(), "cpuctExploration", "2").unwrap();
        typed.set_for(table::by_flag("lcb-stdevs").unwrap(), "lcbStdevs", "3").unwrap();
        assert!(typed.without_effect_in_go().is_empty(), "KataGo's names mean something");
        assert_eq!(without_effect(&[("lcb-stdevs", "3")]), ["lcb-stdevs"]);
    }
}
