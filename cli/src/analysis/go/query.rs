//! A query about Go.

use oncilla_go::Rules;
use std::sync::Arc;

use crate::analysis::due::Reports;
use crate::analysis::overriding::{self, OVERRIDES, UNUSED, unset};
use crate::analysis::queue::QueuedQuery;
use crate::analysis::turns::{Accepted, Read, prioritized, turns};
use crate::fields::{BadField, Fields, Object, ROOT_FPU};
use crate::go::setup::{self, Setup, Transcript};
use crate::go::{Imitation, Known, Params, Plan, Restrictions, Wanted};

/// Every field that a query may have. (Those of actions are ignored, and so is `action` itself if it is not text.)
const FIELDS: [&str; 31] = [
    "action",
    "allowMoves",
    "analysisPVLen",
    "analyzeTurns",
    "avoidMoves",
    "boardXSize",
    "boardYSize",
    "firstReportDuringSearchAfter",
    "id",
    "includeMovesOwnership",
    "includeMovesOwnershipStdev",
    "includeNoResultValue",
    "includeOwnership",
    "includeOwnershipStdev",
    "includePVVisits",
    "includePolicy",
    "initialPlayer",
    "initialStones",
    "komi",
    "maxVisits",
    "moves",
    "overrideSettings",
    "priorities",
    "priority",
    "reportDuringSearchEvery",
    ROOT_FPU,
    "rootPolicyTemperature",
    "rules",
    "terminateId",
    "turnNumbers",
    "whiteHandicapBonus",
];

/// Whether a query may have a field of this name.
pub fn is_field(name: &str) -> bool {
    FIELDS.binary_search(&name).is_ok()
}

/// A query that was read.
#[derive(Debug)]
pub struct Query {
    /// The query's id, which need not be unique.
    pub id: String,
    /// The initial position and the moves that were played.
    pub setup: Setup,
    /// How to search, including what the query itself says about it.
    pub params: Params,
    /// Moves that are left out.
    pub restrictions: Arc<Restrictions>,
    /// What the answers contain.
    pub wanted: Wanted,
    /// When to report before the end of the search.
    pub reports: Reports,
}

impl Query {
    /// How the query is searched, with batches of at most `batch` positions and `notes_bytes` bytes of notes.
    pub fn plan(&self, batch: usize, notes_bytes: usize) -> Plan {
        let plan = self.params.plan(batch, notes_bytes);
        Plan { keeps_ownership: self.wanted.any_ownership(), ..plan.with(Arc::clone(&self.restrictions)) }
    }
}

impl QueuedQuery for Query {
    fn id(&self) -> &str {
        &self.id
    }

    fn session(&self) -> Option<&str> {
        None
    }

    fn bytes(&self) -> usize {
        let restrictions = size_of::<Restrictions>() + self.restrictions.bytes();
        size_of::<Self>() + self.id.len() + self.setup.bytes() + restrictions
    }
}

/// The defaults that count unless a query says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    params: Params,
    /// If the main network is one for human play, a query has to have a profile; if no network is, it must have none.
    networks: Imitation,
}

impl Defaults {
    /// Defaults with the program's parameters, for a network that is not for human play.
    pub fn new(params: Params) -> Self {
        Self::for_networks(params, Imitation::default())
    }

    /// Defaults with the program's parameters, where these networks are for human play.
    pub fn for_networks(params: Params, networks: Imitation) -> Self {
        Self { params, networks }
    }

    /// Reads a query. The fields are looked at in KataGo's order, so that if several are bad, the same one is named.
    pub fn read(&self, id: &str, object: &Object) -> Read<Query> {
        let mut warnings = Vec::new();
        let query = self.try_read(id, Fields(object), &mut warnings);
        Read { query, warnings }
    }

    fn try_read(
        &self,
        id: &str,
        fields: Fields<'_>,
        warnings: &mut Vec<BadField>,
    ) -> Result<Accepted<Query>, BadField> {
        let transcript = Transcript::read(fields)?;
        let turns = turns(fields, transcript.turns())?;
        let rules = setup::rules(fields)?;
        let params = self.params(fields, warnings)?;
        let wanted = Wanted::read(fields)?;
        let reports = Reports::read(fields)?;
        let turns = prioritized(fields, turns)?;
        let restrictions = Restrictions::read(fields, transcript.size())?.into();
        let rules = supported(rules, warnings);
        self.warn_of_unused(fields, warnings);
        let setup = transcript.setup(rules, params.black_run_is_handicap)?;
        Ok(Accepted { query: Query { id: id.to_string(), setup, params, restrictions, wanted, reports }, turns })
    }

    /// The parameters as changed by `overrideSettings`, and then by the query's own fields, which count for more.
    fn params(&self, fields: Fields<'_>, warnings: &mut Vec<BadField>) -> Result<Params, BadField> {
        let mut params = self.params;
        override_settings(fields, self.networks, &mut params, warnings)?;
        self.networks.suits(&params).map_err(unset)?;
        self.networks.profile(&params).map_err(|error| BadField::new(OVERRIDES, error))?;
        if let Some(visits) = fields.max_visits()? {
            params.max_visits = visits;
        }
        if let Some(len) = fields.pv_len()? {
            params.analysis_pv_len = len;
        }
        if let Some(reduction) = fields.root_fpu_reduction()? {
            params.root_fpu_reduction_max = reduction;
        }
        if let Some(temperature) = fields.root_policy_temperature()? {
            params.root_policy_temperature = temperature;
        }
        Ok(params)
    }

    fn warn_of_unused(&self, fields: Fields<'_>, warnings: &mut Vec<BadField>) {
        if self.params.warn_unused_fields {
            let unused = fields.0.keys().filter(|key| !is_field(key));
            warnings.extend(unused.map(|key| BadField::new(key, UNUSED)));
        }
    }
}

/// The warning about what KataGo's search has and ours does not have.
const LACKING: &str = "Config params of KataGo's that have no effect here";

/// Reads `overrideSettings`. Names that KataGo doesn't have get one warning together, and so do parameters that only
/// its search has; the warnings are given even if another field is bad.
fn override_settings(
    fields: Fields<'_>,
    networks: Imitation,
    params: &mut Params,
    warnings: &mut Vec<BadField>,
) -> Result<(), BadField> {
    let Some(object) = overriding::read(fields)? else { return Ok(()) };
    // A parameter with an empty value is as one that nobody has named: see below.
    let named = object.iter().filter(|(_, value)| value.as_str() != Some("")).map(|(name, _)| name.as_str());
    networks.permits(named).map_err(unset)?;
    let (mut unknown, mut lacking) = (Vec::new(), Vec::new());
    for (name, value) in object {
        let text = match value.as_str() {
            // As in KataGo, the parameter is then as if no file had named it.
            Some("") => Params::default().get(name).unwrap_or_default(),
            // Text counts as the value that it spells.
            Some(text) => text.to_string(),
            None => value.to_string(),
        };
        if value.as_str() != Some("") && Params::lacks(name, &text) {
            lacking.push(name.as_str());
        }
        if params.set_for_query(name, &text).map_err(unset)? == Known::No {
            unknown.push(name.as_str());
        }
    }
    warnings.extend(overriding::warning(overriding::UNKNOWN, &unknown));
    warnings.extend(overriding::warning(LACKING, &lacking));
    Ok(())
}

/// The rules that the network knows instead of `rules`; adds a warning if they differ.
fn supported(rules: Rules, warnings: &mut Vec<BadField>) -> Rules {
    let supported = setup::supported(rules);
    if supported != rules {
        let text = format!("Rules {rules} not supported by neural net, using {supported} instead");
        warnings.push(BadField::new("rules", text));
    }
    supported
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::NO_PROFILE;
    use oncilla_go::{Color, MAX_AREA};
    use quickcheck::{Arbitrary, Gen, QuickCheck};
    use serde_json::Value;
    use serde_json::json;

    fn object(fields: &Value) -> Object {
        let usual = json!({ "id": "q", "boardXSize": 9, "boardYSize": 9, "moves": [["B", "E5"]], "rules": "chinese" });
        let mut object = usual.as_object().unwrap().clone();
        object.extend(fields.as_object().unwrap().clone());
        object
    }

    fn read(fields: &Value) -> Read<Query> {
        Defaults::default().read("q", &object(fields))
    }

    fn query(fields: &Value) -> Query {
        read(fields).query.unwrap().query
    }

    #[test]
    fn fields_are_sorted() {
        assert!(FIELDS.is_sorted());
    }

    #[test]
    fn the_query_counts_for_more_than_its_overrides_and_these_for_more_than_the_program() {
        let mut params = Params::default();
        assert_eq!(params.set("maxVisits", "7"), Ok(Known::Yes));
        let read = |fields: Value| {
            let read = Defaults::new(params).read("q", &object(&fields));
            read.query.unwrap().query.params
        };
        assert_eq!(read(json!({})), params);
        let overrides =
            json!({ "maxVisits": 5, "rootFpuReductionMax": "0.5", "analysisPVLen": "3", "wideRootNoise": 0 });
        let own = read(json!({ "overrideSettings": overrides }));
        assert_eq!((own.max_visits, own.root_fpu_reduction_max, own.analysis_pv_len), (5, 0.5, 3));
        assert_eq!((own.wide_root_noise, own.root_policy_temperature), (0.0, 1.0));
        let fields = json!({
            "overrideSettings": overrides, "maxVisits": 30, "rootFpuReductionMax": 0, "analysisPVLen": 9,
            "rootPolicyTemperature": 2,
        });
        let own = read(fields);
        assert_eq!((own.max_visits, own.root_fpu_reduction_max, own.analysis_pv_len), (30, 0.0, 9));
        assert_eq!(own.root_policy_temperature, 2.0);
    }

    /// There are two kinds of networks: one must be told whose play is wanted, the other can't be.
    #[test]
    fn a_profile_goes_with_a_network_for_human_play() {
        let read = |is_for_human_play, fields: &Value| {
            let defaults = Defaults::for_networks(Params::default(), Imitation::alone(is_for_human_play));
            let read = defaults.read("q", &object(fields)).query;
            read.map(|accepted| accepted.query.params.get("humanSLProfile").unwrap()).map_err(|bad| bad.error)
        };
        let with = |profile: &str| json!({ "overrideSettings": { "humanSLProfile": profile } });
        assert_eq!(read(true, &with("preaz_3d_5k")), Ok("preaz_3d_5k".to_string()));
        for is_for_human_play in [false, true] {
            let unknown = "Could not set settings: Unknown human SL network profile: rank_10d";
            assert_eq!(read(is_for_human_play, &with("rank_10d")), Err(unknown.to_string()));
        }
        for none in [json!({}), with(""), with("_")] {
            assert_eq!(read(true, &none), Err(NO_PROFILE.to_string()));
            assert_eq!(read(false, &none), Ok(String::new()));
        }
        let unused = read(false, &with("rank_3d")).unwrap_err();
        assert!(unused.ends_with("the network does not use it"), "{unused}");
        // The program's own profile counts if a query has none.
        let mut params = Params::default();
        assert_eq!(params.set("humanSLProfile", "proyear_1990"), Ok(Known::Yes));
        let read = Defaults::for_networks(params, Imitation::alone(true)).read("q", &object(&json!({})));
        assert_eq!(read.query.unwrap().query.params, params);
    }

    #[test]
    fn what_is_wanted() {
        let all = json!({
            "includePolicy": true, "includeOwnership": true, "includeOwnershipStdev": true, "includeMovesOwnership": true,
            "includeMovesOwnershipStdev": true, "includePVVisits": true, "includeNoResultValue": true,
        });
        let Wanted { policy, ownership, ownership_stdev, moves_ownership, moves_ownership_stdev, .. } =
            query(&all).wanted;
        assert!(policy && ownership && ownership_stdev && moves_ownership && moves_ownership_stdev);
        assert!(query(&all).wanted.pv_visits && query(&all).wanted.no_result_value);
        assert_eq!(query(&json!({})).wanted, Wanted::default());
        let reports = query(&json!({ "reportDuringSearchEvery": 2 })).reports;
        assert_eq!(reports, Reports { first: Some(2.0), every: Some(2.0) });
    }

    #[test]
    fn warnings_come_in_katagos_order() {
        let fields = json!({
            "session": "s", "fen": "", "includeTree": true, "maxTime": 1,
            "rules": { "scoring": "TERRITORY", "hasButton": true },
            "overrideSettings": { "b": 1, "a": 2 },
            "moves": [["B", "E5"], ["W", "E5"]],
        });
        let Read { query, warnings } = read(&fields);
        assert_eq!(query.unwrap_err(), BadField::new("moves", "Illegal move 1: E5"));
        let named: Vec<&str> = warnings.iter().map(|warning| warning.field.as_str()).collect();
        assert_eq!(named, ["overrideSettings", "rules", "fen", "includeTree", "maxTime", "session"]);
        assert_eq!(warnings[0].error, "Unknown config params: a,b");
        // An error for a bad field stands alone, except for warnings that were given before it was found.
        let bad = json!({ "overrideSettings": { "a": 1 }, "maxVisits": 0, "foo": 1 });
        let Read { query, warnings } = read(&bad);
        assert_eq!((query.unwrap_err().field.as_str(), warnings.len()), ("maxVisits", 1));
    }

    #[test]
    fn all_that_a_client_can_make_long_counts() {
        let least = query(&json!({})).bytes();
        let passes: Vec<[&str; 2]> = (0..1000).map(|turn| [["B", "W"][turn % 2], "pass"]).collect();
        assert!(query(&json!({ "moves": passes })).bytes() >= least + 1998);
        let rules: Vec<Value> = (0..9)
            .map(|row| json!({ "player": "b", "moves": [format!("A{}", row + 1)], "untilDepth": row + 1 }))
            .collect();
        assert!(query(&json!({ "avoidMoves": rules })).bytes() >= least + 9 * MAX_AREA / 8);
        let restricted = query(&json!({ "avoidMoves": rules }));
        let a9 = restricted.setup.size().parse("A9").unwrap();
        assert!(!restricted.restrictions.allows(Color::Black, 8, a9));
        let long = "x".repeat(1000);
        let read = Defaults::default().read(&long, &object(&json!({})));
        assert!(read.query.unwrap().query.bytes() >= least + 999);
    }

    /// Some JSON, much of which is similar to what queries have.
    #[derive(Clone, Debug)]
    struct Json(Value);

    impl Arbitrary for Json {
        fn arbitrary(g: &mut Gen) -> Self {
            Json(json(g, 3))
        }
    }

    fn json(g: &mut Gen, depth: usize) -> Value {
        const TEXTS: [&str; 14] = [
            "B",
            "w",
            "pass",
            "A1",
            "(0,0)",
            "(-1,99)",
            "koSIMPLE",
            "komi",
            "{\"ko\":\"SIMPLE\"}",
            "N-1",
            "é",
            "",
            "AREA",
            "{",
        ];
        const NUMBERS: [f64; 8] = [0.0, 1.0, 9.0, -1.0, 7.5, 1e18, 1e300, 0.01];
        let below = depth.saturating_sub(1);
        match u8::arbitrary(g) % if depth == 0 { 5 } else { 8 } {
            0 => Value::Null,
            1 => json!(bool::arbitrary(g)),
            2 => json!(g.choose(&NUMBERS)),
            3 => json!(i64::arbitrary(g) % 20),
            4 => json!(g.choose(&TEXTS)),
            5 => json!([["B", g.choose(&TEXTS)], [g.choose(&["W", "b"]), "C3"]]),
            6 => (0..usize::arbitrary(g) % 4).map(|_| json(g, below)).collect(),
            _ => {
                let inner = ["player", "moves", "untilDepth", "ko", "scoring", "komi", "maxVisits", "cpuctExploration"];
                let fields =
                    (0..usize::arbitrary(g) % 4).map(|_| (g.choose(&inner).unwrap().to_string(), json(g, below)));
                Value::Object(fields.collect())
            }
        }
    }

    #[test]
    fn no_object_is_too_much() {
        fn property(one: (usize, Json), two: (usize, Json), three: (usize, Json)) -> bool {
            let mut object = object(&json!({}));
            for (field, Json(value)) in [one, two, three] {
                object.insert(FIELDS.get(field % (FIELDS.len() + 1)).unwrap_or(&"other").to_string(), value);
            }
            match Defaults::default().read("q", &object).query {
                Err(bad) => !bad.error.is_empty(),
                Ok(Accepted { query, turns }) => {
                    let last = query.setup.turns();
                    let plays = |turn: usize| query.setup.game(turn).ply() <= turn;
                    turns.keys().all(|&turn| turn <= last && plays(turn))
                }
            }
        }

        QuickCheck::new().tests(2000).quickcheck(property as fn((usize, Json), (usize, Json), (usize, Json)) -> bool);
    }
}
