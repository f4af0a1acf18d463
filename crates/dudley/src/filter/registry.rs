//! Filters by name.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use binio::array::Datatype;

use super::Bounded;
use super::item_numbers::ItemNumbers;
use crate::layout::{Argument, ItemId, Layout};

/// Why a filter cannot be used, or not on these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl FilterError {
    /// An error with a message: what was found, and what was expected.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FilterError {}

impl From<io::Error> for FilterError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The array that a layout declares with a filter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Declared<'a> {
    /// The type of its elements, with the byte order in which they are given and returned.
    pub datatype: &'a Datatype,
    /// Its dimensions.
    pub shape: &'a [u64],
    /// The arguments of the filter.
    pub arguments: &'a [Argument],
    /// Bytes of all elements.
    pub len: u64,
}

/// A filter that stores arrays compressed: `-> name`.
///
/// ```
/// use std::io::Write;
///
/// use dudley::filter::{Compress, Declared, FilterError, FilterRegistry};
/// use dudley::{File, Layout, OpenOptions, WriteOptions};
///
/// /// Bytes that are all the same are stored once.
/// struct Same;
///
/// impl Compress for Same {
///     fn name(&self) -> &str {
///         "same"
///     }
///     fn encode(&self, _: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
///         match elements.iter().all(|&byte| byte == elements[0]) {
///             true => Ok(vec![elements[0]]),
///             false => Err(FilterError::new("the bytes differ")),
///         }
///     }
///     fn decode(&self, declared: &Declared<'_>, stored: &[u8], out: &mut dyn Write) -> Result<(), FilterError> {
///         for _ in 0..declared.len {
///             out.write_all(&stored[..1])?;
///         }
///         Ok(())
///     }
/// }
///
/// let filters = FilterRegistry::new().with_compress(Same);
/// let layout = Layout::parse("x = u1[1000] -> same")?;
/// let mut bytes = Vec::new();
/// let mut writer = WriteOptions::new().filters(filters.clone()).write_at(&mut bytes, layout)?;
/// writer.put("x", &[7_u8; 1000])?;
/// writer.finish()?;
/// assert!(bytes.len() < 100);
/// let file = OpenOptions::new().filters(filters).from_bytes(bytes)?;
/// assert_eq!(file.get("x")?.read::<u8>()?, [7; 1000]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub trait Compress: Send + Sync {
    /// Its name in layouts.
    fn name(&self) -> &str;

    /// Whether it can store this array, with these arguments. It is asked before an array is written or read.
    ///
    /// # Errors
    /// What was expected instead.
    fn check(&self, declared: &Declared<'_>) -> Result<(), FilterError> {
        let _ = declared;
        Ok(())
    }

    /// The stored bytes of elements in C order, of which there is at least one.
    ///
    /// # Errors
    /// If the elements cannot be stored.
    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError>;

    /// Writes the elements of stored bytes to `out`, which takes no more than are declared.
    ///
    /// # Errors
    /// If the bytes are damaged, or are those of another array.
    fn decode(
        &self,
        declared: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError>;
}

/// A filter whose arrays are references to items: `<- name`.
pub trait Reference: Send + Sync {
    /// Its name in layouts.
    fn name(&self) -> &str;

    /// The item that a stored number means; none if it means nothing.
    ///
    /// # Errors
    /// If no item has this number.
    fn resolve(&self, number: i64, layout: &Layout) -> Result<Option<ItemId>, FilterError>;

    /// The number for an item, or for nothing.
    ///
    /// # Errors
    /// If it has none.
    fn encode(&self, item: Option<ItemId>, layout: &Layout) -> Result<i64, FilterError>;
}

/// The filters that are known when a file is read or written.
#[derive(Clone)]
pub struct FilterRegistry {
    compress: Vec<Arc<dyn Compress>>,
    references: Vec<Arc<dyn Reference>>,
}

impl FilterRegistry {
    /// The filters of this crate: `ref`, and `gzip`, `zfp`, `png` and `jpeg` as far as their features are enabled.
    pub fn new() -> Self {
        let compress: Vec<Arc<dyn Compress>> = vec![
            #[cfg(feature = "gzip")]
            Arc::new(super::gzip::Gzip),
            #[cfg(feature = "zfp")]
            Arc::new(super::zfp::Zfp),
            #[cfg(feature = "png")]
            Arc::new(super::png::Png),
            #[cfg(feature = "jpeg")]
            Arc::new(super::jpeg::Jpeg),
        ];
        Self { compress, references: vec![Arc::new(ItemNumbers)] }
    }

    /// Adds a compression filter; it replaces one of the same name.
    #[must_use]
    pub fn with_compress(mut self, filter: impl Compress + 'static) -> Self {
        self.compress.retain(|other| other.name() != filter.name());
        self.compress.push(Arc::new(filter));
        self
    }

    /// Adds a reference filter; it replaces one of the same name.
    #[must_use]
    pub fn with_reference(mut self, filter: impl Reference + 'static) -> Self {
        self.references.retain(|other| other.name() != filter.name());
        self.references.push(Arc::new(filter));
        self
    }

    /// The compression filter with a name.
    pub fn compress(&self, name: &str) -> Option<&dyn Compress> {
        self.compress.iter().find(|filter| filter.name() == name).map(AsRef::as_ref)
    }

    /// The reference filter with a name.
    pub fn reference(&self, name: &str) -> Option<&dyn Reference> {
        self.references.iter().find(|filter| filter.name() == name).map(AsRef::as_ref)
    }

    /// Decodes to just as many bytes as are declared.
    pub(crate) fn decode(
        &self,
        name: &str,
        declared: &Declared<'_>,
        stored: &[u8],
    ) -> Result<Vec<u8>, FilterError> {
        let filter = self.compress(name);
        let filter = filter.ok_or_else(|| FilterError::new("no decoder for this filter"))?;
        filter.check(declared)?;
        let mut out = Bounded::new(declared.len);
        filter.decode(declared, stored, &mut out)?;
        out.finish()
    }

    /// Compresses elements.
    #[cfg(feature = "write")]
    pub(crate) fn encode(
        &self,
        name: &str,
        declared: &Declared<'_>,
        elements: &[u8],
    ) -> Result<Vec<u8>, FilterError> {
        let filter = self.compress(name);
        let filter = filter.ok_or_else(|| FilterError::new("no encoder for this filter"))?;
        filter.check(declared)?;
        filter.encode(declared, elements)
    }
}

impl Default for FilterRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for FilterRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compress = self.compress.iter().map(|filter| filter.name());
        let references = self.references.iter().map(|filter| filter.name());
        f.debug_set().entries(compress.chain(references)).finish()
    }
}
