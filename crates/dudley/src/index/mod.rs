//! Compiled layouts, which can be searched without reading them completely.
//!
//! | module | contents |
//! |---|---|
//! | `format` | the binary format |
//! | `make` | compiling a layout to the binary format |
//! | `place` | the address rules, used by `make` and `locate` |
//! | `locate` | finding a path and its address |
//! | `fresh` | checking that the text has not changed |

mod format;
mod fresh;
mod locate;
mod make;
mod place;

use std::fmt;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use binio::diagnostic::count;
use binio::{Bytes, Context as _, FileSource, ReadAt};

use crate::error::{Error, ErrorKind};
use crate::layout::{Layout, Order};
use crate::options::ParseOptions;
use crate::place::Location;
use crate::source::Source;
use format::{HEADER_LEN, Header, PAGE_LEN, SUM_LEN, Stamp, check_sum};
use locate::invalid;

/// A compiled layout (`.dudx`). It contains an index of paths and addresses, and the layout text
/// from which the index was made. Finding an array among 100,000 does not require parsing the text,
/// and takes microseconds if the index contains the address.
///
/// ```
/// use dudley::index::CompiledLayout;
/// use dudley::{ErrorKind, Layout};
///
/// let text = "N : i4  a = f8[N]  b = <i2[3] @64";
/// let bytes = CompiledLayout::compile(&Layout::parse(text)?, text.as_bytes(), None)?;
/// let compiled = CompiledLayout::from_bytes(bytes)?;
///
/// let b = compiled.locate("/b", None)?;
/// assert_eq!((b.address(), b.dtype(), b.shape()), (64, "<i2", &[3][..]));
/// let error = compiled.locate("/a", None).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NeedsStream { .. }), "its shape depends on the stream");
/// let stream = 5_i32.to_ne_bytes().to_vec();
/// assert_eq!(compiled.locate("/a", Some(&stream))?.shape(), [5]);
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// Checksums cover the whole file. Reading a part of the file fails if the part does not match its
/// checksum.
///
/// A compiled layout never contradicts its text. Items that only the text describes are not found in the
/// compiled form, but a [`File`](crate::File) then looks them up in the text. A compiled layout uses the
/// default rules of a [`Resolver`](crate::Resolver).
#[derive(Clone)]
pub struct CompiledLayout {
    source: Arc<dyn ReadAt>,
    header: Header,
    /// The checksum of each page of the index.
    sums: Bytes,
    name: Option<Arc<str>>,
}

/// An array or parameter in a compiled layout, with its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompiledRow<'r> {
    /// The path of the array or parameter.
    pub path: &'r str,
    /// The address in bytes from the start of the file.
    pub address: u64,
    /// The dimensions, slowest varying first.
    pub shape: &'r [u64],
    /// The name of the element type with its byte order, such as `<f8`.
    pub dtype: &'r str,
}

impl CompiledLayout {
    /// Compiles a layout with its text, and returns the bytes of the compiled layout. `file` is the
    /// metadata of the text file, obtained before the text was read. On Unix, the metadata enables
    /// [`check`](Self::check) to detect an unchanged file without reading the text again.
    ///
    /// # Errors
    ///
    /// Same as [`Source::decode`]. Also fails with [`Compiled`](ErrorKind::Compiled) if the layout was not
    /// parsed from `text`.
    pub fn compile(
        layout: &Layout,
        text: &[u8],
        file: Option<&Metadata>,
    ) -> Result<Vec<u8>, Error> {
        if Source::decode(text)?.text() != layout.source().text() {
            let message = "the layout was not parsed from this text".to_owned();
            return Err(ErrorKind::Compiled { message }.into());
        }
        Ok(make::compile(layout, text, Stamp::settled(file, SystemTime::now())))
    }

    /// Opens a compiled layout. If there is a text file next to the compiled layout (`run.dud` next
    /// to `run.dudx`), checks that the layout was compiled from this text.
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](ErrorKind::Read) if one of the files cannot be read, with
    /// [`Compiled`](ErrorKind::Compiled) if the file is not a compiled layout or is truncated, and with
    /// [`Stale`](ErrorKind::Stale) if the text has changed. Damage in the index or the text is detected only
    /// when the damaged part is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let compiled = Self::open_alone(path)?;
        let text = path.with_extension("dud");
        if text.is_file() {
            compiled.check(&text)?;
        }
        Ok(compiled)
    }

    /// Opens the compiled layout next to a text file (`run.dudx` next to `run.dud`). Returns `None` if there is
    /// no such file.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn open_next_to(text: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let text = text.as_ref();
        let path = text.with_extension("dudx");
        if path == text || !path.is_file() {
            return Ok(None);
        }
        let compiled = Self::open_alone(&path)?;
        compiled.check(text)?;
        Ok(Some(compiled))
    }

    fn open_alone(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let source = FileSource::open(path).with_context(|| name.clone())?;
        Self::new(Arc::new(source), Some(name.into()))
    }

    /// Opens a compiled layout in memory.
    ///
    /// # Errors
    ///
    /// Fails with [`Compiled`](ErrorKind::Compiled) if the bytes are not a compiled layout or are truncated.
    /// Damage in the index or the text is detected only when the damaged part is read.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, Error> {
        Self::from_source(bytes.into())
    }

    /// Opens a compiled layout from any source of bytes, such as a memory map.
    ///
    /// # Errors
    ///
    /// Same as [`from_bytes`](Self::from_bytes). Also fails with [`Read`](ErrorKind::Read) if the source cannot
    /// be read.
    pub fn from_source(source: impl ReadAt + 'static) -> Result<Self, Error> {
        Self::new(Arc::new(source), None)
    }

    fn new(source: Arc<dyn ReadAt>, name: Option<Arc<str>>) -> Result<Self, Error> {
        let len = usize::try_from(source.len().min(HEADER_LEN)).unwrap_or_default();
        let head = source.bytes_at(0, len)?;
        let header = Header::parse(&head).map_err(invalid)?;
        if header.len() != Some(source.len()) {
            let (expected, found) = (header.len().unwrap_or(u64::MAX), source.len());
            let message = format!("the file has {}, expected {expected}", count(found, "byte"));
            return Err(invalid(message));
        }
        // The length of the file is correct, so it bounds the number of pages.
        let sums_len = header.sums_len().and_then(|len| usize::try_from(len).ok());
        let sums = source.bytes_at(HEADER_LEN, sums_len.unwrap_or(usize::MAX))?;
        check_sum("the list of page checksums", &sums, header.pages_sum).map_err(invalid)?;
        Ok(Self { source, header, sums, name })
    }

    /// Reads `len` bytes of the index, and checks all pages that contain them.
    fn index(&self, start: u64, len: usize) -> Result<Bytes, Error> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        let index_len = self.header.index_len().unwrap_or(u64::MAX);
        let end = start.checked_add(len as u64).filter(|&end| end <= index_len);
        let end = end.ok_or_else(|| {
            let len = count(len, "byte");
            invalid(format!("the index is too short for {len} at offset {start}"))
        })?;
        let first = start / PAGE_LEN;
        let to = end.checked_next_multiple_of(PAGE_LEN).map_or(index_len, |to| to.min(index_len));
        let from = first * PAGE_LEN;
        let at = self.header.index_at().unwrap_or(u64::MAX).saturating_add(from);
        let bytes = self.source.bytes_at(at, usize::try_from(to - from).unwrap_or(usize::MAX))?;
        let sums = usize::try_from(first * SUM_LEN).ok().and_then(|at| self.sums.get(at..));
        let sums = sums.unwrap_or_default().chunks_exact(4);
        let pages = bytes.chunks(usize::try_from(PAGE_LEN).unwrap_or(usize::MAX));
        for ((page, stored), number) in pages.zip(sums).zip(first..) {
            let stored = stored.try_into().map_or(0, u32::from_le_bytes);
            check_sum(format_args!("index page {number}"), page, stored).map_err(invalid)?;
        }
        let skip = usize::try_from(start - from).unwrap_or(usize::MAX);
        Ok(bytes.slice(skip..skip + len))
    }

    /// Checks that a file contains the text from which this layout was compiled.
    ///
    /// # Errors
    ///
    /// Fails with [`Stale`](ErrorKind::Stale) if the file contains different text, and with
    /// [`Read`](ErrorKind::Read) if the file cannot be read.
    pub fn check(&self, text: impl AsRef<Path>) -> Result<(), Error> {
        let text = text.as_ref();
        if self.is_of_file(text)? {
            return Ok(());
        }
        let compiled = self.name.as_deref().unwrap_or("the compiled layout").to_owned();
        Err(ErrorKind::Stale { compiled, text: text.display().to_string() }.into())
    }

    /// Reads the text of the layout.
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](ErrorKind::Read) if the text cannot be read, and with
    /// [`Compiled`](ErrorKind::Compiled) if the text does not match its checksum.
    pub fn text(&self) -> Result<Bytes, Error> {
        let start = self.header.text_at().unwrap_or(u64::MAX);
        let len = usize::try_from(self.header.text_len).unwrap_or(usize::MAX);
        let text = self.source.bytes_at(start, len)?;
        check_sum("the text", &text, self.header.text_sum).map_err(invalid)?;
        Ok(text)
    }

    /// Parses the text of the layout.
    ///
    /// # Errors
    ///
    /// Same as [`text`](Self::text) and [`ParseOptions::parse`].
    pub fn parse(&self, options: &ParseOptions) -> Result<Layout, Error> {
        let text = self.text()?;
        let source = match &self.name {
            Some(name) => Source::decode_named(&*text, &**name),
            None => Source::decode(&*text),
        };
        options.parse_source(source?)
    }

    /// Returns the number of stored items and parameters.
    pub fn len(&self) -> usize {
        self.header.rows as usize
    }

    /// Returns `true` if the layout has no stored items or parameters.
    pub fn is_empty(&self) -> bool {
        self.header.rows == 0
    }

    /// Returns the location of the array or parameter at a path. The values of parameters are read from the
    /// stream if they are needed.
    ///
    /// # Errors
    ///
    /// Fails with [`NeedsStream`](ErrorKind::NeedsStream) if the location depends on the stream, but no
    /// stream is given. Fails with [`Compiled`](ErrorKind::Compiled) if a part of the compiled layout does
    /// not match its checksum or is not valid, and with [`Read`](ErrorKind::Read) if the compiled layout
    /// cannot be read. If the signature of the stream is damaged or cannot be read, fails like
    /// [`Signature::of`](crate::Signature::of).
    ///
    /// Fails with [`NotCompiled`](ErrorKind::NotCompiled) if nothing exists at the path, if the path is not
    /// spelt as in [`Layout::path`](crate::Layout::path) (the leading `/` is optional), or if only the text of
    /// the layout describes the item. The text is needed for structs, members, instances, compressed arrays
    /// and very long paths, and for items after a struct whose size is not constant, up to the next explicit
    /// address. Also fails with `NotCompiled` if the address cannot be computed, for example because a
    /// parameter cannot be read. Looking up the item in the text then fails with the reason.
    pub fn locate(&self, path: &str, stream: Option<&dyn ReadAt>) -> Result<Location, Error> {
        self.locate_in(path, stream, None)
    }

    /// Like [`locate`](Self::locate), but uses the byte order `order` if neither the layout nor the
    /// stream states a byte order. `None` stands for the byte order of this machine.
    ///
    /// # Errors
    ///
    /// Same as [`locate`](Self::locate).
    pub fn locate_in(
        &self,
        path: &str,
        stream: Option<&dyn ReadAt>,
        order: Option<Order>,
    ) -> Result<Location, Error> {
        locate::locate(self, path, stream, order)
    }

    /// Calls `visit` with every path that [`locate`](Self::locate) would find, in sorted order.
    /// Returns the number of paths in the index that `locate` would not find.
    ///
    /// ```
    /// use dudley::index::CompiledLayout;
    /// use dudley::Layout;
    ///
    /// let text = "b = i1[3]  c = { d = i2 }  a = <i2";
    /// let bytes = CompiledLayout::compile(&Layout::parse(text)?, text.as_bytes(), None)?;
    /// let mut found = Vec::new();
    /// let others = CompiledLayout::from_bytes(bytes)?.for_each(None, |row| {
    ///     found.push((row.path.to_owned(), row.address));
    /// })?;
    /// assert_eq!((found, others), (vec![("/a".to_owned(), 6), ("/b".to_owned(), 0)], 1));
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Compiled`](ErrorKind::Compiled) if a part of the compiled layout does not match its checksum
    /// or is not valid, and with [`Read`](ErrorKind::Read) if the compiled layout cannot be read. If the
    /// signature of the stream is damaged or cannot be read, fails like
    /// [`Signature::of`](crate::Signature::of).
    pub fn for_each(
        &self,
        stream: Option<&dyn ReadAt>,
        visit: impl FnMut(CompiledRow<'_>),
    ) -> Result<usize, Error> {
        locate::for_each(self, stream, visit)
    }
}

impl fmt::Debug for CompiledLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { rows, text_len, .. } = self.header;
        f.debug_struct("CompiledLayout")
            .field("rows", &rows)
            .field("text_len", &text_len)
            .finish_non_exhaustive()
    }
}
