//! Files that are read at places, by several threads, and that are not all open at once.
//!
//! Mapped files would save the system calls. But a map of a file that is cut, or whose disk is gone, ends the program
//! with a signal, and safe code can't map a file at all. A probe costs a few reads from the page cache; the network's
//! answer, which it saves, costs far more.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::fault::Fault;

/// Files that are open at once, well below the 256 that some systems allow a program.
const MAX_OPEN: usize = 100;

type Handle = Arc<RwLock<Option<File>>>;

/// The handles that are open, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    queue: Mutex<VecDeque<Handle>>,
}

/// A file that is opened when it is read, and closed when too many others have been opened since.
#[derive(Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    len: u64,
    handle: Handle,
    open: Arc<OpenFiles>,
}

impl TableFile {
    /// `len` is what the folder said of the file; nothing is opened yet.
    pub fn new(path: PathBuf, len: u64, open: Arc<OpenFiles>) -> Self {
        Self { path, len, handle: Handle::default(), open }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `bytes` from `offset` on.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        if let Some(file) = &*self.handle.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(read_exact_at(file, offset, bytes)?);
        }
        self.open_and_read(offset, bytes)
    }

    /// One thread at a time opens files. It closes the oldest where there are too many.
    fn open_and_read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let mut queue = self.open.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*self.handle.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(read_exact_at(file, offset, bytes)?);
        }
        while queue.len() >= MAX_OPEN {
            if let Some(oldest) = queue.pop_front() {
                *oldest.write().unwrap_or_else(PoisonError::into_inner) = None;
            }
        }
        let file = File::open(&self.path)?;
        read_exact_at(&file, offset, bytes)?;
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Some(file);
        queue.push_back(self.handle.clone());
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, bytes: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> std::io::Result<()> {
    use std::io::ErrorKind;
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
compile_error!("tablebases are read at places of a file, which is known here for Unix and Windows only");

/// Reads a file from its beginning, piece by piece, never more than it has.
pub(crate) struct Reader<'a> {
    file: &'a TableFile,
    /// What was read of the file so far, from its first byte on.
    bytes: Vec<u8>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// How much is read at a time.
    const STEP: u64 = 4096;

    pub fn new(file: &'a TableFile) -> Self {
        Self { file, bytes: Vec::new(), at: 0 }
    }

    /// Offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at as u64
    }

    pub fn take(&mut self, count: usize) -> Result<&[u8], Fault> {
        let end = self.at + count;
        if end > self.bytes.len() {
            self.read_up_to(end as u64)?;
        }
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn read_up_to(&mut self, end: u64) -> Result<(), Fault> {
        if end > self.file.len() {
            return Err(Fault::Short);
        }
        let have = self.bytes.len();
        let want = end.next_multiple_of(Self::STEP).min(self.file.len());
        self.bytes.resize(want as usize, 0);
        self.file.read(have as u64, &mut self.bytes[have..])
    }

    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16, Fault> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    /// Goes to the next even offset.
    pub fn align(&mut self) -> Result<(), Fault> {
        self.take(self.at & 1).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_may_be_open_are_all_read() {
        let folder = std::env::temp_dir().join(format!("oncilla-syzygy-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let open = Arc::new(OpenFiles::default());
        let files: Vec<TableFile> = (0..2 * MAX_OPEN)
            .map(|i| {
                let path = folder.join(i.to_string());
                std::fs::write(&path, [i as u8; 64]).unwrap();
                TableFile::new(path, 64, open.clone())
            })
            .collect();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let files = &files;
                scope.spawn(move || {
                    for i in 0..6 * MAX_OPEN {
                        let file = (i * (thread + 1) * 7) % files.len();
                        let mut bytes = [0; 3];
                        files[file].read(61, &mut bytes).unwrap();
                        assert_eq!(bytes, [file as u8; 3]);
                        assert_eq!(files[file].read(62, &mut bytes), Err(Fault::Short));
                    }
                });
            }
        });
        assert!(open.queue.lock().unwrap().len() <= MAX_OPEN);
        let still_open = files.iter().filter(|file| file.handle.read().unwrap().is_some()).count();
        assert_eq!(still_open, open.queue.lock().unwrap().len());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
