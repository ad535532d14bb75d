//! Forced mates are found, proven and shown, in every position of `fixtures/positions/mates.epd`, by the program over
//! UCI.

mod driver;

use driver::Engine;

/// A position, and the number of moves until mate, negative if the side to move is mated.
struct Mate {
    fen: String,
    moves: i32,
}

fn mates() -> Vec<Mate> {
    let path = oncilla_testing::fixtures().join("positions/mates.epd");
    let text = std::fs::read_to_string(path).expect("fixtures/positions/mates.epd");
    let mate = |line: &str| {
        let (position, dm) = line.split_once(" dm ").expect("`dm`");
        Mate { fen: format!("{position} 0 1"), moves: dm.trim_end_matches(';').parse().expect("a number") }
    };
    text.lines().map(mate).collect()
}

/// The score in the last info line about a position.
fn score(engine: &mut Engine, mate: &Mate, nodes: u32) -> String {
    engine.say("ucinewgame");
    engine.say(&format!("position fen {}", mate.fen));
    // The side that gets mated can't search for a mate, but its search ends when every move is proven.
    let go = if mate.moves > 0 { format!("go mate {} nodes {nodes}", mate.moves) } else { "go depth 60".to_string() };
    engine.say(&go);
    let heard = engine.until("bestmove");
    let last = heard.iter().rev().find_map(|line| line.split_once(" score ")).expect("a score").1.to_string();
    last.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Most of these mates only need search; a mate in three with about thirty moves per side is found if checks are
/// searched first, as with the network.
#[test]
fn every_forced_mate_is_proved() {
    let mut search = Engine::with(&["--backend=constant", "--smart-pruning-factor=0", "--hash=64"]);
    let mates = mates();
    assert!(mates.len() > 40, "the fixture is not there");
    let left: Vec<Mate> =
        mates.into_iter().filter(|mate| score(&mut search, mate, 300_000) != format!("mate {}", mate.moves)).collect();
    assert!(left.len() <= 4, "{} positions need a network", left.len());
    let mut network = Engine::with(&["--backend=host", "--smart-pruning-factor=0", "--hash=64"]);
    for mate in left {
        assert_eq!(score(&mut network, &mate, 40_000), format!("mate {}", mate.moves), "{}", mate.fen);
    }
}
