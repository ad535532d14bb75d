//! File names, as users and GUIs write them.

use std::path::{Path, PathBuf, is_separator};

/// Removes a pair of double quotes around a name, which Windows' "Copy as path" adds, unless a file exists whose name
/// has them.
pub fn unquoted(name: &str) -> &str {
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).filter(|inner| !inner.contains('"'));
    inner.filter(|_| !Path::new(name).exists()).unwrap_or(name)
}

/// The path of a name: [without quotes](unquoted), and with the user's home folder for a `~` at the beginning, which a
/// shell replaces, but no GUI does.
pub fn path(name: &str) -> PathBuf {
    at_home(unquoted(name), std::env::home_dir())
}

/// A list of folders, separated as in `PATH`, each with its [`path`].
pub fn paths(names: &str) -> String {
    let folders = std::env::split_paths(unquoted(names)).map(|folder| path(&folder.to_string_lossy()));
    let joined = std::env::join_paths(folders).ok().and_then(|joined| joined.into_string().ok());
    joined.unwrap_or_else(|| unquoted(names).to_string())
}

fn at_home(name: &str, home: Option<PathBuf>) -> PathBuf {
    let within = name.strip_prefix('~').filter(|rest| rest.starts_with(is_separator));
    // Joined with a path from the root, the home folder would be lost.
    let within = within.map(|rest| rest.trim_start_matches(is_separator));
    within.zip(home).map_or_else(|| name.into(), |(within, home)| home.join(within))
}

/// The path of a file in the working directory, or else next to the program, because a GUI may start an engine in any
/// folder.
pub fn found(name: &str) -> PathBuf {
    let program = std::env::current_exe().ok();
    found_in(program.as_deref().and_then(Path::parent), name)
}

/// If there is no such file, the name stays unchanged, so that messages show it.
fn found_in(folder: Option<&Path>, name: &str) -> PathBuf {
    let beside = folder.map(|folder| folder.join(name)).filter(|beside| beside.is_file());
    beside.filter(|_| !Path::new(name).exists()).unwrap_or_else(|| path(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_a_name() {
        assert_eq!(unquoted("\"C:\\a b\\net.pb.gz\""), "C:\\a b\\net.pb.gz");
        for name in ["net", "\"net", "net\"", "\"", "", "\"a\";\"b\""] {
            assert_eq!(unquoted(name), name);
        }
        assert_eq!(unquoted("\"\""), "");
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let home = || Some(PathBuf::from("/home/me"));
        for name in ["~/nets/net.pb.gz", "~//nets/net.pb.gz"] {
            assert_eq!(at_home(name, home()), Path::new("/home/me/nets/net.pb.gz"));
        }
        for name in ["~", "~you/net", "a~/net", "./~/net", "/net", ""] {
            assert_eq!(at_home(name, home()), Path::new(name));
        }
        assert_eq!(at_home("~/net", None), Path::new("~/net"));
        let home = std::env::home_dir().expect("a home");
        assert_eq!(path("\"~/net\""), home.join("net"));
        let separator = if cfg!(windows) { ';' } else { ':' };
        let expected = format!("{}{separator}there", home.join("tables").display());
        assert_eq!(paths(&format!("~/tables{separator}there")), expected);
        assert_eq!(paths(""), "");
    }

    #[test]
    fn a_file_is_here_or_beside_the_program() {
        let folder = std::env::temp_dir().join(format!("oncilla-beside-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // Tests run in the package's folder.
        for name in ["net.pb.gz", "Cargo.toml"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let absolute = folder.join("net.pb.gz");
        let found = |name: &str| found_in(Some(&folder), name);
        assert_eq!(found("net.pb.gz"), absolute);
        assert_eq!(found("Cargo.toml"), Path::new("Cargo.toml"));
        assert_eq!(found("absent"), Path::new("absent"));
        assert_eq!(found(absolute.to_str().unwrap()), absolute);
        assert_eq!(found_in(None, "net.pb.gz"), Path::new("net.pb.gz"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
