//! Compares products in tiles with sums in double precision.

use super::*;
use crate::host::isa::Isa;
use crate::host::pack;

/// Numbers between -1 and 1, the same in every run.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 as f32 / u32::MAX as f32 * 2.0 - 1.0
    }

    fn some(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// The hardware's tiles, if there are any, and the loops that stand for them elsewhere.
fn all_tiles() -> impl Iterator<Item = Tiles> {
    Tiles::find().into_iter().chain([Tiles::Loops])
}

/// The largest absolute value.
fn largest(numbers: impl IntoIterator<Item = f32>) -> f64 {
    numbers.into_iter().fold(0.0, |most, x| most.max(f64::from(x.abs())))
}

/// Sixteen rows of the left side and sixteen columns of the right one, both `[16][depth]`, multiplied with each of
/// [`all_tiles`]: the results are `[row][column]`.
fn products(rows: &[f32], columns: &[f32]) -> Vec<(String, Vec<f32>)> {
    let depth = columns.len() / 16;
    let steps = steps_of_inputs(depth);
    let (mut left, mut units) = (vec![Operand::ZERO; steps.len()], [[0.0; ROWS]]);
    split_left(Isa::detect(), rows, depth, &mut left, &mut units);
    let (right, columns) = pack::tiles_dense(columns, 16);
    let product = |tiles: Tiles| {
        let mut sums = [MaybeUninit::uninit()];
        let sums = tiles.ready().multiply(&left, &steps, &right, &mut sums);
        let mut output = vec![0.0; 256];
        let ends = RowEnds { sums: &sums[0], rows: &units[0], neurons: &columns[0], bias: &Block::ZERO };
        end_in_rows(Isa::detect(), ends, 0, 16, &mut output);
        (format!("{tiles:?}"), output)
    };
    all_tiles().map(product).collect()
}

#[test]
fn products_are_within_their_bound() {
    let mut numbers = Numbers(1);
    for depth in [1, 3, 64, 65, 300, 1000] {
        // Rows and columns of very different sizes, with numbers of very different sizes in each.
        let mut side = || {
            let sizes = numbers.some(16);
            let row = |size: f32| numbers.some(depth).into_iter().map(move |x| x * x * x * (size * 40.0).exp2());
            sizes.into_iter().flat_map(row).collect::<Vec<f32>>()
        };
        let (rows, columns) = (side(), side());
        for (tiles, got) in products(&rows, &columns) {
            for (at, got) in got.into_iter().enumerate() {
                let (row, column) = (&rows[at / 16 * depth..][..depth], &columns[at % 16 * depth..][..depth]);
                let exact: f64 = row.iter().zip(column).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let largest = largest(row.iter().copied()) * largest(column.iter().copied());
                let bound = largest * depth as f64 / f64::from(1 << 21) + exact.abs() / f64::from(1 << 22);
                let error = (f64::from(got) - exact).abs();
                assert!(error <= bound, "{tiles}, {depth} products: {got}, expected {exact} within {bound}");
            }
        }
    }
}

/// The errors of many products mostly cancel out: those of the result are near those of a sum in single precision.
#[test]
fn long_sums_are_nearly_those_of_single_precision() {
    let mut numbers = Numbers(2);
    let depth = 2304;
    let (rows, columns) = (numbers.some(16 * depth), numbers.some(16 * depth));
    let pairs = |at: usize| rows[at / 16 * depth..][..depth].iter().zip(&columns[at % 16 * depth..][..depth]);
    let exact = |at| pairs(at).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let worst = |got: &dyn Fn(usize) -> f32| {
        (0..256).fold(0.0, |worst: f64, at| worst.max((f64::from(got(at)) - exact(at)).abs()))
    };
    let single = worst(&|at| pairs(at).fold(0.0f32, |sum, (a, b)| a.mul_add(*b, sum)));
    for (tiles, got) in products(&rows, &columns) {
        let error = worst(&|at| got[at]);
        assert!(error <= 2.0 * single, "{tiles}: off by {error}, in single precision by {single}");
    }
}

/// Whole numbers that fit into the bytes are multiplied exactly.
#[test]
fn what_needs_no_rounding_is_exact() {
    let mut numbers = Numbers(3);
    let mut whole = |most: f32| -> Vec<f32> {
        let mut some: Vec<f32> = numbers.some(16 * 100).into_iter().map(|x| (x * most).round()).collect();
        // With 127 as the largest number of each row and column, the units are 1.
        some.chunks_mut(100).for_each(|row| row[7] = 127.0);
        some
    };
    let (rows, columns) = (whole(127.0), whole(100.0));
    for (tiles, got) in products(&rows, &columns) {
        for (at, got) in got.into_iter().enumerate() {
            let pairs = rows[at / 16 * 100..][..100].iter().zip(&columns[at % 16 * 100..]);
            assert_eq!(got, pairs.map(|(a, b)| a * b).sum::<f32>(), "{tiles}");
        }
    }
}

/// The sums hold as many of the largest products as there may be.
#[test]
fn the_longest_sum_does_not_overflow() {
    // The bytes of this number are 126, 127 and 127: the sum of the lowest products is 0.98 of what 31 bits hold.
    let near: f32 = 126.0 + 127.0 / 256.0 + 127.0 / 65536.0;
    for sign in [1.0, -1.0] {
        let mut row = vec![near; MOST_PRODUCTS];
        row[0] = 127.0;
        let columns: Vec<f32> = row.iter().map(|x| x * sign).collect();
        let exact: f64 = row.iter().zip(&columns).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        for (tiles, got) in products(&row, &columns.repeat(16)) {
            assert!((f64::from(got[0]) / exact - 1.0).abs() < 1e-6, "{tiles}: {}, expected {exact}", got[0]);
        }
    }
}

#[test]
fn a_number_that_is_none_stays_none() {
    let last = [0x7fff_ffff, 0x7fff_8000, 0xffff_ffff, 0x7f80_0001].map(f32::from_bits);
    let none = last.into_iter().chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    for x in none {
        let (mut with, without) = (vec![1.0; 16 * 64], vec![1.0; 16 * 64]);
        (with[3 * 64 + 5], with[0]) = (x, 0.0);
        for (tiles, got) in products(&with, &without) {
            let finite: Vec<bool> = got.iter().map(|x| x.is_finite()).collect();
            assert!(finite.iter().enumerate().all(|(at, finite)| *finite == (at / 16 != 3)), "{tiles}: a row with {x}");
        }
        for (tiles, got) in products(&without, &with) {
            let finite: Vec<bool> = got.iter().map(|x| x.is_finite()).collect();
            assert!(
                finite.iter().enumerate().all(|(at, finite)| *finite == (at % 16 != 3)),
                "{tiles}: a column with {x}"
            );
        }
    }
}

/// The same for what convolutions multiply, where each square is a column with its own unit, or all squares have one.
#[test]
fn a_board_with_a_number_that_is_none_has_none() {
    let board = crate::host::board::Board::CHESS;
    for x in [f32::NAN, f32::INFINITY] {
        // The last two lie behind the last whole part of 64 numbers of the planes.
        for at in [0, 63, 64, 70, 319, 448, 454] {
            let mut scale = Scale::ZERO;
            let mut rows = vec![1.0; 8 * CHESS];
            rows[at] = x;
            scale_rows(Isa::detect(), &rows, &mut scale);
            let none: Vec<bool> = scale.unit.iter().flat_map(|block| block.0).map(f32::is_nan).collect();
            assert!(none.iter().enumerate().all(|(column, none)| *none == (column == at % CHESS)), "{x} at {at}");
            let mut planes = vec![1.0; 5 * board.plane];
            planes[at] = x;
            scale_board(Isa::detect(), &planes, &mut scale);
            assert!(scale.unit.iter().flat_map(|block| block.0).all(f32::is_nan), "{x} at {at}");
        }
    }
}

/// Neither zero nor a number next to it is divided by.
#[test]
fn nothing_is_not_divided_by() {
    for x in [0.0, -0.0, 1e-45, 1e-38, 1e-31] {
        for (tiles, got) in products(&[x; 16 * 64], &[0.5; 16 * 64]) {
            assert!(got.iter().all(|y| (y - 32.0 * x).abs() <= 1e-36), "{tiles}: {x} became {}", got[0]);
        }
    }
}

/// In whatever order users of the tiles are dropped, the tiles stay ready for those that are left.
#[test]
fn tiles_are_ready_as_long_as_anyone_needs_them() {
    let steps = steps_of_inputs(DEPTH);
    let (left, right) = ([Operand::ZERO], [Operand::ZERO]);
    for tiles in all_tiles() {
        let mut ready = vec![tiles.ready(), tiles.ready(), tiles.ready()];
        ready.remove(0);
        ready.pop();
        let mut sums = [MaybeUninit::uninit()];
        let sums = ready[0].multiply(&left, &steps, &right, &mut sums);
        assert_eq!(sums[0].0, [[[0; 16]; ROWS]; 3]);
    }
}
