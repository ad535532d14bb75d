//! Compares what is seen of moves with the rules, and with exchanges that were counted by hand.

use oncilla_chess::cozy_chess::{BoardBuilder, GameStatus};
use oncilla_chess::exchanges::scale;
use oncilla_chess::exchanges::{gains, gains_within};
use oncilla_chess::tactics::{OF_MOVE, OfMove, OfPosition, look};
use oncilla_chess::{Board, Color, History, Move, MoveList, Square, notation};
use quickcheck::QuickCheck;

/// Indices into what is seen of a move.
const WON: usize = 0;
const LOST_THERE: usize = 1;
const LOST_ELSEWHERE: usize = 2;
const BALANCE: usize = 4;
const BEHIND_BEST: usize = 5;
const THREAT: usize = 6;
const SECOND_THREAT: usize = 7;
const CHECK: usize = 8;
const MATE: usize = 9;
const LEFT: usize = 10;
const CASTLING: usize = 20;
const MATED: usize = 22;
const GAIN: usize = 25;

fn seen(history: &History) -> (OfPosition, Vec<(Move, OfMove)>) {
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let (mut gains, mut of_moves) = (vec![0; moves.len()], vec![[0.0; OF_MOVE]; moves.len()]);
    let position = look(history.board(), &moves, &[], &mut gains, &mut of_moves);
    (position, moves.iter().copied().zip(of_moves).collect())
}

fn of(fen: &str) -> (OfPosition, Vec<(Move, OfMove)>) {
    seen(&History::from_fen(fen).expect("a position"))
}

fn of_move(fen: &str, text: &str) -> OfMove {
    let history: History = History::from_fen(fen).expect("a position");
    let mv = notation::parse_move(history.board(), text).expect("a legal move");
    seen(&history).1.into_iter().find(|&(other, _)| other == mv).expect("the move").1
}

#[test]
fn exchanges_on_one_square() {
    // A rook takes a pawn that nothing defends.
    let takes = of_move("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5");
    assert_eq!((takes[WON], takes[LOST_THERE], takes[BALANCE]), (scale(100), 0.0, scale(100)));
    // A knight takes a pawn that is defended twice; after the recapture nothing pays for White.
    let takes = of_move("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5");
    assert_eq!((takes[WON], takes[LOST_THERE], takes[BALANCE]), (scale(100), scale(310), scale(-210)));
    // Rooks behind rooks: three attack, two defend.
    let (position, _) = of("3r2k1/3r4/8/3p4/8/3R4/3R4/3Q2K1 w - - 0 1");
    assert_eq!(position[2], scale(100), "the pawn can be won");
    // The king may take what nothing defends, and nothing else.
    assert_eq!(of("7k/8/8/8/8/8/1r6/K7 w - - 0 1").0[2], scale(500));
    assert_eq!(of("8/8/8/8/8/2k5/1r6/K7 w - - 0 1").0[2], 0.0);
    // A pinned knight defends nothing outside its pin.
    assert_eq!(of("4k3/8/4n3/2p5/8/8/4R3/2R3K1 w - - 0 1").0[2], scale(310), "the knight itself, and");
    assert_eq!(of("4k3/8/4n3/2p5/8/8/4R3/2R3K1 w - - 0 1").0[3], scale(100), "the pawn that it seems to defend");
}

#[test]
fn what_a_move_leaves_and_threatens() {
    // The knight attacks king, queen and rook; nothing takes it.
    let fork = of_move("r3k3/2q5/8/1N6/8/8/8/4K3 w - - 0 1", "b5c7");
    assert_eq!((fork[WON], fork[CHECK], fork[THREAT]), (scale(900), 1.0, scale(500)));
    let fork = of_move("q3k2r/8/8/4N3/8/8/8/4K3 w - - 0 1", "e5c6");
    assert_eq!(fork[THREAT], 0.0, "c6 attacks neither");
    // A queen that is attacked: it stays, or it goes.
    let fen = "4k3/8/2p5/3Q4/8/8/P7/4K3 w - - 0 1";
    let stays = of_move(fen, "a2a3");
    assert_eq!((stays[LOST_ELSEWHERE], stays[BALANCE]), (scale(900), scale(-900)));
    let goes = of_move(fen, "d5d1");
    assert_eq!((goes[LOST_ELSEWHERE], goes[LEFT], goes[BEHIND_BEST]), (0.0, scale(900), of_move(fen, "d5c6")[BALANCE]));
    // Two pieces are attacked at once.
    let both = of_move("4k3/8/7r/8/1n6/8/8/2B1K3 w - - 0 1", "c1d2");
    assert_eq!((both[THREAT], both[SECOND_THREAT]), (scale(500), scale(310)));
}

/// Nobody takes what hangs, or mates, after a move that ends the game as a draw.
#[test]
fn behind_a_draw_nothing_follows() {
    let history: History = History::from_fen("5k2/5ppp/8/8/8/8/5PPP/3Q2K1 b - - 5 4").expect("a position");
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let at = moves.iter().position(|mv| mv.to_string() == "f8g8").expect("a legal move");
    let look_at = |drawing: &[usize]| {
        let (mut gains, mut of_moves) = (vec![0; moves.len()], vec![[0.0; OF_MOVE]; moves.len()]);
        let position = look(history.board(), &moves, drawing, &mut gains, &mut of_moves);
        (position, of_moves)
    };
    let ((position, goes_on), (same, draws)) = (look_at(&[]), look_at(&[at]));
    assert_eq!((goes_on[at][MATED], draws[at][MATED]), (1.0, 0.0), "the queen mates on the last rank");
    assert_eq!([LOST_THERE, LOST_ELSEWHERE, BALANCE, THREAT, GAIN].map(|what| draws[at][what]), [0.0; 5]);
    assert_eq!(position, same);
    let others = |seen: Vec<OfMove>| seen.into_iter().enumerate().filter(|(other, _)| *other != at).collect::<Vec<_>>();
    assert_eq!(others(goes_on), others(draws));
}

#[test]
fn castling_en_passant_and_promotion() {
    let castles = of_move("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1");
    assert_eq!((castles[CASTLING], castles[WON], castles[THREAT]), (1.0, 0.0, 0.0));
    // The rook gives check from where castling puts it.
    assert_eq!(of_move("5k2/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1")[CHECK], 1.0);
    assert_eq!(of_move("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6")[WON], scale(100));
    let promotes = of_move("3r4/2P1k3/8/8/8/8/8/4K3 w - - 0 1", "c7d8q");
    assert_eq!((promotes[WON], promotes[LOST_THERE]), (scale(500 + 800), scale(900)));
}

#[test]
fn mates_that_are_given_and_threatened() {
    assert_eq!(of_move("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8")[MATE], 1.0);
    let (position, moves) = of("r5k1/8/8/8/8/8/1r5P/7K w - - 0 1");
    assert_eq!(position[6], 1.0, "rook to a1 mates");
    assert!(moves.iter().all(|(_, seen)| seen[MATED] == 1.0), "whatever White does");
    let luft = of("6k1/5ppp/8/8/8/8/r4PPP/6K1 w - - 0 1");
    assert_eq!(luft.0[6], 1.0);
    assert!(luft.1.iter().any(|(_, seen)| seen[MATED] == 0.0) && luft.1.iter().any(|(_, seen)| seen[MATED] == 1.0));
}

/// The same position with the colours exchanged.
fn flipped(board: &Board) -> Board {
    let builder = BoardBuilder::from_board(board);
    let mut turned = builder.clone();
    for square in Square::ALL {
        let piece = builder.square(square).map(|(piece, color)| (piece, !color));
        *turned.square_mut(square.flip_rank()) = piece;
    }
    turned.side_to_move = !board.side_to_move();
    for color in Color::ALL {
        *turned.castle_rights_mut(color) = *board.castle_rights(!color);
    }
    turned.en_passant = builder.en_passant.map(Square::flip_rank);
    turned.build().expect("a board")
}

fn gains_of(board: &Board, moves: &[Move]) -> Vec<i32> {
    let mut found = vec![0; moves.len()];
    gains(board, moves, &mut found);
    found
}

fn gains_to_the_end(board: &Board, moves: &[Move]) -> Vec<i32> {
    let mut found = vec![0; moves.len()];
    gains_within(board, moves, &mut found, u32::MAX);
    found
}

fn check(board: &Board) {
    let look_at = |board: &Board, moves: &[Move]| {
        let (mut gains, mut of_moves) = (vec![0; moves.len()], vec![[0.0; OF_MOVE]; moves.len()]);
        let position = look(board, moves, &[], &mut gains, &mut of_moves);
        (position, of_moves)
    };
    let mut moves = Vec::new();
    board.generate_moves(|set| {
        moves.extend(set);
        false
    });
    let (position, of_moves) = look_at(board, &moves);
    assert!(position[0] >= position[1] && position[2] >= position[3]);
    let exact = gains_of(board, &moves);
    for ((&mv, seen), &gain) in moves.iter().zip(&of_moves).zip(&exact) {
        let mut after = board.clone();
        after.play_unchecked(mv);
        let is_check = !after.checkers().is_empty();
        let is_mate = is_check && after.status() == GameStatus::Won;
        assert_eq!((seen[CHECK], seen[MATE]), (f32::from(is_check), f32::from(is_mate)), "{mv} in {board}");
        assert_eq!(seen[GAIN], scale(gain));
        assert!(seen[MATED] == 0.0 || gain < -20_000, "{mv} in {board} is said to be mated behind");
        assert!(seen[WON] >= seen[BALANCE] && seen[BEHIND_BEST] >= 0.0, "{mv} in {board}");
        assert!(seen.iter().all(|number| number.is_finite()));
    }
    // Colours make no difference.
    let turn = |mv: &Move| Move { from: mv.from.flip_rank(), to: mv.to.flip_rank(), promotion: mv.promotion };
    let turned: Vec<Move> = moves.iter().map(turn).collect();
    let (position_turned, of_moves_turned) = look_at(&flipped(board), &turned);
    assert_eq!(position_turned, position, "{board}");
    // If not all captures are followed, those that come first are, and which these are depends on the side of the
    // board.
    let is_followed = exact == gains_to_the_end(board, &moves);
    let is_followed_turned = gains_of(&flipped(board), &turned) == gains_to_the_end(&flipped(board), &turned);
    let compared = if is_followed && is_followed_turned { OF_MOVE } else { GAIN };
    for ((mv, seen), turned) in moves.iter().zip(of_moves).zip(of_moves_turned) {
        assert_eq!(turned[..compared], seen[..compared], "{mv} in {board}");
    }
}

#[test]
fn checks_and_mates_as_by_the_rules_and_colours_are_alike() {
    fn property(start: u8, choices: Vec<u8>) -> bool {
        let starts = [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/PPP1k3/8/8/8/8/3Kppp1/8 b - - 0 70",
            "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ];
        let history: History = History::from_fen(starts[usize::from(start) % starts.len()]).expect("a position");
        let mut board = history.board().clone();
        for choice in choices.into_iter().take(60) {
            let mut moves = Vec::new();
            board.generate_moves(|set| {
                moves.extend(set);
                false
            });
            if moves.is_empty() {
                return true;
            }
            board.play_unchecked(moves[usize::from(choice) % moves.len()]);
        }
        check(&board);
        true
    }
    QuickCheck::new().tests(200).quickcheck(property as fn(u8, Vec<u8>) -> bool);
}

#[test]
fn amounts_of_material() {
    assert_eq!(scale(0), 0.0);
    assert!((scale(300) - 4f32.ln()).abs() < 1e-6 && scale(-300) == -scale(300));
    assert_eq!(scale(30_000), scale(1200));
}
