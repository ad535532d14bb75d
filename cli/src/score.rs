//! The score of an info line, in all units that GUIs and scripts expect.
//!
//! Sources: names and formulas are those of Lc0's `ScoreType`. `centipawn` is the formula of Lc0's page "How does Lc0
//! calculate the cp eval", which the current Lc0 no longer has; its current formula is `centipawn_2025`.

use oncilla_core::evaluate::Value;
use oncilla_core::formula::contempt::Logistic;

/// The unit of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ScoreType {
    /// `111.714640912·tan(1.5620688421·wl)`, rounded: 0.90 expected score is 3.36 pawns, a won game 128.
    Centipawn,
    /// `90·tan(1.5637541897·wl)`.
    Centipawn2025,
    /// `centipawn_2025` of Q instead of W − L, so that draws count by the draw score.
    CentipawnWithDrawScore,
    /// `295·wl / (1 − 0.976953126·wl¹⁴)`.
    Centipawn2019,
    /// `290.680623072·tan(1.548090806·wl)`.
    Centipawn2018,
    /// Expected score in hundredths of a percent.
    WinPercentage,
    /// Q·10000.
    Q,
    /// (W − L)·10000.
    WMinusL,
    /// 100·μ of the logistic distribution that corresponds to the network's W, D and L: 100 if W is 0.5.
    #[default]
    WdlMu,
}

/// From this `|W − L| + D` on, the game is decided and μ has no meaning.
const DECIDED: f64 = 0.996;

impl ScoreType {
    /// Each type with its name, in Lc0's order.
    const NAMED: [(&'static str, Self); 9] = [
        ("centipawn", Self::Centipawn),
        ("centipawn_2025", Self::Centipawn2025),
        ("centipawn_with_drawscore", Self::CentipawnWithDrawScore),
        ("centipawn_2019", Self::Centipawn2019),
        ("centipawn_2018", Self::Centipawn2018),
        ("win_percentage", Self::WinPercentage),
        ("Q", Self::Q),
        ("W-L", Self::WMinusL),
        ("WDL_mu", Self::WdlMu),
    ];

    /// The names in Lc0's order, for the table of options.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::NAMED.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::NAMED[at].0;
            at += 1;
        }
        names
    };

    /// The type with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(its, _)| *its == name).map(|(_, score_type)| *score_type)
    }

    /// Whether the unit is a hundredth of a pawn.
    pub fn is_centipawns(self) -> bool {
        !matches!(self, Self::WinPercentage | Self::Q | Self::WMinusL)
    }

    /// The score of a value for the side to move. `draw_score` is the value of a draw for that side. `has_wdl`: the
    /// network distinguishes draws from losses. All types but [`ScoreType::Centipawn`] are truncated towards 0, as in
    /// Lc0.
    pub fn score(self, value: Value, draw_score: f32, has_wdl: bool) -> i32 {
        let wl = f64::from(value.wl.clamp(-1.0, 1.0));
        let q = f64::from(value.q(draw_score).clamp(-1.0, 1.0));
        match self {
            Self::Centipawn => (111.714640912 * (1.5620688421 * wl).tan()).round() as i32,
            Self::Centipawn2025 => centipawn_2025(wl) as i32,
            Self::CentipawnWithDrawScore => centipawn_2025(q) as i32,
            Self::Centipawn2019 => (295.0 * wl / (1.0 - 0.976953126 * wl.powi(14))) as i32,
            Self::Centipawn2018 => (290.680623072 * (1.548090806 * wl).tan()) as i32,
            Self::WinPercentage => (5000.0 * wl + 5000.0) as i32,
            Self::Q => (10000.0 * q) as i32,
            Self::WMinusL => (10000.0 * wl) as i32,
            Self::WdlMu => wdl_mu(wl, f64::from(value.d), has_wdl) as i32,
        }
    }
}

fn centipawn_2025(wl: f64) -> f64 {
    90.0 * (1.5637541897 * wl).tan()
}

/// 100·μ; or a formula of W − L alone if μ is unknown, or if |μ| is at least 1 (a pawn) and 100·|μ| is not larger than
/// the result of that formula.
fn wdl_mu(wl: f64, d: f64, has_wdl: bool) -> f64 {
    let by_wl = 45.0 * (1.56728071628 * wl).tan();
    let mu = mu(wl, d);
    let usable = has_wdl && mu != 0.0 && wl.abs() + d < DECIDED;
    if usable && (mu.abs() < 1.0 || by_wl.abs() < (100.0 * mu).abs()) { 100.0 * mu } else { by_wl }
}

/// Mean of the logistic distribution that corresponds to W, D and L; 0 if one of these is nearly certain.
fn mu(wl: f64, d: f64) -> f64 {
    Logistic::of(wl, d).map_or(0.0, |logistic| logistic.mu)
}

/// Win, draw and loss per mille for the side to move; they add up to 1000.
pub fn wdl_per_mille(value: Value) -> [i32; 3] {
    per_mille(f64::from(value.wl), f64::from(value.d))
}

/// Like [`wdl_per_mille`], from W − L and D.
pub fn per_mille(wl: f64, d: f64) -> [i32; 3] {
    let w = ((500.0 * (1.0 + wl - d)).round() as i32).max(0);
    let l = ((500.0 * (1.0 - wl - d)).round() as i32).max(0);
    let d = 1000 - w - l;
    if d >= 0 {
        return [w, d, l];
    }
    // After rounding, W and L add up to more than 1000: both are reduced.
    let w = (w + d / 2).clamp(0, 1000);
    [w, 0, 1000 - w]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(wl: f32, d: f32) -> Value {
        Value { wl, d, m: 0.0 }
    }

    /// The table of Lc0's page: expected score and hundredths of a pawn.
    #[test]
    fn centipawn_is_the_published_table() {
        for (expected_score, cp) in [
            (0.50, 0),
            (0.55, 18),
            (0.60, 36),
            (0.65, 57),
            (0.70, 81),
            (0.75, 111),
            (0.80, 152),
            (0.85, 216),
            (0.90, 336),
            (0.95, 671),
            (1.00, 12800),
        ] {
            let wl = 2.0 * expected_score - 1.0;
            assert_eq!(ScoreType::Centipawn.score(value(wl, 0.0), 0.0, true), cp, "{expected_score}");
            assert_eq!(ScoreType::Centipawn.score(value(-wl, 0.0), 0.0, true), -cp, "{expected_score}");
        }
        assert_eq!(ScoreType::Centipawn.score(value(1.5, 0.0), 0.0, true), 12800, "beyond any value");
    }

    #[test]
    fn the_other_centipawns() {
        for (wl, expected) in [
            (0.1, [14, 29, 45, 7]),
            (0.25, [37, 73, 118, 18]),
            (0.5, [89, 147, 284, 44]),
            (0.75, [214, 225, 669, 107]),
            (0.9, [545, 341, 1620, 278]),
            (1.0, [12780, 12800, 12800, 12800]),
        ] {
            let score = |kind: ScoreType, wl| kind.score(value(wl, 0.0), 0.0, false);
            let kinds =
                [ScoreType::Centipawn2025, ScoreType::Centipawn2019, ScoreType::Centipawn2018, ScoreType::WdlMu];
            assert_eq!(kinds.map(|kind| score(kind, wl)), expected, "{wl}");
            assert_eq!(kinds.map(|kind| -score(kind, -wl)), expected, "-{wl}");
        }
    }

    #[test]
    fn mu_of_wdl() {
        for (w, d, l, expected) in [
            (0.3, 0.6, 0.1, 44.340),
            (0.5, 0.4, 0.1, 100.0),
            (0.4, 0.5, 0.1, 68.843),
            (0.6, 0.3, 0.1, 145.259),
            (0.3, 0.3, 0.4, -35.269),
        ] {
            assert!((100.0 * mu(w - l, d) - expected).abs() < 1e-3, "{w} {d} {l}: {}", mu(w - l, d));
        }
        assert_eq!(mu(1.0, 0.0), 0.0);
        assert_eq!(ScoreType::WdlMu.score(value(0.2, 0.6), 0.0, true), 44);
        assert_eq!(ScoreType::WdlMu.score(value(0.2, 0.6), 0.0, false), 14, "without WDL by W − L alone");
    }

    #[test]
    fn percent_and_q() {
        assert_eq!(ScoreType::WinPercentage.score(value(0.25, 0.0), 0.0, true), 6250);
        assert_eq!(ScoreType::WMinusL.score(value(0.25, 0.5), -0.5, true), 2500);
        assert_eq!(ScoreType::Q.score(value(0.25, 0.5), -0.5, true), 0);
        assert_eq!(ScoreType::CentipawnWithDrawScore.score(value(0.25, 0.5), 0.5, true), 89);
    }

    #[test]
    fn every_name_is_a_type() {
        for name in ScoreType::NAMES {
            assert!(ScoreType::from_name(name).is_some(), "{name}");
        }
        assert_eq!(ScoreType::from_name("pawns"), None);
    }

    #[test]
    fn per_mille_adds_up() {
        assert_eq!(wdl_per_mille(value(0.0, 0.0)), [500, 0, 500]);
        assert_eq!(wdl_per_mille(value(0.1234, 0.4)), [362, 400, 238]);
        assert_eq!(wdl_per_mille(value(1.0, 0.0)), [1000, 0, 0]);
        // W, D and L that do not add up to 1, as the transform for the displayed values can make them.
        assert_eq!(wdl_per_mille(value(0.001, -0.002)), [501, 0, 499]);
        for step in 0..=2000 {
            let wl = step as f32 / 1000.0 - 1.0;
            for d in [0.0, 0.3337, 1.0 - wl.abs()] {
                let [w, d, l] = wdl_per_mille(value(wl, d));
                assert_eq!(w + d + l, 1000);
                assert!(w >= 0 && d >= 0 && l >= 0);
            }
        }
    }
}
