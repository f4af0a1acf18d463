//! Decoding the data of a file from its position in a source, piece by piece.

use std::io;
use std::ops::Range;

use binio::ReadAt;

use crate::error::{Error, Result};
use crate::json::{MAX_ESCAPE, UNESCAPE_ROOM, decode_groups, unescape};
use crate::model::Content;
use crate::parallel::{join, try_map};

/// The number of encoded bytes to decode at a time, a multiple of 4.
const PIECE: usize = 256 << 10;

/// The number of encoded bytes to decode at a time while another thread writes.
const ORDERED_PIECE: usize = 1 << 20;

/// The position of data in a source.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Escaped text, which decodes to `len` bytes.
    Text { range: Range<u64>, len: u64 },
    /// All base64 groups except the last one, and the decoded bytes of the last group.
    Base64 { range: Range<u64>, tail: Vec<u8> },
    /// JSON text, which is the content of the file.
    Json { range: Range<u64> },
}

/// Buffers for decoding data, which are reused.
#[derive(Default)]
pub(crate) struct Buffers {
    encoded: Vec<u8>,
    plain: Vec<u8>,
}

impl Data {
    /// Returns the position of the data of a file. Returns `None` if the source does not contain
    /// the data, or if its base64 contains escapes.
    pub(super) fn of(
        content: &Content<'_>,
        position: impl Fn(&str) -> Option<Range<u64>>,
    ) -> Option<Self> {
        match content {
            Content::Text(text) => {
                Some(Self::Text { range: position(text.escaped())?, len: text.len() })
            }
            Content::Base64(data) => {
                let (groups, tail) = data.groups();
                Some(Self::Base64 { range: position(groups)?, tail: tail.to_vec() })
            }
            Content::Json(json) => Some(Self::Json { range: position(json.get())? }),
            Content::Directory | Content::Symlink(_) | Content::Empty | Content::Blobvec(_) => None,
        }
    }

    /// Extends the range of the data by `left_out`, the range directly before it in the source. If
    /// the data is text, `text_len` is the decoded length of `left_out`.
    pub(super) fn prepend(&mut self, left_out: &Range<u64>, text_len: u64) {
        if let Self::Text { len, .. } = self {
            *len += text_len;
        }
        let (Self::Text { range, .. } | Self::Base64 { range, .. } | Self::Json { range }) = self;
        range.start -= left_out.end - left_out.start;
    }

    fn range(&self) -> &Range<u64> {
        let (Self::Text { range, .. } | Self::Base64 { range, .. } | Self::Json { range }) = self;
        range
    }

    /// Returns the length of the decoded data in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Text { len, .. } => *len,
            Self::Base64 { range, tail } => (range.end - range.start) / 4 * 3 + tail.len() as u64,
            Self::Json { range } => range.end - range.start,
        }
    }

    /// Decodes the data, and calls `take` with the offset and the bytes of each piece, in order.
    pub(crate) fn for_each_piece(
        &self,
        source: &dyn ReadAt,
        buffers: &mut Buffers,
        mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let Buffers { encoded, plain } = buffers;
        encoded.resize(PIECE, 0);
        let mut decoder = Decoder::new(self, source, encoded);
        let mut position = 0;
        loop {
            let len = decoder.decode(plain)?;
            if len == 0 {
                return Ok(());
            }
            take(position, &plain[..len])?;
            position += len as u64;
        }
    }

    /// Like [`for_each_piece`](Self::for_each_piece), but uses several threads, and may pass the
    /// pieces to `take` in any order.
    pub(crate) fn for_each_piece_in_parallel(
        &self,
        source: &dyn ReadAt,
        take: impl Fn(u64, &[u8]) -> io::Result<()> + Sync,
    ) -> Result<()> {
        if let Self::Base64 { range, tail } = self {
            let starts: Vec<u64> = range.clone().step_by(PIECE).collect();
            let buffers = || (vec![0; PIECE], vec![0; PIECE / 4 * 3]);
            try_map(&starts, buffers, |(encoded, plain), &start| {
                let rest = usize::try_from(range.end - start).unwrap_or(usize::MAX);
                let groups = &mut encoded[..rest.min(PIECE)];
                source.read_exact_at(groups, start)?;
                take((start - range.start) / 4 * 3, decode_groups(groups, plain)?)?;
                Ok::<_, Error>(())
            })?;
            return Ok(take((range.end - range.start) / 4 * 3, tail)?);
        }
        let (mut encoded, mut plain, mut next) = (vec![0; ORDERED_PIECE], Vec::new(), Vec::new());
        let mut decoder = Decoder::new(self, source, &mut encoded);
        let (mut position, mut len) = (0, decoder.decode(&mut plain)?);
        while len > 0 {
            let (taken, decoded) =
                join(|| take(position, &plain[..len]), || decoder.decode(&mut next));
            taken?;
            position += len as u64;
            len = decoded?;
            std::mem::swap(&mut plain, &mut next);
        }
        Ok(())
    }
}

/// Decodes data from its start to its end.
struct Decoder<'d> {
    data: &'d Data,
    source: &'d dyn ReadAt,
    offset: u64,
    /// The number of bytes of an incomplete escape or surrogate pair at the start of `encoded`.
    kept: usize,
    encoded: &'d mut [u8],
    /// The decoded bytes of the last base64 group, which follow the encoded data. Empty for text and
    /// JSON, and after the last group has been returned.
    tail: &'d [u8],
}

impl<'d> Decoder<'d> {
    fn new(data: &'d Data, source: &'d dyn ReadAt, encoded: &'d mut [u8]) -> Self {
        let tail = if let Data::Base64 { tail, .. } = data { tail } else { &[][..] };
        Self { data, source, offset: data.range().start, kept: 0, encoded, tail }
    }

    /// Decodes the next piece into `plain`, and returns its decoded length, which is 0 at the end.
    fn decode(&mut self, plain: &mut Vec<u8>) -> Result<usize> {
        let most = self.encoded.len();
        plain.resize(most + UNESCAPE_ROOM, 0);
        let rest = self.data.range().end - self.offset;
        let len = usize::try_from(rest).unwrap_or(usize::MAX).min(most - self.kept);
        let filled = self.kept + len;
        self.source.read_exact_at(&mut self.encoded[self.kept..filled], self.offset)?;
        self.offset += len as u64;
        let is_last = self.offset == self.data.range().end;
        let piece = &self.encoded[..filled];
        match self.data {
            Data::Json { .. } => {
                plain[..filled].copy_from_slice(piece);
                Ok(filled)
            }
            Data::Base64 { .. } => {
                let mut len = decode_groups(piece, plain)?.len();
                if is_last {
                    // Add the last group to the last piece, so that a small file is written in
                    // one call.
                    let tail = std::mem::take(&mut self.tail);
                    plain[len..len + tail.len()].copy_from_slice(tail);
                    len += tail.len();
                }
                Ok(len)
            }
            Data::Text { .. } => {
                let (used, len) = unescape(piece, plain);
                self.kept = filled - used;
                if self.kept > MAX_ESCAPE || is_last && self.kept > 0 {
                    let message = "the archive was changed while it was being read";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message).into());
                }
                self.encoded.copy_within(used..filled, 0);
                Ok(len)
            }
        }
    }
}
