//! Rules.

use super::Reply;
use crate::gtp::args::{self, Args};
use crate::gtp::session::Session;
use crate::gtp::settings;
use crate::text::quoted;
use oncilla_go::Rules;

/// As in KataGo, rules with a komi are refused: the komi stays, so a komi among them would have no effect.
pub(super) fn set_rules(session: &mut Session, args: Args<'_>) -> Reply {
    let text = args.join(" ");
    let rules = if text.contains("komi") {
        Err(format!("expected rules without a komi, which the command komi sets, got {}", quoted(&text)))
    } else {
        settings::named_rules(&text)
    };
    change_rules(session, rules)
}

pub(super) fn set_rule(session: &mut Session, args: Args<'_>) -> Reply {
    let [axis, value] = args else { return Err(args::expected("a rule and its value", args)) };
    change_rules(session, settings::with_axis(session.record.rules(), axis, value))
}

/// KGS's Chinese rules differ from KataGo's `chinese`: they have superko.
pub(super) fn kgs_rules(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "one of chinese, aga, japanese, new_zealand";
    let name = match args::one(args, what)?.to_ascii_lowercase().as_str() {
        "chinese" => "chinese-kgs",
        "aga" => "aga",
        "japanese" => "japanese",
        "new_zealand" => "new-zealand",
        _ => return Err(args::expected(what, args)),
    };
    change_rules(session, settings::named_rules(name))
}

/// Changes the rules, except for the komi.
fn change_rules(session: &mut Session, rules: Result<Rules, String>) -> Reply {
    let rules = rules.map_err(|error| format!("unknown rules: {error}"))?;
    session.record.set_rules(Rules { komi: session.record.rules().komi, ..rules });
    Ok(String::new())
}
