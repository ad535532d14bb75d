//! Texts for the system that are made of the tables of options and commands: the manual page and what shells complete.
//!
//! `oncilla --generate man > oncilla.1`. Packages take them from the program, so nothing has to be kept in step.

mod bash;
mod fish;
mod man;
mod parameters;
mod zsh;

use crate::options::table::{self, Opt};
use crate::options::{Kind, print};
use argh::{CommandInfoWithArgs, FlagInfo, FlagInfoKind, PositionalInfo};

/// What `--generate` knows.
pub const KINDS: [&str; 6] = ["man", "bash", "zsh", "fish", "options-table", "go-parameters"];

/// The text of one of [`KINDS`]. `program` describes the commands.
///
/// # Errors
/// Another kind.
pub fn text(kind: &str, program: &CommandInfoWithArgs) -> Result<String, String> {
    let commands = commands(program);
    Ok(match kind {
        "man" => man::page(&commands),
        "bash" => bash::script(&commands),
        "zsh" => zsh::script(&commands),
        "fish" => fish::script(&commands),
        "options-table" => print::markdown(),
        "go-parameters" => parameters::markdown(),
        other => return Err(format!("--generate: expected one of {}, got {other:?}", KINDS.join(", "))),
    })
}

/// A command of the program.
struct Command {
    name: String,
    help: String,
    /// The arguments that are no flags, each with its help.
    operands: Vec<(String, String)>,
    flags: Vec<Flag>,
}

/// A flag, of a command or of the table.
struct Flag {
    long: String,
    short: Option<char>,
    help: String,
    takes: Takes,
    /// The value without the flag; empty for none, and for flags of commands, whose help says it.
    default: String,
}

impl Flag {
    /// As a person writes it.
    fn usage(&self) -> String {
        let short = self.short.map_or(String::new(), |short| format!("-{short}, "));
        let value = match &self.takes {
            Takes::Nothing => String::new(),
            Takes::OneOf(words) => format!("={}", words.join("|")),
            Takes::Number(range) => format!("={range}"),
            Takes::File | Takes::Text => "=VALUE".to_string(),
        };
        format!("{short}--{}{value}", self.long)
    }
}

/// What follows a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// One of these words.
    OneOf(Vec<String>),
    /// A number in this range.
    Number(String),
    /// The name of a file.
    File,
    /// Any other text.
    Text,
}

/// The `arg_name` of those options of a command that name a file.
const FILE: &str = "file";

fn commands(program: &CommandInfoWithArgs) -> Vec<Command> {
    let command = |info: &argh::SubCommandInfo| Command {
        name: info.name.to_string(),
        help: info.command.description.to_string(),
        operands: info.command.positionals.iter().filter(|operand| !operand.hidden).map(operand).collect(),
        // Every command has one; the program's own is among the switches.
        flags: info.command.flags.iter().filter(|flag| !flag.hidden && flag.long != "--help").map(of_command).collect(),
    };
    program.commands.iter().map(command).collect()
}

/// An operand's name, in brackets because none has to be there, and its help.
fn operand(info: &PositionalInfo<'_>) -> (String, String) {
    (format!("[{}]", info.name.to_uppercase()), info.description.to_string())
}

fn of_command(flag: &FlagInfo<'_>) -> Flag {
    Flag {
        long: flag.long.trim_start_matches('-').to_string(),
        short: flag.short,
        help: flag.description.to_string(),
        takes: match flag.kind {
            FlagInfoKind::Switch => Takes::Nothing,
            FlagInfoKind::Option { arg_name: FILE } => Takes::File,
            FlagInfoKind::Option { .. } => Takes::Text,
        },
        default: String::new(),
    }
}

/// The flags that every command knows, with their groups. What has no effect is not offered.
fn groups() -> Vec<(&'static str, Vec<Flag>)> {
    let shown = |opt: &&Opt| !opt.flag.is_empty() && opt.kind.without_effect().is_none();
    let flags = |group: &table::Group| group.options.iter().filter(shown).map(of_table).collect();
    table::OPTIONS.iter().map(|group| (group.title, flags(group))).collect()
}

fn of_table(opt: &Opt) -> Flag {
    let (long, takes) = match opt.kind {
        // A switch that is on by default can only be switched off.
        Kind::Bool { default: true, .. } => (format!("no-{}", opt.flag), Takes::Nothing),
        Kind::Bool { default: false, .. } => (opt.flag.to_string(), Takes::Nothing),
        Kind::Choice { of, .. } => {
            (opt.flag.to_string(), Takes::OneOf(of.iter().map(|word| (*word).to_string()).collect()))
        }
        Kind::Int { .. } | Kind::Float { .. } => (opt.flag.to_string(), Takes::Number(print::values(opt))),
        Kind::Text { .. } if opt.names_files => (opt.flag.to_string(), Takes::File),
        Kind::Text { .. } | Kind::Button => (opt.flag.to_string(), Takes::Text),
    };
    // A short flag switches on.
    let is_on = matches!(opt.kind, Kind::Bool { default: true, .. });
    let short = opt.short.filter(|_| !is_on);
    let help = if is_on { format!("Switches off: {}", opt.help) } else { opt.help.to_string() };
    let default = if takes == Takes::Nothing { String::new() } else { print::default(opt) };
    Flag { long, short, help, takes, default }
}

/// The part of `--help` about the program's own switches.
pub fn help() -> String {
    let entry = |flag: &Flag| format!("  {}\n      {}\n", flag.usage(), flag.help);
    format!("\nThe program itself:\n{}", own().iter().map(entry).collect::<String>())
}

/// The program's own switches, which `main` understands.
fn own() -> Vec<Flag> {
    let flag = |long: &str, short, help: &str, takes| Flag {
        long: long.into(),
        short,
        help: help.into(),
        takes,
        default: String::new(),
    };
    vec![
        flag("help", Some('h'), "Show what there is.", Takes::Nothing),
        flag("version", Some('V'), "Show the version.", Takes::Nothing),
        flag(
            "generate",
            None,
            "Write a manual page, a shell's completions, the table of OPTIONS.md, or those of docs/go-parameters.md.",
            Takes::OneOf(KINDS.map(str::to_string).to_vec()),
        ),
    ]
}

/// All flags that may come before or after any command.
fn everywhere() -> Vec<Flag> {
    own().into_iter().chain(groups().into_iter().flat_map(|(_, flags)| flags)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Command> {
        let flag = Flag {
            long: "nodes".into(),
            short: None,
            help: "nodes a position".into(),
            takes: Takes::Text,
            default: String::new(),
        };
        vec![
            Command {
                name: "bench".into(),
                help: "Measure the search.".into(),
                operands: Vec::new(),
                flags: vec![flag],
            },
            Command {
                name: "report".into(),
                help: "Annotate games.".into(),
                operands: vec![("[FILE]".into(), "the games".into())],
                flags: Vec::new(),
            },
        ]
    }

    fn every_text() -> [(&'static str, String); 4] {
        let commands = sample();
        [
            ("man", man::page(&commands)),
            ("bash", bash::script(&commands)),
            ("zsh", zsh::script(&commands)),
            ("fish", fish::script(&commands)),
        ]
    }

    #[test]
    fn every_flag_is_in_every_text() {
        for (kind, text) in every_text() {
            // The manual writes a hyphen that is to be copied with a backslash.
            let text = text.replace("\\-", "-");
            for flag in everywhere().iter().chain(&sample()[0].flags) {
                assert!(text.contains(&flag.long), "{} in {kind}", flag.long);
            }
            assert!(text.contains("bench"), "{kind}");
        }
    }

    #[test]
    fn no_flag_is_offered_twice() {
        let all = everywhere();
        for (at, flag) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.long != flag.long), "{}", flag.long);
            let is_other = |other: &Flag| other.short.is_none() || other.short != flag.short;
            assert!(all[..at].iter().all(is_other), "{:?}", flag.short);
        }
    }

    #[test]
    fn what_does_nothing_is_not_offered() {
        assert!(everywhere().iter().all(|flag| flag.long != "task-workers"));
    }

    /// The page has what `--help` and OPTIONS.md say of a flag, and the arguments that are no flags.
    #[test]
    fn the_manual_page_has_defaults_and_operands() {
        let page = man::page(&sample()).replace("\\-", "-");
        for line in [".B report [FILE]\n", ".B [FILE]\nthe games\n"] {
            assert!(page.contains(line), "{line}");
        }
        for opt in table::all().filter(|opt| !opt.flag.is_empty() && opt.kind.without_effect().is_none()) {
            let default = print::default(opt);
            let takes_value = !matches!(opt.kind, Kind::Bool { .. });
            let end = format!(" [{}]\n", default.replace("\\-", "-"));
            assert!(!takes_value || default.is_empty() || page.contains(&end), "{}: {end}", opt.flag);
        }
    }

    /// Files are offered where a value names one, and nothing in the place of other texts.
    #[test]
    fn shells_complete_the_names_of_files() {
        let [_, (_, bash), (_, zsh), (_, fish)] = every_text();
        for (flag, names_files) in
            [("weights", true), ("syzygy-paths", true), ("nodes", false), ("backend-opts", false)]
        {
            let line = |text: &str, of: &str| {
                text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of} in {text}")).to_string()
            };
            assert_eq!(line(&bash, &format!("--{flag})")).contains("compgen -f"), names_files, "{flag}");
            assert_eq!(line(&zsh, &format!("'--{flag}=")).contains("_files"), names_files, "{flag}");
            assert_eq!(line(&fish, &format!(" -l {flag} ")).contains(" -r "), names_files, "{flag}");
        }
    }

    /// Only the commands that read a file complete one.
    #[test]
    fn bash_completes_files_where_there_are_operands() {
        let script = bash::script(&sample());
        assert!(script.contains("[[ $command == @(report) ]]; then\n        COMPREPLY=($(compgen -f"), "{script}");
    }

    #[test]
    fn a_manual_page_of_plain_lines() {
        for line in man::page(&sample()).lines() {
            assert!(!line.starts_with('\''), "{line}");
            let is_macro = [".TH ", ".ad l", ".SH ", ".SS ", ".TP", ".B ", ".PP", ".EX", ".EE", ".RS", ".RE"]
                .iter()
                .any(|m| line.starts_with(m));
            assert!(is_macro || !line.starts_with('.'), "{line}");
        }
    }
}
