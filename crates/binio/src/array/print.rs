//! Writing the elements of an array as text, JSON or CSV.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;

use crate::array::buffer::zeroed;
use crate::array::swap::Swap;
use crate::array::{Array, Data, Datatype, ElementsError, Order, Slice, Strided, json, read};

/// Approximate size in bytes of the pieces in which elements are read. Reading in pieces keeps
/// memory use independent of the size of the array.
const PIECE: u64 = 1 << 20;

/// Maximum number of elements without bytes, or of empty lists, to print. Even a short file may
/// claim any number of them.
const MAX_EMPTY: u64 = 1 << 24;

/// Maximum number of elements without bytes, or of empty lists, to print for one field of a record.
const MAX_EMPTY_ITEMS: u64 = 1 << 16;

/// Maximum number of elements in an array that is printed completely instead of summarised.
const SUMMARY: u64 = 1000;

/// Number of elements shown at each end of an axis in a summary.
const EDGE: u64 = 3;

/// Maximum number of elements to print if they share so many bytes that their total size exceeds
/// their extent.
const MAX_REPEATED: u64 = 1 << 24;

/// Maximum number of lines with elements in a summary.
const MAX_LINES: usize = 1000;

/// The format in which elements are written. Masked elements are written as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrintStyle {
    /// Nested lists of [JSON](json::element), without a newline at the end. Missing elements are
    /// `null`. Control characters from U+007F upwards are escaped too, because some terminals
    /// interpret them.
    Json,
    /// Plain text. Each line contains the elements along the last axis, and an empty line separates
    /// planes. Complex numbers look like `1.0+2.0j`, and records are JSON objects. Missing elements
    /// are `--`.
    Text,
    /// CSV according to RFC 4180, but with line feeds only. Each line contains the elements along
    /// the last axis. In an array of records, each line contains one record, and the first line
    /// contains the names of the fields. Missing elements are empty.
    Csv,
}

/// A writer of consecutive elements, which adds brackets and commas, or spaces and newlines.
struct Printer<'w> {
    out: &'w mut dyn Write,
    style: PrintStyle,
    datatype: &'w Datatype,
    shape: &'w [u64],
    /// The index of the next element on each axis.
    at: Vec<u64>,
}

impl<'w> Printer<'w> {
    fn new(
        out: &'w mut dyn Write,
        style: PrintStyle,
        datatype: &'w Datatype,
        shape: &'w [u64],
    ) -> Result<Self, ElementsError> {
        check_empty(datatype.itemsize(), shape, MAX_EMPTY)?;
        check_empty_fields(datatype)?;
        let mut printer = Self { out, style, datatype, shape, at: vec![0; shape.len()] };
        printer.begin()?;
        Ok(printer)
    }

    fn begin(&mut self) -> io::Result<()> {
        let (PrintStyle::Csv, Some(record)) = (self.style, self.datatype.as_record()) else {
            return Ok(());
        };
        for (i, field) in record.fields().iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(self.out, "{comma}{}", quoted(field.name().to_owned()))?;
        }
        self.out.write_all(b"\n")
    }

    /// Writes the next element. `bytes` is `None` if the element is missing.
    fn put(&mut self, bytes: Option<&[u8]>) -> io::Result<()> {
        self.before()?;
        let value = bytes.map_or(Value::Null, |bytes| json::element(self.datatype, bytes));
        match (self.style, &value) {
            (PrintStyle::Json, value) => write_json(&mut *self.out, value)?,
            (PrintStyle::Text, Value::Null) => self.out.write_all(b"--")?,
            (PrintStyle::Text, value) => self.out.write_all(cell(value).as_bytes())?,
            (PrintStyle::Csv, value) => self.put_csv(value)?,
        }
        self.after()
    }

    fn put_csv(&mut self, value: &Value) -> io::Result<()> {
        let Some(record) = self.datatype.as_record() else {
            return self.out.write_all(csv_cell(value).as_bytes());
        };
        for (i, field) in record.fields().iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let cell = value.get(field.name()).map(csv_cell).unwrap_or_default();
            write!(self.out, "{comma}{cell}")?;
        }
        Ok(())
    }

    fn before(&mut self) -> io::Result<()> {
        let opened = self.at.iter().rev().take_while(|&&at| at == 0).count();
        match self.style {
            PrintStyle::Json => {
                if opened < self.at.len() {
                    self.out.write_all(b", ")?;
                }
                self.out.write_all("[".repeat(opened).as_bytes())
            }
            _ if opened > 0 || self.at.is_empty() => Ok(()),
            PrintStyle::Csv if self.datatype.as_record().is_some() => Ok(()),
            PrintStyle::Csv => self.out.write_all(b","),
            PrintStyle::Text => self.out.write_all(b" "),
        }
    }

    fn after(&mut self) -> io::Result<()> {
        let mut closed = 0;
        for (at, &count) in self.at.iter_mut().zip(self.shape).rev() {
            *at += 1;
            if *at < count {
                break;
            }
            *at = 0;
            closed += 1;
        }
        let ends_all = closed == self.at.len();
        let ends_line = match self.style {
            PrintStyle::Json => return self.out.write_all("]".repeat(closed).as_bytes()),
            PrintStyle::Csv => closed > 0 || ends_all || self.datatype.as_record().is_some(),
            PrintStyle::Text => closed > 0 || ends_all,
        };
        if ends_line {
            self.out.write_all(b"\n")?;
        }
        if self.style == PrintStyle::Text && closed > 1 && !ends_all {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Finishes the output after the last element. If the array has no elements, this writes its
    /// JSON brackets.
    fn end(&mut self) -> io::Result<()> {
        if self.style != PrintStyle::Json || !self.shape.contains(&0) {
            return Ok(());
        }
        // Print one `[]` for each combination of indices on the axes before the first axis of
        // length 0.
        let depth = self.shape.iter().position(|&count| count == 0).unwrap_or(0);
        let shape = &self.shape[..depth];
        let (datatype, style) = (self.datatype, self.style);
        let mut outer = Printer { out: self.out, style, datatype, shape, at: vec![0; depth] };
        for _ in 0..shape.iter().copied().fold(1, u64::saturating_mul) {
            outer.before()?;
            outer.out.write_all(b"[]")?;
            outer.after()?;
        }
        Ok(())
    }
}

impl<D: Data> Array<D> {
    /// Writes all elements in C order in the given [style](PrintStyle). `mask` contains one value
    /// per element, in the same order; `true` marks a missing element. The elements are read in
    /// pieces.
    ///
    /// ```
    /// use binio::{Bytes, Limits};
    /// use binio::array::{Array, Datatype, Order, Strided, PrintStyle};
    ///
    /// let layout = Strided::packed(vec![2, 3], Order::C, 0, 1, 6)?;
    /// let data = Bytes::from_static(&[1, 2, 3, 4, 5, 6]);
    /// let array = Array::new(data, Datatype::of::<u8>(), layout, Limits::default())?;
    /// let written = |style, mask| {
    ///     let mut out = Vec::new();
    ///     array.write_elements(&mut out, style, mask).map(|()| String::from_utf8_lossy(&out).into_owned())
    /// };
    /// assert_eq!(written(PrintStyle::Json, None)?, "[[1, 2, 3], [4, 5, 6]]");
    /// assert_eq!(written(PrintStyle::Csv, None)?, "1,2,3\n4,5,6\n");
    /// let mask = [false, true, false, false, false, false];
    /// assert_eq!(written(PrintStyle::Text, Some(&mask))?, "1 -- 3\n4 5 6\n");
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`for_each_piece`](Self::for_each_piece). Also fails with [`ElementsError::Output`]
    /// if `out` cannot be written, and with [`ElementsError::Shape`] for more than 2^24 empty lists
    /// or elements without bytes, or for more than 2^16 of either in a field of a record. Fails
    /// with [`ElementsError::Limit`] for more than 2^24 elements if they share so many bytes that
    /// their total size exceeds their [`extent`](Strided::extent).
    pub fn write_elements(
        &self,
        out: &mut dyn Write,
        style: PrintStyle,
        mask: Option<&[bool]>,
    ) -> Result<(), D::Error> {
        let extent = self.layout().extent();
        let is_repeated =
            self.layout().byte_size().is_none_or(|size| size > extent.end - extent.start);
        if is_repeated && self.len() > MAX_REPEATED {
            let (what, limit, requested) = ("repeated elements to print", MAX_REPEATED, self.len());
            return Err(ElementsError::Limit { what, limit, requested }.into());
        }
        let mut printer = Printer::new(out, style, self.datatype(), self.shape())?;
        let mut masks = mask.into_iter().flatten().copied().chain(std::iter::repeat(false));
        let mut put = |item: &[u8]| {
            let item = if masks.next() == Some(true) { None } else { Some(item) };
            printer.put(item).map_err(ElementsError::from)
        };
        let itemsize = usize::try_from(self.datatype().itemsize()).unwrap_or(usize::MAX);
        if itemsize == 0 {
            // Elements without bytes, such as strings of length 0, cannot be read in pieces, so
            // count them.
            for _ in 0..self.len() {
                put(&[])?;
            }
        } else {
            self.for_each_piece(Order::C, PIECE, true, |bytes| {
                Ok(bytes.chunks(itemsize).try_for_each(&mut put)?)
            })?;
        }
        printer.end().map_err(|error| ElementsError::from(error).into())
    }

    /// Writes the elements like [`PrintStyle::Text`]. For more than 1,000 elements, writes only the
    /// first three and the last three along each axis, with `...` between them, and at most 1,000
    /// lines with elements. Only these elements are read. `mask` contains one value per element, in
    /// C order; `true` marks a missing element.
    ///
    /// ```
    /// use binio::{Bytes, Limits};
    /// use binio::array::{Array, Datatype, Order, Strided};
    ///
    /// let layout = Strided::packed(vec![4096], Order::C, 0, 2, 8192)?;
    /// let array = Array::new(Bytes::from(vec![0; 8192]), Datatype::of::<u16>(), layout, Limits::default())?;
    /// let mut out = Vec::new();
    /// array.write_summary(&mut out, None)?;
    /// assert_eq!(out, b"0 0 0 ... 0 0 0\n");
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`write_elements`](Self::write_elements) for at most 1,000 elements. For more
    /// elements, fails with [`ElementsError::Output`] if `out` cannot be written, with
    /// [`ElementsError::Shape`] for more than 2^16 empty lists or elements without bytes in a field
    /// of a record, with [`ElementsError::Memory`] if there is not enough memory for an element,
    /// and with the error of the data if the elements cannot be read.
    pub fn write_summary(
        &self,
        out: &mut dyn Write,
        mask: Option<&[bool]>,
    ) -> Result<(), D::Error> {
        if self.len() <= SUMMARY {
            return self.write_elements(out, PrintStyle::Text, mask);
        }
        check_empty_fields(self.datatype())?;
        self.summarise(self.layout(), out, mask, &mut 0)
    }

    /// Writes the lines of one part of the array. The recursion depth is the number of axes, which
    /// is at most 64.
    fn summarise(
        &self,
        layout: &Strided,
        out: &mut dyn Write,
        mask: Option<&[bool]>,
        lines: &mut usize,
    ) -> Result<(), D::Error> {
        let output = |error: io::Error| D::Error::from(ElementsError::from(error));
        let Some((&count, inner)) = layout.shape().split_first() else { return Ok(()) };
        let is_cut = count > 2 * EDGE;
        let shown = if is_cut { 2 * EDGE } else { count };
        let position = |i: u64| if is_cut && i >= EDGE { count - shown + i } else { i };
        for i in 0..shown {
            if *lines >= MAX_LINES {
                return Ok(());
            }
            let gap = is_cut && i == EDGE;
            let index = i64::try_from(position(i)).unwrap_or(i64::MAX);
            let part = layout.slice(&[Slice::Index(index)])?;
            let mask = mask.map(|mask| {
                let len = mask.len() / usize::try_from(count).unwrap_or(usize::MAX).max(1);
                let start = usize::try_from(position(i)).unwrap_or(usize::MAX).saturating_mul(len);
                mask.get(start..).and_then(|mask| mask.get(..len)).unwrap_or_default()
            });
            if inner.is_empty() {
                let text = if mask.and_then(|mask| mask.first()) == Some(&true) {
                    "--".to_owned()
                } else {
                    let size = usize::try_from(part.itemsize()).unwrap_or(usize::MAX);
                    let mut bytes = zeroed(size)?;
                    read::fill(self.data(), &part, &Swap::None, &mut bytes)?;
                    cell(&json::element(self.datatype(), &bytes))
                };
                let between = if i > 0 { " " } else { "" };
                let dots = if gap { "... " } else { "" };
                write!(out, "{between}{dots}{text}").map_err(output)?;
                continue;
            }
            if i > 0 && inner.len() > 1 {
                out.write_all(b"\n").map_err(output)?;
            }
            if gap {
                let end = if inner.len() > 1 { "...\n\n" } else { "...\n" };
                out.write_all(end.as_bytes()).map_err(output)?;
            }
            self.summarise(&part, out, mask, lines)?;
            if *lines >= MAX_LINES {
                return Ok(());
            }
        }
        if inner.is_empty() {
            *lines += 1;
            let end: &[u8] = if *lines == MAX_LINES { b"\n...\n" } else { b"\n" };
            out.write_all(end).map_err(output)?;
        }
        Ok(())
    }
}

/// Fails if an array without bytes has more than `limit` elements or empty lists.
fn check_empty(itemsize: u64, shape: &[u64], limit: u64) -> Result<(), ElementsError> {
    let has_bytes = itemsize > 0 && !shape.contains(&0);
    let counts = shape.iter().take_while(|&&count| count > 0);
    let count = counts.fold(1, |product: u64, &count| product.saturating_mul(count));
    if has_bytes || count <= limit {
        return Ok(());
    }
    let message = format!(
        "{count} empty lists or elements without bytes are too many to print: the limit is {limit}"
    );
    Err(ElementsError::Shape(message))
}

fn check_empty_fields(datatype: &Datatype) -> Result<(), ElementsError> {
    let Some(record) = datatype.as_record() else { return Ok(()) };
    record.fields().iter().try_for_each(|field| {
        check_empty(field.datatype().itemsize(), field.shape(), MAX_EMPTY_ITEMS)?;
        check_empty_fields(field.datatype())
    })
}

/// Formats a JSON value as plain text: strings without quotes, complex numbers as `1.0+2.0j`, and
/// everything else as JSON.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => {
            match map.get("$complex").and_then(Value::as_array).map(Vec::as_slice) {
                Some([re, im]) => {
                    let im = cell(im);
                    let sign = if im.starts_with('-') { "" } else { "+" };
                    format!("{}{sign}{im}j", cell(re))
                }
                _ => value.to_string(),
            }
        }
        _ => value.to_string(),
    }
}

/// Formats a JSON value as a CSV cell: complex numbers as `1.0+2.0j`, `null` as an empty cell, and
/// lists and objects as JSON. The cell is quoted only if necessary.
pub fn csv_cell(value: &Value) -> String {
    if value.is_null() { String::new() } else { quoted(cell(value)) }
}

fn quoted(cell: String) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

/// Writes a JSON value on one line, and escapes every control character. JSON itself does not
/// require this for U+007F to U+009F, but some terminals interpret these characters.
///
/// # Errors
///
/// Fails with the error of `out` if it cannot be written.
pub fn write_json(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Escaped);
    Ok(value.serialize(&mut serializer)?)
}

struct Escaped;

impl serde_json::ser::Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        escape_controls(out, fragment)
    }
}

/// Writes all or part of a JSON text, and escapes the control characters from U+007F upwards. The
/// control characters below U+0020 are already escaped in the strings of any JSON text.
///
/// # Errors
///
/// Same as [`write_json`].
pub fn escape_controls<W: ?Sized + Write>(out: &mut W, json: &str) -> io::Result<()> {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c.is_control() && c >= '\u{7f}') {
        let (plain, special) = rest.split_at(at);
        out.write_all(plain.as_bytes())?;
        let mut characters = special.chars();
        if let Some(control) = characters.next() {
            write!(out, "\\u{:04x}", u32::from(control))?;
        }
        rest = characters.as_str();
    }
    out.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Limits};

    fn array(datatype: &str, shape: &[u64], bytes: Vec<u8>) -> Array<Bytes> {
        let datatype = Datatype::parse(datatype).unwrap();
        let (itemsize, len) = (datatype.itemsize(), bytes.len() as u64);
        let layout = Strided::packed(shape.to_vec(), Order::C, 0, itemsize, len).unwrap();
        Array::new(bytes.into(), datatype, layout, Limits::default()).unwrap()
    }

    fn written(array: &Array<Bytes>, style: PrintStyle) -> String {
        let mut out = Vec::new();
        array.write_elements(&mut out, style, None).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn counted(shape: &[u64], style: PrintStyle) -> String {
        let len = u8::try_from(shape.iter().product::<u64>()).unwrap();
        written(&array("|u1", shape, (0..len).collect()), style)
    }

    #[test]
    fn json_has_one_level_of_nested_lists_per_axis() {
        assert_eq!(counted(&[2, 3], PrintStyle::Json), "[[0, 1, 2], [3, 4, 5]]");
        assert_eq!(counted(&[], PrintStyle::Json).len(), 1);
        assert_eq!(counted(&[2, 0], PrintStyle::Json), "[[], []]");
        assert_eq!(counted(&[0, 2], PrintStyle::Json), "[]");
        assert_eq!(counted(&[2, 1, 0, 3], PrintStyle::Json), "[[[]], [[]]]");
    }

    #[test]
    fn text_has_one_line_per_row_and_an_empty_line_between_planes() {
        assert_eq!(counted(&[2, 2, 2], PrintStyle::Text), "0 1\n2 3\n\n4 5\n6 7\n");
        assert_eq!(counted(&[3], PrintStyle::Text), "0 1 2\n");
        assert_eq!(counted(&[], PrintStyle::Text), "0\n");
        let complex = [1f64.to_le_bytes(), (-2f64).to_le_bytes()].concat();
        assert_eq!(written(&array("<c16", &[], complex), PrintStyle::Text), "1.0-2.0j\n");
    }

    #[test]
    fn csv_has_one_line_per_row_or_record() {
        assert_eq!(counted(&[2, 2, 2], PrintStyle::Csv), "0,1\n2,3\n4,5\n6,7\n");
        let texts = array("|S3", &[1, 3], b"a,b\"c\"d\ne".to_vec());
        assert_eq!(written(&texts, PrintStyle::Csv), "\"a,b\",\"\"\"c\"\"\",\"d\ne\"\n");
        let records = array("[('x,', '|u1'), ('y', '|u1', (2,))]", &[2], vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(written(&records, PrintStyle::Csv), "\"x,\",y\n1,\"[2,3]\"\n4,\"[5,6]\"\n");
    }

    #[test]
    fn control_characters_are_escaped_in_json() {
        let text = "a\u{7f}b\u{9b}é".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(written(&array("<U5", &[], text), PrintStyle::Json), r#""a\u007fb\u009bé""#);
    }

    #[test]
    fn every_control_character_in_a_json_value_is_escaped() {
        let value = serde_json::json!({"\u{9b}k": ["a\u{1b}\u{7f}b\u{80}é\u{9f}", 1.5, null]});
        let mut out = Vec::new();
        write_json(&mut out, &value).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"{"\u009bk":["a\u001b\u007fb\u0080é\u009f",1.5,null]}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn missing_elements_are_marked_in_every_style() {
        let array = array("|u1", &[3], vec![1, 2, 3]);
        for (style, expected) in [
            (PrintStyle::Json, "[1, null, 3]"),
            (PrintStyle::Text, "1 -- 3\n"),
            (PrintStyle::Csv, "1,,3\n"),
        ] {
            let mut out = Vec::new();
            array.write_elements(&mut out, style, Some(&[false, true, false])).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn elements_without_bytes_are_only_printed_up_to_a_limit() {
        assert_eq!(
            written(&array("|S0", &[2, 2], vec![]), PrintStyle::Json),
            r#"[["", ""], ["", ""]]"#
        );
        let mut out = Vec::new();
        for (datatype, shape) in [("|S0", &[1 << 40][..]), ("<f8", &[1 << 40, 0])] {
            let endless = array(datatype, shape, vec![]);
            assert!(endless.write_elements(&mut out, PrintStyle::Json, None).is_err(), "{shape:?}");
        }
        assert_eq!(out, b"");
    }

    #[test]
    fn printing_many_empty_lists_stops_when_the_writer_fails() {
        /// A writer that fails after the given number of bytes.
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lists = array("<f8", &[1 << 24, 0], vec![]);
        let error = lists.write_elements(&mut Full(1000), PrintStyle::Json, None).unwrap_err();
        assert!(matches!(error.kind(), crate::ErrorKind::Io(_)), "{error}");
    }

    fn summary(shape: &[u64]) -> String {
        let len = shape.iter().product::<u64>();
        let bytes = (0..len).flat_map(|i| u32::try_from(i).unwrap().to_le_bytes()).collect();
        let mut out = Vec::new();
        array("<u4", shape, bytes).write_summary(&mut out, None).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn summaries_of_large_arrays_show_only_the_edges() {
        assert_eq!(summary(&[1000]).lines().count(), 1);
        assert!(!summary(&[1000]).contains("..."));
        assert_eq!(summary(&[1001]), "0 1 2 ... 998 999 1000\n");
        assert_eq!(
            summary(&[500, 4]),
            "0 1 2 3\n4 5 6 7\n8 9 10 11\n...\n1988 1989 1990 1991\n1992 1993 1994 1995\n\
             1996 1997 1998 1999\n"
        );
        assert_eq!(
            summary(&[2, 1, 1000]),
            "0 1 2 ... 997 998 999\n\n1000 1001 1002 ... 1997 1998 1999\n"
        );
        let planes = summary(&[7, 2, 100]);
        assert_eq!(planes.matches("\n...\n").count(), 1, "{planes}");
    }

    #[test]
    fn long_summaries_end_with_an_ellipsis() {
        let text = summary(&[2; 14]);
        assert!(text.ends_with("\n...\n"));
        assert!(text.lines().filter(|line| !line.is_empty()).count() <= MAX_LINES + 1);
    }
}
