//! Devices that fail, and requests that are late.

use super::*;

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
