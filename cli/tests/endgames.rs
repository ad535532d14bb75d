//! Endings with tablebases, and with built-in endings: a won position stays won, whatever the tree is like.
//!
//! This process probes the tables itself to check the moves of the real program, which it talks to over UCI. Results
//! are those with the fifty-move rule: a cursed win is not a win.

mod common;
mod driver;

use driver::Engine;
use oncilla_chess::{History, Move, Terminal, TwoFold, notation};
use oncilla_syzygy::three_men::{self, Known};
use oncilla_syzygy::{RankedMove, Tablebases, Wdl};
use oncilla_testing::{fixtures, shared};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A network that evaluates at random, so that only the tables keep the win.
const CLUELESS: &str = "--backend=random";

/// A position that the side to move wins.
#[derive(Clone)]
struct Start {
    /// The position with both counters.
    fen: String,
    game: History,
    /// What follows the first four fields in the file.
    operations: String,
}

impl Start {
    /// A start whose rule-50 counter is `rule50`: the number of plies without a zeroing move.
    fn new(position: &str, rule50: u8, operations: &str) -> Self {
        let fen = format!("{position} {rule50} 60");
        let game = History::from_fen(&fen).unwrap_or_else(|error| panic!("{fen}: {error}"));
        Self { fen, game, operations: operations.to_string() }
    }

    /// The number behind `name` in the operations.
    fn number(&self, name: &str) -> u8 {
        let number = self.operations.split(';').find_map(|operation| operation.trim().strip_prefix(name));
        number.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("{name} of {}", self.fen))
    }
}

/// The positions of a file, each with the rule-50 counter 0.
fn positions(file: &str) -> Vec<Start> {
    let path = fixtures().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read = |line: &str| {
        let fields: Vec<_> = line.splitn(5, ' ').collect();
        Start::new(&fields[..4].join(" "), 0, fields[4])
    };
    text.lines().map(read).collect()
}

fn wins() -> Vec<Start> {
    let wins = positions("syzygy/wins.epd");
    assert!(wins.len() >= 100, "{} positions", wins.len());
    wins
}

/// The same positions with a rule-50 counter at which only the fastest line is in time: a mate or a zeroing move on ply
/// 99.
fn last_minute_wins() -> Vec<Start> {
    let late = |start: &Start| {
        let position: Vec<_> = start.fen.split(' ').take(4).collect();
        Start::new(&position.join(" "), 99 - start.number("dtz"), &start.operations)
    };
    wins().iter().map(late).collect()
}

/// The tables, and their folder.
struct Judge {
    folder: PathBuf,
    tables: Tablebases,
}

impl Judge {
    fn new() -> Option<Self> {
        let folder = shared()?.join("syzygy");
        let tables = Tablebases::open(&folder.display().to_string()).expect("tables");
        Some(Self { folder, tables })
    }

    /// All moves with their results by rule 50; none if no table has the position.
    fn moves(&self, game: &History) -> Vec<RankedMove> {
        self.tables.root_moves(game, true).map_or(Vec::new(), |ranks| ranks.moves)
    }

    /// The result of a move, if the tables have it.
    fn result(&self, game: &History, mv: Move) -> Option<Wdl> {
        self.moves(game).iter().find(|ranked| ranked.mv == mv).map(|ranked| ranked.wdl)
    }

    /// The reply that delays the loss longest.
    fn defence(&self, game: &History) -> Move {
        let moves = self.moves(game);
        let longest = moves.iter().max_by_key(|ranked| (ranked.wdl.points(), ranked.dtz.map(i32::abs)));
        longest.unwrap_or_else(|| panic!("no table knows {}", game.board())).mv
    }
}

/// A folder with only the WDL tables, and no DTZ tables. It is removed with the test.
struct WithoutDistances(PathBuf);

impl WithoutDistances {
    fn of(folder: &Path, name: &str) -> Self {
        let copy = std::env::temp_dir().join(format!("oncilla-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&copy).expect("a folder");
        for file in std::fs::read_dir(folder).expect("tables").map(|entry| entry.expect("a file").path()) {
            if file.extension().is_some_and(|extension| extension == "rtbw") {
                std::fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy");
            }
        }
        Self(copy)
    }
}

impl Drop for WithoutDistances {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn engine(folder: &Path, backend: &str) -> Engine {
    let tables = format!("--syzygy-paths={}", folder.display());
    let mut engine = Engine::with(&[backend, &tables, "--no-builtin-endgames"]);
    engine.ask("isready", "readyok");
    engine
}

fn words(moves: &[Move]) -> String {
    moves.iter().map(|mv| format!(" {mv}")).collect()
}

/// The move that the engine plays after `moves`, which have led to `game`.
fn answer(engine: &mut Engine, fen: &str, moves: &[Move], game: &History, nodes: u32) -> Move {
    let moves = if moves.is_empty() { String::new() } else { format!(" moves{}", words(moves)) };
    engine.say(&format!("position fen {fen}{moves}"));
    let text = engine.best_move(&format!("go nodes {nodes}"));
    notation::parse_move(game.board(), &text).unwrap_or_else(|error| panic!("{text} in {fen}{moves}: {error}"))
}

/// Checks that the first move from each position keeps the win.
fn roots_stay_won(judge: &Judge, folder: &Path, starts: &[Start], nodes: u32) {
    let mut engine = engine(folder, CLUELESS);
    for Start { fen, game, .. } in starts {
        engine.say("ucinewgame");
        let mv = answer(&mut engine, fen, &[], game, nodes);
        assert_eq!(judge.result(game, mv), Some(Wdl::Win), "{mv} after {nodes} nodes in {fen}, {}", folder.display());
    }
}

/// A move in `searchmoves` gets the tables' result of the position after it, whether it is right or not.
#[test]
fn a_named_move_is_judged_by_the_tables() {
    let Some(judge) = Judge::new() else { return };
    let mut engine = engine(&judge.folder, CLUELESS);
    let mut asked = 0;
    for Start { fen, game, .. } in wins() {
        // In the tree, the tables are probed only after a capture or a pawn move.
        let is_asked = |ranked: &RankedMove| {
            let mut after = game.clone();
            after.push(ranked.mv);
            after.last().rule50() == 0
        };
        let draws = judge.moves(&game).into_iter().find(|ranked| ranked.wdl == Wdl::Draw && is_asked(ranked));
        let Some(draws) = draws else { continue };
        engine.say("ucinewgame");
        engine.say(&format!("position fen {fen}"));
        let lines = engine.ask(&format!("go nodes 20 searchmoves {}", draws.mv), "bestmove");
        let info = &lines[lines.len() - 2];
        assert!(info.contains(" score cp 0 "), "{} in {fen}: {info}", draws.mv);
        asked += 1;
    }
    assert!(asked >= 5, "{asked} positions with such a move that draws");
}

/// Positions of four men: each with its expected score for the side to move, and with its score in an info line.
const KNOWN: [(&str, f64, &str); 4] = [
    ("8/2N2N2/7K/8/8/8/1k6/8 w - - 0 1", 0.5, " score cp 0 wdl 0 1000 0 "),
    ("5k2/8/5p2/8/5P2/8/8/K7 b - - 52 60", 1.0, " score mate "),
    // A win that is only a draw, because the rule-50 counter runs out first.
    ("5k2/8/5p2/8/5P2/8/8/K7 b - - 98 60", 0.5, " score cp 0 wdl 0 1000 0 "),
    ("8/8/8/8/8/2k5/1q6/3K4 w - - 0 1", 0.0, " score mate -"),
];

/// With a root in the tables, the search probes nothing, and the score does not depend on the search.
#[test]
fn a_known_root_is_shown_as_the_tables_know_it() {
    let Some(judge) = Judge::new() else { return };
    let results_only = WithoutDistances::of(&judge.folder, "shown");
    let mut uci = engine(&judge.folder, CLUELESS);
    let mut without_distances = engine(&results_only.0, CLUELESS);
    let syzygy = format!("--syzygy-paths={}", judge.folder.display());
    let mut analysis = Engine::with(&["analysis", CLUELESS, &syzygy, "--no-builtin-endgames"]);
    for (fen, winrate, score) in KNOWN {
        let info = |engine: &mut Engine| {
            engine.say("setoption name UCI_ShowWDL value true");
            engine.say("ucinewgame");
            engine.say(&format!("position fen {fen}"));
            let lines = engine.ask("go nodes 800", "bestmove");
            lines.into_iter().rfind(|line| line.contains(" score ")).expect("an info line")
        };
        let line = info(&mut uci);
        assert!(line.contains(score), "{fen}: {line}");
        if fen.ends_with("w - - 0 1") && winrate == 0.5 {
            let line = info(&mut without_distances);
            assert!(line.contains(score), "{fen} without distances: {line}");
        }
        let query = format!(r#"{{"id":"a","fen":"{fen}","moves":[],"includeTree":true}}"#);
        let line = analysis.ask(&query, "{").pop().expect("a line");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let moves = answer["moveInfos"].as_array().expect("moves");
        for info in moves.iter().chain([&answer["rootInfo"], &answer["tree"][0]]) {
            assert_eq!((&info["winrate"], &info["lcb"]), (&winrate.into(), &winrate.into()), "{fen}: {info}");
            assert!(winrate != 0.5 || info["scoreCp"] == 0, "{fen}: {info}");
        }
        assert!(moves[0]["mate"].is_null(), "what a table says is no mate that was found: {fen}: {}", moves[0]);
    }
}

/// A move that keeps the result has no loss, and one that does not is marked.
#[test]
fn a_report_judges_by_the_tables() {
    let Some(judge) = Judge::new() else { return };
    let folder = driver::Folder::new("report-endgames");
    let games = [
        // A draw with any of these moves.
        ("8/2N2N2/7K/8/8/8/1k6/8 w - - 0 1", "1. Kg5 Kc3 2. Ne5 Kd4 3. Kf4 Kc3 4. Ke3 Kb4 5. Nd3+ Kc3 6. Ne6 Kc2"),
        // A win until the queen is left unprotected.
        ("8/8/8/8/8/2k5/2q5/K7 b - - 0 1", "1... Qd2 2. Kb1 Qe2 3. Ka1 Qe1+ 4. Ka2 Qb1+ 5. Kxb1"),
    ];
    let text = games.map(|(fen, moves)| format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n{moves} *\n\n"));
    std::fs::write(folder.0.join("games.pgn"), text.concat()).expect("a file");
    let syzygy = format!("--syzygy-paths={}", judge.folder.display());
    let output = driver::run(&["report", &folder.file("games.pgn"), CLUELESS, "--max-visits=30", &syzygy], "");
    assert!(output.status.success(), "{}", driver::stderr(&output));
    let pgn = driver::stdout(&output).lines().find(|name| name.ends_with(".pgn")).expect("a file").to_string();
    let annotated = std::fs::read_to_string(pgn).expect("a file");
    let marks: Vec<&str> = annotated.split_whitespace().filter(|word| ["$2", "$4", "$6"].contains(word)).collect();
    assert_eq!(marks, ["$4"], "{annotated}");
}

/// Plays until mate against the longest defence, and checks each of the winner's moves whose result the tables have.
/// The tree is kept from move to move. Returns the number of plies.
fn win(engine: &mut Engine, judge: &Judge, start: &Start, nodes: u32) -> usize {
    let (fen, mut game, mut moves) = (&start.fen, start.game.clone(), Vec::new());
    engine.say("ucinewgame");
    let end = loop {
        // Rule 50 ends the game at some time.
        if let Some(end) = game.terminal(moves.len(), TwoFold::Ignored) {
            break end;
        }
        let mv = if moves.len() % 2 == 1 {
            judge.defence(&game)
        } else {
            let mv = answer(engine, fen, &moves, &game, nodes);
            let result = judge.result(&game, mv);
            assert_eq!(result.unwrap_or(Wdl::Win), Wdl::Win, "{mv} in {fen} after{}", words(&moves));
            mv
        };
        moves.push(mv);
        game.push(mv);
    };
    assert_eq!(end, Terminal::Checkmate, "{fen}{}", words(&moves));
    assert_eq!(moves.len() % 2, 1, "the winner mates");
    moves.len()
}

/// Wins all of the positions, and prints the number of plies.
fn win_all<'a>(engine: &mut Engine, judge: &Judge, starts: impl Iterator<Item = &'a Start>, nodes: u32) {
    let plies: usize = starts.map(|start| win(engine, judge, start, nodes)).sum();
    oncilla_testing::say(&format!("{plies} plies played out, {nodes} nodes a move"));
}

#[test]
fn a_won_root_stays_won() {
    let Some(judge) = Judge::new() else { return };
    let results_only = WithoutDistances::of(&judge.folder, "won");
    let wins = wins();
    for nodes in [1, 10, 100] {
        roots_stay_won(&judge, &judge.folder, &wins, nodes);
        roots_stay_won(&judge, &results_only.0, &wins, nodes);
    }
}

/// Only the DTZ tables can tell which moves are fast enough.
#[test]
fn a_win_that_is_in_time_to_the_ply_stays_in_time() {
    let Some(judge) = Judge::new() else { return };
    let late = last_minute_wins();
    let cursed = late.iter().filter(|start| judge.moves(&start.game).iter().any(|mv| mv.wdl == Wdl::CursedWin));
    assert!(cursed.count() > late.len() / 2, "rule 50 hardly matters");
    roots_stay_won(&judge, &judge.folder, &late, 10);
    let mut engine = engine(&judge.folder, CLUELESS);
    win_all(&mut engine, &judge, late.iter().step_by(10), 20);
}

#[test]
fn wins_are_won() {
    let Some(judge) = Judge::new() else { return };
    let mut engine = engine(&judge.folder, CLUELESS);
    win_all(&mut engine, &judge, wins().iter().step_by(5), 20);
}

/// All positions, with one playout and with many, and with both rule-50 counters.
#[test]
#[ignore = "takes minutes"]
fn all_wins_are_won() {
    let Some(judge) = Judge::new() else { return };
    let starts = [wins(), last_minute_wins()].concat();
    for (threads, nodes) in [(1, 1), (2, 100)] {
        let mut engine = engine(&judge.folder, CLUELESS);
        engine.say(&format!("setoption name Threads value {threads}"));
        win_all(&mut engine, &judge, starts.iter(), nodes);
    }
}

/// One ply before the tables apply, so they are probed in the tree but not at the root.
#[test]
fn a_capture_that_wins_is_found_in_the_tree() {
    let Some(judge) = Judge::new() else { return };
    let results_only = WithoutDistances::of(&judge.folder, "tree");
    for folder in [&judge.folder, &results_only.0] {
        let mut engine = engine(folder, "--backend=host");
        for Start { fen, game, operations } in positions("positions/conversions.epd") {
            assert!(judge.moves(&game).is_empty(), "a table knows {fen}");
            let winning = operations.trim_start_matches("bm ").trim_end_matches(';');
            let won = notation::parse_move(game.board(), winning).unwrap_or_else(|error| panic!("{fen}: {error}"));
            engine.say("ucinewgame");
            let mv = answer(&mut engine, &fen, &[], &game, 400);
            let line = &engine.heard[engine.heard.len() - 2];
            // Another move is accepted only if it wins for certain too: by a mate, or by the tables some plies later.
            assert!(mv == won || line.contains(" score mate "), "{mv}, not {winning}, in {fen}: {line}");
            assert!(!line.contains(" tbhits 0 "), "no table was asked in {fen}: {line}");
        }
    }
}

/// Won positions of three men, without their counters, with a rook, a queen or a pawn: the longest win of each, and
/// some where Black is the stronger side or the bare king is to move.
const THREE_MEN: [&str; 12] = [
    "7R/8/8/3k4/8/8/8/K7 w - -",
    "7R/8/5k2/8/8/8/8/K7 b - -",
    "K7/2r5/8/8/8/8/6k1/8 b - -",
    "8/8/2R5/8/8/8/8/k1K5 b - -",
    "7K/6Q1/8/8/8/3k4/8/8 w - -",
    "7K/6Q1/8/3k4/8/8/8/8 b - -",
    "q6k/8/8/8/3K4/8/8/8 b - -",
    "8/8/8/1k6/8/8/1K4P1/8 w - -",
    "8/8/k7/8/8/K7/6P1/8 b - -",
    "8/8/8/8/8/k7/7P/K7 w - -",
    "8/1k4p1/8/8/1K6/8/8/8 b - -",
    "8/8/8/8/8/1K6/1p1k4/8 b - -",
];

fn known(game: &History) -> Known {
    three_men::probe(game.board()).unwrap_or_else(|| panic!("more men than three: {}", game.board()))
}

/// Won positions of three men, with the rule-50 counter at 0, and with one that leaves no ply to spare.
fn wins_of_three_men() -> Vec<Start> {
    let start = |position: &&str| {
        let now = Start::new(position, 0, "");
        let late = Start::new(position, 100 - known(&now.game).to_zeroing, "");
        [now, late]
    };
    THREE_MEN.iter().flat_map(start).collect()
}

/// Plays both sides until the game ends, and checks that it ends in mate, as soon as the rule-50 counter permits.
fn mate(engine: &mut Engine, start: &Start, nodes: u32) {
    let (mut game, mut moves) = (start.game.clone(), Vec::new());
    engine.say("ucinewgame");
    let end = loop {
        if let Some(end) = game.terminal(moves.len(), TwoFold::Ignored) {
            break end;
        }
        let mv = answer(engine, &start.fen, &moves, &game, nodes);
        moves.push(mv);
        game.push(mv);
    };
    assert_eq!(end, Terminal::Checkmate, "{}{}", start.fen, words(&moves));
    if known(&start.game).mate(start.game.rule50()).is_some() {
        assert_eq!(moves.len(), usize::from(known(&start.game).to_mate), "{}{}", start.fen, words(&moves));
    }
}

#[test]
fn three_men_are_mated_without_tables() {
    let starts = wins_of_three_men();
    assert!(starts.iter().all(|start| known(&start.game).wdl != Wdl::Draw));
    for (args, nodes) in [
        (vec!["--backend=random"], 20),
        (vec!["--backend=constant"], 20),
        (vec!["--backend=random"], 1),
        (vec!["--backend=random", "--threads=2", "--search-graph=graph"], 50),
    ] {
        let mut engine = Engine::with(&args);
        starts.iter().for_each(|start| mate(&mut engine, start, nodes));
    }
}

/// The last info line of a search before its `bestmove`.
fn last_info(engine: &mut Engine, position: &str, go: &str) -> String {
    engine.say("ucinewgame");
    engine.say(&format!("position fen {position}"));
    let lines = engine.ask(go, "bestmove");
    lines.into_iter().rfind(|line| line.contains(" score ")).expect("an info line")
}

/// The number of moves in an info line's `pv`.
fn moves_of(line: &str) -> usize {
    line.split_once(" pv ").expect("a line").1.split(' ').count()
}

/// A line that reaches an ending of three men continues until mate, and is as long as the score says.
#[test]
fn lines_go_on_where_three_men_are_left() {
    let mut engine = Engine::start();
    let fen = "8/8/8/8/7k/8/p7/R3K3 w - - 0 1";
    let line = last_info(&mut engine, fen, "go nodes 100 searchmoves a1a2");
    let score = line.split_once(" score mate ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let mate: usize = score.unwrap_or_else(|| panic!("no mate: {line}"));
    assert_eq!(moves_of(&line), 2 * mate - 1, "{line}");
    let mut game: History = History::from_fen(fen).expect("a position");
    for text in line.split_once(" pv ").unwrap().1.split(' ') {
        let mv = notation::parse_move(game.board(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
        game.push(mv);
    }
    assert_eq!(game.terminal(0, TwoFold::Ignored), Some(Terminal::Checkmate), "{line}");
    let mut analysis = Engine::with(&["analysis", "--analysis-pv-len=60"]);
    let named = r#"[{"player":"W","moves":["a1a2"],"untilDepth":1}]"#;
    let query = format!(r#"{{"id":"a","fen":"{fen}","moves":[],"maxVisits":100,"allowMoves":{named}}}"#);
    let line = analysis.ask(&query, "{").pop().expect("a line");
    let answer: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let best = &answer["moveInfos"][0];
    let length = best["pv"].as_array().expect("a line").len();
    assert_eq!(best["mate"].as_u64(), Some(length as u64 / 2 + 1), "{line}");
    engine.say("setoption name BuiltinEndgames value false");
    let line = last_info(&mut engine, fen, "go nodes 100 searchmoves a1a2");
    assert!(moves_of(&line) < 2 * mate - 1, "{line}");
}

/// Checks that no move of a line changes the result that the position after its first move has by `points`, which are
/// those of the side to move, and that lines are not cut without need: some have more than four moves.
fn lines_keep_their_result(lines: &[(&str, Vec<String>)], points: impl Fn(&History) -> Option<i8>) {
    let mut compared = 0;
    for (fen, line) in lines {
        let mut game: History = History::from_fen(fen).expect("a position");
        let mut results = Vec::new();
        for (ply, text) in line.iter().enumerate() {
            game.push(notation::parse_move(game.board(), text).unwrap_or_else(|error| panic!("{text}: {error}")));
            results.extend(points(&game).map(|points| if ply % 2 == 0 { points } else { -points }));
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{fen}: {line:?} has the results {results:?}");
        compared += results.len().saturating_sub(1);
    }
    assert!(compared > 0, "no line has two known results: {lines:?}");
    assert!(lines.iter().any(|(_, line)| line.len() > 4), "{lines:?}");
}

/// All lines that are printed in searches of `positions`.
fn lines_of<'f>(engine: &mut Engine, positions: &[&'f str]) -> Vec<(&'f str, Vec<String>)> {
    engine.say("setoption name MultiPV value 3");
    let mut lines = Vec::new();
    for fen in positions {
        engine.say("ucinewgame");
        engine.say(&format!("position fen {fen}"));
        for heard in engine.ask("go nodes 300", "bestmove") {
            let moves = heard.split_once(" pv ").map(|(_, moves)| moves.split(' ').map(str::to_string).collect());
            lines.extend(moves.map(|moves| (*fen, moves)));
        }
    }
    lines
}

/// A search might not see what the tables know: where a game is drawn, no line goes on until a side has lost.
#[test]
fn lines_of_three_men_keep_the_known_result() {
    let points = |game: &History| Some(three_men::probe(game.board())?.with_rule50(game.rule50()).points());
    let drawn = ["8/8/8/3k4/8/4p3/8/4K3 w - - 0 1", "8/2K5/8/5k2/8/8/3P4/8 w - - 0 1"];
    lines_keep_their_result(&lines_of(&mut Engine::with(&[CLUELESS]), &drawn), points);
    let mut analysis = Engine::with(&["analysis", CLUELESS]);
    let mut lines = Vec::new();
    for fen in drawn {
        let query = format!(r#"{{"id":"a","fen":"{fen}","moves":[],"maxVisits":300}}"#);
        let answer = analysis.ask(&query, "{").pop().expect("a line");
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        for info in answer["moveInfos"].as_array().expect("moves") {
            let moves = info["pv"].as_array().expect("a line").iter();
            lines.push((fen, moves.map(|mv| mv.as_str().expect("a move").to_string()).collect()));
        }
    }
    lines_keep_their_result(&lines, points);
}

/// So it is with a user's tables. (Lines from other positions end where they reach three men: the search knows these.)
#[test]
fn lines_keep_what_tables_know() {
    let Some(judge) = Judge::new() else { return };
    let points = |game: &History| judge.tables.wdl(game.board()).ok().map(Wdl::points);
    let positions = ["8/8/8/1p1k4/8/3K2P1/8/8 w - - 0 1", "8/8/3k4/8/1p6/8/2P5/1K6 w - - 0 1"];
    lines_keep_their_result(&lines_of(&mut engine(&judge.folder, CLUELESS), &positions), points);
}

/// A known mate is shown like one that the search found, with its moves.
#[test]
fn three_men_are_shown_as_they_are() {
    let mut engine = Engine::start();
    for (fen, score) in [
        ("8/8/8/3k4/8/8/8/K6R w - - 0 1", " score mate 15 "),
        ("8/8/2R5/8/8/8/8/k1K5 b - - 0 1", " score mate -2 "),
        ("8/8/8/8/8/k7/8/K2R4 b - - 96 90", " score cp 0 "),
        ("8/8/8/3k4/8/8/6P1/K7 b - - 0 1", " score cp 0 "),
    ] {
        let line = last_info(&mut engine, fen, "go nodes 200");
        assert!(line.contains(score) && !line.contains(" tbhits 0 "), "{fen}: {line}");
        let mate = usize::from(known(&History::from_fen(fen).expect("a position")).to_mate);
        assert!(score.contains("cp") || moves_of(&line) == mate, "{fen}: {line}");
    }
    // A move in `searchmoves` has the result of the position after it.
    let named = last_info(&mut engine, "8/8/8/3k4/8/8/8/K6R w - - 0 1", "go nodes 5 searchmoves h1h6");
    assert!(named.contains(" score mate 17 ") && moves_of(&named) == 33, "{named}");
    // Each move in `searchmoves` gets its own score, visited or not.
    engine.say("setoption name UCI_ShowWDL value true");
    engine.say("setoption name MultiPV value 2");
    engine.say("position fen 8/8/8/5k2/8/8/1Q6/K7 w - - 0 1");
    let lines = engine.ask("go nodes 50 searchmoves b2f6 b2b3", "bestmove");
    let [best, other, _] = &lines[lines.len() - 3..] else { panic!("{lines:#?}") };
    assert!(best.contains(" score mate 10 wdl 1000 0 0 ") && best.contains(" multipv 1 pv b2b3 "), "{best}");
    assert!(other.contains(" score cp 0 wdl 0 1000 0 ") && other.ends_with(" multipv 2 pv b2f6"), "{other}");
    // The lines are those of the shortest mates.
    engine.say("setoption name MultiPV value 9");
    engine.say("position fen 7R/8/8/3k4/8/8/8/K7 w - - 0 1");
    let lines = engine.ask("go nodes 200", "bestmove");
    let shortest: Vec<_> = lines.iter().rev().skip(1).take_while(|line| !line.contains(" multipv 1 ")).collect();
    assert!(!shortest.is_empty() && shortest.iter().all(|line| line.contains(" score mate 16 ")), "{lines:#?}");
    engine.say("setoption name BuiltinEndgames value false");
    let line = last_info(&mut engine, "8/8/8/3k4/8/8/8/K6R w - - 0 1", "go nodes 200");
    assert!(line.contains(" tbhits 0 ") && !line.contains(" mate "), "{line}");
}

/// The result of a move that captures the last pawn or piece is known before the move is searched further.
#[test]
fn three_men_are_known_at_leaves() {
    let mut engine = Engine::start();
    for (fen, capture, score) in [
        ("8/8/8/8/8/1k6/p7/R3K3 w - - 0 1", "a1a2", " score cp 0 "),
        ("8/8/8/8/7k/8/p7/R3K3 w - - 0 1", "a1a2", " score mate 1"),
        ("8/8/8/8/7k/8/8/rR2K3 b - - 0 1", "a1b1", " score mate 1"),
    ] {
        let line = last_info(&mut engine, fen, &format!("go nodes 10 searchmoves {capture}"));
        assert!(line.contains(score) && !line.contains(" tbhits 0 "), "{fen}: {line}");
    }
}

/// A known mate is found at once, with any limit, and neither side uses its time.
#[test]
fn a_mate_of_three_men_ends_the_search() {
    let mut engine = Engine::with(&[CLUELESS, "--smart-pruning-factor=1.33"]);
    for fen in ["8/8/8/3k4/8/8/8/K6R w - - 0 1", "8/8/8/3k4/8/8/7R/K7 b - - 0 1"] {
        for go in ["go mate 16", "go depth 10", "go wtime 60000 btime 60000"] {
            let line = last_info(&mut engine, fen, go);
            let nodes = line.split_once(" nodes ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<u32>().ok());
            assert!(nodes.is_some_and(|nodes| nodes < 100), "{fen}, {go}: {line}");
        }
    }
}

/// The built-in endings have the distance to mate, which a user's tables don't have.
#[test]
fn tables_hide_no_mate_of_three_men() {
    let Some(judge) = Judge::new() else { return };
    let mut engine = Engine::with(&[CLUELESS, &format!("--syzygy-paths={}", judge.folder.display())]);
    let line = last_info(&mut engine, "8/8/8/3k4/8/8/8/K6R w - - 0 1", "go nodes 50");
    assert!(line.contains(" score mate 15 "), "{line}");
    let line = last_info(&mut engine, "8/8/8/8/4k3/8/7n/K6R w - - 0 1", "go nodes 50 searchmoves h1h2");
    assert!(line.contains(" score mate 17 "), "{line}");
}

#[test]
fn analysis_knows_three_men() {
    let mut analysis = Engine::with(&["analysis", CLUELESS]);
    let fen = "8/8/8/3k4/8/8/8/K6R w - - 0 1";
    let mut ask = |more: &str| {
        let query = format!(r#"{{"id":"a","fen":"{fen}","moves":[],"maxVisits":50{more}}}"#);
        let line = analysis.ask(&query, "{").pop().expect("a line");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let best = &answer["moveInfos"][0];
        let lengths = ["pv", "pvVisits"].map(|key| best[key].as_array().expect("a line").len());
        (answer["rootInfo"]["winrate"].clone(), best["mate"].clone(), lengths)
    };
    // The answer has the mate's line, most of whose moves have no visits.
    assert_eq!(ask(r#","analysisPVLen":99,"includePVVisits":true"#), (1.0.into(), 15.into(), [29, 29]));
    let (winrate, mate, _) = ask(r#","includePVVisits":true,"overrideSettings":{"BuiltinEndgames":false}"#);
    assert!(winrate != 1.0 && mate.is_null(), "{winrate} {mate}");
}

/// After the capture, the win is played to the end.
#[test]
#[ignore = "takes minutes"]
fn a_capture_that_wins_is_followed_by_mate() {
    let Some(judge) = Judge::new() else { return };
    let mut engine = engine(&judge.folder, "--backend=host");
    win_all(&mut engine, &judge, positions("positions/conversions.epd").iter(), 400);
}

/// The shortest way to a win is one of several moves that keep it.
#[test]
fn fast_play_keeps_only_the_shortest_ways() {
    let Some(judge) = Judge::new() else { return };
    let kept = |engine: &mut Engine, fen: &str| -> BTreeSet<String> {
        engine.say("ucinewgame");
        engine.say(&format!("position fen {fen}"));
        let lines = engine.ask("go nodes 1", "bestmove");
        let moves = lines.iter().filter_map(|line| line.split(" pv ").nth(1)?.split(' ').next());
        moves.map(str::to_string).collect()
    };
    let mut fewer = 0;
    let [mut any, mut fast] = ["false", "true"].map(|fast| {
        let mut engine = engine(&judge.folder, CLUELESS);
        engine.say("setoption name MultiPV value 250");
        engine.say(&format!("setoption name SyzygyFastPlay value {fast}"));
        engine
    });
    for Start { fen, game, .. } in wins().iter().step_by(4) {
        let expected = [false, true].map(|fast| -> BTreeSet<String> {
            let ranks = judge.tables.root_moves(game, fast).expect("ranks");
            ranks.best().map(|ranked| ranked.mv.to_string()).collect()
        });
        assert_eq!([kept(&mut any, fen), kept(&mut fast, fen)], expected, "{fen}");
        fewer += usize::from(expected[1].len() < expected[0].len());
    }
    assert!(fewer >= 5, "{fewer} positions with longer ways");
}

/// The first search says it, and no other one until there are other folders.
#[test]
fn the_tables_that_were_found_are_said_once() {
    let Some(judge) = Judge::new() else { return };
    let results_only = WithoutDistances::of(&judge.folder, "said");
    let count = |extension: &str| {
        let files = std::fs::read_dir(&judge.folder).expect("tables").map(|entry| entry.expect("a file").path());
        files.filter(|file| file.extension().is_some_and(|it| it == extension)).count()
    };
    let (wdl, dtz, most) = (count("rtbw"), count("rtbz"), judge.tables.max_pieces());
    let said = |engine: &mut Engine| -> Vec<String> {
        let lines = engine.ask("go nodes 1", "bestmove");
        lines.into_iter().filter(|line| line.contains("Syzygy")).collect()
    };
    let mut engine = engine(&judge.folder, CLUELESS);
    let line = format!("info string Syzygy: {wdl} WDL and {dtz} DTZ tables, up to {most} pieces");
    assert_eq!([said(&mut engine), said(&mut engine)], [vec![line], vec![]]);
    engine.say(&format!("setoption name SyzygyPath value {}", results_only.0.display()));
    let line = format!("info string Syzygy: {wdl} WDL and 0 DTZ tables, up to {most} pieces");
    assert_eq!([said(&mut engine), said(&mut engine)], [vec![line], vec![]]);
    engine.say("setoption name SyzygyPath value /no such folder");
    let none = said(&mut engine);
    let start = "info string Syzygy: expected Syzygy tables (KQvK.rtbw and such), found none in /no such folder (";
    assert!(none.len() == 1 && none[0].starts_with(start), "{none:?}");
}
