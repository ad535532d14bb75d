//! Gathering a batch, evaluating it, and bringing the answers back.

use super::evaluator::{Batch, Evaluator};
use super::settings::Settings;
use oncilla_chess::{History, MoveList, Terminal, pack, unpack};
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Ending, MoveLogit, Value, Verdict};
use oncilla_core::heapless;
use oncilla_core::search::{Event, Gathered, Search};

/// The events of one search, reused from batch to batch.
pub struct Playouts {
    /// The root's game; moves are pushed for a leaf and taken back.
    history: Box<History>,
    root_len: usize,
    two_fold_draws: bool,
    batch: usize,
    positions: Batch,
    /// Key and moves of each position of the batch.
    leaves: Vec<(u64, MoveList)>,
    events: Vec<Event>,
    collisions: Vec<Event>,
    policy: Box<heapless::Vec<MoveLogit, 256>>,
    moves: MoveList,
}

/// What a batch came to.
pub enum Step {
    /// At least one playout.
    Progress {
        /// A line for a person.
        note: Option<String>,
    },
    /// The game has ended at the root, or no move may be searched.
    NothingToDo,
}

/// Playouts that end without the network are brought back at once; after this many for each one in the batch the
/// clock is looked at, even if the batch is not full.
const KNOWN_PER_LEAF: usize = 4;

impl Playouts {
    /// For a search below `position`.
    pub fn new(settings: &Settings, evaluator: &Evaluator, position: &History) -> Self {
        let wanted = if settings.minibatch == 0 { evaluator.preferred_batch() } else { settings.minibatch };
        Self {
            history: Box::new(position.clone()),
            root_len: position.len(),
            two_fold_draws: settings.two_fold_draws,
            batch: wanted.clamp(1, evaluator.max_batch()),
            positions: evaluator.batch(),
            leaves: Vec::new(),
            events: Vec::new(),
            collisions: Vec::new(),
            policy: Box::default(),
            moves: MoveList::new(),
        }
    }

    /// One batch of at most `wanted` playouts, and at least one.
    ///
    /// # Errors
    /// One line: the backend failed, or the tree's memory is too small for a single line. What was gathered is undone.
    pub fn step(&mut self, search: &mut Search<'_>, evaluator: &Evaluator, wanted: u64) -> Result<Step, String> {
        let before = search.counts().playouts;
        // Whoever asks for no playout still needs a move.
        let ended = self.gather(search, usize::try_from(wanted).unwrap_or(usize::MAX).max(1));
        let note = match evaluator.run(&mut self.positions) {
            Ok(note) => note,
            Err(fault) => {
                self.cancel_all(search, self.positions.len());
                return Err(fault);
            }
        };
        self.bring_back(search)?;
        match ended {
            Ended::Full if search.recycle() == 0 && search.counts().playouts == before => {
                Err("the tree's memory is too small for a single line".to_string())
            }
            Ended::NoMoves if search.counts().playouts == before => Ok(Step::NothingToDo),
            _ => Ok(Step::Progress { note }),
        }
    }

    /// Fills the evaluator's batch. Events in its order stand first in `self.events`.
    fn gather(&mut self, search: &mut Search<'_>, wanted: usize) -> Ended {
        self.positions.clear();
        self.collisions.clear();
        let batch = self.batch.min(wanted);
        let (mut known, mut colliding) = (0, 0);
        while self.positions.len() < batch && known < KNOWN_PER_LEAF * batch && self.positions.len() + known < wanted {
            if self.events.len() == self.positions.len() {
                self.events.push(Event::new());
            }
            let event = &mut self.events[self.positions.len()];
            match search.gather(event) {
                Gathered::Leaf => known += usize::from(!self.look_at_leaf(search)),
                Gathered::Known => {
                    let _ = search.backprop(event); // it was gathered from this very tree
                    known += 1;
                }
                Gathered::Collision => {
                    self.collisions.push(event.clone());
                    colliding += 1;
                    if colliding >= collisions_allowed(search.nodes(), batch) {
                        return Ended::Gathered;
                    }
                }
                Gathered::Full => return Ended::Full,
                Gathered::NoMoves => return Ended::NoMoves,
            }
        }
        Ended::Gathered
    }

    /// Puts the leaf of the newest event into the batch, or answers it at once where the game has ended. True if the
    /// network is needed.
    fn look_at_leaf(&mut self, search: &mut Search<'_>) -> bool {
        let event = &mut self.events[self.positions.len()];
        let plies = event.plies();
        for mv in event.moves() {
            self.history.push(unpack(mv.0));
        }
        self.history.legal_moves(&mut self.moves);
        let terminal = self.history.terminal_given_moves(!self.moves.is_empty(), plies, self.two_fold_draws);
        if let Some(terminal) = terminal {
            let answer = Answer { key: self.history.key(), verdict: verdict(terminal) };
            let _ = search.answer(event, &answer, &mut []); // it was gathered from this very tree
        } else {
            self.leaves.truncate(self.positions.len());
            self.leaves.push((self.history.key(), self.moves.clone()));
            self.positions.push(&self.history, &self.moves);
        }
        self.history.truncate(self.root_len);
        terminal.is_none()
    }

    fn bring_back(&mut self, search: &mut Search<'_>) -> Result<(), String> {
        let mut refused = None;
        for (at, (event, (key, moves))) in
            self.events.iter_mut().zip(&self.leaves).enumerate().take(self.positions.len())
        {
            let answer = Answer { key: *key, verdict: Verdict::Position(self.positions.value(at)) };
            let logits = moves.iter().zip(self.positions.logits(at));
            self.policy.clear();
            self.policy.extend(logits.map(|(&mv, &mut logit)| MoveLogit { mv: Move(pack(mv)), logit }));
            refused = search.answer(event, &answer, &mut self.policy).err().or(refused);
        }
        self.collisions.drain(..).for_each(|mut event| search.cancel(&mut event));
        refused.map_or(Ok(()), |why| Err(format!("an answer was refused: {why:?}")))
    }

    fn cancel_all(&mut self, search: &mut Search<'_>, gathered: usize) {
        self.events.iter_mut().take(gathered).for_each(|event| search.cancel(event));
        self.collisions.drain(..).for_each(|mut event| search.cancel(&mut event));
    }
}

/// Why gathering ended.
enum Ended {
    Gathered,
    Full,
    NoMoves,
}

/// Collisions after which a batch is evaluated although it is not full: a small tree has few leaves worth a visit.
/// Lc0's scaling (`MaxCollisionVisitsScaling…`) from 1 at 28 visits, bounded by the batch.
fn collisions_allowed(nodes: u32, batch: usize) -> usize {
    const START: f64 = 28.0;
    const END: f64 = 145_000.0;
    const MOST: f64 = 80_000.0;
    let part = ((f64::from(nodes) - START) / (END - START)).clamp(0.0, 1.0);
    let allowed = 1.0 + (MOST - 1.0) * part.powf(1.25);
    (allowed.round() as usize).min(batch)
}

fn verdict(terminal: Terminal) -> Verdict {
    match terminal {
        Terminal::Checkmate => Verdict::lost(),
        Terminal::TwoFold { cycle } => Verdict::Terminal(Value { m: f32::from(cycle), ..Value::DRAW }, Ending::TwoFold),
        _ => Verdict::drawn(),
    }
}
