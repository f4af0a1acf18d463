//! HDF5 files, including netCDF-4. The crate `hdf5-reader` reads their metadata.
//!
//! | data set | layout |
//! |---|---|
//! | contiguous | one array |
//! | chunked, without filters | one array if the chunks are adjacent blocks of rows, otherwise a list of chunks |
//! | filtered, compact, external, virtual, or of variable length | not described |
//!
//! A group becomes a dict, and a compound type a struct. A list of chunks has the attributes
//! `shape` (of the whole array), `chunk` (the shape of each chunk) and `offsets` (for each chunk,
//! the indices of its first element in the whole array). Chunks at the edge of the array have the
//! full size, and chunks that were never written are not in the list.

mod links;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use binio::array::{self, Datatype, Field, Record, ScalarKind, ScalarType};
use binio::{Endian, ReadAt};
use hdf5_reader::btree_v1::{BTreeV1Key, collect_btree_v1_leaves_storage};
use hdf5_reader::chunk_index::{
    ChunkEntry, collect_implicit_chunk_entries, collect_v2_chunk_entries_storage,
    single_chunk_entry,
};
use hdf5_reader::error::Error as Unreadable;
use hdf5_reader::extensible_array::collect_extensible_array_chunk_entries_storage;
use hdf5_reader::fixed_array::collect_fixed_array_chunk_entries_storage;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::dataspace::DataspaceType;
use hdf5_reader::messages::layout::{ChunkIndexing, DataLayout};
use hdf5_reader::object_header::ObjectHeader;
use hdf5_reader::{
    ByteOrder, Datatype as Type, Hdf5File, Storage, StorageBuffer, StringEncoding, StringSize,
};

use super::imported::{Imported, damaged, no_layout_for, past_end};
use super::numpy::push_array;
use crate::error::Error;
use crate::layout::{Attribute, Value, attributes, push_name};
use crate::text::{format, quote};

const FORMAT: &str = "HDF5";

/// Maximum nesting depth of groups and of types.
const MAX_DEPTH: usize = 60;

/// Maximum number of dimensions in a layout.
const MAX_DIMS: usize = 255;

/// Maximum length of an object header in bytes.
const MAX_HEADER: usize = 1 << 20;

/// Creates a layout for an HDF5 file, with a dict for each group, and an item for each data set whose
/// elements have a fixed length and are stored contiguously or in unfiltered chunks. All other data sets,
/// and any second name of a group, are only reported in [`Imported::errors`].
///
/// # Errors
///
/// Fails with [`Import`](crate::ErrorKind::Import) if the file is damaged or cannot be read, and with
/// [`Layout`](crate::ErrorKind::Layout) if a dimension is too large for a layout.
pub fn from_hdf5(file: impl ReadAt + 'static) -> Result<Imported, Error> {
    let file: Arc<dyn ReadAt> = Arc::new(file);
    let options = hdf5_reader::OpenOptions::default().with_max_object_header_bytes(MAX_HEADER);
    let bytes = Arc::new(Bytes(Arc::clone(&file)));
    let hdf5 = Hdf5File::from_storage_with_options(bytes, options).map_err(invalid)?;
    let root = hdf5.root_group().map_err(invalid)?;
    let mut lister = Lister {
        len: file.len(),
        base: hdf5.superblock().base_address,
        hdf5: &hdf5,
        text: String::new(),
        errors: Vec::new(),
        groups: HashSet::new(),
    };
    if let Err(reason) = lister.group(&root, "", 0) {
        lister.skip("", reason);
    }
    let Lister { text, errors, .. } = lister;
    Ok(Imported { layout: format(text)?, errors })
}

#[allow(clippy::needless_pass_by_value, reason = "used with `map_err`")]
fn invalid(error: hdf5_reader::error::Error) -> Error {
    damaged(FORMAT, 0, error.to_string())
}

/// A source of bytes for the crate `hdf5-reader`.
struct Bytes(Arc<dyn ReadAt>);

impl Storage for Bytes {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_range(
        &self,
        offset: u64,
        len: usize,
    ) -> Result<StorageBuffer, hdf5_reader::error::Error> {
        let bytes = self.0.bytes_at(offset, len);
        let bytes = bytes.map_err(|error| std::io::Error::other(error.to_string()))?;
        StorageBuffer::from_shared_owner(Arc::new(bytes), 0, len)
    }
}

struct Lister<'h> {
    hdf5: &'h Hdf5File,
    /// The base address of the superblock, which is added to all addresses in the file.
    base: u64,
    len: u64,
    text: String,
    errors: Vec<Error>,
    /// The addresses of the groups listed so far.
    groups: HashSet<u64>,
}

/// The reason why a layout cannot describe a data set or group.
type Reason = String;

/// A data set as described by its header.
struct DataSet {
    datatype: Datatype,
    /// Dimensions of the data space, followed by the dimensions of an array type, or by the size of
    /// a type that is converted to bytes.
    shape: Vec<u64>,
    /// The names and values of an enumeration type, otherwise `None`.
    names: Option<(Vec<String>, Vec<i64>)>,
    storage: DataLayout,
    /// Dimensions of the data space.
    dims: Vec<u64>,
    max_dims: Option<Vec<u64>>,
}

impl Lister<'_> {
    /// Adds the members of a group and of its subgroups. Fails without adding anything if the members cannot
    /// be listed, if the group has already been added under another name, or if it nests too deeply.
    fn group(
        &mut self,
        group: &hdf5_reader::group::Group,
        path: &str,
        depth: usize,
    ) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err(format!("groups nest deeper than {MAX_DEPTH} levels"));
        }
        if !self.groups.insert(group.address()) {
            return Err("it is another name for a group that has already been described".to_owned());
        }
        let (groups, data_sets) = self.members(group, path)?;
        let mut names = HashSet::new();
        for name in data_sets {
            let path = joined(path, &name);
            if !names.insert(name.clone()) {
                self.skip(&path, "the name occurs twice".to_owned());
                continue;
            }
            let found = group.dataset(&name).map_err(|error| error.to_string());
            let described = found.and_then(|found| {
                let header = self.hdf5.get_or_parse_header(found.address());
                let header = header.map_err(|error| error.to_string())?;
                let data_set = Self::data_set(&header)?;
                self.describe(&name, &path, &data_set)
            });
            if let Err(reason) = described {
                self.skip(&path, reason);
            }
        }
        for name in groups {
            let path = joined(path, &name);
            if !names.insert(name.clone()) {
                self.skip(&path, "the name occurs twice".to_owned());
                continue;
            }
            let start = self.text.len();
            quote::push_name(&mut self.text, &name);
            self.text.push_str("/\n");
            let found = group.group(&name).map_err(|error| error.to_string());
            match found.and_then(|inner| self.group(&inner, &path, depth + 1)) {
                Ok(()) => self.text.push_str("..\n"),
                Err(reason) => {
                    self.text.truncate(start);
                    self.skip(&path, reason);
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the groups and of the data sets in a group. Reports members that cannot be parsed.
    fn members(
        &mut self,
        group: &hdf5_reader::group::Group,
        path: &str,
    ) -> Result<(Vec<String>, Vec<String>), Reason> {
        if let Ok(names) = group.member_names() {
            return Ok(names);
        }
        let names = links::names(self.hdf5, group).map_err(|error| error.to_string())?;
        let (mut groups, mut data_sets) = (Vec::new(), Vec::new());
        for name in names {
            if group.group(&name).is_ok() {
                groups.push(name);
                continue;
            }
            match group.dataset(&name) {
                Ok(_) => data_sets.push(name),
                // Ignore broken links, and links to named datatypes.
                Err(Unreadable::DatasetNotFound(_)) => {}
                Err(error) => self.skip(&joined(path, &name), unreadable(&error)),
            }
        }
        Ok((groups, data_sets))
    }

    fn skip(&mut self, path: &str, reason: Reason) {
        let path = if path.is_empty() { "/" } else { path };
        self.errors.push(no_layout_for(path.to_owned(), reason));
    }

    fn data_set(header: &ObjectHeader) -> Result<DataSet, Reason> {
        let (mut space, mut datatype, mut storage) = (None, None, None);
        for message in &header.messages {
            match message {
                HdfMessage::Dataspace(found) => space = Some(found),
                HdfMessage::Datatype(found) => datatype = Some(found),
                HdfMessage::DataLayout(found) => storage = Some(found.layout.clone()),
                HdfMessage::FilterPipeline(found) if !found.filters.is_empty() => {
                    let names =
                        found.filters.iter().map(|filter| match (filter.id, &filter.name) {
                            (1, _) => "deflate".to_owned(),
                            (2, _) => "shuffle".to_owned(),
                            (3, _) => "fletcher32".to_owned(),
                            (_, Some(name)) => name.clone(),
                            (id, None) => format!("filter {id}"),
                        });
                    let names: Vec<String> = names.collect();
                    return Err(format!("its chunks are filtered: {}", names.join(", ")));
                }
                HdfMessage::ExternalFiles(_) => {
                    return Err("its data is in other files".to_owned());
                }
                _ => {}
            }
        }
        let missing = || "its header is incomplete".to_owned();
        let (space, datatype) = (space.ok_or_else(missing)?, datatype.ok_or_else(missing)?);
        if space.dataspace_type == DataspaceType::Null {
            return Err("its data space is null, so it has no elements".to_owned());
        }
        let (kind, inner) = datatype_of(&datatype.datatype, 0)?;
        let shape = [&space.dims[..], &inner].concat();
        if shape.len() > MAX_DIMS {
            return Err(format!("it has more than {MAX_DIMS} dimensions"));
        }
        if array::byte_size(&shape, kind.itemsize()).is_none() {
            return Err("it has 2^63 bytes or more".to_owned());
        }
        Ok(DataSet {
            datatype: kind,
            shape,
            names: names_of(&datatype.datatype),
            storage: storage.ok_or_else(missing)?,
            dims: space.dims.clone(),
            max_dims: space.max_dims.clone(),
        })
    }

    fn describe(&mut self, name: &str, path: &str, data_set: &DataSet) -> Result<(), Reason> {
        match &data_set.storage {
            DataLayout::Compact { .. } => {
                Err("its data is stored in the object header (compact layout)".to_owned())
            }
            DataLayout::Contiguous { address, .. } => {
                let address = self.address(*address)?;
                self.array(name, path, data_set, address)
            }
            DataLayout::Chunked { address, dims, chunk_indexing, .. } => {
                self.address(*address)?;
                let rank = data_set.dims.len();
                let chunk = dims.get(..rank).filter(|dims| !dims.contains(&0));
                let chunk = chunk.ok_or_else(|| {
                    "its chunks have too few dimensions, or an empty dimension".to_owned()
                })?;
                let entries = self.chunks(*address, chunk, chunk_indexing.as_ref(), data_set);
                let mut entries = entries.map_err(|error| error.to_string())?;
                let is_inside = |entry: &ChunkEntry| {
                    entry.offsets.len() == rank
                        && entry.offsets.iter().zip(&data_set.dims).all(|(at, len)| at < len)
                };
                entries.retain(is_inside);
                entries.sort_by(|a, b| a.offsets.cmp(&b.offsets));
                let chunk: Vec<u64> = chunk.iter().map(|&len| len.into()).collect();
                match self.rows(&entries, &chunk, data_set)? {
                    Some(address) => self.array(name, path, data_set, address),
                    None => self.list(name, path, data_set, &chunk, &entries),
                }
            }
        }
    }

    /// Converts an address to an offset in the file. Fails if the address is undefined or too large.
    fn address(&self, address: u64) -> Result<u64, Reason> {
        let size = u32::from(self.hdf5.superblock().offset_size.min(8)) * 8;
        let undefined = u64::MAX >> (64 - size.max(1));
        if address == undefined {
            return Err("its data was never written".to_owned());
        }
        let found = address.checked_add(self.base);
        let found = found.filter(|&address| i64::try_from(address).is_ok());
        found.ok_or_else(|| "its address is above 2^63-1".to_owned())
    }

    fn chunks(
        &self,
        address: u64,
        chunk: &[u32],
        indexing: Option<&ChunkIndexing>,
        data_set: &DataSet,
    ) -> Result<Vec<ChunkEntry>, hdf5_reader::error::Error> {
        let storage = self.hdf5.storage();
        let superblock = self.hdf5.superblock();
        let (offsets, lengths) = (superblock.offset_size, superblock.length_size);
        let rank = data_set.dims.len();
        let dimensions = u32::try_from(rank).unwrap_or(u32::MAX);
        let inner: u64 = data_set.shape[rank..].iter().product();
        let size = usize::try_from(data_set.datatype.itemsize() * inner).unwrap_or(usize::MAX);
        match indexing {
            None => {
                let leaves = collect_btree_v1_leaves_storage(
                    storage,
                    address,
                    offsets,
                    lengths,
                    Some(dimensions),
                    chunk,
                    None,
                )?;
                let entry = |(key, address): (BTreeV1Key, u64)| match key {
                    BTreeV1Key::RawData { chunk_size, filter_mask, mut offsets } => {
                        offsets.truncate(rank);
                        let size = chunk_size.into();
                        Some(ChunkEntry { address, size, filter_mask, offsets })
                    }
                    BTreeV1Key::Group { .. } => None,
                };
                Ok(leaves.into_iter().filter_map(entry).collect())
            }
            Some(ChunkIndexing::SingleChunk { filtered_size, filters }) => {
                Ok(vec![single_chunk_entry(address, *filtered_size, *filters, rank)])
            }
            Some(ChunkIndexing::Implicit) => collect_implicit_chunk_entries(
                address,
                &data_set.dims,
                chunk,
                size,
                None,
                storage.len(),
            ),
            Some(ChunkIndexing::FixedArray { .. }) => collect_fixed_array_chunk_entries_storage(
                storage,
                address,
                offsets,
                lengths,
                &data_set.dims,
                chunk,
                None,
            ),
            Some(ChunkIndexing::ExtensibleArray { .. }) => {
                collect_extensible_array_chunk_entries_storage(
                    storage,
                    address,
                    offsets,
                    lengths,
                    &data_set.dims,
                    data_set.max_dims.as_deref(),
                    chunk,
                    None,
                )
            }
            Some(ChunkIndexing::BTreeV2) => collect_v2_chunk_entries_storage(
                storage, address, offsets, lengths, dimensions, chunk, None,
            ),
        }
    }

    /// Returns the address of the whole array if its chunks are adjacent blocks of rows that are
    /// stored in order, otherwise `None`.
    fn rows(
        &self,
        entries: &[ChunkEntry],
        chunk: &[u64],
        data_set: &DataSet,
    ) -> Result<Option<u64>, Reason> {
        let dims = &data_set.dims;
        let Some(first) = entries.first() else {
            return if dims.contains(&0) { self.address(0).map(Some) } else { Ok(None) };
        };
        let is_rows = chunk.iter().zip(dims).skip(1).all(|(chunk, len)| chunk == len);
        let count = dims.first().map_or(1, |&len| len.div_ceil(chunk[0]));
        if !is_rows || entries.len() as u64 != count {
            return Ok(None);
        }
        let size = Self::chunk_size(chunk, data_set)?;
        let follows = (0_u64..).zip(entries).all(|(number, entry)| {
            let address = number.checked_mul(size).and_then(|at| at.checked_add(first.address));
            let row = chunk.first().map(|&len| number.saturating_mul(len));
            address == Some(entry.address) && row == entry.offsets.first().copied()
        });
        if follows { self.address(first.address).map(Some) } else { Ok(None) }
    }

    fn chunk_size(chunk: &[u64], data_set: &DataSet) -> Result<u64, Reason> {
        let shape = [chunk, &data_set.shape[data_set.dims.len()..]].concat();
        let size = array::byte_size(&shape, data_set.datatype.itemsize());
        size.ok_or_else(|| "each chunk has 2^63 bytes or more".to_owned())
    }

    fn array(
        &mut self,
        name: &str,
        path: &str,
        data_set: &DataSet,
        address: u64,
    ) -> Result<(), Reason> {
        let size = array::byte_size(&data_set.shape, data_set.datatype.itemsize()).unwrap_or(0);
        check_end(address, size)?;
        push_array(&mut self.text, name, &data_set.datatype, &data_set.shape, address);
        self.attributes(data_set, &[]);
        self.errors.extend(past_end(path.to_owned(), address, size, self.len));
        Ok(())
    }

    fn attributes(&mut self, data_set: &DataSet, more: &[(&str, Vec<u64>)]) {
        let mut list = Vec::new();
        for (name, numbers) in more {
            let numbers = numbers.iter().map(|&number| i64::try_from(number).unwrap_or(i64::MAX));
            list.push((*name, Value::Integers(numbers.collect())));
        }
        if let Some((names, values)) = &data_set.names {
            list.push(("names", Value::Texts(names.clone())));
            list.push(("values", Value::Integers(values.clone())));
        }
        for (name, value) in list {
            self.text.push_str("  #: ");
            attributes::push(&mut self.text, &Attribute { name: name.to_owned(), value });
            self.text.push('\n');
        }
    }

    /// Adds a data set as a list of chunks. The first chunk declares the type, and the other chunks
    /// extend the list.
    fn list(
        &mut self,
        name: &str,
        path: &str,
        data_set: &DataSet,
        chunk: &[u64],
        entries: &[ChunkEntry],
    ) -> Result<(), Reason> {
        let size = Self::chunk_size(chunk, data_set)?;
        let addresses = entries.iter().map(|entry| {
            let address = self.address(entry.address)?;
            check_end(address, size).map(|()| address)
        });
        let addresses = addresses.collect::<Result<Vec<u64>, Reason>>()?;
        quote::push_name(&mut self.text, name);
        self.text.push_str(" [\n");
        let offsets = entries.iter().flat_map(|entry| entry.offsets.iter().copied()).collect();
        self.attributes(
            data_set,
            &[("shape", data_set.dims.clone()), ("chunk", chunk.to_vec()), ("offsets", offsets)],
        );
        if let Some(&first) = addresses.first() {
            let shape = [chunk, &data_set.shape[data_set.dims.len()..]].concat();
            let mut element = String::new();
            push_array(&mut element, "e", &data_set.datatype, &shape, first);
            self.text.push_str(element.strip_prefix("e = ").unwrap_or_default());
        }
        self.text.push_str("]\n");
        if addresses.len() > 1 {
            quote::push_name(&mut self.text, name);
            for address in &addresses[1..] {
                let _ = write!(self.text, " @{address}");
            }
            self.text.push('\n');
        }
        for (index, &address) in addresses.iter().enumerate() {
            let path = format!("{path}[{index}]");
            self.errors.extend(past_end(path, address, size, self.len));
        }
        Ok(())
    }
}

/// Fails if a data set or chunk of `size` bytes at `address` ends beyond 2^63-1, the largest offset in a
/// layout.
fn check_end(address: u64, size: u64) -> Result<(), Reason> {
    if i64::try_from(address.saturating_add(size)).is_err() {
        return Err("it ends beyond byte 2^63-1".to_owned());
    }
    Ok(())
}

/// Returns the reason why an object header cannot be parsed.
fn unreadable(error: &Unreadable) -> Reason {
    /// The layout class of virtual data sets.
    const VIRTUAL: u8 = 3;

    let mut cause = error;
    while let Unreadable::Context { source, .. } = cause {
        cause = source;
    }
    match cause {
        Unreadable::UnsupportedLayoutClass(VIRTUAL) => {
            "it is a virtual data set, whose data is in other data sets".to_owned()
        }
        _ => error.to_string(),
    }
}

fn joined(path: &str, name: &str) -> String {
    let mut path = format!("{path}/");
    push_name(&mut path, name);
    path
}

/// Converts an HDF5 type. Returns the type of one element and the additional dimensions: the
/// dimensions of an array type, or the size of a type that is converted to bytes.
fn datatype_of(found: &Type, depth: usize) -> Result<(Datatype, Vec<u64>), Reason> {
    if depth > MAX_DEPTH {
        return Err(format!("types nest deeper than {MAX_DEPTH} levels"));
    }
    let scalar = |kind, size: u64, order: ByteOrder| {
        let endian = if order == ByteOrder::BigEndian { Endian::Big } else { Endian::Little };
        let scalar = ScalarType::new(kind, size, endian).map_err(|error| error.to_string())?;
        Ok((Datatype::from(scalar), Vec::new()))
    };
    let bytes = |size: u64| Ok((Datatype::from(ScalarType::of::<u8>()), vec![size]));
    match found {
        &Type::FixedPoint { size: size @ (1 | 2 | 4 | 8), signed, byte_order } => {
            scalar(if signed { ScalarKind::Int } else { ScalarKind::Uint }, size.into(), byte_order)
        }
        &Type::Bitfield { size: size @ (1 | 2 | 4 | 8), byte_order } => {
            scalar(ScalarKind::Uint, size.into(), byte_order)
        }
        &Type::FloatingPoint { size: size @ (2 | 4 | 8), byte_order } => {
            scalar(ScalarKind::Float, size.into(), byte_order)
        }
        &Type::FixedPoint { size, .. }
        | &Type::Bitfield { size, .. }
        | &Type::FloatingPoint { size, .. }
        | &Type::Reference { size, .. } => bytes(size.into()),
        &Type::Opaque { size, .. } => bytes(size.into()),
        &Type::String { size: StringSize::Fixed(size), encoding, .. } => {
            let is_ascii = encoding == StringEncoding::Ascii;
            scalar(
                if is_ascii { ScalarKind::Bytes } else { ScalarKind::Utf8 },
                size.into(),
                ByteOrder::LittleEndian,
            )
        }
        Type::String { .. } | Type::VarLen { .. } => {
            Err("its elements have variable lengths and are stored in a heap".to_owned())
        }
        Type::Enum { base, members } => {
            // h5py stores booleans as an enumeration of FALSE and TRUE.
            let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
            match &**base {
                Type::FixedPoint { size: 1, .. } if names == ["FALSE", "TRUE"] => {
                    scalar(ScalarKind::Bool, 1, ByteOrder::LittleEndian)
                }
                base => datatype_of(base, depth + 1),
            }
        }
        Type::Array { base, dims } => {
            let (datatype, inner) = datatype_of(base, depth + 1)?;
            Ok((datatype, [&dims[..], &inner].concat()))
        }
        Type::Compound { size, fields } => {
            // h5py stores complex numbers as a compound type of two floats.
            if let [real, imaginary] = &fields[..] {
                if let (&Type::FloatingPoint { size: part, byte_order }, true) =
                    (&real.datatype, real.datatype == imaginary.datatype)
                {
                    let is_complex = (&*real.name, &*imaginary.name) == ("r", "i")
                        && (real.byte_offset, imaginary.byte_offset) == (0, part.into())
                        && *size == 2 * u32::from(part)
                        && matches!(part, 4 | 8);
                    if is_complex {
                        return scalar(ScalarKind::Complex, 2 * u64::from(part), byte_order);
                    }
                }
            }
            let mut list = Vec::new();
            for field in fields {
                let (datatype, shape) = datatype_of(&field.datatype, depth + 1)?;
                let field = Field::new(field.name.as_str(), datatype)
                    .with_shape(shape)
                    .at(field.byte_offset.into());
                list.push(field);
            }
            let record = Record::new(list, (*size).into()).map_err(|error| error.to_string())?;
            Ok((record.into(), Vec::new()))
        }
    }
}

/// Returns the names and values of an enumeration type, or `None` for other types and for booleans.
fn names_of(found: &Type) -> Option<(Vec<String>, Vec<i64>)> {
    let Type::Enum { base, members } = found else { return None };
    let &Type::FixedPoint { size, signed, byte_order } = &**base else { return None };
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    if size == 1 && names == ["FALSE", "TRUE"] {
        return None;
    }
    let value = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if byte_order == ByteOrder::BigEndian {
            bytes.reverse();
        }
        let fill = if signed && bytes.last().is_some_and(|&last| last >= 0x80) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        let len = bytes.len().min(8);
        wide[..len].copy_from_slice(&bytes[..len]);
        i64::from_le_bytes(wide)
    };
    Some((names, members.iter().map(|member| value(&member.value)).collect()))
}
