//! One table: its file read, and the raw value of a position.
//!
//! A WDL table holds, for either side to move, the result of the best move that is not a capture; if a capture is at
//! least as good, the value may be any that is not better. A DTZ table holds, for one side to move, the plies to the
//! next zeroing move, and only if that can't be seen at once. [`crate::probe`] turns both into results.
//!
//! The head of a file says, for each part (a side to move, and with pawns the file of the leading pawn), how positions
//! are numbered and how values are compressed. Then come for all parts the maps (DTZ only), indexes, block lengths and
//! blocks.

use std::fmt;

use oncilla_chess::cozy_chess::BitBoard;
use oncilla_chess::{Board, Color, Piece};

use crate::fault::Fault;
use crate::file::{Reader, TableFile};
use crate::index::{Arrangement, Layout, lead};
use crate::material::{BLACK, MAX_PIECES, Material};
use crate::pairs::Pairs;
use crate::wdl::Wdl;

/// What a table's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Win, draw or loss: `.rtbw`.
    Wdl,
    /// Plies to the next capture or pawn move: `.rtbz`.
    Dtz,
}

impl Metric {
    /// The extension of its files' names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Wdl => "rtbw",
            Self::Dtz => "rtbz",
        }
    }

    fn magic(self) -> [u8; 4] {
        match self {
            Self::Wdl => [0x71, 0xe8, 0x23, 0x5d],
            Self::Dtz => [0xd7, 0x66, 0x0c, 0xa5],
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wdl => "WDL",
            Self::Dtz => "DTZ",
        })
    }
}

/// Bits of the byte behind the magic number.
mod head {
    /// A part for each side to move.
    pub const SPLIT: u8 = 1;
    pub const PAWNS: u8 = 2;
}

/// Bits of a part's flags in a DTZ table.
mod flag {
    /// Black (as the table has the colours) is to move.
    pub const BLACK_TO_MOVE: u8 = 1;
    /// Values are places in a map.
    pub const MAPPED: u8 = 2;
    /// Wins are counted in plies, not in moves.
    pub const WIN_PLIES: u8 = 4;
    /// Losses are.
    pub const LOSS_PLIES: u8 = 8;
    /// The map has two bytes an entry.
    pub const WIDE: u8 = 16;
}

/// A table, ready to be asked.
#[derive(Debug)]
pub(crate) struct Table {
    material: Material,
    /// WDL tables of unequal sides have a part for each side to move.
    sides: usize,
    /// By file of the leading pawn, then by side to move.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    layout: Layout,
    pairs: Pairs,
    flags: u8,
    /// Wins, losses, cursed wins and blessed losses in a DTZ table have maps of their own.
    maps: Option<[Vec<u16>; 4]>,
}

/// What a DTZ table has for a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawDtz {
    Plies {
        /// Plies to the next zeroing move, at least 1; for cursed wins and blessed losses 100 more.
        plies: i32,
        /// True if the table counts plies. If it counts moves, there may be one ply more.
        exact: bool,
    },
    /// The table has only the other side to move.
    OtherSide,
}

impl Table {
    pub fn read(file: &TableFile, material: Material, metric: Metric) -> Result<Self, Fault> {
        // A table ends with a checksum of 16 bytes, after a multiple of 64 bytes.
        if file.len() % 64 != 16 {
            return Err(Fault::Length(file.len()));
        }
        file.keep_if_small()?;
        let mut reader = Reader::new(file);
        let magic = [reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?];
        if magic != metric.magic() {
            return Err(Fault::Magic(magic));
        }
        let expected =
            if material.is_symmetric() { 0 } else { head::SPLIT } | if material.has_pawns() { head::PAWNS } else { 0 };
        if reader.u8()? & (head::SPLIT | head::PAWNS) != expected {
            return Err(Fault::Corrupt("a table of other pieces than its name says"));
        }
        let sides = if metric == Metric::Wdl && !material.is_symmetric() { 2 } else { 1 };
        let layouts = read_layouts(&mut reader, material, sides)?;
        let mut parts = read_parts(&mut reader, layouts, metric)?;
        if metric == Metric::Dtz {
            read_maps(&mut reader, &mut parts)?;
        }
        let end = place(&mut parts, reader.at())?;
        if end > file.len() {
            return Err(Fault::Short);
        }
        Ok(Self { material, sides, parts })
    }

    /// The raw value of a WDL table.
    pub fn wdl(&self, file: &TableFile, board: &Board) -> Result<Wdl, Fault> {
        let (part, number, _) = self.find(board);
        let value = part.pairs.value(file, number)?;
        Wdl::ALL.get(usize::from(value)).copied().ok_or(Fault::Corrupt("a value that is no result"))
    }

    /// The raw value of a DTZ table for a position whose result is known, and is not a draw.
    pub fn dtz(&self, file: &TableFile, board: &Board, wdl: Wdl) -> Result<RawDtz, Fault> {
        let (part, number, black_to_move) = self.find(board);
        let has_black_to_move = part.flags & flag::BLACK_TO_MOVE != 0;
        let either_side = self.material.is_symmetric() && !self.material.has_pawns();
        if has_black_to_move != black_to_move && !either_side {
            return Ok(RawDtz::OtherSide);
        }
        let value = part.pairs.value(file, number)?;
        part.plies(value, wdl)
    }

    /// The part that a position is in, its number there, and whether Black is to move as the table has the colours.
    fn find(&self, board: &Board) -> (&Part, u64, bool) {
        let black_to_move = board.side_to_move() == Color::Black;
        let swapped = match self.material.is_symmetric() {
            true => black_to_move,
            false => Material::of(board) != self.material,
        };
        let black_to_move = black_to_move != swapped;
        let side = usize::from(black_to_move) % self.sides;
        let mut pieces = Pieces { board, swapped, taken: BitBoard::EMPTY };
        let mut squares = [0; MAX_PIECES];
        let mut placed = 0;
        let mut file = 0;
        if self.material.has_pawns() {
            // All parts have the same pawns in front.
            let leader = self.parts[side].layout.pieces()[0];
            placed = self.material.count_of_code(leader);
            squares[..placed].iter_mut().for_each(|square| *square = pieces.next(leader));
            file = lead(&mut squares[..placed]);
        }
        let part = &self.parts[file * self.sides + side];
        let codes = part.layout.pieces();
        for (square, &code) in squares[placed..].iter_mut().zip(&codes[placed..]) {
            *square = pieces.next(code);
        }
        let number = part.layout.number(&mut squares[..codes.len()]);
        (part, number, black_to_move)
    }
}

/// The pieces of a position that have not been taken yet, in the colours of a table.
struct Pieces<'a> {
    board: &'a Board,
    swapped: bool,
    taken: BitBoard,
}

impl Pieces<'_> {
    /// The square of a piece with that code, which must exist; with colours swapped the board is turned over.
    fn next(&mut self, code: u8) -> u8 {
        let color = if (code & BLACK != 0) != self.swapped { Color::Black } else { Color::White };
        let piece = Piece::index(usize::from(code & 7) - 1);
        let left = self.board.colored_pieces(color, piece) & !self.taken;
        let square = left.next_square().expect("the board has the table's material, and the part's pieces are that");
        self.taken |= square.bitboard();
        square as u8 ^ if self.swapped { 56 } else { 0 }
    }
}

impl Part {
    /// What a stored value means for that result.
    fn plies(&self, value: u16, wdl: Wdl) -> Result<RawDtz, Fault> {
        let (map, exact) = match wdl {
            Wdl::Win => (0, self.flags & flag::WIN_PLIES != 0),
            Wdl::Loss => (1, self.flags & flag::LOSS_PLIES != 0),
            Wdl::CursedWin => (2, false),
            Wdl::BlessedLoss => (3, false),
            Wdl::Draw => return Err(Fault::Corrupt("a distance for a draw")),
        };
        let value = match &self.maps {
            Some(maps) => *maps[map].get(usize::from(value)).ok_or(Fault::Corrupt("a value outside its map"))?,
            None => value,
        };
        Ok(RawDtz::Plies { plies: i32::from(value) * if exact { 1 } else { 2 } + 1, exact })
    }
}

/// For each file of the leading pawn, and each side: the order of groups and the pieces, two sides in one byte.
fn read_layouts(reader: &mut Reader, material: Material, sides: usize) -> Result<Vec<Layout>, Fault> {
    let files = if material.has_pawns() { 4 } else { 1 };
    let both_have_pawns = Color::ALL.iter().all(|&color| material.count(color, Piece::Pawn) > 0);
    let mut layouts = Vec::with_capacity(files * sides);
    for file in 0..files {
        let leading_at = reader.u8()?;
        let pawns_at = if both_have_pawns { Some(reader.u8()?) } else { None };
        let pieces = reader.take(material.len())?.to_vec();
        for side in 0..sides {
            let own = |byte: u8| if side == 0 { byte & 15 } else { byte >> 4 };
            let pieces: Vec<u8> = pieces.iter().map(|&byte| own(byte)).collect();
            let arrangement = Arrangement {
                pieces: &pieces,
                leading_at: own(leading_at).into(),
                pawns_at: pawns_at.map(|byte| own(byte).into()),
                file,
            };
            layouts.push(Layout::new(material, &arrangement)?);
        }
    }
    reader.align()?;
    if layouts.iter().any(|layout| layout.pieces()[0] != layouts[0].pieces()[0]) && material.has_pawns() {
        return Err(Fault::Corrupt("parts with different pawns in front"));
    }
    Ok(layouts)
}

fn read_parts(reader: &mut Reader, layouts: Vec<Layout>, metric: Metric) -> Result<Vec<Part>, Fault> {
    let constant = |byte: u8| if metric == Metric::Wdl { byte.into() } else { 0 };
    let read = |layout: Layout| {
        let (flags, pairs) = Pairs::read(reader, layout.size(), constant)?;
        Ok(Part { layout, pairs, flags, maps: None })
    };
    layouts.into_iter().map(read).collect()
}

fn read_maps(reader: &mut Reader, parts: &mut [Part]) -> Result<(), Fault> {
    for part in parts {
        if part.flags & flag::MAPPED == 0 {
            continue;
        }
        let wide = part.flags & flag::WIDE != 0;
        if wide {
            reader.align()?;
        }
        let mut maps: [Vec<u16>; 4] = Default::default();
        for map in &mut maps {
            *map = if wide {
                let count = reader.u16()?;
                (0..count).map(|_| reader.u16()).collect::<Result<_, _>>()?
            } else {
                let count = reader.u8()?;
                reader.take(count.into())?.iter().map(|&byte| byte.into()).collect()
            };
        }
        part.maps = Some(maps);
    }
    reader.align()
}

/// Finds where each part has its index, its block lengths and its blocks; returns the end of the last.
fn place(parts: &mut [Part], mut at: u64) -> Result<u64, Fault> {
    for part in &mut *parts {
        at = part.pairs.place_index(at)?;
    }
    for part in &mut *parts {
        at = part.pairs.place_lengths(at)?;
    }
    for part in &mut *parts {
        at = part.pairs.place_blocks(at)?;
    }
    Ok(at)
}
