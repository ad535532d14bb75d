//! What a search knows of each position besides its tree: the parts of a value for which the tree has no place.
//!
//! The tree is told one number for each position, its utility. Score, lead and ownership are kept here, in a note for
//! each position, from White's view. Notes are found by the moves that lead to their positions, as the tree's nodes
//! are. Means of score, lead and ownership over a node's visits are computed on request.

use super::Evaluation;
use super::bias::{Biases, Correction, Pattern, Place, Told};
use super::utility::Outlook;
use hashbrown::{HashMap, HashSet};
use oncilla_core::Move;
use oncilla_go::{Color, Move as GoMove, PointSet, Size};

/// The index of a note. The root's is 0.
pub type At = u32;

/// What is known of one position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// Expected result and score.
    pub outlook: Outlook,
    /// See [`Evaluation::lead`].
    pub lead: f32,
    /// The utility of the outlook for White.
    pub raw_utility: f32,
    /// The utility, corrected by what was found out about positions of the same pattern.
    pub utility: f32,
    /// The weight of the network's evaluation, or of the end of the game: see [`Uncertainty`](super::Uncertainty).
    pub own_weight: f32,
    /// What the position passes on to the positions before it.
    pub passed: Passed,
    /// Whether White is to move.
    pub white_to_move: bool,
    /// Whether the game has ended.
    pub has_ended: bool,
    /// The place of its pattern's bias, if it has one, and what the position has added to that.
    pub bias: Option<(Place, Told)>,
    /// Who will own each point, from −1 to 1 in steps of 1/32767; empty if it is not needed.
    pub ownership: Box<[i16]>,
}

/// The averages of the visits of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// Mean utility for White.
    pub utility: f32,
    /// Mean square of the utility.
    pub square: f32,
    /// The weight of each visit.
    pub weight: f32,
}

impl Default for Passed {
    fn default() -> Self {
        Self::of_one(0.0, 1.0)
    }
}

impl Passed {
    /// The averages of one visit with this weight.
    pub fn of_one(utility: f64, weight: f32) -> Self {
        Self { utility: utility as f32, square: (utility * utility) as f32, weight }
    }

    /// The averages with all utilities larger by `more`.
    pub(super) fn moved_by(self, more: f64) -> Self {
        let (utility, square) = (f64::from(self.utility), f64::from(self.square));
        let moved = square + more * (2.0 * utility + more);
        Self { utility: (utility + more) as f32, square: moved as f32, ..self }
    }
}

/// A step of [`Note::ownership`].
const STEPS: f32 = 32767.0;

/// Means of notes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Averages {
    /// The weight of all visits together.
    pub weight: f64,
    /// The sum of the squares of the weights of the visits.
    pub weight_square: f64,
    /// Mean win − loss.
    pub win_loss: f64,
    /// Mean probability of no result.
    pub no_result: f64,
    /// Mean score.
    pub score: f64,
    /// Mean square of the score.
    pub score_square: f64,
    /// Mean lead.
    pub lead: f64,
    /// Mean utility.
    pub utility: f64,
    /// Mean square of the utility.
    pub utility_square: f64,
}

impl Note {
    /// A note of an evaluation, with weight 1; `keeps_ownership` says whether its ownership is needed.
    pub fn of(evaluation: &Evaluation, side: Color, utility: impl Fn(&Outlook) -> f64, keeps_ownership: bool) -> Self {
        let (outlook, sign) = (Outlook::of(evaluation, side), side.sign::<f32>());
        let step = |owned: &f32| (sign * owned * STEPS).round() as i16;
        let ownership = if keeps_ownership { evaluation.ownership.iter().map(step).collect() } else { Box::default() };
        let lead = sign * evaluation.lead;
        let white_to_move = side == Color::White;
        Self { outlook, lead, white_to_move, ownership, ..Self::default() }.worth(utility(&outlook))
    }

    /// Sets the utility, without a correction and with weight 1.
    fn worth(self, utility: f64) -> Self {
        let [raw_utility, own_weight] = [utility as f32, 1.0];
        let passed = Passed::of_one(utility, own_weight);
        Self { raw_utility, utility: raw_utility, own_weight, passed, ..self }
    }

    /// Sets the weight of the note's own visit.
    pub fn weighing(mut self, own_weight: f64) -> Self {
        self.own_weight = own_weight as f32;
        self.passed.weight = self.own_weight;
        self
    }

    /// A note of a game that has ended with this outlook and these owners of points; `side` would be to move. Its
    /// weight is 1.
    pub fn of_end(
        side: Color,
        outlook: Outlook,
        owner: impl Fn(GoMove) -> Option<Color>,
        size: Size,
        utility: impl Fn(&Outlook) -> f64,
        keeps_ownership: bool,
    ) -> Self {
        let step = |point| match owner(point) {
            Some(Color::White) => i16::MAX,
            Some(Color::Black) => -i16::MAX,
            None => 0,
        };
        let ownership = if keeps_ownership { size.points().map(step).collect() } else { Box::default() };
        let white_to_move = side == Color::White;
        Self { outlook, lead: outlook.score, white_to_move, has_ended: true, ownership, ..Self::default() }
            .worth(utility(&outlook))
    }

    /// The note as the mean of one visit.
    pub fn averages(&self) -> Averages {
        let Outlook { win_loss, no_result, score, stdev } = self.outlook;
        let [win_loss, no_result, score, stdev] = [win_loss, no_result, score, stdev].map(f64::from);
        let [utility, weight] = [self.utility, self.own_weight].map(f64::from);
        Averages {
            weight,
            weight_square: weight * weight,
            win_loss,
            no_result,
            score,
            score_square: score * score + stdev * stdev,
            lead: self.lead.into(),
            utility,
            utility_square: utility * utility,
        }
    }

    /// Adds the note's ownership of each point, with a weight. Nothing is added if the note has none.
    pub fn add_ownership(&self, weight: f64, owned: &mut Owned) {
        if self.ownership.is_empty() {
            return;
        }
        owned.weight += weight;
        for ((sum, square), &steps) in owned.sums.iter_mut().zip(&mut owned.squares).zip(&self.ownership) {
            let of_point = f64::from(steps) / f64::from(STEPS);
            *sum += weight * of_point;
            *square += weight * of_point * of_point;
        }
    }
}

/// Sums of the ownership of each point, from White's view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owned {
    weight: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Owned {
    /// The empty sum, for a board of `points` points.
    pub fn new(points: usize) -> Self {
        Self { weight: 0.0, sums: vec![0.0; points], squares: vec![0.0; points] }
    }

    /// Mean and deviation of each point.
    pub fn means(self) -> (Vec<f64>, Vec<f64>) {
        let weight = if self.weight > 0.0 { self.weight } else { 1.0 };
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / weight).collect();
        let deviation = |(mean, square): (&f64, f64)| (square / weight - mean * mean).max(0.0).sqrt();
        let deviations = means.iter().zip(self.squares).map(deviation).collect();
        (means, deviations)
    }
}

impl Averages {
    /// The averages of `visits` such visits.
    pub fn times(self, visits: u32) -> Self {
        let n = f64::from(visits);
        Self { weight: self.weight * n, weight_square: self.weight_square * n, ..self }
    }

    /// The number of visits of weight 1 whose means would be as uncertain as these.
    pub fn effective(&self) -> f64 {
        if self.weight_square > 0.0 { self.weight * self.weight / self.weight_square } else { 0.0 }
    }

    /// The averages together with other visits, whose means are `other`, so that they count `weight` together.
    pub fn plus(self, other: &Self, weight: f64) -> Self {
        let all = self.weight + weight;
        let mean = |a: f64, b: f64| if all > 0.0 { (a * self.weight + b * weight) / all } else { 0.0 };
        let scale = if other.weight > 0.0 { weight / other.weight } else { 0.0 };
        Self {
            weight: all,
            weight_square: self.weight_square + scale * scale * other.weight_square,
            win_loss: mean(self.win_loss, other.win_loss),
            no_result: mean(self.no_result, other.no_result),
            score: mean(self.score, other.score),
            score_square: mean(self.score_square, other.score_square),
            lead: mean(self.lead, other.lead),
            utility: mean(self.utility, other.utility),
            utility_square: mean(self.utility_square, other.utility_square),
        }
    }

    /// ½·(1 + win − loss).
    pub fn winrate(&self) -> f64 {
        0.5 * (1.0 + self.win_loss)
    }

    /// Deviation of the score.
    pub fn score_stdev(&self) -> f64 {
        (self.score_square - self.score * self.score).max(0.0).sqrt()
    }
}

/// The notes of one search.
#[derive(Debug, Default)]
pub struct Notes {
    all: Vec<Note>,
    /// Bytes that the ownership takes in all notes.
    owned_bytes: usize,
    by_key: HashMap<u64, At>,
    following: HashMap<(At, Move), At>,
    /// The points that ko forbids, for positions in which it forbids any.
    banned: HashMap<At, PointSet>,
    biases: Biases,
}

impl Notes {
    /// The most bytes that the notes take.
    pub fn bytes(&self) -> usize {
        2 * self.all.len() * size_of::<Note>()
            + self.owned_bytes
            + bytes_of_map(&self.by_key)
            + bytes_of_map(&self.following)
            + bytes_of_map(&self.banned)
            + self.biases.bytes()
    }

    /// The note at this index.
    ///
    /// # Panics
    /// If there is no note there.
    pub fn get(&self, at: At) -> &Note {
        &self.all[at as usize]
    }

    /// The root's note.
    pub fn root(&self) -> Option<(At, &Note)> {
        self.all.first().map(|note| (0, note))
    }

    /// The note after a move from a position.
    pub fn next(&self, at: At, mv: Move) -> Option<(At, &Note)> {
        let next = *self.following.get(&(at, mv))?;
        Some((next, self.all.get(next as usize)?))
    }

    /// Adds the note of the position with this key to which a line of moves leads. The positions before it must have
    /// their notes already.
    pub fn record(&mut self, line: impl ExactSizeIterator<Item = Move>, key: u64, note: impl FnOnce() -> Note) {
        let (all, owned_bytes) = (&mut self.all, &mut self.owned_bytes);
        let at = *self.by_key.entry(key).or_insert_with(|| {
            let note = note();
            *owned_bytes += size_of_val(&*note.ownership);
            all.push(note);
            all.len() as At - 1
        });
        let (mut before, plies) = (0, line.len());
        for (ply, mv) in line.enumerate() {
            if ply + 1 == plies {
                self.following.insert((before, mv), at);
            } else {
                // If a position of the line has no note, the line leads nowhere.
                let Some(&next) = self.following.get(&(before, mv)) else { return };
                before = next;
            }
        }
    }

    /// Says that the position with this key was reached by a move of this pattern. It is corrected by what other
    /// positions of the pattern have told.
    pub fn belongs_to(&mut self, key: u64, pattern: &Pattern, correction: &Correction) {
        let Some(&at) = self.by_key.get(&key) else { return };
        self.all[at as usize].bias = Some((self.biases.place(pattern), Told::default()));
        let utility = self.correct(at, 0.0, 0.0, correction);
        self.set_passed(at, Passed::of_one(utility, self.get(at).own_weight));
    }

    /// Sets the averages of the visits of a position, its own among them.
    pub fn set_passed(&mut self, at: At, passed: Passed) {
        self.all[at as usize].passed = passed;
    }

    /// Says that the visits below a position have this weight together, and the mean utility `below` for White. Its
    /// pattern is told, and the position is corrected anew. Returns its utility.
    pub fn correct(&mut self, at: At, weight: f64, below: f64, correction: &Correction) -> f64 {
        let note = &mut self.all[at as usize];
        if let Some((place, told)) = &mut note.bias {
            if weight > 0.0 {
                let weight = weight.powf(correction.exponent);
                let more = (below - f64::from(note.raw_utility)) * weight;
                let now = Told { more: more as f32, weight: weight as f32 };
                self.biases.tell(*place, std::mem::replace(told, now), now);
            }
            note.utility = note.raw_utility + (correction.factor * self.biases.mean(*place)) as f32;
        }
        note.utility.into()
    }

    /// Notes what ko forbids in a position that has its note.
    pub fn ban(&mut self, key: u64, points: PointSet) {
        if let Some(&at) = self.by_key.get(&key).filter(|_| !points.is_empty()) {
            self.banned.insert(at, points);
        }
    }

    /// The points that ko forbids in the position to which a line of moves leads, as [`Notes::ban`] noted them.
    pub fn banned(&self, line: &[Move]) -> PointSet {
        let at = line.iter().try_fold(0, |at, &mv| self.following.get(&(at, mv)).copied());
        at.and_then(|at| self.banned.get(&at).copied()).unwrap_or_default()
    }

    /// Makes the position to which a line of moves leads the root, and forgets all that it does not lead to. False if
    /// the line is not known; then nothing has changed. The part `free` of what the forgotten positions have told of
    /// their patterns is taken back.
    pub fn advance(&mut self, line: &[Move], free: f64) -> bool {
        let root = line.iter().try_fold(0, |at, &mv| self.following.get(&(at, mv)).copied());
        let Some(root) = root.filter(|_| !self.all.is_empty()) else { return false };
        if !line.is_empty() {
            let mut kept = self.reachable(root);
            // The root comes first and the others keep their order, so that two runs are alike.
            kept.sort_by_key(|at| (*at != root, *at));
            self.keep(&kept.into_iter().zip(0..).collect(), free);
        }
        true
    }

    /// A position, and those to which moves lead from there.
    fn reachable(&self, root: At) -> Vec<At> {
        let mut below: HashMap<At, Vec<At>> = HashMap::new();
        self.following.iter().for_each(|((at, _), next)| below.entry(*at).or_default().push(*next));
        let (mut found, mut todo): (HashSet<At>, _) = (HashSet::from([root]), vec![root]);
        while let Some(at) = todo.pop() {
            let next = below.get(&at).into_iter().flatten().copied();
            todo.extend(next.filter(|next| found.insert(*next)));
        }
        found.into_iter().collect()
    }

    /// Keeps the notes that are in `places`, at these new indices.
    fn keep(&mut self, places: &HashMap<At, At>, free: f64) {
        let forgotten = (0..).zip(&self.all).filter(|(at, _)| !places.contains_key(at));
        forgotten.filter_map(|(_, note)| note.bias).for_each(|told| self.biases.take_back(told, free));
        let place = |at: &At| places.get(at).copied();
        let mut all = vec![Note::default(); places.len()];
        places.iter().for_each(|(from, to)| all[*to as usize] = std::mem::take(&mut self.all[*from as usize]));
        self.owned_bytes = all.iter().map(|note| size_of_val(&*note.ownership)).sum();
        self.all = all;
        self.keep_biases();
        self.by_key = self.by_key.iter().filter_map(|(key, at)| Some((*key, place(at)?))).collect();
        let moved = |((at, mv), next): (&(At, Move), &At)| Some(((place(at)?, *mv), place(next)?));
        self.following = self.following.iter().filter_map(moved).collect();
        self.banned = self.banned.iter().filter_map(|(at, points)| Some((place(at)?, *points))).collect();
    }

    /// Keeps the biases of the patterns that notes have.
    fn keep_biases(&mut self) {
        let used: HashSet<Place> = self.all.iter().filter_map(|note| Some(note.bias?.0)).collect();
        let moved = self.biases.keep(|place| used.contains(&place));
        for (place, _) in self.all.iter_mut().filter_map(|note| note.bias.as_mut()) {
            *place = moved[place];
        }
    }

    /// Makes the position with this key, with this note and the points that ko forbids there, the root.
    ///
    /// The part `free` of what the position has told of its pattern, when it was not the root, is taken back.
    pub fn renew_root(&mut self, key: u64, note: Note, banned: PointSet, free: f64) {
        let Some(root) = self.all.first_mut() else { return };
        root.bias.into_iter().for_each(|told| self.biases.take_back(told, free));
        self.owned_bytes = self.owned_bytes + size_of_val(&*note.ownership) - size_of_val(&*root.ownership);
        *root = note;
        self.by_key.retain(|_, at| *at != 0);
        self.by_key.insert(key, 0);
        self.banned.remove(&0);
        self.ban(key, banned);
    }

    /// Changes the utility of results and scores. Corrections stay as large as before. Weights stay, too, although
    /// uncertainty is a matter of utility: a note does not have the errors that its weight was made of.
    pub fn revalue(&mut self, utility: impl Fn(&Outlook) -> f64) {
        for note in &mut self.all {
            let raw = utility(&note.outlook) as f32;
            let more = raw - note.raw_utility;
            note.utility += more;
            note.passed = note.passed.moved_by(more.into());
            note.raw_utility = raw;
        }
    }

    /// The note of the position with this key.
    pub fn find(&self, key: u64) -> Option<&Note> {
        self.all.get(*self.by_key.get(&key)? as usize)
    }
}

/// The most bytes that a map takes: it doubles its places when seven of eight are taken, and each place has one more
/// byte.
pub(super) fn bytes_of_map<K, V>(map: &HashMap<K, V>) -> usize {
    (map.len() * 16).div_ceil(7) * (size_of::<(K, V)>() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a map takes, except for the few at its end.
    fn taken<K, V>(map: &HashMap<K, V>) -> usize {
        map.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1)
    }

    #[test]
    fn all_that_is_noted_counts() {
        let mut notes = Notes::default();
        let note = || Note { ownership: vec![0; 25].into(), ..Note::default() };
        notes.record([].into_iter(), 0, note);
        notes.ban(0, PointSet::EMPTY);
        for number in 1..5000_u16 {
            // Three moves lead to each position.
            let key = u64::from(number / 3 + 1);
            notes.record([Move(number)].into_iter(), key, note);
            let mut banned = PointSet::EMPTY;
            banned.insert(GoMove(number % 25));
            notes.ban(key, banned);
            let held = notes.all.capacity() * size_of::<Note>()
                + notes.all.iter().map(|note| size_of_val(&*note.ownership)).sum::<usize>()
                + taken(&notes.by_key)
                + taken(&notes.following)
                + taken(&notes.banned);
            assert!(number < 8 || (held..3 * held).contains(&notes.bytes()), "{number}: {} {held}", notes.bytes());
        }
    }
}
