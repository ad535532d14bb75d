//! What tablebases say of a root's moves. The search itself is only limited to the moves that keep the result; the
//! values that it finds stay its own. The results are for its observer.
//!
//! The built-in endings of three men are probed before a user's files. They have the distance to mate, so a leaf that
//! they win is a proven mate.

use hashbrown::HashMap;
use oncilla_chess::{Board, History, Move, Position};
use oncilla_core::evaluate::{Ending, Value};
use oncilla_syzygy::{Metric, RankedMove, RootRanks, Tablebases, Wdl, three_men};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The tables that are in use, by the folders in which they were found.
static OPEN: Mutex<Vec<(String, Weak<Tablebases>)>> = Mutex::new(Vec::new());

/// The tables in these folders, and a line about them for a person unless another search has opened them already: all
/// searches share what is read of them.
///
/// # Errors
/// One line, if there are no tables.
pub fn open(paths: &str) -> Result<(Arc<Tablebases>, Option<String>), String> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, tables)| tables.strong_count() > 0);
    let known = open.iter().find(|(other, _)| other == paths).and_then(|(_, tables)| tables.upgrade());
    if let Some(tables) = known {
        return Ok((tables, None));
    }
    let tables = Arc::new(Tablebases::open(paths).map_err(|error| format!("Syzygy: {error}"))?);
    open.push((paths.to_string(), Arc::downgrade(&tables)));
    let [wdl, dtz] = [Metric::Wdl, Metric::Dtz].map(|metric| tables.tables(metric));
    let said = format!("Syzygy: {wdl} WDL and {dtz} DTZ tables, up to {} pieces", tables.max_pieces());
    Ok((tables, Some(said)))
}

/// The tables that know endings. The built-in ones are asked first, because they know the distance to mate.
#[derive(Clone, Default)]
pub struct Tables {
    /// `SyzygyPath`.
    pub syzygy: Option<Arc<Tablebases>>,
    /// `BuiltinEndgames`.
    pub builtin: bool,
}

/// What a table says of a leaf.
pub struct TableResult {
    pub value: Value,
    /// Plies to mate, if they are known: then no search would find another result.
    pub mate: Option<u8>,
}

impl Tables {
    /// Ranks the moves of a root, by distances if they are known.
    pub fn root_moves(&self, position: &History, fast_play: bool) -> Option<RootRanks> {
        let by_file = || self.syzygy.as_ref()?.root_moves(position, fast_play).ok();
        let builtin = || three_men::root_moves(position);
        self.builtin.then(builtin).flatten().or_else(by_file)
    }

    /// The result of a position below the root. For most positions it is seen at once that no table knows them.
    #[inline]
    pub fn result(&self, position: &Position) -> Option<TableResult> {
        let may_be_known = self.builtin && three_men::are_all(position.board());
        let known = if may_be_known { builtin(position) } else { None };
        known.or_else(|| by_file(self.syzygy.as_deref()?, position))
    }
}

fn by_file(tables: &Tablebases, position: &Position) -> Option<TableResult> {
    let wdl = tables.applies_to(position).then(|| tables.wdl(position.board()).ok()).flatten()?;
    Some(TableResult { value: value_of(wdl), mate: None })
}

#[cold]
fn builtin(position: &Position) -> Option<TableResult> {
    let (known, rule50) = (three_men::probe(position.board())?, position.rule50());
    Some(TableResult { value: value_of(known.with_rule50(rule50)), mate: known.mate(rule50) })
}

/// The value of a table's result; a win that rule 50 takes away is a draw.
fn value_of(wdl: Wdl) -> Value {
    match wdl {
        Wdl::Win => Value::WIN,
        Wdl::Loss => Value::LOSS,
        Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => Value::DRAW,
    }
}

/// The most positions of lines whose results are remembered.
const MOST_REMEMBERED: usize = 10_000;

/// The most positions of a line that are looked up in files at a time: the clock runs, and a disk may be slow.
const MOST_READS: usize = 8;

/// Results of a root and its moves, as far as they are certain.
#[derive(Clone, Default)]
pub struct RootResults {
    moves: Vec<MoveResult>,
    /// The result of the best move.
    root: Option<MoveResult>,
    /// The tables that know the endings that lines lead to.
    tables: Tables,
    /// What tables in files have said of positions in lines. The lines of a search change little from report to report,
    /// and a search can't wait for a slow disk each time.
    read: Arc<Mutex<HashMap<u64, Option<Wdl>>>>,
}

#[derive(Clone, Debug, PartialEq)]
struct MoveResult {
    mv: Move,
    value: Value,
    /// Plies to mate with this move, negative if its side is mated.
    mate: Option<i32>,
}

impl MoveResult {
    /// The move's value, with the moves left of `found` if the distance to mate is not known.
    fn value_after(&self, found: Value) -> Value {
        Value { m: self.mate.map_or(found.m, |plies| plies.abs() as f32), ..self.value }
    }
}

impl RootResults {
    /// The results of ranked moves. Without distances it is open whether a win comes before the rule-50 counter runs
    /// out; so it is with a distance that may be one ply longer, if that ply is too many.
    pub fn of(ranks: &RootRanks) -> Self {
        let is_in_time = |ranked: &RankedMove| ranks.by_dtz() && !ranked.may_be_late;
        let is_certain = |ranked: &&RankedMove| is_in_time(ranked) || !matches!(ranked.wdl, Wdl::Win | Wdl::Loss);
        let result = |ranked: &RankedMove| {
            let value = value_of(ranked.wdl);
            MoveResult { mv: ranked.mv, value, mate: ranked.mate }
        };
        let moves = ranks.moves.iter().filter(is_certain).map(result);
        // One certain win is enough for the root. That no move is better is certain only if all results are.
        let a_win = ranks.best().find(|ranked| is_certain(ranked) && ranked.wdl == Wdl::Win);
        let any = || ranks.best().next().filter(|_| ranks.best().all(|ranked| is_certain(&ranked)));
        Self { moves: moves.collect(), root: a_win.or_else(any).map(result), ..Self::default() }
    }

    /// Says which tables know the endings that lines lead to. If those of three men are among them (`BuiltinEndgames`),
    /// adds the results of the root's moves that lead to one at once.
    pub fn with_endings(mut self, tables: Tables, root: &Board, moves: &[Move]) -> Self {
        let knows_three_men = tables.builtin;
        self.tables = tables;
        if !knows_three_men {
            return self;
        }
        // If the root has three men, everything is known already, including which positions have occurred before.
        let moves = if three_men::are_all(root) { &[] } else { moves };
        for known in moves.iter().filter_map(|&mv| result_after(root, mv)) {
            // A table may have given the move's result, but not the distance to mate.
            self.moves.retain(|other| other.mv != known.mv || other.mate.is_some());
            if !self.moves.iter().any(|other| other.mv == known.mv) {
                self.moves.push(known);
            }
        }
        self
    }

    /// A move's value to the side that makes it. `None` if the game `ends` with it, or if that is proven: tables know
    /// nothing of earlier positions. The moves left are those of `found`, unless the distance to mate is known.
    pub fn of_move(&self, mv: Move, ends: Option<Ending>, found: Value) -> Option<Value> {
        if is_beyond_tables(ends) {
            return None;
        }
        Some(self.moves.iter().find(|known| known.mv == mv)?.value_after(found))
    }

    /// Moves until mate with a move, this one included, negative if the side to move is mated; `None` if the distance
    /// is unknown.
    pub fn mate_with(&self, mv: Move) -> Option<i32> {
        let plies = self.moves.iter().find(|known| known.mv == mv)?.mate?;
        // Of two plies each side makes one; the winner makes the last one.
        Some(if plies > 0 { (plies + 1) / 2 } else { plies / 2 })
    }

    /// A line from the root's board as it is shown: without what is known to be wrong, and with the way to mate if that is
    /// known where the first `searched` of its moves lead.
    pub fn shown(&self, root: &Board, line: &[Move], searched: usize) -> Vec<Move> {
        let kept = self.kept(root, line);
        let searched = &kept[..searched.min(kept.len())];
        self.to_mate(root, searched).unwrap_or_else(|| kept.to_vec())
    }

    /// The part of a line from the root's board in which no move is known to change the result: the search may not know
    /// what the tables know. Of the first move the line shows what follows, whatever it is worth. It also ends where too
    /// much would have to be read; the next time it goes on from there.
    fn kept<'l>(&self, root: &Board, line: &'l [Move]) -> &'l [Move] {
        let mut board = root.clone();
        let (mut known, mut reads) = (None, 0);
        for (ply, &mv) in line.iter().enumerate() {
            board.play_unchecked(mv);
            let sign = if ply.is_multiple_of(2) { 1 } else { -1 };
            let result = self.result_in_line(&board, &mut reads).map(|points| sign * points);
            if result.is_some_and(|result| *known.get_or_insert(result) != result) {
                return &line[..ply];
            }
            if reads >= MOST_READS {
                return &line[..=ply];
            }
        }
        line
    }

    /// The result of a position in a line, as far as the board tells it. Tables in files don't know how much of the
    /// rule-50 counter a win needs: to them, it has just begun.
    fn result_in_line(&self, board: &Board, reads: &mut usize) -> Option<i8> {
        let builtin = || Some(three_men::probe(board)?.with_rule50(board.halfmove_clock().into()));
        let by_file = || {
            let tables = self.tables.syzygy.as_ref()?;
            if board.occupied().len() as usize > tables.max_pieces() {
                return None;
            }
            let mut remembered = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = remembered.get(&board.hash()) {
                return *known;
            }
            if remembered.len() >= MOST_REMEMBERED {
                remembered.clear();
            }
            *reads += 1;
            let result = tables.wdl(board).ok();
            remembered.insert(board.hash(), result);
            result
        };
        self.tables.builtin.then(builtin).flatten().or_else(by_file).map(Wdl::points)
    }

    /// Continues a line from the root's board to mate, if the way is known from its first move on, or from its end on.
    fn to_mate(&self, root: &Board, line: &[Move]) -> Option<Vec<Move>> {
        let (&first, (&last, begun)) = (line.first()?, line.split_last()?);
        if self.mate_with(first).is_some() {
            return Some(three_men::line(root, first));
        }
        let mut before = root.clone();
        begun.iter().for_each(|&mv| before.play_unchecked(mv));
        let mut end = before.clone();
        end.play_unchecked(last);
        let in_time = |known: three_men::Known| known.mate(end.halfmove_clock().into()).is_some();
        let is_known = self.tables.builtin && three_men::probe(&end).is_some_and(in_time);
        is_known.then(|| begun.iter().copied().chain(three_men::line(&before, last)).collect())
    }

    /// The root's value to the side to move. `None` if one of `moves` ends the game, or is proven to, and is better;
    /// `moves` has for each how it ends and its value. For the moves left see [`RootResults::of_move`].
    pub fn of_root(&self, mut moves: impl Iterator<Item = (Option<Ending>, Value)>, found: Value) -> Option<Value> {
        let known = self.root.as_ref()?;
        let is_better = |(ends, value): (Option<Ending>, Value)| is_beyond_tables(ends) && value.wl > known.value.wl;
        (!moves.any(is_better)).then(|| known.value_after(found))
    }
}

/// The result of a move, for the side that makes it, if it leaves three men.
fn result_after(root: &Board, mv: Move) -> Option<MoveResult> {
    let mut end = root.clone();
    end.play_unchecked(mv);
    let (known, rule50) = (three_men::probe(&end)?, end.halfmove_clock().into());
    let value = value_of(-known.with_rule50(rule50));
    let mate = known.mate(rule50).map(|plies| value.wl as i32 * (i32::from(plies) + 1));
    Some(MoveResult { mv, value, mate })
}

fn is_beyond_tables(ends: Option<Ending>) -> bool {
    ends.is_some_and(|ending| ending != Ending::Tablebase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_syzygy::ProbeError;

    #[test]
    fn only_what_is_certain_is_told() {
        let text = ["a2a3", "b2b3", "c2c3"];
        let ranked = |(text, rank, wdl): (&str, i32, Wdl)| RankedMove {
            mv: text.parse().unwrap(),
            rank,
            wdl,
            dtz: None,
            mate: None,
            may_be_late: false,
        };
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

    /// A win that comes one ply too late is a draw.
    #[test]
    fn what_may_be_a_ply_too_late_is_not_told() {
        let ranked = |text: &str, wdl, may_be_late| {
            let rank = if wdl == Wdl::Win { 900 } else { -900 };
            RankedMove { mv: text.parse().unwrap(), rank, wdl, dtz: Some(rank / 9), mate: None, may_be_late }
        };
        let told = |late: [bool; 2], wdl| {
            let moves = vec![ranked("a2a3", wdl, late[0]), ranked("b2b3", wdl, late[1])];
            let results = RootResults::of(&RootRanks { moves, without_dtz: None });
            let of = |text: &str| results.of_move(text.parse().unwrap(), None, Value::EVEN).map(|value| value.wl);
            (of("a2a3"), of("b2b3"), results.of_root([].into_iter(), Value::EVEN).map(|value| value.wl))
        };
        let [win, loss] = [1.0, -1.0].map(Some);
        assert_eq!(told([false, false], Wdl::Win), (win, win, win));
        assert_eq!(told([true, false], Wdl::Win), (None, win, win));
        assert_eq!(told([true, true], Wdl::Win), (None, None, None));
        assert_eq!(told([false, false], Wdl::Loss), (loss, loss, loss));
        assert_eq!(told([false, true], Wdl::Loss), (loss, None, None), "the second may be a draw");
    }

    #[test]
    fn a_move_that_leaves_three_men_is_worth_what_they_are() {
        let told = |fen: &str, text: &str, results: RootResults| {
            let (board, mv) = (fen.parse::<Board>().unwrap(), text.parse().unwrap());
            let tables = Tables { builtin: true, ..Tables::default() };
            let results = results.with_endings(tables, &board, &[mv]);
            let wl = results.of_move(mv, None, Value::EVEN).map(|value| value.wl);
            (wl, results.mate_with(mv), results.to_mate(&board, &[mv]).map(|line| line.len()))
        };
        let lost = "7k/8/8/8/8/8/1r6/K6r w - - 0 1";
        assert_eq!(told(lost, "a1b2", RootResults::default()), (Some(-1.0), Some(-13), Some(26)));
        let ranked = RankedMove {
            mv: "a1b2".parse().unwrap(),
            rank: -900,
            wdl: Wdl::Loss,
            dtz: None,
            mate: None,
            may_be_late: false,
        };
        let by_file = RootResults::of(&RootRanks { moves: vec![ranked], without_dtz: None });
        assert_eq!(told(lost, "a1b2", by_file), (Some(-1.0), Some(-13), Some(26)), "a table knows no distance");
        assert_eq!(told("8/8/8/8/8/k7/8/K2n3R w - - 0 1", "h1d1", RootResults::default()).0, Some(1.0));
        assert_eq!(told("8/8/8/8/8/8/8/KR3nkb w - - 0 1", "b1f1", RootResults::default()), (None, None, None));
        assert_eq!(
            told("8/8/8/8/8/2k5/8/KR6 w - - 0 1", "b1b8", RootResults::default()).1,
            None,
            "it may have occurred"
        );
    }

    #[test]
    fn a_line_ends_before_a_move_that_is_known_to_be_wrong() {
        let kept = |fen: &str, line: &str, builtin| {
            let board: Board = fen.parse().unwrap();
            let line: Vec<Move> = line.split(' ').map(|mv| mv.parse().unwrap()).collect();
            let tables = Tables { builtin, ..Tables::default() };
            RootResults::default().with_endings(tables, &board, &[]).kept(&board, &line).len()
        };
        let drawn = "8/8/8/3k4/8/4p3/8/4K3 w - - 0 1";
        assert_eq!(kept(drawn, "e1e2 d5d4 e2d1 d4d3 d1e1 e3e2", true), 2);
        assert_eq!(kept(drawn, "e1e2 d5d4 e2d1 d4d3 d1e1 e3e2", false), 6, "nothing is known");
        assert_eq!(kept(drawn, "e1d1 d5d4 d1e2 d4e4 e2e1", true), 5, "a draw all the way");
        let before = "8/8/8/3k4/8/4p3/8/3nK3 w - - 0 1";
        assert_eq!(kept(before, "e1d1 d5e4 d1e2 e4d4 e2e1 d4d3 e1f1", true), 6, "four men become three");
        let lost = "8/8/8/8/4k3/4p3/8/4K3 w - - 0 1";
        assert_eq!(kept(lost, "e1d1 e4d3 d1e1 e3e2 e1f2 d3d2 f2g1", true), 7, "nothing is to be lost any more");
    }

    /// A third occurrence is a draw, whatever the tables say of the position.
    #[test]
    fn what_ends_the_game_is_no_matter_for_tables() {
        let mv: Move = "c2c3".parse().unwrap();
        let ranked = RankedMove { mv, rank: -1000, wdl: Wdl::Loss, dtz: None, mate: None, may_be_late: false };
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
