//! The points of handicap stones, and how long a handicap counts.

use oncilla_go::{Move, Size};

/// The least number of handicap stones.
pub const LEAST: usize = 2;

/// A board with a shorter side has no points for a fixed handicap.
const SHORTEST: u8 = 7;

/// On a side of at least this many points, handicap stones stand on the fourth line, on shorter ones on the third.
const LONG: u8 = 13;

/// The points of a fixed handicap, as GTP's specification places them; `None` if there is no such handicap on this
/// board.
pub fn fixed(size: Size, stones: usize) -> Option<Vec<Move>> {
    if !(LEAST..=most(size)).contains(&stones) {
        return None;
    }
    let lines = |side: u8| {
        let edge = if side >= LONG { 3 } else { 2 };
        [edge, side / 2, side - 1 - edge]
    };
    let ([left, middle, right], [top, center, bottom]) = (lines(size.x()), lines(size.y()));
    let corners = [(left, bottom), (right, top), (left, top), (right, bottom)];
    let sides = [(left, center), (right, center), (middle, bottom), (middle, top)];
    let places = match stones {
        ..=4 => corners[..stones].to_vec(),
        _ => {
            // If the number is odd, one stone stands in the middle.
            let of_sides = &sides[..(stones - 4) / 2 * 2];
            let center = (stones % 2 == 1).then_some((middle, center));
            corners.iter().chain(of_sides).copied().chain(center).collect()
        }
    };
    places.into_iter().map(|(x, y)| size.point(x, y)).collect()
}

/// The largest number of stones of a fixed handicap; 0 if the board has no points for one.
pub fn most(size: Size) -> usize {
    let (shorter, odd) = (size.x().min(size.y()), size.x() % 2 == 1 && size.y() % 2 == 1);
    match shorter {
        ..SHORTEST => 0,
        SHORTEST => 4,
        _ if odd => 9,
        _ => 4,
    }
}

/// A head start of no more points is an even game.
const EVEN: f64 = 0.9;

/// Before there are as many moves as this part of the board has points, White's deficit does not tell yet whether the
/// handicap will be made up for: one in so many.
const OPENING: usize = 5;

/// After this many moves for each point of the board, White should have made up for the handicap.
const MADE_UP: f64 = 0.6;

/// Points, and a part of the head start, that White must be behind by even then.
const LEFT: (f64, f64) = (5.0, 0.15);

/// The points by which White may be behind after `played` moves and still hope to win a game in which Black was `ahead`
/// by so many points at the beginning: a weaker player loses them bit by bit. As in KataGo.
pub fn made_up_later(ahead: f64, area: usize, played: usize) -> f64 {
    if ahead <= EVEN {
        return 0.0;
    }
    let opening = 1 + area / OPENING;
    if played < opening {
        return f64::INFINITY;
    }
    let most = (MADE_UP * area as f64 - opening as f64).max(1.0);
    let rest = 1.0 - ((played - opening) as f64 / most).min(1.0);
    let (points, part) = LEFT;
    ahead * rest + points + part * ahead
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn text(side: u8, stones: usize) -> String {
        let size = Size::new(side, side).unwrap();
        let points = fixed(size, stones).unwrap_or_default();
        points.iter().map(|mv| size.format(*mv).to_string()).collect::<Vec<_>>().join(" ")
    }

    /// These are the points in the specification's table.
    #[test]
    fn stones_stand_where_the_specification_has_them() {
        assert_eq!(text(19, 2), "D4 Q16");
        assert_eq!(text(19, 3), "D4 Q16 D16");
        assert_eq!(text(19, 4), "D4 Q16 D16 Q4");
        assert_eq!(text(19, 5), "D4 Q16 D16 Q4 K10");
        assert_eq!(text(19, 6), "D4 Q16 D16 Q4 D10 Q10");
        assert_eq!(text(19, 7), "D4 Q16 D16 Q4 D10 Q10 K10");
        assert_eq!(text(19, 8), "D4 Q16 D16 Q4 D10 Q10 K4 K16");
        assert_eq!(text(19, 9), "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10");
        assert_eq!(text(9, 5), "C3 G7 C7 G3 E5");
        assert_eq!((text(12, 4), text(12, 5)), ("C3 K10 C10 K3".into(), String::new()));
        assert_eq!((text(7, 4), text(7, 5), text(6, 2)), ("C3 E5 C5 E3".into(), String::new(), String::new()));
        assert_eq!((text(19, 1), text(19, 10)), (String::new(), String::new()));
    }

    #[test]
    fn a_handicap_is_made_up_for_bit_by_bit() {
        assert_eq!([-5.0, 0.5].map(|ahead| made_up_later(ahead, 361, 0)), [0.0; 2]);
        assert_eq!(made_up_later(40.0, 361, 72), f64::INFINITY);
        let later = [73, 140, 216, 217, 900].map(|played| made_up_later(40.0, 361, played));
        assert_eq!((later[0], later[3], later[4]), (40.0 + 5.0 + 6.0, 11.0, 11.0));
        assert!(later.is_sorted_by(|a, b| a >= b), "{later:?}");
    }

    #[test]
    fn no_two_stand_on_one_point() {
        for (x, y) in (2..=19).flat_map(|x| (2..=19).map(move |y| (x, y))) {
            let size = Size::new(x, y).unwrap();
            for stones in LEAST..=most(size) {
                let points: BTreeSet<Move> = fixed(size, stones).unwrap().into_iter().collect();
                assert_eq!(points.len(), stones, "{x} × {y}");
            }
        }
    }
}
