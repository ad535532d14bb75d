//! The arguments of `lz-analyze`, `kata-analyze` and similar commands, and the lines that these commands write.

use oncilla_go::{Color, Move, Size};
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use super::args::{self, Args};
use crate::fields::{A_DEPTH, A_PLAYER, BadField, MoveRule, MoveRules, Object};
use crate::go::restrictions::vertex_of_rule;
use crate::go::{Restrictions, Wanted, vertex};
use crate::text::quoted;

/// The program whose format the lines have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Win rates in ten thousandths.
    Lz,
    /// All fields, with fractions.
    Kata,
}

/// What a command asks for.
#[derive(Clone, Debug, Default)]
pub struct AnalyzeRequest {
    /// The time from one line to the next; `None` for no lines before the end.
    pub interval: Option<Duration>,
    /// The largest number of moves in a line; `None` for all.
    max_moves: Option<usize>,
    /// Moves that are left out.
    pub restrictions: Arc<Restrictions>,
    /// The optional contents of a line.
    pub wanted: Wanted,
    root_info: bool,
    pv_visits: bool,
    pv_edge_visits: bool,
}

/// A shorter interval counts as this one.
const SHORTEST: Duration = Duration::from_millis(10);

/// The longest interval, in hundredths of a second: some thirty years.
const LONGEST: f64 = 1e11;

impl AnalyzeRequest {
    /// Asks for the ownership of points, without passes: a search that may end the game counts dead stones as it finds
    /// them.
    pub fn without_passes(size: Size) -> Self {
        let pass = |player| MoveRule { player, moves: vec![size.pass()], until_depth: usize::MAX };
        let restrictions = Restrictions::of(MoveRules { only: false, rules: Color::ALL.map(pass).into() }, size);
        Self {
            restrictions: restrictions.into(),
            wanted: Wanted { ownership: true, ..Wanted::default() },
            ..Self::default()
        }
    }

    /// Reads `[player] [interval] KEY VALUE …`; also returns whose turn it is.
    ///
    /// # Errors
    /// What was expected, and what was found.
    pub fn read(args: Args<'_>, size: Size, to_move: Color) -> Result<(Self, Color), String> {
        let (mut request, mut color, mut rest) = (Self::default(), to_move, args);
        let (mut avoid, mut allow) = (Vec::new(), Vec::new());
        let first = |rest: &mut Args<'_>, is_it: &dyn Fn(&str) -> bool| {
            let (word, others) = rest.split_first().filter(|(word, _)| is_it(word))?;
            *rest = others;
            Some(word.clone())
        };
        if let Some(word) = first(&mut rest, &|word| args::color(word).is_ok()) {
            color = args::color(&word)?;
        }
        if let Some(word) = first(&mut rest, &|word| word.parse::<f64>().is_ok()) {
            request.interval = Some(interval(&word)?);
        }
        while let Some((key, others)) = rest.split_first() {
            let value = || others.first().ok_or_else(|| args::expected(&format!("a value of {key}"), rest));
            let mut used = 1;
            match key.to_ascii_lowercase().as_str() {
                "interval" => request.interval = Some(interval(value()?)?),
                "minmoves" => request.wanted.min_moves = args::number(value()?, "a number of moves")?,
                "maxmoves" => request.max_moves = Some(args::number(value()?, "a number of moves")?),
                "ownership" => request.wanted.ownership = switch(value()?)?,
                "ownershipstdev" => request.wanted.ownership_stdev = switch(value()?)?,
                "movesownership" => request.wanted.moves_ownership = switch(value()?)?,
                "movesownershipstdev" => request.wanted.moves_ownership_stdev = switch(value()?)?,
                "pvvisits" => request.pv_visits = switch(value()?)?,
                "pvedgevisits" => request.pv_edge_visits = switch(value()?)?,
                "noresultvalue" => request.wanted.no_result_value = switch(value()?)?,
                "rootinfo" => request.root_info = switch(value()?)?,
                "avoid" | "allow" => {
                    let rule = WrittenRule::of(others)
                        .ok_or_else(|| args::expected("PLAYER VERTEX,VERTEX,… DEPTH", others))?;
                    (if key.eq_ignore_ascii_case("avoid") { &mut avoid } else { &mut allow }).push(rule);
                    used = 3;
                }
                _ => return Err(args::expected(KEYS, rest)),
            }
            rest = &others[used..];
        }
        request.restrictions = restrictions(&avoid, &allow, size)?.into();
        request.wanted.pv_visits = request.pv_visits || request.pv_edge_visits;
        Ok((request, color))
    }

    /// The line, without its end, for a reporter's `answer` about a search.
    pub fn line(&self, style: Style, answer: &Object) -> String {
        let infos = answer.get("moveInfos").and_then(Value::as_array).into_iter().flatten();
        let shown = infos.filter_map(Value::as_object).take(self.max_moves.unwrap_or(usize::MAX));
        let mut parts: Vec<String> = shown.map(|info| self.move_info(style, info)).collect();
        if style == Style::Kata {
            if self.root_info
                && let Some(root) = answer.get("rootInfo").and_then(Value::as_object)
            {
                parts.push(named("rootInfo", &ROOT, root));
            }
            parts.extend(["ownership", "ownershipStdev"].into_iter().filter_map(|name| list(name, name, answer)));
        }
        parts.join(" ")
    }

    fn move_info(&self, style: Style, info: &Object) -> String {
        let mut text = format!("info move {}", plain(&info["move"]));
        match style {
            Style::Lz => {
                let _ = write!(text, " visits {}", plain(&info["visits"]));
                for name in ["winrate", "prior", "lcb"] {
                    let share = info.get(name).and_then(Value::as_f64).unwrap_or_default();
                    let _ = write!(text, " {name} {}", (10_000.0 * share).round());
                }
            }
            Style::Kata => text.push_str(&named("", &MOVE, info)),
        }
        let _ = write!(text, " order {}", plain(&info["order"]));
        let of_kata = style == Style::Kata;
        // If one kind of visits is wanted, both are given.
        let lists = [
            ("pv", "pv", true),
            ("pvVisits", "pvVisits", self.pv_visits),
            ("pvEdgeVisits", "pvEdgeVisits", self.pv_edge_visits),
            ("movesOwnership", "ownership", of_kata),
            ("movesOwnershipStdev", "ownershipStdev", of_kata),
        ];
        for (name, field, _) in lists.iter().filter(|(_, _, is_told)| *is_told) {
            if let Some(list) = list(name, field, info) {
                let _ = write!(text, " {list}");
            }
        }
        text
    }
}

const KEYS: &str = "interval, minmoves, maxmoves, avoid, allow, ownership, ownershipStdev, movesOwnership, movesOwnershipStdev, \
                    pvVisits, pvEdgeVisits, noResultValue or rootInfo, and its value";

fn interval(text: &str) -> Result<Duration, String> {
    let what = format!("hundredths of a second, from 0 to {LONGEST:e}");
    let hundredths: f64 = args::number(text, &what)?;
    if !(0.0..=LONGEST).contains(&hundredths) {
        return Err(format!("syntax error: expected {what}, got {}", quoted(text)));
    }
    Ok(Duration::from_secs_f64(hundredths / 100.0).max(SHORTEST))
}

fn switch(text: &str) -> Result<bool, String> {
    args::number(&text.to_ascii_lowercase(), "true or false")
}

/// The arguments of `avoid` or `allow`. They are read after all other arguments, whose errors are named first.
struct WrittenRule<'a> {
    player: &'a str,
    moves: &'a str,
    until_depth: u32,
}

impl<'a> WrittenRule<'a> {
    fn of(words: Args<'a>) -> Option<Self> {
        let [player, moves, depth, ..] = words else { return None };
        Some(Self { player, moves, until_depth: depth.parse().ok()? })
    }

    /// The rule, with errors as for an entry of a query's `avoidMoves` or `allowMoves`.
    fn read(&self, size: Size) -> Result<MoveRule<Color, Vec<Move>>, BadField> {
        let player = vertex::player(self.player).ok_or_else(|| BadField::new("player", A_PLAYER))?;
        let moves = self.moves.split(',').map(str::trim).filter(|text| !text.is_empty());
        let moves = moves.map(|text| vertex_of_rule(text, size)).collect::<Result<_, _>>()?;
        match self.until_depth {
            0 => Err(BadField::new("untilDepth", A_DEPTH)),
            depth => Ok(MoveRule { player, moves, until_depth: depth as usize }),
        }
    }
}

/// What is left out by `avoid` and `allow`, of which each player may have one.
fn restrictions(avoid: &[WrittenRule<'_>], allow: &[WrittenRule<'_>], size: Size) -> Result<Restrictions, String> {
    let read = |key: &str, only, list| {
        let rules = MoveRules::of(only, list, |rule: &WrittenRule<'_>| rule.read(size));
        rules.map(|rules| Restrictions::of(rules, size)).map_err(|bad| format!("{key}: {}", bad.error))
    };
    let (avoided, others) = (read("avoid", false, avoid)?, read("allow", true, allow)?);
    avoided.and(others).ok_or_else(|| "syntax error: Cannot specify both avoid and allow for a player".to_string())
}

/// The fields of a move, in KataGo's order.
const MOVE: [&str; 14] = [
    "visits",
    "edgeVisits",
    "utility",
    "winrate",
    "scoreMean",
    "scoreStdev",
    "scoreLead",
    "scoreSelfplay",
    "prior",
    "lcb",
    "utilityLcb",
    "weight",
    "noResultValue",
    "isSymmetryOf",
];

/// The fields of the root, in KataGo's order. It names the lead twice, as in a move's fields.
const ROOT: [&str; 19] = [
    "visits",
    "utility",
    "winrate",
    "scoreMean",
    "scoreStdev",
    "scoreLead",
    "scoreSelfplay",
    "weight",
    "rawWinrate",
    "rawLead",
    "rawScoreSelfplay",
    "rawScoreSelfplayStdev",
    "rawNoResultProb",
    "rawStWrError",
    "rawStScoreError",
    "rawVarTimeLeft",
    "currentPlayer",
    "symHash",
    "thisHash",
];

/// The names and values of those fields that `object` has. An analysis names a root's lead only once.
fn named(title: &str, names: &[&str], object: &Object) -> String {
    let lead = |name: &str| object.get("scoreLead").filter(|_| name == "scoreMean");
    let value = |name: &str| object.get(name).or_else(|| lead(name));
    let pairs = names.iter().filter_map(|name| Some(format!(" {name} {}", plain(value(name)?))));
    format!("{title}{}", pairs.collect::<String>())
}

fn list(name: &str, field: &str, object: &Object) -> Option<String> {
    let values = object.get(field)?.as_array()?;
    Some(format!("{name}{}", values.iter().map(|value| format!(" {}", plain(value))).collect::<String>()))
}

/// Writes a text without quotes, and a number as it is.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SIZE: Size = Size::STANDARD;

    fn read(text: &str) -> Result<(AnalyzeRequest, Color), String> {
        let args: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        AnalyzeRequest::read(&args, SIZE, Color::Black)
    }

    #[test]
    fn players_and_intervals_may_stand_before_the_rest() {
        for (text, color, interval) in [
            ("", Color::Black, None),
            ("w", Color::White, None),
            ("50", Color::Black, Some(500)),
            ("white 50 maxmoves 3", Color::White, Some(500)),
            ("interval 7", Color::Black, Some(70)),
            ("b 0", Color::Black, Some(10)),
        ] {
            let (request, to_move) = read(text).unwrap();
            assert_eq!((to_move, request.interval.map(|every| every.as_millis())), (color, interval), "{text}");
        }
    }

    #[test]
    fn keys_mean_something() {
        let (request, _) = read(
            "minmoves 2 maxmoves 5 ownership true ownershipStdev TRUE movesOwnership false pvVisits true pvEdgeVisits true rootInfo true \
             avoid b D4,Q16 3 avoid w pass 1",
        )
        .unwrap();
        assert!(
            request.wanted.ownership && request.wanted.ownership_stdev && request.wanted.pv_visits && request.root_info
        );
        assert!(!request.wanted.moves_ownership);
        assert_eq!((request.wanted.min_moves, request.max_moves), (2, Some(5)));
        let at = |text| SIZE.parse(text).unwrap();
        assert!(
            !request.restrictions.allows(Color::Black, 2, at("D4"))
                && request.restrictions.allows(Color::Black, 3, at("D4"))
        );
        assert!(!request.restrictions.allows(Color::White, 0, SIZE.pass()));
        let (request, _) = read("allow b D4,E5 1 avoid w C3 3").unwrap();
        let allows = |color, text| request.restrictions.allows(color, 0, at(text));
        assert!(allows(Color::Black, "E5") && !allows(Color::Black, "C3"));
        assert!(allows(Color::White, "E5") && !allows(Color::White, "C3"));
        let (request, _) = read("allow b D4 1").unwrap();
        assert!(
            request.restrictions.allows(Color::Black, 0, at("D4"))
                && !request.restrictions.allows(Color::Black, 0, at("C3"))
        );
    }

    #[test]
    fn without_passes_nobody_passes() {
        let AnalyzeRequest { restrictions, .. } = AnalyzeRequest::without_passes(SIZE);
        for color in Color::ALL {
            assert!([0, 1_000_000].iter().all(|depth| !restrictions.allows(color, *depth, SIZE.pass())));
            assert!(SIZE.points().all(|point| restrictions.allows(color, 0, point)));
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        for (text, part) in [
            ("-5", "hundredths"),
            ("nan", "hundredths"),
            ("foo 1", "expected interval, minmoves"),
            ("maxmoves", "a value of maxmoves"),
            ("maxmoves x", "a number of moves"),
            ("ownership yes", "true or false"),
            ("avoid b D4", "PLAYER VERTEX"),
            ("avoid b Z4 1", "Could not parse board location: Z4"),
            ("avoid b D4 0", "avoid: Must be a positive integer"),
            ("avoid green D4 1", "avoid: Must be \"b\" or \"w\""),
            ("avoid green D4 1 maxmoves x", "a number of moves"),
            ("allow b D4 1 allow b E5 1", "allow: Cannot specify allowMoves more than once for the same player"),
            ("allow b D4 1 allow x D4 1 allow b D4 1", "allow: Currently allowMoves only allows at most one entry"),
            ("avoid b D4 1 allow b D4 1", "Cannot specify both"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn lines_have_their_formats() {
        let info = json!({
            "move": "D4", "visits": 12, "edgeVisits": 11, "winrate": 0.4802, "prior": 0.2211, "lcb": 0.4781, "order": 0,
            "pv": ["D4", "Q16"], "utility": -0.5, "ownership": [0.5, -0.25],
        });
        let answer = json!({
            "moveInfos": [info], "rootInfo": { "visits": 13, "winrate": 0.48, "utility": -0.5, "scoreLead": 1.5 },
            "ownership": [1.0, 0.0],
        });
        let answer = answer.as_object().unwrap();
        let line = |text: &str, style| read(text).unwrap().0.line(style, answer);
        let lz = line("", Style::Lz);
        assert_eq!(lz, "info move D4 visits 12 winrate 4802 prior 2211 lcb 4781 order 0 pv D4 Q16");
        let kata = line("rootInfo true", Style::Kata);
        assert_eq!(
            kata,
            "info move D4 visits 12 edgeVisits 11 utility -0.5 winrate 0.4802 prior 0.2211 lcb 0.4781 order 0 pv D4 Q16 \
             movesOwnership 0.5 -0.25 rootInfo visits 13 utility -0.5 winrate 0.48 scoreMean 1.5 scoreLead 1.5 ownership 1.0 0.0"
        );
        assert_eq!(line("maxmoves 0", Style::Lz), "");
    }
}
