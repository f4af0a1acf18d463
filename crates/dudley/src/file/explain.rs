//! Finding the item that a byte of a file belongs to.

use std::fmt::{self, Write as _};

use binio::ReadAt as _;

use super::value::File;
use crate::error::Error;
use crate::layout::Field;
use crate::place::{Inner, Row, Stored, to_error};
use crate::signature::Signature;

/// Maximum number of explanations for one byte. A byte has several explanations if items overlap.
const MAX_ROWS: usize = 16;

/// The item or other part of a file that a byte belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "kind", rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Explanation {
    /// The signature of a native file: its first 8 bytes.
    Signature {
        /// Index of the byte in the signature.
        byte: u64,
    },
    /// The address of the layout: the 8 bytes after the signature.
    LayoutAddress {
        /// Index of the byte in the 8-byte address.
        byte: u64,
    },
    /// The text of the appended layout.
    Layout {
        /// Line number in the text, counted from 1.
        line: u64,
    },
    /// An element of an array, or a parameter.
    Data {
        /// Path of the array or parameter, with the indices of the enclosing instances.
        path: String,
        /// Index of the element in each dimension; empty for a scalar.
        index: Vec<u64>,
        /// Type of the element.
        dtype: String,
        /// Index of the byte in the element.
        byte: u64,
    },
    /// Padding: a byte inside a struct, but outside its members and parameters.
    Padding {
        /// Path of the struct, or of an instance in an array of structs, such as `/x[1]`.
        path: String,
    },
    /// A compressed array: its count or its compressed bytes.
    Compressed {
        /// Path of the array.
        path: String,
        /// Offset of the byte from the start of the count.
        byte: u64,
    },
    /// A byte that belongs to no item or parameter.
    Unused {
        /// Path of the last item or parameter that ends before the byte, or `None` if there is no
        /// such item or parameter.
        after: Option<String>,
        /// Path of the first item or parameter that begins after the byte, or `None` if there is no
        /// such item or parameter.
        before: Option<String>,
    },
    /// An address at or beyond the end of the file.
    PastEnd {
        /// Length of the file in bytes.
        len: u64,
    },
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature { byte } => write!(f, "byte {byte} of the signature"),
            Self::LayoutAddress { byte } => write!(f, "byte {byte} of the layout address"),
            Self::Layout { line } => write!(f, "line {line} of the layout"),
            Self::Data { path, index, dtype, byte } => {
                f.write_str(path)?;
                if !index.is_empty() {
                    write!(f, " element {index:?}")?;
                }
                write!(f, ", {dtype}, byte {byte}")
            }
            Self::Padding { path } => write!(f, "padding in {path}"),
            Self::Compressed { path, byte } => write!(f, "{path}, compressed, byte {byte}"),
            Self::Unused { after, before } => {
                f.write_str("no item")?;
                if let Some(after) = after {
                    write!(f, ", after {after}")?;
                }
                match before {
                    Some(before) => write!(f, ", before {before}"),
                    None => Ok(()),
                }
            }
            Self::PastEnd { len } => write!(f, "after the end of the file at {len:#x}"),
        }
    }
}

impl File {
    /// Explains what the byte at `address` belongs to. Returns several explanations, but at most
    /// 16, if items overlap at this address.
    ///
    /// ```
    /// use dudley::{File, Layout};
    ///
    /// let layout = Layout::parse("N : u1  x = { a = u1  b = u2[N] }[3]")?;
    /// let file = File::from_bytes(vec![2; 20], layout)?;
    /// let explained = |address| Ok::<_, dudley::Error>(file.explain(address)?[0].to_string());
    /// assert_eq!(explained(0)?, "/N, u1, byte 0");
    /// assert_eq!(explained(1)?, "no item, after /N, before /x");
    /// assert_eq!(explained(9)?, "padding in /x[1]");
    /// assert!(explained(13)?.starts_with("/x[1].b element [1], "));
    /// assert_eq!(explained(20)?, "after the end of the file at 0x14");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](crate::ErrorKind::Read) if the file cannot be read, and with
    /// [`Layout`](crate::ErrorKind::Layout) if the file ends before a parameter that determines the
    /// size of an instance.
    pub fn explain(&self, address: u64) -> Result<Vec<Explanation>, Error> {
        let len = self.source().len();
        if address >= len {
            return Ok(vec![Explanation::PastEnd { len }]);
        }
        if self.signature().is_some() && address < Signature::LEN {
            return Ok(vec![match address {
                0..8 => Explanation::Signature { byte: address },
                _ => Explanation::LayoutAddress { byte: address - 8 },
            }]);
        }
        let holds = |row: &&Row| {
            let (Some(start), Some(nbytes)) = (row.address(), row.nbytes()) else { return false };
            address >= start && address - start < nbytes
        };
        let rows = self.table().rows().iter().filter(holds).take(MAX_ROWS);
        let found: Vec<_> =
            rows.map(|&row| self.explain_in(row, address)).collect::<Result<_, _>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
        let end = self.data_end();
        if address >= end && self.signature().is_some() {
            let mut line = 1;
            for part in self.source().pieces(end..address, 1 << 16) {
                line += memchr::memchr_iter(b'\n', &part?).count() as u64;
            }
            return Ok(vec![Explanation::Layout { line }]);
        }
        Ok(vec![self.unused(address)])
    }

    fn unused(&self, address: u64) -> Explanation {
        let rows = || {
            let placed = |row: &Row| Some((row.address()?, row.nbytes()?, *row));
            self.table().rows().iter().filter_map(placed).filter(|&(_, nbytes, _)| nbytes > 0)
        };
        let path = |(_, _, row): (u64, u64, Row)| self.layout().subject_path(row.subject());
        let before = rows().filter(|&(start, ..)| start > address).min_by_key(|found| found.0);
        let after = rows()
            .filter(|&(start, nbytes, _)| start + nbytes <= address)
            .max_by_key(|&(start, nbytes, _)| start + nbytes);
        Explanation::Unused { after: after.map(path), before: before.map(path) }
    }

    fn explain_in(&self, row: Row, address: u64) -> Result<Explanation, Error> {
        let inputs = self.inputs();
        let mut inner = self.inner(&inputs);
        let mut path = self.layout().subject_path(row.subject());
        let mut stored = self.follow(&mut inner, row, &[], &path)?;
        loop {
            match self.inwards(&mut inner, row, &stored, address, &mut path)? {
                Ok(part) => stored = part,
                Err(found) => return Ok(found),
            }
        }
    }

    /// Returns the member or parameter of a struct that contains the byte, and appends its name to `path`. If
    /// `stored` is not a struct, or if the byte belongs to no member or parameter, returns the final
    /// explanation instead.
    fn inwards(
        &self,
        inner: &mut Inner<'_>,
        row: Row,
        stored: &Stored,
        address: u64,
        path: &mut String,
    ) -> Result<Result<Stored, Explanation>, Error> {
        let layout = self.layout();
        let fail = |trouble| to_error(layout, trouble, row.subject());
        let start = stored.address().unwrap_or_default();
        let offset = address.saturating_sub(start);
        if stored.is_compressed() {
            return Ok(Err(Explanation::Compressed { path: path.clone(), byte: offset }));
        }
        if stored.struct_type().is_none() {
            let size = inner.size(stored).map_err(|trouble| fail(*trouble))?.unwrap_or(1).max(1);
            let index = unravel(offset / size, stored.shape().unwrap_or_default());
            let dtype = inner.dtype(stored).into_owned();
            let (path, byte) = (path.clone(), offset % size);
            return Ok(Err(Explanation::Data { path, index, dtype, byte }));
        }
        let is_array = !stored.is_single();
        let found = inner.instance_with(stored, address).map_err(|trouble| fail(*trouble))?;
        let Some((number, instance)) = found else {
            return Ok(Err(Explanation::Padding { path: path.clone() }));
        };
        if is_array {
            let _ = write!(path, "[{number}]");
        }
        let (parts, _) = inner.parts(&instance).map_err(|trouble| fail(*trouble))?;
        for part in parts {
            let (Some(start), Some(nbytes)) = (part.stored.address(), part.nbytes) else {
                continue;
            };
            if address >= start && address - start < nbytes {
                path.push('.');
                crate::layout::push_name(
                    path,
                    match part.field {
                        Field::Member(id) => layout.member_name(id),
                        Field::Param(id) => layout.param_name(id),
                    },
                );
                return Ok(Ok(part.stored));
            }
        }
        Ok(Err(Explanation::Padding { path: path.clone() }))
    }
}

/// Converts the position of an element in C order to its index in each dimension.
fn unravel(mut number: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (at, &len) in index.iter_mut().zip(shape).rev() {
        *at = number % len.max(1);
        number /= len.max(1);
    }
    index
}
