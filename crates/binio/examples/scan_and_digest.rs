//! Prints the offsets of a marker in a file, and the digest of the file.
//!
//! ```text
//! cargo run -p scibin-binio --features sha2 --example scan_and_digest -- image.asdf BLK sha256
//! ```

use std::env;
use std::process::ExitCode;

use binio::checksum::{Algorithm, Digest};
use binio::source::Scanner;
use binio::{Context, Error, FileSource, ReadAt, Result};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [path, marker] => run(path, marker, "sha256"),
        [path, marker, algorithm] => run(path, marker, algorithm),
        _ => Err(Error::invalid("usage: scan_and_digest FILE MARKER [ALGORITHM]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &str, marker: &str, algorithm: &str) -> Result<()> {
    let algorithm = Algorithm::from_name(algorithm)
        .ok_or_else(|| Error::unsupported(format!("algorithm {algorithm:?}")))?;
    let source = FileSource::open(path)?;
    print_matches(&source, marker.as_bytes()).with_context(|| path.to_owned())?;
    let digest = digest(&source, algorithm).with_context(|| path.to_owned())?;
    println!("{algorithm} {digest}");
    Ok(())
}

fn print_matches(source: &dyn ReadAt, marker: &[u8]) -> Result<()> {
    let mut scanner = Scanner::new(source, marker, 0..source.len());
    while let Some(offset) = scanner.next_match()? {
        println!("{offset}");
    }
    Ok(())
}

/// Computes the digest of a whole source with bounded memory.
fn digest(source: &dyn ReadAt, algorithm: Algorithm) -> Result<Digest> {
    let mut hasher = algorithm.hasher();
    for piece in source.pieces(0..source.len(), source.preferred_piece()) {
        hasher.update(&piece?);
    }
    Ok(hasher.finish())
}
