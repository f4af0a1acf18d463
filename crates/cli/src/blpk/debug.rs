//! What the original prints with `--debug`, line by line as its release 0.16.0 does. Where it prints
//! the address of a function in memory, ours prints none.

use std::path::Path;

use binio::ReadAt;
use bloscpack::format::Header;
use bloscpack::{OpenOptions, Reader};

use super::original::{blosc_header, double_pretty, fields, header, meta_header, truth};
use super::python::bytes_repr;
use super::usage;
use crate::arguments::blpk::{Blosc, Blpk, BlpkCommand};
use crate::failure::Failure;

/// The arguments, sorted by name.
pub(super) fn arguments(arguments: &Blpk, threads: usize) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    let none_or = |value: Option<String>| value.unwrap_or_else(|| "None".to_owned());
    let mut values = vec![
        ("debug", truth(arguments.debug)),
        ("force", truth(arguments.force)),
        ("nthreads", threads.to_string()),
        ("subcommand", usage::named().map_or("None", |(name, _)| name).to_owned()),
        ("verbose", truth(arguments.verbose)),
    ];
    match &arguments.command {
        BlpkCommand::Compress(compress) => {
            let chunk_size = compress.chunk_size.as_ref().map(|text| {
                let size = text.parse().and_then(bloscpack::ChunkSize::bytes);
                size.map_or_else(|_| text.clone(), |bytes| bytes.to_string())
            });
            values.extend([
                ("checksum", compress.checksum.unwrap_or_default().name().to_owned()),
                ("chunk_size", chunk_size.unwrap_or_else(|| "1M".to_owned())),
                ("in_file", path(&compress.in_file)),
                ("metadata", none_or(compress.metadata.as_deref().map(path))),
                ("offsets", truth(!compress.no_offsets)),
                ("out_file", none_or(compress.out_file.as_deref().map(path))),
            ]);
            values.extend(blosc_values(&compress.blosc));
        }
        BlpkCommand::Decompress { no_check_extension, in_file, out_file } => values.extend([
            ("in_file", path(in_file)),
            ("no_check_extension", truth(*no_check_extension)),
            ("out_file", none_or(out_file.as_deref().map(path))),
        ]),
        BlpkCommand::Append { blosc, no_check_extension, metadata, original_file, new_file } => {
            values.extend([
                ("metadata", none_or(metadata.as_deref().map(path))),
                ("new_file", path(new_file)),
                ("no_check_extension", truth(*no_check_extension)),
                ("original_file", path(original_file)),
            ]);
            values.extend(blosc_values(blosc));
        }
        BlpkCommand::Info { file } => values.push(("file_", path(file))),
    }
    values.sort_unstable();
    let head = ["command line argument parsing complete", "command line arguments are: "];
    head.map(str::to_owned).into_iter().chain(fields(&values)).collect()
}

/// The options of compression in the order of the original's output.
fn blosc_values(blosc: &Blosc) -> [(&'static str, String); 4] {
    [
        ("typesize", blosc.typesize.unwrap_or(8).to_string()),
        ("clevel", blosc.clevel.unwrap_or(7).to_string()),
        ("shuffle", truth(!blosc.no_shuffle)),
        ("cname", blosc.codec.map_or("blosclz", binio::blosc::Compressor::name).to_owned()),
    ]
}

fn open(path: &Path) -> Result<Reader, Failure> {
    let opened = OpenOptions::new().ignore_metadata(true).open(path);
    opened.map_err(|error| Failure::bloscpack(path, error))
}

/// Bytes of a file as Python prints them.
fn raw(file: &Reader, start: u64, len: u64) -> String {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    file.source().bytes_at(start, len).map_or_else(|error| error.to_string(), |b| bytes_repr(&b))
}

/// The digest of a chunk.
fn digest(file: &Reader, chunk: &bloscpack::format::ChunkEntry) -> String {
    raw(file, chunk.stored_range().end, file.header().checksum.len() as u64)
}

fn offsets(file: &Reader) -> String {
    let offsets: Vec<String> = file.chunks().iter().map(|chunk| chunk.offset.to_string()).collect();
    format!("[{}]", offsets.join(", "))
}

/// Whether a chunk is the last one, as the original marks it.
fn mark(file: &Reader, index: usize) -> &'static str {
    if index + 1 == file.chunks().len() { " (last)" } else { "" }
}

/// How a file was packed.
pub(super) fn packed(path: &Path, blosc: &Blosc) -> Result<Vec<String>, Failure> {
    let file = open(path)?;
    let Header { offsets: has_offsets, checksum, max_app_chunks, .. } = *file.header();
    let checksum = checksum.name();
    let function = "<function <lambda>>".to_owned();
    let mut lines = vec!["BloscArgs:".to_owned()];
    let [typesize, clevel, shuffle, (_, cname)] = blosc_values(blosc);
    lines.extend(fields(&[typesize, clevel, shuffle, ("cname", format!("'{cname}'"))]));
    lines.push("BloscpackArgs:".to_owned());
    lines.extend(fields(&[
        ("offsets", truth(has_offsets)),
        ("checksum", format!("'{checksum}'")),
        ("max_app_chunks", function.clone()),
    ]));
    if let Some(meta) = file.meta_header() {
        lines.push("MetadataArgs:".to_owned());
        lines.extend(fields(&[
            ("magic_format", "b'JSON'".to_owned()),
            ("meta_checksum", format!("'{}'", meta.checksum.name())),
            ("meta_codec", "'zlib'".to_owned()),
            ("meta_level", meta.level.to_string()),
            ("max_meta_size", function),
        ]));
    } else {
        lines.push("metadata_args will be silently ignored".to_owned());
    }
    let max_app = if has_offsets { "is a callable" } else { "will be silently ignored" };
    lines.push(format!("max_app_chunks {max_app}"));
    lines.push(format!("max_app_chunks was set to: {max_app_chunks}"));
    lines.push("BloscpackHeader:".to_owned());
    lines.extend(fields(&header(file.header())));
    lines.push(format!("raw_bloscpack_header: {}", raw(&file, 0, 32)));
    if let Some((meta, section)) = file.meta_header().zip(file.layout().metadata()) {
        let is_compressed = meta.codec_name() == Some("zlib");
        if !is_compressed {
            let sizes = format!("(raw: '{}' vs. compressed: more)", meta.meta_size);
            lines.push(format!(
                "metadata compression requested, but it was not beneficial, deactivating {sizes} "
            ));
        }
        let how = if is_compressed { "compressed" } else { "uncompressed" };
        let payload = section.start + 32;
        let (size, room) = (meta.meta_comp_size, meta.max_meta_size);
        let stored = raw(&file, payload, size.into());
        lines.push(format!("Raw {how} metadata of size '{size}': {stored}"));
        lines.push(format!("max meta size is deemed to be: {room}"));
        lines.push(format!("raw_metadata_header: {}", raw(&file, section.start, 32)));
        lines.push(format!("metadata has {} preallocated empty bytes", room - size));
        let digest = raw(&file, payload + u64::from(room), meta.checksum.len() as u64);
        lines.push(format!("metadata checksum ({}): {digest}", meta.checksum.name()));
        let total = double_pretty(meta.section_len());
        lines.push(format!("metadata section occupies a total of {total}"));
    }
    for (index, chunk) in file.chunks().iter().enumerate() {
        lines.push(format!("Handle chunk '{index}'{}", mark(&file, index)));
        lines.push(match checksum {
            "None" => "no checksum".to_owned(),
            _ => format!("checksum ({checksum}): {}", digest(&file, chunk)),
        });
        lines.push(handled(chunk.nbytes, chunk.ctbytes));
    }
    if let Some(table) = file.layout().offsets() {
        lines.extend(written_offsets(&file, table.start));
    }
    Ok(lines)
}

fn handled(from: u32, to: u32) -> String {
    format!("chunk handled, in: {} out: {}", double_pretty(from.into()), double_pretty(to.into()))
}

/// What is read before the chunks. Of these lines `--verbose` prints the one about metadata.
pub(super) fn beginning(path: &Path, is_debug: bool) -> Result<Vec<String>, Failure> {
    let file = open(path)?;
    let mut lines = Vec::new();
    if is_debug {
        lines.push("reading bloscpack header".to_owned());
        lines.push(format!("bloscpack_header_raw: {}", raw(&file, 0, 32)));
        let numbers = |size: Option<u32>| size.map_or("-1".to_owned(), |size| size.to_string());
        let values: Vec<String> = header(file.header())
            .into_iter()
            .map(|(name, value)| match name {
                "chunk_size" => (name, numbers(file.header().chunk_size)),
                "last_chunk" => (name, numbers(file.header().last_chunk)),
                _ => (name, value),
            })
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        lines.push(format!("bloscpack header: BloscpackHeader({})", values.join(", ")));
    }
    if let Some((meta, section)) = file.meta_header().zip(file.layout().metadata()) {
        if is_debug {
            lines.push(format!("raw metadata header: {}", raw(&file, section.start, 32)));
            lines.push("MetadataHeader:".to_owned());
            lines.extend(fields(&meta_header(meta)));
            let (name, len) = (meta.checksum.name(), meta.checksum.len() as u64);
            if len > 0 {
                let digest = raw(&file, section.end - len, len);
                lines.push(format!("metadata checksum OK ({name}): {digest}"));
            }
        }
        let how = if meta.codec_name() == Some("None") { "uncompressed" } else { "compressed" };
        lines.push(format!("read {how} metadata of size: '{}'", meta.meta_comp_size));
    }
    if let Some(table) = file.layout().offsets().filter(|_| is_debug) {
        let raw = raw(&file, table.start, table.end - table.start);
        lines.push(format!("Read raw offsets: {raw}"));
        lines.push(format!("Offsets: {}", offsets(&file)));
    }
    Ok(lines)
}

/// The Blosc header of a chunk: of the first, which `info` reads, or the last, which `append` does.
pub(super) fn chunk(path: &Path, is_last: bool) -> Result<String, Failure> {
    let file = open(path)?;
    let index = if is_last { file.chunks().len().saturating_sub(1) } else { 0 };
    let header = file.chunk_header(index).map_err(|error| Failure::bloscpack(path, error))?;
    Ok(format!("blosc_header: {}", blosc_header(&header)))
}

/// What was appended, in `new` chunks after the one that was filled up.
pub(super) fn appended(path: &Path, new: u64, is_debug: bool) -> Result<Vec<String>, Failure> {
    let file = open(path)?;
    let (checksum, chunks) = (file.header().checksum.name(), file.chunks());
    let new = usize::try_from(new).unwrap_or(usize::MAX);
    let chunks = &chunks[chunks.len().saturating_sub(new)..];
    let mut lines = Vec::new();
    if let (Some(first), Some(last)) = (chunks.first(), chunks.last()) {
        let asked = file.header().chunk_size.unwrap_or(first.nbytes);
        lines.extend(smaller(asked.into(), chunks.iter().map(|c| u64::from(c.nbytes)).sum()));
        lines.push(format!("nchunks: {new}"));
        lines.push(format!("chunk_size: {}", double_pretty(first.nbytes.into())));
        lines.push(format!("last_chunk_size: {}", double_pretty(last.nbytes.into())));
    }
    if is_debug {
        for (index, chunk) in chunks.iter().enumerate() {
            let mark = if index + 1 == new { "(last)" } else { "" };
            lines.push(format!("Handle chunk '{index}' {mark}"));
            lines.push(format!("checksum ({checksum}): {}", digest(&file, chunk)));
        }
        lines.push(format!("raw_bloscpack_header: {}", raw(&file, 0, 32)));
        if let Some(table) = file.layout().offsets().filter(|_| new > 0) {
            lines.extend(written_offsets(&file, table.start));
        }
    }
    Ok(lines)
}

fn written_offsets(file: &Reader, table: u64) -> [String; 2] {
    let count = file.chunks().len();
    let written = format!("Writing '{count}' offsets: '{}'", offsets(file));
    [written, format!("Raw offsets: {}", raw(file, table, 8 * count as u64))]
}

/// The remark about data that are smaller than a chunk.
pub(super) fn smaller(asked: u64, len: u64) -> Option<String> {
    let (asked, used) =
        (double_pretty(asked), (asked > len && len > 0).then(|| double_pretty(len)));
    used.map(|used| format!("Input was smaller than the given 'chunk_size': {asked} using: {used}"))
}

/// How the chunks of a file were unpacked.
pub(super) fn unpacked(path: &Path) -> Result<Vec<String>, Failure> {
    let file = open(path)?;
    let checksum = file.header().checksum.name();
    let mut lines = Vec::new();
    for (index, chunk) in file.chunks().iter().enumerate() {
        let first = file.chunk_header(index).map_err(|error| Failure::bloscpack(path, error))?;
        lines.push(format!("blosc_header: {}", blosc_header(&first)));
        lines.push(format!("decompressing chunk '{index}'{}", mark(&file, index)));
        if checksum != "None" {
            lines.push(format!("checksum OK ({checksum}): {}", digest(&file, chunk)));
        }
        lines.push(handled(chunk.ctbytes, chunk.nbytes));
    }
    Ok(lines)
}
