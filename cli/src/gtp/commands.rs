//! What each command does.

use oncilla_go::{Board, Color, Komi, MAX_SIDE, Move, Outcome, Rules, Size, Symmetry};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use super::analyze::{AnalyzeRequest, Style};
use super::args::{self, Args};
use super::clock::{self, System};
use super::player::{ADVANTAGE, Decision, Player, SearchLimits, Task};
use super::scoring::Judged;
use super::session::{Session, Stream};
use super::settings::{self, Settings};
use super::slot::SearchSlot;
use super::{handicap, scoring, sgf, show};
use crate::console::aside;
use crate::fields::Object;
use crate::go::{Evaluation, Evaluator, Game, Known, LEAST_SIDE, Params, Reporter, Search, board_size, describe_model};
use crate::text::quoted;

/// The result of a command: its answer, or an error message.
pub type Reply = Result<String, String>;

/// The function that carries out a command.
#[derive(Clone, Copy)]
pub enum Handler {
    /// The command answers when it is finished, and does not need the tree of the last search.
    Answers(fn(&mut Session, Args<'_>) -> Reply),
    /// The command answers when it is finished, and uses or drops the tree of the last search.
    Searches(fn(&mut Session, &mut SearchSlot<'_>, Args<'_>) -> Reply),
    /// The command searches and writes lines of its answer meanwhile.
    Streams(fn(&mut Session, &mut SearchSlot<'_>, &mut Stream, Args<'_>) -> Reply),
}

use Handler::{Answers, Searches, Streams};

/// All commands, in the order in which `list_commands` lists them.
pub const ALL: [(&str, Handler); 55] = [
    ("protocol_version", Answers(|_, args| args::none(args).map(|()| "2".to_string()))),
    ("name", Answers(|session, args| args::none(args).map(|()| session.identity.name.clone()))),
    ("version", Answers(|session, args| args::none(args).map(|()| session.identity.version.clone()))),
    ("known_command", Answers(known_command)),
    ("list_commands", Answers(list_commands)),
    ("quit", Answers(quit)),
    ("boardsize", Answers(boardsize)),
    ("rectangular_boardsize", Answers(boardsize)),
    ("clear_board", Answers(clear_board)),
    ("set_position", Answers(set_position)),
    ("komi", Answers(komi)),
    ("get_komi", Answers(|session, args| args::none(args).map(|()| session.record.rules().komi.to_string()))),
    ("play", Answers(play)),
    ("undo", Answers(undo)),
    ("fixed_handicap", Answers(fixed_handicap)),
    ("place_free_handicap", Answers(place_free_handicap)),
    ("set_free_handicap", Answers(set_free_handicap)),
    ("genmove", Searches(genmove)),
    ("kata-search", Searches(|session, slot, args| search(session, slot, args, false))),
    ("kata-search_cancellable", Searches(|session, slot, args| search(session, slot, args, true))),
    ("lz-genmove_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, LZ_GENMOVE))),
    ("kata-genmove_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, GENMOVE))),
    ("genmove_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, GENMOVE))),
    ("kata-search_analyze", Streams(|session, slot, stream, args| decide(session, slot, stream, args, SEARCH))),
    (
        "kata-search_analyze_cancellable",
        Streams(|session, slot, stream, args| decide(session, slot, stream, args, CANCELLABLE)),
    ),
    ("lz-analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Lz))),
    ("kata-analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Kata))),
    ("analyze", Streams(|session, slot, stream, args| analyze(session, slot, stream, args, Style::Kata))),
    ("stop", Answers(stop)),
    ("kata-raw-nn", Answers(raw)),
    ("kata-raw-human-nn", Answers(raw_human)),
    ("time_settings", Answers(time_settings)),
    ("time_left", Answers(time_left)),
    ("kgs-time_settings", Answers(kgs_time_settings)),
    ("kata-time_settings", Answers(kata_time_settings)),
    ("kata-list_time_settings", Answers(|_, args| args::none(args).map(|()| clock::kinds().join(" ")))),
    ("final_score", Answers(final_score)),
    ("final_status_list", Answers(final_status_list)),
    ("showboard", Answers(|session, args| args::none(args).map(|()| show::board(&session.record)))),
    ("loadsgf", Answers(loadsgf)),
    ("printsgf", Answers(printsgf)),
    (
        "kata-get-rules",
        Answers(|session, args| args::none(args).map(|()| settings::rules_text(session.record.rules()))),
    ),
    ("kata-set-rules", Answers(set_rules)),
    ("kata-set-rule", Answers(set_rule)),
    ("kgs-rules", Answers(kgs_rules)),
    ("kata-list-params", Answers(|_, args| args::none(args).map(|()| names_of_params().join(" ")))),
    ("kata-get-param", Answers(get_param)),
    ("kata-get-params", Answers(get_params)),
    ("kata-set-param", Answers(set_param)),
    ("kata-set-params", Answers(set_params)),
    ("kata-get-models", Answers(get_models)),
    ("clear_cache", Searches(clear_cache)),
    ("clear-cache", Searches(clear_cache)),
    ("cputime", Answers(cputime)),
    ("gomill-cpu_time", Answers(cputime)),
];

/// The command of that name.
pub fn find(name: &str) -> Option<Handler> {
    ALL.iter().find(|(other, _)| *other == name).map(|(_, handler)| *handler)
}

fn known_command(_: &mut Session, args: Args<'_>) -> Reply {
    Ok(find(args::one(args, "a command")?).is_some().to_string())
}

fn list_commands(_: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    Ok(ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\n"))
}

fn quit(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.quits = true;
    Ok(String::new())
}

/// Takes one number, or columns and rows as two arguments or with a colon between them.
fn boardsize(session: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [columns, rows] => change_size(session, columns, rows),
        _ => {
            let sides = args::one(args, "columns and rows, in one number if they are the same")?;
            let (columns, rows) = sides.split_once(':').unwrap_or((sides, sides));
            change_size(session, columns, rows)
        }
    }
}

fn change_size(session: &mut Session, columns: &str, rows: &str) -> Reply {
    let got = || format!("unacceptable size: expected sides from {LEAST_SIDE} to {MAX_SIDE}, got {columns} and {rows}");
    let size = board_size(columns, rows).ok_or_else(got)?;
    session.player.prepare(size)?;
    session.begin(&Board::new(size), Color::Black);
    Ok(String::new())
}

fn clear_board(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.begin(&Board::new(session.record.size()), Color::Black);
    Ok(String::new())
}

fn set_position(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    if args.len() % 2 == 1 {
        return Err(args::expected("pairs of color and point", args));
    }
    let pairs = args.chunks_exact(2).map(|pair| Ok((args::color(&pair[0])?, args::point(&pair[1], size)?)));
    let stones = pairs.collect::<Result<Vec<_>, String>>()?;
    let board = Board::with_stones(size, stones).map_err(|error| format!("illegal position: {error}"))?;
    session.begin(&board, Color::Black);
    Ok(String::new())
}

impl Session {
    /// Begins a new game on this board.
    fn begin(&mut self, board: &Board, first: Color) {
        self.record.begin(board, first);
        self.player.new_game();
        self.ponders = false;
    }
}

fn komi(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "a komi, a multiple of 0.5 from -400 to 400";
    let text = args::one(args, what)?;
    let komi = text.parse().ok().and_then(Komi::from_points).ok_or_else(|| args::expected(what, args))?;
    session.record.set_komi(komi);
    Ok(String::new())
}

fn play(session: &mut Session, args: Args<'_>) -> Reply {
    let [color, vertex] = args else { return Err(args::expected("a color and a vertex", args)) };
    let color = args::color(color)?;
    // A player who resigns makes no move.
    if vertex.eq_ignore_ascii_case("resign") {
        return Ok(String::new());
    }
    let mv = args::vertex(vertex, session.record.size())?;
    session.record.play(color, mv)?;
    session.ponders = true;
    Ok(String::new())
}

fn undo(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    if !session.record.undo() {
        return Err("cannot undo: no move was played".to_string());
    }
    session.player.forget_beyond(session.record.moves().len());
    session.ponders = false;
    Ok(String::new())
}

/// Ends what is thought about in the opponent's time, and an analysis, which ends with any line.
fn stop(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.ponders = false;
    Ok(String::new())
}

fn fixed_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    let most = handicap::most(size);
    let stones = args::number(args::one(args, "a number of stones")?, "a number of stones")?;
    let points = handicap::fixed(size, stones).ok_or_else(|| match most {
        0 => "invalid number of stones: this board has no points for a fixed handicap".to_string(),
        _ => format!("invalid number of stones: expected {} to {most}, got {stones}", handicap::LEAST),
    })?;
    put_handicap(session, &points)
}

fn place_free_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let stones: usize = args::number(args::one(args, "a number of stones")?, "a number of stones")?;
    // Half of the points stay free for the game.
    let most = session.record.size().area() / 2;
    if !(handicap::LEAST..=most).contains(&stones) {
        return Err(format!("invalid number of stones: expected {} to {most}, got {stones}", handicap::LEAST));
    }
    must_be_empty(session)?;
    let points = session.player.handicap(&session.record, stones)?;
    put_handicap(session, &points)
}

fn set_free_handicap(session: &mut Session, args: Args<'_>) -> Reply {
    let size = session.record.size();
    let points = args.iter().map(|text| args::point(text, size)).collect::<Result<Vec<_>, _>>();
    let points = points.map_err(|error| format!("bad vertex list: {error}"))?;
    if points.len() < handicap::LEAST {
        return Err(format!("bad vertex list: expected two points or more, got {}", points.len()));
    }
    put_handicap(session, &points)?;
    Ok(String::new())
}

fn must_be_empty(session: &Session) -> Result<(), String> {
    let is_empty = session.record.moves().is_empty() && session.record.game().board().occupied().is_empty();
    if is_empty { Ok(()) } else { Err("board not empty".to_string()) }
}

fn put_handicap(session: &mut Session, points: &[Move]) -> Reply {
    must_be_empty(session)?;
    let size = session.record.size();
    let board = Board::with_stones(size, points.iter().map(|point| (Color::Black, *point)));
    session.begin(&board.map_err(|error| format!("bad vertex list: {error}"))?, Color::White);
    Ok(vertices(size, points))
}

fn vertices(size: Size, points: &[Move]) -> String {
    points.iter().map(|point| size.format(*point).to_string()).collect::<Vec<_>>().join(" ")
}

fn genmove(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>) -> Reply {
    let color = args::color(args::one(args, "a color")?)?;
    let decision =
        session.player.decide(slot, &session.record, color, &AnalyzeRequest::default(), true, |_, _| true)?;
    session.carry_out(color, decision)
}

/// The answer of a search that the next line of input has ended.
const CANCELLED: &str = "cancelled";

/// Chooses a move without playing it. If `cancellable`, the next line of input ends the search.
fn search(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>, cancellable: bool) -> Reply {
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
struct Mode {
    style: Style,
    /// Whether the move is played.
    plays: bool,
    /// Whether the next line of input ends the search.
    cancellable: bool,
}

const GENMOVE: Mode = Mode { style: Style::Kata, plays: true, cancellable: false };
const LZ_GENMOVE: Mode = Mode { style: Style::Lz, ..GENMOVE };
const SEARCH: Mode = Mode { plays: false, ..GENMOVE };
const CANCELLABLE: Mode = Mode { cancellable: true, ..SEARCH };

/// Like `genmove` or `kata-search`, with lines during the search and one at its end.
fn decide(session: &mut Session, slot: &mut SearchSlot<'_>, stream: &mut Stream, args: Args<'_>, mode: Mode) -> Reply {
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
fn analyze(
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

fn raw(session: &mut Session, args: Args<'_>) -> Reply {
    raw_of(session, session.player.evaluator(), &SCORES, args)
}

/// Like `kata-raw-nn`, from the network for human play beside the main one.
fn raw_human(session: &mut Session, args: Args<'_>) -> Reply {
    let human = session
        .player
        .human()
        .ok_or("expected a network for human play beside the main one (--human-model), got none")?;
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
    let [value_error, score_error] = evaluation.errors.unwrap_or([-1.0; 2]);
    let mut text = format!("symmetry {}\n", symmetry.number());
    for (name, number, is_told) in [
        ("whiteWin", win, true),
        ("whiteLoss", loss, true),
        ("noResult", evaluation.no_result, true),
        ("whiteLead", sign * evaluation.lead, scores.all),
        (scores.mean, sign * mean, true),
        (scores.square, mean * mean + stdev * stdev, true),
        ("varTimeLeft", evaluation.variance_time, scores.all),
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

fn time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "main time, overtime and its stones";
    let [main, period, stones] = args else { return Err(args::expected(what, args)) };
    let times = clock::seconds(main).zip(clock::seconds(period)).zip(stones.parse().ok());
    let ((main, period), stones) = times.ok_or_else(|| args::expected(what, args))?;
    session.player.set_system(System::of_gtp(main, period, stones));
    Ok(String::new())
}

fn time_left(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "a color, seconds and stones";
    let [color, time, stones] = args else { return Err(args::expected(what, args)) };
    let color = args::color(color)?;
    // Some controllers let a clock run below zero.
    let time = time.parse().ok().filter(|time: &f64| time.is_finite()).map(|time| time.max(0.0));
    let (time, stones) = time.zip(stones.parse().ok()).ok_or_else(|| args::expected(what, args))?;
    session.player.clock(color).set_left(time, stones);
    Ok(String::new())
}

fn kgs_time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    if let Some(kind) = args.first().filter(|kind| kind.to_ascii_lowercase().starts_with("fischer")) {
        return Err(args::expected("none, absolute, byoyomi or canadian", std::slice::from_ref(kind)));
    }
    kata_time_settings(session, args)
}

fn kata_time_settings(session: &mut Session, args: Args<'_>) -> Reply {
    session.player.set_system(System::read(args).map_err(|error| format!("syntax error: {error}"))?);
    Ok(String::new())
}

fn final_score(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    session.ponders = false;
    final_lead(session).map(scoring::text)
}

/// White's lead in a game, which need not be over.
fn final_lead(session: &Session) -> Result<f64, String> {
    match scoring::by_the_rules(&session.record) {
        Some(lead) => Ok(lead),
        None => Ok(session.player.judge(&session.record, None)?.final_lead(&session.record)),
    }
}

fn final_status_list(session: &mut Session, args: Args<'_>) -> Reply {
    let what = format!("one of {}", scoring::STATUSES.join(", "));
    let status = args::one(args, &what)?;
    if !scoring::STATUSES.contains(&status) {
        return Err(args::expected(&what, args));
    }
    session.ponders = false;
    let judged = match Judged::by_the_rules(&session.record) {
        Some(judged) => judged,
        None => session.player.judge(&session.record, None)?,
    };
    let lists = judged.list(status, session.record.game().board());
    let lines: Vec<String> = lists.iter().map(|chain| vertices(session.record.size(), chain)).collect();
    Ok(lines.join("\n"))
}

fn loadsgf(session: &mut Session, args: Args<'_>) -> Reply {
    let (file, before) = match args {
        [] => return Err(args::expected("a file, and perhaps the number of a move", args)),
        [name @ .., number] if !name.is_empty() && number.parse::<usize>().is_ok() => {
            (name.join(" "), number.parse().ok())
        }
        name => (name.join(" "), None),
    };
    let cannot = |error: String| format!("cannot load file: {error}");
    // Names and comments in older files may be in any encoding.
    let text = crate::utf16::read_lossily(Path::new(&file)).map_err(|error| cannot(format!("{file}: {error}")))?;
    let sgf = sgf::read(&text).map_err(cannot)?;
    // As in KataGo, a number beyond the end means the end.
    let moves = match before {
        Some(0) => return Err(cannot("expected a move from 1 on, got 0".to_string())),
        Some(before) => before - 1,
        None => usize::MAX,
    };
    let (rules, fault) = sgf.rules(session.record.rules());
    if let Some(fault) = fault {
        aside(&fault);
    }
    let record = sgf.record(rules, moves, session.player.params.black_run_is_handicap).map_err(cannot)?;
    session.player.prepare(sgf.size)?;
    session.player.new_game();
    session.ponders = false;
    session.record = record;
    Ok(String::new())
}

/// The result of a game that is over, as a file has it; `None` if the game goes on, or if it can't be judged.
fn result(session: &Session) -> Option<String> {
    match session.record.game().outcome()? {
        Outcome::NoResult => Some("Void".to_string()),
        Outcome::WhiteLead(_) | Outcome::ToBeAgreed => {
            let lead = final_lead(session).inspect_err(|error| aside(&format!("no result: {error}")));
            lead.ok().map(scoring::text)
        }
    }
}

fn printsgf(session: &mut Session, args: Args<'_>) -> Reply {
    let text = sgf::write(&session.record, result(session).as_deref());
    if args.is_empty() || args == ["-"] {
        return Ok(text);
    }
    let file = args.join(" ");
    std::fs::write(&file, text).map_err(|error| format!("cannot write file: {file}: {error}"))?;
    Ok(String::new())
}

/// As in KataGo, rules with a komi are refused: the komi stays, so a komi among them would have no effect.
fn set_rules(session: &mut Session, args: Args<'_>) -> Reply {
    let text = args.join(" ");
    let rules = if text.contains("komi") {
        Err(format!("expected rules without a komi, which the command komi sets, got {}", quoted(&text)))
    } else {
        settings::named_rules(&text)
    };
    change_rules(session, rules)
}

fn set_rule(session: &mut Session, args: Args<'_>) -> Reply {
    let [axis, value] = args else { return Err(args::expected("a rule and its value", args)) };
    change_rules(session, settings::with_axis(session.record.rules(), axis, value))
}

/// KGS's Chinese rules differ from KataGo's `chinese`: they have superko.
fn kgs_rules(session: &mut Session, args: Args<'_>) -> Reply {
    let what = "one of chinese, aga, japanese, new_zealand";
    let name = match args::one(args, what)?.to_ascii_lowercase().as_str() {
        "chinese" => "chinese-kgs",
        "aga" => "aga",
        "japanese" => "japanese",
        "new_zealand" => "new-zealand",
        _ => return Err(args::expected(what, args)),
    };
    change_rules(session, settings::named_rules(name))
}

/// Changes the rules, except for the komi.
fn change_rules(session: &mut Session, rules: Result<Rules, String>) -> Reply {
    let rules = rules.map_err(|error| format!("unknown rules: {error}"))?;
    session.record.set_rules(Rules { komi: session.record.rules().komi, ..rules });
    Ok(String::new())
}

/// Parameters that have an effect only at the start of the program.
const AT_THE_START: [&str; 4] =
    ["assumeMultipleStartingBlackMovesAreHandicap", "defaultBoardSize", "ponderingEnabled", "warnUnusedFields"];

fn names_of_params() -> Vec<&'static str> {
    let all = Params::NAMES.iter().chain(Settings::NAMES).copied();
    all.filter(|name| !AT_THE_START.contains(name)).collect()
}

fn get_param(session: &mut Session, args: Args<'_>) -> Reply {
    let name = args::one(args, "a parameter")?;
    value_of_param(session, name).ok_or_else(|| no_param("get", name))
}

/// Answers with all parameters, as a JSON object.
fn get_params(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    let pair = |name: &'static str| {
        let text = value_of_param(session, name)?;
        // A value that is neither a number nor a boolean is text.
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Some((name.to_string(), value))
    };
    Ok(Value::Object(names_of_params().into_iter().filter_map(pair).collect()).to_string())
}

fn value_of_param(session: &Session, name: &str) -> Option<String> {
    let value = session.player.settings.get(name).or_else(|| session.player.params.get(name));
    value.filter(|_| names_of_params().contains(&name))
}

/// The value of a parameter that nothing has set; empty if it has none.
fn default_of_param(name: &str) -> String {
    Settings::default().get(name).or_else(|| Player::defaults().get(name)).unwrap_or_default()
}

/// The error for a parameter that a command can't `get` or `change`.
fn no_param(wanted: &str, name: &str) -> String {
    let expected = "expected one that kata-list-params lists, got";
    if Params::has(name) || Settings::has(name) {
        return format!(
            "cannot {wanted} parameter: {expected} one without effect, or that counts at the start alone: {name}"
        );
    }
    format!("unknown parameter: {expected} {}", quoted(name))
}

fn set_param(session: &mut Session, args: Args<'_>) -> Reply {
    let pair = match args {
        [name] => (name.clone(), String::new()),
        [name, value] => (name.clone(), value.clone()),
        _ => return Err(args::expected("a parameter and its value", args)),
    };
    change_params(session, &[pair])
}

fn set_params(session: &mut Session, args: Args<'_>) -> Reply {
    let object: Result<Object, _> = serde_json::from_str(&args.join(" "));
    let object = object.map_err(|_| args::expected("an object of parameters and their values", args))?;
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let pairs: Vec<_> = object.into_iter().map(|(name, value)| (name, text(value))).collect();
    change_params(session, &pairs)
}

/// Changes all of the parameters, or none if there is an error. As in KataGo, an empty value takes back what was set: the
/// default holds again.
fn change_params(session: &mut Session, pairs: &[(String, String)]) -> Reply {
    let player = &mut session.player;
    let (mut settings, mut params) = (player.settings, player.params);
    let mut lacking = Vec::new();
    for (name, value) in pairs {
        if names_of_params().contains(&name.as_str()) {
            let value = if value.is_empty() { default_of_param(name) } else { value.clone() };
            if settings.set(name, &value)? == Known::No {
                params.set(name, &value)?;
            }
        } else if !Params::may_lack(name) {
            return Err(no_param("change", name));
        } else if !value.is_empty() && Params::lacks(name, value) {
            lacking.push(format!("{name}={value} has no effect"));
        }
    }
    let imitation = player.imitation();
    imitation.permits(pairs.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str()))?;
    imitation.suits(&params)?;
    lacking.iter().for_each(|line| aside(line));
    (player.settings, player.params) = (settings, params);
    for (name, value) in pairs {
        // Only a value that somebody has set replaces what the player would do by itself.
        match name.as_str() {
            "maxVisits" => player.has_visits = !value.is_empty(),
            ADVANTAGE => player.has_advantage = !value.is_empty(),
            _ => {}
        }
    }
    Ok(String::new())
}

fn get_models(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    let player = &session.player;
    let networks = [Some(player.evaluator()), player.human()].into_iter().flatten();
    let models: Value = networks.map(|network| describe_model(network, session.record.size())).collect();
    Ok(models.to_string())
}

fn clear_cache(session: &mut Session, slot: &mut SearchSlot<'_>, args: Args<'_>) -> Reply {
    args::none(args)?;
    slot.forget();
    session.player.evaluator().clear_cache();
    session.player.human().into_iter().for_each(Evaluator::clear_cache);
    Ok(String::new())
}

fn cputime(session: &mut Session, args: Args<'_>) -> Reply {
    args::none(args)?;
    Ok(format!("{:.3}", session.player.seconds))
}
