//! The layout at the end of a native file.

use binio::ReadAt;

use crate::error::{Error, ErrorKind};
use crate::signature::Signature;

/// Returns the bytes of the layout appended to a native file.
///
/// ```
/// let native = b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n";
/// assert_eq!(dudley::file::appended_layout(&native[..])?, b"x = i4\n");
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`Signature::of`]. Also fails with [`NotNative`](ErrorKind::NotNative) if the file has no signature,
/// with [`NoLayout`](ErrorKind::NoLayout) if no layout is appended to it, and with [`Read`](ErrorKind::Read) if
/// the layout cannot be read or has 2 GiB or more.
pub fn appended_layout(file: &(impl ReadAt + ?Sized)) -> Result<Vec<u8>, Error> {
    let file: &dyn ReadAt = &file;
    let signature = Signature::of(file)?.ok_or(ErrorKind::NotNative)?;
    match signature.layout_address {
        0 => Err(ErrorKind::NoLayout { is_native: true }.into()),
        _ => appended_text(file, signature),
    }
}

/// Reads the text of an appended layout.
pub(crate) fn appended_text(file: &dyn ReadAt, signature: Signature) -> Result<Vec<u8>, Error> {
    let address = signature.layout_address;
    text_at(file, address, file.len().saturating_sub(address))
}

/// Reads `len` bytes of text at `offset`. Fails if `len` exceeds the maximum length of a layout.
pub(super) fn text_at(file: &dyn ReadAt, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
    /// Maximum length of a layout in bytes.
    const LIMIT: u64 = i32::MAX.unsigned_abs() as u64;

    if len > LIMIT {
        let (what, requested) = ("bytes of the layout", len);
        let limit = binio::ErrorKind::Limit { what, limit: LIMIT, requested };
        return Err(binio::Error::new(limit).at(offset).into());
    }
    Ok(file.bytes_at(offset, usize::try_from(len).unwrap_or(usize::MAX))?.into())
}
