//! How many positions of one search are evaluated together if the user does not say it.

use crate::network::Facts;

/// A batch makes the visits of a search somewhat less valuable, because each is chosen before the results of the others
/// are known. So it is no larger than what keeps a device busy: what the device prefers if one position is searched,
/// and a part of it if `searches` share its batches. On the host, which computes one position with all of its threads,
/// more than one brings nothing.
pub fn suitable(facts: &Facts, searches: usize) -> usize {
    let share = facts.searches.div_ceil(searches.max(1));
    if facts.is_host { 1 } else { share.clamp(1, facts.preferred_batch.max(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(is_host: bool) -> Facts {
        Facts { describe: String::new(), max_batch: 256, preferred_batch: 16, threads: 1, searches: 32, is_host }
    }

    #[test]
    fn a_device_is_filled_by_all_searches_together() {
        let suits = [1, 2, 3, 8, 32, 256].map(|searches| suitable(&facts(false), searches));
        assert_eq!(suits, [16, 16, 11, 4, 1, 1]);
        let single = Facts { preferred_batch: 0, searches: 0, ..facts(false) };
        assert_eq!(suitable(&single, 1), 1);
    }

    #[test]
    fn the_host_has_one_position_of_a_search_at_a_time() {
        assert_eq!([1, 4, 64].map(|searches| suitable(&facts(true), searches)), [1; 3]);
    }
}
