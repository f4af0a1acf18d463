//! Finding the end of the tree.
//!
//! The size of the tree is not stored, so its end must be found by searching for a line with `...`
//! in column 0. The rest of the line must be empty, or consist of white space and an optional
//! comment. The line may end at the end of the file.
//!
//! ```text
//! ...\n        ...\r\n        ...  \n        ... # end\n        ...<end of file>
//! ```
//!
//! A `...` in column 0 ends the document even inside a block scalar; an indented `...` is content,
//! and so are `....` and `foo...bar`. In some files, `...` is followed directly by the block magic
//! or a lone carriage return; this also ends the tree, but is reported. If a plausible block comes
//! before any `...` line, the tree ends at that block. If there is neither a `...` line nor a
//! plausible block, the tree ends at the first block magic or, without a magic, at the end of the
//! file.
//!
//! The regular expression in the standard, `\r?\n...\r?\n`, is not used, because its dots match any three
//! characters.
//!
//! See the ASDF standard, "Low-level file layout", Tree.

use memchr::memmem;

use super::block_header::BLOCK_MAGIC;

/// The result of searching for the end of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeEnd {
    /// The end of the tree was found.
    Found {
        /// Length of the tree in bytes, including the `...` line.
        len: usize,
        /// Whether the `...` line ends at a block magic or with a lone carriage return. Writers
        /// should not produce either.
        unusual: bool,
    },
    /// A block magic comes before any `...` line. If no plausible block begins there, continue with
    /// `search(text, at + 1, ..)`.
    Magic {
        /// The offset of the magic in the text.
        at: usize,
    },
    /// The text contains neither an end line nor a block magic so far.
    Unknown {
        /// The offset at which to continue when more text is available.
        resume: usize,
    },
}

/// Searches for the end of a tree in `text`, which begins with this tree. The search starts at byte
/// `from`. `complete` means that the file ends where `text` ends. Otherwise, the end of the text does
/// not count as the end of a line, so that a search in several steps has the same result as a search
/// of the whole text.
pub(crate) fn search(text: &[u8], from: usize, complete: bool) -> TreeEnd {
    let from = from.min(text.len());
    let magic = memmem::find(&text[from..], &BLOCK_MAGIC).map(|at| from + at);
    let limit = magic.unwrap_or(text.len());
    for line in line_starts_with_dots(&text[..limit], from) {
        match classify(&text[line..], complete) {
            Line::End { len, unusual } => return TreeEnd::Found { len: line + len, unusual },
            Line::Content => {}
            Line::Cut => return TreeEnd::Unknown { resume: line.saturating_sub(1).max(from) },
        }
    }
    match magic {
        Some(at) => TreeEnd::Magic { at },
        // The last bytes may be the beginning of "\n..." or of the magic, so search them again.
        None => TreeEnd::Unknown { resume: text.len().saturating_sub(3).max(from) },
    }
}

/// Returns the offsets of all lines that begin with `...`, searching from byte `from`.
fn line_starts_with_dots(text: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let first = (from == 0 && text.starts_with(b"...")).then_some(0);
    let others = memmem::find_iter(&text[from..], b"\n...").map(move |at| from + at + 1);
    first.into_iter().chain(others)
}

/// The classification of a line that begins with `...`.
enum Line {
    /// The end of the document; `len` includes the line ending.
    End { len: usize, unusual: bool },
    /// Part of the content.
    Content,
    /// Undecided until more text is available.
    Cut,
}

fn classify(line: &[u8], complete: bool) -> Line {
    let mut at = 3;
    while matches!(line.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    if at > 3 && line.get(at) == Some(&b'#') {
        at += line[at..].iter().position(|&b| b == b'\n').unwrap_or(line.len() - at);
        if let Some(magic) = memmem::find(&line[..at], &BLOCK_MAGIC) {
            return Line::End { len: magic, unusual: true };
        }
    }
    match line.get(at..).unwrap_or_default() {
        [] if complete => Line::End { len: at, unusual: false },
        [b'\n', ..] => Line::End { len: at + 1, unusual: false },
        [b'\r', b'\n', ..] => Line::End { len: at + 2, unusual: false },
        [] => Line::Cut,
        [b'\r'] if !complete => Line::Cut,
        [b'\r', ..] => Line::End { len: at + 1, unusual: true },
        rest if rest.starts_with(&BLOCK_MAGIC) => Line::End { len: at, unusual: true },
        rest if !complete && BLOCK_MAGIC.starts_with(rest) => Line::Cut,
        _ => Line::Content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &[u8]) -> TreeEnd {
        search(text, 0, true)
    }

    fn found(len: usize) -> TreeEnd {
        TreeEnd::Found { len, unusual: false }
    }

    #[test]
    fn an_end_line_may_have_white_space_a_comment_and_any_line_ending() {
        assert_eq!(whole(b"a: 1\n...\nrest"), found(9));
        assert_eq!(whole(b"a: 1\r\n...\r\nrest"), found(11));
        assert_eq!(whole(b"a: 1\n... \t\nrest"), found(11));
        assert_eq!(whole(b"a: 1\n... # end\nrest"), found(15));
        assert_eq!(whole(b"a: 1\n..."), found(8));
        assert_eq!(whole(b"a: 1\n... # end"), found(14));
        assert_eq!(whole(b"...\n"), found(4));
    }

    #[test]
    fn dots_that_do_not_form_an_end_line_are_content() {
        for text in [
            &b"a: ...\n"[..],
            b"a\n ...\n",
            b"a\n....\n",
            b"foo...bar\n",
            b"a\n...#x\n",
            b"a\n... x\n",
        ] {
            assert!(matches!(whole(text), TreeEnd::Unknown { .. }), "{text:?}");
        }
    }

    #[test]
    fn an_end_line_ends_the_tree_even_inside_a_block_scalar() {
        assert_eq!(whole(b"a: |\n  b\n...\n  c\n...\n"), found(13));
    }

    #[test]
    fn dots_before_a_magic_or_a_lone_carriage_return_are_an_unusual_end_of_the_tree() {
        assert_eq!(whole(b"a\n...\xd3BLK"), TreeEnd::Found { len: 5, unusual: true });
        assert_eq!(whole(b"a\n...\r\xd3BLK"), TreeEnd::Found { len: 6, unusual: true });
        assert_eq!(whole(b"a\n... # c\xd3BLK"), TreeEnd::Found { len: 9, unusual: true });
    }

    #[test]
    fn a_search_stops_at_a_block_magic_before_the_end_line_and_can_continue_after_it() {
        let text = b"a: '\xd3BLK'\n...\n";
        assert_eq!(whole(text), TreeEnd::Magic { at: 4 });
        assert_eq!(search(text, 5, true), found(text.len()));
    }

    proptest! {
        #[test]
        fn the_end_of_the_tree_does_not_depend_on_how_the_text_is_split(
            text in proptest::collection::vec(
                prop_oneof![Just(b"\n".to_vec()), Just(b"...".to_vec()), Just(b"\r".to_vec()),
                    Just(b" ".to_vec()), Just(b"#".to_vec()), Just(b"x".to_vec()),
                    Just(b"\xd3BL".to_vec()), Just(b"K".to_vec())], 0..12),
            step in 1usize..4,
        ) {
            let text = text.concat();
            let at_once = whole(&text);
            let mut from = 0;
            let mut len = 0;
            let in_pieces = loop {
                len = (len + step).min(text.len());
                match search(&text[..len], from, len == text.len()) {
                    TreeEnd::Unknown { resume } if len < text.len() => from = resume,
                    TreeEnd::Unknown { .. } => break search(&text, 0, true),
                    end => break end,
                }
            };
            let same_unknown = matches!(
                (at_once, in_pieces), (TreeEnd::Unknown { .. }, TreeEnd::Unknown { .. }));
            prop_assert!(at_once == in_pieces || same_unknown, "{at_once:?} {in_pieces:?}");
        }
    }
}
