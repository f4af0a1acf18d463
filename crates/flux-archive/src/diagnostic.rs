//! Where an archive differs from RFC 37: code, severity, message and place.
//!
//! The severity of a code is that of the text of RFC 37. What a reader makes of it depends on the
//! [`Profile`](crate::Profile): it may accept what RFC 37 does not allow.

use serde::{Serialize, Serializer};

pub use binio::diagnostic::{Place, Severity};

/// One place where an archive differs from RFC 37.
///
/// Its `place` has the path of the entry as written, and a JSON Pointer (RFC 6901) from the root of
/// the document. Objects that follow each other without an array are counted from 0, as if they were
/// in one.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. Names and numbers are stable.
    pub enum Code {
        /// The document is not JSON.
        NotJson = "R100": Error;
        /// The container is not an array or object of entries.
        Container = "R101": Error;
        /// An entry is not an object.
        EntryType = "R102": Error;
        /// `path` is missing or not a string.
        PathType = "R103": Error;
        /// `mode` is missing or not an integer of 32 bits.
        ModeType = "R104": Error;
        /// `path` in an entry of a dict; it overrides the key.
        PathInDict = "R105": Error;
        /// A JSON key occurs twice; the last one is used.
        DuplicateKey = "R106": Error;
        /// A path occurs twice; the last entry is used.
        DuplicatePath = "R107": Error;
        /// `mtime` or `ctime` is not an integer of 64 bits.
        TimeType = "R108": Error;
        /// A `..` component, a NUL, or an empty path.
        UnsafePath = "R110": Error;
        /// A `.` component, `//`, or a `/` at the end; they are dropped.
        UntidyPath = "R111": Error;
        /// A `/` at the start; it is dropped.
        AbsolutePath = "R112": Error;
        /// An entry below a file or symbolic link of the archive, or a directory with the path of one.
        BelowNoDirectory = "R113": Error;
        /// `mode` is not that of a regular file, directory or symbolic link.
        FileType = "R120": Error;
        /// `size` is missing.
        SizeMissing = "R130": Error;
        /// `size` is smaller than the data.
        SizeBelowData = "R131": Error;
        /// `size` is larger than the data; zeros follow.
        SizeAboveData = "R132": Error;
        /// `size` is negative, not an integer, or longer than 63 bits.
        SizeType = "R133": Error;
        /// `size`, `encoding` or `data` where they have no meaning.
        NeedlessMember = "R134": Error;
        /// `encoding` is unknown or not a string.
        Encoding = "R140": Error;
        /// `encoding` without `data`.
        DataMissing = "R141": Error;
        /// `data` has the wrong JSON type for the encoding, or is a string that is not Unicode.
        DataType = "R142": Error;
        /// Text with a NUL: Flux cannot read the archive.
        TextWithNul = "R143": Warning;
        /// Base64 without its padding, or with unused bits that are not zero.
        UntidyBase64 = "R144": Error;
        /// Not base64.
        Base64 = "R145": Error;
        /// A region is not offset, size and blobref, or ends after the file.
        Region = "R150": Error;
        /// Regions out of order, overlapping, of length 0, or with extra members.
        UntidyRegions = "R151": Error;
        /// A blobref is malformed.
        BlobRef = "R152": Error;
        /// A blobref has an unknown hash.
        UnknownHash = "R153": Error;
        /// A blob above 1 MiB, or a blobref in upper case.
        UntidyBlob = "R154": Warning;
        /// A blob is missing.
        BlobMissing = "R155": Error;
        /// A blob does not have the length of its region.
        BlobLength = "R156": Error;
        /// A blob does not have the digest of its blobref.
        BlobDigest = "R157": Error;
        /// A blob is named by a hash that the caller refuses.
        HashRefused = "R158": Error;
        /// The target of a symbolic link is missing, empty or not a string.
        LinkTarget = "R160": Error;
        /// The dialect before RFC 37.
        OldDialect = "R170": Error;
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
