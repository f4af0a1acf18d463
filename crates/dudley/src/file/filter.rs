//! Compressed arrays: a count of 8 bytes in the default byte order, then that many bytes.
//!
//! | filter | bytes |
//! |---|---|
//! | `gzip` | RFC 1952; what zlib writes (RFC 1950) is read too |
//!
//! A decoder stops at the declared size, so that a few bytes cannot become many.

use binio::array::{self, Strided};
use binio::{Bytes, ReadAt};
use std::io::Read;

use super::value::{Array, File, FileBytes};
use crate::error::{Error, ErrorKind};
use crate::layout::Order;
use crate::resolve::{Inner, Row, Stored, to_error};

/// Bytes of the count.
const COUNT_LEN: u64 = 8;

/// Output is made room for in steps of at most this, whatever the declared size is.
const STEP: u64 = 1 << 20;

impl File {
    /// The array that is stored compressed, decoded.
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
        let (datatype, shape) =
            found.ok_or_else(|| strided("it is compressed, so its size varies"))?;
        let len = array::byte_size(&shape, datatype.itemsize());
        let len = len.ok_or_else(|| strided("it has more than 2^63 bytes"))?;
        let bytes = if len == 0 {
            Vec::new()
        } else {
            let address = stored.address();
            let address = address.ok_or_else(|| strided("its address depends on the stream"))?;
            let filter = stored.filter().map(|id| self.layout().filter_of(id));
            let name = filter.map(|filter| filter.name.as_str()).unwrap_or_default();
            self.limits().check_alloc("a compressed array", len)?;
            let failed = |message: String| ErrorKind::Filter {
                path: path.to_owned(),
                filter: name.to_owned(),
                address,
                message,
            };
            decode(name, &self.compressed(address)?, len).map_err(failed)?
        };
        let strided = Strided::packed(shape, array::Order::C, 0, datatype.itemsize(), len);
        let strided = strided.map_err(binio::Error::from)?;
        let source = FileBytes::new(Bytes::from(bytes));
        let array = Array::new(source, datatype, strided, *self.limits());
        Ok(array.map_err(binio::Error::from)?)
    }

    /// The bytes after a count. That they are in the file is checked when addresses are found.
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
}

/// Decodes to just so many bytes.
#[cfg_attr(not(feature = "gzip"), allow(unused_variables, reason = "used by the decoder only"))]
fn decode(filter: &str, bytes: &[u8], len: u64) -> Result<Vec<u8>, String> {
    match filter {
        #[cfg(feature = "gzip")]
        "gzip" if bytes.first() == Some(&0x78) => {
            read_all(flate2::read::ZlibDecoder::new(bytes), len)
        }
        #[cfg(feature = "gzip")]
        "gzip" => read_all(flate2::read::MultiGzDecoder::new(bytes), len),
        _ => Err("no decoder for this filter".to_owned()),
    }
}

/// Compresses elements.
#[cfg(feature = "write")]
pub(super) fn encode(filter: &crate::Filter, bytes: &[u8]) -> Result<Vec<u8>, String> {
    #[cfg(feature = "gzip")]
    if filter.name == "gzip" {
        use std::io::Write;

        let level = match filter.arguments.first() {
            None | Some(crate::Argument::Integer(-1)) => 9,
            Some(&crate::Argument::Integer(level @ 0..=9)) => u32::try_from(level).unwrap_or(9),
            Some(other) => return Err(format!("{other} is not a level from -1 to 9")),
        };
        let level = flate2::Compression::new(level);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
        let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
        return written.map_err(|error| error.to_string());
    }
    let _ = bytes;
    Err(format!("no encoder for the filter {}", filter.name))
}

#[cfg_attr(not(feature = "gzip"), allow(dead_code, reason = "the only decoder is gzip"))]
fn read_all(decoder: impl Read, len: u64) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(usize::try_from(len.min(STEP)).unwrap_or(0));
    let more = len.saturating_add(1);
    decoder.take(more).read_to_end(&mut out).map_err(|error| error.to_string())?;
    match out.len() as u64 {
        found if found == len => Ok(out),
        found if found > len => Err(format!("it decodes to more than the declared {len} bytes")),
        found => Err(format!("it decodes to {found} bytes, expected {len}")),
    }
}
