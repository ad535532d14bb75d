//! What tablebases say of a root's moves. The search does not need it: it looks at the moves that keep the result, and finds the
//! way among them. Whoever hears of the search is told the results.

use super::leaf;
use oncilla_chess::Move;
use oncilla_core::evaluate::{Ending, Value};
use oncilla_syzygy::{RankedMove, RootRanks, Wdl};

/// Results of a root and its moves, as far as they are certain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RootResults {
    moves: Vec<(Move, Value)>,
    root: Option<Value>,
}

impl RootResults {
    /// Those of ranked moves. Without distances it is open whether a win comes before the rule-50 counter runs out.
    pub fn of(ranks: &RootRanks) -> Self {
        let is_certain = |ranked: &&RankedMove| ranks.by_dtz() || !matches!(ranked.wdl, Wdl::Win | Wdl::Loss);
        let moves =
            ranks.moves.iter().filter(is_certain).map(|ranked| (ranked.mv, leaf::value_by_tablebase(ranked.wdl)));
        let best = ranks.best().next().filter(is_certain);
        Self { moves: moves.collect(), root: best.map(|ranked| leaf::value_by_tablebase(ranked.wdl)) }
    }

    /// What a move is worth to the side that makes it, unless the game `ends` with it, or is proven: tables know nothing of positions that
    /// came before, nor a distance to mate. Moves left stay as they were `found`.
    pub fn of_move(&self, mv: Move, ends: Option<Ending>, found: Value) -> Option<Value> {
        if is_beyond_tables(ends) {
            return None;
        }
        let (_, value) = self.moves.iter().find(|(known, _)| *known == mv)?;
        Some(Value { m: found.m, ..*value })
    }

    /// What the root is worth to the side to move, unless one of `moves` ends the game, or is proven, and is worth more: each with how it
    /// ends, and its value. Moves left stay as they were `found`.
    pub fn of_root(&self, mut moves: impl Iterator<Item = (Option<Ending>, Value)>, found: Value) -> Option<Value> {
        let known = self.root?;
        let is_better = |(ends, value): (Option<Ending>, Value)| is_beyond_tables(ends) && value.wl > known.wl;
        (!moves.any(is_better)).then_some(Value { m: found.m, ..known })
    }
}

fn is_beyond_tables(ends: Option<Ending>) -> bool {
    matches!(ends, Some(Ending::Game | Ending::TwoFold))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_syzygy::ProbeError;

    #[test]
    fn only_what_is_certain_is_told() {
        let text = ["a2a3", "b2b3", "c2c3"];
        let ranked =
            |(text, rank, wdl): (&str, i32, Wdl)| RankedMove { mv: text.parse().unwrap(), rank, wdl, dtz: None };
        let moves =
            [(text[0], 1000, Wdl::Win), (text[1], 899, Wdl::CursedWin), (text[2], -1000, Wdl::Loss)].map(ranked);
        let mut ranks = RootRanks { moves: moves.to_vec(), without_dtz: None };
        let found = Value { m: 30.0, ..Value::EVEN };
        let wl = |ranks: &RootRanks| {
            let results = RootResults::of(ranks);
            let of = |text: &str| {
                results.of_move(text.parse().unwrap(), None, found).map(|value| (value.wl, value.d, value.m))
            };
            (text.map(of), results.of_root([].into_iter(), found).map(|value| value.wl))
        };
        let [win, draw, loss] = [(1.0, 0.0, 30.0), (0.0, 1.0, 30.0), (-1.0, 0.0, 30.0)].map(Some);
        assert_eq!(wl(&ranks), ([win, draw, loss], Some(1.0)));
        ranks.without_dtz = Some(ProbeError::NoMove);
        assert_eq!(wl(&ranks), ([None, draw, None], None));
        ranks.moves.remove(0);
        assert_eq!(wl(&ranks), ([None, draw, None], Some(0.0)));
    }

    /// A third occurrence is a draw, whatever the tables say of the position.
    #[test]
    fn what_ends_the_game_is_no_matter_for_tables() {
        let mv: Move = "c2c3".parse().unwrap();
        let ranked = RankedMove { mv, rank: -1000, wdl: Wdl::Loss, dtz: None };
        let lost = RootResults::of(&RootRanks { moves: vec![ranked], without_dtz: None });
        let of_move = |ends| lost.of_move(mv, ends, Value::EVEN).map(|value| value.wl);
        let of_root = |ends| lost.of_root([(ends, Value::EVEN)].into_iter(), Value::EVEN).map(|value| value.wl);
        for (ends, wl) in [
            (None, Some(-1.0)),
            (Some(Ending::Tablebase), Some(-1.0)),
            (Some(Ending::Game), None),
            (Some(Ending::TwoFold), None),
        ] {
            assert_eq!((of_move(ends), of_root(ends)), (wl, wl), "{ends:?}");
        }
    }
}
