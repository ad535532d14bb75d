//! What two backends are compared on, and how far one is from the other.

/// Planes of ones and zeros, always the same; about one number in `one_in` is a one.
pub fn canary(len: usize, one_in: u32) -> Vec<f32> {
    let ones = u32::MAX / one_in;
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state <= ones { 1.0 } else { 0.0 }
    };
    (0..len).map(|_| next()).collect()
}

/// The largest difference, as a share of the largest expected number if that is above one; infinite if something is
/// missing or not finite.
///
/// The difference is a share of the largest number, not of each number: one that is nearly zero may be the difference
/// of large numbers, and keeps their rounding.
pub fn relative_error(expected: &[f32], got: &[f32]) -> f32 {
    if expected.len() != got.len() || expected.iter().chain(got).any(|x| !x.is_finite()) {
        return f32::INFINITY;
    }
    let largest = expected.iter().fold(1.0f32, |most, x| most.max(x.abs()));
    expected.iter().zip(got).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs())) / largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_share_of_the_largest_number() {
        assert_eq!(relative_error(&[0.5, 0.25], &[0.5, 0.5]), 0.25);
        assert_eq!(relative_error(&[100.0, 0.0], &[100.0, 1.0]), 0.01);
        assert_eq!(relative_error(&[1.0], &[f32::NAN]), f32::INFINITY);
        assert_eq!(relative_error(&[1.0], &[]), f32::INFINITY);
        assert_eq!(relative_error(&[], &[]), 0.0);
    }
}
