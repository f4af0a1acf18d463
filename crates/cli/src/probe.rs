//! Detecting the format of a file from its content. Dudley layouts have no signature, so they are
//! detected by file name instead.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use clap::ValueEnum;

use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::is_standard;

/// The formats that `scibin` supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The Advanced Scientific Data Format
    Asdf,
    /// Bloscpack
    Bloscpack,
    /// A Dudley layout, or a native Dudley file
    Dudley,
    /// A Flux archive
    Flux,
}

/// The first bytes of ASDF and Bloscpack files. Native Dudley files are detected by
/// [`is_native_dudley`], and Flux archives by the `[` or `{` at the beginning of their JSON.
const BEGINNINGS: &[(&[u8], Format)] = &[(b"#ASDF", Format::Asdf), (b"blpk", Format::Bloscpack)];

/// Returns the given format. If no format is given, detects the format of a file, or of standard
/// input for "-".
pub(crate) fn format(path: &Path, given: Option<Format>) -> Result<Format, Failure> {
    if let Some(given) = given {
        return Ok(given);
    }
    let fail = |error| Failure::io(path, error);
    let file = if is_standard(path) {
        input::standard().map_err(fail)?
    } else {
        let found = fs::metadata(path).map_err(fail)?;
        if found.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        // Reject a pipe: opening it would wait for its writer, and the bytes read here would be
        // lost.
        if !found.is_file() {
            return Err(Failure::other(path.display(), "not a regular file"));
        }
        File::open(path).map_err(fail)?
    };
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head).map_err(fail)?;
    // Check the name before the content, because a layout may begin like JSON.
    if path.extension().is_some_and(|extension| extension == "dud") {
        return Ok(Format::Dudley);
    }
    of_head(&head).ok_or_else(|| Failure::other(name(path), unknown(&head)))
}

fn unknown(head: &[u8]) -> String {
    if head.is_empty() {
        return "the file is empty".to_owned();
    }
    let kind = binio::diagnostic::kind_by_signature(head).map(|kind| format!("this is {kind}: "));
    format!(
        "{}unknown format: expected ASDF (\"#ASDF\" at the start), Bloscpack (\"blpk\"), a native \
         Dudley file, a Flux archive (JSON) or a Dudley layout (.dud); --format sets the format",
        kind.unwrap_or_default()
    )
}

/// Returns `true` if a file begins with the first 4 bytes of the signature of a native Dudley file.
/// Also accepts `0d` as the first byte, because a transfer as 7-bit text clears the highest bit of
/// `8d`.
pub(crate) fn is_native_dudley(head: &[u8]) -> bool {
    matches!(head, [0x8d | 0x0d, b'<' | b'>', b'B', b'D', ..])
}

fn of_head(head: &[u8]) -> Option<Format> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning));
    let is_json = matches!(head.trim_ascii_start(), [b'[' | b'{', ..]);
    let known = known.map(|(_, format)| *format);
    known.or(is_native_dudley(head).then_some(Format::Dudley)).or(is_json.then_some(Format::Flux))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_detected_from_the_content() {
        assert_eq!(of_head(b"#ASDF 1.0.0\n"), Some(Format::Asdf));
        assert_eq!(of_head(b"blpk\x03"), Some(Format::Bloscpack));
        assert_eq!(of_head(b" \n[]"), Some(Format::Flux));
        assert_eq!(of_head(b"{\"path\":"), Some(Format::Flux));
        assert_eq!(of_head(b"\x8d>BD\r\n\x1a\n"), Some(Format::Dudley));
        assert_eq!(of_head(b"\x89HDF\r\n"), None);
        assert_eq!(of_head(b""), None);
    }

    #[test]
    fn the_message_about_an_unknown_format_names_the_kind_of_file() {
        assert!(unknown(b"\x1f\x8b\x08").starts_with("this is a gzip file: unknown format"));
        assert!(unknown(b"text").starts_with("unknown format"));
        assert_eq!(unknown(b""), "the file is empty");
    }
}
