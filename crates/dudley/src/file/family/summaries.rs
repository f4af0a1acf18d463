//! The summaries of all files of a family, stored in one file.

use std::path::Path;

use binio::ReadAt;
use binio::array::{ByteOrder, Order as Elements, ScalarKind};

use super::super::open::OpenOptions;
use super::super::value::{Array, File};
use super::template::Template;
use crate::error::{Error, ErrorKind};
use crate::layout::{Order, push_name};
use crate::place::Rules;

/// The summaries of all files of a family, in one file. Its layout is [`Template::summary_layout`]:
/// `COUNT : i8  summary = {..}[COUNT]`.
///
/// ```
/// use dudley::file::{Summaries, Template};
///
/// let template = Template::parse("< { N : i4  time = f4 }  x = f8[N]")?;
/// assert_eq!(template.summary_layout(), "<\nCOUNT : i8\nsummary = {\n  N : i4\n  time = f4\n}[COUNT]\n");
///
/// let mut bytes = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
/// for (n, time) in [(3_i32, 0.5_f32), (4, 1.5)] {
///     bytes.extend(n.to_le_bytes().iter().chain(&time.to_le_bytes()));
/// }
/// let summaries = Summaries::from_source(&template, bytes)?;
/// assert_eq!(summaries.param("N")?, [3, 4]);
/// assert_eq!(summaries.get("time")?.read::<f32>()?, [0.5, 1.5]);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Debug)]
pub struct Summaries {
    file: File,
    count: usize,
}

impl Summaries {
    /// Opens a file of summaries.
    ///
    /// # Errors
    ///
    /// Same as [`File::open`]. Also fails if the file ends before the last record is complete, if the number of
    /// records is negative ([`Mismatch`](ErrorKind::Mismatch)), or if there are more records than the limits
    /// allow.
    pub fn open(template: &Template, path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::new(template.summary_options()?.open(path)?)
    }

    /// Opens summaries from any byte source.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn from_source(template: &Template, source: impl ReadAt + 'static) -> Result<Self, Error> {
        Self::new(template.summary_options()?.from_source(source)?)
    }

    fn new(file: File) -> Result<Self, Error> {
        // Check that the file contains all records.
        file.get("/summary")?;
        let count = file.param("/COUNT")?;
        // A length of -1 removes the dimension, so a count of -1 would mean one record.
        let Ok(count) = usize::try_from(count) else {
            let message = format!("the number of records is {count}, but it must not be negative");
            return Err(ErrorKind::Mismatch { path: "/COUNT".to_owned(), message }.into());
        };
        // Even a short file may claim many empty records.
        file.limits().check_items("summaries", count as u64)?;
        Ok(Self { file, count })
    }

    /// Returns the number of records, one per file.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns `true` if there are no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns a member of the summary, such as a time, as one strided array with an element per file.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`].
    pub fn get(&self, name: &str) -> Result<Array, Error> {
        self.file.get(&path(name))
    }

    /// Returns the values of a parameter in all records, one per file.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`]. Also fails with [`Mismatch`](ErrorKind::Mismatch) if the parameter is not an
    /// integer, or if a value is above 2^63-1.
    pub fn param(&self, name: &str) -> Result<Vec<i64>, Error> {
        let path = path(name);
        let array = self.file.get(&path)?;
        let mismatch =
            |message: String| Error::new(ErrorKind::Mismatch { path: path.clone(), message });
        let scalar = array.datatype().as_scalar();
        let scalar =
            scalar.filter(|scalar| matches!(scalar.kind(), ScalarKind::Int | ScalarKind::Uint));
        let scalar = scalar.ok_or_else(|| mismatch("expected an integer parameter".to_owned()))?;
        // An integer takes at most 8 bytes, so the conversion cannot fail.
        let size = usize::try_from(scalar.size()).unwrap_or(8).clamp(1, 8);
        let bytes = array.read_bytes(Elements::C, ByteOrder::Little)?;
        let value = |bytes: &[u8]| {
            let is_negative = scalar.kind() == ScalarKind::Int && bytes[size - 1] >= 0x80;
            let mut whole = [if is_negative { 0xff } else { 0 }; 8];
            whole[..size].copy_from_slice(bytes);
            let value = i64::from_le_bytes(whole);
            if value < 0 && !is_negative {
                return Err(mismatch("a value is above 2^63-1".to_owned()));
            }
            Ok(value)
        };
        bytes.chunks_exact(size).map(value).collect()
    }

    /// Returns the file of summaries.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the byte order of types that have no byte order prefix.
    pub fn order(&self) -> Order {
        self.file.order()
    }

    /// Returns `true` if the file of summaries is a native file. The files of the family are then
    /// assumed to be native too.
    pub fn is_native(&self) -> bool {
        self.file.signature().is_some()
    }
}

fn path(name: &str) -> String {
    let mut path = "/summary.".to_owned();
    push_name(&mut path, name);
    path
}

impl Template {
    fn summary_options(&self) -> Result<OpenOptions, Error> {
        let rules = Rules { order: self.stated_order(), ..Rules::new() };
        Ok(OpenOptions::new().parse(self.summary_layout())?.rules(rules))
    }
}
