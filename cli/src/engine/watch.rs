//! The watchdog: reports how a search stands, and sees when it is over.

use super::control::Control;
use super::crew::Crew;
use super::limits::Go;
use super::report::Observer;
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::tally::Tally;
use super::timing::{MoveTime, TimeManager, has_answer};
use std::time::{Duration, Instant};

/// Playouts go on for this long between two looks at the search, or for a batch if that takes longer.
const LOOK_TIME: Duration = Duration::from_millis(1);

/// What the watchdog of one search looks at.
pub struct Watch<'w, 's, 'm> {
    pub go: &'w Go,
    pub control: &'w Control,
    pub manager: &'w mut TimeManager,
    pub tally: &'w mut Tally,
    pub shared: &'w Shared<'s, 'm>,
    pub crew: Crew,
}

impl Watch<'_, '_, '_> {
    /// Runs until the search is over.
    pub fn run(mut self, time: &mut MoveTime, snapshot: &mut Snapshot, observer: &mut dyn Observer) {
        let mut waits = false;
        loop {
            let ponder_hit = self.control.ponder_hit_at();
            let counts = self.shared.counts();
            let search = self.shared.search();
            time.start_if_due(self.manager, ponder_hit, search.visits(), &counts);
            let told = self.control.should_stop();
            let over = time.is_over(self.manager, &search, &counts);
            time.looked(counts.playouts);
            // For a move that is pondered, the limit of visits counts already, but the clock does not run yet.
            let has_answer = has_answer(&search);
            let reached = (over && has_answer) || time.playouts_wanted(&search, &counts) == 0;
            let halted = self.shared.is_halted();
            let ends = (told && (halted || has_answer)) || ((reached || halted) && time.may_end());
            if has_answer {
                self.control.answer_by(if ends { Some(Instant::now()) } else { time.due() });
            }
            if ends {
                return;
            }
            if halted || reached {
                // What was found last may not have been news, such as a proof.
                let news = snapshot.while_it_waits(&search, &counts, std::mem::replace(&mut waits, true));
                drop(search);
                self.shared.take_notes().iter().for_each(|note| observer.note(note));
                news.iter().for_each(|info| observer.info(info));
                self.control.wait_for_wish(ponder_hit);
                continue;
            }
            drop(search);
            waits = false;
            self.search_on(time);
            self.tally.record(&self.shared.take_fresh());
            self.shared.take_notes().iter().for_each(|note| observer.note(note));
            let counts = self.shared.counts();
            let search = self.shared.search();
            let news = snapshot.after_batch(&search, &counts);
            observer.look(&search, false);
            if time.may_judge(counts.playouts) && time.is_pointless(&search, self.go) {
                self.shared.halt(None);
            }
            // A client that doesn't read blocks the thread that reports to it; that must not block threads that want to
            // fold the tree.
            drop(search);
            news.iter().for_each(|info| observer.info(info));
        }
    }

    /// Lets playouts happen until it is time to look again.
    fn search_on(&mut self, time: &MoveTime) {
        let begun = Instant::now();
        loop {
            let counts = self.shared.counts();
            let due = time.playouts_due(&counts);
            if due == 0 {
                self.shared.wait(LOOK_TIME);
                return;
            }
            let wanted = time.playouts_wanted(&self.shared.search(), &counts).min(due);
            if let Err(fault) = self.crew.advance(self.shared, wanted) {
                self.shared.halt(Some(fault));
            }
            let counts = self.shared.counts();
            let enough = time.is_look_due(counts.playouts) || begun.elapsed() >= LOOK_TIME;
            if enough || self.shared.is_halted() || time.playouts_wanted(&self.shared.search(), &counts) == 0 {
                return;
            }
        }
    }
}
