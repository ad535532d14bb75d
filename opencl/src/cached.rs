//! Reads files of the cache folder. What lies there may be anything: the folder is the user's.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The content of a regular file of at most `most_bytes`.
///
/// # Errors
/// It can't be read, it is larger, or it is no regular file: opening a pipe would wait for whoever writes into it.
pub(crate) fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "expected a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        let what = format!("expected a file of at most {most_bytes} bytes, got more");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::Folder;

    #[test]
    fn regular_files_up_to_a_size() {
        let folder = Folder::new("cached");
        fs::create_dir_all(&folder.0).unwrap();
        let file = folder.0.join("file");
        fs::write(&file, [1; 10]).unwrap();
        assert_eq!(read(&file, 10).unwrap(), [1; 10]);
        let why = |path: &Path, most| read(path, most).unwrap_err().kind();
        assert_eq!(why(&file, 9), io::ErrorKind::InvalidData);
        assert_eq!(why(&folder.0, 10), io::ErrorKind::InvalidData);
        assert_eq!(why(&folder.0.join("other"), 10), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_waited_for_and_nothing_endless_is_read() {
        assert_eq!(read(Path::new("/dev/zero"), 10).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let folder = Folder::new("cached-pipe");
        fs::create_dir_all(&folder.0).unwrap();
        let pipe = folder.0.join("pipe");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
            assert_eq!(read(&pipe, 10).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
