//! How many probes a second: `cargo run --release -p oncilla-syzygy --example probes -- FOLDERS POSITIONS.epd`.
//!
//! Every position of the file is probed again and again, for a second by each of 1 and 2 threads; its tables are in the
//! system's file cache then. The second line is the time for the ranks of a root.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oncilla_chess::{Board, FenError, History, MIN_CAP};
use oncilla_syzygy::Tablebases;

const TIME: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folders), Some(file)) = (args.next(), args.next()) else {
        return Err("expected the folders of the tables and a file of positions".into());
    };
    let tables = Tablebases::open(&folders)?;
    let text = std::fs::read_to_string(file)?;
    let fens: Vec<String> =
        text.lines().map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ") + " 0 1").collect();
    let boards = fens.iter().map(|fen| Ok(History::<MIN_CAP>::from_fen(fen)?.board().clone()));
    let boards: Vec<Board> = boards.collect::<Result<_, FenError>>()?;
    for threads in [1, 2] {
        println!("wdl, {threads} threads: {:.0} probes/s", rate(threads, &boards, |board| tables.wdl(board).is_ok()));
    }
    let histories: Vec<History> = fens.iter().take(100).map(|fen| History::from_fen(fen)).collect::<Result<_, _>>()?;
    let ranks = rate(1, &histories, |history| tables.root_moves(history, false).is_ok());
    println!("root_moves: {:.0} µs", 1e6 / ranks);
    Ok(())
}

/// Questions a second that have an answer, after a round to warm up.
fn rate<T: Sync>(threads: usize, items: &[T], probe: impl Fn(&T) -> bool + Sync) -> f64 {
    let _ = items.iter().filter(|item| probe(item)).count();
    let done = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while start.elapsed() < TIME {
                    let answered = items.iter().filter(|item| probe(item)).count();
                    done.fetch_add(answered as u64, Relaxed);
                }
            });
        }
    });
    done.load(Relaxed) as f64 / start.elapsed().as_secs_f64()
}
