//! An open file, with its layout, tree and blocks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use binio::ReadAt;
use bytes::Bytes;

use crate::diagnostic::{Code, Diagnostic, Reports};
use crate::error::{Error, ErrorKind, Result};
use crate::file::blocks::{BlockStore, Blocks};
use crate::file::open::OpenFile;
#[cfg(any(unix, windows))]
use crate::file::pool::FilePool;
use crate::layout::Layout;
use crate::options::{OpenOptions, Strictness};
use crate::tag;
use crate::yaml::{Document, ParseOptions};

/// An ASDF file that is open for reading.
///
/// By default, opening a large file reads little more than the end of the file and the bytes before the first
/// block. Opening succeeds even if other parts of the file are damaged. If the tree is invalid,
/// [`Asdf::document`] fails; if a block is damaged, the functions that use it fail. [`Asdf::diagnostics`] lists
/// irregularities.
///
/// A file can be read by several threads at the same time.
///
/// ```
/// use asdf::Asdf;
///
/// let mut bytes = b"#ASDF 1.0.0\n\xd3BLK\0\x30".to_vec();
/// bytes.extend([0; 8]); // flags, compression
/// for _ in 0..3 {
///     bytes.extend(4u64.to_be_bytes()); // allocated, used and decoded size
/// }
/// bytes.extend([0; 16]); // no checksum
/// bytes.extend(b"data");
///
/// let file = Asdf::from_bytes(bytes)?;
/// assert_eq!(file.layout().first_block, Some(12));
/// assert_eq!(file.blocks().get(0)?.decode()?, "data");
/// assert_eq!(file.diagnostics(), []);
/// # Ok::<(), asdf::Error>(())
/// ```
pub struct Asdf {
    path: Option<PathBuf>,
    options: OpenOptions,
    layout: Layout,
    tree_text: Bytes,
    document: OnceLock<Result<Document>>,
    blocks: BlockStore,
    /// The external files opened so far, including those that other external files refer to. Files
    /// are never removed from this list, so that they live as long as this `Asdf`.
    other_files: boxcar::Vec<(FileKey, Box<Asdf>)>,
    /// The index of each external file in `other_files`. Not locked while a file is being opened, because
    /// a resolver may read other external files.
    other_indices: Mutex<HashMap<FileKey, usize>>,
    #[cfg(any(unix, windows))]
    pool: Arc<FilePool>,
}

/// The key by which an external file is found again, so that it is opened only once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileKey {
    /// A path with all symbolic links resolved.
    Path(PathBuf),
    /// The URI that was passed to a resolver.
    Uri(String),
}

impl OpenOptions {
    /// Opens a file. A small file is read into memory as a whole. A larger file is read on demand, or
    /// mapped if [`Self::mmap`] is set.
    ///
    /// ```
    /// use asdf::{Asdf, OpenOptions, Strictness, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// let file = OpenOptions::new().strictness(Strictness::Strict).open(&path)?;
    /// assert_eq!(file.path(), Some(&*path));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`from_source`](Self::from_source). Also fails with [`ErrorKind::Io`] if the path is not a
    /// regular file, or if the journal next to it is invalid or belongs to another file.
    #[cfg(any(unix, windows))]
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Asdf> {
        let path = path.as_ref();
        Ok(Asdf::new(OpenFile::by_path(path, self)?, Some(path.to_owned()), self))
    }

    /// Opens a file that is already in memory. The file is not copied.
    ///
    /// # Errors
    ///
    /// Same as [`from_source`](Self::from_source).
    #[allow(
        clippy::wrong_self_convention,
        reason = "opens a file with these options, as `std::fs::OpenOptions::open` does"
    )]
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Asdf> {
        let bytes: Bytes = bytes.into();
        self.from_source(bytes)
    }

    /// Opens a file from any source.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Layout`] if the source does not begin with the header line of format version 1,
    /// and with [`ErrorKind::Io`] if the source cannot be read. Fails with [`ErrorKind::Limit`] if
    /// [`Limits::max_alloc`](crate::Limits::max_alloc) bytes of the tree have been read without finding its end.
    /// Unless the file is [salvaged](Strictness::Salvage), also fails with [`ErrorKind::Limit`] if the comments
    /// and other bytes before the tree or the first block exceed 16 MiB.
    ///
    /// With [`Strictness::Strict`], also fails with [`ErrorKind::Layout`] if the layout has any diagnostic.
    /// With `Strict` or [`Strictness::Salvage`], opening finds all blocks, so it also fails with
    /// [`ErrorKind::Limit`] if there are more than [`Limits::max_items`](crate::Limits::max_items) blocks.
    #[allow(
        clippy::wrong_self_convention,
        reason = "opens a file with these options, as `std::fs::OpenOptions::open` does"
    )]
    pub fn from_source(&self, source: impl ReadAt + 'static) -> Result<Asdf> {
        Ok(Asdf::new(OpenFile::from_source(Arc::new(source), self)?, None, self))
    }
}

impl Asdf {
    /// Opens a file with the default options.
    ///
    /// ```
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// let file = Asdf::open(&path)?;
    /// assert_eq!(file.tree()?.pointer("/gain")?.as_f64(), Some(2.5));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`].
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Opens a file that is already in memory, with the default options. The file is not copied.
    ///
    /// ```
    /// use asdf::{Asdf, ErrorKind};
    ///
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\ngain: 2.5\n...\n"[..])?;
    /// assert_eq!(file.tree()?.pointer("/gain")?.as_f64(), Some(2.5));
    ///
    /// let error = Asdf::from_bytes(&b"SIMPLE  =                    T"[..]).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Layout(_)));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        OpenOptions::default().from_bytes(bytes)
    }

    /// Opens a file from any source with the default options.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`].
    pub fn from_source(source: impl ReadAt + 'static) -> Result<Self> {
        OpenOptions::default().from_source(source)
    }

    fn new(file: OpenFile, path: Option<PathBuf>, options: &OpenOptions) -> Self {
        let OpenFile { layout, tree_text, blocks } = file;
        Self {
            path,
            options: options.clone(),
            layout,
            tree_text,
            document: OnceLock::new(),
            blocks,
            other_files: boxcar::Vec::new(),
            other_indices: Mutex::default(),
            #[cfg(any(unix, windows))]
            pool: Arc::default(),
        }
    }

    /// Returns the locations of the parts of the file.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n--- {}\n...\n"[..])?;
    /// let layout = file.layout();
    /// assert_eq!(layout.standard_version, Some(asdf::tag::Version::new(1, 6, 0)));
    /// assert_eq!(layout.tree, Some(33..54));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the binary blocks.
    ///
    /// ```
    /// use asdf::value::Array;
    /// use asdf::{Asdf, Compression, Tree, WriteOptions, Writer};
    ///
    /// let mut tree = Tree::default();
    /// tree.set("/zeros", Array::from_slice(&[0_f64; 1000], &[1000])?)?;
    /// let options = WriteOptions::new().compression(Compression::Zlib(6));
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(tree).options(options).write_to(&mut bytes)?;
    ///
    /// let file = Asdf::from_bytes(bytes.into_inner())?;
    /// for block in file.blocks() {
    ///     let block = block?;
    ///     assert_eq!(block.header()?.compression_name(), "zlib");
    ///     assert_eq!(block.data_len()?, 8000);
    ///     assert!(block.raw()?.len() < 100);
    /// }
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks::new(&self.blocks)
    }

    /// Returns the tree, which is empty if the file does not contain one. It is parsed on the first call. If
    /// the tree is invalid, the layout and the blocks can still be read.
    ///
    /// ```
    /// use asdf::{Asdf, ErrorKind};
    ///
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1\nb: 2\n...\n"[..])?;
    /// let error = file.document().unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Yaml { line: 5, .. }), "{error}");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`] if the tree is not valid YAML 1.1 or, with [`Strictness::Strict`], if a
    /// key occurs more than once in a mapping. Fails with [`ErrorKind::Limit`] if the tree exceeds a limit, for
    /// example because it has too many nodes ([`Limits::max_items`](crate::Limits::max_items)) or is nested too
    /// deeply ([`Limits::max_depth`](crate::Limits::max_depth)). Every call returns the same error.
    pub fn document(&self) -> Result<&Document> {
        let document = self.document.get_or_init(|| self.parse_tree());
        document.as_ref().map_err(Clone::clone)
    }

    fn parse_tree(&self) -> Result<Document> {
        let start = self.layout.tree.as_ref().map_or(0, |tree| tree.start);
        let options = ParseOptions::default()
            .start(start, self.layout.tree_line)
            .limits(self.options.limits)
            .scalars(self.options.scalars);
        let mut diagnostics = Vec::new();
        let document = Document::parse_shared(&self.tree_text, &options, &mut diagnostics);
        // If the file has no tree, the document is empty, so its root need not be checked.
        if let (Ok(document), Some(_)) = (&document, &self.layout.tree) {
            tag::check(document, self.layout.standard_version, &mut diagnostics);
        }
        let duplicate = diagnostics.iter().find(|d| d.code == Code::DuplicateKey).cloned();
        self.reports().extend(diagnostics);
        match duplicate {
            Some(duplicate) if self.options.strictness == Strictness::Strict => {
                document.and(Err(yaml_error(duplicate)))
            }
            _ => document,
        }
    }

    /// Returns the bytes of the tree, or no bytes if the file has no tree.
    pub fn tree_text(&self) -> &Bytes {
        &self.tree_text
    }

    /// Returns the irregularities found so far, ordered by their offset in the file. Reading more
    /// of the file may reveal more irregularities: for example, an index with too few or too many
    /// entries is only reported as such once all blocks are known.
    ///
    /// ```
    /// use asdf::Asdf;
    /// use asdf::diagnostic::{Code, Severity};
    ///
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n--- !core/asdf-1.1.0\na: 1\na: 2\n...\n"[..])?;
    /// assert_eq!(file.tree()?.pointer("/a")?.as_i64(), Some(2));
    /// let diagnostics = file.diagnostics();
    /// let repeated = diagnostics.iter().find(|it| it.code == Code::DuplicateKey).ok_or("no diagnostic")?;
    /// assert_eq!((repeated.severity, repeated.place.line), (Severity::Warning, Some(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.reports().sorted()
    }

    /// Returns the source from which the file is read.
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        self.blocks.source().source()
    }

    /// Returns the path of the file, or `None` if it was not opened by path.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the options with which the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    pub(crate) fn reports(&self) -> &Reports {
        self.blocks.reports()
    }

    /// Iterates over the external files opened so far. Each file comes with its URI if a resolver
    /// opened it, and with its path otherwise. Paths inside the folder that contains this file are
    /// relative to that folder.
    pub fn other_files(&self) -> impl Iterator<Item = (String, &Self)> {
        let folder = self.path.as_ref().and_then(|path| path.canonicalize().ok());
        let folder = folder.and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
        let files = self.other_files.iter();
        files.map(move |(_, (key, file))| match key {
            FileKey::Path(path) => {
                (path.strip_prefix(&folder).unwrap_or(path).display().to_string(), &**file)
            }
            FileKey::Uri(uri) => (uri.clone(), &**file),
        })
    }

    /// Returns the external file with this key, opening it if necessary. If two threads open the same file
    /// at the same time, both get the file that was opened first.
    pub(crate) fn other_file(
        &self,
        key: &FileKey,
        open: impl FnOnce() -> Result<Self>,
    ) -> Result<&Self> {
        let known = self.known_file(key, &self.lock_indices())?;
        if let Some(file) = known {
            return Ok(file);
        }
        let file = Box::new(open()?);
        let mut indices = self.lock_indices();
        // Another thread or the resolver itself may have opened the file in the meantime.
        if let Some(file) = self.known_file(key, &indices)? {
            return Ok(file);
        }
        let index = self.other_files.push((key.clone(), file));
        indices.insert(key.clone(), index);
        Ok(&self.other_files[index].1)
    }

    fn lock_indices(&self) -> MutexGuard<'_, HashMap<FileKey, usize>> {
        self.other_indices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the external file with this key, or `None` if it is not open. Fails if the file is not open and
    /// no more files may be opened.
    fn known_file(
        &self,
        key: &FileKey,
        indices: &HashMap<FileKey, usize>,
    ) -> Result<Option<&Self>> {
        if let Some((_, file)) = indices.get(key).and_then(|&index| self.other_files.get(index)) {
            return Ok(Some(file));
        }
        let (count, limit) = (indices.len() as u64 + 1, self.options.max_files as u64);
        binio::check_limit("external files", limit, count)?;
        Ok(None)
    }

    /// Opens an external file with the same options as this file, using this file's pool of open files.
    #[cfg(any(unix, windows))]
    pub(crate) fn open_other(&self, path: &Path) -> Result<Self> {
        let file = OpenFile::in_pool(path, &self.options, &self.pool)?;
        Ok(Self::new(file, Some(path.to_owned()), &self.options))
    }
}

impl std::fmt::Debug for Asdf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asdf")
            .field("path", &self.path)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// Converts a diagnostic about the tree to an error.
fn yaml_error(diagnostic: Diagnostic) -> Error {
    let Diagnostic { place, message, .. } = diagnostic;
    let (line, column) = (place.line.unwrap_or(1), place.column.unwrap_or(1));
    let kind = ErrorKind::Yaml { message, pointer: place.pointer, line, column };
    Error::new(kind).at(place.offset.unwrap_or(0))
}
