//! Diagrams of boards, for all tests.

use oncilla_go::{Board, Color, Game, Move, PointSet, Rules, Size};

/// Stones from a diagram: rows from the top, `X` Black, `O` White, `.` empty.
#[allow(dead_code, reason = "not every test has diagrams")]
pub fn stones(rows: &[&str]) -> (Size, Vec<(Color, Move)>) {
    let size = Size::new(rows[0].len() as u8, rows.len() as u8).unwrap();
    let marks = rows.iter().flat_map(|row| row.chars());
    let stones = size.points().zip(marks).filter_map(|(point, mark)| match mark {
        'X' => Some((Color::Black, point)),
        'O' => Some((Color::White, point)),
        '.' => None,
        other => panic!("mark {other}"),
    });
    (size, stones.collect())
}

#[allow(dead_code, reason = "as above")]
pub fn board(rows: &[&str]) -> Board {
    let (size, stones) = stones(rows);
    Board::with_stones(size, stones).unwrap()
}

#[allow(dead_code, reason = "as above")]
pub fn game(rows: &[&str], rules: Rules, to_move: Color) -> Game {
    let (size, stones) = stones(rows);
    Game::with_stones(size, rules, stones, to_move).unwrap()
}

/// The points that a diagram marks with one of `marks`.
#[allow(dead_code, reason = "as above")]
pub fn marked(rows: &[&str], marks: &str) -> PointSet {
    let size = Size::new(rows[0].len() as u8, rows.len() as u8).unwrap();
    let all = rows.iter().flat_map(|row| row.chars());
    size.points().zip(all).filter(|(_, mark)| marks.contains(*mark)).map(|(point, _)| point).collect()
}

/// A set of points as a diagram, for the messages of tests that fail.
#[allow(dead_code, reason = "as above")]
pub fn diagram(size: Size, set: &PointSet) -> String {
    let mark = |point: Move| if set.contains(point) { '#' } else { '.' };
    let end = |point: Move| if (point.0 + 1).is_multiple_of(size.x().into()) { "\n" } else { "" };
    size.points().map(|point| format!("{}{}", mark(point), end(point))).collect()
}
