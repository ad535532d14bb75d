//! Reads games in PGN, one after the other, from a file of any size.
//!
//! Files as people have them are accepted: with comments of both kinds, variations, NAGs and the signs before them
//! (`!?`), escaped lines, text in UTF-8 or Latin-1, games without tags or without a result, `SetUp` and `FEN`,
//! Chess960. Comments behind a result belong to its game. A tag pair or NAG that can't be read is skipped if the moves
//! do not depend on it. A game that can't be read is skipped with a reason; the next game begins behind the next
//! result, or with a tag section.

mod line;
mod raw;
mod tags;
mod variation;

use std::io::{self, BufRead};

use oncilla_chess::{History, Move};

use crate::line::{self as bytes, RawLine};
use line::Line;
use raw::{Raw, Taken};

/// The longest line, in bytes. No program writes a longer one.
const LONGEST_LINE: usize = 1 << 20;

/// A game.
#[derive(Clone, Debug)]
pub struct Game {
    /// The game's number in the file, from 1.
    pub number: usize,
    /// The game's tags, in their order.
    pub tags: Vec<(String, String)>,
    /// The comments before the first move.
    pub comments: Vec<String>,
    /// The main line.
    pub moves: Vec<Played>,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`: the result after the moves, or else that of the tag.
    pub result: String,
    /// Whether the game is Chess960.
    pub chess960: bool,
}

impl Game {
    /// The value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The FEN of the start position, if the game has one.
    pub fn fen(&self) -> Option<&str> {
        self.tag("FEN").filter(|fen| !fen.trim().is_empty())
    }

    /// The start position.
    pub fn start(&self) -> History {
        // The FEN has been parsed before.
        self.fen().and_then(|fen| History::from_fen(fen).ok()).unwrap_or_else(History::startpos)
    }
}

/// A move of the main line, and what follows it.
#[derive(Clone, Debug)]
pub struct Played {
    /// The move; castling is king takes rook.
    pub mv: Move,
    /// Numeric annotation glyphs.
    pub nags: Vec<u8>,
    /// The comments without their braces.
    pub comments: Vec<String>,
    /// The variations as they were written, without the outer parentheses.
    pub variations: Vec<String>,
}

/// A game that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The game's number in the file, from 1.
    pub number: usize,
    /// The line of the file in which the game begins, from 1.
    pub line: usize,
    /// What was expected, and what was found.
    pub reason: String,
}

/// The next game of a file.
#[derive(Clone, Debug)]
pub enum NextGame {
    /// A game that could be read.
    Game(Game),
    /// A game that could not be read.
    Skipped(Skipped),
}

impl NextGame {
    /// The game; `None` if it was skipped.
    pub fn game(self) -> Option<Game> {
        match self {
            Self::Game(game) => Some(game),
            Self::Skipped(_) => None,
        }
    }
}

/// Reads one game after the other.
pub struct Reader<R> {
    input: R,
    /// The number of lines read.
    line: usize,
    /// The number of bytes read.
    bytes: u64,
    games: usize,
    /// The rest of the last game's last line.
    pending: Option<Line>,
}

impl<R: BufRead> Reader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, bytes: 0, games: 0, pending: None }
    }

    /// The number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next game; `None` at the end.
    ///
    /// # Errors
    /// The errors of the input.
    pub fn next_game(&mut self) -> io::Result<Option<NextGame>> {
        let mut raw = Raw::default();
        let mut begins_in = self.line + 1;
        let mut is_last = true;
        while let Some(line) = self.next_line()? {
            if raw.is_empty() {
                begins_in = self.line;
            }
            match raw.take(&line) {
                Taken::All => {}
                Taken::Upto(at) => {
                    self.pending = line.behind(at);
                    is_last = false;
                    break;
                }
            }
        }
        if is_last {
            raw.end();
        }
        if raw.is_empty() {
            return Ok(None);
        }
        self.games += 1;
        let number = self.games;
        Ok(Some(match raw.play(number) {
            Ok(game) => NextGame::Game(game),
            Err(reason) => NextGame::Skipped(Skipped { number, line: begins_in, reason }),
        }))
    }

    /// The rest of the last game's last line, or the next line.
    fn next_line(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.pending.take() {
            return Ok(Some(line));
        }
        let Some(line) = bytes::next(&mut self.input, LONGEST_LINE)? else { return Ok(None) };
        self.line += 1;
        self.bytes += line.length() as u64;
        let RawLine::Whole(mut bytes) = line else { return Ok(Some(Line::too_long())) };
        while bytes.last().is_some_and(u8::is_ascii_control) {
            bytes.pop();
        }
        // Files that are joined from several have a mark in the middle.
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        // The PGN standard prescribes Latin-1.
        let latin_1 = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect();
        let mut text = String::from_utf8(bytes).unwrap_or_else(|error| latin_1(error.as_bytes()));
        text.truncate(text.trim_end().len());
        Ok(Some(Line::new(text)))
    }
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::raw::MOST_PLIES;
    use super::*;

    fn read(text: &[u8]) -> Vec<Result<Game, Skipped>> {
        let mut reader = Reader::new(text);
        let next = std::iter::from_fn(|| reader.next_game().unwrap());
        let result = |next| match next {
            NextGame::Game(game) => Ok(game),
            NextGame::Skipped(skipped) => Err(skipped),
        };
        next.map(result).collect()
    }

    fn moves(game: &Game) -> Vec<String> {
        game.moves.iter().map(|played| played.mv.to_string()).collect()
    }

    fn one(text: &str) -> Game {
        let mut games = read(text.as_bytes());
        assert_eq!(games.len(), 1, "{games:?}");
        games.remove(0).unwrap()
    }

    #[test]
    fn what_ends_no_value_is_looked_through_once() {
        let line = Line::new("[a \"x]".repeat(LONGEST_LINE / 6));
        assert!(line.tag(line.rest()).is_none() && line.has_no_end.get());
        let games = read(format!("{}\n\n1. e4 *", line.rest()).as_bytes());
        assert_eq!((games.len(), moves(games[0].as_ref().unwrap())), (1, vec!["e2e4".to_string()]));
        assert!(games[0].as_ref().unwrap().tags.is_empty());
    }

    /// If the time grew with the square of the length, this would take hours.
    #[test]
    fn a_file_of_any_kind_is_read_in_steps_that_grow_with_its_length() {
        let games = read("* ".repeat(LONGEST_LINE / 2).as_bytes());
        assert_eq!(games.len(), LONGEST_LINE / 2);
        let [nags, numbers] = ["$1", "1. "].map(|part| format!("{}\n", part.repeat(300_000)).repeat(4));
        let game = one(&format!("{nags}{numbers}1. e4 *"));
        assert_eq!(moves(&game), ["e2e4"]);
    }

    #[test]
    fn a_game_has_no_more_plies_than_chess() {
        let fewer = "Nf3 Nf6 Ng1 Ng8\n".repeat(MOST_PLIES / 4 - 1) + "Nf3 Nf6 Ng1";
        assert_eq!(one(&format!("{fewer} Ng8 *")).moves.len(), MOST_PLIES);
        let long = "Nf3 Nf6 Ng1 Ng8\n".repeat(1 << 18);
        let games = read(format!("{fewer} Ng8 Nf3 *\n\n{long}1. e4 *\n\n{fewer} * 1. d4 *").as_bytes());
        let found: Vec<_> = games.iter().map(|game| game.as_ref().map(|game| game.moves.len())).collect();
        let reasons: Vec<_> = games.iter().filter_map(|game| game.as_ref().err()).map(|game| &game.reason).collect();
        assert_eq!(reasons, ["more than 20000 plies"; 2]);
        assert_eq!(found.iter().flatten().collect::<Vec<_>>(), [&1, &(MOST_PLIES - 1), &1], "1. begins another game");
    }

    #[test]
    fn what_stands_in_files_is_read() {
        let game =
            one("% escaped\n[Event \"a \\\"b\\\" \\\\\"]\n[ Result  \"1-0\" ]\n\n{first} 1. e4! $14 {good;(} e5 \
             (1... c5 2. Nf3 (2. c3 {a ) b}) d6) 2.Nf3?! ; to the end } of line\n2... Nc6 3 Bb5 a6 4. Bxc6 dxc6\n\
             5. 0-0 {two\nlines} <reserved> f6 1-0\n");
        assert_eq!(game.tags, [("Event".into(), "a \"b\" \\".into()), ("Result".into(), "1-0".into())]);
        assert_eq!(
            moves(&game),
            ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5c6", "d7c6", "e1h1", "f7f6"].map(str::to_string)
        );
        assert_eq!((game.comments.as_slice(), game.result.as_str()), (["first".to_string()].as_slice(), "1-0"));
        assert_eq!(
            (game.moves[0].nags.as_slice(), game.moves[2].nags.as_slice()),
            ([1, 14].as_slice(), [6].as_slice())
        );
        assert_eq!(game.moves[0].comments, ["good;("]);
        assert_eq!(game.moves[1].variations, ["1... c5 2. Nf3 (2. c3 {a ) b}) d6"]);
        assert_eq!(game.moves[2].comments, ["to the end ) of line"]);
        assert_eq!(game.moves[8].comments, ["two lines"]);
    }

    #[test]
    fn tags_may_share_a_line() {
        let fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1";
        let text = format!("[FEN \"{fen}\"] [SetUp \"1\"][Event \"\\\"a] [B \\\\\" ]  1. O-O * [White \"x\"] *");
        let games: Vec<Game> = read(text.as_bytes()).into_iter().map(Result::unwrap).collect();
        let tags = [("FEN", fen), ("SetUp", "1"), ("Event", "\"a] [B \\")];
        assert_eq!(games[0].tags, tags.map(|(name, value)| (name.to_string(), value.to_string())));
        assert_eq!((moves(&games[0]), games[1].tag("White")), (vec!["e1h1".to_string()], Some("x")));
        let folder = one("[Site \"C:\\games\\\\\\o/\"]\n*");
        assert_eq!(folder.tag("Site"), Some("C:\\games\\\\o/"), "a backslash escapes a quote or a backslash only");
        let sloppy = one("[Event \"the \"Big\" one\"]\n[Site \"C:\\\"]\n*");
        assert_eq!((sloppy.tag("Event"), sloppy.tag("Site")), (Some("the \"Big\" one"), Some("C:\\")));
    }

    #[test]
    fn signs_may_stand_apart_from_their_move() {
        let game = one("1… e4 e5 N 2. Nf3 += Nc6 D 3. Bb5 ± ! a6 +/- *");
        assert_eq!(moves(&game).join(" "), "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
        assert_eq!(game.moves[4].nags, [1]);
        assert!(read(b"1. e4 -- 2. d4 *")[0].is_err(), "a null move is no sign");
    }

    #[test]
    fn games_follow_each_other_in_any_way() {
        let text = "1. e4 * 1. d4 d5 1/2-1/2\n[Event \"x\"]\n1. c4\n[Event \"y\"]\n\n[Site \"z\"]\n*\n\n\n1. f4 0-1 ";
        let games: Vec<Game> = read(text.as_bytes()).into_iter().map(Result::unwrap).collect();
        let found: Vec<(usize, String, &str)> =
            games.iter().map(|game| (game.number, moves(game).join(" "), game.result.as_str())).collect();
        let expected =
            [(1, "e2e4", "*"), (2, "d2d4 d7d5", "1/2-1/2"), (3, "c2c4", "*"), (4, "", "*"), (5, "f2f4", "0-1")];
        assert_eq!(found, expected.map(|(number, moves, result)| (number, moves.to_string(), result)));
        assert!(read(b"").is_empty() && read(b"\n \n\r\n").is_empty());
    }

    #[test]
    fn comments_before_the_first_tag_belong_to_the_game() {
        for comment in ["; from my club", "{ from my club }", "{ from\nmy club }"] {
            let game = one(&format!("{comment}\n[Event \"a\"]\n[Site \"b\"]\n\n{{ an opening }} 1. e4 *\n"));
            assert_eq!((game.number, game.tag("Site"), moves(&game)), (1, Some("b"), vec!["e2e4".to_string()]));
            assert_eq!(game.comments.len(), 2, "{:?}", game.comments);
            assert!(read(format!("{comment}\n").as_bytes()).is_empty(), "alone they are no game");
        }
        assert!(read(b"{ no end\n1. e4 *\n")[0].is_err());
    }

    #[test]
    fn what_is_said_behind_a_result_belongs_to_its_game() {
        let text = "[Event \"a\"]\n\n1. e4 e5 1-0 {White resigns} $3\n{two\nlines}\n\n[Event \"b\"]\n\n1. d4 d5 * ; over\n\n\
                    1. c4 * {no end\n[Event \"c\"]\n\n1. f4 * 1. g4 {x} 0-1 1. h4";
        let games: Vec<Game> = read(text.as_bytes()).into_iter().map(Result::unwrap).collect();
        let found: Vec<(String, &str, String)> = (games.iter())
            .map(|game| (moves(game).join(" "), game.result.as_str(), game.moves.last().unwrap().comments.join("|")))
            .collect();
        let expected = [
            ("e2e4 e7e5", "1-0", "White resigns|two lines"),
            ("d2d4 d7d5", "*", "over"),
            ("c2c4", "*", "no end"),
            ("f2f4", "*", ""),
            ("g2g4", "0-1", "x"),
            ("h2h4", "*", ""),
        ];
        assert_eq!(found, expected.map(|(moves, result, said)| (moves.to_string(), result, said.to_string())));
        assert_eq!(games[0].moves[1].nags, [3]);
    }

    #[test]
    fn games_without_results_are_told_apart() {
        let games = read(b"1. e4 e5\n\n1. d4 d5 2. c4 1.c4 {x} 1... c5 2. g3\n1. f4 1. ... f5 1-0");
        let found: Vec<String> = games.iter().map(|game| moves(game.as_ref().unwrap()).join(" ")).collect();
        assert_eq!(found, ["e2e4 e7e5", "d2d4 d7d5 c2c4", "c2c4 c7c5 g2g3", "f2f4 f7f5"]);
        let tagged = one("[Result \"1-0\"]\n\n1. e4 e5");
        assert_eq!(tagged.result, "1-0");
        assert_eq!(one("[Result \"1-0\"]\n\n1. e4 e5 *").result, "*");
        assert_eq!(one("[Result \"?\"]\n\n1. e4 e5").result, "*");
    }

    #[test]
    fn other_positions_and_other_rules() {
        let game = one("[FEN \"4k3/8/8/8/8/8/8/4K2R w K - 0 1\"]\n[SetUp \"1\"]\n\n1. O-O+ Kd7 *");
        assert_eq!(moves(&game), ["e1h1", "e8d7"]);
        let fen = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
        let game = one(&format!("[Variant \"Chess960\"]\n[FEN \"{fen}\"]\n1. Nf3 e5 *"));
        assert!(game.chess960);
        assert_eq!(game.moves.len(), 2);
    }

    #[test]
    fn what_adds_nothing_to_the_moves_is_skipped() {
        let game = one("[Event]\n[Site y] [White \"W\"]\n[Date \"no end\n\n1. e4 $999 $ e5 $3\n[a remark]\n2. Nf3 1-0");
        assert_eq!(game.tags, [("White".to_string(), "W".to_string())]);
        assert_eq!(moves(&game), ["e2e4", "e7e5", "g1f3"]);
        assert_eq!((game.moves[0].nags.len(), game.moves[1].nags.as_slice()), (0, [3].as_slice()));
    }

    #[test]
    fn a_result_ends_where_a_tag_begins() {
        let text = "[Event \"a\"]\n1. e4 1-0[Event \"b\"]\n1. d4 *[Event \"c\"] 1. c4 *";
        let games: Vec<Game> = read(text.as_bytes()).into_iter().map(Result::unwrap).collect();
        let found: Vec<_> = games.iter().map(|game| (game.tag("Event").unwrap(), moves(game).join(" "))).collect();
        assert_eq!(found, [("a", "e2e4"), ("b", "d2d4"), ("c", "c2c4")].map(|(event, mv)| (event, mv.to_string())));
        assert_eq!(games[0].result, "1-0");
    }

    #[test]
    fn results_have_several_spellings() {
        for (text, result) in [
            ("1/2", "1/2-1/2"),
            ("\u{bd}-\u{bd}", "1/2-1/2"),
            ("\u{bd}", "1/2-1/2"),
            ("1\u{2013}0", "1-0"),
            ("0\u{2212}1", "0-1"),
            ("1/2\u{2013}1/2", "1/2-1/2"),
        ] {
            assert_eq!(one(&format!("1. e4 {text}")).result, result, "{text}");
            assert_eq!(one(&format!("[Result \"{text}\"]\n\n1. e4")).result, result, "{text}");
        }
    }

    #[test]
    fn a_broken_game_is_passed_over_and_the_next_is_read() {
        let long = format!("1. e4 {} e5 *", "x".repeat(3 << 20));
        let cases = [
            ("1. e4 e6 2. Ke3 *", "ply 3: expected a legal move, got \"Ke3\""),
            ("1. d4 d5 2. Nf3 Nf6 3. Nd2 *", "ply 5: expected one of Nbd2 and Nfd2, got \"Nd2\""),
            ("1. e4 -- 2. d4 *", "ply 2: expected a legal move, got \"--\""),
            ("[Variant \"Atomic\"]\n1. e4 *", "the tag Variant: expected chess or Chess960, got \"Atomic\""),
            ("[FEN \"8/8 w\"]\n*", "the tag FEN"),
            ("[Event \"x\"] [FEN y]\n*", "expected a tag [Name \"value\"], got \"[FEN y]\""),
            ("[Variant]\n1. e4 *", "expected a tag [Name \"value\"], got \"[Variant]\""),
            ("1. e4 ) e5 *", ") without its beginning"),
            ("1. e4 {no end\n", "a comment has no end"),
            ("1. e4 (1. d4\n", "a variation has no end"),
            (&long, "a line of more than 1 MiB"),
        ];
        for (broken, reason) in cases {
            let text = format!("1. e4 *\n\n{broken}\n\n[Event \"next\"]\n\n1. d4 *\n");
            let games = read(text.as_bytes());
            assert_eq!(games.len(), 3, "{broken:.80}: {games:?}");
            assert!(games[0].is_ok() && games[2].is_ok());
            let skipped = games[1].as_ref().unwrap_err();
            assert_eq!((skipped.number, skipped.line), (2, 3), "{broken:.80}");
            assert!(skipped.reason.starts_with(reason), "{broken:.80}: {}", skipped.reason);
        }
    }

    #[test]
    fn latin_1_and_byte_order_marks() {
        let games = read(b"\xef\xbb\xbf[White \"M\xfcller\"]\r\n\r\n1. e4 *\r\n");
        assert_eq!(games[0].as_ref().unwrap().tag("White"), Some("M\u{fc}ller"));
        let joined = read("\u{feff}[White \"A\"]\n\n1. e4 *\n\u{feff}[White \"B\"]\n\n1. d4 *\n".as_bytes());
        let names: Vec<_> = joined.iter().map(|game| game.as_ref().unwrap().tag("White").unwrap()).collect();
        assert_eq!(names, ["A", "B"]);
    }

    #[test]
    fn a_line_of_a_comment_may_begin_like_an_escape() {
        let game = one("1. e4 {good\n% really }\n%{ escaped\ne5 (1... c5 {a\n%b} 2. Nf3\n% ) escaped\nNc6) 2. d4 *");
        assert_eq!((moves(&game).len(), &game.moves[0].comments[..]), (3, &["good % really".to_string()][..]));
        assert_eq!(game.moves[1].variations, ["1... c5 {a %b} 2. Nf3 Nc6"]);
        let game = one("1. e4 {a line\n% is its end}\n*");
        assert_eq!(game.moves[0].comments, ["a line % is its end"]);
    }

    #[test]
    fn a_piece_apart_from_its_square_is_no_mark() {
        for (text, reason) in [
            ("1. N f3 d5 *", "ply 1: expected a legal move, got \"N\""),
            ("1.N f3 d5 *", "ply 1: expected a legal move, got \"N\""),
            ("N f3 d5 *", "ply 1: expected a legal move, got \"N\""),
            ("1. e4 e5 2. D h5 *", "ply 3: expected a legal move, got \"D\""),
        ] {
            assert_eq!(read(text.as_bytes())[0].as_ref().unwrap_err().reason, reason, "{text}");
        }
        let game = one("1. e4 N e5 D $1 N 2. Nf3! {x} N *");
        assert_eq!(moves(&game), ["e2e4", "e7e5", "g1f3"]);
    }

    #[test]
    fn moves_from_the_start_position_begin_at_number_1() {
        let games = read(b"[Event \"a\"]\n\n1. e4 e5\n[Note \"b\"]\n2. Nf3 Nc6 *\n\n1. d4 *");
        assert_eq!((games.len(), moves(games[0].as_ref().unwrap()).len()), (3, 2));
        let skipped = games[1].as_ref().unwrap_err();
        assert_eq!((skipped.line, skipped.reason.as_str()), (4, "expected move number 1, got 2"));
        assert!(games[2].is_ok());
        for text in ["0. e4 *", "1... e4 *", "e4 5. e5 *", "1. e4 7. e5 *", "7. *", "{7. e4} 1. e4 *"] {
            one(text);
        }
        let fen = "[FEN \"4k3/8/8/8/8/8/8/4K2R w K - 0 1\"]";
        assert_eq!(moves(&one(&format!("{fen}\n\n31. O-O Kd7 *"))).len(), 2);
    }

    #[test]
    fn a_name_has_one_tag() {
        let text = "[White \"a\"]\n[White \"b\"]\n[FEN \"FEN0\"]\n[Black \"c\"]\n[FEN \"FEN1\"]\n\n*";
        let start = "4k3/8/8/8/8/8/8/4K2R w K - 0 1";
        let tags = one(&text.replace("FEN0", start).replace("FEN1", start)).tags;
        let names: Vec<_> = tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(names, [("White", "a"), ("FEN", start), ("Black", "c")]);
        let other = text.replace("FEN0", start).replace("FEN1", "4k3/8/8/8/8/8/8/4K2R b - - 0 1");
        let reason = read(other.as_bytes()).remove(0).unwrap_err().reason;
        assert_eq!(reason, "expected one tag FEN, got several that differ");
        assert!(read(b"[Variant \"Chess960\"]\n[Variant \"chess\"]\n\n1. e4 *")[0].is_err());
    }

    #[test]
    fn the_tag_of_the_result_says_what_the_moves_do() {
        for (text, result) in [
            ("[Result \"0-1\"]\n\n1. e4 1-0", "1-0"),
            ("[Result \"1/2\"]\n\n1. e4", "1/2-1/2"),
            ("[Result \"?\"]\n\n1. e4", "*"),
            ("[Result \"1-0 forfeit\"]\n\n1. e4 *", "*"),
        ] {
            let game = one(text);
            assert_eq!((game.result.as_str(), game.tag("Result")), (result, Some(result)), "{text}");
        }
        let unfinished = one("[Result \"1-0\"]\n\n1. e4 *");
        assert_eq!((unfinished.result.as_str(), unfinished.tag("Result")), ("*", Some("1-0")));
    }

    #[test]
    fn commands_need_no_comment() {
        let game = one("1. e4 [%clk 0:00:01] e5 [%clk 0:00:02]\n[%clk 0:00:03] 2. Nf3 [%eval 0.1] 1-0 [%end]\n");
        assert_eq!((moves(&game).len(), game.result.as_str()), (3, "1-0"));
        assert!(read(b"1. e4 [clk] e5 *")[0].is_err());
        for text in ["1. e4 [%clk 0:00:01 e5 *", "1. e4 e5\n[%clk 0:10:00 2. Nf3 Nc6\n*"] {
            let reason = read(text.as_bytes()).remove(0).unwrap_err().reason;
            assert_eq!(reason, "a command has no end", "{text}");
        }
    }

    #[test]
    fn what_a_position_can_not_have_is_left_out_of_its_fen() {
        for (fen, mended) in [
            ("4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
            ("4k3/8/8/8/8/8/8/4K3 w KQkq - 3 9", "4k3/8/8/8/8/8/8/4K3 w - - 3 9"),
            ("4k3/8/8/8/4P3/8/8/4K3 w - e3 0 1", "4k3/8/8/8/4P3/8/8/4K3 w - - 0 1"),
            ("4k3/8/8/8/4P3/8/8/4K3 w Q e3", "4k3/8/8/8/4P3/8/8/4K3 w - -"),
            ("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1"),
        ] {
            assert_eq!(one(&format!("[FEN \"{fen}\"]\n\n*")).fen(), Some(mended));
        }
        for fen in ["4k3/8/8/8/8/8/8/4K3 w xyz - 0 1", "4k3/8/8/8/8/8/8/4K3 w - e9 0 1", "4k3/8/8/8/8/8/8/8 w K e3 0 1"]
        {
            let reason = read(format!("[FEN \"{fen}\"]\n\n*").as_bytes()).remove(0).unwrap_err().reason;
            assert!(reason.starts_with("the tag FEN: bad FEN"), "{fen}: {reason}");
        }
    }

    #[test]
    fn a_line_of_a_comment_may_begin_like_a_tag() {
        let text = "1. e4 {good\n[%clk 0:01:00] and\n[a remark] more} e5 *";
        let game = Reader::new(text.as_bytes()).next_game().unwrap().and_then(NextGame::game).unwrap();
        assert_eq!(
            (game.moves.len(), &game.moves[0].comments[..]),
            (2, &["good [%clk 0:01:00] and [a remark] more".to_string()][..])
        );
    }
}
