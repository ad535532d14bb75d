//! Reads and writes the main line of games in SGF (<https://www.red-bean.com/sgf/>).

use oncilla_go::{Board, Color, Komi, MAX_SIDE, Move, PointSet, Rules, SetupError, Size};
use std::fmt::Write;

use super::record::Record;
use super::settings;
use crate::go::{LEAST_SIDE, board_size, setup};
use crate::text::quoted;

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Sgf {
    /// `SZ`.
    pub size: Size,
    /// `KM`.
    pub komi: Option<Komi>,
    /// `RU`.
    pub rules: Option<String>,
    /// `AB` and `AW` before the first move: at most one stone on each point.
    pub stones: Vec<(Color, Move)>,
    /// `PL`.
    pub first: Option<Color>,
    /// The moves of the main line.
    pub moves: Vec<(Color, Move)>,
}

impl Sgf {
    /// The rules that the file names, or the current ones `now` if it names none or none that networks know; with the
    /// file's komi, if it has one. Then why the rules stay as they were, if the file's are not known.
    pub fn rules(&self, now: &Rules) -> (Rules, Option<String>) {
        let (rules, fault) = match self.rules.as_deref().map(settings::named_rules) {
            None => (*now, None),
            Some(Ok(rules)) => (rules, None),
            Some(Err(error)) => (*now, Some(format!("RU: {error}; the rules stay as they were"))),
        };
        (Rules { komi: self.komi.unwrap_or(now.komi), ..rules }, fault)
    }

    /// The game with the first `moves` of the file's moves, under these rules.
    ///
    /// # Errors
    /// One line: stones that can't stand so, or a move that can't be played.
    pub fn record(&self, rules: Rules, moves: usize, black_run_is_handicap: bool) -> Result<Record, String> {
        let board = Board::with_stones(self.size, self.stones.iter().copied()).map_err(|error| error.to_string())?;
        let first = self.first.or(self.moves.first().map(|(color, _)| *color));
        let first = first.unwrap_or_else(|| setup::mover(&board));
        let mut record = Record::starting_from(&board, first, rules, black_run_is_handicap);
        for (color, mv) in self.moves.iter().take(moves) {
            record.play_tolerantly(*color, *mv)?;
        }
        Ok(record)
    }
}

/// A komi of more than this many points is in hundredths of a point, as some servers write it.
const MOST_KOMI: f32 = 150.0;

/// A property and its values.
type Property = (String, Vec<String>);

/// Reads the main line of the first game of a file.
///
/// # Errors
/// One line: the text is not SGF or not a game of Go, the board's size is not supported, a point has two stones, stones
/// are set up after the first move, or the komi can't be read. A game with the komi of another one would be evaluated
/// wrongly, and nobody would know.
pub fn read(text: &str) -> Result<Sgf, String> {
    let properties = main_line(text)?;
    let value = |name: &str| {
        let found = properties.iter().find(|(other, _)| other == name);
        found.and_then(|(_, values)| values.first()).map(|value| value.trim())
    };
    if let Some(game) = value("GM").filter(|game| *game != "1") {
        return Err(format!("GM: expected 1, which is Go, got {}", quoted(game)));
    }
    let size = value("SZ").map_or(Ok(Size::STANDARD), size)?;
    let (from_fox, rules) = (value("AP").is_some_and(|program| program.contains("foxwq")), value("RU"));
    let rules = rules.filter(|rules| !rules.is_empty());
    let komi = value("KM").map(|text| komi(text, rules, from_fox));
    let rules = rules.map(str::to_string);
    let mut sgf = Sgf { size, komi: None, rules, stones: vec![], first: None, moves: vec![] };
    let mut placed = Placed::default();
    for (name, values) in &properties {
        match name.as_str() {
            "B" | "W" => {
                let text = values.first().map_or("", String::as_str);
                sgf.moves.push((color(name), place(name, text, size)?));
            }
            "AB" | "AW" | "AE" if !sgf.moves.is_empty() => {
                return Err(format!("{name}: expected moves alone behind the first move"));
            }
            "AB" | "AW" => {
                for value in values {
                    placed.add(color(name), points(name, value, size)?);
                }
            }
            "AE" => {
                for value in values {
                    placed.clear(points(name, value, size)?);
                }
            }
            // Behind the first move it sets up nothing: each move says whose it is.
            "PL" if sgf.moves.is_empty() => {
                let text = values.first().map_or("", String::as_str);
                sgf.first = crate::go::vertex::player(text.trim());
            }
            _ => {}
        }
    }
    sgf.stones = placed.stones()?;
    // What is wrong with the game itself is named first.
    sgf.komi = komi.transpose().map_err(|error| format!("KM: {error}"))?;
    Ok(sgf)
}

/// A komi of at most this many stones of the Chinese count is doubled to points: 3.75 stones are 7.5 points.
const MOST_STONES: f32 = 5.0;

/// Reads a komi in points, or in hundredths of a point. There are no quarters of a point: a komi that ends in one
/// counts stones on the board, as in China. The server Fox writes hundredths from 25 on, and counts those up to 500 so,
/// whatever the rules: 350 there is 7 points, as in KataGo.
fn komi(text: &str, rules: Option<&str>, from_fox: bool) -> Result<Komi, String> {
    let expected = || format!("expected whole or half points, got {}", quoted(text));
    let written: f32 = text.parse().map_err(|_| expected())?;
    let is_hundredths = written.abs() > MOST_KOMI || from_fox && written.abs() >= 25.0;
    let number = if is_hundredths { written / 100.0 } else { written };
    let is_chinese = rules.is_none_or(|rules| rules.to_ascii_lowercase().contains("chinese"));
    let is_foxs = from_fox && is_hundredths;
    let may_be_stones = (is_chinese || is_foxs) && number.abs() <= MOST_STONES;
    let as_points = Komi::from_points(number).filter(|_| !(may_be_stones && is_foxs));
    let as_stones = || Komi::from_points(2.0 * number).filter(|_| may_be_stones);
    as_points.or_else(as_stones).ok_or_else(expected)
}

/// The stones that a file sets up. They take no more memory if the file names a point again and again.
#[derive(Default)]
struct Placed {
    stones: [PointSet; 2],
    /// Points on which a stone was set up although there was one already.
    twice: PointSet,
}

impl Placed {
    fn add(&mut self, color: Color, points: PointSet) {
        self.twice |= points & (self.stones[0] | self.stones[1]);
        self.stones[color as usize] |= points;
    }

    fn clear(&mut self, points: PointSet) {
        let [black, white] = self.stones;
        *self = Self { stones: [black - points, white - points], twice: self.twice - points };
    }

    /// Each stone and its point; an error if a point got two stones and was not cleared after that.
    fn stones(&self) -> Result<Vec<(Color, Move)>, String> {
        if let Some(point) = self.twice.iter().next() {
            return Err(SetupError::Occupied(point).to_string());
        }
        let of = |color: Color| self.stones[color as usize].iter().map(move |point| (color, point));
        Ok(Color::ALL.into_iter().flat_map(of).collect())
    }
}

fn color(property: &str) -> Color {
    if property.ends_with('W') { Color::White } else { Color::Black }
}

fn size(text: &str) -> Result<Size, String> {
    let (x, y) = text.split_once(':').unwrap_or((text, text));
    let bad = || format!("SZ: expected columns and rows from {LEAST_SIDE} to {MAX_SIDE}, got {}", quoted(text));
    board_size(x, y).ok_or_else(bad)
}

/// Reads a point as two letters. A pass is written as nothing, or as `tt`, which is not a point of any board up to
/// 19×19.
fn place(property: &str, text: &str, size: Size) -> Result<Move, String> {
    let text = text.trim();
    if text.is_empty() || text == "tt" {
        return Ok(size.pass());
    }
    let bad = || format!("{property}: expected a point, as in aa, got {}", quoted(text));
    let &[x, y] = text.as_bytes() else { return Err(bad()) };
    let line = |letter: u8| letter.checked_sub(b'a').filter(|line| *line < 26);
    line(x).zip(line(y)).and_then(|(x, y)| size.point(x, y)).ok_or_else(bad)
}

/// Reads a point, or a rectangle of points, given by two corners.
fn points(property: &str, text: &str, size: Size) -> Result<PointSet, String> {
    let (first, last) = text.split_once(':').unwrap_or((text, text));
    let corner = |text: &str| {
        let point = place(property, text, size)?;
        size.coordinates(point).ok_or_else(|| format!("{property}: expected a point, got a pass"))
    };
    let ((left, top), (right, bottom)) = (corner(first)?, corner(last)?);
    if left > right || top > bottom {
        return Err(format!(
            "{property}: expected the upper left corner and then the lower right one, got {}",
            quoted(text)
        ));
    }
    Ok((top..=bottom).flat_map(|y| (left..=right).filter_map(move |x| size.point(x, y))).collect())
}

/// The properties of the first game's main line, in their order. The main line always follows the first variation.
fn main_line(text: &str) -> Result<Vec<Property>, String> {
    let start = start_of_game(text).ok_or("expected a game in SGF, which begins with (;")?;
    let mut properties: Vec<Property> = Vec::new();
    let mut rest = text[start..].chars().peekable();
    let mut name = String::new();
    // The number of properties before this node.
    let mut before = 0;
    while let Some(c) = rest.next() {
        match c {
            '(' | ';' => {
                name.clear();
                before = properties.len();
            }
            ')' => return Ok(properties),
            '[' => {
                let value = value(&mut rest)?;
                match properties[before..].last_mut() {
                    _ if !name.is_empty() => properties.push((std::mem::take(&mut name), vec![value])),
                    // This is another value of the same property.
                    Some((_, values)) => values.push(value),
                    None => return Err(format!("expected a property, got a value, {}", quoted(&value))),
                }
            }
            // The old format has long names, whose small letters don't count.
            c if c.is_ascii_uppercase() => name.push(c),
            c if c.is_ascii_lowercase() || c.is_whitespace() => {}
            c => return Err(format!("expected a property, got {}", quoted(&c.to_string()))),
        }
    }
    Err("expected ) at the end of a game, got the end of the file".to_string())
}

/// Where the first game begins: text before it, such as the head of a letter, may have parentheses too.
fn start_of_game(text: &str) -> Option<usize> {
    let is_game = |at: &usize| text[at + 1..].trim_start().starts_with(';');
    text.match_indices('(').map(|(at, _)| at).find(is_game)
}

/// Reads a value up to the bracket that closes it. A character after a backslash stands for itself.
fn value(rest: &mut impl Iterator<Item = char>) -> Result<String, String> {
    let mut value = String::new();
    while let Some(c) = rest.next() {
        match c {
            ']' => return Ok(value),
            '\\' => value.extend(rest.next().filter(|c| !matches!(c, '\n' | '\r'))),
            c => value.push(c),
        }
    }
    Err("expected ] at the end of a value, got the end of the file".to_string())
}

/// Writes a game as the text of a file, with its result (`RE`) if it has one.
pub fn write(record: &Record, result: Option<&str>) -> String {
    let (size, setup) = (record.size(), record.setup());
    let mut text = format!("(;GM[1]FF[4]CA[UTF-8]AP[Oncilla:{}]", env!("CARGO_PKG_VERSION"));
    let sides = if size.x() == size.y() { size.x().to_string() } else { format!("{}:{}", size.x(), size.y()) };
    let _ = write!(text, "SZ[{sides}]KM[{}]RU[{}]", komi_text(record.rules().komi), record.rules());
    if let Some(result) = result {
        let _ = write!(text, "RE[{result}]");
    }
    let [black, white] = Color::ALL.map(|color| setup.stones(color));
    let is_empty = black.is_empty() && white.is_empty();
    // After a handicap White moves first. Stones with Black to move are a position.
    if setup.first() == Color::White && black.len() >= super::handicap::LEAST && white.is_empty() {
        let _ = write!(text, "HA[{}]", black.len());
    }
    for (name, stones) in [("AB", black), ("AW", white)].into_iter().filter(|(_, stones)| !stones.is_empty()) {
        text.push_str(name);
        stones.iter().for_each(|point| text.push_str(&format!("[{}]", letters(size, point))));
    }
    // Without this, a reader takes the player of the first move, or guesses from the stones, as `loadsgf` does.
    let is_plain = is_empty && record.moves().first().is_none_or(|(color, _)| *color == Color::Black);
    if setup.first() == Color::White || !is_plain {
        let _ = write!(text, "PL[{}]", super::args::letter(setup.first()));
    }
    for (color, mv) in record.moves() {
        let _ = write!(text, ";{}[{}]", super::args::letter(*color), letters(size, *mv));
    }
    text.push_str(")\n");
    text
}

/// A komi as [`komi`] reads it: a large one in hundredths of a point.
fn komi_text(komi: Komi) -> String {
    match komi.points().abs() > MOST_KOMI {
        true => (50 * i32::from(komi.halves())).to_string(),
        false => komi.to_string(),
    }
}

fn letters(size: Size, mv: Move) -> String {
    let letter = |line: u8| char::from(b'a' + line);
    size.coordinates(mv).map_or_else(String::new, |(x, y)| [letter(x), letter(y)].into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn at(text: &str) -> Move {
        Size::new(9, 9).unwrap().parse(text).unwrap()
    }

    #[test]
    fn a_file_as_programs_write_it() {
        let text = "\u{feff}(;FF[4]GM[1]SZ[9]KM[6.5]RU[Chinese]C[a \\] b;(x)]
            AB[cc]\n[gg:hg]AW[aa]AE[aa]PL[W]
            ;W[ee]LB[aa:1][bb:2](;B[ei];W[])(;B[aa];W[bb])) (;SZ[19];B[aa])";
        let sgf = read(text).unwrap();
        assert_eq!((sgf.size.x(), sgf.rules.as_deref()), (9, Some("Chinese")));
        assert_eq!(sgf.komi, Some(Komi::from_points(6.5).unwrap()));
        assert_eq!(sgf.stones, ["C7", "G3", "H3"].map(|text| (Color::Black, at(text))));
        assert_eq!(sgf.first, Some(Color::White));
        use Color::{Black as B, White as W};
        assert_eq!(sgf.moves, [(W, at("E5")), (B, at("E1")), (W, at("pass"))]);
    }

    #[test]
    fn what_is_no_game_of_go_is_refused() {
        for (text, part) in [
            ("", "begins with ("),
            ("(;SZ[9]", "the end of the file"),
            ("(;C[x)", "expected ]"),
            ("(;SZ[25])", "SZ: expected"),
            ("(;GM[3])", "GM: expected 1"),
            ("(;SZ[9];B[zz])", "B: expected a point"),
            ("(;SZ[9];B[é])", "B: expected a point"),
            ("(;SZ[9];B[aa];AB[bb])", "AB: expected moves alone"),
            ("(;SZ[9]AB[])", "got a pass"),
            ("(;SZ[9]AB[gg:cc])", "AB: expected the upper left corner"),
            ("(;SZ[9]AB[cc:gg]AE[ag:ga])", "AE: expected the upper left corner"),
            ("(;9[x])", "expected a property"),
            ("hello (world)", "expected a game in SGF, which begins with (;"),
            ("(;SZ[9]AB[ee];[aa];W[cc])", "expected a property, got a value, \"aa\""),
            ("(;[aa])", "expected a property, got a value"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(read("(;)").unwrap().size, Size::STANDARD);
        let game = read("(;SZ[9]PL[B];B[ee]PL[W];W[cc])").unwrap();
        assert_eq!((game.moves.len(), game.first), (2, Some(Color::Black)), "whose turn it is may be said again");
    }

    #[test]
    fn komi_in_points_in_hundredths_and_in_stones() {
        assert_eq!(read("(;)").unwrap().komi, None);
        for (text, points) in [
            ("7.5", 7.5),
            ("-5", -5.0),
            ("0", 0.0),
            ("150", 150.0),
            ("650", 6.5),
            ("3.75", 7.5),
            ("375", 7.5),
            ("325", 6.5),
        ] {
            let komi = read(&format!("(;KM[{text}])")).unwrap().komi;
            assert_eq!(komi, Some(Komi::from_points(points).unwrap()), "{text}");
        }
        for text in ["", "0.3", "6,5", "nan", "inf", "1e30", "6.25", "7.25"] {
            let error = read(&format!("(;KM[{text}])")).unwrap_err();
            assert_eq!(error, format!("KM: expected whole or half points, got \"{text}\""));
        }
    }

    #[test]
    fn komi_of_a_server_and_of_rules() {
        let read = |text: &str| read(text).ok().map(|sgf| sgf.komi.unwrap().points());
        for (stones, points) in
            [(275, 5.5), (325, 6.5), (350, 7.0), (375, 7.5), (650, 6.5), (700, 7.0), (0, 0.0), (50, 1.0), (100, 2.0)]
        {
            for rules in ["RU[Chinese]", "RU[Japanese]", "RU[]", ""] {
                let fox = read(&format!("(;AP[foxwq]{rules}KM[{stones}])"));
                assert_eq!(fox, Some(points), "{rules}KM[{stones}]");
            }
        }
        assert_eq!(read("(;RU[Chinese]KM[350])"), Some(3.5), "of another program");
        assert_eq!(read("(;RU[Chinese]KM[3.75])"), Some(7.5));
        let japanese = super::read("(;RU[Japanese]KM[3.75])").unwrap_err();
        assert_eq!(japanese, "KM: expected whole or half points, got \"3.75\"", "stones are counted in China");
    }

    /// A file of moderate size may name the whole board again and again.
    #[test]
    fn stones_are_no_more_than_the_board_has_points() {
        let stones = |text: String| read(&text).map(|sgf| sgf.stones.len());
        let (full, whole) = ("AB".to_string() + &"[aa:ss]".repeat(100_000), "[aa:ss]".repeat(100_000));
        assert_eq!(stones(format!("(;{full})")), Err("two stones are on one point".to_string()));
        assert_eq!(stones(format!("(;{full}AE{whole}AW{whole}AE[aa:ss]AB[aa:rs])")), Ok(342));
        assert_eq!(stones(format!("(;AB[aa:rs]AE{})", "[ss]".repeat(100_000))), Ok(342));
    }

    #[test]
    fn two_stones_on_a_point_are_refused_unless_it_is_cleared() {
        let stones = |text: &str| read(text).map(|sgf| sgf.stones);
        for text in ["(;SZ[9]AB[aa][aa])", "(;SZ[9]AB[aa]AW[aa])", "(;SZ[9]AB[aa]AE[bb]AB[aa:bb])"] {
            assert_eq!(stones(text), Err("two stones are on one point".to_string()), "{text}");
        }
        let cleared = stones("(;SZ[9]AB[aa][aa]AW[bb]AE[aa]AB[aa])").unwrap();
        assert_eq!(cleared, [(Color::Black, at("A9")), (Color::White, at("B8"))]);
    }

    #[test]
    fn what_is_written_is_read() {
        let size = Size::new(9, 7).unwrap();
        let board = oncilla_go::Board::with_stones(size, [(Color::Black, Move(3)), (Color::Black, Move(30))]).unwrap();
        let rules = "japanese".parse().unwrap();
        let mut record = Record::starting_from(&board, Color::White, rules, true);
        for (color, text) in [(Color::White, "E5"), (Color::Black, "pass"), (Color::Black, "J7")] {
            record.play(color, size.parse(text).unwrap()).unwrap();
        }
        let text = write(&record, None);
        assert!(text.contains("SZ[9:7]") && text.contains("HA[2]") && text.contains(";B[]"), "{text}");
        let sgf = read(&text).unwrap();
        assert_eq!((sgf.size, &sgf.moves[..], sgf.first), (size, record.moves(), Some(Color::White)));
        assert_eq!(sgf.rules.unwrap().parse(), Ok(*record.rules()));
        assert_eq!(sgf.stones.len(), 2);
    }

    /// Without `PL`, stones of Black alone would look like a handicap, and the first move tells who plays it.
    #[test]
    fn who_moves_first_is_written() {
        let size = Size::new(9, 9).unwrap();
        use Color::{Black as B, White as W};
        for (stones, first, moves, parts) in [
            (&["C3", "G7"][..], B, &[][..], "AB[gc][cg]PL[B]"),
            (&["C3", "G7"], W, &[], "HA[2]AB[gc][cg]PL[W]"),
            (&["C3"], B, &[(W, "E5")], "AB[cg]PL[B];W[ee]"),
            (&[], B, &[(W, "E5")], "PL[B];W[ee]"),
            (&[], W, &[], "PL[W])"),
            (&[], B, &[(B, "E5")], "komi7.5];B[ee]"),
        ] {
            let stones = stones.iter().map(|text| (B, at(text)));
            let board = oncilla_go::Board::with_stones(size, stones).unwrap();
            let mut record = Record::starting_from(&board, first, "tromp-taylor".parse().unwrap(), true);
            moves.iter().for_each(|(color, text)| record.play(*color, at(text)).unwrap());
            let text = write(&record, None);
            assert!(text.contains(parts), "{parts}: {text}");
            assert_eq!(text.contains("HA["), parts.contains("HA["), "{text}");
        }
    }

    quickcheck! {
        fn no_text_is_too_much(text: String) -> bool {
            let wrapped = format!("(;{text}");
            [text, wrapped].iter().all(|text| read(text).is_ok_and(|sgf| sgf.size.x() > 1) || read(text).is_err())
        }
    }

    /// The fuzz target goes on from here.
    #[test]
    fn a_game_that_was_read_is_written_and_read_again() {
        for text in [
            "(;)",
            "(;SZ[9]KM[3.75]RU[chinese]AB[cc][gg:hg]AW[aa]PL[W];W[ee];B[];W[dd])",
            "(;SZ[13:7]KM[-0.5]RU[japanese];B[mg];B[aa];W[tt])",
            "(;SZ[19]HA[2]AB[dd][pp];W[dp](;B[pd])(;B[qd]))",
            "(;KM[20000])",
            "(;KM[-15050])",
            "(;KM[150])",
        ] {
            let written = super::super::reread_sgf(text).unwrap();
            assert_eq!(super::super::reread_sgf(&written).as_ref(), Ok(&written), "{text}");
        }
        assert!(
            super::super::reread_sgf("(;SZ[5];B[aa];W[aa])").is_err_and(|error| error.contains("there is a stone"))
        );
    }
}
