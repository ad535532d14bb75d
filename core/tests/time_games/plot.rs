//! Draws a game's clock: above, the time left; below, on a logarithmic scale, budget, extension and time used.

use crate::game::{Played, Record, Setup};
use std::fmt::Write;
use std::path::Path;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 748.0;
/// The top and the bottom of the upper and of the lower panel.
const UPPER: (f64, f64) = (44.0, 160.0);
const LOWER: (f64, f64) = (196.0, 400.0);
const HEIGHT: f64 = 440.0;

const STYLE: &str = "text{font:11px sans-serif;fill:#444}.title{font-size:13px;fill:#222}.grid{stroke:#ddd}\
    .left{fill:none;stroke:#2a6f97;stroke-width:1.5}.used{fill:#e09f3e}.stall{fill:#9e2a2b}\
    .budget{fill:none;stroke:#222;stroke-width:1.2}.extension{fill:none;stroke:#222;stroke-width:.8;stroke-dasharray:2 2}";

/// The plot's name in `docs/time/`.
pub fn file_name(control: &str) -> String {
    let name: String = control.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    format!("{name}.svg")
}

/// Compares a plot with the one in `docs/time/`, or writes it there.
pub fn check_or_write(name: &str, svg: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/time");
    let path = folder.join(name);
    if std::env::var("ONCILLA_WRITE_DOCS").as_deref() == Ok("1") {
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, svg)).expect("docs/time can be written");
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == svg, "docs/time/{name} shows something else: run this test with ONCILLA_WRITE_DOCS=1");
}

/// Milliseconds as a person says them.
fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 1000.0 => format!("{ms} ms"),
        ms if ms < 60_000.0 => format!("{} s", ms / 1000.0),
        ms if ms < 3_600_000.0 => format!("{} min", ms / 60_000.0),
        ms => format!("{} h", ms / 3_600_000.0),
    }
}

/// Maps moves and times to places on the page.
struct Scale {
    moves: f64,
    most_left: f64,
    /// Decimal logarithms of the least and the most time that a move shows.
    decades: (f64, f64),
}

impl Scale {
    fn new(record: &Record) -> Self {
        let times = || record.moves.iter().flat_map(|played| [played.limit_ms, played.used_ms]);
        let least = times().fold(f64::INFINITY, f64::min).max(0.1);
        let most = record.moves.iter().map(|played| played.limit_ms + played.extension_ms).chain(times());
        let most = most.fold(0.0, f64::max);
        Self {
            moves: record.moves.len() as f64,
            most_left: record.moves.iter().map(|played| played.base_ms).fold(0.0, f64::max),
            decades: (libm::log10(least).floor(), libm::log10(most).ceil()),
        }
    }

    fn x(&self, at: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * at / self.moves
    }

    fn left_y(&self, ms: f64) -> f64 {
        UPPER.1 - (UPPER.1 - UPPER.0) * ms / self.most_left
    }

    fn used_y(&self, ms: f64) -> f64 {
        let (least, most) = self.decades;
        let part = (libm::log10(ms.max(1e-9)) - least) / (most - least);
        LOWER.1 - (LOWER.1 - LOWER.0) * part.clamp(0.0, 1.0)
    }
}

/// The whole picture.
pub fn svg(setup: &Setup, record: &Record) -> String {
    let scale = Scale::new(record);
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let title = format!(
        "{}, overhead {}: {} moves, {:.1}% of the time used",
        setup.control.name,
        duration(setup.control.overhead_ms),
        record.moves.len(),
        100.0 * record.part_used()
    );
    text(&mut page, LEFT, 20.0, "start", "title", &title);
    text(&mut page, LEFT, 38.0, "start", "", "time left at the start of each move");
    text(
        &mut page,
        LEFT,
        190.0,
        "start",
        "",
        "a move's time: line budget, dashes with extension, bar used (red: the evaluator stalled)",
    );
    grid(&mut page, &scale);
    let left = |played: &Played| scale.left_y(played.base_ms);
    steps(&mut page, "left", &scale, record, left);
    bars(&mut page, &scale, record);
    steps(&mut page, "budget", &scale, record, |played| scale.used_y(played.limit_ms));
    steps(&mut page, "extension", &scale, record, |played| scale.used_y(played.limit_ms + played.extension_ms));
    page.push_str("</svg>\n");
    page
}

fn text(page: &mut String, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(page, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{class}>{text}</text>");
}

fn line(page: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(page, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"grid\"/>");
}

fn grid(page: &mut String, scale: &Scale) {
    for part in [0.0, 0.5, 1.0] {
        let ms = part * scale.most_left;
        line(page, (LEFT, scale.left_y(ms)), (RIGHT, scale.left_y(ms)));
        let rounded = if ms < 10_000.0 { ms.round() } else { (ms / 1000.0).round() * 1000.0 };
        text(page, LEFT - 6.0, scale.left_y(ms) + 4.0, "end", "", &short(rounded));
    }
    let (least, most) = scale.decades;
    for decade in least as i32..=most as i32 {
        let ms = libm::pow(10.0, f64::from(decade));
        line(page, (LEFT, scale.used_y(ms)), (RIGHT, scale.used_y(ms)));
        text(page, LEFT - 6.0, scale.used_y(ms) + 4.0, "end", "", &short(ms));
    }
    for at in (0..=scale.moves as u32).step_by(10) {
        text(page, scale.x(f64::from(at)), LOWER.1 + 16.0, "middle", "", &at.to_string());
    }
    text(page, (LEFT + RIGHT) / 2.0, HEIGHT - 8.0, "middle", "", "moves played");
}

/// A label with few digits.
fn short(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.4} s", ms / 1000.0).replace(".0000", "").replace("00 s", " s")
    } else {
        format!("{ms} ms")
    }
}

/// A line with a level step for each move.
fn steps(page: &mut String, class: &str, scale: &Scale, record: &Record, y: impl Fn(&Played) -> f64) {
    let mut path = String::new();
    for (at, played) in record.moves.iter().enumerate() {
        let command = if at == 0 { 'M' } else { 'V' };
        let y = y(played);
        let _ = match command {
            'M' => write!(path, "M{:.1} {y:.1}", scale.x(0.0)),
            _ => write!(path, "V{y:.1}"),
        };
        let _ = write!(path, "H{:.1}", scale.x(at as f64 + 1.0));
    }
    let _ = writeln!(page, "<path class=\"{class}\" d=\"{path}\"/>");
}

/// Draws all bars of a kind as one path: thousands of elements would make a large file.
fn bars(page: &mut String, scale: &Scale, record: &Record) {
    for (class, wanted) in [("used", false), ("stall", true)] {
        let mut path = String::new();
        for (at, played) in record.moves.iter().enumerate().filter(|(_, played)| (played.stall_ms > 0.0) == wanted) {
            let (x, y) = (scale.x(at as f64 + 0.15), scale.used_y(played.used_ms));
            let _ = write!(path, "M{x:.1} {:.1}V{y:.1}H{:.1}V{:.1}Z", LOWER.1, scale.x(at as f64 + 0.85), LOWER.1);
        }
        if !path.is_empty() {
            let _ = writeln!(page, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
}
