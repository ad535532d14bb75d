//! A second repository: nodes in a sharded hash map, found by a key that is a hash of the path to them.
//!
//! It is not meant for playing: it takes several times the memory and time of a [`Tree`](crate::tree::Tree). It shows
//! that a search needs no more of its nodes than [`Repository`] says: as long as nothing is folded, the same game gives
//! the same visits in both repositories. The key of a node is hash(parent's key, edge), in a graph too: there a second
//! map leads from a position to its node.
//!
//! Locking a node takes its record out of the map; other threads that want the node wait until the record is put back.
//! So the shards' own locks are held for a look-up only.

use crate::evaluate::{Ending, Value};
use crate::repository::{Bounds, Key, Naming, Node, Repository, Sums, Visit, prior};
use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicUsize, Ordering};
use hashbrown::{HashMap, HashTable};
use std::boxed::Box;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

/// Into how many parts the map is divided, each with a lock of its own.
const SHARDS: usize = 16;

/// What a node is made of.
#[derive(Debug)]
pub struct Record {
    n: u32,
    sums: Sums,
    ending: Option<Ending>,
    bounds: Bounds,
    expanded: bool,
    pending: bool,
    regrown: bool,
    restoring: bool,
    idle: u32,
    pinned: bool,
    /// How many parents' edges (and root handles) lead here.
    links: usize,
    /// In a graph: the position's key, once it is known.
    position: Option<u64>,
    /// Number of legal moves, also of a node that has given up its edges.
    edge_count: usize,
    /// The packed prior of each legal move that has no record.
    priors: Vec<Option<u16>>,
    visits: Vec<(Visit, Option<Key>)>,
}

impl Record {
    fn new() -> Self {
        Self {
            n: 0,
            sums: Sums::default(),
            ending: None,
            bounds: Bounds::OPEN,
            expanded: false,
            pending: false,
            regrown: false,
            restoring: false,
            idle: 0,
            pinned: false,
            links: 1,
            position: None,
            edge_count: 0,
            priors: Vec::new(),
            visits: Vec::new(),
        }
    }
}

/// An entry of the map. Its record is elsewhere while somebody holds the node.
type Entry = (Key, Option<Box<Record>>);

#[derive(Default)]
struct Shard {
    entries: Mutex<HashTable<Entry>>,
    put_back: Condvar,
}

impl Shard {
    fn entries(&self) -> MutexGuard<'_, HashTable<Entry>> {
        // Nothing in here panics with the lock held.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A repository of nodes in a hash map.
pub struct MapRepository {
    shards: [Shard; SHARDS],
    live: AtomicUsize,
    most_nodes: usize,
    /// In a graph: the nodes of each position. There are several if a node was made while another one with the same
    /// position was not evaluated yet.
    positions: Option<Mutex<HashMap<u64, Vec<Key>>>>,
}

impl fmt::Debug for MapRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapRepository")
            .field("live_nodes", &self.live_nodes())
            .field("most_nodes", &self.most_nodes)
            .finish_non_exhaustive()
    }
}

impl MapRepository {
    /// An empty tree with room for `most_nodes` nodes.
    pub fn new(most_nodes: usize) -> Self {
        Self { shards: Default::default(), live: AtomicUsize::new(0), most_nodes, positions: None }
    }

    /// An empty graph with room for `most_nodes` nodes.
    pub fn new_graph(most_nodes: usize) -> Self {
        Self { positions: Some(Mutex::default()), ..Self::new(most_nodes) }
    }

    fn shard(&self, key: Key) -> &Shard {
        // The hash table takes its places from the low bits, and its tags from the highest: the shard comes from the
        // middle.
        &self.shards[(key.0.get() >> 32) as usize % SHARDS]
    }

    fn positions(&self) -> Option<MutexGuard<'_, HashMap<u64, Vec<Key>>>> {
        Some(self.positions.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a link from a node; if it was the last one, takes the node out of the map and returns its record.
    fn unlink(&self, key: Key) -> Option<Box<Record>> {
        let mut node = self.lock(key);
        node.links -= 1;
        let last = node.links == 0;
        drop(node);
        last.then(|| self.remove(key))
    }

    fn remove(&self, key: Key) -> Box<Record> {
        let position = self.lock(key).position;
        if let (Some(position), Some(mut positions)) = (position, self.positions()) {
            let same = positions.get_mut(&position).expect("a node with a position is in its list");
            same.retain(|&other| other != key);
            if same.is_empty() {
                positions.remove(&position);
            }
        }
        let record = self.lock(key).take();
        let shard = self.shard(key);
        let mut entries = shard.entries();
        entries.find_entry(key.0.get(), |entry| entry.0 == key).expect("a locked node has a place").remove();
        drop(entries);
        shard.put_back.notify_all();
        self.live.fetch_sub(1, Ordering::Relaxed);
        record
    }
}

/// A well mixed hash of two numbers (MurmurHash3's finaliser).
fn hash(a: u64, b: u64) -> u64 {
    let mix = |x: u64, by: u64| (x ^ x >> 33).wrapping_mul(by);
    let x = mix(a ^ b.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15), 0xff51_afd7_ed55_8ccd);
    let x = mix(x, 0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

fn key_of(parent: Option<(Key, u16)>) -> Key {
    let (parent, edge) = parent.map_or((0, 0), |(parent, edge)| (parent.0.get(), edge));
    Key(NonZeroU64::new(hash(parent, edge.into())).unwrap_or(NonZeroU64::MAX))
}

impl Repository for MapRepository {
    type Node<'r> = Held<'r>;

    fn lock(&self, key: Key) -> Held<'_> {
        let shard = self.shard(key);
        let mut entries = shard.entries();
        loop {
            let place = entries.find_mut(key.0.get(), |entry| entry.0 == key);
            // Looking at a leaf that was discarded meanwhile shows an empty node.
            let Some((_, record)) = place else { return Held { shard, key, record: Some(Box::new(Record::new())) } };
            if let Some(record) = record.take() {
                return Held { shard, key, record: Some(record) };
            }
            entries = shard.put_back.wait(entries).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn create(&self, parent: Option<(Key, u16)>) -> Option<Key> {
        let one_more = |live| (live < self.most_nodes).then_some(live + 1);
        self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let mut key = key_of(parent);
        loop {
            let mut entries = self.shard(key).entries();
            if entries.find(key.0.get(), |entry| entry.0 == key).is_none() {
                let record = Some(Box::new(Record::new()));
                entries.insert_unique(key.0.get(), (key, record), |entry| entry.0.0.get());
                return Some(key);
            }
            drop(entries);
            key = key_of(Some((key, 0)));
        }
    }

    fn discard(&self, key: Key) {
        self.remove(key);
    }

    fn join(&self, node: Key, position: u64, edges: usize, may_join: impl Fn(Key) -> bool) -> Option<Key> {
        let mut positions = self.positions()?;
        let same = positions.entry(position).or_default();
        for &other in same.iter().rev() {
            if other == node {
                return None;
            }
            let mut there = self.lock(other);
            if there.expanded && there.edge_count == edges {
                if !may_join(other) {
                    return None;
                }
                there.links += 1;
                return Some(other);
            }
        }
        same.push(node);
        self.lock(node).position = Some(position);
        None
    }

    fn has(&self, position: u64, edges: usize) -> bool {
        let Some(positions) = self.positions() else { return false };
        let there = |&key: &Key| {
            let node = self.lock(key);
            node.expanded && node.edge_count == edges
        };
        positions.get(&position).is_some_and(|same| same.iter().any(there))
    }

    fn is_graph(&self) -> bool {
        self.positions.is_some()
    }

    fn clear(&mut self) {
        *self = Self { positions: self.positions.as_ref().map(|_| Mutex::default()), ..Self::new(self.most_nodes) };
    }

    fn fold(&mut self, parent: Key, at: usize) -> usize {
        let child = self.lock(parent).visits[at].1.take();
        child.map_or(0, |child| self.free(child))
    }

    fn free(&mut self, root: Key) -> usize {
        let (mut unlinked, mut freed) = (std::vec![root], 0);
        while let Some(key) = unlinked.pop() {
            if let Some(record) = self.unlink(key) {
                unlinked.extend(record.visits.iter().filter_map(|(_, child)| *child));
                freed += 1;
            }
        }
        freed
    }

    fn free_below(&mut self, proven: Key) -> usize {
        let mut node = self.lock(proven);
        if node.visits.iter().any(|(visit, _)| visit.in_flight > 0) {
            return 0;
        }
        let edges = core::mem::take(&mut node.visits);
        node.priors = Vec::new();
        node.expanded = false;
        drop(node);
        edges.into_iter().filter_map(|(_, child)| child).map(|child| self.free(child)).sum()
    }

    fn scan(&self, cursor: u64) -> Option<(Key, u64)> {
        let (first, mut bucket) = ((cursor >> 32) as usize, cursor as u32 as usize);
        for (number, shard) in self.shards.iter().enumerate().skip(first) {
            let entries = shard.entries();
            for at in bucket..entries.num_buckets() {
                if let Some((key, _)) = entries.get_bucket(at) {
                    return Some((*key, (number as u64) << 32 | (at as u64 + 1)));
                }
            }
            bucket = 0;
        }
        None
    }

    fn live_nodes(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}

/// A node of a [`MapRepository`], taken out of the map.
pub struct Held<'r> {
    shard: &'r Shard,
    key: Key,
    record: Option<Box<Record>>,
}

impl fmt::Debug for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("key", &self.key).field("record", &self.record).finish_non_exhaustive()
    }
}

impl Held<'_> {
    /// Keeps the record out of the map for good, and returns it.
    fn take(mut self) -> Box<Record> {
        self.record.take().expect(HELD)
    }
}

const HELD: &str = "a record is given away with what held it";

impl core::ops::Deref for Held<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        self.record.as_ref().expect(HELD)
    }
}

impl core::ops::DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Record {
        self.record.as_mut().expect(HELD)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Some(record) = self.record.take() else { return };
        let mut entries = self.shard.entries();
        if let Some((_, place)) = entries.find_mut(self.key.0.get(), |entry| entry.0 == self.key) {
            *place = Some(record);
        }
        drop(entries);
        self.shard.put_back.notify_all();
    }
}

impl Node for Held<'_> {
    fn n(&self) -> u32 {
        self.n
    }

    fn mean(&self) -> Value {
        self.sums.mean(self.n)
    }

    fn sums(&self) -> Sums {
        self.sums
    }

    fn add(&mut self, n: i32, sums: Sums) {
        self.idle = 0;
        self.n = self.n.wrapping_add_signed(n);
        self.sums = self.sums.plus(sums);
    }

    fn settle(&mut self, n: u32, value: Value) {
        (self.n, self.sums) = (n, Sums::of(value, n));
    }

    fn set_sums(&mut self, sums: Sums) {
        self.sums = sums;
    }

    fn regrow(&mut self, n: u32, value: Value) -> bool {
        self.n += n;
        self.sums = self.sums.plus(Sums::of(value, n));
        self.regrown = true;
        true
    }

    fn ending(&self) -> Option<Ending> {
        self.ending
    }

    fn set_ending(&mut self, ending: Option<Ending>) {
        self.ending = ending;
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    fn is_expanded(&self) -> bool {
        self.expanded
    }

    fn is_pending(&self) -> bool {
        self.pending
    }

    fn set_pending(&mut self, on: bool) {
        self.pending = on;
    }

    fn is_regrown(&self) -> bool {
        self.regrown
    }

    fn set_regrown(&mut self) {
        self.regrown = true;
    }

    fn is_restoring(&self) -> bool {
        self.restoring
    }

    fn set_restoring(&mut self, on: bool) {
        self.restoring = on;
    }

    fn idle(&self) -> u32 {
        self.idle
    }

    fn set_idle(&mut self, idle: u32) {
        self.idle = idle;
    }

    fn is_pinned(&self) -> bool {
        self.pinned
    }

    fn set_pinned(&mut self, on: bool) {
        self.pinned = on;
    }

    fn expand(&mut self, priors: &[f32]) -> bool {
        self.priors = priors.iter().map(|p| Some(prior::pack(*p))).collect();
        self.edge_count = priors.len();
        self.expanded = true;
        true
    }

    fn edge_count(&self) -> usize {
        self.edge_count
    }

    fn visited_count(&self) -> usize {
        self.visits.len()
    }

    fn visit(&self, at: usize) -> Visit {
        self.visits[at].0
    }

    fn set_visit(&mut self, at: usize, visit: Visit) {
        self.visits[at].0 = visit;
    }

    fn child(&self, at: usize) -> Option<Key> {
        self.visits[at].1
    }

    fn set_child(&mut self, at: usize, child: Option<Key>) {
        self.visits[at].1 = child;
    }

    fn next_unvisited(&self) -> Option<(u16, f32)> {
        let waiting = self.priors.iter().enumerate().filter_map(|(index, prior)| Some((index as u16, (*prior)?)));
        let largest = waiting.reduce(|best, next| if next.1 > best.1 { next } else { best });
        largest.map(|(index, prior)| (index, prior::unpack(prior)))
    }

    fn unvisited_prior(&self, index: usize) -> Option<f32> {
        self.priors.get(index).copied().flatten().map(prior::unpack)
    }

    fn open_edge(&mut self, index: u16) -> Option<usize> {
        let prior = self.priors[usize::from(index)].take().expect("an edge without a record");
        self.visits.push((Visit { n: 0, in_flight: 0, value: None, prior, mv: Naming::Index(index) }, None));
        Some(self.visits.len() - 1)
    }
}
