//! The networks that the program holds.

/// A network in the program; fixtures/nets/README.md says how it was made and how good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// The network that plays if the user names none.
    Small,
    /// The network for boards on which the other one is too slow.
    Tiny,
}

impl BuiltIn {
    /// All built-in networks.
    pub const ALL: [Self; 2] = [Self::Small, Self::Tiny];

    /// The name by which the user calls the network.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Tiny => "tiny",
        }
    }

    /// The network of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name() == name)
    }

    /// The network file.
    pub fn file(self) -> &'static [u8] {
        match self {
            Self::Small => include_bytes!("../../../fixtures/nets/default.pb.gz"),
            Self::Tiny => include_bytes!("../../../fixtures/nets/tiny.pb.gz"),
        }
    }
}
