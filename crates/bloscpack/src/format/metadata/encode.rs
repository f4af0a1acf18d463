//! Encoding the metadata section.
//!
//! The text is identical to what the original program writes: JSON without spaces, with the keys in
//! their original order and everything but printable ASCII escaped. Only very small floats
//! may be spelled differently, such as `1e-7` instead of `1e-07`. The compressed bytes depend on the
//! version of zlib.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use super::{CODEC_NONE, CODEC_ZLIB, MAGIC, MetaHeader};
use crate::Checksum;
use crate::error::{ErrorKind, Result};

/// The maximum length of the text in bytes. By default, readers have the same limit.
const MAX_TEXT: u64 = 16 << 20;

/// Options for storing metadata.
///
/// ```
/// use bloscpack::format::MetadataOptions;
///
/// let options = MetadataOptions::new().max_size(4096);
/// assert_eq!((options.compress, options.level), (true, 6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataOptions {
    /// The checksum of the payload. Default: adler32.
    pub checksum: Checksum,
    /// Whether to compress the text with zlib, unless this would make it larger. Default: yes.
    pub compress: bool,
    /// The compression level, 0 to 9. Default: 6.
    pub level: u8,
    /// The space reserved for the payload in bytes, so that larger metadata can be written later without moving the
    /// chunks. Default: ten times the length of the text.
    pub max_size: Option<u32>,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        Self { checksum: Checksum::Adler32, compress: true, level: 6, max_size: None }
    }
}

impl MetadataOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the checksum of the payload.
        checksum: Checksum;
        /// Sets whether to compress the text with zlib, unless this would make it larger.
        compress: bool;
        /// Sets the compression level, 0 to 9.
        level: u8;
        /// Sets the space reserved for the payload, in bytes.
        max_size: u32 => Some(max_size);
    }
}

impl MetaHeader {
    /// Returns the bytes of this header.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&self.magic);
        out[8..12].copy_from_slice(&[self.options, self.checksum.id(), self.codec, self.level]);
        for (field, size) in out[12..24].chunks_exact_mut(4).zip([
            self.meta_size,
            self.max_meta_size,
            self.meta_comp_size,
        ]) {
            field.copy_from_slice(&size.to_le_bytes());
        }
        out[24..].copy_from_slice(&self.user_codec);
        out
    }
}

/// Returns a value as JSON text.
pub(crate) fn to_text(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, Ascii));
    debug_assert!(written.is_ok(), "serialising a JSON value to memory cannot fail");
    text
}

/// Writes all non-ASCII characters and DEL as `\u` escapes of their UTF-16 code units. `serde_json`
/// itself escapes the other control characters.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for part in fragment.split_inclusive(|c| !matches!(c, ' '..='~')) {
            let plain = part.trim_end_matches(|c| !matches!(c, ' '..='~'));
            writer.write_all(plain.as_bytes())?;
            for unit in part[plain.len()..].encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Returns the complete metadata section for a text, including its header, payload, padding and
/// digest.
pub(crate) fn section(text: &[u8], options: &MetadataOptions) -> Result<Vec<u8>> {
    let header = MetaHeader {
        magic: MAGIC,
        options: 0,
        checksum: options.checksum,
        codec: CODEC_NONE,
        level: options.level,
        meta_size: 0,
        max_meta_size: 0,
        meta_comp_size: 0,
        user_codec: [0; 8],
    };
    header.section_of(text, options)
}

impl MetaHeader {
    /// Returns a metadata section with `text`, stored according to `options`. The header fields
    /// that do not depend on these two are copied from `self`.
    pub(crate) fn section_of(&self, text: &[u8], options: &MetadataOptions) -> Result<Vec<u8>> {
        if options.level > 9 {
            let message = format!("{}, expected 0 to 9", options.level);
            return Err(ErrorKind::InvalidOption { option: "meta_level", message }.into());
        }
        let requested = text.len() as u64;
        let meta_size = u32::try_from(requested).ok().filter(|_| requested <= MAX_TEXT);
        let meta_size = meta_size.ok_or({
            let what = "bytes of metadata";
            ErrorKind::Limit { what, limit: MAX_TEXT, requested }
        })?;
        let compressed = if options.compress { compress(text, options.level)? } else { Vec::new() };
        // Prefer the compressed text if both have the same length.
        let (codec, payload) = if options.compress && compressed.len() <= text.len() {
            (CODEC_ZLIB, &compressed[..])
        } else {
            (CODEC_NONE, text)
        };
        let max_meta_size = options.max_size.unwrap_or(meta_size.saturating_mul(10));
        let meta_comp_size = match u32::try_from(payload.len()) {
            Ok(len) if len <= max_meta_size => len,
            _ => {
                let (needed, available) = (payload.len() as u64, max_meta_size.into());
                let what = "bytes of metadata";
                return Err(ErrorKind::NotEnoughSpace { what, needed, available }.into());
            }
        };
        let header = Self {
            checksum: options.checksum,
            codec,
            level: options.level,
            meta_size,
            max_meta_size,
            meta_comp_size,
            ..self.clone()
        };
        let mut section = header.encode().to_vec();
        section.extend_from_slice(payload);
        section.resize(Self::LEN + max_meta_size as usize, 0);
        section.extend(options.checksum.compute(payload));
        Ok(section)
    }
}

fn compress(text: &[u8], level: u8) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level.into()));
    encoder.write_all(text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        String::from_utf8(to_text(value)).unwrap()
    }

    #[test]
    fn the_metadata_text_matches_the_output_of_python() {
        // The expected text was printed by json.dumps(value, separators=(",", ":")).
        assert_eq!(
            text(
                &json!({"z": [1, -2.5, true, null], "a": "\u{e9}\u{1f600}x\"\\/\n\u{1f}\u{7f}~ "})
            ),
            r#"{"z":[1,-2.5,true,null],"a":"\u00e9\ud83d\ude00x\"\\/\n\u001f\u007f~ "}"#
        );
        assert_eq!(text(&json!({"\u{fc}": {}, "": []})), r#"{"\u00fc":{},"":[]}"#);
    }

    #[test]
    fn an_uncompressed_section_matches_the_output_of_the_original_program() {
        // The expected section was written by the original program with meta_codec "None".
        let options = MetadataOptions { compress: false, ..MetadataOptions::default() };
        let section = section(br#"{"a":1}"#, &options).unwrap();
        let mut expected = b"JSON\0\0\0\0\x00\x01\x00\x06".to_vec();
        expected.extend([7, 0, 0, 0, 70, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend(br#"{"a":1}"#);
        expected.extend([0; 63]);
        expected.extend(Checksum::Adler32.compute(br#"{"a":1}"#));
        assert_eq!(section, expected);
    }

    #[test]
    fn text_that_zlib_would_enlarge_is_stored_uncompressed_but_keeps_the_requested_level() {
        let stored = section(b"[1]", &MetadataOptions::default()).unwrap();
        assert_eq!((stored[10], stored[11], &stored[32..35]), (0, 6, &b"[1]"[..]));
        let long = format!("[{}1]", "1,".repeat(500));
        let stored = section(long.as_bytes(), &MetadataOptions::default()).unwrap();
        assert_eq!((stored[10], stored[11]), (1, 6));
        assert_eq!(stored.len(), 32 + 10 * long.len() + 4);
    }

    #[test]
    fn the_payload_must_fit_into_max_size() {
        let options = MetadataOptions { max_size: Some(3), ..MetadataOptions::default() };
        assert_eq!(section(b"[1]", &options).unwrap().len(), 32 + 3 + 4);
        let error = section(b"[11]", &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { needed: 4, available: 3, .. }));
    }

    #[test]
    fn the_compression_level_and_the_length_of_metadata_are_limited() {
        let options = MetadataOptions { level: 10, ..MetadataOptions::default() };
        let error = section(b"[1]", &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidOption { option: "meta_level", .. }));
        let long = vec![b' '; 16 << 20];
        assert!(section(&long, &MetadataOptions::default()).is_ok());
        let long = vec![b' '; (16 << 20) + 1];
        let error = section(&long, &MetadataOptions::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { limit: 16_777_216, .. }));
    }

    #[test]
    fn encoded_metadata_is_read_back_with_every_checksum() {
        for checksum in Checksum::ALL {
            let options = MetadataOptions { checksum, ..MetadataOptions::default() };
            let section = section(br#"{"key":"value"}"#, &options).unwrap();
            let header = MetaHeader::parse(&section[..32], 0).unwrap();
            assert_eq!(header.section_len(), section.len() as u64);
            let metadata = super::super::Metadata::read(&section, &header, 0, 1 << 20).unwrap();
            assert_eq!(metadata.json().unwrap(), json!({"key": "value"}));
        }
    }
}
