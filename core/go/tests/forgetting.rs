//! A game that has forgotten its first moves is the same game, except for the positions that ko rules compare with.

use oncilla_go::{Button, Color, Ending, Game, Move, Rules, Size};

/// Room for all moves of a long game, and for some of them.
type Whole = Game<4096>;
type Short = Game<200>;

/// How many moves the short game knows after it has forgotten others.
const KEPT: usize = 100;

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

/// A random number below `most` (Knuth's MMIX).
fn below(state: &mut u64, most: usize) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as usize % most
}

/// Plays a random game of `moves` moves, both with all of its history and with some, and calls `look` after each move.
fn play(rules: Rules, seed: u64, moves: usize, mut look: impl FnMut(&Whole, &Short)) {
    let size = Size::new(6, 5).unwrap();
    let (mut whole, mut short) = (Whole::new(size, rules), Short::new(size, rules));
    let mut state = seed;
    for _ in 0..moves {
        let legal: Vec<Move> = whole.legal_moves().collect();
        let mv = legal[below(&mut state, legal.len())];
        if short.room() == 0 {
            short.forget(KEPT);
            assert_eq!((short.room(), short.moves().len()), (100, KEPT));
        }
        whole.play(mv).unwrap();
        short.play(mv).unwrap();
        look(&whole, &short);
    }
}

#[test]
fn what_counts_is_kept() {
    let all = [
        "koPOSITIONALscoreAREAtaxNONEsui1button1whbNkomi7",
        "koSITUATIONALscoreTERRITORYtaxSEKIsui1whb0komi6.5",
        "koSIMPLEscoreTERRITORYtaxALLsui0whbN-1komi0.5",
        "koSPIGHTscoreAREAtaxNONEsui0button1whb0komi7",
    ];
    for (text, seed) in all.into_iter().zip(1..) {
        let mut forgot = false;
        play(rules(text), seed, 1500, |whole, short| {
            forgot |= short.moves().len() < short.ply();
            assert_eq!((whole.ply(), whole.side_to_move()), (short.ply(), short.side_to_move()));
            assert_eq!((whole.compensation(), whole.button()), (short.compensation(), short.button()));
            assert_eq!(whole.handicap_stones(), short.handicap_stones());
            assert_eq!(whole.white_lead(), short.white_lead(), "{text}");
            assert!(whole.pass_would_end() || !short.pass_would_end());
            for plies in 0..3 {
                let boards = [whole.board_ago(plies), short.board_ago(plies)].map(|board| board.unwrap().hash());
                assert_eq!(boards[0], boards[1]);
            }
            assert!(short.ending().is_none() || short.ending() == whole.ending());
            // The short game bans no points that the whole game does not ban.
            assert!((short.ko_banned() - whole.ko_banned()).is_empty());
            if short.ko_banned() == whole.ko_banned() {
                assert_eq!(whole.loose_graph_key(), short.loose_graph_key());
            }
        });
        assert!(forgot);
    }
}

#[test]
fn superko_compares_with_what_is_kept() {
    let size = Size::new(5, 5).unwrap();
    let mut game: Game = Game::new(size, Rules::TROMP_TAYLOR);
    // White's last stone takes the one on C2; the passes lift the simple ko.
    for text in ["B3", "C3", "A2", "D2", "B1", "C1", "C2", "B2", "pass", "pass"] {
        game.play(size.parse(text).unwrap()).unwrap();
    }
    let back = size.parse("C2").unwrap();
    for (kept, is_banned) in [(1000, true), (3, true), (2, false), (0, false)] {
        let mut game = game.clone();
        game.forget(kept);
        assert_eq!((game.is_legal(back), game.ko_banned().contains(back)), (!is_banned, is_banned), "{kept}");
        assert_eq!((game.ply(), game.ending()), (10, Some(Ending::Passes)));
    }
}

#[test]
fn handicap_stones_are_counted_across_what_is_forgotten() {
    let size = Size::new(9, 9).unwrap();
    let mut game: Game = Game::new(size, rules("koPOSITIONALscoreAREAtaxNONEsui0whbNkomi0.5"));
    let expected =
        [(Color::Black, "C3", 0), (Color::White, "pass", 0), (Color::Black, "G7", 2), (Color::White, "pass", 2)];
    for (color, text, stones) in
        expected.into_iter().chain([(Color::Black, "C7", 3), (Color::White, "G3", 3), (Color::Black, "E5", 3)])
    {
        game.play_as(color, size.parse(text).unwrap()).unwrap();
        game.forget(1);
        assert_eq!(game.handicap_stones(), stones, "{text}");
    }
    game.set_black_run_is_handicap(false);
    assert_eq!(game.handicap_stones(), 0);
}

#[test]
fn a_button_that_was_taken_stays_taken() {
    let size = Size::new(5, 5).unwrap();
    let mut game: Game = Game::new(size, rules("koSPIGHTscoreAREAtaxNONEsui0button1whb0komi7"));
    game.play(size.pass()).unwrap();
    game.play(size.parse("C3").unwrap()).unwrap();
    game.forget(0);
    assert_eq!((game.button(), game.compensation()), (Button::Taken(Color::Black), 6.5));
    game.play(size.pass()).unwrap();
    assert_eq!(game.ending(), None, "one that repeats nothing");
}
