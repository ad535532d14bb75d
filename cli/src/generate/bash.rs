//! Completions for bash.

use super::{Command, Flag, Takes, everywhere};
use std::fmt::Write;

/// The script, for a folder like `/usr/share/bash-completion/completions`.
pub fn script(commands: &[Command]) -> String {
    let everywhere = everywhere();
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    let mut script = String::from(HEAD);
    script.push_str("    case $flag in\n");
    for flag in everywhere.iter().chain(commands.iter().flat_map(|command| &command.flags)) {
        if let Some(answer) = answer(&flag.takes) {
            let _ = writeln!(script, "        {}) {answer}; return;;", spellings(flag).join("|"));
        }
    }
    script.push_str("    esac\n");
    let _ = writeln!(script, "    local flags=\"{}\"", all_spellings(&everywhere));
    let _ = writeln!(script, "    local word command=\n    for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do");
    let _ = writeln!(script, "        case $word in {}) command=$word;; esac\n    done", names.join("|"));
    script.push_str("    case $command in\n");
    for command in commands.iter().filter(|command| !command.flags.is_empty()) {
        let _ = writeln!(script, "        {}) flags+=\" {}\";;", command.name, all_spellings(&command.flags));
    }
    script.push_str("    esac\n");
    let _ = writeln!(script, "    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))");
    let _ = writeln!(
        script,
        "    elif [[ -z $command ]]; then\n        COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))",
        names.join(" ")
    );
    let of_files = commands.iter().filter(|command| !command.operands.is_empty());
    let of_files: Vec<&str> = of_files.map(|command| command.name.as_str()).collect();
    let _ = writeln!(
        script,
        "    elif [[ $command == @({}) ]]; then\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}}",
        of_files.join("|")
    );
    script.push_str("complete -o filenames -F _oncilla oncilla\n");
    script
}

/// `--flag=value` comes as three words, for `=` breaks them.
const HEAD: &str = "\
_oncilla() {
    local cur=${COMP_WORDS[COMP_CWORD]} flag=
    COMPREPLY=()
    if [[ $cur == = ]]; then
        cur= flag=${COMP_WORDS[COMP_CWORD-1]}
    elif [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD-2]}
    elif [[ $cur != -* ]]; then
        flag=${COMP_WORDS[COMP_CWORD-1]}
    fi
";

/// What completes the value of a flag; `None` where it has none.
fn answer(takes: &Takes) -> Option<String> {
    match takes {
        Takes::Nothing => None,
        Takes::OneOf(words) => Some(format!("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", words.join(" "))),
        Takes::Number(_) | Takes::Text => Some(":".to_string()),
        Takes::File => Some("COMPREPLY=($(compgen -f -- \"$cur\"))".to_string()),
    }
}

fn spellings(flag: &Flag) -> Vec<String> {
    flag.short.map(|short| format!("-{short}")).into_iter().chain([format!("--{}", flag.long)]).collect()
}

fn all_spellings(flags: &[Flag]) -> String {
    flags.iter().flat_map(spellings).collect::<Vec<_>>().join(" ")
}
