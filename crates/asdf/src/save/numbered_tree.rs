//! Preparing a tree for writing: adapting the tags and the history to the version of the standard, and assigning
//! block numbers to arrays.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use num_bigint::Sign;

use super::block::{ArrayData, Content};
use super::{WriteOptions, metadata};
use crate::asdf::Asdf;
use crate::error::{Error, ErrorKind, Result};
use crate::file::blocks::{Block, BlockRef};
use crate::ndarray::source::Source;
use crate::tag::{CORE_PREFIX, TagUri, Version};
use crate::tree::open_external;
use crate::value::edit::TreeText;
use crate::value::emit::{ArrayNode, Arrays, LITERALS, emit};
use crate::value::walk::Visit;
use crate::value::{Array, ArrayStorage, Mapping, Mask, Tree, Value, kind_and_name};
use crate::yaml::{Integer, NodeKind, YamlNode};

/// The version of the standard that introduced `float16`.
const FLOAT16: Version = Version::new(1, 6, 0);
/// The version of the standard that restricted the types of keys.
const RESTRICTED_KEYS: Version = Version::new(1, 6, 0);

/// A tree and its blocks. Each array in the tree is either inline or has a block number.
pub(crate) struct NumberedTree<'a> {
    tree: Tree,
    pub(super) blocks: Vec<Content<'a>>,
    /// The index in `blocks` of each new array's block, by the address of the array data.
    numbers: HashMap<usize, usize>,
    /// The URIs of the files that contain the blocks, if the file is exploded.
    names: Option<Vec<String>>,
    /// For each block in `blocks`, its block number in the file. `None` if the blocks are numbered in
    /// order from 0.
    numbering: Option<Vec<usize>>,
    ndarray_tag: String,
    inline_below: u64,
}

/// The file whose blocks the tree refers to by number.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) file: &'a Asdf,
    /// Whether to also copy blocks from external files.
    pub(super) implode: bool,
}

impl<'a> NumberedTree<'a> {
    /// Prepares an entire tree. If `streamed` is set, the source -1 refers to an additional block,
    /// which is appended later.
    pub(super) fn new(
        tree: &Tree,
        origin: Option<Origin<'a>>,
        options: &WriteOptions,
        streamed: bool,
    ) -> Result<Self> {
        let original = tree;
        let mut tree = tree.clone();
        if *tree.root() == Value::Null {
            *tree.root_mut() = Mapping::new().into();
        }
        let Some(root) = tree.root_mut().as_mapping_mut() else {
            return Err(Error::unwritable(
                "the root of the tree is not a mapping, but a file requires one",
            ));
        };
        metadata::add(root, options, origin.is_some());
        let root = std::mem::take(tree.root_mut());
        *tree.root_mut() = root.tagged(core_tag("asdf", options.standard)?);
        let kept = origin.map(|origin| kept_blocks(&tree, origin, streamed)).transpose()?;
        let kept = kept.unwrap_or_default();
        let mut numbered = Self::empty(options)?;
        let mut sources = HashMap::new();
        if let Some(origin) = origin {
            for (number, old) in kept.iter().enumerate() {
                sources.insert(*old, number);
                numbered.blocks.push(copied(origin.file.blocks().get(*old)?, options)?);
            }
        }
        let mut places = Places {
            numbered: &mut numbered,
            original,
            origin,
            sources,
            external: Vec::new(),
            options,
            streamed,
        };
        places.prepare(&mut tree)?;
        numbered.tree = tree;
        Ok(numbered)
    }

    fn empty(options: &WriteOptions) -> Result<Self> {
        Ok(Self {
            tree: Tree::default(),
            blocks: Vec::new(),
            numbers: HashMap::new(),
            names: None,
            numbering: None,
            ndarray_tag: core_tag("ndarray", options.standard)?,
            inline_below: options.inline_below,
        })
    }

    /// Prepares a new part of a file's tree. Block numbers in this part refer to the blocks of the
    /// file. The first new array gets the block number `reused`, if given; all others are numbered
    /// from `next` on.
    #[cfg(any(unix, windows))]
    pub(crate) fn of_part(
        part: &Tree,
        file: &'a Asdf,
        options: &WriteOptions,
        reused: Option<usize>,
        next: usize,
    ) -> Result<Self> {
        let mut tree = part.clone();
        let has_sources = tree.values().any(|value| value.source().is_some());
        let count = if has_sources { file.blocks().len()? } else { 0 };
        let sources = (0..count).map(|number| (number, number)).collect();
        let mut numbered = Self::empty(options)?;
        let origin = Some(Origin { file, implode: false });
        let mut places = Places {
            numbered: &mut numbered,
            original: part,
            origin,
            sources,
            external: Vec::new(),
            options,
            streamed: false,
        };
        places.prepare(&mut tree)?;
        numbered.tree = tree;
        let numbers = reused.into_iter().chain(next..);
        numbered.numbering = Some(numbers.take(numbered.blocks.len()).collect());
        Ok(numbered)
    }

    /// Returns the arrays to be stored in new blocks, with their block numbers.
    #[cfg(any(unix, windows))]
    pub(crate) fn into_arrays(self) -> Vec<(usize, ArrayData)> {
        let numbers = self.numbering.unwrap_or_else(|| (0..self.blocks.len()).collect());
        let arrays = numbers.into_iter().zip(self.blocks);
        let arrays = arrays.filter_map(|(number, block)| match block {
            Content::Array(array) => Some((number, array)),
            _ => None,
        });
        arrays.collect()
    }

    /// Returns the prepared tree.
    #[cfg(any(unix, windows))]
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns `true` if at least one array is stored in a block of this file.
    pub(super) fn names_blocks(&self) -> bool {
        let is_array = |block: &Content<'_>| matches!(block, Content::Array(_));
        let in_block = |value: &Value| matches!(value.source(), Some(Source::Block(_)));
        self.blocks.iter().any(is_array) || self.tree.values().any(in_block)
    }

    /// Returns the text of the tree, keeping as much of the old text as possible. Returns `None` if the old
    /// and new text cannot be merged; see [`TreeText::merged`].
    pub(super) fn merged_into(&self, old: &TreeText) -> Result<Option<TreeText>> {
        old.merged(&self.tree, self)
    }

    /// Writes the tree as YAML text.
    pub(super) fn emit(&self, out: &mut dyn Write) -> Result<()> {
        emit(&self.tree, self, out)
    }

    /// Returns the URIs of the external files that the tree refers to.
    #[cfg(any(unix, windows))]
    pub(super) fn external_sources(&self) -> BTreeSet<String> {
        let uri = |value: &Value| match value.source() {
            Some(Source::File(uri)) => Some(uri.to_owned()),
            _ => None,
        };
        self.tree.values().filter_map(uri).collect()
    }

    /// Rewrites the relative URIs of external files; see [`Tree::relocate`].
    pub(super) fn relocate(&mut self, from: &Path, to: &Path) -> Result<()> {
        self.tree.relocate(from, to)?;
        Ok(())
    }

    /// Replaces block numbers with the URIs of the files that contain the blocks.
    #[cfg(any(unix, windows))]
    pub(super) fn explode(&mut self, names: Vec<String>) -> Result<()> {
        self.tree.walk_mut(Visit::WithoutElements, &mut |value| {
            let Some(Source::Block(BlockRef::Index(index))) = value.source() else {
                return Ok(());
            };
            if let Some((name, source)) = names.get(index).zip(source_of(value)) {
                *source = name.as_str().into();
            }
            Ok(())
        })?;
        self.names = Some(names);
        Ok(())
    }

    fn is_inline(&self, array: &Array) -> bool {
        match array.storage {
            ArrayStorage::Inline => true,
            ArrayStorage::Block => false,
            // If the array cannot be written inline, store it in a block.
            ArrayStorage::Automatic => {
                array.layout.len() < self.inline_below && crate::value::emit::is_inline(array)
            }
        }
    }
}

impl Arrays for NumberedTree<'_> {
    fn node(&self, array: &Array) -> Result<ArrayNode> {
        let tag = self.ndarray_tag.clone();
        let Some(&number) = self.numbers.get(&address(array)) else {
            return ArrayNode::inline(array, tag);
        };
        if self.is_inline(array) {
            return ArrayNode::inline(array, tag);
        }
        let in_file =
            |number| self.numbering.as_ref().map_or(Some(number), |all| all.get(number).copied());
        let source = match self.names.as_ref().and_then(|names| names.get(number)) {
            Some(name) => name.as_str().into(),
            None => Value::from(in_file(number).unwrap_or(number) as u64),
        };
        Ok(ArrayNode::in_block(array, source, tag))
    }
}

fn address(array: &Array) -> usize {
    Arc::as_ptr(&array.data).cast::<u8>().addr()
}

/// Returns the content for copying a block from another file. The block is recompressed if the
/// options set a different compression, or any compression with a level, because the header of the
/// block does not record the level.
fn copied<'a>(block: Block<'a>, options: &WriteOptions) -> Result<Content<'a>> {
    let code = block.header()?.compression;
    Ok(match options.compression {
        Some(compression) if compression.code() != code || compression.level().is_some() => {
            Content::Decoded(block, compression)
        }
        _ => Content::Stored(block),
    })
}

/// Returns the newest core tag with this name in the given version of the standard. Fails if this
/// version has no tag with this name.
fn core_tag(name: &str, standard: Version) -> Result<String> {
    let uri = format!("{CORE_PREFIX}{name}");
    let versions = TagUri { version: None, ..TagUri::new(&uri) };
    let known = versions.known_versions().filter(|(_, since)| *since <= standard);
    match known.map(|(version, _)| version).max() {
        Some(version) => Ok(format!("{uri}-{version}")),
        None => Err(Error::unwritable(format!(
            "version {standard} of the standard has no tag `{name}`: choose another version"
        ))),
    }
}

/// Returns the `source` entry of a value that describes an array in a file, or `None` for other
/// values.
fn source_of(value: &mut Value) -> Option<&mut Value> {
    let is_array = value.is_ndarray();
    value.as_mapping_mut().filter(|_| is_array)?.get_mut("source")
}

/// Returns the numbers of the blocks to keep. A block is omitted if arrays of the original file refer to it,
/// but no array of the tree does. Blocks to which no array of the original file refers are kept, because other
/// nodes may refer to them by number.
fn kept_blocks(tree: &Tree, origin: Origin<'_>, streamed: bool) -> Result<Vec<usize>> {
    let blocks = origin.file.blocks();
    let mut used = BTreeSet::new();
    for value in tree.values() {
        match value.source() {
            // The source -1 refers to the block that will be appended.
            Some(Source::Block(BlockRef::LAST)) if streamed => {}
            Some(Source::Block(block)) => {
                used.insert(blocks.by_source(block)?.index());
            }
            Some(Source::File("")) => {
                used.insert(0);
            }
            _ => {}
        }
    }
    let named = origin.file.document()?.nodes().filter_map(YamlNode::block_ref);
    let known = named.filter_map(|block| Some(blocks.by_source(block).ok()?.index()));
    let known: BTreeSet<usize> = known.collect();
    Ok((0..blocks.len()?).filter(|at| used.contains(at) || !known.contains(at)).collect())
}

/// Prepares the values of a tree and collects the blocks that they need.
struct Places<'p, 'a> {
    numbered: &'p mut NumberedTree<'a>,
    /// The original tree, for resolving the handles of shared nodes.
    original: &'p Tree,
    origin: Option<Origin<'a>>,
    /// The new number of each block, by its number in the original file.
    sources: HashMap<usize, usize>,
    /// The external files whose first blocks are copied, with the new numbers of these blocks.
    external: Vec<(*const Asdf, usize)>,
    options: &'p WriteOptions,
    /// Whether the source -1 refers to a block that is appended later.
    streamed: bool,
}

impl Places<'_, '_> {
    fn prepare(&mut self, tree: &mut Tree) -> Result<()> {
        let mut visited = 0;
        let walked = tree.walk_mut(Visit::WithoutElements, &mut |value| {
            visited += 1;
            self.value(value)
        });
        walked.map_err(|error| match error.kind() {
            ErrorKind::Unwritable { pointer: None, message } => {
                let pointer = tree.pointer_of_visit(Visit::WithoutElements, visited - 1);
                Error::unwritable_at(&pointer.unwrap_or_default(), message.clone())
            }
            _ => error,
        })
    }

    fn value(&mut self, value: &mut Value) -> Result<()> {
        let standard = self.options.standard;
        if let Value::Tagged(tagged) = value {
            let uri = TagUri::new(&tagged.tag);
            if uri.is_known_core() {
                match core_tag(uri.name, standard) {
                    Ok(tag) => tagged.tag = tag,
                    // In a copy, keep a tag that the chosen version of the standard lacks,
                    // because readers accept any known tag.
                    Err(_) if self.origin.is_some() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let integer = match &*value {
            Value::Int(integer) => Some(integer.clone()),
            Value::ScalarText(written) => written.integer(),
            _ => None,
        };
        if let Some(integer) = integer.filter(is_beyond_literals) {
            *value = big_integer(&integer, standard)?;
        }
        if let Value::Mapping(mapping) = value.untagged() {
            let mut keys = mapping.iter().map(|(key, _)| self.original.resolve(key));
            keys.try_for_each(|key| check_key(key, standard))?;
        }
        let number = value.source().map(|source| self.source(source)).transpose()?.flatten();
        if let Some((source, number)) = source_of(value).zip(number) {
            *source = Value::from(number as u64);
        }
        if value.is_ndarray() {
            self.check_datatype(value)?;
        }
        match value.untagged() {
            Value::Array(array) => self.array(array),
            _ => Ok(()),
        }
    }

    /// Fails if an existing array, or a field of its records, has the datatype `float16`, but the
    /// chosen version of the standard does not define it.
    fn check_datatype(&self, array: &Value) -> Result<()> {
        if self.options.standard >= FLOAT16 {
            return Ok(());
        }
        let datatype = array.as_mapping().and_then(|mapping| mapping.get("datatype"));
        let mut rest: Vec<&Value> = datatype.into_iter().collect();
        let mut seen = HashSet::new();
        while let Some(datatype) = rest.pop() {
            if let Value::Shared(handle) = datatype {
                // Visit each shared node only once, because shared nodes can contain each other.
                if !seen.insert(*handle) {
                    continue;
                }
            }
            match self.original.resolve(datatype).untagged() {
                Value::Sequence(fields) => rest.extend(fields.items()),
                Value::Mapping(field) => rest.extend(field.get("datatype")),
                name if name.as_str() == Some("float16") => {
                    return Err(no_float16(self.options.standard));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the new number of the block that the source refers to, or `None` if the source need
    /// not be changed.
    fn source(&mut self, source: Source<'_>) -> Result<Option<usize>> {
        match (source, self.origin) {
            (Source::Block(BlockRef::LAST), _) if self.streamed => Ok(None),
            (Source::Block(block), Some(origin)) => {
                let old = origin.file.blocks().by_source(block)?.index();
                Ok(self.sources.get(&old).copied())
            }
            (Source::Block(block), None) => {
                let message = format!(
                    "`source: {block}` refers to a block of a file, but the tree does not come \
                     from a file: set the file with `Writer::blocks_of`"
                );
                Err(Error::unwritable(message))
            }
            (Source::File(uri), Some(origin)) => self.external(uri, origin),
            (Source::File(_), None) | (Source::Inline(_), _) => Ok(None),
        }
    }

    /// Returns the new number of the first block of an external file, or `None` if it is not copied.
    fn external(&mut self, uri: &str, origin: Origin<'_>) -> Result<Option<usize>> {
        if uri.is_empty() {
            return Ok(self.sources.get(&0).copied());
        }
        if !origin.implode {
            return Ok(None);
        }
        // Use the field instead of the parameter, because only the field has the lifetime `'a`.
        let Some(origin) = self.origin else { return Ok(None) };
        let file = open_external(origin.file, uri)?;
        let known = self.external.iter().find(|(known, _)| std::ptr::eq(*known, file));
        if let Some((_, number)) = known {
            return Ok(Some(*number));
        }
        let number = self.numbered.blocks.len();
        self.numbered.blocks.push(copied(file.blocks().get(0)?, self.options)?);
        self.external.push((file, number));
        Ok(Some(number))
    }

    /// Adds blocks for an array and its mask, unless their data already has a block or is written inline.
    fn array(&mut self, array: &Array) -> Result<()> {
        let mut next = Some(array);
        while let Some(array) = next {
            if self.options.standard < FLOAT16 && has_float16(&array.datatype) {
                return Err(no_float16(self.options.standard));
            }
            if !self.numbered.is_inline(array) {
                let compression = array.compression.or(self.options.compression);
                let blocks = &mut self.numbered.blocks;
                self.numbered.numbers.entry(address(array)).or_insert_with(|| {
                    blocks.push(Content::Array(ArrayData {
                        data: Arc::clone(&array.data),
                        compression: compression.unwrap_or_default(),
                        itemsize: array.datatype.itemsize(),
                    }));
                    blocks.len() - 1
                });
            }
            next = match &array.mask {
                Some(Mask::Array(mask)) => Some(mask),
                _ => None,
            };
        }
        Ok(())
    }
}

fn no_float16(standard: Version) -> Error {
    Error::unwritable(format!(
        "version {standard} of the standard has no datatype float16: choose 1.6.0"
    ))
}

fn has_float16(datatype: &binio::array::Datatype) -> bool {
    use binio::array::{Datatype, ScalarKind};
    match datatype {
        Datatype::Scalar(scalar) => scalar.kind() == ScalarKind::Float && scalar.size() == 2,
        Datatype::Record(record) => {
            record.fields().iter().any(|field| has_float16(field.datatype()))
        }
    }
}

fn is_beyond_literals(integer: &Integer<'_>) -> bool {
    integer.as_i128().is_none_or(|value| !LITERALS.contains(&value))
}

/// Returns the value for an integer that is too large for a YAML literal. It contains the integer as a list of
/// 32-bit words.
fn big_integer(integer: &Integer<'_>, standard: Version) -> Result<Value> {
    let big = integer.to_big_int().map_err(|error| Error::unwritable(error.to_string()))?;
    let (sign, words) = big.to_u32_digits();
    let words = Array::from_slice(&words, &[words.len() as u64])?;
    let entries: [(&str, Value); 3] = [
        ("sign", if sign == Sign::Minus { "-" } else { "+" }.into()),
        ("string", big.to_string().into()),
        ("words", words.storage(ArrayStorage::Inline).into()),
    ];
    Ok(Value::from(Mapping::from_iter(entries)).tagged(core_tag("integer", standard)?))
}

/// Fails if a key is a collection, because many readers reject such a key. From version 1.6.0 of the
/// standard on, also fails if the key is not a string, an integer or a boolean.
fn check_key(key: &Value, standard: Version) -> Result<()> {
    if key.is_collection() {
        return Err(Error::unwritable("a key is a collection, but keys must be scalars"));
    }
    let is_merge = matches!(key, Value::ScalarText(written) if written.is_merge_key());
    if standard < RESTRICTED_KEYS || is_merge {
        return Ok(());
    }
    if let Some((NodeKind::String | NodeKind::Int | NodeKind::Bool, _)) = kind_and_name(key) {
        return Ok(());
    }
    let message = "version 1.6.0 of the standard requires keys to be strings, integers or booleans";
    Err(Error::unwritable(message))
}
