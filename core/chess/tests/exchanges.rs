//! Compares the gains of moves with a search that leaves nothing out.

use oncilla_chess::exchanges::{CAPTURES, MATE, correct, gains, gains_within, worth};
use oncilla_chess::{Board, Color, History, Move, Piece};
use quickcheck::QuickCheck;

fn material(board: &Board) -> i32 {
    let of = |color: Color| -> i32 {
        Piece::ALL.into_iter().map(|piece| worth(piece) * board.colored_pieces(color, piece).len() as i32).sum()
    };
    of(board.side_to_move()) - of(!board.side_to_move())
}

fn moves(board: &Board) -> Vec<(Move, Board)> {
    let play = |mv| {
        let mut after = board.clone();
        after.play_unchecked(mv);
        (mv, after)
    };
    legal(board).into_iter().map(play).collect()
}

/// Minimax over all replies, with up to `left` captures behind them.
fn reply(board: &Board, left: u32) -> i32 {
    let in_check = !board.checkers().is_empty();
    let worst = |replies: Vec<(Move, Board)>| replies.iter().map(|(_, after)| behind(after, left)).max();
    worst(moves(board)).unwrap_or(if in_check { -MATE } else { 0 })
}

/// The value for the side that has just moved, with up to `left` captures to come.
fn behind(board: &Board, left: u32) -> i32 {
    let mated = !board.checkers().is_empty() && legal(board).is_empty();
    if mated { MATE } else { -captures(board, left, -MATE, MATE) }
}

/// Minimax, with bounds, over captures and promotions, with either side free to stop.
fn captures(board: &Board, left: u32, mut alpha: i32, beta: i32) -> i32 {
    let stand = material(board);
    let mut best = stand;
    alpha = alpha.max(best);
    let theirs = board.colors(!board.side_to_move());
    let mut all = if left == 0 { Vec::new() } else { moves(board) };
    all.sort_by_key(|(_, after)| material(after));
    for (mv, after) in all {
        if alpha >= beta {
            break;
        }
        let queens = mv.promotion.is_none_or(|piece| piece == Piece::Queen);
        if queens && (theirs.has(mv.to) || mv.promotion.is_some()) {
            best = best.max(-captures(&after, left - 1, -beta, -alpha));
            alpha = alpha.max(best);
        }
    }
    best
}

fn legal(board: &Board) -> Vec<Move> {
    let mut found = Vec::new();
    board.generate_moves(|moves| {
        found.extend(moves);
        false
    });
    found
}

fn gains_of(board: &Board, positions: u32) -> Vec<(Move, i32)> {
    let moves = legal(board);
    let mut found = vec![0; moves.len()];
    gains_within(board, &moves, &mut found, positions);
    moves.into_iter().zip(found).collect()
}

fn check(board: &Board, positions: u32, captures: u32) {
    for (mv, gain) in gains_of(board, positions) {
        let mut after = board.clone();
        after.play_unchecked(mv);
        let expected = -reply(&after, captures) - material(board);
        assert_eq!(gain, expected, "{mv} in {board}");
    }
}

fn gain(fen: &str, text: &str) -> i32 {
    let history: History = History::from_fen(fen).unwrap();
    let mv = oncilla_chess::notation::parse_move(history.board(), text).unwrap();
    gains_of(history.board(), u32::MAX).into_iter().find(|&(other, _)| other == mv).unwrap().1
}

#[test]
fn what_moves_gain() {
    // A fork by a knight wins a rook: the king has to move.
    assert_eq!(gain("r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", "d5c7"), 500);
    // A pawn that is defended by a pawn is not worth a rook.
    assert_eq!(gain("4k3/2p5/3p4/8/8/3R4/8/4K3 w - - 0 1", "d3d6"), 100 - 500);
    // A queen that is attacked and stays where it is.
    assert_eq!(gain("4k3/8/2p5/3Q4/8/8/P7/4K3 w - - 0 1", "a2a3"), -900);
    assert!(gain("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8") > 20_000, "mate");
    assert!(gain("6k1/5ppp/8/8/8/8/1r6/K7 w - - 0 1", "a1b2") > 0, "a rook");
    assert!(gain("r5k1/8/8/8/8/8/1r5P/7K w - - 0 1", "h2h3") < -20_000, "mate in reply");
    // A mate is worth the same whatever is on the board, and a stalemate leaves nothing of the material.
    assert_eq!(gain("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8"), MATE - (500 - 300));
    assert_eq!(gain("r5k1/8/8/8/8/8/1r5P/7K w - - 0 1", "h2h3"), -MATE - (100 - 1000));
    assert_eq!(gain("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", "g5g6"), -900);
    assert_eq!(gain("7k/8/p7/P5Q1/8/8/8/K7 w - - 0 1", "g5g6"), -900);
    // En passant, a promotion, castling into nothing in particular.
    assert_eq!(gain("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6"), 100);
    assert_eq!(gain("8/P7/8/4k3/8/8/8/4K3 w - - 0 1", "a7a8q"), 800);
    assert_eq!(gain("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1"), 0);
}

#[test]
fn what_a_policy_is_told() {
    let mut logits = [0.5, 0.5, -1.0, 2.0];
    correct(&mut logits, &[0, -900, 300, MATE], 0.0);
    assert_eq!(logits, [0.5, 0.5, -1.0, 2.0]);
    correct(&mut logits, &[0, -900, 300, 0], 2.0);
    let ln = |pawns: f32| (1.0 + pawns).ln();
    let expected = [0.5 - 2.0 * ln(3.0), 0.5 - 2.0 * (ln(3.0) + ln(9.0)), -1.0, 2.0 - 2.0 * ln(3.0)];
    for (logit, expected) in logits.into_iter().zip(expected) {
        assert!((logit - expected).abs() < 1e-6, "{logit} for {expected}");
    }
    // More than twelve pawns count as twelve, and a mate counts as no more than that.
    let mut mate = [0.0; 2];
    correct(&mut mate, &[MATE, 1200], 1.0);
    assert_eq!(mate, [0.0; 2]);
    correct(&mut [], &[], 1.0);
}

#[test]
fn as_a_search_that_leaves_nothing_out() {
    fn property(start: u8, choices: Vec<u8>) -> bool {
        let starts = [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/PPP1k3/8/8/8/8/3Kppp1/8 b - - 0 70",
            "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ];
        let history: History = History::from_fen(starts[usize::from(start) % starts.len()]).unwrap();
        let mut board = history.board().clone();
        for choice in choices.into_iter().take(60) {
            let moves = legal(&board);
            if moves.is_empty() {
                break;
            }
            board.play_unchecked(moves[usize::from(choice) % moves.len()]);
        }
        check(&board, u32::MAX, CAPTURES);
        true
    }
    QuickCheck::new().tests(25).quickcheck(property as fn(u8, Vec<u8>) -> bool);
}

#[test]
fn a_crowd_of_queens_is_not_followed_to_its_end() {
    let history: History = History::from_fen("qqqqkqqq/qq6/8/8/8/8/QQ6/QQQQKQQQ w - - 0 1").unwrap();
    let moves = legal(history.board());
    // Once the positions are used up, the material counts as it is.
    check(history.board(), 0, 0);
    let (mut bounded, mut least) = (vec![0; moves.len()], vec![0; moves.len()]);
    gains(history.board(), &moves, &mut bounded);
    gains_within(history.board(), &moves, &mut least, 0);
    assert_ne!(bounded, least, "some captures are followed");
}
