//! Recovering everything before the blocks: the header line, comments, tree and padding.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use binio::ReadAt as _;
use binio::array::{Order, Strided};
use memchr::memmem;

use super::Loss;
use super::numbers::ArrayInBlock;
use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::error::{Error, ErrorKind, Result};
use crate::file::locate::{self, numbering::ArrayUse};
use crate::ndarray::parse::ArrayHeader;
use crate::ndarray::source::Source;
use crate::value::TreeText;
use crate::yaml::{Document, ParseOptions, YamlNode};

/// Maximum number of attempts to parse a truncated tree. Each attempt after the first drops one more line.
const MAX_TRIES: usize = 1000;
/// Total number of parsed bytes after which no further attempt is made to parse a truncated tree.
const MAX_TRIED: usize = 64 << 20;

const DOCUMENT_END: &[u8] = b"...\n";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The recovered part of the file before the blocks.
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    pub(super) arrays: Vec<ArrayInBlock>,
    pub(super) lost: Option<Loss>,
}

/// Returns the end of the tree. If there is no tree, returns the offset of the first block or, without blocks,
/// the length of the file.
pub(super) fn content_end(file: &Asdf) -> u64 {
    let layout = file.layout();
    match (&layout.tree, layout.first_block) {
        (Some(tree), _) => tree.end,
        (None, Some(first)) => first,
        (None, None) => layout.file_len,
    }
}

/// Recovers the header line, comments and tree.
pub(super) fn recover(file: &Asdf) -> Result<Text> {
    let layout = file.layout();
    let has = |code| file.diagnostics().iter().any(|found| found.code == code);
    let start = layout.tree.as_ref().map_or_else(|| content_end(file), |tree| tree.start);
    let head = file.source().bytes_at(0, usize::try_from(start).unwrap_or(usize::MAX))?;
    let mut bytes = if has(Code::BytesBeforeTree) { comments_of(&head) } else { head.to_vec() };
    if layout.tree.is_none() {
        return Ok(Text { bytes, arrays: Vec::new(), lost: None });
    }
    let directive = has(Code::MissingYamlDirective).then_some(&b"%YAML 1.1\n"[..]);
    if has(Code::MissingDocumentEnd) {
        return Ok(without_end(file, bytes, directive.unwrap_or_default()));
    }
    bytes.extend_from_slice(directive.unwrap_or_default());
    let tree = file.tree_text();
    bytes.extend_from_slice(tree);
    if layout.first_block.is_some() && !tree.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    Ok(match file.document() {
        Ok(document) => Text { bytes, arrays: arrays(document), lost: None },
        Err(error) => Text { bytes, arrays: Vec::new(), lost: Some(lost(file, 0, &error)) },
    })
}

/// Returns the header and tree with the URIs of external files rewritten. Returns them unchanged if
/// the tree cannot be parsed or no URI has to be rewritten. If rewriting fails, returns them
/// unchanged, together with a loss. Fails only with I/O errors.
pub(super) fn relocated(
    file: &Asdf,
    bytes: Vec<u8>,
    from: &Path,
    to: &Path,
) -> Result<(Vec<u8>, Option<Loss>)> {
    let start = memmem::find(&bytes, b"%YAML");
    let Some((head, tree)) = start.and_then(|start| bytes.split_at_checked(start)) else {
        return Ok((bytes, None));
    };
    let options =
        ParseOptions::default().start(0, file.layout().tree_line).limits(file.options().limits);
    let tree = String::from_utf8(tree.to_vec()).ok();
    let tree = tree.and_then(|tree| TreeText::parse_with(tree, &options).ok());
    let Some(tree) = tree else { return Ok((bytes, None)) };
    match tree.relocated(from, to) {
        Ok(None) => Ok((bytes, None)),
        Ok(Some(tree)) => Ok(([head, tree.text().as_bytes()].concat(), None)),
        Err(error) if matches!(error.kind(), ErrorKind::Io(_)) => Err(error),
        Err(error) => {
            let message = format!("the URIs of external files are unchanged: {}", error.kind());
            let loss = lost(file, 0, &Error::unwritable(message));
            Ok((bytes, Some(loss)))
        }
    }
}

/// Returns the first line and the comments of the head.
fn comments_of(head: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for (number, line) in head.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if number == 0 || line.starts_with(b"#") {
            kept.extend_from_slice(line);
        }
    }
    if !kept.ends_with(b"\n") {
        kept.push(b'\n');
    }
    kept
}

/// Recovers a tree without a final line `...`. Either the line is missing, or the file was truncated before it.
fn without_end(file: &Asdf, head: Vec<u8>, directive: &[u8]) -> Text {
    let all = file.tree_text();
    let is_filler = |&byte: &u8| byte == 0 || byte == b' ';
    let filler = all.iter().rev().take_while(|byte| is_filler(byte)).count();
    let mut text = &all[..all.len() - filler];
    let is_cut = file.layout().first_block.is_none();
    if is_cut && !text.ends_with(b"\n") {
        // Drop an incomplete line, because it cannot be restored.
        text = before_last_line(text);
    }
    let (mut tried, mut failed) = (0, None);
    let mut shorter = text;
    for _ in 0..MAX_TRIES {
        if shorter.is_empty() {
            // All lines have been dropped, so the entire tree is lost.
            let lost = Some(lost(file, 0, &cut()));
            return Text { bytes: head, arrays: Vec::new(), lost };
        }
        let candidate = ended(shorter);
        tried += candidate.len();
        match parse(file, &candidate) {
            Ok(document) => {
                let lost = is_cut.then(|| lost(file, shorter.len(), &cut()));
                let bytes = [&head, directive, &candidate].concat();
                return Text { bytes, arrays: arrays(&document), lost };
            }
            Err(error) => failed = failed.or(Some(error)),
        }
        shorter = before_last_line(shorter);
        if !is_cut || tried > MAX_TRIED {
            break;
        }
    }
    let lost = Some(lost(file, 0, &failed.unwrap_or_else(cut)));
    Text { bytes: [&head, directive, &ended(text)].concat(), arrays: Vec::new(), lost }
}

fn cut() -> Error {
    ErrorKind::Layout("the tree is truncated: no `...` line at its end".to_owned()).into()
}

fn before_last_line(text: &[u8]) -> &[u8] {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let end = line.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    &text[..end]
}

/// Returns the text with the line `...` appended.
fn ended(text: &[u8]) -> Vec<u8> {
    let break_ = if text.is_empty() || text.ends_with(b"\n") { &b""[..] } else { b"\n" };
    [text, break_, DOCUMENT_END].concat()
}

fn parse(file: &Asdf, text: &[u8]) -> Result<Document> {
    let layout = file.layout();
    let start = layout.tree.as_ref().map_or(0, |tree| tree.start);
    let options =
        ParseOptions::default().start(start, layout.tree_line).limits(file.options().limits);
    Document::parse(text, &options, &mut Vec::new())
}

/// Describes the loss of all bytes of the tree from byte `from` on.
fn lost(file: &Asdf, from: usize, reason: &Error) -> Loss {
    let tree = file.layout().tree.clone().unwrap_or_default();
    let bytes = tree.start + from as u64..tree.end;
    let is_cut = matches!(reason.kind(), ErrorKind::Layout(_));
    let missing = if is_cut { bytes.end - bytes.start } else { 0 };
    Loss { block: None, pointers: Vec::new(), bytes, missing, reason: reason.clone() }
}

/// Lists the arrays that are stored in blocks, each with pointers to the arrays that use it as a mask.
fn arrays(document: &Document) -> Vec<ArrayInBlock> {
    let nodes = || document.nodes().filter(|node| node.is_ndarray());
    let mut masked: HashMap<String, Vec<String>> = HashMap::new();
    for node in nodes() {
        let mask = node.get("mask").filter(|mask| mask.is_ndarray());
        if let Some((mask, pointer)) = mask.and_then(YamlNode::to_pointer).zip(node.to_pointer()) {
            masked.entry(mask).or_default().push(pointer);
        }
    }
    let mut arrays: Vec<ArrayInBlock> = nodes().filter_map(array).collect();
    for array in &mut arrays {
        array.masked = masked.remove(&array.pointer).unwrap_or_default();
    }
    arrays
}

fn array(node: YamlNode<'_>) -> Option<ArrayInBlock> {
    let header = ArrayHeader::parse(node, &mut Vec::new()).ok()?;
    let Source::Block(source) = header.source else { return None };
    let (datatype, shape) = header.type_and_shape(node).ok()?;
    let needs = || {
        let (itemsize, offset) = (datatype.itemsize(), header.offset);
        let dimensions = shape.dimensions.clone();
        let layout = match header.strides.clone() {
            Some(strides) => Strided::new(dimensions, strides, offset, itemsize, u64::MAX),
            None => Strided::packed(dimensions, Order::C, offset, itemsize, u64::MAX),
        };
        Some(layout.ok()?.extent())
    };
    let needs = if shape.streamed { None } else { needs() };
    let (position, pointer) = (node.position(), node.to_pointer().unwrap_or_default());
    let used = ArrayUse { source, needs };
    let (line, column) = (position.line, position.column);
    Some(ArrayInBlock { pointer, masked: Vec::new(), line, column, used })
}

/// Returns the range between the tree and the first block, if it contains nothing but padding.
pub(super) fn padding(file: &Asdf, first: Option<u64>) -> Result<Option<Range<u64>>> {
    let bytes = content_end(file)..first.unwrap_or(0);
    Ok(if !bytes.is_empty() && is_padding(file, bytes.clone())? { Some(bytes) } else { None })
}

/// Returns `true` if a range contains nothing but padding: spaces, line breaks and NULs.
pub(super) fn is_padding(file: &Asdf, bytes: Range<u64>) -> Result<bool> {
    super::contains_only(file, bytes, locate::is_padding)
}
