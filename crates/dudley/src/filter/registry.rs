//! Filters by name, and the traits that new filters implement.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use binio::array::Datatype;

use super::Bounded;
use super::item_numbers::ItemNumbers;
use crate::layout::{Argument, ItemId, Layout};

/// The reason why a filter is not available, or why it cannot process an array or a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl FilterError {
    /// Creates an error. The message should say what was found and what was expected.
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

/// An array as declared in the layout, with the arguments of its filter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Declared<'a> {
    /// Type of the elements, including their byte order in memory.
    pub datatype: &'a Datatype,
    /// Dimensions of the array.
    pub shape: &'a [u64],
    /// Arguments of the filter.
    pub arguments: &'a [Argument],
    /// Total size of the elements in bytes.
    pub len: u64,
}

/// A filter that compresses arrays: `-> name`.
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
    /// Returns the name of the filter in layouts.
    fn name(&self) -> &str;

    /// Checks that the filter supports the declared array and its arguments. This method is called
    /// before an array is encoded or decoded.
    ///
    /// # Errors
    ///
    /// Fails if the array or an argument is not supported. The message should say what was expected.
    fn check(&self, declared: &Declared<'_>) -> Result<(), FilterError> {
        let _ = declared;
        Ok(())
    }

    /// Returns the compressed elements. `elements` contains at least one element, in C order. A
    /// filter that can only decompress does not implement this method.
    ///
    /// # Errors
    ///
    /// Fails if the codec rejects the elements, for example because an image is larger than its
    /// format allows, or if the filter can only decompress.
    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
        let _ = (declared, elements);
        Err(FilterError::new("this filter can only decompress"))
    }

    /// Decompresses stored bytes, and writes the elements to `out`, which accepts no more bytes than declared.
    ///
    /// # Errors
    ///
    /// Fails if the stored bytes are damaged or belong to an array with another type or shape.
    fn decode(
        &self,
        declared: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError>;
}

/// A filter that turns the elements of an array into references to items: `<- name`.
pub trait Reference: Send + Sync {
    /// Returns the name of the filter in layouts.
    fn name(&self) -> &str;

    /// Returns the item that a stored number refers to, or `None` for a null reference.
    ///
    /// # Errors
    ///
    /// Fails if the number belongs neither to an item nor to a null reference.
    fn resolve(&self, number: i64, layout: &Layout) -> Result<Option<ItemId>, FilterError>;

    /// Returns the number to store for an item or, if `item` is `None`, for a null reference.
    ///
    /// # Errors
    ///
    /// Fails if the item has no number. With the filter `ref`, only the root has no number.
    fn encode(&self, item: Option<ItemId>, layout: &Layout) -> Result<i64, FilterError>;
}

/// The filters available for reading or writing files.
#[derive(Clone)]
pub struct FilterRegistry {
    compress: Vec<Arc<dyn Compress>>,
    references: Vec<Arc<dyn Reference>>,
}

impl FilterRegistry {
    /// Creates a registry with the filters of this crate: `ref`, and each of `gzip`, `zfp`, `png` and `jpeg`
    /// whose feature is enabled.
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

    /// Adds a compression filter. Replaces any compression filter with the same name.
    #[must_use]
    pub fn with_compress(mut self, filter: impl Compress + 'static) -> Self {
        self.compress.retain(|other| other.name() != filter.name());
        self.compress.push(Arc::new(filter));
        self
    }

    /// Adds a reference filter. Replaces any reference filter with the same name.
    #[must_use]
    pub fn with_reference(mut self, filter: impl Reference + 'static) -> Self {
        self.references.retain(|other| other.name() != filter.name());
        self.references.push(Arc::new(filter));
        self
    }

    /// Returns the compression filter with this name, or `None` if no such filter is registered.
    pub fn compress(&self, name: &str) -> Option<&dyn Compress> {
        self.compress.iter().find(|filter| filter.name() == name).map(AsRef::as_ref)
    }

    /// Returns the reference filter with this name, or `None` if no such filter is registered.
    pub fn reference(&self, name: &str) -> Option<&dyn Reference> {
        self.references.iter().find(|filter| filter.name() == name).map(AsRef::as_ref)
    }

    /// Decodes an array. Fails if no filter has this name, if the filter does not support the array, if the
    /// stored bytes are damaged, or if the result does not have exactly the declared size.
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

    /// Encodes the elements of an array. Fails if no filter has this name, or if the filter rejects the array
    /// or its elements.
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
