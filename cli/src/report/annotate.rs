//! Writes a game with the engine's comments as PGN.

use std::io::{self, Write};

use super::judge::{Judgement, Position};
use super::pgn::Game;
use crate::score::per_mille;

/// The longest line in PGN's export format.
const WIDTH: usize = 80;

/// The number of moves shown of a better line.
const LINE: usize = 8;

/// Writes the game: its own tags, comments, NAGs and variations, and behind each move the value of the position after
/// it. A bad move gets its NAG and the better line.
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
    for (turn, (played, judged)) in game.moves.iter().zip(&judgement.moves).enumerate() {
        let ply = first_ply + turn;
        // Black's moves need a number too, because a comment precedes them.
        text.word(&number(ply))?;
        text.word(&judged.san)?;
        let own = judged.mark.map(|mark| mark.nag());
        // NAGs from 1 to 6 rate the move, and a move gets only one rating.
        let has_verdict = played.nags.iter().any(|nag| (1..=6).contains(nag));
        for nag in own.filter(|_| !has_verdict).iter().chain(&played.nags) {
            text.word(&format!("${nag}"))?;
        }
        let (before, after) = (&judgement.positions[turn], &judgement.positions[turn + 1]);
        let mut says = vec![value(after)];
        if let Some((mark, best)) = judged.mark.zip(before.line.first()) {
            let percent = |winrate: f64| (winrate * 100.0).round();
            let [from, to] = [before.played_on, after.winrate].map(percent);
            says.push(format!("{}, {from}% → {to}%: {best}", mark.name()));
        }
        text.comment(&says.join(" "))?;
        for comment in played.comments.iter().filter_map(|comment| without_values(comment)) {
            text.comment(&comment)?;
        }
        if judged.mark.is_some() && !before.line.is_empty() {
            text.word(&format!("({})", variation(ply, &before.line)))?;
        }
        for variation in &played.variations {
            text.word(&format!("({variation})"))?;
        }
    }
    text.word(&game.result)?;
    write!(text.output, "\n\n")
}

/// The annotators of the original game, and Oncilla.
fn annotators(game: &Game) -> String {
    const OURS: &str = concat!("Oncilla ", env!("CARGO_PKG_VERSION"));
    match game.tag("Annotator").map(str::trim) {
        None | Some("" | "?") => OURS.to_string(),
        Some(others) if others.split(", ").any(|name| name == OURS) => others.to_string(),
        Some(others) => format!("{others}, {OURS}"),
    }
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
        // A line must not begin with a character that starts an escape or a tag.
        let is_bound = |word: &str| word.starts_with(['%', '[']);
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut unit = word.to_string();
            while let Some(next) = words.next_if(|next| is_bound(next)) {
                unit.push(' ');
                unit.push_str(next);
            }
            self.unit(&unit)?;
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

    fn comment(&mut self, text: &str) -> io::Result<()> {
        self.word(&format!("{{ {text} }}"))
    }
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
