//! Options for writing, and the functions that start writing a file.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use binio::write::{AtomicFile, FileTarget, WriteAt};

use super::sequential::Sequential;
use super::writer::{Target, Writer};
use crate::error::Error;
use crate::filter::FilterRegistry;
use crate::layout::{Layout, Order};
use crate::place::{Resolver, Rules};

/// Options for writing files.
///
/// ```
/// use dudley::{ErrorKind, Layout, WriteOptions};
///
/// let layout = Layout::parse("x = i4  y = i4")?;
/// let mut bytes = Vec::new();
/// let mut writer = WriteOptions::new().strict(true).write_at(&mut bytes, layout)?;
/// writer.put("/x", &[7_i32])?;
/// let error = writer.finish().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Missing { paths } if *paths == ["/y"]));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    rules: Rules,
    omit_layout: bool,
    foreign: bool,
    strict: bool,
    limits: binio::Limits,
    filters: FilterRegistry,
}

impl WriteOptions {
    /// Returns the default options: a native file with an appended layout, in the byte order that the layout
    /// states. If the layout does not state a byte order, the byte order of this machine is used.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the rules for finding addresses, and the values of stored parameters. The byte
        /// order in the signature comes from these rules or, if they do not set a byte order, from
        /// the layout. If the layout does not state a byte order either, the byte order of this
        /// machine is used.
        rules: Rules;
        /// Sets whether the layout is omitted from the file instead of being appended. Reading the file then
        /// requires the layout. Default: `false`.
        omit_layout: bool;
        /// Sets whether to write a file without a signature and without an appended layout, as other programs
        /// do. Default: `false`.
        foreign: bool;
        /// Sets whether missing data, or a stored parameter without a value, is an error. Default: `false`, so
        /// both are filled with zeros and listed in the report.
        strict: bool;
        /// Sets the limits for arrays, such as the maximum number of bytes in memory.
        limits: binio::Limits;
        /// Sets the filters for compressed arrays and references. By default, the filters of this crate are
        /// used.
        filters: FilterRegistry;
    }

    /// Starts writing a file at a path. The file appears at the path only once it is
    /// [finished](Writer::finish).
    ///
    /// ```
    /// use dudley::{File, Layout, Rules, Values, WriteOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.bdud");
    /// let layout = Layout::parse("N : i4  x = f8[N]  p = { id = i4  pos = f4[2] }[N]")?;
    /// let options = WriteOptions::new().rules(Rules::new().values(Values::new().with("N", 2)));
    /// let mut writer = options.create(&path, layout)?;
    /// writer.put("/p.id", &[7_i32, 8])?;
    /// writer.put("/x", &[0.5, 1.5])?;
    /// assert_eq!(writer.finish()?.missing, ["/p.pos"]);
    ///
    /// let file = File::open(&path, None)?;
    /// assert_eq!(file.get("/p.id")?.read::<i32>()?, [7, 8]);
    /// assert_eq!(file.get("/p.pos")?.read::<f32>()?, [0.0; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](crate::ErrorKind::Read) if the file cannot be created, and with
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the type of a parameter cannot represent its value. If the
    /// addresses cannot be computed from the given values, fails like [`Resolver::table`].
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        layout: impl Into<Arc<Layout>>,
    ) -> Result<Writer<'static>, Error> {
        let mut file = AtomicFile::create(path)?;
        let target = FileTarget::new(file.file()?.try_clone()?)?;
        self.begin(layout.into(), Target::File(file, target))
    }

    /// Starts writing a file to a target that can be written at any offset, such as a vector of
    /// bytes.
    ///
    /// # Errors
    ///
    /// Same as [`create`](Self::create).
    pub fn write_at<'w>(
        &self,
        target: &'w mut dyn WriteAt,
        layout: impl Into<Arc<Layout>>,
    ) -> Result<Writer<'w>, Error> {
        self.begin(layout.into(), Target::At(target))
    }

    /// Starts writing a file in one pass, for example to a pipe. Data that is put in address order is
    /// written immediately. Other data is kept in memory until all data at lower addresses has been written.
    /// If the layout has compressed arrays, all data is kept in memory until the file is finished.
    ///
    /// ```
    /// use dudley::{File, Layout, Rules, Values, WriteOptions};
    ///
    /// let mut pipe = Vec::new();
    /// let options = WriteOptions::new().rules(Rules::new().values(Values::new().with("N", 2)));
    /// let layout = Layout::parse("N : i4  x = u2[N]")?;
    /// let mut writer = options.stream(&mut pipe, layout)?;
    /// writer.put("x", &[5_u16, 6])?;
    /// writer.finish()?;
    /// assert_eq!(File::from_bytes(pipe, None)?.get("x")?.read::<u16>()?, [5, 6]);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`create`](Self::create). Also fails with [`Mismatch`](crate::ErrorKind::Mismatch) if items
    /// overlap.
    pub fn stream<'w>(
        &self,
        out: &'w mut dyn Write,
        layout: impl Into<Arc<Layout>>,
    ) -> Result<Writer<'w>, Error> {
        self.begin(layout.into(), Target::Stream(Sequential::new(out)))
    }

    fn begin<'w>(&self, layout: Arc<Layout>, target: Target<'w>) -> Result<Writer<'w>, Error> {
        let order = self.rules.order.or(layout.order()).unwrap_or_else(Order::native);
        let resolver = Resolver::new(Arc::clone(&layout))
            .rules(self.rules.clone().order(order))
            .native(!self.foreign);
        let table = resolver.table()?;
        let mut writer = Writer::new(layout, resolver.into_inputs(), table, target, self.limits);
        writer.signature = (!self.foreign).then_some(order);
        writer.appends_layout = !self.foreign && !self.omit_layout;
        writer.is_strict = self.strict;
        writer.filters = self.filters.clone();
        writer.begin()?;
        Ok(writer)
    }
}
