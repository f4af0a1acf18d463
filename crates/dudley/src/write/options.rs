//! How a file is written, and where it begins.

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

/// How a file is written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    rules: Rules,
    apart: bool,
    foreign: bool,
    strict: bool,
    limits: binio::Limits,
    filters: FilterRegistry,
}

impl WriteOptions {
    /// The defaults: a native file in the byte order of this machine, with the layout at its end.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the rules by which addresses are found, with the values of stored parameters. Their byte order is that
        /// of the signature; without one, that of the layout, else that of this machine.
        rules: Rules;
        /// Sets whether the layout is in a file of its own. Default: no, it is appended.
        apart: bool;
        /// Sets whether the file has no signature, as files of other programs. Then no layout is appended.
        foreign: bool;
        /// Sets whether it is an error that data are missing. Default: no, they become zeros and are in the
        /// report.
        strict: bool;
        /// Sets the limits of arrays: how much may be held in memory.
        limits: binio::Limits;
        /// Sets the filters of compressed arrays and references. Default: those of this crate.
        filters: FilterRegistry;
    }

    /// Begins a file, which appears under its name when it is [finished](Writer::finish).
    ///
    /// # Errors
    /// If the file cannot be created; if the layout has no addresses with the given values.
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
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        layout: impl Into<Arc<Layout>>,
    ) -> Result<Writer<'static>, Error> {
        let mut file = AtomicFile::create(path)?;
        let target = FileTarget::new(file.file()?.try_clone()?)?;
        self.begin(layout.into(), Target::File(file, target))
    }

    /// Begins a file in a target that is written by position, such as a vector of bytes.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn write_at<'w>(
        &self,
        target: &'w mut dyn WriteAt,
        layout: impl Into<Arc<Layout>>,
    ) -> Result<Writer<'w>, Error> {
        self.begin(layout.into(), Target::At(target))
    }

    /// Begins a file that is written in one pass, as to a pipe. What is put early is held in memory until its
    /// turn; what is put in order of addresses is written at once.
    ///
    /// # Errors
    /// As [`create`](Self::create); and if data overlap.
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
        writer.appends_layout = !self.foreign && !self.apart;
        writer.is_strict = self.strict;
        writer.filters = self.filters.clone();
        writer.begin()?;
        Ok(writer)
    }
}
