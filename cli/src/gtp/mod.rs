//! `oncilla gtp`: plays and analyses Go by the Go Text Protocol, version 2, with KataGo's extensions (`docs/gtp.md`).
//!
//! ```text
//! stdin thread ──► session ──► commands ──► record: the game, its rules, what is legal
//!                     ▲            └──────► player: clocks, searches, resigning and passing
//!                     └── stdout: answers, and the lines of an analysis
//! ```
//!
//! One thread carries out the commands one after the other; another one reads the lines, so that an analysis can end
//! when the next line comes. Between two batches a search checks whether it has to end or report. Nothing but answers
//! goes to standard output.
//!
//! The search, its parameters and its output are those of analysis ([`crate::go`]); the clock is that of GTP (`clock`).
//! The last search is kept (`slot`): if the game went on from its position, and the network's inputs are the same, the
//! next one begins with its tree. Between two lines the engine may ponder in that slot.
//!
//! Ownership is determined by searches without passes, because a search that may end the game counts dead stones as
//! they lie. If the engine has given a handicap it plays for more than its network would (`advantage`), by an amount
//! that follows from the game and from its evaluations in its own turns; a plan names the player, and a search converts
//! that to the side to move. A network for human play beside the main one changes the choice of the move (`imitation`),
//! and the search only if it is told to explore that network's moves (`go/human.rs`).
//!
//! Specification: <https://www.lysator.liu.se/~gunnar/gtp/gtp2-spec-draft2/gtp2-spec.html>.

mod advantage;
mod analyze;
mod args;
mod chance;
mod cleanup;
mod clock;
mod commands;
mod estimates;
mod handicap;
mod identity;
mod imitation;
mod line;
mod memory;
mod player;
mod record;
mod scoring;
mod session;
pub(crate) mod settings;
mod sgf;
mod show;
mod slot;

use std::fs::File;
use std::io::BufRead;
use std::sync::Arc;

use oncilla_go::{Rules, Size};
use oncilla_nets::katago::Model;

use crate::console::{Console, aside, aside_as_is};
use crate::go::Params;
use crate::input::listen;
use crate::network::{EvaluatorSettings, Weights, of_network};
use crate::options::{Typed, overrides};
use crate::subject::model;
use player::Player;
use record::Record;
use session::{LineQueue, Session};

pub use identity::Identity;
pub use settings::Settings;

/// The line on standard error that tells a person or a script that the program is ready.
const READY: &str = "GTP ready, beginning main protocol loop";

/// What `printsgf` writes, without a result, of the game that `loadsgf` reads from a text, by Tromp and Taylor's rules
/// if it names none.
///
/// # Errors
/// What `loadsgf` says of a text that it refuses.
pub fn reread_sgf(text: &str) -> Result<String, String> {
    let game = sgf::read(text)?;
    let (rules, _) = game.rules(&Rules::TROMP_TAYLOR);
    Ok(sgf::write(&game.record(rules, usize::MAX, false)?, None))
}

/// Reads the Go network that the settings name.
fn network(settings: &EvaluatorSettings) -> Result<Model, String> {
    let weights = &settings.weights;
    if let Some(model) = model(settings)? {
        return Ok(model);
    }
    if let Weights::File(path) = weights {
        // The kind of file is checked before it is opened, because opening a pipe would wait for a writer.
        let facts = path.metadata();
        if facts.as_ref().is_ok_and(|facts| !facts.is_file()) {
            let expected = "a network of Go in a regular file, which is read more than once";
            return Err(format!("gtp: expected {expected}, got {weights}"));
        }
        facts
            .and_then(|_| File::open(path))
            .map_err(|error| of_network(weights, &format!("can't read it: {error}")))?;
    }
    Err(format!("gtp: expected a network of Go, KataGo's, with --weights, got {weights}"))
}

/// Speaks GTP until `quit` or the end of the input.
///
/// # Errors
/// One line: an override without a value or with a wrong one, no network of Go, no device, no thread.
pub fn run(
    input: impl BufRead + Send + 'static,
    console: Arc<Console>,
    typed: Typed,
    override_config: &[String],
    identity: Identity,
) -> Result<(), String> {
    let has = |typed: &Typed, name: &str| Settings::has(name) || Params::heeds(typed, name);
    let (typed, said) = overrides::apply(override_config, typed, has)?;
    said.iter().for_each(|line| aside(line));
    let meaning = typed.meaning()?;
    console.log_to(meaning.log_file.as_deref())?;
    let rules = settings::rules(&typed)?;
    let model = network(&meaning.settings.evaluator)?;
    let mut player = Player::new(model, &typed, &meaning)?;
    let side = player.settings().default_board_size as u8;
    let size = Size::new(side, side).unwrap_or(Size::STANDARD);
    player.prepare(size)?;
    let record = Record::new(size, rules, player.params().black_run_is_handicap);
    let on = player.networks().main.facts(size).map(|facts| facts.describe).unwrap_or_default();
    aside(&format!("{}, for Go, on {on}", player.networks().main.model().name));
    let lines = listen(input)?;
    aside_as_is(READY);
    Session { console, lines: LineQueue::new(lines), identity, player, record, ponders: false, quits: false }.talk()
}
