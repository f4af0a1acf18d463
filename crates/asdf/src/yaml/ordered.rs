//! Ordered mappings: a sequence with the tag `!!omap`, whose items are mappings with one entry
//! each.
//!
//! ```yaml
//! !!omap
//! - first: 1
//! - second: 2
//! ```

use super::node::YamlNode;
use super::scalar::NodeKind;

const OMAP: &str = "tag:yaml.org,2002:omap";

impl<'a> YamlNode<'a> {
    /// Returns `true` if the node is an ordered mapping: a sequence with the tag `!!omap` whose items are
    /// mappings with one entry each. The key `<<` is not allowed.
    pub fn is_ordered_mapping(self) -> bool {
        let is_entry = |item: YamlNode<'_>| {
            let mut entries = item.raw_entries();
            let first = entries.next();
            first.is_some_and(|(key, _)| key.text() != Some("<<")) && entries.next().is_none()
        };
        self.tag() == Some(OMAP) && self.kind() == NodeKind::Sequence && self.items().all(is_entry)
    }

    /// Iterates over the keys and values of a mapping or an ordered mapping. In a mapping, merge keys are
    /// applied. Other nodes have no members.
    pub fn members(self) -> impl Iterator<Item = (YamlNode<'a>, YamlNode<'a>)> {
        let items = Some(self).filter(|node| node.is_ordered_mapping());
        let items = items.into_iter().flat_map(YamlNode::items);
        items.flat_map(YamlNode::raw_entries).chain(self.entries())
    }

    /// Returns the value for a key of a mapping or an ordered mapping; see [`get`](Self::get).
    pub fn member(self, key: &str) -> Option<YamlNode<'a>> {
        match self.kind() {
            NodeKind::Mapping => self.get(key),
            NodeKind::Sequence if self.is_ordered_mapping() => {
                self.items().find_map(|item| item.get(key))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Document, ParseOptions};

    #[test]
    fn members_are_the_entries_of_a_mapping_or_an_ordered_mapping() {
        for (text, members) in [
            ("!!omap\n- {b: 1}\n- !!omap {a: 2}\n- 7: x\n", "b1a27x"),
            ("!!omap []", ""),
            ("{b: 1, a: 2}", "b1a2"),
            ("- {b: 1}\n", ""),
            ("!!omap [{a: 1, b: 2}]", ""),
            ("!!omap [a]", ""),
        ] {
            let document =
                Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new());
            let document = document.unwrap();
            let root = document.root();
            let text_of = |pair: (super::YamlNode<'_>, super::YamlNode<'_>)| {
                [pair.0.text(), pair.1.text()].map(Option::unwrap_or_default).concat()
            };
            assert_eq!(root.members().map(text_of).collect::<String>(), members, "{text}");
            let value = root.member("a").and_then(super::YamlNode::text);
            assert_eq!(value, members.contains("a2").then_some("2"), "{text}");
        }
    }
}
