//! The moves that are played: legal, in a kept tree, by chance, and to the end of a game.

use super::*;

/// Neither a pass that wins or ends the game nor the likeliest move is played where `avoid` or `allow` excludes it.
#[test]
fn what_is_excluded_is_not_played() {
    let asked = "kata-genmove_analyze b 100000";
    let played = |input: &str| last(&QUICK, input).rsplit_once("play ").map(|(_, mv)| mv.to_string()).unwrap();
    // Black owns the whole board, so a pass wins.
    let won = "boardsize 5\nset_position b B3 b C3 b D3\nplay b C4\nplay w pass\n";
    assert_eq!(played(&format!("{won}{asked}\n")), "pass");
    assert_ne!(played(&format!("{won}{asked} avoid b pass 1\n")), "pass");
    assert!(["E5", "E4"].contains(&&played(&format!("{won}{asked} allow b E5,E4 1\n"))[..]));
    // White has passed twice in the same position, so a pass ends the game.
    let first = "C3 C2 A3 B2 D3 B3 B4 D2 E2 A4 A5 A2 C4 A4 B5 D5 D1 C1 E3 E4 A3 D4 B1 E1 pass";
    let cycle = format!("{first} A4 D1 A1 A3 E1 pass A4 D1 pass A3 E1 pass");
    let moves = cycle.split(' ').enumerate().map(|(at, mv)| format!("play {} {mv}\n", ["b", "w"][at % 2]));
    let ended = format!("boardsize 5\nkata-set-rules koSIMPLEscoreAREAtaxNONEsui0\n{}", moves.collect::<String>());
    let color = ["b", "w"][cycle.split(' ').count() % 2];
    assert_eq!(played(&format!("{ended}kata-genmove_analyze {color} 100000\n")), "pass");
    assert_ne!(played(&format!("{ended}kata-genmove_analyze {color} 100000 avoid {color} pass 1\n")), "pass");
    // There is a stone on the only point that is allowed.
    let all = heard(&QUICK, &format!("boardsize 9\nplay b C3\nplay w E5\n7 {asked} allow b C3 1\nshowboard\n"));
    let error = "cannot move: expected a legal move among those that avoid or allow leaves, got none";
    assert_eq!(all[3], (false, "7".to_string(), error.to_string()));
    assert_eq!(stones(&all[4].2).matches(['X', 'O']).count(), 2);
}

#[test]
fn what_it_plays_is_legal() {
    for rules in ["tromp-taylor", "chinese", "japanese"] {
        let mut talk = Talk::tiny(&["--max-visits=8", "-override-config", &format!("rules={rules}")]);
        talk.ask("boardsize 4");
        let game = play_out(&mut talk, 4, rules, 80, |_, _, _| {});
        assert!(game.ply() > 1);
    }
}

#[test]
fn the_tree_goes_on_from_move_to_move() {
    let mut talk = Talk::tiny(&["--max-playouts=300"]);
    let mut visits = |input: &[&str]| {
        input.iter().for_each(|line| drop(talk.ask(line)));
        root_visits(&talk.ask(LOOK))
    };
    assert_eq!(visits(&["boardsize 5"]), 300);
    // The same tree is searched further.
    let again = visits(&[]);
    assert_eq!(again, 600);
    let after_own = visits(&["genmove b"]);
    assert!((301..900).contains(&after_own), "{after_own}");
    let after_both = visits(&["genmove w", "genmove b"]);
    assert!(after_both > 300, "{after_both}");
    for forgets in [
        "undo",
        "komi 3.5",
        "kata-set-rules japanese",
        "clear_cache",
        "kata-set-param policyOptimism 0.5",
        "clear_board",
    ] {
        assert_eq!(visits(&[forgets]), 300, "{forgets}");
    }
    // An analysis of another command is another search, so its tree is not reused.
    assert!(visits(&["name"]) > 300);
    talk.analyze();
    assert_eq!(root_visits(&talk.ask(LOOK)), 300);
}

#[test]
fn games_differ_by_chance_unless_it_is_told_otherwise() {
    let moves = "boardsize 9\n".to_string() + &"genmove b\ngenmove w\n".repeat(6);
    let game = |config: &str| {
        let all = heard(&["--max-visits=40", "-override-config", config], &moves);
        all.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let games: Vec<_> = (0..4).map(|_| game("chosenMoveTemperatureEarly=1,allowResignation=false")).collect();
    assert!(games.iter().any(|other| *other != games[0]), "{games:?}");
    let seeded = |seed| game(&format!("searchRandSeed={seed},chosenMoveTemperatureEarly=1,allowResignation=false"));
    assert_eq!(seeded("a"), seeded("a"));
    assert!(seeded("a") != seeded("b") || seeded("b") != seeded("c"));
    let cold = || game("allowResignation=false");
    assert_eq!(cold(), cold());
}

#[test]
fn it_plays_a_game_to_its_end() {
    let Some(words) = strong(&["-override-config", "maxVisits=12,allowResignation=false,defaultBoardSize=9"]) else {
        return;
    };
    let mut talk = Talk::with(&words);
    let game = play_out(&mut talk, 9, "tromp-taylor", 300, |_, _, _| {});
    assert!(game.ending().is_some() && game.ply() > 20, "{} moves", game.ply());
    let lead = game.white_lead().unwrap();
    let winner = if lead > 0.0 { 'W' } else { 'B' };
    assert_eq!(talk.ask("final_score"), format!("{winner}+{}", lead.abs()));
    // By rules with an agreement on dead stones, those that are left on the board may make the lead larger.
    talk.ask("kata-set-rules chinese");
    let agreed = talk.ask("final_score");
    assert!(agreed.starts_with(winner) && agreed[2..].parse::<f32>().unwrap() >= lead.abs(), "{agreed}, {lead}");
}

/// Two halves of a board with walls of stones: Black's is the larger one, and no stone of the opponent can live in
/// either.
fn halves() -> String {
    let stones = (1..=9).map(|row| format!("b C{row} b F{row} w G{row}"));
    format!("boardsize 9\nset_position {}\n", stones.collect::<Vec<_>>().join(" "))
}

/// By area, a single stone surrounds the whole board, but this does not predict the result.
#[test]
fn the_score_of_a_game_that_goes_on_is_what_is_expected() {
    let Some(words) = strong(&[]) else { return };
    let mut talk = Talk::with(&words);
    for line in ["boardsize 9", "kata-set-rules chinese", "play b E5"] {
        talk.ask(line);
    }
    let score = talk.ask("final_score");
    let points: f32 = score[2..].parse().unwrap();
    assert!(points < 20.0 && points.fract() == 0.5, "{score}");
    talk.ask("komi 7");
    let score = talk.ask("final_score");
    assert!(score == "0" || score[2..].parse::<f32>().unwrap().fract() == 0.0, "{score}");
    // With stones of both colours, only the stones themselves are surrounded.
    for line in ["clear_board", "komi 0.5", "fixed_handicap 4", "play w E5"] {
        talk.ask(line);
    }
    let score = talk.ask("final_score");
    assert!(score.starts_with("B+") && score[2..].parse::<f32>().unwrap() > 15.0, "{score}");
}

#[test]
fn it_passes_where_that_wins_and_resigns_what_is_lost() {
    let Some(words) = strong(&["-override-config", "maxVisits=30,resignConsecTurns=2"]) else { return };
    let says = |input: &str| {
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
        answers(&stdout(&output)).pop().unwrap().2
    };
    // Black has 54 of 81 points, and White has komi.
    let won = halves();
    for rules in ["tromp-taylor", "chinese", "japanese"] {
        let passed = says(&format!("kata-set-rules {rules}\n{won}play b pass\nplay w pass\ngenmove b\n"));
        assert_eq!(passed, "pass", "{rules}");
    }
    assert_eq!(says(&format!("{won}final_score\n")), "B+19.5");
    // White can't win any more, and resigns in its second turn.
    assert_ne!(says(&format!("{won}play b A1\ngenmove w\n")), "resign");
    assert_eq!(says(&format!("{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n")), "resign");
    let stays =
        says(&format!("kata-set-param allowResignation false\n{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n"));
    assert_ne!(stays, "resign");
    // The player who gives a handicap is behind at the start, but does not resign.
    assert_ne!(says("boardsize 9\nfixed_handicap 9\ngenmove w\nplay b A1\ngenmove w\n"), "resign");
    let early = |share| {
        let moves = format!("{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n");
        says(&format!("kata-set-param resignMinMovesPerBoardArea {share}\n{moves}"))
    };
    assert_eq!((early("0") == "resign", early("0.1") == "resign"), (true, false));
    // A pass wins, but is excluded.
    let alive: String = ["C1", "C2", "C3", "C4", "C5", "B3"]
        .iter()
        .zip(["A1", "A2", "A3", "A4", "A5", "pass"])
        .map(|(black, white)| format!("play b {black}\nplay w {white}\n"))
        .collect();
    let chosen = |more: &str| {
        let asked = format!("boardsize 5\nkomi 0.5\nkata-set-rules chinese\n{alive}kata-genmove_analyze b 100000");
        says(&format!("{asked}{more}\n")).rsplit_once("play ").map(|(_, mv)| mv.to_string()).unwrap()
    };
    assert_eq!(chosen(""), "pass");
    assert_ne!(chosen(" avoid b pass 1"), "pass");
    assert!(["E5", "E4"].contains(&&chosen(" allow b E5,E4 1")[..]));
    // White's stone at A5 is dead.
    let dead = format!("{won}play b pass\nplay w A5\n");
    assert_eq!(says(&format!("{dead}final_status_list dead\n")), "A5");
    assert_eq!(says(&format!("kata-set-rules chinese\n{dead}final_score\n")), "B+19.5");
    // Both sides have passed, and leave the dead stones on the board.
    assert_eq!(says(&format!("kata-set-rules chinese\n{dead}play b pass\nplay w pass\nfinal_score\n")), "B+19.5");
    let alive = says(&format!("{dead}final_status_list alive\n"));
    assert_eq!(alive.lines().count(), 3);
}
