//! JSON Pointers (RFC 6901) into a document.
//!
//! `/history/entries/0`: keys by their JSON form, items by number from 0; `~1` stands for `/` and
//! `~0` for `~`; the empty pointer is the node itself.

use super::node::Node;
use super::scalar::Kind;
use crate::{Error, ReferenceError, Result};

impl<'a> Node<'a> {
    /// The node that a JSON Pointer from this one leads to; aliases and merge keys are followed.
    pub fn pointer(self, pointer: &str) -> Result<Node<'a>> {
        let fail = |kind| Error::reference(pointer, kind);
        let tokens = binio::pointer::tokens(pointer)
            .map_err(|error| fail(ReferenceError::Syntax(error.to_string())))?;
        let mut node = self;
        let mut walked = String::new();
        for name in tokens {
            node = node
                .step(&name)
                .map_err(|why| fail(ReferenceError::NotFound(format!("{why} at `{walked}`"))))?;
            binio::pointer::push(&mut walked, &name);
        }
        Ok(node)
    }

    fn step(self, name: &str) -> Result<Node<'a>, String> {
        match self.kind() {
            Kind::Mapping => self.get(name).ok_or_else(|| format!("no key `{name}`")),
            Kind::Sequence => {
                let item = binio::pointer::index(name).and_then(|index| self.at(index));
                item.ok_or_else(|| format!("no item `{name}` of {}", self.len()))
            }
            _ => Err(format!("no `{name}` in a scalar")),
        }
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
    fn keys_items_and_escapes() {
        let text = "a: [x, {b: y}]\n'c/d~e': z\n7: seven\n'': empty\n";
        assert_eq!(find(text, "").as_deref(), Ok("-"));
        assert_eq!(find(text, "/a/0").as_deref(), Ok("x"));
        assert_eq!(find(text, "/a/1/b").as_deref(), Ok("y"));
        assert_eq!(find(text, "/c~1d~0e").as_deref(), Ok("z"));
        assert_eq!(find(text, "/7").as_deref(), Ok("seven"));
        assert_eq!(find(text, "/").as_deref(), Ok("empty"));
    }

    #[test]
    fn errors_say_where_the_walk_ended() {
        let text = "a: [x]\n";
        for (pointer, want) in [
            ("a", "\"a\": expected `/` at the start"),
            ("/a/~2", "\"/a/~2\": `~` in `~2` is neither `~0` nor `~1`"),
            ("/a/1", "\"/a/1\": no item `1` of 1 at `/a`"),
            ("/a/00", "\"/a/00\": no item `00` of 1 at `/a`"),
            ("/a/-", "\"/a/-\": no item `-` of 1 at `/a`"),
            ("/b/c", "\"/b/c\": no key `b` at ``"),
            ("/a/0/x", "\"/a/0/x\": no `x` in a scalar at `/a/0`"),
        ] {
            assert_eq!(find(text, pointer).unwrap_err(), want);
        }
    }

    #[test]
    fn a_pushed_token_is_found_again() {
        let mut pointer = String::new();
        binio::pointer::push(&mut pointer, "c/d~e");
        assert_eq!(find("'c/d~e': z", &pointer).as_deref(), Ok("z"));
    }
}
