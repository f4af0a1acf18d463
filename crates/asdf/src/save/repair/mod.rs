//! Salvaging a valid file from a damaged one.
//!
//! | damage | kept |
//! |---|---|
//! | an index that is missing, stale, truncated or not a list | all blocks; the index is rewritten |
//! | stray bytes between or after the blocks, or before the tree | everything else |
//! | a truncated file | intact blocks, and the rest of the last block with its original checksum |
//! | a block with a broken header, or a gap between blocks | the other blocks, with their numbers if these can be determined |
//! | nonsensical sizes in a header | the data up to the next block |
//! | a checksum of the decoded data, as computed by old writers | the data, with a correct checksum |
//! | converted line endings in text and data | all parts whose restoration is confirmed by the index and checksums |
//!
//! Apart from converted line endings, stored bytes are copied unchanged. Damage remains recognisable: a block
//! whose data does not match its checksum keeps that checksum, and a lost block is replaced by an empty one, so
//! that the numbers of the other blocks remain valid.
//!
//! ```
//! use std::io::Cursor;
//! use std::sync::Arc;
//! use asdf::save::repair::{RecoverOptions, recover};
//! use asdf::value::Array;
//! use asdf::{Asdf, Tree, Writer};
//!
//! let mut tree = Tree::default();
//! tree.set("/a", Array::from_slice(&[1_u8, 2, 3], &[3])?)?;
//! tree.set("/b", Array::from_slice(&[4_u8, 5, 6], &[3])?)?;
//! let mut file = Cursor::new(Vec::new());
//! Writer::new(tree).write_to(&mut file)?;
//! let mut bytes = file.into_inner();
//! let index = bytes.windows(5).rposition(|five| five == b"#ASDF").unwrap_or(0);
//! bytes.truncate(index - 1); // the index and the last byte of the last block
//!
//! let mut repaired = Cursor::new(Vec::new());
//! let report = recover(Arc::new(bytes), &mut repaired, &RecoverOptions::new())?;
//! assert_eq!(report.lost.len(), 1);
//! assert_eq!((report.lost[0].block, &report.lost[0].pointers[..]), (Some(1), &["/b".to_owned()][..]));
//! let file = Asdf::from_bytes(repaired.into_inner())?;
//! assert_eq!(file.tree()?.pointer("/a")?.ndarray()?.read::<u8>()?, [1, 2, 3]);
//! # Ok::<(), asdf::Error>(())
//! ```

mod block;
mod line_ends;
mod numbers;
mod pieces;
mod text;

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use binio::{Limits, ReadAt};

use super::block::BlockOptions;
use super::output::Stream;
use super::plan::{FilePlan, Part};
use crate::asdf::Asdf;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::{ArrayError, BlockError, Error, ErrorKind, Result};
use crate::file::locate::numbering::ArrayUse;
use crate::options::{External, OpenOptions, Strictness, Verify};
use block::{Examined, State};
use numbers::ArrayInBlock;

/// Options for recovering a damaged file.
#[derive(Clone, Debug, Default)]
pub struct RecoverOptions {
    limits: Limits,
    folders: Option<(PathBuf, PathBuf)>,
}

impl RecoverOptions {
    /// Creates options with the default values.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the limits for reading the damaged file. Default: [`Limits::default`].
        limits: Limits;
    }

    /// Sets the folders for rewriting the relative URIs of external files: `from` contains the damaged file,
    /// and `to` will contain the new one; see [`Tree::relocate`](crate::Tree::relocate). A tree that cannot be
    /// parsed is left unchanged. If its URIs cannot be rewritten, the tree is also left unchanged,
    /// and a loss is reported.
    #[must_use]
    pub fn relocate(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.folders = Some((from.into(), to.into()));
        self
    }
}

/// A part of the damaged file that the recovered file lacks or contains only in damaged form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// Number of the block, if the loss concerns a block.
    pub block: Option<usize>,
    /// Pointers to the affected arrays.
    pub pointers: Vec<String>,
    /// The affected range of bytes in the damaged file. If a line-ending conversion was undone,
    /// offsets refer to the file with its original line endings. Empty if the loss concerns an array whose
    /// block does not exist or is too small.
    pub bytes: Range<u64>,
    /// Number of bytes that are missing from the recovered file, or 0 if the bytes were kept, but
    /// are damaged:
    ///
    /// - for a truncated block or tree, the bytes that were lost or dropped
    /// - for a lost block, all its known bytes
    /// - for an array, the bytes that it needs, but that its block does not contain
    pub missing: u64,
    /// The error that describes the damage.
    pub reason: Error,
}

/// A summary of the recovered and lost parts of a damaged file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoverReport {
    /// Length of the new file in bytes.
    pub len: u64,
    /// Number of intact blocks.
    pub kept: u64,
    /// Number of blocks that were kept although they are damaged: the data is incomplete, does not match its
    /// checksum, cannot be decoded or has converted line endings, or the number of the block is uncertain.
    pub damaged: u64,
    /// Ranges of stray bytes in the old file that were left out. Ranges that contain only zeros are
    /// not included.
    pub removed: Vec<Range<u64>>,
    /// Losses, ordered by kind: losses in the tree, losses in blocks, and arrays whose blocks do not exist or
    /// are too small.
    pub lost: Vec<Loss>,
    /// Other problems, ordered by offset in the old file.
    pub diagnostics: Vec<Diagnostic>,
}

impl RecoverReport {
    /// Returns the total number of bytes that are known to be missing from the new file.
    pub fn missing_bytes(&self) -> u64 {
        self.lost.iter().fold(0, |sum, loss| sum.saturating_add(loss.missing))
    }
}

/// Writes a new file with everything that can be recovered from a damaged one. The new file starts at the
/// current position of the sink.
///
/// Memory use depends on the size of the tree and the number of blocks, not on the size of the
/// blocks. See [the module](self) for an example.
///
/// # Errors
///
/// Fails with [`ErrorKind::Layout`] if the damaged file has no readable header line, and with
/// [`ErrorKind::Limit`] if [`Limits::max_alloc`] bytes of the tree have been read without finding its end, or
/// if there are more than [`Limits::max_items`] blocks. Fails with [`ErrorKind::Io`] if the source cannot be
/// read, the sink cannot be written, or a folder of [`relocate`](RecoverOptions::relocate) does not exist. All
/// other damage is listed in the report.
pub fn recover<W: Write + Seek>(
    source: Arc<dyn ReadAt>,
    sink: W,
    options: &RecoverOptions,
) -> Result<RecoverReport> {
    let undone = line_ends::undo(source, &options.limits)?;
    let opening = OpenOptions::new()
        .strictness(Strictness::Salvage)
        .limits(options.limits)
        .external(External::Deny)
        .verify(Verify::Never)
        .cache_size(0);
    let file = opening.from_source(undone.source)?;
    let mut report = RecoverReport::default();
    let text = text::recover(&file)?;
    report.lost.extend(text.lost);
    let numbered = numbers::number_blocks(&file, &text.arrays, &options.limits)?;
    let mut plan = FilePlan::new(BlockOptions { align: 1, checksum: true });
    plan.bytes(match &options.folders {
        Some((from, to)) => {
            let (bytes, lost) = text::relocated(&file, text.bytes, from, to)?;
            report.lost.extend(lost);
            bytes
        }
        None => text.bytes,
    });
    let content_end = text::content_end(&file);
    let padding = text::padding(&file, numbered.first_offset())?;
    let mut kept = Kept::new(padding.as_ref().map_or(content_end, |padding| padding.end));
    plan.copy(padding.unwrap_or_default());
    for (number, block) in numbered.blocks.iter().enumerate() {
        let offset = block.offset();
        let Examined { state, reason, note, bytes, missing, is_proved } =
            block::examine(&file, number, block, numbered.end_of(offset))?;
        let converted = undone.damaged.iter().find(|(at, _)| *at == offset && !is_proved);
        let reason = converted.map(|(_, error)| Reason::Block(error.clone())).or(reason);
        plan.parts.push(Part::Header(state.header(&file)?));
        plan.copy(kept.add(&state, reason.is_some()));
        match state {
            State::Kept { .. } if reason.is_none() => report.kept += 1,
            State::Kept { .. } => report.damaged += 1,
            State::Missing => {}
        }
        report.diagnostics.extend(note);
        if let Some(reason) = reason {
            kept.known.push(offset..bytes.end);
            let (pointers, reason) = (Vec::new(), reason.into_error(number));
            report.lost.push(Loss { block: Some(number), pointers, bytes, missing, reason });
        }
    }
    if !kept.is_streamed {
        plan.parts.push(Part::Index);
    }
    name_arrays(&text.arrays, &kept, &mut report);
    report.removed = numbered.removed(kept.known, &file)?;
    report.diagnostics.extend(file.diagnostics());
    report.diagnostics.extend(undone.note);
    report.diagnostics.sort_by_key(|diagnostic| (diagnostic.place.offset, diagnostic.code));
    report.len = plan.write(Stream { out: sink, existing: Some(&**file.source()) })?.len;
    Ok(report)
}

/// The reason why a block is lost or damaged.
enum Reason {
    Block(BlockError),
    Other(Error),
}

impl Reason {
    /// Converts the reason to an error about the block with this number in the new file.
    fn into_error(self, index: usize) -> Error {
        match self {
            Self::Block(kind) => ErrorKind::Block { index, kind }.into(),
            Self::Other(error) => match error.kind() {
                ErrorKind::Codec { code, kind, .. } => {
                    ErrorKind::Codec { index, code: *code, kind: kind.clone() }.into()
                }
                _ => error,
            },
        }
    }
}

/// The blocks written to the new file so far.
struct Kept {
    is_streamed: bool,
    /// Length in bytes of the readable data of each block. 0 if the block is missing, or if it is compressed and
    /// damaged.
    lens: Vec<u64>,
    /// The ranges of the old file that are kept or reported as lost.
    known: Vec<Range<u64>>,
}

impl Kept {
    /// Creates a record without blocks. The bytes before `content_end` in the old file count as
    /// kept.
    fn new(content_end: u64) -> Self {
        let known = std::iter::once(0..content_end).collect();
        Self { is_streamed: false, lens: Vec::new(), known }
    }

    /// Adds a block. Returns the range of the old file to copy after the block's header.
    fn add(&mut self, state: &State, is_damaged: bool) -> Range<u64> {
        let (copied, len) = match state {
            State::Missing => (0..0, 0),
            State::Kept { header, copied } => {
                self.is_streamed = header.is_streamed();
                self.known.push(header.offset..copied.end);
                let len = if header.is_streamed() {
                    copied.end - copied.start
                } else if header.is_compressed() && is_damaged {
                    // It is unknown how much of a damaged block can be decoded.
                    0
                } else {
                    header.data_size
                };
                (copied.clone(), len)
            }
        };
        self.lens.push(len);
        copied
    }
}

/// Returns `true` if `is_allowed` accepts all bytes in a range of the old file.
fn contains_only(file: &Asdf, bytes: Range<u64>, is_allowed: impl Fn(u8) -> bool) -> Result<bool> {
    let source = file.source();
    for piece in source.pieces(bytes, source.preferred_piece()) {
        if !piece?.iter().all(|&byte| is_allowed(byte)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds the affected arrays to the reported loss of each block. Also reports arrays whose blocks do
/// not exist or are too small.
fn name_arrays(arrays: &[ArrayInBlock], kept: &Kept, report: &mut RecoverReport) {
    let count = kept.lens.len();
    for array in arrays {
        let ArrayUse { source, needs } = &array.used;
        let index = source.resolve(count);
        let Some(&len) = index.and_then(|index| kept.lens.get(index)) else {
            let index = index.unwrap_or(0);
            let kind = BlockError::NoSuchBlock { count };
            let reason = ErrorKind::Block { index, kind }.into();
            let pointers = array.pointers().collect();
            let missing = needs.as_ref().map_or(0, |needs| needs.end - needs.start);
            report.lost.push(Loss { block: None, pointers, bytes: 0..0, missing, reason });
            continue;
        };
        let is_outside = needs.as_ref().is_some_and(|needs| needs.end > len);
        let known = report.lost.iter_mut().find(|loss| loss.block.is_some() && loss.block == index);
        if let Some(loss) = known {
            // In a truncated block, arrays whose elements all precede the truncation are intact.
            let is_cut = matches!(
                loss.reason.kind(),
                ErrorKind::Block { kind: BlockError::PastEnd { .. }, .. }
            );
            if is_outside || needs.is_none() || !is_cut {
                loss.pointers.extend(array.pointers());
            }
        } else if is_outside {
            let needs = needs.clone().unwrap_or_default();
            let missing = needs.end - needs.start.max(len).min(needs.end);
            let kind =
                ArrayError::OutsideBlock { low: needs.start.into(), high: needs.end.into(), len };
            let reason = Error::new(ErrorKind::Array {
                pointer: Some(array.pointer.clone()),
                line: array.line,
                column: array.column,
                kind,
            });
            let pointers = array.pointers().collect();
            report.lost.push(Loss { block: None, pointers, bytes: 0..0, missing, reason });
        }
    }
    // Remove duplicates, because an array and its mask may be in the same block.
    for loss in &mut report.lost {
        let mut seen = HashSet::new();
        loss.pointers.retain(|pointer| seen.insert(pointer.clone()));
    }
}

/// Creates a note about a problem that has been repaired.
fn mended(code: Code, offset: u64, message: impl Into<String>) -> Diagnostic {
    let mut note = Diagnostic::new(code, Place::at(offset), message);
    note.severity = Severity::Note;
    note
}
