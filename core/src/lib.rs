#![no_std]
//! PUCT tree search in fixed memory.
#![warn(missing_docs)]
