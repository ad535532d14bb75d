//! The rules, case by case: captures, ko of each kind, suicide, passes, the button, handicap.

mod common;

use common::game;
use oncilla_go::{Button, Color, Ending, Game, HandicapBonus, KoRule, Komi, Outcome, PlayError, Rules, Scoring, Size};

fn rules(ko: KoRule) -> Rules {
    Rules { ko, ..Rules::TROMP_TAYLOR }
}

fn play<const CAP: usize>(game: &mut Game<CAP>, moves: &str) {
    for text in moves.split_whitespace() {
        game.play(game.size().parse(text).unwrap()).unwrap_or_else(|error| panic!("{text}: {error}\n{}", game.board()));
    }
}

fn is_legal<const CAP: usize>(game: &Game<CAP>, text: &str) -> bool {
    game.is_legal(game.size().parse(text).unwrap())
}

fn shows<const CAP: usize>(game: &Game<CAP>, rows: &[&str]) -> bool {
    *game.board().stones(Color::Black) == common::marked(rows, "X")
        && *game.board().stones(Color::White) == common::marked(rows, "O")
}

#[test]
fn a_chain_without_liberties_is_captured() {
    let mut game = game(&["XO...", "XO...", ".X...", "....."], rules(KoRule::Simple), Color::White);
    assert_eq!(game.board().liberties(game.size().parse("A4").unwrap()), 1);
    play(&mut game, "A2");
    assert!(shows(&game, &[".O...", ".O...", "OX...", "....."]));
}

#[test]
fn two_chains_are_captured_at_once_and_captures_come_before_suicide() {
    let mut game = game(&["XX.O.", "OOXO.", "..OO.", "....."], rules(KoRule::Simple), Color::White);
    // C4 has no empty neighbour, but both black chains lose their last liberty there.
    play(&mut game, "C4");
    assert!(shows(&game, &["..OO.", "OO.O.", "..OO.", "....."]));
    assert_eq!(game.board().ko(), None, "more than one stone was captured");
}

#[test]
fn a_snapback_is_no_ko() {
    for (_, ko) in KoRule::ALL {
        let mut game = game(&["XO..X.", "XOOOX.", ".XXX..", "......"], rules(ko), Color::Black);
        // Black throws a stone in, White takes it, and Black takes five on the same point.
        play(&mut game, "C4 D4");
        assert!(shows(&game, &["XO.OX.", "XOOOX.", ".XXX..", "......"]));
        play(&mut game, "C4");
        assert!(shows(&game, &["X.X.X.", "X...X.", ".XXX..", "......"]), "{ko:?}");
    }
}

const KO: [&str; 4] = [".XO..", "X.XO.", ".XO..", "....."];

#[test]
fn a_ko_may_not_be_taken_back_at_once() {
    for (_, ko) in KoRule::ALL {
        let mut game = game(&KO, rules(ko), Color::White);
        play(&mut game, "B3");
        assert!(!is_legal(&game, "C3"), "{ko:?}");
        assert_eq!(game.play(game.size().parse("C3").unwrap()), Err(PlayError::Illegal(oncilla_go::Move(7))));
        assert_eq!(game.ko_banned().iter().map(|mv| mv.0).collect::<Vec<_>>(), [7], "{ko:?}");
        // After a threat and its answer the ko may be taken.
        play(&mut game, "E1 A1");
        assert!(is_legal(&game, "C3"), "{ko:?}");
        assert!(game.ko_banned().is_empty());
    }
}

/// After White has taken the ko and Black has passed, White passes too: may Black take it back?
#[test]
fn passes_lift_a_ko_according_to_its_rule() {
    for (ko, after_one_pass) in [
        (KoRule::Simple, true),
        // The stones would be as they were before White took the ko.
        (KoRule::Positional, false),
        // They were like that with White to move, and would be so again.
        (KoRule::Situational, false),
        (KoRule::Spight, true),
    ] {
        let mut game = game(&KO, rules(ko), Color::White);
        play(&mut game, "B3 pass pass");
        assert_eq!(is_legal(&game, "C3"), after_one_pass, "{ko:?}");
    }
}

/// White can send two stones at A4 and B4, Black returns one at C4, and White takes it at B4: three moves that bring
/// the stones back, with the other player to move.
const SEND_TWO: [&str; 4] = [".O.O.", "XXOO.", "X.O..", "....."];

#[test]
fn situational_superko_asks_who_is_to_move() {
    for (ko, legal) in
        [(KoRule::Simple, true), (KoRule::Positional, false), (KoRule::Situational, true), (KoRule::Spight, false)]
    {
        let mut game = game(&SEND_TWO, rules(ko), Color::White);
        play(&mut game, "A4 C4");
        assert!(shows(&game, &["..XO.", "XXOO.", "X.O..", "....."]));
        assert_eq!(is_legal(&game, "B4"), legal, "{ko:?}");
        assert_eq!(game.ko_banned().is_empty(), legal, "{ko:?}");
    }
    // A pass does not help: White's next two stones would bring a position back with the same player to move.
    let mut game = game(&SEND_TWO, rules(KoRule::Situational), Color::White);
    play(&mut game, "A4 C4 B4 pass");
    assert!(!is_legal(&game, "A4"));
}

#[test]
fn a_chain_may_kill_itself_where_the_rules_say_so() {
    let without = Rules { suicide: false, ..rules(KoRule::Simple) };
    let rows = [".XO.", "XOO.", "OO.."];
    for (rules, legal) in [(rules(KoRule::Simple), true), (without, false)] {
        let mut game = game(&rows, rules, Color::Black);
        assert_eq!(is_legal(&game, "A3"), legal);
        assert_eq!(game.legal_moves().count(), 5 + usize::from(legal));
        if legal {
            play(&mut game, "A3");
            assert!(shows(&game, &["..O.", ".OO.", "OO.."]));
            assert_eq!(game.board().liberties(game.size().parse("C3").unwrap()), 5);
        }
    }
    // A single stone never does: nothing would have happened.
    let game = game(&[".O..", "O...", "...."], rules(KoRule::Simple), Color::Black);
    assert!(!is_legal(&game, "A3"));
}

#[test]
fn two_passes_end_the_game_and_a_move_takes_it_up_again() {
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), Rules::TROMP_TAYLOR);
    play(&mut game, "C3 pass");
    assert!(game.ending().is_none() && game.pass_would_end());
    play(&mut game, "pass");
    assert_eq!(game.ending(), Some(Ending::Passes));
    assert_eq!(game.outcome(), Some(Outcome::WhiteLead(7.5 - 25.0)));
    play(&mut game, "D4");
    assert_eq!((game.ending(), game.outcome(), game.pass_would_end()), (None, None, false));
}

/// The third pass in a row repeats the first, by the same player in the same position.
#[test]
fn two_passes_end_no_game_under_spight_and_a_third_one_does() {
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), rules(KoRule::Spight));
    play(&mut game, "C3 pass");
    assert!(!game.pass_would_end());
    play(&mut game, "pass");
    assert_eq!((game.ending(), game.outcome(), game.pass_would_end()), (None, None, true));
    play(&mut game, "pass");
    assert_eq!((game.ending(), game.outcome()), (Some(Ending::Passes), Some(Outcome::WhiteLead(7.5 - 25.0))));
    // After another stone there is no pass in that position yet.
    play(&mut game, "D4 pass pass");
    assert_eq!((game.ending(), game.pass_would_end()), (None, true));
    // The pass that takes the button is not repeated by a later one.
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), Rules { button: true, ..rules(KoRule::Spight) });
    for would_end in [false, false, false, true] {
        assert_eq!((game.ending(), game.pass_would_end()), (None, would_end), "after {} passes", game.ply());
        play(&mut game, "pass");
    }
    assert_eq!(game.ending(), Some(Ending::Passes));
}

/// The same stones after as many moves, with the same player to move, but one of the games is over.
#[test]
fn passes_in_a_row_are_told_apart_under_spight_as_well() {
    let played = |moves: &str| {
        let mut game: Game = Game::new(Size::new(5, 5).unwrap(), rules(KoRule::Spight));
        play(&mut game, moves);
        (game.ending(), game.key(), game.loose_graph_key())
    };
    let (over, open) = (played("C3 C4 pass pass pass"), played("C3 pass pass C4 pass"));
    assert_eq!((over.0, open.0), (Some(Ending::Passes), None));
    assert!(over.1 != open.1 && over.2 != open.2);
}

#[test]
fn passes_of_one_player_end_no_game() {
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), Rules::TROMP_TAYLOR);
    let pass = game.size().pass();
    for _ in 0..3 {
        game.play_as(Color::Black, pass).unwrap();
        assert_eq!(game.ending(), None);
    }
    game.play_as(Color::White, pass).unwrap();
    assert_eq!(game.ending(), Some(Ending::Passes));
}

#[test]
fn the_second_pass_is_friendly_and_no_other_one() {
    for (_, ko) in KoRule::ALL {
        let mut game: Game = Game::new(Size::new(5, 5).unwrap(), Rules { friendly_pass: true, ..rules(ko) });
        play(&mut game, "C3");
        // A second one ends nothing under Spight's rule.
        for is_friendly in [false, ko != KoRule::Spight, false] {
            assert_eq!(game.pass_is_friendly(), is_friendly, "{ko:?}, after {} moves", game.moves().len());
            game.play_tolerantly(game.side_to_move(), game.size().pass()).unwrap();
        }
    }
}

#[test]
fn the_first_pass_takes_the_button_and_counts_for_nothing_else() {
    let button = Rules { button: true, komi: Komi::from_points(7.0).unwrap(), ..Rules::TROMP_TAYLOR };
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), button);
    play(&mut game, "C3");
    assert_eq!((game.button(), game.compensation()), (Button::Available, 7.0));
    play(&mut game, "pass");
    assert_eq!((game.button(), game.compensation()), (Button::Taken(Color::White), 7.5));
    play(&mut game, "pass");
    assert_eq!(game.ending(), None, "only one pass counts so far");
    play(&mut game, "pass");
    assert_eq!(game.outcome(), Some(Outcome::WhiteLead(7.5 - 25.0)));
}

/// Three kos at once: each move takes one, and the position comes back every six moves.
#[test]
fn a_cycle_ends_without_a_result_under_simple_ko() {
    let rows = [".XO..", "XO.O.", ".XO..", ".XO..", "X.XO.", ".XO..", ".XO..", "XO.O.", ".XO.."];
    let cycle = "C8 B5 C2 B8 C5";
    for (_, ko) in KoRule::ALL {
        let mut game = game(&rows, rules(ko), Color::Black);
        play(&mut game, cycle);
        assert_eq!(is_legal(&game, "B2"), ko == KoRule::Simple, "{ko:?}");
    }
    let mut game = game(&rows, rules(KoRule::Simple), Color::Black);
    for _ in 0..2 {
        assert_eq!(game.outcome(), None);
        play(&mut game, cycle);
        play(&mut game, "B2");
        assert!(shows(&game, &rows));
    }
    assert_eq!((game.ending(), game.outcome()), (Some(Ending::Repetition), Some(Outcome::NoResult)));
    // A pass on the way begins the count anew.
    let mut game = common::game(&rows, rules(KoRule::Simple), Color::Black);
    play(&mut game, cycle);
    play(&mut game, "B2 E1 pass");
    for _ in 0..2 {
        play(&mut game, cycle);
        play(&mut game, "B2");
    }
    assert_eq!(game.ending(), Some(Ending::Repetition), "it was there after the pass as well");
}

#[test]
fn a_pass_that_repeats_another_ends_the_game() {
    let mut game = game(&SEND_TWO, rules(KoRule::Simple), Color::White);
    play(&mut game, "A4 C4 B4 pass A4 C4 B4");
    assert!(game.pass_would_end() && game.ending().is_none());
    play(&mut game, "pass");
    assert_eq!(game.ending(), Some(Ending::Passes));
    // Elsewhere on the board it is another position.
    let mut game = common::game(&SEND_TWO, rules(KoRule::Simple), Color::White);
    play(&mut game, "A4 C4 B4 pass A4 C4 B4 E1 E2");
    assert!(!game.pass_would_end());
}

#[test]
fn handicap_stones_are_blacks_before_whites_first() {
    let size = Size::new(9, 9).unwrap();
    let chinese = Rules { komi: Komi::from_points(0.5).unwrap(), ..Rules::from_name("chinese").unwrap() };
    let at = |text| size.parse(text).unwrap();
    let two = [(Color::Black, at("C3")), (Color::Black, at("G7"))];
    let mut game: Game = Game::with_stones(size, chinese, two, Color::White).unwrap();
    assert_eq!((game.handicap_stones(), game.compensation()), (2, 2.5));
    play(&mut game, "E5 C7");
    assert_eq!(game.handicap_stones(), 2);

    let with_white = [two[0], two[1], (Color::White, at("E5"))];
    let game: Game = Game::with_stones(size, chinese, with_white, Color::Black).unwrap();
    assert_eq!((game.handicap_stones(), game.compensation()), (0, 0.5));

    let mut run: Game = Game::new(size, Rules { handicap_bonus: HandicapBonus::NMinusOne, ..chinese });
    play(&mut run, "C3");
    assert_eq!(run.handicap_stones(), 0, "one stone is no handicap");
    play(&mut run, "pass G7");
    run.play_as(Color::Black, at("C7")).unwrap();
    assert_eq!((run.handicap_stones(), run.compensation()), (3, 2.5));
    play(&mut run, "E5 D5");
    assert_eq!(run.handicap_stones(), 3);
    run.set_black_run_is_handicap(false);
    assert_eq!((run.handicap_stones(), run.compensation()), (0, 0.5));
}

#[test]
fn by_territory_each_stone_played_is_a_point_for_the_opponent() {
    let rules = Rules { scoring: Scoring::Territory, ..Rules::TROMP_TAYLOR };
    let mut game: Game = Game::new(Size::new(5, 5).unwrap(), rules);
    let mut seen = vec![game.compensation()];
    for text in ["C3", "C4", "pass", "D4", "D3"] {
        play(&mut game, text);
        seen.push(game.compensation());
    }
    assert_eq!(seen, [7.5, 8.5, 7.5, 7.5, 6.5, 7.5]);
    assert_eq!(game.white_lead(), None);
}

/// KataGo counts the stones that are on the board when a game begins; stones captured before a player moved out of turn
/// still count.
#[test]
fn by_territory_stones_that_were_set_up_count_as_played() {
    let rules = Rules { scoring: Scoring::Territory, ..Rules::TROMP_TAYLOR };
    let size = Size::new(5, 5).unwrap();
    let at = |text| size.parse(text).unwrap();
    let stones = [(Color::Black, "B5"), (Color::Black, "C5"), (Color::Black, "E1"), (Color::White, "A5")];
    let stones = stones.map(|(color, text)| (color, at(text)));
    let mut game: Game = Game::with_stones(size, rules, stones, Color::Black).unwrap();
    assert_eq!(game.compensation(), 7.5 + 2.0);
    play(&mut game, "A4");
    assert_eq!((game.board().stone(at("A5")), game.compensation()), (None, 7.5 + 3.0));
    let anew = game.begun_anew(Color::Black);
    assert_eq!((anew.compensation(), anew.side_to_move(), anew.ply()), (7.5 + 3.0, Color::Black, 0));
    assert_eq!(anew.board().stones(Color::Black), game.board().stones(Color::Black));
    let board = game.board().clone();
    assert_eq!(
        Game::<16>::starting_from(board, Color::Black, rules).compensation(),
        7.5 + 4.0,
        "of captured ones it can't know"
    );
}

/// Before the button was taken, positions were different ones, whichever ko rule there is.
#[test]
fn taking_the_button_begins_the_history_of_ko_anew() {
    for (ko, button) in [KoRule::Positional, KoRule::Situational].into_iter().flat_map(|ko| [(ko, true), (ko, false)]) {
        let mut game = game(&KO, Rules { button, ..rules(ko) }, Color::White);
        play(&mut game, "B3 pass pass");
        assert_eq!(is_legal(&game, "C3"), button, "{ko:?}, button {button}");
    }
}

#[test]
fn moves_out_of_turn_lift_the_simple_ko_only_for_its_owner() {
    let mut game = game(&KO, rules(KoRule::Simple), Color::White);
    play(&mut game, "B3");
    let c3 = game.size().parse("C3").unwrap();
    assert!(!game.is_legal_for(Color::Black, c3) && game.is_legal_for(Color::White, c3));
    game.play_as(Color::White, c3).unwrap();
    assert_eq!(game.side_to_move(), Color::Black);
    assert_eq!(game.moves().map(|(color, _)| color).collect::<Vec<_>>(), [Color::White; 2]);
}

#[test]
fn what_was_played_against_the_rules_is_played_all_the_same() {
    let at = |game: &Game, text: &str| game.size().parse(text).unwrap();
    for (_, ko) in KoRule::ALL {
        let mut game = game(&KO, Rules { suicide: false, ..rules(ko) }, Color::White);
        play(&mut game, "B3");
        let before = game.board().clone();
        let retaken = at(&game, "C3");
        assert_eq!(game.play(retaken), Err(PlayError::Illegal(retaken)));
        game.play_tolerantly(Color::Black, retaken).unwrap();
        assert_eq!(game.board().stone(retaken), Some(Color::Black), "{ko:?}");
        assert_eq!(game.board_ago(1), Some(before), "with its ko");
        let back = at(&game, "B3");
        assert!(!game.is_legal(back), "{ko:?}: what comes afterwards obeys the rules");
    }
    let rows = ["XX.", "OOO", "..."];
    let mut game: Game = Game::starting_from(common::board(&rows), Color::Black, rules(KoRule::Simple));
    let corner = at(&game, "C3");
    let suicide = Rules { suicide: false, ..*game.rules() };
    game = Game::starting_from(game.board().clone(), Color::Black, suicide);
    assert!(!game.is_legal(corner));
    game.play_tolerantly(Color::Black, corner).unwrap();
    assert!(game.board().stones(Color::Black).is_empty());
    for mv in [at(&game, "A2"), oncilla_go::Move(9 + 1)] {
        assert_eq!(game.play_tolerantly(Color::Black, mv), Err(PlayError::Illegal(mv)), "occupied, or off the board");
    }
    let rows = [".O.", "O..", "..."];
    let mut game: Game = Game::starting_from(common::board(&rows), Color::Black, rules(KoRule::Simple));
    let alone = at(&game, "A3");
    assert_eq!(game.play_tolerantly(Color::Black, alone), Err(PlayError::Illegal(alone)));
    game.play_tolerantly(Color::Black, game.size().pass()).unwrap();
    assert_eq!(game.ply(), 1);
}
