//! Completions for zsh.

use super::{Command, Flag, Takes, everywhere};
use std::fmt::Write;

/// The script, for a file `_oncilla` in a folder of `$fpath`.
pub fn script(commands: &[Command]) -> String {
    let mut script = String::from("#compdef oncilla\n\n_oncilla() {\n    local -a specs commands\n    commands=(\n");
    for command in commands {
        let _ = writeln!(script, "        '{}:{}'", command.name, quoted(&command.help).replace(':', "\\:"));
    }
    script.push_str("    )\n    specs=(\n");
    everywhere().iter().for_each(|flag| spec(&mut script, flag));
    script.push_str("        '1:command:{ _describe command commands }'\n        '*:file:_files'\n    )\n");
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    let _ = writeln!(script, "    case ${{words[(r)({})]}} in", names.join("|"));
    for command in commands.iter().filter(|command| !command.flags.is_empty()) {
        let _ = writeln!(script, "    {})\n    specs+=(", command.name);
        command.flags.iter().for_each(|flag| spec(&mut script, flag));
        script.push_str("    );;\n");
    }
    script.push_str("    esac\n    _arguments $specs\n}\n\n_oncilla \"$@\"\n");
    script
}

/// Appends one line for each spelling of a flag, with what follows it.
fn spec(script: &mut String, flag: &Flag) {
    let help = quoted(&flag.help).replace('[', "\\[").replace(']', "\\]");
    let (equals, value) = match &flag.takes {
        Takes::Nothing => ("", String::new()),
        Takes::OneOf(words) => ("=", format!(":value:({})", words.join(" "))),
        Takes::Number(range) => ("=", format!(":{range}: ")),
        Takes::File => ("=", ":file:_files".to_string()),
        Takes::Text => ("=", ":text: ".to_string()),
    };
    if let Some(short) = flag.short {
        let _ = writeln!(script, "        '-{short}[{help}]{value}'");
    }
    let _ = writeln!(script, "        '--{}{equals}[{help}]{value}'", flag.long);
}

/// Text within single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}
