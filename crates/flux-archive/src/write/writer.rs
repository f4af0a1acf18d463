//! Writing complete entries.

use std::collections::HashSet;
use std::io::Write;

use super::plan::{Data, Plan};

use crate::diagnostic::Code;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Text, escape};
use crate::model::{Entry, Form};
use crate::parse::RawEntry;

/// Writes an archive as a stream. Only one entry is in memory at a time, plus all paths if the archive is a dict.
///
/// [`entry`](Self::entry) writes entries in a form that RFC 37 allows: sizes are added, text with a NUL becomes base64,
/// regions are sorted, and empty regions are dropped. If RFC 37 has no form for an entry, or if a dict already has its
/// path, the entry is rejected before any of it is written. After any other error, the document is incomplete. In
/// contrast, [`copy`](Self::copy) copies the members of an entry as written, even if they deviate from RFC 37.
///
/// ```
/// use flux_archive::json::Text;
/// use flux_archive::{ArchivePath, Content, Entry, Form, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let path = ArchivePath::parse("hello.txt").unwrap();
/// writer.entry(&Entry::new(path, 0o644, Content::Text(Text::new("hello\n"))))?;
/// assert_eq!(
///     String::from_utf8(writer.finish()?).unwrap(),
///     r#"[{"path":"hello.txt","encoding":"utf-8","data":"hello\n","size":6,"mode":33188}]"#
/// );
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    pub(super) out: W,
    form: Form,
    pretty: bool,
    begun: bool,
    /// Whether a body has been started but not finished.
    pub(super) open: bool,
    /// The keys written so far, if the archive is a dict.
    paths: HashSet<String>,
    /// The text of the current entry that has not been written to `out` yet.
    pub(super) line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Creates a writer that adds no whitespace between values.
    pub fn new(out: W, form: Form) -> Self {
        let (paths, line) = (HashSet::new(), Vec::new());
        Self { out, form, pretty: false, begun: false, open: false, paths, line }
    }

    /// Makes the writer write each member on a separate line.
    #[must_use]
    pub fn pretty(mut self) -> Self {
        self.pretty = true;
        self
    }

    /// Returns the form of the archive that the writer writes.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Writes an entry.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotWritable`] if RFC 37 has no form for the entry, or if a dict already has its path. In
    /// these cases, no part of the entry is written. Fails with [`ErrorKind::Io`] if a [`Body`](crate::Body) was not
    /// finished, or if the output cannot be written.
    pub fn entry(&mut self, entry: &Entry<'_>) -> Result<()> {
        let plan = Plan::of(entry)?;
        self.begin(&Text::new(entry.path.as_str()))?;
        if let Some(encoding) = plan.encoding {
            self.string("encoding", encoding);
        }
        match &plan.data {
            None => {}
            Some(Data::Json(json)) => {
                self.key("data");
                self.flush()?;
                self.out.write_all(json.as_bytes())?;
            }
            Some(Data::String(text)) => {
                self.key("data");
                self.line.push(b'"');
                self.flush()?;
                self.out.write_all(text.as_bytes())?;
                self.line.push(b'"');
            }
            Some(Data::Regions(regions)) => {
                self.key("data");
                for (index, region) in regions.iter().enumerate() {
                    self.line.push(if index == 0 { b'[' } else { b',' });
                    let (offset, size, blobref) = (region.offset, region.size, region.blobref);
                    let _ = write!(self.line, "[{offset},{size},\"{blobref}\"]");
                    self.flush_if_long()?;
                }
                self.line.push(b']');
            }
        }
        self.end(entry, plan.size)
    }

    /// Copies an entry without changing its members, their values or their order, except for the
    /// path: in a dict, the path becomes the key, and in any other form, it becomes the member
    /// `path`.
    ///
    /// ```
    /// use flux_archive::{Form, OpenOptions, Writer};
    ///
    /// let array = br#"[{"mode":16877,"path":"d","note":1.50}]"#;
    /// let mut writer = Writer::new(Vec::new(), Form::Dict);
    /// for entry in OpenOptions::new().entries(array)? {
    ///     writer.copy(&entry?)?;
    /// }
    /// assert_eq!(writer.finish()?, br#"{"d":{"mode":16877,"note":1.50}}"#);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotWritable`] if the entry is not an object or has no valid path, or if a dict already
    /// has its path. Fails with [`ErrorKind::Io`] if a [`Body`](crate::Body) was not finished, or if the output cannot
    /// be written.
    pub fn copy(&mut self, raw: &RawEntry<'_>) -> Result<()> {
        let Some(path) = raw.path() else {
            let (path, message) =
                (format!("entry {}", raw.index()), "the path is missing".to_owned());
            return Err(ErrorKind::NotWritable { code: Code::PathType, path, message }.into());
        };
        let Some(members) = raw.members() else {
            let (path, message) = (path.to_string(), "the entry is not an object".to_owned());
            return Err(ErrorKind::NotWritable { code: Code::EntryType, path, message }.into());
        };
        self.begin_entry(&path)?;
        if self.form != Form::Dict && raw.get("path").is_none() {
            self.key("path");
            let _ = write!(self.line, "\"{}\"", path.escaped());
        }
        let dict = self.form == Form::Dict;
        for member in members.iter().filter(|member| !dict || !member.is("path")) {
            self.separate();
            self.push(member.key.get());
            self.colon();
            self.flush()?;
            self.out.write_all(member.value.get().as_bytes())?;
        }
        self.close()
    }

    /// Ends the archive, flushes the output, and returns the output.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`] if a [`Body`](crate::Body) was not finished, or if the output cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.check_closed()?;
        let (open, close) = match self.form {
            Form::Array => ("[", "]"),
            Form::Dict => ("{", "}"),
            Form::Objects => ("", ""),
        };
        if !self.begun {
            self.push(open);
        } else if self.pretty && !close.is_empty() {
            self.line.push(b'\n');
        }
        self.push(close);
        if self.pretty {
            self.line.push(b'\n');
        }
        self.flush()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Starts an entry, and writes its path.
    pub(super) fn begin(&mut self, path: &Text<'_>) -> Result<()> {
        self.begin_entry(path)?;
        if self.form != Form::Dict {
            self.key("path");
            let _ = write!(self.line, "\"{}\"", path.escaped());
        }
        Ok(())
    }

    /// Writes everything that precedes the members of an entry, including the path in a dict.
    fn begin_entry(&mut self, path: &Text<'_>) -> Result<()> {
        self.check_closed()?;
        if self.form == Form::Dict && !self.paths.insert(path.decode().into_owned()) {
            let (path, message) = (path.to_string(), "the path occurs twice in a dict".to_owned());
            return Err(ErrorKind::NotWritable { code: Code::DuplicatePath, path, message }.into());
        }
        let opening = match self.form {
            Form::Array => "[",
            Form::Dict => "{",
            Form::Objects => "",
        };
        match (self.begun, self.form) {
            (false, _) => self.push(opening),
            (true, Form::Objects) => {}
            (true, Form::Array | Form::Dict) => self.line.push(b','),
        }
        if self.pretty && (self.begun || !opening.is_empty()) {
            self.line.push(b'\n');
        }
        if self.pretty && self.form != Form::Objects {
            self.push("  ");
        }
        if self.form == Form::Dict {
            let _ = write!(self.line, "\"{}\"", path.escaped());
            self.colon();
        }
        self.line.push(b'{');
        self.begun = true;
        Ok(())
    }

    /// Writes the members after the data of an entry, and ends the entry.
    pub(super) fn end(&mut self, entry: &Entry<'_>, size: Option<u64>) -> Result<()> {
        if let Some(size) = size {
            self.number("size", size);
        }
        if let Some(mtime) = entry.mtime {
            self.number("mtime", mtime);
        }
        if let Some(ctime) = entry.ctime {
            self.number("ctime", ctime);
        }
        self.number("mode", entry.mode.as_u32());
        for (key, value) in &entry.extra {
            self.key(key.escaped());
            self.push(value.get());
        }
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        if self.pretty && !self.line.ends_with(b"{") {
            self.line.push(b'\n');
            self.push(if self.form == Form::Objects { "" } else { "  " });
        }
        self.line.push(b'}');
        self.flush()
    }

    pub(super) fn string(&mut self, key: &str, plain: &str) {
        self.key(key);
        self.line.push(b'"');
        escape(plain.as_bytes(), &mut self.line);
        self.line.push(b'"');
    }

    fn number(&mut self, key: &str, number: impl std::fmt::Display) {
        self.key(key);
        let _ = write!(self.line, "{number}");
    }

    pub(super) fn key(&mut self, escaped: &str) {
        self.separate();
        let _ = write!(self.line, "\"{escaped}\"");
        self.colon();
    }

    /// Writes the comma and whitespace before a member.
    fn separate(&mut self) {
        if !self.line.ends_with(b"{") {
            self.line.push(b',');
        }
        if self.pretty {
            self.line.push(b'\n');
            self.push(if self.form == Form::Objects { "  " } else { "    " });
        }
    }

    fn colon(&mut self) {
        self.push(if self.pretty { ": " } else { ":" });
    }

    fn push(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn flush_if_long(&mut self) -> Result<()> {
        if self.line.len() > 64 << 10 { self.flush() } else { Ok(()) }
    }

    fn check_closed(&self) -> Result<()> {
        if self.open {
            let message = "the body of a file was not finished";
            return Err(Error::from(std::io::Error::other(message)));
        }
        Ok(())
    }
}
