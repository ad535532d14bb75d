//! Writes an HTML page with all games, which needs no other files: it contains the data, the style sheet and the
//! script.
//!
//! Each game's data are a JSON element, which is written when the game has been analysed; the page's script draws a
//! game when it is opened. So the program keeps the data of only one game in memory, even for thousands of games.

use std::io::{self, Write};

use oncilla_chess::{Color, Move};
use serde_json::{Value, json};

use super::judge::{Judgement, Position, Summary};
use super::pgn::Game;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Numbers are rounded to four decimals.
const DIGITS: f64 = 1e4;

/// The heading of the page.
pub struct Heading {
    /// The file's name.
    pub title: String,
    /// The engine and its limits.
    pub engine: String,
}

/// Writes the start of the page.
///
/// # Errors
/// The errors of the output.
pub fn begin(output: &mut impl Write, heading: &Heading) -> io::Result<()> {
    let (title, engine) = (escaped(&heading.title), escaped(&heading.engine));
    write!(
        output,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1><p>{engine}</p></header>\n\
         <noscript><p>The games are drawn by the script in this page.</p></noscript>\n<main>\n"
    )
}

/// Writes a game.
///
/// # Errors
/// The errors of the output.
pub fn game(output: &mut impl Write, game: &Game, judgement: &Judgement) -> io::Result<()> {
    let moves = judgement.moves.iter().enumerate().map(|(turn, judged)| {
        let [from, to] = squares(judged.mv);
        json!({
            "san": judged.san, "from": from, "to": to, "loss": rounded(judged.loss), "mark": judged.mark.map(|mark| mark.name()),
            "comments": game.moves[turn].comments,
        })
    });
    let data = json!({
        "number": game.number,
        "tags": game.tags.iter().map(|(name, value)| json!([name, value])).collect::<Value>(),
        "result": game.result,
        "ply": game.start().ply(),
        "positions": judgement.positions.iter().map(position).collect::<Value>(),
        "moves": moves.collect::<Value>(),
        "white": summary(&judgement.summary(Color::White)),
        "black": summary(&judgement.summary(Color::Black)),
    });
    // A `<` in the data could end the element.
    let text = data.to_string().replace('<', "\\u003c");
    writeln!(output, "<script type=\"application/json\" class=\"game\">{text}</script>")
}

/// Writes the end of the page; `skipped` are lines about games that could not be read.
///
/// # Errors
/// The errors of the output.
pub fn end(output: &mut impl Write, skipped: &[String]) -> io::Result<()> {
    writeln!(output, "</main>")?;
    if !skipped.is_empty() {
        writeln!(output, "<section class=\"skipped\"><h2>Passed over</h2>")?;
        for line in skipped {
            writeln!(output, "<p>{}</p>", escaped(line))?;
        }
        writeln!(output, "</section>")?;
    }
    write!(output, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

fn position(position: &Position) -> Value {
    let placement = position.fen.split(' ').next();
    json!({
        "board": placement,
        "mover": if position.mover == Color::White { "w" } else { "b" },
        "score": rounded(position.winrate),
        "playedOn": rounded(position.played_on),
        "wdl": position.wdl.map(rounded),
        "cp": position.cp,
        "mate": position.mate,
        "mated": position.is_mate,
        "left": position.moves_left.map(|plies| (plies * 10.0).round() / 10.0),
        "visits": position.visits,
        "line": position.line,
        "best": position.best.map(squares),
    })
}

fn summary(summary: &Summary) -> Value {
    json!({ "moves": summary.moves, "loss": rounded(summary.mean_loss), "marks": summary.marks })
}

fn squares(mv: Move) -> [usize; 2] {
    [mv.from as usize, mv.to as usize]
}

fn rounded(x: f64) -> f64 {
    (x * DIGITS).round() / DIGITS
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::judge::tests::judged;

    #[test]
    fn text_of_a_game_can_not_break_out() {
        let text = "[White \"</script><b>\"]\n\n1. e4 {<!-- </script>} *";
        let (read, judgement) = judged(text, &[(0.5, "d2d4"), (0.5, "")]);
        let mut bytes = Vec::new();
        let heading = Heading { title: "<i>\"&".to_string(), engine: "<u>".to_string() };
        begin(&mut bytes, &heading).unwrap();
        game(&mut bytes, &read, &judgement).unwrap();
        end(&mut bytes, &["<s>".to_string()]).unwrap();
        let page = String::from_utf8(bytes).unwrap();
        assert_eq!(page.matches("</script>").count(), 2, "of the data and of the script");
        for tag in ["<b>", "<i>", "<u>", "<s>", "<!--"] {
            assert!(!page.contains(tag), "{tag}");
        }
        assert!(page.contains("<title>&lt;i&gt;&quot;&amp;</title>"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for text in [STYLE, SCRIPT] {
            for word in ["url(", "@import", "fetch(", "XMLHttpRequest", "src=", "import("] {
                assert!(!text.contains(word), "{word}");
            }
        }
        // The only URL is the name of SVG's namespace.
        assert_eq!(SCRIPT.matches("http").count(), SCRIPT.matches("http://www.w3.org/2000/svg").count());
        assert!(!STYLE.contains("http"));
    }

    #[test]
    fn the_data_of_a_game_are_its_own() {
        let text = "[FEN \"4k3/8/8/8/8/8/8/R3K3 b Q - 0 40\"]\n\n40... Ke7 41. Ra7+ *";
        let data = |last| {
            let (read, judgement) = judged(text, &[(0.8, "e8d7"), (0.99, "a1a7"), (last, "")]);
            let mut bytes = Vec::new();
            game(&mut bytes, &read, &judgement).unwrap();
            let page = String::from_utf8(bytes).unwrap();
            serde_json::from_str::<Value>(page.split(['>', '<']).nth(2).unwrap()).unwrap()
        };
        let lost = data(1.0);
        assert_eq!(lost["positions"][2]["mated"], false, "a search of one visit knows no move of a lost ending");
        let data = data(0.99);
        assert_eq!(
            (&data["ply"], &data["positions"][0]["mover"], &data["positions"][1]["mover"]),
            (&json!(79), &json!("b"), &json!("w"))
        );
        assert_eq!((&data["black"]["marks"], &data["white"]["marks"]), (&json!([0, 0, 1]), &json!([0, 0, 0])));
        assert_eq!(data["positions"][2]["mated"], false, "nobody has lost");
    }
}
