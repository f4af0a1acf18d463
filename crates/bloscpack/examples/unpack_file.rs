//! Unpacks a file, or reports what is wrong with it: `unpack_file INPUT [OUTPUT [THREADS]]`.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use binio::write::AtomicFile;
use bloscpack::{Reader, UnpackOptions, VerifyOptions, verify};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, rest @ ..] = &arguments[..] else {
        return Err("usage: unpack_file INPUT [OUTPUT [THREADS]]".into());
    };
    let file = Reader::open(input)?;
    for diagnostic in file.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let done = AtomicU64::new(0);
    let progress = |bytes| {
        let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let _ = write!(std::io::stderr(), "\r{done} of {} bytes", file.len());
    };
    let Some(output) = rest.first() else {
        let report = verify(&file, &VerifyOptions::new().progress(&progress))?;
        println!("\n{} chunks, {} diagnostics", report.chunks, report.diagnostics.len());
        return Ok(());
    };
    let mut options = UnpackOptions::new().progress(&progress);
    if let Some(threads) = rest.get(1) {
        options = options.threads(threads.parse()?);
    }
    // The file appears under its name when it is complete.
    let mut target = AtomicFile::create(output)?;
    file.unpack_to_file(target.file()?, &options)?;
    target.commit()?;
    println!("\n{} bytes in {} chunks", file.len(), file.chunks().len());
    Ok(())
}
