//! Keys and their values, as written in the document.

use crate::json::{Json, Text};

/// A member of an entry, as written in the document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Member<'a> {
    /// The key, a JSON string.
    pub key: Json<'a>,
    /// The value, which can be any JSON.
    pub value: Json<'a>,
}

impl Member<'_> {
    /// Returns `true` if the member has this key, compared after decoding its escapes.
    pub fn is(&self, name: &str) -> bool {
        match self.key.plain_string() {
            Some(key) => key == name,
            None => Text::from_json(&self.key).is_ok_and(|key| key.decode() == name),
        }
    }
}
