//! Deviations of an archive from RFC 37. Each deviation has a code, a severity, a message and a
//! location.
//!
//! The default severity of each code follows from the text of RFC 37. A
//! [`Profile`](crate::Profile) can lower it.

use serde::{Serialize, Serializer};

pub use binio::diagnostic::{Place, Severity};

/// A deviation of an archive from RFC 37.
///
/// The `place` of a diagnostic about an entry contains the path of the entry as written, and a JSON Pointer (RFC 6901)
/// from the root of the document. The path is omitted if it is missing, not a valid string, or longer than
/// [`Limits::max_path_len`](crate::Limits::max_path_len).
///
/// If the document consists of consecutive objects, the objects are numbered from 0, as if they were in an array.
///
/// [`Archive::verify`](crate::Archive::verify) adds diagnostics about stored blobs and disallowed hashes. They contain
/// the normalised path, also as the key of a dict in the pointer.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. Their names and numbers are stable.
    pub enum Code {
        /// The document is not JSON.
        NotJson = "R100": Error;
        /// The container is not an array or object of entries.
        Container = "R101": Error;
        /// An entry is not an object.
        EntryType = "R102": Error;
        /// The path is missing, not a string, or a string with an unpaired surrogate.
        PathType = "R103": Error;
        /// `mode` is missing or not an unsigned 32-bit integer.
        ModeType = "R104": Error;
        /// An entry in a dict has a member `path`, which overrides the key.
        PathInDict = "R105": Error;
        /// A member of an entry or a key of a dict occurs twice; the last one is used.
        DuplicateKey = "R106": Error;
        /// A path occurs twice; the last entry is used.
        DuplicatePath = "R107": Error;
        /// `mtime` or `ctime` is not a 64-bit integer.
        TimeType = "R108": Error;
        /// The path contains a `..` component or a NUL, or has no component other than `.`.
        UnsafePath = "R110": Error;
        /// The path contains a `.` component, contains `//` after its first component, or ends in
        /// `/`. It is normalised.
        UntidyPath = "R111": Error;
        /// The path begins with `/`, which is removed.
        AbsolutePath = "R112": Error;
        /// An entry is below a file or symbolic link of the archive, or a directory has the same path as a file or
        /// link.
        BelowNoDirectory = "R113": Error;
        /// `mode` is not the mode of a regular file, directory or symbolic link.
        FileType = "R120": Error;
        /// `size` is missing.
        SizeMissing = "R130": Error;
        /// `size` is smaller than the data.
        SizeBelowData = "R131": Error;
        /// `size` is larger than the data, so zeros follow the data.
        SizeAboveData = "R132": Error;
        /// `size` is negative, not an integer, or does not fit into 63 bits.
        SizeType = "R133": Error;
        /// The entry has a `size`, `encoding` or `data` that is meaningless for its type or
        /// content.
        NeedlessMember = "R134": Error;
        /// `encoding` is not a string, or names an unknown encoding.
        Encoding = "R140": Error;
        /// The entry has an `encoding` but no `data`.
        DataMissing = "R141": Error;
        /// `data` has the wrong JSON type for the encoding, or is a string with an unpaired
        /// surrogate.
        DataType = "R142": Error;
        /// The text contains a NUL, so Flux cannot read the archive.
        TextWithNul = "R143": Warning;
        /// The base64 has too little or too much padding, or nonzero unused bits.
        UntidyBase64 = "R144": Error;
        /// The data is not base64.
        Base64 = "R145": Error;
        /// A region does not consist of offset, size and blobref, or ends after the end of the
        /// file, or at an offset that does not fit into 63 bits.
        Region = "R150": Error;
        /// Regions are out of order, overlap, have length 0, or have extra members.
        UntidyRegions = "R151": Error;
        /// A blobref is malformed.
        BlobRef = "R152": Error;
        /// A blobref has an unknown hash.
        UnknownHash = "R153": Error;
        /// A blob is larger than 1 MiB, or a blobref contains upper-case digits.
        UntidyBlob = "R154": Warning;
        /// A blob is missing, or the store cannot read it.
        BlobMissing = "R155": Error;
        /// A blob does not have the length of its region.
        BlobLength = "R156": Error;
        /// The digest of a blob does not match its blobref, or the stored bytes cannot be the blob,
        /// for example because they cannot be decoded.
        BlobDigest = "R157": Error;
        /// A blobref uses a hash that the caller does not allow.
        HashRejected = "R158": Error;
        /// The target of a symbolic link is missing, empty or not a string, or contains a NUL or an
        /// unpaired surrogate.
        LinkTarget = "R160": Error;
        /// The entry is in the dialect that Flux used before RFC 37.
        OldDialect = "R170": Error;
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
