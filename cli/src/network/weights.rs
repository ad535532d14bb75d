//! Where a network comes from, and how messages name it.

use super::builtin::BuiltIn;
use oncilla_nets::{Fault, NetError};
use std::fmt::{self, Display};
use std::path::PathBuf;

/// Where the network comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weights {
    /// From the program.
    BuiltIn(BuiltIn),
    /// From a file.
    File(PathBuf),
}

impl Weights {
    /// Whether another process that gets the same arguments, which are in UTF-8, reads the same network: a pipe gives
    /// it only once.
    pub fn is_there_again(&self) -> bool {
        match self {
            Self::BuiltIn(_) => true,
            Self::File(path) => path.to_str().is_some() && path.metadata().is_ok_and(|facts| facts.is_file()),
        }
    }

    /// The network's name: that of its file, without folders and what the name ends with.
    pub fn name(&self) -> String {
        let path = match self {
            Self::BuiltIn(network) => return network.name().to_string(),
            Self::File(path) => path,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.strip_suffix(".pb").unwrap_or(name).to_string()
    }
}

impl fmt::Display for Weights {
    /// Writes it as the user does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(network) => f.write_str(network.name()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A line about a network, with its name.
pub fn of_network(weights: &Weights, what: &dyn Display) -> String {
    match weights {
        Weights::BuiltIn(network) => format!("{}, which is built in: {what}", network.name()),
        Weights::File(path) => format!("{}: {what}", crate::text::shown(&path.to_string_lossy())),
    }
}

/// Why a network is not used, in one line with its name.
pub fn refusal(weights: &Weights, error: &NetError) -> String {
    match weights {
        // The file may well have been meant for Go, but that could not be seen: its bytes are gone once they have been
        // read.
        Weights::File(path) if error.fault == Fault::Go && !path.is_file() => {
            of_network(weights, &format!("{error}; one for Go is read more than once, and has to be a regular file"))
        }
        _ => of_network(weights, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_name_of_its_file() {
        let file = |path: &str| Weights::File(path.into()).name();
        assert_eq!(Weights::BuiltIn(BuiltIn::Small).name(), "small");
        for path in ["nets/maia-1500.pb.gz", "maia-1500.pb", "maia-1500.gz", "maia-1500"] {
            assert_eq!(file(path), "maia-1500");
        }
        assert_eq!(file("t1.256x10.pb.gz"), "t1.256x10");
    }
}
