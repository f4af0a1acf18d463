//! `scibin dudley from-c` and `from-numpy`: create layouts from C source and numpy datatypes.

use std::io::{self, Write};
use std::path::Path;

use dudley::array::Datatype;

use super::{import, read};
use crate::Verdict;
use crate::arguments::dudley::FromNumpy;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn from_c(path: &Path) -> Result<Verdict, Failure> {
    let text = read(path)?;
    finish(dudley::import::from_c(&String::from_utf8_lossy(&text)), path)
}

pub(super) fn from_numpy(command: &FromNumpy, output: Output) -> Result<Verdict, Failure> {
    let path = &command.source;
    if !path.exists() {
        let invalid = |error: dudley::array::ElementsError| {
            Failure::other(path.display(), format!("neither a file nor a datatype: {error}"))
        };
        let datatype = Datatype::parse(&path.to_string_lossy()).map_err(invalid)?;
        let name = command.name.as_deref().unwrap_or("data");
        return finish(dudley::import::from_numpy(name, &datatype, &command.shape), path);
    }
    if !command.shape.is_empty() {
        return Err(Failure::other(
            "--shape",
            "not allowed for a .npy file, which specifies its own shape",
        ));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let item = command.name.as_deref().or(stem.as_deref()).unwrap_or("data");
    import::import_as(path, item, None, output)
}

/// Prints the layout. If it could not be created, returns a failure with `source` as its subject.
fn finish(layout: Result<String, dudley::Error>, source: &Path) -> Result<Verdict, Failure> {
    let text = layout.map_err(|error| Failure::dudley(source, error))?;
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Verdict::Fine)
}
