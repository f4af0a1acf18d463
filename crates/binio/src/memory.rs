//! Allocating large buffers. Running out of memory is an error instead of an abort, and buffers use
//! large pages if the system has them.
//!
//! Filling a new buffer of 1 GiB causes a page fault for every 4 KiB, which can take longer than
//! decoding the data. If a program requests large pages, as numpy does, the Linux kernel uses pages
//! of 2 MiB instead. Copying 256 MiB to a new vector then takes 0.3 times as long
//! (`--example array_speed`, row `plain`, column `vector`).

use crate::{Error, ErrorKind, Result};

/// Minimum size in bytes of buffers that benefit from large pages.
#[cfg(all(target_os = "linux", not(miri)))]
const THRESHOLD: usize = 4 << 20;

/// Returns an empty buffer with space for `len` elements. `what` describes the buffer in errors.
///
/// If the length comes from a file, check it against the caller's [`Limits`](crate::Limits) first.
///
/// ```
/// let buffer: Vec<u8> = binio::memory::reserve("chunk 3", 100)?;
/// assert!(buffer.is_empty() && buffer.capacity() >= 100);
///
/// let error = binio::memory::reserve::<u8>("chunk 3", 1 << 62).unwrap_err();
/// assert_eq!(error.to_string(), "cannot allocate 4611686018427387904 bytes for chunk 3");
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`OutOfMemory`](ErrorKind::OutOfMemory) if the buffer cannot be allocated.
pub fn reserve<T>(what: &'static str, len: u64) -> Result<Vec<T>> {
    let mut buffer = Vec::new();
    grow(&mut buffer, what, len)?;
    Ok(buffer)
}

/// Returns a buffer of `len` zeros. In a large buffer, the system only provides memory for a page
/// once the page is written to. `what` describes the buffer in errors.
///
/// If the length comes from a file, check it against the caller's [`Limits`](crate::Limits) first.
///
/// ```
/// assert_eq!(binio::memory::zeroed("chunk 3", 2)?, [0, 0]);
///
/// let error = binio::memory::zeroed("chunk 3", usize::MAX).unwrap_err();
/// assert!(matches!(error.kind(), binio::ErrorKind::OutOfMemory { what: "chunk 3", .. }));
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`OutOfMemory`](ErrorKind::OutOfMemory) if the buffer cannot be allocated.
pub fn zeroed(what: &'static str, len: usize) -> Result<Vec<u8>> {
    let buffer = bytemuck::allocation::try_zeroed_vec(len);
    let mut buffer =
        buffer.map_err(|()| Error::new(ErrorKind::OutOfMemory { what, requested: len as u64 }))?;
    prefer_huge_pages(&mut buffer);
    Ok(buffer)
}

/// Reserves space in a buffer for exactly `additional` more elements. `what` describes the buffer
/// in errors.
///
/// # Errors
///
/// Fails with [`OutOfMemory`](ErrorKind::OutOfMemory) if the space cannot be allocated. The buffer
/// is then unchanged.
pub fn grow<T>(buffer: &mut Vec<T>, what: &'static str, additional: u64) -> Result<()> {
    let reserved =
        usize::try_from(additional).is_ok_and(|len| buffer.try_reserve_exact(len).is_ok());
    if !reserved {
        let len = additional.saturating_add(buffer.len() as u64);
        let requested = len.saturating_mul(size_of::<T>() as u64);
        return Err(Error::new(ErrorKind::OutOfMemory { what, requested }));
    }
    prefer_huge_pages(buffer);
    Ok(())
}

/// Requests large pages for the whole capacity of a buffer that is about to be filled. This is only
/// a hint: it does not change the content, cannot fail, and has no effect on small buffers or on
/// systems other than Linux.
///
/// ```
/// let mut buffer: Vec<f64> = vec![0.0; 1 << 20];
/// binio::memory::prefer_huge_pages(&mut buffer);
/// assert_eq!(buffer[7], 0.0);
/// ```
pub fn prefer_huge_pages<T>(buffer: &mut Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    advise(buffer.as_mut_ptr().cast(), buffer.capacity().saturating_mul(size_of::<T>()));
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = buffer;
}

#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "madvise takes a pointer; this advice changes no content")]
fn advise(start: *mut u8, len: usize) {
    if len < THRESHOLD {
        return;
    }
    let page = rustix::param::page_size();
    // Extend the range to whole pages, since a large page is only used if the hint covers all of
    // it.
    let before = start.addr() % page;
    let first = start.wrapping_sub(before);
    let whole = len.saturating_add(before).next_multiple_of(page);
    // SAFETY: each page of `first..first + whole` contains a byte of the single allocation of `len`
    // bytes at `start`, which the caller's exclusive borrow keeps alive, so all of the pages are
    // mapped. MADV_HUGEPAGE neither reads nor writes memory, nor changes its content or
    // permissions, so other allocations in the first and last page are not affected.
    let advised =
        unsafe { rustix::mm::madvise(first.cast(), whole, rustix::mm::Advice::LinuxHugepage) };
    // A kernel without large pages rejects the request, but the buffer is still usable.
    let _ = advised;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossibly_large_buffer_is_an_error_instead_of_an_abort() {
        for len in [u64::MAX, 1 << 62] {
            let error = reserve::<u8>("data", len).unwrap_err();
            assert_eq!(error.to_string(), format!("cannot allocate {len} bytes for data"));
        }
    }

    #[test]
    fn a_buffer_that_fails_to_grow_keeps_its_content() {
        let mut buffer = vec![1_u16, 2];
        let error = grow(&mut buffer, "rows", 1 << 62).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory { what: "rows", .. }));
        assert_eq!(buffer, [1, 2]);
    }

    #[test]
    fn large_pages_change_neither_content_nor_length() {
        for len in [0, 1, 4095, 4 << 20, (9 << 20) + 17] {
            let mut buffer: Vec<u8> = (0..len).map(|n: usize| n.to_le_bytes()[0]).collect();
            prefer_huge_pages(&mut buffer);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().enumerate().all(|(n, &byte)| byte == n.to_le_bytes()[0]));
        }
    }

    #[test]
    fn an_empty_buffer_with_large_pages_can_be_filled_to_its_capacity() {
        let mut buffer: Vec<u64> = Vec::with_capacity(1 << 20);
        prefer_huge_pages(&mut buffer);
        buffer.resize(1 << 20, 7);
        assert!(buffer.iter().all(|&number| number == 7));
    }
}
