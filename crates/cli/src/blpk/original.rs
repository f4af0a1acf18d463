//! Printing information about a file in the format of the original program.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ::bloscpack::format::{Header, MetaHeader};
use ::bloscpack::{OpenOptions, Reader};
use binio::blosc;
use serde_json::Value;

use super::python::{bytes_repr, pformat};
use crate::failure::Failure;
use crate::formats::bloscpack;
use crate::output::one_line;

/// The maximum number of chunk offsets shown.
const OFFSETS: usize = 5;
/// The maximum width of a line of metadata, in characters.
const WIDTH: usize = 90;

pub(super) fn print_info(path: &Path) -> Result<(), Failure> {
    let file = bloscpack::open(path, &OpenOptions::new().ignore_metadata(true))?;
    let first = file.chunk_header(0).map_err(|error| Failure::bloscpack(path, error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    for line in lines(&file, &first) {
        writeln!(out, "blpk: {}", one_line(&line))?;
    }
    Ok(out.flush()?)
}

fn lines(file: &Reader, first: &blosc::Header) -> Vec<String> {
    let mut lines = vec!["BloscpackHeader:".to_owned()];
    lines.extend(fields(&header(file.header())));
    if file.header().offsets {
        let offsets: Vec<String> =
            file.chunks().iter().take(OFFSETS).map(|chunk| chunk.offset.to_string()).collect();
        lines.extend(["'offsets':".to_owned(), format!("[{},...]", offsets.join(","))]);
    }
    if let Some(header) = file.meta_header() {
        lines.extend(metadata(bloscpack::metadata(file)));
        lines.push("MetadataHeader:".to_owned());
        lines.extend(fields(&meta_header(header)));
    }
    lines.push("First chunk blosc header:".to_owned());
    lines.push(blosc_header(first));
    lines.push("First chunk blosc flags: ".to_owned());
    let is = |shuffle| truth(first.shuffle() == shuffle);
    lines.push(ordered(&[
        ("byte_shuffle", is(blosc::Shuffle::Byte)),
        ("pure_memcpy", truth(first.is_memcpyed())),
        ("bit_shuffle", is(blosc::Shuffle::Bit)),
        // This bit is set if blocks are not split, but the original program calls it
        // `split_blocks`.
        ("split_blocks", truth(!first.is_split_allowed())),
        ("codec", format!("'{}'", first.codec().name())),
    ]));
    lines
}

/// Returns a heading, followed by the lines of the metadata as Python formats them. If the metadata
/// could not be read, the error follows the heading.
pub(super) fn metadata(value: ::bloscpack::Result<Value>) -> Vec<String> {
    let value = value.map_or_else(|error| error.to_string(), |value| pformat(&value, WIDTH));
    let lines = value.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    std::iter::once("Metadata:".to_owned()).chain(lines).collect()
}

fn blosc_header(first: &blosc::Header) -> String {
    ordered(&[
        ("version", first.version().to_string()),
        ("versionlz", first.versionlz().to_string()),
        ("flags", first.flags().to_string()),
        ("typesize", first.typesize().to_string()),
        ("nbytes", first.nbytes().to_string()),
        ("blocksize", first.blocksize().to_string()),
        ("ctbytes", first.ctbytes().to_string()),
    ])
}

type Field = (&'static str, String);

fn header(header: &Header) -> Vec<Field> {
    let size = |size: Option<u32>| size.map_or("-1".to_owned(), |size| double_pretty(size.into()));
    vec![
        ("format_version", header.version.number().to_string()),
        ("offsets", truth(header.offsets)),
        ("metadata", truth(header.metadata)),
        ("checksum", format!("'{}'", header.checksum.name())),
        ("typesize", header.typesize.to_string()),
        ("chunk_size", size(header.chunk_size)),
        ("last_chunk", size(header.last_chunk)),
        ("nchunks", header.nchunks.map_or("-1".to_owned(), |nchunks| nchunks.to_string())),
        ("max_app_chunks", header.max_app_chunks.to_string()),
    ]
}

fn meta_header(header: &MetaHeader) -> Vec<Field> {
    let bytes = |bytes: &[u8]| {
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes_repr(&bytes[..end])
    };
    let size = |size: u32| double_pretty(size.into());
    vec![
        ("magic_format", bytes(&header.magic)),
        ("meta_options", format!("'{:08b}'", header.options)),
        ("meta_checksum", format!("'{}'", header.checksum.name())),
        ("meta_codec", format!("'{}'", header.codec_name().unwrap_or("unknown"))),
        ("meta_level", header.level.to_string()),
        ("meta_size", size(header.meta_size)),
        ("max_meta_size", size(header.max_meta_size)),
        ("meta_comp_size", size(header.meta_comp_size)),
        ("user_codec", bytes(&header.user_codec)),
    ]
}

fn fields(fields: &[Field]) -> impl Iterator<Item = String> {
    fields.iter().map(|(name, value)| format!("    {name}: {value}"))
}

/// Formats fields like Python's `repr` of an `OrderedDict`.
fn ordered(fields: &[Field]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("('{name}', {value})")).collect();
    format!("OrderedDict([{}])", pairs.join(", "))
}

fn truth(value: bool) -> String {
    if value { "True" } else { "False" }.to_owned()
}

/// Formats a size like [`pretty`], followed by the number of bytes in parentheses.
pub(super) fn double_pretty(bytes: u64) -> String {
    format!("{} ({bytes}B)", pretty(bytes))
}

/// Formats a size in the largest unit that does not exceed it, with at most two decimals.
pub(super) fn pretty(bytes: u64) -> String {
    const UNITS: [(&str, u32); 5] = [("T", 40), ("G", 30), ("M", 20), ("K", 10), ("B", 0)];
    let unit = UNITS.into_iter().find(|&(_, shift)| bytes >> shift > 0);
    let Some((unit, shift)) = unit else { return "0B".to_owned() };
    #[allow(clippy::cast_precision_loss, reason = "only two decimals are printed")]
    let value = bytes as f64 / (1_u64 << shift) as f64;
    format!("{:?}{unit}", (value * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_formatted_as_in_the_original_program() {
        for (bytes, expected) in [
            (0, "0B (0B)"),
            (48, "48.0B (48B)"),
            (50_000, "48.83K (50000B)"),
            (302_848, "295.75K (302848B)"),
            (1_048_575, "1024.0K (1048575B)"),
            (1_048_576, "1.0M (1048576B)"),
            (2_147_483_631, "2.0G (2147483631B)"),
        ] {
            assert_eq!(double_pretty(bytes), expected);
        }
    }
}
