//! Reads games in PGN, one after the other, from a file of any size.
//!
//! Files as people have them are accepted: with comments of both kinds, variations, NAGs and the signs before them
//! (`!?`), escaped lines, text in UTF-8 or Latin-1, games without tags or without a result, `SetUp` and `FEN`,
//! Chess960. Comments behind a result belong to its game. A tag pair or NAG that can't be read is skipped if the moves
//! do not depend on it. A game that can't be read is skipped with a reason; the next game begins behind the next
//! result, or with a tag section.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, BufRead};

use oncilla_chess::{FenError, FenField, History, Move, Square};

use crate::line::{self, RawLine};
use crate::san;

/// The longest line, in bytes. No program writes a longer one.
const LONGEST_LINE: usize = 1 << 20;

/// The longest game, in bytes.
const LONGEST_GAME: usize = 8 << 20;

/// The largest number of plies of a game. With at most 75 moves between two captures or pawn moves, a game has less
/// than 18,000 plies. The answers to all its positions are in memory at the same time.
const MOST_PLIES: usize = 20_000;

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
        let Some(line) = line::next(&mut self.input, LONGEST_LINE)? else { return Ok(None) };
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

/// A line without its end and the spaces before that. A line may contain thousands of games or of unreadable tags, so
/// the text that has been read is neither copied nor scanned again.
struct Line {
    text: String,
    /// The start of the rest.
    at: usize,
    /// Whether a quoted value was found to have no end. Then no later value of the line has an end either, because the
    /// scan of the first value has also passed all starts of later ones.
    has_no_end: Cell<bool>,
    /// Whether the line is too long, and its text has been left out.
    is_too_long: bool,
}

impl Line {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), at: 0, has_no_end: Cell::new(false), is_too_long: false }
    }

    fn too_long() -> Self {
        Self { is_too_long: true, ..Self::new("") }
    }

    /// The part of the line that has not been read.
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The line without the first bytes of its rest; `None` if only spaces follow.
    fn behind(self, bytes: usize) -> Option<Self> {
        let at = self.at + bytes;
        Some(Self { at, ..self }).filter(|line| line.is_too_long || !line.rest().trim_start().is_empty())
    }

    /// Reads the tag `[Name "value"]` at the start of a text at this line's end. Returns the tag and what follows.
    fn tag<'l>(&self, text: &'l str) -> Option<((String, String), &'l str)> {
        let (name, behind) = named(text).filter(|_| !self.has_no_end.get())?;
        let found = value(behind);
        self.has_no_end.set(found.is_none());
        found.map(|(value, behind)| ((name.to_string(), value), behind))
    }
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of a line belongs to the game.
enum Taken {
    All,
    /// The part before this byte; the next game begins here.
    Upto(usize),
}

/// A game before its moves are played.
#[derive(Default)]
struct Raw {
    tags: Vec<(String, String)>,
    items: Vec<Item>,
    /// The number of items before the first tag, all of which are comments.
    leading: usize,
    /// The number of moves; at most one more than allowed.
    plies: usize,
    /// The number before the first move.
    first_number: Option<u64>,
    /// Whether a move number has been read, and its move has not.
    awaits_move: bool,
    result: Option<String>,
    open: Open,
    bytes: usize,
    fault: Option<String>,
}

enum Item {
    Move(String),
    Nag(u8),
    Comment(String),
    Variation(String),
}

/// What has begun, and whose end has not been read.
#[derive(Default)]
enum Open {
    #[default]
    Nothing,
    /// A comment in braces, with its text so far.
    Comment(String),
    Variation(Variation),
}

impl Open {
    /// The text so far.
    fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::Nothing => None,
            Self::Comment(text) | Self::Variation(Variation { text, .. }) => Some(text),
        }
    }
}

impl Open {
    /// Whether the next character is part of a comment.
    fn is_in_comment(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Comment(_) => true,
            Self::Variation(variation) => variation.in_comment,
        }
    }
}

/// A variation that is being read.
struct Variation {
    /// Its text so far, without the outer parentheses.
    text: String,
    /// The number of parentheses that are open, with the outer one.
    depth: usize,
    in_comment: bool,
}

impl Variation {
    fn new() -> Self {
        Self { text: String::new(), depth: 1, in_comment: false }
    }

    /// Reads a part of the text. Returns its length in bytes, and whether the variation ends with it.
    fn read(&mut self, rest: &str) -> (usize, bool) {
        match self.in_comment {
            true => (self.read_comment(rest), false),
            false => self.read_moves(rest),
        }
    }

    fn read_comment(&mut self, rest: &str) -> usize {
        let (inside, length, is_over) = until(rest, '}');
        self.text.push_str(inside);
        if is_over {
            self.text.push('}');
            self.in_comment = false;
        }
        length
    }

    fn read_moves(&mut self, rest: &str) -> (usize, bool) {
        let Some(at) = rest.find(['{', '(', ')', ';']) else {
            self.text.push_str(rest);
            return (rest.len(), false);
        };
        self.text.push_str(&rest[..at]);
        match &rest[at..=at] {
            ";" => {
                self.text.push_str(&format!("{{{}}}", to_the_end(&rest[at..])));
                return (rest.len(), false);
            }
            ")" if self.depth == 1 => return (at + 1, true),
            ")" => self.depth -= 1,
            "(" => self.depth += 1,
            _ => self.in_comment = true,
        }
        self.text.push_str(&rest[at..=at]);
        (at + 1, false)
    }
}

/// The comment at the start of a text that begins with `;`. A comment in braces, as which it is kept, can't contain
/// their end.
fn to_the_end(text: &str) -> String {
    text[1..].replace('}', ")").trim().to_string()
}

const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// Parses a result, with any kind of dash, and with the short forms of a draw.
fn result(text: &str) -> Option<&'static str> {
    let plain = text
        .replace(['\u{2014}', '\u{2013}', '\u{2012}', '\u{2011}', '\u{2010}', '\u{2212}'], "-")
        .replace('\u{bd}', "1/2");
    let plain = if plain == "1/2" { "1/2-1/2" } else { &plain };
    RESULTS.into_iter().find(|result| *result == plain)
}

impl Raw {
    /// Whether only comments have been read, which a file may begin with: they belong to the game that follows.
    fn is_empty(&self) -> bool {
        let are_comments = self.items.iter().all(|item| matches!(item, Item::Comment(_)));
        self.tags.is_empty() && are_comments && !self.is_under_way()
    }

    /// Whether anything has been read behind the tags.
    fn has_begun(&self) -> bool {
        self.items.len() > self.leading || self.is_under_way()
    }

    /// Whether a comment or variation is open, or the game has an error or a result.
    fn is_under_way(&self) -> bool {
        self.is_inside() || self.fault.is_some() || self.result.is_some()
    }

    /// Whether a comment or variation is open.
    fn is_inside(&self) -> bool {
        !matches!(self.open, Open::Nothing)
    }

    fn fail(&mut self, reason: impl Into<String>) {
        self.fault.get_or_insert_with(|| reason.into());
    }

    fn take(&mut self, line: &Line) -> Taken {
        let text = line.rest();
        if line.is_too_long {
            if self.result.is_some() {
                return Taken::Upto(0);
            }
            self.fail("a line of more than 1 MiB");
            return Taken::All;
        }
        self.bytes += text.len() + 1;
        if self.bytes > LONGEST_GAME {
            self.fail("more than 8 MiB");
            self.items.clear();
            self.plies = 0;
            // An open comment or variation without an end would collect the rest of the file.
            self.open.text().into_iter().for_each(String::clear);
        }
        // In a comment the character escapes nothing, and the comment may end in this line.
        if text.starts_with('%') && !self.open.is_in_comment() {
            return Taken::All;
        }
        if self.is_inside() && text.starts_with("[Event \"") {
            self.end();
            return Taken::Upto(0);
        }
        if !self.is_inside() && text.trim_start().starts_with('[') {
            // An unreadable tag does not begin another game, unless it is one of those that change the meaning of the
            // moves.
            let text = text.trim_start();
            let is_next = self.result.is_some() || line.tag(text).is_some() || is_needed(text);
            if self.is_empty() {
                self.leading = self.items.len();
            }
            if self.has_begun() && is_next {
                return Taken::Upto(0);
            }
            return self.tag_section(line);
        }
        self.movetext(text)
    }

    /// Reads a line of tags, and any moves behind them.
    fn tag_section(&mut self, line: &Line) -> Taken {
        let mut rest = line.rest().trim_start();
        while rest.starts_with('[') {
            let behind = match line.tag(rest) {
                Some((tag, behind)) => {
                    self.tags.push(tag);
                    behind
                }
                None => self.unreadable_tag(rest),
            };
            rest = behind.trim_start();
        }
        match self.movetext(rest) {
            Taken::Upto(at) => Taken::Upto(line.rest().len() - rest.len() + at),
            Taken::All => Taken::All,
        }
    }

    /// Skips an unreadable tag and returns what follows it. It is an error if the meaning of the moves depends on the
    /// tag.
    fn unreadable_tag<'l>(&mut self, text: &'l str) -> &'l str {
        if is_needed(text) {
            self.fail(format!("expected a tag [Name \"value\"], got {}", crate::text::quoted(text)));
        }
        &text[until(text, ']').1..]
    }

    /// Ends the game: no more lines follow.
    fn end(&mut self) {
        match self.open {
            Open::Nothing => {}
            Open::Comment(_) if self.result.is_some() => self.close(),
            Open::Comment(_) => self.fail("a comment has no end"),
            Open::Variation(_) => self.fail("a variation has no end"),
        }
        self.open = Open::Nothing;
    }

    fn movetext(&mut self, line: &str) -> Taken {
        let mut at = 0;
        while let Some(first) = line[at..].chars().next() {
            let rest = &line[at..];
            let read = if self.is_inside() { Some(self.inside(rest)) } else { self.outside(first, rest) };
            match read {
                Some(length) => at += length,
                None => return Taken::Upto(at),
            }
        }
        if let Some(text) = self.open.text() {
            text.push(' ');
        }
        Taken::All
    }

    /// Continues what is open. Returns the number of bytes that were read.
    fn inside(&mut self, rest: &str) -> usize {
        let (length, is_over) = match &mut self.open {
            Open::Nothing => (0, false),
            Open::Comment(text) => {
                let (inside, length, is_over) = until(rest, '}');
                text.push_str(inside);
                (length, is_over)
            }
            Open::Variation(variation) => variation.read(rest),
        };
        if is_over {
            self.close();
        }
        length
    }

    /// Adds what was open to the game.
    fn close(&mut self) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Comment(text) => self.push(Item::Comment(text.trim().to_string())),
            Open::Variation(Variation { text, .. }) => {
                self.push(Item::Variation(text.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
    }

    /// Reads what stands outside comments and variations and begins with `first`. Returns the number of bytes that were
    /// read; `None` if the next game begins here.
    fn outside(&mut self, first: char, rest: &str) -> Option<usize> {
        match first {
            '{' => self.open = Open::Comment(String::new()),
            ';' => {
                self.push(Item::Comment(to_the_end(rest)));
                return Some(rest.len());
            }
            // Anything else behind a result belongs to the next game.
            _ if self.result.is_some() && !(first.is_whitespace() || first == '$') => return None,
            '(' => self.open = Open::Variation(Variation::new()),
            ')' | '}' => self.fail(format!("{first} without its beginning")),
            '<' => return Some(until(rest, '>').1),
            // Some programs write commands, such as the time on the clock, without a comment around them.
            '[' if rest.starts_with("[%") => return Some(self.command(rest)),
            '$' => return Some(self.nag(&rest[1..]) + 1),
            _ if first.is_whitespace() || first == '.' => {}
            _ => return self.next_symbol(rest),
        }
        Some(first.len_utf8())
    }

    fn push(&mut self, item: Item) {
        if self.fault.is_some() {
            return;
        }
        let is_move = matches!(item, Item::Move(_));
        self.awaits_move &= !is_move;
        self.plies += usize::from(is_move);
        match self.plies > MOST_PLIES {
            true => self.fail(format!("more than {MOST_PLIES} plies")),
            false => self.items.push(item),
        }
    }

    /// Reads the number behind a `$` and returns its length. A number above 255 is ignored.
    fn nag(&mut self, rest: &str) -> usize {
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if let Ok(nag) = rest[..length].parse() {
            self.push(Item::Nag(nag));
        }
        length
    }

    /// Skips the command at the start of a text and returns its length.
    fn command(&mut self, rest: &str) -> usize {
        let (_, length, is_over) = until(rest, ']');
        if !is_over {
            self.fail("a command has no end");
        }
        length
    }

    /// Whether a move number 1 begins another game, because this one, which has no result, is past its first move.
    fn is_first_number(&self, text: &str) -> bool {
        let is_first = text.strip_prefix("1.").is_some_and(|behind| !behind.starts_with('.'));
        // `1. e4 1. ... e5` is one game.
        is_first && self.plies > 1
    }

    /// Reads the move, number or result at the start of a text, and returns its length; `None` if it belongs to the next
    /// game.
    fn next_symbol(&mut self, rest: &str) -> Option<usize> {
        let length = symbol_length(rest);
        let text = &rest[..length];
        if self.is_first_number(text) {
            return None;
        }
        self.symbol(text);
        Some(length)
    }

    /// Reads a move, its number, or the result.
    fn symbol(&mut self, text: &str) {
        if let Some(result) = result(text) {
            self.result = Some(result.to_string());
            return;
        }
        let (number, text) = without_number(text);
        if let Some(number) = number {
            self.number(number);
        }
        let bare = text.trim_end_matches(['!', '?']);
        if !san::is_mark(bare) || self.expects_move(bare) {
            self.push(Item::Move(bare.to_string()));
        }
        let sign = ["!", "?", "!!", "??", "!?", "?!"].iter().position(|sign| *sign == &text[bare.len()..]);
        if let Some(sign) = sign {
            self.push(Item::Nag(sign as u8 + 1));
        }
    }

    /// Reads the digits of a move number.
    fn number(&mut self, digits: &str) {
        self.awaits_move = true;
        if self.plies == 0 && self.first_number.is_none() {
            self.first_number = digits.parse().ok();
        }
    }

    /// Whether a mark that looks like a piece, such as that of a novelty, stands in the place of a move: `N f3` is not a
    /// novelty and a move of a pawn.
    fn expects_move(&self, mark: &str) -> bool {
        (self.awaits_move || self.plies == 0) && mark.starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// Refuses a game from the start position whose moves begin later. It may be what follows a tag in the middle of a
    /// game.
    fn check_first_number(&self) -> Result<(), String> {
        match self.first_number {
            Some(number @ 2..) if self.plies > 0 => Err(format!("expected move number 1, got {number}")),
            _ => Ok(()),
        }
    }

    /// Plays the moves, and assigns comments, NAGs and variations to them.
    fn play(self, number: usize) -> Result<Game, String> {
        let first_number = self.check_first_number();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut game = begun(number, self.tags, self.result)?;
        if game.fen().is_none() {
            // Many games from other positions are numbered from 1, whatever their FEN says.
            first_number?;
        }
        let mut position = game.start();
        for item in self.items {
            match item {
                Item::Move(text) => {
                    let mv = san::read(position.board(), &text);
                    let mv = mv.ok_or_else(|| {
                        let (ply, expected) = (game.moves.len() + 1, san::expected(position.board(), &text));
                        format!("ply {ply}: expected {expected}, got {}", crate::text::quoted(&text))
                    })?;
                    position.push(mv);
                    game.moves.push(Played { mv, nags: Vec::new(), comments: Vec::new(), variations: Vec::new() });
                }
                Item::Nag(nag) => game.moves.last_mut().into_iter().for_each(|last| last.nags.push(nag)),
                Item::Comment(text) => match game.moves.last_mut() {
                    Some(last) => last.comments.push(text),
                    None => game.comments.push(text),
                },
                Item::Variation(text) => match game.moves.last_mut() {
                    Some(last) => last.variations.push(text),
                    None => return Err("a variation before the first move".to_string()),
                },
            }
        }
        Ok(game)
    }
}

/// A game before its first move.
fn begun(number: usize, tags: Vec<(String, String)>, result: Option<String>) -> Result<Game, String> {
    let tags = unique(tags)?;
    let mut game =
        Game { number, tags, comments: Vec::new(), moves: Vec::new(), result: String::new(), chess960: false };
    let by_tag = || game.tag("Result").and_then(self::result).unwrap_or("*").to_string();
    game.result = result.unwrap_or_else(by_tag);
    game.chess960 = is_chess960(game.tag("Variant").unwrap_or(""))?;
    let fen = game.fen().map(mended).transpose().map_err(|error| format!("the tag FEN: {error}"))?;
    for (name, value) in &mut game.tags {
        match (name.as_str(), &fen) {
            // The standard wants the same result in both places.
            ("Result", _) => value.clone_from(&game.result),
            ("FEN", Some(fen)) => value.clone_from(fen),
            _ => {}
        }
    }
    Ok(game)
}

/// The first tag of each name.
fn unique(tags: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, String)> = Vec::new();
    for (name, value) in tags {
        let place = *places.entry(name.clone()).or_insert(kept.len());
        match kept.get(place) {
            None => kept.push((name, value)),
            Some((_, first)) if NEEDED.contains(&name.as_str()) && *first != value => {
                return Err(format!("expected one tag {name}, got several that differ"));
            }
            Some(_) => {}
        }
    }
    Ok(kept)
}

/// A FEN without the castling rights and the en passant square that its position can't have, which some programs write
/// whatever the position is. A FEN that is right is returned as it is.
fn mended(fen: &str) -> Result<String, FenError> {
    let error = match parsed(fen) {
        Ok(()) => return Ok(fen.to_string()),
        Err(error) => error,
    };
    let mut fields: Vec<&str> = fen.split_ascii_whitespace().collect();
    let [pieces, side, castling, en_passant, ..] = fields[..] else { return Err(error) };
    let is_named = |c: char| "KQkqABCDEFGHabcdefgh".contains(c);
    let is_square = |text: &str| text == "-" || text.parse::<Square>().is_ok();
    if !castling.chars().all(|c| is_named(c) || c == '-') || !is_square(en_passant) {
        return Err(error);
    }
    let is_right = |c: &char| parsed(&format!("{pieces} {side} {c}")).is_ok();
    let rights: String = castling.chars().filter(is_right).collect();
    fields[2] = if rights.is_empty() { "-" } else { &rights };
    if parsed(&fields.join(" ")).is_err_and(|error| error.field == FenField::EnPassant) {
        fields[3] = "-";
    }
    let mended = fields.join(" ");
    parsed(&mended).map(|()| mended)
}

fn parsed(fen: &str) -> Result<(), FenError> {
    History::<{ oncilla_chess::DEFAULT_CAP }>::from_fen(fen).map(|_| ())
}

/// The digits of the move number at the start of a text, if there is one, and what follows the dots behind it.
fn without_number(text: &str) -> (Option<&str>, &str) {
    const DOTS: [char; 2] = ['.', '…'];
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if !behind.starts_with(DOTS) && !behind.is_empty() {
        // Castling may be written 0-0.
        return (None, text);
    }
    let digits = &text[..text.len() - behind.len()];
    (Some(digits).filter(|digits| !digits.is_empty()), behind.trim_start_matches(DOTS))
}

/// The tags that change the meaning of the moves.
const NEEDED: [&str; 2] = ["FEN", "Variant"];

/// Whether a text that begins with `[` names a tag that changes the meaning of the moves.
fn is_needed(text: &str) -> bool {
    let name = text[1..].trim_start();
    NEEDED.iter().any(|needed| name.starts_with(needed))
}

/// The length of the move, number or result at the start of a text. A tag may follow a result without a space.
fn symbol_length(text: &str) -> usize {
    let length = text.find(|c: char| c.is_whitespace() || "{}();$<".contains(c)).unwrap_or(text.len());
    text[..length].find('[').filter(|&at| result(&text[..at]).is_some()).unwrap_or(length)
}

/// The text before `end`, its length including `end`, and whether `end` was found.
fn until(text: &str, end: char) -> (&str, usize, bool) {
    match text.find(end) {
        Some(at) => (&text[..at], at + end.len_utf8(), true),
        None => (text, text.len(), false),
    }
}

/// The name of the tag at the start of a text, and what follows the value's opening quote.
fn named(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('[')?.trim_start();
    let is_of_name = |c: char| c.is_alphanumeric() || "_+#=:-".contains(c);
    let (name, behind) = text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len()));
    let behind = behind.trim_start().strip_prefix('"')?;
    Some((name, behind)).filter(|_| !name.is_empty())
}

/// The value at the start of a text, and what follows its closing quote and bracket.
fn value(text: &str) -> Option<(String, &str)> {
    let mut chars = text.chars();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        match c {
            // Some programs do not escape quotes within a value, or a backslash at its end.
            '"' if let Some(behind) = rest.trim_start().strip_prefix(']') => return Some((value, behind)),
            // A backslash before another character is one that was not escaped, as in the name of a folder.
            '\\' if rest.starts_with(['"', '\\']) && rest != "\"]" => value.push(chars.next()?),
            _ => value.push(c),
        }
    }
    None
}

/// Whether the tag `Variant` is that of Chess960.
fn is_chess960(variant: &str) -> Result<bool, String> {
    let name: String = variant.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    match name.as_str() {
        "" | "standard" | "chess" | "normal" | "fromposition" => Ok(false),
        "chess960" | "fischerandom" | "fischerrandom" | "fischerrandomchess" | "960" | "freestyle" => Ok(true),
        _ => Err(format!("the tag Variant: expected chess or Chess960, got {}", crate::text::quoted(variant))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

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
    fn of_a_game_that_is_too_long_nothing_is_kept() {
        let line = Line::new("x".repeat(LONGEST_LINE - 1));
        for open in ["{", "(", "", ";"] {
            let mut raw = Raw::default();
            raw.take(&Line::new(format!("1. e4 {open}")));
            for _ in 0..=LONGEST_GAME / LONGEST_LINE + 4 {
                raw.take(&line);
            }
            let inside = raw.open.text().map_or(0, |text| text.len());
            assert!(
                inside <= LONGEST_LINE && raw.items.is_empty(),
                "{open:?}: {inside} bytes, {} items",
                raw.items.len()
            );
            assert_eq!(raw.fault.as_deref(), Some("more than 8 MiB"), "{open:?}");
        }
    }

    #[test]
    fn what_ends_no_value_is_looked_through_once() {
        let line = Line::new("[a \"x]".repeat(LONGEST_LINE / 6));
        assert!(line.tag(line.rest()).is_none() && line.has_no_end.get());
        let games = read(format!("{}\n\n1. e4 *", line.rest()).as_bytes());
        assert_eq!((games.len(), moves(games[0].as_ref().unwrap())), (1, vec!["e2e4".to_string()]));
        assert!(games[0].as_ref().unwrap().tags.is_empty());
    }

    quickcheck! {
        /// The cached `has_no_end` does not change which tags are found.
        fn behind_a_value_without_an_end_there_is_no_other(choices: Vec<u8>) -> bool {
            let text: String = choices.iter().map(|choice| char::from(b"[[a\"\"\\] "[usize::from(choice % 8)])).collect();
            let line = Line::new(text);
            let places = line.rest().match_indices('[');
            places.map(|(at, _)| &line.rest()[at..]).all(|rest| line.tag(rest) == Line::new("").tag(rest))
        }
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
        ] {
            let game = one(text);
            assert_eq!((game.result.as_str(), game.tag("Result")), (result, Some(result)), "{text}");
        }
    }

    #[test]
    fn commands_need_no_comment() {
        let game = one("1. e4 [%clk 0:00:01] e5 [%clk 0:00:02]\n[%clk 0:00:03] 2. Nf3 [%eval 0.1] 1-0 [%end]\n");
        assert_eq!((moves(&game).len(), game.result.as_str()), (3, "1-0"));
        assert!(read(b"1. e4 [clk] e5 *")[0].is_err());
        let reason = read(b"1. e4 [%clk 0:00:01 e5 *").remove(0).unwrap_err().reason;
        assert_eq!(reason, "a command has no end");
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
