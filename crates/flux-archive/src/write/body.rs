//! Writing the data of a regular file piece by piece.

use std::io::{self, Write};
use std::mem;

use base64_simd::STANDARD;

use super::encoding::Encoding;
use super::writer::Writer;
use crate::error::Result;
use crate::json::{Text, escape};
use crate::model::Entry;

/// The maximum number of bytes to take from the caller at a time. This is a multiple of 3, so that full pieces end
/// between base64 groups.
const STEP: usize = 48 << 10;

/// A regular file whose data is being written. Created by [`Writer::body`].
///
/// If a body is dropped without calling [`finish`](Self::finish), the document is not valid JSON, and writing further
/// entries or finishing the archive fails.
///
/// ```
/// use std::io::Write;
/// use flux_archive::{ArchivePath, Content, Encoding, Entry, Form, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Form::Dict);
/// let entry = Entry::new(ArchivePath::parse("data").unwrap(), 0o600, Content::Empty);
/// let mut body = writer.body(&entry, Encoding::Base64)?;
/// body.write_all(&[0, 1])?;
/// body.write_all(&[2, 3])?;
/// assert_eq!(body.finish()?, 4);
/// assert_eq!(
///     writer.finish()?,
///     br#"{"data":{"encoding":"base64","data":"AAECAw==","size":4,"mode":33152}}"#
/// );
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Debug)]
pub struct Body<'w, 'e, W> {
    writer: &'w mut Writer<W>,
    entry: &'e Entry<'e>,
    encoding: Encoding,
    /// The bytes of an incomplete character or base64 group, which the next piece completes.
    carry: Vec<u8>,
    len: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a regular file whose data is written piece by piece. The path, mode, times and other members are taken
    /// from `entry`, which should be a regular file. Its content and size are ignored. [`Body::finish`] ends the file.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotWritable`](crate::ErrorKind::NotWritable) if the archive is a dict that already has
    /// the path, and with [`ErrorKind::Io`](crate::ErrorKind::Io) if the body of the previous file was not finished.
    /// Nothing is written to the output yet.
    pub fn body<'w, 'e>(
        &'w mut self,
        entry: &'e Entry<'e>,
        encoding: Encoding,
    ) -> Result<Body<'w, 'e, W>> {
        self.begin(&Text::new(entry.path.as_str()))?;
        self.open = true;
        Ok(Body { writer: self, entry, encoding, carry: Vec::new(), len: 0 })
    }
}

#[cfg(unix)]
impl<W: Write> Body<'_, '_, W> {
    /// Writes data that is already encoded; `len` is its length in bytes before encoding. The data
    /// must consist of complete characters or base64 groups, and so must all data written before
    /// it.
    pub(crate) fn write_encoded(&mut self, encoded: &[u8], len: u64) -> Result<()> {
        debug_assert!(
            self.carry.is_empty(),
            "the previous data ends within a character or base64 group"
        );
        if len > 0 {
            self.begin_data();
            self.len += len;
            self.writer.flush()?;
            self.writer.out.write_all(encoded)?;
        }
        Ok(())
    }
}

impl<W: Write> Body<'_, '_, W> {
    /// Ends the file, and returns its size in bytes.
    ///
    /// # Errors
    ///
    /// Fails if text ends within a character, or if the output cannot be written.
    pub fn finish(mut self) -> Result<u64> {
        let last = mem::take(&mut self.carry);
        match self.encoding {
            Encoding::Text if !last.is_empty() => {
                return Err(not_text("the last character is incomplete").into());
            }
            Encoding::Text => {}
            Encoding::Base64 => {
                STANDARD.encode_append(&last, &mut self.writer.line);
            }
        }
        if self.len > 0 {
            self.writer.line.push(b'"');
        }
        self.writer.end(self.entry, Some(self.len))?;
        self.writer.open = false;
        Ok(self.len)
    }

    /// Writes the member `encoding` and the start of the member `data`, unless data has already
    /// been written. Must not be called for an empty file, which has neither member.
    fn begin_data(&mut self) {
        if self.len > 0 {
            return;
        }
        self.writer.string(
            "encoding",
            match self.encoding {
                Encoding::Text => "utf-8",
                Encoding::Base64 => "base64",
            },
        );
        self.writer.key("data");
        self.writer.line.push(b'"');
    }

    /// Encodes and writes bytes, but keeps an incomplete character or base64 group at the end for
    /// the next call.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let line = &mut self.writer.line;
        let taken = match self.encoding {
            Encoding::Text => {
                let text = complete(bytes)?;
                if memchr::memchr(0, text.as_bytes()).is_some() {
                    return Err(not_text("found a NUL"));
                }
                escape(text.as_bytes(), line);
                text.len()
            }
            Encoding::Base64 => {
                let groups = bytes.len() / 3 * 3;
                STANDARD.encode_append(&bytes[..groups], line);
                groups
            }
        };
        self.carry.extend_from_slice(&bytes[taken..]);
        self.writer.out.write_all(line)?;
        line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Body<'_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(STEP)];
        if bytes.is_empty() {
            return Ok(0);
        }
        self.begin_data();
        self.len += bytes.len() as u64;
        if self.carry.is_empty() {
            self.take(bytes)?;
        } else {
            let mut whole = mem::take(&mut self.carry);
            whole.extend_from_slice(bytes);
            self.take(&whole)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns all complete characters at the beginning of `bytes`. Fails if the bytes are not UTF-8.
fn complete(bytes: &[u8]) -> io::Result<&str> {
    match simdutf8::compat::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if error.error_len().is_some() => Err(not_text("invalid UTF-8")),
        Err(error) => Ok(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()),
    }
}

fn not_text(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the file is not text: {what}"))
}
