//! Playouts under way: gathers, answers and brings them back.

use crate::handle::{Handle, alone, changed, input, output, outputs, place, shared};
use crate::search::OncillaSearch;
use crate::status::{OncillaStatus, Outcome, attempt};
use core::borrow::{Borrow, BorrowMut};
use core::ffi::c_void;
use core::ptr::NonNull;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Ending, Value, Verdict};
use oncilla_core::search::{Event, Gathered, Refused, Search};
use oncilla_core::tree::Tree;

/// `OncillaAnswer.verdict`: the game goes on.
pub const ONCILLA_POSITION: u32 = 0;
/// `OncillaAnswer.verdict`: the game ends here by the rules.
pub const ONCILLA_ENDED: u32 = 1;
/// `OncillaAnswer.verdict`: the result is known from an endgame tablebase.
pub const ONCILLA_TABLEBASE: u32 = 2;
/// `OncillaAnswer.verdict`: the second occurrence of a position that first occurred in the tree, taken for a draw; `m`
/// is the length of the cycle in plies.
pub const ONCILLA_TWO_FOLD: u32 = 3;
/// `OncillaAnswer.verdict`: the game ends here with a score that makes it worth any number. It is final, but proves
/// nothing.
pub const ONCILLA_SCORED: u32 = 4;

/// Plies that an event has room for, unless ONCILLA_PLIES in the environment of the library's build said otherwise.
pub const ONCILLA_DEFAULT_PLIES: usize = 128;
/// Bytes that an event takes beside its path, at most; used by ONCILLA_EVENT_BYTES.
pub const ONCILLA_EVENT_OVERHEAD: usize = 128;
/// Bytes that each ply of a path takes.
pub const ONCILLA_PLY_BYTES: usize = 16;

const _: () = assert!(size_of::<OncillaEvent>() <= ONCILLA_EVENT_OVERHEAD + ONCILLA_PLY_BYTES * PLIES);

pub(crate) const PLIES: usize = match option_env!("ONCILLA_PLIES") {
    Some(text) => plies(text.as_bytes()),
    None => ONCILLA_DEFAULT_PLIES,
};

const fn plies(text: &[u8]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < text.len() {
        assert!(text[at].is_ascii_digit(), "ONCILLA_PLIES is no number");
        sum = sum * 10 + (text[at] - b'0') as usize;
        at += 1;
    }
    assert!(sum >= 2 && sum <= 1000, "ONCILLA_PLIES is from 2 to 1000");
    sum
}

/// A playout under way: the path from the root to a leaf. It is in the host's memory, and is reused from playout to
/// playout.
#[repr(C, align(8))]
pub struct OncillaEvent {
    mark: u32,
    /// True while an array of events that it is in is in use.
    listed: bool,
    /// The number of the search that it was gathered from last.
    search: Option<u32>,
    event: Event<PLIES>,
}

// SAFETY: `repr(C)`, and the mark comes first.
unsafe impl Handle for OncillaEvent {
    const MARK: u32 = u32::from_be_bytes(*b"evnt");
}

impl OncillaEvent {
    /// An event that is not under way belongs to no search.
    fn must_be_of(&self, search: &OncillaSearch) -> Outcome {
        match self.search {
            Some(number) if number != search.number && self.event.is_under_way() => {
                Err(OncillaStatus::OncillaOtherSearch)
            }
            _ => Ok(()),
        }
    }

    fn must_be_free_for(&self, search: &OncillaSearch) -> Outcome {
        self.must_be_of(search)?;
        match self.search {
            Some(number) if number == search.number && search.search.is_in_flight(&self.event) => {
                Err(OncillaStatus::OncillaInFlight)
            }
            _ => Ok(()),
        }
    }
}

/// An element of an array of events, once all its elements are known to be events, and to be different ones.
#[repr(transparent)]
struct Lent(NonNull<OncillaEvent>);

impl Lent {
    fn own(&mut self) -> &mut OncillaEvent {
        // SAFETY: `with_events` has made a mutable reference of the pointer; no other element has the same one.
        unsafe { self.0.as_mut() }
    }
}

impl Borrow<Event<PLIES>> for Lent {
    fn borrow(&self) -> &Event<PLIES> {
        // SAFETY: as in `own`.
        unsafe { &self.0.as_ref().event }
    }
}

impl BorrowMut<Event<PLIES>> for Lent {
    fn borrow_mut(&mut self) -> &mut Event<PLIES> {
        &mut self.own().event
    }
}

/// Calls `run` with the host's events, if all of them are events, and no two are the same.
///
/// # Safety
/// `events` is NULL, or leads to `count` pointers, each of which is NULL or leads to an event; no other code uses the
/// pointers or the events.
unsafe fn with_events(
    events: *mut *mut OncillaEvent,
    count: usize,
    mut may_be: impl FnMut(&mut OncillaEvent) -> Outcome,
    run: impl FnOnce(&mut [Lent]),
) -> Outcome {
    // SAFETY: the caller's contract is this function's.
    let pointers = unsafe { changed(events, count)? };
    let mut outcome = Ok(());
    let mut listed = 0;
    for &pointer in pointers.iter() {
        // SAFETY: the caller says what the pointers lead to. One that stands there twice is borrowed once at a time.
        outcome = unsafe { alone(pointer) }.and_then(|event| {
            if event.listed {
                return Err(OncillaStatus::OncillaSameEvent);
            }
            may_be(event)?;
            event.listed = true;
            Ok(())
        });
        if outcome.is_err() {
            break;
        }
        listed += 1;
    }
    if outcome.is_ok() {
        // SAFETY: none is NULL, so each pointer is a `Lent`, which has the same layout; all are different events.
        run(unsafe { core::slice::from_raw_parts_mut(pointers.as_mut_ptr().cast::<Lent>(), pointers.len()) });
    }
    for &pointer in pointers.iter().take(listed) {
        // SAFETY: the pointer was checked in the loop above, and the slice made of all of them is gone.
        if let Ok(event) = unsafe { alone(pointer) } {
            event.listed = false;
        }
    }
    outcome
}

/// What a playout met on its way down.
#[repr(i32)]
#[allow(clippy::enum_variant_names, reason = "C has no other names than these")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OncillaMet {
    /// A node that has not been evaluated: call oncilla_settle or oncilla_answer.
    OncillaLeaf = 0,
    /// A node whose value is known already: call oncilla_bring_back, for there is nothing to answer.
    OncillaKnown = 1,
    /// A node that another playout is evaluating: call oncilla_cancel for this one once the other's answer is in. Or a
    /// move with 1,023 visits in flight, which is the most: then cancelling does nothing.
    OncillaCollision = 2,
    /// There is no room for another node: call oncilla_recycle, then gather again. If it freed 0 nodes, answer and
    /// bring back the events in flight, and try again; with nothing in flight the search can't go on.
    OncillaFull = 3,
    /// The game has ended at the root, no move may be searched there, or the root has 4,000,000,000 visits.
    OncillaNoMoves = 4,
}

impl From<Gathered> for OncillaMet {
    fn from(met: Gathered) -> Self {
        match met {
            Gathered::Leaf => Self::OncillaLeaf,
            Gathered::Known => Self::OncillaKnown,
            Gathered::Collision => Self::OncillaCollision,
            Gathered::Full => Self::OncillaFull,
            Gathered::NoMoves => Self::OncillaNoMoves,
        }
    }
}

/// What is known of a leaf, besides its policy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaAnswer {
    /// The position's key. A tree does not need it; a graph joins positions that have the same key, unless it is 0:
    /// then it joins the position with no other one. Equal keys mean equal legal moves and equal results, both here and
    /// after whatever is played from here on: if the moves that led here can forbid a move or end the game, mix a
    /// digest of them into the key, such as the moves since the last one that can't be taken back and the positions
    /// that they repeated. Otherwise what is proven on one path, such as a draw by repetition, is taken for proven on
    /// the others. Besides, no line of moves may contain the same key twice: if a game can return to an earlier
    /// position, such a digest tells the two occurrences apart; if neither results nor legal moves depend on earlier
    /// moves, the number of plies since the start of the game does. Otherwise the graph has a cycle: values and proofs
    /// go round in it, its nodes are never freed, and two threads may wait for each other for ever. A leaf whose key is
    /// on its own path is not joined; a cycle that two paths make together is not seen.
    pub key: u64,
    /// ONCILLA_POSITION, ONCILLA_ENDED, ONCILLA_TABLEBASE, ONCILLA_TWO_FOLD or ONCILLA_SCORED.
    pub verdict: u32,
    /// The value to the side to move: a win's probability minus a loss's, in [-1, 1]. With ONCILLA_ENDED and
    /// ONCILLA_TABLEBASE it has to be -1, 0 or 1, with ONCILLA_TWO_FOLD 0: anything else is ONCILLA_BAD_NUMBER. With
    /// ONCILLA_POSITION and ONCILLA_SCORED any number will do, for this field and for d and m: one that is out of its
    /// range counts as the nearest one in it, and one that is not a number as 0.
    pub wl: f32,
    /// The probability of a draw, in [0, 1]. With the other three verdicts it follows from the result.
    pub d: f32,
    /// Plies until the end of the game, at least 0.
    pub m: f32,
}

impl OncillaAnswer {
    fn checked(&self) -> Result<Answer, OncillaStatus> {
        let value = Value { wl: self.wl, d: self.d, m: self.m };
        let ended = |ending| match (self.wl, ending) {
            (-1.0 | 1.0, Ending::Game | Ending::Tablebase) | (0.0, _) => Ok(Verdict::Terminal(value, ending)),
            _ => Err(OncillaStatus::OncillaBadNumber),
        };
        let verdict = match self.verdict {
            ONCILLA_POSITION => Verdict::Position(value),
            ONCILLA_ENDED => ended(Ending::Game)?,
            ONCILLA_TABLEBASE => ended(Ending::Tablebase)?,
            ONCILLA_TWO_FOLD => ended(Ending::TwoFold)?,
            ONCILLA_SCORED => Verdict::scored(value),
            _ => return Err(OncillaStatus::OncillaBadChoice),
        };
        Ok(Answer { key: self.key, verdict })
    }
}

/// How many bytes of memory an event takes.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_event_size() -> usize {
    size_of::<OncillaEvent>() + crate::handle::padding::<OncillaEvent>()
}

/// The longest path of an event, in plies. A playout that gets so deep ends there.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_max_plies() -> usize {
    PLIES
}

/// Makes an event in `memory`, which no playout uses yet. It may be used with one search after the other: see
/// oncilla_search_end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_event_new(
    memory: *mut c_void,
    bytes: usize,
    event: *mut *mut OncillaEvent,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let to = unsafe { output(event)? };
        // SAFETY: the contract of the crate.
        let handle = unsafe { place(memory, bytes, oncilla_event_size())? };
        // SAFETY: `place` found aligned room.
        unsafe {
            handle.write(OncillaEvent { mark: OncillaEvent::MARK, listed: false, search: None, event: Event::new() })
        };
        to.set(handle.as_ptr());
        Ok(())
    })
}

/// Takes `count` playouts from the root to leaves, counting a visit in flight along their edges; oncilla_event_met says
/// what each met. Returns ONCILLA_IN_FLIGHT or ONCILLA_OTHER_SEARCH if one of the events is under way already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_gather(
    search: *const OncillaSearch,
    events: *mut *mut OncillaEvent,
    count: usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let search = unsafe { shared(search)? };
        let free = |event: &mut OncillaEvent| event.must_be_free_for(search);
        let gather = |events: &mut [Lent]| {
            search.search.gather_together(events);
            events.iter_mut().for_each(|event| event.own().search = Some(search.number));
        };
        // SAFETY: the contract of the crate.
        unsafe { with_events(events, count, free, gather) }
    })
}

/// `met` gets what the playout met when it was last gathered: ONCILLA_LEAF and so on. Returns ONCILLA_STALE if the
/// event was not gathered yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_event_met(event: *const OncillaEvent, met: *mut OncillaMet) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (event, to) = unsafe { (shared(event)?, output(met)?) };
        if event.search.is_none() {
            return Err(OncillaStatus::OncillaStale);
        }
        to.set(event.event.met().into());
        Ok(())
    })
}

/// `moves` gets the moves from the root to the leaf, or to the leaf's parent while the last move is not named. `count`
/// gets the number of these moves, also with ONCILLA_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_event_moves(
    event: *const OncillaEvent,
    moves: *mut u16,
    room: usize,
    count: *mut usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (event, to, count) = unsafe { (shared(event)?, outputs(moves, room)?, output(count)?) };
        let line = event.event.moves();
        let fits = line.len() <= to.room();
        count.set(line.len());
        if !fits {
            return Err(OncillaStatus::OncillaBufferTooSmall);
        }
        to.fill(line.map(|mv| mv.0));
        Ok(())
    })
}

/// `index` gets the last move's index among the legal moves of the position after oncilla_event_moves, if the tree does
/// not know which move that is: then call oncilla_event_name before the answer. Otherwise `index` gets -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_event_unnamed(event: *const OncillaEvent, index: *mut i32) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (event, to) = unsafe { (shared(event)?, output(index)?) };
        to.set(event.event.unnamed().map_or(-1, |index| index as i32));
        Ok(())
    })
}

/// Names the last move of the event's path. If the event knows that move already, this changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_event_name(event: *mut OncillaEvent, mv: u16) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { alone(event)? }.event.name(Move(mv));
        Ok(())
    })
}

/// What oncilla_settle and oncilla_answer have in common: `give` is the method that brings the answer into the tree.
///
/// # Safety
/// The contract of the crate.
unsafe fn answer_with(
    give: impl FnOnce(&Search<Tree<'static>>, &mut Event<PLIES>, &Answer, &mut [f32]) -> Result<(), Refused>,
    search: *const OncillaSearch,
    event: *mut OncillaEvent,
    answer: *const OncillaAnswer,
    policy: *mut f32,
    count: usize,
) -> Outcome {
    // SAFETY: the caller's contract is this function's.
    let (search, event) = unsafe { (shared(search)?, alone(event)?) };
    // SAFETY: the caller's contract is this function's.
    let (answer, policy) = unsafe { (input(answer)?, changed(policy, count)?) };
    event.must_be_of(search)?;
    Ok(give(&search.search, &mut event.event, &answer.checked()?, policy)?)
}

/// Gives a leaf its answer; oncilla_bring_back then takes it to the root. `policy` has a logit for each of the `count`
/// legal moves, in the order of the game's list, which must depend on the position alone. The array is overwritten,
/// even if the answer is refused: for another try, fill in the logits again. A game that has ended needs no logits. If
/// an answer is refused, the event is cancelled, except with ONCILLA_STALE and with errors that are found earlier (in
/// pointers, a verdict that is none of the five, a game that ended without a result).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_settle(
    search: *const OncillaSearch,
    event: *mut OncillaEvent,
    answer: *const OncillaAnswer,
    policy: *mut f32,
    count: usize,
) -> OncillaStatus {
    // SAFETY: the contract of the crate.
    attempt(|| unsafe { answer_with(Search::settle, search, event, answer, policy, count) })
}

/// Settles a leaf whose position a graph has already, so that the position need not be evaluated: `joined` gets 1, and
/// the event waits for oncilla_bring_back. `key` is the position's OncillaAnswer.key, and `count` the number of its
/// legal moves.
///
/// `joined` gets 0 if the graph has no such node, or if the leaf can't be joined to it (the node is on the leaf's own
/// path, or the leaf is the root); in a tree always. Then the event waits for its answer as before. With
/// ONCILLA_UNNAMED the event is cancelled. Do not ask about a game that has ended: the graph does not join these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_settle_transposition(
    search: *const OncillaSearch,
    event: *mut OncillaEvent,
    key: u64,
    count: usize,
    joined: *mut u32,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, event, to) = unsafe { (shared(search)?, alone(event)?, output(joined)?) };
        event.must_be_of(search)?;
        to.set(search.search.settle_transposition(&mut event.event, key, count)?.into());
        Ok(())
    })
}

/// Brings events to the root that are settled, or that met a node whose value was known. If they share ancestors, these
/// are written for all of them together. The pointers in the array are reordered; events that wait for something else
/// are left as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_bring_back(
    search: *const OncillaSearch,
    events: *mut *mut OncillaEvent,
    count: usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let search = unsafe { shared(search)? };
        let own = |event: &mut OncillaEvent| event.must_be_of(search);
        // SAFETY: the contract of the crate.
        unsafe { with_events(events, count, own, |events| search.search.bring_back(events)) }
    })
}

/// Does the work of oncilla_settle and oncilla_bring_back for one event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_answer(
    search: *const OncillaSearch,
    event: *mut OncillaEvent,
    answer: *const OncillaAnswer,
    policy: *mut f32,
    count: usize,
) -> OncillaStatus {
    // SAFETY: the contract of the crate.
    attempt(|| unsafe { answer_with(Search::answer, search, event, answer, policy, count) })
}

/// Takes back a playout that collided, or whose leaf can't be answered. One that was settled is brought back instead,
/// for its leaf has counted the visit. If the event is not under way, this changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_cancel(search: *const OncillaSearch, event: *mut OncillaEvent) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, event) = unsafe { (shared(search)?, alone(event)?) };
        event.must_be_of(search)?;
        search.search.cancel(&mut event.event);
        Ok(())
    })
}
