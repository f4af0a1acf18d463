//! Large buffers on large pages: a hint to the operating system.
//!
//! A new buffer of a gigabyte costs a page fault for every 4 KiB that is written to, which can take
//! longer than decoding into it. On Linux the kernel gives pages of 2 MiB to memory that asks for
//! them. numpy asks for its arrays too, so a reader that does not falls behind it.

/// Buffers below this size do not gain from large pages.
#[cfg(all(target_os = "linux", not(miri)))]
const THRESHOLD: usize = 4 << 20;

/// Asks for large pages for the whole capacity of a buffer that is about to be filled. Only a hint:
/// it changes no content, small buffers and other systems ignore it, and it cannot fail.
///
/// ```
/// let mut buffer: Vec<f64> = vec![0.0; 1 << 20];
/// binio::prefer_huge_pages(&mut buffer);
/// assert_eq!(buffer[7], 0.0);
/// ```
pub fn prefer_huge_pages<T>(buffer: &mut Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    advise(buffer.as_mut_ptr().cast(), buffer.capacity().saturating_mul(size_of::<T>()));
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = buffer;
}

#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "madvise takes a pointer; the advice given here changes no content")]
fn advise(start: *mut u8, len: usize) {
    if len < THRESHOLD {
        return;
    }
    let page = rustix::param::page_size();
    // Outwards to whole pages: a large page whose first small one is left out is not made.
    let before = start.addr() % page;
    let first = start.wrapping_sub(before);
    let whole = len.saturating_add(before).next_multiple_of(page);
    // SAFETY: each page of `first..first + whole` holds a byte of the one allocation of `len` bytes
    // at `start`, of which the caller's exclusive borrow keeps hold, so all of them are mapped.
    // MADV_HUGEPAGE neither reads nor writes memory nor changes what it holds or may be used for,
    // so that other allocations in the first and the last page do not notice.
    let advised =
        unsafe { rustix::mm::madvise(first.cast(), whole, rustix::mm::Advice::LinuxHugepage) };
    // A kernel without large pages refuses; the buffer is then as good as before.
    let _ = advised;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_length_stay() {
        for len in [0, 1, 4095, 4 << 20, (9 << 20) + 17] {
            let mut buffer: Vec<u8> = (0..len).map(|n: usize| n.to_le_bytes()[0]).collect();
            prefer_huge_pages(&mut buffer);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().enumerate().all(|(n, &byte)| byte == n.to_le_bytes()[0]));
        }
    }

    #[test]
    fn a_buffer_without_content_keeps_its_capacity() {
        let mut buffer: Vec<u64> = Vec::with_capacity(1 << 20);
        prefer_huge_pages(&mut buffer);
        buffer.resize(1 << 20, 7);
        assert!(buffer.iter().all(|&number| number == 7));
    }
}
