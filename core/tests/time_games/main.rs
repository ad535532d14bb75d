//! Plays the clocks of ten thousand games. Nothing sleeps and nothing is left to chance: each game is made by a seed
//! from recordings of real searches and games, with the managers and stoppers that the program plays with.
//!
//! `cargo test --release -p oncilla-core --test time_games -- --nocapture` prints a table. With `ONCILLA_WRITE_DOCS=1`
//! the plots in `docs/time/` are written anew; without it, they must be the same as those that are there.

mod control;
mod game;
mod model;
mod plot;
mod random;
mod recorded;
mod speed;

use control::{CONTROLS, Control};
use game::{Informed, Record, Setup, play};
use oncilla_core::time::unrest::UnrestParams;
use oncilla_core::time::{
    AlphaZeroParams, LegacyParams, ManagerParams, MleLegacy, MovesLeftEstimator, SimpleParams, SmoothParams,
};
use recorded::Recorded;

const GAMES: u64 = 10_000;

/// Game `number`: every time control in turn, each with every kind of information.
fn game_of(manager: ManagerParams, number: u64) -> Setup {
    let kinds = CONTROLS.len() as u64;
    let informed = [Informed::Network, Informed::Pieces, Informed::Nothing][(number / kinds % 3) as usize];
    Setup { control: CONTROLS[(number % kinds) as usize], manager, informed, seed: number }
}

/// The budgets of the seed document, with nothing of our own.
fn seed_alone() -> ManagerParams {
    ManagerParams::Smooth(SmoothParams {
        min_move_budget: 0.0,
        reserve: 0.0,
        max_extension: 0.0,
        pace_rate: 0.0,
        unrest: UnrestParams { value_drop: 0.0, settle_time: 0.0 },
        moves_left: MovesLeftEstimator::by_number(MleLegacy::default()),
        ..SmoothParams::default()
    })
}

/// The results of some games.
#[derive(Default)]
struct Summary {
    games: u32,
    moves: u32,
    /// How many games were lost, on a clock that could not have been saved, and how many of these without a stall.
    lost: u32,
    lost_without_a_stall: u32,
    /// How many moves went on with the reserve.
    extended: u32,
    /// How many moves took less than a tenth of an even share, though the search was free to go on.
    hasty: u32,
    /// The share of the time that was used, for each game of 80 moves and more.
    used: Vec<f64>,
}

impl Summary {
    fn add(&mut self, record: &Record) {
        let stalled = record.moves.iter().any(|played| played.stall_ms > 0.0);
        let share = record.given_ms() / record.moves.len() as f64;
        self.games += 1;
        self.moves += record.moves.len() as u32;
        self.lost += u32::from(record.is_lost());
        self.lost_without_a_stall += u32::from(record.is_lost() && !stalled);
        self.extended += record.moves.iter().filter(|played| played.is_extended).count() as u32;
        self.hasty +=
            record.moves.iter().filter(|played| !played.is_known() && played.used_ms < 0.1 * share).count() as u32;
        if record.moves.len() >= 80 && !record.is_lost() {
            self.used.push(record.part_used());
        }
    }

    fn least_used(&self) -> f64 {
        self.used.iter().copied().fold(1.0, f64::min)
    }

    fn mean_used(&self) -> f64 {
        self.used.iter().sum::<f64>() / self.used.len() as f64
    }

    /// The number of hasty moves in a hundred.
    fn percent_hasty(&self) -> f64 {
        100.0 * f64::from(self.hasty) / f64::from(self.moves)
    }

    /// The row as it is in the table in docs/time.md.
    fn row(&self, name: &str) -> String {
        let Self { games, lost, lost_without_a_stall, .. } = self;
        let [mean, least] = [self.mean_used(), self.least_used()].map(|part| 100.0 * part);
        format!("| {name} | {games} | {lost} | {lost_without_a_stall} | {mean:.1}% | {least:.1}% |")
    }

    fn print(&self, name: &str) {
        let part = |count: u32| 100.0 * f64::from(count) / f64::from(self.moves);
        let mean = 100.0 * self.mean_used();
        println!(
            "{name:>18} {:>4} games {:>6} moves, {:>3} lost ({:>2} without a stall), {:>4.1}% of the moves extended, {:>4.1}% \
             hasty; {:>3} long games: used {mean:.1}%, at least {:.1}%",
            self.games,
            self.moves,
            self.lost,
            self.lost_without_a_stall,
            part(self.extended),
            self.percent_hasty(),
            self.used.len(),
            100.0 * self.least_used(),
        );
    }
}

/// Checks that docs/time.md has these figures, wherever its lines end.
fn assert_said(text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/time.md");
    let page = std::fs::read_to_string(path).expect("docs/time.md");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(&words(text)), "docs/time.md says something else than: {text}");
}

fn check(setup: &Setup, record: &Record) {
    let last = record.moves.last();
    assert!(!record.is_lost_needlessly(), "{setup:?}: lost at move {} by {last:?}", record.moves.len());
    for (at, played) in record.moves.iter().enumerate() {
        assert!(played.limit_ms > 0.0 && played.limit_ms >= played.floor_ms, "{setup:?}: move {at}, {played:?}");
        let is_under = played.used_ms < played.floor_ms && !played.is_known();
        assert!(!is_under, "{setup:?}: move {at} under the floor, {played:?}");
    }
}

fn is_sudden_death(control: &Control) -> bool {
    control.period.is_none() && control.increment_ms == 0.0
}

#[test]
fn ten_thousand_games() {
    let recorded = Recorded::read();
    let mut summaries: [Summary; CONTROLS.len()] = std::array::from_fn(|_| Summary::default());
    for number in 0..GAMES {
        let setup = game_of(ManagerParams::default(), number);
        let record = play(&setup, &recorded);
        check(&setup, &record);
        summaries[(number % CONTROLS.len() as u64) as usize].add(&record);
    }
    for (control, summary) in CONTROLS.iter().zip(&summaries) {
        summary.print(control.name);
        assert_said(&summary.row(control.name));
        assert!(summary.used.len() > 100, "{}: {} long games", control.name, summary.used.len());
        // With an increment of a hundredth the room for a stall is a fifth of all time: more can't be used without
        // risk.
        if is_sudden_death(control) || control.increment_ms >= 100.0 {
            assert!(summary.least_used() >= 0.9, "{}: used {}", control.name, summary.least_used());
        }
    }
}

#[test]
fn the_other_managers_lose_no_game_either() {
    let recorded = Recorded::read();
    for manager in [
        ManagerParams::Legacy(LegacyParams::default()),
        ManagerParams::AlphaZero(AlphaZeroParams::default()),
        ManagerParams::Simple(SimpleParams::default()),
        seed_alone(),
    ] {
        let mut summary = Summary::default();
        for number in 0..1000 {
            let setup = game_of(manager, number);
            let record = play(&setup, &recorded);
            check(&setup, &record);
            summary.add(&record);
        }
        summary.print(manager.name());
    }
}

#[test]
fn what_is_added_to_the_seed_helps() {
    let recorded = Recorded::read();
    let summary = |manager| {
        let mut summary = Summary::default();
        let games = (0..2000).map(|number| game_of(manager, number)).filter(|setup| is_sudden_death(&setup.control));
        games.for_each(|setup| summary.add(&play(&setup, &recorded)));
        summary
    };
    let (seed, ours) = (summary(seed_alone()), summary(ManagerParams::default()));
    seed.print("seed alone");
    ours.print("defaults");
    assert!(ours.hasty * 3 < seed.hasty * 2, "hasty moves: {} and {}", ours.hasty, seed.hasty);
    assert!(ours.lost < seed.lost, "lost games: {} and {}", ours.lost, seed.lost);
    assert!(ours.least_used() > seed.least_used());
    assert_said(&format!("lost {} → {}, hasty moves", seed.lost, ours.lost));
    let [hasty, least] = [Summary::percent_hasty, |summary: &Summary| 100.0 * summary.least_used()]
        .map(|figure| format!("{:.1}% → {:.1}%", figure(&seed), figure(&ours)));
    assert_said(&format!("the search was free to go on) {hasty}, least time used {least}."));
}

#[test]
fn the_plots_in_the_docs_show_this() {
    let recorded = Recorded::read();
    for (at, control) in CONTROLS.iter().enumerate() {
        let games = (0..GAMES).filter(|number| *number as usize % CONTROLS.len() == at);
        let mut records =
            games.map(|number| game_of(ManagerParams::default(), number)).map(|setup| (setup, play(&setup, &recorded)));
        let shows = |(setup, record): &(Setup, Record)| {
            let stalled = record.moves.iter().any(|played| played.stall_ms > 0.0);
            let extended = record.moves.iter().any(|played| played.is_extended);
            setup.informed == Informed::Network
                && (80..110).contains(&record.moves.len())
                && !record.is_lost()
                && stalled
                && extended
        };
        let (setup, record) = records.find(shows).expect("a long game with everything in it");
        plot::check_or_write(&plot::file_name(control.name), &plot::svg(&setup, &record));
    }
}
