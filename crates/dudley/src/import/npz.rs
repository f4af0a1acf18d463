//! numpy `.npz` files: zip archives whose members are `.npy` files. The crate `rawzip` reads the zip directory.
//!
//! numpy stores zip64 sizes in every local header, but other programs may omit them there, so sizes are read
//! only from the central directory.

use std::io;
use std::ops::Range;

use binio::array::npy::Header;
use binio::{ReadAt, Span};
use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipFileHeaderRecord, ZipLocator,
};

use super::imported::{Imported, Names, damaged, no_layout_for, past_end, path_of};
use super::npy::push_npy;
use crate::error::Error;
use crate::text::format;

const FORMAT: &str = "zip";

/// Creates a layout for a `.npz` file. Each array becomes an item with the name of its member,
/// without `.npy`. If an array is in Fortran order, its dimensions are reversed, and the attribute
/// `order="F"` is added. Members that a layout cannot describe, such as compressed arrays, are
/// reported in [`Imported::errors`].
///
/// # Errors
///
/// Fails with [`Import`](crate::ErrorKind::Import) if the archive is damaged, with
/// [`Read`](crate::ErrorKind::Read) if the archive cannot be read, and with
/// [`Layout`](crate::ErrorKind::Layout) if a dimension or size in the archive is too large for a layout.
pub fn from_npz(file: &dyn ReadAt) -> Result<Imported, Error> {
    let mut members = members(file)?;
    // Reject overlapping members, so that a hostile archive cannot make many members share the same
    // bytes.
    members.sort_by_key(|member| member.header);
    for pair in members.windows(2) {
        if pair[0].data.end > pair[1].header {
            let message = format!("the members {:?} and {:?} overlap", pair[0].name, pair[1].name);
            return Err(damaged(FORMAT, pair[1].header, message));
        }
    }
    let (mut text, mut errors, mut names) = (String::new(), Vec::new(), Names::default());
    for member in members {
        let name = member.name.strip_suffix(".npy").unwrap_or(&member.name);
        names.add(name, FORMAT, member.header)?;
        match member.array(file) {
            Ok((header, address)) => {
                errors.extend(past_end(
                    path_of(name),
                    address,
                    header.byte_size(),
                    member.data.end,
                ));
                push_npy(&mut text, name, &header, address);
            }
            Err(reason) => errors.push(no_layout_for(path_of(name), reason)),
        }
    }
    Ok(Imported { layout: format(text)?, errors })
}

/// A member of an archive.
struct Member {
    name: String,
    is_encrypted: bool,
    method: CompressionMethod,
    /// Offset of the local header in the archive.
    header: u64,
    /// Range of the stored bytes in the archive.
    data: Range<u64>,
}

impl Member {
    /// Finds the member that an entry of the central directory describes, and checks its size.
    fn find(
        archive: &ZipArchive<Source<'_>>,
        entry: &ZipFileHeaderRecord<'_>,
    ) -> Result<Self, Error> {
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let method = entry.compression_method();
        let (stored, size) = (entry.compressed_size_hint(), entry.uncompressed_size_hint());
        if method == CompressionMethod::STORE && stored != size {
            let message = format!(
                "expected {size} stored bytes, found {stored} in the uncompressed member {name:?}"
            );
            return Err(damaged(FORMAT, entry.central_directory_offset(), message));
        }
        let header = entry.local_header_offset();
        let found = archive.get_entry(entry.wayfinder()).map_err(|error| invalid(error, header))?;
        let (start, end) = found.compressed_data_range();
        let len = archive.get_ref().0.len();
        if end > len {
            let message =
                format!("the file ends at byte {len}, before the end of the member {name:?}");
            return Err(damaged(FORMAT, header, message));
        }
        let is_encrypted = entry.flags().is_encrypted();
        Ok(Self { name, is_encrypted, method, header, data: start..end })
    }

    /// Reads the `.npy` header of the member. Returns the header and the address of the data.
    fn array(&self, file: &dyn ReadAt) -> Result<(Header, u64), String> {
        if self.is_encrypted {
            return Err("it is encrypted".to_owned());
        }
        match self.method {
            CompressionMethod::STORE => {}
            CompressionMethod::DEFLATE => {
                return Err(
                    "it is deflated, but a layout can describe only uncompressed members: write the \
                            file with numpy.savez instead of numpy.savez_compressed"
                        .to_owned(),
                );
            }
            other => return Err(format!("it is compressed with zip method {}", other.as_u16())),
        }
        let span = Span::new(file, self.data.clone()).map_err(|error| error.to_string())?;
        let (header, address) = Header::read(&span).map_err(|error| error.to_string())?;
        Ok((header, self.data.start + address))
    }
}

/// Returns the members listed in the central directory.
fn members(file: &dyn ReadAt) -> Result<Vec<Member>, Error> {
    let len = file.len();
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(Source(file), &mut buffer, len)
        .map_err(|(_, error)| invalid(error, len))?;
    let mut entries = archive.entries(&mut buffer);
    let mut members = Vec::new();
    while let Some(entry) =
        entries.next_entry().map_err(|error| invalid(error, archive.directory_offset()))?
    {
        members.push(Member::find(&archive, &entry)?);
    }
    Ok(members)
}

/// A source of bytes for the crate `rawzip`.
struct Source<'f>(&'f dyn ReadAt);

impl ReaderAt for Source<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.0.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
        if len > 0 {
            self.0.read_exact_at(&mut buf[..len], offset)?;
        }
        Ok(len)
    }
}

/// Converts a `rawzip` error that occurred at `offset` in the archive.
fn invalid(error: rawzip::Error, offset: u64) -> Error {
    let message = match error.into_kind() {
        ErrorKind::IO(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return binio::Error::from(error).into();
        }
        ErrorKind::IO(_) | ErrorKind::Eof => "the archive is truncated".to_owned(),
        ErrorKind::MissingEndOfCentralDirectory => {
            "the file has no central directory at its end: it is truncated".to_owned()
        }
        ErrorKind::InvalidSignature { expected, actual } => {
            format!("expected the signature {expected:#010x}, found {actual:#010x}")
        }
        other => other.to_string(),
    };
    damaged(FORMAT, offset, message)
}
