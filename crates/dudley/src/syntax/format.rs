//! Formatting, to come.
