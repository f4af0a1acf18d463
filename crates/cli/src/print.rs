//! Prints the elements of an array, row by row or as nested JSON.

use std::io::{self, BufWriter, StdoutLock, Write};

use binio::array::Style;
use binio::slice::Slice;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{Sink, write_json};
use crate::values::cell;

/// Prints an array to standard output, by a function that writes its elements. Text: the last axis is
/// a line, planes are set apart by an empty line, missing elements are `--`. JSON: `{"dtype", "shape",
/// "values"}`, missing elements are `null`.
pub(crate) fn array<E>(
    dtype: &str,
    shape: &[u64],
    json: bool,
    write: impl FnOnce(&mut dyn Write, Style) -> Result<(), E>,
    fail: impl FnOnce(E) -> Failure,
) -> Result<(), Failure> {
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = shape.join(", ");
    let prefix = json.then(|| format!("{{\"dtype\": {dtype}, \"shape\": [{shape}], \"values\": "));
    let out = BufWriter::new(io::stdout().lock());
    let mut out = Sink::new(Prefixed { prefix, out });
    let written = write(&mut out, if json { Style::Json } else { Style::Text });
    if json && written.is_ok() {
        out.write_all(b"}\n")?;
    }
    out.finish(written, fail, Failure::from)
}

/// A text before what is written, if anything is: what fails at once prints nothing.
struct Prefixed<W> {
    prefix: Option<String>,
    out: W,
}

impl<W: Write> Write for Prefixed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(prefix) = self.prefix.take() {
            self.out.write_all(prefix.as_bytes())?;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Pieces have about this many bytes, so that memory does not grow with the array.
const PIECE: u64 = 1 << 20;

/// The most elements or lists without bytes that are printed: a short file may claim any number.
const MAX_EMPTY: u64 = 1 << 24;

/// Prints an array to standard output, an element at a time in C order. Text: the last axis is a
/// line, planes are set apart by an empty line, missing elements are `--`. JSON: `{"dtype",
/// "shape", "values"}`, missing elements are `null`.
pub(crate) struct Elements {
    out: BufWriter<StdoutLock<'static>>,
    punctuation: Punctuation,
    json: bool,
}

impl Elements {
    /// Begins an array of a type, given as JSON text and by its size, and a shape.
    pub(crate) fn begin(dtype: &str, itemsize: u64, shape: &[u64], json: bool) -> io::Result<Self> {
        check_empty(itemsize, shape)?;
        let mut out = BufWriter::new(io::stdout().lock());
        if json {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            let shape = shape.join(", ");
            write!(out, "{{\"dtype\": {dtype}, \"shape\": [{shape}], \"values\": ")?;
        }
        Ok(Self { out, punctuation: Punctuation::new(shape, json), json })
    }

    /// The next element.
    pub(crate) fn put(&mut self, value: &Value) -> io::Result<()> {
        self.punctuation.before(&mut self.out)?;
        match (self.json, value) {
            (true, value) => write_json(&mut self.out, value)?,
            (false, Value::Null) => self.out.write_all(b"--")?,
            (false, value) => self.out.write_all(cell(value).as_bytes())?,
        }
        self.punctuation.after(&mut self.out)
    }

    /// Ends the array after its last element.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.punctuation.end(&mut self.out)?;
        if self.json {
            self.out.write_all(b"}\n")?;
        }
        self.out.flush()
    }
}

/// Fails for an array that has no bytes and endless elements, or lists of none.
fn check_empty(itemsize: u64, shape: &[u64]) -> io::Result<()> {
    let has_bytes = itemsize > 0 && !shape.contains(&0);
    let counts = shape.iter().take_while(|&&count| count > 0);
    let count = counts.fold(1, |product: u64, &count| product.saturating_mul(count));
    if has_bytes || count <= MAX_EMPTY {
        return Ok(());
    }
    let message = format!("{count} elements without bytes are too many to print");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Calls the body on slices that cut an array into consecutive parts in C order, each of about
/// `PIECE` bytes.
pub(crate) fn for_each_piece<E>(
    shape: &[u64],
    itemsize: u64,
    mut body: impl FnMut(&[Slice]) -> Result<(), E>,
) -> Result<(), E> {
    if shape.contains(&0) {
        return Ok(());
    }
    let inner =
        |axis: usize| shape[axis..].iter().fold(itemsize, |size, &n| size.saturating_mul(n));
    // The outermost axis whose single steps fit into a piece is cut; those before it are walked.
    let Some(axis) =
        (0..shape.len()).find(|&axis| inner(axis + 1) <= PIECE || axis + 1 == shape.len())
    else {
        return body(&[]);
    };
    let steps = (PIECE / inner(axis + 1).max(1)).max(1);
    let mut outer = vec![0u64; axis];
    loop {
        let mut start = 0;
        while start < shape[axis] {
            let stop = start.saturating_add(steps).min(shape[axis]);
            let mut slices: Vec<Slice> = outer.iter().map(|&at| Slice::Index(signed(at))).collect();
            slices.push(Slice::Range {
                start: Some(signed(start)),
                stop: Some(signed(stop)),
                step: 1,
            });
            body(&slices)?;
            start = stop;
        }
        let Some(turned) = (0..axis).rev().find(|&turned| outer[turned] + 1 < shape[turned]) else {
            return Ok(());
        };
        outer[turned] += 1;
        outer[turned + 1..].fill(0);
    }
}

/// A position in an array, which is below 2^63 since it is one of bytes that exist.
fn signed(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// What stands between elements: brackets and commas, or blanks and line ends.
struct Punctuation {
    shape: Vec<u64>,
    at: Vec<u64>,
    json: bool,
}

impl Punctuation {
    fn new(shape: &[u64], json: bool) -> Self {
        Self { shape: shape.to_vec(), at: vec![0; shape.len()], json }
    }

    fn before(&self, out: &mut impl Write) -> io::Result<()> {
        let opened = self.at.iter().rev().take_while(|&&at| at == 0).count();
        if self.json {
            let first = opened == self.at.len();
            if !first {
                out.write_all(b", ")?;
            }
            return out.write_all("[".repeat(opened).as_bytes());
        }
        if opened == 0 && !self.at.is_empty() {
            out.write_all(b" ")?;
        }
        Ok(())
    }

    fn after(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut closed = 0;
        for axis in (0..self.at.len()).rev() {
            self.at[axis] += 1;
            if self.at[axis] < self.shape[axis] {
                break;
            }
            self.at[axis] = 0;
            closed += 1;
        }
        if self.json {
            return out.write_all("]".repeat(closed).as_bytes());
        }
        let ends_all = closed == self.at.len();
        if closed > 0 || ends_all {
            out.write_all(b"\n")?;
        }
        if closed > 1 && !ends_all {
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Arrays without elements have no brackets yet.
    fn end(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.json || !self.shape.contains(&0) {
            return Ok(());
        }
        // To the axes before the first of 0, each of its empty lists is an element.
        let depth = self.shape.iter().position(|&n| n == 0).unwrap_or(0);
        let mut outer = Self::new(&self.shape[..depth], true);
        for _ in 0..outer.shape.iter().copied().fold(1, u64::saturating_mul) {
            outer.before(out)?;
            out.write_all(b"[]")?;
            outer.after(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn punctuated(shape: &[u64], json: bool) -> String {
        let mut out = Vec::new();
        let mut punctuation = Punctuation::new(shape, json);
        for n in 0..shape.iter().product::<u64>() {
            punctuation.before(&mut out).unwrap();
            write!(out, "{n}").unwrap();
            punctuation.after(&mut out).unwrap();
        }
        punctuation.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_nests_one_list_an_axis() {
        assert_eq!(punctuated(&[2, 3], true), "[[0, 1, 2], [3, 4, 5]]");
        assert_eq!(punctuated(&[], true), "0");
        assert_eq!(punctuated(&[2, 0], true), "[[], []]");
        assert_eq!(punctuated(&[0, 2], true), "[]");
        assert_eq!(punctuated(&[2, 1, 0, 3], true), "[[[]], [[]]]");
    }

    #[test]
    fn countless_empty_lists_take_no_memory() {
        /// Takes some bytes and then no more.
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
        assert!(Punctuation::new(&[u64::MAX, 0], true).end(&mut Full(1000)).is_err());
    }

    #[test]
    fn what_has_no_bytes_is_counted_before_it_is_printed() {
        for (itemsize, shape) in
            [(8, &[1 << 40][..]), (0, &[1 << 24]), (0, &[]), (8, &[0, 1 << 40])]
        {
            assert!(check_empty(itemsize, shape).is_ok(), "{itemsize} {shape:?}");
        }
        for (itemsize, shape) in
            [(0, &[1 << 40][..]), (8, &[1 << 40, 0]), (8, &[1 << 63, 1 << 63, 0, 2])]
        {
            assert!(check_empty(itemsize, shape).is_err(), "{itemsize} {shape:?}");
        }
    }

    #[test]
    fn text_has_the_last_axis_in_a_line_and_planes_apart() {
        assert_eq!(punctuated(&[2, 2, 2], false), "0 1\n2 3\n\n4 5\n6 7\n");
        assert_eq!(punctuated(&[3], false), "0 1 2\n");
        assert_eq!(punctuated(&[], false), "0\n");
    }
}
