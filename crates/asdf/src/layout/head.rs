//! The header line and the comments: everything before the tree or the first block.
//!
//! ```text
//! #ASDF 1.0.0\n               header: version of the file format, major 1
//! #ASDF_STANDARD 1.6.0\n      a comment with a meaning: version of the standard
//! # anything\n                other comments
//! %YAML 1.1\n                 the tree, if there is one
//! ```
//!
//! Lines end with LF or CR LF. A file may consist of the header line alone, even without a line
//! ending. Anything else before the tree (a byte-order mark, blank lines, padding) is skipped and
//! reported, so that the tree is still found.
//!
//! See the ASDF standard, "Low-level file layout", Header and Comments.

use memchr::{memchr, memmem};
use nom::bytes::complete::{tag, take_till1, take_while, take_while1};
use nom::character::complete::{char, u32 as number};
use nom::combinator::{all_consuming, rest, verify};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use super::Comment;
use super::block_header::BLOCK_MAGIC;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::error::{Error, ErrorKind};
use crate::tag::Version;

const ASDF_TOKEN: &[u8] = b"#ASDF";
const STANDARD_TOKEN: &[u8] = b"#ASDF_STANDARD";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The only version of the file format that exists so far.
const FORMAT_VERSION: Version = Version::new(1, 0, 0);

/// The range of known minor versions of the standard.
const KNOWN_STANDARD_MINORS: std::ops::RangeInclusive<u32> = 0..=7;

/// The content that follows the header and the comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The tree.
    Tree,
    /// A block magic.
    Block,
    /// The end of the file.
    Nothing,
}

/// The header and the comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Version of the file format, from the header line.
    pub(crate) format_version: Version,
    /// Version of the standard, if the file declares one.
    pub(crate) standard_version: Option<Version>,
    /// The comments other than `#ASDF_STANDARD`.
    pub(crate) comments: Vec<Comment>,
    /// The kind of content that follows the header and the comments.
    pub(crate) content: Content,
    /// Length of the header and the comments in bytes.
    pub(crate) len: usize,
    /// Number of the first line after the comments, counted from 1.
    pub(crate) line: u32,
    /// Irregularities in the header and the comments.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Returns the header line and the `#ASDF_STANDARD` comment of a new file.
pub(crate) fn to_text(standard: Version) -> String {
    format!("#ASDF {FORMAT_VERSION}\n#ASDF_STANDARD {standard}\n")
}

/// Parses the head of a file. `complete` means that the file ends where `text` ends. Returns `None`
/// if more text is needed to find the end of the head.
pub(crate) fn parse(text: &[u8], complete: bool) -> Result<Option<Head>, Error> {
    let Some(line) = Line::at(text, 0, complete) else {
        // If this is not an ASDF file, there is no need to read its first line to the end.
        return if text.starts_with(ASDF_TOKEN) { Ok(None) } else { Err(not_asdf(text)) };
    };
    let mut head = Head {
        format_version: FORMAT_VERSION,
        standard_version: None,
        comments: Vec::new(),
        content: Content::Nothing,
        len: line.next,
        line: 2,
        diagnostics: Vec::new(),
    };
    head.read_header(line.text)?;
    Ok(head.read_comments(text, complete).then_some(head))
}

impl Head {
    fn read_header(&mut self, line: &[u8]) -> Result<(), Error> {
        let Ok((trailing, (blanks, word))) = header_line(line) else { return Err(not_asdf(line)) };
        if blanks != b" " || !trailing.is_empty() {
            let message =
                "expected a single space after #ASDF and no other white space in the header line";
            self.report(Code::HeaderWhitespace, ASDF_TOKEN.len(), 1, message);
        }
        let version = version(word).ok().filter(|(_, version)| version.major == 1);
        let Some((suffix, version)) = version else {
            let word = String::from_utf8_lossy(word);
            let message = format!("the file format version is {word:?}, expected 1.0.0");
            return Err(Error::new(ErrorKind::Layout(message)).at(6));
        };
        self.format_version = version;
        if version != FORMAT_VERSION || !suffix.is_empty() {
            let word = String::from_utf8_lossy(word);
            let message = format!(
                "the file is read as version {FORMAT_VERSION} of the file format, but it declares \
                 version {word}"
            );
            self.report(Code::UnsupportedVersion, 6, 1, message);
        }
        Ok(())
    }

    /// Reads lines up to the tree, the first block or the end of the file. Returns `false` if more
    /// text is needed to find the end of the comments.
    fn read_comments(&mut self, text: &[u8], complete: bool) -> bool {
        let mut other_bytes = false;
        loop {
            let rest = &text[self.len..];
            if rest.starts_with(&BLOCK_MAGIC) {
                self.content = Content::Block;
                return true;
            }
            let Some(line) = Line::at(text, self.len, complete) else { return false };
            if rest.is_empty() {
                return true;
            }
            if let Some(directive) = begins_tree(line.text) {
                if !directive {
                    let message = "the tree does not begin with a %YAML directive, expected \
                                   `%YAML 1.1`";
                    self.report(Code::MissingYamlDirective, self.len, self.line, message);
                }
                self.content = Content::Tree;
                return true;
            }
            if line.text.starts_with(b"#") {
                self.read_comment(line.text);
            } else {
                // Report only the first line of unexpected bytes.
                if !std::mem::replace(&mut other_bytes, true) {
                    self.report_other_bytes();
                }
                if rest.starts_with(BYTE_ORDER_MARK) {
                    self.len += BYTE_ORDER_MARK.len();
                    continue;
                }
            }
            self.len = line.next;
            self.line = self.line.saturating_add(1);
        }
    }

    fn read_comment(&mut self, line: &[u8]) {
        if let Ok((_, word)) = standard_line(line) {
            let version = all_consuming(version).parse(word).ok().map(|(_, version)| version);
            self.standard_version = self.standard_version.or(version);
            let known = version.is_some_and(|v| {
                v.major == 1 && KNOWN_STANDARD_MINORS.contains(&v.minor) && v.patch == 0
            });
            if !known {
                let message = format!(
                    "the version {:?} of the standard is unknown",
                    String::from_utf8_lossy(word)
                );
                self.report(Code::UnknownStandard, self.len, self.line, message);
            }
            return;
        }
        let text = String::from_utf8_lossy(&line[1..]).into_owned();
        self.comments.push(Comment { offset: self.len as u64, text });
    }

    /// Reports bytes that are neither a comment nor part of the tree.
    fn report_other_bytes(&mut self) {
        let message = "expected a comment, the tree or a block after the header, found other bytes";
        self.report(Code::BytesBeforeTree, self.len, self.line, message);
    }

    fn report(&mut self, code: Code, at: usize, line: u32, message: impl Into<String>) {
        let place = Place::at(at as u64).line(line);
        self.diagnostics.push(Diagnostic::new(code, place, message));
    }
}

/// A line in the head.
struct Line<'a> {
    /// The line without its line ending.
    text: &'a [u8],
    /// The offset of the next line.
    next: usize,
}

impl<'a> Line<'a> {
    /// Returns the line at `start`. A line ends at LF, at a block magic, or at the end of the file. Returns
    /// `None` if the end of the line has not been read yet.
    fn at(text: &'a [u8], start: usize, complete: bool) -> Option<Self> {
        let bytes = &text[start..];
        let (len, next) = match memchr(b'\n', bytes) {
            Some(end) => (end, end + 1),
            None if complete => (bytes.len(), bytes.len()),
            // Padding before the first block need not contain line endings, so look for the magic.
            None => memmem::find(bytes, &BLOCK_MAGIC).map(|at| (at, at))?,
        };
        let magic = memmem::find(&bytes[..len], &BLOCK_MAGIC);
        let (len, next) = magic.map_or((len, next), |at| (at, at));
        let line = &bytes[..len];
        Some(Self { text: line.strip_suffix(b"\r").unwrap_or(line), next: start + next })
    }
}

/// Returns `Some(true)` if a line begins the tree with `%YAML`, `Some(false)` if it begins the tree in
/// another way, and `None` otherwise.
fn begins_tree(line: &[u8]) -> Option<bool> {
    let document = line == b"---" || line.starts_with(b"--- ") || line.starts_with(b"---\t");
    if line.starts_with(b"%YAML") {
        Some(true)
    } else {
        (document || line.starts_with(b"%")).then_some(false)
    }
}

fn not_asdf(text: &[u8]) -> Error {
    let what = if text.starts_with(BYTE_ORDER_MARK) {
        "a byte-order mark precedes #ASDF".to_owned()
    } else if text.starts_with(ASDF_TOKEN) {
        "the header line is invalid".to_owned()
    } else if let Some(kind) = binio::diagnostic::kind_by_signature(text) {
        format!("this is {kind}")
    } else {
        let begin = text.get(..8).unwrap_or(text);
        format!("the file begins with \"{}\"", begin.escape_ascii())
    };
    let message = format!("not an ASDF file: {what}; expected \"#ASDF 1.0.0\"");
    Error::new(ErrorKind::Layout(message)).at(0)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

/// Parses `#ASDF`, white space and a version. Returns the white space and the text of the version. The
/// remaining input is trailing white space.
fn header_line(line: &[u8]) -> IResult<&[u8], (&[u8], &[u8])> {
    let (line, _) = tag(ASDF_TOKEN).parse(line)?;
    let (line, blanks) = take_while1(is_blank).parse(line)?;
    let (trailing, word) = take_till1(is_blank).parse(line)?;
    let (_, _) = all_consuming(take_while(is_blank)).parse(trailing)?;
    Ok((trailing, (blanks, word)))
}

/// Parses `#ASDF_STANDARD`, white space and a version. Returns the text of the version.
fn standard_line(line: &[u8]) -> IResult<&[u8], &[u8]> {
    preceded((tag(STANDARD_TOKEN), take_while1(is_blank)), rest.map(<[u8]>::trim_ascii_end))
        .parse(line)
}

/// Parses three numbers separated by dots. The remaining input is the suffix of a semantic version, such
/// as `-dev`, or empty. Fails if anything else follows the numbers.
fn version(word: &[u8]) -> IResult<&[u8], Version> {
    let (suffix, (major, _, minor, _, patch)) =
        (number, char('.'), number, char('.'), number).parse(word)?;
    let (_, _) =
        verify(rest, |s: &[u8]| s.first().is_none_or(|&b| b == b'-' || b == b'+')).parse(suffix)?;
    Ok((suffix, Version { major, minor, patch }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &[u8]) -> Head {
        parse(text, true).unwrap().unwrap()
    }

    fn codes(text: &[u8]) -> Vec<Code> {
        head(text).diagnostics.iter().map(|d| d.code).collect()
    }

    #[test]
    fn a_head_is_parsed_into_versions_comments_and_length() {
        let head = head(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n# %YAML is below\r\n%YAML 1.1\n");
        assert_eq!(head.format_version, Version::new(1, 0, 0));
        assert_eq!(head.standard_version, Some(Version::new(1, 6, 0)));
        assert_eq!(head.comments, [Comment { offset: 33, text: " %YAML is below".into() }]);
        assert_eq!((head.content, head.len, head.line), (Content::Tree, 51, 4));
        assert_eq!(head.diagnostics, []);
    }

    #[test]
    fn a_header_line_alone_is_a_valid_file_with_or_without_a_line_ending() {
        for text in [&b"#ASDF 1.0.0"[..], b"#ASDF 1.0.0\n", b"#ASDF 1.0.0\r\n"] {
            let head = head(text);
            assert_eq!((head.content, head.len), (Content::Nothing, text.len()));
            assert_eq!(head.diagnostics, []);
        }
    }

    #[test]
    fn white_space_other_than_one_space_in_the_header_line_is_reported() {
        for text in [&b"#ASDF  1.0.0\n"[..], b"#ASDF\t1.0.0\n", b"#ASDF 1.0.0 \n"] {
            assert_eq!(codes(text), [Code::HeaderWhitespace], "{text:?}");
        }
    }

    #[test]
    fn format_version_1_1_is_reported_but_version_2_or_a_malformed_version_is_an_error() {
        assert_eq!(codes(b"#ASDF 1.1.0\n"), [Code::UnsupportedVersion]);
        assert_eq!(codes(b"#ASDF 1.0.0-dev\n"), [Code::UnsupportedVersion]);
        for text in [
            &b"#ASDF 2.0.0\n"[..],
            b"#ASDF 1.0\n",
            b"#ASDF 1.0.0x\n",
            b"#ASDF x\n",
            b"#ASDF 99999999999.0.0\n",
        ] {
            assert!(matches!(parse(text, true).unwrap_err().offset(), Some(6)), "{text:?}");
        }
    }

    #[test]
    fn a_file_that_does_not_begin_with_a_valid_header_line_is_an_error() {
        for text in [
            &b""[..],
            b"#ASDF",
            b"#ASDF1.0.0\n",
            b" #ASDF 1.0.0\n",
            b"#ASDF 1.0.0 x\n",
            b"\xef\xbb\xbf#ASDF 1.0.0\n",
        ] {
            assert!(matches!(parse(text, true).unwrap_err().offset(), Some(0)), "{text:?}");
        }
        assert!(parse(b"SIMPLE  =  T", false).is_err(), "without waiting for a line ending");
    }

    #[test]
    fn an_unknown_version_of_the_standard_is_reported() {
        assert_eq!(codes(b"#ASDF 1.0.0\n#ASDF_STANDARD 9.9.9\n"), [Code::UnknownStandard]);
        assert_eq!(codes(b"#ASDF 1.0.0\n#ASDF_STANDARD new\n"), [Code::UnknownStandard]);
        assert_eq!(codes(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.7.0\n"), []);
    }

    #[test]
    fn unexpected_bytes_before_the_tree_are_skipped_and_reported_once() {
        for between in [&b"\n"[..], b"  \n", b"\xef\xbb\xbf", b"x\ny\n", b"\n# c\n\n"] {
            let text = [b"#ASDF 1.0.0\n", between, b"%YAML 1.1\n"].concat();
            let head = head(&text);
            assert_eq!(
                (head.content, head.len),
                (Content::Tree, 12 + between.len()),
                "{between:?}"
            );
            assert_eq!(codes(&text), [Code::BytesBeforeTree], "{between:?}");
        }
    }

    #[test]
    fn skipping_many_irregular_lines_takes_linear_time() {
        let lines = "#ASDF_STANDARD x\n".repeat(100_000) + &"\n".repeat(1_000_000);
        let found = codes(format!("#ASDF 1.0.0\n{lines}%YAML 1.1\n").as_bytes());
        assert_eq!(found.len(), 100_001);
        assert_eq!(found.last(), Some(&Code::BytesBeforeTree));
    }

    #[test]
    fn a_tree_without_the_yaml_directive_is_found_and_reported() {
        for text in
            [&b"#ASDF 1.0.0\n---\n"[..], b"#ASDF 1.0.0\n--- !x\n", b"#ASDF 1.0.0\n%TAG ! x:\n"]
        {
            assert_eq!(head(text).content, Content::Tree);
            assert_eq!(codes(text), [Code::MissingYamlDirective]);
        }
    }

    #[test]
    fn a_block_is_found_directly_after_the_head_or_after_padding() {
        let at_once = head(b"#ASDF 1.0.0\n#c\n\xd3BLK\n");
        assert_eq!(
            (at_once.content, at_once.len, at_once.diagnostics),
            (Content::Block, 15, vec![])
        );
        let padded = head(b"#ASDF 1.0.0\n\0\0\0\xd3BLK\n");
        assert_eq!((padded.content, padded.len), (Content::Block, 15));
        assert_eq!(padded.diagnostics[0].code, Code::BytesBeforeTree);
    }

    #[test]
    fn a_written_head_parses_to_the_same_versions_without_diagnostics() {
        for minor in KNOWN_STANDARD_MINORS {
            let standard = Version::new(1, minor, 0);
            let text = to_text(standard) + "%YAML 1.1\n";
            let head = head(text.as_bytes());
            assert_eq!(
                (head.format_version, head.standard_version),
                (FORMAT_VERSION, Some(standard))
            );
            assert_eq!((head.content, head.line), (Content::Tree, 3));
            assert_eq!((head.comments, head.diagnostics), (vec![], vec![]));
        }
    }

    #[test]
    fn parsing_part_of_a_head_requests_more_text_or_returns_the_same_result() {
        let text = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n#c\n\n%YAML 1.1\n";
        let whole = head(text);
        for len in 5..text.len() {
            match parse(&text[..len], false).unwrap() {
                None => {}
                Some(head) => assert_eq!(head, whole, "{len} bytes"),
            }
        }
    }
}
