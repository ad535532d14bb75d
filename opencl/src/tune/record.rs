//! The file that stores which tunings were tried.
//!
//! ```text
//! oncilla tuning 2
//! device: Mali-G610 r0p0
//! …
//! tried: variant=gpu winograd=4 … | 3.1 8.2 30.4
//! tried: variant=gpu winograd=2 … | refused: …
//! best: variant=gpu winograd=4 …
//! ```
//!
//! Lines are added as things are known, so that a search that was stopped goes on where it was. A file whose head does
//! not match the key belongs to something else and is ignored; a line that can't be read makes the whole file
//! worthless.
//!
//! Several programs may add to one file: each writes while it holds the folder's lock, if that can be had in time, and
//! reads the file anew then.

use super::Trial;
use crate::cached;
use crate::device::Device;
use crate::graph::Graph;
use crate::kernels::{self, Precision, Tuning};
use fnv::FnvHasher;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most bytes of a file. A search for a tuning tries some hundred candidates, of some hundred bytes each.
const MOST_BYTES: u64 = 16 << 20;

/// What a tuning is valid for: one device with one driver, graphs of one shape, one text of the kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    head: String,
}

/// A tuning file.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    key: Key,
    tried: Vec<(Tuning, Trial)>,
    best: Option<Tuning>,
    /// How long to wait for the lock: not at all after that was in vain, until it can be had at once.
    patience: Duration,
}

impl Key {
    /// The key of a graph on a device.
    pub fn new(device: &Device, graph: &Graph, precision: Precision) -> Self {
        let Device { name, driver, platform, version, compute_units, .. } = device;
        let head = format!(
            "oncilla tuning 2\ndevice: {name}\ndriver: {driver}\nplatform: {platform}\nversion: {version}\n\
             units: {compute_units}\nkernels: {:016x}\ngraph: {:016x}\nprecision: {precision}\n",
            kernels::version(),
            graph.shape_hash(),
        );
        Self { head }
    }

    /// The path of the record in a cache folder.
    pub fn path(&self, cache: &Path) -> PathBuf {
        let mut hash = FnvHasher::default();
        hash.write(self.head.as_bytes());
        cache.join("tuning").join(format!("{:016x}.txt", hash.finish()))
    }

    /// How many bytes of a file are complete lines; 0 if its head is not complete.
    ///
    /// What was being written when the power failed, or when the disk was full, is worthless: a number may have only
    /// its first digits, and a letter only its first byte.
    fn whole(&self, bytes: &[u8]) -> io::Result<usize> {
        let head = self.head.as_bytes();
        if bytes.len() < head.len() && head.starts_with(bytes) {
            return Ok(0);
        }
        if !bytes.starts_with(head) {
            return Err(senseless("it is of another device, driver, network or version"));
        }
        Ok(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1))
    }
}

impl Record {
    /// Reads the record for `key`, or begins a new one if there is none.
    ///
    /// # Errors
    /// With the file's name. [`io::ErrorKind::InvalidData`]: the file's text makes no sense, and should be removed. Any
    /// other: it can't be read.
    pub fn open(cache: &Path, key: &Key) -> io::Result<Self> {
        let path = key.path(cache);
        let mut record = Self { path, key: key.clone(), tried: Vec::new(), best: None, patience: PATIENCE };
        let read = bytes_of(&record.path).and_then(|bytes| record.read(&bytes));
        read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", record.path.display())))?;
        Ok(record)
    }

    fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (head, whole) = (self.key.head.len(), self.key.whole(bytes)?);
        let lines = bytes.get(head..whole).unwrap_or_default();
        let lines = str::from_utf8(lines).map_err(|error| {
            senseless(format!("expected UTF-8, got another byte at {}", head + error.valid_up_to()))
        })?;
        for (at, line) in lines.lines().enumerate() {
            let at = at + 1 + self.key.head.lines().count();
            self.read_line(line).map_err(|why| senseless(format!("line {at}: {why}")))?;
        }
        Ok(())
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        if let Some(tuning) = line.strip_prefix("best: ") {
            self.best = Some(tuning.parse()?);
            return Ok(());
        }
        let fields = line.strip_prefix("tried: ").and_then(|rest| rest.split_once(" | "));
        let (tuning, trial) = fields.ok_or_else(|| format!("expected tried: or best:, got {line:?}"))?;
        let trial = match trial.strip_prefix("refused: ") {
            Some(why) => Err(why.to_string()),
            None => Ok(times(trial).ok_or_else(|| format!("expected three times, got {trial:?}"))?),
        };
        self.tried.push((tuning.parse()?, trial));
        Ok(())
    }

    /// The best tuning, if a search came to its end.
    pub fn best(&self) -> Option<Tuning> {
        self.best
    }

    /// The result of a candidate, from the last time that it was tried.
    pub fn tried(&self, tuning: Tuning) -> Option<&Trial> {
        self.tried.iter().rev().find(|(known, _)| *known == tuning).map(|(_, trial)| trial)
    }

    /// How many candidates were tried.
    pub fn count(&self) -> usize {
        self.tried.len()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores the result of a candidate.
    ///
    /// # Errors
    /// If the file can't be written; the record itself still knows the result until it is dropped.
    pub fn add(&mut self, tuning: Tuning, trial: &Trial) -> io::Result<()> {
        self.tried.push((tuning, trial.clone()));
        let trial = match trial {
            Ok(times) => times.map(|time| format!("{time:.4}")).join(" "),
            Err(why) => format!("refused: {}", why.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        self.append(&format!("tried: {tuning} | {trial}\n"))
    }

    /// Stores the tuning that is used from now on.
    ///
    /// # Errors
    /// Like [`Record::add`].
    pub fn set_best(&mut self, tuning: Tuning) -> io::Result<()> {
        self.best = Some(tuning);
        self.append(&format!("best: {tuning}\n"))
    }

    /// Forgets everything, also in the file.
    ///
    /// # Errors
    /// If the file can't be removed.
    pub fn forget(&mut self) -> io::Result<()> {
        self.tried.clear();
        self.best = None;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Appends after the last complete line, which another program may have written since this one read the file.
    fn append(&mut self, line: &str) -> io::Result<()> {
        let lock = self.path.parent().map(|folder| alone_in(folder, self.patience)).transpose()?.flatten();
        self.patience = if lock.is_some() { PATIENCE } else { Duration::ZERO };
        let bytes = bytes_of(&self.path)?;
        let whole = self.key.whole(&bytes)?;
        if whole < bytes.len() {
            // On Windows a file that was opened for appending can't be cut off.
            OpenOptions::new().write(true).open(&self.path)?.set_len(whole as u64)?;
        }
        let head = if whole == 0 { self.key.head.as_str() } else { "" };
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(format!("{head}{line}").as_bytes())
    }
}

/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// Creates a folder, and waits until no other program writes in it; the lock is held as long as the result lives. If
/// files can't be locked, as on some network drives, or another program holds the lock too long, nothing is locked:
/// that two programs write at once is rarer than a lock that can't be taken.
///
/// The lock has a file to itself, since on Windows what is locked can't be read, and a record may be removed at any
/// time.
fn alone_in(folder: &Path, patience: Duration) -> io::Result<Option<File>> {
    fs::create_dir_all(folder)?;
    let path = folder.join("lock");
    let is_other = fs::metadata(&path).is_ok_and(|facts| !facts.is_file());
    if is_other {
        return Ok(None);
    }
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    Ok(lock.ok().filter(|file| locks(file, patience)))
}

/// Whether the file could be locked in time. Programs hold the lock for the time of a few writes; one that
/// was stopped in between must not stop all others.
fn locks(file: &File, patience: Duration) -> bool {
    let since = Instant::now();
    while let Err(error) = file.try_lock() {
        if matches!(error, TryLockError::Error(_)) || since.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// The content of a file; empty if there is none.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    match cached::read(path, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn senseless(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn times(text: &str) -> Option<[f64; 3]> {
    let times: Option<Vec<f64>> =
        text.split(' ').map(|word| word.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0)).collect();
    times?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device_is_there;
    use crate::graph::{Activation, INPUT, Layer, Shape};
    use crate::kernels::Variant;
    use crate::test_folder::Folder;

    fn key(device: &str) -> Key {
        Key { head: format!("oncilla tuning 2\ndevice: {device}\n") }
    }

    #[test]
    fn what_was_tried_is_there_the_next_time() {
        let folder = Folder::new("record-kept");
        let (a, b) = (Tuning::start(Variant::Gpu, 1), Tuning::start(Variant::Cpu, 8));
        let mut record = Record::open(&folder.0, &key("x")).unwrap();
        assert_eq!((record.count(), record.best()), (0, None));
        record.add(a, &Ok([1.5, 2.0, 30.25])).unwrap();
        record.add(b, &Err("hangs\nand hangs".to_string())).unwrap();
        let mut again = Record::open(&folder.0, &key("x")).unwrap();
        assert_eq!(again.tried(a), Some(&Ok([1.5, 2.0, 30.25])));
        assert_eq!(again.tried(b), Some(&Err("hangs and hangs".to_string())));
        assert_eq!(again.best(), None);
        again.set_best(b).unwrap();
        again.set_best(a).unwrap();
        assert_eq!(Record::open(&folder.0, &key("x")).unwrap().best(), Some(a));
        assert_eq!(Record::open(&folder.0, &key("y")).unwrap().count(), 0);
        again.forget().unwrap();
        again.forget().unwrap();
        assert_eq!(Record::open(&folder.0, &key("x")).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_that_another_program_keeps_is_not_waited_for_long() {
        let folder = Folder::new("record-locked");
        let held = alone_in(&folder.0, PATIENCE).unwrap().expect("a lock");
        let other = File::open(folder.0.join("lock")).unwrap();
        assert!(!locks(&other, Duration::from_millis(30)));
        drop(held);
        assert!(locks(&other, Duration::from_secs(60)));
    }

    #[test]
    fn a_damaged_file_is_refused_and_half_a_line_is_not() {
        let folder = Folder::new("record-damaged");
        let tuning = Tuning::start(Variant::Gpu, 1);
        let mut record = Record::open(&folder.0, &key("x")).unwrap();
        record.add(tuning, &Ok([1.0; 3])).unwrap();
        let whole = fs::read_to_string(record.path()).unwrap();
        for (text, why) in [
            (whole.replace("device: x", "device: z"), "another device"),
            (whole.replace("winograd=4", "winograd=7"), "winograd: expected one of"),
            (whole.replace("1.0000 1.0000", "1.0000 NaN"), "expected three times"),
            (whole.replace("1.0000 1.0000", "1.0000 -1.0000"), "expected three times"),
            (format!("{whole}best: fast\n"), "line 4: expected name=value"),
            (format!("{whole}\n"), "expected tried: or best:"),
        ] {
            fs::write(record.path(), text).unwrap();
            let error = Record::open(&folder.0, &key("x")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
            let error = error.to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
        fs::write(record.path(), [whole.as_bytes(), b"best: \xff\n"].concat()).unwrap();
        let error = Record::open(&folder.0, &key("x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let at = format!("expected UTF-8, got another byte at {}", whole.len() + "best: ".len());
        assert!(error.to_string().ends_with(&at), "{error}");
        fs::write(record.path(), format!("{whole}best: variant=g")).unwrap();
        assert_eq!(Record::open(&folder.0, &key("x")).unwrap().count(), 1);
    }

    #[test]
    fn who_goes_on_behind_half_a_line_leaves_a_whole_file() {
        let folder = Folder::new("record-cut");
        let (a, b) = (Tuning::start(Variant::Gpu, 1), Tuning::start(Variant::Cpu, 8));
        // With letters of several bytes in the head and in a line.
        let key = key("Gerät");
        let mut record = Record::open(&folder.0, &key).unwrap();
        record.add(a, &Err("der Übersetzer stürzt ab".to_string())).unwrap();
        let first = fs::read(record.path()).unwrap();
        record.add(b, &Ok([3.1, 8.2, 30.4])).unwrap();
        let both = fs::read(record.path()).unwrap();
        // Wherever it was cut, in the head, in a line, in a number, in a letter.
        for cut in 0..=both.len() {
            fs::write(record.path(), &both[..cut]).unwrap();
            let mut record = Record::open(&folder.0, &key).unwrap_or_else(|why| panic!("cut to {cut}: {why}"));
            let known = usize::from(cut >= first.len()) + usize::from(cut == both.len());
            assert_eq!(record.count(), known, "cut to {cut} of {}", both.len());
            record.set_best(b).unwrap();
            let again = Record::open(&folder.0, &key).unwrap_or_else(|why| panic!("cut to {cut}: {why}"));
            assert_eq!((again.count(), again.best()), (known, Some(b)), "cut to {cut}");
        }
    }

    #[test]
    fn two_who_go_on_behind_half_a_line_keep_what_both_add() {
        let folder = Folder::new("record-two-cut");
        let (a, b) = (Tuning::start(Variant::Gpu, 1), Tuning::start(Variant::Cpu, 8));
        let open = || Record::open(&folder.0, &key("x")).unwrap();
        open().set_best(a).unwrap();
        let mut half = OpenOptions::new().append(true).open(open().path()).unwrap();
        half.write_all(b"tried: variant=g").unwrap();
        let (mut first, mut second) = (open(), open());
        first.add(a, &Ok([1.0; 3])).unwrap();
        second.add(b, &Ok([2.0; 3])).unwrap();
        assert_eq!((open().tried(a), open().tried(b)), (Some(&Ok([1.0; 3])), Some(&Ok([2.0; 3]))));
        assert_eq!((open().count(), open().best()), (2, Some(a)));
    }

    #[test]
    fn of_many_who_begin_a_file_at_once_one_writes_the_head() {
        const WRITERS: usize = 8;
        let folder = Folder::new("record-begun");
        let tuning = Tuning::start(Variant::Gpu, 1);
        for round in 0..100 {
            let cache = folder.0.join(round.to_string());
            let begin = std::sync::Barrier::new(WRITERS);
            let write = || {
                let mut record = Record::open(&cache, &key("x")).unwrap();
                record.patience = Duration::from_secs(60);
                begin.wait();
                record.add(tuning, &Ok([1.0; 3])).unwrap();
            };
            std::thread::scope(|scope| (0..WRITERS).for_each(|_| drop(scope.spawn(write))));
            let record = Record::open(&cache, &key("x")).unwrap_or_else(|why| panic!("round {round}: {why}"));
            assert_eq!(record.count(), WRITERS, "round {round}");
        }
    }

    #[test]
    fn a_folder_that_can_not_be_made_is_an_error_and_nothing_else() {
        let folder = Folder::new("record-unwritable");
        fs::write(&folder.0, "a file").unwrap();
        // Reading below a file is "not a directory", which is no record.
        if let Ok(mut record) = Record::open(&folder.0, &key("x")) {
            let tuning = Tuning::start(Variant::Gpu, 1);
            assert!(record.add(tuning, &Ok([1.0; 3])).is_err());
            assert!(record.tried(tuning).is_some());
        }
        fs::remove_file(&folder.0).unwrap();
    }

    #[test]
    fn a_record_is_of_one_shape_one_precision_and_one_text_of_the_kernels() {
        let Some(device) = device_is_there() else { return };
        let key = |channels: usize| {
            let mut graph = Graph::new(Shape { channels, squares: 1 });
            let (weights, bias) = (vec![1.0; channels], vec![0.0]);
            graph
                .push(Layer::Dense { input: INPUT, channels: 1, weights, bias, activation: Activation::None })
                .unwrap();
            Key::new(&device, &graph, Precision::default())
        };
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
        assert!(key(1).head.contains(&format!("kernels: {:016x}\n", kernels::version())));
    }
}
