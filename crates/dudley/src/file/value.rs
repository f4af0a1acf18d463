//! An open file and the values in it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use binio::ReadAt;
use binio::array::{self, ElementsError};

use super::appended::appended_text;
use super::bytes::FileBytes;
use crate::error::{Error, ErrorKind};
use crate::filter::FilterRegistry;
use crate::index::CompiledLayout;
#[cfg(feature = "write")]
use crate::layout::Found;
use crate::layout::{Inside, Layout, Order};
use crate::options::ParseOptions;
use crate::place::{
    AddressTable, Change, Inner, Inputs, Location, Resolver, Row, Rules, Stored, contradiction,
    to_error,
};
use crate::signature::Signature;

/// A view of an array in a file. Creating or [slicing](array::Array::slice) a view does not read
/// elements, except that a compressed array is decoded into memory when its view is created.
///
/// ```
/// use dudley::array::Slice;
/// use dudley::{File, Layout};
///
/// let file = File::from_bytes(vec![1, 2, 3, 4, 5, 6], Layout::parse("x = u1[2, 3]")?)?;
/// let x = file.get("/x")?;
/// assert_eq!(x.shape(), [2, 3]);
/// let column = x.slice(&Slice::parse(":, 1")?)?;
/// assert_eq!(column.read::<u8>()?, [2, 5]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub type Array = array::Array<FileBytes>;

/// An open file, native or not, and the layout that describes it. Opening reads the parameters and finds the
/// addresses, unless the layout is compiled. Arrays are read on request.
///
/// ```
/// use dudley::File;
/// use dudley::array::Slice;
///
/// let mut native = b"\x8d<BD\r\n\x1a\n\x20\0\0\0\0\0\0\0".to_vec();
/// native.extend([3, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
/// native.extend(b"N : i4  x = i2[N]  ## (cm) nodes\n");
///
/// let file = File::from_bytes(native, None)?;
/// let x = file.get("/x")?;
/// assert_eq!(x.read::<i16>()?, [1, 2, 3]);
/// assert_eq!(x.slice(&Slice::parse("::2")?)?.read::<i16>()?, [1, 3]);
/// assert_eq!(file.param("N")?, 3);
/// # Ok::<(), dudley::Error>(())
/// ```
pub struct File {
    source: FileBytes,
    signature: Option<Signature>,
    /// The layout and its addresses. Empty if the layout is compiled and has not been parsed yet.
    resolved: OnceLock<Resolved>,
    compiled: Option<Box<Compiled>>,
    limits: binio::Limits,
    filters: FilterRegistry,
}

/// A layout, and the addresses of its items in a file.
pub(super) struct Resolved {
    pub(super) layout: Arc<Layout>,
    pub(super) table: AddressTable,
    pub(super) stopped: Option<Error>,
    pub(super) inputs: Inputs<'static>,
    /// Whether the layout is an empty placeholder, because the text of a compiled layout has errors
    /// or cannot be read. The error is then in `stopped`.
    pub(super) is_invalid: bool,
}

/// A compiled layout, and the options for parsing and resolving its text.
pub(super) struct Compiled {
    pub(super) layout: CompiledLayout,
    pub(super) parse: ParseOptions,
    pub(super) rules: Rules,
}

impl Resolved {
    /// Finds the addresses of a layout's items in a file.
    pub(super) fn of(
        layout: Arc<Layout>,
        rules: &Rules,
        source: &dyn ReadAt,
    ) -> Result<Self, Error> {
        let resolver = Resolver::new(Arc::clone(&layout)).rules(rules.clone()).stream(source)?;
        let (table, stopped) = resolver.partial_table();
        let inputs = resolver.into_inputs();
        Ok(Self { layout, table, stopped, inputs, is_invalid: false })
    }

    /// Creates an empty layout without addresses. If `error` is given, marks the layout as invalid.
    fn empty(error: Option<Error>) -> Self {
        let resolver = Resolver::new(Arc::new(Layout::default()));
        let (table, _) = resolver.partial_table();
        let (layout, is_invalid) = (Arc::default(), error.is_some());
        Self { layout, table, stopped: error, inputs: resolver.into_inputs(), is_invalid }
    }

    /// Creates an empty layout, used in place of a layout with errors.
    pub(super) fn invalid(error: Error) -> Self {
        Self::empty(Some(error))
    }
}

impl Compiled {
    /// Parses the text of the layout and finds the addresses in a file.
    fn resolve(&self, source: &FileBytes) -> Resolved {
        let layout = self.layout.parse(&self.parse).map(Arc::new);
        let resolved = layout.and_then(|layout| Resolved::of(layout, &self.rules, source));
        resolved.unwrap_or_else(Resolved::invalid)
    }

    fn locate(&self, path: &str, source: &FileBytes) -> Result<Option<Location>, Error> {
        if !self.rules.are_default() {
            return Ok(None);
        }
        match self.layout.locate_in(path, Some(source), self.rules.order) {
            Err(error) if matches!(error.kind(), ErrorKind::NotCompiled { .. }) => Ok(None),
            found => found.map(Some),
        }
    }
}

impl File {
    pub(super) fn new(
        source: FileBytes,
        signature: Option<Signature>,
        resolved: Resolved,
        limits: binio::Limits,
    ) -> Self {
        let (resolved, filters) = (OnceLock::from(resolved), FilterRegistry::new());
        Self { source, signature, resolved, compiled: None, limits, filters }
    }

    pub(super) fn with_compiled(
        source: FileBytes,
        signature: Option<Signature>,
        compiled: Compiled,
        limits: binio::Limits,
    ) -> Self {
        let (compiled, filters) = (Some(Box::new(compiled)), FilterRegistry::new());
        Self { source, signature, resolved: OnceLock::new(), compiled, limits, filters }
    }

    pub(super) fn with_filters(self, filters: FilterRegistry) -> Self {
        Self { filters, ..self }
    }

    /// Returns the layout and the addresses. If the layout is compiled, the first call parses its text.
    fn resolved(&self) -> &Resolved {
        self.resolved.get_or_init(|| match &self.compiled {
            Some(compiled) => compiled.resolve(&self.source),
            None => Resolved::empty(None),
        })
    }

    /// Compares the layout used to open the file with the layout appended to it. Returns the first
    /// item that the two layouts describe differently, or that is missing from the appended layout.
    /// Returns `None` if there is no such item, or if no layout is appended.
    ///
    /// ```
    /// use dudley::{File, Layout};
    ///
    /// let native = b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n";
    /// let given = |text: &str| File::from_bytes(native.to_vec(), Layout::parse(text)?)?.contradiction();
    /// assert!(given("x = i4  ## the same")?.is_none());
    /// assert_eq!(given("x = f4")?.unwrap().to_string(), "~ /x: type <i4 -> <f4");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](ErrorKind::Read) if the appended layout cannot be read. Fails with
    /// [`Layout`](ErrorKind::Layout) if one of the layouts has errors, or if its addresses cannot be found.
    pub fn contradiction(&self) -> Result<Option<Change>, Error> {
        let Some(signature) = self.signature.filter(|found| found.layout_address > 0) else {
            return Ok(None);
        };
        let text = appended_text(&self.source, signature)?;
        let given = &self.valid()?.layout;
        if given.source().text().as_bytes() == text {
            return Ok(None);
        }
        contradiction(&Layout::parse(text)?, given, signature.order)
    }

    /// Consumes the file, and returns the layout and the addresses.
    pub(super) fn into_resolved(self) -> Resolved {
        self.resolved.into_inner().unwrap_or_else(|| Resolved::empty(None))
    }

    /// Returns the layout and the addresses. Fails if the text of a compiled layout has errors or cannot be
    /// read.
    pub(super) fn valid(&self) -> Result<&Resolved, Error> {
        let resolved = self.resolved();
        match &resolved.stopped {
            Some(error) if resolved.is_invalid => Err(error.clone()),
            _ => Ok(resolved),
        }
    }

    /// Returns the layout that describes the file.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.resolved().layout
    }

    /// Returns the signature if this is a native file, otherwise `None`.
    pub fn signature(&self) -> Option<Signature> {
        self.signature
    }

    /// Returns the byte order of types that have no byte order prefix.
    pub fn order(&self) -> Order {
        self.table().order()
    }

    /// Returns the bytes of the file.
    pub fn source(&self) -> &FileBytes {
        &self.source
    }

    /// Returns the addresses of all stored items and parameters, up to the first address that cannot be
    /// found.
    pub fn table(&self) -> &AddressTable {
        &self.resolved().table
    }

    /// Returns the error that ended the [table](Self::table) early, or `None` if the table is
    /// complete. The usual error is that the file ends before a parameter.
    pub fn stopped(&self) -> Option<&Error> {
        self.resolved().stopped.as_ref()
    }

    /// Returns the limits for reading arrays.
    pub fn limits(&self) -> &binio::Limits {
        &self.limits
    }

    /// Returns the registered filters.
    pub fn filters(&self) -> &FilterRegistry {
        &self.filters
    }

    /// Returns the offset of the end of the data: the address of the appended layout, or the end of the file if
    /// no layout is appended.
    pub fn data_end(&self) -> u64 {
        self.signature.map_or(self.source.len(), |signature| signature.data_end(&self.source))
    }

    /// Returns the array or scalar at a path. The path may lead to a data item, a stored parameter, an element
    /// of a list (`/list[2]`), an instance of a struct (`/item[2]`), or a member in one instance
    /// (`/item[2].member`) or in all of them (`/item.member`). JSON Pointers are accepted too.
    ///
    /// A struct becomes an array of records. For text, the last declared dimension is the length of
    /// the strings, and is not part of the shape.
    ///
    /// ```
    /// use dudley::{ErrorKind, File, Layout};
    ///
    /// let layout = Layout::parse("names = S1[2, 3]  p = { a = u1  b = u1[2] }[2]")?;
    /// let file = File::from_bytes(b"onetwo\x01\x02\x03\x04\x05\x06".to_vec(), layout)?;
    /// assert_eq!(file.get("/names")?.strings()?, ["one", "two"]);
    /// assert_eq!(file.get("/p.a")?.read::<u8>()?, [1, 4]);
    /// assert_eq!(file.get("/p[1].b")?.read::<u8>()?, [5, 6]);
    /// assert!(matches!(file.get("/q").unwrap_err().kind(), ErrorKind::NotFound { .. }));
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Path`](ErrorKind::Path) if the path is malformed, with [`NotFound`](ErrorKind::NotFound) if
    /// there is nothing at the path, and with [`NotData`](ErrorKind::NotData) if it leads to a dict, a list or
    /// a fixed parameter. Fails with [`NotStrided`](ErrorKind::NotStrided) if the path contains the index of an
    /// instance that does not exist, or if the instances of a struct differ in size (use
    /// [`instances`](Self::instances) instead). Fails with [`PastEnd`](ErrorKind::PastEnd) if the file ends
    /// before the array does, and with [`Filter`](ErrorKind::Filter) if the array is compressed and cannot be
    /// decoded.
    ///
    /// Fails with the error in [`stopped`](Self::stopped) if the address of the item could not be found.
    /// Fails with [`Layout`](ErrorKind::Layout) if the file ends before a parameter that is stored in a
    /// struct, or if a record would have more than 65,536 fields, and with [`Read`](ErrorKind::Read) if the
    /// file cannot be read, or if the array has more than 64 dimensions. With a compiled layout, also fails
    /// with [`Compiled`](ErrorKind::Compiled) if the compiled layout is damaged.
    pub fn get(&self, path: &str) -> Result<Array, Error> {
        if let Some(location) = self.locate_compiled(path)? {
            return self.array(location, path);
        }
        let (row, inside) = self.find(path)?;
        self.array_inside(row, &inside, path)
    }

    /// Returns the location of an array or scalar: its address, shape, strides and type. Succeeds even if the
    /// file ends before the array does.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get), except for [`PastEnd`](ErrorKind::PastEnd) and
    /// [`Filter`](ErrorKind::Filter). Also fails with [`NotStrided`](ErrorKind::NotStrided) for compressed
    /// arrays.
    pub fn locate(&self, path: &str) -> Result<Location, Error> {
        if let Some(location) = self.locate_compiled(path)? {
            return Ok(location);
        }
        let (row, inside) = self.find(path)?;
        let entry = self.table().entry(row);
        if inside.is_empty() && !entry.is_compressed() && !entry.is_indeterminate() {
            return entry.location();
        }
        let inputs = self.inputs();
        let mut inner = self.inner(&inputs);
        let stored = self.follow(&mut inner, row, &inside, path)?;
        self.location(&mut inner, stored, row, path)
    }

    /// Returns the location of a stored value. If the value is a struct of varying size whose only member is
    /// unnamed, such as counted text, returns the location of that member.
    fn location(
        &self,
        inner: &mut Inner<'_>,
        stored: Stored,
        row: Row,
        path: &str,
    ) -> Result<Location, Error> {
        let fail = |trouble: Box<_>| to_error(self.layout(), *trouble, row.subject());
        let stored = inner.enter_only_members(stored, |_| ()).map_err(fail)?;
        let location = inner.location(&stored).map_err(fail)?;
        let not_strided = |reason| ErrorKind::NotStrided { path: path.to_owned(), reason };
        Ok(location.map_err(not_strided)?)
    }

    /// Returns the location according to the compiled layout. Returns `None` if the layout is not
    /// compiled, or if the compiled layout does not describe the item.
    fn locate_compiled(&self, path: &str) -> Result<Option<Location>, Error> {
        match &self.compiled {
            Some(compiled) => compiled.locate(path, &self.source),
            None => Ok(None),
        }
    }

    /// Returns the data of a row as an array or scalar.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get).
    pub fn array_of(&self, row: Row) -> Result<Array, Error> {
        self.array_inside(row, &[], &self.layout().subject_path(row.subject()))
    }

    fn array_inside(&self, row: Row, inside: &[Inside], path: &str) -> Result<Array, Error> {
        let entry = self.table().entry(row);
        if inside.is_empty() && !entry.is_compressed() && !entry.is_indeterminate() {
            return self.array(entry.location()?, path);
        }
        let inputs = self.inputs();
        let mut inner = self.inner(&inputs);
        let stored = self.follow(&mut inner, row, inside, path)?;
        self.to_array(&mut inner, &stored, row, path)
    }

    /// Returns the value of the fixed or stored parameter at a path. The parameter must belong to a
    /// dict.
    ///
    /// # Errors
    ///
    /// Fails with [`NotFound`](ErrorKind::NotFound) if there is no parameter at the path. Fails with the error
    /// in [`stopped`](Self::stopped) if the value of the parameter could not be read.
    pub fn param(&self, path: &str) -> Result<i64, Error> {
        let Resolved { layout, table, stopped, .. } = self.valid()?;
        let id = layout.param_at(path);
        let value = id.and_then(|id| table.value(id));
        value.ok_or_else(|| match stopped {
            Some(error) if id.is_some() => error.clone(),
            _ => ErrorKind::NotFound {
                path: path.to_owned(),
                parent: "the layout".to_owned(),
                missing: "parameter with a value at this path".to_owned(),
            }
            .into(),
        })
    }

    /// Finds the row that a path leads to, and the remaining steps from the row into its data.
    pub(super) fn find(&self, path: &str) -> Result<(Row, Vec<Inside>), Error> {
        let Resolved { layout, table, stopped, .. } = self.valid()?;
        let (subject, inside) = layout.stored_at(path)?;
        let row = table.index_of(subject).map(|index| table.rows()[index]);
        match (row, stopped) {
            (Some(row), _) => Ok((row, inside)),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => {
                Err(ErrorKind::NotData { path: path.to_owned(), what: "not stored" }.into())
            }
        }
    }

    /// Returns `true` if a path leads to a parameter of a dict or of a struct.
    #[cfg(feature = "write")]
    pub(crate) fn is_param(&self, path: &str) -> Result<bool, Error> {
        let (found, inside) = self.valid()?.layout.trace(path)?;
        let is_of_struct =
            matches!(inside.last(), Some(Inside::Field(crate::layout::Field::Param(_))));
        Ok(is_of_struct || matches!(found, Found::Param(_)))
    }

    pub(super) fn inputs(&self) -> Inputs<'_> {
        self.resolved().inputs.with_stream(&self.source)
    }

    pub(super) fn inner<'r>(&'r self, inputs: &'r Inputs<'r>) -> Inner<'r> {
        Inner::new(self.layout(), inputs, self.table().numbers())
    }

    /// Follows the steps in `inside` from a row into its data. Returns the array, instance, member or
    /// parameter that the steps lead to.
    pub(super) fn follow(
        &self,
        inner: &mut Inner<'_>,
        row: Row,
        inside: &[Inside],
        path: &str,
    ) -> Result<Stored, Error> {
        inner.follow(&self.table().entry(row), row.address(), inside, path)
    }

    /// Returns a stored value as an array. If the value is a struct of varying size whose only member is
    /// unnamed, such as counted text, returns that member.
    pub(super) fn to_array(
        &self,
        inner: &mut Inner<'_>,
        stored: &Stored,
        row: Row,
        path: &str,
    ) -> Result<Array, Error> {
        let fail = |trouble: Box<_>| to_error(self.layout(), *trouble, row.subject());
        let stored = inner.enter_only_members(stored.clone(), |_| ()).map_err(fail)?;
        if stored.is_compressed() && stored.is_alone() {
            return self.decoded(inner, &stored, row, path);
        }
        let location = self.location(inner, stored, row, path)?;
        self.array(location, path)
    }

    fn array(&self, location: Location, path: &str) -> Result<Array, Error> {
        let strided = location.into_strided(self.source.len());
        let (datatype, strided) = strided.map_err(|error| past_end(path, error))?;
        let made = Array::new(self.source.clone(), datatype, strided, self.limits);
        Ok(made.map_err(binio::Error::from)?)
    }
}

/// Adds the path of the array to an error about elements beyond the end of the file. Returns other
/// errors unchanged.
fn past_end(path: &str, error: Error) -> Error {
    let ErrorKind::Read(read) = error.kind() else { return error };
    match read.kind() {
        binio::ErrorKind::Array(ElementsError::Outside { low, high, len }) => {
            let (start, end, len) = (*low, *high, *len);
            ErrorKind::PastEnd { path: path.to_owned(), start, end, len }.into()
        }
        _ => error,
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("len", &self.source.len())
            .field("signature", &self.signature)
            .finish_non_exhaustive()
    }
}
