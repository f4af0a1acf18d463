//! Repeatedly decodes a recorded Blosc buffer into the same memory, and prints the times as JSON.
//! The times can be compared with the times of another decoder for the same file.
//!
//! ```text
//! cargo run --release -p scibin-binio --features blosc --example blosc_speed -- FILE [REPETITIONS]
//! ```

use std::process::ExitCode;
use std::time::Instant;

use binio::blosc::{Buffer, Scratch};
use binio::{Error, Result};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, repetitions) = match arguments.as_slice() {
        [path] => (path, Some(100)),
        [path, repetitions] => (path, repetitions.parse().ok().filter(|&number| number > 0)),
        _ => return usage(),
    };
    let Some(repetitions) = repetitions else { return usage() };
    match time(path, repetitions) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: blosc_speed FILE [REPETITIONS]");
    ExitCode::from(2)
}

/// Decodes the buffer in a file `repetitions` times. Returns a line of JSON with the length of the
/// data in bytes, and the time in seconds for all repetitions and for the fastest one.
fn time(path: &str, repetitions: u32) -> Result<String> {
    let bytes = std::fs::read(path).map_err(Error::from)?;
    let buffer = Buffer::parse(&bytes)?;
    let (mut out, mut scratch) = (vec![0; buffer.header().nbytes() as usize], Scratch::default());
    buffer.decode_into(&mut out, &mut scratch)?; // Decode once to touch all memory.
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    for _ in 0..repetitions {
        let once = Instant::now();
        buffer.decode_into(&mut out, &mut scratch)?;
        best = best.min(once.elapsed().as_secs_f64());
    }
    let (seconds, len) = (start.elapsed().as_secs_f64(), out.len());
    Ok(format!(
        r#"{{"bytes": {len}, "repetitions": {repetitions}, "seconds": {seconds}, "best_seconds": {best}}}"#
    ))
}
