//! The tables that were found in the folders.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use oncilla_chess::{Board, Color, Position};

use crate::fault::Fault;
use crate::file::{OpenFiles, TableFile};
use crate::material::Material;
use crate::table::{Metric, RawDtz, Table};
use crate::wdl::Wdl;

/// Syzygy tables in some folders. Threads share them through a reference.
///
/// A table's file is opened when a position needs it. Files up to 1 MiB are kept in memory then, as long as they take
/// no more than 64 MiB together; of larger files only the heads are kept, some kilobytes each, and no more than 100 are
/// open at once.
#[derive(Debug)]
pub struct Tablebases {
    wdl: Slots,
    dtz: Slots,
    /// Number of pieces of the largest WDL table.
    max_pieces: usize,
    unreadable: Vec<BadFile>,
}

/// The files that have a table's name, one a folder, in the order of the folders.
type Slots = HashMap<Material, Vec<Slot>>;

/// A file that was found, and the table in it once somebody has asked for it.
#[derive(Debug)]
struct Slot {
    file: TableFile,
    table: OnceLock<Result<Table, Fault>>,
    /// The first fault that was found in some place of an otherwise good table.
    damage: OnceLock<Fault>,
    /// Locked by the thread that reads the table; the others wait.
    reading: Mutex<()>,
    /// Why the system refused to read it, until [`Tablebases::try_again`].
    refusal: Mutex<Option<Fault>>,
    is_refused: AtomicBool,
}

impl Slot {
    fn new(file: TableFile) -> Self {
        Self {
            file,
            table: OnceLock::new(),
            damage: OnceLock::new(),
            reading: Mutex::default(),
            refusal: Mutex::default(),
            is_refused: AtomicBool::new(false),
        }
    }

    /// Asks the table, which is read first if it has not been.
    fn ask<T>(
        &self,
        (material, metric): (Material, Metric),
        question: impl Fn(&Table, &TableFile) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(fault) = self.refused() {
            return Err(fault);
        }
        let answer = self.table(material, metric).and_then(|table| question(table, &self.file));
        answer.inspect_err(|&fault| match fault {
            Fault::Io(_) => {
                *lock(&self.refusal) = Some(fault);
                self.is_refused.store(true, Ordering::Release);
            }
            _ => _ = self.damage.get_or_init(|| fault),
        })
    }

    fn table(&self, material: Material, metric: Metric) -> Result<&Table, Fault> {
        if let Some(known) = self.table.get() {
            return known.as_ref().map_err(|fault| *fault);
        }
        let _reading = lock(&self.reading);
        if let Some(fault) = self.refused() {
            return Err(fault);
        }
        let read = match self.table.get() {
            Some(known) => known,
            None => match Table::read(&self.file, material, metric) {
                Err(fault @ Fault::Io(_)) => return Err(fault),
                read => self.table.get_or_init(|| read),
            },
        };
        read.as_ref().map_err(|fault| *fault)
    }

    fn refused(&self) -> Option<Fault> {
        if self.is_refused.load(Ordering::Acquire) { *lock(&self.refusal) } else { None }
    }

    fn try_again(&self) {
        if self.is_refused.swap(false, Ordering::AcqRel) {
            *lock(&self.refusal) = None;
        }
    }

    fn fault(&self) -> Option<Fault> {
        let of_table = self.table.get().and_then(|table| table.as_ref().err());
        of_table.or(self.damage.get()).copied().or(self.refused())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there are no tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The list names no folder.
    NoFolder,
    /// None of the folders has a WDL table. Folders that could not be read are listed, too.
    NoTables {
        /// The folders, each with what was wrong with it, if anything was.
        folders: Vec<(PathBuf, Option<io::ErrorKind>)>,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str("expected folders with Syzygy tables, got an empty list"),
            Self::NoTables { folders } => {
                f.write_str("expected Syzygy tables (KQvK.rtbw and such), found none in")?;
                for (place, (folder, error)) in folders.iter().enumerate() {
                    write!(f, "{} {}", if place == 0 { "" } else { "," }, folder.display())?;
                    if let Some(kind) = error {
                        write!(f, " ({})", Fault::Io(*kind))?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// A file or a folder that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)
    }
}

/// Why the tables have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeError {
    /// A side may castle: no table has that.
    CastlingRights,
    /// More pieces than the largest table has.
    TooManyPieces {
        /// Pieces on the board.
        got: usize,
        /// Pieces of the largest table.
        most: usize,
    },
    /// The root has no legal move to rank.
    NoMove,
    /// A table that the answer depends on was not found.
    NoTable {
        /// The material of the table.
        material: Material,
        /// The kind of the table.
        metric: Metric,
    },
    /// A table that the answer depends on can't be used, as a whole or in this place.
    BadTable {
        /// The material of the table.
        material: Material,
        /// The kind of the table.
        metric: Metric,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CastlingRights => f.write_str("expected a position without castling rights"),
            Self::TooManyPieces { got, most } => write!(f, "expected at most {most} pieces, got {got}"),
            Self::NoMove => f.write_str("expected a position with a legal move"),
            Self::NoTable { material, metric } => write!(f, "no {metric} table of {material}"),
            Self::BadTable { material, metric, fault } => write!(f, "{metric} table of {material}: {fault}"),
        }
    }
}

impl std::error::Error for ProbeError {}

impl Tablebases {
    /// Looks for tables in folders. `paths` lists them with `:` in between, on Windows with `;`.
    ///
    /// Of two files with the same name, the first folder's is used as far as it is good; where it is not, the next one
    /// is asked. Only names and lengths are looked at here. A file that turns out not to be a table is left out, now or
    /// when it is first asked, and reported by [`Tablebases::bad_files`].
    ///
    /// # Errors
    /// If there is no table at all.
    pub fn open(paths: &str) -> Result<Self, OpenError> {
        Self::open_with(paths, OpenFiles::default())
    }

    pub(crate) fn open_with(paths: &str, open: OpenFiles) -> Result<Self, OpenError> {
        let folders: Vec<PathBuf> =
            std::env::split_paths(paths).filter(|folder| !folder.as_os_str().is_empty()).collect();
        if folders.is_empty() {
            return Err(OpenError::NoFolder);
        }
        let mut found = Self { wdl: HashMap::new(), dtz: HashMap::new(), max_pieces: 0, unreadable: Vec::new() };
        let open = Arc::new(open);
        let mut searched = Vec::new();
        for folder in folders {
            let error = found.add_folder(&folder, &open).err();
            if let Some(error) = &error {
                found.unreadable.push(BadFile { path: folder.clone(), fault: Fault::Io(error.kind()) });
            }
            searched.push((folder, error.map(|error| error.kind())));
        }
        found.max_pieces = found.wdl.keys().map(|material| material.len()).max().unwrap_or(0);
        match found.wdl.is_empty() {
            true => Err(OpenError::NoTables { folders: searched }),
            false => Ok(found),
        }
    }

    fn add_folder(&mut self, folder: &Path, open: &Arc<OpenFiles>) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let Some((material, metric)) = table_of(&path) else { continue };
            let len = match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => metadata.len(),
                Ok(_) => continue,
                Err(error) => {
                    self.unreadable.push(BadFile { path, fault: error.into() });
                    continue;
                }
            };
            let file = TableFile::new(path, len, open.clone());
            let tables = match metric {
                Metric::Wdl => &mut self.wdl,
                Metric::Dtz => &mut self.dtz,
            };
            let slots = tables.entry(material).or_default();
            // A folder may be named twice.
            if slots.iter().all(|slot| slot.file.path() != file.path()) {
                slots.push(Slot::new(file));
            }
        }
        Ok(())
    }

    /// The most pieces, kings included, that a position may have: those of the largest WDL table.
    pub fn max_pieces(&self) -> usize {
        self.max_pieces
    }

    /// How many tables of a kind were found; those with the same name count once.
    pub fn tables(&self, metric: Metric) -> usize {
        self.slots(metric).len()
    }

    /// Files and folders that turned out to be of no use, as a whole or in places, so far, ordered by name. Probing
    /// finds more of them. A file is listed once, with the fault that was found first; one that the system refused to read
    /// is listed until [`Tablebases::try_again`].
    pub fn bad_files(&self) -> Vec<BadFile> {
        let refused = |slot: &Slot| Some(BadFile { path: slot.file.path().to_owned(), fault: slot.fault()? });
        let slots = self.wdl.values().chain(self.dtz.values()).flatten();
        let mut bad: Vec<BadFile> = self.unreadable.iter().cloned().chain(slots.filter_map(refused)).collect();
        bad.sort_by(|a, b| a.path.cmp(&b.path));
        bad
    }

    /// Reads files again that the system refused to read: that may pass, as when a folder of a network is away for a
    /// while. Until this is called such a file is left alone, because each attempt may take long. A search calls it
    /// when it begins.
    pub fn try_again(&self) {
        self.wdl.values().chain(self.dtz.values()).flatten().for_each(Slot::try_again);
    }

    /// Whether a search may take the result of a position for its value: there must be no castling rights, not too many
    /// pieces, and a rule-50 counter of 0, because that is what the tables' results assume.
    ///
    /// A table may still be missing.
    pub fn applies_to(&self, position: &Position) -> bool {
        position.rule50() == 0 && self.check(position.board()).is_ok()
    }

    pub(crate) fn check(&self, board: &Board) -> Result<(), ProbeError> {
        let pieces = board.occupied().len() as usize;
        if pieces > self.max_pieces {
            return Err(ProbeError::TooManyPieces { got: pieces, most: self.max_pieces });
        }
        if has_castling_rights(board) { Err(ProbeError::CastlingRights) } else { Ok(()) }
    }

    /// What a table has for a position, and for a DTZ table the result to ask with.
    #[cfg(test)]
    pub(crate) fn raw(&self, metric: Metric, board: &Board, wdl: Wdl) -> Result<i32, ProbeError> {
        Ok(match metric {
            Metric::Wdl => i32::from(self.raw_wdl(board)? as i8),
            Metric::Dtz => match self.raw_dtz(board, wdl)? {
                RawDtz::Plies { plies, .. } => plies,
                RawDtz::OtherSide => 0,
            },
        })
    }

    fn slots(&self, metric: Metric) -> &Slots {
        match metric {
            Metric::Wdl => &self.wdl,
            Metric::Dtz => &self.dtz,
        }
    }

    /// What a WDL table has for a position.
    pub(crate) fn raw_wdl(&self, board: &Board) -> Result<Wdl, ProbeError> {
        match board.occupied().len() {
            // There is no table of two kings.
            2 => Ok(Wdl::Draw),
            _ => self.ask(Metric::Wdl, board, |table, file| table.wdl(file, board)),
        }
    }

    /// What a DTZ table has for a position with that result, which is not a draw.
    pub(crate) fn raw_dtz(&self, board: &Board, wdl: Wdl) -> Result<RawDtz, ProbeError> {
        self.ask(Metric::Dtz, board, |table, file| table.dtz(file, board, wdl))
    }

    fn ask<T>(
        &self,
        metric: Metric,
        board: &Board,
        question: impl Fn(&Table, &TableFile) -> Result<T, Fault>,
    ) -> Result<T, ProbeError> {
        let on_board = Material::of(board);
        let slots = self.slots(metric);
        let ask_slot = |material: Material, slot: &Slot| {
            let answer = slot.ask((material, metric), &question);
            answer.map_err(|fault| ProbeError::BadTable { material, metric, fault })
        };
        let mut answer = Err(ProbeError::NoTable { material: on_board, metric });
        // A file may not be a table, or may be damaged; and it may have the name with colours swapped.
        let swapped = Some(on_board.swapped()).filter(|_| !on_board.is_symmetric());
        for material in iter::once(on_board).chain(swapped) {
            for slot in slots.get(&material).into_iter().flatten() {
                if answer.is_ok() {
                    return answer;
                }
                answer = ask_slot(material, slot);
            }
        }
        answer
    }
}

/// A side may castle.
pub(crate) fn has_castling_rights(board: &Board) -> bool {
    Color::ALL.iter().any(|&color| {
        let rights = board.castle_rights(color);
        rights.short.is_some() || rights.long.is_some()
    })
}

/// The table that a file's name stands for.
fn table_of(path: &Path) -> Option<(Material, Metric)> {
    let extension = path.extension()?.to_str()?;
    let metric = [Metric::Wdl, Metric::Dtz].into_iter().find(|metric| metric.extension() == extension)?;
    let name = path.file_stem()?.to_str()?;
    let material = Material::parse(name)?;
    // No generator writes the pieces in another order; such a file would hide the one that has this name.
    (material.to_string() == name).then_some((material, metric))
}
