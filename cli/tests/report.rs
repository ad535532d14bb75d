//! Tests `oncilla report` through the real binary, and the HTML page in a real browser.

mod driver;

use driver::{Folder, binary, run, stderr, stdout};
use oncilla::report::pgn::{Game, NextGame, Played, Reader};
use oncilla_chess::Square;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A game that ends in mate, one from another position, one of Chess960, an invalid one, and one without moves.
const GAMES: &str = r#"[Event "A test"]
[White "Anna </script>"]
[Black "Bea"]
[Result "0-1"]

{It is short.} 1. f3 e5 (1... d5 2. e4) 2. g4 $4 Qh4# 0-1

[White "King"]
[Black "Pawn"]
[SetUp "1"]
[FEN "8/8/8/4k3/8/4K3/4P3/8 b - - 0 60"]
[Result "1/2-1/2"]

60... Kd5 61. Kd3 Ke5 62. Ke3 1/2-1/2

[White "Broken"]

1. e4 e5 2. Ke3 *

[Variant "Chess960"]
[FEN "rkr5/pppppppp/8/8/8/8/PPPPPPPP/RKR5 w CAca - 0 1"]

1. O-O O-O *

[White "Nobody"]

*
"#;

/// Makes the report of [`GAMES`] in `folder`.
fn report(folder: &Folder) -> std::process::Output {
    std::fs::write(folder.0.join("games.pgn"), GAMES).unwrap();
    let file = folder.file("games.pgn");
    run(&["report", &file, "--backend=random", "--parallel=2", "--max-visits=30"], "")
}

fn games(text: &str) -> Vec<Game> {
    let mut reader = Reader::new(text.as_bytes());
    std::iter::from_fn(|| reader.next_game().unwrap()).filter_map(NextGame::game).collect()
}

#[test]
fn every_position_is_in_all_three_files() {
    let folder = Folder::new("report-files");
    let output = report(&folder);
    assert!(output.status.success(), "{}", stderr(&output));
    let names: Vec<String> = stdout(&output).lines().map(str::to_string).collect();
    assert_eq!(names, ["pgn", "jsonl", "html"].map(|ending| folder.file(&format!("games.report.{ending}"))));
    let said = stderr(&output);
    assert!(said.contains("passed over: game 3, from line 16: ply 3: expected a legal move, got \"Ke3\""), "{said}");
    assert!(said.contains("4 games, 14 positions; 1 game passed over"), "{said}");

    let (own, annotated) = (games(GAMES), games(&folder.text("games.report.pgn")));
    assert_eq!((own.len(), annotated.len()), (4, 4));
    for (own, annotated) in own.iter().zip(&annotated) {
        let moves = |game: &Game| game.moves.iter().map(|played| played.mv).collect::<Vec<_>>();
        assert_eq!(
            (moves(own), &own.result, own.tag("White")),
            (moves(annotated), &annotated.result, annotated.tag("White"))
        );
        // A position with mate has no `%eval`.
        let is_mate = |played: &Played| annotated.tag("White") == Some("Anna </script>") && played.mv.to == Square::H4;
        let expected = |played: &Played| if is_mate(played) { "[%wdl 0 0 1000]" } else { "[%eval " };
        assert!(annotated.moves.iter().all(|played| played.comments[0].starts_with(expected(played))), "{annotated:?}");
    }
    assert_eq!(annotated[0].comments, ["It is short."]);
    assert!(annotated[0].moves[1].variations.contains(&"1... d5 2. e4".to_string()));

    let lines: Vec<Value> =
        folder.text("games.report.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turns = |id: &str| -> Vec<u64> {
        lines.iter().filter(|line| line["id"] == id).filter_map(|line| line["turnNumber"].as_u64()).collect()
    };
    assert_eq!((turns("1"), turns("2"), turns("3")), ((0..=4).collect(), (0..=4).collect(), vec![]));
    assert_eq!((turns("4"), turns("5"), lines.len()), ((0..=2).collect(), vec![0], 4 + 14));
    // Values are from White's view: she is mated, so it is 0.
    let mated = lines.iter().find(|line| line["id"] == "1" && line["turnNumber"] == 4).unwrap();
    assert_eq!(mated["rootInfo"]["winrate"], 0.0);
}

#[test]
fn a_report_needs_games() {
    let folder = Folder::new("report-none");
    let out = folder.file("x");
    let empty = run(&["report", "--out", &out, "--backend=random"], "\n");
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("standard input: no game in it that can be read"), "{}", stderr(&empty));
    let missing = run(&["report", "/no such file.pgn", "--backend=random"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("/no such file.pgn: "), "{}", stderr(&missing));
}

/// A won game that ends by threefold repetition, and one that rule 50 ends.
#[test]
fn what_ends_a_game_as_a_draw_is_worth_a_draw() {
    let folder = Folder::new("report-draws");
    let start = |fen: &str, moves: &str| format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n{moves}\n\n");
    let repeated =
        start("6k1/5p1p/6p1/8/8/8/2Q2PPP/6K1 w - - 0 1", "1. Qd3 Kg7 2. Qc3+ Kg8 3. Qd3 Kf8 4. Qc3 Kg8 5. Qd3 1/2-1/2");
    let late = start("6k1/5ppp/8/8/8/8/1Q3PPP/6K1 w - - 98 80", "80. Qb3 Kf8 1/2-1/2");
    let file = folder.file("games.pgn");
    std::fs::write(&file, repeated + &late).unwrap();
    let output = run(&["report", &file, "--backend=host", "--weights=tiny", "--max-visits=100"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    let games = games(&folder.text("games.report.pgn"));
    let (drawn, blunder) = ("[%eval 0.00] [%wdl 0 1000 0]", [4]);
    let (last, before) = games[0].moves.split_last().unwrap();
    assert!(last.comments[0].starts_with(&format!("{drawn} blunder, ")), "{last:?}");
    assert!(last.nags == blunder && last.variations.len() == 1, "{last:?}");
    assert!(before.iter().all(|played| !played.comments[0].starts_with(drawn)), "{before:?}");
    let [queen, king] = &games[1].moves[..] else { panic!("{:?}", games[1].moves) };
    assert!(queen.nags == blunder && queen.comments[0].contains(": Qb8#"), "{queen:?}");
    assert!(king.nags.is_empty() && king.comments == [drawn], "{king:?}");
}

#[test]
fn a_report_of_a_report_has_one_verdict_for_each_move() {
    let folder = Folder::new("report-again");
    assert!(report(&folder).status.success());
    let file = folder.file("games.report.pgn");
    let again = run(&["report", &file, "--backend=random", "--max-visits=60", "--out", &folder.file("again")], "");
    assert!(again.status.success(), "{}", stderr(&again));
    let (own, annotated) = (games(GAMES), games(&folder.text("again.pgn")));
    let verdicts = |played: &Played| played.comments.iter().filter(|comment| comment.contains("% → ")).count();
    let mut seen = 0;
    for (own, annotated) in own.iter().zip(&annotated) {
        for (own, annotated) in own.moves.iter().zip(&annotated.moves) {
            let found = verdicts(annotated);
            assert!(found <= 1 && annotated.variations.len() == own.variations.len() + found, "{annotated:?}");
            seen += found;
        }
    }
    assert!(seen > 0 && own.len() == annotated.len(), "{annotated:?}");
}

#[test]
fn one_visit_is_not_enough_for_a_verdict() {
    let folder = Folder::new("report-one");
    std::fs::write(folder.0.join("games.pgn"), GAMES).unwrap();
    let output = run(&["report", &folder.file("games.pgn"), "--backend=random", "--max-visits=1"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    let own: Vec<u8> =
        games(GAMES).iter().flat_map(|game| &game.moves).flat_map(|played| played.nags.clone()).collect();
    let annotated = games(&folder.text("games.report.pgn"));
    let found: Vec<u8> = annotated.iter().flat_map(|game| &game.moves).flat_map(|played| played.nags.clone()).collect();
    assert_eq!(found, own, "{annotated:?}");
}

/// The number of visits of each position of a report.
fn visits(folder: &Folder, name: &str) -> Vec<u64> {
    let lines = folder.text(name);
    lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["rootInfo"]["visits"].as_u64())
        .collect()
}

#[test]
fn time_alone_is_the_limit_where_no_visits_are_named() {
    let folder = Folder::new("report-time");
    let (file, config) = (folder.file("games.pgn"), folder.file("config"));
    std::fs::write(&file, "1. e4 *\n").unwrap();
    std::fs::write(&config, "max-visits = 500\n").unwrap();
    let arguments = ["report", &file, "--backend=constant", "--threads=1", "--parallel=1", "--max-time=0.5"];
    let config = format!("--config={config}");
    for (more, says) in [(None, " 0.5 s a position"), (Some(&config), "500 visits or 0.5 s a position")] {
        let output = run(&[&arguments[..], more.map(String::as_str).as_slice()].concat(), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let visits = visits(&folder, "games.report.jsonl");
        assert_eq!(visits.iter().all(|visits| *visits > 500), more.is_none(), "{visits:?}");
        assert!(folder.text("games.report.html").contains(says), "{says}");
    }
}

#[test]
fn a_report_that_comes_to_nothing_leaves_the_earlier_one() {
    let folder = Folder::new("report-earlier");
    let games = folder.file("GAMES.PGN");
    std::fs::write(&games, "1. e4 *\n").unwrap();
    let report = |more: &[&str]| run(&[&["report", &games, "--backend=random", "--max-visits=2"], more].concat(), "");
    assert!(report(&[]).status.success());
    let names = ["pgn", "jsonl", "html"].map(|ending| format!("GAMES.report.{ending}"));
    let texts = || names.each_ref().map(|name| folder.text(name));
    let (good, files) = (texts(), || std::fs::read_dir(&folder.0).unwrap().count());
    assert_eq!(files(), 4, "the games and three files");
    for nothing in [&b"\n"[..], b"1. e5 *\n", b"\x1f\x8bdamaged"] {
        std::fs::write(&games, nothing).unwrap();
        let output = report(&[]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        assert!(texts() == good && files() == 4, "{nothing:?}");
    }
    // A folder with the name of an output file is reported before the analysis begins.
    std::fs::write(&games, "1. e4 *\n").unwrap();
    std::fs::create_dir(folder.0.join("x.html")).unwrap();
    let output = report(&["--out", &folder.file("x")]);
    assert!(stderr(&output).contains("x.html: expected a file to write, got a folder"), "{}", stderr(&output));
    assert_eq!(files(), 5);
}

#[test]
fn games_may_be_packed_by_gzip() {
    use std::io::Write;
    let folder = Folder::new("report-gzip");
    // A file may consist of several gzip members.
    let mut packed = Vec::new();
    for game in ["1. e4 *\n", "1. d4 *\n"] {
        let mut gzip = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::default());
        gzip.write_all(game.as_bytes()).and_then(|()| gzip.finish().map(|_| ())).unwrap();
    }
    std::fs::write(folder.0.join("games.pgn.gz"), &packed).unwrap();
    let output = run(&["report", &folder.file("games.pgn.gz"), "--backend=random", "--max-visits=2"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(games(&folder.text("games.report.pgn")).len(), 2);
    // If a file is truncated, the complete games are not lost.
    std::fs::write(folder.0.join("cut.pgn.gz"), &packed[..packed.len() - 4]).unwrap();
    let output = run(&["report", &folder.file("cut.pgn.gz"), "--backend=random", "--max-visits=2"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cut.report.pgn.part"), "{}", stderr(&output));
    assert!(!games(&folder.text("cut.report.pgn.part")).is_empty() && !folder.0.join("cut.report.pgn").exists());
    let out = folder.file("piped");
    let piped = driver::run_bytes(&["report", "--out", &out, "--backend=random", "--max-visits=2"], &packed);
    assert!(piped.status.success(), "{}", stderr(&piped));
    assert_eq!(games(&folder.text("piped.pgn")).len(), 2);
}

#[test]
fn a_report_is_in_pawns() {
    for (unit, is_taken) in [("win_percentage", false), ("Q", false), ("W-L", false), ("centipawn_2019", true)] {
        let folder = Folder::new("report-unit");
        std::fs::write(folder.0.join("games.pgn"), GAMES).unwrap();
        let score = format!("--score-type={unit}");
        let output = run(&["report", &folder.file("games.pgn"), "--backend=random", "--max-visits=2", &score], "");
        assert_eq!(output.status.success(), is_taken, "{unit}: {}", stderr(&output));
        assert_eq!(stderr(&output).contains("--score-type: expected centipawns"), !is_taken);
    }
}

#[test]
fn many_games_need_the_memory_of_a_few() {
    let folder = Folder::new("report-many");
    let game = "[White \"W\"]\n\n1. e4 e5 2. Nf3 Nc6 *\n\n";
    let out = folder.file("many");
    let output = run(
        &["report", "--out", &out, "--backend=constant", "--parallel=2", "--max-visits=1", "--queue-mb=1"],
        &game.repeat(2000),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let numbers: Vec<usize> = (folder.text("many.jsonl").lines())
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["game"].as_u64().map(|number| number as usize))
        .collect();
    assert_eq!(numbers, (1..=2000).collect::<Vec<_>>(), "in their order");
    assert_eq!(games(&folder.text("many.pgn")).len(), 2000);
}

#[test]
fn the_games_are_not_written_over() {
    let folder = Folder::new("report-same");
    std::fs::write(folder.0.join("x.pgn"), "1. e4 *\n").unwrap();
    std::fs::hard_link(folder.0.join("x.pgn"), folder.0.join("linked.pgn")).unwrap();
    std::fs::copy(folder.0.join("x.pgn"), folder.0.join("page.html")).unwrap();
    for (games, out) in [("x.pgn", "x"), ("x.pgn", "linked"), ("page.html", "page")] {
        let refused = run(&["report", &folder.file(games), "--out", &folder.file(out), "--backend=random"], "");
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains("--out: expected another name"), "{}", stderr(&refused));
        assert_eq!(folder.text(games), "1. e4 *\n");
    }
    // Standard input may be redirected from a file too.
    let games = std::fs::File::open(folder.0.join("x.pgn")).unwrap();
    let refused =
        binary().args(["report", "--out", &folder.file("x"), "--backend=random"]).stdin(games).output().unwrap();
    assert!(stderr(&refused).contains("--out: expected another name"), "{}", stderr(&refused));
    assert_eq!(folder.text("x.pgn"), "1. e4 *\n");
}

/// A browser that can run headless.
fn browser() -> Option<&'static str> {
    let is_here =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"].into_iter().find(is_here)
}

/// The page's HTML after its scripts have run, and the browser's log.
fn open(browser: &str, folder: &Folder, page: &Path) -> (String, String) {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000"])
        .args(["--window-size=1200,1600", &format!("--user-data-dir={}", folder.file("profile")), "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let console = stderr(&output).lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    (stdout(&output), console)
}

#[test]
fn the_page_opens_in_a_browser() {
    let Some(browser) = browser() else {
        oncilla_testing::lacks_tool("no chromium is here");
        return;
    };
    let folder = Folder::new("report-page");
    assert!(report(&folder).status.success());
    let page = folder.0.join("games.report.html");
    let (shown, console) = open(browser, &folder, &page);
    assert_eq!(console, "", "the script says nothing, and nothing is refused");
    assert!(shown.contains("data-games=\"4\""), "{shown}");
    // The first game is open: at most two charts, a board, the moves, and the mistakes if there are any.
    let first = shown.split("<details").nth(1).unwrap();
    assert!(first.contains("<polyline") && first.contains("class=\"score\""), "{first}");
    let boards = first.matches("class=\"board\"").count();
    let mistakes = first.matches("<figure").count();
    assert!(mistakes >= 1 && boards == mistakes + 1, "{boards} boards, {mistakes} mistakes");
    // Nothing is captured in the first game.
    assert_eq!(first.matches("class=\"piece\"").count(), 32 * boards);
    for text in ["f3", "e5", "g4", "Qh4#", "Anna &lt;/script&gt;", "The biggest mistakes"] {
        assert!(first.contains(text), "{text}");
    }
    assert_eq!(shown.matches("<summary>").count(), 4);
    assert!(shown.contains("Passed over"));
    // Checks that the browser logs an error in a page's script.
    let text = folder.text("games.report.html").replace("\"use strict\";", "\"use strict\"; nothing_of_the_kind();");
    std::fs::write(&page, text).unwrap();
    let (shown, console) = open(browser, &folder, &page);
    assert!(console.contains("nothing_of_the_kind") && !shown.contains("data-games"), "{console}");
}

/// If the game ended with mate, the page names the winner, and has no value in pawns.
#[test]
fn the_page_says_who_was_mated() {
    let Some(browser) = browser() else {
        oncilla_testing::lacks_tool("no chromium is here");
        return;
    };
    for (fen, says) in [
        ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", "0-1: White wins 0 %"),
        ("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1", "1-0: White wins 100 %"),
    ] {
        let folder = Folder::new("report-mate");
        std::fs::write(folder.0.join("games.pgn"), format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n*\n")).unwrap();
        let file = folder.file("games.pgn");
        assert!(run(&["report", &file, "--backend=random", "--max-visits=30"], "").status.success());
        let (shown, console) = open(browser, &folder, &folder.0.join("games.report.html"));
        assert!(console.is_empty() && shown.contains(says), "{console} {shown}");
    }
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let folder = Folder::new("report-alone");
    assert!(report(&folder).status.success());
    let page = folder.text("games.report.html");
    for word in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    let addresses: BTreeSet<&str> =
        page.match_indices("http").map(|(at, _)| page[at..].split(['"', '\'', ' ']).next().unwrap_or("")).collect();
    assert!(
        addresses.iter().all(|address| ["http://www.w3.org/2000/svg", "http-equiv="].contains(address)),
        "{addresses:?}"
    );
}

#[test]
fn a_game_of_chess960_is_answered_by_its_rules() {
    let folder = Folder::new("report-chess960");
    let file = folder.file("games.pgn");
    std::fs::write(&file, "[Variant \"Chess960\"]\n[FEN \"4k3/8/8/8/8/8/8/4K2R w H - 0 1\"]\n\n1. O-O Kd7 *\n")
        .unwrap();
    let output = run(&["report", &file, "--backend=random", "--threads=1", "--max-visits=100"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    let lines = folder.text("games.report.jsonl");
    let first: Value =
        serde_json::from_str(lines.lines().find(|line| line.contains("\"turnNumber\":0")).unwrap()).unwrap();
    let moves: Vec<&str> =
        first["moveInfos"].as_array().unwrap().iter().filter_map(|info| info["move"].as_str()).collect();
    assert!(moves.contains(&"e1h1"), "{moves:?}");
}
