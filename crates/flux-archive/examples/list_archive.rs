//! Lists an archive in the format of Flux, and prints its diagnostics: `list_archive FILE
//! [PATTERN]`.

use flux_archive::inspect::{INVALID_ENTRY, LongLine, fnmatch};
use flux_archive::{OpenOptions, Profile};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        return Err("usage: list_archive FILE [PATTERN]".into());
    };
    let pattern = arguments.next().unwrap_or_else(|| "*".to_owned());
    let document = std::fs::read(file)?;
    let options = OpenOptions::new().profile(Profile::Strict);
    for raw in options.entries(&document)? {
        match LongLine::of(&raw?) {
            Some(line) if fnmatch(&pattern, line.path()) => println!("{line}"),
            Some(_) => {}
            None => println!("{INVALID_ENTRY}"),
        }
    }
    for diagnostic in options.lint(&document)? {
        eprintln!("{diagnostic}");
    }
    Ok(())
}
