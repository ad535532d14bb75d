//! The lines of `VerboseMoveStats`, in Lc0's format, because GUIs read them by column.

use std::fmt::Write;

use oncilla_core::repository::{Bound, Bounds};

use crate::engine::MoveStats;

/// The line of the move that is written as `mv`. The space at its end belongs to the format.
pub fn line(stats: &MoveStats, mv: &str) -> String {
    let mut text = String::from("info string ");
    // Writing to a String can't fail.
    let _ = write(&mut text, stats, mv);
    text
}

fn write(out: &mut String, stats: &MoveStats, mv: &str) -> std::fmt::Result {
    match stats.mv {
        Some(_) => write!(out, "{mv:<5} ({:<4}) ", stats.index)?,
        None => write!(out, "node  ({:>4}) ", stats.index)?,
    }
    write!(out, "N: {:>7} (+{:>2}) ", stats.n, stats.in_flight)?;
    // The number has five columns.
    let digits = if stats.p >= 0.99995 { 1 } else { 2 };
    write!(out, "(P: {:>5.digits$}%) ", 100.0 * stats.p)?;
    match stats.value {
        Some(value) => write!(out, "(WL: {:>8.5}) (D: {:>5.3}) (M: {:>4.1}) ", value.wl, value.d, value.m)?,
        None => write!(out, "(WL: {:>8}) (D: {:>5}) (M: {:>4}) ", "-.-----", "-.---", "-.-")?,
    }
    write!(out, "(Q: {:>8.5}) ", stats.q)?;
    if let Some((u, s)) = stats.u.zip(stats.s) {
        write!(out, "(U: {u:>6.5}) (S: {s:>8.5}) ")?;
    }
    match stats.v {
        Some(v) => write!(out, "(V: {v:>7.4}) ")?,
        None => write!(out, "(V: {:>7}) ", "-.----")?,
    }
    out.push_str(proof(stats.bounds));
    Ok(())
}

/// Marks a proven result, or a proven bound: not a loss, or not a win.
fn proof(bounds: Bounds) -> &'static str {
    match (bounds.lower, bounds.upper) {
        (lower, upper) if lower == upper => "(T) ",
        (Bound::Draw, Bound::Win) => "(W) ",
        (Bound::Loss, Bound::Draw) => "(L) ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_core::evaluate::Value;

    /// The number after a label; `None` if dashes are printed there.
    fn field(line: &str, label: &str) -> Option<f32> {
        let after = &line[line.find(label).expect(label) + label.len()..];
        after[..after.find([')', '%']).unwrap()].trim().parse().ok()
    }

    /// Parses a line of Lc0 into the statistics and the text of the move.
    fn parse(line: &str) -> (MoveStats, String) {
        let rest = line.strip_prefix("info string ").unwrap();
        let mv = rest.split_whitespace().next().unwrap();
        let is_root = mv == "node";
        let between =
            |from: char, to: char| rest.split_once(from).unwrap().1.split_once(to).unwrap().0.trim().to_string();
        let wl = field(line, "(WL:");
        let bounds = match line.rsplit_once("(V:").unwrap().1.rsplit_once('(').map(|(_, last)| last.trim_end()) {
            Some("T)") => Bounds { lower: Bound::Loss, upper: Bound::Loss },
            Some("W)") => Bounds { lower: Bound::Draw, upper: Bound::Win },
            Some("L)") => Bounds { lower: Bound::Loss, upper: Bound::Draw },
            _ => Bounds::OPEN,
        };
        let stats = MoveStats {
            mv: (!is_root).then(|| "a1a2".parse().unwrap()),
            index: between('(', ')').parse().unwrap(),
            n: between(':', '(').parse().unwrap(),
            in_flight: field(line, "(+").unwrap() as u32,
            p: field(line, "(P:").unwrap() / 100.0,
            value: wl.map(|wl| Value { wl, d: field(line, "(D:").unwrap(), m: field(line, "(M:").unwrap() }),
            q: field(line, "(Q:").unwrap(),
            u: if is_root { None } else { field(line, "(U:") },
            s: if is_root { None } else { field(line, "(S:") },
            v: field(line, "(V:"),
            ending: None,
            bounds,
        };
        (stats, mv.to_string())
    }

    fn assert_same(recorded: &str) {
        let (stats, mv) = parse(recorded);
        assert_eq!(line(&stats, &mv), recorded);
    }

    #[test]
    fn lc0s_lines_come_out_byte_for_byte() {
        assert_same(
            "info string h2g3  (399 ) N:       0 (+ 0) (P:  0.55%) (WL:  -.-----) (D: -.---) (M:  -.-) (Q:  0.39828) \
             (U: 0.00957) (S:  0.40785) (V:  -.----) ",
        );
        assert_same(
            "info string e2e1  (1515) N:      11 (+ 0) (P: 14.22%) (WL: -0.63266) (D: 0.230) (M:  1.9) (Q: -0.63266) \
             (U: 0.20687) (S: -0.42690) (V: -0.7106) (L) ",
        );
        assert_same(
            "info string g7g6  (374 ) N:       9 (+ 0) (P:  0.00%) (WL: -1.00000) (D: 0.000) (M:  1.0) (Q: -1.00000) \
             (U: 0.00000) (S: -1.00000) (V: -1.0000) (T) ",
        );
        assert_same(
            "info string node  (  20) N:    1200 (+40) (P: 99.87%) (WL:  0.04000) (D: 0.510) (M: 82.1) (Q:  0.04000) \
             (V:  0.0412) ",
        );
        assert_same(
            "info string e8f8q (1790) N:       1 (+ 0) (P: 100.0%) (WL:  0.04000) (D: 0.510) (M: 82.1) (Q:  0.04000) \
             (U: 1.50000) (S:  1.54000) (V:  0.0412) (W) ",
        );
    }

    /// Writes every line of Lc0's recorded searches again.
    #[test]
    fn all_recorded_lines_come_out_byte_for_byte() {
        let Some(path) = oncilla_testing::shared_path("oracle/search_classic.jsonl") else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let mut seen = 0;
        for row in text.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            for raw in row["raw"].as_array().unwrap() {
                let raw = raw.as_str().unwrap();
                if raw.starts_with("info string") {
                    assert_same(raw);
                    seen += 1;
                }
            }
        }
        assert!(seen > 5000, "{seen}");
    }
}
