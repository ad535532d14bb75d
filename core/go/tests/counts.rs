//! Compares with numbers of positions and games that others have counted: John Tromp and Gunnar Farnebäck,
//! "Combinatorics of Go" (2007, revised 2016).

use oncilla_go::{Board, Color, Game, Move, Rules, Size};

/// The number of legal positions: of all ways to leave points empty or put stones on them such that each chain has a
/// liberty.
fn legal_positions(x: u8, y: u8) -> usize {
    let size = Size::new(x, y).unwrap();
    let ways = 3usize.pow(size.area() as u32);
    let is_legal = |&way: &usize| {
        let mark = |point: &Move| way / 3usize.pow(point.0.into()) % 3;
        let stones = size.points().filter_map(|point| match mark(&point) {
            0 => None,
            1 => Some((Color::Black, point)),
            _ => Some((Color::White, point)),
        });
        Board::with_stones(size, stones).is_ok()
    };
    (0..ways).filter(is_legal).count()
}

#[test]
fn legal_positions_are_as_many_as_tromp_counts() {
    let counts = [(1, 1, 1), (1, 2, 5), (1, 3, 15), (2, 2, 57), (2, 3, 489), (3, 3, 12_675)];
    for (x, y, expected) in counts {
        assert_eq!(legal_positions(x, y), expected, "{x} x {y}");
        assert_eq!(legal_positions(y, x), expected, "{y} x {x}");
    }
}

/// The number of games as Tromp counts them: the ways to go on from the empty board, move by move, that come to no
/// position twice; a game may stop anywhere, also at once. Either player may move at any time, because the other could
/// have passed, and chains may kill themselves. So only positional superko keeps this from going on for ever.
///
/// Here a pass is really played before the other player moves. Passes take no part in positional superko.
fn games(game: &Game<64>) -> u64 {
    let mut count = 1;
    for color in Color::ALL {
        let mut turn = game.clone();
        if turn.side_to_move() != color {
            turn.play(turn.size().pass()).unwrap();
        }
        let points = turn.legal_moves().filter(|&mv| mv != turn.size().pass());
        for point in points {
            let mut next = turn.clone();
            next.play(point).unwrap();
            count += games(&next);
        }
    }
    count
}

#[test]
fn games_are_as_many_as_tromp_counts() {
    for (x, y, expected) in [(1, 1, 1), (1, 2, 9), (2, 1, 9), (1, 3, 907), (3, 1, 907)] {
        let game = Game::new(Size::new(x, y).unwrap(), Rules::TROMP_TAYLOR);
        assert_eq!(games(&game), expected, "{x} x {y}");
    }
}
