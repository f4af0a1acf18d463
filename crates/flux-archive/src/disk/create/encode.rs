//! Encoding small files into reusable buffers.

use std::fs::File;
use std::ops::Range;

use base64_simd::STANDARD;

use super::content::{IN_MEMORY, PIECE, read_full};
use crate::error::Result;
use crate::json::escape;
use crate::write::{Detector, Encoding};

/// Buffers that are reused for many files. Each piece of a file is checked and encoded while it is
/// in the processor cache.
#[derive(Default)]
pub(super) struct Buffers {
    /// The current piece of the file that is being read.
    piece: Vec<u8>,
    /// The encoded data of the files, one after another.
    encoded: Vec<u8>,
}

/// A file that was encoded into [`Buffers`].
pub(super) struct Encoded {
    pub(super) encoding: Encoding,
    /// The size of the file in bytes.
    pub(super) len: u64,
    /// Whether all bytes of the file are zero.
    pub(super) zeros: bool,
    range: Range<usize>,
}

impl Buffers {
    /// Removes all encoded files.
    pub(super) fn clear(&mut self) {
        self.encoded.clear();
    }

    /// Returns the encoded data of a file.
    pub(super) fn data(&self, encoded: &Encoded) -> &[u8] {
        self.encoded.get(encoded.range.clone()).unwrap_or_default()
    }

    /// Encodes a file as text, or as base64 if it is not text. Returns `None` if it has more than
    /// [`IN_MEMORY`] bytes.
    pub(super) fn encode(&mut self, file: &File) -> Result<Option<Encoded>> {
        let start = self.encoded.len();
        let (mut encoding, mut detector) = (Encoding::Text, Detector::default());
        let (mut len, mut zeros) = (0, true);
        self.piece.resize(PIECE, 0);
        loop {
            let read = read_full(file, &mut self.piece, len)?;
            let (piece, last) = (&self.piece[..read], read < PIECE);
            let may_be_text = detector.take(piece);
            if encoding == Encoding::Text
                && !(may_be_text && (!last || detector.encoding() == Encoding::Text))
            {
                encoding = Encoding::Base64;
                self.encoded.truncate(start);
                if len > 0 {
                    // Encode the earlier pieces again, because they were encoded as text.
                    len = 0;
                    continue;
                }
            }
            match encoding {
                Encoding::Text => escape(piece, &mut self.encoded),
                Encoding::Base64 => {
                    // Reserve memory here, because `encode_append` would reallocate the buffer for
                    // each piece.
                    self.encoded.reserve(piece.len().div_ceil(3) * 4);
                    STANDARD.encode_append(piece, &mut self.encoded);
                }
            }
            zeros &= piece.iter().all(|&byte| byte == 0);
            len += read as u64;
            if len > IN_MEMORY {
                self.encoded.truncate(start);
                return Ok(None);
            }
            if last {
                let range = start..self.encoded.len();
                return Ok(Some(Encoded { encoding, len, zeros, range }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::json::{Base64, Text};

    /// Returns the expected encoding and encoded data, computed from the whole file.
    fn expected(bytes: &[u8]) -> (Encoding, Vec<u8>) {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                (Encoding::Text, Text::new(text).escaped().as_bytes().to_vec())
            }
            _ => (Encoding::Base64, Base64::encode(bytes).as_str().as_bytes().to_vec()),
        }
    }

    /// Generates file content that may be longer than a piece.
    fn parts() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            ("[a-z\n\"\\\\é😀]{1,30}", 1_usize..4000)
                .prop_map(|(text, n)| text.repeat(n).into_bytes()),
            (any::<u8>(), 1_usize..3).prop_map(|(byte, n)| vec![byte; n]),
            (1_usize..PIECE + 2).prop_map(|n| vec![0; n]),
        ];
        proptest::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn encoding_a_file_in_pieces_equals_encoding_it_as_a_whole(
            files in proptest::collection::vec(parts(), 1..4),
        ) {
            let mut buffers = Buffers::default();
            let mut encoded = Vec::new();
            for bytes in &files {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(bytes).unwrap();
                encoded.push(buffers.encode(&file).unwrap().unwrap());
            }
            for (bytes, encoded) in files.iter().zip(&encoded) {
                let (encoding, data) = expected(bytes);
                prop_assert_eq!(encoded.encoding, encoding);
                prop_assert!(buffers.data(encoded) == data);
                prop_assert_eq!(encoded.len, bytes.len() as u64);
                prop_assert_eq!(encoded.zeros, bytes.iter().all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn files_larger_than_a_mebibyte_are_not_encoded_in_memory() {
        let (mut buffers, mut file) = (Buffers::default(), tempfile::tempfile().unwrap());
        file.write_all(&vec![b'a'; 1 << 20]).unwrap();
        assert_eq!(buffers.encode(&file).unwrap().unwrap().len, 1 << 20);
        buffers.clear();
        file.write_all(b"a").unwrap();
        assert!(buffers.encode(&file).unwrap().is_none());
        assert!(buffers.encoded.is_empty());
    }
}
