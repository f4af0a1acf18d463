//! Default names of output files: `FILE.blp` for packing `FILE`, and `FILE` for unpacking
//! `FILE.blp`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXTENSION: &str = ".blp";

/// Returns the default path of the packed file.
pub(crate) fn packed(input: &Path) -> PathBuf {
    let mut name = OsString::from(input);
    name.push(EXTENSION);
    name.into()
}

/// Returns the default path of the unpacked file, or `None` if `input` does not have the extension
/// `.blp`. A file whose whole name is `.blp` has no extension.
pub(crate) fn unpacked(input: &Path) -> Option<PathBuf> {
    let is_packed = input.extension().is_some_and(|extension| extension == &EXTENSION[1..]);
    is_packed.then(|| input.with_extension(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_names_add_and_remove_the_extension() {
        for (name, extended) in [("a", "a.blp"), ("a.tar", "a.tar.blp"), ("d/a.", "d/a..blp")] {
            assert_eq!(packed(Path::new(name)), Path::new(extended));
            assert_eq!(unpacked(Path::new(extended)).unwrap(), Path::new(name));
        }
        for other in ["a", "a.blpk", ".blp", "blp"] {
            assert_eq!(unpacked(Path::new(other)), None);
        }
    }
}
