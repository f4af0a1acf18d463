//! Sources for the files that the page has opened, which are on the user's computer or on servers.
//!
//! Everything here runs in a Web Worker, which can read a file or a URL synchronously, with `FileReaderSync` or
//! `XMLHttpRequest`. A source must be `Send`, but the objects of the browser cannot be sent to other threads. They are
//! therefore kept in a thread-local registry, and a source contains only the index of its file.

use std::cell::RefCell;
use std::io;

use binio::{Error, ReadAt, Result};
use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, FileReaderSync, XmlHttpRequest, XmlHttpRequestResponseType};

use crate::pages::Pages;

/// The size of a page in bytes, and the number of pages to keep for each file.
const PAGE: (u64, usize) = (256 << 10, 16);

/// The size of the largest gap worth reading, in bytes. A call for a local file takes about a millisecond, in which a
/// megabyte can be read. A request to a server takes tens of milliseconds, in which a few hundred kilobytes can be
/// transferred.
const FILE_GAP: u64 = 1 << 20;
const URL_GAP: u64 = 256 << 10;

thread_local! {
    static FILES: RefCell<Vec<File>> = const { RefCell::new(Vec::new()) };
}

struct File {
    name: String,
    origin: Origin,
    pages: Pages,
}

enum Origin {
    Blob(Blob),
    Url(String),
}

/// A reference to a file in the registry.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    number: usize,
    len: u64,
    is_remote: bool,
}

/// Adds a file on the user's computer, or a file that was downloaded as a whole.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are integers")]
pub(crate) fn add_blob(name: String, blob: Blob) -> Source {
    let len = blob.size() as u64;
    add(name, Origin::Blob(blob), len)
}

/// Adds the file at a URL. Requests the first page of the file to determine its length.
pub(crate) fn add_url(url: &str) -> Result<Source> {
    let name = url.split(['?', '#']).next().unwrap_or(url);
    let name = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(url).to_owned();
    let request = request(url, Some((0, PAGE.0)))?;
    let body = body(&request)?;
    if request.status().unwrap_or(0) != 206 {
        // The server has ignored the range, and sent the whole file.
        let blob = Blob::new_with_buffer_source_sequence(&js_sys::Array::of1(&body));
        return Ok(add_blob(name, blob.map_err(|error| failed(&error))?));
    }
    let len = match total_of(&request) {
        Some(len) => len,
        None => len_by_head(url)?,
    };
    let source = add(name, Origin::Url(url.to_owned()), len);
    FILES.with_borrow_mut(|files| {
        let first = body.to_vec();
        files[source.number].pages.insert_first(first);
    });
    Ok(source)
}

fn add(name: String, origin: Origin, len: u64) -> Source {
    let is_remote = matches!(origin, Origin::Url(_));
    let file = File { name, origin, pages: Pages::new(PAGE.0, PAGE.1, len) };
    FILES.with_borrow_mut(|files| {
        files.push(file);
        Source { number: files.len() - 1, len, is_remote }
    })
}

impl Source {
    /// Returns sources for all added files, in the order in which they were added.
    pub(crate) fn all() -> Vec<Self> {
        FILES.with_borrow(|files| {
            let source = |(number, file): (usize, &File)| Self {
                number,
                len: file.pages.len(),
                is_remote: matches!(file.origin, Origin::Url(_)),
            };
            files.iter().enumerate().map(source).collect()
        })
    }

    /// Returns the name of the file, without folders.
    pub(crate) fn name(&self) -> String {
        FILES.with_borrow(|files| files[self.number].name.clone())
    }

    /// Returns `true` if the file is on a server, and is requested in parts.
    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }
}

impl ReadAt for Source {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        FILES.with_borrow_mut(|files| {
            let File { origin, pages, .. } = &mut files[self.number];
            pages.read(buf, offset, |offset, buf| {
                let read = match origin {
                    Origin::Blob(blob) => read_blob(blob, offset, buf),
                    Origin::Url(url) => read_url(url, offset, buf),
                };
                read.map_err(|error| error.at(offset))
            })
        })
    }

    fn gap_worth_reading(&self) -> u64 {
        if self.is_remote { URL_GAP } else { FILE_GAP }
    }

    /// Returns 4 MiB, the capacity of the page cache of a file.
    fn preferred_piece(&self) -> usize {
        4 << 20
    }
}

#[allow(clippy::cast_precision_loss, reason = "offsets are floats in JavaScript")]
fn read_blob(blob: &Blob, offset: u64, buf: &mut [u8]) -> Result<()> {
    let end = (offset + buf.len() as u64) as f64;
    let part = blob.slice_with_f64_and_f64(offset as f64, end);
    let read = FileReaderSync::new().and_then(|reader| reader.read_as_array_buffer(&part?));
    let bytes = Uint8Array::new(&read.map_err(|error| changed(&error))?.into());
    copy(&bytes, buf)
}

fn read_url(url: &str, offset: u64, buf: &mut [u8]) -> Result<()> {
    let request = request(url, Some((offset, buf.len() as u64)))?;
    if request.status().unwrap_or(0) != 206 {
        return Err(other("the server no longer sends parts of the file".to_owned()));
    }
    copy(&body(&request)?, buf)
}

fn copy(bytes: &Uint8Array, buf: &mut [u8]) -> Result<()> {
    if bytes.length() as usize != buf.len() {
        return Err(Error::truncated(buf.len() as u64, bytes.length().into()));
    }
    bytes.copy_to(buf);
    Ok(())
}

/// Requests the range of a file with the given offset and length. Without a range, requests only
/// the HTTP headers.
fn request(url: &str, range: Option<(u64, u64)>) -> Result<XmlHttpRequest> {
    let send = || {
        let request = XmlHttpRequest::new()?;
        let method = if range.is_some() { "GET" } else { "HEAD" };
        request.open_with_async(method, url, false)?;
        request.set_response_type(XmlHttpRequestResponseType::Arraybuffer);
        if let Some((offset, len)) = range {
            request.set_request_header("Range", &format!("bytes={offset}-{}", offset + len - 1))?;
        }
        request.send()?;
        Ok(request)
    };
    let request: XmlHttpRequest = send().map_err(|_: JsValue| {
        other(format!(
            "{url} cannot be reached, or its server does not let other pages read it (CORS)"
        ))
    })?;
    match request.status().unwrap_or(0) {
        200 | 206 => Ok(request),
        status => {
            let text = request.status_text().unwrap_or_default();
            Err(other(format!("{url}: the server answered {status} {text}").trim_end().to_owned()))
        }
    }
}

fn body(request: &XmlHttpRequest) -> Result<Uint8Array> {
    let body = request.response().map_err(|error| failed(&error))?;
    let buffer: ArrayBuffer =
        body.dyn_into().map_err(|_| other("the server sent no data".to_owned()))?;
    Ok(Uint8Array::new(&buffer))
}

/// Returns the length of the whole file in bytes, as stated in the `Content-Range` header of a response. Returns `None`
/// if this header cannot be read, for example because a server on another origin does not expose it.
fn total_of(request: &XmlHttpRequest) -> Option<u64> {
    let range = request.get_response_header("Content-Range").ok()??;
    range.rsplit_once('/')?.1.parse().ok()
}

fn len_by_head(url: &str) -> Result<u64> {
    let header = request(url, None)?.get_response_header("Content-Length");
    let len = header.ok().flatten().and_then(|len| len.parse().ok());
    len.ok_or_else(|| other(format!("{url}: the server does not say how long the file is")))
}

fn changed(error: &JsValue) -> Error {
    let error = failed(error);
    error.context("the file cannot be read; it may have changed since it was opened")
}

fn failed(error: &JsValue) -> Error {
    let message = error
        .dyn_ref::<js_sys::Error>()
        .map_or_else(|| format!("{error:?}"), |error| String::from(error.message()));
    other(message)
}

fn other(message: String) -> Error {
    io::Error::other(message).into()
}
