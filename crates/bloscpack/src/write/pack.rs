//! Packing data from memory, a file, or a reader.

use std::io::{self, Cursor, Read, Seek, Write};
use std::ops::Range;
use std::path::Path;

use binio::write::AtomicFile;
use binio::{FileSource, ReadAt};

use crate::error::{Error, Result};
use crate::format::Chunking;
use crate::parallel::in_order;
use crate::write::batch::Filling;
use crate::write::chunk_encoder::Recipe;
use crate::write::container::ContainerWriter;
use crate::{Progress, WriteOptions};

/// The maximum number of bytes to read at a time.
pub(crate) const PIECE: usize = 1 << 20;

/// Packs bytes to a sink without copying them, and returns the sink, positioned at the end of the
/// file. `progress` is called for each compressed chunk with the length of its uncompressed data.
/// The sink must be [`Send`], because the threads that compress the chunks also write them, one at
/// a time.
///
/// ```
/// use std::io::Cursor;
/// use bloscpack::{WriteOptions, pack_slice};
///
/// let file = pack_slice(b"data", Cursor::new(Vec::new()), &WriteOptions::new(), None)?;
/// assert_eq!(&file.into_inner()[..4], b"blpk");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Fails before anything is written: with [`InvalidOption`](crate::ErrorKind::InvalidOption) or
/// [`NotInVersion`](crate::ErrorKind::NotInVersion) if an option is invalid, with
/// [`NotEnoughSpace`](crate::ErrorKind::NotEnoughSpace) if the metadata does not fit
/// [`MetadataOptions::max_size`](crate::format::MetadataOptions::max_size), and with
/// [`Limit`](crate::ErrorKind::Limit) if the metadata text is longer than 16 MiB. Also fails with
/// [`Output`](crate::ErrorKind::Output) if the sink cannot be written.
pub fn pack_slice<W: Write + Seek + Send>(
    data: &[u8],
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    let store = |recipe: &Recipe, range: Range<u64>, _: &mut Vec<u8>, stored: &mut Vec<u8>| {
        // The range is within `data`, so its bounds fit into a `usize`.
        let [start, end] = [range.start, range.end].map(|end| usize::try_from(end).unwrap_or(0));
        recipe.store(&data[start..end], stored)
    };
    pack(data.len() as u64, store, sink, options, progress)
}

/// Packs bytes into a vector.
///
/// ```
/// use bloscpack::{WriteOptions, pack_to_vec};
///
/// let file = pack_to_vec(&[0; 1_000_000], &WriteOptions::new())?;
/// assert!(file.len() < 10_000);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`pack_slice`], but writing cannot fail.
pub fn pack_to_vec(data: &[u8], options: &WriteOptions) -> Result<Vec<u8>> {
    Ok(pack_slice(data, Cursor::new(Vec::new()), options, None)?.into_inner())
}

/// Packs bytes into a file. The file appears at `path` only when it is complete, and then replaces
/// any existing file.
///
/// ```
/// use bloscpack::{Reader, WriteOptions, pack_to_file};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// pack_to_file(b"data", &path, &WriteOptions::new(), None)?;
/// assert_eq!(Reader::open(&path)?.read_all()?, b"data");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`pack_slice`]. Also fails with [`Output`](crate::ErrorKind::Output) if the file cannot
/// be created. If an existing file is replaced and has a journal, an interrupted in-place change of
/// this file is rolled back first. The rollback fails with [`Locked`](crate::ErrorKind::Locked) if
/// the change is still in progress, and with [`ForeignJournal`](crate::ErrorKind::ForeignJournal)
/// if the journal belongs to another file.
pub fn pack_to_file(
    data: &[u8],
    output: impl AsRef<Path>,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<()> {
    commit(pack_slice(data, create(output.as_ref())?, options, progress)?)
}

/// Like [`pack_slice`], but packs a source. A source in memory is not copied; any other source is read chunk by
/// chunk, by the thread that compresses the chunk.
///
/// ```
/// use std::io::Cursor;
/// use binio::{Bytes, Span};
/// use bloscpack::{Reader, WriteOptions, pack_source};
///
/// let part = Span::new(Bytes::from_static(b"headdatatail"), 4..8)?;
/// let file = pack_source(&part, Cursor::new(vec![]), &WriteOptions::new(), None)?;
/// assert_eq!(Reader::from_bytes(file.into_inner())?.read_all()?, b"data");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`pack_slice`]. Also fails if reading fails.
pub fn pack_source<W: Write + Seek + Send>(
    source: &dyn ReadAt,
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    let store = |recipe: &Recipe, range: Range<u64>, read: &mut Vec<u8>, stored: &mut Vec<u8>| {
        recipe.store_from(source, range, read, stored)
    };
    pack(source.len(), store, sink, options, progress)
}

/// Packs a file into another file. The packed file appears at `output` only when it is complete,
/// and then replaces any existing file.
///
/// ```
/// use bloscpack::{Reader, WriteOptions, pack_file};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let (input, output) = (folder.path().join("data"), folder.path().join("data.blp"));
/// std::fs::write(&input, b"some data")?;
/// pack_file(&input, &output, &WriteOptions::new(), None)?;
/// assert_eq!(Reader::open(&output)?.read_all()?, b"some data");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`pack_source`] and [`pack_to_file`]. Also fails if the input cannot be opened.
pub fn pack_file(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<()> {
    let source = FileSource::open(input)?;
    commit(pack_source(&source, create(output.as_ref())?, options, progress)?)
}

/// Packs all data from a reader, such as a pipe, into a file. The file appears at `output` only
/// when it is complete, and then replaces any existing file. `progress` is called with the number
/// of bytes read since the last call.
///
/// The length of the table of offsets is known only at the end. The chunks are therefore written to
/// a temporary file first, and then copied to `output` after the table, within the kernel if the
/// system supports this. Without offsets, nothing is copied.
///
/// ```
/// use bloscpack::{Reader, WriteOptions, pack_reader};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// let mut pipe = b"some data".as_slice();
/// pack_reader(&mut pipe, &path, &WriteOptions::new(), None)?;
/// assert_eq!(Reader::open(&path)?.read_all()?, b"some data");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`pack_to_file`]. Also fails with [`Io`](crate::ErrorKind::Io) if reading fails.
pub fn pack_reader(
    reader: &mut dyn Read,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<()> {
    let output = output.as_ref();
    let (mut filling, section) = Filling::new(options, None)?;
    let section_here = if options.offsets { &[][..] } else { &section };
    let spool = create(output)?;
    let mut spool = ContainerWriter::new(spool, options.stream_header()?, section_here)?;
    read_pieces(reader, |piece| {
        filling.take_all(piece, |stored| spool.put(stored))?;
        report(progress, piece.len() as u64);
        Ok(())
    })?;
    filling.end(|stored| spool.put(stored))?;
    let chunking = Chunking::of(filling.len(), options.chunk_size)?;
    if filling.len() == 0 {
        spool.put(&filling.empty_chunk()?)?;
    }
    let file = if options.offsets {
        let file = create(output)?;
        let mut file = ContainerWriter::new(file, options.header(chunking)?, &section)?;
        file.put_all_of(spool).map_err(Error::of_output)?;
        file
    } else {
        spool
    };
    commit(file.finish(Some(chunking.chunk_size), Some(chunking.last_chunk))?)
}

fn create(output: &Path) -> Result<AtomicFile> {
    AtomicFile::create(output).map_err(Error::of_output)
}

fn commit(file: AtomicFile) -> Result<()> {
    file.commit().map_err(Error::of_output)
}

/// Passes all data from `reader` to `take`, in pieces of at most [`PIECE`] bytes.
pub(crate) fn read_pieces(
    reader: &mut dyn Read,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => take(&piece[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Calls `progress`, if there is one, with a number of processed bytes.
pub(crate) fn report(progress: Option<Progress<'_>>, bytes: u64) {
    if let Some(progress) = progress {
        progress(bytes);
    }
}

fn pack<W: Write + Seek + Send>(
    len: u64,
    store: impl Fn(&Recipe, Range<u64>, &mut Vec<u8>, &mut Vec<u8>) -> Result<()> + Sync,
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    let (recipe, section) = options.check()?;
    let chunking = Chunking::of(len, options.chunk_size)?;
    let mut container = ContainerWriter::new(sink, options.header(chunking)?, &section)?;
    let store = |range: Range<u64>, read: &mut Vec<u8>, stored: &mut Vec<u8>| {
        let len = range.end - range.start;
        store(&recipe, range, read, stored)?;
        report(progress, len);
        Ok(())
    };
    store_chunks(chunking, options.threads, store, |stored| container.put(stored))?;
    container.finish(Some(chunking.chunk_size), Some(chunking.last_chunk))
}

/// Compresses all chunks on several threads, and passes the stored chunks to `put` in order.
/// `store` must compress a chunk; its arguments are the range of the chunk in the data, a buffer to
/// read the data into, and a buffer for the stored chunk.
pub(crate) fn store_chunks(
    chunking: Chunking,
    threads: usize,
    store: impl Fn(Range<u64>, &mut Vec<u8>, &mut Vec<u8>) -> Result<()> + Sync,
    mut put: impl FnMut(&[u8]) -> Result<()> + Send,
) -> Result<()> {
    let ranges = (0..chunking.nchunks).filter_map(|chunk| chunking.range(chunk));
    let work = |read: &mut Vec<u8>, range, stored: &mut Vec<u8>| store(range, read, stored);
    let threads = usize::try_from(chunking.nchunks).unwrap_or(usize::MAX).min(threads);
    in_order(threads, ranges, Vec::new, work, |stored| put(stored))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::format::Version;
    use crate::{ChunkSize, StreamWriter};

    fn options() -> WriteOptions {
        WriteOptions::new().chunk_size(ChunkSize::Bytes(1000)).threads(2)
    }

    fn data(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n * n / 7).to_le_bytes()[0]).collect()
    }

    /// A reader that returns a few bytes at a time.
    struct Pipe<'a>(&'a [u8]);

    impl Read for Pipe<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = out.len().min(777);
            self.0.read(&mut out[..len])
        }
    }

    #[test]
    fn packing_from_memory_a_file_or_a_pipe_produces_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
        for len in [0, 1, 999, 1000, 1001, 12_345] {
            let data = data(len);
            for options in [
                options(),
                options().threads(1),
                options().version(Version::V2),
                options().max_app_chunks(3).metadata(&serde_json::json!({"a": [1, 2]})),
                options().offsets(false).metadata(&serde_json::json!(1)),
            ] {
                let whole = pack_to_vec(&data, &options).unwrap();
                let sink = Cursor::new(Vec::new());
                let source = binio::Bytes::from(data.clone());
                let packed = pack_source(&source, sink, &options, None).unwrap().into_inner();
                assert!(packed == whole, "shared memory, {len} bytes, {options:?}");
                fs::write(&input, &data).unwrap();
                pack_file(&input, &output, &options, None).unwrap();
                assert!(fs::read(&output).unwrap() == whole, "file, {len} bytes, {options:?}");
                pack_reader(&mut Pipe(&data), &output, &options, None).unwrap();
                assert!(fs::read(&output).unwrap() == whole, "pipe, {len} bytes, {options:?}");
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn the_progress_of_packing_adds_up_to_the_length_of_the_data() {
        let done = AtomicU64::new(0);
        let progress = |bytes| {
            done.fetch_add(bytes, Ordering::Relaxed);
        };
        let sink = Cursor::new(Vec::new());
        pack_slice(&data(12_345), sink, &options(), Some(&progress)).unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 12_345);
    }

    #[test]
    fn the_header_of_a_stream_states_that_the_number_of_chunks_is_unknown() {
        let mut writer = StreamWriter::new(Vec::new(), &options()).unwrap();
        writer.write_all(&data(2500)).unwrap();
        let stream = writer.finish().unwrap();
        assert_eq!(&stream[..8], b"blpk\x03\0\x01\x08");
        assert_eq!(stream[8..12], 1000_i32.to_le_bytes());
        assert_eq!(stream[12..24], [0xff; 12], "last_chunk and nchunks are -1");
        assert_eq!(stream[24..32], [0; 8]);
        let whole = pack_to_vec(&data(2500), &options().offsets(false)).unwrap();
        assert!(stream[32..] == whole[32..]);
    }

    #[test]
    fn a_failing_reader_leaves_no_file() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let error = pack_reader(&mut Broken, &output, &options(), None).unwrap_err();
        assert_eq!(error.to_string(), "gone");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
