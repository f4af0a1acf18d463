//! Errors from visitors. Their positions are added while the errors are passed up to the caller.

use std::fmt;

use serde::de;

use crate::error::{Error, ErrorKind};
use crate::yaml::YamlNode;

/// Maximum length of a message in characters. Without a limit, a message could quote the text of a node in full.
const MAX_MESSAGE: usize = 300;

/// Maximum length in bytes of a pointer in an error.
const MAX_POINTER: usize = 1 << 10;

#[derive(Debug)]
pub(super) enum Failure {
    /// A message without a position. A caller will add the position.
    Unplaced(String),
    Placed(Error),
}

impl Failure {
    pub(super) fn at_node(node: YamlNode<'_>, message: impl Into<String>) -> Self {
        Self::Placed(node.error(message))
    }

    /// Adds the position of a node, unless the error already has one.
    pub(super) fn at(self, node: YamlNode<'_>) -> Self {
        match self {
            Self::Unplaced(message) => Self::at_node(node, message),
            Self::Placed(_) => self,
        }
    }

    /// Like [`Self::at`], but for a key. A key has the same pointer as its value.
    pub(super) fn at_key(self, mapping: YamlNode<'_>, key: YamlNode<'_>) -> Self {
        let Self::Unplaced(message) = self else { return self };
        let pointer = mapping.to_pointer().zip(key.to_key().ok()).map(|(mut pointer, key)| {
            binio::pointer::push(&mut pointer, &key);
            pointer
        });
        let pointer = pointer.filter(|pointer| pointer.len() <= MAX_POINTER);
        let place = key.position();
        let (line, column) = (place.line, place.column);
        let kind = ErrorKind::Yaml { message, pointer, line, column };
        Self::Placed(Error::new(kind).at(place.offset))
    }

    pub(super) fn into_error(self, node: YamlNode<'_>) -> Error {
        match self {
            Self::Unplaced(message) => node.error(message),
            Self::Placed(error) => error,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unplaced(message) => f.write_str(message),
            Self::Placed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let mut message = message.to_string();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
            message.truncate(end);
            message.push_str("..");
        }
        Self::Unplaced(message)
    }
}
