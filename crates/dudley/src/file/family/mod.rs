//! Families: sets of files that share one layout, with different values of its parameters.
//!
//! | module | content |
//! |---|---|
//! | `template` | a layout whose addresses depend only on the values of its parameters |
//! | `summaries` | the parameter values of all files, stored in one file |
//! | `names` | the names of the files |
//! | `identity` | checks that a file matches its summary |
//! | `stack` | the bytes of one array in all files, concatenated |

mod identity;
mod names;
mod stack;
mod summaries;
mod template;

pub use names::file_names;
pub use summaries::Summaries;
pub use template::Template;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use binio::array::Strided;
use binio::diagnostic::count;

use super::bytes::FileBytes;
use super::open::OpenOptions;
use super::value::{Array, File};
use crate::error::{Error, ErrorKind};
use crate::layout::Layout;
use crate::place::{Location, Rules};
use identity::Identity;
use stack::{Stack, Window};

/// A set of files described by the same layout.
///
/// With [`Summaries`] (see [`Template::family`]), all addresses are known before a file is opened. Reading a
/// file then fails if its signature, length or appended layout contradicts its summary. Without summaries, the
/// parameters of a file are read when its data is read.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use dudley::array::Slice;
/// use dudley::file::Family;
/// use dudley::Layout;
///
/// let layout = std::sync::Arc::new(Layout::parse("< N : u2  x = i2[N]")?);
/// let mut files = Vec::new();
/// for number in 0..3_u8 {
///     files.push(folder.path().join(format!("run_{number}.bin")));
///     std::fs::write(&files[usize::from(number)], [2, 0, number, 0, 10 * number, 0])?;
/// }
/// let family = Family::new(layout, files);
/// let x = family.get("/x")?;
/// assert_eq!(x.shape(), [3, 2]);
/// assert_eq!(x.slice(&Slice::parse(":, 1")?)?.read::<i16>()?, [0, 10, 20]);
/// assert_eq!(family.locate(2, "/x")?.address(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Family {
    files: Arc<[PathBuf]>,
    options: OpenOptions,
    known: Option<Arc<Known>>,
}

/// The content of the summaries.
struct Known {
    template: Template,
    /// The parameter values of each file.
    values: Vec<Box<[i64]>>,
    identity: Arc<Identity>,
}

impl Family {
    /// Creates a family from a layout and the files that it describes.
    pub fn new<P: Into<PathBuf>>(
        layout: impl Into<Arc<Layout>>,
        files: impl IntoIterator<Item = P>,
    ) -> Self {
        Self::with_options(OpenOptions::new().layout(Some(layout.into())), files)
    }

    /// Creates a family whose files are opened with `options`, which include the layout.
    pub fn with_options<P: Into<PathBuf>>(
        options: OpenOptions,
        files: impl IntoIterator<Item = P>,
    ) -> Self {
        let files = files.into_iter().map(Into::into).collect();
        Self { files, options, known: None }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns `true` if there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the paths of the files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Opens the file with this number, counted from 0.
    ///
    /// # Errors
    ///
    /// Same as [`File::open`]. Also fails with [`NotFound`](ErrorKind::NotFound) if there is no file with this
    /// number.
    pub fn open(&self, number: usize) -> Result<File, Error> {
        self.options.open(self.file(number)?)
    }

    fn file(&self, number: usize) -> Result<&Path, Error> {
        let file = self.files.get(number).ok_or_else(|| ErrorKind::NotFound {
            path: number.to_string(),
            parent: "the family".to_owned(),
            missing: format!("file {number} (it has only {})", count(self.files.len(), "file")),
        });
        Ok(file?)
    }

    /// Returns the location of an array in one file. Opens the file only if there are no summaries.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open) and [`File::locate`].
    pub fn locate(&self, number: usize, path: &str) -> Result<Location, Error> {
        let file = self.file(number)?;
        match &self.known {
            Some(known) => known.template.locate_for(&known.values[number], path),
            None => self.options.open(file)?.locate(path),
        }
    }

    /// Combines the arrays at this path in all files into one array, whose first index is the
    /// number of the file. Without summaries, only the first file is opened immediately, and the
    /// parameters of the other files are read together with their data. With the feature `rayon`,
    /// files are read in parallel by the threads of the caller's rayon pool.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open) and [`File::locate`]. Also fails with [`Mismatch`](ErrorKind::Mismatch)
    /// if the shape, strides or type in a file differ from those in the first file. Without summaries, a
    /// difference is found only when the file is read.
    pub fn get(&self, path: &str) -> Result<Array, Error> {
        let first = match (&self.known, self.files.first()) {
            (Some(known), Some(_)) => known.template.locate_for(&known.values[0], path)?,
            (None, Some(file)) => self.options.open(file)?.locate(path)?,
            (_, None) => {
                return Err(self.file(0).err().unwrap_or_else(|| ErrorKind::NotNative.into()));
            }
        };
        let window = Window::of(&first)?;
        let known = match &self.known {
            Some(known) => {
                let identity = Arc::clone(&known.identity);
                Some((known.addresses(&first, path, &self.files)?, identity))
            }
            None => None,
        };
        let count = self.files.len() as u64;
        let len = window.len.checked_mul(count).filter(|&len| i64::try_from(len).is_ok());
        let len = len.ok_or_else(|| ErrorKind::NotStrided {
            path: path.to_owned(),
            reason: "all files together would have more than 2^63-1 bytes",
        })?;
        let (datatype, shape) = first.array_type();
        let shape = [&[count], shape].concat();
        let outer = i64::try_from(window.len).unwrap_or(i64::MAX);
        let strides = [&[outer], first.strides()].concat();
        let strided = Strided::new(shape, strides, window.first, datatype.itemsize(), len);
        let strided = strided.map_err(binio::Error::from)?;
        let limits = *self.options.reading_limits();
        let datatype = datatype.clone();
        let stack = Stack {
            files: Arc::clone(&self.files),
            options: self.options.clone(),
            path: path.to_owned(),
            first,
            window,
            known,
            len,
            last: Mutex::default(),
            seen: Mutex::default(),
        };
        let made = Array::new(FileBytes::new(stack), datatype, strided, limits);
        Ok(made.map_err(binio::Error::from)?)
    }
}

impl Template {
    /// Creates a family from files and their summaries, which must be in the same order.
    ///
    /// # Errors
    ///
    /// Same as [`Summaries::param`]. Also fails with [`Mismatch`](ErrorKind::Mismatch) if the numbers of files
    /// and records differ.
    pub fn family<P: Into<PathBuf>>(
        &self,
        files: impl IntoIterator<Item = P>,
        summaries: &Summaries,
    ) -> Result<Family, Error> {
        let files: Vec<PathBuf> = files.into_iter().map(Into::into).collect();
        if files.len() != summaries.len() {
            let (records, files) = (count(summaries.len(), "record"), count(files.len(), "file"));
            let message = format!("expected one record per file, found {records} for {files}");
            return Err(ErrorKind::Mismatch { path: "/summary".to_owned(), message }.into());
        }
        let columns = self.params().map(|name| summaries.param(name));
        let columns = columns.collect::<Result<Vec<Vec<i64>>, Error>>()?;
        let record = |number| columns.iter().map(|column| column[number]).collect();
        let values = (0..files.len()).map(record).collect();
        let template = self.clone().native(summaries.is_native());
        let template = template.order(self.stated_order().unwrap_or(summaries.order()));
        let options = OpenOptions::new().layout(Some(Arc::clone(self.layout())));
        let options = options.rules(Rules::new().order(summaries.order()));
        let known = Some(Arc::new(Known::new(template, values)));
        Ok(Family { files: files.into(), options, known })
    }
}

impl Known {
    fn new(template: Template, values: Vec<Box<[i64]>>) -> Self {
        let mut ends: Vec<u64> = Vec::with_capacity(values.len());
        let mut last: Option<&[i64]> = None;
        for values in &values {
            let end = match (last, ends.last()) {
                (Some(last), Some(&end)) if *last == **values => end,
                _ => template.data_end(values),
            };
            last = Some(values);
            ends.push(end);
        }
        let identity = Arc::new(Identity::new(&template, ends));
        Self { template, values, identity }
    }

    /// Finds the address of an array in each file. Fails if its shape, strides or type differ from those in the
    /// first file.
    fn addresses(
        &self,
        first: &Location,
        path: &str,
        files: &[PathBuf],
    ) -> Result<Arc<[u64]>, Error> {
        let mut last: Option<(&[i64], u64)> = None;
        let mut addresses = Vec::with_capacity(files.len());
        for (values, file) in self.values.iter().zip(files) {
            // Consecutive files usually have the same values, and therefore the same address.
            let address = match last {
                Some((known, address)) if *known == **values => address,
                _ => {
                    let found = self.template.locate_for(values, path)?;
                    first.check_alike(&found, path, file)?;
                    found.address()
                }
            };
            last = Some((values, address));
            addresses.push(address);
        }
        Ok(addresses.into())
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family")
            .field("files", &self.files.len())
            .field("has_summary", &self.known.is_some())
            .finish_non_exhaustive()
    }
}

impl Location {
    /// Checks that `other`, the location of the array in another file, has the same shape, strides
    /// and type.
    fn check_alike(&self, other: &Self, path: &str, file: &Path) -> Result<(), Error> {
        if self.array_type() == other.array_type() && self.strides() == other.strides() {
            return Ok(());
        }
        let shown = |one: &Self| {
            let dims: Vec<String> = one.shape().iter().map(ToString::to_string).collect();
            format!("{}[{}]", one.dtype(), dims.join(", "))
        };
        let (expected, found) = (shown(self), shown(other));
        let message = if expected == found {
            format!("{}: its elements have different strides", file.display())
        } else {
            format!("{}: expected {expected}, found {found}", file.display())
        };
        Err(ErrorKind::Mismatch { path: path.to_owned(), message }.into())
    }
}
