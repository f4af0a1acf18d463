//! What an archive may make its reader hold, count and write.

binio::limits! {
    /// Limits that the caller hands to a reader or an extractor. Numbers in an archive are claims;
    /// an archive of 66 bytes can stand for a gigabyte on disk.
    ///
    /// ```
    /// use flux_archive::Limits;
    ///
    /// let limits = Limits::default().max_file_size(1 << 20);
    /// assert_eq!(limits.max_file_size, 1 << 20);
    /// ```
    pub struct Limits {
        /// Bytes of JSON. Default: 1 TiB.
        max_json_bytes: u64 = 1 << 40;
        /// Entries of an archive. Default: 16 million.
        max_entries: u64 = 1 << 24;
        /// Members of an entry, known or not. Default: 10,000.
        max_members: u64 = 10_000;
        /// Regions of a file. Default: 16 million.
        max_regions: u64 = 1 << 24;
        /// Diagnostics that are collected. With more errors than that a reader fails; further
        /// warnings are only counted. Default: 10,000.
        max_diagnostics: u64 = 10_000;
        /// Bytes of a path. Default: 4095, as on Linux.
        max_path_len: u64 = 4095;
        /// Components of a path. Default: 1000.
        max_path_depth: u64 = 1000;
        /// Bytes of the target of a symbolic link. Default: 4095.
        max_link_len: u64 = 4095;
        /// Bytes of a file, its holes included. Default: 16 TiB.
        max_file_size: u64 = 1 << 44;
        /// Bytes of all files together, their holes included. Default: 64 TiB.
        max_total_size: u64 = 1 << 46;
        /// Bytes that are written for all files together, holes not included. Default: 1 TiB.
        max_materialized_bytes: u64 = 1 << 40;
    }
}
