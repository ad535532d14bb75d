//! Whether one game went on to become another.

use oncilla_chess::{History, Move, Position};

/// The moves that lead from the last position of `old` to that of `new`; `None` if `new` does not continue `old`.
pub fn moves_between(old: &History, new: &History) -> Option<Vec<Move>> {
    let plies = new.len().checked_sub(old.len())?;
    let same = |back: usize| match (old.back(back), new.back(back + plies)) {
        (None, None) => Some(true),
        (Some(a), Some(b)) => Some(a.board() == b.board() && a.rule50() == b.rule50()),
        // The longer game has forgotten what the shorter one still remembers: there is nothing left to compare.
        (Some(_), None) => None,
        (None, Some(_)) => Some(false),
    };
    if !(0..old.len()).map_while(same).all(|same| same) || same(0) != Some(true) {
        return None;
    }
    (0..plies).rev().map(|back| new.back(back).and_then(Position::last_move)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use oncilla_chess::notation;

    /// The game of these moves from the starting position.
    pub fn after(moves: &[&str]) -> History {
        let mut history = History::startpos();
        for text in moves {
            let mv = notation::parse_move(history.board(), text).unwrap();
            history.push(mv);
        }
        history
    }

    #[test]
    fn a_game_that_goes_on_is_known() {
        let opening = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "g8f6", "e1g1"];
        for (from, to) in [(0, 0), (0, 7), (3, 5), (6, 7)] {
            let moves = moves_between(&after(&opening[..from]), &after(&opening[..to])).unwrap();
            assert_eq!(moves.len(), to - from);
            let mut history = after(&opening[..from]);
            moves.iter().for_each(|&mv| history.push(mv));
            assert_eq!(history.key(), after(&opening[..to]).key());
        }
        assert!(moves_between(&after(&opening[..4]), &after(&opening[..3])).is_none(), "taken back");
        assert!(moves_between(&after(&["d2d4"]), &after(&opening[..3])).is_none(), "another game");
        let transposed = after(&["g1f3", "b8c6", "e2e4", "e7e5"]);
        assert!(moves_between(&transposed, &after(&opening[..5])).is_none(), "another way to the same position");
    }
}
