//! The weight of the network's evaluation of a position, by its uncertainty (KataGo's `useUncertainty`,
//! `uncertaintyCoeff`, `uncertaintyExponent`, `uncertaintyMaxWeight`).
//!
//! Networks from version 9 on predict how far value and score will move in the next moves. If u is the utility of such
//! a movement, the weight is c / (uᵉ + c / most): about 1 for the u of most positions, more in quiet positions, less
//! during a fight.

use super::utility::{Outlook, Utility};
use super::{Evaluation, ShortTerm};

/// The parameters of the weight of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertainty {
    /// c (`uncertaintyCoeff`), above 0.
    pub coefficient: f64,
    /// e (`uncertaintyExponent`).
    pub exponent: f64,
    /// The largest weight of a position, and the weight of games that have ended (`uncertaintyMaxWeight`); at least 1.
    pub most: f64,
}

impl Uncertainty {
    /// The weight of a position with this outlook; `None` if the network does not report its uncertainty.
    pub fn weight(&self, evaluation: &Evaluation, outlook: &Outlook, utility: &Utility) -> Option<f64> {
        let ShortTerm { value_error, score_error, .. } = evaluation.short_term?;
        let unsure = utility.of_errors(outlook, [value_error, score_error]);
        Some(self.coefficient / (unsure.powf(self.exponent) + self.coefficient / self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::super::utility::Factors;
    use super::*;
    use quickcheck::quickcheck;

    const KATAGO: Uncertainty = Uncertainty { coefficient: 0.25, exponent: 1.0, most: 8.0 };

    fn evaluation(errors: Option<[f32; 2]>) -> Evaluation {
        Evaluation {
            policy: vec![],
            win: 0.5,
            loss: 0.5,
            no_result: 0.0,
            score_mean: 0.0,
            score_stdev: 10.0,
            lead: 0.0,
            short_term: errors.map(|[value_error, score_error]| ShortTerm {
                variance_time: 1.0,
                value_error,
                score_error,
            }),
            ownership: vec![],
        }
    }

    fn weight(uncertainty: Uncertainty, errors: Option<[f32; 2]>, score: f32) -> Option<f64> {
        let utility = Utility::new(Factors::default(), 361, 0.0);
        uncertainty.weight(&evaluation(errors), &Outlook { score, ..Outlook::default() }, &utility)
    }

    /// At an even score a point is worth 0.1 · 2/π / 38 + 0.3 · 2/π / 14.25.
    #[test]
    fn what_a_weight_is_made_of() {
        let a_point = 0.1 * 2.0 / std::f64::consts::PI / 38.0 + 0.3 * 2.0 / std::f64::consts::PI / 14.25;
        let found = weight(KATAGO, Some([0.2, 3.0]), 0.0).unwrap();
        let expected = 0.25 / (0.2 + 3.0 * a_point + 0.25 / 8.0);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        let root = Uncertainty { exponent: 0.5, ..KATAGO };
        let found = weight(root, Some([0.25, 0.0]), 0.0).unwrap();
        assert!((found - 0.25 / (0.5 + 0.25 / 8.0)).abs() < 1e-6, "{found}");
        assert_eq!(weight(KATAGO, Some([0.0, 0.0]), 0.0), Some(8.0));
        assert_eq!(weight(KATAGO, None, 0.0), None);
    }

    quickcheck! {
        /// A more uncertain evaluation counts less, and an uncertain score matters less if the game is decided.
        fn who_is_less_sure_counts_less(value: u8, score: u8, lead: i8) -> bool {
            let errors = |more: f32| Some([f32::from(value) / 256.0 + more, f32::from(score) / 8.0]);
            let of = |errors, lead| weight(KATAGO, errors, lead).unwrap();
            let (near, far) = (f32::from(lead), f32::from(lead) * 2.0);
            let all = of(errors(0.0), near);
            (0.0..=8.0).contains(&all) && of(errors(0.1), near) < all && of(errors(0.0), far) >= all
        }
    }
}
