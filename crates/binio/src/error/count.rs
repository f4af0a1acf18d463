//! Formatting a number with its noun for messages, such as `1 block` or `2 blocks`.

use std::fmt::Display;

/// Formats a number with a noun, which is in the singular after 1 (`1 block`) and in the plural
/// after all other numbers (`2 blocks`).
///
/// ```
/// use binio::diagnostic::count;
///
/// assert_eq!(count(1, "byte"), "1 byte");
/// assert_eq!(count(0_u64, "more entry"), "0 more entries");
/// assert_eq!(count(2_usize, "key"), "2 keys");
/// ```
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match ending {
        _ if number == N::from(1) => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}
