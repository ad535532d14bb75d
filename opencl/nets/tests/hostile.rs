//! Damaged and hostile files: an error in one line, no panic, no allocation beyond a multiple of the file's size.

mod common;
#[path = "common/counting.rs"]
mod counting;

use oncilla_nets::{Fault, NetError, Network};
use std::ops::Range;
use std::panic::catch_unwind;

struct Random(u64);

impl Random {
    /// A number below `n`, from xorshift64.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Reads `file`, and checks what has to hold for every file.
fn read(file: &[u8], allowed: usize, what: &str) -> Result<Network, NetError> {
    let (result, peak) = counting::peak(|| catch_unwind(|| Network::from_bytes(file)));
    let result = result.unwrap_or_else(|_| panic!("{what}: the reader panicked"));
    assert!(peak <= allowed, "{what}: {} bytes made it allocate {peak}", file.len());
    if let Err(error) = &result {
        let line = error.to_string();
        assert!(!line.is_empty() && !line.contains('\n'), "{what}: {line:?}");
    }
    result
}

/// How many bytes reading a file of `len` bytes may allocate: numbers of two bytes become numbers of four, and a buffer
/// that grows may have twice the room for what it holds.
fn allowed(len: usize) -> usize {
    4 * len + (64 << 10)
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn write_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// One field of a sound message, or of a message nested in it.
struct Field {
    /// The field, from its tag to its end.
    all: Range<usize>,
    /// The bytes of its length, if it has one.
    length: Option<Range<usize>>,
    /// True if its content is numbers, not a message.
    leaf: bool,
}

/// Fields of the message in `range`. Down to `Layer.params` every length-delimited field in these networks is a
/// message, but for the licence: its bytes don't matter.
fn fields(bytes: &[u8], range: Range<usize>, depth: usize, found: &mut Vec<Field>) {
    let mut at = range.start;
    while at < range.end {
        let start = at;
        let tag = varint(bytes, &mut at);
        let mut length = None;
        let mut inside = None;
        match tag & 7 {
            0 => drop(varint(bytes, &mut at)),
            5 => at += 4,
            _ => {
                let begin = at;
                let n = varint(bytes, &mut at) as usize;
                length = Some(begin..at);
                inside = Some(at..at + n);
                at += n;
            }
        }
        let message =
            inside.filter(|_| !(depth == 0 && tag >> 3 == 2)).filter(|r| looks_like_message(bytes, r.clone()));
        found.push(Field { all: start..at, length, leaf: message.is_none() });
        if let Some(inside) = message {
            fields(bytes, inside, depth + 1, found);
        }
    }
}

/// Whether the bytes can be read as fields to their very end. For weights, which are random, this is as good as
/// impossible.
fn looks_like_message(bytes: &[u8], range: Range<usize>) -> bool {
    let bytes = &bytes[range];
    let mut at = 0;
    while at < bytes.len() {
        let complete = |at: &mut usize| {
            let end = (*at + 10).min(bytes.len());
            bytes[*at..end].iter().any(|b| b < &0x80).then(|| varint(bytes, at))
        };
        let Some(tag) = complete(&mut at) else { return false };
        match tag & 7 {
            0 if complete(&mut at).is_none() => return false,
            0 => {}
            5 => at += 4,
            2 => match complete(&mut at) {
                Some(n) => at = at.saturating_add(n as usize),
                None => return false,
            },
            _ => return false,
        }
        if tag >> 3 == 0 || tag >> 3 > 64 {
            return false;
        }
    }
    at == bytes.len()
}

/// A sound file.
struct Sound {
    name: &'static str,
    compressed: Vec<u8>,
    raw: Vec<u8>,
    /// True if every field is read, so that no fault in one can go unnoticed. Of several heads only those that are
    /// chosen are read.
    whole: bool,
}

fn sound() -> Vec<Sound> {
    let files = [
        ("synthetic-h-enc-float16", true),
        ("synthetic-c2-se-conv-wdl-mlh-mish-in4", true),
        ("synthetic-e4-attnbody-relu-classicalvalue-in1", true),
        ("synthetic-f-bt4-pedense-multihead-mish-in5", false),
    ];
    let read = |(name, whole)| {
        let compressed = std::fs::read(common::fixtures().join(format!("{name}.pb.gz"))).expect("a fixture");
        let mut raw = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&compressed[..]), &mut raw).expect("gzip");
        Sound { name, compressed, raw, whole }
    };
    files.into_iter().map(read).collect()
}

#[test]
fn truncated_at_every_boundary() {
    for Sound { name, raw, .. } in sound() {
        assert!(read(&raw, allowed(raw.len()), name).is_ok());
        let mut all = Vec::new();
        fields(&raw, 0..raw.len(), 0, &mut all);
        assert!(all.len() > 100 && all.iter().any(|f| f.leaf), "{}", all.len());
        let boundaries =
            all.iter().flat_map(|f| [Some(f.all.start), f.length.as_ref().map(|l| l.end), Some(f.all.end)]);
        for boundary in boundaries.flatten() {
            for end in boundary.saturating_sub(1)..(boundary + 2).min(raw.len()) {
                let what = format!("{name} cut at {end}");
                read(&raw[..end], allowed(end), &what).expect_err(&what);
            }
        }
    }
}

#[test]
fn what_follows_a_stream_is_left_aside() {
    for Sound { name, compressed, raw, .. } in sound() {
        for behind in [&[0; 512][..], b"a line of a careless mail program", &[0x1f]] {
            let padded = [&compressed, behind].concat();
            assert!(read(&padded, allowed(raw.len() + padded.len()), name).is_ok(), "{name}");
        }
        // What begins like another member has to be one.
        let torn = [&compressed, &compressed[..99]].concat();
        read(&torn, allowed(2 * raw.len() + torn.len()), name).expect_err(name);
    }
}

#[test]
fn fields_with_other_lengths() {
    for Sound { name, raw, whole, .. } in sound() {
        let mut all = Vec::new();
        fields(&raw, 0..raw.len(), 0, &mut all);
        for length in all.iter().filter_map(|f| f.length.clone()) {
            let mut at = length.start;
            let n = varint(&raw, &mut at);
            for other in [0, 1, n - 1, n + 1, n + 2, 2 * n, raw.len() as u64, 1 << 31, 1 << 40, u64::MAX >> 1, u64::MAX]
            {
                if other == n {
                    continue;
                }
                let edited = [&raw[..length.start], &write_varint(other), &raw[length.end..]].concat();
                let what = format!("{name}, {other} for {n} at {}", length.start);
                let result = read(&edited, allowed(edited.len()), &what);
                assert!(result.is_err() || !whole, "{what}");
            }
        }
    }
}

#[test]
fn bits_flipped() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut taken) = (0, 0);
    for Sound { name, compressed, raw, .. } in sound() {
        let mut all = Vec::new();
        fields(&raw, 0..raw.len(), 0, &mut all);
        // Few bytes say what is where, but half of the flips are in these.
        let structure: Vec<usize> =
            all.iter().flat_map(|f| f.all.start..f.length.as_ref().map_or(f.all.end, |l| l.end)).collect();
        for case in 0..2000 {
            let mut damaged = raw.clone();
            for _ in 0..1 + random.below(3) {
                let at = if case % 2 == 0 { structure[random.below(structure.len())] } else { random.below(raw.len()) };
                damaged[at] ^= 1 << random.below(8);
            }
            match read(&damaged, allowed(damaged.len()), &format!("{name}, flips {case}")) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
        }
        for case in 0..300 {
            let mut damaged = compressed.clone();
            // The flip is behind the header of ten bytes, some of which may have any value.
            let at = 10 + random.below(compressed.len() - 10);
            damaged[at] ^= 1 << random.below(8);
            // A damaged content may inflate to more than the original, but not beyond deflate's ratio.
            let result = read(&damaged, 1100 * damaged.len(), &format!("{name}, compressed, flip {case}"));
            result.expect_err("a checksum that fits");
        }
    }
    // A weight with a flipped bit is still a weight; a flip in the structure is mostly noticed.
    assert!(refused > 1000 && taken > 1000, "{refused} refused, {taken} taken");
}

#[test]
fn fields_lost_doubled_and_swapped() {
    let random = &mut Random(0xb5ad_4ece_da1c_e2a9);
    for Sound { name, raw, .. } in sound() {
        let mut all = Vec::new();
        fields(&raw, 0..raw.len(), 0, &mut all);
        for case in 0..1500 {
            let (a, b) = (&all[random.below(all.len())].all, &all[random.below(all.len())].all);
            let (a, b) = if a.start <= b.start { (a, b) } else { (b, a) };
            let edited = match case % 3 {
                0 => [&raw[..a.start], &raw[a.end..]].concat(),
                1 => [&raw[..a.end], &raw[a.start..]].concat(),
                _ if a.end <= b.start => {
                    [&raw[..a.start], &raw[b.clone()], &raw[a.end..b.start], &raw[a.clone()], &raw[b.end..]].concat()
                }
                _ => continue,
            };
            let _ = read(&edited, allowed(edited.len()), &format!("{name}, edit {case} of {a:?} and {b:?}"));
        }
    }
}

/// A message that has only an encoding of weights and the field `weights` with these `fields`.
fn with_weights(fields: &[u8]) -> Vec<u8> {
    let magic = [0x0d, 0xc0, 0x01, 0x00, 0x00];
    let format = [0x22, 0x02, 0x08, 0x01];
    [&magic[..], &format, &[0x52], &write_varint(fields.len() as u64), fields].concat()
}

#[test]
fn millions_of_empty_blocks() {
    for (tag, name, most) in
        [(&[0x12][..], "residual", 1024), (&[0xda, 1], "encoder", 256), (&[0xaa, 1], "pol_encoder", 256)]
    {
        let file = with_weights(&[tag, &[0]].concat().repeat(1 << 20));
        let error = read(&file, allowed(0), name).expect_err("no network");
        assert_eq!(error.to_string(), format!("weights.{name}: expected at most {most} of them, got more"));
    }
    // As many empty messages of each list as are allowed.
    let lists = [(&[0x12][..], 1024), (&[0xda, 1], 256), (&[0xaa, 1], 256)];
    let full = lists.map(|(tag, most)| [tag, &[0]].concat().repeat(most)).concat();
    let _ = read(&with_weights(&full), allowed(full.len()), "full lists");
}

/// All encoder layers share the last weights of their smolgens, and reading must not copy them.
#[test]
fn many_encoders_with_one_smolgen() {
    let Some(Sound { raw, .. }) = sound().pop() else { return };
    let mut all = Vec::new();
    fields(&raw, 0..raw.len(), 0, &mut all);
    let weights = all.iter().find(|f| raw[f.all.start] == 0x52 && f.all.end == raw.len()).expect("weights");
    let content = weights.length.clone().expect("a length").end;
    let encoder = all.iter().find(|f| raw[f.all.start..].starts_with(&[0xda, 1]) && !f.leaf).expect("an encoder");
    let many = [&raw[content..], &raw[encoder.all.clone()].repeat(100)].concat();
    let file = [&raw[..weights.all.start + 1], &write_varint(many.len() as u64), &many].concat();
    let network = read(&file, allowed(file.len()), "102 encoders").expect("a network");
    assert_eq!(network.facts.encoders, 102);
}

/// The errors if each array in turn loses its last number. Every length around it is corrected, so that only the shape
/// is wrong.
fn errors_of_short_arrays(raw: &[u8], least: usize) -> Vec<String> {
    let mut all = Vec::new();
    fields(raw, 0..raw.len(), 0, &mut all);
    let mut leaves: Vec<&Field> = all.iter().filter(|f| f.leaf && f.all.len() > least).collect();
    leaves.sort_by_key(|f| f.all.start);
    let shortened = |leaf: &&Field| {
        let mut edited = raw.to_vec();
        edited.drain(leaf.all.end - 2..leaf.all.end);
        let mut around: Vec<&Field> =
            all.iter().filter(|f| f.all.start <= leaf.all.start && f.all.end >= leaf.all.end).collect();
        around.sort_by_key(|f| std::cmp::Reverse(f.all.start));
        let mut lost = 2;
        for field in around {
            let length = field.length.clone().expect("a length");
            let mut at = length.start;
            let n = varint(raw, &mut at) - lost;
            let written = write_varint(n);
            lost += (length.len() - written.len()) as u64;
            edited.splice(length, written);
        }
        Network::from_bytes(&edited).err().map(|error| error.to_string())
    };
    leaves.iter().filter_map(shortened).collect()
}

#[test]
fn errors_name_the_field() {
    let sound = sound();
    let raw = &sound[0].raw;
    let seen = errors_of_short_arrays(raw, 4000);
    assert!(seen[0].starts_with("weights.input.weights: expected 16·112·3·3 = 16128 numbers, got 16127"), "{seen:#?}");
    let expected = "weights.residual[1].conv1.weights: expected 16·16·3·3 = 2304 numbers, got 2303";
    assert!(seen.iter().any(|e| e == expected), "{seen:#?}");
    let truncated = Network::from_bytes(&raw[..raw.len() / 2]).expect_err("a damaged file").to_string();
    let shown =
        truncated.starts_with("weights: at byte ") && truncated.contains(" in the message: truncated: expected ");
    assert!(shown, "{truncated}");
    assert_eq!(Network::read("no-such-file").expect_err("no file").fault, Fault::Io);

    let seen = errors_of_short_arrays(&sound[3].raw, 30);
    for expected in [
        "weights.ip_emb_w: expected 40·115 = 4600 numbers, got 4599",
        "weights.ip_emb_preproc_w: expected 192·64·12 = 147456 numbers, got 147455",
        "weights.ip_mult_gate: expected 40·64 = 2560 numbers, got 2559",
        "weights.ip_emb_ffn.dense2_w: expected 40·48 = 1920 numbers, got 1919",
        "weights.smolgen_w: expected a multiple of 4096 numbers, got 24575",
        "weights.encoder[1].mha.q_w: expected 40·40 = 1600 numbers, got 1599",
        "weights.encoder[1].mha.smolgen.dense1_w: expected 24·64·4 = 6144 numbers, got 6143",
        "weights.encoder[0].ln2_betas: expected 40 numbers, got 39",
    ] {
        assert!(seen.iter().any(|e| e == expected), "{expected}\n{seen:#?}");
    }
}

/// A file with some fields of its weights set anew: of two messages in one place the later one counts.
fn with_other_weights(name: &str, fields: &[u8]) -> Result<Network, String> {
    let compressed = std::fs::read(common::fixtures().join(format!("{name}.pb.gz"))).expect("a fixture");
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&compressed[..]), &mut raw).expect("gzip");
    let file = [&raw[..], &[0x52], &write_varint(fields.len() as u64), fields].concat();
    Network::from_bytes(&file).map_err(|error| error.to_string())
}

/// A field with bytes in it.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [&write_varint(number << 3 | 2)[..], &write_varint(content.len() as u64), content].concat()
}

/// A field with a whole number.
fn number(number: u64, value: u64) -> Vec<u8> {
    [write_varint(number << 3), write_varint(value)].concat()
}

/// An array whose numbers are taken away.
fn emptied(number: u64) -> Vec<u8> {
    field(number, &field(3, &[]))
}

#[test]
fn heads_that_do_not_fit_their_arrays_are_named() {
    let (body, policy) = ("synthetic-f-bt4-pedense-multihead-mish-in5", "synthetic-d2-se-mish-attnpolicy-encoders-in3");
    let (headcount, smolgen_w, pol_headcount) = (28, 35, 24);
    for (file, fields, expected) in [
        (body, number(headcount, 0), "weights.headcount: expected at least 1 for 2 encoders, got 0"),
        (body, number(headcount, 7), "weights.encoder[0].mha.q_b: expected a multiple of 7, the heads, got 40 numbers"),
        (
            body,
            number(headcount, 8),
            "weights.encoder[0].mha.smolgen.dense2_b: expected 8·6 numbers, for each of the heads as many as smolgen_w \
             takes, got 24",
        ),
        (
            body,
            emptied(smolgen_w),
            "weights.encoder[0].mha.smolgen: expected weights.smolgen_w to go with it, got none",
        ),
        (policy, number(pol_headcount, 0), "weights.pol_headcount: expected at least 1 for 2 encoders, got 0"),
    ] {
        assert_eq!(with_other_weights(file, &fields).err().as_deref(), Some(expected));
    }
}

/// A head whose own first layer is there without a number has the one that all heads share.
#[test]
fn an_empty_layer_counts_as_absent() {
    let (policy_heads, vanilla) = (45, 3);
    let fields = field(policy_heads, &field(vanilla, &[emptied(1), emptied(2)].concat()));
    let read = with_other_weights("synthetic-f-bt4-pedense-multihead-mish-in5", &fields);
    assert_eq!(read.err(), None);
}

/// Two finite numbers whose sum is none: what a promotion is worth on a square, and what is added to it.
#[test]
fn weights_that_become_infinite_are_named() {
    let ip4_pol_w = 22;
    let largest = 3e38f32.to_le_bytes();
    let all_large = [&[0x0d][..], &largest, &[0x15], &largest].concat();
    let read = with_other_weights("synthetic-d-se-attnpolicy-in5", &field(ip4_pol_w, &all_large));
    let expected = "weights.ip4_pol_w: convolution weights: expected finite numbers, got inf at 0";
    assert_eq!(read.err().as_deref(), Some(expected));
}
