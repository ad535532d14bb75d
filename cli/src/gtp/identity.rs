//! What the program calls itself. Some user interfaces send KataGo's commands only to a program of that name.

use std::str::FromStr;

/// The answers to `name` and `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: "Oncilla".to_string(), version: env!("CARGO_PKG_VERSION").to_string() }
    }
}

impl FromStr for Identity {
    type Err = String;

    /// Reads a name, which a slash and a version may follow.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = text.split_once('/').map_or((text, None), |(name, version)| (name, Some(version)));
        let is_word = |text: &str| !text.trim().is_empty() && !text.contains(char::is_control);
        if !is_word(name) || !version.is_none_or(is_word) {
            return Err(format!("expected NAME or NAME/VERSION, got {}", crate::text::quoted(text)));
        }
        let own = Self::default();
        Ok(Self { name: name.to_string(), version: version.map_or(own.version, str::to_string) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_perhaps_a_version() {
        let read = |text: &str| text.parse::<Identity>().map(|read| (read.name, read.version));
        let own = env!("CARGO_PKG_VERSION").to_string();
        assert_eq!(read("KataGo"), Ok(("KataGo".to_string(), own)));
        assert_eq!(read("KataGo/1.16.3"), Ok(("KataGo".to_string(), "1.16.3".to_string())));
        for text in ["", " ", "/1", "KataGo/", "two\nlines", "KataGo/1\n\n= 2"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
