//! Tags of the ASDF core schemas.

/// A value with a name, whose content stands for it.
pub(crate) const CONSTANT: &str = "tag:stsci.edu:asdf/core/constant-1.0.0";
