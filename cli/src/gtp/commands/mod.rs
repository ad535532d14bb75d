//! The commands, by name; what each does is in the file of its theme.

mod clocks;
mod counts;
mod params;
mod position;
mod raw;
mod records;
mod rules;
mod searches;

use crate::go::describe_model;
use crate::gtp::analyze::Style;
use crate::gtp::args::{self, Args};
use crate::gtp::clock;
use crate::gtp::session::{Session, Stream};
use crate::gtp::settings;
use crate::gtp::show;
use crate::gtp::slot::SearchSlot;
use clocks::{kata_time_settings, kgs_time_settings, time_left, time_settings};
use counts::{final_score, final_status_list};
use params::{get_param, get_params, names_of_params, set_param, set_params};
use position::{
    boardsize, clear_board, fixed_handicap, komi, place_free_handicap, play, set_free_handicap, set_position, undo,
};
use raw::{raw, raw_human};
use records::{loadsgf, printsgf};
use rules::{kgs_rules, set_rule, set_rules};
use searches::Purpose::{Play, Tell, TellUnlessCancelled};
use searches::{analyze, decide, genmove, search, stop};
use serde_json::Value;

/// The result of a command: its answer, or an error message.
pub type Reply = Result<String, String>;

/// The function that carries out a command.
#[derive(Clone, Copy)]
pub enum Handler {
    /// The command answers when it is finished, and does not need the tree of the last search.
    Answers(fn(&mut Session, Args<'_>) -> Reply),
    /// The command answers when it is finished, and uses or drops the tree of the last search.
    Searches(fn(&mut Session, &mut SearchSlot<'_>, Args<'_>) -> Reply),
    /// The command searches and writes lines of its answer meanwhile.
    Streams(fn(&mut Session, &mut SearchSlot<'_>, &mut Stream, Args<'_>) -> Reply),
}

use Handler::{Answers, Searches, Streams};

/// All commands, in the order in which `list_commands` lists them.
pub const ALL: [(&str, Handler); 55] = [
    ("protocol_version", Answers(|_, args| args::none(args).map(|()| "2".to_string()))),
    ("name", Answers(|session, args| args::none(args).map(|()| session.identity.name.clone()))),
    ("version", Answers(|session, args| args::none(args).map(|()| session.identity.version.clone()))),
    ("known_command", Answers(known_command)),
    ("list_commands", Answers(list_commands)),
    ("quit", Answers(quit)),
    ("boardsize", Answers(boardsize)),
    ("rectangular_boardsize", Answers(boardsize)),
    ("clear_board", Answers(clear_board)),
    ("set_position", Answers(set_position)),
    ("komi", Answers(komi)),
    ("get_komi", Answers(|session, args| args::none(args).map(|()| session.record.rules().komi.to_string()))),
    ("play", Answers(play)),
    ("undo", Answers(undo)),
    ("fixed_handicap", Answers(fixed_handicap)),
    ("place_free_handicap", Answers(place_free_handicap)),
    ("set_free_handicap", Answers(set_free_handicap)),
    ("genmove", Searches(genmove)),
    ("kata-search", Searches(|session, slot, args| search(session, slot, args, Tell))),
    ("kata-search_cancellable", Searches(|session, slot, args| search(session, slot, args, TellUnlessCancelled))),
    ("lz-genmove_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, Style::Lz, Play))),
    (
        "kata-genmove_analyze",
        Streams(|session, slot, stream, args| decide(session, slot, stream, args, Style::Kata, Play)),
    ),
    ("genmove_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, Style::Kata, Play))),
    (
        "kata-search_analyze",
        Streams(|session, slot, stream, args| decide(session, slot, stream, args, Style::Kata, Tell)),
    ),
    (
        "kata-search_analyze_cancellable",
        Streams(|session, slot, stream, args| decide(session, slot, stream, args, Style::Kata, TellUnlessCancelled)),
    ),
    ("lz-analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Lz))),
    ("kata-analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Kata))),
    ("analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Kata))),
    ("stop", Answers(stop)),
    ("kata-raw-nn", Answers(raw)),
    ("kata-raw-human-nn", Answers(raw_human)),
    ("time_settings", Answers(time_settings)),
    ("time_left", Answers(time_left)),
    ("kgs-time_settings", Answers(kgs_time_settings)),
    ("kata-time_settings", Answers(kata_time_settings)),
    ("kata-list_time_settings", Answers(|_, args| args::none(args).map(|()| clock::kinds().join(" ")))),
    ("final_score", Answers(final_score)),
    ("final_status_list", Answers(final_status_list)),
    ("showboard", Answers(|session, args| args::none(args).map(|()| show::board(&session.record)))),
    ("loadsgf", Answers(loadsgf)),
    ("printsgf", Answers(printsgf)),
    (
        "kata-get-rules",
        Answers(|session, args| args::none(args).map(|()| settings::rules_text(session.record.rules()))),
    ),
    ("kata-set-rules", Answers(set_rules)),
    ("kata-set-rule", Answers(set_rule)),
    ("kgs-rules", Answers(kgs_rules)),
    ("kata-list-params", Answers(|_, args| args::none(args).map(|()| names_of_params().join(" ")))),
    ("kata-get-param", Answers(get_param)),
    ("kata-get-params", Answers(get_params)),
    ("kata-set-param", Answers(set_param)),
    ("kata-set-params", Answers(set_params)),
    ("kata-get-models", Answers(get_models)),
    ("clear_cache", Searches(clear_cache)),
    ("clear-cache", Searches(clear_cache)),
    ("cputime", Answers(cputime)),
    ("gomill-cpu_time", Answers(cputime)),
];

/// The command of that name.
pub fn find(name: &str) -> Option<Handler> {
    ALL.iter().find(|(other, _)| *other == name).map(|(_, handler)| *handler)
}

fn known_command(_: &mut Session, args: Args<'_>) -> Reply {
    Ok(find(args::one(args, "a command")?).is_some().to_string())
}

fn list_commands(_: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    Ok(ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\n"))
}

fn quit(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.quits = true;
    Ok(String::new())
}

fn get_models(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    let networks = session.player.networks().all();
    let models: Value = networks.map(|network| describe_model(network, session.record.size())).collect();
    Ok(models.to_string())
}

fn clear_cache(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>) -> Reply {
    args::none(args)?;
    slot.forget();
    session.player.networks().clear_cache();
    Ok(String::new())
}

fn cputime(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    Ok(format!("{:.3}", session.player.seconds))
}
