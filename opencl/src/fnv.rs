//! A hash that is the same on every machine and in every version.

/// The hash FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds bytes to what is hashed.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The hash of all bytes so far.
    pub fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_1a() {
        let of = |text: &str| {
            let mut hash = Fnv::default();
            text.bytes().for_each(|byte| hash.add(&[byte]));
            hash.finish()
        };
        // The values of the published test vectors.
        assert_eq!([of(""), of("a"), of("foobar")], [0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8]);
    }
}
