//! The file that keeps what was tried.
//!
//! ```text
//! oncilla tuning 1
//! device: Mali-G610 r0p0
//! …
//! tried: variant=gpu winograd=4 … | 3.1 8.2 30.4
//! tried: variant=gpu winograd=2 … | refused: …
//! best: variant=gpu winograd=4 …
//! ```
//!
//! Lines are added as things are known, so that a search that was stopped goes on where it was. A file whose head is not
//! that of the key is another one's and is not looked at; a line that can't be read makes the whole file worthless.

use super::Trial;
use crate::device::Device;
use crate::graph::{Fnv, Graph};
use crate::kernels::{self, Precision, Tuning};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a tuning holds for: one device with one driver, graphs of one shape, one text of the kernels.
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
    /// Where the file's last whole line ends, if there is half of one behind it.
    whole: Option<u64>,
}

impl Key {
    /// For a graph on a device.
    pub fn new(device: &Device, graph: &Graph, precision: Precision) -> Self {
        let Device { name, driver, platform, version, compute_units, .. } = device;
        let head = format!(
            "oncilla tuning 1\ndevice: {name}\ndriver: {driver}\nplatform: {platform}\nversion: {version}\n\
             units: {compute_units}\nkernels: {:016x}\ngraph: {:016x}\nprecision: {precision}\n",
            kernels::version(),
            graph.shape_hash(),
        );
        Self { head }
    }

    /// Where the record lies in a cache folder.
    pub fn path(&self, cache: &Path) -> PathBuf {
        let mut hash = Fnv::default();
        hash.add(self.head.as_bytes());
        cache.join("tuning").join(format!("{:016x}.txt", hash.finish()))
    }
}

impl Record {
    /// Reads the record for `key`, or begins a new one if there is none.
    ///
    /// # Errors
    /// One line: the file can't be read, or its text makes no sense. What to do is to remove it.
    pub fn open(cache: &Path, key: &Key) -> Result<Self, String> {
        let path = key.path(cache);
        let mut record = Self { path, key: key.clone(), tried: Vec::new(), best: None, whole: None };
        match fs::read_to_string(&record.path) {
            Ok(text) => record.read(&text).map_err(|why| format!("{}: {why}", record.path.display()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{}: {error}", record.path.display())),
        }
        Ok(record)
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        // What was being written when the power went, or the disk was full, says nothing: of a number its first digits may be there.
        if text.len() < self.key.head.len() && self.key.head.starts_with(text) {
            self.whole = Some(0);
            return Ok(());
        }
        let Some(lines) = text.strip_prefix(&self.key.head) else {
            return Err("it is of another device, driver, network or version".to_string());
        };
        let lines = &lines[..lines.rfind('\n').map_or(0, |end| end + 1)];
        let whole = self.key.head.len() + lines.len();
        self.whole = (whole < text.len()).then_some(whole as u64);
        for (at, line) in lines.lines().enumerate() {
            self.read_line(line).map_err(|why| format!("line {}: {why}", at + 1 + self.key.head.lines().count()))?;
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

    /// What was found, if a search came to its end.
    pub fn best(&self) -> Option<Tuning> {
        self.best
    }

    /// What became of a candidate, the last time that it was tried.
    pub fn tried(&self, tuning: Tuning) -> Option<&Trial> {
        self.tried.iter().rev().find(|(known, _)| *known == tuning).map(|(_, trial)| trial)
    }

    /// How many were tried.
    pub fn count(&self) -> usize {
        self.tried.len()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what became of a candidate.
    ///
    /// # Errors
    /// If the file can't be written; it is known all the same until the record is dropped.
    pub fn add(&mut self, tuning: Tuning, trial: &Trial) -> io::Result<()> {
        self.tried.push((tuning, trial.clone()));
        let trial = match trial {
            Ok(times) => times.map(|time| format!("{time:.4}")).join(" "),
            Err(why) => format!("refused: {}", why.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        self.append(&format!("tried: {tuning} | {trial}\n"))
    }

    /// Keeps what is used from now on.
    ///
    /// # Errors
    /// As [`Record::add`].
    pub fn set_best(&mut self, tuning: Tuning) -> io::Result<()> {
        self.best = Some(tuning);
        self.append(&format!("best: {tuning}\n"))
    }

    /// Forgets everything, in the file too.
    ///
    /// # Errors
    /// If the file can't be removed.
    pub fn forget(&mut self) -> io::Result<()> {
        self.tried.clear();
        self.best = None;
        self.whole = None;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Behind the last whole line.
    fn append(&mut self, line: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        if let Some(whole) = self.whole {
            // On Windows whoever may append may not cut.
            OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?.set_len(whole)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let end = file.metadata()?.len();
        let head = if end == 0 { self.key.head.as_str() } else { "" };
        // Until it is whole, what is written is half a line.
        self.whole = Some(end);
        file.write_all(format!("{head}{line}").as_bytes())?;
        self.whole = None;
        Ok(())
    }
}

fn times(text: &str) -> Option<[f64; 3]> {
    let times: Option<Vec<f64>> =
        text.split(' ').map(|word| word.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0)).collect();
    times?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Variant;
    use crate::test_folder::Folder;

    fn key(device: &str) -> Key {
        Key { head: format!("oncilla tuning 1\ndevice: {device}\n") }
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
            (format!("{whole}best: fast\n"), "line 4: expected name=value"),
            (format!("{whole}\n"), "expected tried: or best:"),
        ] {
            fs::write(record.path(), text).unwrap();
            let error = Record::open(&folder.0, &key("x")).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
        fs::write(record.path(), format!("{whole}best: variant=g")).unwrap();
        assert_eq!(Record::open(&folder.0, &key("x")).unwrap().count(), 1);
    }

    #[test]
    fn who_goes_on_behind_half_a_line_leaves_a_whole_file() {
        let folder = Folder::new("record-cut");
        let (a, b) = (Tuning::start(Variant::Gpu, 1), Tuning::start(Variant::Cpu, 8));
        let mut record = Record::open(&folder.0, &key("x")).unwrap();
        record.add(a, &Ok([3.1, 8.2, 30.4])).unwrap();
        let first = fs::read(record.path()).unwrap();
        record.add(b, &Ok([3.1, 8.2, 30.4])).unwrap();
        let both = fs::read(record.path()).unwrap();
        // Wherever it was cut, in the head, in a line, in a number.
        for cut in 0..=both.len() {
            fs::write(record.path(), &both[..cut]).unwrap();
            let mut record = Record::open(&folder.0, &key("x")).unwrap();
            let known = usize::from(cut >= first.len()) + usize::from(cut == both.len());
            assert_eq!(record.count(), known, "cut to {cut} of {}", both.len());
            record.set_best(b).unwrap();
            let again = Record::open(&folder.0, &key("x")).unwrap_or_else(|why| panic!("cut to {cut}: {why}"));
            assert_eq!((again.count(), again.best()), (known, Some(b)), "cut to {cut}");
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
}
