//! Playouts that are gathered together.

use super::*;
use quickcheck::QuickCheck;

/// Every event meets what it would meet if each were gathered after the one before, and takes the same edges.
#[test]
fn playouts_together_go_where_they_would_go_one_after_the_other() {
    fn holds(seed: u64, size: u8) -> bool {
        let mut game = RandomGame::of(seed);
        let size = 1 + usize::from(size) % 40;
        // A graph would differ: there a playout that is ahead may be the first at a node that another one reaches on a
        // shorter way.
        on_both!(3000, 150_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 100);
            let mut batch = Batch::new(size);
            batch.gather(search);
            let alone = (shape(search), ways(&batch.events));
            batch.events.iter_mut().for_each(|event| search.cancel(event));

            let mut batch = Batch::new(size);
            search.gather_together(&mut batch.events);
            assert_eq!(alone, (shape(search), ways(&batch.events)));
            batch.events.iter_mut().for_each(|event| search.cancel(event));
            audit(search, &Audit::drained(game));
        });
        true
    }
    QuickCheck::new().tests(100).quickcheck(holds as fn(u64, u8) -> bool);
}

/// What the events met, and the edges that they took on the way.
fn ways(events: &[TestEvent]) -> List<(Gathered, List<u16>)> {
    events.iter().map(|event| (event.met(), event.path.iter().map(|step| step.at).collect())).collect()
}
