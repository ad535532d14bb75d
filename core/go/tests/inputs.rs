//! Tests input planes of small positions, worked out by hand, and what must hold for those of any game.

mod common;

use common::{game, marked};
use oncilla_go::planes::{Options, SPATIAL, encode};
use oncilla_go::{Color, Game, KoRule, Komi, Move, PointSet, Rules, Scoring, Size, Symmetry, Tax};
use quickcheck::QuickCheck;

fn play<const CAP: usize>(game: &mut Game<CAP>, moves: &str) {
    moves.split_whitespace().for_each(|text| game.play(game.size().parse(text).unwrap()).unwrap());
}

fn plane<const CAP: usize>(game: &Game<CAP>, number: usize) -> PointSet {
    encode(game, &Options::default()).spatial()[number]
}

#[test]
fn stones_liberties_ko_and_last_moves() {
    let mut game = game(&[".XO..", "X.XO.", ".XO..", "....."], Rules::TROMP_TAYLOR, Color::White);
    play(&mut game, "E1 A1 B3");
    assert_eq!(plane(&game, 0).len(), 20);
    assert_eq!(plane(&game, 1), marked(&[".X...", "X....", ".X...", "X...."], "X"), "Black is to move");
    assert_eq!(plane(&game, 2), marked(&["..O..", ".O.O.", "..O..", "....O"], "O"));
    assert_eq!(plane(&game, 3), marked(&[".#...", ".#...", ".....", "....."], "#"));
    assert_eq!(plane(&game, 4), marked(&["..#..", "#....", ".#...", "#...#"], "#"));
    assert_eq!(plane(&game, 5), marked(&[".....", ".....", "..#..", "....."], "#"));
    assert_eq!(plane(&game, 6), marked(&[".....", "..#..", ".....", "....."], "#"));
    let last = [9, 10, 11, 12].map(|number| plane(&game, number).iter().map(|mv| mv.0).collect::<Vec<_>>());
    assert_eq!(last, [vec![6], vec![15], vec![19], vec![]]);
}

#[test]
fn passes_stand_among_the_numbers_and_a_move_out_of_turn_ends_history() {
    let size = Size::new(5, 5).unwrap();
    let mut game: Game = Game::new(size, Rules::TROMP_TAYLOR);
    play(&mut game, "C3 pass B2 D4");
    let planes = encode(&game, &Options::default());
    assert_eq!(planes.global()[..5], [0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!([9, 10, 11, 12, 13].map(|number| planes.spatial()[number].len()), [1, 1, 0, 1, 0]);
    for history in 0..=5 {
        let planes = encode(&game, &Options { history, ..Options::default() });
        let moves: usize = (9..14).map(|number| planes.spatial()[number].len()).sum();
        assert_eq!(moves, [0, 1, 2, 2, 3, 3][history]);
        assert_eq!(planes.global()[2], if history > 2 { 1.0 } else { 0.0 });
    }
    game.play_as(Color::White, Move(0)).unwrap();
    let planes = encode(&game, &Options::default());
    assert_eq!([9, 10, 11].map(|number| planes.spatial()[number].len()), [1, 0, 0]);
}

#[test]
fn the_end_is_hidden_where_players_may_be_friendly() {
    let size = Size::new(5, 5).unwrap();
    let shown = |friendly_pass, options: Options| {
        let mut game: Game = Game::new(size, Rules { friendly_pass, ..Rules::TROMP_TAYLOR });
        play(&mut game, "C3 pass");
        let planes = encode(&game, &options);
        (planes.global()[0], planes.global()[14])
    };
    assert_eq!(shown(false, Options::default()), (1.0, 1.0));
    assert_eq!(shown(true, Options::default()), (0.0, 0.0));
    assert_eq!(shown(false, Options { conservative_pass: true, ..Options::default() }), (0.0, 0.0));
    assert_eq!(shown(false, Options { history: 0, ..Options::default() }), (0.0, 1.0));
    // After the end there is one move of history.
    let mut game: Game = Game::new(size, Rules::TROMP_TAYLOR);
    play(&mut game, "C3 pass pass");
    assert_eq!(encode(&game, &Options::default()).global()[..3], [1.0, 0.0, 0.0]);
}

/// No game of the network's training had two passes and moves after them: of the moves before the end, it sees only the
/// last.
#[test]
fn a_game_that_goes_on_after_its_end_shows_what_came_since() {
    for scoring in [Scoring::Area, Scoring::Territory] {
        let mut game: Game = Game::new(Size::new(5, 5).unwrap(), Rules { scoring, ..Rules::TROMP_TAYLOR });
        play(&mut game, "B2 D4 pass");
        for (mv, expected) in [("pass", 1), ("D2", 2), ("B4", 3), ("C3", 4), ("C2", 5), ("A1", 5)] {
            play(&mut game, mv);
            let shown = |history| {
                let planes = encode(&game, &Options { history, ..Options::default() });
                let stones: usize = (9..14).map(|number| planes.spatial()[number].len()).sum();
                stones + planes.global()[..5].iter().filter(|&&is_pass| is_pass == 1.0).count()
            };
            assert_eq!(shown(5), expected, "{mv}");
            assert_eq!([0, 1, 3].map(shown), [0, 1, expected.min(3)], "{mv}");
        }
        // Two passes once more, and then an end right after the end.
        play(&mut game, "pass pass pass A5");
        assert_eq!(encode(&game, &Options::default()).global()[..4], [0.0, 1.0, 0.0, 0.0]);
    }
}

#[test]
fn a_repetition_ends_what_is_shown_as_passes_do() {
    let rows = [".XO..", "XO.O.", ".XO..", ".XO..", "X.XO.", ".XO..", ".XO..", "XO.O.", ".XO.."];
    let mut game = game(&rows, Rules { ko: KoRule::Simple, ..Rules::TROMP_TAYLOR }, Color::Black);
    let shown = |game: &Game| (9..14).filter(|&number| !plane(game, number).is_empty()).count();
    play(&mut game, "C8 B5 C2 B8 C5 B2 C8 B5 C2 B8 C5");
    assert_eq!((game.ending().is_some(), shown(&game)), (false, 5));
    play(&mut game, "B2");
    assert_eq!((game.ending().is_some(), shown(&game)), (true, 1));
    play(&mut game, "E1");
    assert_eq!((game.ending().is_some(), shown(&game)), (false, 2));
}

/// Under Spight's rule the second pass does not end the game, so there is nothing to hide.
#[test]
fn two_passes_are_shown_under_spight() {
    let rules = Rules { ko: KoRule::Spight, friendly_pass: true, ..Rules::TROMP_TAYLOR };
    let hiding = Options { conservative_pass: true, passing_hacks: true, ..Options::default() };
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), rules);
    let shown = |game: &Game, options: &Options| {
        let planes = encode(game, options);
        (planes.global()[..2].to_vec(), planes.global()[14])
    };
    play(&mut game, "C3 pass");
    assert_eq!(shown(&game, &hiding), (vec![1.0, 0.0], 0.0));
    play(&mut game, "pass");
    assert_eq!(shown(&game, &Options::default()), (vec![1.0, 1.0], 1.0));
    assert_eq!(shown(&game, &hiding), (vec![0.0, 0.0], 0.0));
}

#[test]
fn friendly_passing_hides_only_the_end_of_a_game_of_areas() {
    let size = Size::new(5, 5).unwrap();
    let shown = |rules: Rules, moves: &str| {
        let mut game: Game = Game::new(size, rules);
        play(&mut game, moves);
        let planes = encode(&game, &Options::default());
        (planes.global()[0], planes.global()[14])
    };
    let friendly = Rules { friendly_pass: true, ..Rules::TROMP_TAYLOR };
    assert_eq!(shown(Rules { scoring: Scoring::Territory, ..friendly }, "C3 pass"), (1.0, 1.0));
    let simple = Rules { ko: KoRule::Simple, ..friendly };
    assert_eq!(shown(simple, "C3 pass"), (0.0, 0.0));
    assert_eq!(shown(simple, "C3 pass pass pass").1, 1.0, "White has passed in this position before");
}

#[test]
fn passing_hacks_hide_the_end_from_who_would_not_win() {
    let size = Size::new(5, 5).unwrap();
    let hacks = Options { passing_hacks: true, ..Options::default() };
    let shown = |rules: Rules, moves: &str| {
        let mut game: Game = Game::new(size, rules);
        play(&mut game, moves);
        let planes = encode(&game, &hacks);
        (planes.global()[0], planes.global()[14])
    };
    let komi = |points| Rules { komi: oncilla_go::Komi::from_points(points).unwrap(), ..Rules::TROMP_TAYLOR };
    // All 25 points are Black's, who is to move.
    assert_eq!(shown(komi(24.5), "C3 pass"), (1.0, 1.0));
    assert_eq!(shown(komi(25.5), "C3 pass"), (0.0, 0.0));
    assert_eq!(shown(komi(0.0), "pass"), (0.0, 0.0), "a draw is no win");
    assert_eq!(shown(komi(25.0), "C3 pass"), (0.0, 0.0), "nor is it one for Black");
    assert_eq!(shown(komi(7.5), "pass"), (1.0, 1.0));
    assert_eq!(shown(komi(-7.5), "pass"), (0.0, 0.0));
    assert_eq!(shown(Rules { scoring: Scoring::Territory, ..komi(-7.5) }, "pass"), (1.0, 1.0));
}

/// A draw that is worth more than half a win is a win, for passing hacks as well.
#[test]
fn passing_hacks_ask_what_draws_are_worth() {
    let shown = |points, button, moves: &str, draw_wins| {
        let rules = Rules { komi: Komi::from_points(points).unwrap(), button, ..Rules::TROMP_TAYLOR };
        let mut game: Game = Game::new(Size::new(5, 5).unwrap(), rules);
        play(&mut game, moves);
        let planes = encode(&game, &Options { passing_hacks: true, draw_wins, ..Options::default() });
        planes.global()[14] == 1.0
    };
    let of_draws = |points, button, moves| [0.0, 0.25, 0.5, 0.75, 1.0].map(|wins| shown(points, button, moves, wins));
    assert_eq!(of_draws(0.0, false, "pass"), [false, false, false, true, true], "White is to move");
    assert_eq!(of_draws(25.0, false, "C3 pass"), [true, true, false, false, false], "Black is");
    assert_eq!(of_draws(24.0, false, "C3 pass"), [true; 5], "no draw");
    assert_eq!(of_draws(25.5, false, "C3 pass"), [false; 5], "nor can there be one");
    // White has taken the button, which is half a point.
    assert_eq!(of_draws(24.5, true, "C3 pass D4 pass"), [true, true, false, false, false]);
    assert_eq!(of_draws(24.5, true, "C3 pass pass"), [false, false, false, true, true]);
    assert_eq!(of_draws(24.0, true, "C3 pass D4 pass"), [true; 5], "no draw");
}

#[test]
fn rules_are_told_in_numbers() {
    let size = Size::new(5, 5).unwrap();
    let global = |rules: Rules| *encode::<1>(&Game::new(size, rules), &Options::default()).global();
    let kos = KoRule::ALL.map(|(_, ko)| global(Rules { ko, ..Rules::TROMP_TAYLOR })[6..8].to_vec());
    assert_eq!(kos, [[0.0, 0.0], [1.0, 0.5], [1.0, -0.5], [1.0, 0.5]]);
    let taxes = Tax::ALL.map(|(_, tax)| global(Rules { tax, ..Rules::TROMP_TAYLOR })[10..12].to_vec());
    assert_eq!(taxes, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
    let territory = global(Rules { scoring: Scoring::Territory, ..Rules::TROMP_TAYLOR });
    assert_eq!((territory[8], territory[9], territory[18]), (1.0, 1.0, 0.0));
    // Komi is clipped to 20 points more than the board has: 45 here, over 20.
    let komi = |points| global(Rules { komi: Komi::from_points(points).unwrap(), ..Rules::TROMP_TAYLOR });
    assert_eq!((komi(150.0)[5], komi(-150.0)[5], komi(44.5)[5]), (-2.25, 2.25, -2.225));
    assert_eq!((komi(7.5)[18], komi(8.0)[18], komi(6.5)[18]), (-0.5, 0.0, 0.5));
    let doubled = Options { playout_doubling_advantage: -1.5, ..Options::default() };
    let planes = encode::<1>(&Game::new(size, Rules::TROMP_TAYLOR), &doubled);
    assert_eq!(planes.global()[15..17], [1.0, -0.75]);
}

/// If a draw is possible, its worth to White is a part of the komi that the network is told for the player to move.
#[test]
fn draws_are_told_as_komi() {
    let size = Size::new(5, 5).unwrap();
    let komi = |points, button, draw_wins, passes| {
        let rules = Rules { komi: Komi::from_points(points).unwrap(), button, ..Rules::TROMP_TAYLOR };
        let mut game = Game::<1>::new(size, rules);
        (0..passes).for_each(|_| game.play(size.pass()).unwrap());
        let planes = encode(&game, &Options { draw_wins, ..Options::default() });
        20.0 * planes.global()[5]
    };
    for (points, button) in [(7.0, false), (6.5, true), (-3.0, false)] {
        let told = [0.0, 0.5, 0.75, 1.0].map(|draw_wins| komi(points, button, draw_wins, 0));
        assert_eq!(told, [-0.5, 0.0, 0.25, 0.5].map(|more| -(points + more)), "{points} {button}");
    }
    assert_eq!(komi(7.0, false, 0.75, 1), 7.25, "White to move");
    for (points, button) in [(7.5, false), (7.0, true)] {
        assert_eq!(komi(points, button, 1.0, 0), -points, "there is no draw");
    }
}

/// A game and its mirror image have planes that are mirror images, however the board is turned.
#[test]
fn planes_turn_with_the_board() {
    fn property(sides: (u8, u8), choices: Vec<u16>, number: u8, ko: u8) -> bool {
        let size = Size::new(2 + sides.0 % 6, 2 + sides.1 % 6).unwrap();
        let symmetry = Symmetry::ALL[usize::from(number % 8)];
        let rules = Rules { ko: KoRule::ALL[usize::from(ko % 4)].1, ..Rules::TROMP_TAYLOR };
        let mut game: Game = Game::new(size, rules);
        let mut image: Game = Game::new(symmetry.size(size), rules);
        for choice in choices {
            let legal: Vec<Move> = game.legal_moves().collect();
            let mv = legal[usize::from(choice) % legal.len()];
            game.play(mv).unwrap();
            image.play(symmetry.apply(size, mv)).unwrap();
        }
        let (planes, of_image) = (encode(&game, &Options::default()), encode(&image, &Options::default()));
        assert_eq!(planes.global(), of_image.global());
        for (plane, expected) in planes.spatial().iter().zip(of_image.spatial()) {
            let turned: PointSet = plane.iter().map(|point| symmetry.apply(size, point)).collect();
            assert_eq!(turned, *expected, "{}", game.board());
        }
        let mut numbers = vec![0.5; SPATIAL * size.area()];
        let mut expected = numbers.clone();
        planes.write_spatial(symmetry, &mut numbers);
        of_image.write_spatial(Symmetry::NONE, &mut expected);
        assert_eq!(numbers, expected);
        true
    }
    QuickCheck::new().tests(1000).quickcheck(property as fn((u8, u8), Vec<u16>, u8, u8) -> bool);
}

/// With suicide the eye around White's stone is not small enough, because the point of the stone itself counts, too.
#[test]
fn areas_are_shown_by_the_games_own_rule_of_suicide() {
    let rows = ["XX.XX.XO", "X.O.XXXO", "XX.XXXXO", "XXXXXXXO", "OOOOOOO."];
    let shown = |suicide, areas_with_suicide| {
        let game: Game = game(&rows, Rules { suicide, ..Rules::TROMP_TAYLOR }, Color::Black);
        let planes = encode(&game, &Options { areas_with_suicide, ..Options::default() });
        planes.spatial()[18].len()
    };
    assert_eq!([shown(false, false), shown(true, false), shown(false, true)], [40, 23, 23]);
}
