//! Compares input planes and legal moves with those that KataGo recorded.

mod common;

use std::fs;

use oncilla_go::planes::{Options, encode};
use oncilla_go::{Color, Game, HandicapBonus, KoRule, Komi, Move, Rules, Scoring, Size, Tax};
use serde_json::Value;

/// Numbers that belong to no point are recorded as single-precision floats.
const TOLERANCE: f64 = 1e-6;

#[test]
fn every_recorded_input_is_met() {
    let Some(path) = oncilla_testing::shared_path("oracle/katago/nn_b6c96.jsonl") else { return };
    let (mut inputs, mut policies) = (0, 0);
    for line in fs::read_to_string(path).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let place = format!("record {} ({}, {})", record["n"], record["name"], record["rulesName"]);
        let game = replay(&record);
        let found = illegal_moves_that_differ(&record, &game);
        assert!(found.is_empty(), "{place}: {found:?}");
        policies += 1;
        // A komi of ±150 could not be recorded.
        if record["input"].get("spatial").is_some() {
            let found = differences(&record, &game);
            assert!(found.is_empty(), "{place}: {found:#?}\n{}", game.board());
            inputs += 1;
        }
    }
    assert_eq!((inputs, policies), (INPUTS, POLICIES));
}

const INPUTS: usize = 38;
const POLICIES: usize = 40;

fn replay(record: &Value) -> Game {
    let side = |name: &str| record[name].as_u64().unwrap() as u8;
    let size = Size::new(side("boardXSize"), side("boardYSize")).unwrap();
    let stones: Vec<(Color, Move)> = moves(&record["initialStones"], size).collect();
    let played: Vec<(Color, Move)> = moves(&record["moves"], size).collect();
    let to_move = color(&record["toMove"]);
    let first = played.first().map_or(to_move, |&(color, _)| color);
    let mut game = Game::with_stones(size, rules(record), stones, first).unwrap();
    played.into_iter().for_each(|(color, mv)| game.play_as(color, mv).unwrap());
    assert_eq!(game.side_to_move(), to_move);
    game
}

fn color(name: &Value) -> Color {
    match name.as_str().unwrap() {
        "B" => Color::Black,
        "W" => Color::White,
        other => panic!("color {other}"),
    }
}

fn moves(list: &Value, size: Size) -> impl Iterator<Item = (Color, Move)> {
    list.as_array().unwrap().iter().map(move |mv| (color(&mv[0]), size.parse(mv[1].as_str().unwrap()).unwrap()))
}

fn rules(record: &Value) -> Rules {
    let text = |axis: &str| record["rules"][axis].as_str().unwrap();
    let flag = |axis: &str| record["rules"][axis].as_bool().unwrap();
    Rules {
        ko: KoRule::from_name(text("ko")).unwrap(),
        scoring: Scoring::from_name(text("scoring")).unwrap(),
        tax: Tax::from_name(text("tax")).unwrap(),
        suicide: flag("suicide"),
        button: flag("hasButton"),
        handicap_bonus: HandicapBonus::from_name(text("whiteHandicapBonus")).unwrap(),
        friendly_pass: flag("friendlyPassOk"),
        komi: Komi::from_points(record["komi"].as_f64().unwrap() as f32).unwrap(),
    }
}

/// The moves that one of the two takes for legal and the other does not.
fn illegal_moves_that_differ(record: &Value, game: &Game) -> Vec<String> {
    let policy = record["raw"]["policy"].as_array().unwrap();
    assert_eq!(policy.len(), game.size().area() + 1);
    let moves = (0..policy.len()).map(|index| Move(index as u16));
    let differ = moves.filter(|&mv| game.is_legal(mv) != (policy[mv.index()].as_f64().unwrap() >= 0.0));
    differ.map(|mv| game.size().format(mv).to_string()).collect()
}

/// Everything in which a recorded input and that of this crate differ, in words.
fn differences(record: &Value, game: &Game) -> Vec<String> {
    let planes = encode(game, &Options::default());
    let mut found = Vec::new();
    for (number, plane) in planes.spatial().iter().enumerate() {
        let recorded = record["input"]["spatial"][number].as_array().unwrap();
        let mut recorded: Vec<u64> = recorded.iter().map(|point| point.as_u64().unwrap()).collect();
        recorded.sort_unstable();
        let points: Vec<u64> = plane.iter().map(|point| point.0.into()).collect();
        if points != recorded {
            found.push(format!("plane {number}: expected {recorded:?}, got {points:?}"));
        }
    }
    for (number, &value) in planes.global().iter().enumerate() {
        let recorded = record["input"]["global"][number].as_f64().unwrap();
        if (f64::from(value) - recorded).abs() > TOLERANCE {
            found.push(format!("number {number}: expected {recorded}, got {value}"));
        }
    }
    found
}
