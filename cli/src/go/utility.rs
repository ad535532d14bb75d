//! The utility of results and scores in a search, as in KataGo (`winLossUtilityFactor`, `staticScoreUtilityFactor`,
//! `dynamicScoreUtilityFactor` and related parameters; Wu 2019, arXiv:1902.10565, section 3.4 and its successors).
//!
//! utility = a·(win − loss) + b·no result + c·E[f(score; 0, 2)] + d·E[f(score; centre, 0.75)], where f(s; centre,
//! scale) = 2/π · atan((s − centre) / (scale · √points)), and the score has a normal distribution with the mean and the
//! deviation that the network gives. The centre is near the expected score of the root's position: there each point
//! counts most.

use super::{Evaluation, Params};
use oncilla_go::Color;
use std::f64::consts::PI;

/// The weights of the parts of the utility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// `winLossUtilityFactor`.
    pub win_loss: f64,
    /// `noResultUtilityForWhite`.
    pub no_result: f64,
    /// `staticScoreUtilityFactor`.
    pub static_score: f64,
    /// `dynamicScoreUtilityFactor`.
    pub dynamic_score: f64,
    /// `dynamicScoreCenterZeroWeight`: the part of the way from the expected score to an even one by which the centre
    /// is moved.
    pub centre_zero_weight: f64,
    /// `dynamicScoreCenterScale`: the width of the dynamic part, and the most that the centre may be moved, both in
    /// units of √points.
    pub centre_scale: f64,
}

impl Default for Factors {
    fn default() -> Self {
        Self::of(&Params::default())
    }
}

impl Factors {
    /// Those of KataGo's parameters.
    pub fn of(params: &Params) -> Self {
        Self {
            win_loss: params.win_loss_utility_factor,
            no_result: params.no_result_utility_for_white,
            static_score: params.static_score_utility_factor,
            dynamic_score: params.dynamic_score_utility_factor,
            centre_zero_weight: params.dynamic_score_center_zero_weight,
            centre_scale: params.dynamic_score_center_scale,
        }
    }

    /// The largest absolute value of a utility.
    pub fn most(&self) -> f64 {
        (self.win_loss.max(self.no_result.abs()) + self.static_score + self.dynamic_score).max(LEAST_MOST)
    }
}

/// The smallest value of [`Factors::most`]. Utilities are divided by it, so it must not be 0 even if all factors are.
const LEAST_MOST: f64 = 1e-3;

/// The width of the static part, in units of √points.
const STATIC_SCALE: f64 = 2.0;

/// A result and a score, or their expected values, from White's view.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Win minus loss.
    pub win_loss: f32,
    /// Probability of no result.
    pub no_result: f32,
    /// Mean of the score in points.
    pub score: f32,
    /// Standard deviation of the score in points.
    pub stdev: f32,
}

impl Outlook {
    /// The outlook from a network's evaluation, which has the view of the side to move, `side`.
    pub fn of(evaluation: &Evaluation, side: Color) -> Self {
        let sign: f32 = side.sign();
        Self {
            win_loss: sign * (evaluation.win - evaluation.loss),
            no_result: evaluation.no_result,
            score: sign * evaluation.score_mean,
            stdev: evaluation.score_stdev,
        }
    }

    /// The outlook of a game that has ended with White ahead by `white_lead` points; `None` stands for no result. If a
    /// draw is possible, it counts as `draw_wins` games won by White: every score is taken to be half a point higher
    /// with the probability `draw_wins`, and half a point lower otherwise.
    pub fn of_end(white_lead: Option<f32>, may_draw: bool, draw_wins: f32) -> Self {
        let Some(lead) = white_lead else { return Self { no_result: 1.0, ..Self::default() } };
        let win_loss = if lead == 0.0 { 2.0 * draw_wins - 1.0 } else { lead.signum() };
        let (more, variance) = if may_draw { (draw_wins - 0.5, draw_wins * (1.0 - draw_wins)) } else { (0.0, 0.0) };
        Self { win_loss, no_result: 0.0, score: lead + more, stdev: variance.sqrt() }
    }
}

/// The utility in a search, from White's view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    factors: Factors,
    /// √points of the board.
    side: f64,
    centre: f64,
}

impl Utility {
    /// The utility for a search of a position with this expected score for White, on a board of `points` points.
    pub fn new(factors: Factors, points: usize, expected_score: f64) -> Self {
        let side = (points as f64).sqrt();
        let most = factors.centre_scale * side;
        let centre =
            (expected_score * (1.0 - factors.centre_zero_weight)).clamp(expected_score - most, expected_score + most);
        // Without a dynamic part all utilities are the same, whatever is expected.
        Self { factors, side, centre: if factors.dynamic_score == 0.0 { 0.0 } else { centre } }
    }

    /// The utility of an outlook for White.
    pub fn of(&self, outlook: &Outlook) -> f64 {
        let Factors { win_loss, no_result, static_score, dynamic_score, centre_scale, .. } = self.factors;
        let [score, stdev] = [outlook.score, outlook.stdev].map(f64::from);
        let expected = |centre: f64, scale: f64| expected(score - centre, stdev, scale * self.side);
        win_loss * f64::from(outlook.win_loss)
            + no_result * f64::from(outlook.no_result)
            + static_score * expected(0.0, STATIC_SCALE)
            + dynamic_score * expected(self.centre, centre_scale)
    }

    /// The utility of `points` more points for White.
    pub fn of_more(&self, outlook: &Outlook, points: f64) -> f64 {
        self.of(&Outlook { score: outlook.score + points as f32, ..*outlook }) - self.of(outlook)
    }

    /// The change of utility if win − loss and score are both off by these errors in the same direction.
    pub fn of_errors(&self, outlook: &Outlook, [win_loss, score]: [f32; 2]) -> f64 {
        let factors = &self.factors;
        // The derivative of 2/π · atan((score − centre) / (scale · side)).
        let of_point = |centre: f64, scale: f64| {
            let width = scale * self.side;
            let away = (f64::from(outlook.score) - centre) / width;
            2.0 / PI / (width * (1.0 + away * away))
        };
        let of_score = factors.static_score * of_point(0.0, STATIC_SCALE)
            + factors.dynamic_score * of_point(self.centre, factors.centre_scale);
        factors.win_loss * f64::from(win_loss) + of_score * f64::from(score)
    }
}

/// The sum goes this many standard deviations to each side of the mean, in at least `LEAST_STEPS` steps for each.
const DEVIATIONS: i32 = 5;
const LEAST_STEPS: i32 = 5;

/// Steps of the sum for a distance of one scale. With fewer the error is more than 1e-4 if the deviation of the score
/// is much larger than the scale.
const STEPS_A_SCALE: f64 = 2.0;

/// No possible score needs more steps than this for each deviation.
const MOST_STEPS: f64 = 1000.0;

/// E[2/π · atan(x / scale)] for a normally distributed x, as a sum over [`DEVIATIONS`] to each side of the mean.
fn expected(mean: f64, stdev: f64, scale: f64) -> f64 {
    let value = |x: f64| 2.0 / PI * (x / scale).atan();
    // A deviation of less than a thousandth of the scale makes no difference.
    if stdev < scale * 1e-3 {
        return value(mean);
    }
    let steps = LEAST_STEPS.max((STEPS_A_SCALE * stdev / scale).min(MOST_STEPS).ceil() as i32);
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -DEVIATIONS * steps..=DEVIATIONS * steps {
        let away = f64::from(step) / f64::from(steps);
        let weight = (-0.5 * away * away).exp();
        sum += weight * value(mean + away * stdev);
        weights += weight;
    }
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    /// KataGo's `whiteWinsOfWinner`, `whiteScoreDrawAdjust` and `whiteScoreMeanSqOfScoreGridded`: the mean square of a
    /// whole score is the mean over half a point more, with the probability `draw_wins`, and half a point less.
    #[test]
    fn a_game_that_has_ended_may_be_drawn() {
        let end = |lead, draw_wins| Outlook::of_end(Some(lead), true, draw_wins);
        for draw_wins in [0.0, 0.25, 0.5, 1.0] {
            for lead in [-3.0_f32, 0.0, 4.0] {
                let Outlook { win_loss, no_result, score, stdev } = end(lead, draw_wins);
                assert_eq!(no_result, 0.0);
                assert_eq!(win_loss, if lead == 0.0 { 2.0 * draw_wins - 1.0 } else { lead.signum() });
                let square = (1.0 - draw_wins) * (lead - 0.5).powi(2) + draw_wins * (lead + 0.5).powi(2);
                assert_eq!(score, lead + draw_wins - 0.5);
                assert!((score * score + stdev * stdev - square).abs() < 1e-5, "{lead} {draw_wins}");
            }
        }
        let plain = Outlook { win_loss: -1.0, no_result: 0.0, score: -2.5, stdev: 0.0 };
        assert_eq!(Outlook::of_end(Some(-2.5), false, 0.9), plain);
        assert_eq!(Outlook::of_end(None, true, 0.9), Outlook { no_result: 1.0, ..Outlook::default() });
    }

    #[test]
    fn a_score_without_deviation_is_worth_its_arc_tangent() {
        let utility = Utility::new(Factors::default(), 361, 0.0);
        let sure = |score| utility.of(&Outlook { win_loss: 1.0, no_result: 0.0, score, stdev: 0.0 });
        let by_hand = |score: f64| {
            1.0 + 0.1 * 2.0 / PI * (score / (2.0 * 19.0)).atan() + 0.3 * 2.0 / PI * (score / (0.75 * 19.0)).atan()
        };
        for score in [-30.0, 0.0, 0.5, 7.5, 200.0] {
            assert!((sure(score) - by_hand(score.into())).abs() < 1e-12, "{score}");
        }
    }

    /// Compares with a finer sum over more deviations.
    #[test]
    fn the_expectation_is_that_of_a_normal_score() {
        for (mean, stdev, scale) in [(0.0, 10.0, 14.0), (12.0, 20.0, 14.0), (-40.0, 3.0, 38.0), (100.0, 60.0, 5.0)] {
            let (mut sum, mut weights) = (0.0, 0.0);
            for step in -8000..=8000 {
                let away = f64::from(step) / 1000.0;
                let weight = (-0.5 * away * away).exp();
                sum += weight * 2.0 / PI * ((mean + away * stdev) / scale).atan();
                weights += weight;
            }
            assert!((expected(mean, stdev, scale) - sum / weights).abs() < 1e-4, "{mean} {stdev} {scale}");
        }
    }

    quickcheck! {
        fn no_utility_is_beyond_the_most(win: u8, none: u8, score: i16, stdev: u8, centre: i16) -> bool {
            // These shares are exact in single precision.
            let share = |n: u8| f32::from(n.min(128)) / 128.0;
            let none = share(none);
            let outlook = Outlook {
                win_loss: (2.0 * share(win) - 1.0) * (1.0 - none),
                no_result: none,
                score: f32::from(score) / 10.0,
                stdev: stdev.into(),
            };
            let factors = Factors { no_result: -0.5, ..Factors::default() };
            let mirrored = Outlook { win_loss: -outlook.win_loss, score: -outlook.score, ..outlook };
            let utility = |centre, outlook| Utility::new(Factors { no_result: 0.0, ..factors }, 361, centre).of(outlook);
            let centre = f64::from(centre) / 10.0;
            // From the other side's view the utility has the opposite sign.
            let same = (utility(centre, &outlook) + utility(-centre, &mirrored)).abs() < 1e-9;
            Utility::new(factors, 361, centre).of(&outlook).abs() <= factors.most() + 1e-12 && same
        }

        fn a_better_score_is_worth_more(score: i8, stdev: u8) -> bool {
            let utility = Utility::new(Factors::default(), 81, 0.0);
            let at = |score: f32| utility.of(&Outlook { win_loss: 0.5, no_result: 0.0, score, stdev: stdev.into() });
            at(f32::from(score) + 1.0) > at(score.into())
        }
    }
}
