//! Judges a game by the engine's analysis: the value of each position, and the loss of each move.
//!
//! A move's loss is the difference of two expected scores of its player (win 1, draw ½): that of the best move in the
//! position before it, and that of the position after it. A loss of 0.05 or more is an inaccuracy, of 0.10 or more a
//! mistake, of 0.15 or more a blunder. (These are Lichess's bounds, on a scale from 0 to 1.)

use oncilla_chess::{Board, Color, History, Move, Terminal, notation};
use serde::Deserialize;

use super::pgn::Game;
use crate::san;

/// The smallest loss for each mark.
const MARKS: [(f64, Mark); 3] = [(0.15, Mark::Blunder), (0.10, Mark::Mistake), (0.05, Mark::Inaccuracy)];

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
    /// Its first move.
    pub best: Option<Move>,
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
        Ok(Self {
            fen: history.to_fen(false).to_string(),
            mover: history.side_to_move(),
            winrate,
            wdl,
            cp,
            mate: first.and_then(|best| best.mate),
            moves_left: root.moves_left,
            visits: root.visits,
            line,
            best: first.map(|best| played(history.board(), &best.text)).transpose()?,
            is_mate: history.terminal(0, false) == Some(Terminal::Checkmate),
        })
    }

    /// The expected score of `side`.
    fn score_of(&self, side: Color) -> f64 {
        if side == Color::White { self.winrate } else { 1.0 - self.winrate }
    }
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
    /// The mark, if the loss is large enough for one.
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
    let loss = if is_best { 0.0 } else { (before.score_of(mover) - after.score_of(mover)).max(0.0) };
    let mark = MARKS.iter().find(|(least, _)| loss >= *least).map(|(_, mark)| *mark);
    Judged { san, mv, mover, loss, mark }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::pgn::Reader;
    use serde_json::json;

    /// A game of these moves. `told` has the expected score and the principal variation of each position.
    pub fn judged(text: &str, told: &[(f64, &str)]) -> (Game, Judgement) {
        let game = Reader::new(text.as_bytes()).next_game().unwrap().unwrap().unwrap();
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
        let game = Reader::new("1. e4 *".as_bytes()).next_game().unwrap().unwrap().unwrap();
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
