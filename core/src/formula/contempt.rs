//! Contempt: changes values to what they would be between players of unequal strength, or in games with another draw
//! rate.
//!
//! The model and its constants are Lc0's (`Contempt…`, `WDL…`; it is described at lczero.org under "WDL rescale and
//! contempt"). W, D and L of a position are taken for a logistic distribution of an advantage: W is the part of it
//! above 1, L the part below −1. Its mean μ says who is better, its scale s how much the play errs. A weaker opponent
//! moves μ by `s²·diff`, other players have s times `ratio`, and W, D and L are read off again.
//!
//! The way from the options to a leaf: [`RescaleParams::rescale`] makes a [`Rescale`] of a difference in Elo, once;
//! [`Contempt::at_root`] says, for each search, whose contempt it is; [`Rescale::at`] and [`Rescale::apply`] change a
//! network's answer; [`Rescale::undo`] returns the value to show.

use crate::evaluate::Value;
use core::f64::consts::LN_10;

/// A probability nearer to 0 or 1 than this says nothing about μ and s.
const CERTAIN: f64 = 1e-4;

/// The logistic distribution of an advantage that W, D and L stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// The distribution's mean, from the side to move: at 1 a win is as likely as not.
    pub mu: f64,
    /// The distribution's scale, above 0.
    pub s: f64,
}

impl Logistic {
    /// The distribution that has this `W − L` and D: with `a = ln(1/L − 1)` and `b = ln(1/W − 1)`, `μ = (a − b)/(a +
    /// b)` and `s = 2/(a + b)`. `None` if one of W, D and L is nearly 0 or 1, or is not a probability.
    pub fn of(wl: f64, d: f64) -> Option<Self> {
        let (w, l) = (0.5 * (1.0 + wl - d), 0.5 * (1.0 - wl - d));
        if ![w, d, l].iter().all(|&p| p > CERTAIN && p < 1.0 - CERTAIN) {
            return None;
        }
        // D above 0 makes a + b positive.
        let (a, b) = (libm::log(1.0 / l - 1.0), libm::log(1.0 / w - 1.0));
        Some(Self { mu: (a - b) / (a + b), s: 2.0 / (a + b) })
    }

    /// `W − L` and D of this distribution.
    pub fn wl_and_d(&self) -> (f64, f64) {
        let part_beyond = |x: f64| 1.0 / (1.0 + libm::exp(-x / self.s));
        let (w, l) = (part_beyond(self.mu - 1.0), part_beyond(-self.mu - 1.0));
        (w - l, (1.0 - w - l).max(0.0))
    }
}

/// How values change, as seen by one side.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rescale {
    /// The scale s is multiplied by this: below 1 there are more draws than the network thinks.
    pub ratio: f64,
    /// μ grows by `s²` times this.
    pub diff: f64,
    /// `WDLMaxS`: a larger s is reduced to this one. Such wide distributions do not occur in chess.
    pub max_s: f64,
}

impl Default for Rescale {
    /// A `Rescale` that changes nothing.
    fn default() -> Self {
        Self { ratio: 1.0, diff: 0.0, max_s: 1.4 }
    }
}

impl Rescale {
    /// True if every value stays as it is.
    pub fn changes_nothing(&self) -> bool {
        self.ratio == 1.0 && self.diff == 0.0
    }

    /// This change of values as the other side sees it.
    pub fn from_the_other_side(self) -> Self {
        Self { diff: -self.diff, ..self }
    }

    /// This change of values as the side to move sees it, `plies` plies below.
    pub fn at(self, plies: usize) -> Self {
        if plies.is_multiple_of(2) { self } else { self.from_the_other_side() }
    }

    /// The changed value of a position, for the side whose [`Rescale`] this is. A position that is all but decided, or
    /// all but drawn, keeps its value.
    pub fn apply(&self, value: Value) -> Value {
        if self.changes_nothing() {
            return value;
        }
        let Some(Logistic { mu, s }) = Logistic::of(value.wl.into(), value.d.into()) else { return value };
        let s = s.min(self.max_s);
        let (wl, d) = Logistic { mu: mu + s * s * self.diff, s: s * self.ratio }.wl_and_d();
        Value { wl: wl as f32, d: d as f32, ..value }
    }

    /// The value from which [`Rescale::apply`] made this one, provided that its scale was not above `max_s`.
    pub fn original(&self, value: Value) -> Value {
        if self.changes_nothing() {
            return value;
        }
        let Some(Logistic { mu, s }) = Logistic::of(value.wl.into(), value.d.into()) else { return value };
        let s = s / self.ratio;
        let (wl, d) = Logistic { mu: mu - s * s * self.diff, s }.wl_and_d();
        Value { wl: wl as f32, d: d as f32, ..value }
    }

    /// The value to show instead of one that [`Rescale::apply`] made: `objectivity` times the shift of μ is taken back
    /// (`WDLEvalObjectivity`: with 1 no contempt is shown, with 0 all of it). The draw rate stays as `apply` made it.
    pub fn undo(&self, value: Value, objectivity: f64) -> Value {
        if self.diff * objectivity == 0.0 {
            return value;
        }
        let Some(Logistic { mu, s }) = Logistic::of(value.wl.into(), value.d.into()) else { return value };
        let before = (s / self.ratio).min(self.max_s);
        let (wl, d) = Logistic { mu: mu - before * before * self.diff * objectivity, s }.wl_and_d();
        Value { wl: wl as f32, d: d as f32, ..value }
    }
}

/// The options from which a difference in Elo becomes a [`Rescale`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RescaleParams {
    /// `ContemptMaxValue`: the contempt is limited to this, in Elo, either way.
    pub max_contempt: f64,
    /// `WDLCalibrationElo`: Elo of the side with the contempt; 0: the draw rates are used instead.
    pub calibration_elo: f64,
    /// `WDLContemptAttenuation`: a factor of `diff`.
    pub attenuation: f64,
    /// `WDLMaxS`.
    pub max_s: f64,
    /// `WDLDrawRateTarget`: draw rate of equal positions in the games that are played; 0: the network's own. Not used
    /// if there is a calibration Elo.
    pub draw_rate_target: f64,
    /// `WDLDrawRateReference`: draw rate that the network gives to equal positions.
    pub draw_rate_reference: f64,
    /// `WDLBookExitBias`: μ of the positions from which games are played, and in which the Elo was measured. Not used
    /// if there is a calibration Elo.
    pub book_exit_bias: f64,
}

impl Default for RescaleParams {
    fn default() -> Self {
        Self {
            max_contempt: 420.0,
            calibration_elo: 0.0,
            attenuation: 1.0,
            max_s: 1.4,
            draw_rate_target: 0.0,
            draw_rate_reference: 0.5,
            book_exit_bias: 0.65,
        }
    }
}

impl RescaleParams {
    /// What a `contempt` in Elo (our rating less the opponent's) does to the values of the side that has it.
    pub fn rescale(&self, contempt: f64) -> Rescale {
        let contempt = contempt.min(self.max_contempt).max(-self.max_contempt); // `clamp` may panic
        let reference = scale_of_draw_rate(self.draw_rate_reference);
        let (target, shift) =
            if self.calibration_elo == 0.0 { self.by_draw_rate(contempt, reference) } else { self.by_elo(contempt) };
        let diff = shift / (reference * reference) * self.attenuation;
        Rescale { ratio: target / reference, diff, max_s: self.max_s }
    }

    /// By draw rates: the scale s of the games, and the shift of μ. At the book exit, the slope of the expected score
    /// over μ is that of the expected score over the Elo difference.
    fn by_draw_rate(&self, contempt: f64, reference: f64) -> (f64, f64) {
        // A draw rate this near to 0, but not 0, is an accident.
        const LEAST: f64 = 0.001;
        let target = match self.draw_rate_target {
            0.0 => reference,
            rate => scale_of_draw_rate(rate.max(LEAST)),
        };
        let slope = |x: f64| {
            let cosh = libm::cosh(0.5 * x / target);
            1.0 / (cosh * cosh)
        };
        let slope = slope(1.0 - self.book_exit_bias) + slope(1.0 + self.book_exit_bias);
        (target, target / slope * LN_10 / 200.0 * contempt)
    }

    /// By Elo: the scale s of games between these two players, and the distance between their μ.
    fn by_elo(&self, contempt: f64) -> (f64, f64) {
        let [own, other] = [self.calibration_elo, self.calibration_elo - contempt].map(game_pair_elo);
        let [s, t] = [own, other].map(scale_of_elo);
        (libm::sqrt(0.5 * (s * s + t * t)), mu_of_elo(own) - mu_of_elo(other))
    }
}

/// Scale s of the distribution in which an equal position is drawn at this rate.
fn scale_of_draw_rate(rate: f64) -> f64 {
    1.0 / libm::log((1.0 + rate) / (1.0 - rate))
}

/// Elo in pairs of games from unbalanced openings, in which strong players don't draw every game.
fn game_pair_elo(elo: f64) -> f64 {
    const SHARPNESS: f64 = 250.0;
    const MIDPOINT: f64 = 2737.0;
    elo + 0.5 * SHARPNESS * libm::log1p(libm::exp((MIDPOINT - elo) / SHARPNESS))
}

/// Scale s of players without any skill.
const SCALE_ZERO: f64 = 15.0;
/// The difference in Elo over which the scale falls by a factor of e.
const ELO_SLOPE: f64 = 425.0;
/// Where the scale begins to fall, in units of [`ELO_SLOPE`].
const ELO_OFFSET: f64 = 6.75;

/// Scale s of a player's moves, by the player's Elo in game pairs: a sigmoid that Lc0's authors fitted to Stockfish's
/// levels.
fn scale_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 / SCALE_ZERO + libm::exp(elo / ELO_SLOPE - ELO_OFFSET))
}

/// Integral of `ln 10/200 · scale` over the Elo.
fn mu_of_elo(elo: f64) -> f64 {
    -LN_10 / 200.0 * SCALE_ZERO * ELO_SLOPE * libm::log1p(libm::exp(ELO_OFFSET - elo / ELO_SLOPE) / SCALE_ZERO)
}

/// `ContemptMode`: which side the contempt belongs to. White is the side that moves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ContemptMode {
    /// The side to move at the root; no side in a search that goes on until it is stopped, since that is analysis, in
    /// which no side is ours.
    #[default]
    Play,
    /// White, whichever side is to move.
    WhiteSideAnalysis,
    /// Black, whichever side is to move.
    BlackSideAnalysis,
    /// No side.
    Disable,
}

impl ContemptMode {
    /// Each mode with its name, in Lc0's order.
    const NAMED: [(&'static str, Self); 4] = [
        ("play", Self::Play),
        ("white_side_analysis", Self::WhiteSideAnalysis),
        ("black_side_analysis", Self::BlackSideAnalysis),
        ("disable", Self::Disable),
    ];

    /// The modes' names, for the table of options. The order is Lc0's.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::NAMED.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::NAMED[at].0;
            at += 1;
        }
        names
    };

    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(its, _)| *its == name).map(|(_, mode)| *mode)
    }
}

/// All that a program has to keep about contempt between two searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contempt {
    /// `ContemptMode`.
    pub mode: ContemptMode,
    /// What contempt does to the values of the side that has it.
    pub rescale: Rescale,
    /// `WDLEvalObjectivity`, in `[0, 1]`.
    pub objectivity: f64,
}

impl Default for Contempt {
    fn default() -> Self {
        Self { mode: ContemptMode::Play, rescale: Rescale::default(), objectivity: 1.0 }
    }
}

impl Contempt {
    /// True if there is contempt that a search without an end (analysis) ignores.
    pub fn is_idle_in_analysis(&self) -> bool {
        self.mode == ContemptMode::Play && self.rescale.diff != 0.0
    }

    /// How values change in a search, as the side to move at the root sees it. `endless`: the search goes on until it
    /// is stopped (`go infinite`). The draw rate changes even if no side has contempt.
    ///
    /// Nodes keep the values that they were given: a tree that was searched with another side's contempt, or with
    /// another [`Rescale`], has to be cleared.
    pub fn at_root(&self, white_to_move: bool, endless: bool) -> Rescale {
        let own = match self.mode {
            ContemptMode::Play if !endless => true,
            ContemptMode::WhiteSideAnalysis => white_to_move,
            ContemptMode::BlackSideAnalysis => !white_to_move,
            ContemptMode::Play | ContemptMode::Disable => return Rescale { diff: 0.0, ..self.rescale },
        };
        if own { self.rescale } else { self.rescale.from_the_other_side() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn value(w: f32, d: f32, l: f32) -> Value {
        Value { wl: w - l, d, m: 30.0 }
    }

    fn near(value: Value, wl: f32, d: f32) -> bool {
        (value.wl - wl).abs() < 1e-5 && (value.d - d).abs() < 1e-5 && value.m == 30.0
    }

    #[test]
    fn mu_and_s() {
        for (w, d, l, mu) in [
            (0.3, 0.6, 0.1, 0.4434),
            (0.5, 0.4, 0.1, 1.0),
            (0.4, 0.5, 0.1, 0.68843),
            (0.6, 0.3, 0.1, 1.45259),
            (0.3, 0.3, 0.4, -0.35269),
        ] {
            let of = Logistic::of(w - l, d).unwrap();
            assert!((of.mu - mu).abs() < 1e-5, "{w} {d} {l}: {of:?}");
            let (wl, same_d) = of.wl_and_d();
            assert!((wl - (w - l)).abs() < 1e-12 && (same_d - d).abs() < 1e-12);
        }
        for (wl, d) in [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (-0.9999, 0.0001), (f64::NAN, 0.5), (0.9, 0.5)] {
            assert_eq!(Logistic::of(wl, d), None, "{wl} {d}");
        }
    }

    /// Contempt, target and reference draw rate → ratio and diff.
    #[test]
    fn ratio_and_diff_by_draw_rate() {
        for (contempt, draw_rate_target, draw_rate_reference, ratio, diff) in [
            (100.0, 0.0, 0.5, 1.0, 0.874449),
            (100.0, 0.8, 0.5, 0.5, 0.654209),
            (200.0, 0.0, 0.6, 1.0, 2.497528),
            // As one thousandth, not as 0.
            (0.0, 0.0005, 0.5, 549.306, 0.0),
        ] {
            let params = RescaleParams { draw_rate_target, draw_rate_reference, ..RescaleParams::default() };
            let made = params.rescale(contempt);
            assert!((made.ratio / ratio - 1.0).abs() < 1e-5 && (made.diff - diff).abs() < 1e-5, "{made:?}");
            assert_eq!(params.rescale(-contempt).diff, -made.diff);
        }
        assert!(RescaleParams::default().rescale(0.0).changes_nothing());
    }

    /// Contempt, reference draw rate and Elo → ratio and diff.
    #[test]
    fn ratio_and_diff_by_elo() {
        for (contempt, draw_rate_reference, calibration_elo, ratio, diff) in [
            (200.0, 0.58, 2800.0, 1.483695, 3.246265),
            (100.0, 0.5, 3400.0, 0.342404, 0.411678),
            (0.0, 0.5, 2800.0, 1.022854, 0.0),
        ] {
            let params = RescaleParams { draw_rate_reference, calibration_elo, ..RescaleParams::default() };
            let made = params.rescale(contempt);
            assert!((made.ratio - ratio).abs() < 1e-5 && (made.diff - diff).abs() < 1e-5, "{made:?}");
        }
    }

    #[test]
    fn too_much_contempt_is_the_most() {
        for calibration_elo in [0.0, 3000.0] {
            let params = RescaleParams { calibration_elo, attenuation: 2.0, ..RescaleParams::default() };
            assert_eq!(params.rescale(1000.0), params.rescale(420.0));
            assert_eq!(params.rescale(-1000.0), params.rescale(-420.0));
            let halved = RescaleParams { attenuation: 1.0, ..params };
            assert!((params.rescale(50.0).diff - 2.0 * halved.rescale(50.0).diff).abs() < 1e-12);
        }
    }

    /// Computed apart from this code, from the formulas of the description.
    #[test]
    fn values_and_back() {
        let contempt = Rescale { ratio: 1.0, diff: 0.874449, ..Rescale::default() };
        let sharper = Rescale { ratio: 0.5, diff: 0.654209, ..Rescale::default() };
        for (rescale, (w, d, l), applied, undone) in [
            (contempt, (0.3, 0.6, 0.1), (0.373331, 0.508919), (0.029568, 0.64079)),
            (sharper, (0.3, 0.6, 0.1), (0.297374, 0.692227), (-0.311346, 0.545982)),
            (contempt, (0.1, 0.6, 0.3), (-0.029568, 0.64079), (-0.373331, 0.508919)),
            (sharper, (0.5, 0.4, 0.1), (0.763177, 0.229347), (-0.116045, 0.491075)),
            // s is 4.98: the bound of 1.4 counts.
            (contempt, (0.45, 0.1, 0.45), (0.498982, 0.249396), (-0.168637, 0.097128)),
            (sharper, (0.45, 0.1, 0.45), (0.562503, 0.363584), (-0.126691, 0.098379)),
            (sharper, (0.01, 0.98, 0.01), (0.000059, 0.999788), (-0.011856, 0.976778)),
        ] {
            let value = value(w, d, l);
            assert!(near(rescale.apply(value), applied.0, applied.1), "{:?}", rescale.apply(value));
            assert!(near(rescale.undo(value, 1.0), undone.0, undone.1), "{:?}", rescale.undo(value, 1.0));
        }
    }

    #[test]
    fn what_stays_as_it_is() {
        let contempt = Rescale { ratio: 0.5, diff: 0.9, ..Rescale::default() };
        for decided in [Value::WIN, Value::LOSS, Value::DRAW, Value::EVEN, Value { wl: f32::NAN, d: 0.5, m: 1.0 }] {
            let same = |value: Value| value.wl.to_bits() == decided.wl.to_bits() && value.d == decided.d;
            assert!(same(contempt.apply(decided)) && same(contempt.undo(decided, 1.0)));
        }
        // s is above its bound, and yet.
        let wide = value(0.45, 0.1, 0.45);
        assert_eq!(Rescale::default().apply(wide), wide);
        assert_eq!(Rescale { ratio: 0.5, ..Rescale::default() }.undo(wide, 1.0), wide);
        assert_eq!(contempt.undo(wide, 0.0), wide);
    }

    #[test]
    fn who_has_the_contempt() {
        let rescale = Rescale { ratio: 0.5, diff: 0.9, ..Rescale::default() };
        // To move and endless, or not: white, black, white endless, black endless.
        for (mode, expected) in [
            ("play", [0.9, 0.9, 0.0, 0.0]),
            ("white_side_analysis", [0.9, -0.9, 0.9, -0.9]),
            ("black_side_analysis", [-0.9, 0.9, -0.9, 0.9]),
            ("disable", [0.0; 4]),
        ] {
            let mode = ContemptMode::from_name(mode).unwrap();
            let contempt = Contempt { mode, rescale, objectivity: 1.0 };
            let searches = [(true, false), (false, false), (true, true), (false, true)];
            let diffs = searches.map(|(white, endless)| contempt.at_root(white, endless));
            assert_eq!(diffs.map(|r| r.diff), expected, "{mode:?}");
            assert_eq!(diffs.map(|r| r.ratio), [0.5; 4]);
        }
        assert!(ContemptMode::NAMES.iter().all(|name| ContemptMode::from_name(name).is_some()));
        assert_eq!(ContemptMode::from_name("Play"), None);
        assert_eq!([0, 1, 2, 3].map(|plies| rescale.at(plies).diff), [0.9, -0.9, 0.9, -0.9]);
    }

    /// A value and a rescale out of small integers, as wide as the options go.
    fn some(w: u8, d: u8, l: u8, ratio: u8, diff: i8) -> (Value, Rescale) {
        let sum = f32::from(w) + f32::from(d) + f32::from(l) + 3.0;
        let [w, d, l] = [w, d, l].map(|part| (f32::from(part) + 1.0) / sum);
        let rescale =
            Rescale { ratio: (f64::from(ratio) + 10.0) / 100.0, diff: f64::from(diff) / 40.0, ..Rescale::default() };
        (value(w, d, l), rescale)
    }

    /// Single precision keeps little of a probability near its bound.
    fn blurred(v: Value) -> bool {
        let parts = [v.d, 0.5 * (1.0 + v.wl - v.d), 0.5 * (1.0 - v.wl - v.d)];
        parts.iter().any(|p| *p < 0.002)
    }

    #[test]
    fn half_the_objectivity_takes_half_the_shift_back() {
        let rescale = Rescale { diff: 0.6, ..Rescale::default() };
        let made = rescale.apply(value(0.3, 0.5, 0.2));
        let mu = |objectivity| {
            let shown = rescale.undo(made, objectivity);
            Logistic::of(shown.wl.into(), shown.d.into()).unwrap().mu
        };
        assert!(mu(0.0) > mu(1.0) + 0.05);
        assert!((mu(0.5) - (mu(0.0) + mu(1.0)) / 2.0).abs() < 1e-5);
    }

    quickcheck! {
        fn values_stay_values(w: u8, d: u8, l: u8, ratio: u8, diff: i8) -> bool {
            let (value, rescale) = some(w, d, l, ratio, diff);
            [rescale.apply(value), rescale.undo(value, 0.7)].iter().all(|v| {
                (0.0..=1.0).contains(&v.d) && v.wl.abs() <= 1.0 && v.wl.abs() + v.d <= 1.0 + 1e-6
            })
        }

        fn both_sides_see_the_same(w: u8, d: u8, l: u8, ratio: u8, diff: i8) -> bool {
            let (value, rescale) = some(w, d, l, ratio, diff);
            let other = Value { wl: -value.wl, ..value };
            let (ours, theirs) = (rescale.apply(value), rescale.from_the_other_side().apply(other));
            (ours.wl + theirs.wl).abs() < 1e-5 && (ours.d - theirs.d).abs() < 1e-5
        }

        fn the_original_comes_back(w: u8, d: u8, l: u8, ratio: u8, diff: i8) -> bool {
            let (value, rescale) = some(w, d, l, ratio, diff);
            let applied = rescale.apply(value);
            let too_wide = Logistic::of(value.wl.into(), value.d.into()).is_none_or(|before| before.s > rescale.max_s);
            let back = rescale.original(applied);
            too_wide || blurred(applied) || (back.wl - value.wl).abs() < 2e-3 && (back.d - value.d).abs() < 2e-3
        }

        /// The mean comes back; the draw rate is that of the games.
        fn undo_takes_the_shift_back(w: u8, d: u8, l: u8, ratio: u8, diff: i8) -> bool {
            let (value, rescale) = some(w, d, l, ratio, diff);
            let Some(before) = Logistic::of(value.wl.into(), value.d.into()) else { return true };
            let shown = rescale.undo(rescale.apply(value), 1.0);
            if blurred(rescale.apply(value)) || blurred(shown) || before.s > rescale.max_s {
                return true;
            }
            let after = Logistic::of(shown.wl.into(), shown.d.into()).unwrap();
            (after.mu - before.mu).abs() < 2e-3 && (after.s / before.s / rescale.ratio - 1.0).abs() < 2e-3
        }

        fn a_weaker_opponent_makes_it_better(w: u8, d: u8, l: u8, ratio: u8, a: i8, b: i8) -> bool {
            let (value, fewer) = some(w, d, l, ratio, a.min(b));
            let (_, more) = some(w, d, l, ratio, a.max(b));
            // A rescale that changes nothing does not bound s either.
            fewer.changes_nothing() || more.changes_nothing() || fewer.apply(value).wl <= more.apply(value).wl
        }
    }
}
