//! Writing a file: storing its rows in the required order, and finishing it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use binio::Bytes;
use binio::array::{self, Datatype};
use binio::write::{AtomicFile, FileTarget, WriteAt};

use super::missing::{Put, missing};
use super::params::put_struct_params;
use super::put::Packed;
use super::sequential::Sequential;
use crate::diagnostic::Code;
use crate::error::{Error, ErrorKind};
use crate::filter::{Declared, FilterRegistry};
use crate::layout::{Layout, Order, Param, ParamId, ParamValue, Subject};
use crate::place::{
    AddressTable, Inner, Inputs, Row, Trouble, Unknown, integer_bytes, shortened, to_error,
};
use crate::signature::Signature;

/// The target to which a file is written.
pub(super) enum Target<'w> {
    File(AtomicFile, FileTarget),
    At(&'w mut dyn WriteAt),
    Stream(Sequential<'w>),
    /// Nothing is written: an extension keeps everything in memory until it is committed.
    Memory,
}

impl Target<'_> {
    fn at(&mut self) -> Option<&mut dyn WriteAt> {
        match self {
            Self::File(_, target) => Some(target),
            Self::At(target) => Some(*target),
            Self::Stream(_) | Self::Memory => None,
        }
    }
}

/// A file that is being written.
///
/// ```
/// use dudley::{File, Layout, Rules, Values, WriteOptions};
///
/// let rules = Rules::new().values(Values::new().with("N", 2));
/// let layout = Layout::parse("N : i4  names = S1[N, 3]  x = f4[N]")?;
/// let mut bytes = Vec::new();
/// let mut writer = WriteOptions::new().rules(rules).write_at(&mut bytes, layout)?;
/// writer.put_strings("/names", &["one", "two"])?;
/// writer.put("/x", &[0.5, 1.5])?;
/// let report = writer.finish()?;
/// assert!(report.missing.is_empty());
/// assert_eq!(File::from_bytes(bytes, None)?.get("/names")?.strings()?, ["one", "two"]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub struct Writer<'w> {
    pub(super) layout: Arc<Layout>,
    pub(super) inputs: Inputs<'static>,
    pub(super) table: AddressTable,
    target: Target<'w>,
    /// The number of rows that are already in the file, the number of their declarations, and the address at
    /// which the last of these rows ends.
    kept: (usize, usize, Option<u64>),
    /// For each row, a record of the parts that have already been passed to a `put` method.
    pub(super) put: Vec<Put>,
    /// The bytes of rows that cannot be written yet, by row index.
    held: BTreeMap<usize, Bytes>,
    pub(super) signature: Option<Order>,
    pub(super) appends_layout: bool,
    pub(super) is_strict: bool,
    pub(super) filters: FilterRegistry,
    pub(super) limits: binio::Limits,
}

/// The result of [`Writer::finish`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Paths of data that was not passed to a `put` method, and of stored parameters without a value. All of
    /// these were filled with zeros.
    pub missing: Vec<String>,
    /// Address of the appended layout, in bytes from the start of the file, or `None` if no layout
    /// was appended.
    pub layout_address: Option<u64>,
    /// Length of the file in bytes.
    pub len: u64,
}

impl<'w> Writer<'w> {
    pub(super) fn new(
        layout: Arc<Layout>,
        inputs: Inputs<'static>,
        table: AddressTable,
        target: Target<'w>,
        limits: binio::Limits,
    ) -> Self {
        let put = vec![Put::default(); table.rows().len()];
        Self {
            layout,
            inputs,
            table,
            target,
            kept: (0, 0, None),
            put,
            held: BTreeMap::new(),
            signature: None,
            appends_layout: false,
            is_strict: false,
            filters: FilterRegistry::new(),
            limits,
        }
    }

    /// Creates a writer that keeps everything in memory.
    pub(super) fn in_memory(
        layout: Arc<Layout>,
        inputs: Inputs<'static>,
        table: AddressTable,
        limits: binio::Limits,
    ) -> Self {
        Writer::new(layout, inputs, table, Target::Memory, limits)
    }

    /// Returns the addresses of all stored items and parameters. Addresses that depend on the size of a
    /// compressed array remain unknown until the file is finished.
    pub fn table(&self) -> &AddressTable {
        &self.table
    }

    /// Compresses an array, including the values of parameters stored in its structs. Returns the 8-byte count
    /// followed by the compressed bytes, or nothing for an empty array.
    pub(super) fn encode(
        &self,
        row: Row,
        datatype: &Datatype,
        shape: &[u64],
        packed: &[u8],
    ) -> Result<Bytes, Error> {
        let found = self.table.entry(row);
        let Some(filter) = found.filter().filter(|_| !packed.is_empty()) else {
            return Ok(Bytes::new());
        };
        let (len, arguments) = (packed.len() as u64, &*filter.arguments);
        let declared = Declared { datatype, shape, arguments, len };
        let mut packed = Cow::Borrowed(packed);
        if self.has_params(row) {
            self.put_params(row, packed.to_mut())?;
        }
        let encoded = self.filters.encode(&filter.name, &declared, &packed);
        let encoded = encoded.map_err(|error| ErrorKind::Filter {
            path: found.path(),
            filter: filter.name.clone(),
            address: row.address().unwrap_or_default(),
            message: error.to_string(),
        })?;
        let count = (encoded.len() as u64).to_le_bytes();
        let mut bytes = match self.table.order() {
            Order::Little => count.to_vec(),
            Order::Big => count.iter().rev().copied().collect(),
        };
        bytes.extend(encoded);
        Ok(bytes.into())
    }

    /// Returns the bytes of a row, including the data that has been put. If the bytes are in
    /// `held`, removes them from there.
    pub(super) fn take(&mut self, index: usize) -> Result<Vec<u8>, Error> {
        if let Some(bytes) = self.held.remove(&index) {
            return Ok(bytes.into());
        }
        let row = self.table.rows()[index];
        let nbytes = row.nbytes().unwrap_or_default();
        self.limits.check_alloc("bytes of an item", nbytes)?;
        let len = usize::try_from(nbytes).unwrap_or(usize::MAX);
        if !self.put[index].is_nothing() {
            if let (Some(target), Some(address)) = (self.target.at(), row.address()) {
                return Ok(target.bytes_at(address, len)?.into());
            }
        }
        let mut bytes = binio::memory::reserve("an item", nbytes)?;
        bytes.resize(len, 0);
        self.put_params(row, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the values of parameters into the structs of a row. `bytes` contains the row, which is not
    /// compressed yet.
    fn put_params(&self, row: Row, bytes: &mut [u8]) -> Result<(), Error> {
        let mut inner = Inner::new(&self.layout, &self.inputs, self.table.numbers());
        let stored = inner.of_row_at(&self.table.entry(row), Some(0));
        let put = stored
            .and_then(|stored| put_struct_params(&mut inner, &stored.without_filter(), bytes));
        put.map_err(|trouble| to_error(&self.layout, *trouble, row.subject()))
    }

    /// Writes the bytes of a row, or holds them until they can be written.
    pub(super) fn store(&mut self, index: usize, bytes: Packed<'_>) -> Result<(), Error> {
        // The size of a compressed array remains unknown until the file is finished, so the array is kept in
        // `held`, and can be put again until then.
        if let Some((target, address)) = self.target_of(index) {
            return Ok(target.write_all_at(&bytes, address)?);
        }
        if let Target::Stream(stream) = &mut self.target {
            if stream.next() == Some(index) && self.put[index].is_all() {
                self.held.remove(&index);
                stream.write(self.table.rows()[index], Some(&bytes))?;
                return self.advance(false);
            }
        }
        self.held.insert(index, bytes.into_bytes());
        self.advance(false)
    }

    /// Returns the target and the address of a row if the row can be written immediately, otherwise
    /// `None`.
    pub(super) fn target_of(&mut self, index: usize) -> Option<(&mut dyn WriteAt, u64)> {
        let row = self.table.rows()[index];
        let address = row.address().filter(|_| row.nbytes().is_some())?;
        Some((self.target.at()?, address))
    }

    /// Fails if the bytes of a row can no longer be changed.
    pub(super) fn check_unwritten(&self, path: &str, index: usize) -> Result<(), Error> {
        let is_in_stream = matches!(self.target, Target::Stream(_));
        let is_written = self.put[index].is_all() && !self.held.contains_key(&index);
        if index < self.kept.0 || is_in_stream && is_written {
            let message = "it has already been written".to_owned();
            return Err(ErrorKind::Mismatch { path: path.to_owned(), message }.into());
        }
        Ok(())
    }

    /// Starts the file: writes the signature if the target is a stream and all addresses and sizes
    /// are known, and writes the values of dict parameters.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if let Some(target) = self.target.at() {
            target.set_len(0)?;
        }
        self.begin_stream()?;
        self.put_params_from(0)
    }

    /// Puts the values of dict parameters, beginning with row `first`.
    pub(super) fn put_params_from(&mut self, first: usize) -> Result<(), Error> {
        for index in first..self.table.rows().len() {
            let Subject::Param(id) = self.table.rows()[index].subject() else { continue };
            let Some(value) = self.table.value(id) else { continue };
            self.put[index].add(Vec::new());
            let &Param { value: ParamValue::Stored { integer, order, .. }, .. } =
                self.layout.param(id)
            else {
                continue;
            };
            let bytes = integer_bytes(value, integer, order.unwrap_or(self.table.order()));
            let bytes = bytes.ok_or_else(|| ErrorKind::Mismatch {
                path: self.layout.subject_path(id.into()),
                message: format!("{value} is not a valid {integer}"),
            })?;
            self.store(index, Packed::Kept(bytes.into()))?;
        }
        Ok(())
    }

    /// Marks the first `rows` rows as already in the file. They belong to the first `declarations`
    /// declarations, and the last of them ends at the address `end`.
    pub(super) fn keep(&mut self, rows: usize, declarations: usize, end: Option<u64>) {
        self.kept = (rows, declarations, end);
        self.put[..rows].iter_mut().for_each(|put| put.add(Vec::new()));
    }

    /// Computes the addresses after compressed arrays, and fills missing data with zeros. Returns
    /// the paths of the missing data.
    fn complete(&mut self) -> Result<Vec<String>, Error> {
        let missing = missing(self, &self.put, self.kept.0)?;
        if self.is_strict && !missing.is_empty() {
            return Err(ErrorKind::Missing { paths: missing }.into());
        }
        let mut is_unknown = false;
        for index in self.kept.0..self.table.rows().len() {
            let row = self.table.rows()[index];
            let entry = self.table.entry(row);
            if entry.is_compressed() {
                let path = entry.path();
                if self.put[index].is_nothing() {
                    let (datatype, shape) = self.expected(&path)?;
                    let len = array::byte_size(&shape, datatype.itemsize()).unwrap_or(u64::MAX);
                    self.limits.check_alloc("bytes of an item", len)?;
                    let zeros = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
                    let bytes = self.encode(row, &datatype, &shape, &zeros)?;
                    self.held.insert(index, bytes);
                }
                let held = self.held.get(&index).map(|bytes| bytes.len() as u64);
                is_unknown |= row.nbytes().is_none();
                self.inputs
                    .rules
                    .values
                    .set_compressed(path, held.or(row.nbytes()).unwrap_or_default());
            } else if self.put[index].is_nothing() && self.has_params(row) {
                if row.nbytes().is_none() {
                    return Err(self.unknown(row));
                }
                let bytes = self.take(index)?;
                self.put[index].add(Vec::new());
                self.store(index, Packed::Kept(bytes.into()))?;
            }
        }
        if is_unknown {
            self.place_all()?;
        }
        for row in self.table.rows() {
            if row.address().is_none() || row.nbytes().is_none() {
                return Err(self.unknown(*row));
            }
        }
        Ok(missing)
    }

    /// Returns the error for a row whose address or size is unknown. Usually, the reason is that a
    /// parameter in a struct has no value.
    pub(super) fn unknown(&self, row: Row) -> Error {
        let Subject::Item(item) = row.subject() else { return self.unknown_address(row) };
        let mut inner = Inner::new(&self.layout, &self.inputs, self.table.numbers());
        match inner.measure.first_unknown(item) {
            Ok(None) => self.unknown_address(row),
            Ok(Some(Unknown { path, param: None })) => {
                let reason = "compressed arrays inside structs cannot be written";
                ErrorKind::NotStrided { path, reason }.into()
            }
            Ok(Some(Unknown { path, param: Some(id) })) => {
                let (path, name) = (shortened(path), self.layout.param_name(id));
                let message = format!(
                    "the shape of `{path}` depends on parameter `{name}`, whose value is not known"
                );
                let trouble = Trouble::Param(Code::ValueUnknown, id, message);
                to_error(&self.layout, trouble, row.subject())
            }
            Err(trouble) => to_error(&self.layout, *trouble, row.subject()),
        }
    }

    fn unknown_address(&self, row: Row) -> Error {
        let path = self.layout.subject_path(row.subject());
        let reason = "its address depends on an unknown value";
        ErrorKind::NotStrided { path, reason }.into()
    }

    /// Computes all addresses, after the lengths of compressed arrays have become known. Fails if
    /// an address or size that was already known would change.
    fn place_all(&mut self) -> Result<(), Error> {
        let (rows, declarations, end) = self.kept;
        let kept = (&self.table.rows()[..rows], declarations, end);
        let table = self.inputs.table(Arc::clone(&self.layout), self.table.numbers(), kept)?;
        for (old, new) in self.table.rows().iter().zip(table.rows()) {
            let is_moved = |old: Option<u64>, new: Option<u64>| old.is_some() && old != new;
            if is_moved(old.address(), new.address()) || is_moved(old.nbytes(), new.nbytes()) {
                let path = self.layout.subject_path(old.subject());
                let reason = "its size depends on the stream, but compressed data follows it";
                return Err(ErrorKind::NotStrided { path, reason }.into());
            }
        }
        self.table = table;
        Ok(())
    }

    fn has_params(&self, row: Row) -> bool {
        row.nbytes() != Some(0) && !self.struct_params(row).is_empty()
    }

    /// Returns the parameters that the structs of a row store.
    pub(super) fn struct_params(&self, row: Row) -> Vec<ParamId> {
        let Subject::Item(id) = row.subject() else { return Vec::new() };
        let data = self.layout.data_of(id);
        data.map(|data| self.layout.stored_params(data.datatype)).unwrap_or_default()
    }

    /// Returns the offset at which the data ends.
    fn data_end(&self) -> u64 {
        let start = if self.signature.is_some() { Signature::LEN } else { 0 };
        let ends = self.table.rows().iter().filter_map(|row| {
            row.nbytes()
                .filter(|&nbytes| nbytes > 0)
                .and_then(|nbytes| Some(row.address()? + nbytes))
        });
        ends.max().unwrap_or(start).max(start)
    }

    fn header(&self, layout_address: u64) -> Option<[u8; 16]> {
        let order = self.signature?;
        Some(Signature { order, layout_address }.to_bytes())
    }

    /// If the target is a stream, and all addresses and sizes are known, writes the signature and
    /// the rows that can already be written.
    fn begin_stream(&mut self) -> Result<(), Error> {
        let is_known = |row: &Row| row.address().is_some() && row.nbytes().is_some();
        if !self.table.rows().iter().all(is_known) {
            return Ok(());
        }
        let header = self.header(if self.appends_layout { self.data_end() } else { 0 });
        if let Target::Stream(stream) = &mut self.target {
            stream.begin(header.as_ref(), &self.table)?;
        }
        self.advance(false)
    }

    /// If the target is a stream, writes rows in order up to the first incomplete row. If `is_last`
    /// is set, also writes the incomplete rows.
    fn advance(&mut self, is_last: bool) -> Result<(), Error> {
        let Target::Stream(stream) = &mut self.target else { return Ok(()) };
        while let Some(index) = stream.next() {
            if !self.put[index].is_all() && !is_last {
                break;
            }
            let bytes = self.held.remove(&index);
            stream.write(self.table.rows()[index], bytes.as_deref())?;
        }
        Ok(())
    }

    /// Finishes the file: fills missing data with zeros, and writes the layout and the signature. A file
    /// created by [`create`](crate::WriteOptions::create) then appears at its path, and is safely on disk.
    ///
    /// # Errors
    ///
    /// Fails with [`Missing`](ErrorKind::Missing) if data or the value of a stored parameter is missing and
    /// [`strict`](crate::WriteOptions::strict) is set, with [`Filter`](ErrorKind::Filter) if zeros in place
    /// of missing data cannot be compressed, and with [`Read`](ErrorKind::Read) if the file cannot be
    /// written. Also fails if an address is still unknown, usually because a parameter stored in a struct has
    /// no value, and with [`Mismatch`](ErrorKind::Mismatch) if items overlap in a file that is written in one
    /// pass. In all cases, a file created by [`create`](crate::WriteOptions::create) does not appear.
    pub fn finish(mut self) -> Result<WriteReport, Error> {
        let missing = self.complete()?;
        let end = self.data_end();
        let text = if self.appends_layout { layout_text(&self.layout) } else { String::new() };
        let layout_address = self.appends_layout.then_some(end);
        let header = self.header(layout_address.unwrap_or(0));
        let len = end + text.len() as u64;
        let report = WriteReport { missing, layout_address, len };
        if let Target::Stream(stream) = &mut self.target {
            if !stream.has_begun() {
                stream.begin(header.as_ref(), &self.table)?;
            }
            self.advance(true)?;
            if let Target::Stream(stream) = &mut self.target {
                stream.end(end, text.as_bytes())?;
            }
            return Ok(report);
        }
        let held = std::mem::take(&mut self.held);
        let Some(target) = self.target.at() else { return Ok(report) };
        for (index, bytes) in held {
            let address = self.table.rows()[index].address().unwrap_or_default();
            target.write_all_at(&bytes, address)?;
        }
        target.set_len(end)?;
        target.write_all_at(text.as_bytes(), end)?;
        if let Some(header) = header {
            target.write_all_at(&header, 0)?;
        }
        if let Target::File(file, _) = self.target {
            file.commit()?;
        }
        Ok(report)
    }

    /// Returns the addresses and bytes of the rows to write, the range of addresses of all new
    /// rows, and the paths of missing data.
    pub(super) fn into_rows(mut self) -> Result<NewRows, Error> {
        let missing = self.complete()?;
        let rows = self.table.rows();
        let new = rows[self.kept.0..].iter().filter(|row| row.nbytes() != Some(0));
        let end = self.data_end();
        let start = new.filter_map(Row::address).min().unwrap_or(end);
        let at = |(index, bytes): (usize, Bytes)| Some((rows[index].address()?, bytes));
        let held = self.held.into_iter().filter_map(at).collect();
        Ok((held, start..end, missing))
    }
}

/// The addresses and bytes of the rows to write, the range of addresses of all new rows, and the
/// paths of missing data.
pub(super) type NewRows = (Vec<(u64, Bytes)>, Range<u64>, Vec<String>);

/// Returns the text of a layout as it is appended to a file. The text ends with a line break,
/// unless it is empty.
pub(super) fn layout_text(layout: &Layout) -> String {
    let mut text = layout.source().text().to_owned();
    if !text.is_empty() && !text.ends_with(['\n', '\r']) {
        text.push('\n');
    }
    text
}
