//! Results and distances of the shared tables, as python-chess reads them.

mod common;

use std::collections::HashSet;

use oncilla_chess::{Board, History, TwoFold};
use oncilla_syzygy::{Material, Metric, RootRanks, Tablebases, Wdl};

fn open() -> Option<Tablebases> {
    Some(Tablebases::open(common::tables()?.to_str().unwrap()).unwrap())
}

#[test]
fn every_position_has_the_recorded_result_and_distance() {
    let Some(tables) = open() else { return };
    let mut materials = HashSet::new();
    for recorded in common::recorded("positions.epd") {
        let board: Board = recorded.fen.parse().unwrap();
        let answer = (tables.wdl(&board).map(|wdl| wdl as i8), tables.dtz(&board));
        assert_eq!(answer, (Ok(recorded.wdl), Ok(recorded.dtz)), "{}", recorded.fen);
        let material = Material::of(&board);
        materials.insert(material.to_string().max(material.swapped().to_string()));
    }
    // The recorded positions are of every table that there is.
    assert_eq!(materials.len(), tables.tables(Metric::Wdl));
    assert_eq!(materials.len(), tables.tables(Metric::Dtz));
    assert_eq!(tables.bad_files(), []);
    assert_eq!(tables.max_pieces(), 4);
}

/// The table of two bishops counts moves. By its distance the mate comes on the hundredth ply; it comes one later, and
/// the game is drawn.
#[test]
fn a_result_on_the_last_ply_is_open_where_a_table_counts_moves() {
    let Some(tables) = open() else { return };
    let ranks = |rule50: u32| {
        let fen = format!("7K/3b4/1b6/8/8/8/8/2k5 b - - {rule50} 1");
        tables.root_moves(&<History>::from_fen(&fen).unwrap(), false).unwrap()
    };
    let on_the_last = ranks(76);
    assert!(on_the_last.best().all(|ranked| (ranked.rank, ranked.dtz, ranked.wdl) == (900, Some(24), Wdl::Win)));
    for ranked in &on_the_last.moves {
        assert_eq!(ranked.may_be_late, ranked.dtz == Some(24), "{ranked:?}");
    }
    for rule50 in [75, 77] {
        assert!(ranks(rule50).best().all(|ranked| !ranked.may_be_late), "{rule50}");
    }
}

/// The only mate in two begins with a move that has been made twice already.
#[test]
fn a_third_occurrence_is_no_win() {
    let Some(tables) = open() else { return };
    let mut history: History = History::from_fen("7k/1K6/8/8/8/8/R2R4/8 w - - 0 1").unwrap();
    let mut play = |moves: &str| {
        for text in moves.split_whitespace() {
            history.try_push(text.parse().unwrap()).unwrap();
        }
        tables.root_moves(&history, false).unwrap()
    };
    let of =
        |ranks: &RootRanks, text: &str| *ranks.moves.iter().find(|ranked| ranked.mv == text.parse().unwrap()).unwrap();
    let twice = play("d2d7 h8g8 d7d2 g8h8 d2d7 h8g8 d7d2 g8h8");
    let mating = of(&twice, "d2d7");
    assert_eq!((mating.wdl, mating.rank, mating.dtz), (Wdl::Draw, 0, Some(0)));
    assert!(twice.best().count() > 0 && twice.best().all(|ranked| ranked.wdl == Wdl::Win));
    // The side that is lost is let go.
    let after = play("d2d7");
    assert_eq!((of(&after, "h8g8").wdl, after.best_rank()), (Wdl::Draw, 0));
}

#[test]
fn who_has_repeated_a_position_has_to_hurry() {
    let Some(tables) = open() else { return };
    let mut history: History = History::from_fen("8/8/8/8/8/3k4/8/K6R w - - 0 1").unwrap();
    let ranks = |history: &History, fast_play| tables.root_moves(history, fast_play).unwrap();
    assert_ne!(ranks(&history, false), ranks(&history, true));
    for text in ["h1h2", "d3d4", "h2h1", "d4d3"] {
        history.try_push(text.parse().unwrap()).unwrap();
    }
    assert_eq!(ranks(&history, false), ranks(&history, true));
    assert!(ranks(&history, false).best().count() < ranks(&history, false).moves.len() / 2);
}

#[test]
fn threads_get_the_same_answers() {
    let Some(tables) = open() else { return };
    let recorded = common::recorded("positions.epd");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (tables, recorded) = (&tables, &recorded);
            scope.spawn(move || {
                for i in 0..recorded.len() {
                    let position = &recorded[(i * 7 + thread * 501) % recorded.len()];
                    let board = position.fen.parse().unwrap();
                    assert_eq!(tables.dtz(&board), Ok(position.dtz), "{}", position.fen);
                }
            });
        }
    });
}

/// What remains at the root of a win is a win, and following it ends in a zeroing move or mate in time.
#[test]
fn wins_are_kept_and_carried_out() {
    let Some(tables) = open() else { return };
    for recorded in common::recorded("wins.epd") {
        let mut history: History = History::from_fen(&recorded.fen).unwrap();
        assert_eq!((recorded.wdl, tables.dtz(history.board())), (2, Ok(recorded.dtz)), "{}", recorded.fen);
        let relaxed = tables.root_moves(&history, false).unwrap();
        assert!(relaxed.by_dtz());
        assert!(relaxed.best().all(|ranked| ranked.wdl == Wdl::Win && ranked.rank == 1000), "{}", recorded.fen);
        // The winner plays by rank. To the loser all is the same rank, so it resists by distance.
        let mut plies = 0;
        loop {
            let ranks = tables.root_moves(&history, true).unwrap();
            let ranked = *ranks.best().min_by_key(|ranked| ranked.dtz).unwrap();
            history.push(ranked.mv);
            plies += 1;
            let over = history.terminal(plies, TwoFold::Ignored);
            if history.rule50() == 0 || over.is_some() {
                assert!(over.is_none_or(|over| !over.is_draw()), "{}", recorded.fen);
                break;
            }
        }
        let off = recorded.dtz.abs_diff(plies as i32);
        assert!(off <= 1, "{}: {plies} plies", recorded.fen);
    }
}

/// Results of moves are those of the positions they lead to, whichever way moves are ranked.
#[test]
fn root_moves_agree_with_the_positions_they_lead_to() {
    let Some(tables) = open() else { return };
    for recorded in common::recorded("positions.epd").iter().step_by(7) {
        let history: History = History::from_fen(&recorded.fen).unwrap();
        let Ok(ranks) = tables.root_moves(&history, false) else {
            assert!(history.terminal(0, TwoFold::Ignored).is_some(), "{}", recorded.fen);
            continue;
        };
        assert_eq!(ranks.best().next().unwrap().wdl as i8, recorded.wdl, "{}", recorded.fen);
        for ranked in &ranks.moves {
            let mut after = history.clone();
            after.push(ranked.mv);
            assert_eq!(tables.wdl(after.board()), Ok(-ranked.wdl), "{} {}", recorded.fen, ranked.mv);
        }
    }
}
