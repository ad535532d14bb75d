//! The tablebases in the folders that `SyzygyPath` names, and what a person should know of their files.

use super::tables;
use oncilla_syzygy::{BadFile, Tablebases};
use std::sync::Arc;

/// The tables that a searcher has opened.
#[derive(Default)]
pub struct OpenTables {
    tables: Option<Arc<Tablebases>>,
    /// Where they were looked for.
    paths: String,
    /// Files of them that are of no use, as far as it was said.
    bad_files: Vec<BadFile>,
}

impl OpenTables {
    pub fn get(&self) -> Option<Arc<Tablebases>> {
        self.tables.clone()
    }

    /// Whether they are those of these folders.
    pub fn are_of(&self, paths: &str) -> bool {
        self.paths == paths
    }

    /// Opens those in these folders instead, and says what there is.
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

    /// Says which files turned out to be of no use since the last time: a table is read when a position asks for it.
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
