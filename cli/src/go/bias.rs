//! If a network is wrong about a move in certain surroundings, it is likely wrong in the same way wherever they occur
//! again: what searches below have found out is added, in part, to what the network says of positions that were not
//! searched yet (KataGo's `subtreeValueBiasFactor`; "Subtree value bias correction" in its `docs/KataGoMethods.md`).
//!
//! Each position belongs to the [`Pattern`] of the move that led to it. The bias of a pattern is the mean difference
//! between the average of the visits below its positions and what the network said of them; each position counts as a
//! power of its visits.

use super::Game;
use hashbrown::HashMap;
use oncilla_go::{Board, Color, Move as GoMove};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How much is corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// `subtreeValueBiasFactor`: the part of the bias that is added; 0 means that nothing is corrected.
    pub factor: f64,
    /// `subtreeValueBiasWeightExponent`: the power of the visits below a position that it counts as.
    pub exponent: f64,
    /// `subtreeValueBiasFreeProp`: the part of what a position has told that is taken back when the position is
    /// forgotten.
    pub free: f64,
}

impl Correction {
    /// Whether nothing is corrected.
    pub fn is_off(&self) -> bool {
        self.factor == 0.0
    }
}

/// The surroundings of a move reach this many points to each side.
const RADIUS: i16 = 2;
/// How many things a point of the surroundings can be: off the board, empty, or a stone of either colour, in atari or
/// not.
const KINDS: u128 = 6;

/// A move, the move that it answers, and the surroundings before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    color: Color,
    answered: GoMove,
    mv: GoMove,
    ko: Option<GoMove>,
    /// One digit for each point of the surroundings, to the base [`KINDS`].
    around: u128,
}

impl Pattern {
    /// The pattern of the last move of a game; `None` if that does not answer another move.
    pub fn of_last(game: &Game) -> Option<Self> {
        let mut latest = game.moves().rev();
        let ((color, mv), (_, answered)) = (latest.next()?, latest.next()?);
        let board = game.board_ago(1)?;
        Some(Self { color, answered, mv, ko: board.ko().map(|(_, point)| point), around: around(&board, mv) })
    }
}

/// The surroundings of a point as a number; a pass has none.
fn around(board: &Board, mv: GoMove) -> u128 {
    let size = board.size();
    let Some((x, y)) = size.coordinates(mv).map(|(x, y)| (i16::from(x), i16::from(y))) else { return 0 };
    let rows = (y - RADIUS..=y + RADIUS).flat_map(|y| (x - RADIUS..=x + RADIUS).map(move |x| (x, y)));
    let kind = |(x, y): (i16, i16)| {
        let point = u8::try_from(x).ok().zip(u8::try_from(y).ok()).and_then(|(x, y)| size.point(x, y));
        match point.map(|point| (board.stone(point), board.liberties(point))) {
            None => 0,
            Some((None, _)) => 1,
            Some((Some(color), 1)) => 2 + color as u128,
            Some((Some(color), _)) => 4 + color as u128,
        }
    };
    rows.fold(0, |digits, place| digits * KINDS + kind(place))
}

/// The place of a pattern's bias.
pub type Place = u32;

/// What a position has added to its pattern, and may take back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// How much larger the average utility for White of the visits below the position is than what the network said,
    /// times the weight.
    pub more: f32,
    /// The weight with which the position counts.
    pub weight: f32,
}

/// The sums of what all positions of a pattern have told.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    more: f64,
    weight: f64,
}

/// The biases of all patterns that a search has met.
#[derive(Debug, Default)]
pub struct Biases {
    /// Places by a hash of each pattern: of a million patterns two have the same hash in one of forty million searches.
    places: HashMap<u64, Place>,
    sums: Vec<Sums>,
}

/// If all positions together have less weight than this, there is no bias.
const LEAST_WEIGHT: f64 = 0.001;

impl Biases {
    /// The place of a pattern; a new one if no position had this pattern before.
    pub fn place(&mut self, pattern: &Pattern) -> Place {
        // This is not the map's own hasher, which differs in each run.
        let mut hasher = DefaultHasher::new();
        pattern.hash(&mut hasher);
        *self.places.entry(hasher.finish()).or_insert_with(|| {
            self.sums.push(Sums::default());
            self.sums.len() as Place - 1
        })
    }

    /// The mean of what the positions of a pattern have told.
    pub fn mean(&self, place: Place) -> f64 {
        let sums = self.sums.get(place as usize).copied().unwrap_or_default();
        if sums.weight > LEAST_WEIGHT { sums.more / sums.weight } else { 0.0 }
    }

    /// Replaces what a position has told before by what it tells now.
    pub fn tell(&mut self, place: Place, before: Told, now: Told) {
        if let Some(sums) = self.sums.get_mut(place as usize) {
            sums.more += f64::from(now.more) - f64::from(before.more);
            sums.weight += f64::from(now.weight) - f64::from(before.weight);
        }
    }

    /// Takes back a part of what a position has told, because the position is forgotten.
    pub fn take_back(&mut self, (place, told): (Place, Told), part: f64) {
        let left = 1.0 - part as f32;
        self.tell(place, told, Told { more: left * told.more, weight: left * told.weight });
    }

    /// Forgets patterns that no position belongs to. Returns the new places of the others.
    pub fn keep(&mut self, used: impl Fn(Place) -> bool) -> HashMap<Place, Place> {
        let kept: Vec<Place> = (0..self.sums.len() as Place).filter(|place| used(*place)).collect();
        self.sums = kept.iter().map(|place| self.sums[*place as usize]).collect();
        let moved: HashMap<Place, Place> = kept.into_iter().zip(0..).collect();
        self.places = self.places.iter().filter_map(|(number, at)| Some((*number, *moved.get(at)?))).collect();
        moved
    }

    /// The most bytes that the biases take.
    pub fn bytes(&self) -> usize {
        super::notes::bytes_of_map(&self.places) + 2 * self.sums.len() * size_of::<Sums>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{Rules, Size};

    fn pattern(side: u8, moves: &[&str]) -> Option<Pattern> {
        let size = Size::new(side, side).expect("a size");
        let mut game = Game::new(size, Rules::TROMP_TAYLOR);
        moves.iter().for_each(|mv| game.play(size.parse(mv).expect("a move")).expect("legal"));
        Pattern::of_last(&game)
    }

    #[test]
    fn what_is_near_and_what_was_answered_make_a_pattern() {
        let is_same = |one: &[&str], other: &[&str]| pattern(9, one).expect("one") == pattern(9, other).expect("one");
        assert_eq!((pattern(9, &[]), pattern(9, &["E5"])), (None, None), "there is nothing that it answers");
        assert!(is_same(&["A9", "C3", "G7", "D4"], &["A9", "C3", "G7", "D4"]));
        assert!(is_same(&["A9", "C3", "G7", "D4"], &["J9", "C3", "G7", "D4"]), "a stone far away");
        for other in [
            &["A9", "C3", "G7", "D5"][..],
            &["A9", "C3", "F7", "D4"],
            &["A9", "C2", "G7", "D4"],
            &["C3", "A9", "G7", "D4"],
            &["A9", "C3", "pass", "D4"],
            &["A9", "C3", "G7", "pass"],
            &["A9", "C3", "H1", "G7", "D4"],
        ] {
            assert!(!is_same(&["A9", "C3", "G7", "D4"], other), "{other:?}");
        }
        // A white stone at D2 is outside the surroundings of D5, but it puts the one at D3 into atari, which is part of
        // the pattern. So is the edge of the board.
        let around_d3 = |white: &'static str| ["D3", "C3", "J9", "E3", "J8", white, "J7", "D5"];
        assert!(!is_same(&around_d3("D2"), &around_d3("D1")) && is_same(&around_d3("C1"), &around_d3("D1")));
        assert!(pattern(9, &["E5", "A1"]) != pattern(9, &["E5", "B1"]) && pattern(9, &["pass", "pass"]).is_some());
        assert_ne!(pattern(9, &["E5", "J1"]), pattern(10, &["E5", "J1"]), "the board goes on there");
    }

    #[test]
    fn a_bias_is_the_mean_of_what_is_told() {
        let mut biases = Biases::default();
        let places: Vec<Place> =
            [&["A1", "B2"][..], &["A1", "C3"]].iter().map(|moves| biases.place(&pattern(5, moves).unwrap())).collect();
        let (first, second) = (places[0], places[1]);
        assert_eq!((first, second, biases.place(&pattern(5, &["A1", "B2"]).unwrap())), (0, 1, 0));
        assert_eq!(biases.mean(first), 0.0);
        let (one, other) = (Told { more: 0.6, weight: 3.0 }, Told { more: -0.2, weight: 1.0 });
        biases.tell(first, Told::default(), one);
        assert!((biases.mean(first) - 0.2).abs() < 1e-7);
        biases.tell(first, Told::default(), other);
        assert!((biases.mean(first) - 0.1).abs() < 1e-7);
        biases.tell(first, one, Told::default());
        assert!((biases.mean(first) + 0.2).abs() < 1e-7);
        biases.tell(second, Told::default(), one);
        assert_eq!(biases.keep(|place| place == second), HashMap::from([(1, 0)]));
        assert!((biases.mean(0) - 0.2).abs() < 1e-7);
        assert_eq!(
            (biases.place(&pattern(5, &["A1", "C3"]).unwrap()), biases.place(&pattern(5, &["A1", "B2"]).unwrap())),
            (0, 1)
        );
        assert_eq!(biases.mean(7), 0.0, "no place");
    }
}
