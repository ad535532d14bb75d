//! A shard of the cache: a ring of entries, one behind the other, and an index.

use super::index::{Index, tag};
use crate::network::CacheCounts;
use oncilla_core::evaluate::Value;

/// Words of an entry before its logits: key (low half first), number of moves, W − L, D, moves left.
const HEADER: usize = 6;

/// The index has room for as many entries as the shard holds at this many words each, which means 18 moves. A
/// middlegame position has some 33; if all positions have fewer than 18 moves, a part of the ring stays empty.
const WORDS_IN_INDEX: usize = HEADER + 18;

/// Bytes that the index takes for an entry: three entries have four slots.
const INDEX_BYTES: usize = 11;

/// Entries in the order in which they were added. The oldest is evicted when the newest needs its place.
pub struct Shard {
    /// The ring, which grows to `most_words`. Entries are not split at its end, so the last one may leave a few words
    /// unused.
    words: Vec<u32>,
    most_words: usize,
    most_entries: usize,
    /// The place of the oldest entry.
    oldest: usize,
    /// Where the next entry goes.
    end: usize,
    /// If the newest entries have wrapped around to the ring's beginning: where those at its end stop. Then entries are
    /// at `oldest..wrapped` and `0..end`, else at `oldest..end`.
    wrapped: Option<usize>,
    index: Index,
    hits: u64,
    misses: u64,
    evictions: u64,
}

impl Shard {
    /// An empty shard of at most `bytes` bytes on the heap and `entries` entries; `None` if no entry fits, or if the
    /// system does not grant the address space.
    pub fn new(bytes: usize, entries: usize) -> Option<Self> {
        // Places are counted in words, in 32 bits.
        let bytes = bytes.min((u32::MAX as usize).saturating_mul(4));
        let most_entries = entries.min(bytes / (4 * WORDS_IN_INDEX + INDEX_BYTES));
        let most_words = bytes.saturating_sub(Index::bytes_for(most_entries)) / 4;
        if most_entries == 0 || most_words <= HEADER {
            return None;
        }
        let mut words = Vec::new();
        words.try_reserve_exact(most_words).ok()?;
        Some(Self {
            words,
            most_words,
            most_entries,
            oldest: 0,
            end: 0,
            wrapped: None,
            index: Index::new(most_entries),
            hits: 0,
            misses: 0,
            evictions: 0,
        })
    }

    /// Forgets all entries and returns their memory to the system.
    pub fn clear(&mut self) {
        self.words = Vec::new();
        if self.words.try_reserve_exact(self.most_words).is_err() {
            self.most_words = 0; // nothing is kept any more
        }
        (self.oldest, self.end, self.wrapped) = (0, 0, None);
        self.index.clear();
        (self.hits, self.misses, self.evictions) = (0, 0, 0);
    }

    pub fn counts(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits,
            misses: self.misses,
            evictions: self.evictions,
            entries: self.index.len() as u64,
            bytes: (4 * self.words.len() + self.index.bytes()) as u64,
        }
    }

    pub fn get(&mut self, key: u64, logits: &mut [f32]) -> Option<Value> {
        let place = self.find(key).filter(|&place| self.words[place + 2] as usize == logits.len());
        let Some(place) = place else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        let (header, words) = self.words[place..place + HEADER + logits.len()].split_at(HEADER);
        logits.iter_mut().zip(words).for_each(|(logit, &word)| *logit = f32::from_bits(word));
        let [wl, d, m] = [3, 4, 5].map(|at| f32::from_bits(header[at]));
        Some(Value { wl, d, m })
    }

    pub fn put(&mut self, key: u64, value: Value, logits: &[f32]) {
        let len = HEADER + logits.len();
        if logits.is_empty() || len > self.most_words || self.find(key).is_some() {
            return;
        }
        while self.index.len() >= self.most_entries || !(self.index.has_room() || self.grow_index()) {
            self.evict();
        }
        let place = self.make_room(len);
        if self.words.len() < place + len {
            self.words.resize(place + len, 0);
        }
        let (header, words) = self.words[place..place + len].split_at_mut(HEADER);
        let [wl, d, m] = [value.wl, value.d, value.m].map(f32::to_bits);
        header.copy_from_slice(&[key as u32, (key >> 32) as u32, logits.len() as u32, wl, d, m]);
        words.iter_mut().zip(logits).for_each(|(word, logit)| *word = logit.to_bits());
        self.end = place + len;
        self.index.insert(tag(key), place as u32);
    }

    fn find(&self, key: u64) -> Option<usize> {
        self.index.find(tag(key), |place| self.key(place as usize) == key).map(|place| place as usize)
    }

    fn key(&self, place: usize) -> u64 {
        u64::from(self.words[place + 1]) << 32 | u64::from(self.words[place])
    }

    /// The place of the entry behind the one at `place`, if there is one before the ring's end.
    fn next(&self, place: usize) -> usize {
        place + HEADER + self.words[place + 2] as usize
    }

    /// Finds a place for `len` words, which must be no more than the ring has. Entries that stand there are evicted.
    fn make_room(&mut self, len: usize) -> usize {
        loop {
            match self.wrapped {
                None if self.end + len <= self.most_words => return self.end,
                None => {
                    self.wrapped = Some(self.end);
                    self.end = 0;
                }
                Some(_) if self.end + len <= self.oldest => return self.end,
                Some(_) => self.evict(),
            }
        }
    }

    /// Forgets the oldest entry. There must be one.
    fn evict(&mut self) {
        let place = self.oldest;
        self.index.remove(tag(self.key(place)), place as u32);
        self.evictions += 1;
        self.oldest = self.next(place);
        if self.index.len() == 0 {
            (self.oldest, self.end, self.wrapped) = (0, 0, None);
        }
        if self.wrapped == Some(self.oldest) {
            self.wrapped = None;
            self.oldest = 0;
        }
    }

    fn grow_index(&mut self) -> bool {
        let mut index = std::mem::take(&mut self.index);
        let mut place = self.oldest;
        let mut left = index.len();
        let entries = std::iter::from_fn(|| {
            left = left.checked_sub(1)?;
            if self.wrapped == Some(place) {
                place = 0;
            }
            let entry = (tag(self.key(place)), place as u32);
            place = self.next(place);
            Some(entry)
        });
        let grown = index.grow(entries);
        self.index = index;
        grown
    }
}

#[cfg(test)]
impl Shard {
    /// Bytes on the heap, whether touched or not.
    pub fn allocated(&self) -> usize {
        4 * self.words.capacity() + self.index.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, quickcheck};

    #[derive(Clone, Debug)]
    enum Operation {
        Put { key: u64, moves: usize },
        Get { key: u64 },
        Clear,
    }

    impl Arbitrary for Operation {
        fn arbitrary(g: &mut Gen) -> Self {
            // There are few keys, so that they come again; their tags are equal, near each other or at both ends.
            let number = u64::from(u8::arbitrary(g) % 200);
            let key = number << 33 | g.choose(&[0, number, number << 27 & 0xffff_ffff, 0xffff_ffff]).unwrap();
            match u8::arbitrary(g) {
                0..=1 => Self::Clear,
                2..=80 => Self::Get { key },
                _ => Self::Put { key, moves: usize::from(u8::arbitrary(g)) % *g.choose(&[3, 60, 257]).unwrap() },
            }
        }
    }

    fn logits(key: u64, moves: usize) -> Vec<f32> {
        (0..moves).map(|n| (key >> 20) as f32 + n as f32).collect()
    }

    fn value(key: u64) -> Value {
        Value { wl: key as u32 as f32, d: 0.5, m: 3.0 }
    }

    /// What a shard must hold: keys and numbers of moves, the oldest first.
    type Model = Vec<(u64, usize)>;

    fn words(entries: &[(u64, usize)]) -> usize {
        entries.iter().map(|(_, moves)| HEADER + moves).sum()
    }

    fn put(shard: &mut Shard, model: &mut Model, key: u64, moves: usize) {
        shard.put(key, value(key), &logits(key, moves));
        let len = HEADER + moves;
        if moves == 0 || len > shard.most_words || model.iter().any(|&(known, _)| known == key) {
            return;
        }
        // The shard decides how many entries had to go, but the model checks that they had to: with one fewer gone,
        // there would have been no room, even if none were lost at the ring's end.
        let gone = model.len() + 1 - shard.index.len();
        if gone > 0 {
            let longest = HEADER + 256;
            let full = model.len() - (gone - 1) + 1 > shard.most_entries;
            assert!(full || words(&model[gone - 1..]) + len + longest > shard.most_words, "{gone} of {model:?}");
        }
        model.drain(..gone);
        model.push((key, moves));
    }

    fn check(shard: &mut Shard, model: &Model) {
        assert_eq!(shard.index.len(), model.len());
        assert!(model.len() <= shard.most_entries && words(model) <= shard.most_words);
        for &(key, moves) in model {
            let mut found = vec![f32::NAN; moves];
            assert_eq!(shard.get(key, &mut found), Some(value(key)), "{key:#x}");
            assert_eq!(found, logits(key, moves), "{key:#x}");
            assert_eq!(shard.get(key, &mut vec![0.0; moves + 1]), None);
        }
    }

    quickcheck! {
        fn a_shard_holds_the_newest_entries(bytes: u16, entries: u8, operations: Vec<Operation>) -> bool {
            let bytes = usize::from(bytes) % 20_000 + 200;
            let Some(mut shard) = Shard::new(bytes, usize::from(entries) + 1) else { return bytes < 300 };
            let mut model = Model::new();
            // Enough operations to go round a small ring a few times.
            for operation in operations.iter().cycle().take(4 * operations.len()) {
                match *operation {
                    Operation::Put { key, moves } => put(&mut shard, &mut model, key, moves),
                    Operation::Get { key } => {
                        let known = model.iter().find(|&&(known, _)| known == key);
                        let moves = known.map_or(1, |&(_, moves)| moves);
                        assert_eq!(shard.get(key, &mut vec![0.0; moves]).is_some(), known.is_some());
                    }
                    Operation::Clear => {
                        shard.clear();
                        model.clear();
                    }
                }
                assert!(shard.allocated() <= bytes, "{} of {bytes} bytes", shard.allocated());
            }
            check(&mut shard, &model);
            true
        }
    }
}
