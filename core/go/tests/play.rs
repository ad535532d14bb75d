//! Tests that the example does what it says.

#[path = "../examples/play.rs"]
mod play;

use oncilla_go::{Color, Ending, Game, Outcome, Rules, Size};

#[test]
fn a_game_comes_to_its_end() {
    let mut moves = 0;
    let game = play::play(1500, |_, _| moves += 1);
    assert_eq!((game.ply(), game.ending()), (moves, Some(Ending::Passes)), "\n{}", game.board());
    assert_eq!(game.outcome(), game.white_lead().map(Outcome::WhiteLead));
    // Neither side passes while the board is open.
    let owned = oncilla_go::area::area(game.board(), true);
    assert!(owned.of(Color::Black).len() + owned.of(Color::White).len() > 20, "\n{}", game.board());
}

#[test]
fn a_pass_that_wins_is_played_and_one_that_loses_is_not() {
    let size = Size::new(5, 5).unwrap();
    for (stone, passes) in [(Color::White, true), (Color::Black, false)] {
        let stones = size.points().skip(10).take(5).map(|point| (stone, point));
        let mut game = Game::with_stones(size, Rules::TROMP_TAYLOR, stones, Color::Black).unwrap();
        game.play(size.pass()).unwrap();
        assert_eq!(play::best_move(&game, 500) == size.pass(), passes);
    }
}
