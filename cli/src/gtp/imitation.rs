//! The choice of a move as a player of the profile would make it, as in KataGo (`humanSLChosenMoveProp` and related
//! parameters): by what the network for human play beside the main one says of the root's moves, without those that the
//! search has found to be bad.

use oncilla_go::Move;

use super::settings::Settings;
use crate::go::{Choice, Reporter, Search};

/// A move that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The move.
    pub mv: Move,
    /// The value by which the search chooses: see [`Choice::value`].
    pub value: f64,
    /// The mean utility that the search has found, for the side to move; `None` if the move was not visited.
    pub utility: Option<f64>,
    /// The probability with which a player of the profile plays it; 0 if no player is imitated.
    pub human: f64,
}

/// The moves that a search has visited, the best first; and if it `imitates` a player and a network for that was asked,
/// all other moves of the root that may be searched, too. If the search has visited no move, their values are the main
/// network's priors.
pub fn candidates(reporter: &Reporter<'_, '_>, search: &Search<'_>, imitates: bool) -> Vec<Candidate> {
    let human = search.human().filter(|_| imitates);
    let prior = |mv: Move| human.map_or(0.0, |human| human.policy[mv.index()].max(0.0).into());
    let visited = |Choice { mv, value, utility, waits }: Choice| {
        let human = if waits { 0.0 } else { prior(mv) };
        Candidate { mv, value, utility: Some(utility), human }
    };
    let mut all: Vec<Candidate> = reporter.choices().into_iter().map(visited).collect();
    if human.is_some() {
        let is_visited = |mv: &Move| all.iter().any(|candidate| candidate.mv == *mv);
        let others: Vec<Move> = search.root_moves().iter().copied().filter(|mv| !is_visited(mv)).collect();
        let value = |mv: Move| if all.is_empty() { search.prior(mv) } else { 0.0 };
        let others: Vec<Candidate> =
            others.into_iter().map(|mv| Candidate { mv, value: value(mv), utility: None, human: prior(mv) }).collect();
        all.extend(others);
    }
    all
}

impl Settings {
    /// The values by which one of these moves is chosen: the search's own `values`, of which the part
    /// `humanSLChosenMoveProp` is shared out anew by what the player would play. The sum stays the same.
    pub fn imitating(&self, all: &[Candidate], values: &[f64], pass: Move) -> Vec<f64> {
        let shares = self.shares(all);
        let sum: f64 = values.iter().sum();
        if self.human_chosen_move_prop <= 0.0 || shares.iter().sum::<f64>() <= 0.0 || sum <= 0.0 {
            return values.to_vec();
        }
        let is_pass: Vec<bool> = all.iter().map(|candidate| candidate.mv == pass).collect();
        let shares = if self.human_chosen_move_ignore_pass { passing_by(values, shares, &is_pass) } else { shares };
        let mixed = |(value, share): (&f64, &f64)| value + self.human_chosen_move_prop * (sum * share - value);
        values.iter().zip(&shares).map(mixed).collect()
    }

    /// What the player would play, less often the worse the search has found it; it sums to 1 unless it is nothing. A
    /// move without visits counts as good as the mean of the others.
    fn shares(&self, all: &[Candidate]) -> Vec<f64> {
        let known: Vec<f64> = all.iter().filter_map(|candidate| candidate.utility).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let best = known.iter().copied().fold(mean, f64::max);
        let share = |candidate: &Candidate| {
            let loss = best - candidate.utility.unwrap_or(mean);
            // With a lambda of 0 the best moves alone are left.
            let kept = if loss > 0.0 { (-loss / self.human_chosen_move_pikl_lambda).exp() } else { 1.0 };
            candidate.human * kept
        };
        let shares: Vec<f64> = all.iter().map(share).collect();
        let sum: f64 = shares.iter().sum();
        if sum > 0.0 { shares.iter().map(|share| share / sum).collect() } else { shares }
    }
}

/// The shares with that of a pass replaced by its part of the values; the others share the rest, if any of them has
/// something.
fn passing_by(values: &[f64], shares: Vec<f64>, is_pass: &[bool]) -> Vec<f64> {
    let others = |numbers: &[f64]| -> f64 {
        numbers.iter().zip(is_pass).filter(|(_, is_pass)| !**is_pass).map(|(number, _)| number).sum()
    };
    let (of_others, left) = (others(&shares), others(values) / values.iter().sum::<f64>());
    if of_others <= 0.0 {
        return shares;
    }
    let share = |(share, is_pass): (f64, &bool)| if *is_pass { 1.0 - left } else { share / of_others * left };
    shares.into_iter().zip(is_pass).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    const PASS: Move = Move(361);

    fn settings(prop: f64) -> Settings {
        Settings { human_chosen_move_prop: prop, ..Settings::default() }
    }

    /// Moves with their values, utilities and probabilities; the last one is a pass.
    fn moves(of: &[(f64, Option<f64>, f64)]) -> (Vec<Candidate>, Vec<f64>) {
        let last = of.len() - 1;
        let candidate = |(at, &(value, utility, human)): (usize, &(f64, Option<f64>, f64))| {
            let mv = if at == last { PASS } else { Move(at as u16) };
            Candidate { mv, value, utility, human }
        };
        (of.iter().enumerate().map(candidate).collect(), of.iter().map(|(value, ..)| *value).collect())
    }

    fn mixed(settings: &Settings, of: &[(f64, Option<f64>, f64)]) -> Vec<f64> {
        let (all, values) = moves(of);
        settings.imitating(&all, &values, PASS)
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let is_near = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(is_near, "{found:?} {expected:?}");
    }

    #[test]
    fn a_part_is_what_the_player_would_play() {
        let of = [(60.0, Some(0.1), 0.2), (30.0, Some(0.0), 0.3), (0.0, None, 0.4), (10.0, Some(-0.2), 0.1)];
        assert_near(&mixed(&settings(0.0), &of), &[60.0, 30.0, 0.0, 10.0]);
        assert_near(&mixed(&settings(1.0), &of), &[20.0, 30.0, 40.0, 10.0]);
        assert_near(&mixed(&settings(0.5), &of), &[40.0, 30.0, 20.0, 10.0]);
        // What may be played need not be all that the player might.
        let half: Vec<_> = of.iter().map(|&(value, utility, human)| (value, utility, human / 2.0)).collect();
        assert_near(&mixed(&settings(1.0), &half), &[20.0, 30.0, 40.0, 10.0]);
    }

    /// The mean of the known utilities is 0.1.
    #[test]
    fn bad_moves_are_played_less() {
        let of = [(70.0, Some(0.4), 0.25), (20.0, Some(0.0), 0.25), (0.0, None, 0.25), (10.0, Some(-0.1), 0.25)];
        let with = |lambda| Settings { human_chosen_move_pikl_lambda: lambda, ..settings(1.0) };
        let kept = [0.0_f64, 0.4, 0.3, 0.5].map(|loss| (-loss / 0.2).exp());
        let sum: f64 = kept.iter().sum();
        assert_near(&mixed(&with(0.2), &of), &kept.map(|kept| 100.0 * kept / sum));
        assert_near(&mixed(&with(0.0), &of), &[100.0, 0.0, 0.0, 0.0]);
        assert_near(&mixed(&with(1e9), &of), &[25.0; 4]);
    }

    #[test]
    fn a_pass_may_be_left_to_the_search() {
        let ignoring = |prop| Settings { human_chosen_move_ignore_pass: true, ..settings(prop) };
        let of = [(60.0, Some(0.0), 0.1), (20.0, Some(0.0), 0.3), (20.0, Some(0.0), 0.6)];
        assert_near(&mixed(&settings(1.0), &of), &[10.0, 30.0, 60.0]);
        assert_near(&mixed(&ignoring(1.0), &of), &[20.0, 60.0, 20.0]);
        assert_near(&mixed(&ignoring(0.5), &of), &[40.0, 40.0, 20.0]);
        // The player would do nothing but pass.
        let passing = [(60.0, Some(0.0), 0.0), (20.0, Some(0.0), 0.0), (20.0, Some(0.0), 0.5)];
        assert_near(&mixed(&ignoring(1.0), &passing), &[0.0, 0.0, 100.0]);
    }

    #[test]
    fn without_a_player_nothing_changes() {
        assert_near(&mixed(&settings(1.0), &[(60.0, Some(0.1), 0.0), (40.0, None, 0.0)]), &[60.0, 40.0]);
        assert_near(&mixed(&settings(1.0), &[(0.0, Some(0.1), 0.5), (0.0, None, 0.5)]), &[0.0, 0.0]);
        assert_eq!(settings(1.0).imitating(&[], &[], PASS), [0.0; 0]);
    }

    quickcheck! {
        /// Whatever the numbers, the sum stays, and no value is below 0.
        fn nothing_is_lost(of: Vec<(u8, i8, bool, u8)>, prop: u8, lambda: u8, ignores: bool) -> bool {
            let of: Vec<_> = of
                .iter()
                .map(|&(value, utility, is_known, human)| {
                    (f64::from(value), is_known.then_some(f64::from(utility) / 128.0), f64::from(human) / 256.0)
                })
                .collect();
            if of.is_empty() {
                return true;
            }
            let settings = Settings {
                human_chosen_move_pikl_lambda: f64::from(lambda) / 64.0,
                human_chosen_move_ignore_pass: ignores,
                ..settings(f64::from(prop) / 255.0)
            };
            let found = mixed(&settings, &of);
            let sum = of.iter().map(|(value, ..)| value).sum::<f64>();
            let close = (found.iter().sum::<f64>() - sum).abs() < 1e-6 * sum.max(1.0);
            close && found.iter().all(|value| *value >= -1e-9)
        }
    }
}
