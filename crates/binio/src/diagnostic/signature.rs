//! What a file is that is not of the format that was expected.

/// Signatures of files that users have beside those that this project reads.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"SIMPLE  =", "a FITS file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
];

/// The kinds of files that are another file once they are decompressed.
const COMPRESSED: [&str; 4] = ["a gzip file", "a bzip2 file", "a Zstandard file", "an xz file"];

/// Returns `true` if a kind of [`kind_by_signature`] is a compressed file, which contains another one.
pub fn is_compressed_kind(kind: &str) -> bool {
    COMPRESSED.contains(&kind)
}

/// What a file is by its first bytes, for messages: `a gzip file`.
///
/// ```
/// assert_eq!(binio::diagnostic::kind_by_signature(b"\x1f\x8b\x08"), Some("a gzip file"));
/// assert_eq!(binio::diagnostic::kind_by_signature(b"plain text"), None);
/// ```
pub fn kind_by_signature(begin: &[u8]) -> Option<&'static str> {
    let known = SIGNATURES.iter().find(|(signature, _)| begin.starts_with(signature));
    known.map(|(_, kind)| *kind)
}
