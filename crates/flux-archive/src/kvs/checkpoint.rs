//! Checkpoints, which refer to the root of all keys at a point in time.

use serde::Deserialize;

use crate::model::BlobRef;

/// A reference to the root of all keys at a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The name of the blob that contains the root directory.
    pub root: BlobRef,
    /// The number of times that the root had changed before this checkpoint, or `None` if the
    /// checkpoint does not contain this number, as in the old format.
    pub sequence: Option<u64>,
    /// The text of the checkpoint, as stored by Flux.
    pub text: String,
}

impl Checkpoint {
    /// Parses the text of a checkpoint, which is a JSON object or, in old versions of Flux, a
    /// blobref. In an object, the blobref is the member `rootref`. Returns `None` if the blobref is
    /// missing or invalid, or if the object is not valid JSON or has an invalid `sequence`.
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Value {
            rootref: String,
            sequence: Option<u64>,
        }
        let trimmed = text.trim();
        let value = if trimmed.starts_with('{') {
            serde_json::from_str(trimmed).ok()?
        } else {
            Value { rootref: trimmed.to_owned(), sequence: None }
        };
        let root = BlobRef::parse(&value.rootref).ok()?;
        Some(Self { root, sequence: value.sequence, text: text.to_owned() })
    }
}
