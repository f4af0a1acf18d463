//! Opening a file: finding its layout, parameters and addresses.

use std::path::Path;
use std::sync::Arc;

use binio::write::{ConsistentFile, FileOpener};
use binio::{Bytes, Context as _, ReadAt};

use super::appended::appended_text;
use super::blocks::Blocks;
use super::bytes::FileBytes;
use super::value::{Compiled, File, Resolved};
use crate::error::{Error, ErrorKind};
use crate::filter::FilterRegistry;
use crate::index::CompiledLayout;
use crate::layout::Layout;
use crate::options::ParseOptions;
use crate::place::Rules;
use crate::signature::Signature;
use crate::source::Source;

/// Options for opening files.
///
/// ```
/// use dudley::{OpenOptions, Order, Rules};
///
/// let rules = Rules::new().order(Order::Big);
/// let options = OpenOptions::new().parse("N : u2  x = f4[N]")?.rules(rules);
/// let file = options.from_bytes(vec![0, 1, 0, 0, 0x3f, 0x80, 0, 0])?;
/// assert_eq!(file.get("x")?.read::<f32>()?, [1.0]);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    layout: Option<Arc<Layout>>,
    compiled: Option<CompiledLayout>,
    parse: ParseOptions,
    rules: Rules,
    #[cfg(feature = "mmap")]
    mmap: bool,
    limits: binio::Limits,
    filters: FilterRegistry,
}

impl OpenOptions {
    /// Returns the default options. Without further settings, only files with an appended layout
    /// can be opened.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the layout, which takes precedence over a layout appended to the file.
        layout: impl Into<Option<Arc<Layout>>> => layout.into();
        /// Sets the layout in compiled form. The text of the layout is parsed only for requests that the
        /// compiled form cannot answer. Takes precedence over [`layout`](Self::layout).
        ///
        /// ```
        /// use dudley::index::CompiledLayout;
        /// use dudley::{Layout, OpenOptions, Order, Rules};
        ///
        /// let text = "a = i2[2]  b = i2[2]";
        /// let compiled = CompiledLayout::compile(&Layout::parse(text)?, text.as_bytes(), None)?;
        /// let options = OpenOptions::new().compiled(CompiledLayout::from_bytes(compiled)?);
        /// let file = options.rules(Rules::new().order(Order::Little)).from_bytes(vec![1, 0, 2, 0, 3, 0, 4, 0])?;
        /// assert_eq!(file.get("/b")?.read::<i16>()?, [3, 4]);
        /// # Ok::<(), dudley::Error>(())
        /// ```
        compiled: CompiledLayout => Some(compiled);
    }

    /// Parses a layout and sets it, like [`layout`](Self::layout). Uses the current
    /// [`parse_options`](Self::parse_options).
    ///
    /// # Errors
    ///
    /// Same as [`Layout::parse`].
    pub fn parse(self, text: impl AsRef<[u8]>) -> Result<Self, Error> {
        let layout = self.parse.parse(text)?;
        Ok(self.layout(layout))
    }

    /// Sets the options for parsing an appended layout, the text of a compiled layout, and the
    /// layouts passed to later calls of [`parse`](Self::parse).
    #[must_use]
    pub fn parse_options(mut self, options: ParseOptions) -> Self {
        self.parse = options;
        self
    }

    binio::setters! {
        /// Sets the rules for finding addresses. The rules may also provide the values of stored
        /// parameters that cannot be read from the file.
        rules: Rules;
        /// Sets the limits for reading arrays.
        limits: binio::Limits;
        /// Sets the filters for compressed arrays and references. By default, the filters of this crate are
        /// used.
        filters: FilterRegistry;
    }

    /// Sets whether files are mapped into memory, so that arrays can be viewed without copying
    /// their data. If another program truncates a mapped file, the operating system may kill this
    /// process. By default, files are not mapped, and data is read when needed.
    #[cfg(feature = "mmap")]
    #[must_use]
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.mmap = mmap;
        self
    }

    /// Opens the file at a path.
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](ErrorKind::Read) if the file cannot be read, and with
    /// [`NoLayout`](ErrorKind::NoLayout) if no layout is set or appended. If the signature is damaged, fails
    /// like [`Signature::of`]. If the appended layout has errors, fails like [`Layout::parse`].
    ///
    /// If the address of an item cannot be found, opening succeeds, but accessing the item fails;
    /// see [`File::stopped`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path.as_ref();
        let source = self.bytes_of(path)?;
        self.open_source(source.clone(), &Blocks::new(source), Some(path))
    }

    /// Opens the file at a path as a source of bytes.
    pub(super) fn bytes_of(&self, path: &Path) -> Result<FileBytes, Error> {
        self.bytes_by(path, ConsistentFile::open)
    }

    /// Opens the file at a path as a source of bytes, with an opener that is reused for many files.
    pub(super) fn bytes_with(
        &self,
        opener: &mut FileOpener,
        path: &Path,
    ) -> Result<FileBytes, Error> {
        self.bytes_by(path, |path| opener.open(path))
    }

    #[cfg_attr(
        not(feature = "mmap"),
        allow(clippy::unused_self, reason = "`self` is used only with the feature `mmap`")
    )]
    fn bytes_by<'p>(
        &self,
        path: &'p Path,
        open: impl FnOnce(&'p Path) -> binio::Result<ConsistentFile>,
    ) -> Result<FileBytes, Error> {
        let name = || path.display().to_string();
        #[cfg(all(feature = "mmap", any(unix, windows)))]
        if self.mmap && binio::write::Journaled::open(path).with_context(name)?.is_none() {
            return Ok(FileBytes::new(binio::Mmap::open(path).with_context(name)?));
        }
        Ok(open(path).with_context(name)?.into())
    }

    /// Opens a file that is already in memory.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<File, Error> {
        self.from_source(bytes.into())
    }

    /// Opens a file from any source of bytes.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn from_source(&self, source: impl ReadAt + 'static) -> Result<File, Error> {
        let source = FileBytes::new(source);
        self.open_source(source.clone(), &source, None)
    }

    /// Opens a file. Reads the signature and the parameters from `asked`, which provides the same
    /// bytes as `source`. `path` is used in messages.
    pub(super) fn open_source(
        &self,
        source: FileBytes,
        asked: &dyn ReadAt,
        path: Option<&Path>,
    ) -> Result<File, Error> {
        let signature = Signature::of(asked)?;
        if let Some(layout) = self.compiled.clone() {
            let (parse, rules) = (self.parse.clone(), self.rules.clone());
            let compiled = Compiled { layout, parse, rules };
            let file = File::with_compiled(source, signature, compiled, self.limits);
            return Ok(file.with_filters(self.filters.clone()));
        }
        let layout = match (&self.layout, signature) {
            (Some(layout), _) => Arc::clone(layout),
            (None, Some(signature)) if signature.layout_address > 0 => {
                let text = appended_text(&source, signature)?;
                let source = match path {
                    Some(path) => Source::decode_named(text, path.display().to_string())?,
                    None => Source::decode(text)?,
                };
                Arc::new(self.parse.parse_source(source)?)
            }
            _ => return Err(ErrorKind::NoLayout { is_native: signature.is_some() }.into()),
        };
        let resolved = Resolved::of(layout, &self.rules, asked)?;
        let file = File::new(source, signature, resolved, self.limits);
        Ok(file.with_filters(self.filters.clone()))
    }

    /// Returns the layout that was set, parsing it if it was set in compiled form.
    pub(super) fn given_layout(&self) -> Result<Arc<Layout>, Error> {
        match (&self.layout, &self.compiled) {
            (_, Some(compiled)) => Ok(Arc::new(compiled.parse(&self.parse)?)),
            (Some(layout), _) => Ok(Arc::clone(layout)),
            (None, None) => Err(ErrorKind::NoLayout { is_native: false }.into()),
        }
    }

    /// Returns the registered filters.
    pub(super) fn registered(&self) -> &FilterRegistry {
        &self.filters
    }

    /// Returns the limits for reading arrays.
    pub(super) fn reading_limits(&self) -> &binio::Limits {
        &self.limits
    }

    /// Returns the rules for finding addresses.
    pub(super) fn given_rules(&self) -> &Rules {
        &self.rules
    }
}

impl File {
    /// Opens a file described by `layout`, or by its appended layout if `layout` is `None`.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`].
    pub fn open(
        path: impl AsRef<Path>,
        layout: impl Into<Option<Arc<Layout>>>,
    ) -> Result<Self, Error> {
        OpenOptions::new().layout(layout).open(path)
    }

    /// Opens a file that is already in memory.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`].
    pub fn from_bytes(
        bytes: impl Into<Bytes>,
        layout: impl Into<Option<Arc<Layout>>>,
    ) -> Result<Self, Error> {
        OpenOptions::new().layout(layout).from_bytes(bytes)
    }

    /// Opens a file from any source of bytes.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`].
    pub fn from_source(
        source: impl ReadAt + 'static,
        layout: impl Into<Option<Arc<Layout>>>,
    ) -> Result<Self, Error> {
        OpenOptions::new().layout(layout).from_source(source)
    }
}

impl From<Layout> for Option<Arc<Layout>> {
    fn from(layout: Layout) -> Self {
        Some(Arc::new(layout))
    }
}
