//! Attention, and the scores of a policy.

use super::right::{Packed, RightSide, Sides, Whole, takes_boards, vector_of_blocks};
use super::{
    Block, ByColumns, CHESS, COLUMNS, Columns, InRows, MOST_BLOCKS, Product, Sink, make_all, make_columns, make_rows,
    pack_blocks, rows, vector_of_row,
};
use crate::host::arith::{Arith, Form, exp_up_to_end};
use crate::host::isa::versions;

/// One head of an attention. All values are `[channels of the head][squares]`.
#[derive(Clone, Copy)]
pub(in crate::host) struct Attention<'a> {
    pub squares: usize,
    pub query: &'a [f32],
    pub key: &'a [f32],
    pub value: &'a [f32],
    /// `[squares of the key][squares of the query]`.
    pub bias: Option<&'a [f32]>,
}

/// How many blocks [`attention`] needs to work in; the head's query has `depth` channels.
pub(in crate::host) fn attention_room(squares: usize, depth: usize) -> usize {
    blocks_at_once(squares) * (depth + squares)
}

/// How many blocks [`scores`] needs to work in.
pub(in crate::host) fn scores_room(squares: usize, channels: usize) -> usize {
    blocks_at_once(squares) * channels
}

/// The most blocks of columns that any form processes at once.
fn blocks_at_once(columns: usize) -> usize {
    columns.div_ceil(COLUMNS).min(MOST_BLOCKS)
}

versions! {
    /// Averages the values, weighted, into `output`, `[channels][squares]`; `room` has [`attention_room`] blocks.
    attention = attention_body(head: Attention<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn attention_body<F: Form>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    // With a chessboard's squares as a constant, and for any number.
    match (takes_boards::<F>(), head.squares) {
        (true, CHESS) => attention_on_board::<F::Wide>(Attention { squares: CHESS, ..head }, room, output),
        (false, CHESS) => attention_over::<F>(Attention { squares: CHESS, ..head }, room, output),
        _ => attention_over::<F>(head, room, output),
    }
}

/// All squares at once, which are in the order that the products want already.
#[inline(always)]
fn attention_on_board<M: Arith>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    let scores = &mut room[..MOST_BLOCKS * CHESS];
    let apart = Apart { rows: MOST_BLOCKS, blocks: 1 };
    let mut shares = [Block::ZERO; MOST_BLOCKS];
    make_rows::<M, 1>(&mut Keys { head, first: 0, queries: Whole(boards(head.query)), apart, scores }, CHESS);
    Exponents { squares: CHESS, apart, scores, shares: &mut shares }.make_columns::<M, MOST_BLOCKS>(0);
    let weights = Whole(scores.as_chunks::<MOST_BLOCKS>().0);
    make_rows::<M, 1>(&mut Values { head, first: 0, weights, shares: &shares, output }, head.value.len() / CHESS);
}

#[inline(always)]
fn attention_over<F: Form>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    let Attention { squares, query, value, .. } = head;
    let (depth, blocks) = (query.len() / squares, squares.div_ceil(COLUMNS));
    let (queries, scores) = room.split_at_mut(blocks_at_once(squares) * depth);
    let apart = Apart { rows: 1, blocks: squares };
    // Some squares of the query at a time: their scores, with one row for each key, stay in the nearest cache.
    for first in (0..blocks).step_by(F::BLOCKS) {
        let count = F::BLOCKS.min(blocks - first);
        let (queries, scores) = (&mut queries[..count * depth], &mut scores[..count * squares]);
        pack_blocks(query, squares, first, queries);
        let queries = Packed { blocks: queries, rows: depth };
        make_all::<F>(&mut Keys { head, first, queries, apart, scores }, squares, count);
        let mut shares = [Block::ZERO; MOST_BLOCKS];
        make_columns::<F>(&mut Exponents { squares, apart, scores, shares: &mut shares }, count);
        let weights = Packed { blocks: scores, rows: squares };
        make_all::<F>(&mut Values { head, first, weights, shares: &shares, output }, value.len() / squares, count);
    }
}

/// Chessboards that follow each other.
#[inline(always)]
fn boards(squares: &[f32]) -> &[[f32; CHESS]] {
    squares.as_chunks().0
}

/// The distances between blocks of scores: from those of one key to those of the next, and between those of one key.
#[derive(Clone, Copy)]
struct Apart {
    rows: usize,
    blocks: usize,
}

/// The scores of some blocks of queries: products with each key, divided by the root of the number of channels, plus
/// the bias.
struct Keys<'a, Q> {
    head: Attention<'a>,
    first: usize,
    queries: Q,
    apart: Apart,
    scores: &'a mut [Block],
}

impl<Q: Sides> Product for Keys<'_, Q> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Attention { squares, key, bias, .. } = self.head;
        let bias = bias.map(|bias| &bias[row * squares..][..ROWS * squares]);
        let apart = self.apart;
        let scores = &mut self.scores[block * apart.blocks + row * apart.rows..];
        let by = 1.0 / ((key.len() / squares) as f32).sqrt();
        let sink = &mut InScores { squares, first: self.first + block, by, bias, apart, scores };
        self.queries.of_tile::<BLOCKS>(block).tile::<M, ROWS>(Columns { data: key, count: squares, first: row }, sink);
    }
}

struct InScores<'a> {
    squares: usize,
    /// The first block of the queries.
    first: usize,
    /// The factor of the sums.
    by: f32,
    /// `[rows][squares]`.
    bias: Option<&'a [f32]>,
    apart: Apart,
    scores: &'a mut [Block],
}

impl Sink for InScores<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        let each = COLUMNS / M::LANES;
        let bias = self.bias.map(|bias| &bias[row * self.squares..][..self.squares]);
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in (first..).zip(sums) {
                let at = (self.first + block) * COLUMNS + vector * M::LANES;
                let x = match bias {
                    Some(bias) => M::scale_add(self.by, *x, vector_of_row::<M>(bias, at)),
                    None => M::times(M::splat(self.by), *x),
                };
                let block = (block + vector / each) * self.apart.blocks + row * self.apart.rows;
                self.scores[block].set::<M>(vector % each, x);
            }
        }
    }
}

/// Computes `e^(x - largest of its column)` of each score, and the factors by which the sums of the columns become one.
struct Exponents<'a> {
    squares: usize,
    apart: Apart,
    scores: &'a mut [Block],
    /// For each block.
    shares: &'a mut [Block],
}

impl ByColumns for Exponents<'_> {
    /// The innermost loops go from block to block, so that none waits for what it has just begun.
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        let (squares, apart) = (self.squares, self.apart);
        let scores = &mut self.scores[block * apart.blocks..];
        for vector in 0..COLUMNS / M::LANES {
            let mut largest = [M::splat(f32::NEG_INFINITY); BLOCKS];
            for row in 0..squares {
                for (number, largest) in largest.iter_mut().enumerate() {
                    *largest =
                        M::larger(scores[number * apart.blocks + row * apart.rows].vector::<M>(vector), *largest);
                }
            }
            let mut sums = [M::splat(0.0); BLOCKS];
            for row in 0..squares {
                for (number, (sum, largest)) in sums.iter_mut().zip(&largest).enumerate() {
                    let score = &mut scores[number * apart.blocks + row * apart.rows];
                    let x = exp_up_to_end::<M>(M::minus(score.vector::<M>(vector), *largest));
                    *sum = M::plus(*sum, x);
                    score.set::<M>(vector, x);
                }
            }
            for (sum, block) in sums.iter().zip(&mut self.shares[block..]) {
                block.set::<M>(vector, M::over(M::splat(1.0), *sum));
            }
        }
    }
}

/// The means of the values of some blocks of queries.
struct Values<'a, W> {
    head: Attention<'a>,
    first: usize,
    weights: W,
    /// The factor of the sums, for each block.
    shares: &'a [Block],
    output: &'a mut [f32],
}

impl<W: Sides> Product for Values<'_, W> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Attention { squares, value, .. } = self.head;
        let output = InRows { output: &mut self.output[row * squares..], len: squares, block: self.first + block };
        let sink = &mut Shares { by: &self.shares[block..], rows: output };
        self.weights.of_tile::<BLOCKS>(block).tile::<M, ROWS>(rows(value, squares, row), sink);
    }
}

/// Rows whose columns are each multiplied by a factor.
struct Shares<'a> {
    by: &'a [Block],
    rows: InRows<'a>,
}

impl Sink for Shares<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in (first..).zip(sums) {
                let by = vector_of_blocks::<M>(&self.by[block..], vector);
                self.rows.put::<M>(row, block, vector, M::times(by, *x));
            }
        }
    }
}

/// The products of each square of a query with each of a key, both `[channels][squares]`, divided by the root of the
/// number of channels.
#[derive(Clone, Copy)]
pub(in crate::host) struct Scores<'a> {
    pub channels: usize,
    pub query: &'a [f32],
    pub key: &'a [f32],
}

versions! {
    /// Computes the scores into `output`, `[squares of the query][squares of the key]`; `room` has [`scores_room`]
    /// blocks.
    scores = scores_body(sides: Scores<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn scores_body<F: Form>(sides: Scores<'_>, room: &mut [Block], output: &mut [f32]) {
    let Scores { channels, query, key } = sides;
    let (queries, squares) = (query.len() / channels, key.len() / channels);
    if takes_boards::<F>() && squares == CHESS {
        return make_rows::<F::Wide, 1>(&mut Queries { sides, first: 0, keys: Whole(boards(key)), output }, queries);
    }
    let blocks = squares.div_ceil(COLUMNS);
    for first in (0..blocks).step_by(F::BLOCKS) {
        let count = F::BLOCKS.min(blocks - first);
        let keys = &mut room[..count * channels];
        pack_blocks(key, squares, first, keys);
        let keys = Packed { blocks: keys, rows: channels };
        make_all::<F>(&mut Queries { sides, first, keys, output }, queries, count);
    }
}

struct Queries<'a, K> {
    sides: Scores<'a>,
    first: usize,
    keys: K,
    output: &'a mut [f32],
}

impl<K: Sides> Product for Queries<'_, K> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Scores { channels, query, key } = self.sides;
        let (queries, squares) = (query.len() / channels, key.len() / channels);
        let left = Columns { data: query, count: queries, first: row };
        let output = InRows { output: &mut self.output[row * squares..], len: squares, block: self.first + block };
        let by = [Block([1.0 / (channels as f32).sqrt(); COLUMNS]); MOST_BLOCKS];
        self.keys.of_tile::<BLOCKS>(block).tile::<M, ROWS>(left, &mut Shares { by: &by, rows: output });
    }
}
