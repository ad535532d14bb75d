//! The tables of `docs/go-parameters.md`.

use std::fmt::Write;

use crate::go::Params;
use crate::go::params::Row;
use crate::gtp::Settings;

/// The tables of all parameters of Go: of the search, and of a player.
pub fn markdown() -> String {
    let parts = [("The search", Params::table()), ("The player of GTP", Settings::table())];
    let mut text = String::new();
    for (title, rows) in parts {
        let _ = writeln!(text, "## {title}\n\n| Parameter | Without it | Values | What it does |\n|---|---|---|---|");
        for Row { name, default, values, meaning } in rows {
            let default = if default.is_empty() { "none".to_string() } else { format!("`{}`", brief(&default)) };
            let values = values.split(' ').map(brief).collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "| `{name}` | {default} | {values} | {meaning} |");
        }
        text.push('\n');
    }
    text.trim_end().to_string() + "\n"
}

/// A number of many digits by its exponent; any other word as it is.
fn brief(word: &str) -> String {
    match word.parse::<f64>() {
        Ok(number) if number >= 1e10 && number == 2f64.powf(number.log2().round()) => {
            format!("2^{}", number.log2().round())
        }
        Ok(number) if number >= 1e10 => format!("{number:e}"),
        _ => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_these_tables() {
        let path = oncilla_testing::repository().join("docs/go-parameters.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "docs/go-parameters.md: put in the output of `oncilla --generate go-parameters`";
        assert!(text.ends_with(&markdown()), "{expected}");
    }

    #[test]
    fn numbers_of_many_digits_are_brief() {
        let both = [("1125899906842624", "2^50"), ("100000000000000000000", "1e20"), ("500", "500"), ("to", "to")];
        both.into_iter().for_each(|(word, expected)| assert_eq!(brief(word), expected));
    }
}
