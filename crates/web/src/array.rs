//! Arrays in files of any format.

use std::io::Write;

use ::asdf::NdArray;
use ::asdf::ndarray::Origin;
use ::bloscpack::UnpackOptions;
use binio::array::{Datatype, Order, Slice};
use serde_json::{Value, json};

use crate::document::{Result, failure, size};

/// An array in a file.
#[derive(Clone)]
pub(crate) enum Array<'a> {
    Asdf(NdArray<'a>),
    Bloscpack(::bloscpack::array::Array<'a>),
    Dudley(::dudley::Array),
}

impl Array<'_> {
    pub(crate) fn datatype(&self) -> &Datatype {
        match self {
            Self::Asdf(array) => array.datatype(),
            Self::Bloscpack(array) => array.datatype(),
            Self::Dudley(array) => array.datatype(),
        }
    }

    pub(crate) fn shape(&self) -> &[u64] {
        match self {
            Self::Asdf(array) => array.shape(),
            Self::Bloscpack(array) => array.shape(),
            Self::Dudley(array) => array.shape(),
        }
    }

    /// Returns the total size of the elements in bytes.
    pub(crate) fn byte_size(&self) -> u64 {
        let len = self.shape().iter().fold(1_u64, |len, &side| len.saturating_mul(side));
        len.saturating_mul(self.datatype().itemsize())
    }

    /// Returns the part of the array selected by `slices`.
    pub(crate) fn slice(&self, slices: &[Slice]) -> Result<Self> {
        Ok(match self {
            Self::Asdf(array) => Self::Asdf(array.slice(slices)?),
            Self::Bloscpack(array) => Self::Bloscpack(array.slice(slices)?),
            Self::Dudley(array) => Self::Dudley(array.slice(slices)?),
        })
    }

    /// Returns a field of an array of records.
    pub(crate) fn field(&self, name: &str) -> Result<Self> {
        Ok(match self {
            Self::Asdf(array) => Self::Asdf(array.field(name)?),
            Self::Bloscpack(array) => Self::Bloscpack(array.field(name)?),
            Self::Dudley(array) => Self::Dudley(array.field(name)?),
        })
    }

    /// Returns the part of the array that the page has selected: applies `slice` to the array, or to
    /// `field` if it is given. An empty `slice` selects all elements.
    pub(crate) fn select(&self, field: Option<&str>, slice: &str) -> Result<Self> {
        let array = match field {
            Some(name) => self.field(name)?,
            None => self.clone(),
        };
        let slices = if slice.trim().is_empty() { Vec::new() } else { Slice::parse(slice)? };
        array.slice(&slices)
    }

    /// Writes the array as a `.npy` file, first the header and then the elements in pieces.
    pub(crate) fn write_npy(&self, mut out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Asdf(array) => array.write_npy(&mut out)?,
            Self::Bloscpack(array) => array.write_npy(out, &UnpackOptions::new())?,
            Self::Dudley(array) => {
                ::dudley::file::for_numpy(array)?.write_npy(&mut out, Order::C)?;
            }
        }
        Ok(())
    }

    /// Writes the elements as text. If there are more than 1,000 of them, writes only the first and last three along
    /// each axis.
    pub(crate) fn write_summary(&self, mut out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Asdf(array) => array.write_summary(&mut out)?,
            Self::Bloscpack(array) => array.write_summary(out)?,
            Self::Dudley(array) => array.write_summary(&mut out, None)?,
        }
        Ok(())
    }

    /// Returns the mask: `true` marks a missing element. Returns `None` if the array has no mask.
    pub(crate) fn mask(&self) -> Result<Option<Vec<bool>>> {
        match self {
            Self::Asdf(array) => Ok(array.mask()?),
            Self::Bloscpack(_) | Self::Dudley(_) => Ok(None),
        }
    }

    /// Returns `true` if the data may have to be decoded, so that skipping rows saves little time.
    pub(crate) fn is_compressed(&self) -> bool {
        match self {
            Self::Asdf(array) => match array.source() {
                Origin::Block(block) | Origin::External(_, block) => block.is_compressed(),
                _ => false,
            },
            Self::Bloscpack(_) => true,
            Self::Dudley(_) => false,
        }
    }

    /// Returns a description of the array as JSON, without reading elements.
    pub(crate) fn json(&self) -> Value {
        let fields: Vec<&str> = self
            .datatype()
            .as_record()
            .map(|record| record.fields().iter().map(binio::array::Field::name).collect())
            .unwrap_or_default();
        json!({
            "dtype": self.dtype(),
            "shape": self.shape(),
            "size": size(self.byte_size()),
            "fields": fields,
            "storage": self.storage(),
        })
    }

    fn dtype(&self) -> String {
        match (self, self.datatype().as_record()) {
            (_, Some(record)) => format!("record of {} fields", record.fields().len()),
            (Self::Asdf(array), None) => ::asdf::ndarray::datatype_name(array.datatype()),
            (_, None) => self.datatype().to_string(),
        }
    }

    fn storage(&self) -> String {
        let Self::Asdf(array) = self else { return String::new() };
        let (block, file) = match array.source() {
            Origin::Block(block) => (block, ""),
            Origin::External(_, block) => (block, " of another file"),
            _ => return "in the tree".to_owned(),
        };
        let place = format!("block {}{file}", block.index());
        match crate::asdf::compression(&block) {
            Some(codec) => format!("{place}, {codec}"),
            None => place,
        }
    }
}

/// Fails if an array has no elements.
pub(crate) fn check_not_empty(array: &Array<'_>) -> Result<()> {
    if array.shape().contains(&0) {
        return Err(failure("The array has no elements."));
    }
    Ok(())
}
