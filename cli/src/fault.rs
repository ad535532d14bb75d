//! Faults of the program itself, which must not leave a GUI waiting for its move: panics, and answers that the search
//! refuses.
//!
//! Each thread of a search works under a guard. When one panics, the others bring back the remaining events as far as
//! possible, the search ends as at a limit, and its tree is discarded.

use oncilla_core::search::Refused;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what `job` returns. If it panics, whatever it was changing is left as it is: rely on nothing of it.
///
/// # Errors
/// One line with the panic's message.
pub fn guarded<T>(job: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|panic| format!("internal error: {}", message(&*panic)))
}

/// The line that says why a search ends because of an answer that was refused.
pub fn why_refused(why: Refused) -> String {
    match why {
        Refused::NoRoom => "the tree's memory is too small for the root's moves".to_string(),
        why => format!("an answer was refused: {why}"),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    formatted.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say which")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_line() {
        let line = |text| Err::<u8, _>(format!("internal error: {text}"));
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(guarded(|| panic!("plain")), line("plain"));
        let number = std::hint::black_box(3);
        assert_eq!(guarded(|| panic!("number {number}")), line("number 3"));
        assert_eq!(guarded(|| std::panic::panic_any(5u8)), line("it does not say which"));
    }
}
