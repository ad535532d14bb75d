//! Who is answered in which batch, by whose thread.

use super::*;

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
