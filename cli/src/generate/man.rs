//! The manual page, in the macros of man(7).

use super::{Command, Flag, groups, own};
use crate::options::table;
use std::fmt::Write;

/// The page.
pub fn page(commands: &[Command]) -> String {
    let mut page = format!(".TH ONCILLA 1 \"\" \"oncilla {}\"\n", env!("CARGO_PKG_VERSION"));
    // Lists of words are too long for lines of even length.
    page.push_str(".ad l\n.SH NAME\noncilla \\- an engine for chess and Go on small GPUs\n");
    page.push_str(".SH SYNOPSIS\n.B oncilla\n[OPTIONS] [COMMAND [OPTIONS]]\n");
    page.push_str(".SH DESCRIPTION\n");
    let _ = writeln!(page, "{}", plain(DESCRIPTION));
    page.push_str(".SH COMMANDS\n");
    for command in commands {
        let names = command.operands.iter().map(|(name, _)| name.as_str());
        let usage = std::iter::once(command.name.as_str()).chain(names).collect::<Vec<_>>().join(" ");
        let _ = writeln!(page, ".TP\n.B {}\n{}", plain(&usage), plain(&command.help));
        if !command.flags.is_empty() || !command.operands.is_empty() {
            page.push_str(".RS\n");
            command.operands.iter().for_each(|(name, help)| item(&mut page, name, help));
            command.flags.iter().for_each(|flag| entry(&mut page, flag));
            page.push_str(".RE\n");
        }
    }
    page.push_str(".SH OPTIONS\n");
    let _ = writeln!(page, "{}", plain(OPTIONS));
    own().iter().for_each(|flag| entry(&mut page, flag));
    for (title, flags) in groups() {
        let _ = writeln!(page, ".SS {}", plain(title));
        flags.iter().for_each(|flag| entry(&mut page, flag));
    }
    let idle: Vec<&str> = table::all()
        .filter(|opt| opt.kind.without_effect().is_some())
        .map(|opt| opt.flag)
        .filter(|f| !f.is_empty())
        .collect();
    let _ = writeln!(
        page,
        ".SS Without effect\nAccepted, because Lc0 has them: {}.",
        plain(&format!("--{}", idle.join(", --")))
    );
    for (title, items) in [("ENVIRONMENT", &ENVIRONMENT[..]), ("FILES", &FILES), ("EXIT STATUS", &EXIT)] {
        let _ = writeln!(page, ".SH {title}");
        items.iter().for_each(|(name, meaning)| item(&mut page, name, meaning));
    }
    page.push_str(".SH EXAMPLES\n.EX\n");
    EXAMPLES.iter().for_each(|line| {
        let _ = writeln!(page, "{}", plain(line));
    });
    page.push_str(".EE\n");
    page
}

const DESCRIPTION: &str = "Runs networks of Lc0 (chess) and of KataGo (Go) through OpenCL or on the CPU's cores, and \
    searches with PUCT in a tree of fixed size. Without a command it speaks UCI on standard input and output. What a \
    machine reads goes to standard output, what a person reads to standard error.";
const OPTIONS: &str = "They may stand before or after the command, as --flag=VALUE or --flag VALUE; switches are --flag and \
    --no-flag. Most are options of UCI too, under the names that OPTIONS.md lists. In brackets: the default.";
const ENVIRONMENT: [(&str, &str); 2] = [
    ("ONCILLA_DEVICE", "OpenCL devices by index or by part of a name, separated by commas, where no option names one."),
    ("XDG_CACHE_HOME", "The folder for caches, if it is absolute; without it, ~/.cache."),
];
const FILES: [(&str, &str); 2] = [
    ("~/.cache/oncilla/tuning", "What oncilla tune has found, and which devices have passed their first test."),
    ("~/.cache/oncilla/programs", "Compiled kernels. Both folders may be removed; --cache-dir names another place."),
];
const EXIT: [(&str, &str); 3] = [("0", "Done."), ("1", "A check said no."), ("2", "Wrong usage, or a failure.")];
const EXAMPLES: [&str; 4] = [
    "oncilla --weights=maia-1500.pb.gz --backend=host",
    "oncilla bench --backend random --json",
    "oncilla time --base 60000 --inc 600 --ply 20",
    "oncilla --generate bash > /usr/share/bash-completion/completions/oncilla",
];

fn entry(page: &mut String, flag: &Flag) {
    let default = if flag.default.is_empty() { String::new() } else { format!(" [{}]", flag.default) };
    item(page, &flag.usage(), &format!("{}{default}", flag.help));
}

fn item(page: &mut String, name: &str, meaning: &str) {
    let _ = writeln!(page, ".TP\n.B {}\n{}", plain(name), plain(meaning));
}

/// Text that troff takes for text.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // At the start of a line these two make a macro.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
