//! The example does what it says.

#[path = "../examples/play.rs"]
mod play;

use oncilla_go::{Color, Game, Outcome, Rules, Size};

/// Black, who moves first, wins on 5 × 5, komi or not: the first stone in the centre keeps the whole board.
#[test]
fn black_wins_on_a_small_board() {
    let mut first = None;
    let game = play::play(1500, |_, mv| {
        first.get_or_insert(mv);
    });
    let Some(Outcome::WhiteLead(lead)) = game.outcome() else { panic!("no end after {} moves", game.ply()) };
    assert!(lead < 0.0, "White leads by {lead}\n{}", game.board());
    assert_eq!(first, game.size().point(2, 2));
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
