//! Compressed arrays: an 8-byte count in the default byte order, followed by that many bytes.

use binio::array::{self, Strided};
use binio::{Bytes, ReadAt};

use super::bytes::FileBytes;
use super::value::{Array, File};
use crate::error::{Error, ErrorKind};
use crate::filter::{Declared, FilterError};
use crate::layout::Order;
use crate::place::{Inner, Row, Stored, to_error};

/// Length in bytes of the count before the compressed bytes.
const COUNT_LEN: u64 = 8;

impl File {
    /// Decodes a compressed array. `path` is used in messages.
    pub(super) fn decoded(
        &self,
        inner: &mut Inner<'_>,
        stored: &Stored,
        row: Row,
        path: &str,
    ) -> Result<Array, Error> {
        let fail = |trouble| to_error(self.layout(), trouble, row.subject());
        let strided = |reason| Error::from(ErrorKind::NotStrided { path: path.to_owned(), reason });
        let plain = stored.without_filter();
        let found = inner.array_type(&plain).map_err(|trouble| fail(*trouble))?;
        let (datatype, shape) = found.map_err(strided)?;
        let len = array::byte_size(&shape, datatype.itemsize());
        let len = len.ok_or_else(|| strided("it has more than 2^63-1 bytes"))?;
        let bytes = if len == 0 {
            Vec::new()
        } else {
            let address = stored.address();
            let address = address.ok_or_else(|| strided("its address depends on the stream"))?;
            let filter = stored.filter().map(|id| self.layout().filter_of(id));
            let (name, arguments) =
                filter.map(|filter| (&*filter.name, &*filter.arguments)).unwrap_or_default();
            self.limits().check_alloc("bytes of a compressed array", len)?;
            let failed = |error: FilterError| ErrorKind::Filter {
                path: path.to_owned(),
                filter: name.to_owned(),
                address,
                message: error.to_string(),
            };
            let declared = Declared { datatype: &datatype, shape: &shape, arguments, len };
            let stored = self.compressed(address)?;
            self.filters().decode(name, &declared, &stored).map_err(failed)?
        };
        let strided = Strided::packed(shape, array::Order::C, 0, datatype.itemsize(), len);
        let strided = strided.map_err(binio::Error::from)?;
        let source = FileBytes::new(Bytes::from(bytes));
        let array = Array::new(source, datatype, strided, *self.limits());
        Ok(array.map_err(binio::Error::from)?)
    }

    /// Reads the count at `address`, and returns the compressed bytes after it. The address
    /// resolver has already checked that these bytes are in the file.
    fn compressed(&self, address: u64) -> Result<Bytes, Error> {
        let mut count = [0; 8];
        self.source().read_exact_at(&mut count, address)?;
        let count = match self.order() {
            Order::Little => u64::from_le_bytes(count),
            Order::Big => u64::from_be_bytes(count),
        };
        let len = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(self.source().bytes_at(address.saturating_add(COUNT_LEN), len)?)
    }

    /// Returns the compressed bytes of an array, without the count before them. This also works for filters
    /// that are not registered.
    ///
    /// ```
    /// use dudley::{File, Layout, OpenOptions, Order, Rules};
    ///
    /// let rules = Rules::new().order(Order::Little);
    /// let options = OpenOptions::new().rules(rules).layout(Layout::parse("x = f4[9] -> mine")?);
    /// let file = options.from_bytes(b"\x03\0\0\0\0\0\0\0abc".to_vec())?;
    /// assert_eq!(file.raw_bytes("/x")?, "abc");
    /// let error = file.get("/x").unwrap_err().to_string();
    /// assert_eq!(error, "`/x`, compressed by mine at address 0: no decoder for this filter");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get), except for [`Filter`](ErrorKind::Filter) and
    /// [`PastEnd`](ErrorKind::PastEnd). Also fails with [`NotData`](ErrorKind::NotData) if the array is not
    /// compressed, or if its address is not known.
    pub fn raw_bytes(&self, path: &str) -> Result<Bytes, Error> {
        let (row, inside) = self.find(path)?;
        let inputs = self.inputs();
        let stored = self.follow(&mut self.inner(&inputs), row, &inside, path)?;
        let not_data = |what| Error::from(ErrorKind::NotData { path: path.to_owned(), what });
        match stored.address() {
            _ if !stored.is_compressed() || !stored.is_alone() => Err(not_data("not compressed")),
            _ if stored.count() == Some(0) => Ok(Bytes::new()),
            Some(address) => self.compressed(address),
            None => Err(not_data("at an address that depends on the stream")),
        }
    }
}
