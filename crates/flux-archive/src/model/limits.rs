//! Limits on the memory and output that an archive may require.

binio::limits! {
    /// Limits for reading or extracting an archive. The numbers in an archive cannot be trusted: a
    /// region takes up about 100 bytes in the document, but its blob may need a gigabyte on disk.
    ///
    /// ```
    /// use flux_archive::Limits;
    ///
    /// let limits = Limits::default().max_file_size(1 << 20);
    /// assert_eq!(limits.max_file_size, 1 << 20);
    /// ```
    pub struct Limits {
        /// The maximum length of the JSON document in bytes. Default: 1 TiB.
        max_json_bytes: u64 = 1 << 40;
        /// The maximum number of entries in an archive. Default: 16,777,216.
        max_entries: u64 = 1 << 24;
        /// The maximum number of members of an entry, including unknown members. Default: 10,000.
        max_members: u64 = 10_000;
        /// The maximum number of regions of a file. Default: 16,777,216.
        max_regions: u64 = 1 << 24;
        /// The maximum number of errors to collect, and also the maximum number of warnings. Parsing fails if there are
        /// more errors, but only counts further warnings. [`OpenOptions::lint`](crate::OpenOptions::lint) fails if
        /// there are more errors and warnings together. Default: 10,000.
        max_diagnostics: u64 = 10_000;
        /// The maximum length of a path in bytes. Default: 4095, as on Linux.
        max_path_len: u64 = 4095;
        /// The maximum number of components of a path. Default: 1000.
        max_path_depth: u64 = 1000;
        /// The maximum length of a symbolic link's target in bytes. Default: 4095.
        max_link_len: u64 = 4095;
        /// The maximum size of a file in bytes, including its holes. Default: 16 TiB.
        max_file_size: u64 = 1 << 44;
        /// The maximum size of all files together in bytes, including their holes. Default: 64 TiB.
        max_total_size: u64 = 1 << 46;
        /// The maximum number of bytes to write for all files together, not counting holes. Default: 1 TiB.
        max_materialized_bytes: u64 = 1 << 40;
    }
}
