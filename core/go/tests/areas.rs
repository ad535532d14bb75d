//! Unconditional life, areas, seki, taxes and scores.

mod common;
mod naive;

use common::{board, diagram, game, marked};
use oncilla_go::area::{area, area_lead, independent_life, pass_alive, taxed_area};
use oncilla_go::{Board, Color, Komi, Move, Outcome, PointSet, Rules, Scoring, Size, Tax};
use quickcheck::QuickCheck;

/// Compares owners with a diagram: `X` and `x` are Black's, `O` and `o` White's.
fn assert_owners(owners: &oncilla_go::area::Area, expected: &[&str]) {
    let size = Size::new(expected[0].len() as u8, expected.len() as u8).unwrap();
    for (color, marks) in [(Color::Black, "Xx"), (Color::White, "Oo")] {
        let expected = marked(expected, marks);
        assert_eq!(*owners.of(color), expected, "{color:?}:\n{}", diagram(size, owners.of(color)));
    }
}

#[test]
fn two_eyes_are_alive_and_one_is_not() {
    let rows = [".X.XO", "XXXXO", "OOOOO", ".O.X.", "....."];
    assert_owners(&pass_alive(&board(&rows), false), &["xXxX.", "XXXX.", ".....", ".....", "....."]);
    assert_owners(&area(&board(&rows), false), &["xXxXO", "XXXXO", "OOOOO", ".O.X.", "....."]);
    assert!(pass_alive(&board(&[".XXXO", "XXXXO", "OOOOO", ".....", "....."]), false).of(Color::Black).is_empty());
}

#[test]
fn a_false_eye_is_no_eye() {
    // The point at B5 is surrounded by black stones, but A5 hangs on it alone.
    let rows = ["X.XX.", "OXXXX", "OOOOO", ".....", "....."];
    assert!(pass_alive(&board(&rows), false).of(Color::Black).is_empty());
    // With A4 and A3 joined to the rest it is one.
    let rows = ["X.XX.", "XXXXX", "OOOOO", ".....", "....."];
    assert_owners(&pass_alive(&board(&rows), false), &["XxXXx", "XXXXX", ".....", ".....", "....."]);
}

#[test]
fn chains_live_together_on_shared_eyes() {
    // Two black chains, both beside the points A4 and E4. White's stone between them is dead.
    let rows = [".XXX.XO.", "X.O.XXO.", "XXXXXOO.", "OOOOOO.."];
    assert_owners(&pass_alive(&board(&rows), false), &["xXXXxX..", "XxxxXX..", "XXXXX...", "........"]);
}

#[test]
fn dead_stones_in_a_living_area_are_its_owners() {
    let rows = [".X..X.", "XX.OXX", "XXXXXX", "OOOOOO", "......", "......"];
    assert_owners(&pass_alive(&board(&rows), false), &["xXxxXx", "XXxxXX", "XXXXXX", "......", "......", "......"]);
}

#[test]
fn a_large_region_has_room_for_the_opponent() {
    // Black is alive with two eyes, but White could live on the right.
    let rows = [".X.X....", "XXXX....", "XXXX....", "XXXX.O..", "XXXX...."];
    let alive = pass_alive(&board(&rows), false);
    assert_owners(&alive, &["xXxX....", "XXXX....", "XXXX....", "XXXX....", "XXXX...."]);
    // Without the white stone the region counts for Black all the same, by area.
    let rows = [".X.X....", "XXXX....", "XXXX....", "XXXX....", "XXXX...."];
    assert_eq!(area(&board(&rows), false).of(Color::Black).len(), 40);
}

#[test]
fn with_suicide_an_eye_must_be_small_even_without_the_stones_in_it() {
    // All four empty points around the white stone are liberties of the black chain. The point of the stone itself
    // would not be one.
    let rows = ["XX.XX.X", "X.O.XXX", "XX.XXXX", "XXXXXXX"];
    assert_eq!(pass_alive(&board(&rows), false).of(Color::Black).len(), 28);
    assert_eq!(pass_alive(&board(&rows), true).of(Color::Black).len(), 0);
}

#[test]
fn the_empty_board_is_nobodys_and_one_stone_owns_it_all() {
    let mut board = Board::new(Size::new(9, 9).unwrap());
    assert_eq!(area(&board, true), Default::default());
    board.play(Color::Black, Move(40));
    assert_eq!(area(&board, true).of(Color::Black).len(), 81);
    assert_eq!(pass_alive(&board, true), Default::default());
}

#[test]
fn without_dame_all_groups_live_on_their_own() {
    let rows = [".XO.", "XXOO", ".XO.", "XXOO"];
    let life = independent_life(&board(&rows), false);
    assert_eq!(life.groups, [1, 1]);
    assert_owners(&life.area, &["xXOo", "XXOO", "xXOo", "XXOO"]);
    assert_eq!(area_lead(&board(&rows), false, Tax::None), 0);
}

#[test]
fn a_tax_takes_eyes_in_seki_and_two_points_a_group() {
    // Top left: black stones with one eye, and a white chain with one eye, share the dame at C4.
    let rows = [
        ".XO.OX.", //
        "XX.OOXX", //
        "OOOOXXX", //
        "XXXXX.X", //
        "......X",
    ];
    let position = board(&rows);
    let all = area(&position, false);
    assert_owners(&all, &["xXOoOXx", "XX.OOXX", "OOOOXXX", "XXXXXxX", "xxxxxxX"]);
    // The black and the white stones around the dame are in seki; the rest of Black's is not.
    let life = independent_life(&position, false);
    assert_eq!(life.groups, [1, 0]);
    assert_owners(&life.area, &[".....Xx", ".....XX", "....XXX", "XXXXXxX", "xxxxxxX"]);
    let taxed = taxed_area(&position, false, Tax::Seki);
    assert_owners(&taxed, &[".XO.OXx", "XX.OOXX", "OOOOXXX", "XXXXXxX", "xxxxxxX"]);
    let leads = [Tax::None, Tax::Seki, Tax::All].map(|tax| area_lead(&position, false, tax));
    // Eyes: Black's at A5, White's at D5.
    assert_eq!(leads, [9 - 25, 8 - 24, 8 - 24 + 2]);
}

/// Black's eye is not beside a dame, but it is the last liberty of the stones around it: White may take them.
#[test]
fn stones_in_atari_do_not_live_on_their_own() {
    let position = board(&["X.XO.", "XXXO.", "OOOOO", "OOOOO"]);
    let life = independent_life(&position, false);
    assert_eq!(life.groups, [0, 1]);
    assert_owners(&life.area, &["...Oo", "...Oo", "OOOOO", "OOOOO"]);
    assert_owners(&area(&position, false), &["XxXOo", "XXXOo", "OOOOO", "OOOOO"]);
    assert_owners(&taxed_area(&position, false, Tax::Seki), &["X.XOo", "XXXOo", "OOOOO", "OOOOO"]);
    let leads = [Tax::None, Tax::Seki, Tax::All].map(|tax| area_lead(&position, false, tax));
    assert_eq!(leads, [14 - 6, 14 - 5, 14 - 5 - 2]);
    // One chain in atari is enough, although others of its area are not in atari: Black's stone at D4 has no liberty
    // but C4.
    let position = board(&[".X.XO.", "XXXOOO", ".XOO.O", "XXOOOO"]);
    assert_eq!(independent_life(&position, false).groups, [0, 1]);
    // The opponent's stone at D5 is dead, and its liberty does not matter.
    let position = board(&[".XXXX.", "XX.OXX", "XXXXXX", "OOOOOO", ".O.O.O"]);
    assert_eq!(independent_life(&position, false).groups, [1, 1]);
    let leads = [Tax::None, Tax::Seki, Tax::All].map(|tax| area_lead(&position, false, tax));
    assert_eq!(leads, [12 - 18; 3]);
}

#[test]
fn outcomes_follow_scoring_komi_and_tax() {
    let rows = [".XO.", "XXOO", ".XO.", "XXOO"];
    let end = |rules: Rules| {
        let mut game = game(&rows, rules, Color::Black);
        let pass = game.size().pass();
        assert_eq!(game.outcome(), None);
        game.play(pass).unwrap();
        game.play(pass).unwrap();
        game.outcome()
    };
    let rules = Rules { komi: Komi::from_points(0.5).unwrap(), ..Rules::TROMP_TAYLOR };
    assert_eq!(end(rules), Some(Outcome::WhiteLead(0.5)));
    assert_eq!(end(Rules { tax: Tax::All, ..rules }), Some(Outcome::WhiteLead(0.5)));
    assert_eq!(end(Rules { scoring: Scoring::Territory, ..rules }), Some(Outcome::ToBeAgreed));
}

/// Benson's definitions, word by word.
fn naive_alive_stones(position: &naive::Position, color: Color, suicide: bool) -> Vec<usize> {
    let points = 0..position.stones.len();
    let own = |point: usize| position.stones[point] == Some(color);
    let unique = |mut sets: Vec<Vec<usize>>| {
        sets.sort();
        sets.dedup();
        sets
    };
    let mut chains = unique(points.clone().filter(|&point| own(point)).map(|point| position.chain(point)).collect());
    let region_of = |point| position.flood(point, |other| !own(other));
    let mut regions = unique(points.filter(|&point| !own(point)).map(region_of).collect());
    let touches = |chain: &[usize], point: usize| position.neighbours(point).iter().any(|other| chain.contains(other));
    let is_vital = |region: &[usize], chain: &[usize]| {
        let mut asked = region.iter().filter(|&&point| suicide || position.stones[point].is_none());
        asked.all(|&point| touches(chain, point))
    };
    loop {
        let before = (chains.len(), regions.len());
        chains.retain(|chain| regions.iter().filter(|region| is_vital(region, chain)).count() >= 2);
        regions.retain(|region| {
            let border = region.iter().flat_map(|&point| position.neighbours(point)).filter(|&point| own(point));
            border.into_iter().all(|stone| chains.iter().any(|chain| chain.contains(&stone)))
        });
        if before == (chains.len(), regions.len()) {
            let mut stones = chains.concat();
            stones.sort_unstable();
            return stones;
        }
    }
}

/// A random board with more stones of one color than of the other, without the stones that have no liberty.
fn random_board(sides: (u8, u8), marks: &[u8]) -> (Board, naive::Position) {
    let size = Size::new(1 + sides.0 % 6, 2 + sides.1 % 6).unwrap();
    let mut position = naive::Position::new(size);
    for (point, &mark) in (0..size.area()).zip(marks) {
        let (color, other) = if mark % 5 == 0 { (Color::White, Color::Black) } else { (Color::Black, Color::White) };
        if mark % 16 > 4 || position.neighbours(point).iter().all(|&beside| position.stones[beside] != Some(other)) {
            let next = position.after_without_suicide(color, point);
            position = next.filter(|_| mark % 7 != 0).unwrap_or(position);
        }
    }
    let stones = size.points().filter_map(|point| Some((position.stones[point.index()]?, point)));
    (Board::with_stones(size, stones).unwrap(), position)
}

#[test]
fn stones_are_alive_where_bensons_words_say_so() {
    fn property(sides: (u8, u8), marks: Vec<u8>, suicide: bool) -> bool {
        let (board, position) = random_board(sides, &marks);
        let alive = pass_alive(&board, suicide);
        for color in Color::ALL {
            let stones: Vec<usize> = (*board.stones(color) & *alive.of(color)).iter().map(Move::index).collect();
            assert_eq!(stones, naive_alive_stones(&position, color, suicide), "{color:?}\n{board}");
        }
        true
    }
    QuickCheck::new().tests(3000).quickcheck(property as fn((u8, u8), Vec<u8>, bool) -> bool);
}

/// The owner of stones that are unconditionally alive may pass as long as the opponent plays.
#[test]
fn what_is_alive_stays_alive_while_its_owner_passes() {
    fn property(sides: (u8, u8), marks: Vec<u8>, choices: Vec<u16>, suicide: bool) -> bool {
        let (start, _) = random_board(sides, &marks);
        let alive = pass_alive(&start, suicide);
        for color in Color::ALL {
            let stones: PointSet = *start.stones(color) & *alive.of(color);
            let mut board = start.clone();
            for &choice in &choices {
                let legal: Vec<Move> =
                    board.size().points().filter(|&mv| board.is_legal(!color, mv, suicide)).collect();
                let Some(&mv) = legal.get(usize::from(choice) % legal.len().max(1)) else { break };
                board.play(!color, mv);
                assert!((stones - *board.stones(color)).is_empty(), "{start}\n{board}");
            }
            // Invaders that live inside with two eyes could never be captured.
            let invaders = pass_alive(&board, suicide);
            assert!((*alive.of(color) & *invaders.of(!color)).is_empty(), "{start}\n{board}");
        }
        true
    }
    QuickCheck::new().tests(2000).quickcheck(property as fn((u8, u8), Vec<u8>, Vec<u16>, bool) -> bool);
}

/// White's stone at D5 is dead, and Black's area around it is beside the dame at C3: with a tax it has no owner.
#[test]
fn a_tax_gives_nobody_the_dead_stones_of_an_area_beside_a_dame() {
    let rows = [".X..X.", "XX.OXX", "XXXXXX", "OO.OOO", "OOOOOO", ".O.O.."];
    assert_owners(
        &taxed_area(&board(&rows), false, Tax::Seki),
        &[".X..X.", "XX..XX", "XXXXXX", "OO.OOO", "OOOOOO", ".O.O.."],
    );
}
