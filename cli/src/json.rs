//! Numbers in JSON.

use serde_json::{Value, json};

/// A number with nine significant digits, as in KataGo. NaN and infinity become 0, because JSON can't express them.
pub fn number(x: f64) -> Value {
    if x == 0.0 || !x.is_finite() {
        return json!(0.0);
    }
    json!(format!("{x:.8e}").parse().unwrap_or(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_nine_digits() {
        for (x, text) in [
            (1.0, "1.0"),
            (0.1234567891, "0.123456789"),
            (-123456.7891234, "-123456.789"),
            (f64::from(0.1f32), "0.100000001"),
            (0.0, "0.0"),
            (f64::NAN, "0.0"),
            (f64::INFINITY, "0.0"),
            (1e-300, "1e-300"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(number(x).to_string(), text);
        }
    }
}
