//! Hashes of positions.

use oncilla_go::{Color, Symmetry};

use crate::digest::digits;
use crate::go::Game;

/// Two names of a position, by its stones, the side to move and the point that a simple ko forbids. The first is equal
/// for equal positions, the second also for positions that are mirrored or turned.
pub(super) fn hashes(game: &Game) -> [String; 2] {
    let (size, side) = (game.size(), game.side_to_move());
    let ko = game.board().ko().filter(|(banned, _)| *banned == side).map(|(_, point)| point);
    let text = |symmetry: Symmetry| {
        let turned = symmetry.size(size);
        let mut text = vec!['.'; size.area()];
        for mv in size.points() {
            let here = match game.board().stone(mv) {
                Some(Color::Black) => 'x',
                Some(Color::White) => 'o',
                None if ko == Some(mv) => 'k',
                None => '.',
            };
            text[symmetry.apply(size, mv).index()] = here;
        }
        let side = if side == Color::White { 'o' } else { 'x' };
        format!("{}x{} {} {side}", turned.x(), turned.y(), text.iter().collect::<String>())
    };
    let alike = Symmetry::ALL.into_iter().map(text).min().unwrap_or_default();
    [digits(&text(Symmetry::NONE)), digits(&alike)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::go::Defaults;
    use serde_json::{Value as Json, json};

    fn game(fields: Json) -> Game {
        let mut query = json!({ "boardXSize": 5, "boardYSize": 5, "rules": "aga-button" });
        query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let setup = Defaults::default().read("", query.as_object().unwrap()).query.unwrap().query.setup;
        setup.game(setup.turns())
    }

    /// Two passes, of which the first takes the button, change neither the stones nor the side to move.
    #[test]
    fn a_position_has_one_name_however_it_came_about() {
        let played = game(json!({ "moves": [["B", "B2"], ["W", "D4"], ["B", "pass"], ["W", "pass"]] }));
        let placed = game(json!({ "initialStones": [["B", "B2"], ["W", "D4"]], "initialPlayer": "B", "moves": [] }));
        let turned = game(json!({ "initialStones": [["B", "D4"], ["W", "B2"]], "initialPlayer": "B", "moves": [] }));
        let other = game(json!({ "initialStones": [["B", "B2"], ["W", "D4"]], "initialPlayer": "W", "moves": [] }));
        assert_eq!(hashes(&played), hashes(&placed));
        assert_eq!(hashes(&turned)[1], hashes(&placed)[1]);
        assert_ne!(hashes(&turned)[0], hashes(&placed)[0]);
        assert!(hashes(&other)[0] != hashes(&placed)[0] && hashes(&other)[1] != hashes(&placed)[1]);
    }

    /// A position is another one if a ko forbids something, but not any more once the other player has moved elsewhere.
    #[test]
    fn a_ko_is_part_of_a_position() {
        let stones = json!([["B", "B3"], ["B", "C4"], ["B", "C2"], ["W", "D4"], ["W", "D2"], ["W", "E3"], ["W", "C3"]]);
        let taken = game(json!({ "initialStones": stones, "initialPlayer": "B", "moves": [["B", "D3"]] }));
        let mut without = stones.clone();
        without.as_array_mut().unwrap().pop();
        without.as_array_mut().unwrap().push(json!(["B", "D3"]));
        let placed = game(json!({ "initialStones": without, "initialPlayer": "W", "moves": [] }));
        assert!(taken.board().ko().is_some());
        assert_ne!(hashes(&taken), hashes(&placed));
    }
}
