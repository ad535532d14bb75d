//! What must hold in any game, tested on random ones and by comparison with a naive implementation.

mod naive;

use std::collections::HashMap;

use oncilla_go::{Board, Color, Ending, Game, KoRule, Move, PlayError, Rules, Size};
use quickcheck::{Arbitrary, Gen, QuickCheck};

const MOST_PLIES: usize = 200;

/// A board, rules, and a number for each move, which picks among the legal ones.
#[derive(Clone, Debug)]
struct Moves {
    size: Size,
    rules: Rules,
    choices: Vec<u16>,
}

impl Arbitrary for Moves {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut side = || if u8::arbitrary(g) % 16 == 0 { 19 } else { 1 + u8::arbitrary(g) % 5 };
        let size = Size::new(side(), side()).unwrap();
        let ko = g.choose(&KoRule::ALL).unwrap().1;
        let rules = Rules { ko, suicide: bool::arbitrary(g), button: bool::arbitrary(g), ..Rules::TROMP_TAYLOR };
        let plies = usize::arbitrary(g) % MOST_PLIES;
        Moves { size, rules, choices: (0..plies).map(|_| u16::arbitrary(g)).collect() }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let moves = self.clone();
        Box::new(self.choices.shrink().map(move |choices| Moves { choices, ..moves.clone() }))
    }
}

/// Picks a move; passes are rare, so that games go on.
fn choose(legal: &[Move], choice: u16) -> Move {
    let (&pass, points) = legal.split_last().unwrap();
    if points.is_empty() || choice.is_multiple_of(16) { pass } else { points[usize::from(choice / 16) % points.len()] }
}

fn check(property: fn(Moves) -> bool) {
    QuickCheck::new().tests(400).quickcheck(property as fn(Moves) -> bool);
}

#[test]
fn games_go_as_they_would_with_flood_fill() {
    fn property(moves: Moves) -> bool {
        let mut game: Game = Game::new(moves.size, moves.rules);
        let mut naive = naive::Game::new(moves.size, moves.rules);
        // On a large board every 40th move is enough.
        let every = if moves.size.area() > 100 { 40 } else { 1 };
        for (ply, &choice) in moves.choices.iter().enumerate() {
            let legal: Vec<Move> = game.legal_moves().collect();
            if ply % every == 0 {
                let expected: Vec<Move> =
                    (0..=moves.size.area() as u16).map(Move).filter(|&mv| naive.is_legal(mv)).collect();
                assert_eq!(legal, expected, "{:?}\n{}", moves.rules, game.board());
                compare_boards(game.board(), &naive.now);
                let is_banned = |&point: &Move| {
                    game.board().is_legal(game.side_to_move(), point, moves.rules.suicide) && !legal.contains(&point)
                };
                let ko = game.board().ko().filter(|(banned, _)| *banned == game.side_to_move()).map(|(_, point)| point);
                let expected = moves.size.points().filter(is_banned).chain(ko).collect();
                assert_eq!(game.ko_banned(), expected, "{:?}\n{}", moves.rules, game.board());
            }
            let mv = choose(&legal, choice);
            let would_end = game.pass_would_end();
            game.play(mv).unwrap();
            naive.play(mv);
            let over_by_passes = naive.is_over_by_passes();
            assert_eq!(game.ending() == Some(Ending::Passes), over_by_passes);
            assert_eq!(mv == moves.size.pass() && would_end, over_by_passes);
            assert_eq!(game.ending() == Some(Ending::Repetition), naive.is_over_by_repetition());
            assert_eq!((game.side_to_move(), game.ply()), (naive.side, ply + 1));
        }
        true
    }
    check(property);
}

fn compare_boards(board: &Board, naive: &naive::Position) {
    let size = board.size();
    for point in size.points() {
        assert_eq!(board.stone(point), naive.stones[point.index()]);
        let is_stone = board.stone(point).is_some();
        let liberties = if is_stone { naive.liberties(point.index()).len() } else { 0 };
        let mut chain: Vec<usize> = board.chain(point).map(Move::index).collect();
        chain.sort_unstable();
        assert_eq!(board.liberties(point), liberties, "{}\n{board}", size.format(point));
        assert_eq!(chain, if is_stone { naive.chain(point.index()) } else { vec![] });
        assert_eq!(board.chain_length(point), chain.len());
    }
    let stones = size.points().filter_map(|point| Some((board.stone(point)?, point)));
    let built = Board::with_stones(size, stones).unwrap();
    assert_eq!(built.hash(), board.hash(), "the hash depends on the stones alone");
}

#[test]
fn hashes_are_equal_where_positions_are() {
    fn property(moves: Moves) -> bool {
        let mut game: Game = Game::new(moves.size, moves.rules);
        let (mut hash_of, mut graph_keys) = (HashMap::new(), HashMap::new());
        for &choice in &moves.choices {
            let legal: Vec<Move> = game.legal_moves().collect();
            let mv = choose(&legal, choice);
            let expected = game.board().hash_after(game.side_to_move(), mv);
            game.play(mv).unwrap();
            assert_eq!(game.board().hash(), expected);
            let stones = Color::ALL.map(|color| *game.board().stones(color));
            assert_eq!(*hash_of.entry(stones).or_insert(expected), expected);
            assert!(graph_keys.insert(game.loose_graph_key(), ()).is_none(), "no line comes by a key twice");
        }
        let mut hashes: Vec<u64> = hash_of.values().copied().collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), hash_of.len(), "different positions, different hashes");
        true
    }
    check(property);
}

#[test]
fn boards_ago_are_those_that_were_there() {
    fn property(moves: Moves) -> bool {
        let mut game: Game = Game::new(moves.size, moves.rules);
        let mut boards = vec![game.board().clone()];
        for &choice in &moves.choices {
            let legal: Vec<Move> = game.legal_moves().collect();
            game.play(choose(&legal, choice)).unwrap();
            boards.push(game.board().clone());
            for plies in 0..=2 {
                assert_eq!(game.board_ago(plies).as_ref(), Some(&boards[game.ply().saturating_sub(plies)]));
            }
        }
        assert!(game.board_ago(3).is_none());
        true
    }
    check(property);
}

#[test]
fn a_game_that_is_full_says_so_and_stays_as_it_is() {
    let size = Size::new(5, 5).unwrap();
    let mut game = Game::<8>::new(size, Rules::TROMP_TAYLOR);
    for point in size.points().take(8) {
        game.play(point).unwrap();
    }
    let key = game.key();
    assert_eq!(game.play(Move(20)), Err(PlayError::Full));
    assert_eq!(game.play(size.pass()), Err(PlayError::Full));
    assert_eq!(game.play(Move(0)), Err(PlayError::Illegal(Move(0))));
    assert_eq!((game.key(), game.ply()), (key, 8));
}
