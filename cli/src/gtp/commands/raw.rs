//! What the networks say of the position, without a search.

use super::Reply;
use crate::go::{Evaluation, Evaluator, Game, ShortTerm};
use crate::gtp::args::{self, Args};
use crate::gtp::session::Session;
use oncilla_go::{Color, Symmetry};
use std::fmt::Write as _;

pub(super) fn raw(session: &mut Session, args: Args<'_>) -> Reply {
    raw_of(session, &session.player.networks().main, &SCORES, args)
}

/// Like `kata-raw-nn`, from the network for human play beside the main one.
pub(super) fn raw_human(session: &mut Session, args: Args<'_>) -> Reply {
    let human = session.player.networks().human.as_ref();
    let human = human.ok_or("expected a network for human play beside the main one (--human-model), got none")?;
    raw_of(session, human, &HUMAN_SCORES, args)
}

fn raw_of(session: &Session, network: &Evaluator, scores: &Scores, args: Args<'_>) -> Reply {
    let (game, symmetries) = looked_at(session, args)?;
    let mut text = String::new();
    for symmetry in symmetries {
        let evaluation = session.player.raw_of(network, &game, symmetry)?;
        text.push_str(&raw_text(&evaluation, symmetry, &game, scores));
    }
    Ok(text)
}

/// The current position, and the symmetries that the command's argument names.
fn looked_at(session: &Session, args: Args<'_>) -> Result<(Box<Game>, Vec<Symmetry>), String> {
    let what = "a symmetry from 0 to 7, or all";
    let text = args::one(args, what)?;
    let game = session.record.turn_of(session.record.game().side_to_move());
    let symmetries: Vec<Symmetry> = match text {
        "all" => Symmetry::ALL.into_iter().filter(|symmetry| symmetry.fits(game.size())).collect(),
        _ => text.parse().ok().and_then(Symmetry::from_number).into_iter().collect(),
    };
    if symmetries.is_empty() {
        return Err(args::expected(what, args));
    }
    if !symmetries.iter().all(|symmetry| symmetry.fits(game.size())) {
        return Err(args::expected("0 to 3 on a board that is no square", args));
    }
    Ok((game, symmetries))
}

/// KataGo's names of the score and its square, and which other numbers it prints.
struct Scores {
    mean: &'static str,
    square: &'static str,
    /// Whether the lead and the time until the value is settled are printed. A network for human play knows neither.
    all: bool,
}

const SCORES: Scores = Scores { mean: "whiteScoreSelfplay", square: "whiteScoreSelfplaySq", all: true };
const HUMAN_SCORES: Scores = Scores { mean: "whiteScore", square: "whiteScoreSq", all: false };

/// The evaluation as names and numbers, from White's view.
fn raw_text(evaluation: &Evaluation, symmetry: Symmetry, game: &Game, scores: &Scores) -> String {
    let (size, is_white) = (game.size(), game.side_to_move() == Color::White);
    let sign: f32 = game.side_to_move().sign();
    let (win, loss) = if is_white { (evaluation.win, evaluation.loss) } else { (evaluation.loss, evaluation.win) };
    let [mean, stdev] = [evaluation.score_mean, evaluation.score_stdev];
    let ShortTerm { variance_time, value_error, score_error } = evaluation.short_term.unwrap_or(ShortTerm::UNKNOWN);
    let mut text = format!("symmetry {}\n", symmetry.number());
    for (name, number, is_told) in [
        ("whiteWin", win, true),
        ("whiteLoss", loss, true),
        ("noResult", evaluation.no_result, true),
        ("whiteLead", sign * evaluation.lead, scores.all),
        (scores.mean, sign * mean, true),
        (scores.square, mean * mean + stdev * stdev, true),
        ("varTimeLeft", variance_time, scores.all),
        ("shorttermWinlossError", value_error, true),
        ("shorttermScoreError", score_error, true),
    ] {
        if is_told {
            let _ = writeln!(text, "{name} {number:.6}");
        }
    }
    let probability = |p: &f32| if *p < 0.0 { "NAN".to_string() } else { format!("{p:.6}") };
    let rows = |numbers: Vec<String>| {
        let lines = numbers.chunks(size.x().into()).map(|row| row.join(" ") + "\n");
        lines.collect::<String>()
    };
    let (points, pass) = evaluation.policy.split_at(size.area().min(evaluation.policy.len()));
    let _ = write!(text, "policy\n{}", rows(points.iter().map(probability).collect()));
    let _ = writeln!(text, "policyPass {}", pass.first().map(probability).unwrap_or_default());
    let owned = evaluation.ownership.iter().map(|owned| format!("{:.6}", sign * owned)).collect();
    let _ = write!(text, "whiteOwnership\n{}", rows(owned));
    text
}
