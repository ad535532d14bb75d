//! Prints the table for `uci`, for `--help` and for OPTIONS.md.

use std::fmt::Write;

use super::kind::{Kind, Value};
use super::table::{self, OPTIONS, Opt};
use super::typed::Typed;

/// The `option name …` lines of UCI. The current values are listed as defaults, so a GUI that sends back all that is
/// listed changes nothing. `all`: includes the hidden options.
pub fn uci_lines(typed: &Typed, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for opt in table::all().filter(|opt| !opt.name.is_empty() && (all || !opt.hidden)) {
        let kind = opt.kind.uci(typed.value(opt).as_ref());
        lines.push(format!("option name {} {kind}", opt.name));
        lines.extend(opt.alias.map(|alias| format!("option name {alias} {kind}")));
    }
    lines
}

/// The part of `--help` about options. `all`: includes the hidden options.
pub fn help(all: bool) -> String {
    let mut text = String::new();
    for group in OPTIONS {
        let shown = |opt: &&Opt| !opt.flag.is_empty() && opt.kind.without_effect().is_none() && (all || !opt.hidden);
        let _ = writeln!(text, "\n{}:", group.title);
        for opt in group.options.iter().filter(shown) {
            let _ = writeln!(text, "  {}\n      {} [{}]", usage(opt), opt.help, default(opt));
        }
    }
    let _ = writeln!(text, "\nAccepted for the sake of Lc0's users, without effect here:");
    for opt in table::all().filter(|opt| !opt.flag.is_empty()) {
        if let Some(reason) = opt.kind.without_effect() {
            let _ = writeln!(text, "  --{} ({reason})", opt.flag);
        }
    }
    text
}

/// The table of OPTIONS.md.
pub fn markdown() -> String {
    let mut text = String::from("| UCI option | Flag | Default | Values | What it does |\n|---|---|---|---|---|\n");
    for opt in table::all() {
        let name = match (opt.name, opt.alias) {
            ("", _) => String::new(),
            (name, None) => format!("`{name}`"),
            (name, Some(alias)) => format!("`{name}`, `{alias}`"),
        };
        let flag = match (opt.flag, opt.short) {
            ("", _) => String::new(),
            (flag, None) => format!("`--{flag}`"),
            (flag, Some(short)) => format!("`--{flag}`, `-{short}`"),
        };
        let does = match opt.kind.without_effect() {
            None => opt.help.to_string(),
            Some(reason) => format!("Accepted, without effect: {reason}."),
        };
        let default = default(opt);
        let default = if default.is_empty() { default } else { format!("`{default}`") };
        let row = [name, flag, default, values(opt), does].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

fn usage(opt: &Opt) -> String {
    let mut text = match opt.short {
        Some(short) => format!("-{short}, --"),
        None => "--".to_string(),
    };
    let _ = match opt.kind {
        // The help describes the switch without `no-`.
        Kind::Bool { .. } => write!(text, "[no-]{}", opt.flag),
        _ => write!(text, "{}={}", opt.flag, values(opt)),
    };
    text
}

/// The values that an option accepts, for the user.
pub(crate) fn values(opt: &Opt) -> String {
    match opt.kind {
        Kind::Int { min, max, .. } => format!("{min}..{max}"),
        Kind::Float { min, max, .. } => format!("{min}..{max}"),
        Kind::Choice { of, .. } => of.join("|"),
        Kind::Bool { .. } => "true|false".to_string(),
        Kind::Text { .. } => "TEXT".to_string(),
        Kind::Button => "button".to_string(),
    }
}

/// The default, for the user.
pub fn default(opt: &Opt) -> String {
    match opt.kind.default() {
        Some(Value::Float(number)) => number.to_string(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Options whose line differs from Lc0's, and why.
    const OTHERWISE: [(&str, &str); 5] = [
        ("ConfigFile", "no file is looked for: the same command line does the same thing on every machine"),
        ("TimeManager", "smooth is the default: it does not lose on time and leaves less of it unused (docs/time.md)"),
        (
            "ScoreType",
            "one unit more: Lc0's present centipawns are centipawn_2025, centipawn is the documented formula",
        ),
        ("WeightsFile", "a network is built in, so that nothing has to be found"),
        ("Backend", "the backends that are here; blas, eigen and trivial are accepted as names of host and constant"),
    ];

    /// The lines of a file in the tests' shared folder; `None` if it is not there.
    fn recorded(file: &str) -> Option<Vec<String>> {
        let text = std::fs::read_to_string(oncilla_testing::shared_path(&format!("oracle/{file}"))?).unwrap();
        Some(text.lines().map(str::to_string).collect())
    }

    fn name_of(line: &str) -> Option<&str> {
        line.strip_prefix("option name ")?.split(" type ").next()
    }

    /// Compares the name, type, default and range of every option that Lc0 lists, in its order. Options that differ,
    /// and those without an effect, are printed with the reason (`cargo test -p oncilla our_lines -- --nocapture`).
    #[test]
    fn our_lines_are_lc0s_lines() {
        for (file, all) in [("lc0_uci_options_visible.txt", false), ("lc0_uci_options_hidden.txt", true)] {
            let Some(recorded) = recorded(file) else { return };
            let ours = uci_lines(&Typed::default(), all);
            let is_lc0s = |line: &&String| recorded.iter().any(|other| name_of(other) == name_of(line));
            let same_names: Vec<&String> = ours.iter().filter(is_lc0s).collect();
            let lc0s: Vec<&String> = recorded.iter().filter(|line| name_of(line).is_some()).collect();
            assert_eq!(same_names.len(), lc0s.len(), "every option of Lc0's is here, in {file}");
            let (mut equal, mut idle) = (0, 0);
            println!("{file}: {} options", lc0s.len());
            for (ours, lc0s) in same_names.iter().zip(&lc0s) {
                let name = name_of(lc0s).unwrap();
                assert_eq!(name_of(ours).unwrap(), name, "the order is Lc0's");
                let opt = table::by_name(name).unwrap();
                if let Some((_, why)) = OTHERWISE.iter().find(|(other, _)| *other == name) {
                    assert_ne!(ours, lc0s, "no longer otherwise");
                    println!("  otherwise: {name}: {why}");
                } else {
                    assert_eq!(ours, lc0s);
                    equal += 1;
                }
                if let Some(why) = opt.kind.without_effect() {
                    assert!(why.len() > 10, "{name} does nothing: why?");
                    println!("  without effect: {name}: {why}");
                    idle += 1;
                }
            }
            println!("  {equal} lines equal, {} otherwise, {idle} without effect", lc0s.len() - equal);
        }
    }

    #[test]
    fn floats_look_as_in_lc0() {
        let lines = uci_lines(&Typed::default(), false);
        assert!(lines.contains(&"option name CPuct type string default 1.745000".to_string()));
        assert!(lines.contains(&"option name BackendOptions type string default ".to_string()));
        assert!(lines.contains(&"option name Move Overhead type spin default 200 min 0 max 100000000".to_string()));
        assert!(!lines.iter().any(|line| line.contains("StrictTiming")));
    }

    #[test]
    fn what_was_typed_is_what_is_listed() {
        let mut typed = Typed::default();
        for (flag, value) in [("hash", "4"), ("weights", "tiny"), ("cpuct", "2"), ("search-graph", "TREE")] {
            typed.set(table::by_flag(flag).unwrap(), flag, value).unwrap();
        }
        let lines = uci_lines(&typed, false);
        for line in [
            "option name Hash type spin default 4 min 1 max 1048576",
            "option name WeightsFile type string default tiny",
            "option name CPuct type string default 2.000000",
            "option name SearchGraph type combo default tree var auto var graph var tree",
        ] {
            assert!(lines.iter().any(|other| other == line), "{line}");
        }
        assert_eq!(lines.len(), uci_lines(&Typed::default(), false).len());
    }

    #[test]
    fn nothing_is_in_the_table_twice() {
        let unique = |texts: Vec<String>| {
            let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            texts.iter().collect::<HashSet<_>>().len() == texts.len()
        };
        let names = table::all().flat_map(|opt| [Some(opt.name), opt.alias]).flatten();
        assert!(unique(names.map(str::to_lowercase).collect()));
        assert!(unique(table::all().map(|opt| opt.flag.to_string()).collect()));
        assert!(unique(table::all().filter_map(|opt| opt.short).map(String::from).collect()));
    }

    #[test]
    fn every_default_is_accepted() {
        for opt in table::all() {
            if let Some(value) = opt.kind.default() {
                assert!(opt.kind.parse(&value.to_string()).is_ok(), "{}", opt.key());
            }
        }
    }

    #[test]
    fn the_page_about_lc0_names_what_does_nothing() {
        let page = std::fs::read_to_string(oncilla_testing::repository().join("docs/lc0.md")).unwrap();
        let (_, table) = page.split_once("| option of Lc0 |").expect("the table");
        let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
        let options = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
        let named: HashSet<&str> = options.map(|option| option.trim_matches([' ', '`'])).collect();
        let idle = |opt: &&Opt| !opt.name.is_empty() && opt.kind.without_effect().is_some();
        assert_eq!(table::all().filter(idle).map(|opt| opt.name).collect::<HashSet<_>>(), named);
    }

    #[test]
    fn options_md_shows_this_table() {
        let path = oncilla_testing::repository().join("OPTIONS.md");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(&markdown()), "OPTIONS.md: put in the output of `oncilla --generate options-table`");
    }
}
