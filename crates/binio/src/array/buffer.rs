//! Allocating vectors for the elements of large arrays. Running out of memory is an error, and
//! large vectors use large pages if the system has them.

use crate::array::ElementsError;

/// Size of a large page in bytes.
const LARGE_PAGE: usize = 2 << 20;

/// An upper bound on the size in bytes of the header that an allocator puts before an allocation.
const HEADER: usize = 64;

/// Size in bytes above which allocators request separate memory from the system for each vector.
pub(crate) const OWN_MEMORY: usize = 32 << 20;

/// Returns the capacity to request for `len` elements, which is larger than `len` for large
/// vectors. Linux aligns a mapping to large pages only if its size, including the allocator's
/// header, is a multiple of the large page size. The capacity contains one more large page as a
/// margin. The extra memory is never touched, so it costs nothing.
fn with_whole_pages<T>(len: usize) -> usize {
    let size = size_of::<T>().max(1);
    let bytes = len.checked_mul(size).filter(|&bytes| bytes > OWN_MEMORY);
    let pages =
        bytes.and_then(|bytes| bytes.checked_add(HEADER)?.checked_next_multiple_of(LARGE_PAGE));
    let asked = pages.and_then(|pages| pages.checked_add(LARGE_PAGE - HEADER));
    asked.map_or(len, |bytes| bytes / size)
}

fn out_of_memory<T>(len: usize) -> ElementsError {
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    ElementsError::Memory { bytes }
}

/// Returns a vector of zeros. Fails if there is not enough memory.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>, ElementsError> {
    let mut out = bytemuck::allocation::try_zeroed_vec(with_whole_pages::<T>(len))
        .map_err(|()| out_of_memory::<T>(len))?;
    // Large pages can still be requested now, because the system only provides the zeros of a large
    // vector when they are first touched.
    crate::memory::prefer_huge_pages(&mut out);
    out.truncate(len);
    Ok(out)
}

/// Returns an empty vector with space for `len` elements. Fails if there is not enough memory.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, ElementsError> {
    let mut out = Vec::new();
    out.try_reserve_exact(with_whole_pages::<T>(len)).map_err(|_| out_of_memory::<T>(len))?;
    crate::memory::prefer_huge_pages(&mut out);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocating_an_impossibly_large_buffer_is_an_error() {
        assert!(matches!(zeroed::<u64>(1 << 59), Err(ElementsError::Memory { .. })));
        assert!(matches!(reserved::<u64>(usize::MAX), Err(ElementsError::Memory { .. })));
    }
}
