//! Showing Flux archives.

use std::io::Write;
use std::ops::Range;

use flux_archive::store::MemoryStore;
use flux_archive::{Archive, Content, Entry, FileType, Limits, OpenOptions};
use serde_json::{Value, json};

use crate::array::Array;
use crate::document::{Format, Result, Table, failure, limits, size};
use crate::outline::{Node, Outline};
use crate::source::Source;

pub(crate) struct File {
    document: binio::Bytes,
    options: OpenOptions,
    outline: Outline,
    entries: Vec<Value>,
    rows: Vec<Vec<String>>,
    diagnostics: Vec<Value>,
}

impl File {
    pub(crate) fn open(source: &Source) -> Result<Self> {
        let limits = Limits::default().max_json_bytes(limits().max_alloc);
        let options = OpenOptions::new().limits(limits);
        let document = options.read_source(source)?;
        let archive = options.parse(&document)?;
        let entries = archive.entries();
        let rows = entries.iter().map(row).collect();
        let described = entries.iter().map(entry_json).collect();
        let diagnostics = archive.diagnostics().iter().map(|one| json!(one)).collect();
        let outline = outline(&archive);
        Ok(Self { document, options, outline, entries: described, rows, diagnostics })
    }
}

/// Returns the entries of an archive as a tree.
fn outline(archive: &Archive<'_>) -> Outline {
    let mut outline = Outline::new();
    for entry in archive.entries() {
        let (mut parent, mut path) = (0, String::new());
        let mut names = entry.path().components().peekable();
        while let Some(name) = names.next() {
            path.push('/');
            path.push_str(name);
            let mut node = Node { key: name.to_owned(), pointer: path.clone(), ..Node::default() };
            (node.kind, node.text) = match (names.peek(), entry.content()) {
                (None, Content::Symlink(target)) => ("link", format!("→ {target}")),
                (None, content) if content.file_type() == FileType::Regular => {
                    ("file", size(entry.len()))
                }
                _ => ("mapping", String::new()),
            };
            parent = outline.add(parent, node);
        }
    }
    outline
}

fn encoding(entry: &Entry<'_>) -> &'static str {
    match entry.content() {
        Content::Json(_) => "json",
        content => content.encoding().unwrap_or_default(),
    }
}

fn row(entry: &Entry<'_>) -> Vec<String> {
    vec![
        entry.path().to_string(),
        entry.file_type().to_string(),
        format!("{:o}", entry.mode().permissions()),
        entry.len().to_string(),
        encoding(entry).to_owned(),
        entry.regions().len().to_string(),
    ]
}

fn entry_json(entry: &Entry<'_>) -> Value {
    json!({
        "path": entry.path().as_str(), "type": entry.file_type().to_string(),
        "mode": entry.mode().as_u32(), "size": entry.size(), "mtime": entry.mtime(),
        "ctime": entry.ctime(), "encoding": encoding(entry),
    })
}

impl Format for File {
    fn about(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Format", "Flux archive (RFC 37)".to_owned()),
            ("Size", size(self.document.len() as u64)),
            ("Entries", self.entries.len().to_string()),
        ]
    }

    fn node(&self, pointer: &str) -> Result<Value> {
        Ok(self.outline.get(pointer)?.json())
    }

    fn children(&self, pointer: &str, range: Range<usize>) -> Result<Vec<Value>> {
        self.outline.children(pointer, range)
    }

    fn search(&self, is_wanted: &dyn Fn(&str) -> bool, max: usize) -> Result<Vec<Value>> {
        Ok(self.outline.search(is_wanted, max))
    }

    fn write_text(&self, pointer: &str, out: &mut dyn Write) -> Result<()> {
        let node = self.outline.get(pointer)?;
        if node.kind != "file" {
            return Ok(out.write_all(node.text.as_bytes())?);
        }
        let archive = self.options.parse(&self.document)?;
        let entry = archive.get(pointer.trim_start_matches('/'));
        let entry = entry.ok_or_else(|| failure("There is no such entry."))?;
        Ok(entry.write_to(&MemoryStore::new(), out)?)
    }

    fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(serde_json::to_writer(out, &self.entries)?)
    }

    fn array(&self, _: &str) -> Result<Array<'_>> {
        Err(failure("Flux archives do not contain arrays."))
    }

    fn parts(&self) -> Result<Table> {
        let columns = &["path", "type", "mode", "size", "encoding", "blobs"];
        Ok(Table::new("Entries", columns, self.rows.iter().cloned()))
    }

    fn diagnostics(&self) -> Vec<Value> {
        self.diagnostics.clone()
    }
}
