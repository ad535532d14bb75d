//! Writes a search's reports as UCI lines.

use std::fmt::Write;
use std::sync::Arc;

use oncilla_chess::cozy_chess::Board;
use oncilla_chess::{Castling, Move, has_legal_move, notation};

use crate::engine::{Done, Info, Line, MoveStats, Observer, Settings};
use crate::options::Output;
use crate::score::wdl_per_mille;

use super::move_stats;
use crate::console::Console;
use crate::statistics;

/// The best move of a position without legal moves.
///
/// Lc0 writes `a1a1`, which clients take for a move and refuse. `(none)` is Stockfish's output, so GUIs know it, and
/// python-chess reads it as no move.
const NO_MOVE: &str = "(none)";

/// Writes the lines of one search.
pub struct Report {
    console: Arc<Console>,
    root: Board,
    output: Output,
    /// The value of a draw for the side to move at the root.
    draw_score: f32,
    /// Whether lines have a `multipv` number even if there is only one.
    is_numbered: bool,
}

impl Report {
    /// Makes the report for a search from `root` with these settings.
    pub fn new(console: Arc<Console>, root: Board, output: Output, settings: &Settings) -> Self {
        let draw_score = settings.draw_score(root.side_to_move());
        Self { console, root, output, draw_score, is_numbered: settings.multi_pv > 1 }
    }

    /// The lines of an `info`, the best move's first. There are none if the search has failed before it knew the moves.
    fn info_lines(&self, info: &Info) -> Vec<String> {
        if info.lines.is_empty() && !has_legal_move(&self.root) {
            return vec![self.info_without_moves(info)];
        }
        let number = |index| self.is_numbered.then_some(index + 1);
        info.lines.iter().enumerate().map(|(index, line)| self.info_line(info, line, number(index))).collect()
    }

    /// One line of an `info`, with its fields in Lc0's order.
    fn info_line(&self, info: &Info, line: &Line, multi_pv: Option<usize>) -> String {
        let nodes = if self.output.per_pv_counters { line.nodes } else { info.nodes };
        let score = match line.mate {
            Some(moves) => format!("mate {moves}"),
            None => format!("cp {}", self.output.score_type.score(line.value, self.draw_score, info.has_wdl)),
        };
        let mut text = self.beginning(info, nodes, &score);
        // Writing to a String can't fail.
        if self.output.show_wdl {
            let [w, d, l] = wdl_per_mille(line.value);
            let _ = write!(text, " wdl {w} {d} {l}");
        }
        if self.output.show_moves_left && info.has_moves_left {
            let moves = line.value.m.max(0.0) / 2.0;
            let _ = write!(text, " movesleft {}", moves as u32);
        }
        self.middle(&mut text, info);
        if let Some(number) = multi_pv {
            let _ = write!(text, " multipv {number}");
        }
        let pv = self.moves(&line.pv);
        if !pv.is_empty() {
            let _ = write!(text, " pv {pv}");
        }
        text
    }

    /// The line for a position without legal moves, which still has a score: mated, or a draw.
    fn info_without_moves(&self, info: &Info) -> String {
        let (score, wdl) = if self.root.checkers().is_empty() { ("cp 0", "0 1000 0") } else { ("mate 0", "0 0 1000") };
        let mut text = self.beginning(info, info.nodes, score);
        if self.output.show_wdl {
            let _ = write!(text, " wdl {wdl}");
        }
        if self.output.show_moves_left && info.has_moves_left {
            text.push_str(" movesleft 0");
        }
        self.middle(&mut text, info);
        text
    }

    fn beginning(&self, info: &Info, nodes: u64, score: &str) -> String {
        let Info { depth, seldepth, time_ms, .. } = info;
        format!("info depth {depth} seldepth {seldepth} time {time_ms} nodes {nodes} score {score}")
    }

    fn middle(&self, text: &mut String, info: &Info) {
        let _ = write!(text, " hashfull {}", info.hashfull);
        let _ = write!(text, " nps {}", info.nps);
        if self.output.show_eps {
            let _ = write!(text, " eps {}", info.eps);
        }
        let _ = write!(text, " tbhits {}", info.tbhits);
    }

    /// The moves of a line of play from the root. They end before the first move that is not legal.
    fn moves(&self, pv: &[Move]) -> String {
        let mut board = self.root.clone();
        let mut texts = Vec::with_capacity(pv.len());
        for &mv in pv {
            if !board.is_legal(mv) {
                debug_assert!(false, "illegal move {mv} in a line from {}", self.root);
                break;
            }
            texts.push(notation::format_move(&board, mv, Castling::of(self.output.chess960)).to_string());
            board.play_unchecked(mv);
        }
        texts.join(" ")
    }

    fn done_lines(&self, done: &Done) -> Vec<String> {
        let mut lines = self.stats_lines(&done.stats);
        if self.output.show_statistics {
            lines.extend(statistics::lines(&done.statistics).iter().map(|line| format!("info string {line}")));
        }
        let played: Vec<Move> = done.best.into_iter().chain(done.ponder).collect();
        lines.push(match *self.moves(&played).split(' ').collect::<Vec<_>>() {
            [""] | [] => format!("bestmove {NO_MOVE}"),
            [best] => format!("bestmove {best}"),
            [best, ponder, ..] => format!("bestmove {best} ponder {ponder}"),
        });
        lines
    }

    /// The statistics of the root's moves for the GUI, if it wants them. Otherwise they go to the log, if there is one.
    fn stats_lines(&self, stats: &[MoveStats]) -> Vec<String> {
        let lines = || stats.iter().map(|stats| self.stats_line(stats)).collect();
        if self.output.verbose_move_stats {
            return lines();
        }
        if self.console.has_log() {
            self.console.log_all(&lines());
        }
        Vec::new()
    }

    /// The line of one move. Castling is always written as king takes rook here, as in Lc0.
    fn stats_line(&self, stats: &MoveStats) -> String {
        let mv = stats.mv.map(|mv| notation::format_move(&self.root, mv, Castling::Chess960).to_string());
        move_stats::line(stats, mv.as_deref().unwrap_or("node"))
    }
}

impl Observer for Report {
    fn info(&mut self, info: &Info) {
        let mut lines = self.info_lines(info);
        lines.extend(self.stats_lines(&info.stats));
        self.console.say_all(&lines);
    }

    fn done(&mut self, done: &Done) {
        self.console.say_all(&self.done_lines(done));
    }

    fn note(&mut self, text: &str) {
        self.console.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::SharedBuffer;
    use crate::options::Typed;
    use crate::score::ScoreType;
    use oncilla_chess::History;
    use oncilla_core::evaluate::Value;

    fn moves(text: &str) -> Vec<Move> {
        text.split_whitespace().map(|mv| mv.parse().unwrap()).collect()
    }

    fn line(pv: &str) -> Line {
        Line { value: Value { wl: 0.5, d: 0.2, m: 41.0 }, mate: None, nodes: 7, pv: moves(pv) }
    }

    fn info(lines: Vec<Line>) -> Info {
        Info {
            depth: 3,
            seldepth: 9,
            time_ms: 120,
            nodes: 10,
            playouts: 10,
            nps: 83,
            eps: 70,
            hashfull: 1,
            tree_nodes: 9,
            tree_bytes: 900,
            tbhits: 0,
            has_moves_left: true,
            has_wdl: true,
            lines,
            stats: Vec::new(),
        }
    }

    /// The lines that a report writes.
    fn written(fen: &str, output: Output, write: impl Fn(&mut Report)) -> Vec<String> {
        written_with(1, fen, output, write)
    }

    fn written_with(multi_pv: usize, fen: &str, output: Output, write: impl Fn(&mut Report)) -> Vec<String> {
        let buffer = SharedBuffer::default();
        let history: History = History::from_fen(fen).unwrap();
        let console = Arc::new(Console::new(Box::new(buffer.clone())));
        let mut settings = Typed::default().meaning().unwrap().settings;
        (settings.white_draw_score, settings.multi_pv) = (-0.5, multi_pv);
        write(&mut Report::new(console, history.board().clone(), output, &settings));
        buffer.lines()
    }

    const CASTLING: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";

    #[test]
    fn the_order_of_the_fields() {
        let output = Output { score_type: ScoreType::WMinusL, ..Output::default() };
        let plain = written(CASTLING, output, |report| report.info(&info(vec![line("e1h1 e8a8")])));
        assert_eq!(
            plain,
            ["info depth 3 seldepth 9 time 120 nodes 10 score cp 5000 hashfull 1 nps 83 tbhits 0 pv e1g1 e8c8"]
        );
        let all = Output { chess960: true, show_wdl: true, show_eps: true, show_moves_left: true, ..output };
        let all = written(CASTLING, all, |report| report.info(&info(vec![line("e1h1 e8a8")])));
        assert_eq!(
            all,
            ["info depth 3 seldepth 9 time 120 nodes 10 score cp 5000 wdl 650 200 150 movesleft 20 hashfull 1 nps 83 \
              eps 70 tbhits 0 pv e1h1 e8a8"]
        );
    }

    #[test]
    fn several_lines_are_numbered_and_may_have_their_own_nodes() {
        let output = Output { score_type: ScoreType::Q, per_pv_counters: true, ..Output::default() };
        let mut mate = line("a1b1");
        mate.mate = Some(-3);
        let lines = written_with(2, CASTLING, output, |report| report.info(&info(vec![line("e1d1"), mate.clone()])));
        assert_eq!(
            lines,
            [
                // A draw is worth −0.5 to White, who is to move.
                "info depth 3 seldepth 9 time 120 nodes 7 score cp 4000 hashfull 1 nps 83 tbhits 0 multipv 1 pv e1d1",
                "info depth 3 seldepth 9 time 120 nodes 7 score mate -3 hashfull 1 nps 83 tbhits 0 multipv 2 pv a1b1",
            ]
        );
    }

    #[test]
    fn a_draw_is_worth_the_opposite_to_black() {
        let output = Output { score_type: ScoreType::Q, ..Output::default() };
        let said = |fen, mv| written(fen, output, |report| report.info(&info(vec![line(mv)]))).concat();
        assert!(said("4k3/8/8/8/8/8/8/4K2R w - - 0 1", "e1d1").contains(" score cp 4000 "));
        assert!(said("4k3/8/8/8/8/8/8/4K2R b - - 0 1", "e8d8").contains(" score cp 6000 "));
    }

    /// A GUI that set MultiPV above 1 expects the number even if there is only one legal move.
    #[test]
    fn a_single_line_of_several_is_numbered() {
        let said = |multi_pv| {
            let write = |report: &mut Report| report.info(&info(vec![line("e1d1")]));
            written_with(multi_pv, CASTLING, Output::default(), write).concat()
        };
        assert!(said(3).ends_with(" multipv 1 pv e1d1") && !said(1).contains("multipv"));
    }

    #[test]
    fn best_moves() {
        let done = |best: &str, ponder: &str| {
            let done = Done { best: moves(best).pop(), ponder: moves(ponder).pop(), ..Done::default() };
            written(CASTLING, Output::default(), |report| report.done(&done))
        };
        assert_eq!(done("e1h1", ""), ["bestmove e1g1"]);
        assert_eq!(done("e1h1", "e8a8"), ["bestmove e1g1 ponder e8c8"]);
        assert_eq!(done("", ""), ["bestmove (none)"]);
    }

    #[test]
    fn a_game_that_is_over_has_a_score() {
        let score = |fen| written(fen, Output::default(), |report| report.info(&info(Vec::new()))).concat();
        assert!(score("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").contains(" score cp 0 "));
        assert!(score("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").contains(" score mate 0 "));
        let all = Output { show_wdl: true, show_moves_left: true, ..Output::default() };
        let said = |fen| written(fen, all, |report| report.info(&info(Vec::new()))).concat();
        assert!(said("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").contains(" score cp 0 wdl 0 1000 0 movesleft 0 "));
        assert!(said("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").contains(" score mate 0 wdl 0 0 1000 movesleft 0 "));
    }
}
