//! Compares `planes::key` with what it stands for: the planes and the legal moves.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use oncilla_chess::planes::{HistoryFill, InputFormat, PLANES, PlaneSet, Planes, encode, key};
use oncilla_chess::{Castling, History, MIN_CAP, MoveList, pack};

const FILLS: [HistoryFill; 3] = [HistoryFill::No, HistoryFill::FenOnly, HistoryFill::Always];

/// Positions with two moves for each side, so that in eleven plies many positions come again, some with the same
/// history and some with another.
const NARROW: [&str; 3] = [
    "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
    "4k3/8/p1p1p1p1/P1P1P1P1/8/8/8/4K3 w - - 12 40",
    "8/8/3k4/8/2nB4/8/3K4/8 w - - 20 80",
];

/// Start positions with flags, en passant or castling, some of which matter for what follows and some not.
const FLAGGED: [&str; 4] = [
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 9",
    "r3k2r/8/8/8/8/8/8/R3K2R w - - 3 9",
];

/// All planes except those of the positions before the last `shown` ones.
fn of_last(shown: usize) -> PlaneSet {
    (0..PLANES).filter(|&plane| plane < 13 * shown || plane >= 104).collect()
}

/// What a key may be asked for.
#[derive(Clone, Copy, Debug)]
struct View {
    format: InputFormat,
    fill: HistoryFill,
    planes: PlaneSet,
}

/// What networks look at: all planes, those of the present position, and those of the one before as well.
fn views() -> impl Iterator<Item = View> {
    let of_format = |format| {
        FILLS.into_iter().flat_map(move |fill| [8, 1, 2].map(|shown| View { format, fill, planes: of_last(shown) }))
    };
    InputFormat::ALL.into_iter().flat_map(of_format)
}

/// Every game of at most `plies` moves, each of which is the first, the last, or one of the `more` next in the list.
fn games(history: &mut History<MIN_CAP>, plies: usize, more: usize, visit: &mut impl FnMut(&History<MIN_CAP>)) {
    visit(history);
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    if plies == 0 || moves.is_empty() {
        return;
    }
    let (last, others) = moves.split_last().expect("there are moves");
    for &mv in others.iter().take(1 + more).chain([last]) {
        history.push(mv);
        games(history, plies - 1, more, visit);
        history.pop();
    }
}

/// What a network sees and may answer, in 64 bits that have nothing to do with the key's.
fn facts(history: &History<MIN_CAP>, view: View) -> u64 {
    let mut planes = Planes::default();
    let transform = encode(history, view.format, view.fill, &mut planes);
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let mut hasher = DefaultHasher::new();
    let seen = planes.as_array().iter().enumerate().filter(|&(number, _)| view.planes.contains(number));
    seen.for_each(|(_, plane)| (plane.mask, plane.value.to_bits()).hash(&mut hasher));
    (transform.bits(), moves.iter().map(|&mv| pack(mv)).collect::<Vec<_>>()).hash(&mut hasher);
    hasher.finish()
}

/// The keys by facts and the facts by keys, of all that was seen.
#[derive(Default)]
struct Seen {
    facts_of_key: HashMap<u64, u64>,
    key_of_facts: HashMap<u64, u64>,
    histories: usize,
}

impl Seen {
    fn check(&mut self, history: &History<MIN_CAP>, view: View, both_ways: bool) {
        let (key, facts) = (key(history, view.format, view.fill, view.planes), facts(history, view));
        let context = || format!("{} after {} plies, {view:?}", history.to_fen(Castling::Chess960), history.len() - 1);
        assert_eq!(*self.facts_of_key.entry(key).or_insert(facts), facts, "{}", context());
        if both_ways {
            assert_eq!(*self.key_of_facts.entry(facts).or_insert(key), key, "{}", context());
        }
        self.histories += 1;
    }
}

#[test]
fn a_key_is_equal_where_a_network_sees_the_same() {
    for view in views() {
        let mut seen = Seen::default();
        for fen in NARROW {
            let mut history = History::from_fen(fen).unwrap();
            games(&mut history, 11, 0, &mut |history| seen.check(history, view, true));
        }
        // Otherwise the test would test nothing.
        let inputs = seen.facts_of_key.len();
        assert!(inputs > 1_000 && seen.histories - inputs > 100, "{view:?}: {inputs} of {}", seen.histories);
    }
}

#[test]
fn flags_of_the_start_are_in_the_key() {
    for view in views() {
        let mut seen = Seen::default();
        for fen in FLAGGED {
            let mut history = History::from_fen(fen).unwrap();
            games(&mut history, 5, 2, &mut |history| seen.check(history, view, false));
        }
    }
}

#[test]
fn positions_further_back_than_a_network_sees_do_not_matter() {
    let mut histories = ["e2e3 a7a6 d2d3 a6a5", "d2d3 a7a6 e2e3 a6a5"].map(|opening| {
        let mut history = History::<MIN_CAP>::startpos();
        opening.split(' ').for_each(|mv| history.push(mv.parse().unwrap()));
        history
    });
    let key = |shown| {
        move |history: &History<MIN_CAP>| key(history, InputFormat::Classical112, HistoryFill::FenOnly, of_last(shown))
    };
    for (ply, mv) in ["g1f3", "g8f6", "b1c3", "b8c6", "f1e2", "e7e6", "a2a3"].into_iter().enumerate() {
        // Three plies earlier the pawns still stood differently.
        for (shown, first) in [(8, 6), (4, 2), (3, 1), (2, 0), (1, 0)] {
            let [a, b] = histories.each_ref().map(key(shown));
            assert_eq!(a == b, ply >= first, "{mv}, {shown} positions");
        }
        histories.iter_mut().for_each(|history| history.push(mv.parse().unwrap()));
    }
}
