//! Whatever lies in a folder: an answer or an error, no panic and no endless loop.
//!
//! `ONCILLA_HOSTILE_ROUNDS` sets how often each table is damaged at random; the default takes about a second.

mod common;

use common::Folder;
use common::synthetic::{self, Random};
use oncilla_chess::{Board, History};
use oncilla_syzygy::{BadFile, Fault, Metric, OpenError, ProbeError, Tablebases, Wdl};
use std::path::Path;

const ROUNDS: u64 = 150;

fn rounds() -> u64 {
    std::env::var("ONCILLA_HOSTILE_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

const KNVK: &str = "8/8/3k4/8/8/3K4/8/3N4 w - - 0 1";

/// Asks everything about a position; the answers don't matter.
fn ask(tables: &Tablebases, fen: &str) {
    let history: History = History::from_fen(fen).unwrap();
    let _ = tables.wdl(history.board());
    let _ = tables.dtz(history.board());
    let _ = tables.root_moves(&history, false);
}

fn board(fen: &str) -> Board {
    fen.parse().unwrap()
}

#[test]
fn no_tables_is_an_error_that_says_where() {
    let empty = Folder::new("empty");
    let error = |paths: &str| Tablebases::open(paths).unwrap_err();
    assert_eq!(error(""), OpenError::NoFolder);
    let missing = format!("{}/missing", empty.path());
    assert_eq!(
        error(&missing).to_string(),
        format!("expected Syzygy tables (KQvK.rtbw and such), found none in {missing} (no such file or folder)")
    );
    empty.write("README", b"no table");
    empty.write("KQvK.txt", b"no table");
    empty.write("KvKvK.rtbw", b"no table");
    empty.write("KQQQQQQQvK.rtbw", b"more than seven");
    // Distances alone are of no use.
    empty.write("KNvK.rtbz", &synthetic::table("KNvK", true, 1));
    std::fs::create_dir(format!("{}/KRvK.rtbw", empty.path())).unwrap();
    assert!(matches!(error(empty.path()), OpenError::NoTables { .. }));
    assert!(error(&format!("{}/README", empty.path())).to_string().contains("README ("), "a file is no folder");
    assert!(matches!(error("\0"), OpenError::NoTables { .. }));
}

#[test]
fn a_list_of_folders_is_searched_in_order() {
    let (first, second) = (Folder::new("first"), Folder::new("second"));
    first.write("KNvK.rtbw", &synthetic::constant("KNvK", false, [4, 0]));
    second.write("KNvK.rtbw", &synthetic::constant("KNvK", false, [2, 2]));
    second.write("KBBvK.rtbw", &synthetic::constant("KBBvK", false, [2, 2]));
    let separator = if cfg!(windows) { ";" } else { ":" };
    let paths = [first.path(), "", "/no/such/folder", second.path()].join(separator);
    let tables = Tablebases::open(&paths).unwrap();
    assert_eq!((tables.tables(Metric::Wdl), tables.max_pieces()), (2, 4));
    assert_eq!(tables.wdl(&board(KNVK)).map(|wdl| wdl as i8), Ok(2));
    let bad = tables.bad_files();
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].to_string(), "/no/such/folder: no such file or folder");
}

/// As a whole, or in the block that the position is in. A folder that is named twice has its files once.
#[test]
fn a_bad_file_hides_no_good_one_of_a_later_folder() {
    let (bad, good) = (Folder::new("bad-before"), Folder::new("good-behind"));
    bad.write("KNvK.rtbw", b"none");
    bad.write("KBvK.rtbw", &synthetic::constant("KBvK", false, [9, 9]));
    bad.write("KRvK.rtbw", b"none");
    good.write("KNvK.rtbw", &synthetic::constant("KNvK", false, [4, 0]));
    good.write("KBvK.rtbw", &synthetic::constant("KBvK", false, [4, 0]));
    let separator = if cfg!(windows) { ";" } else { ":" };
    let tables = Tablebases::open(&[bad.path(), bad.path(), good.path()].join(separator)).unwrap();
    assert_eq!(tables.tables(Metric::Wdl), 3);
    for piece in ["N", "B"] {
        assert_eq!(tables.wdl(&board(&KNVK.replace('N', piece))).map(|wdl| wdl as i8), Ok(2), "{piece}");
    }
    assert!(matches!(tables.wdl(&board(&KNVK.replace('N', "R"))), Err(ProbeError::BadTable { .. })));
    let told = tables.bad_files();
    let names: Vec<_> = told.iter().map(|bad| bad.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["KBvK.rtbw", "KNvK.rtbw", "KRvK.rtbw"]);
    assert!(told.iter().all(|told| told.path.starts_with(bad.path())), "{told:?}");
}

#[test]
fn positions_that_no_table_has_are_errors() {
    let folder = Folder::new("beyond");
    folder.write("KNvK.rtbw", &synthetic::table("KNvK", false, 3));
    let tables = Tablebases::open(folder.path()).unwrap();
    for (fen, message) in [
        ("r3k3/8/8/8/8/8/8/4K3 w q - 0 1", "expected a position without castling rights"),
        ("8/8/3k4/8/8/3K4/8/2NN4 w - - 0 1", "expected at most 3 pieces, got 4"),
        ("8/8/3k4/8/8/3K4/8/3R4 w - - 0 1", "no WDL table of KRvK"),
        ("8/8/3k4/8/8/3K4/8/3r4 w - - 0 1", "no WDL table of KvKR"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "expected at most 3 pieces, got 32"),
    ] {
        assert_eq!(tables.wdl(&board(fen)).unwrap_err().to_string(), message);
        assert_eq!(tables.dtz(&board(fen)).unwrap_err().to_string(), message);
        let history: History = History::from_fen(fen).unwrap();
        assert_eq!(tables.root_moves(&history, true).unwrap_err().to_string(), message);
        assert!(!tables.applies_to(history.last()) || message.starts_with("no "));
    }
    let applies = |fen| tables.applies_to(History::<100>::from_fen(fen).unwrap().last());
    assert!(applies(KNVK));
    assert!(!applies("8/8/3k4/8/8/3K4/8/3N4 w - - 1 1"), "the counter has begun");
}

#[test]
fn a_table_under_another_name_is_refused_once_and_told() {
    let folder = Folder::new("renamed");
    folder.write("KNvK.rtbw", &synthetic::table("KBBvK", false, 3));
    folder.write("KBvK.rtbw", &synthetic::table("KNvK", false, 3));
    folder.write("KRvK.rtbw", &synthetic::table("KRvK", true, 3));
    folder.write("KQvK.rtbw", b"");
    folder.write("KPvK.rtbw", &[0; 80]);
    folder.write("KRvKR.rtbw", &synthetic::table("KRvKB", false, 3));
    let tables = Tablebases::open(folder.path()).unwrap();
    assert_eq!(tables.bad_files(), []);
    for piece in ["N", "B", "R", "Q", "P"] {
        let fen = KNVK.replace('N', piece).replace("3K4/8/3P4", "3K4/3P4/8");
        for _ in 0..2 {
            assert!(matches!(tables.wdl(&board(&fen)), Err(ProbeError::BadTable { .. })), "{fen}");
        }
    }
    assert!(tables.wdl(&board("8/8/3k4/7r/8/3K4/8/R7 b - - 0 1")).is_err());
    let bad = tables.bad_files();
    let names: Vec<_> = bad.iter().map(|bad| bad.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["KBvK.rtbw", "KNvK.rtbw", "KPvK.rtbw", "KQvK.rtbw", "KRvK.rtbw", "KRvKR.rtbw"]);
    assert_eq!(bad[2].fault, Fault::Magic([0; 4]));
    assert_eq!(bad[3].fault, Fault::Length(0));
}

/// A folder of a network may be away for a moment.
#[test]
fn a_file_that_can_be_read_again_is_read_again() {
    let folder = sound("away");
    let position = board("8/8/8/8/8/2k5/8/K2Q4 w - - 0 1");
    let tables = Tablebases::open(folder.path()).unwrap();
    let (name, away) = (Path::new(folder.path()).join("KQvK.rtbw"), Path::new(folder.path()).join("away"));
    let bytes = std::fs::read(&name).unwrap();
    std::fs::rename(&name, &away).unwrap();
    for _ in 0..2 {
        let fault = Fault::Io(std::io::ErrorKind::NotFound);
        assert!(matches!(tables.wdl(&position), Err(ProbeError::BadTable { fault: found, .. }) if found == fault));
        assert_eq!(tables.bad_files(), [BadFile { path: name.clone(), fault }]);
    }
    std::fs::write(&name, bytes).unwrap();
    assert!(tables.wdl(&position).is_err(), "each attempt may take long");
    tables.try_again();
    assert_eq!(tables.wdl(&position), Ok(Wdl::Win));
    assert_eq!(tables.bad_files(), []);
}

#[test]
fn a_file_of_another_spelling_hides_no_table() {
    let folder = Folder::new("spelling");
    folder.write("KNvK.rtbw", &synthetic::constant("KNvK", false, [4, 0]));
    folder.write("KvKN.rtbw", b"none");
    folder.write("KBNvK.rtbw", &synthetic::constant("KBNvK", false, [4, 0]));
    folder.write("KNBvK.rtbw", b"none");
    let tables = Tablebases::open(folder.path()).unwrap();
    let (swapped, both) = ("8/8/3k4/8/8/3K4/8/3n4 w - - 0 1", "8/8/3k4/8/8/3K4/8/2NB4 w - - 0 1");
    for (fen, wdl) in [(KNVK, 2), (swapped, -2), (both, 2)] {
        assert_eq!(tables.wdl(&board(fen)).map(|wdl| wdl as i8), Ok(wdl), "{fen}");
    }
    let names: Vec<_> = tables.bad_files().iter().map(|bad| bad.path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["KvKN.rtbw"]);
}

/// Tables to damage, and positions that ask them.
fn victims() -> Vec<(String, Vec<u8>, Vec<&'static str>)> {
    let positions = [
        ("KNvK", vec![KNVK, "8/8/3k4/8/8/3K4/8/3n4 w - - 0 1", "7k/8/8/8/N7/8/8/K7 b - - 0 1"]),
        ("KPvKP", vec!["8/8/4k3/3pP3/8/8/8/7K w - d6 0 1", "8/3p4/8/8/7k/8/5P2/7K b - - 0 1"]),
        ("KPPvK", vec!["8/8/4k3/8/3PP3/8/8/7K w - - 0 1", "8/8/4k3/8/1p4p1/8/8/7K w - - 0 1"]),
        ("KBBvK", vec!["8/8/4k3/8/3BB3/8/8/7K w - - 0 1", "8/8/4k3/8/3bb3/8/8/7K w - - 0 1"]),
    ];
    let mut seed = 0;
    let mut victims = Vec::new();
    for (name, positions) in positions {
        for dtz in [false, true] {
            seed += 1;
            let file = format!("{name}.{}", if dtz { "rtbz" } else { "rtbw" });
            victims.push((file, synthetic::table(name, dtz, seed), positions.clone()));
        }
    }
    victims
}

/// A folder with all the tables that the positions ask, the damaged one among them.
fn check(folder: &Folder, file: &str, damaged: &[u8], positions: &[&str]) {
    folder.write(file, damaged);
    if let Ok(tables) = Tablebases::open(folder.path()) {
        positions.iter().for_each(|fen| ask(&tables, fen));
        let failed = |fen: &&str| matches!(tables.wdl(&board(fen)), Err(ProbeError::BadTable { .. }));
        // Whole or in the place that was asked: it is told, and no other is.
        assert!(tables.bad_files().iter().all(|bad| bad.path.ends_with(file)));
        assert!(!positions.iter().any(failed) || tables.bad_files().len() == 1, "{file} is not told");
    }
}

fn sound(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (file, bytes, _) in victims() {
        folder.write(&file, &bytes);
    }
    for name in ["KNvK", "KBvK", "KRvK", "KQvK", "KPvK", "KQPvK", "KRPvK", "KQvKP", "KRvKP"] {
        folder.write(&format!("{name}.rtbw"), &synthetic::constant(name, false, [4, 0]));
        folder.write(&format!("{name}.rtbz"), &synthetic::constant(name, true, [0, 0]));
    }
    folder
}

#[test]
fn tables_cut_anywhere_give_answers_or_errors() {
    let folder = sound("truncated");
    for (file, bytes, positions) in victims() {
        let head = (0..200).step_by(3).chain((200..bytes.len()).step_by(601));
        let whole = (0..bytes.len() / 64).step_by(10).map(|blocks| 64 * blocks + 16);
        for len in head.chain(whole) {
            check(&folder, &file, &bytes[..len], &positions);
            // The length that a table has, and nothing where there should be something.
            let mut padded = bytes[..len].to_vec();
            padded.resize(bytes.len(), 0);
            check(&folder, &file, &padded, &positions);
        }
        folder.write(&file, &bytes);
    }
}

#[test]
fn tables_with_changed_bytes_give_answers_or_errors() {
    let folder = sound("mutated");
    let mut random = Random(2026);
    for (file, bytes, positions) in victims() {
        for round in 0..rounds() {
            let mut damaged = bytes.clone();
            // The head is where a byte means most.
            let reach = if round % 3 == 0 { bytes.len() } else { 120 };
            for _ in 0..1 + random.below(4) {
                let place = random.below(reach as u64) as usize;
                damaged[place] = match random.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => damaged[place] ^ 1 << random.below(8),
                    _ => random.next() as u8,
                };
            }
            check(&folder, &file, &damaged, &positions);
        }
        folder.write(&file, &bytes);
    }
}

#[test]
fn tables_of_noise_give_answers_or_errors() {
    let folder = sound("noise");
    let mut random = Random(7);
    for (file, bytes, positions) in victims() {
        for kept in [4, 5, 6, 12, 20, 40, 80] {
            for _ in 0..rounds() / 30 {
                let mut damaged: Vec<u8> = bytes.iter().map(|_| random.next() as u8).collect();
                damaged[..kept].copy_from_slice(&bytes[..kept]);
                check(&folder, &file, &damaged, &positions);
            }
        }
        folder.write(&file, &bytes);
    }
}

#[test]
fn real_tables_with_changed_bytes_give_answers_or_errors() {
    let Some(shared) = common::tables() else { return };
    let folder = Folder::new("real");
    for entry in std::fs::read_dir(&shared).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, std::path::Path::new(folder.path()).join(path.file_name().unwrap())).unwrap();
    }
    let positions = common::recorded("positions.epd");
    let mut random = Random(11);
    for name in ["KQvKR", "KPvKP", "KBNvK"] {
        let own: Vec<&str> = positions.iter().map(|p| p.fen.as_str()).filter(|fen| is_of(name, fen)).take(8).collect();
        assert!(!own.is_empty());
        for extension in ["rtbw", "rtbz"] {
            let file = format!("{name}.{extension}");
            let bytes = std::fs::read(shared.join(&file)).unwrap();
            for _ in 0..rounds() / 10 {
                let mut damaged = bytes.clone();
                let reach = [200, 2000, bytes.len()][random.below(3) as usize].min(bytes.len());
                damaged[random.below(reach as u64) as usize] = random.next() as u8;
                check(&folder, &file, &damaged, &own);
            }
            folder.write(&file, &bytes);
        }
    }
}

fn is_of(name: &str, fen: &str) -> bool {
    use oncilla_syzygy::Material;
    let material = Material::of(&board(fen));
    [material, material.swapped()].contains(&Material::parse(name).unwrap())
}
