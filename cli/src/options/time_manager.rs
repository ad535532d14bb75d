//! `TimeManager`: a manager's name and its parameters.

use oncilla_core::time::{MleLegacy, MovesLeft, SmoothParams};

use super::suboptions::{Content, Item, List, SubOptionError, parse};

/// Reads `smooth(…)`.
///
/// # Errors
/// One line that says where and what: syntax, another manager, an unknown parameter, a value out of its range.
pub fn read(text: &str) -> Result<SmoothParams, String> {
    let list = parse(text).map_err(|error| error.to_string())?;
    let [manager] = &list.items[..] else {
        return Err(format!("expected one time manager, got {}", list.items.len()));
    };
    match (manager.name.as_str(), &manager.content) {
        ("smooth", Content::List(parameters)) => smooth(parameters),
        _ => Err(refuse(manager, "the time manager smooth, the only one there is", manager.name.clone())),
    }
}

fn smooth(parameters: &List) -> Result<SmoothParams, String> {
    let mut params = SmoothParams::default();
    for item in &parameters.items {
        let field = match item.name.as_str() {
            "init-tree-reuse" => &mut params.init_tree_reuse,
            "max-tree-reuse" => &mut params.max_tree_reuse,
            "tree-reuse-update-rate" => &mut params.tree_reuse_update_rate,
            "init-nps" => &mut params.init_nps,
            "nps-update-rate" => &mut params.nps_update_rate,
            "init-timeuse" => &mut params.init_timeuse,
            "min-timeuse" => &mut params.min_timeuse,
            "timeuse-update-rate" => &mut params.timeuse_update_rate,
            "max-move-budget" => &mut params.max_move_budget,
            "min-move-budget" => &mut params.min_move_budget,
            "mle-legacy" => {
                params.moves_left = MovesLeft::Legacy(mle_legacy(item)?);
                continue;
            }
            _ => {
                let known = "one of init-tree-reuse, max-tree-reuse, tree-reuse-update-rate, init-nps, \
                             nps-update-rate, init-timeuse, min-timeuse, timeuse-update-rate, max-move-budget, \
                             min-move-budget, mle-legacy";
                return Err(refuse(item, known, crate::text::quoted(&item.name)));
            }
        };
        *field = number(item)?;
    }
    params.check().map_err(|error| error.to_string())?;
    Ok(params)
}

fn mle_legacy(item: &Item) -> Result<MleLegacy, String> {
    let Content::List(parameters) = &item.content else {
        return Err(refuse(item, "mle-legacy(midpoint=…, steepness=…)", item.content.to_string()));
    };
    let mut legacy = MleLegacy::default();
    for item in &parameters.items {
        match item.name.as_str() {
            "midpoint" => legacy.midpoint = number(item)?,
            "steepness" => legacy.steepness = number(item)?,
            _ => return Err(refuse(item, "midpoint or steepness", crate::text::quoted(&item.name))),
        }
    }
    Ok(legacy)
}

fn number(item: &Item) -> Result<f64, String> {
    match item.content {
        Content::Number(number) => Ok(number),
        ref other => Err(refuse(item, &format!("{}=NUMBER", item.name), other.to_string())),
    }
}

fn refuse(item: &Item, expected: &str, got: String) -> String {
    SubOptionError { offset: item.offset, expected: expected.to_string(), got }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_own_examples() {
        let params = read("smooth(init-tree-reuse=0.2,init-nps=12345.0)").unwrap();
        let expected = SmoothParams { init_tree_reuse: 0.2, init_nps: 12345.0, ..SmoothParams::default() };
        assert_eq!(params, expected);
        let params = read("smooth(mle-legacy(steepness=12.0,midpoint=50.0))").unwrap();
        let legacy = MovesLeft::Legacy(MleLegacy { midpoint: 50.0, steepness: 12.0 });
        assert_eq!(params, SmoothParams { moves_left: legacy, ..SmoothParams::default() });
        assert_eq!(read("smooth"), Ok(SmoothParams::default()));
    }

    #[test]
    fn every_parameter_arrives_where_it_belongs() {
        let text = "smooth(init-tree-reuse=.1,max-tree-reuse=.2,tree-reuse-update-rate=3,init-nps=4,nps-update-rate=5,\
                    init-timeuse=.6,min-timeuse=.5,timeuse-update-rate=8,max-move-budget=.9,min-move-budget=.25,\
                    mle-legacy(midpoint=11,steepness=12))";
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
            min_move_budget: 0.25,
            moves_left: MovesLeft::Legacy(MleLegacy { midpoint: 11.0, steepness: 12.0 }),
        };
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn refusals() {
        let error = |text| read(text).unwrap_err();
        assert!(error("legacy").starts_with("at offset 0: expected the time manager smooth"));
        assert_eq!(error(""), "expected one time manager, got 0");
        assert!(error("smooth(init-timeuze=1)").starts_with("at offset 7: expected one of init-tree-reuse"));
        assert_eq!(error("smooth(init-nps=fast)"), "at offset 7: expected init-nps=NUMBER, got \"fast\"");
        assert_eq!(error("smooth(init-nps=0)"), "init-nps must be above 0, not 0");
        assert!(error("smooth(mle-legacy=5)").starts_with("at offset 7: expected mle-legacy("));
        assert!(error("smooth(").starts_with("at offset 7"));
    }
}
