//! How many visits a batch may spend on leaves that are already in flight.
//!
//! A small tree has few leaves that are worth a visit: gathering keeps meeting those that it has gathered already, and
//! then it is better to evaluate what has been gathered. In a large tree it is worth looking further.

/// Lc0's `MaxCollisionVisits` and the options that scale it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collisions {
    /// `MaxCollisionVisits`: how many are allowed in a large tree.
    pub most: u32,
    /// `MaxCollisionVisitsScalingStart`: up to this many visits of the root, one collision visit is allowed.
    pub scaling_start: u32,
    /// `MaxCollisionVisitsScalingEnd`: from this many visits of the root on, `most` are allowed; 0: `most` are always
    /// allowed.
    pub scaling_end: u32,
    /// `MaxCollisionVisitsScalingPower`: the larger it is, the later between start and end most of the growth comes.
    pub scaling_power: f32,
}

impl Default for Collisions {
    fn default() -> Self {
        Self { most: 80_000, scaling_start: 28, scaling_end: 145_000, scaling_power: 1.25 }
    }
}

impl Collisions {
    /// How many collision visits a batch may have when the root has `visits` visits: `1 + (most − 1)·((visits −
    /// start)/(end − start))^power`, rounded; between 1 and `most`, whatever the power is.
    pub fn allowed(&self, visits: u32) -> u32 {
        let most = self.most.max(1);
        if visits >= self.scaling_end {
            return most;
        }
        if visits <= self.scaling_start {
            return 1;
        }
        // Here start < visits < end.
        let part = f64::from(visits - self.scaling_start) / f64::from(self.scaling_end - self.scaling_start);
        let more = f64::from(most - 1) * libm::pow(part, self.scaling_power.into());
        1u32.saturating_add(libm::round(more) as u32).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    #[test]
    fn as_in_lc0() {
        let expected = [
            (0, 1),
            (28, 1),
            (50, 2),
            (100, 7),
            (500, 63),
            (1000, 154),
            (5000, 1182),
            (20_000, 6715),
            (72_500, 33_628),
            (145_000, 80_000),
            (u32::MAX, 80_000),
        ];
        assert_eq!(expected.map(|(visits, _)| (visits, Collisions::default().allowed(visits))), expected);
        assert_eq!(Collisions { scaling_end: 0, ..Collisions::default() }.allowed(0), 80_000);
        assert_eq!(Collisions { most: 1, ..Collisions::default() }.allowed(1000), 1);
    }

    #[test]
    fn odd_options_keep_the_bounds() {
        for power in [-1.0, -100.0, 0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for most in [0, 1, 80_000, u32::MAX] {
                let all = Collisions { most, scaling_power: power, ..Collisions::default() };
                for visits in [0, 28, 29, 100, 144_999, 145_000, u32::MAX] {
                    let allowed = all.allowed(visits);
                    assert!((1..=most.max(1)).contains(&allowed), "{visits} visits, {all:?}: {allowed}");
                }
            }
        }
    }

    quickcheck! {
        fn it_grows_and_keeps_its_bounds(most: u16, start: u16, end: u16, power: u8, a: u32, b: u32) -> bool {
            let most = u32::from(most) + 1;
            let scaling_power = f32::from(power) / 16.0 + 0.01;
            let all = Collisions { most, scaling_start: start.into(), scaling_end: end.into(), scaling_power };
            let [fewer, more] = [a.min(b), a.max(b)].map(|visits| all.allowed(visits % 70_000));
            let keeps = |n| (1..=most).contains(&n);
            keeps(fewer) && keeps(more) && (a.min(b) % 70_000 > a.max(b) % 70_000 || fewer <= more)
        }
    }
}
