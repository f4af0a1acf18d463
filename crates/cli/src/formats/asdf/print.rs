//! Prints the elements of an array, row by row or as nested JSON, from pieces of bounded size.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::NdArray;
use asdf::ndarray::{Order, Slice};
use serde_json::Value;

use crate::failure::Failure;
use crate::values::{cell, element};

/// Pieces have about this many bytes, so that memory does not grow with the array.
const PIECE: u64 = 1 << 20;

/// Why printing ended: the array or standard output.
pub(super) enum PrintError {
    Array(asdf::Error),
    Io(io::Error),
}

impl PrintError {
    pub(super) fn of(self, file: &Path) -> Failure {
        match self {
            Self::Array(error) => Failure::asdf(file, error),
            Self::Io(error) => Failure::from(error),
        }
    }
}

impl From<asdf::Error> for PrintError {
    fn from(error: asdf::Error) -> Self {
        Self::Array(error)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Prints an array to standard output. Text: the last axis is a line, planes are set apart by an
/// empty line, masked elements are `--`. JSON: `{"dtype", "shape", "values"}`, masked are `null`.
pub(super) fn array(array: &NdArray<'_>, json: bool) -> Result<(), PrintError> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mask = array.mask()?;
    let masked = |index: usize| mask.as_ref().is_some_and(|mask| mask.get(index) == Some(&true));
    if json {
        let shape: Vec<String> = array.shape().iter().map(u64::to_string).collect();
        write!(
            out,
            "{{\"dtype\": {}, \"shape\": [{}], \"values\": ",
            array.dtype().descr_json(array.byteorder()),
            shape.join(", ")
        )?;
    }
    let mut punctuation = Punctuation::new(array.shape(), json);
    let size = usize::try_from(array.dtype().size()).unwrap_or(usize::MAX);
    let mut index = 0;
    for_each_piece(&array.to_decoded()?, |piece| {
        let mut bytes = &piece.read_bytes(Order::Little)?[..];
        // Counted, since elements such as texts of length 0 have no bytes.
        for _ in 0..piece.len() {
            let (item, rest) = bytes.split_at(size.min(bytes.len()));
            bytes = rest;
            punctuation.before(&mut out)?;
            let value = if masked(index) { Value::Null } else { element(array.dtype(), item) };
            match (json, &value) {
                (true, value) => serde_json::to_writer(&mut out, value).map_err(io::Error::from)?,
                (false, Value::Null) => out.write_all(b"--")?,
                (false, value) => out.write_all(cell(value).as_bytes())?,
            }
            punctuation.after(&mut out)?;
            index += 1;
        }
        Ok(())
    })?;
    punctuation.end(&mut out)?;
    if json {
        out.write_all(b"}\n")?;
    }
    Ok(out.flush()?)
}

/// Calls the body on consecutive parts of the array in C order, each of about `PIECE` bytes.
fn for_each_piece(
    array: &NdArray<'_>,
    mut body: impl FnMut(&NdArray<'_>) -> Result<(), PrintError>,
) -> Result<(), PrintError> {
    if array.is_empty() {
        return Ok(());
    }
    let shape = array.shape();
    let inner = |axis: usize| {
        shape[axis..].iter().fold(array.dtype().size(), |size, &n| size.saturating_mul(n))
    };
    // The outermost axis whose single steps fit into a piece is cut; those before it are walked.
    let Some(axis) =
        (0..shape.len()).find(|&axis| inner(axis + 1) <= PIECE || axis + 1 == shape.len())
    else {
        return body(array);
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
            body(&array.slice(&slices)?)?;
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
    fn text_has_the_last_axis_in_a_line_and_planes_apart() {
        assert_eq!(punctuated(&[2, 2, 2], false), "0 1\n2 3\n\n4 5\n6 7\n");
        assert_eq!(punctuated(&[3], false), "0 1 2\n");
        assert_eq!(punctuated(&[], false), "0\n");
    }
}
