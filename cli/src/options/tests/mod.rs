//! Tests of the options together.

mod katagos_files;
