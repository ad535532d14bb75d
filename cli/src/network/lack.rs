//! Why there is no evaluator.

/// A part that an evaluator is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The network, with its heads.
    Network,
    /// The hints for the network.
    Hints,
    /// The backend that runs the network.
    Backend,
}

/// Why there is no evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What can't be had.
    pub part: Part,
    /// One line, such as: no such file, not a network, no device.
    pub why: String,
}

impl Lack {
    /// Returns a function that makes a [`Lack`] of this part of a line that says why.
    pub fn of(part: Part) -> impl FnOnce(String) -> Self {
        move |why| Self { part, why }
    }
}

impl From<Lack> for String {
    fn from(lack: Lack) -> Self {
        lack.why
    }
}
