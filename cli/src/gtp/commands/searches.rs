//! Moves and live analysis.

use super::Reply;
use crate::go::{Params, Reporter, Search};
use crate::gtp::analyze::{AnalyzeRequest, Style};
use crate::gtp::args::{self, Args};
use crate::gtp::player::{Decision, SearchLimits, Task};
use crate::gtp::session::{LineQueue, Session, Stream};
use crate::gtp::slot::SearchSlot;
use oncilla_go::Color;
use std::time::Instant;

pub(super) fn genmove(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>) -> Reply {
    let color = args::color(args::one(args, "a color")?)?;
    let decision =
        session.player.decide(slot, &session.record, color, &AnalyzeRequest::default(), true, |_, _| true)?;
    session.carry_out(color, decision)
}

/// What becomes of the move that is decided on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is played.
    Play,
    /// It is only told.
    Tell,
    /// It is only told; the next line of input cancels the search.
    TellUnlessCancelled,
}

/// Watches for the line of input that cancels a search.
struct Cancelling<'s> {
    lines: &'s mut LineQueue,
    purpose: Purpose,
    is_cancelled: bool,
}

impl<'s> Cancelling<'s> {
    fn new(lines: &'s mut LineQueue, purpose: Purpose) -> Self {
        Self { lines, purpose, is_cancelled: false }
    }

    /// Whether the search goes on; at its end (`is_last`) it is too late to cancel it.
    fn goes_on(&mut self, is_last: bool) -> bool {
        let may_end = self.purpose == Purpose::TellUnlessCancelled && !is_last;
        self.is_cancelled = self.is_cancelled || may_end && self.lines.is_ready();
        !self.is_cancelled
    }
}

/// Chooses a move without playing it.
pub(super) fn search(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>, purpose: Purpose) -> Reply {
    let color = match args {
        [] => session.record.game().side_to_move(),
        _ => args::color(args::one(args, "a color")?)?,
    };
    let mut cancelling = Cancelling::new(&mut session.lines, purpose);
    let watch = |_: &Search<'_>, is_last: bool| cancelling.goes_on(is_last);
    let decision = session.player.decide(slot, &session.record, color, &AnalyzeRequest::default(), false, watch)?;
    let is_cancelled = cancelling.is_cancelled;
    Ok(session.told(decision, is_cancelled))
}

impl Session {
    fn text_of(&self, decision: Decision) -> String {
        match decision {
            Decision::Play(mv) => self.record.size().format(mv).to_string(),
            Decision::Resign => "resign".to_string(),
        }
    }

    /// The text of a decision that is not played.
    fn told(&self, decision: Decision, is_cancelled: bool) -> String {
        if is_cancelled { "cancelled".to_string() } else { self.text_of(decision) }
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

/// Like `genmove` or `kata-search`, with lines during the search and one at its end.
pub(super) fn decide(
    session: &mut Session,
    slot: &mut SearchSlot<'_>,
    stream: &mut Stream,
    args: Args<'_>,
    style: Style,
    purpose: Purpose,
) -> Reply {
    let to_move = session.record.game().side_to_move();
    let (request, color) = AnalyzeRequest::read(args, session.record.size(), to_move)?;
    let (mut writer, params) = (LineWriter::new(&request, style), *session.player.params());
    let mut cancelling = Cancelling::new(&mut session.lines, purpose);
    let watch = |search: &Search<'_>, is_last: bool| {
        stream.begin();
        let line = if is_last { Some(writer.last(&params, search)) } else { writer.line(&params, search) };
        line.iter().filter(|line| !line.is_empty()).for_each(|line| stream.say(line));
        cancelling.goes_on(is_last)
    };
    let plays = purpose == Purpose::Play;
    let decision = session.player.decide(slot, &session.record, color, &request, plays, watch)?;
    let is_cancelled = cancelling.is_cancelled;
    let text = if plays { session.carry_out(color, decision)? } else { session.told(decision, is_cancelled) };
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

/// Ends what is thought about in the opponent's time, and an analysis, which ends with any line.
pub(super) fn stop(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.ponders = false;
    Ok(String::new())
}
