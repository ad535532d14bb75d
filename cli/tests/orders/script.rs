//! Generates the commands of a session.

use crate::board::Position;
use crate::random::Random;

/// The kinds of commands that the protocol treats differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Starts a search; `legal` has the moves that its `bestmove` may be.
    Go {
        waits_for: Waits,
        legal: Vec<String>,
    },
    Stop,
    PonderHit,
    IsReady,
    /// `position`, `ucinewgame`, or the next `go`, each of which ends a running search.
    Ends,
    Quit,
    /// A command that has no effect on a search.
    Other,
}

/// What ends a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The search's own limit.
    Limit,
    /// `stop`.
    Stop,
    /// `ponderhit` and then the search's own limit, or `stop`.
    PonderHit,
}

/// A line to send, and its kind.
#[derive(Clone, Debug)]
pub struct Command {
    pub line: String,
    pub kind: Kind,
}

fn command(line: impl Into<String>, kind: Kind) -> Command {
    Command { line: line.into(), kind }
}

/// Generates the random commands of one session.
pub struct Script {
    position: Position,
}

impl Script {
    pub fn new() -> Self {
        Self { position: Position::start() }
    }

    pub fn next(&mut self, random: &mut Random) -> Command {
        match random.below(100) {
            0..30 => self.go(random),
            30..45 => command("stop", Kind::Stop),
            45..58 => command("ponderhit", Kind::PonderHit),
            58..70 => command("isready", Kind::IsReady),
            70..84 => {
                self.position = self.position.another(random);
                command(self.position.line(), Kind::Ends)
            }
            84..89 => command("ucinewgame", Kind::Ends),
            89..91 => command("quit", Kind::Quit),
            _ => command(*random.pick(&OTHERS), Kind::Other),
        }
    }

    fn go(&self, random: &mut Random) -> Command {
        let limit = self.limit(random);
        let (words, waits_for) = match random.below(10) {
            0..2 => (format!("infinite {limit}"), Waits::Stop),
            2 => ("infinite".to_string(), Waits::Stop),
            3..6 => (format!("ponder {limit}"), Waits::PonderHit),
            _ => (limit, Waits::Limit),
        };
        let mut legal = self.position.moves();
        let mut line = format!("go {words}");
        if random.percent(15) && !legal.is_empty() {
            legal = vec![random.pick(&legal).clone()];
            line = format!("{line} searchmoves {}", legal[0]);
        }
        command(line, Kind::Go { waits_for, legal })
    }

    fn limit(&self, random: &mut Random) -> String {
        match random.below(6) {
            0 => format!("nodes {}", random.below(400)),
            1 => format!("movetime {}", random.below(12)),
            2 => format!("depth {}", random.below(4)),
            3 => "wtime 30 btime 30 winc 1 binc 1".to_string(),
            4 => format!("wtime {} btime -5 movestogo 1", random.below(60)),
            _ => format!("nodes 2000 movetime {}", random.below(5)),
        }
    }
}

/// Lines that may come at any time and must not affect a search; the last ones are not commands.
const OTHERS: [&str; 12] = [
    "setoption name Hash value 1",
    "setoption name Hash value 2",
    "setoption name MultiPV value 3",
    "setoption name UCI_ShowWDL value true",
    "setoption name MinibatchSize value 3",
    "setoption name CPuct value 2.5",
    "setoption name Nonsense value x",
    "uci",
    "d",
    "position fen 8/8 w",
    "go-away",
    "",
];
