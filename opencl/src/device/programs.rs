//! Compiled programs in files, so that a later start does not have to compile them again.
//!
//! ```text
//! oncilla program 1
//! device: Mali-G610 r0p0
//! …
//! options: -DLANES=64 …
//! text: 54a1…
//! bytes: 40312 sum: 97fe…
//! <the driver's own bytes>
//! ```
//!
//! A file holds for one device with one driver, one text and one set of compiler options; it is named after a hash of
//! these and contains them, the text by its hash. A program whose file can't be read, belongs to something else or is
//! damaged is compiled again: a driver must not be given half a binary. If the folder can't be written, that costs the
//! time of compiling and nothing else.
//!
//! A file may also be whole and make a program that does not work. If a device fails when it is opened, the programs that
//! came from files are removed, and compiled from their texts once more ([`Programs::renew`]). If it fails all the same,
//! they were not the reason; the last line of their heads then ends with `cleared`, and they are kept.
//!
//! New drivers and new versions of the kernels leave files behind that are never used again. So the folder is limited
//! to `MOST_BYTES`: the least recently used files are removed first.

use super::Device;
use crate::cached;
use fnv::FnvHasher;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many bytes a folder of compiled programs may hold. A network's programs take less than a hundredth of that on
/// PoCL.
const MOST_BYTES: u64 = 256 << 20;

/// How the last line of a head ends if the program was compiled again after a fault, which did not help.
const CLEARED: &str = " cleared";

/// A folder of compiled programs.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    most_bytes: u64,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    note: Option<String>,
    /// True if nothing more is written.
    is_unwritable: bool,
    /// What came from files, and is not cleared.
    loaded: Vec<ProgramKey>,
    /// What came from files before a fault, and was not compiled since.
    doubted: Vec<ProgramKey>,
    /// What was compiled since then.
    renewed: Vec<ProgramKey>,
}

/// Everything that a compiled program depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramKey {
    head: String,
}

impl ProgramKey {
    /// The key of a text that is compiled with `options` for a device.
    pub fn new(device: &Device, source: &str, options: &str) -> Self {
        let Device { name, vendor, driver, platform, version, compute_units, .. } = device;
        let text = hash(source.as_bytes());
        Self {
            head: format!(
                "oncilla program 1\ndevice: {name}\nvendor: {vendor}\ndriver: {driver}\nplatform: {platform}\n\
                 version: {version}\nunits: {compute_units}\nbits: {bits}\noptions: {options}\ntext: {text:016x}\n",
                // Drivers for programs of 32 and of 64 bits may share all of their names.
                bits = usize::BITS,
            ),
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(bytes);
    hash.finish()
}

impl Programs {
    /// The programs in the folder `programs` of a cache folder. It is created when the first program is stored.
    pub fn new(cache: &Path) -> Self {
        Self { folder: cache.join("programs"), most_bytes: MOST_BYTES, said: Mutex::default() }
    }

    /// The file of a program.
    pub fn path(&self, key: &ProgramKey) -> PathBuf {
        self.folder.join(format!("{:016x}.bin", hash(key.head.as_bytes())))
    }

    /// The driver's bytes, if they were stored and are complete.
    pub fn load(&self, key: &ProgramKey) -> Option<Vec<u8>> {
        if self.said().doubted.contains(key) {
            return None;
        }
        let path = self.path(key);
        let found = match read(&path) {
            Ok(bytes) => unpack(key, bytes).ok_or_else(|| "it is damaged".to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Err(error.to_string()),
        };
        let found =
            found.map_err(|why| self.note(format!("compiled programs: {}: {why}; compiled again", path.display())));
        let (binary, is_cleared) = found.ok()?;
        let mut said = self.said();
        if !is_cleared && !said.renewed.contains(key) {
            said.loaded.push(key.clone());
        }
        Some(binary)
    }

    /// After a fault: removes the files that programs came from, which are compiled again then. Returns false if there
    /// are none; those that were removed after an earlier fault are cleared.
    pub fn renew(&self, fault: &str) -> bool {
        let (loaded, renewed) = {
            let mut said = self.said();
            (std::mem::take(&mut said.loaded), std::mem::take(&mut said.renewed))
        };
        renewed.iter().for_each(|key| self.clear(key));
        if loaded.is_empty() {
            return false;
        }
        let (count, folder) = (loaded.len(), self.folder.display());
        self.note(format!(
            "compiled programs: {count} in {folder}: the device fails with them ({fault}); compiled again"
        ));
        for key in loaded {
            // A file that can't be removed is not read again, and replaced by the next program of its key.
            let _ = fs::remove_file(self.path(&key));
            self.said().doubted.push(key);
        }
        true
    }

    /// Records in its file that a program is not the reason for a fault.
    fn clear(&self, key: &ProgramKey) {
        let path = self.path(key);
        // Where the file can't be read or written, the program is compiled again after the next start's fault, too.
        if let Some((binary, false)) = read(&path).ok().and_then(|bytes| unpack(key, bytes)) {
            let _ = write(&path, &pack(key, &binary, true));
        }
    }

    /// Stores the driver's bytes; removes others if the folder would hold too much.
    pub fn keep(&self, key: &ProgramKey, binary: &[u8]) {
        if self.said().is_unwritable {
            return;
        }
        {
            let mut said = self.said();
            if let Some(at) = said.doubted.iter().position(|doubted| doubted == key) {
                let key = said.doubted.swap_remove(at);
                said.renewed.push(key);
            }
        }
        let path = self.path(key);
        if let Err(error) = write(&path, &pack(key, binary, false)) {
            self.said().is_unwritable = true;
            self.note(format!("compiled programs: {}: {error}; they are not kept", path.display()));
            return;
        }
        // A file that can't be listed or removed stays: it may be removed another time.
        let _ = self.prune(&path);
    }

    /// Removes files, the least recently used first, until the rest is within the limit; `newest` stays.
    fn prune(&self, newest: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let facts = entry.metadata()?;
            if facts.is_file() {
                let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push((entry.path() == newest, used, facts.len(), entry.path()));
            }
        }
        files.sort();
        let mut held: u64 = files.iter().map(|(.., len, _)| len).sum();
        for (is_newest, _, len, path) in files {
            if held <= self.most_bytes || is_newest {
                break;
            }
            fs::remove_file(path)?;
            held -= len;
        }
        Ok(())
    }

    /// Records that the driver does not accept what it once returned. The next [`Programs::keep`] replaces it.
    pub fn refuse(&self, key: &ProgramKey) {
        self.note(format!("compiled programs: {}: the driver refuses it; compiled again", self.path(key).display()));
    }

    /// The first thing that went wrong, if anything did; it is returned once.
    pub fn take_note(&self) -> Option<String> {
        self.said().note.take()
    }

    fn note(&self, note: String) {
        self.said().note.get_or_insert(note);
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pack(key: &ProgramKey, binary: &[u8], is_cleared: bool) -> Vec<u8> {
    let cleared = if is_cleared { CLEARED } else { "" };
    let mut bytes = format!("{}bytes: {} sum: {:016x}{cleared}\n", key.head, binary.len(), hash(binary)).into_bytes();
    bytes.extend_from_slice(binary);
    bytes
}

/// The binary, and whether it is cleared; `None` if the file is another key's or damaged.
fn unpack(key: &ProgramKey, mut bytes: Vec<u8>) -> Option<(Vec<u8>, bool)> {
    let rest = bytes.strip_prefix(key.head.as_bytes())?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let binary = &rest[end + 1..];
    let line = format!("bytes: {} sum: {:016x}", binary.len(), hash(binary));
    let is_cleared = rest[..end].ends_with(CLEARED.as_bytes());
    let is_whole = !binary.is_empty()
        && rest[..end].strip_suffix(if is_cleared { CLEARED.as_bytes() } else { b"" }) == Some(line.as_bytes());
    let start = bytes.len() - binary.len();
    is_whole.then(|| (bytes.split_off(start), is_cleared))
}

/// Reads a file, and marks it as used now.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = cached::read(path, MOST_BYTES)?;
    // A cache that can be read but not written is useful, too.
    let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    Ok(bytes)
}

/// Writes a file so that a concurrent reader sees either the old content or the new.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
impl Programs {
    /// Stores the programs of another folder, each for the key that has `to` where its own has `from`.
    pub fn pass_off(&self, other: &Self, from: &str, to: &str) {
        for file in fs::read_dir(&other.folder).expect("a folder") {
            let bytes = fs::read(file.expect("a file").path()).expect("it can be read");
            let at = bytes.windows(7).position(|part| part == b"\nbytes:").expect("a head") + 1;
            let head = String::from_utf8(bytes[..at].to_vec()).expect("a text");
            let (binary, _) = unpack(&ProgramKey { head: head.clone() }, bytes).expect("it is whole");
            self.keep(&ProgramKey { head: head.replace(from, to) }, &binary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::Folder;

    fn key(options: &str) -> ProgramKey {
        ProgramKey { head: format!("oncilla program 1\noptions: {options}\n") }
    }

    #[test]
    fn what_was_kept_is_there_the_next_time() {
        let folder = Folder::new("programs-kept");
        let programs = Programs::new(&folder.0);
        assert_eq!(programs.load(&key("-DA")), None);
        programs.keep(&key("-DA"), b"one\nbinary\0");
        programs.keep(&key("-DB"), b"another");
        let again = Programs::new(&folder.0);
        assert_eq!(again.load(&key("-DA")).as_deref(), Some(&b"one\nbinary\0"[..]));
        again.keep(&key("-DA"), b"newer");
        assert_eq!(again.load(&key("-DA")).as_deref(), Some(&b"newer"[..]));
        assert_eq!([programs.take_note(), again.take_note()], [None, None]);
        let files = fs::read_dir(folder.0.join("programs")).unwrap().count();
        assert_eq!(files, 2, "no draft is left");
    }

    #[test]
    fn a_damaged_file_is_said_once_and_given_to_nobody() {
        let folder = Folder::new("programs-damaged");
        let programs = Programs::new(&folder.0);
        programs.keep(&key("x"), b"0123456789");
        let path = programs.path(&key("x"));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let other = String::from_utf8(whole.clone()).unwrap().replace("options: x", "options: y").into_bytes();
        for bad in [&whole[..whole.len() - 1], &flipped, &other, b"", &whole[..20]] {
            fs::write(&path, bad).unwrap();
            assert_eq!(programs.load(&key("x")), None);
            assert!(programs.take_note().is_some_and(|note| note.ends_with("it is damaged; compiled again")));
        }
        assert_eq!(programs.take_note(), None);
    }

    #[test]
    fn what_was_loaded_before_a_fault_is_compiled_again_once() {
        let folder = Folder::new("programs-renewed");
        let open = || Programs::new(&folder.0);
        let (bad, other) = (key("bad"), key("other"));
        open().keep(&bad, b"does not work");
        let programs = open();
        assert!(!programs.renew("nothing was loaded"));
        programs.keep(&other, b"compiled now");
        assert!(programs.load(&bad).is_some() && programs.renew("wrong"));
        let note = programs.take_note().expect("it is said");
        assert!(note.ends_with(": the device fails with them (wrong); compiled again"), "{note}");
        assert!(!programs.path(&bad).exists() && programs.path(&other).exists());
        assert_eq!(programs.load(&bad), None);
        programs.keep(&bad, b"works");
        assert_eq!(programs.load(&bad).as_deref(), Some(&b"works"[..]));
        // It did work: another start that fails doubts it again.
        let programs = open();
        assert!(programs.load(&bad).is_some() && programs.renew("wrong again"));
        programs.keep(&bad, b"the same");
        // It did not help, and is not tried at every start.
        assert!(!programs.renew("still wrong"));
        let programs = open();
        assert_eq!(programs.load(&bad).as_deref(), Some(&b"the same"[..]));
        assert!(!programs.renew("wrong as ever"));
    }

    #[test]
    fn what_was_used_least_lately_goes_when_the_folder_is_full() {
        let folder = Folder::new("full");
        let mut programs = Programs::new(&folder.0);
        let keys = ["a", "b", "c"].map(key);
        keys.iter().for_each(|key| programs.keep(key, b"0123456789"));
        // Used long ago, and "b" longest; the file of a crash is older than all.
        let draft = programs.path(&keys[0]).with_extension("7.draft");
        fs::write(&draft, "half a file").unwrap();
        let set_age = |path: &Path, hours: u64| {
            let then = SystemTime::now() - std::time::Duration::from_secs(3600 * hours);
            fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
        };
        set_age(&draft, 9);
        for (key, hours) in keys.iter().zip([5, 6, 4]) {
            set_age(&programs.path(key), hours);
        }
        assert!(programs.load(&keys[0]).is_some(), "which makes it the newest");
        // Room for three of them.
        programs.most_bytes = 3 * fs::metadata(programs.path(&keys[0])).unwrap().len();
        programs.keep(&key("d"), b"9876543210");
        let is_there = |key: &ProgramKey| programs.path(key).exists();
        assert_eq!(
            [is_there(&keys[0]), is_there(&keys[1]), is_there(&keys[2]), is_there(&key("d"))],
            [true, false, true, true]
        );
        assert!(!draft.exists());
        // One that is too large alone is kept alone.
        programs.most_bytes = 1;
        programs.keep(&key("e"), b"9876543210");
        assert_eq!(fs::read_dir(folder.0.join("programs")).unwrap().count(), 1);
        assert!(programs.load(&key("e")).is_some());
        assert_eq!(programs.take_note(), None);
    }

    #[test]
    fn a_folder_that_can_not_be_made_is_said_once() {
        let folder = Folder::new("programs-unwritable");
        fs::write(&folder.0, "a file").unwrap();
        let programs = Programs::new(&folder.0);
        programs.keep(&key("x"), b"1");
        programs.keep(&key("y"), b"1");
        assert!(programs.take_note().is_some_and(|note| note.ends_with("; they are not kept")));
        assert_eq!(programs.take_note(), None);
        fs::remove_file(&folder.0).unwrap();
    }
}
