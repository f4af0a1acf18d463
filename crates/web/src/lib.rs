//! The page that shows files in the browser: the interface between its scripts and the format crates.
//!
//! Everything runs in a Web Worker. `worker.js` adds the files, opens a [`Document`], and calls its methods. Values
//! with several parts are passed as JSON.

#![forbid(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "strings of JavaScript that may be missing are passed by value"
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

/// The maximum size of the text of a node in bytes.
const MAX_TEXT: usize = 256 << 10;

/// Sets the function that is called with the number of bytes read and their total, while an array is read.
#[wasm_bindgen]
pub fn on_progress(listener: js_sys::Function) {
    progress::listen(listener);
}

/// Adds a file of this computer.
#[wasm_bindgen]
pub fn add_file(name: String, file: web_sys::Blob) {
    source::add_blob(name, file);
}

/// Adds the file of a URL.
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
    /// Opens the first of the files that have been added whose format is known.
    pub fn open() -> Result<Self> {
        let (name, format) = document::open()?;
        let is_remote = Source::all().iter().any(Source::is_remote);
        Ok(Self { name, format, is_remote })
    }

    /// Returns the name of the file, facts about it, and its diagnostics.
    pub fn about(&self) -> String {
        let about: Vec<Value> =
            self.format.about().into_iter().map(|(name, text)| json!([name, text])).collect();
        let root = self.format.node("").unwrap_or_default();
        let diagnostics = self.format.diagnostics();
        json!({"name": self.name, "about": about, "root": root, "diagnostics": diagnostics})
            .to_string()
    }

    /// Returns the node at a pointer.
    pub fn node(&self, pointer: &str) -> Result<String> {
        Ok(self.format.node(pointer)?.to_string())
    }

    /// Returns some children of the node at a pointer.
    pub fn children(&self, pointer: &str, start: usize, count: usize) -> Result<String> {
        let children = self.format.children(pointer, start..start.saturating_add(count))?;
        Ok(Value::Array(children).to_string())
    }

    /// Returns the nodes whose key or value contains a text, in any case.
    pub fn search(&self, text: &str) -> Result<String> {
        let wanted = text.to_lowercase();
        let is_wanted = |text: &str| text.to_lowercase().contains(&wanted);
        Ok(Value::Array(self.format.search(&is_wanted, MAX_FOUND)?).to_string())
    }

    /// Returns the beginning of the text of a node.
    pub fn text(&self, pointer: &str) -> Result<String> {
        let mut out = Beginning(Vec::new());
        let written = self.format.write_text(pointer, &mut out);
        let is_complete = out.0.len() < MAX_TEXT;
        if is_complete {
            written?;
        }
        let more = if is_complete { "" } else { "\n…" };
        Ok(String::from_utf8_lossy(&out.0).into_owned() + more)
    }

    /// Returns the tree as JSON.
    pub fn json(&self) -> Result<String> {
        let mut out = Vec::new();
        self.format.write_json(&mut out)?;
        Ok(String::from_utf8(out)?)
    }

    /// Returns the table of the parts of the file, such as its blocks.
    pub fn parts(&self) -> Result<String> {
        Ok(self.format.parts()?.json().to_string())
    }

    /// Returns the type and the shape of a selected part of an array.
    pub fn selected(&self, pointer: &str, field: Option<String>, slice: &str) -> Result<String> {
        Ok(self.array(pointer, field.as_deref(), slice)?.json().to_string())
    }

    /// Returns an image of a selected part of an array.
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

    /// Returns the curve of a selected part of an array.
    pub fn curve(
        &self,
        pointer: &str,
        field: Option<String>,
        slice: &str,
        max_columns: usize,
    ) -> Result<String> {
        Ok(view::curve(&self.array(pointer, field.as_deref(), slice)?, max_columns)?.to_string())
    }

    /// Returns the first and last elements of a selected part of an array as text.
    pub fn summary(&self, pointer: &str, field: Option<String>, slice: &str) -> Result<String> {
        let mut out = Vec::new();
        self.array(pointer, field.as_deref(), slice)?.write_summary(&mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Passes a selected part of an array to `sink` as the pieces of a `.npy` file.
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

    /// Passes the whole text of a node to `sink` in pieces, such as the content of a file in an archive.
    pub fn content(&self, pointer: &str, sink: &js_sys::Function) -> Result<()> {
        self.format.write_text(pointer, &mut Sink(sink))
    }
}

impl Document {
    fn array(&self, pointer: &str, field: Option<&str>, slice: &str) -> Result<Array<'_>> {
        self.format.array(pointer)?.select(field, slice)
    }
}

/// A writer that keeps the first bytes and fails after them.
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = MAX_TEXT - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(free)]);
        if bytes.len() > free {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
