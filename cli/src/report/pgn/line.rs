//! A line of a file, and the tags in it.

use std::cell::Cell;

/// A line without its end and the spaces before that. A line may contain thousands of games or of unreadable tags, so
/// the text that has been read is neither copied nor scanned again.
pub(super) struct Line {
    text: String,
    /// The start of the rest.
    at: usize,
    /// Whether a quoted value was found to have no end. Then no later value of the line has an end either, because the
    /// scan of the first value has also passed all starts of later ones.
    pub(super) has_no_end: Cell<bool>,
    /// Whether the line is too long, and its text has been left out.
    pub(super) is_too_long: bool,
}

impl Line {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), at: 0, has_no_end: Cell::new(false), is_too_long: false }
    }

    pub(super) fn too_long() -> Self {
        Self { is_too_long: true, ..Self::new("") }
    }

    /// The part of the line that has not been read.
    pub(super) fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The line without the first bytes of its rest; `None` if only spaces follow.
    pub(super) fn behind(self, bytes: usize) -> Option<Self> {
        let at = self.at + bytes;
        Some(Self { at, ..self }).filter(|line| line.is_too_long || !line.rest().trim_start().is_empty())
    }

    /// Reads the tag `[Name "value"]` at the start of a text at this line's end. Returns the tag and what follows.
    pub(super) fn tag<'l>(&self, text: &'l str) -> Option<((String, String), &'l str)> {
        let (name, behind) = named(text).filter(|_| !self.has_no_end.get())?;
        let found = value(behind);
        self.has_no_end.set(found.is_none());
        found.map(|(value, behind)| ((name.to_string(), value), behind))
    }
}

/// The name of the tag at the start of a text, and what follows the value's opening quote.
fn named(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('[')?.trim_start();
    let is_of_name = |c: char| c.is_alphanumeric() || "_+#=:-".contains(c);
    let (name, behind) = text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len()));
    let behind = behind.trim_start().strip_prefix('"')?;
    Some((name, behind)).filter(|_| !name.is_empty())
}

/// The value at the start of a text, and what follows its closing quote and bracket.
fn value(text: &str) -> Option<(String, &str)> {
    let mut chars = text.chars();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        match c {
            // Some programs do not escape quotes within a value, or a backslash at its end.
            '"' if let Some(behind) = rest.trim_start().strip_prefix(']') => return Some((value, behind)),
            // A backslash before another character is one that was not escaped, as in the name of a folder.
            '\\' if rest.starts_with(['"', '\\']) && rest != "\"]" => value.push(chars.next()?),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        /// The cached `has_no_end` does not change which tags are found.
        fn behind_a_value_without_an_end_there_is_no_other(choices: Vec<u8>) -> bool {
            let text: String = choices.iter().map(|choice| char::from(b"[[a\"\"\\] "[usize::from(choice % 8)])).collect();
            let line = Line::new(text);
            let places = line.rest().match_indices('[');
            places.map(|(at, _)| &line.rest()[at..]).all(|rest| line.tag(rest) == Line::new("").tag(rest))
        }
    }
}
