//! What a function returns.

use core::ffi::{CStr, c_char};
use oncilla_core::search::Refused;

/// The outcome of a call.
#[repr(i32)]
#[allow(clippy::enum_variant_names, reason = "C has no other names than these")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OncillaStatus {
    /// It did what it should.
    OncillaOk = 0,
    /// A pointer is NULL that must not be.
    OncillaNullPointer = 1,
    /// A pointer is not aligned as its type requires, or lent memory not to ONCILLA_ALIGN.
    OncillaMisaligned = 2,
    /// The lent memory is smaller than the size that the function for it returns.
    OncillaMemoryTooSmall = 3,
    /// The pointer does not lead to a handle of this type: it was never made, or its memory has been used for something
    /// else.
    OncillaNotAHandle = 4,
    /// A parameter is not a number, or out of its range.
    OncillaBadNumber = 5,
    /// A number that should choose one of several things chooses none.
    OncillaBadChoice = 6,
    /// A count or a capacity is 0, or too large.
    OncillaBadCount = 7,
    /// The room for output is smaller than what should go there.
    OncillaBufferTooSmall = 8,
    /// The same event is in one array twice.
    OncillaSameEvent = 9,
    /// The event was gathered from another search, and is under way there, or was until its tree was forgotten: cancel
    /// it there.
    OncillaOtherSearch = 10,
    /// The event does not wait for an answer, or not for this one; or the tree was cleared or advanced since it was
    /// gathered.
    OncillaStale = 11,
    /// A move has no name: an event's last one (call oncilla_event_name), or the one to play, which nobody has tried
    /// (call oncilla_edge_to_play).
    OncillaUnnamed = 12,
    /// The answer says that the game goes on, but came without a legal move.
    OncillaNoEdges = 13,
    /// The answer has more legal moves than a node can have: ONCILLA_MAX_EDGES.
    OncillaTooManyEdges = 14,
    /// The memory has no room for the root's moves.
    OncillaNoRoom = 15,
    /// There is no such move: nothing was searched yet, or the game has ended.
    OncillaNoMove = 16,
    /// oncilla_time_end or a similar function was called without oncilla_time_start.
    OncillaNoMoveStarted = 17,
    /// The event is under way: bring it back or cancel it first.
    OncillaInFlight = 18,
}

use OncillaStatus::*;

impl OncillaStatus {
    const ALL: [(Self, &'static CStr); 19] = [
        (OncillaOk, c"it did what it should"),
        (OncillaNullPointer, c"a pointer is NULL that may not be"),
        (OncillaMisaligned, c"a pointer is not aligned as its type asks for, or lent memory not to ONCILLA_ALIGN"),
        (OncillaMemoryTooSmall, c"the memory lent is smaller than the function for its size says"),
        (OncillaNotAHandle, c"the pointer leads to no such handle"),
        (OncillaBadNumber, c"a parameter is no number, or out of its range"),
        (OncillaBadChoice, c"a number that should choose one of several things chooses none"),
        (OncillaBadCount, c"a count or a capacity is 0, or larger than can be"),
        (OncillaBufferTooSmall, c"the room for output is smaller than what should go there"),
        (OncillaSameEvent, c"the same event stands twice in one array"),
        (OncillaOtherSearch, c"the event was gathered from another search"),
        (OncillaStale, c"the event does not wait for this, or the tree was cleared or advanced since it was gathered"),
        (OncillaUnnamed, c"nobody said which move this is: an event's last one, or one to play that was not tried"),
        (OncillaNoEdges, c"a position that goes on came without a legal move"),
        (OncillaTooManyEdges, c"more legal moves came than a node can have"),
        (OncillaNoRoom, c"the memory has no room for the root's moves"),
        (OncillaNoMove, c"there is no such move: nothing was searched yet, or the game has ended"),
        (OncillaNoMoveStarted, c"no move was started"),
        (OncillaInFlight, c"the event is under way: bring it back or cancel it first"),
    ];
}

impl From<Refused> for OncillaStatus {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Stale => OncillaStale,
            Refused::Unnamed => OncillaUnnamed,
            Refused::NoEdges => OncillaNoEdges,
            Refused::TooManyEdges => OncillaTooManyEdges,
            // No function that takes two lists can be called from C.
            Refused::ListsDiffer => OncillaBadCount,
            Refused::NoRoom => OncillaNoRoom,
        }
    }
}

/// What a status means, in English and without a full stop; for a number that is not a status the text says so. The
/// text stays valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_status_text(status: i32) -> *const c_char {
    let known = OncillaStatus::ALL.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"no status of this version of Oncilla", |(_, text)| text).as_ptr()
}

/// The result of a call: an error ends it early.
pub type Outcome = Result<(), OncillaStatus>;

/// Runs the body of a function, and returns its status.
pub fn attempt(call: impl FnOnce() -> Outcome) -> OncillaStatus {
    match call() {
        Ok(()) => OncillaOk,
        Err(status) => status,
    }
}
