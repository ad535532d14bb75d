//! The score, and which stones are alive.

use super::Reply;
use super::position::vertices;
use crate::gtp::args::{self, Args};
use crate::gtp::scoring::{self, Judged, Status};
use crate::gtp::session::Session;

pub(super) fn final_score(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.ponders = false;
    final_lead(session).map(scoring::text)
}

/// White's lead in a game, which need not be over.
pub(super) fn final_lead(session: &Session) -> Result<f64, String> {
    match scoring::by_the_rules(&session.record) {
        Some(lead) => Ok(lead),
        None => Ok(session.player.judge(&session.record, None)?.final_lead(&session.record)),
    }
}

pub(super) fn final_status_list(session: &mut Session, args: Args<'_>) -> Reply {
    let what = format!("one of {}", Status::NAMED.map(|(name, _)| name).join(", "));
    let status = Status::named(args::one(args, &what)?).ok_or_else(|| args::expected(&what, args))?;
    session.ponders = false;
    let judged = match Judged::by_the_rules(&session.record) {
        Some(judged) => judged,
        None => session.player.judge(&session.record, None)?,
    };
    let lists = judged.list(status, session.record.game().board());
    let lines: Vec<String> = lists.iter().map(|chain| vertices(session.record.size(), chain)).collect();
    Ok(lines.join("\n"))
}
