//! Checkpoints: the root of the keys at some time.

use serde::Deserialize;

use crate::model::BlobRef;

/// The root of all keys at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The blob of the root directory.
    pub root: BlobRef,
    /// How many times the root had changed.
    pub sequence: Option<u64>,
    /// The text of the checkpoint.
    pub text: String,
}

impl Checkpoint {
    /// Parses the text of a checkpoint: an object, or in old versions of Flux a blobref.
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
