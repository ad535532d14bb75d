//! The key of a search graph: which games share a node, and what they then have in common.

use std::collections::{BTreeMap, HashMap, HashSet};

use oncilla_chess::{Castling, File, History, MIN_CAP, Move, MoveList, Piece, Rank, Square, Terminal, TwoFold};

type Game = History<MIN_CAP>;

fn after(fen: &str, moves: &str) -> Game {
    let mut game = if fen.is_empty() { Game::startpos() } else { Game::from_fen(fen).unwrap() };
    for text in moves.split_whitespace() {
        game.try_push(text.parse().unwrap()).unwrap();
    }
    game
}

fn key(fen: &str, moves: &str) -> u64 {
    after(fen, moves).graph_key()
}

#[test]
fn pawn_moves_transpose() {
    assert_eq!(key("", "d2d4 d7d5 c2c4"), key("", "c2c4 d7d5 d2d4"));
    assert_eq!(key("", "d2d4 d7d5 c2c4 e7e6"), key("", "c2c4 e7e6 d2d4 d7d5"));
    // The clock and the side to move are the same, the position is not.
    assert_ne!(key("", "d2d4 d7d5 c2c4"), key("", "d2d4 d7d5 c2c3"));
}

#[test]
fn reversible_moves_do_not_transpose_until_an_irreversible_one() {
    let (one, other) = ("g1f3 g8f6 b1c3", "b1c3 g8f6 g1f3");
    assert_eq!(after("", one).key(), after("", other).key());
    assert_ne!(key("", one), key("", other));
    let then = |way: &str, more: &str| key("", &format!("{way} {more}"));
    assert_ne!(then(one, "b8c6"), then(other, "b8c6"));
    assert_eq!(then(one, "e7e5"), then(other, "e7e5"));
    assert_eq!(then(one, "e7e5 f3e5 b8c6"), then(other, "e7e5 f3e5 b8c6"));
}

#[test]
fn the_order_of_a_past_does_not_matter() {
    // Both knights have been out and home on each side: besides the start there are four positions, met in two orders.
    let (kings, queens) = ("g1f3 g8f6 f3g1 f6g8", "b1c3 b8c6 c3b1 c6b8");
    assert_eq!(key("", &format!("{kings} {queens}")), key("", &format!("{queens} {kings}")));
    assert_ne!(key("", &format!("{kings} {kings}")), key("", &format!("{queens} {kings}")));
}

#[test]
fn a_lost_castling_right_ends_a_past() {
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w kq - 0 1";
    let (one, other) = ("a1b1 a8b8 h1h2", "h1h2 a8b8 a1b1");
    assert_ne!(key(fen, one), key(fen, other), "White moved once more after the right was lost");
    let then = |way: &str| key(fen, &format!("{way} e8f7"));
    assert_eq!(then(one), then(other), "the king loses the right that was left");
}

#[test]
fn en_passant_counts_where_a_pawn_stands_beside() {
    // The same position, with and without the flag.
    let (flag, none) = ("4k3/8/8/8/2pP4/8/4P3/4K3 b - d3 0 1", "4k3/8/8/8/2pP4/8/4P3/4K3 b - - 0 1");
    assert_ne!(key(flag, ""), key(none, ""));
    // No pawn stands beside the e-pawn.
    let (useless, none) = ("4k3/8/8/8/4P3/2p5/3P4/4K3 b - - 0 1", "4k3/8/8/8/8/2p5/3PP3/4K3 w - - 0 1");
    assert_eq!(key(useless, ""), key(none, "e2e4"));
}

/// Networks may see such a flag.
#[test]
fn a_flag_that_nobody_can_use_counts_in_the_last_position_alone() {
    let (pinned, none) = ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", "8/8/8/8/k2Pp2Q/8/8/3K4 b - - 0 1");
    assert_ne!(key(pinned, ""), key(none, ""));
    assert_eq!(key(pinned, "a4a5"), key(none, "a4a5"));
    assert_eq!(after(pinned, "").key(), after(none, "").key());
}

/// What a key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    position: Place,
    counters: (u16, u16),
    /// The positions since the last irreversible move, except the last one, each with the number of times it was met.
    past: BTreeMap<String, u32>,
}

/// Pieces, side to move, castling rights, the en-passant flag, and whether any pawn can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    repeats: String,
    flag: Option<File>,
}

impl Place {
    fn of(game: &Game) -> Self {
        let placement = game.to_fen(Castling::Chess960).split(' ').take(3).collect::<Vec<_>>().join(" ");
        let board = game.board();
        let to = board.en_passant().map(|file| Square::new(file, Rank::Sixth.relative_to(board.side_to_move())));
        let mut moves = MoveList::new();
        game.legal_moves(&mut moves);
        let captures = |mv: &&Move| Some(mv.to) == to && board.pieces(Piece::Pawn).has(mv.from);
        let captured = moves.iter().find(captures).map(|mv| mv.to.file());
        Place { repeats: format!("{placement} {captured:?}"), flag: game.last().en_passant() }
    }
}

fn facts_after(before: &Facts, game: &Game, irreversible: bool) -> Facts {
    let past = if irreversible {
        BTreeMap::new()
    } else {
        let mut past = before.past.clone();
        *past.entry(before.position.repeats.clone()).or_default() += 1;
        past
    };
    Facts { position: Place::of(game), counters: (game.rule50(), game.repetitions().into()), past }
}

/// What is known of a node, by its key.
struct Node {
    facts: Facts,
    depth: u32,
    terminal: Option<Terminal>,
    children: Vec<(Move, u64)>,
}

/// A walk over every line below a root, to a depth.
#[derive(Default)]
struct Walk {
    nodes: HashMap<u64, Node>,
    /// How often a node was met again.
    met_again: usize,
}

impl Walk {
    /// Visits the last position of `game`, and all below it that are at most `left` plies away. Returns its key.
    fn visit(&mut self, game: &mut Game, facts: Facts, depth: u32, left: u32) -> u64 {
        let mut moves = MoveList::new();
        game.legal_moves(&mut moves);
        let terminal = game.terminal_given_moves(!moves.is_empty(), depth as usize, TwoFold::Draw).map(without_cycle);
        let mut children = Vec::new();
        // Draws by repetition go on here: games that share a node must have the same future beyond it.
        for &mv in moves.iter().take_while(|_| left > 0) {
            let rights = castling(game);
            game.push(mv);
            let irreversible = game.rule50() == 0 || castling(game) != rights;
            let below = facts_after(&facts, game, irreversible);
            children.push((mv, self.visit(game, below, depth + 1, left - 1)));
            game.pop();
        }
        let key = game.graph_key();
        self.note(key, Node { facts, depth, terminal, children });
        key
    }

    fn note(&mut self, key: u64, node: Node) {
        let Some(known) = self.nodes.get_mut(&key) else {
            self.nodes.insert(key, node);
            return;
        };
        assert_eq!(known.facts, node.facts);
        assert_eq!(known.terminal, node.terminal, "{:?} at depth {} and {}", node.facts, known.depth, node.depth);
        let both = known.children.iter().zip(&node.children);
        both.for_each(|(known, child)| assert_eq!(known, child, "{:?}", node.facts));
        if node.children.len() > known.children.len() {
            *known = node;
        }
        self.met_again += 1;
    }
}

fn castling(game: &Game) -> [oncilla_chess::cozy_chess::CastleRights; 2] {
    oncilla_chess::Color::ALL.map(|color| *game.board().castle_rights(color))
}

/// The terminal without the plies to the earlier occurrence: they depend on the order of moves, which a key does not
/// tell.
fn without_cycle(terminal: Terminal) -> Terminal {
    match terminal {
        Terminal::TwoFold { .. } => Terminal::TwoFold { cycle: 0 },
        other => other,
    }
}

#[test]
fn games_that_share_a_node_have_the_same_facts_and_the_same_future() {
    for (fen, depth, at_least) in [
        ("8/8/8/8/8/k7/8/KR6 w - - 95 80", 5, 10),
        ("k7/p7/P7/8/8/p7/P7/K7 w - - 0 1", 8, 50),
        ("4k3/8/8/8/1p6/8/P7/4K3 w - - 3 1", 5, 100),
        ("4k2r/7p/7P/8/8/8/8/4K3 w k - 3 1", 5, 100),
        ("2k5/8/8/1pP5/8/8/8/4K3 w - b6 0 1", 5, 100),
        ("8/8/8/8/k3p2Q/8/3P4/3K4 w - - 0 1", 4, 100),
    ] {
        let mut game = Game::from_fen(fen).unwrap();
        let start = Facts { position: Place::of(&game), counters: (game.rule50(), 0), past: BTreeMap::new() };
        let mut walk = Walk::default();
        walk.visit(&mut game, start, 0, depth);
        assert!(walk.met_again >= at_least, "{fen}: nodes were met again {} times only", walk.met_again);
        let facts: HashSet<String> = walk.nodes.values().map(|node| format!("{:?}", node.facts)).collect();
        assert_eq!(facts.len(), walk.nodes.len(), "{fen}: facts with two keys");
    }
}
