//! The compressed values of one part of a table.
//!
//! Values are joined into symbols by recursive pairing: a symbol is a value, or two symbols. A block holds a run of
//! symbols in a canonical Huffman code, most significant bit first. `lengths` says how many values each block holds,
//! and a sparse `index` says in which block, and how far from its beginning, the middle value of each span lies.
//!
//! Whatever the file says, a look-up ends: a symbol is longer than each of its halves, a block has a limited number of
//! bits, and the walk along the blocks is bounded.

use crate::fault::Fault;
use crate::file::{Reader, TableFile};

/// More blocks between an entry of the index and the block of a value would mean that the index is of no use.
const MAX_WALK: u32 = 1 << 16;

/// Longest code, so that one always fits what a [`BitReader`] shows at a time.
const MAX_CODE: u8 = 32;

/// Block lengths that are read together.
const LENGTHS_READ: u64 = 32;

/// Bytes of a block that are read together: the usual block of a DTZ table.
const BUFFER: usize = 1024;

/// The second half of a symbol that is a value.
const VALUE: u16 = 0xfff;

#[derive(Clone, Copy, Debug)]
struct Symbol {
    /// The value, or the first half.
    first: u16,
    /// [`VALUE`], or the second half.
    second: u16,
    /// Values, less one.
    more: u16,
}

/// The values of one part of a table.
#[derive(Debug)]
pub(crate) enum Pairs {
    /// They are all this one.
    Constant(u16),
    Compressed(Box<Compressed>),
}

#[derive(Debug)]
pub(crate) struct Compressed {
    size: u64,
    block_bits: u8,
    span_bits: u8,
    /// Blocks that exist, and entries of `lengths`, of which some at the end may speak of no block.
    blocks: u32,
    lengths: u32,
    code: Code,
    symbols: Vec<Symbol>,
    index_at: u64,
    lengths_at: u64,
    blocks_at: u64,
}

/// A canonical Huffman code: among codes of one length symbols ascend, and longer codes are smaller numbers.
#[derive(Debug)]
struct Code {
    shortest: u8,
    /// For each length the smallest code, at the top of 64 bits, and its symbol.
    rows: Vec<(u64, u16)>,
}

impl Pairs {
    /// Reads what the head of the file says of the part, whose values are `size`. `constant` reads a single value.
    pub fn read(reader: &mut Reader, size: u64, constant: impl Fn(u8) -> u16) -> Result<(u8, Self), Fault> {
        let flags = reader.u8()?;
        if flags & 0x80 != 0 {
            return Ok((flags, Self::Constant(constant(reader.u8()?))));
        }
        let block_bits = reader.u8()?;
        let span_bits = reader.u8()?;
        if block_bits > 24 || !(1..=32).contains(&span_bits) {
            return Err(Fault::Corrupt("blocks or spans of impossible size"));
        }
        let padding = reader.u8()?;
        let blocks = reader.u32()?;
        let lengths = blocks.checked_add(padding.into()).ok_or(Fault::Corrupt("too many blocks"))?;
        let longest = reader.u8()?;
        let shortest = reader.u8()?;
        let (code, symbols) = read_code(reader, shortest, longest)?;
        let places = Compressed {
            size,
            block_bits,
            span_bits,
            blocks,
            lengths,
            code,
            symbols,
            index_at: 0,
            lengths_at: 0,
            blocks_at: 0,
        };
        Ok((flags, Self::Compressed(Box::new(places))))
    }

    /// Takes the place of the index, `at`, and returns its end. The three `place_` functions go in the file's order.
    pub fn place_index(&mut self, at: u64) -> Result<u64, Fault> {
        let Self::Compressed(part) = self else { return Ok(at) };
        part.index_at = at;
        end(at, 6, part.size.div_ceil(1 << part.span_bits))
    }

    /// Takes the place of the block lengths and returns its end.
    pub fn place_lengths(&mut self, at: u64) -> Result<u64, Fault> {
        let Self::Compressed(part) = self else { return Ok(at) };
        part.lengths_at = at;
        end(at, 2, part.lengths.into())
    }

    /// Takes the place of the blocks and returns its end.
    pub fn place_blocks(&mut self, at: u64) -> Result<u64, Fault> {
        let Self::Compressed(part) = self else { return Ok(at) };
        part.blocks_at = at.next_multiple_of(64);
        end(part.blocks_at, 1 << part.block_bits, part.blocks.into())
    }

    /// The value of position `number`.
    pub fn value(&self, file: &TableFile, number: u64) -> Result<u16, Fault> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Compressed(part) => part.value(file, number),
        }
    }
}

fn end(at: u64, each: u64, count: u64) -> Result<u64, Fault> {
    each.checked_mul(count).and_then(|len| at.checked_add(len)).ok_or(Fault::Short)
}

fn read_code(reader: &mut Reader, shortest: u8, longest: u8) -> Result<(Code, Vec<Symbol>), Fault> {
    if shortest == 0 || shortest > longest || longest > MAX_CODE {
        return Err(Fault::Corrupt("codes of impossible length"));
    }
    let firsts: Vec<u16> = (shortest..=longest).map(|_| reader.u16()).collect::<Result<_, _>>()?;
    let count = reader.u16()?;
    if count > VALUE {
        return Err(Fault::Corrupt("too many symbols"));
    }
    let bytes = reader.take(3 * usize::from(count))?;
    let symbols = join_symbols(bytes)?;
    reader.align()?;
    Ok((Code::new(shortest, &firsts)?, symbols))
}

impl Code {
    /// `firsts` has the lowest symbol of each length, the shortest length first.
    fn new(shortest: u8, firsts: &[u16]) -> Result<Self, Fault> {
        let mut rows = vec![(0, 0); firsts.len()];
        let mut smallest = 0u64;
        for (place, &first) in firsts.iter().enumerate().rev() {
            // Codes of the next length run from its smallest to just below this one's, doubled.
            if let Some(&longer) = firsts.get(place + 1) {
                let below = (smallest + u64::from(first)).checked_sub(longer.into());
                smallest = below.ok_or(Fault::Corrupt("a code that is none"))? / 2;
            }
            let length = u32::from(shortest) + place as u32;
            if smallest >> length != 0 {
                return Err(Fault::Corrupt("a code that is none"));
            }
            rows[place] = (smallest << (64 - length), first);
        }
        Ok(Self { shortest, rows })
    }

    /// The symbol that `bits` begin with, and how many of them it takes.
    fn symbol(&self, bits: u64) -> (u64, u32) {
        // The smallest code of the longest length is 0: some row always matches.
        let last = self.rows.len() - 1;
        let place = self.rows.iter().position(|&(smallest, _)| bits >= smallest).unwrap_or(last);
        let (smallest, first) = self.rows[place];
        let length = u32::from(self.shortest) + place as u32;
        (u64::from(first) + ((bits - smallest) >> (64 - length)), length)
    }
}

/// Reads symbols, three bytes each, and counts their values.
fn join_symbols(bytes: &[u8]) -> Result<Vec<Symbol>, Fault> {
    let halves = |bytes: &[u8]| {
        let [a, b, c] = [bytes[0], bytes[1], bytes[2]].map(u16::from);
        Symbol { first: a | (b & 15) << 8, second: b >> 4 | c << 4, more: 0 }
    };
    let mut symbols: Vec<Symbol> = bytes.chunks_exact(3).map(halves).collect();
    let count = symbols.len();
    if symbols.iter().any(|s| s.second != VALUE && usize::from(s.first.max(s.second)) >= count) {
        return Err(Fault::Corrupt("a symbol of symbols that don't exist"));
    }
    let mut known: Vec<bool> = symbols.iter().map(|symbol| symbol.second == VALUE).collect();
    let mut waiting = vec![false; count];
    let mut stack: Vec<u16> = (0..count as u16).collect();
    while let Some(&top) = stack.last() {
        let place = usize::from(top);
        if known[place] {
            stack.pop();
            continue;
        }
        let Symbol { first, second, .. } = symbols[place];
        let unknown = [first, second].into_iter().find(|&half| !known[usize::from(half)]);
        match unknown {
            Some(half) if waiting[usize::from(half)] || half == top => {
                return Err(Fault::Corrupt("a symbol that contains itself"));
            }
            Some(half) => {
                waiting[place] = true;
                stack.push(half);
            }
            None => {
                let more =
                    u32::from(symbols[usize::from(first)].more) + u32::from(symbols[usize::from(second)].more) + 1;
                symbols[place].more = more.try_into().map_err(|_| Fault::Corrupt("a symbol of too many values"))?;
                known[place] = true;
                waiting[place] = false;
                stack.pop();
            }
        }
    }
    Ok(symbols)
}

impl Compressed {
    fn value(&self, file: &TableFile, number: u64) -> Result<u16, Fault> {
        if number >= self.size {
            return Err(Fault::Corrupt("a position beyond the table"));
        }
        let (block, offset) = self.find_block(file, number)?;
        self.decode(file, block, offset)
    }

    /// The block of a value, and how many values of the block come before it.
    fn find_block(&self, file: &TableFile, number: u64) -> Result<(u32, u32), Fault> {
        let mut entry = [0; 6];
        file.read(self.index_at + 6 * (number >> self.span_bits), &mut entry)?;
        let [a, b, c, d, e, f] = entry;
        let mut block = u32::from_le_bytes([a, b, c, d]);
        let half = 1i64 << (self.span_bits - 1);
        let in_span = (number & ((1 << self.span_bits) - 1)) as i64;
        let mut offset = in_span - half + i64::from(u16::from_le_bytes([e, f]));
        let mut lengths = Lengths { part: self, file, start: None, chunk: [0; 2 * LENGTHS_READ as usize] };
        for _ in 0..MAX_WALK {
            if offset < 0 {
                block = block.checked_sub(1).ok_or(Fault::Corrupt("a value before the first block"))?;
                offset += lengths.of(block)?;
            } else {
                let length = lengths.of(block)?;
                if offset < length {
                    return Ok((block, offset as u32));
                }
                offset -= length;
                block += 1;
            }
        }
        Err(Fault::Corrupt("a value far from its place in the index"))
    }

    /// The value `offset` values into a block.
    fn decode(&self, file: &TableFile, block: u32, mut offset: u32) -> Result<u16, Fault> {
        if block >= self.blocks {
            return Err(Fault::Corrupt("a block that doesn't exist"));
        }
        let start = self.blocks_at + (u64::from(block) << self.block_bits);
        let mut bits = BitReader::new(file, start, 1 << self.block_bits);
        loop {
            let (symbol, length) = self.code.symbol(bits.peek()?);
            let symbol = self.symbols.get(symbol as usize).ok_or(Fault::Corrupt("a symbol that doesn't exist"))?;
            if offset <= symbol.more.into() {
                return Ok(self.expand(*symbol, offset as u16));
            }
            offset -= u32::from(symbol.more) + 1;
            bits.skip(length)?;
        }
    }

    /// The value `offset` values into a symbol.
    fn expand(&self, mut symbol: Symbol, mut offset: u16) -> u16 {
        while symbol.second != VALUE {
            let first = self.symbols[usize::from(symbol.first)];
            symbol = if offset <= first.more {
                first
            } else {
                offset -= first.more + 1;
                self.symbols[usize::from(symbol.second)]
            };
        }
        symbol.first
    }
}

/// Block lengths, read some at a time.
struct Lengths<'a> {
    part: &'a Compressed,
    file: &'a TableFile,
    /// The block of the first length in `chunk`.
    start: Option<u64>,
    chunk: [u8; 2 * LENGTHS_READ as usize],
}

impl Lengths<'_> {
    /// Values in a block, at least one.
    fn of(&mut self, block: u32) -> Result<i64, Fault> {
        if block >= self.part.lengths {
            return Err(Fault::Corrupt("a value behind the last block"));
        }
        let block = u64::from(block);
        let start = block - block % LENGTHS_READ;
        if self.start != Some(start) {
            let count = LENGTHS_READ.min(u64::from(self.part.lengths) - start);
            self.file.read(self.part.lengths_at + 2 * start, &mut self.chunk[..2 * count as usize])?;
            self.start = Some(start);
        }
        let place = 2 * (block - start) as usize;
        Ok(i64::from(u16::from_le_bytes([self.chunk[place], self.chunk[place + 1]])) + 1)
    }
}

/// The bits of a block, most significant first; zeros behind its end.
struct BitReader<'a> {
    file: &'a TableFile,
    start: u64,
    len: u64,
    /// Bits taken.
    at: u64,
    /// Bytes of the block from `filled_from` on, and zeros.
    buffer: [u8; BUFFER + 8],
    filled_from: u64,
    filled: u64,
}

impl<'a> BitReader<'a> {
    fn new(file: &'a TableFile, start: u64, len: u64) -> Self {
        Self { file, start, len, at: 0, buffer: [0; BUFFER + 8], filled_from: 0, filled: 0 }
    }

    /// The next bits: at least [`MAX_CODE`] of the 64 are real.
    fn peek(&mut self) -> Result<u64, Fault> {
        let byte = self.at / 8;
        let filled_to = self.filled_from + self.filled;
        if byte + 8 > filled_to && filled_to < self.len {
            self.fill(byte)?;
        }
        let place = (byte - self.filled_from) as usize;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.buffer[place..place + 8]);
        Ok(u64::from_be_bytes(bytes) << (self.at % 8))
    }

    fn fill(&mut self, from: u64) -> Result<(), Fault> {
        let count = (self.len - from).min(BUFFER as u64);
        self.buffer = [0; BUFFER + 8];
        self.file.read(self.start + from, &mut self.buffer[..count as usize])?;
        (self.filled_from, self.filled) = (from, count);
        Ok(())
    }

    fn skip(&mut self, bits: u32) -> Result<(), Fault> {
        self.at += u64::from(bits);
        if self.at >= 8 * self.len {
            return Err(Fault::Corrupt("a block with fewer values than it should have"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_back() {
        // Lengths 1, 2, 3, 3: codes 1, 01, 000, 001. Longer codes have lower symbols.
        let code = Code::new(1, &[3, 2, 0]).unwrap();
        let read = |text: &str| code.symbol(u64::from_str_radix(text, 2).unwrap() << (64 - text.len()));
        assert_eq!([read("000"), read("001"), read("01"), read("1")], [(0, 3), (1, 3), (2, 2), (3, 1)]);
        // Bits behind the code don't matter.
        assert_eq!([read("000111"), read("0011"), read("01011"), read("1001")], [(0, 3), (1, 3), (2, 2), (3, 1)]);
        assert!(Code::new(1, &[0, 9]).is_err(), "nine codes of two bits less than none");
        assert!(Code::new(1, &[9, 0]).is_err(), "nine codes of two bits");
    }

    #[test]
    fn symbols_are_counted_and_loops_found() {
        let bytes = |symbols: &[(u16, u16)]| -> Vec<u8> {
            symbols.iter().flat_map(|&(a, b)| [a as u8, (a >> 8) as u8 | (b << 4) as u8, (b >> 4) as u8]).collect()
        };
        let good = join_symbols(&bytes(&[(3, 2), (7, VALUE), (1, 1), (4, VALUE)])).unwrap();
        assert_eq!(good.iter().map(|symbol| symbol.more).collect::<Vec<_>>(), [2, 0, 1, 0]);
        for bad in [&[(0, 1), (7, VALUE)][..], &[(1, 2), (2, 2), (0, 0)], &[(5, 1), (7, VALUE)], &[(1, 5), (7, VALUE)]]
        {
            assert!(join_symbols(&bytes(bad)).is_err());
        }
        // Doubled sixteen times: one value too many to count.
        let mut doubled = vec![(7, VALUE)];
        doubled.extend((0..16).map(|symbol| (symbol, symbol)));
        assert!(join_symbols(&bytes(&doubled[..16])).is_ok());
        assert_eq!(join_symbols(&bytes(&doubled)).unwrap().last().unwrap().more, u16::MAX);
        doubled.push((16, 0));
        assert!(join_symbols(&bytes(&doubled)).is_err());
    }
}
