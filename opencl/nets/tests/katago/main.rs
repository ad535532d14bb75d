//! KataGo's models: read, compared with what KataGo answered, written, damaged.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;
mod forward;
mod hostile;
mod layers;
mod recorded;
mod tiny;
mod writer;

use oncilla_nets::katago::Model;
use quickcheck::quickcheck;
use std::io::Write;
use writer::{Random, random_model, write};

quickcheck! {
    /// For every version, kind of block and form of file.
    fn what_is_written_is_read(seed: u64, version: u8, text: bool, compressed: bool) -> bool {
        let version = 8 + u32::from(version) % 10;
        let mut model = random_model(&mut Random::new(seed), version);
        let written = write(&model, text);
        model.parameters = written.parameters;
        let bytes = if compressed { gzip(&written.bytes) } else { written.bytes };
        Model::from_bytes(&bytes).expect("a model") == model
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}
