//! What an archive may make its reader hold, count and write.

use crate::{ErrorKind, Result};

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident, $with:ident = $default:expr;)+) => {
        /// Limits that the caller hands to a reader or an extractor. Numbers in an archive are
        /// claims; 66 bytes of it can stand for a gigabyte on disk.
        ///
        /// ```
        /// use flux_archive::Limits;
        ///
        /// let limits = Limits::default().with_max_file_size(1 << 20);
        /// assert_eq!(limits.max_file_size, 1 << 20);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits { $($(#[doc = $doc])+ pub $name: u64,)+ }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Limits {
            $(#[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $with(mut self, limit: u64) -> Self {
                self.$name = limit;
                self
            })+
        }
    };
}

limits! {
    /// Bytes of JSON. Default: 1 TiB.
    max_json_bytes, with_max_json_bytes = 1 << 40;
    /// Entries of an archive. Default: 16 million.
    max_entries, with_max_entries = 1 << 24;
    /// Members of an entry, known or not. Default: 10,000.
    max_members, with_max_members = 10_000;
    /// Regions of a file. Default: 16 million.
    max_regions, with_max_regions = 1 << 24;
    /// Violations that are collected. A reader gives up at more errors than that, and only counts
    /// further warnings. Default: 10,000.
    max_violations, with_max_violations = 10_000;
    /// Bytes of a path. Default: 4095, as Linux has it.
    max_path_len, with_max_path_len = 4095;
    /// Components of a path. Default: 1000.
    max_path_depth, with_max_path_depth = 1000;
    /// Bytes of a symbolic link's target. Default: 4095.
    max_link_len, with_max_link_len = 4095;
    /// Bytes of a file, its holes included. Default: 16 TiB.
    max_file_size, with_max_file_size = 1 << 44;
    /// Bytes of all files together, their holes included. Default: 64 TiB.
    max_total_size, with_max_total_size = 1 << 46;
    /// Bytes that are written for all files together, holes not counted. Default: 1 TiB.
    max_materialized_bytes, with_max_materialized_bytes = 1 << 40;
}

/// Fails with [`ErrorKind::Limit`] when `requested` is above `limit`.
pub(crate) fn check(what: &'static str, limit: u64, requested: u64) -> Result<()> {
    if requested > limit {
        return Err(ErrorKind::Limit { what, limit, requested }.into());
    }
    Ok(())
}
