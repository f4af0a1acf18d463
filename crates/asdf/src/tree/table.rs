//! Tables: columns with names and units.
//!
//! ```yaml
//! !<tag:astropy.org:astropy/table/table-1.1.0>     # or !core/table-1.0.0
//! colnames: [ra, flux]
//! columns:
//! - !core/column-1.0.0                              # of a Table
//!   name: ra
//!   unit: !unit/unit-1.0.0 deg
//!   data: !core/ndarray-1.0.0 {..}
//! - !unit/quantity-1.1.0                            # of a QTable
//!   unit: !unit/unit-1.0.0 Jy
//!   value: !core/ndarray-1.0.0 {..}
//! ```

use std::io::Write;

use binio::array::{PrintStyle, Slice, csv_cell};
use binio::diagnostic::count;
use serde_json::Value;

use super::Node;
use crate::error::Result;
use crate::ndarray::{ArrayError, NdArray, Origin};
use crate::yaml::NodeKind;

/// Maximum number of rows that are read at a time.
const ROWS: u64 = 4096;
/// Maximum number of bytes that are read at a time, unless a single row is larger.
const BYTES: u64 = 1 << 20;

/// A table: named arrays of the same length.
///
/// See the schemas `core/table` and `core/column` of the ASDF standard, and the schema `table` of astropy.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    node: Node<'a>,
    columns: Vec<Column<'a>>,
    omitted: Vec<String>,
    rows: u64,
}

/// A column of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Column<'a> {
    /// The name of the column.
    pub name: String,
    /// The unit as written in the file, such as `deg`.
    pub unit: Option<String>,
    /// The values, one for each row.
    pub array: NdArray<'a>,
}

impl<'a> Node<'a> {
    /// Returns `true` if the node is a mapping with the tag of a table, either from the standard or from
    /// astropy.
    pub fn is_table(self) -> bool {
        let is_tag = |tag: &str| tag.contains("table/table-") || tag.contains("core/table-");
        self.tag().is_some_and(is_tag) && self.kind() == NodeKind::Mapping
    }

    /// Returns the table that the node describes.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nt: !core/table-1.0.0\n  columns:\n  \
    ///     - !core/column-1.0.0 {name: ra, unit: deg, data: !core/ndarray-1.0.0 [1.5, 2.5]}\n...\n"[..])?;
    /// let mut csv = Vec::new();
    /// file.tree()?.pointer("/t")?.table()?.write_csv(&mut csv)?;
    /// assert_eq!(csv, b"ra [deg]\n1.5\n2.5\n");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if the node is not a table with `columns`, if the
    /// array of a column has no dimensions, or if the columns differ in length. Fails with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the table has more than
    /// [`Limits::max_items`](crate::Limits::max_items) rows. Also fails like [`ndarray`](Self::ndarray) if the
    /// array of a column cannot be opened.
    pub fn table(self) -> Result<Table<'a>> {
        let columns = self.get("columns").filter(|columns| columns.kind() == NodeKind::Sequence);
        let (true, Some(columns)) = (self.is_table(), columns) else {
            return Err(self.error("expected a table with `columns`"));
        };
        let mut table = Table { node: self, columns: Vec::new(), omitted: Vec::new(), rows: 0 };
        for (at, column) in columns.items().enumerate() {
            let name = self.column_name(at, column);
            let Some(values) = column.column_values() else {
                table.omitted.push(name);
                continue;
            };
            let array = values.ndarray()?;
            let rows = array.shape().first().copied();
            let rows = rows.ok_or_else(|| values.error("expected an array with rows"))?;
            if !table.columns.is_empty() && rows != table.rows {
                let expected = count(table.rows, "row");
                let message = format!("expected {expected} as in the other columns, found {rows}");
                return Err(values.error(message));
            }
            table.rows = rows;
            let unit = column.get("unit").and_then(|unit| unit.text().map(str::to_owned));
            table.columns.push(Column { name, unit, array });
        }
        self.file().options().limits.check_items("rows of a table", table.rows)?;
        Ok(table)
    }

    /// Returns the node that contains the array of the column with this name. Returns `None` if `self`
    /// is not a table, if the table has no such column, or if the column is not a single array.
    pub(super) fn column(self, name: &str) -> Option<Self> {
        let columns = self.get("columns").filter(|_| self.is_table())?;
        let mut named = columns.items().enumerate();
        named.find(|(at, column)| self.column_name(*at, *column) == name)?.1.column_values()
    }

    fn column_name(self, at: usize, column: Node<'_>) -> String {
        let own = column.get("name").and_then(|name| name.text().map(str::to_owned));
        let listed = || self.get("colnames")?.at(at)?.text().map(str::to_owned);
        own.or_else(listed).unwrap_or_else(|| at.to_string())
    }

    /// Returns the node that contains the array of a column: the column itself, or its `data` or
    /// `value`.
    fn column_values(self) -> Option<Self> {
        let inside = ["data", "value"].into_iter().filter_map(|key| self.get(key));
        std::iter::once(self).chain(inside).find(|node| node.is_ndarray())
    }
}

impl<'a> Table<'a> {
    /// Returns the columns that are single arrays, in the order of the file.
    pub fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }

    /// Returns the names of columns that are not single arrays, such as coordinates with several components.
    pub fn omitted(&self) -> &[String] {
        &self.omitted
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns a range of rows, optionally with a step.
    ///
    /// ```
    /// use asdf::ndarray::Slice;
    ///
    /// # let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    /// #     --- !core/asdf-1.1.0\nt: !core/table-1.0.0\n  columns:\n  \
    /// #     - !core/column-1.0.0 {name: ra, unit: deg, data: !core/ndarray-1.0.0 [1.5, 2.5]}\n...\n"[..])?;
    /// let table = file.tree()?.pointer("/t")?.table()?;
    /// let last = Slice::Range { start: Some(-1), stop: None, step: 1 };
    /// assert_eq!(table.slice(&[last])?.rows(), 1);
    /// let error = table.slice(&[Slice::Index(1)]).unwrap_err();
    /// assert_eq!(error.pointer(), Some("/t"));
    /// assert!(!error.is_bad_data());
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind
    /// [`Slice`](crate::ndarray::ArrayError::Slice) if `slices` is not a single [`Slice::Range`], or if its step
    /// is 0.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self> {
        let [Slice::Range { .. }] = slices else {
            let message = "a table has one axis: expected a range of rows such as 0:10";
            return Err(self.node.array_error(ArrayError::Slice(message.to_owned())));
        };
        let mut columns = self.columns.clone();
        for column in &mut columns {
            column.array = column.array.slice(slices)?;
        }
        let rows = columns.first().and_then(|column| column.array.shape().first().copied());
        let (node, omitted) = (self.node, self.omitted.clone());
        Ok(Self { node, columns, omitted, rows: rows.unwrap_or(0) })
    }

    /// Writes the table as CSV: a line with the names and units of the columns, such as `ra [deg]`, followed
    /// by one line per row. Masked values are empty; lists are written as JSON.
    ///
    /// # Errors
    ///
    /// Same as [`NdArray::write_elements`], for each column.
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let names = self.columns.iter().map(|Column { name, unit, .. }| {
            let unit = unit.as_ref().filter(|unit| !unit.is_empty());
            let unit = unit.map(|unit| format!(" [{unit}]")).unwrap_or_default();
            csv_cell(&Value::String(format!("{name}{unit}")))
        });
        writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
        self.for_each_row(&mut |row| {
            let cells: Vec<String> = row.iter().map(csv_cell).collect();
            Ok(writeln!(out, "{}", cells.join(","))?)
        })
    }

    /// Writes the table as JSON: `{"columns": [{"name": .., "unit": ..}], "rows": [[..], ..]}`. Masked values
    /// are `null`.
    ///
    /// # Errors
    ///
    /// Same as [`NdArray::write_elements`], for each column.
    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        let columns = self.columns.iter();
        let columns: Value = columns
            .map(|column| serde_json::json!({"name": column.name, "unit": column.unit}))
            .collect();
        write!(out, "{{\"columns\": ")?;
        binio::array::write_json(out, &columns)?;
        write!(out, ", \"rows\": [")?;
        let mut comma = "";
        self.for_each_row(&mut |row| {
            write!(out, "{comma}")?;
            comma = ", ";
            Ok(binio::array::write_json(out, &Value::Array(row))?)
        })?;
        Ok(writeln!(out, "]}}")?)
    }

    /// Calls `take` with the values of each row as JSON.
    fn for_each_row(&self, take: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<()> {
        // Keep the decoded blocks, so that they are not decoded again for each group of rows.
        let decoded = self.columns.iter().map(|column| match column.array.source() {
            Origin::Block(block) | Origin::External(_, block) if block.is_compressed() => {
                block.decode().map(Some)
            }
            _ => Ok(None),
        });
        let _decoded = decoded.collect::<Result<Vec<_>>>()?;
        let position = |row: u64| Some(i64::try_from(row).unwrap_or(i64::MAX));
        let row_bytes = self.columns.iter().fold(0_u64, |sum, Column { array, .. }| {
            let bytes = array.len().saturating_mul(array.datatype().itemsize());
            sum.saturating_add(bytes / self.rows.max(1))
        });
        let rows = (BYTES / row_bytes.max(1)).clamp(1, ROWS);
        let mut start = 0;
        while start < self.rows {
            let stop = self.rows.min(start + rows);
            let part = Slice::Range { start: position(start), stop: position(stop), step: 1 };
            let mut columns = Vec::with_capacity(self.columns.len());
            for column in &self.columns {
                let mut text = Vec::new();
                column.array.slice(&[part])?.write_elements(&mut text, PrintStyle::Json)?;
                let values: Vec<Value> =
                    serde_json::from_slice(&text).map_err(std::io::Error::from)?;
                columns.push(values.into_iter());
            }
            for _ in start..stop {
                take(columns.iter_mut().map(|column| column.next().unwrap_or_default()).collect())?;
            }
            start = stop;
        }
        Ok(())
    }
}
