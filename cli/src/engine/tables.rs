//! What tablebases say of a root's moves. The search does not need it: it looks at the moves that keep the result, and finds the
//! way among them. Whoever hears of the search is told the results.

use super::leaf;
use oncilla_chess::Move;
use oncilla_core::evaluate::Value;
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

    /// What a move is worth to the side that makes it. Tables know no distance to mate: moves left stay as they were `found`.
    pub fn of_move(&self, mv: Move, found: Value) -> Option<Value> {
        let (_, value) = self.moves.iter().find(|(known, _)| *known == mv)?;
        Some(Value { m: found.m, ..*value })
    }

    /// What the root is worth to the side to move; moves left as they were `found`.
    pub fn of_root(&self, found: Value) -> Option<Value> {
        self.root.map(|value| Value { m: found.m, ..value })
    }
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
            let of =
                |text: &str| results.of_move(text.parse().unwrap(), found).map(|value| (value.wl, value.d, value.m));
            (text.map(of), results.of_root(found).map(|value| value.wl))
        };
        let [win, draw, loss] = [(1.0, 0.0, 30.0), (0.0, 1.0, 30.0), (-1.0, 0.0, 30.0)].map(Some);
        assert_eq!(wl(&ranks), ([win, draw, loss], Some(1.0)));
        ranks.without_dtz = Some(ProbeError::NoMove);
        assert_eq!(wl(&ranks), ([None, draw, None], None));
        ranks.moves.remove(0);
        assert_eq!(wl(&ranks), ([None, draw, None], Some(0.0)));
    }
}
