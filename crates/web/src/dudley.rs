//! Showing Dudley layouts, and the files that they describe.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use binio::ReadAt;
use dudley::file::VerifyOptions;
use dudley::place::Row;
use dudley::{Layout, OpenOptions, Order};
use serde_json::{Value, json};

use crate::array::Array;
use crate::document::{Format, Result, Table, failure, limits, size};
use crate::outline::{Node, Outline};
use crate::source::Source;

/// The maximum size of a layout in bytes.
const MAX_LAYOUT: u64 = 64 << 20;

/// A file and its layout, which is appended to the file or was opened together with it.
pub(crate) struct File {
    opened: dudley::File,
    source: Source,
    outline: Outline,
}

impl File {
    pub(crate) fn open(source: &Source, layout: Option<&Source>) -> Result<Self> {
        let mut options = OpenOptions::new().limits(limits());
        if let Some(layout) = layout {
            options = options.parse(text(layout)?)?;
        }
        let opened = options.from_source(source.clone())?;
        let mut outline = Outline::new();
        for &row in opened.table().rows() {
            add(&mut outline, &opened, row);
        }
        Ok(Self { opened, source: source.clone(), outline })
    }

    fn row(&self, pointer: &str) -> Result<Row> {
        Ok(self.opened.table().find(pointer)?.row())
    }
}

/// Adds a node for a row of the address table, and nodes for the dicts and lists that contain the item.
fn add(outline: &mut Outline, file: &dudley::File, row: Row) {
    let path = file.table().entry(row).path();
    let (mut parent, mut start, mut is_quoted) = (0, 1, false);
    for (end, character) in path.char_indices().skip(1).chain([(path.len(), '/')]) {
        is_quoted ^= character == '"';
        if character != '/' || is_quoted {
            continue;
        }
        let node = Node {
            key: path[start.min(end)..end].to_owned(),
            pointer: path[..end].to_owned(),
            kind: "mapping",
            ..Node::default()
        };
        let node = if end < path.len() { node } else { leaf(node, file, row) };
        parent = outline.add(parent, node);
        start = end + 1;
    }
}

fn leaf(node: Node, file: &dudley::File, row: Row) -> Node {
    let entry = file.table().entry(row);
    match file.array_of(row) {
        Ok(array) if array.shape().is_empty() && array.datatype().as_record().is_none() => {
            let mut text = Vec::new();
            let written = array.write_summary(&mut text, None);
            let text = match written {
                Ok(()) => String::from_utf8_lossy(&text).trim_end().to_owned(),
                Err(error) => error.to_string(),
            };
            Node { kind: "number", text, ..node }
        }
        Ok(array) => {
            let array = Some(Array::Dudley(array).json());
            Node { kind: "array", array, ..node }
        }
        Err(_) if entry.is_indeterminate() => Node { kind: "string", text: entry.dtype(), ..node },
        Err(error) => Node { kind: "string", text: error.to_string(), ..node },
    }
}

/// Reads the text of a layout, and fails if it is too long.
fn text(source: &Source) -> Result<binio::Bytes> {
    binio::check_limit("bytes of a layout", MAX_LAYOUT, source.len())?;
    Ok(source.bytes_at(0, usize::try_from(source.len()).unwrap_or(usize::MAX))?)
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Little => "little-endian",
        Order::Big => "big-endian",
    }
}

impl Format for File {
    fn about(&self) -> Vec<(&'static str, String)> {
        let kind = if self.opened.signature().is_some() { "native file" } else { "stream" };
        let mut about = vec![
            ("Format", format!("Dudley {kind}")),
            ("Size", size(self.source.len())),
            ("Byte order", order(self.opened.order()).to_owned()),
        ];
        if let Some(error) = self.opened.stopped() {
            about.push(("Stopped", error.to_string()));
        }
        about
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
        if self.outline.get(pointer)?.kind == "mapping" {
            return Ok(());
        }
        Ok(self.opened.write_row_json(self.row(pointer)?, out)?)
    }

    fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(serde_json::to_writer(out, &**self.opened.layout())?)
    }

    fn array(&self, pointer: &str) -> Result<Array<'_>> {
        Ok(Array::Dudley(self.opened.array_of(self.row(pointer)?)?))
    }

    fn parts(&self) -> Result<Table> {
        let known = |number: Option<u64>| number.map_or("–".to_owned(), |it| it.to_string());
        let row = |entry: dudley::place::Entry<'_>| {
            let shape = entry.shape().iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
            vec![entry.path(), known(entry.address()), known(entry.nbytes()), entry.dtype(), shape]
        };
        let columns = &["path", "address", "size", "type", "shape"];
        Ok(Table::new("Addresses", columns, self.opened.table().iter().map(row)))
    }

    fn diagnostics(&self) -> Vec<Value> {
        if self.opened.signature().is_none() {
            return self.opened.layout().diagnostics().iter().map(|one| json!(one)).collect();
        }
        match dudley::file::verify(&self.source, &VerifyOptions::new()) {
            Ok(report) => report.diagnostics.iter().map(|one| json!(one)).collect(),
            Err(error) => {
                let message = error.to_string();
                vec![json!({"code": "BadFile", "severity": "error", "message": message})]
            }
        }
    }
}

/// A layout that was opened without data.
pub(crate) struct LayoutFile {
    len: u64,
    layout: Option<Layout>,
    value: Value,
    outline: Outline,
    diagnostics: Vec<Value>,
}

impl LayoutFile {
    pub(crate) fn open(source: &Source) -> Result<Self> {
        let text = dudley::Source::decode_named(&*text(source)?, source.name())?;
        let report = VerifyOptions::new().verify_layout(Arc::new(text));
        let value = report.layout.as_ref().map(|layout| json!(layout)).unwrap_or_default();
        let mut outline = Outline::new();
        if let Value::Object(members) = &value {
            members.iter().for_each(|(key, value)| outline.add_json(0, key, value));
        }
        let diagnostics = report.diagnostics.iter().map(|one| json!(one)).collect();
        Ok(Self { len: source.len(), layout: report.layout, value, outline, diagnostics })
    }
}

impl Format for LayoutFile {
    fn about(&self) -> Vec<(&'static str, String)> {
        let items = self.layout.as_ref().map_or(0, |layout| layout.items().len());
        vec![
            ("Format", "Dudley layout".to_owned()),
            ("Size", size(self.len)),
            ("Items", items.to_string()),
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
        match self.value.pointer(pointer) {
            Some(Value::String(text)) => out.write_all(text.as_bytes())?,
            Some(value) => serde_json::to_writer(out, value)?,
            None => {}
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(serde_json::to_writer(out, &self.value)?)
    }

    fn array(&self, _: &str) -> Result<Array<'_>> {
        Err(failure("This is only a layout. Open it together with the file that it describes."))
    }

    fn parts(&self) -> Result<Table> {
        let columns = &["path", "address", "size", "type"];
        let Some(layout) = &self.layout else {
            return Ok(Table::new("Addresses", columns, std::iter::empty()));
        };
        let (table, _) = dudley::Resolver::new(layout).partial_table();
        let known = |number: Option<u64>| number.map_or("–".to_owned(), |it| it.to_string());
        let row = |entry: dudley::place::Entry<'_>| {
            vec![entry.path(), known(entry.address()), known(entry.nbytes()), entry.dtype()]
        };
        Ok(Table::new("Addresses", columns, table.iter().map(row)))
    }

    fn diagnostics(&self) -> Vec<Value> {
        self.diagnostics.clone()
    }
}
