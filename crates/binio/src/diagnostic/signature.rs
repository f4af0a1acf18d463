//! Recognising files of other formats by their first bytes, to name them in messages.

/// Signatures of formats that compress a single file.
const COMPRESSED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"\xfd7zXZ\0", "an xz file"),
];

/// Signatures of other formats whose files are often stored next to files in our formats.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive"),
    (b"SIMPLE  =", "a FITS file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
];

/// Returns the kind of compressed file that starts with `bytes`, such as `a gzip file`, or `None`
/// if the bytes match no known signature.
///
/// ```
/// use binio::diagnostic::compression_by_signature;
///
/// assert_eq!(compression_by_signature(b"\x1f\x8b\x08"), Some("a gzip file"));
/// assert_eq!(compression_by_signature(b"PK\x03\x04"), None, "an archive of several files");
/// ```
pub fn compression_by_signature(bytes: &[u8]) -> Option<&'static str> {
    find(COMPRESSED, bytes)
}

/// Returns the kind of file that starts with `bytes`, compressed or not, such as `a FITS file`, or
/// `None` if the bytes match no known signature.
///
/// ```
/// use binio::diagnostic::kind_by_signature;
///
/// assert_eq!(kind_by_signature(b"\x1f\x8b\x08"), Some("a gzip file"));
/// assert_eq!(kind_by_signature(b"SIMPLE  =   T"), Some("a FITS file"));
/// assert_eq!(kind_by_signature(b"plain text"), None);
/// ```
pub fn kind_by_signature(bytes: &[u8]) -> Option<&'static str> {
    find(COMPRESSED, bytes).or_else(|| find(OTHERS, bytes))
}

fn find(table: &[(&[u8], &'static str)], bytes: &[u8]) -> Option<&'static str> {
    table.iter().find(|(signature, _)| bytes.starts_with(signature)).map(|&(_, kind)| kind)
}
