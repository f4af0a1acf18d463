//! Hints that are printed after library errors. They suggest commands and options of this program,
//! so they cannot be part of the libraries' own messages.

use std::error::Error;

use asdf::block::{BlockError, CodecError};
use asdf::ndarray::ArrayError;
use asdf::tree::ReferenceError;
use bloscpack::format::{MetadataError, Part};

pub(crate) const ASDF_REPAIR: &str =
    "`scibin asdf repair FILE -o OUT` salvages a valid file and reports what was lost";
const ASDF_CHECKSUM: &str =
    "`scibin asdf get --no-verify` prints the data even if its checksum is wrong";
const ASDF_EXTERNAL: &str =
    "with `--external any`, `scibin asdf` commands read any file on this machine";
const ASDF_MAX_FILES: &str =
    "with `--max-files N`, `scibin asdf` commands read more external files";
pub(crate) const BLOSCPACK_RECOVER: &str = "`scibin bloscpack recover FILE -o OUT` saves the \
                                            chunks before the first damaged one; with \
                                            `--skip-bad`, it also saves the intact chunks after it";
const BLOSCPACK_CHECKSUM: &str =
    "`scibin bloscpack unpack --no-verify` writes the data even if its checksum is wrong";
const BLOSCPACK_ORDER: &str = "with `--chunk-order offsets`, `scibin bloscpack` commands trust \
                               the offset table; with `--chunk-order file`, they trust the order \
                               of the chunks in the file";
const BLOSCPACK_METADATA: &str =
    "`scibin bloscpack unpack --ignore-metadata FILE -o OUT` writes the data as plain bytes";
const BLOSCPACK_GROW: &str =
    "with `--grow`, `scibin bloscpack append` and `meta` rewrite the file to make space";
const DUDLEY_LAYOUT: &str = "with `--layout LAYOUT`, `scibin dudley get`, `dump`, `explain` and \
                             `put` read the layout from another file";
const DUDLEY_STALE: &str = "`scibin dudley index --force LAYOUT` compiles the layout again";
const FLUX_EXISTS: &str = "with `--overwrite`, `scibin flux extract` replaces existing files; with \
                           `--skip-existing`, it keeps them";
const FLUX_LINT: &str = "`scibin flux lint FILE` lists all deviations from RFC 37; with `--fix`, \
                         it corrects those that have exactly one correct form";
const FLUX_MAX_SIZE: &str =
    "with `--max-size SIZE`, `scibin flux extract` and `pack` raise the limit";
const FLUX_STORE: &str = "`--store STORE` sets the store that contains the blobs";

/// Returns a sentence that suggests a command or an option, or `None` if there is no hint for the
/// error.
pub(crate) fn of(error: &(dyn Error + Send + Sync + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<asdf::Error>() {
        of_asdf(error.kind())
    } else if let Some(error) = error.downcast_ref::<bloscpack::Error>() {
        of_bloscpack(error.kind())
    } else if let Some(error) = error.downcast_ref::<dudley::Error>() {
        of_dudley(error.kind())
    } else if let Some(error) = error.downcast_ref::<flux_archive::Error>() {
        of_flux(error.kind())
    } else {
        None
    }
}

fn of_asdf(kind: &asdf::ErrorKind) -> Option<&'static str> {
    use asdf::ErrorKind as Kind;

    match kind {
        Kind::Block { kind: BlockError::Checksum { .. }, .. } => Some(ASDF_CHECKSUM),
        Kind::Block {
            kind:
                BlockError::Uncertain
                | BlockError::Magic { .. }
                | BlockError::HeaderSize { .. }
                | BlockError::HeaderTruncated { .. }
                | BlockError::PastEnd { .. },
            ..
        }
        | Kind::Codec {
            kind:
                CodecError::ShortStream { .. }
                | CodecError::LongStream { .. }
                | CodecError::Corrupt { .. },
            ..
        } => Some(ASDF_REPAIR),
        Kind::Array { kind: ArrayError::Data(error), .. }
        | Kind::Reference { kind: ReferenceError::External(error), .. } => of_asdf(error.kind()),
        Kind::Reference { kind: ReferenceError::Forbidden(_), .. } => Some(ASDF_EXTERNAL),
        Kind::Limit { what: "external files", .. } => Some(ASDF_MAX_FILES),
        _ => None,
    }
}

fn of_bloscpack(kind: &bloscpack::ErrorKind) -> Option<&'static str> {
    use bloscpack::ErrorKind as Kind;

    match kind {
        // `--no-verify` does not help, because metadata is always verified.
        Kind::ChecksumMismatch { part: Part::Metadata, .. } => Some(BLOSCPACK_METADATA),
        Kind::ChecksumMismatch { .. } => Some(BLOSCPACK_CHECKSUM),
        Kind::OffsetMismatch { permuted: true, .. } => Some(BLOSCPACK_ORDER),
        // Recovery needs the complete header.
        Kind::Truncated { what: "header", .. } | Kind::Metadata(MetadataError::Absent) => None,
        Kind::OffsetMismatch { .. }
        | Kind::Truncated { .. }
        | Kind::CorruptChunk { .. }
        | Kind::SizeMismatch { .. } => Some(BLOSCPACK_RECOVER),
        Kind::Metadata(_) => Some(BLOSCPACK_METADATA),
        Kind::NotEnoughSpace { .. } => Some(BLOSCPACK_GROW),
        _ => None,
    }
}

fn of_dudley(kind: &dudley::ErrorKind) -> Option<&'static str> {
    match kind {
        dudley::ErrorKind::NoLayout { .. } => Some(DUDLEY_LAYOUT),
        dudley::ErrorKind::Stale { .. } => Some(DUDLEY_STALE),
        _ => None,
    }
}

fn of_flux(kind: &flux_archive::ErrorKind) -> Option<&'static str> {
    use flux_archive::ErrorKind as Kind;

    match kind {
        Kind::Exists { .. } => Some(FLUX_EXISTS),
        Kind::Rejected(_) => Some(FLUX_LINT),
        Kind::Limit {
            what: "bytes of a file" | "bytes of all files" | "bytes to write", ..
        } => Some(FLUX_MAX_SIZE),
        Kind::Blob { code: flux_archive::diagnostic::Code::BlobMissing, .. } => Some(FLUX_STORE),
        _ => None,
    }
}
