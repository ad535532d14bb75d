//! Moves that a search leaves out near its root: `avoidMoves` and `allowMoves` of the analysis protocol.
//!
//! At the root itself the core can leave moves out ([`Go::search_moves`](super::Go::search_moves)): there the other
//! moves keep their priors. Below the root, an edge that may not be taken must not exist, so the leaf is answered with
//! fewer moves, and the priors of those that are left add up to one.
//!
//! Such a leaf has another key in the graph and in the cache of evaluations.

use oncilla_chess::{Board, Color, File, Move, Rank, Square};
use std::hash::{DefaultHasher, Hash, Hasher};

/// One rule: which moves a player may, or may not, make near the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Restriction {
    /// The player whose moves are restricted.
    pub player: Color,
    /// The moves that are named, with castling in either notation.
    pub moves: Vec<Move>,
    /// True: only these moves may be made; false: all but these.
    pub only: bool,
}

/// All rules of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Each rule with the ply below the root from which on it no longer counts: with 1 it counts at the root alone.
    rules: Vec<(Restriction, usize)>,
    /// For each rule, what it adds to the key of a position that it takes moves from.
    salts: Vec<u64>,
}

/// Bytes of a rule without its moves. They are doubled because a list that grows one rule at a time may have allocated
/// twice what it holds.
const RULE_BYTES: usize = 2 * (size_of::<(Restriction, usize)>() + size_of::<u64>());

/// An odd number, so that its multiple differs for every ply; bits of the golden section.
const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

impl Restrictions {
    /// Adds a rule that counts in positions less than `until_depth` plies below the root.
    pub fn add(&mut self, rule: Restriction, until_depth: usize) {
        let mut hasher = DefaultHasher::new();
        rule.hash(&mut hasher);
        self.salts.push(hasher.finish());
        self.rules.push((rule, until_depth));
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes that the restrictions take besides their own size.
    pub fn bytes(&self) -> usize {
        self.rules.iter().map(|(rule, _)| RULE_BYTES + size_of_val(&*rule.moves)).sum()
    }

    /// Whether a rule counts below the root.
    pub fn reach_below_the_root(&self) -> bool {
        self.rules.iter().any(|(_, until_depth)| *until_depth > 1)
    }

    /// What is added to the keys of a graph's positions `ply` plies below the root. While a rule may count there or
    /// further down, the same position at another ply is another node, because lines from it have other moves.
    pub fn salt_of_ply(&self, ply: usize) -> u64 {
        let may_count = self.reach_below_the_root() && self.rules.iter().any(|(_, until_depth)| ply < *until_depth);
        if may_count { SALT.wrapping_mul(ply as u64 + 1) } else { 0 }
    }

    fn that_count(&self, board: &Board, ply: usize) -> impl Iterator<Item = (&Restriction, u64)> {
        let player = board.side_to_move();
        let rules = self.rules.iter().zip(&self.salts);
        rules.filter_map(move |((rule, until), &salt)| (rule.player == player && ply < *until).then_some((rule, salt)))
    }

    /// Whether the move, a legal one of `board`, may be searched `ply` plies below the root.
    pub fn allow(&self, board: &Board, ply: usize, mv: Move) -> bool {
        self.that_count(board, ply).all(|(rule, _)| rule.moves.iter().any(|&named| is(board, mv, named)) == rule.only)
    }

    /// Puts the moves that may be searched `ply` plies below the root into `kept`. Returns what changes the position's
    /// keys, the same number for the same rules; `None` if all moves may be searched. Rules that leave no move don't
    /// count: a position without moves would be the end of the game.
    pub fn filter(&self, board: &Board, ply: usize, moves: &[Move], kept: &mut Vec<Move>) -> Option<u64> {
        kept.clear();
        let salt = self.that_count(board, ply).map(|(_, salt)| salt).reduce(u64::wrapping_add)?;
        kept.extend(moves.iter().filter(|&&mv| self.allow(board, ply, mv)));
        (!kept.is_empty() && kept.len() < moves.len()).then_some(salt)
    }
}

/// Whether `named` means `mv`, a legal move of `board`. A castling may be named as king takes rook, or as the king's
/// own move by two squares.
fn is(board: &Board, mv: Move, named: Move) -> bool {
    let castles = || board.colors(board.side_to_move()).has(mv.to) && mv.from.file() == File::E;
    let rank = Rank::First.relative_to(board.side_to_move());
    let by_king = |file| named == Move { from: mv.from, to: Square::new(file, rank), promotion: None };
    let to_side = if mv.to.file() > mv.from.file() { File::G } else { File::C };
    mv == named || (castles() && by_king(to_side))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_chess::{History, MoveList};
    use std::collections::HashSet;

    fn rule(player: Color, moves: &[&str], only: bool) -> Restriction {
        Restriction { player, moves: moves.iter().map(|mv| mv.parse().unwrap()).collect(), only }
    }

    fn kept(rules: &Restrictions, fen: &str, ply: usize) -> (Vec<String>, u64) {
        let position: History = History::from_fen(fen).unwrap();
        let (mut moves, mut kept) = (MoveList::new(), Vec::new());
        position.legal_moves(&mut moves);
        let salt = rules.filter(position.board(), ply, &moves, &mut kept);
        let mut kept: Vec<String> = kept.iter().map(Move::to_string).collect();
        kept.sort_unstable();
        (kept, salt.unwrap_or(0))
    }

    const CASTLES: &str = "4k3/8/8/8/8/8/7P/4K2R w K - 0 1";

    #[test]
    fn rules_count_for_their_player_and_to_their_depth() {
        let mut rules = Restrictions::default();
        rules.add(rule(Color::White, &["h2h3", "e1h1"], true), 3);
        assert_eq!(rules.bytes(), RULE_BYTES + 2 * size_of::<Move>());
        assert_eq!(kept(&rules, CASTLES, 2).0, ["e1h1", "h2h3"]);
        assert_ne!(kept(&rules, CASTLES, 2).1, 0);
        assert_eq!(kept(&rules, CASTLES, 3), (vec![], 0));
        assert_eq!(kept(&rules, &CASTLES.replace(" w ", " b "), 1), (vec![], 0), "Black may do anything");
        let mut others = Restrictions::default();
        others.add(rule(Color::White, &["h2h3"], true), 3);
        assert_ne!(kept(&rules, CASTLES, 2).1, kept(&others, CASTLES, 2).1);
    }

    #[test]
    fn a_ply_is_part_of_a_graphs_key_while_a_rule_may_count() {
        let mut rules = Restrictions::default();
        assert_eq!(rules.salt_of_ply(0), 0);
        rules.add(rule(Color::White, &["h2h3"], true), 1);
        assert_eq!(rules.salt_of_ply(0), 0, "at the root alone the core leaves moves out");
        rules.add(rule(Color::Black, &["e8e7"], false), 4);
        let salts: HashSet<u64> = (0..4).map(|ply| rules.salt_of_ply(ply)).collect();
        assert_eq!((salts.len(), salts.contains(&0)), (4, false));
        assert_eq!([4, 5, 100].map(|ply| rules.salt_of_ply(ply)), [0; 3]);
    }

    #[test]
    fn castling_has_two_names() {
        for name in ["e1g1", "e1h1"] {
            let mut rules = Restrictions::default();
            rules.add(rule(Color::White, &[name], false), 1);
            let (moves, _) = kept(&rules, CASTLES, 0);
            assert!(!moves.is_empty() && !moves.contains(&"e1h1".to_string()), "{name}");
            let mut only = Restrictions::default();
            only.add(rule(Color::White, &[name], true), 1);
            assert_eq!(kept(&only, CASTLES, 0).0, ["e1h1"], "{name}");
        }
        // The king's move is no castling here, so it must not be taken for one of the rook.
        let mut rules = Restrictions::default();
        rules.add(rule(Color::White, &["e1c1"], true), 1);
        assert_eq!(kept(&rules, CASTLES, 0).1, 0);
    }

    #[test]
    fn rules_that_leave_nothing_do_not_count() {
        let mut rules = Restrictions::default();
        rules.add(rule(Color::White, &["a2a3"], true), 9);
        assert_eq!(kept(&rules, CASTLES, 4), (vec![], 0));
    }
}
