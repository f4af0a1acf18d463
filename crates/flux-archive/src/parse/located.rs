//! Locating the entries of an archive in a source, without keeping their data.
//!
//! The source is read in windows that contain whole entries. Instead of the data of an
//! entry, only its position in the source is kept:
//!
//! ```text
//! window   [{"path":"a","encoding":"base64","data":"AAECAw==","size":4,..},{..},{"path":"b",..
//!                                                  ├──────┤                    └ next window
//! ```

use std::fmt;

use binio::{ReadAt, check_limit};

use super::archive::has_conflicts;
use super::data::Data;
use super::entry::decode;
use super::options::OpenOptions;
use super::raw::RawEntries;
use super::report::Report;
use crate::error::Result;
use crate::model::{Content, Entry};

/// The number of bytes in a window.
const WINDOW: usize = 4 << 20;

/// The maximum number of bytes in a window, if an entry is longer than [`WINDOW`].
const MAX_WINDOW: usize = 16 << 20;

/// An archive whose data stays in its source until it is extracted. Created by [`OpenOptions::locate`].
pub struct Located<'s> {
    pub(crate) source: &'s dyn ReadAt,
    pub(crate) entries: Vec<Entry<'static>>,
    /// The position of the data of each entry, or `None` if its data is not in the source.
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
    /// has errors or diagnostics, exceeds a limit, or has an entry longer than 16 MiB. If the
    /// source changes before the files are extracted, their extraction may fail, or they may contain
    /// other data.
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
        self.locate_in(source, WINDOW, MAX_WINDOW)
    }

    /// Like [`locate`](Self::locate), but with windows of `min_len` to `max_len` bytes.
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
        loop {
            let rest = usize::try_from(source.len() - offset).unwrap_or(usize::MAX);
            window.resize(len.min(rest), 0);
            source.read_exact_at(&mut window, offset)?;
            let Some(text) = text_of(&window, rest <= len) else { return Ok(None) };
            let Some(read) = located.read_window(self, text, offset, rest <= len) else {
                return Ok(None);
            };
            match read {
                Read::All => break,
                Read::Part(0) if len < max_len && len < rest => len *= 2,
                Read::Part(0) => return Ok(None),
                Read::Part(used) => {
                    offset += used as u64;
                    len = min_len;
                }
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
    /// The offset in the window after the last whole entry, or 0 if the window contains none.
    Part(usize),
}

impl Located<'_> {
    /// Returns the entries in order, without data that stays in the source, and without members that RFC 37 does not
    /// define.
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

    /// Reads the whole entries in a window of text at `offset`. Returns `None` if the archive must be
    /// parsed as a whole.
    fn read_window(
        &mut self,
        options: &OpenOptions,
        text: &str,
        offset: u64,
        is_last: bool,
    ) -> Option<Read> {
        let mut report = Report::new(options.profile, &options.limits, "");
        let index = self.entries.len() as u64;
        let mut raw_entries = RawEntries::continued(text, options, index)?;
        let mut used = 0;
        loop {
            let raw = match raw_entries.advance() {
                Ok(Some(raw)) => raw,
                Ok(None) if is_last => return Some(Read::All),
                // An error in the last window is an error of the archive. In any other window, the
                // rest of the entry is missing.
                Err(_) if is_last => return None,
                Ok(None) | Err(_) => return Some(Read::Part(used)),
            };
            let entry = decode(&raw, options.profile, &options.limits, &mut report).ok()??;
            if report.count() > 0 {
                return None;
            }
            used = raw_entries.position();
            let position = |part: &str| {
                let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
                let end = start.checked_add(part.len()).filter(|&end| end <= text.len())?;
                Some(offset + start as u64..offset + end as u64)
            };
            let data = Data::of(entry.content(), position);
            let (size, content) = match (&data, &entry.content) {
                (Some(_), _) => (Some(entry.len()), Content::Empty),
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

/// Returns a window as text, without an incomplete character at its end unless it is the last
/// window. Returns `None` if it is not UTF-8.
fn text_of(window: &[u8], is_last: bool) -> Option<&str> {
    match simdutf8::compat::from_utf8(window) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_some() || is_last => None,
        Err(error) => std::str::from_utf8(&window[..error.valid_up_to()]).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Base64, Text};
    use crate::model::{ArchivePath, Form};
    use crate::parse::Buffers;
    use crate::store::MemoryStore;
    use crate::write::Writer;

    /// Locates the entries of a document in small windows, and compares them with those of the
    /// parsed archive. Returns `false` if the document must be parsed as a whole.
    fn is_located(document: &[u8], window: usize) -> bool {
        let options = OpenOptions::new();
        let Some(located) = options.locate_in(&document, window, 1 << 20).unwrap() else {
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
            (any::<u8>(), 196_600_usize..196_620)
                .prop_map(|(byte, n)| Content::Base64(Base64::encode(&vec![byte; n]))),
            Just(Content::Directory),
            Just(Content::Empty),
            "[a-z/]{1,20}".prop_map(|target| Content::Symlink(target.into())),
        ]
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
    }

    #[test]
    fn archives_that_cannot_be_located_in_windows_are_parsed_as_a_whole() {
        let entry = r#"{"path":"f","mode":33188,"size":0}"#;
        let long =
            format!(r#"[{entry},{{"path":"g","mode":16877,"x":"{}"}}]"#, "y".repeat(2 << 20));
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
            for window in [2, 7, 40, 1 << 20] {
                assert_eq!(is_located(document.as_bytes(), window), expected, "{document:.60}");
            }
        }
    }
}
