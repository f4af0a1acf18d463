//! Writing values as JSON: structs become objects, and ragged data becomes nested lists.

use std::io::{self, Write};

use binio::array::{ElementsError, PrintStyle};

use super::value::File;
use crate::error::{Error, ErrorKind};
use crate::layout::{Field, Inside};
use crate::place::{Inner, Row, Stored, to_error};

/// Maximum number of empty instances to write per array. Without this limit, a short file that
/// claims many empty instances could produce output of any length.
const MAX_EMPTY: u64 = 1 << 16;

impl File {
    /// Writes the value at a path as JSON, without a newline at the end. Numbers and text have the format of
    /// [`array::json`](binio::array::json). A struct becomes an object with its members, but without its
    /// parameters. An array of instances that differ in size becomes a nested list. If such instances have
    /// only one member, and this member is unnamed, as in counted text, each instance becomes the value of the
    /// member.
    ///
    /// ```
    /// use dudley::{File, Layout};
    ///
    /// let layout = Layout::parse("s = { N : u1  \"\" = S1[N] }[2]  p = { N : u1  x = u1[N]  y = i1 }")?;
    /// let file = File::from_bytes(b"\x02ab\x01c\x02\x05\x06\xff".to_vec(), layout)?;
    /// let json = |path| {
    ///     let mut out = Vec::new();
    ///     file.write_json(path, &mut out).map(|()| String::from_utf8_lossy(&out).into_owned())
    /// };
    /// assert_eq!(json("/s")?, r#"["ab", "c"]"#);
    /// assert_eq!(json("/p")?, r#"{"x":[5, 6],"y":-1}"#);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get), but does not fail for instances of different sizes. Also fails
    /// with [`Read`](ErrorKind::Read) if writing to `out` fails, if the elements cannot be read, or
    /// if an array of instances that differ in size has more than 65,536 empty ones.
    pub fn write_json(&self, path: &str, out: &mut dyn Write) -> Result<(), Error> {
        let (row, inside) = self.find(path)?;
        self.write_inside(row, &inside, path, out)
    }

    /// Writes the value of a row as JSON, like [`write_json`](Self::write_json).
    ///
    /// # Errors
    ///
    /// Same as [`write_json`](Self::write_json).
    pub fn write_row_json(&self, row: Row, out: &mut dyn Write) -> Result<(), Error> {
        let path = self.layout().subject_path(row.subject());
        self.write_inside(row, &[], &path, out)
    }

    fn write_inside(
        &self,
        row: Row,
        inside: &[Inside],
        path: &str,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let inputs = self.inputs();
        let mut inner = self.inner(&inputs);
        let stored = self.follow(&mut inner, row, inside, path)?;
        if stored.is_ragged(self.layout()) {
            // Write to a sink first, so that nothing is written to `out` if an instance cannot be
            // read.
            Values { file: self, row, path, out: &mut io::sink() }.value(&mut inner, &stored)?;
            let mut inner = self.inner(&inputs);
            return Values { file: self, row, path, out }.value(&mut inner, &stored).map(drop);
        }
        Values { file: self, row, path, out }.value(&mut inner, &stored).map(drop)
    }
}

/// A writer for the values of one row.
struct Values<'v> {
    file: &'v File,
    row: Row,
    path: &'v str,
    out: &'v mut dyn Write,
}

impl Values<'_> {
    /// Writes a value. Returns the size in bytes of a single instance whose size depends on its
    /// contents, and 0 for any other value. The recursion is bounded by the maximum nesting of
    /// types.
    fn value(&mut self, inner: &mut Inner<'_>, stored: &Stored) -> Result<u64, Error> {
        if !stored.is_ragged(self.file.layout()) {
            let array = self.file.to_array(inner, stored, self.row, self.path)?;
            array.write_elements(self.out, PrintStyle::Json, None)?;
            return Ok(0);
        }
        if stored.is_single() {
            return self.instance(inner, stored);
        }
        let Some((shape, mut address)) = stored.shape().zip(stored.address()) else {
            let reason = "its shape or address depends on the stream";
            return Err(ErrorKind::NotStrided { path: self.path.to_owned(), reason }.into());
        };
        let count = stored.count().unwrap_or(u64::MAX);
        if count == 0 {
            self.text("[]")?;
            return Ok(0);
        }
        let mut empty = 0;
        for index in 0..count {
            let (opened, closed) = brackets(shape, index);
            if index > 0 {
                self.text(", ")?;
            }
            self.text(&"[".repeat(opened))?;
            let nbytes = self.value(inner, &stored.instance_at(Some(address)))?;
            self.text(&"]".repeat(closed))?;
            address = address.saturating_add(nbytes);
            empty += u64::from(nbytes == 0);
            if empty > MAX_EMPTY {
                let what = "empty instances in one array";
                let error = ElementsError::Limit { what, limit: MAX_EMPTY, requested: count };
                return Err(binio::Error::from(error).into());
            }
        }
        Ok(0)
    }

    fn instance(&mut self, inner: &mut Inner<'_>, stored: &Stored) -> Result<u64, Error> {
        let layout = self.file.layout();
        let found = inner.parts(stored);
        let (parts, nbytes) =
            found.map_err(|trouble| to_error(layout, *trouble, self.row.subject()))?;
        let is_bare = stored.only_member(layout).is_some();
        let mut before = "{";
        for part in parts {
            let Field::Member(id) = part.field else { continue };
            if !is_bare {
                let name = serde_json::Value::from(layout.member_name(id));
                self.text(before)?;
                binio::array::write_json(&mut *self.out, &name).map_err(output)?;
                self.text(":")?;
                before = ",";
            }
            self.value(inner, &part.stored)?;
        }
        if !is_bare {
            self.text(if before == "{" { "{}" } else { "}" })?;
        }
        nbytes.ok_or_else(|| {
            let reason = "the size of an instance depends on an unknown value";
            ErrorKind::NotStrided { path: self.path.to_owned(), reason }.into()
        })
    }

    fn text(&mut self, text: &str) -> Result<(), Error> {
        self.out.write_all(text.as_bytes()).map_err(output)
    }
}

/// Returns the number of brackets to open before the element with this index, and the number to close after
/// it.
fn brackets(shape: &[u64], index: u64) -> (usize, usize) {
    let (mut opened, mut closed, mut span) = (0, 0, 1_u64);
    for &len in shape.iter().rev() {
        span = span.saturating_mul(len);
        opened += usize::from(index % span == 0);
        closed += usize::from((index + 1) % span == 0);
    }
    (opened, closed)
}

fn output(error: io::Error) -> Error {
    binio::Error::from(error).into()
}
