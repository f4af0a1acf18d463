//! The supported compressions, with their names and levels.

use std::fmt;
use std::str::FromStr;

/// The compression of a block's data.
///
/// The standard defines `zlib` and `bzp2` ("Low-level file layout", Compression). The other codes
/// were introduced by individual programs, and not all readers support them.
///
/// ```
/// use asdf::Compression;
///
/// assert_eq!("zlib:9".parse(), Ok(Compression::Zlib(9)));
/// assert_eq!("lz4".parse(), Ok(Compression::Lz4));
/// assert_eq!(Compression::Bzip2(9).to_string(), "bzp2:9");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// A zlib stream with a level from 0 to 9.
    Zlib(u8),
    /// A bzip2 stream with a level from 1 to 9.
    Bzip2(u8),
    /// LZ4 blocks in chunks. Compression and decompression are fast.
    Lz4,
    /// An LZ4 frame (feature `lz4f`).
    Lz4Frame,
    /// A Zstandard frame with a level from 1 to 22 (feature `zstd`).
    Zstd(u8),
    /// A single Blosc buffer, which can hold less than 2 GiB of data. The data is shuffled, and then
    /// compressed with LZ4 at a level from 1 to 9 (feature `blsc`). This is the framing of
    /// `asdf-compression`, asdf-cxx and `ASDF.jl`.
    Blosc(u8),
    /// Like [`Blosc`](Self::Blosc), but with one buffer for every 4 MiB of data. Each buffer is
    /// preceded by its length. This is the framing of the Abacus simulations and of `abacusutils`.
    /// Both framings have the code `blsc`.
    BloscChunked(u8),
}

/// The names of the compressions, with their default levels and ranges of levels.
const NAMES: [(&str, u8, std::ops::RangeInclusive<u8>); 8] = [
    ("none", 0, 0..=0),
    ("zlib", 6, 0..=9),
    ("bzp2", 9, 1..=9),
    ("lz4", 0, 0..=0),
    ("lz4f", 0, 0..=0),
    ("zstd", 3, 1..=22),
    ("blsc", 5, 1..=9),
    ("blsc-chunked", 5, 1..=9),
];

impl Compression {
    /// Returns the four bytes that identify the compression in a block header.
    pub fn code(self) -> [u8; 4] {
        match self {
            Self::None => [0; 4],
            Self::Zlib(_) => *b"zlib",
            Self::Bzip2(_) => *b"bzp2",
            Self::Lz4 => *b"lz4\0",
            Self::Lz4Frame => *b"lz4f",
            Self::Zstd(_) => *b"zstd",
            Self::Blosc(_) | Self::BloscChunked(_) => *b"blsc",
        }
    }

    /// Returns the level, if the compression has levels.
    pub(crate) fn level(self) -> Option<u8> {
        self.parts().1
    }

    fn parts(self) -> (&'static str, Option<u8>) {
        match self {
            Self::None => ("none", None),
            Self::Zlib(level) => ("zlib", Some(level)),
            Self::Bzip2(level) => ("bzp2", Some(level)),
            Self::Lz4 => ("lz4", None),
            Self::Lz4Frame => ("lz4f", None),
            Self::Zstd(level) => ("zstd", Some(level)),
            Self::Blosc(level) => ("blsc", Some(level)),
            Self::BloscChunked(level) => ("blsc-chunked", Some(level)),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (code, None) => f.write_str(code),
            (code, Some(level)) => write!(f, "{code}:{level}"),
        }
    }
}

/// The error for text that cannot be parsed as a compression, because the name is unknown or the
/// level is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseCompressionError(String);

impl FromStr for Compression {
    type Err = ParseCompressionError;

    fn from_str(text: &str) -> Result<Self, ParseCompressionError> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let Some((_, default, levels)) = NAMES.iter().find(|(code, ..)| *code == name) else {
            let names: Vec<&str> = NAMES.iter().map(|(code, ..)| *code).collect();
            let message = format!("expected one of {}, found {name:?}", names.join(", "));
            return Err(ParseCompressionError(message));
        };
        let level = match level.map(|level| (level, level.parse().ok())) {
            None => *default,
            Some((_, Some(level))) if levels.contains(&level) && levels.end() > &0 => level,
            Some(_) if levels.end() == &0 => {
                return Err(ParseCompressionError(format!(
                    "the compression {name} has no levels, but a level is given"
                )));
            }
            Some((level, _)) => {
                let (low, high) = (levels.start(), levels.end());
                let message = format!("expected a level from {low} to {high}, found {level:?}");
                return Err(ParseCompressionError(message));
            }
        };
        Ok(match name {
            "zlib" => Self::Zlib(level),
            "bzp2" => Self::Bzip2(level),
            "lz4" => Self::Lz4,
            "lz4f" => Self::Lz4Frame,
            "zstd" => Self::Zstd(level),
            "blsc" => Self::Blosc(level),
            "blsc-chunked" => Self::BloscChunked(level),
            _ => Self::None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_names_round_trip_and_invalid_names_or_levels_are_rejected() {
        for text in [
            "none",
            "zlib:0",
            "zlib:9",
            "bzp2:1",
            "lz4",
            "lz4f",
            "zstd:22",
            "blsc:5",
            "blsc-chunked:9",
        ] {
            assert_eq!(text.parse::<Compression>().unwrap().to_string(), text);
        }
        for text in
            ["", "gzip", "zlib:10", "zlib:", "zlib:x", "bzp2:0", "lz4:1", "none:0", "zstd:0"]
        {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
    }
}
