//! Opening files of any format, and the trait through which the page reads them.

use std::io::Write;
use std::ops::Range;

use binio::diagnostic::kind_by_signature;
use binio::{Limits, ReadAt};
use serde_json::{Value, json};
use wasm_bindgen::JsError;

use crate::array::Array;
use crate::source::Source;
use crate::{asdf, bloscpack, dudley, flux};

pub(crate) type Result<T> = std::result::Result<T, JsError>;

/// The maximum number of rows to show in a table.
const MAX_ROWS: usize = 2000;

/// An open file in one of the supported formats.
pub(crate) trait Format {
    /// Returns facts about the file as (label, value) pairs, in display order.
    fn about(&self) -> Vec<(&'static str, String)>;

    /// Returns the node at a pointer, without its children.
    fn node(&self, pointer: &str) -> Result<Value>;

    /// Returns a range of the children of the node at a pointer.
    fn children(&self, pointer: &str, range: Range<usize>) -> Result<Vec<Value>>;

    /// Returns the first nodes whose key or value satisfies `is_wanted`, at most `max` of them.
    fn search(&self, is_wanted: &dyn Fn(&str) -> bool, max: usize) -> Result<Vec<Value>>;

    /// Writes the text of the node at a pointer. Folders of an archive and containers of a Dudley file have no text.
    /// The text of any other container, and of an item in a Dudley file, is JSON. The text of the array in a Bloscpack
    /// file is the same as that of [`Array::write_summary`].
    fn write_text(&self, pointer: &str, out: &mut dyn Write) -> Result<()>;

    /// Writes the tree of an ASDF file as JSON. In any other format, writes the metadata, the layout or the list of
    /// entries.
    fn write_json(&self, out: &mut dyn Write) -> Result<()>;

    /// Returns the array at a pointer. Fails if there is no array.
    fn array(&self, pointer: &str) -> Result<Array<'_>>;

    /// Returns a table of the parts of the file, such as its blocks.
    fn parts(&self) -> Result<Table>;

    /// Returns the diagnostics found so far.
    fn diagnostics(&self) -> Vec<Value>;
}

/// Returns limits suitable for a browser: a WebAssembly module has at most 4 GiB of memory.
pub(crate) fn limits() -> Limits {
    Limits::default().max_alloc(1 << 30).max_decoded(1 << 30)
}

/// Opens the first of the added files that has a known format, and returns the file with its name. If a layout was
/// also added, it is used for any file without an ASDF or Bloscpack signature. If only a layout was added, opens the
/// layout.
pub(crate) fn open() -> Result<(String, Box<dyn Format>)> {
    let files = Source::all();
    let is_layout = |file: &Source| file.name().rsplit_once('.').is_some_and(|(_, it)| it == "dud");
    let layout = files.iter().find(|file| is_layout(file));
    let mut head = Vec::new();
    for file in files.iter().filter(|file| !is_layout(file)) {
        head = file.bytes_at(0, usize::try_from(file.len().min(64)).unwrap_or(0))?.to_vec();
        let opened: Box<dyn Format> = match &*head {
            [b'#', b'A', b'S', b'D', b'F', ..] => Box::new(asdf::File::open(file)?),
            [b'b', b'l', b'p', b'k', ..] => Box::new(bloscpack::File::open(file)?),
            [0x8d | 0x0d, b'<' | b'>', b'B', b'D', ..] => {
                Box::new(dudley::File::open(file, layout)?)
            }
            _ if layout.is_some() => Box::new(dudley::File::open(file, layout)?),
            _ if matches!(head.trim_ascii_start(), [b'[' | b'{', ..]) => {
                Box::new(flux::File::open(file)?)
            }
            _ => continue,
        };
        return Ok((file.name(), opened));
    }
    match layout {
        Some(layout) => Ok((layout.name(), Box::new(dudley::LayoutFile::open(layout)?))),
        None => Err(unknown(&head)),
    }
}

fn unknown(head: &[u8]) -> JsError {
    let kind = kind_by_signature(head).map(|kind| format!("This is {kind}. ")).unwrap_or_default();
    JsError::new(&format!(
        "{kind}The page can open ASDF, Bloscpack and native Dudley files, Flux archives in JSON, and Dudley layouts \
         whose names end with .dud. A stream without a Dudley signature can only be opened together with its layout."
    ))
}

/// Returns an error with a message for the user.
pub(crate) fn failure(message: &str) -> JsError {
    JsError::new(message)
}

/// A table of the parts of a file.
pub(crate) struct Table {
    title: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    more: usize,
}

impl Table {
    /// Creates a table with the first [`MAX_ROWS`] rows, and counts the remaining rows.
    pub(crate) fn new(
        title: &'static str,
        columns: &'static [&'static str],
        rows: impl ExactSizeIterator<Item = Vec<String>>,
    ) -> Self {
        let more = rows.len().saturating_sub(MAX_ROWS);
        Self { title, columns, rows: rows.take(MAX_ROWS).collect(), more }
    }

    pub(crate) fn json(&self) -> Value {
        json!({"title": self.title, "columns": self.columns, "rows": self.rows, "more": self.more})
    }
}

/// Formats a size in bytes for display, such as `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "only one decimal is shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Shortens text, and replaces control characters with spaces, so that it fits on one line of the tree.
pub(crate) fn line(text: &str) -> String {
    const MAX: usize = 120;
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = characters.by_ref().take(MAX).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}
