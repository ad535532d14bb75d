//! Runs a small network of Lc0 where there is no operating system: no `std`, no allocation, no `unsafe`.
//!
//! A network is a *pack*: bytes that stay where they are, for instance in flash, made from a network file by
//! `oncilla_nets::micro::pack`. Of Lc0's architectures only one is supported, which is small enough: a tower of
//! residual blocks with squeeze and excitation, 3×3 convolutions and ReLU, a convolutional or an attention policy, WDL
//! and moves left. [`Network::new`] checks a pack's lengths; [`Network::evaluate`] runs it in a [`Room`], whose size
//! follows from the number of filters and from nothing else.
//!
//! Layers multiply in whole numbers of eight bits or in single precision, as each was marked when the pack was made,
//! and with the rounding of the host's `--precision=int8`: only the order of additions in single precision differs, and
//! tests compare the two. There is no fused multiply-add, so the same pack and the same planes give the same bits on
//! every machine: a search on a microcontroller can be compared with one on a PC to the visit, and `ci/firmware` does
//! this.
//!
//! Of the policy's last layer only what is asked for is computed: [`Evaluation::logit`] is one sum of a convolution, or
//! one product of a query and a key, so a position costs as many of them as it has legal moves. Moves are given by
//! their indices in Lc0's policy, whatever kind of policy the network has.
//!
//! ```
//! use oncilla_micro::{Network, Room};
//!
//! static ROOM: std::sync::Mutex<Room<24>> = std::sync::Mutex::new(Room::new());
//!
//! /// The logit of e2e4, move 322 of the policy, and W − L, for planes given as the squares on which they have a value.
//! fn look(pack: &[u8], planes: impl Fn(usize) -> (u64, f32)) -> Result<(f32, f32), oncilla_micro::PackError> {
//!     let network = Network::new(pack)?;
//!     let mut room = ROOM.lock().unwrap();
//!     let evaluation = network.evaluate(planes, &mut room)?;
//!     let [win, _, loss] = evaluation.wdl;
//!     Ok((evaluation.logit(322), win - loss))
//! }
//!
//! assert!(look(b"no pack", |_| (0, 0.0)).is_err());
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

#[cfg(test)]
extern crate std;

mod board;
mod evaluate;
mod pack;
mod policy;
mod sums;

pub use evaluate::{Evaluation, Room};
pub use pack::{
    ATTENTION, CONVOLUTION, MAGIC, MOST_HIDDEN, MOVES, Network, PIECES, PLANES, POLICY_PLANES, PackError, SINGLE,
    VERSION, WHOLE,
};
