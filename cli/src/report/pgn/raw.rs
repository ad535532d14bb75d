//! A game as it stands in a file: its parts, before the moves are played.

use super::line::Line;
use super::tags::{begun, is_needed, result};
use super::variation::{Variation, to_the_end, until};
use super::{Game, Played};
use crate::san;

/// The longest game, in bytes.
const LONGEST_GAME: usize = 8 << 20;

/// The largest number of plies of a game. With at most 75 moves between two captures or pawn moves, a game has less
/// than 18,000 plies. The answers to all its positions are in memory at the same time.
pub(super) const MOST_PLIES: usize = 20_000;

/// How much of a line belongs to the game.
pub(super) enum Taken {
    All,
    /// The part before this byte; the next game begins here.
    Upto(usize),
}

/// A game before its moves are played.
#[derive(Default)]
pub(super) struct Raw {
    tags: Vec<(String, String)>,
    items: Vec<Item>,
    /// Whether `items` has anything but comments.
    has_more_than_comments: bool,
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

impl Raw {
    /// Whether only comments have been read, which a file may begin with: they belong to the game that follows.
    pub(super) fn is_empty(&self) -> bool {
        self.tags.is_empty() && !self.has_more_than_comments && !self.is_under_way()
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

    pub(super) fn take(&mut self, line: &Line) -> Taken {
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
            self.has_more_than_comments = false;
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
        let begins_with = |what| text.trim_start().starts_with(what);
        if !self.is_inside() && begins_with("[") && !begins_with("[%") {
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
    pub(super) fn end(&mut self) {
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
        self.has_more_than_comments |= !matches!(item, Item::Comment(_));
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
    pub(super) fn play(self, number: usize) -> Result<Game, String> {
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

/// The length of the move, number or result at the start of a text. A tag may follow a result without a space.
fn symbol_length(text: &str) -> usize {
    let length = text.find(|c: char| c.is_whitespace() || "{}();$<".contains(c)).unwrap_or(text.len());
    text[..length].find('[').filter(|&at| result(&text[..at]).is_some()).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST_LINE;
    use super::*;

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
}
