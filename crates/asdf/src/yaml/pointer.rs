//! Resolving JSON Pointers (RFC 6901) in a document.
//!
//! In a pointer such as `/history/entries/0`, a key is written in its JSON form and an item as its
//! index, counted from 0. `~1` stands for `/`, and `~0` for `~`. The empty pointer refers to the
//! node itself. An entry of an ordered mapping (`!!omap`) can also be addressed by its key.

use super::document::{Children, Document, ELEMENT};
use super::node::YamlNode;
use super::scalar::NodeKind;
use crate::error::{Error, ReferenceError, Result};

/// Maximum length in bytes of a pointer to a node, before escaping. The length is limited, because a
/// key can be a megabyte long.
const MAX_POINTER: usize = 1 << 10;

/// Maximum number of keys that are compared with an unknown key to suggest a similar one.
const MAX_SUGGESTED: usize = 1000;

impl<'a> YamlNode<'a> {
    /// Returns the node at a JSON Pointer relative to this node. Aliases are followed and merge keys are
    /// applied.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"a: [x, {'b/c': y}]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// assert_eq!(document.root().pointer("/a/1/b~1c")?.as_str(), Some("y"));
    /// assert!(document.root().pointer("/a/2").is_err());
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference). The reason is
    /// [`Syntax`](ReferenceError::Syntax) if the text is not a JSON Pointer, and
    /// [`NotFound`](ReferenceError::NotFound) if there is no node at the pointer.
    pub fn pointer(self, pointer: &str) -> Result<YamlNode<'a>> {
        let fail = |kind| Error::reference(pointer, kind);
        let tokens = binio::pointer::tokens(pointer)
            .map_err(|error| fail(ReferenceError::Syntax(error.to_string())))?;
        let mut node = self;
        let mut walked = String::new();
        for name in tokens {
            node = node.step(&name).map_err(|why| {
                let place =
                    if walked.is_empty() { "the root".to_owned() } else { format!("`{walked}`") };
                fail(ReferenceError::NotFound(format!("at {place}: {why}")))
            })?;
            binio::pointer::push(&mut walked, &name);
        }
        Ok(node)
    }

    /// Returns the child with this key or index, or a message that explains why no such child exists.
    pub(crate) fn step(self, name: &str) -> Result<YamlNode<'a>, String> {
        match self.kind() {
            NodeKind::Mapping => self.get(name).ok_or_else(|| {
                let keys = self.entries().take(MAX_SUGGESTED).filter_map(|(key, _)| key.text());
                let near = Some(name).filter(|name| name.len() < MAX_POINTER);
                match near.and_then(|name| binio::diagnostic::nearest(name, keys)) {
                    Some(near) => format!("no key `{name}`, did you mean `{near}`?"),
                    None => format!("no key `{name}`"),
                }
            }),
            NodeKind::Sequence => {
                let item = self.member(name);
                let item =
                    item.or_else(|| binio::pointer::index(name).and_then(|index| self.at(index)));
                item.ok_or_else(|| {
                    format!("no item `{name}` in a sequence of length {}", self.len())
                })
            }
            _ => Err(format!("a scalar has no child `{name}`")),
        }
    }
}

impl Document {
    /// Returns the record id of the number list that contains an element.
    fn list_of(&self, element: u32) -> Option<u32> {
        let after = self.lists.partition_point(|list| list.first <= element);
        Some(self.lists.get(after.checked_sub(1)?)?.record)
    }

    /// Returns the id of the collection that contains a node. For the root, returns the root
    /// itself.
    pub(super) fn parent_of(&self, id: u32) -> Option<u32> {
        if let Some(element) = id.checked_sub(ELEMENT) {
            return self.list_of(element);
        }
        let parents = self.parents.get_or_init(|| {
            let mut parents = vec![self.root; self.records.len()];
            for (parent, _) in (0..).zip(&self.records) {
                if let Children::Records(children) = self.written_children(parent) {
                    for &child in children {
                        parents[child as usize] = parent;
                    }
                }
            }
            parents
        });
        parents.get(id as usize).copied()
    }

    /// Returns the pointer to the definition of a node; see [`YamlNode::to_pointer`].
    pub(super) fn pointer_of(&self, id: u32) -> Option<String> {
        let mut tokens = Vec::new();
        let (mut id, mut len) = (id, 0);
        while id != self.root {
            let parent = self.parent_of(id)?;
            let children = self.written_children(parent);
            let at = children.place_of(id)?;
            let token = match self.kind(parent) {
                NodeKind::Sequence => at.to_string().into(),
                _ => self.key_text(children.get(at - at % 2)?)?,
            };
            len += token.len() + 1;
            if len > MAX_POINTER {
                return None;
            }
            tokens.push(token);
            id = parent;
        }
        let mut pointer = String::new();
        tokens.iter().rev().for_each(|token| binio::pointer::push(&mut pointer, token));
        Some(pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Document, ParseOptions};

    fn find(text: &str, pointer: &str) -> Result<String, String> {
        let document =
            Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new()).unwrap();
        let node = document.root().pointer(pointer).map_err(|error| error.to_string())?;
        Ok(node.text().unwrap_or("-").to_owned())
    }

    #[test]
    fn a_pointer_with_keys_items_and_escapes_finds_its_node() {
        let text = "a: [x, {b: y}]\n'c/d~e': z\n7: seven\n'': empty\n";
        assert_eq!(find(text, "").as_deref(), Ok("-"));
        assert_eq!(find(text, "/a/0").as_deref(), Ok("x"));
        assert_eq!(find(text, "/a/1/b").as_deref(), Ok("y"));
        assert_eq!(find(text, "/c~1d~0e").as_deref(), Ok("z"));
        assert_eq!(find(text, "/7").as_deref(), Ok("seven"));
        assert_eq!(find(text, "/").as_deref(), Ok("empty"));
    }

    #[test]
    fn a_binary_key_is_found_by_its_base64_without_line_breaks() {
        let text = "? !!binary |\n  aGVs\n  bG8=\n: x\n";
        assert_eq!(find(text, "/aGVsbG8=").as_deref(), Ok("x"));
    }

    #[test]
    fn a_failed_lookup_reports_a_syntax_error_or_the_last_node_found() {
        let text = "a: [x]\n";
        for (pointer, want) in [
            ("a", "\"a\": expected `/` at the start"),
            ("/a/~2", "\"/a/~2\": `~` in `~2` is neither `~0` nor `~1`"),
            ("/a/1", "\"/a/1\": at `/a`: no item `1` in a sequence of length 1"),
            ("/a/00", "\"/a/00\": at `/a`: no item `00` in a sequence of length 1"),
            ("/a/-", "\"/a/-\": at `/a`: no item `-` in a sequence of length 1"),
            ("/b/c", "\"/b/c\": at the root: no key `b`"),
            ("/a/0/x", "\"/a/0/x\": at `/a/0`: a scalar has no child `x`"),
        ] {
            assert_eq!(find(text, pointer).unwrap_err(), want);
        }
    }

    #[test]
    fn a_key_appended_to_a_pointer_is_escaped_so_that_the_pointer_finds_it() {
        let mut pointer = String::new();
        binio::pointer::push(&mut pointer, "c/d~e");
        assert_eq!(find("'c/d~e': z", &pointer).as_deref(), Ok("z"));
    }
}
