//! Writing a node of the tree as a separate YAML document.
//!
//! When read back, the text results in the same nodes: tags, anchors, aliases and merge keys are preserved, and
//! so are most styles. Comments are omitted. For the root, however, the text is copied from the file, including
//! comments.

use std::io::Write;

use super::{NoArrays, emit};
use crate::error::Result;
use crate::tree::Node;
use crate::value::Tree;

impl Node<'_> {
    /// Writes the node and everything below it as a YAML document. For the root, copies the text of the tree
    /// from the file.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: {b: !core/complex-1.0.0 1+1j, c: ['x']}\n...\n"[..])?;
    /// let mut text = Vec::new();
    /// file.tree()?.pointer("/a")?.write_yaml(&mut text)?;
    /// let text = String::from_utf8(text)?;
    /// assert!(text.ends_with("--- {b: !core/complex-1.0.0 1+1j, c: ['x']}\n...\n"), "{text}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Tree::from_node`]. Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if `out` cannot be
    /// written.
    pub fn write_yaml(self, out: &mut dyn Write) -> Result<()> {
        if self.id() == self.document().root().id() && !self.file().tree_text().is_empty() {
            return Ok(out.write_all(self.file().tree_text())?);
        }
        emit(&Tree::from_node(self.yaml())?, &NoArrays, out)
    }
}

#[cfg(test)]
mod tests {
    use crate::Asdf;

    const TREE: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nx:\n  base: &b {p: 1, q: [a, 'b c']}\n  \
        use: {<<: *b, r: !!str 5}\n  list:\n  - k: 1\n    l: ~\n  - - x: !<tag:other,2026:y> 'it''s'\n  - []\n  \
        text: |\n    two\n    lines\n  empty:\n  self: &s [*s]\n  tag: !local {? 1 : \"a\\u2028\"}\n";

    #[test]
    fn part_of_a_tree_reads_back_as_the_same_nodes() {
        let file = Asdf::from_bytes(format!("#ASDF 1.0.0\n{TREE}...\n")).unwrap();
        let mut text = Vec::new();
        file.tree().unwrap().get("x").unwrap().write_yaml(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let again = Asdf::from_bytes(format!("#ASDF 1.0.0\n{text}")).unwrap();
        let show = |node: crate::Node<'_>| {
            let mut out = Vec::new();
            let options = crate::tree::json::Options::new()
                .tags(true)
                .aliases(crate::tree::json::Aliases::Reference);
            node.write_json(&mut out, &options).unwrap();
            String::from_utf8(out).unwrap().replace("/x/", "/")
        };
        let one = show(file.tree().unwrap().get("x").unwrap());
        assert_eq!(show(again.tree().unwrap()), one, "{text}");
        assert!(one.contains(r#""r":"5""#), "{one}");
    }

    #[test]
    fn writing_the_root_returns_the_text_of_the_file() {
        let file = Asdf::from_bytes(format!("#ASDF 1.0.0\n{TREE}# why\n...\n")).unwrap();
        let mut text = Vec::new();
        file.tree().unwrap().write_yaml(&mut text).unwrap();
        assert_eq!(text, format!("{TREE}# why\n...\n").as_bytes());
    }
}
