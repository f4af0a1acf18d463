//! Showing ASDF files.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use asdf::block::Block;
use asdf::tree::Target;
use asdf::tree::json::{Aliases, Options};
use asdf::yaml::NodeKind;
use asdf::{Asdf, External, Node, OpenOptions, ReadAt};
use binio::pointer;
use serde_json::{Value, json};

use crate::array::Array;
use crate::document::{Format, Result, Table, failure, limits, line, size};
use crate::source::Source;

/// The maximum total size in bytes of decoded blocks to keep in memory.
const CACHE: u64 = 256 << 20;

pub(crate) struct File(Asdf);

impl File {
    pub(crate) fn open(source: &Source) -> Result<Self> {
        let options = OpenOptions::new()
            .limits(limits())
            .cache_size(CACHE)
            .external(External::Resolver(Arc::new(resolve)));
        Ok(Self(options.from_source(source.clone())?))
    }

    fn at(&self, pointer: &str) -> Result<Node<'_>> {
        Ok(self.0.tree()?.pointer(pointer)?)
    }
}

/// Finds the file to which a URI refers among the files that were opened together.
fn resolve(uri: &str) -> asdf::Result<Arc<dyn ReadAt>> {
    let name = uri.rsplit('/').next().unwrap_or(uri);
    let name = pointer::percent_decode_lenient(name).unwrap_or(name.into());
    let found = Source::all().into_iter().find(|file| file.name() == name);
    let found = found.ok_or_else(|| {
        let message = format!("{uri} is another file: open both files together to read it");
        binio::Error::from(std::io::Error::other(message))
    })?;
    Ok(Arc::new(found))
}

impl Format for File {
    fn about(&self) -> Vec<(&'static str, String)> {
        let layout = self.0.layout();
        let mut about = vec![
            ("Format", format!("ASDF {}", layout.format_version)),
            ("Size", size(layout.file_len)),
        ];
        if let Some(standard) = &layout.standard_version {
            about.push(("Standard", standard.to_string()));
        }
        if let Ok(Some(library)) = self.0.library() {
            about.push(("Written by", format!("{} {}", library.name, library.version)));
        }
        match self.0.tree() {
            Ok(tree) => about.push(("Nodes", tree.document().node_count().to_string())),
            Err(error) => about.push(("Tree", error.to_string())),
        }
        about
    }

    fn node(&self, pointer: &str) -> Result<Value> {
        let key = pointer.rsplit('/').next().and_then(pointer::unescape).unwrap_or_default();
        Ok(node_json(&key, pointer.to_owned(), self.at(pointer)?))
    }

    fn children(&self, pointer: &str, range: Range<usize>) -> Result<Vec<Value>> {
        let parent = self.at(pointer)?;
        let is_mapping = parent.kind() == NodeKind::Mapping || parent.is_ordered_mapping();
        let mut children: Box<dyn Iterator<Item = (String, Node<'_>)> + '_> = if is_mapping {
            Box::new(parent.members().map(|(key, value)| (key_of(key), value)))
        } else {
            Box::new(parent.items().enumerate().map(|(index, item)| (index.to_string(), item)))
        };
        if range.start > 0 {
            children.nth(range.start - 1);
        }
        let child = |(key, node): (String, _)| {
            let mut path = pointer.to_owned();
            pointer::push(&mut path, &key);
            node_json(&key, path, node)
        };
        Ok(children.take(range.len()).map(child).collect())
    }

    fn search(&self, is_wanted: &dyn Fn(&str) -> bool, max: usize) -> Result<Vec<Value>> {
        let found = self.0.nodes()?.filter_map(|node| {
            let pointer = node.to_pointer()?;
            let key = pointer::unescape(pointer.rsplit('/').next()?)?.into_owned();
            let is_found = is_wanted(&key) || node.text().is_some_and(is_wanted);
            is_found.then(|| node_json(&key, pointer, node))
        });
        Ok(found.take(max).collect())
    }

    fn write_text(&self, pointer: &str, out: &mut dyn Write) -> Result<()> {
        let node = self.at(pointer)?;
        match node.text() {
            Some(text) => out.write_all(text.as_bytes())?,
            // Do not expand aliases, because a few lines of them can expand to billions of nodes.
            None => node.write_json(out, &Options::new().aliases(Aliases::Reference).tags(true))?,
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(self.0.tree()?.write_json(out, &Options::new())?)
    }

    fn array(&self, pointer: &str) -> Result<Array<'_>> {
        match self.0.tree()?.find(pointer)? {
            Target::Node(node) => Ok(Array::Asdf(node.ndarray()?)),
            Target::Array(array) => Ok(Array::Asdf(*array)),
            _ => Err(failure("This is not an array.")),
        }
    }

    fn parts(&self) -> Result<Table> {
        let blocks = self.0.blocks().iter().collect::<asdf::Result<Vec<_>>>()?;
        let columns =
            &["block", "offset", "compression", "allocated", "used", "decoded", "checksum"];
        Ok(Table::new("Blocks", columns, blocks.iter().map(row)))
    }

    fn diagnostics(&self) -> Vec<Value> {
        // Parse the tree first, because parsing adds diagnostics.
        let tree = self.0.tree().err().map(
            |error| json!({"code": "BadTree", "severity": "error", "message": error.to_string()}),
        );
        self.0.diagnostics().iter().map(|one| json!(one)).chain(tree).collect()
    }
}

fn row(block: &Block<'_>) -> Vec<String> {
    let mut row = vec![block.index().to_string(), block.offset().to_string()];
    match block.header() {
        Ok(header) if header.is_streamed() => {
            let len =
                block.data_len().map_or_else(|error| error.to_string(), |len| len.to_string());
            row.extend(["streamed".to_owned(), String::new(), len.clone(), len, "–".to_owned()]);
        }
        Ok(header) => {
            let is_known = header.checksum.iter().any(|&byte| byte != 0);
            let checksum = header.checksum.map(|byte| format!("{byte:02x}")).concat();
            let checksum = if is_known { checksum } else { "–".to_owned() };
            row.extend([
                compression(block).unwrap_or_else(|| "none".to_owned()),
                header.allocated_size.to_string(),
                header.used_size.to_string(),
                header.data_size.to_string(),
                checksum,
            ]);
        }
        Err(error) => row.push(error.to_string()),
    }
    row
}

/// Returns the name of the compression of a block, or `None` if it is not compressed or its header cannot be read.
pub(crate) fn compression(block: &Block<'_>) -> Option<String> {
    let header = block.header().ok().filter(|header| header.is_compressed())?;
    Some(line(String::from_utf8_lossy(&header.compression).trim_end_matches('\0')))
}

/// Returns the text of a key as in a JSON Pointer, but without escapes. Returns `?` for a collection.
fn key_of(key: Node<'_>) -> String {
    key.to_key().map_or_else(|_| "?".to_owned(), std::borrow::Cow::into_owned)
}

fn node_json(key: &str, pointer: String, node: Node<'_>) -> Value {
    let (mut array, mut text) = (None, node.text().map(line).unwrap_or_default());
    let mut kind = match node.kind() {
        NodeKind::Mapping => "mapping",
        NodeKind::Sequence if node.is_ordered_mapping() => "mapping",
        NodeKind::Sequence => "sequence",
        NodeKind::Null => "null",
        NodeKind::Bool => "bool",
        NodeKind::Int | NodeKind::Float => "number",
        _ => "string",
    };
    let mut count = if matches!(kind, "mapping" | "sequence") { node.len() } else { 0 };
    if node.is_ndarray() {
        (kind, count) = ("array", 0);
        match node.ndarray() {
            Ok(view) => array = Some(Array::Asdf(view).json()),
            Err(error) => text = line(&error.to_string()),
        }
    }
    let tag = node.tag().map(|tag| {
        let short = tag.rsplit_once("asdf/").map_or(tag, |(_, name)| name);
        format!("!{}", line(short.trim_start_matches('!')))
    });
    json!({
        "key": line(key), "pointer": pointer, "kind": kind, "text": text, "tag": tag,
        "count": count, "array": array,
    })
}
