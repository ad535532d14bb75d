//! A seeded random generator, and the distributions that a search samples.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014): a
//! counter and a mixing function. It passes BigCrush, has no bad seed, and fits in one register pair, which is enough
//! for the few hundred numbers of a move. It is not for cryptography.

/// The odd number nearest to 2⁶⁴ divided by the golden ratio: the counter's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of random numbers: equal seeds give equal numbers on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    counter: u64,
}

impl Random {
    /// The generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// One of many generators that share a seed, for instance one for each move of a game. Different `number`s give
    /// different generators.
    pub const fn stream(seed: u64, number: u64) -> Self {
        Self { counter: mix(mix(seed.wrapping_add(STEP)) ^ number) }
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(STEP);
        mix(self.counter)
    }

    /// A number in `[0, 1)`: a multiple of 2⁻²⁴.
    pub const fn uniform(&mut self) -> f32 {
        const ULP: f32 = 1.0 / (1 << 24) as f32;
        (self.bits() >> 40) as f32 * ULP
    }

    /// A number strictly between 0 and 1, so that its logarithm is finite.
    const fn open_uniform(&mut self) -> f64 {
        const ULP: f64 = 1.0 / (1_u64 << 52) as f64;
        ((self.bits() >> 12) as f64 + 0.5) * ULP
    }

    /// A sample of the normal distribution with mean 0 and variance 1, by Marsaglia's polar method ("A convenient
    /// method for generating normal variables", SIAM Review 6, 1964). The method's second sample is thrown away: a
    /// generator that kept it would have more state than its seed.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.open_uniform() - 1.0;
            let y = 2.0 * self.open_uniform() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }

    /// A sample of the gamma distribution with this shape and scale 1, by Marsaglia and Tsang ("A simple method for
    /// generating gamma variables", ACM TOMS 26, 2000). For a shape below 1 it is a sample for `shape + 1`, times a
    /// uniform number to the power `1 / shape`, as that paper says.
    ///
    /// Returns 0 for a shape that is not above 0 or not finite. A shape near 0 may give 0 as well: its samples are
    /// smaller than any float.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if !(shape > 0.0 && shape.is_finite()) {
            return 0.0;
        }
        if shape < 1.0 {
            return self.gamma_from_one(shape + 1.0) * libm::pow(self.open_uniform(), 1.0 / shape);
        }
        self.gamma_from_one(shape)
    }

    /// A sample of the gamma distribution for a shape of at least 1. More than 95% of the tries are accepted.
    fn gamma_from_one(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            if libm::log(self.open_uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}

/// SplitMix64's output function: a bijection in which every bit of the input matters for every bit of the output.
const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Mean and variance of many samples.
    fn moments(count: u32, mut sample: impl FnMut() -> f64) -> (f64, f64) {
        let samples: Vec<f64> = (0..count).map(|_| sample()).collect();
        let mean = samples.iter().sum::<f64>() / f64::from(count);
        let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
        (mean, squares / f64::from(count - 1))
    }

    /// What other people's SplitMix64 gives for this seed (Rosetta Code, "Pseudo-random numbers/Splitmix64").
    #[test]
    fn the_published_numbers() {
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }

    #[test]
    fn streams_are_different_and_repeatable() {
        let first = |seed, number| Random::stream(seed, number).bits();
        let mut all: Vec<u64> = (0..100).flat_map(|seed| (0..100).map(move |number| first(seed, number))).collect();
        assert_eq!(first(7, 8), first(7, 8));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10_000);
    }

    /// 64 classes of a uniform number, 64,000 draws: χ² of 63 degrees of freedom is below 106 in 99.95% of all seeds.
    #[test]
    fn uniform_numbers_are_spread_evenly() {
        for seed in 0..8 {
            let mut random = Random::new(seed);
            let mut counts = [0_u32; 64];
            for _ in 0..64_000 {
                counts[(random.uniform() * 64.0) as usize] += 1;
            }
            let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0) * (f64::from(n) - 1000.0) / 1000.0).sum();
            assert!((20.0..106.0).contains(&chi2), "seed {seed}: {chi2}");
        }
    }

    #[test]
    fn uniform_numbers_keep_their_bounds() {
        // The largest and the smallest 24 bits there are.
        assert!((u64::MAX >> 40) as f32 / (1 << 24) as f32 <= 1.0 - f32::EPSILON / 2.0);
        let mut random = Random::new(3);
        assert!((0..100_000).map(|_| random.uniform()).all(|x| (0.0..1.0).contains(&x)));
        assert!((0..100_000).map(|_| random.open_uniform()).all(|x| x > 0.0 && x < 1.0));
    }

    #[test]
    fn normal_moments() {
        let mut random = Random::new(11);
        let (mean, variance) = moments(200_000, || random.normal());
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.015, "{mean} {variance}");
        let fourth = moments(200_000, || random.normal().powi(4)).0;
        assert!((fourth - 3.0).abs() < 0.1, "{fourth}");
    }

    /// Mean and variance of the gamma distribution both equal its shape; here within five of their standard errors.
    #[test]
    fn gamma_moments() {
        const COUNT: u32 = 100_000;
        for shape in [0.03, 0.3, 0.9, 1.0, 1.5, 10.0, 1e4, 1e7] {
            let mut random = Random::new(5);
            let (mean, variance) = moments(COUNT, || random.gamma(shape));
            let mean_error = (shape / f64::from(COUNT)).sqrt();
            // Variance of the sample variance: (μ₄ − σ⁴)/n, where μ₄ = 3k² + 6k.
            let variance_error = ((2.0 * shape * shape + 6.0 * shape) / f64::from(COUNT)).sqrt();
            assert!((mean - shape).abs() < 5.0 * mean_error, "shape {shape}: mean {mean}");
            assert!((variance - shape).abs() < 5.0 * variance_error, "shape {shape}: variance {variance}");
        }
    }

    /// The exponential distribution is the gamma distribution of shape 1, and its quartiles are known.
    #[test]
    fn gamma_of_shape_one_is_exponential() {
        let mut random = Random::new(17);
        let mut counts = [0_u32; 4];
        for _ in 0..40_000 {
            let below = 1.0 - (-random.gamma(1.0)).exp();
            counts[((below * 4.0) as usize).min(3)] += 1;
        }
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 350), "{counts:?}");
    }

    #[test]
    fn shapes_that_are_none() {
        let mut random = Random::new(1);
        for shape in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(random.gamma(shape), 0.0, "{shape}");
        }
        for shape in [f64::MIN_POSITIVE, 1e-300, 1e300, f64::MAX] {
            let sample = random.gamma(shape);
            assert!(sample >= 0.0 && sample.is_finite(), "{shape}: {sample}");
        }
    }
}
