//! Checking a file: its layout, tree and arrays, and every block with its checksum.

use std::fmt;

use crate::asdf::Asdf;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::{ArrayError, BlockError, Error, ErrorKind, Result};
use crate::file::blocks::ChecksumVerdict;
use crate::tree::Node;

use super::unopened_files::UnopenedFiles;

/// A function that is called after each block has been checked, possibly on another thread. Its argument is the
/// stored size of the block in bytes, or 0 if the size is unknown.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Options for checking a file.
#[derive(Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    progress: Option<Progress<'a>>,
}

impl<'a> VerifyOptions<'a> {
    /// Creates options with the default values. Progress is not reported.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a function that is called after each block has been checked. Its argument is the stored size of the
    /// block in bytes, or 0 if the size is unknown.
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

/// The result of checking a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// All errors and irregularities: first those in the file itself, ordered by offset, and then those in
    /// external files.
    pub diagnostics: Vec<Diagnostic>,
    /// The blocks in file order, followed by the blocks of the external files that have been opened.
    pub blocks: Vec<CheckedBlock>,
}

/// The result of checking a block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedBlock {
    /// The path of the external file that contains the block, or its URI if a resolver opened the
    /// file. `None` if the block is in the checked file itself.
    pub path: Option<String>,
    /// Zero-based index of the block in its file.
    pub index: usize,
    /// Size of the stored data in bytes, or 0 if the size is unknown.
    pub stored_len: u64,
    /// The result of verifying the checksum, or `None` if the block cannot be read or decoded.
    pub checksum: Option<ChecksumVerdict>,
}

impl VerifyReport {
    /// Returns `true` if the file is valid: there are no diagnostics with [`Severity::Error`].
    pub fn passed(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Iterates over the diagnostics with [`Severity::Error`].
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl Asdf {
    /// Checks the whole file. Decodes all blocks and verifies their checksums, in parallel. The
    /// tree must be valid, the content of each node must be valid for its tag, and each array must
    /// lie within its block. The external files to which arrays refer are also checked, except for
    /// their trees.
    ///
    /// An external file may be missing, or the policy for external files may forbid opening it. For
    /// each such reason, the report contains one diagnostic with the code [`Code::NotChecked`]. If
    /// the reason affects several arrays, the diagnostic has a label for each of them.
    ///
    /// Problems in the file are listed in the report. The function itself fails only if block headers
    /// cannot be read from the source, or if there are too many blocks.
    ///
    /// ```
    /// use asdf::Asdf;
    /// use asdf::diagnostic::Code;
    /// use asdf::inspect::VerifyOptions;
    ///
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n--- !core/asdf-1.1.0\na: [\n...\n"[..])?;
    /// let report = file.verify(&VerifyOptions::new())?;
    /// assert!(!report.passed());
    /// assert_eq!(report.errors().next().map(|error| error.code), Some(Code::BadTree));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Blocks::len`](crate::block::Blocks::len).
    pub fn verify(&self, options: &VerifyOptions<'_>) -> Result<VerifyReport> {
        let mut found = Vec::new();
        let mut blocks = check_blocks(self, None, options, &mut found)?;
        check_tree(self, &mut found);
        if self.layout().tree.is_none() && blocks.is_empty() {
            let message = "the file contains neither a tree nor blocks; it may have been truncated";
            found.push(Diagnostic::new(Code::NoContent, Place::at(0), message));
        }
        // Decoding and parsing have added diagnostics to the file. Remove a diagnostic about a bad
        // block if `found` has a more detailed one for the same block.
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

/// Decodes every block of a file and verifies its checksum.
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

/// Checks that the tree can be parsed, that its values are valid for their tags, and that each array lies
/// within its block.
fn check_tree(file: &Asdf, found: &mut Vec<Diagnostic>) {
    let nodes = match file.nodes() {
        Ok(nodes) => nodes,
        Err(error) => return found.push(at_error(Code::BadTree, &error)),
    };
    // If blocks are not at the offsets listed in the index, do not report missing blocks: the
    // displacement explains them and has already been reported.
    let has_drifted = file.reports().sorted().iter().any(|d| d.code == Code::IndexDrift);
    let mut unopened = UnopenedFiles::default();
    for node in nodes {
        let Err(error) = check_node(node) else { continue };
        let data_error = match error.kind() {
            ErrorKind::Array { kind: ArrayError::Data(error), .. } => Some(error.kind()),
            _ => None,
        };
        match data_error {
            Some(ErrorKind::Reference { target, kind }) => {
                unopened.add(node, target, kind, without_place(&error));
            }
            Some(ErrorKind::Block { kind: BlockError::NoSuchBlock { .. }, .. }) if has_drifted => {}
            _ => found.push(node.diagnostic(Code::BadNode, without_place(&error))),
        }
    }
    found.extend(unopened.diagnostics());
}

fn check_node(node: Node<'_>) -> Result<()> {
    match node.core_name() {
        Some("ndarray") => node.ndarray()?.check_inside(),
        Some("complex") => node.complex().map(drop),
        Some("integer") => node.integer().map(drop),
        _ => node.value().map(drop),
    }
}

/// Converts an error to a diagnostic with the position that the error states.
fn at_error(code: Code, error: &Error) -> Diagnostic {
    let mut place = error.offset().map(Place::at).unwrap_or_default();
    if let ErrorKind::Yaml { line, column, .. } = *error.kind() {
        place = place.line_column(line, column);
    }
    Diagnostic::new(code, place, without_place(error))
}

/// Returns the message of an error without its position: the offset, line or pointer.
fn without_place(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Yaml { message, .. } => message.clone(),
        ErrorKind::Array { kind, .. } => kind.to_string(),
        kind => kind.to_string(),
    }
}
