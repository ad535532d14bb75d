//! Parses `TimeManager`: a manager's name and its parameters.

use oncilla_core::OutOfRange;
use oncilla_core::time::{
    AlphaZeroParams, LegacyParams, ManagerParams, MleNetwork, MlePieces, MovesLeftEstimator, SimpleParams, SmoothParams,
};

use super::suboptions::{Content, Item, List, SubOptionError, parse};
use crate::text::quoted;

/// Parses `smooth(…)`, `legacy(…)`, `alphazero(…)` or `simple(…)`.
///
/// # Errors
/// One line, with the position and the reason: a syntax error, another manager, an unknown parameter, or a value out of
/// its range.
pub fn read(text: &str) -> Result<ManagerParams, String> {
    manager(text).map_err(|error| error.to_string())
}

fn manager(text: &str) -> Result<ManagerParams, SubOptionError> {
    let list = parse(text)?;
    let Some(item) = list.items.first() else {
        return Err(SubOptionError { offset: 0, expected: KNOWN.to_string(), got: "nothing".to_string() });
    };
    if let Some(second) = list.items.get(1) {
        return Err(refuse(
            second,
            "one time manager",
            format!("{} after {}", quoted(&second.name), quoted(&item.name)),
        ));
    }
    let Content::List(parameters) = &item.content else {
        return Err(refuse(item, &format!("{}(…)", item.name), format!("{}={}", item.name, item.content)));
    };
    Ok(match item.name.as_str() {
        "smooth" => ManagerParams::Smooth(smooth(parameters)?),
        "legacy" => ManagerParams::Legacy(legacy(parameters)?),
        "alphazero" => ManagerParams::AlphaZero(alphazero(parameters)?),
        "simple" => ManagerParams::Simple(simple(parameters)?),
        _ => return Err(refuse(item, KNOWN, quoted(&item.name))),
    })
}

const KNOWN: &str = "one of smooth, legacy, alphazero, simple";

fn smooth(parameters: &List) -> Result<SmoothParams, SubOptionError> {
    let mut params = SmoothParams::default();
    let mut estimators = None;
    for item in &parameters.items {
        if let Some(which) = item.name.strip_prefix("mle-") {
            // If the user names estimators, no others are used.
            let chosen = estimators.get_or_insert(MovesLeftEstimator::by_number(params.moves_left.legacy));
            estimator(which, item, chosen)?;
            params.moves_left = *chosen;
        } else {
            let fields = [
                ("init-tree-reuse", &mut params.init_tree_reuse),
                ("max-tree-reuse", &mut params.max_tree_reuse),
                ("tree-reuse-update-rate", &mut params.tree_reuse_update_rate),
                ("init-nps", &mut params.init_nps),
                ("nps-update-rate", &mut params.nps_update_rate),
                ("init-timeuse", &mut params.init_timeuse),
                ("min-timeuse", &mut params.min_timeuse),
                ("timeuse-update-rate", &mut params.timeuse_update_rate),
                ("max-move-budget", &mut params.max_move_budget),
                ("min-move-budget", &mut params.min_move_budget),
                ("reserve", &mut params.reserve),
                ("max-extension", &mut params.max_extension),
                ("pace-rate", &mut params.pace_rate),
                ("value-drop", &mut params.unrest.value_drop),
                ("settle-time", &mut params.unrest.settle_time),
            ];
            set(item, fields, ", mle-legacy, mle-pieces, mle-network")?;
        }
        in_range(item, params.check())?;
    }
    Ok(params)
}

fn estimator(which: &str, item: &Item, chosen: &mut MovesLeftEstimator) -> Result<(), SubOptionError> {
    match which {
        "legacy" => {
            let legacy = &mut chosen.legacy;
            set_all(item, |inner| {
                set(inner, [("midpoint", &mut legacy.midpoint), ("steepness", &mut legacy.steepness)], "")
            })
        }
        "pieces" => {
            let pieces = chosen.pieces.insert(MlePieces::default());
            set_all(item, |inner| set(inner, [("full", &mut pieces.full), ("bare", &mut pieces.bare)], ""))
        }
        "network" => {
            let network = chosen.network.insert(MleNetwork::default());
            set_all(item, |inner| set(inner, [("least", &mut network.least), ("most", &mut network.most)], ""))
        }
        _ => Err(refuse(item, "one of mle-legacy, mle-pieces, mle-network", quoted(&item.name))),
    }
}

fn legacy(parameters: &List) -> Result<LegacyParams, SubOptionError> {
    let mut params = LegacyParams::default();
    for item in &parameters.items {
        let fields = [
            ("slowmover", &mut params.slowmover),
            ("midpoint-move", &mut params.moves_left.midpoint),
            ("steepness", &mut params.moves_left.steepness),
            ("immediate-use", &mut params.immediate_use),
            ("first-move-bonus", &mut params.first_move_bonus),
            ("book-ply-bonus", &mut params.book_ply_bonus),
        ];
        set(item, fields, "")?;
        in_range(item, params.check())?;
    }
    Ok(params)
}

fn alphazero(parameters: &List) -> Result<AlphaZeroParams, SubOptionError> {
    let mut params = AlphaZeroParams::default();
    for item in &parameters.items {
        set(item, [("alphazero-time-pct", &mut params.time_pct)], "")?;
        in_range(item, params.check())?;
    }
    Ok(params)
}

fn simple(parameters: &List) -> Result<SimpleParams, SubOptionError> {
    let mut params = SimpleParams::default();
    for item in &parameters.items {
        let fields = [
            ("base-pct", &mut params.base_pct),
            ("ply-pct", &mut params.ply_pct),
            ("time-factor", &mut params.time_factor),
            ("opening-bonus-pct", &mut params.opening_bonus_pct),
        ];
        set(item, fields, "")?;
        in_range(item, params.check())?;
    }
    Ok(params)
}

/// Writes a parameter's number to its field. `and` is the end of the error's list of names.
fn set<const N: usize>(item: &Item, fields: [(&str, &mut f64); N], and: &str) -> Result<(), SubOptionError> {
    let names = fields.each_ref().map(|(name, _)| *name).join(", ");
    let Some((_, field)) = fields.into_iter().find(|(name, _)| *name == item.name) else {
        return Err(refuse(item, &format!("one of {names}{and}"), quoted(&item.name)));
    };
    let Content::Number(number) = item.content else {
        return Err(refuse(item, &format!("{}=NUMBER", item.name), item.content.to_string()));
    };
    *field = number;
    Ok(())
}

/// Calls `each` for the parameters in an item's own list.
fn set_all(item: &Item, each: impl FnMut(&Item) -> Result<(), SubOptionError>) -> Result<(), SubOptionError> {
    match &item.content {
        Content::List(parameters) => parameters.items.iter().try_for_each(each),
        other => Err(refuse(item, &format!("{}(PARAMETER=NUMBER,…)", item.name), other.to_string())),
    }
}

fn in_range(item: &Item, checked: Result<(), OutOfRange>) -> Result<(), SubOptionError> {
    checked.map_err(|error| refuse(item, &format!("{} {}", error.name, error.expected), error.value.to_string()))
}

fn refuse(item: &Item, expected: &str, got: String) -> SubOptionError {
    SubOptionError { offset: item.offset, expected: expected.to_string(), got }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_core::time::MleLegacy;
    use oncilla_core::time::unrest::UnrestParams;

    fn smooth(text: &str) -> SmoothParams {
        match read(text) {
            Ok(ManagerParams::Smooth(params)) => params,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_seeds_own_examples() {
        let params = smooth("smooth(init-tree-reuse=0.2,init-nps=12345.0)");
        let expected = SmoothParams { init_tree_reuse: 0.2, init_nps: 12345.0, ..SmoothParams::default() };
        assert_eq!(params, expected);
        let params = smooth("smooth(mle-legacy(steepness=12.0,midpoint=50.0))");
        let moves_left = MovesLeftEstimator::by_number(MleLegacy { midpoint: 50.0, steepness: 12.0 });
        assert_eq!(params, SmoothParams { moves_left, ..SmoothParams::default() });
        assert_eq!(smooth("smooth(mle-legacy(steepness=12,midpoint=50))"), params);
        assert_eq!(smooth("smooth"), SmoothParams::default());
    }

    #[test]
    fn every_parameter_arrives_where_it_belongs() {
        let text = "smooth(init-tree-reuse=.1,max-tree-reuse=.2,tree-reuse-update-rate=3,init-nps=4,nps-update-rate=5,\
                    init-timeuse=.6,min-timeuse=.5,timeuse-update-rate=8,max-move-budget=.9,min-move-budget=.25,\
                    reserve=.3,max-extension=4,pace-rate=.2,value-drop=.35,settle-time=.45,\
                    mle-legacy(midpoint=11,steepness=12),mle-pieces(full=40,bare=20),mle-network(least=6,most=3))";
        let expected = SmoothParams {
            init_tree_reuse: 0.1,
            max_tree_reuse: 0.2,
            tree_reuse_update_rate: 3.0,
            init_nps: 4.0,
            nps_update_rate: 5.0,
            init_timeuse: 0.6,
            min_timeuse: 0.5,
            timeuse_update_rate: 8.0,
            max_move_budget: 0.9,
            moves_left: MovesLeftEstimator {
                network: Some(MleNetwork { least: 6.0, most: 3.0 }),
                pieces: Some(MlePieces { full: 40.0, bare: 20.0 }),
                legacy: MleLegacy { midpoint: 11.0, steepness: 12.0 },
            },
            min_move_budget: 0.25,
            reserve: 0.3,
            max_extension: 4.0,
            pace_rate: 0.2,
            unrest: UnrestParams { value_drop: 0.35, settle_time: 0.45 },
        };
        assert_eq!(smooth(text), expected);
        let legacy = LegacyParams {
            slowmover: 2.0,
            moves_left: MleLegacy { midpoint: 30.0, steepness: 4.0 },
            immediate_use: 0.5,
            first_move_bonus: 0.75,
            book_ply_bonus: 0.125,
        };
        let text = "legacy(slowmover=2,midpoint-move=30,steepness=4,immediate-use=.5,first-move-bonus=.75,\
                    book-ply-bonus=.125)";
        assert_eq!(read(text), Ok(ManagerParams::Legacy(legacy)));
        let alphazero = AlphaZeroParams { time_pct: 5.0 };
        assert_eq!(read("alphazero(alphazero-time-pct=5.0)"), Ok(ManagerParams::AlphaZero(alphazero)));
        let simple = SimpleParams { base_pct: 1.0, ply_pct: 0.5, time_factor: 2.0, opening_bonus_pct: 50.0 };
        let text = "simple(base-pct=1,ply-pct=.5,time-factor=2,opening-bonus-pct=50)";
        assert_eq!(read(text), Ok(ManagerParams::Simple(simple)));
    }

    #[test]
    fn an_estimator_that_is_named_is_the_only_one() {
        let pieces = smooth("smooth(mle-pieces)").moves_left;
        assert_eq!((pieces.network, pieces.pieces), (None, Some(MlePieces::default())));
        let network = smooth("smooth(mle-network(least=5))").moves_left;
        assert_eq!((network.network, network.pieces), (Some(MleNetwork { least: 5.0, ..MleNetwork::default() }), None));
        assert_eq!(smooth("smooth(mle-legacy)").moves_left, MovesLeftEstimator::by_number(MleLegacy::default()));
    }

    #[test]
    fn refusals_say_where() {
        let error = |text| read(text).unwrap_err();
        assert_eq!(error(""), format!("at offset 0: expected {KNOWN}, got nothing"));
        assert_eq!(error("alphago"), format!("at offset 0: expected {KNOWN}, got \"alphago\""));
        assert_eq!(error("smooth,legacy"), "at offset 7: expected one time manager, got \"legacy\" after \"smooth\"");
        assert_eq!(error("smooth=1"), "at offset 0: expected smooth(…), got smooth=1");
        assert!(error("smooth(init-timeuze=1)").starts_with("at offset 7: expected one of init-tree-reuse"));
        assert_eq!(error("smooth(init-nps=fast)"), "at offset 7: expected init-nps=NUMBER, got \"fast\"");
        assert_eq!(
            error("smooth(reserve=0.1,init-nps=0)"),
            "at offset 19: expected init-nps above 0 and at most 1e12, got 0"
        );
        assert!(error("smooth(mle-legacy=5)").starts_with("at offset 7: expected mle-legacy("));
        assert_eq!(
            error("smooth(mle-fast)"),
            "at offset 7: expected one of mle-legacy, mle-pieces, mle-network, got \"mle-fast\""
        );
        assert_eq!(
            error("smooth(mle-legacy(midpoint=50.0,steep=1))"),
            "at offset 32: expected one of midpoint, steepness, got \"steep\""
        );
        assert_eq!(
            error("smooth(mle-network(least=0))"),
            "at offset 7: expected mle-network least in [1, 1000000], got 0"
        );
        assert_eq!(error("simple(ply-pct=2)"), "at offset 7: expected ply-pct in [0, 1], got 2");
        assert_eq!(
            error("alphazero(time-pct=2)"),
            "at offset 10: expected one of alphazero-time-pct, got \"time-pct\""
        );
        assert_eq!(error("legacy(slowmover=-1)"), "at offset 7: expected slowmover in [0, 100], got -1");
        assert_eq!(error("smooth("), "at offset 7: expected a comma or ), got the end");
    }

    /// The names and defaults in the rows of docs/time.md that begin with both.
    fn documented() -> Vec<(&'static str, &'static str)> {
        let page = include_str!("../../../docs/time.md");
        let row = |line: &'static str| {
            let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((name, rest.split_once(" |")?.0))
        };
        page.lines().filter_map(row).collect()
    }

    /// Every parameter has a row with its right default.
    #[test]
    fn the_page_about_time_has_every_parameter_with_its_default() {
        let rows = documented();
        let mut seen = 0;
        for manager in ["smooth", "legacy", "alphazero", "simple"] {
            let refused = read(&format!("{manager}(x=1)")).unwrap_err();
            let names = refused.split_once("expected one of ").unwrap().1.split_once(", got").unwrap().0;
            for name in names.split(", ").filter(|name| !name.starts_with("mle-")) {
                let is_it = |row: &&(&str, &str)| row.0 == name && row.1.parse::<f64>().is_ok();
                let (_, default) = rows.iter().find(is_it).unwrap_or_else(|| panic!("{manager}: {name}"));
                assert_eq!(read(&format!("{manager}({name}={default})")), read(manager), "{name}");
                seen += 1;
            }
        }
        assert_eq!(seen, 15 + 6 + 1 + 4);
        // These estimators have two numbers each, and naming one excludes the others.
        for (name, of) in [
            ("mle-pieces", ["full", "bare"]),
            ("mle-network", ["least", "most"]),
            ("mle-legacy", ["midpoint", "steepness"]),
        ] {
            let long = format!("{name}({})", of.join(", "));
            let (_, defaults) = rows.iter().find(|row| row.0 == long).unwrap_or_else(|| panic!("{long}"));
            let numbers: Vec<String> =
                of.iter().zip(defaults.split(", ")).map(|(of, number)| format!("{of}={number}")).collect();
            let (with, without) = (format!("smooth({name}({}))", numbers.join(",")), format!("smooth({name}())"));
            assert_eq!((numbers.len(), read(&with)), (2, read(&without)), "{name}");
        }
    }
}
