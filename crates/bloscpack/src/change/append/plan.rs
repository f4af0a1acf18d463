//! Planning an append before anything is written.

use binio::diagnostic::count;
use serde_json::Value;

use super::AppendOptions;
use crate::array::{ArrayInfo, Order};
use crate::change::MetadataEdit;
use crate::change::rewrite::section_in_place;
use crate::diagnostic::Severity;
use crate::error::{Error, ErrorKind, Result};
use crate::format::metadata::encode::{section, to_text};
use crate::format::{Chunking, Header, MetadataOptions, Version};
use crate::write::chunk_encoder::Recipe;
use crate::write::options::{COMPRESSOR, TYPESIZE};
use crate::{ChunkSize, Compressor, Reader, Shuffle};

/// The content of the file after appending.
#[derive(Debug)]
pub(super) struct Plan {
    /// The header of the changed file.
    pub(super) header: Header,
    /// The new metadata section, or `None` if the old one is kept.
    pub(super) section: Option<Vec<u8>>,
    /// The number of chunks that are kept unchanged.
    pub(super) kept: usize,
    /// The data of the last old chunk, if it is shorter than the chunk size and therefore rewritten
    /// with new data; otherwise empty.
    pub(super) head: Vec<u8>,
    /// The division of `head` and the new data into chunks.
    pub(super) chunking: Chunking,
    /// Whether the chunks have to move, because there is not enough space before them.
    pub(super) moves_chunks: bool,
}

/// Fails if the file is older than version 2, if it has a diagnostic worse than a note, or if the
/// digest of its last chunk does not match.
pub(super) fn check(reader: &Reader) -> Result<()> {
    let version = reader.header().version;
    if version < Version::V2 {
        let version = version.number();
        return Err(ErrorKind::NotInVersion { what: "appending is not supported", version }.into());
    }
    if let Some(diagnostic) = reader.diagnostics().iter().find(|f| f.severity == Severity::Error) {
        return Err(Error::new(ErrorKind::Damaged(diagnostic.message.clone()))
            .at(diagnostic.place.offset.unwrap_or_default()));
    }
    if let Some(last) = reader.chunks().len().checked_sub(1) {
        // Read the chunk to check its digest.
        reader.chunk_bytes(last)?;
    }
    Ok(())
}

/// Returns the parameters for storing chunks. Parameters that the options do not set come from the
/// last nonempty chunk or, if the file has no data, from the header and the defaults.
pub(super) fn recipe(reader: &Reader, options: &AppendOptions) -> Result<Recipe> {
    let (mut compressor, mut shuffle) = (COMPRESSOR, Shuffle::Byte);
    let mut typesize = match reader.header().typesize {
        0 => TYPESIZE.into(),
        typesize => typesize.into(),
    };
    if let Some(last) = reader.chunks().iter().rposition(|chunk| chunk.nbytes > 0) {
        let header = reader.chunk_header(last)?;
        // Use the first compressor of the codec. Only lz4 and lz4hc share a codec, and lz4 precedes
        // lz4hc.
        let mut all = Compressor::ALL.into_iter();
        let found = all.find(|compressor| compressor.codec() == header.codec());
        compressor = found.unwrap_or(compressor);
        (shuffle, typesize) = (header.shuffle(), header.typesize().into());
    }
    Recipe::new(
        options.compressor.unwrap_or(compressor),
        options.level,
        options.shuffle.unwrap_or(shuffle),
        options.typesize.unwrap_or(typesize),
        reader.header().checksum,
    )
}

impl Plan {
    /// Plans to append `len` bytes. `len` must not be 0.
    pub(super) fn new(
        reader: &Reader,
        len: u64,
        options: &AppendOptions,
        metadata: Option<&Value>,
    ) -> Result<Self> {
        let (old, chunks) = (reader.header(), reader.chunks());
        check_counts(old, options)?;
        let mut kept = 0;
        let mut chunk_size = None;
        if let Some((last, others)) = chunks.split_last().filter(|_| !reader.is_empty()) {
            let size = chunk_size_of(reader)?;
            kept = others.len() + usize::from(last.nbytes == size);
            chunk_size = Some(size);
        }
        let head = if kept < chunks.len() { reader.decode_chunk(kept)? } else { Vec::new() };
        let asked = chunk_size.map_or(options.chunk_size, ChunkSize::Bytes);
        let chunking = Chunking::of((head.len() as u64).saturating_add(len), asked)?;
        let nchunks = (kept as u64).saturating_add(chunking.nchunks);

        let section = match metadata {
            Some(metadata) => {
                check_metadata(reader, len, options, metadata)?;
                Some(other_section(reader, options, metadata)?)
            }
            None => section_of_array(reader, len, options)?,
        };
        let (section, section_moves) = section.unzip();
        let entries = old.offsets_len();
        let table_moves = old.offsets && nchunks > entries;
        if table_moves && !options.grow {
            let (needed, available) = (nchunks - chunks.len() as u64, old.max_app_chunks);
            let what = "chunks to append";
            return Err(ErrorKind::NotEnoughSpace { what, needed, available }.into());
        }
        let room = match old.version {
            Version::V3 if table_moves => Chunking { nchunks, ..chunking }.max_app_chunks(None),
            _ => entries.saturating_sub(nchunks),
        };
        let header = Header {
            chunk_size: chunk_size.or(Some(chunking.chunk_size)),
            last_chunk: Some(chunking.last_chunk),
            nchunks: Some(nchunks),
            max_app_chunks: room,
            ..old.clone()
        };
        let moves_chunks = table_moves || section_moves == Some(true);
        Ok(Self { header, section, kept, head, chunking, moves_chunks })
    }

    /// Returns the number of chunks in the changed file.
    pub(super) fn nchunks(&self) -> u64 {
        self.kept as u64 + self.chunking.nchunks
    }
}

/// Fails if the header does not state the number and the sizes of the chunks, unless `scan` is set.
fn check_counts(header: &Header, options: &AppendOptions) -> Result<()> {
    let unknown = [
        ("nchunks", header.nchunks.is_none()),
        ("chunk_size", header.chunk_size.is_none()),
        ("last_chunk", header.last_chunk.is_none()),
    ];
    match unknown.iter().find(|(_, is_unknown)| *is_unknown && !options.scan) {
        Some((field, _)) => {
            let message = format!("required, because the header states -1 (unknown) for {field}");
            Err(ErrorKind::InvalidOption { option: "scan", message }.into())
        }
        None => Ok(()),
    }
}

/// Returns the size of each chunk but the last one. Fails if these chunks differ in size, or if the
/// last one is larger.
fn chunk_size_of(reader: &Reader) -> Result<u32> {
    let stated = reader.header().chunk_size.filter(|&size| size > 0);
    let found = reader.chunks().first().map_or(0, |chunk| chunk.nbytes);
    let size = stated.unwrap_or(found);
    let is_last = |index: usize| index + 1 == reader.chunks().len();
    for (index, chunk) in reader.chunks().iter().enumerate() {
        if chunk.nbytes > size || (chunk.nbytes < size && !is_last(index)) {
            let found = count(chunk.nbytes, "byte");
            let message = format!("expected chunks of {size} bytes, but chunk {index} has {found}");
            return Err(Error::new(ErrorKind::SizeMismatch { message }).at(chunk.offset));
        }
    }
    Ok(size)
}

/// Returns the metadata section for the array after appending, and whether this section is longer
/// than the old one. Returns `None` if the file contains no array.
fn section_of_array(
    reader: &Reader,
    len: u64,
    options: &AppendOptions,
) -> Result<Option<(Vec<u8>, bool)>> {
    let Some(metadata) = reader.metadata()? else { return Ok(None) };
    if metadata.json()?.get("container").and_then(Value::as_str) != Some("numpy") {
        return Ok(None);
    }
    if !options.axis0 {
        let message = "the file contains a numpy array, whose shape would no longer match the data"
            .to_owned();
        return Err(ErrorKind::InvalidOption { option: "axis0", message }.into());
    }
    let mut value = metadata.exact_json()?;
    let rows = ArrayInfo::from_json(&value).and_then(|info| {
        info.check_size(reader.len())?;
        rows_after(&info, len)
    })?;
    if let Some(first) = value.pointer_mut("/shape/0") {
        *first = rows.into();
    }
    let (text, header) = (to_text(&value), metadata.header());
    let mut stored = MetadataOptions {
        checksum: header.checksum,
        compress: true,
        level: header.level,
        max_size: Some(header.max_meta_size),
    };
    match section(&text, &stored) {
        Ok(section) => Ok(Some((section, false))),
        Err(error) if matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }) && options.grow => {
            stored.max_size = None;
            Ok(Some((section(&text, &stored)?, true)))
        }
        Err(error) => Err(error),
    }
}

/// Fails if the version of the file does not support metadata, if [`axis0`](AppendOptions::axis0)
/// is set as well, or if the new metadata describes an array that does not match the data after
/// `len` bytes have been appended.
pub(super) fn check_metadata(
    reader: &Reader,
    len: u64,
    options: &AppendOptions,
    metadata: &Value,
) -> Result<()> {
    let version = reader.header().version;
    if version != Version::V3 {
        let version = version.number();
        return Err(ErrorKind::NotInVersion { what: "metadata is not supported", version }.into());
    }
    if options.axis0 {
        let message =
            "not possible with new metadata, which must already state the new shape".to_owned();
        return Err(ErrorKind::InvalidOption { option: "axis0", message }.into());
    }
    if metadata.get("container").and_then(Value::as_str) == Some("numpy") {
        ArrayInfo::from_json(metadata)?.check_size(reader.len().saturating_add(len))?;
    }
    Ok(())
}

/// Returns a section with new metadata, and whether this section is longer than the old one.
fn other_section(
    reader: &Reader,
    options: &AppendOptions,
    metadata: &Value,
) -> Result<(Vec<u8>, bool)> {
    match section_in_place(reader, metadata, MetadataEdit::new()) {
        Ok(section) => Ok((section, false)),
        Err(error) if matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }) && options.grow => {
            let checksum = reader.meta_header().map(|header| header.checksum);
            let checksum = checksum.unwrap_or_default();
            let options = MetadataOptions { checksum, ..MetadataOptions::default() };
            Ok((section(&to_text(metadata), &options)?, true))
        }
        Err(error) => Err(error),
    }
}

/// Returns the number of rows of an array after appending `len` bytes.
fn rows_after(info: &ArrayInfo, len: u64) -> Result<u64> {
    let reject = |message: String| Err(ErrorKind::ShapeMismatch(message).into());
    let Some((&rows, others)) = info.shape().split_first() else {
        return reject("a single element has no first axis to append to".to_owned());
    };
    if info.order() == Order::F && !others.is_empty() {
        return reject("the rows of an array in Fortran order are not contiguous".to_owned());
    }
    let row = others.iter().try_fold(info.datatype().itemsize(), |size, &n| size.checked_mul(n));
    if let Some(row) = row.filter(|&row| row > 0 && len % row == 0) {
        return Ok(rows.saturating_add(len / row));
    }
    let (len, row) = (count(len, "byte"), count(row.unwrap_or(0), "byte"));
    reject(format!("expected whole rows of {row}, found {len}"))
}
