//! netCDF-3 files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and offsets).
//!
//! ```text
//! header      "CDF" version  numrecs  dimensions  attributes  variables
//! dimensions  0 0 | 10 count { name length }                    length 0 for the record dimension
//! attributes  0 0 | 12 count { name type count values }
//! variables   0 0 | 11 count { name count {dimension} attributes type vsize begin }
//! name        length { byte }                                   padded to a multiple of 4, like values
//! ```
//!
//! Numbers are big-endian. The version takes 1 byte, and each tag or type takes 4 bytes. All other numbers take
//! 8 bytes in CDF-5 and 4 bytes in CDF-1 and CDF-2, except that `begin` takes 8 bytes in CDF-2.
//!
//! Each record of a file contains one part of every record variable. Each part is padded to a multiple of 4
//! bytes, unless there is only one record variable. Together, the records form an array of structs:
//!
//! ```text
//! numrecs : i4 @4
//! "" = { %4  time = f8 @0  t = f4[3] @8 }[numrecs] @200
//! ```
//!
//! The layout reads the number of records from the file, so it remains correct when records are added. If the
//! file was written as a stream, all bytes of the number are `ff`, and the number of records is computed from
//! the size of the file instead.
//!
//! `vsize` is ignored, because it cannot represent the size of large variables.

use std::fmt::Write as _;

use binio::diagnostic::count;
use binio::number::ByteReader;
use binio::{Endian, ReadAt};

use super::imported::{Imported, Names, damaged, no_layout_for, past_end, path_of};
use crate::error::{Error, ErrorKind};
use crate::layout::{Attribute, Value, attributes};
use crate::text::{format, quote};

const FORMAT: &str = "netCDF";
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

/// Number of bytes to read at first. It is doubled until the whole header has been read.
const FIRST_PIECE: u64 = 1 << 16;

/// Maximum length of a name in bytes, as in the netCDF library.
const MAX_NAME: u64 = 256;

/// Maximum number of dimensions in a layout.
const MAX_DIMS: usize = 255;

/// The Dudley name of each netCDF type, and its size in bytes. The types are in order of their
/// numbers, which start at 1. Text is `S1`.
const TYPES: [(&str, u64); 11] = [
    ("i1", 1),
    ("S1", 1),
    ("i2", 2),
    ("i4", 4),
    ("f4", 4),
    ("f8", 8),
    ("u1", 1),
    ("u2", 2),
    ("u4", 4),
    ("i8", 8),
    ("u8", 8),
];
const TEXT: &str = "S1";

/// Creates a layout for a netCDF-3 file. Each variable becomes an item, except that record variables
/// become members of the item `""`. Like other variables, they can then be found by their names alone.
/// The number of records is read from the file, unless the file was written as a stream. All
/// attributes are copied. An additional attribute `dims` lists the names of a variable's dimensions.
///
/// # Errors
///
/// Fails with [`Import`](crate::ErrorKind::Import) if the header is damaged, with
/// [`Read`](crate::ErrorKind::Read) if the file cannot be read, and with [`Layout`](crate::ErrorKind::Layout)
/// if a dimension is too large for a layout.
pub fn from_netcdf(file: &dyn ReadAt) -> Result<Imported, Error> {
    let header = Header::read(file)?;
    let mut out = Out { text: ">\n".to_owned(), errors: Vec::new(), len: file.len() };
    push_attributes(&mut out.text, &header.attributes);
    for variable in header.variables.iter().filter(|variable| !variable.is_record) {
        out.variable(variable);
    }
    header.push_records(&mut out)?;
    Ok(Imported { layout: format(out.text)?, errors: out.errors })
}

/// The text of the layout so far, the errors found, and the length of the file.
struct Out {
    text: String,
    errors: Vec<Error>,
    len: u64,
}

impl Out {
    fn variable(&mut self, variable: &Variable) {
        let Some(nbytes) = variable.nbytes else { return self.too_large(variable) };
        push_variable(&mut self.text, variable, variable.begin);
        let path = path_of(&variable.name);
        self.errors.extend(past_end(path, variable.begin, nbytes, self.len));
    }

    fn too_large(&mut self, variable: &Variable) {
        let reason = if variable.shape.len() > MAX_DIMS {
            format!(
                "it has {} dimensions, but a layout supports at most {MAX_DIMS}",
                variable.shape.len()
            )
        } else {
            "it ends beyond byte 2^63-1".to_owned()
        };
        self.errors.push(no_layout_for(path_of(&variable.name), reason));
    }
}

/// The content of a header.
struct Header {
    /// Number of records, or `None` if it was unknown when the header was written.
    numrecs: Option<u64>,
    /// Whether sizes take 8 bytes instead of 4.
    is_wide: bool,
    attributes: Vec<Attribute>,
    variables: Vec<Variable>,
}

struct Variable {
    name: String,
    datatype: &'static str,
    is_record: bool,
    /// Lengths of the dimensions, except for the record dimension.
    shape: Vec<u64>,
    /// Names of all dimensions.
    dims: Vec<String>,
    /// Size in bytes of the array or, for a record variable, of its part in one record. `None` if
    /// the size or the number of dimensions is too large for a layout.
    nbytes: Option<u64>,
    begin: u64,
    attributes: Vec<Attribute>,
}

impl Header {
    /// Reads and parses an increasing number of bytes until they contain the whole header. The
    /// length of the header is known only after parsing.
    fn read(file: &dyn ReadAt) -> Result<Self, Error> {
        let mut len = FIRST_PIECE;
        loop {
            let piece = usize::try_from(len.min(file.len())).unwrap_or(usize::MAX);
            let parsed = Self::parse(&file.bytes_at(0, piece)?);
            match parsed.as_ref().err().and_then(missing) {
                None => return parsed,
                Some(_) if len < file.len() => len = len.saturating_mul(2),
                Some((offset, needed, left)) => {
                    let message = format!(
                        "a field of the header needs {}, but only {left} are left in the file",
                        count(needed, "byte")
                    );
                    return Err(damaged(FORMAT, offset, message));
                }
            }
        }
    }

    /// Parses the header at the beginning of `bytes`.
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut bytes = ByteReader::new(bytes);
        let [b'C', b'D', b'F', version @ (1 | 2 | 5)] = bytes.array()? else {
            return Err(damaged(FORMAT, 0, "expected \"CDF\" and the version 1, 2 or 5"));
        };
        let is_wide = version == 5;
        let mut reader = HeaderReader { bytes, is_wide };
        let streaming = if is_wide { u64::MAX } else { u64::from(u32::MAX) };
        let numrecs = Some(reader.size()?).filter(|&count| count != streaming);
        let dims = reader.dims()?;
        let attributes = reader.attributes()?;
        let mut variables = Vec::new();
        let mut names = Names::default();
        for _ in 0..reader.count(VARIABLES, "variables")? {
            let variable = reader.variable(&dims, version > 1)?;
            names.add(&variable.name, FORMAT, reader.bytes.offset())?;
            variables.push(variable);
        }
        Ok(Self { numrecs, is_wide, attributes, variables })
    }

    /// Appends the array of structs that contains all record variables.
    fn push_records(&self, out: &mut Out) -> Result<(), Error> {
        let mut variables: Vec<&Variable> =
            self.variables.iter().filter(|variable| variable.is_record).collect();
        let single = variables.len() == 1;
        variables.retain(|variable| {
            if variable.nbytes.is_none() {
                out.too_large(variable);
            }
            variable.nbytes.is_some()
        });
        if variables.is_empty() {
            return Ok(());
        }
        variables.sort_by_key(|variable| variable.begin);
        let start = variables[0].begin;
        let padded = |nbytes: u64| if single { nbytes } else { nbytes.next_multiple_of(4) };
        let sizes = variables.iter().map(|variable| variable.nbytes.unwrap_or(0));
        let record = sizes.clone().try_fold(0_u64, |sum, nbytes| sum.checked_add(padded(nbytes)));
        let end = variables
            .iter()
            .zip(sizes)
            .map(|(variable, nbytes)| (variable.begin - start).checked_add(nbytes));
        let end = end.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
        let fits = record.zip(end).filter(|&(record, end)| {
            end <= record && i64::try_from(start.saturating_add(record)).is_ok()
        });
        let Some((record, end)) = fits else {
            let message =
                "the record variables are too large or too far apart to fit into one record";
            return Err(damaged(FORMAT, start, message));
        };
        let stored = out.len.saturating_sub(start) / record.max(1);
        let count = self.numrecs.unwrap_or(stored);
        let name = self.count_name();
        match (self.numrecs, self.is_wide) {
            (None, _) => {
                let _ =
                    writeln!(out.text, "{name} : {stored}  ## computed from the size of the file");
            }
            (_, true) => {
                let _ = writeln!(out.text, "{name} : i8 @4");
            }
            (_, false) => {
                let _ = writeln!(out.text, "{name} : i4 @4");
            }
        }
        let _ = writeln!(out.text, "\"\" = {{ %{}", if single { 1 } else { 4 });
        for variable in &variables {
            push_variable(&mut out.text, variable, variable.begin - start);
        }
        if padded(end) < record {
            let name = self.free_name("padding");
            let _ = writeln!(out.text, "{name} = u1[{}] @{end}", record - end);
        }
        let _ = writeln!(out.text, "}}[{name}] @{start}");
        if count > 0 {
            // The padding of the last record may be missing, so require only the data before it.
            let nbytes = u128::from(count - 1) * u128::from(record) + u128::from(end);
            let nbytes = u64::try_from(nbytes).unwrap_or(u64::MAX);
            out.errors.extend(past_end(path_of(""), start, nbytes, out.len));
        }
        Ok(())
    }

    /// Returns the name of the parameter for the number of records.
    fn count_name(&self) -> String {
        self.free_name("numrecs")
    }

    /// Returns a name that no variable has, by appending `_` to `name` as often as necessary.
    fn free_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.variables.iter().any(|variable| variable.name == name) {
            name.push('_');
        }
        name
    }
}

/// Appends `name = type[shape] @address` and the attributes.
fn push_variable(out: &mut String, variable: &Variable, address: u64) {
    quote::push_name(out, &variable.name);
    let _ = write!(out, " = {}", variable.datatype);
    let mut dims: Vec<String> = variable.shape.iter().map(ToString::to_string).collect();
    if dims.is_empty() && variable.datatype == TEXT {
        // The last dimension of text is the length of the strings, so a single character needs a
        // dimension of length 1.
        dims.push("1".to_owned());
    }
    if !dims.is_empty() {
        let _ = write!(out, "[{}]", dims.join(", "));
    }
    let _ = write!(out, " @{address}");
    if variable.dims.is_empty() {
        out.push('\n');
    } else {
        let value = Value::Texts(variable.dims.clone());
        push_attributes(out, &[Attribute { name: "dims".to_owned(), value }]);
    }
    push_attributes(out, &variable.attributes);
}

fn push_attributes(out: &mut String, list: &[Attribute]) {
    for attribute in list {
        out.push_str("  #: ");
        attributes::push(out, attribute);
        out.push('\n');
    }
}

/// A dimension. The record dimension has no length.
struct Dim {
    name: String,
    len: Option<u64>,
}

/// If the error says that bytes are missing, returns the offset, the number of bytes needed there,
/// and the number of bytes available.
fn missing(error: &Error) -> Option<(u64, u64, u64)> {
    let ErrorKind::Read(read) = error.kind() else { return None };
    let &binio::ErrorKind::Truncated { needed, available } = read.kind() else { return None };
    Some((error.offset().unwrap_or(0), needed, available))
}

/// A reader for the fields of a header.
struct HeaderReader<'b> {
    bytes: ByteReader<'b>,
    /// Whether sizes take 8 bytes instead of 4.
    is_wide: bool,
}

impl HeaderReader<'_> {
    /// Reads a size, count or offset, which takes 8 bytes if `is_wide` is set, otherwise 4.
    fn number(&mut self, is_wide: bool) -> Result<u64, Error> {
        if is_wide {
            return Ok(self.bytes.read(Endian::Big)?);
        }
        Ok(self.bytes.read::<u32>(Endian::Big)?.into())
    }

    /// Reads a size or a count.
    fn size(&mut self) -> Result<u64, Error> {
        self.number(self.is_wide)
    }

    /// Reads `len` bytes and skips the padding to a multiple of 4.
    fn padded(&mut self, len: u64) -> Result<Vec<u8>, Error> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = self.bytes.take(len)?.to_vec();
        // Some files end without the last padding, so do not require it.
        let padding = len.next_multiple_of(4) - len;
        self.bytes.skip(padding.min(self.bytes.remaining()))?;
        Ok(bytes)
    }

    fn name(&mut self) -> Result<String, Error> {
        let place = self.bytes.offset();
        let len = self.size()?;
        if len > MAX_NAME {
            let message = format!("a name has {len} bytes, expected at most {MAX_NAME}");
            return Err(damaged(FORMAT, place, message));
        }
        let bytes = self.padded(len)?;
        String::from_utf8(bytes).map_err(|_| damaged(FORMAT, place, "a name is not UTF-8"))
    }

    /// Reads the tag and the length of a list. Returns the number of elements.
    fn count(&mut self, tag: u32, what: &str) -> Result<u64, Error> {
        let place = self.bytes.offset();
        let found: u32 = self.bytes.read(Endian::Big)?;
        let count = self.size()?;
        match (found, count) {
            (0, 0) => Ok(0),
            _ if found == tag => Ok(count),
            (0, _) => {
                let message =
                    format!("the tag before the {what} is 0: expected a count of 0, found {count}");
                Err(damaged(FORMAT, place, message))
            }
            _ => {
                let message =
                    format!("expected the tag {tag} or 0 before the {what}, found {found}");
                Err(damaged(FORMAT, place, message))
            }
        }
    }

    fn dims(&mut self) -> Result<Vec<Dim>, Error> {
        let mut dims: Vec<Dim> = Vec::new();
        for _ in 0..self.count(DIMENSIONS, "dimensions")? {
            let name = self.name()?;
            let place = self.bytes.offset();
            let len = Some(self.size()?).filter(|&len| len > 0);
            if len.is_none() && dims.iter().any(|dim| dim.len.is_none()) {
                return Err(damaged(
                    FORMAT,
                    place,
                    "expected at most one record dimension, found two",
                ));
            }
            dims.push(Dim { name, len });
        }
        Ok(dims)
    }

    fn datatype(&mut self) -> Result<(&'static str, u64), Error> {
        let place = self.bytes.offset();
        let number: u32 = self.bytes.read(Endian::Big)?;
        let index = usize::try_from(number).unwrap_or(usize::MAX).checked_sub(1);
        let found = index.and_then(|index| TYPES.get(index)).copied();
        found.ok_or_else(|| {
            damaged(
                FORMAT,
                place,
                format!("expected a type number from 1 to {}, found {number}", TYPES.len()),
            )
        })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>, Error> {
        let mut found = Vec::new();
        for _ in 0..self.count(ATTRIBUTES, "attributes")? {
            let name = self.name()?;
            let (datatype, size) = self.datatype()?;
            let count = self.size()?;
            let place = self.bytes.offset();
            let len = count.checked_mul(size);
            let len = len.ok_or_else(|| damaged(FORMAT, place, "an attribute is too large"))?;
            let bytes = self.padded(len)?;
            found.push(Attribute { name, value: value_of(datatype, size, &bytes) });
        }
        Ok(found)
    }

    fn variable(&mut self, dims: &[Dim], has_wide_offsets: bool) -> Result<Variable, Error> {
        let name = self.name()?;
        let (mut shape, mut names, mut is_record) = (Vec::new(), Vec::new(), false);
        for position in 0..self.size()? {
            let place = self.bytes.offset();
            let index = usize::try_from(self.size()?).unwrap_or(usize::MAX);
            let Some(dim) = dims.get(index) else {
                let message = format!(
                    "{name:?} refers to dimension {index}, counted from 0, but the file has only {}",
                    count(dims.len(), "dimension")
                );
                return Err(damaged(FORMAT, place, message));
            };
            match dim.len {
                Some(len) => shape.push(len),
                None if position == 0 => is_record = true,
                None => {
                    let message =
                        format!("the record dimension of {name:?} is not its first dimension");
                    return Err(damaged(FORMAT, place, message));
                }
            }
            if names.len() <= MAX_DIMS {
                names.push(dim.name.clone());
            }
        }
        let attributes = self.attributes()?;
        let (datatype, size) = self.datatype()?;
        self.size()?;
        let begin = self.number(has_wide_offsets)?;
        let nbytes = shape.iter().try_fold(size, |product, &len| product.checked_mul(len));
        let fits = |nbytes: &u64| {
            shape.len() <= MAX_DIMS && i64::try_from(begin.saturating_add(*nbytes)).is_ok()
        };
        let nbytes = nbytes.filter(fits);
        Ok(Variable { name, datatype, is_record, shape, dims: names, nbytes, begin, attributes })
    }
}

/// Converts the value of an attribute. Numbers become text if an attribute comment cannot represent them.
fn value_of(datatype: &str, size: u64, bytes: &[u8]) -> Value {
    if datatype == TEXT {
        let text = String::from_utf8_lossy(bytes);
        return Value::Text(text.trim_end_matches('\0').to_owned());
    }
    let width = usize::try_from(size).unwrap_or(1);
    let bits = bytes
        .chunks_exact(width)
        .map(|bytes| bytes.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte)));
    let is_integer = !datatype.starts_with('f');
    if is_integer {
        let unused = 64 - 8 * u32::try_from(size.min(8)).unwrap_or(8);
        let signed = |bits: u64| (i64::from_ne_bytes(bits.to_ne_bytes()) << unused) >> unused;
        let numbers: Vec<i128> = if datatype.starts_with('i') {
            bits.map(|bits| signed(bits).into()).collect()
        } else {
            bits.map(Into::into).collect()
        };
        let narrow: Option<Vec<i64>> =
            numbers.iter().map(|&number| i64::try_from(number).ok()).collect();
        return match narrow.as_deref() {
            Some([one]) => Value::Integer(*one),
            Some(all) => Value::Integers(all.to_vec()),
            None => texts(numbers.iter().map(ToString::to_string).collect()),
        };
    }
    let numbers: Vec<f64> = if size == 4 {
        // Use the shortest decimal number that parses as the same `f32`: 0.1, not 0.10000000149011612.
        let single = |bits: u64| f32::from_bits(u32::try_from(bits).unwrap_or(0));
        bits.map(|bits| single(bits).to_string().parse().unwrap_or(f64::NAN)).collect()
    } else {
        bits.map(f64::from_bits).collect()
    };
    if numbers.iter().any(|number| !number.is_finite()) {
        return texts(numbers.iter().map(ToString::to_string).collect());
    }
    match numbers.as_slice() {
        &[one] => Value::Float(one),
        all => Value::Floats(all.to_vec()),
    }
}

fn texts(mut texts: Vec<String>) -> Value {
    match texts.len() {
        1 => Value::Text(texts.remove(0)),
        _ => Value::Texts(texts),
    }
}
