//! `scibin asdf blocks`: prints the binary blocks as a table.

use std::io::{self, Write as _};
use std::path::Path;

use asdf::Asdf;
use asdf::block::Block;
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::failure::Failure;
use crate::output::{Output, print_json, table};

pub(crate) fn blocks(path: &Path, reading: &Reading, output: Output) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let blocks = all(path, &file)?;
    if output.json {
        print_json(&blocks.iter().map(block_json).collect())?;
    } else {
        io::stdout().lock().write_all(text(&blocks).as_bytes())?;
        super::remark(path, &file, output);
    }
    let is_broken = blocks.iter().any(|block| block.header().is_err());
    Ok(if is_broken { Verdict::Found } else { super::verdict_on(&file) })
}

/// Returns all blocks of a file, or the failure from locating them.
pub(super) fn all<'a>(path: &Path, file: &'a Asdf) -> Result<Vec<Block<'a>>, Failure> {
    file.blocks().iter().collect::<asdf::Result<_>>().map_err(|error| Failure::asdf(path, error))
}

fn text(blocks: &[Block<'_>]) -> String {
    let heading = ["block", "offset", "compression", "allocated", "used", "data", "checksum"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for block in blocks {
        let number = vec![block.index().to_string(), block.offset().to_string()];
        let cells = match block.header() {
            Ok(header) if header.is_streamed() => {
                let len =
                    block.data_len().map_or_else(|error| error.to_string(), |len| len.to_string());
                vec!["streamed".to_owned(), String::new(), len.clone(), len, "-".to_owned()]
            }
            Ok(header) => vec![
                compression(block),
                header.allocated_size.to_string(),
                header.used_size.to_string(),
                header.data_size.to_string(),
                checksum(header.checksum).unwrap_or_else(|| "-".to_owned()),
            ],
            Err(error) => vec![error.to_string()],
        };
        rows.push([number, cells].concat());
    }
    table(&rows, &[true, true, false, true, true, true, false])
}

/// Returns the index, the offset and the header of a block as a JSON object. Header fields have the
/// same names as in the standard. If the header is damaged, the object contains the error instead.
pub(crate) fn block_json(block: &Block<'_>) -> Value {
    let mut value = json!({"index": block.index(), "offset": block.offset()});
    let fields = match block.header() {
        Ok(header) => json!({
            "header_size": header.header_size,
            "flags": header.flags,
            "streamed": header.is_streamed(),
            "compression": header.is_compressed().then(|| compression(block)),
            "allocated_size": header.allocated_size,
            "used_size": header.used_size,
            "data_size": header.data_size,
            "data_offset": header.data_start(),
            "checksum": checksum(header.checksum),
        }),
        Err(error) => json!({"error": error.to_string()}),
    };
    if let (Value::Object(value), Value::Object(fields)) = (&mut value, fields) {
        value.extend(fields);
    }
    value
}

pub(crate) fn compression(block: &Block<'_>) -> String {
    match block.header() {
        Ok(header) if header.is_compressed() => {
            // If the data cannot be read, assume that the codec is not blsc-chunked.
            let is_chunked = block.is_blosc_chunked().unwrap_or(false);
            header.compression_name() + if is_chunked { "-chunked" } else { "" }
        }
        Ok(_) => "none".to_owned(),
        Err(_) => "?".to_owned(),
    }
}

/// Returns the MD5 checksum in hexadecimal, or `None` if it is all zeros, which means that the
/// block has no checksum.
fn checksum(bytes: [u8; 16]) -> Option<String> {
    (bytes != [0; 16]).then(|| format!("{:032x}", u128::from_be_bytes(bytes)))
}
