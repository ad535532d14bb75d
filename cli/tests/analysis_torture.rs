//! Runs `oncilla analysis` with little memory and ten thousand queries in the queue, a thousand of them broken, and
//! with `terminate` actions in between: no answer is lost or comes twice.

#![cfg(unix)]

mod driver;
#[path = "orders/random.rs"]
mod random;
mod requests;

use driver::program;
use oncilla_testing::say;
use random::Random;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// The number of requests.
const REQUESTS: usize = 10_000;

/// One request in this many is broken.
const BROKEN: usize = 10;

/// One request in this many has a search that would never end by itself.
const ENDLESS: usize = 100;

/// The limit of the process's writable memory, in KiB, as for `ulimit -d`.
const MEMORY_KIB: u64 = 300_000;

/// A number of queries that is far beyond the size of the queue.
const MANY: usize = 20_000;

/// A game that can be repeated without end.
const GAME: [&str; 8] = ["g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1", "c6b8"];

/// The input, and the expected answers.
#[derive(Default)]
struct Conversation {
    input: Vec<u8>,
    /// The expected number of lines of each kind: a final line of an id and a turn, an error of an id, an echo of an
    /// id.
    expected: HashMap<String, usize>,
}

impl Conversation {
    fn send(&mut self, line: &[u8]) {
        self.input.extend_from_slice(line);
        self.input.push(b'\n');
    }

    fn expect(&mut self, kind: String) {
        *self.expected.entry(kind).or_default() += 1;
    }

    fn act(&mut self, request: &Value) {
        self.send(request.to_string().as_bytes());
        self.expect(format!("echo {}", request["id"].as_str().unwrap()));
    }

    fn broken(&mut self, number: usize, way: usize, bad: &[(Value, &str)]) {
        let id = format!("b{number}");
        let (line, is_named) = match bad.get(way % (bad.len() + requests::NO_REQUESTS.len())) {
            Some((query, _)) => {
                let mut query = query.clone();
                query["id"] = json!(id);
                (query.to_string().into_bytes(), true)
            }
            None => {
                let (line, is_named) =
                    requests::NO_REQUESTS[way % (bad.len() + requests::NO_REQUESTS.len()) - bad.len()];
                let at = line.windows(2).position(|two| two == b"ID");
                let filled = at.map(|at| [&line[..at], id.as_bytes(), &line[at + 2..]].concat());
                (filled.unwrap_or_else(|| line.to_vec()), is_named)
            }
        };
        self.send(&line);
        self.expect(if is_named { format!("error {id}") } else { "error".to_string() });
    }

    fn query(&mut self, number: usize, random: &mut Random) {
        let id = format!("q{number}");
        let plies = random.index(40);
        let turns: std::collections::BTreeSet<usize> = (0..=random.index(3)).map(|_| random.index(plies + 1)).collect();
        let is_endless = number % ENDLESS == ENDLESS / 2;
        let visits = if is_endless { 1 << 50 } else { 1 + random.index(20) as u64 };
        let moves: Vec<&str> = GAME.into_iter().cycle().take(plies).collect();
        let query = json!({
            "id": id, "moves": moves, "analyzeTurns": turns, "maxVisits": visits, "priority": random.index(5) as i64 - 2,
            "includePolicy": number.is_multiple_of(7),
        });
        self.send(query.to_string().as_bytes());
        for turn in turns {
            self.expect(format!("final {id} {turn}"));
        }
        if is_endless {
            self.act(&json!({ "id": format!("t{number}"), "action": "terminate", "terminateId": id }));
        }
    }
}

fn conversation() -> Conversation {
    let mut all = Conversation::default();
    let mut random = Random::new(6);
    let bad = requests::bad_queries();
    assert!(bad.len() + requests::NO_REQUESTS.len() >= 50, "ways to be broken");
    for number in 0..REQUESTS {
        if number % BROKEN == BROKEN - 1 {
            all.broken(number, number / BROKEN, &bad);
        } else {
            all.query(number, &mut random);
        }
        if number % 25 == 24 {
            let whom = format!("q{}", number - random.index(20));
            let mut request = json!({ "id": format!("t{number}"), "action": "terminate", "terminateId": whom });
            if number.is_multiple_of(2) {
                request["turnNumbers"] = json!([random.index(10), random.index(40)]);
            }
            all.act(&request);
        }
        if number % 1000 == 998 {
            all.act(&json!({ "id": format!("a{number}"), "action": "terminate_all", "turnNumbers": [3, 5, 8] }));
        }
    }
    all.act(&json!({ "id": "stats", "action": "stats" }));
    all
}

/// The kind of a line, as a key of [`Conversation::expected`].
fn kind(answer: &Value) -> String {
    let id = answer["id"].as_str();
    match (answer["error"].is_string(), answer["action"].is_string(), id) {
        (true, _, Some(id)) => format!("error {id}"),
        (true, _, None) => "error".to_string(),
        (_, true, Some(id)) => format!("echo {id}"),
        (_, _, Some(id)) => format!("final {id} {}", answer["turnNumber"]),
        _ => panic!("{answer}"),
    }
}

/// Starts the engine with at most `memory_kib` KiB of writable memory.
fn start_within(memory_kib: u64, args: &[&str]) -> Child {
    Command::new("sh")
        .args(["-c", &format!("ulimit -d {memory_kib} && exec \"$@\""), "sh"])
        .args(program::words())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Whether the limit can't be set, because an emulator uses memory of its own.
fn is_out_of_reach() -> bool {
    let is_emulated = program::is_emulated();
    if is_emulated {
        oncilla_testing::skip("what an emulated program takes can't be bounded");
    }
    is_emulated
}

#[test]
fn ten_thousand_queries_a_thousand_of_them_broken() {
    if is_out_of_reach() {
        return;
    }
    let Conversation { input, expected } = conversation();
    let args = ["analysis", "--backend=random", "--parallel=3", "--hash=32", "--nncache-mb=16"];
    let mut process = start_within(MEMORY_KIB, &args);
    let mut stdin = process.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = process.wait_with_output().unwrap();
    assert!(writer.join().unwrap(), "everything was read");
    assert!(output.status.success(), "{}", output.status);
    let mut found: HashMap<String, usize> = HashMap::new();
    let mut resident = 0;
    let mut empty = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_ne!(answer["isDuringSearch"], true, "nobody asked for it: {answer}");
        empty += usize::from(answer["noResults"] == true);
        resident = resident.max(answer["memory"]["residentBytes"].as_u64().unwrap_or(0));
        *found.entry(kind(&answer)).or_default() += 1;
    }
    let mut wrong: Vec<(&String, Option<&usize>, Option<&usize>)> = (expected.keys().chain(found.keys()))
        .map(|kind| (kind, expected.get(kind), found.get(kind)))
        .filter(|(_, expected, found)| expected != found)
        .collect();
    wrong.sort_unstable();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} kinds (expected, found): {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    let errors: usize = found.iter().filter(|(kind, _)| kind.starts_with("error")).map(|(_, count)| count).sum();
    assert_eq!(errors, REQUESTS / BROKEN);
    assert!(empty > 0, "some were ended before they were searched");
    // On systems that report the memory that was used.
    assert!(resident < MEMORY_KIB << 10, "{resident} bytes");
    say(&format!("{} lines, {empty} without results, {} MiB", found.values().sum::<usize>(), resident >> 20));
}

/// The queue's size is limited for any number of queries, and a client that sends more has to wait.
#[test]
fn any_number_of_queries_needs_no_more_memory_than_the_queue_has() {
    if is_out_of_reach() {
        return;
    }
    let args = ["analysis", "--backend=constant", "--parallel=2", "--hash=8", "--queue-mb=4"];
    let mut process = start_within(100_000, &args);
    let mut stdin = process.stdin.take().unwrap();
    let moves: Vec<&str> = GAME.into_iter().cycle().take(100).collect();
    let query = json!({ "id": "q", "moves": moves, "analyzeTurns": [0], "maxVisits": 1 }).to_string() + "\n";
    let writer = std::thread::spawn(move || (0..MANY).all(|_| stdin.write_all(query.as_bytes()).is_ok()));
    let lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().unwrap())).count();
    assert!(writer.join().unwrap() && process.wait().unwrap().success());
    assert_eq!(lines, MANY);
}
