//! Finding the end of the tree: its `...` line or, failing that, the first plausible block.

use binio::{Limits, ReadAt};

use super::cached_source::CachedSource;
use super::found_block::HeaderState;
use crate::diagnostic::{Code, Reports};
use crate::error::Result;
use crate::layout::tree_end::{self, TreeEnd};

/// Maximum number of bytes after a false magic that are searched for the end of the tree.
const MAX_AFTER_MAGIC: usize = 1 << 20;

/// Returns the end of the tree that begins at `start`, extending the head until it contains the end.
pub(super) fn find_end(
    source: &mut CachedSource,
    start: u64,
    limits: &Limits,
    reports: &Reports,
) -> Result<u64> {
    let mut from = 0;
    // The first magic that does not begin a plausible block. Either the tree continues after it and is damaged,
    // or the tree has no end.
    let mut false_magic: Option<usize> = None;
    loop {
        let all = source.head(start..u64::MAX);
        let bound = false_magic.map(|at| at.saturating_add(MAX_AFTER_MAGIC));
        let text = &all[..bound.unwrap_or(usize::MAX).min(all.len())];
        let complete = source.is_complete() && text.len() == all.len();
        let found = match tree_end::search(text, from, complete) {
            TreeEnd::Found { len, unusual } => {
                let end = start + len as u64;
                if unusual {
                    let message = "the line `...` that ends the tree is followed by a block or a \
                                   lone carriage return, expected LF or CR LF";
                    reports.report(Code::DocumentEndForm, end, message);
                }
                return Ok(end);
            }
            TreeEnd::Magic { at } if is_plausible(source, start + at as u64)? => Some(at),
            TreeEnd::Magic { at } => {
                false_magic.get_or_insert(at);
                from = at + 1;
                continue;
            }
            TreeEnd::Unknown { resume } => {
                from = resume;
                let given_up = bound.is_some_and(|bound| text.len() >= bound);
                (complete || given_up).then(|| false_magic.unwrap_or(all.len()))
            }
        };
        if let Some(len) = found {
            let end = start + len as u64;
            reports.report(Code::MissingDocumentEnd, end, "no `...` line at the end of the tree");
            return Ok(end);
        }
        let more = (all.len() as u64).saturating_add(1);
        limits.check_alloc("bytes of the tree", more)?;
        // Without another reference to the head, it grows in place. Reading ten million inline numbers takes
        // 0.6 times as long (`cargo xtask bench asdf`, table `inline numbers`).
        drop(all);
        source.grow_head()?;
    }
}

/// Returns `true` if the magic at `offset` begins a plausible block.
fn is_plausible(source: &CachedSource, offset: u64) -> Result<bool> {
    let file_len = source.len();
    Ok(matches!(source.header(offset)?, HeaderState::Good(header) if header.is_plausible(file_len)))
}
