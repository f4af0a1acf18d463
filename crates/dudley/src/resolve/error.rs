//! Why a layout gives no addresses.

use std::sync::Arc;

use thiserror::Error;

use crate::diagnostic::{Code, Diagnostic};
use crate::signature::SignatureError;
use crate::source::Source;

/// Why a layout gives no addresses. `Display` shows the place in the layout.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// With these values, or in this stream, a declaration has no meaning.
    #[error("{}", .0.render(.1))]
    Layout(Box<Diagnostic>, Arc<Source>),
    /// The stream cannot be read.
    #[error(transparent)]
    Read(#[from] binio::Error),
    /// The signature of a native file is damaged.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl ResolveError {
    /// What is wrong, when it is the layout with its values.
    pub fn code(&self) -> Option<Code> {
        self.diagnostic().map(|diagnostic| diagnostic.code)
    }

    /// The same in full.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Layout(diagnostic, _) => Some(diagnostic),
            Self::Read(_) | Self::Signature(_) => None,
        }
    }
}
