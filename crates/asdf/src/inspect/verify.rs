//! Checking a file: its layout, its tree, its arrays, and every block with its checksum.

use std::fmt;

use crate::asdf::Asdf;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::{ArrayError, BlockError, Error, ErrorKind, Result};
use crate::file::blocks::ChecksumVerdict;
use crate::tree::Node;

/// Called with the number of stored bytes of each block that was checked, from any thread.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// How to check a file.
#[derive(Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    progress: Option<Progress<'a>>,
}

impl<'a> VerifyOptions<'a> {
    /// The default options: all is checked, without reporting progress.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to call with the number of stored bytes of each block that was checked.
    #[must_use]
    pub fn progress(mut self, progress: Progress<'a>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyOptions").finish_non_exhaustive()
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Everything that is irregular or wrong, by its place in the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The blocks, in the order of the file, then those of other files that arrays are in.
    pub blocks: Vec<CheckedBlock>,
}

/// A block that was checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedBlock {
    /// The file that it is in, if that is another than the one that was checked.
    pub path: Option<String>,
    /// Number of the block in its file, from 0.
    pub index: usize,
    /// Size of the stored data in bytes; 0 if the block cannot be read.
    pub stored_len: u64,
    /// The verdict on its checksum; `None` if the block cannot be read.
    pub checksum: Option<ChecksumVerdict>,
}

impl VerifyReport {
    /// Whether nothing is wrong: no diagnostic is of [`Severity::Error`].
    pub fn is_fine(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The diagnostics of [`Severity::Error`].
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl Asdf {
    /// Checks the whole file: every block is decoded and compared with its checksum, in parallel,
    /// the tree is parsed, and each node must be what its tag says, each array inside its block.
    /// Blocks of other files that arrays are in are checked too; where the policy for external files
    /// forbids it, or where such a file is missing, the report has [`Code::NotChecked`].
    /// Fails only if the source fails while the block headers are read: what is wrong with the
    /// file is in the report.
    ///
    /// ```
    /// use asdf::Asdf;
    /// use asdf::diagnostic::Code;
    /// use asdf::inspect::VerifyOptions;
    ///
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n--- !core/asdf-1.1.0\na: [\n...\n"[..])?;
    /// let report = file.verify(&VerifyOptions::new())?;
    /// assert!(!report.is_fine());
    /// assert_eq!(report.errors().next().map(|error| error.code), Some(Code::BadTree));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn verify(&self, options: &VerifyOptions<'_>) -> Result<VerifyReport> {
        let mut found = Vec::new();
        let mut blocks = check_blocks(self, None, options, &mut found)?;
        check_tree(self, &mut found);
        // Decoding and parsing have added to the diagnostics. Why a block is bad was just found
        // out, in more words.
        let mut diagnostics = self.diagnostics();
        let is_known = |diagnostic: &Diagnostic| {
            diagnostic.code == Code::BadBlock
                && found.iter().any(|found: &Diagnostic| found.place == diagnostic.place)
        };
        diagnostics.retain(|diagnostic| !is_known(diagnostic));
        diagnostics.extend(found);
        diagnostics.sort_by_key(|diagnostic| (diagnostic.place.offset, diagnostic.code));
        for (path, file) in self.other_files() {
            let mut found = Vec::new();
            match check_blocks(file, Some(&path), options, &mut found) {
                Ok(checked) => blocks.extend(checked),
                Err(error) => found.push(at_error(Code::BadBlock, &error)),
            }
            found.extend(file.diagnostics().into_iter().filter(|d| d.code != Code::BadBlock));
            diagnostics.extend(found.into_iter().map(|mut diagnostic| {
                diagnostic.place.path = Some(path.clone());
                diagnostic
            }));
        }
        Ok(VerifyReport { diagnostics, blocks })
    }
}

/// Decodes every block of a file and compares its checksum.
fn check_blocks(
    file: &Asdf,
    path: Option<&String>,
    options: &VerifyOptions<'_>,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<CheckedBlock>> {
    let checked = file.blocks().check_all(|block| {
        let stored_len = block.data_range().map_or(0, |range| range.end - range.start);
        if let Some(progress) = options.progress {
            progress(stored_len);
        }
        (block.offset(), stored_len)
    })?;
    let mut blocks = Vec::with_capacity(checked.len());
    for (index, ((offset, stored_len), verdict)) in checked.into_iter().enumerate() {
        let mut report = |code, message: String| {
            found.push(Diagnostic::new(code, Place::at(offset), message));
        };
        let checksum = match verdict {
            Ok(verdict) => {
                if !verdict.is_pass() {
                    let message = "the checksum does not match the data";
                    report(Code::ChecksumMismatch, format!("block {index}: {message}"));
                }
                Some(verdict)
            }
            Err(error) => {
                report(Code::BadBlock, format!("{error:#}"));
                None
            }
        };
        blocks.push(CheckedBlock { path: path.cloned(), index, stored_len, checksum });
    }
    Ok(blocks)
}

/// The tree parses, its values are what their tags say, and each array lies in its block.
fn check_tree(file: &Asdf, found: &mut Vec<Diagnostic>) {
    let nodes = match file.nodes() {
        Ok(nodes) => nodes,
        Err(error) => return found.push(at_error(Code::BadTree, &error)),
    };
    // Where the blocks are not where the index has them, that was said once.
    let has_drifted = file.reports().sorted().iter().any(|d| d.code == Code::IndexDrift);
    for node in nodes {
        let Err(error) = check_node(node) else { continue };
        let code = match error.kind() {
            ErrorKind::Array { kind: ArrayError::Data(inner), .. } => match inner.kind() {
                ErrorKind::Reference { .. } => Code::NotChecked,
                ErrorKind::Block { kind: BlockError::NoSuchBlock { .. }, .. } if has_drifted => {
                    continue;
                }
                _ => Code::BadNode,
            },
            _ => Code::BadNode,
        };
        found.push(node.diagnostic(code, without_place(&error)));
    }
}

fn check_node(node: Node<'_>) -> Result<()> {
    match node.core_name() {
        Some("ndarray") => node.ndarray()?.check_inside(),
        Some("complex") => node.complex().map(drop),
        Some("integer") => node.integer().map(drop),
        _ => node.value().map(drop),
    }
}

/// An error of the tree as a diagnostic.
fn at_error(code: Code, error: &Error) -> Diagnostic {
    let mut place = error.offset().map(Place::at).unwrap_or_default();
    if let ErrorKind::Yaml { line, column, .. } = *error.kind() {
        place = place.line_column(line, column);
    }
    Diagnostic::new(code, place, without_place(error))
}

/// The text of an error of a node, without its place.
fn without_place(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Yaml { message, .. } => message.clone(),
        ErrorKind::Array { kind, .. } => kind.to_string(),
        kind => kind.to_string(),
    }
}
