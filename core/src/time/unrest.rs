//! Whether a search should go on beyond its budget: its best move is new, contested, or worth less than it was.

/// The most visited move at the root.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Leader {
    /// Any number that identifies the move during a search.
    pub mv: u32,
    /// Q to the side that plays the move, in [−1, 1]: W − L, plus D times the draw score.
    pub q: f32,
    /// True if the second most visited move has a higher Q: the lead may change.
    pub contested: bool,
}

/// Which signs of unrest count. With both at 0, none does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct UnrestParams {
    /// `value-drop`: a search is unsettled if the best move's Q is lower, by this much, than it was in the last move's
    /// search. 0 turns this off.
    pub value_drop: f64,
    /// `settle-time`: a best move is new for this part of the time that the search has run; a new or contested best
    /// move is a reason to go on. 0 turns this off.
    pub settle_time: f64,
}

/// Follows the best move during the searches of a game, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Unrest {
    leader: Option<Leader>,
    /// When the move took the lead, in milliseconds; 0 for the first leader of a search.
    since_ms: f64,
    /// The best move's Q at the end of the last move's search.
    last_q: Option<f32>,
}

impl Unrest {
    /// Starts a search: from now on, the last search's value is what to compare with.
    pub fn on_move_start(&mut self) {
        *self = Self { last_q: self.leader.map(|leader| leader.q).or(self.last_q), ..Self::default() };
    }

    /// Reports the best move after `elapsed_ms` of search.
    pub fn on_leader(&mut self, elapsed_ms: f64, leader: Leader) {
        if self.leader.is_some_and(|last| last.mv != leader.mv) {
            self.since_ms = elapsed_ms;
        }
        self.leader = Some(leader);
    }

    /// Whether the search deserves more than its budget.
    pub fn is_unsettled(&self, elapsed_ms: f64, params: &UnrestParams) -> bool {
        let Some(leader) = self.leader else { return false };
        let drop = self.last_q.map_or(0.0, |last| f64::from(last - leader.q));
        let has_dropped = params.value_drop > 0.0 && drop >= params.value_drop;
        let is_new = self.since_ms > 0.0 && elapsed_ms - self.since_ms < params.settle_time * elapsed_ms;
        has_dropped || is_new || (leader.contested && params.settle_time > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: UnrestParams = UnrestParams { value_drop: 0.1, settle_time: 0.25 };

    fn leader(mv: u32, q: f32) -> Leader {
        Leader { mv, q, contested: false }
    }

    #[test]
    fn a_new_best_move_is_given_time_in_proportion() {
        let mut unrest = Unrest::default();
        unrest.on_leader(1.0, leader(7, 0.0));
        // The first one is no change, however long changes count.
        assert!(!unrest.is_unsettled(1.0, &PARAMS));
        assert!(!unrest.is_unsettled(1.0, &UnrestParams { settle_time: 2.0, ..PARAMS }));
        unrest.on_leader(750.0, leader(3, 0.0));
        unrest.on_leader(900.0, leader(3, 0.0));
        assert!(unrest.is_unsettled(999.0, &PARAMS));
        assert!(!unrest.is_unsettled(1000.0, &PARAMS));
        assert!(!unrest.is_unsettled(999.0, &UnrestParams { settle_time: 0.0, ..PARAMS }));
    }

    #[test]
    fn a_value_below_the_last_moves_is_a_reason_until_it_recovers() {
        let mut unrest = Unrest::default();
        unrest.on_move_start();
        unrest.on_leader(10.0, leader(1, 0.25));
        assert!(!unrest.is_unsettled(10.0, &PARAMS), "nothing to compare with");
        unrest.on_move_start();
        unrest.on_leader(10.0, leader(1, 0.125));
        assert!(unrest.is_unsettled(10.0, &PARAMS));
        assert!(!unrest.is_unsettled(10.0, &UnrestParams { value_drop: 0.0, ..PARAMS }));
        unrest.on_leader(20.0, leader(1, 0.2));
        assert!(!unrest.is_unsettled(20.0, &PARAMS));
        unrest.on_leader(30.0, leader(1, 0.125));
        assert!(unrest.is_unsettled(30.0, &UnrestParams { value_drop: 0.125, ..PARAMS }), "by just as much");
    }

    #[test]
    fn a_search_without_a_visit_keeps_the_value_of_the_one_before() {
        let mut unrest = Unrest::default();
        unrest.on_leader(10.0, leader(1, 0.5));
        unrest.on_move_start();
        unrest.on_move_start();
        unrest.on_leader(10.0, leader(1, 0.0));
        assert!(unrest.is_unsettled(10.0, &PARAMS));
    }

    #[test]
    fn a_contested_lead_is_a_reason() {
        let mut unrest = Unrest::default();
        unrest.on_leader(10.0, Leader { contested: true, ..leader(1, 0.0) });
        assert!(unrest.is_unsettled(10.0, &PARAMS));
        assert!(!unrest.is_unsettled(10.0, &UnrestParams { settle_time: 0.0, ..PARAMS }));
        assert!(!Unrest::default().is_unsettled(10.0, &PARAMS));
    }
}
