//! Checkpoints: the root of the keys at a point in time.

use serde::Deserialize;

use crate::model::BlobRef;

/// The root of all keys at a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The blob of the root directory.
    pub root: BlobRef,
    /// The number of changes of the root up to this checkpoint.
    pub sequence: Option<u64>,
    /// The text of the checkpoint.
    pub text: String,
}

impl Checkpoint {
    /// Parses the text of a checkpoint, which is an object, or a blobref in old versions of Flux.
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Value {
            rootref: String,
            sequence: Option<u64>,
        }
        let plain = Value { rootref: text.trim().to_owned(), sequence: None };
        let value: Value = serde_json::from_str(text).unwrap_or(plain);
        let root = BlobRef::parse(&value.rootref).ok()?;
        Some(Self { root, sequence: value.sequence, text: text.to_owned() })
    }
}
