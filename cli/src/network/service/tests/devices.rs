//! Several devices, which share the rows by their speed.

use super::*;

#[test]
fn of_several_devices_each_gets_what_it_can_do_in_the_time_of_the_others() {
    let seen = Arc::default();
    let learned = |each: f64, row: f64| {
        let mut unit = unit(vec![device(&seen, 64, [0.0; 2])]);
        [1, 8, 32].into_iter().for_each(|rows| unit.learn(rows, each + row * rows as f64));
        unit
    };
    let shares = |paces: [(f64, f64); 2], rows: usize| {
        let mut state = State::new(paces.map(|(each, row)| learned(each, row)).into());
        let request: Arc<Request> = Arc::default();
        request.begin(rows);
        state.queue.push_back(Entry { request, rows: 0..rows });
        let mut got = [0; 2];
        while let Some(load) = state.load(None) {
            got[load.unit] = load.rows;
        }
        (got, state.waiting().rows)
    };
    assert_eq!(shares([(8.0, 1.0), (8.0, 4.0)], 22), ([18, 4], 0));
    assert_eq!(shares([(8.0, 4.0), (8.0, 1.0)], 22), ([4, 18], 0));
    assert_eq!(shares([(8.0, 2.0), (8.0, 2.0)], 6), ([3, 3], 0));
    // A unit that would need longer for a single row than the other one for all of them gets none.
    assert_eq!(shares([(8.0, 1.0), (50.0, 1.0)], 20), ([20, 0], 0));
}

/// Before a search, the first batch of a device may be slow by chance: the device would then get nothing forever.
#[test]
fn a_device_whose_first_batch_is_slow_gets_its_share() {
    struct SlowAtFirst(Device);
    impl Backend for SlowAtFirst {
        fn graph(&self) -> &Graph {
            self.0.graph()
        }

        fn describe(&self) -> String {
            self.0.describe()
        }

        fn max_batch(&self) -> usize {
            self.0.max_batch()
        }

        fn preferred_batch(&self) -> usize {
            self.0.preferred_batch()
        }

        fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
            self.0.times = [if self.0.calls == 0 { 2000.0 } else { 20.0 }, 0.0];
            self.0.evaluate(input, outputs)
        }
    }
    let mut unit = Unit::device(vec![Box::new(SlowAtFirst(device(&Arc::default(), 4, [0.0; 2])))]);
    unit.measure();
    let expected = unit.done_in(1, Instant::now());
    assert!((0.02..1.0).contains(&expected), "{expected}");
}

#[test]
fn several_devices_work_at_once() {
    let [first, second]: [Arc<Seen>; 2] = Default::default();
    let units = vec![unit(vec![device(&first, 4, [0.1; 2])]), unit(vec![device(&second, 4, [0.1; 2])])];
    let service = service(units, no_host());
    ask_all(&service, 1, 20, 20);
    ask_all(&service, 8, 20, 3);
    assert!(first.rows() > 20 && second.rows() > 20, "{} and {}", first.rows(), second.rows());
    assert_eq!(service.facts().describe, "device of 4; device of 4");
    assert_eq!((service.facts().max_batch, service.facts().preferred_batch), (8, 8));
}

/// However many devices there are, the rows of one request are on all of them before the first one answers.
#[test]
fn a_large_request_keeps_every_device_at_work() {
    let seen: [Arc<Seen>; 4] = Default::default();
    let units = seen.iter().map(|seen| unit(vec![device(seen, 4, [0.1; 2])])).collect();
    let service = &service(units, no_host());
    seen.iter().for_each(|seen| seen.batches.lock().unwrap().clear());
    seen.iter().for_each(|seen| seen.held.store(true, Ordering::SeqCst));
    thread::scope(|scope| {
        scope.spawn(|| ask(service, &Arc::default(), &[1.0; 16]));
        let begun = Instant::now();
        while seen.iter().any(|seen| seen.rows() == 0) && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        let rows = seen.each_ref().map(|seen| seen.rows());
        seen.iter().for_each(|seen| seen.held.store(false, Ordering::SeqCst));
        assert!(!rows.contains(&0), "{rows:?}");
    });
}

/// A device with a batch that came due long ago may never answer.
#[test]
fn an_overdue_device_keeps_no_row_from_an_idle_one() {
    let seen = Arc::default();
    let learned = |seconds: f64| {
        let mut unit = unit(vec![device(&seen, 8, [0.0; 2])]);
        unit.learn(1, seconds);
        unit
    };
    let mut state = State::new(vec![learned(0.001), learned(0.005)]);
    let mut load_one = || {
        let request: Arc<Request> = Arc::default();
        request.begin(1);
        state.queue.push_back(Entry { request, rows: 0..1 });
        state.load(None).map(|load| load.unit)
    };
    assert_eq!(load_one(), Some(0), "the faster one");
    thread::sleep(Duration::from_millis(30));
    assert_eq!(load_one(), Some(1), "what the first has is overdue");
}

/// A device that was slow for a while, because of a game beside it or a clock that was low, isn't left out for good.
#[test]
fn a_device_that_was_slow_gets_rows_again_in_the_end() {
    let [steady, slow]: [Arc<Seen>; 2] = Default::default();
    let mut units = vec![unit(vec![device(&steady, 8, [1.0, 0.0])]), unit(vec![device(&slow, 8, [0.0; 2])])];
    units[0].learn(1, 0.001);
    [0.0001].into_iter().chain([0.01; 10]).for_each(|seconds| units[1].learn(1, seconds));
    let service = service(Vec::new(), no_host());
    service.shared.lock().units = units;
    let request = Arc::default();
    let mut asked = 0;
    while slow.rows() < 10 && asked < 10_000 {
        ask(&service, &request, &[asked as f32]);
        asked += 1;
    }
    assert!(slow.rows() >= 10, "of {asked}");
}

/// The row waits because the first device should have been quicker, and nothing wakes it when that device is overdue.
#[test]
fn a_row_that_waits_for_an_overdue_device_goes_to_an_idle_one() {
    let [fast, slow]: [Arc<Seen>; 2] = Default::default();
    let mut units = vec![unit(vec![device(&fast, 8, [0.0; 2])]), unit(vec![device(&slow, 8, [0.0; 2])])];
    let service = service(Vec::new(), no_host());
    units[0].learn(1, 0.1);
    units[1].learn(1, 0.4);
    service.shared.lock().units = units;
    fast.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let service = &service;
        scope.spawn(|| ask(service, &Arc::default(), &[1.0]));
        while fast.batches().is_empty() {
            thread::yield_now();
        }
        let second = scope.spawn(|| ask(service, &Arc::default(), &[2.0]));
        let begun = Instant::now();
        while !second.is_finished() && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        let was_answered = second.is_finished();
        fast.held.store(false, Ordering::SeqCst);
        assert!(was_answered, "it waits for the first");
    });
    assert_eq!((fast.rows(), slow.rows()), (1, 1));
}
