//! What the kernels' texts leave open: the results are the same but for rounding, the speed is not.
//!
//! An answer does not depend on its batch: convolutions are direct or Winograd's, with the same tile, for every batch.

use super::Variant;
use super::starts::Start;
use crate::device::Device;
use std::fmt;
use std::str::FromStr;

/// One value for everything that can be chosen. Its text form, `variant=cpu vector=8 …`, is what a tuning file stores.
///
/// Every field has a short list of values, see [`KNOBS`]; sizes of groups may also have the values that these are
/// halved to. Nothing else is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Which variant of the kernels' texts.
    pub variant: Variant,
    /// CPU: how many floats a vector has.
    pub vector: usize,
    /// CPU: how many squares an item of a direct convolution makes.
    pub squares: usize,
    /// The side of Winograd's tile in squares, 2 or 4; 0: every convolution is direct.
    pub winograd: usize,
    /// CPU: how many tiles an item of Winograd's convolution takes.
    pub rows: usize,
    /// CPU: how many vectors of output channels an item of Winograd's convolution makes.
    pub vectors: usize,
    /// Whether the whole network is one launch, see `network.cl` and `position.cl` (1), or each layer has its own (0).
    pub network: usize,
    /// GPU: the most items of a group that works on elements.
    pub lanes: usize,
    /// GPU: how many items a group has along the squares of a convolution; along its channels there are 8.
    pub columns: usize,
    /// GPU: how many squares an item of a convolution makes.
    pub item_rows: usize,
    /// GPU: how many channels an item makes for each of its squares.
    pub item_channels: usize,
    /// GPU: how many steps of the sum a group of a convolution brings into local memory at a time; 0: none, if it can
    /// do without.
    pub depth: usize,
}

/// A field of [`Tuning`], by its name, and its possible values.
#[derive(Debug)]
pub struct Knob {
    /// The name in the text form.
    pub name: &'static str,
    /// The variant that uses it; `None` if both do.
    pub variant: Option<Variant>,
    /// True if it matters only if convolutions are Winograd's.
    pub of_winograd: bool,
    /// The values that are tried.
    pub values: &'static [usize],
    /// The least value to which it may be halved, if a device refuses larger groups.
    pub least: usize,
    field: fn(&mut Tuning) -> &mut usize,
}

/// Every kernel has work for this many lanes.
pub(crate) const LEAST_LANES: usize = 8;

/// The least size of a convolution's group along its squares.
pub(crate) const LEAST_COLUMNS: usize = 1;

/// Every field except the variant, the most important first.
pub const KNOBS: [Knob; 11] = [
    knob("winograd", None, &[0, 2, 4], |t| &mut t.winograd),
    knob("vector", Some(Variant::Cpu), &[4, 8, 16], |t| &mut t.vector),
    knob("rows", Some(Variant::Cpu), &[4, 8, 16], |t| &mut t.rows).of_winograd(),
    knob("vectors", Some(Variant::Cpu), &[1, 2, 3], |t| &mut t.vectors).of_winograd(),
    knob("squares", Some(Variant::Cpu), &[4, 8], |t| &mut t.squares),
    knob("network", None, &[0, 1], |t| &mut t.network),
    knob("columns", Some(Variant::Gpu), &[4, 8, 16, 32], |t| &mut t.columns).down_to(LEAST_COLUMNS),
    knob("item_rows", Some(Variant::Gpu), &[4, 8], |t| &mut t.item_rows),
    knob("item_channels", Some(Variant::Gpu), &[4, 8], |t| &mut t.item_channels),
    knob("depth", Some(Variant::Gpu), &[0, 8, 16], |t| &mut t.depth),
    knob("lanes", Some(Variant::Gpu), &[32, 64, 128, 256], |t| &mut t.lanes).down_to(LEAST_LANES),
];

const fn knob(
    name: &'static str,
    variant: Option<Variant>,
    values: &'static [usize],
    field: fn(&mut Tuning) -> &mut usize,
) -> Knob {
    Knob { name, variant, of_winograd: false, values, least: values[0], field }
}

impl Knob {
    const fn of_winograd(self) -> Self {
        Self { of_winograd: true, ..self }
    }

    const fn down_to(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// Whether the text form may have this value: one that is tried, or one that these are halved to.
    fn allows(&self, value: usize) -> bool {
        let is_halved = value.is_power_of_two() && (self.least..self.values[0]).contains(&value);
        is_halved || self.values.contains(&value)
    }

    /// The knob's value in `tuning`.
    pub fn get(&self, mut tuning: Tuning) -> usize {
        *(self.field)(&mut tuning)
    }

    /// `tuning` with another value of this knob.
    pub fn set(&self, mut tuning: Tuning, value: usize) -> Tuning {
        *(self.field)(&mut tuning) = value;
        tuning
    }
}

impl Tuning {
    /// The tuning that a device starts with, see [`Start`].
    pub fn of(device: &Device) -> Self {
        Start::of(device).tuning(device.vector_width)
    }

    /// The tuning that a device of unknown make starts with, if its vector registers hold `vector_width` floats.
    pub fn start(variant: Variant, vector_width: u32) -> Self {
        Self {
            variant,
            // Neon's registers hold four floats, but there are twice as many of them as with AVX2.
            vector: if vector_width >= 16 { 16 } else { 8 },
            squares: 8,
            // Winograd's convolution has a quarter of the products, and enough groups for a whole GPU even with one
            // position; Leela Zero and KataGo run every GPU in this way.
            winograd: 4,
            rows: 4,
            vectors: 2,
            network: if variant == Variant::Cpu { 1 } else { 0 },
            lanes: 64,
            columns: 16,
            item_rows: 4,
            item_channels: 4,
            depth: 8,
        }
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variant={}", self.variant)?;
        KNOBS.iter().try_for_each(|knob| write!(f, " {}={}", knob.name, knob.get(*self)))
    }
}

impl FromStr for Tuning {
    type Err = String;

    /// Reads what `Display` writes: every field once, in any order.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words: Vec<(&str, &str)> = Vec::new();
        for word in text.split_whitespace() {
            let pair = word.split_once('=').ok_or_else(|| format!("expected name=value, got {word:?}"))?;
            if words.iter().any(|(name, _)| *name == pair.0) {
                return Err(format!("expected {} once, got it twice", pair.0));
            }
            words.push(pair);
        }
        let mut take = |name: &str| {
            let at = words.iter().position(|(word, _)| *word == name).ok_or_else(|| format!("expected {name}="))?;
            Ok::<&str, String>(words.swap_remove(at).1)
        };
        let mut tuning = Self::start(take("variant")?.parse()?, 1);
        for knob in &KNOBS {
            let got = take(knob.name)?;
            let value = got.parse().ok().filter(|&value| knob.allows(value));
            let value =
                value.ok_or_else(|| format!("{}: expected one of {:?}, got {got:?}", knob.name, knob.values))?;
            tuning = knob.set(tuning, value);
        }
        match words.first() {
            None => Ok(tuning),
            Some((name, _)) => Err(format!("{name:?} is no part of a tuning")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_the_whole_tuning() {
        for variant in [Variant::Cpu, Variant::Gpu] {
            let start = Tuning::start(variant, 8);
            assert_eq!(start.to_string().parse(), Ok(start));
            for knob in &KNOBS {
                assert!(knob.values.contains(&knob.get(start)), "{}", knob.name);
                for &value in knob.values {
                    let other = knob.set(start, value);
                    assert_eq!(knob.get(other), value);
                    assert_eq!(other.to_string().parse(), Ok(other));
                    assert_eq!(knob.set(other, knob.get(start)), start, "{} sets one field", knob.name);
                }
            }
        }
    }

    #[test]
    fn a_text_says_groups_that_a_device_has_made_smaller() {
        let start = Tuning::start(Variant::Gpu, 8);
        for (lanes, columns) in [(16, 2), (LEAST_LANES, LEAST_COLUMNS)] {
            let smaller = Tuning { lanes, columns, ..start };
            assert_eq!(smaller.to_string().parse(), Ok(smaller));
        }
        for (lanes, columns) in [(4, 4), (32, 0), (24, 4), (32, 3)] {
            let error = Tuning { lanes, columns, ..start }.to_string().parse::<Tuning>().unwrap_err();
            assert!(error.contains(": expected one of ["), "{error}");
        }
    }

    #[test]
    fn a_wrong_text_is_refused() {
        let good = Tuning::start(Variant::Cpu, 8).to_string();
        for (bad, why) in [
            (good.replace("winograd=4", "winograd=3"), "winograd: expected one of [0, 2, 4], got \"3\""),
            (good.replace("rows=4", "rows=-4"), "rows: expected one of"),
            (good.replace(" rows=4", ""), "expected rows="),
            (good.replace("cpu", "cpus"), "variant: expected cpu or gpu, got \"cpus\""),
            (format!("{good} rows=4"), "expected rows once"),
            (format!("{good} speed=9"), "\"speed\" is no part of a tuning"),
            (format!("{good} x"), "expected name=value, got \"x\""),
            (String::new(), "expected variant="),
        ] {
            let error = bad.parse::<Tuning>().unwrap_err();
            assert!(error.starts_with(why), "{bad}: {error}");
        }
    }
}
