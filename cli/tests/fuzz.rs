//! Runs the fuzz targets without a fuzzer: every `cargo test` runs them over the stored corpus and over several
//! thousand mutations of it. `ci/fuzz` runs the real fuzzer.

#[path = "orders/random.rs"]
mod random;
#[path = "../../fuzz/src/targets.rs"]
mod targets;

use random::Random;

/// The number of mutations for each target.
const MUTATIONS: u64 = 20_000;

/// The parts of texts: words of UCI, FENs, options and JSON, and bytes that break words.
const WORDS: [&[u8]; 42] = [
    b" ", b"\t", b"\0", b"\xff", b"\xc3", b"-", b"/", b"=", b"(", b")", b",", b"'", b"9", b"1e99", b"value", b"name",
    b"moves", b"fen", b"go", b"wtime", b"e2e4", b"KQkq", b"smooth", b"\n", b"\"", b"{", b"}", b"[", b"]", b":",
    b"null", b"\"id\":", b";B[", b";W[", b"AB[", b"AE[", b"SZ[", b"KM[", b"RU[", b"PL[", b"aa:cc", b"\\",
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = oncilla_testing::repository().join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a file of the corpus").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a file of the corpus")).collect()
}

/// Makes one to four changes: a byte, a word, or a part that is taken out, doubled, or replaced from another text.
fn mutate(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut text = corpus[random.index(corpus.len())].clone();
    for _ in 0..=random.index(4) {
        let at = random.index(text.len() + 1);
        let to = at + random.index(text.len() + 1 - at);
        match random.index(6) {
            0 if at < text.len() => text[at] = random.index(256) as u8,
            1 => drop(text.drain(at..to)),
            2 => {
                let part = text[at..to].to_vec();
                text.splice(at..at, part);
            }
            3 => {
                let other = &corpus[random.index(corpus.len())];
                let from = random.index(other.len() + 1);
                text.splice(at..to, other[from..].iter().copied());
            }
            _ => {
                text.splice(at..at, WORDS[random.index(WORDS.len())].iter().copied());
            }
        }
    }
    text
}

fn run(name: &str, target: fn(&[u8])) {
    let corpus = corpus(name);
    assert!(corpus.len() >= 10, "{name}: {} files", corpus.len());
    corpus.iter().for_each(|text| target(text));
    for seed in 0..MUTATIONS {
        let text = mutate(&mut Random::new(seed), &corpus);
        let judged = std::panic::catch_unwind(|| target(&text));
        // The text is needed to investigate the failure.
        assert!(judged.is_ok(), "{name}, seed {seed}: {:?}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn lines_of_uci() {
    run("uci_line", targets::uci_line);
}

#[test]
fn fens() {
    run("fen", targets::fen);
}

#[test]
fn options() {
    run("options", targets::options);
}

#[test]
fn lines_of_analysis() {
    run("analysis_line", targets::analysis_line);
}

#[test]
fn pgn() {
    run("pgn", targets::pgn);
}

#[test]
fn sgf() {
    run("sgf", targets::sgf);
}
