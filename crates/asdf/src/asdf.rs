//! A file: its layout, its tree, its blocks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use binio::ReadAt;
use bytes::Bytes;

use crate::blocks::Blocks;
use crate::blocks::cache::DecodedCache;
use crate::blocks::table::{BlockTable, Reading};
use crate::diagnostic::Reports;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::locate::{self, Opened, salvage};
use crate::options::{OpenOptions, Strictness};
use crate::tree::external::OpenFiles;
use crate::tree::tag;
use crate::yaml::{Document, ParseOptions};

/// An ASDF file that is open for reading.
///
/// Opening reads the head and the end of the file and nothing between. Only a file without a
/// readable header line fails to open: a broken tree fails [`Asdf::document`], a broken block
/// fails what uses it, and what is merely odd is among the [`Asdf::diagnostics`].
///
/// Many threads may read one file.
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
    source: Arc<dyn ReadAt>,
    path: Option<PathBuf>,
    options: OpenOptions,
    layout: Layout,
    tree_text: Bytes,
    document: OnceLock<Result<Document>>,
    reports: Reports,
    table: Mutex<BlockTable>,
    cache: Mutex<DecodedCache>,
    /// Blocks whose checksum was checked on reading, by offset, and what is wrong with them.
    verified: Mutex<HashMap<u64, Option<Error>>>,
    /// Other files that this one, or one of them, names.
    open_files: OpenFiles,
}

impl Asdf {
    /// Opens a file with the default options.
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Reads a file that is in memory, with the default options. Nothing is copied.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        OpenOptions::default().from_bytes(bytes)
    }

    /// Reads a file from any source, with the default options.
    pub fn from_source(source: Arc<dyn ReadAt>) -> Result<Self> {
        OpenOptions::default().from_source(source)
    }

    pub(crate) fn with_options(
        source: Arc<dyn ReadAt>,
        path: Option<PathBuf>,
        options: OpenOptions,
    ) -> Result<Self> {
        let reports = Reports::default();
        let opened = locate::open(source.as_ref(), &options.limits, &reports)?;
        let Opened { layout, tree_text, mut table } = opened;
        let reading =
            Reading { source: source.as_ref(), limits: &options.limits, reports: &reports };
        match options.strictness {
            Strictness::Normal => {}
            Strictness::Strict => {
                for index in 0.. {
                    if table.get(index, reading)?.is_none() {
                        break;
                    }
                }
                refuse_oddities(&reports)?;
            }
            Strictness::Salvage => table = salvage::find_blocks(&layout, table, reading)?,
        }
        let cache = Mutex::new(DecodedCache::new(options.cache_size));
        let (table, verified) = (Mutex::new(table), Mutex::default());
        let document = OnceLock::new();
        Ok(Self {
            source,
            path,
            options,
            layout,
            tree_text,
            document,
            reports,
            table,
            cache,
            verified,
            open_files: OpenFiles::new(),
        })
    }

    /// Where the parts of the file are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The binary blocks.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks::new(self)
    }

    /// The tree. It is parsed on the first call; a file without a tree has an empty one. When it
    /// is broken every call gives the same error, and blocks and layout can be read all the same.
    pub fn document(&self) -> Result<&Document> {
        let document = self.document.get_or_init(|| self.parse_tree());
        document.as_ref().map_err(Clone::clone)
    }

    fn parse_tree(&self) -> Result<Document> {
        let mut options = ParseOptions::default();
        options.offset = self.layout.tree.as_ref().map_or(0, |tree| tree.start);
        options.line = self.layout.tree_line;
        options.limits = self.options.limits;
        options.scalars = self.options.scalars;
        let mut diagnostics = Vec::new();
        let document = Document::parse(&self.tree_text, &options, &mut diagnostics);
        // A file may lack a tree; an empty one has no root to say anything about.
        if let (Ok(document), Some(_)) = (&document, &self.layout.tree) {
            tag::check(document, self.layout.standard_version, &mut diagnostics);
        }
        let duplicate = diagnostics.iter().find(|d| d.code == Code::DuplicateKey).cloned();
        self.reports.extend(diagnostics);
        match duplicate {
            Some(duplicate) if self.options.strictness == Strictness::Strict => {
                document.and(Err(self.yaml_error(duplicate)))
            }
            _ => document,
        }
    }

    /// A diagnostic of the tree as an error.
    fn yaml_error(&self, diagnostic: Diagnostic) -> Error {
        let Diagnostic { offset, line, message, .. } = diagnostic;
        let start = self.layout.tree.as_ref().map_or(0, |tree| tree.start);
        let at = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
        let before = &self.tree_text[..at.min(self.tree_text.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let characters = String::from_utf8_lossy(&before[line_start..]).chars().count();
        let column = u32::try_from(characters).unwrap_or(u32::MAX).saturating_add(1);
        Error::Yaml { message, line: line.unwrap_or(1), column, offset }
    }

    /// The bytes of the tree, empty if there is none.
    pub fn tree_text(&self) -> &Bytes {
        &self.tree_text
    }

    /// What is odd about the file, as far as it was read, by place in the file. Reading more of it
    /// may add to the list; and of an index that was not used it tells what is wrong only when all
    /// blocks are known.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.reports.sorted()
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        &self.source
    }

    /// The path, of a file that was opened by path.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    pub(crate) fn open_files(&self) -> &OpenFiles {
        &self.open_files
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            source: self.source.as_ref(),
            limits: &self.options.limits,
            reports: &self.reports,
        }
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, BlockTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn cache(&self) -> MutexGuard<'_, DecodedCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn verified(&self) -> MutexGuard<'_, HashMap<u64, Option<Error>>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Turns the first diagnostic into an error.
fn refuse_oddities(reports: &Reports) -> Result<()> {
    match reports.sorted().into_iter().next() {
        None => Ok(()),
        Some(Diagnostic { code, offset, message, .. }) => {
            Err(Error::Layout { message: format!("{code}: {message}"), offset })
        }
    }
}
