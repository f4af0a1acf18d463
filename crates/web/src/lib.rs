//! The WebAssembly module of the page that shows files in the browser. It is the interface between the scripts of the
//! page and the format crates.
//!
//! Everything runs in a Web Worker. `worker.js` adds the files, opens a [`Document`], and calls its methods. Most
//! structured values are passed as JSON.

#![forbid(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "optional strings from JavaScript are passed by value"
)]

mod array;
mod asdf;
mod bloscpack;
mod document;
mod dudley;
mod flux;
mod outline;
mod pages;
mod progress;
mod source;
mod view;

use std::io::{self, Write};

use serde_json::{Value, json};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::array::Array;
use crate::document::Format;
use crate::source::Source;
use crate::view::Sink;

pub use crate::view::{Picture, color_bar};

type Result<T> = std::result::Result<T, JsError>;

/// The maximum number of nodes that a search returns.
const MAX_FOUND: usize = 500;

/// The maximum length in bytes of the text to show for a node.
const MAX_TEXT: usize = 256 << 10;

/// Sets the function that is called while an array is being read. Its arguments are the number of bytes read so far and
/// the total number of bytes.
#[wasm_bindgen]
pub fn on_progress(listener: js_sys::Function) {
    progress::listen(listener);
}

/// Adds a file on the user's computer.
#[wasm_bindgen]
pub fn add_file(name: String, file: web_sys::Blob) {
    source::add_blob(name, file);
}

/// Adds the file at a URL.
#[wasm_bindgen]
pub fn add_url(url: &str) -> Result<()> {
    source::add_url(url)?;
    Ok(())
}

/// An open file.
#[wasm_bindgen]
pub struct Document {
    name: String,
    format: Box<dyn Format>,
    is_remote: bool,
}

#[wasm_bindgen]
impl Document {
    /// Opens the first of the added files that has a known format or is described by an added layout. If only a layout
    /// was added, opens the layout.
    pub fn open() -> Result<Self> {
        let (name, format) = document::open()?;
        let is_remote = Source::all().iter().any(Source::is_remote);
        Ok(Self { name, format, is_remote })
    }

    /// Returns, as JSON, the name of the file, facts about it, the root node, and the diagnostics.
    pub fn about(&self) -> String {
        let about: Vec<Value> =
            self.format.about().into_iter().map(|(name, text)| json!([name, text])).collect();
        let root = self.format.node("").unwrap_or_default();
        let diagnostics = self.format.diagnostics();
        json!({"name": self.name, "about": about, "root": root, "diagnostics": diagnostics})
            .to_string()
    }

    /// Returns the node at a pointer as JSON.
    pub fn node(&self, pointer: &str) -> Result<String> {
        Ok(self.format.node(pointer)?.to_string())
    }

    /// Returns at most `count` children of the node at a pointer as JSON, beginning with child
    /// number `start`.
    pub fn children(&self, pointer: &str, start: usize, count: usize) -> Result<String> {
        let children = self.format.children(pointer, start..start.saturating_add(count))?;
        Ok(Value::Array(children).to_string())
    }

    /// Searches keys and values for a string, ignoring case. Returns at most `MAX_FOUND` matching nodes as JSON.
    pub fn search(&self, text: &str) -> Result<String> {
        let wanted = text.to_lowercase();
        let is_wanted = |text: &str| text.to_lowercase().contains(&wanted);
        Ok(Value::Array(self.format.search(&is_wanted, MAX_FOUND)?).to_string())
    }

    /// Returns the text of a node, truncated if it is long.
    pub fn text(&self, pointer: &str) -> Result<String> {
        let mut out = Beginning::default();
        let written = self.format.write_text(pointer, &mut out);
        if !out.is_truncated {
            written?;
        }
        Ok(out.into_text())
    }

    /// Returns the tree of an ASDF file as JSON. In any other format, returns the metadata, the layout or the list of
    /// entries.
    pub fn json(&self) -> Result<String> {
        let mut out = Vec::new();
        self.format.write_json(&mut out)?;
        Ok(String::from_utf8(out)?)
    }

    /// Returns, as JSON, a table of the parts of the file, such as its blocks.
    pub fn parts(&self) -> Result<String> {
        Ok(self.format.parts()?.json().to_string())
    }

    /// Returns, as JSON, a description of a selected part of an array, such as its type and shape.
    pub fn selected(&self, pointer: &str, field: Option<String>, slice: &str) -> Result<String> {
        Ok(self.array(pointer, field.as_deref(), slice)?.json().to_string())
    }

    /// Returns an image of a selected part of an array, with at most `max_side` pixels per side.
    pub fn picture(
        &self,
        pointer: &str,
        field: Option<String>,
        slice: &str,
        max_side: usize,
    ) -> Result<Picture> {
        let array = self.array(pointer, field.as_deref(), slice)?;
        Picture::new(&array, max_side, self.is_remote)
    }

    /// Returns, as JSON, the curve of a selected part of an array, with at most `max_columns` columns.
    pub fn curve(
        &self,
        pointer: &str,
        field: Option<String>,
        slice: &str,
        max_columns: usize,
    ) -> Result<String> {
        Ok(view::curve(&self.array(pointer, field.as_deref(), slice)?, max_columns)?.to_string())
    }

    /// Returns the elements of a selected part of an array as text. If there are more than 1,000 of them, returns only
    /// the first and last three along each axis.
    pub fn summary(&self, pointer: &str, field: Option<String>, slice: &str) -> Result<String> {
        let mut out = Vec::new();
        self.array(pointer, field.as_deref(), slice)?.write_summary(&mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Passes a selected part of an array to `sink` as a `.npy` file, in pieces.
    pub fn npy(
        &self,
        pointer: &str,
        field: Option<String>,
        slice: &str,
        sink: &js_sys::Function,
    ) -> Result<()> {
        let array = self.array(pointer, field.as_deref(), slice)?;
        let mut reporting = progress::Reporting::new(array.byte_size());
        array.write_npy(&mut reporting.writer(&mut Sink(sink)))
    }

    /// Passes the whole text of a node, such as the content of a file in an archive, to `sink` in pieces.
    pub fn content(&self, pointer: &str, sink: &js_sys::Function) -> Result<()> {
        self.format.write_text(pointer, &mut Sink(sink))
    }
}

impl Document {
    fn array(&self, pointer: &str, field: Option<&str>, slice: &str) -> Result<Array<'_>> {
        self.format.array(pointer)?.select(field, slice)
    }
}

/// A writer that keeps the first [`MAX_TEXT`] bytes, and fails if there are more.
#[derive(Default)]
struct Beginning {
    bytes: Vec<u8>,
    is_truncated: bool,
}

impl Beginning {
    /// Returns the text. If it was truncated, a line with an ellipsis follows.
    fn into_text(self) -> String {
        let more = if self.is_truncated { "\n…" } else { "" };
        String::from_utf8_lossy(&self.bytes).into_owned() + more
    }
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = MAX_TEXT - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(free)]);
        if bytes.len() > free {
            self.is_truncated = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text that is shown for a node with `len` bytes of text.
    fn shown(len: usize) -> String {
        let mut out = Beginning::default();
        let _ = out.write_all("a".repeat(len).as_bytes());
        out.into_text()
    }

    #[test]
    fn only_text_longer_than_256_kib_is_truncated() {
        let longest = "a".repeat(256 << 10);
        assert_eq!(shown(256 << 10), longest);
        assert_eq!(shown((256 << 10) + 1), format!("{longest}\n…"));
    }
}
