//! Reads arbitrary bytes as a metadata section, and as the plain or compressed payload of a section
//! without a checksum.

#![no_main]

use bloscpack::Reader;
use libfuzzer_sys::fuzz_target;

/// Creates a file with the given metadata section and one empty chunk.
fn file(section: &[u8]) -> Vec<u8> {
    let mut bytes =
        b"blpk\x03\x02\0\x01\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(section);
    bytes.extend_from_slice(b"\x02\x01\x13\x08\0\0\0\0\x01\0\0\0\x10\0\0\0");
    bytes
}

/// Creates a section without a checksum. Its header states `meta_size` as the length of the text.
fn section(payload: &[u8], codec: u8, meta_size: u32) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("inputs are short").to_le_bytes();
    let mut bytes = b"JSON\0\0\0\0\0\0".to_vec();
    bytes.extend([codec, 6]);
    bytes.extend([meta_size.to_le_bytes(), len, len].concat());
    bytes.extend([0; 8]);
    bytes.extend_from_slice(payload);
    bytes
}

fuzz_target!(|data: &[u8]| {
    // The seeds are whole files, in which the section follows the header.
    let data = data.strip_prefix(b"blpk").and_then(|rest| rest.get(28..)).unwrap_or(data);
    let len = u32::try_from(data.len()).expect("inputs are short");
    let inflated = data.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    for section in [data.to_vec(), section(data, 0, len), section(data, 1, inflated)] {
        let Ok(reader) = Reader::from_bytes(file(&section)) else { continue };
        let Ok(Some(metadata)) = reader.metadata() else { continue };
        assert_eq!(metadata.text().len() as u64, u64::from(metadata.header().meta_size));
        if let Ok(value) = metadata.json() {
            let again = serde_json::from_slice::<serde_json::Value>(value.to_string().as_bytes());
            assert_eq!(again.expect("JSON"), value);
        }
    }
});
