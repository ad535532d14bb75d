//! Requests that are no good, each in its own way.

#![allow(dead_code, reason = "each test file uses its own part")]

use serde_json::{Value, json};

/// Queries without an id, and the field that is wrong with each.
pub fn bad_queries() -> Vec<(Value, &'static str)> {
    vec![
        (json!({}), "moves"),
        (json!({ "moves": null }), "moves"),
        (json!({ "moves": "e2e4" }), "moves"),
        (json!({ "moves": [["W"]] }), "moves"),
        (json!({ "moves": [["X", "e2e4"]] }), "moves"),
        (json!({ "moves": ["e2"] }), "moves"),
        (json!({ "moves": ["e2e4qq"] }), "moves"),
        (json!({ "moves": [["b", "e2e4"]] }), "moves"),
        (json!({ "moves": [], "fen": "8/8 w" }), "fen"),
        (json!({ "moves": [], "initialFen": 5 }), "initialFen"),
        (json!({ "moves": [], "fen": "startpos", "initialFen": "startpos" }), "fen"),
        (json!({ "moves": [], "rules": "chinese" }), "rules"),
        (json!({ "moves": [], "rules": {} }), "rules"),
        (json!({ "moves": [], "analyzeTurns": [] }), "analyzeTurns"),
        (json!({ "moves": [], "analyzeTurns": [0.0] }), "analyzeTurns"),
        (json!({ "moves": [], "analyzeTurns": [true] }), "analyzeTurns"),
        (json!({ "moves": [], "analyzeTurns": [-1] }), "analyzeTurns"),
        (json!({ "moves": [], "analyzeTurns": [4294967296u64] }), "analyzeTurns"),
        (json!({ "moves": [], "analyzeTurns": [18446744073709551615u64] }), "analyzeTurns"),
        (json!({ "moves": [], "priorities": [1] }), "priorities"),
        (json!({ "moves": [], "analyzeTurns": [0], "priorities": [1, 2] }), "priorities"),
        (json!({ "moves": [], "analyzeTurns": [0], "priorities": [1u64 << 62] }), "priorities"),
        (json!({ "moves": [], "analyzeTurns": [0], "priorities": [1], "priority": 1 }), "priority"),
        (json!({ "moves": [], "priority": 1.5 }), "priority"),
        (json!({ "moves": [], "overrideSettings": [] }), "overrideSettings"),
        (json!({ "moves": [], "overrideSettings": { "CPuct": "x" } }), "overrideSettings"),
        (json!({ "moves": [], "maxVisits": 0 }), "maxVisits"),
        (json!({ "moves": [], "maxVisits": 1.0 }), "maxVisits"),
        (json!({ "moves": [], "maxVisits": (1u64 << 50) + 1 }), "maxVisits"),
        (json!({ "moves": [], "maxTime": 0 }), "maxTime"),
        (json!({ "moves": [], "analysisPVLen": 0 }), "analysisPVLen"),
        (json!({ "moves": [], "analysisPVLen": 1001 }), "analysisPVLen"),
        (json!({ "moves": [], "rootFpuReductionMax": 2.5 }), "rootFpuReductionMax"),
        (json!({ "moves": [], "rootPolicyTemperature": 0 }), "rootPolicyTemperature"),
        (json!({ "moves": [], "includePolicy": 1 }), "includePolicy"),
        (json!({ "moves": [], "includePVVisits": null }), "includePVVisits"),
        (json!({ "moves": [], "includeTree": 3 }), "includeTree"),
        (json!({ "moves": [], "includeTree": { "depth": 0 } }), "includeTree"),
        (json!({ "moves": [], "includeTree": { "x": 0 } }), "includeTree"),
        (json!({ "moves": [], "reportDuringSearchEvery": 0 }), "reportDuringSearchEvery"),
        (json!({ "moves": [], "firstReportDuringSearchAfter": "1" }), "firstReportDuringSearchAfter"),
        (json!({ "moves": [], "avoidMoves": [], "allowMoves": [] }), "allowMoves"),
        (json!({ "moves": [], "avoidMoves": {} }), "avoidMoves"),
        (json!({ "moves": [], "avoidMoves": [{ "player": "W", "moves": [] }] }), "avoidMoves"),
        (json!({ "moves": [], "avoidMoves": [{ "player": "X", "moves": [], "untilDepth": 1 }] }), "player"),
        (json!({ "moves": [], "avoidMoves": [{ "player": "W", "moves": ["x"], "untilDepth": 1 }] }), "moves"),
        (json!({ "moves": [], "avoidMoves": [{ "player": "W", "moves": [], "untilDepth": 0 }] }), "untilDepth"),
    ]
}

/// Lines that are no requests, and whether the id in them, for which `ID` stands, can be read.
pub const NO_REQUESTS: [(&[u8], bool); 16] = [
    (b"{\"id\":\"ID\",\"moves\":[]", true),
    (b"{\"id\":\"ID\",}", true),
    (b"{\"id\":\"ID\" \"moves\":[]}", true),
    (b"{\"id\":\"ID\",\"x\":NaN}", true),
    (b"{\"id\":\"ID\",\"x\":1e999}", true),
    (b"{\"id\":\"ID\",\"x\":\"\t\"}", true),
    (b"{\"x\":[1,{\"id\":\"no\"}],\"id\":\"ID\",!", true),
    (b"{\"id\":\"ID\",\"x\":\"\xff\xfe\"}", true),
    (b"{\"id\":\"ID\",\"action\":\"no_such_action\"}", true),
    (b"{\"id\":\"ID\",\"action\":\"terminate\"}", true),
    (b"{\"id\":\"ID\",\"action\":\"terminate_all\",\"turnNumbers\":5}", true),
    (b"{'id':'ID'}", false),
    (b"[\"ID\"]", false),
    (b"{\"moves\":[]}", false),
    (b"{\"id\":5,\"moves\":[]}", false),
    (b"quit", false),
];
