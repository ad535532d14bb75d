//! What a chess network and a search need of the rules of chess.
//!
//! - [`History`]: a start position and the moves played from it, with the counters that end games (rule 50,
//!   repetitions), and a 64-bit key of the last position.
//! - [`Terminal`]: why a game is over; the reasons are in the order in which a search asks for them.
//! - [`planes`]: the 112 input planes of Lc0's networks, for every input format.
//! - [`policy`]: the index of a move among the 1858 outputs of a policy head.
//! - [`exchanges`]: what every move gains in material; [`tactics`]: exchanges, hanging pieces, threats and mates as
//!   numbers; [`hints`]: what these numbers add to a network's policy and value.
//! - [`notation`]: moves as UCI writes them, positions as FEN.
//! - [`pack`], [`unpack`]: a move in 16 bits.
//!
//! Legal moves come from [`cozy_chess`], which writes castling as king takes rook; so does everything here except
//! [`notation`]. Nothing allocates and nothing needs the standard library.
//!
//! ```
//! use oncilla_chess::planes::{HistoryFill, InputFormat, Planes, encode};
//! use oncilla_chess::{History, MoveList, TwoFold, notation, policy};
//!
//! let mut history: History = History::startpos();
//! for text in ["e2e4", "c7c5"] {
//!     let mv = notation::parse_move(history.board(), text)?;
//!     history.push(mv);
//! }
//! assert_eq!(history.terminal(2, TwoFold::Draw), None);
//!
//! let mut planes = Planes::default();
//! let transform = encode(&history, InputFormat::Classical112, HistoryFill::FenOnly, &mut planes);
//!
//! let mut moves = MoveList::new();
//! history.legal_moves(&mut moves);
//! for &mv in &moves {
//!     assert!(usize::from(policy::index(mv, history.side_to_move(), transform)) < policy::SIZE);
//! }
//! # Ok::<(), notation::MoveError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

pub mod exchanges;
mod fen;
pub mod hints;
mod history;
mod move_list;
mod movegen;
mod moves;
pub mod notation;
mod pieces;
pub mod planes;
pub mod policy;
pub mod tactics;
mod terminal;
mod transform;

pub use cozy_chess::{self, Board, Color, File, Move, Piece, Rank, Square};
pub use fen::{FenError, FenField, FenText};
pub use history::{DEFAULT_CAP, History, IllegalMove, MIN_CAP, Position};
pub use move_list::MoveList;
pub use movegen::{has_legal_move, legal_moves, nth_legal_move, sliding_attacks};
pub use moves::{pack, unpack};
pub use notation::Castling;
pub use terminal::{Terminal, TwoFold};
pub use transform::Transform;
