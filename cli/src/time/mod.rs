//! `oncilla time`: explains a time budget, and replays the clock of a game.

mod history;
mod report;

pub use history::{Move, Played};
pub use report::Explained;

use crate::console::Console;
use crate::engine::Settings;
use oncilla_core::time::{Budget, Clock, Leader, Manager, ManagerParams};
use std::path::PathBuf;

/// What the command is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The move to explain; with a history, the one after it.
    pub asked: Option<Move>,
    /// Nodes per second at first.
    pub nps: Option<f64>,
    /// A game to replay before.
    pub history: Option<PathBuf>,
    /// Whether a machine reads the answer.
    pub json: bool,
}

/// Answers a question.
///
/// # Errors
/// In one line: nothing was asked, the history can't be read, or a parameter is out of its range or another manager's.
pub fn print(console: &Console, settings: &Settings, question: &Question) -> Result<(), String> {
    let history = question.history.as_deref().map(history::read).transpose()?.unwrap_or_default();
    if question.asked.is_none() && question.history.is_none() {
        return Err("time: expected --base MS or --history FILE, got neither".to_string());
    }
    question.asked.iter().try_for_each(|asked| check(asked).map_err(|what| format!("time: --{what}")))?;
    let explained = explain(settings, question.nps, &history, question.asked.as_ref())?;
    match (question.json, &question.history) {
        (true, None) => console.say_all(&explained.iter().map(Explained::to_json).collect::<Vec<_>>()),
        (true, Some(_)) => console.say(&report::json_list(&explained)),
        (false, _) => console.say_all(&report::text(&explained)),
    }
    Ok(())
}

/// Refuses what no clock shows. (A GUI may say less than nothing; a person who does has slipped.)
fn check(asked: &Move) -> Result<(), String> {
    from_0_on("base", asked.base)?;
    from_0_on("inc", asked.inc)?;
    asked.network_plies.map_or(Ok(()), |plies| from_0_on("network-plies", plies))?;
    if asked.movestogo == Some(0) {
        return Err("movestogo: expected 1 or more, got 0".to_string());
    }
    match asked.pieces.filter(|pieces| !(2..=32).contains(pieces)) {
        Some(wrong) => Err(format!("pieces: expected 2 to 32, got {wrong}")),
        None => Ok(()),
    }
}

fn from_0_on(name: &str, number: f64) -> Result<(), String> {
    let is_right = number.is_finite() && number >= 0.0;
    if is_right { Ok(()) } else { Err(format!("{name}: expected a number from 0 on, got {number}")) }
}

/// The budget of every move of a game, and of the move that is asked for after it.
///
/// # Errors
/// A parameter that is out of its range, or `nps` for a manager that does not count nodes.
pub fn explain(
    settings: &Settings,
    nps: Option<f64>,
    history: &[Played],
    asked: Option<&Move>,
) -> Result<Vec<Explained>, String> {
    let mut params = settings.time;
    match (&mut params, nps) {
        (ManagerParams::Smooth(smooth), Some(nps)) => smooth.init_nps = nps,
        (other, Some(_)) => {
            return Err(format!(
                "time: --nps: expected the time manager smooth, which counts nodes, got {}",
                other.name()
            ));
        }
        (_, None) => {}
    }
    let by = if nps.is_some() { "time: --nps: " } else { "" };
    let mut manager = Manager::new(params).map_err(|error| format!("{by}{error}"))?;
    let mut game =
        Game { manager: &mut manager, name: params.name(), overhead_ms: settings.move_overhead_ms as f64, ply: 0 };
    let played = history.iter().map(|played| game.play(played)).collect::<Vec<_>>();
    let last = asked.map(|asked| game.start(asked));
    Ok(played.into_iter().chain(last).collect())
}

struct Game<'m> {
    manager: &'m mut Manager,
    name: &'static str,
    overhead_ms: f64,
    /// The ply of the next move, unless that one gives another.
    ply: u32,
}

impl Game<'_> {
    fn start(&mut self, mv: &Move) -> Explained {
        let (_, explained) = self.begin(mv);
        explained
    }

    /// Also returns the time after which only a search that is unsettled goes on.
    fn begin(&mut self, mv: &Move) -> (f64, Explained) {
        let ply = mv.ply.unwrap_or(self.ply);
        self.ply = ply.saturating_add(2);
        let clock = Clock {
            base_ms: mv.base,
            increment_ms: mv.inc,
            moves_to_go: mv.movestogo,
            ply,
            overhead_ms: self.overhead_ms,
            pieces: mv.pieces,
            network_plies: mv.network_plies,
            ..Clock::default()
        };
        let Budget { limit_ms, extension_ms, numbers, .. } = self.manager.on_move_start(&clock, mv.reused);
        let settled_ms = if extension_ms > 0.0 { limit_ms } else { f64::INFINITY };
        (settled_ms, Explained { manager: self.name, ply, numbers, played: None })
    }

    fn play(&mut self, played: &Played) -> Explained {
        let (settled_ms, explained) = self.begin(&played.start);
        if played.used > settled_ms {
            // Why the search was unsettled, the file does not say.
            let leader = Leader { contested: true, ..Leader::default() };
            self.manager.on_leader(played.used, leader);
        }
        self.manager.on_move_end(played.used, played.nodes);
        Explained { played: Some((played.used, played.nodes, self.manager.learnt())), ..explained }
    }
}
