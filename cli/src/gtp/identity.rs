//! What the program calls itself. Some user interfaces send KataGo's commands only to a program of that name.

use crate::text::quoted;

/// The answers to `name` and `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Identity {
    /// The given answers; the program's own where there is none.
    ///
    /// # Errors
    /// One line: an answer that is empty or has more than a line.
    pub fn new(name: Option<String>, version: Option<String>) -> Result<Self, String> {
        Ok(Self {
            name: answer("--name", name, "Oncilla")?,
            version: answer("--override-version", version, env!("CARGO_PKG_VERSION"))?,
        })
    }
}

fn answer(flag: &str, given: Option<String>, own: &str) -> Result<String, String> {
    let answer = given.unwrap_or_else(|| own.to_string());
    if answer.trim().is_empty() || answer.contains(char::is_control) {
        return Err(format!("{flag}: expected the text of an answer, got {}", quoted(&answer)));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_may_be_given() {
        let given = |name: &str, version: &str| {
            let given = |text: &str| Some(text.to_string()).filter(|text| text != "-");
            Identity::new(given(name), given(version)).map(|identity| (identity.name, identity.version))
        };
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!(given("-", "-"), Ok(("Oncilla".to_string(), own.to_string())));
        assert_eq!(given("KataGo", "-"), Ok(("KataGo".to_string(), own.to_string())));
        assert_eq!(given("KataGo", "1.16.3"), Ok(("KataGo".to_string(), "1.16.3".to_string())));
        for text in ["", " ", "two\nlines"] {
            assert!(given(text, "-").is_err_and(|error| error.starts_with("--name: ")), "{text:?}");
            assert!(given("-", text).is_err_and(|error| error.starts_with("--override-version: ")), "{text:?}");
        }
    }
}
