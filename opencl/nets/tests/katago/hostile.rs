//! Damaged and hostile models: an error in one line, no panic, no allocation beyond a small multiple of the file's
//! size.

use crate::counting;
use crate::writer::{Random, Written, random_model, write};
use oncilla_nets::katago::{Attention, Block, Conv, Dense, Model, Norm, Rotation, TokenNorm};
use oncilla_nets::{Fault, NetError};
use oncilla_opencl::graph::Activation;
use std::panic::catch_unwind;

/// Reads `file`, and checks what has to hold for every file.
fn read(file: &[u8], what: &str) -> Result<Model, NetError> {
    let (result, peak) = counting::peak(|| catch_unwind(|| Model::from_bytes(file)));
    let result = result.unwrap_or_else(|_| panic!("{what}: the reader panicked"));
    // Announced blocks take five times the bytes that they need in the file at least, once in the trunk and once in a
    // nested block.
    assert!(peak <= 10 * file.len() + (64 << 10), "{what}: {} bytes made it allocate {peak}", file.len());
    if let Err(error) = &result {
        let line = error.to_string();
        assert!(!line.is_empty() && !line.chars().any(char::is_control), "{what}: {line:?}");
    }
    result
}

/// Sound files of the versions that brought something new, in both forms.
fn sound() -> Vec<(String, Written)> {
    let random = &mut Random::new(0x9e37_79b9);
    let versions = [8, 11, 12, 13, 15, 16, 17, 17];
    let mut sound = Vec::new();
    for (version, text) in versions.into_iter().flat_map(|version| [(version, false), (version, true)]) {
        let what = format!("version {version}, {}", if text { "text" } else { "binary" });
        sound.push((what, write(&random_model(random, version), text)));
    }
    for text in [false, true] {
        let what = format!("with an encoder, {}", if text { "text" } else { "binary" });
        sound.push((what, write(&with_encoder(15), text)));
    }
    sound
}

/// A model of this version for human play.
fn with_encoder(version: u32) -> Model {
    let mut models = (1..).map(|seed| random_model(&mut Random::new(seed), version));
    models.find(Model::encodes_metadata).expect("one in two has it")
}

/// The lines of a file as text, which is easily edited.
fn lines(version: u32) -> Vec<String> {
    let written = write(&random_model(&mut Random::new(77), version), true);
    String::from_utf8(written.bytes).expect("text").lines().map(str::to_string).collect()
}

fn refused(file: &[u8]) -> NetError {
    read(file, "an edited file").expect_err("no model")
}

#[test]
fn truncated_anywhere() {
    for (what, Written { bytes, .. }) in sound() {
        assert!(read(&bytes, &what).is_ok());
        // What is left of the last number, in decimal, may be a number, too.
        let last = bytes.trim_ascii_end().iter().rposition(u8::is_ascii_whitespace).expect("a line") + 1;
        for end in 0..last {
            let what = format!("{what}, cut at {end}");
            read(&bytes[..end], &what).expect_err(&what);
        }
        let mut more = bytes.clone();
        more.extend_from_slice(b"1\n");
        assert!(refused(&more).to_string().contains("expected the end of the file behind it, got 2 bytes more"));
    }
}

#[test]
fn bits_flipped() {
    let random = &mut Random::new(0xb5ad_4ece);
    let (mut taken, mut lost) = (0, 0);
    for (what, Written { bytes, .. }) in sound() {
        for case in 0..2000 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                damaged[at] ^= 1 << random.below(8);
            }
            match read(&damaged, &format!("{what}, flips {case}")) {
                Ok(_) => taken += 1,
                Err(_) => lost += 1,
            }
        }
    }
    assert!(taken > 1000 && lost > 1000, "{taken} taken, {lost} refused");
}

/// The multipliers are in the fifth line and the six after it.
#[test]
fn multipliers_that_make_no_sense() {
    let edited = |line: usize, word: &str| {
        let mut lines = lines(13);
        lines[line] = word.to_string();
        format!("{}\n", lines.join("\n")).into_bytes()
    };
    for line in 4..11 {
        for word in ["1e-9", "0.25", "150", "1000000"] {
            assert!(read(&edited(line, word), "a multiplier").is_ok(), "line {line}: {word}");
        }
        for word in ["0", "-1", "-0.001", "1000001", "3e38"] {
            let error = refused(&edited(line, word)).to_string();
            let shown: f32 = word.parse().expect("a number");
            let expected = format!("expected a multiplier above 0, at most 1000000, got {shown:?}, at byte ");
            assert!(error.contains(&expected), "line {line}: {error}");
        }
    }
}

#[test]
fn weights_that_are_no_numbers() {
    for (what, Written { bytes, arrays, .. }) in sound() {
        for array in arrays {
            let text = what.ends_with("text");
            for (number, word) in [(f32::NAN, "nan"), (f32::INFINITY, "1e39"), (f32::NEG_INFINITY, "-inf")] {
                let edited = match text {
                    true => {
                        let first =
                            array.start + bytes[array.clone()].iter().position(|b| *b == b' ').unwrap_or(array.len());
                        [&bytes[..array.start], word.as_bytes(), &bytes[first..]].concat()
                    }
                    false => [&bytes[..array.start], &number.to_le_bytes(), &bytes[array.start + 4..]].concat(),
                };
                let error = read(&edited, &what).expect_err(&what);
                assert_eq!(error.fault, Fault::Malformed);
                assert!(error.what.contains("finite number"), "{what}: {error}");
            }
        }
    }
}

/// Each line in turn is replaced, left out or doubled.
#[test]
fn other_tokens() {
    let (mut taken, mut lost) = (0, 0);
    for version in [8, 11, 16, 17] {
        let sound = lines(version);
        for at in 0..sound.len() {
            let was = sound[at].as_str();
            let one_more = was.parse().map_or("1".to_string(), |n: usize| (n + 1).to_string());
            let others = [
                "0",
                "-1",
                "1e9",
                "4294967295",
                "18446744073709551615",
                "99999999999999999999",
                "1048576",
                "@BIN@",
                "nan",
            ];
            for other in others.into_iter().chain([one_more.as_str(), &format!("{was}\n{was}"), "", "\u{e9}\u{7f}\0"]) {
                let mut edited = sound.clone();
                edited[at] = other.to_string();
                let what = format!("version {version}, line {at}, {other:?} for {was:?}");
                match read(edited.join("\n").as_bytes(), &what) {
                    Ok(_) => taken += 1,
                    Err(_) => lost += 1,
                }
            }
        }
    }
    // Changed names are mostly accepted.
    assert!(taken > 100 && lost > 1000, "{taken} taken, {lost} refused");
}

#[test]
fn what_is_not_read_is_named() {
    let edited = |version: u32, edits: &[(usize, &str)]| {
        let mut lines = lines(version);
        edits.iter().for_each(|(at, line)| lines[*at] = (*line).to_string());
        let error = refused(lines.join("\n").as_bytes());
        (error.fault, error.to_string())
    };
    for (version, edits, fault, expected) in [
        (
            8,
            &[(1, "7")][..],
            Fault::Unsupported,
            "header: expected a version of the format from 8 to 17, got 7, at byte 10 of the unpacked file",
        ),
        (
            16,
            &[(1, "18")],
            Fault::Unsupported,
            "header: expected a version of the format from 8 to 17, got 18, at byte 11 of",
        ),
        (8, &[(2, "21")], Fault::Malformed, "header: expected 22 as input planes, got 21, at byte 12 of"),
        (8, &[(3, "0")], Fault::Malformed, "header: expected global inputs, at least 1, got 0, at byte 15 of"),
        (
            13,
            &[(4, "inf")],
            Fault::Malformed,
            "header: expected a multiplier, a finite number, got \"inf\", at byte 20 of",
        ),
        (
            15,
            &[(11, "2")],
            Fault::Unsupported,
            "header: expected no metadata encoder, 0, or one of version 1, got one of version 2, at byte ",
        ),
        (15, &[(14, "3")], Fault::Unsupported, "header: expected 0, kept for later versions, got \"3\", at byte "),
        (
            15,
            &[(26, "2")],
            Fault::Unsupported,
            "trunk: expected batch norm, 0, or RMS norm, 1, as the kind of norm, got \"2\", at byte ",
        ),
        (15, &[(27, "1")], Fault::Unsupported, "trunk: expected 0, kept for later versions, got \"1\", at byte "),
        (8, &[(5, "1000000")], Fault::Malformed, "trunk: expected bytes for 1000000 blocks, got "),
        (8, &[(5, "0")], Fault::Malformed, "trunk: expected the number of blocks, at least 1, got 0, at byte "),
        (8, &[(12, "2")], Fault::Unsupported, "conv1: expected a kernel of 1, 3 or 5, got 2, at byte "),
        (8, &[(13, "9")], Fault::Unsupported, "conv1: expected a square kernel, got "),
        (8, &[(14, "21")], Fault::Malformed, "conv1: expected 22 as input channels, got 21, at byte "),
        (8, &[(15, "9")], Fault::Malformed, "conv1: expected "),
        (8, &[(16, "2")], Fault::Unsupported, "conv1: expected no dilation, 1, got 2, at byte "),
        (8, &[(12, "1048575")], Fault::Unsupported, "conv1: expected a kernel of 1, 3 or 5, got 1048575, at byte "),
        (8, &[(6, "1048575"), (15, "1048575")], Fault::Malformed, "conv1: expected 3·3·22·1048575 numbers of "),
        (
            8,
            &[(23, "transformer_block")],
            Fault::Unsupported,
            "ginputw: expected ordinary_block, gpool_block, nested_bottleneck_block, transformer_attention_block or \
             transformer_ffn_block, got \"transformer_block\", at byte ",
        ),
    ] {
        let (got, error) = edited(version, edits);
        assert!(got == fault && error.starts_with(expected), "{got:?} {error}\n{expected}");
    }
    let text = lines(16).join("\n");
    let error = refused(text.replacen("ACTIVATION_", "ACTIVATION_GE", 1).as_bytes());
    assert!(error.fault == Fault::Unsupported && error.to_string().starts_with("actv: expected ACTIVATION_IDENTITY, "));
    for (file, expected) in [
        (&b"x"[..], "too small"),
        (b"\x0d\xc0\x01\x00\x00 and more", "not a network of KataGo: expected its name, a version"),
        (b"PK\x03\x04", "not a network of KataGo"),
    ] {
        let error = refused(file);
        assert!(error.fault == Fault::Foreign && error.what.contains(expected), "{error}");
    }
}

#[test]
fn names_are_ascii() {
    let sound = lines(8).join("\n");
    let (name, rest) = sound.split_once('\n').expect("a name");
    for (bad, shown) in [
        (format!("\u{feff}{name}"), "\\xef\\xbb\\xbfrandom-v8\" …"),
        (format!("r\u{e9}seau-{name}"), "r\\xc3\\xa9seau-random-"),
    ] {
        let error = refused(format!("{bad}\n{rest}").as_bytes());
        let expected = format!("header: expected the model's name, in printable ASCII, got \"{shown}");
        assert!(error.fault == Fault::Malformed && error.to_string().starts_with(&expected), "{error}");
    }
}

/// Lines are counted from the encoder's name on.
#[test]
fn encoders_of_wrong_sizes() {
    for version in [15, 16, 17] {
        let model = with_encoder(version);
        let channels = model.trunk.channels;
        let sound = String::from_utf8(write(&model, true).bytes).expect("text");
        let sound: Vec<&str> = sound.lines().collect();
        let start = sound.iter().position(|line| *line == "meta_encoder").expect("an encoder");
        let edited = |at: usize, line: &str| {
            let mut lines = sound.clone();
            lines[at] = line;
            refused(lines.join("\n").as_bytes())
        };
        for (at, line, expected) in [
            (1, "191", "meta_encoder: expected 192 as numbers of metadata, got 191, at byte "),
            (3, "193", "mul1: expected 192 as input channels, got 193, at byte "),
            (4, "0", "mul1: expected output channels, at least 1, got 0, at byte "),
            (4, "1000000", "mul1: expected 192·1000000 numbers of a digit and a blank, got "),
            (7, "9", "b: expected "),
            (10, "ACTIVATION_GELU", "actv: expected ACTIVATION_IDENTITY, "),
            (12, "9", "mul2: expected "),
            (13, "1000000", "mul2: expected "),
            (16, "9", "b: expected "),
            (19, "", "actv: expected ACTIVATION_IDENTITY, "),
            (21, "9", "mul3: expected "),
            (22, "9", &format!("mul3: expected {channels} as output channels, got 9, at byte ")),
        ] {
            let error = edited(start + at, line).to_string();
            assert!(error.starts_with(expected), "version {version}, {at} {line:?}: {error}");
        }
        // The header says that there is no encoder.
        let error = edited(11, "0").to_string();
        assert!(error.starts_with("ginputw: expected ordinary_block, ") && error.contains("got \"meta_encoder\""));
    }
    // The header says that there is an encoder where there is none.
    let mut models = (1..).map(|seed| random_model(&mut Random::new(seed), 15));
    let without = models.find(|model| !model.encodes_metadata()).expect("one in two has none");
    let mut lines: Vec<String> =
        String::from_utf8(write(&without, true).bytes).expect("text").lines().map(str::to_string).collect();
    lines[11] = "1".to_string();
    let error = refused(lines.join("\n").as_bytes()).to_string();
    assert!(error.contains("expected numbers of metadata, from 0 to 1048576, got \""), "{error}");
}

#[test]
fn a_nested_block_holds_no_other() {
    let kind = "nested_bottleneck_block";
    let mut seeds = 1..;
    let (text, nested) = seeds
        .find_map(|seed| {
            let written = write(&random_model(&mut Random::new(seed), 11), true);
            let text = String::from_utf8(written.bytes).expect("text");
            text.find(kind).map(|at| (text, at))
        })
        .expect("a nested block");
    let inner = nested + kind.len();
    let edited = ["ordinary_block", "gpool_block"]
        .iter()
        .filter_map(|other| text[inner..].find(other).map(|at| (inner + at, other.len())))
        .min()
        .map(|(at, length)| [&text[..at], kind, &text[at + length..]].concat())
        .expect("an inner block");
    let error = refused(edited.as_bytes());
    let expected = "expected another kind of block in a nested one, got one that is nested in turn, at byte ";
    assert!(error.fault == Fault::Unsupported && error.what.starts_with(expected), "{error}");
}

/// The smallest blocks possible, as many as are announced and fewer.
#[test]
fn thousands_of_blocks() {
    let sound = lines(8);
    let block = "ordinary_block o n 1 1 0 0 1 1 a c 1 1 1 1 1 1 1 n 1 1 0 0 1 1 a c 1 1 1 1 1 1 1";
    // A trunk of one channel, with nothing behind its blocks.
    let file = |announced: usize, kept: &str| {
        let header = format!("{}\n8\n22\n19\ntrunk {announced} 1 1 1 1 1\n", sound[0]);
        let conv = format!("conv1 1 1 22 1 1 1{}\n", " 1".repeat(22));
        format!("{header}{conv}globals 19 1{}\n{kept}", " 1".repeat(19))
    };
    let many = |count: usize| vec![block; count].join("\n");
    for (announced, kept, expected) in [
        (1024, 1024, "c: expected the name of a batch norm, got the end of the file"),
        (1024, 1023, "c: expected the kind of a block, got the end of the file"),
        (1025, 1025, "trunk: expected at most 1024 blocks in all, got 1025 or more, at byte "),
        (5000, 5000, "trunk: expected at most 1024 blocks in all, got 5000 or more, at byte "),
        (6000, 5000, "trunk: expected bytes for 6000 blocks, got "),
    ] {
        let error = refused(file(announced, &many(kept)).as_bytes()).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // Blocks in nested ones are counted as well as those of the trunk.
    let nested =
        |count: usize| format!("nested_bottleneck_block b {count} n 1 1 0 0 1 1 a c 1 1 1 1 1 1 1\n{}", many(count));
    for (announced, blocks, expected) in [
        (1, nested(1023), "c: expected the name of a batch norm, got the end of the file"),
        (1, nested(1024), "b: expected at most 1024 blocks in all, got 1025 or more, at byte "),
        (512, nested(512), "c: expected the name of a batch norm, got the end of the file"),
        (512, nested(513), "b: expected at most 1024 blocks in all, got 1025 or more, at byte "),
    ] {
        let error = refused(file(announced, &blocks).as_bytes()).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// The file of such a model has a thousandth of the angles' bytes, because zeros pack well.
#[test]
fn angles_of_very_many_heads_are_refused() {
    let mut model = random_model(&mut Random::new(5), 17);
    let channels = model.trunk.conv.outputs;
    let zeros = |inputs: usize, outputs: usize| Dense {
        inputs,
        outputs,
        weights: vec![0.0; inputs * outputs],
        bias: vec![0.0; outputs],
    };
    let with = |heads: usize| {
        Block::Attention(Attention {
            norm: TokenNorm { epsilon: 1e-6, weights: vec![1.0; channels] },
            heads,
            key_heads: 1,
            query: zeros(channels, 2 * heads),
            key: zeros(channels, 2),
            value: zeros(channels, 1),
            output: zeros(heads, channels),
            rotation: Rotation::Fixed { theta: 100.0 },
        })
    };
    model.trunk.blocks = vec![with(16), with(16)];
    assert!(model.graph(19, 19).is_ok());
    model.trunk.blocks = vec![with(40_000), with(40_000)];
    let (error, peak) = counting::peak(|| model.graph(19, 19).expect_err("too many").to_string());
    assert_eq!(error, "blocks[1].attention: expected at most 16777216 angles in all blocks, got 28880000 or more");
    // Those of the first block, for queries and for keys, and what else it has.
    assert!(peak < 3 * 40_000 * 361 * 4, "{peak} bytes");
}

#[test]
fn what_folding_makes_infinite_is_refused() {
    let mut model = random_model(&mut Random::new(5), 17);
    let channels = model.trunk.conv.outputs;
    let mut graph = |scale: f32, weight: f32| {
        let norm = |scale: f32| Norm {
            scale: vec![scale; channels],
            shift: vec![0.0; channels],
            activation: Activation::Relu,
        };
        let conv = |weight: f32| {
            let weights = vec![weight; channels * channels];
            Conv { kernel: 1, inputs: channels, outputs: channels, weights }
        };
        model.trunk.blocks =
            vec![Block::Ordinary { norm1: norm(1.0), conv1: conv(weight), norm2: norm(scale), conv2: conv(1.0) }];
        model.graph(5, 5).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(graph(1e30, 1.0), Ok(()));
    let infinite = "blocks[0].convolution: convolution weights: expected finite numbers, got inf at 0";
    assert_eq!(graph(1e30, 1e30), Err(infinite.to_string()));
}
