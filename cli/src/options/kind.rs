//! The types of options: what text they accept, how UCI shows them.

use std::fmt;

use super::meaning::Draft;

/// What an option does: set something, or nothing, and then why.
#[derive(Clone, Copy, Debug)]
pub enum Effect<F> {
    /// Takes the value into the draft of the settings.
    Sets(F),
    /// Accepted, so that scripts and GUIs made for Lc0 work as they stand; the reason why it does nothing here.
    Without(&'static str),
    /// Read before the settings are made, from the command line only; what to do instead of setting it later.
    AtStart(&'static str),
}

impl<F> Effect<F> {
    fn instead(&self) -> Option<&'static str> {
        match self {
            Effect::AtStart(instead) => Some(instead),
            Effect::Sets(_) | Effect::Without(_) => None,
        }
    }

    fn reason(&self) -> Option<&'static str> {
        match self {
            Effect::Sets(_) | Effect::AtStart(_) => None,
            Effect::Without(reason) => Some(reason),
        }
    }
}

/// Takes a number, a switch or a text; a text may turn out to have no meaning.
pub type SetInt = Effect<fn(&mut Draft, i64)>;
/// See [`SetInt`].
pub type SetFloat = Effect<fn(&mut Draft, f64)>;
/// See [`SetInt`].
pub type SetBool = Effect<fn(&mut Draft, bool)>;
/// See [`SetInt`].
pub type SetText = Effect<fn(&mut Draft, &str) -> Result<(), String>>;

/// Type, default and range of an option.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text {
        /// Value if none is given.
        default: &'static str,
        /// Its effect.
        effect: SetText,
    },
    /// A whole number.
    Int {
        /// Value if none is given.
        default: i64,
        /// Least value.
        min: i64,
        /// Largest value.
        max: i64,
        /// Its effect.
        effect: SetInt,
    },
    /// A number. UCI has no such type: it is shown as text, as Lc0 does.
    Float {
        /// Value if none is given.
        default: f64,
        /// Least value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Its effect.
        effect: SetFloat,
    },
    /// True or false.
    Bool {
        /// Value if none is given.
        default: bool,
        /// Its effect.
        effect: SetBool,
    },
    /// One of a few words.
    Choice {
        /// Value if none is given.
        default: &'static str,
        /// The words.
        of: &'static [&'static str],
        /// Words that are taken and not listed.
        also: &'static [&'static str],
        /// Its effect.
        effect: SetText,
    },
    /// No value: something happens when it is set.
    Button,
}

/// A value that fits its option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`] or [`Kind::Choice`].
    Text(String),
    /// Of [`Kind::Int`].
    Int(i64),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Bool`].
    Bool(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:.6}"),
            Value::Bool(on) => write!(f, "{on}"),
        }
    }
}

/// A value that an option does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The text is not of the option's type or out of its range.
    Unfit {
        /// The option as the user wrote it.
        option: String,
        /// What it accepts.
        expected: String,
        /// What came instead; `None` for nothing at all.
        got: Option<String>,
    },
    /// The text is of the right type and means nothing.
    Meaningless {
        /// The option as the user wrote it.
        option: String,
        /// What was expected, what came, and where.
        reason: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit { option, expected, got: Some(got) } => {
                write!(f, "{option}: expected {expected}, got {}", crate::text::quoted(got))
            }
            Self::Unfit { option, expected, got: None } => write!(f, "{option}: expected {expected}, got nothing"),
            Self::Meaningless { option, reason } => write!(f, "{option}: {reason}"),
        }
    }
}

impl std::error::Error for OptionError {}

impl Kind {
    /// Reads a value.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = match *self {
            Kind::Text { .. } => Some(Value::Text(text.to_string())),
            Kind::Int { min, max, .. } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Int)
            }
            Kind::Float { min, max, .. } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Float)
            }
            Kind::Bool { .. } => {
                let means = |on: bool| text.eq_ignore_ascii_case(if on { "true" } else { "false" });
                [false, true].into_iter().find(|&on| means(on)).map(Value::Bool)
            }
            Kind::Choice { of, also, .. } => of
                .iter()
                .chain(also)
                .find(|word| word.eq_ignore_ascii_case(text))
                .map(|word| Value::Text(word.to_string())),
            Kind::Button => None,
        };
        value.ok_or_else(|| self.expected())
    }

    /// What is accepted, in words.
    pub fn expected(&self) -> String {
        match *self {
            Kind::Text { .. } => "a text".to_string(),
            Kind::Int { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Bool { .. } => "true or false".to_string(),
            Kind::Choice { of, .. } => format!("one of {}", of.join(", ")),
            Kind::Button => "no value".to_string(),
        }
    }

    /// The value if none is given. A button has none.
    pub fn default(&self) -> Option<Value> {
        match *self {
            Kind::Text { default, .. } | Kind::Choice { default, .. } => Some(Value::Text(default.to_string())),
            Kind::Int { default, .. } => Some(Value::Int(default)),
            Kind::Float { default, .. } => Some(Value::Float(default)),
            Kind::Bool { default, .. } => Some(Value::Bool(default)),
            Kind::Button => None,
        }
    }

    /// Why the option does nothing here; `None` if it does something.
    pub fn without_effect(&self) -> Option<&'static str> {
        match self {
            Kind::Text { effect, .. } | Kind::Choice { effect, .. } => effect.reason(),
            Kind::Int { effect, .. } => effect.reason(),
            Kind::Float { effect, .. } => effect.reason(),
            Kind::Bool { effect, .. } => effect.reason(),
            Kind::Button => None,
        }
    }

    /// What to do instead, where a value that comes after the start is too late.
    pub fn only_at_start(&self) -> Option<&'static str> {
        match self {
            Kind::Text { effect, .. } | Kind::Choice { effect, .. } => effect.instead(),
            Kind::Int { effect, .. } => effect.instead(),
            Kind::Float { effect, .. } => effect.instead(),
            Kind::Bool { effect, .. } => effect.instead(),
            Kind::Button => None,
        }
    }

    /// Hands a value to the draft of the settings.
    ///
    /// # Errors
    /// A text that has no meaning.
    pub fn apply(&self, draft: &mut Draft, value: &Value) -> Result<(), String> {
        match (self, value) {
            (
                Kind::Text { effect: Effect::Sets(set), .. } | Kind::Choice { effect: Effect::Sets(set), .. },
                Value::Text(text),
            ) => set(draft, text)?,
            (Kind::Int { effect: Effect::Sets(set), .. }, Value::Int(number)) => set(draft, *number),
            (Kind::Float { effect: Effect::Sets(set), .. }, Value::Float(number)) => set(draft, *number),
            (Kind::Bool { effect: Effect::Sets(set), .. }, Value::Bool(on)) => set(draft, *on),
            _ => {}
        }
        Ok(())
    }

    /// What follows `option name …` in UCI of an option that has this value. An empty text leaves a trailing space, as
    /// Lc0 prints it.
    pub fn uci(&self, value: Option<&Value>) -> String {
        let value = value.map(Value::to_string).unwrap_or_default();
        match *self {
            Kind::Text { .. } | Kind::Float { .. } => format!("type string default {value}"),
            Kind::Int { min, max, .. } => format!("type spin default {value} min {min} max {max}"),
            Kind::Bool { .. } => format!("type check default {value}"),
            Kind::Choice { of, .. } => {
                let words: String = of.iter().map(|word| format!(" var {word}")).collect();
                format!("type combo default {value}{words}")
            }
            Kind::Button => "type button".to_string(),
        }
    }
}
