//! `scibin asdf info`: prints an overview of a file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::Asdf;
use asdf::block::Block;
use asdf::inspect::schema::Descriptions;
use asdf::layout::BlockHeader;
use serde_json::{Value, json};

use super::arrays;
use super::blocks::{self, block_json};
use super::outline::{Extent, outline};
use super::verify;
use crate::Verdict;
use crate::arguments::asdf::{Describing, Reading};
use crate::failure::{Failure, name};
use crate::output::html::{Pictures, Report};
use crate::output::print::Elements;
use crate::output::progress::Progress;
use crate::output::{Output, count, diagnostic_lines, one_line, picture, print_json, size, table};

/// The maximum number of lines in an outline without descriptions from schemas. An outline with
/// descriptions is not limited.
const MAX_LINES: u64 = 40;

/// The maximum number of lines in the outline of an HTML report.
const MAX_REPORT_LINES: u64 = 10_000;

/// The maximum number of rows in the table of arrays.
const MAX_ARRAYS: usize = 20;

/// Prints an overview. If `preview` is set, the largest image follows, except with `--json`.
pub(crate) fn info(
    path: &Path,
    describing: &Describing,
    reading: &Reading,
    preview: bool,
    output: Output,
) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let mut described = Descriptions::default();
    if describing.describe {
        let schemas = super::validate::read(&describing.schemas, output)?;
        // Ignore an error here, because problems with the tree are reported below.
        described = schemas.describe(&file).unwrap_or_default();
    }
    let blocks = blocks::all(path, &file)?;
    if output.json {
        print_json(&info_json(path, &file, &blocks, &described))?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_text(&mut out, path, &file, &blocks, &described)?;
        if preview {
            out.write_all(drawn(&file).as_bytes())?;
        }
        out.flush()?;
    }
    Ok(if file.tree().is_ok() { super::verdict_on(&file) } else { Verdict::Found })
}

/// Draws the largest readable image in a file. Returns an empty string if the file contains no
/// readable image.
fn drawn(file: &Asdf) -> String {
    let drawn = arrays::images(file).find_map(|(pointer, array)| {
        let draw = |elements: &Elements<'_, _>| picture::thumbnail(elements);
        // Skip an array that cannot be read, because `verify` reports it.
        let image = arrays::with_elements(&array, &Progress::new(0, true), draw)?.ok()?;
        Some(format!("  {}\n{image}", one_line(&pointer)))
    });
    drawn.unwrap_or_default()
}

/// Returns the content of the HTML report on a file.
pub(crate) fn report_on(path: &Path, output: Output) -> Result<Report, Failure> {
    let file = super::open(path, &Reading::default())?;
    let verified = verify::check(path, &file, output)?;
    let blocks = blocks::all(path, &file)?;
    let info = info_json(path, &file, &blocks, &Descriptions::default());
    let mut tree = Vec::new();
    if let Ok(root) = file.tree() {
        let extent = Extent { lines: Some(MAX_REPORT_LINES), ..Extent::default() };
        outline(&mut tree, root, "", extent, &Descriptions::default())?;
    }
    let mut pictures = Pictures::default();
    for (pointer, array) in arrays::images(&file) {
        arrays::with_elements(&array, &Progress::new(0, true), |elements| {
            pictures.add(pointer, elements);
        });
    }
    Ok(Report {
        info,
        verification: verify::report_json(path, &verified),
        tree: Some(String::from_utf8_lossy(&tree).into_owned()),
        pictures,
    })
}

fn write_text(
    out: &mut dyn Write,
    path: &Path,
    file: &Asdf,
    blocks: &[Block<'_>],
    described: &Descriptions,
) -> io::Result<()> {
    let layout = file.layout();
    let standard = layout.standard_version.map(|version| version.to_string());
    let standard = standard.as_deref().unwrap_or("not stated");
    let (version, size) = (layout.format_version, size(layout.file_len));
    writeln!(out, "{}", name(path))?;
    writeln!(out, "  format    ASDF {version}, standard {standard}, {size}")?;
    write_about(out, file)?;
    writeln!(out, "  blocks    {}", blocks_line(file, blocks))?;
    let tree = file.tree();
    for line in diagnostic_lines(&file.diagnostics()) {
        writeln!(out, "  found     {}", one_line(&line))?;
    }
    match tree {
        Ok(root) => {
            write_arrays(out, file)?;
            writeln!(out, "  tree      {}", count(root.document().node_count() as u64, "node"))?;
            let lines = described.is_empty().then_some(MAX_LINES);
            let extent = Extent { lines, only_content: true, ..Extent::default() };
            outline(out, root, "  ", extent, described)
        }
        Err(error) => {
            writeln!(out, "  tree      cannot be read: {}", one_line(&error.to_string()))
        }
    }
}

/// Writes up to three lines: the library that wrote the file, the software of its extensions, and
/// its history.
fn write_about(out: &mut dyn Write, file: &Asdf) -> io::Result<()> {
    if let Ok(Some(library)) = file.library() {
        let library = format!("{} {}", library.name, library.version);
        writeln!(out, "  written   by {}", one_line(&library))?;
    }
    let Ok(history) = file.history() else { return Ok(()) };
    if !history.extensions.is_empty() {
        let mut software: Vec<String> = history
            .extensions
            .iter()
            .filter_map(|extension| extension.software.as_ref())
            .map(|software| format!("{} {}", software.name, software.version))
            .collect();
        software.sort();
        software.dedup();
        let software = cut(&one_line(&software.join(", ")));
        writeln!(
            out,
            "  software  {} from {software}",
            count(history.extensions.len(), "extension")
        )?;
    }
    if let Some(last) = history.entries.last() {
        let time = last.time.as_ref().map(|time| format!(", {time}")).unwrap_or_default();
        let last = cut(&one_line(&format!("{}{time}", last.description)));
        let count = count(history.entries.len(), "entry");
        writeln!(out, "  history   {count}, the last: {last}")?;
    }
    Ok(())
}

/// Shortens a line of more than 60 characters to the first 60, followed by " ...", so that it fits a
/// terminal.
fn cut(line: &str) -> String {
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    }
}

fn write_arrays(out: &mut dyn Write, file: &Asdf) -> io::Result<()> {
    let nodes = arrays::by_size(file);
    let total = nodes.len();
    if total == 0 {
        return Ok(());
    }
    writeln!(out, "  arrays    {total}")?;
    let heading = arrays::HEADING.map(str::to_owned).to_vec();
    let rows = nodes.into_iter().take(MAX_ARRAYS).map(arrays::row);
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    for line in table(&rows, &[false, false, false, true, false, true]).lines() {
        writeln!(out, "    {line}")?;
    }
    if total > MAX_ARRAYS {
        let more = count(total - MAX_ARRAYS, "more array");
        writeln!(out, "    ... ({more}; --json lists all)")?;
    }
    Ok(())
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

fn info_json(path: &Path, file: &Asdf, blocks: &[Block<'_>], described: &Descriptions) -> Value {
    let layout = file.layout();
    let blocks: Vec<Value> = blocks.iter().map(block_json).collect();
    // Parse the tree before collecting the diagnostics, because parsing may add diagnostics.
    let tree = file.tree();
    let mut diagnostics: Vec<Value> = file.diagnostics().iter().map(|one| json!(one)).collect();
    let tree = match tree {
        Ok(root) => json!({"nodes": root.document().node_count()}),
        Err(error) => {
            let message = error.to_string();
            diagnostics.push(json!({"code": "BadTree", "severity": "error", "message": message}));
            json!({"error": message})
        }
    };
    let library = file.library().ok().flatten();
    let range = |range: &std::ops::Range<u64>| json!([range.start, range.end]);
    let mut report = json!({
        "file": path.display().to_string(),
        "format": "asdf",
        "ok": diagnostics.iter().all(|one| one["severity"] != "error"),
        "size": layout.file_len,
        "version": layout.format_version.to_string(),
        "standard": layout.standard_version.map(|version| version.to_string()),
        "library": library.map(|library| json!({"name": library.name, "version": library.version})),
        "tree_range": layout.tree.as_ref().map(range),
        "tree": tree,
        "arrays": arrays::nodes(file).map(arrays::row_json).collect::<Value>(),
        "blocks": blocks,
        "diagnostics": diagnostics,
    });
    if !described.is_empty() {
        report["descriptions"] = descriptions_json(file, described);
    }
    report
}

/// Returns a JSON object that maps the pointers of described nodes to their titles and units.
fn descriptions_json(file: &Asdf, described: &Descriptions) -> Value {
    let of = |node: asdf::Node<'_>| {
        let described = described.get(node.id())?;
        let value = json!({"title": described.title, "unit": described.unit});
        Some((node.to_pointer()?, value))
    };
    file.nodes().into_iter().flatten().filter_map(of).collect::<serde_json::Map<_, _>>().into()
}
