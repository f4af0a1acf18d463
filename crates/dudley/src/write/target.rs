//! Finding the destination of data: the row, and the offsets of the elements in the row.

use binio::Bytes;
use binio::array::{self, ByteOrder, Datatype, Record, Strided};

use super::writer::Writer;
use crate::error::{Error, ErrorKind};
use crate::layout::{Field, Inside, Subject};
use crate::place::{Inner, to_error};

/// The destination of data: a row, or an instance or member in it.
pub(super) struct Destination {
    /// Index of the row in the address table.
    pub(super) index: usize,
    pub(super) inside: Vec<Inside>,
    pub(super) datatype: Datatype,
    pub(super) shape: Vec<u64>,
    /// Offsets of the elements in the bytes of the row, or `None` if the array is compressed.
    pub(super) strided: Option<Strided>,
}

impl Writer<'_> {
    /// Returns the element type and the shape that are expected at a path.
    pub(super) fn expected(&self, path: &str) -> Result<(Datatype, Vec<u64>), Error> {
        let Destination { datatype, shape, .. } = self.destination(path)?;
        Ok((datatype, shape))
    }

    /// Finds the destination of the data at a path.
    pub(super) fn destination(&self, path: &str) -> Result<Destination, Error> {
        let not_data = |what| Error::from(ErrorKind::NotData { path: path.to_owned(), what });
        let (subject, mut inside) = self.layout.stored_at(path)?;
        let is_of_struct = matches!(inside.last(), Some(Inside::Field(Field::Param(_))));
        if is_of_struct || matches!(subject, Subject::Param(_)) {
            return Err(not_data(
                "a parameter, whose value must be given when the file is created or extended",
            ));
        }
        let index = self.table.index_of(subject);
        let index = index.ok_or_else(|| not_data("not stored"))?;
        let row = self.table.rows()[index];
        let fail = |trouble| to_error(&self.layout, trouble, row.subject());
        let reason = |reason| Error::from(ErrorKind::NotStrided { path: path.to_owned(), reason });
        let mut inner = Inner::new(&self.layout, &self.inputs, self.table.numbers());
        let entry = self.table.entry(row);
        // The size of a compressed array is known only after its elements have been put.
        if row.nbytes().is_none() && !entry.is_compressed() {
            return Err(self.unknown(row));
        }
        let stored = inner.follow(&entry, Some(0), &inside, path)?;
        let stored = inner.enter_only_members(stored, |step| inside.push(step));
        let stored = stored.map_err(|trouble| fail(*trouble))?;
        let plain = stored.without_filter();
        let found = inner.array_type(&plain).map_err(|trouble| fail(*trouble))?;
        let (datatype, own) = found.map_err(reason)?;
        if stored.is_compressed() {
            if !inside.is_empty() {
                return Err(reason("compressed arrays inside structs cannot be written"));
            }
            return Ok(Destination { index, inside, datatype, shape: own, strided: None });
        }
        let len = row.nbytes().ok_or_else(|| self.unknown(row))?;
        let location = inner.location(&stored).map_err(|trouble| fail(*trouble))?;
        let (datatype, strided) = location.map_err(reason)?.into_strided(len)?;
        let shape = strided.shape().to_vec();
        Ok(Destination { index, inside, datatype, shape, strided: Some(strided) })
    }
}

/// Copies packed elements to their offsets. Records are copied field by field, so that parameters
/// between the fields are not overwritten.
pub(super) fn put_fields(
    strided: &Strided,
    packed: &array::Array<Bytes>,
    bytes: &mut [u8],
) -> Result<(), Error> {
    let Some(record) = packed.datatype().as_record() else {
        let elements = packed.read_bytes(array::Order::C, ByteOrder::Stored)?;
        let order = array::Order::C;
        return array::write_bytes(
            strided,
            packed.datatype(),
            &elements,
            order,
            ByteOrder::Stored,
            bytes,
        )
        .map_err(|error| binio::Error::from(error).into());
    };
    for field in Record::fields(record) {
        let place = strided.field(field).map_err(binio::Error::from)?;
        let part = packed.field(field.name()).map_err(binio::Error::from)?;
        put_fields(&place, &part, bytes)?;
    }
    Ok(())
}
