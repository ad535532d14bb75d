//! Tests that the examples do what they say.

#[path = "../examples/connect_four/game.rs"]
mod connect_four;
#[cfg(feature = "std")]
#[path = "../examples/connect_four_threads/player.rs"]
mod connect_four_threads;
#[path = "../examples/tic_tac_toe.rs"]
mod tic_tac_toe;

use connect_four::{Board, Player};
use oncilla_core::Move;
use oncilla_core::tree::TreeMemory;
use tic_tac_toe::best_move;

/// Memory for a few moves of Connect Four.
type Memory = TreeMemory<4000, 60_000>;

/// The value of a position for the side to move, found by looking at all that can follow.
fn solved(board: tic_tac_toe::Board) -> i32 {
    if board.is_lost() {
        return -1;
    }
    board.moves().map(|mv| -solved(board.play(mv))).max().unwrap_or(0)
}

#[test]
fn tic_tac_toe_keeps_what_a_position_is_worth() {
    // All positions that a first player who plays by the search can meet in the first two moves of each side.
    let mut todo = vec![(tic_tac_toe::Board::default(), 0)];
    let mut seen = 0;
    while let Some((board, plies)) = todo.pop() {
        let Some(mv) = best_move(board) else { continue };
        assert_eq!(-solved(board.play(mv)), solved(board), "move {} after {plies} plies", mv.0);
        seen += 1;
        let after = board.play(mv);
        if plies < 4 && !after.is_lost() {
            todo.extend(after.moves().map(|reply| (after.play(reply), plies + 2)).filter(|(next, _)| !next.is_lost()));
        }
    }
    assert!(seen > 40, "{seen} positions");
}

#[test]
fn the_tic_tac_toe_example_stays_short() {
    let lines = include_str!("../examples/tic_tac_toe.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
}

#[test]
fn connect_four_takes_a_win_and_stops_one() {
    let play = |columns: &[u16]| columns.iter().fold(Board::default(), |board, &column| board.play(Move(column)));
    // Three in a column: a fourth wins for the side to move; if the other side threatens it, it has to be stopped.
    let mut memory = Box::new(Memory::new());
    for played in [&[3, 0, 3, 1, 3, 6][..], &[3, 0, 3, 1, 3]] {
        let mut player = Player::new(play(played), memory.lend());
        assert_eq!(player.best_move(2000), Some(Move(3)), "after {played:?}");
    }
    // Three in a row, open at one end.
    let mut player = Player::new(play(&[0, 0, 1, 1, 2, 6]), memory.lend());
    let mv = player.best_move(2000).expect("the game goes on");
    player.play(mv);
    assert!(player.board().is_lost(), "{mv:?}");
    assert_eq!(player.best_move(10), None, "a game that has ended");
}

#[test]
fn connect_four_plays_a_game_to_its_end() {
    let mut memory = Box::new(Memory::new());
    let mut player = Player::new(Board::default(), memory.lend());
    let mut plies = 0;
    while let Some(mv) = player.best_move(300) {
        assert!(player.board().moves().any(|legal| legal == mv));
        player.play(mv);
        plies += 1;
    }
    assert!((7..=42).contains(&plies) && (player.board().is_lost() || plies == 42), "{plies} plies");
}

#[cfg(feature = "std")]
mod threads {
    use super::connect_four::Board;
    use super::connect_four_threads::{End, Player};
    use oncilla_core::Move;
    use oncilla_core::stop::Reason;
    use oncilla_core::time::Clock;
    use oncilla_core::tree::BoxedMemory;

    #[test]
    fn threads_take_a_win_and_hear_that_the_game_has_ended() {
        let board = [0, 0, 1, 1, 2, 6].iter().fold(Board::default(), |board, &column| board.play(Move(column)));
        let clock = Clock { base_ms: 60_000.0, ply: 6, ..Clock::default() };
        // With enough room and without: in the second case the memory is full after a moment.
        for nodes in [20_000, 300] {
            let mut memory = BoxedMemory::new_graph(nodes, 20 * nodes);
            let mut player = Player::new(board, memory.lend());
            let thought = player.think(&clock, 2).expect("the game goes on");
            assert_eq!((thought.mv, thought.why), (Move(3), End::Limit(Reason::KnownBest)));
            assert_eq!((thought.line, thought.wl), (vec![Move(3)], 1.0));
            player.play(thought.mv);
            assert!(player.board().is_lost());
            assert!(player.think(&clock, 2).is_none(), "a game that has ended");
        }
    }

    #[test]
    fn threads_play_a_game_on_a_clock_and_lose_no_visit() {
        let mut memory = BoxedMemory::new_graph(2000, 30_000);
        let mut player = Player::new(Board::default(), memory.lend());
        let mut clock = Clock { base_ms: 1000.0, ..Clock::default() };
        while let Some(thought) = player.think(&clock, 3) {
            assert!(player.board().moves().any(|legal| legal == thought.mv));
            let root = player.search().root().expect("there is room");
            assert_eq!(root.in_flight(), 0);
            clock = Clock { base_ms: clock.base_ms - thought.used_ms, ply: clock.ply + 1, ..clock };
            player.play(thought.mv);
        }
        let over = player.board().is_lost() || clock.ply == 42;
        assert!(over && clock.ply >= 7, "{} plies", clock.ply);
    }
}
