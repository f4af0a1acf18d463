//! Listing entries in the format of `flux archive list`.

use std::borrow::Cow;
use std::fmt;

use crate::json::integer;
use crate::model::{Entry, Mode};
use crate::parse::RawEntry;

/// The line that Flux prints for an entry without a valid path, mode or size, that is, if [`LongLine::of`] returns
/// `None`.
pub const INVALID_ENTRY: &str = "invalid fileref";

/// A line of the long listing: type, permissions, size and path.
///
/// [`LongLine::of`] accepts some entries that no profile accepts, such as an entry with the path `../f`. Thus, an
/// archive can be listed even if it cannot be extracted. The path is not escaped, so escape the line before printing it
/// to a terminal.
///
/// ```
/// use flux_archive::inspect::LongLine;
/// use flux_archive::OpenOptions;
///
/// let document = br#"[{"path":"testfile2","mode":33188,"size":2048},{"path":"p","mode":4516},{}]"#;
/// let lines: Vec<String> = OpenOptions::new()
///     .entries(document)?
///     .map(|raw| Ok(LongLine::of(&raw?).map_or("invalid fileref".into(), |line| line.to_string())))
///     .collect::<Result<_, flux_archive::Error>>()?;
/// assert_eq!(lines, ["f 0644     2048 testfile2", "? 0644        0 p", "invalid fileref"]);
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LongLine<'a> {
    letter: char,
    permissions: u32,
    size: i64,
    path: Cow<'a, str>,
}

impl<'a> LongLine<'a> {
    /// Creates a line from an entry that has not been checked. The path is not normalised. The letter for an unknown
    /// file type is `?`. Returns `None` if the path is missing or is not a valid string, if the mode is missing or is
    /// not an unsigned 32-bit integer, or if the size is not a 64-bit integer. A missing size is shown as 0.
    pub fn of(raw: &RawEntry<'a>) -> Option<Self> {
        let mode = u32::try_from(integer(&raw.get("mode")?)?).ok()?;
        let size = raw.get("size").map_or(Some(0), |size| integer(&size))?;
        let letter = Mode::from_u32(mode).map_or('?', |mode| mode.file_type().letter());
        let path = raw.path()?.into_decoded();
        Some(Self { letter, permissions: mode & 0o777, size, path })
    }

    /// Returns the path shown in the line, which is not escaped.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl<'a> From<&'a Entry<'_>> for LongLine<'a> {
    /// Creates a line from an entry. The size is the one returned by [`Entry::size`], or 0 if that is `None`, as is
    /// usual for JSON content.
    fn from(entry: &'a Entry<'_>) -> Self {
        Self {
            letter: entry.file_type().letter(),
            permissions: entry.mode().permissions() & 0o777,
            size: entry.size().and_then(|size| i64::try_from(size).ok()).unwrap_or_default(),
            path: Cow::Borrowed(entry.path().as_str()),
        }
    }
}

impl fmt::Display for LongLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { letter, permissions, size, path } = self;
        write!(f, "{letter} 0{permissions:o} {size:>8} {path}")
    }
}

/// Truncates a line that is longer than `columns` characters, and ends it with a `+`. Flux truncates to 119 columns for
/// `list` and 79 for `extract`.
///
/// ```
/// assert_eq!(flux_archive::inspect::truncate_line("abcdef", 6), "abcdef");
/// assert_eq!(flux_archive::inspect::truncate_line("abcdefg", 6), "abcde+");
/// ```
pub fn truncate_line(line: &str, columns: usize) -> Cow<'_, str> {
    if line.chars().count() <= columns {
        return Cow::Borrowed(line);
    }
    let mut cut: String = line.chars().take(columns.saturating_sub(1)).collect();
    cut.push('+');
    Cow::Owned(cut)
}
