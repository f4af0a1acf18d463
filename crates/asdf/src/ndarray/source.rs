//! Recognising arrays by their tag, and parsing the location of their elements.

use crate::file::blocks::BlockRef;
use crate::tag;
use crate::yaml::YamlNode;

/// The location of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source<'a> {
    /// In a block of this file.
    Block(BlockRef),
    /// In the first block of the file with this URI. The URI is stored without its fragment. An empty
    /// URI means this file.
    File(&'a str),
    /// In the tree, as the value of `data` or as a plain sequence.
    Inline(YamlNode<'a>),
}

impl<'a> Source<'a> {
    /// Parses the value of the key `source`: a number or a URI.
    pub(crate) fn parse(node: YamlNode<'a>) -> Option<Self> {
        node.as_str().map(Self::from).or_else(|| node.as_i64().map(Self::from))
    }
}

impl From<i64> for Source<'_> {
    fn from(number: i64) -> Self {
        Self::Block(number.into())
    }
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(uri: &'a str) -> Self {
        // Drop the fragment, which has no meaning here.
        Self::File(uri.split_once('#').map_or(uri, |(uri, _)| uri))
    }
}

/// Returns `true` if the tag is an ndarray tag in a version known to this crate.
pub(crate) fn is_ndarray_tag(tag: Option<&str>) -> bool {
    tag.and_then(tag::core_name) == Some("ndarray")
}

/// Recognising arrays by the tags of their nodes.
impl<'a> YamlNode<'a> {
    /// Returns the name of the tag, without its prefix and version, if it is a tag of the core schemas in a
    /// version known to this crate.
    pub(crate) fn core_name(self) -> Option<&'a str> {
        self.tag().and_then(tag::core_name)
    }

    /// Returns `true` if the node has an ndarray tag in a version known to this crate.
    pub(crate) fn is_ndarray(self) -> bool {
        is_ndarray_tag(self.tag())
    }

    /// Returns the block number in the `source` of an array, or `None` if the node has no ndarray
    /// tag or its `source` is not a number.
    pub(crate) fn block_ref(self) -> Option<BlockRef> {
        match Source::parse(self.get("source").filter(|_| self.is_ndarray())?)? {
            Source::Block(block) => Some(block),
            Source::File(_) | Source::Inline(_) => None,
        }
    }
}
