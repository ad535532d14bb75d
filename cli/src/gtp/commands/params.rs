//! Parameters of the search and settings of the session.

use super::Reply;
use crate::console::aside;
use crate::fields::Object;
use crate::go::{Known, Params};
use crate::gtp::args::{self, Args};
use crate::gtp::player::Player;
use crate::gtp::session::Session;
use crate::gtp::settings::Settings;
use crate::text::quoted;
use serde_json::Value;

/// Parameters that have an effect only at the start of the program.
const AT_THE_START: [&str; 4] =
    ["assumeMultipleStartingBlackMovesAreHandicap", "defaultBoardSize", "ponderingEnabled", "warnUnusedFields"];

pub(super) fn names_of_params() -> Vec<&'static str> {
    let all = Params::NAMES.iter().chain(Settings::NAMES).copied();
    all.filter(|name| !AT_THE_START.contains(name)).collect()
}

pub(super) fn get_param(session: &mut Session, args: Args<'_>) -> Reply {
    let name = args::one(args, "a parameter")?;
    value_of_param(session, name).ok_or_else(|| no_param("get", name))
}

/// Answers with all parameters, as a JSON object.
pub(super) fn get_params(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    let pair = |name: &'static str| {
        let text = value_of_param(session, name)?;
        // A value that is neither a number nor a boolean is text.
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Some((name.to_string(), value))
    };
    Ok(Value::Object(names_of_params().into_iter().filter_map(pair).collect()).to_string())
}

fn value_of_param(session: &Session, name: &str) -> Option<String> {
    let value = session.player.settings().get(name).or_else(|| session.player.params().get(name));
    value.filter(|_| names_of_params().contains(&name))
}

/// The value of a parameter that nothing has set; empty if it has none.
fn default_of_param(name: &str) -> String {
    Settings::default().get(name).or_else(|| Player::defaults().get(name)).unwrap_or_default()
}

/// The error for a parameter that a command can't `get` or `change`.
fn no_param(wanted: &str, name: &str) -> String {
    let expected = "expected one that kata-list-params lists, got";
    if Params::has(name) || Settings::has(name) {
        return format!(
            "cannot {wanted} parameter: {expected} one without effect, or that counts at the start alone: {name}"
        );
    }
    format!("unknown parameter: {expected} {}", quoted(name))
}

pub(super) fn set_param(session: &mut Session, args: Args<'_>) -> Reply {
    let pair = match args {
        [name] => (name.clone(), String::new()),
        [name, value] => (name.clone(), value.clone()),
        _ => return Err(args::expected("a parameter and its value", args)),
    };
    change_params(session, &[pair])
}

pub(super) fn set_params(session: &mut Session, args: Args<'_>) -> Reply {
    let object: Result<Object, _> = serde_json::from_str(&args.join(" "));
    let object = object.map_err(|_| args::expected("an object of parameters and their values", args))?;
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let pairs: Vec<_> = object.into_iter().map(|(name, value)| (name, text(value))).collect();
    change_params(session, &pairs)
}

/// Changes all of the parameters, or none if there is an error. As in KataGo, an empty value takes back what was set:
/// the default holds again.
fn change_params(session: &mut Session, pairs: &[(String, String)]) -> Reply {
    let player = &mut session.player;
    let (mut settings, mut params) = (*player.settings(), *player.params());
    let mut lacking = Vec::new();
    for (name, value) in pairs {
        if names_of_params().contains(&name.as_str()) {
            let value = if value.is_empty() { default_of_param(name) } else { value.clone() };
            if settings.set(name, &value)? == Known::No {
                params.set(name, &value)?;
            }
        } else if !Params::may_lack(name) {
            return Err(no_param("change", name));
        } else if !value.is_empty() && Params::lacks(name, value) {
            lacking.push(format!("{name}={value} has no effect"));
        }
    }
    let imitation = player.networks().imitation();
    imitation.permits(pairs.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str()))?;
    imitation.suits(&params)?;
    lacking.iter().for_each(|line| aside(line));
    let changed = pairs.iter().map(|(name, value)| (name.as_str(), !value.is_empty()));
    player.change(settings, params, changed);
    Ok(String::new())
}
