//! Recognising arrays by their tag, and reading where their elements are.

use crate::file::blocks::BlockRef;
use crate::tag;
use crate::yaml::YamlNode;

/// Where the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source<'a> {
    /// In a block of this file.
    Block(BlockRef),
    /// In the first block of the file with this URI, which has no fragment. An empty URI stands for this
    /// file.
    File(&'a str),
    /// In the tree.
    Inline(YamlNode<'a>),
}

impl<'a> Source<'a> {
    /// Reads the value of the key `source`: a number or a URI.
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
        // A fragment has no meaning here.
        Self::File(uri.split_once('#').map_or(uri, |(uri, _)| uri))
    }
}

/// Returns `true` if a tag is that of an array, in a version that this crate knows.
pub(crate) fn is_ndarray_tag(tag: Option<&str>) -> bool {
    tag.and_then(tag::core_name) == Some("ndarray")
}

/// Arrays of the tree, by the tags of their nodes.
impl<'a> YamlNode<'a> {
    /// The name of the tag, if it is of the core schemas in a version that this crate knows.
    pub(crate) fn core_name(self) -> Option<&'a str> {
        self.tag().and_then(tag::core_name)
    }

    /// Returns `true` if the node is an array by its tag.
    pub(crate) fn is_ndarray(self) -> bool {
        is_ndarray_tag(self.tag())
    }

    /// The block that an array names by its number.
    pub(crate) fn block_ref(self) -> Option<BlockRef> {
        match Source::parse(self.get("source").filter(|_| self.is_ndarray())?)? {
            Source::Block(block) => Some(block),
            Source::File(_) | Source::Inline(_) => None,
        }
    }
}
