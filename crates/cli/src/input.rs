//! Standard input as a file: the formats are read by position, which a pipe does not allow.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::OnceLock;

use binio::FileSource;

use crate::output::file::is_standard;

static SPOOLED: OnceLock<File> = OnceLock::new();

/// The bytes of standard input in a file without a name, at its beginning. They are read once, however
/// often they are asked for.
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

/// The first bytes of a file, or of standard input if it was read. Nothing if they cannot be read.
pub(crate) fn head(path: &Path) -> Vec<u8> {
    let open = || {
        if is_standard(path) {
            return SPOOLED.get().and_then(|_| standard().ok());
        }
        // To open a pipe would wait for its writer.
        path.is_file().then(|| File::open(path).ok()).flatten()
    };
    let mut head = Vec::new();
    if let Some(file) = open() {
        // What was read before a failure is the beginning too.
        let _ = file.take(8).read_to_end(&mut head);
    }
    head
}

/// Opens a file, or standard input for "-".
pub(crate) fn source(path: &Path) -> binio::Result<FileSource> {
    if is_standard(path) { FileSource::new(standard()?) } else { FileSource::open(path) }
}
