//! Game records.

use super::Reply;
use super::counts::final_lead;
use crate::console::aside;
use crate::gtp::args::{self, Args};
use crate::gtp::scoring;
use crate::gtp::session::Session;
use crate::gtp::sgf;
use oncilla_go::Outcome;
use std::path::Path;

pub(super) fn loadsgf(session: &mut Session, args: Args<'_>) -> Reply {
    let (file, before) = match args {
        [] => return Err(args::expected("a file, and perhaps the number of a move", args)),
        [name @ .., number] if !name.is_empty() && number.parse::<usize>().is_ok() => {
            (name.join(" "), number.parse().ok())
        }
        name => (name.join(" "), None),
    };
    let cannot = |error: String| format!("cannot load file: {error}");
    // Names and comments in older files may be in any encoding.
    let text = crate::utf16::read_lossily(Path::new(&file)).map_err(|error| cannot(format!("{file}: {error}")))?;
    let sgf = sgf::read(&text).map_err(cannot)?;
    // As in KataGo, a number beyond the end means the end.
    let moves = match before {
        Some(0) => return Err(cannot("expected a move from 1 on, got 0".to_string())),
        Some(before) => before - 1,
        None => usize::MAX,
    };
    let (rules, fault) = sgf.rules(session.record.rules());
    if let Some(fault) = fault {
        aside(&fault);
    }
    let record = sgf.record(rules, moves, session.player.params().black_run_is_handicap).map_err(cannot)?;
    session.player.prepare(sgf.size)?;
    session.player.new_game();
    session.ponders = false;
    session.record = record;
    Ok(String::new())
}

/// The result of a game that is over, as a file has it; `None` if the game goes on, or if it can't be judged.
fn result(session: &Session) -> Option<String> {
    match session.record.game().outcome()? {
        Outcome::NoResult => Some("Void".to_string()),
        Outcome::WhiteLead(_) | Outcome::ToBeAgreed => {
            let lead = final_lead(session).inspect_err(|error| aside(&format!("no result: {error}")));
            lead.ok().map(scoring::text)
        }
    }
}

pub(super) fn printsgf(session: &mut Session, args: Args<'_>) -> Reply {
    let text = sgf::write(&session.record, result(session).as_deref());
    if args.is_empty() || args == ["-"] {
        return Ok(text);
    }
    let file = args.join(" ");
    std::fs::write(&file, text).map_err(|error| format!("cannot write file: {file}: {error}"))?;
    Ok(String::new())
}
