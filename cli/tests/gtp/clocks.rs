//! Clocks, limits of a search, and pondering.

use super::*;

/// With any time settings, even those without any time, a move comes soon.
#[test]
fn every_kind_of_clock_gets_moves() {
    let clocks = "time_settings 0 0 0\ntime_settings 1 0 0\ntime_settings 0 1 1\ntime_settings 1 1 3\ntime_settings 1 1 0
kata-time_settings none\nkata-time_settings absolute 0\nkata-time_settings absolute 1\nkata-time_settings byoyomi 1 0.2 2
kata-time_settings byoyomi 1 1 0\nkata-time_settings canadian 0 0.5 5\nkata-time_settings fischer 0 0\nkata-time_settings fischer 1 0.1
kata-time_settings fischer-capped 1 0.1 -1 -1\nkata-time_settings Fischer-Capped 2 0.1 1 0.2\nkgs-time_settings byoyomi 0 0.2 1";
    let moves = "boardsize 4\ngenmove b\ngenmove w\ntime_left b 0 0\ntime_left w -3.5 0\ngenmove b\ngenmove w\n\
                 time_left b 0.1 1\ntime_left w 0.1 3\ngenmove b\ngenmove w\n";
    let input: String = clocks.lines().map(|clock| format!("{clock}\n{moves}")).collect();
    let begun = Instant::now();
    let all = heard(&QUICK, &input);
    assert_eq!(all.len(), input.lines().count());
    assert!(all.iter().all(|(ok, ..)| *ok), "{all:?}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// A search that the next line would cancel can also end by itself.
#[test]
fn a_search_may_be_cancelled() {
    let mut talk = Talk::tiny(&["--max-visits=1000000"]);
    talk.ask("boardsize 7");
    let empty = talk.ask("showboard");
    for (command, expected) in
        [("kata-search_cancellable", "cancelled"), ("kata-search_analyze_cancellable b 1", "play cancelled")]
    {
        talk.engine.say(command);
        if command.ends_with('1') {
            talk.engine.until("info");
        }
        talk.engine.say("name");
        let said = talk.answer();
        assert_eq!(said.last().unwrap().trim_start_matches("= "), expected, "{said:?}");
        assert_eq!(talk.answer(), ["= Oncilla"]);
        // An empty line cancels it, too.
        talk.engine.say(command);
        talk.engine.say("");
        let said = talk.answer();
        assert_eq!(said.last().unwrap().trim_start_matches("= "), expected, "{said:?}");
    }
    assert_eq!(talk.ask("showboard"), empty, "nothing is played");
    talk.ask("kata-set-param maxVisits 20");
    assert!(talk.ask("kata-search_analyze_cancellable w").contains("\nplay "));
    let mv = talk.ask("kata-search_cancellable");
    assert!(mv != "cancelled" && !mv.is_empty(), "{mv}");
}

/// The default limit of a search for a move does not hold if another limit is given.
#[test]
fn one_limit_is_enough() {
    let visits = |config: &str| {
        let text = last(&["-override-config", config], "boardsize 5\nkata-search_analyze b rootInfo true\n");
        value(parts(text.lines().next().unwrap()).last().unwrap(), "visits")[0].parse::<u64>().unwrap()
    };
    assert_eq!(visits("rules=chinese"), 500);
    assert!((600..=601).contains(&visits("maxPlayouts=600")));
    assert_eq!(visits("maxPlayouts=600,maxVisits=40"), 40);
    // A time limit that is never reached has no effect; one that has passed already ends the search after its first
    // step.
    assert!((600..=601).contains(&visits("maxTime=36000,maxPlayouts=600")));
    assert!(visits("maxTime=0.000001,maxPlayouts=20000") < 600);
}

/// The time of a search whose move is not played is not counted.
#[test]
fn time_is_counted_for_moves_alone() {
    assert_eq!(
        last(&QUICK, "boardsize 5\ntime_settings 60 0 0\nkata-search b\nkata-search_analyze b\ncputime\n"),
        "0.000"
    );
}

#[test]
fn it_thinks_in_the_opponents_time_if_it_is_told_to() {
    let pondering = |config: &str| {
        let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", config]);
        talk.ask("boardsize 7");
        // There is no pondering before the first `genmove`.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(root_visits(&talk.ask(LOOK)), 20);
        talk.ask("genmove b");
        talk
    };
    let mut talk = pondering("ponderingEnabled=true,maxVisitsPondering=400");
    let begun = Instant::now();
    loop {
        let visits = root_visits(&talk.ask(LOOK));
        assert!(visits <= 400 && begun.elapsed() < Duration::from_secs(60), "{visits}");
        if visits == 400 {
            break;
        }
    }
    // The reply to the move that was pondered starts from the ponder tree.
    let known = root_visits(&talk.ask("kata-genmove_analyze w rootInfo true"));
    assert!(known >= 400, "{known}");
    // An analysis ends the pondering.
    talk.analyze();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(root_visits(&talk.ask(LOOK)), 20);
    let mut talk = pondering("maxVisitsPondering=400");
    std::thread::sleep(Duration::from_millis(50));
    assert!(root_visits(&talk.ask(LOOK)) <= 20);
    // Without a limit, the program ponders until the next line, or until the end of the input.
    let words = words(&["--max-visits=20", "-override-config", "ponderingEnabled=true"]);
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "boardsize 7\ngenmove b\nplay w A1\n");
    assert_eq!(answers(&stdout(&output)).len(), 3);
}

/// Each wait for a line adds as many as are allowed, if it is long enough for them.
#[test]
fn it_adds_no_more_visits_in_the_opponents_time_than_it_may() {
    let config = "ponderingEnabled=true,maxPlayoutsPondering=30";
    let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", config]);
    talk.ask("boardsize 7");
    talk.ask("genmove b");
    let mut last = root_visits(&talk.ask(LOOK));
    let begun = Instant::now();
    for wait in 1.. {
        std::thread::sleep(Duration::from_millis(20 * wait));
        let visits = root_visits(&talk.ask(LOOK));
        assert!(visits <= last + 30 && begun.elapsed() < driver::patience(), "{visits} after {last}");
        if visits == last + 30 {
            break;
        }
        last = visits;
    }
}

/// While one engine ponders some hundred visits, another one that has no time for it ponders next to none.
#[test]
fn it_thinks_no_longer_in_the_opponents_time_than_it_may() {
    let pondering = |more: &str| {
        let config = format!("ponderingEnabled=true{more}");
        let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", &config]);
        talk.ask("boardsize 7");
        talk.ask("genmove b");
        talk
    };
    let mut hurried = pondering(",maxTimePondering=0");
    let mut patient = pondering("");
    let begun = Instant::now();
    while root_visits(&patient.ask(LOOK)) < 400 {
        assert!(begun.elapsed() < driver::patience());
        std::thread::sleep(Duration::from_millis(20));
    }
    let visits = root_visits(&hurried.ask(LOOK));
    assert!(visits <= 40, "{visits}");
}

#[test]
fn no_clock_runs_out() {
    let Some(words) = strong(&["-override-config", "allowResignation=false,defaultBoardSize=9"]) else { return };
    let mut talk = Talk::with(&words);
    // Main time only, for all moves of the game.
    let mut left = [2.5_f64; 2];
    talk.ask("time_settings 2 0 0");
    let game = play_out(&mut talk, 9, "tromp-taylor", 120, |talk, color, used| {
        let left = &mut left[color as usize];
        *left -= used.as_secs_f64();
        assert!(*left > 0.0, "{color:?} lost on time");
        talk.ask(&format!("time_left {} {left:.3} 0", if color == Color::Black { "b" } else { "w" }));
    });
    assert!(game.ply() >= 60 || game.ending().is_some());
    // One period for each move.
    talk.ask("clear_board");
    talk.ask("kgs-time_settings byoyomi 0 1 1");
    play_out(&mut talk, 9, "tromp-taylor", 8, |talk, color, used| {
        assert!(used < Duration::from_secs(1), "{used:?}");
        talk.ask(&format!("time_left {} 1 1", if color == Color::Black { "b" } else { "w" }));
    });
    // Five moves per period of 2.5 s, and the program does not get `time_left`.
    talk.ask("clear_board");
    talk.ask("kata-time_settings canadian 0 2.5 5");
    let mut spent = [0.0; 2];
    play_out(&mut talk, 9, "tromp-taylor", 10, |_, color, used| spent[color as usize] += used.as_secs_f64());
    assert!(spent.iter().all(|spent| *spent < 2.5), "{spent:?}");
}

#[test]
fn a_new_game_begins_with_full_clocks() {
    let asked = "kata-genmove_analyze b 100000 rootInfo true\n";
    let visits = |more: &str| {
        let input = format!("boardsize 9\ntime_settings 600 0 0\ntime_left b 0 0\n{more}{asked}");
        let text = last(&["-override-config", "maxVisits=60"], &input);
        let mut words = text.split_whitespace().skip_while(|word| *word != "rootInfo").skip(2);
        words.next().and_then(|visits| visits.parse::<u32>().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(visits("") < 60);
    assert_eq!(visits("clear_board\n"), 60);
}
