//! The types of options: which texts they accept, and how UCI lists them.

use std::fmt;

use super::meaning::Draft;

/// The effect of an option, or the reason why it has none.
#[derive(Clone, Copy, Debug)]
pub enum Effect<F> {
    /// The value is written into the draft of the settings.
    Sets(F),
    /// The option is accepted, so that scripts and GUIs made for Lc0 work unchanged, but has no effect, for this
    /// reason.
    Without(&'static str),
    /// The option is read before the settings are made, from the command line only. The text says what to do instead of
    /// setting it later.
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

/// The effect of an integer option.
pub type SetInt = Effect<fn(&mut Draft, i64)>;
/// The effect of a number option.
pub type SetFloat = Effect<fn(&mut Draft, f64)>;
/// The effect of a switch.
pub type SetBool = Effect<fn(&mut Draft, bool)>;
/// The effect of a text option, which may refuse an invalid text.
pub type SetText = Effect<fn(&mut Draft, &str) -> Result<(), String>>;

/// The type, default and range of an option.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text {
        /// The value if none is set.
        default: &'static str,
        /// Its effect.
        effect: SetText,
    },
    /// An integer.
    Int {
        /// The value if none is set.
        default: i64,
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
        /// Its effect.
        effect: SetInt,
    },
    /// A number. UCI has no such type, so it is listed as a string, as in Lc0.
    Float {
        /// The value if none is set.
        default: f64,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// Its effect.
        effect: SetFloat,
    },
    /// True or false.
    Bool {
        /// The value if none is set.
        default: bool,
        /// Its effect.
        effect: SetBool,
    },
    /// One of a few words.
    Choice {
        /// The value if none is set.
        default: &'static str,
        /// The words.
        of: &'static [&'static str],
        /// Words that are accepted, but not listed.
        also: &'static [&'static str],
        /// Its effect.
        effect: SetText,
    },
    /// A button: no value, but an action when it is set.
    Button,
}

/// A value that fits its option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a [`Kind::Text`] or [`Kind::Choice`].
    Text(String),
    /// The value of a [`Kind::Int`].
    Int(i64),
    /// The value of a [`Kind::Float`].
    Float(f64),
    /// The value of a [`Kind::Bool`].
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
    /// The text is not of the option's type, or out of its range.
    Unfit {
        /// The option as the user wrote it.
        option: String,
        /// The texts that it accepts.
        expected: String,
        /// What was found; `None` if there was no value.
        got: Option<String>,
    },
    /// The text is of the right type, but invalid.
    Meaningless {
        /// The option as the user wrote it.
        option: String,
        /// What was expected, what was found, and where.
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
    /// Parses a value.
    ///
    /// # Errors
    /// A description of the texts that are accepted.
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

    /// A description of the texts that are accepted.
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

    /// The value if none is set. A button has none.
    pub fn default(&self) -> Option<Value> {
        match *self {
            Kind::Text { default, .. } | Kind::Choice { default, .. } => Some(Value::Text(default.to_string())),
            Kind::Int { default, .. } => Some(Value::Int(default)),
            Kind::Float { default, .. } => Some(Value::Float(default)),
            Kind::Bool { default, .. } => Some(Value::Bool(default)),
            Kind::Button => None,
        }
    }

    /// Why the option has no effect; `None` if it has one.
    pub fn without_effect(&self) -> Option<&'static str> {
        match self {
            Kind::Text { effect, .. } | Kind::Choice { effect, .. } => effect.reason(),
            Kind::Int { effect, .. } => effect.reason(),
            Kind::Float { effect, .. } => effect.reason(),
            Kind::Bool { effect, .. } => effect.reason(),
            Kind::Button => None,
        }
    }

    /// For an option that is read at the start only: what to do instead of setting it later.
    pub fn only_at_start(&self) -> Option<&'static str> {
        match self {
            Kind::Text { effect, .. } | Kind::Choice { effect, .. } => effect.instead(),
            Kind::Int { effect, .. } => effect.instead(),
            Kind::Float { effect, .. } => effect.instead(),
            Kind::Bool { effect, .. } => effect.instead(),
            Kind::Button => None,
        }
    }

    /// Writes a value into the draft of the settings.
    ///
    /// # Errors
    /// The text is invalid.
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

    /// The text after `option name …` in UCI for an option with this value. An empty text leaves a trailing space, as
    /// in Lc0's output.
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
