//! Games whose last positions have the same key are the same game from there on.

use std::collections::HashMap;

use oncilla_go::{Color, Ending, Game, HandicapBonus, KoRule, Move, Outcome, Rules, Scoring, Size};
use quickcheck::{Arbitrary, Gen};

const CAP: usize = 64;

type Short = Game<CAP>;

/// What two games with the same key must agree in. It includes the keys after each legal move, which makes them agree
/// for ever.
#[derive(Debug, PartialEq)]
struct Future {
    ending: Option<Ending>,
    outcome: Option<Outcome>,
    next: Vec<(Move, u64)>,
}

impl Future {
    fn of(game: &Short, key: fn(&Short) -> u64) -> Self {
        let after = |mv| {
            let mut game = game.clone();
            game.play(mv).unwrap();
            (mv, key(&game))
        };
        Future { ending: game.ending(), outcome: game.outcome(), next: game.legal_moves().map(after).collect() }
    }
}

/// What the keys have joined so far.
#[derive(Default)]
struct Joined {
    /// The first line that led to each key.
    lines: HashMap<u64, (Vec<(Color, Move)>, Future)>,
    /// How many lines led to a key of another one.
    others: usize,
    /// How many of these go on in another way than the first.
    different: usize,
}

impl Joined {
    fn look_at(&mut self, game: &Short, key: fn(&Short) -> u64) {
        let (line, future) = (game.moves().collect(), Future::of(game, key));
        match self.lines.get(&key(game)) {
            Some((first, _)) if *first == line => {}
            Some((_, expected)) => {
                self.others += 1;
                self.different += usize::from(future != *expected);
            }
            None => {
                self.lines.insert(key(game), (line, future));
            }
        }
    }
}

/// Sizes on which every stone is soon captured, and the number of games to play on each.
const BOARDS: [((u8, u8), usize); 5] = [((1, 2), 100), ((1, 3), 100), ((2, 2), 300), ((2, 3), 200), ((3, 3), 100)];

fn all_rules() -> impl Iterator<Item = Rules> {
    (0..KoRule::ALL.len() * 8).map(|nth| Rules {
        ko: KoRule::ALL[nth / 8].1,
        suicide: nth & 1 != 0,
        button: nth & 2 != 0,
        scoring: if nth & 4 != 0 { Scoring::Territory } else { Scoring::Area },
        handicap_bonus: if nth & 4 != 0 { HandicapBonus::NMinusOne } else { HandicapBonus::N },
        ..Rules::TROMP_TAYLOR
    })
}

/// Plays random games. Passes are not rare in them, because passes end much of the past.
fn joined(rules: Rules, key: fn(&Short) -> u64) -> Joined {
    let mut all = Joined::default();
    let mut chance = Gen::new(CAP);
    for ((x, y), games) in BOARDS {
        for _ in 0..games {
            let mut game = Short::new(Size::new(x, y).unwrap(), rules);
            // Room for one move is left for what comes after the last one.
            while game.room() > 1 {
                all.look_at(&game, key);
                let legal: Vec<Move> = game.legal_moves().collect();
                game.play(legal[usize::arbitrary(&mut chance) % legal.len()]).unwrap();
            }
        }
    }
    all
}

#[test]
fn joined_positions_have_the_same_future() {
    for rules in all_rules() {
        let joined = joined(rules, Short::graph_key);
        assert_eq!(joined.different, 0, "{rules}: of {}", joined.others);
        // Where passes do not end the past, no two lines go through the same positions, except in orders that chance
        // does not find.
        let past_ends = matches!(rules.ko, KoRule::Simple | KoRule::Spight) || rules.button;
        assert!(joined.others > 100 || !past_ends, "{rules}: {}", joined.others);
    }
}

/// If this did not hold, the test above would find nothing.
#[test]
fn without_the_past_they_have_not() {
    for rules in all_rules() {
        let joined = joined(rules, Short::loose_graph_key);
        assert!(joined.different > 0, "{rules}: of {}", joined.others);
    }
}

#[test]
fn lines_are_joined_after_a_pass_where_it_ends_the_past() {
    let size = Size::new(5, 5).unwrap();
    for (name, ko) in KoRule::ALL {
        let key = |line: &[&str]| {
            let mut game: Game = Game::new(size, Rules { ko, ..Rules::TROMP_TAYLOR });
            line.iter().for_each(|text| game.play(size.parse(text).unwrap()).unwrap());
            game.graph_key()
        };
        let lines = [["B2", "D4", "C3", "D3"], ["C3", "D3", "B2", "D4"]];
        let [one, other] = lines.map(|line| key(&line));
        assert_ne!(one, other, "{name}");
        let [one, other] = lines.map(|line| key(&[&line[..], &["pass"]].concat()));
        assert_eq!(one == other, matches!(ko, KoRule::Simple | KoRule::Spight), "{name}");
    }
}
