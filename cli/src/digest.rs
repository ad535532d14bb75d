//! The names that answers give positions: hashes of texts that are the same on every machine and in every version.

/// The hash FNV-1a of 128 bits of a text, as 32 hexadecimal digits.
pub fn digits(text: &str) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{hash:032X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_test_vectors() {
        assert_eq!(digits(""), "6C62272E07BB014262B821756295C58D");
        assert_eq!(digits("a"), "D228CB696F1A8CAF78912B704E4A8964");
    }
}
