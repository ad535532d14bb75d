//! Tiles against sums in double precision.

use super::*;
use crate::host::kernel::Isa;

/// Numbers between -1 and 1, always the same.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 as f32 / u32::MAX as f32 * 2.0 - 1.0
    }
}

/// The hardware's where there are some, and the loops that stand for it elsewhere.
fn all_tiles() -> impl Iterator<Item = Tiles> {
    Tiles::find().into_iter().chain([Tiles::Loops])
}

#[test]
fn products_are_within_their_bound() {
    let mut numbers = Numbers(1);
    // One panel to more than two groups, one step to more than two rounds, both ways in which lines lie.
    for (panels, depth, flat) in
        [(1, 32, true), (1, 300, false), (2, 64, true), (4, 130, true), (5, 320, false), (9, 96, true)]
    {
        let steps = if flat { Layout::FLAT.steps(depth) } else { steps_of_inputs(depth) };
        let depth = steps.len() * DEPTH;
        let rows: Vec<f32> = (0..panels * ROWS * depth).map(|_| numbers.next()).collect();
        let columns: Vec<f32> = (0..depth * COLUMNS).map(|_| numbers.next()).collect();
        let mut left = vec![Left::ZERO; panels * steps.len()];
        split_left(Isa::detect(), &rows, depth, &steps, &mut left);
        let lines = match flat {
            true => {
                let mut lines = vec![Line::ZERO; Layout::FLAT.of(depth)];
                let (upper, lower) = lines.split_at_mut(depth / 2 * BLOCKS);
                split_rows(Isa::detect(), &columns, upper, lower);
                lines
            }
            false => {
                let neurons: Vec<f32> =
                    (0..COLUMNS).flat_map(|c| (0..depth).map(move |k| k * COLUMNS + c)).map(|at| columns[at]).collect();
                crate::host::pack::tiles_dense(&neurons, COLUMNS)
            }
        };
        let sides = if flat { Right::of(&lines) } else { right(&lines) };
        for tiles in all_tiles() {
            for first in (0..panels).step_by(GROUP) {
                let mut sums = vec![MaybeUninit::uninit(); GROUP.min(panels - first)];
                let all = Panels { left: &left, count: panels };
                let sums = tiles.ready().multiply((all, first), &steps, sides, &mut sums);
                for (row, sums) in sums.iter().flatten().enumerate() {
                    let row = &rows[(first * ROWS + row) * depth..][..depth];
                    for (column, sum) in sums.iter().flat_map(|block| block.0).enumerate() {
                        let products = row
                            .iter()
                            .enumerate()
                            .map(|(k, a)| f64::from(*a) * f64::from(columns[k * COLUMNS + column]));
                        let (exact, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                        let error = (f64::from(sum) - exact).abs();
                        assert!(
                            error <= size / 65536.0,
                            "{tiles:?}, {panels} panels of {depth}: {sum}, expected {exact}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_number_that_is_none_stays_none() {
    let steps = Layout::FLAT.steps(DEPTH);
    let last = [0x7fff_ffff, 0x7fff_8000, 0xffff_ffff, 0x7f80_0001].map(f32::from_bits);
    let none = last.into_iter().chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]);
    for (a, b) in none.flat_map(|x| [(x, 1.0), (1.0, x)]) {
        let mut left = [Left::ZERO];
        split_left(Isa::detect(), &[a; DEPTH], DEPTH, &steps, &mut left);
        let mut lines = vec![Line::ZERO; Layout::FLAT.of(DEPTH)];
        let (upper, lower) = lines.split_at_mut(LINES * BLOCKS);
        split_rows(Isa::detect(), &[b; DEPTH * COLUMNS], upper, lower);
        for tiles in all_tiles() {
            let mut sums = [MaybeUninit::uninit()];
            let all = Panels { left: &left, count: 1 };
            let sums = tiles.ready().multiply((all, 0), &steps, Right::of(&lines), &mut sums);
            assert!(sums[0][0].iter().flat_map(|block| block.0).all(|x| !x.is_finite()), "{tiles:?}: {a} times {b}");
        }
    }
}

/// Where both numbers are halfway between two of their halves, all three errors of a product add up.
#[test]
fn a_single_product_is_within_its_bound() {
    let steps = Layout::FLAT.steps(DEPTH);
    for a in [1.003_898_5, 1.003_898_6, 1.0, 1.5, -1.003_898_5, 3.14e-20, 2.718e20] {
        let mut left = [Left::ZERO];
        let mut row = [0.0; DEPTH];
        row[5] = a;
        split_left(Isa::detect(), &row, DEPTH, &steps, &mut left);
        let mut lines = vec![Line::ZERO; Layout::FLAT.of(DEPTH)];
        let (upper, lower) = lines.split_at_mut(LINES * BLOCKS);
        split_rows(Isa::detect(), &[1.003_898_5; DEPTH * COLUMNS], upper, lower);
        for tiles in all_tiles() {
            let mut sums = [MaybeUninit::uninit()];
            let all = Panels { left: &left, count: 1 };
            let sums = tiles.ready().multiply((all, 0), &steps, Right::of(&lines), &mut sums);
            let (got, exact) = (f64::from(sums[0][0][0].0[0]), f64::from(a) * f64::from(1.003_898_5_f32));
            assert!((got - exact).abs() <= exact.abs() / 32768.0, "{tiles:?}: {got}, expected {exact}");
        }
    }
}

/// In whatever order they are dropped the tiles stay ready for whoever is left.
#[test]
fn tiles_are_ready_as_long_as_anyone_needs_them() {
    let steps = Layout::FLAT.steps(DEPTH);
    let (left, lines) = ([Left::ZERO], vec![Line::ZERO; Layout::FLAT.of(DEPTH)]);
    for tiles in all_tiles() {
        let (first, second, last) = (tiles.ready(), tiles.ready(), tiles.ready());
        drop(first);
        drop(last);
        let mut sums = [MaybeUninit::uninit()];
        let all = Panels { left: &left, count: 1 };
        let sums = second.multiply((all, 0), &steps, Right::of(&lines), &mut sums);
        assert!(sums[0].iter().flatten().all(|block| block.0 == [0.0; 16]));
    }
}
