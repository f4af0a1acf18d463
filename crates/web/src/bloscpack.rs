//! Showing Bloscpack files.

use std::io::Write;
use std::ops::Range;

use bloscpack::{ErrorKind, OpenOptions, Reader};
use serde_json::{Value, json};

use crate::array::Array;
use crate::document::{Format, Result, Table, failure, limits, size};
use crate::outline::{Node, Outline};
use crate::source::Source;

/// The pointer of the array, which is shown next to the metadata.
const ARRAY: &str = "/array";

pub(crate) struct File {
    reader: Reader,
    metadata: Value,
    outline: Outline,
}

impl File {
    pub(crate) fn open(source: &Source) -> Result<Self> {
        // Open the file even if the metadata is invalid, so that everything else is shown.
        let options = OpenOptions::new().limits(limits()).ignore_metadata(true);
        let reader = options.from_source(source.clone())?;
        let metadata = reader
            .metadata()
            .and_then(|found| found.map(bloscpack::format::Metadata::json).transpose());
        let metadata = metadata.ok().flatten().unwrap_or_default();
        let mut outline = Outline::new();
        let node = Node { key: "array".to_owned(), pointer: ARRAY.to_owned(), ..Node::default() };
        match reader.array() {
            Ok(array) => {
                let array = Some(Array::Bloscpack(array).json());
                outline.add(0, Node { kind: "array", array, ..node });
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotNumpy(_)) => {}
            Err(error) => {
                outline.add(0, Node { kind: "array", text: error.to_string(), ..node });
            }
        }
        if !metadata.is_null() {
            outline.add_json(0, "metadata", &metadata);
        }
        Ok(Self { reader, metadata, outline })
    }
}

impl Format for File {
    fn about(&self) -> Vec<(&'static str, String)> {
        let (header, layout) = (self.reader.header(), self.reader.layout());
        vec![
            ("Format", format!("Bloscpack {}", header.version)),
            ("Size", size(layout.file_len())),
            ("Data", size(self.reader.len())),
            ("Chunks", self.reader.chunks().len().to_string()),
            ("Checksum", header.checksum.name().to_owned()),
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
        if pointer == ARRAY {
            return self.array(pointer)?.write_summary(out);
        }
        let inside = pointer.strip_prefix("/metadata").unwrap_or_default();
        match self.metadata.pointer(inside) {
            Some(Value::String(text)) => out.write_all(text.as_bytes())?,
            Some(value) => serde_json::to_writer(out, value)?,
            None => {}
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(serde_json::to_writer(out, &self.metadata)?)
    }

    fn array(&self, pointer: &str) -> Result<Array<'_>> {
        if pointer != ARRAY {
            return Err(failure("This is not an array."));
        }
        Ok(Array::Bloscpack(self.reader.array()?))
    }

    fn parts(&self) -> Result<Table> {
        let columns =
            &["chunk", "offset", "decoded", "stored", "codec", "shuffle", "typesize", "block size"];
        let row = |(index, chunk): (usize, &bloscpack::format::ChunkEntry)| {
            let mut row = vec![
                index.to_string(),
                chunk.offset.to_string(),
                chunk.nbytes.to_string(),
                chunk.ctbytes.to_string(),
            ];
            match self.reader.chunk_header(index) {
                Ok(header) => row.extend([
                    header.codec().name().to_owned(),
                    header.shuffle().name().to_owned(),
                    header.typesize().to_string(),
                    header.blocksize().to_string(),
                ]),
                Err(error) => row.push(error.to_string()),
            }
            row
        };
        Ok(Table::new("Chunks", columns, self.reader.chunks().iter().enumerate().map(row)))
    }

    fn diagnostics(&self) -> Vec<Value> {
        self.reader.diagnostics().iter().map(|one| json!(one)).collect()
    }
}
