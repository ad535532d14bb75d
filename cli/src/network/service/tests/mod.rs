mod faults;

use super::*;
use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::graph::{Activation, Layer, Role, Shape};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A network whose value is its input, and whose policy is twice its input.
fn graph() -> Graph {
    let shape = Shape { channels: 1, squares: 1 };
    let mut graph = Graph::new(shape);
    let layer = |channels: usize| Layer::Dense {
        input: oncilla_opencl::graph::INPUT,
        channels,
        weights: vec![1.0; channels],
        bias: vec![0.0; channels],
        activation: Activation::None,
    };
    let value = graph.push(layer(1)).unwrap();
    let policy = graph.push(layer(2)).unwrap();
    graph.output(Role::Value, value).unwrap();
    graph.output(Role::Policy, policy).unwrap();
    graph
}

/// What the devices of a test have seen and shall do.
#[derive(Default)]
struct Seen {
    batches: Mutex<Vec<usize>>,
    at_work: AtomicUsize,
    most_at_work: AtomicUsize,
    /// No batch is answered while this is set.
    held: AtomicBool,
}

impl Seen {
    fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    fn rows(&self) -> usize {
        self.batches().iter().sum()
    }
}

struct Device {
    graph: Graph,
    seen: Arc<Seen>,
    max_batch: usize,
    leaves_host_free: bool,
    /// Milliseconds for each batch, and for each of its rows.
    times: [f64; 2],
    /// The fault of a call, by its number.
    fault: fn(usize) -> Option<&'static str>,
    calls: usize,
    /// Whether a batch can be abandoned, so that its answer comes when nothing waits for it.
    may_be_left: bool,
}

impl Backend for Device {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn describe(&self) -> String {
        format!("device of {}", self.max_batch)
    }

    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn preferred_batch(&self) -> usize {
        4.min(self.max_batch)
    }

    fn leaves_host_free(&self) -> bool {
        self.leaves_host_free
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        assert!((1..=self.max_batch).contains(&input.len()), "{}", input.len());
        let now = self.seen.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.most_at_work.fetch_max(now, Ordering::SeqCst);
        self.seen.batches.lock().unwrap().push(input.len());
        let [each, row] = self.times;
        thread::sleep(Duration::from_secs_f64((each + row * input.len() as f64) / 1000.0));
        while self.seen.held.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        self.seen.at_work.fetch_sub(1, Ordering::SeqCst);
        outputs.value = input.to_vec();
        outputs.policy = input.iter().flat_map(|&x| [x, x]).collect();
        self.calls += 1;
        match (self.fault)(self.calls) {
            None => Ok(()),
            Some("nonsense") => {
                outputs.policy[0] = f32::NAN;
                Ok(())
            }
            Some("short") => {
                outputs.value.clear();
                Ok(())
            }
            Some("panic") => panic!("as a test"),
            Some(fault) => Err(BackendError(fault.to_string())),
        }
    }

    fn evaluate_unless(
        &mut self,
        input: &[f32],
        outputs: &mut Outputs,
        is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        self.evaluate(input, outputs)?;
        if self.may_be_left && is_late() { Err(BackendError("left".to_string())) } else { Ok(()) }
    }
}

/// A device that never fails.
fn device(seen: &Arc<Seen>, max_batch: usize, times: [f64; 2]) -> Device {
    Device {
        graph: graph(),
        seen: Arc::clone(seen),
        max_batch,
        leaves_host_free: false,
        times,
        fault: |_| None,
        calls: 0,
        may_be_left: false,
    }
}

fn unit(lanes: Vec<Device>) -> Unit {
    Unit::device(lanes.into_iter().map(|lane| Box::new(lane) as Box<dyn Backend>).collect())
}

fn no_host() -> MakeHost {
    Box::new(|| Err("there is no host".to_string()))
}

fn host(seen: &Arc<Seen>) -> MakeHost {
    let seen = Arc::clone(seen);
    Box::new(move || Ok(Unit::host(Box::new(device(&seen, 8, [0.0; 2])), Vec::new())))
}

fn service(units: Vec<Unit>, host: MakeHost) -> Service {
    Service::new(&graph(), units, host)
}

/// Has `rows` evaluated, and checks that each answer is that of its row.
fn ask(service: &Service, request: &Arc<Request>, rows: &[f32]) -> Option<String> {
    request.content().input = rows.to_vec();
    let note = service.run(request, rows.len()).unwrap();
    let content = request.content();
    assert_eq!(content.outputs.value[..rows.len()], *rows);
    let twice: Vec<f32> = rows.iter().flat_map(|&x| [x, x]).collect();
    assert_eq!(content.outputs.policy[..twice.len()], *twice);
    note
}

/// Runs `threads` threads that each ask `times` times for `rows` rows at once. Returns the notes.
fn ask_all(service: &Service, threads: usize, times: usize, rows: usize) -> Vec<String> {
    thread::scope(|scope| {
        let asking: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let request = Arc::default();
                    let own = |time: usize| (0..rows).map(move |row| (thread * 10_000 + time * 100 + row) as f32);
                    (0..times).filter_map(|time| ask(service, &request, &own(time).collect::<Vec<_>>())).collect()
                })
            })
            .collect();
        asking.into_iter().flat_map(|thread| -> Vec<String> { thread.join().unwrap() }).collect()
    })
}

#[test]
fn who_is_alone_is_answered_in_one_batch() {
    let seen = Arc::default();
    let service = service(vec![unit(vec![device(&seen, 8, [0.0; 2])])], no_host());
    assert_eq!(ask_all(&service, 1, 5, 3), [""; 0]);
    assert_eq!(seen.batches(), [3; 5]);
    assert_eq!(service.run(&Arc::default(), 0), Ok(None), "nothing needs no device");
}

/// Asks for `rows` rows and counts how often each chore is done.
fn do_chores(service: &Service, request: &Arc<Request>, rows: usize) -> Vec<usize> {
    request.content().input = vec![1.0; rows];
    let done: Vec<AtomicUsize> = (0..rows).map(|_| AtomicUsize::new(0)).collect();
    let chore = |row: usize| _ = done[row].fetch_add(1, Ordering::SeqCst);
    service.run_with(request, rows, Chores { count: rows, chore: &chore }).unwrap();
    done.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn each_chore_is_done_once_on_devices_and_on_the_host() {
    let seen = Arc::default();
    let lane = |most| Box::new(device(&seen, most, [0.0, 0.1])) as Box<dyn Backend>;
    let host = |narrow: usize| Unit::host(lane(8), (0..narrow).map(|_| lane(8)).collect());
    let failing = || unit(vec![Device { fault: |_| Some("out of order"), ..device(&seen, 8, [0.0; 2]) }]);
    let all: [(Vec<Unit>, MakeHost); 5] = [
        (vec![host(0)], no_host()),
        (vec![host(2)], no_host()),
        (vec![unit(vec![device(&seen, 8, [0.0; 2]), device(&seen, 8, [0.0; 2])])], no_host()),
        (vec![host(2), unit(vec![device(&seen, 8, [0.0; 2])])], no_host()),
        (vec![failing()], self::host(&seen)),
    ];
    for (units, make_host) in all {
        let service = service(units, make_host);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let request = Arc::default();
                    // More rows than a batch takes are evaluated in several, partly by other threads.
                    (1..30).for_each(|rows| assert_eq!(do_chores(&service, &request, rows), vec![1; rows]));
                });
            }
        });
    }
}

/// The host's lane comes back, so that the next search has one.
#[test]
fn a_chore_that_panics_costs_the_host_nothing() {
    let seen = Arc::default();
    let service = service(vec![Unit::host(Box::new(device(&seen, 8, [0.0; 2])), vec![])], no_host());
    let request: Arc<Request> = Arc::default();
    request.content().input = vec![1.0; 2];
    let chores = Chores { count: 2, chore: &|row| assert!(row == 0, "as a test") };
    let run = AssertUnwindSafe(|| service.run_with(&request, 2, chores));
    assert!(catch_unwind(run).is_err());
    assert_eq!(do_chores(&service, &Arc::default(), 2), [1; 2]);
}

#[test]
fn what_came_while_a_batch_was_on_its_way_is_the_next_one() {
    let seen: Arc<Seen> = Arc::default();
    let service = service(vec![unit(vec![device(&seen, 64, [0.0; 2])])], no_host());
    seen.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let service = &service;
        let one = move |row: f32| move || ask(service, &Arc::default(), &[row]);
        scope.spawn(one(0.0));
        while seen.batches().is_empty() {
            thread::yield_now();
        }
        (1..10).for_each(|row| drop(scope.spawn(one(row as f32))));
        while service.shared.lock().queue.len() < 9 {
            thread::yield_now();
        }
        seen.held.store(false, Ordering::SeqCst);
    });
    assert_eq!(seen.batches(), [1, 9]);
    assert_eq!(service.batches(), 2);
}

#[test]
fn a_second_batch_goes_behind_the_first_when_it_is_as_large() {
    let seen: Arc<Seen> = Arc::default();
    let lanes = vec![device(&seen, 64, [0.0; 2]), device(&seen, 64, [0.0; 2])];
    let service = service(vec![unit(lanes)], no_host());
    seen.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let service = &service;
        let ask_rows = move |rows: usize| move || ask(service, &Arc::default(), &vec![1.0; rows]);
        scope.spawn(ask_rows(3));
        while seen.batches().is_empty() {
            thread::yield_now();
        }
        scope.spawn(ask_rows(2));
        while service.shared.lock().queue.is_empty() {
            thread::yield_now();
        }
        assert_eq!(seen.batches(), [3], "two rows are too few to go behind three");
        scope.spawn(ask_rows(1));
        while seen.batches().len() < 2 {
            thread::yield_now();
        }
        assert_eq!(seen.batches(), [3, 3]);
        seen.held.store(false, Ordering::SeqCst);
    });
    assert_eq!(seen.most_at_work.load(Ordering::SeqCst), 2);
}

#[test]
fn everybody_is_answered_whatever_the_sizes() {
    for (lanes, max_batch, threads, rows) in [(1, 1, 4, 1), (1, 3, 4, 7), (2, 3, 1, 16), (2, 5, 6, 2), (3, 2, 3, 9)] {
        let seen = Arc::default();
        let unit = unit((0..lanes).map(|_| device(&seen, max_batch, [0.05, 0.01])).collect());
        let service = service(vec![unit], no_host());
        assert_eq!(ask_all(&service, threads, 40, rows), [""; 0]);
        assert_eq!(seen.rows(), threads * 40 * rows);
        assert!(seen.most_at_work.load(Ordering::SeqCst) <= lanes);
        assert_eq!(service.batches(), seen.batches().len() as u64);
        let state = service.shared.lock();
        assert!(state.queue.is_empty() && state.helpers.len() < lanes.max(1));
    }
}

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

/// Rows that a larger batch makes no faster go in smaller ones, but not where batches are measured.
#[test]
fn batches_are_kept_whole_for_who_measures_them() {
    let batches = |keeps: bool| {
        let seen = Arc::default();
        let mut unit = unit(vec![device(&seen, 64, [0.0; 2]), device(&seen, 64, [0.0; 2])]);
        [1, 8, 32].into_iter().for_each(|rows| unit.learn(rows, rows as f64));
        let service = service(vec![unit], no_host());
        if keeps {
            service.keep_batches();
        }
        assert_eq!(ask_all(&service, 1, 2, 50), [""; 0]);
        seen.batches()
    };
    assert_eq!(batches(true), [50; 2]);
    assert!(batches(false).len() > 2);
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

/// An owner that carries other rows meanwhile cannot be called: whoever waits is.
#[test]
fn only_who_waits_is_called() {
    let [busy, waiting]: [Arc<Request>; 2] = Default::default();
    waiting.set_waits(true);
    let mut state = State::new(Vec::new());
    let part = |request: &Arc<Request>| Part { request: Arc::clone(request), rows: 0..1 };
    state.put_back(vec![part(&busy), part(&waiting)]);
    assert!(state.call_owner());
    assert!(!waiting.call_owner(), "it has been called");
    assert!(!state.call_owner(), "nobody is left");
}

#[test]
fn on_the_host_requests_that_meet_have_a_core_each() {
    let [wide, narrow]: [Arc<Seen>; 2] = Default::default();
    let lane = |seen| Box::new(device(seen, 64, [0.0; 2])) as Box<dyn Backend>;
    let service = service(vec![Unit::host(lane(&wide), vec![lane(&narrow), lane(&narrow)])], no_host());
    assert_eq!(service.facts().searches, 2);
    ask_all(&service, 1, 10, 2);
    assert_eq!((wide.batches(), narrow.rows()), (vec![2; 10], 0), "one that is alone has all cores");
    wide.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| ask(&service, &Arc::default(), &[1.0]));
        while wide.batches().len() < 11 {
            thread::yield_now();
        }
        assert_eq!(ask(&service, &Arc::default(), &[1.0, 2.0]), None);
        assert_eq!(narrow.batches(), [2], "it does not wait for the one that has all cores");
        wide.held.store(false, Ordering::SeqCst);
    });
    ask_all(&service, 1, 20, 1);
    assert_eq!([narrow.batches().len(), wide.batches().len()], [1 + 8, 11 + 12], "and in the end it has them again");
    ask_all(&service, 5, 50, 3);
    assert!(narrow.most_at_work.load(Ordering::SeqCst) <= 2 && wide.most_at_work.load(Ordering::SeqCst) == 1);
}

#[test]
fn every_failure_is_made_good_by_the_host_and_said_once() {
    let faults: [fn(usize) -> Option<&'static str>; 3] = [
        |call| (call % 3 == 0).then_some("out of order"),
        |call| (call % 2 == 0).then_some("nonsense"),
        |call| (call % 3 == 0).then_some("short"),
    ];
    for fault in faults {
        for lanes in [1, 2] {
            let [seen, spare]: [Arc<Seen>; 2] = Default::default();
            let lanes = (0..lanes).map(|_| Device { fault, ..device(&seen, 3, [0.05, 0.0]) }).collect();
            let service = service(vec![unit(lanes)], host(&spare));
            let notes = ask_all(&service, 4, 40, 5);
            // Two lanes may fail three times in a row together.
            assert!((1..=2).contains(&notes.len()), "{notes:?}");
            assert!(notes.iter().any(|note| note.ends_with("; the host evaluates the batch")), "{notes:?}");
            assert!(spare.rows() > 0);
        }
    }
}

/// Beside a lane that answers, it would send every second batch to the host forever.
#[test]
fn a_lane_that_fails_again_and_again_is_left_out_and_that_is_said() {
    let [good, bad, spare]: [Arc<Seen>; 3] = Default::default();
    let hangs: fn(usize) -> Option<&'static str> = |call| (call > 2).then_some("no answer");
    let lanes = vec![device(&good, 3, [0.05, 0.0]), Device { fault: hangs, ..device(&bad, 3, [0.05, 0.0]) }];
    let service = service(vec![unit(lanes)], host(&spare));
    // This goes on until the one lane is left out.
    let mut notes = Vec::new();
    for _ in 0..100 {
        notes.extend(ask_all(&service, 4, 40, 5));
        if bad.batches().len() == 2 + unit::FAILURES as usize {
            break;
        }
    }
    assert!(notes.iter().any(|note| note == "no answer; the device goes on with fewer batches at a time"), "{notes:?}");
    assert_eq!(bad.batches().len(), 2 + unit::FAILURES as usize);
    let (of_good, of_spare) = (good.rows(), spare.rows());
    assert_eq!(ask_all(&service, 4, 40, 5), Vec::<String>::new());
    assert_eq!((bad.batches().len(), spare.rows()), (2 + unit::FAILURES as usize, of_spare));
    assert!(good.rows() > of_good);
}

/// Whoever it failed had no time for an answer, and hears nothing of it.
#[test]
fn a_lane_that_is_left_out_is_said_even_if_every_request_was_late() {
    let [good, bad]: [Arc<Seen>; 2] = Default::default();
    let fails: fn(usize) -> Option<&'static str> = |_| Some("no answer");
    let lanes = vec![device(&good, 3, [0.05, 0.0]), Device { fault: fails, ..device(&bad, 3, [0.05, 0.0]) }];
    let service = &service(vec![unit(lanes)], no_host());
    let late = || {
        let request = Arc::new(Request::unless(Box::new(|| true)));
        request.content().input = vec![1.0; 5];
        service.run(&request, 5).ok().flatten()
    };
    let mut news = Vec::new();
    for _ in 0..1000 {
        // A request that the good lane has answered may be told.
        let told: Vec<_> = thread::scope(|scope| {
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(late)).collect();
            asking.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        news.extend(told.into_iter().chain(service.take_news()));
        if !news.is_empty() {
            break;
        }
    }
    assert_eq!(news, ["no answer; the device goes on with fewer batches at a time"]);
}

#[test]
fn a_search_has_a_thread_for_each_batch_that_a_gpu_may_have() {
    let seen: Arc<Seen> = Arc::default();
    let gpu = || Device { leaves_host_free: true, ..device(&seen, 8, [0.1, 0.1]) };
    let threads = |units| service(units, no_host()).facts().threads;
    assert_eq!(
        threads(vec![unit(vec![device(&seen, 8, [0.1, 0.1])])]),
        1,
        "the search's thread is a core of the device"
    );
    assert_eq!(threads(vec![unit(vec![gpu(), gpu()])]), 2);
    assert_eq!(threads(vec![unit(vec![gpu(), gpu()]), unit(vec![gpu()])]), 3);
    let host = Unit::host(Box::new(device(&seen, 8, [0.1, 0.1])), Vec::new());
    assert_eq!(threads(vec![unit(vec![gpu(), gpu()]), host]), 2);
}

#[test]
fn a_lost_device_gives_way_to_the_others_and_in_the_end_to_the_host() {
    let [first, second, spare]: [Arc<Seen>; 3] = Default::default();
    let lost: fn(usize) -> Option<&'static str> = |call| (call > 4).then_some("lost");
    let lost_later: fn(usize) -> Option<&'static str> = |call| (call > 40).then_some("lost too");
    let units = vec![
        unit(vec![Device { fault: lost, ..device(&first, 3, [0.1, 0.1]) }]),
        unit(vec![Device { fault: lost_later, ..device(&second, 3, [0.1, 0.1]) }]),
    ];
    let service = service(units, host(&spare));
    let notes = ask_all(&service, 3, 100, 4);
    let ends: Vec<&str> = notes.iter().filter_map(|note| note.split_once("; ")).map(|(_, end)| end).collect();
    assert_eq!(ends.iter().filter(|end| **end == "the host takes over").count(), 1, "{notes:?}");
    assert!(ends.contains(&"the other devices go on") && ends.len() <= 3, "{notes:?}");
    assert_eq!(service.facts().describe, "device of 8");
}

#[test]
fn without_a_host_a_failure_is_an_error_for_each_who_waits() {
    let seen = Arc::default();
    let broken = Device { fault: |_| Some("broken"), ..device(&seen, 8, [0.1, 0.0]) };
    let service = service(vec![unit(vec![broken])], no_host());
    let failed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let request: Arc<Request> = Arc::default();
                request.content().input = vec![1.0; 2];
                let error = service.run(&request, 2).unwrap_err();
                assert_eq!(error, "there is no host");
                failed.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(failed.load(Ordering::SeqCst), 4);
}

#[test]
fn a_panic_ends_who_carried_and_nobody_else() {
    for lanes in [1, 2] {
        let seen = Arc::default();
        let lanes = (0..lanes)
            .map(|_| Device { fault: |call| (call == 7).then_some("panic"), ..device(&seen, 4, [0.1, 0.0]) })
            .collect();
        let service = service(vec![unit(lanes)], no_host());
        let ended = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let request = Arc::default();
                    for _ in 0..30 {
                        let asked = catch_unwind(AssertUnwindSafe(|| ask(&service, &request, &[1.0, 2.0])));
                        ended.fetch_add(usize::from(asked.is_err()), Ordering::SeqCst);
                    }
                });
            }
        });
        // A helper that panics takes the threads along whose rows it carried.
        assert!((1..=4).contains(&ended.load(Ordering::SeqCst)));
        assert!(service.shared.lock().queue.is_empty());
    }
}

/// Has each of `rows` evaluated by a thread of its own, one after the other while the first batch is on its way, which
/// `seen` holds back until all of them wait. Requests for a negative row are late. Returns the result for each row.
fn ask_behind_the_first(service: &Service, seen: &Seen, rows: &[f32]) -> Vec<Result<f32, String>> {
    seen.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let ask = |row: f32| {
            move || {
                let request = Arc::new(Request::unless(Box::new(move || row < 0.0)));
                request.content().input = vec![row];
                service.run(&request, 1).map(|_| request.content().outputs.value[0])
            }
        };
        let mut asking = Vec::new();
        for (at, &row) in rows.iter().enumerate() {
            asking.push(scope.spawn(ask(row)));
            while seen.batches().is_empty() || service.shared.lock().queue.len() < at {
                thread::yield_now();
            }
        }
        seen.held.store(false, Ordering::SeqCst);
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn what_the_stand_in_can_not_answer_costs_nobody_else_an_answer() {
    // The first batch has one row. Of the second batch, which has four rows, the host's second call is its third in
    // all.
    let faults: [fn(usize) -> Option<&'static str>; 2] =
        [|call| (call == 3).then_some("short"), |call| (call == 3).then_some("panic")];
    let expected = ["an output of the network (Value) is missing", "internal error: as a test"];
    for (fault, expected) in faults.into_iter().zip(expected) {
        let [seen, spare]: [Arc<Seen>; 2] = Default::default();
        let broken = Device { fault: |call| (call < 3).then_some("broken"), ..device(&seen, 8, [0.0; 2]) };
        let host: MakeHost =
            Box::new(move || Ok(Unit::host(Box::new(Device { fault, ..device(&spare, 8, [0.0; 2]) }), Vec::new())));
        let service = service(vec![unit(vec![broken])], host);
        let found = ask_behind_the_first(&service, &seen, &[0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(seen.batches(), [1, 4]);
        let failed: Vec<&String> = found.iter().filter_map(|found| found.as_ref().err()).collect();
        assert_eq!(failed.len(), 1, "{found:?}");
        assert_eq!(failed[0], expected);
        for (row, found) in found.iter().enumerate() {
            assert!(found.as_ref().is_err() || *found == Ok(row as f32), "{found:?}");
        }
        assert_eq!(ask(&service, &Arc::default(), &[1.0, 2.0]), None, "it goes on");
    }
}

/// A request that is late has no time for the host.
#[test]
fn who_is_late_is_told_of_a_failure_and_the_host_answers_the_others() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let broken = Device { fault: |call| (call == 2).then_some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let service = service(vec![unit(vec![broken])], host(&spare));
    let found = ask_behind_the_first(&service, &seen, &[-1.0, 2.0, -3.0, 4.0]);
    assert_eq!(seen.batches(), [1, 3]);
    assert_eq!(found, [Ok(-1.0), Ok(2.0), Err("broken".to_string()), Ok(4.0)]);
    assert_eq!(spare.rows(), 2);
    assert_eq!(ask(&service, &Arc::default(), &[1.0, 2.0]), None, "it goes on");
}

#[test]
fn a_host_that_panics_when_it_is_made_keeps_nobody_waiting() {
    // The first batches are to be made good by the host; with the third, the device is given up.
    let seen: Arc<Seen> = Arc::default();
    let broken = Device { fault: |_| Some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let service = service(vec![unit(vec![broken])], Box::new(|| panic!("as a test")));
    for _ in 0..2 {
        let found = ask_behind_the_first(&service, &seen, &[0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found, vec![Err("internal error: as a test".to_string()); 5]);
        seen.batches.lock().unwrap().clear();
    }
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

#[test]
fn who_carries_takes_its_own_first_and_on_the_host_nothing_else() {
    let seen: Arc<Seen> = Arc::default();
    let [a, b]: [Arc<Request>; 2] = Default::default();
    let load = |unit: Unit| {
        let mut state = State::new(vec![unit]);
        for request in [&a, &b] {
            state.queue.push_back(Entry { request: Arc::clone(request), rows: 0..1 });
        }
        let load = state.load(Some(&b)).unwrap();
        assert!(Arc::ptr_eq(&load.parts[0].request, &b));
        load.parts.len()
    };
    assert_eq!(load(unit(vec![device(&seen, 8, [0.0; 2])])), 2);
    assert_eq!(load(Unit::host(Box::new(device(&seen, 8, [0.0; 2])), Vec::new())), 1);
}

#[test]
fn a_device_is_lost_after_so_many_failures_in_a_row() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let broken = Device { fault: |_| Some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let service = service(vec![unit(vec![broken])], host(&spare));
    (0..5).for_each(|row| drop(ask(&service, &Arc::default(), &[row as f32])));
    assert_eq!(seen.rows(), unit::FAILURES as usize);
}

/// Making a host takes as long as laying out its weights.
#[test]
fn while_a_host_is_made_the_queue_is_open() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let broken = Device { fault: |_| Some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let (held, asked) = (Arc::clone(&spare), Arc::new(AtomicUsize::new(0)));
    let make: MakeHost = {
        let asked = Arc::clone(&asked);
        Box::new(move || {
            // There is no host for the batches that are to be made good: the batch with which the device is given up
            // makes it.
            if asked.fetch_add(1, Ordering::SeqCst) + 1 < unit::FAILURES as usize {
                return Err("no host yet".to_string());
            }
            while held.held.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(Unit::host(Box::new(device(&held, 8, [0.0; 2])), Vec::new()))
        })
    };
    let service = &service(vec![unit(vec![broken])], make);
    for _ in 1..unit::FAILURES {
        let request = Arc::<Request>::default();
        request.content().input = vec![1.0];
        assert_eq!(service.run(&request, 1), Err("no host yet".to_string()));
    }
    spare.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let last = scope.spawn(|| ask(service, &Arc::default(), &[7.0]));
        while asked.load(Ordering::SeqCst) < unit::FAILURES as usize {
            thread::yield_now();
        }
        let (answer, answered) = std::sync::mpsc::channel();
        scope.spawn(move || answer.send(service.batches()));
        let batches = answered.recv_timeout(Duration::from_secs(60));
        spare.held.store(false, Ordering::SeqCst);
        assert_eq!(batches, Ok(u64::from(unit::FAILURES)));
        assert_eq!(last.join().unwrap(), Some("broken; the host takes over".to_string()));
    });
}

/// The host takes the rows of one request at a time, so a thread that carries its own has to call the other.
#[test]
fn the_rows_of_several_that_a_lost_device_leaves_are_answered() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let lost = Device { fault: |_| Some("lost"), ..device(&seen, 8, [20.0, 0.0]) };
    let service = service(vec![unit(vec![lost])], host(&spare));
    ask(&service, &Arc::default(), &[1.0]);
    seen.batches.lock().unwrap().clear();
    assert_eq!(ask_behind_the_first(&service, &seen, &[1.0, 2.0, 3.0]), [Ok(1.0), Ok(2.0), Ok(3.0)]);
    assert_eq!(seen.batches(), [1, 2]);
}

#[test]
fn a_failure_that_only_the_late_met_is_not_the_first_that_is_told() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let broken = Device { fault: |call| (call < 3).then_some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let service = service(vec![unit(vec![broken])], host(&spare));
    assert_eq!(ask_behind_the_first(&service, &seen, &[-1.0]), [Err("broken".to_string())]);
    assert_eq!(ask(&service, &Arc::default(), &[1.0]), Some("broken; the host evaluates the batch".to_string()));
}

/// Nobody reads what comes of a request that is late.
#[test]
fn what_becomes_of_a_device_is_told_by_the_next_who_is_answered() {
    let [seen, spare]: [Arc<Seen>; 2] = Default::default();
    let broken = Device { fault: |_| Some("broken"), ..device(&seen, 8, [0.0; 2]) };
    let service = service(vec![unit(vec![broken])], host(&spare));
    for _ in 0..unit::FAILURES {
        assert_eq!(ask_behind_the_first(&service, &seen, &[-1.0]), [Err("broken".to_string())]);
    }
    assert_eq!(ask(&service, &Arc::default(), &[1.0]), Some("broken; the host takes over".to_string()));
    assert_eq!(service.take_news(), Vec::<String>::new());
}

#[test]
fn a_batch_is_left_where_all_of_it_are_late() {
    let seen: Arc<Seen> = Arc::default();
    let service = service(vec![unit(vec![Device { may_be_left: true, ..device(&seen, 8, [0.0; 2]) }])], no_host());
    assert_eq!(ask_behind_the_first(&service, &seen, &[1.0, -2.0, 3.0]), [Ok(1.0), Ok(-2.0), Ok(3.0)]);
    seen.batches.lock().unwrap().clear();
    let left = || Err("left".to_string());
    assert_eq!(ask_behind_the_first(&service, &seen, &[1.0, -2.0, -3.0]), [Ok(1.0), left(), left()]);
}

#[test]
fn a_device_answers_in_numbers_where_a_search_needs_them() {
    let seen: Arc<Seen> = Arc::default();
    let boxed = || Box::new(device(&seen, 8, [0.0; 2]));
    let [mut device, mut host] = [Unit::device(vec![boxed()]), Unit::host(boxed(), Vec::new())];
    let needed = |unit: &mut Unit| [Role::Value, Role::MovesLeft].map(|role| unit.widest().must_be_numbers(role));
    assert_eq!([needed(&mut device), needed(&mut host)], [[true, false], [false, false]]);
}
