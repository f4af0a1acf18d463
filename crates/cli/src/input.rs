//! Copying standard input to a file, because reading the formats requires seeking, which a pipe
//! does not support.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::OnceLock;

use binio::FileSource;

use crate::failure::Failure;
use crate::output::file::is_standard;

static SPOOLED: OnceLock<File> = OnceLock::new();

/// Returns an unnamed file that contains the bytes of standard input, positioned at its beginning.
/// Only the first call reads standard input.
pub(crate) fn standard() -> io::Result<File> {
    if SPOOLED.get().is_none() {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        let _ = SPOOLED.set(file);
    }
    let mut file = SPOOLED.get().ok_or(io::ErrorKind::NotFound)?.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Returns the first 8 bytes of a file, or of standard input if it has already been copied to a
/// file. Returns fewer bytes, or none, if the file is shorter or cannot be read.
pub(crate) fn head(path: &Path) -> Vec<u8> {
    let open = || {
        if is_standard(path) {
            return SPOOLED.get().and_then(|_| standard().ok());
        }
        // Do not open a pipe, because this would wait for its writer.
        path.is_file().then(|| File::open(path).ok()).flatten()
    };
    let mut head = Vec::new();
    if let Some(file) = open() {
        // If reading fails, use the bytes read so far.
        let _ = file.take(8).read_to_end(&mut head);
    }
    head
}

/// Fails if a file to be changed is standard input.
pub(crate) fn check_changeable(path: &Path) -> Result<(), Failure> {
    if is_standard(path) {
        let message = "cannot be changed; expected the name of a file";
        return Err(Failure::other("standard input", message));
    }
    Ok(())
}

/// Opens a file, or standard input for "-".
pub(crate) fn source(path: &Path) -> binio::Result<FileSource> {
    if is_standard(path) { FileSource::new(standard()?) } else { FileSource::open(path) }
}
