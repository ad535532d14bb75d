//! Files that several threads read at any offset, and that are not all open at once.
//!
//! Mapped files would save the system calls. But a map of a file that is cut, or whose disk is gone, ends the program
//! with a signal, and safe code can't map a file at all. A probe costs a few reads from the system's cache; the
//! network's answer, which it saves, costs far more. Small files are kept in memory and need no reads.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::fault::Fault;

/// How many files are open at once, at most: well below the 256 that some systems allow a program.
const MAX_OPEN: usize = 100;

/// Files up to this length are kept in memory once they are needed: all tables of four pieces are.
const MAX_KEPT: u64 = 1 << 20;

/// The most memory that kept files take together.
const MAX_KEPT_TOGETHER: u64 = 64 << 20;

type Handle = Arc<RwLock<Option<File>>>;

/// What the files of all tables share.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    /// The handles that are open, the oldest first.
    queue: Mutex<VecDeque<Handle>>,
    /// Bytes that may still be kept in memory.
    room: AtomicU64,
}

impl Default for OpenFiles {
    fn default() -> Self {
        Self::with_room(MAX_KEPT_TOGETHER)
    }
}

impl OpenFiles {
    /// At most `room` bytes of files are kept in memory.
    pub fn with_room(room: u64) -> Self {
        Self { queue: Mutex::default(), room: room.into() }
    }
}

/// A file that is opened when it is read, and closed when too many others have been opened since.
#[derive(Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    len: u64,
    kept: OnceLock<Vec<u8>>,
    handle: Handle,
    open: Arc<OpenFiles>,
}

impl TableFile {
    /// `len` is the length that the folder lists for the file; nothing is opened yet.
    pub fn new(path: PathBuf, len: u64, open: Arc<OpenFiles>) -> Self {
        Self { path, len, kept: OnceLock::new(), handle: Handle::default(), open }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Takes the file into memory if it is small and there is room.
    pub fn keep_if_small(&self) -> Result<(), Fault> {
        if self.len > MAX_KEPT || self.kept.get().is_some() {
            return Ok(());
        }
        let less = |room: u64| room.checked_sub(self.len);
        if self.open.room.fetch_update(Relaxed, Relaxed, less).is_err() {
            return Ok(());
        }
        let mut bytes = vec![0; self.len as usize];
        let read = File::open(&self.path).and_then(|file| read_exact_at(&file, 0, &mut bytes));
        if read.is_err() || self.kept.set(bytes).is_err() {
            self.open.room.fetch_add(self.len, Relaxed);
        }
        Ok(read?)
    }

    /// Fills `bytes` from the file, from `offset` on.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        if let Some(kept) = self.kept.get() {
            let from = usize::try_from(offset).ok().and_then(|offset| kept.get(offset..)).ok_or(Fault::Short)?;
            bytes.copy_from_slice(from.get(..bytes.len()).ok_or(Fault::Short)?);
            return Ok(());
        }
        if let Some(file) = &*self.handle.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(read_exact_at(file, offset, bytes)?);
        }
        self.open_and_read(offset, bytes)
    }

    /// Opens the file and reads from it. One thread at a time opens files; it closes the oldest if there are too many.
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

/// Reads a file from its beginning, piece by piece, but never beyond its end.
pub(crate) struct Reader<'a> {
    file: &'a TableFile,
    /// What was read of the file so far, from its first byte.
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

    /// Moves on to the next even offset.
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
        // Windows removes no file that is open.
        drop((files, open));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
