//! Standard input as a file: the formats are read by position, which a pipe does not allow.

use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;
use std::sync::OnceLock;

use binio::FileSource;

use crate::output::file::is_standard;

/// The bytes of standard input in a file without a name, at its beginning. They are read once, however
/// often they are asked for.
pub(crate) fn standard() -> io::Result<File> {
    static SPOOLED: OnceLock<File> = OnceLock::new();
    if SPOOLED.get().is_none() {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        let _ = SPOOLED.set(file);
    }
    let mut file = SPOOLED.get().ok_or(io::ErrorKind::NotFound)?.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Opens a file, or standard input for "-".
pub(crate) fn source(path: &Path) -> binio::Result<FileSource> {
    if is_standard(path) { FileSource::new(standard()?) } else { FileSource::open(path) }
}
