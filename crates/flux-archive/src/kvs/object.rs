//! The objects that make up the key-value store: directories, values and links.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::invalid;
use crate::error::KvsError;

/// An object of the key-value store.
#[derive(Deserialize)]
pub(super) struct Object {
    #[serde(rename = "type")]
    pub(super) kind: String,
    data: Box<RawValue>,
}

impl Object {
    pub(super) fn parse(key: &str, json: &[u8]) -> Result<Self, KvsError> {
        serde_json::from_slice(json)
            .map_err(|error| invalid(key, &format!("expected a key-value object: {error}")))
    }

    pub(super) fn data_as<'d, T: Deserialize<'d>>(&'d self, key: &str) -> Result<T, KvsError> {
        let kind = &self.kind;
        serde_json::from_str(self.data.get()).map_err(|error| {
            invalid(key, &format!("invalid data in an object of type {kind:?}: {error}"))
        })
    }

    /// Returns the names and objects in a directory.
    pub(super) fn entries(&self, key: &str) -> Result<Vec<(String, Box<RawValue>)>, KvsError> {
        if self.kind != "dir" {
            return Err(KvsError::Type { key: key.to_owned(), expected: "a directory" });
        }
        Ok(self.data_as::<Members>(key)?.0)
    }

    pub(super) fn link_target(&self, key: &str) -> Result<String, KvsError> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Link {
            Plain(String),
            Full { target: String },
        }
        match self.data_as(key)? {
            Link::Plain(target) | Link::Full { target } => Ok(target),
        }
    }
}

/// The members of a JSON object, in order. They are kept in a list, because a map would need at
/// least as much memory.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}
