//! Variations and comments as texts.

/// A variation that is being read.
pub(super) struct Variation {
    /// Its text so far, without the outer parentheses.
    pub(super) text: String,
    /// The number of parentheses that are open, with the outer one.
    depth: usize,
    pub(super) in_comment: bool,
}

impl Variation {
    pub(super) fn new() -> Self {
        Self { text: String::new(), depth: 1, in_comment: false }
    }

    /// Reads a part of the text. Returns its length in bytes, and whether the variation ends with it.
    pub(super) fn read(&mut self, rest: &str) -> (usize, bool) {
        match self.in_comment {
            true => (self.read_comment(rest), false),
            false => self.read_moves(rest),
        }
    }

    fn read_comment(&mut self, rest: &str) -> usize {
        let (inside, length, is_over) = until(rest, '}');
        self.text.push_str(inside);
        if is_over {
            self.text.push('}');
            self.in_comment = false;
        }
        length
    }

    fn read_moves(&mut self, rest: &str) -> (usize, bool) {
        let Some(at) = rest.find(['{', '(', ')', ';']) else {
            self.text.push_str(rest);
            return (rest.len(), false);
        };
        self.text.push_str(&rest[..at]);
        match &rest[at..=at] {
            ";" => {
                self.text.push_str(&format!("{{{}}}", to_the_end(&rest[at..])));
                return (rest.len(), false);
            }
            ")" if self.depth == 1 => return (at + 1, true),
            ")" => self.depth -= 1,
            "(" => self.depth += 1,
            _ => self.in_comment = true,
        }
        self.text.push_str(&rest[at..=at]);
        (at + 1, false)
    }
}

/// The comment at the start of a text that begins with `;`. A comment in braces, as which it is kept, can't contain
/// their end.
pub(super) fn to_the_end(text: &str) -> String {
    text[1..].replace('}', ")").trim().to_string()
}

/// The text before `end`, its length including `end`, and whether `end` was found.
pub(super) fn until(text: &str, end: char) -> (&str, usize, bool) {
    match text.find(end) {
        Some(at) => (&text[..at], at + end.len_utf8(), true),
        None => (text, text.len(), false),
    }
}
