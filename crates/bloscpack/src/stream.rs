//! Writing to a pipe.

use std::fmt;
use std::io::{self, Write};

use crate::WriterOptions;
use crate::container::ContainerWriter;
use crate::error::Result;
use crate::filling::Filling;

/// Writes data that come piece by piece to a sink that cannot go back, such as a pipe.
///
/// The header says that the number of chunks is not known (-1), and there are no offsets, whatever
/// the options say. Readers go on to the end of the file. **The original does not**: it takes such
/// a file for an empty one.
///
/// ```
/// use std::io::Write;
/// use bloscpack::{Reader, StreamWriter, WriterOptions};
///
/// let mut writer = StreamWriter::new(Vec::new(), &WriterOptions::new())?;
/// writer.write_all(b"data")?;
/// let file = writer.finish()?;
/// let reader = Reader::from_bytes(file)?;
/// assert_eq!((reader.header().nchunks, reader.read_all()?), (None, b"data".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StreamWriter<W> {
    filling: Filling,
    container: ContainerWriter<W>,
}

impl<W: Write> StreamWriter<W> {
    /// Begins a file.
    pub fn new(sink: W, options: &WriterOptions) -> Result<Self> {
        let (recipe, section) = options.check()?;
        let filling = Filling::new(recipe, options.threads, options.chunk_size.bytes()?);
        let container = ContainerWriter::new(sink, options.stream_header()?, &section)?;
        Ok(Self { filling, container })
    }

    /// Writes what is left, and hands back the sink.
    pub fn finish(mut self) -> Result<W> {
        let container = &mut self.container;
        self.filling.end(|stored| container.put(stored))?;
        self.container.end()
    }
}

impl<W: Write> Write for StreamWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let container = &mut self.container;
        Ok(self.filling.take(data, |stored| container.put(stored))?)
    }

    /// Does nothing: a chunk that is not full is not written yet.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> fmt::Debug for StreamWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("len", &self.filling.len()).finish_non_exhaustive()
    }
}
