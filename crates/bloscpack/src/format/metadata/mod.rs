//! The metadata section of version 3: a header, a payload, padding and a digest.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | signature: `JSON` (the serializer), padded with four zero bytes |
//! | 8 | 1 | `meta_options`, 0 |
//! | 9 | 1 | `meta_checksum`, 0 to 8 |
//! | 10 | 1 | `meta_codec`: 0 none, 1 zlib |
//! | 11 | 1 | `meta_level`, 0 to 9 |
//! | 12 | 4 | `meta_size`: length of the text |
//! | 16 | 4 | `max_meta_size`: space for the payload |
//! | 20 | 4 | `meta_comp_size`: length of the stored payload |
//! | 24 | 8 | `user_codec`, zeros |
//! | 32 | `meta_comp_size` | payload |
//! | | | zeros up to `max_meta_size` |
//! | | 0 to 64 | digest of the payload, without the zeros; `meta_checksum` determines its length |
//!
//! Numbers are little-endian. If zlib would make the text larger, the text is stored uncompressed,
//! with codec 0 and the requested level. The end of the section depends only on the checksum and on
//! `max_meta_size`, so unreadable metadata does not affect the chunks.

pub(crate) mod encode;
mod json;

use std::io::Read;
use std::ops::Range;

use binio::number::ByteReader;
use binio::{Endian, ReadAt, check_limit};
use bytes::Bytes;
use serde_json::Value;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, MetadataError, Part, Result};
use crate::{Checksum, Strictness};

const MAGIC: [u8; 8] = *b"JSON\0\0\0\0";
/// The signature that the documentation of the original program describes, but that no known
/// program writes.
const MAGIC_BLANKS: [u8; 8] = *b"JSON    ";

const CODEC_NONE: u8 = 0;
const CODEC_ZLIB: u8 = 1;

/// The header of the metadata section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetaHeader {
    /// The signature: the name of the serializer, padded with zeros.
    pub magic: [u8; 8],
    /// Option bits. No bits are defined.
    pub options: u8,
    /// The checksum of the payload.
    pub checksum: Checksum,
    /// The compression of the payload: 0 for none, 1 for zlib.
    pub codec: u8,
    /// The compression level that the writer requested.
    pub level: u8,
    /// The length of the text in bytes.
    pub meta_size: u32,
    /// The space reserved for the payload, in bytes.
    pub max_meta_size: u32,
    /// The length of the payload in bytes.
    pub meta_comp_size: u32,
    /// Bytes reserved for other serializers and codecs.
    pub user_codec: [u8; 8],
}

impl MetaHeader {
    /// Length of the header in bytes.
    pub const LEN: usize = 32;

    /// Parses the header of a section at offset `start`. Fails if the end of the section cannot be determined.
    pub(crate) fn parse(bytes: &[u8], start: u64) -> Result<Self> {
        let mut fields = ByteReader::at(bytes, start);
        let magic = fields.array()?;
        let [options, checksum, codec, level] = fields.array()?;
        let header = Self {
            magic,
            options,
            checksum: Checksum::from_id(checksum)
                .ok_or_else(|| Error::new(ErrorKind::UnknownChecksum(checksum)).at(start + 9))?,
            codec,
            level,
            meta_size: fields.read(Endian::Little)?,
            max_meta_size: fields.read(Endian::Little)?,
            meta_comp_size: fields.read(Endian::Little)?,
            user_codec: fields.array()?,
        };
        if header.max_meta_size < header.meta_comp_size {
            let message = format!(
                "expected at least {} (meta_comp_size), found {}",
                header.meta_comp_size, header.max_meta_size
            );
            return Err(Error::header("max_meta_size", start + 16, message));
        }
        Ok(header)
    }

    /// Returns the name of the codec: `"None"` for no compression, or `"zlib"`. Returns `None` if
    /// the codec is unknown.
    pub fn codec_name(&self) -> Option<&'static str> {
        match self.codec {
            CODEC_NONE => Some("None"),
            CODEC_ZLIB => Some("zlib"),
            _ => None,
        }
    }

    /// Returns the length of the whole section in bytes, including the padding and the digest.
    pub fn section_len(&self) -> u64 {
        Self::LEN as u64 + u64::from(self.max_meta_size) + self.checksum.len() as u64
    }

    /// Returns the range of the payload in a section at offset `start`.
    fn payload(&self, start: u64) -> Range<u64> {
        let payload = start + Self::LEN as u64;
        payload..payload + u64::from(self.meta_comp_size)
    }

    /// Returns the range of the digest in a section at offset `start`.
    fn digest(&self, start: u64) -> Range<u64> {
        let end = start + self.section_len();
        end - self.checksum.len() as u64..end
    }

    /// Returns the ranges to read in a section at offset `start`: the payload and its digest.
    pub(crate) fn read_ranges(&self, start: u64) -> [Range<u64>; 2] {
        [self.payload(start), self.digest(start)]
    }
}

/// The metadata of a file: its header and its text.
///
/// The text is decompressed but not parsed; [`json`](Self::json) parses it. Text that is not valid JSON, such as the
/// `NaN` that Python writes, can also be read.
#[derive(Clone, Debug)]
pub struct Metadata {
    header: MetaHeader,
    text: Bytes,
    /// The offset of the section in the file.
    start: u64,
}

impl Metadata {
    /// Reads the section at offset `start`, which must be within the file. Fails if the digest of
    /// the payload does not match, if the codec or the level is invalid, if the payload does not
    /// decompress, or if the text does not have the stated length or has more than `max_size`
    /// bytes.
    pub(crate) fn read(
        source: &dyn ReadAt,
        header: &MetaHeader,
        start: u64,
        max_size: u64,
    ) -> Result<Self> {
        let [payload, digest] = header.read_ranges(start);
        let (payload, payload_start) = (bytes_of(source, &payload)?, payload.start);
        let stored = bytes_of(source, &digest)?;
        check_digest(header.checksum, &payload, &stored).map_err(|error| error.at(digest.start))?;
        if header.level > 9 {
            let message = format!("{}, expected 0 to 9", header.level);
            return Err(Error::header("meta_level", start + 11, message));
        }
        let text = match header.codec {
            CODEC_NONE => {
                check_limit("bytes of metadata", max_size, payload.len() as u64)
                    .map_err(|error| Error::from(error).at(payload_start))?;
                payload
            }
            CODEC_ZLIB => inflate(&payload, header.meta_size, max_size)
                .map_err(|error| error.at(payload_start))?
                .into(),
            codec => return Err(metadata(MetadataError::UnknownCodec(codec)).at(start + 10)),
        };
        let (expected, found) = (u64::from(header.meta_size), text.len() as u64);
        if expected != found {
            return Err(metadata(MetadataError::Size { expected, found }).at(start + 12));
        }
        Ok(Self { header: header.clone(), text, start })
    }

    /// Returns the header of the section.
    pub fn header(&self) -> &MetaHeader {
        &self.header
    }

    /// Returns the decompressed text.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// Parses the text as JSON. Any value is allowed, not only an object. Keys keep their order.
    ///
    /// If a key occurs several times, its last value applies. An integer beyond 64 bits becomes the
    /// nearest float. Opening the file reports both as diagnostics ([`Code::DuplicateKey`],
    /// [`Code::BigInteger`]).
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Metadata`] if the serializer is unknown, or if the text is not valid
    /// JSON. `NaN`, numbers beyond the range of `f64`, more than 127 levels of nesting, a
    /// byte-order mark, and bytes that are not UTF-8 are not allowed.
    pub fn json(&self) -> Result<Value> {
        self.parse().map(|parsed| parsed.value)
    }

    /// Parses the text as JSON without rounding, for callers that change the value and write it back.
    ///
    /// # Errors
    ///
    /// Same as [`json`](Self::json). Also fails with [`ErrorKind::Metadata`] if the text contains
    /// an integer that does not fit into 64 bits.
    pub fn exact_json(&self) -> Result<Value> {
        exact(self.parse()?)
    }

    fn parse(&self) -> Result<json::Parsed> {
        let magic = self.header.magic;
        if magic != MAGIC && magic != MAGIC_BLANKS {
            return Err(metadata(MetadataError::UnknownSerializer(magic)).at(self.start));
        }
        json::parse(&self.text).map_err(|error| {
            let payload = self.header.payload(self.start).start;
            metadata(MetadataError::Json(error.to_string())).at(payload)
        })
    }

    /// Checks the header and the text, and adds irregularities to `diagnostics`. Fails if the text
    /// is not valid JSON, if the serializer is unknown, or, in strict mode, if the signature is
    /// padded with spaces.
    pub(crate) fn check(
        &self,
        strictness: Strictness,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let Self { header, start, .. } = self;
        if header.magic == MAGIC_BLANKS {
            if strictness == Strictness::Strict {
                return Err(metadata(MetadataError::UnknownSerializer(header.magic)).at(*start));
            }
            let message = "the serializer \"JSON\" is padded with spaces instead of zeros";
            diagnostics.push(diagnostic::at(Code::MagicPadding, *start, message));
        }
        if header.options != 0 {
            let message = format!("meta_options {:#04x}, expected 0", header.options);
            diagnostics.push(diagnostic::at(Code::MetadataReserved, start + 8, message));
        }
        if header.user_codec != [0; 8] {
            let message =
                format!("user_codec \"{}\", expected zeros", header.user_codec.escape_ascii());
            diagnostics.push(diagnostic::at(Code::MetadataReserved, start + 24, message));
        }
        let parsed = self.parse()?;
        let payload = header.payload(*start).start;
        if let Some(key) = parsed.duplicate_key {
            let message = format!("the key {} occurs twice; the last one applies", shortened(&key));
            diagnostics.push(diagnostic::at(Code::DuplicateKey, payload, message));
        }
        if let Some(number) = parsed.big_integer {
            let message = format!("the integer {} does not fit into 64 bits", shortened(&number));
            diagnostics.push(diagnostic::at(Code::BigInteger, payload, message));
        }
        Ok(())
    }
}

/// Parses JSON text as a value for [`WriteOptions::metadata`](crate::WriteOptions::metadata).
///
/// ```
/// assert_eq!(bloscpack::format::exact_json(b"[18446744073709551615]")?, serde_json::json!([u64::MAX]));
/// assert!(bloscpack::format::exact_json(b"[18446744073709551616]").is_err());
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`ErrorKind::Metadata`] if the text is not valid JSON, or contains an integer that
/// `serde_json` would silently round, because it does not fit into 64 bits.
pub fn exact_json(text: &[u8]) -> Result<Value> {
    exact(json::parse(text).map_err(|error| metadata(MetadataError::Json(error.to_string())))?)
}

fn exact(parsed: json::Parsed) -> Result<Value> {
    match parsed.big_integer {
        Some(number) => Err(metadata(MetadataError::BigInteger(shortened(&number)))),
        None => Ok(parsed.value),
    }
}

fn metadata(error: MetadataError) -> Error {
    ErrorKind::Metadata(error).into()
}

fn bytes_of(source: &dyn ReadAt, range: &Range<u64>) -> Result<Bytes> {
    // If the length does not fit into `usize`, the source rejects the range, because it extends
    // past the end of the source.
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    Ok(source.bytes_at(range.start, len)?)
}

fn check_digest(checksum: Checksum, payload: &[u8], stored: &[u8]) -> Result<()> {
    checksum.verify(payload, stored).map_err(|error| match *error.kind() {
        binio::ErrorKind::Checksum { stored, computed } => {
            ErrorKind::ChecksumMismatch { part: Part::Metadata, stored, computed }.into()
        }
        _ => error.into(),
    })
}

/// Inflates a payload to text, which should be `meta_size` bytes long. Stops one byte after
/// `meta_size` or `max_size`, whichever is smaller, so that a small payload cannot inflate to
/// gigabytes.
fn inflate(payload: &[u8], meta_size: u32, max_size: u64) -> Result<Vec<u8>> {
    let expected = u64::from(meta_size);
    let cap = expected.min(max_size);
    let mut text = Vec::new();
    flate2::read::ZlibDecoder::new(payload)
        .take(cap.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|error| metadata(MetadataError::Zlib(error.to_string())))?;
    if text.len() as u64 > cap {
        check_limit("bytes of metadata", max_size, expected)?;
    }
    Ok(text)
}

/// Quotes text from a file for a message, and truncates it if it is long.
fn shortened(text: &str) -> String {
    const LEN: usize = 40;
    match text.char_indices().nth(LEN) {
        Some((end, _)) => format!("{:?}..", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    /// Creates an uncompressed section with 32 bytes for the payload and an Adler-32 checksum.
    fn section(text: &[u8]) -> Vec<u8> {
        let len = u32::try_from(text.len()).unwrap().to_le_bytes();
        let mut bytes = b"JSON\0\0\0\0\0\x01\0\x06".to_vec();
        bytes.extend([len, 32_u32.to_le_bytes(), len].concat());
        bytes.extend([0; 8]);
        bytes.extend(text);
        bytes.resize(MetaHeader::LEN + 32, 0);
        bytes.extend(Checksum::Adler32.compute(text));
        bytes
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a section at offset 32, as in a file.
    fn read(section: &[u8]) -> Result<Metadata> {
        let file = [&[0; 32], section].concat();
        let header = MetaHeader::parse(&file[32..], 32)?;
        Metadata::read(&file, &header, 32, 1 << 20)
    }

    fn codes(metadata: &Metadata) -> Vec<Code> {
        let mut diagnostics = Vec::new();
        metadata.check(Strictness::Lenient, &mut diagnostics).unwrap();
        diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn the_metadata_text_and_the_header_fields_are_read() {
        let section = section(br#"{"a":1}"#);
        let metadata = read(&section).unwrap();
        let header = metadata.header();
        assert_eq!((header.codec, header.level, header.meta_size), (0, 6, 7));
        assert_eq!((header.max_meta_size, header.meta_comp_size), (32, 7));
        assert_eq!(header.section_len(), section.len() as u64);
        assert_eq!(metadata.text(), &br#"{"a":1}"#[..]);
        assert_eq!(metadata.json().unwrap(), json!({"a": 1}));
        assert_eq!(codes(&metadata), []);
    }

    #[test]
    fn any_json_value_is_valid_metadata() {
        for (text, value) in [("\"abc\"", json!("abc")), ("null", Value::Null), ("[1]", json!([1]))]
        {
            assert_eq!(read(&section(text.as_bytes())).unwrap().json().unwrap(), value);
        }
    }

    #[test]
    fn the_digest_covers_only_the_payload_and_follows_the_padding() {
        let mut bytes = section(b"[1]");
        bytes[40] = b' ';
        assert!(read(&bytes).is_ok(), "the digest does not cover the padding");
        bytes[33] = b'2';
        let error = read(&bytes).unwrap_err();
        let is_mismatch =
            matches!(error.kind(), ErrorKind::ChecksumMismatch { part: Part::Metadata, .. });
        assert!(is_mismatch, "{error}");
        assert_eq!(error.offset(), Some(32 + 64));
    }

    #[test]
    fn the_error_for_a_section_with_an_unknown_end_identifies_the_invalid_field() {
        let mut bytes = section(b"[1]");
        bytes[9] = 9;
        let error = read(&bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnknownChecksum(9)));
        assert_eq!(error.offset(), Some(41));
        bytes[9] = 1;
        bytes[16] = 2;
        let error = read(&bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidHeader { field: "max_meta_size", .. }));
    }

    #[test]
    fn a_zlib_payload_is_inflated() {
        let text = format!("[{}]", "1,".repeat(100) + "1");
        let payload = zlib(text.as_bytes());
        let mut bytes = section(&payload);
        bytes[10] = 1;
        bytes[12..16].copy_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
        let metadata = read(&bytes).unwrap();
        assert_eq!(metadata.text(), text.as_bytes());
        // Without its last byte, the payload is not a valid zlib stream.
        let mut cut = section(&payload[..payload.len() - 1]);
        cut[10] = 1;
        cut[12..16].copy_from_slice(&bytes[12..16]);
        let error = read(&cut).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Metadata(MetadataError::Zlib(_))), "{error}");
    }

    #[test]
    fn a_decompression_bomb_is_inflated_to_at_most_one_byte_beyond_its_stated_length() {
        let bomb = zlib(&vec![b' '; 10 << 20]);
        let text = inflate(&bomb, 20, 1 << 20).unwrap();
        assert_eq!(text.len(), 21);
        assert!(text.capacity() < 1000);
        let error = inflate(&bomb, 10 << 20, 1 << 20).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { requested: 10_485_760, .. }), "{error}");
    }

    #[test]
    fn the_size_limit_applies_to_uncompressed_and_to_compressed_text() {
        let text = b"[1, 2, 3, 4, 5, 6]";
        let payload = zlib(text);
        let mut compressed = section(&payload);
        compressed[10] = 1;
        compressed[12] = 18;
        for section in [section(text), compressed] {
            let header = MetaHeader::parse(&section, 0).unwrap();
            assert!(Metadata::read(&section, &header, 0, 18).is_ok());
            let error = Metadata::read(&section, &header, 0, 17).unwrap_err();
            let is_limit =
                matches!(error.kind(), ErrorKind::Limit { limit: 17, requested: 18, .. });
            assert!(is_limit, "{error}");
        }
    }

    #[test]
    fn text_shorter_than_the_header_states_is_an_error() {
        let mut bytes = section(b"[1]");
        bytes[12] = 4;
        let error = read(&bytes).unwrap_err();
        let is_size = matches!(
            error.kind(),
            ErrorKind::Metadata(MetadataError::Size { expected: 4, found: 3 })
        );
        assert!(is_size, "{error}");
    }

    #[test]
    fn an_undefined_codec_or_level_is_an_error() {
        let mut bytes = section(b"[1]");
        bytes[10] = 2;
        let error = read(&bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Metadata(MetadataError::UnknownCodec(2))));
        bytes[10] = 0;
        bytes[11] = 10;
        let error = read(&bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidHeader { field: "meta_level", .. }));
    }

    #[test]
    fn the_text_of_another_serializer_is_available_but_not_parsed_as_json() {
        let mut bytes = section(b"[1]");
        bytes[..8].copy_from_slice(b"MSGPACK\0");
        let metadata = read(&bytes).unwrap();
        assert_eq!(metadata.text(), &b"[1]"[..]);
        let error = metadata.json().unwrap_err();
        assert_eq!(
            error.to_string(),
            "metadata: unknown serializer \"MSGPACK\\x00\", expected \"JSON\" (offset 32)"
        );
    }

    #[test]
    fn irregular_metadata_is_accepted_with_diagnostics() {
        let mut bytes = section(br#"{"a":1,"a":2}"#);
        bytes[..8].copy_from_slice(&MAGIC_BLANKS);
        bytes[8] = 1;
        bytes[24] = 1;
        let metadata = read(&bytes).unwrap();
        assert_eq!(
            codes(&metadata),
            [
                Code::MagicPadding,
                Code::MetadataReserved,
                Code::MetadataReserved,
                Code::DuplicateKey
            ]
        );
        assert!(metadata.check(Strictness::Strict, &mut Vec::new()).is_err());
        let metadata = read(&section(b"12345678901234567890")).unwrap();
        assert_eq!(codes(&metadata), []);
        let metadata = read(&section(b"123456789012345678901")).unwrap();
        assert_eq!(codes(&metadata), [Code::BigInteger]);
    }

    #[test]
    fn invalid_json_is_available_as_text_but_not_parsed() {
        let metadata = read(&section(b"[NaN]")).unwrap();
        assert_eq!(metadata.text(), &b"[NaN]"[..]);
        let error = metadata.json().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Metadata(MetadataError::Json(_))), "{error}");
    }

    #[test]
    fn a_truncated_metadata_header_is_an_error_at_the_incomplete_field() {
        let error = MetaHeader::parse(&section(b"[1]")[..31], 32).unwrap_err();
        assert_eq!(error.offset(), Some(56));
    }
}
