//! Adding data to a native file. The new part of the layout is appended to the old layout, on a separate line.
//!
//! | mode | effect |
//! |---|---|
//! | [`Safe`](ExtendMode::Safe) | new data follows the old layout, at an `@` address; the old layout remains in the file, but is no longer used |
//! | [`InPlace`](ExtendMode::InPlace) | new data overwrites the old layout, as in the specification |
//!
//! Both modes change the file through a journal ([`binio::write`]). If a change is interrupted,
//! readers see the old content, and the next change to the file rolls back the interrupted change.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use binio::array::{self, Data, Element};
use binio::write::{Change, ChangePlan, FileLock, FileStorage, Storage, WriteAt};
use binio::{Context as _, ReadAt, Span};

use super::writer::{WriteReport, Writer, layout_text};
use crate::error::{Error, ErrorKind};
use crate::file::{FileBytes, appended_text};
use crate::filter::FilterRegistry;
use crate::layout::{Declaration, Layout, Placement, Subject};
use crate::options::{Limits, ParseOptions};
use crate::place::{AddressTable, Resolver, Rules, Values, alignment};
use crate::signature::Signature;
use crate::source::Source;
use crate::text::{Lexer, Node, NodeKind, TokenKind, Tree};

/// Adjacent rows are collected until they have at least this many bytes, and are then written
/// together.
const MAX_JOINED: usize = 1 << 20;

/// The method by which a native file is extended.
///
/// ```
/// use dudley::Values;
/// use dudley::write::{ExtendMode, Extension};
///
/// let native = b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n";
/// let extended = |mode| {
///     let more = Extension::new(&native[..], "y = i4", mode, &Values::new())?;
///     Ok::<_, dudley::Error>(more.layout().to_string())
/// };
/// assert_eq!(extended(ExtendMode::InPlace)?, "x = i4\ny = i4\n");
/// // The new data follows the old layout, which ends at address 27.
/// assert_eq!(extended(ExtendMode::Safe)?, "x = i4\ny = i4 @28\n");
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendMode {
    /// The new data follows the old layout, which remains in the file but is no longer used.
    #[default]
    Safe,
    /// The new data overwrites the old layout.
    InPlace,
}

/// New data for a native file. The data is kept in memory until [`commit`](Self::commit) is called.
///
/// ```
/// use dudley::write::{ExtendMode, Extension};
/// use dudley::{File, Values};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.bdud");
/// std::fs::write(&path, b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n")?;
/// let mut more = Extension::open(&path, "y = i4[2]", ExtendMode::InPlace, &Values::new())?;
/// more.put("y", &[8_i32, 9])?;
/// more.commit_to(&path)?;
/// let file = File::open(&path, None)?;
/// assert_eq!(file.get("x")?.read::<i32>()?, [7]);
/// assert_eq!(file.get("y")?.read::<i32>()?, [8, 9]);
/// assert_eq!(dudley::file::appended_layout(&std::fs::read(&path)?)?, b"x = i4\ny = i4[2]\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Extension {
    writer: Writer<'static>,
    mode: ExtendMode,
    signature: Signature,
    /// Length of the file in bytes before the change.
    old_len: u64,
    text: String,
}

impl Extension {
    /// Prepares to extend a file on disk. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new). Also fails with [`Read`](ErrorKind::Read) if the file cannot be opened.
    pub fn open(
        path: impl AsRef<Path>,
        more: &str,
        mode: ExtendMode,
        values: &Values,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let source = FileBytes::open(path).with_context(|| path.display().to_string())?;
        Self::new(&source, more, mode, values)
    }

    /// Prepares to extend a native file with the items declared in the layout text `more`. They
    /// belong to the dict in which the old layout ended, unless `more` begins with `/` to return to
    /// the root. `values` contains the values of new stored parameters. Addresses follow the
    /// default rules, as for [`File::open`](crate::File::open).
    ///
    /// # Errors
    ///
    /// Fails with [`NotNative`](ErrorKind::NotNative) if the file has no signature, and with
    /// [`NoLayout`](ErrorKind::NoLayout) if no layout is appended to it. Fails with
    /// [`Extend`](ErrorKind::Extend) if the text changes existing items, if the new data would overwrite
    /// existing data, or if an in-place extension needs an explicit `@` address that the text does not
    /// state. Fails with [`Layout`](ErrorKind::Layout) if the extended layout has errors, or if one of its
    /// addresses cannot be computed, with [`Mismatch`](ErrorKind::Mismatch) if the type of a new parameter
    /// cannot represent its value, and with [`Read`](ErrorKind::Read) if the file cannot be read. If the
    /// signature is damaged, fails like [`Signature::of`].
    pub fn new(
        file: &(impl ReadAt + ?Sized),
        more: &str,
        mode: ExtendMode,
        values: &Values,
    ) -> Result<Self, Error> {
        let file: &dyn ReadAt = &file;
        let signature = Signature::of(file)?.ok_or(ErrorKind::NotNative)?;
        let data = Span::new(file, 0..signature.layout_address)?;
        let old = Old::of(file, &data, signature, values)?;
        let start = match mode {
            ExtendMode::Safe => file.len(),
            ExtendMode::InPlace => signature.layout_address,
        };
        let text = old.extended_text(more, mode, start)?;
        let layout = Arc::new(parse_extended(&text)?);
        let kept = old.kept_declarations(&layout)?;
        // The existing addresses are known, and the new addresses do not depend on the content of the file.
        let inputs = resolver(Arc::clone(&layout), &data, values, signature).into_inputs();
        let (rows, end) = (old.table.rows(), old.table.end());
        let before = (rows, kept, end);
        let table = inputs.table(Arc::clone(&layout), old.table.numbers(), before)?;
        let free = match mode {
            ExtendMode::Safe => start,
            ExtendMode::InPlace => old.data_end,
        };
        check_free(&table, rows.len(), free)?;
        let limits = binio::Limits::default();
        let mut writer = Writer::in_memory(layout, inputs, table, limits);
        writer.keep(rows.len(), kept, end);
        writer.put_params_from(rows.len())?;
        Ok(Self { writer, mode, signature, old_len: file.len(), text })
    }

    /// Returns the extended layout.
    pub fn layout(&self) -> &Layout {
        &self.writer.layout
    }

    /// Sets the filters for compressed arrays and references. By default, the filters of this crate are used.
    #[must_use]
    pub fn filters(mut self, filters: FilterRegistry) -> Self {
        self.writer.filters = filters;
        self
    }

    /// Puts numbers at a path, like [`Writer::put`].
    ///
    /// # Errors
    ///
    /// Same as [`Writer::put`].
    pub fn put<T: Element>(&mut self, path: &str, elements: &[T]) -> Result<(), Error> {
        self.writer.put(path, elements)
    }

    /// Puts numbers at a path, like [`Writer::put_vec`]. If the numbers fill a whole array and need
    /// no conversion, the vector is kept without being copied.
    ///
    /// # Errors
    ///
    /// Same as [`Writer::put`].
    pub fn put_vec<T: Element>(&mut self, path: &str, elements: Vec<T>) -> Result<(), Error> {
        self.writer.put_vec(path, elements)
    }

    /// Puts strings at a path, like [`Writer::put_strings`].
    ///
    /// # Errors
    ///
    /// Same as [`Writer::put_strings`].
    pub fn put_strings(&mut self, path: &str, texts: &[&str]) -> Result<(), Error> {
        self.writer.put_strings(path, texts)
    }

    /// Puts an array at a path, like [`Writer::put_array`].
    ///
    /// # Errors
    ///
    /// Same as [`Writer::put_array`].
    pub fn put_array<D: Data>(&mut self, path: &str, array: &array::Array<D>) -> Result<(), Error>
    where
        Error: From<D::Error>,
    {
        self.writer.put_array(path, array)
    }

    /// Extends the file on disk. If an earlier change was interrupted, rolls it back first.
    ///
    /// # Errors
    ///
    /// Same as [`commit`](Self::commit). Also fails with [`Read`](ErrorKind::Read) if another writer is using
    /// the file, or if an interrupted change cannot be rolled back.
    pub fn commit_to(self, path: impl AsRef<Path>) -> Result<WriteReport, Error> {
        let lock = FileLock::acquire(path)?;
        lock.roll_back()?;
        let mut storage = FileStorage::open(&lock)?;
        self.commit(&mut storage)
    }

    /// Extends the file. Writes the data, then the layout, then the address of the layout. After
    /// each step, waits until the bytes are on disk. Missing data is filled with zeros.
    ///
    /// # Errors
    ///
    /// Fails with [`Extend`](ErrorKind::Extend) if the length or the signature of the file has changed since
    /// this extension was created, and with [`Read`](ErrorKind::Read) if the file cannot be written. Also
    /// fails if an address is still unknown, or if zeros in place of missing data cannot be compressed. In
    /// all cases, the file keeps its old content.
    pub fn commit(self, storage: &mut dyn Storage) -> Result<WriteReport, Error> {
        let Self { writer, mode, signature, old_len, text } = self;
        if storage.file().len() != old_len || Signature::of(storage.file())? != Some(signature) {
            let message = "the file was changed after the extension was prepared".to_owned();
            return Err(ErrorKind::Extend { message }.into());
        }
        let (rows, range, missing) = writer.into_rows()?;
        let end = range.end;
        let layout_address = match mode {
            ExtendMode::Safe => end.max(old_len),
            ExtendMode::InPlace => end.max(signature.layout_address),
        };
        let len = layout_address + text.len() as u64;
        let header = Signature { layout_address, ..signature }.to_bytes();
        let overwritten = match mode {
            ExtendMode::Safe => old_len..old_len,
            // New data may begin before the old layout, because there may be unused bytes before
            // it.
            ExtendMode::InPlace => signature.layout_address.min(range.start)..old_len,
        };
        let untouched = Signature::LEN..overwritten.start;
        let plan = ChangePlan::new(untouched).overwrite(overwritten.clone()).marker(0, header);
        let mut change = Change::begin(storage, &plan)?;
        // Fill missing data and gaps between items with zeros.
        let gap = overwritten.start..layout_address.min(old_len);
        let mut at = gap.start;
        while at < gap.end {
            let zeros = vec![0; usize::try_from(gap.end - at).unwrap_or(usize::MAX).min(1 << 16)];
            change.write_all_at(&zeros, at)?;
            at += zeros.len() as u64;
        }
        // Each write over existing bytes waits for the journal, so write adjacent rows together.
        let (mut start, mut joined) = (0, Vec::new());
        for (address, bytes) in rows {
            if address != start + joined.len() as u64 || joined.len() >= MAX_JOINED {
                change.write_all_at(&joined, start)?;
                joined.clear();
                start = address;
            }
            joined.extend_from_slice(&bytes);
        }
        change.write_all_at(&joined, start)?;
        change.sync()?;
        change.write_all_at(text.as_bytes(), layout_address)?;
        change.set_len(len)?;
        change.sync()?;
        change.write_all_at(&header, 0)?;
        change.commit()?;
        Ok(WriteReport { missing, layout_address: Some(layout_address), len })
    }
}

/// The layout and addresses of a file before it is extended.
struct Old {
    layout: Arc<Layout>,
    table: AddressTable,
    /// The offset at which the data ends.
    data_end: u64,
}

impl Old {
    fn of(
        file: &dyn ReadAt,
        data: &dyn ReadAt,
        signature: Signature,
        values: &Values,
    ) -> Result<Self, Error> {
        if signature.layout_address == 0 {
            return Err(ErrorKind::NoLayout { is_native: true }.into());
        }
        let layout = Arc::new(Layout::parse(appended_text(file, signature)?)?);
        let table = resolver(Arc::clone(&layout), data, values, signature).table()?;
        let ends = table.rows().iter().filter_map(|row| Some(row.address()? + row.nbytes()?));
        let data_end = ends.max().unwrap_or(Signature::LEN).max(Signature::LEN);
        Ok(Self { layout, table, data_end })
    }

    /// Returns the text of this layout followed by `more`. In safe mode, adds an address at or after `start` to
    /// the first new data item or stored parameter, unless it already has an explicit address. In-place mode
    /// fails if such an address is needed but missing.
    fn extended_text(&self, more: &str, mode: ExtendMode, start: u64) -> Result<String, Error> {
        let first = layout_text(&self.layout);
        let second =
            if more.ends_with(['\n', '\r']) { more.to_owned() } else { format!("{more}\n") };
        let range = new_placement(&first, &second)?;
        let mut text = first + &second;
        let layout = parse_extended(&text)?;
        let Some((subject, range)) = first_new(&layout, &self.layout).zip(range) else {
            return Ok(text);
        };
        let stated = match (layout.placement(subject), mode) {
            (Some(Placement::Address(_)), _) => return Ok(text),
            (_, ExtendMode::InPlace) if self.table.end() == Some(self.data_end) => return Ok(text),
            (_, ExtendMode::InPlace) => {
                let message = format!(
                    "because of `@` addresses, the data continues after the item that the old layout declares last: \
                     add an `@` address of at least {} to the first new item",
                    self.data_end
                );
                return Err(ErrorKind::Extend { message }.into());
            }
            (Some(Placement::Align(align)), ExtendMode::Safe) => align,
            (None, ExtendMode::Safe) => 1,
        };
        let align = alignment(&layout, subject).max(stated).max(1);
        let address = start.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        let blank = if text[..range.start].ends_with(' ') { "" } else { " " };
        text.replace_range(range, &format!("{blank}@{address}"));
        Ok(text)
    }

    /// Returns the number of declarations in the old layout. Fails unless the new layout begins
    /// with the same declarations.
    fn kept_declarations(&self, layout: &Layout) -> Result<usize, Error> {
        let kept = self.layout.declarations();
        if layout.declarations().starts_with(kept) {
            return Ok(kept.len());
        }
        let message = "the new text changes a declaration of the old layout".to_owned();
        Err(ErrorKind::Extend { message }.into())
    }
}

/// Fails if any new data begins before the address `free`.
fn check_free(table: &AddressTable, first_new: usize, free: u64) -> Result<(), Error> {
    let new = table.rows()[first_new..].iter().filter(|row| row.nbytes() != Some(0));
    let mut low = new.filter(|row| row.address().is_some_and(|address| address < free));
    let Some(row) = low.next() else { return Ok(()) };
    let path = table.layout().subject_path(row.subject());
    let message = format!("`{path}` would overwrite existing data");
    Err(ErrorKind::Extend { message }.into())
}

fn resolver<'a, L: std::ops::Deref<Target = Layout> + Clone>(
    layout: L,
    data: &'a dyn ReadAt,
    values: &Values,
    signature: Signature,
) -> Resolver<'a, L> {
    // The signature has already been parsed, so only pass its byte order.
    Resolver::new(layout)
        .rules(Rules::new().values(values.clone()))
        .native_stream(data, signature.order)
}

/// Parses the extended layout. Line numbers in messages refer to the old and new text combined.
fn parse_extended(text: &str) -> Result<Layout, Error> {
    ParseOptions::new().parse_source(Source::decode_named(text.as_bytes(), "extended layout")?)
}

/// Returns the first stored item or parameter that the old layout does not declare, or `None` if
/// there is no such item or parameter.
fn first_new(layout: &Layout, old: &Layout) -> Option<Subject> {
    let new = layout.declarations().get(old.declarations().len()..).unwrap_or_default();
    new.iter().find_map(|found| match *found {
        Declaration::Item(id) => layout.data_of(id).map(|_| id.into()),
        Declaration::Param(id) => layout.param(id).value.is_stored().then(|| id.into()),
        Declaration::Type(..) => None,
    })
}

/// Finds the first data item or stored parameter in the second text. Returns the range of its
/// placement in the combined text. If the item or parameter has no placement, returns an empty
/// range at the offset at which a placement can be inserted. Returns `None` if the second text
/// declares no data item or stored parameter.
fn new_placement(first: &str, second: &str) -> Result<Option<Range<usize>>, Error> {
    let limits = Limits::default();
    let text = format!("{first}{second}");
    let (old, all) = (Tree::parse(first, &limits), Tree::parse(&text, &limits));
    let is_item = |node: &Node| matches!(node.kind, NodeKind::Name | NodeKind::Top | NodeKind::Up);
    let begins = all.nodes.get(old.nodes.len());
    if all.nodes.get(..old.nodes.len()) != Some(&old.nodes) || !begins.is_none_or(is_item) {
        let message = "the new text would continue the last item of the old layout".to_owned();
        return Err(ErrorKind::Extend { message }.into());
    }
    let mut at = old.nodes.len();
    let node = |at: usize| all.nodes.get(at).copied();
    let kind = |at: usize| node(at).map(|node| node.kind);
    while let Some(this) = node(at) {
        at += 1;
        match this.kind {
            // Skip the body of a named type.
            NodeKind::StructOpen => at = struct_end(&all, at),
            NodeKind::Extend => return Ok(node(at).map(range)),
            NodeKind::Param if kind(at) == Some(NodeKind::Integer) => {}
            NodeKind::Data | NodeKind::Param | NodeKind::Element => {
                if matches!(kind(at), Some(NodeKind::ListOpen | NodeKind::DictOpen)) {
                    continue;
                }
                return Ok(placement_at(&all, &text, at));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Returns the index of the node after the `}` of a struct.
fn struct_end(tree: &Tree, mut at: usize) -> usize {
    let mut depth = 1;
    while depth > 0 && at < tree.nodes.len() {
        match tree.nodes[at].kind {
            NodeKind::StructOpen => depth += 1,
            NodeKind::StructClose => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Returns the range of the placement of a data item whose type begins at node `at`. If the item has no
/// placement, returns the empty range after the item.
fn placement_at(tree: &Tree, text: &str, mut at: usize) -> Option<Range<usize>> {
    let mut last = None;
    while let Some(&node) = tree.nodes.get(at) {
        match node.kind {
            NodeKind::StructOpen => {
                at = struct_end(tree, at + 1);
                last = tree.nodes.get(at - 1).copied();
                continue;
            }
            NodeKind::Mark
            | NodeKind::Type
            | NodeKind::Dim
            | NodeKind::DimName
            | NodeKind::Suffix
            | NodeKind::Compress
            | NodeKind::Reference
            | NodeKind::Argument => last = Some(node),
            NodeKind::At | NodeKind::Align => return Some(range(node)),
            _ => break,
        }
        at += 1;
    }
    let last = last?;
    let mut end = last.end as usize;
    let closing = match last.kind {
        NodeKind::Dim | NodeKind::DimName | NodeKind::Suffix => Some(TokenKind::CloseBracket),
        NodeKind::Argument | NodeKind::Compress | NodeKind::Reference => {
            Some(TokenKind::CloseParen)
        }
        _ => None,
    };
    if let Some(closing) = closing {
        let tokens = Lexer::new(&text[end..]).filter(|token| !token.kind.is_comment());
        for token in tokens.take(2) {
            if token.kind == closing {
                end += token.end as usize;
                break;
            }
            if token.kind != TokenKind::OpenParen {
                break;
            }
        }
    }
    Some(end..end)
}

fn range(node: Node) -> Range<usize> {
    node.start as usize..node.end as usize
}
