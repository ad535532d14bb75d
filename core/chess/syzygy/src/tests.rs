//! Tests that look inside: raw values, and files that are read at places instead of kept in memory.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Folder, synthetic};
use oncilla_chess::{Board, History};

use crate::file::OpenFiles;
use crate::{Fault, Metric, ProbeError, RankedMove, Tablebases, Wdl};

/// With small files in memory, and without.
const ROOMS: [u64; 2] = [64 << 20, 0];

#[test]
fn tables_of_up_to_seven_pieces_are_read_as_python_chess_reads_them() {
    let folder = Folder::new("seven");
    let tables = synthetic::tables();
    tables.iter().for_each(|(name, bytes)| folder.write(name, bytes));
    let recorded = std::fs::read_to_string(oncilla_testing::fixtures().join("syzygy/synthetic.tsv")).unwrap();
    for room in ROOMS {
        let opened = Tablebases::open_with(folder.path(), OpenFiles::with_room(room)).unwrap();
        assert_eq!((opened.max_pieces(), opened.tables(Metric::Wdl), opened.tables(Metric::Dtz)), (7, 15, 15));
        for line in recorded.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let board: Board = format!("{} 0 1", fields[1]).parse().unwrap();
            let metric = if fields[0].ends_with(Metric::Wdl.extension()) { Metric::Wdl } else { Metric::Dtz };
            let result: i8 = fields[2].parse().unwrap();
            let wdl = Wdl::ALL.into_iter().find(|&wdl| wdl as i8 == result).unwrap();
            let expected = match (metric, fields[3]) {
                (_, "-") => 0,
                (Metric::Wdl, stored) => stored.parse().unwrap(),
                // The first ply is not stored.
                (Metric::Dtz, stored) => stored.parse::<i32>().unwrap() + 1,
            };
            assert_eq!(opened.raw(metric, &board, wdl), Ok(expected), "{line}");
        }
        assert_eq!(opened.bad_files(), []);
    }
    assert_eq!(recorded.lines().count(), 40 * tables.len());
}

#[test]
fn a_file_that_is_not_kept_in_memory_gives_the_same_answers() {
    let Some(folder) = common::tables() else { return };
    let tables = Tablebases::open_with(folder.to_str().unwrap(), OpenFiles::with_room(0)).unwrap();
    for recorded in common::recorded("positions.epd") {
        let board: Board = recorded.fen.parse().unwrap();
        let answer = (tables.wdl(&board).map(|wdl| wdl as i8), tables.dtz(&board));
        assert_eq!(answer, (Ok(recorded.wdl), Ok(recorded.dtz)), "{}", recorded.fen);
    }
}

/// Tables with one value for White to move and one for Black, and every distance the shortest.
fn constant(test: &str, tables: &[(&str, [Wdl; 2])]) -> (Folder, Tablebases) {
    let folder = Folder::new(test);
    for (name, values) in tables {
        let values = values.map(|wdl| (wdl as i8 + 2) as u8);
        folder.write(&format!("{name}.rtbw"), &synthetic::constant(name, false, values));
        folder.write(&format!("{name}.rtbz"), &synthetic::constant(name, true, [0; 2]));
    }
    let tables = Tablebases::open(folder.path()).unwrap();
    (folder, tables)
}

fn game(fen: &str) -> History {
    History::from_fen(fen).unwrap()
}

/// The table says draw, because it does not know that there is a move.
#[test]
fn en_passant_can_be_all_that_a_stalemated_side_has() {
    let stalemate = game("8/8/4k3/3pP3/8/8/5q2/7K w - d6 0 1");
    let without = game("8/8/4k3/3pP3/8/8/5q2/7K w - - 0 1");
    for (wdl, dtz) in [(Wdl::Loss, -1), (Wdl::Draw, 0), (Wdl::CursedWin, 101), (Wdl::Win, 1)] {
        // Tables have the stronger side as White, so here the colours are swapped.
        let after = [-wdl, wdl];
        let tables = [("KQPvKP", [Wdl::Draw; 2]), ("KQvKP", after), ("KQvK", after)];
        let (_folder, tables) = constant("stalemate", &tables);
        assert_eq!(tables.wdl(stalemate.board()), Ok(wdl));
        assert_eq!(tables.dtz(stalemate.board()), Ok(dtz));
        assert_eq!(tables.wdl(without.board()), Ok(Wdl::Draw));
    }
}

/// A win that the table calls cursed is a hundred plies further away; a side that the table does not have looks at the
/// replies, one ply further.
#[test]
fn cursed_wins_are_a_hundred_plies_away() {
    let (_folder, tables) = constant("cursed", &[("KQvK", [Wdl::CursedWin, Wdl::BlessedLoss])]);
    let winner = game("8/8/8/3k4/8/3K4/8/3Q4 w - - 0 1");
    let loser = game("8/8/8/3k4/8/3K4/8/3Q4 b - - 0 1");
    for (game, wdl, dtz, after) in [(&winner, Wdl::CursedWin, 101, 103), (&loser, Wdl::BlessedLoss, -102, -102)] {
        assert_eq!((tables.wdl(game.board()), tables.dtz(game.board())), (Ok(wdl), Ok(dtz)));
        let ranks = tables.root_moves(game, false).unwrap();
        assert!(ranks.by_dtz());
        let keeping: Vec<_> = ranks.moves.iter().filter(|ranked| ranked.dtz != Some(0)).collect();
        assert!(!keeping.is_empty());
        let rank = (1000 - i32::abs(after)) * after.signum();
        assert!(keeping.iter().all(|r| (r.wdl, r.dtz, r.rank) == (wdl, Some(after), rank)), "{keeping:?}");
    }
}

/// None of the shared tables counts plies. In this one all distances are the shortest, seen two plies later.
#[test]
fn only_a_table_that_counts_moves_may_be_a_ply_late() {
    const ONE_VALUE: [u8; 2] = [0x80, 0];
    let folder = Folder::new("plies");
    folder.write("KQvK.rtbw", &synthetic::constant("KQvK", false, [4, 0]));
    let in_moves = synthetic::constant("KQvK", true, [0; 2]);
    let mut in_plies = in_moves.clone();
    let flags = in_plies.windows(2).position(|bytes| bytes == ONE_VALUE).unwrap();
    // Wins and losses.
    in_plies[flags] |= 4 | 8;
    for (table, counts_moves) in [(in_moves, true), (in_plies, false)] {
        folder.write("KQvK.rtbz", &table);
        let tables = Tablebases::open(folder.path()).unwrap();
        for (rule50, rank) in [(96, 1000), (97, 900), (98, 899)] {
            let white = game(&format!("8/8/8/3k4/8/3K4/8/3Q4 w - - {rule50} 90"));
            let ranks = tables.root_moves(&white, false).unwrap();
            let is = |ranked: &&RankedMove| (ranked.dtz, ranked.rank) == (Some(3), rank);
            assert!(ranks.best().all(|ranked| is(&ranked)), "{ranks:?}");
            assert!(ranks.best().all(|ranked| ranked.may_be_late == (counts_moves && rule50 == 97)), "{ranks:?}");
        }
    }
}

/// Both sides win, says the table: no move can do what it promises.
#[test]
fn a_table_that_contradicts_itself_is_an_error() {
    let (_folder, tables) = constant("contradiction", &[("KQvK", [Wdl::Win; 2])]);
    let black = game("8/8/8/3k4/8/3K4/8/3Q4 b - - 0 1");
    assert!(matches!(tables.dtz(black.board()), Err(ProbeError::BadTable { metric: Metric::Dtz, .. })));
    let white = game("8/8/8/3k4/8/3K4/8/3Q4 w - - 0 1");
    assert!(!tables.root_moves(&white, false).unwrap().by_dtz());
}

#[test]
fn without_a_distance_moves_are_ranked_by_result() {
    let folder = Folder::new("without-dtz");
    folder.write("KQvK.rtbw", &synthetic::constant("KQvK", false, [2, 2]));
    folder.write("KRvK.rtbw", &synthetic::constant("KRvK", false, [4, 0]));
    let tables = Tablebases::open(folder.path()).unwrap();
    assert_eq!((tables.tables(Metric::Wdl), tables.tables(Metric::Dtz)), (2, 0));
    let history = game("8/8/8/8/8/2k5/8/R3K3 b - - 12 60");
    let ranks = tables.root_moves(&history, false).unwrap();
    assert!(matches!(ranks.without_dtz, Some(ProbeError::NoTable { metric: Metric::Dtz, .. })), "{ranks:?}");
    assert!(ranks.moves.iter().all(|ranked| (ranked.rank, ranked.wdl, ranked.dtz) == (-1000, Wdl::Loss, None)));
    assert_eq!(ranks.best().count(), ranks.moves.len());
    // No result either.
    let knight = game("8/8/8/8/8/2k5/8/N3K3 b - - 12 60");
    assert!(matches!(tables.root_moves(&knight, false), Err(ProbeError::NoTable { metric: Metric::Wdl, .. })));
    let mated = game("k7/1Q6/1K6/8/8/8/8/8 b - - 0 1");
    assert_eq!(tables.root_moves(&mated, false), Err(ProbeError::NoMove));
}

#[test]
fn a_file_that_is_cut_while_it_is_in_use_is_an_error() {
    let folder = Folder::new("cut");
    let bytes = synthetic::table("KNvK", false, 5);
    folder.write("KNvK.rtbw", &bytes);
    let tables = Tablebases::open_with(folder.path(), OpenFiles::with_room(0)).unwrap();
    let knight = game("8/8/8/3k4/8/3K4/8/3N4 w - - 0 1");
    assert!(tables.wdl(knight.board()).is_ok());
    folder.write("KNvK.rtbw", &bytes[..bytes.len() / 4]);
    let fault = Fault::Short;
    assert!(matches!(tables.wdl(knight.board()), Err(ProbeError::BadTable { fault: f, .. }) if f == fault));
    folder.write("KNvK.rtbw", &bytes);
    assert!(tables.wdl(knight.board()).is_ok());
}
