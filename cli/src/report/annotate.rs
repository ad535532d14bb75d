//! Writes a game with the engine's comments as PGN.

use std::borrow::Cow;
use std::io::{self, Write};

use super::judge::{Judged, Judgement, Mark, Position};
use super::pgn::{Game, Played};
use crate::score::per_mille;

/// The longest line in PGN's export format.
const WIDTH: usize = 80;

/// The number of moves shown of a better line.
const LINE: usize = 8;

/// The start of the name under which Oncilla annotates.
const NAME: &str = "Oncilla ";

/// Writes the game: its own tags, comments, NAGs and variations, and behind each move the value of the position after
/// it. A bad move gets its NAG and the better line, which replace those of an earlier report.
///
/// # Errors
/// The errors of the output.
pub fn write(output: &mut impl Write, game: &Game, judgement: &Judgement) -> io::Result<()> {
    for (name, value) in game.tags.iter().filter(|(name, _)| name != "Annotator") {
        writeln!(output, "[{name} \"{}\"]", escaped(value))?;
    }
    if game.tag("Result").is_none() {
        writeln!(output, "[Result \"{}\"]", game.result)?;
    }
    writeln!(output, "[Annotator \"{}\"]\n", escaped(&annotators(game)))?;
    let mut text = Wrapped { output, column: 0 };
    for comment in &game.comments {
        text.comment(comment)?;
    }
    let first_ply = game.start().ply() as usize;
    let is_again = game.tag("Annotator").is_some_and(|names| names.split(", ").any(is_ours));
    for (turn, (played, judged)) in game.moves.iter().zip(&judgement.moves).enumerate() {
        let played = if is_again { Cow::Owned(without_verdicts(played.clone())) } else { Cow::Borrowed(played) };
        let [before, after] = [turn, turn + 1].map(|at| &judgement.positions[at]);
        text.played(first_ply + turn, &played, judged, before, after)?;
    }
    text.word(&game.result)?;
    write!(text.output, "\n\n")
}

/// Whether the game has a sign at a move: NAGs from 1 to 6 rate the move, and a move gets only one rating.
fn is_rated(played: &Played) -> bool {
    played.nags.iter().any(|nag| (1..=6).contains(nag))
}

/// The NAGs of a move: those of the game, and its mark's.
fn nags(played: &Played, mark: Option<Mark>) -> impl Iterator<Item = u8> {
    mark.map(Mark::nag).filter(|_| !is_rated(played)).into_iter().chain(played.nags.iter().copied())
}

/// What is said of a move: the value of the position after it, and whether it was bad. The mark is named unless the
/// game itself has its sign there: so a later report knows whose the sign is.
fn remark(played: &Played, judged: &Judged, before: &Position, after: &Position) -> String {
    let mut says = value(after);
    if let Some((mark, best)) = judged.mark.zip(before.line.first()) {
        let percent = |winrate: f64| (winrate * 100.0).round();
        let [from, to] = [before.played_on, after.winrate].map(percent);
        let name = if played.nags.contains(&mark.nag()) { String::new() } else { format!("{}, ", mark.name()) };
        says.push_str(&format!(" {name}{from}% → {to}%: {best}"));
    }
    says
}

/// The annotators of the original game, and Oncilla.
fn annotators(game: &Game) -> String {
    let ours = format!("{NAME}{}", env!("CARGO_PKG_VERSION"));
    let names = game.tag("Annotator").unwrap_or("").trim().split(", ");
    let others = names.filter(|name| !["", "?"].contains(name) && !is_ours(name));
    others.chain([ours.as_str()]).collect::<Vec<_>>().join(", ")
}

/// Whether an annotator's name is that of Oncilla in any version.
fn is_ours(name: &str) -> bool {
    name.starts_with(NAME)
}

/// A move of a report's game without what the report said of it: of each verdict the text, its NAG, and the last
/// variation that begins with the move that the verdict names, as the report's own is behind the others.
fn without_verdicts(mut played: Played) -> Played {
    for comment in &mut played.comments {
        let plain = without_values(comment).unwrap_or_default();
        let Some(Verdict { mark, best, rest }) = Verdict::read(plain.trim_start()) else { continue };
        if let Some(at) = played.nags.iter().position(|nag| mark.is_some_and(|mark| *nag == mark.nag())) {
            played.nags.remove(at);
        }
        if let Some(at) = played.variations.iter().rposition(|variation| first_move(variation) == Some(best)) {
            played.variations.remove(at);
        }
        *comment = rest.trim_start().to_string();
    }
    played.comments.retain(|comment| !comment.is_empty());
    played
}

/// What a report says of a bad move (`inaccuracy, 57% → 48%: Bxc6`, or the same without its mark's name), and what
/// others have added to it.
struct Verdict<'t> {
    /// The mark whose sign is the report's.
    mark: Option<Mark>,
    best: &'t str,
    rest: &'t str,
}

impl<'t> Verdict<'t> {
    /// Reads the verdict at the start of a text.
    fn read(text: &'t str) -> Option<Self> {
        let marks = [Mark::Inaccuracy, Mark::Mistake, Mark::Blunder].into_iter();
        let named = |mark: Mark| Some((mark, text.strip_prefix(mark.name())?.strip_prefix(", ")?));
        let (mark, behind) = marks.filter_map(named).next().map_or((None, text), |(mark, behind)| (Some(mark), behind));
        let (numbers, behind) = behind.split_once(": ")?;
        let (from, to) = numbers.split_once(" → ")?;
        let is_percent = |text: &str| text.strip_suffix('%').is_some_and(|number| number.parse::<u8>().is_ok());
        let (best, rest) = behind.split_at(behind.find(' ').unwrap_or(behind.len()));
        (is_percent(from) && is_percent(to)).then_some(Self { mark, best, rest })
    }
}

/// The first move of a variation that begins with a move and its number.
fn first_move(variation: &str) -> Option<&str> {
    let mut words = variation.split(' ').map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    words.find(|word| !word.is_empty())
}

/// `12.` before White's moves, `12...` before Black's.
fn number(ply: usize) -> String {
    format!("{}{}", ply / 2 + 1, if ply.is_multiple_of(2) { "." } else { "..." })
}

/// The start of a better line from `ply`.
fn variation(ply: usize, line: &[String]) -> String {
    let mut words = Vec::new();
    for (later, san) in line.iter().take(LINE).enumerate() {
        if later == 0 || (ply + later).is_multiple_of(2) {
            words.push(number(ply + later));
        }
        words.push(san.clone());
    }
    words.join(" ")
}

/// A position's value as commands that other programs can read: pawns or moves to mate, and WDL in thousandths, from
/// White's view.
fn value(position: &Position) -> String {
    let eval = match position.mate {
        // A position with mate on the board has no `%eval`: `#0` would not say who has won.
        None if position.is_mate => String::new(),
        Some(moves) => format!("[%eval #{moves}] "),
        None => format!("[%eval {:.2}] ", f64::from(position.cp) / 100.0),
    };
    let [w, d, l] = position.wdl;
    let [w, d, l] = per_mille(w - l, d);
    format!("{eval}[%wdl {w} {d} {l}]")
}

/// The starts of the commands that [`value`] writes.
const VALUES: [&str; 2] = ["[%eval ", "[%wdl "];

/// A comment of the original game without the values in it, because a reader could use either those or ours. `None` if
/// nothing else is in it.
fn without_values(comment: &str) -> Option<String> {
    let rest = VALUES.iter().fold(comment.to_string(), |rest, command| without(&rest, command));
    Some(rest).filter(|rest| rest == comment || !rest.trim().is_empty())
}

/// Removes all occurrences of a command up to its closing bracket.
fn without(text: &str, command: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, value)) = rest.split_once(command)
        && let Some((_, behind)) = value.split_once(']')
    {
        kept.push_str(before);
        rest = behind;
    }
    kept + rest
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Writes words in lines of at most [`WIDTH`] characters; a longer word gets a line of its own.
struct Wrapped<'o, W> {
    output: &'o mut W,
    column: usize,
}

impl<W: Write> Wrapped<'_, W> {
    fn word(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (unit, behind) = rest.split_at(unit_length(rest));
            self.unit(&unit.split_whitespace().collect::<Vec<_>>().join(" "))?;
            rest = behind.trim_start();
        }
        Ok(())
    }

    /// Writes text that is not broken.
    fn unit(&mut self, text: &str) -> io::Result<()> {
        let length = text.chars().count();
        let space = match self.column {
            0 => "",
            column if column + 1 + length > WIDTH => "\n",
            _ => " ",
        };
        self.column = length + if space == " " { self.column + 1 } else { 0 };
        write!(self.output, "{space}{text}")
    }

    /// Writes a move and everything that belongs to it.
    fn played(
        &mut self,
        ply: usize,
        played: &Played,
        judged: &Judged,
        before: &Position,
        after: &Position,
    ) -> io::Result<()> {
        // Black's moves need a number too, because a comment precedes them.
        self.word(&number(ply))?;
        self.word(&judged.san)?;
        nags(played, judged.mark).try_for_each(|nag| self.word(&format!("${nag}")))?;
        self.comment(&remark(played, judged, before, after))?;
        for comment in played.comments.iter().filter_map(|comment| without_values(comment)) {
            self.comment(&comment)?;
        }
        for variation in &played.variations {
            self.word(&format!("({variation})"))?;
        }
        // Behind the game's own, because of two variations with the same moves some programs keep only the first.
        if judged.mark.is_some() && !before.line.is_empty() {
            self.word(&format!("({})", variation(ply, &before.line)))?;
        }
        Ok(())
    }

    fn comment(&mut self, text: &str) -> io::Result<()> {
        self.word(&format!("{{ {text} }}"))
    }
}

/// The length of the words at the start of a text that have to be in the same line.
fn unit_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        at += whole_length(&text[at..]);
        let rest = text[at..].trim_start();
        // A line must not begin with a character that starts an escape or a tag.
        if !rest.starts_with(['%', '[']) {
            return at;
        }
        at = text.len() - rest.len();
    }
}

/// The length of the word at the start of a text, with the rest of the command that begins in it: programs do not look
/// for commands in two lines.
fn whole_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        let end = at + text[at..].find(char::is_whitespace).unwrap_or(text.len() - at);
        let Some(command) = text[at..end].rfind("[%").map(|begin| at + begin) else { return end };
        match command_length(&text[command..]) {
            Some(length) if command + length > end => at = command + length,
            _ => return end,
        }
    }
}

/// The longest command that is kept in one line, in bytes.
const LONGEST_COMMAND: usize = 1024;

/// The length of the command at the start of a text. It contains no other bracket, so the search for its end stops at
/// the next one, and a text of nothing but beginnings is searched once.
fn command_length(text: &str) -> Option<usize> {
    let end = 1 + text[1..].find(['[', ']'])?;
    (text[end..].starts_with(']') && end < LONGEST_COMMAND).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::judge::tests::{REPEATED, judged};
    use crate::report::pgn::{NextGame, Reader};

    fn written(game: &Game, judgement: &Judgement) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, game, judgement).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_mistake_gets_its_sign_and_the_better_line() {
        let text = "[White \"a\\\\b\\\"\"]\n\n{before} 1. e4 $14 {own} (1. d4 d5) f6 $2 *";
        let (game, judgement) = judged(text, &[(0.55, "e2e4"), (0.5, "e7e5 g1f3 b8c6"), (0.65, "d2d4")]);
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "[White \"a\\\\b\\\"\"]\n[Result \"*\"]\n[Annotator \"Oncilla {version}\"]\n\n\
             {{ before }} 1. e4 $14 {{ [%eval 0.50] [%wdl 500 0 500] }} {{ own }} (1. d4 d5) 1...\n\
             f6 $2 {{ [%eval 0.65] [%wdl 650 0 350] blunder, 50% → 65%: e5 }} (1... e5 2. Nf3\n\
             Nc6) *\n\n"
        );
        assert_eq!(written(&game, &judgement), expected);
    }

    #[test]
    fn who_has_annotated_before_is_named_beside_us() {
        let version = env!("CARGO_PKG_VERSION");
        for (before, after) in [
            ("Me \\\"2\\\"", format!("Me \\\"2\\\", Oncilla {version}")),
            (&format!("Me, Oncilla {version}"), format!("Me, Oncilla {version}")),
            ("?", format!("Oncilla {version}")),
        ] {
            let (game, judgement) = judged(&format!("[Annotator \"{before}\"]\n\n*"), &[(0.5, "")]);
            let text = written(&game, &judgement);
            assert!(
                text.contains(&format!("[Annotator \"{after}\"]\n")) && text.matches("Annotator").count() == 1,
                "{text}"
            );
        }
    }

    #[test]
    fn the_values_of_others_give_way_to_ours() {
        let text = "1. e4 { [%eval 0.18] [%clk 0:03:00] good } e5 { [%eval #-3] [%wdl 1 2 3] } 2. d4 { [%eval 0.1 } *";
        let (game, judgement) = judged(text, &[(0.5, "e2e4"), (0.5, "e7e5"), (0.5, "d2d4"), (0.5, "")]);
        let own = "{ [%eval 0.50] [%wdl 500 0 500] }";
        let expected = format!("1. e4 {own} {{ [%clk 0:03:00] good }} 1... e5 {own} 2. d4 {own} {{ [%eval 0.1 }} *");
        let out = written(&game, &judgement);
        let moves = out.split("\n\n").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(moves, expected);
    }

    /// With as many commands as fit into a game. If each removal moved the rest of the text, this would take an hour.
    #[test]
    fn comments_may_be_nothing_but_commands() {
        let [evals, brackets] = ["[%eval ]", "[ "].map(|part| part.repeat((8 << 20) / part.len()));
        assert_eq!(without_values(&evals), None);
        assert_eq!(without_values(&format!("{evals}good [%wdl 1 2 3]{evals}[%eval ")).as_deref(), Some("good [%eval "));
        let mut output = Vec::new();
        Wrapped { output: &mut output, column: 0 }.word(&brackets).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), brackets.trim_end());
    }

    #[test]
    fn a_mate_has_no_evaluation() {
        let text = "[FEN \"6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1\"]\n\n1. Ra8# 1-0";
        let (game, judgement) = judged(text, &[(0.9, "a1a8"), (1.0, "")]);
        assert!(written(&game, &judgement).contains("1. Ra8# { [%wdl 1000 0 0] } 1-0"));
    }

    #[test]
    fn a_move_beyond_a_draw_is_compared_with_what_the_search_found() {
        let searched = [(0.98, ""); 9].into_iter().chain([(0.98, ""), (0.98, "d3d8"), (0.6, "")]);
        let (game, judgement) = judged(&format!("{REPEATED} Kf8 6. Qd4 *"), &searched.collect::<Vec<_>>());
        let text = written(&game, &judgement).replace('\n', " ");
        assert!(text.contains("5. Qd3 $4 { [%eval 0.00] [%wdl 0 1000 0] } 5... Kf8 { [%eval 0.98]"), "{text}");
        assert!(text.contains("blunder, 98% → 60%: Qd8"), "{text}");
        let end = "[FEN \"6k1/5ppp/8/8/8/8/1Q3PPP/6K1 w - - 99 80\"]\n\n80. Qb3 Kf8 81. Qa3+ *";
        let (game, judgement) = judged(end, &[(0.9, ""), (0.9, ""), (0.9, "b3b8"), (0.9, "")]);
        let text = written(&game, &judgement).replace('\n', " ");
        assert!(text.contains("81. Qa3+ $4 {") && text.contains("blunder, 90% → 50%: Qb8+"), "{text}");
    }

    #[test]
    fn no_line_begins_with_an_escape_or_a_tag() {
        let words = "a % [x] ".repeat(200);
        let (game, judgement) = judged(&format!("1. e4 {{{words}}} *"), &[(0.5, "e2e4"), (0.5, "")]);
        let out = written(&game, &judgement);
        let text: Vec<&str> = out.lines().skip(3).collect();
        assert!(text.len() > 20 && text.iter().all(|line| !line.starts_with(['%', '['])), "{out}");
        let again = Reader::new(out.as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        assert_eq!(again.moves[0].comments[1], words.trim());
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = "[FEN \"4k3/8/8/8/8/8/8/R3K3 b Q - 0 40\"]\n\n40... Ke7 {a} 41. O-O-O (41. Ra7+ {b (} Kd6 (41... Kf6)) Kf6 1/2-1/2";
        let told = [(0.8, "e8d7"), (0.95, "a1a7 e7d6"), (0.7, "e7e6"), (0.72, "")];
        let (game, judgement) = judged(text, &told);
        let out = written(&game, &judgement);
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        let again = Reader::new(out.as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        let moves = |game: &Game| game.moves.iter().map(|played| played.mv).collect::<Vec<_>>();
        assert_eq!((moves(&again), again.result.as_str()), (moves(&game), "1/2-1/2"));
        assert_eq!(again.moves[1].variations.len(), 2, "the engine's and the game's own");
    }

    /// A game of a report, annotated once more by a search that may find something else.
    fn again(text: &str, first: &[(f64, &str)], second: &[(f64, &str)]) -> String {
        let (game, judgement) = judged(text, first);
        let (game, judgement) = judged(&written(&game, &judgement), second);
        written(&game, &judgement).split("\n\n").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_report_of_a_report_has_only_its_own_verdicts() {
        let own = "1. f3 $18 {why} (1. e4 e5) (1. d4) *";
        let blunder = [(0.5, "e2e4 c7c5"), (0.2, "")];
        let value = "{ [%eval 0.20] [%wdl 200 0 800] ";
        let kept = "{ why } (1. e4 e5) (1. d4)";
        let verdict = format!("1. f3 $4 $18 {value}blunder, 50% → 20%: e4 }} {kept} (1. e4 c5) *");
        assert_eq!(again(own, &blunder, &blunder), verdict);
        let other = [(0.28, "c2c4"), (0.2, "")];
        let milder = format!("1. f3 $6 $18 {value}inaccuracy, 28% → 20%: c4 }} {kept} (1. c4) *");
        assert_eq!(again(own, &blunder, &other), milder);
        let good = [(0.2, "f2f3"), (0.2, "")];
        assert_eq!(again(own, &blunder, &good), format!("1. f3 $18 {value}}} {kept} *"));
        // A sign of the game's own stays, whatever a report says of the move.
        let signed = "1. f3 $4 (1. d4) *";
        let said = format!("1. f3 $4 {value}50% → 20%: e4 }} (1. d4) (1. e4 c5) *");
        assert_eq!(again(signed, &blunder, &blunder), said);
        assert_eq!(again(signed, &blunder, &good), format!("1. f3 $4 {value}}} (1. d4) *"));
    }

    #[test]
    fn what_others_say_of_a_move_is_no_verdict_of_ours() {
        let says = "{ blunder, 50% → 20%: e4 } (1. e4)";
        let good = [(0.2, "f2f3"), (0.2, "")];
        for (annotator, is_kept) in [("Me", true), ("Me, Oncilla 0.0", false)] {
            let (game, judgement) = judged(&format!("[Annotator \"{annotator}\"]\n\n1. f3 $4 {says} *"), &good);
            assert_eq!(written(&game, &judgement).contains(&format!(" }} {says} *")), is_kept, "{annotator}");
        }
        for text in
            ["a blunder, 50% → 20%: e4", "blunder, 50 → 20: e4", "blunder, 50%: e4", "blunder", "good, 1% → 2%: a"]
        {
            assert!(Verdict::read(text).is_none(), "{text}");
        }
        let merged = Verdict::read("mistake, 50% → 38%: Nf3+ I agree").unwrap();
        assert_eq!((merged.mark, merged.best, merged.rest), (Some(Mark::Mistake), "Nf3+", " I agree"));
    }

    #[test]
    fn a_version_of_ours_takes_the_place_of_an_earlier_one() {
        let (game, judgement) = judged("[Annotator \"Oncilla 0.0, Me\"]\n\n*", &[(0.5, "")]);
        let annotator = format!("[Annotator \"Me, Oncilla {}\"]\n", env!("CARGO_PKG_VERSION"));
        assert!(written(&game, &judgement).contains(&annotator));
    }

    #[test]
    fn commands_are_in_one_line() {
        let long = (0..200).map(|word| word.to_string()).collect::<Vec<_>>().join(" ");
        let words = ["a"; 7].map(|word| format!("{word} [%clk 0:10:00] b[%emt 0:00:01] [%eval2 1 2 3] "));
        let comment = format!("{} {long} [%open {long}", words.concat());
        let (game, judgement) =
            judged(&format!("1. e4 {{{comment}}} e5 *"), &[(0.5, "e2e4"), (0.5, "e7e5"), (0.5, "")]);
        let out = written(&game, &judgement);
        for command in ["[%clk 0:10:00]", "[%emt 0:00:01]", "[%eval2 1 2 3]", "[%wdl 500 0 500]"] {
            let whole = out.lines().map(|line| line.matches(command).count()).sum::<usize>();
            let begun = out.matches(command.split(' ').next().unwrap()).count();
            assert!(whole == begun && whole > 1, "{command}: {out}");
        }
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "a command without an end: {out}");
    }

    #[test]
    fn commands_without_an_end_are_written_in_one_pass() {
        for part in ["[% ", "x[%", "[%a b ", "[%a\tb c] d "] {
            let text = part.repeat((8 << 20) / part.len());
            let mut output = Vec::new();
            Wrapped { output: &mut output, column: 0 }.word(&text).unwrap();
            assert!(output.iter().filter(|c| **c != b'\n').count() >= text.len() / 2);
        }
    }

    #[test]
    fn a_move_has_one_verdict() {
        for (nag, signs) in [("$6", " $6 {"), ("$7", " $4 $7 {")] {
            let (game, judgement) = judged(&format!("1. f3 {nag} *"), &[(0.5, "e2e4"), (0.2, "")]);
            let text = written(&game, &judgement);
            assert!(text.contains(&format!("1. f3{signs}")), "{text}");
        }
    }

    #[test]
    fn letters_of_several_bytes_take_one_column() {
        let words = ["é".repeat(30), "é".repeat(20)].join(" ");
        let (game, judgement) = judged(&format!("{{{words}}} *"), &[(0.5, "")]);
        assert!(written(&game, &judgement).contains(&format!("{{ {words} }} *")));
    }

    #[test]
    fn eight_moves_of_a_better_line_are_shown() {
        let line = ["a"; 9].map(str::to_string);
        assert_eq!(variation(1, &line), "1... a 2. a a 3. a a 4. a a 5. a");
    }
}
