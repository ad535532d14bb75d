//! `--override-config`: options that count for more than all others.

use super::{Typed, katago};
use crate::text::{quoted, shown};

/// Applies overrides, each a list `NAME=VALUE,…`, to the options. Also returns lines for the user: which amounts are
/// reduced, and the names that have no meaning, except those for which `has` returns true; it is called with the
/// resulting options.
///
/// # Errors
/// In one line: an override has no value, or a wrong one.
pub fn apply(
    overrides: &[String],
    mut typed: Typed,
    has: impl Fn(&Typed, &str) -> bool,
) -> Result<(Typed, Vec<String>), String> {
    let before = typed.of_katago().to_vec();
    let unused = set_all(&overrides.join(","), &mut typed)?;
    let added = typed.of_katago().iter().filter(|given| !before.contains(given));
    let mut said: Vec<String> = added.filter_map(|(name, value)| katago::reduced(name, value)).collect();
    let unused: Vec<String> = unused.into_iter().filter(|name| !has(&typed, name)).collect();
    if !unused.is_empty() {
        said.push(format!("not used: {}", unused.join(", ")));
    }
    Ok((typed, said.into_iter().map(|line| format!("--override-config: {line}")).collect()))
}

/// Sets the options of a list `NAME=VALUE,…`. Returns the names that KataGo may have but that have no meaning here, as
/// is done for configuration files.
fn set_all(overrides: &str, typed: &mut Typed) -> Result<Vec<String>, String> {
    let mut unused = Vec::new();
    for item in overrides.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let expected = || format!("--override-config: expected NAME=VALUE,…, got {}", quoted(item));
        let (name, value) = item.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        // As in KataGo, an empty value means that the option is not set, even if a configuration file sets it.
        if value.is_empty() && (katago::is_name(name) || katago::settings(name, value).is_empty()) {
            typed.forget_katagos(name);
            continue;
        }
        typed.keep_katagos(name, value);
        let set = katago::settings(name, value);
        if set.is_empty() {
            unused.push(shown(name));
        }
        for (opt, value) in set {
            typed.set_for(opt, name, &value).map_err(|error| error.to_string())?;
        }
    }
    Ok(unused)
}
