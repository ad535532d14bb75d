//! Rules, and what is counted by them.

use super::*;

#[test]
fn the_rules_count_where_they_can() {
    let passed = "boardsize 5\nplay b C3\nplay w pass\nplay b pass\n";
    assert_eq!(last(&QUICK, &format!("{passed}final_score\n")), "B+17.5");
    assert_eq!(last(&QUICK, &format!("{passed}komi 25\nfinal_score\n")), "0");
    assert_eq!(last(&QUICK, &format!("{passed}komi 30\nfinal_score\n")), "W+5");
}

/// White's stone counts, so no list may call it dead or its surroundings Black's.
#[test]
fn the_lists_say_what_the_score_counts() {
    let wall = (2..=5).map(|row| format!("play w {}\nplay b C{row}\n", if row == 2 { "E3" } else { "pass" }));
    let ended = format!("boardsize 5\nkomi 0.5\nplay b C1\n{}play w pass\nplay b pass\n", wall.collect::<String>());
    let lists =
        ["alive", "dead", "seki", "white_territory", "black_territory"].map(|word| format!("final_status_list {word}"));
    // A network that plays well expects Black to own everything.
    for words in [Some(words(&QUICK)), strong(&[])].into_iter().flatten() {
        let all = heard_of(&words, &format!("{ended}final_score\n{}\n", lists.join("\n")));
        let texts: Vec<&str> = all.iter().rev().take(6).rev().map(|(_, _, text)| text.as_str()).collect();
        let black = "A5 B5 A4 B4 A3 B3 A2 B2 A1 B1";
        assert_eq!(texts, ["B+13.5", "C5 C4 C3 C2 C1\nE3", "", "", "", black]);
    }
}

#[test]
fn rules_that_are_wrong_are_named() {
    let all = heard(
        &QUICK,
        "kata-set-rules {\"ko\":\"SIMPLE\",\"foo\":1}\nkata-set-rules {\"ko\":\"FOO\"}\nkata-set-rules {\"komi\":3}\n\
         kata-set-rules koSIMPLEkomi3\nkata-get-rules\nget_komi\n",
    );
    let expected = [
        "unknown rules: expected one of friendlyPassOk, hasButton, ko, scoring, suicide, tax, whiteHandicapBonus, \
         got \"foo\"",
        "unknown rules: no value of ko: \"FOO\"",
        "unknown rules: expected rules without a komi, which the command komi sets, got ",
        "unknown rules: expected rules without a komi, which the command komi sets, got \"koSIMPLEkomi3\"",
    ];
    for ((ok, _, text), expected) in all.iter().zip(expected) {
        assert!(!ok && text.starts_with(expected), "{text}");
    }
    assert!(all[4].2.contains("\"ko\":\"POSITIONAL\"") && all[5].2 == "7.5", "{all:?}");
}
