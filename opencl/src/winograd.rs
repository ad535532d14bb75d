//! Winograd's F(2×2, 3×3) and F(4×4, 3×3): the matrices, and the weights in their form. `kernels/winograd.cl` says what
//! they are.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// The rows of G, see `winograd.cl`.
fn rows_of_g(tile: usize) -> Vec<[f64; 3]> {
    let points: &[f64] = match tile {
        4 => &[0.0, FRAC_1_SQRT_2, -FRAC_1_SQRT_2, SQRT_2, -SQRT_2],
        _ => &[0.0, 1.0, -1.0],
    };
    let row = |&p: &f64| {
        let over: f64 = points.iter().filter(|&&q| q != p).map(|q| p - q).product();
        [1.0 / over, p / over, p * p / over]
    };
    points.iter().map(row).chain([[0.0, 0.0, 1.0]]).collect()
}

/// G g Gᵀ, `[tile + 2][tile + 2]`.
pub(crate) fn transform(tile: usize, weights: &[f32]) -> Vec<f64> {
    let g = rows_of_g(tile);
    let along = |row: &[f64; 3], j: usize| (0..3).map(|i| row[i] * f64::from(weights[3 * i + j])).sum::<f64>();
    let half: Vec<[f64; 3]> = g.iter().map(|row| std::array::from_fn(|j| along(row, j))).collect();
    half.iter().flat_map(|h| g.iter().map(|row| (0..3).map(|j| row[j] * h[j]).sum())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coefficients of the product of (x - q) over all `roots` q, lowest first.
    fn product(roots: impl Iterator<Item = f64>) -> Vec<f64> {
        roots.fold(vec![1.0], |p, q| {
            let shifted = std::iter::once(0.0).chain(p.iter().copied());
            shifted.zip(p.iter().copied().chain([0.0])).map(|(up, here)| up - q * here).collect()
        })
    }

    #[test]
    fn the_matrices_make_a_convolution() {
        for tile in [2, 4] {
            let a = FRAC_1_SQRT_2;
            let points: &[f64] = if tile == 4 { &[0.0, a, -a, SQRT_2, -SQRT_2] } else { &[0.0, 1.0, -1.0] };
            let side = tile + 2;
            // Sum over points of A[i][p] G[p][k] B[p][d] is 1 where d = i + k, else 0.
            let g = rows_of_g(tile);
            for (i, k, d) in (0..tile * 3 * side).map(|at| (at / 3 / side, at / side % 3, at % side)) {
                let finite = points.iter().enumerate().map(|(at, p)| {
                    let b = product(points.iter().copied().filter(|q| q != p));
                    p.powi(i as i32) * g[at][k] * b.get(d).copied().unwrap_or(0.0)
                });
                let whole = product(points.iter().copied());
                let infinite = if i == tile - 1 { g[side - 1][k] * whole[d] } else { 0.0 };
                let sum: f64 = finite.sum::<f64>() + infinite;
                let expected = if d == i + k { 1.0 } else { 0.0 };
                assert!((sum - expected).abs() < 1e-12, "F({tile}, 3): {i} {k} {d}: {sum}");
            }
        }
    }

    #[test]
    fn a_kernel_of_one_weight_is_a_product_of_columns() {
        let g = rows_of_g(4);
        let u = transform(4, &[0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
        for (at, u) in u.into_iter().enumerate() {
            assert!((u - 2.0 * g[at / 6][1] * g[at % 6][2]).abs() < 1e-12, "{at}");
        }
    }
}
