//! The block index: a list of the offsets of all blocks, stored as text at the end of the file.
//!
//! ```text
//! #ASDF BLOCK INDEX\n
//! %YAML 1.1\n
//! ---\n
//! - 2043\n                    or in one line: --- [2043, 16340]
//! - 16340\n
//! ...\n
//! 00 00 00                    NUL bytes may follow
//! ```
//!
//! The index is only a hint. This module writes and strictly parses the text of the index; the offsets are
//! compared with the block headers when the headers are read.
//!
//! See the ASDF standard, "Low-level file layout", Block index.

use std::fmt::Write as _;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while};
use nom::character::complete::{char, digit1, line_ending, one_of, space0, u64 as number};
use nom::combinator::{eof, not, opt, peek, recognize, value, verify};
use nom::multi::fold_many0;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

/// The line that begins a block index.
pub(crate) const INDEX_HEADER: &[u8; 17] = b"#ASDF BLOCK INDEX";

/// Returns the text of an index that lists these offsets.
pub(crate) fn to_text(offsets: &[u64]) -> String {
    let mut text = String::from("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n");
    for offset in offsets {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {offset}");
    }
    text + "...\n"
}

/// The reason why the offsets in an index are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexError {
    /// The text is not a list of non-negative decimal integers.
    NotAList,
    /// The list has more entries than this limit.
    TooLong(u64),
}

/// Parses the text of an index, from [`INDEX_HEADER`] to the end of the file.
pub(crate) fn parse(text: &[u8], max_entries: u64) -> Result<Vec<u64>, IndexError> {
    let (_, entries) = document(text, max_entries).map_err(|_| IndexError::NotAList)?;
    if entries.len() as u64 > max_entries {
        return Err(IndexError::TooLong(max_entries));
    }
    Ok(entries)
}

/// Returns `true` if `text`, the end of a file, could be the end of an index that begins before it.
///
/// The first line of `text` may be the rest of a comment or directive. All other lines must be comments,
/// directives, or numbers with the characters that writers put around them.
pub(crate) fn could_end_index(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let is_cut = text.len() > first.len() && is_printable(first);
    (is_cut || could_be_index_line(first)) && lines.all(could_be_index_line)
}

fn could_be_index_line(line: &[u8]) -> bool {
    let comment = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
    let (entries, comment) = line.split_at(comment);
    let is_list = |byte: &u8| {
        matches!(byte, b'0'..=b'9' | b'-' | b' ' | b'\t' | b'\r' | 0 | b',' | b'[' | b']' | b'.')
    };
    let is_directive = entries.starts_with(b"%") && is_printable(entries);
    (is_directive || entries.iter().all(is_list)) && is_printable(comment)
}

fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'\t' | b'\r') || !byte.is_ascii_control())
}

fn document(text: &[u8], max_entries: u64) -> IResult<&[u8], Vec<u64>> {
    let (text, _) = (tag(&INDEX_HEADER[..]), line_ending).parse(text)?;
    let (text, ()) = fold_many0(alt((directive, blank_line)), || (), |(), ()| ()).parse(text)?;
    let (text, _) = opt((tag(&b"---"[..]), peek(one_of(" \t\r\n")))).parse(text)?;
    let (text, ()) = gap(text)?;
    let (text, entries) =
        alt((|t| flow_list(t, max_entries), |t| block_list(t, max_entries))).parse(text)?;
    let (text, ()) = gap(text)?;
    let (text, _) = opt(preceded(tag(&b"..."[..]), comment_or_nothing)).parse(text)?;
    let (text, _) = take_while(|b| matches!(b, 0 | b' ' | b'\r' | b'\n')).parse(text)?;
    let (text, _) = eof(text)?;
    Ok((text, entries))
}

fn directive(text: &[u8]) -> IResult<&[u8], ()> {
    value((), delimited(char('%'), take_till(|b| b == b'\r' || b == b'\n'), line_ending))
        .parse(text)
}

fn blank_line(text: &[u8]) -> IResult<&[u8], ()> {
    value((), terminated(comment_or_nothing, line_ending)).parse(text)
}

fn comment_or_nothing(text: &[u8]) -> IResult<&[u8], ()> {
    let (text, _) = space0(text)?;
    value((), opt((char('#'), take_till(|b| b == b'\r' || b == b'\n')))).parse(text)
}

/// Skips white space, line endings and comments.
fn gap(text: &[u8]) -> IResult<&[u8], ()> {
    // Check the usual case first: only a line feed between two entries.
    if let [b'\n', b'-', ..] = text {
        return Ok((&text[1..], ()));
    }
    let (text, ()) = fold_many0(blank_line, || (), |(), ()| ()).parse(text)?;
    value((), space0).parse(text)
}

/// Parses a decimal number. Leading zeros, which mean octal in YAML 1.1, are rejected, because no
/// writer of an index uses octal numbers.
fn entry(text: &[u8]) -> IResult<&[u8], u64> {
    let plain = verify(recognize(digit1), |digits: &[u8]| digits.len() == 1 || digits[0] != b'0');
    preceded(peek(plain), number).parse(text)
}

/// Parses lines of the form `- 1`.
fn block_list(text: &[u8], max_entries: u64) -> IResult<&[u8], Vec<u64>> {
    let line = (char('-'), one_of(" \t"), space0);
    let item =
        delimited(line, entry, (peek(one_of(" \t\r\n\0")).map(|_| ()).or(eof.map(|_| ())), gap));
    verify(collect(item, max_entries), |entries: &Vec<u64>| !entries.is_empty()).parse(text)
}

/// Parses `[1, 2,]`. A trailing comma is accepted, because some writers add it.
fn flow_list(text: &[u8], max_entries: u64) -> IResult<&[u8], Vec<u64>> {
    let (text, _) = (char('['), gap).parse(text)?;
    let item = terminated(entry, (gap, char(','), gap));
    let (text, mut entries) = collect(item, max_entries).parse(text)?;
    let (text, last) = opt(terminated(entry, gap)).parse(text)?;
    entries.extend(last);
    let (text, _) = (char(']'), not(digit1)).parse(text)?;
    Ok((text, entries))
}

/// Parses consecutive items. Returns at most the first `max + 1` items, which are enough to detect that there
/// are too many.
fn collect<'a, P>(
    item: P,
    max: u64,
) -> impl Parser<&'a [u8], Output = Vec<u64>, Error = nom::error::Error<&'a [u8]>>
where
    P: Parser<&'a [u8], Output = u64, Error = nom::error::Error<&'a [u8]>>,
{
    fold_many0(item, Vec::new, move |mut entries: Vec<u64>, entry| {
        if entries.len() as u64 <= max {
            entries.push(entry);
        }
        entries
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_index_parses_to_the_same_offsets(
            offsets in proptest::collection::vec(any::<u64>(), 1..50),
        ) {
            prop_assert_eq!(parse(to_text(&offsets).as_bytes(), 50), Ok(offsets));
        }
    }

    fn index(body: &[u8]) -> Option<Vec<u64>> {
        parse(&[INDEX_HEADER, &b"\n%YAML 1.1\n"[..], body].concat(), 1000).ok()
    }

    #[test]
    fn an_index_may_be_a_block_list_or_a_flow_list() {
        assert_eq!(index(b"---\n- 178\n- 240\n...\n"), Some(vec![178, 240]));
        assert_eq!(index(b"--- [178, 240]\n...\n"), Some(vec![178, 240]));
        assert_eq!(index(b"---\n[178,\n 240]\n...\n"), Some(vec![178, 240]));
        assert_eq!(index(b"---\r\n- 178\r\n- 240\r\n...\r\n"), Some(vec![178, 240]));
        assert_eq!(index(b"---\n  - 178 # first\n  - 240\n...\n"), Some(vec![178, 240]));
    }

    #[test]
    fn a_flow_list_in_an_index_may_end_with_a_comma() {
        assert_eq!(index(b"--- [123,456,]\n...\n"), Some(vec![123, 456]));
        assert_eq!(index(b"--- [,]\n...\n"), None);
        assert_eq!(index(b"--- [1,,2]\n...\n"), None);
    }

    #[test]
    fn an_empty_list_is_an_index_but_a_missing_list_is_not() {
        assert_eq!(index(b"--- []\n...\n"), Some(vec![]));
        assert_eq!(index(b"---\n...\n"), None);
        assert_eq!(index(b""), None);
    }

    #[test]
    fn an_index_may_lack_its_end_line_and_be_followed_by_nul_bytes() {
        assert_eq!(index(b"--- [1]\n...\n\0\0\0"), Some(vec![1]));
        assert_eq!(index(b"--- [1]\n\0\0\0"), Some(vec![1]));
        assert_eq!(index(b"---\n- 1\n\0\0\0"), Some(vec![1]));
        assert_eq!(index(b"---\n- 1"), Some(vec![1]));
        assert_eq!(index(b"---\n- 1\n..."), Some(vec![1]));
    }

    #[test]
    fn only_a_list_of_non_negative_integers_is_an_index() {
        for body in [
            &b"--- [-1]\n"[..],
            b"--- [1.5]\n",
            b"---\n- -1\n",
            b"---\n- 1.0\n",
            b"---\n- a\n",
            b"--- [[1]]\n",
            b"---\n- [1]\n",
            b"--- {a: 1}\n",
            b"---\n- &x 1\n- *x\n",
            b"--- [010]\n",
            b"--- [18446744073709551616]\n",
            b"---\n-1\n",
            b"---\n- 1 2\n",
            b"--- [1] x\n",
        ] {
            assert_eq!(index(body), None, "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn an_index_followed_by_other_text_is_rejected() {
        assert_eq!(index(b"---\n- 178\n...\ngarbage: ["), None);
    }

    #[test]
    fn an_index_header_with_more_text_on_its_line_is_rejected() {
        let text = b"#ASDF BLOCK INDEX %YAML 1.1\n--- [178]\n...\n";
        assert_eq!(parse(text, 10), Err(IndexError::NotAList));
        assert_eq!(parse(b"#ASDF BLOCK INDEX\r\n--- [178]\n...\n", 10), Ok(vec![178]));
    }

    #[test]
    fn an_index_with_more_entries_than_the_limit_is_too_long_in_either_style() {
        for list in ["[1, 2, 3]", "[1, 2, 3,]", "\n- 1\n- 2\n- 3"] {
            let text = format!("#ASDF BLOCK INDEX\n--- {list}\n...\n");
            assert_eq!(parse(text.as_bytes(), 3), Ok(vec![1, 2, 3]), "{list}");
            for limit in [2, 1, 0] {
                assert_eq!(
                    parse(text.as_bytes(), limit),
                    Err(IndexError::TooLong(limit)),
                    "{list}"
                );
            }
        }
    }

    #[test]
    fn every_suffix_of_an_index_is_recognised_as_its_end() {
        for body in [
            &b"%YAML 1.1\n---\n- 178\n- 240\n...\n"[..],
            b"%YAML 1.1\r\n---\r\n- 178\r\n...\r\n\0\0\0",
            b"# written by a tool\n--- # a list\n- 178 # first\n# second\n- 240\n...\n",
            b"--- [178,\n240,]\n",
            b"--- [178, 240]",
        ] {
            let text = [INDEX_HEADER, &b"\n"[..], body].concat();
            assert!(parse(&text, 10).is_ok());
            for from in 1..text.len() {
                let end = &text[from..];
                assert!(could_end_index(end), "{:?}", String::from_utf8_lossy(end));
            }
        }
    }

    #[test]
    fn text_and_binary_data_are_not_taken_for_the_end_of_an_index() {
        for text in [&b"one word\nanother\n"[..], b"a line without an end", b"\x01\n- 1\n"] {
            assert!(!could_end_index(text), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn parsing_an_index_with_a_million_entries_takes_linear_time() {
        let lines: String =
            (0..1_000_000u64).map(|i| format!("- {}\n", i * 54)).collect::<Vec<_>>().concat();
        let text = [INDEX_HEADER, &b"\n---\n"[..], lines.as_bytes(), b"...\n"].concat();
        assert_eq!(parse(&text, 2_000_000).map(|entries| entries.len()), Ok(1_000_000));
    }
}
