//! Checking a whole file. The check covers everything that is checked on opening, plus the digest
//! and the structure of every chunk. A deep check also decodes every chunk.
//!
//! | status | meaning |
//! |---|---|
//! | fine | no diagnostics, or only notes, for example about a stale tail |
//! | damage | at least one error among the diagnostics; parts of the file may still be readable |
//! | an error | the source failed, a limit was exceeded, this build does not support the codec of a chunk, the header of the file or of its metadata section is invalid, or (in strict mode) the digest of the metadata is wrong |

use std::fmt;
use std::sync::{Mutex, PoisonError};

use binio::ReadAt;
use binio::diagnostic::count;

use crate::Reader;
use crate::diagnostic::{self, Code, Diagnostic, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::options::OpenOptions;
use crate::parallel::{self, for_each};
use crate::read::chunk::{self, Scratch};
use crate::read::unpack::Progress;

/// The maximum number of diagnostics about chunks. Further diagnostics are only counted.
const MAX_DIAGNOSTICS: usize = 10_000;

/// Options for checking a file.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    deep: bool,
    threads: usize,
    progress: Option<Progress<'a>>,
}

impl Default for VerifyOptions<'_> {
    fn default() -> Self {
        Self { deep: true, threads: parallel::ALL, progress: None }
    }
}

impl<'a> VerifyOptions<'a> {
    /// Returns the default options: a deep check on all threads of the caller's `rayon` pool.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether every chunk is decoded; otherwise only its digest and structure are checked. Default: yes.
        deep: bool;
        /// Sets the maximum number of threads with which to check chunks. They belong to the
        /// caller's `rayon` pool; with 1, only the caller's thread is used. Default: all.
        threads: usize;
        /// Sets a function that is called with the number of uncompressed bytes checked since the last
        /// call.
        progress: Progress<'a> => Some(progress);
    }
}

impl fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyOptions")
            .field("deep", &self.deep)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// All irregularities: first those of the file as a whole, then those of the chunks in order.
    /// If there are more than 10,000 bad chunks, the last diagnostic only states how many further
    /// chunks are bad.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of checked chunks.
    pub chunks: u64,
}

impl VerifyReport {
    /// Turns the error from opening a file into a report, so that damage found on opening is reported like any other
    /// damage.
    ///
    /// # Errors
    ///
    /// Returns the error itself if the header of the file is invalid (the source may not be a
    /// Bloscpack file), if the header of the metadata section is invalid, if reading the source
    /// failed, if a limit was exceeded, or if the digest of the metadata is wrong.
    pub fn of_opening(error: Error) -> Result<Self> {
        let diagnostic = diagnostic_of(&error).ok_or(error)?;
        Ok(Self { diagnostics: vec![diagnostic], chunks: 0 })
    }

    /// Returns `true` if no diagnostic is worse than a note.
    pub fn passed(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Note)
    }
}

/// Checks the digest and the structure of every chunk of an open file, and decodes every chunk
/// unless [`deep`](VerifyOptions::deep) is `false`. The report lists all damage, including the
/// diagnostics from opening.
///
/// ```
/// use bloscpack::diagnostic::Code;
/// use bloscpack::{Reader, VerifyOptions, verify};
///
/// # let mut bytes = b"blpk\x03\x00\x00\x01\x04\0\0\0\x04\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
/// # bytes.extend([0; 8]);
/// # bytes.extend(b"\x02\x01\x02\x01\x04\0\0\0\x04\0\0\0\x14\0\0\0data");
/// bytes.extend(b"more");
/// let report = verify(&Reader::from_bytes(bytes)?, &VerifyOptions::new())?;
/// assert!(report.passed());
/// assert_eq!(report.diagnostics[0].code, Code::StaleTail);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Fails if reading the source fails, or if a chunk or the metadata exceeds a limit that was set
/// when the file was opened. A deep check also fails with [`ErrorKind::UnsupportedChunk`] if this
/// build does not support the codec of a chunk.
pub fn verify(file: &Reader, options: &VerifyOptions<'_>) -> Result<VerifyReport> {
    let bad = Mutex::new((Vec::new(), 0_u64));
    let threads = options.threads.min(file.chunks().len());
    let buffers = || (Vec::new(), Scratch::default());
    for_each(threads, 0..file.chunks().len(), buffers, |(data, scratch), index| {
        if let Err(error) = check(file, index, options.deep, data, scratch) {
            if error.is_of_caller() {
                return Err(error);
            }
            let mut bad = bad.lock().unwrap_or_else(PoisonError::into_inner);
            let (diagnostics, more) = &mut *bad;
            if diagnostics.len() < MAX_DIAGNOSTICS {
                diagnostics.push((index, diagnostic::from_error(Code::BadChunk, &error)));
            } else {
                *more += 1;
            }
        }
        if let (Some(progress), Some(chunk)) = (options.progress, file.chunks().get(index)) {
            progress(chunk.nbytes.into());
        }
        Ok(())
    })?;
    let (mut bad, more) = bad.into_inner().unwrap_or_else(PoisonError::into_inner);
    bad.sort_by_key(|&(index, _)| index);
    let mut diagnostics = file.diagnostics().to_vec();
    diagnostics.extend(array_diagnostic(file)?);
    diagnostics.extend(bad.into_iter().map(|(_, diagnostic)| diagnostic));
    if more > 0 {
        let message = count(more, "more bad chunk");
        diagnostics.push(diagnostic::at(Code::BadChunk, file.layout().data().start, message));
    }
    Ok(VerifyReport { diagnostics, chunks: file.chunks().len() as u64 })
}

/// Returns a diagnostic if the metadata describes an array whose type is not supported, whose shape
/// is invalid, or whose length differs from that of the data. Returns `None` if the metadata
/// describes no array. Also returns `None` if the metadata cannot be read, because that error was
/// reported when the file was opened.
fn array_diagnostic(file: &Reader) -> Result<Option<Diagnostic>> {
    match file.array() {
        Ok(_) => Ok(None),
        Err(error) if error.is_of_caller() => Err(error),
        Err(error) => Ok(match error.kind() {
            ErrorKind::ObjectDtype | ErrorKind::InvalidDtype(_) | ErrorKind::ShapeMismatch(_) => {
                Some(diagnostic::from_error(Code::Array, &error))
            }
            _ => None,
        }),
    }
}

/// Checks the digest and the structure of a chunk, and decodes it if `deep` is `true`.
fn check(
    file: &Reader,
    index: usize,
    deep: bool,
    data: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<()> {
    let (number, chunk) = (index as u64, file.chunk(index)?);
    let source = file.chunk_source();
    let (bytes, digest) = source.stored(chunk, &mut scratch.stored)?;
    source.check(number, chunk, bytes, digest)?;
    let buffer = chunk::parse(number, chunk.offset, bytes)?;
    if deep {
        buffer
            .decode_to(data, &file.options().limits, &mut scratch.blosc)
            .map_err(|error| chunk::corrupt(number, chunk.offset, bytes, error))?;
    }
    Ok(())
}

/// Opens a file with the options `opening`, and checks it. If the header is valid, but the file is
/// too damaged to open, the report contains the error from opening. In lenient mode, a wrong digest
/// of the metadata is also only a diagnostic.
///
/// ```
/// use bloscpack::diagnostic::Code;
/// use bloscpack::{ChunkSize, OpenOptions, VerifyOptions, WriteOptions, pack_to_vec, verify_source};
///
/// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(1000));
/// let mut truncated = pack_to_vec(&[7; 3500], &options)?;
/// truncated.truncate(truncated.len() - 1);
/// let report = verify_source(truncated, &OpenOptions::new(), &VerifyOptions::new())?;
/// assert!(!report.passed());
/// assert_eq!(report.diagnostics[0].code, Code::Truncated);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`VerifyReport::of_opening`] and [`verify`].
pub fn verify_source(
    source: impl ReadAt + 'static,
    opening: &OpenOptions,
    options: &VerifyOptions<'_>,
) -> Result<VerifyReport> {
    match opening.clone().ignore_metadata(true).from_source(source) {
        Ok(file) => verify(&file, options),
        Err(error) => VerifyReport::of_opening(error),
    }
}

/// Converts an error from opening a file to a diagnostic. Returns `None` if the error is about the
/// source, a limit, the digest of the metadata, or one of the two headers (of the file and of the
/// metadata section).
fn diagnostic_of(error: &Error) -> Option<Diagnostic> {
    let code = match error.kind() {
        ErrorKind::CorruptChunk { .. } | ErrorKind::Blosc2Chunk { .. } => Code::BadChunk,
        ErrorKind::OffsetMismatch { .. } => Code::OffsetMismatch,
        ErrorKind::SizeMismatch { .. } => Code::SizeMismatch,
        ErrorKind::Metadata(_) => Code::Metadata,
        ErrorKind::Truncated { .. } if error.offset() > Some(0) => Code::Truncated,
        ErrorKind::Damaged(_) | ErrorKind::ForeignJournal => Code::Journal,
        _ => return None,
    };
    Some(diagnostic::from_error(code, error))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use binio::diagnostic::Place;

    use std::sync::Arc;

    use super::*;
    use crate::format::test_file::TestFile;

    fn file() -> TestFile {
        TestFile::of(&[&[1; 100], &[2; 100], &[3; 40]])
    }

    fn report(file: &TestFile, options: &VerifyOptions<'_>) -> Result<VerifyReport> {
        verify_source(file.bytes(), &OpenOptions::new(), options)
    }

    #[test]
    fn an_intact_file_has_no_diagnostics_and_the_progress_adds_up_to_the_length_of_its_data() {
        let done = AtomicU64::new(0);
        let progress = |bytes| {
            done.fetch_add(bytes, Ordering::Relaxed);
        };
        for threads in [1, 2] {
            let options = VerifyOptions::new().threads(threads).progress(&progress);
            let report = report(&file(), &options).unwrap();
            assert_eq!((report.passed(), report.diagnostics, report.chunks), (true, vec![], 3));
        }
        assert_eq!(done.into_inner(), 480);
    }

    #[test]
    fn each_wrong_digest_is_reported_with_its_chunk_and_offset() {
        let mut file = file();
        for chunk in [0, 2] {
            *file.chunks[chunk].last_mut().unwrap() ^= 1;
        }
        for threads in [1, 3] {
            let report = report(&file, &VerifyOptions::new().threads(threads)).unwrap();
            let places: Vec<_> = report.diagnostics.iter().map(|d| d.place.clone()).collect();
            let digest = |index: usize| {
                let place = Place::at(file.chunk_start(index + 1) - 4);
                place.pointer(format!("/chunks/{index}"))
            };
            assert_eq!(places, [digest(0), digest(2)]);
            assert!(report.diagnostics.iter().all(|d| d.code == Code::BadChunk));
            assert!(!report.passed());
            assert!(
                report.diagnostics[0]
                    .message
                    .starts_with("chunk 0: the adler32 of the stored bytes is ")
            );
        }
    }

    #[test]
    fn only_a_deep_check_detects_a_stream_that_does_not_decode() {
        // The digest of the chunk is right, but its only stream is one byte too long.
        let mut file = TestFile::of(&[&[1; 1000], &[2; 1000]]);
        let mut buffer = crate::format::test_file::buffer(&[7; 1000]);
        let stream = 20;
        buffer[stream] += 1;
        buffer.push(0);
        let ctbytes = u32::try_from(buffer.len()).unwrap();
        buffer[12..16].copy_from_slice(&ctbytes.to_le_bytes());
        let digest = file.checksum.compute(&buffer);
        file.chunks[1] = [buffer, digest].concat();
        file.set_offsets();
        let quick = VerifyOptions::new().deep(false);
        assert!(report(&file, &quick).unwrap().passed());
        let report = report(&file, &VerifyOptions::new()).unwrap();
        assert_eq!(report.diagnostics.len(), 1);
        assert_eq!(report.diagnostics[0].code, Code::BadChunk);
        assert_eq!(report.diagnostics[0].place.pointer.as_deref(), Some("/chunks/1"));
    }

    #[test]
    fn damage_that_prevents_opening_is_reported_as_a_diagnostic_unless_it_is_in_the_header() {
        let good = file();
        let cut = TestFile { chunks: good.chunks[..2].to_vec(), ..good.clone() };
        let mut corrupt = good.clone();
        corrupt.chunks[1][1] = 9;
        let mut permuted = good.clone();
        permuted.offsets.as_mut().unwrap().swap(0, 2);
        let empty = TestFile::of(&[&[1; 100], &[], &[3; 40]]);
        for (file, code) in [
            (cut, Code::Truncated),
            (corrupt, Code::BadChunk),
            (permuted, Code::OffsetMismatch),
            (empty, Code::SizeMismatch),
        ] {
            let report = report(&file, &VerifyOptions::new()).unwrap();
            assert_eq!(report.diagnostics.iter().map(|f| f.code).collect::<Vec<_>>(), [code]);
        }
        for file in [TestFile { version: 9, ..good.clone() }, TestFile { nchunks: -2, ..good }] {
            assert!(report(&file, &VerifyOptions::new()).is_err());
        }
        let short = verify_source(
            Arc::new(b"blpk\x03".to_vec()),
            &OpenOptions::new(),
            &VerifyOptions::new(),
        );
        assert!(matches!(short.unwrap_err().kind(), ErrorKind::Truncated { .. }));
    }
}
