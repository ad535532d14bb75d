//! How an explanation is written.

use oncilla_core::time::Numbers;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A move's budget, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The time manager's name.
    pub manager: &'static str,
    /// Half moves played before.
    pub ply: u32,
    /// Every number on the way to the budget.
    pub numbers: Numbers,
    /// For a move that was played: the time used, the nodes added, and what was learnt from it.
    pub played: Option<(f64, u64, Numbers)>,
}

/// Numbers in their order; an object of `serde_json` would sort them.
struct Ordered<'n>(&'n Numbers);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter())
    }
}

impl Serialize for Explained {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("manager", self.manager)?;
        map.serialize_entry("ply", &self.ply)?;
        for (name, number) in self.numbers.iter() {
            map.serialize_entry(name, &number)?;
        }
        if let Some((used_ms, new_nodes, learnt)) = &self.played {
            map.serialize_entry("used_ms", used_ms)?;
            map.serialize_entry("new_nodes", new_nodes)?;
            map.serialize_entry("learnt", &Ordered(learnt))?;
        }
        map.end()
    }
}

impl Explained {
    /// One JSON object on one line.
    pub fn to_json(&self) -> String {
        // Names are texts and numbers are finite: nothing here can fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn lines(&self) -> Vec<String> {
        let title = format!("{}, ply {}", self.manager, self.ply);
        let mut lines = vec![title];
        lines.extend(self.numbers.iter().map(|(name, number)| line(name, number)));
        if let Some((used_ms, new_nodes, learnt)) = &self.played {
            lines.push(format!("played after {used_ms} ms with {new_nodes} new nodes; learnt:"));
            lines.extend(learnt.iter().map(|(name, number)| line(name, number)));
        }
        lines
    }
}

fn line(name: &str, number: f64) -> String {
    format!("{name:>26} {number:>16.4}")
}

/// A JSON list, a move a line.
pub fn json_list(explained: &[Explained]) -> String {
    let rows: Vec<String> = explained.iter().map(Explained::to_json).collect();
    format!("[{}]", rows.join(",\n"))
}

/// Lines for a person, the moves separated by empty ones.
pub fn text(explained: &[Explained]) -> Vec<String> {
    explained.iter().map(Explained::lines).collect::<Vec<_>>().join(&String::new())
}
