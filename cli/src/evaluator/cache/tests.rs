use super::*;
use std::thread;

/// The evaluation that a test gives to a key; other keys have other ones.
fn evaluation(key: u64) -> (Value, Vec<f32>) {
    let number = |salt: u64| (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt << 7) as u32 as f32 / 1e7;
    let moves = key % 61 + 1;
    (Value { wl: number(1), d: number(2), m: number(3) }, (0..moves).map(|mv| number(4 + mv)).collect())
}

/// The key that stands for a number of the test: keys are hashes, and all of their bits matter.
fn key(number: u64) -> u64 {
    let spread = number.wrapping_mul(0xd129_0ddb_53c4_3e49).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    spread ^ spread >> 31
}

fn put(cache: &Cache, key: u64) {
    let (value, logits) = evaluation(key);
    cache.put(key, value, &logits);
}

/// Whether the cache knows the key; what it knows must be right.
fn knows(cache: &Cache, key: u64) -> bool {
    let (value, logits) = evaluation(key);
    let mut found = vec![f32::NAN; logits.len()];
    let hit = cache.get(key, &mut found);
    assert!(hit.is_none_or(|hit| hit == value && found == logits), "{key:#x}");
    hit.is_some()
}

#[test]
fn what_comes_out_is_to_the_bit_what_went_in() {
    let cache = Cache::new(1 << 20, usize::MAX).unwrap();
    let bits = [0x0000_0001, 0x7f7f_ffff, 0x8000_0000, 0x3eaa_aaab, 0xc180_0001].map(f32::from_bits);
    let value = Value { wl: f32::from_bits(0xbf7f_ffff), d: f32::MIN_POSITIVE, m: -0.0 };
    cache.put(7, value, &bits);
    let mut found = [0.0; 5];
    let hit = cache.get(7, &mut found).unwrap();
    assert_eq!(found.map(f32::to_bits), bits.map(f32::to_bits));
    assert_eq!([hit.wl, hit.d, hit.m].map(f32::to_bits), [value.wl, value.d, value.m].map(f32::to_bits));
}

#[test]
fn another_number_of_moves_is_another_position() {
    let cache = Cache::new(1 << 20, usize::MAX).unwrap();
    cache.put(7, Value::EVEN, &[1.0, 2.0]);
    assert_eq!(cache.get(7, &mut [0.0; 3]), None);
    assert_eq!(cache.get(7, &mut [0.0; 2]), Some(Value::EVEN));
    assert_eq!((cache.counts().hits, cache.counts().misses), (1, 1));
}

#[test]
fn the_first_evaluation_stays_and_positions_without_moves_are_not_kept() {
    let cache = Cache::new(1 << 20, usize::MAX).unwrap();
    cache.put(7, Value::EVEN, &[1.0]);
    cache.put(7, Value::WIN, &[2.0]);
    assert_eq!(cache.get(7, &mut [0.0]), Some(Value::EVEN));
    cache.put(8, Value::LOSS, &[]);
    assert_eq!((cache.get(8, &mut []), cache.counts().entries), (None, 1));
    cache.clear();
    assert_eq!((cache.get(7, &mut [0.0]), cache.counts().entries), (None, 0));
}

#[test]
fn without_room_for_an_entry_there_is_no_cache() {
    for (bytes, entries) in [(0, 10), (1 << 20, 0), (100, 100)] {
        assert!(Cache::new(bytes, entries).is_none(), "{bytes} bytes, {entries} entries");
    }
    let tiny = Cache::new(1000, 1000).unwrap();
    tiny.put(1, Value::EVEN, &[0.0; 256]);
    assert_eq!(tiny.counts().entries, 0, "too large for it");
    tiny.put(1, Value::EVEN, &[0.0; 30]);
    assert_eq!(tiny.counts().entries, 1);
}

#[test]
fn keys_with_the_same_tag_are_told_apart() {
    let cache = Cache::new(100_000, usize::MAX).unwrap();
    let keys: Vec<u64> = (0..50).map(|n| n << 32 | 5).collect();
    keys.iter().for_each(|&key| put(&cache, key));
    assert!(keys.iter().all(|&key| knows(&cache, key)));
    assert!(!knows(&cache, 99 << 32 | 5));
}

#[test]
fn the_bound_in_bytes_holds_for_everything_that_is_allocated() {
    for (bytes, entries) in [(2_000, usize::MAX), (50_000, 10), (300_000, usize::MAX), (3 << 20, 5_000)] {
        let cache = Cache::new(bytes, entries).unwrap();
        for n in 0..20_000 {
            put(&cache, key(n));
            let on_heap: usize = cache.shards.iter().map(|shard| shard.lock().allocated()).sum();
            let all = size_of_val(&cache) + size_of_val(&*cache.shards) + on_heap;
            assert!(all <= bytes, "{all} of {bytes} bytes");
            let counts = cache.counts();
            assert!(counts.bytes <= all as u64 && counts.entries <= entries as u64);
        }
        let counts = cache.counts();
        assert!(counts.evictions > 0 && counts.entries > 0);
        // Most of the room is used if the bound on the bytes is the one that counts.
        assert!(entries < usize::MAX || bytes < 10_000 || counts.bytes > bytes as u64 * 9 / 10, "{counts:?}");
    }
}

#[test]
fn memory_is_touched_as_entries_come() {
    let cache = Cache::new(1 << 30, usize::MAX).unwrap();
    (0..1_000).for_each(|n| put(&cache, key(n)));
    let counts = cache.counts();
    assert_eq!((counts.entries, counts.evictions), (1_000, 0));
    assert!(counts.bytes < 250_000, "{} bytes", counts.bytes);
}

#[test]
fn threads_share_a_cache() {
    const THREADS: u64 = 4;
    const GETS: u64 = 20_000;
    let cache = Cache::new(400_000, usize::MAX).unwrap();
    let hits: u64 = thread::scope(|scope| {
        let work = |thread: u64| {
            let cache = &cache;
            move || {
                let mut hits = 0;
                for n in 0..GETS {
                    // Some keys come often, but most of them seldom, so that some lookups hit.
                    let number = (key(n + thread * GETS) >> 40) % if n % 2 == 0 { 500 } else { 10_000 };
                    match knows(cache, key(number)) {
                        true => hits += 1,
                        false => put(cache, key(number)),
                    }
                    if n == GETS / 2 && thread == 0 {
                        assert!(cache.counts().entries > 0);
                    }
                }
                hits
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let counts = cache.counts();
    assert_eq!((counts.hits, counts.hits + counts.misses), (hits, THREADS * GETS));
    assert!(hits > GETS / 10 && counts.evictions > 0, "{counts:?}");
    // If two threads missed the same key, it was kept only once.
    assert!(counts.entries + counts.evictions <= counts.misses);
}
