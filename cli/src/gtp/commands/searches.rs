//! Moves and live analysis.

use super::Reply;
use crate::go::{Params, Reporter, Search};
use crate::gtp::analyze::{AnalyzeRequest, Style};
use crate::gtp::args::{self, Args};
use crate::gtp::player::{Decision, SearchLimits, Task};
use crate::gtp::session::{Session, Stream};
use crate::gtp::slot::SearchSlot;
use oncilla_go::Color;
use std::time::Instant;

/// Ends what is thought about in the opponent's time, and an analysis, which ends with any line.
pub(super) fn stop(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.ponders = false;
    Ok(String::new())
}

pub(super) fn genmove(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>) -> Reply {
    let color = args::color(args::one(args, "a color")?)?;
    let decision =
        session.player.decide(slot, &session.record, color, &AnalyzeRequest::default(), true, |_, _| true)?;
    session.carry_out(color, decision)
}

/// The answer of a search that the next line of input has ended.
const CANCELLED: &str = "cancelled";

/// Chooses a move without playing it. If `cancellable`, the next line of input ends the search.
pub(super) fn search(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>, cancellable: bool) -> Reply {
    let color = match args {
        [] => session.record.game().side_to_move(),
        _ => args::color(args::one(args, "a color")?)?,
    };
    let (lines, mut goes_on) = (&mut session.lines, true);
    let watch = |_: &Search<'_>, is_last: bool| {
        goes_on = goes_on && !(cancellable && !is_last && lines.is_ready());
        goes_on
    };
    let decision = session.player.decide(slot, &session.record, color, &AnalyzeRequest::default(), false, watch)?;
    Ok(if goes_on { session.text_of(decision) } else { CANCELLED.to_string() })
}

impl Session {
    fn text_of(&self, decision: Decision) -> String {
        match decision {
            Decision::Play(mv) => self.record.size().format(mv).to_string(),
            Decision::Resign => "resign".to_string(),
        }
    }

    /// Plays the decision, and returns its text.
    fn carry_out(&mut self, color: Color, decision: Decision) -> Reply {
        self.ponders = false;
        if let Decision::Play(mv) = decision {
            self.record.play(color, mv)?;
            self.ponders = true;
        }
        Ok(self.text_of(decision))
    }
}

/// Says when the next line about a search is due, and writes it.
struct LineWriter {
    next: Option<Instant>,
    request: AnalyzeRequest,
    style: Style,
}

impl LineWriter {
    fn new(request: &AnalyzeRequest, style: Style) -> Self {
        Self { next: request.interval.map(|every| Instant::now() + every), request: request.clone(), style }
    }

    /// The line to write now; `None` if none is due, or no move has been visited yet.
    fn line(&mut self, params: &Params, search: &Search<'_>) -> Option<String> {
        self.next.filter(|next| Instant::now() >= *next && search.spent() > 1)?;
        self.next = self.request.interval.map(|every| Instant::now() + every);
        Some(self.last(params, search))
    }

    fn last(&self, params: &Params, search: &Search<'_>) -> String {
        let answer = Reporter::new(params, self.request.wanted, search).answer();
        self.request.line(self.style, &answer)
    }
}

/// The variants of the commands that decide on a move and write lines meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Mode {
    style: Style,
    /// Whether the move is played.
    plays: bool,
    /// Whether the next line of input ends the search.
    cancellable: bool,
}

pub(super) const GENMOVE: Mode = Mode { style: Style::Kata, plays: true, cancellable: false };
pub(super) const LZ_GENMOVE: Mode = Mode { style: Style::Lz, ..GENMOVE };
pub(super) const SEARCH: Mode = Mode { plays: false, ..GENMOVE };
pub(super) const CANCELLABLE: Mode = Mode { cancellable: true, ..SEARCH };

/// Like `genmove` or `kata-search`, with lines during the search and one at its end.
pub(super) fn decide(
    session: &mut Session,
    slot: &mut SearchSlot<'_>,
    stream: &mut Stream,
    args: Args<'_>,
    mode: Mode,
) -> Reply {
    let to_move = session.record.game().side_to_move();
    let (request, color) = AnalyzeRequest::read(args, session.record.size(), to_move)?;
    let (mut writer, params) = (LineWriter::new(&request, mode.style), session.player.params);
    let (lines, mut goes_on) = (&mut session.lines, true);
    let watch = |search: &Search<'_>, is_last: bool| {
        stream.begin();
        let line = if is_last { Some(writer.last(&params, search)) } else { writer.line(&params, search) };
        line.iter().filter(|line| !line.is_empty()).for_each(|line| stream.say(line));
        goes_on = goes_on && !(mode.cancellable && !is_last && lines.is_ready());
        goes_on
    };
    let decision = session.player.decide(slot, &session.record, color, &request, mode.plays, watch)?;
    let text = match mode.plays {
        true => session.carry_out(color, decision)?,
        false if goes_on => session.text_of(decision),
        false => CANCELLED.to_string(),
    };
    Ok(format!("play {text}"))
}

/// Searches, and writes lines, until the next line of input comes.
pub(super) fn analyze(
    session: &mut Session,
    slot: &mut SearchSlot<'_>,
    stream: &mut Stream,
    args: Args<'_>,
    style: Style,
) -> Reply {
    let to_move = session.record.game().side_to_move();
    let (request, color) = AnalyzeRequest::read(args, session.record.size(), to_move)?;
    let params = session.player.params_for_analysis();
    let game = session.record.turn_of(color).into();
    let task = Task { game, params: &params, request: &request, limits: SearchLimits::NONE, until: None };
    session.ponders = false;
    let mut writer = LineWriter::new(&request, style);
    let lines = &mut session.lines;
    let look = |search: &Search<'_>| {
        stream.begin();
        // An empty line would end the answer.
        if let Some(line) = writer.line(&params, search).filter(|line| !line.is_empty()) {
            stream.say(&line);
        }
        !lines.is_ready()
    };
    let last =
        session.player.search(slot, &task, look, |search| LineWriter::new(&request, style).last(&params, search))?;
    // If the search ended by itself, because the memory is full or no move may be searched, the command still waits for
    // the next line of input. In that case, and if no interval was given, the last results are written at the end.
    if !session.lines.is_ready() || request.interval.is_none() {
        if !last.is_empty() {
            stream.say(&last);
        }
        session.lines.wait();
    }
    Ok(String::new())
}
