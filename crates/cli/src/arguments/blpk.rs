//! The arguments that scibin accepts when it is called as `blpk`: the options, commands and
//! operands of the original program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::examples;

/// Compress and decompress files with blosc, with the options of the blpk program
#[derive(Debug, Parser)]
#[command(name = "blpk", version, max_term_width = 100, infer_long_args = true)]
#[command(subcommand_required = true, infer_subcommands = false)]
pub(crate) struct Blpk {
    /// Print each step
    #[arg(long, short, conflicts_with = "debug")]
    pub(crate) verbose: bool,
    /// Same as --verbose
    #[arg(long, short)]
    pub(crate) debug: bool,
    /// Replace existing files
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Number of threads, 1 to 256 [default: the number of processors]
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = threads)]
    pub(crate) nthreads: Option<usize>,
    #[command(subcommand)]
    pub(crate) command: BlpkCommand,
}

/// Parses the number of threads: 1 to 256, as in the original program.
fn threads(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|n| (1..=256).contains(n));
    number.ok_or("expected a number from 1 to 256")
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlpkCommand {
    /// Compress a file
    #[command(visible_alias = "c")]
    #[command(after_long_help = examples(&[
        "scibin blpk -n 4 compress data.bin",
        "blpk -f c data.bin packed.blp",
    ]))]
    Compress(Compress),
    /// Decompress a file
    #[command(visible_alias = "d")]
    #[command(after_long_help = examples(&[
        "scibin blpk decompress data.bin.blp",
        "blpk d -e packed data.bin",
    ]))]
    Decompress {
        /// Do not require the extension .blp; the output file must then be given
        #[arg(long, short = 'e')]
        no_check_extension: bool,
        /// The file to decompress
        in_file: PathBuf,
        /// The output file [default: the input without .blp]
        out_file: Option<PathBuf>,
    },
    /// Append data to a compressed file
    #[command(visible_alias = "a")]
    #[command(after_long_help = examples(&["scibin blpk append data.bin.blp more.bin"]))]
    Append {
        #[command(flatten)]
        blosc: Blosc,
        /// Do not require the extension .blp
        #[arg(long, short = 'e')]
        no_check_extension: bool,
        /// File with the new metadata as JSON
        #[arg(long, short)]
        metadata: Option<PathBuf>,
        /// The compressed file to extend
        original_file: PathBuf,
        /// The file with the data to append
        new_file: PathBuf,
    },
    /// Print information about a compressed file
    #[command(visible_alias = "i")]
    #[command(after_long_help = examples(&["scibin blpk info data.bin.blp"]))]
    Info {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Compress {
    #[command(flatten)]
    pub(crate) blosc: Blosc,
    /// Chunk size, or "max" [default: 1M]
    #[arg(long, short = 'z', value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) chunk_size: Option<String>,
    /// Checksum [default: adler32]
    #[arg(long, short = 'k', value_name = "CHECKSUM", value_parser = super::bloscpack::checksums())]
    pub(crate) checksum: Option<bloscpack::Checksum>,
    /// Write no offsets
    #[arg(long, short = 'o')]
    pub(crate) no_offsets: bool,
    /// File with the metadata as JSON
    #[arg(long, short)]
    pub(crate) metadata: Option<PathBuf>,
    /// The file to compress
    pub(crate) in_file: PathBuf,
    /// The output file [default: the input with .blp]
    pub(crate) out_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Blosc {
    /// Size of an element in bytes, 1 to 255 [default: 8; for append, same as in the file]
    #[arg(long, short, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) typesize: Option<i64>,
    /// Compression level, 0 to 9 [default: 7]
    #[arg(long, short = 'l', value_name = "LEVEL", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u8).range(..=9))]
    pub(crate) clevel: Option<u8>,
    /// Do not shuffle
    #[arg(long, short = 's')]
    pub(crate) no_shuffle: bool,
    /// Codec [default: blosclz; for append, same as in the file]
    #[arg(long, short, value_name = "CODEC", value_parser = super::bloscpack::compressors())]
    pub(crate) codec: Option<binio::blosc::Compressor>,
}
