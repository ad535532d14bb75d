//! The board and the game on it.

use super::Reply;
use crate::go::{LEAST_SIDE, board_size};
use crate::gtp::args::{self, Args};
use crate::gtp::handicap;
use crate::gtp::session::Session;
use crate::text::quoted;
use oncilla_go::{Board, Color, Komi, MAX_SIDE, Move, SetupError, Size};

/// Takes one number, or columns and rows as two arguments or with a colon between them.
pub(super) fn boardsize(session: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [columns, rows] => change_size(session, columns, rows),
        _ => {
            let sides = args::one(args, "columns and rows, in one number if they are the same")?;
            let (columns, rows) = sides.split_once(':').unwrap_or((sides, sides));
            change_size(session, columns, rows)
        }
    }
}

fn change_size(session: &mut Session, columns: &str, rows: &str) -> Reply {
    let size = board_size(columns, rows).ok_or_else(|| {
        let [columns, rows] = [columns, rows].map(number_or_quoted);
        format!("unacceptable size: expected sides from {LEAST_SIDE} to {MAX_SIDE}, got {columns} and {rows}")
    })?;
    session.player.prepare(size)?;
    session.begin(&Board::new(size), Color::Black);
    Ok(String::new())
}

fn number_or_quoted(text: &str) -> String {
    text.parse::<i64>().map_or_else(|_| quoted(text), |number| number.to_string())
}

pub(super) fn clear_board(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.begin(&Board::new(session.record.size()), Color::Black);
    Ok(String::new())
}

pub(super) fn set_position(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    if args.len() % 2 == 1 {
        return Err(args::expected("pairs of color and point", args));
    }
    let pairs = args.chunks_exact(2).map(|pair| Ok((args::color(&pair[0])?, args::point(&pair[1], size)?)));
    let stones = pairs.collect::<Result<Vec<_>, String>>()?;
    let board =
        Board::with_stones(size, stones).map_err(|error| format!("illegal position: {}", with_point(error, size)))?;
    session.begin(&board, Color::Black);
    Ok(String::new())
}

impl Session {
    /// Begins a new game on this board.
    fn begin(&mut self, board: &Board, first: Color) {
        self.record.begin(board, first);
        self.player.new_game();
        self.ponders = false;
    }
}

pub(super) fn komi(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "a komi, a multiple of 0.5 from -400 to 400";
    let text = args::one(args, what)?;
    let komi = text.parse().ok().and_then(Komi::from_points).ok_or_else(|| args::expected(what, args))?;
    session.record.set_komi(komi);
    Ok(String::new())
}

pub(super) fn play(session: &mut Session, args: Args<'_>) -> Reply {
    let [color, vertex] = args else { return Err(args::expected("a color and a vertex", args)) };
    let color = args::color(color)?;
    // A player who resigns makes no move.
    if vertex.eq_ignore_ascii_case("resign") {
        return Ok(String::new());
    }
    let mv = args::vertex(vertex, session.record.size())?;
    session.record.play(color, mv)?;
    session.ponders = true;
    Ok(String::new())
}

pub(super) fn undo(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    if !session.record.undo() {
        return Err("cannot undo: no move was played".to_string());
    }
    session.player.forget_beyond(session.record.moves().len());
    session.ponders = false;
    Ok(String::new())
}

pub(super) fn fixed_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    let most = handicap::most(size);
    let stones = args::number(args::one(args, "a number of stones")?, "a number of stones")?;
    let points = handicap::fixed(size, stones).ok_or_else(|| match most {
        0 => "invalid number of stones: this board has no points for a fixed handicap".to_string(),
        _ => format!("invalid number of stones: expected {} to {most}, got {stones}", handicap::LEAST),
    })?;
    put_handicap(session, &points)
}

pub(super) fn place_free_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let stones: usize = args::number(args::one(args, "a number of stones")?, "a number of stones")?;
    // Half of the points stay free for the game.
    let most = session.record.size().area() / 2;
    if !(handicap::LEAST..=most).contains(&stones) {
        return Err(format!("invalid number of stones: expected {} to {most}, got {stones}", handicap::LEAST));
    }
    must_be_empty(session)?;
    let points = session.player.handicap(&session.record, stones)?;
    put_handicap(session, &points)
}

pub(super) fn set_free_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    let points = args.iter().map(|text| args::point(text, size)).collect::<Result<Vec<_>, _>>();
    let points = points.map_err(|error| format!("bad vertex list: {error}"))?;
    if points.len() < handicap::LEAST {
        return Err(format!("bad vertex list: expected at least {} points, got {}", handicap::LEAST, points.len()));
    }
    put_handicap(session, &points)?;
    Ok(String::new())
}

fn must_be_empty(session: &Session) -> Result<(), String> {
    let is_empty = session.record.moves().is_empty() && session.record.game().board().occupied().is_empty();
    if is_empty { Ok(()) } else { Err("board not empty".to_string()) }
}

fn with_point(error: SetupError, size: Size) -> String {
    format!("{error}: {}", size.format(error.point()))
}

fn put_handicap(session: &mut Session, points: &[Move]) -> Reply {
    must_be_empty(session)?;
    let size = session.record.size();
    let board = Board::with_stones(size, points.iter().map(|point| (Color::Black, *point)));
    let board = board.map_err(|error| format!("bad vertex list: {}", with_point(error, size)))?;
    session.begin(&board, Color::White);
    Ok(vertices(size, points))
}

pub(super) fn vertices(size: Size, points: &[Move]) -> String {
    points.iter().map(|point| size.format(*point).to_string()).collect::<Vec<_>>().join(" ")
}
