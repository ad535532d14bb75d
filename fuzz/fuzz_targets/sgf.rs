#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oncilla_fuzz::sgf(data));
