//! The syntax of lists within an option: `smooth(init-nps=5000, mle-legacy(midpoint=50))`, `gpu=1,threads=2`.
//!
//! ```text
//! list := [ item { "," item } [ "," ] ]                        at most 64 items
//! item := name "=" value | name [ "(" list ")" ] | "(" list ")"
//! name := word | quoted
//! ```
//!
//! A word starts with a letter, a digit or `/` and continues with these and `_ - .`; a quoted text is enclosed in `'`
//! or `"` and has no escapes. A value that starts with a digit, `-` or `.` is a number; `true` and `false` are
//! switches. `x` and `x()` are the same, and lists without a name are called `[0]`, `[1]`, …. Spaces are ignored. This
//! is the syntax of Lc0's options, except that numbers have only one type: `12` is the same as `12.0`.

use std::fmt;

/// The deepest nesting of lists. No option needs more, and untrusted text must not overflow the stack.
const DEEPEST: usize = 8;

/// The largest number of items in a list. No option needs more, and each item is compared with all before it.
const MOST_ITEMS: usize = 64;

/// A list of named items, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// At most 64 items; no two of them are lists of the same name.
    pub items: Vec<Item>,
}

/// A named value or a named list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The text before `=` or `(`.
    pub name: String,
    /// The position of the item, in bytes from the start of the text.
    pub offset: usize,
    /// The value or the list.
    pub content: Content,
}

/// The content of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Switch(bool),
    /// A word or a quoted text.
    Text(String),
    /// A list.
    List(List),
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Number(number) => write!(f, "{number}"),
            Content::Switch(on) => write!(f, "{on}"),
            Content::Text(text) => write!(f, "{}", crate::text::quoted(text)),
            Content::List(_) => write!(f, "a list"),
        }
    }
}

/// An error in a text, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubOptionError {
    /// The position in bytes from the start of the text.
    pub offset: usize,
    /// What was expected there.
    pub expected: String,
    /// What was found there.
    pub got: String,
}

impl fmt::Display for SubOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: expected {}, got {}", self.offset, self.expected, self.got)
    }
}

impl std::error::Error for SubOptionError {}

/// Parses a text in the syntax of this module.
///
/// # Errors
/// The first position that does not fit, and what was expected there.
pub fn parse(text: &str) -> Result<List, SubOptionError> {
    let mut reader = Reader { text, offset: 0 };
    let list = reader.list(0)?;
    match reader.peek() {
        None => Ok(list),
        Some(_) => Err(reader.refuse("a comma or the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Reader<'t> {
    /// Skips spaces and returns the character behind them.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.offset..];
        self.offset += rest.len() - rest.trim_start().len();
        self.text[self.offset..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.offset += wanted.len_utf8();
        }
        found
    }

    fn refuse(&mut self, expected: &str) -> SubOptionError {
        let got = match self.peek() {
            None => "the end".to_string(),
            Some(c) => format!("{c:?}"),
        };
        SubOptionError { offset: self.offset, expected: expected.to_string(), got }
    }

    fn list(&mut self, depth: usize) -> Result<List, SubOptionError> {
        let mut list = List::default();
        let mut anonymous = 0;
        while !matches!(self.peek(), None | Some(')')) {
            if list.items.len() == MOST_ITEMS {
                let expected = format!("at most {MOST_ITEMS} items in a list");
                return Err(SubOptionError { offset: self.offset, expected, got: "more".to_string() });
            }
            let item = self.item(depth, &mut anonymous)?;
            let is_list = |item: &Item| matches!(item.content, Content::List(_));
            if is_list(&item) && list.items.iter().any(|other| is_list(other) && other.name == item.name) {
                let expected = "another name for a second list".to_string();
                return Err(SubOptionError { offset: item.offset, expected, got: crate::text::quoted(&item.name) });
            }
            list.items.push(item);
            if !self.take(',') {
                break;
            }
        }
        Ok(list)
    }

    fn item(&mut self, depth: usize, anonymous: &mut usize) -> Result<Item, SubOptionError> {
        let is_anonymous = self.peek() == Some('(');
        let offset = self.offset;
        let name = if is_anonymous {
            *anonymous += 1;
            format!("[{}]", *anonymous - 1)
        } else {
            self.name()?
        };
        let content = if !is_anonymous && self.take('=') {
            self.value()?
        } else if self.take('(') {
            if depth == DEEPEST {
                return Err(self.refuse("no more than eight lists within each other"));
            }
            let list = self.list(depth + 1)?;
            if !self.take(')') {
                return Err(self.refuse("a comma or )"));
            }
            Content::List(list)
        } else {
            Content::List(List::default())
        };
        Ok(Item { name, offset, content })
    }

    fn name(&mut self) -> Result<String, SubOptionError> {
        match self.peek() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some(c) if c.is_ascii_alphanumeric() || c == '/' => Ok(self.word(is_word).to_string()),
            _ => Err(self.refuse("a name")),
        }
    }

    fn value(&mut self) -> Result<Content, SubOptionError> {
        match self.peek() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote).map(Content::Text),
            Some('0'..='9' | '-' | '.') => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '/' => Ok(match self.word(is_word) {
                "true" => Content::Switch(true),
                "false" => Content::Switch(false),
                word => Content::Text(word.to_string()),
            }),
            _ => Err(self.refuse("a value")),
        }
    }

    fn number(&mut self) -> Result<Content, SubOptionError> {
        let offset = self.offset;
        let text = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok(Content::Number(number)),
            _ => {
                let got = crate::text::quoted(text);
                Err(SubOptionError { offset, expected: "a number".to_string(), got })
            }
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.offset..];
        let word = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.offset += word.len();
        word
    }

    fn quoted(&mut self, quote: char) -> Result<String, SubOptionError> {
        self.offset += 1;
        let rest = &self.text[self.offset..];
        let Some(end) = rest.find(quote) else {
            self.offset = self.text.len();
            return Err(self.refuse(&format!("a closing {quote}")));
        };
        self.offset += end + 1;
        Ok(rest[..end].to_string())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    /// Formats a list in a canonical form.
    fn plain(list: &List) -> String {
        let item = |item: &Item| match &item.content {
            Content::List(inner) => format!("{}({})", item.name, plain(inner)),
            content => format!("{}={content}", item.name),
        };
        list.items.iter().map(item).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_grammar() {
        for (text, expected) in [
            ("", ""),
            ("  ", ""),
            ("smooth", "smooth()"),
            ("smooth()", "smooth()"),
            (
                "smooth( init-nps = 12345 , mle-legacy(midpoint=50.5,),)",
                "smooth(init-nps=12345,mle-legacy(midpoint=50.5))",
            ),
            ("gpu=1,threads=2,(a=true),(b=false)", "gpu=1,threads=2,[0](a=true),[1](b=false)"),
            ("device='NVIDIA \"H\"',w=/net/x_1.pb", "device=\"NVIDIA \\\"H\\\"\",w=\"/net/x_1.pb\""),
            ("x=-1.5e-3,y=.5", "x=-0.0015,y=0.5"),
            ("'two words'=1", "two words=1"),
        ] {
            assert_eq!(parse(text).map(|list| plain(&list)).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(error("smooth("), "at offset 7: expected a comma or ), got the end");
        assert_eq!(error("smooth(init-nps=)"), "at offset 16: expected a value, got ')'");
        assert_eq!(error("smooth)"), "at offset 6: expected a comma or the end, got ')'");
        assert_eq!(error("smooth(a=1 b=2)"), "at offset 11: expected a comma or ), got 'b'");
        assert_eq!(error("=1"), "at offset 0: expected a name, got '='");
        assert_eq!(error("a=1x"), "at offset 2: expected a number, got \"1x\"");
        assert_eq!(error("a='x"), "at offset 4: expected a closing ', got the end");
        assert_eq!(error("a(),a"), "at offset 4: expected another name for a second list, got \"a\"");
        assert_eq!(error("a=1e999"), "at offset 2: expected a number, got \"1e999\"");
    }

    #[test]
    fn items_of_a_list_are_bounded() {
        let words = |count| (0..count).map(|n| format!("x{n},")).collect::<String>();
        assert_eq!(parse(&words(64)).map(|list| list.items.len()), Ok(64));
        assert_eq!(parse(&format!("{}a({})", words(63), words(64))).map(|list| list.items.len()), Ok(64));
        assert_eq!(error(&words(65)), "at offset 246: expected at most 64 items in a list, got more");
        assert_eq!(error(&format!("a({})", words(65))), "at offset 248: expected at most 64 items in a list, got more");
        assert!(error(&"a=1,".repeat(250_000)).contains("at most 64 items"));
        assert!(error(&"(),".repeat(250_000)).contains("at most 64 items"));
    }

    #[test]
    fn depth_is_bounded() {
        assert!(parse(&format!("{}{}", "(".repeat(8), ")".repeat(8))).is_ok());
        assert!(error(&"(".repeat(1_000_000)).contains("no more than eight lists"));
    }
}
