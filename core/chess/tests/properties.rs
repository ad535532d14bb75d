//! What must hold in any game, tested on random ones.

use std::collections::{HashMap, HashSet};

use oncilla_chess::planes::{HistoryFill, InputFormat, Planes, encode};
use oncilla_chess::{
    Board, Castling, History, MIN_CAP, Move, MoveList, Piece, Square, Terminal, TwoFold, notation, pack, policy, unpack,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// More plies than a short history holds, and enough to empty a board.
const MOST_PLIES: usize = 160;

/// A start position and a number for each move, which picks among the legal ones.
#[derive(Clone, Debug)]
struct Game {
    fen: String,
    choices: Vec<u8>,
}

impl Arbitrary for Game {
    fn arbitrary(g: &mut Gen) -> Self {
        let number = u32::arbitrary(g) % 960;
        let starts = [
            format!("{}", Board::startpos()),
            format!("{:#}", Board::chess960_startpos(number)),
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1".into(),
            "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1".into(),
            "8/PPP1k3/8/8/8/8/3Kppp1/8 b - - 90 70".into(),
            "8/8/3k4/8/2nB4/8/3K4/8 w - - 20 80".into(),
        ];
        let fen = g.choose(&starts).unwrap().clone();
        let plies = usize::arbitrary(g) % MOST_PLIES;
        Game { fen, choices: (0..plies).map(|_| u8::arbitrary(g)).collect() }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let fen = self.fen.clone();
        Box::new(self.choices.shrink().map(move |choices| Game { fen: fen.clone(), choices }))
    }
}

impl Game {
    fn start<const CAP: usize>(&self) -> History<CAP> {
        History::from_fen(&self.fen).unwrap()
    }

    /// The moves, as far as the game goes. Every third one takes back the mover's last move, if that is legal, because
    /// random moves alone seldom repeat a position.
    fn moves(&self) -> Vec<Move> {
        let mut board = self.start::<MIN_CAP>().board().clone();
        let mut played: Vec<Move> = Vec::new();
        for &choice in &self.choices {
            let mut legal = Vec::new();
            board.generate_moves(|moves| {
                legal.extend(moves);
                false
            });
            let undo = played.len().checked_sub(2).map(|i| played[i]);
            let undo = undo.map(|mv| Move { from: mv.to, to: mv.from, promotion: None });
            let undo = undo.filter(|&mv| choice % 3 == 0 && board.is_legal(mv));
            let Some(mv) = undo.or_else(|| legal.get(usize::from(choice) % legal.len().max(1)).copied()) else { break };
            board.play_unchecked(mv);
            played.push(mv);
        }
        played
    }
}

fn check(property: fn(Game) -> bool) {
    QuickCheck::new().tests(300).quickcheck(property as fn(Game) -> bool);
}

fn legal<const CAP: usize>(history: &History<CAP>) -> MoveList {
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    moves
}

/// Everything that can be asked about the last position.
fn snapshot<const CAP: usize>(history: &History<CAP>) -> impl PartialEq + std::fmt::Debug + use<CAP> {
    let mut planes = Planes::default();
    encode(history, InputFormat::Classical112, HistoryFill::FenOnly, &mut planes);
    let counters = (history.len(), history.ply(), history.rule50(), history.repetitions(), history.cycle_length());
    (history.to_fen(Castling::Chess960), (history.key(), history.graph_key()), counters, planes)
}

/// Pieces, side to move, castling rights: the first three fields of a FEN.
fn placement<const CAP: usize>(history: &History<CAP>) -> String {
    history.to_fen(Castling::Chess960).split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Where a pawn can be captured en passant: a legal pawn move that changes file and lands on an empty square.
fn playable_en_passant<const CAP: usize>(history: &History<CAP>) -> Option<Square> {
    let board = history.board();
    let captures = |mv: &&Move| {
        board.piece_on(mv.from) == Some(Piece::Pawn)
            && mv.from.file() != mv.to.file()
            && board.piece_on(mv.to).is_none()
    };
    legal(history).iter().find(captures).map(|mv| mv.to)
}

#[test]
fn pop_and_truncate_undo_push() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MOST_PLIES>();
        let mut before = vec![snapshot(&history)];
        for mv in game.moves() {
            history.push(mv);
            assert_eq!(history.last().last_move(), Some(mv));
            before.push(snapshot(&history));
        }
        let mut jumped = history.clone();
        assert!(jumped.truncate(1 + before.len() / 2));
        assert_eq!(snapshot(&jumped), before[before.len() / 2]);
        while let Some(expected) = before.pop() {
            assert_eq!(snapshot(&history), expected);
            assert_eq!(history.pop(), !before.is_empty());
        }
        true
    }
    check(property);
}

#[test]
fn replay_is_truncate_and_push() {
    fn property(game: Game, root: usize, cuts: Vec<(usize, u8)>) -> bool {
        let moves = game.moves();
        let root = root % (moves.len() + 1);
        let mut replayed = game.start::<MOST_PLIES>();
        moves[..root].iter().for_each(|&mv| replayed.push(mv));
        let mut pushed = replayed.clone();
        for (cut, choice) in cuts {
            // The game up to a cut, and another move from there.
            let mut way = moves[root..root + cut % (moves.len() - root + 1)].to_vec();
            assert!(pushed.truncate(root + 1));
            way.iter().for_each(|&mv| pushed.push(mv));
            let own = pushed.nth_legal_move(usize::from(choice) % legal(&pushed).len().max(1));
            own.into_iter().for_each(|mv| pushed.push(mv));
            way.extend(own);
            assert!(replayed.replay(root + 1, way.iter().map(|&mv| pack(mv))));
            assert_eq!(snapshot(&replayed), snapshot(&pushed));
            assert_eq!(replayed.last().last_move(), pushed.last().last_move());
        }
        let before = snapshot(&replayed);
        assert!(!replayed.replay(0, []) && !replayed.replay(replayed.len() + 1, []));
        assert_eq!(snapshot(&replayed), before);
        true
    }
    QuickCheck::new().tests(300).quickcheck(property as fn(Game, usize, Vec<(usize, u8)>) -> bool);
}

#[test]
fn legal_moves_are_those_of_cozy_chess_and_nth_is_their_index() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MIN_CAP>();
        let visit = |history: &History<MIN_CAP>| {
            let ours = legal(history);
            let mut theirs = Vec::new();
            history.board().generate_moves(|moves| {
                theirs.extend(moves);
                false
            });
            let (as_set, theirs): (HashSet<_>, HashSet<_>) = (ours.iter().collect(), theirs.iter().collect());
            assert_eq!(as_set, theirs, "{}", history.to_fen(Castling::Chess960));
            assert_eq!(as_set.len(), ours.len(), "a move comes twice: {}", history.to_fen(Castling::Chess960));
            for (index, &mv) in ours.iter().enumerate() {
                assert_eq!(history.nth_legal_move(index), Some(mv));
            }
            assert_eq!(history.nth_legal_move(ours.len()), None);
            assert_eq!(history.terminal(0, TwoFold::Draw).is_some(), ours.is_empty());
        };
        visit(&history);
        for mv in game.moves() {
            history.push(mv);
            visit(&history);
        }
        true
    }
    check(property);
}

#[test]
fn graph_keys_never_come_twice_along_a_game() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MIN_CAP>();
        let mut seen = HashSet::from([history.graph_key()]);
        for mv in game.moves() {
            history.push(mv);
            assert!(seen.insert(history.graph_key()), "{}", history.to_fen(Castling::Chess960));
        }
        true
    }
    check(property);
}

#[test]
fn keys_are_equal_where_the_position_is_and_nowhere_else() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MIN_CAP>();
        let (mut facts_of_key, mut key_of_facts) = (HashMap::new(), HashMap::new());
        let mut visit = |history: &History<MIN_CAP>| {
            let counters = (history.rule50(), history.repetitions().min(2));
            let facts = (placement(history), playable_en_passant(history), counters);
            assert_eq!(*facts_of_key.entry(history.key()).or_insert_with(|| facts.clone()), facts);
            assert_eq!(*key_of_facts.entry(facts).or_insert(history.key()), history.key());
        };
        visit(&history);
        for mv in game.moves() {
            // Positions one move apart are the ones that are most alike.
            for &other in &legal(&history) {
                history.push(other);
                visit(&history);
                history.pop();
            }
            history.push(mv);
            visit(&history);
        }
        true
    }
    QuickCheck::new().tests(60).quickcheck(property as fn(Game) -> bool);
}

#[test]
fn repetitions_are_the_earlier_equal_positions() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MOST_PLIES>();
        let mut seen = Vec::new();
        for mv in game.moves() {
            seen.push((placement(&history), playable_en_passant(&history)));
            history.push(mv);
            let now = (placement(&history), playable_en_passant(&history));
            let earlier = seen.iter().filter(|&position| *position == now).count();
            let cycle = seen.iter().rev().position(|position| *position == now).map_or(0, |i| i + 1);
            assert_eq!(usize::from(history.repetitions()), earlier);
            assert_eq!(usize::from(history.cycle_length()), cycle);
        }
        true
    }
    check(property);
}

#[test]
fn random_games_do_repeat_positions_and_promote() {
    // On games in which nothing happens, the other properties would test nothing.
    let mut g = Gen::from_size_and_seed(100, 1);
    let (mut repeated, mut promoted, mut castled, mut captured_en_passant) = (0, 0, 0, 0);
    for _ in 0..300 {
        let game = Game::arbitrary(&mut g);
        let mut history = game.start::<MOST_PLIES>();
        for mv in game.moves() {
            promoted += usize::from(mv.promotion.is_some());
            castled += usize::from(history.board().colors(history.side_to_move()).has(mv.to));
            captured_en_passant += usize::from(
                playable_en_passant(&history) == Some(mv.to)
                    && history.board().piece_on(mv.from) == Some(Piece::Pawn)
                    && mv.from.file() != mv.to.file(),
            );
            history.push(mv);
            repeated += usize::from(history.repetitions() >= 2);
        }
    }
    for (count, what) in
        [(repeated, "threefold"), (promoted, "promotion"), (castled, "castling"), (captured_en_passant, "en passant")]
    {
        assert!(count >= 5, "only {count} of {what} in 300 games");
    }
}

#[test]
fn legal_moves_pack_and_have_policy_indices_of_their_own() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MIN_CAP>();
        for mv in game.moves() {
            history.push(mv);
            for format in InputFormat::ALL {
                let mut planes = Planes::default();
                let transform = encode(&history, format, HistoryFill::Always, &mut planes);
                let mut taken = HashSet::new();
                for &mv in &legal(&history) {
                    assert_eq!(unpack(pack(mv)), mv);
                    let index = policy::index(mv, history.side_to_move(), transform);
                    assert!(usize::from(index) < policy::SIZE);
                    assert!(taken.insert(index), "two moves have index {index}");
                }
            }
        }
        true
    }
    check(property);
}

#[test]
fn text_comes_back_as_it_was() {
    fn property(game: Game) -> bool {
        let mut history = game.start::<MIN_CAP>();
        for mv in game.moves() {
            history.push(mv);
            for castling in [Castling::Standard, Castling::Chess960] {
                let read = History::<MIN_CAP>::from_fen(&history.to_fen(castling)).unwrap();
                assert_eq!(read.to_fen(Castling::Chess960), history.to_fen(Castling::Chess960));
                assert_eq!(legal(&read), legal(&history));
            }
            for &mv in &legal(&history) {
                for castling in [Castling::Standard, Castling::Chess960] {
                    let text = notation::format_move(history.board(), mv, castling);
                    assert_eq!(notation::parse_move(history.board(), &text), Ok(mv));
                }
            }
        }
        true
    }
    check(property);
}

#[test]
fn no_text_panics() {
    fn property(fen: String, text: String, cut: usize) -> bool {
        let _ = History::<MIN_CAP>::from_fen(&fen);
        let history = History::<MIN_CAP>::startpos();
        let _ = notation::parse_move(history.board(), &text);
        // Text that is nearly right gets further than text that is not.
        let mut near: Vec<char> = history.to_fen(Castling::Standard).chars().collect();
        let at = cut % near.len();
        near[at] = text.chars().next().unwrap_or('/');
        let near: String = near.into_iter().collect();
        if let Ok(history) = History::<MIN_CAP>::from_fen(&near) {
            assert!(legal(&history).len() <= 218);
        }
        true
    }
    QuickCheck::new().tests(5_000).quickcheck(property as fn(String, String, usize) -> bool);
}

/// The moves that end a game as a draw by its history are found without playing all of them: the definition plays all.
#[test]
fn moves_that_draw_by_history_are_found() {
    fn found<const CAP: usize>(game: &Game) {
        let mut history: History<CAP> = game.start();
        for mv in game.moves() {
            history.push(mv);
            let moves = legal(&history);
            let draws = |&mv: &Move| {
                let mut after = history.clone();
                after.push(mv);
                matches!(after.terminal(1, TwoFold::Ignored), Some(Terminal::FiftyMoves | Terminal::Threefold))
            };
            let expected: Vec<usize> = (0..moves.len()).filter(|&at| draws(&moves[at])).collect();
            let (mut found, mut walked) = (Vec::new(), history.clone());
            walked.drawing_moves(&moves, |at| found.push(at));
            assert_eq!(found, expected, "{}", game.fen);
            assert_eq!((walked.len(), walked.key()), (history.len(), history.key()));
        }
    }
    fn property(game: Game) -> bool {
        found::<1024>(&game);
        // A history that is full forgets its oldest position.
        found::<MIN_CAP>(&game);
        true
    }
    QuickCheck::new().tests(60).quickcheck(property as fn(Game) -> bool);
}
