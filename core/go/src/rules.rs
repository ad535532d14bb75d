//! The differences between the rules of Go.
//!
//! The axes and their names are KataGo's, whose networks are told which of these rules hold.

use core::fmt;
use core::str::FromStr;

/// Which positions may not be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KoRule {
    /// A stone that has just captured one stone may not itself, alone, be captured at once. A pass that repeats an
    /// earlier pass of the same player in the same position ends the game, and so does, without a result, a position
    /// that occurs for the third time with the same player to move since the last pass.
    #[default]
    Simple,
    /// No move may bring back an earlier arrangement of stones.
    Positional,
    /// No move may bring back an earlier arrangement of stones with the same player to move.
    Situational,
    /// No move may bring back an arrangement of stones that occurred since the last pass. A pass that repeats an
    /// earlier pass of the same player in the same position ends the game, and nothing else does: among passes in a
    /// row, that is the third.
    Spight,
}

impl KoRule {
    /// All ko rules, with their names.
    pub const ALL: [(&'static str, KoRule); 4] = [
        ("SIMPLE", KoRule::Simple),
        ("POSITIONAL", KoRule::Positional),
        ("SITUATIONAL", KoRule::Situational),
        ("SPIGHT", KoRule::Spight),
    ];

    /// The ko rule with this name, as in [`KoRule::ALL`].
    pub fn from_name(name: &str) -> Option<KoRule> {
        find(&Self::ALL, name)
    }

    /// The ko rule's name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }

    /// Whether the rule forbids more than the immediate recapture.
    pub fn is_superko(self) -> bool {
        self != KoRule::Simple
    }

    /// Whether two passes in a row end the game.
    pub(crate) fn ends_by_two_passes(self) -> bool {
        self != KoRule::Spight
    }

    /// Whether a pass lifts all bans, and a pass that repeats another one ends the game.
    pub(crate) fn pass_begins_anew(self) -> bool {
        matches!(self, KoRule::Simple | KoRule::Spight)
    }
}

/// What counts as a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scoring {
    /// Stones and surrounded points.
    #[default]
    Area,
    /// Surrounded points and captured stones.
    Territory,
}

impl Scoring {
    /// Both scorings, with their names.
    pub const ALL: [(&'static str, Scoring); 2] = [("AREA", Scoring::Area), ("TERRITORY", Scoring::Territory)];

    /// The scoring with this name, as in [`Scoring::ALL`].
    pub fn from_name(name: &str) -> Option<Scoring> {
        find(&Self::ALL, name)
    }

    /// The scoring's name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }
}

/// Which surrounded points do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tax {
    /// All of them count.
    #[default]
    None,
    /// Those in a seki don't count.
    Seki,
    /// Those in a seki don't count, nor do two points of every living group.
    All,
}

impl Tax {
    /// All taxes, with their names.
    pub const ALL: [(&'static str, Tax); 3] = [("NONE", Tax::None), ("SEKI", Tax::Seki), ("ALL", Tax::All)];

    /// The tax with this name, as in [`Tax::ALL`].
    pub fn from_name(name: &str) -> Option<Tax> {
        find(&Self::ALL, name)
    }

    /// The tax's name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }
}

/// What White gets for handicap stones, besides the komi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HandicapBonus {
    /// Nothing.
    #[default]
    Zero,
    /// A point for each stone.
    N,
    /// A point for each stone but the first.
    NMinusOne,
}

impl HandicapBonus {
    /// All bonuses, with their names.
    pub const ALL: [(&'static str, HandicapBonus); 3] =
        [("0", HandicapBonus::Zero), ("N", HandicapBonus::N), ("N-1", HandicapBonus::NMinusOne)];

    /// The bonus with this name, as in [`HandicapBonus::ALL`].
    pub fn from_name(name: &str) -> Option<HandicapBonus> {
        find(&Self::ALL, name)
    }

    /// The bonus's name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }

    /// The points for a number of handicap stones.
    pub fn points(self, stones: usize) -> usize {
        match self {
            HandicapBonus::Zero => 0,
            HandicapBonus::N => stones,
            HandicapBonus::NMinusOne => stones.saturating_sub(1),
        }
    }
}

fn find<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(other, _)| *other == name).map(|&(_, value)| value)
}

fn name_of<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|&&(_, other)| other == value).map_or("", |&(name, _)| name)
}

/// The points that White gets for moving second: a multiple of one half, from −400 to 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Komi(i16);

impl Komi {
    /// The largest komi in points, either way.
    pub const MAX: i16 = 400;

    /// A komi of `halves` half points. `None` beyond twice [`Komi::MAX`].
    pub const fn from_halves(halves: i16) -> Option<Komi> {
        if halves < -2 * Self::MAX || halves > 2 * Self::MAX { None } else { Some(Komi(halves)) }
    }

    /// A komi of `points` points. `None` if that is not a multiple of one half, or beyond [`Komi::MAX`].
    pub fn from_points(points: f32) -> Option<Komi> {
        // A cast turns NaN into 0 and stops at the ends: then the comparison fails.
        let halves = (points * 2.0) as i16;
        if f32::from(halves) == points * 2.0 { Self::from_halves(halves) } else { None }
    }

    /// The komi in half points.
    pub const fn halves(self) -> i16 {
        self.0
    }

    /// The komi in points.
    pub fn points(self) -> f32 {
        f32::from(self.0) / 2.0
    }
}

impl fmt::Display for Komi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.points().fmt(f)
    }
}

/// Rules: a choice on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Which positions may not be repeated.
    pub ko: KoRule,
    /// What counts as a point.
    pub scoring: Scoring,
    /// Which surrounded points do not count.
    pub tax: Tax,
    /// Whether a move may leave its own chain, of two stones or more, without liberties, and so remove it.
    pub suicide: bool,
    /// Whether the first to pass gets half a point for it. Such a pass does not count towards the end.
    pub button: bool,
    /// What White gets for handicap stones.
    pub handicap_bonus: HandicapBonus,
    /// Whether players may pass before all dead stones are captured, and agree which ones are dead. The rules
    /// themselves still count what is on the board; a network is not told of a pass that would end the game.
    pub friendly_pass: bool,
    /// White's compensation.
    pub komi: Komi,
}

impl Rules {
    /// Tromp and Taylor's: positional superko, area, suicide, komi 7.5. As in KataGo, stones that stay on the board in a
    /// region which is [`pass_alive`](crate::area::pass_alive) for the opponent count for the opponent; by the letter of
    /// these rules they would count for their owner.
    pub const TROMP_TAYLOR: Rules = Rules {
        ko: KoRule::Positional,
        scoring: Scoring::Area,
        tax: Tax::None,
        suicide: true,
        button: false,
        handicap_bonus: HandicapBonus::Zero,
        friendly_pass: false,
        komi: Komi(15),
    };

    const CHINESE: Rules = Rules {
        ko: KoRule::Simple,
        suicide: false,
        handicap_bonus: HandicapBonus::N,
        friendly_pass: true,
        ..Self::TROMP_TAYLOR
    };

    const CHINESE_ON_SERVERS: Rules = Rules { ko: KoRule::Positional, ..Self::CHINESE };

    const JAPANESE: Rules = Rules {
        ko: KoRule::Simple,
        scoring: Scoring::Territory,
        tax: Tax::Seki,
        suicide: false,
        komi: Komi(13),
        ..Self::TROMP_TAYLOR
    };

    const AGA: Rules = Rules { ko: KoRule::Situational, handicap_bonus: HandicapBonus::NMinusOne, ..Self::CHINESE };

    const AGA_BUTTON: Rules = Rules { button: true, komi: Komi(14), ..Self::AGA };

    const NEW_ZEALAND: Rules =
        Rules { ko: KoRule::Situational, friendly_pass: true, komi: Komi(14), ..Self::TROMP_TAYLOR };

    const ING: Rules = Rules { friendly_pass: true, ..Self::TROMP_TAYLOR };

    const STONE_SCORING: Rules = Rules { tax: Tax::All, handicap_bonus: HandicapBonus::Zero, ..Self::CHINESE };

    const ANCIENT_TERRITORY: Rules = Rules { tax: Tax::All, ..Self::JAPANESE };

    /// The sets of rules that have a name, as in KataGo's table. Several names stand for the same set.
    pub const NAMED: [(&'static str, Rules); 16] = [
        ("tromp-taylor", Self::TROMP_TAYLOR),
        ("chinese", Self::CHINESE),
        ("chinese-ogs", Self::CHINESE_ON_SERVERS),
        ("chinese-kgs", Self::CHINESE_ON_SERVERS),
        ("japanese", Self::JAPANESE),
        ("korean", Self::JAPANESE),
        ("aga", Self::AGA),
        ("bga", Self::AGA),
        ("french", Self::AGA),
        ("aga-button", Self::AGA_BUTTON),
        ("new-zealand", Self::NEW_ZEALAND),
        ("goe", Self::ING),
        ("ing", Self::ING),
        ("stone-scoring", Self::STONE_SCORING),
        ("ancient-area", Self::STONE_SCORING),
        ("ancient-territory", Self::ANCIENT_TERRITORY),
    ];

    /// The rules with this name, as in [`Rules::NAMED`].
    ///
    /// ```
    /// use oncilla_go::{KoRule, Rules};
    /// assert_eq!(Rules::from_name("aga").unwrap().ko, KoRule::Situational);
    /// assert_eq!(Rules::from_name("chess"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Rules> {
        find(&Self::NAMED, name)
    }

    /// Whether scores are whole numbers, so that a score may be 0: the button is worth half a point.
    pub fn may_draw(&self) -> bool {
        (self.komi.halves() % 2 == 0) != self.button
    }

    /// The default komi: 7.5; with the button 7; if territory is counted 6.5.
    pub fn usual_komi(scoring: Scoring, button: bool) -> Komi {
        match (scoring, button) {
            (Scoring::Territory, _) => Self::JAPANESE.komi,
            (Scoring::Area, true) => Self::AGA_BUTTON.komi,
            (Scoring::Area, false) => Self::TROMP_TAYLOR.komi,
        }
    }

    /// The default tax: if territory is counted, points in a seki don't count.
    pub fn usual_tax(scoring: Scoring) -> Tax {
        if scoring == Scoring::Territory { Tax::Seki } else { Tax::None }
    }

    /// The rules with this tax and this komi; what is `None` follows the scoring.
    pub fn with_usual(self, tax: Option<Tax>, komi: Option<Komi>) -> Rules {
        let tax = tax.unwrap_or(Self::usual_tax(self.scoring));
        let komi = komi.unwrap_or(Self::usual_komi(self.scoring, self.button));
        Rules { tax, komi, ..self }
    }
}

/// A text that is neither a name of rules nor in the compact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RulesError;

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither a name of rules nor their compact form")
    }
}

impl core::error::Error for RulesError {}

impl FromStr for Rules {
    type Err = RulesError;

    /// Reads a name as a person writes it, in either case and with `-`, `_`, a blank or nothing between its words, or
    /// the compact form in which [`Rules`] are displayed. What the compact form leaves out is as in
    /// [`Rules::TROMP_TAYLOR`], except for tax and komi, which follow the scoring.
    ///
    /// ```
    /// use oncilla_go::{Rules, Tax};
    /// assert_eq!("Tromp Taylor".parse(), Ok(Rules::TROMP_TAYLOR));
    /// let rules: Rules = "koSIMPLEscoreTERRITORYsui0".parse()?;
    /// assert_eq!((rules.tax, rules.komi.points()), (Tax::Seki, 6.5));
    /// assert_eq!(rules.to_string(), "koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5");
    /// # Ok::<(), oncilla_go::RulesError>(())
    /// ```
    fn from_str(text: &str) -> Result<Rules, RulesError> {
        let text = text.trim();
        let named = Self::NAMED.iter().chain(&SHORT_NAMES).find(|(name, _)| letters(name).eq(letters(text)));
        named.map_or_else(|| compact(text).ok_or(RulesError), |&(_, rules)| Ok(rules))
    }
}

/// Names that stand for one of [`Rules::NAMED`] without being listed there.
const SHORT_NAMES: [(&str, Rules); 1] = [("nz", Rules::NEW_ZEALAND)];

/// The part of a name that is compared.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase())
}

/// Reads the compact form: the choices on the axes, one after the other.
fn compact(text: &str) -> Option<Rules> {
    let mut rules = Rules::TROMP_TAYLOR;
    let (mut tax, mut komi) = (None, None);
    let mut rest = Some(text).filter(|text| !text.is_empty())?;
    while !rest.is_empty() {
        // "komi" begins with "ko", and "scoring" is another word for "score".
        rest = if let Some(after) = after(rest, "komi") {
            let (points, after) =
                after.split_at(after.find(|c: char| c.is_alphabetic() || c == ' ').unwrap_or(after.len()));
            komi = Some(Komi::from_points(points.parse().ok()?)?);
            after.trim_start()
        } else if let Some(after) = after(rest, "ko") {
            choose(after, &KoRule::ALL, |ko| rules.ko = ko)?
        } else if let Some(after) = after(rest, "scoring").or_else(|| after(rest, "score")) {
            choose(after, &Scoring::ALL, |scoring| rules.scoring = scoring)?
        } else if let Some(after) = after(rest, "tax") {
            choose(after, &Tax::ALL, |chosen| tax = Some(chosen))?
        } else if let Some(after) = after(rest, "sui") {
            choose(after, &SWITCH, |suicide| rules.suicide = suicide)?
        } else if let Some(after) = after(rest, "button") {
            choose(after, &SWITCH, |button| rules.button = button)?
        } else if let Some(after) = after(rest, "whb") {
            choose(after, &HandicapBonus::ALL, |bonus| rules.handicap_bonus = bonus)?
        } else {
            choose(after(rest, "fpok")?, &SWITCH, |friendly| rules.friendly_pass = friendly)?
        };
    }
    Some(rules.with_usual(tax, komi))
}

/// How the compact form says no and yes.
const SWITCH: [(&str, bool); 2] = [("0", false), ("1", true)];

/// What follows a word and blanks; `None` if the text does not begin with the word.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word).map(str::trim_start)
}

/// Reads one of the names, the longest that fits. Returns what follows it in the text.
fn choose<'t, T: Copy>(text: &'t str, names: &[(&str, T)], choose: impl FnOnce(T)) -> Option<&'t str> {
    let (name, value) = names.iter().filter(|(name, _)| text.starts_with(name)).max_by_key(|(name, _)| name.len())?;
    choose(*value);
    after(text, name)
}

impl fmt::Display for Rules {
    /// KataGo's compact form. Button, bonus and friendly pass are left out if the rules have none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ko, scoring, tax) = (self.ko.name(), self.scoring.name(), self.tax.name());
        write!(f, "ko{ko}score{scoring}tax{tax}sui{}", u8::from(self.suicide))?;
        if self.button {
            f.write_str("button1")?;
        }
        if self.handicap_bonus != HandicapBonus::Zero {
            write!(f, "whb{}", self.handicap_bonus.name())?;
        }
        if self.friendly_pass {
            f.write_str("fpok1")?;
        }
        write!(f, "komi{}", self.komi)
    }
}

impl Default for Rules {
    /// [`Rules::TROMP_TAYLOR`].
    fn default() -> Self {
        Self::TROMP_TAYLOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::format;
    use std::string::ToString;

    /// ko, scoring, tax, suicide, button, bonus, friendly pass, komi.
    type Row = (&'static str, &'static str, &'static str, &'static str, bool, bool, &'static str, bool, f32);

    /// As published, in the order of the table.
    const TABLE: [Row; 10] = [
        ("tromp-taylor", "POSITIONAL", "AREA", "NONE", true, false, "0", false, 7.5),
        ("chinese", "SIMPLE", "AREA", "NONE", false, false, "N", true, 7.5),
        ("chinese-kgs", "POSITIONAL", "AREA", "NONE", false, false, "N", true, 7.5),
        ("korean", "SIMPLE", "TERRITORY", "SEKI", false, false, "0", false, 6.5),
        ("french", "SITUATIONAL", "AREA", "NONE", false, false, "N-1", true, 7.5),
        ("aga-button", "SITUATIONAL", "AREA", "NONE", false, true, "N-1", true, 7.0),
        ("new-zealand", "SITUATIONAL", "AREA", "NONE", true, false, "0", true, 7.0),
        ("goe", "POSITIONAL", "AREA", "NONE", true, false, "0", true, 7.5),
        ("ancient-area", "SIMPLE", "AREA", "ALL", false, false, "0", true, 7.5),
        ("ancient-territory", "SIMPLE", "TERRITORY", "ALL", false, false, "0", false, 6.5),
    ];

    #[test]
    fn named_rules_are_those_of_the_table() {
        for (name, ko, scoring, tax, suicide, button, bonus, friendly_pass, komi) in TABLE {
            let rules = Rules::from_name(name).unwrap();
            assert_eq!((rules.ko.name(), rules.scoring.name(), rules.tax.name()), (ko, scoring, tax), "{name}");
            assert_eq!((rules.suicide, rules.button, rules.friendly_pass), (suicide, button, friendly_pass), "{name}");
            assert_eq!((rules.handicap_bonus.name(), rules.komi.points()), (bonus, komi), "{name}");
        }
        for (a, b) in [("chinese-ogs", "chinese-kgs"), ("japanese", "korean"), ("aga", "bga"), ("ing", "goe")] {
            assert_eq!(Rules::from_name(a), Rules::from_name(b));
        }
        assert_eq!(KoRule::from_name("SPIGHT"), Some(KoRule::Spight));
        assert_eq!((Tax::from_name("SEKI"), Scoring::from_name("area")), (Some(Tax::Seki), None));
    }

    #[test]
    fn komi_is_a_multiple_of_one_half() {
        assert_eq!(Komi::from_points(-7.5).map(Komi::halves), Some(-15));
        assert_eq!(Komi::from_points(400.0).map(Komi::points), Some(400.0));
        for points in [0.25, 400.5, -401.0, f32::NAN, f32::INFINITY, 1e9] {
            assert_eq!(Komi::from_points(points), None, "{points}");
        }
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        for (name, rules) in Rules::NAMED {
            assert_eq!(name.parse(), Ok(rules));
            assert_eq!(name.to_uppercase().replace('-', "_").parse(), Ok(rules), "{name}");
            assert_eq!(format!(" {} ", name.replace('-', "")).parse(), Ok(rules), "{name}");
            assert_eq!(rules.to_string().parse(), Ok(rules), "{name} in compact form");
        }
        assert_eq!("NZ".parse::<Rules>(), "new zealand".parse());
        for text in
            ["", " ", "foo", "chinese japanese", "koFOO", "ko", "scoreAREA sui2", "komi7.25", "komi500", "komi", "1"]
        {
            assert_eq!(text.parse::<Rules>(), Err(RulesError), "{text}");
        }
    }

    #[test]
    fn the_compact_form_says_what_differs() {
        let rules: Rules = "koSIMPLEscoreAREAtaxNONEsui0".parse().unwrap();
        assert_eq!(rules, Rules { ko: KoRule::Simple, suicide: false, ..Rules::TROMP_TAYLOR });
        let rules: Rules = "whbN-1 button1 fpok1 komi-3.5 scoringAREA".parse().unwrap();
        assert_eq!((rules.handicap_bonus, rules.komi.points()), (HandicapBonus::NMinusOne, -3.5));
        assert_eq!(rules.to_string(), "koPOSITIONALscoreAREAtaxNONEsui1button1whbN-1fpok1komi-3.5");
        let komi = |text: &str| text.parse::<Rules>().unwrap().komi.points();
        assert_eq!([komi("button1"), komi("scoreTERRITORYbutton1"), komi("sui1")], [7.0, 6.5, 7.5]);
    }

    #[test]
    fn the_bonus_counts_stones() {
        let points = |bonus: HandicapBonus| [0, 2, 9].map(|stones| bonus.points(stones));
        assert_eq!(points(HandicapBonus::Zero), [0; 3]);
        assert_eq!(points(HandicapBonus::N), [0, 2, 9]);
        assert_eq!(points(HandicapBonus::NMinusOne), [0, 1, 8]);
    }
}
