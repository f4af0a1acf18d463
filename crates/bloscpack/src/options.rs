//! How to read a file: strictness, limits, checks.

/// What to do about a file that is not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Read what can be read for certain, and report the rest.
    #[default]
    Lenient,
    /// Refuse what the format does not allow.
    Strict,
}

/// When to check the digest of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Before a chunk is decoded for the first time.
    #[default]
    OnRead,
    /// Only when it is asked for.
    Never,
}

/// Which order of the chunks holds, where the offsets say another than the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkOrder {
    /// Neither: such a file is refused, since nobody can tell what it holds.
    #[default]
    Unambiguous,
    /// That of the offsets, as the format's first description has it.
    Offsets,
    /// That of the chunks in the file, as the original reads it.
    File,
}
