//! What a chess network and a search need of the rules of chess.
#![no_std]
#![warn(missing_docs)]
