//! Names of files, as people and GUIs write them.

use std::path::Path;

/// The name without a pair of double quotes around it, which Windows' "Copy as path" gives, unless there is something whose name has them.
pub fn unquoted(name: &str) -> &str {
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).filter(|inner| !inner.contains('"'));
    inner.filter(|_| !Path::new(name).exists()).unwrap_or(name)
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
}
