//! A layout whose addresses depend only on the values of its parameters.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binio::ReadAt;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::super::bytes::FileBytes;
use super::super::value::{File, Resolved};
use crate::error::{Error, ErrorKind};
use crate::layout::{Declaration, Layout, Order, ParamId};
use crate::place::{Location, Resolver, Row, Rules, Values};
use crate::signature::Signature;

/// Maximum number of sets of parameter values for which addresses are cached.
const MAX_KEPT: usize = 64;

/// Maximum number of locations that are cached for each set of parameter values.
const MAX_LOCATED: usize = 256;

/// The cached addresses for each set of parameter values.
type Kept = HashMap<Box<[i64]>, Addresses>;

/// The addresses for one set of parameter values.
struct Addresses {
    file: Arc<File>,
    /// The locations that have been requested, by path. This cache makes [`Template::locate`] about
    /// three times as fast as calling [`File::locate`] each time (`dudley_tasks template`, in
    /// `examples`).
    located: HashMap<Box<str>, Location>,
}

/// A layout whose addresses depend only on the values of the parameters in its summary. It locates arrays in
/// files of a family without opening them.
///
/// ```
/// use dudley::file::Template;
/// use dudley::{Order, Values};
///
/// let template = Template::parse("{ IMAX : i8  time = f8 }  r = f8[IMAX]  te = f4[IMAX]")?;
/// let template = template.native(true).order(Order::Little);
/// let te = template.locate(&Values::new().with("IMAX", 5), "/te")?;
/// assert_eq!((te.address(), te.dtype(), te.shape()), (72, "<f4", &[5][..]));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone)]
pub struct Template {
    layout: Arc<Layout>,
    /// The stored parameters and their paths, in order of declaration.
    params: Arc<[(ParamId, String)]>,
    is_native: bool,
    order: Option<Order>,
    /// The cached addresses, for at most `MAX_KEPT` sets of parameter values.
    kept: Arc<Mutex<Kept>>,
}

impl Template {
    /// Parses a layout, and creates a template from it.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::parse`] and [`new`](Self::new).
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::new(Layout::parse(text)?)
    }

    /// Creates a template from a layout.
    ///
    /// # Errors
    ///
    /// Fails with [`NotTemplate`](ErrorKind::NotTemplate) if addresses depend on anything but the summary: if
    /// the layout has a stored parameter outside the summary, an explicit address, compressed data, or a struct
    /// whose size depends on values stored in it.
    pub fn new(layout: impl Into<Arc<Layout>>) -> Result<Self, Error> {
        let layout = layout.into();
        if let Some((subject, obstacle)) = layout.template_obstacles().next() {
            let path = layout.subject_path(subject);
            return Err(ErrorKind::NotTemplate { path, reason: obstacle.of_item() }.into());
        }
        let params = layout.declarations().iter().filter_map(|&declaration| match declaration {
            Declaration::Param(id) if layout.param(id).value.is_stored() => {
                Some((id, layout.subject_path(id.into())))
            }
            _ => None,
        });
        let (params, kept) = (params.collect(), Arc::default());
        Ok(Self { layout, params, is_native: true, order: None, kept })
    }

    /// Sets whether the files are native, so that their data begins after the signature. Default: `true`.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        Self { is_native: native, kept: Arc::default(), ..self }
    }

    /// Sets the byte order of the files, for a layout that does not state one. Default: the byte order of
    /// this machine.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order: Some(order), kept: Arc::default(), ..self }
    }

    pub(super) fn stated_order(&self) -> Option<Order> {
        self.order
    }

    /// Returns the layout that all files of the family share.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Iterates over the names of the parameters in the summary, in order of declaration.
    pub fn params(&self) -> impl ExactSizeIterator<Item = &str> {
        self.params.iter().map(|&(id, _)| self.layout.param_name(id))
    }

    /// Returns the text of the layout for a file of summaries: `COUNT : i8  summary = {..}[COUNT]`.
    pub fn summary_layout(&self) -> String {
        let order = self.layout.order().map_or_else(String::new, |order| format!("{order}\n"));
        let body = match self.layout.summary() {
            Some(summary) => self.layout.struct_text(summary.struct_type),
            None => "{}".to_owned(),
        };
        format!("{order}COUNT : i8\nsummary = {body}[COUNT]\n")
    }

    /// Returns the location of the array, member or parameter at a path, in a file whose parameters
    /// have these values.
    ///
    /// # Errors
    ///
    /// Same as [`File::locate`]. Also fails with [`ValueUnknown`](crate::diagnostic::Code::ValueUnknown) if a
    /// value that the location depends on is missing.
    pub fn locate(&self, values: &Values, path: &str) -> Result<Location, Error> {
        let value =
            |(id, path): &(ParamId, String)| values.of_param(path, self.layout.param_name(*id));
        match self.params.iter().map(value).collect::<Option<SmallVec<[i64; 8]>>>() {
            Some(values) => self.locate_for(&values, path),
            None => self.resolved(values.clone()).locate(path),
        }
    }

    /// Like [`locate`](Self::locate), but takes the values in order of declaration.
    pub(super) fn locate_for(&self, values: &[i64], path: &str) -> Result<Location, Error> {
        if let Some(known) = self.kept().get(values).and_then(|known| known.located.get(path)) {
            return Ok(known.clone());
        }
        let location = self.file_for(values).locate(path)?;
        if let Some(known) = self.kept().get_mut(values) {
            if known.located.len() >= MAX_LOCATED {
                known.located.clear();
            }
            known.located.insert(path.into(), location.clone());
        }
        Ok(location)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the offset at which the data ends in a file whose parameters have these values. The
    /// values are in order of declaration.
    pub(super) fn data_end(&self, values: &[i64]) -> u64 {
        let file = self.file_for(values);
        let end = |row: &Row| {
            let nbytes = row.nbytes().filter(|&nbytes| nbytes > 0)?;
            Some(row.address()?.saturating_add(nbytes))
        };
        let start = if self.is_native { Signature::LEN } else { 0 };
        file.table().rows().iter().filter_map(end).max().unwrap_or(start)
    }

    /// Returns a [`File`] that has the addresses for these values, but no content. The values are in
    /// order of declaration.
    fn file_for(&self, values: &[i64]) -> Arc<File> {
        if let Some(known) = self.kept().get(values) {
            return Arc::clone(&known.file);
        }
        let paths = self.params.iter().map(|(_, path)| path.clone());
        let file = Arc::new(self.resolved(paths.zip(values.iter().copied()).collect()));
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let known = Addresses { file: Arc::clone(&file), located: HashMap::new() };
        kept.insert(values.into(), known);
        file
    }

    pub(super) fn is_native(&self) -> bool {
        self.is_native
    }

    /// Creates a [`File`] that has addresses but no content.
    fn resolved(&self, values: Values) -> File {
        let rules = Rules { order: self.order, ..Rules::new().values(values) };
        let resolver = Resolver::new(Arc::clone(&self.layout)).rules(rules).native(self.is_native);
        let (table, stopped) = resolver.partial_table();
        let (layout, inputs) = (Arc::clone(&self.layout), resolver.into_inputs());
        let resolved = Resolved { layout, table, stopped, inputs, is_invalid: false };
        File::new(FileBytes::new(Unopened), None, resolved, binio::Limits::default())
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// A placeholder for the bytes of a file that has not been opened. All bytes up to the maximum
/// address read as zeros. Their values do not matter, because the addresses of a template do not
/// depend on them.
struct Unopened;

impl ReadAt for Unopened {
    fn len(&self) -> u64 {
        i64::MAX.unsigned_abs()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        binio::source::check_range(self.len(), offset, buf.len() as u64)?;
        buf.fill(0);
        Ok(())
    }
}
