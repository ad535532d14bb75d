//! The tablebases in the folders that `SyzygyPath` names, and the lines for a person about their files.

use super::tables;
use oncilla_syzygy::{BadFile, Tablebases};
use std::sync::Arc;

/// The tables that a searcher has opened.
#[derive(Default)]
pub struct OpenTables {
    tables: Option<Arc<Tablebases>>,
    /// The folders in which the tables were looked for.
    paths: String,
    /// The tables' files that are of no use, as far as the user was told of them.
    bad_files: Vec<BadFile>,
}

impl OpenTables {
    pub fn get(&self) -> Option<Arc<Tablebases>> {
        self.tables.clone()
    }

    /// Whether these tables were looked for in the folders `paths`.
    pub fn are_of(&self, paths: &str) -> bool {
        self.paths == paths
    }

    /// Looks again for tables that were not there.
    pub fn want_again(&mut self) {
        if self.tables.is_none() {
            self.paths.clear();
        }
    }

    /// Opens the tables in these folders instead; returns lines for a person.
    pub fn open(&mut self, paths: &str) -> Vec<String> {
        *self = Self { paths: paths.to_string(), ..Self::default() };
        if paths.is_empty() {
            return Vec::new();
        }
        match tables::open(paths) {
            Ok((tables, said)) => {
                self.tables = Some(tables);
                said.into_iter().chain(self.new_bad_files()).collect()
            }
            Err(error) => vec![error],
        }
    }

    /// Lines about files that turned out to be of no use since the last call: a table is read when a position asks for
    /// it.
    pub fn new_bad_files(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        for file in self.tables.as_ref().map(|tables| tables.bad_files()).unwrap_or_default() {
            if !self.bad_files.contains(&file) {
                said.push(format!("Syzygy: {file}"));
                self.bad_files.push(file);
            }
        }
        said
    }
}
