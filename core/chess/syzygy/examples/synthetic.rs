//! Writes the tables of the test `synthetic` into a folder:
//! `cargo run -p oncilla-syzygy --example synthetic -- FOLDER`.
//!
//! `fixtures/syzygy/synthetic.py` reads them with another program.

#[path = "../tests/common/synthetic.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod synthetic;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1).map(std::path::PathBuf::from) else {
        return Err(std::io::Error::other("expected a folder to write to"));
    };
    std::fs::create_dir_all(&folder)?;
    for (name, bytes) in synthetic::tables() {
        println!("{name}: {} bytes", bytes.len());
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
