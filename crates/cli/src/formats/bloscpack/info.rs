//! `scibin info`: prints an overview of a file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use bloscpack::array::Field;
use bloscpack::array::{Array, Datatype};
use bloscpack::format::{Header, MetaHeader, Version};
use bloscpack::{ErrorKind, Reader, UnpackOptions};
use serde_json::{Value, json};

use super::chunks::{Chunks, ratio};
use super::get::{metadata, with_elements};
use crate::Verdict;
use crate::arguments::bloscpack::Opening;
use crate::failure::{Failure, name};
use crate::output::html::{Pictures, Report};
use crate::output::{Output, count, one_line, picture, print_json, size};

/// The maximum number of lines of metadata shown.
const MAX_LINES: usize = 40;

/// Prints an overview, which includes a list of the chunks if `list` is set. If `preview` is set and
/// the array is an image, also prints a picture of the array, except with `--json`.
pub(crate) fn info(
    path: &Path,
    opening: Opening,
    list: bool,
    preview: bool,
    output: Output,
) -> Result<Verdict, Failure> {
    // Open the file even if its metadata is damaged, because the overview reports the damage.
    let file = super::open(path, &opening.options().ignore_metadata(true))?;
    let chunks = Chunks::of(&file);
    if output.json {
        let mut value = info_json(path, &file, &chunks);
        if list {
            value["chunks"] = chunks.json();
        }
        print_json(&value)?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_text(&mut out, path, &file, &chunks)?;
        if list {
            out.write_all(chunks.table().as_bytes())?;
        }
        if preview {
            out.write_all(drawn(&file).as_bytes())?;
        }
        out.flush()?;
    }
    Ok(Verdict::Fine)
}

/// Draws the array. Returns an empty string if the file contains no image, or if the image cannot
/// be read.
fn drawn(file: &Reader) -> String {
    // Skip an array that cannot be read, because `verify` reports it.
    let image = array(file)
        .and_then(Result::ok)
        .and_then(|array| with_elements(&array, &UnpackOptions::new(), picture::thumbnail)?.ok());
    image.unwrap_or_default()
}

/// Returns the content of the HTML report on a file.
pub(crate) fn report_on(path: &Path, output: Output) -> Result<Report, Failure> {
    let file = super::open(path, &Opening::default().options().ignore_metadata(true))?;
    let chunks = Chunks::of(&file);
    let mut info = info_json(path, &file, &chunks);
    info["chunks"] = chunks.json();
    let mut pictures = Pictures::default();
    if let Some(Ok(array)) = array(&file) {
        with_elements(&array, &UnpackOptions::new(), |elements| {
            pictures.add("array".to_owned(), elements);
        });
    }
    let verification = super::verify::verification(path, output)?;
    Ok(Report { info, verification, tree: None, pictures })
}

fn write_text(
    out: &mut dyn Write,
    path: &Path,
    file: &Reader,
    chunks: &Chunks<'_>,
) -> io::Result<()> {
    let (header, layout) = (file.header(), file.layout());
    let file_len = layout.file_len();
    writeln!(out, "{}", name(path))?;
    let version = match header.version {
        Version::Unversioned => "without version".to_owned(),
        version => version.to_string(),
    };
    writeln!(out, "  format    Bloscpack {version}, {}", size(file_len))?;
    let ratio = ratio(file.len(), file_len);
    writeln!(out, "  data      {} in {}, ratio {ratio:.2}", size(file.len()), chunking(file))?;
    for (line, kind) in chunks.kinds_text().iter().enumerate() {
        writeln!(out, "  {:<8}  {kind}", if line == 0 { "codecs" } else { "" })?;
    }
    let typesize = header.typesize;
    writeln!(out, "  header    checksum {}, typesize {typesize}", header.checksum.name())?;
    writeln!(out, "  offsets   {}", offsets(header))?;
    match array(file) {
        Some(Ok(array)) => {
            let (dtype, shape) = (one_line(&array.datatype().to_string()), array.shape());
            writeln!(out, "  array     {dtype} {shape:?}, order {}", array.order().name())?;
        }
        Some(Err(error)) => writeln!(out, "  array     {}", one_line(&error.to_string()))?,
        None => {}
    }
    for diagnostic in file.diagnostics() {
        writeln!(out, "  remark    {}", one_line(&diagnostic.to_string()))?;
    }
    write_metadata(out, file)
}

/// Returns the array, or the error if its description is invalid. Returns `None` if the metadata is
/// damaged or does not describe an array.
fn array(file: &Reader) -> Option<bloscpack::Result<Array<'_>>> {
    let array = file.array();
    let is_none = match &array {
        Ok(_) => false,
        Err(error) => matches!(error.kind(), ErrorKind::NotNumpy(_)) || file.metadata().is_err(),
    };
    (!is_none).then_some(array)
}

fn chunking(file: &Reader) -> String {
    let header = file.header();
    let sizes = match (header.chunk_size, header.last_chunk) {
        (Some(chunk_size), Some(last)) if chunk_size != last => {
            format!(" of {chunk_size} B, the last of {last} B")
        }
        (Some(chunk_size), _) => format!(" of {chunk_size} B"),
        (None, _) => String::new(),
    };
    format!("{}{sizes}", count(file.chunks().len() as u64, "chunk"))
}

fn offsets(header: &Header) -> String {
    match (header.offsets, header.max_app_chunks) {
        (false, _) => "none".to_owned(),
        (true, 0) => "yes, no space for more chunks".to_owned(),
        (true, room) => format!("yes, space for {}", count(room, "more chunk")),
    }
}

fn write_metadata(out: &mut dyn Write, file: &Reader) -> io::Result<()> {
    let Some(header) = file.meta_header() else {
        return writeln!(out, "  metadata  none");
    };
    let (size, room) = (header.meta_size, header.max_meta_size);
    let stored = match header.codec_name() {
        Some("None") => "not compressed".to_owned(),
        codec => format!("{} to {} B", codec.unwrap_or("unknown codec"), header.meta_comp_size),
    };
    let checksum = header.checksum.name();
    writeln!(out, "  metadata  {size} B, {stored}, space for {room} B, checksum {checksum}")?;
    let Ok(value) = metadata(file) else {
        // The error has already been printed as a remark.
        return Ok(());
    };
    let text = serde_json::to_string_pretty(&value)?;
    for line in text.lines().take(MAX_LINES) {
        writeln!(out, "    {}", one_line(line))?;
    }
    let more = text.lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let more = count(more, "more line");
        writeln!(out, "    ... ({more}; `scibin bloscpack meta get` shows all)")?;
    }
    Ok(())
}

/// Returns a datatype as JSON. A record is a list of fields, each with a name, a type and possibly
/// a shape.
pub(super) fn dtype_json(dtype: &Datatype) -> Value {
    let Some(record) = dtype.as_record() else { return json!(dtype.to_string()) };
    let field = |field: &Field| {
        let mut parts = vec![json!(field.name()), dtype_json(field.datatype())];
        if !field.shape().is_empty() {
            parts.push(json!(field.shape()));
        }
        Value::Array(parts)
    };
    record.fields().iter().map(field).collect()
}

fn info_json(path: &Path, file: &Reader, chunks: &Chunks<'_>) -> Value {
    let (header, layout) = (file.header(), file.layout());
    let array = array(file).map(|array| match array {
        Ok(array) => json!({
            "dtype": dtype_json(array.datatype()),
            "shape": array.shape(),
            "order": array.order().name(),
        }),
        Err(error) => json!({"error": error.to_string()}),
    });
    json!({
        "file": path.display().to_string(),
        "format": "bloscpack",
        "ok": super::damage(file).next().is_none(),
        "size": layout.file_len(),
        "header": header_json(header),
        "nbytes": file.len(),
        "nchunks": file.chunks().len(),
        "ctbytes": chunks.stored(),
        "ratio": ratio(file.len(), layout.file_len()),
        "codecs": chunks.kinds_json(),
        "metadata": file.meta_header().map(|header| metadata_json(file, header)),
        "array": array,
        "stale_tail": layout.stale_tail().end - layout.stale_tail().start,
        "diagnostics": file.diagnostics(),
    })
}

/// Returns the header as a JSON object, whose keys are the field names of the format. Values that
/// the header does not state are null.
pub(super) fn header_json(header: &Header) -> Value {
    json!({
        "version": header.version.number(),
        "offsets": header.offsets,
        "metadata": header.metadata,
        "checksum": header.checksum.name(),
        "typesize": header.typesize,
        "chunk_size": header.chunk_size,
        "last_chunk": header.last_chunk,
        "nchunks": header.nchunks,
        "max_app_chunks": header.max_app_chunks,
    })
}

fn metadata_json(file: &Reader, header: &MetaHeader) -> Value {
    let mut json = json!({
        "meta_options": header.options,
        "meta_checksum": header.checksum.name(),
        "meta_codec": header.codec_name().map_or(json!(header.codec), Value::from),
        "meta_level": header.level,
        "meta_size": header.meta_size,
        "max_meta_size": header.max_meta_size,
        "meta_comp_size": header.meta_comp_size,
    });
    match metadata(file) {
        Ok(value) => json["value"] = value,
        Err(error) => json["error"] = error.to_string().into(),
    }
    json
}
