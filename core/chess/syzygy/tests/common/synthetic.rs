//! Writes files in the Syzygy format that hold no truth, only what a seed says.
//!
//! They number as many positions as real tables, up to seven pieces, and take little room: the sparse index may point
//! anywhere, so few blocks serve many positions. That is enough to check how positions are numbered and values are
//! unpacked, where real tables are too large to have at hand. This follows the format's description and shares no code
//! with the reader.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The tables that the recorded numbers of `fixtures/syzygy/synthetic.tsv` are from, by file name.
pub fn tables() -> Vec<(String, Vec<u8>)> {
    const NAMES: [&str; 15] = [
        "KNvK", "KBBvK", "KPvKP", "KPPvK", // what real tables check too
        "KQRBvK", "KNNvKN", "KBBvKBB", "KRRvKRR", "KPPvKP", "KPPPvK", "KRPvKR", // five and six
        "KQRvKBN", "KRPvKBP", "KNNNvKBB", "KPPPvKPP", // six and seven
    ];
    let seeds = (1..).map(|i: u64| i * 7919);
    let both = NAMES.into_iter().flat_map(|name| [(name, false), (name, true)]);
    both.zip(seeds)
        .map(|((name, dtz), seed)| {
            let file = format!("{name}.{}", if dtz { "rtbz" } else { "rtbw" });
            (file, table(name, dtz, seed))
        })
        .collect()
}

/// A table in which every position with White to move has one value, and with Black to move another: 0 to 4 in a WDL
/// table. DTZ tables have no choice.
pub fn constant(name: &str, dtz: bool, values: [u8; 2]) -> Vec<u8> {
    let mut random = Random(1);
    let shape = Shape::new(name, dtz);
    let mut bytes = shape.magic_and_flags();
    shape.arrange(&mut bytes, &mut random);
    for _ in 0..shape.files {
        values[..shape.sides].iter().for_each(|&value| bytes.extend([0x80, value]));
    }
    finish(bytes)
}

/// A table with random values.
pub fn table(name: &str, dtz: bool, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let shape = Shape::new(name, dtz);
    let mut bytes = shape.magic_and_flags();
    let sizes = shape.arrange(&mut bytes, &mut random);
    let parts: Vec<Part> = sizes.iter().map(|&size| Part::new(size, dtz, &mut random)).collect();
    parts.iter().for_each(|part| bytes.extend(&part.head));
    if dtz {
        parts.iter().for_each(|part| part.map(&mut bytes, &mut random));
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    parts.iter().for_each(|part| bytes.extend(&part.index));
    parts.iter().for_each(|part| bytes.extend(&part.lengths));
    for part in &parts {
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes.extend(&part.blocks);
    }
    finish(bytes)
}

/// Pads to a multiple of 64, and adds room for a checksum, which is not read.
fn finish(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(64) + 16, 0);
    bytes
}

struct Shape {
    dtz: bool,
    /// Letters of White and of Black.
    letters: [String; 2],
    files: usize,
    sides: usize,
    /// Pawns of the side that leads, which has fewer but some, and of the other.
    pawns: [usize; 2],
    /// White's pawns lead.
    white_leads: bool,
}

impl Shape {
    fn new(name: &str, dtz: bool) -> Self {
        let (white, black) = name.split_once('v').unwrap();
        let count = |letters: &str| letters.matches('P').count();
        let (w, b) = (count(white), count(black));
        let white_leads = b == 0 || w > 0 && w <= b;
        Self {
            dtz,
            letters: [white.to_string(), black.to_string()],
            files: if w + b > 0 { 4 } else { 1 },
            sides: if dtz || white == black { 1 } else { 2 },
            pawns: if white_leads { [w, b] } else { [b, w] },
            white_leads,
        }
    }

    fn magic_and_flags(&self) -> Vec<u8> {
        let mut bytes = if self.dtz { vec![0xd7, 0x66, 0x0c, 0xa5] } else { vec![0x71, 0xe8, 0x23, 0x5d] };
        let split = self.letters[0] != self.letters[1];
        bytes.push(u8::from(split) | u8::from(self.files == 4) << 1);
        bytes
    }

    /// Writes a random order of pieces and groups for every part. Returns how many positions the parts have.
    fn arrange(&self, bytes: &mut Vec<u8>, random: &mut Random) -> Vec<u64> {
        let mut sizes = Vec::new();
        for file in 0..self.files {
            let sides: Vec<Order> = (0..self.sides).map(|_| self.order(random)).collect();
            let nibbles = |of: &dyn Fn(&Order) -> u8| of(&sides[0]) | sides.get(1).map_or(0, of) << 4;
            bytes.push(nibbles(&|order| order.leading));
            if self.pawns[1] > 0 {
                bytes.push(nibbles(&|order| order.pawns));
            }
            bytes.extend((0..sides[0].pieces.len()).map(|i| nibbles(&|order| order.pieces[i])));
            sizes.extend(sides.iter().map(|order| self.size(order, file)));
        }
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        sizes
    }

    fn order(&self, random: &mut Random) -> Order {
        let code = |(color, letter): (u8, char)| 1 + "PNBRQK".find(letter).unwrap() as u8 + 8 * color;
        let both =
            [0, 1].into_iter().flat_map(|color| self.letters[usize::from(color)].chars().map(move |l| (color, l)));
        let mut codes: Vec<u8> = both.map(code).collect();
        codes.sort_unstable();
        let mut runs: Vec<Vec<u8>> = codes.chunk_by(|a, b| a == b).map(<[u8]>::to_vec).collect();
        random.shuffle(&mut runs);
        let is_king = |run: &Vec<u8>| run[0] & 7 == 6;
        let place = |run: &Vec<u8>| match (self.files == 4, run[0]) {
            (true, 1) => usize::from(!self.white_leads),
            (true, 9) => usize::from(self.white_leads),
            (true, _) => 2,
            (false, _) if runs.iter().filter(|run| run.len() == 1).count() > 2 => usize::from(run.len() > 1),
            (false, _) => usize::from(!is_king(run)),
        };
        let mut keyed: Vec<(usize, Vec<u8>)> = runs.iter().map(|run| (place(run), run.clone())).collect();
        keyed.sort_by_key(|(place, _)| *place);
        let pieces = keyed.into_iter().flat_map(|(_, run)| run).collect();
        let mut order = Order { pieces, leading: 0, pawns: 15 };
        let groups = self.groups(&order).len() as u64;
        order.leading = random.below(groups) as u8;
        while self.pawns[1] > 0 && (order.pawns == 15 || order.pawns == order.leading) {
            order.pawns = random.below(groups) as u8;
        }
        order
    }

    /// Lengths of the groups.
    fn groups(&self, order: &Order) -> Vec<usize> {
        let unique =
            order.pieces.iter().filter(|&code| order.pieces.iter().filter(|c| c == &code).count() == 1).count();
        let first = match () {
            () if self.files == 4 => self.pawns[0],
            () if unique > 2 => 3,
            () => 2,
        };
        let rest = order.pieces[first..].chunk_by(|a, b| a == b).map(<[u8]>::len);
        std::iter::once(first).chain(rest).collect()
    }

    fn size(&self, order: &Order, file: usize) -> u64 {
        let groups = self.groups(order);
        let mut size = match (self.files == 4, groups[0]) {
            // The leading pawn on rank r of its file has 47 − 2 · (6 · file + r) squares left for the others.
            (true, pawns) => (0..6).map(|rank| choose(47 - 2 * (6 * file + rank) as u64, pawns as u64 - 1)).sum(),
            (false, 3) => 31_332,
            (false, _) => 462,
        };
        let mut free = 64 - groups[0] as u64;
        for (i, &len) in groups.iter().enumerate().skip(1) {
            let squares = if i == 1 && self.pawns[1] > 0 { free - 16 } else { free };
            size *= choose(squares, len as u64);
            free -= len as u64;
        }
        size
    }
}

fn choose(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// What the head of a file says of a part's pieces.
struct Order {
    pieces: Vec<u8>,
    leading: u8,
    pawns: u8,
}

/// The compressed values of a part.
struct Part {
    flags: u8,
    head: Vec<u8>,
    index: Vec<u8>,
    lengths: Vec<u8>,
    blocks: Vec<u8>,
}

/// Entries of each of the four maps of a DTZ part.
const MAP: u64 = 50;
const MAPPED: u8 = 2;
const WIDE: u8 = 16;

impl Part {
    fn new(size: u64, dtz: bool, random: &mut Random) -> Self {
        let mut flags = if dtz { random.below(32) as u8 } else { 0 };
        if flags & MAPPED == 0 {
            flags &= !WIDE;
        }
        let values: Vec<u16> = match (dtz, flags & MAPPED != 0) {
            (false, _) => (0..5).collect(),
            (true, true) => (0..20).map(|_| random.below(MAP) as u16).collect(),
            (true, false) => (0..20).map(|_| random.below(4096) as u16).collect(),
        };
        let symbols = Symbols::new(&values, random);
        // About the least sum of index and blocks.
        let span_bits = (200 * size).isqrt().ilog2().max(4);
        let block_bits = if dtz { 10 } else { 5 + random.below(3) as u8 };
        let mut lengths = Vec::new();
        let mut blocks = Vec::new();
        let mut total = 0;
        while total < 3 << span_bits {
            let (length, block) = symbols.block(1 << block_bits, random);
            total += length;
            lengths.push(length);
            blocks.extend(block);
        }
        let index = (0..size.div_ceil(1 << span_bits)).flat_map(|_| {
            let middle = (1 << (span_bits - 1)) + random.below(total - (1 << span_bits));
            entry(&lengths, middle, random)
        });
        let index = index.collect();
        let padding = random.below(4) as u8;
        let mut head = vec![flags, block_bits, span_bits as u8, padding];
        head.extend((lengths.len() as u32).to_le_bytes());
        head.extend(&symbols.head);
        let lengths = lengths.iter().map(|&length| (length - 1) as u16).chain((0..padding).map(|_| 0));
        Self { flags, head, index, lengths: lengths.flat_map(u16::to_le_bytes).collect(), blocks }
    }

    fn map(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        if self.flags & MAPPED == 0 {
            return;
        }
        if self.flags & WIDE != 0 {
            bytes.resize(bytes.len().next_multiple_of(2), 0);
        }
        for _ in 0..4 {
            if self.flags & WIDE != 0 {
                bytes.extend((MAP as u16).to_le_bytes());
                bytes.extend((0..MAP).flat_map(|_| (random.below(2000) as u16).to_le_bytes()));
            } else {
                bytes.push(MAP as u8);
                bytes.extend((0..MAP).map(|_| random.below(256) as u8));
            }
        }
    }
}

/// An entry of the index: the value at `middle` of the stream is so far behind the beginning of that block. Any block
/// before the value will do that is no more than 65535 values away.
fn entry(lengths: &[u64], middle: u64, random: &mut Random) -> [u8; 6] {
    let mut block = 0;
    let mut start = 0;
    while start + lengths[block] <= middle {
        start += lengths[block];
        block += 1;
    }
    if block > 0 && random.coin() && middle - (start - lengths[block - 1]) < 1 << 16 {
        block -= 1;
        start -= lengths[block];
    }
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&(block as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&((middle - start) as u16).to_le_bytes());
    bytes
}

/// Symbols with a complete Huffman code.
struct Symbols {
    /// How they are written in the file, from the longest code's length on.
    head: Vec<u8>,
    /// Values of each.
    values: Vec<u64>,
    /// Code and its length of each.
    codes: Vec<(u64, u32)>,
}

impl Symbols {
    const COUNT: usize = 90;
    const LONGEST: u32 = 14;

    fn new(values: &[u16], random: &mut Random) -> Self {
        // Values, then pairs, in an order that the numbers don't show.
        let mut number: Vec<u16> = (0..Self::COUNT as u16).collect();
        random.shuffle(&mut number);
        let mut halves = vec![(0, 0); Self::COUNT];
        let mut lengths = vec![0; Self::COUNT];
        for i in 0..Self::COUNT {
            let own = usize::from(number[i]);
            if let Some(&value) = values.get(i) {
                (halves[own], lengths[own]) = ((value, 0xfff), 1);
                continue;
            }
            loop {
                let [a, b] = [(); 2].map(|_| number[random.below(i as u64) as usize]);
                let length = lengths[usize::from(a)] + lengths[usize::from(b)];
                if length <= 256 {
                    (halves[own], lengths[own]) = ((a, b), length);
                    break;
                }
            }
        }
        let codes = codes(Self::COUNT, random);
        let (shortest, longest) = (codes.last().unwrap().1, codes[0].1);
        let mut head = vec![longest as u8, shortest as u8];
        for length in shortest..=longest {
            let first = codes.iter().filter(|code| code.1 > length).count() as u16;
            head.extend(first.to_le_bytes());
        }
        head.extend((Self::COUNT as u16).to_le_bytes());
        head.extend(halves.iter().flat_map(|&(a, b)| [a as u8, (a >> 8) as u8 | (b << 4) as u8, (b >> 4) as u8]));
        head.resize(head.len().next_multiple_of(2), 0);
        Self { head, values: lengths, codes }
    }

    /// A block of random symbols, and how many values it has. What is left of its bits is random too.
    fn block(&self, bytes: usize, random: &mut Random) -> (u64, Vec<u8>) {
        let mut bits = Vec::with_capacity(8 * bytes);
        let mut length = 0;
        loop {
            let symbol = random.below(self.codes.len() as u64) as usize;
            let (code, code_length) = self.codes[symbol];
            if bits.len() + code_length as usize > 8 * bytes || length + self.values[symbol] > 1 << 16 {
                break;
            }
            length += self.values[symbol];
            bits.extend((0..code_length).rev().map(|bit| code >> bit & 1 == 1));
        }
        bits.resize_with(8 * bytes, || random.coin());
        (length, bits.chunks(8).map(|byte| byte.iter().fold(0, |sum, &bit| sum << 1 | u8::from(bit))).collect())
    }
}

/// A random complete code: longer codes are smaller, and among codes of a length they ascend with the symbol.
fn codes(count: usize, random: &mut Random) -> Vec<(u64, u32)> {
    let mut lengths = vec![0];
    while lengths.len() < count {
        let split = random.below(lengths.len() as u64) as usize;
        if lengths[split] < Symbols::LONGEST {
            lengths[split] += 1;
            lengths.push(lengths[split]);
        }
    }
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut next = 0;
    let mut last = lengths[0];
    let assign = |&length: &u32| {
        next >>= last - length;
        last = length;
        next += 1;
        (next - 1, length)
    };
    lengths.iter().map(assign).collect()
}
