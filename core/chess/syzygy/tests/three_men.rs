//! The endings that are built in: against the shared tables, against themselves, and against what is known of them.

mod common;

use std::collections::HashSet;

use oncilla_chess::cozy_chess::{BoardBuilder, get_king_moves};
use oncilla_chess::{Board, Color, File, History, Move, Piece, Square, TwoFold};
use oncilla_syzygy::three_men::{Known, line, probe, root_moves};
use oncilla_syzygy::{Tablebases, Wdl};

const MEN: [Piece; 3] = [Piece::Queen, Piece::Rook, Piece::Pawn];

/// Every legal position with this man, White's, and that side to move.
fn positions(man: Piece, side: Color) -> impl Iterator<Item = Board> {
    (0..64 * 64 * 64).filter_map(move |number| {
        let [king, bare, square] = [0, 6, 12].map(|shift| Square::index(number >> shift & 63));
        let mut builder = BoardBuilder::empty();
        for (square, piece, color) in
            [(king, Piece::King, Color::White), (bare, Piece::King, Color::Black), (square, man, Color::White)]
        {
            if builder.square(square).is_some() {
                return None;
            }
            *builder.square_mut(square) = Some((piece, color));
        }
        builder.side_to_move = side;
        builder.build().ok().filter(|_| !get_king_moves(king).has(bare))
    })
}

/// The man stands on the files a to d: others are mirror images.
fn is_on_the_left(board: &Board) -> bool {
    (board.occupied() & !board.pieces(Piece::King)).iter().all(|square| square.file() <= File::D)
}

fn known(board: &Board) -> Known {
    probe(board).unwrap_or_else(|| panic!("{board}"))
}

fn moves(board: &Board) -> Vec<Move> {
    let mut all = Vec::new();
    board.generate_moves(|moves| {
        all.extend(moves);
        false
    });
    all
}

fn after(board: &Board, mv: Move) -> Board {
    let mut next = board.clone();
    next.play_unchecked(mv);
    next
}

/// The same with the sides changed.
fn with_sides_changed(board: &Board) -> Board {
    let mut builder = BoardBuilder::empty();
    for square in board.occupied() {
        let man = board.piece_on(square).zip(board.color_on(square)).map(|(piece, color)| (piece, !color));
        *builder.square_mut(square.flip_rank()) = man;
    }
    builder.side_to_move = !board.side_to_move();
    builder.build().unwrap()
}

/// A value that follows from those of the moves, by the rules and by nothing else.
fn from_moves(board: &Board) -> Known {
    let moves = moves(board);
    let drawn = Known { wdl: Wdl::Draw, to_mate: 0, to_zeroing: 0 };
    if moves.is_empty() {
        let mated = !board.checkers().is_empty();
        return if mated { Known { wdl: Wdl::Loss, ..drawn } } else { drawn };
    }
    let by_move = |&mv: &Move| {
        let after = known(&after(board, mv));
        let zeroes = board.piece_on(mv.from) == Some(Piece::Pawn) || board.occupied().has(mv.to);
        let to_zeroing = if zeroes { 1 } else { after.to_zeroing + 1 };
        Known { wdl: -after.wdl, to_mate: after.to_mate + 1, to_zeroing }
    };
    let all: Vec<Known> = moves.iter().map(by_move).collect();
    let wdl = all.iter().map(|known| known.wdl).max().unwrap();
    let same = || all.iter().filter(|known| known.wdl == wdl);
    let [mates, zeroings] = [|known: &Known| known.to_mate, |known: &Known| known.to_zeroing].map(|of| {
        let plies = same().map(of);
        if wdl == Wdl::Win { plies.min().unwrap() } else { plies.max().unwrap() }
    });
    if wdl == Wdl::Draw { drawn } else { Known { wdl, to_mate: mates, to_zeroing: zeroings } }
}

/// That leaves no other values: wins and losses go back to mates ply by ply, and who draws has a move that draws, for
/// ever.
#[test]
fn every_value_follows_from_those_of_the_moves() {
    for man in MEN {
        for side in Color::ALL {
            for board in positions(man, side) {
                assert_eq!(known(&board), from_moves(&board), "{board}");
                assert_eq!(known(&board), known(&with_sides_changed(&board)), "{board}");
            }
        }
    }
}

/// Longest wins: ten moves with a queen, sixteen with a rook, twenty-eight with a pawn. Positions that are won for
/// White to move, and lost for Black; of those with a pawn half have it on the files a to d, 111,282, as is known of
/// bitbases of this ending.
#[test]
fn there_are_as_many_wins_and_as_long_as_is_known() {
    for (man, longest, won, lost) in
        [(Piece::Queen, 19, 144_508, 200_896), (Piece::Rook, 31, 175_168, 201_700), (Piece::Pawn, 55, 124_960, 97_604)]
    {
        let all = |side| positions(man, side).map(|board| (known(&board), board));
        let wins: Vec<_> = all(Color::White).filter(|(known, _)| known.wdl == Wdl::Win).collect();
        let losses: Vec<_> = all(Color::Black).filter(|(known, _)| known.wdl == Wdl::Loss).collect();
        let most = |all: &[(Known, Board)]| all.iter().map(|(known, _)| known.to_mate).max();
        assert_eq!((most(&wins), most(&losses)), (Some(longest), Some(longest + 1)), "{man:?}");
        assert!(wins.iter().chain(&losses).all(|(known, _)| known.with_rule50(0) == known.wdl));
        assert_eq!((wins.len(), losses.len()), (won, lost), "{man:?}");
    }
}

#[test]
fn every_result_and_distance_is_that_of_the_tables() {
    let Some(folder) = common::tables() else { return };
    let tables = &Tablebases::open(folder.to_str().unwrap()).unwrap();
    let compare = |board: Board| {
        let known = known(&board);
        assert_eq!(tables.wdl(&board), Ok(known.wdl), "{board}");
        // A mated side is a ply from the end, say the tables.
        let plies = i32::from(known.to_zeroing).max(1) * i32::from(known.wdl.points());
        assert_eq!(tables.dtz(&board), Ok(plies), "{board}");
    };
    std::thread::scope(|scope| {
        for (man, side) in MEN.into_iter().flat_map(|man| Color::ALL.map(|side| (man, side))) {
            scope.spawn(move || positions(man, side).filter(is_on_the_left).for_each(compare));
        }
    });
}

#[test]
fn other_material_is_drawn_or_unknown() {
    for (fen, drawn) in [
        ("8/8/8/3k4/8/3K4/8/8 w - - 0 1", true),
        ("8/8/8/3k4/8/3K4/8/3B4 w - - 0 1", true),
        ("8/8/8/3k4/8/3K4/8/3n4 b - - 0 1", true),
        ("8/8/8/3k4/8/3K4/8/2RR4 w - - 0 1", false),
        // The rook may castle.
        ("8/8/8/3k4/8/8/8/4K2R w K - 0 1", false),
    ] {
        let known = probe(&fen.parse().unwrap());
        assert_eq!(known.map(|known| known.wdl), drawn.then_some(Wdl::Draw), "{fen}");
    }
}

/// The moves that are best, and what is said of them.
fn best(game: &History) -> (Vec<String>, Wdl, Option<i32>) {
    let ranks = root_moves(game).unwrap();
    assert!(ranks.by_dtz());
    let best: Vec<_> = ranks.best().collect();
    (best.iter().map(|ranked| ranked.mv.to_string()).collect(), best[0].wdl, best[0].mate)
}

#[test]
fn the_counter_decides_which_way_is_taken() {
    let at = |fen: &str| best(&History::from_fen(fen).unwrap());
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    // Mate in two, in time until the counter stands at 97.
    let corner = |rule50| at(&format!("k7/8/2K5/8/8/8/8/1R6 w - - {rule50} 90"));
    assert_eq!(corner(0), (words("c6c7"), Wdl::Win, Some(3)));
    assert_eq!(corner(97), (words("c6c7"), Wdl::Win, Some(3)));
    assert_eq!(corner(98).1.points(), 0);
    let mate = known(&"k7/8/2K5/8/8/8/8/1R6 w - - 0 1".parse().unwrap());
    assert_eq!(
        [97, 98].map(|rule50| (mate.with_rule50(rule50), mate.mate(rule50))),
        [(Wdl::Win, Some(3)), (Wdl::CursedWin, None)]
    );
    let mated = known(&"8/8/2R5/8/8/8/8/k1K5 b - - 0 1".parse().unwrap());
    assert_eq!(
        [96, 97].map(|rule50| (mated.with_rule50(rule50), mated.mate(rule50))),
        [(Wdl::Loss, Some(4)), (Wdl::BlessedLoss, None)]
    );
    // A pawn's move is always in time, if it wins.
    let pawn = |rule50| at(&format!("8/8/8/8/8/k7/7P/K7 w - - {rule50} 90"));
    assert_eq!((pawn(0).1, pawn(99).1), (Wdl::Win, Wdl::Win));
    assert_eq!(pawn(99).0.iter().filter(|mv| !mv.starts_with("h2")).count(), 0);
}

/// Plays moves, and says what the next one is worth.
fn worth_after(moves: &str, next: &str) -> Wdl {
    let mut game: History = History::from_fen("k7/8/2K5/8/8/8/8/1R6 w - - 0 1").unwrap();
    moves.split_whitespace().for_each(|text| game.try_push(text.parse().unwrap()).unwrap());
    let ranks = root_moves(&game).unwrap();
    assert_eq!(ranks.best().next().unwrap().wdl, Wdl::Win, "another move wins");
    ranks.moves.iter().find(|ranked| ranked.mv.to_string() == next).unwrap().wdl
}

/// A side that has wasted time may not repeat a position for the third time, nor let the other side do it.
#[test]
fn a_third_occurrence_is_no_win() {
    let again = "c6c7 a8a7 c7c6 a7a8 ";
    for (times, wdl) in [(0, Wdl::Win), (1, Wdl::Win), (2, Wdl::Draw)] {
        assert_eq!(worth_after(&again.repeat(times), "c6c7"), wdl, "{times}");
    }
    // The king goes back to where the game began.
    let to_and_fro = "b1b2 a8a7 b2b1 a7a8 ";
    for (times, wdl) in [(0, Wdl::Win), (1, Wdl::Draw)] {
        assert_eq!(worth_after(&format!("{}b1b2 a8a7", to_and_fro.repeat(times)), "b2b1"), wdl, "{times}");
    }
}

/// From the longest wins the first of the best moves mates, in time, and no ply too late, with the counter wherever it
/// may be.
#[test]
fn won_positions_are_won() {
    let mut played = HashSet::new();
    for (man, step) in MEN.into_iter().zip([997, 499, 61]) {
        for board in positions(man, Color::White).filter(|board| known(board).wdl == Wdl::Win).step_by(step) {
            let known = known(&board);
            let latest = 100 - u16::from(known.to_zeroing);
            for rule50 in [0, latest / 2, latest] {
                let text = board.to_string();
                let fields: Vec<&str> = text.split(' ').collect();
                let mut game: History = History::from_fen(&format!("{} {rule50} 90", fields[..4].join(" "))).unwrap();
                if rule50 == 0 {
                    let first = root_moves(&game).unwrap().best().next().unwrap().mv;
                    let line = line(&board, first);
                    let end = line.iter().fold(board.clone(), |board, &mv| after(&board, mv));
                    assert_eq!((line.len() as u8, moves(&end).len()), (known.to_mate, 0), "{board}");
                }
                let mut plies = 0;
                while game.terminal(1, TwoFold::Ignored).is_none() {
                    let ranks = root_moves(&game).unwrap();
                    let mv = ranks.best().next().unwrap().mv;
                    game.push(mv);
                    plies += 1;
                }
                assert!(game.terminal(1, TwoFold::Ignored).is_some_and(|end| !end.is_draw()), "{board} {rule50}");
                if rule50 + u16::from(known.to_mate) <= 100 {
                    assert_eq!(plies, known.to_mate, "{board} {rule50}");
                }
                played.insert(man);
            }
        }
    }
    assert_eq!(played.len(), MEN.len());
}
