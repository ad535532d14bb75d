//! Judges a game by the engine's analysis: the value of each position, and the loss of each move.
//!
//! A move's loss is the difference of two expected scores of its player (win 1, draw ½): that of the best move in the
//! position before it, and that of the position after it. A loss of 0.05 or more is an inaccuracy, of 0.10 or more a
//! mistake, of 0.15 or more a blunder. (These are Lichess's bounds, on a scale from 0 to 1.)
//!
//! The search of a position assumes that the game goes on there. But a move that reaches a position where the game is
//! drawn, or where a player may claim that, has brought a draw, whatever the search finds beyond it: so such a position
//! has two expected scores, one for the move before it and one for the move after it.

use oncilla_chess::{Board, Castling, Color, History, Move, MoveList, Terminal, TwoFold, legal_moves, notation};
use serde::Deserialize;

use super::pgn::Game;
use crate::san;

/// The smallest loss for each mark.
const MARKS: [(f64, Mark); 3] = [(0.15, Mark::Blunder), (0.10, Mark::Mistake), (0.05, Mark::Inaccuracy)];

/// The expected score of a draw.
const DRAW: f64 = 0.5;

/// The fields of an `oncilla analysis` response that a report needs. Values are from White's view.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The query's id.
    pub id: String,
    /// The number of moves before the position; `None` for an error.
    pub turn_number: Option<usize>,
    /// The error of the query.
    pub error: Option<String>,
    root_info: Option<RootInfo>,
    #[serde(default)]
    move_infos: Vec<MoveInfo>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RootInfo {
    winrate: f64,
    wdl: [f64; 3],
    score_cp: i32,
    moves_left: Option<f64>,
    #[serde(default)]
    visits: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MoveInfo {
    #[serde(rename = "move")]
    text: String,
    winrate: f64,
    wdl: [f64; 3],
    score_cp: i32,
    mate: Option<i32>,
    pv: Vec<String>,
}

/// A position's evaluation, from White's view.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// The position as a FEN.
    pub fen: String,
    /// The side to move.
    pub mover: Color,
    /// The expected score: W + D/2.
    pub winrate: f64,
    /// The expected score that the move played from here is measured by: that of the best move. It differs from
    /// `winrate` if the game could have ended here as a draw.
    pub played_on: f64,
    /// The probabilities of win, draw and loss.
    pub wdl: [f64; 3],
    /// The value in centipawns, by the formula of `ScoreType`.
    pub cp: i32,
    /// The number of moves to a mate; negative if Black mates.
    pub mate: Option<i32>,
    /// Plies until the end of the game, if the network estimates them.
    pub moves_left: Option<f64>,
    /// The visits of the search.
    pub visits: u64,
    /// The principal variation in algebraic notation; empty if the game is over.
    pub line: Vec<String>,
    /// Its first move, or the only legal move; `None` if the game is over, or if no move was searched.
    pub best: Option<Move>,
    /// Whether the game is or could be drawn here by the rules.
    pub is_drawn: bool,
    /// Whether the side to move is mated.
    pub is_mate: bool,
}

impl Position {
    /// The evaluation of the last position of `history` by its `answer`.
    ///
    /// # Errors
    /// The answer has no evaluation, or its moves are not legal.
    pub fn new(history: &History, answer: &Answer) -> Result<Self, String> {
        let root = answer.root_info.as_ref().ok_or("the search found nothing")?;
        // The position has the value of its best move; the root's mean includes all moves that were searched.
        let first = answer.move_infos.first();
        let (winrate, wdl, cp) =
            first.map_or((root.winrate, root.wdl, root.score_cp), |best| (best.winrate, best.wdl, best.score_cp));
        let mut line = Vec::new();
        let mut board = history.board().clone();
        for text in first.map_or(&[][..], |best| &best.pv) {
            let mv = played(&board, text)?;
            line.push(san::write(&board, mv));
            board.play_unchecked(mv);
        }
        let searched = Self {
            fen: history.to_fen(Castling::Standard).to_string(),
            mover: history.side_to_move(),
            winrate,
            played_on: winrate,
            wdl,
            cp,
            mate: first.and_then(|best| best.mate),
            moves_left: root.moves_left,
            visits: root.visits,
            line,
            best: match first {
                Some(best) => Some(played(history.board(), &best.text)?),
                None => only_move(history.board()),
            },
            is_drawn: false,
            is_mate: history.terminal(0, TwoFold::Ignored) == Some(Terminal::Checkmate),
        };
        Ok(match draw_at(history) {
            None => searched,
            // A player must claim these draws, so the game may go on.
            Some(Terminal::FiftyMoves | Terminal::Threefold) => searched.drawn(),
            Some(_) => Self { played_on: DRAW, ..searched.drawn() },
        })
    }

    /// The position with the value of a draw. What the search found is kept for a game that goes on.
    fn drawn(self) -> Self {
        let moves_left = self.moves_left.map(|_| 0.0);
        Self { winrate: DRAW, wdl: [0.0, 1.0, 0.0], cp: 0, mate: None, moves_left, is_drawn: true, ..self }
    }
}

/// Why the last position of `history` is a draw, if it is one. The search of the position, its root, asks nothing of
/// the game before it; but the position was reached by a move, so here the game counts as it does below a root.
fn draw_at(history: &History) -> Option<Terminal> {
    history.terminal(1, TwoFold::Ignored).filter(|end| end.is_draw())
}

/// The only legal move, if there is just one.
fn only_move(board: &Board) -> Option<Move> {
    let mut moves = MoveList::new();
    legal_moves(board, &mut moves);
    if let [only] = moves[..] { Some(only) } else { None }
}

fn played(board: &Board, text: &str) -> Result<Move, String> {
    notation::parse_move(board, text).map_err(|error| error.to_string())
}

/// The severity of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `?!`
    Inaccuracy,
    /// `?`
    Mistake,
    /// `??`
    Blunder,
}

impl Mark {
    /// The mark as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inaccuracy => "inaccuracy",
            Self::Mistake => "mistake",
            Self::Blunder => "blunder",
        }
    }

    /// The mark as a numeric annotation glyph.
    pub fn nag(self) -> u8 {
        match self {
            Self::Inaccuracy => 6,
            Self::Mistake => 2,
            Self::Blunder => 4,
        }
    }
}

/// A move with its loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The move in algebraic notation.
    pub san: String,
    /// The move.
    pub mv: Move,
    /// The side that played it.
    pub mover: Color,
    /// The expected score that it lost.
    pub loss: f64,
    /// The mark, if the loss is large enough for one, and more than a difference of two evaluations without a search.
    pub mark: Option<Mark>,
}

/// A game's evaluated positions and moves.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The positions: one more than moves.
    pub positions: Vec<Position>,
    /// The moves.
    pub moves: Vec<Judged>,
}

impl Judgement {
    /// Judges a game by the answers for all its positions, in their order.
    ///
    /// # Errors
    /// Like [`Position::new`].
    pub fn new(game: &Game, answers: &[Answer]) -> Result<Self, String> {
        let mut history = game.start();
        let mut positions = Vec::with_capacity(answers.len());
        let mut texts = Vec::with_capacity(game.moves.len());
        for (turn, answer) in answers.iter().enumerate() {
            positions.push(Position::new(&history, answer)?);
            if let Some(played) = game.moves.get(turn) {
                texts.push(san::write(history.board(), played.mv));
                history.push(played.mv);
            }
        }
        // If the last position is a draw, the game has ended there, and nothing follows.
        if let Some(last) = positions.last_mut().filter(|_| draw_at(&history).is_some()) {
            (last.line, last.best) = (Vec::new(), None);
        }
        let pairs = positions.windows(2).zip(&game.moves).zip(texts);
        let moves = pairs.map(|((pair, played), san)| judge(&pair[0], &pair[1], played.mv, san)).collect();
        Ok(Self { positions, moves })
    }

    /// A player's moves, their mean loss, and how many of them have each mark.
    pub fn summary(&self, side: Color) -> Summary {
        let own = || self.moves.iter().filter(|judged| judged.mover == side);
        let count = |mark| own().filter(|judged| judged.mark == Some(mark)).count();
        let moves = own().count();
        Summary {
            moves,
            mean_loss: own().map(|judged| judged.loss).sum::<f64>() / moves.max(1) as f64,
            marks: [Mark::Inaccuracy, Mark::Mistake, Mark::Blunder].map(count),
        }
    }
}

/// The summary of a player's moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of moves.
    pub moves: usize,
    /// The mean loss of a move.
    pub mean_loss: f64,
    /// The numbers of inaccuracies, mistakes and blunders.
    pub marks: [usize; 3],
}

fn judge(before: &Position, after: &Position, mv: Move, san: String) -> Judged {
    let mover = before.mover;
    let is_best = before.best == Some(mv);
    let whites = before.played_on - after.winrate;
    let own = if mover == Color::White { whites } else { -whites };
    let loss = if is_best { 0.0 } else { own.max(0.0) };
    // After a single visit no better move is known, and two evaluations by the network alone differ for any move.
    let is_known = before.best.is_some() || after.is_drawn;
    let mark = MARKS.iter().find(|(least, _)| is_known && loss >= *least).map(|(_, mark)| *mark);
    Judged { san, mv, mover, loss, mark }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::pgn::{NextGame, Reader};
    use serde_json::json;

    /// A game of these moves. `told` has the expected score and the principal variation of each position.
    pub fn judged(text: &str, told: &[(f64, &str)]) -> (Game, Judgement) {
        let game = Reader::new(text.as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        let answers: Vec<Answer> = told
            .iter()
            .enumerate()
            .map(|(turn, (winrate, best))| {
                let value = json!({ "winrate": winrate, "wdl": [winrate, 0.0, 1.0 - winrate], "scoreCp": (winrate * 100.0) as i32 });
                let mut info = value.clone();
                info["move"] = json!(best.split(' ').next());
                info["pv"] = json!(best.split(' ').collect::<Vec<_>>());
                let infos = if best.is_empty() { json!([]) } else { json!([info]) };
                serde_json::from_value(json!({ "id": "1", "turnNumber": turn, "rootInfo": value, "moveInfos": infos })).unwrap()
            })
            .collect();
        let judgement = Judgement::new(&game, &answers).unwrap();
        (game, judgement)
    }

    #[test]
    fn losses_are_the_players_own() {
        let told = [(0.55, "e2e4"), (0.5, "e7e5 e2e4"), (0.7, "d2d4"), (0.4, "e7e5"), (0.46, "")];
        let (_, judgement) = judged("1. f3 a6 2. g4 e6 *", &told);
        let losses: Vec<f64> = judgement.moves.iter().map(|judged| (judged.loss * 100.0).round()).collect();
        assert_eq!(losses, [5.0, 20.0, 30.0, 6.0]);
        let marks: Vec<_> = judgement.moves.iter().map(|judged| judged.mark).collect();
        let (inaccuracy, blunder) = (Some(Mark::Inaccuracy), Some(Mark::Blunder));
        assert_eq!(marks[1..], [blunder, blunder, inaccuracy]);
        assert_eq!(judgement.positions[1].line, ["e5", "e4"]);
        let black = judgement.summary(Color::Black);
        assert_eq!((black.moves, black.marks), (2, [1, 0, 1]));
        assert!((black.mean_loss - 0.13).abs() < 1e-9);
    }

    #[test]
    fn the_best_move_loses_nothing() {
        let (_, judgement) = judged("1. e4 *", &[(0.9, "e2e4"), (0.2, "")]);
        assert_eq!((judgement.moves[0].loss, judgement.moves[0].mark), (0.0, None));
    }

    #[test]
    fn a_position_is_worth_what_its_best_move_is() {
        let game = Reader::new("1. e4 *".as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        let root = json!({ "winrate": 0.4, "wdl": [0.3, 0.2, 0.5], "scoreCp": -40 });
        let best = json!({ "move": "d2d4", "pv": ["d2d4"], "winrate": 0.7, "wdl": [0.6, 0.2, 0.2], "scoreCp": 70 });
        let first = json!({ "id": "1", "turnNumber": 0, "rootInfo": root, "moveInfos": [best] });
        let last = json!({ "id": "1", "turnNumber": 1, "rootInfo": root });
        let answers = [first, last].map(|answer| serde_json::from_value(answer).unwrap());
        let told = |at: &Position| (at.winrate, at.wdl, at.cp);
        let judgement = Judgement::new(&game, &answers).unwrap();
        assert_eq!(told(&judgement.positions[0]), (0.7, [0.6, 0.2, 0.2], 70));
        assert_eq!(told(&judgement.positions[1]), (0.4, [0.3, 0.2, 0.5], -40), "where there is no move");
    }

    /// The queen goes to and fro until the position after 1. Qd3 is there for the third time.
    pub const REPEATED: &str = "[FEN \"6k1/5p1p/6p1/8/8/8/2Q2PPP/6K1 w - - 0 1\"]\n\n\
                            1. Qd3 Kg7 2. Qc3+ Kg8 3. Qd3 Kf8 4. Qc3 Kg8 5. Qd3 ";

    fn told(at: &Position) -> (f64, [f64; 3], i32, usize) {
        (at.winrate, at.wdl, at.cp, at.line.len())
    }

    #[test]
    fn a_win_that_is_repeated_away_is_lost() {
        let searched = [(0.98, ""); 8].into_iter().chain([(0.98, "c3c8 g8g7"), (0.98, "g8f8")]);
        let (_, judgement) = judged(&format!("{REPEATED} 1/2-1/2"), &searched.collect::<Vec<_>>());
        let (last, before) = judgement.moves.split_last().unwrap();
        assert!((last.loss - 0.48).abs() < 1e-9 && last.mark == Some(Mark::Blunder), "{last:?}");
        assert!(before.iter().all(|judged| judged.loss == 0.0), "a second occurrence is no draw");
        assert_eq!(judgement.positions[8].line, ["Qc8+", "Kg7"]);
        assert_eq!(told(&judgement.positions[9]), (0.5, [0.0, 1.0, 0.0], 0, 0));
    }

    #[test]
    fn play_beyond_a_draw_that_nobody_claimed_is_judged_by_the_search() {
        let searched = [(0.98, ""); 9].into_iter().chain([(0.98, "g8g7 h2h3"), (0.99, "d3d8"), (0.6, "")]);
        let (_, judgement) = judged(&format!("{REPEATED} Kf8 6. Qd4 *"), &searched.collect::<Vec<_>>());
        let losses: Vec<f64> = judgement.moves[8..].iter().map(|judged| (judged.loss * 100.0).round()).collect();
        assert_eq!(losses, [48.0, 1.0, 39.0], "the defender's draw is not taken for a chance that he misses");
        assert_eq!(told(&judgement.positions[9]), (0.5, [0.0, 1.0, 0.0], 0, 2), "the line is that of a better move");
        assert_eq!((judgement.positions[9].played_on, judgement.positions[10].winrate), (0.98, 0.99));
    }

    #[test]
    fn the_fiftieth_move_saves_and_costs_what_a_draw_does() {
        let game = |counter: u8, moves: &str, searched: &[(f64, &str)]| {
            let fen = format!("6k1/5ppp/8/8/8/8/1Q3PPP/6K1 w - - {counter} 80");
            judged(&format!("[FEN \"{fen}\"]\n\n{moves} *"), searched).1
        };
        let drawn = game(98, "80. Qb3 Kf8", &[(0.99, "b2b8"), (0.5, "g8h8"), (0.99, "b3b8")]);
        let losses: Vec<f64> = drawn.moves.iter().map(|judged| (judged.loss * 100.0).round()).collect();
        assert_eq!(losses, [49.0, 0.0], "any move draws");
        assert_eq!(told(&drawn.positions[2]), (0.5, [0.0, 1.0, 0.0], 0, 0));
        let mated = game(99, "80. Qb8#", &[(0.99, "b2b8"), (1.0, "")]);
        assert_eq!((mated.positions[1].winrate, mated.positions[1].is_mate), (1.0, true), "a mate comes first");
    }

    /// Nothing can be played for any more, whatever a network says of it.
    #[test]
    fn moves_of_a_dead_position_lose_nothing() {
        let text = "[FEN \"8/8/8/4k3/8/8/4p3/4K3 w - - 0 1\"]\n\n1. Kxe2 Kd4 2. Kd2 *";
        let (_, judgement) = judged(text, &[(0.5, "e1e2"), (0.9, "e5e4"), (0.4, "e2f3"), (0.1, "")]);
        assert!(judgement.moves.iter().all(|judged| judged.loss == 0.0), "{:?}", judgement.moves);
        assert!(judgement.positions.iter().all(|position| position.winrate == 0.5));
    }

    #[test]
    fn the_only_move_loses_nothing() {
        let text = "[FEN \"7k/8/8/8/8/8/6q1/7K w - - 0 1\"]\n\n1. Kxg2 *";
        let (_, judgement) = judged(text, &[(0.9, ""), (0.5, "")]);
        assert_eq!((judgement.moves[0].loss, judgement.moves[0].mark), (0.0, None));
    }

    /// A search of one visit evaluates the position and no move.
    #[test]
    fn nothing_is_marked_where_no_move_was_searched() {
        let (_, judgement) = judged("1. f3 e5 *", &[(0.9, ""), (0.2, "e7e5"), (0.2, "")]);
        let found =
            judgement.moves.iter().map(|judged| ((judged.loss * 10.0).round(), judged.mark)).collect::<Vec<_>>();
        assert_eq!(found, [(7.0, None), (0.0, None)]);
    }

    #[test]
    fn a_mark_begins_at_its_bound() {
        for (before, mark) in
            [(0.04, None), (0.05, Some(Mark::Inaccuracy)), (0.1, Some(Mark::Mistake)), (0.15, Some(Mark::Blunder))]
        {
            let (_, judgement) = judged("1. e4 *", &[(before, "d2d4"), (0.0, "")]);
            assert_eq!(judgement.moves[0].mark, mark, "{before}");
        }
    }
}
