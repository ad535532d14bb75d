//! Completions for fish.

use super::{Command, Flag, Takes, everywhere};
use std::fmt::Write;

/// The script, for a file `oncilla.fish` in `~/.config/fish/completions`.
pub fn script(commands: &[Command]) -> String {
    let mut script = String::new();
    for command in commands {
        let help = quoted(&command.help);
        let _ = writeln!(script, "complete -c oncilla -n __fish_use_subcommand -f -a {} -d '{help}'", command.name);
    }
    everywhere().iter().for_each(|flag| line(&mut script, "", flag));
    for command in commands {
        let only = format!(" -n '__fish_seen_subcommand_from {}'", command.name);
        command.flags.iter().for_each(|flag| line(&mut script, &only, flag));
    }
    script
}

fn line(script: &mut String, condition: &str, flag: &Flag) {
    let short = flag.short.map_or(String::new(), |short| format!(" -s {short}"));
    let value = match &flag.takes {
        Takes::Nothing => String::new(),
        Takes::OneOf(words) => format!(" -x -a '{}'", words.join(" ")),
        Takes::Number(_) | Takes::Text => " -x".to_string(),
        Takes::File => " -r".to_string(),
    };
    let _ =
        writeln!(script, "complete -c oncilla{condition} -l {}{short}{value} -d '{}'", flag.long, quoted(&flag.help));
}

/// Text within single quotes.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
