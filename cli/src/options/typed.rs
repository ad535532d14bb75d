//! The option values that the user has set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::katago;
use super::kind::{Kind, OptionError, Value};
use super::meaning::{Draft, Meaning};
use super::table::{self, Opt};

/// The values of options, checked against their rows of the table. An option that is not in here has its default.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    values: BTreeMap<&'static str, Value>,
    /// Whether the last `setoption` of an option used its alias.
    by_alias: BTreeMap<&'static str, bool>,
    /// KataGo's names and their values as they were written, the latest last; a search of Go reads its parameters from
    /// here.
    of_katago: Vec<(String, String)>,
    /// Options whose value was set under one of KataGo's names.
    by_katagos: BTreeSet<&'static str>,
}

/// The effect of setting an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The option has its new value.
    Set,
    /// The option keeps the value that was set under its other name.
    Kept,
    /// The option is a button, which has no value.
    Pressed,
    /// The option has a new value that is not the default, but the value has no effect, for this reason. On the command
    /// line it may have one; see [`Typed::without_effect`].
    WithoutEffect(&'static str),
}

/// There is no option of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOption(
    /// The name as it was written.
    pub String,
);

impl fmt::Display for UnknownOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown option: {}", crate::text::quoted(&self.0))
    }
}

impl std::error::Error for UnknownOption {}

impl Typed {
    /// Keeps a value that was set under one of KataGo's names.
    pub fn keep_katagos(&mut self, name: &str, value: &str) {
        self.of_katago.push((name.to_string(), value.to_string()));
    }

    /// Removes what was set under one of KataGo's names.
    pub fn forget_katagos(&mut self, name: &str) {
        self.of_katago.retain(|(other, _)| other != name);
        for (opt, _) in katago::settings(name, "") {
            if self.by_katagos.remove(opt.key()) {
                self.values.remove(opt.key());
            }
        }
    }

    /// The values that were set under KataGo's names, the latest last.
    pub fn of_katago(&self) -> &[(String, String)] {
        &self.of_katago
    }

    /// Sets an option's value. `spelling` is the option's name in error messages.
    ///
    /// # Errors
    /// The value does not fit; nothing has changed.
    pub fn set(&mut self, opt: &'static Opt, spelling: &str, text: &str) -> Result<Change, OptionError> {
        if matches!(opt.kind, Kind::Button) {
            return Ok(Change::Pressed);
        }
        let option = || spelling.to_string();
        let value = opt.kind.parse(text).map_err(|expected| OptionError::Unfit {
            option: option(),
            expected,
            got: Some(text.to_string()),
        })?;
        // A text may fit its type and still be invalid.
        let applied = opt.kind.apply(&mut Draft::new(), &value);
        applied.map_err(|reason| OptionError::Meaningless { option: option(), reason })?;
        let is_default = opt.kind.default().as_ref() == Some(&value);
        self.values.insert(opt.key(), value);
        self.by_katagos.remove(opt.key());
        Ok(match opt.kind.without_effect().or(opt.kind.only_at_start()) {
            Some(reason) if !is_default => Change::WithoutEffect(reason),
            _ => Change::Set,
        })
    }

    /// Like [`Typed::set`], under `name`, which is the option's own name or one of KataGo's. The latter is remembered,
    /// because in Go it has another meaning than the option, whose range is that of chess.
    ///
    /// # Errors
    /// Like [`Typed::set`].
    pub fn set_for(&mut self, opt: &'static Opt, name: &str, text: &str) -> Result<Change, OptionError> {
        let change = self.set(opt, name, text)?;
        if katago::is_name(name) {
            self.by_katagos.insert(opt.key());
        }
        Ok(change)
    }

    /// Whether the option of this flag was set, and not under one of KataGo's names.
    pub fn has_own(&self, flag: &str) -> bool {
        table::by_flag(flag).is_some_and(|opt| self.has(opt) && !self.by_katagos.contains(opt.key()))
    }

    /// Like [`Typed::set`], for `setoption`. Because a GUI may send all listed options, the default under one of an
    /// option's two names does not undo a value that was set under the other.
    ///
    /// # Errors
    /// Like [`Typed::set`].
    pub fn set_by_name(&mut self, opt: &'static Opt, name: &str, text: &str) -> Result<Change, OptionError> {
        let is_alias = opt.alias.is_some_and(|alias| alias.eq_ignore_ascii_case(name));
        let by_the_other = self.by_alias.get(opt.key()).is_some_and(|by_alias| *by_alias != is_alias);
        let is_default = |value: Option<Value>| value == opt.kind.default();
        if by_the_other && is_default(opt.kind.parse(text).ok()) && !is_default(self.value(opt)) {
            return Ok(Change::Kept);
        }
        let change = self.set(opt, opt.name, text)?;
        self.by_alias.insert(opt.key(), is_alias);
        Ok(change)
    }

    /// Takes over the values of `other` for options that are not set here.
    pub fn fill_from(&mut self, other: Typed) {
        for (key, value) in other.values {
            if !self.values.contains_key(key) && other.by_katagos.contains(key) {
                self.by_katagos.insert(key);
            }
            self.values.entry(key).or_insert(value);
        }
        self.of_katago.splice(..0, other.of_katago);
    }

    /// The value of an option, which may be the default. A button has none.
    pub fn value(&self, opt: &Opt) -> Option<Value> {
        self.values.get(opt.key()).cloned().or_else(|| opt.kind.default())
    }

    /// Whether the option was set, be it to its default.
    pub fn has(&self, opt: &Opt) -> bool {
        self.values.contains_key(opt.key())
    }

    /// Options that were set to a value other than the default, but have no effect.
    pub fn without_effect(&self) -> Vec<&'static Opt> {
        table::all().filter(|opt| opt.kind.without_effect().is_some()).filter(|opt| self.differs(opt)).collect()
    }

    /// Options of the analysis commands that were set to a value other than the default.
    pub fn of_analysis(&self) -> Vec<&'static Opt> {
        table::of_analysis().filter(|opt| self.differs(opt)).collect()
    }

    /// Whether the option was set to a value other than the default.
    fn differs(&self, opt: &Opt) -> bool {
        self.values.get(opt.key()).is_some_and(|value| Some(value) != opt.kind.default().as_ref())
    }

    /// The settings that follow from all values.
    ///
    /// # Errors
    /// One line. At present, no value that [`Typed::set`] accepts causes an error.
    pub fn meaning(&self) -> Result<Meaning, String> {
        let mut draft = Draft::new();
        for opt in table::all() {
            if let Some(value) = self.value(opt) {
                opt.kind.apply(&mut draft, &value).map_err(|reason| format!("{}: {reason}", opt.spelling()))?;
            }
        }
        Ok(draft.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Settings;
    use crate::network::{BackendKind, BuiltIn, Weights};
    use crate::options::meaning::Output;
    use crate::score::ScoreType;
    use oncilla_core::formula::collisions::Collisions;
    use oncilla_core::formula::contempt::{Contempt, ContemptMode, RescaleParams};
    use oncilla_core::formula::lcb::{FinalChoice, Lcb};
    use oncilla_core::formula::noise::Dirichlet;
    use oncilla_core::formula::temperature::Temperature;
    use oncilla_core::search::{Fpu, MovesLeft, Params};
    use oncilla_core::time::ManagerParams;

    fn typed(options: &[(&str, &str)]) -> Typed {
        let mut typed = Typed::default();
        for (name, value) in options {
            typed.set(table::by_name(name).unwrap(), name, value).unwrap();
        }
        typed
    }

    #[test]
    fn the_tables_defaults_are_the_cores() {
        let meaning = Typed::default().meaning().unwrap();
        let params = Params { moves_left: Some(MovesLeft::default()), ..Params::default() };
        assert_eq!(meaning.settings.params, params);
        assert_eq!(meaning.settings.time, ManagerParams::default());
        assert_eq!(meaning.settings.collisions, Collisions::default());
        assert_eq!(meaning.settings.contempt, Contempt::default());
        assert_eq!((meaning.settings.cache.entries, meaning.settings.cache.mb), (2_000_000, 64));
        assert_eq!(meaning.settings.evaluator.weights, Weights::BuiltIn(BuiltIn::Small));
        assert_eq!(meaning.settings.evaluator.backend, BackendKind::Auto);
        assert_eq!((meaning.settings.hash_mb, meaning.settings.move_overhead_ms), (256, 200));
        assert_eq!(meaning.settings.smart_pruning_factor, 1.33);
        assert_eq!(meaning.output, Output { score_type: ScoreType::WdlMu, ..Output::default() });
        assert_eq!(meaning.log_file, None);
    }

    /// A value other than the default, if the type has one.
    fn other(kind: &Kind) -> Option<Value> {
        match *kind {
            Kind::Int { default, max, .. } => Some(Value::Int(if default == max { max - 1 } else { default + 1 })),
            Kind::Float { default, max, .. } => {
                Some(Value::Float(if default + 0.125 > max { default - 0.125 } else { default + 0.125 }))
            }
            Kind::Bool { default, .. } => Some(Value::Bool(!default)),
            Kind::Choice { default, of, .. } => {
                of.iter().find(|word| **word != default).map(|word| Value::Text(word.to_string()))
            }
            Kind::Text { .. } | Kind::Button => None,
        }
    }

    /// What must be set too for an option to have an effect.
    fn company(name: &str) -> &'static [(&'static str, &'static str)] {
        match name {
            "CPuctAtRoot" | "CPuctBaseAtRoot" | "CPuctFactorAtRoot" => &[("RootHasOwnCpuctParams", "true")],
            "RootHasOwnCpuctParams" => &[("CPuctAtRoot", "3")],
            "FpuValueAtRoot" => &[("FpuStrategyAtRoot", "absolute")],
            "LcbStdevs" | "LcbMinVisitShare" => &[("FinalChoice", "lcb")],
            "ContemptMaxValue" | "WDLContemptAttenuation" | "WDLBookExitBias" | "WDLDrawRateReference" => {
                &[("UCI_RatingAdv", "1000")]
            }
            _ => &[],
        }
    }

    #[test]
    fn every_row_changes_what_it_says_it_changes_and_no_other_row_does() {
        for opt in table::all() {
            let Some(value) = other(&opt.kind) else { continue };
            let before = typed(company(opt.name));
            let mut after = before.clone();
            after.values.insert(opt.key(), value.clone());
            let changes = before.meaning() != after.meaning();
            let only_tells_the_gui = opt.name == "Ponder";
            let expected = opt.kind.without_effect().is_none() && !only_tells_the_gui;
            assert_eq!(changes, expected, "{} = {value}", opt.key());
        }
    }

    #[test]
    fn numbers_arrive_where_they_belong() {
        let meaning = typed(&[
            ("CPuct", "1.2"),
            ("cpuctbase", "500"),
            ("CPuctFactor", "2.0"),
            ("FpuStrategy", "absolute"),
            ("FpuValue", "0.1"),
            ("PolicyTemperature", "1.0"),
            ("TwoFoldDraws", "false"),
            ("DrawScore", "-0.3"),
            ("MovesLeftThreshold", "0.1"),
            ("Move Overhead", "50"),
        ])
        .meaning()
        .unwrap();
        let params = meaning.settings.params;
        assert_eq!((params.cpuct.init, params.cpuct.base, params.cpuct.factor), (1.2, 500.0, 2.0));
        assert_eq!(*params.root_cpuct(), params.cpuct);
        assert_eq!((params.fpu, params.root_fpu()), (Fpu::Absolute(0.1), Fpu::Absolute(0.1)));
        assert_eq!(params.policy_temperature, 1.0);
        assert!(!meaning.settings.two_fold_draws);
        assert_eq!(meaning.settings.white_draw_score, -0.3);
        assert_eq!(params.moves_left.unwrap().threshold, 0.1);
        assert_eq!(meaning.settings.move_overhead_ms, 50);
    }

    #[test]
    fn the_root_can_have_its_own() {
        let own = typed(&[("FpuStrategyAtRoot", "absolute"), ("RootHasOwnCpuctParams", "true"), ("CPuctAtRoot", "3")]);
        let params = own.meaning().unwrap().settings.params;
        assert_eq!((params.fpu, params.root_fpu()), (Fpu::Reduction(0.33), Fpu::Absolute(1.0)));
        assert_eq!((params.cpuct.init, params.root_cpuct().init), (1.745, 3.0));
    }

    #[test]
    fn the_smaller_memory_counts() {
        let settings = |limit| typed(&[("Hash", "64"), ("RamLimitMb", limit)]).meaning().unwrap().settings;
        assert_eq!((settings("100").hash_mb, settings("100").ram_limit_mb), (64, 100));
        assert_eq!((settings("10").hash_mb, settings("10").ram_limit_mb), (10, 10));
        assert_eq!((settings("0").hash_mb, settings("0").ram_limit_mb), (64, 0));
    }

    #[test]
    fn chance_arrives_where_it_belongs() {
        let Settings { params, random_seed, .. } = typed(&[
            ("Temperature", "0.9"),
            ("TempDecayMoves", "60"),
            ("TempDecayDelayMoves", "20"),
            ("TempCutoffMove", "40"),
            ("TempEndgame", "0.3"),
            ("TempValueCutoff", "12.5"),
            ("TempVisitOffset", "-0.8"),
            ("DirichletNoiseEpsilon", "0.25"),
            ("DirichletNoiseAlpha", "0.5"),
            ("RandomSeed", "7"),
        ])
        .meaning()
        .unwrap()
        .settings;
        let temperature = Temperature {
            start: 0.9,
            decay_moves: 60,
            decay_delay_moves: 20,
            cutoff_move: 40,
            endgame: 0.3,
            value_cutoff: 12.5,
            visit_offset: -0.8,
        };
        assert_eq!(params.temperature, temperature);
        assert_eq!((params.noise, random_seed), (Dirichlet { epsilon: 0.25, alpha: 0.5 }, 7));
    }

    #[test]
    fn contempt_is_made_of_several_options() {
        let contempt = |options: &[(&str, &str)]| typed(options).meaning().unwrap().settings.contempt;
        assert!(contempt(&[]).rescale.changes_nothing());
        let opponents = ("Contempt", "50,Stockfish=-20,Fish=100");
        let by_opponent = |name| contempt(&[opponents, ("UCI_Opponent", name), ("UCI_RatingAdv", "33")]).rescale;
        assert!((by_opponent("GM 2800 human Fisher").diff - 0.874449).abs() < 1e-5);
        assert_eq!(by_opponent("none none computer stockfish 17"), RescaleParams::default().rescale(-20.0));
        assert_eq!(by_opponent(""), RescaleParams::default().rescale(50.0));
        assert_eq!(contempt(&[("UCI_RatingAdv", "33")]).rescale, RescaleParams::default().rescale(33.0));
        let all = contempt(&[
            ("ContemptMode", "black_side_analysis"),
            ("Contempt", "1000"),
            ("ContemptMaxValue", "200"),
            ("WDLCalibrationElo", "2800"),
            ("WDLDrawRateReference", "0.58"),
            ("WDLContemptAttenuation", "0.5"),
            ("WDLMaxS", "2"),
            ("WDLEvalObjectivity", "0.25"),
        ]);
        assert_eq!((all.mode, all.objectivity, all.rescale.max_s), (ContemptMode::BlackSideAnalysis, 0.25, 2.0));
        assert!((all.rescale.ratio - 1.483695).abs() < 1e-5 && (all.rescale.diff - 3.246265 / 2.0).abs() < 1e-5);
        let by_draws = contempt(&[("UCI_RatingAdv", "100"), ("WDLDrawRateTarget", "0.8")]).rescale;
        assert!((by_draws.ratio - 0.5).abs() < 1e-5 && (by_draws.diff - 0.654209).abs() < 1e-5);
    }

    #[test]
    fn threads_and_caches() {
        let settings = typed(&[
            ("Threads", "5"),
            ("GatherThreads", "1"),
            ("EvalThreads", "2"),
            ("BackpropThreads", "3"),
            ("NNCacheSize", "1000"),
            ("NNCacheMb", "7"),
            ("BackendOptions", "threads=9"),
        ])
        .meaning()
        .unwrap()
        .settings;
        let workers = settings.workers;
        assert_eq!([workers.all, workers.gather, workers.eval, workers.backprop], [5, 1, 2, 3]);
        assert_eq!((settings.cache.entries, settings.cache.mb), (1000, 7));
        assert_eq!(settings.evaluator.threads, 9);
    }

    #[test]
    fn a_tree_or_a_graph() {
        use crate::memory::Layout::{Graph, Tree};
        let layout = |shape, backend| {
            let typed = typed(&[("SearchGraph", shape), ("Backend", backend)]);
            typed.meaning().unwrap().settings.layout()
        };
        for (backend, by_itself) in
            [("auto", Graph), ("host", Graph), ("opencl", Graph), ("random", Tree), ("constant", Tree)]
        {
            let shapes = ["auto", "graph", "Tree"].map(|shape| layout(shape, backend));
            assert_eq!(shapes, [by_itself, Graph, Tree], "{backend}");
        }
        let opt = table::by_name("SearchGraph").unwrap();
        assert!(Typed::default().set(opt, "SearchGraph", "forest").is_err());
    }

    #[test]
    fn the_final_choice() {
        let choice = |options: &[(&str, &str)]| typed(options).meaning().unwrap().settings.params.final_choice;
        assert_eq!(choice(&[("LcbStdevs", "3")]), FinalChoice::Visits);
        assert_eq!(choice(&[("FinalChoice", "lcb")]), FinalChoice::Lcb(Lcb::default()));
        let lcb = Lcb { stdevs: 3.0, min_visit_share: 0.5 };
        let all = [("FinalChoice", "LCB"), ("LcbStdevs", "3"), ("LcbMinVisitShare", "0.5")];
        assert_eq!(choice(&all), FinalChoice::Lcb(lcb));
    }

    #[test]
    fn a_default_under_one_name_leaves_what_came_under_the_other() {
        for opt in table::all().filter(|opt| opt.alias.is_some()) {
            let [name, alias] = [opt.name, opt.alias.unwrap()];
            let (default, set) = (opt.kind.default().unwrap(), other(&opt.kind).unwrap());
            for (one, two) in [(name, alias), (alias, name)] {
                let mut typed = Typed::default();
                // A value from the command line has neither of the two names, so either can set the default again.
                typed.set(opt, "--", &set.to_string()).unwrap();
                for (spelling, value, then) in [
                    (one, &default, &default),
                    (one, &set, &set),
                    (two, &default, &set),
                    (&*one.to_uppercase(), &default, &default),
                    (two, &set, &set),
                    (two, &default, &default),
                ] {
                    typed.set_by_name(opt, spelling, &value.to_string()).unwrap();
                    assert_eq!(typed.value(opt).as_ref(), Some(then), "{spelling} {value}");
                }
                assert!(typed.set_by_name(opt, one, "x").unwrap_err().to_string().starts_with(name));
            }
        }
    }

    #[test]
    fn a_refused_value_changes_nothing() {
        let mut typed = typed(&[("Hash", "64")]);
        for (name, value, message) in [
            ("Hash", "0", "Hash: expected a whole number from 1 to 1048576, got \"0\""),
            ("Hash", "abc", "Hash: expected a whole number from 1 to 1048576, got \"abc\""),
            (
                "Hash",
                "999999999999999999999",
                "Hash: expected a whole number from 1 to 1048576, got \"999999999999999999999\"",
            ),
            ("CPuct", "nan", "CPuct: expected a number from 0 to 100, got \"nan\""),
            ("CPuct", "-inf", "CPuct: expected a number from 0 to 100, got \"-inf\""),
            ("Ponder", "yes", "Ponder: expected true or false, got \"yes\""),
            ("Contempt", "5,x", "Contempt: at offset 2: expected NUMBER or NAME=NUMBER, got \"x\""),
            ("FpuStrategy", "", "FpuStrategy: expected one of reduction, absolute, got \"\""),
            (
                "TimeManager",
                "smooth(x)",
                "TimeManager: at offset 7: expected one of init-tree-reuse, max-tree-reuse, tree-reuse-update-rate, init-nps, nps-update-rate, init-timeuse, min-timeuse, timeuse-update-rate, max-move-budget, min-move-budget, reserve, max-extension, pace-rate, value-drop, settle-time, mle-legacy, mle-pieces, mle-network, got \"x\"",
            ),
        ] {
            let error = typed.set(table::by_name(name).unwrap(), name, value).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(typed.meaning().unwrap().settings.hash_mb, 64);
    }

    #[test]
    fn without_effect_is_said_once_it_would_matter() {
        let mut typed = Typed::default();
        let opt = table::by_name("TaskWorkers").unwrap();
        assert_eq!(typed.set(opt, "TaskWorkers", "-1"), Ok(Change::Set));
        assert!(matches!(typed.set(opt, "TaskWorkers", "4"), Ok(Change::WithoutEffect(_))));
        assert_eq!(typed.without_effect().len(), 1);
    }

    #[test]
    fn what_counts_at_the_start_only_says_so_later() {
        let mut typed = Typed::default();
        let opt = table::by_name("ConfigFile").unwrap();
        let change = typed.set(opt, "ConfigFile", "oncilla.config");
        assert!(matches!(change, Ok(Change::WithoutEffect(reason)) if reason.contains("--config=FILE")), "{change:?}");
        assert!(typed.without_effect().is_empty(), "on the command line it has one");
    }
}
