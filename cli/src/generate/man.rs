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
        let _ = writeln!(page, ".TP\n.B {}\n{}", plain(&command.name), plain(&command.help));
        if !command.flags.is_empty() {
            page.push_str(".RS\n");
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
    page.push_str(".SH EXIT STATUS\n");
    for (status, meaning) in EXIT {
        let _ = writeln!(page, ".TP\n.B {status}\n{meaning}");
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
    --no-flag. Each is an option of UCI too, under the name that OPTIONS.md lists.";
const EXIT: [(&str, &str); 3] = [("0", "Done."), ("1", "A check said no."), ("2", "Wrong usage, or a failure.")];
const EXAMPLES: [&str; 4] = [
    "oncilla --weights=maia-1500.pb.gz --backend=host",
    "oncilla bench --backend random --json",
    "oncilla time --base 60000 --inc 600 --ply 20",
    "oncilla --generate bash > /usr/share/bash-completion/completions/oncilla",
];

fn entry(page: &mut String, flag: &Flag) {
    let _ = writeln!(page, ".TP\n.B {}\n{}", plain(&flag.usage()), plain(&flag.help));
}

/// Text that troff takes for text.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // At the start of a line these two make a macro.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
