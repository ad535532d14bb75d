//! Game records, configuration files, and what keeps the program from starting.

use super::*;

#[test]
fn games_are_written_and_read() {
    let folder = Folder::new("gtp-sgf");
    let file = folder.file("a game.sgf");
    let input = format!(
        "boardsize 9\nkata-set-rules japanese\nkomi 5.5\nfixed_handicap 2\nplay w E5\nplay b pass\nplay w F5\nshowboard\n\
         printsgf {file}\nboardsize 5\nkata-set-rules chinese\nkomi 0\nloadsgf {file}\nshowboard\nloadsgf {file} 2\nshowboard\n\
         loadsgf {file} 5\nshowboard\nloadsgf {file} 0\n"
    );
    let all = heard(&QUICK, &input);
    assert_eq!(all[7], all[13]);
    assert!(all[15].2.starts_with("Move 1: B to play") && all[15].2.contains("(O)"), "{}", all[15].2);
    assert_eq!((all[16].0, &all[17].2), (true, &all[7].2), "beyond the end is the end");
    assert!(!all[18].0 && all[18].2.contains("expected a move from 1 on, got 0"), "{}", all[18].2);
    assert!(folder.text("a game.sgf").contains("HA[2]AB[gc][cg]"), "{}", folder.text("a game.sgf"));
}

#[test]
fn files_that_others_have_written_are_read_or_refused() {
    let folder = Folder::new("gtp-odd");
    let endless = format!("(;SZ[9]{})", ";B[];W[tt]".repeat(50_001));
    for (name, bytes, expected) in [
        ("latin", b"(;SZ[9]PB[Jos\xe9]KM[375]C[\\]];B[cc](;W[tt];B[])(;W[aa]))".as_slice(), Ok(3)),
        ("setup", b"(;SZ[9]HA[2]AB[cc][gg]AW[ee]PL[W])", Ok(0)),
        ("endless", endless.as_bytes(), Err("a game of more than 100000 moves")),
        ("nothing", b"", Err("begins with (")),
        ("large", b"(;SZ[25])", Err("SZ: expected")),
        ("occupied", b"(;SZ[9];B[cc];W[cc])", Err("there is a stone")),
        ("twice", b"(;SZ[9]AB[cc]AW[cc])", Err("two stones are on one point")),
        ("dead", b"(;SZ[9]AB[ab][ba]AW[aa])", Err("a stone has no liberty")),
        ("komi", b"(;SZ[9]KM[6.5 moku];B[cc])", Err("KM: expected whole or half points")),
    ] {
        std::fs::write(folder.0.join(name), bytes).unwrap();
        let all = heard(&QUICK, &format!("komi 5.5\nloadsgf {}\nshowboard\nget_komi\n", folder.file(name)));
        let ((ok, _, text), board) = (&all[1], &all[2].2);
        match expected {
            Ok(moves) => assert!(*ok && board.starts_with(&format!("Move {moves}: ")), "{name}: {text} {board}"),
            Err(part) => assert!(!ok && text.contains(part) && stones(board).len() == 361, "{name}: {text}"),
        }
        assert_eq!(all[3].2, if name == "latin" { "7.5" } else { "5.5" });
    }
    assert!(!heard(&QUICK, &format!("loadsgf {}\n", folder.0.display()))[0].0, "a folder");
}

#[test]
fn a_game_that_is_over_is_written_with_its_result() {
    let passes = "play w pass\nplay b pass\n";
    let game = "boardsize 9\nkomi 6.5\nkata-set-rules tromp-taylor\nplay b E5\n";
    assert!(!last(&QUICK, &format!("{game}play w pass\nprintsgf\n")).contains("RE["), "it goes on");
    let counted = last(&QUICK, &format!("{game}{passes}printsgf\n"));
    assert!(counted.contains("RE[B+74.5]"), "{counted}");
    let agreed = heard(&QUICK, &format!("{game}kata-set-rules japanese\n{passes}final_score\nprintsgf\n"));
    let [.., (_, _, score), (_, _, text)] = &agreed[..] else { panic!("{agreed:?}") };
    assert!(text.contains(&format!("RE[{score}]")), "{score}: {text}");
}

#[test]
fn no_score_is_more_than_a_board_has() {
    for rules in ["japanese", "tromp-taylor"] {
        let score = last(&QUICK, &format!("boardsize 2\nkomi 0.5\nkata-set-rules {rules}\nfinal_score\n"));
        let (winner, points) = score.split_once('+').unwrap();
        let most = if winner == "W" { 4.5 } else { 3.5 };
        assert!(points.parse::<f64>().unwrap() <= most, "{rules}: {score}");
    }
}

#[test]
fn configuration_files_of_katagos_are_understood() {
    let folder = Folder::new("gtp-config");
    std::fs::write(
        folder.0.join("gtp.cfg"),
        "# as KataGo has it\nlogDir = gtp_logs\nrules = japanese\nmaxVisits = 7\nnumSearchThreads = 1\nresignThreshold = -0.5\n\
         ponderingEnabled = true\nsearchFactorAfterOnePass = 1.0\nchosenMoveTemperature = 0.1\nmadeUp = 1\ndefaultBoardSize = 5\n",
    )
    .unwrap();
    let words =
        words(&["-config", &folder.file("gtp.cfg"), "-override-config", "resignThreshold=-0.25,neverHeardOf=1"]);
    let input =
        "showboard\nkata-get-param maxVisits\nkata-get-param resignThreshold\nkata-search_analyze b rootInfo true\n";
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
    let all = answers(&stdout(&output));
    assert!(all[0].2.contains("Rules koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5") && stones(&all[0].2).len() == 25);
    assert_eq!((&all[1].2[..], &all[2].2[..]), ("7", "-0.25"));
    assert!(all[3].2.contains("rootInfo visits 7 "), "{}", all[3].2);
    let says = stderr(&output);
    assert!(!says.contains("pondering"), "{says}");
    let unused: Vec<&str> = says.lines().filter(|line| line.contains("not used")).collect();
    assert!(
        unused.len() == 2 && unused[0].ends_with("not used: madeUp") && unused[1].ends_with("neverHeardOf"),
        "{says}"
    );
}

#[test]
fn what_cannot_begin_says_why() {
    for (args, part) in [
        (vec!["gtp", "--backend=host"], "gtp: expected a network of Go, KataGo's, with --weights, got small"),
        (vec!["gtp", "--weights=/no/such.bin.gz"], "/no/such.bin.gz: can't read it: "),
    ] {
        let output = run(&args, "name\n");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{args:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    for (config, part) in [
        ("resignThreshold=1", "Key 'resignThreshold' must be in the range -1 to 0"),
        ("koRule=FOO", "koRule: no value of ko"),
        ("rules=chess", "expected rules by name"),
        ("rules", "expected NAME=VALUE"),
    ] {
        let words = words(&["-override-config", config]);
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "name\n");
        assert_eq!(output.status.code(), Some(2), "{config}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}
