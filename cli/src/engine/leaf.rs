//! What the rules and the tablebases say of a leaf: the part of an evaluation that needs no network.

use super::Search;
use super::restrict::Restrictions;
use super::tables::{TableResult, Tables};
use crate::evaluator::Drawing;
use crate::evaluator::batch::Circumstances;
use oncilla_chess::{History, Move as ChessMove, MoveList, Terminal, TwoFold, pack};
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Ending, Value, Verdict};
use oncilla_core::search::Event;
use oncilla_core::stats::Counts;
use std::sync::Arc;

/// What a search asks about every leaf.
#[derive(Clone, Default)]
pub struct LeafRules {
    pub two_fold_draws: bool,
    /// The tables in which leaves are looked up.
    pub tables: Tables,
    /// Whether nodes need keys, because positions share them.
    pub needs_keys: bool,
    /// Moves that are left out below the root.
    pub restrictions: Option<Arc<Restrictions>>,
    /// Divides the root's logits, before `PolicyTemperature` divides them all.
    pub root_temperature: Option<f32>,
}

/// Replays the moves to leaves, one after the other.
pub struct LeafReader {
    rules: LeafRules,
    root: Box<History>,
    root_len: usize,
    /// The root's game, followed by the moves to the last leaf.
    history: Box<History>,
    moves: MoveList,
    /// The moves that may be searched, if not all may be.
    kept: Vec<ChessMove>,
    /// What the restrictions add to the leaf's key in the cache of evaluations; `None` if all moves may be searched.
    salt: Option<u64>,
    /// The leaf's moves that draw.
    drawing: Drawing,
}

/// What is known of a leaf.
pub enum Leaf {
    /// Nothing is left to evaluate: this is the answer.
    Ended(Answer),
    /// The game goes on. [`LeafReader::history`] and [`LeafReader::moves`] are those of the leaf; this is its key.
    Open(u64),
}

impl LeafReader {
    /// A reader of leaves below `root`. `has_hints` is whether evaluations are corrected by hints.
    pub fn new(rules: LeafRules, has_hints: bool, root: &History) -> Self {
        let root = Box::new(root.clone());
        Self {
            rules,
            root_len: root.len(),
            history: root.clone(),
            root,
            moves: MoveList::new(),
            kept: Vec::new(),
            salt: None,
            drawing: Drawing::new(has_hints),
        }
    }

    /// Goes to the leaf of an event, names its last move if it has no name yet, and finds out whether the game goes on
    /// there.
    pub fn read(&mut self, search: &Search<'_>, event: &mut Event, counts: &mut Counts) -> Leaf {
        if !self.history.replay(self.root_len, event.moves().map(|mv| mv.0)) {
            self.start_over();
            self.history.replay(self.root_len, event.moves().map(|mv| mv.0));
        }
        if let Some(mv) = event.unnamed().and_then(|index| self.nth_move(index)) {
            event.name(Move(pack(mv)));
            self.history.push(mv);
        }
        self.history.legal_moves(&mut self.moves);
        self.salt = self.restrict();
        let key = if self.rules.needs_keys { self.history.graph_key() ^ self.salt_of_ply() } else { 0 };
        let plies = event.plies();
        let ended =
            self.history.terminal_given_moves(!self.moves.is_empty(), plies, TwoFold::of(self.rules.two_fold_draws));
        let verdict = match ended {
            Some(terminal) => Some(verdict(terminal)),
            None => self.table_result().map(|result| {
                counts.tablebase_hits += 1;
                by_tablebase(&result, search.moves_left_above(event))
            }),
        };
        match verdict {
            Some(verdict) => Leaf::Ended(Answer { key, verdict }),
            None => Leaf::Open(key),
        }
    }

    /// Finds the leaf's moves that end the game as a draw.
    pub fn find_drawing_moves(&mut self) {
        let moves: &[ChessMove] = if self.salt.is_some() { &self.kept } else { &self.moves };
        self.drawing.find(&mut self.history, moves);
    }

    /// The move at this index of the list of moves with which the last position was answered.
    fn nth_move(&mut self, index: usize) -> Option<ChessMove> {
        if self.rules.restrictions.is_none() {
            return self.history.nth_legal_move(index);
        }
        self.history.legal_moves(&mut self.moves);
        self.salt = self.restrict();
        self.moves().get(index).copied()
    }

    /// Keeps the moves that may be searched in the last position, if it is below the root; returns the salt.
    fn restrict(&mut self) -> Option<u64> {
        let rules = self.rules.restrictions.as_ref()?;
        match self.history.len() - self.root_len {
            0 => None,
            ply => rules.filter(self.history.board(), ply, &self.moves, &mut self.kept),
        }
    }

    /// What the restrictions add to the keys of the graph, at the ply of the last position.
    fn salt_of_ply(&self) -> u64 {
        let ply = self.history.len() - self.root_len;
        self.rules.restrictions.as_ref().map_or(0, |rules| rules.salt_of_ply(ply))
    }

    /// Goes back to the root after a line so long that `history` has forgotten it. (A function of its own, because
    /// copying a game needs a large stack frame.)
    #[cold]
    #[inline(never)]
    fn start_over(&mut self) {
        self.history.clone_from(&self.root);
    }

    fn table_result(&self) -> Option<TableResult> {
        // The root is searched whatever the tables know of it.
        let below = self.history.len() > self.root_len;
        if below { self.rules.tables.result(self.history.last()) } else { None }
    }

    /// The game up to the leaf.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The leaf's moves: the legal ones that may be searched.
    pub fn moves(&self) -> &[ChessMove] {
        if self.salt.is_some() { &self.kept } else { &self.moves }
    }

    /// What the leaf's evaluation depends on besides the position: which moves are searched, and which
    /// [are draws](Self::find_drawing_moves).
    pub fn circumstances(&self) -> Circumstances<'_> {
        self.drawing.circumstances(self.salt.unwrap_or(0))
    }

    /// Divides the logits by the root's own temperature, if the event's leaf is the root and has one.
    pub fn temper(&self, event: &Event, logits: &mut [f32]) {
        if let Some(temperature) = self.rules.root_temperature.filter(|_| event.plies() == 0) {
            logits.iter_mut().for_each(|logit| *logit /= temperature);
        }
    }
}

fn verdict(terminal: Terminal) -> Verdict {
    match terminal {
        Terminal::Checkmate => Verdict::lost(),
        Terminal::TwoFold { cycle } => Verdict::Terminal(Value { m: f32::from(cycle), ..Value::DRAW }, Ending::TwoFold),
        _ => Verdict::drawn(),
    }
}

/// The verdict of a tablebase. A mate in a known number of plies is one that a search would prove. If the distance is
/// not known, the moves left are one ply less than at the parent, as in Lc0.
fn by_tablebase(result: &TableResult, parent_m: f32) -> Verdict {
    match result.mate {
        Some(plies) => Verdict::Terminal(Value { m: plies.into(), ..result.value }, Ending::Game),
        None => Verdict::Terminal(Value { m: (parent_m - 1.0).max(0.0), ..result.value }, Ending::Tablebase),
    }
}
