//! The C interface of [`oncilla_core`]: a search, its events, and a time manager for programs that are not written in
//! Rust. `include/oncilla.h` is made from this crate; docs/embedding.md explains it with examples.
//!
//! `ci/capi` makes the static library, with the feature `panic-handler` and a profile that aborts. A Rust program that
//! wants to export the same functions depends on the crate without that feature.
//!
//! # Safety
//!
//! One contract holds for every function, and stands at the top of the header. A pointer that a host gives is NULL,
//! or it leads to as many initialised objects as its type and the count beside it say, which nobody changes during the call (and
//! for output, nobody reads). What can be seen of a pointer is looked at before it is used: NULL, alignment, the size
//! of lent memory, and the word that every handle begins with. A function that takes `*const OncillaSearch` makes a
//! shared reference of it, one that takes `*mut OncillaSearch` an exclusive one: so the header's rule for threads is
//! that of [`Search`](oncilla_core::search::Search).
//!
//! All `unsafe` is here: in `handle.rs`, where pointers become references, and in the functions that say by their
//! signature which pointers they take.
#![no_std]
#![warn(missing_docs)]
#![allow(clippy::missing_safety_doc, reason = "one contract for all functions: see above")]

#[cfg(all(feature = "panic-handler", panic = "unwind", not(any(test, doc, clippy))))]
compile_error!("the feature `panic-handler` is for an archive that aborts: build it with `--profile capi`, as ci/capi does");

mod event;
mod handle;
mod panic;
mod params;
mod search;
mod status;
mod time;

pub use event::{OncillaAnswer, OncillaEvent, OncillaMet};
pub use panic::OncillaPanicCallback;
pub use params::{
    OncillaCpuct, OncillaDirichlet, OncillaFpu, OncillaLcb, OncillaMovesLeftUtility, OncillaParams, OncillaTemperature,
};
pub use search::{OncillaCapacity, OncillaRootEdge, OncillaSearch, OncillaStats};
pub use status::OncillaStatus;
pub use time::{
    OncillaBudget, OncillaClock, OncillaLeader, OncillaLegacy, OncillaMovesLeft, OncillaSimple, OncillaSmooth,
    OncillaTime, OncillaTimeParams,
};
