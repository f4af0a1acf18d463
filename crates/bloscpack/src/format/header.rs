//! Parsing and encoding the header of a file, for each version of the format.
//!
//! In versions 1 to 3, the header begins with `blpk` and the number of the version.
//!
//! Version 1, 16 bytes:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 4 | 1 | version, 1 |
//! | 5 | 3 | reserved, 0 |
//! | 8 | 8 | nchunks, -1 if unknown |
//!
//! Versions 2 and 3, 32 bytes:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 4 | 1 | version, 2 or 3 |
//! | 5 | 1 | options: bit 0 offsets, bit 1 metadata (version 3 only) |
//! | 6 | 1 | checksum, 0 to 8 |
//! | 7 | 1 | typesize, advisory |
//! | 8 | 4 | `chunk_size`, -1 if unknown or not uniform |
//! | 12 | 4 | `last_chunk`, -1 if unknown |
//! | 16 | 8 | nchunks, -1 if unknown |
//! | 24 | 8 | version 2: reserved, 0; version 3: `max_app_chunks` |
//!
//! Numbers of more than one byte are little-endian and signed. Old releases that wrote version 2 set
//! `chunk_size` to 0 in files with a single chunk, and wrote last chunks that are empty or larger
//! than the other chunks. These files can be read.

use std::fmt;

use binio::Endian;
use binio::number::ByteReader;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};
use crate::{Checksum, Strictness};

const MAGIC: &[u8; 4] = b"blpk";

/// The maximum length of the data in a Blosc buffer, in bytes.
pub(crate) const MAX_NBYTES: u32 = i32::MAX as u32 - 16;

/// The length of a version 1 header in bytes.
const V1_LEN: usize = 16;
/// The length of a version 2 or 3 header in bytes.
const LEN: usize = 32;

const OPTION_OFFSETS: u8 = 1;
const OPTION_METADATA: u8 = 2;

/// A version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Releases before 0.1.0-rc3: a signature, the number of chunks, and the chunks. The number of
    /// this version is 0.
    Unversioned,
    /// Release 0.1.0: no offsets, checksums or metadata.
    V1,
    /// Release 0.2: offsets and checksums.
    V2,
    /// Release 0.3 and later: metadata, and spare offsets for appending.
    #[default]
    V3,
}

impl Version {
    /// Returns the number of the version, 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unversioned => f.write_str("an unversioned file"),
            other => write!(f, "version {}", other.number()),
        }
    }
}

/// The header of a file.
///
/// ```
/// use bloscpack::format::{Header, Version};
/// use bloscpack::{Strictness, WriteOptions, pack_to_vec};
///
/// let file = pack_to_vec(&[7; 100], &WriteOptions::new())?;
/// let header = Header::parse(&file, Strictness::Strict, &mut Vec::new())?;
/// assert_eq!((header.version, header.nchunks, header.max_app_chunks), (Version::V3, Some(1), 10));
/// assert_eq!(header.encode()?, file[..32]);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The version of the format.
    pub version: Version,
    /// Whether a table of offsets follows.
    pub offsets: bool,
    /// Whether a metadata section follows.
    pub metadata: bool,
    /// The checksum of each chunk.
    pub checksum: Checksum,
    /// The size of an element in bytes. It is advisory, because each chunk states its own typesize.
    pub typesize: u8,
    /// The uncompressed length of each chunk but the last one, in bytes; `None` if unknown or not
    /// uniform.
    pub chunk_size: Option<u32>,
    /// The uncompressed length of the last chunk, in bytes; `None` if unknown.
    pub last_chunk: Option<u32>,
    /// The number of chunks. If it is unknown, this is `None`, and the chunks extend to the end of
    /// the file.
    pub nchunks: Option<u64>,
    /// The number of spare offsets, one for each chunk that can be appended.
    pub max_app_chunks: u64,
}

impl Header {
    /// Returns the length of the header in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub fn len(&self) -> u64 {
        match self.version {
            Version::Unversioned => 8,
            Version::V1 => V1_LEN as u64,
            Version::V2 | Version::V3 => LEN as u64,
        }
    }

    /// Returns the number of entries in the table of offsets, including spare entries. Returns 0 if
    /// there is no table.
    pub fn offsets_len(&self) -> u64 {
        match (self.offsets, self.nchunks) {
            (true, Some(nchunks)) => nchunks.saturating_add(self.max_app_chunks),
            _ => 0,
        }
    }

    /// Parses the header from the first bytes of a file. At most 32 bytes are needed. Adds
    /// irregularities that do not prevent reading to `diagnostics`.
    ///
    /// This function does not recognise unversioned files, because their fifth byte may have any
    /// value.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotBloscpack`] if the signature is missing, with
    /// [`ErrorKind::UnsupportedVersion`], [`ErrorKind::UnknownOptions`] or
    /// [`ErrorKind::UnknownChecksum`] for an unknown value, with [`ErrorKind::InvalidHeader`] for
    /// an invalid value in another field, and with [`ErrorKind::Truncated`] if the header is not
    /// complete. In strict mode, every irregularity is an error.
    pub fn parse(
        bytes: &[u8],
        strictness: Strictness,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        if reader.magic(MAGIC).is_err() {
            let found = bytes.iter().take(MAGIC.len()).copied().collect::<Vec<_>>();
            let is_cut = found.len() < MAGIC.len() && MAGIC.starts_with(&found);
            let other = ErrorKind::NotBloscpack { found };
            return Err(if is_cut { truncated(bytes) } else { Error::new(other).at(0) });
        }
        let version = match reader.read::<u8>(Endian::Little).map_err(|_| truncated(bytes))? {
            1 => return Self::parse_v1(bytes),
            2 => Version::V2,
            3 => Version::V3,
            other => return Err(Error::new(ErrorKind::UnsupportedVersion(other)).at(4)),
        };
        let mut fields = reader.child(LEN - 5).map_err(|_| truncated(bytes))?;
        Self::parse_fields(version, &mut fields, strictness, diagnostics)
    }

    fn parse_v1(bytes: &[u8]) -> Result<Self> {
        let bytes = bytes.get(..V1_LEN).ok_or_else(|| truncated(bytes))?;
        let mut reader = ByteReader::new(bytes);
        reader.skip(5)?;
        let reserved = reader.array::<3>()?;
        if reserved != [0; 3] {
            let message = format!("{reserved:02x?}, expected zeros");
            return Err(Error::header("reserved", 5, message));
        }
        let nchunks = count("nchunks", 8, reader.read(Endian::Little)?)?;
        Ok(Self { version: Version::V1, nchunks, ..Self::default_of(Checksum::None) })
    }

    fn parse_fields(
        version: Version,
        fields: &mut ByteReader<'_>,
        strictness: Strictness,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        let strict = strictness == Strictness::Strict;
        let options: u8 = fields.read(Endian::Little)?;
        let known = match version {
            Version::V3 => OPTION_OFFSETS | OPTION_METADATA,
            _ => OPTION_OFFSETS,
        };
        if options & !known != 0 {
            // In version 3, an unknown bit may announce a section. Version 2 is final, and some
            // version 2 files set meaningless bits, so only strict reading rejects them.
            if version == Version::V3 || strict {
                return Err(Error::new(ErrorKind::UnknownOptions(options)).at(5));
            }
            let message = format!("expected only bit 0 in the option bits, found {options:#04x}");
            diagnostics.push(diagnostic::at(Code::UnknownOptions, 5, message));
        }
        let checksum: u8 = fields.read(Endian::Little)?;
        let checksum = Checksum::from_id(checksum)
            .ok_or_else(|| Error::new(ErrorKind::UnknownChecksum(checksum)).at(6))?;
        let typesize: u8 = fields.read(Endian::Little)?;
        if typesize == 0 {
            if strict {
                return Err(Error::header("typesize", 7, "0, expected 1 to 255"));
            }
            diagnostics.push(diagnostic::at(Code::TypesizeZero, 7, "typesize 0"));
        }
        let header = Self {
            version,
            offsets: options & OPTION_OFFSETS != 0,
            metadata: version == Version::V3 && options & OPTION_METADATA != 0,
            checksum,
            typesize,
            chunk_size: size("chunk_size", 8, fields.read(Endian::Little)?)?,
            last_chunk: size("last_chunk", 12, fields.read(Endian::Little)?)?,
            nchunks: count("nchunks", 16, fields.read(Endian::Little)?)?,
            max_app_chunks: 0,
        };
        let last: i64 = fields.read(Endian::Little)?;
        match version {
            Version::V3 => header.with_room(last)?.check_v3(strict, diagnostics),
            _ => header.check_v2(last, strict, diagnostics),
        }
    }

    fn with_room(mut self, max_app_chunks: i64) -> Result<Self> {
        let room = u64::try_from(max_app_chunks).map_err(|_| {
            let message = format!("{max_app_chunks}, expected 0 or more");
            Error::header("max_app_chunks", 24, message)
        })?;
        self.max_app_chunks = room;
        Ok(self)
    }

    fn check_v2(
        self,
        reserved: i64,
        strict: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        if reserved != 0 {
            let message = format!("{reserved}, expected 0");
            if strict {
                return Err(Error::header("reserved", 24, message));
            }
            let message = format!("reserved bytes: {message}");
            diagnostics.push(diagnostic::at(Code::ReservedNotZero, 24, message));
        }
        if self.offsets && self.nchunks.is_none() {
            return Err(Error::header(
                "nchunks",
                16,
                "expected 0 or more because there are offsets, found -1 (unknown)",
            ));
        }
        Ok(self)
    }

    fn check_v3(mut self, strict: bool, diagnostics: &mut Vec<Diagnostic>) -> Result<Self> {
        let room = self.max_app_chunks;
        match self.nchunks {
            Some(nchunks)
                if nchunks.checked_add(room).is_none_or(|sum| i64::try_from(sum).is_err()) =>
            {
                let chunks = binio::diagnostic::count(nchunks, "chunk");
                let spare = binio::diagnostic::count(room, "spare offset");
                let message = format!("{spare} and {chunks} exceed 2^63 - 1 in total");
                return Err(Error::header("max_app_chunks", 24, message));
            }
            None if room != 0 => {
                let message = format!("expected 0 because nchunks is unknown (-1), found {room}");
                return Err(Error::header("max_app_chunks", 24, message));
            }
            None if self.offsets => {
                return Err(Error::header(
                    "nchunks",
                    16,
                    "expected 0 or more because there are offsets, found -1 (unknown)",
                ));
            }
            _ => {}
        }
        if self.nchunks == Some(0) {
            if strict {
                return Err(Error::header("nchunks", 16, "0, expected 1 or more, or -1 (unknown)"));
            }
            diagnostics.push(diagnostic::at(
                Code::NoChunks,
                16,
                "the header states that there are no chunks",
            ));
        }
        if let (Some(chunk_size), Some(last_chunk)) = (self.chunk_size, self.last_chunk) {
            if last_chunk > chunk_size {
                let message =
                    format!("expected at most {chunk_size} (chunk_size), found {last_chunk}");
                return Err(Error::header("last_chunk", 12, message));
            }
        }
        let single_empty = self.nchunks.is_none_or(|nchunks| nchunks <= 1)
            && self.last_chunk.is_none_or(|last| last == 0);
        if self.chunk_size == Some(0) && !single_empty {
            return Err(Error::header(
                "chunk_size",
                8,
                "expected 1 or more unless the only chunk is empty, found 0",
            ));
        }
        if room != 0 && !self.offsets {
            if strict {
                let message = format!("expected 0 because there are no offsets, found {room}");
                return Err(Error::header("max_app_chunks", 24, message));
            }
            let chunks = binio::diagnostic::count(room, "chunk");
            let message =
                format!("there is no table of offsets, but the header reserves space for {chunks}");
            diagnostics.push(diagnostic::at(Code::SpareWithoutOffsets, 24, message));
            self.max_app_chunks = 0;
        }
        Ok(self)
    }

    fn default_of(checksum: Checksum) -> Self {
        Self { checksum, ..Self::default() }
    }

    /// Returns the bytes of a version 2 or 3 header.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotInVersion`] if the version is older than 2, or does not support
    /// the metadata or the spare offsets, and with [`ErrorKind::InvalidHeader`] if a size or a
    /// count is out of range, or if fields of a version 3 header contradict each other.
    pub fn encode(&self) -> Result<[u8; 32]> {
        let what = "writing is not supported";
        let version = match self.version {
            Version::V2 | Version::V3 => self.version,
            version => {
                let version = version.number();
                return Err(ErrorKind::NotInVersion { what, version }.into());
            }
        };
        let (is_v3, mut out) = (version == Version::V3, [0; LEN]);
        if !is_v3 && (self.metadata || self.max_app_chunks != 0) {
            let what = "metadata and space for appending are not supported";
            return Err(ErrorKind::NotInVersion { what, version: version.number() }.into());
        }
        out[..4].copy_from_slice(MAGIC);
        out[4] = version.number();
        out[5] =
            u8::from(self.offsets) * OPTION_OFFSETS + u8::from(self.metadata) * OPTION_METADATA;
        out[6] = self.checksum.id();
        out[7] = self.typesize;
        out[8..12].copy_from_slice(&stored_size("chunk_size", 8, self.chunk_size)?.to_le_bytes());
        out[12..16].copy_from_slice(&stored_size("last_chunk", 12, self.last_chunk)?.to_le_bytes());
        let nchunks = self.nchunks.map_or(Ok(-1), |n| stored_count("nchunks", 16, n))?;
        out[16..24].copy_from_slice(&nchunks.to_le_bytes());
        let room = stored_count("max_app_chunks", 24, self.max_app_chunks)?;
        out[24..].copy_from_slice(&room.to_le_bytes());
        if is_v3 {
            // Reject contradictory fields, as strict reading does.
            self.clone().check_v3(true, &mut Vec::new())?;
        }
        Ok(out)
    }
}

fn truncated(bytes: &[u8]) -> Error {
    let needed = if bytes.get(4) == Some(&1) { V1_LEN } else { LEN } as u64;
    let available = bytes.len() as u64;
    Error::new(ErrorKind::Truncated { what: "header", needed, available }).at(0)
}

fn size(field: &'static str, offset: u64, value: i32) -> Result<Option<u32>> {
    match u32::try_from(value) {
        Ok(size) if size <= MAX_NBYTES => Ok(Some(size)),
        Err(_) if value == -1 => Ok(None),
        _ => {
            let message = format!("{value}, expected -1 (unknown) or 0 to {MAX_NBYTES}");
            Err(Error::header(field, offset, message))
        }
    }
}

fn count(field: &'static str, offset: u64, value: i64) -> Result<Option<u64>> {
    match u64::try_from(value) {
        Ok(count) => Ok(Some(count)),
        Err(_) if value == -1 => Ok(None),
        Err(_) => {
            let message = format!("{value}, expected 0 or more, or -1 (unknown)");
            Err(Error::header(field, offset, message))
        }
    }
}

fn stored_size(field: &'static str, offset: u64, size: Option<u32>) -> Result<i32> {
    let Some(size) = size else { return Ok(-1) };
    i32::try_from(size).ok().filter(|_| size <= MAX_NBYTES).ok_or_else(|| {
        Error::header(field, offset, format!("{size}, expected at most {MAX_NBYTES}"))
    })
}

fn stored_count(field: &'static str, offset: u64, count: u64) -> Result<i64> {
    i64::try_from(count)
        .map_err(|_| Error::header(field, offset, format!("{count}, expected less than 2^63")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the header of a file with three chunks and default options: offsets, adler32,
    /// typesize 8.
    fn v3() -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(b"blpk\x03\x01\x01\x08");
        bytes[8..12].copy_from_slice(&10_000_i32.to_le_bytes());
        bytes[12..16].copy_from_slice(&4_000_i32.to_le_bytes());
        bytes[16..24].copy_from_slice(&3_i64.to_le_bytes());
        bytes[24..].copy_from_slice(&30_i64.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8], strictness: Strictness) -> Result<(Header, Vec<Code>)> {
        let mut diagnostics = Vec::new();
        let header = Header::parse(bytes, strictness, &mut diagnostics)?;
        Ok((header, diagnostics.iter().map(|diagnostic| diagnostic.code).collect()))
    }

    fn patched(at: usize, patch: &[u8]) -> [u8; 32] {
        let mut bytes = v3();
        bytes[at..at + patch.len()].copy_from_slice(patch);
        bytes
    }

    #[test]
    fn a_header_of_version_3_is_parsed_and_encoded() {
        let (header, diagnostics) = parse(&v3(), Strictness::Strict).unwrap();
        assert_eq!(
            header,
            Header {
                version: Version::V3,
                offsets: true,
                metadata: false,
                checksum: Checksum::Adler32,
                typesize: 8,
                chunk_size: Some(10_000),
                last_chunk: Some(4_000),
                nchunks: Some(3),
                max_app_chunks: 30,
            }
        );
        assert_eq!((diagnostics, header.offsets_len()), (vec![], 33));
        assert_eq!(header.encode().unwrap(), v3());
    }

    #[test]
    fn invalid_fields_of_version_3_are_reported_by_name() {
        let minus_two = (-2_i64).to_le_bytes();
        for (at, patch, field) in [
            (5, &[4][..], "option"),
            (6, &[9], "checksum"),
            (8, &(-2_i32).to_le_bytes(), "chunk_size"),
            (8, &i32::MAX.to_le_bytes(), "chunk_size"),
            (8, &0_i32.to_le_bytes(), "last_chunk"),
            (12, &10_001_i32.to_le_bytes(), "last_chunk"),
            (16, &minus_two, "nchunks"),
            (16, &(-1_i64).to_le_bytes(), "max_app_chunks"),
            (24, &minus_two, "max_app_chunks"),
            (24, &i64::MAX.to_le_bytes(), "max_app_chunks"),
        ] {
            let error = parse(&patched(at, patch), Strictness::Lenient).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
            assert!(error.offset().is_some(), "{error}");
        }
    }

    #[test]
    fn violations_that_do_not_prevent_reading_are_errors_only_in_strict_mode() {
        let no_offsets = {
            let mut bytes = v3();
            bytes[5] = 0;
            bytes
        };
        for (bytes, code) in [
            (patched(7, &[0]), Code::TypesizeZero),
            (patched(16, &0_i64.to_le_bytes()), Code::NoChunks),
            (no_offsets, Code::SpareWithoutOffsets),
        ] {
            let (_, diagnostics) = parse(&bytes, Strictness::Lenient).unwrap();
            assert_eq!(diagnostics, [code]);
            assert!(parse(&bytes, Strictness::Strict).is_err(), "{code}");
        }
    }

    #[test]
    fn sizes_in_real_version_2_files_are_accepted_although_version_3_rejects_them() {
        let mut bytes = v3();
        bytes[4] = 2;
        bytes[24..].fill(0);
        // In a file with a single chunk, chunk_size is 0, and last_chunk is the length of the data.
        bytes[8..12].fill(0);
        bytes[16..24].copy_from_slice(&1_i64.to_le_bytes());
        let (header, diagnostics) = parse(&bytes, Strictness::Strict).unwrap();
        assert_eq!((header.chunk_size, header.last_chunk), (Some(0), Some(4_000)));
        assert_eq!((diagnostics, header.encode().unwrap()), (vec![], bytes));
        bytes[5] = 0b1001;
        bytes[24] = 7;
        let (_, diagnostics) = parse(&bytes, Strictness::Lenient).unwrap();
        assert_eq!(diagnostics, [Code::UnknownOptions, Code::ReservedNotZero]);
        assert!(parse(&bytes, Strictness::Strict).is_err());
    }

    #[test]
    fn a_header_of_version_1_has_16_bytes() {
        let mut bytes = *b"blpk\x01\0\0\0\x05\0\0\0\0\0\0\0";
        let (header, _) = parse(&bytes, Strictness::Strict).unwrap();
        assert_eq!((header.version, header.nchunks, header.len()), (Version::V1, Some(5), 16));
        assert_eq!(header.checksum, Checksum::None);
        bytes[6] = 1;
        assert!(parse(&bytes, Strictness::Lenient).is_err());
    }

    #[test]
    fn truncated_headers_other_formats_and_unknown_versions_have_different_errors() {
        for len in 0..32 {
            let error = parse(&v3()[..len], Strictness::Lenient).unwrap_err();
            let is_truncated = matches!(error.kind(), ErrorKind::Truncated { .. });
            assert!(is_truncated, "{len}: {error}");
        }
        let error = parse(b"#ASDF 1.0.0\n", Strictness::Lenient).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not a Bloscpack file: expected \"blpk\", found \"#ASD\" (offset 0)"
        );
        assert!(error.is_bad_data());
        let error = parse(b"blpk\x04", Strictness::Lenient).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnsupportedVersion(4)));
        assert!(error.is_bad_data());
    }
}
