//! `scibin asdf info`: what is in a file, at a glance.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::{Asdf, Block, BlockHeader};
use serde_json::{Value, json};

use super::blocks::{self, block_json};
use super::outline::outline;
use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json, size};

/// Lines of the outline.
const MAX_LINES: usize = 40;

pub(crate) fn info(path: &Path, reading: &Reading, output: Output) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let blocks = blocks::all(path, &file)?;
    if output.json {
        print_json(&info_json(path, &file, &blocks))?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_text(&mut out, path, &file, &blocks)?;
        out.flush()?;
    }
    Ok(Verdict::Fine)
}

fn write_text(
    out: &mut dyn Write,
    path: &Path,
    file: &Asdf,
    blocks: &[Block<'_>],
) -> io::Result<()> {
    let layout = file.layout();
    let standard = layout.standard_version.map(|version| version.to_string());
    let standard = standard.as_deref().unwrap_or("not stated");
    let (version, size) = (layout.format_version, size(layout.file_len));
    writeln!(out, "{}", path.display())?;
    writeln!(out, "  format    ASDF {version}, standard {standard}, {size}")?;
    if let Ok(Some(library)) = file.library() {
        let library = format!("{} {}", library.name, library.version);
        writeln!(out, "  written   by {}", one_line(&library))?;
    }
    writeln!(out, "  blocks    {}", blocks_line(file, blocks))?;
    let tree = file.tree();
    for diagnostic in file.diagnostics() {
        writeln!(out, "  found     {}", one_line(&diagnostic.to_string()))?;
    }
    match tree {
        Ok(root) => {
            writeln!(out, "  tree      {} nodes", root.document().node_count())?;
            outline(out, root, "  ", Some(MAX_LINES))
        }
        Err(error) => {
            writeln!(out, "  tree      cannot be read: {}", one_line(&error.to_string()))
        }
    }
}

fn blocks_line(file: &Asdf, blocks: &[Block<'_>]) -> String {
    if blocks.is_empty() {
        return "none".to_owned();
    }
    let stored: u64 = blocks
        .iter()
        .filter_map(|block| block.data_range().ok())
        .map(|range| range.end - range.start)
        .sum();
    let data: u64 =
        blocks.iter().filter_map(|block| block.data_len().ok()).fold(0, u64::saturating_add);
    let compressed =
        blocks.iter().filter(|block| block.header().is_ok_and(BlockHeader::is_compressed)).count();
    let index = match &file.layout().index {
        Some(index) if index.accepted => "index valid",
        Some(_) => "index not usable",
        None => "no index",
    };
    format!(
        "{}, {compressed} compressed, {} stored, {} decoded, {index}",
        blocks.len(),
        size(stored),
        size(data)
    )
}

fn info_json(path: &Path, file: &Asdf, blocks: &[Block<'_>]) -> Value {
    let layout = file.layout();
    let blocks: Vec<Value> = blocks.iter().map(block_json).collect();
    let tree = match file.tree() {
        Ok(root) => json!({"nodes": root.document().node_count()}),
        Err(error) => json!({"error": error.to_string()}),
    };
    let library = file.library().ok().flatten();
    let range = |range: &std::ops::Range<u64>| json!([range.start, range.end]);
    json!({
        "file": path.display().to_string(),
        "format": "asdf",
        "size": layout.file_len,
        "version": layout.format_version.to_string(),
        "standard": layout.standard_version.map(|version| version.to_string()),
        "library": library.map(|library| json!({"name": library.name, "version": library.version})),
        "tree_range": layout.tree.as_ref().map(range),
        "tree": tree,
        "blocks": blocks,
        "diagnostics": file.diagnostics(),
    })
}
