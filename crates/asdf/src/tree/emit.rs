//! A part of the tree as YAML text of its own.
//!
//! The text reads back as the same nodes: tags, anchors, aliases and merge keys are kept, styles
//! nearly. A collection is written as the file has it, in brackets or as lines; a scalar bare where
//! it was bare, otherwise in quotes. Comments are left out. Nothing recurses.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;

use super::Node;
use crate::error::Result;
use crate::yaml::{self, Kind, Mention, NodeId, Style};

/// What the handle `!` stands for.
const ASDF_PREFIX: &str = "tag:stsci.edu:asdf/";
/// What the handle `!!` stands for.
const YAML_PREFIX: &str = "tag:yaml.org,2002:";

impl Node<'_> {
    /// Writes the node and all below it as a YAML document. Of the root it is the text of the file.
    ///
    /// Fails at a key that is a collection, and if `out` fails.
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
    pub fn write_yaml(self, out: &mut dyn Write) -> Result<()> {
        if self.id() == self.document().root().id() && !self.file().tree_text().is_empty() {
            return Ok(out.write_all(self.file().tree_text())?);
        }
        write!(out, "%YAML 1.1\n%TAG ! {ASDF_PREFIX}\n---")?;
        let mut emitter = Emitter { out, names: HashMap::new(), used: HashSet::new() };
        emitter.document(self.yaml().mention())?;
        Ok(emitter.out.write_all(b"...\n")?)
    }
}

struct Emitter<'w> {
    out: &'w mut dyn Write,
    /// The anchors of the nodes written so far.
    names: HashMap<NodeId, String>,
    used: HashSet<String>,
}

/// A collection that is being written.
struct Frame<'a> {
    children: Box<dyn Iterator<Item = (Option<Mention<'a>>, Mention<'a>)> + 'a>,
    /// Of a collection as lines.
    indent: usize,
    /// The closing bracket, and whether a line ends with it.
    close: Option<(&'static str, bool)>,
    is_first: bool,
    /// The first line continues that of the dash before it.
    continues: bool,
}

impl<'a> Emitter<'_> {
    fn document(&mut self, root: Mention<'a>) -> Result<()> {
        let mut stack = Vec::new();
        stack.extend(self.value(root, 0, false, false)?);
        while let Some(frame) = stack.last_mut() {
            let is_first = std::mem::take(&mut frame.is_first);
            let Some((key, value)) = frame.children.next() else {
                if let Some((bracket, ends_line)) = frame.close {
                    self.text(bracket)?;
                    self.text(if ends_line { "\n" } else { "" })?;
                }
                stack.pop();
                continue;
            };
            let (in_brackets, indent) = (frame.close.is_some(), frame.indent);
            if in_brackets {
                self.text(if is_first { "" } else { ", " })?;
            } else if !(is_first && frame.continues) {
                self.text(&" ".repeat(indent))?;
            }
            let is_item = key.is_none();
            match key {
                Some(key) => self.key(key, in_brackets)?,
                None => self.text(if in_brackets { "" } else { "-" })?,
            }
            stack.extend(self.value(value, indent + 2, in_brackets, is_item)?);
        }
        Ok(())
    }

    /// Writes a scalar, an alias or the beginning of a collection, of which the rest is returned.
    fn value(
        &mut self,
        mention: Mention<'a>,
        indent: usize,
        in_brackets: bool,
        is_item: bool,
    ) -> Result<Option<Frame<'a>>> {
        let node = mention.node();
        let (blank, line_end) = if in_brackets { ("", "") } else { (" ", "\n") };
        if let Some(name) = self.names.get(&node.id()) {
            let alias = format!("{blank}*{name}{line_end}");
            return self.text(&alias).map(|()| None);
        }
        let properties = self.properties(node);
        if !properties.is_empty() {
            self.text(blank)?;
            self.text(&properties)?;
        }
        let before = if properties.is_empty() { blank } else { " " };
        let (open, close) = match node.kind() {
            Kind::Mapping => ("{", "}"),
            Kind::Sequence => ("[", "]"),
            _ => {
                let text = format!("{before}{}{line_end}", scalar(node, in_brackets));
                return self.text(&text).map(|()| None);
            }
        };
        let children: Box<dyn Iterator<Item = _> + 'a> = match node.kind() {
            Kind::Mapping => {
                Box::new(node.written_entries().map(|(key, value)| (Some(key), value)))
            }
            _ => Box::new(node.mentions().map(|item| (None, item))),
        };
        let as_lines = !in_brackets && node.style() != Style::Flow && !node.is_empty();
        let continues = as_lines && is_item && properties.is_empty();
        if as_lines {
            self.text(if continues { " " } else { "\n" })?;
        } else {
            self.text(before)?;
            self.text(open)?;
        }
        let close = (!as_lines).then_some((close, !in_brackets));
        Ok(Some(Frame { children, indent, close, is_first: true, continues }))
    }

    /// Writes a key and its colon.
    fn key(&mut self, key: Mention<'a>, in_brackets: bool) -> Result<()> {
        let node = key.node();
        if let Some(name) = self.names.get(&node.id()) {
            let alias = format!("*{name} :");
            self.text(&alias)?;
        } else {
            node.to_key()?;
            let properties = self.properties(node);
            let blank = if properties.is_empty() { "" } else { " " };
            self.text(&format!("{properties}{blank}{}:", scalar(node, in_brackets)))?;
        }
        self.text(if in_brackets { " " } else { "" })
    }

    /// The anchor and the tag of a node.
    fn properties(&mut self, node: yaml::Node<'_>) -> String {
        let mut out = String::new();
        if let Some(anchor) = node.anchor() {
            let mut name = anchor.to_owned();
            while !self.used.insert(name.clone()) {
                name.push('_');
            }
            let _ = write!(out, "&{name}");
            self.names.insert(node.id(), name);
        }
        if let Some(tag) = node.tag() {
            let is_plain = |suffix: &str| {
                let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"._-/".contains(&b);
                !suffix.is_empty() && suffix.bytes().all(is_letter)
            };
            let short = |prefix| tag.strip_prefix(prefix).filter(|suffix| is_plain(suffix));
            let blank = if out.is_empty() { "" } else { " " };
            let _ = match (short(ASDF_PREFIX), short(YAML_PREFIX)) {
                (Some(suffix), _) => write!(out, "{blank}!{suffix}"),
                (_, Some(suffix)) => write!(out, "{blank}!!{suffix}"),
                _ => write!(out, "{blank}!<{}>", percent_encoded(tag)),
            };
        }
        out
    }

    fn text(&mut self, text: &str) -> Result<()> {
        Ok(self.out.write_all(text.as_bytes())?)
    }
}

/// A scalar, bare or in quotes.
fn scalar(node: yaml::Node<'_>, in_brackets: bool) -> Cow<'_, str> {
    let text = node.text().unwrap_or_default();
    let is_special = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    let is_value = node.tag().is_none() && node.kind() != Kind::String;
    match node.style() {
        _ if text.contains(is_special) => double_quoted(text).into(),
        Style::Plain if is_value && text.is_empty() => "null".into(),
        _ if is_value => text.into(),
        // What was written between lines may not stand in brackets.
        Style::Plain
            if text.is_empty() || (in_brackets && text.contains([',', '[', ']', '{', '}'])) =>
        {
            single_quoted(text).into()
        }
        Style::Plain => text.into(),
        _ => single_quoted(text).into(),
    }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match (c, u32::from(c)) {
            ('"' | '\\', _) => write!(out, "\\{c}"),
            ('\n', _) => write!(out, "\\n"),
            ('\t', _) => write!(out, "\\t"),
            (_, code @ (..0x20 | 0x7f..=0xa0)) => write!(out, "\\x{code:02x}"),
            (_, code @ (0x2028 | 0x2029 | 0xfeff)) => write!(out, "\\u{code:04x}"),
            _ => write!(out, "{c}"),
        };
    }
    out + "\""
}

fn percent_encoded(tag: &str) -> String {
    let mut out = String::new();
    for byte in tag.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-;/?:@&=+$,_.!~*'()[]#".contains(&byte);
        let _ =
            if is_plain { write!(out, "{}", char::from(byte)) } else { write!(out, "%{byte:02X}") };
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::Asdf;

    const TREE: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nx:\n  base: &b {p: 1, q: [a, 'b c']}\n  \
        use: {<<: *b, r: !!str 5}\n  list:\n  - k: 1\n    l: ~\n  - - x: !<tag:other,2026:y> 'it''s'\n  - []\n  \
        text: |\n    two\n    lines\n  empty:\n  self: &s [*s]\n  tag: !local {? 1 : \"a\\u2028\"}\n";

    #[test]
    fn a_part_reads_back_as_the_same_nodes() {
        let file = Asdf::from_bytes(format!("#ASDF 1.0.0\n{TREE}...\n")).unwrap();
        let mut text = Vec::new();
        file.tree().unwrap().get("x").unwrap().write_yaml(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let again = Asdf::from_bytes(format!("#ASDF 1.0.0\n{text}")).unwrap();
        let show = |node: crate::Node<'_>| {
            let mut out = Vec::new();
            let options = crate::json::Options::new()
                .with_tags(true)
                .with_aliases(crate::json::Aliases::Reference);
            node.write_json(&mut out, &options).unwrap();
            String::from_utf8(out).unwrap().replace("/x/", "/")
        };
        let one = show(file.tree().unwrap().get("x").unwrap());
        assert_eq!(show(again.tree().unwrap()), one, "{text}");
        assert!(one.contains(r#""r":"5""#), "{one}");
    }

    #[test]
    fn the_root_is_the_text_of_the_file() {
        let file = Asdf::from_bytes(format!("#ASDF 1.0.0\n{TREE}# why\n...\n")).unwrap();
        let mut text = Vec::new();
        file.tree().unwrap().write_yaml(&mut text).unwrap();
        assert_eq!(text, format!("{TREE}# why\n...\n").as_bytes());
    }
}
