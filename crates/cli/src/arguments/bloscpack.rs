//! The arguments of `scibin bloscpack`.

use std::path::PathBuf;
use std::str::FromStr;

use binio::blosc::{Compressor, Shuffle};
use bloscpack::{Checksum, ChunkSize};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{Files, GetRequest, examples};

#[derive(Debug, Args)]
pub(crate) struct Bloscpack {
    #[command(subcommand)]
    pub(crate) command: BloscpackCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BloscpackCommand {
    /// Pack a file, or the array in a .npy file
    #[command(visible_aliases = ["compress", "c"])]
    #[command(mut_arg("typesize", |argument| {
        argument.help("Size of an element in bytes, 1 to 255 [default: 8, or the element size of the array]")
    }))]
    #[command(mut_arg("shuffle", |argument| argument.help("How to shuffle the data before compression [default: byte]")))]
    #[command(mut_arg("codec", |argument| argument.help("Codec [default: blosclz]")))]
    #[command(after_long_help = examples(&[
        "scibin bloscpack pack data.npy",
        "scibin bloscpack pack -c zstd -z 4M data.bin -o packed.blp",
        "tar c folder | scibin bloscpack pack - -o folder.tar.blp",
    ]))]
    Pack(Pack),
    /// Unpack the data to plain bytes, or the array to a .npy file
    #[command(visible_aliases = ["decompress", "d"])]
    #[command(after_long_help = examples(&[
        "scibin bloscpack unpack data.npy.blp",
        "scibin bloscpack unpack data.blp --range 0..4096 -o -",
        "scibin bloscpack unpack data.blp --chunks 2..4 -o part.bin",
    ]))]
    Unpack(Unpack),
    /// Append data to a file
    #[command(visible_alias = "a")]
    #[command(after_long_help = examples(&[
        "scibin bloscpack append data.blp more.bin",
        "scibin bloscpack append --axis0 data.npy.blp rows.npy",
    ]))]
    Append(Append),
    /// Show the header, chunks, codecs, compression ratio, metadata and array
    #[command(visible_alias = "i")]
    #[command(mut_arg("files", |argument| argument.help("The Bloscpack files, or \"-\" for standard input")))]
    #[command(after_long_help = examples(&["scibin bloscpack info data.blp"]))]
    Info {
        #[command(flatten)]
        files: Files,
        /// List every chunk
        #[arg(long = "list-chunks", alias = "chunks")]
        chunks: bool,
        #[command(flatten)]
        opening: Opening,
    },
    /// Check the header, offsets, metadata, array, and the digest and data of every chunk
    #[command(mut_arg("files", |argument| argument.help("The Bloscpack files, or \"-\" for standard input")))]
    #[command(after_long_help = examples(&[
        "scibin bloscpack verify *.blp",
        "scibin bloscpack verify --quick data.blp",
    ]))]
    Verify {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        verifying: Verifying,
    },
    /// Print or extract the array, a part of it, or a value from the metadata
    #[command(mut_arg("pointer", |argument| {
        argument.help("JSON Pointer into the metadata, such as /unit; \"\" selects all metadata [default: the array]")
    }))]
    #[command(after_long_help = examples(&[
        "scibin bloscpack get data.npy.blp --slice 0:10",
        "scibin bloscpack get data.blp /unit",
    ]))]
    Get {
        #[command(flatten)]
        request: GetRequest,
        #[command(flatten)]
        reading: Reading,
    },
    /// Write the unpacked data to standard output
    #[command(after_long_help = examples(&["scibin bloscpack cat data.blp --range 0..100"]))]
    Cat(Cat),
    /// Save the intact chunks of a damaged file to a new file; by default, only those before the
    /// first damaged chunk
    #[command(after_long_help = examples(&[
        "scibin bloscpack recover broken.blp -o whole.blp",
        "scibin bloscpack recover --fill-zeros broken.blp -o whole.blp",
    ]))]
    Recover(Recover),
    /// Read and edit the metadata
    #[command(after_long_help = examples(&[
        "scibin bloscpack meta get data.blp",
        "scibin bloscpack meta set data.blp /unit '\"K\"'",
    ]))]
    Meta {
        #[command(subcommand)]
        command: MetaCommand,
    },
    /// Rewrite a file in another version of the format or with another checksum; chunks are copied
    /// unchanged
    #[command(after_long_help = examples(&[
        "scibin bloscpack convert old.blp -o new.blp",
        "scibin bloscpack convert a.blp -k crc32 -o b.blp",
    ]))]
    Convert(Convert),
    /// Try each codec and shuffle on a sample of a file, and print the resulting sizes and speeds
    #[command(mut_arg("typesize", |argument| argument.help("Size of an element in bytes, 1 to 255 [default: 8]")))]
    #[command(mut_arg("shuffle", |argument| argument.help("Try only this shuffle [default: all shuffles]")))]
    #[command(mut_arg("codec", |argument| argument.help("Try only this codec [default: all codecs]")))]
    #[command(after_long_help = examples(&["scibin bloscpack estimate data.bin"]))]
    Estimate(Estimate),
}

impl BloscpackCommand {
    /// Returns `true` if the command cannot print JSON, in which case `--json` is an error.
    pub(super) fn is_without_json(&self) -> bool {
        matches!(self, Self::Cat(_))
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct Pack {
    /// The file, or "-" for standard input. A file with the extension .npy, or a .npy file from a
    /// pipe, is packed as an array, unless --raw is given
    pub(crate) input: PathBuf,
    /// The packed file, or "-" for standard output [default: INPUT.blp, or standard
    /// output if INPUT is "-"]
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    #[command(flatten)]
    pub(crate) compression: Compression,
    /// Chunk size: a number with an optional unit B, K, M, G or T, such as 1.5M, or "max" [default:
    /// 1M]
    #[arg(long, short = 'z', value_name = "SIZE")]
    pub(crate) chunk_size: Option<ChunkSize>,
    /// Checksum of the chunks [default: adler32]
    #[arg(long, short = 'k', value_name = "CHECKSUM", ignore_case = true, value_parser = checksums())]
    pub(crate) checksum: Option<Checksum>,
    /// Write no offset table
    #[arg(long)]
    pub(crate) no_offsets: bool,
    /// File with the metadata as JSON
    #[arg(long, short, value_name = "META.json")]
    pub(crate) metadata: Option<PathBuf>,
    /// Number of chunks that can be appended later [default: ten times the number of chunks]
    #[arg(long, value_name = "N", conflicts_with = "no_offsets")]
    pub(crate) max_app: Option<u64>,
    /// Bytes reserved for the metadata [default: ten times its size]
    #[arg(long, value_name = "N")]
    pub(crate) meta_size: Option<u32>,
    /// Version of the format; version 2 has no metadata, no arrays, and no space for appending
    /// [default: 3]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(crate) format: Option<u8>,
    /// Pack a .npy file as plain bytes, not as an array
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

/// Options for compressing chunks. When appending, the defaults for the typesize, shuffle and codec
/// are read from the packed file.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Compression {
    /// Size of an element in bytes, 1 to 255 [default: same as in the packed file]
    #[arg(long, short_alias = 't', value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) typesize: Option<u8>,
    /// Compression level, 0 (none) to 9 [default: 7]
    #[arg(long, short_alias = 'l', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(..=9))]
    pub(crate) clevel: Option<u8>,
    /// How to shuffle the data before compression [default: same as in the packed file]
    #[arg(long, value_name = "SHUFFLE", value_parser = shuffles())]
    pub(crate) shuffle: Option<Shuffle>,
    /// Same as --shuffle none
    #[arg(long, short = 's', conflicts_with = "shuffle")]
    pub(crate) no_shuffle: bool,
    /// Codec [default: same as in the packed file]
    #[arg(long, short, value_name = "CODEC", value_parser = compressors())]
    pub(crate) codec: Option<Compressor>,
}

impl Compression {
    pub(crate) fn shuffle(&self) -> Option<Shuffle> {
        if self.no_shuffle { Some(Shuffle::None) } else { self.shuffle }
    }
}

pub(super) fn compressors() -> impl TypedValueParser<Value = Compressor> {
    PossibleValuesParser::new(Compressor::ALL.map(Compressor::name))
        .try_map(|name| Compressor::from_name(&name).ok_or("unknown codec"))
}

pub(super) fn checksums() -> impl TypedValueParser<Value = Checksum> {
    PossibleValuesParser::new(Checksum::ALL.map(Checksum::name))
        .try_map(|name| Checksum::from_name(&name).ok_or("unknown checksum"))
}

fn shuffles() -> impl TypedValueParser<Value = Shuffle> {
    PossibleValuesParser::new([Shuffle::None, Shuffle::Byte, Shuffle::Bit].map(Shuffle::name))
        .try_map(|name| Shuffle::from_name(&name).ok_or("unknown shuffle"))
}

#[derive(Debug, Default, Args)]
pub(crate) struct Unpack {
    /// The packed file, or "-" for standard input
    pub(crate) input: PathBuf,
    /// The unpacked file, or "-" for standard output [default: INPUT without .blp, or
    /// standard output if INPUT is "-"]
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Write the array as .npy, which is the default if the name of the output ends in .npy
    #[arg(long, conflicts_with_all = ["range", "chunks"])]
    pub(crate) npy: bool,
    /// Unpack only the byte range A..B, which excludes B; A or B may be omitted
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    /// Unpack only the range A..B of chunks, which excludes B; A or B may be omitted
    #[arg(long, value_name = "A..B", conflicts_with = "range")]
    pub(crate) chunks: Option<Span>,
    /// Also write the metadata as JSON to this file
    #[arg(long, value_name = "META.json")]
    pub(crate) metadata_out: Option<PathBuf>,
    /// Unpack even if the metadata is damaged
    #[arg(long, conflicts_with_all = ["npy", "metadata_out"])]
    pub(crate) ignore_metadata: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// Write only the byte range A..B, which excludes B; A or B may be omitted
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

/// Options for checking a file.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Verifying {
    /// Check the digests, but do not decode the chunks
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) opening: Opening,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

#[derive(Debug, Default, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each flag is a separate option of the command line"
)]
pub(crate) struct Append {
    /// The packed file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The files to append, or "-" for standard input
    #[arg(required = true, value_name = "NEW")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) compression: Compression,
    /// Chunk size if the packed file is empty; ignored otherwise [default: 1M]
    #[arg(long, short = 'z', value_name = "SIZE")]
    pub(crate) chunk_size: Option<ChunkSize>,
    /// File with new metadata as JSON, which replaces the old metadata
    #[arg(long, short, value_name = "META.json", conflicts_with = "axis0")]
    pub(crate) metadata: Option<PathBuf>,
    /// Change the file in place, protected by a journal, instead of replacing it with a changed
    /// copy
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Rewrite the file if it has too little space for the new chunks or metadata
    #[arg(long)]
    pub(crate) grow: bool,
    /// Append rows to an array: .npy files with the dtype and row shape of the array, or the bytes
    /// of whole rows
    #[arg(long)]
    pub(crate) axis0: bool,
    /// Append even if the header does not state the number or the sizes of the chunks
    #[arg(long)]
    pub(crate) scan: bool,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// The damaged file, or "-" for standard input
    pub(crate) input: PathBuf,
    /// The output file
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Skip damaged chunks, and continue with the next intact chunk
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Replace damaged chunks with zeros and continue, so that all other data keeps its offset.
    /// If the header does not state the chunk size, damaged chunks are skipped instead
    #[arg(long)]
    pub(crate) fill_zeros: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MetaCommand {
    /// Print the metadata, or a value in it, as JSON
    #[command(after_long_help = examples(&["scibin bloscpack meta get data.blp /unit"]))]
    Get {
        /// The file
        file: PathBuf,
        /// JSON Pointer to the value; "" refers to all metadata
        #[arg(default_value = "")]
        pointer: String,
    },
    /// Set the metadata, or a value in it
    #[command(after_long_help = examples(&[
        "scibin bloscpack meta set data.blp /unit '\"K\"'",
        "scibin bloscpack meta set data.blp '' -m metadata.json",
    ]))]
    Set {
        /// The file
        file: PathBuf,
        /// JSON Pointer to the value; "" refers to all metadata. The last key may be new, and "-"
        /// appends to a list
        pointer: String,
        /// The value as JSON
        #[arg(required_unless_present = "metadata", allow_hyphen_values = true)]
        value: Option<String>,
        /// File with the value as JSON
        #[arg(long, short, value_name = "META.json", conflicts_with = "value")]
        metadata: Option<PathBuf>,
        /// Rewrite the file if it has too little space for the metadata
        #[arg(long)]
        grow: bool,
    },
    /// Remove a value from the metadata, or all metadata
    #[command(after_long_help = examples(&["scibin bloscpack meta rm data.blp /unit"]))]
    Rm {
        /// The file
        file: PathBuf,
        /// JSON Pointer to the value; "" refers to all metadata
        pointer: String,
        /// Rewrite the file if necessary, for example to remove all metadata
        #[arg(long)]
        grow: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The file
    pub(crate) input: PathBuf,
    /// The output file
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Version of the format to write
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(2..=3), default_value_t = 3)]
    pub(crate) format: u8,
    /// Remove the metadata, which version 2 does not support
    #[arg(long)]
    pub(crate) no_metadata: bool,
    /// Checksum of the chunks [default: same as in INPUT]
    #[arg(long, short = 'k', value_name = "CHECKSUM", ignore_case = true, value_parser = checksums())]
    pub(crate) checksum: Option<Checksum>,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Debug, Args)]
pub(crate) struct Estimate {
    /// The file to pack
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) compression: Compression,
    /// Chunk size [default: 1M]
    #[arg(long, short = 'z', value_name = "SIZE")]
    pub(crate) chunk_size: Option<ChunkSize>,
}

/// Options for opening a file.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Opening {
    /// Reject files that break a rule of the format, even if their data can be read
    #[arg(long)]
    pub(crate) strict: bool,
    /// The chunk order to trust if the offset table contradicts the file
    #[arg(long = "chunk-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
}

/// Options for reading data.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub(crate) opening: Opening,
    /// Do not check the digests
    #[arg(long)]
    pub(crate) no_verify: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// The order of the entries in the offset table
    Offsets,
    /// The order of the chunks in the file, which the original program uses
    File,
}

#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Replacing {
    /// Replace the output file if it exists
    #[arg(long, short, alias = "overwrite")]
    pub(crate) force: bool,
}

#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Threads {
    /// Number of threads [default: the number of processors]
    #[arg(long = "threads", short_alias = 'n', alias = "nthreads", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
}

/// A range `A..B`, in which `A` or `B` may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: Option<u64>,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected START..END, found {text:?}");
        let (start, end) = text.split_once("..").ok_or_else(expected)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| expected());
        let start = if start.is_empty() { 0 } else { number(start)? };
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        if end.is_some_and(|end| end < start) {
            return Err(format!(
                "expected START..END, but the end in {text:?} is before the start"
            ));
        }
        Ok(Self { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_range_may_be_omitted() {
        let span = |start, end| Ok(Span { start, end });
        assert_eq!("3..7".parse(), span(3, Some(7)));
        assert_eq!("3..".parse(), span(3, None));
        assert_eq!("..7".parse(), span(0, Some(7)));
        assert_eq!("..".parse(), span(0, None));
        for wrong in ["", "3", "7..3", "-1..3", "a..b", "1...3", "1..=3"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }
}
