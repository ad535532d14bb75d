//! The hash FNV-1a: of 64 bits for the signature of a bench, of 128 bits for the names of positions.

/// The hash of 64 bits of the bytes that are added.
#[derive(Clone, Copy)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn finish(self) -> u64 {
        self.0
    }
}

/// The hash of 128 bits of a text, as 32 hexadecimal digits.
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

    // The values are those of the published test vectors.

    #[test]
    fn fnv_1a_of_64_bits() {
        let of = |text: &str| {
            let mut hash = Fnv::default();
            text.bytes().for_each(|byte| hash.add(&[byte]));
            hash.finish()
        };
        assert_eq!([of(""), of("a"), of("foobar")], [0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8]);
    }

    #[test]
    fn fnv_1a_of_128_bits() {
        assert_eq!(digits(""), "6C62272E07BB014262B821756295C58D");
        assert_eq!(digits("a"), "D228CB696F1A8CAF78912B704E4A8964");
    }
}
