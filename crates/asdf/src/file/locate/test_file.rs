//! Test files, built from their parts.

use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::layout::BLOCK_MAGIC;

/// The header line and the comment with the version of the standard.
pub(crate) const HEAD: &[u8] = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n";

/// A small tree.
pub(crate) const TREE: &[u8] =
    b"%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nx: 1\n...\n";

/// A block for test files. Fields that are not set have valid values.
#[derive(Clone)]
pub(crate) struct BlockBuilder {
    data: Vec<u8>,
    header_size: u16,
    flags: u32,
    code: [u8; 4],
    allocated_size: Option<u64>,
    used_size: Option<u64>,
    data_size: Option<u64>,
    checksum: [u8; 16],
}

/// Creates a builder for a block with these stored bytes.
pub(crate) fn block(data: impl AsRef<[u8]>) -> BlockBuilder {
    BlockBuilder {
        data: data.as_ref().to_vec(),
        header_size: 48,
        flags: 0,
        code: [0; 4],
        allocated_size: None,
        used_size: None,
        data_size: None,
        checksum: [0; 16],
    }
}

impl BlockBuilder {
    pub(crate) fn header_size(mut self, size: u16) -> Self {
        self.header_size = size;
        self
    }

    pub(crate) fn flags(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }

    pub(crate) fn code(mut self, code: [u8; 4]) -> Self {
        self.code = code;
        self
    }

    pub(crate) fn allocated_size(mut self, size: u64) -> Self {
        self.allocated_size = Some(size);
        self
    }

    pub(crate) fn used_size(mut self, size: u64) -> Self {
        self.used_size = Some(size);
        self
    }

    pub(crate) fn data_size(mut self, size: u64) -> Self {
        self.data_size = Some(size);
        self
    }

    pub(crate) fn checksum_of(mut self, message: &[u8]) -> Self {
        let digest = binio::checksum::Algorithm::Md5.digest(message);
        self.checksum.copy_from_slice(digest.as_bytes());
        self
    }

    /// Returns the header and the data, followed by zeros up to the allocated size. Adds no
    /// zeros if 64 KiB or more would be needed.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let len = self.data.len() as u64;
        let mut out = BLOCK_MAGIC.to_vec();
        out.extend(self.header_size.to_be_bytes());
        out.extend(self.flags.to_be_bytes());
        out.extend(self.code);
        for size in [self.allocated_size, self.used_size, self.data_size] {
            out.extend(size.unwrap_or(len).to_be_bytes());
        }
        out.extend(self.checksum);
        out.resize(out.len() + usize::from(self.header_size.saturating_sub(48)), 0);
        out.extend(&self.data);
        let padding = self.allocated_size.unwrap_or(len).saturating_sub(len);
        if padding < 1 << 16 {
            out.resize(out.len() + usize::try_from(padding).unwrap(), 0);
        }
        out
    }
}

/// Returns a block index as the reference implementation writes it.
pub(crate) fn index(offsets: &[usize]) -> Vec<u8> {
    let lines: Vec<_> = offsets.iter().map(|offset| format!("- {offset}\n")).collect();
    format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{}...\n", lines.concat()).into_bytes()
}

/// Returns a file with the head, the tree, blocks with the given data, and a valid index.
pub(crate) fn indexed_file(blocks: &[&[u8]]) -> Vec<u8> {
    let mut out = [HEAD, TREE].concat();
    let mut offsets = Vec::new();
    for data in blocks {
        offsets.push(out.len());
        out.extend(block(data).bytes());
    }
    out.extend(index(&offsets));
    out
}

/// Returns the codes of the file's diagnostics.
pub(crate) fn codes(file: &Asdf) -> Vec<Code> {
    file.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
}

/// Returns the data of all blocks as text.
pub(crate) fn contents(file: &Asdf) -> Vec<String> {
    let decode = |block: crate::Result<crate::file::blocks::Block<'_>>| {
        block.unwrap().decode().unwrap().to_vec()
    };
    file.blocks().iter().map(|block| String::from_utf8(decode(block)).unwrap()).collect()
}
