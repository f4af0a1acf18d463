//! Vectors for the elements of large arrays: an error if memory is short, on large pages where
//! the system has them.

use crate::array::ElementsError;

/// A page that is worth asking for.
const LARGE_PAGE: usize = 2 << 20;

/// More than what an allocator writes before its memory.
const HEADER: usize = 64;

/// From this size on, allocators take memory from the system for one vector alone.
pub(crate) const OWN_MEMORY: usize = 32 << 20;

/// How many elements to ask for where `len` are wanted. Linux aligns memory to large pages only if
/// it is a whole number of them, less the allocator's header; and the hint ends with the last whole
/// small page, so that the last large page is not one. What is asked for in addition is never
/// touched, and so costs nothing.
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

/// A vector of zeros, or the error of an allocator that has no more.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>, ElementsError> {
    let mut out = bytemuck::allocation::try_zeroed_vec(with_whole_pages::<T>(len))
        .map_err(|()| out_of_memory::<T>(len))?;
    // In time: the zeros of a large vector are only promised until it is written to.
    crate::memory::prefer_huge_pages(&mut out);
    out.truncate(len);
    Ok(out)
}

/// Room for so many elements, or the error of an allocator that has no more.
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
    fn memory_that_no_machine_has_is_an_error() {
        assert!(matches!(zeroed::<u64>(1 << 59), Err(ElementsError::Memory { .. })));
        assert!(matches!(reserved::<u64>(usize::MAX), Err(ElementsError::Memory { .. })));
    }
}
