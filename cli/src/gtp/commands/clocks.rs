//! Clocks.

use super::Reply;
use crate::gtp::args::{self, Args};
use crate::gtp::clock::{self, System};
use crate::gtp::session::Session;

pub(super) fn time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "main time, overtime and its stones";
    let [main, period, stones] = args else { return Err(args::expected(what, args)) };
    let times = clock::seconds(main).zip(clock::seconds(period)).zip(stones.parse().ok());
    let ((main, period), stones) = times.ok_or_else(|| args::expected(what, args))?;
    session.player.set_system(System::of_gtp(main, period, stones));
    Ok(String::new())
}

pub(super) fn time_left(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "a color, seconds and stones";
    let [color, time, stones] = args else { return Err(args::expected(what, args)) };
    let color = args::color(color)?;
    // Some controllers let a clock run below zero.
    let time = time.parse().ok().filter(|time: &f64| time.is_finite()).map(|time| time.max(0.0));
    let (time, stones) = time.zip(stones.parse().ok()).ok_or_else(|| args::expected(what, args))?;
    session.player.clock(color).set_left(time, stones);
    Ok(String::new())
}

pub(super) fn kgs_time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    if let Some(kind) = args.first().filter(|kind| kind.to_ascii_lowercase().starts_with("fischer")) {
        return Err(args::expected("none, absolute, byoyomi or canadian", std::slice::from_ref(kind)));
    }
    kata_time_settings(session, args)
}

pub(super) fn kata_time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    session.player.set_system(System::read(args).map_err(|error| format!("syntax error: {error}"))?);
    Ok(String::new())
}
