//! Logits to probabilities.

/// The probabilities of moves, from their logits.
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().map(f64::from).fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|&logit| (f64::from(logit) - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_logits_and_none() {
        assert_eq!(softmax(&[1e30, -1e30]), [1.0, 0.0]);
        assert!(softmax(&[]).is_empty());
    }
}
