//! The C interface of [`oncilla_core`]: a search, its events, and a time manager for programs that are not written in
//! Rust. `include/oncilla.h` is made from this crate; docs/embedding.md explains it with examples.
//!
//! `core/capi/install` makes the static library, with the feature `panic-handler` and a profile that aborts. A Rust
//! program that wants to export the same functions depends on the crate without that feature.
//!
//! # Safety
//!
//! One contract holds for every function, and stands at the top of the header. A pointer that a host passes is either
//! NULL, or it leads to as many initialised objects as its type and the count beside it say; no other code changes them
//! during the call (nor, if they are output, reads them). What can be checked of a pointer is checked before it is
//! used: NULL, alignment, the size of lent memory, and the word that every handle begins with. A function that takes
//! `*const OncillaSearch` makes a shared reference of it, and one that takes `*mut OncillaSearch` an exclusive one: so
//! the header's rule for threads is that of [`Search`](oncilla_core::search::Search).
//!
//! All `unsafe` is here: in `handle.rs`, where pointers become references, where a type declares that it begins with
//! that word, and in the functions that say by their signature which pointers they take.
#![no_std]
#![warn(missing_docs)]
#![allow(clippy::missing_safety_doc, reason = "one contract for all functions: see above")]

#[cfg(all(feature = "panic-handler", panic = "unwind", not(any(test, doc, clippy))))]
compile_error!(
    "the feature `panic-handler` is for an archive that aborts: build it with `--profile capi`, as core/capi/install does"
);

mod abi;
mod event;
mod handle;
mod panic;
mod params;
#[cfg(feature = "rust-paths")]
mod rust_paths;
mod search;
mod status;
mod time;

pub use abi::{ONCILLA_ABI, oncilla_abi};
pub use event::{
    ONCILLA_DEFAULT_PLIES, ONCILLA_ENDED, ONCILLA_EVENT_OVERHEAD, ONCILLA_PLY_BYTES, ONCILLA_POSITION, ONCILLA_SCORED,
    ONCILLA_TABLEBASE, ONCILLA_TWO_FOLD, OncillaAnswer, OncillaEvent, OncillaMet, oncilla_answer, oncilla_bring_back,
    oncilla_cancel, oncilla_event_met, oncilla_event_moves, oncilla_event_name, oncilla_event_new, oncilla_event_size,
    oncilla_event_unnamed, oncilla_gather, oncilla_max_plies, oncilla_settle, oncilla_settle_transposition,
};
pub use handle::{ONCILLA_ALIGN, Output};
pub use panic::{OncillaPanicCallback, oncilla_on_panic};
pub use params::{
    ONCILLA_CATCH_UP_VALUES, ONCILLA_CATCH_UP_VISITS, ONCILLA_EXPLORED_VISITS, ONCILLA_EXPLORED_WEIGHTS,
    ONCILLA_FPU_ABSOLUTE, ONCILLA_FPU_REDUCTION, OncillaCpuct, OncillaDeviation, OncillaDirichlet, OncillaFpu,
    OncillaLcb, OncillaMovesLeftUtility, OncillaParams, OncillaTemperature, OncillaWdlRescale, OncillaWeighing,
    oncilla_params_check, oncilla_params_default,
};
pub use search::{
    ONCILLA_MAX_EDGES, ONCILLA_NO_LIMIT, ONCILLA_SEARCH_OVERHEAD, OncillaCapacity, OncillaRootEdge, OncillaSearch,
    OncillaStats, oncilla_advance, oncilla_best_move, oncilla_clear, oncilla_edge_to_play, oncilla_move_to_play,
    oncilla_pv, oncilla_recycle, oncilla_root_edges, oncilla_search_end, oncilla_search_new, oncilla_search_size,
    oncilla_set_params, oncilla_set_remaining_playouts, oncilla_set_root_moves, oncilla_start_move, oncilla_stats,
};
pub use status::{OncillaStatus, Outcome, oncilla_status_text};
pub use time::{
    ONCILLA_TIME_ALPHAZERO, ONCILLA_TIME_BYTES, ONCILLA_TIME_LEGACY, ONCILLA_TIME_SIMPLE, ONCILLA_TIME_SMOOTH,
    OncillaBudget, OncillaClock, OncillaLeader, OncillaLegacy, OncillaMovesLeft, OncillaSimple, OncillaSmooth,
    OncillaTime, OncillaTimeParams, oncilla_moves_left, oncilla_moves_left_default, oncilla_time_end,
    oncilla_time_leader, oncilla_time_new, oncilla_time_params_default, oncilla_time_progress, oncilla_time_size,
    oncilla_time_start,
};
