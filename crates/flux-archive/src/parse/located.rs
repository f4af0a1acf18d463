//! Locating the entries of an archive in a source, without keeping their data.
//!
//! The source is read in windows. A window grows until it contains a whole entry, and the next window starts after the
//! last whole entry. Long strings are checked in pieces, and left out of the windows. Instead of the data of an entry,
//! its position in the source is kept:
//!
//! ```text
//! window   [{"path":"a","encoding":"base64","data":"AAECAw==","size":4,..},{..},{"path":"b",..
//!                                                   ├──────┤                    └ next window
//! ```

use std::fmt;

use binio::{ReadAt, check_limit};

use super::archive::has_conflicts;
use super::data::Data;
use super::entry::decode;
use super::long_string::{LongString, PIECE, Scan};
use super::options::OpenOptions;
use super::raw::RawEntries;
use super::report::Report;
use crate::error::Result;
use crate::model::{Content, Entry};
use crate::parallel::join;

/// The number of bytes in a window. A window fits in the processor's cache, so its bytes are still cached when they are
/// checked. Extraction takes 0.95 times as long as with windows of 4 MiB (`cargo xtask bench flux-archive`, row
/// `medium: extract, all inside`). A window is as long as a piece, so nearly every string longer than a window can be
/// checked in pieces.
const WINDOW: usize = PIECE;

/// The maximum number of bytes to read into a window if an entry is longer than [`WINDOW`].
const MAX_WINDOW: usize = 16 << 20;

/// An archive whose data stays in its source until it is extracted. Created by [`OpenOptions::locate`].
pub struct Located<'s> {
    pub(crate) source: &'s dyn ReadAt,
    pub(crate) entries: Vec<Entry<'static>>,
    /// For each entry, the position of its data, or `None` if it has no data in the source.
    pub(crate) data: Vec<Option<Data>>,
}

impl fmt::Debug for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Located").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl OpenOptions {
    /// Locates the entries of an archive in a source, without keeping their data in memory. Checks
    /// the whole archive, just as [`parse`](Self::parse) does.
    ///
    /// Returns `None` if the document must be [read](Self::read_source) as a whole. This is the
    /// case if a [pointer](Self::pointer) is set, or if the document is not an array of entries,
    /// has errors or diagnostics, exceeds a limit, or contains base64 with escapes. This is also the
    /// case if a long string contains a NUL or an unpaired surrogate, or if an entry is longer than
    /// 16 MiB, not counting `data` that is a string. If the source changes before the files are
    /// extracted, their extraction may fail, or they may contain other data.
    ///
    /// ```
    /// use flux_archive::OpenOptions;
    ///
    /// let document = br#"[{"path":"f","encoding":"utf-8","data":"text","size":4,"mode":33188}]"#.to_vec();
    /// let located = OpenOptions::new().locate(&document)?.unwrap();
    /// assert_eq!(located.data_size(), 4);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the source cannot be read.
    pub fn locate<'s>(&self, source: &'s (impl ReadAt + 's)) -> Result<Option<Located<'s>>> {
        // Run in the pool, because a thread outside of it would have to wait for the pool for each long string.
        join(|| self.locate_in(source, WINDOW, MAX_WINDOW), || ()).0
    }

    /// Like [`locate`](Self::locate), but reads windows of `min_len` bytes. While a window contains no whole entry, the
    /// number of bytes to read is doubled until it is at least `max_len`.
    fn locate_in<'s>(
        &self,
        source: &'s (impl ReadAt + 's),
        min_len: usize,
        max_len: usize,
    ) -> Result<Option<Located<'s>>> {
        if self.pointer.is_some()
            || check_limit("bytes of JSON", self.limits.max_json_bytes, source.len()).is_err()
        {
            return Ok(None);
        }
        let mut located = Located { source, entries: Vec::new(), data: Vec::new() };
        let (mut window, mut offset, mut len) = (Vec::new(), 0, min_len);
        let (mut long, mut pieces): (Option<LongString>, _) = (None, Vec::new());
        loop {
            // If there is a long string, the window starts with the part of its entry before the
            // string.
            let head = long.as_ref().map_or(0, |long| long.head);
            let rest = usize::try_from(source.len() - offset).unwrap_or(usize::MAX);
            window.resize(head + len.min(rest), 0);
            source.read_exact_at(&mut window[head..], offset)?;
            let Some(text) = text_of(&window, rest <= len) else { return Ok(None) };
            let Some(read) = located.read_window(self, text, offset, rest <= len, long.as_ref())
            else {
                return Ok(None);
            };
            let start = match read {
                Read::All => break,
                Read::Part(used) => {
                    offset += (used - head) as u64;
                    (len, long) = (min_len, None);
                    continue;
                }
                Read::TooLong { data } => data.filter(|_| long.is_none()),
            };
            let scan = |start| LongString::scan(source, offset, start, &mut pieces);
            match start.map(scan).transpose()? {
                Some(Scan::Long(found)) => {
                    offset = found.range.end;
                    long = Some(found);
                }
                Some(Scan::Short) | None if len < max_len => len *= 2,
                _ => return Ok(None),
            }
        }
        let total =
            located.entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.len()));
        let is_sound = !has_conflicts(&located.entries) && total <= self.limits.max_total_size;
        Ok(is_sound.then_some(located))
    }
}

/// The result of reading the entries in a window.
enum Read {
    /// The archive has ended.
    All,
    /// The end of the last complete entry, as an offset in the window.
    Part(usize),
    /// The window contains no whole entry. If the entry's data is a string that starts in the window, `data` is the
    /// offset of its first character.
    TooLong { data: Option<usize> },
}

impl Located<'_> {
    /// Returns the entries in order, without members that RFC 37 does not define. The content of an entry whose data
    /// stays in the source is [`Content::Empty`].
    pub fn entries(&self) -> &[Entry<'static>] {
        &self.entries
    }

    /// Returns the number of bytes to write for all entries, not counting holes.
    pub fn data_size(&self) -> u64 {
        (0..self.entries.len()).fold(0, |sum, index| self.data_size_of(index).saturating_add(sum))
    }

    /// Returns the number of bytes to write for the entry at an index of
    /// [`entries`](Self::entries), not counting holes.
    pub fn data_size_of(&self, index: usize) -> u64 {
        match (self.data.get(index), self.entries.get(index)) {
            (Some(Some(data)), _) => data.len(),
            (_, entry) => entry.map_or(0, |entry| entry.content().data_size()),
        }
    }

    /// Reads the whole entries in a window of text at `offset`. If there is a long string, the window starts with the
    /// part of its entry before the string, and `offset` is the position of the bytes after this part. In the source,
    /// these bytes follow the checked part of the string. Returns `None` if the archive must be parsed as a whole.
    fn read_window(
        &mut self,
        options: &OpenOptions,
        text: &str,
        offset: u64,
        is_last: bool,
        mut long: Option<&LongString>,
    ) -> Option<Read> {
        let mut report = Report::new(options.profile, &options.limits, "");
        let index = self.entries.len() as u64;
        let mut raw_entries = RawEntries::continued(text, options, index)?;
        let first = raw_entries.clone();
        let offset = offset - long.map_or(0, |long| long.head as u64);
        let mut used = 0;
        loop {
            let mut raw = match raw_entries.advance() {
                Ok(Some(raw)) => raw,
                Ok(None) if is_last => return Some(Read::All),
                // An error in the last window is an error of the archive. In any other window, the
                // rest of the entry may merely be missing.
                Err(_) if is_last => return None,
                Ok(None) | Err(_) if used == 0 => {
                    return Some(Read::TooLong { data: first.data_start() });
                }
                Ok(None) | Err(_) => return Some(Read::Part(used)),
            };
            let long = long.take();
            let more = long.map_or(Some(0), |long| long.reduce_size(&mut raw))?;
            let entry = decode(&raw, options.profile, &options.limits, &mut report).ok()??;
            let len = entry.len() + more;
            if report.count() > 0 || len > options.limits.max_file_size {
                return None;
            }
            used = raw_entries.position();
            let position = |part: &str| {
                let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
                let end = start.checked_add(part.len()).filter(|&end| end <= text.len())?;
                Some(offset + start as u64..offset + end as u64)
            };
            let mut data = Data::of(entry.content(), position);
            if let Some(long) = long {
                data.as_mut()?.prepend(&long.range, long.text_len);
            }
            let (size, content) = match (&data, &entry.content) {
                (Some(_), _) => (Some(len), Content::Empty),
                (None, Content::Text(_) | Content::Base64(_) | Content::Json(_)) => return None,
                (None, _) => (entry.size, entry.content.into_owned()),
            };
            let Entry { index, path, mode, mtime, ctime, .. } = entry;
            let extra = Vec::new();
            self.entries.push(Entry { index, path, mode, size, mtime, ctime, content, extra });
            self.data.push(data);
        }
    }
}

/// Returns a window as text. Unless it is the last window, an incomplete character at its end is
/// left out. Returns `None` if the window is not UTF-8.
pub(super) fn text_of(window: &[u8], is_last: bool) -> Option<&str> {
    match simdutf8::compat::from_utf8(window) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_some() || is_last => None,
        Err(error) => std::str::from_utf8(&window[..error.valid_up_to()]).ok(),
    }
}

#[cfg(test)]
mod tests {
    use binio::source::ReadLog;
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Base64, Text};
    use crate::model::{ArchivePath, Form, Limits};
    use crate::parse::Buffers;
    use crate::store::MemoryStore;
    use crate::write::Writer;

    /// The length at which windows stop growing in tests. A string that does not fit in such a window is longer than a
    /// piece.
    const MAX: usize = 70_000;

    /// Locates the entries of a document in windows of `window` bytes, and compares them with those
    /// of the parsed archive. Returns `false` if the document must be parsed as a whole.
    fn is_located(document: &[u8], window: usize) -> bool {
        let options = OpenOptions::new();
        let Some(located) = options.locate_in(&document, window, MAX).unwrap() else {
            return false;
        };
        let archive = options.parse(document).unwrap();
        assert!(archive.diagnostics().is_empty());
        assert_eq!(archive.entries().len(), located.entries().len());
        let mut buffers = Buffers::default();
        for (at, (entry, found)) in archive.entries().iter().zip(located.entries()).enumerate() {
            assert_eq!((entry.path(), entry.mode()), (found.path(), found.mode()));
            assert_eq!((entry.mtime(), entry.ctime()), (found.mtime(), found.ctime()));
            assert_eq!(entry.len(), found.len());
            assert_eq!(entry.content().data_size(), located.data_size_of(at));
            let Some(data) = &located.data[at] else {
                assert_eq!(format!("{:?}", entry.content()), format!("{:?}", found.content()));
                continue;
            };
            let (mut expected, mut decoded) = (Vec::new(), Vec::new());
            entry.write_to(&MemoryStore::new(), &mut expected).unwrap();
            let take = |_, piece: &[u8]| {
                decoded.extend_from_slice(piece);
                Ok(())
            };
            data.for_each_piece(located.source, &mut buffers, take).unwrap();
            decoded.resize(expected.len(), 0);
            assert!(decoded == expected, "{at}");
        }
        true
    }

    fn content() -> impl Strategy<Value = Content<'static>> {
        let text = |plain: String| Content::Text(Text::new(&plain).into_owned());
        prop_oneof![
            "[a-z\n\"\\\\é😀]{1,60}".prop_map(text),
            ("[a-z\n\"\\\\é😀]{1,60}", 1500_usize..9000)
                .prop_map(move |(plain, n)| text(plain.repeat(n))),
            proptest::collection::vec(any::<u8>(), 1..60)
                .prop_map(|bytes| Content::Base64(Base64::encode(&bytes))),
            (
                any::<u8>(),
                prop_oneof![49_140_usize..49_160, 196_600_usize..196_620, 300_000_usize..300_010]
            )
                .prop_map(|(byte, n)| Content::Base64(Base64::encode(&vec![byte; n]))),
            Just(Content::Directory),
            Just(Content::Empty),
            "[a-z/]{1,20}".prop_map(|target| Content::Symlink(target.into())),
        ]
    }

    /// Returns an archive whose first entry has the given data and size.
    fn archive(encoding: &str, data: &str, size: usize) -> Vec<u8> {
        format!(
            r#"[{{"size":{size},"path":"f","data":"{data}","encoding":"{encoding}","mode":33188}},
                {{"path":"g","mode":33188,"encoding":"utf-8","data":"g","size":1}}]"#
        )
        .into_bytes()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn entries_located_in_windows_of_any_size_equal_those_of_the_parsed_archive(
            contents in proptest::collection::vec(content(), 0..6),
            pretty: bool,
            window in 1_usize..2000,
        ) {
            let mut writer = Writer::new(Vec::new(), Form::Array);
            if pretty {
                writer = writer.pretty();
            }
            for (at, content) in contents.into_iter().enumerate() {
                let path = ArchivePath::parse(&format!("é{at}")).unwrap();
                writer.entry(&Entry::new(path, 0o644, content).with_mtime(7)).unwrap();
            }
            let document = writer.finish().unwrap();
            prop_assert!(is_located(&document, window));
        }

        #[test]
        fn damaged_archives_are_located_only_if_they_can_be_parsed(
            at in 0_usize..1000,
            byte in prop_oneof![
                any::<u8>(),
                proptest::sample::select(&b"\"\\,:[]{}0a/"[..])
            ],
            window in 1_usize..300,
        ) {
            let mut document = br#"[{"path":"a\/b","mode":33188,"encoding":"utf-8","data":"\ud83d\ude00\n","size":5},
    {"path":"c","mode":33188,"encoding":"base64","data":"AAEC+w==","size":4},{"path":"d","mode":33188,"data":{"k":1.5}} ] "#.to_vec();
            let at = at % document.len();
            document[at] = byte;
            is_located(&document, window);
        }

        #[test]
        fn damaged_long_strings_are_located_only_if_they_can_be_parsed(
            is_text: bool,
            piece in 0_usize..3,
            at in 0_usize..150,
            byte in prop_oneof![
                any::<u8>(),
                proptest::sample::select(&b"\"\\u0dDnA=/"[..])
            ],
        ) {
            let mut document = if is_text {
                archive("utf-8", &r"\ud83d\ude00\n\\é".repeat(9000), 8 * 9000)
            } else {
                archive("base64", &"Az+/".repeat(35_000), 3 * 35_000)
            };
            let at = (piece * PIECE + at).min(document.len() - 1);
            document[at] = byte;
            is_located(&document, MAX);
        }
    }

    #[test]
    fn long_strings_are_located_wherever_their_pieces_end() {
        for unit in [r"\ud83d\ude00", r"\u00e9", "é", "😀", r"\n", r"\\", r#"\\\""#, "Az+/"] {
            for before in 0..12 {
                let data = "x".repeat(before) + &unit.repeat(2 * MAX / unit.len());
                let text = format!("\"{data}\"");
                let len = serde_json::from_str::<String>(&text).unwrap().len();
                assert!(is_located(&archive("utf-8", &data, len), MAX), "{unit} after {before}");
            }
        }
        let valid = "x".repeat(2 * MAX);
        for size in [0, valid.len() - 1, valid.len() + 1] {
            assert!(!is_located(&archive("utf-8", &valid, size), MAX));
        }
        let json = format!(r#"[{{"path":"f","mode":33188,"data":"{valid}"}}]"#);
        assert!(is_located(json.as_bytes(), MAX));
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn long_strings_are_located_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for unit in [r"x\ud83d\ude00", "日本", "é", r#"plain \\\""#, "Az+/"] {
                for before in 0..4 {
                    let data = "x".repeat(before) + &unit.repeat(12 * PIECE / unit.len());
                    let len = serde_json::from_str::<String>(&format!("\"{data}\"")).unwrap().len();
                    let document = archive("utf-8", &data, len);
                    let is_located = pool.install(|| is_located(&document, MAX));
                    assert!(is_located, "{unit} after {before} on {threads} threads");
                }
            }
            let bytes = vec![7; 12 * PIECE];
            let document = archive("base64", Base64::encode(&bytes).as_str(), bytes.len());
            assert!(pool.install(|| is_located(&document, MAX)));
        }
    }

    #[test]
    fn long_base64_is_located_only_if_it_is_tidy() {
        for len in 3 * MAX..3 * MAX + 4 {
            let data = Base64::encode(&vec![1; len]);
            let data = data.as_str();
            assert!(is_located(&archive("base64", data, len), MAX), "{len}");
            assert!(!is_located(&archive("base64", data, len - 1), MAX));
            assert!(!is_located(&archive("base64", &format!("{data}="), len), MAX));
            for wrong in ["=", " ", "-", "é", r"\n", r"\/", "A", "AAAA="] {
                for at in [0, 4, PIECE - 8, PIECE - 5, PIECE, data.len() - 5] {
                    let data = [&data[..at], wrong, &data[at..]].concat();
                    assert!(!is_located(&archive("base64", &data, len), MAX), "{wrong} at {at}");
                }
            }
        }
    }

    #[test]
    fn long_strings_with_errors_are_parsed_as_a_whole() {
        let valid = "x".repeat(3 * MAX);
        let wrong =
            [r"\x", "\n", r"\u0000", r"\ud83d", r"\ude00\ud83d", r"\u12g4", r#"","x"#, "\""];
        let wrong = wrong.map(str::as_bytes).into_iter().chain([&b"\xff"[..], b"\xf0\x9f\x98"]);
        for wrong in wrong {
            for at in (0..2).chain(PIECE - 14..PIECE + 2).chain([valid.len()]) {
                let mut document = archive("utf-8", &valid, valid.len());
                let start = document.iter().position(|&byte| byte == b'x').unwrap();
                document.splice(start + at..start + at, wrong.iter().copied());
                assert!(!is_located(&document, MAX), "{wrong:?} at {at}");
            }
        }
        let nul = format!(r"{valid}\u0000");
        assert!(!is_located(&archive("utf-8", &nul, valid.len() + 1), MAX));
        let document = archive("utf-8", &valid, valid.len());
        for len in (0..200).chain(PIECE - 20..PIECE + 60).chain(valid.len()..document.len()) {
            assert!(!is_located(&document[..len], MAX), "{len}");
        }
    }

    #[test]
    fn long_strings_count_towards_the_limits() {
        let document = &archive("utf-8", &"x".repeat(3 * MAX), 3 * MAX)[..];
        let size = 3 * MAX as u64;
        for (limits, is_within) in [
            (Limits::default().max_file_size(size - 1), false),
            (Limits::default().max_total_size(size), false),
            (Limits::default().max_file_size(size).max_total_size(size + 1), true),
        ] {
            let options = OpenOptions::new().limits(limits);
            let located = options.locate_in(&document, MAX, MAX).unwrap();
            assert_eq!(located.is_some(), is_within);
        }
    }

    #[test]
    fn locating_a_long_entry_reads_no_more_than_a_window_at_a_time() {
        let len = 5 * WINDOW;
        let source = ReadLog::new(archive("base64", Base64::encode(&vec![7; len]).as_str(), len));
        let located = OpenOptions::new().locate(&source).unwrap().unwrap();
        assert_eq!(located.data_size(), len as u64 + 1);
        let longest =
            |source: &ReadLog<_>| source.ranges().iter().map(|range| range.end - range.start).max();
        assert_eq!(longest(&source), Some(WINDOW as u64));
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn long_strings_are_read_less_than_twice_even_if_escapes_cross_pieces() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        // Returns the number of bytes read, as a percentage of the length of the data.
        let read = |data: &str, is_valid| {
            let len = serde_json::from_str::<String>(&format!("\"{data}\"")).unwrap().len();
            let source = ReadLog::new(archive("utf-8", data, len));
            let located = pool.install(|| OpenOptions::new().locate(&source).unwrap());
            assert_eq!(located.is_some(), is_valid);
            let ranges = source.ranges();
            let read: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            100 * read / data.len() as u64
        };
        for unit in ["plain", r"\n", r"x\u00e9\u00e8"] {
            let percent = read(&unit.repeat(100 * PIECE / unit.len()), true);
            assert!(percent < 200, "{unit}: {percent}");
        }
        // A string that cannot be located is not scanned again.
        assert!(read(&("x".repeat(100 * PIECE) + r"\u0000"), false) < 120);
    }

    #[test]
    fn archives_that_cannot_be_located_in_windows_are_parsed_as_a_whole() {
        let entry = r#"{"path":"f","mode":33188,"size":0}"#;
        let long =
            format!(r#"[{entry},{{"path":"g","mode":16877,"x":"{}"}}]"#, "y".repeat(3 * MAX));
        for (document, expected) in [
            (format!("[{entry}]"), true),
            (" [ ] ".to_owned(), true),
            (format!("[{entry},{entry}]"), false),
            (format!(r#"{{"f":{entry}}}"#), false),
            (entry.to_owned(), false),
            (format!("[{entry}] x"), false),
            (format!("[{entry},"), false),
            ("[5]".to_owned(), false),
            (r#"[{"path":"./f","mode":33188,"size":0}]"#.to_owned(), false),
            // JSON may contain `/` as `\/`, so this string must be unescaped before it is decoded.
            (
                r#"[{"path":"f","mode":33188,"encoding":"base64","data":"AA\/A","size":3}]"#
                    .to_owned(),
                false,
            ),
            (long, false),
            (String::new(), false),
        ] {
            for window in [2, 7, 40, MAX] {
                assert_eq!(is_located(document.as_bytes(), window), expected, "{document:.60}");
            }
        }
    }
}
